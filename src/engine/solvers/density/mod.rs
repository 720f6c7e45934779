//! Density maps of streamlines: visits of voxels, lengths inside them, and directions.
//!
//! *Visits.* A streamline counts once in each voxel that it crosses, however often it returns; divided by the number
//! of streamlines sent from a seed region, this is a visit map (Behrens et al. 2003, Magn Reson Med 50:1077); on a
//! grid finer than the scan's, a track-density image (Calamante et al. 2010, NeuroImage 53:1233). *Lengths* are
//! exact: each segment is cut at the faces between voxels, so that the sum over the grid is the total length inside
//! it. *Directions* are the length-weighted mean of abs(x), abs(y), abs(z) of the segments, scaled to the voxel's
//! value: red, green, blue for the world axes (Pajevic and Pierpaoli 1999).
//!
//! Lengths are added as integers in units of 2⁻²⁴ mm: no sum depends on the order, hence none on the number of
//! threads. Along a streamline they are differences of one rounded running length: the error of a streamline is 2⁻²⁴
//! mm, however many pieces it has. Cost: one floor per axis and segment, one cut per crossed face.
//!
//! Streamlines whose points are on a graphics card are counted there: the card cuts the segments by the same operations,
//! each rounded as on the CPU, so that the sums are equal.
//!
//! # Example
//!
//! A streamline of 3 mm visits four voxels:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::{Grid, Tractogram};
//! use arcuate_engine::solvers::density::{Params, density};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let grid = Grid::axis_aligned([5, 1, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let line = Tractogram::new(vec![[0.0; 3], [3.0, 0.0, 0.0]], vec![0, 2]);
//! let params = Params::defaults();
//! let map = density(&line, &Arc::new(grid), &params, None, &backend, &control)?;
//! assert_eq!(map.volume.frame(0), [1.0, 1.0, 1.0, 1.0, 0.0]);
//! assert_eq!(map.inside_mm, 3.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cuda;
mod error;
mod grids;
mod parameters;
mod walk;

pub use grids::DensityGrid;
pub use parameters::{Measure, Params, Voxels};

pub use super::Error;
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::{Grid, Tractogram, Volume, VolumeKind};
use cuda::CardSums;
use error::InputError;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
pub use walk::Walk;

/// Units of length per mm, added as integers.
const UNITS_PER_MM: f64 = (1 << 24) as f64;

/// Maps of streamlines on one grid.
#[derive(Clone, Debug)]
pub struct Output {
    /// One frame, or three: abs(x), abs(y), abs(z) of the mean direction times the value.
    pub volume: Volume,
    /// Length inside the grid, mm.
    pub inside_mm: f64,
    /// Length outside the grid, mm.
    pub outside_mm: f64,
    /// Number of voxels crossed by any streamline.
    pub voxels: u64,
    /// Number of segments with a non-finite end, which are left out.
    pub not_finite: u64,
    /// Seconds that the kernels of graphics cards took; `None` if the CPU counted all streamlines.
    pub kernel_s: Option<f64>,
}

impl Output {
    /// The image for display: values in three frames become a colour image in which 0.2 % of the voxels are
    /// saturated.
    pub fn picture(&self) -> Volume {
        let volume = &self.volume;
        if volume.frames != 3 {
            return volume.clone();
        }
        let n = volume.grid.voxel_count();
        let norm = |i: usize| {
            let v = |frame: usize| volume.values[frame * n + i];
            Vec3::new(v(0), v(1), v(2)).length()
        };
        let norms: Vec<f32> = (0..n).map(norm).collect();
        let (_, high) = Volume::scalar(volume.grid.clone(), norms).percentiles(0, 0.0, 0.998);
        let scale = if high > 0.0 { 1.0 / high } else { 1.0 };
        let values: Vec<f32> = volume.values.iter().map(|v| v * scale).collect();
        Volume::new(volume.grid.clone(), 3, VolumeKind::Rgb, values)
    }
}

/// Memory needed to compute a map, bytes.
fn bytes(grid: &Grid, params: &Params) -> u64 {
    let sums = if params.by_direction { 4 * 8 } else { 8 };
    let frames = if params.by_direction { 12 } else { 4 };
    grid.voxel_count() as u64 * (sums + frames)
}

/// Computes a map; returns an error if it would take more than `memory` bytes.
pub fn density(
    tractogram: &Tractogram,
    grid: &Arc<Grid>,
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    params.check()?;
    check_sent(params, tractogram.len())?;
    let mut counting = Counting::new(grid, params, memory)?;
    control.begin("Density", tractogram.len() as u64);
    counting.add(tractogram, backend, control)?;
    counting.output(backend)
}

/// Refuses a number of streamlines sent that is smaller than the number of streamlines.
fn check_sent(params: &Params, streamlines: usize) -> Result<(), Error> {
    match params.sent.filter(|&n| n < streamlines as u64) {
        Some(sent) => Err(InputError::Sent { sent, streamlines }.into()),
        None => Ok(()),
    }
}

/// A map of streamlines that are not all in memory at once. The sums are integers, so it does not depend on the pieces
/// in which they are added.
pub struct Counting {
    sums: Sums,
    grid: Arc<Grid>,
    params: Params,
    streamlines: usize,
    kernel_s: Option<f64>,
}

impl Counting {
    /// An empty map; returns an error if it would take more than `memory` bytes.
    pub fn new(grid: &Arc<Grid>, params: &Params, memory: Option<u64>) -> Result<Self, Error> {
        params.check()?;
        let bytes = bytes(grid, params);
        if let Some(free) = memory.filter(|&free| bytes > free) {
            let error = InputError::Memory {
                shape: grid.shape,
                bytes,
                free_bytes: free,
            };
            return Err(error.into());
        }
        memory::claim("The density map", bytes)?;
        Ok(Self {
            sums: Sums::new(grid, params),
            grid: grid.clone(),
            params: params.clone(),
            streamlines: 0,
            kernel_s: None,
        })
    }

    /// Adds streamlines, on the cards that have their points, otherwise on the CPU; advances `control` by their number.
    pub fn add(
        &mut self,
        tractogram: &Tractogram,
        backend: &Backend,
        control: &Control,
    ) -> Result<(), Error> {
        self.streamlines += tractogram.len();
        let counted = cuda::count(tractogram, &self.grid, &self.params, backend, control)?;
        let Some(counted) = counted else {
            backend.install(|| tractogram.points.on_host())?;
            return Ok(backend.install(|| count(tractogram, &self.sums, &self.grid, control))?);
        };
        for card in counted {
            *self.kernel_s.get_or_insert(0.0) += card.kernel_ms / 1e3;
            backend.install(|| self.sums.include(&card));
        }
        Ok(())
    }

    /// The map of all streamlines so far.
    pub fn output(self, backend: &Backend) -> Result<Output, Error> {
        check_sent(&self.params, self.streamlines)?;
        let output = backend.install(|| output(&self.sums, &self.grid, &self.params));
        Ok(Output {
            kernel_s: self.kernel_s,
            ..output
        })
    }
}

/// Sums shared by threads.
struct Sums {
    visits: Vec<AtomicU32>,
    lengths: Vec<AtomicU64>,
    /// By axis; empty unless requested.
    directions: [Vec<AtomicU64>; 3],
    inside: AtomicU64,
    all: AtomicU64,
    not_finite: AtomicU64,
}

impl Sums {
    fn new(grid: &Grid, params: &Params) -> Self {
        let n = grid.voxel_count();
        let visits = params.measure == Measure::Visits;
        let zeros = |requested: bool| -> Vec<AtomicU64> {
            let n = if requested { n } else { 0 };
            (0..n).map(|_| AtomicU64::new(0)).collect()
        };
        Self {
            visits: (0..if visits { n } else { 0 })
                .map(|_| AtomicU32::new(0))
                .collect(),
            lengths: zeros(!visits),
            directions: [(); 3].map(|()| zeros(params.by_direction)),
            inside: AtomicU64::new(0),
            all: AtomicU64::new(0),
            not_finite: AtomicU64::new(0),
        }
    }

    /// Adds the sums of a card.
    fn include(&self, card: &CardSums) {
        let add = |sums: &[AtomicU64], more: &[u64]| {
            let both = sums.par_iter().zip(more).with_min_len(4096);
            both.for_each(|(sum, more)| {
                sum.fetch_add(*more, Ordering::Relaxed);
            });
        };
        let both = self.visits.par_iter().zip(&card.visits).with_min_len(4096);
        both.for_each(|(sum, more)| {
            sum.fetch_add(*more, Ordering::Relaxed);
        });
        add(&self.lengths, &card.lengths);
        let axes = card
            .directions
            .chunks(card.directions.len().div_ceil(3).max(1));
        for (sums, more) in self.directions.iter().zip(axes) {
            add(sums, more);
        }
        let totals = [&self.inside, &self.all, &self.not_finite];
        for (sum, more) in totals.into_iter().zip(card.totals) {
            sum.fetch_add(more, Ordering::Relaxed);
        }
    }
}

fn count(
    tractogram: &Tractogram,
    sums: &Sums,
    grid: &Grid,
    control: &Control,
) -> Result<(), Cancelled> {
    /// Streamlines per work item.
    const PIECE: usize = 64;
    let pieces = tractogram.len().div_ceil(PIECE);
    (0..pieces).into_par_iter().try_for_each_init(
        || (Walk::new(grid), Vec::new()),
        |(walk, passed), piece| {
            control.check()?;
            let range = piece * PIECE..tractogram.len().min((piece + 1) * PIECE);
            let count = range.len() as u64;
            for i in range {
                add(tractogram.streamline(i), sums, walk, passed);
            }
            control.advance(count);
            Ok(())
        },
    )
}

fn add(line: &[[f32; 3]], sums: &Sums, walk: &mut Walk, passed: &mut Vec<usize>) {
    let more = |sum: &AtomicU64, units: u64| {
        sum.fetch_add(units, Ordering::Relaxed);
    };
    let units = |mm: f64| (mm * UNITS_PER_MM).round() as u64;
    passed.clear();
    let mut before_mm = 0.0;
    let mut inside = 0;
    let mut broken = 0;
    let world = |p: [f32; 3]| DVec3::from_array(p.map(f64::from));
    for pair in line.windows(2) {
        let (from, to) = (world(pair[0]), world(pair[1]));
        if !(from.is_finite() && to.is_finite()) {
            broken += 1;
            continue;
        }
        let along = to - from;
        let length = along.length();
        let share = if length > 0.0 {
            along.abs() / length
        } else {
            DVec3::ZERO
        };
        walk.segment(from, to, |voxel, (begin, end)| {
            let piece = units(before_mm + end * length) - units(before_mm + begin * length);
            inside += piece;
            passed.push(voxel);
            if let Some(sum) = sums.lengths.get(voxel) {
                more(sum, piece);
            }
            for (axis, share) in share.to_array().into_iter().enumerate() {
                if let Some(sum) = sums.directions[axis].get(voxel) {
                    more(sum, (share * piece as f64).round() as u64);
                }
            }
        });
        before_mm += length;
    }
    if let [point] = line
        && let Some(voxel) = walk.point(world(*point))
    {
        passed.push(voxel);
    }
    if !sums.visits.is_empty() {
        passed.sort_unstable();
        passed.dedup();
        for &voxel in &*passed {
            sums.visits[voxel].fetch_add(1, Ordering::Relaxed);
        }
    }
    more(&sums.inside, inside);
    more(&sums.all, units(before_mm));
    more(&sums.not_finite, broken);
}

fn output(sums: &Sums, grid: &Arc<Grid>, params: &Params) -> Output {
    let mm = |sum: &AtomicU64| sum.load(Ordering::Relaxed) as f64 / UNITS_PER_MM;
    let sent = params.sent.map_or(1.0, |n| n as f64);
    let value = |voxel: usize| match params.measure {
        Measure::Visits => f64::from(sums.visits[voxel].load(Ordering::Relaxed)) / sent,
        Measure::Length => mm(&sums.lengths[voxel]) / sent,
    };
    let n = grid.voxel_count();
    let counted =
        params.measure == Measure::Visits && params.sent.is_none() && !params.by_direction;
    let volume = match counted {
        true => {
            let visits = sums.visits.iter();
            Volume::of_counts(
                grid.clone(),
                visits.map(|v| v.load(Ordering::Relaxed)).collect(),
            )
        }
        false => measured(sums, grid, params, &value),
    };
    let inside_mm = mm(&sums.inside);
    Output {
        voxels: (0..n).into_par_iter().filter(|&v| value(v) > 0.0).count() as u64,
        volume,
        inside_mm,
        outside_mm: (mm(&sums.all) - inside_mm).max(0.0),
        not_finite: sums.not_finite.load(Ordering::Relaxed),
        kernel_s: None,
    }
}

/// Values other than counts: one frame, or three by direction.
fn measured(
    sums: &Sums,
    grid: &Arc<Grid>,
    params: &Params,
    value: &(dyn Fn(usize) -> f64 + Sync),
) -> Volume {
    let mm = |sum: &AtomicU64| sum.load(Ordering::Relaxed) as f64 / UNITS_PER_MM;
    let n = grid.voxel_count();
    let values: Vec<f32> = if params.by_direction {
        let mut all = vec![0.0; 3 * n];
        let (red, rest) = all.split_at_mut(n);
        let (green, blue) = rest.split_at_mut(n);
        let planes = red.par_iter_mut().zip(green).zip(blue).enumerate();
        planes.for_each(|(voxel, ((red, green), blue))| {
            let mean = DVec3::from_array([0, 1, 2].map(|a| mm(&sums.directions[a][voxel])));
            let colour = mean.normalize_or_zero() * value(voxel);
            [*red, *green, *blue] = colour.as_vec3().to_array();
        });
        all
    } else {
        (0..n).into_par_iter().map(|v| value(v) as f32).collect()
    };
    let frames = if params.by_direction { 3 } else { 1 };
    Volume::new(grid.clone(), frames, VolumeKind::Scalar, values)
}
