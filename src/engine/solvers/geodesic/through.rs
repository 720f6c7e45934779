//! Rays from each seed to one point, which begin Newton's method ([`super::two_point`]) in the directions in which the
//! cheapest path of the same metric leaves the seed.

use super::error::InputError;
use super::half_ray::{HalfRay, HalfRayRules, RayHalves, Step};
use super::join::JoinRules;
use super::ray_metric::{FA, RayMetric, Sharpening};
use super::start::{sampled, starts};
use super::two_point::{Accuracy, Connection, Medium, NotConnected, connect};
use super::{Directions, Output, Params};
use crate::compute::{Backend, Cancelled, Control};
use crate::data::{Grid, Region, Role};
use crate::solvers::Error;
use crate::solvers::curves::cells::INSIDE;
use crate::solvers::curves::collect::{JoinedCurves, gather};
use crate::solvers::curves::half_queue::PENDING;
use crate::solvers::curves::memory_budget::MemoryBudget;
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::curves::seeding::Seeds;
use crate::solvers::curves::{SeedOutcome, StopReason};
use crate::solvers::eikonal::{self, CostField, CostSource, LocalSolver, Prepared, solve_alone};
use crate::solvers::metric::{self, Metric};
use crate::solvers::pathway::{self, Path};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Largest distance of the end of a ray from its point, mm.
const END_MM: f64 = 1e-3;
/// Largest distance of the end of a ray to a point along the cheapest path, mm: its direction begins the next search.
const NEAR_MM: f64 = 0.05;
/// Lengths of the cheapest path whose direction begins Newton's method, mm.
const CHORDS_MM: [f64; 3] = [4.0, 12.0, f64::INFINITY];
/// Distance between points along the cheapest path to which rays are found one after the other, mm.
const WAYPOINTS_MM: f64 = 8.0;
/// Seeds of a part of the work.
const SEEDS: usize = 8;
/// Tolerance of the costs of cheapest paths: a guess needs no better one.
const TOLERANCE: f32 = 1e-3;

/// The tensors of a ray metric in the world.
struct WorldTensors<'a> {
    metric: &'a RayMetric,
    to_world: DMat3,
    to_voxel: DMat3,
}

impl<'a> WorldTensors<'a> {
    fn new(metric: &'a RayMetric) -> Self {
        let grid = &metric.field.grid;
        Self {
            metric,
            to_world: grid.world_from_voxel.matrix3,
            to_voxel: grid.voxel_from_world.matrix3,
        }
    }
}

fn matrix([xx, xy, xz, yy, yz, zz, ..]: &[f64; 8]) -> DMat3 {
    DMat3::from_cols(
        DVec3::new(*xx, *xy, *xz),
        DVec3::new(*xy, *yy, *yz),
        DVec3::new(*xz, *yz, *zz),
    )
}

impl Medium for WorldTensors<'_> {
    fn tensor(&self, at: DVec3) -> (DMat3, [DMat3; 3]) {
        let (value, slopes) = sampled(self.metric, self.metric.field.grid.voxel_at(at));
        let turned = |d: DMat3| self.to_world * d * self.to_world.transpose();
        let slopes = slopes.map(|slope| turned(matrix(&slope)));
        // ∂/∂x of the world: the voxel axes in the columns of the matrix to voxels.
        let along = |axis: DVec3| slopes[0] * axis.x + slopes[1] * axis.y + slopes[2] * axis.z;
        let axes = [
            self.to_voxel.x_axis,
            self.to_voxel.y_axis,
            self.to_voxel.z_axis,
        ];
        (turned(matrix(&value)), axes.map(along))
    }
}

/// The least costs from the point, from which cheapest paths lead to it.
fn costs(
    metric: &RayMetric,
    point: DVec3,
    backend: &Backend,
    control: &Control,
) -> Result<CostField, Error> {
    let alpha = match metric.sharpening {
        Sharpening::Power { alpha } => alpha,
        Sharpening::Paper { .. } => 1.0,
    };
    let params = metric::Params::sharpened(alpha);
    let cheap = Metric::new(&metric.field, &params, None, backend, control)?;
    let voxel = metric.field.grid.voxel_at(point).round();
    let place = cheap.place_of(voxel.to_array().map(|c| c as i64));
    let place = place.ok_or(InputError::PointOutside(point.to_array()))?;
    // On one thread: the guesses, and with them the last bits of the rays, must not depend on the number of threads.
    let prepared = Prepared::alone(&cheap, LocalSolver::HopfLax26, control)?;
    let source = backend.install(|| CostSource::places(&cheap, "the point", vec![place as u32]));
    let params = eikonal::Params {
        tolerance: TOLERANCE,
        schedule: None,
    };
    let mut fields = solve_alone(&prepared, &[Arc::new(source)], &params, control)?;
    match fields.pop() {
        Some(field) => Ok(field),
        None => Err(InputError::PointOutside(point.to_array()).into()),
    }
}

/// Traces a ray from each seed to a point.
pub fn trace_through(
    metric: &RayMetric,
    regions: &[Region],
    (params, point): (&Params, DVec3),
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    let backend = &backend.cpu();
    let field = costs(metric, point, backend, control)?;
    // The point takes the place of targets, and of what ends rays elsewhere.
    let gating = |region: &&Region| !matches!(region.role, Role::Target | Role::Terminate);
    let regions: Vec<Region> = regions.iter().filter(gating).cloned().collect();
    let mut params = params.clone();
    params.directions = Directions::Principal;
    params.curves.both_ways = false;
    let work = || {
        joined(
            metric,
            &regions,
            (&params, point),
            (memory, &field),
            control,
        )
    };
    backend.install(work)
}

fn joined(
    metric: &RayMetric,
    regions: &[Region],
    (params, point): (&Params, DVec3),
    (memory, field): (Option<u64>, &CostField),
    control: &Control,
) -> Result<Output, Error> {
    let grid = &metric.field.grid;
    let seeds = Seeds::new(&metric.field, regions, &params.curves, control)?;
    let gates = RegionTests::new(regions, 2.0 * params.curves.step_mm, &params.curves);
    let tracing = Tracing {
        medium: WorldTensors::new(metric),
        grid,
        field,
        point,
        gates: &gates,
        params,
        rules: HalfRayRules::new(grid, params, params.curves.min_fa),
        missed: AtomicU64::new(0),
        nearest_um: AtomicU64::new(u64::MAX),
    };
    let budget = MemoryBudget::new("rays", seeds.len(), memory, control);
    control.begin("Rays through the point", seeds.len() as u64);
    let part = |part: usize| {
        let mut joined = JoinedCurves::new(&gates);
        let own = part * SEEDS..seeds.len().min((part + 1) * SEEDS);
        let count = own.len() as u64;
        for seed in own {
            control.check()?;
            tracing.add(seed, seeds.point(seed), &mut joined)?;
        }
        budget.count(count, count, [&joined])?;
        Ok(joined)
    };
    let parts: Result<Vec<_>, Error> = (0..seeds.len().div_ceil(SEEDS))
        .into_par_iter()
        .map(part)
        .collect();
    let output = gather(parts?, &gates, true)?;
    let missed = tracing.missed.into_inner();
    if output.kept.is_empty() && missed > 0 {
        let nearest = tracing.nearest_um.into_inner();
        let nearest_mm = (nearest < u64::MAX).then_some(nearest as f64 * 1e-3);
        return Err(InputError::NotThrough {
            seeds: missed,
            nearest_mm,
        }
        .into());
    }
    Ok(Output {
        rays: Arc::new(output),
        seeds: seeds.len() as u64,
        directions: 1,
        kernel_s: None,
        gather_s: None,
    })
}

/// Inputs and counts that all seeds share.
struct Tracing<'a> {
    medium: WorldTensors<'a>,
    grid: &'a Grid,
    field: &'a CostField,
    point: DVec3,
    gates: &'a RegionTests<'a>,
    params: &'a Params,
    rules: HalfRayRules,
    /// Seeds without a ray.
    missed: AtomicU64,
    /// The nearest end of a ray of these, µm.
    nearest_um: AtomicU64,
}

impl Tracing<'_> {
    /// Adds the ray of a seed point.
    fn add(&self, seed: usize, at: [f32; 3], joined: &mut JoinedCurves) -> Result<(), Cancelled> {
        if starts(self.medium.metric, self.gates, self.params, at).is_none() {
            joined.no_start(1);
            return Ok(());
        }
        let from = DVec3::from_array(at.map(f64::from));
        let found = match self.connection(from) {
            Ok(found) => found,
            Err(NotConnected { miss_mm }) => {
                let um = (miss_mm * 1e3).min(1e15) as u64;
                if miss_mm.is_finite() {
                    self.nearest_um.fetch_min(um, Ordering::Relaxed);
                }
                self.miss(joined);
                return Ok(());
            }
        };
        let (halves, has_arrived) = self.half(from, &found);
        if !has_arrived {
            self.miss(joined);
            return Ok(());
        }
        let rules = JoinRules::new(self.gates, &self.params.curves);
        joined.add_ray((seed, seed as u32), at, &halves, 0, &rules);
        Ok(())
    }

    fn miss(&self, joined: &mut JoinedCurves) {
        self.missed.fetch_add(1, Ordering::Relaxed);
        joined.seed_outcomes[SeedOutcome::MissedTargets as usize] += 1;
    }

    /// The ray from a seed to the point; the first that is found from the directions of the cheapest path, else by
    /// moving along that path.
    fn connection(&self, from: DVec3) -> Result<Connection, NotConnected> {
        let accuracy = Accuracy {
            step_mm: self.params.curves.step_mm,
            end_mm: END_MM,
        };
        let ends = [from, self.point];
        let path = self.path(from);
        let mut nearest = NotConnected {
            miss_mm: f64::INFINITY,
        };
        for chord_mm in CHORDS_MM {
            let Some(towards) = path.point_at(chord_mm) else {
                continue;
            };
            let guess = (towards - from).normalize_or_zero() * path.total_mm();
            match connect(&self.medium, ends, guess, accuracy) {
                Ok(found) => return Ok(found),
                Err(failed) if failed.miss_mm < nearest.miss_mm => nearest = failed,
                Err(_) => {}
            }
        }
        self.along(from, &path, accuracy).ok_or(nearest)
    }

    /// The cheapest path to the point, or the straight line if there is none.
    fn path(&self, from: DVec3) -> Path {
        let voxel = self.grid.voxel_at(from).round();
        let place = self
            .field
            .prepared
            .metric
            .place_of(voxel.to_array().map(|c| c as i64));
        let traced = place.and_then(|place| pathway::trace(self.field, place));
        let mut points = traced.unwrap_or_default();
        // It joins the centres of voxels.
        let (low, high) = (1.min(points.len()), points.len().saturating_sub(1));
        let inner = points.drain(low..high.max(low));
        let all: Vec<DVec3> = std::iter::once(from)
            .chain(inner)
            .chain([self.point])
            .collect();
        let as_f32: Vec<[f32; 3]> = all.iter().map(|at| at.as_vec3().to_array()).collect();
        Path::of_streamline(&as_f32)
    }

    /// Finds rays to points along the path, one after the other, each from the direction of the one before.
    fn along(&self, from: DVec3, path: &Path, accuracy: Accuracy) -> Option<Connection> {
        let total_mm = path.total_mm();
        let count = (total_mm / WAYPOINTS_MM).ceil().max(2.0);
        let near = Accuracy {
            end_mm: NEAR_MM,
            ..accuracy
        };
        let first = path.point_at(total_mm / count)?;
        let mut direction = (first - from).normalize_or_zero();
        for number in 1..count as usize {
            let mm = total_mm * number as f64 / count;
            let to = path.point_at(mm)?;
            let found = connect(&self.medium, [from, to], direction * mm, near).ok()?;
            direction = found.direction;
        }
        let guess = direction * total_mm;
        connect(&self.medium, [from, self.point], guess, accuracy).ok()
    }

    /// The ray as the tests of regions and limits see it; whether it arrives at the point.
    fn half(&self, from: DVec3, found: &Connection) -> (RayHalves, bool) {
        let voxel = |world: DVec3| self.grid.voxel_at(world).as_vec3().to_array();
        let mut halves = RayHalves::default();
        let start = voxel(from);
        let half = self.rules.at_seed(start, self.gates);
        let begins = half.reason == PENDING;
        halves.halves.push(half);
        if !begins {
            return (halves, false);
        }
        let mut path = HalfRay::new(0, start);
        let steps = found.points.len() - 1;
        let lengths = |i: usize| {
            let mm = found.length_mm * i as f64 / steps as f64;
            [mm as f32, found.riemann[i] as f32]
        };
        let mut before = start;
        let mut last_way = None;
        for i in 1..=steps {
            let at = voxel(found.points[i]);
            let way = [0, 1, 2].map(|a| at[a] - before[a]);
            let turn = last_way.map_or(1.0, |last| self.rules.cos(last, way));
            let step = Step {
                start: before,
                end: at,
                before: lengths(i - 1),
                after: lengths(i),
                verdict: self.verdict(found.points[i], turn),
            };
            if let Some(end) = halves.advance(&mut path, &step, &self.rules, self.gates) {
                halves.finish_half(&mut path, end);
                return (halves, false);
            }
            (before, last_way) = (at, Some(way));
        }
        let arrival = Step {
            start: before,
            end: before,
            before: lengths(steps),
            after: lengths(steps),
            verdict: Some(StopReason::ReachedTarget),
        };
        if let Some(end) = halves.advance(&mut path, &arrival, &self.rules, self.gates) {
            halves.finish_half(&mut path, end);
        }
        (halves, true)
    }

    /// Why a ray does not pass a point, if it does not.
    fn verdict(&self, at: DVec3, turn: f32) -> Option<StopReason> {
        let voxel = self.grid.voxel_at(at);
        let shape = self.grid.shape;
        let inside = (0..3).all(|a| voxel[a] >= -0.5 && voxel[a] <= shape[a] as f64 - 0.5);
        if !inside {
            return Some(StopReason::LeftVolume);
        }
        let (record, _) = sampled(self.medium.metric, voxel);
        if record[INSIDE] < 0.5 {
            return Some(StopReason::LeftMask);
        }
        if record[FA] < f64::from(self.rules.min_level) {
            return Some(StopReason::LowFa);
        }
        (turn < self.rules.min_cos).then_some(StopReason::Angle)
    }
}
