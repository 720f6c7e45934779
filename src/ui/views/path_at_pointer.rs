//! The best path through the voxel under the pointer: requested, and shown as text next to it.

use super::slice_view::Slice;
use super::{annotations, pointer};
use crate::data::{Mask, Role, Volume};
use crate::scene;
use crate::state::pathways::{PathwayParams, PathwayResult};
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
    let voxel = result.pathway.places.grid.nearest(at);
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

/// Where a path costs more than is known: `more than E* + 30 %`.
pub fn beyond(max_excess: f64) -> String {
    let percent = format::with_unit(&format::fixed(max_excess * 100.0, 0), "%");
    format!("more than E* + {percent}")
}

/// The value that a voxel must reach for a path to use it.
struct DomainLimit<'a> {
    name: &'static str,
    values: &'a Volume,
    mask: &'a Mask,
    min_value: f64,
}

impl<'a> DomainLimit<'a> {
    /// `None` if it is not in memory.
    fn from_result(state: &'a State, result: &'a PathwayResult) -> Option<Self> {
        Some(match &result.key.params {
            PathwayParams::Tensors(params) => {
                let tensors = state.document.tensors.as_ref()?;
                Self {
                    name: "FA",
                    values: &tensors.fa,
                    mask: &tensors.mask,
                    min_value: params.min_fa,
                }
            }
            PathwayParams::Distributions(params) => Self {
                name: "amplitude",
                values: result.prepared.as_ref()?.distributions()?.amplitude(),
                mask: &state.document.distributions.result.as_ref()?.fods.mask,
                min_value: params.min_amplitude,
            },
        })
    }
}

/// The costs of paths through a point, and whether there is one; `None` outside the head, and until the path is traced.
pub fn text(state: &State, result: &PathwayResult, at: DVec3) -> Option<(String, bool)> {
    let pathway = &result.pathway;
    let places = &pathway.places;
    let voxel = places.grid.nearest(at)?;
    let place = places.place_of(voxel.map(|v| v as i64));
    if place.is_some_and(|p| result.excess_at(p).is_some()) {
        let pointed = state.path_pointed().filter(|p| p.voxel == voxel)?;
        let percent = format::with_unit(&format::fixed(pointed.excess * 100.0, 0), "%");
        let mean = format::per_mm(pointed.path.mean_cost_per_mm());
        let text = format!("E* + {percent} · {mean}");
        return Some((text, true));
    }
    if place.is_some() {
        let cut_off = || "no path: cut off from the ends".to_owned();
        return Some((result.excess_limit.map_or_else(cut_off, beyond), false));
    }
    let domain = DomainLimit::from_result(state, result)?;
    if !domain.mask.contains(at) {
        return None;
    }
    let grid = &domain.values.grid;
    let value = f64::from(*domain.values.values.get(grid.index(grid.nearest(at)?))?);
    let min_value = domain.min_value;
    let with_role = |role: Role| result.key.regions.iter().filter(move |r| r.role == role);
    let within = |role: Role| with_role(role).any(|r| r.shape.contains(at));
    let why = if within(Role::Exclude) {
        "in an exclude region".to_owned()
    } else if with_role(Role::Mask).next().is_some() && !within(Role::Mask) {
        "outside the mask".to_owned()
    } else if value < min_value {
        // The fewest digits in which the two numbers differ.
        let pair = [value, min_value];
        let texts = (2..7).map(|digits| pair.map(|value| format::fixed(value, digits)));
        let distinct = texts.into_iter().find(|[value, min]| value != min);
        let [value, min] = distinct.unwrap_or_else(|| pair.map(|v| format::fixed(v, 7)));
        format!("{} {value} < {min}", domain.name)
    } else {
        "outside the domain".to_owned()
    };
    Some((format!("no path: {why}"), false))
}
