// φ in bricks, as in the level-set solver: for each brick, a table says that the whole brick is outside or
// inside, or which page holds its voxels, x fastest. One voxel beyond the grid, φ has the value of the border
// with the sign of outside, which closes a surface that reaches the border
// (src/engine/solvers/level_set/surface.rs).
//
// A shader that includes this binds the table `page_of` and `pages`, and sets the private variables.

const OUTSIDE: u32 = 0u;
const INSIDE: u32 = 1u;

// Voxels along each axis.
var<private> phi_voxels: vec3<i32>;
// |φ| of bricks without a page.
var<private> phi_most: f32;
// A brick has 2^phi_shift voxels along each side.
var<private> phi_shift: u32;

// The table's entry for a brick of the grid.
fn entry_of(brick: vec3<i32>) -> u32 {
    let count = ((phi_voxels - 1) >> vec3<u32>(phi_shift)) + 1;
    return page_of[brick.x + count.x * (brick.y + count.y * brick.z)];
}

// Index of a voxel of the grid within its page.
fn place_of(voxel: vec3<i32>) -> u32 {
    let at = vec3<u32>(voxel) & vec3<u32>((1u << phi_shift) - 1u);
    return at.x + (at.y << phi_shift) + (at.z << (2u * phi_shift));
}

fn phi_of(voxel: vec3<i32>) -> f32 {
    let at = clamp(voxel, vec3<i32>(0), phi_voxels - 1);
    let entry = entry_of(at >> vec3<u32>(phi_shift));
    var value = select(-phi_most, phi_most, entry == INSIDE);
    if entry > INSIDE {
        value = pages[(entry << (3u * phi_shift)) + place_of(at)];
    }
    return select(-abs(value), value, all(at == voxel));
}

fn between(low: vec4<f32>, high: vec4<f32>, f: vec3<f32>) -> f32 {
    let by_z = mix(low, high, f.z);
    let by_y = mix(by_z.xy, by_z.zw, f.y);
    return mix(by_y.x, by_y.y, f.x);
}

// Linear interpolation between eight voxels, whichever bricks they are in.
fn phi_linear(voxel: vec3<f32>) -> f32 {
    let base = vec3<i32>(floor(voxel));
    let f = voxel - floor(voxel);
    let last = (base + 1) >> vec3<u32>(phi_shift);
    // Usually all are in one brick.
    if all(base >= vec3<i32>(0)) && all(base + 1 < phi_voxels)
        && all(last == (base >> vec3<u32>(phi_shift))) {
        let entry = entry_of(last);
        if entry <= INSIDE {
            return select(-phi_most, phi_most, entry == INSIDE);
        }
        let i = (entry << (3u * phi_shift)) + place_of(base);
        let y = 1u << phi_shift;
        let j = i + (1u << (2u * phi_shift));
        return between(
            vec4<f32>(pages[i], pages[i + 1u], pages[i + y], pages[i + y + 1u]),
            vec4<f32>(pages[j], pages[j + 1u], pages[j + y], pages[j + y + 1u]),
            f,
        );
    }
    let x = vec3<i32>(1, 0, 0);
    return between(
        vec4<f32>(phi_of(base), phi_of(base + x.xyy), phi_of(base + x.yxy), phi_of(base + x.xxy)),
        vec4<f32>(phi_of(base + x.yyx), phi_of(base + x.xyx), phi_of(base + x.yxx), phi_of(base + x.xxx)),
        f,
    );
}
