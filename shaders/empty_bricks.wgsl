// Finds the empty bricks of a level set, in which φ does not cross 0, so that rays skip them. One thread owns
// one brick, including the bricks around the grid; a workgroup owns 4 × 4 × 4 bricks, which rays skip together
// if all are empty.

@group(0) @binding(0) var<uniform> size: vec4<u32>;
// φ in bricks: see pages.wgsl.
@group(0) @binding(1) var<storage, read> page_of: array<u32>;
@group(0) @binding(2) var<storage, read> pages: array<f32>;
// Number of bricks along each side that a ray may skip from a brick: 0, 1 or 4. The first entry lies before the
// first brick of the grid.
@group(0) @binding(3) var empty: texture_storage_3d<r32float, write>;

// First and last brick along each axis that is not empty.
@group(0) @binding(4) var<storage, read_write> extent: array<atomic<i32>, 6>;

var<workgroup> crossed: atomic<u32>;

// Everything beyond the grid is outside.
fn side_of(brick: vec3<i32>) -> u32 {
    if any(brick < vec3<i32>(0)) || any(brick > ((phi_voxels - 1) >> vec3<u32>(phi_shift))) {
        return OUTSIDE;
    }
    return entry_of(brick);
}

// Whether φ crosses 0 nowhere between the voxels of this brick and the first voxels of the next ones.
fn is_empty(brick: vec3<i32>) -> bool {
    let side = side_of(brick);
    // A brick that the end of the grid cuts has voxels beyond it.
    let ends = any(((brick + 1) << vec3<u32>(phi_shift)) > phi_voxels);
    var empty = side == OUTSIDE || (side == INSIDE && !ends);
    for (var i = 1; i < 8 && empty; i++) {
        empty = side_of(brick + vec3<i32>(i & 1, (i >> 1) & 1, i >> 2)) == side;
    }
    return empty;
}

@compute @workgroup_size(4, 4, 4)
fn empty_bricks(@builtin(global_invocation_id) id: vec3<u32>) {
    phi_voxels = vec3<i32>(size.xyz);
    phi_shift = size.w;
    let brick = vec3<i32>(id) - 1;
    let own = is_empty(brick);
    if !own {
        atomicStore(&crossed, 1u);
        for (var a = 0; a < 3; a++) {
            atomicMin(&extent[a], brick[a]);
            atomicMax(&extent[a + 3], brick[a]);
        }
    }
    workgroupBarrier();
    let all_of_them = atomicLoad(&crossed) == 0u;
    if all(id < textureDimensions(empty)) {
        let along = select(select(0.0, 1.0, own), 4.0, all_of_them);
        textureStore(empty, id, vec4<f32>(along));
    }
}
