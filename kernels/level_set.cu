// Level sets in bricks of 8 x 8 x 8 voxels; see src/solvers/level_set/mod.rs. row.rs there does the same
// for eight voxels at a time.
//
// A block computes one brick at a time: it loads the page and a shell of one voxel, then either every voxel
// (plain: 256 threads, for few bricks) or those whose neighbourhood is not constant (listed: 64 threads, for
// many). A step reads one copy of the pages and the tables, and writes the other copy; nothing that is read
// changes while it runs. Bricks that the band comes near to are wished for: an atomic stamp lets one block
// win, which takes a page from the stack and fills it in the new copy alone. Between steps one block
// publishes those pages and frees the ones that have been constant and unwished for some steps. So the
// values are those of the whole volume, whatever the order of pages.
//
// The tables may be settled every few steps: then wishes reach as many voxels ahead.

#include "common.cuh"

// Where bricks without a page point: pages of -clamp and of +clamp.
constexpr int OUTSIDE = 0, INSIDE = 1;
// Steps that a page outlives its use.
constexpr int LINGER = 8;
constexpr float SNAP = 1e-3f, FLAT = 1e-6f, LOW_SLOPE = 0.9f, HIGH_SLOPE = 1.1f;
constexpr u32 ALL = ~0u, NONE = ~0u;
constexpr int ISOTROPIC = 0, ORTHOGONAL = 1, SHEARED = 2;
enum Pass { STEP, REDISTANCE_FIRST, REDISTANCE, PAPER };

// Numbers of the steps to come, in the card's memory: graphs stay as they are when sliders move.
struct Rules {
    float dt, curvature, rescaling, clamp, pace, advection, low, high;
    float w[6], root[3];
    int offsets;
    int e[6][3];
    float rho[6];
    // Weight of the region term, voxels of the image, sum of their quanta.
    float region;
    u32 unused;
    long long voxels, total;
};
static_assert(sizeof(Rules) == 8 * 4 + 10 * 4 + 24 * 4 + 2 * 4 + 2 * 8, "as Rules in cuda.rs");

struct State {
    int step, top, high, activated, retired, logged;
    float region[3];
    u32 unused;
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
    // By page: x | y << 10 | z << 20 of its brick, or NONE; 27 neighbours in 32 places.
    u32* place;
    int* neighbours;
    int* stack;
    int2* taken;
    int* idle;
    Counted* log;
    // By brick: planes of 512 numbers; grey values as whole numbers, where a term needs their sum.
    const float* speeds;
    const int* quanta;
    // Of the shell: neighbour << 21 | place in the tile << 10 | place in the page; 72 rows' halves, then
    // single values, 272 in all.
    const u32* shell;
    u32 size[3], bricks[3];
    int planes, unused;
};

// Rows of 8 and planes without bank conflicts, from -1 to 8.
__device__ __forceinline__ int at(int x, int y, int z) {
    z++;
    y++;
    return 4 + (z >> 1) * 240 + y * 24 + (z & 1) * 12 + x;
}
constexpr int TILE = 1204;

__device__ __forceinline__ u32 bits(float v) { return __float_as_uint(v); }

__device__ __forceinline__ float clamped(float v, float clamp) {
    return fabsf(v) >= clamp - SNAP ? copysignf(clamp, v) : v;
}

// Squared one-sided gradients towards larger and smaller values, extremes of the neighbours.
struct Upwind {
    float up, down, most, least;
    __device__ __forceinline__ explicit Upwind(float c) : up(0), down(0), most(c), least(c) {}
    __device__ __forceinline__ void pair(float c, float a, float b, float rho) {
        float high = fmaxf(a, b), low = fminf(a, b);
        float rise = fmaxf(high - c, 0.0f), fall = fmaxf(c - low, 0.0f);
        up = fmaf(rise * rho, rise, up);
        down = fmaf(fall * rho, fall, down);
        most = fmaxf(most, high);
        least = fminf(least, low);
    }
    __device__ __forceinline__ float inwards(float c) const { return c >= 0.0f ? down : up; }
    __device__ __forceinline__ float nearest(float c) const { return c >= 0.0f ? least : -most; }
};

struct Central {
    float gradient, curvature;
};

struct Around {
    float c, xm, xp, ym, yp, zm, zp;
};

template <int KIND>
__device__ __forceinline__ Central central(const Around& n, float xy, float xz, float yz, const Rules& r) {
    float c2 = n.c + n.c;
    float xx = n.xp + n.xm - c2, yy = n.yp + n.ym - c2, zz = n.zp + n.zm - c2;
    float x = n.xp - n.xm, y = n.yp - n.ym, z = n.zp - n.zm;
    constexpr float part = FLAT * 2.0f / 3.0f;
    if (KIND == SHEARED) {
        float px = r.w[0] * x + r.w[3] * y + r.w[4] * z;
        float py = r.w[3] * x + r.w[1] * y + r.w[5] * z;
        float pz = r.w[4] * x + r.w[5] * y + r.w[2] * z;
        float squared = px * x + py * y + pz * z;
        float hxy = 0.5f * xy, hxz = 0.5f * xz, hyz = 0.5f * yz;
        float trace = r.w[0] * xx + r.w[1] * yy + r.w[2] * zz + r.w[3] * hxy + r.w[4] * hxz + r.w[5] * hyz;
        float along = px * px * xx + py * py * yy + pz * pz * zz + px * py * hxy + px * pz * hxz + py * pz * hyz;
        float numerator = trace * squared - along + trace * part;
        return {0.5f * sqrtf(fmaxf(squared, 0.0f)), numerator / (squared + FLAT)};
    }
    if (KIND == ORTHOGONAL) {
        float sx = r.root[0], sy = r.root[1], sz = r.root[2];
        xx *= r.w[0];
        yy *= r.w[1];
        zz *= r.w[2];
        xy *= sx * sy;
        xz *= sx * sz;
        yz *= sy * sz;
        x *= sx;
        y *= sy;
        z *= sz;
    }
    float x2 = x * x, y2 = y * y, z2 = z * z, squared = x2 + y2 + z2;
    float mixed = fmaf(x * y, xy, fmaf(x * z, xz, y * z * yz));
    float straight = fmaf(xx, y2 + z2, fmaf(yy, x2 + z2, zz * (x2 + y2)));
    float numerator = fmaf(xx + yy + zz, part, fmaf(mixed, -0.5f, straight));
    return {0.5f * sqrtf(squared), numerator / (squared + FLAT)};
}

// One voxel. Neighbours of the sheared pairs are read from the tile, at (x, y, z).
template <int KIND>
__device__ __forceinline__ Upwind upwind(const Around& n, const Rules& r, const float* tile, int x, int y, int z) {
    Upwind u(n.c);
    if (KIND == SHEARED) {
        for (int k = 0; k < r.offsets; k++) {
            int i = r.e[k][0], j = r.e[k][1], l = r.e[k][2];
            u.pair(n.c, tile[at(x - i, y - j, z - l)], tile[at(x + i, y + j, z + l)], r.rho[k]);
        }
    } else {
        u.pair(n.c, n.xm, n.xp, KIND == ISOTROPIC ? 1.0f : r.w[0]);
        u.pair(n.c, n.ym, n.yp, KIND == ISOTROPIC ? 1.0f : r.w[1]);
        u.pair(n.c, n.zm, n.zp, KIND == ISOTROPIC ? 1.0f : r.w[2]);
    }
    return u;
}

// `data`: of the voxel in the first plane of speeds.
template <int KIND, bool EXTRA>
__device__ __forceinline__ float step(
    const Around& n, const Central& m, const Upwind& u, const Rules& r, const float* region, const float* data) {
    float far = sqrtf(u.inwards(n.c)), most = 2.0f * fmaxf(m.gradient, far);
    float bend = fmaxf(fminf(m.curvature, most), -most);
    float speed = __ldg(data), weight = r.curvature, drift = 0.0f;
    if (EXTRA) {
        float stop = __ldg(data + 512), value = __ldg(data + 5 * 512);
        float own = fmaxf(fminf(fmaf(region[1], value, region[0]), 1.0f), -1.0f);
        speed = fmaf(own, region[2], speed) * stop;
        weight *= stop;
        float ax = __ldg(data + 2 * 512), ay = __ldg(data + 3 * 512), az = __ldg(data + 4 * 512);
        drift = fmaxf(ax, 0.0f) * (n.xp - n.c) + fminf(ax, 0.0f) * (n.c - n.xm) + fmaxf(ay, 0.0f) * (n.yp - n.c) +
                fminf(ay, 0.0f) * (n.c - n.ym) + fmaxf(az, 0.0f) * (n.zp - n.c) + fminf(az, 0.0f) * (n.c - n.zm);
    }
    float forwards = sqrtf(speed >= 0.0f ? u.up : u.down);
    float share = fmaxf(fminf(2.0f * u.nearest(n.c), 1.0f), 0.0f);
    float off = 1.0f - fmaf(share, far - m.gradient, m.gradient);
    float spared = (1.0f - LOW_SLOPE) * (1.0f - share);
    off -= fmaxf(fminf(off, spared), -spared);
    float change = fmaf(speed, forwards, fmaf(weight, bend, r.rescaling * n.c * off)) + drift;
    return clamped(fmaf(change, r.dt, n.c), r.clamp);
}

__device__ __forceinline__ float redistance(
    const Around& n, const Central& m, const Upwind& u, const Rules& r, bool first) {
    float far = sqrtf(u.inwards(n.c)), kept = n.c;
    if (!(-u.nearest(n.c) >= 0.0f)) {
        float pace = r.pace * (1.0f - far);
        return clamped(n.c + (n.c >= 0.0f ? pace : -pace), r.clamp);
    }
    if (first) {
        float slope = fmaxf(fmaxf(m.gradient, 0.5f * far), 1e-3f);
        kept = n.c * fminf(fmaxf(slope, LOW_SLOPE), HIGH_SLOPE) / slope;
    }
    return clamped(kept, r.clamp);
}

// Lefohn 2004, appendix A.
__device__ __forceinline__ float paper(const float* q, const int* up, const int* down, const Rules& r, float speed) {
    float c = q[0], mean = 0.0f, rise2 = 0.0f, fall2 = 0.0f, squared = 0.0f;
#pragma unroll
    for (int a = 0; a < 3; a++) {
        float ahead = q[up[a]] - c, back = c - q[down[a]], here = 0.5f * (q[up[a]] - q[down[a]]);
        squared = fmaf(here, here, squared);
        float faces[2] = {ahead, back};
#pragma unroll
        for (int side = 0; side < 2; side++) {
            const float* next = q + (side ? down[a] : up[a]);
            float length = faces[side] * faces[side];
#pragma unroll
            for (int o = 0; o < 3; o++)
                if (o != a) {
                    float across = 0.25f * ((q[up[o]] - q[down[o]]) + (next[up[o]] - next[down[o]]));
                    length = fmaf(across, across, length);
                }
            float normal = faces[side] * rsqrtf(length + 1e-12f);
            mean += side ? -normal : normal;
        }
        float x = fmaxf(ahead, 0.0f), y = fmaxf(-back, 0.0f);
        rise2 = fmaf(x, x, fmaf(y, y, rise2));
        x = fminf(ahead, 0.0f);
        y = fminf(-back, 0.0f);
        fall2 = fmaf(x, x, fmaf(y, y, fall2));
    }
    float keep = r.rescaling * c * (1.0f - sqrtf(squared));
    float force = fmaf(0.5f * mean, r.curvature, speed) + keep;
    float gradient = sqrtf(force >= 0.0f ? rise2 : fall2);
    return clamped(fmaf(force * gradient, r.dt, c), r.clamp);
}

// What a voxel becomes; `i`: its place in the page.
template <int KIND, bool EXTRA, int PASS>
__device__ __forceinline__ float become(
    const float* tile, int x, int y, int z, const Rules& r, const float* region, const float* data) {
    const float* q = tile + at(x, y, z);
    // Planes lie in pairs.
    bool odd = (z & 1) == 0;
    int up = odd ? 228 : 12, down = odd ? -12 : -228;
    const float *a = q + up, *b = q + down;
    Around n = {q[0], q[-1], q[1], q[-24], q[24], b[0], a[0]};
    if (PASS == PAPER) {
        int ups[3] = {1, 24, up}, downs[3] = {-1, -24, down};
        return paper(q, ups, downs, r, __ldg(data));
    }
    float xy = (q[25] - q[23]) - (q[-23] - q[-25]);
    float xz = (a[1] - a[-1]) - (b[1] - b[-1]), yz = (a[24] - a[-24]) - (b[24] - b[-24]);
    Central m = central<KIND>(n, xy, xz, yz, r);
    Upwind u = upwind<KIND>(n, r, tile, x, y, z);
    if (PASS == STEP) return step<KIND, EXTRA>(n, m, u, r, region, data);
    return redistance(n, m, u, r, PASS == REDISTANCE_FIRST);
}

// Neighbours that a voxel of the band wishes for, `margin` voxels from its brick's faces.
__device__ __forceinline__ u32 wishes(int x, int y, int z, int margin) {
    u32 row = 2u | (x < margin ? 1u : 0u) | (x > 7 - margin ? 4u : 0u);
    u32 plane = row << 3 | (y < margin ? row : 0u) | (y > 7 - margin ? row << 6 : 0u);
    return plane << 9 | (z < margin ? plane : 0u) | (z > 7 - margin ? plane << 18 : 0u);
}

// The page and its shell into the tile. Bricks at the grid's border repeat its last voxels.
template <int THREADS>
__device__ __forceinline__ void load(
    const Tables& t, const float* now, float* tile, const int* slots, int page, const u32* first, bool border) {
    int i = threadIdx.x;
    if (border) {
        for (; i < 1000; i += THREADS) {
            int own[3] = {i % 10 - 1, i / 10 % 10 - 1, i / 100 - 1}, k = 0, in = 0;
            int scale[3] = {1, 3, 9}, line[3] = {1, 8, 64};
            for (int a = 0; a < 3; a++) {
                int v = min(max((int)first[a] + own[a], 0), (int)t.size[a] - 1) - (int)first[a];
                k += scale[a] * (v < 0 ? 0 : v > 7 ? 2 : 1);
                in += line[a] * (v & 7);
            }
            tile[at(own[0], own[1], own[2])] = now[(size_t)slots[k] * 512 + in];
        }
        return;
    }
    for (; i < 128; i += THREADS) {
        int row = i >> 1;
        float4 v = *(const float4*)(now + (size_t)page * 512 + i * 4);
        *(float4*)(tile + at((i & 1) * 4, row & 7, row >> 3)) = v;
    }
    for (i = threadIdx.x; i < 272; i += THREADS) {
        u32 e = __ldg(t.shell + i);
        const float* from = now + (size_t)slots[e >> 21] * 512 + (e & 1023);
        float* to = tile + (e >> 10 & 2047);
        if (i < 72) *(float4*)to = *(const float4*)from;
        else *to = *from;
    }
}

// What became of a brick, by its first warp. `seen`: bits 0 to 26 neighbours wished for, 13 itself; 28 some
// voxel inside, 29 some outside.
__device__ __forceinline__ void report(
    const Tables& t, float* next, int page, u32 place, u32 seen, const int* slots, int now_step, bool settles) {
    int lane = threadIdx.x & 31, brick = -1, slot = 2, fresh = -1;
    int bx = place & 1023, by = place >> 10 & 1023, bz = place >> 20;
    if (lane < 27 && lane != 13 && (seen >> lane & 1)) {
        u32 x = bx + lane % 3 - 1, y = by + lane / 3 % 3 - 1, z = bz + lane / 9 - 1;
        if (x < t.bricks[0] && y < t.bricks[1] && z < t.bricks[2]) {
            brick = (z * t.bricks[1] + y) * t.bricks[0] + x;
            slot = slots[lane];
        }
    }
    if (brick >= 0) {
        if (slot >= 2) t.wished[brick] = now_step;
        else if (settles && atomicExch(t.wished + brick, now_step) != now_step) {
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
        for (int i = lane; i < 512; i += 32) next[(size_t)to * 512 + i] = value;
    }
    if (fresh >= 0) t.taken[atomicAdd(&t.state->activated, 1)] = make_int2(brick, fresh);
    int own = (bz * t.bricks[1] + by) * t.bricks[0] + bx;
    if (lane == 0 && settles && !(seen >> 13 & 1) && (seen >> 28 & 3) != 3 && t.wished[own] + LINGER < now_step)
        t.idle[atomicAdd(&t.state->retired, 1)] = page * 2 + (seen >> 28 & 1);
}

// Voxels that changed sides: their number, and what their grey values add.
__device__ __forceinline__ void count(
    const Tables& t, float was, float is, bool valid, u32 brick, int i, int pass, int ahead, bool summed) {
    bool a = was > 0.0f, b = is > 0.0f;
    if (valid && a != b) {
        State* s = t.state;
        bool stepped = pass == STEP || pass == PAPER;
        // What redistancing does belongs to the step before, which has been added up.
        int entry = stepped ? s->logged + ahead : max(s->logged - 1, 0);
        if (!stepped) atomicAdd((u64*)&s->inside, b ? 1ull : ~0ull);
        atomicAdd(&t.log[entry].flips, 1u);
        atomicAdd(&t.log[entry].growth, b ? 1 : -1);
        if (summed) {
            long long q = t.quanta[(size_t)brick * 512 + i];
            atomicAdd((u64*)&s->sum, (u64)(b ? q : -q));
        }
    }
}

// `ahead`: of this step until the tables are settled; `margin`: how far wishes reach.
template <int THREADS, int KIND, bool EXTRA, int PASS>
__device__ __forceinline__ void plain(const Tables& t, const float* now, float* next, int ahead, int margin) {
    constexpr int DEEP = 512 / THREADS;
    __shared__ __align__(16) float tile[TILE];
    __shared__ int slots[32];
    __shared__ u32 seen;
    const int me = threadIdx.x, x = me & 7, y = me >> 3 & 7, z0 = (me >> 6) * DEEP;
    const Rules& r = *t.rules;
    const State* s = t.state;
    const int high = s->high, now_step = s->step + ahead;
    const bool settles = margin > 0;
    const float region[3] = {s->region[0], s->region[1], s->region[2]};
    for (int page = 2 + blockIdx.x; page < high; page += gridDim.x) {
        u32 place = t.place[page];
        if (place == NONE) continue;
        if (me < 32) slots[me] = t.neighbours[page * 32 + me];
        if (me == 0) seen = 0;
        u32 first[3] = {(place & 1023) * 8, (place >> 10 & 1023) * 8, (place >> 20) * 8};
        bool border = false;
        for (int a = 0; a < 3; a++) border |= first[a] == 0 | first[a] + 8 >= t.size[a];
        u32 brick = ((place >> 20) * t.bricks[1] + (place >> 10 & 1023)) * t.bricks[0] + (place & 1023);
        __syncthreads();
        load<THREADS>(t, now, tile, slots, page, first, border);
        __syncthreads();
        const float* data = t.speeds + (size_t)brick * 512 * t.planes;
        u32 mine = 0;
        for (int k = 0; k < DEEP; k++) {
            int z = z0 + k, i = z * 64 + (me & 63);
            const float* q = tile + at(x, y, z);
            bool odd = (z & 1) == 0;
            int up = odd ? 228 : 12, down = odd ? -12 : -228;
            float c = q[0], v = c;
            u32 own = bits(c);
            u32 differ = (bits(q[-1]) ^ own) | (bits(q[1]) ^ own) | (bits(q[-24]) ^ own) | (bits(q[24]) ^ own) |
                         (bits(q[down]) ^ own) | (bits(q[up]) ^ own) | ((own & 0x7fffffffu) ^ bits(r.clamp));
            // Gradients of sheared grids look along diagonals, too: nothing is left out.
            if (KIND == SHEARED || __any_sync(ALL, differ != 0)) {
                v = become<KIND, EXTRA, PASS>(tile, x, y, z, r, region, data + i);
                bool valid = first[0] + x < t.size[0] && first[1] + y < t.size[1] && first[2] + z < t.size[2];
                count(t, c, v, valid, brick, i, PASS, ahead, t.quanta != nullptr);
            }
            next[(size_t)page * 512 + i] = v;
            bool valid = first[0] + x < t.size[0] && first[1] + y < t.size[1] && first[2] + z < t.size[2];
            if (valid) {
                if (fabsf(v) < r.clamp) mine |= wishes(x, y, z, margin);
                mine |= v > 0.0f ? 1u << 28 : 2u << 28;
            }
        }
        for (int i = 16; i; i >>= 1) mine |= __shfl_xor_sync(ALL, mine, i);
        if ((me & 31) == 0) atomicOr(&seen, mine);
        __syncthreads();
        if (me < 32) report(t, next, page, place, seen, slots, now_step, settles);
        __syncthreads();
    }
}

// 64 threads; warps list the voxels whose neighbourhood is not constant, and compute the list.
template <int KIND>
__device__ __forceinline__ void listed(const Tables& t, const float* now, float* next, int ahead, int margin) {
    __shared__ __align__(16) float tile[TILE];
    __shared__ u32 list[2][256];
    __shared__ int slots[32];
    __shared__ u32 seen;
    const int me = threadIdx.x, lane = me & 31, warp = me >> 5, x = me & 7, y = me >> 3;
    const Rules& r = *t.rules;
    const State* s = t.state;
    const int high = s->high, now_step = s->step + ahead;
    const bool settles = margin > 0;
    const float region[3] = {0.0f, 0.0f, 0.0f};
    for (int page = 2 + blockIdx.x; page < high; page += gridDim.x) {
        u32 place = t.place[page];
        if (place == NONE) continue;
        if (me < 32) slots[me] = t.neighbours[page * 32 + me];
        if (me == 0) seen = 0;
        u32 first[3] = {(place & 1023) * 8, (place >> 10 & 1023) * 8, (place >> 20) * 8};
        bool border = false;
        for (int a = 0; a < 3; a++) border |= first[a] == 0 | first[a] + 8 >= t.size[a];
        u32 brick = ((place >> 20) * t.bricks[1] + (place >> 10 & 1023)) * t.bricks[0] + (place & 1023);
        __syncthreads();
        load<64>(t, now, tile, slots, page, first, border);
        __syncthreads();
        const float* data = t.speeds + (size_t)brick * 512 * t.planes;
        float* out = next + (size_t)page * 512;
        int found = 0;
        u32* own_list = list[warp];
        u32 mine = 0;
        float before = tile[at(x, y, -1)], c = tile[at(x, y, 0)];
        bool wide = first[0] + x < t.size[0] && first[1] + y < t.size[1];
#pragma unroll
        for (int z = 0; z < 8; z++) {
            const float* q = tile + at(x, y, z);
            float behind = tile[at(x, y, z + 1)];
            u32 own = bits(c);
            u32 differ = (bits(q[-1]) ^ own) | (bits(q[1]) ^ own) | (bits(q[-24]) ^ own) | (bits(q[24]) ^ own) |
                         (bits(before) ^ own) | (bits(behind) ^ own) | ((own & 0x7fffffffu) ^ bits(r.clamp));
            u32 some = __ballot_sync(ALL, differ != 0);
            if (differ) own_list[found + __popc(some & ((1u << lane) - 1))] = z * 64 + me;
            else {
                out[z * 64 + me] = c;
                if (wide && first[2] + z < t.size[2]) mine |= c > 0.0f ? 1u << 28 : 2u << 28;
            }
            found += __popc(some);
            before = c;
            c = behind;
        }
        __syncwarp();
        for (int k = lane; k < found; k += 32) {
            int i = own_list[k], vx = i & 7, vy = i >> 3 & 7, vz = i >> 6;
            float was = tile[at(vx, vy, vz)];
            float v = become<KIND, false, STEP>(tile, vx, vy, vz, r, region, data + i);
            out[i] = v;
            bool valid = first[0] + vx < t.size[0] && first[1] + vy < t.size[1] && first[2] + vz < t.size[2];
            count(t, was, v, valid, brick, i, STEP, ahead, t.quanta != nullptr);
            if (valid) {
                if (fabsf(v) < r.clamp) mine |= wishes(vx, vy, vz, margin);
                mine |= v > 0.0f ? 1u << 28 : 2u << 28;
            }
        }
        for (int i = 16; i; i >>= 1) mine |= __shfl_xor_sync(ALL, mine, i);
        if (lane == 0) atomicOr(&seen, mine);
        __syncthreads();
        if (me < 32) report(t, next, page, place, seen, slots, now_step, settles);
        __syncthreads();
    }
}

#define PLAIN(name, kind, extra, pass)                                                       \
    extern "C" __global__ void __launch_bounds__(256, 3) level_set_##name(                      \
        Tables t, const float* now, float* next, int ahead, int margin) {                    \
        plain<256, kind, extra, pass>(t, now, next, ahead, margin);                          \
    }
#define LISTED(name, kind)                                                                   \
    extern "C" __global__ void __launch_bounds__(64, 14) level_set_##name(                   \
        Tables t, const float* now, float* next, int ahead, int margin) {                    \
        listed<kind>(t, now, next, ahead, margin);                                           \
    }

PLAIN(step_isotropic, ISOTROPIC, false, STEP)
PLAIN(step_orthogonal, ORTHOGONAL, false, STEP)
PLAIN(step_sheared, SHEARED, false, STEP)
PLAIN(extra_isotropic, ISOTROPIC, true, STEP)
PLAIN(extra_orthogonal, ORTHOGONAL, true, STEP)
PLAIN(extra_sheared, SHEARED, true, STEP)
PLAIN(scale_isotropic, ISOTROPIC, false, REDISTANCE_FIRST)
PLAIN(scale_orthogonal, ORTHOGONAL, false, REDISTANCE_FIRST)
PLAIN(scale_sheared, SHEARED, false, REDISTANCE_FIRST)
PLAIN(redistance_isotropic, ISOTROPIC, false, REDISTANCE)
PLAIN(redistance_orthogonal, ORTHOGONAL, false, REDISTANCE)
PLAIN(redistance_sheared, SHEARED, false, REDISTANCE)
PLAIN(paper, ISOTROPIC, false, PAPER)
LISTED(listed_isotropic, ISOTROPIC)
LISTED(listed_orthogonal, ORTHOGONAL)

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
        t.place[e.y] = x | y << 10 | z << 20;
        atomicMax(&s->high, e.y + 1);
    }
    for (int i = me; i < idle; i += 256) {
        int e = t.idle[i], page = e >> 1;
        u32 p = t.place[page], b = ((p >> 20) * t.bricks[1] + (p >> 10 & 1023)) * t.bricks[0] + (p & 1023);
        // Somebody may have wished for it in the last step, after it was found idle.
        if (t.wished[b] + LINGER < last) {
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
        s->step = last + 1;
        const Rules& r = *t.rules;
        for (int k = 0; k < steps; k++) s->inside += t.log[s->logged + k].growth;
        s->logged += steps;
        // As region_rule in speed.rs.
        long long in = s->inside, out = r.voxels - in;
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
