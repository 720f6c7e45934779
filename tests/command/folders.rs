//! BIDS folders that the program may not read.

use crate::support::test;
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![test("io::bids::a_folder_that_cannot_be_read", unreadable)]
}

fn put(root: &Path, names: &[&str]) {
    for name in names {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, "").expect("written");
    }
}

/// A subject whose folder is not readable does not hide the others. Root reads everything, so the program then runs as
/// another user.
fn unreadable() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::process::Command;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().join("study");
    let scan = "sub-01/dwi/sub-01_dwi.nii.gz";
    put(
        &root,
        &[
            "dataset_description.json",
            scan,
            "sub-02/dwi/sub-02_dwi.nii.gz",
        ],
    );
    let mode =
        |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).expect("set");
    mode(folder.path(), 0o755);
    mode(&root.join("sub-02"), 0o000);
    let program = folder.path().join("arcuate");
    std::fs::copy(env!("CARGO_BIN_EXE_arcuate"), &program).expect("copied");
    let is_root = folder.path().metadata().expect("found").uid() == 0;
    let mut text = vec![program.into_os_string()];
    if is_root {
        let nobody = [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
        ];
        text.splice(0..0, nobody.map(Into::into));
    }
    let info = |folder: &Path| {
        let mut command = Command::new(&text[0]);
        let command = command.args(&text[1..]).args(["info", "--json"]);
        command.arg(folder).output().expect("it starts")
    };
    let output = info(&root);
    // Given directly, as the only item in a folder, and as the data set.
    let alone = |output: &std::process::Output, at: &Path| {
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        for text in [
            "Permission to read this file or folder was denied",
            &at.to_string_lossy(),
        ] {
            assert!(message.contains(text), "{text}: {message}");
        }
    };
    let subject = root.join("sub-02");
    alone(&info(&subject), &subject);
    std::fs::remove_dir_all(root.join("sub-01")).expect("removed");
    alone(&info(&root), &subject);
    mode(&root, 0o000);
    alone(&info(&root), &root);
    mode(&root, 0o755);
    mode(&subject, 0o755);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let found = &report["files"][0];
    assert!(
        found["unreadable"][0]
            .as_str()
            .is_some_and(|p| p.ends_with("sub-02")),
        "{found}"
    );
    assert_eq!(found["complete"], false);
    assert!(
        found["files"][0]["path"]
            .as_str()
            .is_some_and(|p| p.ends_with(scan)),
        "{found}"
    );
}
