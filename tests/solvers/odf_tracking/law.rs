//! The law of a probabilistic step against its integral.

use super::{field, grid, lobes, params};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::OdfField;
use arcuate::data::spherical_harmonics::{Polynomials, Series};
use arcuate::solvers::odf_tracking::{Method, Params, drawn_directions};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::f64::consts::TAU;

pub fn tests() -> Vec<Trial> {
    vec![
        test("odf_tracking::law of a lobe ahead", ahead),
        test("odf_tracking::law of a lobe aside", aside),
        test("odf_tracking::law of two lobes", two_lobes),
        test("odf_tracking::law of other samples and cuts", variants),
        test("odf_tracking::law is reversible", reversible),
        test("odf_tracking::arcs across a face", face),
    ]
}

const DRAWS: u64 = 100_000;
const MIDDLE: [f32; 3] = [1.5, 1.4, 1.3];

fn uniform(coefficients: &[f64]) -> OdfField {
    field(&grid([4, 4, 4], 1.0), |_| coefficients.to_vec())
}

fn draws(field: &OdfField, along: DVec3, params: &Params) -> Vec<DVec3> {
    let start = (MIDDLE, along.as_vec3().to_array());
    let all = drawn_directions(field, start, params, 0..DRAWS, &Control::new()).unwrap();
    all.into_iter()
        .map(|d| DVec3::from_array(d.unwrap().map(f64::from)))
        .collect()
}

/// The share of an arc from `along` to the angle θ in the azimuth of a unit vector across.
fn share(series: &Series, along: DVec3, across: DVec3, theta: f64, params: &Params) -> f64 {
    let n = params.samples;
    let mut product = 1.0;
    for sample in 1..=n {
        let angle = theta * sample as f64 / n as f64;
        let f = series.value(along * angle.cos() + across * angle.sin());
        if f <= params.min_amplitude {
            return 0.0;
        }
        product *= if sample == n { f.sqrt() } else { f };
    }
    product.powf(1.0 / n as f64)
}

/// The mean of a function of the end direction under the continuous law.
fn expected(
    coefficients: &[f64],
    along: DVec3,
    params: &Params,
    value: impl Fn(DVec3) -> f64,
) -> f64 {
    const RINGS: usize = 300;
    const COLUMNS: usize = 360;
    let series = Polynomials::new(8).series(coefficients);
    let x = along.any_orthonormal_vector();
    let y = along.cross(x);
    let (mut sum, mut total) = (0.0, 0.0);
    for ring in 0..RINGS {
        let theta = params.max_angle_rad * (ring as f64 + 0.5) / RINGS as f64;
        for column in 0..COLUMNS {
            let (sine, cosine) = (TAU * column as f64 / COLUMNS as f64).sin_cos();
            let across = x * cosine + y * sine;
            let weight = theta.sin() * share(&series, along, across, theta, params);
            sum += weight * value(along * theta.cos() + across * theta.sin());
            total += weight;
        }
    }
    sum / total
}

fn mean(draws: &[DVec3], value: impl Fn(DVec3) -> f64) -> f64 {
    draws.iter().map(|d| value(*d)).sum::<f64>() / draws.len() as f64
}

/// Compares mean angle, mean offset along an axis across, and its spread, degrees.
fn compare(coefficients: &[f64], along: DVec3, across: DVec3, params: &Params) {
    let drawn = draws(&uniform(coefficients), along, params);
    for d in &drawn {
        assert!((d.length() - 1.0).abs() < 1e-5);
        assert!(d.angle_between(along) < params.max_angle_rad + 1e-3);
    }
    let angle = |d: DVec3| d.angle_between(along).to_degrees();
    let offset = |d: DVec3| d.dot(across).atan2(d.dot(along)).to_degrees();
    let law = |value: &dyn Fn(DVec3) -> f64| expected(coefficients, along, params, value);
    let (a, b) = (mean(&drawn, angle), law(&angle));
    assert!((a - b).abs() < 0.2, "mean angle {a} against {b}");
    let (a, b) = (mean(&drawn, offset), law(&offset));
    assert!((a - b).abs() < 0.2, "mean offset {a} against {b}");
    let square = |d: DVec3| offset(d).powi(2);
    let (a, b) = (mean(&drawn, square).sqrt(), law(&square).sqrt());
    assert!((a - b).abs() < 0.2, "spread {a} against {b}");
}

fn arcs() -> Params {
    params(Method::Probabilistic, 1)
}

fn ahead() {
    let z = DVec3::Z;
    compare(&lobes(&[(z, 1.0)]), z, DVec3::X, &arcs());
    let along = DVec3::new(0.3, -0.5, -0.7).normalize();
    compare(
        &lobes(&[(along, 1.5)]),
        along,
        along.any_orthonormal_vector(),
        &arcs(),
    );
}

fn aside() {
    let (sine, cosine) = 20f64.to_radians().sin_cos();
    let aside = DVec3::new(sine, 0.0, cosine);
    compare(&lobes(&[(aside, 1.0)]), DVec3::Z, DVec3::X, &arcs());
}

fn two_lobes() {
    let (sine, cosine) = 25f64.to_radians().sin_cos();
    let pair = [
        (DVec3::new(sine, 0.0, cosine), 0.6),
        (DVec3::new(-sine, 0.0, cosine), 0.4),
    ];
    let coefficients = lobes(&pair);
    compare(&coefficients, DVec3::Z, DVec3::X, &arcs());
    let first = |d: DVec3| f64::from(d.x > 0.0);
    let drawn = draws(&uniform(&coefficients), DVec3::Z, &arcs());
    let law = expected(&coefficients, DVec3::Z, &arcs(), first);
    let share = mean(&drawn, first);
    assert!((share - law).abs() < 0.005, "{share} against {law}");
}

fn variants() {
    let (sine, cosine) = 20f64.to_radians().sin_cos();
    let coefficients = lobes(&[(DVec3::new(0.0, sine, cosine), 1.0), (DVec3::Y, 0.3)]);
    for (samples, cut, degrees) in [
        (1, 0.1, 60.0f64),
        (2, 0.5, 45.0),
        (5, 0.05, 85.0),
        (8, 0.2, 20.0),
    ] {
        let params = Params {
            samples,
            min_amplitude: cut,
            max_angle_rad: degrees.to_radians(),
            ..arcs()
        };
        compare(&coefficients, DVec3::Z, DVec3::Y, &params);
    }
}

/// The share of an arc, times the half of the old point, is that of the arc in the other sense: in a uniform field the
/// directions form a reversible process, and do not circulate between three lobes.
fn reversible() {
    let turn = DMat3::from_quat(Random::fresh("three lobes").rotation());
    let ring = |k: f64| {
        let (sine, cosine) = (TAU * k / 3.0).sin_cos();
        turn * DVec3::new(0.35 * cosine, 0.35 * sine, 1.0).normalize()
    };
    let axes = [ring(0.0), ring(1.0), ring(2.0)];
    let field = uniform(&lobes(&[(axes[0], 1.0), (axes[1], 0.5), (axes[2], 0.7)]));
    let nearest = |d: DVec3| {
        let cosines = axes.map(|a| a.dot(d).abs());
        (0..3)
            .max_by(|a, b| cosines[*a].total_cmp(&cosines[*b]))
            .unwrap()
    };
    let (mut along, mut counts) = (axes[0], [[0f64; 3]; 3]);
    for number in 0..40_000 {
        let start = (MIDDLE, along.as_vec3().to_array());
        let found =
            drawn_directions(&field, start, &arcs(), number..number + 1, &Control::new()).unwrap();
        let next = DVec3::from_array(found[0].unwrap().map(f64::from)).normalize();
        counts[nearest(along)][nearest(next)] += 1.0;
        along = next;
    }
    for (a, b) in [(0, 1), (1, 2), (2, 0)] {
        let (forth, back) = (counts[a][b], counts[b][a]);
        assert!(forth > 1000.0, "{counts:?}");
        // Five standard deviations of the difference of two counts.
        assert!(
            (forth - back).abs() < 5.0 * (forth + back).sqrt(),
            "{counts:?}"
        );
    }
}

/// Each candidate is interpolated in its own cell: where the field is linear in space, across a face as well.
fn face() {
    let (x, y) = (
        lobes(&[(DVec3::X, 1.0)]),
        lobes(&[(DVec3::new(0.8, 0.6, 0.0), 1.0)]),
    );
    let linear = |p: DVec3| -> Vec<f64> {
        let t = (p.x / 3.0).clamp(0.0, 1.0);
        x.iter()
            .zip(&y)
            .map(|(a, b)| a * (1.0 - t) + b * t)
            .collect()
    };
    let coarse = field(&grid([4, 4, 4], 1.0), linear);
    // On this grid no face between cells passes through the arcs.
    let wide =
        arcuate::data::Grid::axis_aligned([2, 2, 2], DVec3::splat(3.0), DVec3::ZERO).unwrap();
    let smooth = field(&std::sync::Arc::new(wide), linear);
    let params = Params {
        step_mm: 1.0,
        ..arcs()
    };
    let start = (
        [0.9, 1.95, 1.02],
        DVec3::new(0.9, 0.3, 0.1).normalize().as_vec3().to_array(),
    );
    let drawn =
        |f: &OdfField| drawn_directions(f, start, &params, 0..2000, &Control::new()).unwrap();
    let (a, b) = (drawn(&coarse), drawn(&smooth));
    // Rounding decides a few choices between two candidates.
    let equal = a.iter().zip(&b).filter(|(a, b)| {
        let (a, b) = (a.unwrap(), b.unwrap());
        (0..3).all(|k| (a[k] - b[k]).abs() < 1e-4)
    });
    let equal = equal.count();
    assert!(equal >= 1990, "{equal} of 2000");
}
