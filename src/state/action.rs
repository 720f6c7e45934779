//! All changes of the state that a user or a finished job can request.

use super::SessionAction;
use crate::jobs::{self, AnyJob, Job, JobHandle, JobState, Receive, Slot};
use crate::state::density::DensityAction;
use crate::state::figures::FigureAction;
use crate::state::filter::FilterAction;
use crate::state::pathways::PathwayAction;
use crate::state::pictures::Picture;
use crate::state::protocols::ProtocolAction;
use crate::state::sampling::SampleAction;
use crate::state::segment::SegmentAction;
use crate::state::session_report::{ReportAction, ReportViews};
use crate::state::settings::Preferences;
use crate::state::streamlines::StreamlineAction;
use crate::state::view::View;
use crate::state::{
    AlignmentAction, DeviceAction, FilesAction, LayerAction, LinkAction, PictureAction,
    RegionAction, SceneLookAction, SnapshotAction, TensorAction, TrackAction, TrackNoiseAction,
    ViewAction,
};

#[derive(Clone, Debug)]
pub enum Action {
    Files(FilesAction),
    Layer(LayerAction),
    Region(RegionAction),
    Alignment(AlignmentAction),
    Tensors(TensorAction),
    Track(TrackAction),
    /// Repetitions of the streamlines of Track.
    TrackNoise(TrackNoiseAction),
    Picture(PictureAction),
    /// The report of the session.
    Report(ReportAction),
    /// The protocol of the session.
    Protocol(ProtocolAction),
    Snapshot(SnapshotAction),
    Device(DeviceAction),
    /// The crosshair shared with other windows.
    Link(LinkAction),
    View(ViewAction),
    /// Depth cue and clips of the 3-D view.
    SceneLook(SceneLookAction),
    /// Settings for all documents.
    Set(Preferences),
    OpenDemo {
        tour: bool,
    },
    Session(SessionAction),
    /// Actions on the streamlines of a layer, and on rulers.
    Streamline(StreamlineAction),
    Density(DensityAction),
    Pathway(PathwayAction),
    Segment(SegmentAction),
    /// Figures of an image within a region.
    Figures(FigureAction),
    Filter(FilterAction),
    /// While P is held over a slice.
    Sample(SampleAction),
    CopyCommand(super::CommandLine),
    /// The key was pressed without a result: reported, because an older command might be pasted.
    NothingToCopy,
    /// Copies the methods text, for a paper.
    CopyMethods,
    Undo,
    Redo,
    /// The pointer rests: full results follow the coarse ones.
    Settle,
    /// Cancels the running jobs, else drops the tool, else the selection.
    Escape,
    /// Esc during a drag: restores everything that the drag changed.
    AbandonDrag(Box<BeforeDrag>),
    CancelJob(Slot),
    DismissMessage(usize),
    StartTour,
    LeaveTour,
    JobStarted(JobHandle),
    Event(Event),
}

/// State besides the document that a drag may change, as it was when the button went down.
#[derive(Clone, PartialEq, Debug)]
pub struct BeforeDrag {
    pub view: View,
    /// Number of steps recorded in the history.
    pub recorded: u64,
    /// Position of the divider, as a fraction of a pane's width.
    pub divider: Option<f32>,
}

impl BeforeDrag {
    pub fn from_state(state: &super::State) -> Self {
        let comparing = state.runtime.snapshots.comparing.as_ref();
        Self {
            view: state.view.clone(),
            recorded: state.history.recorded(),
            divider: comparing.map(|c| c.share),
        }
    }
}

/// Actions that the window carries out for [`super::update()`].
#[allow(
    clippy::large_enum_variant,
    reason = "few exist at a time, so the size difference between variants is harmless"
)]
#[derive(Clone, Debug)]
pub enum Effect {
    Submit(Box<dyn AnyJob<super::State>>),
    Cancel(Slot),
    /// All jobs that belong to the document.
    CancelOfDocument,
    /// Limits the memory of jobs, bytes.
    LimitMemory(Option<u64>),
    CopyText(String),
    /// Takes a picture; the second value is the state to show, if that differs from the present one.
    TakePicture(Picture, Option<Box<super::State>>),
    /// Draws the views of a report.
    DrawReport(ReportViews),
    /// Closes the window.
    Close,
    /// Stores the list of recent files and the settings, one of which changed.
    Store,
}

impl Effect {
    pub fn submit(job: impl Receive<super::State>) -> Self {
        Self::Submit(Box::new(job))
    }

    /// The submitted job, if it is of this type.
    pub fn job<J: Job>(&self) -> Option<&J> {
        match self {
            Self::Submit(job) => job.job(),
            _ => None,
        }
    }
}

/// The outcome of a job, for the state.
pub type Event = jobs::Event<super::State>;

impl JobState for super::State {
    type Effect = Effect;
}

macro_rules! from_feature {
    ($($variant:ident($action:ty)),* $(,)?) => {
        $(impl From<$action> for Action {
            fn from(action: $action) -> Self {
                Self::$variant(action)
            }
        })*

        impl Action {
            /// Whether a feature applies it, and names it.
            pub fn is_of_feature(&self) -> bool {
                matches!(self, $(Self::$variant(_))|*)
            }
        }
    };
}

from_feature!(
    Files(FilesAction),
    Layer(LayerAction),
    Region(RegionAction),
    Alignment(AlignmentAction),
    Tensors(TensorAction),
    Track(TrackAction),
    TrackNoise(TrackNoiseAction),
    Picture(PictureAction),
    Report(ReportAction),
    Protocol(ProtocolAction),
    Snapshot(SnapshotAction),
    Device(DeviceAction),
    Link(LinkAction),
    View(ViewAction),
    SceneLook(SceneLookAction),
    Session(SessionAction),
    Streamline(StreamlineAction),
    Density(DensityAction),
    Pathway(PathwayAction),
    Segment(SegmentAction),
    Figures(FigureAction),
    Filter(FilterAction),
    Sample(SampleAction),
);
