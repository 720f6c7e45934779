//! What can be asked of a worker, and what it answers.

mod job;
mod names;
mod saving;

use super::bundle_sums::{BundleSums, SumBundles};
use super::commit::{CommitNeeds, Committed, FitCommit, ReadScheme, Scheme};
use super::compare::{ComparePathway, Compared};
use super::error::JobError;
use super::pathway::{FindPathway, Found};
use super::session::{SessionOutput, SessionRequest};
use super::steer::{Steer, Steered};
use crate::compute::{Backend, Control};
use crate::io;
pub use saving::Whole;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub enum Request {
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
    Pathway(Box<Found>),
    Compared(Box<Compared>),
    Committed(Box<Committed>),
    CommitNeeds(CommitNeeds),
    BundleSums(BundleSums),
    Scheme(Scheme),
    Steered(Box<Steered>),
    Session(SessionOutput),
}

impl Request {
    pub(super) fn solve(self, backend: &Backend, control: &Control) -> Result<Output, JobError> {
        match self {
            Self::Session(_) | Self::Steer(_) => {
                Err(JobError::Sentence("This is for no solver".to_owned()))
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
        }
    }
}

/// Bytes; some is left for what follows: the file, the window.
pub fn memory_for_curves() -> Option<u64> {
    io::available_bytes().map(|bytes| bytes / 10 * 8)
}
