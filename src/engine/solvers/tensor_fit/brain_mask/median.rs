//! Grey levels, their median filter and their Otsu threshold.
//!
//! The filter runs on 256 grey levels, so that the median is found by stepping through a histogram that slides along
//! each row (Huang, Yang and Tang 1979): two faces of the window per voxel instead of the whole window.

use crate::compute::{Cancelled, Control};
use rayon::prelude::*;

pub const LEVELS: usize = 256;

/// Median over the box of `radius` voxels around each voxel, cut at the image's border.
pub fn median(
    levels: &[u8],
    shape: [usize; 3],
    radius: [usize; 3],
    control: &Control,
) -> Result<Vec<u8>, Cancelled> {
    let [nx, ny, _] = shape;
    let mut out = vec![0; levels.len()];
    out.par_chunks_mut(nx)
        .enumerate()
        .try_for_each(|(row, out)| {
            control.check()?;
            let (y, z) = (row % ny, row / ny);
            let span = |at: usize, axis: usize| {
                at.saturating_sub(radius[axis])..(at + radius[axis] + 1).min(shape[axis])
            };
            let rows: Vec<&[u8]> = span(z, 2)
                .flat_map(|z| span(y, 1).map(move |y| nx * (y + ny * z)))
                .map(|start| &levels[start..start + nx])
                .collect();
            let mut window = Window::default();
            let mut covered = 0..0;
            for (x, out) in out.iter_mut().enumerate() {
                let requested = span(x, 0);
                for x in covered.end..requested.end {
                    rows.iter().for_each(|row| window.add(row[x]));
                }
                for x in covered.start..requested.start {
                    rows.iter().for_each(|row| window.remove(row[x]));
                }
                *out = window.median();
                covered = requested;
            }
            control.advance(nx as u64);
            Ok(())
        })?;
    Ok(out)
}

/// A histogram that counts its values below its last median.
struct Window {
    counts: [u32; LEVELS],
    total: u32,
    middle: usize,
    below: u32,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            counts: [0; LEVELS],
            total: 0,
            middle: 0,
            below: 0,
        }
    }
}

impl Window {
    fn add(&mut self, level: u8) {
        self.counts[usize::from(level)] += 1;
        self.total += 1;
        self.below += u32::from(usize::from(level) < self.middle);
    }

    fn remove(&mut self, level: u8) {
        self.counts[usize::from(level)] -= 1;
        self.total -= 1;
        self.below -= u32::from(usize::from(level) < self.middle);
    }

    /// The lower median.
    fn median(&mut self) -> u8 {
        let half = self.total.div_ceil(2);
        while self.below >= half {
            self.middle -= 1;
            self.below -= self.counts[self.middle];
        }
        while self.below + self.counts[self.middle] < half {
            self.below += self.counts[self.middle];
            self.middle += 1;
        }
        self.middle as u8
    }
}

pub fn histogram(levels: &[u8]) -> [u64; LEVELS] {
    let mut counts = [0; LEVELS];
    for &level in levels {
        counts[usize::from(level)] += 1;
    }
    counts
}

/// The level that splits the histogram (values above it from the others) with the largest variance between the two
/// classes; `None` if all values are equal.
pub fn otsu(counts: &[u64; LEVELS]) -> Option<u8> {
    let total: u64 = counts.iter().sum();
    let weighted = |(level, &count): (usize, &u64)| level as f64 * count as f64;
    let sum: f64 = counts.iter().enumerate().map(weighted).sum();
    let (mut low_count, mut low_sum) = (0, 0.0);
    let mut best = None;
    let mut best_variance = 0.0;
    for (level, &count) in counts.iter().enumerate() {
        low_count += count;
        low_sum += level as f64 * count as f64;
        let high_count = total - low_count;
        if low_count == 0 || high_count == 0 {
            continue;
        }
        let (low, high) = (low_count as f64, high_count as f64);
        let difference = low_sum / low - (sum - low_sum) / high;
        let variance = low * high * difference * difference;
        if variance > best_variance {
            best_variance = variance;
            best = Some(level as u8);
        }
    }
    best
}
