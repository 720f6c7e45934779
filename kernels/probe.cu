// The self-test of a card: numbers that src/engine/compute/cuda/probe.rs computes, too. It also times an almost empty
// launch.
#include "common.cuh"

// One thread writes one element: the index mixed with `salt` by multiplications and shifts, wrapping.
extern "C" __global__ void probe_fill(u32* out_grid, u32 n, u32 salt) {
    u32 i = thread_index();
    if (!(i < n)) return;
    u32 value = (i ^ salt) * 0x9E3779B1u;
    value ^= value >> 15;
    out_grid[i] = value * 0x85EBCA6Bu + i;
}
