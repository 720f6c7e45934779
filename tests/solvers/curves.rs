//! Code that streamlines and rays share: steps, and the machine-readable reasons to stop.

use crate::support::fields::Helix;
use crate::support::{Random, test};
use arcuate::solvers::curves::{DirectionField, Integrator, StopReason, step};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("curves::order of the integrators", integrators),
        test("curves::numbers and keys of the reasons to stop", reasons),
    ]
}

/// Circles around the z axis.
struct Circles;

impl DirectionField for Circles {
    type Vector = DVec3;
    type Scalar = f64;

    fn direction(&self, at: DVec3, along: DVec3) -> DVec3 {
        let e = DVec3::new(-at.y, at.x, 0.0).normalize();
        if e.dot(along) < 0.0 { -e } else { e }
    }
}

/// Error after `length` mm in `steps` steps.
fn error<F: DirectionField<Vector = DVec3, Scalar = f64>>(
    field: &F,
    integrator: Integrator,
    from: DVec3,
    along: DVec3,
    length: f64,
    steps: usize,
    truth: DVec3,
) -> f64 {
    let mut at = from;
    let mut direction = field.direction(at, along);
    for _ in 0..steps {
        at = step(field, integrator, at, direction, length / steps as f64);
        direction = field.direction(at, direction);
    }
    at.distance(truth)
}

fn integrators() {
    let mut random = Random::fresh("integrators");
    let orders = [
        (Integrator::Euler, 1.0),
        (Integrator::Rk2, 2.0),
        (Integrator::Rk4, 4.0),
    ];
    for (integrator, order) in orders {
        let helix = Helix::random(&mut random);
        let from = random.direction() * 20.0;
        let along = helix.direction(from);
        let radius = random.uniform(5.0, 20.0);
        let on_circle = |a: f64| DVec3::new(a.cos(), a.sin(), 0.0) * radius;
        for steps in [40, 80] {
            let pair = [steps, 2 * steps].map(|n| {
                let curve = error(
                    &helix,
                    integrator,
                    from,
                    along,
                    50.0,
                    n,
                    helix.follow(from, 50.0),
                );
                let start = on_circle(0.3);
                let truth = on_circle(2.3);
                let ring = error(
                    &Circles,
                    integrator,
                    start,
                    DVec3::Y,
                    2.0 * radius,
                    n,
                    truth,
                );
                [curve, ring]
            });
            for curve in 0..2 {
                let found = (pair[0][curve] / pair[1][curve]).log2();
                // At 40 steps the next term of the error still contributes a tenth.
                assert!(
                    (found - order).abs() < 0.15,
                    "{integrator:?} {steps}: {found}"
                );
            }
        }
    }
}

/// Tractograms and kernels hold the numbers; options and tables hold the keys.
fn reasons() {
    let keys = [
        "reached-target",
        "terminate-region",
        "left-volume",
        "left-mask",
        "low-fa",
        "angle",
        "max-length",
        "max-steps",
        "at-seed",
        "looped",
        "no-metric",
        "jumped",
        "low-amplitude",
        "cortical-grey",
        "deep-grey",
        "brain-stem",
        "csf",
    ];
    assert_eq!(StopReason::ALL.map(|reason| reason.key()), keys);
    for (number, reason) in StopReason::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, number, "{reason:?}");
    }
}
