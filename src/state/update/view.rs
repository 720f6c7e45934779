//! Actions on the views: tasks, layouts, slices, the 3-D camera and what is visible.

use super::viewpoints;
use crate::data::Sentence;
use crate::state::Effect;
use crate::state::core::glyph_look::GlyphLook;
use crate::state::core::notices::{Status, StatusSubject, Topic};
use crate::state::core::pane::Pane;
use crate::state::core::slice_turn::{Commissures, SliceTurn};
use crate::state::core::text::fixed;
use crate::state::edit::{frame_all, stepped};
use crate::state::runtime::TourStep;
use crate::state::track::jobs::LIVE;
use crate::state::view::SliceCamera;
use crate::state::{
    Layout, Phase, Severity, Slab, State, Task, Tool, View, ViewAction, pathways, regions, segment,
};
use glam::DVec3;

/// Applies one action.
pub fn act(state: &mut State, action: ViewAction, effects: &mut Vec<Effect>) {
    match action {
        ViewAction::SelectTask(task) => look_at(state, task),
        ViewAction::SetLayout(layout) => state.view.layout = layout,
        ViewAction::SetMosaic(pane, mm) => set_mosaic(&mut state.view, pane, mm),
        ViewAction::ToggleMaximised(pane) => {
            let alone = state.view.layout == Layout::Single && state.view.single == pane;
            state.view.layout = if alone { Layout::Grid } else { Layout::Single };
            state.view.single = pane;
        }
        ViewAction::MoveCrosshair(world) => move_crosshair(state, world),
        ViewAction::StepSlice { pane, steps } => step_slice(state, pane, steps),
        ViewAction::SetSlice { pane, slice } => {
            if let Some(i) = Pane::ALL.iter().position(|&p| p == pane).filter(|&i| i < 3) {
                let zoom = slice.zoom.clamp(0.2, 40.0);
                state.view.slices[i] = SliceCamera { zoom, ..slice };
            }
        }
        ViewAction::SetCamera { camera, phase } => {
            (state.view.camera, state.view.moving) = (camera, phase == Phase::Live);
        }
        ViewAction::FrameAll => frame_all(state),
        ViewAction::TurnSlices(turn) => {
            state.view.turn = turn.valid();
            forget_turn_status(state);
        }
        ViewAction::AlignToCommissures(points) => align(state, points, effects),
        ViewAction::PlaceCommissure(world) => place_commissure(state, world, effects),
        ViewAction::TakeBackCommissure => {
            state.commissures.pop();
            state.runtime.forget(Topic::Commissures);
        }
        ViewAction::StraightenSlices => straighten(state),
        ViewAction::Viewpoint(action) => viewpoints::act(state, action),
        ViewAction::SetConvention(convention) => state.view.convention = convention,
        ViewAction::SetTool(tool) => regions::draw::activate_tool(state, tool, effects),
        ViewAction::ToggleCrosshair => state.view.visible.crosshair ^= true,
        ViewAction::ToggleLetters => state.view.visible.letters ^= true,
        ViewAction::OpenList(list) => state.view.visible.side_list = list,
        ViewAction::TogglePanels => state.view.visible.panels ^= true,
        ViewAction::ToggleSlicesInScene => match state.view.task {
            Task::View | Task::Segment => state.view.visible.slices_in_scene ^= true,
            Task::Track | Task::Pathways | Task::Filter => {
                state.view.visible.slices_with_tracks ^= true;
            }
        },
        ViewAction::ToggleOutline => state.view.visible.outline ^= true,
        ViewAction::CutToSlab(slab) => state.view.slab = slab.filter(Slab::is_valid),
        ViewAction::SetGlyphs(glyphs) => pathways::update::set_glyphs(state, glyphs),
        ViewAction::ToggleGlyphs => toggle_glyphs(state),
        ViewAction::ToggleMissed => state.view.visible.missed ^= true,
        ViewAction::ShowStop(reason) => state.view.stop = reason,
        ViewAction::ToggleTheme => {
            state.view.light_theme ^= true;
            effects.push(Effect::Store);
        }
    }
}

fn toggle_glyphs(state: &mut State) {
    let look = state.view.glyphs;
    if state.document.glyph_content(look.content).is_none() {
        let text = "There is nothing to show as glyphs: open a scan with its gradients, or an image of peaks";
        state.runtime.notices.status = text.into();
        return;
    }
    let shown = !look.shown;
    pathways::update::set_glyphs(state, GlyphLook { shown, ..look });
}

fn move_crosshair(state: &mut State, world: DVec3) {
    let (low, high) = state.document.bounds();
    if world.is_finite() {
        state.view.crosshair = world.clamp(low, high);
    }
    state.runtime.tour_step_done(TourStep::ClickSlice);
}

fn set_mosaic(view: &mut View, pane: Pane, mm: f64) {
    let (low, high) = View::MOSAIC_LIMITS_MM.into_inner();
    (view.single, view.mosaic_mm) = (pane, mm.clamp(low, high));
}

fn step_slice(state: &mut State, pane: Pane, steps: i32) {
    let Some(normal) = state.view.normal(pane) else {
        return;
    };
    // The voxel edge closest to the normal.
    let step = stepped(state).map_or(1.0, |grid| {
        let m = grid.world_from_voxel.matrix3;
        let along = |a: usize| m.col(a).dot(normal).abs();
        (0..3).map(along).fold(0.0, f64::max)
    });
    let mm = f64::from(steps) * step;
    let bounds = state.document.bounds();
    state.view.crosshair = state.view.stepped_along(pane, mm, bounds);
}

/// Places the next of the three points that align the slices. One that cannot belong to a head is refused at once, and
/// the points before it stay.
fn place_commissure(state: &mut State, world: DVec3, effects: &mut Vec<Effect>) {
    state.runtime.forget(Topic::Commissures);
    match *state.commissures.as_slice() {
        [] => state.commissures.push(world),
        [anterior] => match Commissures::front(anterior, world) {
            Ok(_) => state.commissures.push(world),
            Err(reason) => refuse_commissure(state, reason),
        },
        [anterior, posterior, ..] => {
            let midline = world;
            let points = Commissures {
                anterior,
                posterior,
                midline,
            };
            align(state, points, effects);
        }
    }
}

fn refuse_commissure(state: &mut State, reason: Sentence) {
    let sentence = reason.for_window();
    let runtime = &mut state.runtime;
    runtime.notify_about(Topic::Commissures, Severity::Error, sentence);
}

/// Turns the slices to the standard position of a head, through the anterior commissure.
fn align(state: &mut State, points: Commissures, effects: &mut Vec<Effect>) {
    let rotation = match points.rotation() {
        Ok(rotation) => rotation,
        Err(reason) => return refuse_commissure(state, reason),
    };
    if state.view.tool == Tool::Commissures {
        regions::draw::activate_tool(state, Tool::Crosshair, effects);
    }
    move_crosshair(state, points.anterior);
    let turn = state.view.turn.turned_to(points.anterior, rotation);
    state.view.turn = turn;
    let degrees = fixed(turn.degrees(), 1);
    let line =
        format!("Slices aligned to the commissures, turned by {degrees}°. Z turns them back");
    state.runtime.notices.status = Status::about(StatusSubject::SliceTurn, line);
}

/// The placed points, and the message about a refused one, last as long as their tool.
pub(super) fn follow_tool(state: &mut State) {
    if state.view.tool != Tool::Commissures && !state.commissures.is_empty() {
        state.commissures.clear();
        state.runtime.forget(Topic::Commissures);
    }
}

/// The slices are turned without a status of their own: one about their rotation no longer holds.
pub(super) fn forget_turn_status(state: &mut State) {
    let status = &mut state.runtime.notices.status;
    if status.subject() == StatusSubject::SliceTurn {
        status.clear();
    }
}

fn straighten(state: &mut State) {
    let was_turned = !state.view.turn.is_straight();
    state.view.turn = SliceTurn::STRAIGHT;
    let line = match was_turned {
        true => "Slices are back at the axes",
        false => "The slices lie at the axes: drag the handle of a crosshair line to turn them",
    };
    state.runtime.notices.status = Status::about(StatusSubject::SliceTurn, line);
}

/// A task is looked at.
fn look_at(state: &mut State, task: Task) {
    let before = std::mem::replace(&mut state.view.task, task);
    let status = &mut state.runtime.notices.status;
    if before != task {
        status.forget_step();
    }
    if !status.subject().is_shown_in(task) {
        status.forget_result();
    }
    if before != task {
        match (before, task) {
            (Task::Segment, _) => segment::update::camera::leave_task(state),
            (_, Task::Segment) => segment::update::camera::enter_task(state),
            _ => {}
        }
    }
    if !task.shows_live() {
        // Messages about live curves do not concern anything shown there.
        state.runtime.forget_failures(LIVE);
    }
    if task == Task::Segment {
        segment::update::entered(state);
    }
}
