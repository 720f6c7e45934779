// Code shared by the kernels that follow curves: stop reasons, intersections of segments with regions, and gathering
// of points.
#pragma once
#include "regions.cuh"

// `StopReason` in src/engine/solvers/curves/output.rs.
enum Reason { REACHED, TERMINATED, LEFT_VOLUME, LEFT_MASK, LOW_FA, ANGLE, MAX_LENGTH, MAX_STEPS, SEED, LOOP, INDEFINITE, LEAP };
const u32 GO = 99;

// Regions met so far, one bit each.
__device__ __forceinline__ bool has_met(u32 met, u32 gate) { return met >> gate & 1; }
__device__ __forceinline__ void mark_met(u32& met, u32 gate) { met |= 1u << gate; }

// Records the regions that a segment meets in `met`; returns the first one that cuts it, at fraction `cut` of its
// length, or NONE. At the same point a target precedes a terminate region, and an earlier region a later one.
template <class Rules, class Marks>
__device__ __forceinline__ u32 meet(const Rules& rules, const Gate* gates, const unsigned char* bytes, f32x3 from,
                                    f32x3 to, Marks& met, float& cut) {
    u32 cut_by = NONE;
    bool close = false;
    cut = 2.0f;
    for (u32 i = 0; i < rules.gates; i++) {
        const Gate& gate = gates[i];
        if (!in_box(to, gate.near_low, gate.near_high) || has_met(met, i)) continue;
        close = true;
        if (gate.effect >= 2) continue;
        float t = entry(gate, bytes, from, to);
        if (!(t <= 1.0f)) continue;
        bool first = t < cut || (t == cut && gate.effect == 0 && (cut_by == NONE || gates[cut_by].effect == 1));
        if (first) cut = t, cut_by = i;
    }
    for (u32 i = 0; close && i < rules.gates; i++) {
        if (!in_box(to, gates[i].near_low, gates[i].near_high) || has_met(met, i)) continue;
        // Beyond the cut there is no curve.
        float t = entry(gates[i], bytes, from, to);
        if (t <= 1.0f && t <= cut) mark_met(met, i);
    }
    return cut_by;
}

// Whether a point lies in one of the mask regions, which follow the others.
template <class Rules>
__device__ __forceinline__ bool allowed(const Rules& rules, const Gate* gates, const unsigned char* bytes, f32x3 at) {
    for (u32 i = 0; i < rules.masks; i++) {
        if (entry(gates[rules.gates + i], bytes, at, at) <= 1.0f) return true;
    }
    return false;
}

// `CurveRange` in src/engine/solvers/curves/cuda/mod.rs: a curve's index in the grid, its number of points, the
// output index of the first, and the step from one to the next: 1, or -1 for reverse order.
struct CurveRange {
    u32 slot, count;
    u32 first;
    int step;
};

// `SeedPlace` in src/engine/solvers/curves/cuda/mod.rs: a curve's seed (world, mm), its index in the output, and that
// of a neighbour, whose measure it takes.
struct SeedPlace {
    u32 place, neighbour;
    f32x3 at;
};

// A block of 256 threads copies the points of 32 curves from a grid that stores them by steps, so that those of each
// curve become contiguous: reads run along the slots, writes along the curves. `keep` stores a point.
template <class Point, class Keep>
__device__ __forceinline__ void gather(const Point* step_grid, u32 slots, const CurveRange* ranges, u32 curves, Keep keep) {
    const u32 DEPTH = 16;
    __shared__ Point tile[32][DEPTH + 1];
    __shared__ CurveRange mine[32];
    u32 lane = threadIdx.x % 32, most = 0;
    if (threadIdx.x < 32) {
        u32 i = blockIdx.x * 32 + lane;
        mine[lane] = i < curves ? ranges[i] : CurveRange{0, 0, 0, 1};
    }
    __syncthreads();
    for (u32 i = 0; i < 32; i++) most = max(most, mine[i].count);
    for (u32 first = 0; first < most; first += DEPTH) {
        for (u32 k = threadIdx.x / 32; k < DEPTH; k += blockDim.x / 32) {
            if (first + k < mine[lane].count) tile[lane][k] = step_grid[(size_t)(first + k) * slots + mine[lane].slot];
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < 32 * DEPTH; i += blockDim.x) {
            CurveRange curve = mine[i / DEPTH];
            u32 k = i % DEPTH;
            if (first + k < curve.count) keep(curve.first + curve.step * (int)(first + k), tile[i / DEPTH][k]);
        }
        __syncthreads();
    }
}
