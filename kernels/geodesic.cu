// Geodesic rays in Hamiltonian form; the mathematics, the rules and their order are those of
// src/solvers/geodesic (mod.rs, journey.rs). Positions in voxels, lengths in mm.
//
// One thread owns one half ray after the other (trace), or four threads one (share). Midpoint rule on an
// H200: 116 registers, no spills, 360 warp instructions a step, of which 40 load a cell; 56.6 G steps/s
// with a million rays, issue slots 66 % busy (stalls: dispatch, then the L2 cache). With 4096 rays a
// step takes 0.48 us: two evaluations of some 170 cycles, two sums over four threads, half a cell load.
#include "cells.cuh"
#include "curves.cuh"

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
    while (Sampler::any(active)) {
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
            if (!allowed(rules, gates, bytes, world_of(rules, next))) reason = LEFT_MASK;
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

// Points and their connectivity measures lie apart.
struct Apart {
    f32x3* points;
    float* measures;
    __device__ __forceinline__ void operator()(u32 i, float4 point) const {
        points[i] = make(point.x, point.y, point.z);
        measures[i] = point.w;
    }
};

extern "C" __global__ void __launch_bounds__(256) geodesic_gather(const float4* step_grid, u32 rays, const Wanted* wanted,
                                                                   u32 halves, f32x3* points, float* measures) {
    gather(step_grid, rays, wanted, halves, Apart{points, measures});
}

// As Prepare in cuda/prepare.rs.
struct Prepare {
    int shape[3];
    // Brings the mean diffusivity to 1.
    float scale;
    // 0: the real power `alpha`, the determinant stays; 1: the whole `power` below an FA, the trace stays.
    u32 paper;
    float alpha;
    u32 power;
    float below_fa;
    // A tensor that is not positive definite gets at least this share of its largest eigenvalue.
    float least_share;
    // Rows of the matrix from world vectors to voxel vectors.
    float to_voxel[9];
};
static_assert(sizeof(Prepare) == 18 * 4, "as in cuda/prepare.rs");

// Eigenvalues and, in columns of v, eigenvectors of a symmetric matrix (xx xy xz yy yz zz), by Jacobi's
// rotations.
__device__ void eigen(const float d[6], float values[3], float v[3][3]) {
    float a[3][3] = {{d[0], d[1], d[2]}, {d[1], d[3], d[4]}, {d[2], d[4], d[5]}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) v[i][j] = i == j ? 1.0f : 0.0f;
    for (int sweep = 0; sweep < 6; sweep++) {
#pragma unroll
        for (int turn = 0; turn < 3; turn++) {
            const int p = turn == 2 ? 1 : 0, q = turn == 0 ? 1 : 2, r = 3 - p - q;
            if (a[p][q] == 0.0f) continue;
            float theta = (a[q][q] - a[p][p]) / (2.0f * a[p][q]);
            float t = copysignf(1.0f, theta) / (fabsf(theta) + sqrtf(fmaf(theta, theta, 1.0f)));
            float c = rsqrtf(fmaf(t, t, 1.0f)), s = t * c;
            a[p][p] -= t * a[p][q], a[q][q] += t * a[p][q], a[p][q] = a[q][p] = 0.0f;
            float rp = a[r][p], rq = a[r][q];
            a[r][p] = a[p][r] = c * rp - s * rq, a[r][q] = a[q][r] = s * rp + c * rq;
#pragma unroll
            for (int k = 0; k < 3; k++) {
                float vp = v[k][p], vq = v[k][q];
                v[k][p] = c * vp - s * vq, v[k][q] = s * vp + c * vq;
            }
        }
    }
    for (int i = 0; i < 3; i++) values[i] = a[i][i];
}

// One thread owns a voxel: sharpens its tensor, scales it and turns it to voxel axes, as `sharpened` and
// `in_voxel_axes` of src/solvers/geodesic/medium.rs; counts those that were not positive definite.
extern "C" __global__ void geodesic_sharpen(Prepare prepare, const float* tensors, float* records,
                                            unsigned char* known, u32* repaired) {
    u32 i = thread_index();
    if (!(i < (u32)(prepare.shape[0] * prepare.shape[1] * prepare.shape[2]))) return;
    const float* tensor = tensors + 8 * (size_t)i;
    float* record = records + 8 * (size_t)i;
    bool inside = tensor[6] > 0.5f;
    known[i] = inside;
    if (!inside) {
        for (int k = 0; k < 8; k++) record[k] = 0.0f;
        return;
    }
    float d[6], values[3], v[3][3];
    for (int k = 0; k < 6; k++) d[k] = prepare.scale * tensor[k];
    eigen(d, values, v);
    float least = fminf(fminf(values[0], values[1]), values[2]), largest = fmaxf(fmaxf(values[0], values[1]), values[2]);
    bool sound = least > 0.0f;
    if (!sound) {
        atomicAdd(repaired, 1);
        // A tensor without any positive eigenvalue counts as isotropic.
        float floor = prepare.least_share * (largest > 0.0f ? largest : 1.0f);
        for (int k = 0; k < 3; k++) values[k] = fmaxf(values[k], floor);
    }
    float sum = values[0] + values[1] + values[2], mean = sum / 3.0f, spread = 0.0f, squares = 0.0f;
    for (int k = 0; k < 3; k++) {
        spread += (values[k] - mean) * (values[k] - mean);
        squares += values[k] * values[k];
    }
    float fa = sqrtf(1.5f * spread / squares);
    bool changed = !sound;
    if (!prepare.paper && prepare.alpha != 1.0f) {
        float root = cbrtf(values[0] * values[1] * values[2]);
        for (int k = 0; k < 3; k++) values[k] = root * powf(values[k] / root, prepare.alpha);
        changed = true;
    } else if (prepare.paper && fa < prepare.below_fa) {
        float powers[3] = {1.0f, 1.0f, 1.0f};
        for (u32 n = 0; n < prepare.power; n++)
            for (int k = 0; k < 3; k++) powers[k] *= values[k];
        float gain = sum / (powers[0] + powers[1] + powers[2]);
        for (int k = 0; k < 3; k++) values[k] = gain * powers[k];
        changed = true;
    }
    if (changed) {
        for (int k = 0; k < 6; k++) d[k] = 0.0f;
        for (int k = 0; k < 3; k++) {
            f32x3 e = make(v[0][k], v[1][k], v[2][k]);
            f32x3 scaled = values[k] * e;
            d[0] += scaled.x * e.x, d[1] += scaled.x * e.y, d[2] += scaled.x * e.z;
            d[3] += scaled.y * e.y, d[4] += scaled.y * e.z, d[5] += scaled.z * e.z;
        }
    }
    const float* m = prepare.to_voxel;
    f32x3 rows[3], turned[3];
    for (int r = 0; r < 3; r++) {
        rows[r] = make(m[3 * r], m[3 * r + 1], m[3 * r + 2]);
        turned[r] = product(d, rows[r]);
    }
    record[0] = dot(rows[0], turned[0]), record[1] = dot(rows[0], turned[1]), record[2] = dot(rows[0], turned[2]);
    record[3] = dot(rows[1], turned[1]), record[4] = dot(rows[1], turned[2]), record[5] = dot(rows[2], turned[2]);
    record[6] = 1.0f, record[7] = fa;
}

// One thread owns a voxel that is not known, and gives it the mean of its known neighbours, if any: one
// layer of `extend` in src/solvers/tracking/spline.rs.
extern "C" __global__ void geodesic_extend(Prepare prepare, float* records, const unsigned char* known,
                                           unsigned char* known_after) {
    u32 i = thread_index(), nx = prepare.shape[0], ny = prepare.shape[1], nz = prepare.shape[2], plane = nx * ny;
    if (!(i < plane * nz)) return;
    known_after[i] = known[i];
    if (known[i]) return;
    u32 x = i % nx, y = i / nx % ny, z = i / plane;
    const bool there[6] = {x > 0, x + 1 < nx, y > 0, y + 1 < ny, z > 0, z + 1 < nz};
    const u32 at[6] = {i - 1, i + 1, i - nx, i + nx, i - plane, i + plane};
    float sum[6] = {0, 0, 0, 0, 0, 0}, count = 0.0f;
    for (int n = 0; n < 6; n++) {
        if (!there[n] || !known[at[n]]) continue;
        for (int k = 0; k < 6; k++) sum[k] += records[8 * (size_t)at[n] + k];
        count += 1.0f;
    }
    if (!(count > 0.0f)) return;
    for (int k = 0; k < 6; k++) records[8 * (size_t)i + k] = sum[k] / count;
    known_after[i] = 1;
}

// One thread owns a voxel: rounds its record to halves, in place, and writes them.
extern "C" __global__ void geodesic_halve(u32 voxels, float* records, __half* halves) {
    u32 i = thread_index();
    if (!(i < voxels)) return;
    for (size_t k = 8 * (size_t)i; k < 8 * (size_t)i + 8; k++) {
        halves[k] = __float2half_rn(records[k]);
        records[k] = __half2float(halves[k]);
    }
}
