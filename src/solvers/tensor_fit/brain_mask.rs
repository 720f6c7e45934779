//! Brain mask: median filter and Otsu threshold (Otsu 1979, IEEE Trans SMC 9:62), as introduced
//! for diffusion scans by DIPY's median_otsu, then the largest component without its holes.
//!
//! Everything after the mean runs on 256 grey levels, so that the median is a walk through
//! a histogram that slides along each row (Huang, Yang and Tang 1979): two faces of the window per
//! voxel instead of the whole window.

use super::Error;
use crate::compute::{Cancelled, Control};
use crate::data::gradients::Weighting;
use crate::data::{Gradients, Grid, Mask, Volume};
use rayon::prelude::*;

/// Reach of the median window, mm: closes sulci and drops the thin shell of skin and fat.
const RADIUS_MM: f64 = 4.0;
const PASSES: usize = 2;
const LEVELS: usize = 256;

pub(super) fn find(dwi: &Volume, gradients: &Gradients, control: &Control) -> Result<Mask, Error> {
    let grid = &dwi.grid;
    let n = grid.voxel_count();
    control.begin("Finding the brain", (n * (PASSES + 2)) as u64);
    let b0 = |v: &usize| gradients.weighting(*v) == Weighting::B0;
    let mut frames: Vec<usize> = (0..dwi.frames).filter(b0).collect();
    if frames.is_empty() {
        frames = (0..dwi.frames).collect();
    }
    let mut levels = levels(dwi, &frames, control)?;
    let radius = (grid.spacing().recip() * RADIUS_MM).round();
    let radius = radius.to_array().map(|r| r.clamp(1.0, 4.0) as usize);
    for _ in 0..PASSES {
        levels = median(&levels, grid.shape, radius, control)?;
    }
    let Some(threshold) = otsu(&histogram(&levels)) else {
        return Err(Error::Input(
            "The scan has the same mean signal in every voxel, so no brain stands out; give a mask"
                .into(),
        ));
    };
    let bright: Vec<u8> = levels.iter().map(|&l| u8::from(l > threshold)).collect();
    control.check()?;
    let brain = largest_component(&bright, grid);
    control.check()?;
    let filled = fill_holes(&brain, grid);
    control.advance(n as u64);
    Ok(Mask::new(grid.clone(), filled))
}

/// Mean of the frames as grey levels: 0 is no signal, the top one the brightest 0.1 %. Negative
/// and non-finite samples count as no signal.
fn levels(dwi: &Volume, frames: &[usize], control: &Control) -> Result<Vec<u8>, Cancelled> {
    const PIECE: usize = 16_384;
    let n = dwi.grid.voxel_count();
    let mut mean = vec![0.0f32; n];
    mean.par_chunks_mut(PIECE)
        .enumerate()
        .try_for_each(|(piece, mean)| {
            control.check()?;
            for &frame in frames {
                let values = &dwi.frame(frame)[piece * PIECE..][..mean.len()];
                for (sum, &v) in mean.iter_mut().zip(values) {
                    *sum += if v > 0.0 && v.is_finite() { v } else { 0.0 };
                }
            }
            control.advance(mean.len() as u64);
            Ok(())
        })?;
    let volume = Volume::scalar(dwi.grid.clone(), mean);
    let (_, top) = volume.percentiles(0, 0.0, 0.999);
    let scale = (LEVELS - 1) as f32 / top.max(f32::MIN_POSITIVE);
    // `as` saturates at both ends.
    Ok(volume.values.iter().map(|v| (v * scale) as u8).collect())
}

/// Median of the box of `radius` voxels around each voxel, cut at the border.
fn median(
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
                let wanted = span(x, 0);
                for x in covered.end..wanted.end {
                    rows.iter().for_each(|row| window.add(row[x]));
                }
                for x in covered.start..wanted.start {
                    rows.iter().for_each(|row| window.remove(row[x]));
                }
                *out = window.median();
                covered = wanted;
            }
            control.advance(nx as u64);
            Ok(())
        })?;
    Ok(out)
}

/// A histogram that knows how many of its values lie below its last median.
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

fn histogram(levels: &[u8]) -> [u64; LEVELS] {
    let mut counts = [0; LEVELS];
    for &level in levels {
        counts[usize::from(level)] += 1;
    }
    counts
}

/// The level that parts the histogram (values above it from the others) with the largest variance
/// between the two; `None` where all values are equal.
fn otsu(counts: &[u64; LEVELS]) -> Option<u8> {
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
        let apart = low_sum / low - (sum - low_sum) / high;
        let variance = low * high * apart * apart;
        if variance > best_variance {
            best_variance = variance;
            best = Some(level as u8);
        }
    }
    best
}

/// Visits all voxels that `open` holds and that face-neighbours connect to those on the stack;
/// closes them in `open`.
fn flood(open: &mut [bool], stack: &mut Vec<usize>, grid: &Grid, mut visit: impl FnMut(usize)) {
    let strides = [1, grid.shape[0], grid.shape[0] * grid.shape[1]];
    while let Some(index) = stack.pop() {
        visit(index);
        let voxel = grid.voxel(index);
        for axis in 0..3 {
            let before = (voxel[axis] > 0).then(|| index - strides[axis]);
            let after = (voxel[axis] + 1 < grid.shape[axis]).then(|| index + strides[axis]);
            for next in [before, after].into_iter().flatten() {
                if open[next] {
                    open[next] = false;
                    stack.push(next);
                }
            }
        }
    }
}

/// The largest set of voxels connected by faces; of equal ones the first in file order.
fn largest_component(inside: &[u8], grid: &Grid) -> Vec<u8> {
    let mut open: Vec<bool> = inside.iter().map(|&v| v != 0).collect();
    let mut largest = Vec::new();
    let mut stack = Vec::new();
    for start in 0..open.len() {
        if open[start] {
            let mut component = Vec::new();
            open[start] = false;
            stack.push(start);
            flood(&mut open, &mut stack, grid, |index| component.push(index));
            if component.len() > largest.len() {
                largest = component;
            }
        }
    }
    let mut out = vec![0; inside.len()];
    largest.into_iter().for_each(|index| out[index] = 1);
    out
}

/// Adds what the set closes off from the border of the grid.
fn fill_holes(inside: &[u8], grid: &Grid) -> Vec<u8> {
    let mut open: Vec<bool> = inside.iter().map(|&v| v == 0).collect();
    let on_border = |index: &usize| {
        let voxel = grid.voxel(*index);
        (0..3).any(|a| voxel[a] == 0 || voxel[a] + 1 == grid.shape[a])
    };
    let mut stack: Vec<usize> = (0..open.len())
        .filter(|i| open[*i] && on_border(i))
        .collect();
    stack.iter().for_each(|&index| open[index] = false);
    let mut out = vec![1; inside.len()];
    flood(&mut open, &mut stack, grid, |index| out[index] = 0);
    out
}
