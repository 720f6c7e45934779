//! Turned slices in the window: what they show, and where clicks and drags lead.

use super::sample::{POINT_MM, ViewWindow, add_layer, add_sphere, near, state};
use crate::support::{Random, test};
use arcuate::data::{AffineSource, Grid, Mask, Role, Shape, Volume};
use arcuate::render::offscreen::Offscreen;
use arcuate::scene::draw_list::{GlyphPlace, Interpolation};
use arcuate::scene::{self, Size};
use arcuate::state::core::display;
use arcuate::state::core::layer::Content;
use arcuate::state::core::slice_turn::SliceTurn;
use arcuate::state::{Action, Convention, Pane, Slab, State, Tool, ViewAction, update};
use arcuate::ui::snapshot::{self, Frame};
use egui::{Key, Modifiers, PointerButton, Pos2, pos2, vec2};
use glam::{DAffine3, DMat3, DQuat, DVec2, DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

const SLICES: [Pane; 3] = [Pane::Axial, Pane::Sagittal, Pane::Coronal];
const LEFT: PointerButton = PointerButton::Primary;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "oblique::pixels show the value at their place",
            pixels_show_values,
        ),
        test(
            "oblique::the bright side is the side of its letter",
            bright_side,
        ),
        test("oblique::a handle turns what it shows", handle_turns),
        test(
            "oblique::Esc gives a turn up, and Z takes it back",
            given_up,
        ),
        test(
            "oblique::a click without a drag moves the crosshair",
            handle_click,
        ),
        test("oblique::clicks stay in the turned slice", clicks_in_plane),
        test("oblique::seeds are placed where the click was", seeds),
        test("oblique::boxes are grabbed inside of them", boxes),
        test("oblique::masks are grabbed inside of them", masks),
        test("oblique::three clicks align the slices", three_clicks),
        test("oblique::the 3-D view shows the same slices", in_scene),
    ]
}

/// A document whose slices are turned by up to this angle, about its crosshair.
pub fn turned(random: &mut Random, most: f64) -> State {
    let mut state = state();
    turn(&mut state, random, most);
    state
}

fn turn(state: &mut State, random: &mut Random, most: f64) {
    let rotation = DQuat::from_axis_angle(random.direction(), random.uniform(0.1, most));
    let turn = SliceTurn::about(state.view.crosshair, rotation);
    update(state, Action::View(ViewAction::TurnSlices(turn)));
}

pub fn near_middle(views: &ViewWindow, pane: Pane, random: &mut Random) -> Pos2 {
    let off = [0; 2].map(|_| random.uniform(-40.0, 40.0) as f32);
    views.rect(pane).center() + vec2(off[0], off[1])
}

/// An image of a linear function on a sheared and oblique grid: interpolation is exact, so each pixel must show the
/// function at its own place in the world, computed here.
fn pixels_show_values() {
    const SIDE: f32 = 220.0;
    let mut random = Random::fresh("pixels of turned slices");
    let device = Offscreen::new().expect("a graphics device (mesa-vulkan-drivers)");
    let mut renderer = Some(device.renderer);
    for round in 0..12 {
        let spacing = DMat3::from_diagonal(dvec3(2.0, -1.5, 2.5));
        let shear = DMat3::from_cols(DVec3::X, dvec3(0.3, 1.0, 0.0), dvec3(-0.2, 0.25, 1.0));
        let matrix = DMat3::from_quat(random.rotation()) * shear * spacing;
        let shape = [70, 90, 60];
        let middle = dvec3(35.0, 45.0, 30.0);
        let affine =
            DAffine3::from_mat3_translation(matrix, dvec3(5.0, -8.0, 3.0) - matrix * middle);
        let grid = Arc::new(Grid::new(shape, affine, AffineSource::Sform).unwrap());
        let slope = random.direction();
        let value = |world: DVec3| 100.0 + slope.dot(world);
        let values = (0..grid.voxel_count()).map(|i| {
            let world = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            value(world) as f32
        });
        let volume = Volume::scalar(grid.clone(), values.collect::<Vec<f32>>());
        let mut state = State::new("CPU".to_owned());
        let mut display = display::image_display((40.0, 160.0));
        display.interpolation = Interpolation::Linear;
        add_layer(&mut state, "slope", Content::Image(volume), display);
        state.view.crosshair = grid.centre();
        state.view.visible.crosshair = false;
        update(&mut state, Action::View(ViewAction::FrameAll));
        let convention = [Convention::Radiological, Convention::Neurological][round % 2];
        update(
            &mut state,
            Action::View(ViewAction::SetConvention(convention)),
        );
        turn(&mut state, &mut random, 3.1);
        let pane = SLICES[round % 3];
        let frame = Frame {
            size: vec2(SIDE, SIDE),
            pixels_per_point: 1.0,
        };
        let picture = snapshot::pane(&mut renderer, &state, pane, frame, false).expect("a picture");
        let plane = state.plane(pane, DVec2::splat(f64::from(SIDE))).unwrap();
        let mut compared = 0;
        for _ in 0..400 {
            // Away from the text at the edges.
            let at = [0; 2].map(|_| random.uniform(60.0, 160.0).floor());
            let world = plane.world(DVec2::from_array(at) + 0.5);
            let voxel = grid.voxel_at(world);
            let inside = (0..3).all(|a| voxel[a] > 0.0 && voxel[a] < shape[a] as f64 - 1.0);
            let expected = ((value(world) - 40.0) / 120.0).clamp(0.0, 1.0) * 255.0;
            if inside {
                let found = picture.pixel(at[0] as u32, at[1] as u32);
                let off = f64::from(found[0]) - expected;
                assert!(off.abs() < 1.6, "{pane:?} {at:?}: {found:?}, {expected}");
                compared += 1;
            }
        }
        assert!(compared > 100, "{compared}");
    }
}

/// In the pixels: the half that lies to the patient's left is bright, and its side of the screen has the letter L.
fn bright_side() {
    let mut random = Random::fresh("bright side");
    let device = Offscreen::new().expect("a graphics device (mesa-vulkan-drivers)");
    let mut renderer = Some(device.renderer);
    let frame = Frame {
        size: vec2(320.0, 320.0),
        pixels_per_point: 1.0,
    };
    let mut compared = 0;
    for round in 0..24 {
        let mut state = state();
        state.view.visible.crosshair = false;
        let middle = state.document.layers[0]
            .content
            .volume()
            .unwrap()
            .grid
            .centre();
        state.view.crosshair = middle;
        let convention = [Convention::Radiological, Convention::Neurological][round % 2];
        update(
            &mut state,
            Action::View(ViewAction::SetConvention(convention)),
        );
        turn(&mut state, &mut random, 3.1);
        for pane in SLICES {
            let letters = state.view.letters(pane).expect("a slice");
            let edges = [
                vec2(-1.0, 0.0),
                vec2(1.0, 0.0),
                vec2(0.0, -1.0),
                vec2(0.0, 1.0),
            ];
            let of_left = edges.iter().zip(&letters).find(|(_, l)| l.starts_with('L'));
            let Some((edge, _)) = of_left else { continue };
            let picture =
                snapshot::pane(&mut renderer, &state, pane, frame, false).expect("a picture");
            let lit = |side: f32| {
                let mut count = 0;
                for (x, y) in (0..60).flat_map(|x| (0..60).map(move |y| (x as f32, y as f32))) {
                    // A square of 60 pixels centred 40 pixels from the middle.
                    let at = vec2(160.0 + x - 30.0, 160.0 + y - 30.0) + *edge * 40.0 * side;
                    count += usize::from(picture.pixel(at.x as u32, at.y as u32)[0] > 140);
                }
                count
            };
            let (own, other) = (lit(1.0), lit(-1.0));
            assert!(own > other + 500, "{pane:?} {letters:?}: {own} {other}");
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

/// The right handle, and a position to which it is dragged.
fn handle_path(views: &ViewWindow, pane: Pane, radians: f32) -> [Pos2; 3] {
    let rect = views.rect(pane);
    let centre = views.screen(pane, views.state().view.crosshair);
    let from = pos2(rect.right() - 40.0, centre.y);
    let radius = from.x - centre.x;
    let at = |angle: f32| centre + radius * vec2(angle.cos(), angle.sin());
    [from, at(radians * 0.5), at(radians)]
}

/// A point that is under the pointer when the drag begins is in the same direction from the crosshair as the pointer when
/// it ends; the other two slices turn, too.
fn handle_turns() {
    let mut random = Random::fresh("handles");
    for round in 0..12 {
        let state = match round % 2 {
            0 => state(),
            _ => turned(&mut random, 0.8),
        };
        let mut views = ViewWindow::new(state);
        let convention = [Convention::Radiological, Convention::Neurological][round / 2 % 2];
        views.act(Action::View(ViewAction::SetConvention(convention)));
        let pane = SLICES[round % 3];
        let angle = random.uniform(0.1, 0.5) as f32;
        let path = handle_path(&views, pane, angle);
        let crosshair = views.state().view.crosshair;
        let (grabbed, normal) = (views.world(pane, path[0]), views.slice_plane(pane).normal());
        let others = SLICES.map(|p| views.slice_plane(p).normal());
        views.drag(&path, LEFT, Modifiers::NONE);
        assert_eq!(views.state().view.crosshair, crosshair);
        let under = views.screen(pane, grabbed);
        assert!(under.distance(path[2]) < 0.5, "{under} {:?}", path[2]);
        // This slice shows the same plane.
        near(views.slice_plane(pane).normal(), normal, 1e-6);
        for (other, before) in SLICES.into_iter().zip(others) {
            let after = views.slice_plane(other).normal();
            let by = after.angle_between(before);
            let expected = if other == pane { 0.0 } else { f64::from(angle) };
            assert!((by - expected).abs() < 1e-3, "{other:?} {by} {expected}");
        }
        assert!(
            views.state().history.undo_label().is_none(),
            "no step of the document"
        );
    }
}

fn given_up() {
    let mut random = Random::fresh("given up");
    let mut views = ViewWindow::new(state());
    let before = views.state().view.clone();
    let path = handle_path(&views, Pane::Axial, random.uniform(0.2, 0.5) as f32);
    views.press(path[0], LEFT, Modifiers::NONE);
    views.move_to(path[1]);
    views.move_to(path[2]);
    assert!(!views.state().view.turn.is_straight());
    views.key(Key::Escape, Modifiers::NONE);
    assert_eq!(views.state().view, before);
    views.release(path[2], LEFT);
    assert_eq!(views.state().view, before);
    views.drag(&path, LEFT, Modifiers::NONE);
    assert!(!views.state().view.turn.is_straight());
    views.act(Action::View(ViewAction::StraightenSlices));
    assert_eq!(views.state().view, before);
    // A drag that returns to the axes ends exactly there.
    let back = [path[0], path[2], path[0]];
    views.drag(&back, LEFT, Modifiers::NONE);
    assert_eq!(views.state().view, before);
}

fn handle_click() {
    let mut views = ViewWindow::new(state());
    let [at, ..] = handle_path(&views, Pane::Axial, 0.1);
    let expected = views.world(Pane::Axial, at);
    let (low, high) = views.state().document.bounds();
    views.click(at);
    assert!(views.state().view.turn.is_straight());
    near(
        views.state().view.crosshair,
        expected.clamp(low, high),
        POINT_MM,
    );
}

fn clicks_in_plane() {
    let mut random = Random::fresh("clicks");
    for round in 0..30 {
        let mut views = ViewWindow::new(turned(&mut random, 3.1));
        let pane = SLICES[round % 3];
        let at = near_middle(&views, pane, &mut random);
        let (plane, world) = (views.slice_plane(pane), views.world(pane, at));
        let (low, high) = views.state().document.bounds();
        views.click(at);
        let crosshair = views.state().view.crosshair;
        assert!(plane.distance(crosshair).abs() < 1e-6);
        if world.clamp(low, high) == world {
            near(crosshair, world, POINT_MM);
        }
        let after = views.slice_plane(pane);
        near(after.right, plane.right, 1e-12);
        // The picture does not move under the crosshair.
        let seen = views.screen(pane, crosshair);
        let expected = views.screen(pane, world);
        assert!(world.clamp(low, high) != world || seen.distance(expected) < 0.01);
    }
}

fn seeds() {
    let mut random = Random::fresh("seeds");
    for round in 0..20 {
        let mut views = ViewWindow::new(turned(&mut random, 3.1));
        let pane = SLICES[round % 3];
        let at = near_middle(&views, pane, &mut random);
        let world = views.world(pane, at);
        let cube = round % 2 == 1;
        let role = Role::Seed;
        views.act(Action::View(ViewAction::SetTool(Tool::NewRegion {
            role,
            cube,
        })));
        views.step();
        views.click(at);
        let region = views
            .state()
            .document
            .regions
            .last()
            .expect("a seed")
            .clone();
        // Shapes keep micrometres.
        near(region.shape.centre(), world, 2e-3);
    }
}

/// A box is dragged by any point of its section, and by no other.
fn boxes() {
    let mut random = Random::fresh("boxes");
    let (mut inside, mut outside) = (0, 0);
    for round in 0..60 {
        let mut state = turned(&mut random, 3.1);
        let half_mm = dvec3(14.0, 8.0, 11.0);
        let centre = state.view.crosshair + random.direction() * 4.0;
        let id = add_sphere(&mut state, Role::Target, centre, 5.0);
        let shape = Shape::Box { centre, half_mm };
        Arc::make_mut(&mut state.document.regions[0]).shape = Arc::new(shape);
        let mut views = ViewWindow::new(state);
        let pane = SLICES[round % 3];
        let at = near_middle(&views, pane, &mut random);
        let world = views.world(pane, at);
        let off = ((world - centre).abs() / half_mm).max_element();
        if (off - 1.0).abs() < 0.05 {
            continue;
        }
        let to = at + vec2(17.0, 9.0);
        let moved = views.world(pane, to) - world;
        views.drag(&[at, at + vec2(8.0, 4.0), to], LEFT, Modifiers::NONE);
        let found = views.state().document.region(id).unwrap().shape.centre();
        if off < 1.0 {
            near(found, centre + moved, 5e-3);
            inside += 1;
        } else {
            assert_eq!(found, centre);
            outside += 1;
        }
    }
    assert!(inside > 5 && outside > 5, "{inside} {outside}");
}

/// A click inside a mask selects it; a click outside does not.
fn masks() {
    let mut random = Random::fresh("masks");
    let (mut inside, mut outside) = (0, 0);
    for round in 0..60 {
        let mut state = turned(&mut random, 3.1);
        let grid = state.document.layers[0]
            .content
            .volume()
            .unwrap()
            .grid
            .clone();
        let centre = state.view.crosshair;
        let voxels = (0..grid.voxel_count()).map(|i| {
            let world = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            u8::from(((world - centre) / dvec3(30.0, 18.0, 24.0)).length() < 1.0)
        });
        let mask = Mask::new(grid.clone(), voxels.collect::<Vec<u8>>());
        let id = add_sphere(&mut state, Role::Target, centre, 5.0);
        Arc::make_mut(&mut state.document.regions[0]).shape = Arc::new(Shape::Mask(mask));
        let mut views = ViewWindow::new(state);
        let pane = SLICES[round % 3];
        let off = [0; 2].map(|_| random.uniform(-90.0, 90.0) as f32);
        let at = views.rect(pane).center() + vec2(off[0], off[1]);
        let world = views.world(pane, at);
        let depth = ((world - centre) / dvec3(30.0, 18.0, 24.0)).length();
        // Voxels have corners.
        if (depth - 1.0).abs() < 0.25 {
            continue;
        }
        views.click(at);
        let selected = views.state().runtime.regions.selected == Some(id);
        assert_eq!(selected, depth < 1.0, "{pane:?} {depth}");
        (inside, outside) = match selected {
            true => (inside + 1, outside),
            false => (inside, outside + 1),
        };
    }
    assert!(inside > 5 && outside > 5, "{inside} {outside}");
}

/// The points are clicked on straight slices of a head in a known position.
fn three_clicks() {
    let mut random = Random::fresh("three clicks");
    for _ in 0..6 {
        let mut views = ViewWindow::new(state());
        let head = DQuat::from_axis_angle(random.direction(), random.uniform(0.05, 0.3));
        let anterior = views.state().view.crosshair;
        let points = [
            anterior,
            anterior - head * dvec3(0.0, 25.0, 0.0),
            anterior + head * dvec3(0.0, -10.0, 30.0),
        ];
        views.act(Action::View(ViewAction::SetTool(Tool::Commissures)));
        views.step();
        for (i, point) in points.into_iter().enumerate() {
            // The axial slice of each.
            views.act(Action::View(ViewAction::MoveCrosshair(point)));
            views.step();
            let at = views.screen(Pane::Axial, point);
            if i == 1 {
                // A wrong click is taken back.
                views.click(at + vec2(30.0, 20.0));
                views.drag(&[at], PointerButton::Secondary, Modifiers::NONE);
                views.act(Action::View(ViewAction::MoveCrosshair(point)));
                views.step();
            }
            views.click(views.screen(Pane::Axial, point));
        }
        assert_eq!(views.state().view.tool, Tool::Crosshair);
        let found = views.state().view.turn.rotation();
        assert!(found.angle_between(head) < 1e-3, "{found} {head}");
        near(views.state().view.crosshair, anterior, POINT_MM);
    }
}

/// The rectangles, glyphs and slab of the 3-D view lie in the planes of the slice views.
fn in_scene() {
    let mut random = Random::fresh("3-D");
    for _ in 0..20 {
        let mut state = turned(&mut random, 3.1);
        state.view.visible.slices_with_tracks = true;
        let pane = SLICES[(random.bits() % 3) as usize];
        let thickness_mm = 12.0;
        state.view.slab = Some(Slab { pane, thickness_mm });
        state.view.glyphs.shown = true;
        let size = Size {
            points: DVec2::new(500.0, 400.0),
            pixels_per_point: 1.0,
        };
        let list = scene::scene(&state, size);
        let planes = SLICES.map(|pane| state.plane(pane, size.points).unwrap());
        assert_eq!(list.slices.len(), 3);
        for quad in &list.slices {
            let on = |plane: &&arcuate::state::view::Plane| {
                let ends = [
                    quad.origin,
                    quad.origin + quad.edge_u,
                    quad.origin + quad.edge_v,
                ];
                ends.iter().all(|p| plane.distance(*p).abs() < 1e-6)
            };
            assert_eq!(planes.iter().filter(on).count(), 1);
            // It covers the crosshair, and the whole image on this plane.
            let off = state.view.crosshair - quad.origin;
            for edge in [quad.edge_u, quad.edge_v] {
                let share = off.dot(edge) / edge.length_squared();
                assert!((0.0..=1.0).contains(&share), "{share}");
            }
        }
        let slab = list.slab.expect("a slab");
        let normal = state.view.normal(pane).unwrap();
        near(slab.normal, normal, 1e-12);
        if let Some(arcuate::scene::draw_list::Glyphs::Tensors(glyphs)) = &list.glyphs {
            let GlyphPlace::Planes(cuts) = &glyphs.place else {
                panic!("planes");
            };
            for cut in cuts {
                let along = planes
                    .iter()
                    .filter(|p| p.normal().dot(cut.normal).abs() > 1.0 - 1e-9);
                assert_eq!(along.count(), 1);
            }
        }
    }
}
