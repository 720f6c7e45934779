//! Rows of a label, a rail with one or two knobs, and a field.

use super::super::format;
use super::super::theme::{self, Palette, size, space};
pub use super::scale::Scale;
use super::typed::{no_number, whole, within};
use super::{button, field, focus, paint};
use crate::state::Phase;
use egui::accesskit::{Action, ActionData};
use egui::{
    Color32, EventFilter, Id, Key, Pos2, Rect, Response, Role, Sense, Stroke, Ui, WidgetInfo, pos2,
    vec2,
};
use std::ops::RangeInclusive;

const LABEL: f32 = 116.0;
const FIELD: f32 = 74.0;
const GAP: f32 = 8.0;
const KNOB: f32 = 6.0;

/// Where label, rail and field of a row lie. Anything else in a control row keeps to this, too.
pub struct Columns {
    pub label: Rect,
    pub rail: Rect,
    pub field: Rect,
    /// Rail and field together.
    pub wide: Rect,
}

impl Columns {
    /// Allocates a row over the whole width, inset on both sides.
    pub fn allocate(ui: &mut Ui) -> Self {
        let size = vec2(ui.available_width(), space::ROW);
        let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
        let row = paint::inset(rect, space::INSET, space::INSET);
        let field = paint::at_right(row, vec2(FIELD, space::FIELD));
        let start = row.left() + LABEL + GAP;
        let rail = Rect::from_min_max(
            pos2(start, row.top()),
            pos2(field.left() - GAP - 2.0, row.bottom()),
        );
        let wide = Rect::from_min_max(pos2(start - 2.0, field.top()), field.max);
        let label = Rect::from_min_size(row.min, vec2(LABEL, row.height()));
        Self {
            label,
            rail,
            field,
            wide,
        }
    }
}

/// A labelled slider with a field.
pub struct SliderRow<'a> {
    name: &'a str,
    value: f64,
    scale: Scale,
    default: Option<f64>,
    unit: &'a str,
    help: &'a str,
    /// What may be typed; the rail's range if `None`.
    limits: Option<RangeInclusive<f64>>,
    switch: Option<bool>,
    off: &'a str,
    waits: bool,
    whole: bool,
    inactive: Option<&'a str>,
}

/// What a user did to a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Change {
    To(f64, Phase),
    /// The row's checkbox.
    Switched(bool),
}

impl<'a> SliderRow<'a> {
    pub fn new(name: &'a str, value: f64, range: RangeInclusive<f64>) -> Self {
        Self {
            name,
            value,
            scale: Scale {
                range,
                logarithmic: false,
                decimals: 2,
            },
            default: None,
            unit: "",
            help: "",
            limits: None,
            switch: None,
            off: "",
            waits: false,
            whole: false,
            inactive: None,
        }
    }

    pub fn logarithmic(mut self) -> Self {
        self.scale.logarithmic = true;
        self
    }

    pub fn decimals(mut self, decimals: i32) -> Self {
        self.scale.decimals = decimals;
        self
    }

    pub fn default(mut self, value: f64) -> Self {
        self.default = Some(value);
        self
    }

    pub fn unit(mut self, unit: &'a str) -> Self {
        self.unit = unit;
        self
    }

    /// One line, shown on hover.
    pub fn help(mut self, help: &'a str) -> Self {
        self.help = help;
        self
    }

    /// What may be typed beyond the rail.
    pub fn limits(mut self, limits: RangeInclusive<f64>) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Gives the row a checkbox; `off` says what its being off means.
    pub fn switch(mut self, on: bool, off: &'a str) -> Self {
        self.switch = Some(on);
        self.off = off;
        self
    }

    /// The value is taken over at the end of a drag only: until then the row itself remembers where
    /// the knob is.
    pub fn waits(mut self) -> Self {
        self.waits = true;
        self
    }

    /// There are only whole numbers, on the rail and typed.
    pub fn whole(mut self) -> Self {
        self.whole = true;
        self.scale.decimals = 0;
        self
    }

    /// The row keeps its place but has nothing to set; says why.
    pub fn inactive(mut self, why: Option<&'a str>) -> Self {
        self.inactive = why;
        self
    }

    pub fn show(mut self, ui: &mut Ui) -> Option<Change> {
        if let Some(why) = self.inactive {
            self.idle(ui, why);
            return None;
        }
        let stands_for = self.value;
        if self.waits {
            self.value = held(ui, self.name, self.value);
        }
        let columns = Columns::allocate(ui);
        let mut change = None;
        match self.switch {
            None => {
                if label(ui, columns.label, self.name, self.help).double_clicked() {
                    change = self.default.map(|v| Change::To(v, Phase::Done));
                }
            }
            Some(on) => {
                if let Some(on) = button::checkbox(ui, columns.label, self.name, on) {
                    change = Some(Change::Switched(on));
                }
                if !self.help.is_empty() {
                    let id = ui.make_persistent_id(("help", self.name));
                    ui.interact(columns.label, id, Sense::hover())
                        .on_hover_text(self.help);
                }
                if !on {
                    let p = theme::palette(ui.style());
                    let font = theme::regular(size::LABEL);
                    paint::right(ui.painter(), columns.wide, self.off, font, p.t3);
                    return change;
                }
            }
        }
        let knob = Knob {
            name: self.name,
            value: self.value,
        };
        let shown = self.scale.text(self.value);
        let (along, place) = columns.split(ui, &shown, self.unit);
        if let Some((value, phase)) = rail(ui, along, &self.scale, &[knob], self.default) {
            let goes_on = self.waits && keep(ui, self.name, value[0], phase);
            if !goes_on && (!self.waits || value[0] != stands_for) {
                change = Some(Change::To(value[0], phase));
            }
        }
        let typed = field::value(ui, place, self.name, &shown, self.unit);
        if let Some(typed) = typed {
            let limits = self.limits.unwrap_or(self.scale.range.clone());
            match format::parse(&typed) {
                Some(value) => {
                    let mut value = within(ui, place, self.name, value, &limits, self.unit);
                    if self.whole {
                        value = whole(ui, place, self.name, value);
                    }
                    if value != stands_for {
                        change = Some(Change::To(value, Phase::Done));
                    }
                }
                None => no_number(ui, place, self.name, &typed, &shown),
            }
        }
        change
    }

    fn idle(&self, ui: &mut Ui, why: &str) {
        let columns = Columns::allocate(ui);
        let place = columns.label.union(columns.wide);
        let id = ui.make_persistent_id(("idle", self.name));
        let response = ui.interact(place, id, Sense::hover());
        let p = theme::palette(ui.style());
        let font = theme::regular(size::LABEL);
        paint::left(ui.painter(), columns.label, self.name, font.clone(), p.t3);
        paint::right(ui.painter(), columns.wide, why, font, p.t3);
        response.widget_info(|| {
            WidgetInfo::labeled(Role::Label, false, format!("{}: {why}", self.name))
        });
        response.on_hover_text(self.help);
    }

    /// As [`SliderRow::show`] for rows without a checkbox.
    pub fn value(self, ui: &mut Ui) -> Option<(f64, Phase)> {
        match self.show(ui)? {
            Change::To(value, phase) => Some((value, phase)),
            Change::Switched(_) => None,
        }
    }
}

/// A labelled slider with two knobs and one field for both values.
pub struct RangeRow<'a> {
    pub name: &'a str,
    pub values: (f64, f64),
    pub scale: Scale,
    /// Asked on a double click only: it may take a pass over the data.
    pub default: &'a dyn Fn() -> (f64, f64),
    pub unit: &'a str,
    pub help: &'a str,
    pub limits: RangeInclusive<f64>,
    /// As [`SliderRow::waits`].
    pub waits: bool,
}

impl RangeRow<'_> {
    pub fn show(mut self, ui: &mut Ui) -> Option<((f64, f64), Phase)> {
        let columns = Columns::allocate(ui);
        let mut change = None;
        if label(ui, columns.label, self.name, self.help).double_clicked() {
            change = Some(((self.default)(), Phase::Done));
        }
        let (low, high) = (
            format!("{}, low", self.name),
            format!("{}, high", self.name),
        );
        let stands_for = self.values;
        if self.waits {
            self.values = (
                held(ui, &low, self.values.0),
                held(ui, &high, self.values.1),
            );
        }
        let knobs = [
            Knob {
                name: &low,
                value: self.values.0,
            },
            Knob {
                name: &high,
                value: self.values.1,
            },
        ];
        let shown = format!(
            "{}–{}",
            self.scale.text(self.values.0),
            self.scale.text(self.values.1)
        );
        let (along, place) = columns.split(ui, &shown, self.unit);
        if let Some((values, phase)) = rail(ui, along, &self.scale, &knobs, None) {
            let ends = [(&low, values[0]), (&high, values[1])];
            let goes_on = self.waits && ends.map(|(name, v)| keep(ui, name, v, phase))[0];
            let values = (values[0], values[1]);
            if !goes_on && (!self.waits || values != stands_for) {
                change = Some((values, phase));
            }
        }
        let typed = field::value(ui, place, self.name, &shown, self.unit);
        if let Some(typed) = typed {
            match format::parse_range(&typed) {
                Some((low, high)) => {
                    let clamp = |v: f64| within(ui, place, self.name, v, &self.limits, self.unit);
                    let typed = (clamp(low), clamp(high));
                    if typed != stands_for {
                        change = Some((typed, Phase::Done));
                    }
                }
                None => no_number(ui, place, self.name, &typed, &shown),
            }
        }
        change
    }
}

impl Columns {
    /// The rail and the field: long numbers need more than the common field, and the rail gives
    /// way in steps, so that it does not wander while a knob moves.
    fn split(&self, ui: &Ui, shown: &str, unit: &str) -> (Rect, Rect) {
        let text = format!("{shown} {unit}");
        let needed = paint::width(ui, text.trim_end(), theme::regular(size::LABEL));
        let wide = FIELD + ((needed + 14.0 - FIELD).max(0.0) / 12.0).ceil() * 12.0;
        let place = paint::at_right(self.field, vec2(wide, space::FIELD));
        let mut along = self.rail;
        along.max.x = along.max.x.min(place.left() - GAP - 2.0);
        (along, place)
    }
}

/// A control's label with its help line; a double click resets.
pub fn label(ui: &mut Ui, rect: Rect, name: &str, help: &str) -> Response {
    let p = theme::palette(ui.style());
    let response = ui.interact(rect, ui.make_persistent_id(("label", name)), Sense::CLICK);
    let colour = if response.hovered() { p.t1 } else { p.t2 };
    paint::left(
        ui.painter(),
        rect,
        name,
        theme::regular(size::LABEL),
        colour,
    );
    if help.is_empty() {
        response
    } else {
        response.on_hover_text(help)
    }
}

/// Where the knob of a row that waits is while it is dragged, else the value it stands for.
fn held(ui: &Ui, knob: &str, value: f64) -> f64 {
    let id = rail_id(ui, knob);
    let dragged = ui.ctx().is_being_dragged(id) || ui.ctx().drag_stopped_id() == Some(id);
    ui.data_mut(|d| {
        if !dragged {
            d.remove::<f64>(id);
        }
        d.get_temp(id).unwrap_or(value)
    })
}

/// Remembers what a drag that goes on asks for; false where it is over.
fn keep(ui: &Ui, knob: &str, value: f64, phase: Phase) -> bool {
    if phase == Phase::Live {
        ui.data_mut(|d| d.insert_temp(rail_id(ui, knob), value));
        // No action is sent that would show it.
        ui.ctx().request_repaint();
    }
    phase == Phase::Live
}

fn rail_id(ui: &Ui, knob: &str) -> Id {
    ui.make_persistent_id(("rail", knob))
}

struct Knob<'a> {
    name: &'a str,
    value: f64,
}

/// One or two knobs on a rail; returns all values when one moved.
fn rail(
    ui: &mut Ui,
    rect: Rect,
    scale: &Scale,
    knobs: &[Knob],
    default: Option<f64>,
) -> Option<(Vec<f64>, Phase)> {
    let p = theme::palette(ui.style());
    let x_of = |value: f64| rect.left() + rect.width() * scale.share(value);
    let values: Vec<f64> = knobs.iter().map(|k| k.value).collect();
    // Each knob owns the rail up to the middle between them.
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
    draw(ui, p, rect, scale, &values, &responses, default);
    change
}

/// The value a pointer, a key or a screen reader asks for.
fn moved(
    ui: &Ui,
    response: &Response,
    id: Id,
    rect: Rect,
    scale: &Scale,
    value: f64,
) -> Option<(f64, Phase)> {
    focus::by_hand(ui, response, id);
    let place = id.with("share");
    let pointer = response.interact_pointer_pos();
    if response.drag_started() {
        let pointer = pointer?;
        let grabbed = (rect.left() + rect.width() * scale.share(value) - pointer.x).abs() <= KNOB;
        let share = if grabbed {
            scale.share(value)
        } else {
            (pointer.x - rect.left()) / rect.width()
        };
        ui.data_mut(|d| d.insert_temp(place, (share, !grabbed)));
        return (!grabbed).then(|| (scale.value(share), Phase::Live));
    }
    let (share, sent) = ui
        .data(|d| d.get_temp::<(f32, bool)>(place))
        .unwrap_or((scale.share(value), false));
    if response.dragged() {
        let fine = if ui.input(|i| i.modifiers.shift) {
            0.1
        } else {
            1.0
        };
        let by = response.drag_delta().x * fine / rect.width();
        let next = scale.value(share + by);
        let changed = next != value && by != 0.0;
        ui.data_mut(|d| d.insert_temp(place, (share + by, sent || changed)));
        return changed.then_some((next, Phase::Live));
    }
    if response.drag_stopped() {
        // A knob that was only touched is no edit.
        return sent.then_some((value, Phase::Done));
    }
    let stepped = |steps: f64| scale.stepped(value, steps);
    asked(ui, response, id, stepped).map(|value| (value, Phase::Done))
}

/// The value that an arrow key or a screen reader asks for; `stepped` gives the one so many presses
/// away.
///
/// Arrow keys go to what the hand touched last, until it touches something else.
pub(super) fn asked(
    ui: &Ui,
    response: &Response,
    id: Id,
    stepped: impl Fn(f64) -> f64,
) -> Option<f64> {
    focus::by_hand(ui, response, id);
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
        let asked = i.accesskit_action_requests(id, Action::SetValue);
        asked
            .filter_map(|request| match request.data {
                Some(ActionData::NumericValue(value)) => Some(value),
                _ => None,
            })
            .last()
    })
}

/// What a screen reader says: the name, and the value in its range.
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

fn draw(
    ui: &Ui,
    p: &Palette,
    rect: Rect,
    scale: &Scale,
    values: &[f64],
    responses: &[Response],
    default: Option<f64>,
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
    if let Some(default) = default {
        let x = x_of(default).round() + 0.5;
        painter.vline(x, y + 4.0..=y + 9.0, Stroke::new(1.0, p.t3));
    }
    match values {
        [low, high] => bar(x_of(*low), x_of(*high), p.accent),
        [value] => bar(rect.left(), x_of(*value), p.accent),
        _ => {}
    }
    for (value, response) in values.iter().zip(responses) {
        let centre: Pos2 = pos2(x_of(*value), y);
        let held = response.dragged() || response.hovered();
        painter.circle_filled(centre, if held { KNOB + 0.5 } else { KNOB }, p.knob);
        if response.has_focus() {
            painter.circle_stroke(centre, KNOB + 2.5, Stroke::new(1.0, p.accent));
        }
    }
}
