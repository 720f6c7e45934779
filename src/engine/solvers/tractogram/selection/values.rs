//! Values of streamlines: lengths, values in the file, means along them.

use super::RejectReason;
use crate::compute::{Backend, Control};
use crate::data::keyed;
use crate::data::tractogram::{LENGTH, STOPS};
use crate::data::{Tractogram, Volume};
use crate::solvers::Error;
use crate::solvers::curves::StopReason;
use crate::solvers::tractogram::cuda::{ImageLimits, OnCards};
use crate::solvers::tractogram::error::InputError;
use crate::solvers::tractogram::sample::sample_inside;
use rayon::prelude::*;

/// Why the two ends of a streamline stopped, as numbers of [`StopReason`].
pub const NAMED_STOPS: [&str; 2] = STOPS;

/// Streamlines between two checks for cancellation.
const CHUNK: usize = 4096;

/// Whether the streamlines have a value of this name.
pub(super) fn has_value(tractogram: &Tractogram, name: &str) -> bool {
    name == LENGTH
        || tractogram.per_streamline.contains_key(name)
        || tractogram.per_point.contains_key(name)
}

/// The named value of a streamline; `None` if there is no such value.
pub(super) fn value(tractogram: &Tractogram, name: &str, line: usize) -> Option<f32> {
    if name == LENGTH {
        return Some(tractogram.length_mm(line));
    }
    if let Some(values) = tractogram.per_streamline.get(name) {
        return Some(values[line]);
    }
    let values = tractogram.per_point.get(name)?;
    Some(mean(&values[point_range(tractogram, line)]))
}

fn point_range(tractogram: &Tractogram, line: usize) -> std::ops::Range<usize> {
    tractogram.offsets[line] as usize..tractogram.offsets[line + 1] as usize
}

/// The mean; NaN for an empty slice.
fn mean(values: &[f32]) -> f32 {
    let sum: f64 = values.iter().map(|v| f64::from(*v)).sum();
    (sum / values.len() as f64) as f32
}

/// The error for a value that the streamlines do not have.
pub(super) fn unknown(tractogram: &Tractogram, name: &str) -> InputError {
    let known = tractogram.per_streamline.keys();
    let known = known.chain(tractogram.per_point.keys());
    let mut known: Vec<&str> = known.map(String::as_str).filter(|k| *k != LENGTH).collect();
    known.sort_unstable();
    known.dedup();
    let known = [&[LENGTH], &known[..]].concat();
    InputError::Value {
        name: name.to_owned(),
        known: known.into_iter().map(str::to_owned).collect(),
    }
}

pub(super) fn has_stops(tractogram: &Tractogram) -> bool {
    let known = |name: &&str| tractogram.per_streamline.contains_key(*name);
    NAMED_STOPS.iter().any(known)
}

/// Whether an end stopped for this reason.
pub(super) fn stopped(tractogram: &Tractogram, line: usize, reason: StopReason) -> bool {
    let requested = f32::from(reason as u8);
    let ends = NAMED_STOPS
        .iter()
        .filter_map(|name| tractogram.per_streamline.get(*name));
    ends.into_iter().any(|ends| ends[line] == requested)
}

impl StopReason {
    /// The curves of which an end stopped for this reason.
    pub fn only(self, curves: &Tractogram) -> Tractogram {
        let is = |line| stopped(curves, line, self);
        let marks: Vec<bool> = (0..curves.len()).map(is).collect();
        curves.filtered(&marks)
    }
}

/// Limits of an image's trilinear values along a streamline, inclusive.
#[derive(Clone, Debug)]
pub struct OnImage {
    /// Image in world space, on any grid.
    pub volume: Volume,
    /// Volume of the image, from 0.
    pub frame: usize,
    /// Combination of the values along a streamline.
    pub counting: PointStatistic,
    /// Least value that passes.
    pub low: f32,
    /// Largest value that passes.
    pub high: f32,
}

impl PartialEq for OnImage {
    /// Images are equal if they share their data.
    fn eq(&self, other: &Self) -> bool {
        let all = |on: &Self| (on.volume.id(), on.frame, on.counting, on.low, on.high);
        all(self) == all(other)
    }
}

/// The statistic over the points of a streamline that must lie within the limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PointStatistic {
    /// Mean of the values at the points.
    #[default]
    Mean,
    /// At least one of the values.
    Any,
    /// Each of the values.
    All,
}

keyed!(PointStatistic, serde {
    Mean = "mean",
    Any = "any",
    All = "all",
});

impl PointStatistic {
    /// All statistics in the order of their declaration.
    pub const ALL: [Self; 3] = [Self::Mean, Self::Any, Self::All];
}

impl OnImage {
    /// These limits as a card reads them.
    pub(super) fn limits(&self) -> ImageLimits<'_> {
        ImageLimits {
            volume: &self.volume,
            frame: self.frame,
            counting: self.counting,
            low: self.low,
            high: self.high,
        }
    }

    /// Why points do not pass; an empty slice never does, and NaN and points outside the image lie within no limits.
    pub(super) fn reject_reason(&self) -> impl Fn(&[[f32; 3]]) -> Option<RejectReason> + Sync + '_ {
        let at = sample_inside(&self.volume, self.frame);
        let within = |v: f32| self.low <= v && v <= self.high;
        let has_value = |v: f32| !v.is_nan();
        move |points| {
            let any = |holds: &dyn Fn(f32) -> bool| points.iter().any(|p| at(p).is_some_and(holds));
            let (passes, valued) = match self.counting {
                PointStatistic::Mean => {
                    let mean = mean_of(points, &at);
                    (within(mean), has_value(mean))
                }
                PointStatistic::Any => match any(&within) {
                    true => (true, true),
                    false => (false, any(&has_value)),
                },
                PointStatistic::All => {
                    let all = points.iter().all(|p| at(p).is_some_and(within));
                    match all && !points.is_empty() {
                        true => (true, true),
                        false => (false, any(&has_value)),
                    }
                }
            };
            match (passes, valued) {
                (true, _) => None,
                (false, true) => Some(RejectReason::Value),
                (false, false) => Some(RejectReason::NoValue),
            }
        }
    }
}

/// The mean over the points that have a value; NaN without such points.
fn mean_of(points: &[[f32; 3]], at: impl Fn(&[f32; 3]) -> Option<f32>) -> f32 {
    let (mut sum, mut count) = (0.0, 0u64);
    for value in points.iter().filter_map(at) {
        sum += f64::from(value);
        count += 1;
    }
    (sum / count as f64) as f32
}

/// The named value of each streamline if cards have the points or point values that it is computed from; otherwise, and
/// for values per streamline, `None`.
pub(super) fn value_on_cards(
    tractogram: &Tractogram,
    name: &str,
    on_cards: &OnCards<'_>,
    control: &Control,
) -> Result<Option<Vec<f32>>, Error> {
    if name == LENGTH {
        return on_cards.lengths(control).map(Some);
    }
    match tractogram.per_point.get(name) {
        Some(values) if !tractogram.per_streamline.contains_key(name) => {
            on_cards.means(tractogram, values, control)
        }
        _ => Ok(None),
    }
}

/// Copies to the host what a value is computed from, unless the host has it.
pub(super) fn copy_for_value(tractogram: &Tractogram, name: &str) -> Result<(), Error> {
    if name == LENGTH {
        return Ok(tractogram.points.on_host()?);
    }
    let values = tractogram.per_streamline.get(name);
    match values.or_else(|| tractogram.per_point.get(name)) {
        Some(values) => Ok(values.on_host()?),
        None => Ok(()),
    }
}

fn map_streamlines(
    tractogram: &Tractogram,
    backend: &Backend,
    control: &Control,
    value_of: impl Fn(usize) -> f32 + Sync,
) -> Result<Vec<f32>, Error> {
    control.begin("Values of streamlines", tractogram.len() as u64);
    let chunks = tractogram.len().div_ceil(CHUNK);
    let values: Result<Vec<Vec<f32>>, crate::compute::Cancelled> = backend.install(|| {
        let chunk = |chunk: usize| {
            control.check()?;
            let lines = chunk * CHUNK..((chunk + 1) * CHUNK).min(tractogram.len());
            control.advance(lines.len() as u64);
            Ok(lines.map(&value_of).collect())
        };
        (0..chunks).into_par_iter().map(chunk).collect()
    });
    Ok(values?.concat())
}

/// One value per streamline: `length` measured (mm), a value per streamline, or the mean of a value per point.
pub fn column(
    tractogram: &Tractogram,
    name: &str,
    backend: &Backend,
    control: &Control,
) -> Result<Vec<f32>, Error> {
    if !tractogram.is_empty() && !has_value(tractogram, name) {
        return Err(unknown(tractogram, name).into());
    }
    if let Some(on_cards) = OnCards::new(tractogram, backend)
        && let Some(values) = value_on_cards(tractogram, name, &on_cards, control)?
    {
        return Ok(values);
    }
    backend.install(|| copy_for_value(tractogram, name))?;
    let value_of = |line| value(tractogram, name, line).unwrap_or(f32::NAN);
    map_streamlines(tractogram, backend, control, value_of)
}

/// The mean of an image's trilinear values over each streamline's points inside the image.
pub fn means(
    tractogram: &Tractogram,
    volume: &Volume,
    frame: usize,
    backend: &Backend,
    control: &Control,
) -> Result<Vec<f32>, Error> {
    if let Some(on_cards) = OnCards::new(tractogram, backend) {
        return on_cards.image_means((volume, frame), control);
    }
    backend.install(|| tractogram.points.on_host())?;
    let at = sample_inside(volume, frame);
    let mean = |line: usize| mean_of(tractogram.streamline(line), &at);
    map_streamlines(tractogram, backend, control, mean)
}
