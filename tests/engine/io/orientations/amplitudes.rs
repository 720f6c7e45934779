//! Amplitudes that are not those of fibres.

use super::{image_of, odd_grid};
use crate::support::Random;
use arcuate::compute::Control;
use arcuate::data::odf_field::OdfLayout;
use arcuate::data::spherical_harmonics::evaluate;
use arcuate::io::{image, orientations};
use glam::DVec3;

/// Tensors, deformation fields and images in other units can be read, with a warning.
pub fn of_no_fibres() {
    let mut random = Random::fresh("amplitudes of no fibres");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("image.nii.gz");
    let grid = odd_grid(&mut random);
    let control = Control::new();
    for (scale, is_doubtful) in [(1.0, false), (1e-4, true), (1e30, true)] {
        let scaled = |values: Vec<f64>| -> Vec<f64> { values.iter().map(|v| scale * v).collect() };
        let voxels = 0..grid.voxel_count();
        let directions: Vec<DVec3> = voxels.map(|_| random.direction()).collect();
        let lobes = directions.iter().map(|u| scaled(evaluate(4, *u)));
        let lobes: Vec<Vec<f64>> = lobes.collect();
        image::save_volume(&path, &image_of(&grid, &lobes), "", &control).expect("saved");
        let odf = orientations::open_odf(&path, OdfLayout::MRTRIX, None, &control);
        let odf = odf.expect("distributions").warnings;
        let peaks = directions.iter().map(|u| scaled(u.to_array().to_vec()));
        let peaks: Vec<Vec<f64>> = peaks.collect();
        image::save_volume(&path, &image_of(&grid, &peaks), "", &control).expect("saved");
        let peaks = orientations::open_peaks(&path, None, &control);
        for warnings in [odf, peaks.expect("peaks").warnings] {
            assert_eq!(
                warnings.len(),
                usize::from(is_doubtful),
                "{scale}: {warnings:?}"
            );
            assert!(
                warnings
                    .iter()
                    .all(|w| w.starts_with("The largest amplitudes are about "))
            );
        }
    }
}
