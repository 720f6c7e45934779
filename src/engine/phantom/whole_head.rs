//! Whole heads for segmentation: scalp, skull and air around the brain, T1 or T2 weighted, with noise and bias as
//! specified by BrainWeb.

use super::head::Head;
use super::images::t1_intensity;
use super::scan::Row;
use super::tissue::Tissue;
use super::waves::Waves;
use crate::compute::{Cancelled, Control};
use crate::data::random::Random;
use crate::data::{Grid, Mask, Volume};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

/// Contrast of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weighting {
    /// White matter is bright, fluid dark.
    T1,
    /// Fluid is bright, white matter dark.
    T2,
}

/// The brightest tissue of the brain has the intensity 1000.
fn t2_intensity(tissue: Tissue) -> f32 {
    match tissue {
        Tissue::Air => 0.0,
        Tissue::Scalp => 420.0,
        Tissue::Muscle => 150.0,
        Tissue::Skull => 60.0,
        Tissue::Marrow => 330.0,
        Tissue::Eye => 950.0,
        Tissue::Csf | Tissue::Ventricle => 1000.0,
        Tissue::Grey | Tissue::CerebellarGrey => 480.0,
        Tissue::DeepGrey => 400.0,
        Tissue::White | Tissue::CerebellarWhite | Tissue::BrainStem => 340.0,
    }
}

impl Weighting {
    /// Brightness of a tissue without noise and shading: 1000 for white matter in T1, for fluid in T2.
    pub fn intensity(self, tissue: Tissue) -> f32 {
        match self {
            Self::T1 => t1_intensity(tissue),
            Self::T2 => t2_intensity(tissue),
        }
    }
}

/// Parameters of an image of a whole head.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Imaging {
    /// Contrast of the image.
    pub weighting: Weighting,
    /// Ratio of σ of the noise to the brightest tissue of the brain.
    pub noise: f64,
    /// Range of the brightness of a tissue, as a share of its mean: 0.4 means from 0.8 to 1.2.
    pub bias: f64,
    /// Seed of noise and shading.
    pub seed: u64,
}

/// A head on a grid, from which images are made.
#[derive(Clone, Debug)]
pub struct WholeHead {
    /// Grid of the images.
    pub grid: Arc<Grid>,
    /// Noise-free values for both weightings.
    values: [Vec<f32>; 2],
    /// Voxels that are at least half ventricle.
    pub ventricles: Mask,
}

impl WholeHead {
    /// Mixes the tissues of each voxel from several samples; the slow part of an image.
    pub fn new(head: &Head, grid: &Arc<Grid>, control: &Control) -> Result<Self, Cancelled> {
        let [nx, ny, nz] = grid.shape;
        let (slice, n) = (nx * ny, grid.voxel_count());
        let width = grid.spacing().element_sum() / 3.0;
        control.begin("Drawing the image", nz as u64);
        let (mut t1, mut t2, mut inside) = (vec![0f32; n], vec![0f32; n], vec![0u8; n]);
        t1.par_chunks_mut(slice)
            .zip(t2.par_chunks_mut(slice))
            .zip(inside.par_chunks_mut(slice))
            .enumerate()
            .try_for_each(|(z, ((t1, t2), inside))| {
                let mut row = Row::default();
                for y in 0..ny {
                    control.check()?;
                    let at = |x: usize| grid.world(DVec3::new(x as f64, y as f64, z as f64));
                    row.fill(nx, grid.spacing().x, |x| head.sample(at(x), width));
                    for (x, shares) in row.fractions.iter().enumerate() {
                        let i = y * nx + x;
                        let mixed = |w: Weighting| -> f32 {
                            let parts = Tissue::ALL.iter();
                            parts.map(|t| shares.fraction(*t) * w.intensity(*t)).sum()
                        };
                        (t1[i], t2[i]) = (mixed(Weighting::T1), mixed(Weighting::T2));
                        inside[i] = u8::from(shares.fraction(Tissue::Ventricle) >= 0.5);
                    }
                }
                control.advance(1);
                Ok(())
            })?;
        Ok(Self {
            grid: grid.clone(),
            values: [t1, t2],
            ventricles: Mask::new(grid.clone(), inside),
        })
    }

    /// Image with this contrast, noise and shading.
    pub fn image(&self, imaging: &Imaging) -> Volume {
        let [nx, ny, _] = self.grid.shape;
        let random = Random::new(imaging.seed);
        let field = Waves::<8>::new(random.stream(5), 260.0);
        let mut values = self.values[imaging.weighting as usize].clone();
        values
            .par_chunks_mut(nx * ny)
            .enumerate()
            .for_each(|(z, part)| {
                for (i, value) in part.iter_mut().enumerate() {
                    let at = DVec3::new((i % nx) as f64, (i / nx) as f64, z as f64);
                    // Waves rarely exceed two standard deviations.
                    let wave = (0.5 * field.value(self.grid.world(at))).clamp(-1.0, 1.0);
                    *value *= (1.0 + 0.5 * imaging.bias * wave) as f32;
                }
                let first = (z * nx * ny) as u64;
                random
                    .stream(6)
                    .add_rician((1000.0 * imaging.noise) as f32, first, part);
            });
        Volume::scalar(self.grid.clone(), values)
    }

    /// The ventricle around a point, mm: the voxels connected to it on its side of the septum, which is thinner than
    /// a voxel.
    pub fn ventricle(&self, at: DVec3) -> Mask {
        let grid = &self.grid;
        let adjacent = |voxel: [usize; 3]| {
            let world = grid.world(DVec3::from_array(voxel.map(|v| v as f64)));
            world.x * at.x > 0.0
        };
        let mut inside = vec![0u8; grid.voxel_count()];
        let mut open: Vec<[usize; 3]> = grid.nearest(at).into_iter().collect();
        open.retain(|v| self.ventricles.inside[grid.index(*v)] != 0);
        for voxel in &open {
            inside[grid.index(*voxel)] = 1;
        }
        while let Some(voxel) = open.pop() {
            for a in 0..3 {
                for next in [voxel[a].wrapping_sub(1), voxel[a] + 1] {
                    let mut near = voxel;
                    near[a] = next;
                    if next >= grid.shape[a] {
                        continue;
                    }
                    let i = grid.index(near);
                    if self.ventricles.inside[i] != 0 && inside[i] == 0 && adjacent(near) {
                        inside[i] = 1;
                        open.push(near);
                    }
                }
            }
        }
        Mask::new(grid.clone(), inside)
    }
}
