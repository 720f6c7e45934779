//! Follows many half rays, eight at a time: a lane whose ray stopped takes the next.

use super::field::{Cells, LANES, Lane, Sampler, Slope, Vector};
use super::journey::{Halves, Journey, Rules, Step, at_seed};
use super::start::Start;
use crate::compute::simd::Kernel;
use crate::compute::{Cancelled, Control};
use crate::solvers::tracking::queue::{Queue, senses};
use crate::solvers::tracking::regions::Gates;
use crate::solvers::tracking::{Integrator, StopReason};

#[inline(always)]
fn dot<const FMA: bool>(a: &Vector, b: &Vector) -> Lane {
    a[2].mul_add::<FMA>(b[2], a[1].mul_add::<FMA>(b[1], a[0] * b[0]))
}

/// Voxel vectors in mm, in the axes of `Rules::root`.
#[inline(always)]
fn in_mm<const FMA: bool>(root: &[f32; 6], v: &Vector) -> Vector {
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
fn scaled(v: &Vector, by: Lane) -> Vector {
    [v[0] * by, v[1] * by, v[2] * by]
}

#[inline(always)]
fn ahead<const FMA: bool>(from: &Vector, rate: &Vector, by: Lane) -> Vector {
    [
        rate[0].mul_add::<FMA>(by, from[0]),
        rate[1].mul_add::<FMA>(by, from[1]),
        rate[2].mul_add::<FMA>(by, from[2]),
    ]
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

/// Where the rays are.
struct State {
    /// Voxels.
    x: Vector,
    p: Vector,
    /// The last step's direction in the axes of `Rules::root`, of length 1.
    direction: Vector,
    /// Riemannian length from the seed.
    riemann: Lane,
}

/// Rates with respect to Euclidean length; those of Euler's and the midpoint rule are to be
/// multiplied by `per_mm`.
struct Mean {
    x: Vector,
    p: Vector,
    riemann: Lane,
}

/// One evaluation `by` ahead of `state` along `slope`, and the p there.
#[inline(always)]
fn slope_ahead<S: Sampler, const FMA: bool>(
    sampler: &S,
    (cache, cells): (&mut S::Cache, &mut Cells),
    state: &State,
    (slope_x, slope_p): (&Vector, &Vector),
    by: Lane,
) -> (Slope, Vector) {
    let x = ahead::<FMA>(&state.x, slope_x, by);
    let p = ahead::<FMA>(&state.p, slope_p, by);
    sampler.lattice().follow(cells, &x, 0.0);
    (sampler.slope::<FMA>(cache, cells, &p), p)
}

#[inline(always)]
fn one_by_length<const FMA: bool>(v: &Vector) -> Lane {
    Lane::splat(1.0) / dot::<FMA>(v, v).sqrt()
}

/// Not yet normalised.
#[inline(always)]
fn one<const FMA: bool>(slope: Slope, p: &Vector) -> Mean {
    Mean {
        riemann: dot::<FMA>(p, &slope.x).sqrt(),
        x: slope.x,
        p: slope.p,
    }
}

#[inline(always)]
fn rate<const FMA: bool>(rules: &Rules, slope: Slope, p: &Vector) -> Mean {
    let per_mm = one_by_length::<FMA>(&in_mm::<FMA>(&rules.root, &slope.x));
    Mean {
        riemann: dot::<FMA>(p, &slope.x).sqrt() * per_mm,
        x: scaled(&slope.x, per_mm),
        p: scaled(&slope.p, per_mm),
    }
}

/// The rate `by` mm ahead along another.
#[inline(always)]
fn rate_ahead<S: Sampler, const FMA: bool>(
    sampler: &S,
    rules: &Rules,
    at: (&mut S::Cache, &mut Cells),
    state: &State,
    from: &Mean,
    by: Lane,
) -> Mean {
    let (slope, p) = slope_ahead::<S, FMA>(sampler, at, state, (&from.x, &from.p), by);
    rate::<FMA>(rules, slope, &p)
}

/// The mean rate over a step. `cells` are those of the state's points, and are left where the last
/// evaluation was.
#[inline(always)]
fn mean_rate<S: Sampler, const FMA: bool>(
    sampler: &S,
    rules: &Rules,
    at: (&mut S::Cache, &mut Cells),
    state: &State,
) -> Mean {
    let (cache, cells) = at;
    let first = sampler.slope::<FMA>(cache, cells, &state.p);
    let h = Lane::splat(rules.step_mm);
    let half = Lane::splat(0.5 * rules.step_mm);
    match rules.integrator {
        Integrator::Euler => one::<FMA>(first, &state.p),
        Integrator::Rk2 => {
            let by = half * one_by_length::<FMA>(&in_mm::<FMA>(&rules.root, &first.x));
            let slopes = (&first.x, &first.p);
            let (slope, p) = slope_ahead::<S, FMA>(sampler, (cache, cells), state, slopes, by);
            one::<FMA>(slope, &p)
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
        let (mut cache, mut cells) = (S::Cache::default(), Cells::default());
        let mut state = State {
            x: [Lane::ZERO; 3],
            p: [Lane::ZERO; 3],
            direction: [Lane::ZERO; 3],
            riemann: Lane::ZERO,
        };
        // Steps taken, and the step that needs more than being taken.
        let (mut steps, mut due) = ([0u32; LANES], [0u32; LANES]);
        let mut running = 0u32;
        for (lane, journey) in journeys.iter_mut().enumerate() {
            let boards = self.board(lane, journey, &mut queue, &halves, &mut state);
            running |= u32::from(boards) << lane;
            due[lane] = journey.due(rules);
        }
        self.sampler.lattice().follow(&mut cells, &state.x, 0.0);
        let mut patience = PATIENCE;
        let with_fa = rules.min_fa >= 0.0;
        let margin = match rules.integrator {
            Integrator::Rk2 => S::MARGIN,
            // The slope at the step's beginning is part of the result.
            Integrator::Euler | Integrator::Rk4 => 0.0,
        };
        let normalised = rules.integrator == Integrator::Rk4;
        while running != 0 {
            patience -= 1;
            if patience == 0 {
                self.control.check()?;
                patience = PATIENCE;
            }
            let at = (&mut cache, &mut cells);
            let mean = mean_rate::<S, FMA>(self.sampler, rules, at, &state);
            let mm = in_mm::<FMA>(&rules.root, &mean.x);
            let per_mm = one_by_length::<FMA>(&mm);
            let by = if normalised {
                Lane::splat(rules.step_mm)
            } else {
                per_mm * Lane::splat(rules.step_mm)
            };
            let cos = per_mm * dot::<FMA>(&state.direction, &mm);
            let next = ahead::<FMA>(&state.x, &mean.x, by);
            state.p = ahead::<FMA>(&state.p, &mean.p, by);
            state.direction = scaled(&mm, per_mm);
            let before = state.riemann;
            state.riemann = mean.riemann.mul_add::<FMA>(by, before);
            self.sampler.lattice().follow(&mut cells, &next, margin);
            let place = self.sampler.place(&mut cache, &cells, with_fa);
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
                    from: lane_of(&state.x, lane),
                    to: lane_of(&next, lane),
                    before: [length_mm(journey.steps), before.0[lane]],
                    after: [length_mm(steps[lane]), state.riemann.0[lane]],
                    verdict,
                };
                if let Some(end) = halves.advance(journey, &step, rules, self.gates) {
                    halves.end(journey, end);
                    stopped |= 1 << lane;
                }
                due[lane] = journey.due(rules);
            }
            state.x = next;
            if stopped != 0 {
                for (lane, journey) in journeys.iter_mut().enumerate() {
                    if stopped >> lane & 1 == 0 {
                        continue;
                    }
                    self.sampler.lattice().forget(&mut cells, lane);
                    if !self.board(lane, journey, &mut queue, &halves, &mut state) {
                        running &= !(1 << lane);
                    }
                    steps[lane] = 0;
                    due[lane] = journey.due(rules);
                }
                // Lanes that went on stay where they are.
                self.sampler.lattice().follow(&mut cells, &state.x, margin);
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
        state: &mut State,
    ) -> bool {
        let Some(turn) = queue.take(&halves.halves, |half| half.reason) else {
            journey.half = IDLE;
            return false;
        };
        let start = &self.starts[turn.start];
        for a in 0..3 {
            state.x[a].0[lane] = start.x[a];
            state.p[a].0[lane] = turn.sense * start.p[a];
            state.direction[a].0[lane] = turn.sense * start.direction[a];
        }
        state.riemann.0[lane] = 0.0;
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
