//! The parts of [`App`](super::App), by what they are for.

use super::{autosave, events, pictures, start};
use crate::compute::Backend;
use crate::jobs::Jobs;
use crate::render::Faults;
use crate::state::State;
use crate::state::crosshair_link::jobs::{EndLink, LINK};
use crate::state::sessions::jobs::{RECOVERY, RemoveRecoveryCopy};
use crate::ui::Memory;
use crate::ui::views::Views;
use egui::Context;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait of a frame for results.
const QUICK: Duration = Duration::from_millis(8);

/// State of widgets and views between frames.
pub(super) struct Interface {
    pub memory: Memory,
    pub views: Views,
}

impl Interface {
    pub fn new() -> Self {
        Self {
            memory: start::memory(),
            views: Views::default(),
        }
    }
}

/// Work that the window starts, and whose results it collects.
pub(super) struct Work {
    pub jobs: Jobs<State>,
    pub pictures: pictures::Pictures,
    pub timers: autosave::Timers,
}

impl Work {
    pub fn new(backend: Backend, ctx: &Context) -> Self {
        let waker = ctx.clone();
        Self {
            jobs: Jobs::new(backend, Arc::new(move || waker.request_repaint())),
            pictures: pictures::Pictures::default(),
            timers: autosave::Timers::started(),
        }
    }

    /// Waits for results that come within a few milliseconds if the frame has events that changed the state: its picture
    /// then shows them, and does not slow them down.
    pub fn wait_for_quick(&self, status: &mut WindowStatus) {
        if std::mem::take(&mut status.control_moved) {
            self.jobs.wait_for_quick(QUICK);
        }
    }

    /// Requests the removal of what must not remain after a window that was closed: its recovery copy, and its position in
    /// the folder of linked windows.
    pub fn leave_nothing(&mut self, state: &State) {
        if state.crosshair_link.is_on {
            self.jobs.cancel(LINK);
            self.jobs.submit(EndLink);
        }
        self.jobs.cancel(RECOVERY);
        self.jobs.submit(RemoveRecoveryCopy);
    }
}

/// Exchange with the desktop.
#[derive(Default)]
pub(super) struct WindowStatus {
    pub events: events::Queue,
    pub title: String,
    /// No more questions are asked.
    pub closing: bool,
    /// The recent files have changed and are to be stored.
    pub recent_changed: bool,
    /// The frame that is laid out has events that changed the state, so that results may follow.
    pub control_moved: bool,
    /// Errors of the device that draws the window.
    pub faults: Faults,
}
