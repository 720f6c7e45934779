//! Runtime state: jobs, messages, the live result. Not undone and not saved.

use super::core::live::{self, LiveKey};
use crate::data::region::RegionId;
use crate::data::{DataId, Region, Role, Tractogram};
use crate::io::Remark;
use crate::jobs::{AnyJob, BackendKind, DeviceFailure, Folder, JobHandle, Slot};
use crate::solvers::geodesic::{self, Cut, RayMetric};
use crate::solvers::{curves, gradient_check, tensor_check};
use crate::state::alignment::PendingTransform;
use crate::state::core::layer::LayerId;
use crate::state::files::types::{Paths, RecentExports};
use crate::state::job_end::FailedJob;
use crate::state::pictures::Turning;
use crate::state::recipe::RayMetricParams;
use crate::state::regions::types::{Labels, Making};
use crate::state::sampling::Sample;
use crate::state::sessions::Saving;
use crate::state::settings::Preferences;
pub use crate::state::snapshots::{Comparing, Snapshot};
use crate::state::streamlines::StreamlineRuntime;
use crate::state::tensors::types::FitKey;
use crate::state::view::Task;
use crate::state::{Document, Recipe, filter, pathways, segment};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    Information,
    Warning,
    Error,
}

impl From<&Remark> for Severity {
    fn from(remark: &Remark) -> Self {
        match remark.is_note {
            true => Self::Information,
            false => Self::Warning,
        }
    }
}

/// Separates an action from its consequence in the status.
const FOLLOWS: &str = ". Result: ";

/// One sentence for the user, shown next to its cause until dismissed.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    pub severity: Severity,
    pub text: String,
    /// The kind of job that failed; its next success removes the message or, if several can queue, the next request.
    pub slot: Option<Slot>,
    /// It failed on a graphics card: the CPU is offered.
    pub on_card: bool,
    /// The subject of a message that the program updates or removes by itself.
    pub topic: Option<Topic>,
}

/// A state that messages describe as long as it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// Kept results are not stored next to the session.
    Away,
    /// The recovery copy is kept.
    CopyKept,
    /// Unsaved work of an earlier window was recovered.
    Recovered,
    /// The tour has ended.
    GuideEnds,
}

/// Jobs that failed on graphics cards, to be repeated on the CPU.
#[derive(Clone, Debug, Default)]
pub struct DeviceFallback {
    /// The last job of each slot.
    pub requests: Vec<Box<dyn AnyJob<super::State>>>,
    /// The live curves.
    pub live: bool,
    /// The CPU was requested: it repeats all this as soon as it is open.
    pub moving: bool,
}

/// The streamlines of the present regions; kept only on request.
#[derive(Clone, Debug)]
pub struct CurveResult {
    pub output: Arc<curves::Output>,
    /// Fewer seeds during a drag.
    pub coarse: bool,
    /// Number of requested seeds.
    pub seeds: usize,
    pub wall_ms: f64,
    pub recipe: Recipe,
    /// The target regions in the order of `output.per_target`.
    pub targets: Vec<RegionId>,
    pub key: CurveKey,
    /// Data that only geodesic rays have.
    pub rays: Option<RayResult>,
}

/// Key of the live curves with an end that stopped for one reason.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StopFilterKey {
    /// Ids of the kept and missed curves that they come from.
    pub of: [DataId; 2],
    pub reason: curves::StopReason,
}

impl LiveKey for StopFilterKey {}

/// The inputs of a cut of rays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CutKey {
    /// All rays, before the cut.
    pub of: DataId,
    pub cut: Cut,
}

impl LiveKey for CutKey {}

/// Live curves through the crosshair's voxel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CurvesAtCrosshair {
    pub of: DataId,
    pub voxel: [usize; 3],
    pub count: usize,
    /// Mean connectivity measure of those rays.
    pub measure: Option<f64>,
}

/// All rays to apply a cut to, without shooting again.
#[derive(Clone, Debug)]
pub struct RayResult {
    /// All rays that pass the regions, and their connectivity measures.
    pub all: Tractogram,
    pub measures: Arc<[f32]>,
    /// Measures rounded outwards to tenths: ends of scales that do not jitter while a region is dragged.
    pub range: (f32, f32),
    /// The cut of the result, and the smallest measure that it keeps.
    pub cut: Cut,
    pub least: Option<f32>,
    /// Tensors that were not positive definite.
    pub repaired: u64,
}

/// The finite measures rounded outwards to tenths; a tenth around 1 if there are none.
pub fn measure_range(measures: &[f32]) -> (f32, f32) {
    let finite = measures.iter().copied().filter(|m| m.is_finite());
    let (low, high) = finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), m| {
        (low.min(m), high.max(m))
    });
    if low > high {
        return (0.9, 1.1);
    }
    let (low, high) = ((low * 10.0).floor(), (high * 10.0).ceil());
    (low / 10.0, high.max(low + 1.0) / 10.0)
}

/// What streamlines or rays of regions depend on.
#[derive(Clone, Debug)]
pub struct CurveKey {
    pub field: DataId,
    pub regions: Vec<Region>,
    pub curves: CurveParams,
    /// With fewer seeds than the document has.
    pub coarse: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum CurveParams {
    Streamlines(curves::Params),
    Rays(RayMetricParams, geodesic::Params),
}

/// How the live result relates to its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// The complete result.
    Final,
    /// Fewer curves than requested.
    Coarse,
    /// From before the last change; a newer one is being computed.
    Updating,
    /// From before the last change, and nothing is being computed: a job was stopped.
    OutOfDate,
}

/// The kind of a file opened before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum RecentKind {
    #[default]
    Image,
    Streamlines,
    Session,
}

/// A file opened before.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Recent {
    pub path: PathBuf,
    #[serde(default)]
    pub kind: RecentKind,
    /// Description of its content: `81 × 105 × 60 × 33, 1 × b 0, 32 × b 1000`.
    pub summary: String,
    /// Seconds since 1970.
    pub opened: u64,
    /// Values displayed as the first and last colour, if the user has chosen them.
    #[serde(default)]
    pub window: Option<(f32, f32)>,
}

/// The tour's last note.
const GUIDE_ENDS: &str =
    "Guide finished. Everything you made stays and can be undone. Press ? for tools and keys";

/// Steps of the tour, in order; each advances when its action is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TourStep {
    ClickSlice,
    PlaceSeed,
    DragSeed,
    PlaceTarget,
    /// The width of the pathway between the two.
    Width,
    /// The streamlines that the signal requires.
    Weigh,
    Save,
}

impl TourStep {
    pub const ALL: [Self; 7] = [
        Self::ClickSlice,
        Self::PlaceSeed,
        Self::DragSeed,
        Self::PlaceTarget,
        Self::Width,
        Self::Weigh,
        Self::Save,
    ];

    /// Whether the step comes after those that place seed and target.
    pub fn is_after_regions(self) -> bool {
        matches!(self, Self::Width | Self::Weigh | Self::Save)
    }

    pub fn next(self) -> Option<Self> {
        let at = Self::ALL.iter().position(|&s| s == self)?;
        Self::ALL.get(at + 1).copied()
    }
}

/// Statuses about results that another task, or the next result, does not show.
#[derive(Clone, Debug, Default)]
pub struct StatusAbout {
    /// About the live result.
    pub live: Option<String>,
    /// About a result that only this task shows.
    pub task: Option<(Task, String)>,
    /// The step that was undone or redone last.
    pub step: Option<String>,
}

/// The backend that is open.
#[derive(Clone, Debug, Default)]
pub struct OpenBackend {
    /// Last field of the status line: `CPU 2 threads · AVX2`.
    pub label: String,
    /// Why it was chosen: `CPU: no NVIDIA driver found`.
    pub reason: String,
    /// Whether solvers that have a kernel run on a graphics card.
    pub on_card: bool,
}

/// A file next to a scan that appears to be its brain mask.
#[derive(Clone, PartialEq, Debug)]
pub struct MaskBeside {
    pub scan: DataId,
    pub path: PathBuf,
    /// The user has requested it, and it is being opened.
    pub taken: bool,
}

#[derive(Clone, Debug)]
pub struct Session {
    pub backend: OpenBackend,
    /// The requested kind: by the command line, by the setting, by the user.
    pub backend_kind: BackendKind,
    /// For the next start.
    pub backend_setting: BackendKind,
    /// Becomes the setting once it is open.
    pub wanted_setting: Option<BackendKind>,
    /// Names of the graphics cards, or why there are none; `None` before the first search.
    pub cards: Option<Result<Arc<[String]>, String>>,
    pub stranded: DeviceFallback,
    pub jobs: Vec<JobHandle>,
    /// Jobs that ended without an output since the features last followed.
    pub failed_jobs: Vec<FailedJob>,
    pub snapshots: Vec<Arc<Snapshot>>,
    pub comparing: Option<Comparing>,
    /// Pictures of a turntable.
    pub turning: Option<Turning>,
    pub messages: Vec<Message>,
    /// The last completed action, for the status line.
    pub status: String,
    pub status_about: StatusAbout,
    pub live: Option<CurveResult>,
    pub passing: Option<CurvesAtCrosshair>,
    /// Schedules the streamlines or rays of the regions, which `live` holds.
    pub tracking: live::Live<CurveKey, ()>,
    /// Schedules the cut of many rays; the live result holds the rays that it keeps.
    pub cut: live::Live<CutKey, ()>,
    /// Transforms being applied to streamlines, one per layer, in the order of their start.
    pub shifting: Vec<PendingTransform>,
    /// The metric prepared for rays, to be reused, and its recipe: splines are stored in single precision whatever is
    /// requested.
    pub medium: Option<(RayMetricParams, RayMetric)>,
    /// Speed of the last rays.
    pub rays_per_ms: Option<f64>,
    /// The fraction of them that passed the regions.
    pub rays_passed: Option<f64>,
    /// Comparison of the gradients' axes, with the scan's image.
    pub axes: Option<(DataId, Arc<gradient_check::Output>)>,
    /// A folder from which a visit must be chosen.
    pub folder: Option<Arc<Folder>>,
    pub settings: Preferences,
    /// Possible readings of six volumes as tensors, with their layer.
    pub tensor_orders: Option<(LayerId, Arc<tensor_check::Output>)>,
    pub recent: Vec<Recent>,
    pub exports: RecentExports,
    pub paths: Paths,
    pub selected_region: Option<RegionId>,
    pub selected_layer: Option<LayerId>,
    /// Masks being written to files.
    pub exporting: Vec<(DataId, PathBuf)>,
    /// A region that follows its controls.
    pub making: Option<Making>,
    /// Counter for its serial numbers.
    pub making_serial: u64,
    /// The label map whose regions are chosen from.
    pub labels: Option<Labels>,
    /// The region that strokes go into; `None`: the next begins a new one.
    pub drawn: Option<RegionId>,
    pub guide: Option<TourStep>,
    /// Counts the changes of the document: a file requested before a change lacks it.
    pub revision: u64,
    /// The fit that was requested and has not ended.
    pub fitting: Option<FitKey>,
    /// Runtime state of streamlines.
    pub bundle: StreamlineRuntime,
    /// Files that were opened together.
    pub together: Vec<PathBuf>,
    /// A file next to a scan that appears to be its brain mask.
    pub mask_beside: Option<MaskBeside>,
    pub pathways: pathways::PathwayRuntime,
    /// Runtime state of the surface.
    pub segment: segment::SegmentRuntime,
    pub filter: filter::FilterRuntime,
    /// Set while P is held.
    pub sample: Option<Sample>,
    pub saving: Saving,
}

impl Session {
    pub fn new(backend: String) -> Self {
        Self {
            backend: OpenBackend {
                label: backend,
                ..OpenBackend::default()
            },
            backend_kind: BackendKind::default(),
            backend_setting: BackendKind::default(),
            wanted_setting: None,
            cards: None,
            stranded: DeviceFallback::default(),
            jobs: Vec::new(),
            failed_jobs: Vec::new(),
            turning: None,
            snapshots: Vec::new(),
            comparing: None,
            messages: Vec::new(),
            status: String::new(),
            status_about: StatusAbout::default(),
            live: None,
            passing: None,
            tracking: live::Live::default(),
            cut: live::Live::default(),
            shifting: Vec::new(),
            medium: None,
            rays_per_ms: None,
            rays_passed: None,
            axes: None,
            tensor_orders: None,
            folder: None,
            settings: Preferences::default(),
            recent: Vec::new(),
            exports: RecentExports::default(),
            paths: Paths::default(),
            selected_region: None,
            selected_layer: None,
            exporting: Vec::new(),
            making: None,
            making_serial: 0,
            labels: None,
            drawn: None,
            guide: None,
            revision: 0,
            fitting: None,
            bundle: StreamlineRuntime::default(),
            together: Vec::new(),
            mask_beside: None,
            pathways: pathways::PathwayRuntime::default(),
            segment: segment::SegmentRuntime::default(),
            filter: filter::FilterRuntime::default(),
            sample: None,
            saving: Saving::default(),
        }
    }

    /// Appends the consequence of an action to the status. An undone step stays readable: the results recomputed after
    /// it follow at once.
    pub fn follows(&mut self, sentence: String) {
        self.status = match self.shown_step() {
            Some((step, _)) => format!("{step}{FOLLOWS}{sentence}"),
            None => sentence,
        };
    }

    /// Removes an undone or redone step of another task from the status.
    pub fn forget_step(&mut self) {
        if let Some((_, rest)) = self.shown_step() {
            self.status = rest.to_owned();
        }
        self.status_about.step = None;
    }

    /// The step at the beginning of the status, and the text after it.
    fn shown_step(&self) -> Option<(&str, &str)> {
        let step = self.status_about.step.as_deref()?;
        let rest = self.status.strip_prefix(step)?;
        match rest.is_empty() {
            true => Some((step, rest)),
            false => Some((step, rest.strip_prefix(FOLLOWS)?)),
        }
    }

    pub fn notify(&mut self, severity: Severity, text: impl Into<String>) {
        self.add_message(severity, text.into(), None);
    }

    /// Adds a message that the program updates or removes when its topic changes.
    pub fn say_about(&mut self, topic: Topic, severity: Severity, text: impl Into<String>) {
        self.add_message(severity, text.into(), Some(topic));
    }

    fn add_message(&mut self, severity: Severity, text: String, topic: Option<Topic>) {
        self.add(Message {
            severity,
            text,
            slot: None,
            on_card: false,
            topic,
        });
    }

    /// Removes the messages about a topic.
    pub fn forget(&mut self, topic: Topic) {
        self.messages.retain(|m| m.topic != Some(topic));
    }

    /// Whether solvers run on a graphics card.
    pub fn is_on_card(&self) -> bool {
        self.backend.on_card
    }

    /// A job failed.
    pub fn failed(&mut self, slot: Slot, why: String) {
        self.add(Message {
            severity: Severity::Error,
            text: why,
            slot: Some(slot),
            on_card: false,
            topic: None,
        });
    }

    /// The result of a job has a problem, which is reported until the next one is done.
    pub fn warned(&mut self, slot: Slot, why: impl Into<String>) {
        self.add(Message {
            severity: Severity::Warning,
            text: why.into(),
            slot: Some(slot),
            on_card: false,
            topic: None,
        });
    }

    /// A job cannot start, which is reported until it does.
    pub fn refused(&mut self, slot: Slot, why: String) {
        self.add(Message {
            severity: Severity::Information,
            text: why,
            slot: Some(slot),
            on_card: false,
            topic: None,
        });
    }

    /// A job failed on a graphics card; it may run on the CPU.
    pub fn failed_on_card(
        &mut self,
        slot: Slot,
        failure: DeviceFailure,
        job: Box<dyn AnyJob<super::State>>,
    ) {
        self.forget_failures(slot);
        self.stranded.requests.push(job);
        self.add(Message {
            severity: Severity::Error,
            text: failure.found,
            slot: Some(slot),
            on_card: true,
            topic: None,
        });
    }

    /// A job of this kind succeeded, or its request changed: older failures no longer apply.
    pub fn forget_failures(&mut self, slot: Slot) {
        self.messages.retain(|m| m.slot != Some(slot));
        self.stranded.requests.retain(|r| r.slot() != slot);
    }

    fn add(&mut self, message: Message) {
        if !self.messages.contains(&message) {
            self.messages.push(message);
        }
    }

    /// Returns to the first step that is missing again.
    pub fn guide_back(&mut self, document: &Document) {
        let Some(step) = self.guide else { return };
        let has = |role: Role| document.regions.iter().any(|r| r.role == role);
        let requested = match (has(Role::Seed), has(Role::Target)) {
            (false, _) => TourStep::PlaceSeed,
            (true, false) => TourStep::PlaceTarget,
            (true, true) => return,
        };
        let at = |step: TourStep| TourStep::ALL.iter().position(|s| *s == step);
        if at(step) > at(requested) {
            self.guide = Some(requested);
        }
    }

    /// Begins the tour; the last note of an earlier one is removed.
    pub fn start_guide(&mut self) {
        self.forget(Topic::GuideEnds);
        self.guide = Some(TourStep::ClickSlice);
    }

    /// Ends a tour step if it is the current one.
    pub fn guide_done(&mut self, step: TourStep) {
        if self.guide == Some(step) {
            self.guide = step.next();
            if self.guide.is_none() {
                self.say_about(Topic::GuideEnds, Severity::Information, GUIDE_ENDS);
            }
        }
    }
}
