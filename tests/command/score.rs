//! `arcuate phantom --crossing` and `arcuate score`: files, scores in every format and space, table, refusals.

use crate::cli::{arcuate, json, refuses};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::io::image;
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("score::crossing_head", crossing_head),
        test("score::formats_and_spaces", formats),
        test("score::broken_truth", broken),
    ]
}

fn run(line: &str, here: &Path) -> Value {
    let parts: Vec<&str> = line.split(' ').collect();
    json(&parts, here)
}

/// A coarse scan with the truth of its bundles, in `head`.
const HEAD: &str = "phantom --crossing --scan-only --spacing 3 --shells 1000:6 --b0 1 --out head";

fn crossing_head() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let created = run(HEAD, here);
    let bundles = created["bundles"].as_array().expect("a list");
    assert!(bundles.len() >= 20);
    let read = |name: &str| image::read(&here.join("head").join(name), &Control::new());
    let five = read("5tt.nii.gz").expect("an image").0;
    assert_eq!(five.frames, 5);
    let scan = read("dwi.nii.gz").expect("an image").0;
    assert!(five.grid.matches(&scan.grid));
    for bundle in bundles {
        for file in ["fibres", "corridor"] {
            let name = bundle[file].as_str().expect("a name");
            assert!(here.join("head").join(name).exists(), "{name}");
        }
    }
    let names = std::fs::read_to_string(here.join("head/ends.txt")).expect("names");
    assert!(
        names.contains("\"Corticospinal tract left, start\""),
        "{names}"
    );

    let scores = run("score head/fibres.tck --truth head --out scores.csv", here);
    let count = bundles.len();
    assert_eq!(scores["streamlines"], 200 * count);
    assert_eq!(
        (&scores["valid_bundles"], &scores["bundles"]),
        (&count.into(), &count.into())
    );
    assert_eq!(scores["valid_share"], 1.0);
    assert_eq!(
        (&scores["invalid_bundles"], &scores["no_connections"]),
        (&0.into(), &0.into())
    );
    let overlap = scores["overlap"].as_f64().expect("a number");
    let overreach = scores["overreach"].as_f64().expect("a number");
    assert_eq!((overlap, overreach), (1.0, 0.0));
    let table = std::fs::read_to_string(here.join("scores.csv")).expect("a table");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), count + 1);
    assert!(lines[0].starts_with("bundle,valid_connections,wrong_paths,"));
    assert!(
        table.contains("\n\"Corpus callosum, genu\",200,0,"),
        "{table}"
    );

    // The text on the screen.
    let output = arcuate(&["score", "head/fibres.tck", "--truth", "head"], here);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && text.contains("100.0 % valid (VC)"),
        "{text}"
    );
    assert!(
        text.contains(&format!("{count} of {count} bundles valid (VB)")),
        "{text}"
    );

    // The name denotes this head.
    let named = run("info phantom:crossing:1", here);
    let volumes = &named["files"][0]["volumes"];
    assert_eq!(volumes, 96, "{named}");
}

fn formats() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    run(HEAD, here);
    let members = [
        "valid_connections",
        "no_connections",
        "overlap",
        "overreach",
        "f1",
    ];
    let first = run("score head/fibres.tck --truth head", here);
    run(
        "phantom --scan-only --spacing 4 --shells 1000:6 --b0 1 --out plain",
        here,
    );
    run(
        "region --image plain/dwi.nii.gz --threshold 1.. --out other.nii.gz",
        here,
    );
    for ending in ["trk", "trx", "vtp"] {
        // TRK stores a grid: one that is not the truth's.
        let grid = match ending {
            "trk" => " --reference other.nii.gz",
            _ => "",
        };
        run(
            &format!("convert head/fibres.tck fibres.{ending}{grid}"),
            here,
        );
        let scores = run(&format!("score fibres.{ending} --truth head"), here);
        // Formats round coordinates differently, which moves a few points to the next voxel.
        for member in members {
            let [a, b] = [&first, &scores].map(|s| s[member].as_f64().expect("a number"));
            assert!(
                (a - b).abs() < 0.02 * a.max(1.0),
                "{ending} {member}: {a} {b}"
            );
        }
        assert_eq!(scores["valid_bundles"], first["valid_bundles"], "{ending}");
    }
    // Moved 40 mm to the right.
    let moved = run(
        "score head/fibres.tck --truth head --affine matrix:1,0,0,40,0,1,0,0,0,0,1,0",
        here,
    );
    assert_eq!(moved["valid_bundles"], 0);
}

fn broken() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    run(HEAD, here);
    let score = ["score", "head/fibres.tck", "--truth", "head"];
    refuses(
        &["score", "head/fibres.tck", "--truth", "none"],
        &["no folder of this name", "truth.json", "--crossing"],
        here,
    );
    refuses(
        &["score", "head/dwi.nii.gz", "--truth", "head"],
        &["streamlines"],
        here,
    );
    let path = here.join("head/truth.json");
    let text = std::fs::read_to_string(&path).expect("the truth");
    let with = |change: &dyn Fn(&mut Value)| {
        let mut truth: Value = serde_json::from_str(&text).expect("JSON");
        change(&mut truth);
        std::fs::write(&path, truth.to_string()).expect("written");
    };
    with(&|truth| truth["ends"] = Value::Null);
    refuses(&score, &["truth.json"], here);
    with(&|truth| drop(truth.as_object_mut().map(|t| t.remove("bundles"))));
    refuses(&score, &["no member \"bundles\"", "truth.json"], here);
    with(&|truth| truth["bundles"] = Value::Array(Vec::new()));
    refuses(&score, &["without bundles"], here);
    with(&|truth| truth["bundles"][3]["start"] = 999.into());
    refuses(&score, &["label 999"], here);
    with(&|truth| truth["bundles"][3]["corridor"] = "corridors/none.nii.gz".into());
    refuses(&score, &["none.nii.gz"], here);
    with(&|truth| truth["bundles"][3]["fibres"] = "dwi.nii.gz".into());
    refuses(&score, &["dwi.nii.gz"], here);
    std::fs::write(&path, &text[..text.len() / 2]).expect("written");
    refuses(&score, &["ends too early", "truth.json"], here);
    // The plain head has no such truth.
    run(
        "phantom --scan-only --spacing 4 --shells 1000:6 --b0 1 --out plain",
        here,
    );
    refuses(
        &["score", "head/fibres.tck", "--truth", "plain"],
        &["without end regions", "arcuate phantom --crossing"],
        here,
    );
    // Voxels as wide as bundles.
    let wide = ["phantom", "--crossing", "--spacing", "5", "--out", "wide"];
    let output = arcuate(&wide, here);
    assert_eq!(output.status.code(), Some(2));
    assert!(!here.join("wide").exists());
}
