//! Label maps: counting labels, and extracting regions.

use crate::compute::Control;
use crate::data::{Mask, Role, Volume};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::solvers;
use crate::solvers::region::{self, LabelCount, Numbers};
use crate::state::core::layer::LayerId;
use crate::state::job_end::ended;
use crate::state::regions::make;
use crate::state::{Effect, State};
use std::sync::Arc;

pub const LABELS: Slot = Slot::queue("labels");

/// Counts the voxels of each number of a label map.
#[derive(Clone, Debug)]
pub struct CountLabels {
    pub volume: Volume,
    pub frame: usize,
}

/// The numbers, or why it is not a label map.
pub type LabelCounts = Result<Arc<Numbers>, solvers::Error>;

/// Makes masks of some labels.
#[derive(Clone, Debug)]
pub struct MakeLabelRegions {
    pub volume: Volume,
    pub frame: usize,
    pub labels: Vec<LabelCount>,
    /// The layer of the label map.
    pub layer: u64,
    /// The regions' role.
    pub role: Role,
}

impl Job for CountLabels {
    type Output = LabelCounts;

    fn slot(&self) -> Slot {
        LABELS
    }

    fn label(&self) -> String {
        "Counting labels".to_owned()
    }

    fn run(
        self,
        _: &Worker,
        control: &Control,
        _: &PartialSender<LabelCounts>,
    ) -> Result<LabelCounts, JobError> {
        // An image that is not a label map is a valid answer, not a failure of the job.
        match region::numbers(&self.volume, self.frame, control) {
            Err(solvers::Error::Cancelled) => Err(JobError::from(solvers::Error::Cancelled)),
            other => Ok(other.map(Arc::new)),
        }
    }
}

impl Receive<State> for CountLabels {
    fn receive(
        &self,
        delivery: Delivery<LabelCounts>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, numbers, _, _| {
            make::labels_counted(state, self.volume.id(), self.frame, numbers);
        });
    }
}

impl Job for MakeLabelRegions {
    /// Each with its number.
    type Output = Vec<(i64, Mask)>;

    fn slot(&self) -> Slot {
        LABELS
    }

    fn label(&self) -> String {
        "Making regions".to_owned()
    }

    fn run(
        self,
        _: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        control.begin("Making regions", self.labels.len() as u64);
        let mut masks = Vec::with_capacity(self.labels.len());
        for label_count in &self.labels {
            control.check().map_err(solvers::Error::from)?;
            let mask = region::label(&self.volume, self.frame, label_count);
            mask.bounds_inside();
            masks.push((label_count.number, mask));
            control.advance(1);
        }
        Ok(masks)
    }
}

impl Receive<State> for MakeLabelRegions {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, masks, _, _| {
            make::labelled(state, LayerId(self.layer), self.role, masks);
        });
    }
}
