// Passes over many bricks, each by a warp; see level_set.cu.
#pragma once

#include "bricks.cuh"

// Kinds of entries of the shell, 32 at a time.
constexpr int GROUPS = 5;
__device__ __forceinline__ bool is_row(int group, int lane) { return group < 2 || (group == 4 && lane < 8); }
__device__ __forceinline__ bool is_column(int group, int lane) {
    return group == 2 || (group == 4 && lane >= 8 && lane < 16);
}
__device__ __forceinline__ bool is_single(int group) { return group == 3; }

// Ends a pass of many() that is not a launch's last: waits for all blocks.
__device__ __forceinline__ int end_pass(State* s, u32 pass) {
    __shared__ int high;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(&s->arrived, 1u) + 1 == (pass + 1) * gridDim.x) {
            s->turn = 0;
            __threadfence();
            *(volatile u32*)&s->passed = pass + 1;
        }
        u64 word;
        do word = *(volatile u64*)&s->passed;
        while ((u32)word != pass + 1);
        __threadfence();
        high = word >> 32;
    }
    __syncthreads();
    return high;
}

// What a warp has in shared memory.
struct Desk {
    // Planes of 64 apart, so that parts have no bank conflicts.
    static constexpr int STAGE = 68;
    float tile[TILE];
    // Speeds at first, then what became of the voxels.
    float stage[8 * STAGE];
    int slots[32];
    // Which brick is the next.
    u32 turn, unused[3];
};
static_assert(sizeof(Desk) == 8096, "as DESK in cuda.rs");

// Takes a brick that no other warp has. No addition: the compiler would collect those of the warp, and wait
// for the answer at once.
__device__ __forceinline__ u32 take(State* s) { return atomicInc(&s->turn, 1u << 30); }

// Puts a brick with its shell, and its speeds, on the desk. `slot`: the lane's neighbour.
template <int PASS>
__device__ __forceinline__ void spread_out(
    const Tables& t, const float* now, Desk& desk, int page, u32 place, int slot) {
    const int me = threadIdx.x & 31;
    float4 own[4], speeds[4], line[GROUPS];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        own[k] = __ldcg((const float4*)now + (u32)(page * 128 + me + k * 32));
        if (PASS != REDISTANCE)
            speeds[k] = __ldg((const float4*)t.speeds + ((size_t)brick_of(t, place) * 128 + me + k * 32));
    }
    desk.slots[me] = slot * 512;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < GROUPS; k++) {
        u32 e = entry(t.shell + me + k * 32), page_at = desk.slots[e >> 21], at = e & 1023;
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
        int i = me + k * 32, row = i >> 1;
        *(float4*)(desk.tile + at((i & 1) * 4, row & 7, row >> 3)) = own[k];
        if (PASS != REDISTANCE) *(float4*)(desk.stage + (i >> 4) * Desk::STAGE + (i & 15) * 4) = speeds[k];
    }
#pragma unroll
    for (int k = 0; k < GROUPS; k++) {
        float* to = desk.tile + (entry(t.shell + me + k * 32) >> 10 & 2047);
        if (is_row(k, me)) *(float4*)to = line[k];
        else if (is_column(k, me)) {
            to[0] = line[k].x;
            to[ROW] = line[k].y;
            to[2 * ROW] = line[k].z;
            to[3 * ROW] = line[k].w;
        } else if (is_single(k)) to[0] = line[k].x;
    }
    __syncwarp();
    if (place & BORDER) repeat<32>(desk.tile, border_of(t, place));
}

// What became of a thread's voxels in a pass: a bit for each part.
struct Became {
    u32 was, is, band;
};

// Half a pass over the brick on the desk: the lower one, or the upper one.
template <int KIND, int PASS>
__device__ __forceinline__ void work(const Rules* rules, const Rules& r, Desk& desk, int half, bool begins, Became& b) {
    constexpr int STAGE = Desk::STAGE;
    const int me = threadIdx.x & 31, x0 = me & 3, y0 = me >> 2 & 3, z0 = me >> 4;
    const float* q0 = desk.tile + at(x0, y0, z0 + 4 * half);
    float* stage0 = desk.stage + (x0 + 8 * y0 + STAGE * (z0 + 4 * half));
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

// Takes the brick off the desk.
template <int PASS>
__device__ __forceinline__ void clear_up(
    const Tables& t, float* now, float* next, const Rules& r, Desk& desk, int page, u32 place, const Became& b,
    int step, int pass, bool last) {
    constexpr int PARTS = 16, STAGE = Desk::STAGE;
    const int me = threadIdx.x & 31, x0 = me & 3, y0 = me >> 2 & 3, z0 = me >> 4;
    u32 valid = place & BORDER ? within<PARTS>(border_of(t, place), x0, y0, z0) : ALL;
    u32 flips = (b.was ^ b.is) & valid;
    if (flips) count<PASS>(t.state, t.log, nullptr, flips & b.is, flips & b.was, x0 + 8 * y0 + 64 * z0, pass);
    u32 seen = touches(b.band & valid, x0, y0, z0);
    seen |= (b.is & valid ? 1u << 28 : 0u) | (~b.is & valid & ((1u << PARTS) - 1) ? 2u << 28 : 0u);
    for (int i = 16; i; i >>= 1) seen |= __shfl_xor_sync(ALL, seen, i);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int i = me + k * 32;
        ((float4*)next)[(u32)(page * 128 + i)] = *(const float4*)(desk.stage + (i >> 4) * STAGE + (i & 15) * 4);
    }
#pragma unroll
    for (int row = me; row < 64; row += 32) {
        const float* ends = desk.stage + (row >> 3) * STAGE + (row & 7) * 8;
        float* side = next + (t.sides + (u32)(page * 128 + row));
        side[0] = ends[0];
        side[64] = ends[7];
    }
    report(t, now, next, page, place, seen, desk.slots, step, r.clamp, last);
    __syncwarp();
}

// So many passes over all bricks, a warp taking one after the other, whichever comes next.
template <int KIND, int PASS>
__device__ __forceinline__ void many(
    const Tables& t, float* first_copy, float* other_copy, int passes, int begins) {
    extern __shared__ __align__(16) float desks[];
    const int me = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = gridDim.x * (blockDim.x >> 5);
    Desk& desk = ((Desk*)desks)[warp];
    const Rules r = *t.rules;
    State* s = t.state;
    const int first_step = s->step;
    int high = *(volatile int*)&s->high;
#pragma unroll 1
    for (int pass = 0; pass < passes; pass++) {
        float* now = pass & 1 ? other_copy : first_copy;
        float* next = pass & 1 ? first_copy : other_copy;
        // To and fro: what the pass before wrote last is still in the cache.
        const int pages = high - 2, begin = pass & 1 ? high - 1 : 2, way = pass & 1 ? -1 : 1;
        int turn = warp * gridDim.x + blockIdx.x, page = begin + way * turn, slot = 0;
        u32 place = NONE;
        if (turn < pages) {
            place = t.place[page];
            slot = t.neighbours[page * 32 + me];
        }
        while (turn < pages) {
            Became became = {0, 0, 0};
            u32 taken = 0;
            if (place != NONE) {
                spread_out<PASS>(t, now, desk, page, place, slot);
#pragma unroll 1
                for (int half = 0; half < 2; half++) {
                    work<KIND, PASS>(t.rules, r, desk, half, begins && pass == 0, became);
                    // Late, so that whoever is done first takes the next one, and not too late to have it
                    // in time.
                    if (half == 0 && me == 0) taken = take(s);
                }
            } else if (me == 0) {
                taken = take(s);
            }
            if (me == 0) desk.turn = taken;
            __syncwarp();
            turn = warps + desk.turn;
            const int then = begin + way * turn;
            u32 then_place = NONE;
            if (turn < pages) {
                then_place = t.place[then];
                slot = t.neighbours[then * 32 + me];
            }
            if (place != NONE)
                clear_up<PASS>(
                    t, now, next, r, desk, page, place, became, first_step + pass, pass, pass + 1 == passes);
            page = then;
            place = then_place;
        }
        if (pass + 1 < passes) high = end_pass(s, pass);
    }
}
