// Spherical deconvolution with hard non-negativity: src/engine/solvers/csd/cuda.rs.
#include "csd.cuh"

constexpr float STEP = 0.99f, START = 5e-5f, START_FIBRES = 0.05f, START_OTHER = 0.05f, START_FLOOR = 0.1f;
// The value of the first harmonic.
constexpr float Y_00 = 0.28209479f;
constexpr int PROJECTED = 48;

// C'y, then the smooth linear fit: 48 sums for each voxel. `samples[volume][voxel]`, `rows[volume][sum]`,
// `sums[sum][voxel]`.
extern "C" __global__ void __launch_bounds__(128) csd_project(const float *samples, const float *rows, u32 volumes, u32 voxels,
                                                              u32 width, float *sums) {
    u32 voxel = thread_index(), first = blockIdx.y * PROJECTED;
    if (voxel >= voxels) return;
    float sum[PROJECTED] = {};
    for (u32 v = 0; v < volumes; v++) {
        float sample = samples[(u64)v * voxels + voxel];
        const float4 *row = (const float4 *)(rows + v * width + first);
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
    for (int k = 0; k < PROJECTED; k++) sums[(u64)(first + k) * voxels + voxel] = sum[k];
}

// Arguments of one launch.
struct CsdJob {
    // `Csd::AT`, `ROWS`, `MOMENT_ROWS`, `NORMAL`, `POLAR_AT`.
    const float *tables;
    // First moment with the number of moments, and first coefficient, of each azimuthal function.
    const uint2 *waves;
    // By azimuthal function, degree and node.
    const float *coefficients;
    const CsdTile *tiles;
    // Place in the matrix, and H there; for each of the four combinations of cosine and sine.
    const uint2 *elements;
    const uint4 *rest;
    // The sums of `csd_project`.
    const float *projected;
    float *x;
    float *gap;
    u32 tile_count, rest_count, voxels, tissues, iterations;
    float at_rest;
};
static_assert(sizeof(CsdJob) == 96, "as in cuda.rs");

template <int ORDER> __device__ __forceinline__ void csd_fit(const CsdJob &job) {
    using C = Csd<ORDER>;
    constexpr int VOXELS = C::VOXELS, PER = C::PER;
    extern __shared__ float4 raw[];
    typename C::Shared &s = *(typename C::Shared *)raw;
    auto first = [] {
        u32 block;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
        return block * VOXELS;
    };
    auto tables = [&] { return read_now(job.tables); };
    float *step = C::step_of(s);
    auto has_tissue = [&] { return thread_now() < job.tissues * VOXELS; };
    auto tissue = [] { return thread_now() / VOXELS; };
    auto tissue_slot = [] { return thread_now() % VOXELS; };
    auto slot = [] { return thread_now() % C::SPLIT * PER; };
    auto share = [&] { return 1.0f / (float)(4 * C::DIRECTIONS + job.tissues); };
    for (int k = thread_now(); k < C::PADDED * VOXELS; k += C::THREADS) {
        int row = k / VOXELS, v = k % VOXELS;
        const float *sums = job.projected + min(first() + v, job.voxels - 1);
        s.g[k] = sums[(u64)row * job.voxels];
        s.x[k] = sums[(u64)(C::PADDED + row) * job.voxels];
    }
    __syncthreads();
    if (thread_now() < VOXELS) {
        float square = 0.0f;
        for (int k = 0; k < C::PADDED; k++) square = fmaf(s.g[k * VOXELS + thread_now()], s.g[k * VOXELS + thread_now()], square);
        s.size[thread_now()] = square > 0.0f ? sqrtf(square) : 1.0f;
        s.broken[thread_now()] = 0;
    }
    __syncthreads();
    for (int k = thread_now(); k < C::PADDED * VOXELS; k += C::THREADS) {
        s.g[k] = s.g[k] / s.size[k % VOXELS];
        s.x[k] = s.x[k] / s.size[k % VOXELS];
    }
    __syncthreads();
    float sl[4][PER], la[4][PER], w[4][PER];
    // The start is the smooth linear fit: first its distribution without the mean.
    if (thread_now() < VOXELS) {
        s.target[thread_now()] = fmaxf(s.x[thread_now()], START_FIBRES);
        s.x[thread_now()] = 0.0f;
    }
    __syncthreads();
    C::values(tables() + C::AT, s.x, sl);
    {
        float depth[PER] = {};
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int k = 0; k < PER; k++) depth[k] = fmaxf(depth[k], -sl[i][k]);
        C::template reduce<true>(s.largest, depth);
    }
    if (has_tissue()) s.largest[(C::WARPS + tissue()) * VOXELS + tissue_slot()] = 0.0f;
    __syncthreads();
    if (thread_now() < VOXELS) {
        float room = (1.0f - START_FLOOR) * Y_00 * s.target[thread_now()];
        s.length[thread_now()] = room / fmaxf(C::template total<true>(s.largest, thread_now(), job.tissues), room);
    }
    __syncthreads();
    {
        float share[PER], mean[PER];
        C::load(share, s.length + slot());
        C::load(mean, s.target + slot());
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int k = 0; k < PER; k++) sl[i][k] = fmaf(sl[i][k], share[k], Y_00 * mean[k]);
    }
    for (int k = thread_now(); k < C::PADDED * VOXELS; k += C::THREADS) {
        int row = k / VOXELS, v = k % VOXELS;
        s.x[k] = row == 0                              ? s.target[v]
                 : row < C::FIBRE                      ? s.x[k] * s.length[v]
                 : row < C::FIBRE + (int)job.tissues ? fmaxf(s.x[k], START_OTHER)
                                                       : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int k = 0; k < PER; k++) la[i][k] = START / sl[i][k];
    if (has_tissue()) {
        s.amount[thread_now()] = s.x[(C::FIBRE + tissue()) * VOXELS + tissue_slot()];
        s.multiplier[thread_now()] = START / s.amount[thread_now()];
    }
    for (u32 iteration = 0;; iteration++) {
        // D and the gap.
        float sum[PER] = {};
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int k = 0; k < PER; k++) {
                sum[k] = fmaf(sl[i][k], la[i][k], sum[k]);
                w[i][k] = la[i][k] / sl[i][k];
            }
        C::store_parts(s.parts, w);
        C::template reduce<false>(s.sums, sum);
        if (has_tissue()) {
            s.sums[(C::WARPS + tissue()) * VOXELS + tissue_slot()] = s.amount[thread_now()] * s.multiplier[thread_now()];
            s.d[tissue() * VOXELS + tissue_slot()] = s.multiplier[thread_now()] / s.amount[thread_now()];
        }
        __syncthreads();
        bool active = false;
        if (thread_now() < VOXELS) {
            float gap = C::template total<false>(s.sums, thread_now(), job.tissues) * share();
            s.gap[thread_now()] = gap;
            active = gap > job.at_rest && !s.broken[thread_now()];
        }
        if (!__syncthreads_or(active) || iteration == job.iterations) break;
        C::template project<C::PADDED / 4, C::PADDED, 1, C::PADDED>(tables() + C::NORMAL, s.x,
                                                                    typename C::PutResidual{s.residual, s.g});
        C::template project<C::MOMENTS, C::FIRST_MOMENTS, C::OTHER_MOMENTS, C::DIRECTIONS>(
            tables() + C::MOMENT_ROWS, s.parts, typename C::PutMoments{s.parts});
        __syncthreads();
        C::to_nodes(C::waves_of(s), s.parts, read_now(job.waves), read_now(job.coefficients));
        C::assemble_rest(s.matrix, s.d, read_now(job.rest), job.rest_count);
        __syncthreads();
        C::assemble(s.matrix, C::waves_of(s), tables() + C::POLAR_AT, read_now(job.tiles), job.tile_count, read_now(job.elements));
        __syncthreads();
        // The matrix of these lanes.
        int column = (thread_now() >> 5) % C::FACTORS + (thread_now() & 31) / C::LANES * C::STRIDE;
        // The factorisation needs the registers.
#pragma unroll
        for (int i = 0; i < 4; i++) C::store(s.parts + PER * (i * C::THREADS + thread_now()), la[i]);
        if ((thread_now() >> 5) < (C::HAS_HELPER ? 2 : 1) * C::FACTORS) {
            bool good = C::factorise(s.matrix + column * C::MATRIX, (thread_now() >> 5) >= C::FACTORS, 1 + (thread_now() >> 5) % C::FACTORS);
            if ((thread_now() >> 5) < C::FACTORS && thread_now() % C::LANES == 0) s.good[column] = good;
        }
        float largest[PER], next[4][PER], target[PER];
        // The predictor, then the corrector: one loop, because of the instruction cache.
#pragma unroll 1
        for (int pass = 0; pass < 2; pass++) {
            if ((thread_now() >> 5) < C::FACTORS) {
                float square = C::solve(s.matrix + column * C::MATRIX, s.residual + column, step + column);
                // False for NaN, too; a step of this size is one of a singular matrix.
                if (pass == 1 && thread_now() % C::LANES == 0) s.good[column] = s.good[column] && square < 1e12f;
            }
            __syncthreads();
            C::values(tables() + C::AT, step, next);
            if (pass == 0) {
#pragma unroll
                for (int i = 0; i < 4; i++) C::load(la[i], s.parts + PER * (i * C::THREADS + thread_now()));
                // Predictor: w is the relative change of s.
#pragma unroll
                for (int k = 0; k < PER; k++) largest[k] = sum[k] = 0.0f;
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int k = 0; k < PER; k++) {
                        float r = next[i][k] / sl[i][k];
                        w[i][k] = r;
                        largest[k] = fmaxf(largest[k], fmaxf(-r, 1.0f + r));
                        sum[k] = fmaf(sl[i][k] * la[i][k], fmaf(r, r, r), sum[k]);
                    }
                C::template reduce<true>(s.largest, largest);
                C::template reduce<false>(s.sums, sum);
                if (has_tissue()) {
                    s.change[thread_now()] = step[(C::FIBRE + tissue()) * VOXELS + tissue_slot()] / s.amount[thread_now()];
                    s.largest[(C::WARPS + tissue()) * VOXELS + tissue_slot()] = fmaxf(-s.change[thread_now()], 1.0f + s.change[thread_now()]);
                    s.sums[(C::WARPS + tissue()) * VOXELS + tissue_slot()] = s.amount[thread_now()] * s.multiplier[thread_now()] * fmaf(s.change[thread_now()], s.change[thread_now()], s.change[thread_now()]);
                }
                __syncthreads();
                if (thread_now() < VOXELS) {
                    float length = 1.0f / C::template total<true>(s.largest, thread_now(), job.tissues), gap = s.gap[thread_now()];
                    float second = C::template total<false>(s.sums, thread_now(), job.tissues) * share();
                    // (1 + a w)(1 - a (1 + w)) = 1 - a - a^2 (w + w^2), weighted by la s.
                    float ratio = fmaxf(((1.0f - length) * gap - length * length * second) / gap, 0.0f);
                    s.target[thread_now()] = ratio * ratio * ratio * gap;
                }
                __syncthreads();
                C::load(target, s.target + slot());
                {
                    float q[4][PER];
#pragma unroll
                    for (int i = 0; i < 4; i++)
#pragma unroll
                        for (int k = 0; k < PER; k++) {
                            float r = w[i][k];
                            q[i][k] = fmaf(la[i][k], fmaf(r, r, r), target[k] / sl[i][k]);
                        }
                    C::store_parts(s.parts, q);
                }
                if (has_tissue())
                    s.residual[(C::FIBRE + tissue()) * VOXELS + tissue_slot()] +=
                        fmaf(s.multiplier[thread_now()], fmaf(s.change[thread_now()], s.change[thread_now()], s.change[thread_now()]), s.target[tissue_slot()] / s.amount[thread_now()]);
                __syncthreads();
                C::template project<C::GROUPS, C::FIRST_GROUPS, C::OTHER_GROUPS, C::DIRECTIONS>(
                    tables() + C::ROWS, s.parts, typename C::AddCoefficients{s.residual});
                __syncthreads();
            } else {
                // Corrector: w becomes the relative decrease of la.
#pragma unroll
                for (int k = 0; k < PER; k++) largest[k] = 0.0f;
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int k = 0; k < PER; k++) {
                        float r = w[i][k], move = next[i][k] / sl[i][k];
                        float dual = 1.0f + move - (target[k] / (sl[i][k] * la[i][k]) + fmaf(r, r, r));
                        next[i][k] = move;
                        w[i][k] = dual;
                        largest[k] = fmaxf(largest[k], fmaxf(dual, -move));
                    }
                C::template reduce<true>(s.largest, largest);
                if (has_tissue()) {
                    s.move[thread_now()] = step[(C::FIBRE + tissue()) * VOXELS + tissue_slot()] / s.amount[thread_now()];
                    s.change[thread_now()] = 1.0f + s.move[thread_now()] - (s.target[tissue_slot()] / (s.amount[thread_now()] * s.multiplier[thread_now()]) + fmaf(s.change[thread_now()], s.change[thread_now()], s.change[thread_now()]));
                    s.largest[(C::WARPS + tissue()) * VOXELS + tissue_slot()] = fmaxf(s.change[thread_now()], -s.move[thread_now()]);
                }
                __syncthreads();
                if (thread_now() < VOXELS) {
                    float all = C::template total<true>(s.largest, thread_now(), job.tissues);
                    bool is_active = s.gap[thread_now()] > job.at_rest && !s.broken[thread_now()];
                    // 0 for voxels that keep their values.
                    s.length[thread_now()] = is_active && s.good[thread_now()] ? STEP / fmaxf(all, STEP) : 0.0f;
                    if (is_active && !s.good[thread_now()]) s.broken[thread_now()] = 1;
                }
            }
        }
        __syncthreads();
        float length[PER];
        C::load(length, s.length + slot());
#pragma unroll
        for (int k = 0; k < PER; k++)
            if (length[k] > 0.0f) {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    sl[i][k] *= fmaf(length[k], next[i][k], 1.0f);
                    la[i][k] *= fmaf(-length[k], w[i][k], 1.0f);
                }
            }
        if (has_tissue() && s.length[tissue_slot()] > 0.0f) {
            s.amount[thread_now()] *= fmaf(s.length[tissue_slot()], s.move[thread_now()], 1.0f);
            s.multiplier[thread_now()] *= fmaf(-s.length[tissue_slot()], s.change[thread_now()], 1.0f);
        }
        for (int k = thread_now(); k < C::PADDED * VOXELS; k += C::THREADS) {
            float l = s.length[k % VOXELS];
            if (l > 0.0f) s.x[k] = fmaf(l, step[k], s.x[k]);
        }
    }
    for (int k = thread_now(); k < (C::FIBRE + (int)job.tissues) * VOXELS; k += C::THREADS) {
        u32 voxel = first() + k % VOXELS;
        if (voxel < job.voxels) job.x[(u64)(k / VOXELS) * job.voxels + voxel] = s.x[k] * s.size[k % VOXELS];
    }
    if (thread_now() < VOXELS && first() + thread_now() < job.voxels) job.gap[first() + thread_now()] = s.gap[thread_now()];
}

extern "C" __global__ void __launch_bounds__(160, 3) csd_fit_8(CsdJob job) { csd_fit<8>(job); }
extern "C" __global__ void __launch_bounds__(256, 2) csd_fit_12(CsdJob job) { csd_fit<12>(job); }
