// Geodesic rays in Hamiltonian form; the mathematics, the rules and their order are those of
// src/solvers/geodesic (mod.rs, journey.rs). Positions in voxels, lengths in mm.
#include <cuda_fp16.h>
#include "common.cuh"
#include "regions.cuh"

// As Rules in src/solvers/geodesic/cuda.rs, in its order.
struct Rules {
    u32 rays;
    // Samples along the axes, and records from one to the next along y and z.
    u32 shape[3];
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
    // xx xy xz yy yz zz: squared lengths of voxel vectors, mm².
    float mm2[6];
    u32 gates;
    u32 masks;
    // Two halves a start, the second with −p; else one.
    u32 senses;
};
static_assert(sizeof(Rules) == 38 * 4, "as in cuda.rs");

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

// One voxel: six components, whether fitted, FA.
struct Record {
    float d[6];
    float inside;
};

template <bool HALF> __device__ __forceinline__ Record record(const uint4* records, u32 i) {
    Record r;
    if (HALF) {
        uint4 raw = __ldg(records + i);
        float2 a = __half22float2(*(half2*)&raw.x), b = __half22float2(*(half2*)&raw.y);
        float2 c = __half22float2(*(half2*)&raw.z), d = __half22float2(*(half2*)&raw.w);
        r.d[0] = a.x, r.d[1] = a.y, r.d[2] = b.x, r.d[3] = b.y, r.d[4] = c.x, r.d[5] = c.y, r.inside = d.x;
    } else {
        const float4* single = (const float4*)records + 2 * (size_t)i;
        float4 a = __ldg(single), b = __ldg(single + 1);
        r.d[0] = a.x, r.d[1] = a.y, r.d[2] = a.z, r.d[3] = a.w, r.d[4] = b.x, r.d[5] = b.y, r.inside = b.z;
    }
    return r;
}

template <bool HALF> __device__ __forceinline__ float fa_of(const uint4* records, u32 i) {
    if (HALF) return __half2float(((const __half*)(records + i))[7]);
    return ((const float*)records)[8 * (size_t)i + 7];
}

// The cell of eight samples around a point.
struct Place {
    u32 base;
    float u, v, w;
    // Axes along which the point lies beyond the outer samples, a bit each: D is continued there as a
    // constant.
    u32 beyond;

    __device__ __forceinline__ f32x3 held(f32x3 slope) const {
        if (beyond & 1) slope.x = 0.0f;
        if (beyond & 2) slope.y = 0.0f;
        if (beyond & 4) slope.z = 0.0f;
        return slope;
    }
};

// NaN gives the first sample, and lies beyond it.
__device__ __forceinline__ float clamped(float x, u32 samples, u32 bit, u32& beyond) {
    float inner = fminf(fmaxf(x, 0.0f), (float)(samples - 1));
    if (!(inner == x)) beyond |= bit;
    return inner;
}

__device__ __forceinline__ Place place_of(const Rules& rules, f32x3 x) {
    Place place;
    place.beyond = 0;
    float cx = clamped(x.x, rules.shape[0], 1, place.beyond);
    float cy = clamped(x.y, rules.shape[1], 2, place.beyond);
    float cz = clamped(x.z, rules.shape[2], 4, place.beyond);
    u32 ix = min((u32)cx, rules.shape[0] - 2), iy = min((u32)cy, rules.shape[1] - 2), iz = min((u32)cz, rules.shape[2] - 2);
    place.base = ix + rules.stride[0] * iy + rules.stride[1] * iz;
    place.u = cx - ix, place.v = cy - iy, place.w = cz - iz;
    return place;
}

// Only who lies beyond the outer samples can have left.
__device__ __forceinline__ bool in_volume(const Rules& rules, f32x3 x, const Place& at) {
    return at.beyond == 0 || (x.x >= -0.5f && x.y >= -0.5f && x.z >= -0.5f && x.x <= rules.face[0] &&
                              x.y <= rules.face[1] && x.z <= rules.face[2]);
}

__device__ __forceinline__ float corner_weight(int c, const Place& at) {
    return (c & 1 ? at.u : 1.0f - at.u) * (c & 2 ? at.v : 1.0f - at.v) * (c & 4 ? at.w : 1.0f - at.w);
}

// Share of fitted samples, from a bit for each corner.
__device__ __forceinline__ float share(u32 corners, Place at) {
    float sum = 0.0f;
    for (int c = 0; c < 8; c++) sum += (corners >> c & 1) ? corner_weight(c, at) : 0.0f;
    return sum;
}

template <bool HALF> __device__ __forceinline__ float linear_fa(const Rules& rules, const uint4* records, Place at) {
    float sum = 0.0f;
    for (int c = 0; c < 8; c++) {
        u32 i = at.base + (c & 1) + (c >> 1 & 1) * rules.stride[0] + (c >> 2) * rules.stride[1];
        sum = fmaf(corner_weight(c, at), fa_of<HALF>(records, i), sum);
    }
    return sum;
}

// D p and −½ pᵀ(∂D)p.
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

// One thread a ray: the four edges of a cell along x, as start and difference, in 48 registers, loaded
// anew when the ray enters another cell. Nearly every step some ray of a warp does, so loading has to
// be as short as an evaluation.
template <bool HALF> struct Whole {
    float low[4][6], along[4][6];
    u32 base;
    u32 corners;

    __device__ __forceinline__ void init() { base = NONE; }
    __device__ __forceinline__ bool writes() const { return true; }

    __device__ __forceinline__ void enter(const Rules& rules, const uint4* records, u32 at) {
        if (at == base) return;
        base = at;
        corners = 0;
        u32 sy = rules.stride[0], sz = rules.stride[1];
        const u32 shift[4] = {0, sy, sz, sz + sy};
#pragma unroll
        for (int e = 0; e < 4; e++) {
            Record a = record<HALF>(records, at + shift[e]), b = record<HALF>(records, at + shift[e] + 1);
            corners |= ((a.inside > 0.5f ? 1u : 0u) | (b.inside > 0.5f ? 2u : 0u)) << (2 * e);
#pragma unroll
            for (int k = 0; k < 6; k++) low[e][k] = a.d[k], along[e][k] = b.d[k] - a.d[k];
        }
    }

    __device__ __forceinline__ Slope slope(const Rules& rules, const uint4* records, const Place& at, f32x3 p) {
        enter(rules, records, at.base);
        float squares[6], gx[4], here[4];
        squares_of(p, squares);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            gx[e] = form(along[e], squares);
            here[e] = fmaf(at.u, gx[e], form(low[e], squares));
        }
        float v = at.v, w = at.w;
        float w11 = v * w, w10 = v - w11, w01 = w - w11, w00 = 1.0f - v - w01;
        f32x3 g = make(fmaf(w11, gx[3], fmaf(w01, gx[2], fmaf(w10, gx[1], w00 * gx[0]))),
                       fmaf(w, here[3] - here[2] - (here[1] - here[0]), here[1] - here[0]),
                       fmaf(v, here[3] - here[1] - (here[2] - here[0]), here[2] - here[0]));
        float x00 = w00 * at.u, x10 = w10 * at.u, x01 = w01 * at.u, x11 = w11 * at.u, d[6];
#pragma unroll
        for (int k = 0; k < 6; k++) {
            float a = fmaf(w11, low[3][k], fmaf(w01, low[2][k], fmaf(w10, low[1][k], w00 * low[0][k])));
            float b = fmaf(x11, along[3][k], fmaf(x01, along[2][k], fmaf(x10, along[1][k], x00 * along[0][k])));
            d[k] = a + b;
        }
        return {product(d, p), at.held(-0.5f * g)};
    }

    __device__ __forceinline__ float inside(const Rules& rules, const uint4*, const Place& at) const {
        return corners == 0xff ? 1.0f : share(corners, at);
    }
    __device__ float fa(const Rules& rules, const uint4* records, const Place& at) const {
        return linear_fa<HALF>(rules, records, at);
    }
};

// Four threads a ray, for few rays: each owns one edge of the cell along x, and six values are
// summed over the four.
template <bool HALF> struct Shared {
    float low[6], along[6];
    u32 base;
    u32 corners;
    u32 lane, group;

    __device__ __forceinline__ void init() {
        base = NONE;
        lane = threadIdx.x & 3;
        group = 0xfu << (threadIdx.x & 28);
    }
    __device__ __forceinline__ bool writes() const { return lane == 0; }

    __device__ __forceinline__ void enter(const Rules& rules, const uint4* records, u32 at) {
        if (at == base) return;
        base = at;
        u32 first = at + (lane & 1) * rules.stride[0] + (lane >> 1) * rules.stride[1];
        Record a = record<HALF>(records, first), b = record<HALF>(records, first + 1);
#pragma unroll
        for (int k = 0; k < 6; k++) low[k] = a.d[k], along[k] = b.d[k] - a.d[k];
        u32 mine = ((a.inside > 0.5f ? 1u : 0u) | (b.inside > 0.5f ? 2u : 0u)) << (2 * lane);
        mine |= __shfl_xor_sync(group, mine, 1);
        corners = mine | __shfl_xor_sync(group, mine, 2);
    }

    __device__ __forceinline__ float sum(float value) const {
        value += __shfl_xor_sync(group, value, 1);
        return value + __shfl_xor_sync(group, value, 2);
    }

    __device__ __forceinline__ Slope slope(const Rules& rules, const uint4* records, const Place& at, f32x3 p) {
        enter(rules, records, at.base);
        float wy = lane & 1 ? at.v : 1.0f - at.v, wz = lane >> 1 ? at.w : 1.0f - at.w;
        float squares[6];
        squares_of(p, squares);
        float gx = form(along, squares), here = fmaf(at.u, gx, form(low, squares));
        float weight = wy * wz, d[6];
#pragma unroll
        for (int k = 0; k < 6; k++) d[k] = fmaf(at.u, along[k], low[k]);
        f32x3 dp = weight * product(d, p);
        f32x3 g = make(weight * gx, (lane & 1 ? wz : -wz) * here, (lane >> 1 ? wy : -wy) * here);
        dp = make(sum(dp.x), sum(dp.y), sum(dp.z));
        g = make(sum(g.x), sum(g.y), sum(g.z));
        return {dp, at.held(-0.5f * g)};
    }

    __device__ __forceinline__ float inside(const Rules& rules, const uint4*, const Place& at) const {
        return corners == 0xff ? 1.0f : share(corners, at);
    }
    __device__ float fa(const Rules& rules, const uint4* records, const Place& at) const {
        return linear_fa<HALF>(rules, records, at);
    }
};

// Cubic B-splines in single precision: 64 coefficients an evaluation.
struct Spline {
    __device__ __forceinline__ void init() {}
    __device__ __forceinline__ bool writes() const { return true; }

    static __device__ __forceinline__ void weights(float t, float value[4], float slope[4]) {
        float u = 1.0f - t, sixth = 1.0f / 6.0f;
        value[0] = u * u * u * sixth, value[3] = t * t * t * sixth;
        value[1] = 2.0f / 3.0f - 0.5f * t * t * (2.0f - t);
        value[2] = 1.0f - value[0] - value[1] - value[3];
        slope[0] = -0.5f * u * u, slope[3] = 0.5f * t * t, slope[1] = t * (1.5f * t - 2.0f);
        slope[2] = -slope[0] - slope[1] - slope[3];
    }

    __device__ Slope slope(const Rules& rules, const uint4* records, const Place& at, f32x3 p) const {
        float wx[4], wy[4], wz[4], sx[4], sy[4], sz[4], squares[6];
        weights(at.u, wx, sx), weights(at.v, wy, sy), weights(at.w, wz, sz);
        squares_of(p, squares);
        float d[6] = {0, 0, 0, 0, 0, 0};
        f32x3 g = make(0, 0, 0);
        for (int k = 0; k < 4; k++) {
            for (int j = 0; j < 4; j++) {
                u32 row = at.base + j * rules.stride[0] + k * rules.stride[1];
                float value = wy[j] * wz[k];
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    Record r = record<false>(records, row + i);
                    float q = form(r.d, squares), w = wx[i] * value;
#pragma unroll
                    for (int c = 0; c < 6; c++) d[c] = fmaf(w, r.d[c], d[c]);
                    g.x = fmaf(sx[i] * value, q, g.x);
                    g.y = fmaf(wx[i] * sy[j] * wz[k], q, g.y);
                    g.z = fmaf(wx[i] * wy[j] * sz[k], q, g.z);
                }
            }
        }
        return {product(d, p), at.held(-0.5f * g)};
    }

    __device__ float mixed(const Rules& rules, const uint4* records, const Place& at, int component) const {
        float wx[4], wy[4], wz[4], unused[4], sum = 0.0f;
        weights(at.u, wx, unused), weights(at.v, wy, unused), weights(at.w, wz, unused);
        for (int k = 0; k < 4; k++)
            for (int j = 0; j < 4; j++)
                for (int i = 0; i < 4; i++) {
                    size_t r = at.base + i + j * rules.stride[0] + k * rules.stride[1];
                    sum = fmaf(wx[i] * wy[j] * wz[k], __ldg((const float*)records + 8 * r + component), sum);
                }
        return sum;
    }

    __device__ float inside(const Rules& rules, const uint4* records, const Place& at) const {
        return mixed(rules, records, at, 6);
    }
    __device__ float fa(const Rules& rules, const uint4* records, const Place& at) const {
        return mixed(rules, records, at, 7);
    }
};

// Derivatives with respect to Euclidean length.
struct Rate {
    f32x3 x, p;
    float riemann;
};

__device__ __forceinline__ f32x3 lowered(const Rules& rules, f32x3 v) {
    const float* m = rules.mm2;
    return make(fmaf(m[2], v.z, fmaf(m[1], v.y, m[0] * v.x)), fmaf(m[4], v.z, fmaf(m[3], v.y, m[1] * v.x)),
                fmaf(m[5], v.z, fmaf(m[4], v.y, m[2] * v.x)));
}

// `cos` becomes the cosine against the unit tangent `before`.
__device__ __forceinline__ Rate rate_of(const Rules& rules, Slope slope, f32x3 p, f32x3 before, float& cos) {
    f32x3 low = lowered(rules, slope.x);
    float per_mm = rsqrtf(dot(slope.x, low));
    cos = per_mm * dot(before, low);
    return {per_mm * slope.x, per_mm * slope.p, sqrtf(dot(p, slope.x)) * per_mm};
}

template <class Cell>
__device__ __forceinline__ Rate rate_at(Cell& cell, const Rules& rules, const uint4* records, f32x3 x, f32x3 p) {
    float unused;
    return rate_of(rules, cell.slope(rules, records, place_of(rules, x), p), p, x, unused);
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

// Follows one half ray from its seed to its end; `slot` is its place among those of this launch.
// Kept points lie step by step: out_grid[k * rays + slot] is x y z (world mm) and the connectivity
// measure from the seed.
template <class Cell, int STAGES>
__device__ __forceinline__ void trace(const Rules& rules, const uint4* records, const float* starts, const u32* halves,
                                      const Gate* gates, const unsigned char* bytes, Summary* summaries,
                                      float4* out_grid, u32 slot) {
    u32 half = halves[slot];
    const float* start = starts + 6 * (size_t)(half / rules.senses);
    float sign = half % rules.senses ? -1.0f : 1.0f;
    f32x3 x = make(start[0], start[1], start[2]), p = sign * make(start[3], start[4], start[5]);
    Cell cell;
    cell.init();
    f32x3 looked = x;
    u32 steps = 0, count = 0, until_kept = rules.keep_every, until_look = rules.loop_steps;
    u32 met = summaries[slot].met, reason = GO, target = NONE;
    float riemann = 0.0f, length_mm = 0.0f;
    float h = rules.step_mm;
    Rate here = rate_at(cell, rules, records, x, p);
    while (true) {
        Rate mean = here;
        if (STAGES == 2) {
            mean = rate_at(cell, rules, records, x + 0.5f * h * here.x, p + 0.5f * h * here.p);
        } else if (STAGES == 4) {
            Rate second = rate_at(cell, rules, records, x + 0.5f * h * here.x, p + 0.5f * h * here.p);
            Rate third = rate_at(cell, rules, records, x + 0.5f * h * second.x, p + 0.5f * h * second.p);
            Rate fourth = rate_at(cell, rules, records, x + h * third.x, p + h * third.p);
            float sixth = 1.0f / 6.0f;
            mean.x = sixth * ((here.x + fourth.x) + 2.0f * (second.x + third.x));
            mean.p = sixth * ((here.p + fourth.p) + 2.0f * (second.p + third.p));
            mean.riemann = sixth * ((here.riemann + fourth.riemann) + 2.0f * (second.riemann + third.riemann));
        }
        f32x3 next = x + h * mean.x;
        p = p + h * mean.p;
        float after = fmaf(h, mean.riemann, riemann), cos;
        Place at = place_of(rules, next);
        Rate there = rate_of(rules, cell.slope(rules, records, at, p), p, here.x, cos);
        // Positive questions, so that NaN fails each; the last that fails names the reason.
        u32 verdict = cos >= rules.min_cos ? GO : ANGLE;
        if (rules.min_fa >= 0.0f && !(cell.fa(rules, records, at) >= rules.min_fa)) verdict = LOW_FA;
        if (!(cell.inside(rules, records, at) >= 0.5f)) verdict = LEFT_MASK;
        if (!in_volume(rules, next, at)) verdict = LEFT_VOLUME;
        if (rules.masks && (verdict == GO || verdict == ANGLE)) {
            f32x3 to = world_of(rules, next);
            bool allowed = false;
            for (u32 i = 0; i < rules.masks; i++) {
                allowed = allowed || entry(gates[rules.gates + i], bytes, to, to) <= 1.0f;
            }
            if (!allowed) verdict = LEFT_MASK;
        }
        if (verdict != GO && verdict != ANGLE) {
            // The step before was the last.
            reason = verdict;
            length_mm = steps * h;
            if (until_kept != rules.keep_every) {
                if (cell.writes()) keep(out_grid, count, rules, slot, world_of(rules, x), length_mm, riemann);
                count++;
            }
            break;
        }
        steps++;
        if (rules.gates) {
            f32x3 from = world_of(rules, x), to = world_of(rules, next);
            float cut;
            u32 cut_by = meet(rules, gates, bytes, from, to, met, cut);
            if (cut_by != NONE) {
                reason = gates[cut_by].effect == 0 ? REACHED : TERMINATED;
                target = gates[cut_by].effect == 0 ? gates[cut_by].target : NONE;
                riemann = riemann + cut * (after - riemann);
                length_mm = (steps - 1 + cut) * h;
                if (cell.writes()) keep(out_grid, count, rules, slot, from + cut * (to - from), length_mm, riemann);
                count++;
                break;
            }
        }
        if (verdict == ANGLE) reason = ANGLE;
        else if (steps >= rules.max_steps) reason = rules.at_max;
        if (--until_look == 0) {
            f32x3 way = next - looked;
            if (reason == GO && dot(way, lowered(rules, way)) < rules.loop_mm2) reason = LOOP;
            looked = next;
            until_look = rules.loop_steps;
        }
        until_kept--;
        if (until_kept == 0 || reason != GO) {
            if (cell.writes()) keep(out_grid, count, rules, slot, world_of(rules, next), steps * h, after);
            count++;
            until_kept = rules.keep_every;
        }
        riemann = after;
        if (reason != GO) {
            length_mm = steps * h;
            break;
        }
        x = next, here = there;
    }
    if (cell.writes()) summaries[slot] = {steps, count, length_mm, riemann, reason, target, met};
}

#define ARGUMENTS                                                                                                \
    Rules rules, const uint4 *records, const float *starts, const u32 *halves, const Gate *gates,                \
        const unsigned char *bytes, Summary *summaries, float4 *out_grid

// One thread owns one half ray.
#define TRACE(NAME, CELL, STAGES, BLOCKS)                                                                        \
    extern "C" __global__ void __launch_bounds__(64, BLOCKS) NAME(ARGUMENTS) {                                           \
        u32 slot = thread_index();                                                                               \
        if (!(slot < rules.rays)) return;                                                                        \
        trace<CELL, STAGES>(rules, records, starts, halves, gates, bytes, summaries, out_grid, slot);            \
    }

TRACE(geodesic_trace_half_1, Whole<true>, 1, 8)
TRACE(geodesic_trace_half_2, Whole<true>, 2, 8)
TRACE(geodesic_trace_half_4, Whole<true>, 4, 8)
TRACE(geodesic_trace_single_1, Whole<false>, 1, 8)
TRACE(geodesic_trace_single_2, Whole<false>, 2, 8)
TRACE(geodesic_trace_single_4, Whole<false>, 4, 8)
TRACE(geodesic_trace_spline_1, Spline, 1, 4)
TRACE(geodesic_trace_spline_2, Spline, 2, 4)
TRACE(geodesic_trace_spline_4, Spline, 4, 4)

// Four threads own one half ray.
#define SHARE(NAME, CELL, STAGES)                                                                                \
    extern "C" __global__ void __launch_bounds__(64, 8) NAME(ARGUMENTS) {                                           \
        u32 slot = thread_index() / 4;                                                                           \
        if (!(slot < rules.rays)) return;                                                                        \
        trace<CELL, STAGES>(rules, records, starts, halves, gates, bytes, summaries, out_grid, slot);            \
    }

SHARE(geodesic_share_half_2, Shared<true>, 2)
SHARE(geodesic_share_half_4, Shared<true>, 4)
SHARE(geodesic_share_single_2, Shared<false>, 2)

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
