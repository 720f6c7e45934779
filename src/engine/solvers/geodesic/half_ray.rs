//! The state of half rays: which points are kept, which regions are met, why a half ends.

use super::{LOOP_WINDOW_MM, Params};
use crate::data::Grid;
use crate::solvers::curves::cells::rows;
use crate::solvers::curves::half_queue::{PENDING, halves_per_start};
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::curves::{Integrator, StopReason};
use glam::{DMat3, DVec3};

/// When and how a half stops, and the transform to world space.
#[derive(Clone, Copy)]
pub struct HalfRayRules {
    pub integrator: Integrator,
    pub step_mm: f32,
    /// The smallest FA, or amplitude of a lobe; negative if there is no limit.
    pub min_level: f32,
    /// Cosine of the largest turn per step; below -1 if there is no limit.
    pub min_cos: f32,
    pub max_steps: u32,
    /// The stop reason at `max_steps`.
    pub at_max: StopReason,
    pub keep_every: u32,
    /// Steps between two checks of the loop guard; `u32::MAX` without one.
    pub loop_steps: u32,
    /// Square of the smallest distance to cover in that many steps, mm².
    pub loop_mm2: f32,
    /// Square of the highest velocity in the papers' form.
    pub leap: f32,
    /// Rows of the affine from voxel to world.
    pub world_from_voxel: [[f32; 4]; 3],
    /// The upper triangle of [`root`], row by row.
    pub root: [f32; 6],
}

impl HalfRayRules {
    /// Largest number of points of a ray.
    pub fn max_points(&self, params: &Params) -> u64 {
        1 + halves_per_start(params.curves.both_ways) as u64 * self.max_kept_points()
    }

    /// Largest number of points of a half, without its seed.
    pub fn max_kept_points(&self) -> u64 {
        u64::from(self.max_steps.div_ceil(self.keep_every)) + 1
    }

    pub fn new(grid: &Grid, params: &Params, min_level: Option<f64>) -> Self {
        let walk = &params.curves;
        let affine = grid.world_from_voxel;
        let w: DMat3 = affine.matrix3;
        let limit = walk.step_limit();
        let loop_steps = (LOOP_WINDOW_MM / walk.step_mm).ceil().max(1.0);
        let min_loop_mm = 0.1 * loop_steps * walk.step_mm;
        Self {
            integrator: walk.integrator,
            step_mm: walk.step_mm as f32,
            min_level: min_level.map_or(-1.0, |level| level as f32),
            min_cos: walk.min_cos(),
            max_steps: limit.steps,
            at_max: limit.at_max,
            keep_every: u32::try_from(params.keep_every).unwrap_or(u32::MAX),
            loop_steps: if params.loop_guard {
                loop_steps.min(u32::MAX.into()) as u32
            } else {
                u32::MAX
            },
            loop_mm2: (min_loop_mm * min_loop_mm) as f32,
            leap: (params.longest_step_mm(grid) / walk.step_mm).powi(2) as f32,
            world_from_voxel: rows(&affine),
            root: {
                let r = root(w);
                [
                    r.x_axis.x, r.y_axis.x, r.z_axis.x, r.y_axis.y, r.z_axis.y, r.z_axis.z,
                ]
                .map(|v| v as f32)
            },
        }
    }

    pub fn world(&self, x: [f32; 3]) -> [f32; 3] {
        self.world_from_voxel
            .map(|r| (r[0] * x[0] + r[1] * x[1]) + (r[2] * x[2] + r[3]))
    }

    /// A half before its first step, in voxel coordinates; finished if its seed lies in a target or a terminate
    /// region, or if no step is allowed.
    pub fn at_seed(&self, x: [f32; 3], gates: &RegionTests) -> RayHalf {
        let (inside, cut) = gates.gates_containing(self.world(x));
        let met = inside
            .iter()
            .rev()
            .fold(0, |bits, i| bits << 1 | u32::from(*i));
        let goes = if self.max_steps > 0 {
            PENDING
        } else {
            self.at_max
        };
        let (reason, target) = cut.unwrap_or((goes, None));
        RayHalf {
            first: 0,
            count: 0,
            steps: 0,
            length_mm: 0.0,
            riemann: 0.0,
            reason,
            target,
            met,
        }
    }

    /// A voxel vector in mm, in axes of its own, with its length in the world.
    pub fn in_mm(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let [xx, xy, xz, yy, yz, zz] = self.root;
        [xx * x + (xy * y + xz * z), yy * y + yz * z, zz * z]
    }

    /// Squared length of a voxel vector, mm².
    pub fn mm2(&self, v: [f32; 3]) -> f32 {
        let mm = self.in_mm(v);
        mm[0] * mm[0] + (mm[1] * mm[1] + mm[2] * mm[2])
    }

    /// Cosine of the angle between two voxel vectors in the world.
    pub fn cos(&self, v: [f32; 3], w: [f32; 3]) -> f32 {
        let (a, b) = (self.in_mm(v), self.in_mm(w));
        let product = a[0] * b[0] + (a[1] * b[1] + a[2] * b[2]);
        product / (self.mm2(v) * self.mm2(w)).sqrt()
    }
}

/// The upper triangle R with |R v| = |W v| for every voxel vector v (RᵀR = WᵀW, Cholesky).
pub fn root(world_from_voxel: DMat3) -> DMat3 {
    let square = world_from_voxel.transpose() * world_from_voxel;
    let xx = square.x_axis.x.sqrt();
    let (xy, xz) = (square.y_axis.x / xx, square.z_axis.x / xx);
    let yy = (square.y_axis.y - xy * xy).sqrt();
    let yz = (square.z_axis.y - xy * xz) / yy;
    let zz = (square.z_axis.z - xz * xz - yz * yz).sqrt();
    DMat3::from_cols(
        DVec3::new(xx, 0.0, 0.0),
        DVec3::new(xy, yy, 0.0),
        DVec3::new(xz, yz, zz),
    )
}

/// One half of a ray, from its seed outwards.
#[derive(Clone, Copy, Debug)]
pub struct RayHalf {
    /// The kept points after the seed, `points[first..first + count]` of [`RayHalves`]; for halves on a card, `first`
    /// is the slot of the launch.
    pub first: usize,
    pub count: u32,
    pub steps: u32,
    /// Euclidean length, mm, and Riemannian length.
    pub length_mm: f32,
    pub riemann: f32,
    pub reason: StopReason,
    /// The target region in which it ended.
    pub target: Option<u32>,
    /// Regions met, one bit each.
    pub met: u32,
}

#[derive(Default)]
pub struct RayHalves {
    /// World mm.
    pub points: Vec<[f32; 3]>,
    /// Connectivity measure from the seed to each point.
    pub along: Vec<f32>,
    /// In the order of the starts; with both ways, the forward half, then the backward half.
    pub halves: Vec<RayHalf>,
}

/// A half that is being followed.
#[derive(Clone)]
pub struct HalfRay {
    pub half: usize,
    pub steps: u32,
    points: Vec<[f32; 3]>,
    along: Vec<f32>,
    /// Position at the last check of the loop guard, voxels.
    looked: [f32; 3],
}

/// Euclidean length, mm, and Riemannian length from the seed.
pub type Lengths = [f32; 2];

/// One step of a half ray.
pub struct Step {
    /// Voxel coordinates.
    pub start: [f32; 3],
    pub end: [f32; 3],
    pub before: Lengths,
    pub after: Lengths,
    /// The reason not to take it, if there is one.
    pub verdict: Option<StopReason>,
}

/// The end of a half ray.
pub struct End {
    reason: StopReason,
    target: Option<u32>,
}

/// Euclidean divided by Riemannian length; 1 for a point.
pub fn connectivity_measure([length_mm, riemann]: Lengths) -> f32 {
    if riemann > 0.0 {
        length_mm / riemann
    } else {
        1.0
    }
}

impl HalfRay {
    pub fn new(half: usize, seed: [f32; 3]) -> Self {
        Self {
            half,
            steps: 0,
            points: Vec::new(),
            along: Vec::new(),
            looked: seed,
        }
    }

    /// Reuses the memory for another half.
    pub fn restart(&mut self, half: usize, seed: [f32; 3]) {
        self.half = half;
        self.steps = 0;
        self.looked = seed;
    }

    pub fn keep_point(&mut self, at: [f32; 3], lengths: Lengths) {
        self.points.push(at);
        self.along.push(connectivity_measure(lengths));
    }

    /// The next step whose end needs more work than the step itself.
    pub fn next_due_step(&self, rules: &HalfRayRules) -> u32 {
        let next = |every: u32| (self.steps / every).saturating_add(1).saturating_mul(every);
        let due = next(rules.keep_every).min(next(rules.loop_steps));
        due.min(rules.max_steps).max(self.steps + 1)
    }
}

impl RayHalves {
    /// Takes a step: counts it, keeps its end if that is due, and returns whether it was the last.
    pub fn advance(
        &mut self,
        path: &mut HalfRay,
        step: &Step,
        rules: &HalfRayRules,
        gates: &RegionTests,
    ) -> Option<End> {
        let kept = |steps: u32| steps.is_multiple_of(rules.keep_every);
        let to = rules.world(step.end);
        let outside = || (!gates.allows(to)).then_some(StopReason::LeftMask);
        if let Some(reason) = step.verdict.or_else(outside) {
            // The step before was the last one; the seed itself is not among the points.
            if !kept(path.steps) {
                path.keep_point(rules.world(step.start), step.before);
            }
            self.record_measure(path, step.before);
            return Some(End::new(reason));
        }
        path.steps += 1;
        if let Some(end) = self.meet(path, step, rules, gates) {
            return Some(end);
        }
        if kept(path.steps) {
            path.keep_point(to, step.after);
        }
        let at_max = || (path.steps >= rules.max_steps).then_some(rules.at_max);
        let mut reason = at_max();
        if path.steps.is_multiple_of(rules.loop_steps) {
            let way = [0, 1, 2].map(|a| step.end[a] - path.looked[a]);
            let circles = rules.mm2(way) < rules.loop_mm2;
            reason = reason.or_else(|| circles.then_some(StopReason::Loop));
            path.looked = step.end;
        }
        let reason = reason?;
        if !kept(path.steps) {
            path.keep_point(to, step.after);
        }
        self.record_measure(path, step.after);
        Some(End::new(reason))
    }

    fn record_measure(&mut self, path: &HalfRay, [length_mm, riemann]: Lengths) {
        let half = &mut self.halves[path.half];
        (half.length_mm, half.riemann) = (length_mm, riemann);
    }

    /// Records the regions that a step meets; ends the half ray where it is cut.
    fn meet(
        &mut self,
        path: &mut HalfRay,
        step: &Step,
        rules: &HalfRayRules,
        gates: &RegionTests,
    ) -> Option<End> {
        if gates.gates.is_empty() {
            return None;
        }
        let half = &mut self.halves[path.half];
        let (from, to) = (rules.world(step.start), rules.world(step.end));
        let crossing = gates.crossed(from, to, |gate| half.met >> gate & 1 == 0);
        for gate in &crossing.met {
            half.met |= 1 << gate;
        }
        let (reason, target) = crossing.cut?;
        let share = crossing.cut_at as f32;
        let lengths = [0, 1].map(|i| step.before[i] + share * (step.after[i] - step.before[i]));
        path.keep_point(crossing.end(), lengths);
        self.record_measure(path, lengths);
        Some(End { reason, target })
    }

    /// Takes the points of a finished half ray.
    pub fn finish_half(&mut self, path: &mut HalfRay, end: End) {
        let half = &mut self.halves[path.half];
        half.first = self.points.len();
        half.count = path.points.len() as u32;
        half.steps = path.steps;
        half.reason = end.reason;
        half.target = end.target;
        self.points.append(&mut path.points);
        self.along.append(&mut path.along);
    }
}

impl End {
    pub fn new(reason: StopReason) -> Self {
        Self {
            reason,
            target: None,
        }
    }
}
