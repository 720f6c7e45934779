//! The voxels that strokes and outlines draw on.

use crate::data::region::RegionId;
use crate::data::{Grid, Region, Shape};
use crate::state::core::layer::{Content, Layer, grid_of};
use crate::state::{Document, State};
use std::sync::Arc;

/// The region that the next stroke changes; `None`: it creates a new one.
pub fn drawn(state: &State) -> Option<&Arc<Region>> {
    let id: Option<RegionId> = state.runtime.regions.drawn;
    id.and_then(|id| state.document.region(id))
}

/// The image on whose voxels a new region is drawn: the topmost visible one, else the topmost.
pub fn canvas(state: &State) -> Option<&Arc<Layer>> {
    let images = || {
        state
            .document
            .layers
            .iter()
            .rev()
            .filter(|l| grid_of(l).is_some())
    };
    let shown = |l: &&Arc<Layer>| state.shows(l) && l.content.picture().is_some();
    images().find(shown).or_else(|| images().next())
}

/// Images from whose values regions are made.
pub mod measured {
    use crate::data::{Volume, VolumeKind};
    use crate::state::{Layer, State};
    use std::sync::Arc;

    pub fn is(layer: &Layer) -> bool {
        let volume = layer.content.picture();
        volume.is_some_and(|v| v.kind == VolumeKind::Scalar)
    }

    /// The topmost visible image, else the topmost; a label map, whose numbers are names, or a
    /// map of a pathway only if there is no other.
    pub fn image(state: &State) -> Option<(&Arc<Layer>, &Volume)> {
        let layers = || state.document.layers.iter().rev().filter(|l| is(l));
        let is_map = |l: &Layer| state.document.is_pathway_map(l.id);
        let measures =
            |l: &&Arc<Layer>| l.content.volume().is_some_and(|v| v.labels.is_none()) && !is_map(l);
        let mut shown = layers().filter(|l| state.shows(l));
        let layer = shown
            .find(measures)
            .or_else(|| layers().find(measures))
            .or_else(|| layers().next())?;
        Some((layer, layer.content.volume()?))
    }
}

/// The voxels that the next stroke changes: those of the region's mask, else those of the canvas.
pub fn grid(state: &State) -> Option<&Arc<Grid>> {
    match drawn(state).map(|r| &*r.shape) {
        Some(Shape::Mask(mask)) => Some(mask.frame()),
        _ => canvas(state).and_then(|l| grid_of(l)),
    }
}

/// The layer with these voxels, for its name.
pub fn layer_on<'a>(document: &'a Document, grid: &Grid) -> Option<&'a Arc<Layer>> {
    let layers = || document.layers.iter().rev();
    let same = |l: &&Arc<Layer>| grid_of(l).is_some_and(|g| g.same_space(grid, 1e-3));
    let is_map = |l: &Layer| document.is_pathway_map(l.id);
    let images = layers().filter(|l| l.content.volume().is_some() && !is_map(l));
    let mut scans = layers().filter(|l| matches!(l.content, Content::Scan { .. }));
    scans.find(same).or_else(|| images.into_iter().find(same))
}
