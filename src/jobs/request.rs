//! What can be asked of a worker, and what it answers.

mod job;
mod names;
mod saving;

use super::error::JobError;
use super::session::{SessionOutput, SessionRequest};
use crate::compute::{Backend, Control};
use crate::io;
pub use saving::Whole;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub enum Request {
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
    Session(SessionOutput),
}

impl Request {
    pub(super) fn solve(self, backend: &Backend, control: &Control) -> Result<Output, JobError> {
        match self {
            Self::Session(_) => Err(JobError::Sentence("This is for no solver".to_owned())),
        }
    }
}

/// Bytes; some is left for what follows: the file, the window.
pub fn memory_for_curves() -> Option<u64> {
    io::available_bytes().map(|bytes| bytes / 10 * 8)
}
