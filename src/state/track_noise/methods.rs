//! Repetitions of streamlines in the methods paragraph.

use crate::data::text::counted;
use crate::state::core::citations::{Citations, QUICK_BUNDLES};
use crate::state::core::layer::OriginId;
use crate::state::core::text::percentiles_text;
use crate::state::pathways::NOISE_ONLY;
use crate::state::track::methods::curves;
use crate::state::track_noise::jobs::TrackNoise;
use crate::state::{Content, State};
use std::fmt::Write as _;

/// Figures of the repetitions of the live streamlines, and layers of shares of repetitions.
pub(in crate::state) fn repetitions(state: &State, citations: &mut Citations) -> String {
    let document = &state.document;
    let live = state.current_track_noise();
    let mut text = live.map_or_else(String::new, |noise| figures(noise, citations));
    for layer in &document.layers {
        let Some(share) = document.streamline_share_recipe(layer.id) else {
            continue;
        };
        let Some(recipe) = document.origins.curves(share.curves) else {
            continue;
        };
        let Some(repetitions) = recipe.curves.repetitions() else {
            continue;
        };
        if !is_described(state, share.curves) {
            text.push(' ');
            text += &curves(document, recipe, "", citations);
        }
        let _ = write!(
            text,
            " “{}” gives the share of the {} with a streamline through each voxel.",
            layer.name,
            counted(repetitions, "repetition")
        );
    }
    text
}

/// Whether the text describes streamlines of this origin already: the live ones, or those of a layer.
fn is_described(state: &State, streamlines: OriginId) -> bool {
    let document = &state.document;
    let is_theirs = |origin: OriginId| document.origins.unedited(origin) == streamlines;
    let mut layers = document.layers.iter();
    let is_layer = layers.any(|layer| match &layer.content {
        Content::Tractogram(lines) => !lines.is_empty() && is_theirs(layer.origin),
        _ => false,
    });
    let live = state.runtime.track.live.value();
    let live = live.filter(|live| !live.coarse && !live.output.kept.is_empty());
    let recipe = document.origins.curves(streamlines);
    let is_live = live.is_some_and(|live| {
        let own = crate::state::origin::commands::live_curve_recipe(live);
        recipe.is_some_and(|recipe| **recipe == own)
    });
    is_layer || is_live
}

/// Figures of the repetitions of the live streamlines.
fn figures(noise: &TrackNoise, citations: &mut Citations) -> String {
    let all = noise.key.repetitions;
    let volumes = noise.levels.iter().map(|level| {
        let percent = 100.0 * level.share;
        format!("{:.2} ml in at least {percent:.0} %", level.volume_ml)
    });
    let volumes: Vec<String> = volumes.collect();
    let mut text = format!(
        " Streamlines passed {} of the {}",
        volumes.join(", "),
        counted(all, "repetition")
    );
    if let Some(range) = noise.offsets_mm {
        let _ = write!(
            text,
            "; the centre line of a repetition, its streamline with the least mean distance to the others {}, lay a median \
             of {:.1} mm",
            citations.cite(QUICK_BUNDLES),
            range.median
        );
        text += &percentiles_text(range, all, |mm| format!("{mm:.1} mm"));
        text += " from the middle one";
    }
    text + ". " + NOISE_ONLY + "."
}
