//! Esc while a button is pressed cancels any drag.

use super::pointer::with_seed;
use super::sample::{ViewWindow, near, state};
use crate::support::test;
use arcuate::data::{Role, Shape};
use arcuate::state::{Action, Pane, StreamlineAction, Task, Tool, ViewAction};
use egui::{Key, Modifiers, PointerButton, Pos2, vec2};
use libtest_mimic::Trial;

const LEFT: PointerButton = PointerButton::Primary;
const MIDDLE: PointerButton = PointerButton::Middle;
const RIGHT: PointerButton = PointerButton::Secondary;

pub fn tests() -> Vec<Trial> {
    vec![
        test("views::Esc puts a region back", region),
        test("views::Esc puts crosshair, window and camera back", views),
        test("views::Esc lets nothing be placed or drawn", nothing_new),
    ]
}

/// Drags from one place, presses Esc with the button pressed, continues and releases it.
fn given_up(views: &mut ViewWindow, from: Pos2, button: PointerButton) {
    views.press(from, button, Modifiers::NONE);
    for i in 1..=4 {
        views.move_to(from + vec2(9.0, -6.0) * i as f32);
    }
    views.key(Key::Escape, Modifiers::NONE);
    for i in 5..=7 {
        views.move_to(from + vec2(9.0, -6.0) * i as f32);
    }
    views.release(from + vec2(63.0, -42.0), button);
    views.wait(0.5);
}

fn region() {
    for pane in [Pane::Axial, Pane::Coronal, Pane::Scene] {
        let (mut views, centre) = with_seed();
        views.act(Action::View(ViewAction::MoveCrosshair(centre)));
        let crosshair = views.state().view.crosshair;
        let from = match pane {
            Pane::Scene => views.scene_screen(centre),
            pane => views.screen(pane, centre),
        };
        views.press(from, LEFT, Modifiers::NONE);
        views.move_to(from + vec2(20.0, 10.0));
        let moved = views.state().document.regions[0].shape.centre();
        assert!(moved.distance(centre) > 2.0, "{pane:?} drags");
        views.release(from, LEFT);
        views.act(Action::Undo);
        views.act(Action::View(ViewAction::MoveCrosshair(crosshair)));
        given_up(&mut views, from, LEFT);
        near(
            views.state().document.regions[0].shape.centre(),
            centre,
            1e-12,
        );
        near(views.state().view.crosshair, crosshair, 1e-12);
        let history = &views.state().history;
        assert_eq!(history.undo_label(), None, "{pane:?}");
        assert_eq!(history.redo_label(), Some("Move region"), "{pane:?}");
        // The next drag is an ordinary one.
        views.press(from, LEFT, Modifiers::NONE);
        views.move_to(from + vec2(20.0, 10.0));
        views.release(from + vec2(20.0, 10.0), LEFT);
        let moved = views.state().document.regions[0].shape.centre();
        assert!(moved.distance(centre) > 2.0, "{pane:?} drags again");
    }
}

fn views() {
    for (pane, button) in [
        (Pane::Axial, LEFT),
        (Pane::Sagittal, MIDDLE),
        (Pane::Coronal, RIGHT),
        (Pane::Scene, LEFT),
        (Pane::Scene, MIDDLE),
    ] {
        let mut views = ViewWindow::new(state());
        let view = views.state().view.clone();
        let display = views.state().document.layers[0].display.clone();
        let from = views.rect(pane).center() + vec2(17.0, 11.0);
        views.press(from, button, Modifiers::NONE);
        views.move_to(from + vec2(30.0, 20.0));
        let changed =
            views.state().view != view || views.state().document.layers[0].display != display;
        assert!(changed, "{pane:?} {button:?} drags");
        views.key(Key::Escape, Modifiers::NONE);
        views.move_to(from + vec2(50.0, 40.0));
        views.release(from + vec2(50.0, 40.0), button);
        views.wait(0.5);
        assert_eq!(views.state().view, view, "{pane:?} {button:?}");
        assert_eq!(views.state().document.layers[0].display, display);
        assert_eq!(views.state().history.undo_label(), None);
    }
}

fn nothing_new() {
    let place = Tool::NewRegion {
        role: Role::Target,
        cube: false,
    };
    for tool in [place, Tool::Brush, Tool::Rectangle, Tool::Ruler, Tool::Pick] {
        let mut views = ViewWindow::new(state());
        views.act(Action::View(ViewAction::SetTool(tool)));
        let from = views.rect(Pane::Axial).center();
        views.take();
        given_up(&mut views, from, LEFT);
        let document = &views.state().document;
        assert!(document.regions.is_empty(), "{tool:?}");
        assert!(document.streamlines.measurements.is_empty(), "{tool:?}");
        let picks = |a: &Action| matches!(a, Action::Streamline(StreamlineAction::Pick { .. }));
        assert!(!views.take().iter().any(picks), "{tool:?}");
        assert_eq!(views.state().view.tool, tool, "the tool stays selected");
    }
    // Giving up a stroke into an existing region removes only what it painted.
    let mut views = ViewWindow::new(state());
    views.act(Action::View(ViewAction::SetTool(Tool::Brush)));
    let from = views.rect(Pane::Axial).center();
    views.drag(&[from, from + vec2(10.0, 0.0)], LEFT, Modifiers::NONE);
    let painted = |views: &ViewWindow| match &*views.state().document.regions[0].shape {
        Shape::Mask(mask) => mask.count(),
        shape => panic!("{shape:?}"),
    };
    let before = painted(&views);
    given_up(&mut views, from + vec2(40.0, 40.0), LEFT);
    assert_eq!(painted(&views), before);
    // A sphere for a surface.
    let mut views = ViewWindow::new(state());
    views.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    views.act(Action::View(ViewAction::SetTool(Tool::Sphere {
        add: true,
    })));
    let from = views.rect(Pane::Axial).center();
    given_up(&mut views, from, LEFT);
    assert!(views.state().document.segment.spheres.is_empty());
}
