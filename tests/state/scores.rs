//! Scores of a layer's streamlines against a truth in a folder, their table and their command.

use crate::support::session_window::Window;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Grid, Mask, Tractogram, Volume};
use arcuate::io::{nifti, streamlines};
use arcuate::state::streamlines::{BottomPanel, StreamlineAction};
use arcuate::state::update::panel_command;
use arcuate::state::{Action, FilesAction, LayerAction};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("scores::a_layer_is_scored", scored),
        test("scores::a_broken_truth_is_reported", broken),
    ]
}

/// One bundle along x, in files.
fn truth(folder: &Path) -> PathBuf {
    let control = Control::new();
    let grid = Grid::axis_aligned([5, 3, 3], DVec3::ONE, DVec3::new(0.0, -1.0, -1.0));
    let grid = Arc::new(grid.expect("a grid"));
    let n = grid.voxel_count();
    let label = |i: usize| match grid.voxel(i) {
        [0, 1, 1] => 1.0,
        [4, 1, 1] => 2.0,
        _ => 0.0,
    };
    let ends = Volume::scalar(grid.clone(), (0..n).map(label).collect::<Vec<f32>>());
    nifti::save_volume(&folder.join("ends.nii.gz"), &ends, "", &control).expect("saved");
    let corridor = Mask::new(grid, vec![1; n]);
    nifti::save_mask(&folder.join("corridor.nii.gz"), &corridor, "", &control).expect("saved");
    let fibre = Tractogram::new(vec![[0.0; 3], [4.0, 0.0, 0.0]], vec![0, 2]);
    streamlines::save(&folder.join("fibres.tck"), &fibre, "", &control).expect("saved");
    let file = folder.join("truth.json");
    let text = r#"{"ends": "ends.nii.gz", "bundles": [{"name": "Along x", "start": 1, "end": 2,
        "fibres": "fibres.tck", "corridor": "corridor.nii.gz"}]}"#;
    std::fs::write(&file, text).expect("written");
    file
}

/// One streamline along the whole bundle, and one that stops halfway.
fn opened(folder: &Path) -> Window {
    let points = vec![[0.0; 3], [4.0, 0.0, 0.0], [0.0; 3], [2.0, 0.0, 0.0]];
    let tracked = Tractogram::new(points, vec![0, 2, 4]);
    let path = folder.join("tracked.tck");
    streamlines::save(&path, &tracked, "", &Control::new()).expect("saved");
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![path])));
    let layer = window.state.document.layers.last().expect("a layer").id;
    window.act(Action::Layer(LayerAction::Select(Some(layer))));
    act(
        &mut window,
        StreamlineAction::Open(Some(BottomPanel::Scores)),
    );
    window
}

fn act(window: &mut Window, action: StreamlineAction) {
    window.act(Action::Streamline(action));
}

fn scored() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let file = truth(here);
    let mut window = opened(here);
    assert!(window.state.runtime.streamlines.scores.shown().is_none());
    assert!(panel_command(&window.state, BottomPanel::Scores).is_none());
    act(&mut window, StreamlineAction::SetTruth(file));
    let scores = |window: &Window| {
        let shown = window.state.runtime.streamlines.scores.shown();
        shown.map(|(_, scores)| scores.clone())
    };
    let found = scores(&window).expect("scores");
    let counts = (found.valid(), found.invalid(), found.unconnected());
    assert_eq!(counts, (1, 0, 1));
    assert_eq!(found.bundles[0].overlap(), 1.0);
    // The command names the streamlines' file and the folder.
    let command = panel_command(&window.state, BottomPanel::Scores).expect("a command");
    let command = command.text();
    assert!(command.starts_with("arcuate score "), "{command}");
    assert!(command.contains(" --out scores.csv --truth "), "{command}");
    let table = here.join("scores.csv");
    act(&mut window, StreamlineAction::SaveScores(table.clone()));
    let table = std::fs::read_to_string(table).expect("a table");
    assert!(table.contains("\nAlong x,1,0,"), "{table}");
    // The choice is a step, and part of the session.
    window.act(Action::Undo);
    assert_eq!(window.state.document.streamlines.truth, None);
    window.act(Action::Redo);
    assert_eq!(
        window.state.document.streamlines.truth.as_deref(),
        Some(here)
    );
    let session = here.join("s.arcuate");
    window.save(&session);
    let reopened = Window::opened(&session);
    assert_eq!(
        reopened.state.document.streamlines.truth.as_deref(),
        Some(here)
    );
}

fn broken() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let file = truth(here);
    std::fs::remove_file(here.join("corridor.nii.gz")).expect("removed");
    let mut window = opened(here);
    act(&mut window, StreamlineAction::SetTruth(file.clone()));
    assert!(window.state.runtime.streamlines.scores.has_failed());
    assert!(
        window.messages().contains("corridor.nii.gz"),
        "{}",
        window.messages()
    );
    // Once its files are complete, choosing the folder again scores the streamlines.
    truth(here);
    act(&mut window, StreamlineAction::SetTruth(file));
    assert!(window.state.runtime.streamlines.scores.shown().is_some());
}
