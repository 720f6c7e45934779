// Tensors by least squares on the logarithm of the signal, their repairs, maps and repetitions:
// src/engine/solvers/tensor_fit/cuda.rs.
//
// One thread computes one voxel with the operations of the CPU (tensor_fit/cpu.rs, maps.rs) in the CPU's order: sums run
// over the volumes, and each product that the CPU rounds is rounded here too. The logarithms are computed again in each
// pass over the volumes, which costs less than to store them: the passes wait for the rows of the design.
//
// Registers on sm_90: 95, no spills. H200, 210,904 voxels of 65 volumes: OLS 0.11 ms, WLS 0.18 ms, with two reweighted
// solves 0.30 ms; maps 0.02 ms.
#include "common.cuh"
#include "tensor_maps.cuh"

constexpr int UNKNOWNS = 7, PRODUCTS = 22, LOWER = 21;
// Samples below 1e-6 of a voxel's largest are left out: -ln of that share.
constexpr float FAINTEST = 13.81551f;
constexpr float DETERMINED = 1e-3f, SUFFICIENT_REMAINDER = 30e-3f, SINGULAR = 1e-5f;
// A sample that alone determines an unknown has no residual: there 1 - h is rounding error.
constexpr float MIN_FREE = 1e-4f;
// Words with a bit for each volume.
constexpr u32 SEEN = 64;

// One volume.
struct Row {
    float inverse[7];
    // Its number among the samples.
    u32 volume;
    float products[22];
    u32 same_volume;
    u32 unused;
};
static_assert(sizeof(Row) == 128, "as in cuda.rs");

// Counts of a launch.
struct Counts {
    u32 unfitted;
    // Voxels whose tensor may need a repair, and those that needed one.
    u32 doubtful, repaired;
    u32 unused;
    // A bit for each row with a sample above 0.
    u32 seen[64];
};
static_assert(sizeof(Counts) == 272, "as in cuda.rs");

// Arguments of one launch.
struct FitJob {
    // By volume and place; the place is the voxel's number in the grid, or in the list if the samples are packed.
    const float *samples;
    const Row *rows;
    // Numbers in the grid.
    const u32 *voxels;
    // Eight numbers for each voxel of the grid.
    float *tensors;
    float *s0;
    // Lists with room for all voxels.
    u32 *doubtful;
    u32 *repaired;
    Counts *counts;
    double min_eigenvalue;
    u64 stride;
    u32 count, row_count, is_packed, weighted_solves;
    // From an unknown to a component of the tensor.
    float scale[6];
    u32 unused[2];
};
static_assert(sizeof(FitJob) == 128, "as in cuda.rs");

// ln of a positive normal number, as on the CPU (compute/lanes.rs).
__device__ __forceinline__ float logarithm(float value) {
    const u32 bits = __float_as_uint(value);
    const int exponent = int(bits - 0x3F3504F3u) >> 23;
    const float f = __uint_as_float(bits - (u32(exponent) << 23)) - 1.0f;
    const float c[6] = {-0.14267495f, 0.14914787f, -0.16577584f, 0.19963062f, -0.25001338f, 0.3333391f};
    float p = 0.08700386f;
#pragma unroll
    for (int k = 0; k < 6; k++) p = fmaf(p, f, c[k]);
    const float e = float(exponent);
    const float low = fmaf(e, -2.1219444e-4f, __fmul_rn(__fmul_rn(f, f), fmaf(p, f, -0.5f)));
    return fmaf(e, 0.6933594f, __fadd_rn(f, low));
}

// The exponential, as on the CPU: never 0, subnormal or infinite.
__device__ __forceinline__ float exponential(float value) {
    constexpr float ROUND = 12582912.0f;
    const float above = value > -87.0f ? value : -87.0f;
    const float x = above < 88.0f ? above : 88.0f;
    const float rounded = fmaf(x, 1.44269504f, ROUND);
    const float k = rounded - ROUND;
    const float f = fmaf(k, 2.1219444e-4f, fmaf(k, -0.6933594f, x));
    const float c[5] = {0.04189054f, 0.16667116f, 0.49999228f, 1.0f, 1.0f};
    float q = 0.00831248f;
#pragma unroll
    for (int k = 0; k < 5; k++) q = fmaf(q, f, c[k]);
    return __uint_as_float(__float_as_uint(q) + (__float_as_uint(rounded) << 23));
}

// The samples of one voxel.
struct Voxel {
    const float *samples;
    u64 stride;
    // ln of the largest sample.
    float reference;

    __device__ __forceinline__ float sample(u32 volume) const { return __ldg(samples + volume * stride); }

    // ln S; NaN where the sample is not usable.
    __device__ __forceinline__ static float log(float sample) {
        return sample >= 1.17549435e-38f && sample <= 3.40282347e38f ? logarithm(sample) : __uint_as_float(0x7FC00000u);
    }

    // ln S relative to the reference; NaN where the sample is not usable or too faint.
    __device__ __forceinline__ float relative(u32 volume) const {
        const float r = log(sample(volume)) - reference;
        return r >= -FAINTEST ? r : __uint_as_float(0x7FC00000u);
    }
};

// Products of two columns of the model, and the volume.
struct Columns {
    float product[24];

    __device__ __forceinline__ explicit Columns(const Row &row) {
        const float4 *from = (const float4 *)row.products;
#pragma unroll
        for (int k = 0; k < 6; k++) {
            const float4 v = __ldg(from + k);
            product[4 * k] = v.x, product[4 * k + 1] = v.y, product[4 * k + 2] = v.z, product[4 * k + 3] = v.w;
        }
    }

    __device__ __forceinline__ u32 volume() const { return __float_as_uint(product[22]); }

    // A column of the model is its product with the last one, which is 1.
    __device__ __forceinline__ float model(int column) const {
        const int of[UNKNOWNS] = {6, 10, 12, 16, 18, 20, 21};
        return product[of[column]];
    }

    // ln S by the model.
    __device__ __forceinline__ float predicted(const float (&x)[UNKNOWNS]) const {
        float sum = x[UNKNOWNS - 1];
#pragma unroll
        for (int j = 0; j < UNKNOWNS - 1; j++) sum = fmaf(model(j), x[j], sum);
        return sum;
    }
};

// The normal matrix as LDL'.
struct Factor {
    // Below the diagonal, by rows.
    float lower[LOWER];
    float inverses[UNKNOWNS];
    bool valid;

    __device__ __forceinline__ static constexpr int at(int row, int column) { return row * (row - 1) / 2 + column; }

    __device__ __forceinline__ void make(const float (&normal)[PRODUCTS], bool is_strict) {
        const int of[UNKNOWNS][UNKNOWNS] = {{0, 1, 2, 3, 4, 5, 6},       {1, 3, 4, 7, 8, 9, 10},
                                            {2, 4, 5, 8, 9, 11, 12},     {3, 7, 8, 13, 14, 15, 16},
                                            {4, 8, 9, 14, 15, 17, 18},   {5, 9, 11, 15, 17, 19, 20},
                                            {6, 10, 12, 16, 18, 20, 21}};
        float pivots[UNKNOWNS];
        valid = true;
#pragma unroll
        for (int j = 0; j < UNKNOWNS; j++) {
            const float diagonal = normal[of[j][j]];
            float pivot = diagonal, scaled[UNKNOWNS];
#pragma unroll
            for (int k = 0; k < j; k++) {
                scaled[k] = lower[at(j, k)] * pivots[k];
                pivot = fmaf(-scaled[k], lower[at(j, k)], pivot);
            }
            const float least = SINGULAR * diagonal;
            const float strict = fmaxf(fminf(DETERMINED * diagonal, SUFFICIENT_REMAINDER), least);
            valid = valid && pivot > (is_strict ? strict : least);
            pivots[j] = pivot;
            inverses[j] = __frcp_rn(pivot);
#pragma unroll
            for (int i = j + 1; i < UNKNOWNS; i++) {
                float entry = normal[of[i][j]];
#pragma unroll
                for (int k = 0; k < j; k++) entry = fmaf(-lower[at(i, k)], scaled[k], entry);
                lower[at(i, j)] = entry * inverses[j];
            }
        }
    }

    __device__ __forceinline__ void half(float (&x)[UNKNOWNS]) const {
#pragma unroll
        for (int j = 0; j < UNKNOWNS; j++)
#pragma unroll
            for (int k = 0; k < j; k++) x[j] = fmaf(-lower[at(j, k)], x[k], x[j]);
    }

    // 0 where the factor is not valid.
    __device__ __forceinline__ void solve(float (&x)[UNKNOWNS]) const {
        half(x);
#pragma unroll
        for (int j = UNKNOWNS - 1; j >= 0; j--) {
            x[j] = __fmul_rn(x[j], inverses[j]);
#pragma unroll
            for (int k = j + 1; k < UNKNOWNS; k++) x[j] = fmaf(-lower[at(k, j)], x[k], x[j]);
        }
#pragma unroll
        for (int j = 0; j < UNKNOWNS; j++) x[j] = valid ? x[j] : 0.0f;
    }
};

// The weight of a sample and the weight times its residual; both 0 where it is not usable.
__device__ __forceinline__ float2 weighted_residual(float y, float predicted, bool is_weighted) {
    const float weight = is_weighted ? exponential(predicted + predicted) : 1.0f;
    const float pull = __fmul_rn(weight, y - predicted);
    return {isnan(y) ? 0.0f : weight, isnan(pull) ? 0.0f : pull};
}

// X'WX with the weights of these unknowns, and X'W times the residuals.
__device__ __forceinline__ void normal_equations(const FitJob &job, const Voxel &voxel, const float (&x)[UNKNOWNS],
                                                 bool is_weighted, float (&normal)[PRODUCTS], float (&right)[UNKNOWNS]) {
#pragma unroll
    for (int k = 0; k < PRODUCTS; k++) normal[k] = 0;
#pragma unroll
    for (int k = 0; k < UNKNOWNS; k++) right[k] = 0;
#pragma unroll 2
    for (u32 r = 0; r < job.row_count; r++) {
        const Columns columns(job.rows[r]);
        const float2 w = weighted_residual(voxel.relative(columns.volume()), columns.predicted(x), is_weighted);
#pragma unroll
        for (int k = 0; k < PRODUCTS - 1; k++) normal[k] = fmaf(columns.product[k], w.x, normal[k]);
        normal[PRODUCTS - 1] = __fadd_rn(normal[PRODUCTS - 1], w.x);
#pragma unroll
        for (int k = 0; k < UNKNOWNS - 1; k++) right[k] = fmaf(columns.model(k), w.y, right[k]);
        right[UNKNOWNS - 1] = __fadd_rn(right[UNKNOWNS - 1], w.y);
    }
}

// The unknowns of a voxel; false where its usable samples do not determine them. All threads of the block call it;
// `seen` has a bit for each volume with a sample above 0.
__device__ __forceinline__ bool fit_voxel(const FitJob &job, u32 i, u32 *seen, Voxel &voxel, float (&x)[UNKNOWNS]) {
    const bool is_voxel = i < job.count;
    const u32 at = is_voxel ? i : job.count - 1;
    voxel.samples = job.samples + (job.is_packed ? at : job.voxels[at]);
    voxel.stride = job.stride;
    float reference = __uint_as_float(0xFF800000u);
#pragma unroll 4
    for (u32 r = 0; r < job.row_count; r++) {
        const float sample = voxel.sample(__ldg(&job.rows[r].volume));
        // Above 0 and finite, also if it is subnormal.
        const bool is_signal = __float_as_uint(sample) - 1u < 0x7F7FFFFFu;
        if (__any_sync(0xFFFFFFFFu, is_signal) && (threadIdx.x & 31) == 0) atomicOr(seen + (r >> 5), 1u << (r & 31));
        const float y = Voxel::log(sample);
        reference = y > reference ? y : reference;
    }
    voxel.reference = reference;
    u32 used = 0;
#pragma unroll
    for (int k = 0; k < UNKNOWNS; k++) x[k] = 0;
#pragma unroll 2
    for (u32 r = 0; r < job.row_count; r++) {
        const float4 a = __ldg((const float4 *)&job.rows[r]), b = __ldg((const float4 *)&job.rows[r] + 1);
        const float inverse[UNKNOWNS] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z};
        const float y = voxel.relative(__float_as_uint(b.w));
        used += isnan(y) ? 0 : 1;
#pragma unroll
        for (int k = 0; k < UNKNOWNS; k++) x[k] = fmaf(inverse[k], y, x[k]);
    }
    bool is_fitted = true;
    // Where samples are missing, a first solve without weights replaces the pseudo-inverse, and without weighted solves a
    // second one removes the rounding of the first.
    const bool is_partial = used != job.row_count;
    const u32 last = job.weighted_solves > 0 ? job.weighted_solves : u32(is_partial);
#pragma unroll
    for (int k = 0; k < UNKNOWNS; k++) x[k] = is_partial ? 0.0f : x[k];
#pragma unroll 1
    for (u32 solve = is_partial ? 0 : 1; solve <= last && is_fitted; solve++) {
        const bool is_weighted = solve > 0 && job.weighted_solves > 0;
        float normal[PRODUCTS], change[UNKNOWNS];
        normal_equations(job, voxel, x, is_weighted, normal, change);
        Factor factor;
        factor.make(normal, !is_weighted);
        factor.solve(change);
#pragma unroll
        for (int k = 0; k < UNKNOWNS; k++) x[k] = __fadd_rn(x[k], change[k]);
        if (solve == 0) is_fitted = factor.valid && used >= UNKNOWNS;
    }
    return is_voxel && is_fitted;
}

// The tensor of these unknowns; true if it may need a repair.
__device__ __forceinline__ bool tensor_of(const float (&x)[UNKNOWNS], const float (&scale)[6], double min_eigenvalue,
                                          float (&d)[6]) {
#pragma unroll
    for (int k = 0; k < 6; k++) d[k] = __fmul_rn(x[k], scale[k]);
    const float shift = float(min_eigenvalue);
    const float first = d[0] - shift;
    const float ratio_y = __fdiv_rn(d[1], first), ratio_z = __fdiv_rn(d[2], first);
    const float second = fmaf(-ratio_y, d[1], d[3] - shift);
    const float corner = fmaf(-ratio_y, d[2], d[4]);
    const float third = fmaf(-__fdiv_rn(corner, second), corner, fmaf(-ratio_z, d[2], d[5] - shift));
    const float trace = (d[0] + d[3] + d[5]) * 1e-3f;
    const float margin = trace > 0.0f ? trace : 0.0f;
    return !(first > margin && second > margin && third > margin);
}

__device__ __forceinline__ void write_tensor(float *tensors, u64 voxel, const float (&d)[6]) {
    float4 *to = (float4 *)(tensors + 8 * voxel);
    to[0] = {d[0], d[1], d[2], d[3]};
    to[1] = {d[4], d[5], 1.0f, 0.0f};
}

// Clears the marks of the block.
__device__ __forceinline__ void clear_seen(u32 *seen) {
    for (u32 k = threadIdx.x; k < SEEN; k += blockDim.x) seen[k] = 0;
    __syncthreads();
}

__device__ __forceinline__ void add_seen(const u32 *seen, Counts *counts) {
    __syncthreads();
    for (u32 k = threadIdx.x; k < SEEN; k += blockDim.x)
        if (seen[k] & ~*(volatile u32 *)(counts->seen + k)) atomicOr(counts->seen + k, seen[k]);
}

// Fits the voxels of the list; outputs outside it stay as they are.
extern "C" __global__ void __launch_bounds__(128) tensor_fit_solve(FitJob job) {
    __shared__ u32 seen[SEEN];
    clear_seen(seen);
    const u32 i = thread_index();
    Voxel voxel;
    float x[UNKNOWNS];
    const bool is_fitted = fit_voxel(job, i, seen, voxel, x);
    if (is_fitted) {
        const u32 at = job.voxels[i];
        float d[6];
        if (tensor_of(x, job.scale, job.min_eigenvalue, d)) job.doubtful[atomicAdd(&job.counts->doubtful, 1)] = at;
        write_tensor(job.tensors, at, d);
        job.s0[at] = exponential(__fadd_rn(x[UNKNOWNS - 1], voxel.reference));
    } else if (i < job.count) {
        atomicAdd(&job.counts->unfitted, 1);
    }
    add_seen(seen, job.counts);
}

// One Jacobi rotation of a symmetric matrix in double precision, as in tensor_fit/eigen.rs.
template <int P, int Q, int R> __device__ __forceinline__ void rotate(double (&a)[3][3], double (&v)[3][3]) {
    if (a[P][Q] == 0) return;
    const double half = 0.5 * (a[Q][Q] - a[P][P]);
    const double t = copysign(1.0, half) * (a[P][Q] / (fabs(half) + hypot(half, a[P][Q])));
    const double c = 1 / sqrt(1 + t * t), s = t * c;
    a[P][P] -= t * a[P][Q];
    a[Q][Q] += t * a[P][Q];
    a[P][Q] = a[Q][P] = 0;
    const double rp = a[R][P], rq = a[R][Q];
    a[R][P] = a[P][R] = c * rp - s * rq;
    a[R][Q] = a[Q][R] = s * rp + c * rq;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const double vp = v[P][k], vq = v[Q][k];
        v[P][k] = c * vp - s * vq;
        v[Q][k] = s * vp + c * vq;
    }
}

// Raises the eigenvalues of the doubtful tensors that are too small, and lists these voxels.
extern "C" __global__ void __launch_bounds__(128)
tensor_fit_repair(float *tensors, const u32 *doubtful, u32 *repaired, Counts *counts, double min_eigenvalue) {
    for (u32 i = thread_index(); i < counts->doubtful; i += gridDim.x * blockDim.x) {
        const u32 voxel = doubtful[i];
        const float *from = tensors + 8 * u64(voxel);
        double d[6], scale = 0;
#pragma unroll
        for (int k = 0; k < 6; k++) {
            d[k] = from[k];
            scale = fmax(scale, fabs(d[k]));
        }
        const double unit = scale == 0 ? 1 : scale;
#pragma unroll
        for (int k = 0; k < 6; k++) d[k] /= unit;
        double a[3][3] = {{d[0], d[1], d[2]}, {d[1], d[3], d[4]}, {d[2], d[4], d[5]}};
        double v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
#pragma unroll 1
        for (int sweep = 0; sweep < 16; sweep++) {
            if (fmax(fmax(fabs(a[0][1]), fabs(a[0][2])), fabs(a[1][2])) < 2.220446049250313e-19) break;
            rotate<0, 1, 2>(a, v);
            rotate<0, 2, 1>(a, v);
            rotate<1, 2, 0>(a, v);
        }
        const double values[3] = {a[0][0] * unit, a[1][1] * unit, a[2][2] * unit};
        if (fmin(fmin(values[0], values[1]), values[2]) >= min_eigenvalue) continue;
        double sum[6] = {};
#pragma unroll
        for (int k = 0; k < 3; k++) {
            const double value = fmax(values[k], min_eigenvalue), px = v[k][0], py = v[k][1], pz = v[k][2];
            const double dyad[6] = {px * px, px * py, px * pz, py * py, py * pz, pz * pz};
#pragma unroll
            for (int c = 0; c < 6; c++) sum[c] += value * dyad[c];
        }
        const float raised[6] = {float(sum[0]), float(sum[1]), float(sum[2]), float(sum[3]), float(sum[4]), float(sum[5])};
        write_tensor(tensors, voxel, raised);
        repaired[atomicAdd(&counts->repaired, 1)] = voxel;
    }
}

// A fit and its residuals, by quantity and place in the list of voxels.
struct Kept {
    // Unknowns, ln of the reference, 1 if fitted, lower triangle, inverse pivots, 1 if the factor is valid.
    float *fits;
    // A row for each volume: w r / sqrt(1 - h), 0 where a sample is not usable.
    float *pulls;
};

// Fits the voxels of the list, which are those from `first` on of `all`, and keeps their residuals.
extern "C" __global__ void __launch_bounds__(128) tensor_fit_residuals(FitJob job, Kept kept, u32 first, u32 all) {
    __shared__ u32 seen[SEEN];
    clear_seen(seen);
    const u32 i = thread_index();
    Voxel voxel;
    float x[UNKNOWNS];
    const bool is_fitted = fit_voxel(job, i, seen, voxel, x);
    if (!(i < job.count)) return;
    const bool is_weighted = job.weighted_solves > 0;
    Factor factor;
    {
        float normal[PRODUCTS], right[UNKNOWNS];
        normal_equations(job, voxel, x, is_weighted, normal, right);
        factor.make(normal, false);
    }
    for (u32 r = 0; r < job.row_count; r++) {
        const Columns columns(job.rows[r]);
        const float2 w = weighted_residual(voxel.relative(columns.volume()), columns.predicted(x), is_weighted);
        float half[UNKNOWNS], leverage = 0;
#pragma unroll
        for (int k = 0; k < UNKNOWNS; k++) half[k] = columns.model(k);
        factor.half(half);
#pragma unroll
        for (int k = 0; k < UNKNOWNS; k++) leverage = fmaf(__fmul_rn(half[k], factor.inverses[k]), half[k], leverage);
        const float free = 1.0f - __fmul_rn(w.x, leverage);
        kept.pulls[u64(r) * all + first + i] = free > MIN_FREE ? __fdiv_rn(w.y, __fsqrt_rn(free)) : 0.0f;
    }
    float *to = kept.fits + first + i;
    auto keep = [&](float value) {
        *to = value;
        to += all;
    };
#pragma unroll
    for (int k = 0; k < UNKNOWNS; k++) keep(x[k]);
    keep(voxel.reference);
    keep(is_fitted ? 1.0f : 0.0f);
#pragma unroll
    for (int k = 0; k < LOWER; k++) keep(factor.lower[k]);
#pragma unroll
    for (int k = 0; k < UNKNOWNS; k++) keep(factor.inverses[k]);
    keep(factor.valid ? 1.0f : 0.0f);
}

// The output function of SplitMix64, and its streams, as in data/random.rs.
__device__ __forceinline__ u64 mix(u64 z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
constexpr u64 GOLDEN = 0x9E3779B97F4A7C15ull;

// Tensors of several repetitions, of which each thread sums some: `salts` has a number for each. The tensors of a
// repetition begin at `size` times its place, at the voxel's number in the grid or in the list.
template <int PER_THREAD>
__device__ __forceinline__ void repeat(const FitJob &job, const Kept &kept, const u64 *salts, u32 repetitions, u32 size) {
    const u32 i = thread_index(), first = blockIdx.y * PER_THREAD;
    if (!(i < job.count)) return;
    const float *from = kept.fits + i;
    if (from[u64(UNKNOWNS + 1) * job.count] == 0) return;
    const u32 voxel = job.voxels[i];
    u64 stream[PER_THREAD], bits[PER_THREAD];
    float change[PER_THREAD][UNKNOWNS] = {};
#pragma unroll
    for (int t = 0; t < PER_THREAD; t++)
        stream[t] = mix(mix(salts[min(first + t, repetitions - 1)] + GOLDEN) ^ mix(~u64(voxel)));
    for (u32 r = 0; r < job.row_count; r++) {
        const Columns columns(job.rows[r]);
        const float pull = kept.pulls[u64(r) * job.count + i];
#pragma unroll
        for (int t = 0; t < PER_THREAD; t++) {
            if (r % 64 == 0) {
                stream[t] += GOLDEN;
                bits[t] = mix(stream[t]);
            }
            const float p = __uint_as_float(__float_as_uint(pull) ^ (u32(bits[t] >> (r % 64)) << 31));
#pragma unroll
            for (int k = 0; k < UNKNOWNS - 1; k++) change[t][k] = fmaf(columns.model(k), p, change[t][k]);
            change[t][UNKNOWNS - 1] = __fadd_rn(change[t][UNKNOWNS - 1], p);
        }
    }
    const float *plane = from + u64(UNKNOWNS + 2) * job.count;
    auto next = [&] {
        const float value = *plane;
        plane += job.count;
        return value;
    };
    Factor factor;
#pragma unroll
    for (int k = 0; k < LOWER; k++) factor.lower[k] = next();
#pragma unroll
    for (int k = 0; k < UNKNOWNS; k++) factor.inverses[k] = next();
    factor.valid = next() != 0;
#pragma unroll
    for (int t = 0; t < PER_THREAD; t++) {
        if (!(first + t < repetitions)) break;
        factor.solve(change[t]);
        float x[UNKNOWNS], d[6];
#pragma unroll
        for (int k = 0; k < UNKNOWNS; k++) x[k] = __fadd_rn(from[u64(k) * job.count], change[t][k]);
        const u32 at = (first + t) * size + (job.is_packed ? i : voxel);
        if (tensor_of(x, job.scale, job.min_eigenvalue, d)) job.doubtful[atomicAdd(&job.counts->doubtful, 1)] = at;
        write_tensor(job.tensors, at, d);
    }
}

#define REPEAT(PER_THREAD)                                                                                         \
    extern "C" __global__ void __launch_bounds__(128) tensor_fit_repeat_##PER_THREAD(                              \
        FitJob job, Kept kept, const u64 *salts, u32 repetitions, u32 size) {                                    \
        repeat<PER_THREAD>(job, kept, salts, repetitions, size);                                                   \
    }
REPEAT(1)
REPEAT(4)
#undef REPEAT

// Quantities of all voxels of a grid, each in a plane; 0 outside the field.
#define MAPS(NAME, MEASURE, COUNT)                                                                               \
    extern "C" __global__ void __launch_bounds__(128) NAME(const float *tensors, u32 voxels, float *maps) {      \
        const u32 i = thread_index();                                                                            \
        if (!(i < voxels)) return;                                                                               \
        float out[COUNT] = {};                                                                                   \
        if (tensors[8 * u64(i) + 6] != 0.0f) {                                                                   \
            const Normalised tensor(tensors + 8 * u64(i));                                                       \
            MEASURE(tensor, Eigen(tensor.d), out);                                                               \
        }                                                                                                        \
        for (int k = 0; k < COUNT; k++) maps[u64(k) * voxels + i] = out[k];                                      \
    }
MAPS(tensor_fit_maps, measure, 10)
MAPS(tensor_fit_shapes, measure_shape, 6)
#undef MAPS
