// Glyphs of fibre orientation distributions: surfaces whose distance from the centre, in each direction, is the amplitude
// there. The first pass computes these distances at the vertices of a subdivided icosahedron; the second draws.

struct OdfGlyphs {
    clip_from_world: mat4x4<f32>,
    // Eye (w = 1), or direction to the viewer (w = 0).
    eye: vec4<f32>,
    light: vec4<f32>,
    // Greatest distance, mm; the amplitude drawn at that distance, or 0: the peak of each glyph; the smallest peak drawn.
    size: vec4<f32>,
    // Dot product with (world, 1): 0 near, 1 far.
    depth_cue: vec4<f32>,
    // Colour of the background, and the fraction of it that the depth cue adds at the far end.
    fading: vec4<f32>,
    // Number of glyphs; of coefficients; of directions, one of each opposite pair; of workgroups in a row.
    counts: vec4<u32>,
}

struct Direction {
    u: vec4<f32>,
    // The corners around, in order: twice the number of a direction, plus 1 for its opposite.
    ring: array<u32, 6>,
    unused: array<u32, 2>,
}

@group(0) @binding(0) var<uniform> odf: OdfGlyphs;
// For each glyph: its centre in world mm, its size relative to the full one, then the coefficients.
@group(0) @binding(1) var<storage, read> glyphs: array<f32>;
// For each coefficient: its function at all directions.
@group(0) @binding(2) var<storage, read> harmonics: array<f32>;
@group(0) @binding(3) var<storage, read_write> results: array<f32>;
// When glyphs are drawn, bound in place of the harmonics and of the computed distances.
@group(0) @binding(2) var<storage, read> directions: array<Direction>;
@group(0) @binding(3) var<storage, read> distances: array<f32>;

const LANES: u32 = 64u;
var<workgroup> highest: array<f32, 64>;

// One workgroup per glyph.
@compute @workgroup_size(64)
fn odf_prepare(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // The last row has more workgroups than glyphs: these repeat the last glyph.
    let glyph = min(group.x + group.y * odf.counts.w, odf.counts.x - 1u);
    let coefficients = odf.counts.y;
    let directions = odf.counts.z;
    let first = glyph * (coefficients + 4u) + 4u;
    var most = 0.0;
    for (var d = lane; d < directions; d += LANES) {
        var amplitude = 0.0;
        for (var c = 0u; c < coefficients; c++) {
            amplitude += glyphs[first + c] * harmonics[c * directions + d];
        }
        most = max(most, amplitude);
    }
    highest[lane] = most;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if lane < half {
            highest[lane] = max(highest[lane], highest[lane + half]);
        }
        workgroupBarrier();
    }
    let peak = highest[0];
    let full = select(peak, odf.size.y, odf.size.y > 0.0);
    let drawn = peak > 0.0 && peak >= odf.size.z;
    let scale = select(0.0, glyphs[first - 1u] * odf.size.x / max(full, 1e-30), drawn);
    for (var d = lane; d < directions; d += LANES) {
        var amplitude = 0.0;
        for (var c = 0u; c < coefficients; c++) {
            amplitude += glyphs[first + c] * harmonics[c * directions + d];
        }
        // Negative amplitudes are noise.
        results[glyph * directions + d] = max(amplitude, 0.0) * scale;
    }
}

struct Point {
    @builtin(position) position: vec4<f32>,
    @location(0) world: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) direction: vec3<f32>,
}

fn outwards(corner: u32) -> vec3<f32> {
    let u = directions[corner / 2u].u.xyz;
    return select(u, -u, (corner & 1u) == 1u);
}

fn from_centre(glyph: u32, corner: u32) -> vec3<f32> {
    return outwards(corner) * distances[glyph * odf.counts.z + corner / 2u];
}

// The index buffer lists corners.
@vertex
fn vs_odf(@builtin(vertex_index) corner: u32, @builtin(instance_index) glyph: u32) -> Point {
    let here = from_centre(glyph, corner);
    let outside = outwards(corner);
    let opposite = corner & 1u;
    // The sum of the triangles around.
    var normal = vec3<f32>(0.0);
    var last = from_centre(glyph, directions[corner / 2u].ring[5] ^ opposite) - here;
    for (var k = 0u; k < 6u; k++) {
        let next = from_centre(glyph, directions[corner / 2u].ring[k] ^ opposite) - here;
        normal += cross(last, next);
        last = next;
    }
    // Any ray from the centre leaves the surface once, so the normal points outwards.
    normal *= sign(dot(normal, outside));
    let start = glyph * (odf.counts.y + 4u);
    let centre = vec3<f32>(glyphs[start], glyphs[start + 1u], glyphs[start + 2u]);
    var point: Point;
    point.world = centre + here;
    let size = length(normal);
    point.normal = select(outside, normal / max(size, 1e-30), size > 1e-12);
    point.direction = outside;
    point.position = odf.clip_from_world * vec4<f32>(point.world, 1.0);
    return point;
}

@fragment
fn fs_odf(in: Point) -> @location(0) vec4<f32> {
    let to_eye = normalize(odf.eye.xyz - in.world * odf.eye.w);
    let colour = abs(normalize(in.direction));
    let lit = lit_glyph(colour, normalize(in.normal), odf.light.xyz, to_eye);
    return vec4<f32>(faded(lit, in.world, odf.depth_cue, odf.fading), 1.0);
}
