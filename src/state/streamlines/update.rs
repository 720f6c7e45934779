//! Streamlines of a layer: rules, selection, deletion, profiles and connections.

mod colours;
mod command_line;
pub(in crate::state) mod edits;
pub(in crate::state) mod export;
pub(in crate::state) mod follow;
pub(in crate::state) mod keep_rules;
pub(in crate::state) mod measure;
pub(in crate::state) mod save;
pub(in crate::state) mod select_manually;

use crate::state::State;
use crate::state::core::phase::Phase;
use crate::state::edit::edit;
use crate::state::streamlines::StreamlineSettings;
pub use crate::state::streamlines::update::command_line::{panel_command, selection_command};
pub use crate::state::streamlines::update::edits::keep_marked;
pub use crate::state::streamlines::update::follow::follow;
pub(in crate::state) use crate::state::streamlines::update::follow::{applied_rules, regions};

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
