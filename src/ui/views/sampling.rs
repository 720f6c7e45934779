//! Drags that sample the values of an image: on slices, and on planes in 3-D.

use super::annotations;
use super::drag::DragKind;
use super::scene_view::Scene;
use super::slice_view::Slice;
use crate::state::sampling::{Sample, SampleAction};
use crate::state::{Action, State, Tool};
use crate::ui::theme::IN_VIEW;
use egui::{Key, Painter, Pos2, Rect, Ui, vec2};
use glam::DVec3;

/// Whether a press samples.
pub fn is_active(ui: &Ui, state: &State) -> bool {
    state.view.tool == Tool::Sample || ui.input(|i| i.key_down(Key::P))
}

/// Begins a sample, with Shift adds to the one before; in 3-D it stays in this plane (a point and its normal).
pub fn begin(
    at: DVec3,
    plane: Option<(DVec3, DVec3)>,
    adds: bool,
    actions: &mut Vec<Action>,
) -> DragKind {
    actions.push(Action::Sample(SampleAction::Begin { at, adds }));
    DragKind::Sample { last: at, plane }
}

/// The pointer has moved.
pub fn extend(last: &mut DVec3, now: DVec3, actions: &mut Vec<Action>) {
    if now.distance(*last) > 0.0 {
        actions.push(Action::Sample(SampleAction::Over(*last, now)));
        *last = now;
    }
}

/// The voxels sampled so far, and their mean and deviation next to the pointer.
pub fn on_slice(painter: &Painter, slice: &Slice, taken: &mut Vec<Rect>) {
    let Some(sample) = &slice.state.runtime.sample else {
        return;
    };
    let near = |at: &DVec3| slice.plane.distance(*at).abs() <= sample.reach_mm();
    let dots = sample.centres().filter(near).map(|at| slice.screen(at));
    marks(painter, sample, (slice.rect, taken), dots);
}

/// All sampled voxels in 3-D, where nothing hides them, and their mean and deviation next to the pointer.
pub fn in_scene(painter: &Painter, scene: &Scene, taken: &mut Vec<Rect>) {
    if let Some(sample) = &scene.state.runtime.sample {
        let dots = sample.centres().filter_map(|at| scene.screen(at));
        marks(painter, sample, (scene.rect, taken), dots);
    }
}

fn marks(
    painter: &Painter,
    sample: &Sample,
    (pane, taken): (Rect, &mut Vec<Rect>),
    dots: impl Iterator<Item = Pos2>,
) {
    for at in dots {
        let dot = Rect::from_center_size(at, vec2(3.0, 3.0));
        painter.rect_filled(dot, 0.0, IN_VIEW.accent);
    }
    let pointer_at = painter.ctx().input(|i| i.pointer.latest_pos());
    let pointer_at = pointer_at.filter(|at| pane.contains(*at) && sample.count() > 0);
    if let Some(pointer_at) = pointer_at {
        let text = format!("{} · {}", sample.text(), sample.count());
        let adjacent = pointer_at + vec2(14.0, 0.0);
        annotations::plate_near(painter, adjacent, pane, &text, IN_VIEW.t1, taken);
    }
}
