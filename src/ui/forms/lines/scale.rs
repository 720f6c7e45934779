//! The scale of the values that the colours of streamlines show.

use super::{AvailableValues, LayerValues, Ranges};
use crate::data::appearance::ColourMap;
use crate::solvers::tractogram::line_values::LineStatistic;
use crate::state::core::display::{LineColouring, LineScale};
use crate::state::{Display, Phase};
use crate::ui::format::range_decimals;
use crate::ui::forms::display::{colour_maps, segment_row, segment_row_but};
use crate::ui::widgets::slider::{RangeRow, Scale, SliderRow};
use egui::Ui;
use std::ops::RangeInclusive;

/// The colour maps of streamlines in a layer.
const MAPS: [ColourMap; 8] = [
    ColourMap::Viridis,
    ColourMap::Magma,
    ColourMap::Cividis,
    ColourMap::Share,
    ColourMap::Cost,
    ColourMap::GreenRed,
    ColourMap::Diverging,
    ColourMap::Grey,
];

fn with(d: &Display, line_scale: LineScale) -> Display {
    Display {
        line_scale,
        ..d.clone()
    }
}

/// The scale of values: their colours, their range, and which of them are visible.
pub(super) fn show(
    ui: &mut Ui,
    d: &Display,
    has: &AvailableValues,
    set: &mut impl FnMut(Display, Phase),
) {
    let by = &d.line_colouring;
    if has.layer.as_ref().is_some_and(|l| l.per_point) {
        statistic(ui, d, set);
    }
    if d.has_map_of_window() {
        let maps = &ColourMap::FOR_MEASURES[..];
        let maps = if *by == LineColouring::Weight {
            &MAPS[..]
        } else {
            maps
        };
        if let Some(colour_map) = colour_maps(ui, maps, d.colour_map) {
            set(
                Display {
                    colour_map,
                    ..d.clone()
                },
                Phase::Done,
            );
        }
    } else if by.has_scale() && has.layer.is_some() {
        let now = d.line_scale.colour_map;
        if let Some(colour_map) = colour_maps(ui, &MAPS, now) {
            let scale = LineScale {
                colour_map,
                ..d.line_scale.clone()
            };
            set(with(d, scale), Phase::Done);
        }
    } else if has.measure {
        // Keeps the rows below in place.
        SliderRow::new("Colour map", 0.0, 0.0..=1.0)
            .help("Colours from low to high")
            .inactive(Some("of CM only"))
            .show(ui);
    }
    let Some(layer) = has.layer.as_ref().filter(|_| by.has_scale()) else {
        return;
    };
    // Without two different values there is nothing to scale.
    let Some(ranges) = layer.ranges.filter(|r| r.extent.0 < r.extent.1) else {
        return;
    };
    range(ui, d, (layer, ranges), set);
    logarithm(ui, d, ranges, set);
    limits(ui, d, (layer, ranges), set);
}

fn statistic(ui: &mut Ui, d: &Display, set: &mut impl FnMut(Display, Phase)) {
    let text = ["Points", "Mean", "Min", "Max"];
    let help = "Whether each point shows its own value, or each streamline the mean, the smallest or the largest of \
                its points";
    let all = LineStatistic::ALL;
    let now = all.iter().position(|s| *s == d.line_scale.statistic);
    if let Some(i) = segment_row(ui, "Value shown", help, &text, now.unwrap_or(0)) {
        let line_scale = LineScale {
            statistic: all[i],
            range: None,
            limits: None,
            ..d.line_scale.clone()
        };
        set(with(d, line_scale), Phase::Done);
    }
}

/// The scale of a slider over the values, in displayed units.
fn slider(layer: &LayerValues, ranges: Ranges, d: &Display) -> (f64, Scale) {
    let factor = f64::from(layer.unit.0);
    let wide = |(a, b): (f32, f32), (c, d): (f32, f32)| (a.min(c), b.max(d));
    let (low, high) = wide(ranges.extent, ranges.automatic);
    let logarithmic = d.line_scale.logarithmic && low > 0.0 && high > low;
    let [low, high] = [low, high].map(|v| f64::from(v) * factor);
    let range: RangeInclusive<f64> = low.min(high)..=high.max(low);
    let decimals = range_decimals([low, high]) as i32;
    let scale = Scale {
        range,
        logarithmic,
        decimals,
    };
    (factor, scale)
}

fn range(
    ui: &mut Ui,
    d: &Display,
    (layer, ranges): (&LayerValues, Ranges),
    set: &mut impl FnMut(Display, Phase),
) {
    let (factor, scale) = slider(layer, ranges, d);
    let shown = |(low, high): (f32, f32)| (f64::from(low) * factor, f64::from(high) * factor);
    let automatic = shown(ranges.automatic);
    let row = RangeRow {
        name: "Range",
        values: d.line_scale.range.map_or(automatic, shown),
        scale,
        default: &|| automatic,
        unit: layer.unit.1,
        help: "Values of the first and the last colour; double-click for the automatic range, from the 2nd to the 98th \
               percentile",
        limits: f64::MIN..=f64::MAX,
        waits: false,
    };
    if let Some((values, phase)) = row.show(ui) {
        let stored = ((values.0 / factor) as f32, (values.1 / factor) as f32);
        let line_scale = LineScale {
            range: (values != automatic).then_some(stored),
            ..d.line_scale.clone()
        };
        set(with(d, line_scale), phase);
    }
}

fn logarithm(ui: &mut Ui, d: &Display, ranges: Ranges, set: &mut impl FnMut(Display, Phase)) {
    let text = ["Linear", "Logarithmic"];
    let help = "Colours in steps of the value, or of its logarithm";
    let now = usize::from(d.line_scale.logarithmic);
    let lacks = (!ranges.has_positive).then_some("There are no positive values");
    let why = |i: usize| lacks.filter(|_| i == 1);
    if let Some(i) = segment_row_but(ui, "Scale", help, &text, now, why) {
        let line_scale = LineScale {
            logarithmic: i == 1,
            range: None,
            ..d.line_scale.clone()
        };
        set(with(d, line_scale), Phase::Done);
    }
}

fn limits(
    ui: &mut Ui,
    d: &Display,
    (layer, ranges): (&LayerValues, Ranges),
    set: &mut impl FnMut(Display, Phase),
) {
    let (factor, scale) = slider(layer, ranges, d);
    let all = (*scale.range.start(), *scale.range.end());
    let shown = |(low, high): (f32, f32)| (f64::from(low) * factor, f64::from(high) * factor);
    // A handle at the end of its slider hides nothing.
    let reach = (all.1 - all.0) * 1e-6 + 0.5 * 10f64.powi(-scale.decimals);
    let row = RangeRow {
        name: "Show only",
        values: d.line_scale.limits.map_or(all, shown),
        scale,
        default: &|| all,
        unit: layer.unit.1,
        help: "Points, or streamlines with one value each, are hidden if their value lies outside; double-click to show all",
        limits: f64::MIN..=f64::MAX,
        waits: false,
    };
    if let Some(((low, high), phase)) = row.show(ui) {
        let is_all = low <= all.0 + reach && high >= all.1 - reach;
        let stored = ((low / factor) as f32, (high / factor) as f32);
        let line_scale = LineScale {
            limits: (!is_all).then_some(stored),
            ..d.line_scale.clone()
        };
        set(with(d, line_scale), phase);
    }
}
