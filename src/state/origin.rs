//! Origins of layers: one record for each, in a table that only grows. A layer refers to its origin by number, and an
//! origin to its inputs: results computed from a layer stay described when the layer is deleted, and no record contains
//! another of its kind.
//!
//! Command lines ([`Document::command_line`]), methods, replay, sessions and the layer's information all read this.

pub mod commands;
mod fods;
mod masks;
pub mod pathways;
pub mod scripts;
mod sources;

pub use fods::{FodMapRecipe, FodRecipe};
pub use masks::MaskOrigins;

use crate::data::BuiltInPhantom;
use crate::data::axis_change::AxisChange;
use crate::io::{Reading, WarpReading};
use crate::solvers::tensor_fit::{self, FitMap};
use crate::solvers::tractogram::selection::Edit;
use crate::state::alignment::AlignedBy;
use crate::state::command_line::CommandLine;
use crate::state::core::layer::Input;
use crate::state::core::layer::{Layer, LayerId, OriginId};
use crate::state::density::recipe::DensityRecipe;
use crate::state::document::Document;
pub use crate::state::files::types::PhantomPart;
use crate::state::filter::{FitInputs, FittedWeights, WeightMapRecipe, WeightRecipe};
use crate::state::pathways::recipe::{SensitivityRecipe, ShareRecipe};
use crate::state::segment::SegmentRecipe;
use crate::state::tensors::recipe::fod::FodMap;
use crate::state::tensors::recipe::{FitMask, ScanSource};
use crate::state::track::recipe::CurveRecipe;
use crate::state::track_noise::recipe::StreamlineShareRecipe;
use glam::DAffine3;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The origin of a layer.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Origin {
    /// Neither a session nor a command can recompute it.
    #[default]
    Unknown,
    /// A file, with the user's reading where the file leaves something open.
    File {
        file: PathBuf,
        reading: Reading,
        /// Gradient files of a scan that cannot be derived from its name: one `.b`, or bval and bvec.
        gradients: Vec<PathBuf>,
    },
    /// A built-in head.
    Phantom {
        head: BuiltInPhantom,
        part: PhantomPart,
    },
    Computed(Recipe),
    /// Streamlines some of which a step kept.
    Edited {
        input: OriginId,
        step: Edit,
    },
    /// Moved in the world, mm.
    Moved {
        input: OriginId,
        transform: DAffine3,
        aligned_by: AlignedBy,
    },
    /// A scan whose gradient axes were permuted or flipped.
    Reoriented {
        input: OriginId,
        turn: AxisChange,
    },
}

/// Every recipe can state its inputs, and the command line that follows it.
pub trait Describe {
    /// The origins of its inputs.
    fn inputs(&self) -> Vec<OriginId>;
    /// The command line that recomputes the result. The document gives the files of the inputs.
    fn command_line(&self, document: &Document) -> CommandLine;
}

/// The kinds of results, each with the record of its recipe.
macro_rules! recipes {
    ($($(#[$doc:meta])* $name:ident: $record:ty;)*) => {
        /// The recipe of a result that was computed here: its inputs, by the numbers of their origins, and its parameters.
        /// It lasts as long as the result. A [`CommandLine`] is derived from it and never stored.
        #[derive(Clone, PartialEq, Debug)]
        pub enum Recipe {
            $($(#[$doc])* $name(Arc<$record>),)*
        }

        impl Recipe {
            pub fn describe(&self) -> &dyn Describe {
                match self {
                    $(Self::$name(record) => &**record,)*
                }
            }
        }

        $(impl From<$record> for Origin {
            fn from(record: $record) -> Self {
                Self::Computed(Recipe::$name(Arc::new(record)))
            }
        })*
    };
}

recipes! {
    /// A brain mask found from a scan.
    BrainMask: BrainMaskRecipe;
    /// A tensor fit; not a layer itself.
    Fit: FitRecipe;
    /// A map of a tensor fit.
    FitMap: FitMapRecipe;
    /// Fibre orientation distributions; not a layer themselves.
    Fods: FodRecipe;
    /// A map of distributions.
    FodMap: FodMapRecipe;
    /// Kept streamlines or rays.
    Curves: CurveRecipe;
    /// A density map.
    Density: DensityRecipe;
    /// A mask by a level set.
    Segment: SegmentRecipe;
    /// A map of the voxels on which a pathway depends.
    Sensitivity: SensitivityRecipe;
    /// The share of repetitions whose pathways contain the voxels.
    Share: ShareRecipe;
    /// The share of repetitions with a streamline through the voxels.
    StreamlineShare: StreamlineShareRecipe;
    /// A COMMIT fit; not a layer itself.
    Weights: WeightRecipe;
    /// A map of such a fit.
    WeightMap: WeightMapRecipe;
}

/// The recipe of a brain mask found from a scan.
#[derive(Clone, PartialEq, Debug)]
pub struct BrainMaskRecipe {
    pub scan: OriginId,
}

/// The recipe of a tensor fit.
#[derive(Clone, PartialEq, Debug)]
pub struct FitRecipe {
    pub scan: OriginId,
    pub mask: FitMask,
    pub params: tensor_fit::Params,
}

/// The recipe of a map of a tensor fit.
#[derive(Clone, PartialEq, Debug)]
pub struct FitMapRecipe {
    pub fit: OriginId,
    pub map: FitMap,
}

impl Origin {
    /// A file without a reading.
    pub fn file(file: impl Into<PathBuf>) -> Self {
        Self::opened(file.into(), Reading::default())
    }

    /// A file, with the user's reading.
    pub fn opened(file: PathBuf, reading: Reading) -> Self {
        Self::File {
            file,
            reading,
            gradients: Vec::new(),
        }
    }

    /// An opened scan with the gradient files that cannot be derived from its name.
    pub fn with_gradients(self, gradients: Vec<PathBuf>) -> Self {
        match self {
            Self::File { file, .. } if !gradients.is_empty() => Self::File {
                file,
                reading: Reading::default(),
                gradients,
            },
            origin => origin,
        }
    }

    /// The map of a tensor fit; `None` for other origins.
    pub fn fit_map(&self) -> Option<FitMap> {
        match self {
            Self::Computed(Recipe::FitMap(recipe)) => Some(recipe.map),
            _ => None,
        }
    }

    /// The map of a tensor fit, or the brain mask found for one; `None` for other origins.
    pub fn fit_map_or_mask(&self) -> Option<FitMap> {
        match self.is_automatic_mask() {
            true => Some(FitMap::Mask),
            false => self.fit_map(),
        }
    }

    /// The map of fibre orientation distributions; `None` for other origins.
    pub fn fod_map(&self) -> Option<FodMap> {
        match self {
            Self::Computed(Recipe::FodMap(recipe)) => Some(recipe.map),
            _ => None,
        }
    }

    /// Whether it is a map or a mask that is computed again whenever the scan is opened.
    pub fn is_recomputed_from_scan(&self) -> bool {
        self.fit_map().is_some() || self.fod_map().is_some() || self.is_automatic_mask()
    }

    /// Whether both are the same map, or brain masks found here, if perhaps of different computations.
    pub fn is_same_map(&self, other: &Self) -> bool {
        let maps = |origin: &Self| (origin.fit_map_or_mask(), origin.fod_map());
        self.is_recomputed_from_scan() && maps(self) == maps(other)
    }

    /// Whether it is a brain mask found here.
    pub fn is_automatic_mask(&self) -> bool {
        matches!(self, Self::Computed(Recipe::BrainMask(_)))
    }

    /// Whether it is a mask by a level set.
    pub fn is_segmented(&self) -> bool {
        matches!(self, Self::Computed(Recipe::Segment(_)))
    }

    pub fn is_phantom(&self) -> bool {
        matches!(self, Self::Phantom { .. })
    }

    /// Whether it is a file that needed no reading.
    pub fn is_plain_file(&self) -> bool {
        matches!(self, Self::File { reading, gradients, .. } if reading.is_empty() && gradients.is_empty())
    }
}

/// Every origin that a document and its copies refer to. Undo steps and snapshots share the table with the document, so
/// that a number has the same meaning in all of them; entries are never changed or removed.
#[derive(Clone, Debug, Default)]
pub struct Origins(Arc<Table>);

/// Each chunk has twice the slots of the previous one and is filled from its first slot.
#[derive(Debug, Default)]
struct Table([OnceLock<Box<[OnceLock<Origin>]>>; CHUNKS]);

const CHUNKS: usize = 24;
/// Slots of the first chunk.
const FIRST: usize = 32;

static UNKNOWN: Origin = Origin::Unknown;

impl Table {
    /// The slots from the first on, in chunks allocated when needed.
    fn slots(&self) -> impl Iterator<Item = &OnceLock<Origin>> {
        let chunks = self.0.iter().enumerate();
        chunks.flat_map(|(number, chunk)| {
            let make = || (0..FIRST << number).map(|_| OnceLock::new()).collect();
            chunk.get_or_init(make).iter()
        })
    }

    fn get(&self, slot: usize) -> Option<&Origin> {
        let chunk = (slot / FIRST + 1).ilog2();
        let before = FIRST * ((1 << chunk) - 1);
        let slots = self.0.get(chunk as usize)?.get()?;
        slots.get(slot - before)?.get()
    }
}

impl Origins {
    /// The number of an origin, which is added to the table unless an equal one is present.
    pub fn add(&self, origin: impl Into<Origin>) -> OriginId {
        let mut origin = origin.into();
        if origin == UNKNOWN {
            return OriginId::default();
        }
        for (slot, place) in (1..).zip(self.0.slots()) {
            origin = match place.get() {
                Some(known) if *known == origin => return OriginId(slot),
                Some(_) => continue,
                None => match place.set(origin) {
                    Ok(()) => return OriginId(slot),
                    Err(origin) => origin,
                },
            };
        }
        // Only after hundreds of millions of entries.
        OriginId::default()
    }

    /// The origin of this number.
    pub fn get(&self, id: OriginId) -> &Origin {
        let slot = id.0.checked_sub(1);
        slot.and_then(|slot| self.0.get(slot)).unwrap_or(&UNKNOWN)
    }

    /// The origin of streamlines before any selection step.
    pub fn unedited(&self, id: OriginId) -> OriginId {
        match self.get(id) {
            Origin::Edited { input, .. } => self.unedited(*input),
            _ => id,
        }
    }

    /// Its origin before it was edited, moved and reoriented.
    pub fn base(&self, id: OriginId) -> &Origin {
        match self.get(id) {
            Origin::Edited { input, .. }
            | Origin::Moved { input, .. }
            | Origin::Reoriented { input, .. } => self.base(*input),
            origin => origin,
        }
    }

    /// The steps that kept some of the streamlines, from the first one on.
    pub fn steps(&self, id: OriginId) -> Vec<&Edit> {
        match self.get(id) {
            Origin::Edited { input, step } => {
                let mut steps = self.steps(*input);
                steps.push(step);
                steps
            }
            _ => Vec::new(),
        }
    }

    /// The origin after further steps.
    pub fn edited(&self, id: OriginId, more: &[Edit]) -> OriginId {
        more.iter().fold(id, |input, step| {
            let step = step.clone();
            self.add(Origin::Edited { input, step })
        })
    }

    /// How the file of an opened image or of streamlines was read, also if it was moved since.
    pub fn reading(&self, id: OriginId) -> Option<&Reading> {
        match self.get(id) {
            Origin::File { reading, .. } => Some(reading),
            Origin::Moved { input, .. } => self.reading(*input),
            _ => None,
        }
    }

    /// Its transform, whether or not it was edited since.
    pub fn moved(&self, id: OriginId) -> Option<Move> {
        match self.get(self.unedited(id)) {
            Origin::Moved {
                input,
                transform,
                aligned_by,
            } => Some(Move {
                input: *input,
                transform: *transform,
                aligned_by: *aligned_by,
            }),
            _ => None,
        }
    }

    /// The axis change of a scan's gradients.
    pub fn turn(&self, id: OriginId) -> Option<AxisChange> {
        match self.get(id) {
            Origin::Reoriented { turn, .. } => Some(*turn),
            _ => None,
        }
    }

    /// The origin with this axis change of the scan's gradients, replacing any other.
    pub fn reoriented(&self, id: OriginId, turn: Option<AxisChange>) -> OriginId {
        let input = match self.get(id) {
            Origin::Reoriented { input, .. } => *input,
            _ => id,
        };
        match turn {
            Some(turn) => self.add(Origin::Reoriented { input, turn }),
            None => input,
        }
    }

    /// The file that it was read from, whatever was done to it since.
    pub fn path(&self, id: OriginId) -> Option<&Path> {
        match self.base(id) {
            Origin::File { file, .. } => Some(file),
            _ => None,
        }
    }

    /// The file that has its voxels or points in their present position.
    pub fn path_in_place(&self, id: OriginId) -> Option<&Path> {
        let is_in_place = self.moved(id).is_none() && self.warp(id).is_none();
        self.path(id).filter(|_| is_in_place)
    }

    /// The non-linear alignment with which its file was opened, whatever was done to it since.
    pub fn warp(&self, id: OriginId) -> Option<&WarpReading> {
        match self.base(id) {
            Origin::File { reading, .. } => reading.warp.as_deref(),
            _ => None,
        }
    }

    /// A tensor fit.
    pub fn fit(&self, id: OriginId) -> Option<&Arc<FitRecipe>> {
        match self.get(id) {
            Origin::Computed(Recipe::Fit(fit)) => Some(fit),
            _ => None,
        }
    }

    /// Streamlines or rays that were computed here.
    pub fn curves(&self, id: OriginId) -> Option<&Arc<CurveRecipe>> {
        match self.get(id) {
            Origin::Computed(Recipe::Curves(recipe)) => Some(recipe),
            _ => None,
        }
    }

    /// A fit of weights.
    pub fn weight_fit(&self, id: OriginId) -> Option<&Arc<WeightRecipe>> {
        match self.get(id) {
            Origin::Computed(Recipe::Weights(fit)) => Some(fit),
            _ => None,
        }
    }

    /// Whether the tensors of a fit come from another program.
    pub fn is_imported(&self, fit: OriginId) -> bool {
        let source = self.fit(fit).map(|fit| self.source(fit.scan));
        matches!(source, Some(ScanSource::Tensors { .. }))
    }
}

/// A transform in the world.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Move {
    pub input: OriginId,
    /// From the world of the file, mm.
    pub transform: DAffine3,
    pub aligned_by: AlignedBy,
}

impl Document {
    pub fn origin(&self, layer: &Layer) -> &Origin {
        self.origins.get(layer.origin)
    }

    /// The file that a layer was read from.
    pub fn path(&self, layer: &Layer) -> Option<&Path> {
        self.origins.path(layer.origin)
    }

    /// A layer as an input of a new result.
    pub fn input(&self, layer: LayerId) -> Input {
        let origin = self.layer(layer).map(|l| l.origin);
        Input {
            layer,
            origin: origin.unwrap_or_default(),
        }
    }

    /// The origin of an input. A session reads results before its fit has produced the maps that are their inputs: then
    /// the layer gives it.
    pub fn origin_of(&self, input: Input) -> OriginId {
        match self.origins.get(input.origin) {
            Origin::Unknown => self.input(input.layer).origin,
            _ => input.origin,
        }
    }

    /// The source of a scan, for the recipes of results.
    pub fn source(&self, layer: &Layer) -> ScanSource {
        self.origins.source(layer.origin)
    }

    fn computed(&self, layer: LayerId) -> Option<&Recipe> {
        match self.origins.base(self.layer(layer)?.origin) {
            Origin::Computed(recipe) => Some(recipe),
            _ => None,
        }
    }

    /// The recipe of kept streamlines.
    pub fn curve_recipe(&self, layer: LayerId) -> Option<&Arc<CurveRecipe>> {
        match self.computed(layer)? {
            Recipe::Curves(recipe) => Some(recipe),
            _ => None,
        }
    }

    /// The origin of a layer that is a density map.
    pub fn density_map(&self, layer: LayerId) -> Option<&Arc<DensityRecipe>> {
        match self.computed(layer)? {
            Recipe::Density(map) => Some(map),
            _ => None,
        }
    }

    /// The recipe of a map of the voxels on which a pathway depends.
    pub fn sensitivity_recipe(&self, layer: LayerId) -> Option<&Arc<SensitivityRecipe>> {
        match self.computed(layer)? {
            Recipe::Sensitivity(recipe) => Some(recipe),
            _ => None,
        }
    }

    /// Whether a layer maps a pathway or streamlines rather than a property of tissue: its sensitivity, or shares of
    /// repetitions.
    pub fn is_pathway_map(&self, layer: LayerId) -> bool {
        matches!(
            self.computed(layer),
            Some(Recipe::Sensitivity(_) | Recipe::Share(_) | Recipe::StreamlineShare(_))
        )
    }

    /// The recipe of the shares of repetitions of streamlines.
    pub fn streamline_share_recipe(&self, layer: LayerId) -> Option<&Arc<StreamlineShareRecipe>> {
        match self.computed(layer)? {
            Recipe::StreamlineShare(recipe) => Some(recipe),
            _ => None,
        }
    }

    /// The recipe of the shares of repetitions of a pathway.
    pub fn share_recipe(&self, layer: LayerId) -> Option<&Arc<ShareRecipe>> {
        match self.computed(layer)? {
            Recipe::Share(recipe) => Some(recipe),
            _ => None,
        }
    }

    /// The recipe of a segmented mask.
    pub fn segmentation_recipe(&self, layer: LayerId) -> Option<&Arc<SegmentRecipe>> {
        match self.computed(layer)? {
            Recipe::Segment(recipe) => Some(recipe),
            _ => None,
        }
    }

    /// The origin of a layer that is a map of a COMMIT fit.
    pub fn weight_map_recipe(&self, layer: LayerId) -> Option<&Arc<WeightMapRecipe>> {
        match self.computed(layer)? {
            Recipe::WeightMap(map) => Some(map),
            _ => None,
        }
    }

    /// The inputs of the fit that gave weights.
    pub fn fit_inputs(&self, weights: &FittedWeights) -> Option<FitInputs> {
        let fit = self.origins.weight_fit(weights.fit)?;
        Some(FitInputs::from(&**fit))
    }

    /// The edits made to streamlines after they were computed or read, in order.
    pub fn edits(&self, layer: LayerId) -> Vec<&Edit> {
        let layer = self.layer(layer);
        layer.map_or_else(Vec::new, |l| self.origins.steps(l.origin))
    }

    /// Whether some of a layer's streamlines were kept, or others deleted.
    pub fn is_edited(&self, layer: LayerId) -> bool {
        let origin = self.layer(layer).map(|l| self.origin(l));
        matches!(origin, Some(Origin::Edited { .. }))
    }

    /// The transform of a layer in the world.
    pub fn moved(&self, layer: LayerId) -> Option<Move> {
        self.origins.moved(self.layer(layer)?.origin)
    }
}
