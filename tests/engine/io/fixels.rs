//! Folders of fixels: read as MRtrix reads them, and written for it.

use super::sentence;
use crate::support::{Random, data_test, test};
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, PeakField, Volume, VolumeKind};
use arcuate::io::{self, AffineReading, bids, fixels, image, orientations};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::fixels::round_trip", round_trip),
        test("io::fixels::lists_in_another_direction", reversed),
        test("io::fixels::refusals", refusals),
        test("io::fixels::values with a sign", signed),
        data_test(
            "io::fixels::those_of_mrtrix",
            "mrtrix_reference/fixel2peaks",
            mrtrix,
        ),
    ]
}

const SHAPE: [usize; 3] = [3, 4, 2];

fn grid() -> Arc<Grid> {
    let grid = Grid::axis_aligned(SHAPE, DVec3::new(2.0, 2.0, 3.0), DVec3::new(-7.0, 3.0, 1.0));
    Arc::new(grid.expect("regular"))
}

/// Up to three peaks in each voxel, none in the first.
fn peaks(random: &mut Random) -> PeakField {
    let grid = grid();
    let n = grid.voxel_count();
    let mut values = vec![0f32; 9 * n];
    for voxel in 1..n {
        for peak in 0..random.bits() as usize % 4 {
            let vector = random.direction() * random.uniform(0.2, 2.0);
            for axis in 0..3 {
                values[(3 * peak + axis) * n + voxel] = vector[axis] as f32;
            }
        }
    }
    // The last has all of them, so that both fields have the same number.
    for value in values.iter_mut().skip(n - 1).step_by(n) {
        *value = 0.5;
    }
    PeakField::new(grid, 3, values)
}

fn save(folder: &Path, images: &[(String, Volume)], ending: &str) {
    for (name, volume) in images {
        let path = folder.join(format!("{name}.{ending}"));
        image::save_volume(&path, volume, "", &Control::new()).expect("saved");
    }
}

fn open(path: &Path) -> orientations::OpenedPeaks {
    let opened = orientations::open_peaks(path, None, &Control::new());
    opened.unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Both fields have the same peaks; with `unit`, those of the first have length 1.
fn same(found: &PeakField, expected: &PeakField, unit: bool) {
    assert_eq!(found.grid.shape, expected.grid.shape);
    for voxel in 0..expected.grid.voxel_count() {
        let (found, expected): (Vec<DVec3>, Vec<DVec3>) = (
            found.peaks(voxel).collect(),
            expected.peaks(voxel).collect(),
        );
        assert_eq!(found.len(), expected.len(), "voxel {voxel}");
        for (found, expected) in found.iter().zip(&expected) {
            let expected = match unit {
                true => expected.normalize(),
                false => *expected,
            };
            assert!(
                found.distance(expected) < 1e-5,
                "voxel {voxel}: {found} {expected}"
            );
        }
    }
}

fn round_trip() {
    let mut random = Random::fresh("fixels");
    let written = peaks(&mut random);
    let n = written.grid.voxel_count();
    let numbers: Vec<f32> = (0..3 * n).map(|i| i as f32).collect();
    let numbers = Volume::new(written.grid.clone(), 3, VolumeKind::Scalar, numbers);
    let values = [("peak", fixels::lengths(&written)), ("number", numbers)];
    let images = fixels::images(&written, &values);
    let names: Vec<&str> = images.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["index", "directions", "peak", "number"]);
    let all: usize = (0..n).map(|voxel| written.peaks(voxel).count()).sum();
    let sizes: Vec<([usize; 3], usize)> = images
        .iter()
        .map(|(_, volume)| (volume.grid.shape, volume.frames))
        .collect();
    assert_eq!(
        sizes,
        [
            (SHAPE, 2),
            ([all, 3, 1], 1),
            ([all, 1, 1], 1),
            ([all, 1, 1], 1)
        ]
    );
    // A value belongs to its voxel and peak.
    let (index, list) = (&images[0].1, &images[3].1);
    for voxel in 0..n {
        let (count, first) = (
            index.frame(0)[voxel] as usize,
            index.frame(1)[voxel] as usize,
        );
        for peak in 0..count {
            assert_eq!(list.values[first + peak], (peak * n + voxel) as f32);
        }
    }
    for ending in ["mif", "nii", "mif.gz", "nii.gz"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let here = folder.path();
        save(here, &images, ending);
        let with_lengths = open(&here.join(format!("peak.{ending}")));
        same(&with_lengths.field, &written, false);
        assert_eq!(with_lengths.files.len(), 3);
        assert!(
            with_lengths
                .notes
                .iter()
                .any(|note| note.contains("lengths in peak"))
        );
        for path in [here.to_owned(), here.join(format!("directions.{ending}"))] {
            let unit = open(&path);
            same(&unit.field, &written, true);
            assert_eq!(unit.files.len(), 2);
        }
    }
    // Without a peak there are no lists.
    let none = PeakField::new(grid(), 1, vec![0.0; 3 * n]);
    assert!(fixels::images(&none, &[]).is_empty());
}

/// An image of a list whose file has other axes: `world[axis]` is the axis of the world that an axis of the file is
/// nearest to, against it where `is_reversed`.
fn turned(list: &Volume, world: [usize; 3], is_reversed: [bool; 3]) -> Volume {
    let axis = |axis: usize| {
        let along = [DVec3::X, DVec3::Y, DVec3::Z][world[axis]];
        // Oblique, as those of a tilted head.
        DMat3::from_rotation_x(0.1) * if is_reversed[axis] { -along } else { along }
    };
    let matrix = DMat3::from_cols(axis(0), axis(1), axis(2));
    let shape = world.map(|axis| list.grid.shape[axis]);
    let grid = Grid::new(shape, DAffine3::from_mat3(matrix), AffineSource::Computed);
    let grid = grid.expect("regular");
    let value = |i: usize| {
        let voxel = grid.voxel(i);
        let mut place = [0; 3];
        for axis in 0..3 {
            place[world[axis]] = match is_reversed[axis] {
                true => shape[axis] - 1 - voxel[axis],
                false => voxel[axis],
            };
        }
        list.values[list.grid.index(place)]
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    Volume::new(Arc::new(grid.clone()), 1, VolumeKind::Scalar, values)
}

/// MRtrix counts along the world's axes, whatever the order and the direction of the axes in the file.
fn reversed() {
    let mut random = Random::fresh("reversed fixels");
    let written = peaks(&mut random);
    let images = fixels::images(&written, &[("peak", fixels::lengths(&written))]);
    for (world, is_reversed) in [
        ([0, 1, 2], [true, true, false]),
        ([0, 1, 2], [true, false, true]),
        ([1, 0, 2], [false, true, false]),
        ([2, 0, 1], [true, false, true]),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let here = folder.path();
        let turned: Vec<(String, Volume)> = images
            .iter()
            .map(|(name, volume)| match &**name {
                "index" => (name.clone(), volume.clone()),
                _ => (name.clone(), turned(volume, world, is_reversed)),
            })
            .collect();
        save(here, &turned, "mif");
        same(&open(&here.join("peak.mif")).field, &written, false);
    }
}

/// Negative values keep their sign although lengths have none; other images in the folder are not lists of values;
/// directions that are not unit vectors are reported; a transform turns the directions and changes no value.
fn signed() {
    let mut random = Random::fresh("signed fixels");
    let written = peaks(&mut random);
    let n = written.grid.voxel_count();
    let signed: Vec<f32> = (0..3 * n).map(|i| (i as f32 * 0.7).sin() * 40.0).collect();
    let signed = Volume::new(written.grid.clone(), 3, VolumeKind::Scalar, signed);
    let images = fixels::images(&written, &[("t", signed.clone())]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    save(here, &images, "mif");
    let other = Volume::scalar(written.grid.clone(), vec![1.0; n]);
    image::save_volume(&here.join("t1.mif"), &other, "", &Control::new()).expect("saved");
    let open = |name: &str, affine: Option<&AffineReading>| {
        let opened = orientations::open_fixels(&here.join(name), affine, &Control::new());
        opened.expect("read")
    };
    assert!(open("t1.mif", None).is_none());
    let (volume, opened) = open("t.mif", None).expect("fixels");
    let known = volume.fixels.as_ref().expect("fixels");
    assert_eq!(known.lists, [here.join("t.mif")]);
    assert_eq!(known.values_list, Some(here.join("t.mif")));
    let absolute = std::fs::canonicalize(here).expect("a folder");
    assert_eq!(known.folder, absolute);
    assert!(known.has_values());
    // Values of any size are values: there is no doubt about amplitudes.
    assert!(opened.warnings.is_empty(), "{:?}", opened.warnings);
    assert_eq!(known.window.0, -known.window.1);
    for voxel in 0..n {
        for peak in 0..written.peaks(voxel).count() {
            let (at, length) = (peak * n + voxel, opened.field.peak(voxel, peak));
            let length = length.map_or(0.0, |vector| vector.length());
            let expected = f64::from(signed.values[at]);
            assert!(
                (length - expected.abs()).abs() < 1e-3,
                "{length} {expected}"
            );
            assert!((known.value(at, length) - expected).abs() < 1e-4);
        }
    }
    let stretched =
        AffineReading::Matrix([0.0, -2.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
    let (moved, _) = open("t.mif", Some(&stretched)).expect("fixels");
    let moved = PeakField::from_volume(&moved).expect("peaks");
    let (before, after) = (opened.field.peak(n - 1, 0), moved.peak(n - 1, 0));
    let (before, after) = (before.expect("a peak"), after.expect("a peak"));
    assert!(after.distance(DVec3::new(-before.y, before.x, before.z)) < 1e-3);
    let skewed = Volume::scalar(
        images[1].1.grid.clone(),
        vec![0.5; images[1].1.values.len()],
    );
    image::save_volume(&here.join("directions.mif"), &skewed, "", &Control::new()).expect("saved");
    let (_, opened) = open("", None).expect("fixels");
    let text = opened.warnings.join(" ");
    assert!(text.contains("not unit vectors"), "{text}");
}

fn refusals() {
    let mut random = Random::fresh("broken fixels");
    let written = peaks(&mut random);
    let images = fixels::images(&written, &[("peak", fixels::lengths(&written))]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let refused = |path: &Path, parts: &[&str]| {
        let opened = orientations::open_peaks(path, None, &Control::new());
        let text = sentence(&opened.expect_err("broken"));
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    refused(here, &["a folder without index.mif", "fod2fixel"]);
    let write = |name: &str, volume: &Volume| {
        let path = here.join(format!("{name}.mif"));
        image::save_volume(&path, volume, "", &Control::new()).expect("saved");
    };
    let (index, directions, lengths) = (&images[0].1, &images[1].1, &images[2].1);
    let shortened = |volume: &Volume, columns: usize| {
        let rows = volume.grid.shape[0] - 1;
        let grid = Grid::axis_aligned([rows, columns, 1], DVec3::ONE, DVec3::ZERO);
        Volume::scalar(Arc::new(grid.expect("regular")), vec![1.0; rows * columns])
    };
    write("index", index);
    write("directions", directions);
    // Opened as if it were a file.
    let opened = io::open(here, &Control::new()).expect_err("a folder");
    assert!(matches!(opened, io::Error::Folder { .. }), "{opened}");
    let text = sentence(&bids::refusal(here));
    assert!(text.contains("a folder of MRtrix's fixels"), "{text}");
    write("peak", &shortened(lengths, 1));
    refused(
        &here.join("peak.mif"),
        &["values of", "in directions", "same folder"],
    );
    // One of the two images is missing: for the folder, and for a list in it.
    for name in ["index", "directions"] {
        write("peak", lengths);
        let (file, aside) = (here.join(format!("{name}.mif")), here.join("aside"));
        std::fs::rename(&file, &aside).expect("moved");
        for path in [here.to_owned(), here.join("peak.mif")] {
            let opened = orientations::open_fixels(&path, None, &Control::new());
            let text = sentence(&opened.expect_err("half a folder"));
            assert!(text.contains(&format!("without {name}")), "{text}");
            assert!(text.contains("copy the whole folder"), "{text}");
        }
        std::fs::rename(&aside, &file).expect("moved back");
    }
    let longer = Grid::axis_aligned(
        [directions.grid.shape[0] + 1, 3, 1],
        DVec3::ONE,
        DVec3::ZERO,
    );
    let longer = Arc::new(longer.expect("regular"));
    write(
        "directions",
        &Volume::scalar(longer.clone(), vec![0.6; longer.voxel_count()]),
    );
    refused(
        here,
        &["directions.mif", "in index", "copy the whole folder"],
    );
    write("directions", &shortened(directions, 3));
    refused(here, &["index.mif", "fixels from number", "list of"]);
    write("directions", &shortened(directions, 2));
    refused(here, &["directions.mif", "any number × 3 × 1"]);
    write("directions", directions);
    let numbers = index.values.iter().map(|v| v + 0.5).collect::<Vec<f32>>();
    let fractional = Volume::new(index.grid.clone(), 2, VolumeKind::Scalar, numbers);
    write("index", &fractional);
    refused(here, &["whole numbers"]);
    let single = Volume::scalar(index.grid.clone(), index.frame(0).to_vec());
    write("index", &single);
    refused(here, &["1 volume", "index of fixels"]);
}

/// `fixel2peaks` of the same folders: with the lengths of a list, and with length 1.
fn mrtrix(data: PathBuf) {
    let folder = data.with_file_name("fixel_image");
    let read = |name: &str| {
        let path = data.join(name);
        let volume = image::read(&path, &Control::new()).expect("an image").0;
        PeakField::from_volume(&volume).expect("peaks")
    };
    let found = open(&folder.join("afd.mif")).field;
    let expected = read("withdata.mif");
    assert_eq!(found.count(), expected.count());
    let close = |a: DVec3, b: DVec3| a.distance(b) <= 1e-5 * b.length().max(1e-3);
    let mut compared = 0;
    for voxel in 0..expected.grid.voxel_count() {
        let ours: Vec<DVec3> = found.peaks(voxel).collect();
        let theirs: Vec<DVec3> = expected.peaks(voxel).collect();
        assert_eq!(ours.len(), theirs.len(), "voxel {voxel}");
        let all = ours.iter().zip(&theirs).all(|(a, b)| close(*a, *b));
        assert!(all, "voxel {voxel}: {ours:?} {theirs:?}");
        compared += ours.len();
    }
    assert!(compared > 1000, "{compared}");
    same(&open(&folder).field, &read("nodata.mif"), true);
}
