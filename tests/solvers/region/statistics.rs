//! Statistics of images within regions: closed forms, other grids, values that are no numbers, refusals.

use super::any_grid;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Mask, Volume, VolumeKind};
use arcuate::solvers::Error;
use arcuate::solvers::region::{ValueStatistics, statistics};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("region::statistics of known values", known),
        test("region::statistics by definition", by_definition),
        test("region::statistics on another grid", other_grid),
        test("region::statistics without numbers", without_numbers),
    ]
}

fn grid(shape: [usize; 3], mm: f64) -> Arc<Grid> {
    Arc::new(Grid::axis_aligned(shape, DVec3::splat(mm), DVec3::ZERO).unwrap())
}

fn measured(volume: &Volume, region: &Mask, bins: usize) -> ValueStatistics {
    statistics((volume, 0), region, bins, &Control::new()).unwrap()
}

fn known() {
    let grid = grid([6, 1, 1], 2.0);
    let image = Volume::scalar(grid.clone(), vec![1.0, 2.0, 3.0, 10.0, 99.0, 99.0]);
    let region = Mask::new(grid.clone(), vec![1, 1, 1, 1, 0, 0]);
    let found = measured(&image, &region, 3);
    assert_eq!((found.voxels, found.values, found.outside), (4, 4, 0));
    // Four voxels of 8 mm³.
    assert!((found.volume_ml - 0.032).abs() < 1e-12);
    assert_eq!(
        (found.mean, found.median, found.range),
        (4.0, 2.5, (1.0, 10.0))
    );
    // Deviations −3, −2, −1 and 6 have the squares 9 + 4 + 1 + 36 = 50, over n − 1 = 3.
    assert!((found.sd - (50f64 / 3.0).sqrt()).abs() < 1e-12);
    // Bins from 1 to 4, 7 and 10; the last one contains both limits.
    assert_eq!(found.histogram, [3, 0, 1]);
    assert_eq!([found.bin(0), found.bin(2)], [(1.0, 4.0), (7.0, 10.0)]);
    // One value: no spread, and one bin has it.
    let one = measured(&image, &Mask::new(grid, vec![0, 0, 0, 1, 0, 0]), 4);
    assert_eq!(
        (one.mean, one.sd, one.median, one.range),
        (10.0, 0.0, 10.0, (10.0, 10.0))
    );
    assert_eq!(one.histogram, [1, 0, 0, 0]);
}

fn by_definition() {
    let mut random = Random::fresh("statistics");
    let grid = any_grid(&mut random, [11, 9, 7], 0.2);
    let values: Vec<f32> = (0..693).map(|_| random.normal() as f32).collect();
    let inside: Vec<u8> = (0..693).map(|_| (random.bits() & 1) as u8).collect();
    let image = Volume::scalar(grid.clone(), values.clone());
    let region = Mask::new(grid, inside.clone());
    let found = measured(&image, &region, 20);
    let pairs = values
        .iter()
        .zip(&inside)
        .filter(|(_, inside)| **inside == 1);
    let mut own: Vec<f64> = pairs.map(|(value, _)| f64::from(*value)).collect();
    own.sort_by(f64::total_cmp);
    let n = own.len();
    let mean = own.iter().sum::<f64>() / n as f64;
    let variance = own.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    assert_eq!(found.values, n);
    assert!((found.mean - mean).abs() < 1e-12 && (found.sd - variance.sqrt()).abs() < 1e-12);
    let middle = 0.5 * (own[(n - 1) / 2] + own[n / 2]);
    // The mean of two values is rounded to single precision.
    assert!((found.median - middle).abs() < 1e-6);
    assert_eq!(found.range, (own[0], own[n - 1]));
    assert_eq!(found.histogram.iter().sum::<u64>(), n as u64);
    for (number, count) in found.histogram.iter().enumerate() {
        let (low, high) = found.bin(number);
        let last = number + 1 == found.histogram.len();
        // A value on a limit within rounding may lie in either bin: none does here.
        let inside = own.iter().filter(|v| **v >= low && (**v < high || last));
        assert_eq!(inside.count() as u64, *count, "bin {number}");
    }
    // A mask cut to its voxels has the same voxels.
    let block = region.block_inside().unwrap();
    let cut = Mask::cut_to(&region.grid, block, |i| inside[i] == 1);
    assert_eq!(measured(&image, &cut, 20), found);
}

fn other_grid() {
    // Voxels of 1 mm of the region lie in voxels of 2 mm of the image, whose centres are at 0, 2 and 4 mm.
    let image = Volume::scalar(grid([3, 1, 1], 2.0), vec![1.0, 5.0, 9.0]);
    let fine = grid([8, 1, 1], 1.0);
    let region = Mask::new(fine, vec![1, 0, 1, 0, 1, 0, 1, 1]);
    let found = measured(&image, &region, 2);
    // Centres at 0, 2 and 4 mm have values; 6 and 7 mm lie outside.
    assert_eq!((found.voxels, found.values, found.outside), (5, 3, 2));
    assert_eq!((found.mean, found.median), (5.0, 5.0));
}

fn without_numbers() {
    let grid = grid([4, 1, 1], 1.0);
    let image = Volume::scalar(grid.clone(), vec![1.0, f32::NAN, f32::INFINITY, 3.0]);
    let found = measured(&image, &Mask::new(grid.clone(), vec![1; 4]), 5);
    assert_eq!((found.voxels, found.values, found.outside), (4, 2, 0));
    assert_eq!(found.mean, 2.0);
    let refused = |volume: &Volume, inside: Vec<u8>| {
        let region = Mask::new(grid.clone(), inside);
        match statistics((volume, 0), &region, 5, &Control::new()) {
            Err(Error::Input(sentence)) => sentence.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let sentence = refused(&image, vec![0, 1, 1, 0]);
    assert!(
        sentence.contains("no number in the region's 2 voxels"),
        "{sentence}"
    );
    let colours = Volume::new(grid.clone(), 3, VolumeKind::Rgb, vec![0.5; 12]);
    let sentence = refused(&colours, vec![1; 4]);
    assert!(sentence.contains("a colour image"), "{sentence}");
}
