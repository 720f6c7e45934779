//! The mouse as in other programs, and measurements by clicks.

use super::pointer::clamped;
use super::sample::{POINT_MM, ViewWindow, near, state};
use crate::support::test;
use arcuate::state::streamlines::Measurement;
use arcuate::state::{
    Action, Layout, Mouse, Pane, Preferences, StreamlineAction, Tool, ViewAction,
};
use egui::{Modifiers, PointerButton, Pos2, vec2};
use libtest_mimic::Trial;

const LEFT: PointerButton = PointerButton::Primary;

pub fn tests() -> Vec<Trial> {
    vec![
        test("views::the mouse of other programs", mice),
        test("views::the buttons of a view take clicks", buttons),
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
    let mut views = ViewWindow::new(state());
    views.act(Action::Set(settings(Mouse::ItkSnap)));
    let from = views.rect(Pane::Axial).center();
    let up: Vec<Pos2> = (0..6).map(|i| from - vec2(0.0, 10.0) * i as f32).collect();
    let window = |views: &ViewWindow| views.state().document.layers[0].display.window;
    let zoom = |views: &ViewWindow| views.state().view.slices[0].zoom;
    let (window_before, zoom_before) = (window(&views), zoom(&views));
    views.drag(&up, PointerButton::Secondary, Modifiers::NONE);
    assert_eq!(window(&views), window_before);
    assert!(zoom(&views) > 1.2 * zoom_before, "upwards comes nearer");
    views.drag(&up, PointerButton::Secondary, Modifiers::COMMAND);
    assert_ne!(window(&views), window_before);
    let mut views = ViewWindow::new(state());
    views.act(Action::Set(settings(Mouse::Slicer)));
    let before = views.state().view.crosshair;
    views.drag(&up, LEFT, Modifiers::NONE);
    assert_ne!(window(&views), window_before);
    assert_eq!(views.state().view.crosshair, before);
    let windowed = window(&views);
    let at = from + vec2(30.0, 20.0);
    views.click(at);
    assert_eq!(window(&views), windowed);
    let expected = clamped(&views, views.world(Pane::Axial, at));
    near(views.state().view.crosshair, expected, POINT_MM);
}

/// Two clicks, or three; a second click at the same place does not count; the right button restarts.
fn measured_by_clicks() {
    let mut views = ViewWindow::new(state());
    let middle = views.rect(Pane::Axial).center();
    let places = [vec2(-40.0, 0.0), vec2(0.0, 0.0), vec2(0.0, 50.0)].map(|by| middle + by);
    let worlds = places.map(|at| views.world(Pane::Axial, at));
    let measured = |views: &ViewWindow| views.state().document.streamlines.measurements.clone();
    views.act(Action::View(ViewAction::SetTool(Tool::Ruler)));
    views.click(places[0]);
    views.wait(0.5);
    views.click(places[0]);
    assert!(measured(&views).is_empty());
    views.wait(0.5);
    views.click(places[1]);
    let [line] = &measured(&views)[..] else {
        panic!("one distance")
    };
    let expected = worlds[0].distance(worlds[1]);
    let off = (line.value().expect("a distance") - expected).abs();
    assert!(off < 2.0 * POINT_MM, "{off}");
    views.wait(0.5);
    views.click(middle + vec2(60.0, 60.0));
    views.drag(&[places[2]], PointerButton::Secondary, Modifiers::NONE);
    views.act(Action::View(ViewAction::SetTool(Tool::Angle)));
    for at in [
        places[0] + vec2(-6.0, 15.0),
        middle + vec2(20.0, 15.0),
        places[2] + vec2(20.0, 15.0),
    ] {
        views.wait(0.5);
        views.click(at);
    }
    let all = measured(&views);
    assert_eq!(all.len(), 2, "{all:?}");
    let angle = all[1].value().expect("an angle");
    let corner = views.world(Pane::Axial, middle + vec2(20.0, 15.0));
    let ends = [places[0] + vec2(-6.0, 15.0), places[2] + vec2(20.0, 15.0)];
    let [u, v] = ends.map(|at| (views.world(Pane::Axial, at) - corner).normalize());
    let expected = u.dot(v).acos().to_degrees();
    assert!((angle - expected).abs() < 1.0, "{angle} {expected}");
}

/// The end of an angle is still being placed during an undo, and a distance is in its place.
fn taken_back() {
    let mut views = ViewWindow::new(state());
    let middle = views.rect(Pane::Axial).center();
    let places = [vec2(-40.0, 0.0), vec2(0.0, 0.0), vec2(0.0, 50.0)].map(|by| middle + by);
    let measured = |views: &ViewWindow| views.state().document.streamlines.measurements.clone();
    let measure = |views: &mut ViewWindow, places: &[Pos2]| {
        let points = places.iter().map(|at| views.world(Pane::Axial, *at));
        let (points, pane) = (points.collect(), Pane::Axial);
        let measurement = Measurement { points, pane };
        views.act(Action::Streamline(StreamlineAction::Measure(measurement)));
    };
    measure(&mut views, &places[..2]);
    let distance = measured(&views);
    views.act(Action::Streamline(StreamlineAction::Erase(0)));
    measure(&mut views, &places);
    let angle = measured(&views);
    views.act(Action::View(ViewAction::SetTool(Tool::Ruler)));
    let destination = places[2] + vec2(20.0, 10.0);
    views.press(places[2], LEFT, Modifiers::NONE);
    views.move_to(destination);
    assert_ne!(measured(&views), angle, "it is being dragged");
    for _ in 0..3 {
        views.act(Action::Undo);
    }
    assert_eq!(measured(&views), distance);
    views.move_to(destination + vec2(10.0, 0.0));
    views.release(destination, LEFT);
    assert_eq!(measured(&views), distance);
}

/// Slices at the given spacing, one of them the crosshair's; a click goes to its place.
fn mosaic() {
    let mut views = ViewWindow::new(state());
    let (low, high) = views.state().document.head();
    let here = views.state().view.crosshair;
    for (pane, axis) in [(Pane::Axial, 2), (Pane::Sagittal, 0), (Pane::Coronal, 1)] {
        views.act(Action::View(ViewAction::SetLayout(
            arcuate::state::Layout::Mosaic,
        )));
        views.act(Action::View(ViewAction::SetMosaic(pane, 7.0)));
        let places = views.state().mosaic_slices();
        assert!(
            places.iter().any(|p| (p - here[axis]).abs() < 1e-9),
            "{places:?}"
        );
        assert!(places.windows(2).all(|w| (w[1] - w[0] - 7.0).abs() < 1e-9));
        assert!(places[0] >= low[axis] && places[0] - 7.0 < low[axis]);
        let last = places[places.len() - 1];
        assert!(last <= high[axis] && last + 7.0 > high[axis]);
    }
    views.act(Action::View(ViewAction::SetMosaic(Pane::Axial, 7.0)));
    views.step();
    let places = views.state().mosaic_slices();
    let area = views.rect(Pane::Axial);
    // The lowest is in the first row and column.
    views.click(area.min + vec2(12.0, 12.0));
    assert!((views.state().view.crosshair.z - places[0]).abs() < 1e-6);
}

/// A click on the icon in a view's corner maximises the view and does not move the crosshair below it.
fn buttons() {
    for pane in [Pane::Sagittal, Pane::Coronal] {
        let mut views = ViewWindow::new(state());
        let before = views.state().view.crosshair;
        let corner = views.rect(pane).right_top() + vec2(-20.0, 20.0);
        views.move_to(views.rect(pane).center());
        views.click(corner);
        assert_eq!(views.state().view.layout, Layout::Single, "{pane:?}");
        assert_eq!(views.state().view.single, pane);
        assert_eq!(views.state().view.crosshair, before);
    }
}
