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
        test("streamlines::a region for tracking does not filter", apart),
        test("streamlines::no role and no task narrows a filter", no_role),
    ]
}

/// A target placed for tracking does not change existing rules; the rules' own list includes it.
fn apart() {
    let mut desk = StreamlineWindow::new(50);
    let all = desk.layer("all");
    desk.set_rules(StreamlineRules::new(all).limited(limit(weight(), Some(10.0), None)));
    let before = desk.shown();
    let at = |y: f64| DVec3::new(20.0, y, 0.0);
    desk.place(Role::Seed, at(20.0), 3.0);
    desk.place(Role::Target, at(30.0), 3.0);
    assert_eq!(desk.shown(), before);
    let regions = desk.window.state.document.regions.clone();
    let rules = |desk: &StreamlineWindow| {
        desk.window
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
        rules(&desk).region_rule(target, Role::Target),
        RegionRule::Nothing
    );
    // Nor does a copied one, nor a seed that becomes an include region.
    desk.window
        .act(Action::Region(RegionAction::Duplicate(target)));
    let role = Role::Include;
    desk.window
        .act(Action::Region(RegionAction::SetRole { region: seed, role }));
    assert_eq!(desk.shown(), before);
    let taken = rules(&desk).using(target, Role::Target, RegionRule::Any);
    desk.set_rules(taken);
    assert_eq!(desk.shown(), (27..=33).collect::<Vec<_>>());
    // It follows its role from then on.
    let (region, role) = (target, Role::Exclude);
    desk.window
        .act(Action::Region(RegionAction::SetRole { region, role }));
    let out = |y: &usize| !(27..=33).contains(y);
    assert_eq!(
        desk.shown(),
        before.iter().copied().filter(out).collect::<Vec<_>>()
    );
    for _ in 0..6 {
        desk.window.act(Action::Undo);
    }
    assert_eq!(
        (desk.shown(), rules(&desk).uses),
        (before.clone(), Vec::new())
    );
    // The rules of a layer other than the current one are left alone, too.
    desk.act(StreamlineAction::Keep);
    let kept = desk.window.state.document.layers.last().unwrap().id;
    assert_ne!(kept, all);
    desk.window
        .act(Action::Layer(LayerAction::Select(Some(kept))));
    desk.set_rules(StreamlineRules::new(all).limited(limit(weight(), Some(10.0), None)));
    assert_eq!(desk.shown(), before);
    desk.place(Role::Include, at(30.0), 3.0);
    assert_eq!(desk.shown(), before);
}

/// A target that is placed before there is a seed, and a region of any role that is placed or takes another role in
/// another task, or beside another layer, leave the filter as it was.
fn no_role() {
    let mut desk = StreamlineWindow::new(50);
    let all = desk.layer("all");
    let filter = StreamlineRules::new(all).limited(limit(weight(), Some(10.0), None));
    desk.set_rules(filter);
    let before = desk.shown();
    let at = DVec3::new(20.0, 30.0, 0.0);
    desk.place(Role::Target, at, 3.0);
    assert_eq!(desk.shown(), before, "a target without a seed");
    // The rules list the target as ignored.
    let filter = desk
        .window
        .state
        .document
        .streamlines
        .rules()
        .next()
        .cloned();
    let filter = filter.expect("rules");
    desk.act(StreamlineAction::Keep);
    let kept = desk.window.state.document.layers.last().unwrap().id;
    desk.set_rules(filter);
    assert_eq!(desk.shown(), before);
    let look_at = |desk: &mut StreamlineWindow, layer, task| {
        desk.window.act(Action::View(ViewAction::SelectTask(task)));
        desk.window
            .act(Action::Layer(LayerAction::Select(Some(layer))));
    };
    for (layer, task) in [
        (kept, Task::Track),
        (all, Task::Pathways),
        (all, Task::Segment),
        (all, Task::Filter),
    ] {
        for role in Role::ALL {
            look_at(&mut desk, layer, task);
            desk.place(role, at, 3.0);
            assert_eq!(desk.shown(), before, "{role:?} in {task:?}");
            let region = desk.window.state.runtime.regions.selected.unwrap();
            for role in [Role::Include, Role::Exclude, Role::Target, Role::Region] {
                desk.window
                    .act(Action::Region(RegionAction::SetRole { region, role }));
                assert_eq!(desk.shown(), before, "{role:?} set in {task:?}");
                let (regions, change) = (vec![region], RegionsChange::Role(role));
                desk.window.act(Action::Region(RegionAction::ChangeSeveral {
                    regions,
                    change,
                }));
                assert_eq!(desk.shown(), before, "{role:?} of several in {task:?}");
            }
            desk.window
                .act(Action::Region(RegionAction::Delete(region)));
            assert_eq!(desk.shown(), before);
        }
    }
}
