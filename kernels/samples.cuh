// Part of commit.cu: from a voxel's harmonic sums to its samples, and back.
#pragma once
#include "sums.cuh"

// Voxels of a block, their distance in shared memory, and shells at once.
static constexpr int TILE = 32, GAP = 36, SHELLS = 3;

// What becomes of A x: it, or the residual A x - y; with `last`, the residual of the point before the last is what
// `out` holds. Adds the square of what is written, and that of its difference to last + beta (last - old).
struct Finish {
    float* out;
    const float* y;
    const float* last;
    double* sums;
    float beta;
    u32 unused;
};

__device__ __forceinline__ void finish(const Finish& f, u64 at, float4 ax, double (&sums)[2]) {
    float4* out = (float4*)(f.out + at);
    float4 r = ax;
    if (f.y) {
        float4 y = *(const float4*)(f.y + at);
        r = make_float4(ax.x - y.x, ax.y - y.y, ax.z - y.z, ax.w - y.w);
    }
    if (f.last) {
        float4 last = *(const float4*)(f.last + at), old = *out;
        float a = r.x - (last.x + f.beta * (last.x - old.x)), b = r.y - (last.y + f.beta * (last.y - old.y));
        float c = r.z - (last.z + f.beta * (last.z - old.z)), d = r.w - (last.w + f.beta * (last.w - old.w));
        sums[1] += a * a + b * b + (c * c + d * d);
    }
    *out = r;
    sums[0] += r.x * r.x + r.y * r.y + (r.z * r.z + r.w * r.w);
}

// A thread has 8 voxels and 4 samples.
extern "C" __global__ void __launch_bounds__(256)
commit_samples(Tables t, const float* c, const float* basis, Finish f) {
    __shared__ __align__(16) float tile[SHELLS * ROW * GAP];
    const u32 first = blockIdx.x * TILE;
    double sums[2] = {0, 0};
    const u32 b0_quads = t.b0 / 4;
    for (u32 i = threadIdx.x; i < TILE * b0_quads; i += 256) {
        u32 voxel = first + i / b0_quads, s = i % b0_quads * 4;
        if (!(voxel < t.voxels)) continue;
        float v = c[u64(voxel) * stride(t) + t.shells * ROW];
        float4 ax = make_float4(v, s + 1 < t.b0_real ? v : 0, s + 2 < t.b0_real ? v : 0, s + 3 < t.b0_real ? v : 0);
        finish(f, u64(voxel) * t.samples + s, ax, sums);
    }
    // As many shells each time.
    const u32 times = (t.shells + SHELLS - 1) / SHELLS;
    const u32 at_once = times ? (t.shells + times - 1) / times : 0;
    for (u32 begun = 0; begun < t.shells; begun += at_once) {
        u32 shells = min(at_once, t.shells - begun), rows = shells * ROW;
        __syncthreads();
        for (u32 i = threadIdx.x; i < rows * TILE; i += 256) {
            u32 voxel = i / rows, n = i % rows;
            bool there = first + voxel < t.voxels;
            tile[n * GAP + voxel] = there ? c[u64(first + voxel) * stride(t) + begun * ROW + n] : 0.0f;
        }
        __syncthreads();
        u32 last = t.begins[begun + shells] / 4, eight = threadIdx.x % 4 * 8;
        for (u32 quad = t.begins[begun] / 4 + threadIdx.x / 4; quad < last; quad += 64) {
            u32 shell = begun;
            while (quad * 4 >= t.begins[shell + 1]) ++shell;
            const float* from = tile + (shell - begun) * ROW * GAP + eight;
            const float* b = basis + quad * 4;
            float4 out[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) out[i] = make_float4(0, 0, 0, 0);
#pragma unroll 7
            for (int lm = 0; lm < COUNT; ++lm) {
                float4 y = __ldg((const float4*)(b + lm * t.samples));
                float v[8];
                *(float4*)v = *(const float4*)(from + lm * GAP);
                *(float4*)(v + 4) = *(const float4*)(from + lm * GAP + 4);
#pragma unroll
                for (int i = 0; i < 8; ++i) {
                    out[i].x = fmaf(v[i], y.x, out[i].x), out[i].y = fmaf(v[i], y.y, out[i].y);
                    out[i].z = fmaf(v[i], y.z, out[i].z), out[i].w = fmaf(v[i], y.w, out[i].w);
                }
            }
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                u32 voxel = first + eight + i;
                if (voxel < t.voxels) finish(f, u64(voxel) * t.samples + quad * 4, out[i], sums);
            }
        }
    }
    if (f.sums) add_up(sums, f.sums);
}

// Of now + beta (now - before).
__device__ __forceinline__ float4 ahead(const float* now, const float* before, float beta, u64 at) {
    float4 y = *(const float4*)(now + at);
    if (beta == 0) return y;
    float4 b = *(const float4*)(before + at);
    return make_float4(
        y.x + beta * (y.x - b.x), y.y + beta * (y.y - b.y), y.z + beta * (y.z - b.z), y.w + beta * (y.w - b.w));
}

// A thread has 8 voxels and 4 harmonics.
extern "C" __global__ void __launch_bounds__(96)
commit_sums(Tables t, const float* now, const float* before, float beta, const float* basis, float* c) {
    __shared__ __align__(16) float tile[32 * GAP];
    const u32 first = blockIdx.x * TILE, eight = threadIdx.x % 4 * 8, four = threadIdx.x / 4 * 4;
    if (threadIdx.x < TILE && first + threadIdx.x < t.voxels) {
        u64 voxel = first + threadIdx.x;
        float sum = 0;
        for (u32 s = 0; s < t.b0; s += 4) {
            // 0 in what is padding.
            float4 y = ahead(now, before, beta, voxel * t.samples + s);
            sum += y.x + y.y + (y.z + y.w);
        }
        c[voxel * stride(t) + t.shells * ROW] = sum;
    }
    for (u32 shell = 0; shell < t.shells; ++shell) {
        float4 out[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) out[i] = make_float4(0, 0, 0, 0);
        u32 end = t.begins[shell + 1];
        for (u32 begun = t.begins[shell]; begun < end; begun += 32) {
            u32 some = min(end - begun, 32u);
            __syncthreads();
            for (u32 i = threadIdx.x; i < TILE * 8; i += 96) {
                u32 voxel = first + i / 8, s = i % 8 * 4;
                bool there = s < some && voxel < t.voxels;
                float4 y = make_float4(0, 0, 0, 0);
                if (there) y = ahead(now, before, beta, u64(voxel) * t.samples + begun + s);
                float* to = tile + s * GAP + i / 8;
                to[0] = y.x, to[GAP] = y.y, to[2 * GAP] = y.z, to[3 * GAP] = y.w;
            }
            __syncthreads();
            if (four < ROW) {
#pragma unroll 4
                for (u32 s = 0; s < some; ++s) {
                    float4 b = __ldg((const float4*)(basis + u64(begun + s) * ROW + four));
                    float v[8];
                    *(float4*)v = *(const float4*)(tile + s * GAP + eight);
                    *(float4*)(v + 4) = *(const float4*)(tile + s * GAP + eight + 4);
#pragma unroll
                    for (int i = 0; i < 8; ++i) {
                        out[i].x = fmaf(v[i], b.x, out[i].x), out[i].y = fmaf(v[i], b.y, out[i].y);
                        out[i].z = fmaf(v[i], b.z, out[i].z), out[i].w = fmaf(v[i], b.w, out[i].w);
                    }
                }
            }
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            u64 voxel = first + eight + i;
            if (four < ROW && voxel < t.voxels) *(float4*)(c + voxel * stride(t) + shell * ROW + four) = out[i];
        }
    }
}
