// Code shared by both forms of rays: their regions, kept points, summaries. Positions are in voxels, lengths in mm;
// the rules and their order are those of src/engine/solvers/geodesic/half_ray.rs.
#pragma once
#include "cells.cuh"
#include "curves.cuh"

// `Summary` in cuda/batch.rs.
struct Summary {
    u32 steps;
    u32 count;
    float length_mm;
    float riemann;
    u32 reason;
    u32 target;
    u32 met;
};

// A voxel vector in mm, in axes of its own, with its length in the world.
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

// Stores point number `count` of a slot: world position, mm, and the connectivity measure from the seed.
__device__ __forceinline__ void keep(float4* out_grid, u32 count, const Rules& rules, u32 slot, f32x3 at,
                                     float length_mm, float riemann) {
    float measure = riemann > 0.0f ? length_mm / riemann : 1.0f;
    out_grid[(size_t)count * rules.slots + slot] = make_float4(at.x, at.y, at.z, measure);
}

// Values not needed at every step, one per thread: in shared memory, so that registers hold a cell.
struct Seldom {
    u32 slot, count, met;
    // The steps at which a point is kept and the loop guard checks, and the position at its last check.
    u32 keep_at, look_at;
    f32x3 looked;

    __device__ __forceinline__ u32 due(const Rules& rules, u32 steps) const {
        bool always = rules.gates || rules.masks || rules.min_fa >= 0.0f;
        return always ? steps + 1 : min(min(keep_at, look_at), min(rules.until, rules.max_steps));
    }
};

// A half ray that is being followed.
struct Ray {
    // Position in voxels and momentum; D p of the last step in mm, and the reciprocal of its length.
    f32x3 x, p, direction;
    float per_mm, riemann;
    u32 steps;
    // The next step that needs more work than the step itself.
    u32 due;
};

// A ray between two launches, in its own slot.
struct Paused {
    Ray ray;
    Seldom seldom;
};
static_assert(sizeof(Paused) == 21 * 4, "as PAUSED in cuda.rs");

// Arguments of the kernels that follow rays. `halves` holds the index of each slot's half among those of `starts`;
// `running` lists the slots to be followed.
struct Rays {
    const float* starts;
    const u32 *halves, *running;
    const Gate* gates;
    const unsigned char* bytes;
    Summary* summaries;
    Paused* paused;
    float4* out_grid;
    u32* queue;

    // The i-th slot to be followed, or NONE.
    __device__ __forceinline__ u32 slot(const Rules& rules, u32 i) const { return i < rules.running ? running[i] : NONE; }
};
#define RAY_ARGUMENTS                                                                                             \
    Rules rules, const float4 *cells, const void *records, const float *starts, const u32 *halves,                \
        const u32 *running, const Gate *gates, const unsigned char *bytes, Summary *summaries, Paused *paused,    \
        float4 *out_grid, u32 *queue
#define RAYS \
    Rays { starts, halves, running, gates, bytes, summaries, paused, out_grid, queue }

__device__ __forceinline__ Ray begin(const Rules& rules, const Rays& rays, Seldom& seldom, u32 slot) {
    if (rules.resumed) {
        Paused saved = rays.paused[slot];
        seldom = saved.seldom;
        saved.ray.due = seldom.due(rules, saved.ray.steps);
        return saved.ray;
    }
    u32 half = rays.halves[slot];
    const float* start = rays.starts + 9 * (size_t)(half / rules.senses);
    float sign = half % rules.senses ? -1.0f : 1.0f;
    Ray ray;
    seldom.slot = slot;
    ray.x = seldom.looked = make(start[0], start[1], start[2]);
    ray.p = sign * make(start[3], start[4], start[5]);
    ray.direction = sign * make(start[6], start[7], start[8]);
    ray.per_mm = 1.0f;
    ray.riemann = 0.0f;
    ray.steps = seldom.count = 0;
    seldom.met = rays.summaries[slot].met;
    seldom.keep_at = rules.keep_every, seldom.look_at = rules.loop_steps;
    ray.due = seldom.due(rules, 0);
    return ray;
}

// A step: both positions in voxels; Euclidean (mm) and Riemannian length from the seed at both.
struct Step {
    f32x3 from, to;
    float mm_before, mm, riemann_before, riemann;
};

// Takes a step unless `reason` is other than GO: counts it, cuts it where it meets a target or a terminate region,
// keeps its end if that is due, and returns whether the ray continues. The lengths of the step become those of the
// ray, and `target` is where it ended.
__device__ __forceinline__ u32 advance(const Rules& rules, const Rays& rays, bool writes, Seldom& seldom, u32& steps,
                                       Step& step, u32 reason, u32& target) {
    const Gate* gates = rays.gates;
    const unsigned char* bytes = rays.bytes;
    float4* out_grid = rays.out_grid;
    if (rules.masks && reason == GO) {
        if (!allowed(rules, gates, bytes, world_of(rules, step.to))) reason = LEFT_MASK;
    }
    if (reason != GO) {
        // The step before was the last one.
        step.mm = step.mm_before, step.riemann = step.riemann_before;
        if (seldom.keep_at != steps + rules.keep_every) {
            if (writes) keep(out_grid, seldom.count, rules, seldom.slot, world_of(rules, step.from), step.mm, step.riemann);
            seldom.count++;
        }
        return reason;
    }
    steps++;
    if (rules.gates) {
        f32x3 from = world_of(rules, step.from), to = world_of(rules, step.to);
        float cut;
        u32 cut_by = meet(rules, gates, bytes, from, to, seldom.met, cut);
        if (cut_by != NONE) {
            bool is_target = gates[cut_by].effect == 0;
            if (is_target) target = gates[cut_by].target;
            step.mm = step.mm_before + cut * (step.mm - step.mm_before);
            step.riemann = step.riemann_before + cut * (step.riemann - step.riemann_before);
            if (writes) keep(out_grid, seldom.count, rules, seldom.slot, from + cut * (to - from), step.mm, step.riemann);
            seldom.count++;
            return is_target ? REACHED : TERMINATED;
        }
    }
    if (steps >= rules.max_steps) reason = rules.at_max;
    if (steps == seldom.look_at) {
        f32x3 way = in_mm(rules, step.to - seldom.looked);
        if (reason == GO && dot(way, way) < rules.loop_mm2) reason = LOOP;
        seldom.looked = step.to;
        seldom.look_at += rules.loop_steps;
    }
    if (steps == seldom.keep_at || reason != GO) {
        if (writes) keep(out_grid, seldom.count, rules, seldom.slot, world_of(rules, step.to), step.mm, step.riemann);
        seldom.count++;
        seldom.keep_at = steps + rules.keep_every;
    }
    return reason;
}

// Records how a ray ended, or that it pauses.
__device__ __forceinline__ void finish(const Rays& rays, const Ray& ray, const Seldom& seldom, float length_mm, u32 reason,
                                       u32 target) {
    bool pauses = reason == GO;
    if (pauses) rays.paused[seldom.slot] = {ray, seldom};
    rays.summaries[seldom.slot] = {ray.steps, seldom.count, length_mm, ray.riemann, pauses ? SEED : reason, target, seldom.met};
}
