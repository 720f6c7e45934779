// Part of commit.cu: from a voxel's harmonic sums to its samples, and back.
#pragma once
#include "sums.cuh"

// Voxels per block, and shells at once.
static constexpr int TILE = 32, SHELLS = 3;

// Distance between voxels in shared memory: four consecutive ones lie in different banks.
__device__ __forceinline__ constexpr u32 gap(u32 numbers) { return numbers + (36 - numbers % 32) % 32; }

// Sums of 8 voxels, 4 for each.
struct Block {
    float4 of[8];
    __device__ __forceinline__ Block() {
#pragma unroll
        for (int i = 0; i < 8; ++i) of[i] = make_float4(0, 0, 0, 0);
    }
    // Adds products of four numbers of each voxel, with voxels four apart, and four rows of the basis.
    __device__ __forceinline__ void add(const float* numbers, u32 distance, const float* basis, u64 row) {
        float4 v[8], b[4];
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = *(const float4*)(numbers + 4 * i * distance);
#pragma unroll
        for (int k = 0; k < 4; ++k) b[k] = __ldg((const float4*)(basis + k * row));
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const float own[4] = {v[i].x, v[i].y, v[i].z, v[i].w};
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                of[i].x = fmaf(own[k], b[k].x, of[i].x), of[i].y = fmaf(own[k], b[k].y, of[i].y);
                of[i].z = fmaf(own[k], b[k].z, of[i].z), of[i].w = fmaf(own[k], b[k].w, of[i].w);
            }
        }
    }
};

// The use of A x: itself, or the residual A x - y; with `last`, `out` holds the residual of the point before the
// last. Adds the square of the written value, and that of its difference from last + beta (last - old).
struct Finish {
    float* out;
    const float* y;
    const float* last;
    double* sums;
    float beta;
    u32 unused;
};

// Finishes `N` groups of four at the same time; skips those without an index.
template <int N>
__device__ __forceinline__ void finish(const Finish& f, const u64 (&at)[N], const float4* ax, double (&sums)[2]) {
    constexpr u64 NOWHERE = ~u64(0);
    float4 y[N], last[N], old[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
        y[i] = last[i] = old[i] = make_float4(0, 0, 0, 0);
        if (at[i] == NOWHERE) continue;
        if (f.y) y[i] = __ldg((const float4*)(f.y + at[i]));
        if (f.last) last[i] = __ldg((const float4*)(f.last + at[i])), old[i] = *(const float4*)(f.out + at[i]);
    }
    float square = 0, moved = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        if (at[i] == NOWHERE) continue;
        float4 r = make_float4(ax[i].x - y[i].x, ax[i].y - y[i].y, ax[i].z - y[i].z, ax[i].w - y[i].w);
        float4 l = last[i], o = old[i];
        float a = r.x - (l.x + f.beta * (l.x - o.x)), b = r.y - (l.y + f.beta * (l.y - o.y));
        float c = r.z - (l.z + f.beta * (l.z - o.z)), d = r.w - (l.w + f.beta * (l.w - o.w));
        moved += a * a + b * b + (c * c + d * d);
        square += r.x * r.x + r.y * r.y + (r.z * r.z + r.w * r.w);
        *(float4*)(f.out + at[i]) = r;
    }
    sums[0] += square;
    sums[1] += moved;
}

// A thread handles 8 voxels, four apart, and 4 samples; blocks of at most 256 threads, one per group of four samples.
extern "C" __global__ void __launch_bounds__(256, 2)
commit_samples(Tables t, const float* c, const float* basis, Finish f) {
    __shared__ __align__(16) float tile[TILE * gap(SHELLS * ROW)];
    const u32 first = blockIdx.x * TILE;
    double sums[2] = {0, 0};
    const u32 b0_quads = t.b0 / 4;
    for (u32 i = threadIdx.x; i < TILE * b0_quads; i += blockDim.x) {
        u32 voxel = first + i / b0_quads, s = i % b0_quads * 4;
        if (!(voxel < t.voxels)) continue;
        float v = c[u64(voxel) * stride(t) + t.shells * ROW];
        float4 ax = make_float4(v, s + 1 < t.b0_real ? v : 0, s + 2 < t.b0_real ? v : 0, s + 3 < t.b0_real ? v : 0);
        const u64 at[1] = {u64(voxel) * t.samples + s};
        finish<1>(f, at, &ax, sums);
    }
    // Equal numbers of shells each time.
    const u32 times = (t.shells + SHELLS - 1) / SHELLS;
    const u32 at_once = times ? (t.shells + times - 1) / times : 0;
    for (u32 start = 0; start < t.shells; start += at_once) {
        u32 shells = min(at_once, t.shells - start), distance = gap(shells * ROW);
        __syncthreads();
        // Eight threads per voxel.
        for (u32 own = threadIdx.x / 8; own < TILE; own += blockDim.x / 8) {
            const float* from = c + u64(first + own) * stride(t) + start * ROW;
            for (u32 n = threadIdx.x % 8 * 4; n < shells * ROW; n += 32)
                *(float4*)(tile + own * distance + n) =
                    first + own < t.voxels ? *(const float4*)(from + n) : make_float4(0, 0, 0, 0);
        }
        __syncthreads();
        u32 last = t.begins[start + shells] / 4, voxel = threadIdx.x % 4;
        for (u32 quad = t.begins[start] / 4 + threadIdx.x / 4; quad < last; quad += blockDim.x / 4) {
            u32 shell = start;
            while (quad * 4 >= t.begins[shell + 1]) ++shell;
            const float* numbers = tile + voxel * distance + (shell - start) * ROW;
            Block out;
#pragma unroll 1
            for (int lm = 0; lm < ROW; lm += 4)
                out.add(numbers + lm, distance, basis + u64(lm) * t.samples + quad * 4, t.samples);
#pragma unroll
            for (int i = 0; i < 8; i += 4) {
                u64 at[4];
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    u32 v = first + voxel + 4 * (i + k);
                    at[k] = v < t.voxels ? u64(v) * t.samples + quad * 4 : ~u64(0);
                }
                finish<4>(f, at, out.of + i, sums);
            }
        }
    }
    if (f.sums) add_up(sums, f.sums);
}

// The point now + beta (now - before).
__device__ __forceinline__ float4 ahead(const float* now, const float* before, float beta, u64 at) {
    float4 y = *(const float4*)(now + at);
    if (beta == 0) return y;
    float4 b = *(const float4*)(before + at);
    return make_float4(
        y.x + beta * (y.x - b.x), y.y + beta * (y.y - b.y), y.z + beta * (y.z - b.z), y.w + beta * (y.w - b.w));
}

// A thread handles 8 voxels, four apart, and 4 harmonics.
extern "C" __global__ void __launch_bounds__(96)
commit_sums(Tables t, const float* now, const float* before, float beta, const float* basis, float* c) {
    // Samples at once.
    constexpr u32 SAMPLES = 64, DISTANCE = gap(SAMPLES);
    __shared__ __align__(16) float tile[TILE * DISTANCE];
    const u32 first = blockIdx.x * TILE, voxel = threadIdx.x % 4, four = threadIdx.x / 4 * 4;
    if (threadIdx.x < TILE && first + threadIdx.x < t.voxels) {
        u64 own = first + threadIdx.x;
        float sum = 0;
        for (u32 s = 0; s < t.b0; s += 4) {
            // 0 in padding.
            float4 y = ahead(now, before, beta, own * t.samples + s);
            sum += y.x + y.y + (y.z + y.w);
        }
        c[own * stride(t) + t.shells * ROW] = sum;
    }
    for (u32 shell = 0; shell < t.shells; ++shell) {
        Block out;
        u32 end = t.begins[shell + 1];
        for (u32 start = t.begins[shell]; start < end; start += SAMPLES) {
            u32 some = min(end - start, SAMPLES);
            __syncthreads();
            for (u32 i = threadIdx.x; i < TILE * SAMPLES / 4; i += 96) {
                u32 own = i / (SAMPLES / 4), s = i % (SAMPLES / 4) * 4;
                if (s < some && first + own < t.voxels)
                    *(float4*)(tile + own * DISTANCE + s) =
                        ahead(now, before, beta, u64(first + own) * t.samples + start + s);
            }
            __syncthreads();
            if (four < ROW)
#pragma unroll 1
                for (u32 s = 0; s < some; s += 4)
                    out.add(tile + voxel * DISTANCE + s, DISTANCE, basis + u64(start + s) * ROW + four, ROW);
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            u64 own = first + voxel + 4 * i;
            if (four < ROW && own < t.voxels) *(float4*)(c + own * stride(t) + shell * ROW + four) = out.of[i];
        }
    }
}
