//! What can be asked of a worker, and what it answers.

mod job;
mod names;
mod saving;

use super::bundle::{ForBundle, OfBundle};
use super::bundle_sums::{BundleSums, SumBundles};
use super::commit::{CommitNeeds, Committed, FitCommit, ReadScheme, Scheme};
use super::compare::{ComparePathway, Compared};
use super::error::JobError;
use super::making::{ForRegions, OfRegions};
use super::pathway::{FindPathway, Found};
use super::session::{SessionOutput, SessionRequest};
use super::shoot::{Shoot, Shot, shoot};
use super::steer::{Steer, Steered};
use crate::compute::{Backend, Control, DataId};
use crate::data::{Region, TensorField, Tractogram, Volume};
use crate::io;
use crate::solvers::tractogram::{self, selection};
use crate::solvers::{curves, geodesic, tracking};
use crate::state::files::jobs::open::{with_lengths, with_target_names};
use crate::state::tensors::types::BootstrapInput;
use crate::state::track::jobs::bootstrap::residuals;
pub use saving::Whole;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum Request {
    /// Tracks; `fa` is sampled along the streamlines.
    Track {
        field: TensorField,
        fa: Volume,
        regions: Vec<Region>,
        params: curves::Params,
        /// For a bootstrap.
        resample: Option<Box<BootstrapInput>>,
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
    /// Finds a pathway between regions.
    Pathway(Box<FindPathway>),
    Compare(Box<ComparePathway>),
    Commit(Box<FitCommit>),
    /// What that would take, or why it cannot be.
    CommitNeeds(Box<FitCommit>),
    SumBundles(Box<SumBundles>),
    ReadScheme(ReadScheme),
    /// The surface that a hand steers.
    Steer(Box<Steer>),
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
    Pathway(Box<Found>),
    Compared(Box<Compared>),
    Committed(Box<Committed>),
    CommitNeeds(CommitNeeds),
    BundleSums(BundleSums),
    Scheme(Scheme),
    Steered(Box<Steered>),
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
            Self::Session(_) | Self::Steer(_) => {
                Err(JobError::Sentence("This is for no solver".to_owned()))
            }
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
                        let residuals = residuals(&scan, memory_for_curves(), backend, control)?;
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
            Self::Pathway(wanted) => Ok(Output::Pathway(Box::new(wanted.run(backend, control)?))),
            Self::Compare(wanted) => Ok(Output::Compared(Box::new(wanted.run(backend, control)?))),
            Self::Commit(wanted) => {
                let done = wanted.run(backend, control)?;
                Ok(Output::Committed(Box::new(done)))
            }
            Self::CommitNeeds(wanted) => Ok(Output::CommitNeeds(wanted.needs(backend)?)),
            Self::SumBundles(wanted) => Ok(Output::BundleSums(wanted.run(backend, control)?)),
            Self::ReadScheme(wanted) => Ok(Output::Scheme(wanted.run()?)),
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
