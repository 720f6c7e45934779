//! What can be asked of a worker, and what it answers.

mod job;
mod names;
mod saving;

use super::Loaded;
use super::bundle::{ForBundle, OfBundle};
use super::error::JobError;
use super::fitting;
use super::head;
use super::making::{ForRegions, OfRegions};
use super::open::{open, with_lengths, with_target_names};
use super::resample::Resample;
use super::session::{SessionOutput, SessionRequest};
use super::shoot::{Shoot, Shot, shoot};
use crate::compute::{Backend, Control, DataId};
use crate::data::{Gradients, Mask, Region, TensorField, Tractogram, Volume};
use crate::solvers::tractogram::selection;
use crate::solvers::{curves, geodesic, tensor_fit, tracking, tractogram};
use crate::{io, phantom};
pub use saving::Whole;
use std::path::PathBuf;
use std::sync::Arc;

/// All that a fit depends on: its result is put where just this is wanted.
#[derive(Clone, PartialEq, Debug)]
pub struct FitKey {
    /// The scan's image.
    pub scan: DataId,
    /// `None`: the mask is found from the scan itself.
    pub mask: Option<DataId>,
    pub params: tensor_fit::Params,
}

#[derive(Clone, Debug)]
pub enum Request {
    /// Opens one file, with the gradients given, or those beside it.
    Open {
        path: PathBuf,
        gradients: Vec<PathBuf>,
    },
    /// Opens one file as the user says it is.
    OpenTold {
        path: PathBuf,
        told: io::Told,
    },
    /// Makes the built-in head.
    Demo {
        seed: u64,
    },
    /// Finds a brain mask where none is given, fits tensors and makes their maps; of an image that
    /// holds tensors these are taken.
    Fit {
        dwi: Volume,
        /// None for an image of tensors.
        gradients: Option<Arc<Gradients>>,
        mask: Option<Mask>,
        params: tensor_fit::Params,
    },
    /// Tracks; `fa` is sampled along the streamlines.
    Track {
        field: TensorField,
        fa: Volume,
        regions: Vec<Region>,
        params: curves::Params,
        /// For a bootstrap.
        resample: Option<Box<Resample>>,
        /// Fewer seeds: something is being dragged.
        coarse: bool,
        /// The whole brain, not the live result of the regions.
        whole_brain: bool,
    },
    /// Shoots geodesic rays and cuts them by their measure.
    Shoot(Box<Shoot>),
    /// Cuts rays that were shot.
    Rank {
        all: Tractogram,
        cut: geodesic::Cut,
    },
    /// Applies rules to streamlines.
    Select {
        tractogram: Tractogram,
        rules: selection::Rules,
    },
    /// Work on the streamlines of one layer.
    Bundle(Box<ForBundle>),
    /// Regions by computation, and files of all of them.
    Regions(Box<ForRegions>),
    Session(SessionRequest),
}

/// A written file, read back and found equal.
#[derive(Clone, Debug)]
pub struct Saved {
    pub path: PathBuf,
    /// `450 streamlines`.
    pub what: String,
    /// The data that the file holds in full: nothing of it would be lost with the window.
    pub whole: Option<Whole>,
    /// Parts of the opened file that this one does not hold, one sentence each.
    pub losses: Vec<String>,
}

#[derive(Clone, Debug)]
pub enum Output {
    Opened {
        path: PathBuf,
        loaded: Loaded,
        /// What was taken where the file is silent: it may be asked about.
        told: io::Told,
        notes: Vec<io::Remark>,
        /// A file beside a scan that seems to be its brain mask.
        mask_beside: Option<PathBuf>,
        /// Why a scan has no gradients although something of a table lies beside it: one sentence with the name of
        /// a file, which `notes` hold without it.
        gradients_refused: Option<String>,
    },
    /// A folder was looked through instead.
    Found(io::bids::Folder),
    Demo {
        seed: u64,
        demo: Box<phantom::Demo>,
    },
    Fitted {
        key: FitKey,
        fit: Box<tensor_fit::Output>,
        maps: Box<tensor_fit::Maps>,
        mask: Mask,
        /// How reliable the mask is, where it was found from the scan.
        found: Option<tensor_fit::MaskReport>,
    },
    Tracked {
        output: Arc<curves::Output>,
        /// What was asked for: tensors, regions, parameters.
        field: DataId,
        regions: Vec<Region>,
        params: curves::Params,
        coarse: bool,
        whole_brain: bool,
    },
    Shot(Box<Shot>),
    Ranked {
        /// Of what was cut.
        all: DataId,
        cut: geodesic::Cut,
        kept: Tractogram,
        least: Option<f32>,
    },
    /// What rules keep of streamlines.
    Selected(Tractogram, selection::Selection),
    Bundle(OfBundle),
    Saved(Saved),
    Session(SessionOutput),
    Regions(OfRegions),
}

impl Request {
    pub(super) fn solve(self, backend: &Backend, control: &Control) -> Result<Output, JobError> {
        match self {
            Self::Session(_) => Err(JobError::Sentence("This is for no solver".to_owned())),
            Self::Open { path, gradients } => {
                Ok(open(&path, &gradients, &io::Told::default(), control)?)
            }
            Self::OpenTold { path, told } => Ok(open(&path, &[], &told, control)?),
            Self::Demo { seed } => {
                let demo = Box::new(head::make(seed, backend, control)?);
                Ok(Output::Demo { seed, demo })
            }
            Self::Fit {
                dwi,
                gradients,
                mask,
                params,
            } => fitting::fit(&dwi, gradients.as_deref(), mask, params, backend, control),
            Self::Track {
                field,
                fa,
                regions,
                params,
                resample,
                coarse,
                whole_brain,
            } => {
                let mut output = match resample.filter(|_| params.repetitions.is_some()) {
                    Some(scan) => {
                        let residuals = scan.residuals(memory_for_curves(), backend, control)?;
                        let memory = memory_for_curves();
                        tracking::track_bootstrap(
                            &field, &residuals, &regions, &params, memory, backend, control,
                        )?
                    }
                    None => {
                        let memory = memory_for_curves();
                        tracking::track_within(&field, &regions, &params, memory, backend, control)?
                    }
                };
                output.look_for_starts(&field, &regions, &params, backend, control)?;
                let along = backend.install(|| tractogram::sample(&fa, &output.kept));
                let kept = output.kept.with_per_point("fa", along);
                let kept = with_target_names(with_lengths(kept), &regions);
                output.kept = kept.with_grid(field.grid.clone());
                Ok(Output::Tracked {
                    output: Arc::new(output),
                    field: field.id(),
                    regions,
                    params,
                    coarse,
                    whole_brain,
                })
            }
            Self::Shoot(wanted) => shoot(*wanted, backend, control),
            Self::Rank { all, cut } => {
                let (kept, least) = geodesic::rank(&all, cut);
                Ok(Output::Ranked {
                    all: all.id(),
                    cut,
                    kept,
                    least,
                })
            }
            Self::Select { tractogram, rules } => {
                let selection = selection::select(&tractogram, &rules, backend, control)?;
                let kept = selection::copied(&tractogram, &selection.marks, memory_for_curves())?;
                Ok(Output::Selected(kept, selection))
            }
            Self::Bundle(work) => work.run(backend, control),
            Self::Regions(work) => work.run(backend, control),
        }
    }
}

/// Bytes; some is left for what follows: the file, the window.
pub fn memory_for_curves() -> Option<u64> {
    io::available_bytes().map(|bytes| bytes / 10 * 8)
}
