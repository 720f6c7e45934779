// Colours of the streamlines that line_raster.wgsl found nearest.

@group(1) @binding(0) var<uniform> picture: Picture;
// Per sample: number of the slot where the segment starts, and the inverted bits of the depth.
@group(1) @binding(1) var<storage, read> nearest: array<vec2<u32>>;
@group(1) @binding(2) var<storage, read_write> colours: array<u32>;

// The segment's colour at a pixel, evaluated as by a rasteriser: at the centre of the pixel, in the plane of the triangle
// that covers one of its samples.
fn colour_at(at: u32, pixel: vec2<u32>, sample: vec2<f32>) -> u32 {
    let a = section_at(at);
    let b = section_at(at + 1u);
    let quad = quad_between(array(a.clip, b.clip), array(a.offset, b.offset));
    let triangles = triangles_of(quad);
    let corner = vec2<f32>(pixel) - quad.start;
    let centre = vec3<f32>(corner + 0.5, 1.0);
    // Weights of the start's left and right corners, and of the end's.
    var weights: vec4<f32>;
    if weights_in(triangles, corner + sample).z == 0.0 {
        let right = dot(triangles.start.first, centre);
        let end = dot(triangles.start.second, centre);
        weights = vec4<f32>(1.0 - right - end, right, end, 0.0);
    } else {
        let begin = dot(triangles.end.first, centre);
        let right = dot(triangles.end.second, centre);
        weights = vec4<f32>(0.0, begin, 1.0 - begin - right, right);
    }
    let shares = weights / quad.w.xxyy;
    let sum = shares.x + shares.y + shares.z + shares.w;
    let along = mix(quad.along.x, quad.along.y, (shares.z + shares.w) / sum);
    let start = ribbon_edge(at, a, 1.0);
    let end = ribbon_edge(at + 1u, b, 1.0);
    var ribbon = start;
    ribbon.across = dot(shares, vec4<f32>(-start.across, start.across, -end.across, end.across)) / sum;
    ribbon.colour = mix(start.colour, end.colour, along);
    ribbon.lighting = mix(start.lighting, end.lighting, along);
    ribbon.place = mix(start.place, end.place, along);
    return pack4x8unorm(vec4<f32>(lit(ribbon), 1.0));
}

@compute @workgroup_size(8, 8)
fn colour_lines(@builtin(global_invocation_id) pixel: vec3<u32>) {
    if any(pixel.xy >= picture.size.xy) {
        return;
    }
    let place = (pixel.y * picture.size.x + pixel.x) * picture.size.z;
    var last_number = 0u;
    var last_colour = 0u;
    for (var sample = 0u; sample < picture.size.z; sample++) {
        // The numbers of other streamlines wrap around and are too large.
        let number = nearest[place + sample].x;
        let at = number - picture.slots.z;
        if number == 0u || at < picture.slots.x || at >= picture.slots.y {
            continue;
        }
        if number != last_number {
            let within = select(vec2<f32>(0.5), SAMPLES_4[sample], picture.size.z > 1u);
            last_colour = colour_at(at, pixel.xy, within);
            last_number = number;
        }
        colours[place + sample] = last_colour;
    }
}
