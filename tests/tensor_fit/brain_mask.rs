//! The brain mask on made-up heads.

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
    ]
}

/// Twice the common volume over the sum of both.
pub fn dice(a: &Mask, b: &Mask) -> f64 {
    let both = a.inside.iter().zip(b.inside.iter());
    let common = both.filter(|(a, b)| **a != 0 && **b != 0).count();
    2.0 * common as f64 / (a.count() + b.count()) as f64
}

/// A ball of 40 mm with a dark hollow, a small bright blob apart from it, Rician noise, and a few
/// values that are not numbers; b = 0 volumes first, the weighted ones half as bright. Also the
/// ball as a mask, hollow filled.
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
    let found = tensor_fit::brain_mask(&dwi, gradients, &backend(2), &Control::new()).unwrap();
    let dice = dice(&found, &ball);
    // Half a voxel on the surface of such a ball is 1 % of Dice; a hollow or the blob more than 1 %.
    assert!(dice > 0.97, "Dice {dice}");
    assert!(found.contains(dwi.grid.centre()), "the hollow is filled");
    assert!(
        !found.contains(dwi.grid.centre() - DVec3::new(46.0, 46.0, 40.0)),
        "no blob"
    );
    for threads in [1, 3] {
        let control = Control::new();
        let again = tensor_fit::brain_mask(&dwi, gradients, &backend(threads), &control).unwrap();
        assert!(
            again.inside == found.inside,
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
