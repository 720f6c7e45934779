//! The fixels from which an image of peaks was read: fibre directions in each voxel, with lists of values.

use super::Shared;
use std::path::{Path, PathBuf};

/// The contents of a folder of fixels besides the directions.
#[derive(Clone, Debug)]
pub struct Fixels {
    /// Number of fixels in all voxels.
    pub count: usize,
    /// The list that gives the peaks their lengths; `None` if all have length 1.
    pub values_list: Option<PathBuf>,
    /// All lists of values in the folder, in the order of their names.
    pub lists: Vec<PathBuf>,
    /// The folder, absolute and without links where it could be resolved: the other paths are as the user named them.
    pub folder: PathBuf,
    /// The values with their signs, which lengths do not have, in the order of the peaks:
    /// `values[peak * voxel_count + voxel]`. `None` if no value is negative.
    pub signed: Option<Shared<f32>>,
    /// Smallest and largest value, extended to include 0.
    pub range: (f32, f32),
    /// A range that contains nearly all values; it begins at 0 if no value is negative.
    pub window: (f32, f32),
}

impl Fixels {
    /// Whether the fixels have values. Without them all lengths are 1, and a range or a colour map has no meaning.
    pub fn has_values(&self) -> bool {
        self.values_list.is_some()
    }

    /// Whether the values are those of a list in the folder of `other`, however the user named either path.
    pub fn shows(&self, list: &Path, other: &Self) -> bool {
        let shown = self.values_list.as_deref().and_then(Path::file_name);
        self.folder == other.folder && shown.is_some() && shown == list.file_name()
    }

    /// The value of the peak with index `at` in [`Self::signed`]: its length, with the sign of the fixel's value.
    pub fn value(&self, at: usize, length: f64) -> f64 {
        match &self.signed {
            Some(signed) => f64::from(signed[at]),
            None => length,
        }
    }
}
