//! Voxel types that are not read.

use std::fmt;

/// A voxel type that is not read here: a part of a sentence.
pub(super) enum UnsupportedVoxels {
    Complex,
    Float128,
    Bits,
    /// The code in the header.
    Unknown(i16),
}

impl fmt::Display for UnsupportedVoxels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complex => f.write_str("an image of complex numbers"),
            Self::Float128 => f.write_str("an image of 128-bit floats"),
            Self::Bits => f.write_str("an image of single bits"),
            Self::Unknown(code) => write!(f, "an image of unknown voxel type {code}"),
        }
    }
}
