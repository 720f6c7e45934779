//! Why parts of a session cannot be restored.

use crate::data::text::{count, counted};
use crate::io;
use crate::io::session::{Missing, PackedMaskError, PackedNumbersError};
use crate::parameters::ParamError;
use crate::solvers;
use crate::solvers::level_set;
use std::fmt;
use std::path::PathBuf;

/// Why the content of a session cannot be parsed: the beginning of a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParseError {
    /// The mistake in the JSON text, after a verb.
    Json(String),
    /// Two layers have the same number.
    LayerNumbers,
    /// More snapshots than a session can have.
    Snapshots(usize),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Found a session with ")?;
        match self {
            Self::Json(problem) => f.write_str(problem),
            Self::LayerNumbers => f.write_str("two layers with the same number"),
            Self::Snapshots(snapshots) => write!(f, "{snapshots} snapshots"),
        }
    }
}

impl std::error::Error for ParseError {}

/// Why a mask or numbers of a session cannot be read: the end of a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArrayError {
    /// The masks of the session take more memory than is available.
    MaskMemory,
    /// The numbers of the session take more memory than is available.
    NumbersMemory,
    Mask(PackedMaskError),
    Numbers(PackedNumbersError),
}

impl fmt::Display for ArrayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaskMemory => f.write_str("it needs more memory than is available"),
            Self::NumbersMemory => f.write_str("they need more memory than is available"),
            Self::Mask(error) => error.fmt(f),
            Self::Numbers(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ArrayError {}

impl From<PackedMaskError> for ArrayError {
    fn from(error: PackedMaskError) -> Self {
        Self::Mask(error)
    }
}

impl From<PackedNumbersError> for ArrayError {
    fn from(error: PackedNumbersError) -> Self {
        Self::Numbers(error)
    }
}

/// Why a layer of a session is missing: one sentence.
#[derive(Clone, PartialEq, Debug)]
pub enum NotRestored {
    /// Kept streamlines whose file next to the session is missing.
    Gone(PathBuf),
    /// The session does not list a file with this number.
    NoFile(usize),
    /// The session does not list an origin with this number.
    NoOrigin(usize),
    MissingFile {
        why: Missing,
        path: PathBuf,
    },
    /// The session contains the recipe of streamlines only.
    RecipeOnly,
    /// The content of a layer and its origin in the session are of two kinds.
    AnotherKind,
    /// The layer is of a kind that is not read from a file.
    NotRead,
    /// The path contains no layer.
    Empty(PathBuf),
    File(io::Error),
    /// The streamlines of a file could not be edited or moved.
    Curves {
        error: solvers::Error,
        path: PathBuf,
    },
    /// The layer could not be computed.
    Solver(solvers::Error),
    /// The streamlines that were kept from a large file could not be read again: one sentence.
    KeptFromFile(String),
    /// A density map without its streamlines.
    NoStreamlines,
    Part(PartError),
}

impl fmt::Display for NotRestored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(path) => {
                write!(f, "Its file beside the session is gone: {}", path.display())
            }
            Self::NoFile(number) => write!(f, "The session has no file {number}"),
            Self::NoOrigin(number) => write!(f, "The session has no origin {number}"),
            Self::MissingFile { why, path } => write!(f, "{why}: {}", path.display()),
            Self::RecipeOnly => f.write_str("The session has its recipe, not its streamlines"),
            Self::AnotherKind => f.write_str("The session file describes this layer differently"),
            Self::NotRead => f.write_str("Nothing is read for this layer"),
            Self::Empty(path) => write!(f, "Nothing was read: {}", path.display()),
            Self::File(error) => error.fmt(f),
            Self::Curves { error, path } => write!(f, "{error}: {}", path.display()),
            Self::Solver(error) => error.fmt(f),
            Self::KeptFromFile(sentence) => f.write_str(sentence),
            Self::NoStreamlines => f.write_str("The streamlines that it maps are missing"),
            Self::Part(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NotRestored {}

impl From<io::Error> for NotRestored {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl From<solvers::Error> for NotRestored {
    fn from(error: solvers::Error) -> Self {
        Self::Solver(error)
    }
}

impl From<PartError> for NotRestored {
    fn from(error: PartError) -> Self {
        Self::Part(error)
    }
}

/// Why a part of a session cannot be restored: half a sentence, unless it says otherwise.
#[derive(Clone, PartialEq, Debug)]
pub enum PartError {
    /// The session does not list a file with this number.
    NoFile(usize),
    /// The session does not list an origin with this number.
    NoOrigin(usize),
    Parameters(Box<ParamError>),
    /// The script of a surface; one sentence.
    Script(level_set::InputError),
    /// A script with this many steps.
    Steps(u64),
    InitialMask,
    SpeedImage,
    SegmentedImage,
    DamagedMask,
    SphereSize,
    BoxSize,
    /// The session does not list the mask.
    NoMask,
    UnreadableMask(ArrayError),
    /// The layer that is the mask could not be opened.
    UnopenedMask(Box<NotRestored>),
    /// The layer that is the mask is missing.
    OwnMask,
    /// A region that another item refers to.
    Region {
        name: String,
        error: Box<PartError>,
    },
    /// The session does not list the weights.
    NoWeights,
    Array(ArrayError),
    StreamlinesOfWeights,
    /// Weights for a number of streamlines other than that of the layer.
    WeightCount {
        weights: usize,
        streamlines: usize,
    },
    OtherStreamlines,
    NoWeightFit,
    /// The session does not list the values of a map.
    NoValues,
    /// One sentence.
    MapGrid,
    /// The session names neither a grid nor a voxel size of a map; one sentence.
    NoMapGrid,
    MapVoxels,
    StreamlinesOfMap,
    ScanOfMap,
    /// The origin of streamlines is not a recipe.
    NoRecipe,
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoFile(number) => return write!(f, "the session has no file {number}"),
            Self::NoOrigin(number) => return write!(f, "the session has no origin {number}"),
            Self::Parameters(error) => return error.fmt(f),
            Self::Script(error) => return error.fmt(f),
            Self::Steps(steps) => return write!(f, "it has {steps} steps"),
            Self::InitialMask => "its initial mask is damaged",
            Self::SpeedImage => "an image of its speeds is missing",
            Self::SegmentedImage => "the image that it grew on is missing",
            Self::DamagedMask => "its mask is damaged",
            Self::SphereSize => "its sphere has no size",
            Self::BoxSize => "its box has no size",
            Self::NoMask => "its mask is not in the session",
            Self::UnreadableMask(error) => return write!(f, "its mask cannot be read: {error}"),
            Self::UnopenedMask(error) => return write!(f, "its mask could not be opened: {error}"),
            Self::OwnMask => "its own mask is missing",
            Self::Region { name, error } => {
                return write!(f, "its region “{name}” is unusable: {error}");
            }
            Self::NoWeights => "the session does not contain them",
            Self::Array(error) => return error.fmt(f),
            Self::StreamlinesOfWeights => "their streamlines are missing",
            Self::WeightCount {
                weights,
                streamlines,
            } => {
                let weights = counted(*weights, "streamline");
                let streamlines = count(*streamlines as u64);
                return write!(f, "they are for {weights}, but there are {streamlines}");
            }
            Self::OtherStreamlines => "they belong to different streamlines",
            Self::NoWeightFit => "the session does not say what they were fitted to",
            Self::NoValues => "the session has no values of it",
            Self::MapGrid => "The grid of the map is invalid",
            Self::NoMapGrid => "The session does not name the grid of the map",
            Self::MapVoxels => "it has another number of voxels than its grid",
            Self::StreamlinesOfMap => "its streamlines are missing",
            Self::ScanOfMap => "its scan is missing",
            Self::NoRecipe => "its session does not say how",
        })
    }
}

impl std::error::Error for PartError {}

impl From<ParamError> for PartError {
    fn from(error: ParamError) -> Self {
        Self::Parameters(Box::new(error))
    }
}

impl From<level_set::InputError> for PartError {
    fn from(error: level_set::InputError) -> Self {
        Self::Script(error)
    }
}

impl From<ArrayError> for PartError {
    fn from(error: ArrayError) -> Self {
        Self::Array(error)
    }
}
