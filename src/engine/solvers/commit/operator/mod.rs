//! A x and Aᵀ y.
//!
//! Two implementations give the same numbers. [`factorised`]: eight voxels at a time, one per lane, segment by
//! segment into 91 harmonic sums per shell, then one small product to the samples. [`dense`]: a table with one row
//! per direction, added or multiplied sample by sample. The first costs about 150 + 140 K multiply-adds per segment
//! (K shells) whatever the number of samples and columns, plus 91 per sample and voxel; the second costs one per
//! segment, column and sample. [`Operator::new`] estimates both and takes the cheaper. [`mod@reference`] is the plain
//! sum in double precision, which only the tests use.

pub mod dense;
pub mod factorised;
pub mod rank;
pub mod reference;
mod workers;

use super::cuda::MultiDeviceOperator;
use super::dictionary::Dictionary;
use super::directions::SIDE;
use super::model::{Responses, mean_square};
use super::samples::Samples;
use super::solver::norm;
use crate::compute::cuda::Device;
use crate::data::keyed;
use crate::solvers::Error;
use dense::Dense;
use factorised::Factorised;
use rank::Mixing;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};

/// The layout of the unknowns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Streamlines, each with `atoms` unknowns.
    pub streamlines: usize,
    /// Columns per streamline.
    pub atoms: usize,
    /// Voxel slots in the operator's order, some of them empty.
    pub voxels: usize,
    /// Peak slots per voxel.
    pub peaks: usize,
    /// Columns of each peak slot.
    pub extra: usize,
    /// Columns of free water.
    pub free: usize,
    /// Samples per voxel, including padding.
    pub samples: usize,
}

impl Shape {
    /// Unknowns per voxel.
    pub fn unknowns_per_voxel(&self) -> usize {
        self.peaks * self.extra + self.free
    }

    /// Unknowns of the streamlines; those of the voxels follow.
    pub fn intra(&self) -> usize {
        self.streamlines * self.atoms
    }

    /// Number of unknowns: the length of x.
    pub fn columns(&self) -> usize {
        self.intra() + self.voxels * self.unknowns_per_voxel()
    }

    /// Number of measured values: the length of y.
    pub fn rows(&self) -> usize {
        self.voxels * self.samples
    }
}

/// The implementation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperatorKind {
    /// Sums of spherical harmonics; nothing is rounded to cells of directions.
    Factorised,
    /// Directions at the centres of this many cells along a side; at the maximum, [`super::directions::SIDE`], it is
    /// the same operator.
    Dense {
        /// Cells along each side of the square onto which directions are mapped.
        side: u16,
    },
}

/// Precision on graphics cards; it matters with three or more columns per streamline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// Single precision.
    Exact,
    /// Harmonics in half precision, so that A x and Aᵀ y may differ by a thousandth.
    Fast,
}

keyed!(Precision, serde {
    Exact = "exact",
    Fast = "fast",
});

#[derive(Debug)]
enum Inner {
    Factorised(Factorised),
    Dense(Dense),
    OnCards(Box<MultiDeviceOperator>),
}

/// A, by the implementation that is cheaper or that the caller requires.
#[derive(Debug)]
pub struct Operator {
    inner: Inner,
    way: OperatorKind,
    /// Set where fewer columns span those of all streamlines.
    mixing: Option<Mixing>,
    /// Mixed columns, kept between calls.
    mixed: Mutex<Vec<f32>>,
    /// Approximate squares of the columns.
    squares: Vec<f32>,
}

/// Bytes.
const SECOND_CACHE: f64 = 1e6;

/// Permitted loss of the responses in fewer columns: single precision loses as much.
const TOLERANCE: f64 = 1e-6;
/// The tolerance where directions are already coarse.
const COARSE_TOLERANCE: f64 = 1e-4;

/// Vector multiply-adds of both implementations, in units of eight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OperatorCost {
    /// Cost of [`OperatorKind::Factorised`].
    pub factorised: f64,
    /// Cost of [`OperatorKind::Dense`] with all directions.
    pub dense: f64,
}

/// The numbers that determine the work.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WorkCounts {
    /// Segments of all streamlines.
    pub segments: f64,
    /// Peaks of all voxels.
    pub peaks: f64,
    /// Used voxels.
    pub voxels: f64,
    /// Shells with diffusion weighting.
    pub shells: f64,
    /// Samples per voxel.
    pub samples: f64,
    /// Columns per streamline.
    pub atoms: f64,
    /// Columns per peak.
    pub extra: f64,
    /// Columns of free water.
    pub free: f64,
}

impl OperatorCost {
    /// Cost of these data, by the counts of the dictionary, the responses and the samples.
    pub fn new(dictionary: &Dictionary, responses: &Responses, samples: &Samples) -> Self {
        Self::counted(&WorkCounts {
            segments: dictionary.segments.len() as f64,
            peaks: dictionary.peak_count() as f64,
            voxels: dictionary.voxels.len() as f64,
            shells: samples.shells.len() as f64,
            samples: samples.count() as f64,
            atoms: responses.intra.len() as f64,
            extra: responses.extra.len() as f64,
            free: responses.free.len() as f64,
        })
    }

    /// Cost for given counts, without data.
    pub fn counted(n: &WorkCounts) -> Self {
        let count = n.samples;
        // Measured on one core with AVX2, in units of 0.2 ns.
        let segment = |atoms: f64| 100.0 + n.shells * (110.0 + 7.0 * atoms) + 20.0;
        let factorised =
            (n.segments * segment(n.atoms) + n.peaks * segment(n.extra) + n.voxels * 91.0 * count)
                / 8.0;
        // Rows come from the second-level cache or from memory; those of free water are always cached.
        let table = n.segments.min(65536.0) * n.atoms * count * 4.0;
        let registers = (count / 8.0).ceil();
        let near = registers * 1.5 + 10.0;
        let row = if table > SECOND_CACHE {
            registers * 5.0 + 12.0
        } else {
            near
        };
        let dense = (n.segments * n.atoms + n.peaks * n.extra) * row
            + n.free * n.voxels * near
            + n.voxels * count * 1.6;
        Self { factorised, dense }
    }

    /// The cost of the cheaper implementation.
    pub fn min_cost(&self) -> f64 {
        self.factorised.min(self.dense)
    }

    /// Kind with the lower cost; the factorised one if both are equal.
    pub fn cheaper(&self) -> OperatorKind {
        if self.factorised <= self.dense {
            OperatorKind::Factorised
        } else {
            OperatorKind::Dense { side: SIDE }
        }
    }
}

/// Processes rows from an index on as soon as A x is known for them: it receives A x and the stored values of the
/// rows, and returns two numbers that are summed.
pub type Finish<'a> = &'a (dyn Fn(usize, &[f32], &mut [f32]) -> [f64; 2] + Sync);

/// Writes y from an index on.
pub type Fill<'a> = &'a (dyn Fn(usize, &mut [f32]) + Sync);

/// The length of the longest streamline inside the voxels.
fn longest_mm(dictionary: &Dictionary) -> f64 {
    dictionary.lengths_mm().into_iter().fold(0.0, f64::max)
}

impl Inner {
    fn apply(&self, x: &[f32], rows: &mut [f32], finish: Finish) -> Result<[f64; 2], Error> {
        match self {
            Self::Factorised(f) => Ok(f.apply(x, rows, finish)),
            Self::Dense(d) => Ok(d.apply(x, rows, finish)),
            Self::OnCards(cards) => Ok(finish(0, &cards.apply(x)?, rows)),
        }
    }

    fn adjoint(&self, y: Fill, norm: f64, x: &mut [f32]) -> Result<(), Error> {
        match self {
            Self::Factorised(f) => f.adjoint(y, norm, x),
            Self::Dense(d) => d.adjoint(y, norm, x),
            Self::OnCards(cards) => {
                let mut rows = vec![0.0; cards.shape.rows()];
                y(0, &mut rows);
                cards.adjoint(&rows, x)?;
            }
        }
        Ok(())
    }
}

/// Squares of the columns, averaged over directions.
fn mean_squares(responses: &Responses, samples: &Samples) -> [Vec<f64>; 3] {
    let mean = |atoms: &[Vec<_>], kind: usize| -> Vec<f64> {
        let each = atoms.iter().zip(&responses.flat[kind]);
        each.map(|(atom, &flat)| mean_square(atom, flat, samples))
            .collect()
    };
    [
        mean(&responses.intra, 0),
        mean(&responses.extra, 1),
        mean(&responses.free, 2),
    ]
}

impl Operator {
    /// Builds A; `None` for `way` chooses the cheaper implementation.
    pub fn new(
        dictionary: &Dictionary,
        responses: &Responses,
        samples: &Samples,
        way: Option<OperatorKind>,
    ) -> Self {
        let tolerance = match way {
            Some(OperatorKind::Dense { side }) if side < SIDE => COARSE_TOLERANCE,
            _ => TOLERANCE,
        };
        let mixed = Mixing::new(responses, samples, tolerance);
        let (mixing, fewer) = mixed.map_or((None, None), |(m, r)| (Some(m), Some(r)));
        let used = fewer.as_ref().unwrap_or(responses);
        let way = way.unwrap_or_else(|| OperatorCost::new(dictionary, used, samples).cheaper());
        let inner = match way {
            OperatorKind::Factorised => {
                Inner::Factorised(Factorised::new(dictionary, used, samples))
            }
            OperatorKind::Dense { side } => {
                Inner::Dense(Dense::new(dictionary, used, samples, side))
            }
        };
        let squares = mean_squares(responses, samples);
        Self::with(inner, way, mixing, dictionary, &squares)
    }

    /// A factorised operator on as many of these graphics cards as make it faster.
    pub fn new_on_cards(
        dictionary: &Dictionary,
        responses: &Responses,
        samples: &Samples,
        precision: Precision,
        devices: &Arc<[Device]>,
    ) -> Result<Self, Error> {
        Self::in_slabs(dictionary, responses, samples, precision, devices, None)
    }

    /// An operator in as many slabs of voxels as there are `places`, each the index of its card; `None`: one slab on each
    /// card that makes it faster.
    pub fn in_slabs(
        dictionary: &Dictionary,
        responses: &Responses,
        samples: &Samples,
        precision: Precision,
        devices: &Arc<[Device]>,
        places: Option<&[usize]>,
    ) -> Result<Self, Error> {
        let tolerance = match precision {
            Precision::Exact => TOLERANCE,
            Precision::Fast => COARSE_TOLERANCE,
        };
        let mixed = Mixing::new(responses, samples, tolerance);
        let cards = MultiDeviceOperator::new(
            dictionary,
            responses,
            mixed.as_ref(),
            samples,
            precision,
            devices,
            places,
        )?;
        let squares = mean_squares(responses, samples);
        Ok(Self::with(
            Inner::OnCards(Box::new(cards)),
            OperatorKind::Factorised,
            None,
            dictionary,
            &squares,
        ))
    }

    /// The operator on graphics cards, if it is there.
    pub fn on_cards(&self) -> Option<&MultiDeviceOperator> {
        match &self.inner {
            Inner::OnCards(cards) => Some(cards),
            Inner::Factorised(_) | Inner::Dense(_) => None,
        }
    }

    /// An operator with an imported table.
    pub fn with_imported_table(dictionary: &Dictionary, table: dense::Table) -> Self {
        let squares = table.mean_squares();
        let (mixing, table) = Mixing::from_table(table, TOLERANCE);
        let inner = Inner::Dense(Dense::with_table(dictionary, table));
        let way = OperatorKind::Dense { side: SIDE };
        Self::with(inner, way, mixing, dictionary, &squares)
    }

    fn with(
        inner: Inner,
        way: OperatorKind,
        mixing: Option<Mixing>,
        dictionary: &Dictionary,
        squares: &[Vec<f64>; 3],
    ) -> Self {
        let mut operator = Self {
            inner,
            way,
            mixing,
            mixed: Mutex::default(),
            squares: Vec::new(),
        };
        operator.squares = operator.column_squares(dictionary, squares);
        operator
    }

    /// Implementation that was chosen or required.
    pub fn kind(&self) -> OperatorKind {
        self.way
    }

    /// The shape that callers see.
    pub fn shape(&self) -> Shape {
        let shape = self.inner_shape();
        let atoms = self.mixing.as_ref().map_or(shape.atoms, |m| m.atoms);
        Shape { atoms, ..shape }
    }

    fn inner_shape(&self) -> Shape {
        match &self.inner {
            Inner::Factorised(f) => f.shape,
            Inner::Dense(d) => d.shape,
            Inner::OnCards(cards) => cards.shape,
        }
    }

    /// Columns of a streamline after mixing.
    pub fn rank(&self) -> usize {
        let shape = self.inner_shape();
        self.on_cards().map_or(shape.atoms, |cards| cards.rank)
    }

    /// Number of unknowns that callers see, before any mixing of columns.
    pub fn columns(&self) -> usize {
        self.shape().columns()
    }

    /// Number of measured values.
    pub fn rows(&self) -> usize {
        self.shape().rows()
    }

    /// y = A x.
    pub fn apply(&self, x: &[f32], y: &mut [f32]) -> Result<(), Error> {
        self.apply_with(x, y, &|_, ax, y| {
            y.copy_from_slice(ax);
            [0.0; 2]
        })?;
        Ok(())
    }

    /// A x, passed to the caller while it is in the cache.
    pub fn apply_with(
        &self,
        x: &[f32],
        rows: &mut [f32],
        finish: Finish,
    ) -> Result<[f64; 2], Error> {
        let Some(mixing) = &self.mixing else {
            return self.inner.apply(x, rows, finish);
        };
        let mut mixed = self.mixed.lock().unwrap_or_else(PoisonError::into_inner);
        mixing.mix(x, self.inner_shape().streamlines, &mut mixed);
        self.inner.apply(&mixed, rows, finish)
    }

    /// x = Aᵀ y.
    pub fn adjoint(&self, y: &[f32], x: &mut [f32]) -> Result<(), Error> {
        let copied = |from: usize, to: &mut [f32]| to.copy_from_slice(&y[from..from + to.len()]);
        self.adjoint_of(&copied, norm(y), x)
    }

    /// Aᵀ of values that the caller computes when they are needed; `norm` is at least about their |y|.
    pub fn adjoint_of(&self, y: Fill, norm: f64, x: &mut [f32]) -> Result<(), Error> {
        let Some(mixing) = &self.mixing else {
            return self.inner.adjoint(y, norm, x);
        };
        let shape = self.inner_shape();
        let mut mixed = self.mixed.lock().unwrap_or_else(PoisonError::into_inner);
        mixed.resize(shape.columns(), 0.0);
        self.inner.adjoint(y, norm, &mut mixed)?;
        mixing.unmix(&mixed, shape.streamlines, x);
        Ok(())
    }

    /// The row of sample s of voxel v of the dictionary.
    pub fn row(&self, voxel: usize, sample: usize) -> usize {
        match &self.inner {
            Inner::Factorised(f) => f.row(voxel, sample),
            Inner::Dense(d) => voxel * d.shape.samples + sample,
            Inner::OnCards(cards) => cards.row(voxel, sample),
        }
    }

    /// The column of an unknown of voxel v of the dictionary: peak by peak, column by column, then free water.
    pub fn own_column(&self, voxel: usize, place: usize) -> usize {
        let own = match &self.inner {
            Inner::Factorised(f) => f.own_column(voxel, place),
            Inner::Dense(_) | Inner::OnCards(_) => {
                voxel * self.inner_shape().unknowns_per_voxel() + place
            }
        };
        self.shape().intra() + own
    }

    /// Copies samples voxel by voxel to the order of the rows; padding is 0.
    pub fn pack(&self, signals: &[f32], samples: usize) -> Vec<f32> {
        let mut rows = vec![0.0; self.rows()];
        for (voxel, values) in signals.chunks_exact(samples).enumerate() {
            for (s, value) in values.iter().enumerate() {
                rows[self.row(voxel, s)] = *value;
            }
        }
        rows
    }

    /// The reverse of [`Operator::pack`].
    pub fn unpack(&self, rows: &[f32], voxels: usize, samples: usize) -> Vec<f32> {
        let mut out = vec![0.0; voxels * samples];
        let each = out.par_chunks_mut(samples).enumerate();
        each.for_each(|(voxel, values)| {
            for (s, value) in values.iter_mut().enumerate() {
                *value = rows[self.row(voxel, s)];
            }
        });
        out
    }

    /// Sums of squares of the columns, as if all pieces of a streamline in a voxel had the same direction and the
    /// response its mean square over directions. 0 where a column is empty.
    pub fn squares(&self) -> &[f32] {
        &self.squares
    }

    fn column_squares(&self, dictionary: &Dictionary, mean: &[Vec<f64>; 3]) -> Vec<f32> {
        let shape = self.shape();
        let mut units = vec![0f64; shape.streamlines];
        for voxel in 0..dictionary.voxels.len() {
            let segments = dictionary.in_voxel(voxel);
            for run in segments.chunk_by(|a, b| a.streamline == b.streamline) {
                let sum: f64 = run.iter().map(|s| dictionary.length_mm(s)).sum();
                units[run[0].streamline as usize] += sum * sum;
            }
        }
        let mut out = vec![0f32; shape.columns()];
        for (streamline, square) in units.into_iter().enumerate() {
            for atom in 0..shape.atoms {
                out[streamline * shape.atoms + atom] = (square * mean[0][atom]) as f32;
            }
        }
        for voxel in 0..dictionary.voxels.len() {
            for peak in 0..dictionary.peaks_in(voxel).len() {
                for atom in 0..shape.extra {
                    let column = self.own_column(voxel, peak * shape.extra + atom);
                    out[column] = mean[1][atom] as f32;
                }
            }
            for atom in 0..shape.free {
                let column = self.own_column(voxel, shape.peaks * shape.extra + atom);
                out[column] = mean[2][atom] as f32;
            }
        }
        out
    }
}
