//! Inputs that lack values, transforms that flatten, options without effect, and sentences that name what is to blame.

use super::{errors, image, lines, read};
use crate::cli::{arcuate, json, small_head};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram};
use arcuate::io::streamlines;
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("cli::affines that flatten or mirror streamlines", affines),
        test("cli::points without a number are counted", no_number),
        test("cli::points that are not finite are counted", not_finite),
        test("cli::points outside the grid of their own file", own_grid),
        test("cli::a session among other files is refused", session),
        test(
            "cli::a segmentation lacks a tolerance or a start",
            segmentation,
        ),
        test("cli::regions that cut all paths are named", cut),
        test("cli::options without an effect are refused", no_effect),
        test("cli::the demo uses a free folder", demo),
        test("cli::guide pages are found by any case", guide),
        test("cli::nothing advises to overwrite an input", over_input),
        test("cli::a file in place of the folder of a truth", no_folder),
    ]
}

/// A command line with its exit code and what its error holds.
fn check(here: &Path, line: &str, code: i32, text: &str) {
    let arguments: Vec<&str> = line.split(' ').collect();
    let (found, error) = errors(&arguments, here);
    assert!(
        found == Some(code) && error.contains(text),
        "{line}: {found:?} {error}"
    );
}

fn over_input() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    lines(&here.join("in.tck"));
    image(&here.join("x.nii.gz"), 0.0, |x| x as f32);
    let own = "This output is an input of the command, expected a file of its own";
    for line in [
        "convert in.tck in.tck",
        "select in.tck ./in.tck --number 1",
        "region --image x.nii.gz --threshold 0..1 --out=x.nii.gz",
    ] {
        check(here, line, 1, own);
        let arguments: Vec<&str> = line.split(' ').collect();
        assert!(!errors(&arguments, here).1.contains("--force"), "{line}");
    }
    std::fs::create_dir(here.join("a.trk")).expect("a folder");
    check(
        here,
        "convert in.tck a.trk",
        1,
        "Found a folder of this name",
    );
    let label = "region --image x.nii.gz --label one --out r.nii.gz";
    check(
        here,
        label,
        2,
        "expected the whole number of a label, found “one”",
    );
    // Another file that exists is still a matter of choice.
    std::fs::copy(here.join("in.tck"), here.join("b.tck")).expect("copied");
    check(
        here,
        "convert in.tck b.tck",
        1,
        "add --force to overwrite it",
    );
}

fn no_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    lines(&here.join("in.tck"));
    let found = "Found a file, expected a folder with truth.json";
    check(here, "score in.tck --truth in.tck", 1, found);
    // The basis of an image without distributions is not mentioned.
    image(&here.join("x.nii.gz"), 0.0, |x| x as f32);
    for (name, text) in [
        ("missing.nii.gz", "No such file"),
        ("x.nii.gz", "Found a single volume, expected at least 6"),
    ] {
        let line = format!("track --fod {name} --select 10 --out s.tck");
        check(here, &line, 1, text);
        let arguments: Vec<&str> = line.split(' ').collect();
        assert_eq!(errors(&arguments, here).1.lines().count(), 1, "{name}");
    }
    check(here, "guide nothere", 2, "Found no page “nothere”");
}

fn affines() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    lines(&here.join("in.tck"));
    image(&here.join("x.nii.gz"), 0.0, |x| x as f32);
    let flat = "matrix:0,0,0,0,0,0,0,0,0,0,0,0";
    let line = format!("convert in.tck out.tck --affine {flat}");
    check(here, &line, 1, "an affine that leaves no volume");
    assert!(!here.join("out.tck").exists());
    let mirror = "matrix:-1,0,0,0,0,1,0,0,0,0,1,0";
    for (from, to) in [("in.tck", "m.tck"), ("x.nii.gz", "m.nii.gz")] {
        let line = format!("convert {from} {to} --affine {mirror}");
        check(here, &line, 0, "The affine mirrors the data");
    }
}

fn no_number() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    lines(&here.join("in.tck"));
    image(&here.join("nan.nii.gz"), 0.0, |_| f32::NAN);
    let share = "11 of 22 points of the streamlines (50.0 %) lie where the image is not a number";
    check(here, "table in.tck t.csv --image nan.nii.gz", 0, share);
    assert!(read(&here.join("t.csv")).contains("0,10,\n"));
    let done = json(
        &["select", "in.tck", "s.tck", "--image", "nan.nii.gz:0..1"],
        here,
    );
    assert_eq!(done["dropped"]["NoValue"], 2);
    assert!(done["dropped"]["Value"].is_null(), "{done}");
}

fn not_finite() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let points = vec![[0.0; 3], [3.0, 4.0, 0.0], [0.0; 3], [f32::NAN, 0.0, 0.0]];
    let odd = Tractogram::new(points, vec![0, 2, 4]);
    streamlines::save(&here.join("nan.trx"), &odd, "test", &Control::new()).expect("written");
    let line = "convert nan.trx out.tck";
    check(
        here,
        line,
        1,
        "a coordinate in streamline 2 that is not finite",
    );
    let (_, error) = errors(&["convert", "nan.trx", "out.tck"], here);
    assert!(error.trim_end().ends_with("nan.trx"), "{error}");
    let done = arcuate(&["info", "nan.trx"], here);
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(text.contains("1 of 4 points"), "{text}");
    assert!(text.contains("5.0 to 5.0 mm, median 5.0 mm"), "{text}");
}

fn own_grid() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for (by, warned) in [(0.0, false), (90.0, true)] {
        let points: Vec<[f32; 3]> = (0..10).map(|x| [x as f32 + by, 5.0, 5.0]).collect();
        let grid = Grid::axis_aligned([20; 3], DVec3::ONE, DVec3::ZERO).expect("a grid");
        let created = Tractogram::new(points, vec![0, 10]).with_grid(Arc::new(grid));
        streamlines::save(&here.join("g.trx"), &created, "test", &Control::new()).expect("written");
        let (_, error) = errors(&["info", "g.trx"], here);
        let found = error.contains("10 of 10 points lie outside the grid that the file names");
        assert_eq!(found, warned, "{error}");
    }
}

fn session() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    image(&here.join("x.nii.gz"), 0.0, |x| x as f32);
    std::fs::write(here.join("old.arcuate"), "{}").expect("written");
    let line = "render old.arcuate x.nii.gz --out o.png";
    check(here, line, 2, "Found a session among other files");
}

fn segmentation() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    image(&here.join("x.nii.gz"), 0.0, |x| x as f32);
    let line = "segment x.nii.gz --target 8 --add sphere:5,5,5,3 --out a";
    check(here, line, 2, "has no tolerance");
    let line = "segment x.nii.gz --probe 5,5,5 --out a";
    check(here, line, 2, "has no start");
}

fn cut() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head("4", 12, 1, here);
    let line = "pathway head/dwi.nii.gz --null 0 --out p --from sphere:-24,-18,8,6 --to sphere:-30,-22,58,9";
    let wall = format!("{line} --exclude box:0,0,34,200,200,6");
    check(here, &wall, 1, "outside region “exclude”");
    let within = format!("{line} --within sphere:30,-22,20,10");
    check(
        here,
        &within,
        1,
        "Region “from” lies outside region “within”",
    );
}

fn no_effect() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    lines(&here.join("in.tck"));
    image(&here.join("x.nii.gz"), 0.0, |x| x as f32);
    for (line, text) in [
        (
            "region --image x.nii.gz --threshold 1..3 --tolerance 2 --out r.nii.gz",
            "--tolerance",
        ),
        (
            "connectome in.tck x.nii.gz c.csv --image x.nii.gz",
            "Found --image, which has no effect",
        ),
        (
            "convert x.nii.gz y.nii.gz --vtk-space lps",
            "Found --vtk-space, which has no effect",
        ),
    ] {
        check(here, line, 2, text);
    }
}

fn demo() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    std::fs::create_dir(here.join("arcuate-demo")).expect("made");
    let done = json(&["demo"], here);
    let first = done["files"][0].as_str().unwrap_or_default();
    assert!(first.starts_with("arcuate-demo-2"), "{first}");
}

fn guide() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert_eq!(json(&["guide", "Track"], folder.path())["page"], "track");
}
