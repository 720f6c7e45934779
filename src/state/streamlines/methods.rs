//! The methods text of edited streamlines.

use crate::solvers::tractogram::selection::SelectionOptions;
use crate::state::core::layer::Layer;
use crate::state::core::text::count;
use crate::state::{CommandLine, Document};

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
