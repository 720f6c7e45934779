//! Jobs of pathways.

pub mod region;

use crate::compute::Control;
use crate::data::Shape;
use crate::jobs::{
    Delivery, FoundPathway, Job, JobError, Outcome, PartialSender, Receive, Saved, Slot, TracePath,
    TracedPath, Worker,
};
use crate::state::core::live::Detail;
use crate::state::files::jobs::{WriteFile, save_shape, saved};
use crate::state::pathways::HoverKey;
use crate::state::update::ended;
use crate::state::{Effect, State};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Saves the voxels of a pathway of some width.
#[derive(Clone, Debug)]
pub struct SavePathway {
    pub found: Arc<FoundPathway>,
    pub epsilon: f64,
    pub path: PathBuf,
    pub command: String,
}

impl WriteFile for SavePathway {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, worker: &Worker, control: &Control) -> Result<Saved, JobError> {
        let backend = worker.backend();
        let shape = Shape::Mask(backend.install(|| self.found.mask(self.epsilon)));
        let what = save_shape(&shape, &self.path, &self.command, control)?;
        Ok(saved(self.path, what.unwrap_or("mask"), None))
    }
}

impl Job for TracePath {
    /// `None`: no path leads through the voxel.
    type Output = Option<Box<TracedPath>>;

    fn slot(&self) -> Slot {
        Slot::Trace
    }

    fn label(&self) -> String {
        "Tracing a path".to_owned()
    }

    fn run(
        self,
        _: &Worker,
        _: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        Ok(self.path().map(Box::new))
    }
}

impl Receive<State> for TracePath {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        let key = HoverKey {
            of: self.found.excess.id(),
            voxel: self.voxel,
        };
        let hover = &mut state.session.pathways.hover;
        // A cancelled one was replaced: its key is not the one that runs.
        if matches!(delivery.outcome, Outcome::Failed(_)) && hover.running() == Some(&key) {
            hover.fail();
        }
        ended(state, self, delivery, effects, |state, path, wall_ms, _| {
            let hover = &mut state.session.pathways.hover;
            let wanted = hover.running().copied();
            let path = path.map(|path| *path);
            hover.done(key, Detail::Full, path, wall_ms, wanted.as_ref());
        });
    }
}
