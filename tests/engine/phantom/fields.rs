//! The analytic fields satisfy their own equations.

use crate::support::{Random, test};
use arcuate::phantom::fields::{
    Constant, Field, FishEye, Geodesics, HalfSpace, Helix, LinearSpeed, PulledBack, Streamlines,
    UFibre,
};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("phantom::fields::geodesics obey their equation", geodesics),
        test("phantom::fields::fish-eye circles close", fish_eye),
        test("phantom::fields::half-space circles", half_space),
        test(
            "phantom::fields::pulled-back lines have their length",
            pulled_back,
        ),
        test(
            "phantom::fields::streamlines follow the tensor",
            streamlines,
        ),
    ]
}

fn tensor(random: &mut Random) -> DMat3 {
    let turn = DMat3::from_quat(random.rotation());
    let values = DVec3::new(1.7, random.uniform(0.2, 0.6), random.uniform(0.2, 0.6));
    turn * DMat3::from_diagonal(values) * turn.transpose()
}

/// The geodesic equation in Hamiltonian form, x' = D p, p'_k = −½ pᵀ (∂_k D) p, by central
/// differences of the curve and of the field; unit speed; start, direction and distance.
fn check<F: Geodesics>(name: &str, field: &F, from: DVec3, toward: DVec3, reach: f64) {
    const H: f64 = 1e-4;
    let at = |s: f64| field.geodesic(from, toward, s);
    assert!(at(0.0).distance(from) < 1e-12, "{name} starts elsewhere");
    // Fourth order: the remaining error is the rounding of `at`, 1e-12 / H.
    let across = |s: f64, h: f64| at(s + h) - at(s - h);
    let velocity = |s: f64| (8.0 * across(s, H) - across(s, 2.0 * H)) / (12.0 * H);
    let start = velocity(0.0).normalize();
    assert!(
        start.distance(toward.normalize()) < 1e-6,
        "{name} leaves askew"
    );
    let momentum = |s: f64| field.metric(at(s)) * velocity(s);
    for i in 1..10 {
        let s = reach * f64::from(i) / 10.0;
        let x = at(s);
        let speed = field.length(x, velocity(s));
        assert!((speed - 1.0).abs() < 1e-6, "{name} at {s}: speed {speed}");
        let p = momentum(s);
        let rate = (momentum(s + H) - momentum(s - H)) / (2.0 * H);
        for (k, axis) in DVec3::AXES.into_iter().enumerate() {
            let slope = field.tensor(x + axis * H) - field.tensor(x - axis * H);
            let force = -0.5 * p.dot(slope * p) / (2.0 * H);
            let scale = 1.0 + p.length() + force.abs();
            // Differences of differences: rounding 1e-16 / H² is 1e-8, truncation H² likewise.
            let error = (rate[k] - force).abs() / scale;
            assert!(error < 1e-5, "{name} at {s}, axis {k}: {} {force}", rate[k]);
        }
        let d = field.distance(from, x);
        assert!((d - s).abs() < 1e-9 * (1.0 + s), "{name}: {d} at {s}");
    }
}

fn geodesics() {
    let mut random = Random::fresh("phantom geodesics");
    for _ in 0..50 {
        let mut point = |size: f64| {
            DVec3::new(
                random.uniform(-size, size),
                random.uniform(-size, size),
                random.uniform(-size, size),
            )
        };
        let (near, raised) = (point(1.0), point(1.0) + DVec3::Z * 2.0);
        let (toward, gradient) = (point(1.0), point(0.5));
        let tensor = tensor(&mut random);
        check("constant", &Constant { tensor }, near, toward, 3.0);
        check("half-space", &HalfSpace, raised, toward, 2.0);
        // Shortest up to the opposite point of the sphere, at distance π.
        check("fish-eye", &FishEye, near, toward, 3.0);
        let linear = LinearSpeed {
            speed_at_origin: 2.0,
            gradient,
        };
        check("linear speed", &linear, near, toward, 1.5);
        let bent = PulledBack {
            a: random.uniform(0.5, 1.5),
            b: random.uniform(0.5, 1.5),
            k: random.uniform(0.3, 1.2),
        };
        check("pulled back", &bent, near, toward, 3.0);
    }
}

fn fish_eye() {
    let mut random = Random::fresh("phantom fish-eye");
    for _ in 0..200 {
        let from = random.direction() * random.uniform(0.2, 2.0);
        let toward = random.direction();
        let at = |s: f64| FishEye.geodesic(from, toward, s);
        assert!(
            at(std::f64::consts::TAU).distance(from) < 1e-9,
            "does not close"
        );
        let opposite = -from / from.length_squared();
        let half = at(std::f64::consts::PI);
        assert!(half.distance(opposite) < 1e-9 * (1.0 + opposite.length()));
        // Four points of the curve lie on one circle: the fourth keeps the circumcentre's distance.
        let [a, b, c, d] = [0.0, 0.7, 1.9, 4.0].map(at);
        let normal = (b - a).cross(c - a);
        if normal.length() < 1e-3 {
            continue;
        }
        let (ab, ac) = (b - a, c - a);
        let centre = a
            + (ac.length_squared() * normal.cross(ab) + ab.length_squared() * ac.cross(normal))
                / (2.0 * normal.length_squared());
        let radius = centre.distance(a);
        assert!((centre.distance(d) - radius).abs() < 1e-6 * (1.0 + radius * radius));
        assert!((d - a).dot(normal.normalize()).abs() < 1e-6 * (1.0 + d.length()));
    }
}

fn half_space() {
    // From the top of a circle of radius R: x = R tanh s, z = R / cosh s.
    let mut random = Random::fresh("phantom half-space");
    for _ in 0..100 {
        let (radius, s) = (random.uniform(0.5, 3.0), random.uniform(-3.0, 3.0));
        let x = HalfSpace.geodesic(DVec3::Z * radius, DVec3::X, s);
        let truth = DVec3::new(radius * s.tanh(), 0.0, radius / s.cosh());
        assert!(x.distance(truth) < 1e-12);
        let up = HalfSpace.geodesic(DVec3::Z * radius, DVec3::Z, s);
        assert!(up.distance(DVec3::Z * radius * s.exp()) < 1e-12 * s.exp().max(1.0) * radius);
    }
}

fn pulled_back() {
    let mut random = Random::fresh("phantom pulled back");
    for _ in 0..50 {
        let field = PulledBack {
            a: random.uniform(-2.0, 2.0),
            b: random.uniform(-2.0, 2.0),
            k: random.uniform(0.2, 1.0),
        };
        let from = random.direction() * random.uniform(0.0, 3.0);
        let toward = random.direction();
        let length = random.uniform(1.0, 5.0);
        assert!(field.bent(field.flat(from)).distance(from) < 1e-12);
        // Length by Simpson's rule along the curve against the stated one.
        const N: usize = 400;
        let h = length / N as f64;
        let speed = |i: usize| {
            let s = i as f64 * h;
            let step = 1e-5;
            let ahead = field.geodesic(from, toward, s + step);
            let behind = field.geodesic(from, toward, s - step);
            let here = field.geodesic(from, toward, s);
            field.length(here, (ahead - behind) / (2.0 * step))
        };
        let weight = |i: usize| match i {
            0 | N => 1.0,
            _ if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let sum: f64 = (0..=N).map(|i| weight(i) * speed(i)).sum::<f64>() * h / 3.0;
        assert!((sum - length).abs() < 1e-7, "{sum} {length}");
        let product = field.tensor(from) * field.metric(from) - DMat3::IDENTITY;
        assert!(product.to_cols_array().iter().all(|v| v.abs() < 1e-9));
    }
}

fn follows<F: Streamlines>(name: &str, field: &F, from: DVec3, reach: f64) {
    const H: f64 = 1e-5;
    let at = |s: f64| field.streamline(from, s);
    assert!(at(0.0).distance(from) < 1e-12, "{name}");
    for i in -10..=10 {
        let s = reach * f64::from(i) / 10.0 + 1e-3;
        let tangent = (at(s + H) - at(s - H)) / (2.0 * H);
        // A discontinuity of the curvature (U-fibre) leaves an error of order H.
        assert!(
            tangent.distance(field.direction(at(s))) < 1e-4,
            "{name} at {s}"
        );
        let d = field.tensor(at(s));
        let e = tangent.normalize();
        assert!(
            (d * e).distance(1.7 * e) < 1e-3,
            "{name}: not the principal direction"
        );
        assert!(at(s).distance(at(s + 0.5)) <= 0.5 + 1e-12);
    }
}

fn streamlines() {
    let mut random = Random::fresh("phantom streamlines");
    for _ in 0..100 {
        let from = random.direction() * random.uniform(5.0, 20.0);
        let helix = Helix {
            pitch_mm: random.uniform(5.0, 40.0),
            along: 1.7,
            across: 0.3,
        };
        follows("helix", &helix, from, 60.0);
        let u = UFibre {
            along: 1.7,
            across: 0.3,
        };
        if from.x.abs() > 1.0 {
            follows("U-fibre", &u, from, 60.0);
        }
    }
}
