//! Drawn and computed regions, against closed forms and brute force on grids of any kind.

mod computed;
mod drawing;
mod history;
mod making;
mod parts;
mod statistics;

use crate::support::Random;
use arcuate::data::{AffineSource, Grid, Mask};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let all = [
        computed::tests(),
        drawing::tests(),
        history::tests(),
        making::tests(),
        parts::tests(),
        statistics::tests(),
    ];
    all.into_iter().flatten().collect()
}

/// A grid in any orientation, mirrored or not; `shear` tilts its axes towards each other.
fn any_grid(random: &mut Random, shape: [usize; 3], shear: f64) -> Arc<Grid> {
    let spacing = DVec3::from_array([0; 3].map(|_| random.uniform(0.8, 2.5)));
    let mirror = DVec3::from_array([0; 3].map(|_| [-1.0, 1.0][(random.bits() & 1) as usize]));
    let lean = DMat3::from_cols(
        DVec3::X,
        DVec3::new(random.uniform(-shear, shear), 1.0, 0.0),
        DVec3::new(
            random.uniform(-shear, shear),
            random.uniform(-shear, shear),
            1.0,
        ),
    );
    let matrix =
        DMat3::from_quat(random.rotation()) * lean * DMat3::from_diagonal(spacing * mirror);
    let affine = DAffine3::from_mat3_translation(matrix, random.direction() * 50.0);
    Arc::new(Grid::new(shape, affine, AffineSource::Computed).unwrap())
}

fn centres(grid: &Grid) -> impl Iterator<Item = DVec3> + '_ {
    (0..grid.voxel_count()).map(|i| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64))))
}

/// The voxels whose centres are inside, by testing every one.
fn brute(grid: &Arc<Grid>, inside: impl Fn(DVec3) -> bool) -> Vec<u8> {
    centres(grid).map(|c| u8::from(inside(c))).collect()
}

/// A mask's cached properties agree with its voxels.
fn consistent(mask: &Mask) {
    let fresh = Mask::new(mask.grid.clone(), mask.inside.clone());
    assert_eq!(mask.count(), fresh.count());
    assert_eq!(mask.block_inside(), fresh.block_inside());
    let (a, b) = (mask.centre_inside(), fresh.centre_inside());
    // Sums of whole numbers are exact.
    assert_eq!(a, b);
    assert_eq!(mask.bounds_inside(), fresh.bounds_inside());
}
