//! What is drawn of a pane next, and how well: one piece of one pane at a time.

use super::draw_list::Lines;
use super::line_buffers::{LineKey, LineStore};
use super::pace::{Ask, Pace, Work, rests};
use super::scene::{Quality, Targets};
use super::stopwatch::Stopwatch;
use super::{List, ON_SCREEN, Pane, PaneId, Renderer};

/// How far a pane's picture is.
pub(super) struct Progress {
    /// What only the 3-D view needs.
    pub targets: Option<Targets>,
    pub stopwatch: Stopwatch,
    pub pace: Pace,
    /// When a piece of its better picture was drawn last.
    served: u64,
}

/// Slots that are drawn of streamlines, of at most so many of each.
pub(super) type Count = fn(&[Lines], &[LineKey], &LineStore, usize) -> usize;
pub(super) type NewPace = fn(bool, f64) -> Pace;

impl Renderer {
    /// What there is to draw of a pane, if anything; `owed`: textures of it that were not ready.
    pub(super) fn due(
        &self,
        id: PaneId,
        (lines, keys): (&[Lines], &[LineKey]),
        same: impl Fn(&List) -> bool,
        owed: bool,
    ) -> Option<Ask> {
        let pane = &self.panes[&id];
        let changed = !pane.list.as_ref().is_some_and(&same);
        match changed {
            true => Some(Ask::New),
            false if owed || self.stale(id, lines, keys, same) => Some(Ask::More),
            false => self.turn_of(pane).then_some(Ask::Better),
        }
    }

    /// Whether the next piece of a better picture is the pane's: once the hand rests, wherever it moved, and
    /// after the piece before, since what is on its way to the device cannot be called back.
    fn turn_of(&self, pane: &Pane) -> bool {
        let Some(own) = pane.progress.as_ref().filter(|p| p.pace.owes_better()) else {
            return false;
        };
        if !rests(self.touched) {
            return false;
        }
        let on_screen = self.panes.values().filter(|p| self.is_on_screen(p));
        on_screen.filter_map(|p| p.progress.as_ref()).all(|other| {
            let waits = other.pace.owes_better() && other.served < own.served;
            other.pace.rested() && !other.stopwatch.is_running() && !waits
        })
    }

    pub(super) fn is_on_screen(&self, pane: &Pane) -> bool {
        self.clock - pane.asked < ON_SCREEN
    }

    /// How to draw it: streamlines (of which `count` says how many slots are drawn of at most so many)
    /// and rows of volumes.
    pub(super) fn quality(
        &mut self,
        id: PaneId,
        (ask, moving): (Ask, bool),
        (lines, keys, rows): (&[Lines], &[LineKey], u32),
        (count, pace): (Count, NewPace),
    ) -> Quality {
        let (gpu, store) = (&self.gpu, &self.store);
        let best = Quality::best(gpu.software);
        let Some(pane) = self.panes.get_mut(&id) else {
            return best;
        };
        let progress = pane.progress.get_or_insert_with(|| Progress {
            targets: None,
            stopwatch: Stopwatch::new(gpu),
            pace: pace(gpu.software, self.patience_ms),
            served: 0,
        });
        if ask == Ask::Better {
            progress.served = self.clock;
        }
        let measured = progress.stopwatch.fresh();
        if self.loading.is_none() && !moving {
            return best;
        }
        let work = Work {
            slots: &|most| count(lines, keys, store, most),
            rows,
        };
        progress.pace.quality(measured, (moving, work), ask)
    }
}
