//! What can be asked of a worker, and what it answers.

use super::{Outcome, Slot};
use crate::compute::{Backend, Control};
use crate::data::{Gradients, Mask, Region, TensorField, Tractogram, Volume, VolumeKind};
use crate::solvers::{tensor_fit, tracking};
use crate::{io, phantom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum Request {
    /// Opens one file, with the gradients given, or those beside it.
    Open {
        path: PathBuf,
        gradients: Vec<PathBuf>,
    },
    /// Makes the built-in head.
    Demo { seed: u64 },
    /// Finds a brain mask where none is given, fits tensors and makes their maps.
    Fit {
        dwi: Volume,
        gradients: Arc<Gradients>,
        mask: Option<Mask>,
        params: tensor_fit::Params,
    },
    /// Tracks; `fa` is sampled along the streamlines.
    Track {
        field: TensorField,
        fa: Volume,
        regions: Vec<Region>,
        params: tracking::Params,
        /// Fewer seeds: something is being dragged.
        coarse: bool,
        /// The whole brain, not the live result of the regions.
        whole_brain: bool,
    },
    SaveTractogram {
        tractogram: Tractogram,
        path: PathBuf,
        command: String,
    },
    SaveVolume {
        volume: Volume,
        path: PathBuf,
        command: String,
    },
    SaveMask {
        mask: Mask,
        path: PathBuf,
        command: String,
    },
    SavePng {
        size: [u32; 2],
        rgba: Vec<u8>,
        metadata: Vec<(String, String)>,
        path: PathBuf,
    },
}

/// An opened file.
#[derive(Clone, Debug)]
pub enum Loaded {
    Scan {
        dwi: Volume,
        gradients: Option<Arc<Gradients>>,
        gradient_files: Vec<PathBuf>,
    },
    Image(Volume),
    /// An image with values 0 and 1 only.
    Mask(Mask),
    Tractogram(Tractogram),
}

/// A written file, read back and found equal.
#[derive(Clone, PartialEq, Debug)]
pub struct Saved {
    pub path: PathBuf,
    /// `450 streamlines`.
    pub what: String,
}

#[derive(Clone, Debug)]
pub enum Output {
    Opened {
        path: PathBuf,
        loaded: Loaded,
        notes: Vec<String>,
    },
    Demo {
        seed: u64,
        demo: Box<phantom::Demo>,
    },
    Fitted {
        fit: Box<tensor_fit::Output>,
        maps: Box<tensor_fit::Maps>,
        mask: Mask,
        mask_found: bool,
    },
    Tracked {
        output: Arc<tracking::Output>,
        coarse: bool,
        whole_brain: bool,
    },
    Saved(Saved),
}

impl Request {
    pub fn slot(&self) -> Slot {
        match self {
            Self::Open { .. } | Self::Demo { .. } => Slot::Load,
            Self::Fit { .. } => Slot::Fit,
            Self::Track {
                whole_brain: false, ..
            } => Slot::Live,
            Self::Track {
                whole_brain: true, ..
            } => Slot::Track,
            Self::SaveTractogram { .. }
            | Self::SaveVolume { .. }
            | Self::SaveMask { .. }
            | Self::SavePng { .. } => Slot::Save,
        }
    }

    /// For the status line while it runs.
    pub fn label(&self) -> String {
        let file = |p: &Path| {
            p.file_name()
                .map_or_else(String::new, |n| n.to_string_lossy().into_owned())
        };
        match self {
            Self::Open { path, .. } => format!("Opening {}", file(path)),
            Self::Demo { .. } => "Making the demo head".to_owned(),
            Self::Fit { .. } => "Fitting tensors".to_owned(),
            Self::Track { .. } => "Tracking".to_owned(),
            Self::SaveTractogram { path, .. }
            | Self::SaveVolume { path, .. }
            | Self::SaveMask { path, .. }
            | Self::SavePng { path, .. } => format!("Saving {}", file(path)),
        }
    }

    pub(super) fn run(self, backend: &Backend, control: &Control) -> Outcome {
        self.solve(backend, control)
            .map_or_else(Outcome::Failed, Outcome::Done)
    }

    fn solve(self, backend: &Backend, control: &Control) -> Result<Output, String> {
        match self {
            Self::Open { path, gradients } => open(&path, &gradients, control),
            Self::Demo { seed } => {
                let demo = backend
                    .install(|| phantom::Demo::new(seed, control))
                    .map_err(|e| e.to_string())?;
                Ok(Output::Demo {
                    seed,
                    demo: Box::new(demo),
                })
            }
            Self::Fit {
                dwi,
                gradients,
                mask,
                params,
            } => {
                let mask_found = mask.is_none();
                let mask = match mask {
                    Some(mask) => mask,
                    None => tensor_fit::brain_mask(&dwi, &gradients, backend, control)
                        .map_err(|e| e.to_string())?,
                };
                let fit = tensor_fit::fit(&dwi, &gradients, &mask, &params, backend, control)
                    .map_err(|e| e.to_string())?;
                let maps =
                    tensor_fit::maps(&fit.field, backend, control).map_err(|e| e.to_string())?;
                Ok(Output::Fitted {
                    fit: Box::new(fit),
                    maps: Box::new(maps),
                    mask,
                    mask_found,
                })
            }
            Self::Track {
                field,
                fa,
                regions,
                params,
                coarse,
                whole_brain,
            } => {
                // Some is left for what follows: the file, the window.
                let memory = io::available_bytes().map(|bytes| bytes / 10 * 8);
                let mut output =
                    tracking::track_within(&field, &regions, &params, memory, backend, control)
                        .map_err(|e| e.to_string())?;
                let along = backend.install(|| tracking::sample(&fa, &output.kept));
                output.kept = with_lengths(output.kept.with_per_point("fa", along));
                Ok(Output::Tracked {
                    output: Arc::new(output),
                    coarse,
                    whole_brain,
                })
            }
            Self::SaveTractogram {
                tractogram,
                path,
                command,
            } => {
                io::tck::save(&path, &tractogram, &command, control).map_err(|e| e.to_string())?;
                saved(path, format!("{} streamlines", tractogram.len()))
            }
            Self::SaveVolume {
                volume,
                path,
                command,
            } => {
                io::nifti::save_volume(&path, &volume, &command, control)
                    .map_err(|e| e.to_string())?;
                saved(path, "volume".to_owned())
            }
            Self::SaveMask {
                mask,
                path,
                command,
            } => {
                io::nifti::save_mask(&path, &mask, &command, control).map_err(|e| e.to_string())?;
                saved(path, "mask".to_owned())
            }
            Self::SavePng {
                size,
                rgba,
                metadata,
                path,
            } => {
                io::png::save(&path, size, &rgba, &metadata).map_err(|e| e.to_string())?;
                saved(path, "picture".to_owned())
            }
        }
    }
}

fn saved(path: PathBuf, what: String) -> Result<Output, String> {
    Ok(Output::Saved(Saved { path, what }))
}

/// With each streamline's whole length, mm: what the window can colour by.
fn with_lengths(tractogram: Tractogram) -> Tractogram {
    let lengths: Vec<f32> = (0..tractogram.len())
        .map(|i| tractogram.length_mm(i))
        .collect();
    tractogram.with_per_streamline("length", lengths)
}

/// Opens a file; a NIfTI with several volumes is a scan, one with values 0 and 1 only is a mask.
fn open(path: &Path, gradients: &[PathBuf], control: &Control) -> Result<Output, String> {
    let sentence = |e: io::Error| e.to_string();
    let opened = io::open(path, control).map_err(sentence)?;
    let mut notes = opened.warnings().to_vec();
    let loaded = match opened {
        io::Opened::Tractogram(tractogram, _) => {
            let tractogram = with_lengths(tractogram);
            // Looked for here, so that the window does not have to.
            tractogram.bounds();
            Loaded::Tractogram(tractogram)
        }
        io::Opened::Volume(volume, _) if volume.kind == VolumeKind::Rgb => Loaded::Image(volume),
        io::Opened::Volume(volume, _) if volume.frames > 1 => {
            let (grid, volumes) = (&volume.grid, volume.frames);
            let table =
                io::gradients::for_scan(path, gradients, grid, volumes).map_err(sentence)?;
            let (found, files) = match table {
                Some(table) => {
                    notes.extend(table.warnings);
                    (Some(Arc::new(table.gradients)), table.files)
                }
                None => (None, Vec::new()),
            };
            Loaded::Scan {
                dwi: volume,
                gradients: found,
                gradient_files: files,
            }
        }
        io::Opened::Volume(volume, _) => match io::as_mask(&volume) {
            Some(mask) => Loaded::Mask(mask),
            None => Loaded::Image(volume),
        },
    };
    Ok(Output::Opened {
        path: path.to_owned(),
        loaded,
        notes,
    })
}
