//! Speed of reading and writing streamline files: 100,000 streamlines of 40 to 110 points, 1 mm apart.
//!
//! `ARCUATE_BENCH_FILES` names a folder whose files are used instead of our own, so that another program can be timed
//! on the same ones (as tests/peers/speed.py does).

use super::bench::Choice;
use super::runner::Failure;
use crate::compute::{Backend, Control};
use crate::data::text::file_name;
use crate::data::{Grid, Tractogram};
use crate::io::atomic::Scratch;
use crate::io::{self, Content, Format, Opened, forget_peak, open, resident_bytes, streamlines};
use glam::DVec3;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

const FILES_VARIABLE: &str = "ARCUATE_BENCH_FILES";

pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let (count, repeats) = if choice.quick {
        (10_000, 3)
    } else {
        (100_000, 5)
    };
    let outcome = backend.install(|| match files() {
        Some(paths) => {
            let mut paths = paths?;
            paths.retain(|p| choice.takes(&p.to_string_lossy()));
            let lines = paths.iter().map(|path| read(path, repeats, backend));
            lines.collect()
        }
        None => own(count, choice, repeats, backend),
    });
    outcome.unwrap_or_else(|failure: Failure| {
        vec![json!({"workload": "io", "error": failure.sentence})]
    })
}

/// The streamline files of the folder that the variable names; `None` if it is not set.
pub fn files() -> Option<Result<Vec<PathBuf>, io::Error>> {
    let folder = std::env::var_os(FILES_VARIABLE)?;
    let paths = io::names_in(Path::new(&folder));
    let holds = |p: &PathBuf| Format::named(p).is_some_and(|f| f.content() == Content::Streamlines);
    Some(paths.map(|paths| paths.into_iter().filter(holds).collect()))
}

fn own(
    count: usize,
    choice: Choice,
    repeats: usize,
    backend: &Backend,
) -> Result<Vec<Value>, Failure> {
    let scratch = Scratch::new()?;
    let tractogram = arcs(count, 40);
    let mut results = Vec::new();
    for format in Format::of_saved_streamlines() {
        let ending = format.extensions()[0];
        if !choice.takes(ending) {
            continue;
        }
        let path = scratch.path().join(format!("t.{ending}"));
        let mut seconds = Vec::new();
        for _ in 0..repeats.min(3) {
            let started = Instant::now();
            streamlines::save(&path, &tractogram, "arcuate bench io", &Control::new())?;
            seconds.push(started.elapsed().as_secs_f64());
        }
        results.push(line(&path, "write", &tractogram, &mut seconds, backend));
        results.push(read(&path, repeats, backend)?);
    }
    Ok(results)
}

/// The contents of a file.
pub fn streamlines(path: &Path) -> Result<Tractogram, Failure> {
    match open(path, &Control::new())? {
        Opened::Tractogram(tractogram, _) => Ok(tractogram),
        Opened::Volume(..) => Err(Failure::new(format!("no streamlines: {}", path.display()))),
    }
}

/// Timed until every coordinate has been added up; reported with the time that the sum alone takes once everything is
/// in memory, and with the memory held afterwards and at the peak, beyond that of the points.
fn read(path: &Path, repeats: usize, backend: &Backend) -> Result<Value, Failure> {
    let (mut seconds, mut sums) = (Vec::new(), Vec::new());
    let (mut latest, mut sum) = (Tractogram::empty(), 0.0);
    let mut memory = None;
    for _ in 0..repeats {
        drop(std::mem::replace(&mut latest, Tractogram::empty()));
        forget_peak();
        let before = resident_bytes();
        let started = Instant::now();
        let tractogram = streamlines(path)?;
        sum = streamlines::total(&tractogram);
        seconds.push(started.elapsed().as_secs_f64());
        memory = before.zip(resident_bytes());
        latest = tractogram;
        // Bytes already in memory: a lower bound of the time.
        let started = Instant::now();
        sum = sum.max(streamlines::total(&latest));
        sums.push(started.elapsed().as_secs_f64());
    }
    let mut value = line(path, "read", &latest, &mut seconds, backend);
    value["sum"] = json!(sum);
    sums.sort_by(f64::total_cmp);
    let points = (latest.points.len() * size_of::<[f32; 3]>()) as f64;
    let median = sums[sums.len() / 2].max(1e-9);
    value["sum_alone_s"] = json!(median);
    value["sum_alone_gb_per_s"] = json!(points / median / 1e9);
    if let Some(((before, _), (used, peak))) = memory {
        let times = |bytes: u64| json!(bytes.saturating_sub(before) as f64 / points.max(1.0));
        value["held_over_points"] = times(used);
        value["peak_over_points"] = times(peak);
    }
    Ok(value)
}

fn line(
    path: &Path,
    what: &str,
    tractogram: &Tractogram,
    seconds: &mut [f64],
    backend: &Backend,
) -> Value {
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    let name = file_name(path);
    let bytes = crate::io::length_of(path).unwrap_or(0);
    json!({
        "workload": "io", "case": format!("{what} {name}"), "streamlines": tractogram.len(),
        "points": tractogram.points.len(), "bytes": bytes, "wall_s": median,
        "fastest_s": seconds[0], "rate": tractogram.len() as f64 / median.max(1e-9),
        "unit": "streamlines_per_s", "gb_per_s": bytes as f64 / median.max(1e-9) / 1e9,
        "backend": "cpu", "threads": backend.threads(),
    })
}

/// Arcs through a ball, with many curvatures, in a grid of 64³ voxels of 2 mm: each has this many points or up to 70
/// more.
pub fn arcs(count: usize, points_at_least: usize) -> Tractogram {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let (mut points, mut offsets) = (Vec::new(), vec![0]);
    for i in 0..count {
        let z = 1.0 - 2.0 * (i as f64 + 0.5) / count as f64;
        let (sin, cos) = (golden * i as f64).sin_cos();
        let flat = (1.0 - z * z).sqrt();
        let along = DVec3::new(cos * flat, sin * flat, z);
        let across = along.any_orthonormal_vector();
        let curvature = 0.002 + 0.028 * (i as f64 * 0.618_034).fract();
        let centre = DVec3::splat(63.0) + across * 40.0 * (i as f64 * 0.414_214).fract();
        let length = points_at_least + i % 71;
        for k in 0..length {
            let s = k as f64 - length as f64 / 2.0;
            let (sin, cos) = (curvature * s).sin_cos();
            let point = centre + (along * sin + across * (1.0 - cos)) / curvature;
            points.push(point.as_vec3().to_array());
        }
        offsets.push(points.len() as u64);
    }
    let grid = Grid::axis_aligned([64; 3], DVec3::splat(2.0), DVec3::ZERO);
    let tractogram = Tractogram::new(points, offsets);
    match grid {
        Some(grid) => tractogram.with_grid(grid),
        None => tractogram,
    }
}
