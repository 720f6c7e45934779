// Casts rays through a scalar image (volume_image.wgsl) or bricks (volume_bricks.wgsl) in the 3-D view: clouds,
// surfaces of constant value, and cuts. One thread owns one pixel of the result; its ray ends at the opaque
// scene.

struct Volume {
    world_from_clip: mat4x4<f32>,
    // Eye (w = 1), or direction to the viewer (w = 0).
    eye: vec4<f32>,
    light: vec4<f32>,
    // Dot product with (world, 1): 0 near, 1 far, as for the depths of transparent streamlines.
    depth_cue: vec4<f32>,
    // Colour of the background, and the fraction of it that the depth cue adds at the far end.
    fading: vec4<f32>,
    // Rows of the matrix from world to texels.
    texel_x: vec4<f32>,
    texel_y: vec4<f32>,
    texel_z: vec4<f32>,
    // Rows of the matrix from world to texels of the mask that limits the cut face, or of the image that colours the
    // surface.
    cut_x: vec4<f32>,
    cut_y: vec4<f32>,
    cut_z: vec4<f32>,
    // A point is cut away if its dot products (world, 1) with all of these are positive.
    planes: array<vec4<f32>, 3>,
    // The opacity fades with the distance to these planes, dot products with (world, 1).
    fades: array<vec4<f32>, 3>,
    // Rows of the matrix from world to voxels of φ in bricks.
    phi_x: vec4<f32>,
    phi_y: vec4<f32>,
    phi_z: vec4<f32>,
    // Voxels of φ along each axis; |φ| in bricks without a page.
    phi_size: vec4<f32>,
    // sRGB of the line where cut faces cross that surface; factor of the density outside it.
    phi_look: vec4<f32>,
    // Size of the part of the target that the scene covers, and of the result, px.
    size: vec4<f32>,
    // Step in texels; pixels of the scene per pixel of the result; edge of a texel, mm; 1 / distance over which
    // the opacity fades from its planes, 1/mm.
    march: vec4<f32>,
    // Lower end of the window and 1 / its width; level of the surface; opacity of the surface or the projection.
    window: vec4<f32>,
    // Lower end of the cut face's window and 1 / its width; opacity of the cut face; row of the colour map of the
    // image that colours the surface.
    face: vec4<f32>,
    // sRGB of the surface; for bricks, a lower bound on the distance from φ = 1 to φ = 0, mm; for a projection, 1 if it
    // has this colour at the high end of the window instead of a colour map.
    surface: vec4<f32>,
    // Rows of the matrix from world to texels of the second value's image; then the lower end of its window, 1 / its
    // width, and 1 / the thickness of the layer with the opacities of the shapes, 1/mm; then the lower end of the window
    // of the third value, and 1 / its width.
    second: array<vec4<f32>, 5>,
    // Flags; interpolation; number of planes; rays per pixel.
    kind: vec4<u32>,
    // First row; row of the colour map of the cut face or the projection; row after the last; exponent n of bricks with
    // 2^n voxels along each side.
    rows: vec4<u32>,
}

const SURFACE: u32 = 1u;
const LIT: u32 = 2u;
// The inside of the surface lies below its level.
const BELOW: u32 = 4u;
const HAS_BEFORE: u32 = 8u;
const HAS_FACE: u32 = 16u;
const HAS_CUT: u32 = 32u;
const SKIPS: u32 = 64u;
const HAS_LINES: u32 = 128u;
const HAS_PHI: u32 = 256u;
const HAS_FADE: u32 = 512u;
const COLOURED: u32 = 1024u;
// The transfer function has two values, the second of which is the gradient magnitude, another image, or the mean
// curvature of the surface of constant value.
const SHAPED: u32 = 16384u;
const SECOND_IMAGE: u32 = 32768u;
const CURVATURE: u32 = 262144u;
// The gradient magnitude, or the mean curvature, limits shapes as a third value.
const THIRD: u32 = 524288u;
const THIRD_CURVATURE: u32 = 1048576u;
// The colour of the largest value along the ray, or of the smallest.
const PROJECTED: u32 = 65536u;
const SMALLEST: u32 = 131072u;

@group(0) @binding(0) var<uniform> volume: Volume;
// Binding 1 is the scene's depth.
// Bindings 2, 4 and 5 belong to the image: see volume_image.wgsl.
@group(0) @binding(3) var smooth_sampler: sampler;
@group(0) @binding(6) var maps: texture_2d<f32>;
// The mask that limits the cut face, or the shares of the colour map of the image that colours the surface.
@group(0) @binding(7) var cut: texture_3d<f32>;
// Volumes drawn before: colour times alpha, and alpha; distance of their nearest opaque surface, mm.
@group(0) @binding(8) var before: texture_2d<f32>;
@group(0) @binding(9) var before_distance: texture_2d<f32>;
@group(0) @binding(10) var after: texture_storage_2d<rgba16float, write>;
@group(0) @binding(11) var after_distance: texture_storage_2d<r32float, write>;
// Transparent streamlines: see src/render/transparency.rs.
@group(0) @binding(12) var lines_sum: texture_2d<f32>;
@group(0) @binding(13) var lines_left: texture_2d<f32>;
@group(0) @binding(14) var lines_depth: texture_2d<f32>;
// φ in bricks: see pages.wgsl.
@group(0) @binding(15) var<storage, read> page_of: array<u32>;
@group(0) @binding(16) var<storage, read> pages: array<f32>;
// Bricks that rays may skip: see empty_bricks.wgsl.
@group(0) @binding(17) var<storage, read> extent: array<i32>;
@group(0) @binding(19) var<storage, read> clips: Clips;

const FAR: f32 = 1e9;
// A ray ends once its transmittance is below this.
const OPAQUE_LEFT: f32 = 0.003;
const MAXIMUM_STEPS: i32 = 6000;

// Positions of the four rays in a pixel: those of the scene's four samples.
const SPREAD = array<vec2<f32>, 4>(
    vec2<f32>(0.375, 0.125), vec2<f32>(0.875, 0.375),
    vec2<f32>(0.125, 0.625), vec2<f32>(0.625, 0.875),
);

// Whether the ray enters this part through the cut of the volume.
var<private> shows_face: bool;

// The kind of the volume, set by each ray. For a branch on uniforms alone, Mesa's software renderer compiles the
// shader again for every draw and keeps all copies; a test for voxels, which every volume has, avoids this.
var<private> kind: vec4<u32>;

fn begin() {
    kind = select(volume.kind, vec4<u32>(0u), has_none());
    phi_voxels = vec3<i32>(volume.phi_size.xyz);
    phi_most = volume.phi_size.w;
    phi_shift = volume.rows.w;
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

fn in_world(slope: vec3<f32>) -> vec3<f32> {
    return volume.texel_x.xyz * slope.x + volume.texel_y.xyz * slope.y + volume.texel_z.xyz * slope.z;
}

struct Ray {
    origin: vec3<f32>,
    direction: vec3<f32>,
    // Origin in texels, and direction in texels per mm.
    start: vec3<f32>,
    slope: vec3<f32>,
    // Length of the ray for each sample of the pixel, and the greatest of them.
    ends: vec4<f32>,
    end: f32,
}

struct Light {
    // Premultiplied by alpha.
    colour: vec3<f32>,
    alpha: f32,
    // Transmittance of the light from behind.
    left: f32,
    // Distance of the nearest opaque surface.
    distance: f32,
    // Distance of the streamlines that the ray has not met yet.
    lines_at: f32,
}

// Colour and opacity of the transparent streamlines in this pixel.
var<private> lines: vec4<f32>;

// The mean fraction of the pixel's samples that the opaque scene does not hide between two distances.
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

// Adds a colour at a distance along the ray.
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

// Distance at which the ray leaves a block of this many bricks along each axis, mm.
fn leaves(ray: Ray, from_brick: vec3<i32>, along: i32) -> f32 {
    let low = vec3<f32>(from_brick) * brick_edge();
    let wall = select(low, low + f32(along) * brick_edge(), ray.slope > vec3<f32>(0.0));
    let t = select(vec3<f32>(FAR), (wall - ray.start) / ray.slope, abs(ray.slope) > vec3<f32>(1e-9));
    return min(t.x, min(t.y, t.z));
}

// The first step beyond the empty bricks around this point; 0 if its brick is not empty.
fn past_empty(ray: Ray, texel: vec3<f32>, from_mm: f32, step: f32, known: ptr<function, vec3<i32>>,
    empty: ptr<function, i32>) -> i32 {
    let brick = brick_at(texel);
    if has(SKIPS) && any(brick != *known) {
        *known = brick;
        *empty = empty_along(brick);
    }
    if *empty == 0 {
        return 0;
    }
    return i32(floor((leaves(ray, empty_from(brick, *empty), *empty) - from_mm) / step));
}

// A colour at a distance along the ray with the depth cue.
fn cued(ray: Ray, at_mm: f32, colour: vec3<f32>) -> vec3<f32> {
    return faded(colour, ray.origin + at_mm * ray.direction, volume.depth_cue, volume.fading);
}

// Factor of the opacity at a distance along the ray: 1 at the planes, 0 beyond the fade. Behind several planes,
// the distance to the region in front of all of them counts.
fn fade_at(ray: Ray, at_mm: f32) -> f32 {
    if !has(HAS_FADE) {
        return 1.0;
    }
    let world = vec4<f32>(ray.origin + at_mm * ray.direction, 1.0);
    var behind = 0.0;
    var before_all = FAR;
    for (var i = 0; i < 3; i++) {
        let off = dot(volume.fades[i], world);
        let below = min(off, 0.0);
        behind += below * below;
        before_all = min(before_all, off);
    }
    let away = select(before_all, sqrt(behind), behind > 0.0);
    return clamp(1.0 - away * volume.march.w, 0.0, 1.0);
}

// The value at a distance along the ray of the image that limits the cut face or colours the surface; in y whether
// the point lies within it.
fn cut_at(ray: Ray, at_mm: f32) -> vec2<f32> {
    let world = vec4<f32>(ray.origin + at_mm * ray.direction, 1.0);
    let size = vec3<f32>(textureDimensions(cut));
    let texel = vec3<f32>(dot(volume.cut_x, world), dot(volume.cut_y, world), dot(volume.cut_z, world));
    let outside = any(texel < vec3<f32>(-0.5)) || any(texel > size - 0.5);
    let value = textureSampleLevel(cut, smooth_sampler, (texel + 0.5) / size, 0.0).r;
    return vec2<f32>(value, select(1.0, 0.0, outside));
}

fn hit_surface(ray: Ray, at_mm: f32, normal: vec3<f32>, light: ptr<function, Light>) {
    var colour = volume.surface.rgb;
    if has(COLOURED) {
        colour = map_colour(maps, u32(volume.face.w), cut_at(ray, at_mm).x);
    }
    if has(LIT) && dot(normal, normal) > 0.0 {
        colour = lit(colour, normal, ray.direction);
    }
    let alpha = volume.window.w * fade_at(ray, at_mm);
    add(light, at_mm, cued(ray, at_mm, colour), alpha, open_share(ray, at_mm, at_mm));
    let hides = alpha > 0.99;
    (*light).distance = select((*light).distance, min((*light).distance, at_mm), hides);
}

fn march(ray: Ray, light: ptr<function, Light>) {
    start_ray();
    let safe = select(vec3<f32>(1e-9), ray.slope, abs(ray.slope) > vec3<f32>(1e-9));
    let a = (low_end() - ray.start) / safe;
    let b = (high_end() - ray.start) / safe;
    let enters = min(a, b);
    let leaves_at = max(a, b);
    let first = max(max(enters.x, max(enters.y, enters.z)), 0.0);
    let last = min(min(leaves_at.x, min(leaves_at.y, leaves_at.z)), ray.end);
    if first >= last {
        return;
    }
    let step = volume.march.x / max(length(ray.slope), 1e-9);
    // The part of the ray that is cut away.
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
    var from_mm = first;
    for (var part = 0; part < MOST_STRETCHES; part++) {
        let stretch = visible_stretch(ray.origin, ray.direction, from_mm, gone, opening);
        let to_mm = min(stretch.until, last);
        if stretch.start >= to_mm {
            break;
        }
        let side = select(vec3<f32>(0.0), normalize(stretch.side), dot(stretch.side, stretch.side) > 0.0);
        shows_face = stretch.is_after_hole;
        march_part(ray, stretch.start, to_mm, step, side, light);
        from_mm = stretch.until;
    }
    finish(ray, light);
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
            // Hidden by a surface drawn before.
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
