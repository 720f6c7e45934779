//! `arcuate pathway --fod` and `arcuate uncertainty --fod`: their files agree with their numbers, their commands repeat
//! them; refusals.

use super::{make_head, run};
use crate::cli::{arcuate, refuses};
use arcuate::compute::Control;
use arcuate::data::Volume;
use arcuate::io::image;
use serde_json::Value;
use std::path::Path;

const ENDS: &str = "--from sphere:-24,-18,8,8 --to sphere:-30,-22,58,12";
const WORLD: &str = "--odf-basis mrtrix --odf-frame world";

fn volume(path: &Path) -> Volume {
    let opened = image::read(path, &Control::new());
    opened.expect("an image").0
}

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().expect("a number")
}

pub fn through_distributions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    make_head(here);
    let base = format!("pathway --fod fod/wm_fod.nii.gz {WORLD} {ENDS} --directions 42");
    let value = run(
        &format!("{base} --epsilon 0.5 --null 40 --sensitivity held.nii.gz --out cst"),
        here,
    );
    supported(&value, here);
    assert_eq!(value["command"], "pathway");
    let least = number(&value, "least");
    let limit = number(&value, "excess_limit");
    assert!(limit >= 0.5, "{limit}");
    // A path costs at least 1 per mm.
    let path = &value["path"];
    assert!(number(path, "cost") >= 0.97 * number(path, "length_mm"));
    assert!(number(path, "cost") <= least * 1.6, "{path}, {least}");
    assert!(number(&value, "reference_amplitude") > 0.0);
    assert_eq!(value["parameters"]["directions"], "42");
    assert_eq!(value["parameters"]["curvature_price"], 12.0);
    assert!(value["parameters"]["tolerance"].is_null());
    let [u1, u2, u, mask] = ["u1", "u2", "u", "pathway"]
        .map(|name| volume(&here.join(format!("cst/{name}.nii.gz"))).values);
    let mut lowest = f64::INFINITY;
    for i in 0..u.len() {
        let [a, b, sum] = [u1[i], u2[i], u[i]].map(f64::from);
        if sum.is_finite() {
            // Each is the least over all directions, the sum that of one direction.
            assert!(a + b <= sum * (1.0 + 1e-5), "{a} + {b}, {sum}");
            // Each field is known up to the limit.
            assert!(sum <= 2.0 * least * (1.0 + limit) * (1.0 + 1e-4), "{sum}");
            lowest = lowest.min(sum);
        }
        if mask[i] != 0.0 {
            assert!(sum <= least * 1.5 * (1.0 + 1e-5));
        }
    }
    assert!((lowest / least - 1.0).abs() < 1e-5);
    let voxels = mask.iter().filter(|v| **v != 0.0).count() as u64;
    assert_eq!(value["pathway"]["voxels"].as_u64(), Some(voxels));
    let joined_from = value["joined_from"].as_f64();
    assert_eq!(
        value["joined"].as_bool(),
        Some(joined_from.is_some_and(|from| from <= 0.5))
    );
    assert!(here.join("cst/path.tck").exists());
    // The command repeats it.
    let repeat = value["repeat"].as_str().expect("a command");
    let repeated = repeat.strip_prefix("arcuate ").expect("arcuate");
    assert!(
        repeated.ends_with(" --null 40 --sensitivity held.nii.gz") && !repeated.contains("costly"),
        "{repeated}"
    );
    let repeated = repeated.replace("--out cst", "--out repeated");
    let repeated = run(&repeated.replace("held.nii.gz", "repeated.nii.gz"), here);
    let [first, second] = ["held.nii.gz", "repeated.nii.gz"].map(|name| volume(&here.join(name)));
    assert_eq!(first.values, second.values);
    assert!((number(&repeated, "least") / least - 1.0).abs() < 1e-4);
    // Where the path runs, costs rise.
    let costly = run(
        &format!("{base} --costly sphere:-27,-20,33,12 --costly-factor 3 --out costly"),
        here,
    );
    assert!(number(&costly, "least") > 1.02 * least, "{costly}");
    // Where the least cost alone counts, few voxels are left, joined or not.
    let output = arcuate(
        &format!("{base} --epsilon 0 --out thin")
            .split(' ')
            .collect::<Vec<_>>(),
        here,
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("joined"), "{text}{error}");
    assert!(!format!("{text}{error}").contains("inf"), "{text}{error}");
    refused(here);
    repetitions(here);
}

/// Repetitions of the pathway: the same with any number of threads and from the command that is reported.
fn repetitions(here: &Path) {
    // Ends between which no lobe is so large that noise leaves its cost unchanged.
    const FAR: &str = "--from sphere:-24,-18,8,5 --to sphere:-30,-22,66,4";
    let base =
        format!("uncertainty head/dwi.nii.gz --fod fod/wm_fod.nii.gz {WORLD} {FAR} --epsilon 0.5");
    let mask = "--distance-to head/brain_mask.nii.gz";
    let value = run(&format!("{base} --repetitions 20 {mask} --out noise"), here);
    assert_eq!(value["command"], "uncertainty");
    assert_eq!(value["repetitions"].as_u64(), Some(20));
    let least = number(&value, "least");
    let range = &value["least_repeated"];
    let [low, median, high] = ["low", "median", "high"].map(|part| number(range, part));
    assert!(low < median && median < high, "{range}");
    assert!((median / least - 1.0).abs() < 0.3, "{median} {least}");
    let share = volume(&here.join("noise/share.nii.gz")).values;
    for level in value["shares"].as_array().expect("levels") {
        let at_least = number(level, "share") as f32 - 1e-6;
        let voxels = share.iter().filter(|s| **s >= at_least).count();
        let ml = voxels as f64 * 4f64.powi(3) * 1e-3;
        assert!((number(level, "volume_ml") - ml).abs() < 1e-6, "{level}");
    }
    // Paths lie in the brain, which they do not leave.
    assert_eq!(number(&value, "nearest_mm"), 0.0);
    assert!(here.join("noise/paths.tck").exists() && here.join("noise/distances.csv").exists());
    let repeat = value["repeat"].as_str().expect("a command");
    assert!(
        repeat.starts_with("arcuate uncertainty head/dwi.nii.gz "),
        "{repeat}"
    );
    let repeated = repeat.strip_prefix("arcuate ").expect("arcuate");
    let repeated = repeated.replace("--out noise", "--threads 1 --out same");
    assert_eq!(run(&repeated, here)["least_repeated"], *range);
    let cases: [(&str, [&str; 2]); 5] = [
        (
            "--fod fod/wm_fod.nii.gz",
            [
                "Found --fod and no scan",
                "which hold no residuals; name it",
            ],
        ),
        ("--epsilon 0.2", ["Found no scan", "the residuals of a fit"]),
        (
            "head/dwi.nii.gz --fod fod/wm_fod.nii.gz --min-fa 0.2",
            [
                "--min-fa",
                "or leave out --fod for pathways through tensors",
            ],
        ),
        (
            "head/dwi.nii.gz --curvature-price 5",
            ["--curvature-price", "or choose distributions with --fod"],
        ),
        (
            "head/dwi.nii.gz --fod fod/peaks.nii.gz",
            ["volumes", "1, 6, 15, 28, 45, 66 or 91"],
        ),
    ];
    for (rest, parts) in cases {
        let line = format!("uncertainty {rest} {ENDS} --out no");
        let output = arcuate(&line.split(' ').collect::<Vec<_>>(), here);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_ne!(output.status.code(), Some(0), "{rest}");
        for part in parts {
            assert!(error.contains(part), "{rest}: {error}");
        }
    }
    // Distributions of another scan have other residuals.
    run(
        "phantom --scan-only --spacing 4 --shells 2500:45 --b0 4 --seed 9 --out other",
        here,
    );
    let line = format!(
        "uncertainty other/dwi.nii.gz --fod fod/wm_fod.nii.gz {WORLD} {ENDS} --directions 42 --out no"
    );
    refuses(
        &line.split(' ').collect::<Vec<_>>(),
        &[
            "The distributions of the pathway differ by",
            "name the scan",
        ],
        here,
    );
    assert!(!here.join("no").exists());
}

/// The random pairs and the map: of each voxel's costs, and of all amplitudes together.
fn supported(value: &Value, here: &Path) {
    let compared = &value["random_pairs"];
    assert_eq!(compared["joined"].as_u64(), Some(40));
    assert_eq!(compared["directions"].as_u64(), Some(42));
    for name in ["weakest_above", "cost_per_mm_above"] {
        let share = number(compared, name);
        assert!((0.0..0.5).contains(&share), "{name}: {share}");
    }
    let map = volume(&here.join("held.nii.gz"));
    let sum: f64 = map.values.iter().map(|v| f64::from(*v)).sum();
    assert!((sum - 100.0).abs() < 1e-2, "{sum}");
    let stated = &value["sensitivity"];
    assert!(stated["voxels_of_half"].as_u64() < stated["voxels_of_95_percent"].as_u64());
    assert_eq!(stated["to"], "cost");
    // Within a bundle amplitudes may reach the reference; across the midline they do not.
    assert!((-1.0..=0.0).contains(&number(stated, "percent_per_percent_amplitude")));
    let ends = "--from sphere:-24,-18,8,8 --to sphere:30,-22,58,12 --directions 42";
    let map = "--null 20 --null-full --sensitivity amplitude.nii.gz --sensitivity-to amplitude --out other";
    let other = format!("pathway --fod fod/wm_fod.nii.gz {WORLD} {ends} {map}");
    let other = run(&other, here);
    // On its own voxels, which are half as long.
    let [spacing, full] = [compared, &other["random_pairs"]].map(|c| number(c, "spacing_mm"));
    assert!((spacing / full - 2.0).abs() < 1e-6, "{spacing} {full}");
    assert_eq!(other["random_pairs"]["joined"].as_u64(), Some(20));
    let stated = &other["sensitivity"];
    assert_eq!(stated["to"], "amplitude");
    let by_amplitude = number(stated, "percent_per_percent_amplitude");
    assert!((-1.0..-0.01).contains(&by_amplitude), "{by_amplitude}");
    let map = volume(&here.join("amplitude.nii.gz"));
    let sum: f64 = map.values.iter().map(|v| f64::from(*v)).sum();
    assert!(
        (sum + 100.0 * by_amplitude).abs() < 0.1,
        "{sum} {by_amplitude}"
    );
    let repeat = other["repeat"].as_str().expect("a command");
    assert!(repeat.contains("--sensitivity-to amplitude"), "{repeat}");
}

fn refused(here: &Path) {
    let cases: [(&str, [&str; 2]); 8] = [
        (
            "head/dwi.nii.gz --fod fod/wm_fod.nii.gz",
            [
                "Found the scan head/dwi.nii.gz and --fod",
                "leave out the scan for pathways through distributions",
            ],
        ),
        ("--epsilon 0.2", ["neither a scan nor --fod", "name a scan"]),
        (
            "--fod fod/wm_fod.nii.gz --alpha 2",
            [
                "Found --alpha beside --fod, which belongs to pathways through tensors; leave it out",
                "name a scan instead of --fod",
            ],
        ),
        (
            "head/dwi.nii.gz --curvature-price 5",
            [
                "Found --curvature-price beside the scan, which belongs to pathways through distributions",
                "choose distributions with --fod",
            ],
        ),
        (
            "--fod fod/wm_fod.nii.gz --costly-factor 5",
            [
                "Found --costly-factor without --costly",
                "name it with --costly, or leave out --costly-factor",
            ],
        ),
        (
            "--fod fod/wm_fod.nii.gz --sensitivity x.txt",
            [
                "Found the file name x.txt for --sensitivity",
                ".nii.gz, .nii, .mif, .mif.gz",
            ],
        ),
        (
            "--fod fod/wm_fod.nii.gz --null-full --null 0",
            ["Found --null-full with --null 0", "leave out one of them"],
        ),
        (
            "head/dwi.nii.gz --null-full",
            [
                "Found --null-full beside the scan",
                "which belongs to pathways through distributions",
            ],
        ),
    ];
    for (rest, parts) in cases {
        let line = format!("pathway {rest} {ENDS} --out no");
        let output = arcuate(&line.split(' ').collect::<Vec<_>>(), here);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{rest}: {error}");
        for part in parts {
            assert!(error.contains(part), "{rest}: {error}");
        }
    }
    let line = format!("pathway --fod head/dwi.nii.gz {WORLD} {ENDS} --out no");
    refuses(
        &line.split(' ').collect::<Vec<_>>(),
        &["49 volumes", "1, 6, 15, 28, 45, 66 or 91"],
        here,
    );
    assert!(!here.join("no").exists());
}
