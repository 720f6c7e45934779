//! Slices turned to the line of the commissures, by three points.

use super::oblique::{SIZE, act, state};
use crate::support::{Random, test};
use arcuate::state::core::slice_turn::Commissures;
use arcuate::state::{Action, Pane, Severity, State, Tool, ViewAction, update};
use glam::{DQuat, DVec3, dvec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("oblique::commissures in any position", commissures),
        test(
            "oblique::commissures that make no head are refused",
            refused_commissures,
        ),
        test("oblique::a refused point leaves the others", refused_point),
    ]
}

/// A head in a known position gives that position back, whichever point of the midline is chosen.
fn commissures() {
    let mut random = Random::fresh("commissures");
    for _ in 0..500 {
        let head = DQuat::from_axis_angle(random.direction(), random.uniform(0.0, 0.75));
        let anterior = dvec3(1.0, 3.0, -2.0);
        let distance = random.uniform(18.0, 32.0);
        // Above the line or below it, and anywhere along it.
        let sign = if random.uniform(0.0, 1.0) < 0.7 {
            1.0
        } else {
            -1.0
        };
        let midline = dvec3(
            0.0,
            random.uniform(-60.0, 60.0),
            sign * random.uniform(9.0, 70.0),
        );
        let points = Commissures {
            anterior,
            posterior: anterior - head * (DVec3::Y * distance),
            midline: anterior + head * midline,
        };
        let found = points.rotation().unwrap();
        assert!(found.angle_between(head) < 1e-6, "{found} {head}");
        let mut state = state(&mut random);
        state.view.tool = Tool::Commissures;
        act(&mut state, ViewAction::AlignToCommissures(points));
        assert_eq!(state.view.tool, Tool::Crosshair);
        assert_eq!(state.view.crosshair, anterior);
        // The axial and the sagittal slice contain the commissures, the sagittal one also the midline.
        let plane = |pane| state.plane(pane, SIZE).unwrap();
        let (axial, sagittal) = (plane(Pane::Axial), plane(Pane::Sagittal));
        assert!(axial.distance(points.posterior).abs() < 1e-9);
        assert!(sagittal.distance(points.posterior).abs() < 1e-9);
        assert!(sagittal.distance(points.midline).abs() < 1e-9);
        // The front is up on the axial slice, and left on the sagittal one.
        let [front, back] = [points.anterior, points.posterior].map(|p| axial.position(p));
        assert!(front.y < back.y && (front.x - back.x).abs() < 1e-6);
        let [front, back] = [points.anterior, points.posterior].map(|p| sagittal.position(p));
        assert!(front.x < back.x && (front.y - back.y).abs() < 1e-6);
    }
}

fn refused_commissures() {
    let good = Commissures {
        anterior: dvec3(0.0, 2.0, 0.0),
        posterior: dvec3(0.0, -23.0, -1.0),
        midline: dvec3(0.5, -10.0, 50.0),
    };
    assert!(good.rotation().is_ok());
    let swapped = Commissures {
        anterior: good.posterior,
        posterior: good.anterior,
        ..good
    };
    let near = Commissures {
        posterior: good.anterior - DVec3::Y,
        ..good
    };
    let on_line = Commissures {
        midline: dvec3(0.0, -50.0, -2.0),
        ..good
    };
    let broken = Commissures {
        midline: DVec3::NAN,
        ..good
    };
    // The third point lies in the right hemisphere.
    let sideways = Commissures {
        anterior: dvec3(5.0, 2.0, 4.0),
        posterior: dvec3(5.0, -23.0, 3.0),
        midline: dvec3(35.0, -10.0, 30.0),
    };
    // A steep line and a point beside it: the patient's right would be on the left.
    let steep = Commissures {
        anterior: dvec3(-18.0, 1.0, 18.0),
        posterior: DVec3::ZERO,
        midline: dvec3(-60.0, -1.0, 2.0),
    };
    for (points, reason) in [
        (
            swapped,
            "Found the posterior commissure in front of the anterior one",
        ),
        (near, "Found the commissures 1 mm apart"),
        (on_line, "from the line through the commissures"),
        (broken, "from the line through the commissures"),
        (sideways, "whose left and right lie 49° from"),
        (steep, "from the front of the scan"),
    ] {
        let mut state = State::new(String::new());
        state.view.tool = Tool::Commissures;
        act(&mut state, ViewAction::AlignToCommissures(points));
        let message = state.runtime.notices.messages.last().expect("a message");
        assert_eq!(message.severity, Severity::Error);
        assert!(message.text.contains(reason), "{}", message.text);
        assert!(!message.text.contains("--"), "{}", message.text);
        let for_command = points.rotation().unwrap_err().to_string();
        assert!(for_command.contains("--ac"), "{for_command}");
        assert!(state.view.turn.is_straight());
        assert_eq!(state.view.tool, Tool::Commissures, "the next click goes on");
    }
}

/// Each point is checked when it is placed; the points before a refused one stay, and its message goes with the next one.
fn refused_point() {
    let mut state = State::new(String::new());
    let errors = |state: &State| {
        let messages = state.runtime.notices.messages.iter();
        let errors = messages.filter(|m| m.severity == Severity::Error);
        errors.map(|m| m.text.clone()).collect::<Vec<_>>()
    };
    let place = |state: &mut State, x: f64, y: f64, z: f64| {
        act(state, ViewAction::PlaceCommissure(dvec3(x, y, z)));
    };
    act(&mut state, ViewAction::SetTool(Tool::Commissures));
    place(&mut state, 0.0, 2.0, 0.0);
    // In front of the first, and too near to it.
    place(&mut state, 0.0, 27.0, 0.0);
    assert_eq!(state.commissures.len(), 1);
    assert!(errors(&state)[0].contains("in front of the anterior one"));
    place(&mut state, 0.0, 0.0, 0.0);
    assert_eq!(errors(&state).len(), 1, "only about the newest point");
    assert!(
        errors(&state)[0].contains("2 mm apart"),
        "{:?}",
        errors(&state)
    );
    place(&mut state, 0.0, -23.0, 0.0);
    assert_eq!(errors(&state), Vec::<String>::new());
    // On the line, then far to the side.
    for (x, z) in [(0.0, 3.0), (40.0, 5.0)] {
        place(&mut state, x, -10.0, z);
        assert_eq!(state.commissures.len(), 2, "both commissures stay");
        assert_eq!(errors(&state).len(), 1);
        assert!(state.view.turn.is_straight());
    }
    act(&mut state, ViewAction::TakeBackCommissure);
    assert_eq!((state.commissures.len(), errors(&state).len()), (1, 0));
    place(&mut state, 0.0, -23.0, 2.0);
    place(&mut state, 0.0, -10.0, 5.0);
    assert_eq!(errors(&state).len(), 1);
    place(&mut state, 0.0, -10.0, 50.0);
    assert!(!state.view.turn.is_straight());
    assert_eq!(state.view.tool, Tool::Crosshair);
    assert_eq!((state.commissures.len(), errors(&state).len()), (0, 0));
    // Esc puts the tool away, with its points and its message.
    act(&mut state, ViewAction::SetTool(Tool::Commissures));
    place(&mut state, 0.0, 2.0, 0.0);
    place(&mut state, 0.0, 27.0, 0.0);
    update(&mut state, Action::Escape);
    assert_eq!((state.commissures.len(), errors(&state).len()), (0, 0));
}
