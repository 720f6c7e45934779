//! Effects of the pointer in the views.

use super::sample::{POINT_MM, ViewWindow, add_sphere, near, state};
use crate::support::{Random, test};
use arcuate::data::{Role, Shape};
use arcuate::solvers::tractogram::pick::PickQuery;
use arcuate::state::regions::region_radius_mm;
use arcuate::state::track::jobs::streamlines::{LiveTracking, TrackStreamlines};
use arcuate::state::{
    Action, Convention, Effect, LayerAction, Layout, Pane, Phase, RegionAction, State,
    StreamlineAction, Tool, ViewAction,
};
use egui::{CursorIcon, Key, Modifiers, PointerButton, Pos2, pos2, vec2};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;

const LEFT: PointerButton = PointerButton::Primary;
const SLICES: [Pane; 3] = [Pane::Axial, Pane::Sagittal, Pane::Coronal];

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "views::click moves the crosshair there",
            click_moves_crosshair,
        ),
        test("views::left is left in either convention", left_is_left),
        test(
            "views::dragging the crosshair follows the pointer",
            crosshair_follows,
        ),
        test(
            "views::nothing is sent when nothing changed",
            nothing_when_nothing,
        ),
        test("views::wheel steps slices", wheel_steps),
        test(
            "views::zoom keeps what is under the pointer",
            zoom_keeps_the_point,
        ),
        test("views::pan moves with the pointer", pan_moves),
        test("views::right drag sets the window as one step", right_drag),
        test(
            "views::a region is placed where the click is",
            places_regions,
        ),
        test(
            "views::dragging a region is one coarse step, then final",
            drags_regions,
        ),
        test("views::a rim resizes", rims_resize),
        test("views::a box's edge resizes one axis", box_edges),
        test(
            "views::a click on a region selects it, a second moves the crosshair",
            selects,
        ),
        test("views::the cursor shows the action", cursors),
        test("views::full results follow when the pointer rests", settles),
        test("views::hidden regions are not in the way", hidden_regions),
        test("views::arrows step the view under the pointer", arrows),
        test(
            "views::an outline around streamlines follows a fast pointer",
            outlines,
        ),
    ]
}

/// A position well inside a pane.
pub fn somewhere(views: &ViewWindow, pane: Pane, random: &mut Random) -> Pos2 {
    let rect = views.rect(pane).shrink(60.0);
    let share = |random: &mut Random| random.uniform(0.0, 1.0) as f32;
    rect.min + vec2(share(random) * rect.width(), share(random) * rect.height())
}

pub fn clamped(views: &ViewWindow, world: DVec3) -> DVec3 {
    let (low, high) = views.state().document.bounds();
    world.clamp(low, high)
}

fn click_moves_crosshair() {
    let mut random = Random::fresh("click");
    for convention in [Convention::Radiological, Convention::Neurological] {
        for pane in SLICES {
            let mut views = ViewWindow::new(state());
            views.act(Action::View(ViewAction::SetConvention(convention)));
            let before = views.state().view.crosshair;
            let at = somewhere(&views, pane, &mut random);
            let axis = pane.normal_axis().unwrap();
            let expected = clamped(&views, views.world(pane, at));
            if random.uniform(0.0, 1.0) < 0.5 {
                views.click(at);
            } else {
                views.fast_click(at);
            }
            near(views.state().view.crosshair, expected, POINT_MM);
            assert_eq!(
                views.state().view.crosshair[axis],
                before[axis],
                "the slice stays"
            );
        }
    }
}

/// The rule of the display, without the code's own geometry: on a radiological slice the patient's right is on the left
/// of the screen, the nose is up (axial) or left (sagittal), the head is up.
fn left_is_left() {
    let centre = |views: &ViewWindow, pane: Pane| views.rect(pane).center();
    for (convention, right_of_screen) in [
        (Convention::Radiological, -1.0),
        (Convention::Neurological, 1.0),
    ] {
        for pane in [Pane::Axial, Pane::Coronal] {
            let mut views = ViewWindow::new(state());
            views.act(Action::View(ViewAction::SetConvention(convention)));
            let at = centre(&views, pane);
            views.click(at);
            let from = views.state().view.crosshair;
            views.click(at + vec2(40.0, 0.0));
            let moved = views.state().view.crosshair - from;
            assert!(
                moved.x * right_of_screen > 5.0,
                "{pane:?} {convention:?} {moved}"
            );
            views.click(at + vec2(0.0, -40.0));
            let up = views.state().view.crosshair - from;
            let upwards = if pane == Pane::Axial { up.y } else { up.z };
            assert!(upwards > 5.0, "{pane:?} {convention:?} {up}");
        }
        let mut views = ViewWindow::new(state());
        views.act(Action::View(ViewAction::SetConvention(convention)));
        let at = centre(&views, Pane::Sagittal);
        views.click(at);
        let from = views.state().view.crosshair;
        views.click(at + vec2(-40.0, 0.0));
        assert!((views.state().view.crosshair - from).y > 5.0, "nose left");
        views.click(at + vec2(0.0, -40.0));
        assert!((views.state().view.crosshair - from).z > 5.0, "head up");
    }
}

fn crosshair_follows() {
    let mut views = ViewWindow::new(state());
    let from = views.rect(Pane::Axial).center();
    views.press(from, LEFT, Modifiers::NONE);
    for i in 1..6 {
        let at = from + vec2(7.0, -5.0) * i as f32;
        let expected = views.world(Pane::Axial, at);
        views.move_to(at);
        near(views.state().view.crosshair, expected, POINT_MM);
    }
    // Over another view the drag still belongs to this slice.
    let outside = views.rect(Pane::Sagittal).center();
    let expected = clamped(&views, views.world(Pane::Axial, outside));
    views.move_to(outside);
    near(views.state().view.crosshair, expected, POINT_MM);
    views.release(outside, LEFT);
    views.take();
    views.move_to(from);
    assert!(views.take().is_empty(), "let go");
}

fn nothing_when_nothing() {
    let mut views = ViewWindow::new(state());
    let at = views.rect(Pane::Axial).center() + vec2(13.0, 17.0);
    views.click(at);
    views.take();
    views.click(at);
    for pane in Pane::ALL {
        let at = views.rect(pane).center();
        views.move_to(at);
        views.move_to(at + vec2(9.0, 3.0));
        if pane != Pane::Axial {
            // A press without a move: middle and right in slices, any in 3-D.
            views.drag(&[at], PointerButton::Middle, Modifiers::NONE);
            views.drag(&[at], PointerButton::Secondary, Modifiers::NONE);
        }
    }
    views.click(views.rect(Pane::Scene).center() + vec2(0.0, 160.0));
    views.wait(1.0);
    let sent = views.take();
    assert!(sent.is_empty(), "{sent:?}");
    assert!(views.state().history.undo_label().is_none());
}

fn wheel_steps() {
    let mut random = Random::fresh("wheel");
    for pane in SLICES {
        let mut views = ViewWindow::new(state());
        let axis = pane.normal_axis().unwrap();
        let spacing = [2.0, 2.5, 3.0][axis];
        let at = somewhere(&views, pane, &mut random);
        let before = views.state().view.crosshair;
        views.wheel(at, 1.0, Modifiers::NONE);
        let mut expected = before;
        expected[axis] += spacing;
        near(views.state().view.crosshair, expected, 1e-9);
        views.wheel(at, -1.0, Modifiers::SHIFT);
        expected[axis] -= 10.0 * spacing;
        near(views.state().view.crosshair, expected, 1e-9);
        // Three thirds of a notch, as free-running wheels send them, make one step.
        for _ in 0..3 {
            views.wheel(at, 1.0 / 3.0 + 1e-4, Modifiers::NONE);
        }
        expected[axis] += spacing;
        near(views.state().view.crosshair, expected, 1e-9);
    }
}

fn zoom_keeps_the_point() {
    let mut random = Random::fresh("zoom");
    for pane in SLICES {
        let mut views = ViewWindow::new(state());
        for lines in [2.0, -1.0, 3.0] {
            let at = somewhere(&views, pane, &mut random);
            let before = views.world(pane, at);
            let scale = views.slice_plane(pane).mm_per_point;
            views.wheel(at, lines, Modifiers::CTRL);
            near(views.world(pane, at), before, 1e-6);
            let factor = scale / views.slice_plane(pane).mm_per_point;
            assert!((factor > 1.05) == (lines > 0.0), "{factor}");
        }
        assert!(
            views
                .take()
                .iter()
                .all(|a| matches!(a, Action::View(ViewAction::SetSlice { .. })))
        );
        views.act(Action::View(ViewAction::FrameAll));
        assert_eq!(
            views.state().view.slices,
            arcuate::state::View::default().slices
        );
    }
}

fn pan_moves() {
    for (button, modifiers) in [
        (PointerButton::Middle, Modifiers::NONE),
        (LEFT, Modifiers::SHIFT),
    ] {
        for pane in SLICES {
            let mut views = ViewWindow::new(state());
            let crosshair = views.state().view.crosshair;
            let from = views.rect(pane).center();
            let to = from + vec2(31.0, -22.0);
            let stored = views.world(pane, from);
            views.drag(&[from, from + vec2(5.0, 5.0), to], button, modifiers);
            near(views.world(pane, to), stored, 1e-6);
            assert_eq!(views.state().view.crosshair, crosshair);
        }
    }
}

fn right_drag() {
    let mut views = ViewWindow::new(state());
    let window = |views: &ViewWindow| views.state().document.layers[0].display.window;
    let before = window(&views);
    let from = views.rect(Pane::Coronal).center();
    let path: Vec<Pos2> = (0..6).map(|i| from + vec2(10.0, 0.0) * i as f32).collect();
    views.drag(&path, PointerButton::Secondary, Modifiers::NONE);
    let (low, high) = window(&views);
    assert!(high - low > (before.1 - before.0) * 1.1, "right widens");
    assert!(
        ((low + high) - (before.0 + before.1)).abs() < 1e-3,
        "the level stays"
    );
    let phases: Vec<Phase> = views
        .take()
        .iter()
        .filter_map(|a| match a {
            Action::Layer(LayerAction::SetDisplay { phase, .. }) => Some(*phase),
            _ => None,
        })
        .collect();
    assert_eq!(phases.last(), Some(&Phase::Done));
    assert_eq!(phases.iter().filter(|p| **p == Phase::Done).count(), 1);
    let up: Vec<Pos2> = (0..6).map(|i| from - vec2(0.0, 8.0) * i as f32).collect();
    views.drag(&up, PointerButton::Secondary, Modifiers::NONE);
    assert!(window(&views).1 < high, "upwards brightens");
    views.act(Action::Undo);
    assert_eq!(window(&views), (low, high), "each drag is one step");
    views.act(Action::Undo);
    assert_eq!(window(&views), before);
    views.act(Action::Redo);
    for _ in 0..2 {
        views.drag(&[from], PointerButton::Secondary, Modifiers::NONE);
    }
    // The image has two values: they are 1 % and 99 % of its voxels, to one of 4096 bins.
    let (low, high) = window(&views);
    assert!(
        (low - 20.0).abs() < 0.1 && (high - 100.0).abs() < 0.1,
        "{low} {high}"
    );
}

pub fn region_shape(state: &State, index: usize) -> (DVec3, f64) {
    match &*state.document.regions[index].shape {
        Shape::Sphere { centre, radius_mm } => (*centre, *radius_mm),
        other => panic!("{other:?}"),
    }
}

fn places_regions() {
    let mut random = Random::fresh("place");
    for pane in SLICES {
        for role in [Role::Seed, Role::Target, Role::Exclude] {
            let mut views = ViewWindow::new(state());
            views.act(Action::View(ViewAction::SetTool(Tool::NewRegion {
                role,
                cube: false,
            })));
            views.take_effects();
            let at = somewhere(&views, pane, &mut random);
            let expected = views.world(pane, at);
            views.click(at);
            let (centre, radius) = region_shape(views.state(), 0);
            near(centre, expected, POINT_MM);
            assert_eq!(radius, region_radius_mm(role));
            assert_eq!(views.state().document.regions[0].role, role);
            assert_eq!(views.state().view.tool, Tool::Crosshair, "one region a key");
            near(
                views.state().view.crosshair,
                clamped(&views, expected),
                POINT_MM,
            );
            let tracks = |e: &Effect| {
                e.job::<LiveTracking>()
                    .is_some_and(|LiveTracking(track)| !track.coarse)
            };
            assert_eq!(views.take_effects().iter().any(tracks), role == Role::Seed);
        }
    }
    // Dragged open, it is as large as the drag.
    let mut views = ViewWindow::new(state());
    let tool = Tool::NewRegion {
        role: Role::Target,
        cube: false,
    };
    views.act(Action::View(ViewAction::SetTool(tool)));
    let from = views.rect(Pane::Axial).center();
    let to = from + vec2(24.0, 18.0);
    let expected = views
        .world(Pane::Axial, from)
        .distance(views.world(Pane::Axial, to));
    views.drag(&[from, from + vec2(9.0, 2.0), to], LEFT, Modifiers::NONE);
    assert!((region_shape(views.state(), 0).1 - expected).abs() < POINT_MM);
}

/// A seed that the axial slice cuts 1 mm off its centre.
pub fn with_seed() -> (ViewWindow, DVec3) {
    let mut state = state();
    let centre = state.view.crosshair + dvec3(8.0, -6.0, 1.0);
    add_sphere(&mut state, Role::Seed, centre, 9.0);
    (ViewWindow::new(state), centre)
}

fn drags_regions() {
    for (pane, convention) in [
        (Pane::Axial, Convention::Radiological),
        (Pane::Axial, Convention::Neurological),
        (Pane::Coronal, Convention::Radiological),
        (Pane::Sagittal, Convention::Neurological),
    ] {
        let (mut views, centre) = with_seed();
        views.act(Action::View(ViewAction::MoveCrosshair(
            centre - dvec3(1.0, 1.0, 1.0),
        )));
        views.act(Action::View(ViewAction::SetConvention(convention)));
        let from = views.screen(pane, centre) + vec2(2.0, 1.0);
        let offset = vec2(33.0, -21.0);
        let moved = views.world(pane, from + offset) - views.world(pane, from);
        views.take_effects();
        let path: Vec<Pos2> = (0..=6).map(|i| from + offset * (i as f32 / 6.0)).collect();
        views.drag(&path, LEFT, Modifiers::NONE);
        let (now, radius) = region_shape(views.state(), 0);
        near(now, centre + moved, POINT_MM);
        assert_eq!(radius, 9.0);
        let coarse: Vec<bool> = views
            .take_effects()
            .iter()
            .filter_map(|e| match e.job() {
                Some(LiveTracking(TrackStreamlines { coarse, .. })) => Some(*coarse),
                _ => None,
            })
            .collect();
        // Nothing answers here, so the next coarse one waits for the first.
        assert_eq!(coarse, [true, false], "the last result is the full one");
        // The other views follow; this one keeps its slice.
        let axis = pane.normal_axis().unwrap();
        for a in (0..3).filter(|&a| a != axis) {
            assert!((views.state().view.crosshair[a] - now[a]).abs() < POINT_MM);
        }
        views.act(Action::Undo);
        near(region_shape(views.state(), 0).0, centre, 1e-12);
        assert!(
            views.state().history.undo_label().is_none(),
            "a drag is one step"
        );
        views.act(Action::Redo);
        near(region_shape(views.state(), 0).0, now, 1e-12);
    }
}

fn rims_resize() {
    let (mut views, centre) = with_seed();
    // Off its centre, the ring is smaller than the sphere.
    let scale = views.slice_plane(Pane::Axial).mm_per_point;
    let ring_mm = (81.0f64 - 1.0).sqrt();
    let direction = vec2(0.6, -0.8);
    let middle = views.screen(Pane::Axial, centre);
    let from = middle + direction * (ring_mm / scale) as f32;
    let to = from + direction * 20.0;
    views.drag(&[from, from + direction * 7.0, to], LEFT, Modifiers::NONE);
    let (now, radius) = region_shape(views.state(), 0);
    assert_eq!(now, centre);
    // The pointer moved from 9 mm of the centre to this distance.
    let expected = (1.0 + (ring_mm + 20.0 * scale).powi(2)).sqrt();
    assert!(
        (radius - expected).abs() < 2.0 * POINT_MM,
        "{radius} {expected}"
    );
    // Through the centre and beyond nothing turns inside out.
    let edge = middle + direction * ((radius * radius - 1.0).sqrt() / scale) as f32;
    views.drag(&[edge, middle], LEFT, Modifiers::NONE);
    let radius = region_shape(views.state(), 0).1;
    assert!((0.5..3.0).contains(&radius), "{radius}");
}

fn box_edges() {
    let mut state = state();
    let centre = state.view.crosshair;
    let id = add_sphere(&mut state, Role::Target, centre, 1.0);
    let half_mm = dvec3(10.0, 14.0, 8.0);
    let shape = Shape::Box { centre, half_mm };
    let mut views = ViewWindow::new(state);
    views.act(Action::Region(RegionAction::SetShape {
        region: id,
        shape,
        phase: Phase::Done,
    }));
    let from = views.screen(Pane::Axial, centre + dvec3(10.0, 3.0, 0.0));
    let to = views.screen(Pane::Axial, centre + dvec3(16.0, -5.0, 0.0));
    views.drag(&[from, from + (to - from) * 0.5, to], LEFT, Modifiers::NONE);
    match &*views.state().document.regions[0].shape {
        Shape::Box { centre: c, half_mm } => {
            assert_eq!(*c, centre);
            near(*half_mm, dvec3(16.0, 14.0, 8.0), POINT_MM);
        }
        other => panic!("{other:?}"),
    }
    // A corner moves two axes.
    let from = views.screen(Pane::Coronal, centre + dvec3(-16.0, 0.0, -8.0));
    let to = views.screen(Pane::Coronal, centre + dvec3(-12.0, 0.0, -20.0));
    views.drag(&[from, from + (to - from) * 0.5, to], LEFT, Modifiers::NONE);
    match &*views.state().document.regions[0].shape {
        Shape::Box { half_mm, .. } => near(*half_mm, dvec3(12.0, 14.0, 20.0), POINT_MM),
        other => panic!("{other:?}"),
    }
}

fn selects() {
    let (mut views, centre) = with_seed();
    let before = views.state().view.crosshair;
    let at = views.screen(Pane::Axial, centre);
    views.click(at);
    let id = views.state().document.regions[0].id;
    assert_eq!(views.state().runtime.regions.selected, Some(id));
    assert_eq!(views.state().view.crosshair, before);
    let expected = views.world(Pane::Axial, at);
    views.click(at);
    near(views.state().view.crosshair, expected, POINT_MM);
    assert_eq!(views.state().runtime.regions.selected, Some(id));
    near(region_shape(views.state(), 0).0, centre, 1e-12);
    assert!(
        views.state().history.undo_label().is_none(),
        "looking is not a step"
    );
}

fn cursors() {
    let (mut views, centre) = with_seed();
    let scale = views.slice_plane(Pane::Axial).mm_per_point;
    let ring = (80f64.sqrt() / scale) as f32;
    let middle = views.screen(Pane::Axial, centre);
    let mut over = |offset: egui::Vec2| {
        views.move_to(middle + offset);
        views.cursor
    };
    assert_eq!(over(vec2(0.0, 0.0)), CursorIcon::Move);
    assert_eq!(over(vec2(ring, 0.0)), CursorIcon::ResizeHorizontal);
    assert_eq!(over(vec2(0.0, -ring)), CursorIcon::ResizeVertical);
    let diagonal = ring * std::f32::consts::FRAC_1_SQRT_2;
    assert_eq!(over(vec2(diagonal, diagonal)), CursorIcon::ResizeNwSe);
    assert_eq!(over(vec2(diagonal, -diagonal)), CursorIcon::ResizeNeSw);
    assert_eq!(over(vec2(ring + 30.0, 0.0)), CursorIcon::Crosshair);
}

fn settles() {
    let (mut views, centre) = with_seed();
    let from = views.screen(Pane::Axial, centre);
    views.press(from, LEFT, Modifiers::NONE);
    views.move_to(from + vec2(12.0, 0.0));
    assert!(views.state().runtime.track.live.waits_for_rest());
    views.take_effects();
    views.wait(0.09);
    assert!(
        views.take_effects().is_empty(),
        "the pointer has hardly stopped"
    );
    views.wait(0.06);
    let full = |e: &Effect| {
        e.job::<LiveTracking>()
            .is_some_and(|LiveTracking(track)| !track.coarse)
    };
    assert!(views.take_effects().iter().any(full));
    assert!(!views.state().runtime.track.live.waits_for_rest());
    views.wait(1.0);
    assert!(views.take_effects().is_empty(), "once");
    // The drag continues and is still one step.
    views.move_to(from + vec2(20.0, 4.0));
    views.release(from + vec2(20.0, 4.0), LEFT);
    views.act(Action::Undo);
    near(region_shape(views.state(), 0).0, centre, 1e-12);
}

fn hidden_regions() {
    let (mut views, centre) = with_seed();
    let id = views.state().document.regions[0].id;
    views.act(Action::Region(RegionAction::Toggle(id)));
    let at = views.screen(Pane::Axial, centre);
    let expected = views.world(Pane::Axial, at);
    views.drag(&[at, at + vec2(3.0, 0.0), at], LEFT, Modifiers::NONE);
    near(views.state().view.crosshair, expected, POINT_MM);
    near(region_shape(views.state(), 0).0, centre, 1e-12);
}

fn arrows() {
    let mut views = ViewWindow::new(state());
    views.act(Action::View(ViewAction::SetLayout(Layout::SceneFirst)));
    views.step();
    let at = views.rect(Pane::Coronal).center();
    views.move_to(at);
    let before = views.state().view.crosshair;
    views.key(Key::ArrowUp, Modifiers::NONE);
    near(
        views.state().view.crosshair,
        before + dvec3(0.0, 2.5, 0.0),
        1e-9,
    );
    views.key(Key::ArrowDown, Modifiers::SHIFT);
    near(
        views.state().view.crosshair,
        before - dvec3(0.0, 22.5, 0.0),
        1e-9,
    );
    views.move_to(pos2(-10.0, -10.0));
    views.take();
    views.key(Key::ArrowUp, Modifiers::NONE);
    assert!(views.take().is_empty(), "the pointer is in no view");
}

fn outlines() {
    for pane in [Pane::Axial, Pane::Scene] {
        for fast in [false, true] {
            let mut views = ViewWindow::new(state());
            views.act(Action::View(ViewAction::SetTool(Tool::Pick)));
            views.step();
            views.take();
            let corner = views.rect(pane).center() - vec2(40.0, 30.0);
            let path = [
                corner,
                corner + vec2(80.0, 0.0),
                corner + vec2(80.0, 60.0),
                corner + vec2(0.0, 60.0),
                corner + vec2(1.0, 1.0),
            ];
            match fast {
                true => views.fast_drag(&path, LEFT),
                false => views.drag(&path, LEFT, Modifiers::NONE),
            }
            let target = views.take().into_iter().find_map(|a| match a {
                Action::Streamline(StreamlineAction::Pick { target, .. }) => Some(target),
                _ => None,
            });
            let Some(PickQuery::Within(outline)) = target else {
                panic!("{pane:?} {fast}: {target:?}");
            };
            assert!(outline.len() >= 4, "{pane:?} {fast}: {outline:?}");
        }
    }
}
