//! Asks for the pathway of the regions as they are: on a coarse grid first, then on the full one.

use crate::jobs::session::Tensors;
use crate::state::core::live::Live;
use crate::state::pathways::jobs::{FindPathway, PATHWAY};
use crate::state::pathways::{LAG, PathwayKey, PathwayRuntime};
use crate::state::tensors::mask_text;
use crate::state::{Effect, State, Task};
use std::time::Duration;

/// A full result that takes less needs no coarse one before it, also at every move of a drag.
const AT_ONCE_MS: f64 = 30.0;

/// Whether pathways are looked at.
pub(in crate::state) fn wanted(state: &State) -> bool {
    state.view.task == Task::Pathways && state.session.fitting.is_none()
}

/// Asks for what is missing: after every change of the state.
pub fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    crate::state::pathways::update::kept::kept_again(state, effects);
    ask(state, effects);
    crate::state::pathways::update::compare::follow(state, effects);
}

fn ask(state: &mut State, effects: &mut Vec<Effect>) {
    if !wanted(state) {
        state.session.pathways.unsettled = false;
        return;
    }
    let Some(wanted) = state.document.wanted_pathway() else {
        if state.session.pathways.running.take().is_some() {
            effects.push(Effect::Cancel(PATHWAY));
        }
        let working = &mut state.session.pathways;
        (working.live, working.hover) = (None, Live::default());
        (working.unsettled, working.failed) = (false, None);
        return;
    };
    let drag = state.history.is_open();
    let age = age(state);
    // Without a window nobody waits for a first answer.
    let unseen = state.session.saving.strict;
    let working = &mut state.session.pathways;
    let failed = working.failed.as_ref();
    if failed.is_some_and(|(key, _)| *key == wanted) {
        return;
    }
    working.failed = None;
    let live = working.live.as_ref();
    let there = live.filter(|live| PathwayKey::of(live) == wanted);
    if there.is_some_and(|live| !live.coarse) {
        working.unsettled = false;
        if working.running.take().is_some() {
            // It was asked for in between.
            effects.push(Effect::Cancel(PATHWAY));
        }
        return;
    }
    working.unsettled = drag;
    let Some(coarse) = next(working, &wanted, drag, unseen) else {
        return;
    };
    match &working.running {
        Some((asked, of)) if *asked == wanted && *of == coarse => return,
        // Cancelling at every move would show nothing during a drag: of two coarse solves in turn at least
        // one is finished.
        Some((_, true)) if age < LAG || working.gave_way => return,
        Some((_, true)) => working.gave_way = true,
        // Full results as quick as moves are not cancelled for the next either.
        Some((_, false)) if drag && !coarse => return,
        _ => {}
    }
    let known = working.known[usize::from(coarse)].clone();
    let Some(tensors) = &state.document.tensors else {
        return;
    };
    let request = FindPathway {
        tensors: Tensors::Here {
            field: tensors.field.clone(),
            fa: tensors.fa.clone(),
            resample: None,
        },
        regions: wanted.regions.clone(),
        params: wanted.params,
        coarse,
        known,
        kept: None,
        mask_name: mask_text::name_of(&state.document),
    };
    state.session.pathways.running = Some((wanted, coarse));
    effects.push(Effect::submit(request));
}

/// Whether a coarse or a full result comes next; `None`: nothing until the pointer rests.
fn next(
    working: &PathwayRuntime,
    requested: &PathwayKey,
    drag: bool,
    unseen: bool,
) -> Option<bool> {
    let known = working.known[0].as_ref();
    let anew = !known.is_some_and(|k| k.serves(requested.field, &requested.params));
    let quick = working.full_ms[usize::from(anew)].is_some_and(|ms| ms <= AT_ONCE_MS);
    let lost = working.lost.as_ref() == Some(requested);
    let live = working.live.as_ref();
    let seen = live.is_some_and(|live| PathwayKey::of(live) == *requested);
    let rested = working.rested.as_ref() == Some(requested);
    match (quick || unseen || lost, seen) {
        (true, _) => Some(false),
        (false, false) => Some(true),
        (false, true) => (!drag || rested).then_some(false),
    }
}

/// The time since the present solve began.
fn age(state: &State) -> Duration {
    let mut jobs = state.session.jobs.iter();
    let job = jobs.find(|j| j.slot == PATHWAY);
    job.map_or(Duration::ZERO, |j| j.started.elapsed())
}

/// The pointer rests in the middle of a drag.
pub fn rest(state: &mut State) {
    state.session.pathways.rested = state.document.wanted_pathway();
}
