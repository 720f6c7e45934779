//! The track of a slider with one or two handles: pointer, keys and screen reader.

use super::super::theme::{self, Palette};
use super::focus;
use super::scale::Scale;
use crate::state::Phase;
use egui::accesskit::{Action, ActionData};
use egui::{
    Color32, EventFilter, Id, Key, Pos2, Rect, Response, Role, Sense, Stroke, Ui, WidgetInfo, pos2,
    vec2,
};
use std::ops::RangeInclusive;

const KNOB: f32 = 6.0;
/// Distance from a marked value within which its explanation is shown.
const REACH: f32 = 5.0;

pub(super) fn rail_id(ui: &Ui, knob: &str) -> Id {
    ui.make_persistent_id(("rail", knob))
}

pub(super) struct Knob<'a> {
    pub name: &'a str,
    pub value: f64,
}

/// A marked value with its meaning.
#[derive(Clone, Copy)]
pub(super) struct Mark<'a> {
    pub value: f64,
    pub text: &'a str,
}

/// Values marked by a tick.
#[derive(Clone, Copy, Default)]
pub(super) struct Ticks<'a> {
    pub default: Option<f64>,
    pub mark: Option<Mark<'a>>,
}

/// One or two handles on a track; returns all values when one has moved.
pub(super) fn rail(
    ui: &mut Ui,
    rect: Rect,
    scale: &Scale,
    knobs: &[Knob],
    ticks: Ticks,
) -> Option<(Vec<f64>, Phase)> {
    let p = theme::palette(ui.style());
    let x_of = |value: f64| rect.left() + rect.width() * scale.share(value);
    let values: Vec<f64> = knobs.iter().map(|k| k.value).collect();
    // Each handle owns the track up to the midpoint between them.
    let middle = match values.as_slice() {
        [low, high] => 0.5 * (x_of(*low) + x_of(*high)),
        _ => rect.right() + KNOB,
    };
    let mut change = None;
    let mut responses = Vec::new();
    for (i, knob) in knobs.iter().enumerate() {
        let (left, right) = if i == 0 {
            (rect.left() - KNOB, middle)
        } else {
            (middle, rect.right() + KNOB)
        };
        let area = Rect::from_x_y_ranges(left..=right, rect.y_range());
        let id = rail_id(ui, knob.name);
        let response = ui.interact(area, id, Sense::drag());
        if let Some((value, phase)) = moved(ui, &response, id, rect, scale, knob.value) {
            let mut all = values.clone();
            all[i] = match (i, values.as_slice()) {
                (0, [_, high]) => value.min(*high),
                (1, [low, _]) => value.max(*low),
                _ => value,
            };
            change = Some((all, phase));
        }
        let stands = (scale.range.clone(), knob.value);
        describe(ui, &response, id, stands, knob.name);
        responses.push(response);
    }
    draw(ui, p, rect, scale, &values, &responses, ticks);
    if let Some(mark) = ticks.mark {
        explain(ui, pos2(x_of(mark.value), rect.center().y), knobs, mark);
    }
    change
}

/// The value requested by the pointer, a key or a screen reader.
fn moved(
    ui: &Ui,
    response: &Response,
    id: Id,
    rect: Rect,
    scale: &Scale,
    value: f64,
) -> Option<(f64, Phase)> {
    focus::follow_click(ui, response, id);
    let place = id.with("share");
    let fine = match ui.input(|i| i.modifiers.shift) {
        true => 0.1,
        false => 1.0,
    };
    if response.drag_started() {
        // In slow frames the pointer has moved on since it was pressed.
        let pointer = response.interact_pointer_pos()?;
        let pressed = ui.input(|i| i.pointer.press_origin()).unwrap_or(pointer);
        let knob = rect.left() + rect.width() * scale.share(value);
        let grabbed = (knob - pressed.x).abs() <= KNOB;
        let start = if grabbed { knob } else { pressed.x };
        let share = (start + (pointer.x - pressed.x) * fine - rect.left()) / rect.width();
        let next = scale.value(share);
        let changed = !grabbed || pointer.x != pressed.x && next != value;
        ui.data_mut(|d| d.insert_temp(place, (share, changed)));
        return changed.then_some((next, Phase::Live));
    }
    let (share, sent) = ui
        .data(|d| d.get_temp::<(f32, bool)>(place))
        .unwrap_or((scale.share(value), false));
    if response.dragged() || response.drag_stopped() {
        // The frame in which the button is released includes the last part of the drag.
        let by = ui.input(|i| i.pointer.delta().x) * fine / rect.width();
        let next = scale.value(share + by);
        let changed = next != value && by != 0.0;
        ui.data_mut(|d| d.insert_temp(place, (share + by, sent || changed)));
        let value = if changed { next } else { value };
        return match response.drag_stopped() {
            // A handle that was pressed but not moved is not an edit.
            true => (sent || changed).then_some((value, Phase::Done)),
            false => changed.then_some((value, Phase::Live)),
        };
    }
    let stepped = |steps: f64| scale.stepped(value, steps);
    requested(ui, response, id, stepped).map(|value| (value, Phase::Done))
}

/// The value requested by an arrow key or a screen reader; `stepped` gives the value this many presses away.
///
/// Arrow keys go to the control last clicked.
pub(super) fn requested(
    ui: &Ui,
    response: &Response,
    id: Id,
    stepped: impl Fn(f64) -> f64,
) -> Option<f64> {
    focus::follow_click(ui, response, id);
    if response.has_focus() {
        ui.memory_mut(|m| {
            let arrows = EventFilter {
                horizontal_arrows: true,
                ..EventFilter::default()
            };
            m.set_focus_lock_filter(id, arrows);
        });
        let steps = ui.input(|i| {
            i.num_presses(Key::ArrowRight) as f64 - i.num_presses(Key::ArrowLeft) as f64
        });
        if steps != 0.0 {
            return Some(stepped(steps));
        }
    }
    let steps = ui.input(|i| {
        i.num_accesskit_action_requests(id, Action::Increment) as f64
            - i.num_accesskit_action_requests(id, Action::Decrement) as f64
    });
    if steps != 0.0 {
        return Some(stepped(steps));
    }
    ui.input(|i| {
        let requested = i.accesskit_action_requests(id, Action::SetValue);
        requested
            .filter_map(|request| match request.data {
                Some(ActionData::NumericValue(value)) => Some(value),
                _ => None,
            })
            .last()
    })
}

/// The text for a screen reader: the name, and the value in its range.
pub(super) fn describe(
    ui: &Ui,
    response: &Response,
    id: Id,
    (range, value): (RangeInclusive<f64>, f64),
    name: &str,
) {
    response.widget_info(|| WidgetInfo {
        value: Some(value),
        ..WidgetInfo::labeled(Role::Slider, true, name)
    });
    ui.ctx().accesskit_node_builder(id, |node| {
        node.set_min_numeric_value(*range.start());
        node.set_max_numeric_value(*range.end());
        node.add_action(Action::SetValue);
        node.add_action(Action::Increment);
        node.add_action(Action::Decrement);
    });
}

/// The text of a mark, below the track at its tick: the track itself belongs to the handles.
fn explain(ui: &mut Ui, at: Pos2, knobs: &[Knob], mark: Mark) {
    let place = Rect::from_min_max(at + vec2(-REACH, KNOB - 1.0), at + vec2(REACH, KNOB + 7.0));
    let id = ui.make_persistent_id(("mark", knobs.first().map(|k| k.name)));
    let response = ui.interact(place, id, Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, mark.text));
    response.on_hover_text(mark.text);
}

fn draw(
    ui: &Ui,
    p: &Palette,
    rect: Rect,
    scale: &Scale,
    values: &[f64],
    responses: &[Response],
    ticks: Ticks,
) {
    let painter = ui.painter();
    let y = rect.center().y;
    let x_of = |value: f64| rect.left() + rect.width() * scale.share(value);
    let bar = |from: f32, to: f32, colour: Color32| {
        let bar = Rect::from_x_y_ranges(from..=to, y - 1.0..=y + 1.0);
        painter.rect_filled(bar, 1.0, colour);
    };
    let rail_colour = if p.field_line == Color32::TRANSPARENT {
        p.b3
    } else {
        p.line
    };
    bar(rect.left(), rect.right(), rail_colour);
    if let Some(default) = ticks.default {
        let x = x_of(default).round() + 0.5;
        painter.vline(x, y + 4.0..=y + 9.0, Stroke::new(1.0, p.t3));
    }
    if let Some(mark) = ticks.mark {
        // Across the track, and longer than the tick of the default.
        let x = x_of(mark.value).round() + 0.5;
        painter.vline(x, y - 5.0..=y + 11.0, Stroke::new(1.5, p.warning));
    }
    match values {
        [low, high] => bar(x_of(*low), x_of(*high), p.accent),
        [value] => bar(rect.left(), x_of(*value), p.accent),
        _ => {}
    }
    for (value, response) in values.iter().zip(responses) {
        let centre: Pos2 = pos2(x_of(*value), y);
        let active = response.dragged() || response.hovered();
        painter.circle_filled(centre, if active { KNOB + 0.5 } else { KNOB }, p.knob);
        if focus::has_ring(response) {
            painter.circle_stroke(centre, KNOB + 2.5, Stroke::new(1.0, p.accent));
        }
    }
}
