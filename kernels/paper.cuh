// The papers' form (van Aart et al. 2011, eq. 3): D and the three derivatives of G = D⁻¹ interpolated as four fields
// that are constant during a step of the midpoint rule, as in src/engine/solvers/geodesic/paper.rs. One thread
// follows one half ray after the other: 168 registers, no spills, 56 loads of 16 bytes per step. H200: 6.7 G steps/s
// with a million rays, an eighth of the other form's; with 2048 rays issue slots 24 % busy.
#pragma once
#include "rays.cuh"

// A sample of the four fields, or an interpolation of them: xx xy xz yy yz zz, whether fitted, FA; ∂G along the three
// voxel axes, six numbers each; two unused.
struct Fields {
    float d[8];
    float slopes[3][6];
    float unused[2];
};
const int LOADS = 7;
static_assert(sizeof(Fields) == LOADS * 16, "seven loads");

// Linear interpolation at a position; a sample beyond the border is replaced by its neighbour.
__device__ __forceinline__ Fields fields_at(const Rules& rules, const float4* fields, f32x3 x) {
    int i = min(max(__float2int_rd(x.x), -1), rules.shape[0] - 1);
    int j = min(max(__float2int_rd(x.y), -1), rules.shape[1] - 1);
    int k = min(max(__float2int_rd(x.z), -1), rules.shape[2] - 1);
    Position at;
    at.u = x.x - (float)i, at.v = x.y - (float)j, at.w = x.z - (float)k;
    // Recomputed from its centre, the cell need not be kept in registers.
    at.middle = make(i + 0.5f, j + 0.5f, k + 0.5f);
    i = __float2int_rd(at.middle.x), j = __float2int_rd(at.middle.y), k = __float2int_rd(at.middle.z);
    Fields mixed;
    float* sums = (float*)&mixed;
#pragma unroll
    for (int n = 0; n < 4 * LOADS; n++) sums[n] = 0.0f;
#pragma unroll
    for (int c = 0; c < 8; c++) {
        const float4* from = fields + LOADS * (size_t)nearest(rules, i + (c & 1), j + (c >> 1 & 1), k + (c >> 2));
        float weight = corner_weight(c, at);
#pragma unroll
        for (int n = 0; n < LOADS; n++) {
            float4 v = __ldg(from + n);
            sums[4 * n] = fmaf(weight, v.x, sums[4 * n]), sums[4 * n + 1] = fmaf(weight, v.y, sums[4 * n + 1]);
            sums[4 * n + 2] = fmaf(weight, v.z, sums[4 * n + 2]), sums[4 * n + 3] = fmaf(weight, v.w, sums[4 * n + 3]);
        }
    }
    return mixed;
}

// x″ᶜ = −Γᶜₐᵦ vᵃ vᵇ = −Dᶜˢ (vᵃ ∂ₐGₛᵦ vᵇ − ½ vᵃ ∂ₛGₐᵦ vᵇ): the symbols of `christoffel` in paper.rs, contracted as
// they are needed.
__device__ __forceinline__ f32x3 acceleration(const Fields& here, f32x3 v) {
    f32x3 x = product(here.slopes[0], v), y = product(here.slopes[1], v), z = product(here.slopes[2], v);
    f32x3 lowered = v.x * x + v.y * y + v.z * z - 0.5f * make(dot(v, x), dot(v, y), dot(v, z));
    return -product(here.d, lowered);
}

// a b − c d, rounded once or twice at most (Kahan).
__device__ __forceinline__ float difference(float a, float b, float c, float d) {
    float cd = c * d;
    return fmaf(a, b, -cd) + fmaf(-c, d, cd);
}

// √(vᵀ D⁻¹ v).
__device__ __forceinline__ float riemannian(const float d[6], f32x3 v) {
    const float xx = d[0], xy = d[1], xz = d[2], yy = d[3], yz = d[4], zz = d[5];
    const float adjugate[6] = {difference(yy, zz, yz, yz), difference(xz, yz, xy, zz), difference(xy, yz, xz, yy),
                               difference(xx, zz, xz, xz), difference(xy, xz, xx, yz), difference(xx, yy, xy, xy)};
    float determinant = fmaf(xx, adjugate[0], difference(xy, adjugate[1], -xz, adjugate[2]));
    return sqrtf(dot(v, product(adjugate, v)) / determinant);
}

// The counterpart of `trace` in geodesic.cu; `cells` are the samples of the four fields. Steps have equal parameter.
extern "C" __global__ void __launch_bounds__(64, 6) geodesic_paper(RAY_ARGUMENTS) {
    __shared__ Seldom all_seldom[64];
    Seldom& seldom = all_seldom[threadIdx.x];
    const float h = rules.step_mm;
    const Rays rays = RAYS;
    for (u32 slot = rays.slot(rules, thread_index()); slot != NONE; slot = rays.slot(rules, take(queue, 1))) {
        Ray ray = begin(rules, rays, seldom, slot);
        // The velocity takes the place of p, and its length that of an unused value.
        f32x3 &v = ray.p, &before = ray.direction;
        float& length_mm = ray.per_mm;
        Fields here = fields_at(rules, cells, ray.x);
        if (ray.steps == 0) {
            // Length 1 mm at its start.
            v = product(here.d, ray.p), before = in_mm(rules, v);
            float per_mm = rsqrtf(dot(before, before));
            v = per_mm * v, before = per_mm * before, length_mm = 0.0f;
        }
        u32 reason = GO, target = NONE;
        do {
            f32x3 middle = v + (0.5f * h) * acceleration(here, v);
            f32x3 next = ray.x + h * middle, mm = in_mm(rules, middle);
            v = v + h * acceleration(here, middle);
            Step step = {ray.x, next, length_mm, fmaf(h, sqrtf(dot(mm, mm)), length_mm), ray.riemann,
                         fmaf(h, riemannian(here.d, middle), ray.riemann)};
            here = fields_at(rules, cells, next);
            // Tests are phrased so that NaN fails each; the last one that fails determines the reason.
            float mm2 = dot(mm, mm), cos = dot(before, mm) * rsqrtf(dot(before, before) * mm2);
            if (!(mm2 <= rules.leap)) reason = LEAP;
            if (!(cos >= rules.min_cos)) reason = ANGLE;
            if (!(step.riemann >= step.riemann_before)) reason = INDEFINITE;
            if (rules.min_fa >= 0.0f && !(here.d[FA] >= rules.min_fa)) reason = LOW_FA;
            if (!(here.d[INSIDE] >= 0.5f)) reason = LEFT_MASK;
            if (!in_volume(rules, next)) reason = LEFT_VOLUME;
            reason = advance(rules, rays, true, seldom, ray.steps, step, reason, target);
            ray.x = next, before = mm;
            length_mm = step.mm, ray.riemann = step.riemann;
        } while (reason == GO && ray.steps != rules.until);
        finish(rays, ray, seldom, length_mm, reason, target);
    }
}

// G of a sample; false where it has no tensor.
__device__ __forceinline__ bool metric(const Rules& rules, const void* records, u32 sample, double g[6]) {
    float record[8];
    all_numbers(rules, records, sample, record);
    double d[6];
    for (int n = 0; n < 6; n++) d[n] = record[n];
    double a = d[3] * d[5] - d[4] * d[4], b = d[2] * d[4] - d[1] * d[5], c = d[1] * d[4] - d[2] * d[3];
    double determinant = d[0] * a + d[1] * b + d[2] * c;
    g[0] = a / determinant, g[1] = b / determinant, g[2] = c / determinant;
    g[3] = (d[0] * d[5] - d[2] * d[2]) / determinant, g[4] = (d[1] * d[2] - d[0] * d[4]) / determinant;
    g[5] = (d[0] * d[3] - d[1] * d[1]) / determinant;
    return d[0] > 0.0;
}

// One thread handles a sample and computes its four fields: central differences of the samples' inverses, one-sided
// where a neighbour is missing.
extern "C" __global__ void geodesic_fields(Rules rules, const void* records, float4* fields) {
    u32 sample = thread_index(), nx = rules.shape[0], ny = rules.shape[1], nz = rules.shape[2];
    if (!(sample < nx * ny * nz)) return;
    const u32 at[3] = {sample % nx, sample / nx % ny, sample / (nx * ny)}, size[3] = {nx, ny, nz},
              stride[3] = {1, nx, nx * ny};
    Fields out;
    all_numbers(rules, records, sample, out.d);
    out.unused[0] = out.unused[1] = 0.0f;
    double here[6];
    bool known = metric(rules, records, sample, here);
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        double low[6], high[6];
        bool below = at[axis] > 0 && metric(rules, records, sample - stride[axis], low);
        bool above = at[axis] + 1 < size[axis] && metric(rules, records, sample + stride[axis], high);
        double width = (below ? 1.0 : 0.0) + (above ? 1.0 : 0.0);
        bool both = (below || known) && (above || known) && width > 0.0;
        for (int n = 0; n < 6; n++) {
            double change = (above ? high[n] : here[n]) - (below ? low[n] : here[n]);
            out.slopes[axis][n] = both ? (float)(change / width) : 0.0f;
        }
    }
    float4* to = fields + LOADS * (size_t)sample;
    for (int n = 0; n < LOADS; n++) to[n] = ((const float4*)&out)[n];
}
