//! Segmentation: the initial surface, the speeds, and the runtime state.

use crate::data::region::RegionId;
use crate::data::{Mask, Role, Shape, Volume, VolumeKind, keyed};
pub use crate::solvers::level_set::RangeDoubt;
use crate::solvers::level_set::{Ended, Leak, Measures, Params, Probe, RunHistory, Sphere};
use crate::state::core::layer::Input;
use crate::state::core::layer::{Layer, LayerId};
use crate::state::sampling::Sample;
use crate::state::segment::jobs::{
    PlacedSphere, Rewind, RunCheckpoint, RunControl, RunRequest, SurfaceUpdate,
};
use crate::state::{Camera, Phase, State, Task};
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
    #[serde(rename = "told")]
    pub target_chosen: bool,
    /// Whether a leak pauses it.
    pub watched: bool,
    /// Steps per update; `None`: as many as fit.
    #[serde(rename = "pace")]
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
            speed_opacity: if opacity.is_finite() {
                opacity.clamp(0.0, 1.0)
            } else {
                0.0
            },
            ..self
        }
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
    /// Progress of a session's surface; restored as soon as it is shown.
    pub resume: Option<Arc<RunCheckpoint>>,
}

impl Segmentation {
    /// Whether both describe the same motion of a surface.
    pub fn steers_as(&self, other: &Self) -> bool {
        (&self.settings, &self.spheres) == (&other.settings, &other.spheres)
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

const NO_IMAGE: &str = "There is no image of numbers: open one";
const NO_TARGET: &str = "Hold P and drag over the structure, or set T";
const NO_SPHERE: &str = "Press A, then click inside the structure";
/// All reasons why a surface cannot run yet.
pub const CANNOT_SEGMENT: [&str; 3] = [NO_IMAGE, NO_TARGET, NO_SPHERE];

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

/// Runtime state of the segmentation.
#[derive(Clone, Debug)]
pub struct SegmentRuntime {
    /// A new number starts a new run.
    pub run: u64,
    pub play: RunControl,
    pub rewind: Option<Rewind>,
    /// The last request; nothing is requested twice.
    pub requested: Option<Box<RunRequest>>,
    pub running: bool,
    pub live: Option<Arc<SurfaceUpdate>>,
    /// Voxels of the image without a value.
    pub missing: usize,
    pub speed: Option<Volume>,
    /// Why there is no result.
    pub failed: Option<String>,
    pub earlier_runs: Vec<EarlierRun>,
    /// The known steps at which the user began to change the motion; a drag is one change, however many of its values
    /// take effect.
    pub changes: Vec<u64>,
    /// A drag is in progress whose first change is among `changes`.
    pub dragged: bool,
    /// Whether it is kept as soon as it rests.
    pub keep_at_rest: bool,
    /// Whether the initial surface is being rasterized.
    pub begins: bool,
    /// All samples, until the worker has found target and tolerance from them.
    pub sample: Option<Arc<Sample>>,
    /// The result of the last probe.
    pub probe: Option<Probe>,
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
            requested: None,
            running: false,
            live: None,
            missing: 0,
            speed: None,
            failed: None,
            earlier_runs: Vec::new(),
            changes: Vec::new(),
            dragged: false,
            keep_at_rest: false,
            begins: false,
            sample: None,
            probe: None,
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

/// The image of a layer if it can be segmented: numbers, not colours or labels.
pub fn scalar(layer: &Layer) -> Option<&Volume> {
    let volume = layer.content.volume()?;
    (volume.kind == VolumeKind::Scalar && volume.labels.is_none()).then_some(volume)
}

impl State {
    /// All samples of the target structure.
    pub fn segment_sample(&self) -> Option<&Arc<Sample>> {
        let looked_at = self.session.segment.sample.as_ref();
        looked_at.or(self.document.segment.sample.as_ref())
    }

    /// The sample from which the present target and tolerance are; `None` once the user has set others.
    pub fn sample_of_target(&self) -> Option<&Arc<Sample>> {
        let params = &self.document.segment.settings.params;
        let present = (params.target, params.tolerance);
        self.segment_sample()
            .filter(|sample| sample.found() == Some(present))
    }

    /// Why the surface cannot run, as a clause.
    pub fn cannot_segment(&self) -> Option<&'static str> {
        let segment = &self.document.segment;
        if self.document.segmented_image().is_none() {
            return Some(NO_IMAGE);
        }
        if !segment.settings.target_chosen {
            return Some(NO_TARGET);
        }
        let begins = !matches!(segment.start, Start::Spheres);
        if !begins && !segment.spheres.iter().any(|(_, s)| s.add) {
            return Some(NO_SPHERE);
        }
        None
    }

    /// Why the surface will not stop at the boundary of the sampled structure; if the target was changed, only whether
    /// the range reaches the background.
    pub fn range_doubt(&self) -> Option<RangeDoubt> {
        let params = &self.document.segment.settings.params;
        let (target, tolerance) = (params.target, params.tolerance);
        let probe = self.session.segment.probe?;
        let range = [target - tolerance, target + tolerance].map(f64::from);
        if probe.background_within(range) {
            return Some(RangeDoubt::Background);
        }
        if probe.target != target {
            return None;
        }
        let doubt = probe.range_doubt(range)?;
        // A user who sets another range has chosen among the tissues.
        let chosen = doubt == RangeDoubt::Mixed && probe.tolerance != tolerance;
        (!chosen).then_some(doubt)
    }

    pub fn segment_standing(&self) -> Option<SurfaceStanding> {
        let runtime = &self.session.segment;
        let live = runtime.live.as_ref()?;
        let requested = runtime.running && runtime.play != RunControl::Rest;
        // It may still be measured, or only its display may change.
        let rests = live.ended == Ended::Converged && self.is_moved_as_requested(live);
        Some(match live.ended {
            _ if requested && !rests => SurfaceStanding::Running,
            Ended::Leaked(_) => SurfaceStanding::Leaked,
            Ended::Vanished | Ended::Filled => SurfaceStanding::Ended,
            Ended::Converged => SurfaceStanding::Converged,
            Ended::Steps => SurfaceStanding::Paused,
        })
    }

    /// The earlier step to which the surface is still rewinding.
    pub fn rewinding_to(&self) -> Option<u64> {
        let runtime = &self.session.segment;
        let live = runtime.live.as_ref().filter(|_| runtime.running)?;
        let back = runtime
            .rewind
            .filter(|back| back.number > live.last_rewind)?;
        (back.step < live.step).then_some(back.step)
    }

    /// The step to which the surface goes back because a sphere that it holds was undone, moved or taken back, or
    /// because the start of another one was undone.
    fn undoing_to(&self) -> Option<u64> {
        let runtime = &self.session.segment;
        let live = runtime.live.as_ref().filter(|_| runtime.running)?;
        let segment = &self.document.segment;
        let resume = segment.resume.as_ref().map(|resume| &resume.script);
        if let Some(script) = resume.filter(|script| **script != live.script) {
            return Some(script.steps);
        }
        let now = segment
            .spheres
            .iter()
            .map(Some)
            .chain(std::iter::repeat(None));
        let mut differs = live.spheres.iter().zip(now);
        let ((number, _), _) = differs.find(|(own, now)| Some(*own) != *now)?;
        let placed = live.placed.iter().find(|(n, _)| n == number);
        let step = placed.map_or(0, |(_, step)| *step);
        // A sphere that was placed at this very step follows the pointer.
        let is_dragged = self.history.is_open() && step == live.step;
        (live.step > 0 && !is_dragged).then_some(step)
    }

    /// The earlier step to which the surface is still going back, whatever sends it there.
    pub fn rewind_target(&self) -> Option<u64> {
        self.rewinding_to().or_else(|| self.undoing_to())
    }

    /// Whether the surface results from the present parameters and spheres.
    fn is_moved_as_requested(&self, live: &SurfaceUpdate) -> bool {
        let segment = &self.document.segment;
        live.script.params_at(u64::MAX).0 == &self.document.surface_params()
            && live.spheres == segment.spheres
    }

    /// Whether the surface belongs to other parameters than the document's, and is not being updated.
    pub fn surface_is_stale(&self) -> bool {
        let Some(live) = self.session.segment.live.as_ref() else {
            return false;
        };
        if live.step == 0 || self.segment_standing() == Some(SurfaceStanding::Running) {
            return false;
        }
        live.script.params_at(u64::MAX).0 != &self.document.surface_params()
    }

    /// Whether speeds are shown.
    pub fn shows_speed(&self) -> bool {
        self.view.task == Task::Segment
            && (self.document.segment.settings.speed_opacity > 0.0
                || self.view.layout == crate::state::Layout::SpeedComparison)
    }

    /// Files that can be written now.
    pub fn segment_files(&self) -> Vec<SegmentFile> {
        let rests = self.resting_surface().is_some();
        let own = [
            SegmentFile::Labels,
            SegmentFile::Surface,
            SegmentFile::Script,
        ]
        .into_iter()
        .filter(|_| rests);
        let kept = !self.document.surfaces.is_empty();
        own.chain(kept.then_some(SegmentFile::Structures)).collect()
    }

    /// The surface at rest, with its voxels.
    pub fn resting_surface(&self) -> Option<(&Arc<SurfaceUpdate>, &Mask)> {
        let runtime = &self.session.segment;
        let live = runtime.live.as_ref().filter(|_| !runtime.running)?;
        Some((live, live.mask.as_ref()?))
    }
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
