//! What a user says about a file where the file itself is silent.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Which way the first two axes of coordinates run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Space {
    /// To the patient's right and front: ours.
    Ras,
    /// To the patient's left and back: DICOM's and ITK's.
    Lps,
}

impl Space {
    pub const ALL: [Self; 2] = [Self::Ras, Self::Lps];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ras => "RAS",
            Self::Lps => "LPS",
        }
    }

    /// By its name in any letters.
    pub fn named(name: &str) -> Option<Self> {
        let same = |s: &Self| s.name().eq_ignore_ascii_case(name);
        Self::ALL.into_iter().find(same)
    }
}

/// Where a file says it itself, that goes before.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Told {
    /// Of a VTK file's points.
    pub vtk_space: Option<Space>,
}

impl Told {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// As options of a command: ` --vtk-space lps`.
impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.vtk_space {
            Some(space) => write!(f, " --vtk-space {}", space.name().to_lowercase()),
            None => Ok(()),
        }
    }
}
