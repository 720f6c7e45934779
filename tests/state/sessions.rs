//! The table of origins in a session: each stands once, behind those that it is made from, and comes back.

use crate::support::session_window::{Window, told};
use crate::support::{event_of, test};
use arcuate::data::Role;
use arcuate::jobs::session::ResultStorage;
use arcuate::jobs::{Delivery, Outcome};
use arcuate::state::density::{DensityOptions, Value};
use arcuate::state::files::jobs::head::MakeHead;
use arcuate::state::sessions::saved;
use arcuate::state::streamlines::SelectionMode;
use arcuate::state::{
    Action, BundleAction, Event, LayerId, SessionAction, Slot, SnapshotAction, State, TrackAction,
    update,
};
use glam::dvec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::an origin stands once", once),
        test("sessions::an input comes back as it was", input),
        test(
            "sessions::a scan that is found elsewhere is that of its results",
            found,
        ),
        test("sessions::another file's failure ends no reading", reading),
    ]
}

/// Files and sessions are opened in one slot: what one of them lacks says nothing about the other.
fn reading() {
    let mut state = State::new(String::new());
    let path = std::path::PathBuf::from("/tmp/left.arcuate");
    state.session.saving.recovery.reading = Some(path);
    fn failed<T>() -> Delivery<T> {
        Delivery {
            slot: Slot::Load,
            ticket: 1,
            wall_ms: 1.0,
            outcome: Outcome::Failed("Found nothing".to_owned()),
        }
    }
    let other = Event::new(MakeHead { seed: 1 }, failed());
    update(&mut state, Action::Event(other));
    assert!(state.session.saving.recovery.reading.is_some());
    update(&mut state, Action::Event(event_of(failed())));
    assert!(state.session.saving.recovery.reading.is_none());
}

fn kept(window: &mut Window) -> LayerId {
    window.place(Role::Seed, dvec3(0.0, -4.0, 0.0), 7.0);
    window.act(Action::Track(TrackAction::Keep));
    window.state.session.selected_layer.expect("kept")
}

fn map(window: &mut Window, layer: LayerId) -> LayerId {
    let (layer, density) = (Some(layer), DensityOptions::of_value(Value::Count));
    window.act(Action::MapDensity { layer, density });
    window.state.session.selected_layer.expect("a map")
}

fn delete(window: &mut Window, lines: std::ops::Range<u32>) {
    window.act(Action::Bundle(BundleAction::Choose {
        lines: lines.collect(),
        how: SelectionMode::Replace,
        anchor: None,
    }));
    window.act(Action::Bundle(BundleAction::DeleteChosen));
}

/// The numbers of other origins in one.
fn inputs(origin: &serde_json::Value, found: &mut Vec<u64>) {
    const NAMES: [&str; 5] = ["from", "fit", "scan", "tracks", "origin"];
    match origin {
        serde_json::Value::Object(members) => {
            for (name, value) in members {
                match value.as_u64().filter(|_| NAMES.contains(&&**name)) {
                    Some(number) => found.push(number),
                    None => inputs(value, found),
                }
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|v| inputs(v, found)),
        _ => {}
    }
}

fn origins(state: &State) -> Vec<serde_json::Value> {
    let content = saved::draft(state).content.value();
    content["origins"].as_array().expect("a table").clone()
}

fn once() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.work();
    let layer = kept(&mut window);
    map(&mut window, layer);
    window.act(Action::Snapshot(SnapshotAction::Take));
    delete(&mut window, 0..3);
    let table = origins(&window.state);
    for (at, origin) in table.iter().enumerate() {
        assert!(!table[..at].contains(origin), "{origin}");
        let mut named = Vec::new();
        inputs(origin, &mut named);
        assert!(named.iter().all(|n| *n <= at as u64), "{at}: {origin}");
    }
    for kind in ["file", "fit", "fit_map", "curves", "density", "edited"] {
        assert!(table.iter().any(|o| o[kind].is_object()), "{kind}");
    }
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let again = Window::opened(&path);
    assert_eq!(again.said(), "");
    assert_eq!(told(&window.state), told(&again.state));
    assert_eq!(table, origins(&again.state));
}

/// A map of streamlines of which some were deleted later.
fn input() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let layer = kept(&mut window);
    let map = map(&mut window, layer);
    let command = |window: &Window| {
        let document = &window.state.document;
        let map = document.layer(map).expect("the map");
        document.recipe(map).command()
    };
    let before = command(&window);
    delete(&mut window, 0..5);
    assert!(window.state.document.is_edited(layer));
    assert_eq!(command(&window), before);
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let again = Window::opened(&path);
    assert!(again.state.document.is_edited(layer));
    assert_eq!(command(&again), before);
}

/// Streamlines that a session has as their recipe alone are made again once their scan is found.
fn found() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let tracks = kept(&mut window);
    let scan = window.state.document.layer_named("dwi").expect("opened").id;
    window.session(SessionAction::SetStore(ResultStorage::Nothing));
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let moved = folder.path().join("moved");
    std::fs::create_dir(&moved).expect("a folder");
    for name in ["dwi.nii.gz", "dwi.bval", "dwi.bvec"] {
        std::fs::rename(folder.path().join(name), moved.join(name)).expect("moved");
    }
    let mut again = Window::opened(&path);
    again.session(SessionAction::OpenAnyway);
    assert!(again.state.document.missing_layer(tracks).is_some());
    let (layer, path) = (scan, moved.join("dwi.nii.gz"));
    again.session(SessionAction::Restore { layer, path });
    again.session(SessionAction::MakeAgain(tracks));
    let status = &again.state.session.notices.status;
    assert!(status.ends_with("same bytes"), "{status} {}", again.said());
    let document = &again.state.document;
    let command = document.recipe(document.layer(tracks).expect("made"));
    let named = moved.join("dwi.nii.gz");
    assert!(command.command().contains(&*named.to_string_lossy()));
}
