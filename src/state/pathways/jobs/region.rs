//! A region of a pathway.

use crate::compute::Control;
use crate::data::{Mask, Role};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::state::job_end::ended;
use crate::state::pathways::{PathwayResult, update};
use crate::state::regions::jobs::labels::LABELS;
use crate::state::{Effect, State};
use std::sync::Arc;

/// The voxels of a pathway of some width, as a region with this name and role.
#[derive(Clone, Debug)]
pub struct MakePathwayRegion {
    pub pathway: Arc<PathwayResult>,
    pub epsilon: f64,
    pub name: String,
    pub role: Role,
}

impl Job for MakePathwayRegion {
    type Output = Mask;

    fn slot(&self) -> Slot {
        LABELS
    }

    fn label(&self) -> String {
        "Making a region".to_owned()
    }

    fn run(self, worker: &Worker, _: &Control, _: &PartialSender<Mask>) -> Result<Mask, JobError> {
        let backend = worker.backend();
        let mask = backend.install(|| self.pathway.mask(self.epsilon));
        // Computed here to keep it off the window's thread.
        mask.bounds_inside();
        Ok(mask)
    }
}

impl Receive<State> for MakePathwayRegion {
    fn receive(&self, delivery: Delivery<Mask>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |state, mask, _, _| {
            let region = (self.name.clone(), self.role, mask);
            update::region_computed(state, self.pathway.key.field, region);
        });
    }
}
