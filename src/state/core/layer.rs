//! Layers: content, display and origin.

use crate::data::Grid;
use crate::data::{Gradients, Mask, Tractogram, Volume};
use crate::state::core::display::Display;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Names an origin in the table that a document shares with its undo steps and snapshots; 0: unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct OriginId(pub(in crate::state) usize);

/// Names a layer for as long as the document lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct LayerId(pub u64);

#[derive(Clone, Debug)]
pub enum Content {
    /// A diffusion scan; without gradients it can only be looked at.
    Scan {
        dwi: Volume,
        gradients: Option<Arc<Gradients>>,
    },
    Image(Volume),
    Mask(Mask),
    Tractogram(Tractogram),
}

impl Content {
    /// The image a scan or image layer shows.
    pub fn volume(&self) -> Option<&Volume> {
        match self {
            Self::Scan { dwi, .. } => Some(dwi),
            Self::Image(volume) => Some(volume),
            Self::Mask(_) | Self::Tractogram(_) => None,
        }
    }

    /// World bounds, mm; `None` for an empty tractogram.
    pub fn bounds(&self) -> Option<(DVec3, DVec3)> {
        match self {
            Self::Scan { dwi: volume, .. } | Self::Image(volume) => Some(volume.grid.bounds()),
            Self::Mask(mask) => Some(mask.grid.bounds()),
            Self::Tractogram(tractogram) => tractogram.bounds(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Layer {
    pub id: LayerId,
    pub name: String,
    pub content: Content,
    pub display: Display,
    /// Where it comes from, in the document's table.
    pub origin: OriginId,
    /// The content where the file says, of a layer that was moved.
    pub unmoved: Option<Content>,
    /// After a value: `mm²/s`, or empty.
    pub unit: &'static str,
    /// Multiplies a value before it is printed (1e3 for diffusivities shown as 10⁻³ mm²/s).
    pub unit_scale: f32,
    /// What reading it brought up, one sentence each.
    pub notes: Vec<String>,
    /// How the file differs from the one that the session was saved with: a sentence.
    pub file_change: Option<String>,
}

impl Layer {
    /// One that was made here.
    pub fn new(
        id: LayerId,
        name: String,
        content: Content,
        display: Display,
        origin: OriginId,
    ) -> Self {
        Self {
            id,
            name,
            content,
            display,
            origin,
            unmoved: None,
            unit: "",
            unit_scale: 1.0,
            notes: Vec::new(),
            file_change: None,
        }
    }
}

/// The grid of an image or mask.
pub fn grid_of(layer: &Layer) -> Option<&Arc<Grid>> {
    match &layer.content {
        Content::Scan { dwi: volume, .. } | Content::Image(volume) => Some(&volume.grid),
        Content::Mask(mask) => Some(mask.frame()),
        Content::Tractogram(_) => None,
    }
}
