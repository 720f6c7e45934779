// Level sets in bricks of 8 x 8 x 8 voxels; see src/engine/solvers/level_set/mod.rs, and fronts.cuh for the scheme.
//
// A launch makes several passes over all bricks, with all blocks resident together. Warps compute parts of 4 x 4 x 2
// voxels, except constant ones. With few bricks, a block of 256 threads keeps one of them in shared memory for the
// whole launch; the values that neighbours need pass from block to block as words of a value and the number of passes
// that made it, so that a pass costs one round trip; with more bricks than resident blocks, blocks process one after
// the other, and all synchronise between passes. With many bricks, a warp processes a brick and then takes the next
// one, possibly of the next pass, without waiting for the last brick of this one (brick_passes.cuh): a pass reads one
// copy of the pages and writes the other.
//
// Pages are requested for bricks near the band: an atomic operation selects one warp, which takes a page from the
// stack and fills it. If blocks have bricks, this happens in a launch's last pass, as far ahead as a launch has
// passes, and one block publishes the pages between launches; if warps have them, it happens in every pass, and the
// pages are published immediately. Pages that have been constant and not requested for some passes are freed between
// launches. The values therefore equal those of the whole volume, whatever the order of pages.

#include "brick_passes.cuh"

// Entries in Tables::halo.
constexpr int HALO = 488;
// A value and the number of passes that made it share one word, so its reader needs no other flag.
__device__ __forceinline__ void put(u64* to, float v, u32 passes) {
    u64 word = (u64)passes << 32 | bits(v);
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
}

__device__ __forceinline__ u64 look(const u64* at) {
    u64 word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
    return word;
}

// A number of passes over a brick. `first_copy`: the copy of the pages that the launch's first pass reads; `earlier`:
// number of earlier passes of this launch; `margin`: how far ahead pages are requested after the last pass, or 0;
// `begins`: the first pass is the first of a redistancing.
template <int KIND, bool EXTRA, int PASS>
__device__ __forceinline__ void few(
    const Tables& t, float* first_copy, float* other_copy, int page, int passes, int earlier, int margin, bool begins) {
    const float* now = earlier & 1 ? other_copy : first_copy;
    __shared__ __align__(16) float tiles[2][TILE];
    __shared__ int slots[32];
    __shared__ u32 seen;
    const int me = threadIdx.x, lane = me & 31, warp = me >> 5;
    // Index of the thread's first voxel; hidden from the compiler, which would otherwise keep its coordinates in
    // registers.
    int first = (lane & 3) + 8 * ((lane >> 2 & 3) + 4 * (warp & 1)) + 64 * ((lane >> 4) + 2 * (warp >> 1));
    asm("" : "+r"(first));
    const State* s = t.state;
    const u32 place = t.place[page];
    if (place == NONE) return;
    const Rules r = *t.rules;
    const float region[3] = {s->region[0], s->region[1], s->region[2]};
    const u32 base = s->step + earlier;
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
    // Sources of the words of the halo.
    u32 from[2];
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
        // Constant pages do not change; those of the outside are marked by an even number.
        if (slot < 2 * 512) from[k] = slot == INSIDE * 512 ? NONE : NONE - 1;
    }
    if (border) {
        __syncthreads();
        repeat<256>(tiles[0], border_of(t, place));
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
            u64* pass_values = t.exchange + (size_t)(~pass & 1) * t.exchanged * 512;
            u64* to = pass_values + (page * 512 + first);
            int x = first & 3, y = first >> 3 & 7, z = first >> 6;
            bool outer = (y == 0) | (y == 7) | (z == 0) | (z == 7);
            if (outer | (x == 0)) put(to, v[0], base + pass + 1);
            if (outer | (x == 3)) put(to + 4, v[1], base + pass + 1);
            float* then = tiles[~pass & 1];
            then[mine] = v[0];
            then[mine + 4] = v[1];
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
                    if (open[k]) word[k] = look(pass_values + from[k]);
#pragma unroll
                for (int k = 0; k < 2; k++)
                    if (open[k] && (u32)(word[k] >> 32) == base + pass + 1) {
                        value[k] = __uint_as_float((u32)word[k]);
                        open[k] = false;
                    }
            }
            then[entry(t.halo + me) >> 10 & 2047] = value[0];
            if (me + 256 < HALO) then[entry(t.halo + me + 256) >> 10 & 2047] = value[1];
            if (border) {
                __syncthreads();
                repeat<256>(then, border_of(t, t.place[page]));
            }
        } else {
            float* out = (earlier + passes) & 1 ? other_copy : first_copy;
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
            count<PASS>(t.state, t.log, quanta, flips & is, flips & was, first, earlier + pass);
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
    float* out = (earlier + passes) & 1 ? other_copy : first_copy;
    u32 sides = seen & 3u << 28;
    if (me < 32)
        report(
            t, nullptr, out, page, t.place[page], wishes(seen, margin) | sides, slots, base + passes - 1, r.clamp,
            true, LINGER);
}

// Waits for all blocks, which are resident together; `times`: the number of arrivals to wait for.
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

// A number of passes over all bricks: at once if every brick has a block, otherwise one after the other.
template <int KIND, bool EXTRA, int PASS>
__device__ __forceinline__ void blocks(
    const Tables& t, const float* now, float* next, int passes, int margin, int begins) {
    // Number of passes at once.
    const int high = t.state->high, some = high - 2 <= gridDim.x && high <= t.exchanged ? passes : 1;
#pragma unroll 1
    for (int earlier = 0; earlier < passes; earlier += some) {
        if (earlier > 0) meet(&t.state->arrived, earlier);
#pragma unroll 1
        for (int page = 2 + blockIdx.x; page < t.state->high; page += gridDim.x) {
            few<KIND, EXTRA, PASS>(
                t, (float*)now, next, page, some, earlier, earlier + some == passes ? margin : 0,
                begins && earlier == 0);
            __syncthreads();
        }
    }
}

// Resident on a multiprocessor: blocks of 256 threads, or warps.
constexpr int FEW = 4, MANY = 20;
#define BLOCKS(name, resident, kind, extra, pass)                                            \
    extern "C" __global__ void __launch_bounds__(256, resident) level_set_##name(            \
        Tables t, const float* now, float* next, int passes, int margin, int begins) {       \
        blocks<kind, extra, pass>(t, now, next, passes, margin, begins);                     \
    }
#define WARPS(name, kind)                                                                       \
    extern "C" __global__ void __launch_bounds__(32 * MANY, 1)                                  \
        level_set_many_##name(Tables t, float* now, float* next, int passes, int steps, int begins) { \
        many<kind>(t, now, next, passes, steps, begins);                                        \
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
WARPS(isotropic, ISOTROPIC)
WARPS(orthogonal, ORTHOGONAL)

// Lists the pages in the order of bricks, so that neighbours are close to each other.
template <int THREADS>
__device__ __forceinline__ void line_up(const Tables& t) {
    // Bricks are processed in fours.
    constexpr int SOME = 6;
    __shared__ int counts[THREADS / 32];
    const int me = threadIdx.x, lane = me & 31, warp = me >> 5, bricks = t.bricks[0] * t.bricks[1] * t.bricks[2];
    int before = 0;
    for (int begin = 0; begin < bricks; begin += THREADS * SOME * 4) {
        const int first = begin + me * SOME * 4;
        int4 some[SOME];
        int mine = 0;
#pragma unroll
        for (int k = 0; k < SOME; k++)
            some[k] = first + k * 4 < bricks ? __ldcg((const int4*)(t.page_of + first + k * 4)) : make_int4(0, 0, 0, 0);
#pragma unroll
        for (int k = 0; k < SOME; k++)
            mine += (some[k].x > 1) + (some[k].y > 1) + (some[k].z > 1) + (some[k].w > 1);
        int upto = mine;
        for (int i = 1; i < 32; i <<= 1) {
            int v = __shfl_up_sync(ALL, upto, i);
            if (lane >= i) upto += v;
        }
        __syncthreads();
        if (lane == 31) counts[warp] = upto;
        __syncthreads();
        int all = lane < THREADS / 32 ? counts[lane] : 0, at = before + upto - mine;
        for (int i = 16; i; i >>= 1) all += __shfl_xor_sync(ALL, all, i);
        int earlier = lane < warp ? counts[lane] : 0;
        for (int i = 16; i; i >>= 1) earlier += __shfl_xor_sync(ALL, earlier, i);
        at += earlier;
        before += all;
#pragma unroll
        for (int k = 0; k < SOME; k++) {
            if (some[k].x > 1) t.line[at++] = some[k].x;
            if (some[k].y > 1) t.line[at++] = some[k].y;
            if (some[k].z > 1) t.line[at++] = some[k].z;
            if (some[k].w > 1) t.line[at++] = some[k].w;
        }
    }
    if (me == 0) t.state->in_line = before;
}

// Run by one block between two steps: publishes allocated pages, frees idle ones, sums the counts of the steps.
// `passes`: passes since the last call; `steps`: how many of them were steps of the equation.
template <int THREADS, bool MANY>
__device__ __forceinline__ void settle(const Tables& t, int passes, int steps) {
    State* s = t.state;
    const int me = threadIdx.x;
    const int taken = s->activated, idle = s->retired, last = s->step + passes - 1;
    for (int i = me; i < taken; i += THREADS) {
        int2 e = t.taken[i];
        if (e.x < 0) continue;
        t.page_of[e.x] = e.y;
        t.place[e.y] = place_of_brick(t, e.x);
        atomicMax(&s->high, e.y + 1);
    }
    for (int i = me; i < idle; i += THREADS) {
        int e = t.idle[i], page = e >> 1;
        u32 b = brick_of(t, t.place[page]);
        // It may have been requested in the last step, after it was found idle.
        if (last - t.wished[b] > (MANY ? LONG_LINGER : LINGER)) {
            t.page_of[b] = e & 1;
            t.place[page] = NONE;
            t.stack[atomicAdd(&s->top, 1)] = page;
            t.idle[i] = b * 2;
        } else {
            t.idle[i] = 1;
        }
    }
    __syncthreads();
    for (int i = me >> 5; i < taken + idle; i += THREADS / 32) {
        if (i < taken) {
            int2 e = t.taken[i];
            if (e.x >= 0) link(t, e.x, e.y, false);
        } else {
            int e = t.idle[i - taken];
            if (!(e & 1)) link(t, e >> 1, -1, false);
        }
    }
    __syncthreads();
    for (int i = me; i < taken; i += THREADS) t.taken[i].y = 0;
    if (MANY) {
        for (int i = me; i < passes; i += THREADS) t.laps[i].finished = 0;
        line_up<THREADS>(t);
    }
    // Threads that sum the counts of the steps.
    constexpr int SUMS = MANY ? 32 : 1;
    if (me >= SUMS) return;
    long long in = 0;
    for (int k = me; k < steps; k += SUMS) in += t.log[s->logged + k];
    for (int i = SUMS / 2; i; i >>= 1) in += __shfl_xor_sync(ALL, in, i);
    if (me == 0) {
        s->activated = 0;
        s->retired = 0;
        s->arrived = 0;
        s->turn = 0;
        s->step = last + 1;
        const Rules& r = *t.rules;
        in += s->inside;
        s->inside = in;
        s->logged += steps;
        // Equals region_rule in speed.rs.
        long long out = r.voxels - in;
        s->region[0] = s->region[1] = s->region[2] = 0.0f;
        if (r.region > 0.0f && in > 0 && out > 0) {
            double range = (double)r.high - (double)r.low, quanta = 1048576.0;
            double m = (double)r.low + (double)s->sum / quanta / (double)in * range;
            double n = (double)r.low + (double)(r.total - s->sum) / quanta / (double)out * range, difference = m - n;
            if (!(fabs(difference) < 1e-6 * range)) {
                s->region[0] = (float)(-(m + n) / difference);
                s->region[1] = (float)(2.0 / difference);
                s->region[2] = r.advection * r.region;
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, 1) level_set_settle(Tables t, int passes, int steps) {
    settle<256, false>(t, passes, steps);
}

extern "C" __global__ void __launch_bounds__(1024, 1) level_set_many_settle(Tables t, int passes, int steps) {
    settle<1024, true>(t, passes, steps);
}
