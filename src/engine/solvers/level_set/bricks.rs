//! φ in bricks: a page of values where a brick holds part of the band, otherwise only the side it is on.

use crate::data::{Grid, Mask};
use rayon::prelude::*;
use std::sync::Arc;

/// Table entries of bricks without a page: all values −clamp, or all +clamp.
pub const OUTSIDE: u32 = 0;
pub const INSIDE: u32 = 1;

/// φ of a whole grid, positive inside, in units of the shortest voxel edge.
#[derive(Clone, Debug)]
pub struct Field {
    /// Grid of the image.
    pub grid: Arc<Grid>,
    /// Shortest voxel edge, mm: the unit of φ.
    pub h_mm: f64,
    /// |φ| is limited to this.
    pub clamp: f32,
    /// Voxels along a brick's edge.
    pub brick: usize,
    /// By brick, x fastest: `OUTSIDE`, `INSIDE`, or the index of its page, from 2 on.
    pub table: Vec<u32>,
    /// The first two pages hold the constants.
    pub pages: Vec<f32>,
}

/// Bricks along each axis.
pub fn counts(shape: [usize; 3], brick: usize) -> [usize; 3] {
    shape.map(|n| n.div_ceil(brick))
}

impl Field {
    /// Bricks of unclamped values by voxel; those outside the band get no page unless `everywhere`.
    pub fn from_fn(
        grid: &Arc<Grid>,
        h_mm: f64,
        clamp: f32,
        (brick, everywhere): (usize, bool),
        value: impl Fn([usize; 3]) -> f32 + Sync,
    ) -> Self {
        let shape = counts(grid.shape, brick);
        let total: usize = shape.iter().product();
        let page = |b: usize| -> Result<Vec<f32>, u32> {
            let first = origin(b, shape, brick);
            let mut page = vec![0.0; brick.pow(3)];
            let (mut low, mut high) = (false, false);
            for (i, out) in page.iter_mut().enumerate() {
                let at = [i % brick, i / brick % brick, i / brick / brick];
                // Beyond the grid its last voxel is repeated.
                let voxel = [0, 1, 2].map(|a| (first[a] + at[a]).min(grid.shape[a] - 1));
                *out = value(voxel).clamp(-clamp, clamp);
                low |= *out > -clamp;
                high |= *out < clamp;
            }
            match (low, high) {
                _ if everywhere => Ok(page),
                (true, true) => Ok(page),
                (true, false) => Err(INSIDE),
                (false, _) => Err(OUTSIDE),
            }
        };
        let bricks: Vec<Result<Vec<f32>, u32>> = (0..total).into_par_iter().map(page).collect();
        let volume = brick.pow(3);
        let mut pages = vec![-clamp; volume];
        pages.resize(2 * volume, clamp);
        let mut table = Vec::with_capacity(total);
        for brick in bricks {
            match brick {
                Ok(page) => {
                    table.push((pages.len() / volume) as u32);
                    pages.extend(page);
                }
                Err(side) => table.push(side),
            }
        }
        Self {
            grid: grid.clone(),
            h_mm,
            clamp,
            brick,
            table,
            pages,
        }
    }

    /// A field with nothing inside.
    pub fn outside(grid: &Arc<Grid>, h_mm: f64, clamp: f32, brick: usize) -> Self {
        let volume = brick.pow(3);
        let mut pages = vec![-clamp; volume];
        pages.resize(2 * volume, clamp);
        Self {
            grid: grid.clone(),
            h_mm,
            clamp,
            brick,
            table: vec![OUTSIDE; counts(grid.shape, brick).iter().product()],
            pages,
        }
    }

    /// The field with pages for all bricks within this many voxels of the band.
    pub fn with_margin(&self, margin: usize) -> Self {
        let mut out = self.clone();
        let (b, shape) = (self.brick, self.counts());
        let volume = b.pow(3);
        for (brick, &slot) in self.table.iter().enumerate().filter(|(_, s)| **s > INSIDE) {
            let page = &self.pages[slot as usize * volume..(slot as usize + 1) * volume];
            // First and last voxel of the band along each axis.
            let (mut low, mut high) = ([b; 3], [0; 3]);
            for (i, _) in page
                .iter()
                .enumerate()
                .filter(|(_, v)| v.abs() < self.clamp)
            {
                let at = [i % b, i / b % b, i / b / b];
                for a in 0..3 {
                    (low[a], high[a]) = (low[a].min(at[a]), high[a].max(at[a]));
                }
            }
            if low[0] == b {
                continue;
            }
            let at = origin(brick, shape, 1);
            let from = [0, 1, 2].map(|a| at[a].saturating_sub(usize::from(low[a] < margin)));
            let to = [0, 1, 2].map(|a| {
                let near = high[a] + margin >= b;
                (at[a] + usize::from(near)).min(shape[a] - 1)
            });
            for z in from[2]..=to[2] {
                for y in from[1]..=to[1] {
                    for x in from[0]..=to[0] {
                        let entry = &mut out.table[x + shape[0] * (y + shape[1] * z)];
                        if *entry <= INSIDE {
                            let side = *entry as usize * volume;
                            *entry = (out.pages.len() / volume) as u32;
                            out.pages.extend_from_within(side..side + volume);
                        }
                    }
                }
            }
        }
        out
    }

    /// Number of bricks along each axis, the last ones possibly cut by the border.
    pub fn counts(&self) -> [usize; 3] {
        counts(self.grid.shape, self.brick)
    }

    /// Number of bricks with a page.
    pub fn active(&self) -> usize {
        self.table.iter().filter(|s| **s > INSIDE).count()
    }

    /// Memory of pages and table, bytes.
    pub fn bytes(&self) -> usize {
        4 * (self.pages.len() + self.table.len())
    }

    /// φ at a voxel; ±clamp in bricks without a page.
    #[inline]
    pub fn value(&self, voxel: [usize; 3]) -> f32 {
        let (b, shape) = (self.brick, self.counts());
        let at = voxel.map(|v| v / b);
        let slot = self.table[at[0] + shape[0] * (at[1] + shape[1] * at[2])] as usize;
        let [x, y, z] = voxel.map(|v| v % b);
        self.pages[slot * b * b * b + x + b * (y + b * z)]
    }

    /// Values by voxel.
    pub fn values_by_voxel(&self) -> Vec<f32> {
        self.by_voxel(|v| v)
    }

    /// The voxels inside.
    pub fn mask(&self) -> Mask {
        Mask::new(self.grid.clone(), self.by_voxel(|v| u8::from(v > 0.0)))
    }

    /// Maps the values, row by row and brick by brick.
    fn by_voxel<T: Copy + Default + Send + Sync>(&self, map: impl Fn(f32) -> T + Sync) -> Vec<T> {
        let [nx, ny, _] = self.grid.shape;
        let (b, shape) = (self.brick, self.counts());
        let mut out = vec![T::default(); self.grid.voxel_count()];
        let constants = [OUTSIDE, INSIDE].map(|slot| map(self.pages[slot as usize * b * b * b]));
        out.par_chunks_mut(nx)
            .enumerate()
            .for_each(|(row, values)| {
                let (y, z) = (row % ny, row / ny);
                let first = shape[0] * (y / b + shape[1] * (z / b));
                let within = b * (y % b + b * (z % b));
                for (brick, part) in values.chunks_mut(b).enumerate() {
                    match self.table[first + brick] {
                        side if side <= INSIDE => part.fill(constants[side as usize]),
                        slot => {
                            let page = &self.pages[slot as usize * b * b * b + within..];
                            part.iter_mut().zip(page).for_each(|(to, v)| *to = map(*v));
                        }
                    }
                }
            });
        out
    }

    /// Counts voxels with |φ| below `within`, voxels inside, and all voxels.
    pub fn count_voxels(&self, within: f32) -> BrickCounts {
        let (b, shape) = (self.brick, self.counts());
        let mut census = BrickCounts {
            all: self.grid.voxel_count() as u64,
            ..BrickCounts::default()
        };
        for (i, &slot) in self.table.iter().enumerate() {
            let first = origin(i, shape, b);
            let size = [0, 1, 2].map(|a| b.min(self.grid.shape[a] - first[a]));
            match slot {
                OUTSIDE => {}
                INSIDE => census.inside += size.iter().product::<usize>() as u64,
                slot => {
                    for z in 0..size[2] {
                        for y in 0..size[1] {
                            let row = slot as usize * b * b * b + b * (y + b * z);
                            for v in &self.pages[row..row + size[0]] {
                                census.inside += u64::from(*v > 0.0);
                                census.near += u64::from(v.abs() < within);
                            }
                        }
                    }
                }
            }
        }
        census
    }

    /// How far the surface has moved since `before`, in units of h: the root mean square over its area of the change
    /// in the voxels' inside fractions, φ + ½ limited to 0–1. The area is that of a surface of random orientation
    /// that crosses as many edges between voxels: where φ is steep, few voxels lie along the surface, and each
    /// changes by more than the surface moved. Needs the backend's threads installed.
    pub fn moved(&self, before: &Self) -> f64 {
        let (b, shape) = (self.brick, self.counts());
        let volume = b.pow(3);
        let share = |phi: f32| (phi + 0.5).clamp(0.0, 1.0);
        let squared_difference = |(v, w): (&f32, &f32)| f64::from((share(*v) - share(*w)).powi(2));
        let differs = |(v, w): (&f32, &f32)| u64::from((*v > 0.0) != (*w > 0.0));
        let page = |field: &'_ Self, i: usize| field.table[i] as usize * volume;
        let of_brick = |i: usize| -> (f64, u64) {
            if self.table[i].max(before.table[i]) <= INSIDE {
                return (0.0, 0);
            }
            let first = origin(i, shape, b);
            let size = [0, 1, 2].map(|a| b.min(self.grid.shape[a] - first[a]));
            let now = &self.pages[page(self, i)..][..volume];
            let then = &before.pages[page(before, i)..][..volume];
            let [right, behind, above] = [0, 1, 2].map(|a| {
                let next = i + [1, shape[0], shape[0] * shape[1]][a];
                let more = first[a] + b < self.grid.shape[a];
                more.then(|| &self.pages[page(self, next)..][..volume])
            });
            let (mut sum, mut crossed) = (0.0, 0);
            for (y, z) in (0..size[2]).flat_map(|z| (0..size[1]).map(move |y| (y, z))) {
                let at = b * (y + b * z);
                let row = &now[at..at + size[0]];
                sum += row
                    .iter()
                    .zip(&then[at..])
                    .map(squared_difference)
                    .sum::<f64>();
                let along = row.iter().zip(&row[1..]).map(differs).sum::<u64>();
                let last = right.map_or(0, |page| differs((&row[size[0] - 1], &page[at])));
                let next = [
                    if y + 1 < size[1] {
                        Some(&now[at + b..])
                    } else {
                        behind.map(|p| &p[b * b * z..])
                    },
                    if z + 1 < size[2] {
                        Some(&now[at + b * b..])
                    } else {
                        above.map(|p| &p[b * y..])
                    },
                ];
                let across = next
                    .into_iter()
                    .flatten()
                    .map(|next| row.iter().zip(next).map(differs).sum::<u64>());
                crossed += along + last + across.sum::<u64>();
            }
            (sum, crossed)
        };
        // Summed in the order of the bricks: equal at any number of threads.
        let bricks = (0..self.table.len()).into_par_iter().with_min_len(64);
        let bricks: Vec<(f64, u64)> = bricks.map(of_brick).collect();
        let sum: f64 = bricks.iter().map(|b| b.0).sum();
        let crossed = bricks.iter().map(|b| b.1).sum::<u64>().max(1);
        // Along each axis, a surface of random orientation crosses edges over half its area.
        let edges = 0.5 * self.grid.spacing().element_sum() / self.h_mm;
        (sum * edges / crossed as f64).sqrt()
    }

    /// These values in an order independent of their history: pages by brick, and no constant pages.
    pub fn canonical(&self) -> Self {
        let volume = self.brick.pow(3);
        let mut pages = self.pages[..2 * volume].to_vec();
        let mut table = Vec::with_capacity(self.table.len());
        let (shape, b) = (self.counts(), self.brick);
        for (i, &slot) in self.table.iter().enumerate() {
            if slot <= INSIDE {
                table.push(slot);
                continue;
            }
            let page = &self.pages[slot as usize * volume..(slot as usize + 1) * volume];
            let first = origin(i, shape, b);
            let (mut low, mut high) = (false, false);
            for (k, v) in page.iter().enumerate() {
                let at = [k % b, k / b % b, k / b / b];
                if (0..3).all(|a| first[a] + at[a] < self.grid.shape[a]) {
                    low |= *v > -self.clamp;
                    high |= *v < self.clamp;
                }
            }
            match (low, high) {
                (true, true) => {
                    table.push((pages.len() / volume) as u32);
                    pages.extend_from_slice(page);
                }
                (true, false) => table.push(INSIDE),
                (false, _) => table.push(OUTSIDE),
            }
        }
        Self {
            table,
            pages,
            grid: self.grid.clone(),
            ..*self
        }
    }
}

/// Voxel counts of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BrickCounts {
    /// All voxels of the grid.
    pub all: u64,
    /// Voxels with φ > 0.
    pub inside: u64,
    /// Voxels with |φ| below the given distance.
    pub near: u64,
}

/// First voxel of a brick.
pub fn origin(index: usize, shape: [usize; 3], brick: usize) -> [usize; 3] {
    let [nx, ny, _] = shape;
    [index % nx, index / nx % ny, index / (nx * ny)].map(|b| b * brick)
}
