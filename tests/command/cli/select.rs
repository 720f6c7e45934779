//! `arcuate select`.

use super::{arcuate, json, refuses};
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram, Volume};
use arcuate::io::{Opened, nifti, open, streamlines};
use glam::DVec3;
use std::path::Path;
use std::sync::Arc;

/// Lines along x of 10, 20, … 100 mm at y = 0, 1, … 9 mm, with FA and weights.
fn write(path: &Path) {
    let (mut points, mut offsets) = (Vec::new(), vec![0]);
    for i in 0..10 {
        points.extend((0..=10 * (i + 1)).map(|x| [x as f32, i as f32, 0.0]));
        offsets.push(points.len() as u64);
    }
    let fa: Vec<f32> = points.iter().map(|p| 0.05 * p[1]).collect();
    let lines = Tractogram::new(points, offsets)
        .with_per_point("fa", fa)
        .with_per_streamline("weight", (0..10).map(|i| i as f32).collect::<Vec<_>>());
    streamlines::save(path, &lines, "test", &Control::new()).expect("written");
}

/// An image whose values are x.
fn ramp(path: &Path) {
    let grid = Grid::axis_aligned([101, 10, 3], DVec3::ONE, DVec3::new(0.0, 0.0, -1.0));
    let grid = Arc::new(grid.expect("a grid"));
    let values = (0..grid.voxel_count()).map(|i| grid.voxel(i)[0] as f32);
    let volume = Volume::scalar(grid.clone(), values.collect::<Vec<_>>());
    nifti::save_volume(path, &volume, "test", &Control::new()).expect("written");
}

/// The y of each streamline.
fn rows(path: &Path) -> Vec<f32> {
    let Ok(Opened::Tractogram(lines, _)) = open(path, &Control::new()) else {
        panic!("no streamlines: {}", path.display());
    };
    lines.streamlines().map(|l| l[0][1]).collect()
}

pub(super) fn selects() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    write(&here.join("in.trx"));
    let select = |rest: &[&str]| {
        let done = json(
            &[&["select", "in.trx", "out.trx", "--force"], rest].concat(),
            here,
        );
        let rows = rows(&here.join("out.trx"));
        assert_eq!(done["kept"], rows.len(), "{done}");
        rows
    };
    // Segments of a millimetre cross a ball of 0.1 mm between two points.
    assert_eq!(select(&["--include", "sphere:45.5,6,0,0.1"]), [6.0]);
    assert_eq!(
        select(&[
            "--include",
            "box:95,5,0,1,9,1",
            "--exclude",
            "sphere:0,9,0,0.5"
        ]),
        [] as [f32; 0]
    );
    let two = [
        "--target",
        "sphere:5,2,0,0.2",
        "--target",
        "sphere:5,4,0,0.2",
    ];
    assert_eq!(select(&two), [2.0, 4.0]);
    assert_eq!(
        select(&["--within", "box:0,0,0,45,99,1"]),
        [0.0, 1.0, 2.0, 3.0]
    );
    assert_eq!(select(&["--target", "box:30,5,0,0.5,9,1", "--ends"]), [2.0]);
    assert_eq!(select(&["--length", "35..60"]), [3.0, 4.0, 5.0]);
    assert_eq!(select(&["--length", "..20"]), [0.0, 1.0]);
    let both = ["--value", "fa=0.2..", "--value", "weight=..6"];
    assert_eq!(select(&both), [4.0, 5.0, 6.0]);
    assert_eq!(select(&["--length", "35..60", "--invert"]).len(), 7);
    let three = ["--number", "3", "--random-seed", "5"];
    assert_eq!(select(&three), select(&three));
    assert_eq!(select(&three).len(), 3);
    // Along an image of x: means of 5, 10, … 50.
    ramp(&here.join("x.nii.gz"));
    assert_eq!(select(&["--image", "x.nii.gz:20..31"]), [3.0, 4.0, 5.0]);
    assert_eq!(
        select(&["--image", "x.nii.gz:60..65:any"]),
        [5.0, 6.0, 7.0, 8.0, 9.0]
    );
    assert_eq!(select(&["--image", "x.nii.gz:..30:all"]), [0.0, 1.0, 2.0]);
    // The values are kept: next to a TCK as files of their own.
    let done = json(&["select", "in.trx", "out.tck", "--length", "95.."], here);
    let files = done["files"].as_array().expect("files");
    assert_eq!(files.len(), 3, "{done}");
    let message = String::from_utf8(
        arcuate(
            &[
                "select",
                "in.trx",
                "o.trx",
                "--include",
                "sphere:45.5,6,0,0.1",
            ],
            here,
        )
        .stdout,
    )
    .expect("text");
    assert!(message.contains("1 of 10 streamlines kept"), "{message}");
    assert!(message.contains("9 miss an include region"), "{message}");
    refuses(
        &["select", "in.trx", "out.trx", "--number", "1"],
        &["file exists", "--force"],
        here,
    );
    refuses(
        &["select", "in.trx", "new.trx", "--value", "md=0..1"],
        &["no value “md”", "length, fa, weight"],
        here,
    );
    let usage = |rest: &[&str], text: &str| {
        let output = arcuate(&[&["select", "in.trx", "new.trx"], rest].concat(), here);
        assert_eq!(output.status.code(), Some(2), "{rest:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(text), "{error}");
    };
    usage(
        &[],
        "add a region, --group, --length, --value, --image, --stop or --number",
    );
    usage(
        &["--length", "9..2"],
        "the lower limit 9 is above the higher one 2",
    );
    usage(&["--length", ".."], "expected LOW..HIGH");
    usage(&["--value", "fa"], "expected NAME=LOW..HIGH");
    usage(&["--image", "fa.nii.gz"], "expected FILE:LOW..HIGH");
    usage(
        &["--image", "fa.nii.gz:9..2:any"],
        "the lower limit 9 is above the higher one 2",
    );
    refuses(
        &["select", "in.trx", "new.trx", "--image", "gone.nii.gz:0.."],
        &["gone.nii.gz"],
        here,
    );
    assert!(!here.join("new.trx").exists());
}
