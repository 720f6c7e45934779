// The outline of the head: the soft boundary of a mask drawn as glass, bright where it is seen edge-on.
// One thread owns one pixel of the result. Its ray ends at the opaque scene.

struct Outline {
    world_from_clip: mat4x4<f32>,
    // Eye (w = 1), or direction to the viewer (w = 0).
    eye: vec4<f32>,
    // Rows of the matrix from world to texels of the field.
    texel_x: vec4<f32>,
    texel_y: vec4<f32>,
    texel_z: vec4<f32>,
    // sRGB and opacity.
    colour: vec4<f32>,
    // Size of the scene's target and of the result, px.
    size: vec4<f32>,
    // Step, mm; density; exponent of the rim; pixels of the scene per pixel of the result.
    march: vec4<f32>,
}

@group(0) @binding(0) var<uniform> outline: Outline;
// Binding 1 is the scene's depth.
@group(0) @binding(2) var field: texture_3d<f32>;
// A lower bound on the distance to the boundary, mm.
@group(0) @binding(3) var distances: texture_3d<f32>;
@group(0) @binding(4) var smooth_sampler: sampler;
@group(0) @binding(5) var glass: texture_storage_2d<rgba16float, write>;

fn world_at(ndc: vec2<f32>, depth: f32) -> vec3<f32> {
    let world = outline.world_from_clip * vec4<f32>(ndc, depth, 1.0);
    return world.xyz / world.w;
}

fn texel_at(world: vec4<f32>) -> vec3<f32> {
    return vec3<f32>(dot(outline.texel_x, world), dot(outline.texel_y, world),
        dot(outline.texel_z, world));
}

@compute @workgroup_size(8, 8)
fn outline_march(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(vec2<f32>(id.xy) >= outline.size.zw) {
        return;
    }
    let per_pixel = outline.march.w;
    let scene_px = (vec2<f32>(id.xy) + 0.5) * per_pixel;
    let ndc = vec2<f32>(scene_px.x / outline.size.x * 2.0 - 1.0, 1.0 - scene_px.y / outline.size.y * 2.0);
    let far = world_at(ndc, 1.0);
    let near = world_at(ndc, 0.0);
    let direction = normalize(far - near);
    let origin = select(near, outline.eye.xyz, outline.eye.w > 0.0);

    // Length of the ray for each sample of the pixel.
    var ends = vec4<f32>(1e9);
    let pixel = min(vec2<i32>(scene_px), vec2<i32>(outline.size.xy) - 1);
    var farthest = 0.0;
    for (var i = 0; i < SAMPLES; i++) {
        let depth = depth_at(pixel, i);
        if depth < 1.0 {
            ends[i] = dot(world_at(ndc, depth) - origin, direction);
        }
        farthest = max(farthest, ends[i]);
    }

    let size = vec3<f32>(textureDimensions(field));
    let start = texel_at(vec4<f32>(origin, 1.0));
    let slope = texel_at(vec4<f32>(direction, 0.0));
    let safe = select(vec3<f32>(1e-9), slope, abs(slope) > vec3<f32>(1e-9));
    let a = -start / safe;
    let b = (size - 1.0 - start) / safe;
    let enter = min(a, b);
    let leave = max(a, b);
    var t = max(max(enter.x, max(enter.y, enter.z)), 0.0);
    let last = min(min(leave.x, min(leave.y, leave.z)), farthest);
    var clear = 1.0;
    for (var i = 0; i < 512 && t < last && clear > 0.02; i++) {
        let uvw = (start + t * slope + 0.5) / size;
        let free = textureSampleLevel(distances, smooth_sampler, uvw, 0.0).r;
        if free > outline.march.x {
            t += free;
            continue;
        }
        let here = textureSampleLevel(field, smooth_sampler, uvw, 0.0);
        // A thin shell around the level 1/2 of the blurred mask.
        let off = (here.w - 0.5) / 0.17;
        let steepness = length(here.xyz);
        if abs(off) < 2.2 && steepness > 1e-4 {
            let facing = min(abs(dot(here.xyz, direction)) / steepness, 1.0);
            let rim = pow(1.0 - facing, outline.march.z);
            // The fraction of the pixel's samples for which the opaque scene does not hide this point.
            var open = 0.0;
            for (var s = 0; s < SAMPLES; s++) {
                open += select(0.0, 1.0 / f32(SAMPLES), t < ends[s]);
            }
            let density = outline.march.y * steepness * exp(-off * off) * rim;
            clear *= exp(-density * outline.march.x * open);
        }
        t += outline.march.x;
    }
    let alpha = (1.0 - clear) * outline.colour.a;
    // The densest part is whiter, as in glass.
    let colour = mix(outline.colour.rgb * 0.9, vec3<f32>(1.0), 0.35 * alpha * alpha * alpha);
    textureStore(glass, vec2<i32>(id.xy), vec4<f32>(colour * alpha, alpha));
}
