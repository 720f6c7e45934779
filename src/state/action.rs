//! Everything a user, or a finished job, can do to the state.

use super::SessionAction;
use crate::data::axis_change::AxisChange;
use crate::data::region::RegionId;
use crate::data::{Outline, Role, Shape, Stroke, TensorLayout};
use crate::io::Reading;
use crate::jobs::{self, AnyJob, BackendKind, Job, JobHandle, JobState, PathCheck, Receive, Slot};
use crate::solvers::curves::{self, StopReason};
use crate::solvers::region::LabelCount;
use crate::solvers::tensor_fit;
use crate::state::core::display::Display;
use crate::state::core::glyph_look::GlyphLook;
use crate::state::core::layer::LayerId;
use crate::state::core::pane::Pane;
use crate::state::density::Wanted;
use crate::state::document::{Method, Rays};
use crate::state::filter::FilterAction;
use crate::state::pathways::PathwayAction;
use crate::state::pictures::{Look, Shot};
use crate::state::regions::types::Source;
use crate::state::sampling::SampleAction;
use crate::state::segment::SegmentAction;
use crate::state::settings::Preferences;
use crate::state::streamlines::BundleAction;
use crate::state::track::types::WholeBrain;
use crate::state::view::{Convention, Layout, Slab, SliceCamera, Task, Tool, View};
use crate::state::{Camera, Drawing};
use glam::{DAffine3, DVec3};
use std::path::PathBuf;

/// Whether more edits of the same gesture (a drag, a moving slider) follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Live,
    Done,
}

#[derive(Clone, Debug)]
pub enum Action {
    // Files
    Open(Vec<PathBuf>),
    /// Opens a layer's file again, as the user says it is.
    OpenAs {
        path: PathBuf,
        reading: Reading,
    },
    /// One of the visits of the folder that was opened last; none of them.
    OpenVisit(Option<usize>),
    /// What holds for all documents.
    Set(Preferences),
    OpenDemo {
        guide: bool,
    },
    SaveTracks {
        layer: Option<LayerId>,
        path: PathBuf,
    },
    SaveLayer {
        layer: LayerId,
        path: PathBuf,
    },
    SaveRegion {
        region: RegionId,
        path: PathBuf,
    },
    Screenshot(Shot),
    TakeSnapshot,
    /// Counted from the oldest.
    NameSnapshot {
        number: usize,
        name: String,
    },
    /// With the snapshot of this number, counted from the oldest; `None`: no more.
    Compare(Option<usize>),
    /// Compares with the last snapshot, or no more.
    ToggleComparing,
    /// A share of the pane's width.
    MoveDivider(f32),
    /// The window has room for the next frame of a turn.
    NextFrame,
    Session(SessionAction),
    // View
    SelectTask(Task),
    SetLayout(Layout),
    /// Orientation, and mm from slice to slice.
    SetMosaic(Pane, f64),
    /// Shows one pane alone, or goes back to the grid.
    ToggleMaximised(Pane),
    MoveCrosshair(DVec3),
    /// Along a pane's normal, in voxels of the topmost visible image (or mm where there is none).
    StepSlice {
        pane: Pane,
        steps: i32,
    },
    SetSlice {
        pane: Pane,
        slice: SliceCamera,
    },
    SetCamera {
        camera: Camera,
        phase: Phase,
    },
    FrameAll,
    SetConvention(Convention),
    SetTool(Tool),
    ToggleCrosshair,
    ToggleLetters,
    TogglePanels,
    ToggleSlicesInScene,
    ToggleOutline,
    /// The 3-D view shows only what streamlines have near a slice.
    CutToSlab(Option<Slab>),
    SetGlyphs(GlyphLook),
    ToggleMissed,
    /// The 3-D view shows only live curves of which an end stopped for this reason; `None`: all.
    ShowStop(Option<StopReason>),
    ToggleTheme,
    // Layers
    SelectLayer(Option<LayerId>),
    SetDisplay {
        layer: LayerId,
        display: Display,
        phase: Phase,
    },
    /// Shows one image layer and hides the other images.
    ShowOnly(LayerId),
    /// Moves a layer in the world, so far from where its file says.
    ShiftLayer {
        layer: LayerId,
        by: DAffine3,
        phase: Phase,
    },
    /// Moves an image to the scan, or to another image, by what they tell about each other.
    AlignLayer(LayerId),
    /// Moves a layer as a file of FLIRT or ITK says.
    ApplyAffine {
        layer: LayerId,
        path: PathBuf,
    },
    /// To another place in the list, counted from the bottom.
    MoveLayer {
        layer: LayerId,
        to: usize,
    },
    RenameLayer {
        layer: LayerId,
        name: String,
    },
    DeleteLayer(LayerId),
    // Regions
    PlaceRegion {
        role: Role,
        shape: Shape,
    },
    RegionFromLayer {
        layer: LayerId,
        role: Role,
    },
    SelectRegion(Option<RegionId>),
    SetRegionShape {
        region: RegionId,
        shape: Shape,
        phase: Phase,
    },
    SetRole {
        region: RegionId,
        role: Role,
    },
    RenameRegion {
        region: RegionId,
        name: String,
    },
    SetRegionColour {
        region: RegionId,
        colour: Option<[u8; 3]>,
    },
    ToggleRegion(RegionId),
    DeleteRegion(RegionId),
    /// The same with several, as one step.
    ChangeRegions {
        regions: Vec<RegionId>,
        change: RegionsChange,
    },
    /// To another place in the list, counted from the top.
    MoveRegion {
        region: RegionId,
        to: usize,
    },
    DuplicateRegion(RegionId),
    /// All of them: one label map, or a mask each.
    SaveRegions {
        path: PathBuf,
        as_labels: bool,
    },
    // Regions by computation
    Make {
        source: Source,
        phase: Phase,
    },
    /// Shows the labels of a label map.
    CountLabels(LayerId),
    RegionsFromLabels {
        labels: Vec<LabelCount>,
        role: Role,
    },
    /// What is done with the streamlines of a layer, and on rulers.
    Bundle(BundleAction),
    // Drawing regions
    SetDrawing(Drawing),
    /// Which region the next stroke goes into; `None`: a new one of this role.
    DrawInto {
        region: Option<RegionId>,
        role: Role,
    },
    /// A piece of the brush's way.
    Stroke {
        stroke: Stroke,
        erase: bool,
        /// The button has just gone down.
        begins: bool,
        phase: Phase,
    },
    DrawOutline {
        outline: Outline,
        erase: bool,
    },
    /// Compares all ways to exchange and flip the axes of the scan's gradients.
    CheckGradients,
    /// Reads the six volumes of a layer as tensors in every known way.
    CompareTensors(LayerId),
    /// Says how a layer holds tensors; `None`: it holds none.
    ReadTensors {
        layer: LayerId,
        layout: Option<TensorLayout>,
    },
    /// Exchanges and flips axes of the scan's gradients.
    TurnGradients(AxisChange),
    // Parameters
    SetFit {
        params: tensor_fit::Params,
    },
    /// The layer that the fit is within; `None`: a mask found from the scan.
    SetFitMask(Option<LayerId>),
    /// The file beside the scan that seems to be its brain mask.
    TakeOfferedMask,
    SetTrack {
        params: curves::Params,
        phase: Phase,
    },
    SetMethod(Method),
    SetRays {
        rays: Rays,
        phase: Phase,
    },
    /// How the live result is shown.
    SetLiveDisplay {
        display: Display,
        phase: Phase,
    },
    /// How many seeds the whole brain has, and whether regions decide what is kept.
    SetWholeBrain {
        whole_brain: WholeBrain,
        phase: Phase,
    },
    /// Tracks from the whole mask: not live, since it takes long.
    TrackWholeBrain,
    /// Asks again for the live result of the document as it is, after it was stopped.
    Retrack,
    KeepTracks,
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
    // Where solvers run
    /// Their list is about to be seen.
    FindCards,
    /// Loads the kernels of graphics cards that were opened at the start.
    LoadKernels,
    ChooseBackend(BackendKind),
    /// What a graphics card failed to do.
    RunOnCpu,
    // Everything else
    CopyCommand(super::Recipe),
    /// Copies a picture as it would be taken.
    CopyPicture(Option<Pane>, Look),
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
    /// About the path that is typed, in place of the question before.
    CheckPath(PathCheck),
    DismissMessage(usize),
    StartGuide,
    LeaveGuide,
    // From the jobs
    JobStarted(JobHandle),
    Event(Event),
    /// A picture is drawn, and the job of another ticket writes it; or it could not be drawn: a sentence.
    ShotTaken {
        ticket: u64,
        path: PathBuf,
        writing: Result<u64, String>,
    },
    /// A picture was not drawn to its end, because the user stopped it.
    ShotCancelled {
        ticket: u64,
    },
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
