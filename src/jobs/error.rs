//! Why a request failed, and whether it may run elsewhere.

use super::worker::sentence;
use super::{Outcome, Request};
use crate::compute::cuda;
use crate::solvers;

/// What a graphics card failed to do.
#[derive(Clone, Debug)]
pub struct CardFailure {
    /// One sentence about what was found.
    pub found: String,
    /// The same with what to do on the command line.
    pub sentence: String,
    /// To be asked for again.
    pub request: Box<Request>,
}

/// Why a request failed.
pub(super) enum Fault {
    Said(String),
    Card(cuda::Error),
}

impl Fault {
    pub fn outcome(self, request: Box<Request>) -> Outcome {
        match self {
            Self::Said(sentence) => Outcome::Failed(sentence),
            Self::Card(error) => Outcome::CardFailed(CardFailure {
                found: sentence(&error),
                sentence: error.to_string(),
                request,
            }),
        }
    }
}

impl From<String> for Fault {
    fn from(sentence: String) -> Self {
        Self::Said(sentence)
    }
}

impl From<solvers::Error> for Fault {
    fn from(error: solvers::Error) -> Self {
        match error {
            solvers::Error::Card(error) => Self::Card(error),
            error => Self::Said(error.to_string()),
        }
    }
}

impl From<crate::compute::Cancelled> for Fault {
    fn from(cancelled: crate::compute::Cancelled) -> Self {
        solvers::Error::from(cancelled).into()
    }
}
