// Regions: intersections with the segments of a ray or streamline. The rules are those of
// src/engine/solvers/curves/regions.rs.
#pragma once
#include "common.cuh"

const u32 NONE = 0xffffffffu;

// `KernelGate` in src/engine/solvers/curves/cuda/regions.rs: regions that cut or count, followed by the mask regions
// that confine rays.
struct Gate {
    u32 kind;    // 0 sphere, 1 box, 2 mask
    u32 effect;  // 0 target, 1 terminate, 2 include, 3 exclude
    u32 target;
    float radius;
    // A point outside these bounds cannot end a step that meets the region.
    float near_low[3], near_high[3];
    // Sphere: centre; box: corners.
    float low[3], high[3];
    // Mask: rows of the affine from world to voxel, shape, first byte.
    float voxel[12];
    u32 shape[3];
    u32 first;
};
static_assert(sizeof(Gate) == 32 * 4, "as in cuda.rs");

__device__ bool in_box(f32x3 x, const float* low, const float* high) {
    return x.x >= low[0] && x.y >= low[1] && x.z >= low[2] && x.x <= high[0] && x.y <= high[1] && x.z <= high[2];
}

// First t in 0..1 at which a segment enters a mask's voxels (Amanatides and Woo 1987); 2 if never.
__device__ float mask_entry(const Gate& gate, const unsigned char* bytes, f32x3 from, f32x3 along) {
    const float* m = gate.voxel;
    float start[3], way[3];
    int voxel[3];
    for (int a = 0; a < 3; a++) {
        // Voxel i covers i to i + 1 here.
        start[a] = m[4 * a] * from.x + m[4 * a + 1] * from.y + m[4 * a + 2] * from.z + m[4 * a + 3] + 0.5f;
        way[a] = m[4 * a] * along.x + m[4 * a + 1] * along.y + m[4 * a + 2] * along.z;
        // The exact voxel is irrelevant far from the grid.
        voxel[a] = (int)floorf(fminf(fmaxf(start[a], -1e9f), 1e9f));
    }
    float t = 0.0f;
    while (true) {
        bool in_grid = true;
        for (int a = 0; a < 3; a++) in_grid = in_grid && (u32)voxel[a] < gate.shape[a];
        if (in_grid && bytes[gate.first + voxel[0] + gate.shape[0] * (voxel[1] + gate.shape[1] * voxel[2])]) return t;
        float next = 2.0f;
        int axis = -1;
        for (int a = 0; a < 3; a++) {
            float wall = (float)(voxel[a] + (way[a] > 0.0f ? 1 : 0));
            float at = (wall - start[a]) / way[a];
            if (at >= 0.0f && at < next) next = at, axis = a;
        }
        if (!(next <= 1.0f) || axis < 0) return 2.0f;
        t = next;
        voxel[axis] += way[axis] < 0.0f ? -1 : 1;
    }
}

// First t in 0..1 at which a segment is in a region; 2 if never.
__device__ float entry(const Gate& gate, const unsigned char* bytes, f32x3 from, f32x3 to) {
    f32x3 along = to - from;
    if (gate.kind == 0) {
        f32x3 out = from - make(gate.low[0], gate.low[1], gate.low[2]);
        float c = dot(out, out) - gate.radius * gate.radius;
        if (c <= 0.0f) return 0.0f;
        float a = dot(along, along), b = dot(out, along), under = b * b - a * c;
        if (!(b < 0.0f && under >= 0.0f)) return 2.0f;
        float t = c / (sqrtf(under) - b);
        return t <= 1.0f ? t : 2.0f;
    }
    if (gate.kind == 1) {
        float enter = 0.0f, leave = 1.0f;
        const float a[3] = {from.x, from.y, from.z}, d[3] = {along.x, along.y, along.z};
        for (int i = 0; i < 3; i++) {
            if (d[i] == 0.0f) {
                if (a[i] < gate.low[i] || a[i] > gate.high[i]) return 2.0f;
                continue;
            }
            float t = (gate.low[i] - a[i]) / d[i], u = (gate.high[i] - a[i]) / d[i];
            enter = fmaxf(enter, fminf(t, u)), leave = fminf(leave, fmaxf(t, u));
        }
        return enter <= leave ? enter : 2.0f;
    }
    return mask_entry(gate, bytes, from, along);
}
