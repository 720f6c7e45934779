//! Speed of drawing 10,000 fibre orientation distributions in the 3-D view while the camera orbits.
//!
//! `rate` and `rest_ms` as in [`super::bench_render`]; `first_picture_s` includes the surfaces, which are computed when
//! the distributions or the slice change, not for every picture.

use super::bench::Choice;
use super::bench_render::{bare, orbit_case};
use crate::compute::Backend;
use crate::data::spherical_harmonics::{count, evaluate};
use crate::data::{Grid, OdfField};
use crate::render::offscreen::Offscreen;
use crate::scene::draw_list::{ById, CutPlane, GlyphPlace, Glyphs, OdfGlyphs, ScenePane};
use crate::state::Camera;
use glam::DVec3;
use serde_json::{Value, json};
use std::sync::Arc;

const ORDER: usize = 8;
/// Voxels along both edges of the slice.
const SIDE: usize = 100;
/// Edge of a voxel, mm.
const EDGE_MM: f64 = 2.0;

pub fn run(choice: Choice, backend: &Backend, offscreen: &mut Offscreen) -> Vec<Value> {
    let small = choice.quick || offscreen.is_software();
    let (size_px, frames) = match small {
        true => ([640, 360], 6),
        false => ([1920, 1080], 60),
    };
    let mut results = Vec::new();
    if !choice.takes("distributions") {
        return results;
    }
    let Some(field) = slice() else {
        return results;
    };
    let half = 0.5 * EDGE_MM * SIDE as f64;
    let corner = DVec3::new(half, half, EDGE_MM);
    let list = |frame: usize| {
        let camera = Camera::framing(-corner, corner).orbited(frame as f64 * 0.1, 0.0);
        let plane = CutPlane {
            point: DVec3::ZERO,
            normal: DVec3::Z,
        };
        ScenePane {
            glyphs: Some(Glyphs::Odfs(OdfGlyphs {
                field: ById(field.clone()),
                place: GlyphPlace::Planes(vec![plane]),
                size: 1.0,
                every: 1,
                full_amplitude: None,
                min_peak: 0.0,
                cast_from_px: OdfGlyphs::CAST_FROM_PX,
                clips: Vec::new(),
                scale: None,
            })),
            ..bare(&camera, size_px)
        }
    };
    let mut result = orbit_case(offscreen, ("distributions", size_px), backend, list, frames);
    let rest_ms = result["rest_ms"].as_f64().unwrap_or(f64::NAN);
    result["rest_rate"] = json!(1e3 / rest_ms);
    result["glyphs"] = json!(SIDE * SIDE);
    result["order"] = json!(ORDER);
    results.push(result);
    offscreen.renderer.set_idle_budget(0);
    results
}

/// A slice through the origin with two crossing lobes in each voxel, which turn from voxel to voxel.
fn slice() -> Option<OdfField> {
    let origin = DVec3::new(-0.5, -0.5, 0.0) * EDGE_MM * (SIDE as f64 - 1.0);
    let grid = Grid::axis_aligned([SIDE, SIDE, 1], DVec3::splat(EDGE_MM), origin)?;
    let n = grid.voxel_count();
    let mut coefficients = vec![0f32; n * count(ORDER)];
    for voxel in 0..n {
        let (sine, cosine) = (0.013 * voxel as f64).sin_cos();
        let first = evaluate(ORDER, DVec3::new(cosine, sine, 0.0));
        let second = evaluate(ORDER, DVec3::new(-sine, cosine, 0.7).normalize());
        for (i, (a, b)) in first.iter().zip(&second).enumerate() {
            coefficients[i * n + voxel] = (0.6 * a + 0.4 * b) as f32;
        }
    }
    Some(OdfField::new(Arc::new(grid), ORDER, coefficients))
}
