//! Slow work when opening a session is done before the window receives it.

use crate::support::session_window::Window;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::Tractogram;
use arcuate::io::trx;
use arcuate::jobs::{Job, Outcome};
use arcuate::state::sessions::jobs::{LoadLayers, OpenSession, RestoredLayer};
use arcuate::state::streamlines::{SelectionMode, StreamlineAction, streamlines_of};
use arcuate::state::{
    Action, AlignmentAction, Document, Effect, Event, FilesAction, LayerAction, Phase,
    SessionAction, SnapshotAction, update,
};
use glam::{DAffine3, DVec3};
use libtest_mimic::Trial;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::a worker reads the session", shared_content),
        test("sessions::a worker moves streamlines", moved),
        test(
            "sessions::edited streamlines located later keep their transform",
            later,
        ),
    ]
}

fn up(mm: f64) -> DAffine3 {
    DAffine3::from_translation(DVec3::new(0.0, 0.0, mm))
}

/// Moved streamlines, and a snapshot of their earlier transform.
fn session(folder: &Path) -> PathBuf {
    let (file, path) = (folder.join("lines.trx"), folder.join("s.arcuate"));
    let points: Vec<[f32; 3]> = [3.0, 4.0, 7.0, 8.0].map(|z| [1.0, 2.0, z]).to_vec();
    let lines = Tractogram::new(points, vec![0, 2, 4]);
    trx::save(&file, &lines, &Control::new()).expect("saved");
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![file])));
    let layer = window.state.document.layers[0].id;
    let phase = Phase::Done;
    for mm in [10.0, 20.0] {
        let transform = up(mm);
        window.act(Action::Alignment(AlignmentAction::Shift {
            layer,
            transform,
            phase,
        }));
        if mm == 10.0 {
            window.act(Action::Snapshot(SnapshotAction::Take));
        }
    }
    window.save(&path);
    path
}

/// Runs the single job that the window requests.
fn done<J: Job<Output: Clone + Debug>>(
    window: &mut Window,
    effects: &mut Vec<Effect>,
) -> (Event, J::Output) {
    let requested = effects.drain(..).find_map(|effect| match effect {
        Effect::Submit(request) => Some(request),
        _ => None,
    });
    let job = window.jobs.submit(requested.expect("a request"));
    let event = window.jobs.wait(&job, |_| {});
    match event.outcome::<J>() {
        Some(Outcome::Done(output)) => (event.clone(), output.clone()),
        other => panic!("{other:?}"),
    }
}

fn shared_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = session(folder.path());
    let mut window = Window::new();
    let mut effects = update(
        &mut window.state,
        Action::Files(FilesAction::Open(vec![path.clone()])),
    );
    let (event, read) = done::<OpenSession>(&mut window, &mut effects);
    let Ok((content, unknown)) = &read.content else {
        panic!("a session")
    };
    assert!(unknown.is_empty(), "{unknown:?}");
    update(&mut window.state, Action::Event(event));
    let opening = window.state.runtime.sessions.opening.as_ref();
    assert!(Arc::ptr_eq(&opening.expect("opened").content, content));
}

fn moved() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = session(folder.path());
    let mut window = Window::new();
    let mut effects = update(
        &mut window.state,
        Action::Files(FilesAction::Open(vec![path])),
    );
    let (event, _) = done::<OpenSession>(&mut window, &mut effects);
    effects = update(&mut window.state, Action::Event(event));
    let (event, restored) = done::<LoadLayers>(&mut window, &mut effects);
    update(&mut window.state, Action::Event(event));
    let [(_, Ok(RestoredLayer::File { moved, .. }))] = &restored[..] else {
        panic!("{restored:?}")
    };
    assert_eq!(moved.len(), 2);
    let same = |document: &Document, mm: f64| {
        let shifted = moved.iter().find(|(by, _)| *by == up(mm));
        let shifted = &shifted.expect("moved").1.as_ref().expect("room").points;
        assert_eq!(shifted[0], [1.0, 2.0, 3.0 + mm as f32]);
        let layer = &document.layers[0];
        assert_eq!(document.moved_by(layer.id), up(mm));
        assert!(std::ptr::eq(
            &*streamlines_of(layer).expect("streamlines").points,
            &**shifted
        ));
    };
    same(&window.state.document, 20.0);
    same(&window.state.runtime.snapshots.all[0].document, 10.0);
}

fn later() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = session(folder.path());
    let mut window = Window::opened(&path);
    let layer = window.state.document.layers[0].id;
    window.act(Action::Layer(LayerAction::Select(Some(layer))));
    window.act(Action::Streamline(StreamlineAction::Choose {
        streamlines: vec![0],
        mode: SelectionMode::Replace,
        anchor: None,
    }));
    window.act(Action::Streamline(StreamlineAction::DeleteChosen));
    window.save(&path);
    let [from, to] = ["lines.trx", "others.trx"].map(|name| folder.path().join(name));
    std::fs::rename(&from, &to).expect("renamed");
    let mut window = Window::opened(&path);
    window.session(SessionAction::OpenAnyway);
    assert_eq!(window.state.document.missing_layers().count(), 1);
    let restore = Action::Session(SessionAction::Restore { layer, path: to });
    let mut effects = update(&mut window.state, restore);
    let (event, restored) = done::<LoadLayers>(&mut window, &mut effects);
    update(&mut window.state, Action::Event(event));
    let [(_, Ok(RestoredLayer::File { moved, .. }))] = &restored[..] else {
        panic!("{restored:?}")
    };
    let document = &window.state.document;
    assert_eq!(document.moved_by(layer), up(20.0), "{}", window.messages());
    let loaded = &moved[0].1.as_ref().expect("room").points;
    assert_eq!(loaded[..], [[1.0, 2.0, 27.0], [1.0, 2.0, 28.0]]);
    let here = streamlines_of(&document.layers[0]).expect("streamlines");
    assert!(std::ptr::eq(&*here.points, &**loaded));
    assert!(document.is_edited(layer));
}
