// Streamlines: lit ribbons that face the eye (3-D view), and capsules within a slab (slices).

struct Style {
    // 3-D: clip from world. Slices: pixel x, pixel y, distance from the plane / half the slab.
    from_world: mat4x4<f32>,
    // Eye (w = 1), or direction to the viewer (w = 0).
    eye: vec4<f32>,
    // Unit vector to the light; fraction of the haze's colour that the depth cue adds at the far end.
    light: vec4<f32>,
    // Dot product with (world, 1): 0 near, 1 far.
    depth_cue: vec4<f32>,
    // Colour of the haze and its strength.
    haze: vec4<f32>,
    // Width and height of the target, px; px per mm at clip w = 1; half width of lines, px.
    view: vec4<f32>,
    // Radius of tubes, mm (0 for lines); smallest half width, px; opacity; widening of ribbons on either
    // side, px.
    tube: vec4<f32>,
    // Fixed colour.
    colour: vec4<f32>,
    // Lower end of the range, and 1 / its width, of values or of their logarithms; least and largest visible value.
    range: vec4<f32>,
    // Dot product with (world, 1): from -1 to 1 within the visible slab; all zeros: everything is visible.
    slab: vec4<f32>,
    // Colouring (constants below); row of the colour map; number of slots that are ready; bits of the scale (constants
    // below).
    kind: vec4<u32>,
}

const BY_DIRECTION: u32 = 0u;
const BY_VALUE: u32 = 2u;
// The values are colours.
const PACKED: u32 = 3u;
// Bits of the scale: logarithms of the values; values outside the limits are hidden.
const LOGARITHMIC: u32 = 1u;
const LIMITED: u32 = 2u;

@group(0) @binding(0) var<uniform> style: Style;
// Slots in blocks (src/render/line_slots.rs): the low corner of a block and its step, mm, then three 16-bit
// numbers per slot. A slot is a point or the gap between two streamlines.
@group(0) @binding(1) var<storage, read> slots: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<f32>;
@group(0) @binding(3) var maps: texture_2d<f32>;
// Slices: the blocks with slots near the plane; each instance draws one block.
@group(0) @binding(4) var<storage, read> blocks: array<u32>;
@group(0) @binding(5) var<storage, read> clips: Clips;

// src/render/line_slots.rs prepends BLOCK, BLOCK_LEN and GAP.
// Smallest length in steps of a chord whose direction counts: shorter chords are rounded too coarsely.
const SHORTEST_CHORD: f32 = 16.0;

// The three numbers of a slot.
fn numbers_of(slot: u32) -> vec3<u32> {
    let first = (slot / BLOCK) * BLOCK_LEN + 4u + (((slot % BLOCK) * 3u) >> 1u);
    let packed = vec2<u32>(slots[first], slots[first + 1u]);
    let low = packed & vec2<u32>(0xffffu);
    let high = packed >> vec2<u32>(16u);
    return select(vec3<u32>(low.x, high.x, low.y), vec3<u32>(high.x, low.y, high.y),
        (slot & 1u) == 1u);
}

fn is_gap(slot: u32) -> bool {
    return numbers_of(slot).x == GAP;
}

fn step_of(slot: u32) -> f32 {
    return bitcast<f32>(slots[(slot / BLOCK) * BLOCK_LEN + 3u]);
}

// Position in world mm of a slot that is not a gap.
fn position_of(slot: u32) -> vec3<f32> {
    let block = (slot / BLOCK) * BLOCK_LEN;
    let low = bitcast<vec3<f32>>(vec3<u32>(slots[block], slots[block + 1u], slots[block + 2u]));
    return low + step_of(slot) * vec3<f32>(numbers_of(slot));
}

// The direction at a point: the tangent of the parabola through the point and its two neighbours.
// Every point is followed by a slot, possibly a gap.
fn tangent_of(slot: u32) -> vec3<f32> {
    let here = position_of(slot);
    var before = vec3<f32>(0.0);
    var after = vec3<f32>(0.0);
    if slot > 0u && !is_gap(slot - 1u) {
        before = here - position_of(slot - 1u);
    }
    if !is_gap(slot + 1u) {
        after = position_of(slot + 1u) - here;
    }
    let squares = vec2<f32>(dot(before, before), dot(after, after));
    let least = SHORTEST_CHORD * step_of(slot);
    let both = min(squares.x, squares.y) > least * least;
    let sum = select(before + after, before * squares.y + after * squares.x, both);
    let length = length(sum);
    return select(vec3<f32>(0.0, 0.0, 1.0), sum / max(length, 1e-37), length > 0.0);
}

fn colour_of(slot: u32, tangent: vec3<f32>) -> vec3<f32> {
    // No direction is this long; `begin` in slice.wgsl explains why this is tested.
    let kind = select(0u, style.kind.x, abs(tangent.x) < 2.0);
    if kind == BY_DIRECTION {
        return abs(tangent);
    }
    if kind == BY_VALUE || kind == PACKED {
        let value = values[slot];
        // Missing values are grey.
        if value < -3.0e38 {
            return vec3<f32>(0.5);
        }
        if kind == PACKED {
            let number = u32(value);
            let colour = vec3<u32>(number >> 16u, number >> 8u, number) & vec3<u32>(0xffu);
            return vec3<f32>(colour) / 255.0;
        }
        var scaled = value;
        if (style.kind.w & LOGARITHMIC) != 0u {
            // Values that have no logarithm lie below the range.
            scaled = log(max(value, 1e-37));
        }
        return map_colour(maps, style.kind.y, (scaled - style.range.x) * style.range.y);
    }
    return style.colour.rgb;
}

// The value that limits apply to, also where the colour is fixed.
fn limited_value(slot: u32) -> f32 {
    if (style.kind.w & LIMITED) == 0u {
        return 0.0;
    }
    return values[slot];
}

fn is_hidden(value: f32) -> bool {
    return (style.kind.w & LIMITED) != 0u && !(value >= style.range.z && value <= style.range.w);
}

struct Ribbon {
    // Must be identical to the last bit in both passes of transparent lines.
    @builtin(position) @invariant position: vec4<f32>,
    @location(0) colour: vec3<f32>,
    // Position across the ribbon, -1 to 1, or slightly beyond for transparent lines.
    @location(1) across: f32,
    // Normal = across * side + sqrt(1 - across²) * front: its dot products with the light and the half vector.
    @location(2) lighting: vec4<f32>,
    // How dark the border is.
    @location(3) @interpolate(flat) border: f32,
    // Position across the slab; depth, 0 near and 1 far; half width, px; value that limits apply to.
    @location(4) place: vec4<f32>,
    @location(5) world: vec3<f32>,
}

// A line across a ribbon at a slot.
struct Section {
    world: vec3<f32>,
    tangent: vec3<f32>,
    // Unit vectors: across the ribbon, out of it, and to the eye.
    side: vec3<f32>,
    front: vec3<f32>,
    to_eye: vec3<f32>,
    clip: vec4<f32>,
    // The ribbon's edges are at clip.xy ± offset.
    offset: vec2<f32>,
    // Half the width with and without the margin in which transparent lines fade, px.
    reach: f32,
    half_width: f32,
}

fn section_at(at: u32) -> Section {
    var out: Section;
    out.world = position_of(at);
    out.tangent = tangent_of(at);
    out.to_eye = normalize(style.eye.xyz - out.world * style.eye.w);
    var side = cross(out.tangent, out.to_eye);
    // Seen end-on, any side will do.
    side = select(cross(style.light.xyz, out.to_eye), side, dot(side, side) > 1e-8);
    out.side = normalize(side);
    out.front = normalize(cross(out.side, out.tangent));

    out.clip = style.from_world * vec4<f32>(out.world, 1.0);
    let moved = style.from_world * vec4<f32>(out.side, 0.0);
    // Direction of the side on the screen: derivative of xy / w.
    var screen = (moved.xy * out.clip.w - out.clip.xy * moved.w) * style.view.xy;
    screen = screen / max(length(screen), 1e-20);
    let pixels_per_mm = style.view.z / max(abs(out.clip.w), 1e-6);
    out.half_width = select(style.view.w, max(style.tube.x * pixels_per_mm, style.tube.y),
        style.tube.x > 0.0);
    out.reach = out.half_width + style.tube.w;
    out.offset = screen * out.reach * 2.0 / style.view.xy * out.clip.w;
    return out;
}

// The edge of a ribbon on one side (-1 or 1) of a slot.
fn ribbon_edge(at: u32, section: Section, sign: f32) -> Ribbon {
    let half_vector = normalize(style.light.xyz + section.to_eye);
    let cue = clamp(dot(style.depth_cue, vec4<f32>(section.world, 1.0)), 0.0, 1.0);
    var out: Ribbon;
    out.position = vec4<f32>(section.clip.xy + section.offset * sign, section.clip.zw);
    // Haze is mixed in before the light, to keep the fragment shader cheap.
    out.colour = mix(colour_of(at, section.tangent), style.haze.rgb, cue * style.haze.w);
    out.across = sign * section.reach / section.half_width;
    out.lighting = vec4<f32>(dot(section.side, style.light.xyz), dot(section.front, style.light.xyz),
        dot(section.side, half_vector), dot(section.front, half_vector));
    out.border = smoothstep(0.8, 2.2, section.half_width);
    out.place = vec4<f32>(dot(style.slab, vec4<f32>(section.world, 1.0)), cue, section.half_width,
        limited_value(at));
    out.world = section.world;
    return out;
}

// A triangle strip: two vertices per slot. At a gap, the first repeats the vertex before and the second
// anticipates the one after, so that triangles across the gap have no area.
@vertex
fn vs_ribbon(@builtin(vertex_index) index: u32) -> Ribbon {
    var at = index >> 1u;
    var sign = f32(index & 1u) * 2.0 - 1.0;
    if is_gap(at) {
        at = select(at + 1u, at - 1u, sign < 0.0);
        sign = -sign;
    }
    return ribbon_edge(at, section_at(at), sign);
}

fn lit(in: Ribbon) -> vec3<f32> {
    let s = clamp(in.across, -1.0, 1.0);
    let c = sqrt(1.0 - s * s);
    let diffuse = max(s * in.lighting.x + c * in.lighting.y, 0.0);
    let shine = max(s * in.lighting.z + c * in.lighting.w, 0.0);
    // A colour that encodes a value is compared with a scale, so it nearly keeps its lightness.
    let by_value = style.kind.x == BY_VALUE;
    let light = select(vec3<f32>(0.32, 0.80, 0.22), vec3<f32>(0.84, 0.22, 0.05), by_value);
    var colour = in.colour * (light.x + light.y * diffuse) + light.z * pow(shine, 36.0);
    // A dark border separates neighbours of the same colour.
    colour *= 1.0 - in.border * select(0.72, 0.36, by_value) * smoothstep(0.62, 1.0, abs(s));
    return mix(clamp(colour, vec3<f32>(0.0), vec3<f32>(1.0)), style.haze.rgb, style.light.w * in.place.y);
}

@fragment
fn fs_ribbon(in: Ribbon) -> @location(0) vec4<f32> {
    return vec4<f32>(lit(in), style.tube.z);
}

fn is_cut(across_slab: f32, value: f32, world: vec3<f32>) -> bool {
    return abs(across_slab) > 1.0 || is_hidden(value) || is_clipped(world);
}

// Ribbons cut to the slab, by clips and to the limits of the values. A separate entry point, because `discard` moves the
// depth test after the shader.
@fragment
fn fs_ribbon_cut(in: Ribbon) -> @location(0) vec4<f32> {
    if is_cut(in.place.x, in.place.w, in.world) {
        discard;
    }
    return vec4<f32>(lit(in), style.tube.z);
}

// See src/render/transparency.rs.
struct Transparency {
    // Colour × opacity × weight, and opacity × weight: summed.
    @location(0) sum: vec4<f32>,
    // Opacity; the blend multiplies the transmittances.
    @location(1) left: f32,
    // Depth × opacity × weight: summed.
    @location(2) depth: f32,
}

fn transparency(in: Ribbon) -> Transparency {
    let covered = clamp((1.0 - abs(in.across)) * in.place.z + 0.5, 0.0, 1.0);
    let opacity = style.tube.z * covered;
    let weight = opacity * exp2(4.0 - 12.0 * in.place.y);
    var out: Transparency;
    out.sum = vec4<f32>(clamp(lit(in), vec3<f32>(0.0), vec3<f32>(1.0)), 1.0) * weight;
    out.left = opacity;
    out.depth = weight * in.place.y;
    return out;
}

@fragment
fn fs_transparent(in: Ribbon) -> Transparency {
    return transparency(in);
}

@fragment
fn fs_transparent_cut(in: Ribbon) -> Transparency {
    if is_cut(in.place.x, in.place.w, in.world) {
        discard;
    }
    return transparency(in);
}

struct Capsule {
    @builtin(position) position: vec4<f32>,
    @location(0) colour: vec3<f32>,
    // Position along the segment from its start, and across it, px.
    @location(1) local: vec2<f32>,
    // Length of the segment, px.
    @location(2) @interpolate(flat) run: f32,
    // Value that limits apply to.
    @location(3) value: f32,
}

// Two triangles per segment, cut to the slab; none if the segment lies outside it.
@vertex
fn vs_capsule(
    @builtin(vertex_index) index: u32,
    @builtin(instance_index) instance: u32,
) -> Capsule {
    var out: Capsule;
    out.position = vec4<f32>(2.0, 2.0, 2.0, 1.0);
    let at = blocks[instance] * BLOCK + index / 6u;
    // The last block may be partly filled.
    if at + 1u >= style.kind.z {
        return out;
    }
    if is_gap(at) || is_gap(at + 1u) {
        return out;
    }
    let start = (style.from_world * vec4<f32>(position_of(at), 1.0)).xyz;
    let end = (style.from_world * vec4<f32>(position_of(at + 1u), 1.0)).xyz;
    if min(start.z, end.z) > 1.0 || max(start.z, end.z) < -1.0 {
        return out;
    }
    // Where the segment enters and leaves the slab.
    let rise = end.z - start.z;
    var span = vec2<f32>(0.0, 1.0);
    if abs(rise) > 1e-6 {
        let crossings = (vec2<f32>(-1.0, 1.0) - start.z) / rise;
        span = clamp(vec2<f32>(min(crossings.x, crossings.y), max(crossings.x, crossings.y)),
            vec2<f32>(0.0), vec2<f32>(1.0));
    }
    let from_px = mix(start.xy, end.xy, span.x);
    let to_px = mix(start.xy, end.xy, span.y);
    let run = distance(from_px, to_px);
    let along = select(vec2<f32>(1.0, 0.0), (to_px - from_px) / max(run, 1e-6), run > 1e-4);
    let across = vec2<f32>(-along.y, along.x);
    // Corners 0 1 2, 2 1 3 of the box around the capsule, one pixel larger for the soft edge.
    let corner = array<u32, 6>(0u, 1u, 2u, 2u, 1u, 3u)[index % 6u];
    let at_end = (corner & 1u) == 1u;
    let reach = style.view.w + 1.0;
    // Free ends are round. Where a streamline continues, the cap is just large enough to close the joint:
    // a whole cap would cover the colour of the neighbour.
    let goes_on = select(span.x == 0.0 && at > 0u && !is_gap(at - 1u),
        span.y == 1.0 && at + 2u < style.kind.z && !is_gap(at + 2u), at_end);
    let cap = select(reach, 0.35 * style.view.w + 0.5, goes_on);
    let local = vec2<f32>(
        select(-cap, run + cap, at_end),
        select(-reach, reach, (corner & 2u) == 2u),
    );
    let pixel = from_px + along * local.x + across * local.y + 0.5;
    out.position = vec4<f32>(pixel.x / style.view.x * 2.0 - 1.0, 1.0 - pixel.y / style.view.y * 2.0,
        0.0, 1.0);
    let share = span.x + (span.y - span.x) * clamp(local.x / max(run, 1e-3), -1.0, 2.0);
    out.colour = mix(colour_of(at, tangent_of(at)), colour_of(at + 1u, tangent_of(at + 1u)), share);
    out.value = mix(limited_value(at), limited_value(at + 1u), clamp(share, 0.0, 1.0));
    out.local = local;
    out.run = run;
    return out;
}

@fragment
fn fs_capsule(in: Capsule) -> @location(0) vec4<f32> {
    let beyond = in.local.x - clamp(in.local.x, 0.0, in.run);
    let off = length(vec2<f32>(beyond, in.local.y));
    let half_width = style.view.w;
    let alpha = clamp(half_width + 0.5 - off, 0.0, 1.0);
    if alpha <= 0.0 || is_hidden(in.value) {
        discard;
    }
    let border = smoothstep(0.8, 2.2, half_width) * 0.45
        * smoothstep(0.55, 1.0, abs(in.local.y) / max(half_width, 0.5));
    let colour = clamp(in.colour, vec3<f32>(0.0), vec3<f32>(1.0));
    return vec4<f32>(colour * (1.0 - border), alpha * style.tube.z);
}
