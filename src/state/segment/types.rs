//! Segmentation: the initial surface, the speeds, and the runtime state.

use crate::data::region::RegionId;
use crate::data::{DataId, Mask, Role, Shape, Volume, keyed};
use crate::parameters::{self, Kind, Limits, Number, Param, Parameters, Unit};
pub use crate::solvers::level_set::RangeDoubt;
use crate::solvers::level_set::{Leak, Measures, Params, RunHistory, Sphere};
use crate::state::core::camera::Camera;
use crate::state::core::layer::{Input, Layer, LayerId};
use crate::state::core::phase::Phase;
use crate::state::sampling::Sample;
use crate::state::segment::jobs::{
    InitialSurface, PlacedSphere, Rewind, RunCheckpoint, RunControl, RunRequest, SurfaceUpdate,
};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// Controls of the task Segment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct SegmentSettings {
    pub params: Params,
    /// Whether the user chose the target; if not, it was estimated.
    pub target_chosen: bool,
    /// Whether a leak pauses it.
    pub watched: bool,
    /// Steps per update; `None`: as many as fit.
    pub steps_per_update: Option<u64>,
    /// 0..1, for the speeds over the slices.
    pub speed_opacity: f32,
    /// Sampled values are also made opaque if the image is shown as a cloud.
    pub curve: bool,
    /// Whether clouds are dim outside the surface.
    pub dims: bool,
    /// Distance from the cut of the image's volume up to which the surface is visible, mm; `None`: everywhere.
    pub fade_mm: Option<f32>,
    /// Whether the surface is drawn.
    pub shown: bool,
    /// Distance from the surface within which the voxels of pathways are counted, mm.
    pub margin_mm: f64,
}

impl Default for SegmentSettings {
    fn default() -> Self {
        Self::defaults()
    }
}

impl SegmentSettings {
    /// No target is set yet; leaks pause the run.
    pub fn defaults() -> Self {
        Self {
            params: Params::defaults_for(0.5, 0.1),
            target_chosen: false,
            watched: true,
            steps_per_update: None,
            speed_opacity: 0.0,
            curve: false,
            dims: false,
            fade_mm: None,
            shown: true,
            margin_mm: Margin::defaults().mm,
        }
    }

    /// Replaces invalid numbers, whatever a file contains.
    pub fn sanitized(self) -> Self {
        let default_value = Self::defaults();
        let opacity = self.speed_opacity;
        Self {
            params: match self.params.check() {
                Ok(()) => self.params,
                Err(_) => default_value.params,
            },
            steps_per_update: self.steps_per_update.map(|n| n.clamp(1, 1_000_000)),
            fade_mm: self.fade_mm.filter(|mm| mm.is_finite()),
            margin_mm: parameters::sanitized(&Margin { mm: self.margin_mm }).mm,
            speed_opacity: if opacity.is_finite() {
                opacity.clamp(0.0, 1.0)
            } else {
                0.0
            },
            ..self
        }
    }
}

/// Distance from the surface within which the voxels of pathways are counted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Margin {
    pub mm: f64,
}

/// Label of the margin, and name of its step.
pub const MARGIN: &str = "Margin";

/// Only for the window: no command follows a surface.
impl Parameters for Margin {
    const TABLE: &'static [Param<Self>] = &[Param {
        value_name: "MM",
        help: "Distance from the surface within which the voxels of a pathway are counted",
        ..Param::new(
            "margin",
            MARGIN,
            Kind::Number(Number {
                unit: Unit::Mm,
                decimals: 1,
                soft: (0.0, 20.0),
                hard: Limits::between(0.0, 20.0),
                ..Number::new(|p| Some(p.mm), |p, v| p.mm = v.unwrap_or(p.mm))
            }),
        )
    }];

    fn defaults() -> Self {
        Self { mm: 5.0 }
    }
}

/// Initial surface before any spheres are added.
#[derive(Clone, Debug, Default)]
pub enum Start {
    #[default]
    Spheres,
    /// A mask by its name.
    Mask(String, Mask),
    Values {
        low: f32,
        high: f32,
    },
    /// The voxels connected to a world point whose values differ by at most this much from the value there.
    Filled {
        point: DVec3,
        tolerance: f32,
    },
}

impl PartialEq for Start {
    /// Masks are equal if they share their data.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Spheres, Self::Spheres) => true,
            (Self::Mask(name, a), Self::Mask(other, b)) => (name, a.id()) == (other, b.id()),
            (Self::Values { low, high }, Self::Values { low: l, high: h }) => (low, high) == (l, h),
            (
                Self::Filled { point, tolerance },
                Self::Filled {
                    point: a,
                    tolerance: w,
                },
            ) => (point, tolerance) == (a, w),
            _ => false,
        }
    }
}

impl Start {
    pub fn name(&self) -> &str {
        match self {
            Self::Spheres => "Spheres",
            Self::Mask(name, _) => name,
            Self::Values { .. } => "Threshold",
            Self::Filled { .. } => "Flood fill",
        }
    }
}

/// Settings of the live surface in a document.
#[derive(Clone, Debug, Default)]
pub struct Segmentation {
    pub settings: SegmentSettings,
    /// `None`: none was chosen yet.
    pub image: Option<LayerId>,
    /// Whether Segment shows the image in place of the images with an open eye.
    pub image_alone: bool,
    pub start: Start,
    /// The spheres, with numbers that are never reused.
    pub spheres: Vec<PlacedSphere>,
    /// All samples for its target and tolerance. Not saved.
    pub sample: Option<Arc<Sample>>,
    /// A mask to compare with.
    pub reference: Option<LayerId>,
    /// An image whose values are a speed.
    pub layer: Option<LayerId>,
    /// Regions to grow into, and to avoid.
    pub painted: [Option<RegionId>; 2],
    /// Progress of a surface that undo, redo or a session brings back; restored as soon as it is shown.
    pub resume: Option<Arc<RunCheckpoint>>,
}

impl Segmentation {
    /// Whether there is an initial surface: keep-out spheres alone are none.
    pub fn begins(&self) -> bool {
        self.start != Start::Spheres || self.spheres.iter().any(|(_, sphere)| sphere.add)
    }

    /// Whether both describe the same motion of a surface with the same settings of its display.
    pub fn steers_as(&self, other: &Self) -> bool {
        self.settings == other.settings && self.moves_as(other)
    }

    /// Whether both describe the same motion of a surface.
    pub fn moves_as(&self, other: &Self) -> bool {
        self.settings.params == other.settings.params
            && self.spheres == other.spheres
            && (self.layer, self.painted) == (other.layer, other.painted)
    }
}

/// Inputs of a surface's speed besides its image.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SpeedInputs {
    /// With the index of its volume.
    pub layer: Option<(Input, usize)>,
    /// Regions to grow into, and to avoid.
    pub painted: [Vec<Arc<Shape>>; 2],
}

/// The recipe of a segmented mask.
#[derive(Clone, PartialEq, Debug)]
pub struct SegmentRecipe {
    pub image: Input,
    pub frame: usize,
    pub start: Start,
    /// Initial spheres.
    pub spheres: Vec<Sphere>,
    /// Inputs by the numbers of the script.
    pub inputs: Vec<SpeedInputs>,
    pub script: RunHistory,
}

/// The surface of a segmented mask.
#[derive(Clone, Debug)]
pub struct KeptSurface {
    /// φ around its surface; for an opened session the mask replaces it.
    pub phi: Option<Volume>,
    /// sRGB.
    pub colour: [u8; 3],
    pub measures: Option<Measures>,
}

/// User actions on the surface.
#[derive(Clone, Debug)]
pub enum SegmentAction {
    Set {
        settings: SegmentSettings,
        phase: Phase,
    },
    Image(LayerId),
    Start(Start),
    /// Begins with a mask layer.
    StartFromLayer(LayerId),
    StartFromRegion(RegionId),
    /// Begins with a kept pathway, or the live one.
    StartFromPathway(Option<LayerId>),
    /// Begins with the voxels connected to that of the crosshair.
    StartFromFill,
    Sphere(Sphere),
    /// Another position or size for a sphere, by its number.
    Move {
        number: u64,
        sphere: Sphere,
        phase: Phase,
    },
    /// Undoes a sphere by its number.
    TakeBack(u64),
    /// Removes all spheres and the surface.
    Clear,
    Play,
    Pause,
    Step,
    /// Rewinds to the state after this many steps.
    Rewind(u64),
    Reference(Option<LayerId>),
    SpeedLayer(Option<LayerId>),
    /// Regions to grow into (0), or to avoid (1).
    Painted(usize, Option<RegionId>),
    Keep,
    /// Makes a region from the voxels inside.
    Region(Role),
    Save {
        file: SegmentFile,
        path: PathBuf,
    },
}

/// Files of a surface that can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentFile {
    Labels,
    Surface,
    Script,
    /// The kept masks, and the surface, as the numbers of one label map.
    Structures,
}

impl SegmentFile {
    pub fn name(self) -> &'static str {
        match self {
            Self::Labels => "Label map…",
            Self::Surface => "Surface…",
            Self::Script => "Script of this run…",
            Self::Structures => "All structures…",
        }
    }
}

keyed!(SegmentFile, suffix {
    Labels = "labels",
    Surface = "surface",
    Script = "run",
    Structures = "structures",
});

/// An abandoned part of the plot.
#[derive(Clone, PartialEq, Debug)]
pub struct EarlierRun {
    pub growth: Vec<(u64, u64)>,
}

/// Marks in the plot of volume.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct PlottedRun {
    pub earlier_runs: Vec<EarlierRun>,
    /// The known steps at which the user began to change the motion; a drag is one change, however many of its values
    /// take effect.
    pub changes: Vec<u64>,
}

/// The image and the surface with which the current run began.
#[derive(Clone, Debug)]
pub struct RunStart {
    pub image: DataId,
    pub frame: usize,
    pub surface: InitialSurface,
    /// The progress that is still to be restored. Further steps of the history may arrive before that.
    pub due: Option<Arc<RunCheckpoint>>,
}

/// Runtime state of the segmentation.
#[derive(Clone, Debug)]
pub struct SegmentRuntime {
    /// A new number starts a new run.
    pub run: u64,
    pub play: RunControl,
    pub rewind: Option<Rewind>,
    /// `None` before the first request.
    pub start: Option<RunStart>,
    /// The last request; nothing is requested twice.
    pub requested: Option<Box<RunRequest>>,
    pub running: bool,
    pub live: Option<Arc<SurfaceUpdate>>,
    /// Voxels of the image without a value.
    pub missing: usize,
    pub speed: Option<Volume>,
    /// Why there is no result.
    pub failed: Option<String>,
    /// Whether the message that it vanished or filled the image has been shown.
    pub end_reported: bool,
    pub plotted: PlottedRun,
    /// A drag is in progress whose first change is among `changes`.
    pub dragged: bool,
    /// Whether it is kept as soon as it rests.
    pub keep_at_rest: bool,
    /// Whether another task is shown, or was until now.
    pub is_away: bool,
    /// Whether the user has paused the surface.
    pub is_paused: bool,
    /// Whether the initial surface is being rasterized.
    pub begins: bool,
    /// All samples, until the worker has found target and tolerance from them.
    pub sample: Option<Arc<Sample>>,
    /// The camera before it moved to the surface, and the one it moved to.
    pub framed: Option<(Camera, Camera)>,
    /// The file of the run's script, with the history at that time.
    pub written: Option<(PathBuf, RunHistory)>,
}

impl Default for SegmentRuntime {
    fn default() -> Self {
        Self {
            run: 1,
            play: RunControl::Rest,
            rewind: None,
            start: None,
            requested: None,
            running: false,
            live: None,
            missing: 0,
            speed: None,
            failed: None,
            end_reported: false,
            plotted: PlottedRun::default(),
            dragged: false,
            keep_at_rest: false,
            is_away: false,
            is_paused: false,
            begins: false,
            sample: None,
            framed: None,
            written: None,
        }
    }
}

/// Colour of the surface on slices and in 3-D.
pub const LIVE_RGB: [u8; 3] = [0xFF, 0xD4, 0x00];

/// Standing of the surface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SurfaceStanding {
    Running,
    /// The user paused it, or it has not begun.
    Paused,
    /// It has converged.
    Converged,
    Leaked,
    Ended,
}

/// The index of a layer's displayed volume.
pub fn frame_of(layer: &Layer, volume: &Volume) -> usize {
    layer.display.frame.min(volume.frames.saturating_sub(1))
}

/// The image of a layer if it can be segmented: numbers, not colours, labels or fixels.
pub fn scalar(layer: &Layer) -> Option<&Volume> {
    layer.content.scalar()
}

/// The radius of a sphere that a click places, mm.
pub const SPHERE_MM: f64 = 4.0;

/// A leak and its position.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LeakNotice {
    pub leak: Leak,
    /// World mm: where most of the new volume came through.
    pub at: Option<DVec3>,
    /// Volume before the leak.
    pub before_ml: f64,
    /// Growth as a fraction of the voxels inside before.
    pub grown: f64,
}
