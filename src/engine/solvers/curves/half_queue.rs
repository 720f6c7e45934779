//! The next half curve for a free lane: for every start the forward half and, with both ways, the backward half.

use super::StopReason;

/// Halves followed side by side: one AVX2 register of `f32`.
pub const LANES: usize = 8;

/// The reason of a half that has not been followed yet.
pub const PENDING: StopReason = StopReason::Seed;

pub struct Queue {
    next: usize,
    per_start: usize,
}

/// The next half to follow.
pub struct NextHalf {
    pub half: usize,
    pub start: usize,
    /// 1 forward, -1 backward.
    pub sense: f32,
}

/// Number of halves per start.
pub fn halves_per_start(both_ways: bool) -> usize {
    if both_ways { 2 } else { 1 }
}

impl Queue {
    pub fn new(both_ways: bool) -> Self {
        Self {
            next: 0,
            per_start: halves_per_start(both_ways),
        }
    }

    /// Skips halves that ended at their seeds.
    pub fn next_half<H>(
        &mut self,
        halves: &[H],
        reason: impl Fn(&H) -> StopReason,
    ) -> Option<NextHalf> {
        let ahead = halves.get(self.next..)?;
        let half = self.next + ahead.iter().position(|h| reason(h) == PENDING)?;
        self.next = half + 1;
        let forward = half.is_multiple_of(self.per_start);
        Some(NextHalf {
            half,
            start: half / self.per_start,
            sense: if forward { 1.0 } else { -1.0 },
        })
    }
}

/// Number of steps that each of two halves may keep of a total: the longer one is shortened first, so that neither
/// sense is favoured.
pub fn split_total(forward: u32, backward: u32, total: u32) -> [u32; 2] {
    if forward.saturating_add(backward) <= total {
        return [forward, backward];
    }
    let half = total / 2;
    if forward <= half {
        [forward, total - forward]
    } else if backward <= half {
        [total - backward, backward]
    } else {
        [half, half]
    }
}
