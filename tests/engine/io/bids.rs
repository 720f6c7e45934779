//! BIDS folders: files found by name, their subject, and their gradients.

use super::sentence;
use crate::support::test;
use arcuate::io::bids::{self, Kind};
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::bids::finds_what_is_there", finds),
        test("io::bids::gradients_are_inherited", inherited),
        test("io::bids::sessions_are_chosen_separately", sessions),
        test("io::bids::other_folders_are_reported", others),
        test("io::bids::folders_within_are_opened", within),
        test("io::bids::names_of_labels_are_inherited", labels),
    ]
}

fn put(root: &Path, names: &[&str]) {
    for name in names {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, "").expect("written");
    }
}

fn finds() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path();
    put(
        root,
        &[
            "dataset_description.json",
            "participants.tsv",
            "sub-02/dwi/sub-02_dwi.nii.gz",
            "sub-01/ses-1/dwi/sub-01_ses-1_dir-AP_dwi.nii.gz",
            "sub-01/ses-1/dwi/sub-01_ses-1_dir-AP_dwi.bval",
            "sub-01/ses-1/dwi/sub-01_ses-1_dir-AP_dwi.bvec",
            "sub-01/ses-1/dwi/sub-01_ses-1_dir-AP_sbref.nii.gz",
            "sub-01/ses-1/anat/sub-01_ses-1_T1w.nii.gz",
            "sub-01/ses-1/func/sub-01_ses-1_bold.nii.gz",
            "derivatives/p/sub-01/ses-1/anat/sub-01_ses-1_desc-brain_mask.nii.gz",
            "derivatives/p/sub-01/ses-1/dwi/sub-01_ses-1_space-dwi_desc-brain_mask.nii.gz",
            "derivatives/p/sub-01/ses-1/dwi/sub-01_ses-1_tractography.trx",
            "derivatives/p/sub-01/ses-1/anat/sub-01_ses-1_dseg.nii.gz",
            "sourcedata/sub-01/dwi/sub-01_dwi.nii.gz",
            ".git/sub-01_dwi.nii.gz",
        ],
    );
    assert!(bids::is_folder(root) && bids::is_folder(&root.join("sub-01")));
    let found = bids::find(root).expect("a data set");
    assert_eq!(found.subjects, ["sub-01", "sub-02"]);
    let kinds: Vec<Kind> = found.files.iter().map(|f| f.kind).collect();
    use Kind::{Labels, Mask, Scan, Streamlines, T1};
    assert_eq!(kinds, [Scan, T1, Mask, Mask, Labels, Streamlines, Scan]);
    assert_eq!(found.files[0].gradients.len(), 2);
    assert!(!found.files[0].derived && found.files[2].derived);
    assert_eq!(found.files[6].gradients, Vec::<std::path::PathBuf>::new());
    let visits = found.visits();
    let called: Vec<String> = visits.iter().map(bids::Visit::name).collect();
    assert_eq!(called, ["sub-01 ses-1", "sub-02"]);
    let chosen = found.chosen(&visits[0]);
    let names: Vec<String> = chosen
        .iter()
        .map(|f| {
            f.path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(
        names,
        [
            "sub-01_ses-1_dir-AP_dwi.nii.gz",
            "sub-01_ses-1_T1w.nii.gz",
            "sub-01_ses-1_space-dwi_desc-brain_mask.nii.gz",
            "sub-01_ses-1_tractography.trx",
        ]
    );
    // A single subject's folder works as well.
    let one = bids::find(&root.join("sub-02")).expect("a subject");
    assert_eq!(
        (one.subjects.as_slice(), one.files.len()),
        (&["sub-02".to_owned()][..], 1)
    );
}

/// Sessions are chosen separately; files in none of them belong to all sessions, files of no subject to none.
fn sessions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path();
    put(
        root,
        &[
            "dataset_description.json",
            "sub-01/ses-a/dwi/sub-01_ses-a_dwi.nii.gz",
            "sub-01/ses-b/dwi/sub-01_ses-b_dwi.nii.gz",
            "sub-01/ses-b/anat/sub-01_ses-b_T1w.nii.gz",
            "derivatives/mean/sub-01/anat/sub-01_T1w.nii.gz",
            "derivatives/mean/group_T1w.nii.gz",
            "sub-02/dwi/sub-02_dwi.nii.gz",
        ],
    );
    let found = bids::find(root).expect("a data set");
    let visits = found.visits();
    let called: Vec<String> = visits.iter().map(bids::Visit::name).collect();
    assert_eq!(called, ["sub-01 ses-a", "sub-01 ses-b", "sub-02"]);
    let names = |visit| -> Vec<String> {
        let chosen = found.chosen(visit).into_iter();
        let name = |f: &bids::BidsFile| f.path.file_name().expect("a name").to_owned();
        chosen
            .map(|f| name(f).to_string_lossy().into_owned())
            .collect()
    };
    assert_eq!(
        names(&visits[0]),
        ["sub-01_ses-a_dwi.nii.gz", "sub-01_T1w.nii.gz"]
    );
    assert_eq!(
        names(&visits[1]),
        ["sub-01_ses-b_dwi.nii.gz", "sub-01_ses-b_T1w.nii.gz"]
    );
    assert_eq!(names(&visits[2]), ["sub-02_dwi.nii.gz"]);
}

fn inherited() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path();
    put(
        root,
        &[
            "dwi.bval",
            "dwi.bvec",
            "dir-PA_dwi.bvec",
            "sub-01/sub-01_dwi.bvec",
            "sub-01/dwi/sub-01_dwi.nii.gz",
            "sub-02/dwi/sub-02_dir-PA_dwi.nii.gz",
            "sub-03/dwi/sub-03_dwi.bval",
            "sub-03/dwi/sub-03_dwi.nii.gz",
        ],
    );
    let found = bids::find(root).expect("a data set").files;
    let gradients = |i: usize| -> Vec<String> {
        let relative =
            |p: &std::path::PathBuf| p.strip_prefix(root).expect("inside").display().to_string();
        found[i].gradients.iter().map(relative).collect()
    };
    assert_eq!(gradients(0), ["dwi.bval", "sub-01/sub-01_dwi.bvec"]);
    assert_eq!(gradients(1), ["dwi.bval", "dir-PA_dwi.bvec"]);
    assert_eq!(gradients(2), ["sub-03/dwi/sub-03_dwi.bval", "dwi.bvec"]);
}

fn others() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert!(!bids::is_folder(folder.path()));
    put(folder.path(), &["a/b.txt", "dataset_description.json"]);
    assert!(bids::is_folder(folder.path()));
    sentence(&bids::find(folder.path()).expect_err("nothing in it"));
    sentence(&bids::find(&folder.path().join("none")).expect_err("no folder"));
}

/// A folder of one kind of file, and that of the pipelines, are searched like the whole.
fn within() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path();
    put(
        root,
        &[
            "sub-01/dwi/sub-01_dwi.nii.gz",
            "derivatives/p/sub-01/dwi/sub-01_desc-brain_mask.nii.gz",
            "derivatives/q/dataset_description.json",
            "derivatives/notes/readme.txt",
        ],
    );
    for (name, kind) in [("sub-01/dwi", Kind::Scan), ("derivatives", Kind::Mask)] {
        let inner = root.join(name);
        assert!(bids::is_folder(&inner), "{name}");
        let found = bids::find(&inner).expect(name).files;
        assert_eq!(found.iter().map(|f| f.kind).collect::<Vec<_>>(), [kind]);
        assert_eq!(found[0].subject, "sub-01");
    }
    assert!(!bids::is_folder(&root.join("derivatives/notes")));
}

/// `desc-aseg_dseg.tsv` in the folder of a pipeline names the labels of all its maps of that kind.
fn labels() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path();
    let map = "p/sub-01/anat/sub-01_desc-aseg_dseg.nii.gz";
    put(
        root,
        &[
            "dseg.tsv",
            "p/dataset_description.json",
            "p/desc-aseg_dseg.tsv",
            "p/desc-other_dseg.tsv",
            "p/dseg.tsv",
            map,
            "p/sub-01/anat/sub-01_T1w.nii.gz",
        ],
    );
    let table = |name: &str| bids::inherited_table(&root.join(name));
    assert_eq!(table(map), Some(root.join("p/desc-aseg_dseg.tsv")));
    assert_eq!(
        table("p/sub-02/anat/sub-02_dseg.nii.gz"),
        Some(root.join("p/dseg.tsv"))
    );
    assert_eq!(table("p/sub-01/anat/sub-01_T1w.nii.gz"), None);
    // Not outside the data set.
    std::fs::remove_file(root.join("p/dseg.tsv")).expect("removed");
    assert_eq!(table("p/sub-02/anat/sub-02_dseg.nii.gz"), None);
}
