//! `arcuate pathway`: its files agree with its numbers; refusals.

mod uncertainty;

pub use uncertainty::repetitions;

use super::{arcuate, json, refuses, small_head, split_arguments};
use arcuate::compute::Control;
use arcuate::data::{Tractogram, Volume};
use arcuate::io::{self, Opened};
use arcuate::state::pathways::PathwaySettings;
use std::path::Path;

fn volume(path: &Path) -> Volume {
    match io::open(path, &Control::new()).unwrap() {
        Opened::Volume(volume, _) => volume,
        Opened::Tractogram(..) => panic!("an image"),
    }
}

fn streamlines(path: &Path) -> Tractogram {
    match io::open(path, &Control::new()).unwrap() {
        Opened::Tractogram(tractogram, _) => tractogram,
        Opened::Volume(..) => panic!("streamlines"),
    }
}

const ENDS: [&str; 4] = [
    "--from",
    "sphere:-24,-18,8,6",
    "--to",
    "sphere:-30,-22,58,10",
];

/// Voxel size of the head, mm: so large that a pathway takes a fraction of a second.
const SPACING: &str = "4.7";

pub fn costs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head(SPACING, 20, 2, here);
    let scan = ["pathway", "head/dwi.nii.gz"];
    let rest = ["--epsilon", "0.4", "--out", "cst"];
    let line = [&scan[..], &ENDS, &rest];
    let value = json(&line.concat(), here);
    let [u1, u2, u, mask] =
        ["u1", "u2", "u", "pathway"].map(|name| volume(&here.join(format!("cst/{name}.nii.gz"))));
    let least = value["least"].as_f64().unwrap();
    let limit = least * 1.4;
    let mut found = f64::INFINITY;
    for i in 0..u.values.len() {
        let (a, b, sum) = (u1.values[i], u2.values[i], u.values[i]);
        assert_eq!(sum.is_nan(), a.is_nan() || b.is_nan());
        let sum = f64::from(sum);
        if mask.values[i] != 0.0 {
            assert!(sum <= limit * (1.0 + 1e-5));
        }
        if sum.is_finite() {
            assert!((f64::from(a) + f64::from(b) - sum).abs() <= 1e-5 * sum);
            found = found.min(sum);
        }
    }
    assert!((found / least - 1.0).abs() < 1e-5);
    let voxels = mask.values.iter().filter(|v| **v != 0.0).count() as u64;
    assert_eq!(value["pathway"]["voxels"].as_u64(), Some(voxels));
    assert_eq!(
        value["joined"].as_bool(),
        Some(value["joined_from"].as_f64().unwrap() <= 0.4)
    );
    let path = streamlines(&here.join("cst/path.tck"));
    assert_eq!(path.len(), 1);
    let length = f64::from(path.length_mm(0));
    assert!((value["path"]["length_mm"].as_f64().unwrap() / length - 1.0).abs() < 1e-3);
    // The costs along the path add up.
    let along = |what: &str| -> Vec<f64> {
        let values = value["path"]["along"][what].as_array().unwrap();
        values.iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let (lengths, rates) = (along("length_mm"), along("cost_per_mm"));
    assert_eq!(
        (lengths.len(), rates.len()),
        (path.points.len() - 1, path.points.len() - 1)
    );
    let mut before = 0.0;
    let parts = lengths.iter().zip(&rates).map(|(length, rate)| {
        let part = rate * (length - before);
        before = *length;
        part
    });
    let sum: f64 = parts.sum();
    assert!((sum / value["path"]["cost"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    // The printed figures of the path agree with each other.
    let part = |name: &str| value["path"][name].as_f64().unwrap();
    let (cost, length_mm, rate) = (part("cost"), part("length_mm"), part("cost_per_mm"));
    assert!((rate * length_mm / cost - 1.0).abs() < 1e-9);
    let printed = arcuate(
        &[&line.concat()[..], &["--force", "--null", "0"]].concat(),
        here,
    );
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    // The digits of the cost per mm are those of the window.
    let rate = arcuate::ui::format::significant(rate);
    let figures =
        format!("The path costs {cost:.3} and is {length_mm:.1} mm long: {rate} per mm\nWeakest ");
    assert!(printed.contains(&figures), "{printed}");
    // The path runs from one region to the other.
    let ends = [path.streamline(0)[0], *path.streamline(0).last().unwrap()];
    for (end, (centre, radius)) in ends.into_iter().zip([
        (glam::Vec3::new(-24.0, -18.0, 8.0), 6.0),
        (glam::Vec3::new(-30.0, -22.0, 58.0), 10.0),
    ]) {
        assert!(glam::Vec3::from(end).distance(centre) <= radius + 1e-3);
    }
    // The printed command gives the same result.
    let repeated = split_arguments(value["repeat"].as_str().unwrap());
    let mut repeated: Vec<&str> = repeated[1..].iter().map(String::as_str).collect();
    repeated.push("--force");
    let repeated = json(&repeated, here);
    assert!((repeated["least"].as_f64().unwrap() / least - 1.0).abs() < 1e-5);
    // A bundle of the head costs less than most random pairs; the requested number of pairs is compared.
    let compared = &value["random_pairs"];
    assert_eq!(compared["joined"].as_u64(), Some(200));
    for name in ["weakest_above", "cost_per_mm_above"] {
        let share = compared[name].as_f64().unwrap();
        assert!((0.0..0.4).contains(&share), "{name}: {share}");
    }
    let fewer = json(
        &[&line.concat()[..], &["--force", "--null", "30"]].concat(),
        here,
    );
    assert_eq!(fewer["random_pairs"]["joined"].as_u64(), Some(30));
    let none = json(
        &[&line.concat()[..], &["--force", "--null", "0"]].concat(),
        here,
    );
    assert!(none["random_pairs"].is_null());
    check_texts(here, &value);
    refused(here);
    nothing_starts(here);
    ends_close_together(here);
    sensitivity(here);
}

/// The voxels on which a pathway depends: their percentages add up to 100, and the command that is printed repeats them.
fn sensitivity(here: &Path) {
    let rest = [
        "--null",
        "0",
        "--out",
        "cst2",
        "--sensitivity",
        "held.nii.gz",
    ];
    let line = [&["pathway", "head/dwi.nii.gz"][..], &ENDS, &rest].concat();
    let value = json(&line, here);
    let map = volume(&here.join("held.nii.gz"));
    let sum: f64 = map.values.iter().map(|v| f64::from(*v)).sum();
    assert!((sum - 100.0).abs() < 1e-2, "{sum}");
    let stated = &value["sensitivity"];
    let number = |name: &str| stated[name].as_u64().unwrap();
    let (half, most) = (number("voxels_of_half"), number("voxels_of_95_percent"));
    assert!(0 < half && half < most, "{stated}");
    let largest = map.values.iter().copied().fold(0.0, f32::max);
    assert!((stated["largest_percent"].as_f64().unwrap() / f64::from(largest) - 1.0).abs() < 1e-5);
    let repeated = value["repeat"].as_str().unwrap();
    assert!(
        repeated.ends_with(" --sensitivity held.nii.gz"),
        "{repeated}"
    );
    let output = arcuate(&[&line[..], &["--force"]].concat(), here);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("\nHalf of the least cost depends on "),
        "{text}"
    );
    // Cost fields depend on the order of their updates, within the tolerance of the solver.
    let repeated = volume(&here.join("held.nii.gz")).values;
    let mut pairs = repeated.iter().zip(map.values.iter());
    assert!(pairs.all(|(a, b)| (a - b).abs() < 1e-4));
    // No file is replaced.
    let rest = [
        "--null",
        "0",
        "--out",
        "other",
        "--sensitivity",
        "held.nii.gz",
    ];
    let line = [&["pathway", "head/dwi.nii.gz"][..], &ENDS, &rest].concat();
    refuses(&line, &["held.nii.gz"], here);
}

/// A path that hardly leaves its regions has no costliest stretch, and no number is given for one.
fn ends_close_together(here: &Path) {
    let ends = [
        "--from",
        "sphere:-24,-18,8,3",
        "--to",
        "sphere:-24,-13,11,3",
    ];
    let rest = ["--null", "20", "--out", "close", "--force"];
    let line = [&["pathway", "head/dwi.nii.gz"][..], &ends, &rest].concat();
    assert!(json(&line, here)["path"]["weakest"].is_null());
    let output = arcuate(&line, here);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("\nNo weakest stretch: "), "{text}");
    assert!(!text.contains("0.0 times the mean"), "{text}");
    // The pairs exist: the sentence names what is missing.
    let why = "on voxels of twice the size the path hardly leaves the regions; move them apart";
    assert!(
        text.contains(why) && !text.contains("random pair"),
        "{text}"
    );
}

/// Defaults are those of the window, and the sentences agree with the numbers.
fn check_texts(here: &Path, value: &serde_json::Value) {
    let help = arcuate(&["pathway", "--help"], here);
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let default_value = PathwaySettings::defaults();
    let sentence: Vec<&str> = help.split_whitespace().collect();
    let default_of = |option: &str| {
        let at = sentence.iter().position(|w| *w == option).unwrap();
        let mut after = sentence[at..]
            .iter()
            .skip_while(|w| !w.ends_with("[default:"));
        let number = after.nth(1).unwrap().trim_end_matches([']', ',']);
        number.parse::<f64>().unwrap()
    };
    assert_eq!(default_of("--epsilon"), default_value.epsilon);
    assert_eq!(default_of("--min-fa"), default_value.params.min_fa);
    assert_eq!(default_of("--alpha"), default_value.params.metric.alpha);
    let repaired = value["repaired"].as_u64().unwrap();
    let scan = ["pathway", "head/dwi.nii.gz"];
    let line = [&scan[..], &ENDS, &["--epsilon", "0.4", "--out", "again"]].concat();
    let output = arcuate(&line, here);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let reported = text
        .lines()
        .find_map(|l| l.strip_suffix(" tensors were repaired"));
    let reported = reported.map_or(0, |n| {
        let digits: String = n.chars().filter(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    });
    assert_eq!(reported, repaired, "{text}");
    assert!(repaired > 0, "nothing to report");
    let share = value["random_pairs"]["weakest_above"].as_f64().unwrap();
    let mean = value["random_pairs"]["cost_per_mm_above"].as_f64().unwrap();
    let expected = format!(
        "Weakest stretch cheaper than {:.0} % of 200 random pairs in this head, cost per mm cheaper than {:.0} %",
        100.0 * (1.0 - share),
        100.0 * (1.0 - mean)
    );
    assert!(text.contains(&expected), "{text}");
    assert!(text.contains("a path exists between almost any two regions"));
    // The number equals the one in the report of the fit, regardless of how sharpening changes costs.
    let fit = json(&["fit", "head/dwi.nii.gz", "--out", "maps"], here);
    assert_eq!(fit["repaired"].as_u64(), Some(repaired));
    let sharp = [&line[..], &["--alpha", "3.9", "--force"]].concat();
    let sharp = json(&sharp, here);
    assert_eq!(
        sharp["repaired"].as_u64(),
        Some(repaired),
        "at a higher power"
    );
    let limited = |value: &serde_json::Value| value["limited"].as_u64().unwrap();
    assert!(limited(&sharp) > limited(value), "{sharp}");
    assert!(
        text.contains("costs was limited") == (limited(value) > 0),
        "{text}"
    );
    // The mask that the fit found, and the file next to the scan that it did not use.
    let mask = &fit["mask_quality"];
    assert!(fit["mask_file"].is_null(), "{fit}");
    assert!(mask["volume_ml"].as_f64().unwrap() > 1000.0, "{fit}");
    assert!(mask["agreement"].as_f64().unwrap() > 0.9, "{fit}");
    assert_eq!(mask["doubtful"], false);
    assert!(
        fit["companion_mask"]
            .as_str()
            .unwrap()
            .ends_with("brain_mask.nii.gz")
    );
    let within = [
        "fit",
        "head/dwi.nii.gz",
        "--mask",
        "head/brain_mask.nii.gz",
        "--out",
        "within",
    ];
    let within = json(&within, here);
    assert!(within["mask_quality"].is_null() && within["companion_mask"].is_null());
    assert_eq!(within["mask_file"], "head/brain_mask.nii.gz");
}

/// The condition that failed, and the name of the mask.
fn nothing_starts(here: &Path) {
    let air = ["--seed", "sphere:-80,80,80,3"];
    let adjacent =
        "arcuate: note: A mask lies beside the scan and was not used; name it with --mask: ";
    for (command, what) in [
        ("track", "No streamline starts"),
        ("geodesic", "No ray starts"),
    ] {
        let line = [
            &[command, "head/dwi.nii.gz"],
            &air[..],
            &["--out", "none.trk"],
        ]
        .concat();
        let warnings = |more: &[&str]| {
            let output = arcuate(&[&line[..], more, &["--force"]].concat(), here);
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        let reported = warnings(&[]);
        let why = format!("{what}: the seeds lie outside the automatic mask");
        assert!(
            reported.contains(&why) && reported.contains(adjacent),
            "{reported}"
        );
        let reported = warnings(&["--mask", "head/brain_mask.nii.gz"]);
        let why = format!("{what}: the seeds lie outside the mask brain_mask.nii.gz");
        assert!(
            reported.contains(&why) && !reported.contains(adjacent),
            "{reported}"
        );
        assert!(!reported.contains("FA"), "{reported}");
        // Neither reaches a target in the air.
        let line = [
            command,
            "head/dwi.nii.gz",
            "--seed",
            "sphere:-24,-18,8,4",
            "--target",
            "sphere:-80,80,80,3",
            "--out",
            "none.trk",
            "--force",
        ];
        let output = arcuate(&line, here);
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        let why = "; Target lies outside the automatic mask";
        assert!(reported.contains(why), "{reported}");
    }
}

fn refused(here: &Path) {
    let line = |more: &[&'static str]| -> Vec<&'static str> {
        [&["pathway", "head/dwi.nii.gz"][..], more, &["--out", "no"]].concat()
    };
    let with = |more: &[&'static str]| line(&[&ENDS[..], more].concat());
    let away = line(&["--from", "sphere:500,0,0,3", "--to", "sphere:-24,-18,8,6"]);
    refuses(&away, &["Region “from” lies outside the volume"], here);
    // A region in the air of the volume.
    let air = line(&["--from", "sphere:-80,80,80,3", "--to", "sphere:-24,-18,8,6"]);
    refuses(
        &air,
        &["Region “from” lies outside the automatic mask"],
        here,
    );
    refuses(
        &with(&["--min-fa", "1"]),
        &[
            "The FA in the mask is at most 0.",
            "lower Domain FA (--min-fa)",
        ],
        here,
    );
    // At the edge of the head, where the FA is low.
    let dim = line(&[
        "--from",
        "sphere:0,0,0,1",
        "--to",
        "sphere:-24,-18,8,6",
        "--min-fa",
        "0.9",
    ]);
    refuses(
        &dim,
        &["The FA in region “from” is at most 0.", "(--min-fa)"],
        here,
    );
    let over = line(&[ENDS[0], ENDS[1], "--to", "sphere:-24,-18,12,6"]);
    refuses(
        &over,
        &["Regions “from” and “to” overlap, expected no common voxel; move one"],
        here,
    );
    // Two balls that do not touch.
    let unconnected = with(&[
        "--min-fa",
        "0",
        "--within",
        ENDS[1],
        "--within",
        "sphere:-30,-22,58,10",
    ]);
    refuses(
        &unconnected,
        &["No path: region “to” is not connected to “from” inside region “within”"],
        here,
    );
    for (more, reason) in [
        (
            &["--alpha", "0"][..],
            "expected a number above 0 and at most 16, found “0”",
        ),
        (
            &["--alpha", "99"],
            "expected a number above 0 and at most 16, found “99”",
        ),
        (
            &["--alpha", "2", "--metric", "inverse"],
            "Found --alpha, which has no effect: only the sharpened metric has it",
        ),
        (
            &["--epsilon", "-1"],
            "expected a number from 0 to 1000000, found “-1”",
        ),
        (
            &["--min-fa", "2"],
            "expected a number from 0 to 1, found “2”",
        ),
        (
            &["--sensitivity", "x.txt"],
            "Found the file name x.txt for --sensitivity, expected one that ends in .nii.gz, .nii, .mif, .mif.gz",
        ),
        (
            &["--costly-factor", "5"],
            "Found --costly-factor without --costly",
        ),
    ] {
        let output = arcuate(&with(more), here);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{more:?}: {error}");
        assert!(error.contains(reason), "{more:?}: {error}");
    }
    assert!(!here.join("no").exists());
}
