//! The background of an image: the dark voxels that are connected to its border, and their values.
//!
//! Blocks of about 4 mm are averaged first, so that air differs from dark tissue even at noise levels at which single
//! voxels of both overlap, and so that a gap of a few voxels does not connect the two.

use super::bricks::{Field, INSIDE, OUTSIDE, origin};
use crate::data::Volume;
use rayon::prelude::*;

/// Edge of a block, mm.
const BLOCK_MM: f64 = 4.0;
/// The background lies within this share of the image's range above the darkest block …
const DARK: f64 = 0.2;
/// … holds this share of the blocks at the border, and of all blocks.
const SHARE: [f64; 2] = [0.1, 0.02];
/// A block belongs to it up to this many standard deviations above the mode of the blocks …
const BLOCK_SPREADS: f64 = 4.0;
/// … or up to this share of the range, which ghosts and ringing reach.
const GHOST_SHARE: f64 = 0.04;
/// A voxel of such a block belongs to the background up to this many standard deviations above the voxels' mode.
const VOXEL_SPREADS: f64 = 3.0;
const BINS: usize = 512;

/// The region outside the imaged object.
#[derive(Clone, Debug)]
pub struct Background {
    /// Most frequent value of its voxels.
    pub mode: f32,
    /// Standard deviation of its voxels.
    pub spread: f32,
    /// Largest value of a background voxel.
    limit: f32,
    /// Voxels per block along each axis.
    side: [usize; 3],
    /// Voxels by which the first block along each axis is shorter.
    shortened_by: [usize; 3],
    counts: [usize; 3],
    blocks: Vec<bool>,
}

/// How far a surface has spread beyond the structures in the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Contact {
    /// Background voxels inside the surface.
    pub background: u64,
    /// Voxels inside the surface in the outermost layers of the image.
    pub border: u64,
}

/// The most frequent value between two bounds.
fn mode(values: impl Iterator<Item = f64>, (low, high): (f64, f64)) -> f64 {
    let width = (high - low).max(f64::MIN_POSITIVE) / BINS as f64;
    let mut counts = [0u64; BINS];
    for v in values {
        let bin = (v - low) / width;
        if (0.0..BINS as f64).contains(&bin) {
            counts[bin as usize] += 1;
        }
    }
    let most = counts
        .iter()
        .enumerate()
        .max_by_key(|(i, n)| (**n, BINS - i));
    low + (most.map_or(0, |(i, _)| i) as f64 + 0.5) * width
}

impl Background {
    /// `None` where the image has no dark border, such as a crop of tissue. Needs the backend's threads installed.
    pub fn from_image(image: &Volume, frame: usize) -> Option<Self> {
        let (grid, values) = (&image.grid, image.frame(frame));
        let (shape, spacing) = (grid.shape, grid.spacing().to_array());
        let side = [0, 1, 2].map(|a| ((BLOCK_MM / spacing[a]).round() as usize).max(1));
        let counts = [0, 1, 2].map(|a| shape[a].div_ceil(side[a]));
        // Blocks begin at the left, the back and the bottom, so that they do not depend on how the image is stored.
        let axes = grid.world_axes();
        let shortened_by = [0, 1, 2].map(|a| match axes[a] {
            (_, true) => 0,
            (_, false) => counts[a] * side[a] - shape[a],
        });
        let total: usize = counts.iter().product();
        let at = |block: usize| {
            [
                block % counts[0],
                block / counts[0] % counts[1],
                block / (counts[0] * counts[1]),
            ]
        };
        let voxels = |block: usize| {
            let at = at(block);
            let from = [0, 1, 2].map(|a| (at[a] * side[a]).saturating_sub(shortened_by[a]));
            let to = [0, 1, 2].map(|a| ((at[a] + 1) * side[a] - shortened_by[a]).min(shape[a]));
            let rows = (from[2]..to[2]).flat_map(move |z| (from[1]..to[1]).map(move |y| (y, z)));
            rows.flat_map(move |(y, z)| {
                let row = shape[0] * (y + shape[1] * z);
                values[row + from[0]..row + to[0]].iter().copied()
            })
            .filter(|v| v.is_finite())
        };
        let mean = |block: usize| {
            let (sum, count) =
                voxels(block).fold((0.0, 0.0), |(s, n), v| (s + f64::from(v), n + 1.0));
            sum / count
        };
        let means: Vec<f64> = (0..total).into_par_iter().map(mean).collect();
        let least = means
            .iter()
            .copied()
            .filter(|m| m.is_finite())
            .fold(f64::INFINITY, f64::min);
        let (_, top) = image.percentiles(frame, 0.01, 0.99);
        let range = f64::from(top) - least;
        if !(range > 0.0) {
            return None;
        }
        let outermost = |block: usize| {
            let at = at(block);
            (0..3).any(|a| counts[a] > 2 && (at[a] == 0 || at[a] + 1 == counts[a]))
        };
        let border: Vec<usize> = (0..total)
            .filter(|b| outermost(*b) && means[*b].is_finite())
            .collect();
        let dark = least + DARK * range;
        let mut darks: Vec<f64> = border
            .iter()
            .map(|b| means[*b])
            .filter(|m| *m <= dark)
            .collect();
        // Voxels set to one value, as around a defaced or skull-stripped head, carry no information about air in the
        // same image.
        let noisy = |m: f64| m > least + 1e-6 * range;
        let filled = darks.iter().filter(|m| !noisy(**m)).count();
        let imaged = (darks.len() - filled) as f64 > SHARE[0] * border.len() as f64;
        if imaged {
            darks.retain(|m| noisy(*m));
        }
        let centre = mode(darks.iter().copied(), (least, dark));
        // Above the mode, tissue contributes to the blocks; below it, only noise does.
        let mut below: Vec<f64> = darks
            .iter()
            .map(|m| centre - m)
            .filter(|d| *d >= 0.0)
            .collect();
        below.sort_by(f64::total_cmp);
        let spread = 1.48 * below.get(below.len() / 2).copied().unwrap_or(0.0);
        let most = centre + (BLOCK_SPREADS * spread).max(GHOST_SHARE * range);
        let seeds: Vec<usize> = border
            .iter()
            .copied()
            .filter(|b| means[*b] <= most)
            .collect();
        if (seeds.len() as f64) < SHARE[0] * border.len() as f64 || seeds.is_empty() {
            return None;
        }
        let blocks = connected(seeds, counts, |b| means[b] <= most);
        let all = blocks.iter().filter(|b| **b).count();
        if (all as f64) < SHARE[1] * total as f64 {
            return None;
        }
        let own = || {
            (0..total)
                .filter(|b| blocks[*b])
                .flat_map(voxels)
                .map(f64::from)
                .filter(|v| !imaged || noisy(*v))
        };
        let (n, sum, squares) =
            own().fold((0.0, 0.0, 0.0), |(n, s, q), v| (n + 1.0, s + v, q + v * v));
        let spread = (squares / n - (sum / n).powi(2)).max(0.0).sqrt();
        let mode = mode(own(), (sum / n - 3.0 * spread, sum / n + 3.0 * spread));
        Some(Self {
            mode: mode as f32,
            spread: spread as f32,
            limit: (mode + VOXEL_SPREADS * spread).max(most) as f32,
            side,
            shortened_by,
            counts,
            blocks,
        })
    }

    /// Whether a voxel belongs to the background.
    pub fn contains(&self, voxel: [usize; 3], value: f32) -> bool {
        let at = [0, 1, 2].map(|a| (voxel[a] + self.shortened_by[a]) / self.side[a]);
        let block = at[0] + self.counts[0] * (at[1] + self.counts[1] * at[2]);
        value <= self.limit && self.blocks[block]
    }

    /// Whether a target is a background value: then the user wants the surface to reach it.
    pub fn is_target(&self, target: f32) -> bool {
        (target - self.mode).abs() <= self.spread.max(0.25 * (self.limit - self.mode))
    }
}

/// The counted blocks that are connected to the seeds through faces of counted blocks.
fn connected(seeds: Vec<usize>, counts: [usize; 3], counted: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut found = vec![false; counts.iter().product()];
    let mut open = seeds;
    for &block in &open {
        found[block] = true;
    }
    let stride = [1, counts[0], counts[0] * counts[1]];
    while let Some(block) = open.pop() {
        for a in 0..3 {
            let at = block / stride[a] % counts[a];
            let near = [
                (at > 0).then(|| block - stride[a]),
                (at + 1 < counts[a]).then(|| block + stride[a]),
            ];
            for next in near.into_iter().flatten() {
                if !found[next] && counted(next) {
                    found[next] = true;
                    open.push(next);
                }
            }
        }
    }
    found
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
