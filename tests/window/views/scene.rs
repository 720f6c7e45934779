//! Effects of the pointer in the 3-D view.

use super::pointer::{region_shape, somewhere, with_seed};
use super::sample::{ViewWindow, near, state};
use crate::support::{Random, test};
use arcuate::data::Role;
use arcuate::state::track::jobs::streamlines::LiveTracking;
use arcuate::state::{Action, Camera, Effect, Pane, Phase, Tool, ViewAction};
use egui::{Modifiers, PointerButton, vec2};
use glam::DVec3;
use libtest_mimic::Trial;
use std::collections::BTreeSet;

const LEFT: PointerButton = PointerButton::Primary;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "views::3-D drag turns, wheel zooms, middle pans",
            scene_camera,
        ),
        test("views::3-D places on the nearest slice", scene_places),
        test(
            "views::3-D drags a region in the plane that faces the camera",
            scene_drags,
        ),
        test(
            "views::a camera frames points of any distance in single precision",
            scene_far,
        ),
    ]
}

fn scene_far() {
    for most in [0.0, 90.0, 1e6, 1e19, f64::from(f32::MAX), f64::MAX / 4.0] {
        let camera = Camera::framing(DVec3::splat(-most), DVec3::splat(0.3 * most));
        assert!(camera.is_valid(), "{most}: {camera:?}");
        let clip_from_world = camera.clip_from_world(1.5).as_mat4();
        assert!(clip_from_world.is_finite(), "{most}: {clip_from_world}");
    }
    let far = Camera {
        focus: DVec3::new(0.0, 1e30, 0.0),
        ..Camera::framing(DVec3::NEG_ONE, DVec3::ONE)
    };
    assert!(!far.is_valid());
}

fn scene_camera() {
    let mut views = ViewWindow::new(state());
    // Next to everything.
    let from = views.rect(Pane::Scene).left_bottom() + vec2(20.0, -20.0);
    let before = views.state().view.camera;
    views.press(from, LEFT, Modifiers::NONE);
    views.move_to(from + vec2(30.0, -12.0));
    assert!(views.state().view.moving);
    let turned = views.state().view.camera;
    assert!(turned.azimuth > before.azimuth && turned.elevation < before.elevation);
    assert_eq!(turned.distance_mm, before.distance_mm);
    views.release(from + vec2(30.0, -12.0), LEFT);
    assert!(
        !views.state().view.moving,
        "sharp again as soon as it is let go"
    );
    assert_eq!(views.state().view.camera, turned);

    views.wheel(from, 2.0, Modifiers::NONE);
    let near_camera = views.state().view.camera;
    assert!((turned.distance_mm / near_camera.distance_mm - 1.21).abs() < 1e-9);
    assert!(!views.state().view.moving, "settled");

    let world = views.state().view.camera.focus;
    let stored = views.scene_screen(world);
    let middle = PointerButton::Middle;
    views.drag(
        &[stored, stored + vec2(15.0, 4.0), stored + vec2(28.0, -9.0)],
        middle,
        Modifiers::NONE,
    );
    let now = views.scene_screen(world);
    assert!(
        now.distance(stored + vec2(28.0, -9.0)) < 0.5,
        "{now:?} {stored:?}"
    );
    assert!(views.state().history.undo_label().is_none());
}

fn scene_places() {
    let mut random = Random::fresh("scene");
    let mut axes = BTreeSet::new();
    for _ in 0..60 {
        let mut views = ViewWindow::new(state());
        let mut camera = views.state().view.camera;
        camera.azimuth = random.uniform(0.0, std::f64::consts::TAU);
        camera.elevation = random.uniform(-1.2, 1.2);
        views.act(Action::View(ViewAction::SetCamera {
            camera,
            phase: Phase::Done,
        }));
        let tool = Tool::NewRegion {
            role: Role::Seed,
            cube: false,
        };
        views.act(Action::View(ViewAction::SetTool(tool)));
        views.step();
        let at = somewhere(&views, Pane::Scene, &mut random);
        views.click(at);
        let mask = views
            .state()
            .document
            .tensors
            .as_ref()
            .unwrap()
            .mask
            .clone();
        let Some(region) = views.state().document.regions.first().cloned() else {
            // The ray missed the head's slices: the tool stays selected.
            assert_eq!(views.state().view.tool, tool);
            continue;
        };
        let centre = region.shape.centre();
        // The crosshair went there, so the state before shows the slice on which it lies.
        let crosshair = state().view.crosshair;
        let axis = (0..3)
            .find(|&a| centre[a] == crosshair[a])
            .expect("on a slice");
        axes.insert(axis);
        assert!(mask.contains(centre), "inside the head");
        assert!(
            views.scene_screen(centre).distance(at) < 0.5,
            "under the pointer"
        );
        // No part of the other slices lies in front of it.
        let eye = camera.eye();
        for other in (0..3).filter(|&a| a != axis) {
            let t = (crosshair[other] - eye[other]) / (centre[other] - eye[other]);
            if t > 0.0 && t < 1.0 - 1e-6 {
                assert!(
                    !mask.contains(eye + (centre - eye) * t),
                    "hidden by slice {other}"
                );
            }
        }
    }
    assert_eq!(axes.len(), 3, "every slice was met: {axes:?}");
}

fn scene_drags() {
    let (mut views, centre) = with_seed();
    let camera = views.state().view.camera;
    let from = views.scene_screen(centre);
    let to = from + vec2(-26.0, 17.0);
    views.take_effects();
    views.drag(&[from, from + vec2(-9.0, 5.0), to], LEFT, Modifiers::NONE);
    let (now, radius) = region_shape(views.state(), 0);
    assert!(
        views.scene_screen(now).distance(to) < 0.1,
        "under the pointer"
    );
    let depth = (now - centre).dot(camera.forward());
    assert!(
        depth.abs() < 1e-3,
        "in the plane that faces the camera: {depth}"
    );
    assert_eq!((radius, views.state().view.camera), (9.0, camera));
    let coarse = |e: &Effect| {
        let job = e.job::<LiveTracking>();
        job.is_some_and(|LiveTracking(track)| track.coarse)
    };
    assert!(views.take_effects().iter().any(coarse));
    // Its silhouette resizes it.
    let mm = camera.axes().x_axis * 9.0;
    let rim = views.scene_screen(now + mm);
    let out = rim + (rim - views.scene_screen(now)).normalized() * 15.0;
    views.drag(&[rim, rim + (out - rim) * 0.5, out], LEFT, Modifiers::NONE);
    let (still, radius) = region_shape(views.state(), 0);
    assert_eq!(still, now);
    assert!((11.0..20.0).contains(&radius), "{radius}");
    views.act(Action::Undo);
    views.act(Action::Undo);
    near(region_shape(views.state(), 0).0, centre, 1e-12);
}
