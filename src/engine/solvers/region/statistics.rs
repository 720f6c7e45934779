//! Statistics of the values of an image within a region.

use super::Error;
use super::error::InputError;
use crate::compute::Control;
use crate::data::statistics::median;
use crate::data::{Mask, Volume, VolumeKind};

/// Statistics of an image within a region. A voxel of the region takes the value of the image's voxel that contains its
/// centre; on the same grid, that is its own.
#[derive(Clone, PartialEq, Debug)]
pub struct ValueStatistics {
    /// Voxels of the region.
    pub voxels: usize,
    /// Volume of the region.
    pub volume_ml: f64,
    /// Voxels with a finite value; all others are left out of the statistics.
    pub values: usize,
    /// Voxels whose centre lies outside the image.
    pub outside: usize,
    /// Mean of the values.
    pub mean: f64,
    /// Standard deviation of a sample, with n − 1; 0 for a single value.
    pub sd: f64,
    /// Median; the mean of the two middle values for an even number.
    pub median: f64,
    /// Smallest and largest value.
    pub range: (f64, f64),
    /// Values from the smallest to the largest in bins of equal width: each contains its lower limit, the last one both.
    pub histogram: Vec<u64>,
}

impl ValueStatistics {
    /// Lower and upper limit of a bin.
    pub fn bin(&self, number: usize) -> (f64, f64) {
        let (low, high) = self.range;
        let width = (high - low) / self.histogram.len() as f64;
        (
            low + number as f64 * width,
            low + (number + 1) as f64 * width,
        )
    }
}

/// Statistics of one volume of an image within a region, with a histogram of this many bins. Returns an error without a
/// finite value there.
pub fn statistics(
    (volume, frame): (&Volume, usize),
    region: &Mask,
    bins: usize,
    control: &Control,
) -> Result<ValueStatistics, Error> {
    if volume.kind == VolumeKind::Rgb {
        return Err(InputError::ColourImage.into());
    }
    let read = volume.reader_on(&region.grid, frame);
    let (mut found, mut outside) = (Vec::new(), 0);
    control.begin("Reading values", region.count() as u64);
    for (number, voxel) in region.voxels_inside().enumerate() {
        if number.is_multiple_of(1 << 16) {
            control.check()?;
        }
        match read(voxel) {
            Some(value) if value.is_finite() => found.push(value),
            Some(_) => {}
            None => outside += 1,
        }
    }
    if region.count() == 0 {
        return Err(InputError::NoVoxel.into());
    }
    if found.is_empty() {
        return Err(InputError::NoValues(region.count()).into());
    }
    let count = found.len() as f64;
    let mean = found.iter().map(|v| f64::from(*v)).sum::<f64>() / count;
    let squares = found
        .iter()
        .map(|v| (f64::from(*v) - mean).powi(2))
        .sum::<f64>();
    let low = found.iter().copied().fold(f32::INFINITY, f32::min);
    let high = found.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let range = (f64::from(low), f64::from(high));
    let mut histogram = vec![0; bins.max(1)];
    let (last, width) = (histogram.len() - 1, range.1 - range.0);
    for value in &found {
        let share = (f64::from(*value) - range.0) / width;
        // All values are equal: 0 / 0.
        let bin = if width > 0.0 {
            share * histogram.len() as f64
        } else {
            0.0
        };
        histogram[(bin as usize).min(last)] += 1;
    }
    Ok(ValueStatistics {
        voxels: region.count(),
        volume_ml: region.volume_ml(),
        values: found.len(),
        outside,
        mean,
        sd: (squares / (count - 1.0).max(1.0)).sqrt(),
        median: f64::from(median(&mut found)),
        range,
        histogram,
    })
}
