//! The best path through the voxel under the pointer: requested, and shown as text next to it.

use super::slice_view::Slice;
use super::{annotations, pointer};
use crate::data::Role;
use crate::scene;
use crate::state::pathways::PathwayResult;
use crate::state::{Action, PathwayAction, State, Tool};
use crate::ui::format;
use crate::ui::theme::IN_VIEW;
use egui::{Ui, vec2};
use glam::DVec3;

/// Requests the path as soon as the voxel changes.
pub(super) fn request_path(ui: &Ui, slice: &Slice, actions: &mut Vec<Action>) {
    let Some(result) = scene::pathways::live_with_cost(slice.state) else {
        return;
    };
    let moved = ui.input(|i| i.pointer.delta() != egui::Vec2::ZERO);
    let Some(at) = pointer(ui).filter(|_| moved).map(|at| slice.world(at)) else {
        return;
    };
    let voxel = result.pathway.metric().grid.nearest(at);
    let known = slice.state.path_hovered();
    if voxel.is_none() || known.map(|h| h.voxel) != voxel {
        actions.push(Action::Pathway(PathwayAction::Hover(Some(at))));
    }
}

/// The cost of the path, or why there is none, next to the pointer.
pub(super) fn label(ui: &Ui, slice: &Slice) {
    let state = slice.state;
    let shows_path = state.view.tool == Tool::Crosshair && !state.pathway_is_stale();
    let Some(result) = scene::pathways::live_with_cost(state).filter(|_| shows_path) else {
        return;
    };
    let Some(at) = pointer(ui) else {
        return;
    };
    let Some((text, reached)) = text(state, result, slice.world(at)) else {
        return;
    };
    let colour = if reached { IN_VIEW.t1 } else { IN_VIEW.t2 };
    let painter = ui.painter().with_clip_rect(slice.rect);
    // Below the pointer, so that the voxel itself stays visible.
    annotations::plate(&painter, at + vec2(14.0, 18.0), slice.rect, &text, colour);
}

/// The costs of paths through a point, and whether there is one; `None` outside the head, and until the path is traced.
pub fn text(state: &State, result: &PathwayResult, at: DVec3) -> Option<(String, bool)> {
    let pathway = &result.pathway;
    let metric = pathway.metric();
    let voxel = metric.grid.nearest(at)?;
    let place = metric.place_of(voxel.map(|v| v as i64));
    if place.is_some_and(|p| pathway.total[p].is_finite()) {
        let pointed = state.path_pointed().filter(|p| p.voxel == voxel)?;
        let percent = format::with_unit(&format::fixed(pointed.excess * 100.0, 0), "%");
        let mean = pointed.path.total_cost() / pointed.path.total_mm().max(f64::MIN_POSITIVE);
        let text = format!("E* + {percent} · {} per mm", format::significant(mean));
        return Some((text, true));
    }
    if place.is_some() {
        return Some(("no path: cut off from the ends".to_owned(), false));
    }
    let tensors = state.document.tensors.as_ref()?;
    let voxel = tensors.fa.grid.nearest(at)?;
    if !tensors.mask.contains(at) {
        return None;
    }
    let fa = f64::from(*tensors.fa.values.get(tensors.fa.grid.index(voxel))?);
    let min_fa = result.params.min_fa;
    let with_role = |role: Role| result.regions.iter().filter(move |r| r.role == role);
    let within = |role: Role| with_role(role).any(|r| r.shape.contains(at));
    let why = if within(Role::Exclude) {
        "in an exclude region".to_owned()
    } else if with_role(Role::Mask).next().is_some() && !within(Role::Mask) {
        "outside the mask".to_owned()
    } else if fa < min_fa {
        // The fewest digits in which the two numbers differ.
        let texts = (2..7).map(|digits| [fa, min_fa].map(|value| format::fixed(value, digits)));
        let distinct = texts.into_iter().find(|[fa, min_fa]| fa != min_fa);
        let [fa, min_fa] = distinct.unwrap_or_else(|| [fa, min_fa].map(|v| format::fixed(v, 7)));
        format!("FA {fa} < {min_fa}")
    } else {
        "outside the domain".to_owned()
    };
    Some((format!("no path: {why}"), false))
}
