//! Jobs of regions.

pub mod compare;
pub mod csv;
pub mod labels;
pub mod make;
pub mod save;
pub mod statistics;

use crate::compute::Control;
use crate::data::{DataId, Grid, Shape};
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
            true => self.shape.clone(),
            false => Arc::new(Shape::Mask(self.shape.mask_on(&self.grid).on_whole_grid())),
        };
        let surface = save_shape(&shape, &self.path, &self.command, control)?;
        // A surface does not hold the mask's voxels.
        let masks = match surface {
            None => vec![(self.path.clone(), mask_id(&self.shape))],
            Some(_) => Vec::new(),
        };
        Ok(Saved {
            masks,
            ..saved(self.path, surface.unwrap_or("region"), None)
        })
    }
}

/// The id of a mask; its voxels are written on the grid of its own image.
fn mask_id(shape: &Shape) -> Option<DataId> {
    match shape {
        Shape::Mask(mask) => Some(mask.id()),
        Shape::Sphere { .. } | Shape::Box { .. } => None,
    }
}
