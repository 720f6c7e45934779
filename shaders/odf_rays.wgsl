// Large glyphs of fibre orientation distributions: the surface r(u) = s f(u) of odf_glyphs.wgsl, met by a ray per pixel
// instead of drawn as a mesh, whose edges show on thin lobes.
//
// The points of a ray lie in the directions u(p) = -cos p d + sin p e, 0 < p < π, at the distance b / sin p from the
// centre: d is the ray's direction, e points to its point nearest to the centre, and b is the distance of that point.
// So the ray is inside the surface where h(p) = s f(u(p)) sin p - b is positive. On the circle of these directions f is
// a trigonometric polynomial of degree lmax, hence h one of degree lmax + 1 with at most 2 lmax + 2 roots. Its
// coefficients, from lmax + 1 values of f, also bound |h''| by a number K, so h cannot become 0 before
// h + h' x + K x² / 2 does. Steps of this length miss no lobe, however thin, and approach the first root from outside.

struct OdfRays {
    clip_from_world: mat4x4<f32>,
    // Eye (w = 1), or direction to the viewer (w = 0).
    eye: vec4<f32>,
    light: vec4<f32>,
    // Dot product with (world, 1): 0 near, 1 far.
    depth_cue: vec4<f32>,
    // Colour of the background, and the fraction of it that the depth cue adds at the far end.
    fading: vec4<f32>,
}

struct Large {
    glyph: u32,
    // Distance per amplitude, mm, and a distance that the surface does not exceed, mm.
    scale: f32,
    reach: f32,
    unused: f32,
}

@group(0) @binding(0) var<uniform> rays: OdfRays;
// For each glyph: its centre in world mm, its size relative to the full one, then the coefficients.
@group(0) @binding(1) var<storage, read> glyphs: array<f32>;
@group(0) @binding(2) var<storage, read> large_glyphs: array<Large>;
// Order, number of coefficients, and index of the angles. Then for each m: q at the lowest even l (times z for odd m),
// and for each even l the factors of q at l + 2: by z², constant, and of q at l - 2. Then the angles: cosine and sine
// of π i / (lmax + 1). It is a storage buffer because Mesa's software renderer compiles loops over uniforms again for each
// draw.
@group(0) @binding(3) var<storage, read> table: array<vec4<f32>>;

// Half the highest order.
const WAVES: u32 = 8u;
const MAX_STEPS: u32 = 600u;

struct Distribution {
    order: u32,
    // Index of its first coefficient.
    first: u32,
}

fn distribution_of(glyph: u32) -> Distribution {
    return Distribution(u32(table[0].x), glyph * (u32(table[0].y) + 4u) + 4u);
}

fn turned(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Amplitudes along four unit vectors, given by their coordinates.
fn amplitudes(odf: Distribution, x: vec4<f32>, y: vec4<f32>, z: vec4<f32>) -> vec4<f32> {
    var sum = vec4<f32>(0.0);
    // (x + iy)^m.
    var re = vec4<f32>(1.0);
    var im = vec4<f32>(0.0);
    let square = z * z;
    var at = 1u;
    for (var m = 0u; m <= odf.order; m++) {
        let odd = m & 1u;
        var q = table[at].x * select(vec4<f32>(1.0), z, odd == 1u);
        var before = vec4<f32>(0.0);
        var even_part = vec4<f32>(0.0);
        var odd_part = vec4<f32>(0.0);
        at++;
        for (var l = m + odd; l <= odf.order; l += 2u) {
            let middle = odf.first + l * (l + 1u) / 2u;
            even_part += q * glyphs[middle + m];
            odd_part += q * glyphs[middle - m];
            let factors = table[at];
            at++;
            let next = (factors.x * square + factors.y) * q + factors.z * before;
            before = q;
            q = next;
        }
        sum += even_part * re + odd_part * im;
        let turned_re = re * x - im * y;
        im = re * y + im * x;
        re = turned_re;
    }
    return sum;
}

// Gradient along the sphere in xyz, amplitude in w.
fn gradient(odf: Distribution, u: vec3<f32>) -> vec4<f32> {
    var sum = 0.0;
    var slope = vec3<f32>(0.0);
    // Powers m and m - 1 of x + iy.
    var power = vec2<f32>(1.0, 0.0);
    var below = vec2<f32>(0.0);
    let square = u.z * u.z;
    var at = 1u;
    for (var m = 0u; m <= odf.order; m++) {
        let odd = m & 1u;
        // q and its derivative with respect to z.
        var q = table[at].x * select(vec2<f32>(1.0, 0.0), vec2<f32>(u.z, 1.0), odd == 1u);
        var before = vec2<f32>(0.0);
        var parts = vec2<f32>(0.0);
        var rises = vec2<f32>(0.0);
        at++;
        for (var l = m + odd; l <= odf.order; l += 2u) {
            let middle = odf.first + l * (l + 1u) / 2u;
            let pair = vec2<f32>(glyphs[middle + m], glyphs[middle - m]);
            parts += q.x * pair;
            rises += q.y * pair;
            let factors = table[at];
            at++;
            var next = (factors.x * square + factors.y) * q + factors.z * before;
            next.y += 2.0 * factors.x * u.z * q.x;
            before = q;
            q = next;
        }
        sum += dot(parts, power);
        let degree = f32(m);
        slope.x += degree * dot(parts, below);
        slope.y += degree * (parts.y * below.x - parts.x * below.y);
        slope.z += dot(rises, power);
        below = power;
        power = turned(power, u.xy);
    }
    return vec4<f32>(slope - u * dot(u, slope), sum);
}

struct Corner {
    @builtin(position) position: vec4<f32>,
    // From the glyph's centre, mm.
    @location(0) place: vec3<f32>,
    @location(1) @interpolate(flat) large: u32,
}

fn centre_of(glyph: u32) -> vec3<f32> {
    let start = distribution_of(glyph).first - 4u;
    return vec3<f32>(glyphs[start], glyphs[start + 1u], glyphs[start + 2u]);
}

// A square through the centre, across the view, that covers the sphere of the glyph's reach.
@vertex
fn vs_odf_ray(@builtin(vertex_index) index: u32, @builtin(instance_index) instance: u32) -> Corner {
    let large = large_glyphs[instance];
    let centre = centre_of(large.glyph);
    let to_eye = rays.eye.xyz - centre * rays.eye.w;
    let across = normalize(to_eye);
    // The eye is outside the sphere, in perspective nearer than the sphere's edge.
    let near = select(0.0, large.reach / length(to_eye), rays.eye.w > 0.5);
    let half = large.reach / sqrt(max(1.0 - near * near, 0.01));
    let other = select(vec3<f32>(1.0, 0.0, 0.0), vec3<f32>(0.0, 1.0, 0.0), abs(across.x) > 0.7);
    let right = normalize(cross(across, other));
    let up = cross(across, right);
    let sides = vec2<f32>(f32(index & 1u), f32(index >> 1u)) * 2.0 - 1.0;
    var corner: Corner;
    corner.place = (right * sides.x + up * sides.y) * half;
    corner.position = rays.clip_from_world * vec4<f32>(centre + corner.place, 1.0);
    corner.large = instance;
    return corner;
}

struct Hit {
    found: bool,
    // Direction of the point met, and its distance, mm, from the centre.
    u: vec3<f32>,
    r: f32,
    // Where the ray comes nearest to an outline: before the point met, or behind it, where it is deepest within.
    grazes: bool,
    behind: bool,
    graze: vec3<f32>,
    graze_r: f32,
}

// The distribution's values on a ray's circle, times the scale: a mean, and waves of 2, 4, … lmax periods.
struct Circle {
    mean: f32,
    waves: array<vec2<f32>, WAVES>,
    // A bound of |h''|.
    bend: f32,
}

fn circle_of(odf: Distribution, scale: f32, d: vec3<f32>, e: vec3<f32>) -> Circle {
    var circle: Circle;
    let count = odf.order + 1u;
    let half = odf.order / 2u;
    let angles = u32(table[0].z);
    for (var i = 0u; i < count; i += 4u) {
        // Angles beyond the last one exist, and have no weight.
        let index = vec4<u32>(i, i + 1u, i + 2u, i + 3u);
        let a = table[angles + index.x].xy;
        let b = table[angles + index.y].xy;
        let c = table[angles + index.z].xy;
        let f = table[angles + index.w].xy;
        let cosine = -vec4<f32>(a.x, b.x, c.x, f.x);
        let sine = vec4<f32>(a.y, b.y, c.y, f.y);
        let values = amplitudes(odf, cosine * d.x + sine * e.x, cosine * d.y + sine * e.y,
            cosine * d.z + sine * e.z) * vec4<f32>(index < vec4<u32>(count));
        circle.mean += dot(values, vec4<f32>(1.0));
        for (var k = 0u; k < half; k++) {
            let turns = 2u * (k + 1u) * index % (2u * count);
            circle.waves[k] += values.x * table[angles + turns.x].xy
                + values.y * table[angles + turns.y].xy + values.z * table[angles + turns.z].xy
                + values.w * table[angles + turns.w].xy;
        }
    }
    let share = scale / f32(count);
    circle.mean *= share;
    circle.bend = abs(circle.mean);
    for (var k = 0u; k < half; k++) {
        circle.waves[k] *= 2.0 * share;
        // A wave of 2 (k + 1) periods times sin p has half its amplitude at one period more and at one less.
        let periods = 2.0 * f32(k + 1u);
        circle.bend += length(circle.waves[k]) * (periods * periods + 1.0);
    }
    return circle;
}

// h + b, h', h'' and the distribution's scaled value at an angle whose cosine and sine are given.
fn along_circle(circle: ptr<function, Circle>, half: u32, angle: vec2<f32>) -> vec4<f32> {
    let twice = turned(angle, angle);
    var wave = vec2<f32>(1.0, 0.0);
    var value = (*circle).mean;
    var slope = 0.0;
    var bend = 0.0;
    for (var k = 0u; k < half; k++) {
        wave = turned(wave, twice);
        let own = (*circle).waves[k];
        let periods = 2.0 * f32(k + 1u);
        let part = dot(own, wave);
        value += part;
        slope += periods * (own.y * wave.x - own.x * wave.y);
        bend -= periods * periods * part;
    }
    return vec4<f32>(value * angle.y, slope * angle.y + value * angle.x,
        (bend - value) * angle.y + 2.0 * slope * angle.x, value);
}

// `place`: a point of the ray from the glyph's centre, mm; `pixel`: size of a pixel there, mm.
fn meet(large: Large, place: vec3<f32>, pixel: f32) -> Hit {
    var hit: Hit;
    let odf = distribution_of(large.glyph);
    let centre = centre_of(large.glyph);
    let perspective = rays.eye.w > 0.5;
    let d = normalize(select(-rays.eye.xyz, place - (rays.eye.xyz - centre), perspective));
    let foot = place - d * dot(place, d);
    let off = length(foot);
    if off >= large.reach {
        return hit;
    }
    let other = select(vec3<f32>(1.0, 0.0, 0.0), vec3<f32>(0.0, 1.0, 0.0), abs(d.x) > 0.7);
    let e = select(normalize(cross(d, other)), foot / max(off, 1e-30), off > 1e-5 * large.reach);
    // Rays through the centre itself would need very short steps.
    let b = max(off, min(0.2 * pixel, 0.1 * large.reach));
    var circle = circle_of(odf, large.scale, d, e);
    let half = odf.order / 2u;
    // Within the sphere of the reach, and behind the near plane.
    let border = asin(clamp(b / large.reach, 0.0, 1.0));
    let depth = (rays.clip_from_world * vec4<f32>(centre + foot, 1.0)).z;
    let deeper = (rays.clip_from_world * vec4<f32>(d, 0.0)).z;
    let plane = select(-2.0 * large.reach, -depth / deeper, deeper > 0.0);
    let cut = plane > -large.reach;
    var p = select(border, max(border, atan2(b, -plane)), cut);
    let end = 3.14159265 - border;
    let tolerance = min(max(0.02 * pixel, 1e-5 * large.reach), 0.25 * b);
    // -1 if the near plane cuts the glyph open: then the far side shows.
    var side = 1.0;
    // The largest maximum of h along the way.
    var highest = -1e30;
    var summit = 0.0;
    var rising = false;
    for (var i = 0u; i < MAX_STEPS; i++) {
        if p > end {
            break;
        }
        let angle = vec2<f32>(cos(p), sin(p));
        let at = along_circle(&circle, half, angle);
        if i == 0u && cut && at.x > b {
            side = -1.0;
        }
        let h = side * (at.x - b);
        let slope = side * at.y;
        if h > -tolerance && at.w > 0.0 {
            // Nearer to the root, unless the ray only touches the surface.
            p += select(0.0, clamp(-h / slope, 0.0, 0.05), slope > 1e-3 * large.reach);
            let met = vec2<f32>(cos(p), sin(p));
            hit.found = true;
            hit.r = along_circle(&circle, half, met).w;
            hit.u = -met.x * d + met.y * e;
            break;
        }
        if rising && slope <= 0.0 && h > highest && side > 0.0 {
            highest = h;
            summit = p;
        }
        rising = slope > 0.0;
        let gap = max(-h, 0.5 * tolerance);
        let root = sqrt(slope * slope + 2.0 * circle.bend * gap);
        p += select((root - slope) / circle.bend, 2.0 * gap / (root + slope), slope > 0.0);
    }
    // The maximum before the hit, else that behind it.
    let behind = highest < -1e29;
    hit.grazes = (!behind || hit.found) && side > 0.0;
    if behind {
        summit = p;
    }
    if hit.grazes {
        for (var i = 0u; i < 4u; i++) {
            let at = along_circle(&circle, half, vec2<f32>(cos(summit), sin(summit)));
            // Uphill where Newton's step would lead to a minimum.
            summit += select(0.1 * sign(at.y), clamp(-at.y / at.z, -0.1, 0.1), at.z < 0.0);
        }
        summit = clamp(summit, border, end);
        let angle = vec2<f32>(cos(summit), sin(summit));
        hit.graze = -angle.x * d + angle.y * e;
        hit.graze_r = b / angle.y;
        hit.behind = behind;
    }
    return hit;
}

struct Surface {
    colour: vec3<f32>,
    depth: f32,
}

// `rise`: as from `gradient`.
fn surface_at(large: Large, rise: vec4<f32>, u: vec3<f32>, r: f32) -> Surface {
    let world = centre_of(large.glyph) + u * r;
    let normal = normalize(u * max(rise.w, 1e-12) - rise.xyz);
    let to_eye = normalize(rays.eye.xyz - world * rays.eye.w);
    let clip = rays.clip_from_world * vec4<f32>(world, 1.0);
    let lit = lit_glyph(abs(u), normal, rays.light.xyz, to_eye);
    return Surface(faded(lit, world, rays.depth_cue, rays.fading), clip.z / clip.w);
}

struct Whole {
    @location(0) colour: vec4<f32>,
    @builtin(frag_depth) depth: f32,
}

// One ray per pixel.
@fragment
fn fs_odf_ray(in: Corner) -> Whole {
    let pixel = max(length(dpdx(in.place)), length(dpdy(in.place)));
    let large = large_glyphs[in.large];
    let hit = meet(large, in.place, pixel);
    if !hit.found {
        discard;
    }
    let rise = gradient(distribution_of(large.glyph), hit.u);
    let surface = surface_at(large, rise, hit.u, hit.r);
    if surface.depth > 1.0 {
        discard;
    }
    return Whole(vec4<f32>(surface.colour, 1.0), clamp(surface.depth, 0.0, 1.0));
}

struct Covered {
    @location(0) colour: vec4<f32>,
    @builtin(frag_depth) depth: f32,
    @builtin(sample_mask) covered: u32,
}

// One ray per pixel. Which of its four samples the surface covers follows from the point where the ray comes nearest to
// an outline: to first order, g = s f - r there grows by its gradient times the distance of the sample.
@fragment
fn fs_odf_rays(in: Corner) -> Covered {
    let across = dpdx(in.place);
    let down = dpdy(in.place);
    let pixel = max(length(across), length(down));
    let large = large_glyphs[in.large];
    let odf = distribution_of(large.glyph);
    var out: Covered;
    let hit = meet(large, in.place, pixel);
    if !hit.found && !hit.grazes {
        discard;
    }
    var covered = 0u;
    var graze_rise = vec4<f32>(0.0);
    if hit.grazes {
        graze_rise = gradient(odf, hit.graze);
        let inside = large.scale * graze_rise.w - hit.graze_r;
        let growth = large.scale / hit.graze_r * graze_rise.xyz - hit.graze;
        let steps = vec2<f32>(dot(growth, across), dot(growth, down));
        // The places of four samples on every device, from the pixel's centre.
        var offsets = array<vec2<f32>, 4>(vec2<f32>(-0.125, -0.375), vec2<f32>(0.375, -0.125),
            vec2<f32>(-0.375, 0.125), vec2<f32>(0.125, 0.375));
        for (var i = 0u; i < 4u; i++) {
            covered |= select(0u, 1u << i, inside + dot(steps, offsets[i]) > 0.0);
        }
    }
    var surface = Surface(vec3<f32>(0.0), 2.0);
    if hit.found {
        surface = surface_at(large, gradient(odf, hit.u), hit.u, hit.r);
        out.covered = select(15u, covered, hit.grazes && hit.behind);
    }
    if hit.grazes && !hit.behind && covered != 0u {
        let edge = surface_at(large, graze_rise, hit.graze, hit.graze_r);
        let share = f32(countOneBits(covered)) * 0.25;
        surface.colour = select(edge.colour, mix(surface.colour, edge.colour, share), hit.found);
        surface.depth = select(edge.depth, surface.depth, hit.found && share < 0.5);
        out.covered |= covered;
    }
    if out.covered == 0u || surface.depth > 1.0 {
        discard;
    }
    out.colour = vec4<f32>(surface.colour, 1.0);
    out.depth = clamp(surface.depth, 0.0, 1.0);
    return out;
}
