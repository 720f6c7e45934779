//! Streamlines of a layer: rules, selection, deletion, profiles and connections.

pub(in crate::state) mod agreement;
pub(in crate::state) mod bundles;
pub(in crate::state) mod colours;
mod command_line;
pub(in crate::state) mod edits;
pub(in crate::state) mod export;
pub(in crate::state) mod follow;
pub(in crate::state) mod in_place;
pub(in crate::state) mod keep_rules;
pub(in crate::state) mod measure;
pub(in crate::state) mod save;
pub(in crate::state) mod select_manually;

use crate::state::State;
use crate::state::core::live::Live;
use crate::state::core::notices::Topic;
use crate::state::core::phase::Phase;
use crate::state::edit::edit;
use crate::state::streamlines::StreamlineSettings;
pub(in crate::state) use crate::state::streamlines::update::colours::colour_by_file;
pub use crate::state::streamlines::update::command_line::{panel_command, selection_command};
pub use crate::state::streamlines::update::edits::keep_marked;
pub use crate::state::streamlines::update::follow::follow;
pub(in crate::state) use crate::state::streamlines::update::follow::{applied_rules, regions};
use std::path::PathBuf;

/// The file in the folder of a truth that names the others, as in `io::truth`, which the state may not use.
const TRUTH_FILE: &str = "truth.json";

pub(in crate::state) fn set(
    state: &mut State,
    label: &str,
    phase: Phase,
    change: impl FnOnce(&mut StreamlineSettings),
) {
    edit(state, label, phase == Phase::Live, |d| {
        change(&mut d.streamlines)
    });
}

/// Chooses a truth: its folder, or the file there that names the others; their content may have changed.
pub(in crate::state) fn set_truth(state: &mut State, path: PathBuf) {
    let names_file = path.file_name().is_some_and(|name| name == TRUTH_FILE);
    let folder = match (names_file, path.parent()) {
        (true, Some(folder)) => folder.to_owned(),
        _ => path,
    };
    state.runtime.streamlines.scores = Live::default();
    state.runtime.streamlines.truth_remarks.clear();
    state.runtime.forget(Topic::Truth);
    set(state, "Truth", Phase::Done, |b| b.truth = Some(folder));
}
