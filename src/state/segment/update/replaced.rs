//! The surface is replaced by one on another image, volume or start. The history step that it belongs to keeps its
//! progress, so undo and redo restore either surface.

use crate::solvers::level_set::RunHistory;
use crate::state::core::notices::{Status, StatusSubject};
use crate::state::core::text::count;
use crate::state::segment::jobs::{InitialSurface, RunCheckpoint, RunControl, RunRequest, SEGMENT};
use crate::state::segment::{Start, frame_of};
use crate::state::{Document, Effect, State, Task};
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

/// Whether a request is about the image of a document, in any of its volumes.
fn has_image(document: &Document, requested: &RunRequest) -> bool {
    let image = document.segmented_image();
    image.is_some_and(|(_, image)| image.id() == requested.image.id())
}

/// Whether a request is about the image, volume and start of a document.
fn is_of(document: &Document, requested: &RunRequest) -> bool {
    let image = document.segmented_image();
    let frame = image.map(|(layer, image)| frame_of(layer, image));
    has_image(document, requested)
        && frame == Some(requested.frame)
        && initial_surface(&document.segment.start) == requested.origin
}

impl State {
    /// How the surface of the document has reached its present state; `None` without one, or if the one that is
    /// still shown grew on another image.
    pub(in crate::state) fn surface_progress(&self) -> Option<Arc<RunCheckpoint>> {
        let is_other = self.shows_other_surface();
        self.runtime.segment.resume().filter(|_| !is_other)
    }

    /// The run of the surface of the document, also while it is still to be restored; `None` before its first step. A run
    /// that went back and has reached the same step by other changes differs from the earlier one.
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
        let requested = self.runtime.segment.requested.as_deref();
        requested.is_some_and(|requested| !has_image(&self.document, requested))
    }
}

/// Called after every action in Segment: if the surface belongs to another image, volume or start than the document, or
/// to another step of the history, a new run begins.
pub(in crate::state) fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let runtime = &mut state.runtime.segment;
    let Some(requested) = runtime.requested.take() else {
        return;
    };
    // Undo and redo bring back a document with the progress of its surface.
    let restored = state.document.segment.resume.as_ref().filter(|resume| {
        let known = requested.resume.as_ref();
        known.is_none_or(|known| !Arc::ptr_eq(known, resume))
    });
    if is_of(&state.document, &requested) && restored.is_none() {
        // A further step of the history arrives before the surface of the last one is restored: it is still due.
        let live = runtime.live.as_ref();
        let has_arrived = live.is_some_and(|live| live.run == runtime.run);
        let is_due = requested.run == runtime.run && !has_arrived;
        let due = requested.resume.clone().filter(|_| is_due);
        let resume = &mut state.document.segment.resume;
        *resume = resume.take().or(due);
        runtime.requested = Some(requested);
        return;
    }
    let progress = runtime.resume().filter(|run| run.script.steps > 0);
    if let Some(left) = state.history.left_mut()
        && progress.is_some()
        && is_of(left, &requested)
    {
        left.segment.resume = progress;
    }
    runtime.run += 1;
    (runtime.play, runtime.rewind) = (RunControl::Rest, None);
    (runtime.dragged, runtime.keep_at_rest, runtime.is_paused) = (false, false, false);
    runtime.earlier_runs.clear();
    runtime.changes.clear();
    // Otherwise the next request takes its place.
    if runtime.running && state.document.segmented_image().is_none() {
        runtime.running = false;
        effects.push(Effect::Cancel(SEGMENT));
    }
}

/// The number of steps of the surface, and the name of its image.
pub(in crate::state) fn grown(state: &State) -> Option<(u64, String)> {
    let steps = state.surface_progress()?.script.steps;
    let (layer, _) = state.document.segmented_image()?;
    (steps > 0).then(|| (steps, layer.name.clone()))
}

/// The surface that had grown on another image starts again: how to get it back.
pub(in crate::state) fn report_other_image(state: &mut State, grown: Option<(u64, String)>) {
    let image = state.document.segmented_image();
    let (Some((steps, before)), Some((layer, _))) = (grown, image) else {
        return;
    };
    if layer.name == before {
        return;
    }
    let sentence = format!(
        "The surface starts again in {}; undo restores the one in {before} at step {}",
        layer.name,
        count(steps)
    );
    // It holds until the new surface moves.
    let subject = StatusSubject::ResultOf(Task::Segment);
    state.runtime.notices.status = Status::about(subject, sentence);
}
