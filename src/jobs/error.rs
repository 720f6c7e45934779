//! Why a job failed, and whether it may run elsewhere.

use super::Outcome;
use super::worker::sentence;
use crate::compute::memory::Shortage;
use crate::compute::{BackendError, cuda};
use crate::data::Sentence;
use crate::data::tissue_map::TissueMapError;
use crate::{io, solvers};

/// A failure of a graphics card; the same job may run on the CPU.
#[derive(Clone, Debug)]
pub struct DeviceFailure {
    /// One sentence about the failure.
    pub cause: String,
    /// One sentence about the failure, with advice for the command line.
    pub sentence: String,
}

/// Why a job failed.
pub enum JobError {
    /// One sentence.
    Sentence(Sentence),
    Device(cuda::Error),
}

impl JobError {
    pub(super) fn outcome<T>(self) -> Outcome<T> {
        match self {
            Self::Sentence(sentence) => Outcome::Failed(sentence),
            Self::Device(error) => Outcome::DeviceFailed(DeviceFailure {
                cause: sentence(&error),
                sentence: error.to_string(),
            }),
        }
    }
}

impl From<io::Error> for JobError {
    fn from(error: io::Error) -> Self {
        Self::Sentence(Sentence::new(&error))
    }
}

impl From<TissueMapError> for JobError {
    fn from(error: TissueMapError) -> Self {
        Self::Sentence(Sentence::new(&error))
    }
}

impl From<Shortage> for JobError {
    fn from(shortage: Shortage) -> Self {
        solvers::Error::from(shortage).into()
    }
}

/// The backend is unchanged, so that the job may not run elsewhere.
impl From<BackendError> for JobError {
    fn from(error: BackendError) -> Self {
        Self::Sentence(match error {
            BackendError::Cuda(error) => sentence(&error).into(),
            error @ BackendError::Threads { .. } => Sentence::new(&error),
        })
    }
}

impl From<solvers::Error> for JobError {
    fn from(error: solvers::Error) -> Self {
        match error {
            solvers::Error::Card(error) => Self::Device(error),
            error => Self::Sentence(Sentence::new(&error)),
        }
    }
}

impl From<crate::compute::Cancelled> for JobError {
    fn from(cancelled: crate::compute::Cancelled) -> Self {
        solvers::Error::from(cancelled).into()
    }
}
