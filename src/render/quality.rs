//! How coarsely a view is drawn while it changes, so that interaction has no noticeable delay, and in how many pieces
//! at rest, so that new interaction need not wait.
//!
//! A piece consists of some of the slots of streamlines: each is drawn once, however many pieces there are. Of very
//! many streamlines some are shown first, then more, then all.

use super::scene::{FogQuality, Part, Quality};
use std::time::{Duration, Instant};

/// A picture that takes longer is late for a display of 120 Hz, ms: discrete graphics cards draw for such displays.
const FLUID_MS: f64 = 8.0;
/// An integrated card is fluid at 60 Hz. Coarser pictures would be of no use there, as twice as many would not be shown.
const FLUID_INTEGRATED_MS: f64 = 16.0;
/// A CPU achieves neither; twenty pictures a second still allow control.
const FLUID_SOFTWARE_MS: f64 = 45.0;
/// Share of the time that one slice may take on a CPU, because three slices move together. A graphics card draws each in
/// a fraction of the time.
const FLUID_SLICE_SOFTWARE: f64 = 0.5;
/// In coarser pictures nothing can be recognised: pixels drawn per pixel shown, along a side.
const COARSEST: f64 = 0.4;
const COARSEST_FOG: u32 = 3;
const MINIMUM_SLOTS: f64 = 40_000.0;
/// Longer pictures are drawn in pieces, ms, …
pub(super) const PATIENCE_MS: f64 = 250.0;
/// … this many of which take as long.
const PIECES: f64 = 4.0;
/// A CPU draws a picture for a file in pieces that take this many times as long: the window is redrawn after each,
/// which takes as long as a short piece.
const STILL: f64 = 8.0;
/// Every piece has an overhead.
const SMALLEST_PIECE: f64 = 4_096.0;
/// The first piece for a CPU: the time of its points is not yet known, and the user may wait for them. The next piece
/// may be four times as large.
const FIRST_PIECE: f64 = 60_000.0;
const FIRST_ROWS: f64 = 24.0;
const UNLIMITED: f64 = 1e12;
/// Slots of each tractogram's streamlines shown before all are; each level takes an eighth of the next.
const LEVELS: [usize; 2] = [1_000_000, 8_000_000];
/// Changes that follow each other within this time belong to one gesture.
const GESTURE: Duration = Duration::from_millis(200);

/// The kind of a measured picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Drawn {
    Rough,
    /// A part of a better picture, and its kind.
    Part {
        slots: usize,
        rows: u32,
        begins: bool,
        ends: bool,
    },
}

/// The request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RefinementRequest {
    /// A new list.
    New,
    /// The list drawn before, more of which has been loaded.
    More,
    /// The better picture of a list that was drawn roughly.
    Better,
    /// A new list, nothing of which is shown until all of it is drawn.
    Whole,
}

/// The work of a view.
pub(super) struct Work<'a> {
    /// Total slots, with at most this many per tractogram.
    pub slots: &'a dyn Fn(usize) -> usize,
    /// Rows of volumes; 0 without any.
    pub rows: u32,
}

/// Where a better picture continues.
#[derive(Clone, Copy)]
struct Next {
    max_slots: usize,
    slots: usize,
    rows: u32,
}

/// Piece sizes found for this work: the next frame of a turntable starts with them.
#[derive(Clone, Copy)]
pub(super) struct PieceSizes {
    /// Total slots and rows.
    work: (usize, u32),
    piece_slots: f64,
    piece_rows: f64,
}

/// Remaining time in which a gesture with an action at `then` may continue.
pub(super) fn rest_of(then: Option<Instant>) -> Duration {
    then.map_or(Duration::ZERO, |then| {
        GESTURE.saturating_sub(then.elapsed())
    })
}

/// A picture that takes longer than this many milliseconds on a device of this kind delays interaction: while a view
/// changes, it is drawn more coarsely.
pub fn fluid_ms(kind: wgpu::DeviceType) -> f64 {
    match kind {
        wgpu::DeviceType::DiscreteGpu => FLUID_MS,
        wgpu::DeviceType::Cpu => FLUID_SOFTWARE_MS,
        // A virtual card or one of an unknown kind may be an integrated one.
        _ => FLUID_INTEGRATED_MS,
    }
}

pub(super) struct QualityController {
    software: bool,
    fluid_ms: f64,
    patience_ms: f64,
    scale: f64,
    slots: f64,
    /// Pixels drawn per pixel of volumes, along a side.
    volume_coarseness: u32,
    /// The last picture contained volumes.
    has_volumes: bool,
    /// Approximate time of a whole picture that is not rough.
    full_ms: Option<f64>,
    /// Time that the pieces of the present one have taken so far.
    spent_ms: f64,
    /// Largest number of slots in a piece.
    piece_slots: f64,
    piece_rows: f64,
    changed: Option<Instant>,
    /// The last picture was rough, and no change that would redraw it is expected.
    has_pending_refinement: bool,
    /// The next piece of the better picture.
    next: Option<Next>,
    /// Fraction of the picture drawn, at its present level.
    share: f64,
    /// The picture is for a file.
    still: bool,
    /// Piece sizes of the previous picture, until the work of this one is known.
    piece_sizes: Option<PieceSizes>,
    work: (usize, u32),
}

impl QualityController {
    pub fn new(kind: wgpu::DeviceType, patience_ms: f64) -> Self {
        let software = kind == wgpu::DeviceType::Cpu;
        let on = |software_value: f64, value: f64| if software { software_value } else { value };
        Self {
            software,
            fluid_ms: fluid_ms(kind),
            patience_ms,
            scale: on(0.6, 1.0),
            slots: on(150_000.0, UNLIMITED),
            volume_coarseness: if software { 2 } else { 1 },
            has_volumes: false,
            full_ms: None,
            spent_ms: 0.0,
            piece_slots: on(FIRST_PIECE, UNLIMITED).min(Self::first_piece(patience_ms)),
            piece_rows: on(FIRST_ROWS, UNLIMITED),
            changed: None,
            has_pending_refinement: false,
            next: None,
            share: 0.0,
            still: false,
            piece_sizes: None,
            work: (0, 0),
        }
    }

    /// A controller for a picture that is written to a file; `known` comes from the previous one.
    pub fn for_file(mut self, known: Option<PieceSizes>) -> Self {
        self.still = self.software;
        self.piece_sizes = known.filter(|_| self.still);
        if self.still {
            self.patience_ms *= STILL;
        }
        self
    }

    /// See [`PieceSizes`].
    pub fn piece_sizes(&self) -> Option<PieceSizes> {
        self.still.then_some(PieceSizes {
            work: self.work,
            piece_slots: self.piece_slots,
            piece_rows: self.piece_rows,
        })
    }

    /// A controller for a slice, several of which are visible.
    pub fn of_slice(kind: wgpu::DeviceType, patience_ms: f64) -> Self {
        let mut pace = Self::new(kind, patience_ms);
        if pace.software {
            pace.fluid_ms *= FLUID_SLICE_SOFTWARE;
        }
        pace
    }

    /// If every picture counts as slow, nothing needs to be measured first.
    fn first_piece(patience_ms: f64) -> f64 {
        if patience_ms > 0.0 {
            UNLIMITED
        } else {
            SMALLEST_PIECE
        }
    }

    /// Whether a rough picture waits for its better one.
    pub fn has_pending_refinement(&self) -> bool {
        self.has_pending_refinement
    }

    /// Fraction of the present picture that is drawn, 0 to 1.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Remaining time for which interaction must pause.
    pub fn rest(&self) -> Duration {
        rest_of(self.changed)
    }

    /// How to draw. `measured`: time and kind of the last picture, if already known.
    pub fn quality(
        &mut self,
        measured: Option<(f64, Drawn)>,
        (moving, work): (bool, Work),
        ask: RefinementRequest,
    ) -> Quality {
        match measured {
            Some((ms, Drawn::Rough)) => self.adapt(ms),
            Some((ms, part)) => self.learn_speed(ms, part),
            None => {}
        }
        let foggy = work.rows > 0;
        if foggy != self.has_volumes {
            self.has_volumes = foggy;
            // The measurements do not apply to them.
            self.full_ms = None;
            if self.software {
                self.piece_rows = FIRST_ROWS;
            }
        }
        let now = Instant::now();
        let before = match ask {
            RefinementRequest::New => self.changed.replace(now),
            RefinementRequest::More | RefinementRequest::Better | RefinementRequest::Whole => None,
        };
        let in_gesture = before.is_some_and(|b| now - b < GESTURE);
        // Before any measurement a CPU counts as slow.
        let slow = self.full_ms.map_or(self.software, |ms| ms > self.fluid_ms);
        let all = (work.slots)(usize::MAX);
        self.work = (all, work.rows);
        let known = self
            .piece_sizes
            .take()
            .filter(|known| known.work == self.work);
        if let Some(known) = known {
            (self.piece_slots, self.piece_rows) = (known.piece_slots, known.piece_rows);
        }
        // A picture this long would delay even interaction that has only begun.
        let at_once = if self.still { 1.0 } else { PIECES };
        let heavy = all as f64 > at_once * self.piece_slots
            || f64::from(work.rows) > at_once * self.piece_rows;
        let roughly = heavy && !matches!(ask, RefinementRequest::Better | RefinementRequest::Whole);
        if (moving || in_gesture) && slow || roughly {
            self.has_pending_refinement = !moving;
            self.next = None;
            self.share = 0.0;
            return self.rough_quality();
        }
        if !heavy {
            self.has_pending_refinement = false;
            self.next = None;
            self.share = 1.0;
            return Quality::best(self.software);
        }
        let first = || {
            let level = LEVELS.into_iter().find(|&level| 2 * level < all);
            Next {
                max_slots: level
                    .filter(|_| ask != RefinementRequest::Whole)
                    .unwrap_or(usize::MAX),
                slots: 0,
                rows: 0,
            }
        };
        let from = self
            .next
            .take()
            .filter(|_| ask == RefinementRequest::Better);
        let from = from.unwrap_or_else(first);
        let total = (work.slots)(from.max_slots);
        let slots = from.slots.min(total)..total.min(from.slots + self.piece_slots as usize);
        // Volumes lie over all streamlines; a piece has one or the other, so that each is measured.
        let some = if slots.is_empty() {
            self.piece_rows as u32
        } else {
            0
        };
        let rows = from.rows..work.rows.min(from.rows.saturating_add(some));
        let begins = (from.slots, from.rows) == (0, 0);
        // Compositing follows the last of them: it takes as long as a piece, and is one.
        let nothing = slots.is_empty() && rows.is_empty();
        let ends = slots.end == total && rows.end == work.rows && (begins || nothing);
        let pieces = |slots: usize, rows: u32| {
            slots as f64 / self.piece_slots + f64::from(rows) / self.piece_rows
        };
        self.share = match ends {
            true => 1.0,
            false => pieces(slots.end, rows.end) / pieces(total, work.rows),
        };
        self.next = match (ends, from.max_slots) {
            (true, usize::MAX) => None,
            (true, current) => Some(Next {
                max_slots: LEVELS
                    .into_iter()
                    .find(|&level| level > current && 2 * level < all)
                    .unwrap_or(usize::MAX),
                slots: 0,
                rows: 0,
            }),
            (false, max_slots) => Some(Next {
                max_slots,
                slots: slots.end,
                rows: rows.end,
            }),
        };
        self.has_pending_refinement = self.next.is_some();
        Quality {
            max_slots: from.max_slots,
            part: Part {
                begins,
                ends,
                slots,
                rows,
            },
            ..Quality::best(self.software)
        }
    }

    fn rough_quality(&self) -> Quality {
        Quality {
            samples: 1,
            scale: self.scale,
            glass: 2,
            fog: FogQuality {
                per_pixel: self.volume_coarseness,
                step: 1.2,
                rays: 1,
            },
            max_slots: self.slots as usize,
            rough: true,
            part: Part::whole(),
        }
    }

    /// Learns the speed from a picture that was not rough, or from a piece of one.
    fn learn_speed(&mut self, ms: f64, drawn: Drawn) {
        let Drawn::Part {
            slots,
            rows,
            begins,
            ends,
        } = drawn
        else {
            return;
        };
        self.spent_ms = if begins { ms } else { self.spent_ms + ms };
        if ends {
            self.full_ms = Some(self.spent_ms);
        }
        // Compositing at the end says nothing about the time of its points.
        if ends && !begins {
            return;
        }
        let target = self.patience_ms / PIECES;
        let fits = |units: f64, known: f64| {
            let fresh = units * target / ms.max(1e-3);
            match ms > target {
                _ if units == 0.0 => known,
                true if known < UNLIMITED => fresh.clamp(known / 4.0, known),
                true => fresh,
                // It was as large as permitted.
                false if units > 0.5 * known => fresh.min(4.0 * known),
                false => known,
            }
        };
        self.piece_slots = fits(slots as f64, self.piece_slots).max(SMALLEST_PIECE);
        self.piece_rows = fits(f64::from(rows), self.piece_rows).max(1.0);
    }

    fn adapt(&mut self, ms: f64) {
        let fluid = self.fluid_ms;
        if ms > 1.15 * fluid {
            // Work grows with the pixels and with the points; both are reduced.
            let share = (fluid / ms).max(0.3);
            self.scale = (self.scale * share.powf(0.4)).max(COARSEST);
            // An unlimited number starts from one that any graphics card draws.
            self.slots = (self.slots.min(8e6) * share.powf(0.7)).max(MINIMUM_SLOTS);
            if self.has_volumes && ms > 1.5 * fluid {
                self.volume_coarseness = (self.volume_coarseness + 1).min(COARSEST_FOG);
            }
        } else if ms < 0.3 * fluid && self.volume_coarseness > 1 {
            self.volume_coarseness -= 1;
        } else if ms < 0.6 * fluid {
            self.scale = (self.scale * 1.12).min(1.0);
            self.slots = (self.slots * 1.25).min(UNLIMITED);
        }
    }
}
