//! Errors of repeating a pathway and of mapping its sensitivity.

use crate::data::Sentence;
use crate::jobs::JobError;
use std::fmt;

/// Why a pathway is not repeated, or has no map: one sentence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PathwayError {
    /// The costs are not those of the model that is fitted to the scan.
    OtherModel,
    /// The costs do not come from distributions.
    NoAmplitudes,
    /// The fields of a kept pathway are not stored.
    NoFields,
}

impl fmt::Display for PathwayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherModel => {
                "Found a pathway through another model than the scan is fitted with, expected the current pathway of \
                 that model; find it again"
            }
            Self::NoAmplitudes => {
                "Found costs that do not come from amplitudes, expected those of distributions; map the sensitivity to \
                 costs"
            }
            Self::NoFields => {
                "Found a pathway whose fields are not in memory, expected them for its map; map the live pathway, or \
                 find this one again"
            }
        })
    }
}

impl std::error::Error for PathwayError {}

impl From<PathwayError> for JobError {
    fn from(error: PathwayError) -> Self {
        Self::Sentence(Sentence::new(&error))
    }
}
