//! Deleting streamlines, keeping some, or dividing them into groups.

use crate::compute::Control;
use crate::data::Tractogram;
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Worker, memory_for_curves,
};
use crate::solvers::tractogram::selection::{Edit, apply_edits};
use crate::state::job_end::ended;
use crate::state::streamlines::update::edits;
use crate::state::{Effect, State};

pub const EDIT: Slot = Slot::queue("edit");

/// The purpose of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditKind {
    /// Others are deleted from the layer.
    Delete,
    /// They become a new layer.
    Keep,
    /// They become a new layer with groups.
    Group,
}

/// Applies steps to the streamlines of a layer.
#[derive(Clone, Debug)]
pub struct EditStreamlines {
    pub layer: u64,
    pub tractogram: Tractogram,
    pub steps: Vec<Edit>,
    pub kind: EditKind,
}

impl Job for EditStreamlines {
    /// The remaining streamlines.
    type Output = Tractogram;

    fn slot(&self) -> Slot {
        EDIT
    }

    fn label(&self) -> String {
        let label = match self.kind {
            EditKind::Delete => "Deleting streamlines",
            EditKind::Keep => "Keeping streamlines",
            EditKind::Group => "Clustering streamlines",
        };
        label.to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let (memory, backend) = (memory_for_curves(), worker.backend());
        let left = apply_edits(&self.tractogram, &self.steps, memory, &backend, control)?;
        left.bounds();
        Ok(left)
    }

    fn curves(output: &Self::Output) -> Vec<&Tractogram> {
        vec![output]
    }
}

impl Receive<State> for EditStreamlines {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, left, _, _| {
            let (edited, steps) = (self.tractogram.id(), self.steps.clone());
            edits::done(state, self.layer, edited, (steps, left), self.kind);
        });
    }
}
