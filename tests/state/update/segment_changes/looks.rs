//! The part of the image that slices show, the selection during a visit, and the spheres of a kept surface.

use super::super::segment::{act, advance, image, live, opened, ready, set, sphere};
use crate::support::test;
use arcuate::data::{Grid, Volume};
use arcuate::state::core::layer::Content;
use arcuate::state::segment::SegmentAction;
use arcuate::state::view::{Plane, SliceCamera};
use arcuate::state::{Action, LayerAction, Pane, Phase, State, Task, ViewAction};
use glam::{DVec2, DVec3, dvec2, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::segment::slices_frame_the_content", cropped),
        test("update::segment::a_moved_slice_stays", moved_slice),
        test("update::segment::a_visit_leaves_the_selection", selection),
        test("update::segment::keep_clears_spheres_and_reports_it", kept),
    ]
}

const SLICES: [Pane; 3] = [Pane::Axial, Pane::Sagittal, Pane::Coronal];
/// Size of a view, points.
const SIZE: DVec2 = dvec2(460.0, 340.0);
const HEAD_MM: f64 = 30.0;
const CENTRE: DVec3 = dvec3(12.0, -8.0, 20.0);

/// A ball in much air.
fn head_in_air() -> Volume {
    let grid = Grid::axis_aligned([80; 3], DVec3::splat(2.5), DVec3::splat(-98.75));
    let grid = grid.expect("a grid");
    let value = |i: usize| {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        f32::from(u8::from(at.distance(CENTRE) < HEAD_MM)) * 100.0
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    Volume::scalar(Arc::new(grid), values)
}

fn plane(state: &State, pane: Pane) -> Plane {
    state.plane(pane, SIZE).expect("a slice")
}

fn look(window: &mut super::Window, task: Task) {
    window.act(Action::View(ViewAction::SelectTask(task)));
}

/// The head fills the slices of Segment, with a margin; the other tasks show the whole volume.
fn cropped() {
    let mut window = opened(head_in_air());
    for pane in SLICES {
        let shown = plane(&window.state, pane);
        let low = shown.position(CENTRE - HEAD_MM);
        let high = shown.position(CENTRE + HEAD_MM);
        let (low, high) = (low.min(high), low.max(high));
        assert!(low.min_element() > 0.0 && (SIZE - high).min_element() > 0.0);
        let share = (high - low) / SIZE;
        assert!(share.max_element() > 0.6, "{pane:?}: {share}");
    }
    look(&mut window, Task::View);
    let (low, high) = window.state.document.bounds();
    for pane in SLICES {
        let shown = plane(&window.state, pane);
        let span = (shown.position(high) - shown.position(low)).abs() / SIZE;
        assert!((0.9..1.0).contains(&span.max_element()), "{pane:?} {span}");
    }
    // An image without background is shown whole.
    let mut window = opened(image());
    let before = SLICES.map(|pane| plane(&window.state, pane));
    look(&mut window, Task::View);
    assert_eq!(SLICES.map(|pane| plane(&window.state, pane)), before);
}

/// A drag continues from what is shown, and what the user has set holds in every task.
fn moved_slice() {
    let mut window = opened(head_in_air());
    let pane = Pane::Coronal;
    let shown = plane(&window.state, pane);
    let camera = window.state.slice_camera(pane, SIZE);
    let slice = SliceCamera {
        zoom: camera.zoom * 1.001,
        ..camera
    };
    window.act(Action::View(ViewAction::SetSlice { pane, slice }));
    for task in [Task::Segment, Task::View] {
        look(&mut window, task);
        let now = plane(&window.state, pane);
        assert!(now.centre.distance(shown.centre) < 1e-6, "{task:?}");
        let ratio = shown.mm_per_point / now.mm_per_point;
        assert!((ratio - 1.001).abs() < 1e-6, "{task:?} {ratio}");
    }
    // The slices show all of it again.
    look(&mut window, Task::Segment);
    window.act(Action::View(ViewAction::FrameAll));
    assert_eq!(plane(&window.state, pane), shown);
}

/// Segment shows an image in place of the others; the selected layer stays selected.
fn selection() {
    let mut window = opened(image());
    look(&mut window, Task::View);
    window.state.document.segment.image = None;
    let layer = window.state.document.layers[0].id;
    let visible = false;
    window.act(Action::Layer(LayerAction::Show { layer, visible }));
    window.state.runtime.selected_layer = Some(layer);
    look(&mut window, Task::Segment);
    assert!(window.state.document.segment.image_alone);
    look(&mut window, Task::View);
    assert_eq!(window.state.runtime.selected_layer, Some(layer));
}

/// The spheres belong to the structure that is kept; one step of undo restores it with them.
fn kept() {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    sphere(&mut window, true, dvec3(0.0, 4.0, 0.0), 3.0);
    sphere(&mut window, false, dvec3(9.0, 0.0, 0.0), 2.0);
    advance(&mut window, 20);
    let spheres = window.state.document.segment.spheres.clone();
    let step = live(&window).step;
    assert_eq!(spheres.len(), 3);
    act(&mut window, SegmentAction::Keep);
    assert!(window.state.document.segment.spheres.is_empty());
    let kept = window.state.document.layers.last().expect("kept");
    assert!(matches!(kept.content, Content::Mask(_)));
    let status = window.state.runtime.notices.status.clone();
    let cleared = "cleared its 2 spheres and 1 keep-out sphere: undo restores them";
    assert!(status.contains(cleared), "{status}");
    window.act(Action::Undo);
    assert_eq!(window.state.document.segment.spheres, spheres);
    assert_eq!(live(&window).step, step);
}
