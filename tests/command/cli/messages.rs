//! Notes, warnings and errors: distinguished on the terminal and in the object of `--json`, and the same in both.

use super::{arcuate, json, small_head};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Volume};
use arcuate::io;
use glam::DAffine3;
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("cli::notes_warnings_and_errors_are_apart", severities),
        test("cli::every_failure_is_one_object_of_json", failures),
        test("cli::json_that_does_not_fit_is_described", not_ours),
        test("cli::results_of_one_and_of_nothing", few),
        test("cli::gradients_of_a_killed_program_are_warned_of", half),
        test("cli::a_unit_that_was_converted_is_a_note", unit),
        test("cli::numbers_out_of_range_are_written_short", out_of_range),
    ]
}

/// The sentences of a kind on standard error.
fn on_terminal(output: &Output, word: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let start = format!("arcuate: {word}: ");
    let found = text.lines().filter_map(|l| l.strip_prefix(&start));
    found.map(str::to_owned).collect()
}

fn in_json(object: &Value, member: &str) -> Vec<String> {
    let list = object[member].as_array();
    let list = list.unwrap_or_else(|| panic!("{member}: {object}"));
    let text = |v: &Value| v.as_str().expect("a sentence").to_owned();
    list.iter().map(text).collect()
}

/// Runs with `--json`, compares both outputs, and returns the object and the number of sentences of each kind.
fn checked_json(line: &[&str], code: i32, here: &Path) -> (Value, [usize; 3]) {
    let output = arcuate(&[line, &["--json"]].concat(), here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{line:?}: {error}");
    let object: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{line:?}: one object: {e}: {error}"));
    let kinds = [
        ("note", "notes"),
        ("warning", "warnings"),
        ("error", "errors"),
    ];
    let counts = kinds.map(|(word, member)| {
        let sentences = on_terminal(&output, word);
        assert_eq!(sentences, in_json(&object, member), "{line:?}: {error}");
        sentences.len()
    });
    // Nothing else is on standard error.
    assert_eq!(
        counts.iter().sum::<usize>(),
        error.lines().count(),
        "{error}"
    );
    (object, counts)
}

/// A program was killed after it had replaced the vectors of a scan, and before the scan.
fn half() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head("4", 12, 2, here);
    let at = |name: &str| here.join("head").join(name);
    for (name, second) in [("dwi.nii.gz", ".first.previous"), ("dwi.bvec", ".previous")] {
        std::fs::copy(at(name), at(&format!(".{name}{second}"))).expect("copied");
    }
    let vectors = std::fs::read_to_string(at("dwi.bvec")).expect("vectors");
    let turned: Vec<&str> = vectors.lines().rev().collect();
    std::fs::write(at("dwi.bvec"), turned.join("\n")).expect("written");
    for line in [
        &["convert", "head/dwi.nii.gz", "a.nrrd"][..],
        &["gradients", "turn", "head/dwi.nii.gz", "--out", "a"],
        &["fit", "head/dwi.nii.gz", "--maps", "fa", "--out", "maps"],
    ] {
        let (object, counts) = checked_json(line, 0, here);
        assert_eq!(counts[1], 1, "{object}");
        let warning = in_json(&object, "warnings").remove(0);
        let sentence = "dwi.bvec is newer than the rest, and .dwi.bvec.previous was read";
        assert!(warning.contains(sentence), "{warning}");
    }
    let written = std::fs::read_to_string(here.join("a.bvec")).expect("vectors");
    let first = |text: &str| -> Vec<f64> {
        let numbers = text.lines().next().expect("a row").split_whitespace();
        numbers.map(|n| n.parse().expect("a number")).collect()
    };
    for (a, b) in first(&written).iter().zip(first(&vectors)) {
        assert!((a - b).abs() < 1e-3, "{a} and {b}");
    }
}

/// A header in µm is as good as one in mm: nothing need be wrong, so this is not a warning.
fn unit() {
    /// Position of the units of space and time in NIfTI-1, and the code of µm.
    const UNITS: (usize, u8) = (123, 3);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let grid = Grid::new([4, 4, 4], DAffine3::IDENTITY, AffineSource::Sform).expect("a grid");
    let values: Vec<f32> = (0..64u8).map(f32::from).collect();
    let volume = Volume::scalar(Arc::new(grid), values);
    let path = here.join("a.nii");
    io::nifti::save_volume(&path, &volume, "", &Control::new()).expect("saved");
    let mut bytes = std::fs::read(&path).expect("read");
    bytes[UNITS.0] = UNITS.1;
    std::fs::write(&path, bytes).expect("written");
    for line in [&["info", "a.nii"][..], &["convert", "a.nii", "b.nii.gz"]] {
        let (object, counts) = checked_json(line, 0, here);
        assert_eq!(counts, [1, 0, 0], "{object}");
        let note = in_json(&object, "notes").remove(0);
        let text = "The file's unit is µm; it was converted to mm: a.nii";
        assert_eq!(note, text);
    }
}

fn severities() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head("4", 12, 2, here);
    let fit = ["fit", "head/dwi.nii.gz", "--maps", "fa"];
    // A mask next to the scan gives a note.
    let (fitted, counts) = checked_json(&[&fit[..], &["--out", "a"]].concat(), 0, here);
    assert_eq!(counts, [1, 0, 0], "{fitted}");
    assert!(fitted["notes"][0].as_str().unwrap().contains("--mask"));
    // b-values in another unit give a warning; the result is next to the sentence.
    let table = std::fs::read_to_string(here.join("head/dwi.bval")).expect("a table");
    let larger = table.split_whitespace().map(|b| match b {
        "0" => b.to_owned(),
        b => format!("{b}000"),
    });
    let larger = larger.collect::<Vec<_>>().join(" ");
    std::fs::write(here.join("head/dwi.bval"), larger).expect("written");
    let (fitted, counts) = checked_json(&[&fit[..], &["--out", "b"]].concat(), 0, here);
    assert_eq!(counts, [1, 1, 0], "{fitted}");
    assert!(fitted["fitted"].as_u64() > Some(0), "{fitted}");
    assert!(fitted["files"][0].as_str().is_some(), "{fitted}");
    // An error comes after them.
    let outside = ["--mask", "head/fibres.tck", "--out", "c"];
    let (failed, counts) = checked_json(&[&fit[..], &outside].concat(), 1, here);
    assert_eq!((counts[1], counts[2]), (1, 1), "{failed}");
    assert!(failed["fitted"].is_null(), "{failed}");
    std::fs::write(here.join("head/dwi.bval"), table).expect("written");
}

/// Every failure is reported in both, with the earlier remarks.
fn failures() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    super::info::tck(&here.join("t.tck"), &[[0.0; 3], [1.0; 3]]);
    std::fs::write(here.join("bad.nii"), "hello").expect("written");
    for line in [
        "fit missing.nii --out a",
        "replay missing.arcuate",
        "convert t.tck t.trk",
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let (_, counts) = checked_json(&arguments, 1, here);
        assert_eq!(counts[2], 1, "{line}");
    }
    // Wrong usage, detected by the parser of the command line or by the command.
    for line in [
        "fit",
        "fit t.tck --out a --maps nonsense",
        "nonsense.nii",
        "table t.tck t.txt",
        "track --threads 0",
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let (_, counts) = checked_json(&arguments, 2, here);
        assert_eq!(counts, [0, 0, 1], "{line}");
    }
    // Each file that cannot be read has an error; those that can be read are described.
    let (info, counts) = checked_json(&["info", "bad.nii", "t.tck", "none.tck"], 1, here);
    assert_eq!(counts, [0, 0, 2], "{info}");
    assert_eq!(info["files"].as_array().map(Vec::len), Some(3), "{info}");
    assert_eq!(info["files"][1]["streamlines"], 1, "{info}");
    // Empty lists are included.
    let info = json(&["info", "t.tck"], here);
    for member in ["notes", "warnings", "errors"] {
        assert_eq!(info[member], Value::Array(Vec::new()), "{info}");
    }
}

/// Invalid scripts and sessions: what was found and where, without the text of the library that reads them.
fn not_ours() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for (text, reason) in [
        ("", "a text that ends too early (line 1, column 0)"),
        ("hello", "a text that is not JSON (line 1, column 1)"),
        ("{\n  \"a\": 1,\n", "a text that ends too early (line 3"),
        ("{}", "no member \"arcuate_session\" (line 1, column 2)"),
        (
            "{\"arcuate_session\": \"x\"}",
            "the text \"x\" in place of a whole number",
        ),
        (
            "{\"arcuate_session\": 1.5}",
            "the number 1.5 in place of a whole number",
        ),
        (
            "{\"arcuate_session\": null}",
            "null in place of a whole number",
        ),
        (
            "{\"arcuate_session\": [1]}",
            "a list in place of a whole number",
        ),
    ] {
        std::fs::write(here.join("s.arcuate"), text).expect("written");
        std::fs::write(here.join("run.json"), text).expect("written");
        let (object, _) = checked_json(&["replay", "s.arcuate"], 1, here);
        let sentence = in_json(&object, "errors").concat();
        assert!(sentence.contains(reason), "{reason}: {sentence}");
        assert!(sentence.contains("s.arcuate") && sentence.contains("expected a session"));
        let script = ["segment", "--script", "run.json", "--out", "o"];
        let (object, _) = checked_json(&script, 1, here);
        let script = in_json(&object, "errors").concat();
        assert!(script.contains("expected a run.json"), "{script}");
        for sentence in [sentence, script] {
            for theirs in [
                "missing field",
                "invalid",
                "struct",
                "u64",
                "at line",
                "EOF",
            ] {
                assert!(!sentence.contains(theirs), "{theirs}: {sentence}");
            }
        }
    }
}

/// A single item is in the singular; an empty result gives a warning; there is no minus zero.
fn few() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let grid = Grid::new([4, 4, 4], DAffine3::IDENTITY, AffineSource::Sform).expect("regular");
    let value = |i: usize| if i == 21 { 1.0 } else { 0.25 };
    let image = Volume::scalar(grid.into(), (0..64).map(value).collect::<Vec<f32>>());
    io::nifti::save_volume(&here.join("v.nii"), &image, "", &Control::new()).expect("written");
    super::info::tck(&here.join("t.tck"), &[[0.0; 3], [1.0, 1.0, 1.0]]);
    let text = |line: &[&str]| {
        let output = arcuate(line, here);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let one = [
        "region",
        "--image",
        "v.nii",
        "--threshold",
        "0.5..",
        "--out",
    ];
    assert!(text(&[&one[..], &["r.nii"]].concat()).starts_with("1 voxel, "));
    let table = ["table", "t.tck", "t.csv", "--image", "v.nii"];
    let twice = [&table[..], &["--image", "v.nii", "--image", "v.nii"]].concat();
    let found = text(&twice);
    assert!(found.starts_with("1 streamline: "), "{found}");
    let header = std::fs::read_to_string(here.join("t.csv")).expect("a table");
    let mut names: Vec<&str> = header
        .lines()
        .next()
        .expect("a header")
        .split(',')
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        names.len(),
        all,
        "columns with names of their own: {header}"
    );
    let select = ["select", "t.tck", "none.tck", "--length", "50.."];
    let (none, counts) = checked_json(&select, 0, here);
    assert_eq!(
        (none["kept"].as_u64(), counts),
        (Some(0), [0, 1, 0]),
        "{none}"
    );
    assert!(
        none["warnings"][0]
            .as_str()
            .is_some_and(|w| w.contains("1 streamline is kept"))
    );
    assert!(text(&["info", "none.tck", "t.tck"]).contains("streamlines 1, 2 points"));
}

/// A number far out of range is written as a power of ten, not with its 309 digits.
fn out_of_range() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head("10", 6, 1, here);
    std::fs::write(here.join("one.nii"), "x").expect("written");
    let convert = ["convert", "head/fibres.tck", "f.trx"];
    let output = arcuate(&convert, here);
    assert!(output.status.success(), "{output:?}");
    let track = "track head/dwi.nii.gz --seeds random:5 --out t.tck --angle 1e308";
    let rays =
        "geodesic head/dwi.nii.gz --seed sphere:0,0,0,5 --out r.tck --directions cone:9,1e200";
    let region =
        "region --image head/brain_mask.nii.gz --threshold 0.5..2 --out r.nii.gz --grow 1e308";
    let commit = "commit f.trx head/dwi.nii.gz --out w --model cylinder --between 43 --pulse 1e308";
    let noise = "phantom --scan-only --spacing 10 --out p --snr 1e-308";
    let voxels = "density f.trx --out d.nii.gz --voxel 0.001";
    let cases = [
        (track, 2, "1e308"),
        (rays, 2, "e200"),
        (region, 2, "1e308"),
        (commit, 1, "1e308"),
        (noise, 2, "at least 0.001, or off"),
        (
            voxels,
            1,
            "would number 2.1 million billion, expected at most 2.1 billion",
        ),
        ("info one.nii", 1, "Found 1 byte,"),
    ];
    for (line, code, limit) in cases {
        let line: Vec<&str> = line.split(' ').collect();
        let (object, [.., errors]) = checked_json(&line, code, here);
        assert_eq!(errors, 1, "{object}");
        let [sentence] = &in_json(&object, "errors")[..] else {
            panic!("{object}");
        };
        assert!(sentence.contains(limit), "{line:?}: {sentence}");
        assert!(sentence.chars().count() < 250, "{line:?}: {sentence}");
    }
}
