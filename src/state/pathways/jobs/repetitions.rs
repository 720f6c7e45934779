//! Repetitions of a pathway with random signs of the residuals.

use super::error::PathwayError;
use super::measure::RepeatedCurves;
use crate::compute::{Backend, Control};
use crate::data::text::counted;
use crate::data::{Gradients, Mask, Role, Tractogram, Volume};
use crate::jobs::{Job, JobError, PartialSender, Slot, Worker};
use crate::solvers::Error;
use crate::solvers::lifted;
use crate::solvers::pathway::{Path, RepetitionParams, Repetitions, Scan};
use crate::solvers::tensor_fit;
use crate::state::job_end::for_command_line;
use crate::state::pathways::{NoiseDistances, PathwayCosts, PathwayParams, PathwayResult};
use crate::state::tensors::jobs::input::Distributions;
use crate::state::tensors::types::fods::FodBootstrapInput;
use std::sync::Arc;
use std::time::Instant;

/// Repetitions of a pathway.
pub const PATHWAY_NOISE: Slot = Slot::latest_wins("pathway-noise");

/// A pathway to be repeated.
#[derive(Clone, Debug)]
pub struct RepeatPathway {
    pub pathway: Arc<PathwayResult>,
    pub epsilon: f64,
    pub scan: RepeatedScan,
    pub params: RepetitionParams,
    /// The mask whose distance from the paths is requested.
    pub distance_to: Option<Mask>,
}

/// The scan to which the model of a pathway was fitted.
#[derive(Clone, Debug)]
pub enum RepeatedScan {
    Tensors {
        dwi: Volume,
        gradients: Arc<Gradients>,
        fit: tensor_fit::Params,
    },
    Distributions(Box<FodBootstrapInput>),
    /// Distributions that are estimated first.
    Estimated(Box<Distributions>),
}

impl RepeatedScan {
    /// Prepares the repetitions of a pathway; none is solved yet.
    pub fn none_yet(
        &self,
        pathway: &PathwayResult,
        epsilon: f64,
        random_seed: u64,
        backend: &Backend,
        control: &Control,
    ) -> Result<Repetitions, JobError> {
        let repetitions = match (self, &pathway.pathway, pathway.key.params) {
            (
                Self::Tensors {
                    dwi,
                    gradients,
                    fit,
                },
                PathwayCosts::Tensors(costs),
                PathwayParams::Tensors(params),
            ) => {
                let scan = Scan {
                    dwi,
                    gradients,
                    fit,
                };
                let counted = (&params.metric, epsilon);
                Repetitions::of_tensors(costs, scan, counted, random_seed, backend, control)
            }
            (Self::Estimated(distributions), PathwayCosts::Distributions(_), _) => {
                let estimated = Distributions::clone(distributions).estimated(backend, control)?;
                let (_, Some(input)) = estimated else {
                    return Err(PathwayError::OtherModel.into());
                };
                let scan = Self::Distributions(input);
                return scan.none_yet(pathway, epsilon, random_seed, backend, control);
            }
            (Self::Distributions(input), PathwayCosts::Distributions(costs), _) => {
                let scan = lifted::Scan {
                    dwi: &input.dwi,
                    gradients: &input.gradients,
                    responses: &input.responses,
                    fit: &input.params,
                };
                lifted::repetitions(costs, scan, epsilon, random_seed, backend, control)
            }
            _ => return Err(PathwayError::OtherModel.into()),
        };
        Ok(repetitions?)
    }
}

#[derive(Clone, Debug)]
pub struct RepeatedPathway {
    pub repetitions: Repetitions,
    /// Repetitions whose path stays near the shown one.
    pub near: usize,
    /// Its levels, and its distances from the requested mask.
    pub measured: NoiseDistances,
    pub wall_ms: f64,
}

/// The repetitions of a pathway, to be measured.
pub(super) fn repeated_paths<'a>(
    repetitions: &'a Repetitions,
    pathway: &'a PathwayResult,
) -> RepeatedCurves<'a, impl Fn(f64) -> Mask> {
    RepeatedCurves {
        repetitions: repetitions.paths.len(),
        voxels: |share| repetitions.mask(share),
        curves: repetitions.existing_paths().collect(),
        shown: Some(&pathway.path),
    }
}

/// A sentence about paths that are equal in several repetitions; `None` if all differ.
pub fn equal_paths_text(repetitions: &Repetitions) -> Option<String> {
    let (all, different) = (
        repetitions.existing_paths().count(),
        repetitions.different_paths(),
    );
    (different < all).then(|| {
        format!(
            "{} in {}: they run from voxel centre to voxel centre, so shifts by less than a voxel do not show",
            counted(different, "different path"),
            counted(all, "repetition")
        )
    })
}

/// Repetitions whose path stays near that of the pathway.
pub(super) fn near(
    repetitions: &Repetitions,
    pathway: &PathwayResult,
    backend: &Backend,
    control: &Control,
) -> Result<usize, Error> {
    let ends = pathway.key.regions.iter();
    let ends = ends.filter(|r| matches!(r.role, Role::Seed | Role::Target));
    let ends: Vec<_> = ends.collect();
    let in_end = |at| ends.iter().any(|r| r.shape.contains(at));
    repetitions.near(&pathway.path, in_end, backend, control)
}

/// The cheapest path of each repetition that has one, with its cost.
pub fn paths_of(repetitions: &Repetitions) -> Tractogram {
    let costs = repetitions.paths.iter().flatten();
    let costs: Vec<f32> = costs.map(|(cost, _)| *cost as f32).collect();
    Tractogram::of_curves(repetitions.existing_paths().map(Path::streamline))
        .with_per_streamline("cost", costs)
        .with_grid(repetitions.places.grid.clone())
}

impl Job for RepeatPathway {
    type Output = Box<RepeatedPathway>;

    fn slot(&self) -> Slot {
        PATHWAY_NOISE
    }

    fn label(&self) -> String {
        "Repeating the pathway".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let started = Instant::now();
        let backend = worker.backend();
        let pathway = &*self.pathway;
        self.params.check().map_err(Error::from)?;
        let (epsilon, seed) = (self.epsilon, self.params.random_seed);
        let mut repetitions = self
            .scan
            .none_yet(pathway, epsilon, seed, &backend, control)?;
        repetitions.extend(self.params.repetitions, &backend, control)?;
        let near = near(&repetitions, pathway, &backend, control)?;
        let paths = repeated_paths(&repetitions, pathway);
        let mask = self.distance_to.as_ref();
        let measured = NoiseDistances::measure(paths, mask, &backend, control)?;
        Ok(Box::new(RepeatedPathway {
            repetitions,
            near,
            measured,
            wall_ms: started.elapsed().as_secs_f64() * 1e3,
        }))
    }
}

for_command_line!(RepeatPathway);
