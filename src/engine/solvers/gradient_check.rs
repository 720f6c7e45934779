//! Finds which of the 24 exchanges and flips of a gradient table's axes is right.
//!
//! A table with exchanged or flipped axes gives tensors of the right shape with the wrong direction: single voxels
//! look normal, but directions do not continue from one voxel to the next. Streamlines therefore follow each variant
//! through the whole brain (Jeurissen et al. 2014, Med Image Anal 18:953), and their lengths are compared, times how
//! well the directions of neighbours along a streamline agree (Schilling et al. 2019, Magn Reson Imaging 58:82).
//!
//! Signals do not change when vectors are rotated, and the fit uses only scalar products with them: the tensors of
//! the rotated table are the rotated tensors, QDQᵀ, up to rounding. One fit serves all 24 variants. FA does not
//! change either, so that all start from the same seeds.
//!
//! # Example
//!
//! The axes of a scan are right if no other exchange or flip gives better streamlines:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::phantom::{Head, scan_grid, scan_options};
//! use arcuate_engine::solvers::gradient_check::{Params, Verdict, check};
//! use arcuate_engine::solvers::tensor_fit;
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let head = Head::new(1);
//! let grid = scan_grid(4.0).ok_or("a spacing above 0")?;
//! let (scan, gradients) = head.diffusion_scan(&scan_options(grid.clone(), 1), &control)?;
//! let mask = head.brain_mask(&grid, &control)?;
//! let params = tensor_fit::Params::defaults();
//! let fitted = tensor_fit::fit(&scan, &gradients, &mask, &params, &backend, &control)?;
//! let params = Params {
//!     seeds: 500,
//!     ..Params::defaults()
//! };
//! let checked = check(&fitted.field, &params, &backend, &control)?;
//! assert_eq!(checked.verdict(), Verdict::AsTheyAre);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Error;
use super::curves::{self, Integrator, Interpolation, MAX_SEEDS, Match, Seeding};
use super::tensor_fit::eigen_symmetric;
use super::tracking::{principal_direction, track};
use crate::compute::{Backend, Control};
use crate::data::axis_change::AxisChange;
use crate::data::{Tensor, TensorField, Tractogram, keyed};
use crate::parameters::{self, Kind, Limits, Number, Param, ParamError, Parameters, Scale};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::sync::Arc;

/// Parameters of the streamlines that are compared.
#[derive(Clone, PartialEq, Debug)]
pub struct Params {
    /// Number of seeds in the whole mask.
    pub seeds: usize,
    /// Smallest FA where streamlines start and neighbours are compared.
    pub min_fa: f64,
}

/// Largest turn per step of half a voxel edge.
const MAX_ANGLE_RAD: f64 = std::f64::consts::FRAC_PI_4;
/// Every table of gradients is compared from the same seeds.
const RANDOM_SEED: u64 = 1;

impl Params {
    /// A comparison within a second or two.
    pub fn defaults() -> Self {
        Self {
            seeds: 3_000,
            min_fa: 0.2,
        }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }
}

impl Parameters for Params {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            value_name: "N",
            help: "Number of streamlines to start with each table",
            reason: "the error of a mean length is a few percent",
            ..Param::new(
                "seeds",
                "Streamlines",
                Kind::Number(Number {
                    scale: Scale::Logarithmic,
                    decimals: 0,
                    soft: (100.0, 100_000.0),
                    hard: Limits::whole(1.0, MAX_SEEDS as f64),
                    ..Number::new(
                        |p| Some(p.seeds as f64),
                        |p, v| p.seeds = v.map_or(p.seeds, |v| v as usize),
                    )
                }),
            )
        },
        Param {
            value_name: "FA",
            help: "Smallest FA at which streamlines start",
            ..Param::new(
                "fa",
                "Minimum FA",
                Kind::Number(Number {
                    hard: Limits::above(0.0, 1.0),
                    ..Number::new(|p| Some(p.min_fa), |p, v| p.min_fa = v.unwrap_or(p.min_fa))
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self::defaults()
    }
}

/// One of the 24 variants.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Exchange and flips of the axes, relative to the table as read.
    pub turn: AxisChange,
    /// Mean over all seeds that start.
    pub mean_length_mm: f64,
    /// Mean |cos| between the directions of a voxel and of its neighbours along it: 0.5 by chance.
    pub coherence: f64,
    /// Streamlines of this variant, for display.
    pub streamlines: Tractogram,
}

impl Candidate {
    /// The score for the ranking, mm.
    pub fn score(&self) -> f64 {
        self.mean_length_mm * self.coherence
    }
}

/// The result of the comparison.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    /// The table's own axes are clearly best.
    AsTheyAre,
    /// Another variant is better by this factor of the score.
    Better(AxisChange, f64),
    /// The best variants are too close, or there is too little to track.
    Undecided,
}

keyed!(Verdict, key {
    AsTheyAre = "as_they_are",
    Better(..) = "better",
    Undecided = "undecided",
});

/// All variants with their scores.
#[derive(Clone, Debug)]
pub struct Output {
    /// All 24, best first.
    pub ranked: Arc<[Candidate]>,
    /// Number of seeds that start.
    pub started: u64,
}

/// The best must lead the second by this factor of the score.
pub(super) const CLEAR: f64 = 1.05;
/// With fewer streamlines the comparison is meaningless.
pub(super) const MIN_STARTED: u64 = 50;

impl Output {
    /// Judgement by the ratio of the two best scores; undecided with few streamlines.
    pub fn verdict(&self) -> Verdict {
        let [best, second, ..] = &*self.ranked else {
            return Verdict::Undecided;
        };
        let clear = best.score() > CLEAR * second.score();
        if self.started < MIN_STARTED || !clear {
            return Verdict::Undecided;
        }
        if best.turn == AxisChange::NONE {
            return Verdict::AsTheyAre;
        }
        let now = self.ranked.iter().find(|c| c.turn == AxisChange::NONE);
        let now = now.map_or(0.0, Candidate::score);
        Verdict::Better(best.turn, best.score() / now.max(1e-9))
    }

    /// The result as one sentence.
    pub fn sentence(&self) -> String {
        match self.verdict() {
            Verdict::AsTheyAre => {
                "The gradient axes are correct: no swap or flip gives longer and more coherent streamlines"
                    .to_owned()
            }
            Verdict::Better(turn, factor) => format!(
                "The gradient directions seem wrong: with {} streamlines become {factor:.1} times as long and \
                 coherent",
                turn.description()
            ),
            Verdict::Undecided => format!(
                "The gradient directions cannot be judged: the best two of {} variants are equally good",
                self.ranked.len()
            ),
        }
    }
}

/// Tracks with all 24 variants and ranks them.
pub fn check(
    field: &TensorField,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    params.check()?;
    let turns = AxisChange::all();
    control.begin("Comparing gradient axes", turns.len() as u64);
    // Runs on the backend's CPU threads, where 24 short runs cost less than their transfer to a card.
    let cpu = backend.cpu();
    let mut started = 0;
    let mut ranked = Vec::new();
    for turn in turns {
        control.check()?;
        let turned = cpu.install(|| rotated_field(field, turn.in_world(&field.grid)));
        let quality = field_quality(&turned, params, &cpu, control)?;
        started = quality.started;
        ranked.push(Candidate {
            turn,
            mean_length_mm: quality.mean_length_mm,
            coherence: quality.coherence,
            streamlines: quality.streamlines,
        });
        control.advance(1);
    }
    // A stable sort: of equal variants the first in the list wins, which begins with "as they are".
    ranked.sort_by(|a, b| b.score().total_cmp(&a.score()));
    Ok(Output {
        ranked: ranked.into(),
        started,
    })
}

/// How long streamlines become in a field, and how coherent it is.
pub(super) struct FieldQuality {
    /// Mean over all seeds that start.
    pub mean_length_mm: f64,
    pub coherence: f64,
    pub streamlines: Tractogram,
    /// Number of seeds that start.
    pub started: u64,
}

pub(super) fn field_quality(
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
        random_seed: RANDOM_SEED,
        step_mm,
        max_angle_rad: Some(MAX_ANGLE_RAD),
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
    let started = out.seed_outcomes.iter().sum::<u64>()
        - out.seed_outcomes[curves::SeedOutcome::NoStart as usize];
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
fn rotated_field(field: &TensorField, q: DMat3) -> TensorField {
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

/// Mean |cos| between the principal directions of a voxel and of the two voxels nearest to the points one voxel away
/// along its direction, if both have at least the FA.
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
            let mut agreement = (0.0, 0);
            for side in [-1.0, 1.0] {
                let next = grid
                    .nearest(here + side * reach * own)
                    .map(|v| grid.index(v));
                if let Some(other) = next.filter(|&j| j != i).and_then(|j| directions[j]) {
                    agreement = (agreement.0 + own.dot(other).abs(), agreement.1 + 1);
                }
            }
            agreement
        })
        // In the order of the voxels, so that the sum does not depend on the number of threads.
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
