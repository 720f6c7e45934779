//! The default tolerance: from the sample's spread, the contrast to the surroundings, and the background.

use super::grid;
use crate::support::fields::backend;
use crate::support::{Random, test};
use arcuate::data::{AffineSource, Grid, Volume};
use arcuate::solvers::level_set::{Background, Probe};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("level_set::the tolerance is half of the contrast", contrast),
        test(
            "level_set::the tolerance stops short of the background",
            background,
        ),
        test(
            "level_set::the probe does not depend on how the image is stored",
            storage_order,
        ),
    ]
}

/// Values by the distance from the middle in mm, with noise; and the voxels within 2 mm of it.
fn image(noise: f64, value: impl Fn(f64) -> f64) -> (Volume, Vec<usize>) {
    let grid = grid(DMat3::IDENTITY, 64.0);
    let mut random = Random::fresh("level set probe");
    let radius = |i: usize| {
        grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)))
            .length()
    };
    let all = 0..grid.voxel_count();
    let values: Vec<f32> = all
        .clone()
        .map(|i| (value(radius(i)) + noise * random.normal()) as f32)
        .collect();
    let sample = all.filter(|i| radius(*i) < 2.0).collect();
    (Volume::scalar(grid, values), sample)
}

fn probe((image, voxels): &(Volume, Vec<usize>)) -> Probe {
    backend(2).install(|| Probe::new(image, 0, voxels)).unwrap()
}

fn contrast() {
    let ball = |r: f64| if r < 8.0 { 100.0 } else { 40.0 };
    let found = probe(&image(0.5, ball));
    assert!((found.target - 100.0).abs() < 0.5);
    assert!((24.0..27.0).contains(&found.tolerance), "{found:?}");
    // The nearer of two surrounding values: a shell of 70 in 0.
    let shelled = |r: f64| match r {
        _ if r < 8.0 => 100.0,
        _ if r < 14.0 => 70.0,
        _ => 20.0,
    };
    let found = probe(&image(0.5, shelled));
    assert!((12.0..18.0).contains(&found.tolerance), "{found:?}");
    // In noise the tolerance is one and a half spreads, below the distance to the surroundings.
    let found = probe(&image(25.0, ball));
    let spread = 1.5 * found.spread;
    assert!(
        (f64::from(found.tolerance) - spread).abs() < 0.1 * spread,
        "{found:?}"
    );
    assert!(found.tolerance < 50.0, "{found:?}");
    assert!(!found.mixed);
    // A sample across the border contains both.
    let (volume, _) = image(2.0, ball);
    let grid = &volume.grid;
    let at = |i: usize| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
    let near = |x: f64| -> Vec<usize> {
        let middle = DVec3::new(x, 0.0, 0.0);
        let all = 0..grid.voxel_count();
        all.filter(|i| at(*i).distance(middle) < 3.0).collect()
    };
    for (x, mixed) in [
        (0.0, false),
        (4.0, false),
        (7.0, true),
        (8.0, true),
        (13.0, false),
    ] {
        let found = probe(&(volume.clone(), near(x)));
        assert_eq!(found.mixed, mixed, "{x} {found:?}");
    }
    // The probe reports the values next to the sample by side, and doubts a range that contains one of them.
    let found = probe(&(volume.clone(), near(0.0)));
    let [Some(darker), None] = found.adjacent else {
        panic!("{found:?}");
    };
    assert!((darker - 40.0).abs() < 3.0, "{found:?}");
    let stored = |half: f64| found.neighbour_within([100.0 - half, 100.0 + half]);
    assert_eq!([stored(25.0), stored(50.0)], [None; 2]);
    assert_eq!(stored(65.0), Some(darker));
    let (shell, voxels) = image(2.0, shelled);
    let near: Vec<usize> = (0..grid.voxel_count())
        .filter(|i| (10.0..12.0).contains(&at(*i).length()))
        .collect();
    assert_ne!(near, voxels);
    let found = probe(&(shell, near));
    assert!(
        matches!(found.adjacent, [Some(d), Some(b)] if d < 60.0 && b > 80.0),
        "{found:?}"
    );
    assert!(found.neighbour_within([70.0 - 40.0, 70.0 + 40.0]).is_some());
    let default = [-1.0, 1.0].map(|s| f64::from(found.target + s * found.tolerance));
    assert_eq!(found.neighbour_within(default), None, "{found:?}");
    // Each voxel counts once.
    let (volume, voxels) = image(4.0, ball);
    let twice = [&voxels[..], &voxels[..9]].concat();
    assert_eq!(probe(&(volume.clone(), voxels)), probe(&(volume, twice)));
}

/// Fluid of 40 in tissue of 200 in a bright skin, in air.
fn background() {
    let head = |r: f64| match r {
        _ if r < 8.0 => 40.0,
        _ if r < 20.0 => 200.0,
        _ if r < 23.0 => 12.0,
        _ if r < 26.0 => 260.0,
        _ => 0.0,
    };
    for noise in [0.0, 2.0, 4.0] {
        let sample = image(noise, |r| head(r) + 3.0 * noise);
        let found = probe(&sample);
        let air = backend(2)
            .install(|| Background::from_image(&sample.0, 0))
            .expect("air");
        assert!(
            (f64::from(air.mode) - 3.0 * noise).abs() < 0.5 * noise + 0.5,
            "{air:?}"
        );
        let low = found.target - found.tolerance;
        assert!(low > air.mode + air.spread, "{found:?} {}", air.mode);
        assert!(found.tolerance > 20.0, "{found:?}");
        // The air is a neighbour like any other: the range ends nearly halfway to it, or where noise ends.
        let half = 40.0 - 0.5 * (40.0 - noise * 3.0);
        let noise_ends = 40.0 - 3.0 * found.spread;
        assert!(f64::from(low) > half.min(noise_ends) - 1.0, "{found:?}");
        // The skull is dark, but not air: it is not connected to the border.
        let grid = &sample.0.grid;
        let at = |x: f64| grid.nearest(DVec3::new(x, 0.0, 0.0)).expect("within");
        let stored = |x: f64| air.contains(at(x), sample.0.frame(0)[grid.index(at(x))]);
        assert!(stored(30.0) && !stored(21.5) && !stored(0.0));
        assert!(air.is_target(air.mode) && !air.is_target(found.target));
    }
    // A crop of tissue has no background.
    let crop = image(3.0, |r| if r < 8.0 { 40.0 } else { 200.0 });
    assert!(
        backend(2)
            .install(|| Background::from_image(&crop.0, 0))
            .is_none()
    );
}

/// A head in air, of whole numbers as a scanner stores them, with axes stored in the given order and direction.
fn stored_head(values: &[f32], axes: [(usize, bool); 3]) -> (Volume, Vec<usize>) {
    // No edge is a whole number of background blocks.
    const RAS_SHAPE: [usize; 3] = [61, 58, 63];
    let shape = axes.map(|(world, _)| RAS_SHAPE[world]);
    let mut matrix = DMat3::ZERO;
    let mut origin = DVec3::splat(-30.0);
    for (a, (world, same)) in axes.into_iter().enumerate() {
        let sign = if same { 1.0 } else { -1.0 };
        *matrix.col_mut(a) = sign * DVec3::AXES[world];
        if !same {
            origin[world] += (shape[a] - 1) as f64;
        }
    }
    let affine = DAffine3::from_mat3_translation(matrix, origin);
    let grid = Grid::new(shape, affine, AffineSource::Sform).expect("a grid");
    let in_ras = |i: usize| {
        let [x, y, z] = grid.voxel_in_ras_order(i);
        x + RAS_SHAPE[0] * (y + RAS_SHAPE[1] * z)
    };
    let all = 0..grid.voxel_count();
    let stored: Vec<f32> = all.clone().map(|i| values[in_ras(i)]).collect();
    let at = |i: usize| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
    let sample = all.filter(|i| at(*i).distance(DVec3::new(1.0, 2.0, 3.0)) < 3.5);
    let sample = sample.collect();
    (Volume::scalar(grid.into(), stored), sample)
}

fn storage_order() {
    let mut random = Random::fresh("level set probe order");
    let all = 0..61 * 58 * 63usize;
    let values: Vec<f32> = all
        .map(|i| {
            let voxel = [i % 61, i / 61 % 58, i / (61 * 58)].map(|v| v as f64);
            let r = (DVec3::from_array(voxel) - 29.5).length();
            let tissue = match r {
                _ if r < 9.0 => 300.0,
                _ if r < 22.0 => 700.0 + 4.0 * voxel[0],
                _ => 20.0,
            };
            (tissue + 12.0 * random.normal()).round() as f32
        })
        .collect();
    let ras = stored_head(&values, [(0, true), (1, true), (2, true)]);
    let expected = probe(&ras);
    assert!(expected.background.is_some() && expected.contrast.is_some());
    for axes in [
        [(0, false), (1, true), (2, true)],
        [(0, false), (1, false), (2, false)],
        [(1, false), (2, true), (0, true)],
        [(2, false), (0, false), (1, true)],
    ] {
        let other = stored_head(&values, axes);
        assert_eq!(probe(&other), expected, "{}", other.0.grid.orientation());
    }
}
