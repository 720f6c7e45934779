//! Everything a user, or a finished job, can do to the state.

use super::SessionAction;
use crate::data::Role;
use crate::jobs::{self, AnyJob, Job, JobHandle, JobState, Receive, Slot};
use crate::state::core::layer::LayerId;
use crate::state::density::Wanted;
use crate::state::filter::FilterAction;
use crate::state::pathways::PathwayAction;
use crate::state::pictures::Shot;
use crate::state::sampling::SampleAction;
use crate::state::segment::SegmentAction;
use crate::state::settings::Preferences;
use crate::state::streamlines::BundleAction;
use crate::state::view::View;
use crate::state::{
    AlignmentAction, DeviceAction, FilesAction, LayerAction, PictureAction, RegionAction,
    SnapshotAction, TensorAction, TrackAction, ViewAction,
};

#[derive(Clone, Debug)]
pub enum Action {
    Files(FilesAction),
    Layer(LayerAction),
    Region(RegionAction),
    Alignment(AlignmentAction),
    Tensors(TensorAction),
    Track(TrackAction),
    Picture(PictureAction),
    Snapshot(SnapshotAction),
    Device(DeviceAction),
    View(ViewAction),
    /// What holds for all documents.
    Set(Preferences),
    OpenDemo {
        guide: bool,
    },
    Session(SessionAction),
    /// What is done with the streamlines of a layer, and on rulers.
    Bundle(BundleAction),
    /// Maps where a layer's streamlines pass, or the live ones, which are kept with it.
    MapDensity {
        layer: Option<LayerId>,
        density: Wanted,
    },
    Pathway(PathwayAction),
    Segment(SegmentAction),
    Filter(FilterAction),
    /// With P held over a slice.
    Sample(SampleAction),
    CopyCommand(super::Recipe),
    /// The key was pressed where there is no result: said, since an older command may be pasted.
    NothingToCopy,
    /// What was done, for a paper.
    CopyMethods,
    Undo,
    Redo,
    /// The pointer rests: full results follow the coarse ones.
    Settle,
    /// Cancels the running jobs, else drops the tool, else the selection.
    Escape,
    /// Esc during a drag: all that it changed is as it was when the button went down.
    AbandonDrag(Box<BeforeDrag>),
    CancelJob(Slot),
    DismissMessage(usize),
    StartGuide,
    LeaveGuide,
    JobStarted(JobHandle),
    Event(Event),
}

/// What a drag may change besides the document, as it was when the button went down.
#[derive(Clone, PartialEq, Debug)]
pub struct BeforeDrag {
    pub view: View,
    /// Steps that the history had recorded.
    pub recorded: u64,
    /// Where the divider was, of a pane's width.
    pub divider: Option<f32>,
}

impl BeforeDrag {
    pub fn of(state: &super::State) -> Self {
        let comparing = state.session.comparing.as_ref();
        Self {
            view: state.view.clone(),
            recorded: state.history.recorded(),
            divider: comparing.map(|c| c.share),
        }
    }
}

/// What the window does on behalf of [`super::update()`].
// A handful of them exist at a time.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Effect {
    Submit(Box<dyn AnyJob<super::State>>),
    Cancel(Slot),
    /// All jobs about the document.
    CancelOfDocument,
    /// Jobs refuse to take more memory, bytes.
    LimitMemory(Option<u64>),
    CopyText(String),
    /// With what it shows, where that is not the state.
    TakeShot(Shot, Option<Box<super::State>>),
    /// The window ends.
    Close,
    /// The list of recent files or a setting changed: remember it.
    Store,
}

impl Effect {
    pub fn submit(job: impl Receive<super::State>) -> Self {
        Self::Submit(Box::new(job))
    }

    /// The job that is submitted, where it is of this type.
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

/// What is done with several regions at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionsChange {
    Show(bool),
    Role(Role),
    Delete,
}

macro_rules! from_feature {
    ($($variant:ident($action:ty)),* $(,)?) => {
        $(impl From<$action> for Action {
            fn from(action: $action) -> Self {
                Self::$variant(action)
            }
        })*
    };
}

from_feature!(
    Files(FilesAction),
    Layer(LayerAction),
    Region(RegionAction),
    Alignment(AlignmentAction),
    Tensors(TensorAction),
    Track(TrackAction),
    Picture(PictureAction),
    Snapshot(SnapshotAction),
    Device(DeviceAction),
    View(ViewAction),
    Session(SessionAction),
    Bundle(BundleAction),
    Pathway(PathwayAction),
    Segment(SegmentAction),
    Filter(FilterAction),
    Sample(SampleAction),
);
