//! The user's data, changed only by [`update()`].
//!
//! Data flow in one direction: pointer → [`Action`] → [`update()`] → [`Effect`] → jobs → event → [`update()`] → draw
//! list → pixels. The [`Document`] is restored by undo; the [`View`] is where the user looks; the [`Runtime`] is neither
//! undone nor saved.

pub mod action;
pub mod alignment;
mod changes;
pub mod command_line;
pub(in crate::state) mod compact_masks;
pub mod core;
pub mod crosshair_link;
pub mod density;
pub mod device;
pub mod document;
mod edit;
pub mod figures;
pub mod files;
pub mod filter;
pub mod history;
pub mod job_end;
pub mod methods;
pub mod origin;
pub mod pathways;
pub mod pictures;
pub mod protocols;
pub mod regions;
pub mod report;
pub mod runtime;
pub mod sampling;
pub mod scene_look;
pub mod segment;
pub mod session_report;
pub mod sessions;
pub mod settings;
pub mod snapshots;
pub mod streamlines;
pub mod tensors;
pub mod track;
pub mod track_noise;
pub mod update;
pub mod view;

pub use crate::io::{FieldConvention, Reading, Space, TransformFile, WarpReading};
pub use crate::jobs::{
    BackendKind, CheckDestination, CheckReadable, CompletePath, Completed, Destination,
    DeviceChoice, Ffmpeg, Folder, JobHandle, NoFfmpeg, PathAnswer, PathError, PathQuestion, Slot,
    ValueNames, Visit,
};
pub use crate::state::alignment::AlignmentAction;
pub use crate::state::core::camera::Camera;
pub use crate::state::core::layer::LayerAction;
pub use crate::state::crosshair_link::{CrosshairLink, LinkAction};
pub use crate::state::density::DensityAction;
pub use crate::state::device::types::DeviceAction;
pub use crate::state::figures::{FigureAction, FigureSubject, FigureTable};
pub use crate::state::files::jobs::PathCheck;
pub use crate::state::files::types::FilesAction;
pub use crate::state::history::History;
pub use crate::state::pictures::PictureAction;
pub use crate::state::protocols::ProtocolAction;
pub use crate::state::regions::jobs::save::{SaveLabels, SaveMasks};
pub use crate::state::regions::types::{Drawing, RegionAction, RegionsChange};
pub use crate::state::scene_look::{SceneClip, SceneLook, SceneLookAction};
pub use crate::state::session_report::ReportAction;
pub use crate::state::sessions::{SessionAction, UnsavedAction};
pub use crate::state::snapshots::SnapshotAction;
pub use crate::state::streamlines::StreamlineAction;
pub use crate::state::tensors::types::TensorAction;
pub use crate::state::track::types::TrackAction;
pub use crate::state::track::types::WholeBrain;
pub use crate::state::view::ViewAction;
pub use action::{Action, Effect, Event};
pub use command_line::CommandLine;
pub use core::display::Display;
pub use core::layer::{Content, Layer, LayerId};
pub use core::notices::{Message, Severity};
pub use core::pane::Pane;
pub use core::phase::Phase;
pub use core::task::Task;
pub use core::viewpoint::{NamedViewpoint, Viewpoint, ViewpointHistory};
pub use device::types::OpenBackend;
pub use document::{Document, Method, Rays, Tensors};
pub use filter::FilterAction;
pub use pathways::{KeptPathway, PathwayAction};
pub use pictures::{Look, Picture, Turntable};
pub use runtime::Runtime;
pub use segment::jobs::{
    Distance, PlacedSphere, Proximity, RunControl, SurfaceStatistics, SurfaceUpdate,
};
pub use segment::{LeakNotice, SegmentAction};
pub use settings::{Gesture, Mouse, Preferences};
pub use tensors::recipe::ScanSource;
pub use track::types::{CurveResult, Standing};
pub use track_noise::TrackNoiseAction;
pub use update::update;
pub use view::{Convention, Layout, Slab, Tool, View, ViewpointAction};

use glam::DVec3;

/// Everything the window shows.
#[derive(Clone, Debug)]
pub struct State {
    pub document: Document,
    pub history: History,
    pub view: View,
    /// Where the views have looked, apart from the steps of undo.
    pub viewpoints: ViewpointHistory,
    /// The points placed so far of the tool that aligns the slices to the commissures, world mm.
    pub commissures: Vec<DVec3>,
    pub runtime: Runtime,
    /// The crosshair shared with other windows: neither undone nor saved.
    pub crosshair_link: CrosshairLink,
}

impl State {
    /// An empty window; `backend` is the text of the status line's last field.
    pub fn new(backend: String) -> Self {
        Self {
            document: Document::default(),
            history: History::default(),
            view: View::default(),
            viewpoints: ViewpointHistory::default(),
            commissures: Vec::new(),
            runtime: Runtime::new(backend),
            crosshair_link: CrosshairLink::default(),
        }
    }

    /// Whether a control moves that results follow.
    pub fn is_dragging(&self) -> bool {
        // A region that follows its controls leaves its step open until its tool is put away.
        let making = self.runtime.regions.making.as_ref();
        let is_region_complete = making.is_some_and(|making| {
            let is_its_step = self.history.joins(making.source.label());
            is_its_step && !making.live && making.jobs.running().is_none()
        });
        self.history.is_open() && !is_region_complete
    }

    /// Whether [`Action::Settle`] would have an effect. After one it does not, until something moves again.
    pub fn waits_for_rest(&self) -> bool {
        let runtime = &self.runtime;
        let curves = runtime.track.live.waits_for_rest();
        self.view.moving || curves || runtime.pathways.live.waits_for_rest()
    }
}
