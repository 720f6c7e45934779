// Sums over the threads of a block, in double precision.
#pragma once
#include "common.cuh"

static constexpr u32 ALL = 0xffffffffu;

// Adds values over a block to `to`; called by all of its threads.
template <int N> __device__ __forceinline__ void add_up(const double (&values)[N], double* to) {
    __shared__ double parts[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (blockDim.x + 31) >> 5;
    for (int i = 0; i < N; ++i) {
        double v = values[i];
        for (int m = 16; m; m >>= 1) v += __shfl_xor_sync(ALL, v, m);
        __syncthreads();
        if (lane == 0) parts[warp] = v;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int k = 1; k < warps; ++k) v += parts[k];
            if (v != 0) atomicAdd(to + i, v);
        }
    }
}

// Sums over all threads of a block, always in the same order, so that cards with equal input get equal results.
__device__ __forceinline__ double whole(double v) {
    __shared__ double parts[32];
    for (int m = 16; m; m >>= 1) v += __shfl_xor_sync(ALL, v, m);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = v;
    __syncthreads();
    double sum = 0;
    for (int k = 0; k < (blockDim.x + 31) >> 5; ++k) sum += parts[k];
    return sum;
}
