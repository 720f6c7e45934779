//! Tables of regions: pairs of masks, statistics of images, histograms.

use crate::compute::Control;
use crate::data::text::counted;
use crate::jobs::{JobError, Saved, Worker};
use crate::solvers::compare::Pair;
use crate::solvers::region::ValueStatistics;
use crate::state::files::jobs::WriteFile;
use crate::state::files::jobs::csv::{field, save};
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

/// The statistics of an image, with its name.
pub type NamedStatistics = (String, ValueStatistics);

/// Saves one row per image.
#[derive(Clone, Debug)]
pub struct SaveStatistics {
    pub path: PathBuf,
    pub images: Arc<[NamedStatistics]>,
}

impl WriteFile for SaveStatistics {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        let what = format!("statistics of {}", counted(self.images.len(), "image"));
        save(self.path, what, control, |to| {
            writeln!(
                to,
                "image,voxels,volume_ml,values,outside,mean,sd,median,min,max"
            )?;
            for (name, found) in self.images.iter() {
                let (voxels, ml) = (found.voxels, found.volume_ml);
                write!(to, "{},{voxels},{ml},", field(name))?;
                write!(to, "{},{},", found.values, found.outside)?;
                let (min, max) = found.range;
                writeln!(
                    to,
                    "{},{},{},{min},{max}",
                    found.mean, found.sd, found.median
                )?;
            }
            Ok(())
        })
    }
}

/// Saves one row per image and bin.
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
        let what = format!("histograms of {}", counted(self.images.len(), "image"));
        save(self.path, what, control, |to| {
            writeln!(to, "image,from,to,voxels")?;
            for (name, found) in self.images.iter() {
                for (number, voxels) in found.histogram.iter().enumerate() {
                    let (low, high) = found.bin(number);
                    writeln!(to, "{},{low},{high},{voxels}", field(name))?;
                }
            }
            Ok(())
        })
    }
}
