//! Streamlines and rays of the regions as they are: asking for them, taking them in.

use crate::data::text::counted;
use crate::data::{Region, Role};
use crate::solvers::curves::{self, Seeding};
use crate::solvers::geodesic::Cut;
use crate::state::core::words::{mask, none_started, took};
use crate::state::document::{Method, Unfiled};
use crate::state::recipes::{curves_recipe, fit_of, fit_recipe};
use crate::state::session::{CurveKey, CurveParams, CurveResult};
use crate::state::tensors::types::BootstrapInput;
use crate::state::track::jobs::LIVE;
use crate::state::track::jobs::streamlines::TrackStreamlines;
use crate::state::track::rays;
use crate::state::{Document, Effect, Recipe, State, Task, segment};
use std::sync::Arc;

/// While dragging, at most this many seeds: a few milliseconds of work.
const COARSE_SEEDS: usize = 400;
/// Each refits every voxel.
const COARSE_REPETITIONS: usize = 2;

pub fn regions(document: &Document) -> Vec<Region> {
    asked_of(document).map(|r| (**r).clone()).collect()
}

/// The regions that take part: hundreds of a label map cost tracking nothing.
fn asked_of(document: &Document) -> impl Iterator<Item = &Arc<Region>> {
    let regions = document.regions.iter();
    regions.filter(|r| r.role != Role::Region)
}

/// The recipe of streamlines or rays; `None` where the tensors are not those of the document.
pub fn recipe(document: &Document, requested: &CurveKey, cut: Cut) -> Option<Recipe> {
    let fit = fit_recipe(document, fit_of(document, requested.field)?)?;
    Some(match document.specs(&requested.regions) {
        Err(Unfiled(region)) => Recipe::NoCommand { region },
        Ok(regions) => curves_recipe(fit, regions, requested.curves.clone(), cut),
    })
}

/// A mask was written: there may be a command now for what lacked it.
pub fn exported(state: &mut State, path: &std::path::Path) {
    // Whatever the file held before, it holds something else now.
    state.document.mask_files.retain(|(_, p)| p != path);
    let Some(at) = state.session.exporting.iter().position(|(_, p)| p == path) else {
        return;
    };
    let written = state.session.exporting.remove(at);
    state.document.mask_files.push(written);
    let cut = state.document.rays.cut;
    let live = state.session.live.as_ref();
    if let Some(live) = live.filter(|l| matches!(l.recipe, Recipe::NoCommand { .. }))
        && let Some(recipe) = recipe(
            &state.document,
            &live.key,
            live.rays.as_ref().map_or(cut, |r| r.cut),
        )
        && let Some(live) = &mut state.session.live
    {
        live.recipe = recipe;
    }
}

/// Whether live curves are those of the document as it is.
pub fn is_current(document: &Document, query: &CurveKey) -> bool {
    let same = |(a, b): (&Arc<Region>, &Region)| Arc::ptr_eq(&a.shape, &b.shape);
    let seeded = document.regions.iter().any(|r| r.role == Role::Seed);
    let requested = match &query.curves {
        CurveParams::Streamlines(params) => {
            *params == crate::state::track::update::params(document, query.coarse)
        }
        CurveParams::Rays(medium, params) => {
            let mut requested = document.rays.params.clone();
            if query.coarse {
                requested.walk.seeding = params.walk.seeding;
            }
            *medium == document.rays.medium && *params == requested
        }
    };
    alike(document, query)
        && seeded
        && asked_of(document).zip(&query.regions).all(same)
        && requested
}

/// Whether live curves are of the document's tensors, method and regions, which may have been moved
/// since.
fn alike(document: &Document, requested: &CurveKey) -> bool {
    let method = match requested.curves {
        CurveParams::Streamlines(_) => Method::Streamlines,
        CurveParams::Rays(..) => Method::Rays,
    };
    let same = |(a, b): (&Arc<Region>, &Region)| (a.id, a.role) == (b.id, b.role);
    document.tensors.as_ref().map(|t| t.field.id()) == Some(requested.field)
        && method == document.method
        && requested.regions.len() == asked_of(document).count()
        && asked_of(document).zip(&requested.regions).all(same)
}

/// The live result that arrived makes. `None` for what is out of date: newer curves were asked for,
/// or there is no seed any more. Only while something is dragged may coarse ones lag behind it.
pub fn taken_in(
    state: &mut State,
    output: Arc<curves::Output>,
    requested: CurveKey,
    cut: Cut,
    wall_ms: f64,
) -> Option<CurveResult> {
    let document = &state.document;
    let lags = requested.coarse && state.session.unsettled && alike(document, &requested);
    if !(is_current(document, &requested) || lags) {
        return None;
    }
    let recipe = recipe(document, &requested, cut)?;
    let seeds = output.seed_outcomes.iter().sum::<u64>() as usize;
    let kept = counted(output.kept.len(), "streamline");
    let (made, what, min_fa) = match &requested.curves {
        CurveParams::Streamlines(params) => (
            format!("{kept} from {}", counted(seeds, "seed")),
            "streamline",
            params.min_fa,
        ),
        CurveParams::Rays(..) => (format!("Shot {}", counted(seeds, "ray")), "ray", None),
    };
    // A task that does not show the curves has no status about them.
    if state.view.task.shows_live() {
        let why = none_started(&output, min_fa, &mask::name_of(document));
        let message = match why {
            None if seeds == 0 => format!("No {what} started: no seed point was drawn"),
            None => format!("{made} in {}", took(wall_ms)),
            Some(why) => {
                let from = counted(seeds, "seed");
                format!("No {what} started from {from}: {why}")
            }
        };
        state.session.follows(message.clone());
        // Without the undone step before it, which another task does not show.
        state.session.status_about.live = Some(message);
    }
    let targets = requested.regions.iter().filter(|r| r.role == Role::Target);
    Some(CurveResult {
        output,
        coarse: requested.coarse,
        seeds,
        wall_ms,
        recipe,
        targets: targets.map(|r| r.id).collect(),
        key: requested,
        rays: None,
    })
}

/// Takes in the streamlines of the regions.
pub fn live_done(
    state: &mut State,
    output: Arc<curves::Output>,
    requested: CurveKey,
    wall_ms: f64,
) {
    if let Some(live) = taken_in(state, output, requested, Cut::All, wall_ms) {
        state.session.live = Some(live);
    }
}

/// The parameters of the live streamlines; coarse while something is dragged.
fn params(document: &Document, coarse: bool) -> curves::Params {
    let mut params = document.track.clone();
    if coarse {
        params.seeding = match params.seeding {
            Seeding::Random { count } => Seeding::Random {
                count: count.min(COARSE_SEEDS),
            },
            Seeding::Grid { .. } | Seeding::PerVoxel { .. } => Seeding::Random {
                count: COARSE_SEEDS,
            },
        };
        params.repetitions = params.repetitions.map(|n| n.min(COARSE_REPETITIONS));
    }
    params
}

/// What a bootstrap needs, where one is wanted.
pub fn resample(document: &Document) -> Option<Box<BootstrapInput>> {
    document.track.repetitions?;
    document.resample().map(Box::new)
}

/// Whether all that is asked for takes so long that something should be seen before.
fn slow(state: &State) -> bool {
    const PATIENCE_MS: f64 = 300.0;
    // A first guess, so that usual numbers come at once.
    const STREAMLINES_PER_MS: f64 = 30.0;
    const RAYS_PER_MS: f64 = 30.0;
    let live = state.session.live.as_ref();
    let (count, per_ms) = match (state.document.method, state.document.track.seeding) {
        (Method::Rays, _) => {
            let known = state.session.rays_per_ms;
            (state.document.rays.count(), known.unwrap_or(RAYS_PER_MS))
        }
        (Method::Streamlines, Seeding::Random { count }) => {
            let known = live.filter(|l| l.rays.is_none() && l.wall_ms > 0.0);
            let known = known.map(|l| l.seeds as f64 / l.wall_ms);
            let repetitions = state.document.track.repetitions.unwrap_or(1);
            let all = count.saturating_mul(repetitions);
            (Some(all), known.unwrap_or(STREAMLINES_PER_MS))
        }
        (Method::Streamlines, Seeding::Grid { .. } | Seeding::PerVoxel { .. }) => return false,
    };
    count.is_some_and(|count| count as f64 > PATIENCE_MS * per_ms)
}

/// Tracks or shoots again from the regions as they are; without a seed there is no live result.
/// Where all would take long, a few come first.
pub fn retrack(state: &mut State, coarse: bool, effects: &mut Vec<Effect>) {
    // They are not seen there: who goes elsewhere is shown them. What runs without a window makes all that
    // a session has.
    if state.view.task == Task::Pathways && !state.session.saving.strict {
        return put_off(state, coarse, effects);
    }
    let live = state.session.live.as_ref();
    let seen = live.is_some_and(|live| live.coarse && is_current(&state.document, &live.key));
    let first = !coarse && !seen && slow(state);
    ask(state, coarse, first, effects);
}

/// Streamlines of other regions are no result of these.
fn put_off(state: &mut State, coarse: bool, effects: &mut Vec<Effect>) {
    let session = &mut state.session;
    session.pathways.tracks_due = true;
    if coarse {
        return;
    }
    let current = |live: &mut CurveResult| is_current(&state.document, &live.key);
    session.live.take_if(|live| !current(live));
    (session.unsettled, session.coarse_again, session.full_next) = (false, false, false);
    session.coarse_running = false;
    effects.push(Effect::Cancel(LIVE));
}

/// A task is looked at; what was put off for that of pathways is done in the others.
pub fn look_at(state: &mut State, task: Task, effects: &mut Vec<Effect>) {
    if state.view.task != task {
        state.session.forget_step();
    }
    state.view.task = task;
    if !task.shows_live() {
        // What was said about live curves is about nothing that is seen there.
        state.session.forget_failures(LIVE);
        if state
            .session
            .status_about
            .live
            .take()
            .is_some_and(|message| message == state.session.status)
        {
            state.session.status.clear();
        }
    }
    if let Some((_, message)) = state
        .session
        .status_about
        .task
        .take_if(|(of, _)| *of != task)
        && message == state.session.status
    {
        state.session.status.clear();
    }
    if task == Task::Segment {
        segment::update::entered(state);
    }
    if state.view.task != Task::Pathways && std::mem::take(&mut state.session.pathways.tracks_due) {
        retrack(state, false, effects);
    }
}

/// What follows a few curves that were to be seen first.
pub fn full(state: &mut State, effects: &mut Vec<Effect>) {
    ask(state, false, false, effects);
}

/// `coarse` while something is dragged; `first`: as many as then, and all of them after that.
fn ask(state: &mut State, coarse: bool, first: bool, effects: &mut Vec<Effect>) {
    state.session.unsettled = coarse;
    state.session.live_error = None;
    state.session.stranded.live = false;
    (state.session.coarse_again, state.session.full_next) = (false, false);
    let document = &state.document;
    let seeded = document.regions.iter().any(|r| r.role == Role::Seed);
    let (Some(tensors), true) = (document.tensors.clone(), seeded) else {
        state.session.live = None;
        effects.push(Effect::Cancel(LIVE));
        return;
    };
    let full = state.session.live.as_ref().filter(|live| !live.coarse);
    if !coarse && full.is_some_and(|live| is_current(document, &live.key)) {
        // It is there; what is on its way was asked for in between.
        effects.push(Effect::Cancel(LIVE));
        return rays::cut(state, effects);
    }
    if coarse && state.session.coarse_running {
        state.session.coarse_again = true;
        return;
    }
    // What was made by the other method says nothing about this one.
    let other = |live: &CurveResult| live.rays.is_some() != (document.method == Method::Rays);
    if state.session.live.as_ref().is_some_and(other) {
        state.session.live = None;
    }
    let few = coarse || first;
    let (job, fewer) = match document.method {
        Method::Streamlines => {
            let track = TrackStreamlines {
                field: tensors.field.clone(),
                fa: tensors.fa.clone(),
                regions: regions(document),
                params: params(document, few),
                resample: resample(document),
                coarse: few,
            };
            (Effect::submit(track), few)
        }
        Method::Rays => {
            let shoot = rays::request(state, &tensors, few);
            let fewer = shoot.coarse;
            (Effect::submit(shoot), fewer)
        }
    };
    state.session.unsettled = fewer && coarse;
    state.session.full_next = fewer && first;
    state.session.coarse_running = fewer;
    effects.push(job);
}

/// The user stopped it: says what that leaves.
pub fn stopped(state: &mut State) {
    let session = &mut state.session;
    (session.unsettled, session.coarse_again, session.full_next) = (false, false, false);
    let what = match state.document.method {
        Method::Streamlines => "streamlines",
        Method::Rays => "rays",
    };
    let left = match state.session.live.as_ref() {
        None => format!("there are no {what} yet"),
        Some(live) if live.coarse && is_current(&state.document, &live.key) => {
            format!("the {what} shown are a coarse selection")
        }
        Some(_) => format!("the {what} shown are from before the last change"),
    };
    state.session.status = format!("Stopped: {left}");
}
