//! `arcuate commit`: weights in the order of the file, the filtered streamlines, and refusals.

use super::{arcuate, json, refuses, small_head};
use arcuate::compute::Control;
use arcuate::data::Tractogram;
use arcuate::io::{self, Opened};
use std::path::Path;

fn streamlines(path: &Path) -> Tractogram {
    match io::open(path, &Control::new()).unwrap() {
        Opened::Tractogram(tractogram, _) => tractogram,
        Opened::Volume(..) => panic!("streamlines"),
    }
}

/// Adds a streamline outside the box before all others, and one of a single point after them.
fn with_odd_ones(from: &Path, to: &Path) {
    let tractogram = streamlines(from);
    let mut points = vec![[900.0f32, 0.0, 0.0], [910.0, 0.0, 0.0]];
    points.extend_from_slice(&tractogram.points);
    points.push([0.0, 0.0, 0.0]);
    let mut offsets = vec![0];
    offsets.extend(tractogram.offsets.iter().map(|o| o + 2));
    offsets.push(points.len() as u64);
    let created = Tractogram::new(points, offsets);
    io::streamlines::save(to, &created, "", &Control::new()).unwrap();
}

/// The bars hold every streamline, and each weight lies in its bar.
fn histogram(table: &Path, weights: &[f32]) {
    let text = std::fs::read_to_string(table).unwrap();
    let mut rows = text.lines();
    assert_eq!(rows.next(), Some("from,to,streamlines"));
    let numbers = |row: &str| -> Vec<f64> {
        let cells = row.split(',').map(|cell| cell.parse().unwrap());
        cells.collect()
    };
    let bars: Vec<Vec<f64>> = rows.map(numbers).collect();
    assert_eq!(bars.len(), 65);
    let zero = weights.iter().filter(|w| **w == 0.0).count();
    assert_eq!(bars[0], [0.0, 0.0, zero as f64]);
    let all: f64 = bars.iter().map(|bar| bar[2]).sum();
    assert_eq!(all, weights.len() as f64);
    for (i, bar) in bars.iter().enumerate().skip(2) {
        // The ends of bars are rounded: a weight at an end may be in either.
        let inside = |share: f64| {
            let from = bar[0] * (1.0 + share);
            let until = match i {
                64 => f64::INFINITY,
                _ => bar[1] * (1.0 - share),
            };
            let weights = weights.iter().map(|w| f64::from(*w));
            weights.filter(|w| *w >= from && *w < until).count() as f64
        };
        assert!(inside(1e-5) <= bar[2] && bar[2] <= inside(-1e-5), "{bar:?}");
    }
}

/// A file that is too large for the memory is read in each pass, with the same weights and the same filtered streamlines.
pub fn fits_a_large_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head("4", 15, 2, here);
    // Short steps: a large file with few segments.
    let track = ["track", "head/dwi.nii.gz", "--seeds", "random:400"];
    let short = ["--step", "0.1", "--out", "some.tck"];
    json(&[&track[..], &short].concat(), here);
    // Copies, each with a small shift.
    let some = streamlines(&here.join("some.tck"));
    let copies = 2_000_000 / some.points.len();
    let shift = |copy: usize, axis: usize| ((copy * (axis + 3)) % 17) as f32 * 0.04;
    let curves = (0..copies).flat_map(|copy| {
        let moved = move |p: &[f32; 3]| [0, 1, 2].map(|a| p[a] + shift(copy, a));
        let some = &some;
        (0..some.len()).map(move |i| some.streamline(i).iter().map(moved).collect::<Vec<_>>())
    });
    let all = Tractogram::of_curves(curves);
    let every: Vec<u32> = (0..all.len() as u32).step_by(2).collect();
    let all = all.with_group("even", every);
    io::streamlines::save(&here.join("all.trx"), &all, "", &Control::new()).unwrap();
    assert!(std::fs::metadata(here.join("all.trx")).unwrap().len() > 20 << 20);
    let base = ["commit", "all.trx", "head/dwi.nii.gz", "--iterations", "5"];
    let base = [&base[..], &["--threads", "2"]].concat();
    let run = |out: &str, more: &[&str]| {
        let kept = format!("{out}.trx");
        let line = [&base[..], &["--out", out, "--filtered", &kept], more].concat();
        let mut reported = json(&line, here);
        let weights = std::fs::read(here.join(out).join("weights.txt")).unwrap();
        for member in ["inside_mm", "outside_mm", "prepare_ms", "fit_ms", "files"] {
            reported.as_object_mut().unwrap().remove(member);
        }
        reported.as_object_mut().unwrap().remove("warnings");
        (reported, weights, streamlines(&here.join(kept)))
    };
    let whole = run("whole", &[]);
    let limited = run("limited", &["--memory", "0.13"]);
    assert!(whole.1 == limited.1, "the same weights");
    assert_eq!(whole.0["with_weight"], limited.0["with_weight"]);
    assert_eq!(whole.0["bundles"], limited.0["bundles"]);
    assert_eq!(whole.0["segments"], limited.0["segments"]);
    let (a, b) = (&whole.2, &limited.2);
    assert!(a.points == b.points && a.offsets == b.offsets);
    assert_eq!(a.per_streamline, b.per_streamline);
    assert_eq!(a.groups, b.groups);
    // Where the operator does not fit, either, the sentence says what it needs and what is free.
    let line = [&base[..], &["--out", "no", "--memory", "0.04"]].concat();
    refuses(&line, &["memory", "segments"], here);
}

pub fn fits_weights() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head("4", 15, 2, here);
    let track = [
        "track",
        "head/dwi.nii.gz",
        "--seeds",
        "random:600",
        "--out",
        "all.tck",
    ];
    json(&track, here);
    with_odd_ones(&here.join("all.tck"), &here.join("odd.tck"));
    let n = streamlines(&here.join("odd.tck")).len();
    let base = ["commit", "odd.tck", "head/dwi.nii.gz"];
    let reported = json(
        &[
            &base[..],
            &["--filtered", "kept.trx", "--out", "a"],
            &["--weights-histogram", "weights.csv"],
        ]
        .concat(),
        here,
    );
    assert_eq!(reported["model"], "StickZeppelin", "one shell has no Ball");
    assert_eq!(
        (
            reported["streamlines"].as_u64(),
            reported["single_points"].as_u64()
        ),
        (Some(n as u64), Some(1))
    );
    assert!(reported["outside"].as_u64() >= Some(1));
    let warned = reported["warnings"].to_string();
    assert!(
        warned.contains("lie outside the image and have no signal to explain"),
        "{warned}"
    );
    assert!(
        warned.contains("wholly outside the voxels of the fit"),
        "{warned}"
    );
    let text = std::fs::read_to_string(here.join("a/weights.txt")).unwrap();
    let lines = text.lines().filter(|l| !l.starts_with('#'));
    let weights: Vec<f32> = lines.map(|l| l.parse().unwrap()).collect();
    assert_eq!((weights.len(), weights[0], weights[n - 1]), (n, 0.0, 0.0));
    let kept = streamlines(&here.join("kept.trx"));
    let above: Vec<f32> = weights.iter().copied().filter(|w| *w > 0.0).collect();
    assert_eq!(reported["with_weight"].as_u64(), Some(above.len() as u64));
    assert_eq!(
        &*kept.per_streamline["commit"],
        above.as_slice(),
        "in the same order"
    );
    histogram(&here.join("weights.csv"), &weights);
    for map in ["intra", "extra", "rmse"] {
        assert!(here.join(format!("a/{map}.nii.gz")).is_file());
    }
    assert!(
        !here.join("a/free.nii.gz").exists(),
        "there is no such compartment"
    );
    // Sums of a group are those of its kept streamlines.
    let all = streamlines(&here.join("odd.tck"));
    let group: Vec<u32> = (1..n as u32 - 1).collect();
    let grouped = all.with_group("all", group.clone());
    io::streamlines::save(&here.join("grouped.trx"), &grouped, "", &Control::new()).unwrap();
    let least = above.iter().copied().fold(0.0, f32::max) * 0.3;
    let threshold = least.to_string();
    let line = [
        "commit",
        "grouped.trx",
        "head/dwi.nii.gz",
        "--filtered",
        "some.trx",
    ];
    let line = [&line[..], &["--threshold", &threshold, "--out", "g"]].concat();
    let sums = &json(&line, here)["bundles"]["all"];
    let text = std::fs::read_to_string(here.join("g/weights.txt")).unwrap();
    let own = text.lines().filter(|l| !l.starts_with('#'));
    let own: Vec<f32> = own.map(|l| l.parse().unwrap()).collect();
    let kept = own[1..n - 1].iter().filter(|w| **w >= least);
    let sum: f64 = kept.clone().map(|w| f64::from(*w)).sum();
    assert_eq!(sums["streamlines"].as_u64(), Some(group.len() as u64));
    assert_eq!(sums["kept"].as_u64(), Some(kept.count() as u64));
    assert!((sums["sum_weight"].as_f64().unwrap() / sum - 1.0).abs() < 1e-6);
    let product = sums["sum_weight_length_mm"].as_f64().unwrap();
    assert!(product > sum, "most are longer than 1 mm: {product} {sum}");
    // The curve falls, and the same work done differently ends at the same value.
    let curve: Vec<f64> = reported["curve"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect();
    assert!(curve[curve.len() - 1] < curve[0]);
    let dense = json(
        &[&base[..], &["--operator", "dense", "--out", "b"]].concat(),
        here,
    );
    let objective = |v: &serde_json::Value| v["objective"].as_f64().unwrap();
    assert!((objective(&dense) / objective(&reported) - 1.0).abs() < 1e-2);
    // A start from its own weights, as text and in a streamline file, begins lower and ends at the same value.
    let weighted = streamlines(&here.join("odd.tck")).with_per_streamline("commit", weights);
    io::streamlines::save(&here.join("start.trx"), &weighted, "", &Control::new()).unwrap();
    for (i, start) in ["a/weights.txt", "start.trx"].iter().enumerate() {
        let out = format!("s{i}");
        let line = [&base[..], &["--start", start, "--out", &out]].concat();
        let warm = json(&line, here);
        assert!((objective(&warm) / objective(&reported) - 1.0).abs() < 1e-2);
        assert!(warm["curve"][0].as_f64() < reported["curve"][0].as_f64());
    }
    std::fs::write(here.join("few.txt"), "1 2 3\n").unwrap();
    let plain = ["commit", "all.tck", "head/dwi.nii.gz"];
    let whole = streamlines(&here.join("all.tck")).len();
    for (start, reason) in [
        ("few.txt", "3 numbers"),
        ("kept.trx", "to start from"),
        ("all.tck", "commit"),
    ] {
        let line = [&plain[..], &["--start", start, "--out", "e"]].concat();
        refuses(&line, &[reason, &whole.to_string(), start], here);
    }
    // One number per segment; and cylinders with the protocol's timing.
    let density = json(
        &[&base[..], &["--model", "density", "--out", "c"]].concat(),
        here,
    );
    assert_eq!(
        (density["model"].as_str(), density["samples"].as_u64()),
        (Some("Density"), Some(1))
    );
    let timing = [
        "--pulse",
        "30",
        "--between",
        "40",
        "--radii",
        "1,4",
        "--iterations",
        "20",
    ];
    let line = [
        &base[..],
        &["--model", "cylinder"],
        &timing,
        &["--out", "d"],
    ]
    .concat();
    assert_eq!(json(&line, here)["model"], "CylinderZeppelin");
    // Inputs that need no remark.
    let base = ["commit", "all.tck", "head/dwi.nii.gz"];
    let endless = ["--pulse", "30", "--between", "1e308", "--out", "e"];
    let line = [&base[..], &["--model", "cylinder"], &endless].concat();
    refuses(&line, &["expected 1 to 2000 ms"], here);
    refuses(&[&base[..], &["--out", "a"]].concat(), &["--force"], here);
    let ball = [&base[..], &["--free", "0.003", "--out", "e"]].concat();
    refuses(
        &ball,
        &["Ball needs at least two shells", "--force-model"],
        here,
    );
    let forced = ["--free", "0.003", "--force-model", "--out", "f"];
    let forced = json(&[&base[..], &forced].concat(), here);
    assert_eq!(forced["model"], "StickZeppelinBall");
    let warning = forced["warning"].as_str().expect("a warning");
    assert!(
        warning.contains("Ball needs at least two shells"),
        "{warning}"
    );
    assert!(reported["warning"].is_null());
    // The warning comes before the fit, even if that is refused.
    let few = ["--free", "0.003", "--force-model", "--iterations", "20"];
    let line = [&base[..], &few, &["--out", "h"]].concat();
    let untimed = ["--model", "cylinder", "--force"];
    for (rest, code) in [(&untimed[..0], 0), (&untimed[..], 1)] {
        let output = arcuate(&[&line[..], rest].concat(), here);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{message}");
        let warned = message.find("Ball needs at least two shells");
        assert!(
            warned.is_some() && message.contains("the model is forced"),
            "{message}"
        );
        assert!(
            message.find("timing").is_none_or(|t| Some(t) > warned),
            "{message}"
        );
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(code == 0, text.contains("\nAll: "), "{text}");
        assert_eq!(code == 0, text.contains("Σ weight × length"), "{text}");
    }
    let weights = std::fs::read_to_string(here.join("h/weights.txt")).unwrap();
    let sum: f64 = weights
        .lines()
        .filter(|l| !l.starts_with('#'))
        .flat_map(str::split_whitespace)
        .map(|w| w.parse::<f64>().unwrap())
        .sum();
    let found = json(&[&line[..], &["--force"]].concat(), here);
    let all = found["all"]["sum_weight"].as_f64().unwrap();
    assert!((all / sum - 1.0).abs() < 1e-4, "{all} {sum}");
    let cylinder = [&base[..], &["--model", "cylinder", "--out", "e"]].concat();
    refuses(&cylinder, &["Cylinders need the gradients' timing"], here);
    let memory = [&base[..], &["--memory", "0.001", "--out", "e"]].concat();
    refuses(&memory, &["memory"], here);
    std::fs::write(here.join("scan.scheme"), "VERSION: BVECTOR\n1 0 0 1000\n").unwrap();
    let scheme = [
        &base[..],
        &[
            "--model",
            "cylinder",
            "--scheme",
            "scan.scheme",
            "--out",
            "e",
        ],
    ];
    refuses(&scheme.concat(), &["BVECTOR", "scan.scheme"], here);
    strengths(here);
}

/// A scheme whose gradients give other b-values than the scan's is reported with both.
fn strengths(here: &Path) {
    let row = |strength: &str| format!("1 0 0 {strength} 0.04 0.02 0.1\n");
    let rows = [vec![row("0"); 2], vec![row("0.04"); 15]].concat().concat();
    let text = format!("VERSION: STEJSKALTANNER\n{rows}");
    std::fs::write(here.join("other.scheme"), text).unwrap();
    let line = ["commit", "odd.tck", "head/dwi.nii.gz", "--model", "stick"];
    let rest = ["--scheme", "other.scheme", "--out", "strengths"];
    let message = json(&[&line[..], &rest].concat(), here);
    let warnings = message["warnings"].as_array().expect("warnings");
    let found = warnings.iter().filter_map(|w| w.as_str());
    let found: Vec<&str> = found.filter(|w| w.contains("b = 1527 s/mm²")).collect();
    assert_eq!(found.len(), 1, "{message}");
    for sentence in ["has 1000", "in 15 of 17", "other.scheme"] {
        assert!(found[0].contains(sentence), "{sentence}: {}", found[0]);
    }
}

/// A thousand streamlines of one bundle are nearly equal, as in the guide; their fit converges before the largest
/// number of iterations.
pub fn settles() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head("4", 30, 2, here);
    let line = ["track", "head/dwi.nii.gz", "--seed", "sphere:-31,-6,-1,5"];
    let rest = ["--target", "sphere:-29,33,-1,8", "--seeds", "random:3000"];
    json(&[&line[..], &rest, &["--out", "one.tck"]].concat(), here);
    let reported = json(
        &["commit", "one.tck", "head/dwi.nii.gz", "--out", "a"],
        here,
    );
    assert_eq!(reported["ended"], "objective", "{}", reported["iterations"]);
    assert!(
        reported["iterations"].as_u64() > Some(1000),
        "{}",
        reported["iterations"]
    );
}
