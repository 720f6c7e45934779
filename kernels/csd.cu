// Spherical deconvolution with hard non-negativity: src/engine/solvers/csd/cuda.rs.
#include "csd.cuh"

constexpr float STEP = 0.98f, START = 0.003f, START_FIBRES = 0.5f, START_OTHER = 0.1f;
constexpr int PROJECTED = 48;

// C'y: the sums of 48 unknowns for each voxel. `samples[volume][voxel]`, `rows[volume][padded]`, `g[unknown][voxel]`.
extern "C" __global__ void __launch_bounds__(128) csd_project(const float *samples, const float *rows, u32 volumes, u32 voxels,
                                                              u32 padded, float *g) {
    u32 voxel = thread_index(), first = blockIdx.y * PROJECTED;
    if (voxel >= voxels) return;
    float sum[PROJECTED] = {};
    for (u32 v = 0; v < volumes; v++) {
        float sample = samples[(u64)v * voxels + voxel];
        const float4 *row = (const float4 *)(rows + v * padded + first);
#pragma unroll
        for (int k = 0; k < PROJECTED / 4; k++) {
            float4 a = __ldg(row + k);
            sum[4 * k] = fmaf(a.x, sample, sum[4 * k]);
            sum[4 * k + 1] = fmaf(a.y, sample, sum[4 * k + 1]);
            sum[4 * k + 2] = fmaf(a.z, sample, sum[4 * k + 2]);
            sum[4 * k + 3] = fmaf(a.w, sample, sum[4 * k + 3]);
        }
    }
#pragma unroll
    for (int k = 0; k < PROJECTED; k++) g[(u64)(first + k) * voxels + voxel] = sum[k];
}

// What a launch reads and writes.
struct CsdJob {
    // `Csd::AT`, `ROWS`, `MOMENT_ROWS`, `NORMAL`.
    const float *tables;
    // First term and number of terms of each element of a bundle.
    const uint2 *bundles;
    // Place in the matrix, and H there.
    const uint2 *elements;
    // Moment and coefficient.
    const uint2 *terms;
    const float *g;
    float *x;
    float *gap;
    u32 bundle_count, voxels, tissues, iterations;
    float rest;
    u32 unused;
};
static_assert(sizeof(CsdJob) == 80, "as in cuda.rs");

template <int ORDER, int VOXELS> __device__ __forceinline__ void csd_fit(const CsdJob &job) {
    using C = Csd<ORDER, VOXELS>;
    extern __shared__ float4 raw[];
    typename C::Shared &s = *(typename C::Shared *)raw;
    const int thread = threadIdx.x, warp = thread >> 5;
    const u32 first = blockIdx.x * VOXELS, tissues = job.tissues;
    const float *tables = job.tables;
    const bool has_tissue = thread < (int)tissues * VOXELS;
    const int tissue = thread / VOXELS, tissue_slot = thread % VOXELS, slot = thread % C::FOURS * 4;
    const float share = 1.0f / (float)(4 * C::DIRECTIONS + tissues);
    for (int k = thread; k < C::PADDED * VOXELS; k += C::THREADS) {
        int row = k / VOXELS, v = k % VOXELS;
        s.g[k] = job.g[(u64)row * job.voxels + min(first + v, job.voxels - 1)];
        s.x[k] = row == 0 ? START_FIBRES : row >= C::FIBRE && row < C::FIBRE + (int)tissues ? START_OTHER : 0.0f;
    }
    __syncthreads();
    if (thread < VOXELS) {
        float square = 0.0f;
        for (int k = 0; k < C::PADDED; k++) square = fmaf(s.g[k * VOXELS + thread], s.g[k * VOXELS + thread], square);
        s.size[thread] = square > 0.0f ? sqrtf(square) : 1.0f;
        s.broken[thread] = 0;
    }
    __syncthreads();
    for (int k = thread; k < C::PADDED * VOXELS; k += C::THREADS) s.g[k] = s.g[k] / s.size[k % VOXELS];
    float sl[4][4], la[4][4], w[4][4];
    C::values(tables + C::AT, s.x, sl);
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int k = 0; k < 4; k++) la[i][k] = START / sl[i][k];
    // Value and multiplier of a tissue's amount.
    float amount = START_OTHER, multiplier = START / START_OTHER, change = 0.0f;
    for (u32 iteration = 0;; iteration++) {
        // D and the gap.
        float sum[4] = {};
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                sum[k] = fmaf(sl[i][k], la[i][k], sum[k]);
                w[i][k] = la[i][k] / sl[i][k];
            }
        C::store_parts(s.parts, w);
        C::template reduce<false>(s.sums, sum);
        if (has_tissue) {
            s.sums[(C::WARPS + tissue) * VOXELS + tissue_slot] = amount * multiplier;
            s.d[tissue * VOXELS + tissue_slot] = multiplier / amount;
        }
        __syncthreads();
        bool active = false;
        if (thread < VOXELS) {
            float gap = C::template total<false>(s.sums, thread, tissues) * share;
            s.gap[thread] = gap;
            active = gap > job.rest && !s.broken[thread];
        }
        if (!__syncthreads_or(active) || iteration == job.iterations) break;
        C::template project<C::PADDED / 4, C::PADDED, 1, C::PADDED>(tables + C::NORMAL, s.x,
                                                                    typename C::PutResidual{s.residual, s.g});
        C::template project<C::MOMENTS, C::FIRST_MOMENTS, C::OTHER_MOMENTS, C::DIRECTIONS>(
            tables + C::MOMENT_ROWS, s.parts, typename C::PutMoments{s.parts});
        if (has_tissue) s.parts[(4 * C::MOMENTS + tissue) * VOXELS + tissue_slot] = s.d[tissue * VOXELS + tissue_slot];
        __syncthreads();
        C::assemble(s.matrix, s.parts, job.bundles, job.bundle_count, job.elements, job.terms);
        __syncthreads();
        // The matrix and the place of these lanes; a warp has two.
        int part = (thread & 31) / C::LANES;
        int number = warp / C::APART * 2 * C::APART + warp % C::APART + C::APART * part;
        int column = C::slot_of(number);
        // The factorisation needs the registers.
#pragma unroll
        for (int i = 0; i < 4; i++) C::four(s.parts + 4 * (i * C::THREADS + thread)) = make_float4(la[i][0], la[i][1], la[i][2], la[i][3]);
        if (warp < C::FACTORS) {
            bool good = C::factorise(s.matrix + number * C::MATRIX);
            if (thread % C::LANES == 0) s.good[column] = good;
        }
        float largest[4], next[4][4], target[4], move = 0.0f;
        // The predictor, then the corrector: one loop, because of the instruction cache.
#pragma unroll 1
        for (int pass = 0; pass < 2; pass++) {
            if (warp < C::FACTORS) {
                float square = C::solve(s.matrix + number * C::MATRIX, s.residual + column, s.step + column);
                // False for NaN, too; a step of this size is one of a singular matrix.
                if (pass == 1 && thread % C::LANES == 0) s.good[column] = s.good[column] && square < 1e12f;
            }
            __syncthreads();
            C::values(tables + C::AT, s.step, next);
            if (pass == 0) {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    float4 v = C::four(s.parts + 4 * (i * C::THREADS + thread));
                    la[i][0] = v.x, la[i][1] = v.y, la[i][2] = v.z, la[i][3] = v.w;
                }
                // Predictor: w is the relative change of s.
                largest[0] = largest[1] = largest[2] = largest[3] = 0.0f;
                sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int k = 0; k < 4; k++) {
                        float r = next[i][k] / sl[i][k];
                        w[i][k] = r;
                        largest[k] = fmaxf(largest[k], fmaxf(-r, 1.0f + r));
                        sum[k] = fmaf(sl[i][k] * la[i][k], fmaf(r, r, r), sum[k]);
                    }
                C::template reduce<true>(s.largest, largest);
                C::template reduce<false>(s.sums, sum);
                if (has_tissue) {
                    change = s.step[(C::FIBRE + tissue) * VOXELS + tissue_slot] / amount;
                    s.largest[(C::WARPS + tissue) * VOXELS + tissue_slot] = fmaxf(-change, 1.0f + change);
                    s.sums[(C::WARPS + tissue) * VOXELS + tissue_slot] = amount * multiplier * fmaf(change, change, change);
                }
                __syncthreads();
                if (thread < VOXELS) {
                    float length = 1.0f / C::template total<true>(s.largest, thread, tissues), gap = s.gap[thread];
                    float second = C::template total<false>(s.sums, thread, tissues) * share;
                    // (1 + a w)(1 - a (1 + w)) = 1 - a - a^2 (w + w^2), weighted by la s.
                    float ratio = fmaxf(((1.0f - length) * gap - length * length * second) / gap, 0.0f);
                    s.target[thread] = ratio * ratio * ratio * gap;
                }
                __syncthreads();
                float4 t = C::four(s.target + slot);
                target[0] = t.x, target[1] = t.y, target[2] = t.z, target[3] = t.w;
                {
                    float q[4][4];
#pragma unroll
                    for (int i = 0; i < 4; i++)
#pragma unroll
                        for (int k = 0; k < 4; k++) {
                            float r = w[i][k];
                            q[i][k] = fmaf(la[i][k], fmaf(r, r, r), target[k] / sl[i][k]);
                        }
                    C::store_parts(s.parts, q);
                }
                if (has_tissue)
                    s.residual[(C::FIBRE + tissue) * VOXELS + tissue_slot] +=
                        fmaf(multiplier, fmaf(change, change, change), s.target[tissue_slot] / amount);
                __syncthreads();
                C::template project<C::GROUPS, C::FIRST_GROUPS, C::OTHER_GROUPS, C::DIRECTIONS>(
                    tables + C::ROWS, s.parts, typename C::AddCoefficients{s.residual});
                __syncthreads();
            } else {
                // Corrector: w becomes the relative decrease of la.
                largest[0] = largest[1] = largest[2] = largest[3] = 0.0f;
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int k = 0; k < 4; k++) {
                        float r = w[i][k], move = next[i][k] / sl[i][k];
                        float dual = 1.0f + move - (target[k] / (sl[i][k] * la[i][k]) + fmaf(r, r, r));
                        next[i][k] = move;
                        w[i][k] = dual;
                        largest[k] = fmaxf(largest[k], fmaxf(dual, -move));
                    }
                C::template reduce<true>(s.largest, largest);
                if (has_tissue) {
                    move = s.step[(C::FIBRE + tissue) * VOXELS + tissue_slot] / amount;
                    change = 1.0f + move - (s.target[tissue_slot] / (amount * multiplier) + fmaf(change, change, change));
                    s.largest[(C::WARPS + tissue) * VOXELS + tissue_slot] = fmaxf(change, -move);
                }
                __syncthreads();
                if (thread < VOXELS) {
                    float all = C::template total<true>(s.largest, thread, tissues);
                    bool is_active = s.gap[thread] > job.rest && !s.broken[thread];
                    // 0 for voxels that keep their values.
                    s.length[thread] = is_active && s.good[thread] ? STEP / fmaxf(all, STEP) : 0.0f;
                    if (is_active && !s.good[thread]) s.broken[thread] = 1;
                }
            }
        }
        __syncthreads();
        const float4 t = C::four(s.length + slot);
        const float length[4] = {t.x, t.y, t.z, t.w};
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (length[k] > 0.0f) {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    sl[i][k] *= fmaf(length[k], next[i][k], 1.0f);
                    la[i][k] *= fmaf(-length[k], w[i][k], 1.0f);
                }
            }
        if (has_tissue && s.length[tissue_slot] > 0.0f) {
            amount *= fmaf(s.length[tissue_slot], move, 1.0f);
            multiplier *= fmaf(-s.length[tissue_slot], change, 1.0f);
        }
        for (int k = thread; k < C::PADDED * VOXELS; k += C::THREADS) {
            float l = s.length[k % VOXELS];
            if (l > 0.0f) s.x[k] = fmaf(l, s.step[k], s.x[k]);
        }
    }
    for (int k = thread; k < (C::FIBRE + (int)tissues) * VOXELS; k += C::THREADS) {
        u32 voxel = first + k % VOXELS;
        if (voxel < job.voxels) job.x[(u64)(k / VOXELS) * job.voxels + voxel] = s.x[k] * s.size[k % VOXELS];
    }
    if (thread < VOXELS && first + thread < job.voxels) job.gap[first + thread] = s.gap[thread];
}

extern "C" __global__ void __launch_bounds__(160, 2) csd_fit_8_8(CsdJob job) { csd_fit<8, 8>(job); }
extern "C" __global__ void __launch_bounds__(256, 1) csd_fit_12_8(CsdJob job) { csd_fit<12, 8>(job); }
extern "C" __global__ void __launch_bounds__(128, 1) csd_fit_12_4(CsdJob job) { csd_fit<12, 4>(job); }
