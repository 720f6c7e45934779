// Passes over many bricks, each processed by a warp; see level_set.cu.
#pragma once

#include "bricks.cuh"

// Groups of entries of the shell, 32 each.
constexpr int GROUPS = 5;
__device__ __forceinline__ bool is_row(int group, int lane) { return group < 2 || (group == 4 && lane < 8); }
__device__ __forceinline__ bool is_column(int group, int lane) {
    return group == 2 || (group == 4 && lane >= 8 && lane < 16);
}
__device__ __forceinline__ bool is_single(int group) { return group == 3; }

// Rereads a value from a level visible to all blocks.
__device__ __forceinline__ u32 relaxed(const u32* at) {
    u32 v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
    return v;
}

// A read that also makes everything written before the stored value visible.
__device__ __forceinline__ u32 acquired(const u32* at) {
    u32 v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
    return v;
}

__device__ __forceinline__ u64 acquired(const u64* at) {
    u64 v;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(at) : "memory");
    return v;
}

__device__ __forceinline__ void in_order() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// Number of fresh pages in a pass that is not a launch's first; by one thread. -1: not known yet, because the
// previous pass, over `before` bricks, has not ended. The first thread to find out records it for all.
__device__ __noinline__ int fresh_in(Lap* lap, const State* s, u32 number, u32 before) {
    u64 word = acquired(&lap->fresh);
    if ((u32)(word >> 32) != number) {
        if (acquired(&lap[-1].finished) < before) return -1;
        u64 mine = (u64)number << 32 | (u32)*(volatile int*)&s->activated;
        in_order();
        u64 previous = atomicCAS(&lap->fresh, word, mine);
        in_order();
        word = previous == word ? mine : previous;
    }
    return (int)(u32)word;
}

// A position in the sequence of a launch's bricks: those of its first pass, then those of the second, and so on. In
// each pass, the pages with which the launch began come first, then fresh ones.
struct Line {
    // The turn of the first brick of the pass.
    u32 begin;
    int pass;
    // Number of fresh pages of the pass, a lower bound while it is not known.
    int fresh;
    bool known;
};

// Advances to a turn, in a launch with a given number of passes and initial pages. False: the pass of the turn is not
// known yet; waits for that if permitted. `known_passes`: the block's knowledge about two passes, as in Lap.
__device__ __forceinline__ bool advance_to_turn(
    const Tables& t, volatile u64* known_passes, Line& l, u32 turn, int passes, int pages, int first_step, bool wait) {
    while (l.pass < passes && turn - l.begin >= (u32)(pages + l.fresh)) {
        if (l.known) {
            l.begin += pages + l.fresh;
            l.pass++;
            l.known = false;
            continue;
        }
        const u64 word = known_passes[l.pass & 1];
        __threadfence_block();
        int fresh = (int)(u32)word;
        if (!__all_sync(ALL, (int)(word >> 32) == first_step + l.pass)) {
            if ((threadIdx.x & 31) == 0)
                fresh = fresh_in(t.laps + l.pass, t.state, first_step + l.pass, pages + l.fresh);
            fresh = __shfl_sync(ALL, fresh, 0);
            __threadfence_block();
            if (fresh >= 0) known_passes[l.pass & 1] = (u64)(u32)(first_step + l.pass) << 32 | (u32)fresh;
        }
        if (fresh >= 0) {
            l.fresh = fresh;
            l.known = true;
        } else {
            if (!wait) return false;
            __nanosleep(100);
        }
    }
    __syncwarp();
    return true;
}

// Shared memory of a warp.
struct WarpMemory {
    // Planes are 64 values apart, so that parts have no bank conflicts.
    static constexpr int STAGE = 68;
    float tile[TILE];
    // First the speeds, then the new values of the voxels.
    float stage[8 * STAGE];
    int slots[32];
};
static_assert(sizeof(WarpMemory) == 8080, "as SHARED_BYTES_PER_WARP in cuda.rs");

// Takes a turn that no other warp has. Not an addition: the compiler would combine those of the warp, and wait for
// the result immediately.
__device__ __forceinline__ u32 take(State* s) { return atomicInc(&s->turn, ~0u); }

// Loads a brick with its shell, and its speeds if the pass is a step, to shared memory. `slot`: the lane's neighbour.
__device__ __forceinline__ void load_brick(
    const Tables& t, const u32* shell, const float* now, WarpMemory& memory, int page, u32 place, int slot,
    bool stepping) {
    const int me = threadIdx.x & 31;
    float4 own[4], speeds[4], line[GROUPS];
    memory.slots[me] = slot * 512;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < GROUPS; k++) {
        u32 e = shell[me + k * 32], page_at = memory.slots[e >> 21], at = e & 1023;
        line[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (is_row(k, me)) line[k] = __ldcg((const float4*)(now + (page_at + at)));
        else {
            const float* side = now + (t.sides + (page_at >> 2) + at);
            if (is_column(k, me)) line[k] = __ldcg((const float4*)side);
            else if (is_single(k)) line[k].x = __ldcg(side);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        own[k] = __ldcg((const float4*)now + (u32)(page * 128 + me + k * 32));
        if (stepping)
            speeds[k] = __ldg((const float4*)t.speeds + ((size_t)brick_of(t, place) * 128 + me + k * 32));
    }
#pragma unroll
    for (int k = 0; k < GROUPS; k++) {
        float* to = memory.tile + (shell[me + k * 32] >> 10 & 2047);
        if (is_row(k, me)) *(float4*)to = line[k];
        else if (is_column(k, me)) {
            to[0] = line[k].x;
            to[ROW] = line[k].y;
            to[2 * ROW] = line[k].z;
            to[3 * ROW] = line[k].w;
        } else if (is_single(k)) to[0] = line[k].x;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int i = me + k * 32, row = i >> 1;
        *(float4*)(memory.tile + at((i & 1) * 4, row & 7, row >> 3)) = own[k];
        if (stepping) *(float4*)(memory.stage + (i >> 4) * WarpMemory::STAGE + (i & 15) * 4) = speeds[k];
    }
    __syncwarp();
    if (place & BORDER) repeat<32>(memory.tile, border_of(t, place));
}

// Results for a thread's voxels in a pass: one bit per part.
struct Became {
    u32 was, is, band;
};

// Half a pass over the loaded brick: the lower half, or the upper one.
template <int KIND, int PASS>
__device__ __forceinline__ void work(
    const Rules* rules, const Rules& r, WarpMemory& memory, int half, bool begins, Became& b) {
    constexpr int STAGE = WarpMemory::STAGE;
    const int me = threadIdx.x & 31, x0 = me & 3, y0 = me >> 2 & 3, z0 = me >> 4;
    const float* q0 = memory.tile + at(x0, y0, z0 + 4 * half);
    float* stage0 = memory.stage + (x0 + 8 * y0 + STAGE * (z0 + 4 * half));
    u32 bit = 1u << 8 * half;
#pragma unroll 4
    for (int k = 0; k < 8; k++, bit <<= 1) {
        const float* q = q0 + (4 * (k & 1) + 4 * ROW * (k >> 1 & 1) + 2 * PLANE * (k >> 2));
        float* staged = stage0 + (4 * (k & 1) + 32 * (k >> 1 & 1) + 2 * STAGE * (k >> 2));
        float v = q[0];
        if (v > 0.0f) b.was |= bit;
        if (__any_sync(ALL, differs(q, r.clamp) != 0)) {
            float speed = PASS == REDISTANCE ? 0.0f : *staged;
            v = become<KIND, false, PASS>(q, r, rules, nullptr, speed, nullptr, begins);
            if (fabsf(v) < r.clamp) b.band |= bit;
        }
        if (v > 0.0f) b.is |= bit;
        *staged = v;
    }
}

// Stores the brick. The pass is one of several, the first `steps` of which are steps of the equation.
__device__ __forceinline__ void store_brick(
    const Tables& t, float* now, float* next, const Rules& r, WarpMemory& memory, int page, u32 place, const Became& b,
    int first_step, int pass, int passes, int steps) {
    constexpr int PARTS = 16, STAGE = WarpMemory::STAGE;
    const int me = threadIdx.x & 31, x0 = me & 3, y0 = me >> 2 & 3, z0 = me >> 4;
    u32 valid = place & BORDER ? within<PARTS>(border_of(t, place), x0, y0, z0) : ALL;
    u32 flips = (b.was ^ b.is) & valid;
    if (flips) {
        int first = x0 + 8 * y0 + 64 * z0;
        if (steps > 0) count<STEP>(t.state, t.log, nullptr, flips & b.is, flips & b.was, first, min(pass, steps - 1));
        else count<REDISTANCE>(t.state, t.log, nullptr, flips & b.is, flips & b.was, first, pass);
    }
    u32 seen = touches(b.band & valid, x0, y0, z0);
    seen |= (b.is & valid ? 1u << 28 : 0u) | (~b.is & valid & ((1u << PARTS) - 1) ? 2u << 28 : 0u);
    for (int i = 16; i; i >>= 1) seen |= __shfl_xor_sync(ALL, seen, i);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int i = me + k * 32;
        ((float4*)next)[(u32)(page * 128 + i)] = *(const float4*)(memory.stage + (i >> 4) * STAGE + (i & 15) * 4);
    }
#pragma unroll
    for (int row = me; row < 64; row += 32) {
        const float* ends = memory.stage + (row >> 3) * STAGE + (row & 7) * 8;
        float* side = next + (t.sides + (u32)(page * 128 + row));
        side[0] = ends[0];
        side[64] = ends[7];
    }
    report(
        t, now, next, page, place, seen, memory.slots, first_step + pass, r.clamp, pass + 1 == passes, LONG_LINGER);
    __syncwarp();
}

// The page of a turn; 0 if there is nothing to do.
__device__ __forceinline__ int page_at(const Tables& t, const Line& l, u32 turn, int pages, int first_step) {
    const int index = turn - l.begin;
    if (index < pages) return __ldcg(t.line + index);
    // Already counted, and soon published.
    int page;
    do page = (int)(acquired((const u64*)t.taken + (index - pages)) >> 32);
    while (page == 0);
    // From the pass after the one that added it.
    return (int)acquired(t.pass_of_page + page) - first_step <= l.pass ? page : 0;
}

// Whether a page holds the values that a pass reads.
__device__ __forceinline__ bool ready(const Tables& t, int slot, int step) {
    return slot < 2 || (int)relaxed(t.pass_of_page + slot) - step >= 0;
}

// Records that a pass over a brick, or over none, is finished and its values can be read.
__device__ __forceinline__ void done(const Tables& t, int page, int pass, int first_step) {
    __syncwarp();
    in_order();
    __syncwarp();
    if ((threadIdx.x & 31) != 0) return;
    if (page) *(volatile u32*)(t.pass_of_page + page) = first_step + pass + 1;
    atomicAdd(&t.laps[pass].finished, 1u);
}

// A number of passes over all bricks, each warp taking the next one after the other. The first `steps` passes are
// steps of the equation, the others redistance; `begins`: from its first pass on.
//
// There is no barrier between passes. A brick is computed when its neighbours' values are those of the previous pass,
// at which time those in the other copy are no longer needed. Bricks that others wait for were taken earlier, so some
// warp computes them; in the order of bricks they are mostly long finished. A page allocated in a launch is constant
// in its first pass, and known to all before the next one: no brick is in a pass before the last but one has ended.
template <int KIND>
__device__ __forceinline__ void many(
    const Tables& t, float* first_copy, float* other_copy, int passes, int steps, bool begins) {
    extern __shared__ __align__(16) float warp_memories[];
    __shared__ u32 shell[GROUPS * 32];
    __shared__ u64 known_passes[2];
    const int me = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = gridDim.x * (blockDim.x >> 5);
    WarpMemory& memory = ((WarpMemory*)warp_memories)[warp];
    for (int i = threadIdx.x; i < GROUPS * 32; i += blockDim.x) shell[i] = t.shell[i];
    if (threadIdx.x < 2) known_passes[threadIdx.x] = 0;
    __syncthreads();
    const Rules r = *t.rules;
    State* s = t.state;
    const int first_step = s->step, pages = s->in_line;
    Line line = {0, 0, 0, true};
    u32 turn = warp * gridDim.x + blockIdx.x, place = NONE;
    int page = 0, slot = 0;
    // The turn's pass is known, and the neighbours' values are available.
    bool is_known = false, may = false;
#pragma unroll 1
    while (true) {
        if (!is_known) {
            advance_to_turn(t, known_passes, line, turn, passes, pages, first_step, true);
            page = line.pass < passes ? page_at(t, line, turn, pages, first_step) : 0;
            if (page) {
                place = __ldcg(t.place + page);
                slot = __ldcg(t.neighbours + page * 32 + me);
            }
            may = false;
        }
        if (line.pass >= passes) break;
        const int pass = line.pass, current = page;
        const u32 here = place;
        const bool stepping = pass < steps;
        float* now = pass & 1 ? other_copy : first_copy;
        float* next = pass & 1 ? first_copy : other_copy;
        Became became = {0, 0, 0};
        u32 taken = 0;
        if (me == 0) taken = take(s);
        if (current) {
            if (pass > 0 && !__all_sync(ALL, may)) {
                while (!__all_sync(ALL, may || ready(t, slot, first_step + pass))) __nanosleep(200);
                in_order();
                __syncwarp();
            }
            load_brick(t, shell, now, memory, current, here, slot, stepping);
        }
#pragma unroll 1
        for (int half = 0; half < 2; half++) {
            if (current) {
                if (stepping) work<KIND, STEP>(t.rules, r, memory, half, false, became);
                else work<KIND, REDISTANCE>(t.rules, r, memory, half, begins && pass == steps, became);
            }
            if (half == 0) {
                turn = warps + __shfl_sync(ALL, taken, 0);
                is_known = advance_to_turn(t, known_passes, line, turn, passes, pages, first_step, false);
                page = is_known && line.pass < passes ? page_at(t, line, turn, pages, first_step) : 0;
            }
        }
        if (page) {
            place = __ldcg(t.place + page);
            slot = __ldcg(t.neighbours + page * 32 + me);
        }
        if (current) store_brick(t, now, next, r, memory, current, here, became, first_step, pass, passes, steps);
        may = page && ready(t, slot, first_step + line.pass);
        done(t, current, pass, first_step);
    }
}
