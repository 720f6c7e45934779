// The bricks of a level set, and the allocation of their pages; see level_set.cu.
#pragma once

#include "fronts.cuh"

// Pages of bricks without their own: all -clamp, and all +clamp.
constexpr int OUTSIDE = 0, INSIDE = 1;
// Steps for which an unused page is kept. If warps process bricks, this exceeds the interval between two
// redistancings, because speeds of opposite sign narrow the band in between.
constexpr int LINGER = 8, LONG_LINGER = 32;
constexpr u32 NONE = ~0u, BORDER = 1u << 31;

struct State {
    // One past the last page; number of listed bricks.
    int high, in_line;
    int step, top, activated, retired, logged;
    float region[3];
    // Blocks that have reached a barrier; turns taken by warps after their first.
    u32 arrived, turn;
    long long inside, sum;
};
static_assert(sizeof(State) == 12 * 4 + 2 * 8, "as State in cuda.rs");

// A pass of a launch in which warps process bricks.
struct Lap {
    // Number of fresh pages in the pass and, in the upper half, the pass, counted as State::step.
    u64 fresh;
    // Number of bricks for which the pass is finished.
    u32 finished, unused;
};
static_assert(sizeof(Lap) == 16, "as in cuda.rs");

// Data that are constant during a graph.
struct Tables {
    const Rules* rules;
    State* state;
    // By brick: its page, or the complement of a constant while a page is being allocated for it; the step at which
    // it was last requested.
    int *page_of, *wished;
    // By page: x | y << 10 | z << 20 of its brick, with BORDER at the grid's border, or NONE; 27 neighbours in 32
    // entries.
    u32* place;
    int* neighbours;
    int* stack;
    // Bricks, or complements of those already published, and their pages.
    int2* taken;
    int* idle;
    // By step: increase in the number of voxels inside.
    int* log;
    // By brick: planes of 512 numbers; grey values as integers, if a term needs their sum.
    const float* speeds;
    const int* quanta;
    // Entries of the shell: neighbour << 21 | index in the tile << 10 | index in its page or sides. Warps copy half
    // rows (0 to 63, 128 to 135), quarter columns (64 to 95, 136 to 143), or single values (96 to 127).
    const u32* shell;
    // Entries for the single values of pages only, all 488 of them.
    const u32* halo;
    // Two copies of this many pages: a value and, in the upper half, the passes that made it.
    u64* exchange;
    u32 exchanged, unused;
    u32 size[3], bricks[3];
    int planes;
    // Offset of the pages' sides after the pages.
    u32 sides;
    // By page: the pass that made its values, if warps process bricks.
    u32* pass_of_page;
    Lap* laps;
    // Pages in the order of their bricks.
    int* line;
};

// For a brick at the grid's border: distance from its first voxel to the grid's last, and the sides on which the grid
// begins with it.
struct Border {
    int x, y, z;
    u32 sides;
};

__device__ __forceinline__ u32 brick_of(const Tables& t, u32 place) {
    return ((place >> 20 & 1023) * t.bricks[1] + (place >> 10 & 1023)) * t.bricks[0] + (place & 1023);
}

__device__ __forceinline__ Border border_of(const Tables& t, u32 place) {
    u32 x = place & 1023, y = place >> 10 & 1023, z = place >> 20 & 1023;
    return {(int)(t.size[0] - x * 8), (int)(t.size[1] - y * 8), (int)(t.size[2] - z * 8),
            (u32)((x == 0) | (y == 0) << 1 | (z == 0) << 2)};
}

// Repeats the grid's last voxels beyond it, in the tile of a brick at its border: along x, then y, then z, so that
// edges and corners follow. By the threads of a block, or of a warp.
template <int THREADS>
__device__ __noinline__ void repeat(float* tile, Border b) {
    const int room[3] = {b.x, b.y, b.z}, along[3] = {1, ROW, PLANE};
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        const int across = along[axis == 0], beyond = along[axis == 2 ? 1 : 2];
        for (int i = threadIdx.x % THREADS; i < 100; i += THREADS) {
            float* line = tile + at(0, 0, 0) + (i % 10 - 1) * across + (i / 10 - 1) * beyond;
            if (b.sides >> axis & 1) line[-along[axis]] = line[0];
            for (int k = room[axis]; k < 9; k++) line[k * along[axis]] = line[(room[axis] - 1) * along[axis]];
        }
        if (THREADS == 32) __syncwarp();
        else __syncthreads();
    }
}

// One bit for each part of a thread whose voxel lies in the grid.
template <int PARTS>
__device__ __forceinline__ u32 within(Border b, int x0, int y0, int z0) {
    u32 valid = 0;
#pragma unroll
    for (int k = 0; k < PARTS; k++)
        if (x0 + 4 * (k & 1) < b.x && y0 + 4 * (k >> 1 & 1) < b.y && z0 + 2 * (k >> 2) < b.z) valid |= 1u << k;
    return valid;
}

// Reread instead of stored, because registers are scarce.
__device__ __forceinline__ u32 entry(const u32* at) {
    u32 e;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(e) : "l"(at));
    return e;
}

// Whether the surroundings of a voxel are not constant.
__device__ __forceinline__ u32 differs(const float* q, float clamp) {
    u32 same = bits(q[0]);
    return (bits(q[-1]) ^ same) | (bits(q[1]) ^ same) | (bits(q[-ROW]) ^ same) | (bits(q[ROW]) ^ same) |
           (bits(q[-PLANE]) ^ same) | (bits(q[PLANE]) ^ same) | ((same & 0x7fffffffu) ^ bits(clamp));
}

// The position of a brick, as in Tables::place.
__device__ __forceinline__ u32 place_of_brick(const Tables& t, u32 b) {
    u32 x = b % t.bricks[0], y = b / t.bricks[0] % t.bricks[1], z = b / (t.bricks[0] * t.bricks[1]);
    bool border = x == 0 || y == 0 || z == 0 || x * 8 + 8 >= t.size[0] || y * 8 + 8 >= t.size[1] ||
                  z * 8 + 8 >= t.size[2];
    return x | y << 10 | z << 20 | (border ? BORDER : 0u);
}

__device__ __forceinline__ int entry_of(const Tables& t, u32 b) {
    int entry = *(volatile int*)&t.page_of[b];
    return entry < 0 ? ~entry : entry;
}

// A brick has received a page, or lost it (then -1): updates its neighbours' entries and its own. By a warp. `relinks`:
// only changes since the first time.
__device__ __forceinline__ void link(const Tables& t, u32 b, int page, bool relinks) {
    const int lane = threadIdx.x & 31;
    if (lane >= 27) return;
    u32 x = b % t.bricks[0] + lane % 3 - 1, y = b / t.bricks[0] % t.bricks[1] + lane / 3 % 3 - 1;
    u32 z = b / (t.bricks[0] * t.bricks[1]) + lane / 9 - 1;
    bool in = x < t.bricks[0] && y < t.bricks[1] && z < t.bricks[2];
    int entry = in ? entry_of(t, (z * t.bricks[1] + y) * t.bricks[0] + x) : OUTSIDE;
    if (page >= 0 && !(relinks && entry < 2)) t.neighbours[page * 32 + lane] = entry;
    if (in && entry >= 2 && lane != 13) t.neighbours[entry * 32 + 26 - lane] = entry_of(t, b);
}

// Records the result of a pass for a brick, by a warp. `seen`: one bit for every requested neighbour, with 13 for the
// brick itself if it contains part of the band; 28: some voxel is inside, 29: some is outside. `now`: null, or the
// copy in which new pages are filled, too, and published immediately: a warp that encounters one before the pass is
// over finds the same values as without it. `last`: the last pass of a launch, which lists pages idle for longer than
// `linger`.
__device__ __forceinline__ void report(
    const Tables& t, float* now, float* next, int page, u32 place, u32 seen, const int* slots, int now_step,
    float clamp, bool last, int linger) {
    int lane = threadIdx.x & 31, brick = -1, slot = 2, fresh = -1;
    int bx = place & 1023, by = place >> 10 & 1023, bz = place >> 20 & 1023;
    if (lane < 27 && lane != 13 && (seen >> lane & 1)) {
        u32 x = bx + lane % 3 - 1, y = by + lane / 3 % 3 - 1, z = bz + lane / 9 - 1;
        if (x < t.bricks[0] && y < t.bricks[1] && z < t.bricks[2]) {
            brick = (z * t.bricks[1] + y) * t.bricks[0] + x;
            slot = slots[lane] >> 9;
        }
    }
    if (brick >= 0) {
        bool wins = false;
        if (now) {
            // Passes overlap: an earlier one may be late, and not know of the page.
            atomicMax(t.wished + brick, now_step);
            wins = slot < 2 && atomicCAS(t.page_of + brick, slot, ~slot) == slot;
        } else if (slot >= 2) {
            t.wished[brick] = now_step;
        } else {
            wins = atomicExch(t.wished + brick, now_step) != now_step;
        }
        if (wins) {
            // There are as many pages as bricks, so one is left.
            int top = atomicSub(&t.state->top, 1) - 1;
            fresh = t.stack[top];
        }
    }
    u32 some = __ballot_sync(ALL, fresh >= 0);
    for (u32 left = some; left; left &= left - 1) {
        int from = __ffs(left) - 1, to = __shfl_sync(ALL, fresh, from), b = __shfl_sync(ALL, brick, from);
        float value = __shfl_sync(ALL, slot, from) == INSIDE ? clamp : -clamp;
        for (int i = lane; i < 640; i += 32) {
            u32 at = i < 512 ? to * 512 + i : t.sides + to * 128 + i - 512;
            next[at] = value;
            if (now) now[at] = value;
        }
        if (!now) continue;
        if (lane == 0) {
            t.pass_of_page[to] = now_step + 1;
            t.place[to] = place_of_brick(t, b);
        }
        __syncwarp();
        __threadfence();
        // If two neighbours are published at the same time, at least one learns of the other; it checks again, because
        // what it wrote first may hide the other's entry.
        if (lane == 0) *(volatile int*)&t.page_of[b] = to;
        __syncwarp();
        __threadfence();
        link(t, b, to, false);
        __threadfence();
        link(t, b, to, true);
        __syncwarp();
        __threadfence();
        if (lane == 0) atomicMax(&t.state->high, to + 1);
    }
    // Written last, because a warp that finds it starts working on the page.
    if (fresh >= 0) {
        u64 e = (u64)fresh << 32 | (u32)(now ? ~brick : brick);
        *(volatile u64*)(t.taken + atomicAdd(&t.state->activated, 1)) = e;
    }
    int own = (bz * t.bricks[1] + by) * t.bricks[0] + bx;
    if (last && lane == 0 && !(seen >> 13 & 1) && (seen >> 28 & 3) != 3 && now_step - t.wished[own] > linger)
        t.idle[atomicAdd(&t.state->retired, 1)] = page * 2 + (seen >> 28 & 1);
}

// Voxels of a thread that changed sides: the increase in their number inside and in the sum of grey values. `came`,
// `went`: one bit per part; `quanta`: of the brick, or null; `first`: the thread's first voxel.
template <int PASS>
__device__ __noinline__ void count(
    State* s, int* log, const int* quanta, u32 came, u32 went, int first, int pass) {
    bool stepped = PASS == STEP || PASS == PAPER;
    // Changes by redistancing belong to the step before, which has already been summed.
    int entry = stepped ? s->logged + pass : max(s->logged - 1, 0), growth = __popc(came) - __popc(went);
    if (!stepped) atomicAdd((u64*)&s->inside, (u64)(long long)growth);
    atomicAdd(&log[entry], growth);
    if (!quanta) return;
    for (u32 left = came | went; left; left &= left - 1) {
        int k = __ffs(left) - 1;
        long long q = quanta[first + place_of(k)];
        atomicAdd((u64*)&s->sum, (u64)(came >> k & 1 ? q : -q));
    }
}
