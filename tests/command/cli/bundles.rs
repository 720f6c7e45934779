//! `arcuate table`, `profile` and `connectome`.

use super::{json, refuses};
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram, Volume};
use arcuate::io::{nifti, streamlines};
use glam::DVec3;
use std::path::Path;
use std::sync::Arc;

/// Lines along x from x = 2 to 12, 22, 32, 42 mm at y = 5 mm, every second one reversed; weights 0 to 3.
fn write(path: &Path) {
    let (mut points, mut offsets) = (Vec::new(), vec![0]);
    for i in 0..4 {
        let mut line: Vec<[f32; 3]> = (0..=10 * (i + 1))
            .map(|x| [x as f32 + 2.0, 5.0, 5.0])
            .collect();
        if i % 2 == 1 {
            line.reverse();
        }
        points.extend(line);
        offsets.push(points.len() as u64);
    }
    let lines = Tractogram::new(points, offsets)
        .with_per_streamline("weight", vec![0.0, 1.0, 2.0, 3.0])
        .with_per_streamline("stop_end", vec![4.0, 3.0, 4.0, 3.0]);
    streamlines::save(path, &lines, "test", &Control::new()).expect("written");
}

/// An image of `of(x)`, with voxels of 1 mm.
fn image(path: &Path, value_at: impl Fn(f32) -> f32) {
    let grid = Grid::axis_aligned([60, 12, 12], DVec3::ONE, DVec3::ZERO).expect("a grid");
    let value = |i: usize| value_at(grid.voxel(i)[0] as f32);
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    let volume = Volume::scalar(Arc::new(grid), values);
    nifti::save_volume(path, &volume, "test", &Control::new()).expect("written");
}

/// The cells of a table.
fn cells(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).expect("a table");
    let row = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().map(row).collect()
}

pub(super) fn tables() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    write(&here.join("in.trx"));
    image(&here.join("fa.nii.gz"), |x| x * 0.01);
    // 5 up to x = 4, 9 from 20 to 24, 11 from 39 on.
    image(&here.join("labels.nii.gz"), |x| match x {
        0.0..=4.0 => 5.0,
        20.0..=24.0 => 9.0,
        39.0.. => 11.0,
        _ => 0.0,
    });
    std::fs::write(
        here.join("labels.txt"),
        "0 0 0 0 0 0 0 \"Clear\"\n5 255 0 0 1 1 1 \"Left, front\"\n9 0 255 0 1 1 1 \"Middle\"\n",
    )
    .expect("written");

    let table = [
        "table",
        "in.trx",
        "t.csv",
        "--image",
        "fa.nii.gz",
        "--sort",
        "length",
    ];
    let done = json(&[&table[..], &["--descending"]].concat(), here);
    assert_eq!(done["streamlines"], 4);
    let rows = cells(&here.join("t.csv"));
    assert_eq!(
        rows[0],
        ["streamline", "length", "stop_end", "weight", "fa"]
    );
    let first: Vec<&str> = rows[1..].iter().map(|r| r[0].as_str()).collect();
    assert_eq!(first, ["3", "2", "1", "0"]);
    assert_eq!(rows[1][1..4], ["40", "left-mask", "3"]);
    let fa: f32 = rows[1][4].parse().expect("a number");
    assert!((fa - 0.22).abs() < 1e-5, "the mean of x = 2 to 42 is 22");
    refuses(&table, &["file exists", "--force"], here);
    let unknown = ["table", "in.trx", "u.csv", "--sort", "md"];
    let output = super::arcuate(&unknown, here);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let named = message.contains("no column “md”") && message.contains("length, stop_end, weight");
    assert!(output.status.code() == Some(2) && named, "{message}");

    let profile = [
        "profile",
        "in.trx",
        "p.csv",
        "--image",
        "fa.nii.gz",
        "--nodes",
        "5",
    ];
    let done = json(&profile, here);
    assert_eq!(done["streamlines"], 4);
    let rows = cells(&here.join("p.csv"));
    let heads = [
        "node", "share", "x_mm", "y_mm", "z_mm", "fa mean", "fa sd", "fa count",
    ];
    assert_eq!(rows[0], heads);
    for (i, row) in rows[1..].iter().enumerate() {
        let number = |column: usize| row[column].parse::<f32>().expect("a number");
        // At a fraction s they are at 2 + 10 s, 2 + 20 s, …: the mean at 2 + 25 s, the spread 12.91 s.
        let s = i as f32 / 4.0;
        assert!((number(1) - s).abs() < 1e-6);
        assert!((number(2) - (2.0 + 25.0 * s)).abs() < 1e-4);
        assert!((number(5) - 0.01 * (2.0 + 25.0 * s)).abs() < 1e-5);
        assert!((number(6) - 0.129_099_44 * s).abs() < 1e-5);
        assert_eq!(row[7], "4");
    }
    json(&[&profile[..], &["--reverse", "--force"]].concat(), here);
    let rows = cells(&here.join("p.csv"));
    assert_eq!(rows[5][2], "2");

    let connect = [
        "connectome",
        "in.trx",
        "labels.nii.gz",
        "c.csv",
        "--pairs",
        "pairs.csv",
    ];
    let done = json(&[&connect[..], &["--value", "weight"]].concat(), here);
    // Their far ends lie at x = 12 (nothing), 22 (9), 32 (nothing), 42 (11).
    assert_eq!(done["connecting"], 2);
    assert_eq!(done["one_end"], 2);
    let text = std::fs::read_to_string(here.join("c.csv")).expect("a matrix");
    assert_eq!(
        text,
        "label,\"Left, front\",Middle,11\n\"Left, front\",0,1,1\nMiddle,1,0,0\n11,1,0,0\n"
    );
    let text = std::fs::read_to_string(here.join("pairs.csv")).expect("pairs");
    assert_eq!(
        text,
        "number_a,name_a,number_b,name_b,count,length_mm,value\n5,\"Left, front\",9,Middle,1,20,1\n\
         5,\"Left, front\",11,11,1,40,3\n"
    );
    let more = ["--radius", "8", "--matrix", "length", "--force"];
    let done = json(&[&connect[..], &more].concat(), here);
    // 12 is 8 mm from the labels on both sides: the first in the file; 32 is 7 mm from x = 39.
    assert_eq!(done["connecting"], 4);
    // A streamline that ends where it begins is on the diagonal.
    let text = std::fs::read_to_string(here.join("pairs.csv")).expect("pairs");
    assert_eq!(
        text,
        "number_a,name_a,number_b,name_b,count,length_mm\n5,\"Left, front\",5,\"Left, front\",1,10\n\
         5,\"Left, front\",9,Middle,1,20\n5,\"Left, front\",11,11,2,35\n"
    );
    let no_value = [
        "connectome",
        "in.trx",
        "labels.nii.gz",
        "n.csv",
        "--matrix",
        "value",
    ];
    let output = super::arcuate(&no_value, here);
    assert_eq!(output.status.code(), Some(2));
    let output = super::arcuate(&["table", "in.trx", "t.txt"], here);
    assert_eq!(output.status.code(), Some(2));
    refuses(
        &["connectome", "in.trx", "fa.nii.gz", "n.csv"],
        &["whole numbers"],
        here,
    );
    // An affine moves the streamlines, not the images with them: 5 mm along x, where FA rises by 0.01 per mm.
    let by = ["--affine", "matrix:1,0,0,5,0,1,0,0,0,0,1,0", "--force"];
    let fa_of_last = |line: &[&str]| -> f32 {
        json(line, here);
        let rows = cells(&here.join(line[2]));
        rows[rows.len() - 1][5 - usize::from(line[0] == "table")]
            .parse()
            .expect("a number")
    };
    for line in [&table[..], &profile[..]] {
        let still = fa_of_last(&[line, &["--force"]].concat());
        let moved = fa_of_last(&[line, &by].concat());
        assert!(
            (moved - still - 0.05).abs() < 1e-5,
            "{line:?}: {still} {moved}"
        );
    }
    // Their near ends, at x = 2, then lie at x = 7, which has no label.
    let done = json(&[&connect[..], &by].concat(), here);
    assert_eq!(done["connecting"], 0, "{done}");
}
