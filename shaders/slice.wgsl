// One image layer on a plane: the whole of a slice view, or a rectangle in the 3-D view.

struct Plane {
    // Texel coordinates at (u, v): origin + u * across + v * down.
    origin: vec4<f32>,
    across: vec4<f32>,
    down: vec4<f32>,
}

struct Layer {
    image: Plane,
    hiding: Plane,
    cut: Plane,
    // Clip positions of (0, 0), (1, 0), (0, 1), (1, 1), for the 3-D view.
    corners: array<vec4<f32>, 4>,
    // Lower end of the window and 1 / its width; opacity; brightness.
    window: vec4<f32>,
    // Colour and opacity of contours.
    line: vec4<f32>,
    // Hidden where `hiding` is below x; limits of the values that are shown; 1 / the largest absolute value of the
    // window. Contours: length of dashes in px, 0 without; level, spacing, width in px.
    limits: vec4<f32>,
    // φ in bricks: voxels along each axis; |φ| in bricks without a page.
    phi_size: vec4<f32>,
    // Flags; row of the colour map; interpolation; samples per pixel of the target.
    kind: vec4<u32>,
    // A brick has 2^x voxels along each side.
    bricks: vec4<u32>,
}

const COLOUR_IMAGE: u32 = 1u;
const SINGLE_COLOUR: u32 = 2u;
const TRANSPARENT_BELOW: u32 = 4u;
const HAS_HIDING: u32 = 8u;
const HAS_CUT: u32 = 16u;
const CUT_BLACK: u32 = 32u;
const FADES: u32 = 64u;
const CONTOUR: u32 = 128u;
// The contour is that of φ in bricks, not of an image.
const BRICKS: u32 = 256u;
// Draws black colours instead of leaving them transparent.
const BLACK: u32 = 512u;
const LIMITED: u32 = 1024u;
// The limits, and the opacity by value, are those of absolute values.
const ABSOLUTE: u32 = 2048u;
const BY_VALUE: u32 = 4096u;
// Only the outlines of the colours of an image.
const OUTLINED: u32 = 8192u;
// At the rim of the shape that a slice is cut to, colours are those farther inside.
const FROM_INSIDE: u32 = 16384u;

// A texel of the shape that a slice is cut to does not belong to the rim of the shape if it is at least this.
const INNER: f32 = 0.98;
// Width of the rim in texels of that shape.
const RIM: f32 = 1.5;
// Over two texels at a border, the field rises by at least this.
const STEEP: f32 = 0.4;

@group(0) @binding(0) var<uniform> layer: Layer;
@group(0) @binding(1) var image: texture_3d<f32>;
@group(0) @binding(2) var hiding: texture_3d<f32>;
@group(0) @binding(3) var cut: texture_3d<f32>;
@group(0) @binding(4) var maps: texture_2d<f32>;
// φ in bricks: see pages.wgsl.
@group(0) @binding(5) var<storage, read> page_of: array<u32>;
@group(0) @binding(6) var<storage, read> pages: array<f32>;

// The kind of the layer, set by each fragment. For a branch on uniforms alone, Mesa's software renderer compiles
// the shader again for every draw and keeps all copies; a test of the fragment's position, which never lies left
// of the target, avoids this.
var<private> kind: vec4<u32>;

fn begin(position: vec4<f32>) {
    kind = select(layer.kind, vec4<u32>(0u), position.x < -1.0);
    // A shader for one kind of layer: the compiler removes whatever this kind does not need. A software renderer
    // computes all branches for every pixel.
    if FOR_ONE_KIND {
        kind.x = FLAGS;
        kind.z = WAY;
    }
    phi_voxels = vec3<i32>(layer.phi_size.xyz);
    phi_most = layer.phi_size.w;
    phi_shift = layer.bricks.x;
}

fn has(flag: u32) -> bool {
    return (kind.x & flag) != 0u;
}

// The image at continuous texel coordinates, as sample_image.
fn image_at(at: vec3<f32>, interpolation: u32) -> vec4<f32> {
    if !(IS_COMPLETE && interpolation == LINEAR) {
        return sample_image(image, at, interpolation);
    }
    let size = vec3<i32>(textureDimensions(image));
    let is_inside = all(at >= vec3<f32>(-0.5)) && all(at <= vec3<f32>(size) - 0.5);
    let base = vec3<i32>(floor(at));
    let f = at - floor(at);
    let low = clamp(base, vec3<i32>(0), size - 1);
    let high = clamp(base + 1, vec3<i32>(0), size - 1);
    let a = mix(at_texel(low.x, low.y, low.z), at_texel(high.x, low.y, low.z), f.x);
    let b = mix(at_texel(low.x, high.y, low.z), at_texel(high.x, high.y, low.z), f.x);
    let c = mix(at_texel(low.x, low.y, high.z), at_texel(high.x, low.y, high.z), f.x);
    let d = mix(at_texel(low.x, high.y, high.z), at_texel(high.x, high.y, high.z), f.x);
    let value = mix(mix(a, b, f.y), mix(c, d, f.y), f.z);
    return select(vec4<f32>(0.0), vec4<f32>(value, 0.0, 0.0, 1.0), is_inside);
}

fn at_texel(x: i32, y: i32, z: i32) -> f32 {
    return textureLoad(image, vec3<i32>(x, y, z), 0).r;
}

fn on_plane(plane: Plane, at: vec2<f32>) -> vec3<f32> {
    return plane.origin.xyz + at.x * plane.across.xyz + at.y * plane.down.xyz;
}

// Rises from 0 to 1 across the level, over one pixel; `pixel` is the size of a pixel in texels. A smooth mask
// rises from 0 to 1 within about one texel: if a pixel spans more than that, the values give no finer coverage,
// and the edge must not spread over all of them.
fn edge(value: f32, level: f32, pixel: f32) -> f32 {
    return clamp((value - level) / clamp(pixel, 1e-3, 1.0) + 0.5, 0.0, 1.0);
}

// Distance in texels between pixels that are `step` apart on the plane.
fn texels(plane: Plane, step: vec2<f32>) -> f32 {
    let moved = abs(plane.across.xyz * step.x) + abs(plane.down.xyz * step.y);
    return max(moved.x, max(moved.y, moved.z));
}

// The value that a contour follows and, in y, the share of it that is present.
fn level_at(at: vec2<f32>) -> vec2<f32> {
    let texel = on_plane(layer.image, at);
    if has(BRICKS) {
        // Present up to the end of the voxel beyond the outermost one, where the surface is closed.
        let is_present = all(texel >= vec3<f32>(-1.5)) && all(texel <= layer.phi_size.xyz + 0.5);
        return vec2<f32>(phi_linear(texel), select(0.0, 1.0, is_present));
    }
    return image_at(texel, LINEAR).ra;
}

// Lines of equal value, with the same width whether values change slowly or fast.
fn contour(at: vec2<f32>, step: vec2<f32>) -> vec4<f32> {
    let here = level_at(at);
    let right = level_at(at + vec2<f32>(step.x, 0.0));
    let below = level_at(at + vec2<f32>(0.0, step.y));
    if min(here.y, min(right.y, below.y)) < 0.5 {
        return vec4<f32>(0.0);
    }
    let every = layer.limits.z;
    let nearest = max(round(here.x / max(every, 1e-30)), 1.0) * every;
    let level = select(layer.limits.y, nearest, every > 0.0);
    let rise = vec2<f32>(right.x - here.x, below.x - here.x);
    let slope = length(rise);
    // Dashes are counted along the axis of the plane that the line follows more closely.
    let along = select(at.y / step.y, at.x / step.x, abs(rise.y) > abs(rise.x));
    let dash = layer.limits.x;
    let is_gap = (dash > 0.0) & (fract(along / max(2.0 * dash, 1e-3)) >= 0.5);
    // Distance from the line, px.
    let away = abs(here.x - level) / max(slope, 1e-12);
    let covered = clamp(0.5 * layer.limits.w + 0.5 - away, 0.0, 1.0);
    return vec4<f32>(layer.line.rgb, layer.line.a * select(covered, 0.0, is_gap));
}

// Whether another colour, or none, lies within a pixel and a half.
fn borders(here: vec4<f32>, at: vec2<f32>, step: vec2<f32>) -> bool {
    var differs = false;
    for (var i = 0; i < 4; i++) {
        let way = select(vec2<f32>(0.0, step.y), vec2<f32>(step.x, 0.0), (i & 1) == 0) * 1.5 * f32(1 - (i & 2));
        let other = image_at(on_plane(layer.image, at + way), kind.z);
        differs = differs || any(abs(other - here) > vec4<f32>(0.002));
    }
    return differs;
}

// Colour with straight alpha.
fn shade(at: vec2<f32>, step: vec2<f32>) -> vec4<f32> {
    if has(CONTOUR) {
        return contour(at, step);
    }
    var alpha = layer.window.z;
    if has(HAS_HIDING) {
        let way = min(kind.z, LINEAR);
        let limiting = sample_image(hiding, on_plane(layer.hiding, at), way);
        if limiting.a < 0.5 || limiting.r < layer.limits.x {
            return vec4<f32>(0.0);
        }
    }
    let value = image_at(on_plane(layer.image, at), kind.z);
    if value.a < 0.5 {
        return vec4<f32>(0.0);
    }
    if has(OUTLINED) && !borders(value, at, step) {
        return vec4<f32>(0.0);
    }
    if has(COLOUR_IMAGE) {
        let colour = clamp(value.rgb * layer.window.w, vec3<f32>(0.0), vec3<f32>(1.0));
        // Black shows no value, so the layers below stay visible.
        let empty = max(colour.r, max(colour.g, colour.b)) < 0.002;
        return vec4<f32>(colour, select(alpha, 0.0, empty && !has(BLACK)));
    }
    let size = select(value.r, abs(value.r), has(ABSOLUTE));
    if has(LIMITED) && (size < layer.limits.y || size > layer.limits.z) {
        return vec4<f32>(0.0);
    }
    let t = (value.r - layer.window.x) * layer.window.y;
    if has(BY_VALUE) {
        alpha *= clamp(select(t, size * layer.limits.w, has(ABSOLUTE)), 0.0, 1.0);
    }
    if has(SINGLE_COLOUR) {
        alpha *= edge(t, 0.5, texels(layer.image, step));
    } else if has(TRANSPARENT_BELOW) && t < 0.0 {
        return vec4<f32>(0.0);
    }
    if has(FADES) {
        alpha *= 1.0 - clamp(t, 0.0, 1.0);
    }
    return vec4<f32>(map_colour(maps, layer.kind.y, t), alpha);
}

@vertex
fn vs_pane(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    return covering_corner(index);
}

@fragment
fn fs_pane(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    begin(position);
    return shade(position.xy - 0.5, vec2<f32>(1.0));
}

struct OnQuad {
    @builtin(position) @invariant position: vec4<f32>,
    @location(0) at: vec2<f32>,
}

@vertex
fn vs_quad(@builtin(vertex_index) index: u32) -> OnQuad {
    let at = vec2<f32>(f32(index & 1u), f32(index >> 1u));
    return OnQuad(layer.corners[index], at);
}

struct Cut {
    @location(0) colour: vec4<f32>,
    @builtin(sample_mask) covered: u32,
}

// A sample mask with the given share of the target's samples.
fn coverage_mask(share: f32) -> u32 {
    return (1u << u32(round(share * f32(layer.kind.w)))) - 1u;
}

fn brightest(colour: vec4<f32>) -> f32 {
    return max(colour.r, max(colour.g, colour.b));
}

// Mean brightness of a point and its surroundings two texels away: in the noise of air, single voxels are as
// bright as dark tissue, but no neighbourhood is.
fn bright_around(at: vec2<f32>, step: vec2<f32>, here: f32) -> f32 {
    let across = vec2<f32>(2.0 / length(layer.image.across.xyz), 0.0);
    let down = vec2<f32>(0.0, 2.0 / length(layer.image.down.xyz));
    var sum = here;
    var count = 1.0;
    for (var i = 0; i < 4; i++) {
        let way = f32(1 - (i & 2)) * select(down, across, (i & 1) == 0);
        let other = shade(at + way, step);
        let weight = select(0.0, 1.0, other.a > 0.0);
        sum += weight * brightest(other);
        count += weight;
    }
    return sum / count;
}

fn cut_at(at: vec2<f32>) -> f32 {
    return sample_image(cut, on_plane(layer.cut, at), LINEAR).r;
}

// Share of a pixel within the shape: it changes across one pixel, in the direction in which the border crosses it. Seen
// at a shallow angle, a pixel spans many texels in one direction only.
fn share_inside(at: vec2<f32>, inside: f32, right: vec2<f32>, below: vec2<f32>) -> f32 {
    if inside < 0.01 || inside > 0.99 {
        return round(inside);
    }
    let rise = vec2<f32>(
        cut_at(at + 0.5 * right) - cut_at(at - 0.5 * right),
        cut_at(at + 0.5 * below) - cut_at(at - 0.5 * below),
    );
    return edge(inside, 0.5, length(rise));
}

// The point whose colour a point at the rim of a cut-out has: up to the width of the rim farther inside. Between the
// last voxel inside and the first one outside, values fall to those outside, often 0: that would be a dark fringe.
fn away_from_rim(at: vec2<f32>, inside: f32) -> vec2<f32> {
    let inward = RIM * clamp((INNER - inside) / (INNER - 0.5), 0.0, 1.0);
    // Texels of the shape, not of the image: coarse voxels would be read from far away.
    let texel = vec2<f32>(1.0 / length(layer.cut.across.xyz), 1.0 / length(layer.cut.down.xyz));
    let rise = vec2<f32>(
        cut_at(at + vec2<f32>(texel.x, 0.0)) - cut_at(at - vec2<f32>(texel.x, 0.0)),
        cut_at(at + vec2<f32>(0.0, texel.y)) - cut_at(at - vec2<f32>(0.0, texel.y)),
    );
    // In the middle of a thin part, there is no direction inwards.
    return at + inward * texel * rise / max(length(rise), STEEP);
}

// Colour of a layer on a plane in space, and the share of the pixel that it covers.
struct OnPlane {
    colour: vec4<f32>,
    share: f32,
}

fn on_quad(in: OnQuad) -> OnPlane {
    begin(in.position);
    let right = dpdx(in.at);
    let below = dpdy(in.at);
    let step = abs(right) + abs(below);
    var covered = 1.0;
    var inside = 0.0;
    var at = in.at;
    if has(HAS_CUT) {
        inside = cut_at(at);
        covered = share_inside(at, inside, right, below);
        if covered <= 0.0 {
            discard;
        }
        if has(FROM_INSIDE) && inside < INNER {
            at = away_from_rim(at, inside);
        }
    }
    let shaded = shade(at, step);
    // Within a shape that was found in the image itself, only black at the rim is discarded.
    if has(CUT_BLACK) && inside < INNER {
        let here = brightest(shaded);
        covered = min(covered, edge(here, 0.04, min(texels(layer.image, step) * 0.1, 0.08)));
        if covered > 0.0 {
            covered = min(covered, edge(bright_around(in.at, step, here), 0.09, 0.02));
        }
    }
    if shaded.a < 0.004 || covered <= 0.0 {
        discard;
    }
    return OnPlane(shaded, covered);
}

@fragment
fn fs_quad(in: OnQuad) -> Cut {
    let found = on_quad(in);
    return Cut(found.colour, coverage_mask(found.share));
}

// For devices without sample masks: draws a whole pixel or none.
@fragment
fn fs_quad_whole(in: OnQuad) -> @location(0) vec4<f32> {
    let found = on_quad(in);
    if found.share < 0.5 {
        discard;
    }
    return found.colour;
}
