//! Histogram of voxel values, for a band over it.

use super::charts::BINS;
use crate::data::{DataId, Volume};

/// Smallest fraction of all counts for a second peak that sets the scale of the bars: a first one that towers over it
/// is background.
const PEAK: f32 = 1e-3;

/// Decades from the highest bar down to the base.
const DECADES: f32 = 2.0;

pub struct Histogram {
    pub counts: [u32; BINS],
    /// Values at the two ends; for whole numbers, midway between two of them.
    pub range: (f32, f32),
    /// Count of the bar that fills the height.
    pub highest: u32,
    /// All values are whole numbers.
    pub are_integers: bool,
}

impl Histogram {
    /// Height of a bar, 0 to 1: by the logarithm of its count. Rarer values keep a visible trace.
    pub fn height(&self, bin: usize) -> f32 {
        if self.counts[bin] == 0 {
            return 0.0;
        }
        let share = self.counts[bin] as f32 / self.highest.max(1) as f32;
        (1.0 + share.log10() / DECADES).clamp(1e-3, 1.0)
    }

    /// The values at the two ends; for whole numbers, those at the centres of the end bars.
    pub fn ends(&self) -> (f32, f32) {
        let (low, high) = self.range;
        match self.are_integers {
            true => (low + 0.5, high - 0.5),
            false => (low, high),
        }
    }

    /// Histogram of evenly spread values, at most this many.
    pub fn new(values: &[f32], (low, high): (f32, f32)) -> Self {
        const MAXIMUM_SAMPLES: usize = 500_000;
        let stride = values.len().div_ceil(MAXIMUM_SAMPLES).max(1);
        let some = || values.iter().step_by(stride).filter(|v| v.is_finite());
        let are_integers = some().all(|v| v.fract() == 0.0);
        let span = (high - low).max(f32::MIN_POSITIVE);
        // Values in a bin, or bins for a value.
        let (each, bins) = match are_integers {
            true if span + 1.0 > BINS as f32 => (((span + 1.0) / BINS as f32).ceil(), 1),
            true => (1.0, (BINS as f32 / (span + 1.0)).floor().max(1.0) as usize),
            false => (span / BINS as f32, 1),
        };
        let low = if are_integers { low.floor() - 0.5 } else { low };
        let range = (low, low + each * (BINS as f32 / bins as f32));
        let mut counts = [0; BINS];
        for value in some() {
            let at = (value - low) / each;
            if at >= 0.0 && at <= (BINS / bins) as f32 {
                let first = at as usize * bins;
                let own = first.min(BINS - 1)..(first + bins).min(BINS);
                counts[own].iter_mut().for_each(|count| *count += 1);
            }
        }
        Self {
            highest: highest(&counts),
            are_integers,
            counts,
            range,
        }
    }
}

/// Highest of the bars behind a first one that towers over all: air, or the part that was cut away.
fn highest(counts: &[u32; BINS]) -> u32 {
    let tallest = (0..BINS)
        .max_by_key(|i| (counts[*i], BINS - i))
        .unwrap_or(0);
    let all: f32 = counts.iter().map(|n| *n as f32).sum();
    let falls = |i: &usize| counts[*i] <= counts[*i - 1];
    let foot = (tallest + 1..BINS).take_while(falls).last();
    let behind = foot.map_or(&[][..], |foot| &counts[foot..]);
    let next = behind.iter().copied().max().unwrap_or(0);
    match tallest < BINS / 3 && next as f32 > PEAK * all {
        true => next,
        false => counts[tallest],
    }
}

/// Caches the last histogram.
#[derive(Default)]
pub struct HistogramCache(Option<(HistogramKey, Box<Histogram>)>);

/// Key: image, frame, range.
type HistogramKey = (DataId, usize, [u32; 2]);

impl HistogramCache {
    pub fn get(&mut self, volume: &Volume, frame: usize, range: (f32, f32)) -> &Histogram {
        let key = (volume.id(), frame, [range.0, range.1].map(f32::to_bits));
        let kept = self.0.take().filter(|(counted, _)| *counted == key);
        let count = || (key, Box::new(Histogram::new(volume.frame(frame), range)));
        &self.0.insert(kept.unwrap_or_else(count)).1
    }
}
