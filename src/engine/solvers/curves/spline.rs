//! Coefficients of the cubic B-splines that interpolate every voxel's tensor.

use super::cells::{INSIDE, Record};
use crate::compute::{Cancelled, Control};
use crate::data::TensorField;
use rayon::prelude::*;

/// Layers around the mask that receive tensors from their neighbours before the filter: its response falls by a
/// factor of 0.27 per voxel, so that after four the step to 0 causes no ringing inside.
pub const EXTENSION: usize = 4;

/// Pole of the inverse filter, √3 − 2 (Unser 1999).
const POLE: f32 = -0.267_949_2;

/// Terms of the filter's start value: POLE⁴⁰ is far below single precision.
const START_TERMS: usize = 40;

/// Records in file order with a margin of one on every side, mirrored at the outer voxel centres.
pub struct Coefficients<'a> {
    pub records: &'a [Record],
    /// Distance in records from one to the next along y and z.
    pub strides: [usize; 2],
}

impl<'a> Coefficients<'a> {
    /// Needs the backend's threads installed.
    pub fn new(field: &'a TensorField, control: &Control) -> Result<Self, Cancelled> {
        // One voxel of margin, and the far side of cells in a grid one voxel thick.
        let shape = field.grid.shape.map(|n| n.max(2) + 2);
        Ok(Self {
            records: field.spline(|| {
                let samples = bytemuck::cast_slice(&field.tensors).to_vec();
                let extended = extend_outside_mask(samples, field.grid.shape, control)?;
                coefficients(extended, field.grid.shape, shape, control)
            })?,
            strides: [shape[0], shape[0] * shape[1]],
        })
    }
}

/// Coefficients of samples that fill their grid, with the margin.
pub fn coefficients(
    mut records: Vec<Record>,
    shape: [usize; 3],
    padded: [usize; 3],
    control: &Control,
) -> Result<Vec<Record>, Cancelled> {
    let [nx, ny, _] = shape;
    records.par_chunks_mut(nx * ny).for_each(|plane| {
        for row in plane.chunks_exact_mut(nx) {
            filter(row, 1);
        }
        filter(plane, nx);
    });
    control.check()?;
    filter(&mut records, nx * ny);
    control.check()?;
    let source = |i: usize, n: usize| mirror(i as isize - 1, n);
    let plane = padded[0] * padded[1];
    let mut out = vec![[0.0; 8]; plane * padded[2]];
    out.par_chunks_mut(plane).enumerate().for_each(|(k, out)| {
        let z = source(k, shape[2]);
        for (j, row) in out.chunks_exact_mut(padded[0]).enumerate() {
            let start = nx * (source(j, shape[1]) + ny * z);
            for (i, record) in row.iter_mut().enumerate() {
                *record = records[start + source(i, nx)];
            }
        }
    });
    Ok(out)
}

/// Index in `0..n` after mirroring at 0 and n − 1.
fn mirror(i: isize, n: usize) -> usize {
    let period = 2 * n.max(2) as isize - 2;
    let i = i.rem_euclid(period);
    i.min(period - i).min(n as isize - 1) as usize
}

/// The tensors, extended by a few voxels outside the mask.
pub fn extend_outside_mask(
    mut records: Vec<Record>,
    [nx, ny, nz]: [usize; 3],
    control: &Control,
) -> Result<Vec<Record>, Cancelled> {
    let mut known: Vec<bool> = records.iter().map(|r| r[INSIDE] > 0.5).collect();
    let plane = nx * ny;
    for _ in 0..EXTENSION {
        control.check()?;
        let layer = |z: usize| {
            let (records, known) = (&records, &known);
            (0..plane).filter_map(move |in_plane| {
                let i = z * plane + in_plane;
                if known[i] {
                    return None;
                }
                let (x, y) = (in_plane % nx, in_plane / nx);
                let mut sum = [0.0f32; 8];
                let mut count = 0.0;
                let neighbours = [
                    (x > 0, i.wrapping_sub(1)),
                    (x + 1 < nx, i + 1),
                    (y > 0, i.wrapping_sub(nx)),
                    (y + 1 < ny, i + nx),
                    (z > 0, i.wrapping_sub(plane)),
                    (z + 1 < nz, i + plane),
                ];
                for (_, j) in neighbours
                    .into_iter()
                    .filter(|&(exists, j)| exists && known[j])
                {
                    for k in (0..8).filter(|&k| k != INSIDE) {
                        sum[k] += records[j][k];
                    }
                    count += 1.0;
                }
                (count > 0.0).then(|| (i, sum.map(|v| v / count)))
            })
        };
        let extended: Vec<(usize, Record)> = (0..nz).into_par_iter().flat_map_iter(layer).collect();
        for (i, record) in extended {
            records[i] = record;
            known[i] = true;
        }
    }
    Ok(records)
}

/// Replaces samples by coefficients along an axis whose neighbours lie `stride` records apart (Unser 1999): a forward
/// and a backward pass over all lines at once.
fn filter(records: &mut [Record], stride: usize) {
    let n = records.len() / stride;
    if n < 2 {
        return;
    }
    let add = |to: &mut [Record], from: &[Record], factor: f32| {
        for (to, from) in to.iter_mut().zip(from) {
            for k in 0..8 {
                to[k] += factor * from[k];
            }
        }
    };
    let scale = |records: &mut [Record], factor: f32| {
        for value in records.as_flattened_mut() {
            *value *= factor;
        }
    };
    let period = 2 * n - 2;
    let mut start = vec![[0.0; 8]; stride];
    let mut power = 1.0;
    for k in 0..period.min(START_TERMS) {
        let i = mirror(k as isize, n) * stride;
        add(&mut start, &records[i..i + stride], power);
        power *= POLE;
    }
    if period <= START_TERMS {
        scale(&mut start, 1.0 / (1.0 - power));
    }
    records[..stride].copy_from_slice(&start);
    for i in 1..n {
        let (before, rest) = records.split_at_mut(i * stride);
        add(&mut rest[..stride], &before[(i - 1) * stride..], POLE);
    }
    let (before, last) = records.split_at_mut((n - 1) * stride);
    add(last, &before[(n - 2) * stride..], POLE);
    scale(last, POLE / (POLE * POLE - 1.0));
    for i in (0..n - 1).rev() {
        let (before, rest) = records.split_at_mut((i + 1) * stride);
        let line = &mut before[i * stride..];
        scale(line, -POLE);
        add(line, &rest[..stride], POLE);
    }
    // Gain of the two passes: (1 − z)(1 − 1/z) = 6.
    scale(records, 6.0);
}

/// Weights of the four nearest cubic B-splines at `t` in 0..=1 between the middle two (Unser 1999).
#[inline(always)]
pub fn cubic_weights(t: f32) -> [f32; 4] {
    let u = 1.0 - t;
    let sixth = 1.0 / 6.0;
    let first = u * u * u * sixth;
    let last = t * t * t * sixth;
    let second = 2.0 / 3.0 - 0.5 * t * t * (2.0 - t);
    [first, second, 1.0 - first - second - last, last]
}
