//! Medians and quantiles against sorting; the coverage of the interval of a share.

use crate::support::{Random, test};
use arcuate::data::statistics::{median, quantile, upper_median, wilson_interval};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("statistics::medians as in sorting", by_sorting),
        test("statistics::the interval of a share", interval),
    ]
}

/// The limits are the shares whose score test just fails; they contain the true share in 95 % of draws.
fn interval() {
    const Z: f64 = 1.959_963_985;
    for (successes, trials) in [(1, 10), (5, 10), (37, 200), (199, 200)] {
        let observed = successes as f64 / trials as f64;
        for limit in wilson_interval(successes, trials) {
            let deviation = (limit * (1.0 - limit) / trials as f64).sqrt();
            let score = (observed - limit).abs() / deviation;
            assert!((score - Z).abs() < 1e-9, "{successes} of {trials}: {score}");
        }
    }
    assert_eq!(wilson_interval(0, 0), [0.0, 1.0]);
    assert_eq!(wilson_interval(0, 50)[0], 0.0);
    for trials in [1, 7, 50, 1000] {
        assert_eq!(wilson_interval(trials, trials)[1], 1.0);
    }
    let mut random = Random::fresh("interval of a share");
    let draws = 4000;
    let holds = |share: f64, random: &mut Random| {
        let successes = (0..100).filter(|_| random.uniform(0.0, 1.0) < share);
        let [low, high] = wilson_interval(successes.count(), 100);
        low <= share && share <= high
    };
    let inside = (0..draws).filter(|i| holds([0.1, 0.3, 0.5, 0.8][i % 4], &mut random));
    let coverage = inside.count() as f64 / f64::from(draws as u32);
    assert!((0.93..0.97).contains(&coverage), "{coverage}");
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
