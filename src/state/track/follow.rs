//! Requests the live curves, and those of them that stopped for one reason or pass the crosshair's voxel, whenever the
//! document, the curves, the reason or the voxel has changed.

use crate::data::Tractogram;
use crate::solvers::curves::{self, Seeding};
use crate::state::core::live::{CoarseFirst, Detail, Order, Pace, SLOW_MS, Standing};
use crate::state::tensors::jobs::fit::FIT;
use crate::state::tensors::types::fods::FodSource;
use crate::state::track::jobs::LIVE;
use crate::state::track::jobs::copy::CopyLive;
use crate::state::track::jobs::drawing;
use crate::state::track::jobs::odf_streamlines::TrackOdfStreamlines;
use crate::state::track::jobs::stopped::CollectStopped;
use crate::state::track::jobs::streamlines::{LiveTracking, TrackStreamlines};
use crate::state::track::key::{coarse_odf_params, coarse_params, regions};
use crate::state::track::types::odf::{Model, OdfInputs};
use crate::state::track::types::{
    CurveKey, CurveKind, CurveParams, CurveResult, CurvesAtCrosshair, StopFilterKey,
};
use crate::state::track::{rays, update};
use crate::state::{Effect, State, Task};
use glam::Vec3;
use std::time::Duration;

/// Examining this many points takes a few milliseconds; with more, nothing is displayed.
const MAXIMUM_POINTS: usize = 2_000_000;

/// Copying this many points takes about a tenth of a frame.
const AT_ONCE: usize = 500_000;

pub fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    choose_only_model(state);
    curves(state, effects);
    rays::follow_cut(state, effects);
    copy(state, effects);
    stopped(state, effects);
    follow_crosshair(state);
}

/// Without tensors, and without a fit that will bring some, distributions that were just read are the only model. They
/// are chosen once: a model that the user chooses afterwards, or that a session holds, stays.
fn choose_only_model(state: &mut State) {
    let document = &state.document;
    let settings = &document.distributions.settings;
    if !settings.requested || settings.source == FodSource::Scan {
        state.runtime.track.model_chosen_for = None;
        return;
    }
    let result = document.distributions.result.as_ref();
    let read = result.filter(|result| result.key.is_read());
    let Some(source) = read.map(|result| result.key.settings.source) else {
        // The distributions are still being read.
        return;
    };
    let has_tensors = document.tensors.is_some();
    let awaits_tensors = !has_tensors && state.runtime.jobs.is_running(&[FIT]);
    if awaits_tensors || state.runtime.track.model_chosen_for == Some(source) {
        return;
    }
    state.runtime.track.model_chosen_for = Some(source);
    if !has_tensors {
        state.document.track.model = Model::Distributions;
    }
}

/// Requests the streamlines or rays of the regions as they are; without a seed there are none.
fn curves(state: &mut State, effects: &mut Vec<Effect>) {
    let document_key = state.document.curve_key();
    // The state of another method's or model's curves does not apply to this one.
    let kind = state.document.track.kind();
    let runtime = &mut state.runtime;
    let is_other = |live: &CurveResult| live.key.curves.kind() != kind;
    if runtime.track.live.value().is_some_and(is_other) {
        runtime.track.live.clear_shown();
    }
    if kind != CurveKind::OdfStreamlines {
        runtime.track.odf_inputs = OdfInputs::default();
    }
    if kind != CurveKind::OdfRays {
        runtime.track.odf_metric = None;
    }
    rays::note_kind(&mut runtime.track, kind);
    runtime.track.live.rekey(|live| {
        let full = document_key.as_ref().filter(|full| live.key.is_of(full));
        (full.unwrap_or(&live.key).clone(), live.detail())
    });
    let is_dragging = state.is_dragging();
    let is_hidden = is_hidden(state);
    let tracking = &mut state.runtime.track.live;
    if is_hidden && is_dragging {
        return tracking.pause();
    }
    if is_hidden {
        // A drag in another task does not affect these curves.
        tracking.rest(document_key.as_ref());
    }
    let stays = |full: &CurveKey| {
        tracking.has_failed_for(full) || tracking.standing(Some(full)) == Some(Standing::Final)
    };
    // Hidden curves are tracked when they are shown again; until then only a final or failed result is kept.
    let requested_key = document_key.filter(|full| !is_hidden || stays(full));
    let pace = pace(state);
    let runtime = &mut state.runtime;
    let order = runtime
        .track
        .live
        .follow(requested_key.as_ref(), is_dragging, pace);
    runtime.device.fallback.live &= runtime.track.live.has_failed();
    match order {
        Order::Nothing => {}
        Order::Cancel => effects.push(Effect::Cancel(LIVE)),
        Order::Start(key, detail) => start(state, &key, detail, effects),
    }
}

/// Whether the task hides the curves. A run without a window computes all results of a session.
fn is_hidden(state: &State) -> bool {
    state.view.task == Task::Pathways && !state.runtime.sessions.strict
}

fn pace(state: &State) -> Pace {
    // Without a window, a coarse result would be useless.
    if state.runtime.sessions.strict {
        return Pace::Newest;
    }
    let has_coarse = match state.document.track.kind() {
        CurveKind::Streamlines => {
            let params = &state.document.track.streamlines;
            coarse_params(params) != *params
        }
        CurveKind::OdfStreamlines => {
            let params = state.document.odf_params();
            coarse_odf_params(&params) != params
        }
        CurveKind::Rays | CurveKind::OdfRays => rays::coarse_seeds(state).is_some(),
    };
    Pace::CoarseFirst(CoarseFirst {
        in_drag: has_coarse,
        at_rest: has_coarse && full_ms(state).is_some_and(|ms| ms > SLOW_MS),
        // A coarse result takes a few milliseconds, so none is cancelled for the next.
        age: Duration::ZERO,
    })
}

/// Expected duration of the full curves; `None` where the number of seeds is not known.
fn full_ms(state: &State) -> Option<f64> {
    // Speeds assumed before the first result: by these, default numbers of curves need no coarse result.
    const STREAMLINES_PER_MS: f64 = 30.0;
    const RAYS_PER_MS: f64 = 30.0;
    const ODF_RAYS_PER_MS: f64 = 10.0;
    /// Along distributions, on a processor of four cores.
    const ODF_STREAMLINES_PER_MS: f64 = 20.0;
    let track = &state.document.track;
    let kind = track.kind();
    let last = state.runtime.track.live.value();
    let last = last.filter(|l| l.key.curves.kind() == kind && l.wall_ms > 0.0);
    let known = last.map(|l| l.seeds as f64 / l.wall_ms);
    let random = |seeding: Seeding| match seeding {
        Seeding::Random { count } => Some(count),
        Seeding::Grid { .. } | Seeding::PerVoxel { .. } => None,
    };
    let (count, per_ms) = match kind {
        CurveKind::Rays | CurveKind::OdfRays => {
            let assumed = match kind.model() {
                Model::Tensors => RAYS_PER_MS,
                Model::Distributions => ODF_RAYS_PER_MS,
            };
            let known = state.runtime.track.rays_per_ms;
            (track.chosen_rays().count()?, known.unwrap_or(assumed))
        }
        CurveKind::Streamlines => {
            let repetitions = track.streamlines.repetitions.unwrap_or(1);
            let all = random(track.streamlines.seeding)?.saturating_mul(repetitions);
            (all, known.unwrap_or(STREAMLINES_PER_MS))
        }
        CurveKind::OdfStreamlines => {
            let params = state.document.odf_params();
            let count = match params.select {
                // How many seeds they take is not known before.
                Some(_) => last.map(|l| l.seeds)?,
                None => random(params.seeding)?.saturating_mul(params.repetitions.unwrap_or(1)),
            };
            (count, known.unwrap_or(ODF_STREAMLINES_PER_MS))
        }
    };
    Some(count as f64 / per_ms)
}

fn start(state: &mut State, key: &CurveKey, detail: Detail, effects: &mut Vec<Effect>) {
    let coarse = detail == Detail::Coarse;
    let job = match &key.curves {
        CurveParams::Streamlines(params) => {
            let params = match coarse {
                true => coarse_params(params),
                false => params.clone(),
            };
            streamlines(state, params, coarse)
        }
        CurveParams::Rays(..) => {
            let tensors = state.document.tensors.as_ref();
            tensors.map(|tensors| Effect::submit(rays::request(state, tensors, coarse)))
        }
        CurveParams::OdfRays(..) => {
            let field = state.document.distributions.field();
            field.map(|field| Effect::submit(rays::odf_request(state, field, coarse)))
        }
        CurveParams::OdfStreamlines(params) => {
            let params = match coarse {
                true => coarse_odf_params(params),
                false => params.clone(),
            };
            let regions = regions(&state.document);
            let job = update::odf_job(state, regions, params);
            job.map(|job| Effect::submit(LiveTracking(TrackOdfStreamlines { coarse, ..job })))
        }
    };
    effects.extend(job);
}

fn streamlines(state: &State, params: curves::Params, coarse: bool) -> Option<Effect> {
    let document = &state.document;
    let tensors = document.tensors.as_ref()?;
    Some(Effect::submit(LiveTracking(TrackStreamlines {
        field: tensors.field.clone(),
        fa: tensors.fa.clone(),
        regions: regions(document),
        params,
        resample: update::resample(document),
        coarse,
        drawing: drawing::requested(document),
    })))
}

/// Requests the copy on the host of curves that a card drew, once the controls rest: until then others may follow.
fn copy(state: &mut State, effects: &mut Vec<Effect>) {
    let is_dragging = state.is_dragging();
    let track = &mut state.runtime.track;
    let on_card = |live: &&CurveResult| {
        let curves = [&live.output.kept, &live.output.missed];
        !live.coarse && curves.iter().any(|c| !c.points.is_on_host())
    };
    let Some(live) = track.live.value().filter(on_card) else {
        track.copied = None;
        return;
    };
    let id = live.output.kept.id();
    if is_dragging || track.copied == Some(id) {
        return;
    }
    effects.push(Effect::submit(CopyLive::new(live)));
    track.copied = Some(id);
}

fn stopped(state: &mut State, effects: &mut Vec<Effect>) {
    let live = state.runtime.track.live.value();
    let requested = state
        .view
        .stop
        .zip(live)
        .map(|(reason, live)| StopFilterKey {
            curves: [live.output.kept.id(), live.output.missed.id()],
            reason,
        });
    let curves = live.map(|live| [&live.output.kept, &live.output.missed].map(Tractogram::clone));
    let query = state.runtime.streamlines.stopped.ask(requested);
    let (Some(StopFilterKey { reason, .. }), Some(curves)) = (query, curves) else {
        return;
    };
    // Copying points from a card takes a while and may fail, which only a job reports.
    let is_on_host = curves.iter().all(|c| c.points.is_on_host());
    if !is_on_host || curves.iter().map(|c| c.points.len()).sum::<usize>() > AT_ONCE {
        return effects.push(Effect::submit(CollectStopped { curves, reason }));
    }
    let selected = curves.map(|curves| reason.only(&curves));
    state.runtime.streamlines.stopped.finish(selected);
}

fn follow_crosshair(state: &mut State) {
    let document = &state.document;
    let tensors = document.tensors.as_ref().map(|t| &t.field.grid);
    let distributions = document.distributions.field().map(|field| &field.grid);
    let grid = match document.track.kind().model() {
        Model::Tensors => tensors,
        Model::Distributions => distributions,
    };
    let live = state.runtime.track.live.value();
    let live = live.filter(|live| {
        let points = &live.output.kept.points;
        state.view.task == Task::Track && points.len() <= MAXIMUM_POINTS && points.is_on_host()
    });
    let voxel = grid.and_then(|grid| grid.nearest(state.view.crosshair));
    let (Some(grid), Some(live), Some(voxel)) = (grid, live, voxel) else {
        state.runtime.track.at_crosshair = None;
        return;
    };
    let curves = &live.output.kept;
    let known = state.runtime.track.at_crosshair.as_ref();
    if known.is_some_and(|p| p.curves == curves.id() && p.voxel == voxel) {
        return;
    }
    let centre = grid.world(glam::DVec3::from_array(voxel.map(|v| v as f64)));
    let near = centre.as_vec3();
    // A sphere around the voxel first: most points are far away.
    let radius = (grid.spacing().length() * 0.5) as f32;
    let inside = |point: &[f32; 3]| {
        let point = Vec3::from(*point);
        point.distance_squared(near) <= radius * radius
            && grid.nearest(point.as_dvec3()) == Some(voxel)
    };
    let through: Vec<usize> = (0..curves.len())
        .filter(|&i| curves.streamline(i).iter().any(inside))
        .collect();
    let measures = curves.per_streamline.get("cm");
    let measure = measures.filter(|_| !through.is_empty()).map(|measures| {
        let sum: f64 = through.iter().map(|&i| f64::from(measures[i])).sum();
        sum / through.len() as f64
    });
    state.runtime.track.at_crosshair = Some(CurvesAtCrosshair {
        curves: curves.id(),
        voxel,
        count: through.len(),
        measure,
    });
}
