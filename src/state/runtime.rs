//! Runtime state: jobs, messages, the live result. Not undone and not saved.

use crate::data::Role;
use crate::jobs::{AnyJob, DeviceFailure, Slot};
use crate::state::alignment::PendingTransforms;
use crate::state::core::layer::LayerId;
use crate::state::core::notices::{Message, Notices, Severity, Topic};
use crate::state::device::runtime::DeviceRuntime;
use crate::state::device::types::OpenBackend;
use crate::state::figures::FigureRuntime;
use crate::state::files::types::FilesRuntime;
use crate::state::job_end::JobList;
use crate::state::pictures::TurntableProgress;
use crate::state::regions::types::RegionRuntime;
use crate::state::sampling::Sample;
use crate::state::sessions::SessionsRuntime;
use crate::state::settings::Preferences;
use crate::state::snapshots::SnapshotRuntime;
pub use crate::state::snapshots::{Snapshot, SnapshotComparison};
use crate::state::streamlines::StreamlineRuntime;
use crate::state::tensors::types::TensorRuntime;
use crate::state::track::types::TrackRuntime;
use crate::state::{Document, filter, pathways, segment};

/// The tour's last note.
const TOUR_ENDS: &str =
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
    FitWeights,
    Save,
}

impl TourStep {
    pub const ALL: [Self; 7] = [
        Self::ClickSlice,
        Self::PlaceSeed,
        Self::DragSeed,
        Self::PlaceTarget,
        Self::Width,
        Self::FitWeights,
        Self::Save,
    ];

    /// Whether the step comes after those that place seed and target.
    pub fn is_after_regions(self) -> bool {
        matches!(self, Self::Width | Self::FitWeights | Self::Save)
    }

    pub fn next(self) -> Option<Self> {
        let at = Self::ALL.iter().position(|&s| s == self)?;
        Self::ALL.get(at + 1).copied()
    }
}

#[derive(Clone, Debug)]
pub struct Runtime {
    pub device: DeviceRuntime,
    pub track: TrackRuntime,
    pub tensors: TensorRuntime,
    pub files: FilesRuntime,
    pub regions: RegionRuntime,
    pub snapshots: SnapshotRuntime,
    pub notices: Notices,
    pub jobs: JobList,
    /// Pictures of a turntable.
    pub turning: Option<TurntableProgress>,
    pub pending_transforms: PendingTransforms,
    pub settings: Preferences,
    pub selected_layer: Option<LayerId>,
    pub tour: Option<TourStep>,
    /// Runtime state of streamlines.
    pub streamlines: StreamlineRuntime,
    pub pathways: pathways::PathwayRuntime,
    /// Runtime state of the surface.
    pub segment: segment::SegmentRuntime,
    pub figures: FigureRuntime,
    pub filter: filter::FilterRuntime,
    /// Set while P is held.
    pub sample: Option<Sample>,
    pub sessions: SessionsRuntime,
}

impl Runtime {
    pub fn new(backend: String) -> Self {
        Self {
            device: DeviceRuntime {
                backend: OpenBackend {
                    label: backend,
                    ..OpenBackend::default()
                },
                ..DeviceRuntime::default()
            },
            track: TrackRuntime::default(),
            tensors: TensorRuntime::default(),
            files: FilesRuntime::default(),
            regions: RegionRuntime::default(),
            snapshots: SnapshotRuntime::default(),
            notices: Notices::default(),
            jobs: JobList::default(),
            turning: None,
            pending_transforms: PendingTransforms::default(),
            settings: Preferences::default(),
            selected_layer: None,
            tour: None,
            streamlines: StreamlineRuntime::default(),
            pathways: pathways::PathwayRuntime::default(),
            segment: segment::SegmentRuntime::default(),
            figures: FigureRuntime::default(),
            filter: filter::FilterRuntime::default(),
            sample: None,
            sessions: SessionsRuntime::default(),
        }
    }

    pub fn notify(&mut self, severity: Severity, text: impl Into<String>) {
        self.add_message(severity, text.into(), None);
    }

    /// Adds a message that the program updates or removes when its topic changes.
    pub fn notify_about(&mut self, topic: Topic, severity: Severity, text: impl Into<String>) {
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
        self.notices.messages.retain(|m| m.topic != Some(topic));
    }

    /// Whether solvers run on a graphics card.
    pub fn is_on_card(&self) -> bool {
        self.device.backend.on_card
    }

    /// A job failed.
    pub fn notify_failure(&mut self, slot: Slot, why: String) {
        self.add(Message {
            severity: Severity::Error,
            text: why,
            slot: Some(slot),
            on_card: false,
            topic: None,
        });
    }

    /// The result of a job has a problem, which is reported until the next one is done.
    pub fn notify_warning(&mut self, slot: Slot, why: impl Into<String>) {
        self.add(Message {
            severity: Severity::Warning,
            text: why.into(),
            slot: Some(slot),
            on_card: false,
            topic: None,
        });
    }

    /// A job cannot start, which is reported until it does.
    pub fn notify_blocked(&mut self, slot: Slot, why: String) {
        self.add(Message {
            severity: Severity::Information,
            text: why,
            slot: Some(slot),
            on_card: false,
            topic: None,
        });
    }

    /// A job failed on a graphics card; it may run on the CPU.
    pub fn notify_device_failure(
        &mut self,
        slot: Slot,
        failure: DeviceFailure,
        job: Box<dyn AnyJob<super::State>>,
    ) {
        self.forget_failures(slot);
        self.device.fallback.requests.push(job);
        self.add(Message {
            severity: Severity::Error,
            text: failure.cause,
            slot: Some(slot),
            on_card: true,
            topic: None,
        });
    }

    /// A job of this kind succeeded, or its request changed: older failures no longer apply.
    pub fn forget_failures(&mut self, slot: Slot) {
        self.notices.messages.retain(|m| m.slot != Some(slot));
        self.device.fallback.requests.retain(|r| r.slot() != slot);
    }

    fn add(&mut self, message: Message) {
        if !self.notices.messages.contains(&message) {
            self.notices.messages.push(message);
        }
    }

    /// Returns to the first step that is missing again.
    pub fn tour_step_undone(&mut self, document: &Document) {
        let Some(step) = self.tour else { return };
        let has = |role: Role| document.regions.iter().any(|r| r.role == role);
        let requested = match (has(Role::Seed), has(Role::Target)) {
            (false, _) => TourStep::PlaceSeed,
            (true, false) => TourStep::PlaceTarget,
            (true, true) => return,
        };
        let at = |step: TourStep| TourStep::ALL.iter().position(|s| *s == step);
        if at(step) > at(requested) {
            self.tour = Some(requested);
        }
    }

    /// Begins the tour; the last note of an earlier one is removed.
    pub fn start_tour(&mut self) {
        self.forget(Topic::TourEnds);
        self.tour = Some(TourStep::ClickSlice);
    }

    /// Ends a tour step if it is the current one.
    pub fn tour_step_done(&mut self, step: TourStep) {
        if self.tour == Some(step) {
            self.tour = step.next();
            if self.tour.is_none() {
                self.notify_about(Topic::TourEnds, Severity::Information, TOUR_ENDS);
            }
        }
    }
}
