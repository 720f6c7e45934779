//! Properties of bundles: direction, distance, membership and sides.

use crate::support::{Random, test};
use arcuate::phantom::{Bundle, Head, Tissue, directions::half_sphere};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("phantom::direction is the derivative", direction),
        test("phantom::coordinates are found again", coordinates),
        test("phantom::distance is the nearest point", distance),
        test("phantom::ends close the bundle", ends),
        test("phantom::left is left", sides),
        test("phantom::bundles are white matter", white),
        test("phantom::the crossing crosses", crossing),
        test("phantom::true fibres keep to their bundle", fibres),
        test("phantom::gradient directions are even", even),
    ]
}

/// A bundle, and a point in it that is not at an end or the surface.
fn pick<'a>(head: &'a Head, random: &mut Random) -> (&'a Bundle, f64, f64, f64) {
    let all = head.bundles();
    let bundle = &all[random.bits() as usize % all.len()];
    let radius = random.uniform(0.01, 0.9);
    let (sin, cos) = random.uniform(0.0, std::f64::consts::TAU).sin_cos();
    let t = random.uniform(0.02, 0.98);
    (bundle, t, radius * cos, radius * sin)
}

fn direction() {
    let mut random = Random::fresh("phantom direction");
    let head = Head::new(random.bits());
    // Central differences of smooth curves: error of order h², far below the tolerance.
    const H: f64 = 1e-5;
    for _ in 0..2_000 {
        let (bundle, t, u, v) = pick(&head, &mut random);
        let line = (bundle.centre_line(t + H) - bundle.centre_line(t - H)).normalize();
        assert!(bundle.tangent(t).distance(line) < 1e-6, "{}", bundle.name);
        assert!(bundle.direction(bundle.centre_line(t)).distance(line) < 1e-6);
        let fibre = (bundle.point(t + H, u, v) - bundle.point(t - H, u, v)).normalize();
        let found = bundle.direction(bundle.point(t, u, v));
        assert!(found.distance(fibre) < 1e-5, "{} {t} {u} {v}", bundle.name);
    }
}

fn coordinates() {
    let mut random = Random::fresh("phantom coordinates");
    let head = Head::new(random.bits());
    for _ in 0..2_000 {
        let (bundle, t, u, v) = pick(&head, &mut random);
        let x = bundle.point(t, u, v);
        let c = bundle.coordinates(x);
        let error = (c.t - t).abs().max((c.u - u).abs()).max((c.v - v).abs());
        assert!(error < 1e-6, "{} {t} {u} {v}: {c:?}", bundle.name);
        assert!(bundle.contains(x));
        // Just outside the surface.
        let out = 1.02 / u.hypot(v);
        assert!(!bundle.contains(bundle.point(t, u * out, v * out)));
    }
}

fn distance() {
    let mut random = Random::fresh("phantom distance");
    let head = Head::new(random.bits());
    for _ in 0..200 {
        let (bundle, t, ..) = pick(&head, &mut random);
        let x = bundle.centre_line(t) + random.direction() * random.uniform(0.0, 25.0);
        let count = 20_000;
        let brute = (0..=count)
            .map(|i| bundle.centre_line(i as f64 / count as f64).distance(x))
            .fold(f64::INFINITY, f64::min);
        // Neighbours of the brute search are at most 0.01 mm apart.
        let found = bundle.distance(x);
        assert!(found <= brute + 1e-9, "{} {found} {brute}", bundle.name);
        assert!(brute - found < 0.01, "{} {found} {brute}", bundle.name);
    }
}

fn ends() {
    let mut random = Random::fresh("phantom ends");
    let head = Head::new(random.bits());
    for bundle in head.bundles() {
        assert!(bundle.thinnest_mm() > 1.0, "{}", bundle.name);
        assert!(bundle.widest_mm() < 15.0, "{}", bundle.name);
        assert!(bundle.length_mm() > 40.0, "{}", bundle.name);
        for (end, t) in bundle.ends().into_iter().zip([0.0, 1.0]) {
            assert_eq!(end.centre, bundle.centre_line(t));
            assert!(bundle.contains(end.centre - 0.1 * end.outward));
            assert!(!bundle.contains(end.centre + 0.1 * end.outward));
        }
        // Chords are shorter than the curve, with 2000 of them only slightly.
        let fibre = bundle.fibre(0.0, 0.0, 2001);
        let chords: f64 = fibre.windows(2).map(|w| w[0].distance(w[1])).sum();
        let short = bundle.length_mm() - chords;
        assert!(short > -1e-4 && short < 1e-2, "{} {short}", bundle.name);
    }
    let mut labels: Vec<u16> = head.bundles().iter().map(|b| b.label).collect();
    labels.dedup();
    assert_eq!(labels.len(), head.bundles().len());
    assert!(!labels.contains(&0));
}

fn sides() {
    let mut random = Random::fresh("phantom sides");
    let head = Head::new(random.bits());
    let mut pairs = 0;
    for left in head.bundles() {
        let Some(stem) = left.name.strip_suffix(" left") else {
            continue;
        };
        let right = head.bundle(&format!("{stem} right")).unwrap();
        for _ in 0..50 {
            let (t, u, v) = (random.uniform(0.0, 1.0), 0.5, 0.0);
            assert!(left.centre_line(t).x < 0.0, "{}", left.name);
            let mirrored = right.point(t, u, v) * DVec3::new(-1.0, 1.0, 1.0);
            assert!(left.point(t, u, v).distance(mirrored) < 1e-9, "{stem}");
        }
        pairs += 1;
    }
    assert!(pairs >= 4, "{pairs} pairs");
    // The callosum runs from left to right and is halved by the midline.
    let genu = head.bundle("Corpus callosum, genu").unwrap();
    let [from, to] = genu.ends();
    assert!(from.centre.x < -10.0 && to.centre.x > 10.0);
    assert!(genu.centre_line(0.5).x.abs() < 1e-9);
}

fn white() {
    let mut random = Random::fresh("phantom white");
    let head = Head::new(random.bits());
    for _ in 0..500 {
        let (bundle, t, ..) = pick(&head, &mut random);
        let f = head.tissues(bundle.centre_line(t), 0.5);
        assert!(f.white() > 0.99, "{} at {t}: {f:?}", bundle.name);
    }
}

fn crossing() {
    let mut random = Random::fresh("phantom crossing");
    let head = Head::new(random.bits());
    for side in ["left", "right"] {
        let tract = head.bundle(&format!("Corticospinal tract {side}")).unwrap();
        let angles = (0..=400).map(|i| head.crossing_rad(tract.centre_line(f64::from(i) / 400.0)));
        let most = angles.fold(0.0, f64::max);
        assert!(most > 40f64.to_radians(), "{side}: {most}");
        assert_eq!(head.crossing_rad(tract.centre_line(0.5)), 0.0);
    }
}

fn fibres() {
    let mut random = Random::fresh("phantom fibres");
    let head = Head::new(random.bits());
    let per_bundle = 7;
    let tractogram = head.true_fibres(per_bundle);
    assert_eq!(tractogram.len(), per_bundle * head.bundles().len());
    for (i, line) in tractogram.streamlines().enumerate() {
        let bundle = &head.bundles()[i / per_bundle];
        let label = tractogram.per_streamline["bundle"][i];
        assert_eq!(label, f32::from(bundle.label));
        // Inside, up to the rounding of points to f32 at the two ends.
        for p in &line[1..line.len() - 1] {
            let x = glam::Vec3::from(*p).as_dvec3();
            assert!(bundle.contains(x), "{} {x}", bundle.name);
        }
    }
    let tissues = head.tissues(DVec3::new(0.0, 0.0, 300.0), 2.0);
    assert_eq!(tissues.main(), Tissue::Air);
}

fn even() {
    for count in [6, 12, 30, 32, 64, 101] {
        let points = half_sphere(count);
        assert_eq!(points.len(), count);
        let mut nearest = f64::INFINITY;
        let mut second = DMat3::ZERO;
        for (i, &p) in points.iter().enumerate() {
            assert!((p.length() - 1.0).abs() < 1e-12 && p.z >= 0.0);
            second += DMat3::from_cols(p.x * p, p.y * p, p.z * p);
            for &q in &points[..i] {
                nearest = nearest.min(p.dot(q).abs().min(1.0).acos());
            }
        }
        // The best possible spacing of 2n points on the sphere (Fejes Tóth 1943); relaxed sets
        // reach more than 85 % of it, a random set about 10 %.
        let n = 2.0 * count as f64;
        let omega = n / (n - 2.0) * std::f64::consts::FRAC_PI_6;
        let best = (0.5 * (1.0 / omega.tan().powi(2) - 1.0))
            .clamp(-1.0, 1.0)
            .acos();
        assert!(nearest > 0.85 * best, "{count}: {nearest} of {best}");
        // No direction is preferred: the second moment is n/3 times the identity.
        let off = second * (3.0 / count as f64) - DMat3::IDENTITY;
        let worst = off
            .to_cols_array()
            .into_iter()
            .fold(0.0, |m: f64, v| m.max(v.abs()));
        assert!(worst < 0.02, "{count}: {off}");
    }
}
