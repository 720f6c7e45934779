//! Responses: harmonics, rotation, cylinders.

use super::{ALONG, TIMING, cylinders, gammas, model, samples, stick};
use crate::support::{Random, test};
use arcuate::solvers::commit::cylinder::{GammaRadii, Timing, across, roots};
use arcuate::solvers::commit::directions;
use arcuate::solvers::commit::harmonics::{COUNT, all, at_cosine, degrees, legendre, zonal};
use libtest_mimic::Trial;
use std::f64::consts::PI;

pub fn tests() -> Vec<Trial> {
    vec![
        test("commit::harmonics add up to Legendre functions", addition),
        test(
            "commit::responses of polynomials in closed form",
            polynomials,
        ),
        test("commit::turned responses are the response", rotation),
        test("commit::cylinders: roots and limits", cylinder),
        test("commit::gamma-distributed cylinders", gamma),
        test("commit::codes of directions", codes),
    ]
}

/// Σ_m Y_lm(o) Y_lm(g) = (2l + 1) / 4π P_l(o·g).
fn addition() {
    let mut random = Random::fresh("commit addition");
    let degrees = degrees();
    assert_eq!(degrees.len(), COUNT);
    for _ in 0..100 {
        let (o, g) = (random.direction(), random.direction());
        let (yo, yg) = (all(o), all(g));
        let p = legendre(o.dot(g));
        for half in 0..7 {
            let own = (0..COUNT).filter(|&i| degrees[i] == 2 * half);
            let found: f64 = own.map(|i| yo[i] * yg[i]).sum();
            let requested = (4 * half + 1) as f64 / (4.0 * PI) * p[half];
            assert!(
                (found - requested).abs() < 1e-12,
                "l = {}: {found} {requested}",
                2 * half
            );
        }
    }
}

fn polynomials() {
    // 1: only l = 0. t²: (1 + 2 P₂) / 3.
    let r = zonal(|_| 0.25);
    assert!((r[0] - PI).abs() < 1e-12 && r[1..].iter().all(|v| v.abs() < 1e-12));
    let r = zonal(|t| t * t);
    assert!((r[0] - 4.0 * PI / 3.0).abs() < 1e-12 && (r[1] - 8.0 * PI / 15.0).abs() < 1e-12);
    assert!(r[2..].iter().all(|v| v.abs() < 1e-12));
    for degree in 0..7 {
        let r = zonal(|t| legendre(t)[degree]);
        let requested = 4.0 * PI / (4 * degree + 1) as f64;
        assert!(
            (r[degree] - requested).abs() < 1e-12,
            "{degree}: {} {requested}",
            r[degree]
        );
    }
}

/// The bound is the part that degree 12 leaves out, four times the next coefficient of exp(−a t²): a^7 2^... for the
/// stick, the least smooth of all.
fn rotation() {
    let mut random = Random::fresh("commit rotation");
    let scan = samples(1, &[(500.0, 6), (1000.0, 6), (2000.0, 6), (3000.0, 6)]);
    let bounds = [2e-7, 2e-5, 2e-3, 2e-2];
    for intra in [stick(), cylinders(4), gammas()] {
        let model = model(intra);
        let responses = model.responses(&scan, false);
        for _ in 0..200 {
            let (o, g) = (random.direction(), random.direction());
            for (k, shell) in scan.shells.iter().enumerate() {
                for (j, atom) in responses.intra.iter().enumerate() {
                    let direct = model.intra_signal(j, shell, o.dot(g));
                    let (yo, yg) = (all(o), all(g));
                    let degrees = degrees();
                    let each = (0..COUNT).map(|i| atom[k][degrees[i] / 2] * yo[i] * yg[i]);
                    let turned: f64 = each.sum();
                    assert!((turned - at_cosine(&atom[k], o.dot(g))).abs() < 1e-12);
                    let error = (turned - direct).abs();
                    assert!(error < bounds[k], "b {}: {error:e}", shell.b_s_per_mm2);
                }
            }
        }
    }
}

fn cylinder() {
    // Abramowitz and Stegun 1964, table 9.5.
    let known = [1.841_183_78, 5.331_442_77, 8.536_316_37, 11.706_004_90];
    for (found, requested) in roots().iter().zip(known) {
        assert!((found - requested).abs() < 1e-8, "{found} {requested}");
    }
    let b = 2000.0;
    assert_eq!(across(b, TIMING, ALONG, 0.0), 0.0);
    // Far from the wall water diffuses freely: the wall holds back a fraction of about √(D Δ) / R.
    let free = across(b, TIMING, ALONG, 5000.0) / (b * ALONG);
    assert!((free - 1.0).abs() < 0.02, "{free}");
    let freer = across(b, TIMING, ALONG, 20_000.0) / (b * ALONG);
    assert!((freer - 1.0).abs() < (free - 1.0).abs(), "{free} {freer}");
    // Neuman 1974, for R² ≪ D τ in a gradient that is always on (δ = Δ = τ): 7/96 γ²G²R⁴/D (2τ − 99/112 R²/D).
    let steady = Timing {
        pulse_ms: 40.0,
        between_ms: 40.0,
    };
    let tau = 40e-3;
    let strength = b / (tau * tau * (tau - tau / 3.0));
    for radius_um in [0.5, 1.0, 2.0, 3.0] {
        let r: f64 = radius_um * 1e-3;
        let requested =
            7.0 / 96.0 * strength * r.powi(4) / ALONG * (2.0 * tau - 99.0 / 112.0 * r * r / ALONG);
        let found = across(b, steady, ALONG, radius_um);
        assert!(
            (found / requested - 1.0).abs() < 1e-6,
            "{radius_um} µm: {found} {requested}"
        );
    }
    // A stronger gradient attenuates more, and so does a wider cylinder.
    let at = |r: f64| across(b, TIMING, ALONG, r);
    assert!((1..100).all(|i| at(0.2 * f64::from(i)) < at(0.2 * f64::from(i + 1))));
}

fn gamma() {
    let gamma = GammaRadii {
        shape: 3.0,
        scale_um: 0.7,
    };
    // The moments of r² p(r) in closed form: Γ(k + 2 + n) / Γ(k + 2) θⁿ.
    let mean = gamma.mean(|r| r);
    let square = gamma.mean(|r| r * r);
    assert!((mean - 5.0 * 0.7).abs() < 1e-6, "{mean}");
    assert!((square - 5.0 * 6.0 * 0.49).abs() < 1e-5, "{square}");
    // So narrow that only one radius remains, (k + 2) θ.
    let narrow = GammaRadii {
        shape: 1e5,
        scale_um: 3e-5,
    };
    let found = narrow.mean(|r| across(2000.0, TIMING, ALONG, r));
    let requested = across(2000.0, TIMING, ALONG, 3.0);
    assert!(
        (found / requested - 1.0).abs() < 2e-3,
        "{found} {requested}"
    );
}

fn codes() {
    let mut random = Random::fresh("commit codes");
    let (mut sum, mut most, mut coarse) = (0.0, 0f64, 0f64);
    const N: usize = 20_000;
    for _ in 0..N {
        let axis = random.direction();
        let angle = |code: u16, side: u16| {
            let dot = directions::middle(code, side).dot(axis).abs().min(1.0);
            dot.acos().to_degrees()
        };
        let code = directions::code(axis);
        assert_eq!(
            code,
            directions::code(directions::middle(code, 256)),
            "its own middle"
        );
        sum += angle(code, 256);
        most = most.max(angle(code, 256));
        coarse = coarse.max(angle(directions::cell(axis, 64), 64));
    }
    let mean = sum / N as f64;
    // The documented values.
    assert!(
        mean < 0.25 && most < 0.6 && coarse < 2.4,
        "{mean} {most} {coarse}"
    );
}
