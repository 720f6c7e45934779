//! The principal direction against double precision.

use crate::support::fields::{components, prolate};
use crate::support::{Random, test};
use arcuate::solvers::tracking::principal_direction;
use glam::{DMat3, DVec3, Vec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "tracking::direction is the first eigenvector",
            first_eigenvector,
        ),
        test("tracking::direction takes the sense of the last", sense),
        test(
            "tracking::direction of an isotropic tensor goes straight on",
            isotropic,
        ),
    ]
}

/// Eigenvalues with FA ≥ 0.1 whose two largest differ by 5 % of the root mean square deviator: the guarantee of
/// `direction.rs`.
fn distinct(random: &mut Random) -> DVec3 {
    loop {
        let mut l = [0; 3].map(|_| random.uniform(0.05e-3, 3e-3));
        l.sort_by(|a, b| b.total_cmp(a));
        let l = DVec3::from_array(l);
        let deviator = l - l.element_sum() / 3.0;
        let fa = (1.5 * deviator.length_squared() / l.length_squared()).sqrt();
        let rms = (deviator.length_squared() / 6.0).sqrt();
        if fa >= 0.1 && l.x - l.y >= 0.05 * rms {
            return l;
        }
    }
}

/// Refines an eigenvector in double precision by inverse iteration.
fn refined(d: DMat3, guess: DVec3) -> DVec3 {
    let mut v = guess;
    for _ in 0..4 {
        let shift = v.dot(d * v) * (1.0 + 1e-9);
        let shifted = d - DMat3::from_diagonal(DVec3::splat(shift));
        v = (shifted.inverse() * v).normalize();
    }
    v
}

fn first_eigenvector() {
    let mut random = Random::fresh("principal direction");
    let mut worst = 0.0f64;
    for _ in 0..20_000 {
        let values = distinct(&mut random);
        let turn = DMat3::from_quat(random.rotation());
        let rounded = components(turn * DMat3::from_diagonal(values) * turn.transpose());
        // The eigenvector of the solver's input: single precision, any scale.
        let scale = 10f32.powf(random.uniform(-3.0, 3.0) as f32);
        let d = rounded.map(|v| v * scale);
        let [xx, xy, xz, yy, yz, zz] = d.map(f64::from);
        let exact = DMat3::from_cols(
            DVec3::new(xx, xy, xz),
            DVec3::new(xy, yy, yz),
            DVec3::new(xz, yz, zz),
        );
        let truth = refined(exact, turn.x_axis);
        let along = random.direction().as_vec3();
        for along in [Vec3::ZERO, along] {
            let found = principal_direction(d, along.into());
            let found = Vec3::from(found).as_dvec3();
            assert!((found.length() - 1.0).abs() < 1e-6);
            worst = worst.max(found.cross(truth).length());
            assert!(along.as_dvec3().dot(found) >= -1e-4);
        }
    }
    println!("principal direction: at most {worst:.1e} rad off");
    assert!(worst < 1e-4, "{worst}");
}

fn sense() {
    let mut random = Random::fresh("sense");
    for _ in 0..1000 {
        let e = random.direction();
        let d = components(prolate(1.5e-3, 0.5e-3, e));
        let along = random.direction().as_vec3();
        let forward = principal_direction(d, along.into());
        let back = principal_direction(d, (-along).into());
        assert_eq!(forward, back.map(|c| -c));
    }
}

fn isotropic() {
    let mut random = Random::fresh("isotropic");
    for d in [[0.0; 6], [3e-3, 0.0, 0.0, 3e-3, 0.0, 3e-3]] {
        let along = random.direction().as_vec3();
        let found = Vec3::from(principal_direction(d, along.into()));
        assert!(found.distance(along) < 1e-6);
    }
}
