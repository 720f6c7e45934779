// The local solvers of src/engine/solvers/eikonal/mod.rs, which compute a voxel's cost from its neighbours, with one
// octant or one voxel per thread.
#pragma once

#include "common.cuh"

// Local solvers on the corners of one octant; src/engine/solvers/eikonal/row.rs does the same for eight voxels at a
// time.
// Values of voxels in the mask that are not reached yet, and of voxels outside the mask.
constexpr float UNREACHED = 1e30f, OUTSIDE = 3e30f;
// Marks an end of an offset that is not read.
constexpr u32 SHUT = ~0u;

// One voxel: W and G as xx xy xz yy yz zz, and their determinants. 64 bytes.
struct Voxel {
    float w[6], g[6], det_w, det_g, unused[2];
};
static_assert(sizeof(Voxel) == 64, "as [f32; 16] in Rust");

__device__ __forceinline__ Voxel load_voxel(const float4* record) {
    float4 a = __ldg(record), b = __ldg(record + 1), c = __ldg(record + 2), d = __ldg(record + 3);
    return {{a.x, a.y, a.z, a.w, b.x, b.y}, {b.z, b.w, c.x, c.y, c.z, c.w}, d.x, d.y, {}};
}

// The minimum over the edge from the corner with value u to the one with u + d: a = |e_j - e_i|^2, b = <e_i, e_j -
// e_i>, s the square root of their Gram determinant, all in G. Negative radicands give NaN, which fails the guard.
__device__ __forceinline__ void edge(float& best, float u, float d, float a, float b, float s) {
    float q = sqrtf(fmaf(-d, d, a)), ds = d * s;
    float value = fmaf(fmaf(s, q, -d * b), 1.0f / a, u);
    bool inside = fmaf(b, q, ds) <= 0.0f & fmaf(a + b, q, ds) >= 0.0f;
    if (inside & value < best) best = value;
}

// The discriminant is computed from the cofactors of W, so that single precision suffices at any anisotropy.
__device__ __forceinline__ void tetrahedron(
    float& best, float u, float q2, float q3, float waa, float wab, float wac, float wbb, float wbc, float wcc,
    float kcc, float kbc, float kbb) {
    float disc = waa - fmaf(fmaf(kcc, q2, -kbc * q3), q2, kbb * q3 * q3);
    float va = sqrtf(disc);
    float q1 = (va - fmaf(wab, q2, wac * q3)) * (1.0f / waa);
    float vb = fmaf(wab, q1, fmaf(wbb, q2, wbc * q3));
    float vc = fmaf(wac, q1, fmaf(wbc, q2, wcc * q3));
    float value = u + q1;
    if ((va >= vb) & (vb >= vc) & (vc >= 0.0f) & (value < best)) best = value;
}

// A neighbour that shares only an edge or a corner is reached through one that shares a face, or not at all.
__device__ __forceinline__ float shut(float value, float through) {
    return through >= 2.0f * UNREACHED ? OUTSIDE : value;
}

// Hopf-Lax on the 7 neighbours of an octant; dx, dy, dz are the offsets in cells to those along the axes.
__device__ __forceinline__ float hopf_lax(
    const float* tile, int at, int dx, int dy, int dz, float s01, float s02, float s12, const Voxel& v) {
    float u0 = tile[at + dx], u1 = tile[at + dy], u2 = tile[at + dz];
    float d01 = shut(tile[at + dx + dy], fminf(u0, u1));
    float d02 = shut(tile[at + dx + dz], fminf(u0, u2));
    float d12 = shut(tile[at + dy + dz], fminf(u1, u2));
    float c = shut(tile[at + dx + dy + dz], fminf(d01, fminf(d02, d12)));
    float w00 = v.w[0], w11 = v.w[3], w22 = v.w[5], w01 = s01 * v.w[1], w02 = s02 * v.w[2], w12 = s12 * v.w[4];
    float g00 = v.g[0], g11 = v.g[3], g22 = v.g[5], g01 = s01 * v.g[1], g02 = s02 * v.g[2], g12 = s12 * v.g[4];
    float n01 = g00 + g11 + 2.0f * g01, n02 = g00 + g22 + 2.0f * g02, n12 = g11 + g22 + 2.0f * g12;
    float nc = n01 + g22 + 2.0f * (g02 + g12);
    float best = fminf(fminf(u0 + sqrtf(g00), u1 + sqrtf(g11)), u2 + sqrtf(g22));
    best = fminf(best, fminf(d01 + sqrtf(n01), d02 + sqrtf(n02)));
    best = fminf(best, fminf(d12 + sqrtf(n12), c + sqrtf(nc)));
    float p01 = sqrtf(v.det_g * w22), p02 = sqrtf(v.det_g * w11), p12 = sqrtf(v.det_g * w00);
    edge(best, u0, d01 - u0, g11, g01, p01);
    edge(best, u1, d01 - u1, g00, g01, p01);
    edge(best, u0, d02 - u0, g22, g02, p02);
    edge(best, u2, d02 - u2, g00, g02, p02);
    edge(best, u1, d12 - u1, g22, g12, p12);
    edge(best, u2, d12 - u2, g11, g12, p12);
    float c01 = sqrtf(v.det_g * (w00 + w11 - 2.0f * w01));
    float c02 = sqrtf(v.det_g * (w00 + w22 - 2.0f * w02));
    float c12 = sqrtf(v.det_g * (w11 + w22 - 2.0f * w12));
    edge(best, d01, c - d01, g22, g02 + g12, c01);
    edge(best, d02, c - d02, g11, g01 + g12, c02);
    edge(best, d12, c - d12, g00, g01 + g02, c12);
    edge(best, u2, c - u2, n01, g02 + g12, c01);
    edge(best, u1, c - u1, n02, g01 + g12, c02);
    edge(best, u0, c - u0, n12, g01 + g02, c12);
    float d = v.det_w;
    float k00 = d * g00, k11 = d * g11, k22 = d * g22;
    float k01 = 2.0f * d * g01, k02 = 2.0f * d * g02, k12 = 2.0f * d * g12;
    float q01 = d01 - c, q02 = d02 - c, q12 = d12 - c;
    tetrahedron(best, u0, u0 - d01, q01, w00, w01, w02, w11, w12, w22, k22, k12, k11);
    tetrahedron(best, u0, u0 - d02, q02, w00, w02, w01, w22, w12, w11, k11, k12, k22);
    tetrahedron(best, u1, u1 - d01, q01, w11, w01, w12, w00, w02, w22, k22, k02, k00);
    tetrahedron(best, u1, u1 - d12, q12, w11, w12, w01, w22, w02, w00, k00, k02, k22);
    tetrahedron(best, u2, u2 - d02, q02, w22, w02, w12, w00, w01, w11, k11, k01, k00);
    tetrahedron(best, u2, u2 - d12, q12, w22, w12, w02, w11, w01, w00, k00, k01, k11);
    return best;
}

// The upwind scheme on 3 of the 6 neighbours.
__device__ __forceinline__ float godunov(
    const float* tile, int at, int dx, int dy, int dz, float s01, float s02, float s12, const Voxel& v) {
    float u0 = tile[at + dx], u1 = tile[at + dy], u2 = tile[at + dz];
    float w00 = v.w[0], w11 = v.w[3], w22 = v.w[5], w01 = s01 * v.w[1], w02 = s02 * v.w[2], w12 = s12 * v.w[4];
    float g00 = v.g[0], g11 = v.g[3], g22 = v.g[5], g01 = s01 * v.g[1], g02 = s02 * v.g[2], g12 = s12 * v.g[4];
    float best = fminf(fminf(u0 + sqrtf(g00), u1 + sqrtf(g11)), u2 + sqrtf(g22));
    float n01 = g00 + g11 - 2.0f * g01, n02 = g00 + g22 - 2.0f * g02, n12 = g11 + g22 - 2.0f * g12;
    edge(best, u0, u1 - u0, n01, g01 - g00, sqrtf(v.det_g * w22));
    edge(best, u0, u2 - u0, n02, g02 - g00, sqrtf(v.det_g * w11));
    edge(best, u1, u2 - u1, n12, g12 - g11, sqrtf(v.det_g * w00));
    float d1 = u0 - u1, d2 = u0 - u2, d = v.det_w;
    float r0 = w00 + w01 + w02, r1 = w01 + w11 + w12, r2 = w02 + w12 + w22, a = r0 + r1 + r2;
    float mixed = d * n02 * d1 - 2.0f * d * (g00 + g12 - g01 - g02) * d2;
    float disc = a - fmaf(mixed, d1, d * n01 * d2 * d2);
    float q = (sqrtf(disc) - fmaf(r1, d1, r2 * d2)) * (1.0f / a);
    bool upwind = (fmaf(r0, q, fmaf(w01, d1, w02 * d2)) >= 0.0f) & (fmaf(r1, q, fmaf(w11, d1, w12 * d2)) >= 0.0f)
                & (fmaf(r2, q, fmaf(w12, d1, w22 * d2)) >= 0.0f);
    float value = u0 + q;
    if (upwind & (value < best)) best = value;
    return best;
}

// sum rho max(0, u - v)^2 = 1 by Newton's method from above, for the cells at the ends of six offsets.
__device__ __forceinline__ float selling(const float* u_field, const uint4* terms) {
    const uint4 first = __ldg(terms), second = __ldg(terms + 1);
    const float rho[6] = {__uint_as_float(first.x), __uint_as_float(first.y), __uint_as_float(first.z),
                          __uint_as_float(first.w), __uint_as_float(second.x), __uint_as_float(second.y)};
    const uint4 third = __ldg(terms + 2), fourth = __ldg(terms + 3), fifth = __ldg(terms + 4);
    const u32 ends[12] = {third.x, third.y, third.z, third.w, fourth.x, fourth.y, fourth.z, fourth.w,
                          fifth.x, fifth.y, fifth.z, fifth.w};
    float values[6];
#pragma unroll
    for (int k = 0; k < 6; ++k) {
        float a = ends[2 * k] == SHUT ? OUTSIDE : __ldcg(u_field + ends[2 * k]);
        float b = ends[2 * k + 1] == SHUT ? OUTSIDE : __ldcg(u_field + ends[2 * k + 1]);
        values[k] = fminf(a, b);
    }
    float low = UNREACHED, t = UNREACHED;
#pragma unroll
    for (int k = 0; k < 6; ++k)
        if (rho[k] > 0.0f) low = fminf(low, values[k]);
    if (!(low < UNREACHED)) return UNREACHED;
#pragma unroll
    for (int k = 0; k < 6; ++k)
        if (rho[k] > 0.0f) t = fminf(t, values[k] - low + rsqrtf(rho[k]));
#pragma unroll 1
    for (int step = 0; step < 8; ++step) {
        float slope = 0.0f, sum = -1.0f;
#pragma unroll
        for (int k = 0; k < 6; ++k) {
            float d = fmaxf(t - (values[k] - low), 0.0f), part = rho[k] * d;
            slope += part;
            sum = fmaf(part, d, sum);
        }
        float next = t - 0.5f * sum / slope;
        if (!(next < t * (1.0f - 2e-7f))) break;
        t = next;
    }
    return low + t;
}
