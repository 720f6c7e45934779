// Part of tensor_fit.cu: quantities of one tensor, with the operations of tensor_fit/maps.rs, shape_maps.rs and eigen.rs in
// their order.
#pragma once
#include "common.cuh"

// Smallest norm of a deviator with a mode, in units of the trace.
constexpr float MIN_DEVIATOR = 1e-6f;

// Eigenvalues of the matrix xx xy xz yy yz zz in any order, and their eigenvectors, as `diagonalised` in
// tensor_fit/eigen.rs.
struct Eigen {
    float value[3];
    float vector[3][3];

    template <int P, int Q, int R> __device__ __forceinline__ void rotate(float (&off)[3]) {
        const float apq = off[R], half = __fmul_rn(value[Q] - value[P], 0.5f);
        const float root = __fsqrt_rn(fmaf(half, half, __fmul_rn(apq, apq)));
        const float size = fabsf(half) + root + 1.17549435e-38f;
        const float t = __fmul_rn(__fdiv_rn(apq, size), copysignf(1.0f, half));
        const float c = __frcp_rn(__fsqrt_rn(fmaf(t, t, 1.0f))), s = __fmul_rn(t, c);
        value[P] = fmaf(-t, apq, value[P]);
        value[Q] = fmaf(t, apq, value[Q]);
        const float rp = off[Q], rq = off[P];
        off[R] = 0;
        off[Q] = fmaf(-s, rq, __fmul_rn(c, rp));
        off[P] = fmaf(s, rp, __fmul_rn(c, rq));
#pragma unroll
        for (int k = 0; k < 3; k++) {
            const float vp = vector[P][k], vq = vector[Q][k];
            vector[P][k] = fmaf(-s, vq, __fmul_rn(c, vp));
            vector[Q][k] = fmaf(s, vp, __fmul_rn(c, vq));
        }
    }

    __device__ __forceinline__ explicit Eigen(const float (&d)[6]) {
        value[0] = d[0], value[1] = d[3], value[2] = d[5];
        float off[3] = {d[4], d[2], d[1]};
#pragma unroll
        for (int p = 0; p < 3; p++)
#pragma unroll
            for (int k = 0; k < 3; k++) vector[p][k] = p == k ? 1.0f : 0.0f;
#pragma unroll 1
        for (int sweep = 0; sweep < 4; sweep++) {
            rotate<0, 1, 2>(off);
            rotate<0, 2, 1>(off);
            rotate<1, 2, 0>(off);
        }
    }
};

// A tensor in units of its trace, as `Normalised` in tensor_fit/maps.rs.
struct Normalised {
    float trace, d[6], third, anisotropic, whole, fa;

    __device__ __forceinline__ static float squares(float a, float b, float c, float off) {
        return fmaf(a, a, fmaf(b, b, fmaf(c, c, off)));
    }

    __device__ __forceinline__ explicit Normalised(const float *tensor) {
        const float4 a = ((const float4 *)tensor)[0], b = ((const float4 *)tensor)[1];
        const float given[6] = {a.x, a.y, a.z, a.w, b.x, b.y};
        trace = given[0] + given[3] + given[5];
        const float unit = trace > 0.0f ? __frcp_rn(trace) : 0.0f;
#pragma unroll
        for (int k = 0; k < 6; k++) d[k] = __fmul_rn(given[k], unit);
        const float off = __fmul_rn(fmaf(d[1], d[1], fmaf(d[2], d[2], __fmul_rn(d[4], d[4]))), 2.0f);
        third = __fmul_rn(__fadd_rn(__fadd_rn(d[0], d[3]), d[5]), 1.0f / 3.0f);
        anisotropic = squares(d[0] - third, d[3] - third, d[5] - third, off);
        whole = squares(d[0], d[3], d[5], off);
        const float ratio = whole > 0.0f ? __fdiv_rn(__fmul_rn(1.5f, anisotropic), whole) : 0.0f;
        const float f = __fsqrt_rn(ratio);
        fa = f < 1.0f ? f : 1.0f;
    }
};

// FA, MD, AD, RD, colours and direction by voxel, in this order.
__device__ __forceinline__ void measure(const Normalised &tensor, const Eigen &eigen, float (&out)[10]) {
    float largest = eigen.value[0], v[3] = {eigen.vector[0][0], eigen.vector[0][1], eigen.vector[0][2]};
#pragma unroll
    for (int p = 1; p < 3; p++) {
        const bool is_larger = eigen.value[p] > largest;
        largest = is_larger ? eigen.value[p] : largest;
#pragma unroll
        for (int k = 0; k < 3; k++) v[k] = is_larger ? eigen.vector[p][k] : v[k];
    }
    const float axial = __fmul_rn(largest, tensor.trace);
    out[0] = tensor.fa;
    out[1] = __fmul_rn(tensor.trace, 1.0f / 3.0f);
    out[2] = axial;
    out[3] = __fmul_rn(tensor.trace - axial, 0.5f);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        out[7 + k] = tensor.trace > 0.0f ? v[k] : 0.0f;
        out[4 + k] = __fmul_rn(fabsf(out[7 + k]), tensor.fa);
    }
}

// Mode, cl, cp, cs, norm and FA, as in tensor_fit/shape_maps.rs.
__device__ __forceinline__ void measure_shape(const Normalised &tensor, const Eigen &eigen, float (&out)[6]) {
    const float xy = tensor.d[1], xz = tensor.d[2], yz = tensor.d[4];
    const float a = tensor.d[0] - tensor.third, b = tensor.d[3] - tensor.third, c = tensor.d[5] - tensor.third;
    const float terms[3] = {__fmul_rn(a, fmaf(-yz, yz, __fmul_rn(b, c))), __fmul_rn(xy, fmaf(-xz, yz, __fmul_rn(xy, c))),
                            __fmul_rn(xz, fmaf(-xz, b, __fmul_rn(xy, yz)))};
    const float determinant = __fadd_rn(__fsub_rn(terms[0], terms[1]), terms[2]);
    const float norm = __fsqrt_rn(tensor.anisotropic);
    // The factor is 3 sqrt(6).
    const float mode = __fdiv_rn(__fmul_rn(7.348469f, determinant), __fmul_rn(tensor.anisotropic, norm));
    const float low = fminf(eigen.value[0], eigen.value[1]), high = fmaxf(eigen.value[0], eigen.value[1]);
    const float largest = fmaxf(high, eigen.value[2]), smallest = fminf(low, eigen.value[2]);
    const float middle = fmaxf(low, fminf(high, eigen.value[2]));
    const float unit = largest > 0.0f ? __frcp_rn(largest) : 0.0f;
    out[0] = norm > MIN_DEVIATOR ? fminf(fmaxf(mode, -1.0f), 1.0f) : 0.0f;
    out[1] = __fmul_rn(largest - middle, unit);
    out[2] = __fmul_rn(middle - smallest, unit);
    out[3] = __fmul_rn(smallest, unit);
    out[4] = __fmul_rn(__fsqrt_rn(tensor.whole), tensor.trace);
    out[5] = tensor.fa;
}
