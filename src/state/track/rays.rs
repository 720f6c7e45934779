//! Geodesic rays: how many while something is dragged, and the cut, which needs no new ones.

use crate::data::{DataId, Tractogram};
use crate::solvers::curves::Seeding;
use crate::solvers::geodesic::{Cut, RayMetric};
use crate::state::action::Phase;
use crate::state::document::{Rays, Tensors};
use crate::state::edit::edit;
use crate::state::recipe::MediumRecipe;
use crate::state::session::{CurveKey, CurveParams, CutKey, RayResult, measure_range};
use crate::state::track::jobs::cut::CutRays;
use crate::state::track::jobs::shoot::{RayOutput, ShootRays};
use crate::state::{Effect, State, track};
use std::sync::Arc;

/// What coarse rays may take: a third of the tenth of a second after which an answer feels late, the rest
/// of which the picture takes.
const COARSE_MS: f64 = 100.0 / 3.0;
/// The time budget where the usual one leaves too few rays to judge by.
const MOST_COARSE_MS: f64 = 100.0;
/// This many rays are enough to judge by: a share of the few coarse ones that pass is not cut to fewer.
const ENOUGH: usize = 20;
/// Coarse rays as long as nobody knows how fast they are, and at least.
const FIRST_COARSE: usize = 1_500;
const LEAST_COARSE: usize = 400;

/// How many coarse rays there are, by how fast the last ones were and which share of them passed.
fn coarse_count(per_ms: f64, passed: Option<f64>) -> usize {
    let in_time = COARSE_MS * per_ms;
    let enough = passed.map_or(in_time, |share| ENOUGH as f64 / share.max(1e-9));
    let count = enough.clamp(in_time, (MOST_COARSE_MS * per_ms).max(in_time));
    (count as usize).max(LEAST_COARSE)
}

/// Changes how rays are shot; where only the cut changed, they stay as they are.
pub fn set(state: &mut State, rays: Rays, phase: Phase, effects: &mut Vec<Effect>) {
    const CUT: &str = "Cut";
    let live = phase == Phase::Live;
    let before = &state.document.rays;
    let same = (&before.medium, &before.params) == (&rays.medium, &rays.params);
    // The end of a drag changes nothing, and belongs to what was dragged.
    let ends = *before == rays;
    let by_cut = same && (!ends || state.history.undo_label() == Some(CUT));
    let label = if by_cut { CUT } else { "Rays" };
    edit(state, label, live, |d| d.rays = rays);
    if by_cut {
        self::cut(state, effects);
    } else {
        track::update::retrack(state, live, effects);
    }
}

/// The rays of the document as it is; fewer where all would take too long and something is being dragged:
/// how many depends on how fast the last ones were, which they are on their number alone.
pub fn request(state: &State, tensors: &Tensors, coarse: bool) -> ShootRays {
    let Rays {
        medium,
        mut params,
        cut,
    } = state.document.rays.clone();
    let mut fewer = false;
    if coarse {
        let passed = state.session.rays_passed;
        let known = state.session.rays_per_ms;
        let rays = known.map_or(FIRST_COARSE, |per_ms| coarse_count(per_ms, passed));
        let seeds = (rays / params.directions.count().max(1)).max(1);
        let all = match params.walk.seeding {
            Seeding::Random { count } => count,
            Seeding::Grid { .. } | Seeding::PerVoxel { .. } => usize::MAX,
        };
        fewer = seeds < all;
        if fewer {
            params.walk.seeding = Seeding::Random { count: seeds };
        }
    }
    let fits = |(asked, m): &&(MediumRecipe, RayMetric)| {
        m.field.id() == tensors.field.id()
            && *asked == medium
            && m.interpolation == params.walk.interpolation
    };
    let prepared = state.session.medium.as_ref().filter(fits);
    ShootRays {
        field: tensors.field.clone(),
        medium: prepared.map(|(_, medium)| medium.clone()),
        sharpening: medium.sharpening,
        precision: medium.precision,
        fa: tensors.fa.clone(),
        regions: track::update::regions(&state.document),
        params,
        // Coarse ones are cut as they are taken in: by how many they are.
        cut: if fewer { Cut::All } else { cut },
        coarse: fewer,
    }
}

/// Takes in rays.
pub fn shot(
    state: &mut State,
    job: &ShootRays,
    shot: RayOutput,
    wall_ms: f64,
    effects: &mut Vec<Effect>,
) {
    let medium = MediumRecipe {
        sharpening: shot.medium.sharpening,
        precision: job.precision,
    };
    let requested = CurveKey {
        field: shot.medium.field.id(),
        regions: job.regions.clone(),
        curves: CurveParams::Rays(medium, job.params.clone()),
        coarse: job.coarse,
    };
    let rays = (shot.seeds * shot.directions) as f64;
    state.session.rays_per_ms = Some(rays / shot.shoot_ms.max(0.1));
    state.session.rays_passed = Some(shot.measures.len() as f64 / rays.max(1.0));
    let repaired = shot.medium.repaired;
    let tensors = state.document.tensors.as_ref();
    if tensors.is_some_and(|t| t.field.id() == requested.field) {
        state.session.medium = Some((medium, shot.medium));
    }
    let output = Arc::new(shot.output);
    let mut range = measure_range(&shot.measures);
    // Colours and bins hold still while something is dragged.
    let before = state.session.live.as_ref().and_then(|l| l.rays.as_ref());
    if let Some(before) = before.filter(|_| job.coarse) {
        range = (range.0.min(before.range.0), range.1.max(before.range.1));
    }
    let Some(mut live) = track::update::taken_in(state, output, requested, wall_ms) else {
        return;
    };
    live.rays = Some(RayResult {
        range,
        all: shot.all,
        measures: shot.measures,
        cut: job.cut,
        least: shot.least,
        repaired,
    });
    state.session.live = Some(live);
    // It may have moved while the rays were on their way.
    cut(state, effects);
}

/// Has the document's cut applied to the rays that are there, also where that failed before.
pub fn cut(state: &mut State, effects: &mut Vec<Effect>) {
    state.session.cut.retry();
    follow_cut(state, effects);
}

/// Applies the document's cut to the rays that are there: at once where that is quick. A job that runs is finished
/// before the next begins, or a cut that never rests would show nothing.
pub fn follow_cut(state: &mut State, effects: &mut Vec<Effect>) {
    // Copying this many points takes about a tenth of a frame.
    const AT_ONCE: usize = 500_000;
    let cut = state.document.rays.cut;
    let rays = state.session.live.as_ref().and_then(|l| l.rays.as_ref());
    let Some(rays) = rays.filter(|r| r.cut != cut) else {
        return;
    };
    if rays.all.points.len() > AT_ONCE && cut != Cut::All {
        let of = rays.all.id();
        if state.session.cut.ask(Some(CutKey { of, cut })).is_some() {
            let all = rays.all.clone();
            effects.push(Effect::submit(CutRays { all, cut }));
        }
        return;
    }
    let coarse = state.session.live.as_ref().is_some_and(|l| l.coarse);
    let marks = match cut {
        Cut::TopShare(_) if coarse && cut.count(&rays.measures) < ENOUGH => Cut::Top(ENOUGH),
        cut => cut,
    };
    let marks = marks.marks(&rays.measures);
    let kept = match cut {
        Cut::All => rays.all.clone(),
        _ => rays.all.filtered(&marks),
    };
    let marked = rays.measures.iter().zip(&marks).filter(|(_, kept)| **kept);
    let least = marked.map(|(m, _)| *m).min_by(f32::total_cmp);
    ranked(state, rays.all.id(), cut, kept, least);
}

/// Takes in the rays that a cut left, unless others were shot. Where the cut has moved on they are
/// still nearer to it than what is shown, unless that is up to date.
pub fn ranked(state: &mut State, all: DataId, cut: Cut, kept: Tractogram, least: Option<f32>) {
    let requested = state.document.rays.cut;
    let Some(live) = &mut state.session.live else {
        return;
    };
    let Some(rays) = live.rays.as_mut().filter(|r| r.all.id() == all) else {
        return;
    };
    if cut != requested && rays.cut == requested {
        return;
    }
    (rays.cut, rays.least) = (cut, least);
    Arc::make_mut(&mut live.output).kept = kept;
}
