//! Jobs of the filter.

mod file_lines;
mod fit;
mod histogram;
mod scheme;
mod sums;

pub use file_lines::{FileLines, SurveyFile};
pub use fit::{
    CommitFit, ESTIMATE, EstimateFit, Excluded, FIT_WEIGHTS, FitEstimate, FitWeights,
    LesionEvidence, StartFrom,
};
pub use histogram::SaveHistogram;
pub use scheme::{ReadScheme, Scheme};
pub use sums::{BundleSums, SUMS, SumBundles, SummedBundle};
