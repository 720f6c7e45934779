//! Five hundred regions in every view: the CPU time of a frame, without the GPU.

use super::sample::{ViewWindow, state};
use crate::support::{test, thread_time};
use arcuate::data::region::RegionId;
use arcuate::data::{Region, Role, Shape};
use arcuate::state::{Layout, Pane, State};
use egui::vec2;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

/// A frame of a fluid window, ms of processor time.
const FLUID_MS: f64 = 16.0;

pub fn tests() -> Vec<Trial> {
    vec![test("views::500 regions stay fluid", regions)]
}

fn with_regions(masks: bool) -> State {
    let mut state = state();
    let grid = state.document.tensors.as_ref().unwrap().mask.grid.clone();
    let (low, high) = state.document.bounds();
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    for i in 0..500 {
        let z = 1.0 - 2.0 * (f64::from(i) + 0.5) / 500.0;
        let (sin, cos) = (golden * f64::from(i)).sin_cos();
        let flat = (1.0 - z * z).sqrt();
        let out = DVec3::new(cos * flat, sin * flat, z) * 0.4;
        let centre = (low + high) * 0.5 + (high - low) * out * (0.3 + 0.7 * f64::from(i % 7) / 7.0);
        let radius_mm = 6.0;
        let ball = Shape::Sphere { centre, radius_mm };
        let shape = match masks {
            true => Shape::Mask(ball.mask_on(&grid)),
            false => ball,
        };
        let id = RegionId(state.document.fresh_id());
        state.document.regions.push(Arc::new(Region {
            id,
            name: format!("Region {}", i + 1),
            role: [Role::Target, Role::Include, Role::Exclude][i as usize % 3],
            shape: Arc::new(shape),
            colour: None,
            visible: true,
            label_number: None,
        }));
    }
    state
}

fn regions() {
    for masks in [false, true] {
        for (layout, pane) in [
            (Layout::Grid, Pane::Axial),
            (Layout::Grid, Pane::Scene),
            (Layout::Single, Pane::Scene),
        ] {
            let mut state = with_regions(masks);
            (state.view.layout, state.view.single) = (layout, pane);
            let mut views = ViewWindow::new(state);
            let middle = views.rect(pane).center();
            let mut ms = Vec::new();
            for frame in 0..24u8 {
                let (sin, cos) = (f32::from(frame) * 0.3).sin_cos();
                let before = thread_time();
                views.move_to(middle + vec2(cos, sin) * 60.0);
                ms.push((thread_time() - before).as_secs_f64() * 1e3);
            }
            // The first display of each mask finds its outlines.
            let mut later = ms.split_off(8);
            later.sort_by(f64::total_cmp);
            let (median, worst) = (later[later.len() / 2], later[later.len() - 1]);
            let kind = if masks { "masks" } else { "balls" };
            eprintln!(
                "500 {kind}, {layout:?} {pane:?}: {median:.1} ms a frame, at most {worst:.1}"
            );
            assert!(
                median < FLUID_MS,
                "{kind} {layout:?} {pane:?}: {median:.1} ms"
            );
        }
    }
}
