//! The block "Oblique slices" of the task View: the angles of the turned slices.

use crate::state::core::slice_turn::SliceTurn;
use crate::state::{Action, State, Tool, ViewAction};
use crate::ui::widgets::button::Button;
use crate::ui::widgets::slider::SliderRow;
use crate::ui::widgets::{paint, rows, section};
use crate::ui::{Memory, help_pictures, panels, theme};
use egui::{Rect, Sense, Ui, vec2};
use theme::space;

const BLOCK: &str = "Oblique slices";

/// Unfolds the block.
pub fn open(memory: &mut Memory) {
    if !memory.is_open(BLOCK, false) {
        memory.toggle(BLOCK);
    }
}

/// Rows of the angles: their names, largest angles and hints.
const ANGLES: [(&str, f64, &str); 3] = [
    (
        "About left–right",
        180.0,
        "Positive angles raise the front of the axial slice",
    ),
    (
        "About front–back",
        90.0,
        "Positive angles lower the right side of the axial slice",
    ),
    (
        "About up–down",
        180.0,
        "Positive angles turn the front of the axial slice to the left",
    ),
];

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let aligning = state.view.tool == Tool::Commissures;
    let (open, clicked) = section::fold(ui, BLOCK, memory.is_open(BLOCK, false) || aligning);
    if clicked {
        memory.toggle(BLOCK);
    }
    if !open {
        return;
    }
    let turn = state.view.turn;
    let angles = turn.angles();
    for (axis, (name, most, help)) in ANGLES.into_iter().enumerate() {
        // Rounding leaves a minus sign.
        let shown = if angles[axis].abs() < 0.05 {
            0.0
        } else {
            angles[axis]
        };
        let row = SliderRow::new(name, shown, -most..=most)
            .default(0.0)
            .decimals(1)
            .unit("°")
            .help(help);
        // The picture shows a turn about the left–right axis.
        let picture = help_pictures::of_control("turn").filter(|_| axis == 0);
        if let Some((degrees, _)) = help_pictures::with(ui, picture, |ui| row.value(ui)) {
            let mut angles = angles;
            angles[axis] = degrees;
            let rotation = SliceTurn::rotation_from_angles(angles);
            let turn = turn.turned_to(state.view.crosshair, rotation);
            actions.push(Action::View(ViewAction::TurnSlices(turn)));
        }
    }
    buttons(ui, state, aligning, actions);
    let hint = match aligning {
        true => {
            "On the slices, click the anterior commissure, the posterior one and a point between the \
                 hemispheres. Right-click takes one back"
        }
        false => {
            "Or drag a ring at the end of a crosshair line: the picture turns about the crosshair"
        }
    };
    rows::hint(ui, hint);
}

fn buttons(ui: &mut Ui, state: &State, aligning: bool, actions: &mut Vec<Action>) {
    let size = vec2(ui.available_width(), space::BUTTON + 8.0);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let place = paint::inset(rect, space::INSET, space::INSET);
    let place = Rect::from_min_size(place.min, vec2(place.width(), space::BUTTON));
    let align = match aligning {
        true => Button::plain("Stop aligning"),
        false => Button::plain("Align to AC–PC")
            .hint("Three clicks: the anterior and the posterior commissure, and the midline"),
    };
    let straight = state.view.turn.is_straight();
    let back = Button::plain("Back to the axes")
        .hint("Turn the slices back (Z)")
        .disabled(straight.then_some("The slices lie at the axes"));
    let (responses, _) = panels::button_row(ui, place, vec![align, back]);
    if responses[0].clicked() {
        let tool = match aligning {
            true => Tool::Crosshair,
            false => Tool::Commissures,
        };
        actions.push(Action::View(ViewAction::SetTool(tool)));
    }
    if responses[1].clicked() {
        actions.push(Action::View(ViewAction::StraightenSlices));
    }
}
