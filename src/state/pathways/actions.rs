//! Pathways between regions.

use crate::solvers::lifted::SensitivityTo;
use crate::state::files::opening::exported;
use crate::state::pathways::jobs::region::MakePathwayRegion;
use crate::state::pathways::update::{
    change, chosen_pathway, delete, hover, keep, map_sensitivity, noise, rename, save, set,
    solve_again, swap,
};
use crate::state::pathways::{PathwayAction, PathwayNoiseAction};
use crate::state::{Effect, State};

/// Applies one action.
pub fn act(state: &mut State, action: PathwayAction, effects: &mut Vec<Effect>) {
    match action {
        PathwayAction::Set { settings, phase } => set(state, settings, phase),
        PathwayAction::Keep => keep(state),
        PathwayAction::SetKept { kept, phase } => change(state, kept, phase),
        PathwayAction::Rename(id, name) => rename(state, id, name.trim()),
        PathwayAction::Delete(id) => delete(state, id),
        PathwayAction::Select(id) => {
            state.runtime.pathways.selected = id;
            if id.is_some() {
                // Keys act on a single selection.
                let runtime = &mut state.runtime;
                (runtime.regions.selected, runtime.selected_layer) = (None, None);
            }
        }
        PathwayAction::Save { layer, file, path } => {
            exported(state, file.kind(), &path, effects);
            save(state, layer, file, path, effects);
        }
        PathwayAction::Region { layer, role } => {
            if let Some((pathway, epsilon, name)) = chosen_pathway(state, layer) {
                effects.push(Effect::submit(MakePathwayRegion {
                    pathway,
                    epsilon,
                    name,
                    role,
                }));
            }
        }
        PathwayAction::Sensitivity(layer) => {
            map_sensitivity(state, layer, SensitivityTo::Cost, effects);
        }
        PathwayAction::AmplitudeSensitivity(layer) => {
            map_sensitivity(state, layer, SensitivityTo::Amplitude, effects);
        }
        PathwayAction::SwapEnds => swap(state),
        PathwayAction::Hover(at) => hover(state, at, effects),
        PathwayAction::SolveAgain => solve_again(state),
        PathwayAction::CompareAgain => {
            state.runtime.pathways.not_compared = None;
            state.runtime.pathways.compared.retry();
        }
        PathwayAction::Noise(PathwayNoiseAction::KeepShare) => noise::keep_share(state),
        PathwayAction::Noise(PathwayNoiseAction::Save(file, path)) => {
            noise::save(state, file, path, effects);
        }
        PathwayAction::Noise(PathwayNoiseAction::RepeatAgain) => noise::repeat_again(state),
        PathwayAction::SolveKept(id) => state.runtime.pathways.unsolved.retain(|u| *u != id),
    }
}
