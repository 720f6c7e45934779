//! `arcuate bench select`: how fast regions choose among 100,000 streamlines, with all boxes around
//! pieces made anew, and with those of the time before.

use super::bench::Choice;
use super::bench_io::arcs;
use crate::compute::{Backend, Control};
use crate::data::region::RegionId;
use crate::data::{Grid, Mask, Region, Role, Shape, Tractogram};
use crate::solvers::tracking::selection::{Rules, select};
use glam::DVec3;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let (count, repeats) = if choice.quick {
        (10_000, 5)
    } else {
        (100_000, 9)
    };
    let tractogram = arcs(count);
    let sphere = Shape::Sphere {
        centre: DVec3::new(64.0, 64.0, 64.0),
        radius_mm: 10.0,
    };
    let mut results = Vec::new();
    let grid = Grid::axis_aligned([64; 3], DVec3::splat(2.0), DVec3::ZERO);
    let mask: Option<Mask> = grid.map(|grid| sphere.mask_on(&Arc::new(grid)));
    let shapes = [("sphere", Some(sphere)), ("mask", mask.map(Shape::Mask))];
    for (name, shape) in shapes {
        let Some(shape) = shape.filter(|_| choice.takes(name)) else {
            continue;
        };
        let rules = Rules {
            regions: vec![Region {
                id: RegionId(0),
                name: name.to_owned(),
                role: Role::Include,
                shape: Arc::new(shape),
                colour: None,
                visible: true,
            }],
            ..Rules::default()
        };
        for again in [false, true] {
            results.push(case(name, again, &tractogram, &rules, repeats, backend));
        }
    }
    results
}

fn case(
    name: &str,
    again: bool,
    tractogram: &Tractogram,
    rules: &Rules,
    repeats: usize,
    backend: &Backend,
) -> Value {
    let (mut seconds, mut kept) = (Vec::new(), 0);
    for _ in 0..repeats {
        // A tractogram of its own has no boxes yet.
        let fresh = Tractogram::new(tractogram.points.clone(), tractogram.offsets.clone());
        let subject = if again { tractogram } else { &fresh };
        let started = Instant::now();
        match select(subject, rules, backend, &Control::new()) {
            Ok(selection) => kept = selection.kept(),
            Err(e) => return json!({"workload": "select", "error": e.to_string()}),
        }
        seconds.push(started.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    let count = tractogram.len();
    let suffix = if again { ", again" } else { "" };
    json!({
        "workload": "select", "case": format!("{name}{suffix}"), "streamlines": count,
        "points": tractogram.points.len(), "kept": kept, "wall_s": median,
        "fastest_s": seconds[0], "rate": count as f64 / median.max(1e-9),
        "unit": "streamlines_per_s", "backend": "cpu", "threads": backend.threads(),
    })
}
