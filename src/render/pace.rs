//! How coarse the 3-D view is drawn while it changes, so that the hand feels no delay, and in how
//! many pieces at rest, so that a hand that moves again is not kept waiting.

use super::scene::{FogQuality, Quality};
use std::time::{Duration, Instant};

/// A picture that takes longer is felt, ms. A processor cannot keep it; twenty pictures a second
/// can still be steered.
const FLUID_MS: f64 = 16.0;
const FLUID_SOFTWARE_MS: f64 = 45.0;
/// Coarser than this nothing can be recognised: pixels drawn per pixel shown, along a side.
const COARSEST: f64 = 0.4;
const COARSEST_FOG: u32 = 3;
const FEWEST_SLOTS: f64 = 40_000.0;
/// What takes longer is drawn in pieces of about half as much, ms.
pub(super) const PATIENCE_MS: f64 = 250.0;
/// Every piece handles all points once: more pieces would cost more than they spare.
const MOST_PIECES: u32 = 12;
/// Changes that follow each other within this belong to one gesture.
const GESTURE: Duration = Duration::from_millis(200);

/// What a measured picture was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Drawn {
    Rough,
    Whole,
    /// One of so many pieces.
    Piece(u32),
}

/// What is to be drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ask {
    /// A new list.
    New,
    /// The same, of which more has been loaded.
    More,
    /// The better picture of a list that was drawn roughly.
    Better,
}

pub(super) struct Pace {
    software: bool,
    patience_ms: f64,
    scale: f64,
    slots: f64,
    /// Pixels drawn per pixel of volumes, along a side.
    fog: u32,
    /// There were volumes in the last picture.
    foggy: bool,
    /// What a picture that is not rough takes as a whole, about.
    full_ms: Option<f64>,
    changed: Option<Instant>,
    /// The last picture was rough and will not be followed by a change of its own accord.
    owes_better: bool,
    /// The next piece of the better picture, and of how many.
    piece: Option<(u32, u32)>,
}

impl Pace {
    pub fn new(software: bool, patience_ms: f64) -> Self {
        Self {
            software,
            patience_ms,
            scale: if software { 0.6 } else { 1.0 },
            slots: if software { 150_000.0 } else { 1e12 },
            fog: if software { 2 } else { 1 },
            foggy: false,
            full_ms: None,
            changed: None,
            owes_better: false,
            piece: None,
        }
    }

    fn fluid_ms(&self) -> f64 {
        if self.software {
            FLUID_SOFTWARE_MS
        } else {
            FLUID_MS
        }
    }

    /// A rough picture waits for its better one.
    pub fn owes_better(&self) -> bool {
        self.owes_better
    }

    /// The hand has rested long enough for the better picture.
    pub fn rested(&self) -> bool {
        self.owes_better && self.changed.is_none_or(|c| c.elapsed() > GESTURE)
    }

    /// How to draw. `measured`: time and kind of the last picture, if they are known by now; `foggy`:
    /// there are volumes.
    pub fn quality(
        &mut self,
        measured: Option<(f64, Drawn)>,
        (moving, foggy): (bool, bool),
        ask: Ask,
    ) -> Quality {
        match measured {
            Some((ms, Drawn::Rough)) => self.adapt(ms),
            Some((ms, Drawn::Whole)) => self.full_ms = Some(ms),
            // Between one piece, where the points are all the work, and all, where the pixels are.
            Some((ms, Drawn::Piece(of))) => {
                let whole = ms * f64::from(of).sqrt();
                self.full_ms = Some(0.5 * (whole + self.full_ms.unwrap_or(whole)));
            }
            None => {}
        }
        if foggy != self.foggy {
            self.foggy = foggy;
            // What was measured tells nothing of them. A processor takes long for them: in pieces.
            let long = f64::from(MOST_PIECES) * 0.5 * self.patience_ms;
            self.full_ms = (foggy && self.software).then_some(long);
        }
        let now = Instant::now();
        let before = match ask {
            Ask::New => self.changed.replace(now),
            Ask::More | Ask::Better => None,
        };
        let in_gesture = before.is_some_and(|b| now - b < GESTURE);
        // Before anything was measured a processor counts as slow.
        let slow = self
            .full_ms
            .map_or(self.software, |ms| ms > self.fluid_ms());
        // So long a picture would hold up even a hand that has only begun to move.
        let heavy = self.full_ms.is_some_and(|ms| ms > self.patience_ms);
        let rough = (moving || in_gesture) && slow || heavy && ask != Ask::Better;
        if rough {
            self.owes_better = !moving;
            self.piece = None;
            return Quality {
                samples: 1,
                scale: self.scale,
                glass: 2,
                fog: FogQuality {
                    per_pixel: self.fog,
                    step: 1.2,
                    rays: 1,
                },
                most_slots: self.slots as usize,
                rough: true,
                piece: (0, 1),
            };
        }
        let piece = match self.piece.take() {
            Some(next) if ask == Ask::Better => next,
            _ if heavy => (0, self.pieces()),
            _ => (0, 1),
        };
        let (this, of) = piece;
        self.owes_better = this + 1 < of;
        self.piece = self.owes_better.then_some((this + 1, of));
        Quality {
            piece,
            ..Quality::best(self.software)
        }
    }

    fn pieces(&self) -> u32 {
        let ms = self.full_ms.unwrap_or(0.0);
        ((ms / (0.5 * self.patience_ms)).ceil() as u32).clamp(1, MOST_PIECES)
    }

    fn adapt(&mut self, ms: f64) {
        let fluid = self.fluid_ms();
        if ms > 1.15 * fluid {
            // Work grows with the pixels and with the points; each gives up its half.
            let share = (fluid / ms).max(0.3);
            self.scale = (self.scale * share.powf(0.4)).max(COARSEST);
            // What was unlimited starts from a number of points that any card draws.
            self.slots = (self.slots.min(8e6) * share.powf(0.7)).max(FEWEST_SLOTS);
            if self.foggy && ms > 1.5 * fluid {
                self.fog = (self.fog + 1).min(COARSEST_FOG);
            }
        } else if ms < 0.3 * fluid && self.fog > 1 {
            self.fog -= 1;
        } else if ms < 0.6 * fluid {
            self.scale = (self.scale * 1.12).min(1.0);
            self.slots = (self.slots * 1.25).min(1e12);
        }
    }
}
