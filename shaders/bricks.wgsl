// Smallest and largest value of each brick of an image, to skip bricks that a transfer function does not
// show. One thread owns one brick. If all values of a brick are missing, its minimum exceeds its maximum.

@group(0) @binding(0) var image: texture_3d<f32>;
@group(0) @binding(1) var bricks: texture_storage_3d<rg32float, write>;

// Texels along one side; the same as in volume_image.wgsl and in src/render/bricks.rs.
const BRICK: i32 = 8;

@compute @workgroup_size(4, 4, 4)
fn bricks_range(@builtin(global_invocation_id) id: vec3<u32>) {
    let count = vec3<i32>(textureDimensions(bricks));
    let brick = vec3<i32>(id);
    if any(brick >= count) {
        return;
    }
    let size = vec3<i32>(textureDimensions(image));
    // Every texel that interpolation, including cubic, reads between the first texel of this brick and
    // that of the next.
    let low = max(brick * BRICK - 1, vec3<i32>(0));
    let high = min(brick * BRICK + BRICK + 1, size - 1);
    var least = 3.4e38;
    var most = -3.4e38;
    for (var z = low.z; z <= high.z; z++) {
        for (var y = low.y; y <= high.y; y++) {
            for (var x = low.x; x <= high.x; x++) {
                let value = textureLoad(image, vec3<i32>(x, y, z), 0).r;
                if value > MISSING_BELOW {
                    least = min(least, value);
                    most = max(most, value);
                }
            }
        }
    }
    textureStore(bricks, brick, vec4<f32>(least, most, 0.0, 0.0));
}
