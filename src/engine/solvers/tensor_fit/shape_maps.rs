//! Maps of the shape of tensors, which are computed on request, eight voxels at a time.
//!
//! With the eigenvalues λ₁ ≥ λ₂ ≥ λ₃ of D and its deviator A = D − ⅓ tr(D) I:
//!
//! - mode = 3 √6 det(A / |A|), where |·| is the Frobenius norm (Ennis and Kindlmann 2006, Magn Reson Med 55:136):
//!   −1 for planar, +1 for linear anisotropy, 0 halfway. Where A is 0 within the rounding of single precision
//!   (FA below 2e-6), the mode is undefined, and the map is 0;
//! - cl = (λ₁ − λ₂) / λ₁, cp = (λ₂ − λ₃) / λ₁ and cs = λ₃ / λ₁, normalised by λ₁ as in Westin et al. 2002, Med Image
//!   Anal 6:93 (and in MRtrix), not by the trace as in Westin et al. 1997: cl + cp + cs = 1;
//! - norm = |D| = √(λ₁² + λ₂² + λ₃²), mm²/s;
//! - the colour of the mode in [`ColourMap::Diverging`] from −1 (blue) over 0 (white) to +1 (orange), times FA, so that
//!   colour is seen only where the mode is well determined.

use super::eigen::eigenvalues;
use super::maps::{LANES, Normalised, PIECE, components};
use super::{FitMap, unshared};
use crate::compute::{Cancelled, Control, Lanes, simd, zeroed};
use crate::data::appearance::ColourMap;
use crate::data::{Grid, Tensor, TensorField, Volume, VolumeKind};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Values per voxel: mode, cl, cp, cs, norm, red, green, blue.
const PLANES: usize = 8;
/// FA, in the place of the colours among the planes of a card.
pub(super) const SHAPE_FA: usize = 5;
/// 3 √6, which makes the mode ±1 at its limits.
const MODE_SCALE: f32 = 7.348_469;
/// Smallest norm of a deviator with a mode, in units of the trace: components of ⅓ are rounded to 3e-8.
const MIN_DEVIATOR: f32 = 1e-6;

/// The planes of a map; `None`: it is no map of the shape.
fn planes(map: FitMap) -> Option<Range<usize>> {
    Some(match map {
        FitMap::Mode => 0..1,
        FitMap::Cl => 1..2,
        FitMap::Cp => 2..3,
        FitMap::Cs => 3..4,
        FitMap::Norm => 4..5,
        FitMap::ModeColour => 5..PLANES,
        _ => return None,
    })
}

/// Values per voxel of these maps.
pub(super) fn plane_count(maps: &[FitMap]) -> usize {
    maps.iter()
        .filter_map(|map| planes(*map))
        .map(|p| p.len())
        .sum()
}

pub(super) fn shape_maps(
    field: &TensorField,
    maps: &[FitMap],
    control: &Control,
) -> Result<Vec<(FitMap, Volume)>, Cancelled> {
    let n = field.tensors.len();
    let mut maps: Vec<(FitMap, Range<usize>, Arc<[f32]>)> = maps
        .iter()
        .filter_map(|map| {
            planes(*map).map(|planes| (*map, planes.clone(), zeroed(planes.len() * n)))
        })
        .collect();
    if !maps.is_empty() && n > 0 {
        control.begin("Computing maps", n as u64);
        let mut outputs: Vec<_> = maps
            .iter_mut()
            .flat_map(|(_, planes, values)| planes.clone().zip(unshared(values).chunks_mut(n)))
            .map(|(plane, values)| (plane, values.chunks_mut(PIECE)))
            .collect();
        let piece = |tensors| ShapePiece {
            tensors,
            outputs: outputs
                .iter_mut()
                .filter_map(|(plane, pieces)| Some((*plane, pieces.next()?)))
                .collect(),
        };
        let pieces: Vec<ShapePiece> = field.tensors.chunks(PIECE).map(piece).collect();
        pieces.into_par_iter().try_for_each(|piece| {
            control.check()?;
            let count = piece.tensors.len() as u64;
            simd::dispatch(piece);
            control.advance(count);
            Ok(())
        })?;
    }
    let volume = |(map, planes, values): (FitMap, Range<usize>, Arc<[f32]>)| {
        let kind = match map {
            FitMap::ModeColour => VolumeKind::Rgb,
            _ => VolumeKind::Scalar,
        };
        (
            map,
            Volume::new(field.grid.clone(), planes.len(), kind, values),
        )
    };
    Ok(maps.into_iter().map(volume).collect())
}

/// Maps of the shape from the planes mode, cl, cp, cs, norm and FA ([`SHAPE_FA`]) of a card, which `plane` copies to the
/// host. Runs on the current rayon pool.
pub(super) fn volumes<E>(
    grid: &Arc<Grid>,
    maps: &[FitMap],
    plane: impl Fn(usize) -> Result<Vec<f32>, E>,
) -> Result<Vec<(FitMap, Volume)>, E> {
    let known = maps
        .iter()
        .filter_map(|map| planes(*map).map(|planes| (*map, planes)));
    let volume = |(map, planes): (FitMap, Range<usize>)| {
        if map != FitMap::ModeColour {
            return Ok((map, Volume::scalar(grid.clone(), plane(planes.start)?)));
        }
        let (mode, fa) = (plane(0)?, plane(SHAPE_FA)?);
        let colours = (0..3).flat_map(|channel| {
            let pairs = mode.par_iter().zip(&fa);
            let level = |(mode, fa): (&f32, &f32)| colour(*mode)[channel] * fa;
            pairs.map(level).collect::<Vec<f32>>()
        });
        let colours: Vec<f32> = colours.collect();
        Ok((map, Volume::new(grid.clone(), 3, VolumeKind::Rgb, colours)))
    };
    known.map(volume).collect()
}

/// Red, green and blue of a mode, 0..=1.
#[inline(always)]
fn colour(mode: f32) -> [f32; 3] {
    let colour = ColourMap::Diverging.at(0.5 * (mode + 1.0));
    colour.map(|level| f32::from(level) * (1.0 / 255.0))
}

struct ShapePiece<'a> {
    tensors: &'a [Tensor],
    /// Planes with their values in these voxels.
    outputs: Vec<(usize, &'a mut [f32])>,
}

impl simd::Kernel for ShapePiece<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        for (group, tensors) in self.tensors.chunks(LANES).enumerate() {
            if tensors.iter().all(|t| t.inside == 0.0) {
                continue;
            }
            let measured = measures::<FMA>(components(tensors));
            let at = group * LANES;
            for (plane, values) in &mut self.outputs {
                let lanes = &measured[*plane].0[..tensors.len()];
                values[at..at + tensors.len()].copy_from_slice(lanes);
            }
        }
    }
}

/// The values of the [`PLANES`]; 0 where the tensor is 0.
#[inline(always)]
fn measures<const FMA: bool>(d: [Lanes<LANES>; 6]) -> [Lanes<LANES>; PLANES] {
    let tensor = Normalised::new::<FMA>(d);
    let [xx, xy, xz, yy, yz, zz] = tensor.d;
    let [a, b, c] = [xx, yy, zz].map(|component| component - tensor.third);
    // det A along its first row.
    let determinant = a * yz.neg_mul_add::<FMA>(yz, b * c) - xy * xz.neg_mul_add::<FMA>(yz, xy * c)
        + xz * xz.neg_mul_add::<FMA>(b, xy * yz);
    let mode = determinant.zip(tensor.anisotropic, |determinant, squares| {
        let norm = squares.sqrt();
        match norm > MIN_DEVIATOR {
            true => (MODE_SCALE * determinant / (squares * norm)).clamp(-1.0, 1.0),
            false => 0.0,
        }
    });
    let [largest, middle, smallest] = eigenvalues::<LANES, FMA>(tensor.d);
    let unit = largest.map(|l| if l > 0.0 { 1.0 / l } else { 0.0 });
    let linear = (largest - middle) * unit;
    let planar = (middle - smallest) * unit;
    let spherical = smallest * unit;
    let norm = tensor.whole.sqrt() * tensor.trace;
    let colours = mode.0.map(colour);
    let [red, green, blue] =
        [0, 1, 2].map(|channel| Lanes(colours.map(|colour| colour[channel])) * tensor.fa);
    [mode, linear, planar, spherical, norm, red, green, blue]
}
