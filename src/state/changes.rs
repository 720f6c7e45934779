//! Differences between two documents: each parameter with the label and format of its panel. Undo and redo use it to
//! name what they changed, and the rewind of a surface to name what it changes.

pub(in crate::state) mod looks;

use crate::parameters::shortest_f64;
use crate::state::{
    Document, filter, pathways, regions, scene_look, segment, streamlines, tensors, track,
    track_noise,
};

/// Largest number of changes named in a sentence.
const NAMED: usize = 4;

/// The differences between two documents as text with values, the most important first.
pub fn between(before: &Document, after: &Document) -> Vec<String> {
    let mut all = regions::changes::changed(before, after);
    all.extend(track::changes::changed(before, after));
    all.extend(tensors::changes::changed(before, after));
    all.extend(pathways::changes::changed(before, after));
    all.extend(segment::changes::segment(
        after,
        &before.segment,
        &after.segment,
    ));
    all.extend(filter::changes::changed(before, after));
    all.extend(streamlines::changes::changed(before, after));
    all.extend(track_noise::changes::changed(before, after));
    all.extend(looks::changed(before, after));
    all.extend(scene_look::changes::changed(before, after));
    if all.is_empty() {
        all.extend(regions::changes::added_or_removed(before, after));
        all.extend(pathways::changes::added_or_removed(before, after));
        all.extend(looks::added_or_removed(before, after));
        all.extend(scene_look::changes::added_or_removed(before, after));
    }
    all
}

/// The first changes, and how many more there are.
pub fn listed(changes: &[String]) -> String {
    let text = changes[..changes.len().min(NAMED)].join(", ");
    match changes.len().saturating_sub(NAMED) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
