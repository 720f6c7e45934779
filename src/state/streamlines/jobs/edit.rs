//! Deleting streamlines, keeping some, or dividing them into groups.

use crate::compute::{Backend, Control};
use crate::data::{Tractogram, Volume};
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Worker, memory_for_curves,
};
use crate::solvers::bundles::{RecognitionParams, recognise};
use crate::solvers::tractogram::selection::{
    Division, Edit, Groups, SelectionOptions, apply_edits,
};
use crate::state::job_end::ended;
use crate::state::streamlines::jobs::bundles::recipe;
use crate::state::streamlines::update::edits;
use crate::state::{Effect, State};
use std::path::PathBuf;

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
    /// Recognises bundles after the steps, as one more step.
    pub recognition: Option<Box<Recognition>>,
    pub kind: EditKind,
}

/// How bundles are recognised.
#[derive(Clone, Debug)]
pub struct Recognition {
    pub labels: Volume,
    /// Name of the label map.
    pub map: String,
    /// The file of the recipe; `None`: the built-in one.
    pub recipe: Option<PathBuf>,
    pub params: RecognitionParams,
    /// The command that recognises them in the same way, if the label map is in a file.
    pub options: Option<SelectionOptions>,
}

/// The streamlines after all steps.
#[derive(Clone, Debug)]
pub struct EditedStreamlines {
    pub left: Tractogram,
    pub steps: Vec<Edit>,
    /// Bundles for which the label map lacks labels.
    pub unmapped: Vec<String>,
}

impl Job for EditStreamlines {
    type Output = EditedStreamlines;

    fn slot(&self) -> Slot {
        EDIT
    }

    fn label(&self) -> String {
        let label = match self.kind {
            EditKind::Delete => "Deleting streamlines",
            EditKind::Keep => "Keeping streamlines",
            EditKind::Group if self.recognition.is_some() => "Recognising bundles",
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
        let mut edited = EditedStreamlines {
            left,
            steps: self.steps,
            unmapped: Vec::new(),
        };
        if let Some(recognition) = self.recognition {
            recognition.apply(&mut edited, &backend, control)?;
        }
        edited.left.bounds();
        Ok(edited)
    }

    fn curves(output: &Self::Output) -> Vec<&Tractogram> {
        vec![&output.left]
    }
}

impl Receive<State> for EditStreamlines {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, edited, _, _| {
            edits::done(state, self.layer, self.tractogram.id(), edited, self.kind);
        });
    }
}

impl Recognition {
    fn apply(
        self,
        edited: &mut EditedStreamlines,
        backend: &Backend,
        control: &Control,
    ) -> Result<(), JobError> {
        let recipe = recipe(self.recipe.as_deref())?;
        let (labels, params) = (&self.labels, &self.params);
        let recognised = recognise(&edited.left, (labels, 0), &recipe, params, backend, control)?;
        edited.left = recognised.grouped(&edited.left, &recipe);
        edited.unmapped = recognised.unmapped(&recipe);
        let division = Division::Labels {
            map: self.map,
            recipe: self.recipe,
            params: self.params,
            options: self.options,
        };
        let groups = Groups::new(&edited.left, division);
        edited.steps.push(Edit::Group(groups));
        Ok(())
    }
}
