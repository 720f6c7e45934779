//! The layout of the six volumes of a tensor image.

use super::axis_change::world_from_fsl;
use super::{Grid, keyed};
use glam::DMat3;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The component stored in each of the six volumes. NIfTI defines one order, and most programs use another, which no
/// header states.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TensorOrder {
    /// Upper triangle by rows: xx xy xz yy yz zz.
    Fsl,
    /// Lower triangle by rows, as in NIfTI's intent 1005: xx xy yy xz yz zz.
    Lower,
    /// Diagonal first: xx yy zz xy xz yz.
    Mrtrix,
}

impl TensorOrder {
    /// All orders in the order of their declaration.
    pub const ALL: [Self; 3] = [Self::Fsl, Self::Lower, Self::Mrtrix];

    /// Components in the order of the volumes, as text.
    pub fn components(self) -> &'static str {
        match self {
            Self::Fsl => "xx xy xz yy yz zz",
            Self::Lower => "xx xy yy xz yz zz",
            Self::Mrtrix => "xx yy zz xy xz yz",
        }
    }

    /// The volumes that hold xx, xy, xz, yy, yz, zz.
    pub fn volumes(self) -> [usize; 6] {
        match self {
            Self::Fsl => [0, 1, 2, 3, 4, 5],
            Self::Lower => [0, 1, 3, 2, 4, 5],
            Self::Mrtrix => [0, 3, 4, 1, 5, 2],
        }
    }

    /// The label; at present equal to the key.
    pub fn name(self) -> &'static str {
        self.key()
    }

    /// The value of this key, in upper or lower case.
    pub fn named(key: &str) -> Option<Self> {
        Self::from_key(&key.to_ascii_lowercase())
    }
}

keyed!(TensorOrder, serde {
    Fsl = "fsl",
    Lower = "lower",
    Mrtrix = "mrtrix",
});

/// The axes to which x, y and z refer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TensorFrame {
    /// FSL's axes of gradient directions: the image's, with x negated if the affine has a positive determinant.
    Voxel,
    /// Right, front and up, as written by MRtrix and this program.
    World,
}

impl TensorFrame {
    /// Both frames, voxel axes first.
    pub const ALL: [Self; 2] = [Self::Voxel, Self::World];

    /// Maps the frame to world axes.
    pub fn world_from_frame(self, grid: &Grid) -> DMat3 {
        match self {
            Self::Voxel => world_from_fsl(grid),
            Self::World => DMat3::IDENTITY,
        }
    }

    /// The label; at present equal to the key.
    pub fn name(self) -> &'static str {
        self.key()
    }

    /// The value of this key, in upper or lower case.
    pub fn named(key: &str) -> Option<Self> {
        Self::from_key(&key.to_ascii_lowercase())
    }
}

keyed!(TensorFrame, serde {
    Voxel = "voxel",
    World = "world",
});

/// Correct components in the wrong frame give mirrored fibres, so both are always stated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TensorLayout {
    /// Order of the six components.
    pub order: TensorOrder,
    /// Axes to which the components refer.
    pub frame: TensorFrame,
}

impl TensorLayout {
    /// Volumes of a tensor image.
    pub const VOLUMES: usize = 6;

    /// The layout in which this program and MRtrix write tensors.
    pub const MRTRIX: Self = Self {
        order: TensorOrder::Mrtrix,
        frame: TensorFrame::World,
    };

    /// All six combinations of order and frame.
    pub fn all() -> impl Iterator<Item = Self> {
        let frames = |order| TensorFrame::ALL.map(|frame| Self { order, frame });
        TensorOrder::ALL.into_iter().flat_map(frames)
    }

    /// The text `xx xy xz yy yz zz, voxel axes`.
    pub fn description(self) -> String {
        format!("{}, {} axes", self.order.components(), self.frame.name())
    }
}

/// Prints command options: ` --tensor-order fsl --tensor-frame voxel`.
impl fmt::Display for TensorLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (order, frame) = (self.order.key(), self.frame.key());
        write!(f, " --tensor-order {order} --tensor-frame {frame}")
    }
}
