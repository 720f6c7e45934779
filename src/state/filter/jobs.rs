//! Jobs of the filter.

mod fit;
mod histogram;
mod lines_of_file;
mod scheme;
mod sums;

pub use fit::{
    CommitFit, ESTIMATE, EstimateFit, Excluded, FIT_WEIGHTS, FitEstimate, FitWeights,
    LesionEvidence, StartFrom,
};
pub use histogram::SaveHistogram;
pub use lines_of_file::LinesOfFile;
pub use scheme::{ReadScheme, Scheme};
pub use sums::{BundleSums, SUMS, SumBundles, SummedBundle};
