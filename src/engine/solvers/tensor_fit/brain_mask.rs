//! Brain mask: median filter and Otsu threshold (Otsu 1979, IEEE Trans SMC 9:62), as introduced for diffusion scans
//! by DIPY's median_otsu, applied to the mean b = 0 image and the mean diffusion-weighted image together, after
//! removal of the coil's shading.
//!
//! A single image misleads: fluid and eyes are brighter than the brain at b = 0, fluid is dark in the weighted
//! volumes, and tissue with a short T2 is dark in both. Each image is divided by the brain's brightness and clipped
//! there, so that nothing bright moves the threshold; in their mean, brain is near 1, fluid near 0.5, and skin, skull
//! and air are far lower. Otsu's threshold finds the core of the brain, from which shading and brightness are
//! estimated.
//!
//! The mask is the largest component that survives an opening, with the holes it encloses. Its agreement with the
//! mask at a higher threshold measures how reliable it is.

mod median;
mod shading;
mod shape;

use super::Error;
use super::error::InputError;
use crate::compute::Control;
use crate::data::gradients::Weighting;
use crate::data::statistics::upper_median;
use crate::data::{Gradients, Grid, Mask, Volume};
use crate::solvers::region::{self, Change};
use glam::DVec3;
use median::{LEVELS, histogram, median, otsu};
use rayon::prelude::*;
use shading::Shading;
use std::sync::Arc;

/// Radius of the median window, mm: closes sulci and removes the thin shell of skin and fat.
const RADIUS_MM: f64 = 4.0;
const PASSES: usize = 2;
/// The threshold as a share of the brain's brightness, below that of fluid, and the higher threshold at which the
/// mask is compared with itself.
const THRESHOLD: f64 = 0.32;
const HIGHER: f64 = 0.5;
/// The opening separates brain from scalp, eyes and muscle: this radius for a head; for smaller objects, a share of
/// the edge of a cube of the same volume.
const OPENING_MM: f64 = 6.0;
const OPENING_SHARE: f64 = 0.05;
/// The opened set may grow back by this multiple of the opening.
const OPENING_BACK: f64 = 1.3;
/// Passes that fill enclosed voxels; the second includes those that the first added.
const ENCLOSING: usize = 2;
/// Smallest voxel size on which the opening and the shading are computed, if that leaves enough voxels.
const COARSE_MM: f64 = 4.0;
const COARSE_VOXELS: usize = 24;
/// Largest number of voxels to which the shading is fitted; it is smooth.
const SAMPLES: usize = 8192;
/// Largest number of weighted volumes, evenly spaced, that are averaged: enough for a mask.
const WEIGHTED: usize = 32;
/// Alternations between finding the core and fitting the shading.
const ROUNDS: usize = 2;
/// This share of the voxels is assumed to be air, whose mean is that of noise alone and is subtracted.
const AIR: f64 = 0.2;

/// A brain mask found from a scan, and how reliable it is.
#[derive(Clone, Debug)]
pub struct BrainMask {
    /// Voxels of the brain.
    pub mask: Mask,
    /// Reliability of the mask.
    pub report: MaskReport,
}

/// The reliability of a mask found from a scan.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MaskReport {
    /// Volume of the mask, ml.
    pub volume_ml: f64,
    /// Number of filled holes: face-connected groups of voxels below the threshold within the brain.
    pub holes: usize,
    /// Volume of all filled holes, ml.
    pub holes_ml: f64,
    /// Volume of the largest filled hole, ml.
    pub largest_hole_ml: f64,
    /// Dice coefficient of the mask and the one found at the higher threshold.
    pub agreement: f64,
}

impl MaskReport {
    /// Correct masks have an agreement of 0.96 to 0.99. A mask that extends into the face, or lacks part of the
    /// brain, changes with the threshold.
    pub const MIN_AGREEMENT: f64 = 0.93;
    /// The fluid of the ventricles is 1 to 3 % of a brain; dark nuclei are about as much.
    pub const LARGEST_HOLE: f64 = 0.05;

    /// Whether the mask at a higher threshold differs more than those of correct masks do.
    pub fn changes_with_threshold(&self) -> bool {
        self.agreement < Self::MIN_AGREEMENT
    }

    /// Whether the largest hole exceeds [`Self::LARGEST_HOLE`] of the mask's volume.
    pub fn has_large_hole(&self) -> bool {
        self.largest_hole_ml > Self::LARGEST_HOLE * self.volume_ml
    }

    /// Whether the user should check the mask.
    pub fn doubtful(&self) -> bool {
        self.changes_with_threshold() || self.has_large_hole()
    }
}

pub(super) fn find(
    dwi: &Volume,
    gradients: &Gradients,
    control: &Control,
) -> Result<BrainMask, Error> {
    let grid = &dwi.grid;
    let n = grid.voxel_count();
    let is_b0 = |v: &usize| gradients.weighting(*v) == Weighting::B0;
    let (b0, mut weighted): (Vec<usize>, Vec<usize>) = (0..dwi.frames).partition(is_b0);
    let step = weighted.len().div_ceil(WEIGHTED).max(1);
    weighted = weighted.into_iter().step_by(step).collect();
    let sets: Vec<Vec<usize>> = [b0, weighted]
        .into_iter()
        .filter(|s| !s.is_empty())
        .collect();
    control.begin(
        "Finding the brain",
        (n * (sets.len() + 1 + PASSES + 2)) as u64,
    );
    let images = sets
        .iter()
        .map(|frames| mean_signal(dwi, frames, control))
        .collect::<Result<Vec<_>, _>>()?;
    if !dwi.values.iter().any(|v| v.is_finite() && *v > 0.0) {
        return Err(InputError::NoSignal.into());
    }
    let coarse = Coarse::new(grid);
    let brightness = Brightness::find(&images, grid, &coarse, control)?;
    let mut levels = brightness.grey_levels(&images, grid, &coarse, control)?;
    let radius = radius(grid);
    for _ in 0..PASSES {
        levels = median(&levels, grid.shape, radius, control)?;
    }
    let (piece, agreement) = rayon::join(
        || brain(&levels, THRESHOLD, grid, &coarse, control),
        || agreement(&levels, grid, &coarse, control),
    );
    let (piece, agreement) = (piece?, agreement?);
    control.advance(2 * n as u64);
    if piece.count() == 0 {
        return Err(InputError::NoContrast.into());
    }
    let (_, holes) = shape::largest_piece(&piece.filled(), grid);
    let ml = grid.world_from_voxel.matrix3.determinant().abs() / 1000.0;
    let inside: Vec<u8> = piece.inside.iter().map(|v| u8::from(*v)).collect();
    let report = MaskReport {
        volume_ml: piece.count() as f64 * ml,
        holes: holes.len(),
        holes_ml: holes.iter().sum::<usize>() as f64 * ml,
        largest_hole_ml: holes.iter().max().map_or(0.0, |n| *n as f64 * ml),
        agreement,
    };
    Ok(BrainMask {
        mask: Mask::new(grid.clone(), inside),
        report,
    })
}

/// Radius of the median window in voxels.
fn radius(grid: &Grid) -> [usize; 3] {
    let radius = (grid.spacing().recip() * RADIUS_MM).round();
    radius.to_array().map(|r| r.clamp(1.0, 4.0) as usize)
}

/// Mean of the frames with the mean of noise alone removed: M² exceeds the squared signal by its square. Negative and
/// non-finite samples count as no signal.
fn mean_signal(dwi: &Volume, frames: &[usize], control: &Control) -> Result<Vec<f32>, Error> {
    const PIECE: usize = 16_384;
    let n = dwi.grid.voxel_count();
    let mut mean = vec![0.0f32; n];
    let share = 1.0 / frames.len() as f32;
    mean.par_chunks_mut(PIECE)
        .enumerate()
        .try_for_each(|(piece, mean)| {
            control.check()?;
            for &frame in frames {
                let values = &dwi.frame(frame)[piece * PIECE..][..mean.len()];
                for (sum, &v) in mean.iter_mut().zip(values) {
                    *sum += if v > 0.0 && v.is_finite() {
                        v * share
                    } else {
                        0.0
                    };
                }
            }
            control.advance(mean.len() as u64);
            Ok::<(), Error>(())
        })?;
    let zeros = mean.iter().filter(|v| **v == 0.0).count();
    // Percentiles exclude zeros: scans whose air was set to 0 have no noise there.
    let share = (AIR * n as f64 - zeros as f64) / (n - zeros).max(1) as f64;
    if share > 0.0 {
        let volume = Volume::scalar(dwi.grid.clone(), mean.as_slice());
        let (low, _) = volume.percentiles(0, share, 1.0);
        let air = air_mean(&mean, low);
        for v in &mut mean {
            *v = (*v * *v - air * air).max(0.0).sqrt();
        }
    }
    Ok(mean)
}

/// The mean of air, from the value below which the assumed share of air lies: the mean of all values up to slightly
/// above it. In the mean of several volumes the noise of air is narrow and all of it is included; in a single volume
/// it is wide, and the value itself is the better estimate.
fn air_mean(mean: &[f32], low: f32) -> f32 {
    const LITTLE: f32 = 1.5;
    let air = mean.iter().filter(|v| **v > 0.0 && **v < LITTLE * low);
    let (sum, count) = air.fold((0.0f64, 0u64), |(sum, n), v| (sum + f64::from(*v), n + 1));
    low.max((sum / count.max(1) as f64) as f32)
}

/// A grid of blocks of the scan's voxels.
struct Coarse {
    grid: Arc<Grid>,
    /// Voxels of the scan per block along each axis; the last block may have fewer.
    factor: [usize; 3],
}

impl Coarse {
    fn new(fine: &Arc<Grid>) -> Self {
        let blocks = (fine.spacing().recip() * COARSE_MM).floor().to_array();
        let factor = [0, 1, 2].map(|axis| {
            let max_factor = (fine.shape[axis] / COARSE_VOXELS).max(1);
            (blocks[axis].max(1.0) as usize).min(max_factor)
        });
        let shape = [0, 1, 2].map(|axis| fine.shape[axis].div_ceil(factor[axis]));
        let spacing = fine.spacing() * DVec3::from_array(factor.map(|f| f as f64));
        // Only distances matter, so sheared axes are treated as orthogonal.
        let grid = Grid::axis_aligned(shape, spacing, DVec3::ZERO).map(Arc::new);
        match grid {
            Some(grid) => Self { grid, factor },
            None => Self {
                grid: fine.clone(),
                factor: [1; 3],
            },
        }
    }

    /// Visits every voxel of the scan with its block.
    fn for_each_voxel(&self, fine: &Grid, mut visit: impl FnMut(usize, usize)) {
        let [fx, fy, fz] = self.factor;
        let mut i = 0;
        for z in 0..fine.shape[2] {
            for y in 0..fine.shape[1] {
                let row = self.grid.index([0, y / fy, z / fz]);
                let (mut block, mut within) = (row, 0);
                for _ in 0..fine.shape[0] {
                    if within == fx {
                        (block, within) = (block + 1, 0);
                    }
                    visit(i, block);
                    (i, within) = (i + 1, within + 1);
                }
            }
        }
    }

    /// Means over the blocks.
    fn means(&self, fine: &Grid, value: impl Fn(usize) -> f32) -> Vec<f32> {
        let mut sums = vec![(0.0f32, 0u32); self.grid.voxel_count()];
        self.for_each_voxel(fine, |i, block| {
            let (sum, count) = &mut sums[block];
            *sum += value(i);
            *count += 1;
        });
        let mean = |(sum, count): (f32, u32)| sum / count.max(1) as f32;
        sums.into_iter().map(mean).collect()
    }
}

/// Brightness of brain in each image, and its spatial variation.
struct Brightness {
    shading: Shading,
    brain: Vec<f64>,
}

impl Brightness {
    fn find(
        images: &[Vec<f32>],
        fine: &Grid,
        coarse: &Coarse,
        control: &Control,
    ) -> Result<Self, Error> {
        let grid = &coarse.grid;
        let images: Vec<Vec<f32>> = images
            .iter()
            .map(|image| coarse.means(fine, |i| image[i]))
            .collect();
        // Fluid is bright in one image and dark in the other: their product suppresses it.
        let power = 1.0 / images.len() as f32;
        let joint: Vec<f32> = (0..grid.voxel_count())
            .map(|i| {
                images
                    .iter()
                    .map(|image| image[i])
                    .product::<f32>()
                    .powf(power)
            })
            .collect();
        let place = |i: usize| DVec3::from_array(grid.voxel(i).map(|v| v as f64 + 0.5));
        let mut shading = Shading::none(grid.shape);
        let mut core = Vec::new();
        for round in 0..=ROUNDS {
            control.check()?;
            let even = joint.iter().enumerate();
            let even = even.map(|(i, v)| v / shading.at(place(i)) as f32);
            let levels = median(
                &to_grey_levels(grid, even.collect()),
                grid.shape,
                radius(grid),
                &control.silent(),
            )?;
            let threshold = otsu(&histogram(&levels)).ok_or(InputError::NoContrast)?;
            let bright: Vec<bool> = levels.iter().map(|l| *l > threshold).collect();
            let (kept, reach) = largest_opened(&bright, grid, control)?;
            let near = grown_by(&kept, grid, reach, control)?;
            core = (0..bright.len())
                .filter(|i| bright[*i] && near[*i])
                .collect();
            if round < ROUNDS {
                let step = core.len().div_ceil(SAMPLES).max(1);
                let samples = core.iter().step_by(step).map(|&i| (place(i), joint[i]));
                shading = Shading::fit(grid.shape, &samples.collect::<Vec<_>>());
            }
        }
        let brain = images.iter().map(|image| {
            let mut values: Vec<f64> = core
                .iter()
                .map(|&i| f64::from(image[i]) / shading.at(place(i)))
                .collect();
            upper_median(&mut values).unwrap_or(0.0)
        });
        let brain: Vec<f64> = brain.collect();
        match brain.iter().any(|b| *b > 0.0) {
            true => Ok(Self { shading, brain }),
            false => Err(InputError::NoContrast.into()),
        }
    }

    /// Mean over the images as grey levels: 0 means no signal, the highest level one brain brightness.
    fn grey_levels(
        &self,
        images: &[Vec<f32>],
        fine: &Grid,
        coarse: &Coarse,
        control: &Control,
    ) -> Result<Vec<u8>, Error> {
        // An image whose noise exceeds the brain's signal carries no information.
        let usable = images.iter().zip(&self.brain).filter(|(_, b)| **b > 0.0);
        let usable: Vec<(&Vec<f32>, f64)> = usable.map(|(image, b)| (image, *b)).collect();
        let top = (LEVELS - 1) as f64 / usable.len() as f64;
        let [nx, ny, _] = fine.shape;
        let blocks = DVec3::from_array(coarse.factor.map(|f| f as f64));
        let mut levels = vec![0u8; fine.voxel_count()];
        levels
            .par_chunks_mut(nx)
            .enumerate()
            .try_for_each(|(row, levels)| {
                control.check()?;
                for (x, level) in levels.iter_mut().enumerate() {
                    let voxel = [x, row % ny, row / ny].map(|v| v as f64 + 0.5);
                    let shading = self.shading.at(DVec3::from_array(voxel) / blocks);
                    let i = row * nx + x;
                    let brightness = |(image, brain): &(&Vec<f32>, f64)| {
                        (f64::from(image[i]) / (shading * brain)).min(1.0)
                    };
                    *level = (top * usable.iter().map(brightness).sum::<f64>()) as u8;
                }
                control.advance(levels.len() as u64);
                Ok::<(), Error>(())
            })?;
        Ok(levels)
    }
}

/// Grey levels of an image: the highest one represents the brightest 0.1 %.
fn to_grey_levels(grid: &Arc<Grid>, values: Vec<f32>) -> Vec<u8> {
    let volume = Volume::scalar(grid.clone(), values);
    let (_, top) = volume.percentiles(0, 0.0, 0.999);
    let scale = (LEVELS - 1) as f32 / top.max(f32::MIN_POSITIVE);
    // `as` saturates at both ends.
    volume.values.iter().map(|v| (v * scale) as u8).collect()
}

/// The largest component of a set after erosion of its border, and the depth of the erosion, mm. A set too thin for
/// it is unchanged.
fn largest_opened(
    inside: &[bool],
    grid: &Arc<Grid>,
    control: &Control,
) -> Result<(Vec<bool>, f64), Error> {
    let count = inside.iter().filter(|v| **v).count();
    let mm3 = count as f64 * grid.spacing().element_product();
    let reach = OPENING_MM.min(OPENING_SHARE * mm3.cbrt());
    let left = grown_by(inside, grid, -reach, control)?;
    let left = if left.contains(&true) { &left } else { inside };
    Ok((shape::largest_piece(left, grid).0, reach))
}

/// A set grown or shrunk by a distance.
fn grown_by(
    inside: &[bool],
    grid: &Arc<Grid>,
    grow_mm: f64,
    control: &Control,
) -> Result<Vec<bool>, Error> {
    let inside: Vec<u8> = inside.iter().map(|v| u8::from(*v)).collect();
    let change = Change {
        grow_mm,
        ..Change::defaults()
    };
    let mask = region::change(&Mask::new(grid.clone(), inside), &change, &control.silent())?;
    Ok(mask.inside.iter().map(|v| *v != 0).collect())
}

/// The brain at a threshold, and all voxels above that threshold.
struct Piece {
    inside: Vec<bool>,
    bright: Vec<bool>,
}

impl Piece {
    fn count(&self) -> usize {
        self.inside.iter().filter(|v| **v).count()
    }

    fn filled(&self) -> Vec<bool> {
        let both = self.inside.iter().zip(&self.bright);
        both.map(|(inside, bright)| *inside && !bright).collect()
    }
}

/// Dice coefficient of the masks at both thresholds, on the coarse grid.
fn agreement(levels: &[u8], fine: &Grid, coarse: &Coarse, control: &Control) -> Result<f64, Error> {
    let means = coarse.means(fine, |i| f32::from(levels[i]));
    let levels: Vec<u8> = means.iter().map(|m| m.round() as u8).collect();
    let grid = &coarse.grid;
    let itself = Coarse {
        grid: grid.clone(),
        factor: [1; 3],
    };
    let at = |share: f64| brain(&levels, share, grid, &itself, control);
    let (low, high) = rayon::join(|| at(THRESHOLD), || at(HIGHER));
    let (low, high) = (low?, high?);
    let common = low.inside.iter().zip(&high.inside);
    let common = common.filter(|(a, b)| **a && **b).count();
    Ok(2.0 * common as f64 / (low.count() + high.count()).max(1) as f64)
}

fn brain(
    levels: &[u8],
    share: f64,
    grid: &Grid,
    coarse: &Coarse,
    control: &Control,
) -> Result<Piece, Error> {
    let min_level = share * (LEVELS - 1) as f64;
    let is_bright = |i: usize| f64::from(levels[i]) > min_level;
    let shares = coarse.means(grid, |i| f32::from(u8::from(is_bright(i))));
    let mostly: Vec<bool> = shares.iter().map(|s| *s >= 0.5).collect();
    let (kept, reach) = largest_opened(&mostly, &coarse.grid, control)?;
    // Slightly farther than the opening: gyri are thinner than it.
    let near = grown_by(&kept, &coarse.grid, OPENING_BACK * reach, control)?;
    let mut bright = vec![false; levels.len()];
    coarse.for_each_voxel(grid, |i, block| bright[i] = is_bright(i) && near[block]);
    control.check()?;
    let (bright, _) = shape::largest_piece(&bright, grid);
    let mut inside = shape::fill_holes(&bright, grid);
    for _ in 0..ENCLOSING {
        if !shape::fill_enclosed(&mut inside, grid, control)? {
            break;
        }
    }
    let (inside, _) = shape::largest_piece(&inside, grid);
    let inside = shape::fill_holes(&inside, grid);
    Ok(Piece { inside, bright })
}
