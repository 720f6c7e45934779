//! The button that maps the voxels on which the live pathway depends.

use crate::solvers::lifted::SensitivityTo;
use crate::state::pathways::PathwayAction;
use crate::state::{Action, State};
use crate::ui::theme::space;
use crate::ui::widgets::button::Button;
use crate::ui::widgets::paint;
use egui::{Sense, Ui, vec2};

/// Name of the command, in all places.
pub const NAME: &str = "Map sensitivity";
/// Name of the map by distributions, in all places.
pub const TO_AMPLITUDES: &str = "Map sensitivity to amplitudes";

const HEIGHT: f32 = 32.0;
const HINT: &str = "Adds a layer with the percentage of the cost E* that depends on each voxel: how much E* \
                    changes if crossing it costs slightly more. It is valid for small changes only: if a voxel is \
                    removed, the path takes another route";

pub fn button(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let live = state.runtime.pathways.live.value();
    let is_mapping =
        live.is_some_and(|live| state.is_mapping(live.excess.id(), SensitivityTo::Cost));
    let why = match is_mapping {
        true => Some("Computing the map"),
        false => state.why_not_final(),
    };
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let button = Button::plain(NAME).hint(HINT).disabled(why);
    let place = paint::at_right(row, vec2(button.width(ui), space::FIELD));
    if button.show_at(ui, place).clicked() {
        actions.push(Action::Pathway(PathwayAction::Sensitivity(None)));
    }
}
