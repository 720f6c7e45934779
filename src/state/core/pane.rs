//! The four views.

use crate::data::keyed;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Pane {
    Axial,
    Sagittal,
    Coronal,
    Scene,
}

keyed!(Pane, serde {
    Axial = "axial",
    Sagittal = "sagittal",
    Coronal = "coronal",
    Scene = "scene",
});

impl Pane {
    pub const ALL: [Self; 4] = [Self::Axial, Self::Sagittal, Self::Coronal, Self::Scene];

    pub fn name(self) -> &'static str {
        match self {
            Self::Axial => "Axial",
            Self::Sagittal => "Sagittal",
            Self::Coronal => "Coronal",
            Self::Scene => "3-D",
        }
    }

    /// Value of `arcuate render --view` for a view, or for the whole window.
    pub fn option(view: Option<Self>) -> &'static str {
        match view {
            None => "window",
            Some(Self::Scene) => "3d",
            Some(slices) => slices.key(),
        }
    }

    /// The world axis along which a slice view looks; `None` for the 3-D view.
    pub fn normal_axis(self) -> Option<usize> {
        match self {
            Self::Sagittal => Some(0),
            Self::Coronal => Some(1),
            Self::Axial => Some(2),
            Self::Scene => None,
        }
    }
}
