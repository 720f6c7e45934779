//! Values of an image along streamlines.

use crate::compute::{memory, simd};
use crate::data::shared_slice::{Late, LateError};
use crate::data::{Grid, Shared, Tractogram, Volume};
use glam::Vec3;
use rayon::prelude::*;
use std::any::Any;
use std::sync::OnceLock;

/// Trilinear values of a volume's first frame at every point of a tractogram.
pub fn sample(volume: &Volume, tractogram: &Tractogram) -> Vec<f32> {
    tractogram
        .points
        .par_iter()
        .with_min_len(4096)
        .map(sample_frame(volume, 0))
        .collect()
}

/// The values of [`sample`]; for points that are not on the host, computed when they are there.
pub fn sampled(volume: &Volume, tractogram: &Tractogram) -> Shared<f32> {
    match tractogram.points.is_on_host() {
        true => sample(volume, tractogram).into(),
        false => Shared::late(LateSamples {
            volume: volume.clone(),
            tractogram: tractogram.clone(),
            values: OnceLock::new(),
        }),
    }
}

/// Values at points that are not on the host yet.
struct LateSamples {
    volume: Volume,
    tractogram: Tractogram,
    values: OnceLock<Vec<f32>>,
}

impl Late<f32> for LateSamples {
    fn count(&self) -> usize {
        self.tractogram.points.len()
    }

    fn is_on_host(&self) -> bool {
        self.values.get().is_some()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn values(&self) -> Result<&[f32], LateError> {
        if let Some(values) = self.values.get() {
            return Ok(values);
        }
        self.tractogram.points.on_host()?;
        memory::claim_for::<f32>("The values along streamlines", self.count(), 1)?;
        let values = sample(&self.volume, &self.tractogram);
        Ok(self.values.get_or_init(|| values))
    }
}

/// Distance from the outermost voxel centres up to which points lie in the grid, in voxels: coordinates of millimetres in
/// single precision put a point on the border on either side of it.
pub(super) const BORDER: f32 = 0.5 + 1e-3;

/// Whether a point, in voxels, lies in no voxel of a grid.
fn is_outside(voxel: Vec3, last: Vec3) -> bool {
    !(voxel.cmpge(Vec3::splat(-BORDER)).all() && voxel.cmple(last + BORDER).all())
}

fn last_voxel(grid: &Grid) -> Vec3 {
    Vec3::from_array(grid.shape.map(|n| (n - 1) as f32))
}

/// The number of finite points that lie in no voxel of a grid.
pub fn points_outside(grid: &Grid, tractogram: &Tractogram) -> usize {
    let voxel_from_world = grid.voxel_from_world.as_affine3a();
    let last = last_voxel(grid);
    let outside = |point: &&[f32; 3]| {
        let voxel = voxel_from_world.transform_point3(Vec3::from(**point));
        voxel.is_finite() && is_outside(voxel, last)
    };
    let points = tractogram.points.par_iter().with_min_len(4096);
    points.filter(outside).count()
}

/// The number of finite points in a volume's voxels at which its first frame has no number.
pub fn points_without_value(volume: &Volume, tractogram: &Tractogram) -> usize {
    let inside = sample_inside(volume, 0);
    let lacks = |point: &&[f32; 3]| {
        point.iter().all(|c| c.is_finite()) && inside(point).is_some_and(f32::is_nan)
    };
    let points = tractogram.points.par_iter().with_min_len(4096);
    points.filter(lacks).count()
}

/// Trilinear values of one frame at points in the world; NaN for a point in no voxel, or not finite.
pub fn sample_frame(volume: &Volume, frame: usize) -> impl Fn(&[f32; 3]) -> f32 + Sync + Send + '_ {
    let inside = sample_inside(volume, frame);
    move |point: &[f32; 3]| inside(point).unwrap_or(f32::NAN)
}

/// Trilinear values of one frame at points in the world. Points beyond the outermost voxel centres take the value of
/// the nearest voxel; `None` for a point in no voxel, NaN for one that is not finite.
pub(super) fn sample_inside(
    volume: &Volume,
    frame: usize,
) -> impl Fn(&[f32; 3]) -> Option<f32> + Sync + Send + '_ {
    let voxel_from_world = volume.grid.voxel_from_world.as_affine3a();
    let shape = volume.grid.shape;
    let values = volume.frame(frame);
    let last = last_voxel(&volume.grid);
    // Steps to the next voxel along each axis. A grid one voxel thick has no upper neighbour; its weight is 0.
    let strides = [1, shape[0], shape[0] * shape[1]];
    let next = [0, 1, 2].map(|a| if shape[a] > 1 { strides[a] } else { 0 });
    move |point: &[f32; 3]| {
        let v = voxel_from_world.transform_point3(Vec3::from(*point));
        if !v.is_finite() {
            return Some(f32::NAN);
        }
        if is_outside(v, last) {
            return None;
        }
        let v = v.clamp(Vec3::ZERO, last);
        let low = v.floor().min((last - 1.0).max(Vec3::ZERO));
        let t = v - low;
        let [i, j, k] = low.to_array().map(|c| c as usize);
        let first = volume.grid.index([i, j, k]);
        let value = |di: usize, dj: usize, dk: usize| {
            values[first + di * next[0] + dj * next[1] + dk * next[2]]
        };
        let mix = |a: f32, b: f32, t: f32| a + (b - a) * t;
        let row = |dj, dk| mix(value(0, dj, dk), value(1, dj, dk), t.x);
        let plane = |dk| mix(row(0, dk), row(1, dk), t.y);
        Some(mix(plane(0), plane(1), t.z))
    }
}

/// Trilinear values of one frame at many points: the same as [`sample_frame`] up to rounding, several times as fast.
pub(super) struct ImageSampler<'a> {
    volume: &'a Volume,
    frame: usize,
    values: &'a [f32],
    /// Columns of the affine from world mm to voxels: x, y, z and the offset.
    columns: [[f32; 3]; 4],
    last: [f32; 3],
    strides: [u32; 3],
    /// Steps to the next voxel along the second and the third axis: 0 along an axis that is one voxel thick.
    next: [usize; 2],
    /// [`Self::fill`] can compute many points together.
    is_regular: bool,
}

impl<'a> ImageSampler<'a> {
    pub fn new(volume: &'a Volume, frame: usize) -> Self {
        let affine = volume.grid.voxel_from_world.as_affine3a();
        let [x, y, z] = [
            affine.matrix3.x_axis,
            affine.matrix3.y_axis,
            affine.matrix3.z_axis,
        ];
        let shape = volume.grid.shape;
        let strides = [1, shape[0], shape[0] * shape[1]];
        let step = |axis: usize| if shape[axis] > 1 { strides[axis] } else { 0 };
        let values = volume.frame(frame);
        // Voxels are counted in 32 bits, and those of an axis in 23; the first axis has neighbours.
        let is_regular = u32::try_from(values.len()).is_ok()
            && shape.iter().all(|n| *n < 1 << 23)
            && shape[0] > 1;
        Self {
            volume,
            frame,
            values,
            columns: [x, y, z, affine.translation].map(|c| c.to_array()),
            last: last_voxel(&volume.grid).to_array(),
            strides: strides.map(|s| u32::try_from(s).unwrap_or(0)),
            next: [step(1), step(2)],
            is_regular,
        }
    }

    /// The values at points in the world; NaN for a point in no voxel, or not finite.
    pub fn fill(&self, points: &[[f32; 3]], values: &mut [f32]) {
        if self.is_regular {
            return simd::dispatch(SampledPoints {
                sampler: self,
                points,
                values,
            });
        }
        let at = sample_frame(self.volume, self.frame);
        for (point, value) in points.iter().zip(values) {
            *value = at(point);
        }
    }
}

struct SampledPoints<'a> {
    sampler: &'a ImageSampler<'a>,
    points: &'a [[f32; 3]],
    values: &'a mut [f32],
}

/// Points whose voxels are computed together, in vector registers.
const BLOCK: usize = 64;

impl simd::Kernel for SampledPoints<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut cells = Cells {
            indices: [0; BLOCK],
            shares: [[0.0; BLOCK]; 3],
        };
        let blocks = self.points.chunks(BLOCK).zip(self.values.chunks_mut(BLOCK));
        for (points, values) in blocks {
            self.sampler.cells::<FMA>(points, &mut cells);
            for (i, value) in values.iter_mut().enumerate() {
                *value = self.sampler.value::<FMA>(&cells, i);
            }
        }
    }
}

/// The voxels around points.
struct Cells {
    /// Index of the voxel with the lowest coordinates of the eight around a point.
    indices: [u32; BLOCK],
    /// Shares of the next voxels along each axis; the first is NaN for a point outside.
    shares: [[f32; BLOCK]; 3],
}

#[inline(always)]
fn multiply_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    match FMA {
        true => a.mul_add(b, c),
        false => a * b + c,
    }
}

impl ImageSampler<'_> {
    #[inline(always)]
    fn cells<const FMA: bool>(&self, points: &[[f32; 3]], cells: &mut Cells) {
        /// Adding it to a whole number below it leaves that in the lowest bits.
        const WHOLE: f32 = 8_388_608.0;
        let [x, y, z, offset] = self.columns;
        let mut places = [[0f32; BLOCK]; 3];
        for (i, point) in points.iter().enumerate() {
            for axis in 0..3 {
                places[axis][i] = point[axis];
            }
        }
        cells.indices = [0; BLOCK];
        let mut outside = [0f32; BLOCK];
        for axis in 0..3 {
            let last = self.last[axis];
            let highest = (last - 1.0).max(0.0);
            for i in 0..BLOCK {
                let v = multiply_add::<FMA>(places[0][i], x[axis], offset[axis]);
                let v = multiply_add::<FMA>(places[1][i], y[axis], v);
                let v = multiply_add::<FMA>(places[2][i], z[axis], v);
                let inside = v.max(0.0).min(last);
                // NaN is outside.
                let is_inside = (v - inside).abs() <= BORDER;
                outside[i] = if is_inside { outside[i] } else { f32::NAN };
                let low = inside.floor().min(highest);
                cells.shares[axis][i] = inside - low;
                let low = (low + WHOLE).to_bits().wrapping_sub(WHOLE.to_bits());
                let step = low.wrapping_mul(self.strides[axis]);
                cells.indices[i] = cells.indices[i].wrapping_add(step);
            }
        }
        for i in 0..BLOCK {
            cells.shares[0][i] += outside[i];
        }
    }

    #[inline(always)]
    fn value<const FMA: bool>(&self, cells: &Cells, i: usize) -> f32 {
        let mix = |a: f32, b: f32, share: f32| multiply_add::<FMA>(b - a, share, a);
        let row = |first: usize| {
            let pair = self.values.get(first..).and_then(|v| v.first_chunk::<2>());
            let [a, b] = pair.copied().unwrap_or([f32::NAN; 2]);
            mix(a, b, cells.shares[0][i])
        };
        let [ny, nz] = self.next;
        let first = cells.indices[i] as usize;
        let plane = |first: usize| mix(row(first), row(first.wrapping_add(ny)), cells.shares[1][i]);
        mix(
            plane(first),
            plane(first.wrapping_add(nz)),
            cells.shares[2][i],
        )
    }
}
