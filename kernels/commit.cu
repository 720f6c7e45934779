// COMMIT: A x and its transpose in spherical harmonics, and the vectors of the solver; the mathematics are
// those of src/solvers/commit.
//
// Harmonics are scaled so that each costs two operations: Y_lm = s_lm P_lm(z) Re or Im (x + iy)^m with
// P_l = (a z² + b) P_l-2 - P_l-4. Coefficients are those of P, and the basis of the samples has s².
//
// Forward, a warp has a voxel, or 2048 segments of it: segments whose streamlines have a weight wait in a queue, each
// is then one lane's (or two, of two columns each), which adds to its own 91 sums a column; lanes are added
// up at the end. Backward a lane has a segment, the voxel's 91 numbers a column are read by all at once, and
// what comes out is added to the streamlines by atomics, 16 bytes of one streamline at a time.
#include "harmonics.cuh"
#include "sums.cuh"
#include <mma.h>

// Numbers of a shell and voxel, in fours.
static constexpr int ROW = 92;
static constexpr int WARPS = 4;

// As Tables in src/solvers/commit/cuda/buffers.rs.
struct Tables {
    // Fibre, then direction | length << 16.
    const uint2* records;
    // Voxel, first record, last record, FIRST | SHARED.
    const uint4* items;
    // Harmonics of each peak.
    const float* peaks;
    const u32* peak_counts;
    // r_l: of the streamlines' columns by shell, degree and column; of a peak's and of free water by column, shell
    // and degree. Then at b = 0: all of them.
    const float* intra;
    const float* own;
    const float* flat;
    // First sample of each shell, and one past the last.
    const u32* begins;
    u32 count, voxels, shells, places, extra, free;
    // Columns of streamlines in flat, in fours where there are more than two.
    u32 columns;
    float unit_mm;
    // Samples of a voxel and of those the ones at b = 0, padded to fours, and without padding.
    u32 samples, b0, b0_real;
    u32 unused;
};
static_assert(sizeof(Tables) == 112, "as in buffers.rs");
static constexpr u32 FIRST = 1, SHARED = 2;

__device__ __forceinline__ u32 stride(const Tables& t) { return t.shells * ROW + 4; }
__device__ __forceinline__ u32 own_count(const Tables& t) { return t.places * t.extra + t.free; }

// Basis of the samples, forward by harmonic and sample, back by sample and harmonic; 0 in what is padding,
// which has no direction.
extern "C" __global__ void commit_basis(const double* directions, u32 samples, float* forward, float* back) {
    u32 i = thread_index();
    if (!(i < samples)) return;
    const double* g = directions + 3 * i;
    Scaled s;
    harmonics(g[0], g[1], g[2], s);
    bool there = g[0] != 0 || g[1] != 0 || g[2] != 0;
#pragma unroll
    for (int n = 0; n < COUNT; ++n) {
        float v = there ? float(s.all[n]) : 0.0f;
        forward[n * samples + i] = v;
        back[i * ROW + n] = v;
    }
    back[i * ROW + COUNT] = 0;
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

// What peaks and free water give at b = 0.
__device__ __forceinline__ float own_flat(const Tables& t, const float* own, u32 voxel) {
    const float* x = own + u64(voxel) * own_count(t);
    const float* flat = t.flat + t.columns;
    float sum = 0;
    for (u32 p = 0; p < t.peak_counts[voxel]; ++p)
        for (u32 e = 0; e < t.extra; ++e) sum += flat[e] * x[p * t.extra + e];
    for (u32 f = 0; f < t.free; ++f) sum += flat[t.extra + f] * x[t.places * t.extra + f];
    return sum;
}

// What peaks and free water give to one harmonic of a shell.
__device__ __forceinline__ float own_sum(const Tables& t, const float* own, u32 voxel, u32 shell, u32 lm, u32 half) {
    const float* x = own + u64(voxel) * own_count(t);
    float sum = 0;
    for (u32 p = 0; p < t.peak_counts[voxel]; ++p) {
        float w = 0;
        for (u32 e = 0; e < t.extra; ++e)
            w += t.own[(e * t.shells + shell) * DEGREES + half] * x[p * t.extra + e];
        sum += w * t.peaks[(u64(voxel) * t.places + p) * COUNT + lm];
    }
    for (u32 f = 0; lm == 0 && f < t.free; ++f)
        sum += t.own[((t.extra + f) * t.shells + shell) * DEGREES] * x[t.places * t.extra + f];
    return sum;
}

// The sums of a voxel, or a part of them.
__device__ __forceinline__ void give(float* to, float value, bool shared, bool more) {
    if (shared) atomicAdd(to, value);
    else if (more) *to += value;
    else *to = value;
}

// Halves what a lane holds with each partner; `first`: number of the first that is left.
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

// Harmonic sums times r: the voxel's numbers for each shell. By lanes of a warp; `sums`: W of each.
template <int W>
__device__ __forceinline__ void contract(
    const Tables& t, const float* sums, const float* own, float* c, uint4 item, u32 chunk, int lane) {
    bool shared = item.w & SHARED, own_too = chunk == 0 && (item.w & FIRST);
    float* to = c + u64(item.x) * stride(t);
    const float* r = t.intra + chunk * t.shells * DEGREES * W;
    for (u32 lm = lane; lm < COUNT; lm += 32) {
        u32 half = halves.of[lm];
        for (u32 k = 0; k < t.shells; ++k) {
            float value = own_too ? own_sum(t, own, item.x, k, lm, half) : 0.0f;
#pragma unroll
            for (int j = 0; j < W; ++j) value = fmaf(r[(k * DEGREES + half) * W + j], sums[lm * W + j], value);
            give(to + k * ROW + lm, value, shared, chunk > 0);
        }
    }
    if (lane == 0) {
        float value = own_too ? own_flat(t, own, item.x) : 0.0f;
        for (int j = 0; j < W; ++j) value = fmaf(t.flat[chunk * W + j], sums[j], value);
        give(to + t.shells * ROW, value, shared, chunk > 0);
    }
}

// Segments whose streamlines have a weight, by lanes of a warp.
template <int W> struct Queue {
    const Tables& t;
    const float* z;
    // Lengths times weights, W a segment, and directions; the last ones are taken first.
    float* weights;
    u32* codes;
    u32 at, tile, end;
    uint2 now, next;
    float v[W];
    int waiting, lane;

    __device__ __forceinline__ Queue(const Tables& t, uint4 item, const float* z, float* weights, u32* codes, int lane)
        : t(t), z(z), weights(weights), codes(codes), at(item.y + lane), tile(item.y), end(item.z), waiting(0),
          lane(lane) {
        now = record(t, at, end), next = record(t, at + 32, end);
        load<W>(z + u64(now.x) * W, v);
    }

    // Takes as many as there are, up to so many (32 at most); they lie behind those that wait.
    __device__ __forceinline__ int fill(int most) {
        while (waiting < most && tile < end) {
            float length = float(now.y >> 16) * t.unit_mm;
            u32 any = 0;
#pragma unroll
            for (int j = 0; j < W; ++j) {
                v[j] *= length;
                any |= __float_as_uint(v[j]) << 1;
            }
            // Most weights end at 0, of either sign.
            u32 some = __ballot_sync(ALL, any != 0);
            int place = waiting + __popc(some & ((1u << lane) - 1));
            if (any) {
                codes[place] = now.y;
#pragma unroll
                for (int j = 0; j < W; ++j) weights[place * W + j] = v[j];
            }
            waiting += __popc(some);
            // Asked for before what is here is worked on.
            now = next;
            load<W>(z + u64(now.x) * W, v);
            at += 32;
            tile += 32;
            next = record(t, at + 32, end);
        }
        __syncwarp();
        int many = min(waiting, most);
        waiting -= many;
        return many;
    }
};

// A sums a lane, S lanes a segment; z: A · S a streamline.
template <int A, int S>
__device__ __forceinline__ void apply(const Tables& t, const float* z, const float* own, float* c, u32 chunk) {
    constexpr int W = A * S, SLOTS = 32 / S;
    __shared__ __align__(16) float all_sums[WARPS][PAD * W];
    __shared__ __align__(16) float all_weights[WARPS][64 * W];
    __shared__ u32 all_codes[WARPS][64];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const u32 number = blockIdx.x * WARPS + warp;
    if (!(number < t.count)) return;
    const uint4 item = t.items[number];
    float sums[A * PAD];
#pragma unroll
    for (int i = 0; i < A * PAD; ++i) sums[i] = 0;
    Queue<W> queue(t, item, z, all_weights[warp], all_codes[warp], lane);
    const int slot = lane / S, part = lane % S;
    while (int many = queue.fill(SLOTS)) {
        bool there = slot < many;
        int place = queue.waiting + (there ? slot : 0);
        u32 code = queue.codes[place];
        float w[A];
#pragma unroll
        for (int a = 0; a < A; ++a) w[a] = there ? queue.weights[place * W + part * A + a] : 0.0f;
        __syncwarp();
        f32x3 o = axis(code);
        Add<A> add = {w, sums};
        harmonics(o.x, o.y, o.z, add);
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
    contract<W>(t, kept, own, c, item, chunk, lane);
}

extern "C" __global__ void __launch_bounds__(128, 4)
commit_apply_1(Tables t, const float* z, const float* own, float* c, u32 chunk) {
    apply<1, 1>(t, z, own, c, chunk);
}
extern "C" __global__ void __launch_bounds__(128, 2)
commit_apply_2(Tables t, const float* z, const float* own, float* c, u32 chunk) {
    apply<2, 1>(t, z, own, c, chunk);
}
extern "C" __global__ void __launch_bounds__(128, 2)
commit_apply_4(Tables t, const float* z, const float* own, float* c, u32 chunk) {
    apply<2, 2>(t, z, own, c, chunk);
}

// Without shells: lengths alone.
extern "C" __global__ void commit_apply_flat(Tables t, const float* z, const float* own, float* c, u32) {
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
    if (lane == 0) {
        float value = sum * t.flat[0] + (item.w & FIRST ? own_flat(t, own, item.x) : 0.0f);
        give(c + u64(item.x) * stride(t), value, item.w & SHARED, false);
    }
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

// What the voxel's own columns get.
__device__ __forceinline__ void own_back(const Tables& t, const float* c, float* own, u32 voxel, int lane) {
    const float* from = c + u64(voxel) * stride(t);
    float* to = own + u64(voxel) * own_count(t);
    const float* flats = t.flat + t.columns;
    float flat = from[t.shells * ROW];
    for (u32 p = 0; p < t.places; ++p)
        for (u32 e = 0; e < t.extra; ++e) {
            bool there = p < t.peak_counts[voxel];
            float sum = 0;
            for (u32 lm = lane; there && lm < COUNT && t.shells; lm += 32) {
                float value = 0;
                for (u32 k = 0; k < t.shells; ++k)
                    value += t.own[(e * t.shells + k) * DEGREES + halves.of[lm]] * from[k * ROW + lm];
                sum += value * t.peaks[(u64(voxel) * t.places + p) * COUNT + lm];
            }
            for (int m = 16; m; m >>= 1) sum += __shfl_xor_sync(ALL, sum, m);
            if (lane == 0) to[p * t.extra + e] = there ? sum + flats[e] * flat : 0.0f;
        }
    for (u32 f = lane; f < t.free; f += 32) {
        float sum = flats[t.extra + f] * flat;
        for (u32 k = 0; k < t.shells; ++k)
            sum += t.own[((t.extra + f) * t.shells + k) * DEGREES] * from[k * ROW];
        to[t.places * t.extra + f] = sum;
    }
}

// What a segment gets for one of its harmonics, in each column; 0 for those that are none.
template <int W>
__device__ __forceinline__ void spread(const Tables& t, const float* c, u32 voxel, u32 chunk, u32 lm, float (&to)[W]) {
    const float* from = c + u64(voxel) * stride(t);
    const float* r = t.intra + (chunk * t.shells * DEGREES + halves.of[lm]) * W;
#pragma unroll
    for (int j = 0; j < W; ++j) to[j] = lm ? 0.0f : t.flat[chunk * W + j] * from[t.shells * ROW];
    for (u32 k = 0; lm < COUNT && k < t.shells; ++k) {
        float v = from[k * ROW + lm];
#pragma unroll
        for (int j = 0; j < W; ++j) to[j] = fmaf(r[k * DEGREES * W + j], v, to[j]);
    }
}

template <int W>
__device__ __forceinline__ void adjoint(const Tables& t, const float* c, float* z, float* own, u32 chunk) {
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
    for (u32 lm = lane; lm < COUNT; lm += 32) {
        float value[W];
        spread<W>(t, c, item.x, chunk, lm, value);
#pragma unroll
        for (int j = 0; j < W; ++j) q[lm * W + j] = value[j];
    }
    if (chunk == 0 && (item.w & FIRST)) own_back(t, c, own, item.x, lane);
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
            // Neighbours add to one streamline.
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
commit_adjoint_1(Tables t, const float* c, float* z, float* own, u32 chunk) {
    adjoint<1>(t, c, z, own, chunk);
}
extern "C" __global__ void __launch_bounds__(128)
commit_adjoint_2(Tables t, const float* c, float* z, float* own, u32 chunk) {
    adjoint<2>(t, c, z, own, chunk);
}
extern "C" __global__ void __launch_bounds__(128)
commit_adjoint_4(Tables t, const float* c, float* z, float* own, u32 chunk) {
    adjoint<4>(t, c, z, own, chunk);
}

extern "C" __global__ void commit_adjoint_flat(Tables t, const float* c, float* z, float* own, u32) {
    const int lane = threadIdx.x & 31;
    const u32 number = blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (!(number < t.count)) return;
    const uint4 item = t.items[number];
    if (item.w & FIRST) own_back(t, c, own, item.x, lane);
    float flat = t.flat[0] * c[u64(item.x) * stride(t)] * t.unit_mm;
    for (u32 at = item.y + lane; at < item.z; at += 32) {
        uint2 r = t.records[at];
        atomicAdd(z + r.x, flat * float(r.y >> 16));
    }
}

// ---- Both with harmonics in half precision, products by tensor cores

namespace wmma = nvcuda::wmma;
template <class Use, class Layout> using Matrix = wmma::fragment<Use, 32, 8, 16, half, Layout>;
using Products = wmma::fragment<wmma::accumulator, 32, 8, 16, float>;

// Halves from one segment's harmonics to the next: eight lanes write 16 bytes each to different banks.
static constexpr int ROWS = 104;

// Eight at a time.
struct WriteHalves {
    half* out;
    half2 four[4];
    float held;
    template <int N, int L, int M> __device__ __forceinline__ void take(float v) {
        if constexpr (N % 2 == 0 && N < COUNT - 1) held = v;
        else four[N / 2 % 4] = N % 2 ? __floats2half2_rn(held, v) : __floats2half2_rn(v, 0.0f);
        if constexpr (N == COUNT - 1) four[2] = four[3] = half2();
        if constexpr (N % 8 == 7 || N == COUNT - 1) *(uint4*)(out + N / 8 * 8) = *(const uint4*)four;
    }
};

// v in two parts of 11 bits.
__device__ __forceinline__ void split(float v, half& high, half& low) {
    high = __float2half_rn(v);
    low = __float2half_rn(v - __half2float(high));
}

// The power of two that makes the largest of a warp's numbers 2048 at most, and half of it at least.
__device__ __forceinline__ float scale_of(float most) {
    for (int m = 16; m; m >>= 1) most = fmaxf(most, __shfl_xor_sync(ALL, most, m));
    int power;
    frexpf(most, &power);
    return most > 0 ? ldexpf(1.0f, min(11 - power, 100)) : 1.0f;
}

extern "C" __global__ void __launch_bounds__(128)
commit_apply_fast(Tables t, const float* z, const float* own, float* c, u32 chunk) {
    __shared__ __align__(32) half all_rows[WARPS][32 * ROWS];
    __shared__ __align__(32) half all_columns[WARPS][32 * 8];
    __shared__ __align__(16) float all_weights[WARPS][64 * 4];
    __shared__ u32 all_codes[WARPS][64];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const u32 number = blockIdx.x * WARPS + warp;
    if (!(number < t.count)) return;
    const uint4 item = t.items[number];
    half *rows = all_rows[warp], *columns = all_columns[warp];
    Products sums[3];
    for (int i = 0; i < 3; ++i) wmma::fill_fragment(sums[i], 0.0f);
    Queue<4> queue(t, item, z, all_weights[warp], all_codes[warp], lane);
    float scale = 0;
    while (int many = queue.fill(32)) {
        bool there = lane < many;
        u32 code = queue.codes[queue.waiting + (there ? lane : 0)];
        float w[4];
        load<4>(queue.weights + (queue.waiting + (there ? lane : 0)) * 4, w);
        float most = 0;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            w[j] = there ? w[j] : 0.0f;
            most = fmaxf(most, fabsf(w[j]));
        }
        // Within what halves hold.
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
    // In the place of both parts, their sum.
    float4 added[3];
    for (int i = 0; i < 3; ++i) {
        float4 high = *(float4*)(both + (i * 32 + lane) * 8), low = *(float4*)(both + (i * 32 + lane) * 8 + 4);
        float by = scale > 0 ? 1 / scale : 0.0f;
        added[i] = make_float4(
            by * (high.x + low.x), by * (high.y + low.y), by * (high.z + low.z), by * (high.w + low.w));
    }
    __syncwarp();
    for (int i = 0; i < 3; ++i) *(float4*)(both + (i * 32 + lane) * 4) = added[i];
    __syncwarp();
    contract<4>(t, both, own, c, item, chunk, lane);
}

extern "C" __global__ void __launch_bounds__(128)
commit_adjoint_fast(Tables t, const float* c, float* z, float* own, u32 chunk) {
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
        spread<4>(t, c, item.x, chunk, i * 32 + lane, q[i]);
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
    if (chunk == 0 && (item.w & FIRST)) own_back(t, c, own, item.x, lane);
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
        // Neighbours add to one streamline.
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int n = i * 32 + lane, j = n / 4 * 8 + n % 4;
            uint2 r = records[n / 4];
            if (n < many) atomicAdd(z + u64(r.x) * 4 + n % 4, float(r.y >> 16) * unit * (out[j] + out[j + 4]));
        }
        now = next;
    }
}

#include "samples.cuh"
#include "columns.cuh"
