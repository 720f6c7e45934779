//! Exchanged and flipped axes of a gradient table.
//!
//! # Example
//!
//! The axes of a table that lists y before x, with z flipped:
//!
//! ```
//! use arcuate_engine::data::axis_change::AxisChange;
//!
//! let change: AxisChange = "y,x,-z".parse()?;
//! assert_eq!(change.description(), "x and y exchanged, z flipped");
//! assert_eq!(AxisChange::all().len(), 24);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Grid;
use super::rotation::rotation;
use glam::{DMat3, DVec3};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Component `i` of a changed vector is component `axes[i]` of the old one, or its negative. A vector and its
/// negative have the same weighting, so that there are 24 changes: 6 orders times 4 classes of signs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct AxisChange {
    /// Axis of the table from which each axis takes its component.
    pub axes: [usize; 3],
    /// Whether the component changes sign.
    pub flipped: [bool; 3],
}

const LETTERS: [&str; 3] = ["x", "y", "z"];

impl AxisChange {
    /// The axes of the table as they are.
    pub const NONE: Self = Self {
        axes: [0, 1, 2],
        flipped: [false; 3],
    };

    /// All 24, beginning with [`AxisChange::NONE`]; at most one axis is flipped.
    pub fn all() -> Vec<Self> {
        const ORDERS: [[usize; 3]; 6] = [
            [0, 1, 2],
            [1, 0, 2],
            [2, 1, 0],
            [0, 2, 1],
            [1, 2, 0],
            [2, 0, 1],
        ];
        let flips = [None, Some(0), Some(1), Some(2)];
        let turn = |axes: [usize; 3], flip: Option<usize>| Self {
            axes,
            flipped: std::array::from_fn(|a| Some(a) == flip),
        };
        ORDERS
            .iter()
            .flat_map(|&axes| flips.map(|flip| turn(axes, flip)))
            .collect()
    }

    /// The equivalent member of [`AxisChange::all`]: at most one axis is flipped.
    pub fn reduced(self) -> Self {
        match self.flipped.iter().filter(|f| **f).count() {
            0 | 1 => self,
            _ => Self {
                flipped: self.flipped.map(|f| !f),
                ..self
            },
        }
    }

    /// Signed permutation that maps vectors of the table to the changed axes.
    pub fn matrix(self) -> DMat3 {
        let mut matrix = DMat3::ZERO;
        for i in 0..3 {
            let sign = if self.flipped[i] { -1.0 } else { 1.0 };
            matrix.col_mut(self.axes[i])[i] = sign;
        }
        matrix
    }

    /// The change that undoes this one.
    pub fn inverse(self) -> Self {
        let mut inverse = Self::NONE;
        for i in 0..3 {
            inverse.axes[self.axes[i]] = i;
            inverse.flipped[self.axes[i]] = self.flipped[i];
        }
        inverse.reduced()
    }

    /// This change applied after another.
    pub fn after(self, first: Self) -> Self {
        Self {
            axes: self.axes.map(|a| first.axes[a]),
            flipped: std::array::from_fn(|i| self.flipped[i] != first.flipped[self.axes[i]]),
        }
        .reduced()
    }

    /// Its effect on vectors in world axes, if it applies to those of an FSL table.
    pub fn in_world(self, grid: &Grid) -> DMat3 {
        let world = world_from_fsl(grid);
        world * self.matrix() * world.transpose()
    }

    /// The text `x and y exchanged, z flipped`.
    pub fn description(self) -> String {
        let exchanged = (0..3).filter(|&i| self.axes[i] != i);
        let exchanged: Vec<&str> = exchanged.map(|i| LETTERS[i]).collect();
        let order = match exchanged.as_slice() {
            [] => None,
            [a, b] => Some(format!("{a} and {b} exchanged")),
            _ => {
                let [a, b, c] = self.axes.map(|a| LETTERS[a]);
                Some(format!("axes in the order {a} {b} {c}"))
            }
        };
        let flipped = (0..3).filter(|&i| self.flipped[i]).map(|i| LETTERS[i]);
        let flipped: Vec<&str> = flipped.collect();
        let flipped = (!flipped.is_empty()).then(|| format!("{} flipped", flipped.join(" and ")));
        let parts: Vec<String> = order.into_iter().chain(flipped).collect();
        match parts.is_empty() {
            true => "as they are".to_owned(),
            false => parts.join(", "),
        }
    }
}

/// Maps an FSL vector to world axes: FSL's are relative to the image's axes, with x negated if the affine has a
/// positive determinant. Orthogonal, so its transpose is the inverse.
pub fn world_from_fsl(grid: &Grid) -> DMat3 {
    rotation(grid.world_from_voxel.matrix3) * image_from_fsl(grid)
}

/// Maps an FSL vector to the image's axes.
pub fn image_from_fsl(grid: &Grid) -> DMat3 {
    let x = match grid.world_from_voxel.matrix3.determinant() > 0.0 {
        true => -1.0,
        false => 1.0,
    };
    DMat3::from_diagonal(DVec3::new(x, 1.0, 1.0))
}

/// Prints a command option: `y,-x,z`.
impl fmt::Display for AxisChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |i: usize| {
            let sign = if self.flipped[i] { "-" } else { "" };
            format!("{sign}{}", LETTERS[self.axes[i]])
        };
        write!(f, "{},{},{}", part(0), part(1), part(2))
    }
}

impl FromStr for AxisChange {
    type Err = TurnError;

    fn from_str(text: &str) -> Result<Self, TurnError> {
        let part = |part: &str| {
            let part = part.trim();
            let bare = part.strip_prefix('-').unwrap_or(part);
            let axis = LETTERS.iter().position(|l| *l == bare)?;
            Some((axis, bare != part))
        };
        let parts: Option<Vec<(usize, bool)>> = text.split(',').map(part).collect();
        let turn = match parts.as_deref() {
            Some(&[(a, f), (b, g), (c, h)]) => Self {
                axes: [a, b, c],
                flipped: [f, g, h],
            },
            _ => return Err(TurnError(text.to_owned())),
        };
        let mut seen = turn.axes;
        seen.sort_unstable();
        match seen == [0, 1, 2] {
            true => Ok(turn.reduced()),
            false => Err(TurnError(text.to_owned())),
        }
    }
}

/// A text that is not an axis change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TurnError(String);

impl fmt::Display for TurnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = &self.0;
        write!(
            f,
            "expected x, y and z once each, with - before flipped axes, as in y,-x,z, found “{found}”"
        )
    }
}

impl std::error::Error for TurnError {}
