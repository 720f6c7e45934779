//! How the six volumes of a tensor image are to be read.

use super::axis_change::world_from_fsl;
use super::{Grid, keyed};
use glam::DMat3;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which component each of the six volumes holds. NIfTI has one order of its own, and most programs
/// another, which no header tells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TensorOrder {
    /// Upper triangle by rows: xx xy xz yy yz zz.
    Fsl,
    /// Lower triangle by rows, as NIfTI's intent 1005: xx xy yy xz yz zz.
    Lower,
    /// Diagonal first: xx yy zz xy xz yz.
    Mrtrix,
}

impl TensorOrder {
    pub const ALL: [Self; 3] = [Self::Fsl, Self::Lower, Self::Mrtrix];

    pub fn components(self) -> &'static str {
        match self {
            Self::Fsl => "xx xy xz yy yz zz",
            Self::Lower => "xx xy yy xz yz zz",
            Self::Mrtrix => "xx yy zz xy xz yz",
        }
    }

    /// Which volume holds xx, xy, xz, yy, yz, zz.
    pub fn volumes(self) -> [usize; 6] {
        match self {
            Self::Fsl => [0, 1, 2, 3, 4, 5],
            Self::Lower => [0, 1, 3, 2, 4, 5],
            Self::Mrtrix => [0, 3, 4, 1, 5, 2],
        }
    }

    /// The label; today the letters of the key.
    pub fn name(self) -> &'static str {
        self.key()
    }

    /// By its key in any letters.
    pub fn named(key: &str) -> Option<Self> {
        Self::from_key(&key.to_ascii_lowercase())
    }
}

keyed!(TensorOrder {
    Fsl = "fsl",
    Lower = "lower",
    Mrtrix = "mrtrix",
});

/// The axes that x, y and z are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TensorFrame {
    /// Those of FSL's gradient directions: the image's, x negated where the affine has a positive
    /// determinant.
    Voxel,
    /// Right, front and up, as MRtrix and this program write them.
    World,
}

impl TensorFrame {
    pub const ALL: [Self; 2] = [Self::Voxel, Self::World];

    /// To world axes.
    pub fn world_from_frame(self, grid: &Grid) -> DMat3 {
        match self {
            Self::Voxel => world_from_fsl(grid),
            Self::World => DMat3::IDENTITY,
        }
    }

    /// The label; today the letters of the key.
    pub fn name(self) -> &'static str {
        self.key()
    }

    /// By its key in any letters.
    pub fn named(key: &str) -> Option<Self> {
        Self::from_key(&key.to_ascii_lowercase())
    }
}

keyed!(TensorFrame {
    Voxel = "voxel",
    World = "world",
});

/// Right components in the wrong frame give mirrored fibres, so that both are always said.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TensorLayout {
    pub order: TensorOrder,
    pub frame: TensorFrame,
}

impl TensorLayout {
    /// Volumes of a tensor image.
    pub const VOLUMES: usize = 6;

    /// As this program writes tensors, and MRtrix.
    pub const OURS: Self = Self {
        order: TensorOrder::Mrtrix,
        frame: TensorFrame::World,
    };

    pub fn all() -> impl Iterator<Item = Self> {
        let frames = |order| TensorFrame::ALL.map(|frame| Self { order, frame });
        TensorOrder::ALL.into_iter().flat_map(frames)
    }

    /// In words: `xx xy xz yy yz zz, voxel axes`.
    pub fn description(self) -> String {
        format!("{}, {} axes", self.order.components(), self.frame.name())
    }
}

/// As options of a command: ` --tensor-order fsl --tensor-frame voxel`.
impl fmt::Display for TensorLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (order, frame) = (self.order.key(), self.frame.key());
        write!(f, " --tensor-order {order} --tensor-frame {frame}")
    }
}
