//! Comparison with other programs: nibabel and trx-python read the files written here and write those read here, with
//! the same numbers. `.ci/run` installs them; elsewhere the test is reported as not run.

use super::formats::{grid, open, streamlines};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::tractogram::columns;
use arcuate::data::{AffineSource, Grid, Mask, Surface, Tractogram, Volume};
use arcuate::io::{self, Opened, nifti, streamlines, surface};
use libtest_mimic::{Failed, Trial};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

const MOVED_MM: f64 = 1e-3;

pub fn tests() -> Vec<Trial> {
    let images = "io::peers::nibabel_agrees_about_images";
    let streamlines = "io::peers::nibabel_and_trx_python_agree";
    vec![
        match imports("nibabel") {
            true => test(images, images_agree),
            false => not_run(images, "nibabel"),
        },
        match imports("nibabel, trx") {
            true => test(streamlines, agree),
            false => not_run(streamlines, "nibabel and trx-python"),
        },
    ]
}

/// Whether Python has these modules.
pub fn imports(modules: &str) -> bool {
    let script = format!("import {modules}");
    let ran = Command::new(python()).args(["-c", &script]).output();
    ran.is_ok_and(|p| p.status.success())
}

/// Replaces a test that needs packages which Python does not have; reported as ignored, with the reason.
pub fn not_run(name: &str, needs: &str) -> Trial {
    let reason = format!("{} has not all of {needs}", python());
    let name = format!("{name} (not run: {reason})");
    Trial::test(name, || Err(Failed::from(reason))).with_ignored_flag(true)
}

/// `$ARCUATE_PYTHON`, if the packages are in an environment of their own.
pub fn python() -> String {
    std::env::var("ARCUATE_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

fn agree() {
    let mut random = Random::fresh("agree");
    for order in [0, 13, 47, (random.bits() % 48) as usize] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        write_ours(folder.path(), order, &mut random);
        let script = crate::support::root().join("tests/peers/check.py");
        let ran = Command::new(python())
            .arg(script)
            .arg(folder.path())
            .output();
        let ran = ran.expect("python3 runs");
        let message = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{message}");
        read_theirs(folder.path());
    }
}

fn write_ours(folder: &Path, order: usize, random: &mut Random) {
    let grid = grid(order, true, random);
    // nibabel drops streamlines without points.
    let mut all = streamlines(30, &grid, random);
    let marks: Vec<bool> = all.streamlines().map(|s| !s.is_empty()).collect();
    all = all.filtered(&marks);
    let mut numbers = |n: usize| (0..n).map(|_| random.normal() as f32).collect::<Vec<f32>>();
    let (lines, points) = (all.len(), all.points.len());
    for name in ["fa", "rgb[0]", "rgb[1]", "rgb[2]"] {
        all = all.with_per_point(name, numbers(points));
    }
    for name in ["weight", "mean[0]", "mean[1]"] {
        all = all.with_per_streamline(name, numbers(lines));
    }
    let some: Vec<u32> = (0..lines as u32).step_by(3).collect();
    all =
        all.with_group("some", some.clone())
            .with_per_group("some", "colour", vec![0.25, 0.5, 1.0]);
    for ending in ["tck", "trk", "trx"] {
        let path = folder.join(format!("ours.{ending}"));
        streamlines::save(&path, &all, "", &Control::new()).expect("saved");
    }
    let rows = |values| -> serde_json::Map<String, Value> {
        let rows = |c: arcuate::data::tractogram::Columns| {
            let rows = c.columns[0].len();
            let all = (0..rows).flat_map(|i| c.columns.iter().map(move |v| f64::from(v[i])));
            (c.name.to_owned(), json!(all.collect::<Vec<f64>>()))
        };
        columns(values).into_iter().map(rows).collect()
    };
    let ours = json!({
        "points": all.points.as_flattened(), "offsets": &*all.offsets,
        "affine": affine(&grid), "shape": grid.shape,
        "order": grid.orientation(), "per_point": rows(&all.per_point),
        "per_streamline": rows(&all.per_streamline), "groups": {"some": some},
        "per_group": {"some": {"colour": [0.25, 0.5, 1.0]}},
    });
    std::fs::write(folder.join("ours.json"), ours.to_string()).expect("written");
}

/// Four rows.
fn affine(grid: &Grid) -> [[f64; 4]; 4] {
    let m = grid.world_from_voxel;
    let axes = m.matrix3;
    let row = |r: usize| {
        [
            axes.x_axis[r],
            axes.y_axis[r],
            axes.z_axis[r],
            m.translation[r],
        ]
    };
    [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]]
}

fn read_theirs(folder: &Path) {
    let text = std::fs::read_to_string(folder.join("theirs.json")).expect("theirs.json");
    let theirs: Value = serde_json::from_str(&text).expect("JSON");
    let theirs = theirs.as_array().expect("a list");
    assert_eq!(theirs.len(), 1 + 48 + 6);
    for file in theirs {
        let name = file["name"].as_str().expect("a name");
        let (found, _) = open(&folder.join(name));
        holds(&found, file, name);
    }
}

fn holds(found: &Tractogram, file: &Value, name: &str) {
    let numbers = |v: &Value| -> Vec<f64> {
        let list = v.as_array().expect("a list").iter();
        list.map(|n| n.as_f64().expect("a number")).collect()
    };
    let near = |found: &[f32], expected: &Value, off: f64| {
        let expected = numbers(expected);
        assert_eq!(found.len(), expected.len(), "{name}");
        let far = found
            .iter()
            .zip(&expected)
            .map(|(a, b)| (f64::from(*a) - b).abs());
        assert!(far.fold(0.0, f64::max) <= off, "{name}");
    };
    near(found.points.as_flattened(), &file["points"], MOVED_MM);
    let offsets: Vec<f64> = found.offsets.iter().map(|&o| o as f64).collect();
    assert_eq!(offsets, numbers(&file["offsets"]), "{name}");
    for (key, values) in [
        ("per_point", &found.per_point),
        ("per_streamline", &found.per_streamline),
    ] {
        for (value, expected) in file[key].as_object().into_iter().flatten() {
            near(&values[value], expected, 1e-6);
        }
    }
    if let Some(names) = file["columns"].as_array() {
        let found: Vec<&str> = found.per_point.keys().map(String::as_str).collect();
        assert_eq!(&json!(found), &json!(names), "{name}");
    }
    for (group, members) in file["groups"].as_object().into_iter().flatten() {
        let found: Vec<f64> = found.groups[group].iter().map(|&i| f64::from(i)).collect();
        assert_eq!(found, numbers(members), "{name}");
    }
}

/// nibabel reads masks, images and surfaces written by Arcuate; Arcuate reads FreeSurfer volumes and label maps written
/// by nibabel, in all 48 axis orders.
fn images_agree() {
    let mut random = Random::fresh("images_agree");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let control = Control::new();
    let mut ours = Vec::new();
    for order in 0..48 {
        let large = grid(order, order % 2 == 0, &mut random);
        let grid = Grid::new([4, 5, 6], large.world_from_voxel, AffineSource::Sform);
        let grid = Arc::new(grid.expect("regular"));
        let values: Vec<f32> = (0..120).map(|i| (i * 3) as f32).collect();
        let inside: Vec<u8> = (0..120).map(|i| u8::from(i % 4 == 1)).collect();
        let mask = Mask::new(grid.clone(), inside);
        let net = Surface::of_mask(&mask);
        let [image, mask_name, surface] = ["image", "mask", "net"].map(|n| format!("{n}{order}"));
        let at = |name: String| folder.path().join(name);
        let volume = Volume::scalar(grid.clone(), values);
        nifti::save_volume(&at(format!("{image}.nii.gz")), &volume, "", &control).expect("saved");
        nifti::save_mask(&at(format!("{mask_name}.nii")), &mask, "", &control).expect("saved");
        surface::save(&at(format!("{surface}.surf.gii")), &net, "a test", &control).expect("saved");
        ours.push(json!({
            "order": order, "orientation": grid.orientation(),
            "affine": affine(&grid),
            "points": net.points.as_flattened(), "triangles": net.triangles.as_flattened(),
        }));
    }
    let path = folder.path().join("ours.json");
    std::fs::write(path, json!(ours).to_string()).expect("written");
    let script = crate::support::root().join("tests/peers/images.py");
    let ran = Command::new(python())
        .arg(script)
        .arg(folder.path())
        .output();
    let ran = ran.expect("python3 runs");
    let message = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{message}");
    let text = std::fs::read_to_string(folder.path().join("theirs.json")).expect("theirs.json");
    let theirs: Value = serde_json::from_str(&text).expect("JSON");
    let theirs = theirs.as_array().expect("a list");
    assert_eq!(theirs.len(), 48 * 3);
    for file in theirs {
        let name = file["name"].as_str().expect("a name");
        let Ok(Opened::Volume(found, info)) = io::open(&folder.path().join(name), &control) else {
            panic!("{name}");
        };
        assert_eq!(info.warnings, Vec::<String>::new(), "{name}");
        assert_eq!(
            json!(found.grid.orientation()),
            file["orientation"],
            "{name}"
        );
        let m = found.grid.world_from_voxel;
        for (r, row) in file["affine"]
            .as_array()
            .expect("rows")
            .iter()
            .enumerate()
            .take(3)
        {
            let found = [
                m.matrix3.x_axis[r],
                m.matrix3.y_axis[r],
                m.matrix3.z_axis[r],
                m.translation[r],
            ];
            for (a, b) in found.iter().zip(row.as_array().expect("a row")) {
                assert!(
                    (a - b.as_f64().expect("a number")).abs() < MOVED_MM,
                    "{name}"
                );
            }
        }
        let values = file["values"].as_array().expect("values").iter();
        let values: Vec<f32> = values
            .map(|v| v.as_f64().expect("a number") as f32)
            .collect();
        assert_eq!(&*found.values, values, "{name}");
        let labelled = file["labels"].as_bool().expect("given");
        assert_eq!(found.labels.is_some(), labelled, "{name}");
    }
}
