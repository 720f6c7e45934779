//! `--warp`: images and streamlines through displacement fields, from the command line.

use crate::program;
use crate::support::composed_nifti::{ComposedNifti, put};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram, Volume};
use arcuate::io::{self, Opened, nifti, streamlines};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("warps::images and streamlines are converted", converted),
        test("warps::label maps keep their numbers and names", labelled),
        test("warps::wrong options are refused", refused),
    ]
}

/// The error text and the exit code.
fn run(folder: &Path, arguments: &[&str]) -> (String, Option<i32>) {
    let output = program()
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("started");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (text, output.status.code())
}

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let (text, code) = run(folder, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {text}");
    text
}

/// A field of ANTs on this grid: each point looks 2 mm further to the left, 3 mm to the back and 1 mm up.
fn write_field(path: &Path, grid: &Grid) {
    let shape = grid.shape.map(|n| n as i64);
    let count = grid.voxel_count();
    let spacing = grid.spacing();
    let mut composed = ComposedNifti {
        dim: [5, shape[0], shape[1], shape[2], 1, 3, 1, 1],
        datatype: 16,
        bitpix: 32,
        pixdim: [1.0, spacing.x, spacing.y, spacing.z, 1.0, 1.0, 1.0, 1.0],
        // To the left and to the back are positive in LPS.
        voxels: [2.0f32, 3.0, 1.0]
            .iter()
            .flat_map(|v| std::iter::repeat_n(v.to_le_bytes(), count).flatten())
            .collect(),
        ..ComposedNifti::ramp(1)
    };
    composed.set_affine(grid.world_from_voxel);
    let mut bytes = composed.bytes();
    bytes[68..70].copy_from_slice(&1007i16.to_le_bytes());
    put(path, &bytes);
}

const SHIFT: DVec3 = dvec3(-2.0, -3.0, 1.0);

fn grids() -> (Grid, Grid) {
    let moving = Grid::axis_aligned(
        [24, 24, 24],
        dvec3(-2.0, 2.0, 2.0),
        dvec3(24.0, -24.0, -24.0),
    );
    let fixed = Grid::axis_aligned([10, 9, 8], DVec3::splat(3.0), dvec3(-12.0, -10.0, -14.0));
    (moving.expect("a grid"), fixed.expect("a grid"))
}

fn volume(path: &Path) -> Volume {
    match io::open(path, &Control::new()).expect("opened") {
        Opened::Volume(volume, _) => volume,
        Opened::Tractogram(..) => panic!("no image"),
    }
}

fn points(path: &Path) -> Vec<[f32; 3]> {
    match io::open(path, &Control::new()).expect("opened") {
        Opened::Tractogram(lines, _) => lines.points.to_vec(),
        Opened::Volume(..) => panic!("no streamlines"),
    }
}

fn save(path: &Path, grid: &Grid, value: impl Fn(DVec3) -> f32) {
    let at = |i: usize| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
    let values: Vec<f32> = (0..grid.voxel_count()).map(|i| value(at(i))).collect();
    let volume = Volume::scalar(Arc::new(grid.clone()), values);
    nifti::save_volume(path, &volume, "test", &Control::new()).expect("written");
}

fn converted() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let (moving, fixed) = grids();
    write_field(&here.join("1Warp.nii.gz"), &fixed);
    // Left is negative: an exchange of left and right would show.
    save(&here.join("x.nii.gz"), &moving, |at| at.x as f32);
    let messages = succeeds(
        here,
        &[
            "convert",
            "x.nii.gz",
            "out.nii.gz",
            "--warp",
            "1Warp.nii.gz",
        ],
    );
    assert!(messages.contains("with linear interpolation"), "{messages}");
    let found = volume(&here.join("out.nii.gz"));
    assert!(found.grid.same_space(&fixed, 1e-3));
    for (i, value) in found.values.iter().enumerate() {
        let at = fixed.world(DVec3::from_array(fixed.voxel(i).map(|v| v as f64)));
        let expected = (at + SHIFT).x;
        assert!((f64::from(*value) - expected).abs() < 1e-3, "{at}: {value}");
    }
    let lines = Tractogram::of_curves([[[0f32, -5.0, 0.0], [5.0, 0.0, -5.0], [7.0, 5.0, -6.0]]]);
    let tracks = here.join("in.tck");
    streamlines::save(&tracks, &lines, "test", &Control::new()).expect("written");
    let messages = succeeds(
        here,
        &["convert", "in.tck", "out.tck", "--warp", "1Warp.nii.gz"],
    );
    assert!(
        messages.contains("mapped back, they miss their places by"),
        "{messages}"
    );
    let select = [
        "select",
        "in.tck",
        "chosen.tck",
        "--length",
        "1..",
        "--warp",
        "1Warp.nii.gz",
    ];
    succeeds(here, &select);
    for name in ["out.tck", "chosen.tck"] {
        for (found, old) in points(&here.join(name)).iter().zip(lines.points.iter()) {
            let [found, old] = [found, old].map(|p| DVec3::from_array(p.map(f64::from)));
            assert!(found.distance(old - SHIFT) < 1e-3, "{name}: {found} {old}");
        }
    }
    // The inverse of the file brings them back.
    let back = [
        "convert",
        "out.tck",
        "back.tck",
        "--warp",
        "inverse:1Warp.nii.gz",
    ];
    succeeds(here, &back);
    for (found, old) in points(&here.join("back.tck"))
        .iter()
        .zip(lines.points.iter())
    {
        let [found, old] = [found, old].map(|p| DVec3::from_array(p.map(f64::from)));
        assert!(found.distance(old) < 1e-3, "{found} {old}");
    }
}

fn labelled() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let (moving, fixed) = grids();
    write_field(&here.join("1Warp.nii.gz"), &fixed);
    let number = |at: DVec3| if at.x < 1.0 { 2001.0 } else { 7.0 };
    save(&here.join("a_dseg.nii.gz"), &moving, number);
    let table = "0 0 0 0 0 0 0 \"Clear\"\n7 255 0 0 1 1 1 \"Right\"\n2001 0 255 0 1 1 1 \"Left\"\n";
    std::fs::write(here.join("a_dseg.txt"), table).expect("written");
    let warp = [
        "convert",
        "a_dseg.nii.gz",
        "b_dseg.nii.gz",
        "--warp",
        "1Warp.nii.gz",
    ];
    let messages = succeeds(here, &warp);
    assert!(
        messages.contains("the label of the largest weight"),
        "{messages}"
    );
    let found = volume(&here.join("b_dseg.nii.gz"));
    for (i, value) in found.values.iter().enumerate() {
        let at = fixed.world(DVec3::from_array(fixed.voxel(i).map(|v| v as f64)));
        let x = (at + SHIFT).x;
        // The border between the voxels at 0 and 2 mm.
        if (x - 1.0).abs() > 1e-3 {
            assert_eq!(*value, number(DVec3::splat(x)), "{at}");
        }
    }
    let labels = found.labels.expect("names");
    assert_eq!(
        (labels.name(7), labels.name(2001)),
        (Some("Right"), Some("Left"))
    );
    // Nearest voxels on request; the names of labels are replaced only with --force.
    let (text, code) = run(here, &[&warp[..], &["--interpolation", "nearest"]].concat());
    assert_eq!(code, Some(1), "{text}");
    let forced = [&warp[..], &["--interpolation", "nearest", "--force"]].concat();
    assert!(succeeds(here, &forced).contains("the nearest voxel"));
}

fn refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let (moving, fixed) = grids();
    write_field(&here.join("w.nii.gz"), &fixed);
    save(&here.join("x.nii.gz"), &moving, |at| at.x as f32);
    let to = ["convert", "x.nii.gz", "out.nii.gz"];
    for (options, expected) in [
        (
            &["--warp", "w.nii.gz", "--affine", "a.mat"][..],
            "cannot be used with",
        ),
        (&["--fixed", "x.nii.gz"], "--warp"),
        (&["--moving", "x.nii.gz"], "--warp"),
        (&["--interpolation", "linear"], "--warp"),
        (
            &["--warp", "w.nii.gz", "--interpolation", "cubic"],
            "linear, nearest or labels",
        ),
        (&["--warp", "inverse:"], "the name of a file"),
    ] {
        let (text, code) = run(here, &[&to[..], options].concat());
        assert_eq!(code, Some(2), "{options:?}: {text}");
        assert!(text.contains(expected), "{options:?}: {text}");
    }
    for (options, expected) in [
        (&["--warp", "inverse:w.nii.gz"][..], "name it with --fixed"),
        (&["--warp", "none.nii.gz"], "none.nii.gz"),
        (&["--warp", "x.nii.gz"], "expected a displacement field"),
        (&["--warp", "composite.h5"], "CompositeTransformUtil"),
    ] {
        let (text, code) = run(here, &[&to[..], options].concat());
        assert_eq!(code, Some(1), "{options:?}: {text}");
        assert!(text.contains(expected), "{options:?}: {text}");
    }
    assert!(!here.join("out.nii.gz").exists());
}
