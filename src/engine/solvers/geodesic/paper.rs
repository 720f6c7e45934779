//! The papers' form (van Aart 2010, algorithm 3; van Aart et al. 2011, eq. 3): x″ᶜ = −Γᶜₐᵦ x′ᵃ x′ᵇ,
//! with D and the three derivatives of G = D⁻¹ interpolated as four fields.
//!
//! Γ is constant during a step, so that the step is of first order along the path; the four fields are not
//! derivatives of one another, so that x′ᵀ G x′ drifts at any step size. Steps have equal parameter: they have the
//! requested length only where the ray starts, and a ray ends where one would be longer than a voxel's shortest edge
//! and than four times the requested step: after such a leap the ray would be independent of what it skipped. For
//! comparison only.

use super::Params;
use super::half_ray::{End, HalfRay, HalfRayRules, RayHalves, Step};
use super::ray_metric::{FA, RayMetric};
use super::start::Start;
use crate::compute::{Cancelled, Control};
use crate::solvers::curves::StopReason;
use crate::solvers::curves::cells::{INSIDE, Record};
use crate::solvers::curves::half_queue::PENDING;
use crate::solvers::curves::regions::RegionTests;
use rayon::prelude::*;

/// A symmetric matrix: xx xy xz yy yz zz.
type Symmetric = [f64; 6];

/// The pairs (a, b) of the components of a symmetric matrix.
pub const PAIRS: [(usize, usize); 6] = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];

/// The component of a symmetric matrix at a row and column.
fn component(row: usize, column: usize) -> usize {
    [[0, 1, 2], [1, 3, 4], [2, 4, 5]][row][column]
}

/// The 18 Christoffel symbols Γᶜₐᵦ = ½ Dᶜˢ (∂ₐGᵦₛ + ∂ᵦGₐₛ − ∂ₛGₐᵦ), by c, then by the pairs (a, b) of [`PAIRS`], from
/// D = G⁻¹ and the derivatives of G along the three axes.
pub fn christoffel(d: Symmetric, dg: [Symmetric; 3]) -> [Symmetric; 3] {
    let mut symbols = [[0.0; 6]; 3];
    for (pair, (a, b)) in PAIRS.into_iter().enumerate() {
        let lowered = [0, 1, 2].map(|s| {
            0.5 * (dg[a][component(b, s)] + dg[b][component(a, s)] - dg[s][component(a, b)])
        });
        for (c, symbol) in symbols.iter_mut().enumerate() {
            symbol[pair] = (0..3).map(|s| d[component(c, s)] * lowered[s]).sum();
        }
    }
    symbols
}

fn inverse([xx, xy, xz, yy, yz, zz]: Symmetric) -> Symmetric {
    let (a, b, c) = (yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy);
    let determinant = xx * a + xy * b + xz * c;
    [
        a,
        b,
        c,
        xx * zz - xz * xz,
        xy * xz - xx * yz,
        xx * yy - xy * xy,
    ]
    .map(|v| v / determinant)
}

/// The four fields.
pub struct Fields<'a> {
    metric: &'a RayMetric,
    /// ∂G along the three voxel axes at every sample.
    slopes: Vec<[[f32; 6]; 3]>,
}

impl<'a> Fields<'a> {
    /// Central differences of the samples' inverses, one-sided where a neighbour is missing.
    pub fn new(metric: &'a RayMetric, control: &Control) -> Result<Self, Cancelled> {
        let records = &metric.records;
        let metric_at = |i: usize| -> Option<Symmetric> {
            let d: Symmetric = std::array::from_fn(|k| f64::from(records[i][k]));
            (d[0] > 0.0).then(|| inverse(d))
        };
        let [nx, ny, nz] = metric.shape;
        let strides = [1, nx, nx * ny];
        let at = |i: usize| {
            let voxel = [i % nx, i / nx % ny, i / (nx * ny)];
            let here = metric_at(i);
            [0, 1, 2].map(|axis| {
                let n = [nx, ny, nz][axis];
                let low = (voxel[axis] > 0)
                    .then(|| metric_at(i - strides[axis]))
                    .flatten();
                let high = (voxel[axis] + 1 < n)
                    .then(|| metric_at(i + strides[axis]))
                    .flatten();
                let width = f64::from(u8::from(low.is_some()) + u8::from(high.is_some()));
                match (low.or(here), high.or(here)) {
                    (Some(low), Some(high)) if width > 0.0 => {
                        std::array::from_fn(|k| ((high[k] - low[k]) / width) as f32)
                    }
                    _ => [0.0; 6],
                }
            })
        };
        let slopes = (0..records.len()).into_par_iter().map(at).collect();
        control.check()?;
        Ok(Self { metric, slopes })
    }

    /// The record and ∂G at voxel coordinates; `None` outside the volume.
    fn at(&self, x: [f32; 3]) -> Option<(Record, [[f32; 6]; 3])> {
        let metric = self.metric;
        let faces = metric.field.grid.shape.map(|n| n as f32 - 0.5);
        if !(0..3).all(|a| x[a] >= -0.5 && x[a] <= faces[a]) {
            return None;
        }
        let (mut cell, mut t) = ([0; 3], [0.0; 3]);
        for a in 0..3 {
            let last = (metric.shape[a] - 1) as f32;
            let v = x[a].clamp(0.0, last);
            let low = v.floor().min(last - 1.0);
            (cell[a], t[a]) = (low as usize, v - low);
        }
        let [sy, sz] = metric.strides();
        let mut record = [0.0; 8];
        let mut slopes = [[0.0; 6]; 3];
        for corner in 0..8 {
            let [i, j, k] = [corner & 1, corner >> 1 & 1, corner >> 2];
            let share = |t: f32, upper: usize| if upper == 1 { t } else { 1.0 - t };
            let weight = share(t[0], i) * share(t[1], j) * share(t[2], k);
            let index = cell[0] + i + sy * (cell[1] + j) + sz * (cell[2] + k);
            for (sum, value) in record.iter_mut().zip(metric.records[index]) {
                *sum += weight * value;
            }
            let all = self.slopes[index].as_flattened();
            for (sum, value) in slopes.as_flattened_mut().iter_mut().zip(all) {
                *sum += weight * value;
            }
        }
        Some((record, slopes))
    }
}

/// x″ of a ray with velocity v.
fn acceleration(symbols: &[Symmetric; 3], v: [f64; 3]) -> [f64; 3] {
    symbols.map(|symbol| {
        let pairs = PAIRS.into_iter().zip(symbol);
        let term = |((a, b), gamma): ((usize, usize), f64)| {
            let twice = if a == b { 1.0 } else { 2.0 };
            twice * gamma * v[a] * v[b]
        };
        -pairs.map(term).sum::<f64>()
    })
}

/// Follows the rays one after the other.
pub fn follow(
    fields: &Fields,
    rules: &HalfRayRules,
    region_tests: &RegionTests,
    starts: &[Start],
    params: &Params,
    control: &Control,
) -> Result<RayHalves, Cancelled> {
    let senses: &[f32] = if params.curves.both_ways {
        &[1.0, -1.0]
    } else {
        &[1.0]
    };
    let mut halves = RayHalves::default();
    for start in starts {
        for &sense in senses {
            control.check()?;
            let half = halves.halves.len();
            halves.halves.push(rules.at_seed(start.x, region_tests));
            if halves.halves[half].reason == PENDING {
                let mut path = HalfRay::new(half, start.x);
                let end = follow_one(
                    control,
                    fields,
                    rules,
                    region_tests,
                    start,
                    sense,
                    &mut path,
                    &mut halves,
                )?;
                halves.finish_half(&mut path, end);
            }
        }
    }
    Ok(halves)
}

/// Steps between two checks for cancellation.
const STEPS_PER_LOOK: u32 = 4096;

#[allow(
    clippy::too_many_arguments,
    reason = "one each for the data and rules that it reads and the path that it writes"
)]
fn follow_one(
    control: &Control,
    fields: &Fields,
    rules: &HalfRayRules,
    region_tests: &RegionTests,
    start: &Start,
    sense: f32,
    path: &mut HalfRay,
    halves: &mut RayHalves,
) -> Result<End, Cancelled> {
    let h = f64::from(rules.step_mm);
    let mut x = start.x;
    let Some(mut here) = fields.at(x) else {
        return Ok(End::new(StopReason::LeftVolume));
    };
    // v = D p, of length 1 mm at its start.
    let d: Symmetric = std::array::from_fn(|k| f64::from(here.0[k]));
    let p = start.p.map(|c| f64::from(sense * c));
    let mut v = product(&d, p);
    let speed = f64::from(rules.mm2(v.map(|c| c as f32))).sqrt();
    v = v.map(|c| c / speed);
    let (mut length_mm, mut riemann) = (0.0f64, 0.0f64);
    let mut before = v;
    let mut taken = 0u32;
    loop {
        if taken.is_multiple_of(STEPS_PER_LOOK) {
            control.check()?;
        }
        taken = taken.wrapping_add(1);
        let (record, slopes) = &here;
        let d: Symmetric = std::array::from_fn(|k| f64::from(record[k]));
        let symbols = christoffel(d, slopes.map(|s| s.map(f64::from)));
        let first = acceleration(&symbols, v);
        let middle = [0, 1, 2].map(|a| v[a] + 0.5 * h * first[a]);
        let second = acceleration(&symbols, middle);
        let next = [0, 1, 2].map(|a| x[a] + (h * middle[a]) as f32);
        let ahead = [0, 1, 2].map(|a| v[a] + h * second[a]);
        let lengths = [length_mm, riemann];
        let speed2 = rules.mm2(middle.map(|c| c as f32));
        length_mm += h * f64::from(speed2).sqrt();
        let lowered = product(&inverse(d), middle);
        riemann += h * (0..3).map(|a| lowered[a] * middle[a]).sum::<f64>().sqrt();
        let at_next = fields.at(next);
        let turn = rules.cos(before.map(|c| c as f32), middle.map(|c| c as f32));
        let verdict = match &at_next {
            None => Some(StopReason::LeftVolume),
            Some((r, _)) if !(r[INSIDE] >= 0.5) => Some(StopReason::LeftMask),
            Some((r, _)) if rules.min_level >= 0.0 && !(r[FA] >= rules.min_level) => {
                Some(StopReason::LowFa)
            }
            _ if !(riemann >= lengths[1]) => Some(StopReason::Indefinite),
            _ if !(turn >= rules.min_cos) => Some(StopReason::Angle),
            _ if !(speed2 <= rules.leap) => Some(StopReason::Leap),
            _ => None,
        };
        let step = Step {
            start: x,
            end: next,
            before: lengths.map(|l| l as f32),
            after: [length_mm as f32, riemann as f32],
            verdict,
        };
        if let Some(end) = halves.advance(path, &step, rules, region_tests) {
            return Ok(end);
        }
        let Some(at_next) = at_next else {
            return Ok(End::new(StopReason::LeftVolume));
        };
        (x, v, here, before) = (next, ahead, at_next, middle);
    }
}

fn product(d: &Symmetric, v: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|row| (0..3).map(|c| d[component(row, c)] * v[c]).sum())
}
