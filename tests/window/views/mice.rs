//! The mouse as in other programs, and measurements by clicks.

use super::pointer::clamped;
use super::sample::{POINT_MM, ViewWindow, near, state};
use crate::support::test;
use arcuate::state::streamlines::Measurement;
use arcuate::state::{Action, Mouse, Pane, Preferences, StreamlineAction, Tool, ViewAction};
use egui::{Modifiers, PointerButton, Pos2, vec2};
use libtest_mimic::Trial;

const LEFT: PointerButton = PointerButton::Primary;

pub fn tests() -> Vec<Trial> {
    vec![
        test("views::the mouse of other programs", mice),
        test("views::distances and angles by clicks", measured_by_clicks),
        test("views::undo during a drag ends the drag", taken_back),
        test("views::a mosaic has a slice at the crosshair", mosaic),
    ]
}

/// ITK-SNAP: the right button zooms. Slicer: dragging the left one sets window and level, clicking it moves the
/// crosshair.
fn mice() {
    let settings = |mouse| Preferences {
        mouse,
        ..Preferences::default()
    };
    let mut hands = ViewWindow::new(state());
    hands.act(Action::Set(settings(Mouse::ItkSnap)));
    let from = hands.rect(Pane::Axial).center();
    let up: Vec<Pos2> = (0..6).map(|i| from - vec2(0.0, 10.0) * i as f32).collect();
    let window = |hands: &ViewWindow| hands.state().document.layers[0].display.window;
    let zoom = |hands: &ViewWindow| hands.state().view.slices[0].zoom;
    let (window_before, zoom_before) = (window(&hands), zoom(&hands));
    hands.drag(&up, PointerButton::Secondary, Modifiers::NONE);
    assert_eq!(window(&hands), window_before);
    assert!(zoom(&hands) > 1.2 * zoom_before, "upwards comes nearer");
    hands.drag(&up, PointerButton::Secondary, Modifiers::COMMAND);
    assert_ne!(window(&hands), window_before);
    let mut hands = ViewWindow::new(state());
    hands.act(Action::Set(settings(Mouse::Slicer)));
    let before = hands.state().view.crosshair;
    hands.drag(&up, LEFT, Modifiers::NONE);
    assert_ne!(window(&hands), window_before);
    assert_eq!(hands.state().view.crosshair, before);
    let windowed = window(&hands);
    let at = from + vec2(30.0, 20.0);
    hands.click(at);
    assert_eq!(window(&hands), windowed);
    let expected = clamped(&hands, hands.world(Pane::Axial, at));
    near(hands.state().view.crosshair, expected, POINT_MM);
}

/// Two clicks, or three; a second click at the same place does not count; the right button restarts.
fn measured_by_clicks() {
    let mut hands = ViewWindow::new(state());
    let middle = hands.rect(Pane::Axial).center();
    let places = [vec2(-40.0, 0.0), vec2(0.0, 0.0), vec2(0.0, 50.0)].map(|by| middle + by);
    let worlds = places.map(|at| hands.world(Pane::Axial, at));
    let measured = |hands: &ViewWindow| hands.state().document.streamlines.measurements.clone();
    hands.act(Action::View(ViewAction::SetTool(Tool::Ruler)));
    hands.click(places[0]);
    hands.wait(0.5);
    hands.click(places[0]);
    assert!(measured(&hands).is_empty());
    hands.wait(0.5);
    hands.click(places[1]);
    let [line] = &measured(&hands)[..] else {
        panic!("one distance")
    };
    let expected = worlds[0].distance(worlds[1]);
    let off = (line.value().expect("a distance") - expected).abs();
    assert!(off < 2.0 * POINT_MM, "{off}");
    hands.wait(0.5);
    hands.click(middle + vec2(60.0, 60.0));
    hands.drag(&[places[2]], PointerButton::Secondary, Modifiers::NONE);
    hands.act(Action::View(ViewAction::SetTool(Tool::Angle)));
    for at in [
        places[0] + vec2(-6.0, 15.0),
        middle + vec2(20.0, 15.0),
        places[2] + vec2(20.0, 15.0),
    ] {
        hands.wait(0.5);
        hands.click(at);
    }
    let all = measured(&hands);
    assert_eq!(all.len(), 2, "{all:?}");
    let angle = all[1].value().expect("an angle");
    let corner = hands.world(Pane::Axial, middle + vec2(20.0, 15.0));
    let ends = [places[0] + vec2(-6.0, 15.0), places[2] + vec2(20.0, 15.0)];
    let [u, v] = ends.map(|at| (hands.world(Pane::Axial, at) - corner).normalize());
    let expected = u.dot(v).acos().to_degrees();
    assert!((angle - expected).abs() < 1.0, "{angle} {expected}");
}

/// The end of an angle is still being placed during an undo, and a distance is in its place.
fn taken_back() {
    let mut hands = ViewWindow::new(state());
    let middle = hands.rect(Pane::Axial).center();
    let places = [vec2(-40.0, 0.0), vec2(0.0, 0.0), vec2(0.0, 50.0)].map(|by| middle + by);
    let measured = |hands: &ViewWindow| hands.state().document.streamlines.measurements.clone();
    let measure = |hands: &mut ViewWindow, places: &[Pos2]| {
        let points = places.iter().map(|at| hands.world(Pane::Axial, *at));
        let (points, pane) = (points.collect(), Pane::Axial);
        let measurement = Measurement { points, pane };
        hands.act(Action::Streamline(StreamlineAction::Measure(measurement)));
    };
    measure(&mut hands, &places[..2]);
    let distance = measured(&hands);
    hands.act(Action::Streamline(StreamlineAction::Erase(0)));
    measure(&mut hands, &places);
    let angle = measured(&hands);
    hands.act(Action::View(ViewAction::SetTool(Tool::Ruler)));
    let destination = places[2] + vec2(20.0, 10.0);
    hands.press(places[2], LEFT, Modifiers::NONE);
    hands.move_to(destination);
    assert_ne!(measured(&hands), angle, "it is being dragged");
    for _ in 0..3 {
        hands.act(Action::Undo);
    }
    assert_eq!(measured(&hands), distance);
    hands.move_to(destination + vec2(10.0, 0.0));
    hands.release(destination, LEFT);
    assert_eq!(measured(&hands), distance);
}

/// Slices at the given spacing, one of them the crosshair's; a click goes to its place.
fn mosaic() {
    let mut hands = ViewWindow::new(state());
    let (low, high) = hands.state().document.head();
    let here = hands.state().view.crosshair;
    for (pane, axis) in [(Pane::Axial, 2), (Pane::Sagittal, 0), (Pane::Coronal, 1)] {
        hands.act(Action::View(ViewAction::SetLayout(
            arcuate::state::Layout::Mosaic,
        )));
        hands.act(Action::View(ViewAction::SetMosaic(pane, 7.0)));
        let places = hands.state().view.mosaic_slices((low, high));
        assert!(
            places.iter().any(|p| (p - here[axis]).abs() < 1e-9),
            "{places:?}"
        );
        assert!(places.windows(2).all(|w| (w[1] - w[0] - 7.0).abs() < 1e-9));
        assert!(places[0] >= low[axis] && places[0] - 7.0 < low[axis]);
        let last = places[places.len() - 1];
        assert!(last <= high[axis] && last + 7.0 > high[axis]);
    }
    hands.act(Action::View(ViewAction::SetMosaic(Pane::Axial, 7.0)));
    hands.step();
    let places = hands.state().view.mosaic_slices((low, high));
    let area = hands.rect(Pane::Axial);
    // The lowest is in the first row and column.
    hands.click(area.min + vec2(12.0, 12.0));
    assert!((hands.state().view.crosshair.z - places[0]).abs() < 1e-6);
}
