//! The button that maps the voxels on which the live pathway depends.

use crate::state::pathways::jobs::{ONLY_TENSORS, SENSITIVITY};
use crate::state::pathways::{PathwayAction, PathwayResult, Standing};
use crate::state::{Action, State};
use crate::ui::theme::space;
use crate::ui::widgets::button::Button;
use crate::ui::widgets::paint;
use egui::{Sense, Ui, vec2};

const HEIGHT: f32 = 32.0;
const HINT: &str = "Adds a layer with the percentage of the cost E* that depends on each voxel: how far E* changes if \
                    a step through it costs a little more. It holds for small changes: without a voxel, the path goes \
                    elsewhere";

pub fn button(ui: &mut Ui, state: &State, live: &PathwayResult, actions: &mut Vec<Action>) {
    let why = match state.pathway_standing() {
        _ if live.pathway.tensors().is_none() => Some(ONLY_TENSORS),
        _ if state.runtime.jobs.is_running(&[SENSITIVITY]) => Some("Computing the map"),
        None => Some(state.why_no_pathway()),
        Some(Standing::Updating | Standing::Coarse) => Some("Waiting for the full result"),
        Some(Standing::OutOfDate) => Some("Out of date: the controls have changed since"),
        Some(Standing::Final) => None,
    };
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let button = Button::plain("Which voxels does it depend on?")
        .hint(HINT)
        .disabled(why);
    let place = paint::at_right(row, vec2(button.width(ui), space::FIELD));
    if button.show_at(ui, place).clicked() {
        actions.push(Action::Pathway(PathwayAction::Sensitivity(None)));
    }
}
