//! Responses by direction, one row each.

use super::{Responses, Samples};
use crate::compute::Lanes;
use crate::solvers::commit::directions;
use crate::solvers::commit::harmonics::{DEGREES, even_powers};
use glam::DVec3;
use rayon::prelude::*;

/// Numbers per register.
pub const LANES: usize = 8;

/// Largest number of registers per strip: sixteen minus those for other values.
pub const WIDEST: usize = 12;

/// `width` registers per row: first `directions · atoms` rows of streamlines, then `peaks · extra` rows of peaks,
/// then those of free water. Padding is 0.
#[derive(Debug)]
pub struct Table {
    /// Strip by strip, with the registers of all rows in each strip.
    values: Vec<Lanes<LANES>>,
    /// Registers per row: the samples, rounded up to whole registers.
    pub width: usize,
    /// Directions with rows of streamlines.
    pub directions: usize,
    /// Columns per streamline, each with one row per direction.
    pub atoms: usize,
    /// Directions with rows of peaks.
    pub peaks: usize,
    /// Columns per peak, each with one row per direction.
    pub extra: usize,
    /// Columns of free water, one row each.
    pub free: usize,
}

/// The content of some rows: directions, columns of each, and their values at b = 0.
type Kind<'a> = (Vec<Option<DVec3>>, &'a [Vec<[f64; DEGREES]>], &'a [f64]);

impl Table {
    /// Rows of any length, padded.
    pub fn padded(rows: &[f32], samples: usize, counts: [usize; 5]) -> Self {
        let width = samples.div_ceil(LANES);
        let mut values = vec![Lanes::ZERO; rows.len() / samples * width];
        for (to, from) in values
            .chunks_exact_mut(width)
            .zip(rows.chunks_exact(samples))
        {
            pack(to, from.iter().copied());
        }
        Self::with(values, width, counts)
    }

    /// A table of row-major values.
    fn with(values: Vec<Lanes<LANES>>, width: usize, counts: [usize; 5]) -> Self {
        let [directions, atoms, peaks, extra, free] = counts;
        let mut table = Self {
            values: Vec::new(),
            width,
            directions,
            atoms,
            peaks,
            extra,
            free,
        };
        let strips = (0..width).step_by(table.strip_width());
        let strips = strips.map(|begin| begin..width.min(begin + table.strip_width()));
        table.values = strips
            .flat_map(|strip| {
                let rows = values.chunks_exact(width);
                rows.flat_map(move |row| row[strip.clone()].iter().copied())
            })
            .collect();
        table
    }

    /// Registers per strip, except in the last strip.
    pub fn strip_width(&self) -> usize {
        let strips = self.width.div_ceil(WIDEST).max(1);
        self.width.div_ceil(strips).max(1)
    }

    /// Rows at the centres of these among `side` × `side` cells.
    pub fn new(
        responses: &Responses,
        samples: &Samples,
        directions: &[u16],
        peaks: &[u16],
        side: u16,
    ) -> Self {
        let width = samples.count().div_ceil(LANES);
        let axes = |codes: &[u16]| -> Vec<Option<DVec3>> {
            let middles = codes.iter().map(|&c| directions::middle(c, side));
            middles.map(Some).collect()
        };
        let kinds: [Kind; 3] = [
            (axes(directions), &responses.intra, &responses.flat[0]),
            (axes(peaks), &responses.extra, &responses.flat[1]),
            (vec![None], &responses.free, &responses.flat[2]),
        ];
        let mut values = Vec::new();
        for (axes, atoms, flat) in kinds {
            let of_shells = |shells: &Vec<_>| shells.iter().map(even_powers).collect();
            let powers: Vec<Vec<[f64; DEGREES]>> = atoms.iter().map(of_shells).collect();
            let begin = values.len();
            values.resize(begin + axes.len() * atoms.len() * width, Lanes::ZERO);
            if atoms.is_empty() {
                continue;
            }
            let rows = values[begin..].par_chunks_mut(width).enumerate();
            rows.for_each(|(i, row)| {
                let (axis, atom) = (axes[i / atoms.len()], i % atoms.len());
                pack(row, response_row(&powers[atom], flat[atom], axis, samples));
            });
        }
        let counts = [
            directions.len(),
            responses.intra.len(),
            peaks.len(),
            responses.extra.len(),
            responses.free.len(),
        ];
        Self::with(values, width, counts)
    }

    /// The strip that begins at a register of the rows and is `W` registers wide.
    #[inline(always)]
    pub fn strip<const W: usize>(&self, begin: usize) -> &[[Lanes<LANES>; W]] {
        let count = self.count();
        self.values[begin * count..(begin + W) * count]
            .as_chunks()
            .0
    }

    fn count(&self) -> usize {
        self.first_free() + self.free
    }

    fn row(&self, row: usize) -> impl Iterator<Item = f32> + '_ {
        let strips = (0..self.width).step_by(self.strip_width());
        let registers = strips.flat_map(move |begin| {
            let width = self.strip_width().min(self.width - begin);
            let first = begin * self.count() + row * width;
            &self.values[first..first + width]
        });
        registers.flat_map(|lanes| lanes.0)
    }

    /// Index of the first row of a peak.
    pub(super) fn first_extra(&self) -> usize {
        self.directions * self.atoms
    }

    /// Index of the first row of free water.
    pub(super) fn first_free(&self) -> usize {
        self.first_extra() + self.peaks * self.extra
    }

    /// Memory of the table, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.values.as_slice())
    }

    /// The mean square of each column over all directions.
    pub fn mean_squares(&self) -> [Vec<f64>; 3] {
        let mean = |first: usize, directions: usize, atoms: usize| -> Vec<f64> {
            let mean_square = |atom: usize| {
                let rows = (0..directions).map(|d| self.row(first + d * atoms + atom));
                let squares = rows.flatten().map(|v| f64::from(v).powi(2));
                squares.sum::<f64>() / directions.max(1) as f64
            };
            (0..atoms).map(mean_square).collect()
        };
        [
            mean(0, self.directions, self.atoms),
            mean(self.first_extra(), self.peaks, self.extra),
            mean(self.first_free(), 1, self.free),
        ]
    }

    /// The largest norm of a streamline's row.
    pub fn largest_streamline_row(&self) -> f64 {
        let rows = (0..self.first_extra()).into_par_iter();
        let squares = rows.map(|i| self.row(i).map(|v| f64::from(v).powi(2)).sum::<f64>());
        squares.reduce(|| 0.0, f64::max).sqrt()
    }

    /// Products of the streamlines' columns, summed over all directions.
    pub fn products(&self) -> Vec<Vec<f64>> {
        let mut gram = vec![vec![0.0; self.atoms]; self.atoms];
        for direction in 0..self.directions {
            for i in 0..self.atoms {
                for j in 0..self.atoms {
                    let (a, b) = (direction * self.atoms + i, direction * self.atoms + j);
                    let both = self.row(a).zip(self.row(b));
                    let products = both.map(|(a, b)| f64::from(a) * f64::from(b));
                    gram[i][j] += products.sum::<f64>();
                }
            }
        }
        gram
    }

    /// A table whose streamline columns are linear combinations of these, with the given factors.
    pub fn with_combined_columns(&self, factors: &[Vec<f64>]) -> Self {
        let streamlines = self.directions * factors.len();
        let rest = self.count() - self.first_extra();
        let mut values = vec![Lanes::ZERO; (streamlines + rest) * self.width];
        let rows = values.par_chunks_mut(self.width).enumerate();
        rows.for_each(|(i, to)| {
            if i >= streamlines {
                return pack(to, self.row(self.first_extra() + i - streamlines));
            }
            let (direction, own) = (i / factors.len(), &factors[i % factors.len()]);
            let mut sums = vec![0.0; self.width * LANES];
            for (atom, factor) in own.iter().enumerate() {
                let row = self.row(direction * self.atoms + atom);
                let each = sums.iter_mut().zip(row);
                each.for_each(|(sum, value)| *sum += factor * f64::from(value));
            }
            pack(to, sums.iter().map(|sum| *sum as f32));
        });
        let counts = [
            self.directions,
            factors.len(),
            self.peaks,
            self.extra,
            self.free,
        ];
        Self::with(values, self.width, counts)
    }
}

fn pack(to: &mut [Lanes<LANES>], values: impl Iterator<Item = f32>) {
    let places = to.iter_mut().flat_map(|lanes| &mut lanes.0);
    places.zip(values).for_each(|(to, value)| *to = value);
}

/// A row of an atom by its powers in each shell; equal in all directions if no axis is given.
fn response_row(
    powers: &[[f64; DEGREES]],
    flat: f64,
    axis: Option<DVec3>,
    samples: &Samples,
) -> impl Iterator<Item = f32> {
    let shells = powers.iter().zip(&samples.shells);
    let values = shells.flat_map(move |(factors, shell)| {
        shell.directions.iter().map(move |g| {
            let square = axis.map_or(1.0, |o| o.dot(*g).powi(2).min(1.0));
            let sum = |sum: f64, factor: &f64| sum * square + factor;
            factors.iter().rev().fold(0.0, sum)
        })
    });
    std::iter::repeat_n(flat, samples.b0.len())
        .chain(values)
        .map(|value| value as f32)
}
