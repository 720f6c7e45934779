//! Regions: placing, moving, changing roles.

use crate::data::region::RegionId;
use crate::data::{Region, Role, Shape};
use crate::state::core::colours::role_rgb;
use crate::state::core::layer::{Content, LayerId, grid_of};
use crate::state::core::notices::Severity;
use crate::state::core::phase::Phase;
use crate::state::core::text::count;
use crate::state::edit::edit;
use crate::state::regions::brush::canvas;
use crate::state::regions::jobs::SaveRegion;
use crate::state::regions::jobs::save::{SaveLabels, SaveMasks};
use crate::state::regions::types::PlacedRegion;
use crate::state::runtime::TourStep;
use crate::state::{Effect, RegionsChange, State, Task, Tool};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

pub fn place(state: &mut State, role: Role, shape: Shape) {
    add(state, role, None, shape.snapped());
    let had_tool = state.view.tool != Tool::Crosshair;
    let running = state.runtime.jobs.running.iter();
    let placed = PlacedRegion {
        revision: state.history.revision(),
        newest_job: running.map(|job| job.ticket).max().unwrap_or(0),
    };
    state.runtime.regions.placed = had_tool.then_some(placed);
    state.view.tool = Tool::Crosshair;
    // After placing a region the user will probably track.
    if state.view.task == Task::View {
        state.view.task = Task::Track;
    }
    match role {
        Role::Seed => state.runtime.tour_step_done(TourStep::PlaceSeed),
        Role::Target => state.runtime.tour_step_done(TourStep::PlaceTarget),
        _ => {}
    }
}

pub fn from_layer(state: &mut State, layer: LayerId, role: Role) {
    let Some(layer) = state.document.layer(layer).cloned() else {
        return;
    };
    let Content::Mask(mask) = &layer.content else {
        return;
    };
    add(
        state,
        role,
        Some(layer.name.clone()),
        Shape::Mask(mask.clone()),
    );
}

pub fn move_to(state: &mut State, id: RegionId, to: usize) {
    let regions = &state.document.regions;
    let Some(from) = regions.iter().position(|r| r.id == id) else {
        return;
    };
    let to = to.min(regions.len() - 1);
    if from == to {
        return;
    }
    edit(state, "Move region in the list", false, |document| {
        let region = document.regions.remove(from);
        document.regions.insert(to, region);
    });
}

pub(in crate::state) fn add(state: &mut State, role: Role, name: Option<String>, shape: Shape) {
    let mut id = RegionId(0);
    edit(state, "Place region", false, |document| {
        id = RegionId(document.fresh_id());
        let name = name.unwrap_or_else(|| document.region_name(role));
        let region = Region {
            id,
            name,
            role,
            shape: Arc::new(shape),
            colour: None,
            visible: true,
            label_number: None,
        };
        document.regions.push(Arc::new(region));
    });
    state.runtime.regions.selected = Some(id);
    state.runtime.selected_layer = None;
}

pub fn reshape(state: &mut State, id: RegionId, shape: Shape, phase: Phase) {
    let live = phase == Phase::Live;
    let shape = shape.snapped();
    edit(state, "Move region", live, |d| {
        d.edit_region(id, |r| {
            // The end of a drag repeats its last shape: what was computed for that one stays valid.
            if *r.shape != shape {
                r.shape = Arc::new(shape);
            }
        })
    });
    let is_seed = state
        .document
        .region(id)
        .is_some_and(|r| r.role == Role::Seed);
    if is_seed && !live {
        state.runtime.tour_step_done(TourStep::DragSeed);
    }
}

/// Copies a region, to experiment on the copy.
pub fn duplicate(state: &mut State, id: RegionId) {
    let Some(region) = state.document.region(id).cloned() else {
        return;
    };
    let mut new = id;
    edit(state, "Duplicate region", false, |document| {
        new = RegionId(document.fresh_id());
        let copy = Region {
            id: new,
            name: format!("{} copy", region.name),
            label_number: None,
            ..(*region).clone()
        };
        let at = document.regions.iter().position(|r| r.id == id);
        let at = at.map_or(document.regions.len(), |at| at + 1);
        document.regions.insert(at, Arc::new(copy));
    });
    state.runtime.regions.selected = Some(new);
}

pub fn delete(state: &mut State, id: RegionId) {
    edit(state, "Delete region", false, |document| {
        document.regions.retain(|r| r.id != id)
    });
    if state.runtime.regions.selected == Some(id) {
        state.runtime.regions.selected = None;
    }
}

/// Shows or deletes several regions or sets their role, as one step.
pub fn change_all(state: &mut State, ids: &[RegionId], change: RegionsChange) {
    let ids: BTreeSet<RegionId> = ids.iter().copied().collect();
    let text = match change {
        RegionsChange::Show(true) => "Show",
        RegionsChange::Show(false) => "Hide",
        RegionsChange::Role(_) => "Role of",
        RegionsChange::Delete => "Delete",
    };
    let label = format!("{text} {} regions", count(ids.len() as u64));
    state.history.close();
    edit(state, &label, false, |document| {
        if change == RegionsChange::Delete {
            return document.regions.retain(|r| !ids.contains(&r.id));
        }
        for region in document.regions.iter_mut().filter(|r| ids.contains(&r.id)) {
            let region = Arc::make_mut(region);
            match change {
                RegionsChange::Show(visible) => region.visible = visible,
                RegionsChange::Role(role) => region.role = role,
                RegionsChange::Delete => {}
            }
        }
    });
    let selected = state.runtime.regions.selected;
    if change == RegionsChange::Delete && selected.is_some_and(|id| ids.contains(&id)) {
        state.runtime.regions.selected = None;
    }
}

/// Saves a region as a mask on the grid of the tensors (or of the first image).
pub fn save(state: &mut State, id: RegionId, path: PathBuf, effects: &mut Vec<Effect>) {
    let Some(region) = state.document.region(id).cloned() else {
        return;
    };
    let tensors = state.document.tensors.as_ref();
    let mut images = state.document.layers.iter();
    let image = || images.find_map(|l| l.content.volume()).map(|v| &v.grid);
    let own = match &*region.shape {
        Shape::Mask(mask) => Some(mask.frame()),
        _ => None,
    };
    let grid = own.or(tensors.map(|t| &t.field.grid)).or_else(image);
    let Some(grid) = grid.cloned() else {
        state.runtime.notify(
            Severity::Error,
            "A region is saved on the grid of an image: open one first",
        );
        return;
    };
    effects.push(Effect::submit(SaveRegion {
        shape: region.shape.clone(),
        grid,
        path,
        command: format!(r#"{} region "{}""#, region.role.name(), region.name),
    }));
}

/// Saves all regions as one label map, or as one mask each.
pub fn save_all(state: &mut State, path: PathBuf, as_labels: bool, effects: &mut Vec<Effect>) {
    let tensors = state.document.tensors.as_ref().map(|t| &t.field.grid);
    let masks = state.document.regions.iter().find_map(|r| match &*r.shape {
        Shape::Mask(mask) => Some(mask.frame()),
        _ => None,
    });
    let image = canvas(state).and_then(|l| grid_of(l));
    let Some(grid) = masks.or(tensors).or(image).cloned() else {
        let text = "Regions are saved on the grid of an image: open one first";
        return state.runtime.notify(Severity::Error, text);
    };
    let regions = &state.document.regions;
    effects.push(if as_labels {
        let named_region = |r: &Arc<Region>| {
            let colour = r.colour.unwrap_or(role_rgb(r.role));
            (r.name.clone(), colour, r.shape.clone())
        };
        Effect::submit(SaveLabels {
            regions: regions.iter().map(named_region).collect(),
            own: regions.iter().map(|r| r.label_number).collect(),
            grid,
            path,
            command: format!("{} regions of {}", regions.len(), state.document.name),
        })
    } else {
        let names: Vec<String> = regions.iter().map(|r| r.name.clone()).collect();
        let files = SaveMasks::files(&path, &names);
        let named_file = |(file, r): (PathBuf, &Arc<Region>)| {
            let command = format!(r#"{} region "{}""#, r.role.name(), r.name);
            (file, r.shape.clone(), command)
        };
        Effect::submit(SaveMasks {
            regions: files.into_iter().zip(regions).map(named_file).collect(),
            grid,
        })
    });
}
