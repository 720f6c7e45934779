//! Amplitudes at the directions of a half sphere, as many voxels at a time as a vector has lanes, and their local
//! maxima.

use super::Params;
use crate::compute::vector::{Kernel, Scalar, Vector};
use crate::data::HalfSphere;
use crate::data::spherical_harmonics::{count, evaluate};

/// Outputs of one pass: their sums stay in registers.
const TILE: usize = 8;

pub struct Amplitudes {
    sphere: &'static HalfSphere,
    /// By tile of directions, then by coefficient, then by direction of the tile.
    functions: Vec<f32>,
    coefficients: usize,
}

impl Amplitudes {
    pub fn new(order: usize, sphere: &'static HalfSphere) -> Self {
        let values: Vec<Vec<f64>> = sphere
            .vertices
            .iter()
            .map(|u| evaluate(order, *u))
            .collect();
        let mut functions = Vec::new();
        for tile in values.chunks(TILE) {
            for c in 0..count(order) {
                // The last tile repeats its last direction.
                let row = (0..TILE).map(|k| tile[k.min(tile.len() - 1)][c] as f32);
                functions.extend(row);
            }
        }
        Self {
            sphere,
            functions,
            coefficients: count(order),
        }
    }

    fn directions(&self) -> usize {
        self.sphere.vertices.len()
    }

    /// Local maxima of each voxel above the cut, by direction: `coefficients[index * voxels + voxel]`.
    pub fn maxima(&self, coefficients: &[f32], voxels: usize, params: &Params) -> Vec<Vec<usize>> {
        f32::dispatch(Maxima {
            tables: self,
            coefficients,
            voxels,
            params,
        })
    }

    /// The amplitudes of each voxel, voxel by voxel: `coefficients[index * voxels + voxel]`.
    pub fn values(&self, coefficients: &[f32], voxels: usize) -> Vec<f32> {
        f32::dispatch(Values {
            tables: self,
            coefficients,
            voxels,
        })
    }
}

/// Loads one coefficient of a group of voxels into each input; lanes beyond the last voxel repeat it.
#[inline(always)]
fn load<V: Vector<Scalar = f32>>(
    coefficients: &[f32],
    voxels: usize,
    first: usize,
    inputs: &mut [V],
) {
    let mut lanes = [0.0; 16];
    for (row, input) in coefficients.chunks_exact(voxels).zip(inputs) {
        for (lane, value) in lanes[..V::LANES].iter_mut().enumerate() {
            *value = row[(first + lane).min(voxels - 1)];
        }
        *input = V::load(&lanes);
    }
}

/// The amplitudes at all directions, tile by tile.
#[inline(always)]
fn evaluate_group<V: Vector<Scalar = f32>>(tables: &Amplitudes, inputs: &[V], out: &mut [V]) {
    let tiles = tables.functions.chunks_exact(TILE * tables.coefficients);
    for (matrix, out) in tiles.zip(out.chunks_exact_mut(TILE)) {
        let mut sums = [V::zero(); TILE];
        let (rows, _) = matrix.as_chunks::<TILE>();
        for (row, input) in rows.iter().zip(inputs) {
            for k in 0..TILE {
                sums[k] = V::splat(row[k]).mul_add(*input, sums[k]);
            }
        }
        out.copy_from_slice(&sums);
    }
}

struct Values<'a> {
    tables: &'a Amplitudes,
    coefficients: &'a [f32],
    voxels: usize,
}

impl Kernel<f32> for Values<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<V: Vector<Scalar = f32>>(self) -> Vec<f32> {
        let (tables, directions) = (self.tables, self.tables.directions());
        let mut inputs = vec![V::zero(); tables.coefficients];
        let mut amplitudes = vec![V::zero(); directions.next_multiple_of(TILE)];
        let mut out = vec![0.0; self.voxels * directions];
        let mut lanes = [0.0; 16];
        for first in (0..self.voxels).step_by(V::LANES) {
            load(self.coefficients, self.voxels, first, &mut inputs);
            evaluate_group(tables, &inputs, &mut amplitudes);
            let used = V::LANES.min(self.voxels - first);
            let group = &mut out[first * directions..(first + used) * directions];
            for (direction, amplitude) in amplitudes[..directions].iter().enumerate() {
                amplitude.store(&mut lanes);
                for (lane, value) in lanes[..used].iter().enumerate() {
                    group[lane * directions + direction] = *value;
                }
            }
        }
        out
    }
}

struct Maxima<'a> {
    tables: &'a Amplitudes,
    coefficients: &'a [f32],
    voxels: usize,
    params: &'a Params,
}

impl Kernel<f32> for Maxima<'_> {
    type Output = Vec<Vec<usize>>;

    #[inline(always)]
    fn run<V: Vector<Scalar = f32>>(self) -> Self::Output {
        let (tables, directions) = (self.tables, self.tables.directions());
        let mut inputs = vec![V::zero(); tables.coefficients];
        let mut amplitudes = vec![V::zero(); directions.next_multiple_of(TILE)];
        let mut out = vec![Vec::new(); self.voxels];
        let mut lanes = [0.0; 16];
        let (zero, one) = (V::zero(), V::splat(1.0));
        for first in (0..self.voxels).step_by(V::LANES) {
            load(self.coefficients, self.voxels, first, &mut inputs);
            evaluate_group(tables, &inputs, &mut amplitudes);
            let mut largest = V::zero();
            for amplitude in &amplitudes[..directions] {
                largest = amplitude.max(largest);
            }
            // A peak between directions 8° apart is higher than at them by up to a quarter at order 12.
            let low = V::splat(0.5 * self.params.min_amplitude as f32);
            let share = largest * V::splat(0.5 * self.params.min_share as f32);
            let cut = low.max(share).max(zero);
            let used = V::LANES.min(self.voxels - first);
            for (direction, neighbours) in tables.sphere.neighbours.iter().enumerate() {
                let amplitude = amplitudes[direction];
                let mut is_peak = amplitude.select_above(cut, one, zero);
                for &neighbour in neighbours {
                    // Two equal neighbours both become starting points; Newton's method leads them to one peak.
                    is_peak = amplitudes[neighbour].select_above(amplitude, zero, is_peak);
                }
                is_peak.store(&mut lanes);
                for (lane, mark) in lanes[..used].iter().enumerate() {
                    if *mark > 0.0 {
                        out[first + lane].push(direction);
                    }
                }
            }
        }
        out
    }
}
