//! A paragraph for the methods section of a paper: the processing, with its numbers and citations.

use crate::data::text::counted;
use crate::state::alignment::methods::moves;
use crate::state::core::citations::Citations;
use crate::state::core::layer::{Content, Layer};
use crate::state::core::text::{count, file_name};
use crate::state::origin::FitRecipe;
use crate::state::origin::commands::live_curve_recipe;
use crate::state::streamlines::methods::{colours as line_colours, edits, groups};
use crate::state::tensors::methods::{distributions, fit, scans, shape_maps};
use crate::state::tensors::recipe::FitMask;
use crate::state::track::methods::curves;
use crate::state::{Document, State, density, filter, pathways, segment, track_noise};
use std::fmt::Write as _;
use std::sync::Arc;

/// The paragraph, followed by the works it cites; empty for an empty document.
pub fn methods(state: &State) -> String {
    let document = &state.document;
    if document.is_empty() {
        return String::new();
    }
    let mut citations = Citations::default();
    let mut text = scans(document);
    if let Some(tensors) = &document.tensors {
        let id_in_use = tensors.key.mask;
        let is_in_use = |layer: &&Arc<Layer>| match &layer.content {
            Content::Mask(mask) => Some(mask.id()) == id_in_use,
            _ => false,
        };
        let mask = id_in_use.map(|_| document.layers.iter().find(is_in_use));
        let mask = mask.map(|layer| match layer {
            Some(layer) => format!("the mask “{}”", layer.name),
            None => "a mask".to_owned(),
        });
        let verb = match document.origins.is_imported(tensors.origin) {
            true => "have a tensor",
            false => {
                text += &fit(&tensors.key.params, mask, &mut citations);
                "were fitted"
            }
        };
        let raised = match tensors.repaired {
            0 => "none of which had an eigenvalue below this limit".to_owned(),
            n => format!(
                "{} of which had an eigenvalue raised to this limit",
                count(n as u64)
            ),
        };
        let _ = write!(
            text,
            " {} {verb}, {raised}.",
            counted(tensors.fitted, "voxel")
        );
        text += &shape_maps(document, &mut citations);
    }
    text += &distributions(document, &mut citations);
    text += &moves(document, &mut citations);
    text += &file_changes(document);
    let live = state.runtime.track.live.value();
    let live = live.filter(|l| !l.coarse && !l.output.kept.is_empty());
    let live_recipe = live.map(live_curve_recipe);
    // A live result that was kept is described with its layer.
    let mut is_described = false;
    for layer in &document.layers {
        let tractogram = match &layer.content {
            Content::Tractogram(tractogram) => tractogram,
            Content::InPlace(lines) => {
                text += &read_in_place(layer, lines.file.len());
                continue;
            }
            _ => continue,
        };
        // An empty layer is not worth reporting.
        if tractogram.is_empty() {
            continue;
        }
        let edits = edits(document, layer, tractogram.len());
        let kept = match edits {
            None => format!("{} ", count(tractogram.len() as u64)),
            Some(_) => String::new(),
        };
        let Some(recipe) = document.curve_recipe(layer.id) else {
            let _ = write!(
                text,
                " The {kept}streamlines “{}” were read from a file.{}",
                layer.name,
                edits.unwrap_or_default()
            );
            text += &groups(document, layer, &mut citations);
            continue;
        };
        let _ = write!(text, " “{}”: ", layer.name);
        let basis = document.origins.fit(recipe.fit);
        let basis = basis.filter(|_| !document.origins.is_imported(recipe.fit));
        let other = |fit: &FitRecipe| fit.params != document.fit || document.tensors.is_none();
        if let Some(basis) = basis.filter(|fit| other(fit)) {
            let mask = match &basis.mask {
                FitMask::Automatic => None,
                FitMask::File(path) => Some(format!("the mask {}", file_name(path))),
                FitMask::Head => Some("the head's own mask".to_owned()),
            };
            text += fit(&basis.params, mask, &mut citations).trim_start();
            text += " ";
        }
        text += &curves(document, recipe, &kept, &mut citations);
        is_described |= edits.is_none() && Some(&**recipe) == live_recipe.as_ref();
        text += &edits.unwrap_or_default();
        text += &groups(document, layer, &mut citations);
    }
    if let Some((live, recipe)) = live.zip(live_recipe).filter(|_| !is_described) {
        // The controls may have changed since.
        let kept = format!("{} ", count(live.output.kept.len() as u64));
        text.push(' ');
        text += &curves(document, &recipe, &kept, &mut citations);
    }
    text += &track_noise::methods::repetitions(state, &mut citations);
    text += &density::methods::maps(document, &mut citations);
    text += &pathways::methods::pathways(state, &mut citations);
    text += &segment::methods::segments(state, &mut citations);
    text += &filter::methods::weights(state, &mut citations);
    text += &line_colours(state);
    let _ = write!(
        text,
        " Everything was computed with Arcuate {} ({}).",
        env!("CARGO_PKG_VERSION"),
        state.runtime.device.backend.label
    );
    let (mut all, works) = citations.numbered(text.trim());
    for (number, work) in (1..).zip(works) {
        all += if number == 1 { "\n\n" } else { "\n" };
        let _ = write!(all, "[{number}] {work}");
    }
    all + "\n"
}

/// The sentence about streamlines that stay in their file.
fn read_in_place(layer: &Layer, streamlines: usize) -> String {
    let (all, name) = (count(streamlines as u64), &layer.name);
    format!(" The {all} streamlines “{name}” were read from a file.")
}

/// Files that had changed since the session was saved.
fn file_changes(document: &Document) -> String {
    let layers = document.layers.iter();
    let changes = layers.filter_map(|l| Some((&l.name, l.file_change.as_ref()?)));
    changes
        .map(|(name, change)| format!(" Of “{name}”, {change}."))
        .collect()
}
