//! Tensor deflection against its formula in double precision, and in its limiting cases.

use crate::support::fields::{
    cube, fibre, field, max_distance, one_seed, params, points, prolate, run, stops, try_run,
};
use crate::support::{Random, test};
use arcuate::solvers::Error;
use arcuate::solvers::curves::{Deflection, Integrator, Params, StopReason};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("tracking::deflection follows its formula", formula),
        test(
            "tracking::deflection by a constant tensor is a power",
            power,
        ),
        test(
            "tracking::deflection with f 1 is Euler's rule",
            all_principal,
        ),
        test(
            "tracking::deflection goes straight on where tensors are round",
            round,
        ),
        test(
            "tracking::deflection that makes no sense is refused",
            refused,
        ),
    ]
}

fn deflected(f: f64, g: f64) -> Params {
    Params {
        integrator: Integrator::Euler,
        deflection: Some(Deflection { f, g }),
        ..params()
    }
}

/// Directions of a streamline's steps from its seed on, in one direction.
fn steps(line: &[DVec3]) -> Vec<DVec3> {
    line.windows(2).map(|p| (p[1] - p[0]).normalize()).collect()
}

/// A tensor that is linear in space, so linear interpolation preserves it.
struct Linear {
    at_origin: DMat3,
    along: [DMat3; 3],
}

impl Linear {
    fn random(random: &mut Random) -> Self {
        let mut tensor = |size: f64| {
            let turn = DMat3::from_quat(random.rotation());
            let values = DVec3::from_array([(); 3].map(|()| random.uniform(-size, size)));
            turn * DMat3::from_diagonal(values) * turn.transpose()
        };
        Self {
            along: [(); 3].map(|()| tensor(1.2e-5)),
            at_origin: prolate(1.7e-3, 0.5e-3, random.direction()),
        }
    }

    /// mm²/s.
    fn at(&self, at: DVec3) -> DMat3 {
        let [x, y, z] = self.along;
        self.at_origin + x * at.x + y * at.y + z * at.z
    }
}

/// Eigenvector of the largest eigenvalue, by squaring the tensor many times.
fn principal(d: DMat3, along: DVec3) -> DVec3 {
    let mut power = d * (1.0 / d.determinant().cbrt());
    for _ in 0..12 {
        power = power * power;
        let size = power.x_axis.length() + power.y_axis.length() + power.z_axis.length();
        power *= 1.0 / size;
    }
    (power * along).normalize()
}

fn formula() {
    let mut random = Random::fresh("deflection");
    for _ in 0..10 {
        let linear = Linear::random(&mut random);
        let field = field(cube(25, 2.0), |p| Some(linear.at(p)));
        let (f, g) = (random.uniform(0.0, 1.0), random.uniform(0.0, 1.0));
        let at = random.direction() * 4.0;
        let (seed, params) = one_seed(at, &deflected(f, g));
        let params = Params {
            both_ways: false,
            max_length_mm: Some(18.0),
            ..params
        };
        let output = run(&field, &[seed], &params);
        assert_eq!(output.kept.len(), 1);
        let line = points(&output, 0);
        let mut direction = principal(linear.at(at), line[1] - line[0]);
        let mut place = line[0];
        let mut requested = vec![place];
        for _ in 1..line.len() {
            place += direction * params.step_mm;
            requested.push(place);
            let d = linear.at(place);
            let rest = (1.0 - g) * direction + g * (d * direction).normalize();
            direction = (f * principal(d, direction) + (1.0 - f) * rest).normalize();
        }
        // Single-precision directions are accurate to 1e-4 rad; errors of 36 steps add.
        let error = max_distance(&line, &requested);
        assert!(error < 4e-3, "f {f} g {g}: {error} mm");
        assert_eq!(stops(&output, 0)[1], StopReason::MaxLength);
    }
}

/// With f = 0 and g = 1 the nth direction in a constant tensor is Dⁿ v, scaled.
fn power() {
    let mut random = Random::fresh("deflection power");
    for _ in 0..10 {
        // Fibres along x, then, above x = 0, along another direction: the incoming direction turns by degrees.
        let other = (DVec3::X + random.direction() * 0.8).normalize();
        let (before, beyond) = (fibre(DVec3::X), prolate(1.2e-3, 0.8e-3, other));
        let field = field(cube(41, 1.0), |p| {
            Some(if p.x < 0.0 { before } else { beyond })
        });
        let (seed, params) = one_seed(DVec3::new(-5.0, 0.1, 0.2), &deflected(0.0, 1.0));
        let output = run(&field, &[seed], &params);
        let mut line = points(&output, 0);
        if line[0].x > line[line.len() - 1].x {
            line.reverse();
        }
        // All eight voxels around a point beyond the border have the same tensor.
        let first = line.iter().position(|p| p.x > 0.6).unwrap();
        let steps = steps(&line[first..]);
        let mut direction = steps[0];
        for (n, step) in steps.iter().enumerate().take(12) {
            let turned = direction.dot(*step).min(1.0).acos();
            // Steps of 0.5 mm between points in f32, 10 mm from the origin, resolve 4e-6 rad; the errors of the
            // directions add.
            assert!(turned < 1e-3, "step {n}: {turned} rad");
            direction = (beyond * direction).normalize();
        }
        let settled = steps[steps.len().min(12) - 1].dot(other).abs();
        assert!(settled > steps[0].dot(other).abs() || settled > 0.999);
    }
}

fn all_principal() {
    let mut random = Random::fresh("deflection f 1");
    let linear = Linear::random(&mut random);
    let field = field(cube(25, 2.0), |p| Some(linear.at(p)));
    let (seed, euler) = one_seed(DVec3::splat(0.3), &params());
    let euler = Params {
        integrator: Integrator::Euler,
        ..euler
    };
    let all = Params {
        deflection: Some(Deflection { f: 1.0, g: 0.4 }),
        ..euler.clone()
    };
    let [plain, deflected] =
        [&euler, &all].map(|p| points(&run(&field, std::slice::from_ref(&seed), p), 0));
    // One more rounding per step.
    assert!(max_distance(&plain, &deflected) < 1e-3);
}

/// An isotropic tensor deflects nothing: with f = 0 the path through it is straight.
fn round() {
    let mut random = Random::fresh("deflection round");
    let along = random.direction();
    let field = field(cube(41, 1.0), |p| {
        Some(if p.length() < 8.0 {
            DMat3::from_diagonal(DVec3::splat(0.8e-3))
        } else {
            fibre(along)
        })
    });
    let (seed, params) = one_seed(along * -14.0, &deflected(0.0, random.uniform(0.2, 1.0)));
    let output = run(&field, &[seed], &params);
    let line = points(&output, 0);
    assert!(
        line.iter().any(|p| p.dot(along) > 14.0),
        "it comes out beyond"
    );
    for step in steps(&line) {
        assert!(step.dot(along).abs() > 1.0 - 1e-6, "{step}");
    }
}

fn refused() {
    let field = field(cube(9, 2.0), |_| Some(fibre(DVec3::X)));
    let (seed, _) = one_seed(DVec3::ZERO, &params());
    for params in [
        deflected(1.1, 0.0),
        deflected(0.5, f64::NAN),
        Params {
            integrator: Integrator::Rk4,
            ..deflected(0.5, 0.5)
        },
    ] {
        let refused = try_run(&field, std::slice::from_ref(&seed), &params);
        assert!(matches!(refused, Err(Error::Input(_))), "{params:?}");
    }
}
