//! Fitting weights of streamlines.

use crate::state::core::notices::Severity;
use crate::state::core::phase::Phase;
use crate::state::edit::edit;
use crate::state::files::jobs::LOAD;
use crate::state::files::opening::exported;
use crate::state::files::types::RecentExports;
use crate::state::filter::jobs::{Excluded, FIT_WEIGHTS, ReadScheme};
use crate::state::filter::update::{
    NONE_YET, cut, keep, layer_with_weights, lesion, run, save, show_group, show_map,
};
use crate::state::filter::{FilterAction, FitPurpose};
use crate::state::{Effect, State};

/// Applies one action.
pub fn act(state: &mut State, action: FilterAction, effects: &mut Vec<Effect>) {
    match action {
        FilterAction::Tractogram(id) => {
            edit(state, "Streamlines to filter", false, |d| {
                d.filter.tractogram = Some(id);
                d.edit_layer(id, |l| l.display.visible = true);
            });
        }
        FilterAction::TakeLive => {
            crate::state::track::kept_layers::keep(state);
            let kept = state.runtime.selected_layer;
            state.document.filter.tractogram = kept.or(state.document.filter.tractogram);
        }
        FilterAction::Scan(id) => {
            edit(state, "Scan to explain", false, |d| {
                d.filter.scan = Some(id)
            });
        }
        FilterAction::Mask(id) => edit(state, "Mask of the fit", false, |d| d.filter.mask = id),
        FilterAction::Peaks(id) => edit(state, "Peaks", false, |d| d.filter.peaks = id),
        FilterAction::Params { params, phase } => {
            if state.cannot_filter().is_some() {
                // The fit that could not start was another one.
                state.runtime.forget_failures(FIT_WEIGHTS);
            }
            edit(state, "Model of the signal", phase == Phase::Live, |d| {
                d.filter.params = params;
            });
        }
        FilterAction::Times { times, phase } => {
            edit(state, "Gradient timing", phase == Phase::Live, |d| {
                d.filter.times = times;
            });
        }
        FilterAction::ReadScheme(path) => {
            state.runtime.forget_failures(LOAD);
            let explained = state.document.explained();
            let gradients = explained.and_then(|(_, _, gradients)| gradients.cloned());
            effects.push(Effect::submit(ReadScheme { path, gradients }));
        }
        FilterAction::Run => run(state, FitPurpose::Weights, Excluded::None, true, effects),
        FilterAction::Continue => {
            let from_start = !state.can_continue_fit();
            run(
                state,
                FitPurpose::Weights,
                Excluded::None,
                from_start,
                effects,
            );
        }
        FilterAction::Stop => effects.push(Effect::Cancel(FIT_WEIGHTS)),
        FilterAction::Show(shown) => {
            let Some(id) = layer_with_weights(state) else {
                return state.runtime.notify(Severity::Information, NONE_YET);
            };
            edit(state, shown.name(), false, |d| d.show_by_weight(id, shown));
        }
        FilterAction::Cut { min_weight, phase } => cut(state, min_weight, phase),
        FilterAction::ShowGroup(group) => show_group(state, group),
        FilterAction::ShowMap(map) => show_map(state, map.as_ref()),
        FilterAction::Lesion(excluded) => lesion(state, excluded, effects),
        FilterAction::Keep => keep(state, effects),
        FilterAction::Save { file, path } => {
            exported(state, RecentExports::STREAMLINES, &path, effects);
            save(state, &file, path, effects);
        }
    }
}
