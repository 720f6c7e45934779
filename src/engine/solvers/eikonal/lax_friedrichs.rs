//! Lax–Friedrichs sweeping (Kao, Osher and Qian 2004, J Comput Phys 196:367), with which Jeong et al. 2007 compare their
//! solver in Table 1. It is a comparator for measurements: it smooths costs, needs many sweeps and uses one thread.
//!
//! *Update.* With central differences pₐ = (u₊ − u₋) / 2 along each axis a, H(p) = √(pᵀ W p) and the artificial viscosity
//! σₐ = max √Wₐₐ ≥ |∂H/∂pₐ|, a voxel takes u = (1 − H(p) + Σ σₐ (u₊ + u₋) / 2) / Σ σₐ if that is less than its value
//! (W is in voxel axes, where voxels are 1 apart). Beyond the mask, u continues linearly, but does not fall.
//! Gauss–Seidel sweeps alternate between the eight directions through the grid.

use super::{CostSource, Error};
use crate::compute::{Control, memory};
use crate::solvers::metric::Metric;

/// Costs by Lax–Friedrichs sweeping.
#[derive(Clone, PartialEq, Debug)]
pub struct Swept {
    /// By place in the metric; infinity where no path leads.
    pub values: Vec<f32>,
    /// Sweeps through all voxels.
    pub sweeps: usize,
    /// Whether the last eight sweeps changed no value by more than the tolerance.
    pub has_converged: bool,
}

const NONE: u32 = u32::MAX;
/// Larger than any cost.
const LARGE: f64 = 1e12;

/// Sweeps until no value changes by more than `tolerance` in eight sweeps, or at most this many times.
pub fn lax_friedrichs(
    metric: &Metric,
    source: &CostSource,
    tolerance: f64,
    max_sweeps: usize,
    control: &Control,
) -> Result<Swept, Error> {
    let n = metric.len();
    memory::claim_for::<f64>("Lax–Friedrichs sweeping", n, 1)?;
    let shape = metric.grid.shape;
    let mut place_of = vec![NONE; metric.grid.voxel_count()];
    for (place, voxel) in (0..).zip(metric.voxels.iter()) {
        place_of[*voxel as usize] = place;
    }
    let mut values = vec![LARGE; n];
    let mut is_seed = vec![false; n];
    for seed in &source.seeds {
        values[seed.place as usize] = f64::from(seed.value);
        is_seed[seed.place as usize] = true;
    }
    let diagonal = |axis: usize| {
        metric
            .speed
            .iter()
            .map(move |w| f64::from(w[[0, 3, 5][axis]]))
    };
    let viscosity = [0, 1, 2].map(|axis| diagonal(axis).fold(0.0, f64::max).sqrt());
    control.begin("Sweeping", 0);
    let (mut sweeps, mut changed) = (0, f64::INFINITY);
    while sweeps < max_sweeps {
        control.check()?;
        if sweeps.is_multiple_of(8) {
            if changed <= tolerance {
                break;
            }
            changed = 0.0;
        }
        let is_reversed = [0, 1, 2].map(|axis| sweeps >> axis & 1 == 1);
        let at = |axis: usize, i: usize| match is_reversed[axis] {
            true => shape[axis] - 1 - i,
            false => i,
        };
        for k in 0..shape[2] {
            for j in 0..shape[1] {
                for i in 0..shape[0] {
                    let voxel = [at(0, i), at(1, j), at(2, k)];
                    let place = place_of[metric.grid.index(voxel)];
                    if place == NONE || is_seed[place as usize] {
                        continue;
                    }
                    let place = place as usize;
                    let own = values[place];
                    let around = neighbours(voxel, shape, own, &place_of, &values);
                    let new = updated(&metric.speed[place], &viscosity, own, around);
                    if new < own {
                        changed = changed.max(own - new);
                        values[place] = new;
                    }
                }
            }
        }
        sweeps += 1;
        control.advance(1);
    }
    let reached = |value: &f64| {
        if *value < 0.5 * LARGE {
            *value as f32
        } else {
            f32::INFINITY
        }
    };
    Ok(Swept {
        values: values.iter().map(reached).collect(),
        sweeps,
        has_converged: changed <= tolerance,
    })
}

/// The values before and behind a voxel along each axis; `None` along an axis without any neighbour.
fn neighbours(
    voxel: [usize; 3],
    shape: [usize; 3],
    own: f64,
    place_of: &[u32],
    values: &[f64],
) -> [Option<[f64; 2]>; 3] {
    let strides = [1, shape[0], shape[0] * shape[1]];
    let index: usize = (0..3).map(|axis| voxel[axis] * strides[axis]).sum();
    let known = |index: usize| match place_of[index] {
        NONE => None,
        place => Some(values[place as usize]),
    };
    [0, 1, 2].map(|axis| {
        let before = (voxel[axis] > 0)
            .then(|| known(index - strides[axis]))
            .flatten();
        let is_last = voxel[axis] + 1 == shape[axis];
        let behind = (!is_last).then(|| known(index + strides[axis])).flatten();
        let beyond = |other: f64| (2.0 * own - other).max(other);
        match (before, behind) {
            (None, None) => None,
            (Some(a), Some(b)) => Some([a, b]),
            (Some(a), None) => Some([a, beyond(a)]),
            (None, Some(b)) => Some([beyond(b), b]),
        }
    })
}

fn updated(w: &[f32; 6], viscosity: &[f64; 3], own: f64, neighbours: [Option<[f64; 2]>; 3]) -> f64 {
    let p = neighbours.map(|pair| pair.map_or(0.0, |[a, b]| 0.5 * (b - a)));
    let mean = neighbours.map(|pair| pair.map_or(own, |[a, b]| 0.5 * (a + b)));
    let [xx, xy, xz, yy, yz, zz] = w.map(f64::from);
    let square = xx * p[0] * p[0]
        + yy * p[1] * p[1]
        + zz * p[2] * p[2]
        + 2.0 * (xy * p[0] * p[1] + xz * p[0] * p[2] + yz * p[1] * p[2]);
    let smoothed: f64 = (0..3).map(|axis| viscosity[axis] * mean[axis]).sum();
    (1.0 - square.max(0.0).sqrt() + smoothed) / viscosity.iter().sum::<f64>()
}
