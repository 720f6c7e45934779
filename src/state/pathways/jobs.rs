//! Jobs of pathways.

mod compare;
mod distances;
mod error;
mod find;
mod lifted;
mod measure;
mod noise;
pub mod region;
mod repetitions;
mod sensitivity;

pub use compare::{
    COMPARE, ComparePathway, ComparedCosts, ComparedDistributions, KnownPairs, PathwayComparison,
    RANDOM_PAIRS,
};
pub use distances::SaveDistances;
pub use find::{FindPathway, KEPT_PATHWAY, PATHWAY, PreparedCosts};
pub use lifted::{FindLifted, PreparedLifted};
pub(in crate::state) use measure::RepeatedCurves;
pub use noise::{GrowRepetitions, MeasurePathwayNoise, PATHWAY_NOISE_DISTANCES, PathwayNoise};
pub use repetitions::{
    PATHWAY_NOISE, RepeatPathway, RepeatedPathway, RepeatedScan, equal_paths_text, paths_of,
};
pub use sensitivity::{MapSensitivity, MappedSensitivity, NO_EFFECT, SENSITIVITY};

use crate::compute::Control;
use crate::data::Shape;
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Saved, Slot, Unfinished, Worker,
};
use crate::state::core::live::Detail;
use crate::state::files::jobs::{WriteFile, save_shape, saved};
use crate::state::job_end::ended;
use crate::state::pathways::{HoverKey, PathAtVoxel, PathQuery, PathwayResult};
use crate::state::{Effect, State};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The best path through the voxel at the pointer.
pub const TRACE: Slot = Slot::latest_wins("trace");

/// Saves the voxels of a pathway of some width.
#[derive(Clone, Debug)]
pub struct SavePathway {
    pub pathway: Arc<PathwayResult>,
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
        let shape = Shape::Mask(backend.install(|| self.pathway.mask(self.epsilon)));
        let what = save_shape(&shape, &self.path, &self.command, control)?;
        Ok(saved(self.path, what.unwrap_or("mask"), None))
    }
}

impl Job for PathQuery {
    /// `None`: no path leads through the voxel.
    type Output = Option<Box<PathAtVoxel>>;

    fn slot(&self) -> Slot {
        TRACE
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

impl Receive<State> for PathQuery {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, path, _, _| {
            let hover = &mut state.runtime.pathways.hover;
            let requested = hover.running().copied();
            let path = path.map(|path| *path);
            hover.done(key(self), Detail::Full, path, requested.as_ref());
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        let hover = &mut state.runtime.pathways.hover;
        match end {
            // Another query replaced it, whose key is running.
            Unfinished::Cancelled => return true,
            Unfinished::Failed(_) if hover.running() == Some(&key(self)) => hover.fail(),
            Unfinished::Failed(_) | Unfinished::DeviceFailed(_) => {}
        }
        false
    }
}

fn key(job: &PathQuery) -> HoverKey {
    HoverKey {
        pathway: job.pathway.excess.id(),
        voxel: job.voxel,
    }
}
