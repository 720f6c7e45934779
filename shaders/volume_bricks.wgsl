// What volume.wgsl draws, where that is the surface φ = 0 of a level set in bricks: straight from the
// solver's pages.

// Which bricks rays pass over: see vacant.wgsl.
@group(0) @binding(4) var bricks: texture_3d<f32>;

fn has_none() -> bool {
    return arrayLength(&page_of) == 0u;
}

// Ends of what is there: a voxel beyond the outermost, where the surface is closed.
fn low_end() -> vec3<f32> {
    return vec3<f32>(-1.0);
}

fn high_end() -> vec3<f32> {
    return volume.phi_size.xyz;
}

fn brick_edge() -> f32 {
    return f32(1u << phi_shift);
}

fn brick_at(texel: vec3<f32>) -> vec3<i32> {
    return vec3<i32>(floor(texel)) >> vec3<u32>(phi_shift);
}

// Bricks along a side of what is passed over from this one.
fn empty_along(brick: vec3<i32>) -> i32 {
    return i32(textureLoad(bricks, brick + 1, 0).r);
}

// The first of them.
fn empty_from(brick: vec3<i32>, along: i32) -> vec3<i32> {
    return select(brick, (((brick + 1) >> vec3<u32>(2u)) << vec3<u32>(2u)) - 1, along > 1);
}

fn value_at(texel: vec3<f32>) -> f32 {
    return phi_linear(texel);
}

// Change per texel, smoothed over two: as of images, and across the faces of bricks as within them.
fn slope_at(texel: vec3<f32>) -> vec3<f32> {
    let x = vec3<f32>(1.0, 0.0, 0.0);
    return 0.5 * vec3<f32>(
        phi_linear(texel + x.xyy) - phi_linear(texel - x.xyy),
        phi_linear(texel + x.yxy) - phi_linear(texel - x.yxy),
        phi_linear(texel + x.yyx) - phi_linear(texel - x.yyx),
    );
}

// All of it is there.
fn presence_slope_at(texel: vec3<f32>) -> vec3<f32> {
    return vec3<f32>(0.0);
}

fn march_part(ray: Ray, from_mm: f32, to_mm: f32, step: f32, side: vec3<f32>,
    light: ptr<function, Light>) {
    march_surface(ray, from_mm, to_mm, step, side, light);
}
