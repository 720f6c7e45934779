//! Order statistics, and the interval of a share.
//!
//! # Example
//!
//! The median of four values, and the quantile of five:
//!
//! ```
//! use arcuate_engine::data::statistics::{median, quantile};
//!
//! assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
//! assert_eq!(quantile(&mut [5.0, 1.0, 2.0, 4.0, 3.0], 1.0), Some(5.0));
//! ```

/// The median, the mean of the two middle values for an even number; 0 if empty. Reorders the values.
pub fn median(values: &mut [f32]) -> f32 {
    if values.is_empty() {
        return 0.0;
    }
    let (even, middle) = (values.len().is_multiple_of(2), values.len() / 2);
    let (lower, upper, _) = values.select_nth_unstable_by(middle, f32::total_cmp);
    match lower.iter().copied().max_by(f32::total_cmp) {
        Some(below) if even => (below + *upper) / 2.0,
        _ => *upper,
    }
}

/// The median, the upper of the two middle values for an even number; `None` if empty. Reorders the values.
pub fn upper_median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// The value below which a share (0 to 1) of the values lies, without interpolation; `None` if empty. Sorts the
/// values.
pub fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some(values[(share * last as f64).round() as usize])
}

/// The 95 % confidence interval of a probability of which `successes` in `trials` trials were observed (Wilson 1927);
/// 0 to 1 without trials.
pub fn wilson_interval(successes: usize, trials: usize) -> [f64; 2] {
    /// Quantile 0.975 of the normal distribution.
    const Z: f64 = 1.959_963_985;
    if trials == 0 {
        return [0.0, 1.0];
    }
    let (n, share) = (trials as f64, successes as f64 / trials as f64);
    let middle = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let [low, high] = [middle - half, middle + half];
    let [low, high] = [low, high].map(|limit| (limit / (1.0 + Z * Z / n)).clamp(0.0, 1.0));
    // Rounding must not move the limits that are exact.
    [
        if successes == 0 { 0.0 } else { low },
        if successes == trials { 1.0 } else { high },
    ]
}
