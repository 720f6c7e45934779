//! What a user says about a file where the file itself is silent.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

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
    /// Of a label map: the file of its names and colours.
    pub colours: Option<PathBuf>,
}

impl Told {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// As options of a command: ` --vtk-space lps`.
impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(space) = self.vtk_space {
            write!(f, " --vtk-space {}", space.name().to_lowercase())?;
        }
        if let Some(table) = &self.colours {
            write!(f, " --colours {}", quoted(&table.to_string_lossy()))?;
        }
        Ok(())
    }
}

/// A word for the shell, quoted where it must be.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,=@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
