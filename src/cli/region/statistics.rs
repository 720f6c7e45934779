//! Statistics of images within a region, of every volume.

use crate::cli::inputs::{image, must_be_csv};
use crate::cli::options::{ReadingOptions, whole_from};
use crate::cli::output::one_line;
use crate::cli::runner::{Failure, Runner};
use crate::data::text::{count, counted, file_stem};
use crate::data::{Mask, Volume, VolumeKind};
use crate::state::regions::jobs::csv::{NamedStatistics, SaveHistograms, SaveStatistics};
use crate::state::regions::jobs::statistics::MeasureRegion;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Statistics of images within the region.
#[derive(clap::Args, Debug)]
pub struct StatisticsOptions {
    /// Measure an image within the region, each of its volumes: mean, standard deviation, median, histogram; may be
    /// given several times
    #[arg(long, value_name = "IMAGE", conflicts_with = "as_labels")]
    pub stats: Vec<PathBuf>,
    /// Write a table with one row for each volume of the images of --stats (.csv)
    #[arg(long, value_name = "FILE", requires = "stats")]
    pub csv: Option<PathBuf>,
    /// Write a table of the histograms, with one row for each volume and bin (.csv)
    #[arg(long, value_name = "FILE", requires = "stats")]
    pub histogram: Option<PathBuf>,
    /// Number of bins of a histogram, of equal width from the smallest to the largest value
    #[arg(long, value_name = "N", default_value = "50", allow_negative_numbers = true, value_parser = whole_from(1, 10_000u16))]
    pub bins: u16,
}

/// The statistics of one volume, with the file of its image.
pub struct MeasuredVolume {
    file: PathBuf,
    /// Whether the image has several volumes.
    is_one_of_several: bool,
    row: NamedStatistics,
}

impl StatisticsOptions {
    pub fn check(&self, runner: &Runner) -> Result<(), Failure> {
        for path in self.csv.iter().chain(&self.histogram) {
            must_be_csv(path)?;
            runner.may_make(path)?;
        }
        Ok(())
    }

    /// The images to measure.
    pub fn images(&self, runner: &mut Runner) -> Result<Vec<Volume>, Failure> {
        let mut images = Vec::new();
        for path in &self.stats {
            let image = image(path, &ReadingOptions::default(), runner)?;
            if image.kind == VolumeKind::Rgb {
                return Err(Failure::new(format!(
                    "Found a colour image, expected one number per voxel; name another image: {}",
                    path.display()
                )));
            }
            images.push(image);
        }
        Ok(images)
    }

    /// Measures the images within the region; writes the tables.
    pub fn measure(
        &self,
        region: &Mask,
        images: Vec<Volume>,
        runner: &mut Runner,
    ) -> Result<Vec<MeasuredVolume>, Failure> {
        let mut measured: Vec<MeasuredVolume> = Vec::new();
        for (image, path) in images.into_iter().zip(&self.stats) {
            // Images of one name in several folders have rows of their own.
            let is_named = |known: &MeasuredVolume| known.row.name == file_stem(path);
            let name = match measured.iter().any(is_named) {
                true => path.display().to_string(),
                false => file_stem(path),
            };
            for volume in 0..image.frames {
                let job = MeasureRegion {
                    region: region.clone(),
                    volume: image.clone(),
                    frame: volume,
                    bins: usize::from(self.bins),
                };
                let is_one_of_several = image.frames > 1;
                let file = match is_one_of_several {
                    true => format!("volume {volume} of {}", path.display()),
                    false => path.display().to_string(),
                };
                let about = |e: Failure| Failure::new(format!("{}: {file}", e.sentence));
                let (statistics, _) = runner.run(job).map_err(about)?;
                let missing = statistics.voxels - statistics.values;
                if missing > 0 {
                    warning!(
                        "{} of the region's {} have no number in the image and are left out of its statistics: {file}",
                        count(missing as u64),
                        counted(statistics.voxels, "voxel"),
                    );
                }
                measured.push(MeasuredVolume {
                    file: path.clone(),
                    is_one_of_several,
                    row: NamedStatistics {
                        name: name.clone(),
                        volume,
                        statistics,
                    },
                });
            }
        }
        let rows = measured.iter().map(|measured| measured.row.clone());
        let rows: Vec<NamedStatistics> = rows.collect();
        if let Some(path) = &self.csv {
            runner.run(SaveStatistics {
                path: path.clone(),
                images: rows.clone().into(),
            })?;
        }
        if let Some(path) = &self.histogram {
            runner.run(SaveHistograms {
                path: path.clone(),
                images: rows.into(),
            })?;
        }
        Ok(measured)
    }
}

/// One object for each volume.
pub fn json(images: &[MeasuredVolume]) -> Value {
    let images = images.iter().map(|measured| {
        let NamedStatistics {
            name,
            volume,
            statistics,
        } = &measured.row;
        json!({
            "name": name, "file": measured.file, "volume": volume, "values": statistics.values, "outside": statistics.outside,
            "mean": statistics.mean, "sd": statistics.sd, "median": statistics.median, "min": statistics.range.0,
            "max": statistics.range.1, "histogram": statistics.histogram,
        })
    });
    json!(images.collect::<Vec<_>>())
}

/// Diffusivities are small, and some images large.
fn digits(value: f64) -> String {
    match value == 0.0 || (0.01..1e6).contains(&value.abs()) {
        true => format!("{value:.4}"),
        false => format!("{value:.3e}"),
    }
}

/// One line for each volume.
pub fn text(images: &[MeasuredVolume]) -> String {
    let mut text = String::new();
    for measured in images {
        let statistics = &measured.row.statistics;
        let (min, max) = statistics.range;
        let values = [statistics.mean, statistics.sd, statistics.median, min, max].map(digits);
        let [mean, sd, median, min, max] = values;
        let mut name = one_line(&measured.row.name).to_string();
        if measured.is_one_of_several {
            let _ = write!(name, ", volume {}", measured.row.volume);
        }
        let _ = writeln!(
            text,
            "{name}: mean {mean}, sd {sd}, median {median}, {min} to {max}, in {}",
            counted(statistics.values, "voxel")
        );
    }
    text
}
