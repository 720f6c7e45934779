//! `arcuate track --noise`: its files agree with its numbers, any number of threads gives the same; refusals.

use crate::cli::{arcuate, json, small_head, split_arguments};
use arcuate::compute::Control;
use arcuate::io::{self, Opened};
use std::path::Path;

/// Streamlines along a synthetic corticospinal tract, with further options.
fn line<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    const TRACK: &str = "track head/dwi.nii.gz --mask head/brain_mask.nii.gz --seed sphere:-24,-18,8,8 --target \
                         sphere:-30,-22,58,12 --seeds random:40";
    let options = TRACK.split_whitespace();
    options.chain(rest.iter().copied()).collect()
}

fn opened(path: &Path) -> Opened {
    io::open(path, &Control::new()).unwrap()
}

pub fn repetitions() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    small_head("3.5", 20, 2, here);
    let options = ["--bootstrap", "20", "--noise", "noise", "--out", "all.tck"];
    let value = json(&line(&options), here);
    let noise = &value["noise"];
    assert_eq!(noise["repetitions"].as_u64(), Some(20));
    assert!(noise["nearest_mm"].is_null() && noise["along_centre_line"].is_null());
    assert_eq!(noise["files"].as_array().map(Vec::len), Some(2));
    let Opened::Volume(share, _) = opened(&here.join("noise/share.nii.gz")) else {
        panic!("an image")
    };
    assert!(share.values.iter().all(|s| (0.0..=1.0).contains(s)));
    for level in noise["shares"].as_array().unwrap() {
        let least = level["share"].as_f64().unwrap() as f32 - 1e-6;
        let voxels = share.values.iter().filter(|s| **s >= least).count();
        let ml = voxels as f64 * 3.5f64.powi(3) * 1e-3;
        let stated = level["volume_ml"].as_f64().unwrap();
        assert!((stated - ml).abs() < 1e-6, "{level}");
    }
    let Opened::Tractogram(lines, ..) = opened(&here.join("noise/centre_lines.tck")) else {
        panic!("streamlines")
    };
    let without = noise["without_streamlines"].as_u64().unwrap() as usize;
    assert_eq!(lines.len(), 20 - without);
    let repeat = value["repeat"].as_str().unwrap();
    assert!(repeat.ends_with(" --out all.tck --noise noise"), "{repeat}");
    // Neither the number of threads nor the command that it reports changes the figures.
    let threads = [&options[..], &["--threads", "1", "--force"]].concat();
    assert_eq!(json(&line(&threads), here)["noise"], *noise);
    let options = split_arguments(repeat.strip_prefix("arcuate ").unwrap());
    let options = options.iter().map(String::as_str);
    let options: Vec<&str> = options.chain(["--force"]).collect();
    assert_eq!(json(&options, here)["noise"], *noise);
    // The streamlines run in the brain.
    let mask = ["--distance-to", "head/brain_mask.nii.gz"];
    let rest = ["--bootstrap", "20", "--noise", "mask", "--out", "mask.tck"];
    let value = json(&line(&[&rest[..], &mask].concat()), here);
    assert_eq!(value["noise"]["nearest_mm"].as_f64(), Some(0.0));
    let table = std::fs::read_to_string(here.join("mask/distances.csv")).expect("written");
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
    assert_eq!(
        rows[0].join(","),
        "along_mm,x_mm,y_mm,z_mm,median_mm,p5_mm,p95_mm"
    );
    assert_eq!([rows[1][0], rows[1][4], rows[1][5]], ["0", "0", "0"]);
    let output = arcuate(&line(&[&rest[..], &mask, &["--force"]].concat()), here);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in [
        "This covers measurement noise only, not errors of the model",
        " ml of it in the mask\n",
        "Centre lines lie ",
        "The middle centre line enters the mask; median over the repetitions 0 mm (5 to 95 %: 0 mm to 0 mm)\n",
        "mask/distances.csv\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    few(here);
    refused(here);
}

/// Fewer than 20 repetitions have no percentiles.
fn few(here: &Path) {
    let options = ["--bootstrap", "4", "--noise", "few", "--out", "few.tck"];
    let value = json(&line(&options), here);
    let range = &value["noise"]["from_middle_mm"];
    assert!(
        range["median"].is_number() && range["low"].is_null(),
        "{range}"
    );
    let output = arcuate(&line(&[&options[..], &["--force"]].concat()), here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let warning = "Found 4 repetitions, expected at least 20 for percentiles and distances; raise --bootstrap";
    assert!(error.contains(warning), "{error}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!text.contains("5 to 95 %"), "{text}");
}

fn refused(here: &Path) {
    let cases: &[(&[&str], &str)] = &[
        (
            &["--noise", "n", "--out", "a.tck"],
            "Found --noise without --bootstrap",
        ),
        (
            &[
                "--bootstrap",
                "20",
                "--distance-to",
                "head/brain_mask.nii.gz",
                "--out",
                "a.tck",
            ],
            "Found --distance-to without --noise",
        ),
        (
            &["--bootstrap", "20", "--noise", "noise", "--out", "a.tck"],
            "share.nii.gz",
        ),
        (
            &[
                "--bootstrap",
                "20",
                "--noise",
                "n",
                "--distance-to",
                "none.nii.gz",
                "--out",
                "a.tck",
            ],
            "none.nii.gz",
        ),
    ];
    for (options, why) in cases {
        let output = arcuate(&line(options), here);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(why), "{error}");
        assert!(!here.join("a.tck").exists() && !here.join("n").exists());
    }
}
