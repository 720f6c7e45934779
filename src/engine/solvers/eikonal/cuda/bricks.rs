//! The layout of a metric on the card.

use super::super::MAX_OFFSET;
use super::super::readers::Readers;
use super::super::weights::Offset;
use super::{CostSource, LocalSolver, Prepared};
use crate::compute::{Cancelled, Control};
use crate::solvers::metric::{Metric, Places, matrix};
use std::collections::HashMap;
use std::sync::Arc;

/// Voxels of a brick along an axis, and in total.
const SIDE: usize = 4;
pub const CELLS: usize = SIDE * SIDE * SIDE;
/// Words per header.
pub const HEADER: usize = 64;
/// Offsets in a header: `Header` in kernels/eikonal.cu.
const FIRST_RECORD: usize = 27;
const FIRST_READER: usize = 28;
const READERS: usize = 29;
const INSIDE: usize = 30;
const OWN: usize = 32;
/// Marks a closed end of an offset.
const CLOSED: u32 = u32::MAX;
/// Words of W and G per voxel.
const RECORD: usize = 16;
/// Floats per voxel, one for each pair of octants.
const FLOORS: usize = 4;
/// Words per reader.
const READER: usize = 4;
/// Words per voxel for offsets: six weights, two unused, twelve ends.
pub const TERMS: usize = 20;
const ENDS: usize = 8;

/// Bricks with at least one voxel, followed by one for the outside.
#[derive(Clone, Debug)]
pub struct Bricks {
    pub headers: Vec<[u32; HEADER]>,
    /// Bricks that read another brick's cells through long offsets: the brick, and one bit per cell.
    pub readers: Vec<[u32; READER]>,
    /// The cell of each place within a field.
    pub cell_of: Vec<u32>,
    /// Whether any voxel reads through a long offset.
    pub has_terms: bool,
    /// Places in the order of their records.
    order: Vec<u32>,
}

/// The initial state of the fields.
pub struct Start {
    pub cells: Vec<u32>,
    pub values: Vec<f32>,
    /// Pairs of a field and a brick.
    pub bricks: Vec<[u32; 2]>,
}

impl Start {
    /// Bytes on a card.
    pub fn bytes(&self) -> u64 {
        4 * (self.cells.len() + self.values.len() + 2 * self.bricks.len()) as u64
    }
}

/// Voxels between two checks for cancellation.
const CHUNK: usize = 4096;

impl Bricks {
    /// The layout of a metric, with the bricks that read others.
    pub fn of_metric(prepared: &Prepared, control: &Control) -> Result<Self, Cancelled> {
        let mut bricks = Self::new(&prepared.metric, control)?;
        bricks.find_readers(prepared, control)?;
        Ok(bricks)
    }

    /// The layout of some voxels, without readers.
    pub fn new(metric: &Places, control: &Control) -> Result<Self, Cancelled> {
        let shape = metric.grid.shape.map(|n| n.div_ceil(SIDE));
        let number = |b: [usize; 3]| b[0] + shape[0] * (b[1] + shape[1] * b[2]);
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); shape.iter().product()];
        for place in 0..metric.len() {
            if place % CHUNK == 0 {
                control.check()?;
            }
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
            has_terms: false,
            order: Vec::with_capacity(metric.len()),
        };
        for (name, &brick) in used.iter().enumerate() {
            if name % (CHUNK / CELLS) == 0 {
                control.check()?;
            }
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
            // Records in the order of their cells: the index of a cell's record is a count of bits.
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
        Ok(out)
    }

    /// By place the index of its record.
    pub fn record_of(&self) -> Vec<u32> {
        let mut records = vec![0; self.order.len()];
        for (record, &place) in self.order.iter().enumerate() {
            records[place as usize] = record as u32;
        }
        records
    }

    /// The bricks by their position on the grid, x fastest, and the position of each brick.
    pub fn positions(&self, places: &Places) -> (Vec<u32>, Vec<u32>) {
        let shape = places.grid.shape.map(|n| n.div_ceil(SIDE));
        let mut names = vec![0; shape.iter().product()];
        let mut positions = vec![0; self.headers.len()];
        for (place, cell) in self.cell_of.iter().enumerate() {
            let [x, y, z] = places.voxel(place).map(|c| c as usize / SIDE);
            let position = x + shape[0] * (y + shape[1] * z);
            let brick = cell / CELLS as u32;
            names[position] = brick;
            positions[brick as usize] = position as u32;
        }
        (names, positions)
    }

    /// Bytes that stay on a card for a metric.
    pub fn bytes(&self, prepared: &Prepared) -> u64 {
        let terms = match self.needs_terms(prepared) {
            true => TERMS,
            false => 0,
        };
        let cell = 1;
        let word_count = HEADER * self.headers.len()
            + (RECORD + FLOORS + terms + cell) * self.order.len()
            + READER * self.readers.len();
        4 * word_count as u64
    }

    fn needs_terms(&self, prepared: &Prepared) -> bool {
        self.has_terms || prepared.local == LocalSolver::Selling
    }

    /// Finds which bricks read which cells through long offsets.
    fn find_readers(&mut self, prepared: &Prepared, control: &Control) -> Result<(), Cancelled> {
        let mut readers = Readers::new(self.headers.len());
        let order = std::mem::take(&mut self.order);
        for (i, &place) in order.iter().enumerate() {
            if i % CHUNK == 0 {
                control.check()?;
            }
            let brick = self.cell_of[place as usize] / CELLS as u32;
            for offset in prepared.offsets(place as usize).iter() {
                self.has_terms = true;
                for end in self.cells_at_ends(&prepared.metric, place as usize, offset) {
                    if end == CLOSED {
                        continue;
                    }
                    let (read, cell) = (end / CELLS as u32, end as usize % CELLS);
                    if read == brick {
                        self.headers[brick as usize][OWN + cell / 32] |= 1 << (cell % 32);
                        continue;
                    }
                    readers.add(read, cell, brick);
                }
            }
        }
        self.order = order;
        for (header, readers) in self.headers.iter_mut().zip(readers.of_bricks()) {
            header[FIRST_READER] = self.readers.len() as u32;
            header[READERS] = readers.len() as u32;
            let text = |(brick, cells): (u32, u64)| [brick, cells as u32, (cells >> 32) as u32, 0];
            self.readers.extend(readers.into_iter().map(text));
        }
        Ok(())
    }

    /// Cells at the two ends of an offset.
    fn cells_at_ends(&self, metric: &Metric, place: usize, offset: &Offset) -> [u32; 2] {
        let voxel = metric.voxel(place);
        [0, 1].map(|end| {
            if !offset.open[end] {
                return CLOSED;
            }
            let sign = [1, -1][end];
            let to = [0, 1, 2].map(|a| voxel[a] + sign * i64::from(offset.e[a]));
            metric.place_of(to).map_or(CLOSED, |to| self.cell_of[to])
        })
    }

    /// These bricks, and those that a step of [`MAX_OFFSET`] voxels within the mask reaches from them.
    fn around(&self, mut bricks: Vec<u32>) -> Vec<u32> {
        let outside = self.headers.len() as u32 - 1;
        for _ in 0..(MAX_OFFSET as usize).div_ceil(SIDE) {
            let near = |brick: &u32| self.headers[*brick as usize][..27].to_vec();
            bricks = bricks.iter().flat_map(near).collect();
            bricks.sort_unstable();
            bricks.dedup();
            bricks.retain(|brick| *brick != outside);
        }
        bricks
    }

    /// W, G and their determinants, by record.
    pub fn records(&self, prepared: &Prepared) -> Vec<f32> {
        let metric = &prepared.metric;
        let mut out = Vec::with_capacity(RECORD * self.order.len());
        for &place in &self.order {
            let (w, g) = (metric.speed[place as usize], metric.cost[place as usize]);
            let det = matrix(&w).determinant();
            out.extend(w);
            out.extend(g);
            out.extend([det as f32, (1.0 / det) as f32, 0.0, 0.0]);
        }
        out
    }

    /// Bits of Selling's weights and the cells they read, by record; a few entries if nothing is read.
    pub fn terms(&self, prepared: &Prepared) -> Vec<u32> {
        let none: [u32; TERMS] = std::array::from_fn(|k| if k < ENDS { 0 } else { CLOSED });
        if !self.needs_terms(prepared) {
            return none.to_vec();
        }
        let mut out = none.repeat(self.order.len());
        for (record, &place) in out.chunks_exact_mut(TERMS).zip(&self.order) {
            for (k, offset) in prepared.offsets(place as usize).iter().enumerate() {
                record[k] = offset.rho.to_bits();
                let cells = self.cells_at_ends(&prepared.metric, place as usize, offset);
                record[ENDS + 2 * k..][..2].copy_from_slice(&cells);
            }
        }
        out
    }

    /// The seeds, and the bricks that can read one; if only the card knows the readers, all near enough to read one.
    pub fn start(&self, sources: &[Arc<CostSource>], knows_readers: bool) -> Start {
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
            let mut bricks: Vec<u32> = Vec::new();
            if !knows_readers {
                bricks = self.around(changed.keys().copied().collect());
                changed.clear();
            }
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
            let of_field = bricks.into_iter().map(|brick| [field as u32, brick]);
            start.bricks.extend(of_field);
        }
        start
    }
}

/// Index of a place within its brick, x fastest.
fn cell(metric: &Places, place: usize) -> usize {
    let [x, y, z] = metric.voxel(place).map(|c| c as usize % SIDE);
    x + SIDE * (y + SIDE * z)
}
