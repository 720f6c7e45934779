//! Selling's decomposition of W, once per metric.

use super::{FARTHEST_OFFSET, HYBRID_ANISOTROPY, LocalSolver, MAX_OFFSET, Metric, Prepared};
use crate::compute::{Cancelled, Control};
use crate::solvers::metric::{decompose, matrix};
use crate::solvers::tensor_fit::eigen_symmetric;
use glam::DVec3;
use rayon::prelude::*;

/// A term ρ e eᵀ of W.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Offset {
    /// Weight ρ, not negative.
    pub rho: f32,
    /// In voxels.
    pub e: [i8; 3],
    /// Whether the straight path to +e and to −e stays in the mask.
    pub open: [bool; 2],
}

/// At most six terms per voxel.
#[derive(Clone, Debug, Default)]
pub struct Selling {
    /// Index of each place's first term; empty if the local solver uses none.
    starts: Vec<u32>,
    terms: Vec<Offset>,
}

const CHUNK: usize = 1024;

impl Selling {
    pub fn new(
        metric: &Metric,
        local: LocalSolver,
        alone: bool,
        control: &Control,
    ) -> Result<Self, Cancelled> {
        if !local.uses_selling() {
            return Ok(Self::default());
        }
        if !alone {
            control.begin("Preparing steps", metric.len() as u64);
        }
        let chunks = metric.len().div_ceil(CHUNK);
        let parts: Vec<Vec<Vec<Offset>>> = (0..chunks)
            .into_par_iter()
            .with_min_len(if alone { usize::MAX } else { 1 })
            .map(|chunk| {
                control.check()?;
                let places = chunk * CHUNK..((chunk + 1) * CHUNK).min(metric.len());
                if !alone {
                    control.advance(places.len() as u64);
                }
                Ok(places.map(|place| terms(metric, local, place)).collect())
            })
            .collect::<Result<_, Cancelled>>()?;
        let mut out = Self {
            starts: Vec::with_capacity(metric.len() + 1),
            terms: Vec::new(),
        };
        out.starts.push(0);
        for terms in parts.into_iter().flatten() {
            out.terms.extend(terms);
            out.starts.push(out.terms.len() as u32);
        }
        Ok(out)
    }

    pub fn at(&self, place: usize) -> &[Offset] {
        match self.starts.get(place..place + 2) {
            Some(&[from, to]) => &self.terms[from as usize..to as usize],
            _ => &[],
        }
    }
}

/// The terms that a voxel uses.
pub fn terms(metric: &Metric, local: LocalSolver, place: usize) -> Vec<Offset> {
    let w = metric.speed[place].map(f64::from);
    let longest = match local {
        LocalSolver::Hybrid => {
            let (values, _) = eigen_symmetric(w);
            if values[0] > HYBRID_ANISOTROPY * HYBRID_ANISOTROPY * values[2] {
                return Vec::new();
            }
            MAX_OFFSET
        }
        _ => FARTHEST_OFFSET,
    };
    let voxel = metric.voxel(place);
    let used = decompose(&matrix(&w)).into_iter().filter_map(|(rho, e)| {
        let length = e.iter().map(|c| c.abs()).max().unwrap_or(0);
        if !(rho > 0.0) || length == 0 || length > longest {
            return None;
        }
        let ways = [1, -1].map(|sign| e.map(|c| i64::from(sign * c)));
        let open = ways.map(|way| metric.line_is_inside(voxel, way));
        let dearer = match local {
            LocalSolver::Hybrid => cost_ratio(metric, place, ways, open),
            _ => 1.0,
        };
        (open[0] || open[1]).then(|| Offset {
            rho: (rho / (dearer * dearer)) as f32,
            e: e.map(|c| c as i8),
            open,
        })
    });
    used.collect()
}

/// The ratio of a step's cost along its way to its cost in the metric of the voxel itself: that of the more expensive
/// open way, at least 1. The lower value of two schemes wins, and so does an error that makes it too low: a step of
/// several voxels that starts within a bundle and leaves it would be charged as if the bundle continued. Where the
/// metric is constant along the step nothing changes, and the ratio approaches 1 as voxels shrink.
fn cost_ratio(metric: &Metric, place: usize, ways: [[i64; 3]; 2], open: [bool; 2]) -> f64 {
    let open = ways.into_iter().zip(open).filter(|(_, open)| *open);
    open.map(|(way, _)| ratio_along(metric, place, way))
        .fold(1.0, f64::max)
}

/// The ratio of a step's cost along one way to its cost in the metric of the voxel itself.
fn ratio_along(metric: &Metric, place: usize, way: [i64; 3]) -> f64 {
    let d = DVec3::from_array(way.map(|c| c as f64));
    let (mut sum, mut pieces) = (0.0, 0u32);
    for (_, cost) in pieces_along(metric, place, way) {
        sum += cost;
        pieces += 1;
    }
    sum / f64::from(pieces) / metric.step_cost(place, d)
}

/// The voxels along a way from a place, half a voxel at a time, and the cost of the whole way in the metric of each.
fn pieces_along(
    metric: &Metric,
    place: usize,
    way: [i64; 3],
) -> impl Iterator<Item = (usize, f64)> {
    let voxel = metric.voxel(place);
    let d = DVec3::from_array(way.map(|c| c as f64));
    let pieces = 2 * way.iter().map(|c| c.abs()).max().unwrap_or(0);
    (0..pieces).map(move |i| {
        let t = (i as f64 + 0.5) / pieces as f64;
        let at = [0, 1, 2].map(|a| voxel[a] + (way[a] as f64 * t).round() as i64);
        let at = metric.place_of(at).unwrap_or(place);
        (at, metric.step_cost(at, d))
    })
}

/// Splits the cost of a step among the voxels that determine it: those along the costlier open way where the hybrid
/// scheme charges the cost along it, otherwise the voxel itself.
pub fn charge(
    prepared: &Prepared,
    place: usize,
    step: [i64; 3],
    amount: f64,
    keep: &mut impl FnMut(usize, f64),
) {
    let metric = &prepared.metric;
    let back = step.map(|c| -c);
    let is_of = |term: &&Offset| {
        let e = term.e.map(i64::from);
        e == step || e == back
    };
    let term = match prepared.local {
        LocalSolver::Hybrid => prepared.offsets(place).iter().find(is_of).copied(),
        _ => None,
    };
    let ways = term.into_iter().flat_map(|term| {
        let e = term.e.map(i64::from);
        let ways = [e, e.map(|c| -c)].into_iter().zip(term.open);
        ways.filter(|(_, open)| *open).map(|(way, _)| way)
    });
    let dearer = ways
        .map(|way| (ratio_along(metric, place, way), way))
        .filter(|(ratio, _)| *ratio > 1.0)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((_, way)) = dearer else {
        keep(place, amount);
        return;
    };
    let total: f64 = pieces_along(metric, place, way).map(|(_, cost)| cost).sum();
    for (at, cost) in pieces_along(metric, place, way) {
        keep(at, amount * cost / total);
    }
}
