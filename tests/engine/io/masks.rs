//! Masks: only of one volume, on the right grid, and not empty.

use super::sentence;
use crate::support::composed_nifti::random_affine;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Volume, VolumeKind};
use arcuate::io::{self, Error, nifti};
use glam::{DAffine3, DVec3};
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::masks::on_their_grid", on_their_grid),
        test("io::masks::stored_the_other_way_round", reordered),
        test("io::masks::refusals_are_sentences", refused),
        test("io::masks::known_by_their_values", by_values),
        test(
            "io::masks::masks_next_to_their_scan_are_found",
            adjacent_masks,
        ),
    ]
}

struct Case {
    _folder: tempfile::TempDir,
    path: PathBuf,
    grid: Arc<Grid>,
}

fn case(random: &mut Random) -> Case {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let grid = Grid::new([6, 5, 4], random_affine(random, false), AffineSource::Sform);
    Case {
        path: folder.path().join("mask.nii.gz"),
        _folder: folder,
        grid: Arc::new(grid.expect("regular")),
    }
}

fn save(case: &Case, grid: Arc<Grid>, frames: usize, values: Vec<f32>) {
    let volume = Volume::new(grid, frames, VolumeKind::Scalar, values);
    nifti::save_volume(&case.path, &volume, "", &Control::new()).expect("saved");
}

/// A grid shifted by `mm` along a world direction.
fn shifted(grid: &Grid, by: DVec3) -> Arc<Grid> {
    let affine = DAffine3::from_translation(by) * grid.world_from_voxel;
    Arc::new(Grid::new(grid.shape, affine, grid.source).expect("regular"))
}

/// Voxels stored with axes flipped or permuted form the same mask, by world position; anything else is another grid.
fn reordered() {
    let mut random = Random::fresh("reordered");
    for (order, flips) in [
        ([0, 1, 2], [true, false, false]),
        ([0, 1, 2], [true, true, true]),
        ([1, 0, 2], [false, false, false]),
        ([2, 0, 1], [false, true, true]),
    ] {
        let case = case(&mut random);
        let shape = order.map(|a| case.grid.shape[a]);
        // The transform from a stored voxel to the image's.
        let m = case.grid.world_from_voxel.matrix3;
        let last = |a: usize| case.grid.shape[a] as f64 - 1.0;
        let mut first = DVec3::ZERO;
        let columns = [0, 1, 2].map(|i| {
            let (axis, sign) = (order[i], if flips[i] { -1.0 } else { 1.0 });
            if flips[i] {
                first[axis] = last(axis);
            }
            m.col(axis) * sign
        });
        let affine =
            DAffine3::from_cols(columns[0], columns[1], columns[2], case.grid.world(first));
        let stored = Grid::new(shape, affine, case.grid.source).expect("regular");
        let inside = |world: DVec3| {
            let v = case.grid.voxel_at(world).round();
            (v.x as usize + 2 * v.y as usize + 5 * v.z as usize).is_multiple_of(3)
        };
        let at =
            |grid: &Grid, i: usize| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        let values = (0..120).map(|i| f32::from(u8::from(inside(at(&stored, i)))));
        let (values, stored) = (values.collect::<Vec<f32>>(), Arc::new(stored));
        save(&case, stored.clone(), 1, values.clone());
        let (mask, _) = io::mask(&case.path, &case.grid).expect("the same voxels");
        assert_eq!(mask.grid, case.grid);
        for i in 0..120 {
            assert_eq!(mask.inside[i] == 1, inside(at(&case.grid, i)), "{order:?}");
        }
        // Half a voxel off, it is refused.
        let half = case.grid.world_from_voxel.matrix3.x_axis * 0.5;
        save(&case, shifted(&stored, half), 1, values);
        assert!(io::mask(&case.path, &case.grid).is_err());
    }
}

fn on_their_grid() {
    let mut random = Random::fresh("on_their_grid");
    let case = case(&mut random);
    let values: Vec<f32> = (0..120)
        .map(|_| [0.0, 0.4, 0.6, 1.0, 255.0, f32::NAN, -3.0][(random.bits() % 7) as usize])
        .collect();
    // Off by less than a tenth of a voxel: rounding in other programs.
    let near = random.direction() * 0.09 * case.grid.spacing().min_element();
    save(&case, shifted(&case.grid, near), 1, values.clone());
    let (mask, warnings) = io::mask(&case.path, &case.grid).expect("on the grid");
    let neither = values.iter().filter(|v| **v != 0.0 && **v != 1.0).count();
    assert!(warnings[0].starts_with(&format!("{neither} of the mask's 120 values")));
    assert!(
        Arc::ptr_eq(&mask.grid, &case.grid),
        "exactly the requested grid"
    );
    for (inside, value) in mask.inside.iter().zip(values) {
        assert_eq!(*inside == 1, value > 0.5, "{value}");
    }
}

fn refused() {
    let mut random = Random::fresh("refused");
    let case = case(&mut random);
    let error = || io::mask(&case.path, &case.grid).expect_err("refused");
    save(&case, case.grid.clone(), 3, vec![1.0; 360]);
    assert!(matches!(error(), Error::MaskFrames { frames: 3, .. }));
    assert!(sentence(&error()).contains("3 volumes"));

    let by = random.uniform(5.0, 50.0);
    save(
        &case,
        shifted(&case.grid, random.direction() * by),
        1,
        vec![1.0; 120],
    );
    assert!(matches!(error(), Error::MaskGrid { off_mm, .. } if (off_mm - by).abs() < 1e-3));
    // The message rounds to a hundredth; the file's affine is in single precision.
    let message = sentence(&error());
    let message = message
        .split_whitespace()
        .find_map(|w| w.parse::<f64>().ok());
    assert!(message.is_some_and(|mm| (mm - by).abs() < 0.006));
    // The mask is a valid region on its own grid.
    assert_eq!(
        io::mask_on_own_grid(&case.path).expect("a mask").0.count(),
        120
    );

    let other = Grid::new([5, 6, 4], case.grid.world_from_voxel, AffineSource::Sform);
    save(&case, Arc::new(other.expect("regular")), 1, vec![1.0; 120]);
    let text = sentence(&error());
    assert!(
        text.contains("5 × 6 × 4") && text.contains("6 × 5 × 4"),
        "{text}"
    );

    save(&case, case.grid.clone(), 1, vec![0.5; 120]);
    assert!(matches!(error(), Error::MaskEmpty { .. }));
    sentence(&error());

    // A picture has other values than a mask. Probabilities are a mask, also where none is 0 or 1.
    let picture = (0..120).map(|i| 2.0 + i as f32).collect();
    save(&case, case.grid.clone(), 1, picture);
    let text = sentence(&error());
    assert!(text.contains("without the values 0 and 1"), "{text}");
    let probabilities = (0..120).map(|i| (i as f32 + 0.5) / 120.0).collect();
    save(&case, case.grid.clone(), 1, probabilities);
    let (mask, remarks) = io::mask(&case.path, &case.grid).expect("a mask");
    assert_eq!((mask.count(), remarks.len()), (60, 1));

    let colours = Volume::new(case.grid.clone(), 3, VolumeKind::Rgb, vec![1.0; 360]);
    nifti::save_volume(&case.path, &colours, "", &Control::new()).expect("saved");
    assert!(sentence(&error()).contains("colour"));
}

fn by_values() {
    let grid = Grid::axis_aligned([2, 2, 1], DVec3::ONE, DVec3::ZERO);
    let grid = Arc::new(grid.expect("regular"));
    let volume = |values: [f32; 4]| Volume::scalar(grid.clone(), values.to_vec());
    let mask = io::as_mask(&volume([0.0, 1.0, 1.0, 0.0])).expect("zeros and ones");
    assert_eq!(*mask.inside, [0, 1, 1, 0]);
    for values in [
        [0.0, 1.0, 2.0, 0.0],
        [0.0; 4],
        [1.0; 4],
        [0.0, 0.5, 1.0, 1.0],
        [0.0, f32::NAN, 1.0, 1.0],
    ] {
        assert!(io::as_mask(&volume(values)).is_none(), "{values:?}");
    }
    let two = Volume::new(
        grid.clone(),
        2,
        VolumeKind::Scalar,
        [0.0, 1.0, 0.0, 1.0].repeat(2),
    );
    assert!(io::as_mask(&two).is_none());
}

/// By name and grid: the scan's subject, a brain before other masks, never one with other voxels.
fn adjacent_masks() {
    let mut random = Random::fresh("beside");
    let Case {
        _folder: folder,
        grid,
        ..
    } = case(&mut random);
    let save = |name: &str, grid: &Arc<Grid>| {
        let mut values = vec![0.0; grid.voxel_count()];
        values[7] = 1.0;
        let volume = Volume::scalar(grid.clone(), values);
        let path = folder.path().join(name);
        nifti::save_volume(&path, &volume, "", &Control::new()).expect("saved");
        path
    };
    let scan = folder.path().join("sub-01_dwi.nii.gz");
    let found = || io::companion_mask(&scan, &grid);
    assert_eq!(found(), None, "an empty folder");
    // No masks by their names, with other voxels, of another subject.
    save("sub-01_dwi_masked.nii.gz", &grid);
    save("sub-01_b0.nii.gz", &grid);
    save("sub-01_brain_mask.nii.gz", &shifted(&grid, DVec3::X * 40.0));
    save("sub-02_desc-brain_mask.nii.gz", &grid);
    std::fs::write(folder.path().join("mask.txt"), "1").expect("written");
    assert_eq!(found(), None);
    let lesion = save("lesion_mask.nii.gz", &grid);
    assert_eq!(found(), Some(lesion));
    let own = save("sub-01_mask.nii.gz", &grid);
    assert_eq!(found(), Some(own));
    let nodif = save("nodif_brain_mask.nii.gz", &grid);
    assert_eq!(found(), Some(nodif));
    let bids = save("sub-01_space-dwi_desc-brain_mask.nii.gz", &grid);
    assert_eq!(found(), Some(bids));
}
