// Geodesic rays in Hamiltonian form; the mathematics, the rules and their order are those of
// src/solvers/geodesic (mod.rs, journey.rs). Positions in voxels, lengths in mm.
#include <cuda_fp16.h>
#include "common.cuh"
#include "regions.cuh"

// As Rules in src/solvers/geodesic/cuda.rs, in its order.
struct Rules {
    u32 rays;
    // The last samples along the axes, and records from one to the next along y and z.
    u32 last[3];
    u32 stride[2];
    // Outer faces, voxels.
    float face[3];
    float step_mm;
    float min_fa;
    float min_cos;
    u32 max_steps;
    u32 at_max;
    u32 keep_every;
    u32 loop_steps;
    float loop_mm2;
    // Rows of the affine from voxel to world.
    float world[12];
    // The upper triangle, row by row, that takes voxel vectors to vectors in mm of the same length.
    float root[6];
    u32 gates;
    u32 masks;
    // Two halves a start, the second with −p; else one.
    u32 senses;
    // Whether records are eight halves, or eight floats.
    u32 half;
};
static_assert(sizeof(Rules) == 39 * 4, "as in cuda.rs");

// As Summary in cuda.rs.
struct Summary {
    u32 steps;
    u32 count;
    float length_mm;
    float riemann;
    u32 reason;
    u32 target;
    u32 met;
};

enum Reason { REACHED, TERMINATED, LEFT_VOLUME, LEFT_MASK, LOW_FA, ANGLE, MAX_LENGTH, MAX_STEPS, SEED, LOOP };
const u32 GO = 99;

// One of the eight numbers of a voxel: xx xy xz yy yz zz, whether fitted, FA.
__device__ __forceinline__ float number(const Rules& rules, const void* records, u32 i, int which) {
    size_t at = 8 * (size_t)i + which;
    return rules.half ? __half2float(((const __half*)records)[at]) : __ldg((const float*)records + at);
}
const int INSIDE = 6, FA = 7;

// What a cell is made of: the tensor of its first sample and the difference to the next along x, for
// each of its four edges along x. The last bit of the first number tells whether all eight samples of
// the cell that begins here are fitted.
struct Edge {
    float low[6], along[6];
};
static_assert(sizeof(Edge) == 3 * 16, "three loads");

__device__ __forceinline__ u32 load_edge(const float4* edges, u32 i, float low[6], float along[6]) {
    const float4* edge = edges + 3 * (size_t)i;
    float4 a = __ldg(edge), b = __ldg(edge + 1), c = __ldg(edge + 2);
    low[0] = a.x, low[1] = a.y, low[2] = a.z, low[3] = a.w, low[4] = b.x, low[5] = b.y;
    along[0] = b.z, along[1] = b.w, along[2] = c.x, along[3] = c.y, along[4] = c.z, along[5] = c.w;
    return __float_as_uint(a.x) & 1;
}

// The cell of eight samples around a point: its first sample, and how far the others are. Beyond the
// outer samples of an axis D is continued as a constant: there both samples are the same one.
struct Corner {
    u32 base;
    u32 to_x, to_y, to_z;
};

// A ray's cell, and its place in it.
struct Place {
    // The first sample, voxels; NOWHERE makes every point leave.
    f32x3 origin;
    float u, v, w;
    bool in_volume;
};
const float NOWHERE = 3.0e38f;
const u32 ALL = 0xffffffffu;

// Whether a point is still in its cell, or by `margin` outside.
__device__ __forceinline__ bool stays(Place& place, f32x3 x, float margin) {
    place.u = x.x - place.origin.x, place.v = x.y - place.origin.y, place.w = x.z - place.origin.z;
    float low = -margin, high = 1.0f + margin;
    return place.u >= low && place.u <= high && place.v >= low && place.v <= high && place.w >= low && place.w <= high;
}

// One axis of a cell at the border; NaN gives the first sample, and lies beyond it. Splines need their
// cell as it is.
template <bool LINEAR>
__device__ u32 border_axis(float x, u32 last, u32 stride, float& origin, float& t, u32& step) {
    float inner = fminf(fmaxf(x, 0.0f), (float)last);
    bool between = inner == x;
    u32 i = min((u32)inner, last - 1);
    t = inner - (float)i;
    origin = between ? (float)i : NOWHERE;
    if (LINEAR && !between) i = t > 0.5f ? i + 1 : i, t = 0.0f;
    step = between ? stride : 0;
    return i * stride;
}

// The cell of a point that has left its own.
template <bool LINEAR> __device__ __forceinline__ Corner corner_of(const Rules& rules, f32x3 x, Place& at) {
    int i = __float2int_rd(x.x), j = __float2int_rd(x.y), k = __float2int_rd(x.z);
    Corner corner = {(u32)i + rules.stride[0] * (u32)j + rules.stride[1] * (u32)k, 1, rules.stride[0], rules.stride[1]};
    at.origin = make((float)i, (float)j, (float)k);
    at.u = x.x - at.origin.x, at.v = x.y - at.origin.y, at.w = x.z - at.origin.z;
    at.in_volume = true;
    bool between = (u32)i < rules.last[0] && (u32)j < rules.last[1] && (u32)k < rules.last[2];
    if (!(between && at.u + at.v + at.w >= 0.0f)) {
        corner.base = border_axis<LINEAR>(x.x, rules.last[0], 1, at.origin.x, at.u, corner.to_x);
        corner.base += border_axis<LINEAR>(x.y, rules.last[1], rules.stride[0], at.origin.y, at.v, corner.to_y);
        corner.base += border_axis<LINEAR>(x.z, rules.last[2], rules.stride[1], at.origin.z, at.w, corner.to_z);
        at.in_volume = x.x >= -0.5f && x.y >= -0.5f && x.z >= -0.5f && x.x <= rules.face[0] && x.y <= rules.face[1] &&
                       x.z <= rules.face[2];
    }
    return corner;
}

// The corner of the cell that a point is in, or by the margin outside.
__device__ Corner corner_again(const Rules& rules, f32x3 x, Place& at) {
    f32x3 origin = at.origin;
    if (!(origin.x < NOWHERE && origin.y < NOWHERE && origin.z < NOWHERE)) return corner_of<true>(rules, x, at);
    u32 base = (u32)origin.x + rules.stride[0] * (u32)origin.y + rules.stride[1] * (u32)origin.z;
    return {base, 1, rules.stride[0], rules.stride[1]};
}

__device__ __forceinline__ float corner_weight(int c, const Place& at) {
    return (c & 1 ? at.u : 1.0f - at.u) * (c & 2 ? at.v : 1.0f - at.v) * (c & 4 ? at.w : 1.0f - at.w);
}

__device__ __forceinline__ u32 corner_index(const Corner& corner, int c) {
    return corner.base + (c & 1 ? corner.to_x : 0) + (c & 2 ? corner.to_y : 0) + (c & 4 ? corner.to_z : 0);
}

// Linear mixture of one of the numbers.
__device__ float linear(const Rules& rules, const void* records, f32x3 x, Place at, int which) {
    Corner corner = corner_again(rules, x, at);
    float sum = 0.0f;
    for (int c = 0; c < 8; c++) {
        sum = fmaf(corner_weight(c, at), number(rules, records, corner_index(corner, c), which), sum);
    }
    return sum;
}

// Splines have no edges.
struct Grids {
    const float4* edges;
    const void* records;
};

// D p and pᵀ(∂D)p.
struct Slope {
    f32x3 x, p;
};

__device__ __forceinline__ float form(const float d[6], const float squares[6]) {
    float a = fmaf(d[2], squares[2], fmaf(d[1], squares[1], d[0] * squares[0]));
    float b = fmaf(d[5], squares[5], fmaf(d[4], squares[4], d[3] * squares[3]));
    return a + b;
}

__device__ __forceinline__ void squares_of(f32x3 p, float squares[6]) {
    squares[0] = p.x * p.x, squares[1] = 2.0f * p.x * p.y, squares[2] = 2.0f * p.x * p.z;
    squares[3] = p.y * p.y, squares[4] = 2.0f * p.y * p.z, squares[5] = p.z * p.z;
}

__device__ __forceinline__ f32x3 product(const float d[6], f32x3 p) {
    return make(fmaf(d[2], p.z, fmaf(d[1], p.y, d[0] * p.x)), fmaf(d[4], p.z, fmaf(d[3], p.y, d[1] * p.x)),
                fmaf(d[5], p.z, fmaf(d[4], p.y, d[2] * p.x)));
}

// The next ray that no thread has begun, `threads` of which share one; the first of each is that of its
// own number.
__device__ __forceinline__ u32 take(u32* queue, u32 threads) {
    return gridDim.x * blockDim.x / threads + atomicAdd(queue, 1);
}

// One thread a ray: the four edges of a cell along x, as start and difference, in 48 registers, loaded
// anew when the ray enters another cell. Nearly every step some ray of a warp does, so loading has to
// be as short as an evaluation, and happens once a step with the midpoint rule: the margin keeps rays
// in their cells until the next midpoint.
struct Whole {
    static constexpr float MARGIN = 1.0f / 16.0f;
    float low[4][6], along[4][6];
    Place at;
    bool fitted;

    static __device__ __forceinline__ bool any(bool active) { return active; }
    __device__ __forceinline__ bool writes() const { return true; }
    __device__ __forceinline__ u32 next(u32* queue) const { return take(queue, 1); }

    __device__ __forceinline__ void follow(const Rules& rules, const Grids& grids, f32x3 x, float margin) {
        if (!stays(at, x, margin)) enter(rules, grids, x);
    }

    __device__ __forceinline__ void enter(const Rules& rules, const Grids& grids, f32x3 x) {
        Corner corner = corner_of<true>(rules, x, at);
        fitted = load_edge(grids.edges, corner.base, low[0], along[0]);
        load_edge(grids.edges, corner.base + corner.to_y, low[1], along[1]);
        load_edge(grids.edges, corner.base + corner.to_z, low[2], along[2]);
        load_edge(grids.edges, corner.base + corner.to_z + corner.to_y, low[3], along[3]);
        if (!corner.to_x) {
#pragma unroll
            for (int e = 0; e < 4; e++)
#pragma unroll
                for (int k = 0; k < 6; k++) along[e][k] = 0.0f;
        }
    }

    // Interpolated along x, then y, then z, with the differences on the way as derivatives.
    __device__ __forceinline__ Slope slope(const Rules&, const Grids&, f32x3 p) const {
        float squares[6], d[6], qx[4] = {0, 0, 0, 0}, qy[2] = {0, 0}, qz = 0.0f;
        squares_of(p, squares);
#pragma unroll
        for (int k = 0; k < 6; k++) {
            float edge[4];
#pragma unroll
            for (int e = 0; e < 4; e++) {
                edge[e] = fmaf(at.u, along[e][k], low[e][k]);
                qx[e] = fmaf(along[e][k], squares[k], qx[e]);
            }
            float near = edge[1] - edge[0], far = edge[3] - edge[2];
            qy[0] = fmaf(near, squares[k], qy[0]);
            qy[1] = fmaf(far, squares[k], qy[1]);
            float front = fmaf(at.v, near, edge[0]), back = fmaf(at.v, far, edge[2]), deep = back - front;
            qz = fmaf(deep, squares[k], qz);
            d[k] = fmaf(at.w, deep, front);
        }
        float front = fmaf(at.v, qx[1] - qx[0], qx[0]), back = fmaf(at.v, qx[3] - qx[2], qx[2]);
        return {product(d, p), make(fmaf(at.w, back - front, front), fmaf(at.w, qy[1] - qy[0], qy[0]), qz)};
    }

    __device__ __forceinline__ bool inside(const Rules& rules, const Grids& grids, f32x3 x) const {
        return fitted || linear(rules, grids.records, x, at, INSIDE) >= 0.5f;
    }
    __device__ float fa(const Rules& rules, const Grids& grids, f32x3 x) const {
        return linear(rules, grids.records, x, at, FA);
    }
};

// Four threads a ray, for few rays: each owns one edge of the cell along x, and six values are
// summed over the four.
struct Shared {
    static constexpr float MARGIN = 1.0f / 16.0f;
    float low[6], along[6];
    Place at;
    bool fitted;
    u32 lane = threadIdx.x & 3;

    // The threads of a warp go on until all have finished: sums over four of them need no care then.
    static __device__ __forceinline__ bool any(bool active) { return __any_sync(ALL, active); }
    __device__ __forceinline__ bool writes() const { return lane == 0; }
    __device__ __forceinline__ u32 next(u32* queue) const {
        u32 slot = lane == 0 ? take(queue, 4) : 0;
        return __shfl_sync(0xfu << (threadIdx.x & 28), slot, 0, 4);
    }

    __device__ __forceinline__ void follow(const Rules& rules, const Grids& grids, f32x3 x, float margin) {
        if (!stays(at, x, margin)) enter(rules, grids, x);
        __syncwarp();
    }

    __device__ __forceinline__ void enter(const Rules& rules, const Grids& grids, f32x3 x) {
        Corner corner = corner_of<true>(rules, x, at);
        load_edge(grids.edges, corner.base + (lane & 1 ? corner.to_y : 0) + (lane >> 1 ? corner.to_z : 0), low, along);
        fitted = __ldg((const u32*)(grids.edges + 3 * (size_t)corner.base)) & 1;
        if (!corner.to_x) {
#pragma unroll
            for (int k = 0; k < 6; k++) along[k] = 0.0f;
        }
    }

    __device__ __forceinline__ float sum(float value) const {
        value += __shfl_xor_sync(ALL, value, 1);
        return value + __shfl_xor_sync(ALL, value, 2);
    }

    __device__ __forceinline__ Slope slope(const Rules&, const Grids&, f32x3 p) const {
        float wy = lane & 1 ? at.v : 1.0f - at.v, wz = lane >> 1 ? at.w : 1.0f - at.w;
        float squares[6];
        squares_of(p, squares);
        float gx = form(along, squares), here = fmaf(at.u, gx, form(low, squares));
        float weight = wy * wz, d[6];
#pragma unroll
        for (int k = 0; k < 6; k++) d[k] = fmaf(at.u, along[k], low[k]);
        f32x3 dp = weight * product(d, p);
        f32x3 g = make(weight * gx, (lane & 1 ? wz : -wz) * here, (lane >> 1 ? wy : -wy) * here);
        return {make(sum(dp.x), sum(dp.y), sum(dp.z)), make(sum(g.x), sum(g.y), sum(g.z))};
    }

    __device__ __forceinline__ bool inside(const Rules& rules, const Grids& grids, f32x3 x) const {
        return fitted || linear(rules, grids.records, x, at, INSIDE) >= 0.5f;
    }
    __device__ float fa(const Rules& rules, const Grids& grids, f32x3 x) const {
        return linear(rules, grids.records, x, at, FA);
    }
};

// Cubic B-splines in single precision: 64 coefficients an evaluation.
struct Spline {
    static constexpr float MARGIN = 0.0f;
    Place at;
    Corner corner;

    static __device__ __forceinline__ bool any(bool active) { return active; }
    __device__ __forceinline__ bool writes() const { return true; }
    __device__ __forceinline__ u32 next(u32* queue) const { return take(queue, 1); }

    __device__ __forceinline__ void follow(const Rules& rules, const Grids& grids, f32x3 x, float margin) {
        if (!stays(at, x, margin)) enter(rules, grids, x);
    }

    __device__ __forceinline__ void enter(const Rules& rules, const Grids&, f32x3 x) {
        corner = corner_of<false>(rules, x, at);
    }

    static __device__ __forceinline__ void weights(float t, float value[4], float slope[4]) {
        float u = 1.0f - t, sixth = 1.0f / 6.0f;
        value[0] = u * u * u * sixth, value[3] = t * t * t * sixth;
        value[1] = 2.0f / 3.0f - 0.5f * t * t * (2.0f - t);
        value[2] = 1.0f - value[0] - value[1] - value[3];
        slope[0] = -0.5f * u * u, slope[3] = 0.5f * t * t, slope[1] = t * (1.5f * t - 2.0f);
        slope[2] = -slope[0] - slope[1] - slope[3];
    }

    __device__ Slope slope(const Rules& rules, const Grids& grids, f32x3 p) const {
        float wx[4], wy[4], wz[4], sx[4], sy[4], sz[4], squares[6];
        weights(at.u, wx, sx), weights(at.v, wy, sy), weights(at.w, wz, sz);
        squares_of(p, squares);
        float d[6] = {0, 0, 0, 0, 0, 0};
        f32x3 g = make(0, 0, 0);
        for (int k = 0; k < 4; k++) {
            for (int j = 0; j < 4; j++) {
                u32 row = corner.base + j * rules.stride[0] + k * rules.stride[1];
                float value = wy[j] * wz[k];
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const float4* record = (const float4*)grids.records + 2 * (size_t)(row + i);
                    float4 first = __ldg(record), second = __ldg(record + 1);
                    const float r[6] = {first.x, first.y, first.z, first.w, second.x, second.y};
                    float q = form(r, squares), w = wx[i] * value;
#pragma unroll
                    for (int c = 0; c < 6; c++) d[c] = fmaf(w, r[c], d[c]);
                    g.x = fmaf(sx[i] * value, q, g.x);
                    g.y = fmaf(wx[i] * sy[j] * wz[k], q, g.y);
                    g.z = fmaf(wx[i] * wy[j] * sz[k], q, g.z);
                }
            }
        }
        // Beyond the outer samples of an axis D does not change along it.
        if (!corner.to_x) g.x = 0.0f;
        if (!corner.to_y) g.y = 0.0f;
        if (!corner.to_z) g.z = 0.0f;
        return {product(d, p), g};
    }

    __device__ float mixed(const Rules& rules, const Grids& grids, int which) const {
        float wx[4], wy[4], wz[4], unused[4], sum = 0.0f;
        weights(at.u, wx, unused), weights(at.v, wy, unused), weights(at.w, wz, unused);
        for (int k = 0; k < 4; k++)
            for (int j = 0; j < 4; j++)
                for (int i = 0; i < 4; i++) {
                    size_t r = corner.base + i + j * rules.stride[0] + k * rules.stride[1];
                    sum = fmaf(wx[i] * wy[j] * wz[k], __ldg((const float*)grids.records + 8 * r + which), sum);
                }
        return sum;
    }

    __device__ bool inside(const Rules& rules, const Grids& grids, f32x3) const {
        return mixed(rules, grids, INSIDE) >= 0.5f;
    }
    __device__ float fa(const Rules& rules, const Grids& grids, f32x3) const { return mixed(rules, grids, FA); }
};

// A voxel vector in mm, in axes of its own: as long as in the world.
__device__ __forceinline__ f32x3 in_mm(const Rules& rules, f32x3 v) {
    const float* r = rules.root;
    return make(fmaf(r[2], v.z, fmaf(r[1], v.y, r[0] * v.x)), fmaf(r[4], v.z, r[3] * v.y), r[5] * v.z);
}

__device__ __forceinline__ f32x3 world_of(const Rules& rules, f32x3 x) {
    const float* w = rules.world;
    return make(fmaf(w[2], x.z, fmaf(w[1], x.y, fmaf(w[0], x.x, w[3]))),
                fmaf(w[6], x.z, fmaf(w[5], x.y, fmaf(w[4], x.x, w[7]))),
                fmaf(w[10], x.z, fmaf(w[9], x.y, fmaf(w[8], x.x, w[11]))));
}

// The regions that a segment meets go to `met`; the one that cuts it first, at `cut` of its length, is
// returned. At one place a target counts before a terminate region, the earlier before the later.
__device__ __forceinline__ u32 meet(const Rules& rules, const Gate* gates, const unsigned char* bytes, f32x3 from,
                                 f32x3 to, u32& met, float& cut) {
    u32 cut_by = NONE, close = 0;
    cut = 2.0f;
    for (u32 i = 0; i < rules.gates; i++) {
        const Gate& gate = gates[i];
        if (met >> i & 1 || !in_box(to, gate.near_low, gate.near_high)) continue;
        close |= 1u << i;
        if (gate.effect >= 2) continue;
        float t = entry(gate, bytes, from, to);
        if (!(t <= 1.0f)) continue;
        bool first = t < cut || (t == cut && gate.effect == 0 && (cut_by == NONE || gates[cut_by].effect == 1));
        if (first) cut = t, cut_by = i;
    }
    for (; close; close &= close - 1) {
        u32 i = __ffs(close) - 1;
        // Beyond the cut there is no ray.
        float t = entry(gates[i], bytes, from, to);
        if (t <= 1.0f && t <= cut) met |= 1u << i;
    }
    return cut_by;
}

// Point number `count` of a slot: place in the world, mm, and the connectivity measure from the seed.
__device__ __forceinline__ void keep(float4* out_grid, u32 count, const Rules& rules, u32 slot, f32x3 at,
                                     float length_mm, float riemann) {
    float measure = riemann > 0.0f ? length_mm / riemann : 1.0f;
    out_grid[(size_t)count * rules.rays + slot] = make_float4(at.x, at.y, at.z, measure);
}

// Tells the compiler to put what follows out of the way.
__device__ __forceinline__ bool seldom_so(bool condition) { return __builtin_expect(condition, 0); }

// A half ray under way.
struct Ray {
    // Voxels, and the last step's direction in mm.
    f32x3 x, p, direction;
    float riemann;
    u32 steps;
    // The step on which more is to be done than being taken.
    u32 due;
};

// What is not needed on every step, one a thread: in shared memory, so that registers hold a cell.
struct Seldom {
    u32 slot, count, met;
    // The steps on which a point is kept and the loop guard looks, and where it looked last.
    u32 keep_at, look_at;
    f32x3 looked;

    __device__ __forceinline__ u32 due(const Rules& rules) const { return min(min(keep_at, look_at), rules.max_steps); }
};

__device__ __forceinline__ Ray begin(const Rules& rules, const float* starts, const u32* halves,
                                     const Summary* summaries, Seldom& seldom, u32 slot) {
    u32 half = halves[slot];
    const float* start = starts + 9 * (size_t)(half / rules.senses);
    float sign = half % rules.senses ? -1.0f : 1.0f;
    Ray ray;
    seldom.slot = slot;
    ray.x = seldom.looked = make(start[0], start[1], start[2]);
    ray.p = sign * make(start[3], start[4], start[5]);
    ray.direction = sign * make(start[6], start[7], start[8]);
    ray.riemann = 0.0f;
    ray.steps = seldom.count = 0;
    seldom.met = summaries[slot].met;
    seldom.keep_at = rules.keep_every, seldom.look_at = rules.loop_steps;
    ray.due = seldom.due(rules);
    return ray;
}

// Follows half rays from their seeds to their ends; `slot` is a ray's place among those of this launch.
// Kept points lie step by step: out_grid[k * rays + slot] is x y z (world mm) and the connectivity
// measure from the seed. A thread whose ray has ended takes the next from the queue.
template <class Cell, int STAGES>
__device__ __forceinline__ void trace(const Rules& rules, const Grids& grids, const float* starts, const u32* halves,
                                      const Gate* gates, const unsigned char* bytes, Summary* summaries,
                                      float4* out_grid, u32* queue, u32 slot) {
    // The slope at the beginning is part of the result but with the midpoint rule.
    const float margin = STAGES == 2 ? Cell::MARGIN : 0.0f;
    float h = rules.step_mm;
    Cell cell;
    __shared__ Seldom all_seldom[64];
    Seldom& seldom = all_seldom[threadIdx.x];
    bool active = slot < rules.rays;
    Ray ray = begin(rules, starts, halves, summaries, seldom, active ? slot : 0);
    cell.enter(rules, grids, ray.x);
    while (Cell::any(active)) {
        f32x3 next = ray.x, p = ray.p, mm;
        // Of Runge and Kutta's four stages, weighted 1 2 2 1.
        Slope sum = {make(0, 0, 0), make(0, 0, 0)};
        float by, per_mm, riemann = 0.0f;
        // Not unrolled: the instruction cache is small.
#pragma unroll 1
        for (int stage = 1; stage <= STAGES; stage++) {
            Slope slope = cell.slope(rules, grids, p);
            bool last = stage == STAGES;
            float speed = dot(p, slope.x);
            mm = in_mm(rules, slope.x);
            per_mm = rsqrtf(dot(mm, mm));
            by = (last || (STAGES == 4 && stage == 3) ? h : 0.5f * h) * per_mm;
            if (STAGES == 4) {
                float weight = (stage == 2 || stage == 3 ? 2.0f : 1.0f) * per_mm;
                sum.x = sum.x + weight * slope.x, sum.p = sum.p + weight * slope.p;
                riemann = fmaf(weight, sqrtf(speed), riemann);
                if (last) {
                    slope = sum;
                    mm = in_mm(rules, sum.x);
                    per_mm = rsqrtf(dot(mm, mm));
                    by = h / 6.0f;
                }
            } else {
                riemann = speed;
            }
            next = ray.x + by * slope.x;
            p = ray.p + (-0.5f * by) * slope.p;
            cell.follow(rules, grids, next, last ? margin : 0.0f);
        }
        // Of a finished ray nothing is moved but its cell.
        if (!active) continue;
        float after = fmaf(by, STAGES == 4 ? riemann : sqrtf(riemann), ray.riemann);
        float cos = per_mm * dot(ray.direction, mm);
        ray.p = p;
        ray.direction = per_mm * mm;
        // Positive questions, so that NaN fails each; the last that fails names the reason.
        u32 reason = cos >= rules.min_cos ? GO : ANGLE;
        if (seldom_so(rules.min_fa >= 0.0f) && !(cell.fa(rules, grids, next) >= rules.min_fa)) reason = LOW_FA;
        if (!cell.inside(rules, grids, next)) reason = LEFT_MASK;
        if (!cell.at.in_volume) reason = LEFT_VOLUME;
        u32 target = NONE;
        float length_mm = 0.0f;
        if (seldom_so(rules.masks) && reason == GO) {
            f32x3 to = world_of(rules, next);
            bool allowed = false;
            for (u32 i = 0; i < rules.masks; i++) {
                allowed = allowed || entry(gates[rules.gates + i], bytes, to, to) <= 1.0f;
            }
            if (!allowed) reason = LEFT_MASK;
        }
        if (seldom_so(reason != GO)) {
            // The step before was the last.
            length_mm = ray.steps * h;
            if (seldom.keep_at != ray.steps + rules.keep_every) {
                if (cell.writes()) keep(out_grid, seldom.count, rules, seldom.slot, world_of(rules, ray.x), length_mm, ray.riemann);
                seldom.count++;
            }
        } else {
            ray.steps++;
            if (seldom_so(rules.gates)) {
                f32x3 from = world_of(rules, ray.x), to = world_of(rules, next);
                float cut;
                u32 cut_by = meet(rules, gates, bytes, from, to, seldom.met, cut);
                if (cut_by != NONE) {
                    reason = gates[cut_by].effect == 0 ? REACHED : TERMINATED;
                    target = gates[cut_by].effect == 0 ? gates[cut_by].target : NONE;
                    after = ray.riemann + cut * (after - ray.riemann);
                    length_mm = (ray.steps - 1 + cut) * h;
                    if (cell.writes()) keep(out_grid, seldom.count, rules, seldom.slot, from + cut * (to - from), length_mm, after);
                    seldom.count++;
                }
            }
            ray.riemann = after;
            if (seldom_so(ray.steps == ray.due && reason == GO)) {
                length_mm = ray.steps * h;
                if (ray.steps >= rules.max_steps) reason = rules.at_max;
                if (ray.steps == seldom.look_at) {
                    f32x3 way = in_mm(rules, next - seldom.looked);
                    if (reason == GO && dot(way, way) < rules.loop_mm2) reason = LOOP;
                    seldom.looked = next;
                    seldom.look_at += rules.loop_steps;
                }
                if (ray.steps == seldom.keep_at || reason != GO) {
                    if (cell.writes()) keep(out_grid, seldom.count, rules, seldom.slot, world_of(rules, next), length_mm, after);
                    seldom.count++;
                    seldom.keep_at = ray.steps + rules.keep_every;
                }
                ray.due = seldom.due(rules);
            }
        }
        ray.x = next;
        if (!seldom_so(reason != GO)) continue;
        if (cell.writes()) {
            summaries[seldom.slot] = {ray.steps, seldom.count, length_mm, ray.riemann, reason, target, seldom.met};
        }
        slot = cell.next(queue);
        active = slot < rules.rays;
        if (!active) continue;
        ray = begin(rules, starts, halves, summaries, seldom, slot);
        cell.enter(rules, grids, ray.x);
    }
}

#define ARGUMENTS                                                                                                \
    Rules rules, const float4 *edges, const void *records, const float *starts, const u32 *halves, const Gate *gates,                \
        const unsigned char *bytes, Summary *summaries, float4 *out_grid, u32 *queue

// One thread owns one half ray after the other.
#define TRACE(NAME, CELL, STAGES, BLOCKS)                                                                        \
    extern "C" __global__ void __launch_bounds__(64, BLOCKS) NAME(ARGUMENTS) {                                   \
        trace<CELL, STAGES>(rules, {edges, records}, starts, halves, gates, bytes, summaries, out_grid, queue,            \
                            thread_index());                                                                     \
    }

TRACE(geodesic_trace_linear_1, Whole, 1, 8)
TRACE(geodesic_trace_linear_2, Whole, 2, 8)
TRACE(geodesic_trace_linear_4, Whole, 4, 8)
TRACE(geodesic_trace_spline_1, Spline, 1, 4)
TRACE(geodesic_trace_spline_2, Spline, 2, 4)
TRACE(geodesic_trace_spline_4, Spline, 4, 4)

// Four threads own one half ray.
#define SHARE(NAME, CELL, STAGES)                                                                                \
    extern "C" __global__ void __launch_bounds__(64, 8) NAME(ARGUMENTS) {                                        \
        trace<CELL, STAGES>(rules, {edges, records}, starts, halves, gates, bytes, summaries, out_grid, queue,            \
                            thread_index() / 4);                                                                 \
    }

SHARE(geodesic_share_linear_2, Shared, 2)
SHARE(geodesic_share_linear_4, Shared, 4)

// One thread owns the edge that begins at one voxel.
extern "C" __global__ void geodesic_edge(Rules rules, const void* records, Edge* edges) {
    u32 i = thread_index(), x = i % rules.stride[0], y = i / rules.stride[0] % (rules.stride[1] / rules.stride[0]);
    u32 z = i / rules.stride[1];
    if (!(z <= rules.last[2])) return;
    Corner corner = {i, x < rules.last[0] ? 1u : 0u, y < rules.last[1] ? rules.stride[0] : 0u,
                     z < rules.last[2] ? rules.stride[1] : 0u};
    Edge edge;
    for (int k = 0; k < 6; k++) {
        edge.low[k] = number(rules, records, i, k);
        edge.along[k] = number(rules, records, i + corner.to_x, k) - edge.low[k];
    }
    bool fitted = true;
    for (int c = 0; c < 8; c++) fitted = fitted && number(rules, records, corner_index(corner, c), INSIDE) == 1.0f;
    u32 bits = __float_as_uint(edge.low[0]);
    edge.low[0] = __uint_as_float((bits & ~1u) | (fitted ? 1u : 0u));
    edges[i] = edge;
}

// As Wanted in cuda.rs.
struct Wanted {
    u32 slot, count;
    u32 first;
};

// One block of threads copies the points of one wanted half ray, so that they lie one after the other.
extern "C" __global__ void geodesic_gather(const float4* step_grid, u32 rays, const Wanted* wanted, float4* points) {
    Wanted half = wanted[blockIdx.x];
    for (u32 k = threadIdx.x; k < half.count; k += blockDim.x) {
        points[half.first + k] = step_grid[(size_t)k * rays + half.slot];
    }
}
