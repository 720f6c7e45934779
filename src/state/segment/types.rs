//! Segmentation: what the surface begins with and what steers it; what happens meanwhile.

use crate::data::Mask;
use crate::data::region::RegionId;
use crate::data::{Role, Shape, Volume, VolumeKind, keyed};
pub use crate::solvers::level_set::RangeDoubt;
use crate::solvers::level_set::{Ended, Measures, Params, Probe, RunHistory, Sphere};
use crate::state::core::layer::{Layer, LayerId};
use crate::state::origin::Input;
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
    /// Somebody said what is looked for; until then the target is a guess.
    pub told: bool,
    /// A leak pauses it.
    pub watched: bool,
    /// Steps from picture to picture; none: as many as fit.
    pub pace: Option<u64>,
    /// 0..1, of the speeds over the slices.
    pub speed_opacity: f32,
    /// What is sampled is also made opaque where the image is a cloud.
    pub curve: bool,
    /// Clouds are dim outside the surface.
    pub dims: bool,
    /// How far from the cut of the image's volume the surface is seen, mm; none: everywhere.
    pub fade_mm: Option<f32>,
    /// The surface is drawn.
    pub shown: bool,
}

impl Default for SegmentSettings {
    fn default() -> Self {
        Self::defaults()
    }
}

impl SegmentSettings {
    /// Nothing is looked for yet; leaks pause what runs.
    pub fn defaults() -> Self {
        Self {
            params: Params::defaults_for(0.5, 0.1),
            told: false,
            watched: true,
            pace: None,
            speed_opacity: 0.0,
            curve: false,
            dims: false,
            fade_mm: None,
            shown: true,
        }
    }

    /// With numbers that make sense, whatever a file says.
    pub fn sound(self) -> Self {
        let default_value = Self::defaults();
        let opacity = self.speed_opacity;
        Self {
            params: match self.params.check() {
                Ok(()) => self.params,
                Err(_) => default_value.params,
            },
            pace: self.pace.map(|n| n.clamp(1, 1_000_000)),
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

/// What the surface begins with, before spheres.
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
    /// All that is connected to a world point and within so much of the value there.
    Filled {
        at: DVec3,
        within: f32,
    },
}

impl PartialEq for Start {
    /// Masks are one where their data are.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Spheres, Self::Spheres) => true,
            (Self::Mask(name, a), Self::Mask(other, b)) => (name, a.id()) == (other, b.id()),
            (Self::Values { low, high }, Self::Values { low: l, high: h }) => (low, high) == (l, h),
            (Self::Filled { at, within }, Self::Filled { at: a, within: w }) => {
                (at, within) == (a, w)
            }
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

/// What of a document is about the surface in the hand.
#[derive(Clone, Debug, Default)]
pub struct Segmentation {
    pub settings: SegmentSettings,
    /// None: nobody chose one yet.
    pub image: Option<LayerId>,
    pub start: Start,
    /// By numbers that are never used again.
    pub spheres: Vec<PlacedSphere>,
    /// All that was sampled for its target and tolerance. Not saved.
    pub sample: Option<Arc<Sample>>,
    /// A mask to compare with.
    pub reference: Option<LayerId>,
    /// An image whose values are a speed.
    pub layer: Option<LayerId>,
    /// Regions where to grow, where not to.
    pub painted: [Option<RegionId>; 2],
    /// How far the surface of a session was; gone there as soon as it is looked at.
    pub resume: Option<Arc<RunCheckpoint>>,
}

impl Segmentation {
    /// Whether a surface moves by this as by another one.
    pub fn steers_as(&self, other: &Self) -> bool {
        (&self.settings, &self.spheres) == (&other.settings, &other.spheres)
            && (self.layer, self.painted) == (other.layer, other.painted)
    }
}

/// What gave a surface speeds beside its image.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SpeedInputs {
    /// Which volume of it.
    pub layer: Option<(Input, usize)>,
    /// Where to grow, where not to.
    pub painted: [Vec<Arc<Shape>>; 2],
}

/// How a mask was segmented.
#[derive(Clone, PartialEq, Debug)]
pub struct Segmented {
    pub image: Input,
    pub frame: usize,
    pub start: Start,
    /// Of the start.
    pub spheres: Vec<Sphere>,
    /// By the numbers of the script.
    pub inputs: Vec<SpeedInputs>,
    pub script: RunHistory,
}

/// The surface of a mask that was segmented.
#[derive(Clone, Debug)]
pub struct KeptSurface {
    /// φ around its surface; of a session that was opened the mask stands for it.
    pub phi: Option<Volume>,
    /// sRGB.
    pub colour: [u8; 3],
    pub measures: Option<Measures>,
}

/// What a user does with the surface.
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
    /// With a kept pathway, or the live one.
    StartFromPathway(Option<LayerId>),
    /// With what is connected to the crosshair's voxel.
    StartFromFill,
    Sphere(Sphere),
    /// Another place or size for one, by its number.
    Move {
        number: u64,
        sphere: Sphere,
        phase: Phase,
    },
    /// Takes back one by its number.
    TakeBack(u64),
    /// All spheres, and the surface.
    Clear,
    Play,
    Pause,
    Step,
    /// Back to the state after so many steps.
    Rewind(u64),
    Reference(Option<LayerId>),
    SpeedLayer(Option<LayerId>),
    /// Where to grow (0), where not to (1).
    Painted(usize, Option<RegionId>),
    Keep,
    /// Makes a region of the voxels inside.
    Region(Role),
    Save {
        what: SegmentFile,
        path: PathBuf,
    },
}

const NO_IMAGE: &str = "There is no image of numbers: open one";
const NO_TARGET: &str = "Hold P and drag over what you look for, or set T";
const NO_SPHERE: &str = "Press A, then click in what you look for";
/// All that a surface may wait for.
pub const CANNOT_SEGMENT: [&str; 3] = [NO_IMAGE, NO_TARGET, NO_SPHERE];

/// What of a surface can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentFile {
    Labels,
    Surface,
    Script,
    /// What was kept, and the surface, as the numbers of one label map.
    Structures,
}

impl SegmentFile {
    pub fn name(self) -> &'static str {
        match self {
            Self::Labels => "Label map…",
            Self::Surface => "Surface…",
            Self::Script => "Run script…",
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

/// A stretch of the plot that was gone back from.
#[derive(Clone, PartialEq, Debug)]
pub struct EarlierRun {
    pub growth: Vec<(u64, u64)>,
}

/// What happens meanwhile.
#[derive(Clone, Debug)]
pub struct SegmentRuntime {
    /// Begins anew with another number.
    pub run: u64,
    pub play: RunControl,
    pub back: Option<Rewind>,
    /// What was asked for last; nothing is asked for twice.
    pub asked: Option<Box<RunRequest>>,
    pub running: bool,
    pub live: Option<Arc<SurfaceUpdate>>,
    /// Voxels of the image without a value.
    pub missing: usize,
    pub speed: Option<Volume>,
    /// Why there is no result.
    pub failed: Option<String>,
    pub left: Vec<EarlierRun>,
    /// The known steps at which the user began to change what steers the surface; a drag is one change, however many
    /// of its values act on the way.
    pub changes: Vec<u64>,
    /// A drag is in progress whose first change is among `changes`.
    pub dragged: bool,
    /// To be kept as soon as it rests.
    pub keeps: bool,
    /// The voxels that it is to begin with are being counted.
    pub begins: bool,
    /// All that was sampled, until the worker that looks at it has found target and tolerance.
    pub sample: Option<Arc<Sample>>,
    /// The result of the last probe.
    pub probe: Option<Probe>,
    /// The camera before it was brought to the surface, and the one it was brought to.
    pub framed: Option<(Camera, Camera)>,
    /// Where the script of the run as it was then is, and how many steps and changes that had.
    pub written: Option<(PathBuf, RunHistory)>,
}

impl Default for SegmentRuntime {
    fn default() -> Self {
        Self {
            run: 1,
            play: RunControl::Rest,
            back: None,
            asked: None,
            running: false,
            live: None,
            missing: 0,
            speed: None,
            failed: None,
            left: Vec::new(),
            changes: Vec::new(),
            dragged: false,
            keeps: false,
            begins: false,
            sample: None,
            probe: None,
            framed: None,
            written: None,
        }
    }
}

/// The surface in slices and in 3-D.
pub const LIVE_RGB: [u8; 3] = [0xFF, 0xD4, 0x00];

/// How the surface stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    Running,
    /// Somebody paused it, or it has not begun.
    Paused,
    /// It stands still by itself.
    Converged,
    Leaked,
    Ended,
}

/// The number of a layer's volume that is shown.
pub fn frame_of(layer: &Layer, volume: &Volume) -> usize {
    layer.display.frame.min(volume.frames.saturating_sub(1))
}

/// What can be segmented: numbers, not colours or labels.
pub fn scalar(layer: &Layer) -> Option<&Volume> {
    let volume = layer.content.volume()?;
    (volume.kind == VolumeKind::Scalar && volume.labels.is_none()).then_some(volume)
}

impl State {
    /// All that was sampled of what is looked for.
    pub fn segment_sample(&self) -> Option<&Arc<Sample>> {
        let looked_at = self.session.segment.sample.as_ref();
        looked_at.or(self.document.segment.sample.as_ref())
    }

    /// Why the surface cannot run, in a sentence's words.
    pub fn cannot_segment(&self) -> Option<&'static str> {
        let segment = &self.document.segment;
        if self.document.segmented_image().is_none() {
            return Some(NO_IMAGE);
        }
        if !segment.settings.told {
            return Some(NO_TARGET);
        }
        let begins = !matches!(segment.start, Start::Spheres);
        if !begins && !segment.spheres.iter().any(|(_, s)| s.add) {
            return Some(NO_SPHERE);
        }
        None
    }

    /// Why the surface will not stop at the border of the sampled structure; once the target is another, only whether
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
        // Whoever sets another range chooses among the tissues.
        let chosen = doubt == RangeDoubt::Mixed && probe.tolerance != tolerance;
        (!chosen).then_some(doubt)
    }

    pub fn segment_standing(&self) -> Option<Standing> {
        let working = &self.session.segment;
        let live = working.live.as_ref()?;
        let requested = working.running && working.play != RunControl::Rest;
        // It may be measured still, or looked at in another way.
        let rests = live.ended == Ended::Converged && self.is_moved_as_asked(live);
        Some(match live.ended {
            _ if requested && !rests => Standing::Running,
            Ended::Leaked(_) => Standing::Leaked,
            Ended::Vanished | Ended::Filled => Standing::Ended,
            Ended::Converged => Standing::Converged,
            Ended::Steps => Standing::Paused,
        })
    }

    /// The earlier step to which the surface is still going back.
    pub fn rewinding_to(&self) -> Option<u64> {
        let working = &self.session.segment;
        let live = working.live.as_ref().filter(|_| working.running)?;
        let back = working.back.filter(|back| back.number > live.back)?;
        (back.step < live.step).then_some(back.step)
    }

    /// Whether the surface came about by the parameters and spheres that are asked for.
    fn is_moved_as_asked(&self, live: &SurfaceUpdate) -> bool {
        let segment = &self.document.segment;
        live.script.at(u64::MAX).0 == &self.document.surface_params()
            && live.spheres == segment.spheres
    }

    /// Whether the surface was moved by other parameters than the document's, and is not on its way.
    pub fn surface_is_stale(&self) -> bool {
        let Some(live) = self.session.segment.live.as_ref() else {
            return false;
        };
        if live.step == 0 || self.segment_standing() == Some(Standing::Running) {
            return false;
        }
        live.script.at(u64::MAX).0 != &self.document.surface_params()
    }

    /// Whether speeds are looked at.
    pub fn shows_speed(&self) -> bool {
        self.view.task == Task::Segment
            && (self.document.segment.settings.speed_opacity > 0.0
                || self.view.layout == crate::state::Layout::Beside)
    }

    /// What can be written now.
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
        let working = &self.session.segment;
        let live = working.live.as_ref().filter(|_| !working.running)?;
        Some((live, live.mask.as_ref()?))
    }
}

/// The radius of a sphere that a click places, mm.
pub const SPHERE_MM: f64 = 4.0;
