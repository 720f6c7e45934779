//! The normalised mutual information of two images.

use super::error::InputError;
use super::level::{BINS, Level};
use crate::data::random::Stream;
use glam::{DAffine3, DVec3};
use rayon::prelude::*;

/// More samples do not improve the result.
const MAX_SAMPLES: f64 = 60_000.0;
/// Samples per work item: items are summed in their order, whichever thread computes them.
const PIECE: usize = 4096;
/// If a smaller share of the samples lies inside both images, their histogram carries no information.
const MIN_OVERLAP: f64 = 0.25;

pub struct Joint<'a> {
    moving: &'a Level,
    /// Points in world mm, with the value of the fixed image there in bins.
    samples: Vec<(DVec3, f32)>,
}

type Histogram = Vec<f64>;

impl<'a> Joint<'a> {
    pub fn new(fixed: &Level, moving: &'a Level, spacing_mm: f64) -> Result<Self, InputError> {
        let edges = [0, 1, 2].map(|a| fixed.world_from_voxel.matrix3.col(a).length());
        let extent = DVec3::from_array([0, 1, 2].map(|a| edges[a] * fixed.shape[a] as f64));
        let volume = extent.element_product();
        let spacing = spacing_mm.max((volume / MAX_SAMPLES).cbrt());
        let counts = (extent / spacing).ceil().max(DVec3::ONE);
        let [nx, ny, nz] = counts.to_array().map(|n| n as usize);
        let step = DVec3::from_array([0, 1, 2].map(|a| fixed.shape[a] as f64 / counts[a]));
        let sample = |i: usize| {
            let cell = DVec3::from_array([i % nx, i / nx % ny, i / (nx * ny)].map(|c| c as f64));
            let mut stream = Stream::new(1, i as u64);
            let within = DVec3::new(stream.uniform(), stream.uniform(), stream.uniform());
            let voxel = (cell + within) * step - 0.5;
            let world = fixed.world_from_voxel.transform_point3(voxel);
            fixed.at(voxel).map(|value| (world, fixed.bin(value)))
        };
        let samples: Vec<_> = (0..nx * ny * nz)
            .into_par_iter()
            .filter_map(sample)
            .collect();
        if samples.len() < 64 {
            return Err(InputError::Small);
        }
        Ok(Self { moving, samples })
    }

    /// The share of the samples that lies inside the moving image.
    pub fn overlap(&self, moved: &DAffine3) -> f64 {
        let voxel_from_world = self.moving.voxel_from_world * moved.inverse();
        let inside = |(world, _): &&(DVec3, f32)| {
            let voxel = voxel_from_world.transform_point3(*world);
            self.moving.at(voxel).is_some()
        };
        self.samples.iter().filter(inside).count() as f64 / self.samples.len() as f64
    }

    /// The measure with points of the moving image transformed by `moved`; 1 if the images hardly overlap.
    pub fn information(&self, moved: &DAffine3) -> f64 {
        let voxel_from_world = self.moving.voxel_from_world * moved.inverse();
        let piece = |samples: &[(DVec3, f32)]| -> Histogram {
            let mut sums = vec![0f64; BINS * BINS];
            for (world, fixed) in samples {
                let Some(value) = self.moving.at(voxel_from_world.transform_point3(*world)) else {
                    continue;
                };
                let moving = self.moving.bin(value);
                let (f, m) = (fixed.floor(), moving.floor());
                let (tf, tm) = (f64::from(fixed - f), f64::from(moving - m));
                let (f, m) = (f as usize, m as usize);
                let (next_f, next_m) = ((f + 1).min(BINS - 1), (m + 1).min(BINS - 1));
                sums[f * BINS + m] += (1.0 - tf) * (1.0 - tm);
                sums[f * BINS + next_m] += (1.0 - tf) * tm;
                sums[next_f * BINS + m] += tf * (1.0 - tm);
                sums[next_f * BINS + next_m] += tf * tm;
            }
            sums
        };
        let pieces: Vec<Histogram> = self.samples.par_chunks(PIECE).map(piece).collect();
        let mut joint = vec![0f64; BINS * BINS];
        for piece in &pieces {
            joint.iter_mut().zip(piece).for_each(|(sum, n)| *sum += n);
        }
        let all: f64 = joint.iter().sum();
        if all < MIN_OVERLAP * self.samples.len() as f64 {
            return 1.0;
        }
        let entropy = |counts: &mut dyn Iterator<Item = f64>| -> f64 {
            let shares = counts.map(|n| n / all).filter(|p| *p > 0.0);
            -shares.map(|p| p * p.ln()).sum::<f64>()
        };
        let fixed = entropy(&mut joint.chunks(BINS).map(|row| row.iter().sum()));
        let moving = entropy(&mut (0..BINS).map(|m| joint[m..].iter().step_by(BINS).sum()));
        let both = entropy(&mut joint.iter().copied());
        if both > 0.0 {
            (fixed + moving) / both
        } else {
            1.0
        }
    }
}
