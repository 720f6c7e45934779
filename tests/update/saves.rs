//! What counts as saved.

use super::{Window, opened};
use crate::support::test;
use arcuate::data::{Role, Shape};
use arcuate::jobs::{Event, Outcome, Output, Request, Saved, Slot};
use arcuate::state::{Action, State, update};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::PathBuf;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::saves::pictures_save_no_work", pictures),
        test("update::saves::later_edits_are_not_in_a_file", later_edits),
        test("update::saves::kept_streamlines_are_work", kept_streamlines),
        test(
            "update::saves::regions_are_drawn_by_a_job",
            regions_by_a_job,
        ),
    ]
}

fn saved(revision: Option<u64>) -> Action {
    let (path, what) = (PathBuf::from("/data/out"), "something".to_owned());
    let output = Output::Saved(Saved {
        path,
        what,
        revision,
    });
    Action::Event(Event {
        slot: Slot::Save,
        ticket: 0,
        wall_ms: 1.0,
        outcome: Outcome::Done(output),
    })
}

fn revision(requests: &[Request]) -> Option<u64> {
    match requests.last() {
        Some(Request::SaveTractogram { revision, .. } | Request::SaveRegion { revision, .. }) => {
            Some(*revision)
        }
        _ => None,
    }
}

fn pictures() {
    let mut window = Window::fitted();
    assert!(!window.state.session.unsaved, "nothing was done yet");
    window.place(Role::Seed, DVec3::ZERO);
    window.act(saved(None));
    assert!(window.state.session.unsaved);
}

fn later_edits() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::fitted();
    let region = window.place(Role::Seed, DVec3::ZERO);
    let save = |i: usize| match i {
        0 => Action::SaveTracks {
            layer: None,
            path: folder.path().join("t.tck"),
        },
        _ => Action::SaveRegion {
            region,
            path: folder.path().join("r.nii.gz"),
        },
    };
    for i in 0..2 {
        window.act(Action::ToggleRegion(region));
        window.holding = true;
        window.act(save(i));
        assert!(revision(&window.requests).is_some());
        window.act(Action::ToggleRegion(region));
        window.deliver(|_| {});
        assert!(window.state.session.unsaved, "changed while it was written");
        window.act(save(i));
        window.deliver(|_| {});
        window.holding = false;
        assert!(
            !window.state.session.unsaved,
            "{}",
            window.state.session.status
        );
    }
    window.act(Action::Undo);
    assert!(window.state.session.unsaved);
}

fn kept_streamlines() {
    let mut window = Window::fitted();
    assert!(!window.state.document.has_work());
    let seed = window.place(Role::Seed, DVec3::ZERO);
    window.act(Action::KeepTracks);
    window.act(Action::DeleteRegion(seed));
    assert!(window.state.document.regions.is_empty());
    assert!(window.state.document.has_work() && window.state.session.unsaved);
}

fn regions_by_a_job() {
    let mut state = State::new(String::new());
    update(&mut state, Action::Event(opened()));
    let shape = Shape::Sphere {
        centre: DVec3::ZERO,
        radius_mm: 5.0,
    };
    let role = Role::Seed;
    update(&mut state, Action::PlaceRegion { role, shape });
    let region = state.session.selected_region.expect("selected");
    let path = PathBuf::from("/data/r.nii");
    let effects = update(&mut state, Action::SaveRegion { region, path });
    let [arcuate::state::Effect::Submit(Request::SaveRegion { shape, grid, .. })] = &effects[..]
    else {
        panic!("{effects:?}")
    };
    let mask = shape.mask_on(grid);
    let volume = state.document.layers[0].content.volume().expect("the scan");
    assert!(mask.grid.same_space(&volume.grid, 0.0));
    for i in 0..grid.voxel_count() {
        let world = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        assert_eq!(mask.inside[i] == 1, world.length() <= 5.0, "{world}");
    }
}
