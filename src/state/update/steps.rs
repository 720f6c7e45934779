//! Undoing, redoing and abandoning steps.

use crate::data::text::within_sentence;
use crate::state::action::BeforeDrag;
use crate::state::core::notices::Status;
use crate::state::{Document, Effect, State, Task, alignment, changes, regions, segment, tensors};

pub fn undo(state: &mut State, effects: &mut Vec<Effect>) {
    let step = state.history.undo(&state.document);
    apply_history_step(state, step, HistoryDirection::Undone, effects);
}

pub fn redo(state: &mut State, effects: &mut Vec<Effect>) {
    let step = state.history.redo(&state.document);
    apply_history_step(state, step, HistoryDirection::Redone, effects);
}

/// Reverts what a drag has changed so far; it leaves no step in the history.
pub fn abandon(state: &mut State, before: BeforeDrag, effects: &mut Vec<Effect>) {
    state.view = before.view;
    state.runtime.sample = None;
    if let (Some(comparing), Some(share)) = (&mut state.runtime.snapshots.comparing, before.divider)
    {
        comparing.share = share;
    }
    // A step from before the drag stays.
    if state.history.recorded() > before.recorded {
        let step = state.history.abandon().map(|(label, mut document)| {
            // A surface goes on from where it is: only the dragged value goes back.
            document.segment.resume = None;
            (label, document)
        });
        apply_history_step(state, step, HistoryDirection::Cancelled, effects);
    }
}

/// Direction in the history.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HistoryDirection {
    Undone,
    Redone,
    Cancelled,
}

impl HistoryDirection {
    fn verb(self) -> &'static str {
        match self {
            Self::Undone => "Undone",
            Self::Redone => "Redone",
            Self::Cancelled => "Cancelled",
        }
    }
}

fn apply_history_step(
    state: &mut State,
    step: Option<(String, Document)>,
    way: HistoryDirection,
    effects: &mut Vec<Effect>,
) {
    let Some((label, document)) = step else {
        return;
    };
    regions::make::stop_making(state, effects);
    alignment::update::cancel_pending(state, None, effects);
    let before = std::mem::replace(&mut state.document, document);
    // The choice of the outlined clip is no part of a step.
    let look = &mut state.document.scene_look;
    let outlined = before.scene_look.selected;
    look.selected = outlined.filter(|index| *index < look.clips.len());
    let values = changes::between(&before, &state.document);
    let values = match &*values {
        [] => String::new(),
        values => format!(" ({})", changes::listed(values)),
    };
    let status = format!("{}: {}{values}", way.verb(), within_sentence(&label));
    state.runtime.notices.status = match way {
        HistoryDirection::Cancelled => status.into(),
        HistoryDirection::Undone | HistoryDirection::Redone => Status::of_step(status),
    };
    let gone = |id| state.document.region(id).is_none();
    if state.runtime.regions.selected.is_some_and(gone) {
        state.runtime.regions.selected = None;
    }
    state.runtime.tour_step_undone(&state.document);
    if state.view.task == Task::Segment {
        // The step may lie before the first look at the task.
        segment::update::entered(state);
    }
    // A step may lie between a changed parameter and its result.
    tensors::update::fit(state, effects);
}
