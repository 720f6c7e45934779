//! The state in machine-readable form: for pictures, traces and bug reports.

use super::document::Document;
use crate::data::{Region, Shape};
use crate::state::core::layer::{Content, Layer};
use crate::state::core::notices::Severity;
use crate::state::pathways::PathwayParams;
use crate::state::update::{filter_command, pathway_command, segment_command};
use crate::state::{Action, State, Task};
use serde_json::{Value, json};

pub use crate::io::DISCLAIMER;

fn shape(shape: &Shape) -> Value {
    match shape {
        Shape::Sphere { centre, radius_mm } => {
            json!({ "sphere_mm": centre.to_array(), "radius_mm": radius_mm })
        }
        Shape::Box { centre, half_mm } => {
            json!({ "box_mm": centre.to_array(), "half_mm": half_mm.to_array() })
        }
        Shape::Mask(mask) => json!({ "mask_voxels": mask.count() }),
    }
}

fn region(region: &Region) -> Value {
    json!({
        "name": region.name,
        "role": region.role.json_key(),
        "visible": region.visible,
        "shape": shape(&region.shape),
    })
}

fn layer(document: &Document, layer: &Layer) -> Value {
    let (kind, count) = match &layer.content {
        Content::Scan { dwi, .. } => ("scan", dwi.frames),
        Content::Image(volume) => ("image", volume.frames),
        Content::Mask(mask) => ("mask", mask.count()),
        Content::Tractogram(tractogram) => ("tractogram", tractogram.len()),
        Content::InPlace(lines) => ("tractogram", lines.file.len()),
    };
    let mut value = json!({
        "name": layer.name,
        "kind": kind,
        "count": count,
        "visible": layer.display.visible,
        "window": [layer.display.window.0, layer.display.window.1],
        "command": document.command_line(layer).text(),
    });
    let by = &layer.display.line_colouring;
    // The window is the scale of values that were computed here.
    let has_scale = by.has_scale() && !layer.display.has_map_of_window();
    if let (Content::Tractogram(_), true) = (&layer.content, has_scale) {
        let scale = &layer.display.line_scale;
        value["colours"] = json!({
            "by": document.colouring_name(by),
            "value": scale.statistic.key(),
            "map": layer.display.line_map().key(),
            "range": scale.range.map(|(low, high)| [low, high]),
            "logarithmic": scale.logarithmic,
            "limits": scale.limits.map(|(low, high)| [low, high]),
        });
    }
    value
}

/// The segmented surface.
fn segment(state: &State) -> Value {
    let (segment, runtime) = (&state.document.segment, &state.runtime.segment);
    let params = &segment.settings.params;
    let live = runtime.live.as_ref().map(|live| {
        let figures = live.figures.as_ref();
        let dice = figures
            .and_then(|f| f.agreement.as_ref()?.as_ref().ok())
            .map(|a| a.dice);
        json!({
            "step": live.step,
            "inside": live.inside,
            "active": live.figures.as_ref().map(|f| f.active),
            "ended": live.ended.key(),
            "leaks_from": live.leak.map(|l| l.leak.rewind_step),
            "leaks_by": live.leak.map(|l| l.leak.cause.key()),
            "events": live.script.events.len(),
            "steps_per_s": live.steps_per_s,
            "ml": figures.map(|f| f.measures.volume_ml),
            "dice": dice,
        })
    });
    json!({
        "target_chosen": segment.settings.target_chosen,
        "target": params.target,
        "tolerance": params.tolerance,
        "smoothness": params.smoothness,
        "sampled": state.segment_sample().map(|s| s.count()),
        "spheres": segment.spheres.len(),
        "running": runtime.running,
        "plays": runtime.play != crate::state::RunControl::Rest,
        "failed": runtime.failed,
        "surface": live,
    })
}

/// The weights shown.
fn filter(state: &State) -> Value {
    let (document, runtime) = (&state.document, &state.runtime.filter);
    let fitted = document.filtered().and_then(|(layer, lines)| {
        let (fitted, _) = document.weights_of_layer(layer)?;
        let figures = &fitted.figures;
        Some(json!({
            "streamlines": lines.len(),
            "with_weight": fitted.sorted.len(),
            "kept": fitted.count_above(document.filter.min_weight(layer.id)),
            "shown": document.shown_by_weight(layer.id).key(),
            "objective": figures.objective,
            "rmse": figures.rmse,
            "iterations": figures.iterations,
            "ended": figures.ended,
            "lesions": fitted.lesions.len(),
            "current": fitted.weighted == lines.id(),
        }))
    });
    json!({
        "weighing": runtime.running.is_some(),
        "refused": state.cannot_filter(),
        "failed": state.why_fit_failed(),
        "counted": runtime.estimate.shown().map(|(_, needs)| needs.demand.segments),
        "weights": fitted,
    })
}

/// The pathway of the current regions, and kept ones.
fn pathways(state: &State) -> Value {
    let kept = state.document.kept_pathways.iter().map(|kept| {
        let command = pathway_command(state, Some(kept.id)).map(|r| r.text());
        json!({
            "name": kept.name,
            "visible": kept.visible,
            "epsilon": kept.epsilon,
            "command": command,
        })
    });
    let live = state.final_pathway().map(|result| {
        json!({
            "least": result.pathway.min_cost,
            "joined_from": result.pathway.joining_epsilon,
            "command": pathway_command(state, None).map(|r| r.text()),
        })
    });
    let runtime = &state.runtime.pathways;
    let shown = runtime.live.value().map(|result| {
        json!({
            "params": match &result.key.params {
                PathwayParams::Tensors(params) => json!(params),
                PathwayParams::Distributions(params) => json!(params),
            },
            "least": result.pathway.min_cost,
            "coarse": result.coarse,
            "standing": state.pathway_standing().map(|s| s.key()),
            "stale": state.pathway_is_stale(),
            "wall_ms": runtime.wall_ms,
        })
    });
    let compared = state.pathway_compared().map(|compared| {
        json!({
            "pairs": compared.known_pairs.pairs.rates.len(),
            "weakest_above": compared.shares.map(|s| s.weakest),
            "cost_per_mm_above": compared.shares.map(|s| s.mean),
            "wall_ms": compared.wall_ms,
        })
    });
    json!({
        "settings": state.document.pathways,
        "live": live,
        "shown": shown,
        "compared": compared,
        "kept": kept.collect::<Vec<_>>(),
    })
}

/// The whole state in a few hundred bytes.
pub fn state(state: &State) -> Value {
    let (document, view, runtime) = (&state.document, &state.view, &state.runtime);
    let live = runtime.track.live.value().map(|live| {
        json!({
            "kept": live.output.kept.len(),
            "seeds": live.seeds,
            "coarse": live.coarse,
            "wall_ms": live.wall_ms,
            "passed": live.rays.as_ref().map(|r| r.measures.len()),
            "least": live.rays.as_ref().and_then(|r| r.min_measure),
            "command": document.live_command_line(live).text(),
        })
    });
    let errors = runtime.notices.messages.iter();
    let errors = errors.filter(|m| m.severity == Severity::Error);
    json!({
        "document": document.name,
        "layers": document.layers.iter().map(|l| layer(document, l)).collect::<Vec<_>>(),
        "regions": document.regions.iter().map(|r| region(r)).collect::<Vec<_>>(),
        "fitted": document.tensors.as_ref().map(|t| t.fitted),
        "live": live,
        "live_error": runtime.track.live.failure(),
        "pathways": pathways(state),
        "segment": segment(state),
        "filter": filter(state),
        "backend": runtime.device.backend.label,
        "status": &*runtime.notices.status,
        "errors": errors.map(|m| m.text.clone()).collect::<Vec<_>>(),
        "jobs": runtime.jobs.running.iter().map(|j| j.label.clone()).collect::<Vec<_>>(),
        "undo": state.history.undo_label(),
        "redo": state.history.redo_label(),
        "unsettled": runtime.track.live.waits_for_rest(),
        "session": runtime.sessions.file,
        "dirty": state.is_dirty(),
        "autosaved": runtime.sessions.autosave.last.is_some() && !runtime.sessions.autosave.is_running,
        "left_behind": runtime.sessions.recovery.sessions.len(),
        "view": view,
    })
}

/// Metadata of a picture, as text chunks of a PNG.
pub fn picture(state_shown: &State) -> Vec<(String, String)> {
    let version = env!("CARGO_PKG_VERSION");
    let mut chunks = vec![
        ("Software".to_owned(), format!("Arcuate {version}")),
        ("Disclaimer".to_owned(), DISCLAIMER.to_owned()),
        ("Title".to_owned(), state_shown.document.name.clone()),
        ("Arcuate".to_owned(), state(state_shown).to_string()),
    ];
    // The command line of the task's subject.
    let command = match state_shown.view.task {
        Task::Pathways => pathway_command(state_shown, None),
        Task::Segment => segment_command(state_shown),
        Task::Filter => filter_command(state_shown),
        Task::View | Task::Track => {
            let live = state_shown.runtime.track.live.value();
            live.map(|live| state_shown.document.live_command_line(live))
        }
    };
    chunks.extend(command.map(|line| ("Command".to_owned(), line.text())));
    chunks
}

/// An action's name in the source: `Undo`, or `Region.Place` for the action of a feature.
pub fn name(action: &Action) -> String {
    use std::fmt::Write;
    /// Stops formatting after the words of the name: the content of an event may be a whole scan.
    struct TextWriter {
        text: String,
        left: usize,
    }
    impl Write for TextWriter {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            for c in text.chars() {
                if c.is_ascii_alphanumeric() {
                    self.text.push(c);
                    continue;
                }
                self.left -= 1;
                if self.left == 0 {
                    return Err(std::fmt::Error);
                }
                self.text.push('.');
            }
            Ok(())
        }
    }
    let left = if action.is_of_feature() { 2 } else { 1 };
    let mut name = TextWriter {
        text: String::new(),
        left,
    };
    // The error marks the end of the name.
    let _ = write!(name, "{action:?}");
    name.text
}
