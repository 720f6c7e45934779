// Finds the nearest streamline at each sample of a picture, see src/render/line_raster.rs.

@group(1) @binding(0) var<uniform> picture: Picture;
// Per sample: the inverted bits of the depth, which grow towards the eye, then the number of the slot where the segment
// starts; 0 where there is none.
@group(1) @binding(1) var<storage, read_write> nearest: array<atomic<u64>>;
@group(1) @binding(2) var<storage, read_write> large: Large;

// Segments that cover many pixels are drawn by a workgroup each.
struct Large {
    count: atomic<u32>,
    slots: array<u32>,
}

const THREADS: u32 = 256u;
// Cells, of a pixel each, that one thread draws.
const SMALL: i32 = 192;

var<workgroup> clips_of: array<vec4<f32>, THREADS>;
var<workgroup> offsets_of: array<vec2<f32>, THREADS>;
var<workgroup> gaps: array<u32, THREADS>;

// The pixels that a segment may cover: a number of columns along its main direction, each of the same number of rows.
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
    // x along the main direction.
    let start = select(quad.start, quad.start.yx, out.steep);
    let end = select(quad.end, quad.end.yx, out.steep);
    let sides = max(abs(quad.start_side), abs(quad.end_side));
    let reach = select(sides, sides.yx, out.steep);
    let size = vec2<f32>(picture.size.xy);
    let limits = select(size, size.yx, out.steep);
    out.range = vec2<f32>(min(start.x, end.x), max(start.x, end.x));
    let length = end.x - start.x;
    out.slope = select(0.0, (end.y - start.y) / length, abs(length) > 1e-6);
    let first = clamp(floor(out.range.x - reach.x), 0.0, limits.x);
    let last = clamp(floor(out.range.y + reach.x), -1.0, limits.x - 1.0);
    out.first_column = i32(first);
    out.columns = i32(last) - i32(first) + 1;
    let height = reach.y + abs(out.slope) * (reach.x + 0.5);
    out.base = start.y - out.slope * start.x - height;
    out.rows = i32(min(2.0 * height, limits.y)) + 2;
    let lowest = min(start.y, end.y) - reach.y;
    let highest = max(start.y, end.y) + reach.y;
    if lowest > limits.y || highest < 0.0 {
        out.columns = 0;
    }
    return out;
}

// Draws every `stride`th of a segment's cells, from the `first`.
fn draw_cells(at: u32, quad: Quad, cells: Cells, first: i32, stride: i32) {
    let triangles = triangles_of(quad);
    let number = u64(picture.slots.z + at);
    var column = first / cells.rows;
    var cell = first % cells.rows;
    let columns_ahead = stride / cells.rows;
    let cells_ahead = stride % cells.rows;
    while column < cells.columns {
        let along = cells.first_column + column;
        let position = clamp(f32(along) + 0.5, cells.range.x, cells.range.y);
        let row = i32(floor(cells.base + cells.slope * position)) + cell;
        column += columns_ahead;
        cell += cells_ahead;
        if cell >= cells.rows {
            cell -= cells.rows;
            column++;
        }
        let pixel = select(vec2<i32>(along, row), vec2<i32>(row, along), cells.steep);
        if any(pixel < vec2<i32>(0)) || any(pixel >= vec2<i32>(picture.size.xy)) {
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

// A section per thread, a segment per thread but the last.
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
    if cells.columns <= 0 {
        return;
    }
    if cells.columns > SMALL / cells.rows {
        let place = atomicAdd(&large.count, 1u);
        if place < arrayLength(&large.slots) {
            large.slots[place] = at;
            return;
        }
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
