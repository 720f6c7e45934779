//! Values along a bundle: every streamline at the same number of nodes, all in one direction.
//!
//! Each streamline is resampled to `nodes` points, equally spaced along its length. Its direction is the one in which
//! it lies closer to the bundle's mean line, by the mean distance of corresponding points (Garyfallidis et al. 2012,
//! eq. 1); the mean line is recomputed until no streamline is reversed. At each node the mean and the sample standard
//! deviation over the streamlines are computed (Yeatman et al. 2012, with equal weights), in double precision by
//! pairwise updates (Chan et al. 1983).
//!
//! *Cost.* One pass over the points for the directions, and one for the values.
//!
//! # Example
//!
//! The values of an image at five nodes of a line:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::{Grid, Tractogram, Volume};
//! use arcuate_engine::solvers::tractogram::ProfileParams;
//! use arcuate_engine::solvers::tractogram::profile::{Along, Sense, Start, profile};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let grid = Grid::axis_aligned([5, 1, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let image = Volume::scalar(Arc::new(grid), vec![0.0, 1.0, 2.0, 3.0, 4.0]);
//! // It is stored from right to left; the profile begins at the left end.
//! let line = Tractogram::new(vec![[4.0, 0.0, 0.0], [0.0, 0.0, 0.0]], vec![0, 2]);
//! let params = ProfileParams { nodes: 5, sense: Sense::AsIs };
//! let values = [Along::Image(image, 0)];
//! let profiled = profile(&line, None, &values, &Start::Axis, &params, &backend, &control)?;
//! assert_eq!(profiled.length_mm, 4.0);
//! assert_eq!(profiled.curves[0].mean, [0.0, 1.0, 2.0, 3.0, 4.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::ProfileParams;
use super::sample::sample_frame;
use crate::compute::memory::claim_for;
use crate::compute::{Backend, Cancelled, Control};
use crate::data::keyed;
use crate::data::{Region, Tractogram, Volume};
use crate::solvers::Error;
use crate::solvers::tractogram::error::InputError;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use std::sync::Arc;

/// Number of points by which directions and shapes are compared.
pub(super) const COARSE: usize = 12;
/// Largest number of mean lines; few bundles need a third.
const PASSES: usize = 10;
const CHUNK: usize = 1024;

/// The end at which a bundle starts.
#[derive(Clone, Debug)]
pub enum Start {
    /// The end farther to the left, behind or below, whichever axis the bundle spans most.
    Axis,
    /// The end nearer to the centre of a region.
    Near(Arc<Region>),
}

/// The quantity sampled along the streamlines.
#[derive(Clone, Debug)]
pub enum Along {
    /// A value per point, interpolated linearly.
    Value(String),
    /// A frame of an image, interpolated trilinearly.
    Image(Volume, usize),
}

/// One quantity along a bundle, one number per node.
#[derive(Clone, PartialEq, Debug)]
pub struct ProfileCurve {
    /// Mean over the streamlines with a value at the node.
    pub mean: Vec<f32>,
    /// Sample standard deviation; 0 for one streamline.
    pub sd: Vec<f32>,
    /// Number of streamlines with a finite value at the node.
    pub count: Vec<u32>,
}

/// Values along the mean line of a bundle.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// Mean of all streamlines at each node, world mm.
    pub centre: Vec<[f32; 3]>,
    /// Mean length of the streamlines, mm.
    pub length_mm: f32,
    /// Streamlines used.
    pub used: usize,
    /// Streamlines left out because they have no length.
    pub passed_over: usize,
    /// In the requested order.
    pub curves: Vec<ProfileCurve>,
}

/// The end of the bundle at which it starts, as stored in sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sense {
    /// Along the mean line from its start.
    AsIs,
    /// Along the mean line from its end.
    Turned,
}

keyed!(Sense, serde {
    AsIs = "as_is",
    Turned = "turned",
});

/// Computes profiles along the marked streamlines, or all. Fails if a named value does not exist, or if no streamline
/// has a length.
pub fn profile(
    tractogram: &Tractogram,
    among: Option<&[bool]>,
    requested: &[Along],
    start: &Start,
    params: &ProfileParams,
    backend: &Backend,
    control: &Control,
) -> Result<Profile, Error> {
    params.check()?;
    let ProfileParams { nodes, sense } = *params;
    for along in requested {
        if let Along::Value(name) = along
            && !tractogram.per_point.contains_key(name)
        {
            let error = InputError::PointValue {
                name: name.clone(),
                known: tractogram.per_point.keys().cloned().collect(),
            };
            return Err(error.into());
        }
    }
    let shown = |line: &usize| among.is_none_or(|marks| marks[*line]);
    claim_for::<Coarse>("The profile", tractogram.len(), 2)?;
    let chosen: Vec<usize> = (0..tractogram.len()).filter(shown).collect();
    control.begin("Aligning streamline directions", 2 * chosen.len() as u64);
    let coarse = chunks(&chosen, backend, control, |line| {
        resampled(tractogram.streamline(line), COARSE).map(|places| Coarse {
            line,
            length: places.length,
            points: std::array::from_fn(|i| places.points[i]),
        })
    })?;
    let coarse: Vec<Coarse> = coarse.into_iter().flatten().flatten().collect();
    let passed_over = chosen.len() - coarse.len();
    if coarse.is_empty() {
        return Err(InputError::NoLength.into());
    }
    let mut turned = directions(&coarse);
    control.check()?;
    let mean = mean_line(&coarse, &turned);
    if starts_at_end(&mean, start) != (sense == Sense::Turned) {
        turned.iter_mut().for_each(|t| *t = !*t);
    }
    let order: Vec<usize> = (0..coarse.len()).collect();
    let samplers: Vec<Sampler> = requested
        .iter()
        .map(|a| Sampler::new(a, tractogram))
        .collect();
    let parts = map_chunks(&order, backend, control, |some| {
        let mut sums = Sums::new(nodes, samplers.len());
        for &i in some {
            let Coarse { line, .. } = coarse[i];
            if let Some(places) = resampled(tractogram.streamline(line), nodes) {
                sums.add(tractogram, line, &places, turned[i], &samplers);
            }
        }
        sums
    })?;
    // In the order of the streamlines, whichever thread finished first.
    let sums = parts
        .into_iter()
        .fold(Sums::new(nodes, samplers.len()), Sums::joined);
    let length: f64 = coarse.iter().map(|c| c.length).sum();
    let n = coarse.len() as f64;
    Ok(Profile {
        centre: sums
            .centre
            .iter()
            .map(|p| (*p / n).as_vec3().to_array())
            .collect(),
        length_mm: (length / n) as f32,
        used: coarse.len(),
        passed_over,
        curves: sums
            .curves
            .iter()
            .map(|t| ProfileCurve::from_moments(t))
            .collect(),
    })
}

/// A streamline at a few points.
struct Coarse {
    line: usize,
    length: f64,
    points: [DVec3; COARSE],
}

/// Points at equal distances along a streamline.
pub(super) struct Places {
    pub(super) points: Vec<DVec3>,
    /// For each: the index of the point before it and the fraction of the way to the next.
    between: Vec<(usize, f64)>,
    length: f64,
}

/// `None` if a streamline has no length or a point that is not finite.
pub(super) fn resampled(points: &[[f32; 3]], nodes: usize) -> Option<Places> {
    let at = |i: usize| Vec3::from(points[i]).as_dvec3();
    let mut along = Vec::with_capacity(points.len());
    let mut length = 0.0;
    for i in 0..points.len() {
        if i > 0 {
            length += at(i).distance(at(i - 1));
        }
        along.push(length);
    }
    if !(length > 0.0 && length.is_finite()) {
        return None;
    }
    let mut before = 0;
    let mut places = Places {
        points: Vec::with_capacity(nodes),
        between: Vec::with_capacity(nodes),
        length,
    };
    for node in 0..nodes {
        let s = length * node as f64 / (nodes - 1) as f64;
        while before + 2 < points.len() && along[before + 1] < s {
            before += 1;
        }
        let run = along[before + 1] - along[before];
        let t = if run > 0.0 {
            ((s - along[before]) / run).clamp(0.0, 1.0)
        } else {
            0.0
        };
        places.points.push(at(before).lerp(at(before + 1), t));
        places.between.push((before, t));
    }
    Some(places)
}

/// Whether each streamline is reversed so that all have the same direction.
fn directions(coarse: &[Coarse]) -> Vec<bool> {
    // First estimate of the mean: a streamline of median length.
    let mut by_length: Vec<usize> = (0..coarse.len()).collect();
    let middle = coarse.len() / 2;
    by_length.select_nth_unstable_by(middle, |a, b| {
        let (a, b) = (*a, *b);
        coarse[a]
            .length
            .total_cmp(&coarse[b].length)
            .then(a.cmp(&b))
    });
    let mut mean = coarse[by_length[middle]].points;
    let mut turned = vec![false; coarse.len()];
    for _ in 0..PASSES {
        let mut changed = false;
        for (turned, line) in turned.iter_mut().zip(coarse) {
            let distance = |back: bool| -> f64 {
                let at = |i: usize| line.points[if back { COARSE - 1 - i } else { i }];
                (0..COARSE).map(|i| at(i).distance(mean[i])).sum()
            };
            let now = distance(true) < distance(false);
            changed |= now != *turned;
            *turned = now;
        }
        if !changed {
            break;
        }
        mean = mean_line(coarse, &turned);
    }
    turned
}

fn mean_line(coarse: &[Coarse], turned: &[bool]) -> [DVec3; COARSE] {
    let mut mean = [DVec3::ZERO; COARSE];
    for (line, back) in coarse.iter().zip(turned) {
        for (i, sum) in mean.iter_mut().enumerate() {
            *sum += line.points[if *back { COARSE - 1 - i } else { i }];
        }
    }
    mean.map(|sum| sum / coarse.len() as f64)
}

/// Whether the bundle starts where the mean line ends.
fn starts_at_end(mean: &[DVec3; COARSE], start: &Start) -> bool {
    let (first, last) = (mean[0], mean[COARSE - 1]);
    match start {
        Start::Near(region) => {
            let centre = region.shape.centre();
            last.distance(centre) < first.distance(centre)
        }
        Start::Axis => {
            // Distinguishes the ends even if they nearly meet, as those of a U do.
            let along = last - first;
            let axis = (0..3).max_by(|a, b| along[*a].abs().total_cmp(&along[*b].abs()));
            along[axis.unwrap_or(0)] < 0.0
        }
    }
}

/// Samples an image at a point.
type Sample<'a> = dyn Fn(&[f32; 3]) -> f32 + Sync + Send + 'a;

enum Sampler<'a> {
    Value(&'a [f32]),
    Image(Box<Sample<'a>>),
}

impl<'a> Sampler<'a> {
    fn new(along: &'a Along, tractogram: &'a Tractogram) -> Self {
        match along {
            Along::Value(name) => Self::Value(tractogram.per_point.get(name).map_or(&[], |v| v)),
            Along::Image(volume, frame) => Self::Image(Box::new(sample_frame(volume, *frame))),
        }
    }
}

/// Number, mean and sum of squared deviations.
#[derive(Clone, Copy, Default)]
struct Moments {
    n: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.n += 1.0;
        let off = value - self.mean;
        self.mean += off / self.n;
        self.squares += off * (value - self.mean);
    }

    fn joined(self, other: Self) -> Self {
        let n = self.n + other.n;
        if n == 0.0 {
            return self;
        }
        let off = other.mean - self.mean;
        Self {
            n,
            mean: self.mean + off * other.n / n,
            squares: self.squares + other.squares + off * off * self.n * other.n / n,
        }
    }
}

struct Sums {
    centre: Vec<DVec3>,
    curves: Vec<Vec<Moments>>,
}

impl Sums {
    fn new(nodes: usize, curves: usize) -> Self {
        Self {
            centre: vec![DVec3::ZERO; nodes],
            curves: vec![vec![Moments::default(); nodes]; curves],
        }
    }

    fn add(
        &mut self,
        tractogram: &Tractogram,
        line: usize,
        places: &Places,
        turned: bool,
        samplers: &[Sampler],
    ) {
        let nodes = self.centre.len();
        let first = tractogram.offsets[line] as usize;
        for node in 0..nodes {
            let own = if turned { nodes - 1 - node } else { node };
            let at = places.points[own];
            self.centre[node] += at;
            for (curve, sampler) in self.curves.iter_mut().zip(samplers) {
                let value = match sampler {
                    Sampler::Image(sample) => f64::from(sample(&at.as_vec3().to_array())),
                    Sampler::Value(values) => {
                        let (before, t) = places.between[own];
                        let value = |i: usize| f64::from(values[first + before + i]);
                        if t > 0.0 {
                            value(0) + (value(1) - value(0)) * t
                        } else {
                            value(0)
                        }
                    }
                };
                if value.is_finite() {
                    curve[node].add(value);
                }
            }
        }
    }

    fn joined(mut self, other: Self) -> Self {
        for (a, b) in self.centre.iter_mut().zip(&other.centre) {
            *a += *b;
        }
        for (mine, theirs) in self.curves.iter_mut().zip(&other.curves) {
            for (a, b) in mine.iter_mut().zip(theirs) {
                *a = a.joined(*b);
            }
        }
        self
    }
}

impl ProfileCurve {
    fn from_moments(moments: &[Moments]) -> Self {
        let sd = |m: &Moments| match m.n > 1.0 {
            true => (m.squares / (m.n - 1.0)).sqrt(),
            false => 0.0,
        };
        let mean = |m: &Moments| if m.n > 0.0 { m.mean } else { f64::NAN };
        Self {
            mean: moments.iter().map(|m| mean(m) as f32).collect(),
            sd: moments.iter().map(|m| sd(m) as f32).collect(),
            count: moments.iter().map(|m| m.n as u32).collect(),
        }
    }
}

fn chunks<T: Send>(
    lines: &[usize],
    backend: &Backend,
    control: &Control,
    value_of: impl Fn(usize) -> T + Sync,
) -> Result<Vec<Vec<T>>, Cancelled> {
    map_chunks(lines, backend, control, |some| {
        some.iter().map(|line| value_of(*line)).collect()
    })
}

/// The results of `work` for chunks of the lines, in order.
fn map_chunks<T: Send>(
    lines: &[usize],
    backend: &Backend,
    control: &Control,
    work: impl Fn(&[usize]) -> T + Sync,
) -> Result<Vec<T>, Cancelled> {
    let chunk = |some: &[usize]| {
        control.check()?;
        let done = work(some);
        control.advance(some.len() as u64);
        Ok(done)
    };
    backend.install(|| lines.par_chunks(CHUNK).map(chunk).collect())
}
