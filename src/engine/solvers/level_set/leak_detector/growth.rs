//! Growth of a surface, by windows of steps.

use crate::data::statistics::upper_median;

/// Steps per window.
const WINDOW: usize = 10;
/// The surface rests once the voxels inside grow by less than this share …
const REST: f64 = 1e-3;
/// … within this many windows.
pub const REST_WINDOWS: usize = 10;
/// A surface at rest fluctuates: some voxels near it change sides, this share of the surface voxels of a ball of its
/// volume, …
const FLUCTUATION: f64 = 0.05;
/// … but at most this many, unless `REST` allows more.
const MAX_FLUCTUATION_VOXELS: f64 = 5.0;
/// Number of windows whose median is the recent growth.
const RECENT: usize = 20;
/// A leak grows this many times as fast …
const TIMES: f64 = 5.0;
/// … in this many successive windows …
const SUSTAINED_WINDOWS: usize = 3;
/// … and by this share of the volume within them: less belongs to a surface that settles.
pub const MIN_GROWTH: f64 = 0.01;
/// Up to this multiple the volume counts as unchanged.
pub const UNCHANGED_RATIO: f64 = 1.1;
/// The pace is the growth of the volume's cube root within this many windows: constant for a freely growing ball.
const PACE_WINDOWS: usize = 5;
/// Growth sets in where the pace rises beyond this share of the leak's pace.
const SLOWER: f64 = 0.7;
/// Slower paces count as this one.
const MIN_PACE: f64 = 0.1;

/// A step and the voxels inside after it.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    pub step: u64,
    pub inside: u64,
}

impl Mark {
    /// Whether two volumes differ by at most this share.
    pub fn is_near(self, inside: u64, share: f64) -> bool {
        let (low, high) = (self.inside.min(inside), self.inside.max(inside));
        high as f64 <= (1.0 + share) * low as f64
    }
}

/// Voxels inside at the ends of windows since the last sphere. `others`: voxels of structures whose growth does not
/// count.
#[derive(Clone, Debug)]
pub struct Course {
    first: u64,
    inside: Vec<u64>,
}

impl Course {
    pub fn new(step: u64, inside: u64) -> Self {
        Self {
            first: step,
            inside: vec![inside],
        }
    }

    /// Returns whether a window ends here.
    pub fn record(&mut self, step: u64, inside: u64) -> bool {
        let ends = (step - self.first).is_multiple_of(WINDOW as u64);
        if ends {
            self.inside.push(inside);
        }
        ends
    }

    /// The voxels inside at the last window end up to this step.
    pub fn at(&self, step: u64) -> u64 {
        let window = step.saturating_sub(self.first) as usize / WINDOW;
        self.inside[window.min(self.inside.len() - 1)]
    }

    /// The change of `measure` of the number of voxels inside within the last `windows` windows.
    pub fn change(&self, windows: usize, others: u64, measure: fn(f64) -> f64) -> Option<f64> {
        let last = self.inside.len() - 1;
        let first = last.checked_sub(windows)?;
        let [before, now] = [first, last].map(|k| self.inside[k].saturating_sub(others) as f64);
        Some(measure(now) - measure(before))
    }

    /// Voxels inside `PACE_WINDOWS` windows ago, and the growth of the cube root since.
    pub fn pace(&self, others: u64) -> Option<(u64, f64)> {
        let before = self.inside[(self.inside.len() - 1).checked_sub(PACE_WINDOWS)?];
        let grown = self.change(PACE_WINDOWS, others, f64::cbrt)?;
        Some((before, grown.max(MIN_PACE)))
    }

    /// The start of the last stretch of `PACE_WINDOWS` windows that was clearly slower than this pace: growth set in
    /// within it or after it. A surface that follows a structure for long multiplies many times before it leaks.
    pub fn last_slow(&self, pace: f64, others: u64) -> Option<Mark> {
        self.last_within(SLOWER * pace, others)
    }

    /// Growth of the cube root within `PACE_WINDOWS` windows from this one on.
    fn pace_from(&self, window: usize, others: u64) -> f64 {
        let root = |k: usize| (self.inside[k].saturating_sub(others) as f64).cbrt();
        root(window + PACE_WINDOWS) - root(window)
    }

    /// The start of the last stretch of `PACE_WINDOWS` windows that was at most as fast as this.
    pub fn last_within(&self, pace: f64, others: u64) -> Option<Mark> {
        let ends = (PACE_WINDOWS..self.inside.len()).rev();
        let mut begins = ends.map(|k| k - PACE_WINDOWS);
        let begin = begins.find(|&k| self.pace_from(k, others) <= pace)?;
        Some(Mark {
            step: self.first + (begin * WINDOW) as u64,
            inside: self.inside[begin],
        })
    }

    /// The fastest pace of all stretches that begin at or after a step.
    pub fn fastest_since(&self, step: u64, others: u64) -> f64 {
        let first = (step.saturating_sub(self.first) as usize).div_ceil(WINDOW);
        let begins = first..self.inside.len().saturating_sub(PACE_WINDOWS);
        begins
            .map(|k| self.pace_from(k, others))
            .fold(0.0, f64::max)
    }

    /// The last window end, from a mark on, at which fewer than `voxels` voxels were inside.
    pub fn last_below(&self, mark: Mark, voxels: f64) -> u64 {
        let last = self.inside.iter().rposition(|n| (*n as f64) < voxels);
        let step = self.first + (last.unwrap_or(0) * WINDOW) as u64;
        step.max(mark.step)
    }
}

/// Growth with unchanged speeds.
#[derive(Clone, Debug)]
pub struct Rest {
    /// Step of the last change of speeds.
    first: u64,
    /// Voxels inside at the ends of the windows.
    inside: Vec<u64>,
    steps: usize,
    /// The window since which the surface has rested.
    pub since: Option<usize>,
    /// Number of successive windows that grow too fast.
    fast_windows: usize,
}

impl Rest {
    pub fn new(first: u64, inside: u64) -> Self {
        Self {
            first,
            inside: vec![inside],
            steps: 0,
            since: None,
            fast_windows: 0,
        }
    }

    fn last(&self) -> usize {
        self.inside.len() - 1
    }

    /// Returns whether a window ends here.
    pub fn record(&mut self, inside: u64) -> bool {
        self.steps += 1;
        let ends = self.steps.is_multiple_of(WINDOW);
        if ends {
            self.inside.push(inside);
        }
        ends
    }

    /// Whether the volume equals that of `REST_WINDOWS` ago.
    pub fn is_still(&self) -> bool {
        let Some(before) = self.last().checked_sub(REST_WINDOWS) else {
            return false;
        };
        let [before, now] = [self.inside[before], self.inside[self.last()]];
        now.abs_diff(before) as f64 <= Self::max_fluctuation(before)
    }

    /// How many voxels may change sides at a resting surface of this volume: of 20 inside 1, of 50 inside 3, of 100
    /// inside 5.
    fn few(inside: u64) -> f64 {
        let ball = (36.0 * std::f64::consts::PI).cbrt() * (inside as f64).powf(2.0 / 3.0);
        (FLUCTUATION * ball).min(MAX_FLUCTUATION_VOXELS)
    }

    /// How much a resting surface of this volume may change within `REST_WINDOWS`.
    fn max_fluctuation(inside: u64) -> f64 {
        (REST * inside as f64).max(Self::few(inside))
    }

    /// Whether it has stopped growing. A seed that shrinks before it grows has not, also next to `others`, which may
    /// fluctuate like any surface at rest. Net growth has no lower limit in voxels: fluctuations leave none in about half
    /// of all windows, and a small surface that creeps is not at rest.
    fn is_at_rest(&self, others: u64) -> bool {
        let Some(first) = self.last().checked_sub(REST_WINDOWS) else {
            return false;
        };
        let windows = &self.inside[first..];
        let [before, now] = [windows[0], windows[REST_WINDOWS]];
        let spread = windows.iter().max().zip(windows.iter().min());
        let own = before.saturating_sub(others).max(1) as f64;
        let fluctuates = Self::few(before).max(REST * others as f64);
        let wanders = spread.is_none_or(|(largest, smallest)| {
            (largest - smallest) as f64 > (MIN_GROWTH * own).max(fluctuates)
        });
        !wanders && (now as f64 - before as f64) < REST * own
    }

    /// The step before growth resumed; called at the end of a window.
    pub fn leaks(&mut self, others: u64) -> Option<u64> {
        let last = self.last();
        let growth = |k: usize| self.inside[k] as f64 - self.inside[k - 1] as f64;
        let Some(rested) = self.since else {
            if self.is_at_rest(others) {
                self.since = Some(last);
            }
            return None;
        };
        // The windows being judged do not belong to the typical growth.
        let earlier_until = last - self.fast_windows;
        let from = earlier_until
            .saturating_sub(RECENT)
            .max(rested.saturating_sub(REST_WINDOWS) + 1);
        let mut recent: Vec<f64> = (from..earlier_until).map(growth).collect();
        let median = upper_median(&mut recent).unwrap_or(0.0);
        // Growth at which the surface rests is rest, however small its median. A few voxels are not a leak, however
        // small the surface.
        let rest =
            (REST * self.inside[last - 1] as f64).max(MAX_FLUCTUATION_VOXELS) / REST_WINDOWS as f64;
        if growth(last) > TIMES * median.max(rest) {
            self.fast_windows += 1;
        } else {
            self.fast_windows = 0;
        }
        let before = last.checked_sub(self.fast_windows.max(SUSTAINED_WINDOWS))?;
        let risen = self.inside[last] as f64 > (1.0 + MIN_GROWTH) * self.inside[before] as f64;
        (self.fast_windows >= SUSTAINED_WINDOWS && risen)
            .then(|| self.first + (before * WINDOW) as u64)
    }
}
