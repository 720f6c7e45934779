//! Requests the pathway of the regions as they are: on a coarse grid first, then on the full one.

use crate::state::core::live::{CoarseFirst, Detail, Live, Order, Pace, QUICK_MS};
use crate::state::pathways::jobs::{FindLifted, FindPathway, PATHWAY};
use crate::state::pathways::update::{compare, forget_status, noise, restored_pathways};
use crate::state::pathways::{KnownCosts, PathwayKey, PathwayParams};
use crate::state::tensors::jobs::input::{Distributions, Tensors};
use crate::state::tensors::mask_text;
use crate::state::track::types::odf::Model;
use crate::state::{Effect, State, Task};
use std::sync::Arc;
use std::time::Duration;

/// Whether the task shows the live pathway, and its tensors or distributions are not about to change.
pub(in crate::state) fn is_looked_at(state: &State) -> bool {
    let is_shown = state.view.task == Task::Pathways || state.shows_pathway_in_segment();
    is_shown && !state.is_pathway_field_computed()
}

/// Requests what is missing: after every change of the state.
pub fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    choose_only_model(state);
    restored_pathways::solve_kept(state, effects);
    follow_regions(state, effects);
    compare::follow(state, effects);
    noise::follow(state, effects);
}

/// Where Track has chosen distributions as the only model, they are that of pathways, too.
fn choose_only_model(state: &mut State) {
    let chosen_for = state.runtime.track.model_chosen_for;
    let runtime = &mut state.runtime.pathways;
    if runtime.model_chosen_for == chosen_for {
        return;
    }
    runtime.model_chosen_for = chosen_for;
    let document = &mut state.document;
    let is_only = document.tensors.is_none() && document.track.model == Model::Distributions;
    if chosen_for.is_some() && is_only {
        document.pathways.model = Model::Distributions;
    }
}

fn follow_regions(state: &mut State, effects: &mut Vec<Effect>) {
    // A running job is finished in other tasks, too, and the shown result stays.
    // In Segment the surface comes at once, and the pathway of the last one stays dimmed until then.
    let waits = state.view.task == Task::Segment && state.pathway_awaits_surface();
    if !is_looked_at(state) || waits {
        return state.runtime.pathways.live.pause();
    }
    let requested_key = state.pathway_key();
    let pace = pace(state, requested_key.as_ref());
    let dragging = state.is_dragging() || state.is_pathway_surface_moving();
    let runtime = &mut state.runtime.pathways;
    let order = runtime.live.follow(requested_key.as_ref(), dragging, pace);
    if requested_key.is_none() {
        runtime.hover = Live::default();
        forget_status(state);
    }
    match order {
        Order::Nothing => {}
        Order::Cancel => effects.push(Effect::Cancel(PATHWAY)),
        Order::Start(key, detail) => start(state, key, detail, effects),
    }
}

fn start(state: &State, key: PathwayKey, detail: Detail, effects: &mut Vec<Effect>) {
    let document = &state.document;
    let coarse = detail == Detail::Coarse;
    let prepared = &state.runtime.pathways.prepared;
    match key.params {
        PathwayParams::Tensors(params) => {
            effects.extend(document.tensors.as_ref().map(|tensors| {
                Effect::submit(FindPathway {
                    tensors: Tensors::Here {
                        field: tensors.field.clone(),
                        fa: tensors.fa.clone(),
                        resample: None,
                    },
                    regions: key.regions,
                    params,
                    coarse,
                    prepared: known(&prepared[usize::from(coarse)], KnownCosts::tensors),
                    kept: None,
                    mask_name: mask_text::name_of(document),
                })
            }))
        }
        PathwayParams::Distributions(params) => {
            // Either has the amplitudes that decide where paths may run.
            let own = known(&prepared[usize::from(coarse)], KnownCosts::distributions);
            let other = known(&prepared[usize::from(!coarse)], KnownCosts::distributions);
            effects.extend(document.distributions.field().map(|field| {
                Effect::submit(FindLifted {
                    distributions: Box::new(Distributions::Here {
                        field: field.clone(),
                        resample: None,
                    }),
                    regions: key.regions,
                    params,
                    epsilon: document.pathways.epsilon,
                    coarse,
                    prepared: own.or(other),
                    kept: None,
                })
            }));
        }
    }
}

/// The costs of the last pathway, if they are those of this model.
pub(super) fn known<T>(
    prepared: &Option<KnownCosts>,
    model: fn(&KnownCosts) -> Option<&Arc<T>>,
) -> Option<Arc<T>> {
    prepared.as_ref().and_then(model).cloned()
}

/// A pathway takes long the first time, and whenever its metric has to be computed.
fn pace(state: &State, requested_key: Option<&PathwayKey>) -> Pace {
    // Without a window a coarse result would be useless.
    if state.runtime.sessions.strict {
        return Pace::Newest;
    }
    let runtime = &state.runtime.pathways;
    let known = runtime.prepared[0].as_ref().zip(requested_key);
    let serves = known.is_some_and(|(known, key)| known.serves(key.field, &key.params));
    // The time of the other model's costs does not apply.
    let is_of_model = known.is_some_and(|(known, key)| known.model() == key.params.model());
    let full_ms = runtime.full_ms[usize::from(!serves)].filter(|_| is_of_model);
    let is_quick = full_ms.is_some_and(|ms| ms <= QUICK_MS);
    Pace::CoarseFirst(CoarseFirst {
        in_drag: !is_quick,
        at_rest: !is_quick,
        age: age(state),
    })
}

/// Time since the running solve began.
fn age(state: &State) -> Duration {
    let job = state.runtime.jobs.of_slot(PATHWAY);
    job.map_or(Duration::ZERO, |j| j.started.elapsed())
}
