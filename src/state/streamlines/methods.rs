//! The methods text of edited streamlines.

use crate::data::text::file_name;
use crate::solvers::bundles::{self, RecognitionParams};
use crate::solvers::tractogram::line_values::LineStatistic;
use crate::solvers::tractogram::selection::{Division, Edit};
use crate::state::command_line::StepCommand;
use crate::state::core::citations::{Citations, QUICK_BUNDLES};
use crate::state::core::display::LineColouring;
use crate::state::core::layer::Layer;
use crate::state::core::settings::other_settings;
use crate::state::core::text::{count, counted};
use crate::state::{CommandLine, Document, State};
use std::fmt::Write as _;
use std::path::Path;

/// Edits of a layer's streamlines, step by step, and the number that remained.
pub(in crate::state) fn edits(document: &Document, layer: &Layer, left: usize) -> Option<String> {
    let CommandLine::Edited { steps, .. } = document.command_line(layer) else {
        return None;
    };
    let described = |(edit, step): (&&Edit, &Option<StepCommand>)| match step {
        _ if !edit.selects() => None,
        Some(StepCommand::Select(selected)) => Some(format!(
            "selected by the rules “{}”",
            selected.options.trim()
        )),
        Some(StepCommand::Group(_)) | None => Some("chosen by hand".to_owned()),
    };
    let edits = document.edits(layer.id);
    let steps: Vec<String> = edits.iter().zip(&steps).filter_map(described).collect();
    if steps.is_empty() {
        return None;
    }
    Some(format!(
        " Of these, {} were kept, {}.",
        count(left as u64),
        steps.join(", then ")
    ))
}

/// The groups into which a layer's streamlines were divided last.
pub(in crate::state) fn groups(
    document: &Document,
    layer: &Layer,
    citations: &mut Citations,
) -> String {
    let Some(lines) = super::streamlines_of(layer).filter(|lines| !lines.groups.is_empty()) else {
        return String::new();
    };
    let count = lines.groups.len();
    let edits = document.edits(layer.id);
    match edits.iter().rev().find(|edit| !edit.selects()) {
        Some(Edit::Cluster(params)) => clusters(count, params, citations),
        Some(Edit::Group(groups)) => match &groups.division {
            Division::Clusters(params) => clusters(count, params, citations),
            Division::Labels {
                map,
                recipe,
                params,
                ..
            } => recognised(count, map, recipe.as_deref(), params, citations),
        },
        _ => String::new(),
    }
}

/// The rows that the sentence about clusters states.
const STATED: &[&str] = &["threshold", "points", "min-size"];

fn clusters(count: usize, params: &bundles::Params, citations: &mut Citations) -> String {
    let size = match params.min_size {
        0 | 1 => String::new(),
        least => format!(" of at least {least} streamlines"),
    };
    format!(
        " They were divided into {}{size} by QuickBundles {}, with a threshold of {} mm on the mean distance of {} \
         corresponding points (MDF).{}",
        counted(count, "cluster"),
        citations.cite(QUICK_BUNDLES),
        params.threshold_mm,
        params.points,
        other_settings(params, &bundles::Params::defaults(), STATED),
    )
}

/// Bundles that were recognised by labels.
fn recognised(
    count: usize,
    map: &str,
    recipe: Option<&Path>,
    params: &RecognitionParams,
    citations: &mut Citations,
) -> String {
    let recipe = match recipe {
        Some(path) => format!("the recipe “{}”", file_name(path)),
        None => "the built-in recipe".to_owned(),
    };
    format!(
        " By the labels of “{map}” that they pass and end in {}, {} {} recognised with {recipe}.{}",
        citations.cite(QUERIES),
        counted(count, "bundle"),
        if count == 1 { "was" } else { "were" },
        other_settings(params, &RecognitionParams::defaults(), &[]),
    )
}

const QUERIES: &str = "Wassermann D, Makris N, Rathi Y, et al. (2016). The white matter query language: a novel approach \
                       for describing human white matter anatomy. Brain Structure and Function 221:4705–4721.";

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
        LineColouring::Length
            | LineColouring::Fa
            | LineColouring::MeasureAlong
            | LineColouring::Weight
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
