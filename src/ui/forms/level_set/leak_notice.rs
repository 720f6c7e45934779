//! The leak notice at the top of the panel.

use super::act;
use crate::solvers::level_set::Leak;
use crate::state::segment::SegmentAction;
use crate::state::{Action, LeakNotice, Severity, State, Task, ViewAction};
use crate::ui::format::{count, volume};
use crate::ui::icons;
use crate::ui::theme;
use crate::ui::widgets::note::{Note, NoteResponse};
use egui::{Id, Ui};

/// The button that goes back to the state before the leak.
pub const BACK: &str = "Undo the leak";
/// The button that shows the whole note again.
const UNFOLD: &str = "Unfold the note";

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
    let now = live.map_or(0.0, |live| state.segmented_ml(live.inside));
    let [before, now] = [leaked.before_ml, now].map(volume);
    format!(
        "Possible leak {why}: {before} at step {}, {now} now",
        count(leaked.leak.rewind_step)
    )
}

/// Key of the leak whose note the user folded; another leak unfolds it.
fn folded_id() -> Id {
    Id::unique("the leak whose note is folded")
}

/// Whether the note is folded to one row, which reserves its height in the panel.
pub fn is_folded(ui: &Ui, state: &State) -> bool {
    let folded: Option<Leak> = ui.data(|d| d.get_temp(folded_id()));
    folded.is_some() && folded == leaked(state).map(|leaked| leaked.leak)
}

/// The leak's cause, and the possible next steps.
pub fn show(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let Some(leaked) = leaked(state) else { return };
    let p = theme::palette(ui.style());
    let text = sentence(state, &leaked);
    let note = Note::new(p, Severity::Warning, &text).action(BACK);
    if is_folded(ui, state) {
        match note
            .second_action(UNFOLD)
            .show_row(ui, "Possible leak", icons::CARET_RIGHT)
        {
            Some(NoteResponse::Accepted) => {
                act(actions, SegmentAction::Rewind(leaked.leak.rewind_step))
            }
            Some(NoteResponse::SecondAction) => ui.data_mut(|d| d.remove::<Leak>(folded_id())),
            Some(NoteResponse::Dismissed) | None => {}
        }
        return;
    }
    let note = note.foldable();
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
        Some(NoteResponse::Dismissed) => {
            ui.data_mut(|d| d.insert_temp(folded_id(), leaked.leak));
        }
        None => {}
    }
}
