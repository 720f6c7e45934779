//! Refusals of the command line, and their sentences.

use super::{arcuate, json, refuses, sentence_count, small_head};
use crate::support::test;
use arcuate::cli::{Arguments, Command as Subcommand};
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram, Volume};
use arcuate::io::{nifti, streamlines};
use clap::Parser as _;
use glam::DVec3;
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("cli::outputs_that_cannot_be_written_are_refused", no_place),
        test("cli::wrong_numbers_are_named", wrong_numbers),
        test("cli::errors state the cause", sentences),
        test("cli::a truncated file stops --strict", cut_off),
        test("cli::fewer streamlines than requested are reported", sent),
        test("cli::options before a command", options_first),
        test("cli::wrong_usage_is_one_sentence", usage),
        test("cli::wrong_rays_are_wrong_usage", wrong_rays),
        test("cli::no_more_memory_than_there_is", memory),
        test("cli::nothing_is_overwritten_without_force", overwriting),
        test("cli::one_case_of_a_benchmark", one_case),
        test("cli::bad_input_is_refused_in_one_sentence", bad_input),
        test("cli::every_bad_file_is_named", every_bad_file),
    ]
}

/// Our own sentence, not one about an unknown option.
fn wrong_numbers() {
    let cases = [
        ("--step", "-1", "of at least 1e-7"),
        ("--seeds", "-1", "random:N"),
        ("--fa", "-1", "from 0 to 1, or off"),
        ("--angle", "-5", "above 0 and at most 180, or off"),
        ("--min-length", "-5", "of at least 0"),
        ("--threads", "-1", "from 1 to 1024"),
        ("--iterations", "-1", "from 1 to 50"),
        ("--min-eigenvalue", "-1", "from 1e-8 to 0.001"),
        ("--seed", "sphere:0,0,0,0", "radius 0"),
        ("--seed", "sphere:0,0,0,-2", "radius -2"),
        ("--seed", "box:0,0,0,1,0,1", "half-edge 0"),
        ("--seed", "sphere:0,0,nan,1", "NaN"),
        ("--threads", "1e300", "from 1 to 1024"),
    ];
    for (option, value, reason) in cases {
        let line = [
            "arcuate",
            "track",
            "phantom:1",
            option,
            value,
            "--out",
            "t.tck",
        ];
        let error = Arguments::try_parse_from(line)
            .expect_err(option)
            .to_string();
        assert!(error.contains(reason), "{option} {value}: {error}");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let spacing = |mm| {
        let output = arcuate(&["phantom", "--spacing", mm, "--out", "o"], folder.path());
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for mm in ["500", "0.01"] {
        let error = spacing(mm);
        assert!(error.contains("a number from 0.5 to 10"), "{error}");
    }
}

/// An error that no data could correct gives exit code 2 and our own sentence, before anything is read.
fn wrong_rays() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ends = ["--from", "sphere:0,0,0,2", "--to", "sphere:9,0,0,2"];
    let pairs = [&ends[..], &["--null", "99999999999"]].concat();
    let few = [&ends[..], &["--null", "19"]].concat();
    let width = [&ends[..], &["--epsilon", "1e300"]].concat();
    let cases: [(&str, &[&str], &str); 24] = [
        ("geodesic", &["--directions", "cone:20,200"], "at most 180"),
        (
            "geodesic",
            &["--directions", "cone:0,30"],
            "Found 0 in --directions (Rays",
        ),
        ("geodesic", &["--directions", "cone:20,0"], "above 0"),
        ("geodesic", &["--directions", "icosphere:20"], "from 0 to 6"),
        ("geodesic", &["--directions", "sphere:70000"], "1 to 65536"),
        ("geodesic", &["--directions", "towards:0,0,0"], "not all 0"),
        ("geodesic", &["--keep-every", "0"], "from 1"),
        (
            "geodesic",
            &["--min-length", "50", "--max-length", "40"],
            "maximum length, 40 mm",
        ),
        ("track", &["--min-length", "301"], "maximum length, 300 mm"),
        ("pathway", &pairs, "from 20 to 100000"),
        ("pathway", &few, "expected 0, or a whole number from 20"),
        (
            "pathway",
            &width,
            "expected a number from 0 to 1000000, found “1e300”",
        ),
        ("track", &["--step", "1e-30"], "of at least 1e-7"),
        ("geodesic", &["--step", "1e-30"], "of at least 1e-7"),
        (
            "track",
            &["--step", "1e-6"],
            "0.000001 mm end before the minimum",
        ),
        ("geodesic", &["--step", "1e-6"], "0.000001 mm end before"),
        ("track", &["--fa", "7"], "from 0 to 1, or off"),
        ("track", &["--max-steps", "0"], "from 1 to 100000000"),
        (
            "track",
            &["--seeds", "random:99999999"],
            "from 1 to 16777216",
        ),
        ("track", &["--bootstrap", "999999"], "1 to 100000"),
        (
            "track",
            &["--seed", "sphere:0,0,0,1e300"],
            "holds 1e300 mm, expected 10000 mm at most",
        ),
        ("track", &["--seed", "sphere:1e300,0,0,1"], "holds 1e300 mm"),
        ("track", &["--seed", "box:0,0,0,1,1,1e5"], "holds 100000 mm"),
        (
            "track",
            &["--deflect", "0.3,0.7", "--integrator", "rk4"],
            "choose Euler",
        ),
    ];
    for (command, options, reason) in cases {
        let line = [&[command, "none.nii"], options, &["--out", "t.tck"]].concat();
        let output = arcuate(&line, folder.path());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line:?}: {error}");
        assert!(error.contains(reason), "{line:?}: {error}");
    }
}

/// Wrong usage is one sentence: what was found or is missing, and where to read about it.
fn usage() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (line, reason) in [
        (&["fit"][..], "and no <SCAN>, which the command needs"),
        (&["info"], "Found no <FILES>..., which the command needs"),
        (
            &["fit", "--foo", "x"],
            "'--foo' found; see arcuate fit --help",
        ),
        (
            &["fit", "--thread", "2"],
            "a similar argument exists: '--threads'",
        ),
        (
            &["track", "dwi", "--step", "abc", "--out", "t.tck"],
            "expected a number of at least 1e-7",
        ),
        (
            &["info", "a", "--threads", "0"],
            "expected a whole number from 1 to 1024",
        ),
        (&["select", "a", "b", "--include"], "none was supplied"),
        (&["--backend"], "; see arcuate --help"),
        (
            &["gradients"],
            "expected a subcommand; see arcuate gradients",
        ),
        (&["gradients", "--quiet"], "'arcuate gradients' requires"),
        (
            &["info", "a", "--memory", "-1"],
            "expected a number above 0",
        ),
        (
            &["render", "a", "--out", "p", "--size", "-5x3"],
            "write a negative value with =, as in --option=-5",
        ),
        (&["info", ""], "Found an empty argument"),
        (&["info", "-a.tck"], "that begins with - as ./-NAME"),
        (
            &[
                "fit",
                "a",
                "--method",
                "ols",
                "--iterations",
                "3",
                "--out",
                "o",
            ],
            "Found --iterations, which has no effect: only for reweighted fits",
        ),
    ] {
        let output = arcuate(line, folder.path());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line:?}: {error}");
        assert!(error.starts_with("arcuate: "), "{line:?}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{line:?}: {error}");
        assert!(error.contains(reason), "{line:?}: {error}");
        assert!(output.stdout.is_empty());
    }
}

/// One case of a benchmark is measured alone; a word that is in no name is an error.
fn one_case() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bench = |workload: &str, case: &str| {
        let line = format!("bench {workload} --quick --backend cpu --case");
        let line: Vec<&str> = line.split(' ').chain([case]).collect();
        arcuate(&line, folder.path())
    };
    let output = bench("geodesic", "Preparation");
    assert_eq!(output.status.code(), Some(0));
    let line: Value = serde_json::from_slice(&output.stdout).expect("one line");
    assert_eq!(line["workload"], "geodesic preparation of tensors");
    for (workload, names) in [
        ("geodesic", "“preparation of tensors”"),
        (
            "lifted",
            "these: “42 directions, 4 mm”, “98 directions, 2 mm”, “162",
        ),
    ] {
        let refused = bench(workload, "nothing");
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{error}");
        assert!(
            error.contains("“nothing”") && error.contains(names),
            "{error}"
        );
    }
}

/// Refused with a sentence if the process may not take the memory it needs.
fn memory() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head("6", 8, 1, here);
    let line = format!(
        "ulimit -v 3000000; exec {} track head/dwi.nii.gz --seeds random:9000000 --fa off --angle off \
         --step 0.1 --min-length 0 --backend cpu --out big.tck",
        env!("CARGO_BIN_EXE_arcuate")
    );
    let output = Command::new("sh")
        .args(["-c", &line])
        .current_dir(here)
        .output();
    let output = output.expect("a shell");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("would take about") && error.contains("GB"),
        "{error}"
    );
    assert_eq!(sentence_count(&error), 1, "{error}");
    assert!(!here.join("big.tck").exists());
}

/// The cause, not merely the fact of an error.
fn sentences() {
    let parsed = |line: &[&str]| {
        let line = ["arcuate"].iter().chain(line).collect::<Vec<_>>();
        let error = Arguments::try_parse_from(line).expect_err("refused");
        error.to_string()
    };
    let error = parsed(&["select", "a.tck", "--length", "60..20", "b.tck"]);
    let reason = "the lower limit 60 is above the higher one 20, expected 20..60";
    assert!(error.contains(reason), "{error}");
    let cost = [
        "pathway",
        "phantom:1",
        "--from",
        "mask:a.nii",
        "--to",
        "mask:b.nii",
    ];
    for option in ["--epsilon", "--alpha", "--min-fa"] {
        let error = parsed(&[&cost[..], &[option, "abc", "--out", "o"]].concat());
        let phrases = ["expected a number", "found “abc”"];
        assert!(phrases.iter().all(|w| error.contains(w)), "{error}");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    std::fs::write(here.join("a.bin"), [7u8; 900]).expect("written");
    let output = arcuate(&["info", "a.bin"], here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("expected an image (.nii.gz, "), "{error}");
    assert!(
        error.len() < 200
            && error
                .split(';')
                .next()
                .is_some_and(|s| s.matches(" or ").count() == 1),
        "{error}"
    );
    // More than a mebibyte: smaller sizes are not compared with the limit.
    let grid = Grid::axis_aligned([80; 3], DVec3::ONE, DVec3::ZERO).expect("regular");
    let picture = Volume::scalar(Arc::new(grid), vec![1.0; 512_000]);
    nifti::save_volume(&here.join("t1.nii.gz"), &picture, "", &Control::new()).expect("written");
    if !cfg!(target_os = "linux") {
        return;
    }
    // The limit was set by the user: no other program is to blame.
    refuses(
        &["info", "t1.nii.gz", "--memory", "0.001"],
        &["limit for the program", "--memory"],
        here,
    );
    // An existing folder of the system that accepts no files.
    super::info::tck(&here.join("t.tck"), &[[0.0; 3], [1.0; 3]]);
    let output = arcuate(&["convert", "t.tck", "/proc/c.tck"], here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("may not be written to"), "{error}");
}

/// A truncated file is converted with a remark, and refused with `--strict`.
fn cut_off() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    super::info::tck(&here.join("t.tck"), &[[0.0; 3], [1.0; 3]]);
    let bytes = std::fs::read(here.join("t.tck")).expect("a file");
    std::fs::write(here.join("t.tck"), &bytes[..bytes.len() - 30]).expect("written");
    let strict = ["convert", "t.tck", "s.trx", "--strict"];
    refuses_last(&strict, &["--strict", "t.tck", "cut off"], here);
    assert!(!here.join("s.trx").exists());
    let done = json(&["convert", "t.tck", "t.trx"], here);
    let notes = done["warnings"].as_array().expect("warnings");
    assert!(
        notes
            .iter()
            .any(|n| n.as_str().is_some_and(|n| n.contains("cut off"))),
        "{done}"
    );
}

/// More streamlines than were sent.
fn sent() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let both = Tractogram::new(vec![[0.0; 3], [1.0; 3], [2.0; 3], [3.0; 3]], vec![0, 2, 4]);
    streamlines::save(&here.join("t.tck"), &both, "", &Control::new()).expect("written");
    let map = ["density", "t.tck", "--voxel", "1", "--out", "d.nii.gz"];
    refuses(
        &[&map[..], &["--sent", "1"]].concat(),
        &["is 1", "the 2 in the file"],
        here,
    );
    json(&[&map[..], &["--sent", "2"]].concat(), here);
}

/// Options of all commands may come before the command as well as after it.
fn options_first() {
    let parsed = |line: &str| Arguments::try_parse_from(line.split(' ')).expect(line);
    let info = parsed("arcuate --quiet --threads 2 info a.nii --json");
    assert!(matches!(info.command, Some(Subcommand::Info(_))) && info.files.is_empty());
    assert!(info.global.quiet && info.global.json && info.global.threads == Some(2));
    let window = parsed("arcuate --threads 2 a.nii info");
    assert!(window.command.is_none() && window.files.len() == 2);
}

/// Like [`refuses`], with something else reported before.
fn refuses_last(arguments: &[&str], phrases: &[&str], folder: &Path) {
    let output = arcuate(arguments, folder);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
    let last = error.lines().last().unwrap_or_default();
    for word in phrases {
        assert!(
            last.contains(word),
            "{arguments:?}: {word} is not in {error}"
        );
    }
}

/// Each file of a set is checked before the work.
fn overwriting() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let cases: [(&[&str], &str); 5] = [
        (&["phantom", "--out", "a"], "a/t1_tumour.nii.gz"),
        (&["phantom", "--scan-only", "--out", "b"], "b/truth.json"),
        (&["phantom", "--scan-only", "--out", "c"], "c/dwi.bvec"),
        (&["demo", "--out", "d"], "d/tracks.tck"),
        (&["demo", "--out", "arcuate-demo"], "arcuate-demo/3d.png"),
    ];
    for (line, file) in cases {
        let file = here.join(file);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        std::fs::write(&file, "mine").expect("written");
        let name = file
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        refuses_last(line, &["--force", &name], here);
        assert_eq!(std::fs::read(&file).expect("it exists"), b"mine");
    }
}

fn bad_input() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head("6", 8, 1, here);
    let grid = Grid::axis_aligned([9, 9, 9], DVec3::splat(20.0), DVec3::ZERO).expect("regular");
    let picture = Volume::scalar(Arc::new(grid), vec![1.0; 729]);
    nifti::save_volume(&here.join("t1.nii.gz"), &picture, "", &Control::new()).expect("written");
    std::fs::write(here.join("short.bval"), "0 1000 1000").expect("written");
    std::fs::write(here.join("noise.nii"), [7u8; 900]).expect("written");
    let bytes = std::fs::read(here.join("head/dwi.nii.gz")).expect("the scan");
    std::fs::write(here.join("cut.nii.gz"), &bytes[..bytes.len() / 2]).expect("written");
    let out = ["--out", "o"];
    let fit = |rest: &[&'static str]| [&["fit", "head/dwi.nii.gz"], rest, &out].concat();
    refuses(
        &fit(&["--bval", "short.bval", "--bvec", "head/dwi.bvec"]),
        &["3", "9", "short.bval"],
        here,
    );
    refuses(
        &fit(&["--mask", "head/dwi.nii.gz"]),
        &["head/dwi.nii.gz"],
        here,
    );
    refuses(&fit(&["--mask", "t1.nii.gz"]), &["t1.nii.gz"], here);
    refuses(&["fit", "noise.nii", "--out", "o"], &["noise.nii"], here);
    refuses(&["fit", "cut.nii.gz", "--out", "o"], &["cut.nii.gz"], here);
    refuses(&["fit", "t1.nii.gz", "--out", "o"], &["t1.nii.gz"], here);
    // There is a file where a folder is needed: no user, not even root, can write below it.
    refuses(
        &["fit", "head/dwi.nii.gz", "--out", "noise.nii/o"],
        &["noise.nii/o"],
        here,
    );
    refuses(
        &["track", "head/dwi.nii.gz", "--out", "missing/t.tck"],
        &["missing"],
        here,
    );
    // Each option takes its own kind of file.
    refuses(
        &fit(&["--bval", "head/dwi.bvec", "--bvec", "head/dwi.bval"]),
        &["exchange", "head/dwi.bvec"],
        here,
    );
    for other in ["head/dwi.bvec", "head/dwi.bval"] {
        refuses(
            &fit(&["--gradients", other]),
            &["rows of four", other],
            here,
        );
    }
    std::fs::write(here.join("words.nii.gz"), "words\n").expect("written");
    refuses(&["info", "words.nii.gz"], &["not a NIfTI file"], here);
    let far = "sphere:500,500,500,3";
    refuses(
        &["track", "head/dwi.nii.gz", "--seed", far, "--out", "t.tck"],
        &["eed"],
        here,
    );
    refuses(
        &[
            "track",
            "head/dwi.nii.gz",
            "--step",
            "1e9",
            "--out",
            "t.tck",
        ],
        &["longer than the whole volume"],
        here,
    );
    assert!(!here.join("t.tck").exists());
    // An unusable path is detected before the work: the scan need not even exist.
    refuses(
        &["track", "none.nii", "--out", "missing/t.tck"],
        &["missing/t.tck"],
        here,
    );
    refuses(
        &["fit", "none.nii", "--out", "noise.nii"],
        &["noise.nii"],
        here,
    );
    refuses(
        &["fit", "none.nii", "--out", "noise.nii/o"],
        &["noise.nii/o"],
        here,
    );

    // An empty result is not a failure, but it is reported.
    let line = [
        "track",
        "head/dwi.nii.gz",
        "--seeds",
        "random:100",
        "--target",
        far,
    ];
    let output = arcuate(&[&line[..], &["--out", "t.tck"]].concat(), here);
    let warning = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{warning}");
    assert!(
        warning.contains("Target lies outside the volume"),
        "{warning}"
    );
    assert_eq!(sentence_count(&warning), 1, "{warning}");

    // A map in place of a mask is used with a threshold: worth a remark.
    let maps = ["fit", "head/dwi.nii.gz", "--maps", "fa", "--out", "maps"];
    json(&maps, here);
    let line = [
        "fit",
        "head/dwi.nii.gz",
        "--mask",
        "maps/fa.nii.gz",
        "--out",
        "again",
    ];
    let output = arcuate(&line, here);
    let warning = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{warning}");
    assert!(warning.contains("neither 0 nor 1"), "{warning}");
}

/// One sentence for each, and names that are not valid text are refused before any check.
fn every_bad_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    super::info::tck(&here.join("good.tck"), &[[0.0; 3], [1.0; 3]]);
    std::fs::write(here.join("bad.trk"), "words").expect("written");
    let output = arcuate(&["info", "bad.trk", "good.tck", "none.nii"], here);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), 2, "{errors}");
    assert!(
        lines[0].ends_with("bad.trk") && lines[1].ends_with("none.nii"),
        "{errors}"
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("good.tck"));
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = std::ffi::OsString::from_vec(b"odd\xff.tck".to_vec());
        let failure = arcuate::cli::check_letters([odd].into_iter()).expect_err("no text");
        assert_eq!(failure.exit_code, 2);
        assert!(failure.sentence.contains("rename the file"), "{failure}");
    }
    let arguments = ["info", "Stück 1.tck"].map(std::ffi::OsString::from);
    assert!(arcuate::cli::check_letters(arguments.into_iter()).is_ok());
}

/// Paths that cannot be written are refused before the work, not when its result is written.
fn no_place() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let long = "x".repeat(300);
    let refused = |rest: &[&str], out: &str, reason: &str| {
        refuses(&[rest, &["--out", out]].concat(), &[reason, out], here);
    };
    let ends = ["--from", "sphere:0,0,0,1", "--to", "sphere:9,0,0,1"];
    let into_folders = [
        vec!["fit", "none.nii"],
        [&["pathway", "none.nii"][..], &ends].concat(),
        vec!["segment", "none.nii", "--probe", "0,0,0"],
        vec!["commit", "none.tck", "none.nii"],
    ];
    std::fs::write(here.join("file"), "").expect("written");
    for line in into_folders {
        for out in [long.clone(), format!("new/{long}/maps")] {
            refused(&line, &out, "longer than the system allows");
        }
        refused(&line, "file", "a file in place of a folder");
        refused(&line, "/proc/none", "may not be written to");
    }
    for (line, ending) in [
        (&["track", "none.nii"][..], "tck"),
        (&["density", "none.tck", "--voxel", "1"], "nii.gz"),
        (&["align", "none.nii", "none.nii"], "txt"),
    ] {
        let (long, none) = (format!("{long}.{ending}"), format!("/proc/none.{ending}"));
        refused(line, &long, "longer than the system allows");
        refused(line, &none, "may not be written to");
    }
    assert!(!here.join("new").exists());
}
