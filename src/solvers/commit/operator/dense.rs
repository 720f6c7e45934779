//! A table of responses by direction: the oracle of the factorised operator, the quicker one where voxels
//! hold few segments, and the one for tables from elsewhere.
//!
//! Segments of a voxel are sorted by direction; those of one share its row. Rows go four at a time, so that
//! the sums are read and written once for four.

use super::workers::{self, Sums};
use super::{Dictionary, Fill, Finish, Responses, Samples, Shape};
use crate::compute::Lanes;
use crate::compute::simd::{Kernel, dispatch, prefetch};
use crate::solvers::commit::dictionary::Segment;
use crate::solvers::commit::directions::{self, SIDE};
use crate::solvers::commit::harmonics::{DEGREES, at_cosine};
use glam::DVec3;
use rayon::prelude::*;

/// Single-precision lanes that rows are filled up to.
const LANES: usize = 8;
/// Numbers of a cache line.
const LINE: usize = 16;
/// So many rows before they are needed they are asked for.
const AHEAD: usize = 8;
/// Voxels of one piece of work.
const PIECE: usize = 64;

/// Responses, `samples` a row: first `directions · atoms` rows of streamlines, then `peaks · extra` of peaks,
/// then those of free water.
#[derive(Debug)]
pub struct Table {
    pub values: Vec<f32>,
    /// A multiple of eight; 0 in what is padding.
    pub samples: usize,
    pub directions: usize,
    pub atoms: usize,
    pub peaks: usize,
    pub extra: usize,
    pub free: usize,
}

impl Table {
    /// Rows of any length, which is filled up.
    pub fn padded(rows: &[f32], samples: usize, counts: [usize; 5]) -> Self {
        let padded = samples.next_multiple_of(LANES);
        let mut values = vec![0.0; rows.len() / samples * padded];
        for (to, from) in values
            .chunks_exact_mut(padded)
            .zip(rows.chunks_exact(samples))
        {
            to[..samples].copy_from_slice(from);
        }
        let [directions, atoms, peaks, extra, free] = counts;
        Self {
            values,
            samples: padded,
            directions,
            atoms,
            peaks,
            extra,
            free,
        }
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.samples..(row + 1) * self.samples]
    }

    /// Asks for the rows that come then.
    #[inline(always)]
    fn soon(&self, list: &List, at: usize) {
        for (row, _) in list.iter().skip(at).take(4) {
            let begin = *row as usize * self.samples;
            for line in (0..self.samples).step_by(LINE) {
                prefetch(&self.values, begin + line);
            }
        }
    }

    fn first_extra(&self) -> usize {
        self.directions * self.atoms
    }

    fn first_free(&self) -> usize {
        self.first_extra() + self.peaks * self.extra
    }

    /// Of each column, in the mean over the directions.
    pub fn mean_squares(&self) -> [Vec<f64>; 3] {
        let mean = |first: usize, directions: usize, atoms: usize| -> Vec<f64> {
            let of = |atom: usize| {
                let rows = (0..directions).map(|d| self.row(first + d * atoms + atom));
                let squares = rows.flatten().map(|v| f64::from(*v).powi(2));
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
}

#[derive(Debug)]
pub struct Dense {
    pub shape: Shape,
    table: Table,
    offsets: Vec<u64>,
    /// Sorted by direction in each voxel.
    segments: Vec<Segment>,
    unit_mm: f32,
    peaks: Vec<u16>,
    peak_counts: Vec<u8>,
    sums: Sums,
}

/// Numbers the codes that occur, from 0, in their order.
fn numbered(codes: impl Iterator<Item = u16>) -> (Vec<u16>, Vec<u16>) {
    let mut number = vec![u16::MAX; 1 << 16];
    codes.for_each(|c| number[usize::from(c)] = 0);
    let mut known = Vec::new();
    for (code, place) in number.iter_mut().enumerate() {
        if *place == 0 {
            *place = known.len() as u16;
            known.push(code as u16);
        }
    }
    (known, number)
}

impl Dense {
    pub fn new(
        dictionary: &Dictionary,
        responses: &Responses,
        samples: &Samples,
        side: u16,
    ) -> Self {
        let coarse: Vec<u16> = (0..=u16::MAX)
            .into_par_iter()
            .map(|code| match side {
                SIDE => code,
                _ => directions::cell(directions::middle(code, SIDE), side),
            })
            .collect();
        let used = dictionary
            .segments
            .iter()
            .map(|s| coarse[usize::from(s.direction)]);
        let (rows, number) = numbered(used);
        let peaks = (0..dictionary.voxels.len()).flat_map(|v| dictionary.peaks_in(v));
        let (peak_rows, peak_number) = numbered(peaks.map(|c| coarse[usize::from(*c)]));
        let count = samples.count().next_multiple_of(LANES);
        let axes = |rows: &[u16]| -> Vec<Option<DVec3>> {
            rows.iter()
                .map(|&c| Some(directions::middle(c, side)))
                .collect()
        };
        let kinds = [
            (axes(&rows), &responses.intra, &responses.flat[0]),
            (axes(&peak_rows), &responses.extra, &responses.flat[1]),
            (vec![None], &responses.free, &responses.flat[2]),
        ];
        let mut values = Vec::new();
        for (axes, atoms, flat) in kinds {
            let begin = values.len();
            values.resize(begin + axes.len() * atoms.len() * count, 0.0);
            if atoms.is_empty() {
                continue;
            }
            let rows = values[begin..].par_chunks_mut(count).enumerate();
            rows.for_each(|(i, row)| {
                let (axis, atom) = (axes[i / atoms.len()], i % atoms.len());
                fill(row, &atoms[atom], flat[atom], axis, samples);
            });
        }
        let table = Table {
            values,
            samples: count,
            directions: rows.len(),
            atoms: responses.intra.len(),
            peaks: peak_rows.len(),
            extra: responses.extra.len(),
            free: responses.free.len(),
        };
        let renumber = |code: u16| number[usize::from(coarse[usize::from(code)])];
        let renumber_peak = |code: u16| peak_number[usize::from(coarse[usize::from(code)])];
        Self::make(dictionary, table, renumber, renumber_peak)
    }

    /// The dictionary's directions are rows of the table.
    pub fn with_table(dictionary: &Dictionary, table: Table) -> Self {
        Self::make(dictionary, table, |row| row, |row| row)
    }

    fn make(
        dictionary: &Dictionary,
        table: Table,
        row: impl Fn(u16) -> u16,
        peak_row: impl Fn(u16) -> u16,
    ) -> Self {
        let mut segments = dictionary.segments.clone();
        segments
            .iter_mut()
            .for_each(|s| s.direction = row(s.direction));
        let mut rest = segments.as_mut_slice();
        let mut parts = Vec::new();
        for pair in dictionary.offsets.windows(2) {
            let (own, others) = rest.split_at_mut((pair[1] - pair[0]) as usize);
            rest = others;
            parts.push(own);
        }
        parts
            .into_par_iter()
            .for_each(|own| own.sort_by_key(|s| s.direction));
        Self {
            shape: Shape {
                fibres: dictionary.fibres,
                atoms: table.atoms,
                voxels: dictionary.voxels.len(),
                peaks: dictionary.places,
                extra: table.extra,
                free: table.free,
                samples: table.samples,
            },
            table,
            offsets: dictionary.offsets.clone(),
            segments,
            unit_mm: dictionary.unit_mm as f32,
            peaks: dictionary.peaks.iter().map(|c| peak_row(*c)).collect(),
            peak_counts: dictionary.peak_counts.clone(),
            sums: Sums::default(),
        }
    }

    fn in_voxel(&self, voxel: usize) -> &[Segment] {
        &self.segments[self.offsets[voxel] as usize..self.offsets[voxel + 1] as usize]
    }

    pub fn apply(&self, x: &[f32], rows: &mut [f32], finish: Finish) -> [f64; 2] {
        let width = PIECE * self.shape.samples;
        let pieces = rows.par_chunks_mut(width).enumerate();
        let sums = pieces.map_init(
            || (Vec::new(), vec![0.0; width]),
            |(list, y), (piece, rows)| {
                let y = &mut y[..rows.len()];
                dispatch(Forward {
                    dense: self,
                    x,
                    first: piece * PIECE,
                    y,
                    list,
                });
                finish(piece * width, y, rows)
            },
        );
        sums.reduce(|| [0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
    }

    pub fn adjoint(&self, y: Fill, x: &mut [f32]) {
        let (intra, own) = x.split_at_mut(self.shape.intra());
        let pieces = self.shape.voxels.div_ceil(PIECE);
        let width = PIECE * self.shape.own();
        workers::run(
            &self.sums,
            intra,
            own,
            width,
            pieces,
            |piece, own, sums, rows| {
                let first = piece * PIECE;
                let last = self.shape.voxels.min(first + PIECE);
                rows.resize((last - first) * self.shape.samples, 0.0);
                y(first * self.shape.samples, rows);
                dispatch(Back {
                    dense: self,
                    y: rows,
                    voxels: first..last,
                    own,
                    sums,
                    list: Vec::new(),
                });
            },
        );
    }
}

fn fill(
    row: &mut [f32],
    atom: &[[f64; DEGREES]],
    flat: f64,
    axis: Option<DVec3>,
    samples: &Samples,
) {
    let mut next = samples.b0.len();
    row[..next].fill(flat as f32);
    for (r, shell) in atom.iter().zip(&samples.shells) {
        for g in &shell.directions {
            let cosine = axis.map_or(1.0, |o| o.dot(*g).clamp(-1.0, 1.0));
            row[next] = at_cosine(r, cosine) as f32;
            next += 1;
        }
    }
}

/// Rows and their weights.
type List = Vec<(u32, f32)>;

impl Dense {
    /// The rows of peaks and free water of a voxel.
    #[inline(always)]
    fn own_rows(&self, voxel: usize, mut each: impl FnMut(usize, u32)) {
        let (table, shape) = (&self.table, &self.shape);
        for place in 0..usize::from(self.peak_counts[voxel]) {
            let peak = usize::from(self.peaks[voxel * shape.peaks + place]);
            for atom in 0..shape.extra {
                let row = table.first_extra() + peak * shape.extra + atom;
                each(place * shape.extra + atom, row as u32);
            }
        }
        for atom in 0..shape.free {
            each(
                shape.peaks * shape.extra + atom,
                (table.first_free() + atom) as u32,
            );
        }
    }
}

struct Forward<'a> {
    dense: &'a Dense,
    x: &'a [f32],
    first: usize,
    y: &'a mut [f32],
    list: &'a mut List,
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (dense, x, list) = (self.dense, self.x, self.list);
        let shape = &dense.shape;
        let (intra, own) = x.split_at(shape.intra());
        for (i, y) in self.y.chunks_exact_mut(shape.samples).enumerate() {
            let voxel = self.first + i;
            list.clear();
            for run in dense
                .in_voxel(voxel)
                .chunk_by(|a, b| a.direction == b.direction)
            {
                let row = usize::from(run[0].direction) * shape.atoms;
                let begin = list.len();
                list.extend((0..shape.atoms).map(|atom| ((row + atom) as u32, 0.0)));
                for segment in run {
                    let length = f32::from(segment.length) * dense.unit_mm;
                    let weights = &intra[segment.fibre as usize * shape.atoms..];
                    for (entry, weight) in list[begin..].iter_mut().zip(weights) {
                        entry.1 += length * weight;
                    }
                }
            }
            let own = &own[voxel * shape.own()..(voxel + 1) * shape.own()];
            dense.own_rows(voxel, |place, row| list.push((row, own[place])));
            list.retain(|entry| entry.1 != 0.0);
            y.fill(0.0);
            let fours = list.chunks_exact(4);
            let rest = fours.remainder();
            for (at, four) in fours.enumerate() {
                dense.table.soon(list, 4 * at + AHEAD);
                let row = |i: usize| &dense.table.row(four[i].0 as usize)[..y.len()];
                let rows = [row(0), row(1), row(2), row(3)];
                for (s, sum) in y.iter_mut().enumerate() {
                    for i in 0..4 {
                        *sum = fused::<FMA>(four[i].1, rows[i][s], *sum);
                    }
                }
            }
            for (row, weight) in rest {
                for (sum, value) in y.iter_mut().zip(dense.table.row(*row as usize)) {
                    *sum = fused::<FMA>(*weight, *value, *sum);
                }
            }
        }
    }
}

struct Back<'a> {
    dense: &'a Dense,
    y: &'a [f32],
    voxels: std::ops::Range<usize>,
    own: &'a mut [f32],
    sums: &'a mut [f32],
    list: List,
}

impl Kernel for Back<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        let dense = self.dense;
        let shape = &dense.shape;
        let list = &mut self.list;
        for voxel in self.voxels.clone() {
            list.clear();
            for run in dense
                .in_voxel(voxel)
                .chunk_by(|a, b| a.direction == b.direction)
            {
                let row = usize::from(run[0].direction) * shape.atoms;
                list.extend((0..shape.atoms).map(|atom| ((row + atom) as u32, 0.0)));
            }
            let streamlines = list.len();
            dense.own_rows(voxel, |_, row| list.push((row, 0.0)));
            let at = voxel - self.voxels.start;
            let y = &self.y[at * shape.samples..(at + 1) * shape.samples];
            products::<FMA>(&dense.table, y, list);
            let mut entry = 0;
            for run in dense
                .in_voxel(voxel)
                .chunk_by(|a, b| a.direction == b.direction)
            {
                for segment in run {
                    let length = f32::from(segment.length) * dense.unit_mm;
                    let sums = &mut self.sums[segment.fibre as usize * shape.atoms..];
                    for (sum, (_, value)) in sums.iter_mut().zip(&list[entry..entry + shape.atoms])
                    {
                        *sum = fused::<FMA>(length, *value, *sum);
                    }
                }
                entry += shape.atoms;
            }
            let begin = (voxel - self.voxels.start) * shape.own();
            let own = &mut self.own[begin..begin + shape.own()];
            own.fill(0.0);
            let mut values = list[streamlines..].iter();
            dense.own_rows(voxel, |place, _| {
                own[place] = values.next().map_or(0.0, |v| v.1);
            });
        }
    }
}

/// The product of y with each row of the list, four at a time.
#[inline(always)]
fn products<const FMA: bool>(table: &Table, y: &[f32], list: &mut List) {
    let (y, _) = y.as_chunks::<LANES>();
    let row = |entry: &(u32, f32)| &table.row(entry.0 as usize).as_chunks::<LANES>().0[..y.len()];
    for at in (0..list.len()).step_by(4) {
        table.soon(list, at + AHEAD);
        let end = list.len().min(at + 4);
        let four = &mut list[at..end];
        let mut sums = [Lanes::<LANES, FMA>::ZERO; 4];
        if let [a, b, c, d] = four {
            let (ra, rb, rc, rd) = (row(a), row(b), row(c), row(d));
            for (s, y) in y.iter().enumerate() {
                let y = Lanes(*y);
                sums[0] = y.mul_add::<FMA>(Lanes(ra[s]), sums[0]);
                sums[1] = y.mul_add::<FMA>(Lanes(rb[s]), sums[1]);
                sums[2] = y.mul_add::<FMA>(Lanes(rc[s]), sums[2]);
                sums[3] = y.mul_add::<FMA>(Lanes(rd[s]), sums[3]);
            }
        } else {
            for (entry, sum) in four.iter().zip(&mut sums) {
                for (y, row) in y.iter().zip(row(entry)) {
                    *sum = Lanes(*y).mul_add::<FMA>(Lanes(*row), *sum);
                }
            }
        }
        for (entry, sums) in four.iter_mut().zip(&sums) {
            let [a, b, c, d, e, f, g, h] = sums.0;
            entry.1 = ((a + e) + (b + f)) + ((c + g) + (d + h));
        }
    }
}

#[inline(always)]
fn fused<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}
