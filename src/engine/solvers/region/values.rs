//! Regions from the values of an image.

use super::Error;
use super::error::InputError;
use crate::compute::Control;
use crate::data::labels::LARGEST_WHOLE;
use crate::data::mask::Block;
use crate::data::{Mask, Volume};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// With more distinct numbers, an image holds measured values, not labels.
pub(super) const MAX_NUMBERS: usize = 20_000;

/// Voxels with values from `low` to `high`, inclusive. Needs the backend's threads installed.
pub fn threshold(
    volume: &Volume,
    frame: usize,
    (low, high): (f32, f32),
    control: &Control,
) -> Result<Mask, Error> {
    control.check()?;
    let values = volume.frame(frame).par_iter();
    let inside: Vec<u8> = values.map(|v| u8::from(*v >= low && *v <= high)).collect();
    Ok(Mask::new(volume.grid.clone(), inside))
}

/// One number of a label map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LabelCount {
    /// Value of the label in the image.
    pub number: i64,
    /// Number of voxels with this label.
    pub count: usize,
    /// The block that contains them.
    pub block: Block,
}

/// The nonzero numbers of a label map, ascending.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Numbers(pub Vec<LabelCount>);

/// The numbers of a label map; returns an error for measured values.
pub fn numbers(volume: &Volume, frame: usize, control: &Control) -> Result<Numbers, Error> {
    let grid = &volume.grid;
    let [nx, ny, _] = grid.shape;
    let mut labels: BTreeMap<i64, LabelCount> = BTreeMap::new();
    control.begin("Counting labels", grid.voxel_count() as u64);
    for (row, values) in volume.frame(frame).chunks_exact(nx).enumerate() {
        if row.is_multiple_of(256) {
            control.check()?;
            control.advance((256 * nx) as u64);
        }
        let mut x = 0;
        while x < nx {
            let value = values[x];
            let run = values[x..]
                .iter()
                .take_while(|v| **v == value)
                .count()
                .max(1);
            let (first, last) = (x, x + run - 1);
            x += run;
            if value == 0.0 {
                continue;
            }
            if value.fract() != 0.0 || !value.is_finite() {
                return Err(InputError::NotWhole(value).into());
            }
            // From 2²⁴ on, several labels may have been rounded to one.
            if value.abs() > LARGEST_WHOLE {
                return Err(InputError::LargeLabel(value).into());
            }
            let number = value as i64;
            let (y, z) = (row % ny, row / ny);
            let entry = labels.entry(number).or_insert(LabelCount {
                number,
                count: 0,
                block: ([first, y, z], [last, y, z]),
            });
            entry.count += run;
            let (low, high) = &mut entry.block;
            *low = [low[0].min(first), low[1].min(y), low[2].min(z)];
            *high = [high[0].max(last), high[1].max(y), high[2].max(z)];
        }
        if labels.len() > MAX_NUMBERS {
            return Err(InputError::TooManyNumbers.into());
        }
    }
    Ok(Numbers(labels.into_values().collect()))
}

/// The voxels with one number, in a mask cut to their block.
pub fn label(volume: &Volume, frame: usize, label: &LabelCount) -> Mask {
    let values = volume.frame(frame);
    let number = label.number as f32;
    Mask::cut_to(&volume.grid, label.block, |i| values[i] == number)
}
