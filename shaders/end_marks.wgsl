// Marks at the ends of streamlines: flat shapes of a fixed size on screen.

struct View {
    // To clip space in the 3-D view, to (pixel x, pixel y, slab) on a slice.
    from_world: mat4x4<f32>,
    // Eye (w = 1), or direction to the viewer (w = 0).
    eye: vec4<f32>,
    // Applied to (world, 1): beyond -1 to 1 a mark of the 3-D view is cut away.
    slab: vec4<f32>,
    // Width and height of the picture, px; pixels per mm where the clip coordinate w is 1.
    size: vec4<f32>,
    // Dot product with (world, 1): 0 near, 1 far.
    depth_cue: vec4<f32>,
    // Colour of the background, and the fraction of it that the depth cue adds at the far end.
    fading: vec4<f32>,
}

struct Mark {
    // Opacity in w.
    colour: vec4<f32>,
    // Shape; radius of a disc of the same area and width of the dark rim, px. A radius of 0: no mark.
    form: vec4<f32>,
}

@group(0) @binding(0) var<uniform> view: View;
// Position in world mm, and the number of the mark.
@group(0) @binding(1) var<storage, read> places: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> marks: array<Mark>;
@group(0) @binding(3) var<storage, read> clips: Clips;

struct Point {
    @builtin(position) position: vec4<f32>,
    // From the middle of the mark, px, y up.
    @location(0) local: vec2<f32>,
    @location(1) @interpolate(flat) mark: u32,
    // Fraction of the background's colour.
    @location(2) @interpolate(flat) fade: f32,
}

fn corner_of(index: u32, reach: f32) -> vec2<f32> {
    return (vec2<f32>(f32(index & 1u), f32(index >> 1u)) * 2.0 - 1.0) * reach;
}

fn mark_of(instance: u32) -> u32 {
    return min(u32(places[instance].w), arrayLength(&marks) - 1u);
}

// The farthest point of any shape, a corner of the triangle, and the soft edge.
fn reach_of(mark: u32) -> f32 {
    return 1.56 * marks[mark].form.y + 1.0;
}

@vertex
fn vs_mark(@builtin(vertex_index) index: u32, @builtin(instance_index) instance: u32) -> Point {
    var point: Point;
    point.position = vec4<f32>(2.0, 2.0, 2.0, 1.0);
    let mark = mark_of(instance);
    let world = places[instance].xyz;
    if marks[mark].form.y <= 0.0 || abs(dot(view.slab, vec4<f32>(world, 1.0))) > 1.0
        || is_clipped(world) {
        return point;
    }
    point.fade = view.fading.w * clamp(dot(view.depth_cue, vec4<f32>(world, 1.0)), 0.0, 1.0);
    let end = view.from_world * vec4<f32>(world, 1.0);
    // In front of the streamline that ends here.
    let to_eye = normalize(view.eye.xyz - world * view.eye.w);
    let lift = marks[mark].form.y * max(end.w, 0.0) / view.size.z;
    let lifted = view.from_world * vec4<f32>(world + to_eye * lift, 1.0);
    point.local = corner_of(index, reach_of(mark));
    let shift = point.local * 2.0 / view.size.xy * lifted.w;
    point.position = vec4<f32>(lifted.xy + shift, lifted.zw);
    point.mark = mark;
    return point;
}

@vertex
fn vs_mark_over(@builtin(vertex_index) index: u32, @builtin(instance_index) instance: u32) -> Point {
    var point: Point;
    point.position = vec4<f32>(2.0, 2.0, 2.0, 1.0);
    let mark = mark_of(instance);
    let at = view.from_world * vec4<f32>(places[instance].xyz, 1.0);
    if marks[mark].form.y <= 0.0 || abs(at.z) > 1.0 {
        return point;
    }
    point.local = corner_of(index, reach_of(mark));
    let pixel = at.xy + vec2<f32>(point.local.x, -point.local.y) + 0.5;
    point.position = vec4<f32>(pixel.x / view.size.x * 2.0 - 1.0, 1.0 - pixel.y / view.size.y * 2.0,
        0.0, 1.0);
    point.mark = mark;
    return point;
}

// Distance from the outline, px, negative inside. All shapes have the area of a disc of this radius.
fn from_outline(shape: u32, radius: f32, at: vec2<f32>) -> f32 {
    let side = abs(at);
    switch shape {
        case 0u: {
            return length(at) - radius;
        }
        case 1u: {
            return (side.x + side.y - 1.2533 * radius) * 0.7071;
        }
        case 2u: {
            return max(side.x, side.y) - 0.8862 * radius;
        }
        default: {
            return max(0.8660 * side.x + 0.5 * at.y, -at.y) - 0.7776 * radius;
        }
    }
}

fn painted(in: Point) -> vec4<f32> {
    let mark = marks[in.mark];
    let off = from_outline(u32(mark.form.x), mark.form.y, in.local);
    let rim = clamp(off + mark.form.z + 0.5, 0.0, 1.0);
    let colour = mix(mark.colour.rgb * (1.0 - 0.65 * rim), view.fading.rgb, in.fade);
    return vec4<f32>(colour, mark.colour.a * clamp(0.5 - off, 0.0, 1.0));
}

@fragment
fn fs_mark(in: Point) -> @location(0) vec4<f32> {
    let colour = painted(in);
    // Pixels that are nearly transparent write no depth.
    if colour.a < 0.2 * marks[in.mark].colour.a {
        discard;
    }
    return colour;
}

@fragment
fn fs_mark_over(in: Point) -> @location(0) vec4<f32> {
    return painted(in);
}
