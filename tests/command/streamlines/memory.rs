//! Streamline files larger than the memory that the program may take.

use crate::cli::refuses;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram, Volume};
use arcuate::io::{nifti, streamlines};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

/// Six million points, 72 MB.
const STREAMLINES: usize = 100_000;
const POINTS: usize = 60;
/// Memory that the program may take, GB.
const LIMIT_GB: &str = "0.066";
const LIMIT_KIB: u64 = 66_000_000 / 1024;

pub fn tests() -> Vec<Trial> {
    vec![test(
        "streamlines::files larger than the memory",
        beyond_memory,
    )]
}

/// Lines along x, y or z through a cube of 60 mm.
fn write(folder: &Path) {
    let mut points = Vec::with_capacity(STREAMLINES * POINTS);
    for i in 0..STREAMLINES {
        let (a, b) = ((i % 601) as f32 * 0.1, (i / 601 % 601) as f32 * 0.2);
        points.extend((0..POINTS).map(|k| match i % 3 {
            0 => [k as f32, a, b],
            1 => [a, k as f32, b],
            _ => [a, b, k as f32],
        }));
    }
    let offsets: Vec<u64> = (0..=STREAMLINES).map(|i| (i * POINTS) as u64).collect();
    let grid = Grid::axis_aligned([31; 3], DVec3::splat(2.0), DVec3::ZERO).unwrap();
    let lines = Tractogram::new(points, offsets).with_grid(grid.clone());
    for name in ["in.tck", "in.trk", "in.trx"] {
        streamlines::save(&folder.join(name), &lines, "x", &Control::new()).unwrap();
    }
    let edge = |c: usize| !(4..27).contains(&c);
    let label = |i: usize| {
        let [x, y, z] = grid.voxel(i);
        let corner = (x / 8 + 4 * (y / 8) + 16 * (z / 8) + 1) as f32;
        if edge(x) || edge(y) || edge(z) {
            corner
        } else {
            0.0
        }
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(label).collect();
    let labels = Volume::scalar(Arc::new(grid), values);
    nifti::save_volume(&folder.join("labels.nii"), &labels, "x", &Control::new()).unwrap();
}

/// Runs a command in the limit, if one is given, and returns the largest size that was observed, KiB.
fn run(command: &str, limit: Option<&str>, folder: &Path) -> u64 {
    let mut child = crate::program();
    child.args(command.split(' ')).arg("--force");
    child.args(limit.iter().flat_map(|gb| ["--memory", *gb]));
    let child = child.current_dir(folder).stdout(Stdio::null());
    let mut child = child.stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut largest = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = peak.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        largest = largest.max(kib.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command}: {error}");
    largest
}

fn beyond_memory() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here);
    for input in ["in.tck", "in.trk", "in.trx"] {
        let convert = if input == "in.tck" { "o.trx" } else { "o.tck" };
        let commands = [
            (format!("info {input}"), None),
            (
                format!("select {input} o.trx --include sphere:30,30,30,8"),
                Some("o.trx"),
            ),
            (
                format!("select {input} o.trx --exclude sphere:30,30,30,2"),
                Some("o.trx"),
            ),
            (
                format!("select {input} o.trx --number 75000"),
                Some("o.trx"),
            ),
            (
                format!("density {input} --template labels.nii --measure length --out o.nii"),
                Some("o.nii"),
            ),
            (
                format!("connectome {input} labels.nii o.csv --pairs p.csv"),
                Some("o.csv"),
            ),
            (format!("table {input} o.csv"), Some("o.csv")),
            (format!("convert {input} {convert}"), Some(convert)),
        ];
        for (command, output) in commands {
            let bytes = [None, Some(LIMIT_GB)].map(|limit| {
                let largest = run(&command, limit, here);
                if limit.is_some() && cfg!(target_os = "linux") {
                    assert!(
                        largest < LIMIT_KIB,
                        "{command}: {largest} KiB, limit {LIMIT_KIB} KiB"
                    );
                }
                output.map(|file| std::fs::read(here.join(file)).unwrap())
            });
            if output != Some("o.tck") {
                assert!(
                    bytes[0] == bytes[1],
                    "{command}: the limit changes the file"
                );
            }
        }
    }
    // These have the streamlines in memory.
    let whole = [
        "profile",
        "in.trk",
        "o.csv",
        "--image",
        "labels.nii",
        "--force",
    ];
    let limited = [&whole[..], &["--memory", LIMIT_GB]].concat();
    refuses(&limited, &["of memory", "the limit for the program"], here);
    let vtk = ["convert", "in.trx", "o.vtk", "--memory", LIMIT_GB];
    refuses(&vtk, &["of memory", "end its name in .trx"], here);
}
