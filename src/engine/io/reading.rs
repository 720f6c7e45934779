//! The user's statements where a file itself is silent.

use super::text::is_control;
use super::warp::WarpReading;
use crate::data::{OdfLayout, TensorLayout, keyed};
use glam::DAffine3;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// The directions of the first two axes of coordinates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// To the patient's right and front: used by this program.
    Ras,
    /// To the patient's left and back: used by DICOM and ITK.
    Lps,
}

impl Space {
    /// Both spaces, RAS first.
    pub const ALL: [Self; 2] = [Self::Ras, Self::Lps];

    /// Key in options and sessions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ras => "RAS",
            Self::Lps => "LPS",
        }
    }

    /// The value of this key, in upper or lower case.
    pub fn named(key: &str) -> Option<Self> {
        Self::from_key(&key.to_ascii_lowercase())
    }
}

keyed!(Space, serde {
    Ras = "ras",
    Lps = "lps",
});

/// The user's statements about a file; information in the file itself takes precedence.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Reading {
    /// The space of a VTK file's points.
    pub vtk_space: Option<Space>,
    /// The file with a label map's names and colours.
    pub colours: Option<PathBuf>,
    /// The order and the axes of the tensors in an image of six volumes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensors: Option<TensorLayout>,
    /// The basis and the axes of the fibre orientation distributions in an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distributions: Option<OdfLayout>,
    /// The affine that places the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affine: Option<Box<AffineReading>>,
    /// The non-linear alignment that resamples an image, or moves streamlines; not together with an affine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warp: Option<Box<WarpReading>>,
}

/// The transform of an image or of streamlines.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AffineReading {
    /// From a file; `fixed` is the image to which FLIRT aligned it.
    File {
        /// File of the affine.
        path: PathBuf,
        /// Image to which it maps; FLIRT matrices need its grid.
        fixed: Option<PathBuf>,
    },
    /// In world space, RAS mm, row by row.
    Matrix([f64; 12]),
}

impl AffineReading {
    /// The reading that holds the upper three rows of a matrix in world mm, row by row.
    pub fn matrix(by: DAffine3) -> Self {
        let c = by.to_cols_array();
        Self::Matrix(std::array::from_fn(|i| c[3 * (i % 4) + i / 4]))
    }

    /// The affine that has these rows.
    pub fn of_rows(rows: &[f64; 12]) -> DAffine3 {
        DAffine3::from_cols_array(&std::array::from_fn(|i| rows[4 * (i % 3) + i / 3]))
    }

    /// The affine as an option of this name: ` --affine matrix:…`.
    pub fn argument(&self, option: &str) -> String {
        match self {
            Self::File { path, fixed } => {
                let fixed = fixed.as_ref().map_or_else(String::new, |fixed| {
                    format!(" --fixed {}", quoted(&fixed.to_string_lossy()))
                });
                format!(" --{option} {}{fixed}", quoted(&path.to_string_lossy()))
            }
            Self::Matrix(rows) => {
                let numbers: Vec<String> = rows.iter().map(f64::to_string).collect();
                format!(" --{option} matrix:{}", numbers.join(","))
            }
        }
    }
}

impl fmt::Display for AffineReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.argument("affine"))
    }
}

impl Reading {
    /// Whether the user stated nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Prints options of a command: ` --vtk-space lps`.
impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(space) = self.vtk_space {
            write!(f, " --vtk-space {}", space.key())?;
        }
        if let Some(table) = &self.colours {
            write!(f, " --colours {}", quoted(&table.to_string_lossy()))?;
        }
        if let Some(layout) = &self.tensors {
            layout.fmt(f)?;
        }
        if let Some(layout) = &self.distributions {
            layout.fmt(f)?;
        }
        if let Some(affine) = &self.affine {
            affine.fmt(f)?;
        }
        if let Some(warp) = &self.warp {
            warp.fmt(f)?;
        }
        Ok(())
    }
}

/// A word for the shell, quoted if necessary.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,=@%".contains(c);
    if text.contains(is_control) {
        // In the notation of bash and zsh: a command is one line and cannot affect the terminal that shows it.
        let escape = |c: char| match c {
            '\'' | '\\' => format!("\\{c}"),
            c if is_control(c) => {
                let mut bytes = [0; 4];
                let bytes = c.encode_utf8(&mut bytes).bytes();
                bytes.map(|b| format!("\\x{b:02x}")).collect()
            }
            c => c.to_string(),
        };
        let escaped: String = text.chars().map(escape).collect();
        return format!("$'{escaped}'");
    }
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
