// Regions in the 3-D view: a box is drawn around each, and every pixel of the box intersects its ray with the region.

struct Solid {
    clip_from_world: mat4x4<f32>,
    // Transform from the cube -1..1 to the box that is drawn.
    world_from_cube: mat4x4<f32>,
    // Rows of the matrix from world to texels of the mask.
    texel_x: vec4<f32>,
    texel_y: vec4<f32>,
    texel_z: vec4<f32>,
    // Eye (w = 1), or direction to the viewer (w = 0).
    eye: vec4<f32>,
    light: vec4<f32>,
    // sRGB and opacity.
    colour: vec4<f32>,
    // Centre; radius of a sphere.
    centre: vec4<f32>,
    // Half edges of a box; px per mm at clip w = 1.
    half_edges: vec4<f32>,
    // Width of the rim, px.
    rim: vec4<f32>,
    // Dot product with (world, 1): 0 near, 1 far.
    depth_cue: vec4<f32>,
    // Colour of the background, and the fraction of it that the depth cue adds at the far end.
    fading: vec4<f32>,
    // 1 if selected.
    flags: vec4<u32>,
}

@group(0) @binding(0) var<uniform> solid: Solid;
@group(0) @binding(1) var surface: texture_3d<f32>;
@group(0) @binding(2) var smooth_sampler: sampler;
@group(0) @binding(3) var<storage, read> clips: Clips;

struct Hull {
    @builtin(position) position: vec4<f32>,
    @location(0) world: vec3<f32>,
}

// Corners of the cube's faces, anticlockwise from outside; bits 0, 1, 2 are x, y, z.
const FACES = array<u32, 36>(
    1u, 3u, 7u, 1u, 7u, 5u, 0u, 4u, 6u, 0u, 6u, 2u, 2u, 6u, 7u, 2u, 7u, 3u,
    0u, 1u, 5u, 0u, 5u, 4u, 4u, 5u, 7u, 4u, 7u, 6u, 0u, 2u, 3u, 0u, 3u, 1u,
);

@vertex
fn vs_solid(@builtin(vertex_index) index: u32) -> Hull {
    var faces = FACES;
    let c = faces[index];
    let corner = vec3<f32>(f32(c & 1u), f32((c >> 1u) & 1u), f32(c >> 2u)) * 2.0 - 1.0;
    let world = solid.world_from_cube * vec4<f32>(corner, 1.0);
    return Hull(solid.clip_from_world * world, world.xyz);
}

struct Hit {
    found: bool,
    at: vec3<f32>,
    normal: vec3<f32>,
    // Distance inwards from the silhouette or from an edge, px.
    from_edge: f32,
}

fn pixel_mm(at: vec3<f32>) -> f32 {
    let clip = solid.clip_from_world * vec4<f32>(at, 1.0);
    return max(abs(clip.w), 1e-6) / solid.half_edges.w;
}

fn hit_sphere(origin: vec3<f32>, direction: vec3<f32>) -> Hit {
    let from_centre = origin - solid.centre.xyz;
    let along = dot(from_centre, direction);
    let nearest = from_centre - along * direction;
    let off = length(nearest);
    let radius = solid.centre.w;
    let from_edge = (radius - off) / pixel_mm(solid.centre.xyz + nearest);
    let half_chord = sqrt(max(radius * radius - off * off, 0.0));
    // From inside the sphere, its far side is visible.
    let inside = -along - half_chord < 0.0;
    let t = -along + select(-half_chord, half_chord, inside);
    let at = origin + t * direction;
    let outward = normalize(at - solid.centre.xyz);
    return Hit(from_edge > -0.5 && t > 0.0, at, select(outward, -outward, inside), from_edge);
}

fn hit_box(origin: vec3<f32>, direction: vec3<f32>) -> Hit {
    let from_centre = origin - solid.centre.xyz;
    let safe = select(vec3<f32>(1e-9), direction, abs(direction) > vec3<f32>(1e-9));
    let a = (-solid.half_edges.xyz - from_centre) / safe;
    let b = (solid.half_edges.xyz - from_centre) / safe;
    let enter = min(a, b);
    let leave = max(a, b);
    let first = max(enter.x, max(enter.y, enter.z));
    let last = min(leave.x, min(leave.y, leave.z));
    let inside = first < 0.0;
    let t = select(first, last, inside);
    let local = from_centre + t * direction;
    let share = local / solid.half_edges.xyz;
    let size = abs(share);
    var normal = vec3<f32>(0.0, 0.0, sign(share.z));
    var margins = solid.half_edges.xy - abs(local.xy);
    if size.x >= size.y && size.x >= size.z {
        normal = vec3<f32>(sign(share.x), 0.0, 0.0);
        margins = solid.half_edges.yz - abs(local.yz);
    } else if size.y >= size.z {
        normal = vec3<f32>(0.0, sign(share.y), 0.0);
        margins = solid.half_edges.xz - abs(local.xz);
    }
    let at = solid.centre.xyz + local;
    let from_edge = max(min(margins.x, margins.y), 0.0) / pixel_mm(at);
    return Hit(first <= last && last > 0.0, at, select(normal, -normal, inside), from_edge);
}

fn texel_at(world: vec4<f32>) -> vec3<f32> {
    return vec3<f32>(dot(solid.texel_x, world), dot(solid.texel_y, world), dot(solid.texel_z, world));
}

fn inside_at(texel: vec3<f32>, size: vec3<f32>) -> f32 {
    return textureSampleLevel(surface, smooth_sampler, (texel + 0.5) / size, 0.0).r;
}

// Marches in steps of half a texel to the point where the smooth mask rises through 1/2.
fn hit_mask(origin: vec3<f32>, direction: vec3<f32>) -> Hit {
    let size = vec3<f32>(textureDimensions(surface));
    let start = texel_at(vec4<f32>(origin, 1.0));
    let slope = texel_at(vec4<f32>(direction, 0.0));
    let safe = select(vec3<f32>(1e-9), slope, abs(slope) > vec3<f32>(1e-9));
    let a = -start / safe;
    let b = (size - 1.0 - start) / safe;
    let enter = min(a, b);
    let leave = max(a, b);
    var t = max(max(enter.x, max(enter.y, enter.z)), 0.0);
    let last = min(leave.x, min(leave.y, leave.z));
    let step = 0.5 / max(abs(slope.x), max(abs(slope.y), abs(slope.z)));
    var found = false;
    for (var i = 0; i < 1600 && t <= last; i++) {
        if inside_at(start + t * slope, size) >= 0.5 {
            found = true;
            break;
        }
        t += step;
    }
    var low = t - step;
    for (var i = 0; i < 6; i++) {
        let middle = (low + t) * 0.5;
        if inside_at(start + middle * slope, size) >= 0.5 {
            t = middle;
        } else {
            low = middle;
        }
    }
    let texel = start + t * slope;
    let x = vec3<f32>(1.0, 0.0, 0.0);
    let falling = vec3<f32>(
        inside_at(texel - x.xyy, size) - inside_at(texel + x.xyy, size),
        inside_at(texel - x.yxy, size) - inside_at(texel + x.yxy, size),
        inside_at(texel - x.yyx, size) - inside_at(texel + x.yyx, size),
    );
    let normal = solid.texel_x.xyz * falling.x + solid.texel_y.xyz * falling.y
        + solid.texel_z.xyz * falling.z;
    let lit = select(-direction, normalize(normal), dot(normal, normal) > 1e-12);
    return Hit(found, origin + t * direction, lit, 1e3);
}

struct Shaded {
    @location(0) colour: vec4<f32>,
    @builtin(frag_depth) depth: f32,
}

struct Ray {
    origin: vec3<f32>,
    direction: vec3<f32>,
}

fn ray_of(in: Hull) -> Ray {
    // Parallel rays start well in front of the hull.
    let parallel = solid.eye.w == 0.0;
    let direction = normalize(select(in.world - solid.eye.xyz, -solid.eye.xyz, parallel));
    return Ray(select(solid.eye.xyz, in.world - direction * 2000.0, parallel), direction);
}

// `cover`: the share of the pixel that is covered, at a soft edge.
fn shaded(hit: Hit, direction: vec3<f32>, cover: f32) -> Shaded {
    if !hit.found {
        discard;
    }
    let facing = clamp(dot(hit.normal, -direction), 0.0, 1.0);
    let half_vector = normalize(solid.light.xyz - direction);
    let diffuse = max(dot(hit.normal, solid.light.xyz), 0.0);
    let shine = pow(max(dot(hit.normal, half_vector), 0.0), 48.0);
    let base = solid.colour.rgb;
    var colour = base * (0.62 + 0.48 * diffuse) + vec3<f32>(0.5 * shine);
    // Denser at grazing angles, as in a glass ball.
    let grazing = pow(1.0 - facing, 3.0);
    var alpha = clamp(solid.colour.a * (1.0 + 0.4 * grazing) + 0.25 * shine, 0.0, 1.0);
    // A rim in the pure colour, or in white if selected.
    let rim = 1.0 - clamp(hit.from_edge - solid.rim.x + 0.5, 0.0, 1.0);
    let rim_colour = select(base, vec3<f32>(1.0), solid.flags.x == 1u);
    colour = mix(colour, rim_colour, rim);
    alpha = mix(alpha, max(alpha, 0.92 * min(solid.colour.a * 1.6, 1.0)), rim);
    colour = faded(clamp(colour, vec3<f32>(0.0), vec3<f32>(1.0)), hit.at, solid.depth_cue, solid.fading);
    let clip = solid.clip_from_world * vec4<f32>(hit.at, 1.0);
    return Shaded(vec4<f32>(colour, alpha * cover), clamp(clip.z / clip.w, 0.0, 1.0));
}

// One entry point per shape, without a branch on values that are constant for a draw: for such a branch, Mesa's
// software renderer compiles the shader again for every draw and keeps all copies.

@fragment
fn fs_sphere(in: Hull) -> Shaded {
    let ray = ray_of(in);
    let hit = hit_sphere(ray.origin, ray.direction);
    return shaded(hit, ray.direction, clamp(hit.from_edge + 0.5, 0.0, 1.0));
}

@fragment
fn fs_box(in: Hull) -> Shaded {
    let ray = ray_of(in);
    return shaded(hit_box(ray.origin, ray.direction), ray.direction, 1.0);
}

@fragment
fn fs_mask(in: Hull) -> Shaded {
    let ray = ray_of(in);
    return shaded(hit_mask(ray.origin, ray.direction), ray.direction, 1.0);
}

// With clips, each visible stretch of the ray is a ray of its own. One that begins inside a region meets the far side of
// the region, which an eye at that place would see.

struct Piece {
    origin: vec3<f32>,
    start: f32,
    until: f32,
    exists: bool,
}

fn piece_of(ray: Ray, from_mm: f32) -> Piece {
    let found = visible_stretch(ray.origin, ray.direction, from_mm, vec2<f32>(ENDLESS), vec3<f32>(0.0));
    return Piece(ray.origin + found.start * ray.direction, found.start, found.until,
        found.until > found.start);
}

fn is_within(hit: Hit, piece: Piece, ray: Ray) -> bool {
    return hit.found && dot(hit.at - ray.origin, ray.direction) <= piece.until;
}

fn no_hit() -> Hit {
    return Hit(false, vec3<f32>(0.0), vec3<f32>(0.0, 0.0, 1.0), 0.0);
}

@fragment
fn fs_sphere_clipped(in: Hull) -> Shaded {
    let ray = ray_of(in);
    var hit = no_hit();
    var from_mm = 0.0;
    for (var part = 0; part < MOST_STRETCHES && !hit.found; part++) {
        let piece = piece_of(ray, from_mm);
        if !piece.exists {
            break;
        }
        let met = hit_sphere(piece.origin, ray.direction);
        if is_within(met, piece, ray) {
            hit = met;
        }
        from_mm = piece.until;
    }
    return shaded(hit, ray.direction, clamp(hit.from_edge + 0.5, 0.0, 1.0));
}

@fragment
fn fs_box_clipped(in: Hull) -> Shaded {
    let ray = ray_of(in);
    var hit = no_hit();
    var from_mm = 0.0;
    for (var part = 0; part < MOST_STRETCHES && !hit.found; part++) {
        let piece = piece_of(ray, from_mm);
        if !piece.exists {
            break;
        }
        let met = hit_box(piece.origin, ray.direction);
        if is_within(met, piece, ray) {
            hit = met;
        }
        from_mm = piece.until;
    }
    return shaded(hit, ray.direction, 1.0);
}

@fragment
fn fs_mask_clipped(in: Hull) -> Shaded {
    let ray = ray_of(in);
    var hit = no_hit();
    var from_mm = 0.0;
    for (var part = 0; part < MOST_STRETCHES && !hit.found; part++) {
        let piece = piece_of(ray, from_mm);
        if !piece.exists {
            break;
        }
        let met = hit_mask(piece.origin, ray.direction);
        if is_within(met, piece, ray) {
            hit = met;
        }
        from_mm = piece.until;
    }
    return shaded(hit, ray.direction, 1.0);
}
