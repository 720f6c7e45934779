//! Data that do not overlap, outputs of one name, words that name no command, and records that repeat a result.

mod inputs;

use super::{arcuate, json, refuses, small_head};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram, Volume};
use arcuate::io::{nifti, streamlines};
use glam::DVec3;
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("cli::points outside an image have no value", outside),
        test("cli::data that do not overlap are refused", no_overlap),
        test(
            "cli::images that cannot be aligned are refused",
            no_alignment,
        ),
        test("cli::two outputs of one name are refused first", one_name),
        test("cli::unknown commands have a hint", hints),
        test("cli::failures name their command", failures),
        test("cli::records of files repeat all options", records),
        test("cli::a session of an older format is named", older),
        #[cfg(unix)]
        test("cli::an interrupted phantom leaves no files", interrupted),
        #[cfg(unix)]
        test(
            "cli::an interrupted phantom leaves the old files",
            interrupted_replacement,
        ),
    ];
    own.into_iter().chain(inputs::tests()).collect()
}

/// A line along x from 2 to 12 mm, and one from 22 to 32 mm.
fn lines(path: &Path) {
    let points = [2, 22].map(|from| (from..=from + 10).map(|x| [x as f32, 5.0, 5.0]));
    let points: Vec<[f32; 3]> = points.into_iter().flatten().collect();
    let lines = Tractogram::new(points, vec![0, 11, 22]);
    streamlines::save(path, &lines, "test", &Control::new()).expect("written");
}

/// An image of x, from 0 to 16 mm, moved by this many mm.
fn image(path: &Path, by: f64, value_at: impl Fn(usize) -> f32) {
    let from = DVec3::splat(by);
    let grid = Grid::axis_aligned([17, 12, 12], DVec3::ONE, from).expect("a grid");
    let values = (0..grid.voxel_count()).map(|i| value_at(grid.voxel(i)[0]));
    let values: Vec<f32> = values.collect();
    let volume = Volume::scalar(Arc::new(grid), values);
    nifti::save_volume(path, &volume, "test", &Control::new()).expect("written");
}

fn errors(arguments: &[&str], here: &Path) -> (Option<i32>, String) {
    let output = arcuate(arguments, here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), error)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file")
}

fn outside() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    lines(&here.join("in.tck"));
    image(&here.join("x.nii.gz"), 0.0, |x| x as f32);
    let share = "11 of 22 points of the streamlines (50.0 %) lie outside the image";
    let (code, error) = errors(&["table", "in.tck", "t.csv", "--image", "x.nii.gz"], here);
    assert!(code == Some(0) && error.contains(share), "{error}");
    // The mean of 2 to 12, and no number for the line outside.
    assert_eq!(
        read(&here.join("t.csv")),
        "streamline,length,x\n0,10,7\n1,10,\n"
    );
    let (code, error) = errors(&["profile", "in.tck", "p.csv", "--image", "x.nii.gz"], here);
    assert!(code == Some(0) && error.contains(share), "{error}");
    // One of the two lines has a value at each node.
    let rows = read(&here.join("p.csv"));
    assert!(
        rows.lines().skip(1).all(|row| row.ends_with(",1")),
        "{rows}"
    );
    let labels = |x: usize| if x < 5 { 1.0 } else { 2.0 };
    image(&here.join("labels.nii.gz"), 0.0, labels);
    let (code, error) = errors(&["connectome", "in.tck", "labels.nii.gz", "c.csv"], here);
    assert!(
        code == Some(0) && error.contains("no label there"),
        "{error}"
    );
    // Whole numbers that differ from voxel to voxel are not labels.
    let grey = ["connectome", "in.tck", "x.nii.gz", "g.csv"];
    let (code, error) = errors(&grey, here);
    assert!(
        code == Some(0) && error.contains("image of intensities"),
        "{error}"
    );
    let (_, error) = errors(&["connectome", "in.tck", "labels.nii.gz", "d.csv"], here);
    assert!(!error.contains("intensities"), "{error}");
    // Another kind of file is a mistake in the command line, as another ending is.
    let (code, error) = errors(&["convert", "in.tck", "o.nii.gz"], here);
    assert!(
        code == Some(2) && error.contains("arcuate density"),
        "{error}"
    );
    let density = [
        "density",
        "in.tck",
        "--template",
        "x.nii.gz",
        "--out",
        "d.nii.gz",
    ];
    let (code, error) = errors(&density, here);
    assert!(
        code == Some(0) && error.contains("are not counted"),
        "{error}"
    );
    // A limit that 0 would pass.
    let limited = ["select", "in.tck", "s.tck", "--image", "x.nii.gz:-1..20"];
    let done = json(&limited, here);
    assert_eq!(done["kept"], 1);
}

fn no_overlap() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    lines(&here.join("in.tck"));
    image(&here.join("far.nii.gz"), 500.0, |x| x as f32);
    image(&here.join("far_mask.nii.gz"), 500.0, |x| (x % 2) as f32);
    for line in [
        &["table", "in.tck", "t.csv", "--image", "far.nii.gz"][..],
        &["profile", "in.tck", "t.csv", "--image", "far.nii.gz"],
        &["connectome", "in.tck", "far.nii.gz", "t.csv"],
        &[
            "density",
            "in.tck",
            "--template",
            "far.nii.gz",
            "--out",
            "d.nii.gz",
        ],
        &["select", "in.tck", "s.tck", "--image", "far.nii.gz:0..9"],
        &[
            "select",
            "in.tck",
            "s.tck",
            "--exclude",
            "mask:far_mask.nii.gz",
        ],
    ] {
        refuses(
            line,
            &["No point of the streamlines lies in the image", "far"],
            here,
        );
        let exists = ["t.csv", "d.nii.gz", "s.tck"].map(|name| here.join(name).exists());
        assert_eq!(exists, [false; 3], "{line:?}");
    }
}

/// An image as large as a head, with voxels of 4 mm.
fn block(path: &Path, by: f64, value_at: impl Fn(usize) -> f32) {
    let (edge, from) = (DVec3::splat(4.0), DVec3::splat(by));
    let grid = Grid::axis_aligned([40; 3], edge, from).expect("a grid");
    let values: Vec<f32> = (0..grid.voxel_count())
        .map(|i| value_at(grid.voxel(i)[0]))
        .collect();
    let volume = Volume::scalar(Arc::new(grid), values);
    nifti::save_volume(path, &volume, "test", &Control::new()).expect("written");
}

fn no_alignment() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    block(&here.join("here.nii.gz"), 0.0, |x| x as f32);
    block(&here.join("far.nii.gz"), 4000.0, |x| x as f32);
    block(&here.join("nan.nii.gz"), 0.0, |_| f32::NAN);
    block(&here.join("flat.nii.gz"), 0.0, |_| 3.0);
    for (moving, reason) in [
        ("far.nii.gz", "The images do not overlap"),
        ("nan.nii.gz", "has no finite value"),
        ("flat.nii.gz", "has the value 3 everywhere"),
    ] {
        let line = ["align", moving, "here.nii.gz", "--out", "a.txt"];
        refuses(&line, &[reason], here);
        assert!(!here.join("a.txt").exists(), "{moving}");
    }
}

fn one_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    // No input exists: the names are compared before anything is read.
    let twice = ["connectome", "in.tck", "labels.nii.gz", "c.csv", "--pairs"];
    for name in ["c.csv", "./c.csv"] {
        let (code, error) = errors(&[&twice[..], &[name]].concat(), here);
        assert!(
            code == Some(2) && error.contains("Two outputs have the same name"),
            "{error}"
        );
    }
}

fn hints() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for (line, command) in [
        (&["cost"][..], "pathway"),
        (
            &["cost", "dwi.nii.gz", "--from", "sphere:0,0,0,2"],
            "pathway",
        ),
        (&["rays"], "geodesic"),
        (&["trakc"], "track"),
    ] {
        let (code, error) = errors(line, here);
        let hint = format!("similar commands: {command}");
        assert!(
            code == Some(2) && error.contains(&hint),
            "{line:?}: {error}"
        );
    }
    let (code, error) = errors(&["nofile.nii"], here);
    let advice = "check its spelling and the folder, or see arcuate --help: nofile.nii";
    assert!(code == Some(2) && error.contains(advice), "{error}");
    // Wrong arguments come before a file that exists: to add --force would not help.
    for (file, line, part) in [
        (
            "old.png",
            "render phantom:1 --view 3d --mosaic 8 --out old.png",
            "A mosaic shows slices",
        ),
        (
            "old.tck",
            "track phantom:1 --seed sphere:0,0,0,2 --max-steps 10 --min-length 100 --out old.tck",
            "end before the minimum length",
        ),
    ] {
        std::fs::write(here.join(file), "").expect("written");
        let (code, error) = errors(&line.split(' ').collect::<Vec<_>>(), here);
        assert!(code == Some(2) && error.contains(part), "{line}: {error}");
    }
}

fn failures() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (line, command) in [
        (&["table", "none.tck", "t.csv", "--json"][..], "table"),
        (
            &["gradients", "tensors", "none.nii", "--json"],
            "gradients tensors",
        ),
        (&["fit", "--json"], "fit"),
    ] {
        let output = arcuate(line, folder.path());
        assert!(!output.status.success());
        let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(object["command"], *command, "{line:?}: {object}");
        assert_eq!(object["errors"].as_array().map(Vec::len), Some(1));
    }
}

fn records() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head("4", 12, 1, here);
    let ends = [
        "--from",
        "sphere:-24,-18,8,6",
        "--to",
        "sphere:-30,-22,58,9",
    ];
    let line = ["pathway", "head/dwi.nii.gz", "--null", "0", "--out", "p"];
    let done = json(&[&line[..], &ends].concat(), here);
    let repeat = done["repeat"].as_str().unwrap_or_default();
    assert!(repeat.contains(" --null 0"), "{repeat}");
    let records = |file: &str, options: &[&str]| {
        let bytes = std::fs::read(here.join(file)).expect("a file");
        let text = String::from_utf8_lossy(&bytes);
        for option in options {
            assert!(text.contains(option), "{file}: {option}");
        }
    };
    let head = ["--shells 1000:12", "--b0 1", "--spacing 4", "--scan-only"];
    records("head/fibres.tck", &head);
    let kept = [
        "commit",
        "head/fibres.tck",
        "head/dwi.nii.gz",
        "--iterations",
        "3",
    ];
    let files = ["--filtered", "kept.tck", "--out", "c"];
    json(&[&kept[..], &files].concat(), here);
    records("kept.tck", &["--iterations 3", "--filtered kept.tck"]);
}

fn older() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    std::fs::write(here.join("s.arcuate"), "{\"arcuate_session\": 1}").expect("written");
    refuses(
        &["methods", "s.arcuate"],
        &[
            "a session of format 1, written by an older Arcuate",
            "reads format 2",
        ],
        here,
    );
}

/// Starts a command that writes a head of 3 mm, sends it a signal once `begun` returns true for the head's folder, and
/// returns whether it was complete before the signal.
#[cfg(unix)]
fn interrupt(arguments: &[&str], here: &Path, started: impl Fn(&Path) -> bool) -> bool {
    use std::time::{Duration, Instant};
    let mut child = crate::program()
        .args(["phantom", "--spacing", "3", "--out", "head"])
        .args(arguments)
        .current_dir(here)
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the binary starts");
    let until = Instant::now() + Duration::from_secs(120);
    while !started(&here.join("head")) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    let id = child.id().to_string();
    // SIGTERM: a shell that runs the tests in the background makes them ignore SIGINT.
    let sent = std::process::Command::new("kill")
        .args(["-TERM", &id])
        .status();
    assert!(sent.expect("kill").success());
    child.wait().expect("it ends").success()
}

/// The files of a folder with their contents.
#[cfg(unix)]
fn contents(folder: &Path) -> std::collections::BTreeMap<std::ffi::OsString, Vec<u8>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|e| (e.file_name(), std::fs::read(e.path()).unwrap_or_default()))
        .collect()
}

/// The signal arrives when some files are written, under any names: none of them stays.
#[cfg(unix)]
fn interrupted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    if interrupt(&[], here, |head| contents(head).len() > 1) {
        assert!(here.join("head/dwi.bvec").exists() && here.join("head/truth.json").exists());
        return;
    }
    let left = contents(&here.join("head")).len();
    assert_eq!(left, 0, "files of an interrupted phantom");
}

/// With `--force` as well, an interrupted command leaves the old files: all of them or none are replaced.
#[cfg(unix)]
fn interrupted_replacement() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let old = ["phantom", "--spacing", "9", "--scan-only", "--out", "head"];
    json(&old, here);
    let before = contents(&here.join("head"));
    // Several new files exist under other names, or the old scan has been replaced.
    let started = |head: &Path| {
        let now = contents(head);
        let scan = std::ffi::OsStr::new("dwi.nii.gz");
        now.len() > before.len() + 2 || now.get(scan) != before.get(scan)
    };
    let complete = interrupt(&["--seed", "2", "--force"], here, started);
    let after = contents(&here.join("head"));
    if complete {
        // The command ended before the signal.
        for name in ["dwi.nii.gz", "truth.json"].map(std::ffi::OsStr::new) {
            assert!(after.get(name) != before.get(name), "{name:?}");
        }
        return;
    }
    assert!(after == before, "{:?}", after.keys());
}
