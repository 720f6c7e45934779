//! Receives streamlines and rays of the current regions, and reports what remains after a stop.

use crate::data::Region;
use crate::data::Role;
use crate::data::text::counted;
use crate::parameters;
use crate::solvers::{curves, odf_tracking};
use crate::state::core::layer::LayerId;
use crate::state::core::notices::StatusSubject;
use crate::state::core::text::duration_text;
use crate::state::document::Method;
use crate::state::edit::edit;
use crate::state::origin::commands::field_origin;
use crate::state::tensors::types::BootstrapInput;
use crate::state::track::empty::{none_started, started_count};
use crate::state::track::jobs::odf_streamlines::TrackOdfStreamlines;
use crate::state::track::types::{CurveKey, CurveParams, CurveResult};
use crate::state::{Document, Phase, State};
use std::sync::Arc;

pub use crate::state::track::key::regions;

/// The live result that `output` makes; `None` where its tensors or distributions are not those of the document.
pub fn result(
    document: &Document,
    output: Arc<curves::Output>,
    key: CurveKey,
    wall_ms: f64,
) -> Option<CurveResult> {
    let targets = key.regions.iter().filter(|r| r.role == Role::Target);
    Some(CurveResult {
        fit: field_origin(document, key.field)?,
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
    let started = started_count(&result.output) as usize;
    let kept = counted(result.output.kept.len(), "streamline");
    let (finished, what, min_fa) = match &result.key.curves {
        CurveParams::Streamlines(params) => (
            format!("{kept} from {}", counted(started, "started seed")),
            "streamline",
            params.min_fa,
        ),
        CurveParams::OdfStreamlines(_) => (
            format!("{kept} from {}", counted(started, "started seed")),
            "streamline",
            None,
        ),
        CurveParams::Rays(..) | CurveParams::OdfRays(..) => {
            (format!("Traced {}", counted(started, "ray")), "ray", None)
        }
    };
    let place = result.place_of_starts(&state.document);
    let why = none_started(&result.output, min_fa, &place);
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

/// The job that tracks along the distributions of the document; `None` without them, or if the chosen tissues
/// are missing.
pub fn odf_job(
    state: &mut State,
    regions: Vec<Region>,
    params: odf_tracking::Params,
) -> Option<TrackOdfStreamlines> {
    let document = &state.document;
    let inputs = &mut state.runtime.track.odf_inputs;
    let key = document.tissue_key()?;
    let image = document.tissues().map(|(_, image)| image);
    let field = document.distributions.field()?;
    let resample = params
        .repetitions
        .and_then(|_| inputs.resample(field, || document.fod_resample()));
    Some(TrackOdfStreamlines {
        distributions: inputs.distributions(field),
        resample,
        tissues: key.zip(image.map(|image| inputs.tissues(image))),
        regions,
        params,
        coarse: false,
    })
}

/// Sets the parameters of streamlines along distributions; with another method, values that the user has not chosen
/// become the defaults of that method.
pub fn set_odf_params(state: &mut State, params: Option<odf_tracking::Params>, phase: Phase) {
    let document = &state.document;
    let before = document.odf_params();
    let params = params.map(|params| match params.method == before.method {
        true => params,
        false => {
            let [old, new] = [before.method, params.method].map(|m| document.odf_defaults(m));
            parameters::carried(&params, &old, &new)
        }
    });
    edit(state, "Tracking", phase == Phase::Live, |d| {
        d.track.odf.params = params;
    });
}

/// Chooses the tissues; values that the user has not chosen become the defaults with or without tissues.
pub fn set_tissues(state: &mut State, tissues: Option<LayerId>) {
    edit(state, "Tissues", false, |d| {
        let params = d.track.odf.params.take();
        let method = params.as_ref().map(|params| params.method);
        let before = method.map(|method| d.odf_defaults(method));
        d.track.odf.tissues = tissues;
        let after = method.map(|method| d.odf_defaults(method));
        let both = before.zip(after);
        let carried = params
            .zip(both)
            .map(|(params, (before, after))| parameters::carried(&params, &before, &after));
        d.track.odf.params = carried.map(|params| odf_tracking::Params {
            // The interface is that of tissues.
            at_interface: params.at_interface && tissues.is_some(),
            ..params
        });
    });
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
