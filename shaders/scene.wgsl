// Puts the 3-D view together: the scene, the outline's glass over it, brought to the pane's size.

struct Together {
    // Size of the scene's part of its target, and of the whole target, px.
    scene: vec4<f32>,
    // Size of the pane; pixels of the scene per pixel of the glass (0: no glass).
    pane: vec4<f32>,
    // Distance along the ray from depth d: y / (x - d) for perspective, x + y * d otherwise (z = 1).
    depth: vec4<f32>,
}

@group(0) @binding(0) var<uniform> together: Together;
// 1 is the scene's depth.
@group(0) @binding(2) var scene: texture_2d<f32>;
@group(0) @binding(3) var glass: texture_2d<f32>;
@group(0) @binding(4) var smooth_sampler: sampler;

fn distance_of(depth: f32) -> f32 {
    if together.depth.z > 0.5 {
        return together.depth.x + together.depth.y * depth;
    }
    return together.depth.y / max(together.depth.x - depth, 1e-9);
}

fn scene_distance(at: vec2<f32>) -> f32 {
    let pixel = clamp(vec2<i32>(at), vec2<i32>(0), vec2<i32>(together.scene.xy) - 1);
    return distance_of(depth_at(pixel, 0));
}

// The coarse glass at a pixel of the scene: of the four around it, those that were cast to about
// the same depth count, so that edges of the opaque scene stay sharp.
fn coarse_glass(at: vec2<f32>) -> vec4<f32> {
    let per_pixel = together.pane.z;
    let last = vec2<i32>(ceil(together.scene.xy / per_pixel)) - 1;
    let here = scene_distance(at);
    let position = at / per_pixel - 0.5;
    let base = floor(position);
    let f = position - base;
    var sum = vec4<f32>(0.0);
    var weights = 0.0;
    for (var i = 0; i < 4; i++) {
        let corner = vec2<f32>(f32(i & 1), f32(i >> 1));
        let texel = clamp(vec2<i32>(base + corner), vec2<i32>(0), last);
        let cast_at = (vec2<f32>(texel) + 0.5) * per_pixel;
        let off = abs(scene_distance(cast_at) - here) / max(here, 1e-6);
        let w = mix(1.0 - f, f, corner);
        let weight = (w.x * w.y + 1e-4) / (1.0 + 400.0 * off);
        sum += weight * textureLoad(glass, texel, 0);
        weights += weight;
    }
    return sum / weights;
}

@vertex
fn vs_together(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    return covering_corner(index);
}

@fragment
fn fs_together(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let at = position.xy / together.pane.xy * together.scene.xy;
    let inside = clamp(at, vec2<f32>(0.5), together.scene.xy - 0.5);
    var colour = textureSampleLevel(scene, smooth_sampler, inside / together.scene.zw, 0.0).rgb;
    if together.pane.z > 1.5 {
        let glass_here = coarse_glass(at);
        colour = colour * (1.0 - glass_here.a) + glass_here.rgb;
    } else if together.pane.z > 0.5 {
        let glass_here = textureLoad(glass, vec2<i32>(inside), 0);
        colour = colour * (1.0 - glass_here.a) + glass_here.rgb;
    }
    return vec4<f32>(colour, 1.0);
}
