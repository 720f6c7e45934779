//! What the command line refuses, and the sentences it does so with.

use super::{arcuate, json, refuses};
use crate::support::test;
use arcuate::cli::Arguments;
use clap::Parser as _;
use libtest_mimic::Trial;
use std::path::Path;
use std::process::Command;

pub fn tests() -> Vec<Trial> {
    vec![
        test("cli::wrong_numbers_are_named", wrong_numbers),
        test("cli::no_more_memory_than_there_is", memory),
        test("cli::bad_input_is_refused_in_one_sentence", bad_input),
    ]
}

/// Our own sentence, not a complaint about an unknown option.
fn wrong_numbers() {
    let cases = [
        ("--step", "-1", "above 0"),
        ("--seeds", "-1", "random:N"),
        ("--fa", "-1", "from 0 or off"),
        ("--angle", "-5", "from 0 or off"),
        ("--min-length", "-5", "from 0"),
        ("--threads", "-1", "1..=1024"),
        ("--iterations", "-1", "1..=50"),
        ("--min-eigenvalue", "-1", "above 0"),
        ("--seed", "sphere:0,0,0,0", "radius 0"),
        ("--seed", "sphere:0,0,0,-2", "radius -2"),
        ("--seed", "box:0,0,0,1,0,1", "half-edge 0"),
        ("--seed", "sphere:0,0,nan,1", "NaN"),
    ];
    for (option, value, words) in cases {
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
        assert!(error.contains(words), "{option} {value}: {error}");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let spacing = |mm| {
        let output = arcuate(&["phantom", "--spacing", mm, "--out", "o"], folder.path());
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(spacing("500").contains("larger than"), "{}", spacing("500"));
    assert!(spacing("0.01").contains("so small"), "{}", spacing("0.01"));
}

fn small_head(here: &Path) {
    let head = [
        "phantom",
        "--spacing",
        "6",
        "--shells",
        "1000:8",
        "--b0",
        "1",
    ];
    json(&[&head[..], &["--out", "head"]].concat(), here);
}

/// Refused with a sentence, where the process may not take what it would need.
fn memory() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head(here);
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
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    assert!(!here.join("big.tck").exists());
}

fn bad_input() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    json(
        &[
            "phantom",
            "--spacing",
            "6",
            "--shells",
            "1000:8",
            "--b0",
            "1",
            "--out",
            "head",
        ],
        here,
    );
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
    refuses(
        &fit(&["--mask", "head/t1.nii.gz"]),
        &["head/t1.nii.gz"],
        here,
    );
    refuses(&["fit", "noise.nii", "--out", "o"], &["noise.nii"], here);
    refuses(&["fit", "cut.nii.gz", "--out", "o"], &["cut.nii.gz"], here);
    refuses(
        &["fit", "head/t1.nii.gz", "--out", "o"],
        &["head/t1.nii.gz"],
        here,
    );
    // A file stands where a folder is needed: no user, not even root, can write below it.
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
    refuses(&["info", "words.nii.gz"], &["no NIfTI file"], here);
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
    // A bad place is found before the work: the scan need not even be there.
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

    // Nothing kept is no failure, but not silent either.
    let line = [
        "track",
        "head/dwi.nii.gz",
        "--seeds",
        "random:100",
        "--target",
        far,
    ];
    let output = arcuate(&[&line[..], &["--out", "t.tck"]].concat(), here);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("Target lies outside the volume"), "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");

    // A map in place of a mask is taken at a threshold: worth a word.
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
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("neither 0 nor 1"), "{said}");
}
