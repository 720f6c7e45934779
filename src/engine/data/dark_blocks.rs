//! The background of an image in blocks: the dark blocks that are connected to its border.
//!
//! Blocks of about 4 mm are averaged first, so that air differs from dark tissue even at noise levels at which single
//! voxels of both overlap, and so that a gap of a few voxels does not connect the two.

use crate::data::Grid;

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
/// Noise reaches at most this share of the range.
const REACH: f64 = 0.3;
const BINS: usize = 512;

/// The voxels of a grid in blocks of about 4 mm.
#[derive(Clone, Debug)]
pub struct Blocks {
    shape: [usize; 3],
    /// Voxels per block along each axis.
    side: [usize; 3],
    /// Voxels by which the first block along each axis is shorter.
    shortened_by: [usize; 3],
    counts: [usize; 3],
}

impl Blocks {
    /// Blocks begin at the left, the back and the bottom, so that they do not depend on how the image is stored.
    pub fn new(grid: &Grid) -> Self {
        let (shape, spacing) = (grid.shape, grid.spacing().to_array());
        let side = [0, 1, 2].map(|a| ((BLOCK_MM / spacing[a]).round() as usize).max(1));
        let counts = [0, 1, 2].map(|a| shape[a].div_ceil(side[a]));
        let axes = grid.world_axes();
        let shortened_by = [0, 1, 2].map(|a| match axes[a] {
            (_, true) => 0,
            (_, false) => counts[a] * side[a] - shape[a],
        });
        Self {
            shape,
            side,
            shortened_by,
            counts,
        }
    }

    /// Number of blocks.
    pub fn total(&self) -> usize {
        self.counts.iter().product()
    }

    /// The block that contains a voxel.
    pub fn block_of(&self, voxel: [usize; 3]) -> usize {
        let at = [0, 1, 2].map(|a| (voxel[a] + self.shortened_by[a]) / self.side[a]);
        at[0] + self.counts[0] * (at[1] + self.counts[1] * at[2])
    }

    fn place(&self, block: usize) -> [usize; 3] {
        let counts = self.counts;
        [
            block % counts[0],
            block / counts[0] % counts[1],
            block / (counts[0] * counts[1]),
        ]
    }

    /// The finite values of a block.
    pub fn values<'a>(
        &self,
        values: &'a [f32],
        block: usize,
    ) -> impl Iterator<Item = f32> + use<'a> {
        let at = self.place(block);
        let (shape, side, shortened_by) = (self.shape, self.side, self.shortened_by);
        let from = [0, 1, 2].map(|a| (at[a] * side[a]).saturating_sub(shortened_by[a]));
        let to = [0, 1, 2].map(|a| ((at[a] + 1) * side[a] - shortened_by[a]).min(shape[a]));
        let rows = (from[2]..to[2]).flat_map(move |z| (from[1]..to[1]).map(move |y| (y, z)));
        rows.flat_map(move |(y, z)| {
            let row = shape[0] * (y + shape[1] * z);
            values[row + from[0]..row + to[0]].iter().copied()
        })
        .filter(|v| v.is_finite())
    }

    /// The mean of a block; not a number without finite values.
    pub fn mean(&self, values: &[f32], block: usize) -> f64 {
        let values = self.values(values, block);
        let (sum, count) = values.fold((0.0, 0.0), |(s, n), v| (s + f64::from(v), n + 1.0));
        sum / count
    }

    fn is_outermost(&self, block: usize) -> bool {
        let at = self.place(block);
        (0..3).any(|a| self.counts[a] > 2 && (at[a] == 0 || at[a] + 1 == self.counts[a]))
    }
}

/// The dark blocks that are connected to the border.
#[derive(Clone, Debug)]
pub struct DarkBlocks {
    /// Largest mean of a dark block.
    pub upper: f64,
    /// Largest mean that noise alone reaches, also in blocks of a few voxels.
    pub reach: f64,
    /// Voxels up to this value are filled, not imaged: they carry no information about air. `None`: the whole background
    /// is filled.
    pub filled: Option<f64>,
    /// By their numbers.
    pub is_dark: Vec<bool>,
}

impl DarkBlocks {
    /// `means`: of all blocks; `top`: a high value of the image. `None` where the image has no dark border, such as a
    /// crop of tissue.
    pub fn new(blocks: &Blocks, means: &[f64], top: f64) -> Option<Self> {
        let total = blocks.total();
        let floor = means
            .iter()
            .copied()
            .filter(|m| m.is_finite())
            .fold(f64::INFINITY, f64::min);
        let range = top - floor;
        if !(range > 0.0) {
            return None;
        }
        let border: Vec<usize> = (0..total)
            .filter(|b| blocks.is_outermost(*b) && means[*b].is_finite())
            .collect();
        let dark = floor + DARK * range;
        let mut darks: Vec<f64> = border
            .iter()
            .map(|b| means[*b])
            .filter(|m| *m <= dark)
            .collect();
        // Voxels set to one value, as around a defaced or skull-stripped head, carry no information about air in the
        // same image.
        let filled_up_to = floor + 1e-6 * range;
        let noisy = |m: f64| m > filled_up_to;
        let filled = darks.iter().filter(|m| !noisy(**m)).count();
        let imaged = (darks.len() - filled) as f64 > SHARE[0] * border.len() as f64;
        if imaged {
            darks.retain(|m| noisy(*m));
        }
        let reach = reach_of_noise(&darks).min(floor + REACH * range);
        let centre = mode(darks.iter().copied(), (floor, dark));
        // Above the mode, tissue contributes to the blocks; below it, only noise does.
        let mut below: Vec<f64> = darks
            .iter()
            .map(|m| centre - m)
            .filter(|d| *d >= 0.0)
            .collect();
        below.sort_by(f64::total_cmp);
        let spread = 1.48 * below.get(below.len() / 2).copied().unwrap_or(0.0);
        let upper = centre + (BLOCK_SPREADS * spread).max(GHOST_SHARE * range);
        let seeds: Vec<usize> = border
            .iter()
            .copied()
            .filter(|b| means[*b] <= upper)
            .collect();
        if (seeds.len() as f64) < SHARE[0] * border.len() as f64 || seeds.is_empty() {
            return None;
        }
        let is_dark = connected(seeds, blocks.counts, |b| means[b] <= upper);
        let all = is_dark.iter().filter(|b| **b).count();
        ((all as f64) >= SHARE[1] * total as f64).then_some(Self {
            upper,
            reach,
            filled: imaged.then_some(filled_up_to),
            is_dark,
        })
    }
}

/// The median of means, and this many of their spreads above it.
fn reach_of_noise(means: &[f64]) -> f64 {
    const SPREADS: f64 = 5.0;
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let centre = median(&mut means.to_vec());
    let mut away: Vec<f64> = means.iter().map(|m| (m - centre).abs()).collect();
    centre + SPREADS * 1.48 * median(&mut away)
}

/// The most frequent value between two bounds.
pub fn mode(values: impl Iterator<Item = f64>, (low, high): (f64, f64)) -> f64 {
    let width = (high - low).max(f64::MIN_POSITIVE) / BINS as f64;
    let mut counts = [0u64; BINS];
    for v in values {
        let bin = (v - low) / width;
        if (0.0..BINS as f64).contains(&bin) {
            counts[bin as usize] += 1;
        }
    }
    let fullest = counts
        .iter()
        .enumerate()
        .max_by_key(|(i, n)| (**n, BINS - i));
    low + (fullest.map_or(0, |(i, _)| i) as f64 + 0.5) * width
}

/// The counted blocks that are connected to the seeds through faces of counted blocks.
fn connected(seeds: Vec<usize>, counts: [usize; 3], counted: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut connected = vec![false; counts.iter().product()];
    let mut open = seeds;
    for &block in &open {
        connected[block] = true;
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
                if !connected[next] && counted(next) {
                    connected[next] = true;
                    open.push(next);
                }
            }
        }
    }
    connected
}
