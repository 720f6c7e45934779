//! Which of the 24 ways to exchange and flip the axes of a gradient table is right.
//!
//! A table whose axes are exchanged or flipped gives tensors of the right shape that point the wrong
//! way: voxel by voxel nothing is amiss, but directions no longer continue from one voxel to the next.
//! So fibres are tracked through the whole brain with each (Jeurissen et al. 2014, Med Image Anal
//! 18:953) and the lengths are compared, times how well the directions of neighbours along a fibre agree
//! (Schilling et al. 2019, Magn Reson Imaging 58:82).
//!
//! Signals do not change when vectors are turned, and the fit only knows scalar products with them: the
//! tensors of the turned table are the turned tensors, QDQᵀ, to rounding. One fit serves all 24. FA does
//! not change either, so that every one starts from the same seeds.

use super::Error;
use super::curves::{self, Integrator, Interpolation, Match, Seeding};
use super::tensor_fit::eigen_symmetric;
use super::tracking::{principal_direction, track};
use crate::compute::{Backend, Control};
use crate::data::axis_change::AxisChange;
use crate::data::{Tensor, TensorField, Tractogram};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::sync::Arc;

#[derive(Clone, PartialEq, Debug)]
pub struct Params {
    /// Over the whole mask.
    pub seeds: usize,
    /// Fibres start, and neighbours are compared, where FA is at least this.
    pub min_fa: f64,
    /// Largest turn in a step of a voxel's half edge.
    pub max_angle_rad: f64,
    pub random_seed: u64,
}

impl Params {
    /// Enough fibres to make the mean length steady to a few percent, in a second or two.
    pub fn defaults() -> Self {
        Self {
            seeds: 3_000,
            min_fa: 0.2,
            max_angle_rad: 45f64.to_radians(),
            random_seed: 1,
        }
    }
}

/// One of the 24.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub turn: AxisChange,
    /// Over all seeds that start.
    pub mean_length_mm: f64,
    /// Mean |cos| between the directions of a voxel and of its neighbours along it: 0.5 by chance.
    pub coherence: f64,
    pub streamlines: Tractogram,
}

impl Candidate {
    /// What they are ranked by, mm.
    pub fn score(&self) -> f64 {
        self.mean_length_mm * self.coherence
    }
}

/// What the comparison says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    AsTheyAre,
    /// Another one is better by this factor of the score.
    Better(AxisChange, f64),
    /// The best are too near each other, or there is too little to track.
    Undecided,
}

#[derive(Clone, Debug)]
pub struct Output {
    /// The best first; all 24.
    pub ranked: Arc<[Candidate]>,
    /// Seeds that start.
    pub started: u64,
}

/// The best must lead the second by this factor of the score to be believed.
pub(super) const CLEAR: f64 = 1.05;
/// Fewer fibres say nothing.
pub(super) const LEAST_STARTED: u64 = 50;

impl Output {
    pub fn verdict(&self) -> Verdict {
        let [best, second, ..] = &*self.ranked else {
            return Verdict::Undecided;
        };
        let clear = best.score() > CLEAR * second.score();
        if self.started < LEAST_STARTED || !clear {
            return Verdict::Undecided;
        }
        if best.turn == AxisChange::NONE {
            return Verdict::AsTheyAre;
        }
        let now = self.ranked.iter().find(|c| c.turn == AxisChange::NONE);
        let now = now.map_or(0.0, Candidate::score);
        Verdict::Better(best.turn, best.score() / now.max(1e-9))
    }

    /// In one sentence.
    pub fn sentence(&self) -> String {
        match self.verdict() {
            Verdict::AsTheyAre => {
                "The gradient directions are right as they are: no exchanged or flipped axis gives longer \
                 and more coherent fibres"
                    .to_owned()
            }
            Verdict::Better(turn, factor) => format!(
                "The gradient directions seem wrong: with {} fibres get {factor:.1} times as long and \
                 coherent",
                turn.description()
            ),
            Verdict::Undecided => format!(
                "The gradient directions cannot be judged: the best two of {} ways are as good as each \
                 other",
                self.ranked.len()
            ),
        }
    }
}

/// Tracks with all 24 and ranks them.
pub fn check(
    field: &TensorField,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    let turns = AxisChange::all();
    control.begin("Comparing gradient axes", turns.len() as u64);
    // The threads of the backend's; on the CPU, where 24 short runs cost less than their transfer.
    let cpu = backend.cpu();
    let mut started = 0;
    let mut ranked = Vec::new();
    for turn in turns {
        control.check()?;
        let turned = cpu.install(|| turned(field, turn.in_world(&field.grid)));
        let judged = judge(&turned, params, &cpu, control)?;
        started = judged.started;
        ranked.push(Candidate {
            turn,
            mean_length_mm: judged.mean_length_mm,
            coherence: judged.coherence,
            streamlines: judged.streamlines,
        });
        control.advance(1);
    }
    // A stable order: of equals the first of the list, in which "as they are" leads.
    ranked.sort_by(|a, b| b.score().total_cmp(&a.score()));
    Ok(Output {
        ranked: ranked.into(),
        started,
    })
}

/// How far fibres get in a field, and how well it agrees with itself.
pub(super) struct FieldQuality {
    /// Over all seeds that start.
    pub mean_length_mm: f64,
    pub coherence: f64,
    pub streamlines: Tractogram,
    /// Seeds that start.
    pub started: u64,
}

pub(super) fn judge(
    field: &TensorField,
    params: &Params,
    cpu: &Backend,
    control: &Control,
) -> Result<FieldQuality, Error> {
    let step_mm = 0.5 * field.grid.spacing().min_element();
    let tracking = curves::Params {
        integrator: Integrator::Rk2,
        interpolation: Interpolation::Trilinear,
        seeding: Seeding::Random {
            count: params.seeds,
        },
        random_seed: params.random_seed,
        step_mm,
        max_angle_rad: Some(params.max_angle_rad),
        min_fa: Some(params.min_fa),
        min_length_mm: 0.0,
        max_length_mm: Some(250.0),
        max_steps: 10_000,
        targets: Match::Any,
        includes: Match::All,
        both_ways: true,
        deflection: None,
        repetitions: None,
    };
    let out = track(field, &[], &tracking, cpu, &control.silent())?;
    let started = out.fates.iter().sum::<u64>() - out.fates[curves::SeedOutcome::NoStart as usize];
    let streamlines = out.kept;
    let total: f64 = (0..streamlines.len())
        .map(|i| f64::from(streamlines.length_mm(i)))
        .sum();
    Ok(FieldQuality {
        mean_length_mm: total / started.max(1) as f64,
        coherence: cpu.install(|| coherence(field, params.min_fa)),
        streamlines,
        started,
    })
}

/// QDQᵀ in every voxel.
fn turned(field: &TensorField, q: DMat3) -> TensorField {
    if q.abs_diff_eq(DMat3::IDENTITY, 1e-12) {
        return field.clone();
    }
    let turn = |tensor: &Tensor| {
        if tensor.inside < 0.5 {
            return *tensor;
        }
        let m = q * tensor.matrix() * q.transpose();
        let [x, y, z] = [m.x_axis, m.y_axis, m.z_axis];
        Tensor::new([x.x, x.y, x.z, y.y, y.z, z.z].map(|v| v as f32))
    };
    let tensors: Vec<Tensor> = field.tensors.par_iter().map(turn).collect();
    TensorField::new(field.grid.clone(), tensors)
}

/// Mean |cos| between the principal directions of a voxel and of the two nearest to where its direction
/// points, a voxel away, where both have the FA.
fn coherence(field: &TensorField, min_fa: f64) -> f64 {
    let grid = &field.grid;
    let directions: Vec<Option<DVec3>> = field
        .tensors
        .par_iter()
        .map(|t| direction(t, min_fa))
        .collect();
    let reach = grid.spacing().max_element();
    let (sum, n) = (0..directions.len())
        .into_par_iter()
        .with_min_len(4096)
        .map(|i| {
            let Some(own) = directions[i] else {
                return (0.0, 0u64);
            };
            let here = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            let mut found = (0.0, 0);
            for side in [-1.0, 1.0] {
                let next = grid
                    .nearest(here + side * reach * own)
                    .map(|v| grid.index(v));
                if let Some(other) = next.filter(|&j| j != i).and_then(|j| directions[j]) {
                    found = (found.0 + own.dot(other).abs(), found.1 + 1);
                }
            }
            found
        })
        // In order of the voxels, so that every number of threads gives the same sum.
        .collect::<Vec<(f64, u64)>>()
        .into_iter()
        .fold((0.0, 0), |(s, n), (a, b)| (s + a, n + b));
    if n == 0 { 0.0 } else { sum / n as f64 }
}

fn direction(tensor: &Tensor, min_fa: f64) -> Option<DVec3> {
    if tensor.inside < 0.5 {
        return None;
    }
    let (values, _) = eigen_symmetric(tensor.d.map(f64::from));
    let mean = values.iter().sum::<f64>() / 3.0;
    let spread: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let square: f64 = values.iter().map(|v| v * v).sum();
    let fa = (1.5 * spread / square.max(1e-30)).sqrt();
    let along = principal_direction(tensor.d, [0.0; 3]).map(f64::from);
    (fa >= min_fa).then(|| DVec3::from_array(along))
}
