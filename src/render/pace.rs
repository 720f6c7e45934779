//! How coarse the 3-D view is drawn while it changes, so that the hand feels no delay.

use super::scene::Quality;
use std::time::{Duration, Instant};

/// A picture that takes longer is felt, ms. A processor cannot keep it; twenty pictures a second
/// can still be steered.
const FLUID_MS: f64 = 16.0;
const FLUID_SOFTWARE_MS: f64 = 45.0;
/// Coarser than this nothing can be recognised: pixels drawn per pixel shown, along a side.
const COARSEST: f64 = 0.4;
const FEWEST_SLOTS: f64 = 40_000.0;
/// A picture at rest that holds a processor up for longer is drawn with fewer samples, ms.
const PATIENCE_MS: f64 = 600.0;
/// Changes that follow each other within this belong to one gesture.
const GESTURE: Duration = Duration::from_millis(200);

pub(super) struct Pace {
    software: bool,
    scale: f64,
    slots: f64,
    /// What the last picture that was not rough took.
    full_ms: Option<f64>,
    /// Of pictures that are not rough.
    samples: u32,
    changed: Option<Instant>,
    /// The last picture was rough and will not be followed by a change of its own accord.
    owes_better: bool,
}

impl Pace {
    pub fn new(software: bool) -> Self {
        Self {
            software,
            scale: if software { 0.6 } else { 1.0 },
            slots: if software { 150_000.0 } else { 1e12 },
            full_ms: None,
            samples: 4,
            changed: None,
            owes_better: false,
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

    /// How to draw a list that is new (`changed`), or the better picture of an old one. `measured`
    /// is the last picture's time and whether it was rough, if that is known by now.
    pub fn quality(
        &mut self,
        measured: Option<(f64, bool)>,
        moving: bool,
        changed: bool,
    ) -> Quality {
        match measured {
            Some((ms, true)) => self.adapt(ms),
            Some((ms, false)) => {
                self.full_ms = Some(ms);
                if self.software && ms > PATIENCE_MS {
                    self.samples = 1;
                } else if ms < PATIENCE_MS / 5.0 {
                    self.samples = 4;
                }
            }
            None => {}
        }
        let now = Instant::now();
        let before = if changed {
            self.changed.replace(now)
        } else {
            None
        };
        let in_gesture = before.is_some_and(|b| now - b < GESTURE);
        // Before anything was measured a processor counts as slow.
        let slow = self
            .full_ms
            .map_or(self.software, |ms| ms > self.fluid_ms());
        let rough = (moving || in_gesture) && slow;
        self.owes_better = rough && !moving;
        if !rough {
            return Quality {
                samples: self.samples,
                ..Quality::best(self.software)
            };
        }
        Quality {
            samples: 1,
            scale: self.scale,
            glass: 2,
            most_slots: self.slots as usize,
            rough,
        }
    }

    fn adapt(&mut self, ms: f64) {
        let fluid = self.fluid_ms();
        if ms > 1.15 * fluid {
            // Work grows with the pixels and with the points; each gives up its half.
            let share = (fluid / ms).max(0.3);
            self.scale = (self.scale * share.powf(0.4)).max(COARSEST);
            // What was unlimited starts from a number of points that any card draws.
            self.slots = (self.slots.min(8e6) * share.powf(0.7)).max(FEWEST_SLOTS);
        } else if ms < 0.6 * fluid {
            self.scale = (self.scale * 1.12).min(1.0);
            self.slots = (self.slots * 1.25).min(1e12);
        }
    }
}
