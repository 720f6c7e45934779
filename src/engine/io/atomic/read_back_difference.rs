//! How a written file differs from its intended contents.

use super::super::Error;
use super::super::error::without_os_error;
use std::fmt;

/// The first difference that is found when a file is read back.
#[derive(Clone, PartialEq, Debug)]
pub enum ReadBackDifference {
    /// Any part of the file.
    File,
    /// The copy differs from the file that was copied.
    Copy,
    /// Bytes of a file that is compared as a whole.
    Bytes,
    /// Numbers of a plain array.
    Array,
    /// Text of a text file.
    Text,
    /// Pixels of a picture.
    Pixels,
    /// Fields of the header besides those named here.
    Metadata,
    /// Values of an image or of a list.
    Values,
    /// The values of this name.
    NamedValues(String),
    /// Values that were written are not in the file.
    MissingValues,
    /// Dimensions of an image.
    Sizes,
    /// Affine of an image.
    Affine,
    /// Gradient table in a header.
    Gradients,
    /// Number or lengths of streamlines.
    Streamlines,
    /// Coordinates of points.
    Points,
    /// The system's reason why the file cannot be read.
    Unreadable(String),
    /// Why the file is not a file of its format.
    Invalid(Box<Error>),
    /// Why the contents have no JSON text, so that nothing was written.
    NotJson(String),
}

impl fmt::Display for ReadBackDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "it differs",
            Self::Copy => "it is not what was copied",
            Self::Bytes => "its bytes differ",
            Self::Array => "it reads back differently",
            Self::Text => "the text differs",
            Self::Pixels => "its pixels differ",
            Self::Metadata => "its metadata differ",
            Self::Values => "its values differ",
            Self::NamedValues(name) => return write!(f, "the values {name} differ"),
            Self::MissingValues => "some values are missing",
            Self::Sizes => "its sizes differ",
            Self::Affine => "its affine differs",
            Self::Gradients => "its gradients differ",
            Self::Streamlines => "its streamlines differ",
            Self::Points => "its points differ",
            Self::Unreadable(reason) | Self::NotJson(reason) => reason,
            Self::Invalid(error) => return error.fmt(f),
        })
    }
}

impl std::error::Error for ReadBackDifference {}

impl From<std::io::Error> for ReadBackDifference {
    fn from(error: std::io::Error) -> Self {
        Self::Unreadable(without_os_error(&error))
    }
}
