// A scalar image in the 3-D view: as a cloud whose density a transfer function tells, or as the
// surface of one value. One thread owns one pixel of the result; the ray ends at the opaque scene.
//
// A cloud is integrated over segments between samples, along which the value is taken to be linear:
// the means of extinction and colour are differences of integrals over the value (Engel, Kraus and
// Ertl 2001, eq. 7), so that neither a steep transfer function nor the step shows.

struct Volume {
    world_from_clip: mat4x4<f32>,
    // Eye (w = 1), or direction to the viewer (w = 0).
    eye: vec4<f32>,
    light: vec4<f32>,
    // Times (world, 1): 0 near, 1 far, as the depths of see-through streamlines are told.
    depth_cue: vec4<f32>,
    // Texel from world, as rows.
    texel_x: vec4<f32>,
    texel_y: vec4<f32>,
    texel_z: vec4<f32>,
    // Texel of the cut-out mask.
    cut_x: vec4<f32>,
    cut_y: vec4<f32>,
    cut_z: vec4<f32>,
    // Cut away is what all of these are positive for, times (world, 1).
    planes: array<vec4<f32>, 3>,
    // Texel of φ of a surface.
    phi_x: vec4<f32>,
    phi_y: vec4<f32>,
    phi_z: vec4<f32>,
    // sRGB of where cut faces cross that surface; what is left of the density outside of it.
    phi_look: vec4<f32>,
    // Size of the scene's part of its target and of the result, px.
    size: vec4<f32>,
    // Step in texels; pixels of the scene per pixel of the result; edge of a texel, mm.
    march: vec4<f32>,
    // Low end and 1 / width of the window; level and opacity of the surface.
    window: vec4<f32>,
    // Low end and 1 / width of the cut face's window; its opacity.
    face: vec4<f32>,
    // sRGB of the surface.
    surface: vec4<f32>,
    // Flags, interpolation, planes, rays a pixel.
    kind: vec4<u32>,
    // First row; row of the cut face's colour map; row after the last.
    rows: vec4<u32>,
}

const SURFACE: u32 = 1u;
const LIT: u32 = 2u;
// The surface's inside is below its level.
const BELOW: u32 = 4u;
const HAS_BEFORE: u32 = 8u;
const HAS_FACE: u32 = 16u;
const HAS_CUT: u32 = 32u;
const SKIPS: u32 = 64u;
const HAS_LINES: u32 = 128u;
const HAS_PHI: u32 = 256u;

@group(0) @binding(0) var<uniform> volume: Volume;
// 1 is the scene's depth.
// 2 is the image.
@group(0) @binding(3) var smooth_sampler: sampler;
// Smallest and largest value of each.
@group(0) @binding(4) var bricks: texture_3d<f32>;
// Rows: extinction times colour and extinction; their integrals over the share of the window.
@group(0) @binding(5) var transfer: texture_2d<f32>;
@group(0) @binding(6) var maps: texture_2d<f32>;
@group(0) @binding(7) var cut: texture_3d<f32>;
// What was drawn before: colour times alpha and alpha; how far its nearest opaque surface is, mm.
@group(0) @binding(8) var before: texture_2d<f32>;
@group(0) @binding(9) var before_distance: texture_2d<f32>;
@group(0) @binding(10) var after: texture_storage_2d<rgba16float, write>;
@group(0) @binding(11) var after_distance: texture_storage_2d<r32float, write>;
// See-through streamlines: see src/render/through.rs.
@group(0) @binding(12) var lines_sum: texture_2d<f32>;
@group(0) @binding(13) var lines_left: texture_2d<f32>;
@group(0) @binding(14) var lines_depth: texture_2d<f32>;
// Positive inside of a surface; outside where there is none.
@group(0) @binding(15) var phi: texture_3d<f32>;

const TABLE: i32 = 1024;
const BRICK: f32 = 8.0;
const FAR: f32 = 1e9;
const MISSING: f32 = -3.4e38;
// A mean that a missing texel has part in is below this.
const SPOILT_BELOW: f32 = -1e30;
// What is behind is not seen any more.
const OPAQUE_LEFT: f32 = 0.003;
const MOST_STEPS: i32 = 6000;

// Where in a pixel its four rays go: as the scene's four samples.
const SPREAD = array<vec2<f32>, 4>(
    vec2<f32>(0.375, 0.125), vec2<f32>(0.875, 0.375),
    vec2<f32>(0.125, 0.625), vec2<f32>(0.625, 0.875),
);

// The volume's kind, once a ray has begun. Mesa's software renderer compiles a shader anew for every draw
// that branches on uniforms alone, and keeps them all; no image is without voxels.
var<private> kind: vec4<u32>;

fn begin() {
    kind = select(volume.kind, vec4<u32>(0u), textureDimensions(image).x == 0u);
}

fn has(flag: u32) -> bool {
    return (kind.x & flag) != 0u;
}

fn world_at(ndc: vec2<f32>, depth: f32) -> vec3<f32> {
    let world = volume.world_from_clip * vec4<f32>(ndc, depth, 1.0);
    return world.xyz / world.w;
}

fn texel_at(world: vec4<f32>) -> vec3<f32> {
    return vec3<f32>(dot(volume.texel_x, world), dot(volume.texel_y, world),
        dot(volume.texel_z, world));
}

// The image's value by its own interpolation; MISSING where half of it or more is missing.
fn value_at(texel: vec3<f32>) -> f32 {
    let size = vec3<f32>(textureDimensions(image));
    let at = clamp(texel, vec3<f32>(-0.5), size - 0.5);
    if kind.y == LINEAR {
        let fast = linear_at(at, size);
        if fast > SPOILT_BELOW {
            return fast;
        }
    }
    let there = sample_image(image, at, kind.y);
    return select(MISSING, there.r, there.a >= 0.5);
}

// Change per texel of the image smoothed over two texels; 0 where something is missing.
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

// How fast what is there sets in, per texel.
fn presence_slope_at(texel: vec3<f32>) -> vec3<f32> {
    let x = vec3<f32>(1.0, 0.0, 0.0);
    return vec3<f32>(
        sample_image(image, texel + x.xyy, LINEAR).a - sample_image(image, texel - x.xyy, LINEAR).a,
        sample_image(image, texel + x.yxy, LINEAR).a - sample_image(image, texel - x.yxy, LINEAR).a,
        sample_image(image, texel + x.yyx, LINEAR).a - sample_image(image, texel - x.yyx, LINEAR).a,
    ) * 0.5;
}

fn in_world(slope: vec3<f32>) -> vec3<f32> {
    return volume.texel_x.xyz * slope.x + volume.texel_y.xyz * slope.y + volume.texel_z.xyz * slope.z;
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

// Mean extinction between two values, times colour and by itself.
fn mean_extinction(a: f32, b: f32) -> vec4<f32> {
    if abs(b - a) * f32(TABLE) < 4.0 {
        return looked_up(0, 0.5 * (a + b));
    }
    return max((integral_to(b) - integral_to(a)) / (b - a), vec4<f32>(0.0));
}

fn is_empty(brick: vec3<i32>) -> bool {
    let range = textureLoad(bricks, brick, 0).rg;
    if range.x > range.y {
        return true;
    }
    // Cubic interpolation leaves the range; beside what is missing by up to half as much again.
    let beyond = select(0.0, 1.5 * (range.y - range.x), kind.y == CUBIC);
    let least = range.x - beyond;
    let most = range.y + beyond;
    if has(SURFACE) {
        let outside = select(most - volume.window.z, volume.window.z - least, has(BELOW));
        return outside < 0.0;
    }
    let a = share_of(least);
    let b = share_of(most);
    if abs(b - a) * f32(TABLE) < 8.0 {
        // Few texels of the table, or one.
        return max(max(looked_up(0, a).w, looked_up(0, b).w), looked_up(0, 0.5 * (a + b)).w) <= 0.0
            && integral_to(b).w <= integral_to(a).w;
    }
    return integral_to(b).w <= integral_to(a).w;
}

struct Ray {
    origin: vec3<f32>,
    direction: vec3<f32>,
    // The same in texels, per mm.
    start: vec3<f32>,
    slope: vec3<f32>,
    // How far each sample of the pixel goes, and the farthest.
    ends: vec4<f32>,
    end: f32,
}

struct Light {
    // Times alpha.
    colour: vec3<f32>,
    alpha: f32,
    // What is left of the light from behind.
    left: f32,
    // The nearest opaque surface.
    distance: f32,
    // Where the streamlines are that were not met yet.
    lines_at: f32,
}

// Colour and opacity of the pixel's see-through streamlines.
var<private> lines: vec4<f32>;

// The share of the pixel's samples that the opaque scene does not hide between two distances.
fn open_share(ray: Ray, from_mm: f32, to_mm: f32) -> f32 {
    let shares = clamp((ray.ends - from_mm) / max(to_mm - from_mm, 1e-6), vec4<f32>(0.0), vec4<f32>(1.0));
    return dot(shares, vec4<f32>(0.25));
}

fn add_lines(light: ptr<function, Light>) {
    let weight = (*light).left * lines.a;
    (*light).colour += weight * lines.rgb;
    (*light).alpha += weight;
    (*light).left *= 1.0 - lines.a;
    (*light).lines_at = FAR;
}

// Something at so many mm.
fn add(light: ptr<function, Light>, at_mm: f32, colour: vec3<f32>, alpha: f32, open: f32) {
    if (*light).lines_at < at_mm {
        add_lines(light);
    }
    let weight = (*light).left * alpha * open;
    (*light).colour += weight * colour;
    (*light).alpha += weight;
    (*light).left *= 1.0 - alpha;
}

fn lit(base: vec3<f32>, normal: vec3<f32>, direction: vec3<f32>) -> vec3<f32> {
    let n = select(normal, -normal, dot(normal, direction) > 0.0);
    let diffuse = max(dot(n, volume.light.xyz), 0.0);
    let half_vector = normalize(volume.light.xyz - direction);
    let shine = pow(max(dot(n, half_vector), 0.0), 40.0);
    return clamp(base * (0.42 + 0.66 * diffuse) + vec3<f32>(0.2 * shine), vec3<f32>(0.0), vec3<f32>(1.0));
}

// Where the ray leaves a brick, mm.
fn leaves(ray: Ray, brick: vec3<i32>) -> f32 {
    let low = vec3<f32>(brick) * BRICK;
    let wall = select(low, low + BRICK, ray.slope > vec3<f32>(0.0));
    let t = select(vec3<f32>(FAR), (wall - ray.start) / ray.slope, abs(ray.slope) > vec3<f32>(1e-9));
    return min(t.x, min(t.y, t.z));
}

// The step after those that are wholly in this point's brick, if that is empty; else 0.
fn past_empty(ray: Ray, texel: vec3<f32>, from_mm: f32, step: f32, known: ptr<function, vec3<i32>>,
    empty: ptr<function, bool>) -> i32 {
    let last = textureDimensions(bricks) - 1;
    let brick = vec3<i32>(clamp(floor(texel / BRICK), vec3<f32>(0.0), vec3<f32>(last)));
    if has(SKIPS) && any(brick != *known) {
        *known = brick;
        *empty = is_empty(brick);
    }
    if !*empty {
        return 0;
    }
    return i32(floor((leaves(ray, brick) - from_mm) / step));
}

// φ at so many mm of a ray.
fn phi_at(ray: Ray, at_mm: f32) -> f32 {
    let world = vec4<f32>(ray.origin + at_mm * ray.direction, 1.0);
    let texel = vec3<f32>(dot(volume.phi_x, world), dot(volume.phi_y, world), dot(volume.phi_z, world));
    let there = sample_image(phi, texel, LINEAR);
    return select(-1.0, there.r, there.a >= 0.5);
}

fn march_cloud(ray: Ray, from_mm: f32, to_mm: f32, step: f32, light: ptr<function, Light>) {
    var known = vec3<i32>(-1);
    var empty = false;
    var have = false;
    var value = 0.0;
    var k = 0;
    for (var i = 0; i < MOST_STEPS; i++) {
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
        let here = first > SPOILT_BELOW;
        let there = beyond > SPOILT_BELOW;
        if !here && !there {
            continue;
        }
        let a = share_of(select(beyond, first, here));
        let b = share_of(select(first, beyond, there));
        let mean = mean_extinction(a, b);
        if mean.w <= 0.0 {
            continue;
        }
        // Of a segment that ends where nothing is, half is there.
        var run = (far - near) * select(0.5, 1.0, here && there);
        if has(HAS_PHI) && phi_at(ray, 0.5 * (near + far)) < 0.0 {
            run *= volume.phi_look.w;
        }
        let alpha = 1.0 - exp(-mean.w * run);
        var colour = mean.rgb / mean.w;
        if has(LIT) && alpha * (*light).left > 0.002 {
            let slope = in_world(slope_at(ray.start + 0.5 * (near + far) * ray.slope));
            let steepness = length(slope);
            // Where the value hardly changes there is no surface to be lit.
            let clear = smoothstep(0.02, 0.12, steepness * volume.march.z * volume.window.y);
            if clear > 0.0 {
                colour = mix(colour, lit(colour, slope / steepness, ray.direction), clear);
            }
        }
        add(light, 0.5 * (near + far), colour, alpha, open_share(ray, near, far));
    }
}

fn is_inside(value: f32) -> bool {
    if value < SPOILT_BELOW {
        return false;
    }
    return select(value >= volume.window.z, value <= volume.window.z, has(BELOW));
}

// Seen from outside; none where the image is flat.
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

fn hit_surface(ray: Ray, at_mm: f32, normal: vec3<f32>, light: ptr<function, Light>) {
    var colour = volume.surface.rgb;
    if has(LIT) && dot(normal, normal) > 0.0 {
        colour = lit(colour, normal, ray.direction);
    }
    add(light, at_mm, colour, volume.window.w, open_share(ray, at_mm, at_mm));
    let hides = volume.window.w > 0.99;
    (*light).distance = select((*light).distance, min((*light).distance, at_mm), hides);
}

// `entry`: how the ray comes in; no normal where it may start within.
fn march_surface(ray: Ray, from_mm: f32, to_mm: f32, step: f32, entry: vec3<f32>,
    light: ptr<function, Light>) {
    var known = vec3<i32>(-1);
    var empty = false;
    var have = false;
    var inside = false;
    var k = 0;
    for (var i = 0; i < MOST_STEPS; i++) {
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

// What the plane that opens the view shows: the image itself.
fn show_face(ray: Ray, at_mm: f32, light: ptr<function, Light>) {
    let world = vec4<f32>(ray.origin + at_mm * ray.direction, 1.0);
    if has(HAS_CUT) {
        let size = vec3<f32>(textureDimensions(cut));
        let texel = vec3<f32>(dot(volume.cut_x, world), dot(volume.cut_y, world), dot(volume.cut_z, world));
        if any(texel < vec3<f32>(-0.5)) || any(texel > size - 0.5)
            || textureSampleLevel(cut, smooth_sampler, (texel + 0.5) / size, 0.0).r < 0.5 {
            return;
        }
    }
    let value = value_at(ray.start + at_mm * ray.slope);
    if value < SPOILT_BELOW || has(SURFACE) && !is_inside(value) {
        return;
    }
    let share = (value - volume.face.x) * volume.face.y;
    // Without a mask the image's black is its background, as on slices.
    let shown = select(smoothstep(0.02, 0.06, share), 1.0, has(HAS_CUT));
    var colour = map_colour(maps, volume.rows.y, share);
    var alpha = volume.face.z * shown;
    if has(HAS_PHI) {
        // A line of about a voxel.
        let line = 1.0 - smoothstep(0.4, 0.7, abs(phi_at(ray, at_mm)));
        colour = mix(colour, volume.phi_look.rgb, line);
        alpha = max(alpha, line);
    }
    add(light, at_mm, colour, alpha, open_share(ray, at_mm, at_mm));
    if alpha > 0.99 {
        (*light).distance = min((*light).distance, at_mm);
    }
}

fn march(ray: Ray, light: ptr<function, Light>) {
    let size = vec3<f32>(textureDimensions(image));
    let safe = select(vec3<f32>(1e-9), ray.slope, abs(ray.slope) > vec3<f32>(1e-9));
    let a = (vec3<f32>(-0.5) - ray.start) / safe;
    let b = (size - 0.5 - ray.start) / safe;
    let enters = min(a, b);
    let leaves_at = max(a, b);
    let first = max(max(enters.x, max(enters.y, enters.z)), 0.0);
    let last = min(min(leaves_at.x, min(leaves_at.y, leaves_at.z)), ray.end);
    if first >= last {
        return;
    }
    let step = volume.march.x / max(length(ray.slope), 1e-9);
    // What is cut away of the ray.
    var gone = vec2<f32>(select(FAR, 0.0, kind.z > 0u), FAR);
    var opening = vec3<f32>(0.0);
    for (var i = 0u; i < kind.z; i++) {
        let plane = volume.planes[i];
        let off = dot(plane, vec4<f32>(ray.origin, 1.0));
        let rate = dot(plane.xyz, ray.direction);
        if abs(rate) < 1e-9 {
            if off <= 0.0 {
                gone = vec2<f32>(FAR, FAR);
            }
            continue;
        }
        let crossing = -off / rate;
        if rate > 0.0 {
            gone.x = max(gone.x, crossing);
        } else if crossing < gone.y {
            gone.y = crossing;
            opening = plane.xyz;
        }
    }
    if gone.x >= gone.y {
        gone = vec2<f32>(FAR, FAR);
    }
    var side = vec3<f32>(0.0);
    for (var part = 0; part < 2; part++) {
        let from_mm = select(max(first, gone.y), first, part == 0);
        let to_mm = select(last, min(last, gone.x), part == 0);
        if from_mm >= to_mm {
            continue;
        }
        side = select(vec3<f32>(0.0), opening, part == 1 && gone.y > first);
        if part == 1 && has(HAS_FACE) && gone.y > first {
            show_face(ray, from_mm, light);
        }
        if has(SURFACE) {
            march_surface(ray, from_mm, to_mm, step, side, light);
        } else {
            march_cloud(ray, from_mm, to_mm, step, light);
        }
    }
}

@compute @workgroup_size(8, 8)
fn volume_march(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = vec2<u32>(id.x, id.y + volume.rows.x);
    if any(vec2<f32>(place) >= volume.size.zw) || place.y >= volume.rows.z {
        return;
    }
    begin();
    let at = vec2<i32>(place);
    var drawn = vec4<f32>(0.0);
    var limit = FAR;
    if has(HAS_BEFORE) {
        drawn = textureLoad(before, at, 0);
        limit = textureLoad(before_distance, at, 0).r;
    }
    let rays = kind.w;
    var spread = SPREAD;
    var light = Light(vec3<f32>(0.0), 0.0, 1.0, FAR, FAR);
    var cue = 0.0;
    lines = vec4<f32>(0.0);
    if has(HAS_LINES) {
        let sum = textureLoad(lines_sum, at, 0);
        let weight = max(sum.a, 1e-6);
        lines = vec4<f32>(sum.rgb / weight, 1.0 - textureLoad(lines_left, at, 0).r);
        cue = textureLoad(lines_depth, at, 0).r / weight;
    }
    var nearest = 0.0;
    for (var i = 0u; i < rays; i++) {
        let within = select(vec2<f32>(0.5), spread[i], rays == 4u);
        let scene_px = (vec2<f32>(place) + within) * volume.march.y;
        let ndc = vec2<f32>(scene_px.x / volume.size.x * 2.0 - 1.0,
            1.0 - scene_px.y / volume.size.y * 2.0);
        let near = world_at(ndc, 0.0);
        var ray: Ray;
        ray.direction = normalize(world_at(ndc, 1.0) - near);
        ray.origin = select(near, volume.eye.xyz, volume.eye.w > 0.0);
        ray.start = texel_at(vec4<f32>(ray.origin, 1.0));
        ray.slope = texel_at(vec4<f32>(ray.direction, 0.0));
        let pixel = min(vec2<i32>(scene_px), vec2<i32>(volume.size.xy) - 1);
        ray.end = 0.0;
        for (var s = 0; s < 4; s++) {
            let sample = select(s % SAMPLES, i32(i) % SAMPLES, rays == 4u);
            let depth = depth_at(pixel, sample);
            var end = FAR;
            if depth < 1.0 {
                end = dot(world_at(ndc, depth) - ray.origin, ray.direction);
            }
            ray.ends[s] = min(end, limit);
            ray.end = max(ray.end, ray.ends[s]);
        }
        light.left = 1.0;
        light.distance = FAR;
        light.lines_at = FAR;
        if lines.a > 0.0 {
            let rate = dot(volume.depth_cue.xyz, ray.direction);
            let from_eye = cue - dot(volume.depth_cue, vec4<f32>(ray.origin, 1.0));
            light.lines_at = from_eye / select(1e-9, rate, abs(rate) > 1e-9);
            // Hidden by a surface that was drawn before.
            if light.lines_at >= limit {
                light.lines_at = FAR;
            }
        }
        march(ray, &light);
        if light.lines_at < FAR {
            add_lines(&light);
        }
        nearest += light.distance;
    }
    let share = 1.0 / f32(rays);
    let own = vec4<f32>(light.colour, light.alpha) * share;
    textureStore(after, at, own + drawn * (1.0 - own.a));
    textureStore(after_distance, at, vec4<f32>(min(limit, nearest * share)));
}
