//! Commands take MRtrix images wherever they take images, and write them.

use crate::cli::{arcuate, coarse_head, json, refuses};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::Volume;
use arcuate::io::image;
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("mrtrix::images_in_place_of_niftis", in_place_of_niftis),
        test("mrtrix::names_of_outputs", names),
    ]
}

fn values(path: &Path) -> Volume {
    let read = image::read(path, &Control::new());
    read.unwrap_or_else(|e| panic!("{e}")).0
}

fn run(line: &str, here: &Path) -> serde_json::Value {
    let parts: Vec<&str> = line.split(' ').collect();
    json(&parts, here)
}

/// The same head as NIfTI and as MRtrix images gives the same maps.
fn in_place_of_niftis() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    coarse_head(here);
    let done = run("convert head/dwi.nii.gz dwi.mif", here);
    assert_eq!(done["files"], serde_json::json!(["dwi.mif"]));
    run("convert head/brain_mask.nii.gz mask.mif.gz", here);
    let described = run("info dwi.mif head/dwi.nii.gz", here);
    let (own, other) = (&described["files"][0], &described["files"][1]);
    for member in ["kind", "shape", "volumes", "shells", "orientation", "range"] {
        assert_eq!(own[member], other[member], "{member}");
    }
    assert_eq!(own["kind"], "diffusion scan");
    run(
        "fit head/dwi.nii.gz --mask head/brain_mask.nii.gz --maps fa,tensor,mask --out plain",
        here,
    );
    let fit = "fit dwi.mif --mask mask.mif.gz --maps fa,tensor,mask --format mif --out maps";
    run(fit, here);
    for name in ["fa", "tensor", "mask"] {
        let expected = values(&here.join(format!("plain/{name}.nii.gz")));
        let found = values(&here.join(format!("maps/{name}.mif")));
        assert!(found.grid.same_space(&expected.grid, 1e-3), "{name}");
        let mut pairs = found.values.iter().zip(expected.values.iter());
        // The table went through world axes, which rounds its directions.
        assert!(
            pairs.all(|(a, b)| (a - b).abs() <= 1e-4 * b.abs().max(1e-3)),
            "{name}"
        );
    }
    run(
        "track dwi.mif --mask mask.mif.gz --seed mask:maps/mask.mif --seeds random:200 --out a.tck",
        here,
    );
    run(
        "density a.tck --template maps/fa.mif --out visits.mif.gz",
        here,
    );
    assert_eq!(
        values(&here.join("visits.mif.gz")).grid.shape,
        values(&here.join("maps/fa.mif")).grid.shape
    );
    run(
        "region --image maps/fa.mif --threshold 0.3..1 --out white.mif",
        here,
    );
    let white = values(&here.join("white.mif"));
    assert!(white.values.contains(&1.0) && white.values.contains(&0.0));
    run(
        "region --as-labels --union mask:white.mif --union mask:maps/mask.mif --out both_dseg.mif",
        here,
    );
    let names = std::fs::read_to_string(here.join("both_dseg.txt")).expect("a table");
    assert!(
        names.contains("\"white\"") && names.contains("\"mask\""),
        "{names}"
    );
    // Back to a NIfTI with its table beside it.
    let done = run("convert dwi.mif back.nii.gz --strict", here);
    assert_eq!(
        done["files"],
        serde_json::json!(["back.nii.gz", "back.bval", "back.bvec"])
    );
    assert_eq!(
        values(&here.join("back.nii.gz")).values,
        values(&here.join("head/dwi.nii.gz")).values
    );
}

fn names() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    coarse_head(here);
    refuses(
        &[
            "region",
            "--image",
            "head/brain_mask.nii.gz",
            "--threshold",
            "1..",
            "--out",
            "a.mih",
        ],
        &["two files", ".mif.gz"],
        here,
    );
    let output = arcuate(&["density", "a.tck", "--out", "a.hdr"], here);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && message.contains(".mif"),
        "{message}"
    );
    let output = arcuate(
        &["fit", "head/dwi.nii.gz", "--format", "mih", "--out", "maps"],
        here,
    );
    assert_eq!(output.status.code(), Some(2));
}
