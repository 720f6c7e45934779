//! The crossing head: equal shares, ends apart, regions of its bundles, tissue fractions.

use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{BuiltInPhantom, PhantomKind};
use arcuate::phantom::{BUNDLE_MM2_PER_S, Bundle, BundleRegions, Head, WHITE_SIGNAL, scan_grid};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("phantom::crossing bundles have equal shares", shares),
        test("phantom::crossing bundles end apart", ends),
        test("phantom::regions of crossing bundles", regions),
        test("phantom::five tissues fill the head", tissues),
        test(
            "phantom::a crossing head of a seed is always the same",
            same,
        ),
    ]
}

fn head(seed: u64) -> Head {
    Head::built_in(BuiltInPhantom::crossing(seed))
}

/// Points of a bundle's inside, on a regular pattern.
fn inside(bundle: &Bundle) -> impl Iterator<Item = DVec3> {
    (0..=400).flat_map(move |i| {
        let t = f64::from(i) / 400.0;
        [[0.0, 0.0], [0.4, 0.0], [-0.4, 0.0], [0.0, 0.4], [0.0, -0.4]]
            .map(|[u, v]| bundle.point(t, u, v))
    })
}

fn shares() {
    let head = head(Random::fresh("crossing shares").bits());
    assert_eq!(head.kind, PhantomKind::Crossing);
    let (mut two, mut three) = (0, 0);
    let edges = DVec3::AXES.map(|e| e * 1.0);
    for bundle in head.bundles() {
        assert_eq!(bundle.weight, 1.0, "{}", bundle.name);
        for x in inside(bundle) {
            // Distance from the bundle's surface, mm, negative inside; first-order.
            let outside_mm = |b: &Bundle| {
                let at = b.coordinates(x);
                let [r, s] = b.radii_mm(at.t);
                match at.beyond_mm {
                    beyond if beyond > 0.0 => beyond,
                    _ => (at.u.hypot(at.v) - 1.0) * r.min(s),
                }
            };
            // Half the diagonal of a voxel, and what the first order leaves out.
            let touches = |b: &&Bundle| outside_mm(b) < 2.0;
            let around: Vec<&Bundle> = head.bundles().iter().filter(touches).collect();
            // Well within all of them, so that each fills the voxel.
            if around.len() < 2 || !around.iter().all(|b| outside_mm(b) < -1.4) {
                continue;
            }
            let white = WHITE_SIGNAL / around.len() as f64;
            let fibres = head.compartments(x, edges);
            let fibres = fibres.iter().filter(|c| {
                // A bundle's tensor has the diffusivity along its fibres.
                let d = c.tensor;
                let trace = BUNDLE_MM2_PER_S[0] + 2.0 * BUNDLE_MM2_PER_S[1];
                (d[0] + d[3] + d[5] - trace).abs() < 1e-9
            });
            for fibre in fibres {
                assert!((fibre.signal - white).abs() < 0.02 * white, "{fibre:?}");
            }
            two += usize::from(around.len() == 2);
            three += usize::from(around.len() == 3);
        }
    }
    assert!(
        two > 20 && three > 5,
        "{two} crossings of two, {three} of three"
    );
    let crossed: Vec<f64> = head
        .bundles()
        .iter()
        .flat_map(inside)
        .map(|x| head.crossing_rad(x).to_degrees())
        .filter(|angle| *angle > 45.0)
        .collect();
    assert!(crossed.len() > 200, "{}", crossed.len());
}

/// Points on the cross-section of an end.
fn disc(bundle: &Bundle, t: f64) -> Vec<DVec3> {
    let turn = |i: usize| (i as f64 * 2.4).sin_cos();
    let point = |i: usize| {
        let (sin, cos) = turn(i);
        let radius = (i as f64 / 60.0).sqrt();
        bundle.point(t, radius * cos, radius * sin)
    };
    (0..=60).map(point).collect()
}

fn ends() {
    let mut random = Random::fresh("crossing ends");
    for _ in 0..5 {
        let head = head(random.bits());
        assert!(head.bundles().len() >= 20);
        let ends: Vec<(String, Vec<DVec3>)> = head
            .bundles()
            .iter()
            .flat_map(|b| [0.0, 1.0].map(|t| (format!("{} {t}", b.name), disc(b, t))))
            .collect();
        for (i, (name, own)) in ends.iter().enumerate() {
            for (other_name, other) in &ends[..i] {
                let pairs = own
                    .iter()
                    .flat_map(|a| other.iter().map(|b| a.distance(*b)));
                let nearest = pairs.fold(f64::INFINITY, f64::min);
                // More than the diagonal of a voxel of 2 mm.
                assert!(nearest > 3.5, "{name} and {other_name}: {nearest} mm");
            }
        }
    }
}

fn regions() {
    let head = head(Random::fresh("crossing regions").bits());
    let grid = scan_grid(2.0).unwrap();
    let created = head.bundle_regions(&grid, &Control::new()).unwrap();
    assert_eq!(created.corridors.len(), head.bundles().len());
    assert_eq!(created.names.len(), 2 * head.bundles().len());
    for (bundle, corridor) in head.bundles().iter().zip(&created.corridors) {
        for x in inside(bundle) {
            assert!(corridor.contains(x), "{}", bundle.name);
        }
        for (label, t) in BundleRegions::end_labels(bundle)
            .into_iter()
            .zip([0.0, 1.0])
        {
            for x in disc(bundle, t) {
                assert_eq!(
                    created.ends.nearest(0, x),
                    Some(f32::from(label)),
                    "{}",
                    bundle.name
                );
            }
            let count = created
                .ends
                .values
                .iter()
                .filter(|v| **v == f32::from(label))
                .count();
            assert!(count > 20, "{}: {count} voxels", bundle.name);
        }
        // No point of the corridor is far from the bundle.
        let reach = bundle.widest_mm() + 12.5;
        for voxel in corridor.voxels_inside().step_by(17) {
            let x = grid.world(DVec3::from_array(voxel.map(|v| v as f64)));
            assert!(bundle.distance(x) < reach, "{}", bundle.name);
        }
    }
}

fn tissues() {
    let head = head(Random::fresh("crossing tissues").bits());
    let grid = scan_grid(4.0).unwrap();
    let five = head.five_tissues(&grid, &Control::new()).unwrap();
    assert_eq!(five.frames, 5);
    let n = grid.voxel_count();
    let mut filled = 0;
    for i in 0..n {
        let all = [0, 1, 2, 3, 4].map(|t| five.values[t * n + i]);
        let sum: f32 = all.iter().sum();
        assert!(
            all.iter().all(|f| (0.0..=1.0 + 1e-6).contains(f)),
            "{all:?}"
        );
        assert!(sum == 0.0 || (sum - 1.0).abs() < 1e-5, "{all:?}");
        filled += usize::from(sum > 0.0);
    }
    let mask = head.brain_mask(&grid, &Control::new()).unwrap();
    // Fluid around the brain belongs to the five tissues, too.
    assert!(filled >= mask.count(), "{filled} {}", mask.count());
}

fn same() {
    let (a, b) = (head(5), head(5));
    let (a, b) = (a.true_fibres(3), b.true_fibres(3));
    assert_eq!(a.points[..], b.points[..]);
    assert_ne!(a.points[..], head(6).true_fibres(3).points[..]);
    assert_ne!(a.len(), 0);
    let plain = Head::new(5);
    assert_eq!(plain.kind, PhantomKind::Plain);
}
