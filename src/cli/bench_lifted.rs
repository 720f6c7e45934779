//! `arcuate bench lifted`: milliseconds of a pathway through fibre orientation distributions.
//!
//! A ball of fibres on circles around a common axis, one lobe of order 8 in each voxel, and two regions 58 mm apart in it.
//! `prepare_s` ends with the costs of all directions, which do not depend on the regions; `wall_s` is the time of both cost
//! fields after that, up to 30 % above the least cost, as in the window and the command; `sensitivity_s` is the time of the
//! map of sensitivity after that.

use super::bench::Choice;
use super::bench_odf_tracking::lobes;
use crate::compute::{Backend, Control};
use crate::data::statistics::quantile;
use crate::data::{Grid, Mask, OdfField};
use crate::solvers::Error;
use crate::solvers::lifted::{
    DirectionSet, LiftedField, LiftedPathway, Params, Prepared, Source, UNREACHED, solve_both,
};
use glam::DVec3;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// Radius of the ball, mm: 94,000 voxels of 2 mm, 12,000 of 4 mm.
const RADIUS_MM: f64 = 56.4;
/// Distance of the axis of all circles from the middle of the ball, mm.
const AXIS_MM: f64 = 80.0;
/// Distance of the middles of the regions from that of the ball, and their radius, mm.
const END_MM: f64 = 34.0;
const END_RADIUS_MM: f64 = 5.0;
/// Costs are computed up to this share above the least one.
const MAX_EXCESS: f32 = 0.3;

/// Name, size of voxels in mm, directions.
const CASES: [(&str, f64, DirectionSet); 3] = [
    ("42 directions, 4 mm", 4.0, DirectionSet::Icosphere42),
    ("98 directions, 2 mm", 2.0, DirectionSet::Lattice98),
    ("162 directions, 2 mm", 2.0, DirectionSet::Icosphere162),
];

/// One JSON object per case; the quick run leaves out small voxels.
pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let cases = CASES.iter().filter(|case| choice.takes(case.0));
    let cases = cases.filter(|case| !choice.quick || case.1 > 2.0);
    let line = |&(name, voxel_mm, directions): &(&str, f64, DirectionSet)| {
        let workload = format!("lifted {name}");
        measure(&workload, voxel_mm, directions, choice.quick, backend)
            .unwrap_or_else(|error| json!({"workload": workload, "error": error.to_string()}))
    };
    cases.map(line).collect()
}

/// Distributions of order 8 and mask of the ball, around the origin.
pub(super) fn ball(voxel_mm: f64) -> (OdfField, Mask) {
    let side = 2 * (RADIUS_MM / voxel_mm).ceil() as usize + 1;
    let corner = DVec3::splat(-0.5 * (side - 1) as f64 * voxel_mm);
    let Some(grid) = Grid::axis_aligned([side; 3], DVec3::splat(voxel_mm), corner) else {
        unreachable!("the axes are the world's")
    };
    let grid = Arc::new(grid);
    let at = |voxel: usize| grid.world(DVec3::from_array(grid.voxel(voxel).map(|c| c as f64)));
    let is_inside = |voxel: usize| at(voxel).length() <= RADIUS_MM;
    let direction = |voxel: usize| {
        let DVec3 { x, y, .. } = at(voxel);
        is_inside(voxel).then(|| DVec3::new(y + AXIS_MM, -x, 0.0).normalize())
    };
    let field = lobes(&grid, direction);
    let inside = (0..grid.voxel_count()).map(|voxel| u8::from(is_inside(voxel)));
    let inside: Vec<u8> = inside.collect();
    (field, Mask::new(grid, inside))
}

/// The voxels of an end, which lie on one fibre with those of the other.
fn end(prepared: &Prepared, side: f64) -> Arc<Source> {
    let below = AXIS_MM - (AXIS_MM * AXIS_MM - END_MM * END_MM).sqrt();
    let centre = DVec3::new(side * END_MM, -below, 0.0);
    let places = &prepared.places;
    let is_near = |place: &u32| {
        let voxel = places.voxels[*place as usize] as usize;
        let voxel = DVec3::from_array(places.grid.voxel(voxel).map(|c| c as f64));
        places.grid.world(voxel).distance(centre) <= END_RADIUS_MM
    };
    Arc::new(Source {
        name: "end".to_owned(),
        zero: (0..places.len() as u32).filter(is_near).collect(),
        direction: None,
    })
}

fn measure(
    workload: &str,
    voxel_mm: f64,
    directions: DirectionSet,
    quick: bool,
    backend: &Backend,
) -> Result<Value, Error> {
    let control = Control::new();
    let (field, mask) = ball(voxel_mm);
    let params = Params {
        directions,
        ..Params::defaults()
    };
    let start = Instant::now();
    let prepared = Prepared::new(&field, &mask, &params, backend, &control)?;
    let prepare_s = start.elapsed().as_secs_f64();
    let ends = [-1.0, 1.0].map(|side| end(&prepared, side));
    let (mut walls, mut kernels, mut reached) = (Vec::new(), Vec::new(), 0);
    let mut maps = Vec::new();
    // The first run is not counted: it warms memory, and on a card it loads the kernels.
    for repeat in 0..if quick { 3 } else { 6 } {
        let start = Instant::now();
        let fields = solve_both(&prepared, &ends, MAX_EXCESS, UNREACHED, backend, &control)?;
        if repeat == 0 {
            reached = fields.iter().map(LiftedField::reached).sum::<usize>();
            continue;
        }
        walls.push(start.elapsed().as_secs_f64());
        // Both fields are solved in the same launches.
        kernels.extend(fields[0].kernel_s);
        let [first, second] = fields;
        let pathway = backend.install(|| LiftedPathway::new(first, second))?;
        let start = Instant::now();
        pathway.sensitivity(backend, &control)?;
        maps.push(start.elapsed().as_secs_f64());
    }
    let wall_s = quantile(&mut walls, 0.5).unwrap_or(f64::NAN);
    let kernel_s = quantile(&mut kernels, 0.5);
    Ok(json!({
        "workload": workload,
        "size": {
            "voxels": prepared.places.len(), "directions": prepared.directions.len(), "states": reached,
        },
        "rate": reached as f64 / wall_s,
        "unit": "states_per_s",
        "prepare_s": prepare_s,
        "wall_s": wall_s,
        "kernel_s": kernel_s,
        "sensitivity_s": quantile(&mut maps, 0.5),
        "backend": if kernel_s.is_some() { backend.name() } else { "cpu" },
        "detail": backend.detail(),
        "threads": backend.threads(),
    }))
}
