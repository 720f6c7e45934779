//! Writing files.

use super::super::Saved;
use super::super::error::JobError;
use super::Output;
use crate::compute::{Control, memory};
use crate::data::{DataId, Shape, Surface, Tractogram};
use crate::io;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Data that a file holds in full.
#[derive(Clone, Debug)]
pub struct Whole {
    pub id: DataId,
    /// The values per streamline that were written, for comparison with those that there are later.
    pub per_streamline: BTreeMap<String, Arc<[f32]>>,
}

impl From<DataId> for Whole {
    fn from(id: DataId) -> Self {
        let per_streamline = BTreeMap::new();
        Self { id, per_streamline }
    }
}

impl From<&Tractogram> for Whole {
    fn from(tractogram: &Tractogram) -> Self {
        Self {
            id: tractogram.id(),
            per_streamline: tractogram.per_streamline.clone(),
        }
    }
}

/// As a surface, where the name says so, else as a mask; returns "surface" for one.
pub(super) fn save_shape(
    shape: &Shape,
    path: &Path,
    command: &str,
    control: &Control,
) -> Result<Option<&'static str>, String> {
    let (saved, what) = match shape {
        Shape::Mask(mask) if !io::surface::is_named(path) => {
            (io::nifti::save_mask(path, mask, command, control), None)
        }
        shape => {
            let voxels = match shape {
                Shape::Mask(mask) => mask.grid.voxel_count(),
                Shape::Sphere { .. } | Shape::Box { .. } => 0,
            };
            let room = memory::claim_for::<u32>("The surface of the mask", voxels, 1);
            room.map_err(|e| e.to_string())?;
            let surface = Surface::of_shape(shape);
            let saved = io::surface::save(path, &surface, command, control);
            (saved, Some("surface"))
        }
    };
    saved.map_err(|e| e.to_string())?;
    Ok(what)
}

/// `whole`: the data that the file holds in full.
pub(super) fn saved(path: PathBuf, what: String, whole: Option<Whole>) -> Result<Output, JobError> {
    Ok(Output::Saved(Saved {
        path,
        what,
        whole,
        losses: Vec::new(),
    }))
}
