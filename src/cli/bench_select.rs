//! `arcuate bench select`: speed of selecting among 100,000 streamlines by regions, with the boxes around pieces built
//! each time, and with those built before.
//!
//! The size is that at which MRtrix3's `tckedit` was timed (5.6 million points), with its regions: a sphere of 10 mm,
//! and a mask of 16³ voxels of 2 mm. Files in `ARCUATE_BENCH_FILES` are used instead.
//!
//! `colours`: the values and the automatic range for the colours of 1,000,000 streamlines (56 million points) by images
//! with voxels of 2 mm and of 1 mm, at each point, and as means over the streamlines.

use super::bench::Choice;
use super::bench_io::{arcs, files, streamlines};
use super::runner::Failure;
use crate::compute::{Backend, Control};
use crate::data::region::RegionId;
use crate::data::text::file_name;
use crate::data::{Grid, Mask, Region, Role, Shape, Tractogram, Volume};
use crate::solvers::tractogram::line_values::{LineStatistic, of_image, ranges};
use crate::solvers::tractogram::selection::{SelectionRules, select};
use glam::DVec3;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let (count, repeats) = if choice.quick {
        (10_000, 5)
    } else {
        (100_000, 9)
    };
    let mut results = colours(choice, backend);
    let subjects: Result<Vec<(String, Tractogram)>, Failure> = match files() {
        None => Ok(vec![(String::new(), arcs(count, 21))]),
        Some(paths) => paths.map_err(Failure::from).and_then(|paths| {
            let named = |path: &PathBuf| {
                let name = file_name(path);
                Ok((format!(" in {name}"), streamlines(path)?))
            };
            paths.iter().map(named).collect()
        }),
    };
    match subjects {
        Ok(subjects) => results.extend(
            subjects
                .iter()
                .flat_map(|(suffix, subject)| cases(suffix, subject, repeats, choice, backend)),
        ),
        Err(failure) => results.push(json!({"workload": "select", "error": failure.sentence})),
    }
    results
}

/// Time until the values for colours are known, with their range.
fn colours(choice: Choice, backend: &Backend) -> Vec<Value> {
    let cases = [
        ("colours, 2 mm", 2, LineStatistic::EachPoint),
        ("colours, 1 mm", 1, LineStatistic::EachPoint),
        ("colours, mean, 2 mm", 2, LineStatistic::Mean),
    ];
    let mut cases = cases.into_iter().filter(|c| choice.takes(c.0)).peekable();
    if cases.peek().is_none() {
        return Vec::new();
    }
    let (count, repeats) = if choice.quick {
        (100_000, 3)
    } else {
        (1_000_000, 5)
    };
    let tractogram = arcs(count, 21);
    let measure = |(name, mm, statistic): (&str, usize, LineStatistic)| {
        let Some(image) = waves(mm) else {
            return json!({"workload": "select", "error": "no image"});
        };
        let mut seconds = Vec::new();
        for _ in 0..repeats {
            let started = Instant::now();
            let control = Control::new();
            let values = of_image(&tractogram, (&image, 0), statistic, backend, &control);
            match values.map(|values| ranges(values.values(), backend)) {
                Ok(Some(_)) => seconds.push(started.elapsed().as_secs_f64()),
                Ok(None) => return json!({"workload": "select", "error": "no values"}),
                Err(e) => return json!({"workload": "select", "error": e.to_string()}),
            }
        }
        seconds.sort_by(f64::total_cmp);
        let median = seconds[seconds.len() / 2];
        json!({
            "workload": "select", "case": name, "streamlines": count,
            "points": tractogram.points.len(), "wall_s": median, "fastest_s": seconds[0],
            "rate": count as f64 / median.max(1e-9), "unit": "streamlines_per_s",
            "backend": "cpu", "threads": backend.threads(),
        })
    };
    cases.map(measure).collect()
}

/// A smooth image of 128 mm along each axis, with voxels of this size.
fn waves(mm: usize) -> Option<Volume> {
    let grid = Grid::axis_aligned([128 / mm; 3], DVec3::splat(mm as f64), DVec3::ZERO)?;
    let value = |i: usize| {
        let [x, y, z] = grid.voxel(i).map(|v| (v * mm) as f32 * 0.1);
        0.5 + 0.2 * (x.sin() + y.cos() * z.sin())
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    Some(Volume::scalar(Arc::new(grid), values))
}

fn cases(
    suffix: &str,
    tractogram: &Tractogram,
    repeats: usize,
    choice: Choice,
    backend: &Backend,
) -> Vec<Value> {
    let sphere = Shape::Sphere {
        centre: DVec3::new(64.0, 64.0, 64.0),
        radius_mm: 10.0,
    };
    let mut results = Vec::new();
    let grid = Grid::axis_aligned([64; 3], DVec3::splat(2.0), DVec3::ZERO);
    let mask = grid.map(|grid| {
        let middle = |i: usize| grid.voxel(i).iter().all(|v| (24..40).contains(v));
        let inside = (0..grid.voxel_count()).map(|i| u8::from(middle(i)));
        let inside: Vec<u8> = inside.collect();
        Mask::new(Arc::new(grid), inside)
    });
    let shapes = [("sphere", Some(sphere)), ("mask", mask.map(Shape::Mask))];
    for (name, shape) in shapes {
        let name = format!("{name}{suffix}");
        let Some(shape) = shape.filter(|_| choice.takes(&name)) else {
            continue;
        };
        let rules = SelectionRules {
            regions: vec![Region {
                id: RegionId(0),
                name: name.clone(),
                role: Role::Include,
                shape: Arc::new(shape),
                colour: None,
                visible: true,
                label_number: None,
            }],
            ..SelectionRules::default()
        };
        for is_repeat in [false, true] {
            results.push(case(&name, is_repeat, tractogram, &rules, repeats, backend));
        }
    }
    results
}

fn case(
    name: &str,
    is_repeat: bool,
    tractogram: &Tractogram,
    rules: &SelectionRules,
    repeats: usize,
    backend: &Backend,
) -> Value {
    let (mut seconds, mut kept) = (Vec::new(), 0);
    for _ in 0..repeats {
        // A new tractogram has no boxes yet.
        let fresh = Tractogram::new(tractogram.points.clone(), tractogram.offsets.clone());
        let subject = if is_repeat { tractogram } else { &fresh };
        let started = Instant::now();
        match select(subject, rules, backend, &Control::new()) {
            Ok(selection) => kept = selection.kept_count(),
            Err(e) => return json!({"workload": "select", "error": e.to_string()}),
        }
        seconds.push(started.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    let count = tractogram.len();
    let suffix = if is_repeat { ", again" } else { "" };
    json!({
        "workload": "select", "case": format!("{name}{suffix}"), "streamlines": count,
        "points": tractogram.points.len(), "kept": kept, "wall_s": median,
        "fastest_s": seconds[0], "rate": count as f64 / median.max(1e-9),
        "unit": "streamlines_per_s", "backend": "cpu", "threads": backend.threads(),
    })
}
