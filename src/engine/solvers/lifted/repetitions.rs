//! Repetitions of a pathway through distributions: the distributions are refitted to the scan with the signs of its
//! residuals drawn at random (wild bootstrap, [`csd::Residuals`]), and the costs of both regions are solved again. The
//! distributions of a repetition are those of the same repetition in tracking.
//!
//! *Domain.* Paths may run in the voxels that the pathway itself reaches from both regions, which are at least those of
//! its own width, and in those at the corners of diagonal steps between them. The reference amplitude is that of the
//! pathway itself, so that costs have the same unit.

use super::costs::{Series, sampled};
use super::error::InputError;
use super::{LiftedPathway, Prepared, Source, UNREACHED, segments_of, solve_both};
use crate::compute::{Backend, Control, DataId, memory};
use crate::data::spherical_harmonics::count;
use crate::data::{Gradients, Response, Volume};
use crate::solvers::Error;
use crate::solvers::csd::{self, Residuals};
use crate::solvers::metric::Places;
use crate::solvers::pathway::{Repeat, Repetition, Repetitions, Tasks};
use std::ops::Range;
use std::sync::Arc;

/// Largest relative difference between the distributions of the pathway and those fitted to the scan: above it, the
/// former were not estimated from this scan. Precisions and devices differ by 0.001.
const MAX_DIFFERENCE: f64 = 0.05;

/// Half the width of the 90 % band of ln E* over the root mean square of the repetitions ([`Repeat::band_factor`]).
/// Calibrated on crossing heads (seeds 21 and 22, every other bundle, 20 repetitions): of 96 pathways at SNR 15, 20 and
/// 30, bands with this factor contained E* without noise in 90 %; of those of heads 31 and 32, in 94, 88 and 94 %. The test
/// `lifted::band of E* against heads without noise` repeats the latter.
const BAND_FACTOR: f64 = 1.8;

/// Costs are computed at least this far above the least one: a field has no value at its cap.
const MIN_EXCESS: f64 = 0.01;

/// The scan from which the distributions of a pathway were estimated.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    /// Diffusion scan, on the grid of the distributions.
    pub dwi: &'a Volume,
    /// Its gradients.
    pub gradients: &'a Gradients,
    /// Response functions, that of white matter first.
    pub responses: &'a [Response],
    /// Parameters of the deconvolution; the order is that of the distributions.
    pub fit: &'a csd::Params,
}

/// Everything that the repetitions of a pathway through distributions share.
#[derive(Debug)]
struct Distributions {
    /// Costs in the voxels that are reached, from the distributions themselves.
    part: Prepared,
    /// Their places among those of the pathway.
    places: Vec<u32>,
    /// The regions, in the part.
    sources: [Arc<Source>; 2],
    residuals: Residuals,
}

/// Prepares the repetitions of a pathway through distributions that were estimated from a scan; none is solved yet.
/// `epsilon` is the width of the pathways that are counted.
pub fn repetitions(
    pathway: &LiftedPathway,
    scan: Scan<'_>,
    epsilon: f64,
    random_seed: u64,
    backend: &Backend,
    control: &Control,
) -> Result<Repetitions, Error> {
    let whole = pathway.prepared();
    let field = whole.amplitudes().and_then(|known| known.series.image());
    let Some(field) = field.filter(|field| field.grid.matches(&scan.dwi.grid)) else {
        return Err(InputError::ScanGrid.into());
    };
    let places = reached_places(pathway);
    let part = whole.within(&places)?;
    let own = |place: &u32| places.binary_search(place).ok().map(|p| p as u32);
    let sources = [0, 1].map(|end: usize| {
        let source = &pathway.fields[end].source;
        Arc::new(Source {
            name: source.name.clone(),
            zero: source.zero.iter().filter_map(own).collect(),
            direction: source.direction,
        })
    });
    let fit = csd::Params {
        order: Some(field.order()),
        ..scan.fit.clone()
    };
    let (dwi, gradients, responses) = (scan.dwi, scan.gradients, scan.responses);
    let mask = &part.places.mask;
    let residuals = csd::residuals(dwi, gradients, mask, responses, &fit, backend, control)?;
    let difference = residuals.difference(field);
    // A NaN is refused as well.
    if !(difference <= MAX_DIFFERENCE) {
        return Err(InputError::OtherScan { difference }.into());
    }
    let model = Distributions {
        part,
        places,
        sources,
        residuals,
    };
    let model = Arc::new(model);
    Ok(Repetitions::of_model(model, pathway, epsilon, random_seed))
}

/// The places that are reached from both regions, and those without which a step between them would leave the part,
/// ascending.
fn reached_places(pathway: &LiftedPathway) -> Vec<u32> {
    let whole = &pathway.places;
    let mut is_inside: Vec<bool> = pathway
        .total
        .iter()
        .map(|total| total.is_finite())
        .collect();
    let places = |is_inside: &[bool]| -> Vec<u32> {
        let all = is_inside.iter().zip(0..);
        all.filter_map(|(inside, place)| inside.then_some(place))
            .collect()
    };
    let voxels = places(&is_inside).into_iter();
    let voxels = voxels.map(|place| whole.voxels[place as usize]);
    let reached = Places::new(&whole.grid, voxels.collect());
    for place in 0..reached.len() {
        let from = reached.voxel(place);
        // One of each pair of opposite steps.
        for step in (14..27).map(|i| [i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1]) {
            let moved = |axes: usize| {
                [0, 1, 2].map(|a| from[a] + if axes >> a & 1 == 1 { step[a] } else { 0 })
            };
            let is_closed = reached.place_of(moved(7)).is_some()
                && !reached.is_step_open(from, step)
                && whole.is_step_open(from, step);
            if is_closed {
                for corner in (1..7).filter_map(|axes| whole.place_of(moved(axes))) {
                    is_inside[corner] = true;
                }
            }
        }
    }
    places(&is_inside)
}

impl Repeat for Distributions {
    fn begin(&self, repetitions: usize, backend: &Backend) -> Result<Tasks, Error> {
        let (places, directions) = (self.places.len(), self.part.directions.len());
        // Values and flags of both fields, costs while they are sampled, and the coefficients.
        let each = places * (24 * directions + 8 * count(self.residuals.order()));
        let each = (each as u64).max(1);
        let free = memory::available_bytes().map_or(usize::MAX, |free| (free / 2 / each) as usize);
        let at_once = self.at_once(backend).min(free).min(repetitions).max(1);
        memory::claim("The repetitions of a pathway", each * at_once as u64)?;
        Ok(Tasks {
            at_once,
            together: 1,
        })
    }

    fn band_factor(&self) -> Option<f64> {
        Some(BAND_FACTOR)
    }

    fn at_once(&self, backend: &Backend) -> usize {
        match backend.accelerator() {
            // One is prepared while another is solved.
            Some(_) => 2,
            None => backend.threads(),
        }
    }

    fn repetitions(
        &self,
        numbers: Range<usize>,
        epsilon: f64,
        random_seed: u64,
        backend: &Backend,
        control: &Control,
    ) -> Result<Vec<Repetition>, Error> {
        let residuals = &self.residuals;
        let quiet = control.silent();
        let one = |number: usize| {
            let (all, number) = (0..self.places.len(), number as u64);
            let rows = residuals.coefficients(all, random_seed, number, backend, &quiet)?;
            self.solved(rows, epsilon, backend, &quiet)
        };
        numbers.map(one).collect()
    }
}

impl Distributions {
    /// The pathway through distributions with these coefficients.
    fn solved(
        &self,
        rows: Arc<[f32]>,
        epsilon: f64,
        backend: &Backend,
        control: &Control,
    ) -> Result<Repetition, Error> {
        let prepared = self.part.with_rows(self.residuals.order(), rows, control)?;
        let limit = epsilon.max(MIN_EXCESS) as f32;
        let sources = &self.sources;
        let [a, b] = solve_both(&prepared, sources, limit, UNREACHED, backend, control)?;
        let reaches = |place: &u32| a.least(*place as usize).is_finite();
        if !sources[1].zero.iter().any(reaches) {
            return Ok(Repetition {
                path: None,
                pathway: Vec::new(),
                is_joined: true,
            });
        }
        let pathway = LiftedPathway::new(a, b)?;
        let joined = pathway.joining_places(epsilon);
        let is_joined = joined.is_some();
        let counted = joined.unwrap_or_else(|| pathway.places_within(epsilon));
        Ok(Repetition {
            path: pathway.minimal_path().map(|path| (pathway.min_cost, path)),
            pathway: counted.into_iter().map(|own| self.places[own]).collect(),
            is_joined,
        })
    }
}

impl Prepared {
    /// These data in some of their voxels alone, by place, ascending.
    fn within(&self, places: &[u32]) -> Result<Self, Error> {
        let voxels = places.iter().map(|p| self.places.voxels[*p as usize]);
        let part = Places::new(&self.places.grid, voxels.collect());
        let n = self.places.len();
        let planes = self.cost.chunks_exact(n.max(1));
        let cost: Arc<[f32]> = planes
            .flat_map(|plane| places.iter().map(|p| plane[*p as usize]))
            .collect();
        let factors = |all: &Arc<[f32]>| places.iter().map(|p| all[*p as usize]).collect();
        Ok(Self {
            id: DataId::fresh(),
            segments: segments_of(&self.stencils, &part)?,
            least_cost: cost.iter().copied().fold(f32::INFINITY, f32::min),
            cost,
            factors: self.factors.as_ref().map(factors),
            places: part,
            ..self.clone()
        })
    }

    /// The costs of other distributions in the same voxels with the same reference amplitude; `rows` holds their
    /// coefficients, place by place. Must be called on the backend's threads.
    fn with_rows(&self, order: usize, rows: Arc<[f32]>, control: &Control) -> Result<Self, Error> {
        let series = Series::Rows { order, rows };
        let reference = self.amplitudes.as_ref().map(|known| known.reference);
        let (places, directions) = (&self.places, &self.directions);
        let (amplitudes, mut cost) =
            sampled(series, places, directions, reference, &self.params, control)?;
        if let Some(factors) = &self.factors {
            for (cost, factor) in cost.iter_mut().zip(factors.iter().cycle()) {
                *cost *= factor;
            }
        }
        Ok(Self {
            id: DataId::fresh(),
            least_cost: cost.iter().copied().fold(f32::INFINITY, f32::min),
            cost: cost.into(),
            amplitudes: Some(amplitudes),
            ..self.clone()
        })
    }
}
