// Copies the depth of the scene's first sample, for lines that are drawn over it with one sample per pixel.

@vertex
fn vs_depth(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    return covering_corner(index);
}

@fragment
fn fs_depth(@builtin(position) position: vec4<f32>) -> @builtin(frag_depth) f32 {
    return depth_at(vec2<i32>(position.xy), 0);
}
