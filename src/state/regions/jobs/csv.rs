//! Tables of regions: pairs of masks, statistics of images, histograms.

use crate::compute::Control;
use crate::data::text::counted;
use crate::jobs::{JobError, Saved, Worker};
use crate::solvers::compare::Pair;
use crate::solvers::region::ValueStatistics;
use crate::state::files::jobs::WriteFile;
use crate::state::files::jobs::csv::{field, save};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Saves one row per pair of masks.
#[derive(Clone, Debug)]
pub struct SavePairs {
    pub path: PathBuf,
    pub pairs: Arc<[Pair]>,
    /// Names of the masks.
    pub names: Vec<String>,
}

impl WriteFile for SavePairs {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let what = format!("comparison of {}", counted(self.names.len(), "mask"));
        save(self.path, what, control, |to| {
            write!(to, "mask_a,mask_b,voxels_a,voxels_b,shared_voxels,")?;
            writeln!(to, "dice,jaccard,mean_mm,percentile95_mm,max_mm")?;
            for pair in self.pairs.iter() {
                let [a, b] = pair.masks.map(|mask| field(&self.names[mask]));
                let [voxels_a, voxels_b] = pair.voxels;
                write!(to, "{a},{b},{voxels_a},{voxels_b},{},", pair.shared)?;
                let distances = pair.distances;
                let values = [pair.dice(), pair.jaccard(), distances.mean_mm];
                let [dice, jaccard, mean] = values.map(|v| format!("{v:.4}"));
                let far = [distances.percentile95_mm, distances.max_mm];
                let [percentile, max] = far.map(|v| format!("{v:.4}"));
                writeln!(to, "{dice},{jaccard},{mean},{percentile},{max}")?;
            }
            Ok(())
        })
    }
}

/// The statistics of one volume of an image.
#[derive(Clone, Debug)]
pub struct NamedStatistics {
    /// Name of the image.
    pub name: String,
    /// Index of the volume.
    pub volume: usize,
    pub statistics: ValueStatistics,
}

impl NamedStatistics {
    /// Headings of [`Self::fields`].
    pub const HEADINGS: [&'static str; 11] = [
        "image",
        "volume",
        "voxels",
        "volume_ml",
        "values",
        "outside",
        "mean",
        "sd",
        "median",
        "min",
        "max",
    ];

    /// The row of a table, in the image's own unit.
    pub fn fields(&self) -> [String; 11] {
        let statistics = &self.statistics;
        let (min, max) = statistics.range;
        let counts = [self.volume, statistics.voxels].map(|n| n.to_string());
        let [volume, voxels] = counts;
        let [values, outside] = [statistics.values, statistics.outside].map(|n| n.to_string());
        let numbers =
            [statistics.mean, statistics.sd, statistics.median, min, max].map(|v| v.to_string());
        let [mean, sd, median, min, max] = numbers;
        let (name, ml) = (field(&self.name), statistics.volume_ml.to_string());
        [
            name, volume, voxels, ml, values, outside, mean, sd, median, min, max,
        ]
    }
}

/// Saves one row per volume of each image.
#[derive(Clone, Debug)]
pub struct SaveStatistics {
    pub path: PathBuf,
    pub images: Arc<[NamedStatistics]>,
}

/// `statistics of 2 images`: how many different images these are.
fn counted_images(images: &[NamedStatistics]) -> String {
    let names: BTreeSet<&str> = images.iter().map(|image| image.name.as_str()).collect();
    counted(names.len(), "image")
}

impl WriteFile for SaveStatistics {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let what = format!("statistics of {}", counted_images(&self.images));
        save(self.path, what, control, |to| {
            writeln!(to, "{}", NamedStatistics::HEADINGS.join(","))?;
            for image in self.images.iter() {
                writeln!(to, "{}", image.fields().join(","))?;
            }
            Ok(())
        })
    }
}

/// Saves one row per volume and bin of each image.
#[derive(Clone, Debug)]
pub struct SaveHistograms {
    pub path: PathBuf,
    pub images: Arc<[NamedStatistics]>,
}

impl WriteFile for SaveHistograms {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let what = format!("histograms of {}", counted_images(&self.images));
        save(self.path, what, control, |to| {
            writeln!(to, "image,volume,from,to,voxels")?;
            for image in self.images.iter() {
                let (name, statistics) = (field(&image.name), &image.statistics);
                for (number, voxels) in statistics.histogram.iter().enumerate() {
                    let (low, high) = statistics.bin(number);
                    writeln!(to, "{name},{},{low},{high},{voxels}", image.volume)?;
                }
            }
            Ok(())
        })
    }
}
