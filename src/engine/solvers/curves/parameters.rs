//! Parameters of curves, and the defaults of tracking.

use super::{StopReason, seeding};
use crate::data::words::{large_count, number};
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
    /// Hard cap on steps per half.
    pub max_steps: usize,
    /// Whether one target is enough. All of them: none cuts, and every one has to be met.
    #[serde(default = "Match::any")]
    pub targets: Match,
    /// Whether one include region is enough.
    #[serde(default = "Match::all")]
    pub includes: Match,
    /// Follow both senses from the seed; else only the one with positive z (then y, then x).
    pub both_ways: bool,
    /// `None`: along the principal direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deflection: Option<Deflection>,
    /// Repetitions of the wild bootstrap, all from the same seeds; `None`: the tensors as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<usize>,
}

/// How far the tensor turns the direction of the step before; a step of Euler's rule each.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Deflection {
    /// Share of the principal direction, 0..=1; 1 leaves nothing else.
    pub f: f64,
    /// Share, 0..=1, of the deflected direction in the rest; what is left keeps straight on.
    pub g: f64,
}

impl Deflection {
    /// Mostly the tensor's own deflection, a little of the principal direction: stays on course where
    /// fibres cross, still turns with a bundle (the middle of what Lazar et al. 2003 tried).
    pub fn defaults() -> Self {
        Self { f: 0.3, g: 0.7 }
    }
}

/// Repetitions of a bootstrap where it is switched on: shares of one in ten are known to ±0.04.
pub const DEFAULT_REPETITIONS: usize = 50;

impl Params {
    /// Values that suit most scans.
    pub fn defaults() -> Self {
        Self {
            integrator: Integrator::Rk4,
            interpolation: Interpolation::Trilinear,
            seeding: Seeding::Random { count: 2_000 },
            random_seed: 1,
            step_mm: 0.5,
            max_angle_rad: Some(45f64.to_radians()),
            min_fa: Some(0.15),
            min_length_mm: 30.0,
            max_length_mm: Some(300.0),
            // A guard only: the length limit ends a streamline long before.
            max_steps: 10_000,
            // The roles say so: reach one of the targets, pass through all of the includes.
            targets: Match::Any,
            includes: Match::All,
            both_ways: true,
            deflection: None,
            repetitions: None,
        }
    }

    /// One sentence about lengths that no curve has.
    fn check_lengths(&self) -> Result<(), String> {
        let (shortest, longest) = (self.min_length_mm, self.max_length_mm.unwrap_or(f64::MAX));
        if (0.0..=longest).contains(&shortest) {
            return Ok(());
        }
        Err(format!(
            "The smallest length is {shortest} mm, expected a number from 0 to the largest length, \
             {longest} mm; lower it or raise that"
        ))
    }

    /// Checks the values that are wrong for every scan; the error is one sentence.
    pub fn check(&self) -> Result<(), String> {
        /// A shorter step does not move a point in single precision.
        const LEAST_STEP_MM: f64 = 1e-7;
        const MAX_STEPS: usize = 100_000_000;
        let positive = |value: f64, what: &str, example: &str| {
            if value > 0.0 && value.is_finite() {
                return Ok(());
            }
            Err(format!(
                "The {what} is {value} mm, expected a positive number; choose for example {example} mm"
            ))
        };
        positive(self.step_mm, "step", "0.5")?;
        if self.step_mm < LEAST_STEP_MM {
            return Err(format!(
                "The step is {} mm, expected at least {LEAST_STEP_MM:e} mm; choose for example 0.5 mm",
                number(self.step_mm)
            ));
        }
        if let Seeding::Grid { spacing_mm } = self.seeding {
            positive(spacing_mm, "spacing of the seeds", "1")?;
        }
        if let Seeding::Random { count: 0 } | Seeding::PerVoxel { count: 0 } = self.seeding {
            return Err("The number of seeds is 0, expected at least 1; ask for some".into());
        }
        if let Seeding::Random { count } = self.seeding {
            seeding::check_count(count)?;
        }
        if let Some(angle) = self
            .max_angle_rad
            .filter(|a| !(*a > 0.0 && *a <= std::f64::consts::PI))
        {
            return Err(format!(
                "The largest angle is {}°, expected more than 0° and at most 180°; choose for example 45°",
                number((angle.to_degrees() * 1e6).round() / 1e6)
            ));
        }
        if let Some(fa) = self.min_fa.filter(|fa| !(0.0..=1.0).contains(fa)) {
            return Err(format!(
                "The FA limit is {fa}, expected a number from 0 to 1; choose for example 0.15"
            ));
        }
        if let Some(length) = self.max_length_mm {
            positive(length, "largest length", "300")?;
        }
        self.check_lengths()?;
        if !(1..=MAX_STEPS).contains(&self.max_steps) {
            return Err(format!(
                "The step limit is {}, expected a number from 1 to {MAX_STEPS}; choose for example 10000",
                self.max_steps
            ));
        }
        /// `f32` holds these counts exactly; more repetitions take too long to wait for.
        const MAX_REPETITIONS: usize = 100_000;
        if let Some(n) = self
            .repetitions
            .filter(|n| !(1..=MAX_REPETITIONS).contains(n))
        {
            return Err(format!(
                "{n} repetitions of the bootstrap were asked for, expected 1 to {MAX_REPETITIONS}; choose \
                 for example 50"
            ));
        }
        if let Some(deflection) = self.deflection {
            for (name, share) in [("f", deflection.f), ("g", deflection.g)] {
                if !(0.0..=1.0).contains(&share) {
                    return Err(format!(
                        "The deflection's {name} is {share}, expected a number from 0 to 1; choose for \
                         example 0.3"
                    ));
                }
            }
            if self.integrator != Integrator::Euler {
                return Err(format!(
                    "Deflection was asked for with the integrator {:?}, but its steps are straight; \
                     choose Euler",
                    self.integrator
                ));
            }
        }
        Ok(())
    }

    pub(in crate::solvers) fn step_limit(&self) -> StepLimit {
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

    /// Cosine of the largest turn in a step; below -1 if any will do.
    pub(in crate::solvers) fn min_cos(&self) -> f32 {
        self.max_angle_rad.map_or(-2.0, |angle| angle.cos() as f32)
    }

    /// Checks that the steps reach the smallest length; the error is one sentence.
    pub fn check_reach(&self) -> Result<(), String> {
        let halves = if self.both_ways { 2.0 } else { 1.0 };
        let longest = halves * self.max_steps as f64 * self.step_mm;
        if longest >= self.min_length_mm {
            return Ok(());
        }
        Err(format!(
            "{} steps of {} mm end before the smallest length, {} mm; take longer steps or more of them, or lower \
             that length",
            large_count(self.max_steps as f64),
            number(self.step_mm),
            number(self.min_length_mm)
        ))
    }
}

/// Of several regions with one role.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Match {
    Any,
    All,
}

impl Match {
    fn any() -> Self {
        Self::Any
    }

    fn all() -> Self {
        Self::All
    }
}

/// How many steps a half may take.
pub(in crate::solvers) struct StepLimit {
    pub steps: u32,
    /// The stop reason at this limit.
    pub at_max: StopReason,
    /// By the length alone.
    pub in_length: u32,
}
