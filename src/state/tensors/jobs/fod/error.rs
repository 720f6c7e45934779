//! Errors of estimating and reading fibre orientation distributions.

use crate::data::Sentence;
use crate::data::odf_field::{MAX_IMPLAUSIBLE_SHARE, Tissue};
use crate::data::text::{count, counted};
use crate::io;
use crate::jobs::JobError;
use crate::solvers::csd;
use crate::solvers::response::{NotSeparable, OtherScale};
use std::fmt;
use std::path::{Path, PathBuf};

/// Why there are no distributions: one sentence.
#[derive(Clone, PartialEq, Debug)]
pub enum FodError {
    /// None of the scan's volumes has diffusion weighting and a direction.
    NoShell { volumes: usize },
    /// The signal of a tissue that the other tissues do not have is too small a share of it.
    NotSeparable {
        error: NotSeparable,
        file: Option<PathBuf>,
    },
    /// The response functions are not those of the scan's shells; the file at fault, if it is one.
    Unmatched {
        error: csd::InputError,
        file: Option<PathBuf>,
    },
    /// The mean signals of a file and of the scan, in the shell with this b-value.
    Scale { error: OtherScale, file: PathBuf },
    /// None of the voxels of the mask has signal; some of them hold samples that are not finite.
    NoSignal { voxels: usize, not_finite: usize },
    /// No voxel of the scan lies in the region of a tissue.
    EmptyRegion(Tissue),
    /// The region of a tissue no longer exists.
    MissingRegion(Tissue),
    /// The algorithm does not estimate the response function of a tissue.
    NotEstimated(Tissue),
    /// The number of files of response functions.
    ResponseFiles(usize),
    /// A file of a response function cannot be read.
    Unreadable(io::Error),
    /// All coefficients of an image are 0.
    NoFibres(PathBuf),
    /// The share of the voxels whose coefficients no distribution has.
    Implausible { share: f64, path: PathBuf },
    /// An image of order 0.
    NoDirections(PathBuf),
}

impl fmt::Display for FodError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoShell { volumes } => write!(
                f,
                "Found no volume with diffusion weighting and a direction among {}, expected at least one shell; name \
                 the gradients of this scan",
                counted(*volumes, "volume")
            ),
            Self::NotSeparable { error, file } => write!(f, "{error}{}", of_file(file.as_deref())),
            Self::Unmatched { error, file } => write!(f, "{error}{}", of_file(file.as_deref())),
            Self::Scale { error, file } => write!(f, "{error}: {}", file.display()),
            Self::NoSignal { voxels, not_finite } => write!(
                f,
                "Found no signal in the {} of the mask ({} with a sample that is not a finite number), expected \
                 samples above 0; check the scan and its mask",
                counted(*voxels, "voxel"),
                count(*not_finite as u64)
            ),
            Self::EmptyRegion(tissue) => write!(
                f,
                "Found no voxel of the scan in the region of {}, expected at least one; choose or draw another region",
                tissue.name()
            ),
            Self::MissingRegion(tissue) => write!(
                f,
                "Found no region for the response of {}, expected the one that was chosen before; choose another",
                tissue.name()
            ),
            Self::NotEstimated(tissue) => write!(
                f,
                "Found no estimate of the response of {}, since this algorithm finds white matter alone; choose a \
                 region or a file for it, or leave it out",
                tissue.name()
            ),
            Self::ResponseFiles(count) => {
                let found = match count {
                    0 => "no response function".to_owned(),
                    many => counted(*many, "response function"),
                };
                write!(
                    f,
                    "Found {found}, expected one to three files: white matter, grey matter and CSF; choose these files"
                )
            }
            Self::Unreadable(error) => error.fmt(f),
            Self::NoFibres(path) => write!(
                f,
                "Found no voxel with fibres, expected a distribution in some; name another image: {}",
                path.display()
            ),
            Self::Implausible { share, path } => write!(
                f,
                "Found coefficients that no fibre orientation distribution has in {:.0} % of the voxels, expected at \
                 most {:.0} %; choose another basis, or an image of distributions: {}",
                100.0 * share,
                100.0 * MAX_IMPLAUSIBLE_SHARE,
                path.display()
            ),
            Self::NoDirections(path) => write!(
                f,
                "Found the amount of a tissue without directions, expected distributions of order 2 or more; choose \
                 the image of white matter: {}",
                path.display()
            ),
        }
    }
}

/// The end of a sentence about a file, if there is one.
fn of_file(file: Option<&Path>) -> String {
    file.map_or_else(String::new, |file| format!(": {}", file.display()))
}

impl std::error::Error for FodError {}

impl From<FodError> for JobError {
    fn from(error: FodError) -> Self {
        Self::Sentence(Sentence::new(&error))
    }
}
