// The part of volume.wgsl for the surface φ = 0 of a level set in bricks, read directly from the solver's pages.

// Bricks that rays may skip: see empty_bricks.wgsl.
@group(0) @binding(4) var bricks: texture_3d<f32>;

fn has_none() -> bool {
    return arrayLength(&page_of) == 0u;
}

// Ends of the bricks in which φ crosses 0; everything beyond them is outside.
fn low_end() -> vec3<f32> {
    return vec3<f32>(vec3<i32>(extent[0], extent[1], extent[2])) * brick_edge();
}

fn high_end() -> vec3<f32> {
    return vec3<f32>(vec3<i32>(extent[3], extent[4], extent[5]) + 1) * brick_edge();
}

fn brick_edge() -> f32 {
    return f32(1u << phi_shift);
}

fn brick_at(texel: vec3<f32>) -> vec3<i32> {
    return vec3<i32>(floor(texel)) >> vec3<u32>(phi_shift);
}

// Number of bricks along each side that a ray may skip from this one.
fn empty_along(brick: vec3<i32>) -> i32 {
    return i32(textureLoad(bricks, brick + 1, 0).r);
}

// The first of those bricks.
fn empty_from(brick: vec3<i32>, along: i32) -> vec3<i32> {
    return select(brick, (((brick + 1) >> vec3<u32>(2u)) << vec3<u32>(2u)) - 1, along > 1);
}

// Gradient per texel, smoothed over two texels, as for images; continuous across the faces of bricks.
fn slope_at(texel: vec3<f32>) -> vec3<f32> {
    let x = vec3<f32>(1.0, 0.0, 0.0);
    return 0.5 * vec3<f32>(
        phi_linear(texel + x.xyy) - phi_linear(texel - x.xyy),
        phi_linear(texel + x.yxy) - phi_linear(texel - x.yxy),
        phi_linear(texel + x.yyx) - phi_linear(texel - x.yyx),
    );
}

// Outward normal; zero where φ is flat.
fn surface_normal(texel: vec3<f32>) -> vec3<f32> {
    let normal = -in_world(slope_at(texel));
    return select(vec3<f32>(0.0), normalize(normal), dot(normal, normal) > 0.0);
}

fn phi_along(ray: Ray, at_mm: f32) -> f32 {
    return phi_linear(ray.start + at_mm * ray.slope);
}

// φ is a distance, so the ray can advance by φ without a test (sphere tracing, Hart 1996). Where φ changes sign, the
// crossing is found by linear interpolation between two points.
fn march_part(ray: Ray, from_mm: f32, to_mm: f32, step: f32, side: vec3<f32>,
    light: ptr<function, Light>) {
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
        if !have {
            have = true;
            value = phi_linear(texel);
            if k == 0 && value >= 0.0 {
                hit_surface(ray, near, side, light);
            }
        }
        k += max(i32(abs(value) * volume.surface.w / step), 1);
        let far = min(from_mm + f32(k) * step, to_mm);
        let before = value;
        value = phi_along(ray, far);
        if (before >= 0.0) == (value >= 0.0) {
            continue;
        }
        var low = near;
        var high = far;
        var at_low = before;
        var at_high = value;
        for (var j = 0; j < 3; j++) {
            let at = mix(low, high, at_low / (at_low - at_high));
            let between = phi_along(ray, at);
            if (between >= 0.0) == (before >= 0.0) {
                low = at;
                at_low = between;
            } else {
                high = at;
                at_high = between;
            }
        }
        let at = mix(low, high, at_low / (at_low - at_high));
        hit_surface(ray, at, surface_normal(ray.start + at * ray.slope), light);
    }
}

fn start_ray() {}

// A surface adds its light where the ray meets it.
fn finish(ray: Ray, light: ptr<function, Light>) {}
