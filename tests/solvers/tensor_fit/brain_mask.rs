//! The brain mask on synthetic heads.

use super::{backend, random_gradients};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Gradients, Grid, Mask, Volume, VolumeKind};
use arcuate::solvers::tensor_fit::{self, Error};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("tensor_fit::brain_mask_of_a_ball", brain_mask_of_a_ball),
        test("tensor_fit::brain_mask_without_b0", brain_mask_without_b0),
        test(
            "tensor_fit::brain_mask_needs_contrast",
            brain_mask_needs_contrast,
        ),
        test("tensor_fit::brain_mask_reports_its_certainty", firmness),
    ]
}

/// Twice the common volume over the sum of both.
pub fn dice(a: &Mask, b: &Mask) -> f64 {
    let both = a.inside.iter().zip(b.inside.iter());
    let common = both.filter(|(a, b)| **a != 0 && **b != 0).count();
    2.0 * common as f64 / (a.count() + b.count()) as f64
}

/// A ball of 40 mm with a dark hollow, a small separate bright blob, Rician noise, and a few NaN values; b = 0 volumes
/// first, the weighted ones half as bright. Also the ball as a mask, with the hollow filled.
fn head(random: &mut Random, gradients: &Gradients) -> (Volume, Mask) {
    let grid = Grid::axis_aligned([50, 40, 30], DVec3::new(2.0, 2.5, 3.0), DVec3::ZERO).unwrap();
    let grid = Arc::new(grid);
    let centre = grid.centre();
    let n = grid.voxel_count();
    let place = |i: usize| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64))) - centre;
    let blob = DVec3::new(-46.0, -46.0, -40.0);
    let brightness: Vec<f64> = (0..n)
        .map(|i| {
            let p = place(i);
            let ball = p.length() < 40.0 && p.length() > 9.0;
            f64::from(u8::from(ball || p.distance(blob) < 12.0)) * 400.0
        })
        .collect();
    let mut values = Vec::new();
    for b in &gradients.b_s_per_mm2 {
        let scale = if *b <= 50.0 { 1.0 } else { 0.5 };
        for brightness in &brightness {
            let (re, im) = (20.0 * random.normal(), 20.0 * random.normal());
            values.push((brightness * scale + re).hypot(im) as f32);
        }
    }
    for _ in 0..50 {
        let at = random.bits() as usize % values.len();
        values[at] = [f32::NAN, f32::INFINITY, -5.0][random.bits() as usize % 3];
    }
    let ball: Vec<u8> = (0..n).map(|i| u8::from(place(i).length() < 40.0)).collect();
    let dwi = Volume::new(grid.clone(), gradients.len(), VolumeKind::Scalar, values);
    (dwi, Mask::new(grid, ball))
}

fn check_ball(gradients: &Gradients, random: &mut Random) {
    let (dwi, ball) = head(random, gradients);
    let found = tensor_fit::brain_mask(&dwi, gradients, &backend(2), &Control::new());
    let found = found.unwrap().mask;
    let dice = dice(&found, &ball);
    // Half a voxel on the surface of a ball of this size is 1 % of Dice; a hollow or the blob more than 1 %.
    assert!(dice > 0.97, "Dice {dice}");
    assert!(found.contains(dwi.grid.centre()), "the hollow is filled");
    assert!(
        !found.contains(dwi.grid.centre() - DVec3::new(46.0, 46.0, 40.0)),
        "no blob"
    );
    for threads in [1, 3] {
        let control = Control::new();
        let repeated =
            tensor_fit::brain_mask(&dwi, gradients, &backend(threads), &control).unwrap();
        assert!(
            repeated.mask.inside == found.inside,
            "{threads} threads gave another mask"
        );
    }
}

fn brain_mask_of_a_ball() {
    let mut random = Random::fresh("ball");
    let gradients = random_gradients(&mut random, &[(0.0, 2), (1000.0, 3)]);
    check_ball(&gradients, &mut random);
}

fn brain_mask_without_b0() {
    let mut random = Random::fresh("without_b0");
    let gradients = random_gradients(&mut random, &[(1000.0, 3), (2000.0, 3)]);
    check_ball(&gradients, &mut random);
}

fn brain_mask_needs_contrast() {
    let mut random = Random::fresh("contrast");
    let gradients = random_gradients(&mut random, &[(0.0, 2)]);
    let grid = Arc::new(Grid::axis_aligned([9, 8, 7], DVec3::ONE, DVec3::ZERO).unwrap());
    for value in [0.0f32, 7.0, f32::NAN] {
        let values = vec![value; 2 * grid.voxel_count()];
        let flat = Volume::new(grid.clone(), 2, VolumeKind::Scalar, values);
        let found = tensor_fit::brain_mask(&flat, &gradients, &backend(1), &Control::new());
        assert!(matches!(found, Err(Error::Input(_))), "{value}");
    }
}

/// A ball whose brightness changes from its middle to its surface in this way.
fn shaded(brightness: impl Fn(f64) -> f64) -> (Volume, Gradients) {
    let mut random = Random::fresh("firmness");
    let gradients = random_gradients(&mut random, &[(0.0, 2), (1000.0, 6)]);
    let grid = Grid::axis_aligned([48; 3], DVec3::splat(3.0), DVec3::ZERO).unwrap();
    let grid = Arc::new(grid);
    let centre = grid.centre();
    let n = grid.voxel_count();
    let values = (0..n * gradients.len()).map(|i| {
        let voxel = grid.voxel(i % n).map(|v| v as f64);
        let mm = grid.world(DVec3::from_array(voxel)).distance(centre);
        let scale = if gradients.b_s_per_mm2[i / n] > 50.0 {
            0.5
        } else {
            1.0
        };
        let (re, im) = (10.0 * random.normal(), 10.0 * random.normal());
        (1000.0 * scale * brightness(mm) + re).hypot(im) as f32
    });
    let values: Vec<f32> = values.collect();
    let dwi = Volume::new(grid.clone(), gradients.len(), VolumeKind::Scalar, values);
    (dwi, gradients)
}

fn firmness() {
    let masked = |brightness: &dyn Fn(f64) -> f64| {
        let (dwi, gradients) = shaded(brightness);
        tensor_fit::brain_mask(&dwi, &gradients, &backend(2), &Control::new()).unwrap()
    };
    let firm = masked(&|mm| f64::from(u8::from(mm < 60.0))).report;
    assert!(firm.agreement > 0.97 && firm.holes == 0, "{firm:?}");
    assert!(!firm.doubtful(), "{firm:?}");
    // A hole of 20 mm is 4 % of the ball, one of 30 mm 12 %; the median filter removes a little.
    let hollow = |radius: f64| masked(&move |mm| f64::from(u8::from(mm < 60.0 && mm >= radius)));
    for (radius, doubtful) in [(20.0, false), (30.0, true)] {
        let found = hollow(radius).report;
        let ml = 4.0 / 3.0 * std::f64::consts::PI * f64::powi(radius, 3) / 1000.0;
        assert_eq!(found.holes, 1, "{found:?}");
        assert!((found.largest_hole_ml / ml - 1.0).abs() < 0.15, "{found:?}");
        assert_eq!(found.holes_ml, found.largest_hole_ml);
        assert_eq!(found.has_large_hole(), doubtful, "{found:?}");
        assert_eq!(found.doubtful(), doubtful, "{found:?}");
    }
    // A dim rim around it passes only one of the two thresholds, as a face would.
    let rim = |mm: f64| match mm {
        mm if mm < 60.0 => 1.0,
        mm if mm < 66.0 => 0.42,
        _ => 0.0,
    };
    let vague = masked(&rim).report;
    assert!(vague.changes_with_threshold(), "{vague:?}");
}
