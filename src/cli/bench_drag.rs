//! `arcuate bench drag`: the time from a moved pointer to the pictures that follow it.
//!
//! The program's own window runs without a screen ([`crate::app::offscreen`]): a pointer is dragged over its views and
//! sliders at 60 Hz, as a user drags it, and every frame is drawn into a texture and finished before the next. Where
//! the drag begins and what is computed is the same in every run; the head is the built-in one.
//!
//! - `first_ms` and `final_ms`: from the frame that gets a position to its first and its full picture;
//!   [`crate::app::offscreen::stroke`] defines both.
//! - `frame_ms`: whole frames, with drawing and waiting for the device, until the window rests.
//! - `interface_ms`: the share of the interface thread in these frames, without drawing.
//!
//! Each has p50, p95, p99 and the longest. The first stroke of a case is not measured: it loads kernels and shaders.
//!
//! The time of a case is limited. A preparation that takes longer than two minutes is an error. Strokes begin within
//! twenty seconds, at least one after the rehearsal, and each waits at most ten seconds for its final picture:
//! `without_final` counts the strokes that had none, and `final_ms` is null if no stroke had one.

mod cases;

use super::bench::Choice;
use crate::app::offscreen::FrameTimes;
use crate::app::offscreen::stroke::StrokeTimes;
use crate::compute::Backend;
use crate::data::statistics::quantile;
use cases::{CASES, Session};
use serde_json::{Value, json};

/// One JSON object per case.
pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    // Making and fitting the head takes longer than most cases, so they share a window.
    let mut on_head = None;
    let mut lines = Vec::new();
    for case in CASES.iter().filter(|case| choice.takes(case.name)) {
        let shared = on_head.take().filter(|_| case.on_head);
        let session = shared.map_or_else(|| Session::open(choice, backend), Ok);
        let measured = session.and_then(|mut session| {
            let strokes = (case.measure)(&mut session)?;
            Ok((session, strokes))
        });
        lines.push(match measured {
            Ok((session, strokes)) => {
                let mut line = row(&strokes[1..]);
                line["workload"] = json!("drag");
                line["case"] = json!(case.name);
                line["size"] = json!(session.size_px);
                line["backend"] = json!(backend.name());
                line["detail"] = json!(backend.detail());
                line["drawn_by"] = json!(session.window.device_name());
                line["threads"] = json!(backend.threads());
                on_head = Some(session);
                line
            }
            Err(error) => json!({"workload": "drag", "case": case.name, "error": error}),
        });
    }
    lines
}

/// The figures of strokes.
fn row(strokes: &[StrokeTimes]) -> Value {
    let first: Vec<f64> = strokes.iter().flat_map(|s| s.first_s.clone()).collect();
    let last: Vec<f64> = strokes.iter().filter_map(|s| s.final_s).collect();
    let without_final = strokes.len() - last.len();
    let frames = |part: fn(&FrameTimes) -> f64| {
        let frames = strokes.iter().flat_map(|s| &s.frames);
        frames.map(part).collect::<Vec<f64>>()
    };
    let (pictures, whole) = (first.len(), frames(|frame| frame.whole_s));
    let first = figures(first);
    json!({
        "strokes": strokes.len(),
        "pictures": pictures,
        "frames": whole.len(),
        "rate": first["p50"].as_f64().map(|ms| 1e3 / ms),
        "unit": "pictures_per_s",
        "wall_s": whole.iter().sum::<f64>(),
        "first_ms": first,
        "final_ms": figures(last),
        "without_final": without_final,
        "frame_ms": figures(whole),
        "interface_ms": figures(frames(|frame| frame.interface_s)),
    })
}

/// Quantiles of durations, from seconds to milliseconds.
fn figures(mut seconds: Vec<f64>) -> Value {
    if seconds.is_empty() {
        return Value::Null;
    }
    seconds.iter_mut().for_each(|duration| *duration *= 1e3);
    let mut at = |share| quantile(&mut seconds, share);
    json!({"p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "longest": at(1.0)})
}
