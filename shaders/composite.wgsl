// Composites the 3-D view: the scene, darker in its hollows, then transparent streamlines, then volumes,
// and the glass outline of the head over everything.

struct Composite {
    // Size of the part of the target that the scene covers, and of the whole target, px.
    scene: vec4<f32>,
    // Pixels of the scene per pixel of the glass (0: no glass); 1 if rough; 1 if there are transparent
    // streamlines; pixels of the scene per pixel of the picture of the volumes (0: no volumes).
    glass: vec4<f32>,
    // Arguments of `distance_from`.
    depth: vec4<f32>,
    // Strength of the darkening of hollows (0: none); depth of the darkest hollow, mm.
    hollows: vec4<f32>,
}

@group(0) @binding(0) var<uniform> composite: Composite;
// Binding 1 is the scene's depth.
@group(0) @binding(2) var scene: texture_2d<f32>;
@group(0) @binding(3) var glass: texture_2d<f32>;
@group(0) @binding(4) var smooth_sampler: sampler;
// Distances averaged over blocks of 4 × 4 pixels and blurred.
@group(0) @binding(5) var surroundings: texture_2d<f32>;
// Transparent streamlines: weighted sum of colours, and transmittance.
@group(0) @binding(6) var transparent_sum: texture_2d<f32>;
@group(0) @binding(7) var transparent_left: texture_2d<f32>;
// Volumes, and transparent streamlines among them: colour times alpha, and alpha.
@group(0) @binding(8) var fog: texture_2d<f32>;

fn scene_distance(at: vec2<f32>) -> f32 {
    let pixel = clamp(vec2<i32>(at), vec2<i32>(0), vec2<i32>(composite.scene.xy) - 1);
    return distance_from(depth_at(pixel, 0), composite.depth);
}

// A coarse picture at a pixel of the scene. Of the four coarse pixels around it, only those cast to about
// the same depth count, so that edges of the opaque scene stay sharp.
fn coarse(picture: texture_2d<f32>, per_pixel: f32, at: vec2<f32>) -> vec4<f32> {
    let last = vec2<i32>(ceil(composite.scene.xy / per_pixel)) - 1;
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
        sum += weight * textureLoad(picture, texel, 0);
        weights += weight;
    }
    return sum / weights;
}

// Brightness at a pixel of the scene: lower in hollows between nearer objects.
fn light_left(at: vec2<f32>) -> f32 {
    let pixel = clamp(vec2<i32>(at), vec2<i32>(0), vec2<i32>(composite.scene.xy) - 1);
    if depth_at(pixel, 0) >= 1.0 {
        return 1.0;
    }
    let last = vec2<i32>(ceil(composite.scene.xy / 4.0)) - 1;
    let position = at / 4.0 - 0.5;
    let base = vec2<i32>(floor(position));
    let f = position - floor(position);
    var around = 0.0;
    for (var i = 0; i < 4; i++) {
        let corner = vec2<i32>(i & 1, i >> 1);
        let w = mix(1.0 - f, f, vec2<f32>(corner));
        let texel = clamp(base + corner, vec2<i32>(0), last);
        around += w.x * w.y * textureLoad(surroundings, texel, 0).r;
    }
    let depth = (scene_distance(at) - around) / composite.hollows.y;
    return 1.0 - composite.hollows.x * smoothstep(0.0, 1.0, depth);
}

@vertex
fn vs_composite(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    return covering_corner(index);
}

@fragment
fn fs_composite(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let at = position.xy;
    // No fragment lies left of its target; `begin` in slice.wgsl explains why this is tested.
    let is_drawn = position.x > -1.0;
    let has = select(vec4<f32>(0.0), composite.glass, is_drawn);
    var colour = textureLoad(scene, vec2<i32>(at), 0).rgb;
    if select(0.0, composite.hollows.x, is_drawn) > 0.0 {
        colour *= light_left(at);
    }
    if has.z > 0.5 {
        let sum = textureLoad(transparent_sum, vec2<i32>(at), 0);
        let left = textureLoad(transparent_left, vec2<i32>(at), 0).r;
        colour = mix(sum.rgb / max(sum.a, 1e-6), colour, left);
    }
    if has.w > 1.5 {
        let volumes = coarse(fog, composite.glass.w, at);
        colour = colour * (1.0 - volumes.a) + volumes.rgb;
    } else if has.w > 0.5 {
        let volumes = textureLoad(fog, vec2<i32>(at), 0);
        colour = colour * (1.0 - volumes.a) + volumes.rgb;
    }
    var over = vec4<f32>(0.0);
    if has.y > 0.5 && has.x > 0.5 {
        let size = ceil(composite.scene.xy / composite.glass.x);
        let texel = clamp(at / composite.glass.x, vec2<f32>(0.5), size - 0.5);
        over = textureSampleLevel(glass, smooth_sampler, texel / composite.scene.zw, 0.0);
    } else if has.x > 1.5 {
        over = coarse(glass, composite.glass.x, at);
    } else if has.x > 0.5 {
        over = textureLoad(glass, vec2<i32>(at), 0);
    }
    colour = colour * (1.0 - over.a) + over.rgb;
    return vec4<f32>(colour, 1.0);
}
