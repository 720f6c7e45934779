// The quadrilateral that a segment of a ribbon covers on the screen: the two triangles of the strip in lines.wgsl.

// Positions of samples in a pixel: those of Vulkan and Direct3D.
const SAMPLES_4 = array<vec2<f32>, 4>(vec2<f32>(0.375, 0.125), vec2<f32>(0.875, 0.375),
    vec2<f32>(0.125, 0.625), vec2<f32>(0.625, 0.875));

struct Picture {
    // Width and height, px; samples per pixel: 1 or 4; 1 if lines are cut.
    size: vec4<u32>,
    // The first slot to draw and the end; number of slot 0 among those of the picture, plus 1.
    slots: vec4<u32>,
}

struct Quad {
    // The middle of its ends, px.
    start: vec2<f32>,
    end: vec2<f32>,
    // From there to the side of each end, px.
    start_side: vec2<f32>,
    end_side: vec2<f32>,
    // At both ends: depth, the clip coordinate w, and the position along the segment.
    depth: vec2<f32>,
    w: vec2<f32>,
    along: vec2<f32>,
    // No part of it is in front of the near plane.
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

// A point within a quadrilateral: the weight of its end, and the weights of the right corners of the start and the end;
// x is -1 outside.
fn weights_in(triangles: Triangles, point: vec2<f32>) -> vec3<f32> {
    let at = vec3<f32>(point, 1.0);
    let a = vec2<f32>(dot(triangles.start.first, at), dot(triangles.start.second, at));
    if min(a.x, a.y) >= 0.0 && a.x + a.y <= 1.0 {
        return vec3<f32>(a.y, a.x, 0.0);
    }
    let b = vec2<f32>(dot(triangles.end.first, at), dot(triangles.end.second, at));
    if min(b.x, b.y) >= 0.0 && b.x + b.y <= 1.0 {
        return vec3<f32>(1.0 - b.x, b.x, b.y);
    }
    return vec3<f32>(-1.0, 0.0, 0.0);
}

// The position along the segment, correct in perspective, for the weight of the end on the screen.
fn along_segment(quad: Quad, end_weight: f32) -> f32 {
    let shares = vec2<f32>(1.0 - end_weight, end_weight) / quad.w;
    return mix(quad.along.x, quad.along.y, shares.y / (shares.x + shares.y));
}
