//! The numbers of streamlines by their weight, on a logarithmic scale.

/// Bars of the histogram, as many as the window draws.
pub const WEIGHT_BINS: usize = 64;
/// Below this fraction of the highest weight bars say nothing: the first bar holds all lower weights.
const MINIMUM_SHARE_OF_HIGHEST: f32 = 1e-3;

/// How many streamlines have which weight.
#[derive(Clone, PartialEq, Debug)]
pub struct WeightHistogram {
    /// Streamlines without a weight.
    pub zero: usize,
    /// Ends of the logarithmic scale.
    pub range: (f32, f32),
    /// Streamlines in each bar; the first also counts lower weights.
    pub counts: [u32; WEIGHT_BINS],
}

impl WeightHistogram {
    /// Counts weights above 0, ascending; `zero` is the number of streamlines without one.
    pub fn new(sorted: &[f32], zero: usize) -> Self {
        let range = weight_range(sorted);
        let (low, high) = range;
        let mut counts = [0; WEIGHT_BINS];
        for weight in sorted {
            let share = (weight / low).ln() / (high / low).ln();
            counts[((share.max(0.0) * WEIGHT_BINS as f32) as usize).min(WEIGHT_BINS - 1)] += 1;
        }
        Self {
            zero,
            range,
            counts,
        }
    }

    /// Lower and upper limit of a bar.
    pub fn limits(&self, bar: usize) -> (f64, f64) {
        let (low, high) = (f64::from(self.range.0), f64::from(self.range.1));
        let at = |bar: usize| low * (high / low).powf(bar as f64 / WEIGHT_BINS as f64);
        (at(bar), at(bar + 1))
    }
}

/// Ends of the logarithmic scale of weights above 0, ascending.
pub fn weight_range(sorted: &[f32]) -> (f32, f32) {
    let (first, last) = (sorted.first(), sorted.last());
    let high = last.copied().unwrap_or(1.0);
    let low = first
        .copied()
        .unwrap_or(0.1 * high)
        .max(MINIMUM_SHARE_OF_HIGHEST * high);
    (low.min(0.5 * high), high)
}
