//! `arcuate replay`: the same bytes, or a report of the difference.

use crate::support::session_window::Window;
use crate::support::test;
use arcuate::io::session::{Match, RecomputedResult, Sum, compare};
use arcuate::state::{
    Action, FilesAction, Method, Phase, SnapshotAction, TensorAction, TrackAction,
};
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::replay", replay),
        test("sessions::replay of snapshots", snapshots),
        test("sessions::replay of the available files", partly),
        test("sessions::large results are compared by sample", by_sample),
    ]
}

/// Voxels are numbered in single precision, which skips numbers above 2²⁴.
fn by_sample() {
    let count = (1 << 24) + (1 << 22) + 3;
    let cost = |i: usize| 1.0 + (i % 1009) as f32;
    let costs: Vec<f32> = (0..count).map(cost).collect();
    let expected = Sum::of_values("pathway", &costs);
    assert_eq!(expected.sample.len(), 64);
    let with = |by: f32| {
        let others: Vec<f32> = costs.iter().map(|c| c * by).collect();
        compare(&expected, &RecomputedResult::Values(&others)).0
    };
    assert_eq!(with(1.0), Match::SameBytes);
    // Half and twice the variation due to the order of updates.
    assert_eq!(with(1.0 + 5e-5), Match::WithinTolerance);
    assert_eq!(with(1.0 + 2e-4), Match::Differs);
}

pub fn run(arguments: &[&str], folder: &Path) -> (Option<i32>, Value, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_arcuate"))
        .args(arguments)
        .args(["--json", "--backend", "cpu"])
        .current_dir(folder)
        .output()
        .expect("the program runs");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), value, message)
}

pub fn outcomes(value: &Value) -> Vec<String> {
    let results = value["results"].as_array().expect("results");
    let one = |r: &Value| {
        format!(
            "{}: {}",
            r["result"].as_str().unwrap_or_default(),
            r["outcome"].as_str().unwrap_or_default()
        )
    };
    results.iter().map(one).collect()
}

fn replay() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let mut window = Window::with_scan(here);
    window.work();
    window.save(&here.join("s.arcuate"));
    // Any number of threads gives the same bytes.
    for threads in ["1", "3"] {
        let (code, value, stderr) = run(&["replay", "s.arcuate", "--threads", threads], here);
        assert_eq!(code, Some(0), "{stderr}");
        let all = outcomes(&value);
        assert_eq!(all.len(), 4, "{all:?}");
        assert!(all.iter().all(|o| o.ends_with("same_bytes")), "{all:?}");
    }
    let (code, _, stderr) = run(&["replay", "s.arcuate", "--out", "again"], here);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(
        std::fs::read_dir(here.join("again"))
            .expect("a folder")
            .count(),
        3
    );
    // Without the files next to it everything is still recomputed.
    std::fs::remove_dir_all(here.join("s.arcuate.files")).expect("removed");
    let (code, value, stderr) = run(&["replay", "s.arcuate"], here);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        outcomes(&value).iter().all(|o| o.ends_with("same_bytes")),
        "{value}"
    );
    // A result that differs from the session's.
    let text = std::fs::read_to_string(here.join("s.arcuate")).expect("read");
    let mut session: Value = serde_json::from_str(&text).expect("JSON");
    let results = session["results"].as_array_mut().expect("results");
    let zeros = "0".repeat(64);
    results[0]["sha256"] = Value::from(zeros.clone());
    results[1]["sha256"] = Value::from(zeros);
    for row in results[1]["sample"].as_array_mut().expect("rows") {
        let x = row[2].as_f64().expect("a number");
        row[2] = Value::from(x + 3.0);
    }
    std::fs::write(here.join("t.arcuate"), session.to_string()).expect("written");
    let (code, value, stderr) = run(&["replay", "t.arcuate"], here);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("1 of 4 results differ or could not be recomputed"),
        "{stderr}"
    );
    let all = outcomes(&value);
    assert_eq!(all[0], "tensors: within_tolerance");
    assert_eq!(all[1], "live: differs");
    // A result that the session lost has no name of its own, and no key stands in its place.
    results_of_no_layer(&mut session);
    std::fs::write(here.join("u.arcuate"), session.to_string()).expect("written");
    let (code, _, stderr) = run(&["replay", "u.arcuate"], here);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("A result that the session does not describe (layer_999) could not be"),
        "{stderr}"
    );
    // Missing data are named, and found elsewhere.
    let moved = here.join("moved");
    std::fs::create_dir(&moved).expect("a folder");
    for name in ["dwi.nii.gz", "dwi.bval", "dwi.bvec", "mask.nii.gz"] {
        std::fs::rename(here.join(name), moved.join(name)).expect("moved");
    }
    let (code, _, stderr) = run(&["replay", "s.arcuate"], here);
    assert_eq!(code, Some(1));
    for sentence in [
        "dwi.nii.gz; name its folder with --look-in",
        "mask.nii.gz; name",
        "Tensors could not be recomputed: There is no such file",
    ] {
        assert!(stderr.contains(sentence), "{stderr}");
    }
    let (code, _, stderr) = run(&["replay", "s.arcuate", "--look-in", "moved"], here);
    assert_eq!(code, Some(0), "{stderr}");
    // A folder has the name of the scan.
    std::fs::create_dir(here.join("dwi.nii.gz")).expect("a folder");
    let (code, _, stderr) = run(&["replay", "s.arcuate"], here);
    assert_eq!(code, Some(1));
    let sentence = "It was a file and is now a folder";
    let line = stderr
        .lines()
        .find(|l| l.contains(sentence))
        .expect("given");
    assert!(
        line.contains("dwi.nii.gz; restore the file in place of the folder"),
        "{stderr}"
    );
    assert!(!stderr.contains("0 bytes"), "{stderr}");
    let (code, _, stderr) = run(&["replay", "s.arcuate", "--look-in", "moved"], here);
    assert_eq!(code, Some(0), "{stderr}");
}

/// Adds a result of a layer that does not exist.
fn results_of_no_layer(session: &mut Value) {
    let results = session["results"].as_array_mut().expect("results");
    let mut other = results[0].clone();
    other["result"] = Value::from("layer_999");
    results.push(other);
}

/// Results that do not need a missing file are recomputed.
fn partly() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let mut window = Window::with_scan(here);
    let extra = here.join("extra.nii.gz");
    std::fs::copy(here.join("mask.nii.gz"), &extra).expect("copied");
    window.act(Action::Files(FilesAction::Open(vec![extra.clone()])));
    window.work();
    window.save(&here.join("s.arcuate"));
    std::fs::remove_file(&extra).expect("removed");
    let (code, value, stderr) = run(&["replay", "s.arcuate"], here);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stderr.contains("extra.nii.gz; name its folder with --look-in"),
        "{stderr}"
    );
    assert!(
        outcomes(&value).iter().all(|o| o.ends_with("same_bytes")),
        "{value}"
    );
    assert_eq!(outcomes(&value)[0], "tensors: same_bytes");
}

/// Live results in a snapshot are recomputed with its own parameters, fit and regions, and have the user's name.
fn snapshots() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let mut window = Window::with_scan(here);
    window.work();
    window.act(Action::Snapshot(SnapshotAction::Take));
    let mut params = window.state.document.track.streamlines.clone();
    params.min_length_mm = 12.0;
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetMethod(Method::Streamlines)));
    window.act(Action::Track(TrackAction::SetStreamlines { params, phase }));
    window.act(Action::Snapshot(SnapshotAction::Take));
    window.act(Action::Snapshot(SnapshotAction::Rename {
        number: 1,
        name: "Longer".to_owned(),
    }));
    let mut fit = window.state.document.fit.clone();
    fit.min_eigenvalue_mm2_per_s = 6e-4;
    window.act(Action::Tensors(TensorAction::SetFit { params: fit }));
    window.save(&here.join("s.arcuate"));
    // Replay succeeds with and without stored files.
    for stored in [true, false] {
        if !stored {
            std::fs::remove_dir_all(here.join("s.arcuate.files")).expect("removed");
        }
        let (code, value, stderr) = run(&["replay", "s.arcuate"], here);
        assert_eq!(code, Some(0), "{stderr}");
        let all = outcomes(&value);
        assert_eq!(all.len(), 6, "{all:?}");
        assert!(all.iter().all(|o| o.ends_with("same_bytes")), "{all:?}");
        let results = value["results"].as_array().expect("results");
        let names: Vec<&str> = results.iter().filter_map(|r| r["name"].as_str()).collect();
        for name in [
            "The regions' streamlines",
            "Live of snapshot 1",
            "Live of Longer",
        ] {
            assert!(names.contains(&name), "{names:?}");
        }
        let count = |name: &str| {
            let one = results.iter().find(|r| r["name"] == name);
            one.and_then(|r| r["count"].as_u64()).expect("a count")
        };
        assert_ne!(count("Live of Longer"), count("Live of snapshot 1"));
    }
}
