//! Speed of drawing three slices of an image while they turn, at the axes or oblique to them.
//!
//! `rate` is that of all three views together, and `frame_ms` the median time for them.

use super::bench::Choice;
use super::bench_volumes::folded;
use crate::compute::Backend;
use crate::data::statistics::quantile;
use crate::render::PaneId;
use crate::render::offscreen::Offscreen;
use crate::scene::draw_list::SlicePane;
use crate::scene::{self, Size};

use crate::state::core::display::image_display;
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::slice_turn::SliceTurn;
use crate::state::origin::Origin;
use crate::state::{Action, Pane, State, ViewAction, update};
use glam::{DQuat, DVec2, DVec3};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

const PANES: [Pane; 3] = [Pane::Axial, Pane::Sagittal, Pane::Coronal];
/// Pixels along both edges of a view.
const PIXELS: f64 = 512.0;

pub fn run(choice: Choice, backend: &Backend, offscreen: &mut Offscreen) -> Vec<Value> {
    let (side, frames) = if choice.quick { (96, 6) } else { (256, 40) };
    let cases = [("slices, straight", false), ("slices, oblique", true)];
    let mut results = Vec::new();
    let mut opened = None;
    for (name, oblique) in cases.into_iter().filter(|c| choice.takes(c.0)) {
        let Some(state) = opened.get_or_insert_with(|| state(side)).as_ref() else {
            break;
        };
        let mut times_ms = Vec::new();
        let started = Instant::now();
        for frame in 0..frames {
            let lists = lists(state, frame, oblique);
            let began = Instant::now();
            for (id, list) in (0..).zip(&lists) {
                offscreen.renderer.slice(list, PaneId(id));
            }
            offscreen.renderer.wait();
            times_ms.push(began.elapsed().as_secs_f64() * 1e3);
        }
        // The first frames load the image.
        let frame_ms = quantile(&mut times_ms[frames / 4..], 0.5).unwrap_or(f64::NAN);
        results.push(json!({
            "workload": "render", "case": name, "shape": [side, side, side], "size": [PIXELS, PIXELS],
            "views": PANES.len(), "frames": frames, "frame_ms": frame_ms, "rate": 1e3 / frame_ms,
            "unit": "frames_per_s", "wall_s": started.elapsed().as_secs_f64(), "backend": "wgpu",
            "detail": offscreen.device_name(), "threads": backend.threads(),
        }));
        for id in 0..PANES.len() as u32 {
            offscreen.renderer.forget(PaneId(id));
        }
    }
    offscreen.renderer.set_idle_budget(0);
    results
}

/// A document with one image.
fn state(side: usize) -> Option<State> {
    let volume = folded(side)?;
    let mut state = State::new(String::new());
    let origin = state.document.origins.add(Origin::file("image.nii"));
    state.document.layers.push(Arc::new(Layer::new(
        LayerId(1),
        "image".to_owned(),
        Content::Image(volume),
        image_display((0.0, 1.0)),
        origin,
    )));
    update(&mut state, Action::View(ViewAction::FrameAll));
    Some(state)
}

/// The views of one frame: other slices in each, which moves or turns all of them.
fn lists(state: &State, frame: usize, oblique: bool) -> Vec<SlicePane> {
    let mut seen = state.clone();
    let moved = 0.37 * frame as f64;
    seen.view.crosshair = DVec3::splat(moved - 7.0);
    if oblique {
        let axis = DVec3::new(1.0, 2.0, 3.0).normalize();
        let rotation = DQuat::from_axis_angle(axis, 0.3 + 0.02 * frame as f64);
        seen.view.turn = SliceTurn::about(seen.view.crosshair, rotation);
    }
    let size = Size {
        points: DVec2::splat(PIXELS),
        pixels_per_point: 1.0,
    };
    let lists = PANES
        .into_iter()
        .filter_map(|pane| scene::slice(&seen, pane, size));
    lists.collect()
}
