//! `arcuate bench density`: density maps and connectomes of 1,000,000 streamlines (56 million points), and selection among
//! them by a sphere, on the CPU and, with the points on a graphics card, there.
//!
//! `kernel_s`: the kernels alone; `wall_s`: until the host has the map, the connectome, or the marks of the selection.

use super::bench::Choice;
use super::bench_io::arcs;
use crate::compute::{Backend, Control};
use crate::data::region::RegionId;
use crate::data::{Grid, Region, Role, Shape, Tractogram, Volume};
use crate::solvers::Error;
use crate::solvers::connectivity::{self, connectome};
use crate::solvers::density::{Measure, Params, density};
use crate::solvers::on_card::on_cards_alone;
use crate::solvers::region::{Numbers, numbers};
use crate::solvers::tractogram::selection::{SelectionRules, ValueCondition, select};
use glam::DVec3;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// Streamlines that a card computes at a time.
const PART: usize = 200_000;

/// A computation that is measured.
enum Work {
    Map(Arc<Grid>, Params),
    Connectome(Volume, Numbers),
    Select(SelectionRules),
}

impl Work {
    /// Returns the seconds that kernels took, where they are known.
    fn run(&self, tractogram: &Tractogram, backend: &Backend) -> Result<Option<f64>, Error> {
        let control = Control::new();
        match self {
            Self::Map(grid, params) => {
                let map = density(tractogram, grid, params, None, backend, &control)?;
                Ok(map.kernel_s)
            }
            Self::Connectome(labels, numbers) => {
                let params = connectivity::Params::defaults();
                let map = (labels, 0, numbers);
                let matrix = connectome(tractogram, None, map, &params, None, backend, &control)?;
                Ok(matrix.kernel_s)
            }
            Self::Select(rules) => {
                select(tractogram, rules, backend, &control)?;
                Ok(None)
            }
        }
    }
}

pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let mut cases = cases();
    cases.retain(|(name, _)| choice.takes(name));
    if cases.is_empty() {
        return Vec::new();
    }
    let (count, repeats) = if choice.quick {
        (50_000, 3)
    } else {
        (1_000_000, 5)
    };
    let host = arcs(count, 21);
    let cpu = backend.cpu();
    let mut results = Vec::new();
    for (name, work) in &cases {
        results.push(measured(name, work, &host, &cpu, repeats));
    }
    if !backend.devices().is_empty() {
        match on_cards_alone(&host, PART, backend) {
            Ok(card_curves) => {
                for (name, work) in &cases {
                    results.push(measured(name, work, &card_curves, backend, repeats));
                }
            }
            Err(error) => {
                results.push(json!({"workload": "density", "error": error.to_string()}));
            }
        }
    }
    results
}

fn cases() -> Vec<(&'static str, Work)> {
    let grid = |mm: usize| {
        let grid = Grid::axis_aligned([128 / mm; 3], DVec3::splat(mm as f64), DVec3::ZERO);
        grid.map(Arc::new)
    };
    let map = |mm, measure, by_direction| {
        let params = Params {
            measure,
            by_direction,
            ..Params::defaults()
        };
        Some(Work::Map(grid(mm)?, params))
    };
    let parcels = || {
        let grid = grid(2)?;
        // Cubes of 16 mm, with gaps between them.
        let value = |i: usize| {
            let voxel = grid.voxel(i);
            let is_gap = voxel.iter().any(|v| v % 8 == 0);
            let [x, y, z] = voxel.map(|v| v / 8);
            if is_gap {
                0.0
            } else {
                (1 + x + 8 * (y + 8 * z)) as f32
            }
        };
        let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
        let labels = Volume::scalar(grid.clone(), values);
        let numbers = numbers(&labels, 0, &Control::new()).ok()?;
        Some(Work::Connectome(labels, numbers))
    };
    let sphere = || {
        let shape = Shape::Sphere {
            centre: DVec3::splat(64.0),
            radius_mm: 10.0,
        };
        let region = Region {
            id: RegionId(0),
            name: "sphere".to_owned(),
            role: Role::Include,
            shape: Arc::new(shape),
            colour: None,
            visible: true,
            label_number: None,
        };
        SelectionRules {
            regions: vec![region],
            ..SelectionRules::default()
        }
    };
    let length = SelectionRules {
        values: vec![ValueCondition {
            name: "length".to_owned(),
            low: 40.0,
            high: 100.0,
        }],
        ..SelectionRules::default()
    };
    let all = [
        ("visits, 2 mm", map(2, Measure::Visits, false)),
        ("visits, 1 mm", map(1, Measure::Visits, false)),
        ("lengths, 2 mm", map(2, Measure::Length, false)),
        ("directions, 2 mm", map(2, Measure::Length, true)),
        ("connectome, 2 mm", parcels()),
        ("selection, sphere", Some(Work::Select(sphere()))),
        ("selection, length", Some(Work::Select(length))),
    ];
    let known = all.into_iter();
    known
        .filter_map(|(name, work)| Some((name, work?)))
        .collect()
}

fn measured(
    name: &str,
    work: &Work,
    tractogram: &Tractogram,
    backend: &Backend,
    repeats: usize,
) -> Value {
    let (mut seconds, mut kernel_s) = (Vec::new(), None);
    for _ in 0..repeats {
        // Boxes around pieces are built each time.
        let fresh = Tractogram::new(tractogram.points.clone(), tractogram.offsets.clone());
        let started = Instant::now();
        match work.run(&fresh, backend) {
            Ok(kernel) => kernel_s = kernel,
            Err(error) => return json!({"workload": "density", "error": error.to_string()}),
        }
        seconds.push(started.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    let count = tractogram.len();
    json!({
        "workload": "density", "case": name, "streamlines": count,
        "points": tractogram.points.len(), "wall_s": median, "fastest_s": seconds[0],
        "kernel_s": kernel_s, "rate": count as f64 / median.max(1e-9), "unit": "streamlines_per_s",
        "backend": backend.name(), "threads": backend.threads(),
    })
}
