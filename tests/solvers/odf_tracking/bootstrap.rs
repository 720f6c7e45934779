//! Streamlines through the repetitions of a bootstrap: threads, shares, spread, refusals.

use super::{params, run};
use crate::csd::cases::{gradients, responses, samples};
use crate::csd::{backend, params as csd_params};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Mask, OdfField, Volume, VolumeKind};
use arcuate::solvers::Error;
use arcuate::solvers::csd::{self, Precision, Residuals};
use arcuate::solvers::curves::Output;
use arcuate::solvers::odf_tracking::{Fibres, Method, Params, track_bootstrap};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "odf_tracking::bootstrap gives equal bytes on any threads",
            threads,
        ),
        test("odf_tracking::bootstrap divides what is kept", shares),
        test(
            "odf_tracking::bootstrap spreads deterministic streamlines",
            spread,
        ),
        test(
            "odf_tracking::bootstrap is refused without its scan",
            refused,
        ),
    ]
}

const N: [usize; 3] = [16, 8, 8];

/// Straight fibres along x in a box, with noise.
fn fitted(sigma: f64, order: usize) -> (OdfField, Residuals) {
    let grid = Grid::axis_aligned(N, DVec3::splat(2.0), DVec3::ZERO).unwrap();
    let grid = Arc::new(grid);
    let (gradients, n) = (gradients(), grid.voxel_count());
    let clean = samples(&gradients, &[(DVec3::X, 1.0)], 0.0, 0.0);
    let mut random = Random::fresh("odf bootstrap");
    let mut values = Vec::new();
    for sample in &clean {
        values.extend((0..n).map(|_| (f64::from(*sample) + sigma * random.normal()) as f32));
    }
    let dwi = Volume::new(grid.clone(), gradients.len(), VolumeKind::Scalar, values);
    let mask = Mask::new(grid, vec![1u8; n]);
    let settings = csd_params(order, Precision::Single);
    let (all, place, control) = (responses(order), backend(2), Control::new());
    let output = csd::fit(&dwi, &gradients, &mask, &all, &settings, &place, &control).unwrap();
    let residuals = csd::residuals(&dwi, &gradients, &mask, &all, &settings, &place, &control);
    (output.field, residuals.unwrap())
}

fn bootstrap(
    (field, residuals): &(OdfField, Residuals),
    params: &Params,
    threads: usize,
) -> Result<Output, Error> {
    let (place, control) = (backend(threads), Control::new());
    track_bootstrap(field, residuals, None, &[], params, None, &place, &control)
}

fn settings(method: Method, seeds: usize, repetitions: usize) -> Params {
    Params {
        repetitions: Some(repetitions),
        ..params(method, seeds)
    }
}

fn threads() {
    let fitted = fitted(50.0, 6);
    for method in [Method::Probabilistic, Method::Deterministic] {
        let params = settings(method, 40, 3);
        let one = bootstrap(&fitted, &params, 1).unwrap();
        let three = bootstrap(&fitted, &params, 3).unwrap();
        assert_eq!(one.kept.points.as_ref(), three.kept.points.as_ref());
        assert_eq!(one.kept.offsets, three.kept.offsets);
        assert_eq!(one.seed_outcomes, three.seed_outcomes);
        assert_eq!(one.stops, three.stops);
        assert_eq!(one.kept.per_streamline, three.kept.per_streamline);
        // All seeds in each repetition.
        assert_eq!(one.seed_outcomes.iter().sum::<u64>(), 120);
        let numbers = &one.kept.per_streamline["repetition"];
        assert_eq!(numbers.first(), Some(&0.0));
        assert_eq!(numbers.last(), Some(&2.0));
        // The first repetition is the same among more or fewer.
        let first = bootstrap(&fitted, &settings(method, 40, 1), 1).unwrap();
        let count = first.kept.len();
        assert_eq!(numbers.iter().filter(|n| **n == 0.0).count(), count);
        let end = one.kept.offsets[count] as usize;
        assert_eq!(first.kept.points.as_ref(), &one.kept.points[..end]);
        // The codes of stop reasons remain.
        assert_eq!(one.kept.codes, first.kept.codes);
    }
}

fn shares() {
    let fitted = fitted(50.0, 6);
    let params = Params {
        select: Some(20),
        ..settings(Method::Probabilistic, 7, 3)
    };
    let output = bootstrap(&fitted, &params, 2).unwrap();
    let numbers = &output.kept.per_streamline["repetition"];
    let count = |repetition: f32| numbers.iter().filter(|n| **n == repetition).count();
    assert_eq!([count(0.0), count(1.0), count(2.0)], [7, 7, 6]);
    let too_few = Params {
        select: Some(2),
        ..settings(Method::Probabilistic, 7, 3)
    };
    let error = bootstrap(&fitted, &too_few, 1).unwrap_err().to_string();
    assert!(
        error.contains("bootstrap of 3 with 2 streamlines"),
        "{error}"
    );
}

/// The mean distance from the line through the first point along x.
fn wander(output: &Output) -> f64 {
    let distance = |line: &[[f32; 3]]| {
        let (first, last) = (line[0], line[line.len() - 1]);
        f64::from((last[1] - first[1]).hypot(last[2] - first[2]))
    };
    let all = output.kept.streamlines().map(distance);
    all.sum::<f64>() / output.kept.len() as f64
}

/// Deterministic streamlines of noise-free distributions are almost lines; the spread grows with the noise.
fn spread() {
    let spread = |sigma: f64| {
        let output = bootstrap(
            &fitted(sigma, 6),
            &settings(Method::Deterministic, 60, 4),
            2,
        );
        wander(&output.unwrap())
    };
    // Without noise, what the order cannot express is left.
    let (none, some, much) = (spread(0.0), spread(15.0), spread(60.0));
    assert!(none < 0.3, "{none}");
    assert!(some > none && much > 1.5 * some, "{none} {some} {much}");
}

fn refused() {
    let fitted = fitted(20.0, 4);
    let params = settings(Method::Probabilistic, 10, 3);
    let fibres = Fibres::Distributions(fitted.0.clone());
    let error = run(&fibres, None, &[], &params, 1).unwrap_err().to_string();
    assert!(error.contains("without the scan"), "{error}");
    // Distributions of another fit.
    let doubled: Vec<f32> = fitted.0.coefficients.iter().map(|c| 2.0 * c).collect();
    let other = OdfField::new(fitted.0.grid.clone(), 4, doubled);
    let (place, control) = (backend(1), Control::new());
    let of_other = |field: &OdfField| {
        track_bootstrap(field, &fitted.1, None, &[], &params, None, &place, &control)
    };
    let error = of_other(&other).unwrap_err().to_string();
    assert!(error.contains("differ by 50 %"), "{error}");
    let n = fitted.0.grid.voxel_count();
    let order_2 = OdfField::new(
        fitted.0.grid.clone(),
        2,
        fitted.0.coefficients[..6 * n].to_vec(),
    );
    let error = of_other(&order_2).unwrap_err().to_string();
    assert!(
        error.contains("another order") || error.contains("of another"),
        "{error}"
    );
}
