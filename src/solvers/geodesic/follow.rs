//! Follows many half rays, eight at a time: a lane whose ray stopped takes the next.

use super::field::{LANES, Lane, Sampler, Slope, Vector};
use super::journey::{Halves, Journey, Rules, Step, at_seed};
use super::start::Start;
use crate::compute::simd::Kernel;
use crate::compute::{Cancelled, Control};
use crate::solvers::tracking::queue::{Queue, senses};
use crate::solvers::tracking::regions::Gates;
use crate::solvers::tracking::{Integrator, StopReason};

/// Derivatives with respect to Euclidean length.
#[derive(Clone, Copy)]
struct Rate {
    /// Voxels per mm.
    x: Vector,
    p: Vector,
    /// Riemannian length per mm.
    riemann: Lane,
}

impl Default for Rate {
    fn default() -> Self {
        Self {
            x: [Lane::ZERO; 3],
            p: [Lane::ZERO; 3],
            riemann: Lane::ZERO,
        }
    }
}

#[inline(always)]
fn dot<const FMA: bool>(a: &Vector, b: &Vector) -> Lane {
    a[2].mul_add::<FMA>(b[2], a[1].mul_add::<FMA>(b[1], a[0] * b[0]))
}

/// WᵀW v
#[inline(always)]
fn lowered<const FMA: bool>(mm2: &[f32; 6], v: &Vector) -> Vector {
    let mut m = [Lane::ZERO; 6];
    for k in 0..6 {
        m[k] = Lane::splat(mm2[k]);
    }
    [
        m[2].mul_add::<FMA>(v[2], m[1].mul_add::<FMA>(v[1], m[0] * v[0])),
        m[4].mul_add::<FMA>(v[2], m[3].mul_add::<FMA>(v[1], m[1] * v[0])),
        m[5].mul_add::<FMA>(v[2], m[4].mul_add::<FMA>(v[1], m[2] * v[0])),
    ]
}

#[inline(always)]
fn rate<const FMA: bool>(rules: &Rules, slope: &Slope, p: &Vector) -> Rate {
    let speed2 = dot::<FMA>(&slope.x, &lowered::<FMA>(&rules.mm2, &slope.x));
    let per_mm = Lane::splat(1.0) / speed2.sqrt();
    Rate {
        x: scaled(&slope.x, per_mm),
        p: scaled(&slope.p, per_mm),
        riemann: dot::<FMA>(p, &slope.x).sqrt() * per_mm,
    }
}

#[inline(always)]
fn scaled(v: &Vector, by: Lane) -> Vector {
    [v[0] * by, v[1] * by, v[2] * by]
}

#[inline(always)]
fn ahead<const FMA: bool>(from: &Vector, rate: &Vector, by: f32) -> Vector {
    let by = Lane::splat(by);
    [
        rate[0].mul_add::<FMA>(by, from[0]),
        rate[1].mul_add::<FMA>(by, from[1]),
        rate[2].mul_add::<FMA>(by, from[2]),
    ]
}

/// The rate `by` mm ahead along `rate`.
#[inline(always)]
fn rate_ahead<S: Sampler, const FMA: bool>(
    sampler: &S,
    rules: &Rules,
    cache: &mut S::Cache,
    [x, p]: [&Vector; 2],
    rates: &Rate,
    by: f32,
) -> Rate {
    let x = ahead::<FMA>(x, &rates.x, by);
    let p = ahead::<FMA>(p, &rates.p, by);
    let cells = sampler.lattice().cells(&x);
    rate::<FMA>(rules, &sampler.slope::<FMA>(cache, &cells, &p), &p)
}

/// ⅙ (a + 2 b + 2 c + d)
#[inline(always)]
fn kutta(a: Lane, b: Lane, c: Lane, d: Lane) -> Lane {
    let inner = b + c;
    ((a + d) + (inner + inner)) * Lane::splat(1.0 / 6.0)
}

#[inline(always)]
fn kutta3(a: &Vector, b: &Vector, c: &Vector, d: &Vector) -> Vector {
    [
        kutta(a[0], b[0], c[0], d[0]),
        kutta(a[1], b[1], c[1], d[1]),
        kutta(a[2], b[2], c[2], d[2]),
    ]
}

/// One step from `x`, `p`, where the rate is `first`: the mean rate over it.
#[inline(always)]
fn step<S: Sampler, const FMA: bool>(
    sampler: &S,
    rules: &Rules,
    cache: &mut S::Cache,
    from: [&Vector; 2],
    first: &Rate,
) -> Rate {
    let h = rules.step_mm;
    match rules.integrator {
        Integrator::Euler => *first,
        Integrator::Rk2 => rate_ahead::<S, FMA>(sampler, rules, cache, from, first, 0.5 * h),
        Integrator::Rk4 => {
            let second = rate_ahead::<S, FMA>(sampler, rules, cache, from, first, 0.5 * h);
            let third = rate_ahead::<S, FMA>(sampler, rules, cache, from, &second, 0.5 * h);
            let fourth = rate_ahead::<S, FMA>(sampler, rules, cache, from, &third, h);
            Rate {
                x: kutta3(&first.x, &second.x, &third.x, &fourth.x),
                p: kutta3(&first.p, &second.p, &third.p, &fourth.p),
                riemann: kutta(first.riemann, second.riemann, third.riemann, fourth.riemann),
            }
        }
    }
}

pub struct Follow<'a, S> {
    pub sampler: &'a S,
    pub rules: &'a Rules,
    pub gates: &'a Gates<'a>,
    pub starts: &'a [Start],
    pub both_ways: bool,
    pub control: &'a Control,
}

/// A lane without a ray.
const IDLE: usize = usize::MAX;

#[inline(always)]
fn lane_of(v: &Vector, lane: usize) -> [f32; 3] {
    [v[0].0[lane], v[1].0[lane], v[2].0[lane]]
}

impl<S: Sampler> Kernel for Follow<'_, S> {
    type Output = Result<Halves, Cancelled>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Self::Output {
        // Steps between looks at the control: 8 × 256 steps are less than a millisecond.
        const PATIENCE: u32 = 256;
        let rules = self.rules;
        let mut halves = self.at_seeds();
        let mut queue = Queue::new(self.both_ways);
        let mut journeys: [Journey; LANES] = std::array::from_fn(|_| Journey::new(IDLE, [0.0; 3]));
        let mut cache = S::Cache::default();
        let (mut x, mut p) = ([Lane::ZERO; 3], [Lane::ZERO; 3]);
        let mut riemann = Lane::ZERO;
        // Steps taken, and the step that needs more than being taken.
        let (mut steps, mut due) = ([0u32; LANES], [0u32; LANES]);
        let mut running = 0u32;
        for (lane, journey) in journeys.iter_mut().enumerate() {
            let boards = self.board(lane, journey, &mut queue, &halves, &mut x, &mut p);
            running |= u32::from(boards) << lane;
            due[lane] = journey.due(rules);
        }
        let cells = self.sampler.lattice().cells(&x);
        let slope = self.sampler.slope::<FMA>(&mut cache, &cells, &p);
        let mut here = rate::<FMA>(rules, &slope, &p);
        let mut patience = PATIENCE;
        let with_fa = rules.min_fa >= 0.0;
        while running != 0 {
            patience -= 1;
            if patience == 0 {
                self.control.check()?;
                patience = PATIENCE;
            }
            let mean = step::<S, FMA>(self.sampler, rules, &mut cache, [&x, &p], &here);
            let next = ahead::<FMA>(&x, &mean.x, rules.step_mm);
            p = ahead::<FMA>(&p, &mean.p, rules.step_mm);
            let before = riemann;
            riemann = mean
                .riemann
                .mul_add::<FMA>(Lane::splat(rules.step_mm), riemann);
            let cells = self.sampler.lattice().cells(&next);
            let slope = self.sampler.slope::<FMA>(&mut cache, &cells, &p);
            let there = rate::<FMA>(rules, &slope, &p);
            let cos = dot::<FMA>(&here.x, &lowered::<FMA>(&rules.mm2, &there.x));
            let place = self.sampler.place(&cache, &cells, with_fa);
            let to = self.world::<FMA>(&next);
            let mut special = self.gates.near([&to[0].0, &to[1].0, &to[2].0]);
            for lane in 0..LANES {
                // Positive questions, so that NaN fails each.
                let fine = (cells.in_volume[lane] != 0)
                    & (place.inside.0[lane] >= 0.5)
                    & (place.fa.0[lane] >= rules.min_fa)
                    & (cos.0[lane] >= rules.min_cos);
                steps[lane] += 1;
                special[lane] |= u32::from(!fine) | u32::from(steps[lane] == due[lane]);
            }
            let mut lanes = 0u32;
            for lane in 0..LANES {
                lanes |= special[lane] << lane;
            }
            lanes &= running;
            let mut stopped = 0u32;
            while lanes != 0 {
                let lane = lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                let verdict = if cells.in_volume[lane] == 0 {
                    Some(StopReason::LeftVolume)
                } else if !(place.inside.0[lane] >= 0.5) {
                    Some(StopReason::LeftMask)
                } else if !(place.fa.0[lane] >= rules.min_fa) {
                    Some(StopReason::LowFa)
                } else if !(cos.0[lane] >= rules.min_cos) {
                    Some(StopReason::Angle)
                } else {
                    None
                };
                let journey = &mut journeys[lane];
                journey.steps = steps[lane] - 1;
                let length_mm = |steps: u32| steps as f32 * rules.step_mm;
                let step = Step {
                    from: lane_of(&x, lane),
                    to: lane_of(&next, lane),
                    before: [length_mm(journey.steps), before.0[lane]],
                    after: [length_mm(steps[lane]), riemann.0[lane]],
                    verdict,
                };
                if let Some(end) = halves.advance(journey, &step, rules, self.gates) {
                    halves.end(journey, end);
                    stopped |= 1 << lane;
                }
                due[lane] = journey.due(rules);
            }
            x = next;
            here = there;
            if stopped != 0 {
                for (lane, journey) in journeys.iter_mut().enumerate() {
                    if stopped >> lane & 1 == 0 {
                        continue;
                    }
                    riemann.0[lane] = 0.0;
                    if !self.board(lane, journey, &mut queue, &halves, &mut x, &mut p) {
                        running &= !(1 << lane);
                    }
                    steps[lane] = 0;
                    due[lane] = journey.due(rules);
                }
                // Lanes that went on get the same again.
                let cells = self.sampler.lattice().cells(&x);
                let slope = self.sampler.slope::<FMA>(&mut cache, &cells, &p);
                here = rate::<FMA>(rules, &slope, &p);
            }
        }
        Ok(halves)
    }
}

impl<S: Sampler> Follow<'_, S> {
    /// All halves, with what their seeds meet: one that starts in a target or a terminate region is
    /// finished.
    fn at_seeds(&self) -> Halves {
        let mut halves = Halves::default();
        for start in self.starts {
            let half = at_seed(self.rules.world(start.x), self.gates);
            halves
                .halves
                .extend(std::iter::repeat_n(half, senses(self.both_ways)));
        }
        halves
    }

    /// Gives a lane its next half; `false` if none is left.
    fn board(
        &self,
        lane: usize,
        journey: &mut Journey,
        queue: &mut Queue,
        halves: &Halves,
        x: &mut Vector,
        p: &mut Vector,
    ) -> bool {
        let Some(turn) = queue.take(&halves.halves, |half| half.reason) else {
            journey.half = IDLE;
            return false;
        };
        let start = &self.starts[turn.start];
        for a in 0..3 {
            x[a].0[lane] = start.x[a];
            p[a].0[lane] = turn.sense * start.p[a];
        }
        journey.again(turn.half, start.x);
        true
    }

    #[inline(always)]
    fn world<const FMA: bool>(&self, x: &Vector) -> Vector {
        let mut out = [Lane::ZERO; 3];
        for a in 0..3 {
            let row = &self.rules.world_from_voxel[a];
            let sum = Lane::splat(row[0]).mul_add::<FMA>(x[0], Lane::splat(row[3]));
            let sum = Lane::splat(row[1]).mul_add::<FMA>(x[1], sum);
            out[a] = Lane::splat(row[2]).mul_add::<FMA>(x[2], sum);
        }
        out
    }
}
