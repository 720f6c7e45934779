// Streamlines whose points are on the card, for kernels whose numbers equal those of the CPU: every operation is
// rounded by itself, so that the compiler joins none to a fused one.
#pragma once
#include "common.cuh"

// The largest finite number.
const float LARGEST = 3.40282347e38f;
// A fraction of a segment that no segment reaches.
const double NEVER = 1e300;

// `KernelLine` in src/engine/solvers/on_card/cuda/mod.rs: where a streamline's points are, and how many.
struct Line {
    const f32x3* points;
    u32 count;
    u32 unused;
};

struct f64x3 {
    double x, y, z;
};

__device__ __forceinline__ f64x3 widened(f32x3 p) { return {(double)p.x, (double)p.y, (double)p.z}; }
__device__ __forceinline__ f64x3 minus(f64x3 a, f64x3 b) {
    return {__dsub_rn(a.x, b.x), __dsub_rn(a.y, b.y), __dsub_rn(a.z, b.z)};
}
__device__ __forceinline__ double product(f64x3 a, f64x3 b) {
    return __dadd_rn(__dadd_rn(__dmul_rn(a.x, b.x), __dmul_rn(a.y, b.y)), __dmul_rn(a.z, b.z));
}
__device__ __forceinline__ bool is_finite(f32x3 p) {
    return fabsf(p.x) <= LARGEST && fabsf(p.y) <= LARGEST && fabsf(p.z) <= LARGEST;
}

// A coordinate of a vector after the linear part of a transform, whose first three columns are its factors.
__device__ __forceinline__ double turned(const double* columns, u32 axis, f64x3 p) {
    double sum = __dadd_rn(__dmul_rn(columns[axis], p.x), __dmul_rn(columns[3 + axis], p.y));
    return __dadd_rn(sum, __dmul_rn(columns[6 + axis], p.z));
}
// A coordinate of a point after a transform, whose fourth column is its offset.
__device__ __forceinline__ double transformed(const double* columns, u32 axis, f64x3 p) {
    return __dadd_rn(turned(columns, axis, p), columns[9 + axis]);
}
