//! Which half comes next when a lane is free: of every start forward and, both ways, backward.

use super::StopReason;

/// Halves followed side by side: one AVX2 register of `f32`.
pub const LANES: usize = 8;

/// The reason of a half that is still to be followed.
pub const PENDING: StopReason = StopReason::Seed;

pub struct Queue {
    next: usize,
    senses: usize,
}

/// A half that is to be followed now.
pub struct NextHalf {
    pub half: usize,
    pub start: usize,
    /// 1 forward, -1 backward.
    pub sense: f32,
}

/// Halves of every start.
pub fn senses(both_ways: bool) -> usize {
    if both_ways { 2 } else { 1 }
}

impl Queue {
    pub fn new(both_ways: bool) -> Self {
        Self {
            next: 0,
            senses: senses(both_ways),
        }
    }

    /// Passes over those that ended where they start.
    pub fn take<H>(&mut self, halves: &[H], reason: impl Fn(&H) -> StopReason) -> Option<NextHalf> {
        let ahead = halves.get(self.next..)?;
        let half = self.next + ahead.iter().position(|h| reason(h) == PENDING)?;
        self.next = half + 1;
        let forward = half.is_multiple_of(self.senses);
        Some(NextHalf {
            half,
            start: half / self.senses,
            sense: if forward { 1.0 } else { -1.0 },
        })
    }
}
