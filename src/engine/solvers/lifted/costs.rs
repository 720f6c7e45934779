//! C(x, n), the cost per mm of a path through x in the direction n, from fibre orientation distributions.

use super::parameters::Params;
use super::{DirectionSet, Error};
use crate::compute::vector::{Kernel, Scalar, Vector};
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::odf_field::{InvalidOdf, typical_amplitude};
use crate::data::spherical_harmonics::{count, degrees, evaluate};
use crate::data::{AffineSource, Grid, Mask, OdfField, Volume};
use crate::solvers::metric::Places;
use glam::{DAffine3, DVec3};
use rayon::prelude::*;
use std::sync::Arc;

/// Above this order, lobes are narrower than the spacing of the directions and may fall between them.
const NARROW_ORDER: usize = 8;
/// Width by which such lobes are blurred, radians.
const BLUR_RAD: f64 = 6.0 * std::f64::consts::PI / 180.0;
/// Places that one task samples at a time.
const CHUNK: usize = 512;

/// Coefficients of distributions.
#[derive(Clone, Debug)]
pub(super) enum Series {
    /// Coefficients of every voxel of a grid.
    Image(OdfField),
    /// Coefficients of the places only, place by place.
    Rows { order: usize, rows: Arc<[f32]> },
}

impl Series {
    fn order(&self) -> usize {
        match self {
            Self::Image(field) => field.order(),
            Self::Rows { order, .. } => *order,
        }
    }

    /// The image, unless only places have coefficients.
    pub fn image(&self) -> Option<&OdfField> {
        match self {
            Self::Image(field) => Some(field),
            Self::Rows { .. } => None,
        }
    }

    /// The coefficients at a place and its voxel on the grid.
    fn at(&self, place: usize, voxel: usize) -> Vec<f64> {
        match self {
            Self::Image(field) => field.coefficients_at(voxel),
            Self::Rows { order, rows } => {
                let size = count(*order);
                let own = rows[place * size..][..size].iter();
                own.map(|c| f64::from(*c)).collect()
            }
        }
    }

    /// Coefficient `i` of voxels whose places are numbered from `first`.
    fn plane<'a>(
        &'a self,
        i: usize,
        voxels: &'a [u32],
        first: usize,
    ) -> Box<dyn Iterator<Item = f32> + 'a> {
        match self {
            Self::Image(field) => {
                let plane = &field.coefficients[i * field.grid.voxel_count()..];
                Box::new(voxels.iter().map(|voxel| plane[*voxel as usize]))
            }
            Self::Rows { order, rows } => {
                let size = count(*order);
                let rows = rows[first * size..].chunks_exact(size);
                Box::new(rows.map(move |row| row[i]).take(voxels.len()))
            }
        }
    }
}

/// Distributions, and the numbers with which their amplitudes become costs.
#[derive(Clone, Debug)]
pub struct Amplitudes {
    pub(super) series: Series,
    /// f_ref: the typical amplitude of white matter.
    pub reference: f64,
    /// δ.
    background_speed: f64,
}

impl Amplitudes {
    /// C for an amplitude.
    fn cost(&self, amplitude: f64) -> f64 {
        1.0 / (self.background_speed + (amplitude / self.reference).clamp(0.0, 1.0))
    }

    /// C at a place and its voxel on the grid, along a unit vector.
    pub fn cost_at(&self, place: usize, voxel: usize, direction: DVec3) -> f64 {
        let functions = functions(self.series.order(), direction);
        let coefficients = self.series.at(place, voxel);
        let terms = functions.iter().zip(&coefficients);
        self.cost(terms.map(|(y, c)| y * c).sum())
    }
}

/// Functions of the series in a direction, blurred where lobes are narrow.
fn functions(order: usize, direction: DVec3) -> Vec<f64> {
    let mut values = evaluate(order, direction);
    if order > NARROW_ORDER {
        for (value, (l, _)) in values.iter_mut().zip(degrees(order)) {
            let l = l as f64;
            *value *= (-0.5 * l * (l + 1.0) * BLUR_RAD * BLUR_RAD).exp();
        }
    }
    values
}

/// One of each pair of opposite directions.
fn half(directions: &[DVec3]) -> impl Iterator<Item = DVec3> {
    directions.iter().step_by(2).copied()
}

/// The largest amplitude of each voxel of the grid over 162 directions, as an image: NaN without a distribution. Lobes of
/// high orders are blurred as for the costs.
pub fn largest_amplitudes(
    field: &OdfField,
    backend: &Backend,
    control: &Control,
) -> Result<Volume, Error> {
    field.check()?;
    let n = field.grid.voxel_count();
    let used = |v: &u32| field.has_distribution(*v as usize);
    let voxels = (0..n as u32).into_par_iter();
    let voxels: Vec<u32> = backend.install(|| voxels.filter(used).collect());
    let directions = DirectionSet::Icosphere162.directions(&field.grid);
    memory::claim_for::<f32>("The largest amplitudes", n, 1)?;
    let mut out = vec![f32::NAN; n];
    control.begin("Sampling distributions", voxels.len() as u64);
    let series = Series::Image(field.clone());
    let tables = Tables::new(&series, &directions);
    let parts: Vec<Vec<f32>> = backend.install(|| {
        let chunks = voxels.par_chunks(CHUNK).map(|voxels| {
            control.check()?;
            let mut largest = vec![f32::NEG_INFINITY; voxels.len()];
            tables.sample(voxels, 0, |_, values| {
                for (largest, value) in largest.iter_mut().zip(values) {
                    *largest = largest.max(*value);
                }
            });
            control.advance(voxels.len() as u64);
            Ok(largest)
        });
        chunks.collect::<Result<_, Cancelled>>()
    })?;
    for (voxel, value) in voxels.iter().zip(parts.iter().flatten()) {
        out[*voxel as usize] = *value;
    }
    Ok(Volume::scalar(field.grid.clone(), out))
}

/// C by pair of directions and place, with this reference amplitude; `None`: the typical amplitude of these places.
/// Needs the backend's threads installed.
pub(super) fn sampled(
    series: Series,
    places: &Places,
    directions: &[DVec3],
    reference: Option<f64>,
    params: &Params,
    control: &Control,
) -> Result<(Amplitudes, Vec<f32>), Error> {
    if series.order() == 0 {
        return Err(InvalidOdf::NoDirections.into());
    }
    let (n, pairs) = (places.len(), directions.len() / 2);
    let mut values = vec![0f32; n * pairs];
    control.begin("Computing costs", n as u64);
    let tables = Tables::new(&series, directions);
    let chunks: Vec<(Vec<f32>, Vec<f32>)> = places
        .voxels
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(chunk, voxels)| {
            control.check()?;
            let mut largest = vec![f32::NEG_INFINITY; voxels.len()];
            let mut all = Vec::with_capacity(pairs * voxels.len());
            tables.sample(voxels, chunk * CHUNK, |_, values| {
                for (largest, value) in largest.iter_mut().zip(values) {
                    *largest = largest.max(*value);
                }
                all.extend_from_slice(values);
            });
            control.advance(voxels.len() as u64);
            Ok((largest, all))
        })
        .collect::<Result<_, Cancelled>>()?;
    let reference = reference.unwrap_or_else(|| {
        let largest = chunks.iter().flat_map(|c| &c.0).copied();
        f64::from(typical_amplitude(largest.collect()).unwrap_or(1.0))
    });
    let amplitudes = Amplitudes {
        series,
        reference,
        background_speed: params.background_speed,
    };
    values
        .par_chunks_mut(n)
        .enumerate()
        .for_each(|(pair, out)| {
            for (out, (_, all)) in out.chunks_mut(CHUNK).zip(&chunks) {
                let count = out.len();
                for (out, f) in out.iter_mut().zip(&all[pair * count..]) {
                    *out = amplitudes.cost(f64::from(*f)) as f32;
                }
            }
        });
    Ok((amplitudes, values))
}

/// Harmonics in each direction, and the distributions to which they are applied.
struct Tables<'a> {
    series: &'a Series,
    /// By pair of directions and function.
    functions: Vec<f32>,
}

impl<'a> Tables<'a> {
    fn new(series: &'a Series, directions: &[DVec3]) -> Self {
        let all = half(directions).flat_map(|direction| functions(series.order(), direction));
        Self {
            series,
            functions: all.map(|y| y as f32).collect(),
        }
    }

    /// Amplitudes of these voxels, whose places are numbered from `first`, one pair of directions after the other; 0 in
    /// voxels without a finite series.
    fn sample(&self, voxels: &[u32], first: usize, mut take: impl FnMut(usize, &[f32])) {
        let size = count(self.series.order());
        let width = voxels.len().next_multiple_of(16);
        let mut series = vec![0f32; size * width];
        for (i, row) in series.chunks_exact_mut(width).enumerate() {
            let plane = self.series.plane(i, voxels, first);
            for (value, c) in row.iter_mut().zip(plane) {
                *value = if c.is_finite() { c } else { 0.0 };
            }
        }
        let mut values = vec![0f32; width];
        for (pair, functions) in self.functions.chunks_exact(size).enumerate() {
            f32::dispatch(Sum {
                functions,
                series: &series,
                out: &mut values,
            });
            take(pair, &values[..voxels.len()]);
        }
    }
}

/// The sum of series, one for each lane, in one direction.
struct Sum<'a> {
    functions: &'a [f32],
    series: &'a [f32],
    out: &'a mut [f32],
}

impl Kernel<f32> for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = f32>>(self) {
        let width = self.out.len();
        for start in (0..width).step_by(V::LANES) {
            let mut sum = V::zero();
            for (i, y) in self.functions.iter().enumerate() {
                let c = V::load(&self.series[i * width + start..]);
                sum = c.mul_add(V::splat(*y), sum);
            }
            sum.store(&mut self.out[start..]);
        }
    }
}

/// The means of up to eight distributions inside the mask (on the field's grid), on voxels of twice the size, and the
/// voxels that have one; `None` if there are too few voxels for a grid. Must be called on the backend's threads.
pub fn halved_distributions(field: &OdfField, mask: &Mask) -> Option<(OdfField, Mask)> {
    let fine = &field.grid;
    let shape = fine.shape.map(|n| n.div_ceil(2));
    let twice =
        DAffine3::from_translation(DVec3::splat(0.5)) * DAffine3::from_scale(DVec3::splat(2.0));
    let affine = fine.world_from_voxel * twice;
    let grid = Arc::new(Grid::new(shape, affine, AffineSource::Computed)?);
    let corners: Vec<Vec<u32>> = (0..grid.voxel_count())
        .into_par_iter()
        .map(|v| {
            let [x, y, z] = grid.voxel(v).map(|c| 2 * c);
            let around = (0..8).map(|c| [x + (c & 1), y + (c >> 1 & 1), z + (c >> 2)]);
            let inside = around.filter(|at| (0..3).all(|a| at[a] < fine.shape[a]));
            let voxels = inside.map(|at| fine.index(at));
            voxels
                .filter(|i| mask.inside[*i] != 0)
                .map(|i| i as u32)
                .collect()
        })
        .collect();
    let inside: Vec<u8> = corners.iter().map(|c| u8::from(!c.is_empty())).collect();
    let n = fine.voxel_count();
    let mean = |plane: &[f32], corners: &[u32]| {
        let sum: f32 = corners.iter().map(|v| plane[*v as usize]).sum();
        sum / corners.len().max(1) as f32
    };
    let coefficients: Vec<f32> = field
        .coefficients
        .par_chunks_exact(n)
        .flat_map_iter(|plane| corners.iter().map(move |c| mean(plane, c)))
        .collect();
    let halved = OdfField::new(grid.clone(), field.order(), coefficients);
    Some((halved, Mask::new(grid, inside)))
}
