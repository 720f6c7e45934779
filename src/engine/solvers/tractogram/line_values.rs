//! Values of streamlines for their colours and limits: of an image or of the file, at each point or combined over a
//! streamline; the direction from end to end; groups; distances from a region.
//!
//! Values of images are trilinear, as in [`super::sample`]. A point outside the image has no value (NaN), and such
//! points do not count in the value of a streamline.
//!
//! # Example
//!
//! The mean of an image along a streamline:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::{Grid, Tractogram, Volume};
//! use arcuate_engine::solvers::tractogram::line_values::{LineStatistic, LineValues, of_image};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let grid = Grid::axis_aligned([3, 1, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let image = Volume::scalar(Arc::new(grid), vec![0.0, 10.0, 20.0]);
//! let line = Tractogram::new(vec![[0.0; 3], [0.5, 0.0, 0.0], [2.0, 0.0, 0.0]], vec![0, 3]);
//! let mean = of_image(&line, (&image, 0), LineStatistic::Mean, &backend, &control)?;
//! assert!(matches!(mean, LineValues::PerStreamline(_)));
//! assert_eq!(mean.values()[..], [25.0 / 3.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::error::InputError;
use super::sample::ImageSampler;
use crate::compute::memory::{claim_for, zeroed};
use crate::compute::{Backend, Cancelled, Control, simd};
use crate::data::{Shape, Shared, Tractogram, Volume, keyed};
use crate::solvers::Error;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Points between two checks for cancellation, and per work item.
const POINTS: usize = 1 << 15;
/// Streamlines between two checks for cancellation, and per work item.
const CHUNK: usize = 512;
/// Percentiles are those of at most this many values, evenly spaced among all.
const SAMPLED: usize = 1 << 18;
/// The share of values below an automatic range, and above it.
const TAIL: f64 = 0.02;

/// How the values of its points become that of a streamline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LineStatistic {
    /// Each point shows its own value.
    #[default]
    EachPoint,
    /// The mean over the points that have a value.
    Mean,
    /// The smallest value.
    Minimum,
    /// The largest value.
    Maximum,
}

keyed!(LineStatistic, serde {
    EachPoint = "points",
    Mean = "mean",
    Minimum = "minimum",
    Maximum = "maximum",
});

impl LineStatistic {
    /// All statistics in the order of their declaration.
    pub const ALL: [Self; 4] = [Self::EachPoint, Self::Mean, Self::Minimum, Self::Maximum];

    /// The value of a streamline whose points have these values; NaN without one.
    fn combine(self, values: &[f32]) -> f32 {
        let known = values.iter().copied().filter(|v| !v.is_nan());
        match self {
            Self::EachPoint | Self::Mean => {
                let (sum, count) = known.fold((0.0, 0u64), |(sum, count), v| {
                    (sum + f64::from(v), count + 1)
                });
                (sum / count as f64) as f32
            }
            Self::Minimum => known.reduce(f32::min).unwrap_or(f32::NAN),
            Self::Maximum => known.reduce(f32::max).unwrap_or(f32::NAN),
        }
    }
}

/// Values of streamlines, NaN where there is none.
#[derive(Clone, PartialEq, Debug)]
pub enum LineValues {
    /// One for each point.
    PerPoint(Shared<f32>),
    /// One for each streamline.
    PerStreamline(Shared<f32>),
}

impl LineValues {
    /// All values.
    pub fn values(&self) -> &Shared<f32> {
        match self {
            Self::PerPoint(values) | Self::PerStreamline(values) => values,
        }
    }
}

/// The trilinear values of a frame of an image.
pub fn of_image(
    tractogram: &Tractogram,
    (volume, frame): (&Volume, usize),
    statistic: LineStatistic,
    backend: &Backend,
    control: &Control,
) -> Result<LineValues, Error> {
    let sampler = ImageSampler::new(volume, frame);
    let fill = |points: &[[f32; 3]], values: &mut [f32]| sampler.fill(points, values);
    at_points(tractogram, statistic, fill, backend, control)
}

/// The colours of a colour image at each point, as numbers of [`packed`]; its values are multiplied by `brightness`.
pub fn of_colour_image(
    tractogram: &Tractogram,
    volume: &Volume,
    brightness: f32,
    backend: &Backend,
    control: &Control,
) -> Result<LineValues, Error> {
    let samplers = [0, 1, 2].map(|frame| ImageSampler::new(volume, frame));
    let fill = |points: &[[f32; 3]], values: &mut [f32]| {
        let mut channels = [vec![], vec![], vec![]];
        for (channel, sampler) in channels.iter_mut().zip(&samplers) {
            channel.resize(points.len(), 0.0);
            sampler.fill(points, channel);
        }
        for (i, value) in values.iter_mut().enumerate() {
            let colour = [0, 1, 2].map(|c: usize| channels[c][i] * brightness);
            *value = match colour.iter().any(|c| c.is_nan()) {
                true => f32::NAN,
                false => packed(colour.map(|c| (c.clamp(0.0, 1.0) * 255.0).round() as u8)),
            };
        }
    };
    at_points(tractogram, LineStatistic::EachPoint, fill, backend, control)
}

/// The colours of a label map at the nearest voxel of each point, as numbers of [`packed`]; none in its background and
/// outside it.
pub fn of_labels(
    tractogram: &Tractogram,
    volume: &Volume,
    backend: &Backend,
    control: &Control,
) -> Result<LineValues, Error> {
    let fill = |points: &[[f32; 3]], values: &mut [f32]| {
        for (point, value) in points.iter().zip(values) {
            let number = volume.nearest(0, Vec3::from(*point).as_dvec3());
            let number = number.filter(|number| *number >= 1.0);
            let labels = volume.labels.as_ref();
            *value = match number.zip(labels) {
                Some((number, labels)) => packed(labels.colour(number as u32)),
                None => f32::NAN,
            };
        }
    };
    at_points(tractogram, LineStatistic::EachPoint, fill, backend, control)
}

/// Values of the file: those of each streamline, or those of each point, perhaps combined. Fails if there are none of
/// this name.
pub fn of_file(
    tractogram: &Tractogram,
    name: &str,
    statistic: LineStatistic,
    backend: &Backend,
    control: &Control,
) -> Result<LineValues, Error> {
    if let Some(values) = tractogram.per_point.get(name) {
        return over(tractogram, values, statistic, backend, control);
    }
    let values = tractogram.per_streamline.get(name).ok_or_else(|| {
        let known = tractogram.value_names().into_iter().map(str::to_owned);
        InputError::Value {
            name: name.to_owned(),
            known: known.collect(),
        }
    })?;
    Ok(LineValues::PerStreamline(values.clone()))
}

/// Values of points, perhaps combined over each streamline. Panics unless there is one for each point.
pub fn over(
    tractogram: &Tractogram,
    values: &Shared<f32>,
    statistic: LineStatistic,
    backend: &Backend,
    control: &Control,
) -> Result<LineValues, Error> {
    assert_eq!(values.len(), tractogram.points.len(), "one value per point");
    if statistic == LineStatistic::EachPoint {
        return Ok(LineValues::PerPoint(values.clone()));
    }
    per_streamline(tractogram, backend, control, |lines| {
        let value = |line: usize| statistic.combine(&values[point_range(tractogram, line)]);
        lines.map(value).collect()
    })
}

/// Distances from a region at each point, mm, 0 inside: exact from spheres and boxes; from a mask as far as
/// `distances` reaches, an image of the distances from its voxels, and beyond that its largest one. Fails if a mask has
/// no such image.
pub fn of_region(
    tractogram: &Tractogram,
    (shape, distances): (&Shape, Option<&Volume>),
    statistic: LineStatistic,
    backend: &Backend,
    control: &Control,
) -> Result<LineValues, Error> {
    let exact = |distance: &(dyn Fn(DVec3) -> f64 + Sync)| {
        let fill = |points: &[[f32; 3]], values: &mut [f32]| {
            for (point, value) in points.iter().zip(values) {
                *value = distance(Vec3::from(*point).as_dvec3()).max(0.0) as f32;
            }
        };
        at_points(tractogram, statistic, fill, backend, control)
    };
    match shape {
        Shape::Sphere { centre, radius_mm } => exact(&|p| p.distance(*centre) - radius_mm),
        Shape::Box { centre, half_mm } => {
            exact(&|p| ((p - *centre).abs() - *half_mm).max(DVec3::ZERO).length())
        }
        Shape::Mask(_) => {
            let volume = distances.ok_or(InputError::NoDistances)?;
            let sampler = ImageSampler::new(volume, 0);
            let values = || volume.frame(0).par_iter().copied();
            let largest = backend.install(|| values().reduce(|| 0.0, f32::max));
            let fill = |points: &[[f32; 3]], values: &mut [f32]| {
                sampler.fill(points, values);
                for (point, value) in points.iter().zip(values) {
                    let is_beyond = value.is_nan() && Vec3::from(*point).is_finite();
                    *value = if is_beyond { largest } else { value.max(0.0) };
                }
            };
            at_points(tractogram, statistic, fill, backend, control)
        }
    }
}

/// The direction from the first to the last point of each streamline as a colour, |x| red, |y| green and |z| blue, as
/// a number of [`packed`]; none if both ends are the same point.
pub fn end_to_end(
    tractogram: &Tractogram,
    backend: &Backend,
    control: &Control,
) -> Result<LineValues, Error> {
    let colour = |line: usize| {
        let points = tractogram.streamline(line);
        let ends = points.first().zip(points.last());
        let across = ends.map(|(first, last)| Vec3::from(*last) - Vec3::from(*first));
        match across.and_then(Vec3::try_normalize) {
            None => f32::NAN,
            Some(across) => {
                let part = |c: f32| (c.abs() * 255.0).round() as u8;
                packed(across.to_array().map(part))
            }
        }
    };
    per_streamline(tractogram, backend, control, |lines| {
        lines.map(colour).collect()
    })
}

/// The colour of each streamline's group, in the order of their names, as a number of [`packed`]: the first of its
/// groups counts, and streamlines in no group have none.
pub fn of_groups(tractogram: &Tractogram, colour: impl Fn(usize) -> [u8; 3]) -> LineValues {
    let mut values = vec![f32::NAN; tractogram.len()];
    for (number, members) in tractogram.groups.values().enumerate() {
        let own = packed(colour(number));
        for &line in members.iter() {
            if let Some(value) = values.get_mut(line as usize).filter(|v| v.is_nan()) {
                *value = own;
            }
        }
    }
    LineValues::PerStreamline(values.into())
}

/// An sRGB colour as a number that single precision holds exactly: 65536 red + 256 green + blue.
pub fn packed([r, g, b]: [u8; 3]) -> f32 {
    f32::from(r) * 65536.0 + f32::from(g) * 256.0 + f32::from(b)
}

fn point_range(tractogram: &Tractogram, line: usize) -> Range<usize> {
    tractogram.offsets[line] as usize..tractogram.offsets[line + 1] as usize
}

/// The values that `fill` computes of points, perhaps combined over each streamline.
fn at_points(
    tractogram: &Tractogram,
    statistic: LineStatistic,
    fill: impl Fn(&[[f32; 3]], &mut [f32]) + Sync,
    backend: &Backend,
    control: &Control,
) -> Result<LineValues, Error> {
    if statistic != LineStatistic::EachPoint {
        return per_streamline(tractogram, backend, control, |lines| {
            let own = |line| point_range(tractogram, line);
            let first = tractogram.offsets[lines.start] as usize;
            let points = &tractogram.points[first..tractogram.offsets[lines.end] as usize];
            let mut values = vec![0.0; points.len()];
            fill(points, &mut values);
            let value = |line: usize| {
                let own = own(line);
                statistic.combine(&values[own.start - first..own.end - first])
            };
            lines.map(value).collect()
        });
    }
    let count = tractogram.points.len();
    claim_for::<f32>("The values along streamlines", count, 1)?;
    control.begin("Values along streamlines", count as u64);
    let mut all = zeroed::<f32>(count);
    let values = Arc::get_mut(&mut all).unwrap_or_default();
    let filled: Result<(), Cancelled> = backend.install(|| {
        let points = tractogram.points.par_chunks(POINTS);
        let both = points.zip(values.par_chunks_mut(POINTS));
        both.try_for_each(|(points, values)| {
            control.check()?;
            fill(points, values);
            control.advance(points.len() as u64);
            Ok(())
        })
    });
    filled?;
    Ok(LineValues::PerPoint(all.into()))
}

/// The values that `values_of` computes of ranges of streamlines.
fn per_streamline(
    tractogram: &Tractogram,
    backend: &Backend,
    control: &Control,
    values_of: impl Fn(Range<usize>) -> Vec<f32> + Sync,
) -> Result<LineValues, Error> {
    claim_for::<f32>("The values of streamlines", tractogram.len(), 2)?;
    control.begin("Values of streamlines", tractogram.len() as u64);
    let values: Result<Vec<Vec<f32>>, Cancelled> = backend.install(|| {
        let chunk = |chunk: usize| {
            control.check()?;
            let lines = chunk * CHUNK..((chunk + 1) * CHUNK).min(tractogram.len());
            control.advance(lines.len() as u64);
            Ok(values_of(lines))
        };
        let chunks = tractogram.len().div_ceil(CHUNK);
        (0..chunks).into_par_iter().map(chunk).collect()
    });
    Ok(LineValues::PerStreamline(values?.concat().into()))
}

/// Ranges of values for a scale of colours.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValueRanges {
    /// The least and the largest finite value.
    pub extent: (f32, f32),
    /// The 2nd and the 98th percentile, or the extent if these are equal.
    pub automatic: (f32, f32),
    /// The automatic range of the positive values, for a logarithmic scale; `None` without two different ones.
    pub positive: Option<(f32, f32)>,
}

/// The ranges of values; `None` without a finite one.
pub fn ranges(values: &[f32], backend: &Backend) -> Option<ValueRanges> {
    let open = (f32::INFINITY, f32::NEG_INFINITY);
    let joined = |a: (f32, f32), b: (f32, f32)| (a.0.min(b.0), a.1.max(b.1));
    let part = |part: &[f32]| simd::dispatch(Extent(part));
    let parts = || values.par_chunks(POINTS).map(part);
    let extent = backend.install(|| parts().reduce(|| open, joined));
    if extent.0 > extent.1 {
        return None;
    }
    let every = values.len().div_ceil(SAMPLED).max(1);
    let sampled = values.iter().copied().step_by(every);
    let mut sampled: Vec<f32> = sampled.filter(|v| v.is_finite()).collect();
    let automatic = percentiles(&mut sampled).unwrap_or(extent);
    sampled.retain(|v| *v > 0.0);
    Some(ValueRanges {
        extent,
        automatic,
        positive: percentiles(&mut sampled),
    })
}

/// The least and the largest finite one of some values.
struct Extent<'a>(&'a [f32]);

impl simd::Kernel for Extent<'_> {
    type Output = (f32, f32);

    #[inline(always)]
    fn run<const FMA: bool>(self) -> (f32, f32) {
        /// Values that are compared at a time.
        const LANES: usize = 16;
        let (mut low, mut high) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
        for part in self.0.chunks(LANES) {
            for ((v, low), high) in part.iter().zip(&mut low).zip(&mut high) {
                let is_finite = v.abs() <= f32::MAX;
                *low = if is_finite && *v < *low { *v } else { *low };
                *high = if is_finite && *v > *high { *v } else { *high };
            }
        }
        let low = low.into_iter().fold(f32::INFINITY, f32::min);
        (low, high.into_iter().fold(f32::NEG_INFINITY, f32::max))
    }
}

/// The percentiles of an automatic range, or the extent if these are equal; `None` without two different values.
/// Reorders the values.
fn percentiles(values: &mut [f32]) -> Option<(f32, f32)> {
    let last = values.len().checked_sub(1)?;
    let mut at = |share: f64| {
        let index = (share * last as f64).round() as usize;
        *values.select_nth_unstable_by(index, f32::total_cmp).1
    };
    let tails = (at(TAIL), at(1.0 - TAIL));
    let whole = (at(0.0), at(1.0));
    [tails, whole].into_iter().find(|(low, high)| low < high)
}
