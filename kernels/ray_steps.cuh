// How rays are followed, whatever their cells hold.
#pragma once
#include "rays.cuh"

// Follows half rays from their seeds to their ends; `slot` is a ray's index in this launch. Kept points are stored by
// steps: out_grid[k * rays + slot] is x y z (world mm) and the connectivity measure from the seed. A thread whose ray
// has ended takes the next one from the queue.
template <class Sampler, int STAGES>
__device__ __forceinline__ void trace(const Rules& rules, const Grids& grids, const Rays& rays, u32 first,
                                      Sampler cell) {
    // The slope at the beginning is part of the result, except with the midpoint rule.
    const float margin = STAGES == 2 ? Sampler::MARGIN : 0.0f;
    const float h = rules.step_mm, half = 0.5f * h;
    // The instruction cache is small.
    constexpr int UNROLLED = STAGES == 4 || Sampler::IS_LARGE ? 1 : STAGES;
    __shared__ Seldom all_seldom[64];
    Seldom& seldom = all_seldom[threadIdx.x];
    u32 slot = rays.slot(rules, first);
    bool active = slot != NONE;
    Ray ray = begin(rules, rays, seldom, active ? slot : rays.running[0]);
    cell.begin(ray.per_mm * ray.direction);
    cell.enter(rules, grids, ray.x);
    while (Sampler::any(active)) {
        f32x3 next = ray.x, p = ray.p, mm;
        // Sum over the four Runge-Kutta stages, with weights 1 2 2 1.
        Slope sum = {make(0, 0, 0), make(0, 0, 0)};
        float by, per_mm, riemann = 0.0f;
#pragma unroll UNROLLED
        for (int stage = 1; stage <= STAGES; stage++) {
            // With the midpoint rule the first slope only determines the midpoint.
            Slope slope = cell.slope(rules, grids, p, STAGES == 2 && stage == 1);
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
        float after = fmaf(by, STAGES == 4 ? riemann : sqrtf(riemann), ray.riemann);
        float cos = (ray.per_mm * per_mm) * dot(ray.direction, mm);
        // Tests are phrased so that NaN fails each.
        bool goes_on = cos >= rules.min_cos && riemann >= 0.0f && cell.plain() && ray.steps + 1 != ray.due;
        if (__builtin_expect(goes_on && active, 1)) {
            ray = {next, p, mm, per_mm, after, ray.steps + 1, ray.due};
            continue;
        }
        // Threads without a ray only take part in the exchange of values.
        if (!active) continue;
        ray.p = p;
        ray.direction = mm, ray.per_mm = per_mm;
        // The last test that fails determines the reason.
        u32 reason = cos >= rules.min_cos ? GO : ANGLE, target = NONE;
        if (rules.min_fa >= 0.0f && !(cell.level(rules, grids) >= rules.min_fa)) reason = Sampler::TOO_LOW;
        if (!(riemann >= 0.0f)) reason = INDEFINITE;
        if (!cell.plain()) {
            if (!cell.inside(rules, grids)) reason = LEFT_MASK;
            if (!in_volume(rules, next)) reason = LEFT_VOLUME;
        }
        Step step = {ray.x, next, ray.steps * h, (ray.steps + 1) * h, ray.riemann, after};
        reason = advance(rules, rays, cell.writes(), seldom, ray.steps, step, reason, target);
        ray.riemann = step.riemann;
        ray.due = seldom.due(rules, ray.steps);
        ray.x = next;
        if (reason == GO && ray.steps != rules.until) continue;
        if (cell.writes()) finish(rays, ray, seldom, step.mm, reason, target);
        slot = rays.slot(rules, cell.next(rays.queue));
        active = slot != NONE;
        if (!active) continue;
        ray = begin(rules, rays, seldom, slot);
        cell.begin(ray.per_mm * ray.direction);
        cell.enter(rules, grids, ray.x);
    }
}
