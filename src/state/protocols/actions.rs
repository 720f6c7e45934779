//! Actions on protocols.

use crate::state::core::notices::Severity;
use crate::state::files::jobs::SAVE;
use crate::state::protocols::ProtocolAction;
use crate::state::protocols::jobs::SaveProtocol;
use crate::state::{Effect, State};
use std::sync::Arc;

/// Applies one action.
pub fn act(state: &mut State, action: ProtocolAction, effects: &mut Vec<Effect>) {
    let ProtocolAction::Save(path) = action;
    if state.document.is_empty() {
        let sentence = "A protocol repeats results: open a scan or a session first";
        return state.runtime.notify(Severity::Information, sentence);
    }
    state.runtime.forget_failures(SAVE);
    effects.push(Effect::submit(SaveProtocol {
        path,
        state: Arc::new(state.clone()),
    }));
}
