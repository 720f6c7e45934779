//! The user's statements about opened files: axes of gradients, the space of points, colours of labels, and which files
//! of a folder are opened.

use super::{Window, file, only_job, scan};
use crate::support::{opened_event, opened_file, test};
use arcuate::data::axis_change::AxisChange;
use arcuate::data::{Gradients, Grid, Labels, Tractogram, Volume};
use arcuate::state::core::layer::Content;
use arcuate::state::files::jobs::open::{Loaded, OpenFile, OpenedFile};
use arcuate::state::{
    Action, CommandLine, Event, FilesAction, Reading, Space, State, TensorAction, update,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::user_choices::gradients_turn_and_back", turned),
        test(
            "update::user_choices::a_space_takes_the_layers_place",
            spaces,
        ),
        test(
            "update::user_choices::a_colour_table_joins_its_labels",
            colours,
        ),
        test(
            "update::user_choices::a_second_layer_of_a_file_is_reported",
            twice,
        ),
    ]
}

fn gradients(state: &State) -> Gradients {
    match &state.document.scan().expect("a scan").content {
        Content::Scan {
            gradients: Some(gradients),
            ..
        } => Gradients::clone(gradients),
        _ => panic!("a scan with gradients"),
    }
}

fn turned() {
    let (dwi, table) = scan();
    let mut window = Window::new();
    window.act(Action::Event(file(
        "/data/scan.nii.gz",
        Loaded::Scan {
            dwi,
            gradients: Some(Arc::new(table.clone())),
            gradient_files: Vec::new(),
        },
    )));
    let command = |window: &Window| window.fit().text();
    let before = command(&window);
    let first: AxisChange = "y,x,z".parse().expect("a turn");
    let second: AxisChange = "x,z,-y".parse().expect("a turn");
    window.act(Action::Tensors(TensorAction::TurnGradients(first)));
    let grid = window.tensors().field.grid.clone();
    assert_eq!(
        gradients(&window.state),
        table.rotated(first.in_world(&grid))
    );
    // The fit uses the turned table, and its command contains the turn.
    let text = command(&window);
    assert!(text.contains("/data/scan.nii.gz --turn=y,x,z"), "{text}");
    window.act(Action::Tensors(TensorAction::TurnGradients(second)));
    let both = second.after(first);
    let text = command(&window);
    assert!(text.contains(&format!(" --turn={both}")), "{text}");
    // Back and forth leaves no trace.
    window.act(Action::Tensors(TensorAction::TurnGradients(both.inverse())));
    assert_eq!(command(&window), before);
    for _ in 0..3 {
        window.act(Action::Undo);
    }
    assert_eq!(gradients(&window.state), table);
    assert_eq!(command(&window), before);
    window.act(Action::Redo);
    assert!(command(&window).contains("--turn=y,x,z"));
}

fn opened_as(path: &str, loaded: Loaded, reported: Reading) -> Event {
    let reading = reported;
    let file = OpenedFile {
        reading,
        ..opened_file(path, loaded)
    };
    opened_event(1, file)
}

fn reading_with(space: Space) -> Reading {
    Reading {
        vtk_space: Some(space),
        ..Reading::default()
    }
}

fn spaces() {
    let path = "/data/a.vtk";
    let mut state = State::new(String::new());
    let lines = |x: f32| {
        let tractogram = Tractogram::new(vec![[x, 1.0, 2.0]; 2], vec![0, 2]);
        Loaded::Tractogram(tractogram)
    };
    update(
        &mut state,
        Action::Event(opened_as(path, lines(1.0), reading_with(Space::Ras))),
    );
    let id = state.document.layers[0].id;
    let effects = update(
        &mut state,
        Action::Files(FilesAction::OpenAs {
            path: PathBuf::from(path),
            reading: reading_with(Space::Lps),
        }),
    );
    assert!(
        matches!(only_job(&effects), Some(OpenFile { reading, .. }) if *reading == reading_with(Space::Lps))
    );
    update(
        &mut state,
        Action::Event(opened_as(path, lines(-1.0), reading_with(Space::Lps))),
    );
    let first = |state: &State| match &state.document.layers[0].content {
        Content::Tractogram(t) => t.points[0][0],
        _ => panic!("streamlines"),
    };
    assert_eq!(
        (state.document.layers.len(), state.document.layers[0].id),
        (1, id)
    );
    assert_eq!(first(&state), -1.0);
    let command = state
        .document
        .command_line(&state.document.layers[0])
        .text();
    assert_eq!(command, "arcuate info /data/a.vtk --vtk-space lps");
    update(&mut state, Action::Undo);
    assert_eq!(first(&state), 1.0);
}

/// The notice names the layer that shows the file already; another reading takes the place of the first.
fn twice() {
    let notices = |path: &str, loaded: &dyn Fn() -> Loaded| {
        let mut state = State::new(String::new());
        let known = |state: &State| {
            let all = state.runtime.notices.messages.iter();
            all.filter(|m| m.text.contains("already open as “a”"))
                .count()
        };
        for (n, other) in [(0, path), (0, "/data/b.nii"), (1, path)] {
            let file = opened_as(other, loaded(), Reading::default());
            update(&mut state, Action::Event(file));
            assert_eq!(known(&state), n, "{other}");
        }
        let layers = state.document.layers.iter();
        let names: Vec<&str> = layers.map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "a 2"]);
        state.document.layers.len()
    };
    let grid = Grid::axis_aligned([4, 4, 4], DVec3::ONE, DVec3::ZERO).expect("a grid");
    let values: Vec<f32> = (0..64).map(|i| (i % 3) as f32).collect();
    let volume = Volume::scalar(Arc::new(grid), values);
    assert_eq!(notices("/data/a.nii", &|| Loaded::Image(volume.clone())), 3);
    let lines = || Loaded::Tractogram(Tractogram::new(vec![[1.0; 3]; 2], vec![0, 2]));
    assert_eq!(notices("/data/a.tck", &lines), 3);
    // A colour table gives the labels a new reading, in their place.
    let mut state = State::new(String::new());
    for colours in [None, Some(PathBuf::from("/data/labels.txt"))] {
        let reading = Reading {
            colours,
            ..Reading::default()
        };
        let file = opened_as("/data/a.nii", Loaded::Image(volume.clone()), reading);
        update(&mut state, Action::Event(file));
    }
    assert_eq!(state.document.layers.len(), 1);
    assert!(state.runtime.notices.messages.is_empty());
}

fn colours() {
    let mut state = State::new(String::new());
    let table = PathBuf::from("/data/labels.txt");
    let effects = update(
        &mut state,
        Action::Files(FilesAction::Open(vec![table.clone()])),
    );
    assert!(effects.is_empty());
    // Other text has this ending, too.
    let text = state.runtime.notices.messages[0].text.to_string();
    for part in [
        "Found “labels.txt”, expected a scan",
        "needs an open label map",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let grid = Grid::axis_aligned([4, 4, 4], DVec3::ONE, DVec3::ZERO).expect("a grid");
    let values: Vec<f32> = (0..64).map(|i| (i % 3) as f32).collect();
    let volume = Volume::scalar(Arc::new(grid), values);
    let loaded = Loaded::Image(volume.with_labels(Arc::new(Labels::default())));
    update(
        &mut state,
        Action::Event(opened_as("/data/dseg.nii.gz", loaded, Reading::default())),
    );
    let effects = update(
        &mut state,
        Action::Files(FilesAction::Open(vec![table.clone()])),
    );
    let Some(OpenFile { path, reading, .. }) = only_job(&effects) else {
        panic!("{effects:?}");
    };
    assert_eq!(path, &PathBuf::from("/data/dseg.nii.gz"));
    assert_eq!(reading.colours, Some(table));
    let line = state.document.command_line(&state.document.layers[0]);
    assert!(matches!(line, CommandLine::File { reading, .. } if reading.is_empty()));
}
