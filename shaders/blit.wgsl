// Copies a finished pane onto the window.

@group(0) @binding(0) var pane: texture_2d<f32>;
@group(0) @binding(1) var smooth_sampler: sampler;
// The fraction of the pane that is filled, and the largest coordinate that may be sampled.
@group(0) @binding(2) var<uniform> corner: vec4<f32>;

struct Corner {
    @builtin(position) position: vec4<f32>,
    @location(0) at: vec2<f32>,
}

@vertex
fn vs_blit(@builtin(vertex_index) index: u32) -> Corner {
    let position = covering_corner(index);
    return Corner(position, position.xy * vec2<f32>(0.5, -0.5) + 0.5);
}

fn colour_at(at: vec2<f32>) -> vec3<f32> {
    return textureSampleLevel(pane, smooth_sampler, min(at * corner.xy, corner.zw), 0.0).rgb;
}

@fragment
fn fs_as_is(in: Corner) -> @location(0) vec4<f32> {
    return vec4<f32>(colour_at(in.at), 1.0);
}

// sRGB surfaces encode the values that they receive; this undoes the encoding (IEC 61966-2-1).
@fragment
fn fs_to_srgb_surface(in: Corner) -> @location(0) vec4<f32> {
    let c = colour_at(in.at);
    let linear = select(pow((c + 0.055) / 1.055, vec3<f32>(2.4)), c / 12.92, c <= vec3<f32>(0.04045));
    return vec4<f32>(linear, 1.0);
}
