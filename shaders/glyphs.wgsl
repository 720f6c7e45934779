// Tensor glyphs: ellipsoids and superquadrics (Kindlmann 2004, "Superquadric tensor glyphs", eqs 3 to 6),
// one instance per tensor. The first pass computes the axes of each tensor; the second draws.

struct Glyphs {
    clip_from_world: mat4x4<f32>,
    // Eye (w = 1), or direction to the viewer (w = 0).
    eye: vec4<f32>,
    light: vec4<f32>,
    // Half length of the longest axis, mm.
    size: vec4<f32>,
    // Dot product with (world, 1): 0 near, 1 far.
    depth_cue: vec4<f32>,
    // Colour of the background, and the fraction of it that the depth cue adds at the far end.
    fading: vec4<f32>,
    // 1 for superquadrics; segments around the pole and from pole to pole; number of instances.
    kind: vec4<u32>,
}

// Position in world mm, size relative to the full one, and xx xy xz yy yz zz in any unit.
struct Tensor {
    x: f32,
    y: f32,
    z: f32,
    factor: f32,
    xx: f32,
    xy: f32,
    xz: f32,
    yy: f32,
    yz: f32,
    zz: f32,
    // 0 if coloured by direction; otherwise 1 + red + 256 green + 65536 blue, each from 0 to 255.
    colour: f32,
    unused: f32,
}

struct Glyph {
    // Position in world mm; exponent around the pole.
    centre: vec4<f32>,
    // Half axes, mm, along e1, e2, e3. In w: the exponent from pole to pole; 1 if the pole is e3 (otherwise it
    // is e1); FA, or the colour of the tensor with a negative sign.
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
}

@group(0) @binding(0) var<uniform> glyphs: Glyphs;
@group(0) @binding(1) var<storage, read> tensors: array<Tensor>;
@group(0) @binding(2) var<storage, read_write> results: array<Glyph>;
// The computed glyphs, bound in place of the tensors when they are drawn.
@group(0) @binding(1) var<storage, read> drawn: array<Glyph>;

// How fast edges sharpen with anisotropy (Kindlmann 2004, γ).
const SHARPNESS: f32 = 3.0;

// A Jacobi rotation (Golub and Van Loan 1996, algorithm 8.4.1) that makes the entry at p, q 0.
fn rotate(m: ptr<function, mat3x3<f32>>, v: ptr<function, mat3x3<f32>>, p: i32, q: i32) {
    let off = (*m)[p][q];
    if abs(off) < 1e-12 {
        return;
    }
    let tau = ((*m)[q][q] - (*m)[p][p]) / (2.0 * off);
    let t = select(-1.0, 1.0, tau >= 0.0) / (abs(tau) + sqrt(1.0 + tau * tau));
    let c = 1.0 / sqrt(1.0 + t * t);
    let s = t * c;
    var j = mat3x3<f32>(vec3<f32>(1.0, 0.0, 0.0), vec3<f32>(0.0, 1.0, 0.0), vec3<f32>(0.0, 0.0, 1.0));
    j[p][p] = c;
    j[q][q] = c;
    j[q][p] = s;
    j[p][q] = -s;
    *m = transpose(j) * (*m) * j;
    *v = (*v) * j;
}

@compute @workgroup_size(64)
fn glyphs_prepare(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= glyphs.kind.w {
        return;
    }
    let d = tensors[i];
    let trace = max(d.xx + d.yy + d.zz, 1e-30);
    var m = mat3x3<f32>(vec3<f32>(d.xx, d.xy, d.xz), vec3<f32>(d.xy, d.yy, d.yz),
        vec3<f32>(d.xz, d.yz, d.zz)) * (1.0 / trace);
    var v = mat3x3<f32>(vec3<f32>(1.0, 0.0, 0.0), vec3<f32>(0.0, 1.0, 0.0), vec3<f32>(0.0, 0.0, 1.0));
    for (var sweep = 0; sweep < 6; sweep++) {
        rotate(&m, &v, 0, 1);
        rotate(&m, &v, 0, 2);
        rotate(&m, &v, 1, 2);
    }
    // Largest first.
    var values = vec3<f32>(m[0][0], m[1][1], m[2][2]);
    if values.x < values.y {
        values = values.yxz;
        v = mat3x3<f32>(v[1], v[0], v[2]);
    }
    if values.y < values.z {
        values = values.xzy;
        v = mat3x3<f32>(v[0], v[2], v[1]);
    }
    if values.x < values.y {
        values = values.yxz;
        v = mat3x3<f32>(v[1], v[0], v[2]);
    }
    // Keeps flat glyphs visible.
    values = max(values, vec3<f32>(0.02 * max(values.x, 1e-6)));
    let sum = values.x + values.y + values.z;
    let linear = (values.x - values.y) / sum;
    let planar = 2.0 * (values.y - values.z) / sum;
    let off = values - vec3<f32>(sum / 3.0);
    let anisotropy = sqrt(1.5 * dot(off, off) / dot(values, values));
    let along = linear >= planar;
    let most = select(linear, planar, along);
    let least = select(planar, linear, along);
    let sharp = pow(vec2<f32>(1.0 - most, 1.0 - least), vec2<f32>(SHARPNESS));
    let exponents = select(vec2<f32>(1.0), sharp, glyphs.kind.x == 1u);
    let axes = values * (glyphs.size.x * d.factor / values.x);
    results[i].centre = vec4<f32>(d.x, d.y, d.z, exponents.x);
    results[i].a = vec4<f32>(v[0] * axes.x, exponents.y);
    results[i].b = vec4<f32>(v[1] * axes.y, select(1.0, 0.0, along));
    results[i].c = vec4<f32>(v[2] * axes.z, select(anisotropy, -d.colour, d.colour > 0.0));
}

struct Point {
    @builtin(position) position: vec4<f32>,
    @location(0) world: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) @interpolate(flat) colour: vec3<f32>,
}

fn signed_power(x: f32, exponent: f32) -> f32 {
    return sign(x) * pow(abs(x), exponent);
}

// A point of the superquadric with these exponents and its pole along z.
fn superquadric(around: vec2<f32>, up: vec2<f32>, exponents: vec2<f32>) -> vec3<f32> {
    let ring = signed_power(up.y, exponents.y);
    return vec3<f32>(signed_power(around.x, exponents.x) * ring,
        signed_power(around.y, exponents.x) * ring, signed_power(up.x, exponents.y));
}

@vertex
fn vs_glyph(@builtin(vertex_index) index: u32, @builtin(instance_index) instance: u32) -> Point {
    let glyph = drawn[instance];
    // Two triangles per segment.
    let piece = index / 6u;
    let corner = array<u32, 6>(0u, 1u, 2u, 2u, 1u, 3u)[index % 6u];
    let column = piece % glyphs.kind.y + (corner & 1u);
    let row = piece / glyphs.kind.y + (corner >> 1u);
    let theta = f32(column % glyphs.kind.y) / f32(glyphs.kind.y) * 6.2831853;
    let phi = f32(row) / f32(glyphs.kind.z) * 3.14159265;
    // Exactly 0 at the poles, because a small power enlarges rounding errors.
    let at_pole = row == 0u || row == glyphs.kind.z;
    let around = vec2<f32>(cos(theta), sin(theta));
    let up = vec2<f32>(cos(phi), select(sin(phi), 0.0, at_pole));
    let exponents = vec2<f32>(glyph.centre.w, glyph.a.w);
    var at = superquadric(around, up, exponents);
    var out_of = superquadric(around, up, 2.0 - exponents);
    if glyph.b.w < 0.5 {
        // The pole is the longest axis.
        at = vec3<f32>(at.z, -at.y, at.x);
        out_of = vec3<f32>(out_of.z, -out_of.y, out_of.x);
    }
    let frame = mat3x3<f32>(glyph.a.xyz, glyph.b.xyz, glyph.c.xyz);
    let lengths = vec3<f32>(dot(frame[0], frame[0]), dot(frame[1], frame[1]), dot(frame[2], frame[2]));
    var point: Point;
    point.world = glyph.centre.xyz + frame * at;
    // Normals scale with the inverse of the axes.
    point.normal = normalize(frame * (out_of / lengths));
    point.position = glyphs.clip_from_world * vec4<f32>(point.world, 1.0);
    let direction = abs(normalize(glyph.a.xyz));
    // At low anisotropy the direction is meaningless.
    point.colour = mix(vec3<f32>(0.42), direction, smoothstep(0.05, 0.35, glyph.c.w));
    if glyph.c.w < 0.0 {
        let packed = u32(-glyph.c.w) - 1u;
        let parts = vec3<u32>(packed & 255u, (packed >> 8u) & 255u, packed >> 16u);
        point.colour = vec3<f32>(parts) / 255.0;
    }
    return point;
}

fn shaded(in: Point, outwards: vec3<f32>, to_eye: vec3<f32>) -> vec4<f32> {
    let lit = lit_glyph(in.colour, outwards, glyphs.light.xyz, to_eye);
    return vec4<f32>(faded(lit, in.world, glyphs.depth_cue, glyphs.fading), 1.0);
}

@fragment
fn fs_glyph(in: Point) -> @location(0) vec4<f32> {
    let to_eye = normalize(glyphs.eye.xyz - in.world * glyphs.eye.w);
    let facing = dot(in.normal, to_eye);
    return shaded(in, normalize(select(-in.normal, in.normal, facing >= 0.0)), to_eye);
}

// Used without depth writes: culls the far side of a glyph.
@fragment
fn fs_glyph_over(in: Point) -> @location(0) vec4<f32> {
    if dot(in.normal, glyphs.eye.xyz) < 0.0 {
        discard;
    }
    return shaded(in, normalize(in.normal), glyphs.eye.xyz);
}
