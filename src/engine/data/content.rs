//! The part of an image with visible content.

use super::dark_blocks::{Blocks, DarkBlocks};
use super::volume::{Block, Volume};
use std::sync::Arc;

/// Values above this share of the range between the image's low and high values are not background.
const GROUND: f32 = 0.12;
/// A plane of voxels has content if this share of them does.
const SHARE: f64 = 0.004;
/// Margin of voxels around the content.
const MARGIN: usize = 2;
/// Stride of the sampled voxels along each axis.
const STRIDE: usize = 2;

/// Where the content of an image lies.
#[derive(Clone, Debug)]
pub(super) struct VisibleContent {
    pub block: Block,
    /// First and last voxel of every sampled row within the block.
    pub ends: Arc<[[usize; 3]]>,
}

/// The block with the content of an image; the whole image if there is none. Bright voxels of noise in the background do
/// not count.
pub(super) fn content_of(volume: &Volume, frame: usize) -> VisibleContent {
    let shape = volume.grid.shape;
    let (low, high) = volume.percentiles(frame, 0.01, 0.99);
    let level = low.min(0.0) + GROUND * (high - low.min(0.0));
    let mut counts = shape.map(|n| vec![0u32; n.div_ceil(STRIDE)]);
    let values = volume.frame(frame);
    let blocks = Blocks::new(&volume.grid);
    let means = (0..blocks.total()).map(|block| blocks.mean(values, block));
    let means: Vec<f64> = means.collect();
    let dark = DarkBlocks::new(&blocks, &means, f64::from(high));
    let in_air = |voxel: [usize; 3]| {
        let block = blocks.block_of(voxel);
        let is_air = |dark: &DarkBlocks| dark.is_dark[block] || means[block] <= dark.reach;
        dark.as_ref().is_some_and(is_air)
    };
    let [nx, ny, nz] = shape;
    let mut ends = Vec::new();
    for z in (0..nz).step_by(STRIDE) {
        for y in (0..ny).step_by(STRIDE) {
            let row = &values[nx * (y + ny * z)..][..nx];
            let counted = |x: &usize| row[*x] > level && !in_air([*x, y, z]);
            let (mut first, mut last) = (None, None);
            for x in (0..nx).step_by(STRIDE).filter(counted) {
                first = first.or(Some([x, y, z]));
                last = Some([x, y, z]);
                for (count, at) in counts.iter_mut().zip([x, y, z]) {
                    count[at / STRIDE] += 1;
                }
            }
            ends.extend(first.into_iter().chain(last));
        }
    }
    let sizes = shape.map(|n| n.div_ceil(STRIDE));
    let mut block = [[0; 3], shape.map(|n| n - 1)];
    for axis in 0..3 {
        let plane = sizes.iter().product::<usize>() / sizes[axis];
        let shows = |n: &u32| f64::from(*n) > (SHARE * plane as f64).max(1.0);
        let first = counts[axis].iter().position(shows);
        let last = counts[axis].iter().rposition(shows);
        if let Some((first, last)) = first.zip(last) {
            block[0][axis] = (first * STRIDE).saturating_sub(MARGIN);
            block[1][axis] = (last * STRIDE + STRIDE + MARGIN - 1).min(shape[axis] - 1);
        }
    }
    ends.retain(|end| (0..3).all(|a| (block[0][a]..=block[1][a]).contains(&end[a])));
    VisibleContent {
        block,
        ends: ends.into(),
    }
}
