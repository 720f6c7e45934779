//! Rows of a label, a slider with one or two handles, and a field.

use super::super::format;
use super::super::help_pictures;
use super::super::theme::{self, size, space};
use super::rail::{Knob, Mark, Ticks, rail, rail_id};
pub use super::scale::Scale;
use super::typed::{no_number, whole, within};
use super::{button, field, paint};
use crate::state::Phase;
use egui::{Rect, Response, Role, Sense, Ui, WidgetInfo, pos2, vec2};
use std::ops::RangeInclusive;

const LABEL: f32 = 116.0;
const FIELD: f32 = 74.0;
const GAP: f32 = 8.0;
/// Smallest length of a track: before it gets shorter, the unit is left out, which the hint includes as well.
const RAIL: f32 = 72.0;

/// Positions of label, track and field of a row, also used by other controls in such rows.
pub struct Columns {
    pub label: Rect,
    pub rail: Rect,
    pub field: Rect,
    /// Track and field together.
    pub wide: Rect,
}

impl Columns {
    /// Allocates a row across the whole width, inset on both sides.
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
    mark: Option<Mark<'a>>,
    unit: &'a str,
    help: &'a str,
    /// Range of typed values; the slider's range if `None`.
    limits: Option<RangeInclusive<f64>>,
    switch: Option<bool>,
    off: &'a str,
    waits: bool,
    integer: bool,
    inactive: Option<&'a str>,
}

/// The user's change of a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Change {
    Value(f64, Phase),
    /// The row's checkbox.
    Toggled(bool),
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
            mark: None,
            unit: "",
            help: "",
            limits: None,
            switch: None,
            off: "",
            waits: false,
            integer: false,
            inactive: None,
        }
    }

    /// Another range of the slider, which data may determine.
    pub fn range(mut self, range: RangeInclusive<f64>) -> Self {
        self.scale.range = range;
        self
    }

    /// Another unit and the factor of the values in it: converts value, range, limits and default.
    pub fn in_unit(mut self, unit: &'a str, factor: f64) -> Self {
        let converted = |range: &RangeInclusive<f64>| factor * range.start()..=factor * range.end();
        self.value *= factor;
        self.scale.range = converted(&self.scale.range);
        self.limits = self.limits.as_ref().map(converted);
        self.default = self.default.map(|value| value * factor);
        self.unit = unit;
        self
    }

    /// Without a tick at the default and a double click that sets it.
    pub fn without_default(mut self) -> Self {
        self.default = None;
        self
    }

    /// Another name: rows of one parameter may serve several purposes.
    pub fn named(mut self, name: &'a str) -> Self {
        self.name = name;
        self
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

    /// A value marked by a tick whose meaning is shown on hover; no tick if it is outside the slider's range.
    pub fn marked(mut self, value: Option<f64>, text: &'a str) -> Self {
        let on_rail = value.filter(|value| self.scale.range.contains(value));
        self.mark = on_rail.map(|value| Mark { value, text });
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

    /// Range of typed values beyond the slider's range.
    pub fn limits(mut self, limits: RangeInclusive<f64>) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Gives the row a checkbox; `off` is the label of the unchecked state.
    pub fn switch(mut self, on: bool, off: &'a str) -> Self {
        self.switch = Some(on);
        self.off = off;
        self
    }

    /// The value is used only at the end of a drag: until then the row itself stores the position of the handle.
    pub fn waits(mut self) -> Self {
        self.waits = true;
        self
    }

    /// A row that takes only whole numbers, dragged or typed.
    pub fn whole(mut self) -> Self {
        self.integer = true;
        self.scale.decimals = 0;
        self
    }

    /// The row keeps its place but cannot be set; it gives the reason.
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
            self.value = drag_value(ui, self.name, self.value);
        }
        let columns = Columns::allocate(ui);
        let hint = self.scale.hint(self.help, self.unit);
        let mut change = None;
        match self.switch {
            None => {
                if label(ui, columns.label, self.name, &hint).double_clicked() {
                    change = self.default.map(|v| Change::Value(v, Phase::Done));
                }
            }
            Some(on) => {
                if let Some(on) = button::checkbox(ui, columns.label, self.name, on) {
                    change = Some(Change::Toggled(on));
                }
                let id = ui.make_persistent_id(("help", self.name));
                let response = ui.interact(columns.label, id, Sense::hover());
                help_pictures::hint(response, &hint);
                if !on {
                    let p = theme::palette(ui.style());
                    let font = theme::regular(size::LABEL);
                    paint::right(ui.painter(), columns.wide, self.off, font, p.t3);
                    help_over(ui, columns.wide, self.name, &hint);
                    return change;
                }
            }
        }
        let knob = Knob {
            name: self.name,
            value: self.value,
        };
        let shown = self.scale.text(self.value);
        let (along, place, unit) = columns.split(ui, &shown, self.unit);
        let ticks = Ticks {
            default: self.default,
            mark: self.mark,
        };
        if let Some((value, phase)) = rail(ui, along, &self.scale, &[knob], ticks) {
            let goes_on = self.waits && store(ui, self.name, value[0], phase);
            if !goes_on && (!self.waits || value[0] != stands_for) {
                change = Some(Change::Value(value[0], phase));
            }
        }
        let typed = field::value(ui, place, self.name, &shown, unit);
        if let Some(typed) = typed {
            let limits = self.limits.unwrap_or(self.scale.range.clone());
            match format::parse(&typed) {
                Some(value) => {
                    let mut value = within(ui, place, self.name, value, &limits, self.unit);
                    if self.integer {
                        value = whole(ui, place, self.name, value);
                    }
                    if value != stands_for {
                        change = Some(Change::Value(value, Phase::Done));
                    }
                }
                None => no_number(ui, place, self.name, &typed, &shown),
            }
        }
        // Last: a mark on the rail has a hint of its own.
        help_over(ui, columns.wide, self.name, &hint);
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
        response.on_hover_text(match self.help {
            "" => format!("Not in use: {why}"),
            help => format!("{help}\nNot in use: {why}"),
        });
    }

    /// Like [`SliderRow::show`], for rows without a checkbox.
    pub fn value(self, ui: &mut Ui) -> Option<(f64, Phase)> {
        match self.show(ui)? {
            Change::Value(value, phase) => Some((value, phase)),
            Change::Toggled(_) => None,
        }
    }
}

/// A labelled slider with two handles and one field for both values.
pub struct RangeRow<'a> {
    pub name: &'a str,
    pub values: (f64, f64),
    pub scale: Scale,
    /// Called only on a double click: it may take a pass over the data.
    pub default: &'a dyn Fn() -> (f64, f64),
    pub unit: &'a str,
    pub help: &'a str,
    pub limits: RangeInclusive<f64>,
    /// See [`SliderRow::waits`].
    pub waits: bool,
}

impl RangeRow<'_> {
    pub fn show(mut self, ui: &mut Ui) -> Option<((f64, f64), Phase)> {
        let columns = Columns::allocate(ui);
        let mut change = None;
        let (low, high) = (
            format!("{}, low", self.name),
            format!("{}, high", self.name),
        );
        let stands_for = self.values;
        if self.waits {
            self.values = (
                drag_value(ui, &low, self.values.0),
                drag_value(ui, &high, self.values.1),
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
        let (along, place, unit) = columns.split(ui, &shown, self.unit);
        let hint = self.scale.hint(self.help, self.unit);
        // A unit that does not fit in the field is shown next to the name.
        let title = match unit.is_empty() && !self.unit.is_empty() {
            true => format!("{}, {}", self.name, self.unit),
            false => self.name.to_owned(),
        };
        if label_as(ui, columns.label, (self.name, &title), &hint).double_clicked() {
            change = Some(((self.default)(), Phase::Done));
        }
        if let Some((values, phase)) = rail(ui, along, &self.scale, &knobs, Ticks::default()) {
            let ends = [(&low, values[0]), (&high, values[1])];
            let goes_on = self.waits && ends.map(|(name, v)| store(ui, name, v, phase))[0];
            let values = (values[0], values[1]);
            if !goes_on && (!self.waits || values != stands_for) {
                change = Some((values, phase));
            }
        }
        let typed = field::value(ui, place, self.name, &shown, unit);
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
        help_over(ui, columns.wide, self.name, &hint);
        change
    }
}

impl Columns {
    /// The track and the field: long numbers need more than the common field, and the track shrinks in steps, so that
    /// it does not shift while a handle moves.
    fn split<'a>(&self, ui: &Ui, shown: &str, unit: &'a str) -> (Rect, Rect, &'a str) {
        let (along, place) = self.split_for(ui, &format!("{shown} {unit}"));
        if along.width() >= RAIL || unit.is_empty() {
            return (along, place, unit);
        }
        let (along, place) = self.split_for(ui, shown);
        (along, place, "")
    }

    fn split_for(&self, ui: &Ui, text: &str) -> (Rect, Rect) {
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
    label_as(ui, rect, (name, name), help)
}

/// Shows the help of a row over its controls, too, except where one of them has a hint of its own.
pub fn help_over(ui: &mut Ui, rect: Rect, name: &str, help: &str) {
    if !help.is_empty() {
        let id = ui.make_persistent_id(("help over", name));
        help_pictures::hint(ui.interact(rect, id, Sense::hover()), help);
    }
}

/// [`label`] with a text that differs from its name.
fn label_as(ui: &mut Ui, rect: Rect, (name, text): (&str, &str), help: &str) -> Response {
    let p = theme::palette(ui.style());
    let response = ui.interact(rect, ui.make_persistent_id(("label", name)), Sense::CLICK);
    let colour = if response.hovered() { p.t1 } else { p.t2 };
    paint::left(
        ui.painter(),
        rect,
        text,
        theme::regular(size::LABEL),
        colour,
    );
    if help.is_empty() {
        response
    } else {
        help_pictures::hint(response, help)
    }
}

/// Position of a waiting row's handle while it is dragged, else its value.
fn drag_value(ui: &Ui, knob: &str, value: f64) -> f64 {
    let id = rail_id(ui, knob);
    let dragged = ui.ctx().is_being_dragged(id) || ui.ctx().drag_stopped_id() == Some(id);
    ui.data_mut(|d| {
        if !dragged {
            d.remove::<f64>(id);
        }
        d.get_temp(id).unwrap_or(value)
    })
}

/// Stores the value of an ongoing drag; returns false once it is over.
fn store(ui: &Ui, knob: &str, value: f64, phase: Phase) -> bool {
    if phase == Phase::Live {
        ui.data_mut(|d| d.insert_temp(rail_id(ui, knob), value));
        // No action is sent that would cause a repaint.
        ui.ctx().request_repaint();
    }
    phase == Phase::Live
}
