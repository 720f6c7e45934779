//! Jobs of regions.

pub mod labels;
pub mod make;
pub mod save;

use crate::compute::Control;
use crate::data::{Grid, Shape};
use crate::io;
use crate::jobs::{JobError, Saved, Worker};
use crate::state::files::jobs::{WriteFile, save_shape, saved};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Saves a region as a mask: on `grid`, or on its own if it is a mask.
#[derive(Clone, Debug)]
pub struct SaveRegion {
    pub shape: Arc<Shape>,
    pub grid: Arc<Grid>,
    pub path: PathBuf,
    pub command: String,
}

impl WriteFile for SaveRegion {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let shape = match io::surface::is_named(&self.path) {
            true => self.shape,
            false => Arc::new(Shape::Mask(self.shape.mask_on(&self.grid).on_whole_grid())),
        };
        let what = save_shape(&shape, &self.path, &self.command, control)?;
        Ok(saved(self.path, what.unwrap_or("region"), None))
    }
}
