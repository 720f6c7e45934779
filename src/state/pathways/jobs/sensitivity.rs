//! A map of the voxels on which a pathway depends.

use super::error::PathwayError;
use crate::compute::{Backend, Control};
use crate::data::Volume;
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::lifted::{LiftedPathway, SensitivityTo};
use crate::solvers::metric::Places;
use crate::solvers::pathway::Sensitivity;
use crate::state::job_end::ended;
use crate::state::pathways::jobs::lifted::FindLifted;
use crate::state::pathways::{PathwayCosts, PathwayResult, update};
use crate::state::{Effect, State};
use std::sync::Arc;
use std::time::Instant;

pub const SENSITIVITY: Slot = Slot::queue("sensitivity");

/// How the least cost of a pathway depends on each voxel.
#[derive(Clone, Debug)]
pub struct MapSensitivity {
    pub pathway: Arc<PathwayResult>,
    /// Only distributions have amplitudes.
    pub to: SensitivityTo,
    /// Finds the pathway once more if its fields were not kept.
    pub find: Option<Box<FindLifted>>,
}

#[derive(Clone, Debug)]
pub struct MappedSensitivity {
    pub to: SensitivityTo,
    /// Share of each voxel in the least cost, percent; or by how many percent that cost falls for each percent by which the
    /// amplitudes of the voxel grow, in hundredths.
    pub volume: Volume,
    /// Voxels that together hold half of the sum, and 95 % of it, largest shares first.
    pub half: usize,
    pub voxels_of_95_percent: usize,
    /// The largest share, percent.
    pub largest: f32,
    /// By how many percent the least cost falls for each percent by which the amplitudes of all voxels grow, the reference
    /// amplitude being constant; `None` through tensors.
    pub by_amplitude: Option<f64>,
    pub wall_ms: f64,
}

/// About a map without effect.
pub const NO_EFFECT: &str =
    "Amplitudes reach the reference all along the path: larger ones change nothing";

impl MappedSensitivity {
    /// Whether larger amplitudes change nothing.
    pub fn has_no_effect(&self) -> bool {
        self.to == SensitivityTo::Amplitude && self.by_amplitude == Some(0.0)
    }

    fn new(
        to: SensitivityTo,
        sensitivity: &Sensitivity,
        places: &Places,
        by_amplitude: Option<f64>,
    ) -> Self {
        let volume = sensitivity.percent(places);
        volume.precompute_windows();
        Self {
            half: sensitivity.voxels_with(0.5),
            voxels_of_95_percent: sensitivity.voxels_with(0.95),
            largest: sensitivity.shares.iter().fold(0.0, |most, s| s.max(most)) * 100.0,
            to,
            volume,
            by_amplitude,
            wall_ms: 0.0,
        }
    }

    fn through_distributions(
        to: SensitivityTo,
        pathway: &LiftedPathway,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, JobError> {
        let sensitivity = pathway.sensitivity(backend, control)?;
        let by_amplitude = sensitivity.by_amplitude.as_ref().map(Sensitivity::total);
        let Some(shown) = sensitivity.to(to) else {
            return Err(PathwayError::NoAmplitudes.into());
        };
        Ok(Self::new(to, shown, &pathway.places, by_amplitude))
    }
}

impl MapSensitivity {
    fn mapped(self, backend: &Backend, control: &Control) -> Result<MappedSensitivity, JobError> {
        match &self.pathway.pathway {
            PathwayCosts::Tensors(pathway) => {
                if self.to == SensitivityTo::Amplitude {
                    return Err(PathwayError::NoAmplitudes.into());
                }
                let sensitivity = pathway.sensitivity(backend, control)?;
                let places = pathway.metric();
                Ok(MappedSensitivity::new(self.to, &sensitivity, places, None))
            }
            PathwayCosts::Distributions(pathway) => {
                MappedSensitivity::through_distributions(self.to, pathway, backend, control)
            }
            PathwayCosts::Joint(_) => {
                let solved = self
                    .find
                    .map(|find| find.solve(backend, control))
                    .transpose()?;
                let pathway = solved.as_ref().and_then(|s| s.pathway.distributions());
                let Some(pathway) = pathway else {
                    return Err(PathwayError::NoFields.into());
                };
                MappedSensitivity::through_distributions(self.to, pathway, backend, control)
            }
        }
    }
}

impl Job for MapSensitivity {
    type Output = Box<MappedSensitivity>;

    fn slot(&self) -> Slot {
        SENSITIVITY
    }

    fn label(&self) -> String {
        "Mapping the sensitivity of the pathway".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let started = Instant::now();
        let mapped = self.mapped(&worker.backend(), control)?;
        Ok(Box::new(MappedSensitivity {
            wall_ms: started.elapsed().as_secs_f64() * 1e3,
            ..mapped
        }))
    }
}

impl Receive<State> for MapSensitivity {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, mapped, _, _| {
            update::sensitivity_mapped(state, &self.pathway, *mapped);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        // The CPU may compute a map that a graphics card did not.
        if !matches!(end, Unfinished::DeviceFailed(_)) {
            update::take_pending_map(state, &self.pathway, self.to);
        }
        false
    }
}
