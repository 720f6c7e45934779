//! Closing the window, and its title.

use crate::state::{Action, SessionAction, State, UnsavedAction};
use egui::{Context, ViewportCommand};

/// The action that follows when the window is asked to close. `sure`: the user has confirmed, or nothing is lost.
pub fn close_request(ctx: &Context, state: &State, sure: bool) -> Option<Action> {
    let requested = ctx.input(|i| i.viewport().close_requested());
    if !requested || sure || !state.asks_before_closing() {
        return None;
    }
    ctx.send_viewport_cmd(ViewportCommand::CancelClose);
    Some(Action::Session(SessionAction::CloseDocument(
        UnsavedAction::Quit,
    )))
}

/// The session's name, else the first file's: `sub-01.arcuate`.
pub fn name(state: &State) -> String {
    let file = state.runtime.sessions.file.as_ref();
    let file = file.and_then(|f| f.file_name());
    file.map_or(state.document.name.clone(), |f| {
        f.to_string_lossy().into_owned()
    })
}

/// `sub-01 – Arcuate`, preceded by a dot while there is unsaved work.
pub fn title(state: &State) -> String {
    if state.document.is_empty() {
        return "Arcuate".to_owned();
    }
    let dot = if state.is_dirty() { "• " } else { "" };
    format!("{dot}{} – Arcuate", name(state))
}
