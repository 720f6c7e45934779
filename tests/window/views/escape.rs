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
fn given_up(hands: &mut ViewWindow, from: Pos2, button: PointerButton) {
    hands.press(from, button, Modifiers::NONE);
    for i in 1..=4 {
        hands.move_to(from + vec2(9.0, -6.0) * i as f32);
    }
    hands.key(Key::Escape, Modifiers::NONE);
    for i in 5..=7 {
        hands.move_to(from + vec2(9.0, -6.0) * i as f32);
    }
    hands.release(from + vec2(63.0, -42.0), button);
    hands.wait(0.5);
}

fn region() {
    for pane in [Pane::Axial, Pane::Coronal, Pane::Scene] {
        let (mut hands, centre) = with_seed();
        hands.act(Action::View(ViewAction::MoveCrosshair(centre)));
        let crosshair = hands.state().view.crosshair;
        let from = match pane {
            Pane::Scene => hands.scene_screen(centre),
            pane => hands.screen(pane, centre),
        };
        hands.press(from, LEFT, Modifiers::NONE);
        hands.move_to(from + vec2(20.0, 10.0));
        let moved = hands.state().document.regions[0].shape.centre();
        assert!(moved.distance(centre) > 2.0, "{pane:?} drags");
        hands.release(from, LEFT);
        hands.act(Action::Undo);
        hands.act(Action::View(ViewAction::MoveCrosshair(crosshair)));
        given_up(&mut hands, from, LEFT);
        near(
            hands.state().document.regions[0].shape.centre(),
            centre,
            1e-12,
        );
        near(hands.state().view.crosshair, crosshair, 1e-12);
        let history = &hands.state().history;
        assert_eq!(history.undo_label(), None, "{pane:?}");
        assert_eq!(history.redo_label(), Some("Move region"), "{pane:?}");
        // The next drag is an ordinary one.
        hands.press(from, LEFT, Modifiers::NONE);
        hands.move_to(from + vec2(20.0, 10.0));
        hands.release(from + vec2(20.0, 10.0), LEFT);
        let moved = hands.state().document.regions[0].shape.centre();
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
        let mut hands = ViewWindow::new(state());
        let view = hands.state().view.clone();
        let display = hands.state().document.layers[0].display.clone();
        let from = hands.rect(pane).center() + vec2(17.0, 11.0);
        hands.press(from, button, Modifiers::NONE);
        hands.move_to(from + vec2(30.0, 20.0));
        let changed =
            hands.state().view != view || hands.state().document.layers[0].display != display;
        assert!(changed, "{pane:?} {button:?} drags");
        hands.key(Key::Escape, Modifiers::NONE);
        hands.move_to(from + vec2(50.0, 40.0));
        hands.release(from + vec2(50.0, 40.0), button);
        hands.wait(0.5);
        assert_eq!(hands.state().view, view, "{pane:?} {button:?}");
        assert_eq!(hands.state().document.layers[0].display, display);
        assert_eq!(hands.state().history.undo_label(), None);
    }
}

fn nothing_new() {
    let place = Tool::NewRegion {
        role: Role::Target,
        cube: false,
    };
    for tool in [place, Tool::Brush, Tool::Rectangle, Tool::Ruler, Tool::Pick] {
        let mut hands = ViewWindow::new(state());
        hands.act(Action::View(ViewAction::SetTool(tool)));
        let from = hands.rect(Pane::Axial).center();
        hands.take();
        given_up(&mut hands, from, LEFT);
        let document = &hands.state().document;
        assert!(document.regions.is_empty(), "{tool:?}");
        assert!(document.streamlines.measurements.is_empty(), "{tool:?}");
        let picks = |a: &Action| matches!(a, Action::Streamline(StreamlineAction::Pick { .. }));
        assert!(!hands.take().iter().any(picks), "{tool:?}");
        assert_eq!(hands.state().view.tool, tool, "the tool stays selected");
    }
    // Giving up a stroke into an existing region removes only what it painted.
    let mut hands = ViewWindow::new(state());
    hands.act(Action::View(ViewAction::SetTool(Tool::Brush)));
    let from = hands.rect(Pane::Axial).center();
    hands.drag(&[from, from + vec2(10.0, 0.0)], LEFT, Modifiers::NONE);
    let painted = |hands: &ViewWindow| match &*hands.state().document.regions[0].shape {
        Shape::Mask(mask) => mask.count(),
        shape => panic!("{shape:?}"),
    };
    let before = painted(&hands);
    given_up(&mut hands, from + vec2(40.0, 40.0), LEFT);
    assert_eq!(painted(&hands), before);
    // A sphere for a surface.
    let mut hands = ViewWindow::new(state());
    hands.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    hands.act(Action::View(ViewAction::SetTool(Tool::Sphere {
        add: true,
    })));
    let from = hands.rect(Pane::Axial).center();
    given_up(&mut hands, from, LEFT);
    assert!(hands.state().document.segment.spheres.is_empty());
}
