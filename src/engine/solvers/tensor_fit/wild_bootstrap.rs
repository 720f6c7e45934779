//! Wild bootstrap of a fit's residuals (Whitcher et al. 2008, Hum Brain Mapp 29:346; Jones 2008, IEEE
//! Trans Med Imaging 27:1268).
//!
//! The fit leaves in ln S the residuals r = ln S − X β with weights W. A repetition is the fit of X β + ε r / √(1 −
//! h), where ε is −1 or 1 at random for each sample and voxel (Rademacher) and h = w xᵀ(XᵀWX)⁻¹x is the sample's
//! leverage: a residual is smaller than the error by √(1 − h), and its magnitude, specific to the sample, is
//! preserved by the signs. With constant weights the repetition is
//! β* = β + (XᵀWX)⁻¹ Xᵀ W (ε r / √(1 − h)),
//!
//! so that only the factors of XᵀWX and one number per sample are stored: about as much memory as the voxels of the
//! mask take in the scan. Cost of a repetition: 7 multiply-adds per voxel and volume. The signs are hashed from seed,
//! repetition and voxel, so they do not depend on the thread.

use super::cpu::{
    Estimate, Factor, Group, LANES, Piece, SINGULAR, Scratch, Settings, Voxels, fit_group, load,
    piece_size, predicted, pulled, split, store, update_weights,
};
use super::design::{Design, UNKNOWNS};
use super::{Error, cuda, unshared};
use crate::compute::{Cancelled, Control, Lanes, simd, zeroed};
use crate::data::random::Stream;
use crate::data::{Grid, Mask, Tensor, TensorField, Volume};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// A sample that alone determines an unknown has no residual: there 1 − h is rounding error.
const MIN_FREE: f32 = 1e-4;

/// Separates these random numbers from others with the same seed.
const SALT: u64 = 0x5749_4C44_424F_4F54;

/// A fit and its residuals.
pub struct Residuals {
    grid: Arc<Grid>,
    design: Design,
    settings: Settings,
    voxels: Vec<usize>,
    kept: Kept,
}

/// The memory that a fit and its residuals are in.
enum Kept {
    Host {
        groups: Vec<Fit>,
        /// Group by group, row by row: w r / √(1 − h), 0 where a sample is not usable.
        pulls: Vec<Voxels>,
    },
    Card(Box<cuda::Residuals>),
}

/// The fit of sixteen voxels.
#[derive(Clone, Copy)]
struct Fit {
    estimate: Estimate,
    factor: Factor,
}

impl std::fmt::Debug for Residuals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Residuals of {} voxels", self.voxels.len())
    }
}

/// Memory of the residuals.
pub(super) fn bytes(mask: &Mask, design: &Design) -> u64 {
    let groups = mask.count().div_ceil(LANES) as u64;
    let group = size_of::<Fit>() + design.rows.len() * size_of::<Voxels>();
    groups * (group + LANES * size_of::<usize>()) as u64
}

impl Residuals {
    /// Runs on the current rayon pool.
    pub(super) fn new(
        dwi: &Volume,
        mask: &Mask,
        design: Design,
        settings: Settings,
        control: &Control,
    ) -> Result<Self, Cancelled> {
        let inside = mask.inside.iter().enumerate();
        let voxels: Vec<usize> = inside.filter(|(_, m)| **m != 0).map(|(i, _)| i).collect();
        control.begin("Residuals of the fit", voxels.len() as u64);
        let size = piece_size(&design);
        let rows = design.rows.len();
        let groups = voxels.len().div_ceil(LANES);
        let blank = Fit {
            estimate: Estimate {
                unknowns: [Voxels::ZERO; UNKNOWNS],
                reference: Voxels::ZERO,
                fitted: Voxels::ZERO,
            },
            factor: Factor {
                lower: [[Voxels::ZERO; UNKNOWNS]; UNKNOWNS],
                inverses: [Voxels::ZERO; UNKNOWNS],
                valid: Voxels::ZERO,
            },
        };
        let mut fits = vec![blank; groups];
        let mut pulls = vec![Voxels::ZERO; groups * rows];
        voxels
            .par_chunks(size)
            .zip(fits.par_chunks_mut(size / LANES))
            .zip(pulls.par_chunks_mut(size / LANES * rows))
            .try_for_each_init(
                || Scratch::new(rows, size),
                |scratch, ((voxels, fits), pulls)| {
                    control.check()?;
                    simd::dispatch(StoreResiduals {
                        dwi,
                        design: &design,
                        settings,
                        scratch,
                        voxels,
                        fits,
                        pulls,
                    });
                    control.advance(voxels.len() as u64);
                    Ok(())
                },
            )?;
        Ok(Self {
            grid: dwi.grid.clone(),
            design,
            settings,
            voxels,
            kept: Kept::Host {
                groups: fits,
                pulls,
            },
        })
    }

    /// Residuals in the memory of a graphics card.
    pub(super) fn on_card(
        dwi: &Volume,
        mask: &Mask,
        design: Design,
        settings: Settings,
        kept: cuda::Residuals,
    ) -> Self {
        let inside = mask.inside.iter().enumerate();
        Self {
            grid: dwi.grid.clone(),
            design,
            settings,
            voxels: inside.filter(|(_, m)| **m != 0).map(|(i, _)| i).collect(),
            kept: Kept::Card(Box::new(kept)),
        }
    }

    /// Whether a graphics card has the residuals, and fits the repetitions.
    pub fn is_on_card(&self) -> bool {
        matches!(self.kept, Kept::Card(_))
    }

    /// Grid of the scan.
    pub fn grid(&self) -> &Arc<Grid> {
        &self.grid
    }

    /// The voxels whose residuals are known, ascending.
    pub fn voxels(&self) -> &[usize] {
        &self.voxels
    }

    /// The tensors of some repetitions in the order of [`Self::voxels`], equal to those of [`Self::field`]. Runs on the
    /// current rayon pool, or as one launch on a graphics card.
    pub fn tensors_of_all(
        &self,
        seed: u64,
        repetitions: Range<u64>,
        control: &Control,
    ) -> Result<Vec<Vec<Tensor>>, Error> {
        if let Kept::Card(card) = &self.kept {
            let salts: Vec<u64> = repetitions.map(|number| salt(seed, number)).collect();
            return card.tensors(&salts, control);
        }
        let tensors = |number| {
            control.check()?;
            self.tensors(seed, number, control)
        };
        repetitions.into_par_iter().map(tensors).collect()
    }

    /// The tensors of one repetition, as those of [`Self::tensors_of_all`]. Runs on the calling thread.
    pub fn tensors(
        &self,
        seed: u64,
        repetition: u64,
        control: &Control,
    ) -> Result<Vec<Tensor>, Error> {
        let (groups, pulls) = match &self.kept {
            Kept::Host { groups, pulls } => (groups, pulls),
            Kept::Card(card) => {
                let tensors = card.tensors(&[salt(seed, repetition)], control)?;
                return Ok(tensors.into_iter().flatten().collect());
            }
        };
        let size = piece_size(&self.design);
        let rows = self.design.rows.len();
        let n = self.voxels.len();
        let (mut tensors, mut s0, mut repaired) =
            (vec![Tensor::default(); n], vec![0.0; n], vec![0; n]);
        let places: Vec<usize> = (0..n).collect();
        let pieces = split(places.chunks(size), &mut tensors, &mut s0, &mut repaired);
        let salt = salt(seed, repetition);
        let mut signed = vec![Voxels::ZERO; rows];
        let kept = groups.chunks(size / LANES);
        let kept = kept.zip(pulls.chunks(size / LANES * rows));
        let voxels = self.voxels.chunks(size);
        for ((piece, voxels), (fits, pulls)) in pieces.into_iter().zip(voxels).zip(kept) {
            simd::dispatch(RefitPiece {
                residuals: self,
                salt,
                signed: &mut signed,
                voxels,
                piece,
                fits,
                pulls,
            });
        }
        Ok(tensors)
    }

    /// The tensors of one repetition. Runs on the current rayon pool; the bytes do not depend on it. On a graphics card
    /// they stay there until the host needs them.
    pub fn field(
        &self,
        seed: u64,
        repetition: u64,
        control: &Control,
    ) -> Result<TensorField, Error> {
        let (groups, pulls) = match &self.kept {
            Kept::Host { groups, pulls } => (groups, pulls),
            Kept::Card(card) => return card.field(&self.grid, salt(seed, repetition), control),
        };
        let size = piece_size(&self.design);
        let rows = self.design.rows.len();
        let n = self.grid.voxel_count();
        let (mut tensors, mut s0, mut repaired) = (zeroed(n), zeroed(n), zeroed(n));
        let pieces = split(
            self.voxels.chunks(size),
            unshared(&mut tensors),
            unshared(&mut s0),
            unshared(&mut repaired),
        );
        let salt = salt(seed, repetition);
        pieces
            .into_par_iter()
            .zip(groups.par_chunks(size / LANES))
            .zip(pulls.par_chunks(size / LANES * rows))
            .try_for_each_init(
                || vec![Voxels::ZERO; rows],
                |signed, ((piece, fits), pulls)| {
                    control.check()?;
                    simd::dispatch(RefitPiece {
                        residuals: self,
                        salt,
                        signed,
                        voxels: piece.voxels,
                        piece,
                        fits,
                        pulls,
                    });
                    Ok::<_, Cancelled>(())
                },
            )?;
        Ok(TensorField::new(self.grid.clone(), tensors))
    }
}

/// The number from which the signs of a repetition are hashed.
fn salt(seed: u64, repetition: u64) -> u64 {
    Stream::new(seed ^ SALT, repetition).bits()
}

/// Fits a piece and stores its residuals.
struct StoreResiduals<'a> {
    dwi: &'a Volume,
    design: &'a Design,
    settings: Settings,
    scratch: &'a mut Scratch,
    voxels: &'a [usize],
    fits: &'a mut [Fit],
    pulls: &'a mut [Voxels],
}

impl simd::Kernel for StoreResiduals<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let rows = &self.design.rows[..];
        load::<FMA>(self.dwi, self.design, self.voxels, self.scratch);
        let logs = self.scratch.log.chunks_exact_mut(rows.len());
        let kept = self
            .fits
            .iter_mut()
            .zip(self.pulls.chunks_exact_mut(rows.len()));
        for (log, (fit, kept)) in logs.zip(kept) {
            let (weight, pull) = (&mut self.scratch.weight[..], &mut self.scratch.pull[..]);
            let solves = self.settings.weighted_solves;
            let estimate = fit_group::<FMA>(rows, solves, log, weight, pull);
            if solves == 0 {
                for ((row, y), (w, p)) in rows
                    .iter()
                    .zip(&*log)
                    .zip(weight.iter_mut().zip(&mut *pull))
                {
                    let residual = *y - predicted::<FMA>(row, &estimate.unknowns);
                    *w = y.map(|y| if y.is_nan() { 0.0 } else { 1.0 });
                    *p = residual.map(|r| if r.is_nan() { 0.0 } else { r });
                }
            } else {
                update_weights::<FMA>(rows, &estimate.unknowns, log, weight, pull);
            }
            let factor = Factor::new::<FMA>(rows, weight, |diagonal| SINGULAR * diagonal);
            for ((row, kept), (w, p)) in rows.iter().zip(kept).zip(weight.iter().zip(&*pull)) {
                let mut leverage = Voxels::ZERO;
                let half = factor.half::<FMA>(row.model.map(Lanes::splat));
                for (h, inverse) in half.into_iter().zip(factor.inverses) {
                    leverage = (h * inverse).mul_add::<FMA>(h, leverage);
                }
                let free = Voxels::splat(1.0) - *w * leverage;
                *kept = p.zip(free, |p, f| {
                    // The test is positive, so that NaN fails it.
                    if f > MIN_FREE { p / f.sqrt() } else { 0.0 }
                });
            }
            *fit = Fit { estimate, factor };
        }
    }
}

/// Computes a repetition of a piece.
struct RefitPiece<'a> {
    residuals: &'a Residuals,
    salt: u64,
    signed: &'a mut [Voxels],
    /// The voxels of the piece, by their indices in the grid, which determine the signs.
    voxels: &'a [usize],
    piece: Piece<'a>,
    fits: &'a [Fit],
    pulls: &'a [Voxels],
}

impl simd::Kernel for RefitPiece<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        const WORD: usize = 64;
        let rows = &self.residuals.design.rows[..];
        let stored = self.piece.voxels;
        let groups = self.voxels.chunks(LANES).zip(stored.chunks(LANES));
        let groups = groups.zip(self.fits);
        for (((voxels, stored), fit), pulls) in groups.zip(self.pulls.chunks_exact(rows.len())) {
            let mut streams = [0; LANES].map(|_: u64| Stream::new(self.salt, 0));
            for (stream, &voxel) in streams.iter_mut().zip(voxels) {
                *stream = Stream::new(self.salt, voxel as u64);
            }
            for (pulls, signed) in pulls.chunks(WORD).zip(self.signed.chunks_mut(WORD)) {
                let bits = streams.each_mut().map(Stream::bits);
                let low = bits.map(|b| b as u32);
                let high = bits.map(|b| (b >> 32) as u32);
                for (i, (pull, signed)) in pulls.iter().zip(signed).enumerate() {
                    let bits = if i < 32 { &low } else { &high };
                    for lane in 0..LANES {
                        let sign = (bits[lane] >> (i % 32)) << 31;
                        signed.0[lane] = f32::from_bits(pull.0[lane].to_bits() ^ sign);
                    }
                }
            }
            let change = fit.factor.solve::<FMA>(pulled::<FMA>(rows, self.signed));
            let mut estimate = fit.estimate;
            for (x, change) in estimate.unknowns.iter_mut().zip(change) {
                *x = *x + change;
            }
            let min = self.residuals.settings.min_eigenvalue_mm2_per_s;
            let group = Group::new::<FMA>(&estimate, self.residuals.design.b_max_s_per_mm2, min);
            store(&group, stored, &mut self.piece, min);
        }
    }
}
