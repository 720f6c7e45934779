// Which bricks of a level set nothing crosses 0 in, so that rays pass over them. One thread owns one brick,
// those around the grid among them; a workgroup has 4 × 4 × 4 of them, which rays pass over at once where
// all are such.

@group(0) @binding(0) var<uniform> size: vec4<u32>;
// φ in bricks: see pages.wgsl.
@group(0) @binding(1) var<storage, read> page_of: array<u32>;
@group(0) @binding(2) var<storage, read> pages: array<f32>;
// Bricks along a side of what is passed over from a brick: 0, 1 or 4. The first is before the grid's first.
@group(0) @binding(3) var vacant: texture_storage_3d<r32float, write>;

// First and last brick along each axis that is not such.
@group(0) @binding(4) var<storage, read_write> extent: array<atomic<i32>, 6>;

var<workgroup> crossed: atomic<u32>;

// Beyond the grid all is outside.
fn side_of(brick: vec3<i32>) -> u32 {
    if any(brick < vec3<i32>(0)) || any(brick > ((phi_voxels - 1) >> vec3<u32>(phi_shift))) {
        return OUTSIDE;
    }
    return entry_of(brick);
}

// Whether nothing crosses 0 between its voxels, and the next bricks' first ones.
fn is_vacant(brick: vec3<i32>) -> bool {
    let side = side_of(brick);
    // A brick that is cut off by the grid's end has voxels beyond it.
    let ends = any(((brick + 1) << vec3<u32>(phi_shift)) > phi_voxels);
    var vacant = side == OUTSIDE || (side == INSIDE && !ends);
    for (var i = 1; i < 8 && vacant; i++) {
        vacant = side_of(brick + vec3<i32>(i & 1, (i >> 1) & 1, i >> 2)) == side;
    }
    return vacant;
}

@compute @workgroup_size(4, 4, 4)
fn vacant_bricks(@builtin(global_invocation_id) id: vec3<u32>) {
    phi_voxels = vec3<i32>(size.xyz);
    phi_shift = size.w;
    let brick = vec3<i32>(id) - 1;
    let own = is_vacant(brick);
    if !own {
        atomicStore(&crossed, 1u);
        for (var a = 0; a < 3; a++) {
            atomicMin(&extent[a], brick[a]);
            atomicMax(&extent[a + 3], brick[a]);
        }
    }
    workgroupBarrier();
    let all_of_them = atomicLoad(&crossed) == 0u;
    if all(id < textureDimensions(vacant)) {
        let along = select(select(0.0, 1.0, own), 4.0, all_of_them);
        textureStore(vacant, id, vec4<f32>(along));
    }
}
