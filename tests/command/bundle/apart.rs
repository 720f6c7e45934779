//! The rules of a layer, and regions placed for tracking.

use super::{Desk, limit, weight};
use crate::support::test;
use arcuate::data::Role;
use arcuate::state::streamlines::{RegionRule, StreamlineRules};
use arcuate::state::{
    Action, BundleAction, LayerAction, RegionAction, RegionsChange, Task, ViewAction,
};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("bundle::a region for tracking does not filter", apart),
        test("bundle::no role and no task narrows a filter", no_role),
    ]
}

/// A target placed for tracking does not change existing rules; the rules' own list includes it.
fn apart() {
    let mut recovery_folder = Desk::new(50);
    let all = recovery_folder.layer("all");
    recovery_folder.set_rules(StreamlineRules::new(all).limited(limit(weight(), Some(10.0), None)));
    let before = recovery_folder.shown();
    let at = |y: f64| DVec3::new(20.0, y, 0.0);
    recovery_folder.place(Role::Seed, at(20.0), 3.0);
    recovery_folder.place(Role::Target, at(30.0), 3.0);
    assert_eq!(recovery_folder.shown(), before);
    let regions = recovery_folder.window.state.document.regions.clone();
    let rules = |recovery_folder: &Desk| {
        recovery_folder
            .window
            .state
            .document
            .bundle
            .rules()
            .next()
            .cloned()
            .unwrap()
    };
    let (seed, target) = (regions[0].id, regions[1].id);
    assert_eq!(
        rules(&recovery_folder).how(target, Role::Target),
        RegionRule::Nothing
    );
    // Nor does a copied one, nor a seed that becomes an include region.
    recovery_folder
        .window
        .act(Action::Region(RegionAction::Duplicate(target)));
    let role = Role::Include;
    recovery_folder
        .window
        .act(Action::Region(RegionAction::SetRole { region: seed, role }));
    assert_eq!(recovery_folder.shown(), before);
    let taken = rules(&recovery_folder).using(target, Role::Target, RegionRule::Any);
    recovery_folder.set_rules(taken);
    assert_eq!(recovery_folder.shown(), (27..=33).collect::<Vec<_>>());
    // It follows its role from then on.
    let (region, role) = (target, Role::Exclude);
    recovery_folder
        .window
        .act(Action::Region(RegionAction::SetRole { region, role }));
    let out = |y: &usize| !(27..=33).contains(y);
    assert_eq!(
        recovery_folder.shown(),
        before.iter().copied().filter(out).collect::<Vec<_>>()
    );
    for _ in 0..6 {
        recovery_folder.window.act(Action::Undo);
    }
    assert_eq!(
        (recovery_folder.shown(), rules(&recovery_folder).uses),
        (before.clone(), Vec::new())
    );
    // The rules of a layer other than the current one are left alone, too.
    recovery_folder.act(BundleAction::Keep);
    let kept = recovery_folder
        .window
        .state
        .document
        .layers
        .last()
        .unwrap()
        .id;
    assert_ne!(kept, all);
    recovery_folder
        .window
        .act(Action::Layer(LayerAction::Select(Some(kept))));
    recovery_folder.set_rules(StreamlineRules::new(all).limited(limit(weight(), Some(10.0), None)));
    assert_eq!(recovery_folder.shown(), before);
    recovery_folder.place(Role::Include, at(30.0), 3.0);
    assert_eq!(recovery_folder.shown(), before);
}

/// A target that is placed before there is a seed, and a region of any role that is placed or takes another role in
/// another task, or beside another layer, leave the filter as it was.
fn no_role() {
    let mut recovery_folder = Desk::new(50);
    let all = recovery_folder.layer("all");
    let filter = StreamlineRules::new(all).limited(limit(weight(), Some(10.0), None));
    recovery_folder.set_rules(filter);
    let before = recovery_folder.shown();
    let at = DVec3::new(20.0, 30.0, 0.0);
    recovery_folder.place(Role::Target, at, 3.0);
    assert_eq!(recovery_folder.shown(), before, "a target without a seed");
    // The rules list the target as ignored.
    let filter = recovery_folder
        .window
        .state
        .document
        .bundle
        .rules()
        .next()
        .cloned();
    let filter = filter.expect("rules");
    recovery_folder.act(BundleAction::Keep);
    let kept = recovery_folder
        .window
        .state
        .document
        .layers
        .last()
        .unwrap()
        .id;
    recovery_folder.set_rules(filter);
    assert_eq!(recovery_folder.shown(), before);
    let look_at = |recovery_folder: &mut Desk, layer, task| {
        recovery_folder
            .window
            .act(Action::View(ViewAction::SelectTask(task)));
        recovery_folder
            .window
            .act(Action::Layer(LayerAction::Select(Some(layer))));
    };
    for (layer, task) in [
        (kept, Task::Track),
        (all, Task::Pathways),
        (all, Task::Segment),
        (all, Task::Filter),
    ] {
        for role in Role::ALL {
            look_at(&mut recovery_folder, layer, task);
            recovery_folder.place(role, at, 3.0);
            assert_eq!(recovery_folder.shown(), before, "{role:?} in {task:?}");
            let region = recovery_folder
                .window
                .state
                .session
                .regions
                .selected
                .unwrap();
            for role in [Role::Include, Role::Exclude, Role::Target, Role::Region] {
                recovery_folder
                    .window
                    .act(Action::Region(RegionAction::SetRole { region, role }));
                assert_eq!(recovery_folder.shown(), before, "{role:?} set in {task:?}");
                let (regions, change) = (vec![region], RegionsChange::Role(role));
                recovery_folder
                    .window
                    .act(Action::Region(RegionAction::ChangeSeveral {
                        regions,
                        change,
                    }));
                assert_eq!(
                    recovery_folder.shown(),
                    before,
                    "{role:?} of several in {task:?}"
                );
            }
            recovery_folder
                .window
                .act(Action::Region(RegionAction::Delete(region)));
            assert_eq!(recovery_folder.shown(), before);
        }
    }
}
