//! Speed of drawing hundreds of regions in the 3-D view while the camera orbits: balls, and as many painted masks on
//! the grid of a brain.

use super::bench::Choice;
use super::bench_render::{bare, orbit_case};
use crate::compute::Backend;
use crate::data::{Grid, Mask, Shape};
use crate::render::offscreen::Offscreen;
use crate::scene::draw_list::{ById, ScenePane, Solid, SolidShape};
use crate::state::Camera;
use glam::DVec3;
use serde_json::{Value, json};
use std::sync::Arc;

const COUNT: usize = 500;
const RADIUS_MM: f64 = 4.0;

pub fn run(choice: Choice, backend: &Backend, offscreen: &mut Offscreen) -> Vec<Value> {
    let small = choice.quick || offscreen.is_software();
    // llvmpipe keeps some megabytes for each region of each picture until it ends.
    let (count, size_px, frames) = if small {
        (100, [800, 600], 8)
    } else {
        (COUNT, [1600, 1000], 60)
    };
    let mut results = Vec::new();
    for (name, masks) in [("regions, balls", false), ("regions, masks", true)] {
        if !choice.takes(name) {
            continue;
        }
        let solids = solids(count, masks);
        let list = |frame: usize| {
            let camera = Camera::framing(DVec3::splat(-80.0), DVec3::splat(80.0));
            let camera = camera.orbited(frame as f64 * 0.1, 0.0);
            ScenePane {
                solids: solids.clone(),
                ..bare(&camera, size_px)
            }
        };
        let mut result = orbit_case(offscreen, (name, size_px), backend, list, frames);
        result["regions"] = json!(count);
        result["bytes"] = json!(offscreen.renderer.device_bytes());
        results.push(result);
        offscreen.renderer.set_idle_budget(0);
    }
    results
}

/// Spread evenly over a brain (Vogel's spiral, on shells).
fn solids(count: usize, masks: bool) -> Vec<Solid> {
    let grid = Grid::axis_aligned(
        [80, 100, 60],
        DVec3::splat(2.0),
        DVec3::new(-80.0, -100.0, -60.0),
    );
    let grid = grid.map(Arc::new);
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let solid = |i: usize| {
        let z = 1.0 - 2.0 * (i as f64 + 0.5) / count as f64;
        let (sin, cos) = (golden * i as f64).sin_cos();
        let flat = (1.0 - z * z).sqrt();
        let shell = 15.0 + 40.0 * (i as f64 * 0.618_034).fract();
        let centre = DVec3::new(cos * flat, sin * flat, z) * shell;
        let radius_mm = RADIUS_MM;
        let shape = Shape::Sphere { centre, radius_mm };
        let mask: Option<Mask> = grid.as_ref().map(|grid| shape.mask_on(grid));
        Solid {
            shape: match mask.filter(|_| masks) {
                Some(mask) => SolidShape::Mask(ById(mask)),
                None => SolidShape::Sphere { centre, radius_mm },
            },
            colour: [230, 60 + (i % 150) as u8, 90],
            opacity: 0.6,
            selected: false,
        }
    };
    (0..count).map(solid).collect()
}
