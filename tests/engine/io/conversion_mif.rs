//! MRtrix images that are converted and written: gradients, keys, MRtrix's own files.

use super::conversion::{convert_with_reading, go};
use super::mif::{Mif, little, orders};
use super::sentence;
use super::volumes::opened;
use crate::support::{Random, data_files, data_test, test};
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Volume, VolumeKind};
use arcuate::io::{self, Format, Reading, gradients, image, nifti};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::mif::gradients_of_a_scan", scan_gradients),
        test("io::mif::lengths_in_a_scheme", scheme_lengths),
        test("io::mif::edges_without_rounding", edges),
        test("io::mif::schemes_of_other_images", foreign_schemes),
        test("io::mif::keys_are_kept", keys),
        test("io::mif::written_and_read_again", written),
        data_test(
            "io::mif::files_of_mrtrix_return",
            "mrtrix_reference/dwi.mif",
            files_of_mrtrix,
        ),
        data_test(
            "io::mif::same_as_mrtrix_s_nifti",
            "mrtrix_reference/dipy_bases/wm_mrtrix.nii.gz",
            same_as_nifti,
        ),
        data_test(
            "io::mif::scheme_of_mrtrix_s_scan",
            "mrtrix_reference/dwi.mif",
            real_scheme,
        ),
    ]
}

/// A scan with its scheme in the header, in world axes for any order of its axes: FSL's table of the converted image is
/// the one that MRtrix exports.
fn scan_gradients() {
    let mut random = Random::fresh("mif gradients");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for order in orders() {
        let directions: Vec<DVec3> = (0..7).map(|_| random.direction()).collect();
        let b = |i: usize| {
            if i == 0 {
                0.0
            } else {
                1000.0 + 500.0 * (i % 2) as f64
            }
        };
        let rows = directions.iter().enumerate();
        let rows = rows.map(|(i, g)| format!("dw_scheme: {},{},{},{}\n", g.x, g.y, g.z, b(i)));
        let file = Mif {
            order: order.into_iter().chain([(3, false)]).collect(),
            extra: rows.collect(),
            ..Mif::new(&[3, 2, 2, 7], "Float32LE")
        };
        let samples: Vec<f32> = (0..84).map(|i| i as f32).collect();
        std::fs::write(here.join("a.mif"), file.bytes(&little(&samples))).expect("written");
        let grid = image::read_grid(&here.join("a.mif"), &Control::new()).expect("a grid");
        let read = |name: &str| {
            let grid = image::read_grid(&here.join(name), &Control::new()).expect("a grid");
            let table = gradients::for_scan(&here.join(name), &[], &grid, 7);
            table.expect(name).expect("a table").gradients
        };
        let found = read("a.mif");
        for (i, g) in directions.iter().enumerate().skip(1) {
            assert!(found.directions[i].distance(*g) < 1e-12, "{order:?}");
            assert_eq!(found.b_s_per_mm2[i], b(i));
        }
        let done = convert_with_reading(here, "a.mif", "b.nii.gz", &Reading::default(), true)
            .expect("converted");
        assert_eq!(done.written.len(), 3);
        // MRtrix's export: the vectors along the axes of the stored image, x negated if those are right-handed.
        let text = std::fs::read_to_string(here.join("b.bvec")).expect("written");
        let bvec: Vec<Vec<f64>> = text
            .lines()
            .map(|l| {
                l.split_whitespace()
                    .map(|n| n.parse().expect("a number"))
                    .collect()
            })
            .collect();
        let m = grid.world_from_voxel.matrix3;
        let axes = [0, 1, 2].map(|a| m.col(a).normalize());
        let sign = if m.determinant() > 0.0 { -1.0 } else { 1.0 };
        for (i, g) in directions.iter().enumerate() {
            let expected = [sign * axes[0].dot(*g), axes[1].dot(*g), axes[2].dot(*g)];
            for (row, expected) in bvec.iter().zip(expected) {
                assert!((row[i] - expected).abs() < 1e-9, "{order:?}");
            }
        }
        // There and back.
        for to in ["c.mif", "d.nrrd", "e.mif.gz", "f.mih"] {
            convert_with_reading(here, "b.nii.gz", to, &Reading::default(), true)
                .expect("converted");
            let reread = read(to);
            for (i, g) in directions.iter().enumerate().skip(1) {
                assert!(reread.directions[i].distance(*g) < 1e-6, "{order:?} {to}");
                assert!((reread.b_s_per_mm2[i] - b(i)).abs() < 1e-6);
            }
        }
    }
}

/// Lengths of vectors scale b-values once when a scan with its scheme is read, and never when FSL's table becomes one.
fn scheme_lengths() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let rows = [(0.0, 0.0), (0.5, 2000.0), (1.0, 2000.0)];
    let rows = rows.map(|(length, b)| format!("dw_scheme: {length},0,0,{b}\n"));
    let file = Mif {
        extra: rows.concat(),
        ..Mif::new(&[3, 2, 2, 3], "Float32LE")
    };
    let samples: Vec<f32> = (0..36).map(|i| i as f32).collect();
    std::fs::write(here.join("a.mif"), file.bytes(&little(&samples))).expect("written");
    let b_values = |name: &str| {
        let grid = image::read_grid(&here.join(name), &Control::new()).expect("a grid");
        let table = gradients::for_scan(&here.join(name), &[], &grid, 3);
        table.expect(name).expect("a table").gradients.b_s_per_mm2
    };
    let convert = |from: &str, to: &str| {
        convert_with_reading(here, from, to, &Reading::default(), true).expect("converted")
    };
    assert_eq!(b_values("a.mif"), [0.0, 500.0, 2000.0]);
    let done = convert("a.mif", "b.nii.gz");
    assert!(
        done.notes
            .iter()
            .any(|note| note.contains("squared length")),
        "{:?}",
        done.notes
    );
    assert_eq!(b_values("b.nii.gz"), [0.0, 500.0, 2000.0]);
    convert("a.mif", "c.mif");
    assert_eq!(b_values("c.mif"), [0.0, 500.0, 2000.0]);
    std::fs::write(here.join("b.bval"), "0 2000 2000").expect("written");
    std::fs::write(here.join("b.bvec"), "0 0.5 1\n0 0 0\n0 0 0\n").expect("written");
    let done = convert_with_reading(here, "b.nii.gz", "d.mif", &Reading::default(), false);
    let losses = done.expect("converted").unsupported_contents;
    assert_eq!(
        losses,
        ["MIF holds no lengths of vectors: 1 length becomes 1"]
    );
    assert_eq!(b_values("d.mif"), [0.0, 2000.0, 2000.0]);
}

/// MRtrix writes axes with six digits: their lengths differ from 1, which must not change the edges in a copy.
fn edges() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let mut file = Mif::new(&[3, 2, 2], "Float32LE");
    let rounded = |v: f64| (1e6 * v).round() * 1e-6;
    let transform = file.transform.as_mut().expect("a transform");
    let axes = transform.matrix3.to_cols_array().map(rounded);
    transform.matrix3 = DMat3::from_cols_array(&axes);
    let samples: Vec<f32> = (0..12).map(|i| i as f32).collect();
    std::fs::write(here.join("a.mif"), file.bytes(&little(&samples))).expect("written");
    convert_with_reading(here, "a.mif", "b.mif", &Reading::default(), true).expect("converted");
    let bytes = std::fs::read(here.join("b.mif")).expect("written");
    let header = String::from_utf8_lossy(&bytes);
    assert!(header.contains("\nvox: 2,2.25,2.5\n"), "{header}");
    let grid = |name: &str| image::read_grid(&here.join(name), &Control::new()).expect("a grid");
    assert!(grid("b.mif").same_space(&grid("a.mif"), 1e-9));
}

/// Masks and fODFs keep the scheme of their scan, although it does not describe them.
fn foreign_schemes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let scheme: String = (0..5)
        .map(|i| format!("dw_scheme: 0.6,0,0.8,{}\n", 500 * i))
        .collect();
    for (sizes, count) in [(vec![2, 2, 2], 8), (vec![2, 2, 2, 6], 48)] {
        let file = Mif {
            extra: scheme.clone(),
            ..Mif::new(&sizes, "UInt8")
        };
        let samples: Vec<u8> = (0..count).collect();
        std::fs::write(here.join("a.mif"), file.bytes(&samples)).expect("written");
        assert_eq!(gradients::find_companion(&here.join("a.mif")), None);
        let frames = sizes.get(3).copied().unwrap_or(1);
        assert_eq!(
            gradients::rows_of(&here.join("a.mif"), frames).expect("none"),
            None
        );
        // They stay in a copy, but leave with an image that is moved.
        convert_with_reading(here, "a.mif", "b.mif", &Reading::default(), true).expect("converted");
        let text = std::fs::read(here.join("b.mif")).expect("written");
        assert_eq!(
            String::from_utf8_lossy(&text)
                .matches("dw_scheme: 0.6,0,0.8")
                .count(),
            5
        );
        let moved = Reading {
            affine: Some(Box::new(io::AffineReading::matrix(
                DAffine3::from_rotation_z(0.5),
            ))),
            ..Reading::default()
        };
        let done = convert_with_reading(here, "a.mif", "c.mif", &moved, true).expect("converted");
        assert!(
            done.unsupported_contents
                .iter()
                .any(|s| s.contains("dw_scheme"))
        );
        let text = std::fs::read(here.join("c.mif")).expect("written");
        assert!(!String::from_utf8_lossy(&text).contains("dw_scheme"));
    }
    // A table that a user names is read at any length.
    let named = gradients::TableFiles::from_paths(&[here.join("a.mif")]).expect("a table");
    let grid = image::read_grid(&here.join("a.mif"), &Control::new()).expect("a grid");
    assert_eq!(
        gradients::read(&named, &grid, 5)
            .expect("read")
            .gradients
            .len(),
        5
    );
    let error = gradients::read(&named, &grid, 6).expect_err("five rows");
    assert!(
        sentence(&error).contains("Found 5 gradients, expected 6"),
        "{error}"
    );
}

fn keys() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let extra = "Comments: one\ncomments: one\ncomments: two # half\npe_scheme: 0,1,0,0.05\n\
                 EchoTime: 0.09\ncommand_history: mrconvert x y\nno key\nempty:\n# a comment: 1\n";
    for (order, plain) in [
        (vec![(0, false), (1, false), (2, false)], true),
        (vec![(1, false), (0, false), (2, false)], false),
    ] {
        let file = Mif {
            order,
            extra: extra.to_owned(),
            ..Mif::new(&[2, 2, 2], "UInt8")
        };
        std::fs::write(here.join("a.mif"), file.bytes(&[1, 2, 3, 4, 5, 6, 7, 8])).expect("written");
        let (_, warnings) = opened(&here.join("a.mif"));
        assert!(
            warnings
                .iter()
                .any(|w| w.starts_with("1 line of the header")),
            "{warnings:?}"
        );
        let done = convert_with_reading(here, "a.mif", "b.mif", &Reading::default(), true)
            .expect("converted");
        let axes = done.notes.iter().any(|n| n.contains("pe_scheme"));
        assert_eq!(axes, !plain, "{:?}", done.notes);
        let bytes = std::fs::read(here.join("b.mif")).expect("written");
        let text = String::from_utf8_lossy(&bytes);
        for line in [
            "comments: two # half\n",
            "EchoTime: 0.09\n",
            "command_history: mrconvert x y\n",
            "command_history: x\n",
        ] {
            assert!(text.contains(line), "{line} {text}");
        }
        assert_eq!(text.contains("pe_scheme: 0,1,0,0.05\n"), plain);
        for to in ["c.nii", "c.nrrd"] {
            let done = convert_with_reading(here, "a.mif", to, &Reading::default(), true)
                .expect("converted");
            let lost = done.unsupported_contents.join("; ");
            assert!(
                lost.contains("EchoTime") && !lost.contains("history"),
                "{to}: {lost}"
            );
        }
    }
}

/// Volumes, colours, label maps and counts are written for MRtrix by the name's ending.
fn written() {
    let mut random = Random::fresh("mif written");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let control = Control::new();
    for order in 0..48 {
        let oblique = super::formats::grid(order, order % 2 == 0, &mut random);
        let grid = Arc::new(super::volumes::small(&oblique, &mut random));
        let n = grid.voxel_count();
        let values: Vec<f32> = (0..3 * n).map(|_| random.normal() as f32).collect();
        for name in ["v.mif", "v.mif.gz"] {
            let volume = Volume::new(grid.clone(), 3, VolumeKind::Scalar, values.clone());
            image::save_volume(&here.join(name), &volume, "arcuate fit", &control).expect("saved");
            let (found, warnings) = opened(&here.join(name));
            assert_eq!(warnings, Vec::<String>::new());
            assert_eq!((found.frames, &*found.values), (3, &*values));
            assert!(found.grid.same_space(&grid, 1e-9));
            assert_eq!(found.grid.source, AffineSource::Header);
        }
        let shares: Vec<f32> = values.iter().map(|v| v.abs().min(1.0)).collect();
        let colours = Volume::new(grid.clone(), 3, VolumeKind::Rgb, shares.clone());
        image::save_volume(&here.join("c.mif"), &colours, "", &control).expect("saved");
        assert_eq!(&*opened(&here.join("c.mif")).0.values, shares);
        let labels: Vec<u16> = (0..n as u16).collect();
        image::save_labels(&here.join("l_dseg.mif"), &grid, &labels, "", &control).expect("saved");
        let (found, _) = opened(&here.join("l_dseg.mif"));
        assert!(found.labels.is_some());
        assert!(
            found
                .values
                .iter()
                .zip(&labels)
                .all(|(a, b)| *a == f32::from(*b))
        );
    }
    // Two files are written by `convert` alone.
    let small = Grid::axis_aligned([2; 3], DVec3::ONE, DVec3::ZERO).expect("regular");
    let small = Volume::scalar(Arc::new(small), vec![1.0; 8]);
    let error = image::save_volume(&here.join("a.mih"), &small, "", &control);
    assert!(sentence(&error.expect_err("two files")).contains(".mif.gz"));
    let counts = Volume::of_counts(small.grid.clone(), vec![16_777_217; 8]);
    image::save_volume(&here.join("n.mif"), &counts, "", &control).expect("saved");
    let text = std::fs::read(here.join("n.mif")).expect("written");
    assert!(String::from_utf8_lossy(&text).contains("datatype: UInt32LE\n"));
    assert!(text.ends_with(&16_777_217u32.to_le_bytes()));
    // A colour image becomes three volumes, which is reported.
    let rgb = Volume::new(small.grid.clone(), 3, VolumeKind::Rgb, vec![0.2; 24]);
    nifti::save_volume(&here.join("rgb.nii"), &rgb, "", &control).expect("saved");
    let done = go(here, "rgb.nii", "rgb.mif");
    assert!(
        done.unsupported_contents
            .iter()
            .any(|s| s.contains("no colours"))
    );
    assert_eq!(opened(&here.join("rgb.mif")).0.frames, 3);
}

/// All images of MRtrix's test data are read, written and read again without a difference.
fn files_of_mrtrix(_: PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let mut read = 0;
    for path in files_below("mrtrix_reference") {
        if Format::named(&path) != Some(Format::Mif) {
            continue;
        }
        let name = path.display().to_string();
        let (found, warnings) = opened(&path);
        assert_eq!(warnings, Vec::<String>::new(), "{name}");
        for to in ["a.mif", "a.mif.gz", "a.nii"] {
            // A list of fixels is longer than a NIfTI-1 may be wide.
            if to.ends_with("nii") && found.grid.shape.iter().any(|n| *n > 32_767) {
                continue;
            }
            let out = here.join(to);
            let plan = io::convert::plan(&path, &out, None, &Reading::default(), &Control::new());
            let plan = plan.unwrap_or_else(|e| panic!("{name}: {e}"));
            plan.write(true, "x", &Control::new())
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            let (reread, _) = opened(&out);
            let same = |(a, b): (&f32, &f32)| a == b || a.is_nan() && b.is_nan();
            assert_eq!(reread.frames, found.frames, "{name} {to}");
            assert!(
                reread.values.iter().zip(found.values.iter()).all(same),
                "{name} {to}"
            );
            let near = if to.ends_with("nii") { 1e-3 } else { 1e-9 };
            assert!(reread.grid.same_space(&found.grid, near), "{name} {to}");
        }
        read += 1;
    }
    assert!(read > 60, "{read} images");
}

/// Files in a folder of the data and in the folders below it.
fn files_below(folder: &str) -> Vec<PathBuf> {
    let mut rest = data_files(folder);
    let mut files = Vec::new();
    while let Some(path) = rest.pop() {
        match path.is_dir() {
            true => rest.extend(io::names_in(&path).expect("a folder")),
            false => files.push(path),
        }
    }
    files.sort();
    files
}

/// nibabel wrote the NIfTI of the fODF from the same file: every coefficient is at the same place.
fn same_as_nifti(path: PathBuf) {
    let (expected, _) = opened(&path);
    let root = path.ancestors().nth(2).expect("a folder").to_owned();
    let (found, _) = opened(&root.join("dwi2fod/msmt/wm.mif"));
    assert_eq!(
        (found.frames, found.grid.shape),
        (expected.frames, expected.grid.shape)
    );
    assert!(found.grid.same_space(&expected.grid, 1e-3));
    assert!(
        found
            .values
            .iter()
            .zip(expected.values.iter())
            .all(|(a, b)| (a - b).abs() <= 1e-6 * b.abs().max(1.0))
    );
    // The mask of the same block, 2475 bits: as many voxels inside as the masked fODF has voxels.
    let (mask, _) = opened(&root.join("dwi2fod/msmt/mask.mif"));
    let (masked, _) = opened(&root.join("dwi2fod/msmt/wm_masked.mif"));
    let inside = mask
        .values
        .iter()
        .zip(masked.frame(0))
        .all(|(m, c)| (*m == 1.0) == (*c != 0.0 && !c.is_nan()));
    assert!(inside);
}

/// The scheme is in world axes: its table as FSL's and back is the same, and the b-values are those of the scan.
fn real_scheme(path: PathBuf) {
    let grid = image::read_grid(&path, &Control::new()).expect("a grid");
    let table = gradients::for_scan(&path, &[], &grid, 68)
        .expect("read")
        .expect("a table");
    assert_eq!(table.gradients.len(), 68);
    assert!(table.gradients.b_s_per_mm2.contains(&3000.0));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("dwi.nii.gz");
    let plan =
        io::convert::plan(&path, &out, None, &Reading::default(), &Control::new()).expect("read");
    plan.write(true, "x", &Control::new()).expect("written");
    let converted_grid = image::read_grid(&out, &Control::new()).expect("a grid");
    let reread = gradients::for_scan(&out, &[], &converted_grid, 68)
        .expect("read")
        .expect("a table");
    for (a, b) in table
        .gradients
        .directions
        .iter()
        .zip(&reread.gradients.directions)
    {
        assert!(a.distance(*b) < 1e-6);
    }
}
