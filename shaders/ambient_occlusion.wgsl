// Depth darkening: the distances of the scene, averaged over blocks and blurred. A point that lies farther
// away than its blurred surroundings is in a hollow (Luft, Colditz and Deussen 2006).
// One thread owns one pixel of the result.

struct AmbientOcclusion {
    // Size of the part of the target that the scene covers, and of the result, px.
    size: vec4<f32>,
    // Arguments of `distance_from`; the farthest distance that counts.
    depth: vec4<f32>,
    // Radius of the blur, in pixels of the result.
    blur: vec4<f32>,
}

// Pixels of the scene per pixel of the result, along one side.
const BLOCK: i32 = 4;

@group(0) @binding(0) var<uniform> occlusion: AmbientOcclusion;
// Binding 1 is the scene's depth.
@group(0) @binding(2) var before: texture_2d<f32>;
@group(0) @binding(3) var after: texture_storage_2d<r32float, write>;

@compute @workgroup_size(8, 8)
fn occlusion_average(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(vec2<f32>(id.xy) >= occlusion.size.zw) {
        return;
    }
    let last = vec2<i32>(occlusion.size.xy) - 1;
    var sum = 0.0;
    for (var y = 0; y < BLOCK; y++) {
        for (var x = 0; x < BLOCK; x++) {
            let pixel = min(vec2<i32>(id.xy) * BLOCK + vec2<i32>(x, y), last);
            let distance = distance_from(depth_at(pixel, 0), occlusion.depth);
            sum += min(distance, occlusion.depth.w);
        }
    }
    textureStore(after, vec2<i32>(id.xy), vec4<f32>(sum / f32(BLOCK * BLOCK)));
}

fn blurred(at: vec2<i32>, along: vec2<i32>) -> f32 {
    let last = vec2<i32>(occlusion.size.zw) - 1;
    var sum = 0.0;
    var weights = 0.0;
    let radius = i32(occlusion.blur.x);
    for (var i = -radius; i <= radius; i++) {
        let share = f32(i) / occlusion.blur.x;
        let weight = exp(-3.0 * share * share);
        sum += weight * textureLoad(before, clamp(at + i * along, vec2<i32>(0), last), 0).r;
        weights += weight;
    }
    return sum / weights;
}

@compute @workgroup_size(8, 8)
fn occlusion_across(@builtin(global_invocation_id) id: vec3<u32>) {
    if all(vec2<f32>(id.xy) < occlusion.size.zw) {
        textureStore(after, vec2<i32>(id.xy), vec4<f32>(blurred(vec2<i32>(id.xy), vec2<i32>(1, 0))));
    }
}

@compute @workgroup_size(8, 8)
fn occlusion_down(@builtin(global_invocation_id) id: vec3<u32>) {
    if all(vec2<f32>(id.xy) < occlusion.size.zw) {
        textureStore(after, vec2<i32>(id.xy), vec4<f32>(blurred(vec2<i32>(id.xy), vec2<i32>(0, 1))));
    }
}
