//! The fixels that an image of peaks was read from: lists of values for the fibre directions of each voxel.

use super::Shared;
use std::path::PathBuf;

/// The contents of a folder of fixels beside the directions.
#[derive(Clone, Debug)]
pub struct Fixels {
    /// Number of fixels in all voxels.
    pub count: usize,
    /// The list that gives the peaks their lengths; `None`: all have length 1.
    pub values_list: Option<PathBuf>,
    /// All lists of values in the folder, in the order of their names.
    pub lists: Vec<PathBuf>,
    /// The values with their signs if some are negative, in the order of the peaks: `values[peak * voxel_count + voxel]`.
    /// A length has no sign.
    pub signed: Option<Shared<f32>>,
    /// Smallest and largest value.
    pub range: (f32, f32),
    /// A range that nearly all values lie in; of positive values from 0.
    pub window: (f32, f32),
}

impl Fixels {
    /// The value of a peak: its length, with the sign of the fixel's value.
    pub fn value(&self, at: usize, length: f64) -> f64 {
        match &self.signed {
            Some(signed) => f64::from(signed[at]),
            None => length,
        }
    }
}
