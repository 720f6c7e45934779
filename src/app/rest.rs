//! The history of viewpoints records those at which the views rest.

use crate::state::{Action, State, ViewAction, Viewpoint, ViewpointAction};
use egui::Context;
use std::time::{Duration, Instant};

/// A viewpoint that has not changed for this long is one at which the views rest.
const REST: Duration = Duration::from_millis(400);

/// The viewpoint of the last frame, and since when it has been the same.
#[derive(Default)]
pub struct Rest(Option<(Viewpoint, Instant)>);

impl Rest {
    /// The action if it is due; otherwise requests a frame for when it will be.
    pub fn due(&mut self, state: &State, ctx: &Context, now: Instant) -> Option<Action> {
        let viewpoint = state.view.viewpoint();
        // A pause in a drag is no rest.
        let is_dragged = ctx.input(|i| i.pointer.any_down());
        if state.document.is_empty() || is_dragged || state.viewpoints.last() == Some(&viewpoint) {
            self.0 = None;
            return None;
        }
        let since = match self.0 {
            Some((before, since)) if before == viewpoint => since,
            _ => now,
        };
        self.0 = Some((viewpoint, since));
        let left = REST.saturating_sub(now.duration_since(since));
        if !left.is_zero() {
            ctx.request_repaint_after(left);
            return None;
        }
        Some(Action::View(ViewAction::Viewpoint(
            ViewpointAction::Remember,
        )))
    }
}
