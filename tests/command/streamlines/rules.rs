//! The rules of a layer, and regions placed for tracking.

use super::{StreamlineWindow, limit, weight};
use crate::support::test;
use arcuate::data::Role;
use arcuate::state::streamlines::{RegionRule, StreamlineRules};
use arcuate::state::{
    Action, LayerAction, RegionAction, RegionsChange, StreamlineAction, Task, ViewAction,
};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "streamlines::a region for tracking does not filter",
            tracking_region,
        ),
        test("streamlines::no role and no task narrows a filter", no_role),
    ]
}

/// A target placed for tracking does not change existing rules; the rules' own list includes it.
fn tracking_region() {
    let mut setup = StreamlineWindow::new(50);
    let all = setup.layer("all");
    setup.set_rules(StreamlineRules::new(all).limited(limit(weight(), Some(10.0), None)));
    let before = setup.shown();
    let at = |y: f64| DVec3::new(20.0, y, 0.0);
    setup.place(Role::Seed, at(20.0), 3.0);
    setup.place(Role::Target, at(30.0), 3.0);
    assert_eq!(setup.shown(), before);
    let regions = setup.window.state.document.regions.clone();
    let rules = |setup: &StreamlineWindow| {
        setup
            .window
            .state
            .document
            .streamlines
            .rules()
            .next()
            .cloned()
            .unwrap()
    };
    let (seed, target) = (regions[0].id, regions[1].id);
    assert_eq!(
        rules(&setup).region_rule(target, Role::Target),
        RegionRule::Nothing
    );
    // Nor does a copied one, nor a seed that becomes an include region.
    setup
        .window
        .act(Action::Region(RegionAction::Duplicate(target)));
    let role = Role::Include;
    setup
        .window
        .act(Action::Region(RegionAction::SetRole { region: seed, role }));
    assert_eq!(setup.shown(), before);
    let taken = rules(&setup).using(target, Role::Target, RegionRule::Any);
    setup.set_rules(taken);
    assert_eq!(setup.shown(), (27..=33).collect::<Vec<_>>());
    // It follows its role from then on.
    let (region, role) = (target, Role::Exclude);
    setup
        .window
        .act(Action::Region(RegionAction::SetRole { region, role }));
    let out = |y: &usize| !(27..=33).contains(y);
    assert_eq!(
        setup.shown(),
        before.iter().copied().filter(out).collect::<Vec<_>>()
    );
    for _ in 0..6 {
        setup.window.act(Action::Undo);
    }
    assert_eq!(
        (setup.shown(), rules(&setup).uses),
        (before.clone(), Vec::new())
    );
    // The rules of a layer other than the current one are left alone, too.
    setup.act(StreamlineAction::Keep);
    let kept = setup.window.state.document.layers.last().unwrap().id;
    assert_ne!(kept, all);
    setup
        .window
        .act(Action::Layer(LayerAction::Select(Some(kept))));
    setup.set_rules(StreamlineRules::new(all).limited(limit(weight(), Some(10.0), None)));
    assert_eq!(setup.shown(), before);
    setup.place(Role::Include, at(30.0), 3.0);
    assert_eq!(setup.shown(), before);
}

/// A target that is placed before there is a seed, and a region of any role that is placed or takes another role in
/// another task, or next to another layer, leave the filter as it was.
fn no_role() {
    let mut setup = StreamlineWindow::new(50);
    let all = setup.layer("all");
    let filter = StreamlineRules::new(all).limited(limit(weight(), Some(10.0), None));
    setup.set_rules(filter);
    let before = setup.shown();
    let at = DVec3::new(20.0, 30.0, 0.0);
    setup.place(Role::Target, at, 3.0);
    assert_eq!(setup.shown(), before, "a target without a seed");
    // The rules list the target as ignored.
    let filter = setup
        .window
        .state
        .document
        .streamlines
        .rules()
        .next()
        .cloned();
    let filter = filter.expect("rules");
    setup.act(StreamlineAction::Keep);
    let kept = setup.window.state.document.layers.last().unwrap().id;
    setup.set_rules(filter);
    assert_eq!(setup.shown(), before);
    let look_at = |setup: &mut StreamlineWindow, layer, task| {
        setup.window.act(Action::View(ViewAction::SelectTask(task)));
        setup
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
            look_at(&mut setup, layer, task);
            setup.place(role, at, 3.0);
            assert_eq!(setup.shown(), before, "{role:?} in {task:?}");
            let region = setup.window.state.runtime.regions.selected.unwrap();
            for role in [Role::Include, Role::Exclude, Role::Target, Role::Region] {
                setup
                    .window
                    .act(Action::Region(RegionAction::SetRole { region, role }));
                assert_eq!(setup.shown(), before, "{role:?} set in {task:?}");
                let (regions, change) = (vec![region], RegionsChange::Role(role));
                setup
                    .window
                    .act(Action::Region(RegionAction::ChangeSeveral {
                        regions,
                        change,
                    }));
                assert_eq!(setup.shown(), before, "{role:?} of several in {task:?}");
            }
            setup
                .window
                .act(Action::Region(RegionAction::Delete(region)));
            assert_eq!(setup.shown(), before);
        }
    }
}
