// Vectors and index helpers shared by all kernels.
//
// Entries are `extern "C" __global__ void <stem>_<verb>`. Guards are phrased so that NaN fails them: `if (!(x >=
// 0.0f)) return;`.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

// Three numbers in 12 bytes: a point or a direction, like [f32; 3] in Rust.
struct f32x3 {
    float x, y, z;
};
static_assert(sizeof(f32x3) == 12, "as [f32; 3] in Rust");

__device__ __forceinline__ f32x3 make(float x, float y, float z) { return {x, y, z}; }
__device__ __forceinline__ f32x3 operator+(f32x3 a, f32x3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ __forceinline__ f32x3 operator-(f32x3 a, f32x3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__device__ __forceinline__ f32x3 operator-(f32x3 a) { return {-a.x, -a.y, -a.z}; }
__device__ __forceinline__ f32x3 operator*(float s, f32x3 a) { return {s * a.x, s * a.y, s * a.z}; }
__device__ __forceinline__ float dot(f32x3 a, f32x3 b) { return fmaf(a.x, b.x, fmaf(a.y, b.y, a.z * b.z)); }

// The index of this thread in a one-dimensional grid.
__device__ __forceinline__ u32 thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
