//! The map of the voxels on which a pathway depends: a layer, with its origin and its command; undone and replaced.

use super::Window;
use super::pathways::{A, drag, live, looking};
use crate::support::test;
use arcuate::data::Role;
use arcuate::state::methods::methods;
use arcuate::state::pathways::PathwayAction;
use arcuate::state::pathways::jobs::MapSensitivity;
use arcuate::state::{Action, Layer, Phase};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::pathways::what_holds_one_up", mapped),
        test("update::pathways::nothing_to_map", nothing),
    ]
}

fn maps(window: &Window) -> Vec<Arc<Layer>> {
    let layers = window.state.document.layers.iter();
    layers.filter(|l| l.unit == "%").cloned().collect()
}

fn mapped() {
    let mut window = looking();
    window.act(Action::Pathway(PathwayAction::Sensitivity(None)));
    let map = maps(&window).remove(0);
    assert_eq!(map.name, "Sensitivity of the pathway");
    assert_eq!(window.state.runtime.selected_layer, Some(map.id));
    let volume = map.content.volume().expect("an image");
    let sum: f64 = volume.values.iter().map(|v| f64::from(*v)).sum();
    assert!((sum - 100.0).abs() < 1e-2, "{sum}");
    let status = window.state.runtime.notices.status.to_string();
    assert!(
        status.starts_with("Half of the cost depends on "),
        "{status}"
    );
    let command = window.state.document.command_line(&map).text();
    assert!(command.starts_with("arcuate pathway "), "{command}");
    assert!(
        command.ends_with("--sensitivity sensitivity.nii.gz --null 0"),
        "{command}"
    );
    assert!(methods(&window.state).contains("the adjoint of the discrete equation"));
    // A second request for the same pathway replaces its map.
    window.act(Action::Pathway(PathwayAction::Sensitivity(None)));
    assert_eq!(maps(&window).len(), 1);
    window.act(Action::Undo);
    window.act(Action::Undo);
    assert!(maps(&window).is_empty());
    window.act(Action::Redo);
    assert_eq!(maps(&window).len(), 1);
    // A kept pathway has its own, also after the ends have moved on.
    window.act(Action::Pathway(PathwayAction::Keep));
    let kept = window.state.document.kept_pathways[0].id;
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    window.act(Action::Pathway(PathwayAction::Sensitivity(Some(kept))));
    assert_eq!(maps(&window).len(), 1, "it is that of the map");
    window.act(Action::Pathway(PathwayAction::Sensitivity(None)));
    assert_eq!(maps(&window).len(), 2);
    assert!(live(&window).pathway.min_cost > 0.0);
}

fn nothing() {
    let mut window = Window::fitted();
    window.act(Action::Pathway(PathwayAction::Sensitivity(None)));
    let jobs = window.submitted.iter();
    assert_eq!(
        jobs.filter(|j| j.job::<MapSensitivity>().is_some()).count(),
        0
    );
    assert!(maps(&window).is_empty());
}
