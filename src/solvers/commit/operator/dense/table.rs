//! Responses by direction, a row each.

use super::{Responses, Samples};
use crate::compute::Lanes;
use crate::solvers::commit::directions;
use crate::solvers::commit::harmonics::{DEGREES, at_cosine};
use glam::DVec3;
use rayon::prelude::*;

/// Numbers of a register.
pub const LANES: usize = 8;

/// Registers of a row, or of a part of it.
type Registers = [Lanes<LANES>];

/// `width` registers a row: first `directions · atoms` rows of streamlines, then `peaks · extra` of peaks, then
/// those of free water. 0 in what is padding.
#[derive(Debug)]
pub struct Table {
    values: Vec<Lanes<LANES>>,
    pub width: usize,
    pub directions: usize,
    pub atoms: usize,
    pub peaks: usize,
    pub extra: usize,
    pub free: usize,
}

/// What fills some of the rows: directions, columns of each, and their values at b = 0.
type Kind<'a> = (Vec<Option<DVec3>>, &'a [Vec<[f64; DEGREES]>], &'a [f64]);

impl Table {
    /// Rows of any length, which is filled up.
    pub fn padded(rows: &[f32], samples: usize, counts: [usize; 5]) -> Self {
        let width = samples.div_ceil(LANES);
        let mut values = vec![Lanes::ZERO; rows.len() / samples * width];
        for (to, from) in values
            .chunks_exact_mut(width)
            .zip(rows.chunks_exact(samples))
        {
            pack(to, from.iter().copied());
        }
        let [directions, atoms, peaks, extra, free] = counts;
        Self {
            values,
            width,
            directions,
            atoms,
            peaks,
            extra,
            free,
        }
    }

    /// At the middles of these of `side` cells.
    pub fn of(
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
            let begin = values.len();
            values.resize(begin + axes.len() * atoms.len() * width, Lanes::ZERO);
            if atoms.is_empty() {
                continue;
            }
            let rows = values[begin..].par_chunks_mut(width).enumerate();
            rows.for_each(|(i, row)| {
                let (axis, atom) = (axes[i / atoms.len()], i % atoms.len());
                pack(row, made(&atoms[atom], flat[atom], axis, samples));
            });
        }
        Self {
            values,
            width,
            directions: directions.len(),
            atoms: responses.intra.len(),
            peaks: peaks.len(),
            extra: responses.extra.len(),
            free: responses.free.len(),
        }
    }

    /// So many rows from one on.
    #[inline(always)]
    pub fn rows(&self, first: usize, count: usize) -> &Registers {
        &self.values[first * self.width..(first + count) * self.width]
    }

    /// Some registers of a row.
    #[inline(always)]
    pub fn part<const W: usize>(&self, row: usize, begin: usize) -> &[Lanes<LANES>; W] {
        let values = &self.values[row * self.width + begin..];
        values.first_chunk().unwrap_or(&[Lanes::ZERO; W])
    }

    fn row(&self, row: usize) -> impl Iterator<Item = f32> + '_ {
        self.rows(row, 1).iter().flat_map(|lanes| lanes.0)
    }

    pub fn first_extra(&self) -> usize {
        self.directions * self.atoms
    }

    pub fn first_free(&self) -> usize {
        self.first_extra() + self.peaks * self.extra
    }

    pub fn bytes(&self) -> usize {
        size_of_val(self.values.as_slice())
    }

    /// Of each column, in the mean over the directions.
    pub fn mean_squares(&self) -> [Vec<f64>; 3] {
        let mean = |first: usize, directions: usize, atoms: usize| -> Vec<f64> {
            let of = |atom: usize| {
                let rows = (0..directions).map(|d| self.row(first + d * atoms + atom));
                let squares = rows.flatten().map(|v| f64::from(v).powi(2));
                squares.sum::<f64>() / directions.max(1) as f64
            };
            (0..atoms).map(of).collect()
        };
        [
            mean(0, self.directions, self.atoms),
            mean(self.first_extra(), self.peaks, self.extra),
            mean(self.first_free(), 1, self.free),
        ]
    }

    /// Products of the streamlines' columns, summed over the directions.
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

    /// With columns of the streamlines that are sums of these, each with its factors.
    pub fn combined(&self, factors: &[Vec<f64>]) -> Self {
        let samples = self.width * LANES;
        let mut values = vec![Lanes::ZERO; self.directions * factors.len() * self.width];
        let rows = values.par_chunks_mut(self.width).enumerate();
        rows.for_each(|(i, to)| {
            let (direction, own) = (i / factors.len(), &factors[i % factors.len()]);
            let mut sums = vec![0.0; samples];
            for (atom, factor) in own.iter().enumerate() {
                let row = self.row(direction * self.atoms + atom);
                let each = sums.iter_mut().zip(row);
                each.for_each(|(sum, value)| *sum += factor * f64::from(value));
            }
            pack(to, sums.iter().map(|sum| *sum as f32));
        });
        values.extend_from_slice(&self.values[self.first_extra() * self.width..]);
        Self {
            values,
            atoms: factors.len(),
            ..*self
        }
    }
}

fn pack(to: &mut Registers, values: impl Iterator<Item = f32>) {
    let places = to.iter_mut().flat_map(|lanes| &mut lanes.0);
    places.zip(values).for_each(|(to, value)| *to = value);
}

/// A row of an atom, of all directions alike where no axis is given.
fn made(
    atom: &[[f64; DEGREES]],
    flat: f64,
    axis: Option<DVec3>,
    samples: &Samples,
) -> impl Iterator<Item = f32> {
    let shells = atom.iter().zip(&samples.shells);
    let values = shells.flat_map(move |(r, shell)| {
        shell.directions.iter().map(move |g| {
            let cosine = axis.map_or(1.0, |o| o.dot(*g).clamp(-1.0, 1.0));
            at_cosine(r, cosine)
        })
    });
    std::iter::repeat_n(flat, samples.b0.len())
        .chain(values)
        .map(|value| value as f32)
}
