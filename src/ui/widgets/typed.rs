//! Typed numbers: brought into the permitted range, with a notice next to the field.

use super::super::format;
use super::notice;
use egui::{Rect, Ui};
use std::ops::RangeInclusive;

/// A number with its unit, as a field shows it.
pub fn with_unit(number: &str, unit: &str) -> String {
    match unit {
        "°" => format!("{number}°"),
        "" => number.to_owned(),
        _ => format::with_unit(number, unit),
    }
}

/// A typed value brought within the limits, with a notice if it changed.
pub fn within(
    ui: &Ui,
    place: Rect,
    name: &str,
    value: f64,
    limits: &RangeInclusive<f64>,
    unit: &str,
) -> f64 {
    let (low, high) = (*limits.start(), *limits.end());
    let taken = value.clamp(low, high);
    if taken != value {
        let bound = if value < low { "least" } else { "most" };
        let decimals = if taken.fract() == 0.0 { 0 } else { 2 };
        let shown = with_unit(&format::fixed(taken, decimals), unit);
        notice::show_at(ui, place, format!("{name}: {shown} is the {bound}"));
    }
    taken
}

/// A typed value as a whole number, with a notice if it was not one.
pub fn whole(ui: &Ui, place: Rect, name: &str, value: f64) -> f64 {
    let taken = value.round();
    if taken != value {
        let number = format::fixed(taken, 0);
        let text = format!("{name} takes only whole numbers: {number} was used");
        notice::show_at(ui, place, text);
    }
    taken
}

/// A notice that the text is not a number; the value stays.
pub fn no_number(ui: &Ui, place: Rect, name: &str, typed: &str, kept: &str) {
    let typed: String = typed.trim().chars().take(20).collect();
    notice::show_at(
        ui,
        place,
        format!("{name}: “{typed}” is not a number, {kept} stays"),
    );
}
