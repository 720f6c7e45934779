//! Opening a file: what it holds decides what it becomes.

use super::{Output, Values};
use crate::compute::Control;
use crate::data::tractogram::LENGTH;
use crate::data::{Gradients, Mask, Region, Role, Tractogram, Volume, VolumeKind};
use crate::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An opened file.
#[derive(Clone, Debug)]
pub enum Loaded {
    Scan {
        dwi: Volume,
        gradients: Option<Arc<Gradients>>,
        /// Where they do not lie beside it: one `.b`, or bval and bvec.
        gradient_files: Vec<PathBuf>,
    },
    Image(Volume),
    /// An image with values 0 and 1 only.
    Mask(Mask),
    Tractogram(Tractogram),
}

/// With each streamline's whole length, mm: what the window can colour by. Bounds are looked for here, so
/// that the window does not have to.
pub(super) fn with_lengths(tractogram: Tractogram) -> Tractogram {
    tractogram.bounds();
    // A file may have brought its own.
    if tractogram.per_streamline.contains_key(LENGTH) {
        return tractogram;
    }
    let lengths: Vec<f32> = (0..tractogram.len())
        .map(|i| tractogram.length_mm(i))
        .collect();
    tractogram.with_per_streamline(LENGTH, lengths)
}

/// With the names of the targets that its numbers stand for.
pub(super) fn with_target_names(tractogram: Tractogram, regions: &[Region]) -> Tractogram {
    let targets = regions.iter().filter(|r| r.role == Role::Target);
    let names: Vec<String> = targets.map(|r| r.name.clone()).collect();
    match names.is_empty() {
        true => tractogram,
        false => tractogram.with_codes("target", names),
    }
}

/// Opens a file; a NIfTI with several volumes is a scan, one with values 0 and 1 only is a mask.
pub(super) fn open(
    path: &Path,
    gradients: &[PathBuf],
    told: &io::Told,
    control: &Control,
) -> Result<Output, String> {
    let sentence = |e: io::Error| e.to_string();
    if io::bids::is_folder(path) {
        return io::bids::find(path).map(Output::Found).map_err(sentence);
    }
    if path.is_dir() && !io::trx::is_folder(path) {
        return Err(io::bids::refuse(path).to_string());
    }
    let opened = io::open_told(path, told, control).map_err(sentence)?;
    let mut told = told.clone();
    let mut notes = opened.warnings().to_vec();
    let loaded = match opened {
        io::Opened::Tractogram(tractogram, info) => {
            told.vtk_space = info.taken;
            notes.extend(io::fibres::not_finite(&tractogram));
            let tractogram = Values::shown(with_lengths(tractogram));
            // Looked for here, so that the window does not have to.
            tractogram.bounds();
            Loaded::Tractogram(tractogram)
        }
        io::Opened::Volume(volume, _) if volume.kind == VolumeKind::Rgb => {
            volume.usual_windows();
            Loaded::Image(volume)
        }
        io::Opened::Volume(volume, _) if volume.tensors.is_some() => {
            volume.usual_windows();
            Loaded::Scan {
                dwi: volume,
                gradients: None,
                gradient_files: Vec::new(),
            }
        }
        io::Opened::Volume(volume, _) if volume.frames > 1 => {
            let (grid, volumes) = (&volume.grid, volume.frames);
            let table = match io::gradients::for_scan(path, gradients, grid, volumes) {
                // A table that merely lies there must not stand in the way of its scan.
                Err(error) if gradients.is_empty() && error != io::Error::Cancelled => {
                    let said = error.to_string();
                    let path = error.path().map(|p| format!(": {}", p.display()));
                    let words = path.and_then(|p| said.strip_suffix(&p)).unwrap_or(&said);
                    notes.push(format!("{words}; until then the scan has no gradients"));
                    None
                }
                table => table.map_err(sentence)?,
            };
            let beside = io::gradients::find_beside(path).map_or(Vec::new(), |t| t.paths());
            let (found, files) = match table {
                Some(table) => {
                    notes.extend(table.warnings);
                    let named = Some(table.files).filter(|files| *files != beside);
                    (Some(Arc::new(table.gradients)), named.unwrap_or_default())
                }
                None => {
                    notes.extend(io::gradients::alone_beside(path));
                    (None, Vec::new())
                }
            };
            volume.usual_windows();
            Loaded::Scan {
                dwi: volume,
                gradients: found,
                gradient_files: files,
            }
        }
        io::Opened::Volume(volume, _) if told.colours.is_some() => {
            volume.picture();
            Loaded::Image(volume)
        }
        io::Opened::Volume(volume, _) => match io::as_mask(&volume) {
            Some(mask) => {
                mask.bounds_inside();
                Loaded::Mask(mask)
            }
            None => {
                volume.usual_windows();
                volume.picture();
                Loaded::Image(volume)
            }
        },
    };
    let mask_beside = match &loaded {
        Loaded::Scan { dwi, .. } => io::mask_beside(path, &dwi.grid),
        _ => None,
    };
    Ok(Output::Opened {
        mask_beside,
        path: path.to_owned(),
        loaded,
        told,
        notes,
    })
}
