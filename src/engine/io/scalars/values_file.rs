//! Values of streamlines in a file of any name.

use super::{ValuesError, open_weights, points, same_stamp};
use crate::compute::Control;
use crate::data::Tractogram;
use crate::io::Error;
use std::path::Path;

/// Values in a file of their own.
#[derive(Clone, PartialEq, Debug)]
pub enum FileValues {
    /// One for each point (TSF).
    PerPoint(Vec<f32>),
    /// One for each streamline (text).
    PerStreamline(Vec<f32>),
}

impl FileValues {
    /// Whether a file with this name holds values per point.
    pub fn is_per_point(path: &Path) -> bool {
        path.extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("tsf"))
    }
}

/// Reads the values of a TSF file, by its ending, or of a text with one number per streamline. Values of other
/// streamlines give an error.
pub fn open_values(
    path: &Path,
    tractogram: &Tractogram,
    control: &Control,
) -> Result<FileValues, Error> {
    if !FileValues::is_per_point(path) {
        return open_weights(path, tractogram).map(FileValues::PerStreamline);
    }
    let check = |own: Option<&str>| match (own, &tractogram.timestamp) {
        (Some(own), Some(theirs)) => same_stamp(Some(own), Some(theirs)),
        // Other formats have none.
        _ => Ok(()),
    };
    let read = points(path, tractogram, check, control);
    control.check()?;
    match read {
        Ok((_, values)) => Ok(FileValues::PerPoint(values)),
        Err(ValuesError::File(error)) => Err(error),
        Err(error) => {
            let expected = "one number for each point of the streamlines, in their order";
            Err(Error::malformed(path, error.to_string(), expected))
        }
    }
}
