// Functions for all shaders, concatenated in front of each of them.
// Colours are sRGB values in 0..1, written unchanged; positions are in world mm.

// A texel of a scalar image below this is missing (NaN or infinite in the data).
const MISSING_BELOW: f32 = -3.0e38;

const NEAREST: u32 = 0u;
const LINEAR: u32 = 1u;
const CUBIC: u32 = 2u;

// A corner of a triangle that covers the whole target.
fn covering_corner(index: u32) -> vec4<f32> {
    return vec4<f32>(f32(index & 1u) * 4.0 - 1.0, f32(index >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}

// Colour of a glyph's surface. All vectors have unit length.
fn lit_glyph(colour: vec3<f32>, outwards: vec3<f32>, light: vec3<f32>, to_eye: vec3<f32>) -> vec3<f32> {
    let diffuse = max(dot(outwards, light), 0.0);
    let shine = pow(max(dot(outwards, normalize(light + to_eye)), 0.0), 36.0);
    let lit = colour * (0.36 + 0.74 * diffuse) + vec3<f32>(0.18 * shine);
    return clamp(lit, vec3<f32>(0.0), vec3<f32>(1.0));
}

// A colour with the depth cue: at the far end of the scene it takes a fraction of the background's colour.
fn faded(colour: vec3<f32>, world: vec3<f32>, depth_cue: vec4<f32>, fading: vec4<f32>) -> vec3<f32> {
    let depth = clamp(dot(depth_cue, vec4<f32>(world, 1.0)), 0.0, 1.0);
    return mix(colour, fading.rgb, fading.w * depth);
}

// Distance from the eye at a depth: y / (x - depth) in perspective, x + y * depth if z is 1.
fn distance_from(depth: f32, numbers: vec4<f32>) -> f32 {
    if numbers.z > 0.5 {
        return numbers.x + numbers.y * depth;
    }
    return numbers.y / max(numbers.x - depth, 1e-9);
}

// Colour of a colour map (a row of 256 colours) at t in 0..1.
fn map_colour(maps: texture_2d<f32>, row: u32, t: f32) -> vec3<f32> {
    let at = clamp(t, 0.0, 1.0) * 255.0;
    let low = min(i32(at), 254);
    let a = textureLoad(maps, vec2<i32>(low, i32(row)), 0).rgb;
    let b = textureLoad(maps, vec2<i32>(low + 1, i32(row)), 0).rgb;
    return mix(a, b, at - f32(low));
}

// One texel, clamped to the image: its value, and 1 in w (all 0 where it is missing).
fn texel_of(image: texture_3d<f32>, at: vec3<i32>, size: vec3<i32>) -> vec4<f32> {
    let texel = textureLoad(image, clamp(at, vec3<i32>(0), size - 1), 0);
    if texel.a > 0.5 && texel.r > MISSING_BELOW {
        return vec4<f32>(texel.rgb, 1.0);
    }
    return vec4<f32>(0.0);
}

// Keys' cubic weights with a = -1/2, which pass through the samples (Keys 1981, eq. 15).
fn cubic_weights(f: f32) -> vec4<f32> {
    let g = 1.0 - f;
    return vec4<f32>(
        -0.5 * f * g * g,
        1.0 + f * f * (1.5 * f - 2.5),
        1.0 + g * g * (1.5 * g - 2.5),
        -0.5 * g * f * f,
    );
}

// The image at continuous texel coordinates: the weighted mean of the texels present, and in w their share
// of the weights. 0 outside the boxes of the outermost texels.
fn sample_image(image: texture_3d<f32>, at: vec3<f32>, interpolation: u32) -> vec4<f32> {
    let size = vec3<i32>(textureDimensions(image));
    if any(at < vec3<f32>(-0.5)) || any(at > vec3<f32>(size) - 0.5) {
        return vec4<f32>(0.0);
    }
    if interpolation == NEAREST {
        return texel_of(image, vec3<i32>(floor(at + 0.5)), size);
    }
    let base = vec3<i32>(floor(at));
    let f = at - floor(at);
    var sum = vec4<f32>(0.0);
    if interpolation == LINEAR {
        for (var i = 0; i < 8; i++) {
            let corner = vec3<i32>(i & 1, (i >> 1) & 1, i >> 2);
            let w = mix(1.0 - f, f, vec3<f32>(corner));
            let weight = w.x * w.y * w.z;
            if weight > 0.0 {
                sum += weight * texel_of(image, base + corner, size);
            }
        }
    } else {
        let wx = cubic_weights(f.x);
        let wy = cubic_weights(f.y);
        let wz = cubic_weights(f.z);
        for (var z = 0; z < 4; z++) {
            // On a plane through voxel centres, three of the four sheets have no weight.
            if abs(wz[z]) < 1e-6 {
                continue;
            }
            for (var y = 0; y < 4; y++) {
                for (var x = 0; x < 4; x++) {
                    let weight = wx[x] * wy[y] * wz[z];
                    let texel = base + vec3<i32>(x, y, z) - 1;
                    sum += weight * texel_of(image, texel, size);
                }
            }
        }
    }
    return vec4<f32>(sum.rgb / max(sum.a, 1e-6), sum.a);
}
