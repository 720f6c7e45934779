//! Rules, selection, deletion, profiles and connections of streamlines, and rulers.

use crate::state::core::phase::Phase;
use crate::state::streamlines::BundleAction;
use crate::state::streamlines::update::{edits, measure, save, select_manually, set};
use crate::state::{Effect, State};

/// Applies one action.
pub fn act(state: &mut State, action: BundleAction, effects: &mut Vec<Effect>) {
    match action {
        BundleAction::SetRules { rules, phase } => {
            set(state, "Filter streamlines", phase, |b| b.set_rules(rules));
        }
        BundleAction::SwitchFilter { layer, enabled } => {
            set(state, "Filter streamlines", Phase::Done, |b| {
                b.switch_filter(layer, enabled);
            });
        }
        BundleAction::Keep => edits::keep(state, effects),
        BundleAction::KeepChosen => edits::keep_chosen(state, effects),
        BundleAction::DeleteChosen => edits::delete_chosen(state, effects),
        BundleAction::Pick {
            screen,
            target,
            mode,
        } => select_manually::pick(state, screen, target, mode, effects),
        BundleAction::Choose {
            streamlines,
            mode,
            anchor,
        } => select_manually::lines(state, &streamlines, mode, anchor),
        BundleAction::ChooseAll => select_manually::all(state),
        BundleAction::ChooseOthers => select_manually::invert(state),
        BundleAction::ChooseNone => state.session.bundle.manual_selection = None,
        BundleAction::ChoosePair { row, column, mode } => {
            select_manually::pair(state, row, column, mode)
        }
        BundleAction::SetImages(images) => {
            set(state, "Columns of the table", Phase::Done, |b| {
                b.images = images
            });
        }
        BundleAction::SetProfile(profile) => {
            set(state, "Profile", Phase::Done, |b| b.profile = profile);
        }
        BundleAction::SetConnect(connect) => {
            set(state, "Connections", Phase::Done, |b| b.connect = connect);
        }
        BundleAction::Sort(table) => state.view.table = table,
        BundleAction::Open(drawer) => state.view.bottom_panel = drawer,
        BundleAction::SetHeight(height) => {
            state.view.bottom_panel_height = height.clamp(140.0, 2000.0);
        }
        BundleAction::SaveTable(path) => save::table(state, path, effects),
        BundleAction::SaveProfile(path) => save::profile(state, path, effects),
        BundleAction::SaveMatrix(path) => save::matrix(state, path, effects),
        BundleAction::Measure(measurement) => measure::add(state, measurement),
        BundleAction::Remeasure {
            index,
            points,
            phase,
        } => measure::change(state, index, points, phase),
        BundleAction::Erase(index) => measure::erase(state, index),
        BundleAction::EraseAll => measure::erase_all(state),
    }
}
