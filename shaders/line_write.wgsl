// Writes the colours and depths of line_colours.wgsl into the scene.

@group(0) @binding(0) var<uniform> size: vec4<u32>;
@group(0) @binding(1) var<storage, read> nearest: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> colours: array<u32>;

struct Written {
    @location(0) colour: vec4<f32>,
    @builtin(frag_depth) depth: f32,
}

@vertex
fn vs_written(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    return covering_corner(index);
}

fn written(place: u32) -> Written {
    let found = nearest[place];
    if found.x == 0u {
        discard;
    }
    return Written(unpack4x8unorm(colours[place]), bitcast<f32>(~found.y));
}

@fragment
fn fs_written(@builtin(position) pixel: vec4<f32>) -> Written {
    return written(u32(pixel.y) * size.x + u32(pixel.x));
}

@fragment
fn fs_written_samples(@builtin(position) pixel: vec4<f32>, @builtin(sample_index) sample: u32) -> Written {
    return written((u32(pixel.y) * size.x + u32(pixel.x)) * 4u + sample);
}
