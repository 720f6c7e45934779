//! Blocks with bundles of simple courses: closed forms of the courses, and scans whose tensors follow them.

use crate::support::{Random, fields::backend, test};
use arcuate::compute::Control;
use arcuate::data::{BuiltInPhantom, PhantomKind};
use arcuate::phantom::fields::{Helix, Streamlines};
use arcuate::phantom::{
    BundleRegions, Demo, HELIX_PITCH_MM, HELIX_RADIUS_MM, Head, Tissue, U_RADIUS_MM, scan_grid_of,
    suggestions,
};
use arcuate::solvers::tensor_fit;
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("phantom::blocks have their courses", courses),
        test("phantom::planar bundles cross, touch and fan out", planar),
        test("phantom::tensors of blocks follow their bundles", tensors),
        test("phantom::ends of bundles in blocks do not overlap", ends),
    ]
}

const BLOCKS: [PhantomKind; 4] = [
    PhantomKind::Helix,
    PhantomKind::Diagonal,
    PhantomKind::UFibre,
    PhantomKind::Planar,
];

fn block(kind: PhantomKind) -> Head {
    Head::built_in(BuiltInPhantom { kind, seed: 1 })
}

fn degrees(a: DVec3, b: DVec3) -> f64 {
    a.dot(b).abs().min(1.0).acos().to_degrees()
}

/// The helix, the arc and the diagonal are those of closed forms.
fn courses() {
    let mut random = Random::fresh("courses of blocks");
    let helix = block(PhantomKind::Helix);
    let known = Helix {
        pitch_mm: HELIX_PITCH_MM,
        along: 1.0,
        across: 0.2,
    };
    let u = block(PhantomKind::UFibre);
    let diagonal = block(PhantomKind::Diagonal);
    for _ in 0..200 {
        let t = random.uniform(0.08, 0.92);
        let at = helix.bundles()[0].centre_line(t);
        assert!(
            (at.truncate().length() - HELIX_RADIUS_MM).abs() < 0.01,
            "{at}"
        );
        let tangent = helix.bundles()[0].tangent(t);
        assert!(degrees(tangent, known.direction(at)) < 0.2, "{t}");
        // Off the centre line, fibres are helices of the same pitch.
        let (sin, cos) = random.uniform(0.0, std::f64::consts::TAU).sin_cos();
        let aside = helix.bundles()[0].point(t, 0.8 * cos, 0.8 * sin);
        let direction = helix.bundles()[0].direction(aside);
        assert!(degrees(direction, known.direction(aside)) < 1.5, "{t}");

        let at = u.bundles()[0].centre_line(t);
        let expected = match at.y >= 0.0 {
            true => at.truncate().length(),
            false => at.x.abs(),
        };
        assert!((expected - U_RADIUS_MM).abs() < 0.1, "{at}");
        assert!(at.z.abs() < 1e-9);

        let at = diagonal.bundles()[0].centre_line(t);
        assert!((at - at.dot(DVec3::ONE) / 3.0).length() < 1e-6, "{at}");
        let direction = diagonal.bundles()[0].direction(at);
        assert!(degrees(direction, DVec3::ONE.normalize()) < 1e-3);
    }
    assert_eq!(helix.tissues(DVec3::ZERO, 1.0).main(), Tissue::Grey);
    assert_eq!(
        helix.tissues(dvec3(60.0, 0.0, 0.0), 1.0).main(),
        Tissue::Air
    );
}

/// Column and row cross at a right angle, the oblique bundle crosses the column at 45 degrees, the kissing bundles touch
/// without crossing, and fibres of the fan part.
fn planar() {
    let head = block(PhantomKind::Planar);
    let bundle = |name| head.bundle(name).expect("a bundle");
    let at = dvec3(10.0, -15.0, 0.0);
    assert!(bundle("Column").contains(at) && bundle("Row").contains(at));
    assert!((head.crossing_rad(at).to_degrees() - 90.0).abs() < 1.0);
    let at = dvec3(10.0, 20.0, 0.0);
    assert!(bundle("Column").contains(at) && bundle("Oblique").contains(at));
    assert!((head.crossing_rad(at).to_degrees() - 45.0).abs() < 3.0);
    let [upper, lower] = ["Kissing upper", "Kissing lower"].map(bundle);
    let (mut least, mut shared) = (f64::INFINITY, 0);
    for i in 0..=100 {
        let at = upper.centre_line(f64::from(i) / 100.0);
        least = least.min(lower.distance(at));
        shared += usize::from(lower.contains(at));
    }
    assert!(
        (7.5..9.5).contains(&least) && shared == 0,
        "{least} {shared}"
    );
    let fan = bundle("Fan");
    let width = |t: f64| fan.point(t, 0.0, 0.9).distance(fan.point(t, 0.0, -0.9));
    assert!(width(1.0) > 4.0 * width(0.0));
    let angle = degrees(
        fan.direction(fan.point(0.9, 0.0, 0.9)),
        fan.direction(fan.point(0.9, 0.0, -0.9)),
    );
    assert!(angle > 15.0, "{angle}");
}

/// In the middle of bundles, away from crossings, first eigenvectors of the demo's scan are the directions of the bundle.
fn tensors() {
    let (on, control) = (backend(2), Control::new());
    for kind in BLOCKS {
        let built_in = BuiltInPhantom { kind, seed: 3 };
        let demo = on.install(|| Demo::new(built_in, &control)).unwrap();
        let params = tensor_fit::Params {
            b_range_s_per_mm2: tensor_fit::Params::default_b_range(&demo.gradients),
            ..tensor_fit::Params::defaults()
        };
        let fitted = tensor_fit::fit(
            &demo.dwi,
            &demo.gradients,
            &demo.mask,
            &params,
            &on,
            &control,
        );
        let field = fitted.unwrap().field;
        let (mut sum, mut count) = (0.0, 0);
        for bundle in demo.head.bundles() {
            for i in 1..40 {
                let at = bundle.centre_line(f64::from(i) / 40.0);
                let near = [DVec3::X, DVec3::Y].map(|d| head_crosses(&demo.head, at + 4.0 * d));
                if near.contains(&true) || head_crosses(&demo.head, at) {
                    continue;
                }
                let voxel = demo.dwi.grid.voxel_at(at).round().to_array();
                let voxel = demo.dwi.grid.index(voxel.map(|c| c as usize));
                let tensor = field.tensors[voxel].d.map(f64::from);
                let first = tensor_fit::eigen_symmetric(tensor).1[0];
                let angle = degrees(first, bundle.direction(at));
                sum += angle;
                count += 1;
            }
        }
        let mean = sum / f64::from(count);
        println!("{}: {mean:.1} degrees over {count} points", kind.key());
        // Noise of SNR 30, and curvature within a voxel.
        assert!(count > 20 && mean < 6.0, "{} {mean} {count}", kind.key());
        assert!(demo.mask.count() > 1000 && demo.t1.grid.voxel_count() > 10_000);
        let suggested = suggestions(&demo.head);
        assert_eq!(suggested.len(), demo.head.bundles().len());
    }
}

fn head_crosses(head: &Head, at: DVec3) -> bool {
    head.crossing_rad(at) > 0.0
}

/// The end regions of the truth: each bundle has voxels at both of its ends.
fn ends() {
    let (on, control) = (backend(2), Control::new());
    for kind in BLOCKS {
        let head = block(kind);
        let grid = scan_grid_of(kind, 2.0).unwrap();
        let regions = on.install(|| head.bundle_regions(&grid, &control)).unwrap();
        for bundle in head.bundles() {
            for (label, end) in BundleRegions::end_labels(bundle)
                .into_iter()
                .zip([0.0, 1.0])
            {
                let all = regions.ends.frame(0).iter();
                let voxels = all.filter(|v| **v == f32::from(label)).count();
                assert!(voxels >= 8, "{} {label}: {voxels}", bundle.name);
                let inside = bundle.centre_line(0.5 + 0.97 * (end - 0.5));
                let found = regions.ends.nearest(0, inside);
                assert_eq!(found, Some(f32::from(label)), "{}", bundle.name);
            }
        }
    }
}
