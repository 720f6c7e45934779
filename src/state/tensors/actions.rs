//! The fit, its mask, and checks of its input.

use crate::state::edit::edit;
use crate::state::tensors::jobs::fod::CheckResponses;
use crate::state::tensors::types::fods::TissueChoice;
use crate::state::{Effect, State, TensorAction, files, tensors};

/// Applies one action.
pub fn act(state: &mut State, action: TensorAction, effects: &mut Vec<Effect>) {
    match action {
        TensorAction::CheckGradients => tensors::axes::check(state, effects),
        TensorAction::TurnGradients(turn) => tensors::axes::turn(state, turn, effects),
        TensorAction::CompareOrders(layer) => tensors::orders::compare(state, layer, effects),
        TensorAction::ReadAs { layer, layout } => {
            tensors::orders::read(state, layer, layout, effects)
        }
        TensorAction::CompareBases(layer) => tensors::fod_images::compare(state, layer, effects),
        TensorAction::ReadDistributions { layer, layout } => {
            tensors::fod_images::read(state, layer, layout, effects);
        }
        TensorAction::UseDistributions(source) => {
            tensors::fod_images::choose(state, source, effects);
        }
        TensorAction::SetFit { params } => {
            edit(state, "Fit", false, |d| d.fit = params);
            tensors::update::fit(state, effects);
        }
        TensorAction::TakeOfferedMask => files::opening::take_offered_mask(state, effects),
        TensorAction::SetFods(settings) => tensors::fods::set(state, settings),
        TensorAction::ReadResponses(files) => {
            let tissue = None;
            effects.push(Effect::submit(CheckResponses { tissue, files }));
        }
        TensorAction::SetResponse {
            tissue,
            choice: TissueChoice::File(file),
        } => effects.push(Effect::submit(CheckResponses {
            tissue: Some(tissue),
            files: vec![file],
        })),
        TensorAction::SetResponse { tissue, choice } => {
            tensors::fods::set_response(state, tissue, choice);
        }
        TensorAction::ShowResponseVoxels => tensors::fods::show_response_voxels(state),
        TensorAction::SaveFods(path) => tensors::fods::save(state, path, effects),
        TensorAction::ShowShape(map) => tensors::shapes::show(state, map, effects),
        TensorAction::SetMask(layer) => {
            edit(state, "Fit", false, |d| d.fit_mask = layer);
            tensors::update::fit(state, effects);
        }
    }
}
