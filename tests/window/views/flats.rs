//! The cut face of a volume in 3-D: it is sampled, and spheres and regions are placed on it.

use super::pointer::somewhere;
use super::sample::{ViewWindow, add_layer, grid, state};
use crate::support::{Random, test};
use arcuate::data::{AffineSource, Mask, Role};
use arcuate::scene::head_mask;
use arcuate::state::core::display;
use arcuate::state::core::layer::Content;
use arcuate::state::core::volume_look::{VolumeCut, VolumeLook, VolumeStyle};
use arcuate::state::{Action, Pane, State, Task, Tool, ViewAction};
use egui::{Key, Modifiers, PointerButton, Pos2, vec2};
use glam::{DVec2, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

const LEFT: PointerButton = PointerButton::Primary;

pub fn tests() -> Vec<Trial> {
    vec![
        test("views::a cut face is sampled", sampled),
        test("views::spheres and regions are placed on cut faces", placed),
        test(
            "views::the head is the largest mask, whatever its name",
            head,
        ),
    ]
}

/// Without a fit, the order and the names of the layers do not matter.
fn head() {
    let grid = grid(AffineSource::Sform);
    let slab = |slices: usize| {
        let inside = |i: usize| u8::from(grid.voxel(i)[2] < slices);
        let inside: Vec<u8> = (0..grid.voxel_count()).map(inside).collect();
        Mask::new(grid.clone(), inside)
    };
    let [everywhere, lesion, small, brain] = [grid.shape[2], 2, 0, 20].map(slab);
    let suggested = |masks: &[(&str, &Mask)]| {
        let mut state = state();
        state.document.tensors = None;
        for (name, mask) in masks {
            let display = display::image_display((0.0, 1.0));
            add_layer(&mut state, name, Content::Mask((*mask).clone()), display);
        }
        head_mask(&state.document).map(|mask| mask.id())
    };
    let named = [
        ("everywhere", &everywhere),
        ("brain lesion", &lesion),
        ("m", &brain),
    ];
    let [all, one, two] = named;
    for masks in [[all, one, two], [two, one, all], [one, two, all]] {
        assert_eq!(suggested(&masks), Some(brain.id()));
    }
    assert_eq!(suggested(&[all, one]), Some(lesion.id()));
    assert_eq!(suggested(&[all]), Some(everywhere.id()));
    assert_eq!(suggested(&[("brain", &small)]), None);
}

fn unit(random: &mut Random) -> DVec3 {
    let mut axis = || random.uniform(-1.0, 1.0);
    let v = DVec3::new(axis(), axis(), axis());
    v.try_normalize().unwrap_or(DVec3::Z)
}

/// A cloud with everything in front of a plane removed, seen from anywhere.
fn cut(random: &mut Random, at: DVec3, normal: DVec3) -> ViewWindow {
    let mut state = state();
    let layer = Arc::make_mut(&mut state.document.layers[0]);
    let volume = layer.content.volume().expect("an image").clone();
    layer.display.volume = Some(VolumeLook {
        style: VolumeStyle::Cloud,
        cut: VolumeCut::Plane { at, normal },
        ..VolumeLook::default_for(&volume, layer.display.window)
    });
    state.view.task = Task::Segment;
    state.view.visible.slices_in_scene = false;
    state.view.camera.azimuth = random.uniform(0.0, std::f64::consts::TAU);
    state.view.camera.elevation = random.uniform(-1.2, 1.2);
    ViewWindow::new(state)
}

/// The point where the ray through a position meets the plane from its open side, inside the head.
fn expected(views: &ViewWindow, on_screen: Pos2, at: DVec3, normal: DVec3) -> Option<DVec3> {
    let rect = views.rect(Pane::Scene);
    let size = DVec2::new(f64::from(rect.width()), f64::from(rect.height()));
    let d = on_screen - rect.min;
    let share = DVec2::new(f64::from(d.x), f64::from(d.y)) / size;
    let state: &State = views.state();
    let (eye, direction) = state.view.camera.ray(share, size.x / size.y);
    let slope = direction.dot(normal);
    let met = eye + direction * ((at - eye).dot(normal) / slope);
    let seen = slope < 0.0 && (eye - at).dot(normal) > 0.0;
    let head = head_mask(&state.document).expect("a head");
    (seen && head.contains(met)).then_some(met)
}

fn sampled() {
    let mut random = Random::fresh("cut faces");
    let mut met = 0;
    for _ in 0..60 {
        let at = state().view.crosshair;
        let normal = unit(&mut random);
        let mut views = cut(&mut random, at, normal);
        let camera = views.state().view.camera;
        let from = somewhere(&views, Pane::Scene, &mut random);
        let face = expected(&views, from, at, normal);
        views.hold_key(Key::P, true);
        views.press(from, LEFT, Modifiers::NONE);
        views.move_to(from + vec2(25.0, 10.0));
        let sample = views.state().runtime.sample.clone();
        views.release(from + vec2(25.0, 10.0), LEFT);
        views.hold_key(Key::P, false);
        let Some(face) = face else {
            assert!(sample.is_none(), "nothing to sample there");
            continue;
        };
        met += 1;
        let sample = sample.expect("a sample");
        // Half a voxel's diagonal of 2 × 2.5 × 3 mm.
        let near = |p: &DVec3| (*p - at).dot(normal).abs() < 2.2;
        assert!(sample.centres().all(|p| near(&p)), "on the plane");
        assert!(
            sample.centres().any(|p| p.distance(face) < 2.2),
            "under the pointer"
        );
        assert_eq!(views.state().view.camera, camera, "the view does not turn");
        assert!(views.state().runtime.sample.is_none());
    }
    assert!(met > 5, "{met}");
}

fn placed() {
    let mut random = Random::fresh("spheres on cut faces");
    let mut on_faces = [0; 2];
    for turn in 0.. {
        if turn >= 80 && on_faces.iter().all(|n| *n > 1) {
            break;
        }
        assert!(turn < 2000, "{on_faces:?}");
        let which = turn % 2;
        let middle = state().view.crosshair;
        let at = middle + unit(&mut random) * 12.0;
        let normal = unit(&mut random);
        let mut views = cut(&mut random, at, normal);
        let role = Role::Seed;
        let tools = [
            Tool::Sphere { add: true },
            Tool::NewRegion { role, cube: false },
        ];
        views.act(Action::View(ViewAction::SetTool(tools[which])));
        views.step();
        let on_screen = somewhere(&views, Pane::Scene, &mut random);
        let face = expected(&views, on_screen, at, normal);
        let eye = views.state().view.camera.eye();
        views.click(on_screen);
        let document = &views.state().document;
        let spheres = document.segment.spheres.first().map(|s| s.1.centre);
        let regions = document.regions.first().map(|r| r.shape.centre());
        let Some(centre) = spheres.or(regions) else {
            assert!(face.is_none(), "the face is there");
            continue;
        };
        assert!(views.scene_screen(centre).distance(on_screen) < 0.5);
        let slice = (0..3).any(|a| centre[a] == middle[a]);
        let Some(face) = face else {
            assert!(slice, "on a slice");
            continue;
        };
        if slice {
            assert!(centre.distance(eye) < face.distance(eye) + 1e-6, "nearer");
        } else {
            assert!(centre.distance(face) < 1e-3, "{centre} for {face}");
            on_faces[which] += 1;
        }
    }
}
