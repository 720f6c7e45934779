//! The task Filter: which streamlines explain the signal, and by how much.

mod bundles;
mod inputs;
mod model;
mod progress;
mod results;

use crate::state::filter::jobs::FIT_WEIGHTS;
use crate::state::filter::{FilterAction, FilterFile};
use crate::state::runtime::TourStep;
use crate::state::{Action, DeviceAction, Severity, State, TrackAction};
use crate::ui::files::{DialogPosition, PathPurpose, suggestion};
use crate::ui::widgets::button::Button;
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::widgets::{menu, section};
use crate::ui::{Memory, icons, panels, theme};
use egui::{Rect, Ui, vec2};
pub use progress::share_of_fit;

const RUN_AGAIN: &str = "Run again";
const CONTINUE: &str = "Continue";
const AGAIN: &str = "Start from zero weights: the same inputs give the same result (Space). Only a virtual lesion \
                     and the refit after an edit start from the last weights, since this finds the same minimum";

fn act(actions: &mut Vec<Action>, action: FilterAction) {
    actions.push(Action::Filter(action));
}

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    section::head(ui, "Inputs");
    inputs::show(ui, state, memory, actions);
    refusals(ui, state, actions);
    section::end(ui);
    model::show(ui, state, memory, actions);
    section::end(ui);
}

/// While a fit runs, its progress comes first and its results after it.
pub fn results(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    if state.is_filtering() {
        progress::show(ui, state);
        results::show(ui, state, memory, actions);
    } else {
        results::show(ui, state, memory, actions);
        progress::show(ui, state);
    }
}

/// The most severe warning among the results.
pub fn highest_severity(state: &State) -> Option<Severity> {
    let (_, weights) = results::shown_weights(state).filter(|_| !state.is_filtering())?;
    let has_warning = state.weights_are_stale() || progress::unfinished(weights).is_some();
    has_warning.then_some(Severity::Warning)
}

/// Why a fit cannot run, or did not.
fn refusals(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    if state.document.filtered().is_none() {
        let live = state
            .final_live()
            .is_some_and(|l| !l.output.kept.is_empty());
        // The step's button keeps the live streamlines itself.
        if live && state.runtime.tour == Some(TourStep::FitWeights) {
            return;
        }
        ui.add_space(4.0);
        let text = "There are no streamlines to fit";
        let mut note = Note::new(p, Severity::Information, text);
        let tensors = state.document.tensors.is_some();
        note = match (live, tensors) {
            (true, _) => note.action("Keep live streamlines"),
            (false, true) => note.action("Track the whole brain"),
            (false, false) => note,
        };
        if note.show(ui) == Some(NoteResponse::Accepted) {
            match live {
                true => act(actions, FilterAction::TakeLive),
                false => actions.push(Action::Track(TrackAction::WholeBrain)),
            }
        }
        return;
    }
    // The row of a model that the scan does not determine already says so.
    let undetermined = state.document.undetermined_model().is_some();
    if let Some(why) = state.cannot_filter().filter(|_| !undetermined) {
        Note::new(p, Severity::Warning, &why).show(ui);
    }
    if let Some(why) = state.why_fit_failed() {
        let mut note = Note::new(p, Severity::Error, why);
        let on_card = state
            .runtime
            .device
            .fallback
            .requests
            .iter()
            .any(|r| r.slot() == FIT_WEIGHTS);
        if on_card {
            note = note.action(panels::ON_CPU);
        }
        if note.show(ui) == Some(NoteResponse::Accepted) {
            actions.push(Action::Device(DeviceAction::RunOnCpu));
        }
    }
}

pub fn foot(
    ui: &mut Ui,
    place: Rect,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let running = state.is_filtering();
    let why = state.cannot_filter();
    let has_weights = has_weights(state);
    // Run and Stop keep their places: the second click of a double click on one never reaches the other.
    let continues = has_weights && state.can_continue_fit();
    let (text, hint) = match (has_weights, continues) {
        (_, true) => (
            CONTINUE,
            "Go on from the last weights, which are not converged (Space)",
        ),
        (true, false) => (RUN_AGAIN, AGAIN),
        (false, false) => ("Run", "Space"),
    };
    let why_not = running.then_some("It runs").or(why.as_deref());
    let run = Button::primary(text).icon(icons::PLAY).disabled(why_not);
    let run = run.hint(hint);
    let width = |text| Button::primary(text).icon(icons::PLAY).width(ui);
    let wide = width(RUN_AGAIN).max(width(CONTINUE));
    let run_at = Rect::from_min_size(place.min, vec2(wide, place.height()));
    let place = place.with_min_x(run_at.right() + 6.0);
    let stop = Button::plain("Stop").disabled((!running).then_some("Nothing runs"));
    let stop = stop.hint("End the fit and keep the last weights (Space, Esc)");
    let none = (!has_weights).then_some("There are no weights yet: run the fit first");
    let export = Button::plain("Export…")
        .icon(icons::EXPORT)
        .disabled(none)
        .hint("Ctrl+E: the weights");
    let run = run.show_at(ui, run_at);
    // A short fit may end before the second click of a double click on Run, which then is on Continue.
    if run.clicked() && !run.double_clicked() && !run.triple_clicked() {
        act(actions, run_action(state));
    }
    let (responses, end) = panels::button_row(ui, place, vec![stop, export]);
    if responses[0].clicked() {
        act(actions, FilterAction::Stop);
    }
    if has_weights {
        let above = DialogPosition::Above(place.right_top() - vec2(0.0, 20.0));
        let chosen = menu::popup(&responses[1], 220.0, |ui| {
            menu::choice(ui, files(state), FilterFile::name)
        });
        if let Some(what) = chosen {
            ask_for_path(state, memory, what, above);
        }
    }
    let command = super::command_line(state);
    if panels::copy_command(ui, place, end, command.is_some()) {
        actions.extend(command.map(Action::CopyCommand));
    }
}

/// The action of the button that runs the fit, and of its key.
pub fn run_action(state: &State) -> FilterAction {
    match state.can_continue_fit() {
        true => FilterAction::Continue,
        false => FilterAction::Run,
    }
}

/// Whether there are weights.
pub fn has_weights(state: &State) -> bool {
    results::shown_weights(state).is_some()
}

/// All files that can be written of a fit.
pub fn files(state: &State) -> Vec<FilterFile> {
    let mut all = vec![
        FilterFile::Weights,
        FilterFile::Kept,
        FilterFile::All,
        FilterFile::Histogram,
    ];
    all.extend(results::maps(state).into_iter().map(FilterFile::Map));
    all
}

/// Asks where to write a file of the fit.
pub fn ask_for_path(state: &State, memory: &mut Memory, what: FilterFile, place: DialogPosition) {
    let layer = state
        .document
        .filtered()
        .map_or("", |(layer, _)| &layer.name);
    let name = format!("{layer}_{}", what.suffix());
    let purpose = PathPurpose::filter(state, what);
    let text = suggestion(state, &name, &purpose);
    memory.files.type_path(purpose, place, &text);
}
