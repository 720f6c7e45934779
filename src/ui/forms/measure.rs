//! Distances and angles on slices.

use crate::state::streamlines::Measurement;
use crate::state::{Action, State, StreamlineAction, Tool, ViewAction};
use crate::ui::widgets::button::{Button, IconButton};
use crate::ui::widgets::{paint, rows, section};
use crate::ui::{Memory, format, icons, theme};
use egui::{Rect, Sense, Ui, vec2};
use theme::{size, space};

const MEASURE: &str = "Measure";

/// `84.2 mm` or `37.5°`.
pub fn text(measurement: &Measurement) -> String {
    let Some(value) = measurement.value() else {
        return String::new();
    };
    match measurement.points.len() {
        2 => format::with_unit(&format::fixed(value, 1), "mm"),
        _ => format!("{}°", format::fixed(value, 1)),
    }
}

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let all = &state.document.streamlines.measurements;
    let tool = matches!(state.view.tool, Tool::Ruler | Tool::Angle);
    let (open, clicked) = section::fold(ui, MEASURE, memory.is_open(MEASURE, false) || tool);
    if clicked {
        memory.toggle(MEASURE);
    }
    if !open {
        return;
    }
    let (rect, _) = ui.allocate_exact_size(
        vec2(ui.available_width(), space::BUTTON + 8.0),
        Sense::hover(),
    );
    let place = paint::inset(rect, space::INSET, space::INSET);
    let place = Rect::from_min_size(place.min, vec2(place.width(), space::BUTTON));
    let none = all.is_empty().then_some("No measurements yet");
    let buttons = vec![
        Button::plain("Distance").hint("Drag from point to point on a slice (M)"),
        Button::plain("Angle").hint("Drag one arm from the corner's end, then click the other (N)"),
        Button::quiet("Erase all").disabled(none),
    ];
    let (responses, _) = crate::ui::panels::button_row(ui, place, buttons);
    if responses[0].clicked() {
        actions.push(Action::View(ViewAction::SetTool(Tool::Ruler)));
    }
    if responses[1].clicked() {
        actions.push(Action::View(ViewAction::SetTool(Tool::Angle)));
    }
    if responses[2].clicked() {
        actions.push(Action::Streamline(StreamlineAction::EraseAll));
    }
    for (i, measurement) in all.iter().enumerate() {
        row(ui, i, measurement, actions);
    }
    let hint = match state.view.tool {
        Tool::Ruler => "Drag on a slice. Drag an end to move it, right-click it to erase",
        Tool::Angle => {
            "Drag from the end of one arm to the corner, then click the end of the other"
        }
        _ if all.is_empty() => "Distances and angles on slices stay in the session",
        _ => return,
    };
    rows::hint(ui, hint);
}

fn row(ui: &mut Ui, index: usize, measurement: &Measurement, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let kind = if measurement.points.len() == 2 {
        "Distance"
    } else {
        "Angle"
    };
    let measured = text(measurement);
    let name = format!("{kind} {}, {measured}", index + 1);
    let response = rows::list_row(ui, &name, ("measurement", index), false);
    let inner = paint::inset(response.rect, space::INSET, space::INSET);
    let painter = ui.painter();
    let text = format!("{kind}, {}", measurement.pane.name().to_lowercase());
    paint::left(painter, inner, &text, theme::regular(size::LABEL), p.t2);
    let value = paint::inset(inner, 0.0, 28.0);
    paint::right(painter, value, &measured, theme::medium(size::LABEL), p.t1);
    let place = paint::inset(response.rect, 0.0, space::INSET - 3.0);
    let erase = format!("Erase {kind} {}", index + 1);
    let button = IconButton::new(icons::TRASH, &erase).side(22.0);
    if button.show_right(ui, place).clicked() {
        actions.push(Action::Streamline(StreamlineAction::Erase(index)));
    }
    if response.clicked() {
        let middle =
            measurement.points.iter().sum::<glam::DVec3>() / measurement.points.len() as f64;
        actions.push(Action::View(ViewAction::MoveCrosshair(middle)));
    }
    response.on_hover_text("Moves the crosshair there");
}
