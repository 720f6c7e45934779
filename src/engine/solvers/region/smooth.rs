//! Smooths a region with a Gaussian.

use super::{Error, PaddedBlock, ball, has_right_angles};
use crate::compute::Control;
use crate::data::Mask;
use rayon::prelude::*;

/// The Gaussian is cut off here, standard deviations: less than a thousandth of it lies beyond.
const REACH: f64 = 3.5;

pub fn smooth(mask: &Mask, sigma_mm: f64, control: &Control) -> Result<Mask, Error> {
    let mask = &mask.on_whole_grid();
    let reach = mask.grid.voxels_per_mm() * (sigma_mm * REACH);
    let Some(part) = PaddedBlock::around(mask, reach) else {
        return Ok(mask.clone());
    };
    control.begin("Smoothing", part.count() as u64 * 3);
    let share = if has_right_angles(&mask.grid) {
        let mut share = part.inside(mask, |inside| f32::from(u8::from(inside)));
        for axis in 0..3 {
            let sigma = sigma_mm / mask.grid.spacing()[axis];
            let edges = Edges {
                before: part.low[axis],
                after: mask.grid.shape[axis] - part.low[axis] - part.shape[axis],
            };
            blur(&mut share, part.shape, axis, sigma, &edges, control)?;
        }
        share
    } else {
        smooth_sheared(mask, &part, sigma_mm, control)?
    };
    Ok(part.mask(&mask.grid, &share, |share| *share > 0.5))
}

/// The number of voxels of the grid before and behind a part along an axis, all of which are outside the region.
struct Edges {
    before: usize,
    after: usize,
}

fn blur(
    values: &mut [f32],
    shape: [usize; 3],
    axis: usize,
    sigma: f64,
    edges: &Edges,
    control: &Control,
) -> Result<(), Error> {
    let radius = (REACH * sigma).ceil() as usize;
    let kernel: Vec<f32> = (0..=radius)
        .map(|i| (-0.5 * (i as f64 / sigma).powi(2)).exp() as f32)
        .collect();
    let (stride, length) = (shape[..axis].iter().product::<usize>(), shape[axis]);
    // The part of the Gaussian inside the grid.
    let weight = |i: usize| -> f32 {
        let before = radius.min(i + edges.before);
        let after = radius.min(length - 1 - i + edges.after);
        kernel[1..=before].iter().sum::<f32>() + kernel[..=after].iter().sum::<f32>()
    };
    let weights: Vec<f32> = (0..length).map(weight).collect();
    let slabs = values.par_chunks_mut(stride * length);
    let work = |slab: &mut [f32], line: &mut Vec<f32>| -> Result<(), Error> {
        control.check()?;
        for first in 0..stride {
            line.clear();
            line.resize(radius, 0.0);
            line.extend(slab[first..].iter().step_by(stride).take(length));
            line.resize(length + 2 * radius, 0.0);
            for i in 0..length {
                let at = radius + i;
                let pairs = (1..=radius).map(|r| kernel[r] * (line[at - r] + line[at + r]));
                let sum = kernel[0] * line[at] + pairs.sum::<f32>();
                slab[first + i * stride] = sum / weights[i];
            }
        }
        control.advance(slab.len() as u64);
        Ok(())
    };
    slabs.try_for_each_init(Vec::new, |line, slab| work(slab, line))
}

/// On sheared grids the Gaussian does not separate into three: it is summed over the whole ball.
fn smooth_sheared(
    mask: &Mask,
    part: &PaddedBlock,
    sigma_mm: f64,
    control: &Control,
) -> Result<Vec<f32>, Error> {
    let grid = &mask.grid;
    let terms: Vec<([i64; 3], f32)> = ball(grid, REACH * sigma_mm)
        .into_iter()
        .map(|(offset, mm)| (offset, (-0.5 * (mm / sigma_mm).powi(2)).exp() as f32))
        .collect();
    let shape = grid.shape.map(|n| n as i64);
    let [nx, ny, _] = part.shape;
    let mut share = vec![0.0f32; part.count()];
    let rows = share.par_chunks_mut(nx).enumerate();
    rows.try_for_each(|(row, share)| {
        control.check()?;
        for (x, share) in share.iter_mut().enumerate() {
            let at = [x, row % ny, row / ny];
            let at = [0, 1, 2].map(|a| (part.low[a] + at[a]) as i64);
            let (mut sum, mut all) = (0.0, 0.0);
            for (offset, weight) in &terms {
                let to = [0, 1, 2].map(|a| at[a] + offset[a]);
                if (0..3).all(|a| (0..shape[a]).contains(&to[a])) {
                    all += weight;
                    let index = grid.index(to.map(|v| v as usize));
                    sum += weight * f32::from(mask.inside[index]);
                }
            }
            *share = sum / all;
        }
        Ok::<(), Error>(())
    })?;
    Ok(share)
}
