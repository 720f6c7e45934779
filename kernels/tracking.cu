// Streamlines along the principal direction of a tensor field, or deflected by its tensors; the mathematics, the rules and their order are those
// of src/engine/solvers/tracking (mod.rs, direction.rs, follow.rs). Positions and lengths are in world mm.
//
// Registers on sm_90: 99 to 112 linear, 80 to 90 splines, no spills. H200, a brain: Euler 7.2, RK4 3.2 G steps/s; RK4
// on splines 0.34 G. With the 2,000 streamlines of a live view each scheduler has one warp, which issues in 28 % of
// the cycles (RK4 32 %, splines 24 %): it waits for its own results.
#include "common.cuh"
#include "curves.cuh"

// `KernelRules` in src/engine/solvers/tracking/cuda.rs, in the same order.
struct Rules {
    // Halves in the grid of points, halves to be followed, and steps per thread in one launch.
    u32 slots;
    u32 running;
    u32 window;
    // Distance in records from one to the next along y and z.
    u32 stride[2];
    // Index of the last cell, the last sample and the outer face along each axis, voxels.
    u32 last_cell[3];
    float last[3];
    float face[3];
    // Rows of the affine from world to voxel.
    float voxel[12];
    float step_mm;
    // Square of the lowest FA, and cosine of the largest turn per step.
    float min_fa_squared;
    float min_cos;
    u32 max_steps;
    u32 at_max;
    u32 gates;
    u32 masks;
    // Two halves per start, the second against its direction; otherwise one.
    u32 senses;
    // Coefficients as in direction.rs.
    float root[8];
    float isotropic;
    float across;
    // Weights of e, u and D u where the tensor deflects the direction of the previous step.
    float deflection[3];
};
static_assert(sizeof(Rules) == 47 * 4, "as in cuda.rs");

// `Start` in follow.rs.
struct Start {
    f32x3 at, direction;
};

// `Summary` in cuda.rs; the reason is SEED while there are steps to be taken.
struct Summary {
    u32 steps;
    u32 reason;
    u32 target;
};

// The cell of eight samples around a point.
struct Position {
    u32 base;
    float u, v, w;
    bool in_volume;
};

// NaN gives the first sample, and counts as outside.
__device__ __forceinline__ float axis(const Rules& rules, int a, f32x3 x, u32& cell, bool& in_volume) {
    const float* m = rules.voxel + 4 * a;
    float at = fmaf(m[0], x.x, fmaf(m[1], x.y, fmaf(m[2], x.z, m[3])));
    in_volume = in_volume && at >= -0.5f && at <= rules.face[a];
    at = fminf(fmaxf(at, 0.0f), rules.last[a]);
    cell = min((u32)at, rules.last_cell[a]);
    return at - (float)cell;
}

__device__ __forceinline__ Position place_of(const Rules& rules, f32x3 x) {
    Position place;
    u32 ix, iy, iz;
    place.in_volume = true;
    place.u = axis(rules, 0, x, ix, place.in_volume);
    place.v = axis(rules, 1, x, iy, place.in_volume);
    place.w = axis(rules, 2, x, iz, place.in_volume);
    place.base = ix + rules.stride[0] * iy + rules.stride[1] * iz;
    return place;
}

// One voxel: six components of the tensor, and whether it was fitted.
struct Record {
    float d[6];
    float inside;
};

__device__ __forceinline__ Record record(const float4* records, u32 i) {
    float4 a = __ldg(records + 2 * (size_t)i), b = __ldg(records + 2 * (size_t)i + 1);
    return {{a.x, a.y, a.z, a.w, b.x, b.y}, b.z};
}

// The four edges of a cell along x, as start and difference, in 48 registers, reloaded when the streamline enters
// another cell; one bit for each fitted corner.
struct Linear {
    float low[4][6], along[4][6];
    u32 base;
    u32 corners;

    __device__ __forceinline__ void init() { base = NONE; }

    __device__ __forceinline__ void enter(const Rules& rules, const float4* records, u32 at) {
        if (at == base) return;
        base = at;
        corners = 0;
        u32 sy = rules.stride[0], sz = rules.stride[1];
        const u32 shift[4] = {0, sy, sz, sz + sy};
#pragma unroll
        for (int e = 0; e < 4; e++) {
            Record a = record(records, at + shift[e]), b = record(records, at + shift[e] + 1);
            corners |= ((a.inside > 0.5f ? 1u : 0u) | (b.inside > 0.5f ? 2u : 0u)) << (2 * e);
#pragma unroll
            for (int k = 0; k < 6; k++) low[e][k] = a.d[k], along[e][k] = b.d[k] - a.d[k];
        }
    }

    __device__ __forceinline__ void sample(const Rules& rules, const float4* records, const Position& at, float d[6]) {
        enter(rules, records, at.base);
        float w11 = at.v * at.w, w10 = at.v - w11, w01 = at.w - w11, w00 = 1.0f - at.v - w01;
        float x11 = w11 * at.u, x10 = w10 * at.u, x01 = w01 * at.u, x00 = w00 * at.u;
#pragma unroll
        for (int k = 0; k < 6; k++) {
            float a = fmaf(w11, low[3][k], fmaf(w01, low[2][k], fmaf(w10, low[1][k], w00 * low[0][k])));
            float b = fmaf(x11, along[3][k], fmaf(x01, along[2][k], fmaf(x10, along[1][k], x00 * along[0][k])));
            d[k] = a + b;
        }
    }

    // Whether at least half of the cell around the last sampled point was fitted.
    __device__ __forceinline__ bool inside(const Position& at) const {
        if (corners == 0xff) return true;
        float sum = 0.0f;
        for (int c = 0; c < 8; c++) {
            float weight = (c & 1 ? at.u : 1.0f - at.u) * (c & 2 ? at.v : 1.0f - at.v) * (c & 4 ? at.w : 1.0f - at.w);
            sum += (corners >> c & 1) ? weight : 0.0f;
        }
        return sum >= 0.5f;
    }
};

// Cubic B-splines: 64 coefficients per sample.
struct Spline {
    float share;

    __device__ __forceinline__ void init() {}

    static __device__ __forceinline__ void weights(float t, float value[4]) {
        float u = 1.0f - t, sixth = 1.0f / 6.0f;
        value[0] = u * u * u * sixth, value[3] = t * t * t * sixth;
        value[1] = 2.0f / 3.0f - 0.5f * t * t * (2.0f - t);
        value[2] = 1.0f - value[0] - value[1] - value[3];
    }

    // A run-time index would put the weights in memory.
    static __device__ __forceinline__ float picked(const float value[4], int i) {
        return i < 2 ? (i == 0 ? value[0] : value[1]) : (i == 2 ? value[2] : value[3]);
    }

    __device__ __forceinline__ void sample(const Rules& rules, const float4* records, const Position& at, float d[6]) {
        float wx[4], wy[4], wz[4];
        weights(at.u, wx), weights(at.v, wy), weights(at.w, wz);
        share = 0.0f;
#pragma unroll
        for (int c = 0; c < 6; c++) d[c] = 0.0f;
        // Not unrolled: all loads of 64 records at once would not fit in registers.
#pragma unroll 1
        for (int k = 0; k < 4; k++) {
            float z = picked(wz, k);
#pragma unroll 1
            for (int j = 0; j < 4; j++) {
                u32 row = at.base + j * rules.stride[0] + k * rules.stride[1];
                float across = picked(wy, j) * z;
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    Record r = record(records, row + i);
                    float w = wx[i] * across;
#pragma unroll
                    for (int c = 0; c < 6; c++) d[c] = fmaf(w, r.d[c], d[c]);
                    share = fmaf(w, r.inside, share);
                }
            }
        }
    }

    __device__ __forceinline__ bool inside(const Position&) const { return share >= 0.5f; }
};

// Mean, diagonal minus the mean, and squared norm of the deviator.
struct Deviator {
    float mean, a, b, c, spread;

    __device__ __forceinline__ bool fa_at_least(float squared) const {
        return 1.5f * spread >= squared * fmaf(3.0f * mean, mean, spread);
    }
};

__device__ __forceinline__ Deviator deviator(const float d[6]) {
    Deviator parts;
    parts.mean = (d[0] + d[3] + d[5]) * (1.0f / 3.0f);
    parts.a = d[0] - parts.mean, parts.b = d[3] - parts.mean, parts.c = d[5] - parts.mean;
    float off = fmaf(d[1], d[1], fmaf(d[2], d[2], d[4] * d[4]));
    parts.spread = fmaf(parts.a, parts.a, fmaf(parts.b, parts.b, fmaf(parts.c, parts.c, 2.0f * off)));
    return parts;
}

// Unit eigenvector of the largest eigenvalue, in the sense of `along`.
__device__ __forceinline__ f32x3 principal(const Rules& rules, const float d[6], const Deviator& parts, f32x3 along) {
    float scale = parts.spread > rules.isotropic ? rsqrtf(parts.spread * (1.0f / 6.0f)) : 0.0f;
    float a = parts.a * scale, b = parts.b * scale, c = parts.c * scale;
    float xy = d[1] * scale, xz = d[2] * scale, yz = d[4] * scale;
    float determinant = a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz);
    float s = sqrtf(fminf(fmaxf(fmaf(0.25f, determinant, 0.5f), 0.0f), 1.0f));
    const float* k = rules.root;
    float x = k[7];
#pragma unroll
    for (int i = 6; i >= 0; i--) x = fmaf(x, s, k[i]);
    a -= x, b -= x, c -= x;
    // Adjugate matrix.
    float xx = b * c - yz * yz, yy = a * c - xz * xz, zz = a * b - xy * xy;
    float m_xy = xz * yz - xy * c, m_xz = xy * yz - xz * b, m_yz = xy * xz - yz * a;
    f32x3 product = make(fmaf(xx, along.x, fmaf(m_xy, along.y, m_xz * along.z)),
                         fmaf(m_xy, along.x, fmaf(yy, along.y, m_yz * along.z)),
                         fmaf(m_xz, along.x, fmaf(m_yz, along.y, zz * along.z)));
    // Near a right angle the product is mostly rounding error: the largest column is used instead.
    bool first = xx >= yy && xx >= zz, second = yy >= zz;
    f32x3 column = first ? make(xx, m_xy, m_xz) : second ? make(m_xy, yy, m_yz) : make(m_xz, m_yz, zz);
    if (dot(product, product) < rules.across * dot(column, column)) product = dot(column, along) < 0.0f ? -column : column;
    f32x3 v = make(fmaf(xx, product.x, fmaf(m_xy, product.y, m_xz * product.z)),
                   fmaf(m_xy, product.x, fmaf(yy, product.y, m_yz * product.z)),
                   fmaf(m_xz, product.x, fmaf(m_yz, product.y, zz * product.z)));
    return rsqrtf(dot(v, v)) * v;
}

// The direction to which the tensor deflects `along`, whose principal direction is `axis`, as `deflected` in direction.rs.
__device__ __forceinline__ f32x3 deflected(const Rules& rules, const float d[6], f32x3 axis, f32x3 along) {
    f32x3 turned = make(fmaf(d[0], along.x, fmaf(d[1], along.y, d[2] * along.z)),
                        fmaf(d[1], along.x, fmaf(d[3], along.y, d[4] * along.z)),
                        fmaf(d[2], along.x, fmaf(d[4], along.y, d[5] * along.z)));
    float turned_by = sqrtf(dot(turned, turned));
    // Outside the mask the tensor is 0: nothing is deflected there.
    float share = turned_by > 1e-15f ? rules.deflection[2] / turned_by : 0.0f;
    f32x3 sum = rules.deflection[0] * axis + rules.deflection[1] * along + share * turned;
    float whole = sqrtf(dot(sum, sum));
    return (whole > 0.0f ? 1.0f / whole : 0.0f) * sum;
}

// For each region, the step at which a half first met it; NONE if never.
struct Steps {
    u32* met;
    u32 step;
};
__device__ __forceinline__ bool has_met(const Steps& steps, u32 gate) { return steps.met[gate] != NONE; }
__device__ __forceinline__ void mark_met(const Steps& steps, u32 gate) { steps.met[gate] = steps.step; }

// A half that is being followed, and its index in the grid.
struct Half {
    f32x3 at, along;
    u32 steps, slot;
};

// At its seed, or where the previous launch left it.
__device__ __forceinline__ Half taken(const Rules& rules, const Start* starts, const Start* places,
                                      const Summary* summaries, u32 slot) {
    u32 steps = summaries[slot].steps;
    if (steps > 0) return {places[slot].at, places[slot].direction, steps, slot};
    Start start = starts[slot / rules.senses];
    return {start.at, slot % rules.senses ? -start.direction : start.direction, 0, slot};
}

// A thread follows one half after the other, taken from a queue, for `window` steps in total. Points are stored by
// steps: points[k * slots + slot].
template <class Cell, int STAGES, bool DEFLECT>
__device__ __forceinline__ void follow(const Rules& rules, const float4* records, const Start* starts,
                                       const u32* running, const Gate* gates, const unsigned char* bytes,
                                       Start* places, Summary* summaries, u32* met, f32x3* points, u32* queue) {
    u32 turn = thread_index();
    if (!(turn < rules.running)) return;
    Half half = taken(rules, starts, places, summaries, running[turn]);
    Cell cell;
    cell.init();
    float h = rules.step_mm;
    for (u32 left = rules.window; left > 0; left--) {
        f32x3 next, direction = half.along, sum = half.along;
        Position place;
        Deviator parts;
        // The last stage is at the end of the step. Not unrolled: the instruction cache is small.
#pragma unroll 1
        for (int stage = 1; stage <= STAGES; stage++) {
            bool last = stage == STAGES;
            float far = last || (STAGES == 4 && stage == 3) ? h : 0.5f * h;
            next = STAGES == 4 && last ? half.at + (h / 6.0f) * sum : half.at + far * direction;
            place = place_of(rules, next);
            float d[6];
            cell.sample(rules, records, place, d);
            parts = deviator(d);
            direction = principal(rules, d, parts, half.along);
            if (DEFLECT) direction = deflected(rules, d, direction, half.along);
            if (STAGES == 4) sum = sum + (stage == 3 ? 1.0f : 2.0f) * direction;
        }
        // Tests are phrased so that NaN fails each; the last one that fails determines the reason.
        u32 reason = dot(direction, half.along) >= rules.min_cos ? GO : ANGLE;
        if (!parts.fa_at_least(rules.min_fa_squared)) reason = LOW_FA;
        if (!cell.inside(place)) reason = LEFT_MASK;
        if (!place.in_volume) reason = LEFT_VOLUME;
        u32 target = NONE;
        bool stays = reason == GO || reason == ANGLE;
        if (rules.masks && stays && !allowed(rules, gates, bytes, next)) reason = LEFT_MASK, stays = false;
        if (stays) {
            f32x3 end = next;
            u32 cut_by = NONE;
            if (rules.gates) {
                Steps noted = {met + (size_t)half.slot * rules.gates, half.steps + 1};
                float cut;
                cut_by = meet(rules, gates, bytes, half.at, next, noted, cut);
                if (cut_by != NONE) {
                    const Gate& gate = gates[cut_by];
                    end = half.at + cut * (next - half.at);
                    reason = gate.effect == 0 ? REACHED : TERMINATED;
                    target = gate.effect == 0 ? gate.target : NONE;
                }
            }
            points[(size_t)half.steps * rules.slots + half.slot] = end;
            half.steps++;
            if (cut_by == NONE && half.steps >= rules.max_steps) reason = rules.at_max;
        }
        half.at = next, half.along = direction;
        if (reason == GO) continue;
        summaries[half.slot] = {half.steps, reason, target};
        turn = atomicAdd(queue, 1u);
        if (!(turn < rules.running)) return;
        half = taken(rules, starts, places, summaries, running[turn]);
    }
    places[half.slot] = {half.at, half.along};
    summaries[half.slot] = {half.steps, SEED, NONE};
}

#define FOLLOW(NAME, CELL, STAGES, DEFLECT)                                                                      \
    extern "C" __global__ void __launch_bounds__(64, 8)                                                          \
        NAME(Rules rules, const float4 *records, const Start *starts, const u32 *running, const Gate *gates,     \
             const unsigned char *bytes, Start *places, Summary *summaries, u32 *met, f32x3 *points,             \
             u32 *queue) {                                                                                       \
        follow<CELL, STAGES, DEFLECT>(rules, records, starts, running, gates, bytes, places, summaries, met,     \
                                      points, queue);                                                            \
    }

FOLLOW(tracking_follow_linear_1, Linear, 1, false)
FOLLOW(tracking_follow_linear_2, Linear, 2, false)
FOLLOW(tracking_follow_linear_4, Linear, 4, false)
FOLLOW(tracking_follow_spline_1, Spline, 1, false)
FOLLOW(tracking_follow_spline_2, Spline, 2, false)
FOLLOW(tracking_follow_spline_4, Spline, 4, false)
// The deflection is defined for one evaluation a step.
FOLLOW(tracking_deflect_linear, Linear, 1, true)
FOLLOW(tracking_deflect_spline, Spline, 1, true)

struct Whole {
    f32x3* points;
    __device__ __forceinline__ void operator()(u32 i, f32x3 point) const { points[i] = point; }
};

extern "C" __global__ void __launch_bounds__(256)
    tracking_gather(const f32x3* step_grid, u32 slots, const CurveRange* ranges, u32 curves, f32x3* points) {
    gather(step_grid, slots, ranges, curves, Whole{points});
}

// Stores the seeds between the halves that `tracking_gather` has copied.
extern "C" __global__ void __launch_bounds__(256)
    tracking_seeds(const SeedPlace* seeds, u32 count, f32x3* points) {
    u32 i = thread_index();
    if (i < count) points[seeds[i].place] = seeds[i].at;
}

// `Candidate` in cuda/lengths.rs: the slots and the numbers of points of a streamline's first half, which runs from
// its end to the seed, and of its other half.
struct Candidate {
    u32 head, head_count, tail, tail_count;
    f32x3 seed;
};

// A length that grows point by point, rounded as `length_mm` in src/engine/data/tractogram.rs does.
struct Length {
    double mm;
    f32x3 last;

    __device__ __forceinline__ void extend(f32x3 to) {
        double x = (double)last.x - (double)to.x, y = (double)last.y - (double)to.y, z = (double)last.z - (double)to.z;
        double squared = __dadd_rn(__dadd_rn(__dmul_rn(x, x), __dmul_rn(y, y)), __dmul_rn(z, z));
        mm = __dadd_rn(mm, __dsqrt_rn(squared));
        last = to;
    }
};

extern "C" __global__ void __launch_bounds__(256)
    tracking_lengths(const f32x3* step_grid, u32 slots, const Candidate* candidates, u32 count, float* lengths_mm) {
    u32 i = thread_index();
    if (!(i < count)) return;
    Candidate line = candidates[i];
    const f32x3 *head = step_grid + line.head, *tail = step_grid + line.tail;
    Length length = {0.0, line.head_count > 0 ? head[(size_t)(line.head_count - 1) * slots] : line.seed};
    for (u32 k = line.head_count; k > 1; k--) length.extend(head[(size_t)(k - 2) * slots]);
    length.extend(line.seed);
    for (u32 k = 0; k < line.tail_count; k++) length.extend(tail[(size_t)k * slots]);
    lengths_mm[i] = (float)length.mm;
}
