//! Compares the live pathway with random pairs while no other job runs.

use crate::state::files::jobs::SAVE;
use crate::state::pathways::jobs::{
    COMPARE, ComparePathway, ComparedCosts, ComparedDistributions, PathwayComparison, RANDOM_PAIRS,
    TRACE,
};
use crate::state::pathways::update::follow::{is_looked_at, known};
use crate::state::pathways::{KnownCosts, PathwayKey, PathwayParams, RandomPairRank};
use crate::state::tensors::jobs::input::{Distributions, Tensors};
use crate::state::{Document, Effect, State, Task};
use std::sync::Arc;

/// Requests what is missing, and cancels what is no longer needed.
pub(in crate::state) fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let key = key(state);
    let runtime = &mut state.runtime.pathways;
    if let Some(running) = runtime.compared.running() {
        if key.as_ref() != Some(running) {
            effects.push(Effect::Cancel(COMPARE));
        }
        return;
    }
    let Some(key) = key.filter(|_| is_idle(state)) else {
        return;
    };
    let runtime = &mut state.runtime.pathways;
    let Some(key) = runtime.compared.ask(Some(key)) else {
        return;
    };
    let Some(costs) = compared_costs(state, &key.params) else {
        return state.runtime.pathways.compared.fail();
    };
    let runtime = &mut state.runtime.pathways;
    runtime.not_compared = None;
    effects.push(Effect::submit(ComparePathway {
        costs,
        regions: key.regions,
        pairs: RANDOM_PAIRS,
        known_pairs: runtime.pairs.clone(),
    }));
}

/// The document's tensors or distributions; `None` if it has none.
fn compared_costs(state: &State, params: &PathwayParams) -> Option<ComparedCosts> {
    match params {
        PathwayParams::Tensors(params) => {
            let tensors = state.document.tensors.as_ref()?;
            let tensors = Tensors::Here {
                field: tensors.field.clone(),
                fa: tensors.fa.clone(),
                resample: None,
            };
            Some(ComparedCosts::Tensors(Box::new(tensors), *params))
        }
        PathwayParams::Distributions(params) => {
            // Previews have the costs of the comparison, full results at least the amplitudes.
            let [full, coarse] = &state.runtime.pathways.prepared;
            let [coarse, full] = [coarse, full].map(|c| known(c, KnownCosts::distributions));
            Some(ComparedCosts::Distributions(Box::new(
                ComparedDistributions {
                    distributions: Distributions::Here {
                        field: state.document.distributions.field()?.clone(),
                        resample: None,
                    },
                    params: *params,
                    full: false,
                    prepared: coarse.or(full),
                },
            )))
        }
    }
}

/// The key to compare: of the final pathway, while nothing is dragged.
fn key(state: &State) -> Option<PathwayKey> {
    let strict = state.runtime.sessions.strict;
    let is_shown = state.view.task == Task::Pathways && is_looked_at(state);
    let rests = is_shown && !strict && !state.is_dragging();
    let live = state.final_pathway().filter(|_| rests);
    live.map(|live| PathwayKey::for_comparison(live))
}

/// Whether no other job uses the processors for longer than a moment.
fn is_idle(state: &State) -> bool {
    state.runtime.jobs.is_idle(&[TRACE, SAVE, COMPARE])
}

/// Receives the comparison.
pub fn compared(state: &mut State, compared: PathwayComparison) {
    let runtime = &mut state.runtime.pathways;
    let requested = PathwayKey {
        field: compared.field,
        regions: compared.regions.clone(),
        params: compared.params,
        max_excess: None,
    };
    if runtime.compared.running() != Some(&requested) {
        return;
    }
    runtime.pairs = Some(compared.known_pairs.clone());
    let among = RandomPairRank::from_compared(&compared);
    runtime.compared.finish(Arc::new(compared));
    // The user may have kept the pathway while the comparison ran.
    let live = runtime.live.value().map(|live| live.excess.id());
    let put = |document: &mut Document| {
        for kept in &mut document.kept_pathways {
            let excess = kept.result.as_ref().map(|result| result.excess.id());
            if excess.is_some() && excess == live && kept.compared.is_none() {
                Arc::make_mut(kept).compared = among;
            }
        }
    };
    put(&mut state.document);
    // Undo must not lose it.
    state.history.documents_mut().for_each(put);
}

/// The comparison was stopped, or failed with a sentence.
pub fn not_compared(state: &mut State, why: Option<&str>) {
    let key = key(state);
    let runtime = &mut state.runtime.pathways;
    // The job may belong to a closed document.
    let Some(running) = runtime.compared.running() else {
        return;
    };
    match key.as_ref() == Some(running) {
        // A failed comparison is not requested again.
        true => {
            runtime.not_compared = Some(why.unwrap_or("you stopped the comparison").to_owned());
            runtime.compared.fail();
        }
        false => runtime.compared.stop(),
    }
}
