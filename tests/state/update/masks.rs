//! Masks on slices: over images only on request, alone at once; and the initial view of a first file.

use super::{file, opened};
use crate::support::test;
use arcuate::data::{Grid, Mask};
use arcuate::scene;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::{Action, Event, LayerAction, Pane, Phase, State, ViewAction, update};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

const VOXEL_MM: f64 = 3.0;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::masks::a_single_mask_is_shown_on_slices", alone),
        test("update::masks::no_image_is_hidden_by_one", with_a_scan),
        test(
            "update::masks::folders_of_exports_are_of_a_document",
            folders,
        ),
    ]
}

fn mask() -> Event {
    let grid = Grid::axis_aligned([8; 3], DVec3::splat(VOXEL_MM), DVec3::ZERO).expect("a grid");
    let inside = (0..grid.voxel_count())
        .map(|v| u8::from(v % 3 > 0))
        .collect::<Vec<u8>>();
    let mask = Mask::new(Arc::new(grid), inside);
    file("/data/brain_mask.nii.gz", Loaded::Mask(mask))
}

fn shown(events: Vec<Event>) -> State {
    let mut state = State::new(String::new());
    for event in events {
        update(&mut state, Action::Event(event));
    }
    state
}

/// Names of the layers that the slices show.
fn visible_names(state: &State) -> Vec<String> {
    let layers = state.document.layers.iter();
    let seen = layers.filter(|l| l.display.visible && l.display.opacity > 0.0);
    seen.map(|l| l.name.clone()).collect()
}

fn alone() {
    let mut state = shown(vec![mask()]);
    assert_eq!(visible_names(&state), ["brain_mask"]);
    let images = scene::images(&state);
    assert!(images.len() == 1 && images[0].opacity > 0.5);
    // Eight voxels share a corner in their middle; the view starts on a voxel.
    let voxel = state.view.crosshair / VOXEL_MM;
    assert!(
        (voxel - voxel.round()).abs().max_element() < 1e-9,
        "{voxel}"
    );
    // A step of the wheel is one of its voxels.
    let before = state.view.crosshair;
    let pane = Pane::Axial;
    update(
        &mut state,
        Action::View(ViewAction::StepSlice { pane, steps: 1 }),
    );
    let step = (state.view.crosshair - before).abs().max_element();
    assert!((step - VOXEL_MM).abs() < 1e-9, "{step} mm");
}

fn with_a_scan() {
    assert_eq!(visible_names(&shown(vec![opened(), mask()])), ["scan"]);
    assert_eq!(visible_names(&shown(vec![mask(), opened()])), ["scan"]);
    // The user's settings are kept.
    let mut state = shown(vec![mask()]);
    let layer = state.document.layers[0].clone();
    let mut display = layer.display.clone();
    display.opacity = 0.25;
    let (layer, phase) = (layer.id, Phase::Done);
    update(
        &mut state,
        Action::Layer(LayerAction::SetDisplay {
            layer,
            display,
            phase,
        }),
    );
    update(&mut state, Action::Event(opened()));
    assert_eq!(visible_names(&state), ["brain_mask", "scan"]);
}

fn folders() {
    let mut state = State::new(String::new());
    let last = Some(std::path::PathBuf::from("/results/sub-01"));
    state.runtime.files.exports.folder.clone_from(&last);
    update(&mut state, Action::Event(mask()));
    assert_eq!(state.runtime.files.exports.folder, None);
    state.runtime.files.exports.folder.clone_from(&last);
    update(&mut state, Action::Event(opened()));
    assert_eq!(state.runtime.files.exports.folder, last);
}
