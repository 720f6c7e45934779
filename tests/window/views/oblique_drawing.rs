//! Drawing on turned slices.

use super::oblique::{near_middle, turned};
use super::sample::ViewWindow;
use crate::support::{Random, test};
use arcuate::data::{Mask, Shape};
use arcuate::state::{Action, Pane, RegionAction, Tool, ViewAction};
use egui::{Key, Modifiers, vec2};
use glam::DVec3;
use libtest_mimic::Trial;

const SLICES: [Pane; 3] = [Pane::Axial, Pane::Sagittal, Pane::Coronal];

pub fn tests() -> Vec<Trial> {
    vec![
        test("oblique::the brush paints the voxel under it", brush),
        test("oblique::a flat brush paints its slice only", flat_brush),
        test("oblique::polygons lie in their slice", polygon),
        test("oblique::copying to the next slice is refused", no_copies),
    ]
}

fn drawn(views: &ViewWindow) -> Mask {
    let region = views.state().document.regions.last().expect("a region");
    match &*region.shape {
        Shape::Mask(mask) => mask.clone(),
        other => panic!("a mask, not {other:?}"),
    }
}

fn centres(mask: &Mask) -> Vec<DVec3> {
    let grid = &mask.grid;
    let all = (0..grid.voxel_count()).filter(|i| mask.inside[*i] != 0);
    all.map(|i| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64))))
        .collect()
}

fn brush() {
    let mut random = Random::fresh("brush");
    for round in 0..20 {
        let mut views = ViewWindow::new(turned(&mut random, 3.1));
        views.act(Action::View(ViewAction::SetTool(Tool::Brush)));
        views.step();
        let pane = SLICES[round % 3];
        let at = near_middle(&views, pane, &mut random);
        let world = views.world(pane, at);
        views.click(at);
        let mask = drawn(&views);
        assert!(mask.contains(world));
        let radius = views.state().view.drawing.radius_mm;
        for centre in centres(&mask) {
            assert!(centre.distance(world) < radius + 4.5, "a ball around it");
        }
    }
}

/// Every painted voxel touches the plane, and all voxels near the pointer that it cuts are painted.
fn flat_brush() {
    let mut random = Random::fresh("flat brush");
    for round in 0..20 {
        let mut views = ViewWindow::new(turned(&mut random, 3.1));
        views.act(Action::View(ViewAction::SetTool(Tool::Brush)));
        let drawing = arcuate::state::Drawing {
            flat: true,
            radius_mm: 9.0,
            ..views.state().view.drawing.clone()
        };
        views.act(Action::Region(RegionAction::SetDrawing(drawing)));
        views.step();
        let pane = SLICES[round % 3];
        let at = near_middle(&views, pane, &mut random);
        let (plane, world) = (views.slice_plane(pane), views.world(pane, at));
        views.click(at);
        let mask = drawn(&views);
        let edges = mask.grid.world_from_voxel.matrix3;
        let half: f64 = (0..3)
            .map(|a| edges.col(a).dot(plane.normal()).abs())
            .sum::<f64>()
            * 0.5;
        let (low, high) = mask.grid.bounds();
        for i in 0..mask.grid.voxel_count() {
            let voxel = mask.grid.voxel(i).map(|v| v as f64);
            let centre = mask.grid.world(DVec3::from_array(voxel));
            let off = plane.distance(centre);
            let within = (centre - plane.normal() * off).distance(world);
            let painted = mask.inside[i] != 0;
            if painted {
                assert!(off.abs() < half + 1e-6, "{off}");
            } else if off.abs() < half - 1e-6 && within < 9.0 - 1e-6 {
                panic!("a voxel {off} mm from the plane is missing, {low} {high}");
            }
        }
    }
}

fn polygon() {
    let mut random = Random::fresh("polygon");
    for round in 0..20 {
        let mut views = ViewWindow::new(turned(&mut random, 3.1));
        views.act(Action::View(ViewAction::SetTool(Tool::Polygon)));
        views.step();
        let pane = SLICES[round % 3];
        let middle = views.rect(pane).center();
        let plane = views.slice_plane(pane);
        let corners = [vec2(-50.0, -40.0), vec2(55.0, -35.0), vec2(5.0, 60.0)];
        for corner in corners {
            views.click(middle + corner);
            views.wait(0.5);
        }
        views.key(Key::Enter, Modifiers::NONE);
        let mask = drawn(&views);
        let edges = mask.grid.world_from_voxel.matrix3;
        let half: f64 = (0..3)
            .map(|a| edges.col(a).dot(plane.normal()).abs())
            .sum::<f64>()
            * 0.5;
        let all = centres(&mask);
        assert!(all.len() > 100, "{}", all.len());
        for centre in all {
            assert!(plane.distance(centre).abs() < half + 1e-6);
        }
        // The voxel in the middle of the triangle, and none outside of it.
        assert!(mask.contains(views.world(pane, middle)));
        assert!(!mask.contains(views.world(pane, middle + vec2(-50.0, 40.0))));
    }
}

fn no_copies() {
    let mut random = Random::fresh("copies");
    let mut views = ViewWindow::new(turned(&mut random, 1.0));
    views.act(Action::View(ViewAction::SetTool(Tool::Brush)));
    views.step();
    let at = views.rect(Pane::Axial).center();
    views.click(at);
    let before = drawn(&views).count();
    let slices = views.state().view.drawing.slices;
    let forward = true;
    views.act(Action::Region(RegionAction::CopySlice { slices, forward }));
    assert_eq!(drawn(&views).count(), before);
    let status = format!("{:?}", views.state().runtime.notices.status);
    assert!(status.contains("Turned slices"), "{status}");
}
