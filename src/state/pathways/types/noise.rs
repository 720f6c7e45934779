//! The noise of the live pathway: how far measurement noise alone moves it, from repetitions of the fit.

use crate::data::{DataId, Mask, Tractogram, Volume, keyed};
use crate::parameters::{self, Kind, Limits, Number, Param, Parameters, Unit};
use crate::solvers::pathway::{Distances, MIN_FOR_RANGES, RepetitionParams, Separation};
use crate::state::core::layer::LayerId;
use crate::state::core::live::{Live, LiveKey};
use crate::state::core::text::counted;
use crate::state::files::types::RecentExports;
use crate::state::pathways::jobs::PathwayNoise;
use crate::state::pathways::{PathwayKey, SurfaceInput};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// States what figures from repetitions leave out; shown wherever they are.
pub const NOISE_ONLY: &str = "This covers measurement noise only, not errors of the model, distortion, misalignment or brain shift";

/// Why repetitions cannot be used before the first of them.
pub const NO_REPETITIONS: &str = "There are no repetitions yet";

/// Label of the choice of a [`DistanceTarget`].
pub const DISTANCE_TO: &str = "Distance to";
/// Label of the switch that shows the share of the repetitions.
pub const SHARE_OF_REPETITIONS: &str = "Share of repetitions";
/// Label of the step that keeps the share of the repetitions as a layer.
pub const KEEP_SHARE: &str = "Keep share of repetitions";

/// The object whose distance from the paths is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DistanceTarget {
    /// The surface of Segment.
    #[default]
    Surface,
    /// A mask layer.
    Layer(LayerId),
}

/// Settings of the repetitions of the live pathway.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct PathwayNoiseSettings {
    /// Whether the pathway is repeated while the controls rest, and the repetitions are shown.
    pub repeats: bool,
    /// Number of repetitions and random seed.
    pub params: RepetitionParams,
    /// The object whose distance from the paths is measured.
    pub distance_to: DistanceTarget,
    /// Distance marked in the plot and on slices, mm.
    pub margin_mm: f64,
    /// Whether the share of the repetitions is shown in place of the cost.
    pub shows_share: bool,
    /// Whether the cheapest path of each repetition is drawn.
    pub shows_paths: bool,
}

impl Default for PathwayNoiseSettings {
    fn default() -> Self {
        Self::defaults()
    }
}

impl PathwayNoiseSettings {
    /// Off: without a graphics card, repetitions keep the processors busy.
    pub fn defaults() -> Self {
        Self {
            repeats: false,
            params: RepetitionParams::defaults(),
            distance_to: DistanceTarget::Surface,
            margin_mm: NoiseMargin::defaults().mm,
            shows_share: true,
            shows_paths: true,
        }
    }

    /// Replaces invalid numbers, whatever a file contains.
    pub fn sanitized(self) -> Self {
        let mm = self.margin_mm;
        Self {
            params: parameters::sanitized(&self.params),
            margin_mm: parameters::sanitized(&NoiseMargin { mm }).mm,
            ..self
        }
    }

    /// Sessions have no such member unless something was changed.
    pub fn are_default(&self) -> bool {
        *self == Self::defaults()
    }
}

/// A distance marked in the plot of distances and on slices; it changes nothing else.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NoiseMargin {
    pub mm: f64,
}

impl NoiseMargin {
    /// The largest margin.
    pub const MAX_MM: f64 = 20.0;
}

/// Only for the window: no figure depends on it.
impl Parameters for NoiseMargin {
    const TABLE: &'static [Param<Self>] = &[Param {
        value_name: "MM",
        help: "Distance marked by a dashed line, in the plot and on slices around the chosen object; it changes nothing else",
        ..Param::new(
            "margin",
            "Margin",
            Kind::Number(Number {
                unit: Unit::Mm,
                decimals: 1,
                soft: (0.0, Self::MAX_MM),
                hard: Limits::between(0.0, Self::MAX_MM),
                ..Number::new(|p| Some(p.mm), |p, v| p.mm = v.unwrap_or(p.mm))
            }),
        )
    }];

    fn defaults() -> Self {
        Self { mm: 5.0 }
    }
}

/// Everything that some repetitions of a pathway depend on.
#[derive(Clone, PartialEq, Debug)]
pub struct PathwayNoiseKey {
    pub pathway: PathwayKey,
    pub epsilon: f64,
    pub random_seed: u64,
    /// Number of repetitions.
    pub repetitions: usize,
}

impl LiveKey for PathwayNoiseKey {
    /// A late batch of other settings replaces nothing.
    fn stands_in_for(&self, requested: &Self) -> bool {
        requested.extends(self)
    }
}

impl PathwayNoiseKey {
    /// Whether these repetitions begin with those of another key.
    pub fn extends(&self, earlier: &Self) -> bool {
        let of_earlier = Self {
            repetitions: earlier.repetitions,
            ..self.clone()
        };
        of_earlier == *earlier && earlier.repetitions <= self.repetitions
    }
}

/// Everything that the distances of some repetitions depend on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NoiseDistanceKey {
    /// The image of their shares.
    pub share: DataId,
    pub mask: DataId,
}

impl LiveKey for NoiseDistanceKey {}

impl NoiseDistanceKey {
    pub fn new(share: &Volume, mask: &Mask) -> Self {
        Self {
            share: share.id(),
            mask: mask.id(),
        }
    }
}

/// The voxels that belong to the pathways or streamlines of at least a share of the repetitions.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    pub share: f64,
    pub volume_ml: f64,
    /// How far the requested mask lies from them; `None` without either.
    pub from_mask: Option<Separation>,
}

/// How far a mask lies from the repetitions of a pathway or of streamlines.
#[derive(Clone, Debug)]
pub struct NoiseDistances {
    /// The number of repetitions.
    pub repetitions: usize,
    /// The levels of the repetitions, with their distances; none from an empty mask.
    pub levels: Vec<Level>,
    /// `None` for an empty mask.
    pub along: Option<Arc<Distances>>,
    /// The shortest line from the shown curve to the mask; `None` if the curve enters it.
    pub shortest: Option<Tractogram>,
    /// `None` for an empty mask and for one on a sheared grid, and at the command line.
    pub around: Option<DistancesAround>,
    /// Distances of the shown curve from the voxels around the surface of the mask, mm; `None` as above, and without a
    /// curve.
    pub on_surface: Option<Volume>,
}

impl NoiseDistances {
    /// The distances with the first and the last colour of the surface, mm.
    pub const ON_SURFACE_MM: (f32, f32) = (0.0, 20.0);
}

/// Distances from a mask in the voxels around it, in which a line at any margin lies.
#[derive(Clone, Debug)]
pub struct DistancesAround {
    pub mask: DataId,
    /// mm; the faces of the mask are at 0.
    pub volume: Volume,
}

/// Why so few repetitions have no distances.
pub fn too_few() -> String {
    format!(
        "Too few repetitions for distances: at least {} are needed",
        counted(MIN_FOR_RANGES, "repetition")
    )
}

/// The window of the colours of shares: from half of a single repetition to all of them.
pub fn share_window(repetitions: usize) -> (f32, f32) {
    (0.5 / repetitions.max(1) as f32, 1.0)
}

/// Files of the repetitions that can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoiseFile {
    Share,
    Paths,
    Distances,
}

keyed!(NoiseFile, suffix {
    Share = "share",
    Paths = "paths",
    Distances = "distances",
});

impl NoiseFile {
    pub const ALL: [Self; 3] = [Self::Share, Self::Paths, Self::Distances];

    /// Its label in the menu of pathways.
    pub fn pathway_label(self) -> &'static str {
        match self {
            Self::Share => "Share of repetitions…",
            Self::Paths => "Paths of the repetitions…",
            Self::Distances => "Distances along the path…",
        }
    }

    /// Its label in the menu of streamlines.
    pub fn track_label(self) -> &'static str {
        match self {
            Self::Share => "Share of repetitions…",
            Self::Paths => "Centre lines of the repetitions…",
            Self::Distances => "Distances along the centre line…",
        }
    }

    /// The kind under which the last such file is remembered.
    pub fn kind(self) -> Option<&'static str> {
        match self {
            Self::Share => Some(RecentExports::LAYER),
            Self::Paths => Some(RecentExports::STREAMLINES),
            Self::Distances => None,
        }
    }
}

/// User actions on repetitions.
#[derive(Clone, Debug)]
pub enum PathwayNoiseAction {
    /// Adds the share of the repetitions as a layer.
    KeepShare,
    Save(NoiseFile, std::path::PathBuf),
    /// Requests again repetitions or distances that failed or were stopped.
    RepeatAgain,
}

/// Runtime state of the repetitions.
#[derive(Clone, Debug, Default)]
pub struct PathwayNoiseRuntime {
    pub live: Live<PathwayNoiseKey, Arc<PathwayNoise>>,
    pub distances: Live<NoiseDistanceKey, Arc<NoiseDistances>>,
    /// The surface of Segment whose distance is requested; set by Segment after every action.
    pub surface: SurfaceInput,
    /// Whether the user stopped the repetitions.
    pub was_stopped: bool,
}

/// The mask whose distance is requested, or why there is none.
#[derive(Clone, Debug)]
pub enum TargetMask<'a> {
    Present(&'a Mask),
    /// The document has no such object.
    Nothing,
    /// There is no surface, or it is leaking.
    Awaited {
        leaks: bool,
    },
}

impl TargetMask<'_> {
    /// Why there is no mask; `None` if there is one.
    pub fn why_none(&self) -> Option<&'static str> {
        Some(match self {
            Self::Present(_) => return None,
            Self::Nothing => "Segment a tumour or choose a mask to measure distances",
            Self::Awaited { leaks: true } => "No distances while the surface is leaking",
            Self::Awaited { leaks: false } => {
                "The surface of Segment is not up to date: open Segment"
            }
        })
    }
}
