//! Speed of drawing a volume in the 3-D view while the camera orbits: as a cloud and as a surface.
//!
//! `rate` and `rest_ms` as in [`super::bench_render`]; `rest_rate` is that of pictures at rest, none of them coarse.

use super::bench::Choice;
use super::bench_render::{bare, orbit_case};
use crate::compute::Backend;
use crate::data::{Grid, Volume};
use crate::render::offscreen::Offscreen;
use crate::scene::draw_list::{ById, Interpolation, ScenePane, Transfer, VolumeDraw, VolumeStyle};
use crate::state::Camera;
use glam::DVec3;
use serde_json::{Value, json};
use std::sync::Arc;

/// Edge of the cube that the image fills, mm.
const EDGE_MM: f64 = 160.0;

pub fn run(choice: Choice, backend: &Backend, offscreen: &mut Offscreen) -> Vec<Value> {
    let small = choice.quick || offscreen.is_software();
    let (side, size_px, frames) = if small {
        (96, [640, 360], 6)
    } else {
        (256, [1920, 1080], 60)
    };
    let cloud = VolumeStyle::Cloud;
    let surface = VolumeStyle::Surface {
        level: 0.45,
        below: false,
        colour: [0x56, 0xB4, 0xE9],
        opacity: 1.0,
    };
    let cases = [
        ("volume", cloud, Transfer::rising()),
        ("volume, surface", surface, Transfer::rising()),
    ];
    let mut built = None;
    let mut results = Vec::new();
    for (name, style, transfer) in cases.into_iter().filter(|c| choice.takes(c.0)) {
        let Some(volume) = built.get_or_insert_with(|| folded(side)).clone() else {
            break;
        };
        let list = |frame: usize| {
            let half = DVec3::splat(0.5 * EDGE_MM);
            let camera = Camera::framing(-half, half).orbited(frame as f64 * 0.1, 0.0);
            ScenePane {
                volumes: vec![VolumeDraw {
                    volume: ById(volume.clone()),
                    frame: 0,
                    window: (0.0, 1.0),
                    transfer: transfer.clone(),
                    reference_mm: 2.0,
                    style,
                    interpolation: Interpolation::Linear,
                    lit: true,
                    cut: None,
                    inside: None,
                    fade: None,
                    coloured_by: None,
                    shapes: None,
                }],
                ..bare(&camera, size_px)
            }
        };
        let mut result = orbit_case(offscreen, (name, size_px), backend, list, frames);
        let rest_ms = result["rest_ms"].as_f64().unwrap_or(f64::NAN);
        result["rest_rate"] = json!(1e3 / rest_ms);
        result["shape"] = json!([side, side, side]);
        results.push(result);
    }
    offscreen.renderer.set_idle_budget(0);
    results
}

/// A folded head: dense sheets in empty surroundings, as in FA.
pub(super) fn folded(side: usize) -> Option<Volume> {
    let spacing = EDGE_MM / side as f64;
    let origin = DVec3::splat(0.5 * (spacing - EDGE_MM));
    let grid = Grid::axis_aligned([side; 3], DVec3::splat(spacing), origin)?;
    let mut values = vec![0f32; grid.voxel_count()];
    for (i, value) in values.iter_mut().enumerate() {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        let head = (at / DVec3::new(65.0, 78.0, 60.0)).length();
        if head < 1.0 {
            let fold = (at.x * 0.17 + (at.y * 0.11).sin() * 2.0).sin()
                * (at.y * 0.13 + (at.z * 0.12).sin() * 2.0).sin()
                * (at.z * 0.15 + (at.x * 0.10).sin() * 2.0).sin();
            let rim = ((1.0 - head) * 8.0).min(1.0);
            *value = ((0.35 + 0.65 * fold).max(0.05) * rim) as f32;
        }
    }
    Some(Volume::scalar(Arc::new(grid), values))
}
