//! Writing files.

use super::super::Saved;
use super::super::fault::Fault;
use super::Output;
use crate::compute::Control;
use crate::data::{DataId, Shape, Surface};
use crate::io;
use std::path::{Path, PathBuf};

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
            let surface = Surface::of_shape(shape);
            let saved = io::surface::save(path, &surface, command, control);
            (saved, Some("surface"))
        }
    };
    saved.map_err(|e| e.to_string())?;
    Ok(what)
}

/// `whole`: the data that the file holds in full.
pub(super) fn saved(path: PathBuf, what: String, whole: Option<DataId>) -> Result<Output, Fault> {
    Ok(Output::Saved(Saved { path, what, whole }))
}
