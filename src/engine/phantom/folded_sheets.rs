//! A brain-like field with thin folded sheets of fibres: the size of the third example of Jeong et al. 2007, 256 ×
//! 256 × 100 voxels, about 196,000 of which are used.

use crate::data::{Grid, Tensor, TensorField};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

const SHAPE: [usize; 3] = [256, 256, 100];
/// Sheets lie where an undulating function is closer than this to 0; the value was found by bisection so that their
/// largest component has as many voxels as the paper's mask.
const THICKNESS: f64 = 0.092_872;
/// White matter's eigenvalues, mm²/s.
const SPEEDS: [f64; 3] = [1.7e-3, 0.35e-3, 0.25e-3];

/// Coordinates from −1 to 1 along each axis.
fn place(voxel: [usize; 3]) -> DVec3 {
    let along = |a: usize| {
        let n = SHAPE[a] as f64;
        (voxel[a] as f64 - (n - 1.0) / 2.0) / (SHAPE[a] / 2) as f64
    };
    DVec3::new(along(0), along(1), along(2))
}

fn wavy(p: DVec3) -> f64 {
    let DVec3 { x, y, z } = p;
    (9.0 * x + 1.3 * (4.0 * y).sin()).sin() * (8.0 * y + 0.7 * (5.0 * z).sin()).cos()
        + (8.0 * y + 0.5 * (3.0 * x).sin()).sin() * (7.0 * z).cos()
        + (7.0 * z + 0.9 * (4.0 * x).sin()).sin() * (9.0 * x).cos()
}

/// The tensors, on voxels of 1 mm: fast within a sheet, slowest across it.
pub fn folds() -> TensorField {
    let grid = Grid::axis_aligned(SHAPE, DVec3::ONE, DVec3::ZERO);
    let Some(grid) = grid else {
        unreachable!("the axes are the world's")
    };
    let inside: Vec<bool> = (0..grid.voxel_count())
        .into_par_iter()
        .map(|v| {
            let p = place(grid.voxel(v));
            let head = (p / DVec3::new(0.86, 0.94, 0.9)).length_squared() < 1.0;
            head && wavy(p).abs() < THICKNESS
        })
        .collect();
    let largest = largest_part(&grid, &inside);
    let tensors: Vec<Tensor> = (0..grid.voxel_count())
        .into_par_iter()
        .map(|v| match largest[v] {
            true => tensor(grid.voxel(v)),
            false => Tensor::default(),
        })
        .collect();
    TensorField::new(Arc::new(grid), tensors)
}

/// The voxels of the largest component connected by faces.
fn largest_part(grid: &Grid, inside: &[bool]) -> Vec<bool> {
    let mut part = vec![0u32; inside.len()];
    let (mut count, mut best) = (0, (0, 0));
    let mut waiting = Vec::new();
    for first in 0..inside.len() {
        if !inside[first] || part[first] != 0 {
            continue;
        }
        count += 1;
        part[first] = count;
        waiting.push(first);
        let mut size = 0;
        while let Some(here) = waiting.pop() {
            size += 1;
            let voxel = grid.voxel(here);
            for axis in 0..3 {
                for step in [-1isize, 1] {
                    let mut next = voxel;
                    let along = voxel[axis].wrapping_add_signed(step);
                    if along >= grid.shape[axis] {
                        continue;
                    }
                    next[axis] = along;
                    let next = grid.index(next);
                    if inside[next] && part[next] == 0 {
                        part[next] = count;
                        waiting.push(next);
                    }
                }
            }
        }
        best = best.max((size, count));
    }
    part.iter().map(|p| *p == best.1).collect()
}

fn tensor(voxel: [usize; 3]) -> Tensor {
    let [x, y, z] = voxel;
    let step = |a: usize, by: isize| {
        let mut p = voxel.map(|c| c as isize + 1);
        p[a] += by;
        // One more voxel on each side, so that the differences are central at the border, too.
        let p = [0, 1, 2].map(|a| (p[a] - 1) as f64 - (SHAPE[a] as f64 - 1.0) / 2.0);
        wavy(DVec3::from_array(p) / DVec3::from_array(SHAPE.map(|n| (n / 2) as f64)))
    };
    let slope = |a: usize| step(a, 1) - step(a, -1);
    let across = DVec3::new(slope(0), slope(1), slope(2)).normalize_or(DVec3::Z);
    let p = place([x, y, z]);
    let along = DVec3::new(
        (2.0 * p.z + p.x).cos(),
        (2.0 * p.z + p.y).sin(),
        0.6 * (2.0 * p.x).cos(),
    );
    let along = along
        .reject_from_normalized(across)
        .normalize_or(across.any_orthonormal_vector());
    let axes = [along, across.cross(along), across];
    let mut d = [0.0; 6];
    for (speed, e) in SPEEDS.into_iter().zip(axes) {
        for (sum, part) in d.iter_mut().zip(crate::data::tensor_field::dyad(e)) {
            *sum += speed * part;
        }
    }
    Tensor::new(d.map(|v| v as f32))
}
