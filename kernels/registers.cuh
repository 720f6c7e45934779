// Values that are computed again where they are used: kept for later, they would fill the registers of a long kernel.
#pragma once
#include "common.cuh"

// The index of this thread, read each time: addresses that follow from it are computed where they are used instead of
// filling registers during the whole iteration.
__device__ __forceinline__ u32 thread_now() {
    u32 thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

// A pointer that is read again from the kernel's parameters, for the same reason.
template <class T> __device__ __forceinline__ const T *read_now(const T *at) {
    asm volatile("" : "+l"(at));
    return at;
}
