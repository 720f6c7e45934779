//! Receives streamlines and rays of the present regions, and reports what remains after a stop.

use crate::data::Role;
use crate::data::text::counted;
use crate::solvers::curves;
use crate::state::core::notices::StatusSubject;
use crate::state::core::text::duration_text;
use crate::state::document::Method;
use crate::state::origin::commands::fit_of;
use crate::state::tensors::mask_text;
use crate::state::tensors::types::BootstrapInput;
use crate::state::track::empty::none_started;
use crate::state::track::types::{CurveKey, CurveParams, CurveResult};
use crate::state::{Document, State};
use std::sync::Arc;

pub use crate::state::track::key::regions;

/// The live result that `output` makes; `None` where its tensors are not those of the document.
pub fn result(
    document: &Document,
    output: Arc<curves::Output>,
    key: CurveKey,
    wall_ms: f64,
) -> Option<CurveResult> {
    let targets = key.regions.iter().filter(|r| r.role == Role::Target);
    Some(CurveResult {
        fit: fit_of(document, key.field)?,
        seeds: output.seed_outcomes.iter().sum::<u64>() as usize,
        output,
        coarse: key.coarse,
        wall_ms,
        targets: targets.map(|r| r.id).collect(),
        key,
        rays: None,
    })
}

/// Shows curves that arrived, unless they are out of date: newer ones were requested, or there is no seed any
/// more. Only while something is dragged may they lag behind it.
pub fn show(state: &mut State, result: CurveResult) {
    let requested_key = state.document.curve_key();
    let tracking = &mut state.runtime.track.live;
    let keys = tracking.running().into_iter().chain(&requested_key);
    let Some(key) = keys
        .into_iter()
        .find(|full| result.key.is_of(full))
        .cloned()
    else {
        return;
    };
    let detail = result.detail();
    if tracking.done(key, detail, result.clone(), requested_key.as_ref()) {
        status(state, &result);
    }
}

fn status(state: &mut State, result: &CurveResult) {
    // A task that does not show the curves has no status about them.
    if !state.view.task.shows_live() {
        return;
    }
    let seeds = result.seeds;
    let kept = counted(result.output.kept.len(), "streamline");
    let (finished, what, min_fa) = match &result.key.curves {
        CurveParams::Streamlines(params) => (
            format!("{kept} from {}", counted(seeds, "seed")),
            "streamline",
            params.min_fa,
        ),
        CurveParams::Rays(..) => (format!("Traced {}", counted(seeds, "ray")), "ray", None),
    };
    let why = none_started(&result.output, min_fa, &mask_text::name_of(&state.document));
    let message = match why {
        None if seeds == 0 => format!("No {what} started: no seed point was drawn"),
        None => format!("{finished} in {}", duration_text(result.wall_ms)),
        Some(why) => {
            let from = counted(seeds, "seed");
            format!("No {what} started from {from}: {why}")
        }
    };
    let status = &mut state.runtime.notices.status;
    status.add_result(StatusSubject::LiveResult, message);
}

/// Shows the streamlines of the regions.
pub fn live_done(state: &mut State, output: Arc<curves::Output>, key: CurveKey, wall_ms: f64) {
    if let Some(live) = result(&state.document, output, key, wall_ms) {
        show(state, live);
    }
}

/// The curves of the regions could not be computed; `why` is the reason.
pub fn failed(state: &mut State, why: &str) {
    let requested_key = state.document.curve_key();
    // A coarse result fails for the same reason as the full one.
    let live = &mut state.runtime.track.live;
    live.halt(requested_key.as_ref(), Some(why));
    live.clear_shown();
}

/// Input of a bootstrap, if one is requested.
pub fn resample(document: &Document) -> Option<Box<BootstrapInput>> {
    document.track.streamlines.repetitions?;
    document.resample().map(Box::new)
}

/// The user stopped the job: reports which result is shown now.
pub fn stopped(state: &mut State) {
    let requested_key = state.document.curve_key();
    let live = &mut state.runtime.track.live;
    live.give_up(requested_key.as_ref(), None);
    let what = match state.document.track.method {
        Method::Streamlines => "streamlines",
        Method::Rays => "rays",
    };
    let left = match state.runtime.track.live.value() {
        None => format!("there are no {what} yet"),
        Some(live) if live.coarse && live.key.is_current(&state.document) => {
            format!("the {what} shown are a coarse result")
        }
        Some(_) => format!("the {what} shown are from before the last change"),
    };
    state.runtime.notices.status = format!("Stopped: {left}").into();
}
