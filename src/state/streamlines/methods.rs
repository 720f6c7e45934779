//! The methods text of edited streamlines.

use crate::solvers::tractogram::line_values::LineStatistic;
use crate::solvers::tractogram::selection::SelectionOptions;
use crate::state::core::display::LineColouring;
use crate::state::core::layer::Layer;
use crate::state::core::text::count;
use crate::state::{CommandLine, Document, State};
use std::fmt::Write as _;

/// Edits of a layer's streamlines, step by step, and the number that remained.
pub(in crate::state) fn edits(document: &Document, layer: &Layer, left: usize) -> Option<String> {
    let CommandLine::Edited { steps, .. } = document.command_line(layer) else {
        return None;
    };
    let described = |step: &Option<SelectionOptions>| match step {
        Some(selected) => format!("selected by the rules “{}”", selected.options.trim()),
        None => "chosen by hand".to_owned(),
    };
    let steps: Vec<String> = steps.iter().map(described).collect();
    Some(format!(
        " Of these, {} were kept, {}.",
        count(left as u64),
        steps.join(", then ")
    ))
}

/// The values that the colours of visible streamlines show, with their scales.
pub(in crate::state) fn colours(state: &State) -> String {
    let layers = state.document.layers.iter();
    let shown = layers.filter(|layer| layer.display.visible);
    let sentences = shown.filter_map(|layer| colours_of_layer(state, layer));
    sentences.collect()
}

fn colours_of_layer(state: &State, layer: &Layer) -> Option<String> {
    let colours = state.line_colours(layer)?;
    let scale = &layer.display.line_scale;
    let (factor, unit) = state.line_unit(&colours.colouring);
    let ranges = colours.ranges?;
    let is_interpolated = matches!(colours.colouring, LineColouring::Image(_));
    if matches!(
        colours.colouring,
        LineColouring::Length | LineColouring::Fa | LineColouring::MeasureAlong
    ) {
        // Their scales are chosen otherwise, and their names say what they are.
        return None;
    }
    let positive = ranges.positive.filter(|_| scale.logarithmic);
    let automatic = positive.unwrap_or(ranges.automatic);
    let text = |(low, high): (f32, f32)| {
        let number = |v: f32| {
            let v = f64::from(v * factor);
            // Three significant digits.
            let digits = (2.0 - v.abs().log10().floor()).clamp(0.0, 8.0);
            let power = 10f64.powf(if v == 0.0 { 0.0 } else { digits });
            (v * power).round() / power
        };
        let unit = if unit.is_empty() {
            String::new()
        } else {
            format!(" {unit}")
        };
        format!("{} to {}{unit}", number(low), number(high))
    };
    let statistic = match colours.statistic {
        LineStatistic::EachPoint => "",
        LineStatistic::Mean => " (mean over each streamline)",
        LineStatistic::Minimum => " (smallest of each streamline)",
        LineStatistic::Maximum => " (largest of each streamline)",
    };
    let mut sentence = format!(
        " The colours of “{}” show “{}”{statistic}{} from {}{}",
        layer.name,
        state.document.colouring_name(&colours.colouring),
        if is_interpolated {
            ", interpolated linearly,"
        } else {
            ""
        },
        text(scale.range.unwrap_or(automatic)),
        if scale.logarithmic {
            " on a logarithmic scale"
        } else {
            ""
        },
    );
    if let Some(limits) = scale.limits {
        let what = match colours.tractogram.per_point.len() > layer_points(layer) {
            true => "points",
            false => "streamlines",
        };
        let _ = write!(
            sentence,
            "; {what} with values outside {} are hidden",
            text(limits)
        );
    }
    Some(sentence + ".")
}

/// The number of values per point that the streamlines of a layer have of their own.
fn layer_points(layer: &Layer) -> usize {
    super::streamlines_of(layer).map_or(0, |lines| lines.per_point.len())
}
