//! The background of an image: the dark voxels that are connected to its border, and their values.

use super::bricks::{Field, INSIDE, OUTSIDE, origin};
use crate::data::Volume;
use crate::data::dark_blocks::{Blocks, DarkBlocks, mode};
use rayon::prelude::*;

/// A voxel of a dark block belongs to the background up to this many standard deviations above the voxels' mode.
const VOXEL_SPREADS: f64 = 3.0;

/// The region outside the imaged object.
#[derive(Clone, Debug)]
pub struct Background {
    /// Most frequent value of its voxels.
    pub mode: f32,
    /// Standard deviation of its voxels.
    pub spread: f32,
    /// Largest value of a background voxel.
    limit: f32,
    blocks: Blocks,
    /// Whether a block belongs to it.
    is_dark: Vec<bool>,
}

/// How far a surface has spread beyond the structures in the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Contact {
    /// Background voxels inside the surface.
    pub background: u64,
    /// Voxels inside the surface in the outermost layers of the image.
    pub border: u64,
}

impl Background {
    /// `None` where the image has no dark border, such as a crop of tissue. Needs the backend's threads installed.
    pub fn from_image(image: &Volume, frame: usize) -> Option<Self> {
        let (blocks, values) = (Blocks::new(&image.grid), image.frame(frame));
        let total = blocks.total();
        let means = (0..total)
            .into_par_iter()
            .map(|block| blocks.mean(values, block));
        let means: Vec<f64> = means.collect();
        let (_, top) = image.percentiles(frame, 0.01, 0.99);
        let DarkBlocks {
            upper,
            filled,
            is_dark,
            ..
        } = DarkBlocks::new(&blocks, &means, f64::from(top))?;
        let own = || {
            (0..total)
                .filter(|b| is_dark[*b])
                .flat_map(|b| blocks.values(values, b))
                .map(f64::from)
                .filter(|v| filled.is_none_or(|up_to| *v > up_to))
        };
        let (n, sum, squares) =
            own().fold((0.0, 0.0, 0.0), |(n, s, q), v| (n + 1.0, s + v, q + v * v));
        let spread = (squares / n - (sum / n).powi(2)).max(0.0).sqrt();
        let mode = mode(own(), (sum / n - 3.0 * spread, sum / n + 3.0 * spread));
        Some(Self {
            mode: mode as f32,
            spread: spread as f32,
            limit: (mode + VOXEL_SPREADS * spread).max(upper) as f32,
            blocks,
            is_dark,
        })
    }

    /// Whether a voxel belongs to the background.
    pub fn contains(&self, voxel: [usize; 3], value: f32) -> bool {
        value <= self.limit && self.is_dark[self.blocks.block_of(voxel)]
    }

    /// Whether a target is a background value: then the user wants the surface to reach it.
    pub fn is_target(&self, target: f32) -> bool {
        (target - self.mode).abs() <= self.spread.max(0.25 * (self.limit - self.mode))
    }
}

impl Field {
    /// How far the surface has spread into the background and to the image's border. Needs the backend's threads
    /// installed.
    pub fn contact(&self, values: &[f32], background: Option<&Background>) -> Contact {
        let (b, bricks, shape) = (self.brick, self.counts(), self.grid.shape);
        // An axis with few slices would be all border.
        let bounded = shape.map(|n| n >= 2 * b);
        let of_brick = |(i, slot): (usize, &u32)| {
            let mut contact = Contact::default();
            let first = origin(i, bricks, b);
            let to = [0, 1, 2].map(|a| (first[a] + b).min(shape[a]));
            for z in first[2]..to[2] {
                for y in first[1]..to[1] {
                    for x in first[0]..to[0] {
                        let within = (x - first[0]) + b * ((y - first[1]) + b * (z - first[2]));
                        let page = *slot as usize * b * b * b;
                        if *slot != INSIDE && self.pages[page + within] <= 0.0 {
                            continue;
                        }
                        let at = [x, y, z];
                        let outermost =
                            (0..3).any(|a| bounded[a] && (at[a] == 0 || at[a] + 1 == shape[a]));
                        let value = values[x + shape[0] * (y + shape[1] * z)];
                        let dark = background.is_some_and(|bg| bg.contains(at, value));
                        contact.border += u64::from(outermost);
                        contact.background += u64::from(dark);
                    }
                }
            }
            contact
        };
        let inside = self.table.par_iter().enumerate().with_min_len(64);
        inside
            .filter(|(_, slot)| **slot != OUTSIDE)
            .map(of_brick)
            .reduce(Contact::default, |a, b| Contact {
                background: a.background + b.background,
                border: a.border + b.border,
            })
    }
}
