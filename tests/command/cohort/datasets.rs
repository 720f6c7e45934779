//! Datasets with sessions, and derivatives under the names of QSIPrep.

use super::{PROTOCOL, errors, put, run};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Copies the files of a folder, with `from` in their names replaced.
fn copy(source: &Path, target: &Path, from: &str, to: &str) {
    fs::create_dir_all(target).expect("created");
    for entry in fs::read_dir(source).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let copied = target.join(name.replace(from, to));
        match path.is_dir() {
            true => copy(&path, &copied, from, to),
            false => {
                fs::copy(&path, &copied).expect("copied");
            }
        }
    }
}

fn names(report: &Value) -> Vec<&str> {
    let all = report["participants"].as_array().expect("a list");
    let names = all.iter().map(|end| end["participant"].as_str());
    names.map(|name| name.expect("a name")).collect()
}

/// Each session is processed and reported on its own, and `--session-label` chooses among them at both levels.
pub fn sessions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    run(
        "phantom --bids heads --subjects 2 --spacing 8 --shells 1000:8",
        here,
    );
    for root in ["heads", "heads/derivatives/phantom"] {
        for (subject, sessions) in [("sub-01", &["ses-1", "ses-2"][..]), ("sub-02", &["ses-1"])] {
            let own = here.join(root).join(subject);
            let whole = here.join("whole");
            fs::rename(&own, &whole).expect("renamed");
            for session in sessions {
                let to = format!("{subject}_{session}");
                copy(&whole, &own.join(session), subject, &to);
            }
            fs::remove_dir_all(&whole).expect("removed");
        }
    }
    put(here, "p.toml", PROTOCOL);
    const LINE: &str = "bids heads out participant --protocol p.toml --derivatives heads/derivatives/phantom --no-pictures";
    let second = run(&format!("{LINE} --session-label 2"), here);
    assert_eq!(names(&second), ["sub-01 ses-2"]);
    let all = run(LINE, here);
    assert_eq!(
        names(&all),
        ["sub-01 ses-1", "sub-01 ses-2", "sub-02 ses-1"]
    );
    let result = "out/sub-01/ses-2/dwi/sub-01_ses-2_tract-cst_tractogram.trx";
    assert!(here.join(result).is_file());
    let group = run("bids heads out group", here);
    assert_eq!(
        (&group["participants"], &group["sessions"]),
        (&2.into(), &3.into())
    );
    let page = fs::read_to_string(here.join("out/group_report.html")).expect("a page");
    assert!(
        page.contains("3 sessions of 2 participants: 3 done"),
        "{page}"
    );
    let group = run("bids heads out group --session-label ses-1", here);
    assert_eq!(
        (&group["participants"], &group["sessions"]),
        (&2.into(), &2.into())
    );
    let table = fs::read_to_string(here.join("out/group_measures.tsv")).expect("a table");
    assert!(table.contains("sub-02\tses-1\t") && !table.contains("ses-2"));
    let (found, code) = errors(&format!("{LINE} --session-label 3"), here);
    assert!(found[0].contains("no session “ses-3”"), "{found:?}");
    assert_eq!(code, Some(1));
}

/// The names of version 0.2x, with the T1 in two spaces, and those of version 1.
pub fn qsiprep() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    run(
        "phantom --bids heads --subjects 1 --spacing 8 --shells 1000:8",
        here,
    );
    let protocol = PROTOCOL.replacen("[input.xfm]", "[input.t1]\nrole = \"t1\"\n[input.xfm]", 1);
    let protocol = protocol.replacen("image = \"{fit/fa.nii.gz}\"", "image = \"{t1}\"", 1);
    put(here, "p.toml", &protocol);
    for (version, space, t1) in [("0.22.0", "T1w", ""), ("1.0.0", "ACPC", "space-ACPC_")] {
        let prepared = here.join(format!("qsiprep-{version}"));
        let [dwi, anat] = ["dwi", "anat"].map(|name| prepared.join("sub-01").join(name));
        fs::create_dir_all(&dwi).expect("created");
        fs::create_dir_all(&anat).expect("created");
        let raw = here.join("heads/sub-01");
        let derived = here.join("heads/derivatives/phantom/sub-01/dwi");
        let put_as = |from: &Path, to: &Path| {
            fs::copy(from, to).expect("copied");
        };
        for ending in ["nii.gz", "bval", "bvec"] {
            let name = format!("sub-01_space-{space}_desc-preproc_dwi.{ending}");
            put_as(
                &raw.join(format!("dwi/sub-01_dwi.{ending}")),
                &dwi.join(name),
            );
        }
        let mask = derived.join("sub-01_desc-brain_mask.nii.gz");
        put_as(
            &mask,
            &dwi.join(format!("sub-01_space-{space}_desc-brain_mask.nii.gz")),
        );
        put_as(
            &mask,
            &anat.join(format!("sub-01_{t1}desc-brain_mask.nii.gz")),
        );
        let labels = derived.join("sub-01_desc-bundle_dseg.nii.gz");
        put_as(
            &labels,
            &dwi.join(format!("sub-01_space-{space}_desc-bundle_dseg.nii.gz")),
        );
        let table = here.join("heads/derivatives/phantom/desc-bundle_dseg.tsv");
        put_as(&table, &prepared.join("desc-bundle_dseg.tsv"));
        let image = raw.join("anat/sub-01_T1w.nii.gz");
        for space in [t1, "space-MNI152NLin2009cAsym_"] {
            put_as(
                &image,
                &anat.join(format!("sub-01_{space}desc-preproc_T1w.nii.gz")),
            );
        }
        put(
            &prepared,
            "dataset_description.json",
            "{\"Name\": \"QSIPrep\", \"BIDSVersion\": \"1.4.0\"}",
        );
        let line = format!(
            "bids heads out-{version} participant --protocol p.toml --derivatives qsiprep-{version} --no-pictures"
        );
        let dry = run(&format!("{line} --dry-run"), here);
        let inputs = &dry["participants"][0]["inputs"];
        for (name, end) in [
            (
                "dwi",
                format!("sub-01_space-{space}_desc-preproc_dwi.nii.gz"),
            ),
            (
                "brain",
                format!("sub-01_space-{space}_desc-brain_mask.nii.gz"),
            ),
            ("t1", format!("sub-01_{t1}desc-preproc_T1w.nii.gz")),
        ] {
            let file = inputs[name].as_str().unwrap_or_default();
            assert!(file.ends_with(&end), "{version}, {name}: {file}");
            assert!(file.contains("qsiprep"), "{file}");
        }
        let report = run(&line, here);
        assert_eq!(report["participants"][0]["state"], "done", "{report}");
    }
}
