//! Schedules saving for recovery: every minute, and soon after each finished job.

pub mod look;

use super::rest::Rest;
use crate::state::{Action, SessionAction, State};
use egui::Context;
use look::Look;
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(60);
/// Jobs end many times a second while something is dragged.
const MINIMUM_INTERVAL: Duration = Duration::from_secs(3);

/// Time of the last save.
#[derive(Default)]
pub struct LastSave(Option<Instant>);

impl LastSave {
    /// The action if it is due; otherwise requests a frame for when it will be.
    pub fn due(&mut self, state: &State, ctx: &Context, now: Instant) -> Option<Action> {
        let saving = &state.runtime.sessions;
        let changed = state.is_dirty();
        // A recovery copy must be removed once everything is in a file.
        if !changed && saving.autosave.last.is_none() {
            return None;
        }
        let last = *self.0.get_or_insert(now);
        let soon = saving.autosave.is_due || !changed;
        let left = if soon { MINIMUM_INTERVAL } else { EVERY };
        let left = left.saturating_sub(now.duration_since(last));
        if !left.is_zero() {
            ctx.request_repaint_after(left);
            return None;
        }
        self.0 = Some(now);
        ctx.request_repaint_after(EVERY);
        Some(Action::Session(SessionAction::Autosave))
    }
}

/// Tasks that a window runs by the clock: those of recovery, and the history of viewpoints.
pub struct Timers {
    save: LastSave,
    look: Look,
    rest: Rest,
}

impl Timers {
    pub fn started() -> Self {
        Self {
            save: LastSave::default(),
            look: Look::started(Instant::now()),
            rest: Rest::default(),
        }
    }

    /// The actions that are due.
    pub fn due(&mut self, state: &State, ctx: &Context) -> Vec<Action> {
        let now = Instant::now();
        let look = self.look.due(state, ctx, now);
        let save = self.save.due(state, ctx, now);
        let rest = self.rest.due(state, ctx, now);
        save.into_iter().chain(look).chain(rest).collect()
    }
}
