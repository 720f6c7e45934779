//! Schedules drawing: one piece of one pane at a time, and its quality.

use super::line_buffers::{LineKey, LineStore};
use super::quality::{QualityController, RefinementRequest, Work, rest_of};
use super::scene::{Quality, Targets};
use super::stopwatch::Stopwatch;
use super::{ON_SCREEN, Pane, PaneContent, PaneId, Renderer};
use crate::scene::draw_list::Lines;
use std::time::Duration;

/// Progress of a pane's picture.
pub(super) struct Progress {
    /// Textures that only the 3-D view needs.
    pub targets: Option<Targets>,
    pub stopwatch: Stopwatch,
    pub pace: QualityController,
    /// When a piece of its better picture was last drawn.
    served: u64,
}

/// Function that counts the slots of streamlines drawn, with at most this many per tractogram.
pub(super) type Count = fn(&[Lines], &[LineKey], &LineStore, usize) -> usize;
pub(super) type NewPace = fn(wgpu::DeviceType, f64) -> QualityController;

impl Renderer {
    /// The next thing to draw for a pane, if any; `owed`: textures of it that were not ready.
    pub(super) fn next_work(
        &self,
        id: PaneId,
        (lines, keys): (&[Lines], &[LineKey]),
        same: impl Fn(&PaneContent) -> bool,
        owed: bool,
    ) -> Option<RefinementRequest> {
        let pane = &self.panes[&id];
        let changed = !pane.content.as_ref().is_some_and(&same);
        match changed {
            // One piece of one pane at a time, from the start.
            true if self.stills => {
                let loaded = self.loaded_slots(lines, keys).1;
                (loaded && self.is_idle()).then_some(RefinementRequest::Whole)
            }
            true => Some(RefinementRequest::New),
            false if owed || self.must_redraw(id, lines, keys, same) => {
                Some(RefinementRequest::More)
            }
            false => self.is_turn_of(pane).then_some(RefinementRequest::Better),
        }
    }

    /// Whether it is this pane's turn for the next piece of a better picture: once interaction pauses, whichever pane
    /// it was in, and after the previous piece, since work submitted to the device cannot be revoked.
    fn is_turn_of(&self, pane: &Pane) -> bool {
        let Some(own) = pane
            .progress
            .as_ref()
            .filter(|p| p.pace.has_pending_refinement())
        else {
            return false;
        };
        let waits = |p: &Progress| p.pace.has_pending_refinement() && p.served < own.served;
        self.is_idle() && (self.stills || !self.on_screen().any(waits))
    }

    /// Whether interaction pauses and the device has finished the previous piece. Pictures do not wait for animations
    /// on screen, which may never stop.
    fn is_idle(&self) -> bool {
        let rest = match self.stills {
            true => rest_of(self.touched),
            false => self.rest(),
        };
        if !rest.is_zero() {
            return false;
        }
        // Completed work is noticed only by polling; a lost device is reported by the next picture.
        let _ = self.gpu.device.poll(wgpu::PollType::Poll);
        !self.on_screen().any(|p| p.stopwatch.is_running())
    }

    /// Whether the user is rotating, scrolling or dragging a view: no piece of a picture is drawn meanwhile.
    pub fn is_touched(&self) -> bool {
        !rest_of(self.touched).is_zero()
    }

    /// Remaining time for which interaction must pause before anything is refined.
    fn rest(&self) -> Duration {
        let moved = self.on_screen().map(|p| p.pace.rest()).max();
        rest_of(self.touched).max(moved.unwrap_or_default())
    }

    fn on_screen(&self) -> impl Iterator<Item = &Progress> {
        let panes = self.panes.values().filter(|p| self.is_on_screen(p));
        panes.filter_map(|p| p.progress.as_ref())
    }

    /// When to request the next frame, if there is more to draw on screen: at once while data loads; for refinement,
    /// once interaction pauses.
    pub fn next_frame_in(&self) -> Option<Duration> {
        let mut panes = self.panes.values().filter(|p| self.is_on_screen(p));
        if self.textures.has_pending || panes.any(|p| !p.complete) {
            return Some(Duration::ZERO);
        }
        let owes = self.on_screen().any(|p| p.pace.has_pending_refinement());
        owes.then(|| self.rest())
    }

    /// Whether the panes requested from now on are for pictures: nothing of them is drawn before all their data is
    /// loaded, and then not roughly, but in pieces if it takes long.
    pub fn set_stills(&mut self, stills: bool) {
        self.stills = stills;
    }

    /// Fraction drawn of these panes, 0 to 1; panes never requested do not count.
    pub fn share(&self, ids: impl IntoIterator<Item = PaneId>) -> f64 {
        let panes: Vec<&Pane> = ids
            .into_iter()
            .filter_map(|id| self.panes.get(&id))
            .collect();
        let share = |p: &&Pane| match &p.progress {
            Some(progress) => progress.pace.share(),
            None => f64::from(u8::from(p.complete)),
        };
        panes.iter().map(share).sum::<f64>() / panes.len().max(1) as f64
    }

    /// Whether these panes are drawn completely, and the device has finished them.
    pub fn is_whole(&self, ids: impl IntoIterator<Item = PaneId>) -> bool {
        let whole = |p: &Pane| {
            let done = |p: &Progress| !p.pace.has_pending_refinement() && !p.stopwatch.is_running();
            // A 3-D view that the device cannot draw is complete without progress.
            p.complete && !p.rough && p.progress.as_ref().is_none_or(done)
        };
        ids.into_iter()
            .filter_map(|id| self.panes.get(&id))
            .all(whole)
    }

    /// Whether a visible pane has more to draw.
    pub fn is_busy(&self) -> bool {
        self.next_frame_in().is_some()
    }

    pub(super) fn is_on_screen(&self, pane: &Pane) -> bool {
        self.clock - pane.last_requested < ON_SCREEN
    }

    /// How to draw it: streamlines (`count` returns the slots drawn with at most a given number per tractogram) and
    /// rows of volumes.
    pub(super) fn quality(
        &mut self,
        id: PaneId,
        (ask, moving): (RefinementRequest, bool),
        (lines, keys, rows): (&[Lines], &[LineKey], u32),
        (count, pace): (Count, NewPace),
    ) -> Quality {
        let (gpu, store) = (&self.gpu, &self.store);
        let best = Quality::best(gpu.software);
        let Some(pane) = self.panes.get_mut(&id) else {
            return best;
        };
        let pace = || match (pace(gpu.kind, self.patience_ms), self.stills) {
            (pace, true) => pace.for_file(self.known),
            (pace, false) => pace,
        };
        let progress = pane.progress.get_or_insert_with(|| Progress {
            targets: None,
            stopwatch: Stopwatch::new(gpu),
            pace: pace(),
            served: 0,
        });
        if ask == RefinementRequest::Better {
            progress.served = self.clock;
        }
        let measured = progress.stopwatch.fresh();
        if self.loading.is_none() && !moving {
            return best;
        }
        let work = Work {
            slots: &|max_slots| count(lines, keys, store, max_slots),
            rows,
        };
        progress.pace.quality(measured, (moving, work), ask)
    }
}
