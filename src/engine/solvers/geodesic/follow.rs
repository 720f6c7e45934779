//! Follows many half rays, eight at a time: a lane whose ray has stopped takes the next one.

use super::field::{ALL_LANES, Cells, Lane, Sampler, Slope, Vector};
use super::half_ray::{HalfRay, HalfRayRules, RayHalves, Step};
use super::start::Start;
use crate::compute::simd::Kernel;
use crate::compute::{Cancelled, Control};
use crate::solvers::curves::half_queue::{LANES, Queue, halves_per_start};
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::curves::{Integrator, StopReason};

#[inline(always)]
fn dot<const FMA: bool>(a: &Vector<FMA>, b: &Vector<FMA>) -> Lane<FMA> {
    a[2].mul_add::<FMA>(b[2], a[1].mul_add::<FMA>(b[1], a[0] * b[0]))
}

/// Voxel vectors in mm, in the axes of `Rules::root`.
#[inline(always)]
fn in_mm<const FMA: bool>(root: &[f32; 6], v: &Vector<FMA>) -> Vector<FMA> {
    let mut r = [Lane::ZERO; 6];
    for k in 0..6 {
        r[k] = Lane::splat(root[k]);
    }
    [
        r[2].mul_add::<FMA>(v[2], r[1].mul_add::<FMA>(v[1], r[0] * v[0])),
        r[4].mul_add::<FMA>(v[2], r[3] * v[1]),
        r[5] * v[2],
    ]
}

#[inline(always)]
fn scaled<const FMA: bool>(v: &Vector<FMA>, by: Lane<FMA>) -> Vector<FMA> {
    [v[0] * by, v[1] * by, v[2] * by]
}

#[inline(always)]
fn add_scaled<const FMA: bool>(
    from: &Vector<FMA>,
    rate: &Vector<FMA>,
    by: Lane<FMA>,
) -> Vector<FMA> {
    [
        rate[0].mul_add::<FMA>(by, from[0]),
        rate[1].mul_add::<FMA>(by, from[1]),
        rate[2].mul_add::<FMA>(by, from[2]),
    ]
}

/// ⅙ (a + 2 b + 2 c + d)
#[inline(always)]
fn kutta<const FMA: bool>(a: Lane<FMA>, b: Lane<FMA>, c: Lane<FMA>, d: Lane<FMA>) -> Lane<FMA> {
    let inner = b + c;
    ((a + d) + (inner + inner)) * Lane::splat(1.0 / 6.0)
}

#[inline(always)]
fn kutta3<const FMA: bool>(
    a: &Vector<FMA>,
    b: &Vector<FMA>,
    c: &Vector<FMA>,
    d: &Vector<FMA>,
) -> Vector<FMA> {
    [
        kutta(a[0], b[0], c[0], d[0]),
        kutta(a[1], b[1], c[1], d[1]),
        kutta(a[2], b[2], c[2], d[2]),
    ]
}

/// Positions of the rays.
struct State<const FMA: bool> {
    /// Voxels.
    x: Vector<FMA>,
    p: Vector<FMA>,
    /// The direction of the last step in the axes of `Rules::root`, of length 1.
    direction: Vector<FMA>,
    /// Riemannian length from the seed.
    riemann: Lane<FMA>,
}

/// Rates per unit of Euclidean length; those of Euler's and the midpoint rule must still be multiplied by `per_mm`.
struct Mean<const FMA: bool> {
    x: Vector<FMA>,
    p: Vector<FMA>,
    riemann: Lane<FMA>,
}

impl<const FMA: bool> State<FMA> {
    /// Takes a step at a mean rate, except for `x`; returns the next `x`, and the cosine of the angle between this
    /// step and the last.
    #[inline(always)]
    fn advance(&mut self, rules: &HalfRayRules, mean: &Mean<FMA>) -> (Vector<FMA>, Lane<FMA>) {
        let mm = in_mm::<FMA>(&rules.root, &mean.x);
        let per_mm = one_by_length::<FMA>(&mm);
        // The rates of Runge and Kutta's fourth order are normalised.
        let by = if rules.integrator == Integrator::Rk4 {
            Lane::splat(rules.step_mm)
        } else {
            per_mm * Lane::splat(rules.step_mm)
        };
        let cos = per_mm * dot::<FMA>(&self.direction, &mm);
        let next = add_scaled::<FMA>(&self.x, &mean.x, by);
        self.p = add_scaled::<FMA>(&self.p, &mean.p, by);
        self.direction = scaled(&mm, per_mm);
        self.riemann = mean.riemann.mul_add::<FMA>(by, self.riemann);
        (next, cos)
    }
}

/// One evaluation `by` ahead of `state` along `slope`, and p there.
#[inline(always)]
fn slope_ahead<S: Sampler, const FMA: bool>(
    sampler: &S,
    (cache, cells): (&mut S::Cache, &mut Cells<FMA>),
    state: &State<FMA>,
    (slope_x, slope_p): (&Vector<FMA>, &Vector<FMA>),
    by: Lane<FMA>,
) -> (Slope<FMA>, Vector<FMA>) {
    let x = add_scaled::<FMA>(&state.x, slope_x, by);
    let p = add_scaled::<FMA>(&state.p, slope_p, by);
    sampler.lattice().follow(cells, &x, 0.0);
    (sampler.slope::<FMA>(cache, cells, &p), p)
}

#[inline(always)]
fn one_by_length<const FMA: bool>(v: &Vector<FMA>) -> Lane<FMA> {
    Lane::splat(1.0) / dot::<FMA>(v, v).sqrt()
}

/// Not normalised yet.
#[inline(always)]
fn raw_rate<const FMA: bool>(slope: Slope<FMA>, p: &Vector<FMA>) -> Mean<FMA> {
    Mean {
        riemann: dot::<FMA>(p, &slope.x).sqrt(),
        x: slope.x,
        p: slope.p,
    }
}

#[inline(always)]
fn rate<const FMA: bool>(rules: &HalfRayRules, slope: Slope<FMA>, p: &Vector<FMA>) -> Mean<FMA> {
    let per_mm = one_by_length::<FMA>(&in_mm::<FMA>(&rules.root, &slope.x));
    Mean {
        riemann: dot::<FMA>(p, &slope.x).sqrt() * per_mm,
        x: scaled(&slope.x, per_mm),
        p: scaled(&slope.p, per_mm),
    }
}

/// The rate `by` mm ahead along another rate.
#[inline(always)]
fn rate_ahead<S: Sampler, const FMA: bool>(
    sampler: &S,
    rules: &HalfRayRules,
    at: (&mut S::Cache, &mut Cells<FMA>),
    state: &State<FMA>,
    from: &Mean<FMA>,
    by: Lane<FMA>,
) -> Mean<FMA> {
    let (slope, p) = slope_ahead::<S, FMA>(sampler, at, state, (&from.x, &from.p), by);
    rate::<FMA>(rules, slope, &p)
}

/// The mean rate over a step. `cells` are those of the state's points, and afterwards those of the last evaluation.
#[inline(always)]
fn mean_rate<S: Sampler, const FMA: bool>(
    sampler: &S,
    rules: &HalfRayRules,
    at: (&mut S::Cache, &mut Cells<FMA>),
    state: &State<FMA>,
) -> Mean<FMA> {
    let (cache, cells) = at;
    let first = match rules.integrator {
        Integrator::Rk2 => sampler.rough_slope::<FMA>(cache, cells, &state.p),
        Integrator::Euler | Integrator::Rk4 => sampler.slope::<FMA>(cache, cells, &state.p),
    };
    let h = Lane::splat(rules.step_mm);
    let half = Lane::splat(0.5 * rules.step_mm);
    match rules.integrator {
        Integrator::Euler => raw_rate::<FMA>(first, &state.p),
        Integrator::Rk2 => {
            let by = half * one_by_length::<FMA>(&in_mm::<FMA>(&rules.root, &first.x));
            let slopes = (&first.x, &first.p);
            let (slope, p) = slope_ahead::<S, FMA>(sampler, (cache, cells), state, slopes, by);
            raw_rate::<FMA>(slope, &p)
        }
        Integrator::Rk4 => {
            let a = rate::<FMA>(rules, first, &state.p);
            let b = rate_ahead::<S, FMA>(sampler, rules, (cache, cells), state, &a, half);
            let c = rate_ahead::<S, FMA>(sampler, rules, (cache, cells), state, &b, half);
            let d = rate_ahead::<S, FMA>(sampler, rules, (cache, cells), state, &c, h);
            Mean {
                x: kutta3(&a.x, &b.x, &c.x, &d.x),
                p: kutta3(&a.p, &b.p, &c.p, &d.p),
                riemann: kutta(a.riemann, b.riemann, c.riemann, d.riemann),
            }
        }
    }
}

/// The lanes that pass each test after a step, one bit per lane.
struct PassedTests {
    in_volume: u32,
    in_mask: u32,
    definite: u32,
    above_level: u32,
    straight: u32,
}

impl PassedTests {
    #[inline(always)]
    fn all(&self) -> u32 {
        self.in_volume & self.in_mask & self.definite & self.above_level & self.straight
    }

    /// The reason of the first test that a lane fails.
    #[inline(always)]
    fn failure(&self, lane: usize, too_low: StopReason) -> Option<StopReason> {
        let fails = |bits: u32| bits >> lane & 1 == 0;
        if fails(self.in_volume) {
            Some(StopReason::LeftVolume)
        } else if fails(self.in_mask) {
            Some(StopReason::LeftMask)
        } else if fails(self.definite) {
            Some(StopReason::Indefinite)
        } else if fails(self.above_level) {
            Some(too_low)
        } else if fails(self.straight) {
            Some(StopReason::Angle)
        } else {
            None
        }
    }
}

pub struct RayFollower<'a, S> {
    pub sampler: &'a S,
    pub rules: &'a HalfRayRules,
    pub gates: &'a RegionTests<'a>,
    pub starts: &'a [Start],
    pub both_ways: bool,
    pub control: &'a Control,
}

/// Marks a lane without a ray.
const IDLE: usize = usize::MAX;

#[inline(always)]
fn lane_of<const FMA: bool>(v: &Vector<FMA>, lane: usize) -> [f32; 3] {
    [v[0].0[lane], v[1].0[lane], v[2].0[lane]]
}

impl<S: Sampler> Kernel for RayFollower<'_, S> {
    type Output = Result<RayHalves, Cancelled>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Self::Output {
        // Steps between two checks for cancellation: 8 × 256 steps take less than a millisecond.
        const STEPS_PER_CHECK: u32 = 256;
        let rules = self.rules;
        let mut halves = self.at_seeds();
        let mut queue = Queue::new(self.both_ways);
        let mut paths: [HalfRay; LANES] = std::array::from_fn(|_| HalfRay::new(IDLE, [0.0; 3]));
        let (mut cache, mut cells) = (self.sampler.cache(), Cells::default());
        let mut state = State {
            x: [Lane::ZERO; 3],
            p: [Lane::ZERO; 3],
            direction: [Lane::ZERO; 3],
            riemann: Lane::ZERO,
        };
        // Steps of all lanes so far; the step at which each ray began, and at which it next needs more than a step.
        let (mut now, mut began, mut due) = (0u64, [0u64; LANES], [0u64; LANES]);
        // One bit per lane.
        let mut running = 0u32;
        for (lane, path) in paths.iter_mut().enumerate() {
            let assigned =
                self.assign_next(lane, path, &mut queue, &halves, (&mut state, &mut cache));
            running |= u32::from(assigned) << lane;
            due[lane] = u64::from(path.next_due_step(rules));
        }
        let mut next_due = first_due(&due, running);
        self.sampler.lattice().follow(&mut cells, &state.x, 0.0);
        let mut patience = STEPS_PER_CHECK;
        let with_level = rules.min_level >= 0.0;
        let margin = match rules.integrator {
            Integrator::Rk2 => S::MARGIN,
            // The slope at the beginning of the step is part of the result.
            Integrator::Euler | Integrator::Rk4 => 0.0,
        };
        let with_regions = self.gates.has_masks() || !self.gates.gates.is_empty();
        while running != 0 {
            patience -= 1;
            if patience == 0 {
                self.control.check()?;
                patience = STEPS_PER_CHECK;
            }
            let at = (&mut cache, &mut cells);
            let mean = mean_rate::<S, FMA>(self.sampler, rules, at, &state);
            let before = state.riemann;
            let (next, cos) = state.advance(rules, &mean);
            self.sampler.lattice().follow(&mut cells, &next, margin);
            let sample = self.sampler.point_sample(&mut cache, &cells, with_level);
            // NaN fails these tests.
            let passed = PassedTests {
                in_volume: cells.in_volume,
                in_mask: sample.inside.at_least(Lane::splat(0.5)),
                definite: state.riemann.at_least(before),
                above_level: if with_level {
                    sample.level.at_least(Lane::splat(rules.min_level))
                } else {
                    ALL_LANES
                },
                straight: cos.at_least(Lane::splat(rules.min_cos)),
            };
            now += 1;
            let mut lanes = ALL_LANES & !passed.all();
            if now >= next_due {
                for lane in 0..LANES {
                    lanes |= u32::from(due[lane] <= now) << lane;
                }
            }
            if with_regions {
                let to = self.world::<FMA>(&next);
                let near = self.gates.gates_near([&to[0].0, &to[1].0, &to[2].0]);
                for lane in 0..LANES {
                    lanes |= near[lane] << lane;
                }
            }
            lanes &= running;
            let looked_at = lanes != 0;
            let mut stopped = 0u32;
            while lanes != 0 {
                let lane = lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                let path = &mut paths[lane];
                // At most the limit, which is a u32.
                let steps = (now - began[lane]) as u32;
                path.steps = steps - 1;
                let length_mm = |steps: u32| steps as f32 * rules.step_mm;
                let step = Step {
                    start: lane_of(&state.x, lane),
                    end: lane_of(&next, lane),
                    before: [length_mm(path.steps), before.0[lane]],
                    after: [length_mm(steps), state.riemann.0[lane]],
                    verdict: passed.failure(lane, S::TOO_LOW),
                };
                if let Some(end) = halves.advance(path, &step, rules, self.gates) {
                    halves.finish_half(path, end);
                    stopped |= 1 << lane;
                }
                due[lane] = began[lane] + u64::from(path.next_due_step(rules));
            }
            state.x = next;
            if stopped != 0 {
                for (lane, path) in paths.iter_mut().enumerate() {
                    if stopped >> lane & 1 == 0 {
                        continue;
                    }
                    self.sampler.lattice().forget(&mut cells, lane);
                    if !self.assign_next(lane, path, &mut queue, &halves, (&mut state, &mut cache))
                    {
                        running &= !(1 << lane);
                    }
                    began[lane] = now;
                    due[lane] = now + u64::from(path.next_due_step(rules));
                }
                // Lanes that continued keep their cells.
                self.sampler.lattice().follow(&mut cells, &state.x, margin);
            }
            if looked_at {
                next_due = first_due(&due, running);
            }
        }
        Ok(halves)
    }
}

/// The smallest of the running lanes' due steps.
fn first_due(due: &[u64; LANES], running: u32) -> u64 {
    let lanes = (0..LANES).filter(|lane| running >> lane & 1 == 1);
    lanes.map(|lane| due[lane]).min().unwrap_or(u64::MAX)
}

impl<S: Sampler> RayFollower<'_, S> {
    /// All halves, with the regions that their seeds meet: one that starts in a target or a terminate region is
    /// finished.
    fn at_seeds(&self) -> RayHalves {
        let mut halves = RayHalves::default();
        for start in self.starts {
            let half = self.rules.at_seed(start.x, self.gates);
            halves
                .halves
                .extend(std::iter::repeat_n(half, halves_per_start(self.both_ways)));
        }
        halves
    }

    /// Gives a lane its next half; `false` if there is none.
    fn assign_next<const FMA: bool>(
        &self,
        lane: usize,
        path: &mut HalfRay,
        queue: &mut Queue,
        halves: &RayHalves,
        (state, cache): (&mut State<FMA>, &mut S::Cache),
    ) -> bool {
        let Some(turn) = queue.next_half(&halves.halves, |half| half.reason) else {
            path.half = IDLE;
            return false;
        };
        let start = &self.starts[turn.start];
        for a in 0..3 {
            state.x[a].0[lane] = start.x[a];
            state.p[a].0[lane] = turn.sense * start.p[a];
            state.direction[a].0[lane] = turn.sense * start.direction[a];
        }
        let direction = start.direction.map(|c| turn.sense * c);
        self.sampler.begin(cache, lane, direction);
        state.riemann.0[lane] = 0.0;
        path.restart(turn.half, start.x);
        true
    }

    #[inline(always)]
    fn world<const FMA: bool>(&self, x: &Vector<FMA>) -> Vector<FMA> {
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
