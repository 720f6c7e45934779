//! Viewpoints: going back and forth through them, and keeping them under names. Undo concerns the document only and
//! changes none of them.

use super::view::forget_turn_status;
use crate::state::core::viewpoint::{NamedViewpoint, Viewpoint};
use crate::state::edit::changed;
use crate::state::{State, ViewpointAction};

/// Applies one action.
pub fn act(state: &mut State, action: ViewpointAction) {
    let now = state.view.viewpoint();
    match action {
        ViewpointAction::Remember => state.viewpoints.remember(now),
        ViewpointAction::Back => {
            let earlier = state.viewpoints.back(now);
            look_from(state, earlier, "There is no earlier view to go back to");
        }
        ViewpointAction::Forward => {
            let later = state.viewpoints.forward(now);
            look_from(state, later, "There is no later view to go forward to");
        }
        ViewpointAction::Save => save(state, now),
        ViewpointAction::Show(index) => {
            let named = state.view.named.get(index).map(|named| named.viewpoint);
            // So that one can go back.
            state.viewpoints.remember(now);
            look_from(state, named, "This view was deleted");
            state.viewpoints.remember(state.view.viewpoint());
        }
        ViewpointAction::Rename { index, name } => {
            if let Some(named) = state.view.named.get_mut(index) {
                named.name = name;
                changed(state);
            }
        }
        ViewpointAction::Delete(index) => {
            if index < state.view.named.len() {
                let name = state.view.named.remove(index).name;
                state.runtime.notices.status = format!("Deleted the view “{name}”").into();
                changed(state);
            }
        }
    }
}

fn look_from(state: &mut State, viewpoint: Option<Viewpoint>, otherwise: &str) {
    match viewpoint {
        Some(viewpoint) => {
            let before = state.view.turn;
            state.view.look_from(viewpoint, state.document.bounds());
            if state.view.turn != before {
                forget_turn_status(state);
            }
        }
        None => state.runtime.notices.status = otherwise.into(),
    }
}

fn save(state: &mut State, viewpoint: Viewpoint) {
    let is_free = |name: &String| state.view.named.iter().all(|named| named.name != *name);
    let mut names = (1..).map(|number| format!("View {number}"));
    let Some(name) = names.find(is_free) else {
        return;
    };
    state.runtime.notices.status = format!("Saved the view “{name}”; the session keeps it").into();
    state.view.named.push(NamedViewpoint { name, viewpoint });
    changed(state);
}
