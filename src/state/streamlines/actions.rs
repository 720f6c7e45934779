//! Rules, selection, deletion, profiles and connections of streamlines, and rulers.

use crate::state::core::phase::Phase;
use crate::state::streamlines::StreamlineAction;
use crate::state::streamlines::update::{
    agreement, bundles, colour_by_file, edits, in_place, measure, save, select_manually, set,
    set_truth,
};
use crate::state::{Effect, State};

/// Applies one action.
pub fn act(state: &mut State, action: StreamlineAction, effects: &mut Vec<Effect>) {
    match action {
        StreamlineAction::SetRules { rules, phase } => {
            set(state, "Filter streamlines", phase, |b| b.set_rules(rules));
        }
        StreamlineAction::SwitchFilter { layer, enabled } => {
            set(state, "Filter streamlines", Phase::Done, |b| {
                b.switch_filter(layer, enabled);
            });
        }
        StreamlineAction::Keep => edits::keep(state, effects),
        StreamlineAction::KeepChosen => edits::keep_chosen(state, effects),
        StreamlineAction::DeleteChosen => edits::delete_chosen(state, effects),
        StreamlineAction::Pick {
            screen,
            target,
            mode,
        } => select_manually::pick(state, screen, target, mode, effects),
        StreamlineAction::Choose {
            streamlines,
            mode,
            anchor,
        } => select_manually::lines(state, &streamlines, mode, anchor),
        StreamlineAction::ChooseAll => select_manually::all(state),
        StreamlineAction::ChooseOthers => select_manually::invert(state),
        StreamlineAction::ChooseNone => state.runtime.streamlines.manual_selection = None,
        StreamlineAction::ChoosePair { row, column, mode } => {
            select_manually::pair(state, row, column, mode)
        }
        StreamlineAction::SetImages(images) => {
            set(state, "Columns of the table", Phase::Done, |b| {
                b.images = images
            });
        }
        StreamlineAction::SetProfile(profile) => {
            set(state, "Profile", Phase::Done, |b| b.profile = profile);
        }
        StreamlineAction::SetConnect(connect) => {
            set(state, "Connections", Phase::Done, |b| b.connect = connect);
        }
        StreamlineAction::SetBundles(bundles) => {
            set(state, "Bundles", Phase::Done, |b| b.bundles = bundles);
        }
        StreamlineAction::Cluster => bundles::cluster(state, effects),
        StreamlineAction::Recognise => bundles::recognise(state, effects),
        StreamlineAction::SetRecipe(recipe) => {
            set(state, "Bundles", Phase::Done, |b| b.bundles.recipe = recipe);
        }
        StreamlineAction::ChooseGroup { group, mode } => bundles::choose(state, &group, mode),
        StreamlineAction::SetTruth(path) => set_truth(state, path),
        StreamlineAction::ColourByFile { layer, path } => colour_by_file(state, layer, path),
        StreamlineAction::MeasureLengths(layer) => in_place::measure(state, layer, effects),
        StreamlineAction::Sort(table) => state.view.table = table,
        StreamlineAction::Open(drawer) => state.view.bottom_panel = drawer,
        StreamlineAction::SetHeight(height) => {
            state.view.visible.bottom_panel_height = height.clamp(140.0, 2000.0);
        }
        StreamlineAction::SaveTable(path) => save::table(state, path, effects),
        StreamlineAction::SaveProfile(path) => save::profile(state, path, effects),
        StreamlineAction::SaveMatrix(path) => save::matrix(state, path, effects),
        StreamlineAction::SaveScores(path) => save::scores(state, path, effects),
        StreamlineAction::SaveBundles(path) => bundles::save(state, path, effects),
        StreamlineAction::Measure(measurement) => measure::add(state, measurement),
        StreamlineAction::Remeasure {
            index,
            points,
            phase,
        } => measure::change(state, index, points, phase),
        StreamlineAction::Erase(index) => measure::erase(state, index),
        StreamlineAction::EraseAll => measure::erase_all(state),
        StreamlineAction::ComparePathway => agreement::request(state, effects),
    }
}
