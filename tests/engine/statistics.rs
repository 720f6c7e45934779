//! Medians and quantiles against sorting.

use crate::support::{Random, test};
use arcuate::data::statistics::{median, quantile, upper_median};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test("statistics::medians as in sorting", by_sorting)]
}

fn by_sorting() {
    assert_eq!(upper_median(&mut []), None);
    let mut random = Random::fresh("medians");
    for n in 1..40 {
        let drawn: Vec<f64> = (0..n).map(|_| random.uniform(-9.0, 9.0).round()).collect();
        let mut sorted = drawn.clone();
        sorted.sort_by(f64::total_cmp);
        let (lower, upper) = (sorted[(n - 1) / 2], sorted[n / 2]);
        assert_eq!(upper_median(&mut drawn.clone()), Some(upper));
        assert_eq!(quantile(&mut drawn.clone(), 0.5), Some(upper));
        let mut single: Vec<f32> = drawn.iter().map(|v| *v as f32).collect();
        assert_eq!(f64::from(median(&mut single)), (lower + upper) / 2.0);
    }
}
