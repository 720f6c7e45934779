//! Drawing regions manually. The first stroke creates a region, or turns a sphere into voxels.

use crate::data::region::RegionId;
use crate::data::{Mask, Outline, Region, Role, Shape, Stroke};
use crate::solvers::region::SliceAxis;
use crate::state::core::notices::Severity;
use crate::state::core::phase::Phase;
use crate::state::regions::brush::{canvas, drawn, grid, layer_on, measured};
use crate::state::runtime::TourStep;
use crate::state::{Effect, State, Tool, regions};
use glam::DVec3;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Activates a tool; the brush then draws into the selected region.
pub fn activate_tool(state: &mut State, tool: Tool, effects: &mut Vec<Effect>) {
    if tool != state.view.tool {
        regions::make::stop_making(state, effects);
    }
    if tool.draws() && !state.view.tool.draws() {
        let selected = state.runtime.regions.selected;
        state.runtime.regions.drawn = selected.or(state.runtime.regions.drawn);
        if drawn(state).is_none() {
            state.view.drawing.role = next_role(state);
        }
        state.view.drawing.erase = false;
    }
    state.view.tool = tool;
}

/// The role of the next region: the first is a seed, the following ones are targets.
pub(in crate::state) fn next_role(state: &State) -> Role {
    let seeded = state.document.regions.iter().any(|r| r.role == Role::Seed);
    if seeded { Role::Target } else { Role::Seed }
}

/// Selects a region: drawing goes there from now on.
pub fn select(state: &mut State, region: Option<RegionId>, effects: &mut Vec<Effect>) {
    let region_in_progress = state.runtime.regions.making.as_ref().and_then(|m| m.region);
    if region_in_progress != region {
        regions::make::stop_making(state, effects);
    }
    state.runtime.regions.selected = region;
    state.runtime.selected_layer = None;
    state.runtime.streamlines.manual_selection = None;
    if region.is_some() && state.view.tool.draws() {
        state.runtime.regions.drawn = region;
    }
}

pub fn draw_into(
    state: &mut State,
    region: Option<RegionId>,
    role: Role,
    effects: &mut Vec<Effect>,
) {
    regions::make::stop_making(state, effects);
    state.runtime.regions.drawn = region;
    state.view.drawing.role = role;
    if region.is_some() {
        state.runtime.selected_layer = None;
    }
    state.runtime.regions.selected = region;
}

pub fn stroke(
    state: &mut State,
    stroke: &Stroke,
    erase: bool,
    (begins, phase): (bool, Phase),
    effects: &mut Vec<Effect>,
) {
    if begins {
        state.history.close();
    }
    let label = if erase { "Erase" } else { "Paint" };
    let live = phase == Phase::Live;
    let erases_nothing = erase && drawn(state).is_none();
    if erases_nothing {
        if begins {
            state.runtime.notices.status = "There is no drawn region to erase from".into();
        }
        return;
    }
    let range = state.view.drawing.range.filter(|_| !erase);
    let image = measured::image(state).map(|(layer, volume)| {
        let last = volume.frames.saturating_sub(1);
        (volume.clone(), layer.display.frame.min(last))
    });
    let changed = change(state, label, live, effects, |mask| match (range, image) {
        (Some(range), Some((volume, frame))) => {
            let grid = mask.grid.clone();
            let read = volume.reader_on(&grid, frame);
            let allowed =
                |voxel| read(voxel).is_some_and(|value| (range.0..=range.1).contains(&value));
            stroke.apply_where(mask, true, &allowed)
        }
        _ => stroke.apply(mask, !erase),
    });
    // The end of a stroke without a further change starts all the requests that waited.
    if !changed && !live {
        state.history.close();
    }
}

pub fn outline(state: &mut State, outline: &Outline, erase: bool, effects: &mut Vec<Effect>) {
    if erase && drawn(state).is_none() {
        state.runtime.notices.status = "There is no drawn region to erase from".into();
        return;
    }
    let label = match (state.view.tool, erase) {
        (Tool::Rectangle, false) => "Draw rectangle",
        (Tool::Rectangle, true) => "Erase rectangle",
        (_, false) => "Draw polygon",
        (_, true) => "Erase polygon",
    };
    state.history.close();
    change(state, label, false, effects, |mask| {
        outline.apply(mask, !erase)
    });
}

/// Adds the voxels of the slice at the crosshair to the next one, where the crosshair moves to.
pub fn copy_slice(state: &mut State, slices: SliceAxis, forward: bool, effects: &mut Vec<Effect>) {
    if !state.view.turn.is_straight() {
        state.runtime.notices.status =
            "Turned slices are no slices of voxels to copy between: Z turns them back".into();
        return;
    }
    let Some(region) = drawn(state).cloned() else {
        state.runtime.notices.status = "Draw on a slice first: there is no region to copy".into();
        return;
    };
    let Shape::Mask(mask) = &*region.shape else {
        state.runtime.notices.status =
            format!("{} is no drawing: draw on a slice first", region.name).into();
        return;
    };
    let grid = mask.frame().clone();
    let axis = slices.voxel_axis(&grid);
    let step = grid.world_from_voxel.matrix3.col(axis);
    let is_along = step[slices.world_axis()] >= 0.0;
    let by = if is_along == forward { 1 } else { -1 };
    let from = grid.voxel_at(state.view.crosshair)[axis].round() as i64;
    let is_slice = |slice: i64| (0..grid.shape[axis] as i64).contains(&slice);
    let to = from + by;
    let mut rows: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for mut voxel in mask.voxels_in_frame().filter(|v| v[axis] as i64 == from) {
        if is_slice(to) {
            voxel[axis] = to as usize;
            rows.entry((voxel[1], voxel[2])).or_default().push(voxel[0]);
        }
    }
    if rows.is_empty() {
        let text = match is_slice(to) {
            true => format!(
                "{} has no voxel in this {} slice",
                region.name,
                slices.key()
            ),
            false => "There is no further slice".to_owned(),
        };
        state.runtime.notices.status = text.into();
        return;
    }
    state.history.close();
    change(state, "Copy slice", false, effects, |mask| {
        let mut block = ([0; 3], mask.grid.shape.map(|n| n - 1));
        (block.0[axis], block.1[axis]) = (to as usize, to as usize);
        mask.edit(block, true, |y, z, set| {
            let row = rows.get(&(y, z)).into_iter().flatten();
            row.for_each(|x| set(*x));
        })
    });
    let moved: DVec3 = step * by as f64;
    state.view.crosshair += moved;
}

/// Changes the voxels of the region being drawn as one step; returns whether any changed.
fn change(
    state: &mut State,
    label: &str,
    live: bool,
    effects: &mut Vec<Effect>,
    apply: impl FnOnce(&mut Mask) -> usize,
) -> bool {
    // A filled region that is drawn on no longer follows a slider.
    regions::make::stop_making(state, effects);
    // During a stroke nothing else may hold the document's mask, because it is changed in place.
    let joins = state.history.joins(label);
    let before = (!joins).then(|| state.document.clone());
    let Some((id, note)) = as_voxels(state) else {
        return false;
    };
    let mut count = 0;
    state.document.edit_region(id, |region| {
        if let Shape::Mask(mask) = Arc::make_mut(&mut region.shape) {
            count = apply(mask);
            // An invisible region must not be drawn on.
            region.visible = true;
        }
    });
    if count == 0 {
        // A stroke outside the image creates no region.
        if let Some(before) = before {
            state.document = before;
        }
        return false;
    }
    let before = before.as_ref().unwrap_or(&state.document);
    state.history.record(before, label, live);
    state.runtime.notices.status = note.unwrap_or_default().into();
    crate::state::edit::changed(state);
    state.runtime.regions.drawn = Some(id);
    state.runtime.regions.selected = Some(id);
    state.runtime.selected_layer = None;
    let role = state.document.region(id).map(|r| r.role);
    match role {
        Some(Role::Seed) => state.runtime.tour_step_done(TourStep::PlaceSeed),
        Some(Role::Target) => state.runtime.tour_step_done(TourStep::PlaceTarget),
        _ => {}
    }
    true
}

/// The region being drawn, converted to voxels, with a remark about the conversion.
fn as_voxels(state: &mut State) -> Option<(RegionId, Option<String>)> {
    let region = drawn(state).cloned();
    if let Some(region) = &region
        && let Shape::Mask(mask) = &*region.shape
    {
        if !Arc::ptr_eq(mask.frame(), &mask.grid) {
            let whole = Arc::new(Shape::Mask(mask.on_whole_grid()));
            state.document.edit_region(region.id, |r| r.shape = whole);
        }
        return Some((region.id, None));
    }
    let Some(grid) = grid(state).cloned() else {
        let text = "A region is drawn on the grid of an image: open one first";
        state.runtime.notify(Severity::Error, text);
        return None;
    };
    let on = layer_on(&state.document, &grid).or_else(|| canvas(state));
    let on = on.map_or(String::new(), |l| l.name.clone());
    if let Some(region) = region {
        let shape = Arc::new(Shape::Mask(region.shape.mask_on(&grid)));
        state.document.edit_region(region.id, |r| r.shape = shape);
        let note = format!("{} is now on the grid of {on}", region.name);
        return Some((region.id, Some(note)));
    }
    let role = state.view.drawing.role;
    let document = &mut state.document;
    let id = RegionId(document.fresh_id());
    let name = document.region_name(role);
    let note = format!("{name} is drawn on the grid of {on}");
    document.regions.push(Arc::new(Region {
        id,
        name,
        role,
        shape: Arc::new(Shape::Mask(Mask::empty(&grid))),
        colour: None,
        visible: true,
        label_number: None,
    }));
    Some((id, Some(note)))
}
