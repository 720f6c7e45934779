//! Maps of a tensor field, eight voxels at a time.

use super::eigen::principal;
use super::{Maps, unshared};
use crate::compute::{Cancelled, Control, Lanes, simd, zeroed};
use crate::data::{Tensor, TensorField, Volume, VolumeKind};
use rayon::prelude::*;

pub(super) const LANES: usize = 8;
/// Voxels per task: about 0.2 ms.
pub(super) const PIECE: usize = 4096;
/// Values per voxel: FA, MD, AD, RD, red, green, blue, direction x, y, z.
pub(super) const PLANES: usize = 10;

pub(super) fn maps(field: &TensorField, control: &Control) -> Result<Maps, Cancelled> {
    let n = field.tensors.len();
    control.begin("Computing maps", n as u64);
    let [mut fa, mut md, mut ad, mut rd] = [(); 4].map(|()| zeroed::<f32>(n));
    let [mut dec, mut direction] = [(); 2].map(|()| zeroed::<f32>(3 * n));
    {
        let scalars = [&mut fa, &mut md, &mut ad, &mut rd].map(unshared);
        let vectors = [&mut dec, &mut direction].map(unshared);
        let frames = vectors.into_iter().flat_map(|v| v.chunks_mut(n));
        let mut planes: Vec<_> = scalars
            .into_iter()
            .chain(frames)
            .map(|plane| plane.chunks_mut(PIECE))
            .collect();
        let piece = |tensors| MapPiece {
            tensors,
            planes: planes.iter_mut().filter_map(Iterator::next).collect(),
        };
        let pieces: Vec<MapPiece> = field.tensors.chunks(PIECE).map(piece).collect();
        pieces.into_par_iter().try_for_each(|piece| {
            control.check()?;
            let count = piece.tensors.len() as u64;
            simd::dispatch(piece);
            control.advance(count);
            Ok(())
        })?;
    }
    let grid = &field.grid;
    let scalar = |values| Volume::scalar(grid.clone(), values);
    Ok(Maps {
        fa: scalar(fa),
        md: scalar(md),
        ad: scalar(ad),
        rd: scalar(rd),
        dec: Volume::new(grid.clone(), 3, VolumeKind::Rgb, dec),
        direction: Volume::new(grid.clone(), 3, VolumeKind::Scalar, direction),
        kernel_s: None,
    })
}

struct MapPiece<'a> {
    tensors: &'a [Tensor],
    /// The values of these voxels in each of the [`PLANES`].
    planes: Vec<&'a mut [f32]>,
}

impl simd::Kernel for MapPiece<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        for (group, tensors) in self.tensors.chunks(LANES).enumerate() {
            if tensors.iter().all(|t| t.inside == 0.0) {
                continue;
            }
            let values = measures::<FMA>(components(tensors));
            let at = group * LANES;
            for (plane, values) in self.planes.iter_mut().zip(values) {
                plane[at..at + tensors.len()].copy_from_slice(&values.0[..tensors.len()]);
            }
        }
    }
}

/// The components of at most [`LANES`] tensors, one tensor per lane.
#[inline(always)]
pub(super) fn components(tensors: &[Tensor]) -> [Lanes<LANES>; 6] {
    let mut d = [Lanes::<LANES>::ZERO; 6];
    for (lane, tensor) in tensors.iter().enumerate() {
        for (component, value) in d.iter_mut().zip(tensor.d) {
            component.0[lane] = value;
        }
    }
    d
}

/// Tensors in units of their trace, which keeps squares away from underflow; 0 where the trace is not above 0.
pub(super) struct Normalised {
    pub trace: Lanes<LANES>,
    /// xx xy xz yy yz zz.
    pub d: [Lanes<LANES>; 6],
    /// A third of the trace in this unit.
    pub third: Lanes<LANES>,
    /// Sum of the squares of all nine components of the deviator D − ⅓ tr(D) I.
    pub anisotropic: Lanes<LANES>,
    /// Sum of the squares of all nine components.
    pub whole: Lanes<LANES>,
    /// Fractional anisotropy.
    pub fa: Lanes<LANES>,
}

impl Normalised {
    #[inline(always)]
    pub fn new<const FMA: bool>(d: [Lanes<LANES>; 6]) -> Self {
        let [xx, xy, xz, yy, yz, zz] = d;
        let trace = xx + yy + zz;
        let unit = trace.map(|t| if t > 0.0 { 1.0 / t } else { 0.0 });
        let [xx, xy, xz, yy, yz, zz] = [xx, xy, xz, yy, yz, zz].map(|v| v * unit);
        let two = Lanes::splat(2.0);
        let off = xy.mul_add::<FMA>(xy, xz.mul_add::<FMA>(xz, yz * yz)) * two;
        let sum_of_squares = |a: Lanes<LANES>, b: Lanes<LANES>, c: Lanes<LANES>| {
            a.mul_add::<FMA>(a, b.mul_add::<FMA>(b, c.mul_add::<FMA>(c, off)))
        };
        let third = (xx + yy + zz) * Lanes::splat(1.0 / 3.0);
        let anisotropic = sum_of_squares(xx - third, yy - third, zz - third);
        let whole = sum_of_squares(xx, yy, zz);
        let fa = anisotropic.zip(whole, |a, w| {
            let ratio = if w > 0.0 { 1.5 * a / w } else { 0.0 };
            ratio.sqrt()
        });
        Self {
            trace,
            d: [xx, xy, xz, yy, yz, zz],
            third,
            anisotropic,
            whole,
            fa: fa.map(|f| if f < 1.0 { f } else { 1.0 }),
        }
    }
}

/// The values of the [`PLANES`]; 0 where the tensor is 0.
#[inline(always)]
fn measures<const FMA: bool>(d: [Lanes<LANES>; 6]) -> [Lanes<LANES>; PLANES] {
    let Normalised { trace, d, fa, .. } = Normalised::new::<FMA>(d);
    let mean = trace * Lanes::splat(1.0 / 3.0);
    let (largest, v) = principal::<LANES, FMA>(d);
    let present = trace.map(|t| if t > 0.0 { 1.0 } else { 0.0 });
    let v = v.map(|axis| axis * present);
    let axial = largest * trace;
    let radial = (trace - axial) * Lanes::splat(0.5);
    let [red, green, blue] = v.map(|axis| axis.abs() * fa);
    [fa, mean, axial, radial, red, green, blue, v[0], v[1], v[2]]
}
