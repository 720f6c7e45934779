//! Protocols, one subject and a BIDS dataset of synthetic heads: what is done, what is skipped, what fails in which
//! sentence.

mod datasets;
mod group;
mod warps;

use crate::cli::{arcuate, json};
use crate::support::session_window::Window;
use crate::support::test;
use arcuate::data::Role;
use arcuate::state::{Action, ProtocolAction, Task, ViewAction};
use glam::DVec3;
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::{Path, PathBuf};

pub fn tests() -> Vec<Trial> {
    vec![
        test("cohort::bids_dataset_of_heads", heads),
        test("cohort::protocol_of_a_session", of_a_session),
        test("cohort::problems_of_a_protocol", problems),
        test("cohort::runs_on_one_subject", one_subject),
        test("cohort::participants_and_group", participants),
        test("cohort::results_among_raw_data_are_refused", places),
        test(
            "cohort::inputs_are_found_before_the_first_step",
            lost_inputs,
        ),
        test("cohort::report_of_a_group", group::report),
        test("cohort::small_groups_have_no_outliers", group::small),
        test("cohort::groups_without_pictures", group::without_pictures),
        test("cohort::sessions_of_participants", datasets::sessions),
        test("cohort::derivatives_of_qsiprep", datasets::qsiprep),
        test("cohort::warps_take_regions_to_the_scan", warps::regions),
        test("cohort::warps_that_are_refused", warps::refused),
    ]
}

fn run(line: &str, here: &Path) -> Value {
    let parts: Vec<&str> = line.split(' ').collect();
    json(&parts, here)
}

/// The errors of a command that fails, and its exit code.
fn errors(line: &str, here: &Path) -> (Vec<String>, Option<i32>) {
    let mut parts: Vec<&str> = line.split(' ').collect();
    parts.push("--json");
    let output = arcuate(&parts, here);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let errors = report["errors"].as_array().cloned().unwrap_or_default();
    let errors = errors.iter().filter_map(|e| e.as_str().map(str::to_owned));
    (errors.collect(), output.status.code())
}

/// A dataset that takes a moment, with its faults.
const HEADS: &str = "phantom --bids heads --subjects 3 --spacing 8 --shells 1000:8 --missing-bvec 2 --corrupt-scan 3";

/// A protocol whose steps take a moment: a template sphere, a label, and a result of an earlier step.
const PROTOCOL: &str = r#"
arcuate_protocol = 1
title = "Test"
[input.dwi]
role = "diffusion_scan"
[input.brain]
role = "mask"
[input.bundles]
role = "label_map"
file = "labels_bundle.nii.gz"
bids = "dwi/*_desc-bundle_dseg.nii.gz"
[input.xfm]
role = "transform"
bids = "anat/*_xfm.txt"
[region.tract]
map = "{bundles}"
labels = ["Corticospinal tract left"]
[[step]]
name = "fit"
command = "fit"
arguments = ["{dwi}"]
[step.options]
mask = "{brain}"
maps = "fa"
out = "."
[[step]]
name = "cst"
command = "track"
arguments = ["{dwi}"]
[step.options]
mask = "{brain}"
seed = "{tract}"
seeds = "random:200"
fa = 0.1
min-length = 5
out = "cst.trx"
[[step]]
name = "along"
command = "profile"
arguments = ["{cst}", "along.csv"]
[step.options]
image = "{fit/fa.nii.gz}"
nodes = 5
"#;

fn put(here: &Path, name: &str, text: &str) -> PathBuf {
    let path = here.join(name);
    std::fs::write(&path, text).expect("written");
    path
}

fn heads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let report = run(HEADS, here);
    assert_eq!(report["subjects"].as_array().map(Vec::len), Some(3));
    let file = |name: &str| here.join("heads").join(name);
    for name in [
        "dataset_description.json",
        "README.md",
        "participants.tsv",
        "participants.json",
        "sub-01/dwi/sub-01_dwi.nii.gz",
        "sub-01/dwi/sub-01_dwi.bval",
        "sub-01/dwi/sub-01_dwi.bvec",
        "sub-01/dwi/sub-01_dwi.json",
        "sub-01/anat/sub-01_T1w.nii.gz",
        "sub-01/anat/sub-01_T1w.json",
        "derivatives/phantom/dataset_description.json",
        "derivatives/phantom/desc-bundle_dseg.tsv",
        "derivatives/phantom/sub-01/dwi/sub-01_desc-brain_mask.nii.gz",
        "derivatives/phantom/sub-01/anat/sub-01_from-phantom_to-T1w_mode-image_xfm.txt",
    ] {
        assert!(file(name).is_file(), "{name}");
    }
    assert!(!file("sub-02/dwi/sub-02_dwi.bvec").exists());
    let table = std::fs::read_to_string(file("participants.tsv")).expect("a table");
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows.len(), 4);
    assert!(rows[0].starts_with("participant_id\t"), "{table}");
    let text = std::fs::read_to_string(file("dataset_description.json")).expect("a text");
    let description: Value = serde_json::from_str(&text).expect("JSON");
    assert!(description["BIDSVersion"].is_string() && description["Name"].is_string());
    // A head can be opened, a scan that is cut off cannot.
    run("info heads/sub-01/dwi/sub-01_dwi.nii.gz", here);
    let (found, code) = errors("info heads/sub-03/dwi/sub-03_dwi.nii.gz", here);
    assert_eq!((found.len(), code), (1, Some(1)), "{found:?}");
    // A second dataset is not written over the first.
    let (found, code) = errors(HEADS, here);
    assert!(found[0].contains("--force") && code == Some(1), "{found:?}");
    let (found, code) = errors("phantom --bids other --subjects 2 --corrupt-scan 3", here);
    assert!(
        found[0].contains("from 1 to 2") && code == Some(2),
        "{found:?}"
    );
    assert!(!here.join("other").exists());
    let (found, code) = errors("phantom --subjects 3 --out other", here);
    assert!(
        found[0].contains("without --bids") && code == Some(2),
        "{found:?}"
    );
}

/// A session with all kinds of work becomes a protocol that passes its check once its drawn regions are replaced, and that
/// another folder with the same names runs.
fn of_a_session() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let mut window = Window::with_scan(here);
    window.place(Role::Seed, DVec3::new(0.0, 0.0, 0.0), 4.0);
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    assert!(window.state.final_live().is_some(), "{}", window.messages());
    let session = here.join("work.arcuate");
    window.save(&session);
    let report = run("protocol work.arcuate --out protocol.toml", here);
    let steps = report["steps"].as_array().expect("a list");
    assert!(steps.iter().any(|step| step == "streamlines"), "{report}");
    let text = std::fs::read_to_string(here.join("protocol.toml")).expect("a text");
    assert!(text.contains("command = \"track\""), "{text}");
    assert!(text.contains("seed = \"{seed}\""), "{text}");
    run("protocol check protocol.toml", here);
    // The window writes the same text.
    let path = here.join("window.toml");
    window.act(Action::Protocol(ProtocolAction::Save(path.clone())));
    let title = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with("title"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let other = std::fs::read_to_string(&path).expect("a text");
    assert_eq!(title(&other), title(&text));
    let status = run(
        "run protocol.toml --subject-folder . --out out --no-pictures",
        here,
    );
    let first = status["status"]["steps"].as_array().map(Vec::len);
    assert_eq!(first, Some(steps.len()), "{status}");
    // Without results there is nothing to repeat.
    let mut empty = Window::new();
    empty.act(Action::Protocol(ProtocolAction::Save(
        here.join("none.toml"),
    )));
    assert!(empty.messages().contains("open a scan or a session first"));
    assert!(!here.join("none.toml").exists());
}

fn problems() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    put(here, "good.toml", PROTOCOL);
    let report = run("protocol check good.toml", here);
    assert_eq!(report["problems"].as_array().map(Vec::len), Some(0));
    for (from, to, part) in [
        (
            "command = \"track\"",
            "command = \"trakc\"",
            "the command “trakc”",
        ),
        (
            "command = \"track\"",
            "command = \"run\"",
            "the command “run”",
        ),
        ("fa = 0.1", "faa = 0.1", "--fa"),
        ("fa = 0.1", "fa = 7", "from 0 to 1"),
        ("fa = 0.1", "threads = 2", "given to arcuate run"),
        (
            "out = \"cst.trx\"",
            "out = \"../cst.trx\"",
            "inside the step's own folder",
        ),
        ("out = \"cst.trx\"", "", "--out"),
        (
            "map = \"{bundles}\"\nlabels = [\"Corticospinal tract left\"]",
            "drawn = true",
            "was drawn by hand",
        ),
    ] {
        assert!(PROTOCOL.contains(from), "{from}");
        put(here, "bad.toml", &PROTOCOL.replacen(from, to, 1));
        let (found, code) = errors("protocol check bad.toml", here);
        assert_eq!(code, Some(1), "{to}: {found:?}");
        assert!(
            found.iter().any(|s| s.contains(part)),
            "{found:?} lacks {part}"
        );
        // `run` refuses a protocol that `check` refuses, before it writes anything.
        let (of_run, _) = errors("run bad.toml --subject-folder .", here);
        assert_eq!(of_run.first(), found.first());
        assert!(!here.join("arcuate").exists());
    }
    // A file of a region that does not lie beside the protocol.
    let table = "map = \"{bundles}\"\nlabels = [\"Corticospinal tract left\"]";
    let mask = "mask = \"{protocol}/none.nii.gz\"";
    put(here, "bad.toml", &PROTOCOL.replacen(table, mask, 1));
    let (found, _) = errors("protocol check bad.toml", here);
    assert!(
        found[0].contains("The region “tract” names a file that does not exist"),
        "{found:?}"
    );
    let (found, _) = errors("run none.toml --subject-folder .", here);
    assert!(found[0].contains("none.toml"), "{found:?}");
    let (found, _) = errors("run good.toml --subject-folder none", here);
    assert!(found[0].contains("expected that of a subject"), "{found:?}");
    let (found, code) = errors("run good.toml --subject-folder . --no-pictures", here);
    assert!(
        found[0].contains("has no mask “brain”")
            || found[0].contains("has no diffusion scan “dwi”"),
        "{found:?}"
    );
    assert_eq!(code, Some(1));
}

/// `run` skips steps whose checksums are unchanged; after a change of a parameter or an input, it repeats the steps that
/// depend on it.
fn one_subject() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    run("phantom --spacing 8 --shells 1000:8 --out head", here);
    put(here, "p.toml", PROTOCOL);
    const LINE: &str = "run p.toml --subject-folder head --out out --no-pictures";
    let outcome = |report: &Value| -> Vec<(String, bool)> {
        let steps = report["status"]["steps"].as_array().expect("steps");
        let steps = steps.iter().map(|step| {
            let name = step["name"].as_str().expect("a name").to_owned();
            (name, step["unchanged"] == true)
        });
        steps.collect()
    };
    let names = ["fit", "region_tract", "cst", "along"];
    let expected = |unchanged: [bool; 4]| -> Vec<(String, bool)> {
        names
            .map(str::to_owned)
            .into_iter()
            .zip(unchanged)
            .collect()
    };
    assert_eq!(outcome(&run(LINE, here)), expected([false; 4]));
    let provenance = std::fs::read_to_string(here.join("out/cst/provenance.json")).expect("a text");
    let provenance: Value = serde_json::from_str(&provenance).expect("JSON");
    assert_eq!(provenance["step"], "cst");
    // Scan, gradients, brain mask and region.
    assert_eq!(provenance["inputs"].as_array().map(Vec::len), Some(5));
    assert!(
        provenance["report"]["kept"].as_u64().is_some_and(|n| n > 0),
        "{provenance}"
    );
    assert!(here.join("out/session.arcuate").is_file());
    // The dates change, the contents do not.
    let scan = here.join("head/dwi.nii.gz");
    let bytes = std::fs::read(&scan).expect("a scan");
    std::fs::write(&scan, &bytes).expect("written");
    assert_eq!(outcome(&run(LINE, here)), expected([true; 4]));
    // Without progress, one line states the result.
    let quiet: Vec<&str> = LINE.split(' ').chain(["--quiet"]).collect();
    let printed = arcuate(&quiet, here).stdout;
    let printed = String::from_utf8_lossy(&printed).into_owned();
    assert_eq!(printed.lines().count(), 1, "{printed}");
    assert!(printed.starts_with("4 steps (4 unchanged)"), "{printed}");
    // A result that was changed is computed again, and what reads it is not if the result is the same.
    std::fs::write(here.join("out/fit/fa.nii.gz"), "").expect("written");
    assert_eq!(
        outcome(&run(LINE, here)),
        expected([false, true, true, true])
    );
    put(here, "p.toml", &PROTOCOL.replace("fa = 0.1", "fa = 0.12"));
    assert_eq!(
        outcome(&run(LINE, here)),
        expected([true, true, false, false])
    );
    // A step that an interrupted run left unfinished is done by the next one.
    std::fs::remove_dir_all(here.join("out/along")).expect("removed");
    std::fs::create_dir(here.join("out/.along.part")).expect("created");
    assert_eq!(
        outcome(&run(LINE, here)),
        expected([true, true, true, false])
    );
    assert!(!here.join("out/.along.part").exists());
    // The session of the results opens.
    run("methods out/session.arcuate", here);
    put(
        here,
        "p.toml",
        &PROTOCOL.replace("tract left", "tract middle"),
    );
    let (found, code) = errors(LINE, here);
    assert!(
        found[0].contains("no label “Corticospinal tract middle”"),
        "{found:?}"
    );
    assert_eq!(code, Some(1));
    let status = std::fs::read_to_string(here.join("out/status.json")).expect("a text");
    assert!(status.contains("\"failed\""), "{status}");
}

fn participants() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    run(HEADS, here);
    put(here, "p.toml", PROTOCOL);
    const SOURCES: &str = "--protocol p.toml --derivatives heads/derivatives/phantom";
    // A dry run finds that the second head lacks its gradient directions; the scan of the third is read later.
    let (found, code) = errors(
        &format!("bids heads out participant {SOURCES} --dry-run"),
        here,
    );
    assert_eq!(code, Some(1));
    assert_eq!(found, ["1 of 3 participants lack inputs: sub-02"]);
    let line = format!("bids heads out participant {SOURCES} --dry-run --json");
    let listed = arcuate(&line.split(' ').collect::<Vec<_>>(), here).stdout;
    let listed: Value = serde_json::from_slice(&listed).expect("JSON");
    let missing = |i: usize| {
        listed["participants"][i]["missing"]
            .as_array()
            .map(Vec::len)
    };
    assert_eq!([0, 1, 2].map(missing), [Some(0), Some(1), Some(0)]);
    assert!(!here.join("out").exists());
    let line = format!("bids heads out participant {SOURCES} --no-pictures");
    let (found, code) = errors(&line, here);
    assert_eq!(code, Some(1));
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[0].starts_with("sub-02: fit: Found the .bval of this scan but no .bvec"),
        "{found:?}"
    );
    assert!(found[1].starts_with("sub-03: fit: "), "{found:?}");
    assert_eq!(found[2], "2 of 3 participants failed: sub-02, sub-03");
    let dwi = here.join("out/sub-01/dwi");
    for name in [
        "sub-01_model-tensor_param-fa_dwimap.nii.gz",
        "sub-01_model-tensor_param-fa_dwimap.json",
        "sub-01_tract-cst_tractogram.trx",
        "sub-01_tract-cst_tractogram.json",
        "sub-01_desc-tract_mask.nii.gz",
        "sub-01_desc-along_profile.tsv",
    ] {
        assert!(dwi.join(name).is_file(), "{name}");
    }
    let sidecar =
        std::fs::read_to_string(dwi.join("sub-01_tract-cst_tractogram.json")).expect("a text");
    assert!(
        sidecar.contains("bids:raw:sub-01/dwi/sub-01_dwi.nii.gz"),
        "{sidecar}"
    );
    let description =
        std::fs::read_to_string(here.join("out/dataset_description.json")).expect("a text");
    assert!(description.contains("GeneratedBy"), "{description}");
    // A second run computes nothing.
    let one = run(&format!("{line} --participant-label 01"), here);
    let steps = one["participants"][0]["steps"]
        .as_array()
        .cloned()
        .expect("steps");
    assert!(steps.iter().all(|step| step["unchanged"] == true), "{one}");
    let group = run("bids heads out group --protocol p.toml", here);
    assert_eq!(
        (&group["participants"], &group["sessions"]),
        (&3.into(), &0.into())
    );
    assert_eq!(group["failed"].as_array().map(Vec::len), Some(2));
    let table = std::fs::read_to_string(here.join("out/group_measures.tsv")).expect("a table");
    assert!(
        table.starts_with("subject\tsession\tbundle\tmeasure\tnode\tvalue\n"),
        "{table}"
    );
    assert!(
        table.contains("\nsub-01\tn/a\talong\tfa mean\t0\t"),
        "{table}"
    );
    assert!(table.contains("\nsub-01\tn/a\tcst\tkept\tn/a\t"), "{table}");
    let page = std::fs::read_to_string(here.join("out/group_report.html")).expect("a page");
    let row = |name: &str| page.find(&format!(">{name}</th>")).expect(name);
    assert!(row("sub-02") < row("sub-01") && row("sub-03") < row("sub-01"));
    assert!(
        page.contains("<li>sub-02: fit: Found the .bval of this scan but no .bvec"),
        "{page}"
    );
    assert!(page.contains("script-src 'sha256-"));
    wrong_usage(here);
}

/// Sentences about wrong arguments of `bids`.
fn wrong_usage(here: &Path) {
    for (arguments, part) in [
        ("bids heads out participant", "--protocol"),
        (
            "bids none out participant --protocol p.toml",
            "expected that of a BIDS dataset",
        ),
        (
            "bids out/sub-01 out2 participant --protocol p.toml",
            "dataset_description.json",
        ),
        (
            "bids heads heads participant --protocol p.toml",
            "OUTPUT_DIR is BIDS_DIR",
        ),
        (
            "bids heads heads/../heads participant --protocol p.toml",
            "OUTPUT_DIR is BIDS_DIR",
        ),
        (
            "bids heads out participant --protocol p.toml --participant-label 09",
            "no participant “sub-09”",
        ),
        (
            "bids heads out participant --protocol p.toml --session-label 1",
            "no session “ses-1”",
        ),
        (
            "bids heads out participant --protocol p.toml --derivatives none",
            "a dataset of derivatives",
        ),
        ("bids heads empty group", "expected at least one"),
        (
            "bids heads out both --protocol p.toml",
            "participant or group",
        ),
    ] {
        let (found, _) = errors(arguments, here);
        assert!(
            found.len() == 1 && found[0].contains(part),
            "{arguments}: {found:?}"
        );
    }
}

/// Results do not go among the data of a participant, by whatever name the folder is reached; elsewhere in the dataset they
/// may.
fn places() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let dataset = here.join("heads");
    for name in ["sub-01/dwi", "sub-02/dwi", "derivatives/other/sub-01"] {
        std::fs::create_dir_all(dataset.join(name)).expect("created");
    }
    let text = "{\"Name\": \"Heads\", \"BIDSVersion\": \"1.8.0\"}";
    put(&dataset, "dataset_description.json", text);
    put(here, "p.toml", PROTOCOL);
    let mut places = vec![
        "heads/sub-01",
        "heads/sub-01/new/deep",
        "heads/derivatives/../sub-02/dwi",
        "heads/new/../sub-01",
        "heads/derivatives/other/sub-01",
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(dataset.join("sub-02"), here.join("link")).expect("a link");
        places.push("link/results");
    }
    const REST: &str = "--protocol p.toml --derivatives heads/derivatives/other";
    for (place, level) in places
        .iter()
        .flat_map(|p| [(p, "participant"), (p, "group")])
    {
        let (found, code) = errors(&format!("bids heads {place} {level} {REST}"), here);
        assert_eq!((found.len(), code), (1, Some(2)), "{place}: {found:?}");
        assert!(
            found[0].contains("the folder of a participant's data"),
            "{place}: {found:?}"
        );
    }
    for participant in ["sub-01", "sub-02"] {
        let entries = std::fs::read_dir(dataset.join(participant)).expect("a folder");
        assert_eq!(entries.count(), 1, "{participant}");
    }
    // The usual place is permitted: the participants lack their scans, which is another sentence.
    let line = format!("bids heads heads/derivatives/arcuate participant {REST} --dry-run");
    let (found, code) = errors(&line, here);
    assert_eq!(code, Some(1));
    assert!(
        found[0].starts_with("2 of 2 participants lack inputs"),
        "{found:?}"
    );
}

/// An input that only the last step needs is missed before the first one runs, and all that are missing are named.
fn lost_inputs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    run("phantom --spacing 8 --shells 1000:8 --out head", here);
    let last = "[[step]]\nname = \"moved\"\ncommand = \"convert\"\narguments = [\"{cst}\", \"moved.trx\"]\n\
                [step.options]\naffine = \"{xfm}\"\n";
    put(here, "p.toml", &format!("{PROTOCOL}{last}"));
    const LINE: &str = "run p.toml --subject-folder head --out out --no-pictures";
    let (found, code) = errors(LINE, here);
    assert_eq!((found.len(), code), (1, Some(1)), "{found:?}");
    assert!(
        found[0].starts_with("The input “xfm” (transform) has no pattern"),
        "{found:?}"
    );
    assert!(!here.join("out/fit").exists());
    let status = std::fs::read_to_string(here.join("out/status.json")).expect("a text");
    assert!(status.contains("\"failed\""), "{status}");
    std::fs::remove_file(here.join("head/brain_mask.nii.gz")).expect("removed");
    let (found, _) = errors(LINE, here);
    assert!(
        found[0].contains("head has no mask “brain”") && found[0].ends_with(": “xfm”"),
        "{found:?}"
    );
}
