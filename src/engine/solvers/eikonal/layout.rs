//! The layout of a mask on the CPU: a padded box of cells around it, cut into bricks of rows of eight voxels.

use super::readers::Readers;
use super::row::{LANES, Weights};
use super::{LocalSolver, Prepared};
use crate::compute::{Cancelled, Control};
use crate::solvers::metric::matrix;
use crate::solvers::tensor_fit::eigen_symmetric;
use rayon::prelude::*;
use std::ops::Range;

/// Marks a missing brick.
pub const NONE: u32 = u32::MAX;

/// Eight voxels side by side, at least one of them in the mask.
#[derive(Clone, Debug)]
pub struct Row {
    /// Position within its brick.
    pub y: u8,
    pub z: u8,
    /// One bit for each voxel of the mask.
    pub lanes: u8,
    pub weights: Weights,
}

/// Selling's terms of a row: weights, and offsets in cells from a voxel to the two ends of each term; 0: closed.
#[derive(Clone, Debug)]
pub struct Terms {
    pub rho: [[f32; LANES]; 6],
    pub ends: [[i32; LANES]; 12],
}

#[derive(Clone, Debug)]
pub struct Brick {
    /// Cell of its first voxel.
    pub cell: usize,
    pub rows: Range<usize>,
    /// The 27 bricks around it, x fastest; the middle one is the brick itself.
    pub around: [u32; 27],
    /// Bricks that read cells of this one through long offsets, and the rows that they read.
    pub readers: Vec<(u32, u64)>,
}

#[derive(Clone, Debug)]
pub struct Layout {
    /// Voxels per brick along y and z.
    pub brick: [usize; 2],
    /// Cells from a voxel to its neighbours along y and z.
    pub stride: [usize; 2],
    pub cells: usize,
    pub bricks: Vec<Brick>,
    pub rows: Vec<Row>,
    /// By row; empty unless the local solver uses Selling's terms.
    pub terms: Vec<Terms>,
    /// The cell of each place of the metric, and its brick.
    pub cell_of: Vec<u32>,
    brick_of: Vec<u32>,
}

impl Layout {
    pub fn new(
        prepared: &Prepared,
        brick: [usize; 2],
        control: &Control,
    ) -> Result<Self, Cancelled> {
        let metric = &prepared.metric;
        let shape = [LANES, brick[0], brick[1]];
        // The mask has at least one voxel.
        let (low, high) = metric.mask.block_inside().unwrap_or_default();
        let counts = [0, 1, 2].map(|a| (high[a] - low[a] + 1).div_ceil(shape[a]));
        let sides = [0, 1, 2].map(|a| counts[a] * shape[a] + 2);
        let stride = [sides[0], sides[0] * sides[1]];
        let cell = |at: [usize; 3]| (at[0] + 1) + stride[0] * (at[1] + 1) + stride[1] * (at[2] + 1);
        let inside = |place: usize| {
            let voxel = metric.voxel(place);
            [0, 1, 2].map(|a| voxel[a] as usize - low[a])
        };
        let cell_of: Vec<u32> = (0..metric.len()).map(|p| cell(inside(p)) as u32).collect();
        let number = |b: [usize; 3]| b[0] + counts[0] * (b[1] + counts[1] * b[2]);
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); counts.iter().product()];
        let block = |place: usize| {
            let at = inside(place);
            number([0, 1, 2].map(|a| at[a] / shape[a]))
        };
        control.check()?;
        for place in 0..metric.len() {
            members[block(place)].push(place as u32);
        }
        control.check()?;
        let mut names = vec![NONE; members.len()];
        let mut used = Vec::new();
        for (i, places) in members.iter().enumerate() {
            if !places.is_empty() {
                names[i] = used.len() as u32;
                used.push(i);
            }
        }
        let rows_of_bricks: Vec<(Vec<Row>, Vec<Terms>)> = used
            .par_iter()
            .with_min_len(prepared.min_part(1))
            .map(|&i| {
                control.check()?;
                let at = |p: u32| {
                    let at = inside(p as usize);
                    [0, 1, 2].map(|a| at[a] % shape[a])
                };
                Ok(build_rows(prepared, &members[i], &at, stride))
            })
            .collect::<Result<_, Cancelled>>()?;
        let (mut all, mut terms, mut bricks) = (Vec::new(), Vec::new(), Vec::new());
        for (&i, (rows, more)) in used.iter().zip(rows_of_bricks) {
            let at = [
                i % counts[0],
                i / counts[0] % counts[1],
                i / (counts[0] * counts[1]),
            ];
            let around = std::array::from_fn(|k| {
                let next = [k % 3, k / 3 % 3, k / 9];
                let next: Option<Vec<usize>> = (0..3)
                    .map(|a| (at[a] + next[a]).checked_sub(1).filter(|&n| n < counts[a]))
                    .collect();
                next.map_or(NONE, |n| names[number([n[0], n[1], n[2]])])
            });
            let from = all.len();
            all.extend(rows);
            terms.extend(more);
            bricks.push(Brick {
                cell: cell([0, 1, 2].map(|a| at[a] * shape[a])),
                rows: from..all.len(),
                around,
                readers: Vec::new(),
            });
        }
        let brick_of = (0..metric.len()).map(|p| names[block(p)]).collect();
        let mut layout = Self {
            brick,
            stride,
            cells: sides.iter().product(),
            bricks,
            rows: all,
            terms,
            cell_of,
            brick_of,
        };
        if prepared.local.uses_selling() {
            let at = |cell: usize| {
                let at = [
                    cell % sides[0],
                    cell / sides[0] % sides[1],
                    cell / stride[1],
                ];
                let at = at.map(|c| c - 1);
                let name = names[number([0, 1, 2].map(|a| at[a] / shape[a]))];
                (name, at[1] % shape[1] + shape[1] * (at[2] % shape[2]))
            };
            layout.find_readers(at, control)?;
        }
        Ok(layout)
    }

    /// The brick of a place, and the index of its row within the brick.
    pub fn row_of(&self, place: usize) -> (usize, usize) {
        let name = self.brick_of[place] as usize;
        let within = self.cell_of[place] as usize - self.bricks[name].cell;
        let (z, rest) = (within / self.stride[1], within % self.stride[1]);
        (name, rest / self.stride[0] + self.brick[0] * z)
    }

    /// Finds which bricks read which rows through long offsets; `at` gives a cell's brick and row.
    fn find_readers(
        &mut self,
        at: impl Fn(usize) -> (u32, usize),
        control: &Control,
    ) -> Result<(), Cancelled> {
        let mut readers = Readers::new(self.bricks.len());
        for (name, brick) in self.bricks.iter().enumerate() {
            control.check()?;
            for index in brick.rows.clone() {
                let row = &self.rows[index];
                let first = brick.cell
                    + self.stride[0] * usize::from(row.y)
                    + self.stride[1] * usize::from(row.z);
                for end in &self.terms[index].ends {
                    for (lane, &offset) in end.iter().enumerate().filter(|(_, o)| **o != 0) {
                        let (read, row) = at((first + lane).wrapping_add_signed(offset as isize));
                        if read as usize != name {
                            readers.add(read, row, name as u32);
                        }
                    }
                }
            }
        }
        for (brick, readers) in self.bricks.iter_mut().zip(readers.of_bricks()) {
            brick.readers = readers;
        }
        Ok(())
    }
}

/// The rows of a brick and, if the local solver has them, their terms.
fn build_rows(
    prepared: &Prepared,
    places: &[u32],
    at: &impl Fn(u32) -> [usize; 3],
    stride: [usize; 2],
) -> (Vec<Row>, Vec<Terms>) {
    let metric = &prepared.metric;
    let (mut rows, mut terms): (Vec<Row>, Vec<Terms>) = (Vec::new(), Vec::new());
    // Places ascend in file order, so those of a row are consecutive.
    for &place in places {
        let [x, y, z] = at(place);
        let known = rows
            .last()
            .is_some_and(|r| usize::from(r.y) == y && usize::from(r.z) == z);
        if !known {
            rows.push(Row {
                y: y as u8,
                z: z as u8,
                lanes: 0,
                weights: unit_weights(),
            });
            if prepared.local.uses_selling() {
                terms.push(Terms {
                    rho: [[0.0; LANES]; 6],
                    ends: [[0; LANES]; 12],
                });
            }
        }
        let Some(row) = rows.last_mut() else { continue };
        row.lanes |= 1 << x;
        let place = place as usize;
        let (w, g) = (metric.speed[place], metric.cost[place]);
        let (values, _) = eigen_symmetric(w.map(f64::from));
        // The faces of the cube of 26 neighbours are at distance 1, those of the octahedron of 6 neighbours closer.
        let away = match prepared.local {
            LocalSolver::Godunov6 => 1.0 / 3f64.sqrt(),
            _ => 1.0,
        };
        for k in 0..6 {
            row.weights.w[k][x] = w[k];
            row.weights.g[k][x] = g[k];
        }
        row.weights.det_w[x] = matrix(&w).determinant() as f32;
        row.weights.min_step[x] = (away / values[0].sqrt() * (1.0 - 1e-6)) as f32;
        if let Some(terms) = terms.last_mut() {
            for (k, offset) in prepared.offsets(place).iter().enumerate() {
                let [ex, ey, ez] = offset.e.map(i32::from);
                let cells = ex + ey * stride[0] as i32 + ez * stride[1] as i32;
                terms.rho[k][x] = offset.rho;
                for (end, sign) in [1, -1].into_iter().enumerate() {
                    if offset.open[end] {
                        terms.ends[2 * k + end][x] = sign * cells;
                    }
                }
            }
        }
    }
    (rows, terms)
}

/// W = G = 1 in every lane.
fn unit_weights() -> Weights {
    let (one, zero) = ([1.0; LANES], [0.0; LANES]);
    let identity = [one, zero, zero, one, zero, one];
    Weights {
        w: identity,
        g: identity,
        det_w: one,
        min_step: one,
    }
}
