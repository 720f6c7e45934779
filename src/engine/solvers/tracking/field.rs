//! Interpolates tensors between voxel centres, for several points side by side.
//!
//! A record is one voxel's 32 bytes: six tensor components, whether it was fitted, and padding. All eight are
//! interpolated alike. `inside` is then the fraction of fitted voxels: a point is in the mask where it is at least
//! one half. Tensors outside are 0, so that the interpolated tensor near the mask's surface is a scaled mean of
//! fitted voxels, with the same direction and anisotropy.

use crate::data::{Grid, TensorField};
use crate::solvers::curves::cells::{Axis, Record, rows, thick, thickened};
use crate::solvers::curves::half_queue::LANES;
use crate::solvers::curves::spline::{Coefficients, cubic_weights};
use std::borrow::Cow;
use std::ops::{Add, Mul};

/// One value in every lane.
pub type Lane<T> = [T; LANES];

/// A point or displacement in every lane, world mm.
#[derive(Clone, Copy, Default)]
#[repr(C, align(32))]
pub struct Points {
    pub x: Lane<f32>,
    pub y: Lane<f32>,
    pub z: Lane<f32>,
}

impl Points {
    #[inline(always)]
    pub fn get(&self, lane: usize) -> [f32; 3] {
        [self.x[lane], self.y[lane], self.z[lane]]
    }

    #[inline(always)]
    pub fn set(&mut self, lane: usize, [x, y, z]: [f32; 3]) {
        self.x[lane] = x;
        self.y[lane] = y;
        self.z[lane] = z;
    }
}

// One loop per component: the compiler turns each into one vector instruction.
impl Add for Points {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self {
            x: add(self.x, other.x),
            y: add(self.y, other.y),
            z: add(self.z, other.z),
        }
    }
}

impl Mul<f32> for Points {
    type Output = Self;
    #[inline(always)]
    fn mul(self, factor: f32) -> Self {
        Self {
            x: scale(self.x, factor),
            y: scale(self.y, factor),
            z: scale(self.z, factor),
        }
    }
}

#[inline(always)]
fn add(mut a: Lane<f32>, b: Lane<f32>) -> Lane<f32> {
    for lane in 0..LANES {
        a[lane] += b[lane];
    }
    a
}

#[inline(always)]
fn scale(mut a: Lane<f32>, factor: f32) -> Lane<f32> {
    for value in &mut a {
        *value *= factor;
    }
    a
}

/// Interpolated records.
pub struct Samples {
    pub records: Lane<Record>,
    /// 1 where the point lies in the box of a voxel; elsewhere the nearest such point was used.
    pub in_volume: Lane<u32>,
}

pub trait Sampler: Sync {
    fn sample(&self, at: &Points) -> Samples;
}

/// Maps world points to cells of eight voxel centres.
struct Lattice {
    /// Rows of the affine from world to voxel.
    voxel_from_world: [[f32; 4]; 3],
    axes: [Axis; 3],
}

/// Lower corner and position inside it, 0..=1, of the cell around each point.
#[derive(Default)]
struct Cells {
    corner: [Lane<u32>; 3],
    fraction: [Lane<f32>; 3],
    in_volume: Lane<u32>,
}

pub fn axes(grid: &Grid) -> [Axis; 3] {
    grid.shape.map(|n| Axis::new(n, n))
}

impl Lattice {
    fn new(grid: &Grid) -> Self {
        Self {
            voxel_from_world: rows(&grid.voxel_from_world),
            axes: axes(grid),
        }
    }

    #[inline(always)]
    fn cells(&self, at: &Points) -> Cells {
        let mut cells = Cells {
            in_volume: [1; LANES],
            ..Cells::default()
        };
        for axis in 0..3 {
            let [mx, my, mz, shift] = self.voxel_from_world[axis];
            for lane in 0..LANES {
                let v = (mx * at.x[lane] + my * at.y[lane]) + (mz * at.z[lane] + shift);
                let position = self.axes[axis].position(v);
                cells.in_volume[lane] &= position.in_volume;
                cells.corner[axis][lane] = position.cell;
                cells.fraction[axis][lane] = position.t;
            }
        }
        cells
    }
}

/// `sum + weight · record`.
#[inline(always)]
fn add_weighted(sum: &Record, weight: f32, record: &Record) -> Record {
    let mut out = *sum;
    for k in 0..8 {
        out[k] += weight * record[k];
    }
    out
}

#[inline(always)]
fn weighted(weight: f32, record: &Record) -> Record {
    let mut out = *record;
    for value in &mut out {
        *value *= weight;
    }
    out
}

/// Linear along each axis; continuous, with kinks at the faces between cells.
pub struct Trilinear<'a> {
    lattice: Lattice,
    pub records: Cow<'a, [Record]>,
    /// Distance in records from a voxel to the next along y and z.
    pub strides: [usize; 2],
}

impl<'a> Trilinear<'a> {
    pub fn new(field: &'a TensorField) -> Self {
        let records: &[Record] = bytemuck::cast_slice(&field.tensors);
        let [nx, ny, _] = thick(field.grid.shape);
        Self {
            lattice: Lattice::new(&field.grid),
            records: thickened(records, field.grid.shape),
            strides: [nx, nx * ny],
        }
    }
}

impl Sampler for Trilinear<'_> {
    #[inline(always)]
    fn sample(&self, at: &Points) -> Samples {
        let cells = self.lattice.cells(at);
        let [sy, sz] = self.strides;
        let mut base: Lane<u32> = [0; LANES];
        let mut weights: [Lane<f32>; 8] = [[0.0; LANES]; 8];
        for lane in 0..LANES {
            base[lane] = cells.corner[0][lane]
                .wrapping_add(cells.corner[1][lane].wrapping_mul(sy as u32))
                .wrapping_add(cells.corner[2][lane].wrapping_mul(sz as u32));
            let [x, y, z] = [0, 1, 2].map(|a| cells.fraction[a][lane]);
            let (low, high) = ((1.0 - y) * (1.0 - z), y * (1.0 - z));
            let (low_z, high_z) = ((1.0 - y) * z, y * z);
            for (pair, w) in [low, high, low_z, high_z].into_iter().enumerate() {
                weights[2 * pair + 1][lane] = w * x;
                weights[2 * pair][lane] = w - w * x;
            }
        }
        let mut samples = Samples {
            records: [[0.0; 8]; LANES],
            in_volume: cells.in_volume,
        };
        for lane in 0..LANES {
            let base = base[lane] as usize;
            let w = |corner: usize| weights[corner][lane];
            let edge = |start: usize, first: usize| {
                let row = &self.records[start..start + 2];
                add_weighted(&weighted(w(first), &row[0]), w(first + 1), &row[1])
            };
            let low = [edge(base, 0), edge(base + sy, 2)];
            let high = [edge(base + sz, 4), edge(base + sz + sy, 6)];
            let out = &mut samples.records[lane];
            for k in 0..8 {
                out[k] = (low[0][k] + low[1][k]) + (high[0][k] + high[1][k]);
            }
        }
        samples
    }
}

/// Cubic B-splines that interpolate the voxels' values; twice continuously differentiable.
pub struct Cubic<'a> {
    lattice: Lattice,
    pub coefficients: Coefficients<'a>,
}

impl<'a> Cubic<'a> {
    pub fn new(grid: &Grid, coefficients: Coefficients<'a>) -> Self {
        Self {
            lattice: Lattice::new(grid),
            coefficients,
        }
    }
}

impl Sampler for Cubic<'_> {
    #[inline(always)]
    fn sample(&self, at: &Points) -> Samples {
        let cells = self.lattice.cells(at);
        let [sy, sz] = self.coefficients.strides;
        let mut weights = [[[0.0; LANES]; 4]; 3];
        for axis in 0..3 {
            for lane in 0..LANES {
                let w = cubic_weights(cells.fraction[axis][lane]);
                for k in 0..4 {
                    weights[axis][k][lane] = w[k];
                }
            }
        }
        let mut samples = Samples {
            records: [[0.0; 8]; LANES],
            in_volume: cells.in_volume,
        };
        for lane in 0..LANES {
            // The margin of one record makes the cell's corner the second of the four.
            let [x, y, z] = cells.corner;
            let base = x[lane] as usize + sy * y[lane] as usize + sz * z[lane] as usize;
            let mut sum = [0.0; 8];
            for k in 0..4 {
                for j in 0..4 {
                    let start = base + sy * j + sz * k;
                    let row = &self.coefficients.records[start..start + 4];
                    let w = weights[1][j][lane] * weights[2][k][lane];
                    let x = |i: usize| weights[0][i][lane];
                    let near = add_weighted(&weighted(x(1), &row[1]), x(2), &row[2]);
                    let far = add_weighted(&weighted(x(0), &row[0]), x(3), &row[3]);
                    for c in 0..8 {
                        sum[c] += w * (near[c] + far[c]);
                    }
                }
            }
            samples.records[lane] = sum;
        }
        samples
    }
}
