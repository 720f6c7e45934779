//! The time until curves are on the screen: computed, written into the renderer's memory, and drawn at 1600 × 1000.

use super::bench_render::bare;
use crate::compute::Backend;
use crate::data::statistics::quantile;
use crate::data::{LineDrawing, Tractogram};
use crate::render::PaneId;
use crate::render::offscreen::Offscreen;
use crate::scene::draw_list::{ById, LineColour, LineStyle, Lines, ScenePane};
use crate::solvers::Error;
use crate::solvers::drawn_lines::drawn;
use crate::solvers::on_card::DrawnBuffers;
use crate::state::Camera;
use crate::state::track::jobs::drawing::SHAPE;
use serde_json::{Value, json};
use std::time::Instant;

const PANE: PaneId = PaneId(0);
const SIZE_PX: [u32; 2] = [1600, 1000];

/// The figures of [`measure`] as JSON, an error, or nothing on the CPU.
pub fn measured(
    curves: impl Fn() -> Result<Tractogram, Error>,
    repeats: usize,
    backend: &Backend,
) -> Value {
    if backend.devices().is_empty() {
        return Value::Null;
    }
    match measure(curves, repeats, backend) {
        Ok(figures) => json!(figures),
        Err(error) => json!({"error": error.to_string()}),
    }
}

/// Median times from the call of `curves` until the renderer has them, and until it has drawn them; none where no card
/// draws. `shared`: without a copy through the host.
fn measure(
    curves: impl Fn() -> Result<Tractogram, Error>,
    repeats: usize,
    backend: &Backend,
) -> Result<Option<Value>, Error> {
    let Ok(mut offscreen) = Offscreen::new() else {
        return Ok(None);
    };
    let Some(exporter) = offscreen.lender().filter(|_| !offscreen.is_software()) else {
        return Ok(None);
    };
    let mut buffers = DrawnBuffers::default();
    let drawing: &LineDrawing = &SHAPE;
    let (mut written, mut shown, mut shared) = (Vec::new(), Vec::new(), true);
    for run in 0..=repeats {
        let start = Instant::now();
        let lines = drawn(curves()?, drawing, (&mut buffers, &exporter), backend)?;
        let written_s = start.elapsed().as_secs_f64();
        shared &= lines.drawn.is_some();
        let (low, high) = lines.bounds().unwrap_or_default();
        let list = ScenePane {
            lines: vec![Lines {
                tractogram: ById(lines),
                colour: LineColour::Direction,
                style: LineStyle::Lines { width_px: 1.5 },
                opacity: 1.0,
                every: 1,
                context: false,
            }],
            ..bare(&Camera::framing(low, high), SIZE_PX)
        };
        offscreen.renderer.scene(&list, PANE);
        offscreen.renderer.wait();
        // The first run creates pipelines.
        if run > 0 {
            written.push(written_s);
            shown.push(start.elapsed().as_secs_f64());
        }
    }
    Ok(Some(json!({
        "written_s": quantile(&mut written, 0.5), "shown_s": quantile(&mut shown, 0.5), "shared": shared,
        "size": SIZE_PX, "drawn_by": offscreen.device_name(),
    })))
}
