//! Actions on reports.

use crate::state::session_report::{ReportAction, update};
use crate::state::{Effect, State};

/// Applies one action. `methods` gives the methods paragraph.
pub fn act(
    state: &mut State,
    action: ReportAction,
    methods: fn(&State) -> String,
    effects: &mut Vec<Effect>,
) {
    match action {
        ReportAction::Save(path) => update::save(state, path, methods, effects),
        ReportAction::Drawn { ticket, picture } => update::drawn(state, ticket, picture, effects),
        ReportAction::Cancelled { ticket } => update::cancelled(state, ticket),
    }
}
