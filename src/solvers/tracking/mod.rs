//! Deterministic streamlines along the principal direction of a tensor field.

mod sample;

pub use sample::sample;

use crate::compute::{Backend, Control};
use crate::data::{Region, TensorField, Tractogram};
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

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    pub integrator: Integrator,
    pub interpolation: Interpolation,
    pub seeding: Seeding,
    /// Seeds the counter-based generator; each streamline draws by its own index.
    pub random_seed: u64,
    pub step_mm: f64,
    /// Largest turn in one step, radians; `None` switches the test off.
    pub max_angle_rad: Option<f64>,
    /// Stops where the interpolated tensor's FA is below; `None` switches the test off.
    pub min_fa: Option<f64>,
    /// Shorter streamlines are dropped and counted.
    pub min_length_mm: f64,
    /// Streamlines stop at this length over both halves; `None` switches the limit off.
    pub max_length_mm: Option<f64>,
    /// Hard cap on points per half.
    pub max_steps: usize,
    /// Follow both senses from the seed; else only the one with positive z (then y, then x).
    pub both_ways: bool,
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
}

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
/// `seed` (index of the seed point), and, where there are targets, `target` (index among the
/// target regions in the order given). Per point nothing.
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
    pub stops: [u64; 9],
    /// Streamlines kept per target region.
    pub per_target: Vec<u64>,
    /// Integration steps taken, for rates.
    pub steps: u64,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Error {
    Cancelled,
    /// One sentence: found, expected, what to do.
    Input(String),
}

/// Tracks from the regions with role seed (the whole mask if none) and filters by the others.
pub fn track(
    _field: &TensorField,
    _regions: &[Region],
    _params: &Params,
    _backend: &Backend,
    _control: &Control,
) -> Result<Output, Error> {
    Err(Error::Cancelled)
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("")
    }
}
