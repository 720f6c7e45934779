//! The surface and the history. A step that changes the motion of the surface, or its image, volume or start, keeps the
//! progress of the surface that it leaves. Undo and redo restore that surface; steps that concern something else leave
//! the surface as it is.

use crate::solvers::level_set::RunHistory;
use crate::state::core::notices::{Status, StatusSubject};
use crate::state::core::text::count;
use crate::state::segment::jobs::{
    InitialSurface, RunCheckpoint, RunControl, RunRequest, SEGMENT, SurfaceUpdate,
};
use crate::state::segment::{PlottedRun, RunStart, SegmentRuntime, Start, frame_of};
use crate::state::{Document, Effect, Layer, State, Task};
use std::sync::Arc;

/// The surface that a document's start describes before any spheres are added.
pub(in crate::state) fn initial_surface(start: &Start) -> InitialSurface {
    match start {
        Start::Spheres => InitialSurface::Nothing,
        Start::Mask(_, mask) => InitialSurface::Mask(mask.clone()),
        Start::Values { low, high } => InitialSurface::Values {
            low: *low,
            high: *high,
        },
        Start::Filled { point, tolerance } => InitialSurface::Filled {
            point: *point,
            tolerance: *tolerance,
        },
    }
}

impl RunStart {
    /// The start that a document describes; `None` without an image.
    pub(in crate::state) fn from_document(document: &Document) -> Option<Self> {
        let (layer, image) = document.segmented_image()?;
        Some(Self {
            image: image.id(),
            frame: frame_of(layer, image),
            surface: initial_surface(&document.segment.start),
            due: document.segment.resume.clone(),
        })
    }

    /// Whether a document describes this start.
    pub(in crate::state) fn is_of(&self, document: &Document) -> bool {
        Self::from_document(document).is_some_and(|other| {
            (self.image, self.frame) == (other.image, other.frame) && self.surface == other.surface
        })
    }
}

impl From<&RunRequest> for RunStart {
    fn from(request: &RunRequest) -> Self {
        Self {
            image: request.image.id(),
            frame: request.frame,
            surface: request.origin.clone(),
            due: request.resume.clone(),
        }
    }
}

impl State {
    /// How the surface of the document has reached its present state; `None` without one, or if the one that is
    /// still shown grew on another image.
    pub(in crate::state) fn surface_progress(&self) -> Option<Arc<RunCheckpoint>> {
        let is_other = self.shows_other_surface();
        self.runtime.segment.resume().filter(|_| !is_other)
    }

    /// The run of the surface of the document, also while it is still to be restored; `None` before its first step. A
    /// run that went back and has reached the same step by other changes differs from the earlier one.
    pub(in crate::state) fn surface_script(&self) -> Option<&RunHistory> {
        let runtime = &self.runtime.segment;
        let live = runtime.live.as_ref();
        let live = live.filter(|live| live.run == runtime.run && !self.shows_other_surface());
        let awaited = self.document.segment.resume.as_ref();
        let script = live.map(|live| &live.script);
        let script = script.or(awaited.map(|run| &run.script));
        script.filter(|script| script.steps > 0)
    }

    /// Whether the surface that is still shown grew on another image than the document's.
    fn shows_other_surface(&self) -> bool {
        let image = self.document.segmented_image().map(|(_, image)| image.id());
        let requested = self.runtime.segment.requested.as_deref();
        requested.is_some_and(|requested| Some(requested.image.id()) != image)
    }
}

impl SegmentRuntime {
    /// The progress of the current run that is still to be restored. A restoration that failed is not repeated.
    fn due(&self) -> Option<&Arc<RunCheckpoint>> {
        let due = self.start.as_ref()?.due.as_ref();
        due.filter(|_| self.failed.is_none())
    }
}

/// Called after every action in Segment: if the surface belongs to another image, volume or start than the document, or
/// to another step of the history, a new run begins.
pub(in crate::state) fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let moved = keep_in_history(state);
    let Some(start) = state.runtime.segment.start.clone() else {
        return;
    };
    let brings = brings_progress(&state.document, &start);
    if start.is_of(&state.document) && !brings {
        carry_over(state, moved);
        return;
    }
    if !brings && !moved {
        keep_with_former_image(state, &start);
    }
    replace(state);
    let runtime = &mut state.runtime.segment;
    // Otherwise the next request takes its place.
    if runtime.running && state.document.segmented_image().is_none() {
        runtime.running = false;
        effects.push(Effect::Cancel(SEGMENT));
    }
}

/// Called after every action in another task. A surface that a history step brings back is restored when Segment is
/// shown again, even if further steps follow. A change of image does not discard it earlier, because the layer may come
/// back.
pub(in crate::state) fn follow_elsewhere(state: &mut State) {
    let moved = keep_in_history(state);
    let Some(start) = state.runtime.segment.start.clone() else {
        return;
    };
    if brings_progress(&state.document, &start) {
        replace(state);
    } else if start.is_of(&state.document) {
        carry_over(state, moved);
    } else if !moved {
        keep_with_former_image(state, &start);
    }
}

/// Stores the progress of the surface in the document that a step has left if the step changes the motion; returns
/// whether it does.
fn keep_in_history(state: &mut State) -> bool {
    // Asked after every action: only a step is worth a copy of the progress.
    if !state.history.has_left() {
        return false;
    }
    let progress = progress(state);
    let (Some(left), Some(start)) = (state.history.take_left(), &state.runtime.segment.start)
    else {
        return false;
    };
    let document = &state.document;
    if start.is_of(document) && left.segment.moves_as(&document.segment) {
        return false;
    }
    if progress.is_some() && start.is_of(left) {
        left.segment.resume = progress;
    }
    true
}

/// The progress of the surface, also if it is still to be restored. `None` if the surface was going back before this
/// action: it then shows steps that the document had left.
fn progress(state: &State) -> Option<Arc<RunCheckpoint>> {
    let runtime = &state.runtime.segment;
    let requested = runtime.requested.as_deref();
    let back = requested.and_then(|requested| requested.rewind);
    let goes_back = |live: &SurfaceUpdate| {
        back.is_some_and(|back| back.number > live.last_rewind && back.step < live.step)
    };
    if runtime.live.as_deref().is_some_and(goes_back) {
        return None;
    }
    // A separate copy, because every copy in the history is dropped once the surface has arrived.
    let due = || runtime.due().map(|due| Arc::new((**due).clone()));
    runtime.resume().or_else(due)
}

/// The restored surface has arrived. Steps that were recorded meanwhile hold its progress, too: what happens to the
/// surface from now on is not part of them.
pub(in crate::state) fn arrived(state: &mut State) {
    let Some(start) = &mut state.runtime.segment.start else {
        return;
    };
    start.due = None;
    let Some(arrived) = state.document.segment.resume.take() else {
        return;
    };
    let segment = &state.document.segment;
    for document in state.history.documents_mut() {
        let is_same = start.is_of(document) && document.segment.moves_as(segment);
        let resume = &mut document.segment.resume;
        resume.take_if(|resume| is_same && Arc::ptr_eq(resume, &arrived));
    }
}

/// Keeps the surface in the newest document with the former image, after the image was replaced without a history step,
/// for example by a fit that a step requested.
fn keep_with_former_image(state: &mut State, start: &RunStart) {
    let progress = progress(state);
    let documents = state.history.past_mut();
    let newest = documents.filter(|document| start.is_of(document)).last();
    let newest = newest.filter(|document| document.segment.resume.is_none());
    if let Some(document) = newest {
        document.segment.resume = progress;
    }
}

/// Whether undo or redo has brought back a document with the progress of its surface.
fn brings_progress(document: &Document, start: &RunStart) -> bool {
    let resume = document.segment.resume.as_ref();
    let is_due = |resume: &Arc<RunCheckpoint>| {
        let due = start.due.as_ref();
        due.is_some_and(|due| Arc::ptr_eq(due, resume))
    };
    resume.is_some_and(|resume| !is_due(resume))
}

/// Keeps due what is due, unless the step `moved` to a motion without a surface.
fn carry_over(state: &mut State, moved: bool) {
    let has_none = state.document.segment.resume.is_none();
    let due = state.runtime.segment.due().cloned();
    if has_none && !moved {
        state.document.segment.resume = due;
    } else if has_none && let Some(start) = &mut state.runtime.segment.start {
        start.due = None;
    }
}

/// Begins another run.
pub(in crate::state) fn replace(state: &mut State) {
    let start = RunStart::from_document(&state.document);
    let runtime = &mut state.runtime.segment;
    runtime.run += 1;
    runtime.start = start;
    (runtime.requested, runtime.failed) = (None, None);
    (runtime.play, runtime.rewind) = (RunControl::Rest, None);
    (runtime.dragged, runtime.keep_at_rest, runtime.is_paused) = (false, false, false);
    runtime.plotted = PlottedRun::default();
}

/// The number of steps of the surface, and its image.
pub(in crate::state) fn grown(state: &State) -> Option<(u64, Arc<Layer>)> {
    let steps = state.surface_progress()?.script.steps;
    let (layer, _) = state.document.segmented_image()?;
    (steps > 0).then(|| (steps, layer.clone()))
}

/// The surface that had grown on another image starts again: how to get it back.
pub(in crate::state) fn report_other_image(state: &mut State, grown: Option<(u64, Arc<Layer>)>) {
    let image = state.document.segmented_image();
    let (Some((steps, before)), Some((layer, _))) = (grown, image) else {
        return;
    };
    if layer.id == before.id {
        return;
    }
    let sentence = format!(
        "The surface starts again in {}; undo restores the one in {} at step {}",
        layer.name,
        before.name,
        count(steps)
    );
    // It holds until the new surface moves.
    let subject = StatusSubject::ResultOf(Task::Segment);
    state.runtime.notices.status = Status::about(subject, sentence);
}
