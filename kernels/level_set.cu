// Level sets in bricks of 8 x 8 x 8 voxels; see src/solvers/level_set/mod.rs, and fronts.cuh for the scheme.
//
// A launch makes some passes over all bricks, all blocks being resident together. Warps compute parts of
// 4 x 4 x 2 voxels, constant ones excepted. Where bricks are few, a block of 256 threads has one of them in
// shared memory for the whole launch; what neighbours need goes from block to block as words of a value and
// the number of passes that made it, so that a pass costs one round trip. Where they are many, a warp is a
// block, and a launch one pass over them, which reads one copy of the pages and writes the other; likewise
// where there are more bricks than blocks that fit, with all blocks meeting between passes.
//
// Bricks that the band comes near to in a launch's last pass are wished for, as far ahead as a launch has
// passes: an atomic stamp lets one block win, which takes a page from the stack and fills it in the new copy
// alone. Between launches one block publishes those pages and frees the ones that have been constant and
// unwished for some passes. So the values are those of the whole volume, whatever the order of pages.

#include "fronts.cuh"

// Where bricks without a page point: pages of -clamp and of +clamp.
constexpr int OUTSIDE = 0, INSIDE = 1;
// Steps that a page outlives its use.
constexpr int LINGER = 8;
constexpr u32 ALL = ~0u, NONE = ~0u, BORDER = 1u << 31;
// Entries of Tables::halo.
constexpr int HALO = 488;
struct State {
    int step, top, high, activated, retired, logged;
    float region[3];
    // Blocks that have come to a barrier.
    u32 arrived;
    long long inside, sum;
};
static_assert(sizeof(State) == 10 * 4 + 2 * 8, "as State in cuda.rs");

struct Counted {
    int growth;
    u32 flips;
};

// All that stays the same during a graph.
struct Tables {
    const Rules* rules;
    State* state;
    // By brick: its page; when it was last wished for.
    int *page_of, *wished;
    // By page: x | y << 10 | z << 20 of its brick, and BORDER at the grid's, or NONE; 27 neighbours in 32
    // places.
    u32* place;
    int* neighbours;
    int* stack;
    int2* taken;
    int* idle;
    Counted* log;
    // By brick: planes of 512 numbers; grey values as whole numbers, where a term needs their sum.
    const float* speeds;
    const int* quanta;
    // Of the shell: neighbour << 21 | place in the tile << 10 | place in its page or sides. Warps have
    // halves of rows (0 to 63, 128 to 135), quarters of columns (64 to 95, 160 to 167), or single values
    // (96 to 127).
    const u32* shell;
    // Likewise of single values of pages alone, all 488 of them.
    const u32* halo;
    // Two copies of so many pages: a value, and above it the passes that made it.
    u64* exchange;
    u32 exchanged, unused;
    u32 size[3], bricks[3];
    int planes;
    // Where the pages' sides lie behind the pages.
    u32 sides;
};

// A value with the number of passes that made it is one word: who reads it needs no other sign.
__device__ __forceinline__ void put(u64* to, float v, u32 passes) {
    u64 word = (u64)passes << 32 | bits(v);
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
}

__device__ __forceinline__ u64 look(const u64* at) {
    u64 word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
    return word;
}

// Of a brick at the grid's border: room from its first voxel to the grid's last, and on which sides the
// grid begins with it.
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

// The page and shell of a brick at the grid's border, which repeats the grid's last voxels. `pages`: where
// they are read, or null: then as words of so many `passes`. `slots`: times 512.
template <int THREADS>
__device__ __noinline__ void load_border(
    const float* pages, const u64* words, u32 passes, float clamp, float* tile, const int* slots, Border b) {
    for (int i = threadIdx.x; i < 1000; i += THREADS) {
        int x = i % 10 - 1, y = i / 10 % 10 - 1, z = i / 100 - 1;
        int u = min(max(x, b.sides & 1 ? 0 : -1), b.x - 1), v = min(max(y, b.sides & 2 ? 0 : -1), b.y - 1);
        int w = min(max(z, b.sides & 4 ? 0 : -1), b.z - 1);
        int k = (u < 0 ? 0 : u > 7 ? 2 : 1) + (v < 0 ? 0 : v > 7 ? 6 : 3) + (w < 0 ? 0 : w > 7 ? 18 : 9);
        int slot = slots[k];
        u32 from = slot + (u & 7) + 8 * (v & 7) + 64 * (w & 7);
        float value = slot == INSIDE * 512 ? clamp : -clamp;
        if (slot >= 2 * 512) {
            if (pages) value = __ldcg(pages + from);
            else {
                u64 word;
                do word = look(words + from);
                while ((u32)(word >> 32) != passes);
                value = __uint_as_float((u32)word);
            }
        }
        tile[at(x, y, z)] = value;
    }
}

// A bit for each part of a thread whose voxel lies in the grid.
template <int PARTS>
__device__ __forceinline__ u32 within(Border b, int x0, int y0, int z0) {
    u32 valid = 0;
#pragma unroll
    for (int k = 0; k < PARTS; k++)
        if (x0 + 4 * (k & 1) < b.x && y0 + 4 * (k >> 1 & 1) < b.y && z0 + 2 * (k >> 2) < b.z) valid |= 1u << k;
    return valid;
}

// Kinds of entries of the shell, 32 at a time.
__device__ __forceinline__ bool is_row(int group, int lane) { return group < 2 || (group == 4 && lane < 8); }
__device__ __forceinline__ bool is_column(int group, int lane) { return group == 2 || (group == 5 && lane < 8); }
__device__ __forceinline__ bool is_single(int group) { return group == 3; }

// Read again rather than kept, as registers are short.
__device__ __forceinline__ u32 entry(const u32* at) {
    u32 e;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(e) : "l"(at));
    return e;
}

// Whether anything about a voxel is not constant.
__device__ __forceinline__ u32 differs(const float* q, float clamp) {
    u32 same = bits(q[0]);
    return (bits(q[-1]) ^ same) | (bits(q[1]) ^ same) | (bits(q[-ROW]) ^ same) | (bits(q[ROW]) ^ same) |
           (bits(q[-PLANE]) ^ same) | (bits(q[PLANE]) ^ same) | ((same & 0x7fffffffu) ^ bits(clamp));
}

// What became of a brick in a launch's last pass, by its first warp. `seen`: as wishes takes it; 28 some
// voxel inside, 29 some outside.
__device__ __forceinline__ void report(
    const Tables& t, float* next, int page, u32 place, u32 seen, const int* slots, int now_step, int margin) {
    int lane = threadIdx.x & 31, brick = -1, slot = 2, fresh = -1;
    int bx = place & 1023, by = place >> 10 & 1023, bz = place >> 20 & 1023;
    u32 wished = wishes(seen, margin);
    if (lane < 27 && lane != 13 && (wished >> lane & 1)) {
        u32 x = bx + lane % 3 - 1, y = by + lane / 3 % 3 - 1, z = bz + lane / 9 - 1;
        if (x < t.bricks[0] && y < t.bricks[1] && z < t.bricks[2]) {
            brick = (z * t.bricks[1] + y) * t.bricks[0] + x;
            slot = slots[lane] >> 9;
        }
    }
    if (brick >= 0) {
        if (slot >= 2) t.wished[brick] = now_step;
        else if (atomicExch(t.wished + brick, now_step) != now_step) {
            // As many pages as bricks: there is one.
            int top = atomicSub(&t.state->top, 1) - 1;
            fresh = t.stack[top];
        }
    }
    u32 some = __ballot_sync(ALL, fresh >= 0);
    float clamp = t.rules->clamp;
    for (u32 left = some; left; left &= left - 1) {
        int from = __ffs(left) - 1, to = __shfl_sync(ALL, fresh, from);
        float value = __shfl_sync(ALL, slot, from) == INSIDE ? clamp : -clamp;
        for (int i = lane; i < 512; i += 32) next[(u32)(to * 512 + i)] = value;
        for (int i = lane; i < 128; i += 32) next[t.sides + (u32)(to * 128 + i)] = value;
    }
    if (fresh >= 0) t.taken[atomicAdd(&t.state->activated, 1)] = make_int2(brick, fresh);
    int own = (bz * t.bricks[1] + by) * t.bricks[0] + bx;
    if (lane == 0 && !(seen & 255) && (seen >> 28 & 3) != 3 && now_step - t.wished[own] > LINGER)
        t.idle[atomicAdd(&t.state->retired, 1)] = page * 2 + (seen >> 28 & 1);
}

// Voxels of a thread that changed sides: how many did, and what their grey values add. `came`, `went`: a
// bit for each part; `quanta`: of the brick, or null; `first`: the thread's first voxel.
template <int PASS>
__device__ __noinline__ void count(
    State* s, Counted* log, const int* quanta, u32 came, u32 went, int first, int pass) {
    bool stepped = PASS == STEP || PASS == PAPER;
    // What redistancing does belongs to the step before, which has been added up.
    int entry = stepped ? s->logged + pass : max(s->logged - 1, 0), growth = __popc(came) - __popc(went);
    if (!stepped) atomicAdd((u64*)&s->inside, (u64)(long long)growth);
    atomicAdd(&log[entry].flips, (u32)__popc(came | went));
    atomicAdd(&log[entry].growth, growth);
    if (!quanta) return;
    for (u32 left = came | went; left; left &= left - 1) {
        int k = __ffs(left) - 1;
        long long q = quanta[first + place_of(k)];
        atomicAdd((u64*)&s->sum, (u64)(came >> k & 1 ? q : -q));
    }
}

// So many passes over a brick. `first_copy`: of the pages, which the launch's first pass reads; `made`: in
// this launch before; `margin`: how far wishes reach after the last, or 0; `begins`: the first of them is
// the first of redistancing.
template <int KIND, bool EXTRA, int PASS>
__device__ __forceinline__ void few(
    const Tables& t, float* first_copy, float* other_copy, int page, int passes, int made, int margin, bool begins) {
    const float* now = made & 1 ? other_copy : first_copy;
    __shared__ __align__(16) float tiles[2][TILE];
    __shared__ int slots[32];
    __shared__ u32 seen;
    const int me = threadIdx.x, lane = me & 31, warp = me >> 5;
    // Of the thread's first voxel; hidden from the compiler, which would keep its coordinates in registers.
    int first = (lane & 3) + 8 * ((lane >> 2 & 3) + 4 * (warp & 1)) + 64 * ((lane >> 4) + 2 * (warp >> 1));
    asm("" : "+r"(first));
    const State* s = t.state;
    const u32 place = t.place[page];
    if (place == NONE) return;
    const Rules r = *t.rules;
    const float region[3] = {s->region[0], s->region[1], s->region[2]};
    const u32 base = s->step + made;
    const bool border = place & BORDER;
    const float* data = t.speeds;
    float speed[2] = {0.0f, 0.0f};
    if (PASS != REDISTANCE) {
        data += (size_t)brick_of(t, place) * 512 * t.planes + first;
        speed[0] = __ldg(data);
        speed[1] = __ldg(data + 4);
    }
    if (me < 32) slots[me] = t.neighbours[page * 32 + me] * 512;
    if (me == 0) seen = 0;
    __syncthreads();
    // Where words of the halo come from.
    u32 from[2];
    if (border) {
        load_border<256>(now, nullptr, 0, r.clamp, tiles[0], slots, border_of(t, place));
    } else {
        if (me < 128) {
            int row = me >> 1;
            *(float4*)(tiles[0] + at((me & 1) * 4, row & 7, row >> 3)) =
                __ldcg((const float4*)now + (u32)(page * 128 + me));
        }
#pragma unroll
        for (int k = 0; k < 2; k++) {
            u32 e = me + k * 256 < HALO ? __ldg(t.halo + me + k * 256) : 0;
            u32 slot = slots[e >> 21];
            from[k] = slot + (e & 1023);
            tiles[0][e >> 10 & 2047] = __ldcg(now + from[k]);
            // Constant pages stay as they are, those outside an even number.
            if (slot < 2 * 512) from[k] = slot == INSIDE * 512 ? NONE : NONE - 1;
        }
    }
    const int mine = at(first & 3, first >> 3 & 7, first >> 6);
    u32 is = 0, band = 0;
    __syncthreads();
#pragma unroll 1
    for (int pass = 0; pass < passes; pass++) {
        const float* q = tiles[pass & 1] + mine;
        const bool last = pass + 1 == passes;
        float v[2] = {q[0], q[4]};
        u32 was = (v[0] > 0.0f ? 1u : 0u) | (v[1] > 0.0f ? 2u : 0u);
        band = 0;
        if (KIND == SHEARED || __any_sync(ALL, (differs(q, r.clamp) | differs(q + 4, r.clamp)) != 0)) {
#pragma unroll
            for (int k = 0; k < 2; k++)
                v[k] = become<KIND, EXTRA, PASS>(
                    q + 4 * k, r, t.rules, region, speed[k], data + 4 * k, begins && pass == 0);
            band = (fabsf(v[0]) < r.clamp ? 1u : 0u) | (fabsf(v[1]) < r.clamp ? 2u : 0u);
        }
        is = (v[0] > 0.0f ? 1u : 0u) | (v[1] > 0.0f ? 2u : 0u);
        if (!last) {
            u64* words = t.exchange + (size_t)(~pass & 1) * t.exchanged * 512;
            u64* to = words + (page * 512 + first);
            int x = first & 3, y = first >> 3 & 7, z = first >> 6;
            bool outer = (y == 0) | (y == 7) | (z == 0) | (z == 7) | border;
            if (outer | (x == 0)) put(to, v[0], base + pass + 1);
            if (outer | (x == 3)) put(to + 4, v[1], base + pass + 1);
            float* then = tiles[~pass & 1];
            then[mine] = v[0];
            then[mine + 4] = v[1];
            if (border) {
                __syncthreads();
                load_border<256>(
                    nullptr, words, base + pass + 1, r.clamp, then, slots, border_of(t, t.place[page]));
            } else {
                bool open[2];
                float value[2];
#pragma unroll
                for (int k = 0; k < 2; k++) {
                    open[k] = from[k] < NONE - 1;
                    value[k] = from[k] == NONE ? r.clamp : -r.clamp;
                }
                while (open[0] | open[1]) {
                    u64 word[2];
#pragma unroll
                    for (int k = 0; k < 2; k++)
                        if (open[k]) word[k] = look(words + from[k]);
#pragma unroll
                    for (int k = 0; k < 2; k++)
                        if (open[k] && (u32)(word[k] >> 32) == base + pass + 1) {
                            value[k] = __uint_as_float((u32)word[k]);
                            open[k] = false;
                        }
                }
                then[entry(t.halo + me) >> 10 & 2047] = value[0];
                if (me + 256 < HALO) then[entry(t.halo + me + 256) >> 10 & 2047] = value[1];
            }
        } else {
            float* out = (made + passes) & 1 ? other_copy : first_copy;
            out[(u32)(page * 512 + first)] = v[0];
            out[(u32)(page * 512 + first + 4)] = v[1];
            float* side = out + (t.sides + (u32)(page * 128 + (first >> 3)));
            if ((first & 3) == 0) side[0] = v[0];
            if ((first & 3) == 3) side[64] = v[1];
        }
        u32 flips = was ^ is;
        if (flips && border) flips &= within<2>(border_of(t, t.place[page]), first & 3, first >> 3 & 7, first >> 6);
        if (flips) {
            const int* quanta = t.quanta ? t.quanta + (size_t)brick_of(t, t.place[page]) * 512 : nullptr;
            count<PASS>(t.state, t.log, quanta, flips & is, flips & was, first, made + pass);
        }
        __syncthreads();
    }
    if (margin == 0) return;
    u32 valid = 3;
    if (border) valid = within<2>(border_of(t, t.place[page]), first & 3, first >> 3 & 7, first >> 6);
    u32 own = spread(band & valid, first & 3, first >> 3 & 7, first >> 6);
    own |= (is & valid ? 1u << 28 : 0u) | (~is & valid & 3u ? 2u << 28 : 0u);
    for (int i = 16; i; i >>= 1) own |= __shfl_xor_sync(ALL, own, i);
    if (lane == 0) atomicOr(&seen, own);
    __syncthreads();
    float* out = (made + passes) & 1 ? other_copy : first_copy;
    if (me < 32) report(t, out, page, t.place[page], seen, slots, base + passes - 1, margin);
}

// Waits for all blocks, which are resident together; `times`: that they will have come here.
__device__ __forceinline__ void meet(u32* arrived, u32 times) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (*(volatile u32*)arrived < times * gridDim.x);
        __threadfence();
    }
    __syncthreads();
}

// So many passes over all bricks: at once where every brick has a block, else one after the other.
template <int KIND, bool EXTRA, int PASS>
__device__ __forceinline__ void blocks(
    const Tables& t, const float* now, float* next, int passes, int margin, int begins) {
    // Passes at once.
    const int high = t.state->high, some = high - 2 <= gridDim.x && high <= t.exchanged ? passes : 1;
#pragma unroll 1
    for (int made = 0; made < passes; made += some) {
        if (made > 0) meet(&t.state->arrived, made);
#pragma unroll 1
        for (int page = 2 + blockIdx.x; page < t.state->high; page += gridDim.x) {
            few<KIND, EXTRA, PASS>(
                t, (float*)now, next, page, some, made, made + some == passes ? margin : 0, begins && made == 0);
            __syncthreads();
        }
    }
}

// One pass over all bricks, a warp taking one after the other.
template <int KIND, int PASS>
__device__ __forceinline__ void many(const Tables& t, const float* now, float* next, int margin, int begins) {
    // Planes of 64 apart, so that parts have no bank conflicts.
    constexpr int PARTS = 16, STAGE = 68, GROUPS = 6;
    __shared__ __align__(16) float tile[TILE];
    // Speeds at first, then what became of the voxels.
    __shared__ __align__(16) float stage[8 * STAGE];
    __shared__ int slots[32];
    const int me = threadIdx.x, x0 = me & 3, y0 = me >> 2 & 3, z0 = me >> 4, first = x0 + 8 * y0 + 64 * z0;
    const Rules r = *t.rules;
    const int high = t.state->high, step = t.state->step;
    const float* q0 = tile + at(x0, y0, z0);
    float* stage0 = stage + (x0 + 8 * y0 + STAGE * z0);
    // To and fro: what the pass before wrote last is still in the cache.
    const bool back = step & 1;
    int turn = blockIdx.x, page = back ? high - 1 - turn : 2 + turn;
    if (turn >= high - 2) return;
    u32 place = t.place[page];
#pragma unroll 1
    while (true) {
        turn += gridDim.x;
        const int then = back ? high - 1 - turn : 2 + turn;
        const u32 then_place = turn < high - 2 ? t.place[then] : NONE;
        if (place != NONE) {
            const bool border = place & BORDER;
            const u32 brick = brick_of(t, place);
            float4 own[4], speeds[4], line[GROUPS];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                own[k] = __ldcg((const float4*)now + (u32)(page * 128 + me + k * 32));
                if (PASS != REDISTANCE) speeds[k] = __ldg((const float4*)t.speeds + ((size_t)brick * 128 + me + k * 32));
            }
            slots[me] = t.neighbours[page * 32 + me] * 512;
            __syncwarp();
            if (!border) {
#pragma unroll
                for (int k = 0; k < GROUPS; k++) {
                    u32 e = entry(t.shell + me + k * 32), page_at = slots[e >> 21], place = e & 1023;
                    line[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                    if (is_row(k, me)) line[k] = __ldcg((const float4*)(now + (page_at + place)));
                    else {
                        const float* at = now + (t.sides + (page_at >> 2) + place);
                        if (is_column(k, me)) line[k] = __ldcg((const float4*)at);
                        else if (is_single(k)) line[k].x = __ldcg(at);
                    }
                }
            }
#pragma unroll
            for (int k = 0; k < 4; k++) {
                int i = me + k * 32, row = i >> 1;
                *(float4*)(tile + at((i & 1) * 4, row & 7, row >> 3)) = own[k];
                if (PASS != REDISTANCE) *(float4*)(stage + (i >> 4) * STAGE + (i & 15) * 4) = speeds[k];
            }
            u32 valid = ALL;
            if (border) {
                __syncwarp();
                const Border edge = border_of(t, place);
                load_border<32>(now, nullptr, 0, r.clamp, tile, slots, edge);
                valid = within<PARTS>(edge, x0, y0, z0);
            } else {
#pragma unroll
                for (int k = 0; k < GROUPS; k++) {
                    float* to = tile + (entry(t.shell + me + k * 32) >> 10 & 2047);
                    if (is_row(k, me)) *(float4*)to = line[k];
                    else if (is_column(k, me)) {
                        to[0] = line[k].x;
                        to[ROW] = line[k].y;
                        to[2 * ROW] = line[k].z;
                        to[3 * ROW] = line[k].w;
                    } else if (is_single(k)) to[0] = line[k].x;
                }
            }
            __syncwarp();
            // A bit for each part.
            u32 was = 0, is = 0, band = 0;
#pragma unroll 8
            for (int k = 0; k < PARTS; k++) {
                const float* q = q0 + (4 * (k & 1) + 4 * ROW * (k >> 1 & 1) + 2 * PLANE * (k >> 2));
                float* staged = stage0 + (4 * (k & 1) + 32 * (k >> 1 & 1) + 2 * STAGE * (k >> 2));
                float v = q[0];
                if (v > 0.0f) was |= 1u << k;
                if (__any_sync(ALL, differs(q, r.clamp) != 0)) {
                    float speed = PASS == REDISTANCE ? 0.0f : *staged;
                    v = become<KIND, false, PASS>(q, r, t.rules, nullptr, speed, nullptr, begins);
                    if (fabsf(v) < r.clamp) band |= 1u << k;
                }
                if (v > 0.0f) is |= 1u << k;
                *staged = v;
            }
            u32 flips = (was ^ is) & valid;
            if (flips) count<PASS>(t.state, t.log, nullptr, flips & is, flips & was, first, 0);
            u32 seen = spread(band & valid, x0, y0, z0);
            seen |= (is & valid ? 1u << 28 : 0u) | (~is & valid & ((1u << PARTS) - 1) ? 2u << 28 : 0u);
            for (int i = 16; i; i >>= 1) seen |= __shfl_xor_sync(ALL, seen, i);
            __syncwarp();
#pragma unroll
            for (int k = 0; k < 4; k++) {
                int i = me + k * 32;
                ((float4*)next)[(u32)(page * 128 + i)] = *(const float4*)(stage + (i >> 4) * STAGE + (i & 15) * 4);
            }
#pragma unroll
            for (int row = me; row < 64; row += 32) {
                const float* ends = stage + (row >> 3) * STAGE + (row & 7) * 8;
                float* side = next + (t.sides + (u32)(page * 128 + row));
                side[0] = ends[0];
                side[64] = ends[7];
            }
            report(t, next, page, place, seen, slots, step, margin);
            __syncwarp();
        }
        if (turn >= high - 2) return;
        page = then;
        place = then_place;
    }
}

// Blocks that a multiprocessor has at the same time: of 256 threads, and of 32.
constexpr int FEW = 4, MANY = 20;
#define BLOCKS(name, resident, kind, extra, pass)                                            \
    extern "C" __global__ void __launch_bounds__(256, resident) level_set_##name(            \
        Tables t, const float* now, float* next, int passes, int margin, int begins) {       \
        blocks<kind, extra, pass>(t, now, next, passes, margin, begins);                     \
    }
#define WARPS(name, kind, pass)                                                              \
    extern "C" __global__ void __launch_bounds__(32, MANY) level_set_many_##name(            \
        Tables t, const float* now, float* next, int, int margin, int begins) {              \
        many<kind, pass>(t, now, next, margin, begins);                                      \
    }

BLOCKS(step_isotropic, FEW, ISOTROPIC, false, STEP)
BLOCKS(step_orthogonal, 3, ORTHOGONAL, false, STEP)
BLOCKS(step_sheared, 2, SHEARED, false, STEP)
BLOCKS(extra_isotropic, 2, ISOTROPIC, true, STEP)
BLOCKS(extra_orthogonal, 2, ORTHOGONAL, true, STEP)
BLOCKS(extra_sheared, 2, SHEARED, true, STEP)
BLOCKS(redistance_isotropic, FEW, ISOTROPIC, false, REDISTANCE)
BLOCKS(redistance_orthogonal, 3, ORTHOGONAL, false, REDISTANCE)
BLOCKS(redistance_sheared, 2, SHEARED, false, REDISTANCE)
BLOCKS(paper, 2, ISOTROPIC, false, PAPER)
WARPS(step_isotropic, ISOTROPIC, STEP)
WARPS(step_orthogonal, ORTHOGONAL, STEP)
WARPS(redistance_isotropic, ISOTROPIC, REDISTANCE)
WARPS(redistance_orthogonal, ORTHOGONAL, REDISTANCE)

// Between two steps, one block: publishes pages that were taken, frees those that were idle, counts steps.
// `passes`: since the last time; `steps`: of them, those of the equation.
extern "C" __global__ void __launch_bounds__(256, 1) level_set_settle(Tables t, int passes, int steps) {
    State* s = t.state;
    const int me = threadIdx.x, lane = me & 31;
    const int taken = s->activated, idle = s->retired, last = s->step + passes - 1;
    for (int i = me; i < taken; i += 256) {
        int2 e = t.taken[i];
        u32 b = e.x, x = b % t.bricks[0], y = b / t.bricks[0] % t.bricks[1], z = b / (t.bricks[0] * t.bricks[1]);
        t.page_of[e.x] = e.y;
        bool border = x == 0 || y == 0 || z == 0 || x * 8 + 8 >= t.size[0] || y * 8 + 8 >= t.size[1] ||
                      z * 8 + 8 >= t.size[2];
        t.place[e.y] = x | y << 10 | z << 20 | (border ? BORDER : 0u);
        atomicMax(&s->high, e.y + 1);
    }
    for (int i = me; i < idle; i += 256) {
        int e = t.idle[i], page = e >> 1;
        u32 b = brick_of(t, t.place[page]);
        // Somebody may have wished for it in the last step, after it was found idle.
        if (last - t.wished[b] > LINGER) {
            t.page_of[b] = e & 1;
            t.place[page] = NONE;
            t.stack[atomicAdd(&s->top, 1)] = page;
            t.idle[i] = b * 2;
        } else {
            t.idle[i] = 1;
        }
    }
    __syncthreads();
    for (int i = me >> 5; i < taken + idle; i += 8) {
        u32 b;
        int page = -1;
        if (i < taken) {
            int2 e = t.taken[i];
            b = e.x;
            page = e.y;
        } else {
            int e = t.idle[i - taken];
            if (e & 1) continue;
            b = e >> 1;
        }
        if (lane < 27) {
            u32 x = b % t.bricks[0] + lane % 3 - 1, y = b / t.bricks[0] % t.bricks[1] + lane / 3 % 3 - 1;
            u32 z = b / (t.bricks[0] * t.bricks[1]) + lane / 9 - 1;
            bool in = x < t.bricks[0] && y < t.bricks[1] && z < t.bricks[2];
            int entry = in ? t.page_of[(z * t.bricks[1] + y) * t.bricks[0] + x] : OUTSIDE;
            if (page >= 0) t.neighbours[page * 32 + lane] = entry;
            if (in && entry >= 2 && lane != 13) t.neighbours[entry * 32 + 26 - lane] = t.page_of[b];
        }
    }
    __syncthreads();
    if (me == 0) {
        s->activated = 0;
        s->retired = 0;
        s->arrived = 0;
        s->step = last + 1;
        const Rules& r = *t.rules;
        const int logged = s->logged;
        long long in = s->inside;
        for (int k = 0; k < steps; k++) in += t.log[logged + k].growth;
        s->inside = in;
        s->logged = logged + steps;
        // As region_rule in speed.rs.
        long long out = r.voxels - in;
        s->region[0] = s->region[1] = s->region[2] = 0.0f;
        if (r.region > 0.0f && in > 0 && out > 0) {
            double range = (double)r.high - (double)r.low, quanta = 1048576.0;
            double m = (double)r.low + (double)s->sum / quanta / (double)in * range;
            double n = (double)r.low + (double)(r.total - s->sum) / quanta / (double)out * range, apart = m - n;
            if (!(fabs(apart) < 1e-6 * range)) {
                s->region[0] = (float)(-(m + n) / apart);
                s->region[1] = (float)(2.0 / apart);
                s->region[2] = r.advection * r.region;
            }
        }
    }
}
