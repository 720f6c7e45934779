//! How well the pathway and the current streamlines agree.

use crate::state::streamlines::jobs::agreement::AGREEMENT;
use crate::state::{Action, State, StreamlineAction};
use crate::ui::format::{fixed, with_unit};
use crate::ui::theme::space;
use crate::ui::widgets::button::Button;
use crate::ui::widgets::{paint, rows};
use egui::{Sense, Ui, vec2};

/// Name of the command, in all places.
pub const NAME: &str = "Compare with streamlines";
const HEIGHT: f32 = 32.0;
const HINT: &str = "Compares the selected pathway, or the live one, with the current streamlines and their filter: \
                    the share of the streamlines within the pathway, and of the pathway near streamlines";

/// The figures, if pathway and streamlines were compared as they are; else the button, if there are streamlines.
pub fn show(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    if state.current_streamlines().is_none() {
        return;
    }
    if let Some(agreement) = state.pathway_agreement() {
        let percent = |share: f64| with_unit(&fixed(100.0 * share, 1), "%");
        let figures = [
            ("Streamlines within", percent(agreement.within_share())),
            ("Their length within", percent(agreement.length_share())),
            (
                "Pathway within 1 voxel of them",
                percent(agreement.near_share()),
            ),
            ("Dice with the voxels passed", fixed(agreement.dice(), 3)),
        ];
        for (name, value) in figures {
            rows::reading(ui, name, &value);
        }
        return;
    }
    let why = match state.runtime.jobs.is_running(&[AGREEMENT]) {
        true => Some("Comparing"),
        false if state.runtime.pathways.selected.is_some() => None,
        false => state.why_not_final(),
    };
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let button = Button::plain(NAME).hint(HINT).disabled(why);
    let place = paint::at_right(row, vec2(button.width(ui), space::FIELD));
    if button.show_at(ui, place).clicked() {
        actions.push(Action::Streamline(StreamlineAction::ComparePathway));
    }
}
