//! `arcuate uncertainty`: its files agree with its numbers, the same seed gives the same repetitions; refusals.

use super::{ENDS, SPACING};
use crate::cli::{arcuate, json, small_head, split_arguments};
use arcuate::compute::Control;
use arcuate::data::Mask;
use arcuate::data::statistics::wilson_interval;
use arcuate::io::{self, Opened};
use glam::{DVec3, Vec3, dvec3};
use std::path::Path;

fn line<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    [&["uncertainty", "head/dwi.nii.gz"][..], &ENDS, rest].concat()
}

fn opened(path: &Path) -> Opened {
    io::open(path, &Control::new()).unwrap()
}

pub fn repetitions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head(SPACING, 20, 2, here);
    let value = json(&line(&["--repetitions", "20", "--out", "noise"]), here);
    assert_eq!(value["repetitions"].as_u64(), Some(20));
    assert!(value["nearest_mm"].is_null());
    let least = value["least"].as_f64().unwrap();
    let near = value["paths_near"].as_u64().unwrap() as usize;
    assert_eq!(
        value["paths_near_interval"],
        serde_json::json!(wilson_interval(near, 20))
    );
    let [low, median, high] =
        ["low", "median", "high"].map(|part| value["least_repeated"][part].as_f64().unwrap());
    assert!(low <= median && median <= high);
    assert!((median / least - 1.0).abs() < 0.3, "{median} {least}");
    let [low, high] = [0, 1].map(|end| value["least_band"][end].as_f64().unwrap());
    assert!(
        low < least && least < high && high / low < 1.5,
        "{low} {high}"
    );
    let Opened::Volume(share, _) = opened(&here.join("noise/share.nii.gz")) else {
        panic!("an image")
    };
    assert!(share.values.iter().all(|s| (0.0..=1.0).contains(s)));
    let voxel_ml = share.grid.spacing().element_product() * 1e-3;
    for level in value["shares"].as_array().unwrap() {
        let least = level["share"].as_f64().unwrap() as f32 - 1e-6;
        let voxels = share.values.iter().filter(|s| **s >= least).count();
        let ml = voxels as f64 * voxel_ml;
        assert!(
            (level["volume_ml"].as_f64().unwrap() - ml).abs() < 1e-6,
            "{level}"
        );
    }
    let Opened::Tractogram(paths, ..) = opened(&here.join("noise/paths.tck")) else {
        panic!("streamlines")
    };
    let without = value["without_path"].as_u64().unwrap() as usize;
    assert_eq!(paths.len(), 20 - without);
    // The repetitions depend on the seed and not on the number of threads.
    let repeated = line(&[
        "--repetitions",
        "20",
        "--out",
        "noise",
        "--force",
        "--threads",
        "1",
    ]);
    assert_eq!(
        json(&repeated, here)["least_repeated"],
        value["least_repeated"]
    );
    let mask = ["--distance-to", "head/brain_mask.nii.gz"];
    let rest = [
        "--repetitions",
        "20",
        "--random-seed",
        "2",
        "--out",
        "other",
    ];
    let other = json(&line(&[&rest[..], &mask].concat()), here);
    assert_ne!(other["least_repeated"], value["least_repeated"]);
    // The pathway lies within the brain.
    assert_eq!(other["nearest_mm"].as_f64(), Some(0.0));
    let rest = ["--repetitions", "20", "--out", "mask"];
    let output = arcuate(&line(&[&rest[..], &mask].concat()), here);
    let table = std::fs::read_to_string(here.join("mask/distances.csv")).expect("written");
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
    assert_eq!(
        rows[0].join(","),
        "along_mm,x_mm,y_mm,z_mm,median_mm,p5_mm,p95_mm"
    );
    assert_eq!([rows[1][0], rows[1][4], rows[1][5], rows[1][6]], ["0"; 4]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let noise_only = "This covers measurement noise only, not errors of the model";
    assert!(
        text.contains(noise_only)
            && text.contains(" ml of it in the mask\n")
            && text.contains("The path enters the mask; median over the repetitions 0 mm (5 to 95 %: 0 mm to 0 mm)\n"),
        "{text}"
    );
    single_voxel(here);
    refused(here);
}

fn streamlines(path: &Path) -> Vec<Vec<DVec3>> {
    let Opened::Tractogram(paths, ..) = opened(path) else {
        panic!("streamlines")
    };
    let points = |i: usize| {
        paths
            .streamline(i)
            .iter()
            .map(|p| Vec3::from(*p).as_dvec3())
    };
    (0..paths.len()).map(|i| points(i).collect()).collect()
}

/// Points every few hundredths of a millimetre along a line.
fn dense(line: &[DVec3]) -> impl Iterator<Item = DVec3> {
    line.windows(2)
        .flat_map(|ends| (0..=100).map(|i| ends[0].lerp(ends[1], f64::from(i) / 100.0)))
}

/// A mask of one voxel beside the path, at a known distance: of the path, of the repetitions and along them.
fn single_voxel(here: &Path) {
    let rest = ["--null", "0", "--out", "shown"];
    json(
        &[&["pathway", "head/dwi.nii.gz"][..], &ENDS, &rest].concat(),
        here,
    );
    let shown = streamlines(&here.join("shown/path.tck")).remove(0);
    let middle = shown[shown.len() / 2];
    let Opened::Volume(mask, _) = opened(&here.join("head/brain_mask.nii.gz")) else {
        panic!("an image")
    };
    let grid = &mask.grid;
    let voxel = grid.nearest(middle + dvec3(-10.0, 0.0, 0.0));
    let voxel = voxel.expect("a voxel");
    let inside = (0..grid.voxel_count()).map(|v| u8::from(grid.voxel(v) == voxel));
    let one = Mask::new(grid.clone(), inside.collect::<Vec<u8>>());
    io::image::save_mask(&here.join("one.nii.gz"), &one, "", &Control::new()).expect("written");
    let centre = grid.world(DVec3::from_array(voxel.map(|c| c as f64)));
    // The axes of the grid are those of the world.
    let half = 0.5 * grid.spacing();
    let distance = |at: DVec3| ((at - centre).abs() - half).max(DVec3::ZERO).length();
    let nearest = |line: &[DVec3]| dense(line).map(distance).fold(f64::INFINITY, f64::min);
    let options = [
        "--repetitions",
        "20",
        "--distance-to",
        "one.nii.gz",
        "--out",
        "beside",
    ];
    let value = json(&line(&options), here);
    let stated = value["nearest_mm"].as_f64().unwrap();
    assert!((2.0..15.0).contains(&stated), "{stated}");
    assert!((stated - nearest(&shown)).abs() < 0.02, "{stated}");
    // The repetitions differ, and their range is that of their files.
    let paths = streamlines(&here.join("beside/paths.tck"));
    let mut own: Vec<f64> = paths.iter().map(|path| nearest(path)).collect();
    own.sort_by(f64::total_cmp);
    let range = &value["nearest_repeated_mm"];
    let [low, median, high] = ["low", "median", "high"].map(|part| range[part].as_f64().unwrap());
    assert!(low < median && median < high, "{range}");
    assert!(
        own[0] - 0.02 <= low && high <= own[own.len() - 1] + 0.02,
        "{range}, {own:?}"
    );
    assert!(own[own.len() / 2 - 1] - 0.02 <= median && median <= own[own.len() / 2] + 0.02);
    // Paths that stay near the shown one, apart from its ends.
    let in_end = |at: &DVec3| {
        at.distance(dvec3(-24.0, -18.0, 8.0)) <= 6.0
            || at.distance(dvec3(-30.0, -22.0, 58.0)) <= 10.0
    };
    let shown: Vec<DVec3> = dense(&shown).collect();
    let off = |at: DVec3| {
        let all = shown.iter().map(|p| p.distance_squared(at));
        all.fold(f64::INFINITY, f64::min).sqrt()
    };
    let farthest = paths.iter().map(|path| {
        let outside = path.iter().filter(|at| !in_end(at));
        outside.map(|at| off(*at)).fold(0.0, f64::max)
    });
    let near = farthest.filter(|mm| *mm <= 4.0).count() as u64;
    let stated = value["paths_near"].as_u64().unwrap();
    assert!(near.abs_diff(stated) <= 1, "{near} {stated}");
    // One row per millimetre, in the table as in the report.
    let along = |part: &str| -> Vec<f64> {
        let values = value["along_path"][part].as_array().unwrap();
        values.iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let [mm, low, median, high] = ["mm", "low", "median", "high"].map(along);
    assert!(mm.iter().enumerate().all(|(i, mm)| *mm == i as f64));
    let ordered = |i: usize| low[i] <= median[i] && median[i] <= high[i];
    assert!((0..mm.len()).all(ordered) && (0..mm.len()).any(|i| low[i] < high[i]));
    let smallest = median.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(smallest < 15.0 && median[0] > smallest + 5.0, "{median:?}");
    let table = std::fs::read_to_string(here.join("beside/distances.csv")).expect("written");
    let rows: Vec<Vec<f64>> = table
        .lines()
        .skip(1)
        .map(|row| row.split(',').map(|n| n.parse().unwrap()).collect())
        .collect();
    assert_eq!(rows.len(), mm.len());
    let down = |mm: f64| (mm * 1e3).floor() / 1e3;
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row[0], mm[i]);
        assert_eq!(row[4..], [median[i], low[i], high[i]].map(down));
    }
    // The points are those of the path, a millimetre apart.
    for pair in rows.windows(2) {
        let [a, b] = [0, 1].map(|i| dvec3(pair[i][1], pair[i][2], pair[i][3]));
        assert!(a.distance(b) <= 1.002, "{pair:?}");
    }
    // The command repeats it, and a costly region on the path makes all repetitions cost more.
    let repeated = split_arguments(value["repeat"].as_str().unwrap());
    let mut repeated: Vec<&str> = repeated[1..].iter().map(String::as_str).collect();
    repeated.push("--force");
    assert_eq!(
        json(&repeated, here)["least_repeated"],
        value["least_repeated"]
    );
    let at = format!("sphere:{:.1},{:.1},{:.1},9", middle.x, middle.y, middle.z);
    let costly = ["--repetitions", "20", "--costly", &at, "--out", "costly"];
    let costly = json(&line(&costly), here);
    let low = costly["least_repeated"]["low"].as_f64();
    assert!(low > value["least_repeated"]["high"].as_f64(), "{costly}");
    // A few repetitions are not a distribution.
    let few = arcuate(&line(&["--repetitions", "3", "--out", "three"]), here);
    let error = String::from_utf8_lossy(&few.stderr).into_owned();
    assert_eq!(few.status.code(), Some(0), "{error}");
    assert!(
        error.contains("Found 3 repetitions, expected at least 20"),
        "{error}"
    );
}

fn refused(here: &Path) {
    let output = arcuate(&line(&["--repetitions", "1", "--out", "few"]), here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("a whole number from 2"), "{error}");
    // Tensors have no residuals.
    let fit = [
        "fit",
        "head/dwi.nii.gz",
        "--maps",
        "tensor",
        "--out",
        "of_fit",
    ];
    json(&fit, here);
    let layout = ["--tensor-order", "mrtrix", "--tensor-frame", "world"];
    // Without these options neither: six volumes without gradients are no scan, whatever is said of them.
    for (layout, code) in [(&layout[..], 2), (&[], 1)] {
        let tensors = ["uncertainty", "of_fit/tensor.nii.gz", "--out", "no"];
        let output = arcuate(&[&tensors[..], layout, &ENDS].concat(), here);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{error}");
        for part in [
            "the residuals of a fit",
            "name the scan that the tensors were fitted to",
        ] {
            assert!(error.contains(part), "{error}");
        }
        assert!(!error.contains("--tensor-order"), "{error}");
        assert!(!here.join("no").exists());
    }
}
