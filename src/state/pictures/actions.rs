//! Screenshots and turntables.

use crate::state::files::opening::exported;
use crate::state::files::types::RecentExports;
use crate::state::{Effect, PictureAction, State, pictures};

/// Applies one action.
pub fn act(state: &mut State, action: PictureAction, effects: &mut Vec<Effect>) {
    match action {
        PictureAction::Take(picture) => {
            exported(state, RecentExports::PICTURE, &picture.path, effects);
            pictures::update::start(state, picture, effects);
        }
        PictureAction::NextFrame => pictures::update::next_frame(state, effects),
        PictureAction::Copy(pane, look) => pictures::update::copy(state, pane, look, effects),
        PictureAction::Taken {
            ticket,
            path,
            writing,
        } => pictures::update::finish(state, ticket, &path, writing),
        PictureAction::Cancelled { ticket } => pictures::update::drawing_cancelled(state, ticket),
    }
}
