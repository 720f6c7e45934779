//! Rows of a form from a table of parameters: a slider, a drop-down, a switch or a field for each row, with its help,
//! its default and the reason for it. A parameter without effect keeps its row, which says why.

use super::display::{segment_row, segment_row_but, select_row};
use crate::parameters::{Choice, Kind, Number, Param, Parameters, Scale, Switch, Text, Value, row};
use crate::state::Phase;
use crate::ui::widgets::button::checkbox;
use crate::ui::widgets::slider::{self, Change, Columns, RangeRow, SliderRow, label};
use crate::ui::widgets::typed::with_unit;
use crate::ui::widgets::{field, menu, notice};
use crate::ui::{format, help_pictures};
use egui::{Sense, Ui};
use std::ops::RangeInclusive;

/// Receives changed parameters.
pub type OnChange<'a, P> = dyn FnMut(P, Phase) + 'a;

/// A selection of rows of a table, by their keys. A test finds keys that are not in the table.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// These, in this order.
    Only(&'a [&'a str]),
    /// All but these, which have a row elsewhere, in the order of the table.
    AllBut(&'a [&'a str]),
}

/// Rows of parameters.
pub fn rows<P: Parameters>(
    ui: &mut Ui,
    params: &P,
    defaults: &P,
    rows: Rows,
    set: &mut OnChange<P>,
) {
    match rows {
        Rows::Only(keys) => {
            for row in keys.iter().filter_map(|key| row::<P>(key)) {
                row_of(ui, row, params, defaults, set);
            }
        }
        Rows::AllBut(placed) => {
            for row in P::TABLE.iter().filter(|row| !placed.contains(&row.key)) {
                row_of(ui, row, params, defaults, set);
            }
        }
    }
}

/// Settings of a slider that the table does not know.
#[derive(Clone, Default, Debug)]
pub struct Shown<'a> {
    /// Another name, since a form may have the same parameter for several things.
    pub name: Option<&'a str>,
    /// The slider's range, if data determine it.
    pub range: Option<RangeInclusive<f64>>,
    /// Limits of the field, if narrower than the table's.
    pub limits: Option<RangeInclusive<f64>>,
    /// Number of decimals, if data determine it.
    pub decimals: Option<i32>,
    /// A value to mark on the slider, with its meaning.
    pub mark: Option<(f64, &'a str)>,
    /// Why the parameter has no effect on these data.
    pub unused: Option<&'a str>,
    /// Another label for *off*.
    pub off: Option<&'a str>,
    /// Another unit, if data determine it, and the factor from the table's unit to it. Range, limits and mark are in it.
    pub unit: Option<(&'a str, f64)>,
    /// Where the default comes from, while there is none.
    pub no_default: Option<&'a str>,
    /// The value with which it is switched on, if data determine it; as the table stores it.
    pub on: Option<f64>,
}

/// The value with which the table switches a number on; `None` for other rows.
pub fn switched_on<P: Parameters>(key: &str, defaults: &P) -> Option<f64> {
    match &row::<P>(key)?.kind {
        Kind::Number(number) => Some(on_value(number, defaults)),
        _ => None,
    }
}

/// The stored value with which a number is switched on: its default, else the value of the table.
fn on_value<P>(number: &Number<P>, defaults: &P) -> f64 {
    (number.get)(defaults).unwrap_or(number.unit.stored(number.on_with()))
}

/// The slider of a number, with settings that the table does not know.
pub fn number<P: Parameters>(
    ui: &mut Ui,
    params: &P,
    defaults: &P,
    key: &str,
    shown: Shown,
    set: &mut OnChange<P>,
) {
    let Some(row) = row::<P>(key) else {
        return;
    };
    let Kind::Number(number) = &row.kind else {
        return;
    };
    let (unit, factor) = shown.unit.unwrap_or((number.unit.symbol(), 1.0));
    let decimals = shown.decimals.unwrap_or(i32::from(number.decimals));
    let default = match (shown.no_default, (number.get)(defaults)) {
        (Some(source), _) => source.to_owned(),
        (None, Some(stored)) => {
            rounded_text(number.unit.displayed(stored) * factor, decimals, unit)
        }
        (None, None) => text_of(row, &Value::Off),
    };
    let hint = hint_with(row, &default);
    if let Some(why) = (row.unused)(params).or(shown.unused) {
        return idle(ui, row, why, &hint);
    }
    let mut slider = slider(row, number, params, defaults, &hint).in_unit(unit, factor);
    if shown.no_default.is_some() {
        slider = slider.without_default();
    }
    if let Some(name) = shown.name {
        slider = slider.named(name);
    }
    if let Some(range) = shown.range {
        slider = slider.range(range);
    }
    if let Some(limits) = shown.limits {
        slider = slider.limits(limits);
    }
    slider = slider.decimals(decimals);
    if let Some((value, meaning)) = shown.mark {
        slider = slider.marked(Some(value), meaning);
    }
    if let Some(off) = shown.off.filter(|_| number.off.is_some()) {
        slider = slider.switch((number.get)(params).is_some(), off);
    }
    let on = shown.on.unwrap_or_else(|| on_value(number, defaults));
    let picture = help_pictures::of_row::<P>(key);
    let change = help_pictures::with(ui, picture, |ui| changed(ui, slider, number, factor, on));
    if let Some((value, phase)) = change {
        let mut changed = params.clone();
        row.set(&mut changed, &value);
        set(changed, phase);
    }
}

/// A row of choices side by side; `but` says why these data or other parameters rule one out.
pub fn choice<P: Parameters>(
    ui: &mut Ui,
    params: &P,
    defaults: &P,
    key: &str,
    but: impl Fn(usize) -> Option<&'static str>,
    set: &mut OnChange<P>,
) {
    let Some(row) = row::<P>(key) else {
        return;
    };
    let Kind::OneOf(choices) = &row.kind else {
        return;
    };
    let now = choices.iter().position(|choice| (choice.is)(params));
    let labels: Vec<&str> = choices.iter().map(|choice| choice.label).collect();
    let hint = hint(row, defaults);
    let chosen = help_pictures::with(ui, help_pictures::of_row::<P>(key), |ui| {
        segment_row_but(ui, row.label, &hint, &labels, now.unwrap_or(0), but)
    });
    if let Some(i) = chosen.filter(|i| Some(*i) != now) {
        let mut changed = params.clone();
        row.set(&mut changed, &Value::Choice(i));
        set(changed, Phase::Done);
    }
}

/// Two numbers on one scale, the limits of a quantity, in one row under another name. The upper one may be off: it then
/// stands at the end of the slider.
pub fn limits<P: Parameters>(
    ui: &mut Ui,
    params: &P,
    defaults: &P,
    (name, keys): (&str, [&str; 2]),
    typed: RangeInclusive<f64>,
    set: &mut OnChange<P>,
) {
    let [Some(lower), Some(upper)] = keys.map(row::<P>) else {
        return;
    };
    let (Kind::Number(low), Kind::Number(high)) = (&lower.kind, &upper.kind) else {
        return;
    };
    let end = high.soft.1;
    let ends = |params: &P| {
        let low = (low.get)(params).map_or(low.soft.0, |v| low.unit.displayed(v));
        (
            low,
            (high.get)(params).map_or(end, |v| high.unit.displayed(v)),
        )
    };
    let row = RangeRow {
        name,
        values: ends(params),
        scale: slider::Scale {
            range: low.soft.0..=end,
            logarithmic: low.scale == Scale::Logarithmic,
            decimals: i32::from(low.decimals),
        },
        default: &|| ends(defaults),
        unit: low.unit.symbol(),
        help: match lower.hint {
            "" => lower.help,
            hint => hint,
        },
        limits: typed,
        waits: P::APPLIES_AFTER_DRAG,
    };
    let picture = help_pictures::of_row::<P>(keys[0]);
    let Some(((from, to), phase)) = help_pictures::with(ui, picture, |ui| row.show(ui)) else {
        return;
    };
    let none = (high.get)(params).is_none() && to >= end;
    let mut changed = params.clone();
    lower.set(&mut changed, &Value::Number(low.unit.stored(from)));
    let to = match none {
        true => Value::Off,
        false => Value::Number(high.unit.stored(to)),
    };
    upper.set(&mut changed, &to);
    set(changed, phase);
}

/// The row of one parameter; `unused`: why it has no effect with these data.
pub fn single<P: Parameters>(
    ui: &mut Ui,
    params: &P,
    defaults: &P,
    key: &str,
    unused: Option<&str>,
    set: &mut OnChange<P>,
) {
    let Some(row) = row::<P>(key) else {
        return;
    };
    match unused {
        Some(why) => idle(ui, row, why, &hint(row, defaults)),
        None => row_of(ui, row, params, defaults, set),
    }
}

/// A row without effect, which says why.
fn idle<P>(ui: &mut Ui, row: &Param<P>, why: &str, hint: &str) {
    // The range has no meaning here.
    let row = SliderRow::new(row.label, 0.0, 0.0..=1.0).inactive(Some(why));
    row.help(hint).show(ui);
}

fn row_of<P: Parameters>(
    ui: &mut Ui,
    row: &'static Param<P>,
    params: &P,
    defaults: &P,
    set: &mut OnChange<P>,
) {
    let hint = hint(row, defaults);
    if let Some(why) = (row.unused)(params) {
        return idle(ui, row, why, &hint);
    }
    let picture = help_pictures::of_row::<P>(row.key);
    let done = help_pictures::with(ui, picture, |ui| match &row.kind {
        Kind::Number(number) => {
            let slider = slider(row, number, params, defaults, &hint);
            changed(ui, slider, number, 1.0, on_value(number, defaults))
        }
        Kind::OneOf(choices) => choice_row(ui, row, choices, params, &hint),
        Kind::Switch(switch) => switch_row(ui, row, switch, params, &hint),
        Kind::Text(text) => text_row(ui, row, text, params, &hint),
    });
    if let Some((value, phase)) = done {
        let mut changed = params.clone();
        row.set(&mut changed, &value);
        set(changed, phase);
    }
}

/// The hint of a row on hover: what it sets, the choices, the default and its reason.
fn hint<P: Parameters>(row: &Param<P>, defaults: &P) -> String {
    hint_with(row, &text_of(row, &row.value(defaults)))
}

/// [`hint`] with this text of the default.
fn hint_with<P: Parameters>(row: &Param<P>, default: &str) -> String {
    let mut text = match row.hint {
        "" => row.help,
        hint => hint,
    }
    .to_owned();
    if let Kind::OneOf(choices) = &row.kind {
        for choice in *choices {
            if !choice.help.is_empty() {
                text += &format!("\n{}: {}", choice.label, choice.help);
            }
        }
    }
    text += &format!("\nDefault: {default}");
    if !row.reason.is_empty() {
        text += &format!(" ({})", row.reason);
    }
    text
}

/// A value as displayed, with its unit.
fn text_of<P: Parameters>(row: &Param<P>, value: &Value) -> String {
    match (&row.kind, value) {
        (Kind::Number(number), Value::Number(stored)) => {
            let value = number.unit.displayed(*stored);
            rounded_text(value, i32::from(number.decimals), number.unit.symbol())
        }
        (Kind::Number(number), Value::Off) => number.off.unwrap_or("off").to_owned(),
        (Kind::Text(text), Value::Off) => text.off.unwrap_or("off").to_owned(),
        (Kind::OneOf(choices), Value::Choice(i)) => {
            choices.get(*i).map_or("", |choice| choice.label).to_owned()
        }
        (Kind::Switch(switch), Value::Switch(on)) => match switch.labels {
            Some(labels) => labels[usize::from(*on)].to_owned(),
            None => row.text(value),
        },
        _ => row.text(value),
    }
}

/// A number without trailing zeros, with its unit.
fn rounded_text(value: f64, decimals: i32, unit: &str) -> String {
    let rounded = format::fixed(value, decimals.max(0) as usize);
    let text = match rounded.contains('.') {
        true => rounded.trim_end_matches('0').trim_end_matches('.'),
        false => &rounded,
    };
    with_unit(text, unit)
}

fn slider<'a, P: Parameters>(
    row: &Param<P>,
    number: &Number<P>,
    params: &P,
    defaults: &P,
    hint: &'a str,
) -> SliderRow<'a> {
    let unit = number.unit;
    let default = (number.get)(defaults).map(|v| unit.displayed(v));
    let (low, high) = number.soft;
    // The value with which a number is switched on: its default, else the middle of the range.
    let value = (number.get)(params).map(|v| unit.displayed(v));
    let on_with = default.unwrap_or(number.on_with());
    let limits = number.hard;
    let min = limits.smallest(number.decimals);
    let mut slider = SliderRow::new(row.label, value.unwrap_or(on_with), low..=high)
        .decimals(i32::from(number.decimals))
        .limits(min..=limits.high)
        .unit(unit.symbol())
        .help(hint);
    if let Some(default) = default.or(number.on) {
        slider = slider.default(default);
    }
    if number.scale == Scale::Logarithmic {
        slider = slider.logarithmic();
    }
    if limits.whole {
        slider = slider.whole();
    }
    if P::APPLIES_AFTER_DRAG {
        slider = slider.waits();
    }
    if let Some(off) = number.off {
        slider = slider.switch(value.is_some(), off);
    }
    slider
}

/// The user's change of a number's slider, which shows values times `factor` and is switched on with the stored `on`.
fn changed<P: Parameters>(
    ui: &mut Ui,
    slider: SliderRow,
    number: &Number<P>,
    factor: f64,
    on: f64,
) -> Option<(Value, Phase)> {
    match slider.show(ui)? {
        Change::Value(value, phase) => {
            Some((Value::Number(number.unit.stored(value / factor)), phase))
        }
        Change::Toggled(true) => Some((Value::Number(on), Phase::Done)),
        Change::Toggled(false) => Some((Value::Off, Phase::Done)),
    }
}

/// Up to three short labels stand side by side; more are in a drop-down.
fn choice_row<P: Parameters>(
    ui: &mut Ui,
    row: &Param<P>,
    choices: &'static [Choice<P>],
    params: &P,
    hint: &str,
) -> Option<(Value, Phase)> {
    const SHORT: usize = 20;
    let now = choices.iter().position(|choice| (choice.is)(params));
    let length: usize = choices.iter().map(|c| c.label.chars().count()).sum();
    let chosen = if choices.len() <= 3 && length <= SHORT {
        let labels: Vec<&str> = choices.iter().map(|choice| choice.label).collect();
        segment_row(ui, row.label, hint, &labels, now.unwrap_or(0))
    } else {
        let shown = now.map_or("", |i| choices[i].label);
        select_row(ui, row.label, hint, shown, |ui| {
            let mut chosen = None;
            for (i, choice) in choices.iter().enumerate() {
                let item = menu::Item::new(choice.label).chosen(Some(i) == now);
                if item.show(ui) {
                    chosen = Some(i);
                }
            }
            chosen
        })
    };
    let chosen = chosen.filter(|i| Some(*i) != now)?;
    Some((Value::Choice(chosen), Phase::Done))
}

fn switch_row<P: Parameters>(
    ui: &mut Ui,
    row: &Param<P>,
    switch: &Switch<P>,
    params: &P,
    hint: &str,
) -> Option<(Value, Phase)> {
    if let Some(labels) = &switch.labels {
        let now = usize::from((switch.get)(params));
        let chosen = segment_row(ui, row.label, hint, labels, now);
        let chosen = chosen.filter(|i| *i != now)?;
        return Some((Value::Switch(chosen == 1), Phase::Done));
    }
    let columns = Columns::allocate(ui);
    let place = columns.label.union(columns.wide);
    let id = ui.make_persistent_id(("help", row.label));
    let on = checkbox(ui, place, row.label, (switch.get)(params));
    ui.interact(place, id, Sense::hover()).on_hover_text(hint);
    Some((Value::Switch(on?), Phase::Done))
}

fn text_row<P: Parameters>(
    ui: &mut Ui,
    row: &Param<P>,
    text: &Text<P>,
    params: &P,
    hint: &str,
) -> Option<(Value, Phase)> {
    let columns = Columns::allocate(ui);
    label(ui, columns.label, row.label, hint);
    let shown = (text.get)(params).unwrap_or_else(|| "off".to_owned());
    let place = match text.short {
        true => columns.field,
        false => columns.wide,
    };
    slider::help_over(ui, columns.wide, row.label, hint);
    let typed = field::value(ui, place, row.label, &shown, "")?;
    match row.parse(typed.trim()) {
        Ok(value) => Some((value, Phase::Done)),
        Err(error) => {
            notice::show_at(ui, place, error.to_string());
            None
        }
    }
}
