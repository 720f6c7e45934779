// Translucent streamlines drawn by compute shaders (src/render/line_blend.rs): each segment adds its layer to the pixels
// that it covers (blend_small, blend_large), the integer sums of a chunk are added to those of the picture (fold_blend), and
// once they are complete, a triangle writes them into the textures of transparency.rs (fs_blended). Appended to
// line_raster.wgsl.

// Per pixel, in integers: red and green of the weighted sum; its blue and its weight; the scene's depth and the loss of
// light; the weighted depth. The first number of each pair is in the upper 32 bits.
@group(1) @binding(1) var<storage, read_write> layers: array<atomic<u64>>;
// The only group of the shaders that begin and fold the sums. A pixel of `folded_layers` has two items.
@group(0) @binding(0) var<uniform> folded: Picture;
@group(0) @binding(1) var<storage, read_write> folded_layers: array<vec4<u32>>;
// Per pixel: the weighted sum of colours and the weight; then the loss of light and the weighted depth.
@group(0) @binding(2) var<storage, read_write> sums: array<vec4<f32>>;
@group(0) @binding(3) var scene_limit: texture_depth_2d;
@group(0) @binding(1) var<storage, read> written_sums: array<vec4<f32>>;

// Bits of light after whose loss the background cannot be seen.
const ALL_LOST: f32 = 24.0;
// Marks pixels whose light is lost: no chunk alone reaches this number.
const NO_LIGHT: u32 = 0xffffffffu;
// Largest weight that half precision represents, with a margin.
const LARGEST_WEIGHT: f32 = 60000.0;

const BLEND_THREADS: u32 = 128u;

// log2 of the light that a layer transmits; 1 - opacity is rounded too coarsely where the opacity is small.
fn log_left(opacity: f32) -> f32 {
    let series = -1.442695 * opacity * (1.0 + 0.5 * opacity);
    return select(log2(1.0 - opacity), series, opacity < 0.01);
}

// Adds a layer to a pixel, unless the scene hides it; the edges are the segment's right ones.
fn blend_layer(quad: Quad, weights: vec3<f32>, start: Ribbon, end: Ribbon, item: u32) {
    let depth = mix(quad.depth.x, quad.depth.y, weights.x);
    if weights.x < 0.0 || depth < 0.0 || depth > 1.0 {
        return;
    }
    let light = atomicLoad(&layers[item + 2u]);
    if depth > bitcast<f32>(u32(light >> 32u)) {
        return;
    }
    let corners = vec4<f32>(1.0 - weights.x - weights.y, weights.y, weights.x - weights.z, weights.z);
    let ribbon = ribbon_between(quad, corners, start, end);
    if picture.size.w != 0u && is_cut(ribbon.place.x, ribbon.place.w, ribbon.world) {
        return;
    }
    let layer = transparency(ribbon);
    let parts = vec4<u32>(layer.sum * picture.blend.x + 0.5);
    atomicAdd(&layers[item], (u64(parts.r) << 32u) | u64(parts.g));
    atomicAdd(&layers[item + 1u], (u64(parts.b) << 32u) | u64(parts.a));
    if f32(u32(light)) < picture.blend.z {
        let lost = u32(picture.blend.y * log_left(layer.left) + 0.5);
        atomicAdd(&layers[item + 2u], u64(lost));
    }
    if picture.slots.w != 0u {
        atomicAdd(&layers[item + 3u], u64(u32(layer.depth * picture.blend.x + 0.5)));
    }
}

// Adds the segment's layers to every `stride`th of its cells, beginning with number `first`.
fn blend_cells(quad: Quad, cells: Cells, start: Ribbon, end: Ribbon, first: i32, stride: i32) {
    let triangles = triangles_of(quad);
    let ahead = steps_of(cells, stride);
    for (var cell = steps_of(cells, first); cell.x < cells.columns; cell = later_cell(cells, cell, ahead)) {
        let pixel = pixel_of_cell(cells, cell);
        if is_outside(pixel) {
            continue;
        }
        let point = vec2<f32>(pixel) - quad.start + 0.5;
        let item = 4u * (u32(pixel.y) * picture.size.x + u32(pixel.x));
        // In a sharp bend both triangles cover a pixel, which then has two layers, as the rasteriser draws them.
        let in_end = weights_in_end(triangles, point);
        var weights = weights_in_start(triangles, point);
        // A point on the diagonal belongs to the first.
        let is_double = weights.x >= 0.0 && in_end.z > 0.0;
        if weights.x < 0.0 {
            weights = in_end;
        }
        blend_layer(quad, weights, start, end, item);
        if is_double {
            blend_layer(quad, in_end, start, end, item);
        }
    }
}

// Each thread draws the segment that begins at its slot.
@compute @workgroup_size(128)
fn blend_small(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = picture.slots.x + (group.x + group.y * groups.x) * BLEND_THREADS + thread;
    if at + 1u >= picture.slots.y || is_gap(at) || is_gap(at + 1u) {
        return;
    }
    let a = section_at(at);
    let b = section_at(at + 1u);
    let quad = quad_between(array(a.clip, b.clip), array(a.offset, b.offset));
    if quad.hidden {
        return;
    }
    let cells = cells_of(quad);
    if cells.columns <= 0 || is_postponed(at, cells) {
        return;
    }
    blend_cells(quad, cells, ribbon_edge(at, a, 1.0), ribbon_edge(at + 1u, b, 1.0), 0, 1);
}

@compute @workgroup_size(64)
fn blend_large(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let count = min(atomicLoad(&large.count), arrayLength(&large.slots));
    for (var i = group.x; i < count; i += groups.x) {
        let at = large.slots[i];
        let a = section_at(at);
        let b = section_at(at + 1u);
        let quad = quad_between(array(a.clip, b.clip), array(a.offset, b.offset));
        let start = ribbon_edge(at, a, 1.0);
        let end = ribbon_edge(at + 1u, b, 1.0);
        blend_cells(quad, cells_of(quad), start, end, i32(thread), 64);
    }
}

// Clears the layers and the sums of a pixel, and stores the depth of the scene there.
@compute @workgroup_size(8, 8)
fn begin_blend(@builtin(global_invocation_id) pixel: vec3<u32>) {
    if any(pixel.xy >= folded.size.xy) {
        return;
    }
    let item = 2u * (pixel.y * folded.size.x + pixel.x);
    let limit = textureLoad(scene_limit, pixel.xy, 0);
    folded_layers[item] = vec4<u32>(0u);
    folded_layers[item + 1u] = vec4<u32>(0u, bitcast<u32>(limit), 0u, 0u);
    sums[item] = vec4<f32>(0.0);
    sums[item + 1u] = vec4<f32>(0.0);
}

@compute @workgroup_size(8, 8)
fn fold_blend(@builtin(global_invocation_id) pixel: vec3<u32>) {
    if any(pixel.xy >= folded.size.xy) {
        return;
    }
    let item = 2u * (pixel.y * folded.size.x + pixel.x);
    let colour = folded_layers[item];
    let other = folded_layers[item + 1u];
    if colour.z == 0u && (other.x == 0u || other.x == NO_LIGHT) {
        return;
    }
    sums[item] += vec4<f32>(colour.yxwz) / folded.blend.x;
    let lost = sums[item + 1u].x - f32(other.x) / folded.blend.y;
    let depth = (f32(other.z) + 4294967296.0 * f32(other.w)) / folded.blend.x;
    sums[item + 1u] = vec4<f32>(lost, sums[item + 1u].y + depth, 0.0, 0.0);
    folded_layers[item] = vec4<u32>(0u);
    folded_layers[item + 1u] = vec4<u32>(select(0u, NO_LIGHT, lost >= ALL_LOST), other.y, 0u, 0u);
}

@fragment
fn fs_blended(@builtin(position) position: vec4<f32>) -> Transparency {
    let pixel = vec2<u32>(position.xy);
    let item = 2u * (pixel.y * written_size.x + pixel.x);
    let sum = written_sums[item];
    let other = written_sums[item + 1u];
    // These are the sums of all parts of the picture, of which only ratios are used.
    let scale = min(1.0, LARGEST_WEIGHT / max(sum.a, 1.0));
    return Transparency(sum * scale, 1.0 - exp2(-other.x), other.y * scale);
}
