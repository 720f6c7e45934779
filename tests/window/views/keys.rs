//! The views without a mouse: Tab gives one the focus, keys act there like the pointer.

use super::sample::{ViewWindow, add_sphere, near, state};
use crate::support::test;
use arcuate::data::{Role, Shape};
use arcuate::state::{Action, Convention, Pane, RegionAction, StreamlineAction, Tool, ViewAction};
use egui::{Key, Modifiers};
use libtest_mimic::Trial;

const NONE: Modifiers = Modifiers::NONE;

pub fn tests() -> Vec<Trial> {
    vec![
        test("views::keys::arrows move in the plane that is seen", arrows),
        test("views::keys::Page Up and Down go through slices", pages),
        test("views::keys::arrows turn the 3-D view", orbit),
        test("views::keys::Enter places, paints and measures", enter),
        test(
            "views::keys::Enter chooses a region and streamlines",
            choose,
        ),
        test("views::keys::a polygon corner by corner", polygon),
    ]
}

/// A view with the focus, by Tab.
fn focused(convention: Convention, pane: Pane) -> ViewWindow {
    let mut state = state();
    let crosshair = state.view.crosshair;
    add_sphere(&mut state, Role::Seed, crosshair, 5.0);
    let mut views = ViewWindow::new(state);
    views.act(Action::View(ViewAction::SetConvention(convention)));
    views.step();
    let at = Pane::ALL.iter().position(|p| *p == pane).unwrap();
    for _ in 0..=at {
        views.key(Key::Tab, NONE);
    }
    // A view knows its keys from the next frame on.
    views.step();
    views.take();
    views
}

fn arrows() {
    for convention in [Convention::Radiological, Convention::Neurological] {
        for pane in [Pane::Axial, Pane::Sagittal, Pane::Coronal] {
            let mut views = focused(convention, pane);
            let ways = [
                (Key::ArrowRight, [1.0, 0.0]),
                (Key::ArrowLeft, [-1.0, 0.0]),
                (Key::ArrowDown, [0.0, 1.0]),
                (Key::ArrowUp, [0.0, -1.0]),
            ];
            for (key, [x, y]) in ways {
                let plane = views.slice_plane(pane);
                let before = views.state().view.crosshair;
                views.key(key, NONE);
                let one = views.state().view.crosshair - before;
                let way = plane.right * x + plane.down * y;
                assert!(one.dot(way) > 0.9 * one.length(), "{pane:?} {key:?} {one}");
                assert!(one.length() > 1.0, "a voxel: {one}");
                views.key(key, Modifiers::SHIFT);
                let all = views.state().view.crosshair - before;
                near(all, one * 11.0, 1e-9);
                views.act(Action::View(ViewAction::MoveCrosshair(before)));
                views.step();
            }
        }
    }
}

fn pages() {
    for pane in [Pane::Axial, Pane::Sagittal, Pane::Coronal] {
        let axis = pane.normal_axis().unwrap();
        let mut views = focused(Convention::Radiological, pane);
        let before = views.state().view.crosshair;
        views.key(Key::PageUp, NONE);
        let moved = views.state().view.crosshair - before;
        assert!(
            moved[axis] > 1.0 && moved.length() == moved[axis],
            "{moved}"
        );
        views.key(Key::PageDown, NONE);
        near(views.state().view.crosshair, before, 1e-9);
    }
}

fn orbit() {
    let mut views = focused(Convention::Radiological, Pane::Scene);
    let crosshair = views.state().view.crosshair;
    let before = views.state().view.camera;
    views.key(Key::ArrowRight, NONE);
    let turned = views.state().view.camera;
    // The view turns as with a drag to the right.
    let dragged = before.orbited(std::f64::consts::PI / 36.0, 0.0);
    assert_eq!(turned, dragged);
    views.key(Key::ArrowLeft, NONE);
    views.key(Key::Plus, NONE);
    let nearer = views.state().view.camera.distance_mm;
    assert!(nearer < before.distance_mm, "{nearer}");
    views.key(Key::Minus, NONE);
    let back = views.state().view.camera.distance_mm;
    assert!((back - before.distance_mm).abs() < 1e-9, "{back}");
    assert_eq!(views.state().view.crosshair, crosshair);
    assert!(!views.state().view.moving, "drawn fully");
}

fn enter() {
    for pane in Pane::ALL {
        let mut views = focused(Convention::Radiological, pane);
        let (role, cube) = (Role::Target, false);
        views.act(Action::View(ViewAction::SetTool(Tool::NewRegion {
            role,
            cube,
        })));
        views.step();
        views.key(Key::Enter, NONE);
        views.step();
        let document = &views.state().document;
        let [_, region] = &document.regions[..] else {
            panic!("one more region in {pane:?}")
        };
        assert_eq!(region.role, Role::Target);
        near(region.shape.centre(), views.state().view.crosshair, 1e-3);
    }
    for pane in [Pane::Scene, Pane::Axial] {
        let mut views = focused(Convention::Radiological, pane);
        views.act(Action::View(ViewAction::SetTool(Tool::Brush)));
        views.step();
        views.key(Key::Enter, NONE);
        views.step();
        let strokes = views.take();
        let strokes = strokes
            .iter()
            .filter(|a| matches!(a, Action::Region(RegionAction::Stroke { .. })));
        assert_eq!(strokes.count(), 1, "in {pane:?}");
        let painted = views.state().document.regions.last().unwrap();
        let Shape::Mask(mask) = &*painted.shape else {
            panic!("painted")
        };
        assert!(mask.contains(views.state().view.crosshair));
    }
    let mut views = focused(Convention::Radiological, Pane::Axial);
    views.act(Action::View(ViewAction::SetTool(Tool::Ruler)));
    views.step();
    let from = views.state().view.crosshair;
    for key in [Key::Enter, Key::ArrowRight, Key::ArrowRight, Key::Enter] {
        views.key(key, NONE);
        views.step();
    }
    let measured = &views.state().document.streamlines.measurements;
    let length = views.state().view.crosshair.distance(from);
    assert!((measured[0].value().unwrap() - length).abs() < 1e-3 && length > 2.0);
}

fn choose() {
    for pane in [Pane::Coronal, Pane::Scene] {
        let mut views = focused(Convention::Radiological, pane);
        views.key(Key::Enter, NONE);
        views.step();
        let id = views.state().document.regions[0].id;
        assert_eq!(views.state().runtime.regions.selected, Some(id), "{pane:?}");
        views.act(Action::View(ViewAction::SetTool(Tool::Pick)));
        views.step();
        views.take();
        views.key(Key::Enter, NONE);
        let picks = |a: &Action| matches!(a, Action::Streamline(StreamlineAction::Pick { .. }));
        assert!(views.take().iter().any(picks), "{pane:?}");
    }
}

fn polygon() {
    let mut views = focused(Convention::Radiological, Pane::Axial);
    views.act(Action::View(ViewAction::SetTool(Tool::Polygon)));
    views.step();
    views.take();
    let keys = [
        Key::Enter,
        Key::ArrowRight,
        Key::Enter,
        Key::ArrowDown,
        Key::Enter,
    ];
    for key in keys {
        let far = matches!(key, Key::ArrowRight | Key::ArrowDown);
        views.key(key, if far { Modifiers::SHIFT } else { NONE });
        // Two in quick succession would be a double click.
        views.wait(0.5);
    }
    let drawn = |a: &Action| matches!(a, Action::Region(RegionAction::DrawOutline { .. }));
    assert!(!views.take().iter().any(drawn), "three corners");
    // A second point at the last corner closes it.
    views.key(Key::Enter, NONE);
    let outline = views.take().into_iter().find_map(|a| match a {
        Action::Region(RegionAction::DrawOutline { outline, .. }) => Some(outline),
        _ => None,
    });
    assert_eq!(outline.expect("closed").points.len(), 3);
}
