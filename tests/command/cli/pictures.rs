//! Pictures without a window: the cost of many.

mod copied;

use super::{arcuate, json, small_head};
use crate::program;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram, Volume, VolumeKind};
use arcuate::io::{nifti, tck};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("cli::pictures of many regions take no memory each", many),
        test("cli::pictures report what they do not show", omissions),
        test("cli::pictures need no desktop", silent),
        test("cli::pictures have clips, cues and projections", looks),
        test(
            "cli::pictures of slices refuse options of the 3-D view",
            flat,
        ),
    ];
    own.into_iter().chain(copied::tests()).collect()
}

/// Options of the look of the 3-D view change the picture, and values that make no sense are refused.
fn looks() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let grid = Grid::axis_aligned([12; 3], DVec3::splat(2.0), DVec3::splat(-11.0));
    let grid = Arc::new(grid.expect("regular"));
    let n = grid.voxel_count();
    let values: Vec<f32> = (0..n).map(|i| (i % 97) as f32).collect();
    let image = Volume::scalar(grid.clone(), values);
    nifti::save_volume(&here.join("a.nii"), &image, "", &Control::new()).expect("written");
    // One peak along x in each voxel.
    let peaks: Vec<f32> = (0..3 * n).map(|i| if i < n { 0.5 } else { 0.0 }).collect();
    let peaks = Volume::new(grid, 3, VolumeKind::Scalar, peaks);
    nifti::save_volume(&here.join("p.nii"), &peaks, "", &Control::new()).expect("written");
    small_head("4", 15, 2, here);
    let track = ["track", "head/dwi.nii.gz", "--seeds", "random:300"];
    json(&[&track[..], &["--out", "l.tck"]].concat(), here);
    let render = |options: &[&str]| {
        let files = ["render", "a.nii", "p.nii", "l.tck", "--size", "96x96"];
        let rest = ["--out", "x.png"];
        let output = arcuate(&[&files[..], &rest, options].concat(), here);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{options:?}: {error}");
        let picture = std::fs::read(here.join("x.png")).expect("a picture");
        std::fs::remove_file(here.join("x.png")).expect("removed");
        // The file also states how it was made.
        arcuate::io::decoded_png(&picture).expect("pixels")
    };
    let plain = render(&[]);
    // A layer that an option names is shown, even where --show names another.
    let hidden = render(&["--show", "p"]);
    assert!(hidden != plain);
    for options in [
        &["--projection", "a:maximum"][..],
        &["--cloud-shape", "a:gradient:box:5..90:0..60:E69F00:1"],
    ] {
        let options = [&["--show", "p"][..], options].concat();
        assert!(render(&options) != hidden, "{options:?}");
    }
    let projected = render(&["--projection", "a:maximum"]);
    assert!(render(&["--projection", "a:maximum", "--no-slices"]) != projected);
    for options in [
        &["--projection", "a:maximum"][..],
        &["--projection", "a:minimum:5..90:viridis"],
        &["--clip", "plane:1,0,0:-20:streamlines"],
        &["--clip", "box:-30,-60,-60:30,60,60:inverted:streamlines"],
        &["--depth-cue", "1"],
        &["--glyphs", "peaks"],
        &["--glyphs", "peaks", "--glyph-scale", "a"],
    ] {
        assert!(render(options) != plain, "{options:?}");
    }
    // A clip of other objects, and one that hides nothing, change nothing.
    assert!(render(&["--clip", "plane:1,0,0:-20:volumes"]) == plain);
    assert!(render(&["--clip", "plane:1,0,0:200:streamlines"]) == plain);
    for (options, reason) in [
        (
            ["--projection", "a:mean"],
            "expected the name of a layer, maximum or minimum",
        ),
        (
            ["--projection", "b:maximum"],
            "There is no image of numbers “b”, expected one of a, p",
        ),
        (
            ["--clip", "plane:0,0,0:1"],
            "expected plane:X,Y,Z:MM with a normal other than 0,0,0",
        ),
        (
            ["--projection", "a:maximum:9..2"],
            "expected two rising numbers after the kind, as in 0.2..0.9, found “9..2”",
        ),
        (
            ["--projection", "a:maximum:2..9:jet"],
            "expected a colour map of images, one of ",
        ),
        (
            ["--clip", "plane:nan,0,0:1"],
            "expected plane:X,Y,Z:MM with a normal other than 0,0,0",
        ),
        (
            ["--clip", "plane:1,0,0:inf"],
            "a distance of at most 100000 mm from the origin",
        ),
        (
            ["--clip", "box:0,0,0:0,0,0"],
            "two corners that differ by at least 0.1 mm",
        ),
        (
            ["--clip", "around:Seed:-5"],
            "expected around:REGION:MM with a margin of 0 to 100000 mm",
        ),
        (
            ["--clip", "plane:1,0,0:1:inverted:inverted"],
            "each at most once, as in plane:1,0,0:10:streamlines",
        ),
        (
            ["--clip", "sphere:1,0,0:1"],
            "expected plane:X,Y,Z:MM, box:X,Y,Z:X,Y,Z or around:REGION:MM",
        ),
        (
            ["--clip", "around:Seed:5"],
            "There is no region “Seed”, expected a region of the session",
        ),
        (["--depth-cue", "2"], "expected a number from 0 to 1"),
        (["--glyphs", "distributions"], "Found no distributions"),
    ] {
        let line = ["render", "a.nii", "p.nii", "--out", "x.png"];
        let output = arcuate(&[&line[..], &options].concat(), here);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{options:?}: {error}");
        assert!(error.contains(reason), "{options:?}: {error}");
    }
}

/// Options of the 3-D view have no effect on a picture of slices, and are refused there.
fn flat() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for option in [
        &["--projection", "a:maximum"][..],
        &["--cloud-shape", "a:gradient:box:5..90:0..60:E69F00:1"],
        &["--cloud-thickness", "a:4"],
        &["--cloud-flat", "a"],
        &["--clip", "plane:1,0,0:1"],
        &["--depth-cue", "0.5"],
        &["--no-slices"],
    ] {
        let line = ["render", "a.nii", "--view", "axial", "--out", "x.png"];
        let output = arcuate(&[&line[..], option].concat(), folder.path());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{option:?}: {error}");
        let expected = format!(
            "{} changes only the 3-D view, expected --view 3d",
            option[0]
        );
        assert!(error.contains(&expected), "{option:?}: {error}");
    }
}

/// A point outside the opened data, and truncated streamlines.
fn omissions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let lines = Tractogram::new(vec![[0.0; 3], [1.0; 3], [2.0; 3], [3.0; 3]], vec![0, 2, 4]);
    let tck = here.join("a.tck");
    tck::save(&tck, &lines, "", &Control::new()).expect("written");
    let whole = std::fs::read(&tck).expect("read");
    std::fs::write(&tck, &whole[..whole.len() - 20]).expect("written");
    let line = ["render", "a.tck", "--size", "64x64", "--out", "a.png"];
    let at = ["--at", "900,900,900"];
    let output = arcuate(&[&line[..], &at].concat(), here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    for text in ["cut off", "900, 900, 900 lies outside"] {
        assert_eq!(error.matches(text).count(), 1, "{text}: {error}");
    }
}

/// Without a desktop session neither we nor the drivers print anything.
fn silent() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let grid = Grid::axis_aligned([8; 3], DVec3::ONE, DVec3::ZERO).expect("regular");
    let image = Volume::scalar(
        Arc::new(grid),
        (0..512).map(|i| i as f32).collect::<Vec<_>>(),
    );
    nifti::save_volume(&here.join("a.nii"), &image, "", &Control::new()).expect("written");
    let output = program()
        .args(["render", "a.nii", "--size", "64x64", "--out", "a.png"])
        .current_dir(here)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("XDG_RUNTIME_DIR")
        .output()
        .expect("the binary starts");
    assert!(output.status.success());
    assert!(here.join("a.png").exists());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    // A window that cannot open reports it in one sentence.
    let output = program()
        .arg("a.nii")
        .current_dir(here)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("XDG_RUNTIME_DIR")
        .output()
        .expect("the binary starts");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains("No window can be opened here"), "{error}");
}

/// Peak memory of a process, kB; 0 once it has ended.
fn peak_kb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"));
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let number = line.and_then(|l| l.split_whitespace().next());
    number.and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Peak memory of a turntable of this many pictures, kB.
fn turn(pictures: usize, folder: &Path) -> u64 {
    let mut command = program();
    command.args(["render", "t1.nii.gz", "--view", "3d", "--size", "64x64"]);
    for i in 0..64 {
        let (x, y) = (f64::from(i % 8) * 4.0 - 14.0, f64::from(i / 8) * 4.0 - 14.0);
        command.args(["--target", &format!("sphere:{x},{y},0,2")]);
    }
    let count = pictures.to_string();
    let out = format!("{pictures}.png");
    command.args(["--turntable", &count, "--out", &out]);
    let command = command.current_dir(folder).stderr(Stdio::piped());
    let mut process = command.stdout(Stdio::null()).spawn().expect("it starts");
    let mut peak = 0;
    let code = loop {
        peak = peak.max(peak_kb(process.id()));
        match process.try_wait().expect("it runs") {
            Some(code) => break code,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(code.success(), "{code}");
    peak
}

/// A software renderer that compiled a shader for every region of every picture, as happens if a shader branches on a
/// value that is constant in a draw, kept a megabyte for each: 188 regions filled the memory of a machine during a
/// turntable.
fn many() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let origin = DVec3::splat(-19.0);
    let grid = Grid::axis_aligned([20; 3], DVec3::splat(2.0), origin).expect("regular");
    let image = Volume::scalar(Arc::new(grid), vec![1.0; 8000]);
    nifti::save_volume(&here.join("t1.nii.gz"), &image, "", &Control::new()).expect("written");
    let (few, more) = (turn(2, here), turn(10, here));
    let each = more.saturating_sub(few) / 8;
    println!("{few} kB of 2 pictures, {more} kB of 10: {each} kB each");
    // It used to be more than 60 MB each.
    assert!(each < 12_000, "{each} kB for a picture of 64 regions");
}
