//! Masks as smooth fields, so that their surfaces do not look like bricks.

use crate::data::Mask;
use glam::{DAffine3, DMat3, DVec3};

/// A scalar field on a grid of its own, 0 far outside and 1 deep inside; the surface is at 0.5.
pub(super) struct Smooth {
    pub shape: [usize; 3],
    /// x fastest.
    pub values: Vec<f32>,
    /// Texel centres have integer texel coordinates.
    pub texel_from_world: DAffine3,
    /// Edge lengths of one texel, mm.
    pub spacing: DVec3,
}

impl Smooth {
    /// Crops the mask to its voxels, averages it to texels of about `texel_mm` (never more than `max_texels` per side)
    /// and blurs it with a Gaussian of standard deviation `sigma_mm`.
    pub fn new(mask: &Mask, texel_mm: f64, sigma_mm: f64, max_texels: usize) -> Self {
        let grid = &mask.grid;
        let Some((low, high)) = mask.block_inside() else {
            return Self {
                shape: [1; 3],
                values: vec![0.0],
                texel_from_world: grid.voxel_from_world,
                spacing: grid.spacing(),
            };
        };
        let voxel_mm = grid.spacing();
        let factor: [usize; 3] = std::array::from_fn(|a| {
            let requested = (texel_mm / voxel_mm[a]).floor() as usize;
            let needed = (high[a] - low[a] + 1).div_ceil(max_texels);
            requested.max(needed).max(1)
        });
        let spacing = DVec3::from_array(std::array::from_fn(|a| voxel_mm[a] * factor[a] as f64));
        let sigma = (DVec3::splat(sigma_mm) / spacing).to_array();
        // Three standard deviations contain the blur; one more texel keeps the border at 0.
        let pad = sigma.map(|s| (3.0 * s).ceil() as usize + 1);
        let shape: [usize; 3] =
            std::array::from_fn(|a| (high[a] - low[a] + 1).div_ceil(factor[a]) + 2 * pad[a]);

        let mut values = vec![0.0f32; shape.iter().product()];
        let weight = 1.0 / factor.iter().product::<usize>() as f32;
        for z in low[2]..=high[2] {
            let tz = (z - low[2]) / factor[2] + pad[2];
            for y in low[1]..=high[1] {
                let ty = (y - low[1]) / factor[1] + pad[1];
                let row = grid.index([0, y, z]);
                let out = shape[0] * (ty + shape[1] * tz) + pad[0];
                for x in low[0]..=high[0] {
                    if mask.inside[row + x] != 0 {
                        values[out + (x - low[0]) / factor[0]] += weight;
                    }
                }
            }
        }
        for axis in 0..3 {
            blur(&mut values, shape, axis, sigma[axis]);
        }

        // Texel (t - pad) covers the voxels low + factor * t .. + factor.
        let texel_from_voxel = DAffine3::from_mat3_translation(
            DMat3::from_diagonal(DVec3::from_array(factor.map(|f| 1.0 / f as f64))),
            DVec3::from_array(std::array::from_fn(|a| {
                let middle = low[a] as f64 + (factor[a] as f64 - 1.0) * 0.5;
                pad[a] as f64 - middle / factor[a] as f64
            })),
        );
        Self {
            shape,
            values,
            texel_from_world: texel_from_voxel * grid.voxel_from_world,
            spacing,
        }
    }

    /// Like [`Smooth::new`] with a blur just strong enough to turn voxel stairs into slopes, for a mask none of whose
    /// parts may vanish: with the blur alone, parts one voxel thick never reach 0.5.
    pub fn of_region(mask: &Mask, max_texels: usize) -> Self {
        let sigma_mm = mask.grid.spacing().max_element() * 0.8;
        let sharp = Self::new(mask, 0.0, 0.0, max_texels);
        let mut smooth = Self::new(mask, 0.0, sigma_mm, max_texels);
        smooth.keep_thin(&sharp);
        smooth
    }

    /// Like [`Smooth::of_region`], with narrow gaps closed: a brain mask without cerebrospinal fluid leaves out the fissure
    /// between the hemispheres, and a slice there would consist of a few islands.
    pub fn closed(mask: &Mask, max_texels: usize) -> Self {
        /// Gaps up to about this width are closed, mm.
        const SIGMA_MM: f64 = 6.0;
        /// Values above this become the largest byte anyway.
        const FULL: f32 = 254.5 / 255.0;
        /// Coarser texels suffice for so smooth a field, and blurring them is fast.
        const TEXEL_MM: f64 = 2.0;
        const MAX_TEXELS: usize = 112;
        let mut smooth = Self::of_region(mask, max_texels);
        // A blurred set exceeds a lower value farther outside; blurred again, a higher value leads back. Flat boundaries
        // return to their place, but not those of gaps that were filled.
        let mut wide = Self::new(mask, TEXEL_MM, SIGMA_MM, MAX_TEXELS.min(max_texels));
        for value in &mut wide.values {
            *value = f32::from(u8::from(*value > 0.25));
        }
        let sigma = (DVec3::splat(SIGMA_MM) / wide.spacing).to_array();
        for (axis, sigma) in sigma.into_iter().enumerate() {
            blur(&mut wide.values, wide.shape, axis, sigma);
        }
        // The values rise slowly: an edge as sharp as that of the mask is drawn without a fringe.
        for value in &mut wide.values {
            *value = ((*value - 0.75) * 4.0 + 0.5).clamp(0.0, 1.0);
        }
        let wide_from_texel = wide.texel_from_world * smooth.texel_from_world.inverse();
        let [nx, ny, _] = smooth.shape;
        for (i, value) in smooth.values.iter_mut().enumerate() {
            if *value > FULL {
                continue;
            }
            let texel = [i % nx, i / nx % ny, i / (nx * ny)].map(|n| n as f64);
            let at = wide_from_texel.transform_point3(DVec3::from_array(texel));
            *value = value.max(wide.linear(at));
        }
        smooth
    }

    /// The value between texels; 0 outside.
    fn linear(&self, at: DVec3) -> f32 {
        let base = at.floor();
        let part = (at - base).as_vec3();
        let corner = |c: usize| {
            let step = [c & 1, c >> 1 & 1, c >> 2];
            let texel: [f64; 3] = std::array::from_fn(|a| base[a] + step[a] as f64);
            let inside = (0..3).all(|a| texel[a] >= 0.0 && texel[a] < self.shape[a] as f64);
            let weight = |a: usize| match step[a] {
                0 => 1.0 - part[a],
                _ => part[a],
            };
            let weight = weight(0) * weight(1) * weight(2);
            match inside {
                true => weight * self.values[self.index(texel.map(|t| t as usize))],
                false => 0.0,
            }
        };
        (0..8).map(corner).sum()
    }

    /// Raises the texels of thin parts above the surface's value: those in no block of 2 × 2 × 2 texels inside, and
    /// those with no texel above that value around them.
    fn keep_thin(&mut self, sharp: &Self) {
        /// With this value a sheet is drawn nearly as thick as it is.
        const THIN: f32 = 0.7;
        let pad: [usize; 3] =
            std::array::from_fn(|a| (self.shape[a].saturating_sub(sharp.shape[a])) / 2);
        let inner: [usize; 3] = std::array::from_fn(|a| sharp.shape[a] - 1);
        let is_inside = |[x, y, z]: [usize; 3]| sharp.values[sharp.index([x, y, z])] >= 0.5;
        let in_block = |[x, y, z]: [usize; 3]| {
            let holds = |corner: usize| {
                let low = [0, 1, 2].map(|a| [x, y, z][a] - (corner >> a & 1));
                (0..8).all(|c| is_inside([0, 1, 2].map(|a| low[a] + (c >> a & 1))))
            };
            (0..8).any(holds)
        };
        let blurred = self.values.clone();
        let here = |texel: [usize; 3]| self.index([0, 1, 2].map(|a| texel[a] + pad[a]));
        let around = |texel: [usize; 3]| {
            (0..27).any(|n| {
                let step = [n % 3, n / 3 % 3, n / 9];
                blurred[here([0, 1, 2].map(|a| texel[a] + step[a] - 1))] >= 0.5
            })
        };
        let mut raised = Vec::new();
        for z in 1..inner[2] {
            for y in 1..inner[1] {
                for x in 1..inner[0] {
                    let texel = [x, y, z];
                    let share = sharp.values[sharp.index(texel)];
                    if share > 0.0 && (share >= 0.5 && !in_block(texel) || !around(texel)) {
                        raised.push(here(texel));
                    }
                }
            }
        }
        for texel in raised {
            self.values[texel] = self.values[texel].max(THIN);
        }
    }

    pub fn index(&self, texel: [usize; 3]) -> usize {
        texel[0] + self.shape[0] * (texel[1] + self.shape[1] * texel[2])
    }

    /// Gradient by central differences, 1/mm along world axes; 0 on the border.
    pub fn gradients(&self) -> Vec<[f32; 3]> {
        let world_from_difference = self.texel_from_world.matrix3.transpose();
        let strides = [1, self.shape[0], self.shape[0] * self.shape[1]];
        let mut gradients = vec![[0.0; 3]; self.values.len()];
        for z in 1..self.shape[2].saturating_sub(1) {
            for y in 1..self.shape[1].saturating_sub(1) {
                for x in 1..self.shape[0].saturating_sub(1) {
                    let at = self.index([x, y, z]);
                    let difference =
                        strides.map(|s| f64::from(self.values[at + s] - self.values[at - s]) * 0.5);
                    let world = world_from_difference * DVec3::from_array(difference);
                    gradients[at] = world.as_vec3().to_array();
                }
            }
        }
        gradients
    }

    /// A lower bound of the distance to the nearest texel where `near` holds, mm (two-pass chamfer
    /// transform; Borgefors 1986, here with steps along the axes only, which bounds from above, so
    /// scaled by 1/√3 to bound from below).
    pub fn distance_below(&self, near: impl Fn(usize) -> bool) -> Vec<f32> {
        let count = self.values.len();
        let mut distance: Vec<f32> = (0..count)
            .map(|i| if near(i) { 0.0 } else { f32::INFINITY })
            .collect();
        let strides = [1, self.shape[0], self.shape[0] * self.shape[1]];
        let step = self.spacing.as_vec3().to_array();
        let place = |i: usize| {
            let [nx, ny, _] = self.shape;
            [i % nx, (i / nx) % ny, i / (nx * ny)]
        };
        for i in 0..count {
            let at = place(i);
            for a in 0..3 {
                if at[a] > 0 {
                    distance[i] = distance[i].min(distance[i - strides[a]] + step[a]);
                }
            }
        }
        for i in (0..count).rev() {
            let at = place(i);
            for a in 0..3 {
                if at[a] + 1 < self.shape[a] {
                    distance[i] = distance[i].min(distance[i + strides[a]] + step[a]);
                }
            }
        }
        let bound = 1.0 / 3f32.sqrt();
        // An empty mask has no surface anywhere.
        distance.iter().map(|d| (d * bound).min(1e4)).collect()
    }
}

/// Gaussian along one axis; `sigma` in texels. Values outside count as 0.
fn blur(values: &mut [f32], shape: [usize; 3], axis: usize, sigma: f64) {
    let radius = (3.0 * sigma).ceil() as usize;
    if radius == 0 {
        return;
    }
    let weight = |i: usize| (-0.5 * (i as f64 / sigma).powi(2)).exp();
    let sum = weight(0) + 2.0 * (1..=radius).map(weight).sum::<f64>();
    let kernel: Vec<f32> = (0..=radius).map(|i| (weight(i) / sum) as f32).collect();
    let stride: usize = shape[..axis].iter().product();
    let length = shape[axis];
    let mut line = vec![0.0f32; length + 2 * radius];
    for start in 0..values.len() / length {
        let first = start % stride + start / stride * stride * length;
        for i in 0..length {
            line[radius + i] = values[first + i * stride];
        }
        for i in 0..length {
            let at = radius + i;
            let pairs = (1..=radius).map(|r| kernel[r] * (line[at - r] + line[at + r]));
            values[first + i * stride] = kernel[0] * line[at] + pairs.sum::<f32>();
        }
    }
}
