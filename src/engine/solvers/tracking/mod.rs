//! Deterministic streamlines along the principal direction of a tensor field.
//!
//! A streamline solves dx/ds = e(x), where e is the unit eigenvector of the largest eigenvalue of
//! D(x) and s is length in mm (Mori et al. 1999; Conturo et al. 1999; Basser et al. 2000, eq. 3). e
//! has no sign: it takes the one that makes less than a right angle with the step before.
//!
//! *Scheme.* The six components of D are interpolated (never e, whose sign is meaningless), linearly
//! or by cubic B-splines, and e is found anew wherever it is needed. Steps are Euler's, the midpoint
//! rule or the classical Runge-Kutta method: order 1, 2 and 4 in a smooth field. Linear
//! interpolation has kinks at cell faces and an error of second order in the voxel size, which then
//! limits the result; splines have an error of fourth order.
//!
//! *Deflection* (after Lazar et al. 2003, Hum Brain Mapp 18:306) takes instead of e the direction
//! v = f e + (1 − f)((1 − g) u + g D u), where u is the direction of the step before and v, u, e and
//! D u are scaled to unit length, which is our choice: only then are f and g shares. It is defined by the step: each is
//! straight (Euler), and a longer one is deflected less often. f = 1 is Euler's rule along e.
//!
//! *Cost.* One, two or four interpolations and directions a step; eight streamlines side by side in
//! vector registers (`follow`). All arithmetic is plain IEEE `f32` without fused operations, so
//! that every instruction set gives the same streamlines. Graphics cards fuse and take shorter roots:
//! there a streamline differs by rounding, and by what rounding decides at a border.
//!
//! *What counts.*
//! - The volume is the union of the voxels' boxes; between the outer voxel centres and the faces
//!   tensors are continued as constants. The mask is where the interpolated share of fitted voxels
//!   is at least one half. FA is that of the interpolated tensor. A streamline ends at the last
//!   point that passes; a turn above the limit ends it at the point where it would turn.
//! - Regions are met on the segments, not only at the points: exactly for spheres, boxes and the
//!   voxel boxes of masks. In a target or terminate region the last point is where it was entered.
//!   Where all targets are to be reached none of them cuts: they are met on the way, like includes.
//!   What lies beyond a cut does not count for include and exclude. The seed is the first point of
//!   both halves: one that lies in a target has length 0 and is too short.
//! - The two halves become one streamline: backward half from its end, seed, forward half; reversed
//!   where only so it ends in its target. Where both halves reach a target both are cut, and the end
//!   is the half in the target named first; it counts once for each of the two targets.
//! - The length limit holds for both halves together, in whole steps: the longer half gives way
//!   first. The fate named is the first that fits in the order of [`Fate`], except that no start
//!   comes before all.

pub(super) mod cells;
mod cpu;
pub(super) mod cuda;
mod direction;
mod field;
mod follow;
pub(super) mod gather;
mod integrate;
mod job;
mod join;
mod parameters;
pub mod profile;
pub(super) mod queue;
pub(super) mod regions;
pub(super) mod room;
mod sample;
pub(super) mod seeding;
pub mod selection;
pub(super) mod spline;
mod starts;
pub(super) mod words;

pub(super) use field::cubic_weights;
pub use integrate::{DirectionField, step};
pub use parameters::{DEFAULT_REPETITIONS, Deflection, Match, Params};
pub use sample::{sample, sample_frame};
pub use seeding::MAX_SEEDS;
pub use starts::{Starts, starts};

pub use super::Error;
use super::tensor_fit::Residuals;
use crate::compute::{Backend, Control, memory};
use crate::data::{Region, Role, Shape, Tensor, TensorField, Tractogram, keyed};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Integrator {
    Euler,
    /// Midpoint rule.
    Rk2,
    Rk4,
}

/// How tensors (never eigenvectors) are interpolated between voxel centres.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Interpolation {
    Trilinear,
    /// Interpolating cubic B-spline (prefiltered).
    CubicBSpline,
}

/// How seed points are spread over the seed area: the union of the seed regions, or, where there
/// is none, all voxels of the field's mask.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum Seeding {
    /// This many points in all, uniform in the seed area.
    Random { count: usize },
    /// A regular world-axis grid with this spacing, mm.
    Grid { spacing_mm: f64 },
    /// This many random points in each voxel of the field whose centre is in the seed area.
    PerVoxel { count: usize },
}

/// How many steps a half may take.
pub(super) struct StepLimit {
    pub steps: u32,
    /// What reaching it is called.
    pub at_max: StopReason,
    /// By the length alone.
    pub in_length: u32,
}

impl Params {
    pub(super) fn step_limit(&self) -> StepLimit {
        // By a hair more, so that 300 mm are 600 steps of 0.5 mm however they round.
        let in_length = |mm: f64| (mm / self.step_mm * (1.0 + 1e-9)).min(u32::MAX.into()) as u32;
        let in_length = self.max_length_mm.map_or(u32::MAX, in_length);
        let most = u32::try_from(self.max_steps).unwrap_or(u32::MAX);
        StepLimit {
            steps: most.min(in_length),
            at_max: if in_length <= most {
                StopReason::MaxLength
            } else {
                StopReason::MaxSteps
            },
            in_length,
        }
    }
}

/// Why one end of a streamline stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum StopReason {
    /// Entered a target region and was cut there.
    ReachedTarget = 0,
    /// Entered a terminate region.
    Terminated = 1,
    LeftVolume = 2,
    /// Left the fitted mask, or the union of the mask regions.
    LeftMask = 3,
    LowFa = 4,
    Angle = 5,
    MaxLength = 6,
    MaxSteps = 7,
    /// Only one half was asked for: this end is the seed.
    Seed = 8,
    /// Circled on the spot (geodesic rays only).
    Loop = 9,
    /// Came where interpolation gives a tensor that is not positive definite, which no metric belongs
    /// to: cubic B-splines beside a border, or half precision (geodesic rays only).
    Indefinite = 10,
    /// Grew so fast that a step would have passed over voxels (the papers' form of geodesic rays only).
    Leap = 11,
}

impl StopReason {
    pub const COUNT: usize = 12;

    /// In the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::ReachedTarget,
        Self::Terminated,
        Self::LeftVolume,
        Self::LeftMask,
        Self::LowFa,
        Self::Angle,
        Self::MaxLength,
        Self::MaxSteps,
        Self::Seed,
        Self::Loop,
        Self::Indefinite,
        Self::Leap,
    ];

    /// For people, short enough for a legend.
    pub fn words(self) -> &'static str {
        match self {
            Self::ReachedTarget => "Reached target",
            Self::Terminated => "Terminate region",
            Self::LeftVolume => "Left the volume",
            Self::LeftMask => "Left the mask",
            Self::LowFa => "Low FA",
            Self::Angle => "Angle",
            Self::MaxLength => "Longest allowed",
            Self::MaxSteps => "Most steps",
            Self::Seed => "At the seed",
            Self::Loop => "Circled on the spot",
            Self::Indefinite => "No metric",
            Self::Leap => "Leapt",
        }
    }
}

keyed!(StopReason {
    ReachedTarget = "reached-target",
    Terminated = "terminate-region",
    LeftVolume = "left-volume",
    LeftMask = "left-mask",
    LowFa = "low-fa",
    Angle = "angle",
    MaxLength = "longest-allowed",
    MaxSteps = "most-steps",
    Seed = "at-seed",
    Loop = "circled-on-spot",
    Indefinite = "no-metric",
    Leap = "leapt",
});

/// What became of a seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Fate {
    Kept = 0,
    /// There are targets and it reached none.
    MissedTargets = 1,
    MissedInclude = 2,
    TouchedExclude = 3,
    TooShort = 4,
    /// Outside the mask or below the FA limit at the seed.
    NoStart = 5,
}

/// Streamlines with, per streamline, `stop_start` and `stop_end` (a [`StopReason`] as number),
/// `seed` (index of the seed point), where there are targets `target` (index among the target
/// regions in the order given), and of a bootstrap `repetition` (from 0). Per point nothing.
#[derive(Clone, Debug)]
pub struct Output {
    pub kept: Tractogram,
    /// Those that missed the targets, one in `missed_every`, uncut: drawn thin and grey.
    pub missed: Tractogram,
    pub missed_every: usize,
    /// How many seeds met each [`Fate`], by its number.
    pub fates: [u64; 6],
    /// How many ends of streamlines that started stopped for each [`StopReason`], by its number,
    /// whatever their fate.
    pub stops: [u64; StopReason::COUNT],
    /// Streamlines kept per target region; one with both ends in targets counts for both.
    pub per_target: Vec<u64>,
    /// Integration steps taken, for rates.
    pub steps: u64,
    /// Seconds in kernels, where the backend measures them.
    pub kernel_s: Option<f64>,
    /// Why nothing starts, where somebody has looked.
    pub starts: Option<Starts>,
}

/// Tracks from the regions with role seed (the whole mask if none) and filters by the others.
pub fn track(
    field: &TensorField,
    regions: &[Region],
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    track_within(field, regions, params, None, backend, control)
}

/// As [`track`]; stops with a sentence when the streamlines take more than this much memory, in
/// bytes, and refuses to start where a sample of them foretells it.
pub fn track_within(
    field: &TensorField,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    check(field, regions, params).map_err(Error::Input)?;
    params.check_reach().map_err(Error::Input)?;
    if params.repetitions.is_some() {
        return Err(Error::Input(
            "A bootstrap was asked for without the scan that the tensors are from; open the scan"
                .into(),
        ));
    }
    control.check()?;
    claim_spline(field, params)?;
    match backend {
        Backend::Cpu { .. } => {
            backend.install(|| cpu::track(field, regions, params, memory, control))
        }
        // The kernel knows no deflection.
        Backend::Cuda { .. } if params.deflection.is_some() => {
            backend.install(|| cpu::track(field, regions, params, memory, control))
        }
        Backend::Cuda { .. } => cuda::track(field, regions, params, memory, backend, control),
    }
}

/// Probabilistic streamlines: those of [`track_within`] in the tensors of each repetition of a wild
/// bootstrap, one repetition after the other, as many as the parameters say; on the CPU.
///
/// Each repetition is a whole field with signs of its own in every voxel, so that every streamline
/// sees one consistent sample of the noise, as in a scan that was taken again. It depends on the random
/// seed and its number alone; fates and stops are counted over all. At any time one repetition's tensors
/// are held. `field` is the fit that the residuals are from.
pub fn track_bootstrap(
    field: &TensorField,
    residuals: &Residuals,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    check(field, regions, params).map_err(Error::Input)?;
    params.check_reach().map_err(Error::Input)?;
    if !field.grid.matches(residuals.grid()) {
        return Err(Error::Input(
            "The residuals are of another grid than the tensors; fit the scan again".into(),
        ));
    }
    control.check()?;
    claim_spline(field, params)?;
    // The tensors of a repetition.
    memory::claim_for::<u8>(
        "The bootstrap",
        field.tensors.len(),
        size_of::<Tensor>() + 5,
    )?;
    backend.install(|| cpu::bootstrap(field, residuals, regions, params, memory, control))
}

/// Coefficients of the spline, twice while they are made.
fn claim_spline(field: &TensorField, params: &Params) -> Result<(), Error> {
    let each = match params.interpolation {
        Interpolation::Trilinear => return Ok(()),
        Interpolation::CubicBSpline => 2,
    };
    let what = "The interpolation by cubic splines";
    Ok(memory::claim_for::<field::Record>(
        what,
        field.tensors.len(),
        each,
    )?)
}

/// Unit eigenvector of the largest eigenvalue of the tensor xx xy xz yy yz zz, in the sense of
/// `along`; in any sense where `along` is 0. As tracking computes it.
pub fn principal_direction(d: [f32; 6], along: [f32; 3]) -> [f32; 3] {
    direction::principal(d, &direction::deviator(d), along)
}

/// One sentence about the first thing that makes no sense.
pub(super) fn check(
    field: &TensorField,
    regions: &[Region],
    params: &Params,
) -> Result<(), String> {
    // Beyond this the eight-lane indices would overflow; such a field has 64 GB.
    const MAX_VOXELS: usize = i32::MAX as usize;
    params.check()?;
    let (low, high) = field.grid.bounds();
    let across = low.distance(high);
    if params.step_mm > across {
        return Err(format!(
            "The step is {} mm, longer than the whole volume of {across:.0} mm; choose for example \
             0.5 mm",
            words::count(params.step_mm)
        ));
    }
    if field.tensors.len() > MAX_VOXELS {
        return Err(format!(
            "The tensors have {} voxels, expected at most {MAX_VOXELS}; crop or resample the scan",
            field.tensors.len()
        ));
    }
    for region in regions {
        let sound = match &*region.shape {
            Shape::Sphere { centre, radius_mm } => {
                centre.is_finite() && *radius_mm > 0.0 && radius_mm.is_finite()
            }
            Shape::Box { centre, half_mm } => {
                centre.is_finite() && half_mm.is_finite() && half_mm.min_element() >= 0.0
            }
            Shape::Mask(mask) => region.role != Role::Seed || mask.inside.iter().any(|v| *v != 0),
        };
        if !sound {
            return Err(format!(
                "The region \"{}\" is empty, expected a volume; enlarge or remove it",
                region.name
            ));
        }
    }
    Ok(())
}
