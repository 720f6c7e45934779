//! Settings for drawing regions: brush and outlines, and the voxels drawn on.

use crate::data::region::RegionId;
use crate::data::{Grid, Region, Role, Shape};
use crate::solvers::region::{DEFAULT_MOST_ML, DEFAULT_TOLERANCE};
use crate::state::core::layer::{Content, Layer, grid_of};
use crate::state::{Document, State, Tool};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub const LEAST_RADIUS_MM: f64 = 0.25;
pub const MOST_RADIUS_MM: f64 = 100.0;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Drawing {
    pub radius_mm: f64,
    /// The brush is a disc in the slice, one voxel thick; otherwise a ball.
    pub flat: bool,
    /// The left button erases; the right one always does.
    pub erase: bool,
    /// For rectangles and polygons; `None`: one voxel.
    pub thickness_mm: Option<f64>,
    /// For a flood fill: largest difference from the clicked value, as a fraction of the image's window.
    pub tolerance: f32,
    /// Largest volume of a flood fill, ml.
    pub most_ml: f64,
    /// Role of a region that the next stroke creates.
    pub role: Role,
}

impl Default for Drawing {
    fn default() -> Self {
        Self {
            // About the width of a gyrus.
            radius_mm: 4.0,
            flat: false,
            erase: false,
            thickness_mm: None,
            tolerance: DEFAULT_TOLERANCE,
            most_ml: DEFAULT_MOST_ML,
            role: Role::Seed,
        }
    }
}

impl Drawing {
    /// Changes the brush size by this many steps: smaller ones for a small brush.
    pub fn resized(&self, steps: i32) -> Self {
        let mm = self.radius_mm;
        let step = match mm {
            mm if mm < 2.0 => 0.25,
            mm if mm < 10.0 => 0.5,
            _ => 1.0,
        };
        let radius = ((mm / step).round() + f64::from(steps)) * step;
        Self {
            radius_mm: radius.clamp(LEAST_RADIUS_MM, MOST_RADIUS_MM),
            ..self.clone()
        }
    }
}

impl Tool {
    /// Whether the tool draws on a region.
    pub fn draws(self) -> bool {
        matches!(
            self,
            Self::Brush | Self::Rectangle | Self::Polygon | Self::Fill
        )
    }
}

/// The region that the next stroke changes; `None`: it creates a new one.
pub fn drawn(state: &State) -> Option<&Arc<Region>> {
    let id: Option<RegionId> = state.session.regions.drawn;
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
    let shown = |l: &&Arc<Layer>| state.shows(l) && l.content.volume().is_some();
    images().find(shown).or_else(|| images().next())
}

/// Images from whose values regions are made.
pub mod measured {
    use crate::data::{Volume, VolumeKind};
    use crate::state::{Layer, State};
    use std::sync::Arc;

    pub fn is(layer: &Layer) -> bool {
        let volume = layer.content.volume();
        volume.is_some_and(|v| v.kind == VolumeKind::Scalar)
    }

    /// The topmost visible image, else the topmost; a label map only if there is no other, since its numbers are names.
    pub fn image(state: &State) -> Option<(&Arc<Layer>, &Volume)> {
        let layers = || state.document.layers.iter().rev().filter(|l| is(l));
        let measures = |l: &&Arc<Layer>| l.content.volume().is_some_and(|v| v.labels.is_none());
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
    let images = layers().filter(|l| l.content.volume().is_some());
    let mut scans = layers().filter(|l| matches!(l.content, Content::Scan { .. }));
    scans.find(same).or_else(|| images.into_iter().find(same))
}
