//! `arcuate uncertainty`: its files agree with its numbers, the same seed gives the same repetitions; refusals.

use super::ENDS;
use crate::cli::{arcuate, json};
use arcuate::compute::Control;
use arcuate::data::statistics::wilson_interval;
use arcuate::io::{self, Opened};
use std::path::Path;

fn line<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    [&["uncertainty", "head/dwi.nii.gz"][..], &ENDS, rest].concat()
}

fn opened(path: &Path) -> Opened {
    io::open(path, &Control::new()).unwrap()
}

pub fn repetitions(here: &Path) {
    let mask = ["--distance-to", "head/brain_mask.nii.gz"];
    let value = json(&line(&["--repetitions", "20", "--out", "noise"]), here);
    assert_eq!(value["repetitions"].as_u64(), Some(20));
    assert!(value["nearest_mm"].is_null());
    let least = value["least"].as_f64().unwrap();
    let near = value["near"].as_u64().unwrap() as usize;
    assert_eq!(
        value["near_interval"],
        serde_json::json!(wilson_interval(near, 20))
    );
    let [low, median, high] =
        ["low", "median", "high"].map(|part| value["least_of_repetitions"][part].as_f64().unwrap());
    assert!(low <= median && median <= high);
    assert!((median / least - 1.0).abs() < 0.3, "{median} {least}");
    let Opened::Volume(share, _) = opened(&here.join("noise/share.nii.gz")) else {
        panic!("an image")
    };
    assert!(share.values.iter().all(|s| (0.0..=1.0).contains(s)));
    for level in value["levels"].as_array().unwrap() {
        let least = level["share"].as_f64().unwrap() as f32 - 1e-6;
        let voxels = share.values.iter().filter(|s| **s >= least).count();
        let ml = voxels as f64 * 3.5f64.powi(3) * 1e-3;
        assert!(
            (level["volume_ml"].as_f64().unwrap() - ml).abs() < 1e-6,
            "{level}"
        );
    }
    let Opened::Tractogram(paths, ..) = opened(&here.join("noise/paths.tck")) else {
        panic!("streamlines")
    };
    let without = value["without_path"].as_u64().unwrap() as usize;
    assert_eq!(paths.len(), 20 - without);
    // The repetitions depend on the seed and not on the number of threads.
    let repeated = line(&[
        "--repetitions",
        "20",
        "--out",
        "noise",
        "--force",
        "--threads",
        "1",
    ]);
    assert_eq!(
        json(&repeated, here)["least_of_repetitions"],
        value["least_of_repetitions"]
    );
    let other = line(&[
        "--repetitions",
        "20",
        "--random-seed",
        "2",
        "--out",
        "other",
    ]);
    assert_ne!(
        json(&other, here)["least_of_repetitions"],
        value["least_of_repetitions"]
    );
    // The pathway lies within the brain.
    let rest = ["--repetitions", "20", "--out", "mask"];
    let value = json(&line(&[&rest[..], &mask].concat()), here);
    assert_eq!(value["nearest_mm"].as_f64(), Some(0.0));
    let table = std::fs::read_to_string(here.join("mask/distances.csv")).expect("written");
    assert!(
        table.starts_with("along_mm,median_mm,p5_mm,p95_mm\n0,0,0,0\n"),
        "{table}"
    );
    let rest = ["--repetitions", "20", "--out", "mask", "--force"];
    let output = arcuate(&line(&[&rest[..], &mask].concat()), here);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let noise_only = "Measurement noise only: errors of the model, distortion, alignment and brain shift come on top";
    assert!(
        text.contains(noise_only)
            && text.contains(" ml of it in the mask\n")
            && text.contains("The path enters the mask; in the repetitions 0, 5 to 95 %: 0 to 0\n"),
        "{text}"
    );
    refused(here);
}

fn refused(here: &Path) {
    let output = arcuate(&line(&["--repetitions", "1", "--out", "few"]), here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("a whole number from 2"), "{error}");
    // Tensors have no residuals.
    let fit = [
        "fit",
        "head/dwi.nii.gz",
        "--maps",
        "tensor",
        "--out",
        "of_fit",
    ];
    json(&fit, here);
    let layout = ["--tensor-order", "mrtrix", "--tensor-frame", "world"];
    let tensors = ["uncertainty", "of_fit/tensor.nii.gz", "--out", "no"];
    let output = arcuate(&[&tensors[..], &layout, &ENDS].concat(), here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("name the scan itself"), "{error}");
    assert!(!here.join("no").exists());
}
