//! The files that one export writes.

use crate::data::Tractogram;
use crate::io::Format;
use std::path::{Path, PathBuf};

/// Values that are written beside a streamline file: per point as TSF, per streamline as weights.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Values {
    /// In the tractogram.
    pub name: String,
    pub tsf: PathBuf,
    pub weights: PathBuf,
}

impl Values {
    /// The connectivity measures of rays.
    const MEASURE: &str = "cm";

    /// Measures, beside a TCK: other formats hold them themselves.
    pub fn beside(file: &Path) -> Option<Self> {
        (Format::named(file) == Some(Format::Tck)).then(|| Self {
            name: Self::MEASURE.to_owned(),
            tsf: file.with_extension("tsf"),
            weights: file.with_extension("weights.txt"),
        })
    }

    /// Whether there are measures to be written.
    pub fn are_in(tractogram: &Tractogram) -> bool {
        tractogram.per_point.contains_key(Self::MEASURE)
            && tractogram.per_streamline.contains_key(Self::MEASURE)
    }

    /// What is left for the streamlines' own file.
    pub fn without(&self, tractogram: &Tractogram) -> Tractogram {
        let mut left = tractogram.clone();
        left.per_point.remove(&self.name);
        left.per_streamline.remove(&self.name);
        left
    }

    pub fn files(&self) -> [&Path; 2] {
        [&self.tsf, &self.weights]
    }
}
