//! How fast the 3-D view draws: 100,000 streamlines while the camera orbits.

use super::bench::Choice;
use crate::compute::Backend;
use crate::data::Tractogram;
use crate::render::draw_list::{ById, LineColour, LineStyle, Lines, ScenePane};
use crate::render::offscreen::Offscreen;
use crate::state::Camera;
use glam::DVec3;
use serde_json::{Value, json};
use std::time::Instant;

const POINTS: usize = 100;

pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let mut offscreen = match Offscreen::new() {
        Ok(offscreen) => offscreen,
        Err(error) => return vec![json!({"workload": "render", "error": error.to_string()})],
    };
    // A processor that draws takes seconds for what a graphics card does in milliseconds.
    let small = choice.quick || offscreen.is_software();
    let (count, size_px, frames) = if small {
        (10_000, [800, 600], 6)
    } else {
        (100_000, [1600, 1000], 60)
    };
    let tractogram = arcs(count);
    let styles = [
        ("lines", LineStyle::Lines { width_px: 1.5 }),
        ("tubes", LineStyle::Tubes { radius_mm: 0.35 }),
    ];
    let mut results = Vec::new();
    for (name, style) in styles.into_iter().filter(|s| choice.takes(s.0)) {
        let (mut device, mut encode) = (Vec::new(), Vec::new());
        let started = Instant::now();
        for frame in 0..frames {
            let camera = Camera::framing(DVec3::splat(-80.0), DVec3::splat(80.0))
                .orbited(frame as f64 * 0.1, 0.0);
            let list = scene(&tractogram, style, &camera, size_px);
            if let Err(error) = offscreen.scene(&list) {
                return vec![json!({"workload": "render", "error": error.to_string()})];
            }
            // The first frame uploads.
            if frame > 0 {
                device.push(offscreen.renderer.device_ms());
                encode.push(offscreen.renderer.encode_ms());
            }
        }
        let device_ms = median(&mut device);
        results.push(json!({
            "workload": "render", "case": name, "streamlines": count, "points": count * POINTS,
            "size": size_px, "frames": frames, "device_ms": device_ms,
            "encode_ms": median(&mut encode), "rate": 1e3 / device_ms.max(1e-6),
            "unit": "frames_per_s", "wall_s": started.elapsed().as_secs_f64(),
            "backend": "wgpu", "detail": offscreen.device_name(), "threads": backend.threads(),
        }));
    }
    results
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn scene(
    tractogram: &Tractogram,
    style: LineStyle,
    camera: &Camera,
    size_px: [u32; 2],
) -> ScenePane {
    let aspect = f64::from(size_px[0]) / f64::from(size_px[1]);
    ScenePane {
        size_px,
        scale: 1.0,
        clip_from_world: camera.clip_from_world(aspect),
        eye: camera.eye(),
        background: [0, 0, 0],
        slices: Vec::new(),
        outline: None,
        lines: vec![Lines {
            tractogram: ById(tractogram.clone()),
            colour: LineColour::Direction,
            style,
            opacity: 1.0,
            every: 1,
            context: false,
        }],
        solids: Vec::new(),
        moving: false,
    }
}

/// Half circles about the origin in all planes: as long, as dense and as crossing as a brain's.
fn arcs(count: usize) -> Tractogram {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let mut points = Vec::with_capacity(count * POINTS);
    let mut offsets = vec![0];
    for i in 0..count {
        let z = 1.0 - 2.0 * (i as f64 + 0.5) / count as f64;
        let (sin, cos) = (golden * i as f64).sin_cos();
        let across = DVec3::new(cos * (1.0 - z * z).sqrt(), sin * (1.0 - z * z).sqrt(), z);
        let along = across.any_orthonormal_vector();
        let radius = 20.0 + 50.0 * ((i as f64 * 0.618_034).fract());
        for k in 0..POINTS {
            let (s, c) = (std::f64::consts::PI * k as f64 / (POINTS - 1) as f64).sin_cos();
            points.push(((along * c + across * s) * radius).as_vec3().to_array());
        }
        offsets.push(points.len() as u64);
    }
    Tractogram::new(points, offsets)
}
