//! Rigid alignment of two images of one head by mutual information.
//!
//! The images may differ in contrast (T1, b = 0): intensities are not compared, only how well each image predicts the
//! other. The measure is the normalised mutual information (H(F) + H(M)) / H(F, M) of their joint histogram
//! (Studholme, Hill and Hawkes 1999, Pattern Recogn 32:71), which depends little on the overlap of the images.
//! Entropies are computed from 32 × 32 bins between the 0.5th and 99.5th percentile; each sample is distributed
//! linearly over adjacent bins, so that the measure changes smoothly.
//!
//! Samples lie on a lattice in the fixed image, each shifted at random within its cell: samples on the moving image's
//! own lattice would favour shifts by whole voxels. They are taken at three resolutions, from images averaged over
//! blocks of voxels and smoothed. The search at the coarsest resolution begins at several positions: with the images
//! as they are, and with their centres of mass together, each also rotated about every axis. Each search uses
//! Powell's method of line searches (1964) over three translations and three rotations.
//!
//! Any two images have a best position. It is doubtful if the measure rises there hardly further above 1 than at
//! positions that are turned and shifted at random, which correspond to nothing. Unrelated noise, white or smooth, rose
//! to 0.9 to 1.8 times the mean rise at such positions, images of one head to 2.3 times and more.
//!
//! Cost: a few hundred evaluations of at most 60,000 samples at the finest level.
//!
//! # Example
//!
//! An image and its copy, displaced by 3 mm:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::phantom::{Head, PictureOptions, scan_grid};
//! use arcuate_engine::solvers::alignment::{Params, align};
//! use glam::{DAffine3, DVec3};
//! use std::sync::Arc;
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let options = PictureOptions {
//!     snr: None,
//!     shading: 0.0,
//!     noise_seed: 1,
//! };
//! let grid = scan_grid(4.0).ok_or("a spacing above 0")?;
//! let fixed = Head::new(1).t1(&grid, &options, &control)?.image;
//! let displaced = grid.moved(DAffine3::from_translation(DVec3::new(3.0, 0.0, 0.0)));
//! let moving = fixed.on_grid(Arc::new(displaced.ok_or("a valid grid")?));
//! let params = Params::defaults_from(DAffine3::IDENTITY);
//! let aligned = align(&moving, &fixed, &params, &backend, &control)?;
//! assert!(aligned.moved.translation.distance(DVec3::new(-3.0, 0.0, 0.0)) < 0.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod information;
mod level;
mod parameters;
mod search;

pub use super::Error;
use crate::compute::{Backend, Control, memory};
use crate::data::Volume;
use crate::data::random::Random;
use error::{ImageRole, InputError};
use glam::{DAffine3, DQuat, DVec3};
use information::Joint;
use level::Level;
pub use parameters::Params;
use search::{Rigid, powell};
use std::f64::consts::PI;

/// Result of an alignment of two images.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// Transform of the moving image's points, in world mm, to their aligned positions.
    pub moved: DAffine3,
    /// Normalised mutual information before the alignment, 1..=2.
    pub before: f64,
    /// Normalised mutual information after the alignment, 1..=2.
    pub after: f64,
    /// Mean of the measure over random positions, far from the aligned one; `None` if the images overlap at too few.
    pub elsewhere: Option<f64>,
    /// Displacement of the fixed image's centre relative to the initial transform, mm.
    pub shifted_mm: f64,
    /// Rotation angle relative to the initial transform.
    pub turned_rad: f64,
    /// Number of transforms at which the measure was evaluated.
    pub evaluations: usize,
}

impl Output {
    /// Whether the aligned position is hardly better than any other, as for images of different things.
    pub fn is_doubtful(&self) -> bool {
        let rise = self.after - 1.0;
        self.elsewhere
            .is_some_and(|mean| rise < MIN_RISE * (mean - 1.0))
    }
}

/// Rise of the measure above 1, as a multiple of its mean rise at random positions, above which the alignment is not
/// doubtful.
const MIN_RISE: f64 = 1.9;
/// Random positions, and how many of them must overlap. Each is turned by 60° to 180° and shifted by up to 20 mm along
/// each axis, so that a head covers itself but none of its structures do.
const RANDOM_POSITIONS: u64 = 32;
const MIN_POSITIONS: usize = 8;
const RANDOM_TURN_RAD: [f64; 2] = [PI / 3.0, PI];
const RANDOM_SHIFT_MM: f64 = 20.0;

/// Spacing of samples at each level, mm, coarsest first.
const LEVELS_MM: [f64; 3] = [8.0, 4.0, 2.0];
/// Rotation of the initial positions about each axis.
const TURN_RAD: f64 = 0.26;
/// Number of initial positions searched, and number of those continued.
const SEARCHED: usize = 6;
const KEPT: usize = 2;

/// The rigid transform from `moving` to `fixed`; uses the first frame of each.
pub fn align(
    moving: &Volume,
    fixed: &Volume,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    for (volume, image) in [(moving, ImageRole::Moving), (fixed, ImageRole::Fixed)] {
        if volume.frame(0).iter().all(|v| !v.is_finite()) {
            return Err(InputError::NotFinite(image).into());
        }
        let (low, high) = volume.range(0);
        if low == high {
            return Err(InputError::OneValue(image, low).into());
        }
    }
    // The averages of both at each level, and one of them before smoothing.
    let voxels = moving.grid.voxel_count() + fixed.grid.voxel_count();
    memory::claim_for::<f32>("The alignment", voxels, 2)?;
    backend.install(|| run(moving, fixed, params, control))
}

fn run(
    moving: &Volume,
    fixed: &Volume,
    params: &Params,
    control: &Control,
) -> Result<Output, Error> {
    control.begin("Preparing images", 0);
    let mut places = Vec::new();
    let mut evaluations = 0;
    let (mut before, mut after, mut elsewhere) = (0.0, 0.0, None);
    let mut about = DVec3::ZERO;
    for (number, spacing_mm) in LEVELS_MM.into_iter().enumerate() {
        control.check()?;
        let still = Level::new(fixed, spacing_mm);
        let turned = Level::new(moving, spacing_mm);
        let joint = Joint::new(&still, &turned, spacing_mm)?;
        let first = number == 0;
        for (level, image) in [(&still, ImageRole::Fixed), (&turned, ImageRole::Moving)] {
            if level.is_flat() {
                return Err(InputError::NearlyOneValue(image).into());
            }
        }
        if first {
            if joint.overlap(&params.from) == 0.0 {
                let middle = params.from.transform_point3(turned.middle());
                return Err(InputError::NoOverlap(middle.distance(still.middle())).into());
            }
            about = still.centre();
            places.push(Rigid::default());
            if params.wide {
                places = initial_transforms(params.from.transform_point3(turned.centre()) - about);
            }
        }
        let information = |rigid: &Rigid| joint.information(&(rigid.about(about) * params.from));
        // Steps of one sample spacing: rotations move the edge of a head by that much.
        let unit = Rigid::unit_step(spacing_mm);
        if first {
            before = information(&Rigid::default());
            let mut ranked = Vec::new();
            for place in &places {
                control.check()?;
                ranked.push((information(place), *place));
            }
            evaluations += ranked.len();
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
            ranked.truncate(SEARCHED);
            places = ranked.into_iter().map(|(_, place)| place).collect();
        }
        control.begin("Aligning", places.len() as u64);
        let mut candidates = Vec::new();
        for place in &places {
            let searched = powell(*place, unit, &information, control)?;
            evaluations += searched.evaluations;
            candidates.push((searched.value, searched.transform));
            control.advance(1);
        }
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
        candidates.truncate(if first { KEPT } else { 1 });
        after = candidates.first().map_or(0.0, |f| f.0);
        places = candidates.into_iter().map(|(_, place)| place).collect();
        if number + 1 == LEVELS_MM.len() {
            // Evaluated at the reported level.
            before = information(&Rigid::default());
            let aligned = places.first().copied().unwrap_or_default().about(about) * params.from;
            elsewhere = mean_elsewhere(&joint, aligned, still.middle(), control)?;
        }
    }
    if after <= 1.0 {
        return Err(InputError::Unrelated.into());
    }
    let best = places.first().copied().unwrap_or_default();
    let nudge = best.about(about);
    Ok(Output {
        moved: nudge * params.from,
        before,
        after,
        elsewhere,
        shifted_mm: nudge.transform_point3(about).distance(about),
        turned_rad: DQuat::from_mat3(&nudge.matrix3).to_axis_angle().1,
        evaluations,
    })
}

/// The mean of the measure at random positions, reached from the aligned one by a rotation about `middle` and a shift.
fn mean_elsewhere(
    joint: &Joint<'_>,
    aligned: DAffine3,
    middle: DVec3,
    control: &Control,
) -> Result<Option<f64>, Error> {
    let mut values = Vec::new();
    for number in 0..RANDOM_POSITIONS {
        control.check()?;
        let random = Random::new(1).stream(number);
        let angle = random.within(2, RANDOM_TURN_RAD[0], RANDOM_TURN_RAD[1]);
        let shift = [3, 4, 5].map(|i| random.within(i, -RANDOM_SHIFT_MM, RANDOM_SHIFT_MM));
        let position = Rigid {
            shift: DVec3::from_array(shift),
            turn: random.direction(0) * angle,
        };
        let information = joint.information(&(position.about(middle) * aligned));
        // Exactly 1 if the images hardly overlap.
        if information > 1.0 {
            values.push(information);
        }
    }
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    Ok((values.len() >= MIN_POSITIONS).then_some(mean))
}

/// The images as they are, and with their centres, now `offset`, together, each rotated about every axis or not.
fn initial_transforms(offset: DVec3) -> Vec<Rigid> {
    let turns = [0.0, -TURN_RAD, TURN_RAD];
    let mut places = Vec::new();
    for x in turns {
        for y in turns {
            for z in turns {
                let turn = DVec3::new(x, y, z);
                let together = -(DQuat::from_scaled_axis(turn) * offset);
                places.extend([DVec3::ZERO, together].map(|shift| Rigid { shift, turn }));
            }
        }
    }
    places
}
