//! Deleting streamlines, or keeping some.

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

/// Applies a step to the streamlines of a layer.
#[derive(Clone, Debug)]
pub struct EditStreamlines {
    pub layer: u64,
    pub tractogram: Tractogram,
    pub edit: Edit,
    /// Whether the result becomes a new layer.
    pub fresh: bool,
}

impl Job for EditStreamlines {
    /// The remaining streamlines.
    type Output = Tractogram;

    fn slot(&self) -> Slot {
        EDIT
    }

    fn label(&self) -> String {
        match self.fresh {
            true => "Keeping streamlines".to_owned(),
            false => "Deleting streamlines".to_owned(),
        }
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let steps = std::slice::from_ref(&self.edit);
        let (memory, backend) = (memory_for_curves(), worker.backend());
        let left = apply_edits(&self.tractogram, steps, memory, &backend, control)?;
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
            let (edited, step) = (self.tractogram.id(), self.edit.clone());
            edits::done(state, self.layer, edited, (step, left), self.fresh);
        });
    }
}
