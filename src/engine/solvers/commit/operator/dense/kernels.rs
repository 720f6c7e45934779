//! Sums of rows, and products with them.
//!
//! Where a voxel's samples need more registers than there are, they are processed in strips. The width of a strip is
//! a compile-time constant; otherwise the sums would be in memory.

use super::table::LANES;
use super::{Dense, Record};
use crate::compute::Lanes;
use crate::compute::simd::{Kernel, prefetch};
use crate::solvers::commit::operator::workers::ExactSums;

/// Rows are prefetched this many runs before they are needed.
const PREFETCH_RUNS: usize = 6;
/// Registers per cache line.
const REGISTERS_PER_LINE: usize = 2;
/// Bytes of a table that fits the second-level cache.
const NEAR: usize = 1 << 20;

/// Expands `$call` for each strip with the strip's width as a constant `$W`.
macro_rules! strips {
    ($table:expr, |$begin:ident, $W:ident| $call:expr) => {
        let (all, width) = ($table.width, $table.strip_width());
        for $begin in (0..all).step_by(width) {
            strips!(@ (all - $begin).min(width), $W, $call, 1 2 3 4 5 6 7 8 9 10 11 12)
        }
    };
    (@ $width:expr, $W:ident, $call:expr, $($n:literal)*) => {
        match $width {
            $($n => { const $W: usize = $n; $call })*
            _ => {}
        }
    };
}

/// Expands `$call` with the columns of a streamline as a constant `$A`, 0 where there are many.
macro_rules! few {
    ($atoms:expr, |$A:ident| $call:expr) => {
        match $atoms {
            1 => {
                const $A: usize = 1;
                $call
            }
            2 => {
                const $A: usize = 2;
                $call
            }
            3 => {
                const $A: usize = 3;
                $call
            }
            4 => {
                const $A: usize = 4;
                $call
            }
            _ => {
                const $A: usize = 0;
                $call
            }
        }
    };
}

impl Dense {
    /// Prefetches the rows of a later run if the table exceeds the cache.
    #[inline(always)]
    fn prefetch_run<const W: usize>(&self, rows: &[[Lanes<LANES>; W]], run: usize) {
        if let Some(direction) = self.runs.get(run + PREFETCH_RUNS) {
            let first = usize::from(*direction) * self.shape.atoms * W;
            let rows = rows.as_flattened();
            let lines = (first..first + self.shape.atoms * W).step_by(REGISTERS_PER_LINE);
            lines.for_each(|i| prefetch(rows, i));
        }
    }

    /// The first row of a peak.
    #[inline(always)]
    fn peak_row(&self, voxel: usize, place: usize) -> usize {
        let peak = usize::from(self.peaks[voxel * self.shape.peaks + place]);
        self.table.first_extra() + peak * self.shape.extra
    }
}

pub struct Forward<'a> {
    pub dense: &'a Dense,
    pub intra: &'a [f32],
    pub own: &'a [f32],
    pub piece: usize,
    pub weights: &'a mut Vec<f32>,
    pub y: &'a mut [f32],
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let dense = self.dense;
        let voxels = dense.voxels_of_piece(self.piece);
        let runs = dense.voxels[voxels.end] - dense.voxels[voxels.start];
        self.weights.clear();
        self.weights.resize(runs * dense.shape.atoms, 0.0);
        few!(dense.shape.atoms, |A| gather::<A, FMA>(
            dense,
            dense.records_of_piece(self.piece),
            self.intra,
            self.weights
        ));
        let mut forward = self;
        strips!(dense.table, |begin, W| forward.strip::<W, FMA>(begin));
    }
}

/// Lengths times weights, summed over each run.
#[inline(always)]
fn gather<const A: usize, const FMA: bool>(
    dense: &Dense,
    records: &[Record],
    x: &[f32],
    weights: &mut [f32],
) {
    let atoms = if A == 0 { dense.shape.atoms } else { A };
    // One too many, because the first record begins a run.
    let mut next = 0;
    for record in records {
        next += usize::from(record.first);
        let length = f32::from(record.length) * dense.unit_mm;
        let from = &x[record.streamline as usize * atoms..][..atoms];
        let to = &mut weights[(next - 1) * atoms..][..atoms];
        for (to, from) in to.iter_mut().zip(from) {
            *to = fused::<FMA>(length, *from, *to);
        }
    }
}

impl Forward<'_> {
    #[inline(always)]
    fn strip<const W: usize, const FMA: bool>(&mut self, begin: usize) {
        let dense = self.dense;
        let (shape, table) = (&dense.shape, dense.table.strip::<W>(begin));
        let (far, water) = (dense.table.bytes() > NEAR, dense.table.first_free());
        let mut weights = self.weights.as_slice();
        let voxels = dense.voxels_of_piece(self.piece);
        let (samples, _) = self.y.as_chunks_mut::<LANES>();
        for (y, voxel) in samples.chunks_exact_mut(dense.table.width).zip(voxels) {
            let mut sums = [Lanes::ZERO; W];
            for run in dense.voxels[voxel]..dense.voxels[voxel + 1] {
                if far {
                    dense.prefetch_run(table, run);
                }
                let (own, rest) = weights.split_at(shape.atoms);
                weights = rest;
                let first = usize::from(dense.runs[run]) * shape.atoms;
                sums = add::<W, FMA>(sums, own, &table[first..]);
            }
            let own = &self.own
                [voxel * shape.unknowns_per_voxel()..(voxel + 1) * shape.unknowns_per_voxel()];
            let (peaks, free) = own.split_at(shape.peaks * shape.extra);
            for place in 0..usize::from(dense.peak_counts[voxel]) {
                let own = &peaks[place * shape.extra..][..shape.extra];
                let first = dense.peak_row(voxel, place);
                sums = add::<W, FMA>(sums, own, &table[first..]);
            }
            sums = add::<W, FMA>(sums, free, &table[water..]);
            // By index: sums that an iterator walks through would be in memory.
            let y = &mut y[begin..begin + W];
            for s in 0..W {
                y[s] = sums[s].0;
            }
        }
    }
}

/// Adds rows times their weights; the sums stay in registers while rows are added.
#[inline(always)]
fn add<const W: usize, const FMA: bool>(
    mut sums: [Lanes<LANES, FMA>; W],
    weights: &[f32],
    rows: &[[Lanes<LANES>; W]],
) -> [Lanes<LANES, FMA>; W] {
    for (weight, row) in weights.iter().zip(rows) {
        let weight = Lanes::splat(*weight);
        for s in 0..W {
            sums[s] = weight.mul_add::<FMA>(row[s].cast(), sums[s]);
        }
    }
    sums
}

pub struct AdjointKernel<'a, 's> {
    pub dense: &'a Dense,
    pub piece: usize,
    pub y: &'a [f32],
    pub own: &'a mut [f32],
    pub sums: &'a mut ExactSums<'s>,
    /// Scratch memory with arbitrary contents.
    pub scratch: &'a mut Vec<f32>,
}

impl Kernel for AdjointKernel<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let dense = self.dense;
        let voxels = dense.voxels_of_piece(self.piece);
        let runs = dense.voxels[voxels.end] - dense.voxels[voxels.start];
        let intra = runs * dense.shape.atoms;
        let count = (intra + self.own.len()).next_multiple_of(LANES);
        // First one register each, then one number each.
        if self.scratch.len() < count * (LANES + 1) {
            self.scratch.resize(count * (LANES + 1), 0.0);
        }
        let (products, totals) = self.scratch.split_at_mut(count * LANES);
        let (y, _) = self.y.as_chunks::<LANES>();
        let (products, _) = products.as_chunks_mut::<LANES>();
        let (of_runs, of_own) = products.split_at_mut(intra);
        strips!(dense.table, |begin, W| multiply::<W, FMA>(
            dense, self.piece, y, begin, of_runs, of_own
        ));
        let (totals, _) = totals.as_chunks_mut::<LANES>();
        let (eights, _) = products.as_chunks::<LANES>();
        for (total, eight) in totals.iter_mut().zip(eights) {
            *total = Lanes::<LANES, FMA>::totals(&eight.map(Lanes)).0;
        }
        let totals = totals.as_flattened();
        few!(dense.shape.atoms, |A| scatter::<A>(
            dense,
            dense.records_of_piece(self.piece),
            totals,
            self.sums
        ));
        self.own
            .copy_from_slice(&totals[intra..intra + self.own.len()]);
    }
}

/// Products of a strip of y with all rows, lane by lane, added to those of earlier strips.
#[inline(always)]
fn multiply<const W: usize, const FMA: bool>(
    dense: &Dense,
    piece: usize,
    y: &[[f32; LANES]],
    begin: usize,
    of_runs: &mut [[f32; LANES]],
    of_own: &mut [[f32; LANES]],
) {
    let (shape, table) = (&dense.shape, dense.table.strip::<W>(begin));
    let far = dense.table.bytes() > NEAR;
    let voxels = dense
        .voxels_of_piece(piece)
        .zip(y.chunks_exact(dense.table.width));
    let mut next = 0;
    for (i, (voxel, y)) in voxels.enumerate() {
        let y: [Lanes<LANES, FMA>; W] = std::array::from_fn(|i| Lanes(y[begin + i]));
        for run in dense.voxels[voxel]..dense.voxels[voxel + 1] {
            if far {
                dense.prefetch_run(table, run);
            }
            let first = usize::from(dense.runs[run]) * shape.atoms;
            let to = &mut of_runs[next..next + shape.atoms];
            next += shape.atoms;
            dot(&y, &table[first..], to, begin > 0);
        }
        let own = &mut of_own[i * shape.unknowns_per_voxel()..(i + 1) * shape.unknowns_per_voxel()];
        let (peaks, free) = own.split_at_mut(shape.peaks * shape.extra);
        let peak_count = usize::from(dense.peak_counts[voxel]);
        for place in 0..peak_count {
            let to = &mut peaks[place * shape.extra..][..shape.extra];
            dot(&y, &table[dense.peak_row(voxel, place)..], to, begin > 0);
        }
        peaks[peak_count * shape.extra..].fill([0.0; LANES]);
        dot(&y, &table[dense.table.first_free()..], free, begin > 0);
    }
}

/// Products with rows, stored or added to existing ones.
#[inline(always)]
fn dot<const W: usize, const FMA: bool>(
    y: &[Lanes<LANES, FMA>; W],
    rows: &[[Lanes<LANES>; W]],
    to: &mut [[f32; LANES]],
    added: bool,
) {
    for (to, row) in to.iter_mut().zip(rows) {
        let mut sums = [Lanes::ZERO; 4];
        for s in 0..W {
            sums[s % 4] = y[s].mul_add::<FMA>(row[s].cast(), sums[s % 4]);
        }
        let [a, b, c, d] = sums;
        let sum = (a + b) + (c + d);
        *to = if added { Lanes(*to) + sum } else { sum }.0;
    }
}

/// Adds to each streamline its share of the run sums.
#[inline(always)]
fn scatter<const A: usize>(
    dense: &Dense,
    records: &[Record],
    totals: &[f32],
    sums: &mut ExactSums,
) {
    let atoms = if A == 0 { dense.shape.atoms } else { A };
    let mut next = 0;
    for record in records {
        next += usize::from(record.first);
        let length = f32::from(record.length) * dense.unit_mm;
        let from = &totals[(next - 1) * atoms..][..atoms];
        let first = record.streamline as usize * atoms;
        for (atom, from) in from.iter().enumerate() {
            sums.add(first + atom, f64::from(length) * f64::from(*from));
        }
    }
}

#[inline(always)]
fn fused<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}
