//! A metric as the card holds it.

use super::super::weights::Offset;
use super::{Prepared, Source};
use crate::solvers::eikonal::LocalSolver;
use crate::solvers::metric::{Metric, matrix};
use crate::solvers::tensor_fit::eigen_symmetric;
use std::collections::HashMap;
use std::sync::Arc;

/// Voxels of a brick along an axis, and all.
const SIDE: usize = 4;
pub const CELLS: usize = SIDE * SIDE * SIDE;
/// Words of a header.
pub const HEADER: usize = 64;
/// Places of a header: as Header in kernels/eikonal.cu.
const FIRST_RECORD: usize = 27;
const FIRST_READER: usize = 28;
const READERS: usize = 29;
const INSIDE: usize = 30;
/// An end of an offset that is shut.
const SHUT: u32 = u32::MAX;

/// Bricks with at least one voxel, and one of outside after them.
#[derive(Clone, Debug)]
pub struct Bricks {
    pub headers: Vec<[u32; HEADER]>,
    /// Bricks that read another's cells through long offsets: the brick, a bit for each cell.
    pub readers: Vec<[u32; 4]>,
    /// The cell of each place within a field.
    pub cell_of: Vec<u32>,
    /// What crossing a brick costs at least, on average.
    pub crossing: f32,
    /// Places in the order of their records.
    order: Vec<u32>,
}

/// What the fields start from.
pub struct Start {
    pub cells: Vec<u32>,
    pub values: Vec<f32>,
    pub bricks: Vec<u32>,
}

impl Bricks {
    pub fn new(prepared: &Prepared) -> Self {
        let metric = &prepared.metric;
        let shape = metric.grid.shape.map(|n| n.div_ceil(SIDE));
        let number = |b: [usize; 3]| b[0] + shape[0] * (b[1] + shape[1] * b[2]);
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); shape.iter().product()];
        for place in 0..metric.len() {
            let brick = metric.voxel(place).map(|c| c as usize / SIDE);
            members[number(brick)].push(place as u32);
        }
        let used: Vec<usize> = (0..members.len())
            .filter(|b| !members[*b].is_empty())
            .collect();
        let outside = used.len() as u32;
        let mut names = vec![outside; members.len()];
        for (name, &brick) in used.iter().enumerate() {
            names[brick] = name as u32;
        }
        let mut out = Self {
            headers: Vec::with_capacity(used.len() + 1),
            readers: Vec::new(),
            cell_of: vec![0; metric.len()],
            crossing: crossing(metric),
            order: Vec::with_capacity(metric.len()),
        };
        for (name, &brick) in used.iter().enumerate() {
            let at = [
                brick % shape[0],
                brick / shape[0] % shape[1],
                brick / (shape[0] * shape[1]),
            ];
            let mut header = [0; HEADER];
            for (k, around) in header[..27].iter_mut().enumerate() {
                let step = [k % 3, k / 3 % 3, k / 9];
                let next = [0, 1, 2].map(|a| (at[a] + step[a]).wrapping_sub(1));
                let within = (0..3).all(|a| next[a] < shape[a]);
                *around = if within { names[number(next)] } else { outside };
            }
            header[FIRST_RECORD] = out.order.len() as u32;
            let mut cells: Vec<(usize, u32)> = members[brick]
                .iter()
                .map(|&place| (cell(metric, place as usize), place))
                .collect();
            // Records in the order of their cells: a cell's is found by counting bits.
            cells.sort_unstable();
            for (cell, place) in cells {
                header[INSIDE + cell / 32] |= 1 << (cell % 32);
                out.cell_of[place as usize] = (name * CELLS + cell) as u32;
                out.order.push(place);
            }
            out.headers.push(header);
        }
        let mut last = [0; HEADER];
        last[..27].fill(outside);
        out.headers.push(last);
        out.link(prepared);
        out
    }

    /// Finds who reads what through long offsets.
    fn link(&mut self, prepared: &Prepared) {
        let mut readers: Vec<Vec<(u32, u64)>> = vec![Vec::new(); self.headers.len()];
        for &place in &self.order {
            let brick = self.cell_of[place as usize] / CELLS as u32;
            for offset in prepared.offsets(place as usize) {
                for end in self.ends(&prepared.metric, place as usize, offset) {
                    let read = end / CELLS as u32;
                    if end == SHUT || read == brick {
                        continue;
                    }
                    let bit = 1u64 << (end % CELLS as u32);
                    // Bricks come in order: a known reader is the last.
                    match readers[read as usize].last_mut() {
                        Some((reader, cells)) if *reader == brick => *cells |= bit,
                        _ => readers[read as usize].push((brick, bit)),
                    }
                }
            }
        }
        for (header, readers) in self.headers.iter_mut().zip(readers) {
            header[FIRST_READER] = self.readers.len() as u32;
            header[READERS] = readers.len() as u32;
            let words = |(brick, cells): (u32, u64)| [brick, cells as u32, (cells >> 32) as u32, 0];
            self.readers.extend(readers.into_iter().map(words));
        }
    }

    /// Cells at the two ends of an offset.
    fn ends(&self, metric: &Metric, place: usize, offset: &Offset) -> [u32; 2] {
        let voxel = metric.voxel(place);
        [0, 1].map(|end| {
            if !offset.open[end] {
                return SHUT;
            }
            let sign = [1, -1][end];
            let to = [0, 1, 2].map(|a| voxel[a] + sign * i64::from(offset.e[a]));
            metric.place_of(to).map_or(SHUT, |to| self.cell_of[to])
        })
    }

    /// W, G, their determinants and what no way to the stencil's faces undercuts, by record.
    pub fn records(&self, prepared: &Prepared) -> Vec<f32> {
        let metric = &prepared.metric;
        // As in the layout of the processor.
        let away = match prepared.local {
            LocalSolver::Godunov6 => 1.0 / 3f64.sqrt(),
            _ => 1.0,
        };
        let mut out = Vec::with_capacity(16 * self.order.len());
        for &place in &self.order {
            let (w, g) = (metric.speed[place as usize], metric.cost[place as usize]);
            let det = matrix(&w).determinant();
            let (values, _) = eigen_symmetric(w.map(f64::from));
            let least = away / values[0].sqrt() * (1.0 - 1e-6);
            out.extend(w);
            out.extend(g);
            out.extend([det as f32, (1.0 / det) as f32, least as f32, 0.0]);
        }
        out
    }

    /// Selling's weights and the cells they read, by record; a few zeros where there are none.
    pub fn weights(&self, prepared: &Prepared) -> (Vec<f32>, Vec<u32>) {
        if !prepared.local.uses_selling() {
            return (vec![0.0; 6], vec![SHUT; 12]);
        }
        let mut rho = vec![0.0; 6 * self.order.len()];
        let mut ends = vec![SHUT; 12 * self.order.len()];
        for (record, &place) in self.order.iter().enumerate() {
            for (k, offset) in prepared.offsets(place as usize).iter().enumerate() {
                rho[6 * record + k] = offset.rho;
                let cells = self.ends(&prepared.metric, place as usize, offset);
                ends[12 * record + 2 * k..][..2].copy_from_slice(&cells);
            }
        }
        (rho, ends)
    }

    /// The seeds, and the bricks that can read one.
    pub fn start(&self, sources: &[Arc<Source>]) -> Start {
        let count = self.headers.len() as u32 - 1;
        let mut start = Start {
            cells: Vec::new(),
            values: Vec::new(),
            bricks: Vec::new(),
        };
        for (field, source) in sources.iter().enumerate() {
            let mut changed: HashMap<u32, u64> = HashMap::new();
            for seed in &source.seeds {
                let cell = self.cell_of[seed.place as usize];
                start
                    .cells
                    .push(field as u32 * (count + 1) * CELLS as u32 + cell);
                start.values.push(seed.value);
                *changed.entry(cell / CELLS as u32).or_default() |= 1 << (cell % CELLS as u32);
            }
            let mut bricks = Vec::new();
            for (&brick, &cells) in &changed {
                let header = &self.headers[brick as usize];
                bricks.extend(header[..27].iter().filter(|b| **b < count));
                let readers = header[FIRST_READER] as usize;
                for reader in &self.readers[readers..readers + header[READERS] as usize] {
                    if cells & (u64::from(reader[1]) | u64::from(reader[2]) << 32) != 0 {
                        bricks.push(reader[0]);
                    }
                }
            }
            bricks.sort_unstable();
            bricks.dedup();
            start
                .bricks
                .extend(bricks.iter().map(|b| field as u32 * count + b));
        }
        start
    }
}

/// Of a place within its brick, x fastest.
fn cell(metric: &Metric, place: usize) -> usize {
    let [x, y, z] = metric.voxel(place).map(|c| c as usize % SIDE);
    x + SIDE * (y + SIDE * z)
}

fn crossing(metric: &Metric) -> f32 {
    // Of W's trace: at most √3 times the greatest speed, which is fine for a first guess.
    let slowness = metric
        .speed
        .iter()
        .map(|w| f64::from(w[0] + w[3] + w[5]).sqrt().recip());
    (SIDE as f64 * slowness.sum::<f64>() / metric.len() as f64) as f32
}
