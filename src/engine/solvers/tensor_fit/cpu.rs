//! The fit with vector lanes: sixteen voxels side by side, in single precision.
//!
//! A piece of the mask is read once, frame by frame, with its logarithms arranged so that each group of sixteen
//! voxels is contiguous; then each group is fitted in registers and first-level cache. Reweighted solves compute a
//! *correction* to the last estimate from its residuals. In exact arithmetic that gives the same estimate, but
//! rounding in the normal equations then affects only the correction.

use super::design::{
    DETERMINED, Design, MULTIPLICITY, PRODUCT_OF, PRODUCTS, Row, SUFFICIENT_REMAINDER, UNKNOWNS,
};
use super::eigen::eigen_symmetric;
use super::unshared;
use crate::compute::{Cancelled, Control, Lanes, simd, zeroed};
use crate::data::{Mask, Tensor, Volume};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

/// Two AVX2 registers: each broadcast coefficient serves both.
pub(super) const LANES: usize = 16;
pub(super) type Voxels = Lanes<LANES>;

/// Samples below 1e-6 of a voxel's largest are left out: `-ln` of that share.
const FAINTEST: f32 = 13.815_51;

/// A weighted normal matrix with a pivot below this share of its diagonal counts as singular in single precision:
/// rounding leaves up to 1e-6 of it.
pub(super) const SINGULAR: f32 = 1e-5;

#[derive(Clone, Copy)]
pub(super) struct Settings {
    /// Number of solves with weights from the previous estimate: 0 for ordinary least squares.
    pub weighted_solves: u32,
    pub min_eigenvalue_mm2_per_s: f64,
}

pub(super) struct Fitted {
    pub tensors: Arc<[Tensor]>,
    pub s0: Arc<[f32]>,
    pub repaired: Arc<[u8]>,
    pub unfitted: usize,
}

/// Runs on the current rayon pool. Voxels are independent, so that the bytes are equal for any number of threads.
pub(super) fn fit(
    dwi: &Volume,
    mask: &Mask,
    design: &Design,
    settings: Settings,
    control: &Control,
) -> Result<Fitted, Cancelled> {
    let inside = mask.inside.iter().enumerate();
    let voxels: Vec<usize> = inside.filter(|(_, m)| **m != 0).map(|(i, _)| i).collect();
    control.begin("Fitting tensors", voxels.len() as u64);
    let size = piece_size(design);
    let n = dwi.grid.voxel_count();
    let (mut tensors, mut s0, mut repaired) = (zeroed(n), zeroed(n), zeroed(n));
    let pieces = split(
        voxels.chunks(size),
        unshared(&mut tensors),
        unshared(&mut s0),
        unshared(&mut repaired),
    );
    let fit_piece = |scratch: &mut Scratch, piece: Piece| {
        control.check()?;
        let count = piece.voxels.len() as u64;
        let unfitted = simd::dispatch(FitPiece {
            dwi,
            design,
            settings,
            scratch,
            piece,
        });
        control.advance(count);
        Ok(unfitted)
    };
    let unfitted = pieces
        .into_par_iter()
        .map_init(|| Scratch::new(design.rows.len(), size), fit_piece)
        .try_reduce(|| 0, |a, b| Ok(a + b))?;
    Ok(Fitted {
        tensors,
        s0,
        repaired,
        unfitted,
    })
}

/// Voxels per piece: its logarithms (4 bytes per sample) take 128 KiB of the second-level cache.
pub(super) fn piece_size(design: &Design) -> usize {
    (131_072 / design.rows.len()).clamp(LANES, 2048) / LANES * LANES
}

/// Some voxels of the mask, ascending, and the part of each output from the end of the previous piece to the last of
/// these voxels.
pub(super) struct Piece<'a> {
    pub voxels: &'a [usize],
    /// Voxel index of the first output value.
    first: usize,
    tensors: &'a mut [Tensor],
    s0: &'a mut [f32],
    repaired: &'a mut [u8],
}

pub(super) fn split<'a>(
    chunks: std::slice::Chunks<'a, usize>,
    mut tensors: &'a mut [Tensor],
    mut s0: &'a mut [f32],
    mut repaired: &'a mut [u8],
) -> Vec<Piece<'a>> {
    fn split_off<'a, T>(from: &mut &'a mut [T], count: usize) -> &'a mut [T] {
        let (part, rest) = std::mem::take(from).split_at_mut(count);
        *from = rest;
        part
    }
    let mut first = 0;
    let piece = |voxels: &'a [usize]| {
        let end = voxels[voxels.len() - 1] + 1;
        let count = end - first;
        let piece = Piece {
            voxels,
            first,
            tensors: split_off(&mut tensors, count),
            s0: split_off(&mut s0, count),
            repaired: split_off(&mut repaired, count),
        };
        first = end;
        piece
    };
    chunks.map(piece).collect()
}

/// Working memory of one thread.
pub(super) struct Scratch {
    /// First voxel and length of each run of consecutive voxels in the piece.
    runs: Vec<(usize, usize)>,
    /// One frame's values at the piece's voxels.
    frame: Vec<f32>,
    /// ln S, group by group, row by row; NaN where the sample is not usable.
    pub log: Vec<Voxels>,
    pub weight: Vec<Voxels>,
    /// Weight times residual.
    pub pull: Vec<Voxels>,
}

impl Scratch {
    pub fn new(rows: usize, piece: usize) -> Self {
        Self {
            runs: Vec::new(),
            frame: vec![0.0; piece],
            log: vec![Voxels::ZERO; rows * (piece / LANES)],
            weight: vec![Voxels::ZERO; rows],
            pull: vec![Voxels::ZERO; rows],
        }
    }
}

struct FitPiece<'a> {
    dwi: &'a Volume,
    design: &'a Design,
    settings: Settings,
    scratch: &'a mut Scratch,
    piece: Piece<'a>,
}

impl simd::Kernel for FitPiece<'_> {
    /// Number of voxels with too few usable samples.
    type Output = usize;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> usize {
        let Self {
            dwi,
            design,
            settings,
            scratch,
            mut piece,
        } = self;
        load::<FMA>(dwi, design, piece.voxels, scratch);
        let rows = design.rows.len();
        let groups = piece.voxels.chunks(LANES);
        let mut unfitted = 0;
        for (voxels, log) in groups.zip(scratch.log.chunks_exact_mut(rows)) {
            let (weight, pull) = (&mut scratch.weight[..], &mut scratch.pull[..]);
            let solves = settings.weighted_solves;
            let estimate = fit_group::<FMA>(&design.rows, solves, log, weight, pull);
            let min = settings.min_eigenvalue_mm2_per_s;
            let group = Group::new::<FMA>(&estimate, design.b_max_s_per_mm2, min);
            unfitted += store(&group, voxels, &mut piece, min);
        }
        unfitted
    }
}

/// Copies the samples of voxels, one row for each volume of the design. Runs on the current rayon pool.
pub(super) fn gather<'a>(
    dwi: &Volume,
    design: &Design,
    voxels: &[u32],
    rows: impl Iterator<Item = &'a mut [f32]>,
) {
    let rows: Vec<(&usize, &mut [f32])> = design.volumes.iter().zip(rows).collect();
    rows.into_par_iter().for_each(|(volume, row)| {
        let frame = dwi.frame(*volume);
        for (value, voxel) in row.iter_mut().zip(voxels) {
            *value = frame[*voxel as usize];
        }
    });
}

/// Fills `scratch.log`; lanes beyond the last voxel repeat it.
#[inline(always)]
pub(super) fn load<const FMA: bool>(
    dwi: &Volume,
    design: &Design,
    voxels: &[usize],
    scratch: &mut Scratch,
) {
    let rows = design.rows.len();
    let filled = voxels.len().div_ceil(LANES) * LANES;
    scratch.runs.clear();
    let runs = voxels.chunk_by(|a, b| a + 1 == *b);
    scratch.runs.extend(runs.map(|run| (run[0], run.len())));
    for (row, &volume) in design.volumes.iter().enumerate() {
        let frame = dwi.frame(volume);
        let mut at = 0;
        for &(first, count) in &scratch.runs {
            scratch.frame[at..at + count].copy_from_slice(&frame[first..first + count]);
            at += count;
        }
        let last = scratch.frame[at - 1];
        scratch.frame[at..filled].fill(last);
        let (groups, _) = scratch.frame[..filled].as_chunks::<LANES>();
        for (values, log) in groups.iter().zip(scratch.log.chunks_exact_mut(rows)) {
            let signal = Lanes(*values);
            let usable = |s, log| if is_signal(s) { log } else { f32::NAN };
            log[row] = signal.zip(signal.ln::<FMA>(), usable);
        }
    }
}

/// Positive, finite and not subnormal.
#[inline(always)]
fn is_signal(sample: f32) -> bool {
    (f32::MIN_POSITIVE..=f32::MAX).contains(&sample)
}

/// The unknowns of sixteen voxels.
#[derive(Clone, Copy)]
pub(super) struct Estimate {
    pub unknowns: [Voxels; UNKNOWNS],
    /// ln of the largest signal; the unknown ln S0 is relative to it.
    pub reference: Voxels,
    /// 1 where the usable samples determine all unknowns, else 0.
    pub fitted: Voxels,
}

#[inline(always)]
pub(super) fn fit_group<const FMA: bool>(
    rows: &[Row],
    weighted_solves: u32,
    log: &mut [Voxels],
    weight: &mut [Voxels],
    pull: &mut [Voxels],
) -> Estimate {
    let lowest = Voxels::splat(f32::NEG_INFINITY);
    let reference = log.iter().fold(lowest, |largest, y| y.max(largest));
    let mut used = Voxels::ZERO;
    for y in log.iter_mut() {
        let relative = *y - reference;
        // NaN fails the comparison and remains NaN.
        *y = relative.map(|r| if r >= -FAINTEST { r } else { f32::NAN });
        used = used + y.map(|y| if y.is_nan() { 0.0 } else { 1.0 });
    }
    let mut unknowns = [Voxels::ZERO; UNKNOWNS];
    unknowns[..4].copy_from_slice(&sums::<_, 0, 4, FMA>(rows, |r| &r.inverse, log));
    unknowns[4..].copy_from_slice(&sums::<_, 4, 3, FMA>(rows, |r| &r.inverse, log));

    let all = rows.len() as f32;
    let complete = used.map(|u| if u == all { 1.0 } else { 0.0 });
    let mut fitted = Voxels::splat(1.0);
    if complete.0.contains(&0.0) {
        for ((y, w), p) in log.iter().zip(weight.iter_mut()).zip(pull.iter_mut()) {
            *w = y.map(|y| if y.is_nan() { 0.0 } else { 1.0 });
            *p = y.map(|y| if y.is_nan() { 0.0 } else { y });
        }
        let min_pivot = |diagonal: f32| {
            (DETERMINED as f32 * diagonal)
                .min(SUFFICIENT_REMAINDER as f32)
                .max(SINGULAR * diagonal)
        };
        let (mut partial, determined) = solve::<FMA>(rows, weight, pull, min_pivot);
        if weighted_solves == 0 {
            // A small pivot magnifies the rounding of single precision; solving for the residual removes it again, as
            // each weighted solve does.
            for ((row, y), (w, p)) in rows.iter().zip(&*log).zip(weight.iter().zip(&mut *pull)) {
                *p = w.select(*y - predicted::<FMA>(row, &partial), Voxels::ZERO);
            }
            let (correction, _) = solve::<FMA>(rows, weight, pull, min_pivot);
            for (x, c) in partial.iter_mut().zip(correction) {
                *x = *x + c;
            }
        }
        for (x, partial) in unknowns.iter_mut().zip(partial) {
            *x = complete.select(*x, partial);
        }
        let enough = used.map(|u| f32::from(u8::from(u >= UNKNOWNS as f32)));
        fitted = complete.select(fitted, determined * enough);
    }
    for _ in 0..weighted_solves {
        update_weights::<FMA>(rows, &unknowns, log, weight, pull);
        // If outliers leave too little weight for a solve, the last estimate remains.
        let (correction, _) = solve::<FMA>(rows, weight, pull, |diagonal| SINGULAR * diagonal);
        for (x, c) in unknowns.iter_mut().zip(correction) {
            *x = *x + c;
        }
    }
    Estimate {
        unknowns,
        reference,
        fitted,
    }
}

/// ln of the signal, relative to the reference.
#[inline(always)]
pub(super) fn predicted<const FMA: bool>(row: &Row, unknowns: &[Voxels; UNKNOWNS]) -> Voxels {
    let mut sum = unknowns[UNKNOWNS - 1];
    for j in 0..UNKNOWNS - 1 {
        sum = Lanes::splat(row.model[j]).mul_add::<FMA>(unknowns[j], sum);
    }
    sum
}

/// Weights from the square of the predicted signal, and weights times residuals; 0 where a sample is not usable.
#[inline(always)]
pub(super) fn update_weights<const FMA: bool>(
    rows: &[Row],
    unknowns: &[Voxels; UNKNOWNS],
    log: &[Voxels],
    weight: &mut [Voxels],
    pull: &mut [Voxels],
) {
    let samples = rows.iter().zip(log);
    for ((row, y), (w, p)) in samples.zip(weight.iter_mut().zip(pull)) {
        let predicted = predicted::<FMA>(row, unknowns);
        let square = (predicted + predicted).exp::<FMA>();
        let residual = *y - predicted;
        *w = square.zip(*y, |w, y| if y.is_nan() { 0.0 } else { w });
        *p = (square * residual).map(|p| if p.is_nan() { 0.0 } else { p });
    }
}

/// `Σ coefficients[START..START + COUNT] · values` over the rows: at most 6 sums at a time, so that their 12
/// registers, the two of the value and the broadcast fit the 16 registers available.
#[inline(always)]
fn sums<const K: usize, const START: usize, const COUNT: usize, const FMA: bool>(
    rows: &[Row],
    coefficients: impl Fn(&Row) -> &[f32; K],
    values: &[Voxels],
) -> [Voxels; COUNT] {
    let mut sums = [Voxels::ZERO; COUNT];
    for (row, value) in rows.iter().zip(values) {
        let coefficients = coefficients(row);
        for i in 0..COUNT {
            sums[i] = Lanes::splat(coefficients[START + i]).mul_add::<FMA>(*value, sums[i]);
        }
    }
    sums
}

/// Solves XᵀWX x = Xᵀ`pull` in every lane by LDLᵀ. Returns x, and 1 where all pivots exceed the `min_pivot` for their
/// entry of the diagonal; elsewhere 0 and x = 0.
#[inline(always)]
fn solve<const FMA: bool>(
    rows: &[Row],
    weight: &[Voxels],
    pull: &[Voxels],
    min_pivot: impl Fn(f32) -> f32,
) -> ([Voxels; UNKNOWNS], Voxels) {
    let factor = Factor::new::<FMA>(rows, weight, min_pivot);
    (factor.solve::<FMA>(pulled::<FMA>(rows, pull)), factor.valid)
}

/// Xᵀ`pull`.
#[inline(always)]
pub(super) fn pulled<const FMA: bool>(rows: &[Row], pull: &[Voxels]) -> [Voxels; UNKNOWNS] {
    let mut x = [Voxels::ZERO; UNKNOWNS];
    x[..4].copy_from_slice(&sums::<_, 0, 4, FMA>(rows, |r| &r.model, pull));
    x[4..].copy_from_slice(&sums::<_, 4, 3, FMA>(rows, |r| &r.model, pull));
    x
}

/// XᵀWX as LDLᵀ, in every lane.
#[derive(Clone, Copy)]
pub(super) struct Factor {
    /// Below the diagonal.
    pub lower: [[Voxels; UNKNOWNS]; UNKNOWNS],
    /// 1 / D.
    pub inverses: [Voxels; UNKNOWNS],
    /// 1 where all pivots are large enough, else 0.
    pub valid: Voxels,
}

impl Factor {
    #[inline(always)]
    pub fn new<const FMA: bool>(
        rows: &[Row],
        weight: &[Voxels],
        min_pivot: impl Fn(f32) -> f32,
    ) -> Self {
        let mut normal = [Voxels::ZERO; PRODUCTS];
        normal[..6].copy_from_slice(&sums::<_, 0, 6, FMA>(rows, |r| &r.products, weight));
        normal[6..12].copy_from_slice(&sums::<_, 6, 6, FMA>(rows, |r| &r.products, weight));
        normal[12..17].copy_from_slice(&sums::<_, 12, 5, FMA>(rows, |r| &r.products, weight));
        normal[17..].copy_from_slice(&sums::<_, 17, 5, FMA>(rows, |r| &r.products, weight));
        let mut lower = [[Voxels::ZERO; UNKNOWNS]; UNKNOWNS];
        let mut pivots = [Voxels::ZERO; UNKNOWNS];
        let mut inverses = [Voxels::ZERO; UNKNOWNS];
        let mut valid = Voxels::splat(1.0);
        for j in 0..UNKNOWNS {
            let diagonal = normal[PRODUCT_OF[j][j]];
            let mut pivot = diagonal;
            let mut scaled = [Voxels::ZERO; UNKNOWNS];
            for k in 0..j {
                scaled[k] = lower[j][k] * pivots[k];
                pivot = scaled[k].neg_mul_add::<FMA>(lower[j][k], pivot);
            }
            let regular = pivot.zip(diagonal, |p, d| f32::from(u8::from(p > min_pivot(d))));
            valid = valid * regular;
            pivots[j] = pivot;
            inverses[j] = Voxels::splat(1.0) / pivot;
            for i in j + 1..UNKNOWNS {
                let mut entry = normal[PRODUCT_OF[i][j]];
                for k in 0..j {
                    entry = lower[i][k].neg_mul_add::<FMA>(scaled[k], entry);
                }
                lower[i][j] = entry * inverses[j];
            }
        }
        Self {
            lower,
            inverses,
            valid,
        }
    }

    /// L⁻¹ x.
    #[inline(always)]
    pub fn half<const FMA: bool>(&self, mut x: [Voxels; UNKNOWNS]) -> [Voxels; UNKNOWNS] {
        for j in 0..UNKNOWNS {
            for k in 0..j {
                x[j] = self.lower[j][k].neg_mul_add::<FMA>(x[k], x[j]);
            }
        }
        x
    }

    /// (XᵀWX)⁻¹ x; 0 where the factor is not valid.
    #[inline(always)]
    pub fn solve<const FMA: bool>(&self, x: [Voxels; UNKNOWNS]) -> [Voxels; UNKNOWNS] {
        let mut x = self.half::<FMA>(x);
        for j in (0..UNKNOWNS).rev() {
            x[j] = x[j] * self.inverses[j];
            for k in j + 1..UNKNOWNS {
                x[j] = self.lower[k][j].neg_mul_add::<FMA>(x[k], x[j]);
            }
        }
        x.map(|x| self.valid.select(x, Voxels::ZERO))
    }
}

/// Sixteen voxels in physical units.
pub(super) struct Group {
    /// xx xy xz yy yz zz, mm²/s.
    tensor: [Voxels; 6],
    s0: Voxels,
    fitted: Voxels,
    /// 0 where the tensor may need a repair; 1 where it certainly needs none.
    safe: Voxels,
}

impl Group {
    #[inline(always)]
    pub fn new<const FMA: bool>(
        estimate: &Estimate,
        b_max_s_per_mm2: f64,
        min_eigenvalue: f64,
    ) -> Self {
        let mut tensor = [Voxels::ZERO; 6];
        for j in 0..6 {
            let scale = -1.0 / (MULTIPLICITY[j] * b_max_s_per_mm2);
            tensor[j] = estimate.unknowns[j] * Lanes::splat(scale as f32);
        }
        let ln_s0 = estimate.unknowns[UNKNOWNS - 1] + estimate.reference;
        // Pivots of D - min_eigenvalue I. All above 1e-3 of the trace: rounding (1e-7 of it, times at most 1e3 for a
        // small pivot) cannot hide a negative one.
        let [xx, xy, xz, yy, yz, zz] = tensor;
        let shift = Lanes::splat(min_eigenvalue as f32);
        let first = xx - shift;
        let (ratio_y, ratio_z) = (xy / first, xz / first);
        let second = ratio_y.neg_mul_add::<FMA>(xy, yy - shift);
        let corner = ratio_y.neg_mul_add::<FMA>(xz, yz);
        let third = (corner / second)
            .neg_mul_add::<FMA>(corner, ratio_z.neg_mul_add::<FMA>(xz, zz - shift));
        // A negative trace must not lower the margin below 0.
        let margin = ((xx + yy + zz) * Lanes::splat(1e-3)).max(Voxels::ZERO);
        let above = |pivot: Voxels| pivot.zip(margin, |p, m| f32::from(u8::from(p > m)));
        Self {
            tensor,
            s0: ln_s0.exp::<FMA>(),
            fitted: estimate.fitted,
            safe: above(first) * above(second) * above(third),
        }
    }
}

/// Writes a group to its voxels; returns the number that were not fitted.
#[inline(always)]
pub(super) fn store(
    group: &Group,
    voxels: &[usize],
    piece: &mut Piece,
    min_eigenvalue: f64,
) -> usize {
    let mut unfitted = 0;
    for (lane, voxel) in voxels.iter().enumerate() {
        if group.fitted.0[lane] == 0.0 {
            unfitted += 1;
            continue;
        }
        let at = voxel - piece.first;
        let mut d = [0.0; 6];
        for (value, component) in d.iter_mut().zip(&group.tensor) {
            *value = component.0[lane];
        }
        if group.safe.0[lane] == 0.0
            && let Some(repaired) = repair(d, min_eigenvalue, min_eigenvalue)
        {
            d = repaired;
            piece.repaired[at] = 1;
        }
        piece.tensors[at] = Tensor::new(d);
        piece.s0[at] = group.s0.0[lane];
    }
    unfitted
}

/// The tensor with eigenvalues below the limit raised to it and its eigenvectors preserved; `None` if no eigenvalue
/// is below `tolerated`.
#[inline(never)]
pub(super) fn repair(d: [f32; 6], min_eigenvalue: f64, tolerated: f64) -> Option<[f32; 6]> {
    let (values, vectors) = eigen_symmetric(d.map(f64::from));
    if values[2] >= tolerated {
        return None;
    }
    let mut sum = [0.0; 6];
    for (value, v) in values.into_iter().zip(vectors) {
        let DVec3 { x, y, z } = v;
        for (s, product) in sum
            .iter_mut()
            .zip([x * x, x * y, x * z, y * y, y * z, z * z])
        {
            *s += value.max(min_eigenvalue) * product;
        }
    }
    Some(sum.map(|s| s as f32))
}
