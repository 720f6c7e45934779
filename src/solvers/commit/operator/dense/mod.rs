//! A table of responses by direction: the oracle of the factorised operator, the quicker one where voxels
//! hold few segments, and the one for tables from elsewhere.
//!
//! Segments of a voxel that have a direction in common share its row: they are summed first, then the rows, and
//! backwards rows are multiplied first. What is summed stays in registers from row to row ([`kernels`]).

mod kernels;
mod table;

pub use table::Table;

use super::workers::{self, Sums};
use super::{Dictionary, Fill, Finish, Responses, Samples, Shape};
use crate::compute::simd::dispatch;
use crate::solvers::commit::directions::{self, SIDE};
use kernels::{Back, Forward};
use rayon::prelude::*;
use std::ops::Range;
use table::LANES;

/// Voxels of one piece of work, whose samples stay in the first caches.
const PIECE: usize = 16;

/// A segment. It has its row in common with the one before it unless it is the first.
#[derive(Clone, Copy, Debug)]
struct Record {
    fibre: u32,
    length: u16,
    first: bool,
}

#[derive(Debug)]
pub struct Dense {
    pub shape: Shape,
    table: Table,
    /// Where the records of each piece begin, and where the last ends.
    pieces: Vec<usize>,
    /// Voxel by voxel, and sorted by direction there.
    records: Vec<Record>,
    /// The same of voxels and runs.
    voxels: Vec<usize>,
    /// The directions of runs of records.
    runs: Vec<u16>,
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
        let table = Table::of(responses, samples, &rows, &peak_rows, side);
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
        row: impl Fn(u16) -> u16 + Sync,
        peak_row: impl Fn(u16) -> u16,
    ) -> Self {
        let count = dictionary.voxels.len();
        let sorted = (0..count).into_par_iter().map(|voxel| {
            let mut segments = dictionary.in_voxel(voxel).to_vec();
            segments
                .iter_mut()
                .for_each(|s| s.direction = row(s.direction));
            segments.sort_by_key(|s| s.direction);
            segments
        });
        let sorted: Vec<_> = sorted.collect();
        let mut records = Vec::with_capacity(dictionary.segments.len());
        let (mut pieces, mut voxels, mut runs) = (Vec::new(), Vec::new(), Vec::new());
        for (voxel, segments) in sorted.iter().enumerate() {
            if voxel % PIECE == 0 {
                pieces.push(records.len());
            }
            voxels.push(runs.len());
            for run in segments.chunk_by(|a, b| a.direction == b.direction) {
                runs.push(run[0].direction);
                records.extend(run.iter().enumerate().map(|(i, segment)| Record {
                    fibre: segment.fibre,
                    length: segment.length,
                    first: i == 0,
                }));
            }
        }
        pieces.push(records.len());
        voxels.push(runs.len());
        Self {
            shape: Shape {
                fibres: dictionary.fibres,
                atoms: table.atoms,
                voxels: count,
                peaks: dictionary.places,
                extra: table.extra,
                free: table.free,
                samples: table.width * LANES,
            },
            table,
            pieces,
            records,
            voxels,
            runs,
            unit_mm: dictionary.unit_mm as f32,
            peaks: dictionary.peaks.iter().map(|c| peak_row(*c)).collect(),
            peak_counts: dictionary.peak_counts.clone(),
            sums: Sums::default(),
        }
    }

    /// The voxels of a piece.
    fn piece(&self, piece: usize) -> Range<usize> {
        let first = piece * PIECE;
        first..self.shape.voxels.min(first + PIECE)
    }

    fn records(&self, piece: usize) -> &[Record] {
        &self.records[self.pieces[piece]..self.pieces[piece + 1]]
    }

    pub fn apply(&self, x: &[f32], rows: &mut [f32], finish: Finish) -> [f64; 2] {
        let (intra, own) = x.split_at(self.shape.intra());
        let width = PIECE * self.shape.samples;
        let pieces = rows.par_chunks_mut(width).enumerate();
        let sums = pieces.map_init(
            || (Vec::new(), vec![0.0; width]),
            |(weights, y), (piece, rows)| {
                let y = &mut y[..rows.len()];
                dispatch(Forward {
                    dense: self,
                    intra,
                    own,
                    piece,
                    weights,
                    y,
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
            |piece, own, sums, scratch: &mut (Vec<f32>, Vec<f32>)| {
                let (rows, scratch) = scratch;
                rows.resize(self.piece(piece).len() * self.shape.samples, 0.0);
                y(piece * PIECE * self.shape.samples, rows);
                dispatch(Back {
                    dense: self,
                    piece,
                    y: rows,
                    own,
                    sums,
                    scratch,
                });
            },
        );
    }
}
