//! The head has the size and the parts of a head, and its images agree with its labels.

use super::cube;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Role, Volume};
use arcuate::phantom::{
    Head, PictureOptions, Tissue, oblique_grid, scan_grid, suggestions, t1_intensity,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("phantom::a head's volumes", volumes),
        test("phantom::shares sum to one", shares),
        test("phantom::T1 shows its labels", t1),
        test("phantom::tumour", tumour),
        test("phantom::labels", labels),
        test("phantom::suggestions lie in their bundles", suggested),
        test("phantom::heads differ", differ),
        test("phantom::noise in the air is not content", framed),
    ]
}

const PLAIN: PictureOptions = PictureOptions {
    snr: None,
    shading: 0.0,
    noise_seed: 1,
};

fn count(tissue: &Volume, requested: Tissue) -> f64 {
    let voxels = tissue
        .values
        .iter()
        .filter(|v| **v as u8 == requested as u8);
    voxels.count() as f64 * tissue.grid.world_from_voxel.matrix3.determinant().abs() / 1000.0
}

/// Ranges in millilitres of healthy adults (Blatter et al. 1995; Luders et al. 2002), with a margin for a 2 mm grid.
fn volumes() {
    let mut random = Random::fresh("phantom volumes");
    let head = Head::new(random.bits());
    let grid = scan_grid(2.0).unwrap();
    let control = Control::new();
    let picture = head.t1(&grid, &PLAIN, &control).unwrap();
    let ml = |t| count(&picture.tissue, t);
    let within = |what: &str, value: f64, low: f64, high: f64| {
        assert!((low..=high).contains(&value), "{what}: {value} ml");
    };
    within("brain", picture.brain.volume_ml(), 1000.0, 1600.0);
    within("ventricles", ml(Tissue::Ventricle), 10.0, 60.0);
    within("cortex", ml(Tissue::Grey), 400.0, 800.0);
    within("white matter", ml(Tissue::White), 350.0, 800.0);
    within("fluid outside", ml(Tissue::Csf), 120.0, 500.0);
    within("deep grey matter", ml(Tissue::DeepGrey), 20.0, 70.0);
    within("brain stem", ml(Tissue::BrainStem), 15.0, 60.0);
    let cerebellum = ml(Tissue::CerebellarGrey) + ml(Tissue::CerebellarWhite);
    within("cerebellum", cerebellum, 90.0, 200.0);
    within("eyes", ml(Tissue::Eye), 8.0, 20.0);
    // The other method for the same mask, from finer parts of the voxels.
    let mask = head.brain_mask(&grid, &control).unwrap();
    let differ = mask.inside.iter().zip(&*picture.brain.inside);
    let differ = differ.filter(|(a, b)| a != b).count() as f64;
    assert!(differ < 0.06 * mask.count() as f64, "{differ} voxels");
    // Only the spinal cord leaves the field of view.
    for (i, _) in mask.inside.iter().enumerate().filter(|(_, v)| **v != 0) {
        let v = grid.voxel(i);
        let rim = (0..2).any(|a| v[a] == 0 || v[a] + 1 == grid.shape[a]);
        assert!(!rim && v[2] + 1 < grid.shape[2], "brain at {v:?}");
    }
    // Left and right are similar, not equal.
    let (mut left, mut right) = (0.0, 0.0);
    for (i, _) in mask.inside.iter().enumerate().filter(|(_, v)| **v != 0) {
        let voxel = grid.voxel(i).map(|v| v as f64);
        match grid.world(DVec3::from_array(voxel)).x < 0.0 {
            true => left += 1.0,
            false => right += 1.0,
        }
    }
    let ratio: f64 = left / right;
    assert!((ratio - 1.0).abs() < 0.03 && ratio != 1.0, "{ratio}");
}

fn shares() {
    let mut random = Random::fresh("phantom shares");
    let head = Head::new(random.bits());
    for _ in 0..3_000 {
        let x = random.direction() * random.uniform(0.0, 130.0);
        let f = head.tissues(x, random.uniform(0.5, 4.0));
        let sum: f32 = f.0.iter().sum();
        assert!((sum - 1.0).abs() < 1e-4, "{x}: {f:?}");
        assert!(
            f.0.iter().all(|&s| (-1e-6..=1.0 + 1e-4).contains(&s)),
            "{f:?}"
        );
    }
    // The finer voxels of a cube together contain the same as the cube.
    let x = head.world(DVec3::new(-30.0, 20.0, 40.0));
    let fine = cube(x, 16, 0.5);
    let mut white = 0.0;
    for i in 0..fine.voxel_count() {
        let at = fine.world(DVec3::from_array(fine.voxel(i).map(|v| v as f64)));
        white += f64::from(head.tissues(at, 0.5).white()) / fine.voxel_count() as f64;
    }
    let coarse = cube(x, 4, 2.0);
    let mut shown = 0.0;
    for i in 0..coarse.voxel_count() {
        let at = coarse.world(DVec3::from_array(coarse.voxel(i).map(|v| v as f64)));
        shown += f64::from(head.tissues(at, 2.0).white()) / coarse.voxel_count() as f64;
    }
    // Sulci are thinner than the coarse voxels: four parts resolve a few percent.
    assert!((white - shown).abs() < 0.06, "{white} {shown}");
}

fn t1() {
    let mut random = Random::fresh("phantom t1");
    let head = Head::new(random.bits());
    let grid = cube(head.world(DVec3::new(-20.0, -10.0, 20.0)), 30, 1.5);
    let control = Control::new();
    let picture = head.t1(&grid, &PLAIN, &control).unwrap();
    for (value, tissue) in picture.image.values.iter().zip(&*picture.tissue.values) {
        let tissue = Tissue::ALL[*tissue as usize];
        // Its own intensity has the largest fraction; nothing here is brighter than white matter.
        assert!(*value <= t1_intensity(Tissue::White) + 1.0);
        if tissue == Tissue::White {
            assert!(*value > 500.0, "{value}");
        }
    }
    let cancelled = Control::new();
    cancelled.cancel();
    assert!(head.t1(&grid, &PLAIN, &cancelled).is_err());
}

fn tumour() {
    let mut random = Random::fresh("phantom tumour");
    let head = Head::new(random.bits());
    let whole = oblique_grid().unwrap();
    let tilt = whole.obliquity_deg();
    assert!((8.0..20.0).contains(&tilt), "{tilt}");
    assert!((whole.spacing() - 1.0).abs().max_element() < 1e-9);
    let truth = head.tumour_t1(&cube(DVec3::ZERO, 3, 1.0), &PLAIN, &Control::new());
    let grid = cube(truth.unwrap().centre, 70, 1.0);
    let created = head.tumour_t1(&grid, &PLAIN, &Control::new()).unwrap();
    let mean = |mask: &arcuate::data::Mask| {
        let inside = mask.inside.iter().zip(&*created.picture.image.values);
        let sum: f32 = inside.filter(|(m, _)| **m != 0).map(|(_, v)| v).sum();
        sum / mask.count() as f32
    };
    let (core, rim, oedema) = (
        mean(&created.core),
        mean(&created.rim),
        mean(&created.oedema),
    );
    assert!(core < 450.0 && rim > 1200.0, "{core} {rim}");
    assert!(oedema > 550.0 && oedema < 900.0, "{oedema}");
    let ball = |radius: f64| 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3) / 1000.0;
    let solid = created.core.volume_ml() + created.rim.volume_ml();
    assert!(
        solid > 0.7 * ball(14.5) && solid < 1.4 * ball(14.5),
        "{solid} ml"
    );
    assert!(created.core.contains(created.centre));
    assert!(created.oedema.volume_ml() > 5.0);
    // The tumour is in the right hemisphere, and the parts do not overlap.
    assert!(created.centre.x > 10.0);
    let parts = [&created.core, &created.rim, &created.oedema];
    for i in 0..grid.voxel_count() {
        assert!(parts.iter().map(|m| m.inside[i]).sum::<u8>() <= 1);
    }
}

fn labels() {
    let mut random = Random::fresh("phantom labels");
    let head = Head::new(random.bits());
    let tract = head.bundle("Corticospinal tract left").unwrap();
    let grid = cube(tract.centre_line(0.5), 24, 2.0);
    let labels = head.labels(&grid, &Control::new()).unwrap();
    assert_eq!(labels.tissue_names.len(), Tissue::COUNT);
    assert_eq!(labels.bundle_names.len(), head.bundles().len());
    for i in 0..grid.voxel_count() {
        let x = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        let label = labels.bundle.values[i] as u16;
        if label != 0 {
            let bundle = &head.bundles()[usize::from(label) - 1];
            assert_eq!(bundle.label, label);
            // At most half a voxel and the soft edge away.
            let c = bundle.coordinates(x);
            let [a, b] = bundle.radii_mm(c.t);
            let past = (c.u.hypot(c.v) - 1.0) * a.min(b);
            assert!(
                past < 2.0 && c.beyond_mm < 2.0,
                "{} {x}: {c:?}",
                bundle.name
            );
        }
    }
    let at = |x| labels.bundle.nearest(0, x).unwrap() as u16;
    assert_eq!(at(tract.centre_line(0.5)), tract.label);
}

fn suggested() {
    let mut random = Random::fresh("phantom suggestions");
    let head = Head::new(random.bits());
    let all = suggestions(&head);
    assert_eq!(all[0].bundle, "Corticospinal tract left");
    for suggestion in &all {
        let bundle = head.bundle(&suggestion.bundle).unwrap();
        assert_eq!(suggestion.placements[0].role, Role::Seed);
        for p in &suggestion.placements {
            assert!(bundle.contains(p.centre), "{}", p.name);
            assert!(p.centre.x < 0.0, "{} is not on the left", p.name);
        }
    }
}

fn differ() {
    let mut random = Random::fresh("phantom differ");
    let seed = random.bits();
    let centre = DVec3::new(-30.0, 10.0, 40.0);
    let draw = |seed| {
        let head = Head::new(seed);
        let picture = head.t1(&cube(centre, 20, 2.0), &PLAIN, &Control::new());
        picture.unwrap().image.values
    };
    let (one, same, other) = (draw(seed), draw(seed), draw(seed ^ 1));
    assert_eq!(one, same);
    let changed = one
        .iter()
        .zip(&*other)
        .filter(|(a, b)| (*a - *b).abs() > 50.0);
    assert!(changed.count() > one.len() / 20);
}

/// Noise in the air is not content: the slices of Segment frame the head as without noise.
fn framed() {
    let mut random = Random::fresh("phantom content");
    let head = Head::new(random.bits());
    let grid = Grid::axis_aligned(
        [130, 140, 135],
        DVec3::splat(2.0),
        DVec3::new(-130.0, -150.0, -130.0),
    );
    let grid = Arc::new(grid.unwrap());
    let clean = head.t1(&grid, &PLAIN, &Control::new()).unwrap().image;
    let expected = clean.content(0);
    for percent in [1.0, 3.0, 5.0, 9.0] {
        let sigma = f64::from(t1_intensity(Tissue::White)) * percent / 100.0;
        let rician = |v: &f32| {
            let real = f64::from(*v) + sigma * random.normal();
            real.hypot(sigma * random.normal()) as f32
        };
        let values: Vec<f32> = clean.values.iter().map(rician).collect();
        let found = Volume::scalar(grid.clone(), values).content(0);
        for axis in 0..3 {
            for end in 0..2 {
                // Half a block of 4 mm and the stride of the sampled voxels.
                let off = found[end][axis].abs_diff(expected[end][axis]);
                assert!(
                    off <= 4,
                    "{percent} %: {found:?}, without noise {expected:?}"
                );
            }
        }
        // The air on both sides is cropped.
        assert!(
            found[0][0] > 10 && found[1][0] + 10 < grid.shape[0],
            "{percent} %: {found:?}"
        );
    }
}
