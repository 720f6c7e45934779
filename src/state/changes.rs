//! Differences between two documents: each parameter by the label and in the form of its panel. Undo and redo name
//! with it what they changed, and the way back of a surface what it changes.

pub(in crate::state) mod looks;

use crate::parameters::widened;
use crate::state::{Document, filter, pathways, regions, segment, streamlines, track};

/// A sentence names at most so many changes.
const NAMED: usize = 4;

/// The differences between two documents in words with values, the most important first.
pub fn between(before: &Document, after: &Document) -> Vec<String> {
    let mut all = regions::changes::changed(before, after);
    all.extend(track::changes::changed(before, after));
    all.extend(pathways::changes::changed(before, after));
    all.extend(segment::changes::segment(
        after,
        &before.segment,
        &after.segment,
    ));
    all.extend(filter::changes::changed(before, after));
    all.extend(streamlines::changes::changed(before, after));
    all.extend(looks::changed(before, after));
    if all.is_empty() {
        all.extend(regions::changes::came_or_went(before, after));
        all.extend(pathways::changes::came_or_went(before, after));
        all.extend(looks::came_or_went(before, after));
    }
    all
}

/// The first of them, and how many more there are.
pub fn listed(changes: &[String]) -> String {
    let text = changes[..changes.len().min(NAMED)].join(", ");
    match changes.len().saturating_sub(NAMED) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
