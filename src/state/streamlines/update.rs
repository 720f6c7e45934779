//! Streamlines of a layer: rules, selection, deletion, profiles and connections.

pub(in crate::state) mod edits;
pub(in crate::state) mod follow;
pub(in crate::state) mod keep_rules;
mod measure;
mod recipe;
mod save;
pub(in crate::state) mod select_manually;

use crate::state::core::phase::Phase;
use crate::state::edit::edit;
pub use crate::state::streamlines::update::edits::keep_marked;
pub use crate::state::streamlines::update::follow::follow;
pub(in crate::state) use crate::state::streamlines::update::follow::{applied_rules, regions};
pub use crate::state::streamlines::update::recipe::{panel_recipe, selection_recipe};
use crate::state::streamlines::{Bundle, BundleAction};
use crate::state::{Effect, State};

pub fn act(state: &mut State, action: BundleAction, effects: &mut Vec<Effect>) {
    match action {
        BundleAction::SetRules { rules, phase } => {
            set(state, "Filter streamlines", phase, |b| b.set_rules(rules));
        }
        BundleAction::SwitchFilter { layer, on } => {
            set(state, "Filter streamlines", Phase::Done, |b| {
                b.switch_filter(layer, on);
            });
        }
        BundleAction::Keep => edits::keep(state, effects),
        BundleAction::KeepChosen => edits::keep_chosen(state, effects),
        BundleAction::DeleteChosen => edits::delete_chosen(state, effects),
        BundleAction::Pick {
            screen,
            target,
            how,
        } => select_manually::pick(state, screen, target, how, effects),
        BundleAction::Choose { lines, how, anchor } => {
            select_manually::lines(state, &lines, how, anchor)
        }
        BundleAction::ChooseAll => select_manually::all(state),
        BundleAction::ChooseOthers => select_manually::others(state),
        BundleAction::ChooseNone => state.session.bundle.manual_selection = None,
        BundleAction::ChoosePair { row, column, how } => {
            select_manually::pair(state, row, column, how)
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

fn set(state: &mut State, label: &str, phase: Phase, change: impl FnOnce(&mut Bundle)) {
    edit(state, label, phase == Phase::Live, |d| {
        change(&mut d.bundle)
    });
}
