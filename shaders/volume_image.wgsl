// The part of volume.wgsl for a scalar image: a cloud whose density a transfer function gives, or a surface of
// constant value.
//
// A cloud is integrated over segments between samples, assuming that the value is linear along each: the mean
// extinction and colour are differences of integrals over the value (Engel, Kraus and Ertl 2001, eq. 7), so that
// neither a steep transfer function nor the step size causes artefacts.

@group(0) @binding(2) var image: texture_3d<f32>;
// Smallest and largest value of each brick.
@group(0) @binding(4) var bricks: texture_3d<f32>;
// Rows: extinction × colour, and extinction; the integrals of both over the position in the window. Of a transfer
// function of two values instead five texels for each shape: see TransferShape::texels.
@group(0) @binding(5) var transfer: texture_2d<f32>;
// The image of the second value.
@group(0) @binding(18) var second: texture_3d<f32>;

const TABLE: i32 = 1024;
// Texels of a shape in a transfer function of two values.
const SHAPE_TEXELS: i32 = 5;
const BRICK: f32 = 8.0;
const MISSING: f32 = -3.4e38;
// A mean that includes a missing texel is below this.
const SPOILT_BELOW: f32 = -1e30;

fn linear_at(texel: vec3<f32>, size: vec3<f32>) -> f32 {
    return linear_in(image, texel, size);
}

fn has_none() -> bool {
    return textureDimensions(image).x == 0u;
}

// Ends of the image.
fn low_end() -> vec3<f32> {
    return vec3<f32>(-0.5);
}

fn high_end() -> vec3<f32> {
    return vec3<f32>(textureDimensions(image)) - 0.5;
}

fn brick_edge() -> f32 {
    return BRICK;
}

fn brick_at(texel: vec3<f32>) -> vec3<i32> {
    let last = textureDimensions(bricks) - 1;
    return vec3<i32>(clamp(floor(texel / BRICK), vec3<f32>(0.0), vec3<f32>(last)));
}

// The value by the interpolation of the image; MISSING if less than half of the weights belong to texels present.
fn value_at(texel: vec3<f32>) -> f32 {
    let size = vec3<f32>(textureDimensions(image));
    let at = clamp(texel, vec3<f32>(-0.5), size - 0.5);
    if kind.y == LINEAR {
        let fast = linear_at(at, size);
        if fast > SPOILT_BELOW {
            return fast;
        }
    }
    let exact = sample_image(image, at, kind.y);
    return select(MISSING, exact.r, exact.a >= 0.5);
}

// Gradient per texel of the image, smoothed over two texels; 0 if any value is missing.
fn slope_at(texel: vec3<f32>) -> vec3<f32> {
    let size = vec3<f32>(textureDimensions(image));
    let x = vec3<f32>(1.0, 0.0, 0.0);
    let low = vec3<f32>(linear_at(texel - x.xyy, size), linear_at(texel - x.yxy, size),
        linear_at(texel - x.yyx, size));
    let high = vec3<f32>(linear_at(texel + x.xyy, size), linear_at(texel + x.yxy, size),
        linear_at(texel + x.yyx, size));
    if any(low < vec3<f32>(SPOILT_BELOW)) || any(high < vec3<f32>(SPOILT_BELOW)) {
        return vec3<f32>(0.0);
    }
    return (high - low) * 0.5;
}

// Where the squared gradient per mm is not above this, the image counts as flat, as in src/engine/data/joint_histogram.rs.
const MIN_SQUARED_SLOPE: f32 = 1e-24;

// Mean curvature of the surface of constant value, 1/mm: H = ½ ∇·(−∇v / |∇v|), positive where a region of higher values
// bulges towards lower ones; MISSING where the image is flat or a value is missing.
fn mean_curvature_at(texel: vec3<f32>) -> f32 {
    let size = vec3<f32>(textureDimensions(image));
    let middle = linear_at(texel, size);
    var slope = vec3<f32>(0.0);
    var twice = vec3<f32>(0.0);
    var mixed = vec3<f32>(0.0);
    var least = middle;
    for (var a = 0; a < 3; a++) {
        var step = vec3<f32>(0.0);
        step[a] = 1.0;
        let low = linear_at(texel - step, size);
        let high = linear_at(texel + step, size);
        slope[a] = 0.5 * (high - low);
        twice[a] = high - 2.0 * middle + low;
        // The mixed second derivative along the other two axes.
        var u = vec3<f32>(0.0);
        var v = vec3<f32>(0.0);
        u[(a + 1) % 3] = 1.0;
        v[(a + 2) % 3] = 1.0;
        let same = vec2<f32>(linear_at(texel + u + v, size), linear_at(texel - u - v, size));
        let other = vec2<f32>(linear_at(texel + u - v, size), linear_at(texel - u + v, size));
        mixed[a] = 0.25 * (same.x + same.y - other.x - other.y);
        least = min(least, min(min(low, high), min(min(same.x, same.y), min(other.x, other.y))));
    }
    if least <= SPOILT_BELOW {
        return MISSING;
    }
    let hessian = mat3x3<f32>(vec3<f32>(twice.x, mixed.z, mixed.y), vec3<f32>(mixed.z, twice.y, mixed.x),
        vec3<f32>(mixed.y, mixed.x, twice.z));
    let to_texels = transpose(mat3x3<f32>(volume.texel_x.xyz, volume.texel_y.xyz, volume.texel_z.xyz));
    let in_mm = transpose(to_texels) * hessian * to_texels;
    let gradient = in_world(slope);
    let squared = dot(gradient, gradient);
    if squared <= MIN_SQUARED_SLOPE {
        return MISSING;
    }
    // A unit vector, so that no power of a small gradient underflows.
    let normal = gradient * inverseSqrt(squared);
    let trace = in_mm[0].x + in_mm[1].y + in_mm[2].z;
    return 0.5 * (dot(normal, in_mm * normal) - trace) * inverseSqrt(squared);
}

// Gradient per texel of the share of values present.
fn presence_slope_at(texel: vec3<f32>) -> vec3<f32> {
    let x = vec3<f32>(1.0, 0.0, 0.0);
    return vec3<f32>(
        sample_image(image, texel + x.xyy, LINEAR).a - sample_image(image, texel - x.xyy, LINEAR).a,
        sample_image(image, texel + x.yxy, LINEAR).a - sample_image(image, texel - x.yxy, LINEAR).a,
        sample_image(image, texel + x.yyx, LINEAR).a - sample_image(image, texel - x.yyx, LINEAR).a,
    ) * 0.5;
}

fn share_of(value: f32) -> f32 {
    return clamp((value - volume.window.x) * volume.window.y, -1e4, 1e4);
}

fn looked_up(row: i32, share: f32) -> vec4<f32> {
    let at = clamp(share, 0.0, 1.0) * f32(TABLE - 1);
    let low = min(i32(at), TABLE - 2);
    let a = textureLoad(transfer, vec2<i32>(low, row), 0);
    let b = textureLoad(transfer, vec2<i32>(low + 1, row), 0);
    return mix(a, b, at - f32(low));
}

fn integral_to(share: f32) -> vec4<f32> {
    let inside = clamp(share, 0.0, 1.0);
    var sum = looked_up(1, share);
    if share != inside {
        sum += (share - inside) * looked_up(0, share);
    }
    return sum;
}

// Mean between two values of extinction × colour, and of extinction.
fn mean_extinction(a: f32, b: f32) -> vec4<f32> {
    if abs(b - a) * f32(TABLE) < 4.0 {
        return looked_up(0, 0.5 * (a + b));
    }
    return max((integral_to(b) - integral_to(a)) / (b - a), vec4<f32>(0.0));
}

// Gradient magnitude or mean curvature at a distance along the ray; MISSING where there is none.
fn derived_at(ray: Ray, at_mm: f32, is_curvature: bool) -> f32 {
    let texel = ray.start + at_mm * ray.slope;
    if is_curvature {
        return mean_curvature_at(texel);
    }
    return length(in_world(slope_at(texel)));
}

// Position of a value in the window with this lower end and 1 / width; MISSING where there is none.
fn position_in(value: f32, low: f32, per_width: f32) -> f32 {
    if value <= SPOILT_BELOW {
        return MISSING;
    }
    return clamp((value - low) * per_width, -1e4, 1e4);
}

// Position of the second value in its window at a distance along the ray; MISSING where there is none.
fn second_at(ray: Ray, at_mm: f32) -> f32 {
    var value = 0.0;
    if !has(SECOND_IMAGE) {
        value = derived_at(ray, at_mm, has(CURVATURE));
    } else {
        let world = vec4<f32>(ray.origin + at_mm * ray.direction, 1.0);
        let size = vec3<f32>(textureDimensions(second));
        let texel = vec3<f32>(dot(volume.second[0], world), dot(volume.second[1], world),
            dot(volume.second[2], world));
        if any(texel < vec3<f32>(-0.5)) || any(texel > size - 0.5) {
            return MISSING;
        }
        value = linear_in(second, texel, size);
    }
    return position_in(value, volume.second[3].x, volume.second[3].y);
}

// Positions of the third value in its window at two distances along the ray; both MISSING where there is none at one of
// them, or where it limits no shape.
fn thirds_at(ray: Ray, a_mm: f32, b_mm: f32) -> vec2<f32> {
    if !has(THIRD) {
        return vec2<f32>(MISSING);
    }
    let a = position_in(derived_at(ray, a_mm, has(THIRD_CURVATURE)), volume.second[4].x, volume.second[4].y);
    let b = position_in(derived_at(ray, b_mm, has(THIRD_CURVATURE)), volume.second[4].x, volume.second[4].y);
    return select(vec2<f32>(MISSING), vec2<f32>(a, b), min(a, b) > SPOILT_BELOW);
}

// The share of a shape's opacity that its limits of the third value allow: 1 without limits, 0 without such a value.
fn share_of_third(limits: vec4<f32>, third: f32) -> f32 {
    if limits.w < 0.5 {
        return 1.0;
    }
    if third <= SPOILT_BELOW {
        return 0.0;
    }
    return min(third - limits.x, limits.y - third) / limits.z;
}

// Extinction × colour, and extinction, of all shapes at three values.
fn extinction_of_values(at: vec3<f32>) -> vec4<f32> {
    let count = i32(textureDimensions(transfer).x) / SHAPE_TEXELS;
    let pair = at.xy;
    var sum = vec4<f32>(0.0);
    for (var i = 0; i < count; i++) {
        let limits = textureLoad(transfer, vec2<i32>(SHAPE_TEXELS * i, 0), 0);
        let edge = textureLoad(transfer, vec2<i32>(SHAPE_TEXELS * i + 1, 0), 0);
        let look = textureLoad(transfer, vec2<i32>(SHAPE_TEXELS * i + 2, 0), 0);
        let third = textureLoad(transfer, vec2<i32>(SHAPE_TEXELS * i + 4, 0), 0);
        let rise = min(pair - limits.xy, limits.zw - pair) / edge.xy;
        var share = min(rise.x, rise.y);
        if edge.w > 1.5 {
            // A trapezoid, whose width grows with the second value.
            let sides = textureLoad(transfer, vec2<i32>(SHAPE_TEXELS * i + 3, 0), 0);
            let up = clamp((pair.y - sides.y) / (sides.z - sides.y), 0.0, 1.0);
            let off = abs(pair.x - 0.5 * (limits.x + limits.z)) / (0.5 * (limits.z - limits.x));
            share = min((mix(sides.x, 1.0, up) - off) / edge.z, rise.y);
        } else if edge.w > 0.5 {
            let off = (pair - 0.5 * (limits.xy + limits.zw)) / (0.5 * (limits.zw - limits.xy));
            share = (1.0 - length(off)) / edge.z;
        }
        share = clamp(min(share, share_of_third(third, at.z)), 0.0, 1.0);
        let extinction = -log(1.0 - look.w * share) * volume.second[3].z;
        sum += vec4<f32>(look.rgb * extinction, extinction);
    }
    return sum;
}

// Mean along a segment on which all values are linear.
fn mean_of_values(a: vec3<f32>, b: vec3<f32>) -> vec4<f32> {
    var sum = vec4<f32>(0.0);
    for (var i = 0; i < 4; i++) {
        sum += extinction_of_values(mix(a, b, (f32(i) + 0.5) * 0.25));
    }
    return 0.25 * sum;
}

// Whether no shape shows any value between two positions in the window.
fn shows_none(a: f32, b: f32) -> bool {
    let count = i32(textureDimensions(transfer).x) / SHAPE_TEXELS;
    for (var i = 0; i < count; i++) {
        let limits = textureLoad(transfer, vec2<i32>(SHAPE_TEXELS * i, 0), 0);
        if max(a, b) >= limits.x && min(a, b) <= limits.z {
            return false;
        }
    }
    return true;
}

// The largest or smallest value that the ray has met, and its distance; FAR before the first.
var<private> extreme: f32;
var<private> extreme_at: f32;

fn start_ray() {
    extreme = 0.0;
    extreme_at = FAR;
}

// Whether a projection shows this value rather than the one it has.
fn is_more_extreme(value: f32) -> bool {
    if value <= volume.window.x {
        return false;
    }
    let is_first = extreme_at >= FAR;
    return is_first || select(value > extreme, value < extreme, has(SMALLEST));
}

// The value of a projection at a point. The smallest value counts only voxels above the lower end of the window: else
// interpolation towards the air around a head would give each ray a small value.
fn projected_value_at(texel: vec3<f32>) -> f32 {
    if !has(SMALLEST) {
        return value_at(texel);
    }
    let size = vec3<i32>(textureDimensions(image));
    let at = clamp(texel, vec3<f32>(-0.5), vec3<f32>(size) - 0.5);
    let near = select(at, floor(at + 0.5), kind.y == NEAREST);
    let base = vec3<i32>(floor(near));
    let f = near - floor(near);
    var sum = 0.0;
    var weights = 0.0;
    for (var i = 0; i < 8; i++) {
        let corner = vec3<i32>(i & 1, (i >> 1) & 1, i >> 2);
        let w = mix(1.0 - f, f, vec3<f32>(corner));
        let value = texel_of(image, base + corner, size);
        let counts = value.a > 0.5 && value.r > volume.window.x;
        let weight = select(0.0, w.x * w.y * w.z, counts);
        sum += weight * value.r;
        weights += weight;
    }
    return select(MISSING, sum / max(weights, 1e-6), weights >= 0.5);
}

fn is_empty(brick: vec3<i32>) -> bool {
    let range = textureLoad(bricks, brick, 0).rg;
    if range.x > range.y {
        return true;
    }
    // Cubic interpolation overshoots the range, and beside missing values by up to half as much again.
    let beyond = select(0.0, 1.5 * (range.y - range.x), kind.y == CUBIC);
    let least = range.x - beyond;
    let most = range.y + beyond;
    if has(PROJECTED) {
        let better = select(most > extreme, least < extreme, has(SMALLEST));
        return most <= volume.window.x || (extreme_at < FAR && !better);
    }
    if has(SURFACE) {
        let outside = select(most - volume.window.z, volume.window.z - least, has(BELOW));
        return outside < 0.0;
    }
    let a = share_of(least);
    let b = share_of(most);
    if has(SHAPED) {
        return shows_none(a, b);
    }
    if abs(b - a) * f32(TABLE) < 8.0 {
        // The values span few texels of the table, or one.
        return max(max(looked_up(0, a).w, looked_up(0, b).w), looked_up(0, 0.5 * (a + b)).w) <= 0.0
            && integral_to(b).w <= integral_to(a).w;
    }
    return integral_to(b).w <= integral_to(a).w;
}

// φ at a distance along the ray.
fn phi_at(ray: Ray, at_mm: f32) -> f32 {
    let world = vec4<f32>(ray.origin + at_mm * ray.direction, 1.0);
    let texel = vec3<f32>(dot(volume.phi_x, world), dot(volume.phi_y, world), dot(volume.phi_z, world));
    return phi_linear(texel);
}

fn march_cloud(ray: Ray, from_mm: f32, to_mm: f32, step: f32, light: ptr<function, Light>) {
    var known = vec3<i32>(-2);
    var empty = 0;
    var have = false;
    var value = 0.0;
    var k = 0;
    for (var i = 0; i < MAXIMUM_STEPS; i++) {
        let near = from_mm + f32(k) * step;
        if near >= to_mm || (*light).left < OPAQUE_LEFT {
            break;
        }
        let texel = ray.start + near * ray.slope;
        let next = past_empty(ray, texel, from_mm, step, &known, &empty);
        if next > k {
            k = next;
            have = false;
            continue;
        }
        let far = min(near + step, to_mm);
        if !have {
            value = value_at(texel);
        }
        let beyond = value_at(ray.start + far * ray.slope);
        have = true;
        k++;
        let first = value;
        value = beyond;
        let has_first = first > SPOILT_BELOW;
        let has_beyond = beyond > SPOILT_BELOW;
        if !has_first && !has_beyond {
            continue;
        }
        let a = share_of(select(beyond, first, has_first));
        let b = share_of(select(first, beyond, has_beyond));
        var mean = vec4<f32>(0.0);
        if has(SHAPED) {
            // Gradients are not read where no shape shows the value.
            if shows_none(a, b) {
                continue;
            }
            let a_mm = select(far, near, has_first);
            let b_mm = select(near, far, has_beyond);
            let second_a = second_at(ray, a_mm);
            let second_b = second_at(ray, b_mm);
            if second_a > SPOILT_BELOW && second_b > SPOILT_BELOW {
                let thirds = thirds_at(ray, a_mm, b_mm);
                mean = mean_of_values(vec3<f32>(a, second_a, thirds.x), vec3<f32>(b, second_b, thirds.y));
            }
        } else {
            mean = mean_extinction(a, b);
        }
        if mean.w <= 0.0 {
            continue;
        }
        // If one end of a segment is missing, half of the segment counts.
        var run = (far - near) * select(0.5, 1.0, has_first && has_beyond);
        if has(HAS_PHI) && phi_at(ray, 0.5 * (near + far)) < 0.0 {
            run *= volume.phi_look.w;
        }
        run *= fade_at(ray, 0.5 * (near + far));
        let alpha = 1.0 - exp(-mean.w * run);
        var colour = mean.rgb / mean.w;
        if has(LIT) && alpha * (*light).left > 0.002 {
            let slope = in_world(slope_at(ray.start + 0.5 * (near + far) * ray.slope));
            let steepness = length(slope);
            // Where the value hardly changes, there is no surface to light.
            let clear = smoothstep(0.02, 0.12, steepness * volume.march.z * volume.window.y);
            if clear > 0.0 {
                colour = mix(colour, lit(colour, slope / steepness, ray.direction), clear);
            }
        }
        let seen = cued(ray, 0.5 * (near + far), colour);
        add(light, 0.5 * (near + far), seen, alpha, open_share(ray, near, far));
    }
}

// Draws the cut face: the image itself.
fn show_face(ray: Ray, at_mm: f32, light: ptr<function, Light>) {
    if has(HAS_CUT) {
        let mask = cut_at(ray, at_mm);
        if mask.y == 0.0 || mask.x < 0.5 {
            return;
        }
    }
    let value = value_at(ray.start + at_mm * ray.slope);
    if value < SPOILT_BELOW || has(SURFACE) && !is_inside(value) {
        return;
    }
    let share = (value - volume.face.x) * volume.face.y;
    // Without a mask, black is background, as on slices.
    let shown = select(smoothstep(0.02, 0.06, share), 1.0, has(HAS_CUT));
    var colour = map_colour(maps, volume.rows.y, share);
    var alpha = volume.face.z * shown;
    if has(HAS_PHI) {
        // A line about one voxel wide.
        let line = 1.0 - smoothstep(0.4, 0.7, abs(phi_at(ray, at_mm)));
        colour = mix(colour, volume.phi_look.rgb, line);
        alpha = max(alpha, line);
    }
    add(light, at_mm, colour, alpha, open_share(ray, at_mm, at_mm));
    if alpha > 0.99 {
        (*light).distance = min((*light).distance, at_mm);
    }
}

fn is_inside(value: f32) -> bool {
    if value < SPOILT_BELOW {
        return false;
    }
    return select(value >= volume.window.z, value <= volume.window.z, has(BELOW));
}

// Outward normal; zero where the image is flat.
fn surface_normal(texel: vec3<f32>) -> vec3<f32> {
    var slope = slope_at(texel);
    if has(BELOW) {
        slope = -slope;
    }
    if dot(slope, slope) == 0.0 {
        slope = presence_slope_at(texel);
    }
    let normal = -in_world(slope);
    return select(vec3<f32>(0.0), normalize(normal), dot(normal, normal) > 0.0);
}

// `entry`: normal of the face through which the ray enters; zero if it may start inside.
fn march_surface(ray: Ray, from_mm: f32, to_mm: f32, step: f32, entry: vec3<f32>,
    light: ptr<function, Light>) {
    var known = vec3<i32>(-2);
    var empty = 0;
    var have = false;
    var inside = false;
    var k = 0;
    for (var i = 0; i < MAXIMUM_STEPS; i++) {
        let near = from_mm + f32(k) * step;
        if near >= to_mm || (*light).left < OPAQUE_LEFT {
            break;
        }
        let texel = ray.start + near * ray.slope;
        let next = past_empty(ray, texel, from_mm, step, &known, &empty);
        if next > k {
            k = next;
            have = false;
            continue;
        }
        let far = min(near + step, to_mm);
        if !have {
            inside = is_inside(value_at(texel));
            if k == 0 && inside {
                hit_surface(ray, near, entry, light);
            }
        }
        let before = inside;
        inside = is_inside(value_at(ray.start + far * ray.slope));
        have = true;
        k++;
        if before == inside {
            continue;
        }
        var low = near;
        var high = far;
        for (var j = 0; j < 9; j++) {
            let middle = 0.5 * (low + high);
            if is_inside(value_at(ray.start + middle * ray.slope)) == before {
                low = middle;
            } else {
                high = middle;
            }
        }
        let at = 0.5 * (low + high);
        hit_surface(ray, at, surface_normal(ray.start + at * ray.slope), light);
    }
}

fn march_projection(ray: Ray, from_mm: f32, to_mm: f32, step: f32) {
    var known = vec3<i32>(-2);
    var empty = 0;
    var k = 0;
    for (var i = 0; i < MAXIMUM_STEPS; i++) {
        let at = from_mm + f32(k) * step;
        if at > to_mm {
            break;
        }
        let texel = ray.start + at * ray.slope;
        let next = past_empty(ray, texel, from_mm, step, &known, &empty);
        if next > k {
            k = next;
            continue;
        }
        k++;
        let value = projected_value_at(texel);
        if value > SPOILT_BELOW && is_more_extreme(value) {
            extreme = value;
            extreme_at = at;
        }
    }
}

// Adds the colour of the extreme value, once the whole ray is known.
fn finish(ray: Ray, light: ptr<function, Light>) {
    if !has(PROJECTED) || extreme_at >= FAR {
        return;
    }
    let share = clamp(share_of(extreme), 0.0, 1.0);
    let mapped = map_colour(maps, volume.rows.y, share);
    let colour = select(mapped, volume.surface.rgb * share, volume.surface.w > 0.5);
    // The lower end of the window fades in over 2 % of it, so that edges are smooth on a bright background.
    let shown = select(clamp(share * 50.0, 0.0, 1.0), 1.0, has(SMALLEST));
    add(light, extreme_at, colour, volume.window.w * shown, open_share(ray, extreme_at, extreme_at));
}

// `side`: normal of the cut through which the ray enters; zero if it does not enter through a cut.
fn march_part(ray: Ray, from_mm: f32, to_mm: f32, step: f32, side: vec3<f32>,
    light: ptr<function, Light>) {
    if has(HAS_FACE) && shows_face {
        show_face(ray, from_mm, light);
    }
    if has(PROJECTED) {
        march_projection(ray, from_mm, to_mm, step);
    } else if has(SURFACE) {
        march_surface(ray, from_mm, to_mm, step, side, light);
    } else {
        march_cloud(ray, from_mm, to_mm, step, light);
    }
}

// Number of bricks along each side that a ray may skip from this one.
fn empty_along(brick: vec3<i32>) -> i32 {
    return select(0, 1, is_empty(brick));
}

// The first of those bricks.
fn empty_from(brick: vec3<i32>, along: i32) -> vec3<i32> {
    return brick;
}
