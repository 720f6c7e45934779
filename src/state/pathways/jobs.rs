//! Jobs of pathways.

use crate::compute::Control;
use crate::data::Shape;
use crate::jobs::{FoundPathway, JobError, Saved, Worker};
use crate::state::files::jobs::{WriteFile, save_shape, saved};
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
