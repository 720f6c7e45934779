// COMMIT: A x and its transpose in spherical harmonics, and the vectors of the solver; the mathematics is that of
// src/engine/solvers/commit.
//
// Harmonics are scaled so that each costs two operations: Y_lm = s_lm P_lm(z) Re or Im (x + iy)^m with P_l = (a z² +
// b) P_l-2 - P_l-4. Coefficients are those of P, and the basis of the samples includes s².
//
// Forward, a warp processes a voxel, or 2048 segments of it: segments whose streamlines have a nonzero weight are
// queued, and each is assigned to one lane (or two, with two columns each), which adds to its own 91 sums per column;
// lanes are added at the end. Backward, a lane processes a segment, all lanes read the voxel's 91 numbers per column
// together, and atomics add the results to the streamlines, 16 bytes of one streamline at a time.
#include "harmonics.cuh"
#include "sums.cuh"
#include <mma.h>

// Numbers per shell and voxel, padded to a multiple of four.
static constexpr int ROW = 92;
static constexpr int WARPS = 4;

// `Tables` in src/engine/solvers/commit/cuda/buffers.rs.
struct Tables {
    // Fibre, then direction | length << 16.
    const uint2* records;
    // Voxel, first record, last record, SHARED or 0.
    const uint4* items;
    // Harmonics of each peak.
    const float* peaks;
    const u32* peak_counts;
    // r_l: of the streamlines' columns by shell, degree and column; of a peak and of free water by column, shell and
    // degree. Followed by the values of all of them at b = 0.
    const float* intra;
    const float* own;
    const float* flat;
    // First sample of each shell, and the end of the last.
    const u32* begins;
    u32 count, voxels, shells, places, extra, free;
    // Columns of streamlines in `flat`, in groups of four if there are more than two.
    u32 columns;
    float unit_mm;
    // Samples of a voxel and those of them at b = 0, padded to fours, and the latter without padding.
    u32 samples, b0, b0_real;
    u32 unused;
};
static_assert(sizeof(Tables) == 112, "as in buffers.rs");
// One of several parts of a voxel, which are summed.
static constexpr u32 SHARED = 1;

__device__ __forceinline__ u32 stride(const Tables& t) { return t.shells * ROW + 4; }
__device__ __forceinline__ u32 own_count(const Tables& t) { return t.places * t.extra + t.free; }

// Basis of the samples, forward by harmonic and sample, back by sample and harmonic; 0 in padding, which has no
// direction.
extern "C" __global__ void commit_basis(const double* directions, u32 samples, float* forward, float* back) {
    u32 i = thread_index();
    if (!(i < samples)) return;
    const double* g = directions + 3 * i;
    Scaled s;
    harmonics(g[0], g[1], g[2], s);
    bool has_direction = g[0] != 0 || g[1] != 0 || g[2] != 0;
#pragma unroll
    for (int n = 0; n < COUNT; ++n) {
        float v = has_direction ? float(s.all[n]) : 0.0f;
        forward[n * samples + i] = v;
        back[i * ROW + n] = v;
    }
    forward[COUNT * samples + i] = back[i * ROW + COUNT] = 0;
}

extern "C" __global__ void commit_peaks(const u32* codes, u32 count, float* out) {
    u32 i = thread_index();
    if (!(i < count)) return;
    f32x3 a = axis(codes[i]);
    Write w = {out + i * COUNT, 1};
    harmonics(a.x, a.y, a.z, w);
}

// ---- A x

template <int W> __device__ __forceinline__ void load(const float* from, float (&to)[W]) {
    if constexpr (W == 4) {
        float4 v = *(const float4*)from;
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    } else if constexpr (W == 2) {
        float2 v = *(const float2*)from;
        to[0] = v.x, to[1] = v.y;
    } else to[0] = *from;
}

__device__ __forceinline__ uint2 record(const Tables& t, u32 at, u32 end) {
    return at < end ? __ldg(t.records + at) : make_uint2(0, 0);
}

// Folds the values of a lane with those of each partner; `first`: index of the first one left.
template <int N, int MASK> __device__ __forceinline__ void fold(float* v, int lane, int& first) {
    if constexpr (MASK < 32) {
        bool upper = lane & MASK;
#pragma unroll
        for (int i = 0; i < N / 2; ++i) {
            float keep = upper ? v[i + N / 2] : v[i], send = upper ? v[i] : v[i + N / 2];
            v[i] = keep + __shfl_xor_sync(ALL, send, MASK);
        }
        first += upper ? N / 2 : 0;
        fold<N / 2, MASK * 2>(v, lane, first);
    }
}

template <int A> struct Add {
    const float (&w)[A];
    float (&sums)[A * PAD];
    template <int N, int L, int M> __device__ __forceinline__ void take(float v) {
#pragma unroll
        for (int a = 0; a < A; ++a) sums[a * PAD + N] = fmaf(v, w[a], sums[a * PAD + N]);
    }
};

// By the lanes of a warp: the sums of a voxel, or of a part of it.
template <int W> __device__ __forceinline__ void store(const float* from, float* sums, uint4 item, int lane) {
    float* to = sums + u64(item.x) * PAD * W;
    for (int i = lane; i < PAD * W; i += 32)
        if (item.w & SHARED) atomicAdd(to + i, from[i]);
        else to[i] = from[i];
}

// If no segment has a weight.
template <int W> __device__ __forceinline__ void store_nothing(float* sums, uint4 item, int lane) {
    float* to = sums + u64(item.x) * PAD * W;
    for (int i = lane; i < PAD * W && !(item.w & SHARED); i += 32) to[i] = 0;
}

// Segments whose streamlines have a weight, by the lanes of a warp.
template <int W, int TILES> struct Queue {
    // This many times 32 are read at once.
    static constexpr int CAPACITY = 32 * (TILES + 1);
    // Lengths times weights, W per segment, and directions; taken from the end.
    struct Scratch {
        float weights[CAPACITY * W];
        u32 codes[CAPACITY];
    };
    const Tables& t;
    const float* z;
    Scratch& scratch;
    u32 at, end;
    uint2 next[TILES];
    int waiting, lane;

    __device__ __forceinline__ Queue(const Tables& t, uint4 item, const float* z, Scratch& scratch, int lane)
        : t(t), z(z), scratch(scratch), at(item.y), end(item.z), waiting(0), lane(lane) {
        for (int i = 0; i < TILES; ++i) next[i] = record(t, at + 32 * i + lane, end);
    }

    // Takes all available ones, up to `most` (at most 32); they are placed after those that wait.
    __device__ __forceinline__ int fill(int most) {
        while (waiting < most && at < end) {
            uint2 now[TILES];
            float v[TILES][W];
#pragma unroll
            for (int i = 0; i < TILES; ++i) {
                now[i] = next[i];
                load<W>(z + u64(now[i].x) * W, v[i]);
            }
            at += 32 * TILES;
#pragma unroll
            for (int i = 0; i < TILES; ++i) next[i] = record(t, at + 32 * i + lane, end);
#pragma unroll
            for (int i = 0; i < TILES; ++i) {
                float length = float(now[i].y >> 16) * t.unit_mm;
                u32 any = 0;
#pragma unroll
                for (int j = 0; j < W; ++j) {
                    v[i][j] *= length;
                    any |= __float_as_uint(v[i][j]) << 1;
                }
                // Most weights end at 0, with either sign.
                u32 some = __ballot_sync(ALL, any != 0);
                int place = waiting + __popc(some & ((1u << lane) - 1));
                if (any) {
                    scratch.codes[place] = now[i].y;
#pragma unroll
                    for (int j = 0; j < W; ++j) scratch.weights[place * W + j] = v[i][j];
                }
                waiting += __popc(some);
            }
        }
        __syncwarp();
        int many = min(waiting, most);
        waiting -= many;
        return many;
    }
};

// A sums per lane, S lanes per segment; z: A · S numbers per streamline.
template <int A, int S>
__device__ __forceinline__ void apply(const Tables& t, const float* z, float* sums_out) {
    constexpr int W = A * S, SLOTS = 32 / S;
    using Waiting = Queue<W, 4>;
    __shared__ __align__(16) float all_sums[WARPS][PAD * W];
    __shared__ __align__(16) typename Waiting::Scratch scratch_of_warp[WARPS];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const u32 number = blockIdx.x * WARPS + warp;
    if (!(number < t.count)) return;
    const uint4 item = t.items[number];
    float sums[A * PAD];
#pragma unroll
    for (int i = 0; i < A * PAD; ++i) sums[i] = 0;
    Waiting queue(t, item, z, scratch_of_warp[warp], lane);
    const int slot = lane / S, part = lane % S;
    bool some = false;
    while (int many = queue.fill(SLOTS)) {
        some = true;
        bool is_taken = slot < many;
        int place = queue.waiting + (is_taken ? slot : 0);
        u32 code = queue.scratch.codes[place];
        float w[A];
#pragma unroll
        for (int a = 0; a < A; ++a) w[a] = is_taken ? queue.scratch.weights[place * W + part * A + a] : 0.0f;
        __syncwarp();
        f32x3 o = axis(code);
        Add<A> add = {w, sums};
        harmonics(o.x, o.y, o.z, add);
    }
    if (!some) {
        store_nothing<W>(sums_out, item, lane);
        return;
    }
    int first = 0;
    fold<A * PAD, S>(sums, lane, first);
    constexpr int LEFT = A * PAD / SLOTS;
    float* kept = all_sums[warp];
#pragma unroll
    for (int i = 0; i < LEFT; ++i) {
        int n = first + i;
        kept[n % PAD * W + part * A + n / PAD] = sums[i];
    }
    __syncwarp();
    store<W>(kept, sums_out, item, lane);
}

extern "C" __global__ void __launch_bounds__(128, 4)
commit_apply_1(Tables t, const float* z, float* sums) {
    apply<1, 1>(t, z, sums);
}
extern "C" __global__ void __launch_bounds__(128, 2)
commit_apply_2(Tables t, const float* z, float* sums) {
    apply<2, 1>(t, z, sums);
}
extern "C" __global__ void __launch_bounds__(128, 2)
commit_apply_4(Tables t, const float* z, float* sums) {
    apply<2, 2>(t, z, sums);
}

// Without shells: only lengths.
extern "C" __global__ void commit_apply_flat(Tables t, const float* z, float* sums) {
    const int lane = threadIdx.x & 31;
    const u32 number = blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (!(number < t.count)) return;
    const uint4 item = t.items[number];
    float sum = 0;
    for (u32 at = item.y + lane; at < item.z; at += 32) {
        uint2 r = t.records[at];
        sum += float(r.y >> 16) * t.unit_mm * z[r.x];
    }
    for (int m = 16; m; m >>= 1) sum += __shfl_xor_sync(ALL, sum, m);
    float* to = sums + u64(item.x) * PAD;
    if (lane > 0) return;
    if (item.w & SHARED) atomicAdd(to, sum);
    else *to = sum;
}

// ---- A^T y

template <int W> struct Share {
    const float* q;
    float (&sums)[W];
    template <int N, int L, int M> __device__ __forceinline__ void take(float v) {
        float own[W];
        load<W>(q + N * W, own);
#pragma unroll
        for (int j = 0; j < W; ++j) sums[j] = fmaf(v, own[j], sums[j]);
    }
};

template <int W>
__device__ __forceinline__ void adjoint(const Tables& t, const float* shares, float* z) {
    __shared__ __align__(16) float all_q[WARPS][PAD * W];
    __shared__ __align__(16) float all_out[WARPS][32 * W];
    __shared__ u32 all_fibres[WARPS][32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const u32 number = blockIdx.x * WARPS + warp;
    if (!(number < t.count)) return;
    const uint4 item = t.items[number];
    float* q = all_q[warp];
    float* out = all_out[warp];
    u32* fibres = all_fibres[warp];
    for (int i = lane; i < PAD * W; i += 32) q[i] = shares[u64(item.x) * PAD * W + i];
    u32 at = item.y + lane, end = item.z;
    uint2 now = record(t, at, end);
    for (u32 tile = item.y; tile < end; tile += 32, at += 32) {
        uint2 next = record(t, at + 32, end);
        __syncwarp();
        f32x3 o = axis(now.y);
        float sums[W];
#pragma unroll
        for (int j = 0; j < W; ++j) sums[j] = 0;
        Share<W> share = {q, sums};
        harmonics(o.x, o.y, o.z, share);
        float length = float(now.y >> 16) * t.unit_mm;
        if constexpr (W == 1) {
            if (at < end) atomicAdd(z + now.x, length * sums[0]);
        } else {
            fibres[lane] = now.x;
#pragma unroll
            for (int j = 0; j < W; ++j) out[lane * W + j] = length * sums[j];
            __syncwarp();
            int many = min(end - tile, 32u) * W;
            // Neighbouring lanes add to one streamline.
#pragma unroll
            for (int i = 0; i < W; ++i) {
                int n = i * 32 + lane;
                if (n < many) atomicAdd(z + u64(fibres[n / W]) * W + n % W, out[n]);
            }
        }
        now = next;
    }
}

extern "C" __global__ void __launch_bounds__(128)
commit_adjoint_1(Tables t, const float* shares, float* z) {
    adjoint<1>(t, shares, z);
}
extern "C" __global__ void __launch_bounds__(128)
commit_adjoint_2(Tables t, const float* shares, float* z) {
    adjoint<2>(t, shares, z);
}
extern "C" __global__ void __launch_bounds__(128)
commit_adjoint_4(Tables t, const float* shares, float* z) {
    adjoint<4>(t, shares, z);
}

extern "C" __global__ void commit_adjoint_flat(Tables t, const float* shares, float* z) {
    const int lane = threadIdx.x & 31;
    const u32 number = blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (!(number < t.count)) return;
    const uint4 item = t.items[number];
    float share = shares[u64(item.x) * PAD] * t.unit_mm;
    for (u32 at = item.y + lane; at < item.z; at += 32) {
        uint2 r = t.records[at];
        atomicAdd(z + r.x, share * float(r.y >> 16));
    }
}

// ---- Both with harmonics in half precision, products by tensor cores

namespace wmma = nvcuda::wmma;
template <class Use, class Layout> using Matrix = wmma::fragment<Use, 32, 8, 16, half, Layout>;
using Products = wmma::fragment<wmma::accumulator, 32, 8, 16, float>;

// Distance in halves from one segment's harmonics to the next: eight lanes write 16 bytes each to different banks.
static constexpr int ROWS = 104;

// Eight at a time.
struct WriteHalves {
    half* out;
    half2 four[4];
    float previous;
    template <int N, int L, int M> __device__ __forceinline__ void take(float v) {
        if constexpr (N % 2 == 0 && N < COUNT - 1) previous = v;
        else four[N / 2 % 4] = N % 2 ? __floats2half2_rn(previous, v) : __floats2half2_rn(v, 0.0f);
        if constexpr (N == COUNT - 1) four[2] = four[3] = half2();
        if constexpr (N % 8 == 7 || N == COUNT - 1) *(uint4*)(out + N / 8 * 8) = *(const uint4*)four;
    }
};

// Splits v into two parts of 11 bits.
__device__ __forceinline__ void split(float v, half& high, half& low) {
    high = __float2half_rn(v);
    low = __float2half_rn(v - __half2float(high));
}

// The power of two that scales the largest number of a warp to at most 2048 and at least half of it.
__device__ __forceinline__ float scale_of(float most) {
    for (int m = 16; m; m >>= 1) most = fmaxf(most, __shfl_xor_sync(ALL, most, m));
    int power;
    frexpf(most, &power);
    return most > 0 ? ldexpf(1.0f, min(11 - power, 100)) : 1.0f;
}

extern "C" __global__ void __launch_bounds__(128)
commit_apply_fast(Tables t, const float* z, float* sums_out) {
    using Waiting = Queue<4, 2>;
    __shared__ __align__(32) half all_rows[WARPS][32 * ROWS];
    __shared__ __align__(32) half all_columns[WARPS][32 * 8];
    __shared__ __align__(16) Waiting::Scratch scratch_of_warp[WARPS];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const u32 number = blockIdx.x * WARPS + warp;
    if (!(number < t.count)) return;
    const uint4 item = t.items[number];
    half *rows = all_rows[warp], *columns = all_columns[warp];
    Products sums[3];
    for (int i = 0; i < 3; ++i) wmma::fill_fragment(sums[i], 0.0f);
    Waiting queue(t, item, z, scratch_of_warp[warp], lane);
    float scale = 0;
    while (int many = queue.fill(32)) {
        bool is_taken = lane < many;
        int place = queue.waiting + (is_taken ? lane : 0);
        u32 code = queue.scratch.codes[place];
        float w[4];
        load<4>(queue.scratch.weights + place * 4, w);
        float most = 0;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            w[j] = is_taken ? w[j] : 0.0f;
            most = fmaxf(most, fabsf(w[j]));
        }
        // Within the range of half precision.
        if (__any_sync(ALL, !(most * scale <= 32768.0f)) || scale == 0) {
            float next = scale_of(most), factor = scale > 0 ? next / scale : 1.0f;
            for (int i = 0; i < 3; ++i)
                for (int k = 0; k < sums[i].num_elements; ++k) sums[i].x[k] *= factor;
            scale = next;
        }
        half both[8];
#pragma unroll
        for (int j = 0; j < 4; ++j) split(w[j] * scale, both[j], both[4 + j]);
        *(uint4*)(columns + lane * 8) = *(const uint4*)both;
        f32x3 o = axis(code);
        WriteHalves write = {rows + lane * ROWS};
        harmonics(o.x, o.y, o.z, write);
        __syncwarp();
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            Matrix<wmma::matrix_b, wmma::row_major> b;
            wmma::load_matrix_sync(b, columns + k * 16 * 8, 8);
#pragma unroll
            for (int i = 0; i < 3; ++i) {
                Matrix<wmma::matrix_a, wmma::col_major> a;
                wmma::load_matrix_sync(a, rows + k * 16 * ROWS + i * 32, ROWS);
                wmma::mma_sync(sums[i], a, b, sums[i]);
            }
        }
        __syncwarp();
    }
    float* both = (float*)rows;
    for (int i = 0; i < 3; ++i) wmma::store_matrix_sync(both + i * 32 * 8, sums[i], 8, wmma::mem_row_major);
    __syncwarp();
    // The sum of both parts, in their place.
    float4 added[3];
    float by = scale > 0 ? 1 / scale : 0.0f;
    for (int i = 0; i < 3; ++i) {
        const float4* of = (const float4*)(both + (i * 32 + lane) * 8);
        float4 high = of[0], low = of[1];
        added[i] = make_float4(
            by * (high.x + low.x), by * (high.y + low.y), by * (high.z + low.z), by * (high.w + low.w));
    }
    __syncwarp();
    for (int i = 0; i < 3; ++i) *(float4*)(both + (i * 32 + lane) * 4) = added[i];
    __syncwarp();
    store<4>(both, sums_out, item, lane);
}

extern "C" __global__ void __launch_bounds__(128)
commit_adjoint_fast(Tables t, const float* shares, float* z) {
    __shared__ __align__(32) half all_rows[WARPS][32 * ROWS];
    __shared__ __align__(32) float all_out[WARPS][32 * 8];
    __shared__ uint2 all_records[WARPS][32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const u32 number = blockIdx.x * WARPS + warp;
    if (!(number < t.count)) return;
    const uint4 item = t.items[number];
    half* rows = all_rows[warp];
    float* out = all_out[warp];
    uint2* records = all_records[warp];
    float q[3][4], most = 0;
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        load<4>(shares + (u64(item.x) * PAD + i * 32 + lane) * 4, q[i]);
#pragma unroll
        for (int j = 0; j < 4; ++j) most = fmaxf(most, fabsf(q[i][j]));
    }
    float scale = scale_of(most);
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        half both[8];
#pragma unroll
        for (int j = 0; j < 4; ++j) split(q[i][j] * scale, both[j], both[4 + j]);
        *(uint4*)(rows + (i * 32 + lane) * 8) = *(const uint4*)both;
    }
    __syncwarp();
    Matrix<wmma::matrix_b, wmma::row_major> b[6];
    for (int k = 0; k < 6; ++k) wmma::load_matrix_sync(b[k], rows + k * 16 * 8, 8);
    u32 at = item.y + lane, end = item.z;
    float unit = t.unit_mm / scale;
    uint2 now = record(t, at, end);
    for (u32 tile = item.y; tile < end; tile += 32, at += 32) {
        uint2 next = record(t, at + 32, end);
        __syncwarp();
        records[lane] = now;
        f32x3 o = axis(now.y);
        WriteHalves write = {rows + lane * ROWS};
        harmonics(o.x, o.y, o.z, write);
        __syncwarp();
        Products sums;
        wmma::fill_fragment(sums, 0.0f);
#pragma unroll
        for (int k = 0; k < 6; ++k) {
            Matrix<wmma::matrix_a, wmma::row_major> a;
            wmma::load_matrix_sync(a, rows + k * 16, ROWS);
            wmma::mma_sync(sums, a, b[k], sums);
        }
        wmma::store_matrix_sync(out, sums, 8, wmma::mem_row_major);
        __syncwarp();
        int many = min(end - tile, 32u) * 4;
        // Neighbouring lanes add to one streamline.
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int n = i * 32 + lane, j = n / 4 * 8 + n % 4;
            uint2 r = records[n / 4];
            if (n < many) atomicAdd(z + u64(r.x) * 4 + n % 4, float(r.y >> 16) * unit * (out[j] + out[j + 4]));
        }
        now = next;
    }
}

#include "voxels.cuh"
#include "samples.cuh"
#include "columns.cuh"
