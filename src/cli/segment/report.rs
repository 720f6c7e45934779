//! Results of a run: text, JSON, and the leak that ended it.

use super::super::output::shown;
use super::super::runner::Failure;
use crate::data::text::counted;
use crate::solvers::level_set::{Ended, RECENT_STEPS, recent_growth};
use crate::state::LeakNotice;
use crate::state::core::text::{fixed, plain_ml};
use crate::state::segment::is_far_larger;
use crate::state::segment::jobs::SegmentOutput;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Exit code of a run that leaked.
const LEAKED: u8 = 3;

/// The leak that ended a run.
pub fn leak_failure(output: &SegmentOutput) -> Option<Failure> {
    output.leak.map(|leaked| Failure {
        sentence: sentence(&leaked),
        exit_code: LEAKED,
    })
}

/// The leak in one sentence.
fn sentence(leaked: &LeakNotice) -> String {
    let near = leaked.at.map_or_else(String::new, |at| {
        let [x, y, z] = at.to_array();
        format!(" near {x:.0}, {y:.0}, {z:.0} mm")
    });
    // Both volumes count whole voxels: the run stores no other volume of the earlier step.
    let now_ml = leaked.before_ml * (1.0 + leaked.grown);
    format!(
        "The surface leaks from step {} on{near} ({}; {} became {}), expected it to stay in \
         the structure; the files hold it as it was when it was stopped: narrow --tolerance, raise --smoothness, \
         cut it off with --remove or --not-here, or add --ignore-leaks",
        leaked.leak.rewind_step,
        leaked.leak.cause.clause(),
        plain_ml(leaked.before_ml, 3),
        plain_ml(now_ml, 3)
    )
}

/// Warns of a run that ended with its last step before the surface came to rest: in connected tissue of the same values
/// a surface runs on without a leak.
pub fn not_at_rest(output: &SegmentOutput) -> Option<String> {
    if output.ended != Ended::Steps {
        return None;
    }
    let by_step = (output.growth.iter().enumerate()).map(|(step, n)| (step as u64, *n));
    let growth = recent_growth(by_step).unwrap_or(0.0);
    let grew = match (100.0 * growth).round() {
        percent if percent >= 1.0 => {
            format!(" and grew by {percent:.0} % in the last {RECENT_STEPS}")
        }
        _ => String::new(),
    };
    let m = &output.measures;
    Some(format!(
        "The surface is not at rest after {}{grew}, expected it to stop at the boundary of the structure: it contains \
         {} and is {:.0} mm long; if that is too large, narrow --tolerance or cut other tissue off with --remove, else \
         add --steps",
        counted(output.script.steps as usize, "step"),
        plain_ml(m.volume_ml, 3),
        m.diameter_mm,
    ))
}

/// Warns of a surface at rest that contains at least 30 ml and a hundred times its initial volume: it may have come to
/// rest far beyond the structure.
pub fn far_larger(output: &SegmentOutput) -> Option<String> {
    let (before, inside) = (*output.growth.first()?, *output.growth.last()?);
    let m = &output.measures;
    let is_doubtful = output.ended == Ended::Converged
        && is_far_larger(before as f64, inside as f64, m.volume_ml);
    is_doubtful.then(|| {
        format!(
            "The surface contains {}, {:.0} times its initial volume, and is {:.0} mm long; if that exceeds the \
             structure, narrow --tolerance or cut other tissue off with --remove",
            plain_ml(m.volume_ml, 3),
            inside as f64 / (before as f64).max(1.0),
            m.diameter_mm,
        )
    })
}

/// The label of how a run ended.
fn end_label(ended: Ended) -> &'static str {
    match ended {
        Ended::Steps => "still moving",
        Ended::Converged => "at rest",
        Ended::Vanished => "vanished",
        Ended::Filled => "filled the whole image",
        Ended::Leaked(_) => "leaked",
    }
}

/// The JSON object and the text.
pub fn summary(output: &SegmentOutput, files: &[PathBuf; 3]) -> (Value, String) {
    let m = &output.measures;
    let steps = output.script.steps;
    let rate = 1e3 * steps as f64 / output.run_ms.max(1e-3);
    let ended = output.ended.key();
    let leak = output.leak.map(|l| {
        json!({
            "cause": l.leak.cause.key(), "from": l.leak.rewind_step, "noticed": l.leak.noticed,
            "at_mm": l.at.map(|at| at.to_array()), "volume_before_ml": l.before_ml,
        })
    });
    let mut value = json!({
        "command": "segment", "steps": steps, "ended": ended, "leak": leak,
        "volume_ml": m.volume_ml, "voxels": m.voxels, "area_mm2": m.area_mm2,
        "diameter_mm": m.diameter_mm, "active": m.active, "bricks": output.size.bricks,
        "bytes": output.size.bytes, "kept_bytes": output.size.kept_bytes, "run_ms": output.run_ms,
        "missing": output.missing, "target": output.script.params.target,
        "tolerance": output.script.params.tolerance, "files": files,
    });
    let mut text = format!(
        "{} ({}), {} per second; target {}, tolerance {}\n\
         {}, {}, surface {} mm², longest diameter {:.1} mm\n\
         {} in {}\n",
        counted(steps as usize, "step"),
        end_label(output.ended),
        fixed(rate, 0),
        output.script.params.target,
        output.script.params.tolerance,
        plain_ml(m.volume_ml, 3),
        counted(m.voxels as usize, "voxel"),
        fixed(m.area_mm2, 0),
        m.diameter_mm,
        counted(m.active as usize, "active voxel"),
        counted(output.size.bricks, "brick")
    );
    if let Some(a) = &output.agreement {
        value["agreement"] = json!({
            "dice": a.dice, "sensitivity": a.sensitivity, "specificity": a.specificity,
            "correct": a.correct, "mean_mm": a.mean_mm, "hausdorff95_mm": a.hausdorff95_mm,
        });
        text += &format!(
            "Dice {:.4}, sensitivity {:.4}, specificity {:.4}, correct {:.4}; borders {:.2} mm apart in \
             the mean, {:.2} mm at 95 %\n",
            a.dice, a.sensitivity, a.specificity, a.correct, a.mean_mm, a.hausdorff95_mm
        );
    }
    for file in files {
        text += &format!("{}\n", shown(file));
    }
    (value, text)
}
