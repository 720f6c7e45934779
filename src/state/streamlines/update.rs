//! Streamlines of a layer: filtered, chosen, deleted, looked at along and between labels.

pub(in crate::state) mod apart;
mod asked;
mod choose;
mod edits;
mod follow;
mod measure;
mod save;

use crate::jobs::Slot;
use crate::jobs::bundle::{ForBundle, OfBundle};
use crate::state::action::Phase;
pub use crate::state::streamlines::update::asked::{asked, sifted};
pub use crate::state::streamlines::update::edits::keep_marked;
pub use crate::state::streamlines::update::follow::follow;
pub(in crate::state) use crate::state::streamlines::update::follow::{regions, rules};
use crate::state::streamlines::{Bundle, BundleAction, ByPtr, Connected, Profiled, Sifted};
use crate::state::update::edit;
use crate::state::{Effect, State, alignment};

pub fn act(state: &mut State, action: BundleAction, effects: &mut Vec<Effect>) {
    match action {
        BundleAction::SetSieve { sieve, phase } => {
            set(state, "Filter streamlines", phase, |b| b.sieve = sieve);
        }
        BundleAction::Keep => edits::keep(state, effects),
        BundleAction::KeepChosen => edits::keep_chosen(state, effects),
        BundleAction::DeleteChosen => edits::delete_chosen(state, effects),
        BundleAction::Pick {
            screen,
            wanted,
            how,
        } => choose::pick(state, screen, wanted, how, effects),
        BundleAction::Choose { lines, how, anchor } => choose::lines(state, &lines, how, anchor),
        BundleAction::ChooseAll => choose::all(state),
        BundleAction::ChooseOthers => choose::others(state),
        BundleAction::ChooseNone => state.session.bundle.chosen = None,
        BundleAction::ChoosePair { row, column, how } => choose::pair(state, row, column, how),
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
        BundleAction::Open(drawer) => state.view.drawer = drawer,
        BundleAction::SetHeight(height) => {
            state.view.drawer_height = height.clamp(140.0, 2000.0);
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

fn submit(effects: &mut Vec<Effect>, work: ForBundle) {
    let request = crate::jobs::Request::Bundle(Box::new(work));
    effects.push(Effect::submit(request));
}

/// What the jobs bring back.
pub fn done(state: &mut State, done: OfBundle) {
    let working = &mut state.session.bundle;
    match done {
        OfBundle::Filtered {
            selection,
            shown,
            every,
        } => {
            let kept = selection.kept();
            working.sift.finish(Sifted {
                marks: ByPtr(selection.marks.into()),
                kept,
                shown,
                every,
            });
        }
        OfBundle::Columns(values) => {
            if let Some(keys) = working.columns.finish(()) {
                working.values.extend(keys.into_iter().zip(values));
            }
        }
        OfBundle::Ordered(order) => {
            working.order.finish(order);
        }
        OfBundle::Picked(lines) => choose::picked(state, &lines),
        OfBundle::Extracted(some) => {
            working.extract.finish(some);
        }
        OfBundle::Edited {
            layer,
            of,
            edit,
            tractogram,
            fresh,
        } => edits::done(state, layer, of, (edit, tractogram), fresh),
        OfBundle::Stopped(found) => {
            state.session.bundle.stopped.finish(found);
        }
        OfBundle::Shifted {
            layer,
            of,
            by,
            tractogram,
        } => alignment::update::shifted(state, layer, of, by, tractogram),
        OfBundle::Profiled(profile) => {
            let names = follow::profile_names(state);
            state
                .session
                .bundle
                .profile
                .finish(Profiled { profile, names });
        }
        OfBundle::Connected(connectome) => {
            let names = follow::node_names(state, &connectome);
            state
                .session
                .bundle
                .connect
                .finish(Connected { connectome, names });
        }
    }
}

/// A job ended without a result.
pub fn failed(state: &mut State, slot: Slot) {
    let working = &mut state.session.bundle;
    match slot {
        Slot::Select => working.sift.fail(),
        Slot::Columns => working.columns.fail(),
        Slot::Order => working.order.fail(),
        Slot::Extract => working.extract.fail(),
        Slot::Stopped => working.stopped.fail(),
        // Not where a newer one has taken its place.
        Slot::Shift if state.session.jobs.iter().all(|j| j.slot != slot) => {
            state.session.shifting.retain(|s| !s.running);
        }
        Slot::Pick => working.picking = None,
        Slot::Profile => working.profile.fail(),
        Slot::Connect => working.connect.fail(),
        Slot::Path => state.session.paths.fail(),
        _ => {}
    }
}
