//! Follows many half streamlines, eight at a time: a lane whose streamline has stopped takes the next one.

use super::direction::{deflected, deviator, principal};
use super::field::{Lane, Points, Sampler};
use crate::compute::kernel_struct;
use crate::compute::simd::Kernel;
use crate::compute::{Cancelled, Control, parts};
use crate::solvers::curves::cells::INSIDE;
use crate::solvers::curves::half_queue::{LANES, PENDING, Queue, halves_per_start};
use crate::solvers::curves::regions::{Cut, RegionTests};
use crate::solvers::curves::{DirectionField, Integrator, StopReason, step};
use bytemuck::{Pod, Zeroable};
use std::ops::Range;

/// When and how a half stops.
#[derive(Clone, Copy)]
pub struct HalfStreamlineRules {
    pub integrator: Integrator,
    pub step_mm: f32,
    /// Square of the lowest FA; negative if there is no limit.
    pub min_fa_squared: f32,
    /// Cosine of the largest turn per step; below -1 if there is no limit.
    pub min_cos: f32,
    pub max_steps: u32,
    /// The stop reason at `max_steps`.
    pub at_max: StopReason,
    /// Weights of e, u and D u if the direction of the previous step is deflected.
    pub deflection: Option<[f32; 3]>,
}

/// A seed whose tensor allows a start.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Start {
    pub at: [f32; 3],
    pub direction: [f32; 3],
}
kernel_struct!(Start as "Start in kernels/tracking.cu", 24 { at: 0, direction: 12 });

/// One half of a streamline, from its seed outwards.
#[derive(Clone, Copy)]
pub struct StreamlineHalf {
    /// The points after the seed, `points[first..first + steps]` of [`StreamlineHalves`].
    pub first: usize,
    pub steps: u32,
    pub reason: StopReason,
    /// The target region in which it ended.
    pub target: Option<u32>,
}

pub struct StreamlineHalves {
    pub points: Vec<[f32; 3]>,
    /// In the order of the starts; with both ways, the forward half, then the backward half.
    pub halves: Vec<StreamlineHalf>,
    /// For each half and each gate, the step at which it was first met; `u32::MAX` if never.
    pub met: Vec<u32>,
    gates: usize,
}

impl StreamlineHalves {
    /// Halves of all starts, with the regions that their seeds meet: one that starts in a target or a terminate
    /// region is finished.
    pub fn at_seeds(starts: &[Start], gates: &RegionTests, both_ways: bool) -> Self {
        let per_start = halves_per_start(both_ways);
        let count = starts.len() * per_start;
        let mut halves = Self {
            points: Vec::new(),
            halves: Vec::with_capacity(count),
            met: Vec::with_capacity(count * gates.gates.len()),
            gates: gates.gates.len(),
        };
        for start in starts {
            let (inside, cut) = gates.gates_containing(start.at);
            for _ in 0..per_start {
                let met = inside.iter().map(|i| if *i { 0 } else { u32::MAX });
                halves.met.extend(met);
                let (reason, target) = cut.unwrap_or((PENDING, None));
                halves.halves.push(StreamlineHalf {
                    first: 0,
                    steps: 0,
                    reason,
                    target,
                });
            }
        }
        halves
    }

    /// Does the work of [`Self::at_seeds`] on all threads of the installed pool.
    pub fn at_all_seeds(starts: &[Start], gates: &RegionTests, both_ways: bool) -> Self {
        /// Seeds that a thread examines at a time.
        const PART: usize = 4096;
        let part = |range: Range<usize>| Self::at_seeds(&starts[range], gates, both_ways);
        let mut all = Self::at_seeds(&[], gates, both_ways);
        for part in parts::in_parts(starts.len(), PART, part) {
            all.halves.extend(part.halves);
            all.met.extend(part.met);
        }
        all
    }

    pub fn regions_met(&self, half: usize) -> &[u32] {
        &self.met[half * self.gates..(half + 1) * self.gates]
    }
}

/// A verdict that lets the streamline continue; others are a [`StopReason`].
const GO: u32 = u32::MAX;

/// Tensor values at a point.
struct View {
    direction: Points,
    verdict: Lane<u32>,
}

#[inline(always)]
fn view_at<const DEFLECT: bool>(
    sampler: &impl Sampler,
    rules: &HalfStreamlineRules,
    at: &Points,
    along: &Points,
) -> View {
    let weights = rules.deflection.unwrap_or_default();
    let samples = sampler.sample(at);
    let mut view = View {
        direction: Points::default(),
        verdict: [GO; LANES],
    };
    for lane in 0..LANES {
        let r = &samples.records[lane];
        let d = [r[0], r[1], r[2], r[3], r[4], r[5]];
        let parts = deviator(d);
        let [ax, ay, az] = along.get(lane);
        let mut direction = principal(d, &parts, [ax, ay, az]);
        if DEFLECT {
            direction = deflected(d, direction, [ax, ay, az], weights);
        }
        let [x, y, z] = direction;
        let cos = (x * ax + y * ay) + z * az;
        // Tests are phrased so that NaN fails each; the last one that fails determines the reason.
        let verdict = if cos >= rules.min_cos {
            GO
        } else {
            StopReason::Angle as u32
        };
        let anisotropic = parts.fa_at_least(rules.min_fa_squared);
        let verdict = if anisotropic {
            verdict
        } else {
            StopReason::LowFa as u32
        };
        let verdict = if r[INSIDE] >= 0.5 {
            verdict
        } else {
            StopReason::LeftMask as u32
        };
        let in_volume = samples.in_volume[lane] != 0;
        let verdict = if in_volume {
            verdict
        } else {
            StopReason::LeftVolume as u32
        };
        view.verdict[lane] = verdict;
        view.direction.x[lane] = x;
        view.direction.y[lane] = y;
        view.direction.z[lane] = z;
    }
    view
}

/// Directions for the stages of a step. A stage outside the mask, where the tensor is 0, keeps the direction passed
/// to it: only the point at the end of the step is judged.
struct Directions<'a, S>(&'a S);

impl<S: Sampler> DirectionField for Directions<'_, S> {
    type Vector = Points;
    type Scalar = f32;

    #[inline(always)]
    fn direction(&self, at: Points, along: Points) -> Points {
        let samples = self.0.sample(&at);
        let mut out = Points::default();
        for lane in 0..LANES {
            let r = &samples.records[lane];
            let d = [r[0], r[1], r[2], r[3], r[4], r[5]];
            let [x, y, z] = principal(d, &deviator(d), along.get(lane));
            out.x[lane] = x;
            out.y[lane] = y;
            out.z[lane] = z;
        }
        out
    }
}

/// Starting directions of seed points, in the sense with positive z (then y, then x); `None` if the seed is outside
/// or its FA is too low.
pub struct SeedStart<'a, S> {
    pub sampler: &'a S,
    pub rules: &'a HalfStreamlineRules,
    pub seeds: &'a [[f32; 3]],
}

impl<S: Sampler> Kernel for SeedStart<'_, S> {
    type Output = Vec<Option<Start>>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Self::Output {
        // Without any anisotropy there is no starting direction.
        let rules = HalfStreamlineRules {
            min_fa_squared: self.rules.min_fa_squared.max(1e-8),
            min_cos: -2.0,
            ..*self.rules
        };
        let mut starts = Vec::with_capacity(self.seeds.len());
        for seeds in self.seeds.chunks(LANES) {
            let mut at = Points::default();
            for (lane, seed) in seeds.iter().enumerate() {
                at.set(lane, *seed);
            }
            let view = view_at::<false>(self.sampler, &rules, &at, &Points::default());
            starts.extend(seeds.iter().enumerate().map(|(lane, &at)| {
                let [x, y, z] = view.direction.get(lane);
                let up = z > 0.0 || (z == 0.0 && (y > 0.0 || (y == 0.0 && x >= 0.0)));
                let direction = if up { [x, y, z] } else { [-x, -y, -z] };
                (view.verdict[lane] == GO).then_some(Start { at, direction })
            }));
        }
        starts
    }
}

pub struct StreamlineFollower<'a, S> {
    pub sampler: &'a S,
    pub rules: &'a HalfStreamlineRules,
    pub gates: &'a RegionTests<'a>,
    pub starts: &'a [Start],
    pub both_ways: bool,
    pub control: &'a Control,
}

/// A half that is being followed.
struct HalfStreamline {
    half: usize,
    points: Vec<[f32; 3]>,
}

impl<S: Sampler> Kernel for StreamlineFollower<'_, S> {
    type Output = Result<StreamlineHalves, Cancelled>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Self::Output {
        // Steps between two checks for cancellation: 8 × 256 steps take less than a millisecond.
        const STEPS_PER_CHECK: u32 = 256;
        let mut halves = StreamlineHalves::at_seeds(self.starts, self.gates, self.both_ways);
        halves.points.reserve(self.starts.len() * 128);
        let mut queue = Queue::new(self.both_ways);
        let mut paths: Lane<HalfStreamline> = std::array::from_fn(|_| HalfStreamline {
            half: usize::MAX,
            points: Vec::new(),
        });
        let mut at = Points::default();
        let mut along = Points::default();
        let mut running = 0;
        for (lane, path) in paths.iter_mut().enumerate() {
            running +=
                u32::from(self.assign_next(lane, path, &mut queue, &halves, &mut at, &mut along));
        }
        let mut patience = STEPS_PER_CHECK;
        while running > 0 {
            patience -= 1;
            if patience == 0 {
                self.control.check()?;
                patience = STEPS_PER_CHECK;
            }
            let next = step(
                &Directions(self.sampler),
                self.rules.integrator,
                at,
                along,
                self.rules.step_mm,
            );
            let view = match self.rules.deflection {
                None => view_at::<false>(self.sampler, self.rules, &next, &along),
                Some(_) => view_at::<true>(self.sampler, self.rules, &next, &along),
            };
            let near = self.gates.gates_near([&next.x, &next.y, &next.z]);
            let mut stopped = 0u32;
            for (lane, path) in paths.iter_mut().enumerate() {
                if path.half == usize::MAX {
                    continue;
                }
                let verdict = view.verdict[lane];
                let mut stop = None;
                if verdict == GO || verdict == StopReason::Angle as u32 {
                    if near[lane] == 0 {
                        path.points.push(next.get(lane));
                    } else {
                        stop = self.meet(path, at.get(lane), next.get(lane), &mut halves);
                    }
                    if stop.is_none() && path.points.len() >= self.rules.max_steps as usize {
                        stop = Some((self.rules.at_max, None));
                    }
                }
                if stop.is_none() && verdict != GO {
                    stop = Some((reason(verdict), None));
                }
                if let Some((reason, target)) = stop {
                    halves.finish_half(path, reason, target);
                    stopped |= 1 << lane;
                }
            }
            at = next;
            along = view.direction;
            if stopped != 0 {
                for (lane, path) in paths.iter_mut().enumerate() {
                    if stopped >> lane & 1 == 1
                        && !self.assign_next(lane, path, &mut queue, &halves, &mut at, &mut along)
                    {
                        running -= 1;
                    }
                }
            }
        }
        Ok(halves)
    }
}

fn reason(verdict: u32) -> StopReason {
    [StopReason::Angle, StopReason::LowFa, StopReason::LeftMask]
        .into_iter()
        .find(|r| *r as u32 == verdict)
        .unwrap_or(StopReason::LeftVolume)
}

impl StreamlineHalves {
    /// Takes the points of a finished half.
    fn finish_half(&mut self, path: &mut HalfStreamline, reason: StopReason, target: Option<u32>) {
        self.halves[path.half] = StreamlineHalf {
            first: self.points.len(),
            steps: path.points.len() as u32,
            reason,
            target,
        };
        self.points.append(&mut path.points);
    }
}

impl<S: Sampler> StreamlineFollower<'_, S> {
    /// Gives a lane its next half; `false` if there is none.
    fn assign_next(
        &self,
        lane: usize,
        path: &mut HalfStreamline,
        queue: &mut Queue,
        halves: &StreamlineHalves,
        at: &mut Points,
        along: &mut Points,
    ) -> bool {
        let Some(turn) = queue.next_half(&halves.halves, |half| half.reason) else {
            path.half = usize::MAX;
            return false;
        };
        let start = &self.starts[turn.start];
        at.set(lane, start.at);
        along.set(lane, start.direction.map(|c| turn.sense * c));
        path.half = turn.half;
        true
    }

    /// Follows the segment to the new point: records the regions it meets and adds the point, or the point at which
    /// it is cut.
    #[inline(never)]
    fn meet(
        &self,
        path: &mut HalfStreamline,
        from: [f32; 3],
        to: [f32; 3],
        halves: &mut StreamlineHalves,
    ) -> Cut {
        if !self.gates.allows(to) {
            return Some((StopReason::LeftMask, None));
        }
        let gates = self.gates.gates.len();
        let met = &mut halves.met[path.half * gates..][..gates];
        let crossing = self.gates.crossed(from, to, |gate| met[gate] == u32::MAX);
        for &gate in &crossing.met {
            met[gate] = path.points.len() as u32 + 1;
        }
        path.points.push(crossing.end());
        crossing.cut
    }
}
