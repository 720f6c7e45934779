//! A table of responses by direction: the reference for the factorised operator, the faster one where voxels hold few
//! segments, and the only one for imported tables.
//!
//! Segments of a voxel that share a direction share its row: weights are summed before rows are added, and backward,
//! each row is multiplied once. Sums stay in registers from row to row (`kernels`).

mod kernels;
mod table;

pub use table::Table;

use super::workers::{self, Sums};
use super::{Dictionary, Fill, Finish, Responses, Samples, Shape, longest_mm};
use crate::compute::simd::dispatch;
use crate::solvers::commit::dictionary::Segment;
use crate::solvers::commit::directions::{self, SIDE};
use kernels::{AdjointKernel, Forward};
use rayon::prelude::*;
use std::ops::Range;
use table::LANES;

/// Voxels per work item; their samples stay in the first-level cache.
const PIECE: usize = 16;

/// A segment; it shares its row with the segment before it unless it begins a run.
#[derive(Clone, Copy, Debug)]
struct Record {
    streamline: u32,
    length: u16,
    first: bool,
}

/// Operator with one table row per direction.
#[derive(Debug)]
pub struct Dense {
    /// Layout of the unknowns that its vectors have.
    pub shape: Shape,
    table: Table,
    /// Voxel i owns `records[offsets[i]..offsets[i + 1]]`, sorted by direction.
    offsets: Vec<u64>,
    records: Vec<Record>,
    /// Voxel i owns `runs[voxels[i]..voxels[i + 1]]`.
    voxels: Vec<usize>,
    /// The direction of each run of records.
    runs: Vec<u16>,
    unit_mm: f32,
    peaks: Vec<u16>,
    peak_counts: Vec<u8>,
    sums: Sums,
    /// A bound of |Aᵀ y| / |y| for the streamlines' columns.
    longest_column: f64,
}

/// Numbers the codes that occur from 0, in ascending order.
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
    /// Builds the table of the directions that occur, with `side` × `side` cells of directions.
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
        let table = Table::new(responses, samples, &rows, &peak_rows, side);
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
        let mut segments = dictionary.segments.clone();
        let mut rest = segments.as_mut_slice();
        let mut parts = Vec::new();
        for pair in dictionary.offsets.windows(2) {
            let (own, others) = rest.split_at_mut((pair[1] - pair[0]) as usize);
            rest = others;
            parts.push(own);
        }
        parts.par_iter_mut().for_each(|own| {
            own.iter_mut().for_each(|s| s.direction = row(s.direction));
            own.sort_by_key(|s| s.direction);
        });
        let (mut voxels, mut runs) = (vec![0], Vec::new());
        for own in parts {
            for run in own.chunk_by_mut(|a, b| a.direction == b.direction) {
                runs.push(run[0].direction);
                let rest = run.iter_mut().enumerate();
                rest.for_each(|(i, segment)| segment.direction = u16::from(i == 0));
            }
            voxels.push(runs.len());
        }
        let record = |segment: Segment| Record {
            streamline: segment.streamline,
            length: segment.length,
            first: segment.direction == 1,
        };
        Self {
            shape: Shape {
                streamlines: dictionary.streamlines,
                atoms: table.atoms,
                voxels: dictionary.voxels.len(),
                peaks: dictionary.places,
                extra: table.extra,
                free: table.free,
                samples: table.width * LANES,
            },
            longest_column: longest_mm(dictionary) * table.largest_streamline_row(),
            table,
            offsets: dictionary.offsets.clone(),
            // Collected in place of the segments.
            records: segments.into_iter().map(record).collect(),
            voxels,
            runs,
            unit_mm: dictionary.unit_mm as f32,
            peaks: dictionary.peaks.iter().map(|c| peak_row(*c)).collect(),
            peak_counts: dictionary.peak_counts.clone(),
            sums: Sums::default(),
        }
    }

    /// The voxels of a piece.
    fn voxels_of_piece(&self, piece: usize) -> Range<usize> {
        let first = piece * PIECE;
        first..self.shape.voxels.min(first + PIECE)
    }

    fn records_of_piece(&self, piece: usize) -> &[Record] {
        let voxels = self.voxels_of_piece(piece);
        &self.records[self.offsets[voxels.start] as usize..self.offsets[voxels.end] as usize]
    }

    /// Computes A x, passes each row to `finish`, and returns the two sums that `finish` adds up.
    pub fn apply(&self, x: &[f32], rows: &mut [f32], finish: Finish) -> [f64; 2] {
        let (intra, own) = x.split_at(self.shape.intra());
        let width = PIECE * self.shape.samples;
        let pieces = rows.par_chunks_mut(width).enumerate();
        let sums: Vec<[f64; 2]> = pieces
            .map_init(
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
            )
            .collect();
        workers::in_order(&sums)
    }

    /// Computes Aᵀ y, with y from `y`, and writes it to `x`; `norm`, at least |y|, bounds the sums.
    pub fn adjoint(&self, y: Fill, norm: f64, x: &mut [f32]) {
        let (intra, own) = x.split_at_mut(self.shape.intra());
        let pieces = self.shape.voxels.div_ceil(PIECE);
        let width = PIECE * self.shape.unknowns_per_voxel();
        workers::run_pieces(
            &self.sums,
            self.longest_column * norm,
            intra,
            own,
            width,
            pieces,
            |piece, own, sums, scratch: &mut (Vec<f32>, Vec<f32>)| {
                let (rows, scratch) = scratch;
                rows.resize(self.voxels_of_piece(piece).len() * self.shape.samples, 0.0);
                y(piece * PIECE * self.shape.samples, rows);
                dispatch(AdjointKernel {
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
