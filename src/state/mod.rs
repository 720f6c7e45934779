//! The user's data, changed only by [`update()`].
//!
//! Data flow in one direction: pointer → [`Action`] → [`update()`] → [`Effect`] → jobs → event → [`update()`] → draw
//! list → pixels. The [`Document`] is restored by undo; the [`View`] is where the user looks; the [`Session`] is the
//! runtime state.

pub mod action;
pub mod alignment;
mod changes;
pub(in crate::state) mod compact_masks;
pub mod core;
pub mod density;
pub mod device;
pub mod document;
mod edit;
pub mod files;
pub mod filter;
pub mod history;
pub mod job_end;
pub mod methods;
pub mod origin;
pub mod pathways;
pub mod pictures;
pub mod recipe;
pub mod regions;
pub mod report;
pub mod runtime;
pub mod sampling;
pub mod segment;
pub mod sessions;
pub mod settings;
pub mod snapshots;
pub mod streamlines;
pub mod tensors;
pub mod track;
pub mod update;
pub mod view;

use crate::data::Tractogram;
use crate::state::core::live::LAG;
use crate::state::tensors::jobs::fit::FIT;
use crate::state::tensors::types::OfferedMask;
use crate::state::track::jobs::LIVE;
use crate::state::track::jobs::cut::CUT;
use crate::state::track::types::StopFilterKey;
use std::path::PathBuf;

pub use crate::io::{Reading, Space};
pub use crate::jobs::{
    BackendKind, CheckDestination, CheckReadable, CompletePath, Completed, Destination,
    DeviceChoice, Ffmpeg, Folder, JobHandle, NoFfmpeg, PathAnswer, PathCheck, PathError,
    PathQuestion, Slot, Values, Visit,
};
pub use crate::state::alignment::AlignmentAction;
pub use crate::state::core::camera::Camera;
pub use crate::state::core::layer::LayerAction;
pub use crate::state::device::types::DeviceAction;
pub use crate::state::files::types::FilesAction;
pub use crate::state::history::History;
pub use crate::state::pictures::PictureAction;
pub use crate::state::regions::brush::Drawing;
pub use crate::state::regions::jobs::save::{SaveLabels, SaveMasks};
pub use crate::state::regions::types::RegionAction;
pub use crate::state::sessions::{SessionAction, UnsavedAction};
pub use crate::state::snapshots::SnapshotAction;
pub use crate::state::streamlines::BundleAction;
pub use crate::state::tensors::types::TensorAction;
pub use crate::state::track::types::TrackAction;
pub use crate::state::track::types::WholeBrain;
pub use crate::state::view::ViewAction;
pub use action::{Action, Effect, Event, RegionsChange};
pub use core::display::Display;
pub use core::layer::{Content, Layer, LayerId};
pub use core::notices::{Message, Severity};
pub use core::pane::Pane;
pub use core::phase::Phase;
pub use device::types::OpenBackend;
pub use document::{Document, Method, Rays, Tensors};
pub use filter::FilterAction;
pub use pathways::{KeptPathway, PathwayAction};
pub use pictures::{Look, Picture, Turntable};
pub use recipe::Recipe;
pub use runtime::Session;
pub use segment::jobs::{
    Distance, PlacedSphere, Proximity, RunControl, SurfaceStatistics, SurfaceUpdate,
};
pub use segment::{LeakNotice, SegmentAction};
pub use settings::{Gesture, Mouse, Preferences};
pub use tensors::recipe::ScanSource;
pub use track::types::{CurveResult, Standing};
pub use update::update;
pub use view::{Convention, Layout, Slab, Task, Tool, View};

/// Everything the window shows.
#[derive(Clone, Debug)]
pub struct State {
    pub document: Document,
    pub history: History,
    pub view: View,
    pub session: Session,
}

impl State {
    /// An empty window; `backend` is the text of the status line's last field.
    pub fn new(backend: String) -> Self {
        Self {
            document: Document::default(),
            history: History::default(),
            view: View::default(),
            session: Session::new(backend),
        }
    }

    /// The file next to the scan that appears to be its brain mask, if none was chosen and it is not open.
    pub fn offered_mask(&self) -> Option<&PathBuf> {
        let document = &self.document;
        let OfferedMask { scan, path, .. } = self.session.tensors.offered_mask.as_ref()?;
        let current = document.scan()?.content.volume()?.id();
        let mut layers = document.layers.iter();
        let open = layers.any(|l| document.path(l) == Some(path));
        (current == *scan && document.chosen_mask().is_none() && !open).then_some(path)
    }

    /// Standing of the live result; `None` if there is none.
    pub fn standing(&self) -> Option<Standing> {
        let live = self.session.track.live.value()?;
        let of = |slots: &[Slot]| {
            self.session
                .jobs
                .running
                .iter()
                .any(|j| slots.contains(&j.slot))
        };
        let cut = live.rays.as_ref().map(|rays| rays.cut);
        let uncut = cut.is_some_and(|cut| cut != self.document.track.rays.cut);
        // New tensors are being fitted.
        let fitting = self.session.tensors.fitting.is_some();
        Some(match (self.is_current(live), live.coarse) {
            (true, _) if uncut && of(&[CUT]) => Standing::Updating,
            (true, _) if uncut => Standing::OutOfDate,
            (true, false) => Standing::Final,
            (true, true) => Standing::Coarse,
            // During a drag a coarse result may lag a little.
            (false, true) if self.session.track.live.waits_for_rest() => Standing::Coarse,
            (false, _) if fitting || of(&[LIVE, FIT]) => Standing::Updating,
            (false, _) => Standing::OutOfDate,
        })
    }

    /// Whether a live result belongs to the present tensors, regions and parameters, with no new fit running.
    fn is_current(&self, live: &CurveResult) -> bool {
        self.session.tensors.fitting.is_none() && live.key.is_current(&self.document)
    }

    /// Whether the live result is stale, and will be for longer than a coarse one takes. A cut needs no new curves.
    pub fn live_is_stale(&self) -> bool {
        let Some(live) = self.session.track.live.value() else {
            return false;
        };
        if self.is_current(live) {
            return false;
        }
        let mut jobs = self.session.jobs.running.iter();
        let late = |j: &JobHandle| j.slot == LIVE && j.started.elapsed() > LAG;
        self.standing() != Some(Standing::Coarse) || jobs.any(late)
    }

    /// Whether the live result is not final although no job is running: one was stopped.
    pub fn stalled(&self) -> bool {
        let waits = |slot| matches!(slot, LIVE | FIT) || slot == CUT;
        let session = &self.session;
        let follows = session.track.live.waits_for_rest();
        let busy = follows || session.jobs.running.iter().any(|j| waits(j.slot));
        let standing = self.standing();
        standing.is_some_and(|standing| standing != Standing::Final) && !busy
    }

    /// Whether a control moves that results follow.
    pub fn is_dragging(&self) -> bool {
        // A region that follows its controls leaves its step open until its tool is put away.
        let making = self.session.regions.making.as_ref();
        let is_made = making.is_some_and(|making| {
            let is_its_step = self.history.joins(making.source.label());
            is_its_step && !making.live && making.jobs.running().is_none()
        });
        self.history.is_open() && !is_made
    }

    /// Whether [`Action::Settle`] would have an effect. After one it does not, until something moves again.
    pub fn waits_for_rest(&self) -> bool {
        let session = &self.session;
        let curves = session.track.live.waits_for_rest();
        self.view.moving || curves || session.pathways.live.waits_for_rest()
    }

    /// The curves shown instead of the live ones: those with an end that stopped for one reason.
    pub fn stopped(&self) -> Option<(&StopFilterKey, &[Tractogram; 2])> {
        let live = self.session.track.live.value()?;
        let known = self.session.bundle.stopped.shown();
        known.filter(|(key, _)| key.curves == [live.output.kept.id(), live.output.missed.id()])
    }

    /// The live result, if it is final.
    pub fn final_live(&self) -> Option<&CurveResult> {
        let live = self.session.track.live.value();
        live.filter(|_| self.standing() == Some(Standing::Final))
    }
}
