//! Commands take MRtrix images wherever they take images, and write them.

use crate::cli::{arcuate, coarse_head, json, refuses};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::axis_change::world_from_fsl;
use arcuate::data::spherical_harmonics::{Basis, Rotation, count, evaluate};
use arcuate::data::{Grid, Volume, VolumeKind};
use arcuate::io::image;
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("mrtrix::images_in_place_of_niftis", in_place_of_niftis),
        test("mrtrix::names_of_outputs", names),
        test(
            "mrtrix::orientations_are_converted_and_turned",
            orientations,
        ),
        test("mrtrix::another_basis_is_reported", another_basis),
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

/// Maps of a head do not depend on whether its images are NIfTI or MRtrix files.
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
    assert_eq!(own["kind"], "diffusion_scan");
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
    let copied = run("convert white.mif copied.mif", here);
    assert_eq!(copied["what"], "an image in bits");
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
    // Back to a NIfTI with its table next to it.
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

/// Distributions in DIPY's default basis and axes become MRtrix's; they and peaks turn with an image that is moved.
fn orientations() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let grid = Grid::axis_aligned([2, 2, 2], DVec3::splat(2.0), DVec3::ZERO).expect("regular");
    let grid = Arc::new(grid);
    let direction = |voxel: usize| DVec3::new(1.0, 0.3 * voxel as f64, 0.5).normalize();
    let image_from_world = Rotation::new(4, world_from_fsl(&grid).transpose());
    let save = |name: &str, size: usize, coefficients: &dyn Fn(usize) -> Vec<f64>| {
        let voxels: Vec<Vec<f64>> = (0..8).map(coefficients).collect();
        let planes = (0..size).flat_map(|i| voxels.iter().map(move |c| c[i] as f32));
        let planes: Vec<f32> = planes.collect();
        let volume = Volume::new(grid.clone(), size, VolumeKind::Scalar, planes);
        image::save_volume(&here.join(name), &volume, "", &Control::new()).expect("saved");
    };
    save("odf.nii.gz", count(4), &|voxel| {
        let own = image_from_world.apply(&evaluate(4, direction(voxel)));
        Basis::DipyLegacy.from_mrtrix(4, &own)
    });
    save("peaks.nii.gz", 3, &|voxel| {
        (direction(voxel) * 0.5).to_array().to_vec()
    });
    let check = |name: &str, turn: DMat3| {
        let found = values(&here.join(name));
        for voxel in 0..8 {
            let expected = match found.frames {
                3 => (turn * direction(voxel) * 0.5).to_array().to_vec(),
                _ => evaluate(4, turn * direction(voxel)),
            };
            for (i, expected) in expected.iter().enumerate() {
                let value = f64::from(found.frame(i)[voxel]);
                assert!(
                    (value - expected).abs() < 1e-5,
                    "{name}: {value} and {expected}"
                );
            }
        }
    };
    let quarter = DMat3::from_cols(DVec3::Y, -DVec3::X, DVec3::Z);
    let moved = "--affine matrix:0,-1,0,5,1,0,0,0,0,0,1,0";
    let layout = "--odf-basis descoteaux07-legacy --odf-frame voxel";
    let done = run(&format!("convert odf.nii.gz wmfod.mif {layout}"), here);
    assert_eq!(done["what"], "distributions of order 4");
    check("wmfod.mif", DMat3::IDENTITY);
    run(
        &format!("convert odf.nii.gz turned.mif.gz {layout} {moved}"),
        here,
    );
    check("turned.mif.gz", quarter);
    run(
        &format!("convert peaks.nii.gz peaks.mif --peaks {moved}"),
        here,
    );
    check("peaks.mif", quarter);
    let own = values(&here.join("peaks.mif")).grid.world(DVec3::ZERO);
    assert!(own.distance(DVec3::new(5.0, 0.0, 0.0)) < 1e-5, "{own}");
    for (line, reason) in [
        (format!("convert odf.nii.gz a.nrrd {layout}"), ".mif"),
        (
            "convert odf.nii.gz a.mif --odf-basis dipy --odf-frame voxel".to_owned(),
            "descoteaux07-legacy",
        ),
        (
            "convert odf.nii.gz a.mif --odf-basis mrtrix".to_owned(),
            "--odf-frame",
        ),
    ] {
        let parts: Vec<&str> = line.split(' ').collect();
        let output = arcuate(&parts, here);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && message.contains(reason),
            "{line}: {message}"
        );
    }
    // Moved as plain values, distributions would keep their directions.
    let parts: Vec<&str> = moved.split(' ').collect();
    for name in ["odf.nii.gz", "wmfod.mif"] {
        refuses(
            &[&["convert", name, "b.mif"], &*parts].concat(),
            &["harmonics of order 4", "must turn with it", "--odf-basis"],
            here,
        );
    }
    assert!(!here.join("b.mif").exists());
    // A shift turns nothing, and other values with three parts have a note.
    run(
        "convert odf.nii.gz shifted.mif --affine matrix:1,0,0,5,0,1,0,0,0,0,1,0",
        here,
    );
    save("warp.nii.gz", 3, &|voxel| vec![-1.0, voxel as f64, 0.5]);
    let done = run(&format!("convert warp.nii.gz warp.mif {moved}"), here);
    let warnings = done["warnings"].to_string();
    assert!(
        warnings.contains("if they are peaks, state --peaks"),
        "{warnings}"
    );
    let compared = run("gradients distributions odf.nii.gz", here);
    assert_eq!(compared["ranked"].as_array().map(Vec::len), Some(10));
    std::fs::write(here.join("empty.mif"), "").expect("written");
    refuses(
        &["track", "--fod", "empty.mif", "--out", "a.tck"],
        &["Found an empty file, expected a whole .mif file"],
        here,
    );
    refuses(
        &["convert", "odf.nii.gz", "b.mif", "--peaks"],
        &["harmonics of order 4", "--odf-basis"],
        here,
    );
    refuses(
        &["gradients", "distributions", "peaks.nii.gz"],
        &["Found 3 volumes, expected 6, 15"],
        here,
    );
    let peaks = [
        "convert",
        "odf.nii.gz",
        "a.mif",
        "--odf-basis",
        "camino",
        "--odf-frame",
        "world",
    ];
    // 15 volumes are Camino's, too, without the two before the coefficients.
    json(&peaks, here);
    refuses(
        &[
            "convert",
            "peaks.nii.gz",
            "b.mif",
            "--peaks",
            "--affine",
            "none.mat",
        ],
        &["none.mat"],
        here,
    );
}

/// Commands that read distributions in MRtrix's basis, or convert them into a MIF, warn if they are clearly in another
/// one, and say nothing about those of arcuate fod.
fn another_basis() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    run(
        "phantom --scan-only --spacing 4 --shells 2500:45 --b0 4 --out head",
        here,
    );
    run(
        "fod head/dwi.nii.gz --mask head/brain_mask.nii.gz --order 4 --out fod",
        here,
    );
    let own = values(&here.join("fod/wm_fod.nii.gz"));
    let n = own.grid.voxel_count();
    let mut planes = vec![0f32; own.values.len()];
    for voxel in 0..n {
        let c: Vec<f64> = (0..own.frames)
            .map(|i| f64::from(own.frame(i)[voxel]))
            .collect();
        for (i, c) in Basis::DipyLegacy.from_mrtrix(4, &c).into_iter().enumerate() {
            planes[i * n + voxel] = c as f32;
        }
    }
    let dipy = Volume::new(own.grid.clone(), own.frames, VolumeKind::Scalar, planes);
    image::save_volume(&here.join("dipy.nii.gz"), &dipy, "", &Control::new()).expect("saved");
    let messages =
        |done: &serde_json::Value| (done["warnings"].to_string(), done["notes"].to_string());
    let track = |file: &str, rest: &str| {
        let line = format!("track --fod {file} --seeds random:50{rest} --out lines.tck --force");
        messages(&run(&line, here))
    };
    let better = "--odf-basis descoteaux07-legacy --odf-frame world";
    let done = run("convert dipy.nii.gz dipy.mif", here);
    assert!(messages(&done).0.contains(better), "{done}");
    for file in ["dipy.nii.gz", "dipy.mif"] {
        let (warnings, _) = track(file, "");
        assert!(warnings.contains(better), "{file}: {warnings}");
        // An affine turns the coefficients, which only the right basis survives.
        let (warnings, _) = track(file, " --odf-affine matrix:0,-1,0,5,1,0,0,0,0,0,1,0");
        assert!(warnings.contains(better), "{file}: {warnings}");
        let (warnings, _) = track(file, &format!(" {better}"));
        assert!(!warnings.contains("basis"), "{file}: {warnings}");
    }
    let done = run("convert fod/wm_fod.nii.gz own.mif", here);
    for (warnings, notes) in [
        messages(&done),
        track("fod/wm_fod.nii.gz", ""),
        track("own.mif", ""),
    ] {
        assert!(
            !warnings.contains("basis") && !notes.contains("basis"),
            "{warnings} {notes}"
        );
    }
    // The command that compares bases does not ask for it.
    let compared = run("gradients distributions dipy.nii.gz", here);
    assert_eq!(compared["found"]["basis"], "descoteaux07-legacy");
    assert_eq!(compared["notes"], serde_json::json!([]));
    let described = run("info dipy.mif", here)["notes"].to_string();
    assert!(
        described.contains("arcuate gradients distributions") && !described.contains("View"),
        "{described}"
    );
}
