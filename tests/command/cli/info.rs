//! Output of `arcuate info`: colours, missing values, sheared axes, streamlines of a scan.

mod images_on_disk;

use super::{arcuate, json, refuses};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Tractogram, Volume};
use arcuate::io::{nifti, streamlines};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("cli::info::images", images),
        test("cli::info::streamlines of a scan", streamlines),
        test("cli::info::folders", folders),
        test("cli::info::large images", large),
        test("cli::info::images on disk", images_on_disk::fit),
    ]
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A NIfTI file of one red, green and blue byte for each voxel (datatype 128).
fn colour_image(path: &Path) {
    let mut bytes = vec![0u8; 352];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &348i32.to_le_bytes());
    for (i, n) in [3i16, 4, 3, 2, 1, 1, 1, 1].into_iter().enumerate() {
        put(40 + 2 * i, &n.to_le_bytes());
    }
    put(70, &128i16.to_le_bytes());
    put(72, &24i16.to_le_bytes());
    for i in 0..4 {
        put(76 + 4 * i, &1f32.to_le_bytes());
    }
    put(108, &352f32.to_le_bytes());
    put(254, &1i16.to_le_bytes());
    for (row, one) in [(280, 0), (296, 1), (312, 2)] {
        put(row + 4 * one, &1f32.to_le_bytes());
    }
    put(344, b"n+1\0");
    bytes.extend((0..72).map(|i| i as u8));
    std::fs::write(path, bytes).expect("written");
}

fn images() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    colour_image(&here.join("rgb.nii"));
    let message = text(&arcuate(&["info", "rgb.nii"], here));
    assert!(message.contains("colour image"), "{message}");
    let colour = json(&["info", "rgb.nii"], here);
    assert_eq!(colour["files"][0]["volumes"], 1);
    assert_eq!(colour["files"][0]["kind"], "colour_image");
    // 84.3° between the first two axes, and holes.
    let matrix = DMat3::from_cols(DVec3::X, DVec3::new(0.1, 1.0, 0.0), DVec3::Z);
    let affine = DAffine3::from_mat3(matrix);
    let grid = Grid::new([12, 11, 10], affine, AffineSource::Sform).expect("regular");
    let mut values = vec![1.0f32; 1320];
    values[..1100].fill(f32::NAN);
    values[1200] = f32::INFINITY;
    values[1201] = f32::NEG_INFINITY;
    let image = Volume::scalar(Arc::new(grid), values);
    nifti::save_volume(&here.join("t1.nii.gz"), &image, "", &Control::new()).expect("written");
    let message = text(&arcuate(&["info", "t1.nii.gz"], here));
    assert!(
        message.contains("1100 are not a number, 2 are infinite"),
        "{message}"
    );
    assert!(
        message.contains("not at right angles, but 5.7° off"),
        "{message}"
    );
    let file = json(&["info", "t1.nii.gz"], here)["files"][0].clone();
    assert_eq!(
        (&file["not_a_number"], &file["infinite"]),
        (&1100.into(), &2.into())
    );
    // Nothing is reported about correct files.
    let grid = Grid::axis_aligned([9, 9, 9], DVec3::splat(2.0), DVec3::ZERO).expect("regular");
    let image = Volume::scalar(Arc::new(grid), vec![1.0; 729]);
    nifti::save_volume(&here.join("fine.nii.gz"), &image, "", &Control::new()).expect("written");
    let message = text(&arcuate(&["info", "fine.nii.gz"], here));
    assert!(
        !message.contains("right angles") && !message.contains("not a number"),
        "{message}"
    );
}

/// A series takes the memory of its first volume, and an image that unpacks from very few bytes is refused unless the
/// memory is permitted.
fn large() {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write as _;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let packed = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).expect("in memory");
        encoder.finish().expect("in memory")
    };
    // A header of 256 × 256 × 64 bytes for each volume, and one member of zeros for each of them.
    let series = |name: &str, volumes: i16, noise: bool| {
        let mut header = vec![0u8; 352];
        let mut put = |at: usize, value: &[u8]| header[at..at + value.len()].copy_from_slice(value);
        put(0, &348i32.to_le_bytes());
        for (i, n) in [4i16, 256, 256, 64, volumes, 1, 1, 1]
            .into_iter()
            .enumerate()
        {
            put(40 + 2 * i, &n.to_le_bytes());
        }
        put(70, &2i16.to_le_bytes());
        put(72, &8i16.to_le_bytes());
        for i in 0..4 {
            put(76 + 4 * i, &1f32.to_le_bytes());
        }
        put(108, &352f32.to_le_bytes());
        put(254, &1i16.to_le_bytes());
        for (row, one) in [(280, 0), (296, 1), (312, 2)] {
            put(row + 4 * one, &1f32.to_le_bytes());
        }
        put(344, b"n+1\0");
        let mut random = Random::fresh("a series");
        let volume = 256 * 256 * 64;
        let voxels: Vec<u8> = match noise {
            true => (0..volume).map(|_| random.bits() as u8).collect(),
            false => vec![0; volume],
        };
        let member = packed(&voxels);
        let mut file = packed(&header);
        for _ in 0..volumes {
            file.extend_from_slice(&member);
        }
        std::fs::write(here.join(name), file).expect("written");
    };
    // 200 MB as float32.
    series("series.nii.gz", 12, true);
    let file = json(&["info", "series.nii.gz", "--memory", "0.12"], here)["files"][0].clone();
    assert_eq!(
        (&file["volumes"], &file["not_a_number"]),
        (&12.into(), &0.into())
    );
    assert_eq!(file["range"], serde_json::json!([0.0, 255.0]));
    // 336 MB in 0.4 MB.
    series("zeros.nii.gz", 80, false);
    refuses(
        &["info", "zeros.nii.gz"],
        &["packed into", "--memory"],
        here,
    );
    let file = json(&["info", "zeros.nii.gz", "--memory", "4"], here)["files"][0].clone();
    assert_eq!(file["volumes"], 80);
}

/// A file of one streamline, or of none.
pub fn tck(path: &Path, points: &[[f32; 3]]) {
    let head = "mrtrix tracks\ndatatype: Float32LE\ncount: 1\nfile: . 80\nEND\n";
    let mut bytes = format!("{head:<80}").into_bytes();
    let ends = match points.is_empty() {
        true => vec![[f32::INFINITY; 3]],
        false => vec![[f32::NAN; 3], [f32::INFINITY; 3]],
    };
    for number in points.iter().chain(&ends).flatten() {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    std::fs::write(path, bytes).expect("written");
}

fn streamlines() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let grid = Grid::axis_aligned([10, 10, 10], DVec3::ONE, DVec3::ZERO).expect("regular");
    let image = Volume::scalar(Arc::new(grid), vec![1.0; 1000]);
    nifti::save_volume(&here.join("t1.nii.gz"), &image, "", &Control::new()).expect("written");
    // Three of four points are inside; one lies slightly below zero.
    let tck = |name: &str, points: &[[f32; 3]]| tck(&here.join(name), points);
    let points = [
        [1.0, 1.0, -0.04],
        [2.0, 1.0, 1.0],
        [3.0, 1.0, 1.0],
        [30.0, 1.0, 1.0],
    ];
    tck("a.tck", &points);
    tck("none.tck", &[]);
    let message = text(&arcuate(&["info", "t1.nii.gz", "a.tck"], here));
    assert!(
        message.contains("75.0 % of a.tck lie inside t1.nii.gz"),
        "{message}"
    );
    assert!(!message.contains("-0.0"), "{message}");
    let value = json(&["info", "t1.nii.gz", "a.tck"], here);
    assert_eq!(value["inside"][0]["share"], 0.75);
    let message = text(&arcuate(&["info", "none.tck"], here));
    assert!(
        message.contains("length      none") && !message.contains("0.0 mm"),
        "{message}"
    );
    // Groups, and their properties.
    let grouped = Tractogram::new(vec![[0.0; 3], [1.0; 3]], vec![0, 2])
        .with_group("left", vec![0])
        .with_per_group("left", "colour", vec![0.2, 0.4, 0.6]);
    streamlines::save(&here.join("g.trx"), &grouped, "", &Control::new()).expect("written");
    let message = text(&arcuate(&["info", "g.trx"], here));
    let lines = ["groups      left (1)", "per group   colour"];
    assert!(lines.iter().all(|l| message.contains(l)), "{message}");
    assert_eq!(
        json(&["info", "g.trx"], here)["files"][0]["per_group"][0],
        "colour"
    );
    // An error is the only output.
    let output = arcuate(&["info", "missing.nii.gz"], here);
    assert!(output.stdout.is_empty(), "{:?}", text(&output));
}

fn folders() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for name in ["plain", "dicom/series"] {
        std::fs::create_dir_all(here.join(name)).expect("a folder");
    }
    std::fs::write(here.join("plain/notes.txt"), "words").expect("written");
    let mut file = vec![0u8; 200];
    file[128..132].copy_from_slice(b"DICM");
    std::fs::write(here.join("dicom/series/IM0001"), file).expect("written");
    for (name, advice) in [
        (
            "plain",
            "Found a folder without BIDS names, expected a file or a BIDS folder",
        ),
        (
            "dicom",
            "This folder holds DICOM files; convert them with dcm2niix",
        ),
        (
            "dicom/series",
            "This folder holds DICOM files; convert them with dcm2niix",
        ),
    ] {
        let output = arcuate(&["info", name], here);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(advice), "{name}: {message}");
    }
}
