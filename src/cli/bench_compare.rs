//! `arcuate bench compare`: speed of comparing five segmentations of a ball, which differ at its border, in pairs and
//! by their consensus.

use super::bench::Choice;
use crate::compute::{Backend, Control};
use crate::data::{Grid, Mask};
use crate::solvers::Error;
use crate::solvers::compare::{pairs, staple};
use glam::DVec3;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

const MASKS: usize = 5;

/// Returns the number of iterations or of pairs.
type Case<'a> = &'a dyn Fn(&[Mask]) -> Result<usize, Error>;

pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let (edge, repeats) = if choice.quick { (128, 3) } else { (256, 5) };
    let Some(grid) = Grid::axis_aligned([edge; 3], DVec3::ONE, DVec3::ZERO).map(Arc::new) else {
        return Vec::new();
    };
    let masks: Vec<Mask> = (0..MASKS).map(|number| ball(&grid, number)).collect();
    let consensus = |masks: &[Mask]| -> Result<usize, Error> {
        Ok(staple(masks, None, backend, &Control::new())?.iterations)
    };
    let compared = |masks: &[Mask]| -> Result<usize, Error> {
        Ok(pairs(masks, backend, &Control::new())?.len())
    };
    let cases: [(&str, Case); 2] = [
        ("consensus of 5 masks", &consensus),
        ("pairs of 5 masks", &compared),
    ];
    let mut results = Vec::new();
    for (name, case) in cases {
        if !choice.takes(name) {
            continue;
        }
        let (mut seconds, mut count) = (Vec::new(), 0);
        let mut error = None;
        for _ in 0..repeats {
            let started = Instant::now();
            match case(&masks) {
                Ok(steps) => count = steps,
                Err(e) => error = Some(e.to_string()),
            }
            seconds.push(started.elapsed().as_secs_f64());
        }
        if let Some(error) = error {
            results.push(json!({"workload": "compare", "case": name, "error": error}));
            continue;
        }
        seconds.sort_by(f64::total_cmp);
        let median = seconds[seconds.len() / 2];
        let voxels = grid.voxel_count();
        results.push(json!({
            "workload": "compare", "case": name, "voxels": voxels, "masks": MASKS, "count": count,
            "wall_s": median, "fastest_s": seconds[0], "rate": voxels as f64 / median.max(1e-9),
            "unit": "voxels_per_s", "backend": "cpu", "threads": backend.threads(),
        }));
    }
    results
}

/// A ball of a third of the grid's width in radius, moved by up to two voxels.
fn ball(grid: &Arc<Grid>, number: usize) -> Mask {
    let edge = grid.shape[0] as f64;
    let moved = DVec3::new(number as f64 % 3.0 - 1.0, number as f64 % 2.0, 0.0) * 2.0;
    let centre = DVec3::splat(0.5 * edge) + moved;
    let radius = edge / 3.0 + 0.3 * number as f64;
    let inside = (0..grid.voxel_count()).map(|i| {
        let at = DVec3::from_array(grid.voxel(i).map(|c| c as f64));
        u8::from(at.distance_squared(centre) <= radius * radius)
    });
    Mask::new(grid.clone(), inside.collect::<Vec<_>>())
}
