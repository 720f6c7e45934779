// Planes and boxes that hide parts of the 3-D view: see src/render/clips.rs. Every shader that contains this declares the
// storage buffer `clips`; in a uniform buffer, Mesa's software renderer would compile the loops again for every draw.

const MOST_CLIPS: i32 = 6;
// Largest number of visible stretches of a ray: each clip, and a hole of the volume, can divide one.
const MOST_STRETCHES: i32 = 8;
// Beyond the end of every ray, mm.
const ENDLESS: f32 = 1e9;

struct Clips {
    // Three for each: their dot products with (world, 1) are within the limits inside it.
    rows: array<vec4<f32>, 18>,
    // For each: lower and upper limit; 1 if it hides its inside. Unused ones keep everything.
    limits: array<vec4<f32>, 6>,
}

fn is_clipped(world: vec3<f32>) -> bool {
    let point = vec4<f32>(world, 1.0);
    var hidden = false;
    for (var i = 0; i < MOST_CLIPS; i++) {
        let limits = clips.limits[i];
        let at = vec3<f32>(dot(clips.rows[3 * i], point), dot(clips.rows[3 * i + 1], point),
            dot(clips.rows[3 * i + 2], point));
        let inside = all(at >= vec3<f32>(limits.x)) && all(at <= vec3<f32>(limits.y));
        hidden = hidden || inside == (limits.z > 0.5);
    }
    return hidden;
}

// The part of a ray inside a plane or a box, mm, and the directions of the borders through which it enters and leaves.
struct Span {
    enters: f32,
    leaves: f32,
    entry: vec3<f32>,
    exit: vec3<f32>,
}

fn clip_span(i: i32, origin: vec3<f32>, direction: vec3<f32>) -> Span {
    var span = Span(-ENDLESS, ENDLESS, vec3<f32>(0.0), vec3<f32>(0.0));
    let limits = clips.limits[i];
    for (var r = 0; r < 3; r++) {
        let row = clips.rows[3 * i + r];
        let at = dot(row, vec4<f32>(origin, 1.0));
        let rate = dot(row.xyz, direction);
        let crossings = (limits.xy - at) / select(1e-9, rate, abs(rate) > 1e-9);
        let enters = min(crossings.x, crossings.y);
        let leaves = max(crossings.x, crossings.y);
        if enters > span.enters {
            span.enters = enters;
            span.entry = row.xyz;
        }
        if leaves < span.leaves {
            span.leaves = leaves;
            span.exit = row.xyz;
        }
    }
    return span;
}

// A visible stretch of a ray, mm; empty if `until` is not beyond `start`.
struct Stretch {
    start: f32,
    until: f32,
    // Direction of the border through which it is entered; zeros if it begins where it was sought.
    side: vec3<f32>,
    // It begins at the end of the hole that the caller gave.
    is_after_hole: bool,
}

// The first visible stretch from here on. `hole`: another part of the ray that is hidden, mm, and the direction of the
// border at its end.
fn visible_stretch(origin: vec3<f32>, direction: vec3<f32>, from_mm: f32, hole: vec2<f32>,
    hole_side: vec3<f32>) -> Stretch {
    var found = Stretch(from_mm, ENDLESS, vec3<f32>(0.0), false);
    for (var i = 0; i < MOST_CLIPS; i++) {
        let span = clip_span(i, origin, direction);
        if clips.limits[i].z < 0.5 {
            if span.enters > found.start {
                found.start = span.enters;
                found.side = span.entry;
            }
            found.until = min(found.until, span.leaves);
        }
    }
    // The end of a hole may lie in another one.
    for (var round = 0; round < MOST_STRETCHES; round++) {
        if hole.x <= found.start && found.start < hole.y {
            found.start = hole.y;
            found.side = hole_side;
            found.is_after_hole = true;
        }
        for (var i = 0; i < MOST_CLIPS; i++) {
            let span = clip_span(i, origin, direction);
            if clips.limits[i].z > 0.5 && span.enters <= found.start && found.start < span.leaves {
                found.start = span.leaves;
                found.side = span.exit;
                found.is_after_hole = false;
            }
        }
    }
    if hole.x > found.start && hole.x < hole.y {
        found.until = min(found.until, hole.x);
    }
    for (var i = 0; i < MOST_CLIPS; i++) {
        let span = clip_span(i, origin, direction);
        if clips.limits[i].z > 0.5 && span.enters > found.start && span.enters < span.leaves {
            found.until = min(found.until, span.enters);
        }
    }
    return found;
}
