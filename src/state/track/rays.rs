//! Geodesic rays: their number during a drag, and the cut, which needs no new rays.

use crate::data::{DataId, OdfField, Tractogram};
use crate::solvers::curves::Seeding;
use crate::solvers::geodesic::{self, Cut, OdfMetric, RayMetric, RayMetricParams};
use crate::state::core::phase::Phase;
use crate::state::document::{Document, Rays, Tensors};
use crate::state::edit::edit;
use crate::state::track::jobs::cut::{CutRays, after_cut};
use crate::state::track::jobs::drawing;
use crate::state::track::jobs::lobes::TraceLobes;
use crate::state::track::jobs::trace::{RayOutput, TraceRays};
use crate::state::track::key::regions;
use crate::state::track::types::odf::{Model, OdfRays};
use crate::state::track::types::{
    CurveKey, CurveKind, CurveParams, CutKey, RayResult, TrackRuntime, measure_range,
};
use crate::state::track::update;
use crate::state::{Effect, State};
use std::sync::Arc;

/// Time for coarse rays: a third of the tenth of a second after which a response seems late; drawing takes the rest.
const COARSE_MS: f64 = 100.0 / 3.0;
/// Time if the default leaves too few rays to judge by.
const MAXIMUM_COARSE_MS: f64 = 100.0;
/// This many rays suffice to judge by: the few coarse ones that pass are not cut to fewer.
const ENOUGH: usize = 20;
/// Number of coarse rays while their speed is unknown, and the smallest number.
const FIRST_COARSE_RAYS: usize = 1_500;
/// A step along a lobe takes ten times as long as one in tensors.
const FIRST_COARSE_ODF_RAYS: usize = 400;
const MINIMUM_COARSE_RAYS: usize = 400;

/// Number of coarse rays, from the speed of the last ones and the fraction of them that passed.
fn coarse_count(per_ms: f64, passed: Option<f64>) -> usize {
    let in_time = COARSE_MS * per_ms;
    let enough = passed.map_or(in_time, |share| ENOUGH as f64 / share.max(1e-9));
    let count = enough.clamp(in_time, (MAXIMUM_COARSE_MS * per_ms).max(in_time));
    (count as usize).max(MINIMUM_COARSE_RAYS)
}

/// Forgets the speed of rays of the other kind.
pub fn note_kind(track: &mut TrackRuntime, kind: CurveKind) {
    let has_rays = matches!(kind, CurveKind::Rays | CurveKind::OdfRays);
    if !has_rays || track.ray_kind == Some(kind) {
        return;
    }
    if track.ray_kind.is_some() {
        (track.rays_per_ms, track.rays_passed) = (None, None);
    }
    track.ray_kind = Some(kind);
}

/// Changes the parameters of rays in tensors; if only the cut changed, the rays stay.
pub fn set(state: &mut State, rays: Rays, phase: Phase) {
    let before = &state.document.track.rays;
    let same = (&before.metric, &before.params) == (&rays.metric, &rays.params);
    let ends = *before == rays;
    change(state, (same, ends), phase, |d| d.track.rays = rays);
}

/// Changes the parameters of rays along distributions, like [`set`].
pub fn set_odf(state: &mut State, rays: OdfRays, phase: Phase) {
    let before = &state.document.track.odf.rays;
    let same = (before.speed, &before.rays.params) == (rays.speed, &rays.rays.params);
    let ends = *before == rays;
    change(state, (same, ends), phase, |d| d.track.odf.rays = rays);
}

/// `same`: everything except the cut; `ends`: the cut, too. The end of a drag changes nothing, and belongs to the dragged
/// control.
fn change(
    state: &mut State,
    (same, ends): (bool, bool),
    phase: Phase,
    apply: impl FnOnce(&mut Document),
) {
    const CUT: &str = "Cut";
    let by_cut = same && (!ends || state.history.joins(CUT));
    let label = if by_cut { CUT } else { "Rays" };
    edit(state, label, phase == Phase::Live, apply);
    if by_cut {
        // A cut that failed before is tried again.
        state.runtime.track.cut.retry();
    }
}

/// Number of seed points of coarse rays; `None` if the full number is no larger. It depends on the speed of the last
/// rays; the choice of points depends on this number alone.
pub fn coarse_seeds(state: &State) -> Option<usize> {
    let track = &state.document.track;
    let params = &track.chosen_rays().params;
    let passed = state.runtime.track.rays_passed;
    let known = state.runtime.track.rays_per_ms;
    let first = match track.model {
        Model::Tensors => FIRST_COARSE_RAYS,
        Model::Distributions => FIRST_COARSE_ODF_RAYS,
    };
    let rays = known.map_or(first, |per_ms| coarse_count(per_ms, passed));
    let seeds = (rays / params.directions.count().max(1)).max(1);
    let all = match params.curves.seeding {
        Seeding::Random { count } => count,
        Seeding::Grid { .. } | Seeding::PerVoxel { .. } => usize::MAX,
    };
    (seeds < all).then_some(seeds)
}

/// Rays to be traced: all, or coarse ones.
struct Requested {
    params: geodesic::Params,
    cut: Cut,
    coarse: bool,
}

/// The rays of the document as it is; fewer where all would take too long and something is being dragged.
fn requested(state: &State, coarse: bool) -> Requested {
    let Rays { params, cut, .. } = state.document.track.chosen_rays();
    let (mut params, cut) = (params.clone(), *cut);
    let fewer = if coarse { coarse_seeds(state) } else { None };
    if let Some(count) = fewer {
        params.curves.seeding = Seeding::Random { count };
    }
    Requested {
        params,
        cut,
        coarse: fewer.is_some(),
    }
}

/// Requests rays in tensors.
pub fn request(state: &State, tensors: &Tensors, coarse: bool) -> TraceRays {
    let metric = state.document.track.rays.metric;
    let Requested {
        params,
        cut,
        coarse,
    } = requested(state, coarse);
    let fits = |(recipe, m): &&(RayMetricParams, RayMetric)| {
        m.field.id() == tensors.field.id()
            && *recipe == metric
            && m.interpolation == params.curves.interpolation
    };
    let prepared = state.runtime.track.ray_metric.as_ref().filter(fits);
    TraceRays {
        field: tensors.field.clone(),
        metric: prepared.map(|(_, metric)| metric.clone()),
        sharpening: metric.sharpening,
        precision: metric.precision,
        fa: tensors.fa.clone(),
        regions: regions(&state.document),
        params,
        cut,
        coarse,
        drawing: drawing::requested(&state.document),
    }
}

/// Requests rays along distributions.
pub fn odf_request(state: &State, field: &OdfField, coarse: bool) -> TraceLobes {
    let Requested {
        params,
        cut,
        coarse,
    } = requested(state, coarse);
    let prepared = state.runtime.track.odf_metric.as_ref();
    TraceLobes {
        field: field.clone(),
        metric: prepared.filter(|m| m.field.id() == field.id()).cloned(),
        speed: state.document.track.odf.rays.speed,
        regions: regions(&state.document),
        params,
        cut,
        coarse,
        drawing: drawing::requested(&state.document),
    }
}

/// Shows rays that were traced in tensors.
pub fn show(state: &mut State, job: &TraceRays, ray_output: RayOutput, wall_ms: f64) {
    let metric = RayMetricParams {
        sharpening: ray_output.metric.sharpening,
        precision: job.precision,
    };
    let key = CurveKey {
        field: ray_output.metric.field.id(),
        regions: job.regions.clone(),
        curves: CurveParams::Rays(metric, job.params.clone()),
        tissues: None,
        coarse: job.coarse,
    };
    let tensors = state.document.tensors.as_ref();
    if tensors.is_some_and(|t| t.field.id() == key.field) {
        state.runtime.track.ray_metric = Some((metric, ray_output.metric.clone()));
    }
    let repaired = ray_output.metric.repaired;
    show_traced(state, key, (job.cut, repaired), ray_output, wall_ms);
}

/// Shows rays that were traced along distributions.
pub fn show_lobes(
    state: &mut State,
    job: &TraceLobes,
    ray_output: RayOutput<OdfMetric>,
    wall_ms: f64,
) {
    let key = CurveKey {
        field: job.field.id(),
        regions: job.regions.clone(),
        curves: CurveParams::OdfRays(job.speed, job.params.clone()),
        tissues: None,
        coarse: job.coarse,
    };
    let field = state.document.distributions.field();
    if field.is_some_and(|field| field.id() == key.field) {
        state.runtime.track.odf_metric = Some(ray_output.metric.clone());
    }
    show_traced(state, key, (job.cut, 0), ray_output, wall_ms);
}

/// Shows rays; `repaired`: tensors that were not positive definite.
fn show_traced<M>(
    state: &mut State,
    key: CurveKey,
    (cut, repaired): (Cut, u64),
    ray_output: RayOutput<M>,
    wall_ms: f64,
) {
    // A late job of the other kind has another speed.
    if state.runtime.track.ray_kind == Some(key.curves.kind()) {
        let rays = (ray_output.seeds * ray_output.directions) as f64;
        state.runtime.track.rays_per_ms = Some(rays / ray_output.trace_ms.max(0.1));
        state.runtime.track.rays_passed = Some(ray_output.measures.len() as f64 / rays.max(1.0));
    }
    let coarse = key.coarse;
    let output = Arc::new(ray_output.output);
    let mut range = measure_range(&ray_output.measures);
    // Colours and bins do not change during a drag.
    let before = state
        .runtime
        .track
        .live
        .value()
        .and_then(|l| l.rays.as_ref());
    if let Some(before) = before.filter(|_| coarse) {
        range = (range.0.min(before.range.0), range.1.max(before.range.1));
    }
    let Some(mut live) = update::result(&state.document, output, key, wall_ms) else {
        return;
    };
    live.rays = Some(RayResult {
        range,
        all: ray_output.all,
        measures: ray_output.measures,
        cut,
        min_measure: ray_output.min_measure,
        repaired,
    });
    update::show(state, live);
}

/// Applies the document's cut to the existing rays: at once if that is fast. A running job is finished before the next
/// begins: cancelling on every move would show nothing during a drag.
pub fn follow_cut(state: &mut State, effects: &mut Vec<Effect>) {
    // Copying this many points takes about a tenth of a frame.
    const AT_ONCE: usize = 500_000;
    let cut = state.document.track.chosen_rays().cut;
    let rays = state
        .runtime
        .track
        .live
        .value()
        .and_then(|l| l.rays.as_ref());
    let Some(rays) = rays.filter(|r| r.cut != cut) else {
        return;
    };
    // Copying points from a card takes a while and may fail, which only a job reports.
    let is_quick = rays.all.points.len() <= AT_ONCE && rays.all.points.is_on_host();
    if !is_quick && cut != Cut::All {
        let id = rays.all.id();
        if state
            .runtime
            .track
            .cut
            .ask(Some(CutKey { rays: id, cut }))
            .is_some()
        {
            let all = rays.all.clone();
            effects.push(Effect::submit(CutRays { all, cut }));
        }
        return;
    }
    let coarse = state.runtime.track.live.value().is_some_and(|l| l.coarse);
    let after = after_cut(&rays.all, cut_of(cut, coarse, &rays.measures));
    ranked(state, rays.all.id(), cut, after.kept, after.min_measure);
}

/// The cut of rays with these measures: a share of few coarse rays would leave too few to judge by.
pub fn cut_of(cut: Cut, coarse: bool, measures: &[f32]) -> Cut {
    match cut {
        Cut::TopShare(_) if coarse && cut.count(measures) < ENOUGH => Cut::Top(ENOUGH),
        cut => cut,
    }
}

/// Shows the rays that a cut kept, unless others were traced. An outdated cut is shown, too, unless the present result
/// is up to date: it is closer to the requested cut than an older one.
pub fn ranked(
    state: &mut State,
    all: DataId,
    cut: Cut,
    kept: Tractogram,
    min_measure: Option<f32>,
) {
    let requested = state.document.track.chosen_rays().cut;
    let Some(live) = state.runtime.track.live.value_mut() else {
        return;
    };
    let Some(rays) = live.rays.as_mut().filter(|r| r.all.id() == all) else {
        return;
    };
    if cut != requested && rays.cut == requested {
        return;
    }
    (rays.cut, rays.min_measure) = (cut, min_measure);
    Arc::make_mut(&mut live.output).kept = kept;
}
