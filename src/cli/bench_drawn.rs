//! Frames per second of a moving level set: each frame makes steps, hands over the bricks and draws them at 1920 × 1080
//! at full quality, one after the other on one thread.
//!
//! `shared`: the bricks stay on the card that computes and draws; otherwise their changes are uploaded. A frame makes
//! as many steps as fit into half of a 120th of a second, at least one.

use super::bench::Choice;
use super::bench_render::bare;
use super::runner::Failure;
use crate::compute::{Backend, Control};
use crate::data::statistics::quantile;
use crate::render::PaneId;
use crate::render::offscreen::Offscreen;
use crate::scene::draw_list::{BrickSurface, ById, ScenePane};
use crate::solvers::level_set::Evolution;
use crate::state::Camera;
use serde_json::{Value, json};
use std::time::Instant;

const PANE: PaneId = PaneId(0);
const FRAME_S: f64 = 1.0 / 120.0;

/// One JSON object.
pub fn measure(
    evolution: &mut Evolution,
    name: &str,
    choice: Choice,
    backend: &Backend,
) -> Result<Value, Failure> {
    let mut offscreen = Offscreen::new()?;
    // Drawing on a CPU takes seconds for what a graphics card does in milliseconds.
    let (size_px, frames) = match (choice.quick, offscreen.is_software()) {
        (true, _) => ([480, 270], 4),
        (false, true) => ([1920, 1080], 8),
        (false, false) => ([1920, 1080], 400),
    };
    let lend = offscreen.lender();
    let control = Control::new();
    let step = |evolution: &mut Evolution, steps| {
        let started = Instant::now();
        evolution.run_unchecked(steps, backend, &control)?;
        Ok::<f64, Failure>(started.elapsed().as_secs_f64())
    };
    // The first steps fill the caches, and tell how long one takes.
    let trial = if backend.devices().is_empty() { 2 } else { 400 };
    step(evolution, trial)?;
    let step_s = step(evolution, trial)? / trial as f64;
    let steps = ((0.5 * FRAME_S / step_s) as u64).max(1);
    let (low, high) = evolution.inputs().image.grid.bounds();
    let camera = Camera::framing(low, high);
    let renderer = &mut offscreen.renderer;
    let (mut whole, mut moved, mut handed, mut drawn) = (vec![], vec![], vec![], vec![]);
    let mut shared = false;
    let mut uploaded = 0;
    for frame in 0..=frames {
        let started = Instant::now();
        let stepped_s = step(evolution, steps)?;
        let image = evolution.image(lend.as_ref())?;
        let handed_s = started.elapsed().as_secs_f64() - stepped_s;
        shared = image.device_copy().is_some();
        let list = ScenePane {
            surfaces: vec![BrickSurface {
                phi: ById(image),
                colour: [0xFF, 0xC8, 0x30],
                opacity: 1.0,
                lit: true,
                fade: None,
                coloured_by: None,
            }],
            ..bare(&camera, size_px)
        };
        renderer.scene(&list, PANE);
        renderer.wait();
        let whole_s = started.elapsed().as_secs_f64();
        // The first frame creates pipelines and textures.
        if frame == 0 {
            uploaded = renderer.uploaded_bytes();
            continue;
        }
        whole.push(1e3 * whole_s);
        moved.push(1e3 * stepped_s);
        handed.push(1e3 * handed_s);
        drawn.push(1e3 * (whole_s - stepped_s - handed_s));
    }
    let frame_ms = quantile(&mut whole, 0.5).unwrap_or(0.0);
    let uploaded = (renderer.uploaded_bytes() - uploaded) / frames;
    Ok(json!({
        "workload": "levelset", "case": name, "size": size_px, "frames": frames,
        "rate": 1e3 / frame_ms, "unit": "frames_per_s", "frame_ms": frame_ms,
        "steps_per_frame": steps, "steps_per_s": 1e3 * steps as f64 / frame_ms,
        "step_ms": quantile(&mut moved, 0.5).unwrap_or(0.0), "hand_over_ms": quantile(&mut handed, 0.5).unwrap_or(0.0),
        "draw_ms": quantile(&mut drawn, 0.5).unwrap_or(0.0), "device_ms": renderer.device_ms(), "slowest_ms": whole.last(), "shared": shared,
        "uploaded_bytes_per_frame": uploaded, "backend": backend.name(),
        "threads": backend.threads(), "detail": offscreen.device_name(),
    }))
}
