// Geodesic rays in Hamiltonian form; the mathematics, the rules and their order are those of
// src/solvers/geodesic (mod.rs, journey.rs). Positions in voxels, lengths in mm.
#include <cuda_fp16.h>
#include "common.cuh"
#include "regions.cuh"

// As Rules in src/solvers/geodesic/cuda.rs, in its order.
struct Rules {
    u32 rays;
    // Samples along the axes, and records from one to the next along y and z.
    int shape[3];
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

// The tensors between eight samples, as a polynomial: Σ f_r (a_r + u b_r) with f = 1, v, w, vw. Cells
// begin one sample before the first along each axis and end one after the last: there D is continued
// as a constant, so that no ray in the volume, or a step outside, is a special case.
//
// The last bit of the first number tells whether the cell is plain: all samples fitted, not at the
// border.
struct Term {
    float a[6], b[6];
};
struct Cell {
    Term terms[4];
};
static_assert(sizeof(Term) == 3 * 16, "three loads");

__device__ __forceinline__ Term load(const float4* cells, u32 cell, u32 term) {
    const float4* from = cells + 12 * (size_t)cell + 3 * term;
    float4 x = __ldg(from), y = __ldg(from + 1), z = __ldg(from + 2);
    return {{x.x, x.y, x.z, x.w, y.x, y.y}, {y.z, y.w, z.x, z.y, z.z, z.w}};
}

__device__ __forceinline__ bool last_bit(float value) { return __float_as_uint(value) & 1; }
__device__ __forceinline__ float with_last_bit(float value, bool bit) {
    return __uint_as_float((__float_as_uint(value) & ~1u) | (bit ? 1u : 0u));
}

// A ray's cell, and its place in it.
struct Place {
    // The first sample, voxels.
    f32x3 origin;
    float u, v, w;
};

const u32 ALL = 0xffffffffu;

// Whether a point is still in its cell, or by `margin` outside.
__device__ __forceinline__ bool stays(Place& place, f32x3 x, float margin) {
    place.u = x.x - place.origin.x, place.v = x.y - place.origin.y, place.w = x.z - place.origin.z;
    float least = fminf(fminf(place.u, place.v), place.w), most = fmaxf(fmaxf(place.u, place.v), place.w);
    return least >= -margin && most <= 1.0f + margin;
}

// The cell of a point that has left its own, or of the nearest in the grid. (NaN is in the first.)
__device__ __forceinline__ u32 locate(const Rules& rules, f32x3 x, Place& at) {
    int i = min(max(__float2int_rd(x.x), -1), rules.shape[0] - 1);
    int j = min(max(__float2int_rd(x.y), -1), rules.shape[1] - 1);
    int k = min(max(__float2int_rd(x.z), -1), rules.shape[2] - 1);
    at.origin = make((float)i, (float)j, (float)k);
    at.u = x.x - at.origin.x, at.v = x.y - at.origin.y, at.w = x.z - at.origin.z;
    // Modulo 2³², in which the first cell's -1 -1 -1 is no exception.
    u32 nx = rules.shape[0] + 1, ny = rules.shape[1] + 1;
    return (u32)i + nx * ((u32)j + ny * (u32)k) + (1 + nx + nx * ny);
}

__device__ __forceinline__ bool in_volume(const Rules& rules, f32x3 x) {
    return x.x >= -0.5f && x.y >= -0.5f && x.z >= -0.5f && x.x <= rules.face[0] && x.y <= rules.face[1] &&
           x.z <= rules.face[2];
}

// Record number of a sample, or of the nearest.
__device__ __forceinline__ u32 nearest(const Rules& rules, int i, int j, int k) {
    i = min(max(i, 0), rules.shape[0] - 1), j = min(max(j, 0), rules.shape[1] - 1);
    k = min(max(k, 0), rules.shape[2] - 1);
    return (u32)i + rules.stride[0] * (u32)j + rules.stride[1] * (u32)k;
}

__device__ __forceinline__ float corner_weight(int c, const Place& at) {
    return (c & 1 ? at.u : 1.0f - at.u) * (c & 2 ? at.v : 1.0f - at.v) * (c & 4 ? at.w : 1.0f - at.w);
}

// Linear mixture of one of the numbers.
__device__ float linear(const Rules& rules, const void* records, const Place& at, int which) {
    int i = (int)at.origin.x, j = (int)at.origin.y, k = (int)at.origin.z;
    float sum = 0.0f;
    for (int c = 0; c < 8; c++) {
        u32 record = nearest(rules, i + (c & 1), j + (c >> 1 & 1), k + (c >> 2));
        sum = fmaf(corner_weight(c, at), number(rules, records, record, which), sum);
    }
    return sum;
}

// Splines have no cells.
struct Grids {
    const float4* cells;
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

// One thread a ray: a cell in 48 registers, loaded anew when the ray enters another. Nearly every step
// some ray of a warp does, so loading has to be short, and happens once a step with the midpoint rule:
// the margin keeps rays in their cells until the next midpoint.
struct Whole {
    static constexpr float MARGIN = 1.0f / 16.0f;
    Term terms[4];
    Place at;

    static constexpr bool TOGETHER = false;
    __device__ __forceinline__ bool writes() const { return true; }
    __device__ __forceinline__ u32 next(u32* queue) const { return take(queue, 1); }

    __device__ __forceinline__ void follow(const Rules& rules, const Grids& grids, f32x3 x, f32x3, float margin) {
        if (!stays(at, x, margin)) enter(rules, grids, x);
    }

    __device__ __forceinline__ void enter(const Rules& rules, const Grids& grids, f32x3 x) {
        u32 cell = locate(rules, x, at);
#pragma unroll
        for (int r = 0; r < 4; r++) terms[r] = load(grids.cells, cell, r);
    }

    __device__ __forceinline__ Slope slope(const Rules&, const Grids&, f32x3 p) const {
        float squares[6], d[6], qx[4] = {0, 0, 0, 0}, q1 = 0.0f, q3 = 0.0f, qw = 0.0f;
        squares_of(p, squares);
#pragma unroll
        for (int k = 0; k < 6; k++) {
            float at_u[4];
#pragma unroll
            for (int r = 0; r < 4; r++) {
                at_u[r] = fmaf(at.u, terms[r].b[k], terms[r].a[k]);
                qx[r] = fmaf(terms[r].b[k], squares[k], qx[r]);
            }
            q1 = fmaf(at_u[1], squares[k], q1);
            q3 = fmaf(at_u[3], squares[k], q3);
            float along_w = fmaf(at.v, at_u[3], at_u[2]);
            qw = fmaf(along_w, squares[k], qw);
            d[k] = fmaf(at.w, along_w, fmaf(at.v, at_u[1], at_u[0]));
        }
        float near = fmaf(at.v, qx[1], qx[0]), deep = fmaf(at.v, qx[3], qx[2]);
        return {product(d, p), make(fmaf(at.w, deep, near), fmaf(at.w, q3, q1), qw)};
    }

    __device__ __forceinline__ bool plain() const { return last_bit(terms[0].a[0]); }
    __device__ __forceinline__ bool inside(const Rules& rules, const Grids& grids) const {
        return linear(rules, grids.records, at, INSIDE) >= 0.5f;
    }
    __device__ __forceinline__ float fa(const Rules& rules, const Grids& grids) const {
        return linear(rules, grids.records, at, FA);
    }
};

// Four threads a ray, for few rays: each owns a term of the cell, and six values are summed over the
// four.
struct Shared {
    static constexpr float MARGIN = 1.0f / 16.0f;
    Term term;
    Place at;
    bool of_plain_cell;
    u32 lane = threadIdx.x & 3;

    // The threads of a warp go on until all have finished: sums over four of them need no care then.
    static constexpr bool TOGETHER = true;
    __device__ __forceinline__ bool writes() const { return lane == 0; }
    __device__ __forceinline__ u32 next(u32* queue) const {
        u32 slot = lane == 0 ? take(queue, 4) : 0;
        return __shfl_sync(0xfu << (threadIdx.x & 28), slot, 0, 4);
    }

    __device__ __forceinline__ void follow(const Rules& rules, const Grids& grids, f32x3 x, f32x3 way, float margin) {
        if (!stays(at, x, margin)) prefetch(rules, grids, enter(rules, grids, x), way);
        __syncwarp();
    }

    __device__ __forceinline__ u32 enter(const Rules& rules, const Grids& grids, f32x3 x) {
        u32 cell = locate(rules, x, at);
        term = load(grids.cells, cell, lane);
        of_plain_cell = last_bit(__ldg(&grids.cells[12 * (size_t)cell].x));
        return cell;
    }

    // With few rays nothing else hides how long memory takes: asks for the cell that a ray on its way
    // will enter next.
    __device__ __forceinline__ void prefetch(const Rules& rules, const Grids& grids, u32 cell, f32x3 way) const {
        // Which face is near, in ways.
        float x = __fdividef(fabsf(way.x), (way.x > 0.0f ? 1.0f - at.u : at.u) + 1e-6f);
        float y = __fdividef(fabsf(way.y), (way.y > 0.0f ? 1.0f - at.v : at.v) + 1e-6f);
        float z = __fdividef(fabsf(way.z), (way.z > 0.0f ? 1.0f - at.w : at.w) + 1e-6f);
        int nx = rules.shape[0] + 1, ny = rules.shape[1] + 1, nz = rules.shape[2] + 1;
        int step = x >= y && x >= z ? (way.x > 0.0f ? 1 : -1) : y >= z ? (way.y > 0.0f ? nx : -nx) : (way.z > 0.0f ? nx * ny : -nx * ny);
        int next = min(max((int)cell + step, 0), nx * ny * nz - 1);
        asm volatile("prefetch.global.L1 [%0];" ::"l"(grids.cells + 12 * (size_t)next + 3 * lane));
    }

    __device__ __forceinline__ float sum(float value) const {
        value += __shfl_xor_sync(ALL, value, 1);
        return value + __shfl_xor_sync(ALL, value, 2);
    }

    __device__ __forceinline__ Slope slope(const Rules&, const Grids&, f32x3 p) const {
        float fv = lane & 1 ? at.v : 1.0f, fw = lane & 2 ? at.w : 1.0f;
        float squares[6], d[6];
        squares_of(p, squares);
        float gx = form(term.b, squares), here = fmaf(at.u, gx, form(term.a, squares));
        float factor = fv * fw;
#pragma unroll
        for (int k = 0; k < 6; k++) d[k] = fmaf(at.u, term.b[k], term.a[k]);
        f32x3 dp = factor * product(d, p);
        f32x3 g = make(factor * gx, lane & 1 ? fw * here : 0.0f, lane & 2 ? fv * here : 0.0f);
        return {make(sum(dp.x), sum(dp.y), sum(dp.z)), make(sum(g.x), sum(g.y), sum(g.z))};
    }

    __device__ __forceinline__ bool plain() const { return of_plain_cell; }
    __device__ __forceinline__ bool inside(const Rules& rules, const Grids& grids) const {
        return linear(rules, grids.records, at, INSIDE) >= 0.5f;
    }
    __device__ __forceinline__ float fa(const Rules& rules, const Grids& grids) const {
        return linear(rules, grids.records, at, FA);
    }
};

// Cubic B-splines in single precision: 64 coefficients an evaluation.
struct Spline {
    static constexpr float MARGIN = 0.0f;
    Place at;
    u32 base;
    // Axes along which the point lies beyond the outer samples, a bit each.
    u32 beyond;

    static constexpr bool TOGETHER = false;
    __device__ __forceinline__ bool writes() const { return true; }
    __device__ __forceinline__ u32 next(u32* queue) const { return take(queue, 1); }

    __device__ __forceinline__ void follow(const Rules& rules, const Grids& grids, f32x3 x, f32x3, float) {
        enter(rules, grids, x);
    }

    // NaN is at the first sample.
    __device__ __forceinline__ u32 axis(float x, int samples, u32 stride, u32 bit, float& t) {
        float inner = fminf(fmaxf(x, 0.0f), (float)(samples - 1));
        if (!(inner == x)) beyond |= bit;
        u32 i = min((u32)inner, (u32)samples - 2);
        t = inner - (float)i;
        return i * stride;
    }

    __device__ __forceinline__ void enter(const Rules& rules, const Grids&, f32x3 x) {
        beyond = 0;
        base = axis(x.x, rules.shape[0], 1, 1, at.u);
        base += axis(x.y, rules.shape[1], rules.stride[0], 2, at.v);
        base += axis(x.z, rules.shape[2], rules.stride[1], 4, at.w);
    }

    __device__ __forceinline__ bool plain() const { return false; }

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
                u32 row = base + j * rules.stride[0] + k * rules.stride[1];
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
        if (beyond & 1) g.x = 0.0f;
        if (beyond & 2) g.y = 0.0f;
        if (beyond & 4) g.z = 0.0f;
        return {product(d, p), g};
    }

    __device__ float mixed(const Rules& rules, const Grids& grids, int which) const {
        float wx[4], wy[4], wz[4], unused[4], sum = 0.0f;
        weights(at.u, wx, unused), weights(at.v, wy, unused), weights(at.w, wz, unused);
        for (int k = 0; k < 4; k++)
            for (int j = 0; j < 4; j++)
                for (int i = 0; i < 4; i++) {
                    size_t r = base + i + j * rules.stride[0] + k * rules.stride[1];
                    sum = fmaf(wx[i] * wy[j] * wz[k], __ldg((const float*)grids.records + 8 * r + which), sum);
                }
        return sum;
    }

    __device__ bool inside(const Rules& rules, const Grids& grids) const {
        return mixed(rules, grids, INSIDE) >= 0.5f;
    }
    __device__ float fa(const Rules& rules, const Grids& grids) const { return mixed(rules, grids, FA); }
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

// A half ray under way.
struct Ray {
    // Voxels; D p of the last step in mm, and 1 by its length.
    f32x3 x, p, direction;
    float per_mm, riemann;
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

    __device__ __forceinline__ u32 due(const Rules& rules, u32 steps) const {
        bool always = rules.gates || rules.masks || rules.min_fa >= 0.0f;
        return always ? steps + 1 : min(min(keep_at, look_at), rules.max_steps);
    }
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
    ray.per_mm = 1.0f;
    ray.riemann = 0.0f;
    ray.steps = seldom.count = 0;
    seldom.met = summaries[slot].met;
    seldom.keep_at = rules.keep_every, seldom.look_at = rules.loop_steps;
    ray.due = seldom.due(rules, 0);
    return ray;
}

// Follows half rays from their seeds to their ends; `slot` is a ray's place among those of this launch.
// Kept points lie step by step: out_grid[k * rays + slot] is x y z (world mm) and the connectivity
// measure from the seed. A thread whose ray has ended takes the next from the queue.
template <class Sampler, int STAGES>
__device__ __forceinline__ void trace(const Rules& rules, const Grids& grids, const float* starts, const u32* halves,
                                      const Gate* gates, const unsigned char* bytes, Summary* summaries,
                                      float4* out_grid, u32* queue, u32 slot) {
    // The slope at the beginning is part of the result but with the midpoint rule.
    const float margin = STAGES == 2 ? Sampler::MARGIN : 0.0f;
    const float h = rules.step_mm, half = 0.5f * h;
    // The instruction cache is small.
    constexpr int UNROLLED = STAGES == 4 ? 1 : STAGES;
    Sampler cell;
    __shared__ Seldom all_seldom[64];
    Seldom& seldom = all_seldom[threadIdx.x];
    bool active = slot < rules.rays;
    Ray ray = begin(rules, starts, halves, summaries, seldom, active ? slot : 0);
    cell.enter(rules, grids, ray.x);
    for (u32 step = 0;; step++) {
        // Finished rays of a warp that goes on together may as well go a few steps further.
        if (Sampler::TOGETHER ? step % 16 == 0 && !__any_sync(ALL, active) : !active) return;
        f32x3 next = ray.x, p = ray.p, mm;
        // Of Runge and Kutta's four stages, weighted 1 2 2 1.
        Slope sum = {make(0, 0, 0), make(0, 0, 0)};
        float by, per_mm, riemann = 0.0f;
#pragma unroll UNROLLED
        for (int stage = 1; stage <= STAGES; stage++) {
            Slope slope = cell.slope(rules, grids, p);
            bool last = stage == STAGES;
            float speed = dot(p, slope.x);
            mm = in_mm(rules, slope.x);
            per_mm = rsqrtf(dot(mm, mm));
            by = (last || (STAGES == 4 && stage == 3) ? h : half) * per_mm;
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
            cell.follow(rules, grids, next, slope.x, last ? margin : 0.0f);
        }
        // Of a finished ray nothing is moved but its cell.
        if (!active) continue;
        float after = fmaf(by, STAGES == 4 ? riemann : sqrtf(riemann), ray.riemann);
        float cos = (ray.per_mm * per_mm) * dot(ray.direction, mm);
        ray.p = p;
        ray.direction = mm, ray.per_mm = per_mm;
        ray.steps++;
        // Positive questions, so that NaN fails each.
        if (__builtin_expect(cos >= rules.min_cos && cell.plain() && ray.steps != ray.due, 1)) {
            ray.riemann = after;
            ray.x = next;
            continue;
        }
        // The last that fails names the reason.
        u32 reason = cos >= rules.min_cos ? GO : ANGLE, target = NONE;
        if (rules.min_fa >= 0.0f && !(cell.fa(rules, grids) >= rules.min_fa)) reason = LOW_FA;
        if (!cell.plain()) {
            if (!cell.inside(rules, grids)) reason = LEFT_MASK;
            if (!in_volume(rules, next)) reason = LEFT_VOLUME;
        }
        float length_mm = ray.steps * h;
        if (rules.masks && reason == GO) {
            f32x3 to = world_of(rules, next);
            bool allowed = false;
            for (u32 i = 0; i < rules.masks; i++) {
                allowed = allowed || entry(gates[rules.gates + i], bytes, to, to) <= 1.0f;
            }
            if (!allowed) reason = LEFT_MASK;
        }
        if (reason != GO) {
            // The step before was the last.
            ray.steps--;
            length_mm = ray.steps * h;
            if (seldom.keep_at != ray.steps + rules.keep_every) {
                if (cell.writes()) keep(out_grid, seldom.count, rules, seldom.slot, world_of(rules, ray.x), length_mm, ray.riemann);
                seldom.count++;
            }
        } else {
            if (rules.gates) {
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
            if (reason == GO) {
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
                ray.due = seldom.due(rules, ray.steps);
            }
        }
        ray.x = next;
        if (reason == GO) continue;
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
    Rules rules, const float4 *cells, const void *records, const float *starts, const u32 *halves, const Gate *gates,                \
        const unsigned char *bytes, Summary *summaries, float4 *out_grid, u32 *queue

// One thread owns one half ray after the other.
#define TRACE(NAME, CELL, STAGES, BLOCKS)                                                                        \
    extern "C" __global__ void __launch_bounds__(64, BLOCKS) NAME(ARGUMENTS) {                                   \
        trace<CELL, STAGES>(rules, {cells, records}, starts, halves, gates, bytes, summaries, out_grid, queue,            \
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
        trace<CELL, STAGES>(rules, {cells, records}, starts, halves, gates, bytes, summaries, out_grid, queue,            \
                            thread_index() / 4);                                                                 \
    }

SHARE(geodesic_share_linear_2, Shared, 2)
SHARE(geodesic_share_linear_4, Shared, 4)

// One thread owns a cell.
extern "C" __global__ void geodesic_cell(Rules rules, const void* records, Cell* cells) {
    u32 cell = thread_index(), nx = rules.shape[0] + 1, ny = rules.shape[1] + 1;
    int i = (int)(cell % nx) - 1, j = (int)(cell / nx % ny) - 1, k = (int)(cell / (nx * ny)) - 1;
    if (!(k < rules.shape[2])) return;
    u32 corners[8];
    bool fitted = true;
    for (int c = 0; c < 8; c++) {
        corners[c] = nearest(rules, i + (c & 1), j + (c >> 1 & 1), k + (c >> 2));
        fitted = fitted && number(rules, records, corners[c], INSIDE) == 1.0f;
    }
    bool at_border = i < 0 || j < 0 || k < 0 || i == rules.shape[0] - 1 || j == rules.shape[1] - 1 || k == rules.shape[2] - 1;
    Cell out;
    for (int n = 0; n < 6; n++) {
        float a[4], b[4];
        for (int e = 0; e < 4; e++) {
            a[e] = number(rules, records, corners[2 * e], n);
            b[e] = number(rules, records, corners[2 * e + 1], n) - a[e];
        }
        out.terms[0].a[n] = a[0], out.terms[0].b[n] = b[0];
        out.terms[1].a[n] = a[1] - a[0], out.terms[1].b[n] = b[1] - b[0];
        out.terms[2].a[n] = a[2] - a[0], out.terms[2].b[n] = b[2] - b[0];
        out.terms[3].a[n] = (a[3] - a[2]) - (a[1] - a[0]), out.terms[3].b[n] = (b[3] - b[2]) - (b[1] - b[0]);
    }
    out.terms[0].a[0] = with_last_bit(out.terms[0].a[0], fitted && !at_border);
    float4* to = (float4*)(cells + cell);
    for (int n = 0; n < 12; n++) to[n] = ((const float4*)&out)[n];
}

// As Wanted in cuda.rs.
struct Wanted {
    u32 slot, count;
    u32 first;
};

// A block copies the points of 32 wanted half rays, so that those of each lie one after the other: reads
// go along the slots, writes along the rays.
extern "C" __global__ void __launch_bounds__(256) geodesic_gather(const float4* step_grid, u32 rays, const Wanted* wanted,
                                                                   u32 halves, f32x3* points, float* measures) {
    const u32 DEPTH = 16;
    __shared__ float4 tile[32][DEPTH + 1];
    __shared__ Wanted mine[32];
    u32 lane = threadIdx.x % 32, most = 0;
    if (threadIdx.x < 32) {
        u32 i = blockIdx.x * 32 + lane;
        mine[lane] = i < halves ? wanted[i] : Wanted{0, 0, 0};
    }
    __syncthreads();
    for (u32 i = 0; i < 32; i++) most = max(most, mine[i].count);
    for (u32 first = 0; first < most; first += DEPTH) {
        for (u32 k = threadIdx.x / 32; k < DEPTH; k += blockDim.x / 32) {
            if (first + k < mine[lane].count) tile[lane][k] = step_grid[(size_t)(first + k) * rays + mine[lane].slot];
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < 32 * DEPTH; i += blockDim.x) {
            Wanted half = mine[i / DEPTH];
            u32 k = i % DEPTH;
            if (first + k < half.count) {
                float4 point = tile[i / DEPTH][k];
                points[half.first + first + k] = make(point.x, point.y, point.z);
                measures[half.first + first + k] = point.w;
            }
        }
        __syncthreads();
    }
}
