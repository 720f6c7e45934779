// The metric of geodesic rays: cells of tensors and B-splines, and how one thread, or four, hold the cell of a ray.
// The mathematics is that of src/engine/solvers/geodesic/field.rs.
#pragma once
#include <cuda_fp16.h>
#include "common.cuh"

// `KernelRules` in src/engine/solvers/geodesic/cuda.rs, in the same order.
struct Rules {
    // Half rays of the batch, each with a slot; the number of them followed in this launch, and the step at which
    // they pause in it; whether they continue from where they paused.
    u32 slots;
    u32 running;
    u32 until;
    u32 resumed;
    // Samples along the axes, and distance in records from one to the next along y and z.
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
    // Square of the highest velocity in the papers' form.
    float leap;
    // Rows of the affine from voxel to world.
    float world[12];
    // The upper triangle, row by row, that maps voxel vectors to vectors in mm of the same length.
    float root[6];
    u32 gates;
    u32 masks;
    // Two halves per start, the second with −p; otherwise one.
    u32 senses;
    // Whether records are eight halves instead of eight floats.
    u32 half;
};
static_assert(sizeof(Rules) == 43 * 4, "as in cuda.rs");

// One of the eight numbers of a voxel: xx xy xz yy yz zz, whether fitted, FA.
__device__ __forceinline__ float number(const Rules& rules, const void* records, u32 i, int which) {
    size_t at = 8 * (size_t)i + which;
    return rules.half ? __half2float(((const __half*)records)[at]) : __ldg((const float*)records + at);
}
const int INSIDE = 6, FA = 7;

// All eight numbers at once.
__device__ __forceinline__ void all_numbers(const Rules& rules, const void* records, u32 i, float numbers[8]) {
    if (rules.half) {
        uint4 packed = __ldg((const uint4*)records + i);
        const __half* halves = (const __half*)&packed;
        for (int n = 0; n < 8; n++) numbers[n] = __half2float(halves[n]);
    } else {
        const float4* from = (const float4*)records + 2 * (size_t)i;
        float4 low = __ldg(from), high = __ldg(from + 1);
        numbers[0] = low.x, numbers[1] = low.y, numbers[2] = low.z, numbers[3] = low.w;
        numbers[4] = high.x, numbers[5] = high.y, numbers[6] = high.z, numbers[7] = high.w;
    }
}

// The tensors between eight samples, as a polynomial: Σ f_r (a_r + u b_r) with f = 1, v, w, vw. Cells begin one
// sample before the first along each axis and end one after the last: there D is extended as a constant, so that no
// ray in the volume, or a step outside, is a special case.
//
// The last bit of each term's first number marks a plain cell: all samples are fitted, and it is not at the border.
struct Term {
    float a[6], b[6];

    __device__ __forceinline__ bool plain() const { return __float_as_uint(a[0]) & 1; }
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

__device__ __forceinline__ float with_last_bit(float value, bool bit) {
    return __uint_as_float((__float_as_uint(value) & ~1u) | (bit ? 1u : 0u));
}

// A ray's cell, and its position in it.
struct Position {
    // The cell's centre, voxels.
    f32x3 middle;
    float u, v, w;
};

const u32 ALL = 0xffffffffu;

// Whether a point is still in its cell, or outside by at most `margin`; updates the position.
__device__ __forceinline__ bool stays(Position& place, f32x3 x, float margin) {
    f32x3 off = x - place.middle;
    // Beyond its faces a cell is extended as a constant: its polynomial might not be positive definite.
    place.u = __saturatef(off.x + 0.5f), place.v = __saturatef(off.y + 0.5f), place.w = __saturatef(off.z + 0.5f);
    return fmaxf(fmaxf(fabsf(off.x), fabsf(off.y)), fabsf(off.z)) <= 0.5f + margin;
}

// 1.5 · 2²³: floats of this magnitude are integers, and consecutive ones differ by one bit.
const float WHOLE = 12582912.0f;
const u32 WHOLE_BITS = 0x4b400000;

// The last sample before x along an axis with `samples` samples, or the nearest at which a cell begins; plus WHOLE.
// (NaN gives the first.) Conversion instructions are slow.
__device__ __forceinline__ float before(float x, int samples) {
    return fminf(fmaxf(__fadd_rd(x, WHOLE), WHOLE - 1.0f), WHOLE + (float)(samples - 1));
}

// Locates the cell of a point that has left its own, or the nearest cell in the grid.
__device__ __forceinline__ u32 locate(const Rules& rules, f32x3 x, Position& at) {
    float i = before(x.x, rules.shape[0]), j = before(x.y, rules.shape[1]), k = before(x.z, rules.shape[2]);
    f32x3 low = make(i - WHOLE, j - WHOLE, k - WHOLE);
    at.middle = make(low.x + 0.5f, low.y + 0.5f, low.z + 0.5f);
    at.u = x.x - low.x, at.v = x.y - low.y, at.w = x.z - low.z;
    // Modulo 2³², where the first cell's -1 -1 -1 is no exception.
    u32 nx = rules.shape[0] + 1, ny = rules.shape[1] + 1, first = 1 - WHOLE_BITS;
    return __float_as_uint(i) + nx * (__float_as_uint(j) + ny * __float_as_uint(k)) + first * (1 + nx + nx * ny);
}

__device__ __forceinline__ bool in_volume(const Rules& rules, f32x3 x) {
    return x.x >= -0.5f && x.y >= -0.5f && x.z >= -0.5f && x.x <= rules.face[0] && x.y <= rules.face[1] &&
           x.z <= rules.face[2];
}

// Record index of a sample, or of the nearest one.
__device__ __forceinline__ u32 nearest(const Rules& rules, int i, int j, int k) {
    i = min(max(i, 0), rules.shape[0] - 1), j = min(max(j, 0), rules.shape[1] - 1);
    k = min(max(k, 0), rules.shape[2] - 1);
    return (u32)i + rules.stride[0] * (u32)j + rules.stride[1] * (u32)k;
}

__device__ __forceinline__ float corner_weight(int c, const Position& at) {
    return (c & 1 ? at.u : 1.0f - at.u) * (c & 2 ? at.v : 1.0f - at.v) * (c & 4 ? at.w : 1.0f - at.w);
}

// Linear interpolation of one of the numbers.
__device__ float linear(const Rules& rules, const void* records, const Position& at, int which) {
    int i = __float2int_rd(at.middle.x), j = __float2int_rd(at.middle.y), k = __float2int_rd(at.middle.z);
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

// The next ray that no thread has begun, where `threads` threads share one; the first ray of each has the thread's
// own index.
__device__ __forceinline__ u32 take(u32* queue, u32 threads) {
    return gridDim.x * blockDim.x / threads + atomicAdd(queue, 1);
}

// One thread per ray: a cell in 48 registers, reloaded when the ray enters another. At nearly every step some ray of
// a warp does, so loading must be short, and happens once per step with the midpoint rule: the margin keeps rays in
// their cells until the next midpoint.
struct Whole {
    static constexpr float MARGIN = 1.0f / 16.0f;
    static constexpr bool IS_LARGE = false;
    // LOW_FA.
    static constexpr u32 TOO_LOW = 4;
    Term terms[4];
    Position at;

    static __device__ __forceinline__ bool any(bool active) { return active; }
    // A ray begins in this direction, in the axes of Rules::root.
    __device__ __forceinline__ void begin(f32x3) {}
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

    __device__ __forceinline__ Slope slope(const Rules&, const Grids&, f32x3 p, bool) const {
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

    __device__ __forceinline__ bool plain() const { return terms[0].plain(); }
    __device__ __forceinline__ bool inside(const Rules& rules, const Grids& grids) const {
        return linear(rules, grids.records, at, INSIDE) >= 0.5f;
    }
    __device__ __forceinline__ float level(const Rules& rules, const Grids& grids) const {
        return linear(rules, grids.records, at, FA);
    }
};

// Several threads per ray, for few rays: each of four holds a term of the cell, and six values are summed over the
// four. Additional threads repeat the work of the four: a warp then has fewer rays, which wait less for one another's
// cells.
template <u32 THREADS>
struct Shared {
    static constexpr float MARGIN = 1.0f / 16.0f;
    static constexpr bool IS_LARGE = false;
    // LOW_FA.
    static constexpr u32 TOO_LOW = 4;
    Term term;
    Position at;
    u32 lane = threadIdx.x & 3;

    // The threads of a warp continue until all have finished: sums over four of them then need no precautions.
    static __device__ __forceinline__ bool any(bool active) { return __any_sync(ALL, active); }
    // A ray begins in this direction, in the axes of Rules::root.
    __device__ __forceinline__ void begin(f32x3) {}
    __device__ __forceinline__ bool writes() const { return threadIdx.x % THREADS == 0; }
    __device__ __forceinline__ u32 next(u32* queue) const {
        u32 slot = writes() ? take(queue, THREADS) : 0;
        return __shfl_sync((ALL >> (32 - THREADS)) << (threadIdx.x % 32 / THREADS * THREADS), slot, 0, THREADS);
    }

    __device__ __forceinline__ void follow(const Rules& rules, const Grids& grids, f32x3 x, f32x3 way, float margin) {
        if (!stays(at, x, margin)) prefetch(rules, grids, enter(rules, grids, x), way);
        __syncwarp();
    }

    __device__ __forceinline__ u32 enter(const Rules& rules, const Grids& grids, f32x3 x) {
        u32 cell = locate(rules, x, at);
        term = load(grids.cells, cell, lane);
        return cell;
    }

    // With few rays nothing else hides memory latency: prefetches the cell that a ray will most likely enter next.
    __device__ __forceinline__ void prefetch(const Rules& rules, const Grids& grids, u32 cell, f32x3 way) const {
        u32 nx = rules.shape[0] + 1, plane = nx * (rules.shape[1] + 1), cells = plane * (rules.shape[2] + 1);
        float x = fabsf(way.x), y = fabsf(way.y), z = fabsf(way.z);
        u32 step = way.x > 0.0f ? 1 : ALL;
        if (y > x) step = way.y > 0.0f ? nx : -nx;
        if (z > fmaxf(x, y)) step = way.z > 0.0f ? plane : -plane;
        // At the border of the grid any cell will do.
        u32 next = min(cell + step, cells - 1);
        asm volatile("prefetch.global.L1 [%0];" ::"l"(grids.cells + 12 * (size_t)next + 3 * lane));
    }

    __device__ __forceinline__ float sum(float value) const {
        value += __shfl_xor_sync(ALL, value, 1);
        return value + __shfl_xor_sync(ALL, value, 2);
    }

    __device__ __forceinline__ Slope slope(const Rules&, const Grids&, f32x3 p, bool) const {
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

    __device__ __forceinline__ bool plain() const { return term.plain(); }
    __device__ __forceinline__ bool inside(const Rules& rules, const Grids& grids) const {
        return linear(rules, grids.records, at, INSIDE) >= 0.5f;
    }
    __device__ __forceinline__ float level(const Rules& rules, const Grids& grids) const {
        return linear(rules, grids.records, at, FA);
    }
};

// Cubic B-splines in single precision: 64 coefficients per evaluation.
struct Spline {
    static constexpr float MARGIN = 0.0f;
    static constexpr bool IS_LARGE = false;
    static constexpr u32 TOO_LOW = 4;
    Position at;
    u32 base;
    // Axes along which the point lies beyond the outer samples, one bit each.
    u32 beyond;

    static __device__ __forceinline__ bool any(bool active) { return active; }
    // A ray begins in this direction, in the axes of Rules::root.
    __device__ __forceinline__ void begin(f32x3) {}
    __device__ __forceinline__ bool writes() const { return true; }
    __device__ __forceinline__ u32 next(u32* queue) const { return take(queue, 1); }

    __device__ __forceinline__ void follow(const Rules& rules, const Grids& grids, f32x3 x, f32x3, float) {
        enter(rules, grids, x);
    }

    // NaN gives the first sample.
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

    __device__ Slope slope(const Rules& rules, const Grids& grids, f32x3 p, bool) const {
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
    __device__ float level(const Rules& rules, const Grids& grids) const { return mixed(rules, grids, FA); }
};
