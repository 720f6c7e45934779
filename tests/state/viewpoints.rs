//! Viewpoints: back and forth, names, and their independence of undo.

use crate::support::session_window::Window;
use crate::support::{Random, test};
use arcuate::state::core::slice_turn::SliceTurn;
use arcuate::state::{Action, Phase, State, View, ViewAction, Viewpoint, ViewpointAction, update};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("viewpoints::back and forward, as in a browser", browser),
        test("viewpoints::are no steps of undo", not_undone),
        test("viewpoints::are named, shown, renamed and deleted", named),
        test("viewpoints::a file may contain any numbers", from_file),
        test("viewpoints::sessions keep those with names", in_sessions),
    ]
}

fn act(state: &mut State, action: ViewpointAction) {
    update(state, Action::View(ViewAction::Viewpoint(action)));
}

/// Looks somewhere else.
fn look(state: &mut State, random: &mut Random) {
    state.view.camera = state.view.camera.orbited(random.uniform(0.1, 1.0), 0.1);
    let turn = SliceTurn::about(DVec3::ONE, random.rotation());
    match random.bits() % 3 {
        0 => update(state, Action::View(ViewAction::TurnSlices(turn))),
        1 => update(state, Action::View(ViewAction::StraightenSlices)),
        _ => {
            state.view.slices[1].zoom = random.uniform(0.5, 3.0);
            Vec::new()
        }
    };
}

/// Against two stacks, one behind the present viewpoint and one before it.
fn browser() {
    let mut random = Random::fresh("browser");
    for _ in 0..40 {
        let mut state = State::new(String::new());
        act(&mut state, ViewpointAction::Remember);
        let (mut behind, mut ahead): (Vec<Viewpoint>, Vec<Viewpoint>) = (Vec::new(), Vec::new());
        let mut here = state.view.viewpoint();
        for _ in 0..60 {
            match random.bits() % 4 {
                0 | 1 => {
                    look(&mut state, &mut random);
                    behind.push(here);
                    ahead.clear();
                    here = state.view.viewpoint();
                    // It may rest there, or not before the next step.
                    if random.bits().is_multiple_of(2) {
                        act(&mut state, ViewpointAction::Remember);
                    } else {
                        let back = behind.pop().unwrap();
                        ahead.push(here);
                        here = back;
                        act(&mut state, ViewpointAction::Back);
                    }
                }
                2 => {
                    act(&mut state, ViewpointAction::Back);
                    if let Some(back) = behind.pop() {
                        ahead.push(here);
                        here = back;
                    }
                }
                _ => {
                    act(&mut state, ViewpointAction::Forward);
                    if let Some(forward) = ahead.pop() {
                        behind.push(here);
                        here = forward;
                    }
                }
            }
            assert_eq!(state.view.viewpoint(), here);
        }
    }
    let mut state = State::new(String::new());
    act(&mut state, ViewpointAction::Back);
    let status = format!("{:?}", state.runtime.notices.status);
    assert!(status.contains("no earlier view"), "{status}");
    act(&mut state, ViewpointAction::Forward);
    let status = format!("{:?}", state.runtime.notices.status);
    assert!(status.contains("no later view"), "{status}");
    // The oldest are forgotten.
    let mut random = Random::fresh("many");
    for _ in 0..300 {
        look(&mut state, &mut random);
        act(&mut state, ViewpointAction::Remember);
    }
    let mut steps = 0;
    loop {
        let before = state.view.viewpoint();
        act(&mut state, ViewpointAction::Back);
        if state.view.viewpoint() == before {
            break;
        }
        steps += 1;
    }
    assert!((50..150).contains(&steps), "{steps}");
}

fn not_undone() {
    let mut state = State::new(String::new());
    act(&mut state, ViewpointAction::Remember);
    let (before, revision) = (state.view.viewpoint(), state.history.revision());
    let camera = state.view.camera.orbited(1.0, 0.2);
    let phase = Phase::Done;
    update(
        &mut state,
        Action::View(ViewAction::SetCamera { camera, phase }),
    );
    act(&mut state, ViewpointAction::Remember);
    let after = state.view.viewpoint();
    update(&mut state, Action::Undo);
    assert_eq!(state.view.viewpoint(), after, "undo concerns the document");
    act(&mut state, ViewpointAction::Back);
    assert_eq!(state.view.viewpoint(), before);
    update(&mut state, Action::Redo);
    assert_eq!(state.view.viewpoint(), before);
    assert_eq!(state.history.revision(), revision, "nothing to save");
    assert_eq!(state.history.recorded(), 0);
}

fn named() {
    let mut random = Random::fresh("named");
    let mut state = State::new(String::new());
    let mut saved = Vec::new();
    for _ in 0..3 {
        look(&mut state, &mut random);
        act(&mut state, ViewpointAction::Save);
        saved.push(state.view.viewpoint());
    }
    let names = |state: &State| -> Vec<String> {
        state
            .view
            .named
            .iter()
            .map(|named| named.name.clone())
            .collect()
    };
    assert_eq!(names(&state), ["View 1", "View 2", "View 3"]);
    look(&mut state, &mut random);
    let here = state.view.viewpoint();
    act(&mut state, ViewpointAction::Show(0));
    assert_eq!(state.view.viewpoint(), saved[0]);
    act(&mut state, ViewpointAction::Back);
    assert_eq!(state.view.viewpoint(), here, "one can go back");
    let name = "Tumour".to_owned();
    act(&mut state, ViewpointAction::Rename { index: 1, name });
    act(&mut state, ViewpointAction::Delete(0));
    assert_eq!(names(&state), ["Tumour", "View 3"]);
    act(&mut state, ViewpointAction::Save);
    assert_eq!(names(&state), ["Tumour", "View 3", "View 1"], "a free name");
    act(&mut state, ViewpointAction::Show(0));
    assert_eq!(state.view.viewpoint(), saved[1]);
    // A row that has just gone.
    for action in [
        ViewpointAction::Show(9),
        ViewpointAction::Delete(9),
        ViewpointAction::Rename {
            index: 9,
            name: String::new(),
        },
    ] {
        act(&mut state, action);
        assert_eq!(state.view.viewpoint(), saved[1]);
        assert_eq!(names(&state).len(), 3);
    }
}

fn from_file() {
    let straight = serde_json::to_value(View::default()).unwrap();
    assert!(
        straight.get("named").is_none(),
        "as before without named views"
    );
    let good = View::default().viewpoint();
    assert_eq!(good.valid(), Some(good));
    let broken = [
        Viewpoint {
            crosshair: DVec3::NAN,
            ..good
        },
        Viewpoint {
            camera: arcuate::state::Camera {
                distance_mm: -1.0,
                ..good.camera
            },
            ..good
        },
    ];
    assert!(
        broken
            .into_iter()
            .all(|viewpoint| viewpoint.valid().is_none())
    );
    let mut zoomed = good;
    zoomed.slices[0].zoom = 1e9;
    zoomed.slices[1].pan_mm = DVec3::NAN;
    let valid = zoomed.valid().expect("it can be shown");
    assert_eq!(
        (valid.slices[0].zoom, valid.slices[1]),
        (40.0, good.slices[1])
    );
}

/// Saved and opened again, with turned slices; what has a name counts as unsaved until then.
fn in_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::fresh("sessions");
    let mut window = Window::with_scan(folder.path());
    let path = folder.path().join("views.arcuate");
    window.save(&path);
    assert!(!window.state.is_dirty());
    let turn = SliceTurn::about(window.state.view.crosshair, random.rotation());
    window.act(Action::View(ViewAction::TurnSlices(turn)));
    assert!(!window.state.is_dirty(), "looking is no work");
    window.act(Action::View(ViewAction::Viewpoint(ViewpointAction::Save)));
    assert_eq!(window.state.unsaved_lines(), ["1 named viewpoint"]);
    window.act(Action::View(ViewAction::StraightenSlices));
    window.save(&path);
    assert!(!window.state.is_dirty());
    let opened = Window::opened(&path);
    let view = &opened.state.view;
    assert!(view.turn.is_straight());
    assert_eq!(view.named.len(), 1);
    let (named, saved) = (&view.named[0], &window.state.view.named[0]);
    assert_eq!(named.name, saved.name);
    let point = random.direction() * 50.0;
    let [now, before] = [named, saved].map(|n| n.viewpoint.turn.point(point));
    assert!(now.distance(before) < 1e-9);
    assert!(!opened.state.is_dirty());
    assert_eq!(opened.state.viewpoints.last(), None, "a history of its own");
}
