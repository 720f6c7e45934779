// Opaque streamlines drawn by compute shaders (src/render/line_raster.rs): each segment writes its depth and number to the
// samples that it covers (draw_small, draw_large), then each sample is coloured (colour_lines), and a triangle writes
// colours and depths into the scene (fs_written). A segment covers the two triangles of the strip in lines.wgsl.

@group(1) @binding(0) var<uniform> picture: Picture;
// Per sample: the inverted bits of the depth, which grow towards the eye, then the number of the slot where the segment
// starts; 0 where there is none. The same buffer is `keys` once it is complete: the number, then the inverted bits.
@group(1) @binding(1) var<storage, read_write> nearest: array<atomic<u64>>;
@group(1) @binding(1) var<storage, read> keys: array<vec2<u32>>;
@group(1) @binding(2) var<storage, read_write> large: Large;
@group(1) @binding(2) var<storage, read_write> colours: array<u32>;
// The only group of the shaders that write into the scene.
@group(0) @binding(0) var<uniform> written_size: vec4<u32>;
@group(0) @binding(1) var<storage, read> written_keys: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> written_colours: array<u32>;

// Positions of samples in a pixel: those of Vulkan and Direct3D.
const SAMPLES_4 = array<vec2<f32>, 4>(vec2<f32>(0.375, 0.125), vec2<f32>(0.875, 0.375),
    vec2<f32>(0.125, 0.625), vec2<f32>(0.625, 0.875));

struct Picture {
    // Width and height, px; samples per pixel: 1 or 4; 1 if lines are cut.
    size: vec4<u32>,
    // The first slot to draw and the end; number of slot 0 among those of the picture, plus 1; 1 if depths are summed.
    slots: vec4<u32>,
    // For line_blend.wgsl: parts per weight; parts per bit of light that a layer leaves (negative); parts after which no
    // light is left.
    blend: vec4<f32>,
}

struct Quad {
    // Middle points of its two ends, px.
    start: vec2<f32>,
    end: vec2<f32>,
    // From these points to the right side of the quadrilateral, px.
    start_side: vec2<f32>,
    end_side: vec2<f32>,
    // At both ends: depth, the clip coordinate w, and the position along the segment.
    depth: vec2<f32>,
    w: vec2<f32>,
    along: vec2<f32>,
    // All of it is nearer than the near plane, or behind the eye.
    hidden: bool,
}

fn pixel_of(clip: vec2<f32>, w: f32) -> vec2<f32> {
    return (clip / w * vec2<f32>(0.5, -0.5) + 0.5) * style.view.xy;
}

// The quadrilateral between two sections, cut at the near plane.
fn quad_between(clips: array<vec4<f32>, 2>, offsets: array<vec2<f32>, 2>) -> Quad {
    var out: Quad;
    var a = clips[0];
    var b = clips[1];
    var side_a = offsets[0];
    var side_b = offsets[1];
    out.along = vec2<f32>(0.0, 1.0);
    out.hidden = a.z < 0.0 && b.z < 0.0;
    let crossing = clips[0].z / (clips[0].z - clips[1].z);
    if a.z < 0.0 {
        out.along.x = crossing;
        a = mix(clips[0], clips[1], crossing);
        side_a = mix(offsets[0], offsets[1], crossing);
    }
    if b.z < 0.0 {
        out.along.y = crossing;
        b = mix(clips[0], clips[1], crossing);
        side_b = mix(offsets[0], offsets[1], crossing);
    }
    out.start = pixel_of(a.xy, a.w);
    out.end = pixel_of(b.xy, b.w);
    out.start_side = side_a / a.w * vec2<f32>(0.5, -0.5) * style.view.xy;
    out.end_side = side_b / b.w * vec2<f32>(0.5, -0.5) * style.view.xy;
    out.depth = vec2<f32>(a.z / a.w, b.z / b.w);
    out.w = vec2<f32>(a.w, b.w);
    return out;
}

// Weights of two corners of a triangle as functions of a point relative to the third: dot products with (point, 1).
struct Triangle {
    first: vec3<f32>,
    second: vec3<f32>,
}

// `origin` is the third corner; the point is relative to the same origin as the corners.
fn triangle(origin: vec2<f32>, first: vec2<f32>, second: vec2<f32>) -> Triangle {
    let a = first - origin;
    let b = second - origin;
    let area = a.x * b.y - a.y * b.x;
    let scale = select(0.0, 1.0 / area, abs(area) > 1e-12);
    // A triangle without area covers nothing.
    let outside = select(-1.0, 0.0, abs(area) > 1e-12);
    let to_first = vec2<f32>(b.y, -b.x) * scale;
    let to_second = vec2<f32>(-a.y, a.x) * scale;
    return Triangle(vec3<f32>(to_first, outside - dot(to_first, origin)),
        vec3<f32>(to_second, outside - dot(to_second, origin)));
}

// Both triangles of a quadrilateral, relative to its start. The first has the corners (left, right) of the start and the
// left one of the end, the second those of the end and the right one of the start.
struct Triangles {
    start: Triangle,
    end: Triangle,
}

fn triangles_of(quad: Quad) -> Triangles {
    let way = quad.end - quad.start;
    let left = way - quad.end_side;
    let right = way + quad.end_side;
    return Triangles(triangle(-quad.start_side, quad.start_side, left),
        triangle(left, quad.start_side, right));
}

// A point within the first triangle of a quadrilateral: the weight of its end, and the weights of the right corners of the
// start and the end; x is -1 outside.
fn weights_in_start(triangles: Triangles, point: vec2<f32>) -> vec3<f32> {
    let at = vec3<f32>(point, 1.0);
    let a = vec2<f32>(dot(triangles.start.first, at), dot(triangles.start.second, at));
    let inside = min(a.x, a.y) >= 0.0 && a.x + a.y <= 1.0;
    return select(vec3<f32>(-1.0, 0.0, 0.0), vec3<f32>(a.y, a.x, 0.0), inside);
}

// A point within the second triangle, as for the first.
fn weights_in_end(triangles: Triangles, point: vec2<f32>) -> vec3<f32> {
    let at = vec3<f32>(point, 1.0);
    let b = vec2<f32>(dot(triangles.end.first, at), dot(triangles.end.second, at));
    let inside = min(b.x, b.y) >= 0.0 && b.x + b.y <= 1.0;
    return select(vec3<f32>(-1.0, 0.0, 0.0), vec3<f32>(1.0 - b.x, b.x, b.y), inside);
}

// A point within the first of both that contains it.
fn weights_in(triangles: Triangles, point: vec2<f32>) -> vec3<f32> {
    let weights = weights_in_start(triangles, point);
    if weights.x >= 0.0 {
        return weights;
    }
    return weights_in_end(triangles, point);
}

// The position along the segment, correct in perspective, for the weight of the end on the screen.
fn along_segment(quad: Quad, end_weight: f32) -> f32 {
    let shares = vec2<f32>(1.0 - end_weight, end_weight) / quad.w;
    return mix(quad.along.x, quad.along.y, shares.y / (shares.x + shares.y));
}

// Segments that cover many pixels are drawn by a workgroup each.
struct Large {
    count: atomic<u32>,
    slots: array<u32>,
}

const THREADS: u32 = 256u;
// Largest number of cells, of one pixel each, that a single thread draws.
const SMALL: i32 = 192;

var<workgroup> clips_of: array<vec4<f32>, THREADS>;
var<workgroup> offsets_of: array<vec2<f32>, THREADS>;
var<workgroup> gaps: array<u32, THREADS>;

// The pixels that a segment may cover: a number of columns along its main direction, each of the same number of rows,
// which begin in the picture.
struct Cells {
    steep: bool,
    first_column: i32,
    columns: i32,
    rows: i32,
    // Lowest row in a column: base + slope * position, which lies within `range`.
    base: f32,
    slope: f32,
    range: vec2<f32>,
}

fn cells_of(quad: Quad) -> Cells {
    var out: Cells;
    let way = quad.end - quad.start;
    out.steep = abs(way.y) > abs(way.x);
    // From here on, x is the coordinate along the main direction.
    let start = select(quad.start, quad.start.yx, out.steep);
    let end = select(quad.end, quad.end.yx, out.steep);
    // A single sample lies at the centre of its pixel, others anywhere in it; the margin is for rounding.
    let single = picture.size.z == 1u;
    let inset = select(0.0, 0.5, single);
    let sides = max(abs(quad.start_side), abs(quad.end_side)) + select(0.0, 0.01, single);
    let reach = select(sides, sides.yx, out.steep);
    let size = vec2<f32>(picture.size.xy);
    let limits = select(size, size.yx, out.steep);
    out.range = vec2<f32>(min(start.x, end.x), max(start.x, end.x));
    let length = end.x - start.x;
    out.slope = select(0.0, (end.y - start.y) / length, abs(length) > 1e-6);
    let first = clamp(floor(out.range.x - reach.x + inset), 0.0, limits.x);
    let last = clamp(floor(out.range.y + reach.x - inset), -1.0, limits.x - 1.0);
    out.first_column = i32(first);
    out.columns = i32(last) - i32(first) + 1;
    let height = reach.y + abs(out.slope) * (reach.x + 0.5 - inset);
    out.base = start.y - out.slope * start.x - height + inset;
    out.rows = i32(min(2.0 * height, limits.y)) + select(2, 1, single);
    let lowest = min(start.y, end.y) - reach.y;
    let highest = max(start.y, end.y) + reach.y;
    if lowest > limits.y || highest < 0.0 {
        out.columns = 0;
    }
    return out;
}

// Columns and rows that a number of cells fills; also the column and the row of the cell with this number.
fn steps_of(cells: Cells, number: i32) -> vec2<i32> {
    return vec2<i32>(number / cells.rows, number % cells.rows);
}

fn later_cell(cells: Cells, cell: vec2<i32>, ahead: vec2<i32>) -> vec2<i32> {
    let later = cell + ahead;
    return select(later, vec2<i32>(later.x + 1, later.y - cells.rows), later.y >= cells.rows);
}

fn pixel_of_cell(cells: Cells, cell: vec2<i32>) -> vec2<i32> {
    let along = cells.first_column + cell.x;
    let position = clamp(f32(along) + 0.5, cells.range.x, cells.range.y);
    // The rows of a column may begin before the picture; their number is limited to its height.
    let row = max(i32(floor(cells.base + cells.slope * position)), 0) + cell.y;
    return select(vec2<i32>(along, row), vec2<i32>(row, along), cells.steep);
}

fn is_outside(pixel: vec2<i32>) -> bool {
    return any(pixel < vec2<i32>(0)) || any(pixel >= vec2<i32>(picture.size.xy));
}

// Draws every `stride`th of a segment's cells, beginning with number `first`.
fn draw_cells(at: u32, quad: Quad, cells: Cells, first: i32, stride: i32) {
    let triangles = triangles_of(quad);
    let number = u64(picture.slots.z + at);
    let ahead = steps_of(cells, stride);
    for (var cell = steps_of(cells, first); cell.x < cells.columns; cell = later_cell(cells, cell, ahead)) {
        let pixel = pixel_of_cell(cells, cell);
        if is_outside(pixel) {
            continue;
        }
        let corner = vec2<f32>(pixel) - quad.start;
        let place = (u32(pixel.y) * picture.size.x + u32(pixel.x)) * picture.size.z;
        for (var sample = 0u; sample < picture.size.z; sample++) {
            let within = select(vec2<f32>(0.5), SAMPLES_4[sample], picture.size.z > 1u);
            let weights = weights_in(triangles, corner + within);
            let depth = mix(quad.depth.x, quad.depth.y, weights.x);
            if weights.x < 0.0 || depth < 0.0 || depth > 1.0 {
                continue;
            }
            if picture.size.w != 0u && is_segment_cut(at, along_segment(quad, weights.x)) {
                continue;
            }
            let key = (u64(~bitcast<u32>(depth)) << 32u) | number;
            if key > atomicLoad(&nearest[place + sample]) {
                atomicMax(&nearest[place + sample], key);
            }
        }
    }
}

fn is_segment_cut(at: u32, along: f32) -> bool {
    let world = mix(position_of(at), position_of(at + 1u), along);
    let value = mix(limited_value(at), limited_value(at + 1u), along);
    return is_cut(dot(style.slab, vec4<f32>(world, 1.0)), value, world);
}

// Adds a segment that covers many pixels to the list, from which workgroups draw it later; returns whether it did.
fn is_postponed(at: u32, cells: Cells) -> bool {
    if cells.columns <= SMALL / cells.rows {
        return false;
    }
    let item = atomicAdd(&large.count, 1u);
    if item >= arrayLength(&large.slots) {
        return false;
    }
    large.slots[item] = at;
    return true;
}

// Each thread computes a section, and each but the last one draws the segment that begins there.
@compute @workgroup_size(256)
fn draw_small(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = picture.slots.x + (group.x + group.y * groups.x) * (THREADS - 1u) + thread;
    let end = picture.slots.y;
    if at < end && !is_gap(at) {
        let section = section_at(at);
        clips_of[thread] = section.clip;
        offsets_of[thread] = section.offset;
        gaps[thread] = 0u;
    } else {
        gaps[thread] = 1u;
    }
    workgroupBarrier();
    if thread + 1u >= THREADS || at + 1u >= end || (gaps[thread] | gaps[thread + 1u]) != 0u {
        return;
    }
    let quad = quad_between(array(clips_of[thread], clips_of[thread + 1u]),
        array(offsets_of[thread], offsets_of[thread + 1u]));
    if quad.hidden {
        return;
    }
    let cells = cells_of(quad);
    if cells.columns <= 0 || is_postponed(at, cells) {
        return;
    }
    draw_cells(at, quad, cells, 0, 1);
}

@compute @workgroup_size(64)
fn draw_large(
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
        draw_cells(at, quad, cells_of(quad), i32(thread), 64);
    }
}

// The ribbon at a point of a quadrilateral, for the weights of the start's left and right corners, and of the end's;
// `start` and `end` are the right edges of the whole segment.
fn ribbon_between(quad: Quad, weights: vec4<f32>, start: Ribbon, end: Ribbon) -> Ribbon {
    let shares = weights / quad.w.xxyy;
    let sum = shares.x + shares.y + shares.z + shares.w;
    let along = mix(quad.along.x, quad.along.y, (shares.z + shares.w) / sum);
    let across = mix(vec2<f32>(start.across), vec2<f32>(end.across), quad.along);
    var ribbon = start;
    ribbon.across = dot(shares, vec4<f32>(-across.x, across.x, -across.y, across.y)) / sum;
    ribbon.colour = mix(start.colour, end.colour, along);
    ribbon.lighting = mix(start.lighting, end.lighting, along);
    ribbon.place = mix(start.place, end.place, along);
    ribbon.world = mix(start.world, end.world, along);
    return ribbon;
}

// The segment's colour at a pixel, evaluated as by a rasteriser: at the centre of the pixel, in the plane of the triangle
// that covers one of its samples.
fn colour_at(at: u32, pixel: vec2<u32>, sample: vec2<f32>) -> u32 {
    let a = section_at(at);
    let b = section_at(at + 1u);
    let quad = quad_between(array(a.clip, b.clip), array(a.offset, b.offset));
    let triangles = triangles_of(quad);
    let corner = vec2<f32>(pixel) - quad.start;
    let centre = vec3<f32>(corner + 0.5, 1.0);
    // Weights of the start's left and right corners, and of the end's.
    var weights: vec4<f32>;
    if weights_in(triangles, corner + sample).z == 0.0 {
        let right = dot(triangles.start.first, centre);
        let end = dot(triangles.start.second, centre);
        weights = vec4<f32>(1.0 - right - end, right, end, 0.0);
    } else {
        let begin = dot(triangles.end.first, centre);
        let right = dot(triangles.end.second, centre);
        weights = vec4<f32>(0.0, begin, 1.0 - begin - right, right);
    }
    let ribbon = ribbon_between(quad, weights, ribbon_edge(at, a, 1.0), ribbon_edge(at + 1u, b, 1.0));
    return pack4x8unorm(vec4<f32>(lit(ribbon), 1.0));
}

@compute @workgroup_size(8, 8)
fn colour_lines(@builtin(global_invocation_id) pixel: vec3<u32>) {
    if any(pixel.xy >= picture.size.xy) {
        return;
    }
    let place = (pixel.y * picture.size.x + pixel.x) * picture.size.z;
    var last_number = 0u;
    var last_colour = 0u;
    for (var sample = 0u; sample < picture.size.z; sample++) {
        // The numbers of other streamlines give slots outside the range, some by wrapping around.
        let number = keys[place + sample].x;
        let at = number - picture.slots.z;
        if number == 0u || at < picture.slots.x || at >= picture.slots.y {
            continue;
        }
        if number != last_number {
            let within = select(vec2<f32>(0.5), SAMPLES_4[sample], picture.size.z > 1u);
            last_colour = colour_at(at, pixel.xy, within);
            last_number = number;
        }
        colours[place + sample] = last_colour;
    }
}

struct Written {
    @location(0) colour: vec4<f32>,
    @builtin(frag_depth) depth: f32,
}

@vertex
fn vs_written(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    return covering_corner(index);
}

fn written(place: u32) -> Written {
    let key = written_keys[place];
    if key.x == 0u {
        discard;
    }
    return Written(unpack4x8unorm(written_colours[place]), bitcast<f32>(~key.y));
}

@fragment
fn fs_written(@builtin(position) pixel: vec4<f32>) -> Written {
    return written(u32(pixel.y) * written_size.x + u32(pixel.x));
}

@fragment
fn fs_written_samples(@builtin(position) pixel: vec4<f32>, @builtin(sample_index) sample: u32) -> Written {
    return written((u32(pixel.y) * written_size.x + u32(pixel.x)) * 4u + sample);
}
