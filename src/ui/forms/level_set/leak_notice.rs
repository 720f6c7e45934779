//! The leak notice at the top of the panel.

use super::act;
use super::results::voxels_ml;
use crate::state::segment::SegmentAction;
use crate::state::{Action, LeakNotice, Severity, State, Task, ViewAction};
use crate::ui::format::{count, volume};
use crate::ui::theme;
use crate::ui::widgets::note::{Note, NoteResponse};
use egui::Ui;

/// The button that goes back to the state before the leak.
pub const BACK: &str = "Undo the leak";

/// The leak at which the surface was paused, if that state is shown.
pub fn leaked(state: &State) -> Option<LeakNotice> {
    let live = state.runtime.segment.live.as_ref()?;
    let seen = state.view.task == Task::Segment && state.rewind_target().is_none();
    live.leak.filter(|_| seen)
}

/// Why it may be a leak; the views mark the place. The text is short, so that all controls below stay visible.
pub fn sentence(state: &State, leaked: &LeakNotice) -> String {
    let why = leaked.leak.cause.short_label();
    let live = state.runtime.segment.live.as_ref();
    let now = live.map_or(0.0, |live| voxels_ml(state, live.inside));
    let [before, now] = [leaked.before_ml, now].map(volume);
    format!(
        "Possible leak {why}: {before} at step {}, {now} now",
        count(leaked.leak.rewind_step)
    )
}

/// The leak's cause, and the possible next steps.
pub fn show(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let Some(leaked) = leaked(state) else { return };
    let p = theme::palette(ui.style());
    let text = sentence(state, &leaked);
    let note = Note::new(p, Severity::Warning, &text).action(BACK);
    let answer = match leaked.at {
        Some(_) => note.second_action("Show it").show_all(ui),
        None => note.show_all(ui),
    };
    match answer {
        Some(NoteResponse::Accepted) => {
            act(actions, SegmentAction::Rewind(leaked.leak.rewind_step))
        }
        Some(NoteResponse::SecondAction) => actions.extend(
            leaked
                .at
                .map(|world| Action::View(ViewAction::MoveCrosshair(world))),
        ),
        Some(NoteResponse::Dismissed) | None => {}
    }
}
