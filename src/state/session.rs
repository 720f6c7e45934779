//! What happens meanwhile: jobs, messages, the live result. Not undone and not saved.

use super::core::live::{self, LiveKey};
use crate::data::region::RegionId;
use crate::data::{DataId, Region, Role, Tractogram};
use crate::io::Remark;
use crate::jobs::{AnyJob, BackendKind, DeviceFailure, Folder, JobHandle, Slot};
use crate::solvers::geodesic::{self, Cut, RayMetric};
use crate::solvers::{curves, gradient_check, tensor_check};
use crate::state::alignment::PendingTransform;
use crate::state::core::layer::{LayerId, OriginId};
use crate::state::files::types::{Paths, RecentExports};
use crate::state::job_end::FailedJob;
use crate::state::pictures::Turning;
use crate::state::recipe::MediumRecipe;
use crate::state::regions::types::{Labels, Making};
use crate::state::sampling::Sample;
use crate::state::sessions::Saving;
use crate::state::settings::Preferences;
pub use crate::state::snapshots::{Comparing, Snapshot};
use crate::state::streamlines::StreamlineRuntime;
use crate::state::tensors::types::FitKey;
use crate::state::view::Task;
use crate::state::{Document, filter, pathways, segment};
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

/// Between what was done and what followed.
const FOLLOWS: &str = ". Result: ";

/// One sentence for the user, shown beside what caused it until dismissed.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    pub severity: Severity,
    pub text: String,
    /// The kind of job that failed; its next success takes the message away, or, where several
    /// queue, the next that is asked for.
    pub slot: Option<Slot>,
    /// A graphics card failed it: the CPU is offered.
    pub on_card: bool,
    /// The subject of a message that the program updates or removes by itself.
    pub topic: Option<Topic>,
}

/// A state that messages describe as long as it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// Kept results are not stored beside the session.
    Away,
    /// The recovery copy is kept.
    CopyKept,
    /// Unsaved work of an earlier window was recovered.
    Recovered,
    /// The guide has ended.
    GuideEnds,
}

/// What graphics cards failed to do, for the CPU.
#[derive(Clone, Debug, Default)]
pub struct DeviceFallback {
    /// The last of each slot.
    pub requests: Vec<Box<dyn AnyJob<super::State>>>,
    /// The live curves.
    pub live: bool,
    /// The CPU was asked for: it does all this as soon as it is open.
    pub moving: bool,
}

/// The streamlines of the regions as they are now; kept only on request.
#[derive(Clone, Debug)]
pub struct CurveResult {
    pub output: Arc<curves::Output>,
    /// Fewer seeds while something is dragged.
    pub coarse: bool,
    /// Seeds asked for.
    pub seeds: usize,
    pub wall_ms: f64,
    /// The fit of the tensors, in the document's table of origins.
    pub fit: OriginId,
    /// Names of the target regions in the order of `output.per_target`.
    pub targets: Vec<RegionId>,
    pub key: CurveKey,
    /// What geodesic rays have that streamlines have not.
    pub rays: Option<RayResult>,
}

/// Names live curves of which an end stopped for one reason.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StopFilterKey {
    /// Kept and missed curves that they are from.
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

/// What the cut chooses from, without shooting again.
#[derive(Clone, Debug)]
pub struct RayResult {
    /// All rays that pass the regions, and their connectivity measures.
    pub all: Tractogram,
    pub measures: Arc<[f32]>,
    /// Tenths around the measures: ends of scales that do not tremble while a region is dragged.
    pub range: (f32, f32),
    /// The cut that the result stands for, and the least measure that it leaves.
    pub cut: Cut,
    pub least: Option<f32>,
    /// Tensors that were not positive definite.
    pub repaired: u64,
}

/// Whole tenths around the finite measures; a tenth about 1 where there is none.
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

/// What live curves were asked for with.
#[derive(Clone, Debug)]
pub struct CurveKey {
    pub field: DataId,
    pub regions: Vec<Region>,
    pub curves: CurveParams,
    pub coarse: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum CurveParams {
    Streamlines(curves::Params),
    Rays(MediumRecipe, geodesic::Params),
}

/// How the live result stands to what is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// All that was asked for.
    Final,
    /// Fewer curves than asked for.
    Coarse,
    /// From before the last change; a newer one is being made.
    Updating,
    /// From before the last change, and nothing is being made: a job was stopped.
    OutOfDate,
}

/// What a file opened before holds.
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
    /// What it was: `81 × 105 × 60 × 33, 1 × b 0, 32 × b 1000`.
    pub summary: String,
    /// Seconds since 1970.
    pub opened: u64,
    /// Values shown as the first and last colour, where the user has chosen them.
    #[serde(default)]
    pub window: Option<(f32, f32)>,
}

/// The guide's last note.
const GUIDE_ENDS: &str =
    "Guide finished. Everything you made stays and can be undone. Press ? for tools and keys";

/// Steps of the guide, in order; each advances when its act is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TourStep {
    ClickSlice,
    PlaceSeed,
    DragSeed,
    PlaceTarget,
    /// Of the pathway between the two.
    Width,
    /// Which of the streamlines the signal needs.
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

/// Statuses about something that another task, or the next result, does not show.
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
    /// Why that one: `CPU: no NVIDIA driver found`.
    pub reason: String,
    /// Solvers that have a kernel run on a graphics card.
    pub on_card: bool,
}

/// A file beside a scan that seems to be its brain mask.
#[derive(Clone, PartialEq, Debug)]
pub struct MaskBeside {
    pub scan: DataId,
    pub path: PathBuf,
    /// The user has asked for it, and it is being opened.
    pub taken: bool,
}

#[derive(Clone, Debug)]
pub struct Session {
    pub backend: OpenBackend,
    /// What was asked for: by the command line, by the setting, by hand.
    pub backend_kind: BackendKind,
    /// For the next start.
    pub backend_setting: BackendKind,
    /// Becomes the setting once it is open.
    pub wanted_setting: Option<BackendKind>,
    /// Names of the graphics cards, or why there are none; `None` while nobody has looked.
    pub cards: Option<Result<Arc<[String]>, String>>,
    pub stranded: DeviceFallback,
    pub jobs: Vec<JobHandle>,
    /// Jobs that ended without an output since the features last followed.
    pub failed_jobs: Vec<FailedJob>,
    pub snapshots: Vec<Arc<Snapshot>>,
    pub comparing: Option<Comparing>,
    /// Pictures of a whole turn.
    pub turning: Option<Turning>,
    pub messages: Vec<Message>,
    /// What last finished, for the status line.
    pub status: String,
    pub status_about: StatusAbout,
    pub live: Option<CurveResult>,
    pub passing: Option<CurvesAtCrosshair>,
    /// A full result has to follow the coarse one as soon as the pointer rests.
    pub unsettled: bool,
    /// A coarse result is on its way; whether another is wanted after it. None is cancelled for the
    /// next, or a hand that never rests would see nothing.
    pub coarse_running: bool,
    pub coarse_again: bool,
    /// A coarse result is on its way only to be seen until the full one comes.
    pub full_next: bool,
    /// Schedules the cut of many rays; the live result holds the rays that it leaves.
    pub cut: live::Live<CutKey, ()>,
    /// Streamlines that are being moved, one of each layer, in the order they were begun.
    pub shifting: Vec<PendingTransform>,
    /// Tensors prepared for rays, for the next ones, and how they were asked for: splines are stored
    /// in single precision whatever is asked.
    pub medium: Option<(MediumRecipe, RayMetric)>,
    /// How fast the last rays were.
    pub rays_per_ms: Option<f64>,
    /// The share of them that passed the regions.
    pub rays_passed: Option<f64>,
    /// Why there is no live result although there are seeds.
    pub live_error: Option<String>,
    /// How the gradients' axes compare, and of which scan's image.
    pub axes: Option<(DataId, Arc<gradient_check::Output>)>,
    /// A data set's folder of which a visit is to be chosen.
    pub folder: Option<Arc<Folder>>,
    pub settings: Preferences,
    /// How six volumes may be read as tensors, and of which layer.
    pub tensor_orders: Option<(LayerId, Arc<tensor_check::Output>)>,
    pub recent: Vec<Recent>,
    pub exports: RecentExports,
    pub paths: Paths,
    pub selected_region: Option<RegionId>,
    pub selected_layer: Option<LayerId>,
    /// Masks on their way to files.
    pub exporting: Vec<(DataId, PathBuf)>,
    /// A region that follows its controls.
    pub making: Option<Making>,
    /// Counts them.
    pub making_serial: u64,
    /// The label map whose regions are chosen from.
    pub labels: Option<Labels>,
    /// The region that strokes go into; `None`: the next begins a new one.
    pub drawn: Option<RegionId>,
    pub guide: Option<TourStep>,
    /// Counts the changes of the document: a file that was asked for before a change lacks it.
    pub revision: u64,
    /// The fit that was asked for and has not ended.
    pub fitting: Option<FitKey>,
    /// What is known of the streamlines that are asked about.
    pub bundle: StreamlineRuntime,
    /// Files that were asked for together.
    pub together: Vec<PathBuf>,
    /// A scan's image, and a file beside it that seems to be its brain mask.
    pub mask_beside: Option<MaskBeside>,
    pub pathways: pathways::PathwayRuntime,
    /// The surface in the hand.
    pub segment: segment::SegmentRuntime,
    pub filter: filter::FilterRuntime,
    /// While P is held.
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
            unsettled: false,
            coarse_running: false,
            coarse_again: false,
            full_next: false,
            cut: live::Live::default(),
            shifting: Vec::new(),
            medium: None,
            rays_per_ms: None,
            rays_passed: None,
            live_error: None,
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

    /// What came of itself after something was done. Which step was taken back stays to be read: what is
    /// computed anew after it follows at once.
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

    /// The step that the status begins with, and what follows it.
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

    /// What came of a job is not as it should be, which is said until the next one is done.
    pub fn warned(&mut self, slot: Slot, why: impl Into<String>) {
        self.add(Message {
            severity: Severity::Warning,
            text: why.into(),
            slot: Some(slot),
            on_card: false,
            topic: None,
        });
    }

    /// A job cannot start, which is said until it does.
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

    /// A job of this kind went well, or something else is asked for: older failures are no news.
    pub fn forget_failures(&mut self, slot: Slot) {
        self.messages.retain(|m| m.slot != Some(slot));
        self.stranded.requests.retain(|r| r.slot() != slot);
    }

    fn add(&mut self, message: Message) {
        if !self.messages.contains(&message) {
            self.messages.push(message);
        }
    }

    /// Back to what is missing again.
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

    /// Begins the guide; its last note of the time before goes.
    pub fn start_guide(&mut self) {
        self.forget(Topic::GuideEnds);
        self.guide = Some(TourStep::ClickSlice);
    }

    /// Ends a guide step if it is the current one.
    pub fn guide_done(&mut self, step: TourStep) {
        if self.guide == Some(step) {
            self.guide = step.next();
            if self.guide.is_none() {
                self.say_about(Topic::GuideEnds, Severity::Information, GUIDE_ENDS);
            }
        }
    }
}
