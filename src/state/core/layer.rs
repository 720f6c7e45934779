//! Layers: content, display and origin.

use crate::data::{Gradients, Grid, Mask, Shared, Tractogram, Volume, VolumeKind};
use crate::io::{InPlace, Remark, Sample};
use crate::state::Phase;
use crate::state::core::display::Display;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Identifies an origin in the table that a document shares with its undo steps and snapshots; 0: unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct OriginId(pub(in crate::state) usize);

/// Identifies a layer for the lifetime of the document.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct LayerId(pub u64);

#[derive(Clone, Debug)]
pub enum Content {
    /// A diffusion scan; without gradients it can only be displayed.
    Scan {
        dwi: Volume,
        gradients: Option<Arc<Gradients>>,
    },
    Image(Volume),
    Mask(Mask),
    Tractogram(Tractogram),
    /// Streamlines of a file that is too large for the memory.
    InPlace(Arc<StreamlinesInPlace>),
}

/// Streamlines that stay in their file.
#[derive(Clone, Debug)]
pub struct StreamlinesInPlace {
    pub file: Arc<InPlace>,
    /// The streamlines drawn until more are read.
    pub first: Sample,
    /// The names of values and groups, without any streamline.
    pub names: Tractogram,
}

impl StreamlinesInPlace {
    /// Gives each streamline a further value.
    pub fn with_values(&self, name: &str, values: Shared<f32>) -> Self {
        Self {
            file: Arc::new(self.file.with_values(name, values)),
            first: self.first.clone(),
            names: self.names.clone().with_per_streamline(name, Vec::new()),
        }
    }
}

impl Content {
    /// The displayed image of a scan or image layer.
    pub fn volume(&self) -> Option<&Volume> {
        match self {
            Self::Scan { dwi, .. } => Some(dwi),
            Self::Image(volume) => Some(volume),
            Self::Mask(_) | Self::Tractogram(_) | Self::InPlace(_) => None,
        }
    }

    /// [`Content::volume`] if it is shown as an image: fixels are drawn as lines only.
    pub fn picture(&self) -> Option<&Volume> {
        self.volume().filter(|volume| volume.fixels.is_none())
    }

    /// [`Content::picture`] if its values are quantities: not colours or labels.
    pub fn scalar(&self) -> Option<&Volume> {
        let is_scalar = |v: &&Volume| v.kind == VolumeKind::Scalar && v.labels.is_none();
        self.picture().filter(is_scalar)
    }

    /// World bounds, mm; `None` for an empty tractogram. Those of streamlines that stay in their file are the bounds of
    /// the first ones drawn.
    pub fn bounds(&self) -> Option<(DVec3, DVec3)> {
        match self {
            Self::Scan { dwi: volume, .. } | Self::Image(volume) => Some(volume.grid.bounds()),
            Self::Mask(mask) => Some(mask.grid.bounds()),
            Self::Tractogram(tractogram) => tractogram.bounds(),
            Self::InPlace(lines) => lines.first.tractogram.bounds(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Layer {
    pub id: LayerId,
    pub name: String,
    pub content: Content,
    pub display: Display,
    /// Its origin, in the document's table.
    pub origin: OriginId,
    /// The content at the position of the file, for a layer that was moved.
    pub unmoved: Option<Content>,
    /// Unit after a value: `mm²/s`, or empty.
    pub unit: &'static str,
    /// Factor applied to displayed values (1e3 for diffusivities displayed as 10⁻³ mm²/s).
    pub unit_scale: f32,
    /// Remarks from reading it.
    pub notes: Vec<Remark>,
    /// The sentence about its file, which had changed since the session was saved.
    pub file_change: Option<String>,
}

impl Layer {
    /// Whether its image holds coefficients of distributions; if so, it is not a scan that lacks gradients.
    pub fn holds_distributions(&self) -> bool {
        self.notes.iter().any(Remark::is_about_distributions)
    }

    /// A layer that was computed here.
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
        Content::Tractogram(_) | Content::InPlace(_) => None,
    }
}

/// Changes of one layer, or of their list.
#[allow(
    clippy::large_enum_variant,
    reason = "a few of them exist at a time, and a box at every use would be longer to read"
)]
#[derive(Clone, Debug)]
pub enum LayerAction {
    Select(Option<LayerId>),
    SetDisplay {
        layer: LayerId,
        display: Display,
        phase: Phase,
    },
    /// Shows or hides a layer: its eye.
    Show {
        layer: LayerId,
        visible: bool,
    },
    /// Shows one image layer and hides the other images.
    ShowOnly(LayerId),
    /// To another index in the list, counted from the bottom.
    Move {
        layer: LayerId,
        index: usize,
    },
    Rename {
        layer: LayerId,
        name: String,
    },
    Delete(LayerId),
}

/// An input of a result: its layer, and the origin of that layer at the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Input {
    pub layer: LayerId,
    pub origin: OriginId,
}
