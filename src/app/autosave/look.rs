//! Schedules further searches for the work of a killed window: its lock can outlive the process by seconds.

use crate::state::{Action, SessionAction, State};
use egui::Context;
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(3);
/// A window that still holds its lock after this time is running.
const FOR: Duration = Duration::from_secs(60);

#[derive(Clone, Copy)]
pub struct Look {
    start: Instant,
    last: Instant,
}

impl Look {
    /// The first search was just requested.
    pub fn started(now: Instant) -> Self {
        let (start, last) = (now, now);
        Self { start, last }
    }

    /// The action if it is due; otherwise requests a frame for when it will be.
    pub fn due(&mut self, state: &State, ctx: &Context, now: Instant) -> Option<Action> {
        if !state.runtime.sessions.recovery.search_again || now.duration_since(self.start) > FOR {
            return None;
        }
        let left = EVERY.saturating_sub(now.duration_since(self.last));
        if !left.is_zero() {
            ctx.request_repaint_after(left);
            return None;
        }
        self.last = now;
        ctx.request_repaint_after(EVERY);
        Some(Action::Session(SessionAction::FindRecoverable))
    }
}
