//! Changes of the document as undoable steps, and of the view that shows all of it.

use crate::data::Grid;
use crate::state::core::layer::{LayerId, grid_of};
use crate::state::document::Document;
use crate::state::view::SliceCamera;
use crate::state::{Camera, State};
use glam::DVec3;
use std::sync::Arc;

/// Changes the document as one undoable step.
pub(in crate::state) fn edit<T>(
    state: &mut State,
    label: &str,
    live: bool,
    change: impl FnOnce(&mut Document) -> T,
) -> T {
    state.history.record(&state.document, label, live);
    // The last status message refers to the previous state of the document.
    state.runtime.notices.status.clear();
    let output = change(&mut state.document);
    changed(state);
    output
}

pub(in crate::state) fn changed(state: &mut State) {
    state.history.change();
}

/// The grid that the wheel steps through: that of the topmost visible image, else of another layer.
pub(in crate::state) fn stepped(state: &State) -> Option<&Grid> {
    let layers = || state.document.layers.iter().rev();
    let visible = || layers().filter(|l| state.shows(l));
    let image = visible().find(|l| l.content.picture().is_some());
    grid_of(image.or_else(|| visible().find(|l| grid_of(l).is_some()))?).map(Arc::as_ref)
}

/// Moves the crosshair to the middle, into a voxel's centre: between two voxels rounding would decide which of them a
/// slice shows.
pub(in crate::state) fn look_at_middle(state: &mut State, (low, high): (DVec3, DVec3)) {
    let middle = (low + high) * 0.5;
    let centre = |grid: &Grid| grid.world(grid.voxel_at(middle).round());
    state.view.crosshair = stepped(state).map_or(middle, centre);
}

pub(in crate::state) fn frame_all(state: &mut State) {
    let (low, high) = state.document.framed();
    let camera = match state.document.lines_alone() {
        Some((centre, radius_mm)) => Camera::around(centre, radius_mm),
        None => Camera::framing(low, high),
    };
    state.view.camera = Camera {
        azimuth: state.view.camera.azimuth,
        elevation: state.view.camera.elevation,
        ..camera
    };
    state.view.slices = [SliceCamera::default(); 3];
    let (low, high) = state.document.sliced();
    state.view.turn = state.view.turn.centred((low + high) * 0.5);
}

/// Shows an image and hides all others.
pub(in crate::state) fn reveal(document: &mut Document, id: LayerId) {
    let images = document.layers.iter();
    let images = images.filter(|l| l.content.volume().is_some());
    for other in images.map(|l| l.id).collect::<Vec<_>>() {
        document.edit_layer(other, |l| l.display.visible = l.id == id);
    }
}

pub fn show_only(state: &mut State, id: LayerId) {
    edit(state, "Show layer", false, |document| reveal(document, id));
    state.runtime.selected_layer = Some(id);
}
