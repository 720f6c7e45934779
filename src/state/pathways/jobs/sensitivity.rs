//! A map of the voxels on which a pathway depends.

use crate::compute::Control;
use crate::data::Volume;
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::state::job_end::ended;
use crate::state::pathways::{PathwayResult, update};
use crate::state::{Effect, State};
use std::sync::Arc;
use std::time::Instant;

pub const SENSITIVITY: Slot = Slot::queue("sensitivity");

/// Why a pathway through distributions has no such map.
pub const ONLY_TENSORS: &str =
    "Only a pathway through tensors has a map of the voxels that it depends on";

/// How the least cost of a pathway depends on the cost of each voxel.
#[derive(Clone, Debug)]
pub struct MapSensitivity {
    pub pathway: Arc<PathwayResult>,
}

#[derive(Clone, Debug)]
pub struct MappedSensitivity {
    /// Share of each voxel in the least cost, percent.
    pub volume: Volume,
    /// Voxels that together hold half of the least cost, and 95 % of it, largest shares first.
    pub half: usize,
    pub voxels_of_95_percent: usize,
    /// The largest share, percent.
    pub largest: f32,
    pub wall_ms: f64,
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
        let Some(pathway) = self.pathway.pathway.tensors() else {
            return Err(JobError::Sentence(ONLY_TENSORS.into()));
        };
        let sensitivity = pathway.sensitivity(&worker.backend(), control)?;
        let wall_ms = started.elapsed().as_secs_f64() * 1e3;
        let volume = sensitivity.percent(pathway.metric());
        volume.precompute_windows();
        Ok(Box::new(MappedSensitivity {
            half: sensitivity.voxels_with(0.5),
            voxels_of_95_percent: sensitivity.voxels_with(0.95),
            largest: sensitivity.shares.iter().fold(0.0, |most, s| s.max(most)) * 100.0,
            volume,
            wall_ms,
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
            update::take_pending_map(state, &self.pathway);
        }
        false
    }
}
