//! Pathways: the controls of the live one, and those that were kept.

mod key;
mod noise;

pub use key::{HoverKey, PathwayKey, PathwayParams};
pub use noise::{
    DISTANCE_TO, DistanceTarget, DistancesAround, KEEP_SHARE, Level, NO_REPETITIONS, NOISE_ONLY,
    NoiseDistanceKey, NoiseDistances, NoiseFile, NoiseMargin, PathwayNoiseAction, PathwayNoiseKey,
    PathwayNoiseRuntime, PathwayNoiseSettings, SHARE_OF_REPETITIONS, TargetMask, share_window,
    too_few,
};

use crate::data::appearance::Transfer;
use crate::data::{DataId, Region, Role, keyed};
use crate::solvers::lifted::{self, SensitivityTo};
use crate::solvers::pathway::{DEFAULT_EPSILON, Params};
use crate::state::Phase;
use crate::state::core::layer::{LayerId, OriginId};
use crate::state::core::live::Live;
pub use crate::state::core::live::Standing;
use crate::state::core::text::{counted, fixed, with_unit};
use crate::state::core::volume_look::VolumeCut;
use crate::state::files::types::RecentExports;
use crate::state::pathways::costs::KnownCosts;
use crate::state::pathways::jobs::{KnownPairs, PathwayComparison};
use crate::state::pathways::result::{PathAtVoxel, PathwayResult};
use crate::state::tensors::types::fods::FodSource;
use crate::state::track::types::odf::Model;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// The cost that is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShownCost {
    Total,
    First,
    Second,
    Off,
}

keyed!(ShownCost, serde {
    Total = "total",
    First = "first",
    Second = "second",
    Off = "off",
});

impl ShownCost {
    pub const ALL: [Self; 4] = [Self::Total, Self::First, Self::Second, Self::Off];

    pub fn name(self) -> &'static str {
        match self {
            Self::Total => "u₁ + u₂",
            Self::First => "u₁",
            Self::Second => "u₂",
            Self::Off => "Off",
        }
    }
}

/// Name of this control in all places.
pub const SURFACE_USE: &str = "Surface in pathways";

/// How pathways treat the live surface of Segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SurfaceUse {
    #[default]
    Ignored,
    Excluded,
    Costly,
}

keyed!(SurfaceUse, serde {
    Ignored = "ignored",
    Excluded = "excluded",
    Costly = "costly",
});

impl SurfaceUse {
    pub const ALL: [Self; 3] = [Self::Ignored, Self::Excluded, Self::Costly];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ignored => "Ignored",
            Self::Excluded => "Excluded",
            Self::Costly => "Costly",
        }
    }

    /// The role of the region that the surface then is.
    pub fn role(self) -> Option<Role> {
        match self {
            Self::Ignored => None,
            Self::Excluded => Some(Role::Exclude),
            Self::Costly => Some(Role::Costly),
        }
    }
}

/// The surface of Segment as an input of pathways; set by Segment after every action.
#[derive(Clone, Debug, Default)]
pub enum SurfaceInput {
    /// Pathways ignore it, or the document has none.
    #[default]
    Nothing,
    /// It is not there, or it is leaking: pathways wait.
    Awaited { leaks: bool },
    /// The live surface as a region. `moves`: Segment is computing another one.
    Present { region: Region, moves: bool },
}

impl SurfaceInput {
    /// Whether both are the same input; masks are equal if they share their data.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nothing, Self::Nothing) => true,
            (Self::Awaited { leaks }, Self::Awaited { leaks: others }) => leaks == others,
            (
                Self::Present { region, moves },
                Self::Present {
                    region: other,
                    moves: others,
                },
            ) => {
                (region.role, moves) == (other.role, others)
                    && Arc::ptr_eq(&region.shape, &other.shape)
            }
            _ => false,
        }
    }
}

/// Controls of the task Pathways.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PathwaySettings {
    /// The source of the costs.
    #[serde(default, skip_serializing_if = "is_default_model")]
    pub model: Model,
    /// Parameters of pathways through tensors.
    pub params: Params,
    /// Parameters of pathways through distributions.
    #[serde(
        default = "lifted::Params::defaults",
        skip_serializing_if = "are_default_params"
    )]
    pub lifted: lifted::Params,
    /// The pathway consists of the voxels whose cost exceeds the least by at most this fraction.
    pub epsilon: f64,
    pub shown: ShownCost,
    /// 0..1, for the cost on slices.
    pub opacity: f32,
    /// Excess cost, as a fraction of E*, of the last colour on slices and in the cloud; higher costs are not shown.
    #[serde(default = "PathwaySettings::default_range")]
    pub range: f32,
    /// Whether the images below the cost are grey, so that their colours are not confused with its own.
    #[serde(default = "PathwaySettings::default_greys")]
    pub greys: bool,
    /// The pathway's outline on slices.
    pub outline: bool,
    /// Lines of equal cost of one side on slices, at this spacing.
    pub contours: Option<f64>,
    /// The surface of the pathway in 3-D.
    #[serde(default)]
    pub surface: bool,
    /// The cost as a cloud in 3-D.
    #[serde(default)]
    pub cloud: bool,
    /// Opacity and colour of the cloud, over the displayed range of excess costs.
    #[serde(default = "Transfer::cost")]
    pub transfer: Transfer,
    /// Cut of the cloud and of all surfaces, including those of kept pathways.
    #[serde(default)]
    pub cut: VolumeCut,
    /// How pathways treat the live surface of Segment.
    #[serde(default)]
    pub surface_use: SurfaceUse,
    /// Repetitions of the live pathway.
    #[serde(default, skip_serializing_if = "PathwayNoiseSettings::are_default")]
    pub noise: PathwayNoiseSettings,
}

impl PathwaySettings {
    /// The cost chosen for the slices; `None` while the share of the repetitions takes its place.
    pub fn shown_cost(&self) -> Option<ShownCost> {
        let is_replaced = self.noise.repeats && self.noise.shows_share;
        (!is_replaced).then_some(self.shown)
    }

    /// Shows this cost on slices, in place of the share of the repetitions.
    pub fn with_cost(&self, shown: ShownCost) -> Self {
        let mut settings = self.clone();
        settings.shown = shown;
        settings.noise.shows_share &= !self.noise.repeats;
        settings
    }

    pub fn defaults() -> Self {
        Self {
            model: Model::default(),
            params: Params::defaults(),
            lifted: lifted::Params::defaults(),
            epsilon: DEFAULT_EPSILON,
            shown: ShownCost::Total,
            opacity: 0.75,
            range: EXCESS_SHOWN,
            greys: true,
            outline: true,
            contours: None,
            surface: false,
            cloud: true,
            transfer: Transfer::cost(),
            cut: VolumeCut::Nothing,
            surface_use: SurfaceUse::Ignored,
            noise: PathwayNoiseSettings::defaults(),
        }
    }

    pub const EPSILON: std::ops::RangeInclusive<f64> = 0.0..=1.0;
    /// Limits of the excess cost of the last colour.
    pub const RANGE: std::ops::RangeInclusive<f32> = 0.01..=1.9;

    fn default_range() -> f32 {
        EXCESS_SHOWN
    }

    fn default_greys() -> bool {
        true
    }

    /// The choice of a model, by the directions that a voxel has.
    pub fn directions(model: Model) -> &'static str {
        match model {
            Model::Tensors => "One tensor",
            Model::Distributions => "Crossings",
        }
    }

    /// The parameters of the chosen model.
    pub fn chosen_params(&self) -> PathwayParams {
        match self.model {
            Model::Tensors => PathwayParams::Tensors(self.params),
            Model::Distributions => PathwayParams::Distributions(self.lifted),
        }
    }

    /// Replaces invalid numbers, whatever a file contains.
    pub fn sanitized(self) -> Self {
        let default_value = PathwaySettings::defaults();
        Self {
            params: self.params.sanitized(),
            lifted: self.lifted.sanitized(),
            epsilon: match Self::EPSILON.contains(&self.epsilon) {
                true => self.epsilon,
                false => default_value.epsilon,
            },
            opacity: match self.opacity.is_finite() {
                true => self.opacity.clamp(0.0, 1.0),
                false => default_value.opacity,
            },
            range: match self.range.is_finite() {
                true => self.range.clamp(*Self::RANGE.start(), *Self::RANGE.end()),
                false => default_value.range,
            },
            contours: self
                .contours
                .filter(|every| *every > 0.0 && every.is_finite()),
            cut: self.cut.finite(),
            noise: self.noise.sanitized(),
            ..self
        }
    }
}

/// Sessions name the model only if it is not the default one, which earlier ones had.
fn is_default_model(model: &Model) -> bool {
    *model == Model::default()
}

fn are_default_params(params: &lifted::Params) -> bool {
    *params == lifted::Params::defaults()
}

/// Files of a pathway that can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathwayFile {
    /// Its voxels: a mask, or a surface.
    Mask,
    /// The path of least cost.
    Path,
    Total,
    First,
    Second,
}

impl PathwayFile {
    pub const ALL: [Self; 5] = [
        Self::Mask,
        Self::Path,
        Self::Total,
        Self::First,
        Self::Second,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Mask => "Pathway: mask or surface…",
            Self::Path => "Cheapest path…",
            Self::Total => "Cost u₁ + u₂…",
            Self::First => "Cost u₁…",
            Self::Second => "Cost u₂…",
        }
    }

    /// The kind under which the last such file is remembered.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Mask => RecentExports::REGION,
            Self::Path => RecentExports::STREAMLINES,
            Self::Total | Self::First | Self::Second => RecentExports::LAYER,
        }
    }
}

keyed!(PathwayFile, suffix {
    Mask = "mask",
    Path = "path",
    Total = "u",
    First = "u1",
    Second = "u2",
});

/// A kept pathway.
#[derive(Clone, Debug)]
pub struct KeptPathway {
    pub id: LayerId,
    pub name: String,
    /// sRGB.
    pub colour: [u8; 3],
    pub visible: bool,
    pub epsilon: f64,
    /// The fit of the tensors, or the distributions.
    pub fit: OriginId,
    pub regions: Vec<Region>,
    pub params: PathwayParams,
    /// The excess up to which costs through distributions were requested when it was kept, whatever its width has become;
    /// `None`: all costs.
    pub max_excess: Option<f64>,
    /// `None` until it is recomputed.
    pub result: Option<Arc<PathwayResult>>,
    /// `None`: it was not compared.
    pub compared: Option<RandomPairRank>,
}

impl KeptPathway {
    /// The width with which its costs are computed.
    pub fn solved_epsilon(&self) -> f64 {
        self.max_excess.unwrap_or(self.epsilon)
    }
}

/// Rank of a pathway among random pairs of the same head: fractions of the pairs that cost less, 0..1.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct RandomPairRank {
    pub pairs: usize,
    /// On the costliest stretch.
    pub weakest: f64,
    /// Per mm of the whole path.
    pub mean: f64,
}

impl RandomPairRank {
    /// `None` if nothing could be compared.
    pub fn from_compared(compared: &PathwayComparison) -> Option<Self> {
        let shares = compared.shares?;
        Some(Self {
            pairs: compared.known_pairs.pairs.rates.len(),
            weakest: shares.weakest,
            mean: shares.mean,
        })
    }

    /// `None` if the numbers are invalid, whatever a file contains.
    pub fn validated(self) -> Option<Self> {
        let share = |v: f64| (0.0..=1.0).contains(&v);
        (share(self.weakest) && share(self.mean)).then_some(self)
    }

    /// `cheaper than 87 % of 200 random pairs`: the fraction of pairs that cost less is the percentile.
    pub fn cheaper_than(share: f64, pairs: usize) -> String {
        let pairs = counted(pairs, "random pair");
        format!("cheaper than {} of {pairs}", Self::percent_above(share))
    }

    /// A shorter form that fits a panel's row; the number of pairs is shown on hover, or here if no pair costs less.
    pub fn cheaper_in_row(share: f64, pairs: usize) -> String {
        if share <= 0.0 {
            return format!("cheaper than all {}", counted(pairs, "pair"));
        }
        format!("cheaper than {} of pairs", Self::percent_above(share))
    }

    /// The percentage of pairs that cost more, given the fraction that costs less: only all of them are 100 %, and
    /// only none of them are 0 %.
    fn percent_above(share: f64) -> String {
        let percent = match share {
            ..=0.0 => 100.0,
            1.0.. => 0.0,
            _ => (100.0 * (1.0 - share)).round().clamp(1.0, 99.0),
        };
        with_unit(&fixed(percent, 0), "%")
    }

    /// `Weakest stretch cheaper than 87 % of 200 random pairs in this head, cost per mm cheaper than 78 %`.
    pub fn text(&self) -> String {
        format!(
            "Weakest stretch {} in this head, cost per mm cheaper than {}",
            Self::cheaper_than(self.weakest, self.pairs),
            Self::percent_above(self.mean)
        )
    }
}

// Voxels without a path belong to no pathway, and lie beyond the last colour.
const _: () = assert!(*PathwaySettings::EPSILON.end() < PathwayResult::MAXIMUM_EXCESS as f64);
const _: () = assert!(*PathwaySettings::RANGE.end() < PathwayResult::MAXIMUM_EXCESS);

/// Default excess cost of the last colour: half of the least cost.
pub const EXCESS_SHOWN: f32 = 0.5;
/// The colour of the live pathway.
pub const LIVE_RGB: [u8; 3] = [0x2B, 0x5C, 0xFF];

/// User actions on pathways.
#[derive(Clone, Debug)]
pub enum PathwayAction {
    Set {
        settings: PathwaySettings,
        phase: Phase,
    },
    Keep,
    /// Changes a kept pathway.
    SetKept {
        kept: KeptPathway,
        phase: Phase,
    },
    /// Renames a kept pathway; a number is added if the name is taken.
    Rename(LayerId, String),
    Delete(LayerId),
    Select(Option<LayerId>),
    /// Saves a kept pathway, or the live one.
    Save {
        layer: Option<LayerId>,
        file: PathwayFile,
        path: PathBuf,
    },
    /// Makes a region from its voxels.
    Region {
        layer: Option<LayerId>,
        role: Role,
    },
    /// Maps the voxels on which a kept pathway depends, or the live one.
    Sensitivity(Option<LayerId>),
    /// Maps the distributions on which a kept pathway depends, or the live one.
    AmplitudeSensitivity(Option<LayerId>),
    /// Exchanges seeds and targets.
    SwapEnds,
    /// The pointer is over this point of a slice, or over none.
    Hover(Option<DVec3>),
    /// Requests again a result that failed or was stopped.
    SolveAgain,
    /// Requests again a kept pathway that could not be recomputed.
    SolveKept(LayerId),
    /// Requests again a comparison that failed or was stopped.
    CompareAgain,
    /// An action on the repetitions of the live pathway.
    Noise(PathwayNoiseAction),
}

/// A map of sensitivity that is being computed, with what its layer needs.
#[derive(Clone, Debug)]
pub struct PendingMap {
    /// The excess cost of the pathway.
    pub excess: DataId,
    pub to: SensitivityTo,
    pub fit: OriginId,
    /// The name of the pathway.
    pub name: String,
}

/// Runtime state of pathways.
#[derive(Clone, Debug, Default)]
pub struct PathwayRuntime {
    pub live: Live<PathwayKey, Arc<PathwayResult>>,
    pub surface: SurfaceInput,
    /// The maps of sensitivity that are being computed.
    pub pending_maps: Vec<PendingMap>,
    /// Time that the live one took.
    pub wall_ms: f64,
    /// Comparison of the live result with random pairs, and why it failed.
    pub compared: Live<PathwayKey, Arc<PathwayComparison>>,
    pub not_compared: Option<String>,
    /// Random pairs for the next comparison.
    pub pairs: Option<Arc<KnownPairs>>,
    /// Prepared costs for the next pathways: fine and coarse.
    pub prepared: [Option<KnownCosts>; 2],
    /// Duration of the last full results: with an existing metric, and with a new one.
    pub full_ms: [Option<f64>; 2],
    /// The best path through the voxel at the pointer; `None`: no path passes it.
    pub hover: Live<HoverKey, Option<PathAtVoxel>>,
    /// Repetitions of the live pathway.
    pub noise: PathwayNoiseRuntime,
    /// A kept pathway.
    pub selected: Option<LayerId>,
    /// The kept pathway being recomputed, and those that failed.
    pub solving: Option<LayerId>,
    pub unsolved: Vec<LayerId>,
    /// The inputs available at that time: the tensors, the distributions, and the layers, with whether each is a scan
    /// with gradients.
    pub unsolved_with: ([Option<DataId>; 2], Vec<(LayerId, bool)>),
    /// The source of distributions for which Track last chose them as the only model.
    pub model_chosen_for: Option<FodSource>,
    /// Running jobs of a closed document: their events come first.
    pub closed_jobs: usize,
}

/// ε_h in percent, as displayed: rounded up to tenths, so that a pathway of this width is joined.
pub fn percent_joined(from: f64) -> f64 {
    (from * 1000.0).ceil() / 10.0
}
