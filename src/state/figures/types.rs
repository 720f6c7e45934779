//! The subject and the image of figures, and their result.

use crate::data::region::RegionId;
use crate::data::{DataId, Shape, keyed};
use crate::solvers::level_set::Field;
use crate::solvers::region::ValueStatistics;
use crate::state::core::layer::LayerId;
use crate::state::core::live::{Live, LiveKey};
use crate::state::scene_look::JointRuntime;
use std::path::PathBuf;
use std::sync::Arc;

/// Bins of the histogram: those that the panel draws.
pub const BINS: usize = 64;

/// The set of voxels in which an image is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FigureSubject {
    Region(RegionId),
    /// A mask layer.
    Mask(LayerId),
    /// A kept pathway, or the live one.
    Pathway(Option<LayerId>),
    /// The inside of the live surface.
    Surface,
}

/// The state of a subject's voxels, without the voxels: a key must not hold a mask that is drawn on, since strokes
/// change it in place.
#[derive(Clone, PartialEq, Debug)]
pub enum SubjectVoxels {
    /// A sphere or a box.
    Geometric(Shape),
    Mask(DataId),
    /// The excess cost, and the bits of the pathway's width.
    Pathway(DataId, u64),
    Surface(SameField),
}

/// The field of a surface. It stays the same allocation as long as the surface does not move.
#[derive(Clone, Debug)]
pub struct SameField(pub Arc<Field>);

impl PartialEq for SameField {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Everything that figures depend on.
#[derive(Clone, PartialEq, Debug)]
pub struct FiguresKey {
    pub subject: FigureSubject,
    pub voxels: SubjectVoxels,
    pub image: DataId,
    /// Index of the image's volume.
    pub frame: usize,
}

impl LiveKey for FiguresKey {
    /// While a region is edited, its last figures stay; those of other regions or images would mislead.
    fn stands_in_for(&self, requested: &Self) -> bool {
        self.subject == requested.subject
            && (self.image, self.frame) == (requested.image, requested.frame)
    }
}

/// A table of figures that can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FigureTable {
    /// One row for each volume of the image.
    Statistics,
    /// One row for each volume and bin.
    Histograms,
}

keyed!(FigureTable, suffix {
    Statistics = "figures",
    Histograms = "histogram",
});

/// User actions on figures.
#[derive(Clone, Debug)]
pub enum FigureAction {
    /// Opens or closes the section; nothing is measured while it is closed.
    Show(bool),
    /// Measures in these voxels, and opens the section.
    Measure(FigureSubject),
    /// The measured image; `None`: the one shown.
    Image(Option<LayerId>),
    /// Copies the figures as a table.
    Copy,
    Save {
        table: FigureTable,
        path: PathBuf,
    },
}

/// The items that were selected when the figures last followed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Selected {
    pub region: Option<RegionId>,
    pub layer: Option<LayerId>,
    pub pathway: Option<LayerId>,
}

/// Runtime state of figures.
#[derive(Clone, Debug, Default)]
pub struct FigureRuntime {
    pub is_open: bool,
    /// The subject chosen last, in the section or by selecting it elsewhere.
    pub subject: Option<FigureSubject>,
    pub image: Option<LayerId>,
    pub selected: Selected,
    pub live: Live<FiguresKey, ValueStatistics>,
    /// The values of an image in the plot of a transfer function, which the feature scene look measures.
    pub joint: JointRuntime,
}
