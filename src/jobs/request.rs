//! What can be asked of a worker, and what it answers.

mod job;
mod names;
mod saving;

use super::bundle::{ForBundle, OfBundle};
use super::error::JobError;
use super::session::{SessionOutput, SessionRequest};
use crate::compute::{Backend, Control};
use crate::data::Tractogram;
use crate::io;
use crate::solvers::tractogram::selection;
pub use saving::Whole;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub enum Request {
    /// Applies rules to streamlines.
    Select {
        tractogram: Tractogram,
        rules: selection::Rules,
    },
    /// Work on the streamlines of one layer.
    Bundle(Box<ForBundle>),
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
    /// What rules keep of streamlines.
    Selected(Tractogram, selection::Selection),
    Bundle(OfBundle),
    Saved(Saved),
    Session(SessionOutput),
}

impl Request {
    pub(super) fn solve(self, backend: &Backend, control: &Control) -> Result<Output, JobError> {
        match self {
            Self::Session(_) => Err(JobError::Sentence("This is for no solver".to_owned())),
            Self::Select { tractogram, rules } => {
                let selection = selection::select(&tractogram, &rules, backend, control)?;
                let kept = selection::copied(&tractogram, &selection.marks, memory_for_curves())?;
                Ok(Output::Selected(kept, selection))
            }
            Self::Bundle(work) => work.run(backend, control),
        }
    }
}

/// Bytes; some is left for what follows: the file, the window.
pub fn memory_for_curves() -> Option<u64> {
    io::available_bytes().map(|bytes| bytes / 10 * 8)
}
