//! The brush in the 3-D view: it paints visible surfaces, and nothing behind or in front of them.

use super::pointer::somewhere;
use super::sample::{ViewWindow, add_sphere, state};
use crate::support::{Random, test};
use arcuate::data::{Mask, Role, Shape};
use arcuate::state::{Action, Pane, RegionAction, State, Tool, ViewAction};
use egui::{Modifiers, PointerButton, Pos2, vec2};
use glam::DVec3;
use libtest_mimic::Trial;
use std::f64::consts::TAU;

const LEFT: PointerButton = PointerButton::Primary;
const RIGHT: PointerButton = PointerButton::Secondary;
/// A voxel of 2 × 2.5 × 3 mm from corner to corner.
const DIAGONAL_MM: f64 = 4.39;

pub fn tests() -> Vec<Trial> {
    vec![
        test("views::3-D paints on the nearest slice", on_slices),
        test(
            "views::3-D paints and erases on a region's surface",
            sculpts,
        ),
        test("views::3-D strokes do not fill the depth between", leaps),
    ]
}

fn turn_camera(state: &mut State, random: &mut Random) {
    state.view.camera.azimuth = random.uniform(0.0, TAU);
    state.view.camera.elevation = random.uniform(-1.2, 1.2);
}

fn mask(state: &State) -> Mask {
    let region = state.document.regions.last().expect("a region");
    match &*region.shape {
        Shape::Mask(mask) => mask.clone(),
        other => panic!("{other:?}"),
    }
}

fn voxels(mask: &Mask) -> Vec<DVec3> {
    let grid = &mask.grid;
    let centres = (0..grid.voxel_count())
        .map(|i| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64))));
    centres.filter(|p| mask.contains(*p)).collect()
}

/// Where a region can be placed the brush paints, too.
fn on_slices() {
    let mut random = Random::fresh("3-D brush on slices");
    let mut painted = 0;
    for _ in 0..40 {
        let mut state = state();
        turn_camera(&mut state, &mut random);
        let camera = state.view.camera;
        let mut placing = ViewWindow::new(state.clone());
        placing.act(Action::View(ViewAction::SetTool(Tool::NewRegion {
            role: Role::Seed,
            cube: false,
        })));
        placing.step();
        let at = somewhere(&placing, Pane::Scene, &mut random);
        placing.click(at);
        let mut views = ViewWindow::new(state);
        views.act(Action::View(ViewAction::SetTool(Tool::Brush)));
        views.step();
        views.click(at);
        assert_eq!(views.state().view.camera, camera, "the view does not turn");
        let Some(region) = placing.state().document.regions.first() else {
            assert!(views.state().document.regions.is_empty());
            continue;
        };
        painted += 1;
        let (place, radius) = (region.shape.centre(), views.state().view.drawing.radius_mm);
        let found = voxels(&mask(views.state()));
        assert!(mask(views.state()).contains(place), "under the pointer");
        let far = |p: &DVec3| p.distance(place) > radius + DIAGONAL_MM;
        assert!(!found.iter().any(far), "a ball around it");
        assert_eq!(views.state().history.undo_label(), Some("Paint"));
        views.act(Action::Undo);
        assert!(views.state().document.regions.is_empty());
    }
    assert!(painted > 10, "{painted}");
}

/// A selected ball of voxels, from some direction, without slices.
fn with_ball(random: &mut Random, radius_mm: f64) -> (ViewWindow, DVec3) {
    let mut state = state();
    turn_camera(&mut state, random);
    let centre = state.view.crosshair;
    // Slices outside the head are not visible.
    state.view.crosshair = state.document.bounds().0;
    let id = add_sphere(&mut state, Role::Seed, centre, radius_mm);
    let mut views = ViewWindow::new(state);
    views.act(Action::Region(RegionAction::Select(Some(id))));
    views.act(Action::View(ViewAction::SetTool(Tool::Brush)));
    views.step();
    (views, centre)
}

fn sculpts() {
    const BALL_MM: f64 = 24.0;
    let mut random = Random::fresh("3-D brush on surfaces");
    for _ in 0..12 {
        for button in [LEFT, RIGHT] {
            let (mut views, centre) = with_ball(&mut random, BALL_MM);
            let camera = views.state().view.camera;
            let grid = state().document.layers[0]
                .content
                .volume()
                .unwrap()
                .grid
                .clone();
            let before = views.state().document.regions[0].shape.mask_on(&grid);
            let middle = views.scene_screen(centre);
            let end = middle + vec2(22.0, -13.0);
            // Back and forth: where it has already been nothing more is hit.
            let path: Vec<Pos2> = [0.0, 0.5, 1.0, 0.5, 0.0, 0.5, 1.0]
                .map(|share| middle.lerp(end, share))
                .to_vec();
            views.drag(&path, button, Modifiers::NONE);
            assert_eq!(views.state().view.camera, camera, "the view does not turn");
            let after = mask(views.state());
            let changed: Vec<DVec3> = {
                let inside = |m: &Mask, p: DVec3| m.contains(p);
                let all = (0..grid.voxel_count())
                    .map(|i| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64))));
                all.filter(|p| inside(&before, *p) != inside(&after, *p))
                    .collect()
            };
            assert!(changed.len() > 10, "{}", changed.len());
            let adds = button == LEFT;
            assert!(changed.iter().all(|p| after.contains(*p) == adds));
            let reach = views.state().view.drawing.radius_mm + DIAGONAL_MM;
            for p in &changed {
                let off = p.distance(centre) - BALL_MM;
                assert!(off.abs() < reach, "near the surface: {off}");
                let before_it = (*p - centre).dot(camera.forward());
                assert!(before_it < 0.0, "on the side that is seen: {before_it}");
            }
            let label = if adds { "Paint" } else { "Erase" };
            assert_eq!(views.state().history.undo_label(), Some(label));
            views.act(Action::Undo);
            let undone = views.state().document.regions[0].shape.mask_on(&grid);
            assert_eq!(voxels(&undone), voxels(&before), "one stroke, one step");
        }
        // Next to it there is nothing to paint on: the view rotates.
        let (mut views, _) = with_ball(&mut random, BALL_MM);
        let before = views.state().view.camera;
        let corner = views.rect(Pane::Scene).left_bottom() + vec2(20.0, -20.0);
        views.drag(&[corner, corner + vec2(30.0, 0.0)], LEFT, Modifiers::NONE);
        assert_ne!(views.state().view.camera, before);
        assert!(views.state().history.undo_label() != Some("Paint"));
    }
}

/// The brush moves from a ball to a slice far behind it in one fast move.
fn leaps() {
    const BALL_MM: f64 = 8.0;
    let mut state = state();
    state.view.camera.azimuth = 0.4;
    state.view.camera.elevation = 0.2;
    let camera = state.view.camera;
    let crosshair = state.view.crosshair;
    let centre = crosshair - camera.forward() * 45.0;
    let id = add_sphere(&mut state, Role::Seed, centre, BALL_MM);
    let mut views = ViewWindow::new(state);
    views.act(Action::Region(RegionAction::Select(Some(id))));
    views.act(Action::View(ViewAction::SetTool(Tool::Brush)));
    views.step();
    let from = views.scene_screen(centre);
    views.drag(&[from, from + vec2(70.0, 40.0)], LEFT, Modifiers::NONE);
    let reach = views.state().view.drawing.radius_mm + DIAGONAL_MM;
    for p in voxels(&mask(views.state())) {
        let on_ball = p.distance(centre) < BALL_MM + reach;
        let on_slice = (0..3).any(|a| (p[a] - crosshair[a]).abs() < reach);
        assert!(on_ball || on_slice, "{p} hangs between");
    }
}
