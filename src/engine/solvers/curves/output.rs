//! Outcomes of seeds, and the curves that start at them.

use crate::data::{Tractogram, keyed};
use crate::solvers::Error;

/// Why one end of a streamline stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum StopReason {
    /// Entered a target region and was cut there.
    ReachedTarget = 0,
    /// Entered a terminate region.
    Terminated = 1,
    /// Left the grid of the image.
    LeftVolume = 2,
    /// Left the fitted mask, or the union of the mask regions.
    LeftMask = 3,
    /// FA below the limit.
    LowFa = 4,
    /// The next step would turn by more than the largest angle.
    Angle = 5,
    /// Reached the longest permitted length.
    MaxLength = 6,
    /// Reached the largest number of steps.
    MaxSteps = 7,
    /// Only one half was requested: this end is the seed.
    Seed = 8,
    /// Looped in place (only geodesic rays).
    Loop = 9,
    /// Reached a point where interpolation gives a tensor that is not positive definite, for which there is no
    /// metric: cubic B-splines near a border, or half precision (only geodesic rays).
    Indefinite = 10,
    /// Accelerated so much that a step would have skipped voxels (only the papers' form of geodesic rays).
    Leap = 11,
    /// No direction ahead has the amplitude that is required (only distributions and peaks).
    LowAmplitude = 12,
    /// Entered cortical grey matter, or started at its surface (this and the following only with a tissue map).
    CorticalGrey = 13,
    /// Ended inside deep grey matter.
    DeepGrey = 14,
    /// Left the map in white matter at its lower end.
    BrainStem = 15,
    /// Entered cerebrospinal fluid.
    EnteredCsf = 16,
}

impl StopReason {
    /// One more than the largest reason.
    pub const COUNT: usize = 17;

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
        Self::LowAmplitude,
        Self::CorticalGrey,
        Self::DeepGrey,
        Self::BrainStem,
        Self::EnteredCsf,
    ];

    /// Whether only streamlines along distributions and peaks stop for it.
    pub fn is_of_distributions(self) -> bool {
        self as u8 >= Self::LowAmplitude as u8
    }

    /// A label short enough for a legend.
    pub fn label(self) -> &'static str {
        match self {
            Self::ReachedTarget => "Reached target",
            Self::Terminated => "Terminate region",
            Self::LeftVolume => "Left the volume",
            Self::LeftMask => "Left the mask",
            Self::LowFa => "Low FA",
            Self::Angle => "Angle",
            Self::MaxLength => "Length limit",
            Self::MaxSteps => "Step limit",
            Self::Seed => "At the seed",
            Self::Loop => "Looped in place",
            Self::Indefinite => "No metric",
            Self::Leap => "Jumped",
            Self::LowAmplitude => "Low amplitude",
            Self::CorticalGrey => "Cortical grey matter",
            Self::DeepGrey => "Deep grey matter",
            Self::BrainStem => "Brain stem",
            Self::EnteredCsf => "CSF",
        }
    }
}

keyed!(StopReason, serde {
    ReachedTarget = "reached-target",
    Terminated = "terminate-region",
    LeftVolume = "left-volume",
    LeftMask = "left-mask",
    LowFa = "low-fa",
    Angle = "angle",
    MaxLength = "max-length",
    MaxSteps = "max-steps",
    Seed = "at-seed",
    Loop = "looped",
    Indefinite = "no-metric",
    Leap = "jumped",
    LowAmplitude = "low-amplitude",
    CorticalGrey = "cortical-grey",
    DeepGrey = "deep-grey",
    BrainStem = "brain-stem",
    EnteredCsf = "csf",
});

/// The outcome of a seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum SeedOutcome {
    /// Passed all conditions.
    Kept = 0,
    /// There are targets and it reached none of them.
    MissedTargets = 1,
    /// Did not pass the include regions.
    MissedInclude = 2,
    /// Touched an exclude region.
    TouchedExclude = 3,
    /// Shorter than the minimum length.
    TooShort = 4,
    /// No streamline starts there; [`Starts`] gives the reasons.
    NoStart = 5,
    /// An end in CSF (this and the next only with a tissue map).
    EndsInCsf = 6,
    /// An end in white matter.
    EndsInWhite = 7,
}

impl SeedOutcome {
    /// Number of outcomes.
    pub const COUNT: usize = 8;

    /// In the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Kept,
        Self::MissedTargets,
        Self::MissedInclude,
        Self::TouchedExclude,
        Self::TooShort,
        Self::NoStart,
        Self::EndsInCsf,
        Self::EndsInWhite,
    ];

    /// Whether only a tissue map gives it.
    pub fn is_of_tissues(self) -> bool {
        matches!(self, Self::EndsInCsf | Self::EndsInWhite)
    }

    /// A label for a list of numbers.
    pub fn label(self) -> &'static str {
        match self {
            Self::Kept => "Kept",
            Self::MissedTargets => "Missed the targets",
            Self::MissedInclude => "Missed an include region",
            Self::TouchedExclude => "Touched an exclude region",
            Self::TooShort => "Too short",
            Self::NoStart => "No start",
            Self::EndsInCsf => "Ends in CSF",
            Self::EndsInWhite => "Ends in white matter",
        }
    }
}

keyed!(SeedOutcome {
    Kept = "kept",
    MissedTargets = "missed-targets",
    MissedInclude = "missed-include",
    TouchedExclude = "touched-exclude",
    TooShort = "too-short",
    NoStart = "no-start",
    EndsInCsf = "ends-in-csf",
    EndsInWhite = "ends-in-white",
});

/// Streamlines with, per streamline, `stop_start` and `stop_end` (a [`StopReason`] as a number), `seed` (index of the
/// seed point), with targets `target` (index among the target regions in their order), and for a bootstrap
/// `repetition` (from 0). There are no values per point.
#[derive(Clone, Debug)]
pub struct Output {
    /// Streamlines that passed all conditions, in the order of their seeds.
    pub kept: Tractogram,
    /// Streamlines that missed the targets, one in `missed_every`, uncut: drawn thin and grey.
    pub missed: Tractogram,
    /// Thinning factor of `missed`: 1 keeps all.
    pub missed_every: usize,
    /// Number of seeds for each [`SeedOutcome`], by its number.
    pub seed_outcomes: [u64; SeedOutcome::COUNT],
    /// Number of ends of started streamlines for each [`StopReason`], by its number, whatever their outcome.
    pub stops: [u64; StopReason::COUNT],
    /// Streamlines kept per target region; one with both ends in targets counts for both.
    pub per_target: Vec<u64>,
    /// Integration steps taken, for performance figures.
    pub steps: u64,
    /// Kernel time in seconds, if the backend measures it.
    pub kernel_s: Option<f64>,
    /// Reasons why seeds did not start; `None` if all did, or if they were not examined (in tensors, beyond some thousand
    /// seeds).
    pub starts: Option<Starts>,
    /// A sentence if the tissues do not seem to belong to the fibres (only distributions and peaks), for callers to fill
    /// in.
    pub tissue_doubt: Option<String>,
}

impl Output {
    /// Copies to the host what is on a graphics card only. Without this call the first access copies, and panics if the
    /// card has failed or if memory is short.
    pub fn on_host(&self) -> Result<(), Error> {
        [&self.kept, &self.missed]
            .into_iter()
            .try_for_each(|curves| Ok(curves.on_host()?))
    }
}

/// Numbers of seeds by the first condition that each fails.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Starts {
    /// Seeds outside the grid of the image.
    pub outside_volume: u64,
    /// Seeds outside the mask of the tensors.
    pub outside_mask: u64,
    /// Seeds outside all mask regions.
    pub outside_regions: u64,
    /// Seeds with an FA below the limit.
    pub low_fa: u64,
    /// FA limit at seeds; `None` where the data have no FA.
    pub min_fa: Option<f64>,
    /// Seeds away from the interface of grey and white matter.
    pub off_interface: u64,
    /// Seeds outside the tissue map.
    pub outside_tissues: u64,
    /// Seeds in CSF.
    pub in_csf: u64,
    /// Seeds in cortical grey matter.
    pub in_cortical_grey: u64,
    /// Seeds at which every amplitude is below `min_amplitude`.
    pub low_amplitude: u64,
    /// The smallest amplitude at seeds; `None` where the data have no distributions.
    pub min_amplitude: Option<f64>,
    /// Seeds that fail no condition.
    pub valid: u64,
}

/// The first condition that a seed along distributions fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoStart {
    /// It lies outside the grid of the distributions.
    OutsideVolume,
    /// It lies outside all mask regions.
    OutsideRegions,
    /// It lies away from the interface of grey and white matter.
    OffInterface,
    /// It lies outside the tissue map.
    OutsideTissues,
    /// It lies in CSF.
    InCsf,
    /// It lies in cortical grey matter.
    InCorticalGrey,
    /// No amplitude there reaches the smallest one.
    LowAmplitude,
}

impl Starts {
    /// Counts a seed under the condition that it fails.
    pub fn count(&mut self, reason: NoStart) {
        *match reason {
            NoStart::OutsideVolume => &mut self.outside_volume,
            NoStart::OutsideRegions => &mut self.outside_regions,
            NoStart::OffInterface => &mut self.off_interface,
            NoStart::OutsideTissues => &mut self.outside_tissues,
            NoStart::InCsf => &mut self.in_csf,
            NoStart::InCorticalGrey => &mut self.in_cortical_grey,
            NoStart::LowAmplitude => &mut self.low_amplitude,
        } += 1;
    }

    /// The numbers of seeds that fail a condition, with the keys of these.
    pub fn failed(&self) -> [(&'static str, u64); 9] {
        [
            ("outside_volume", self.outside_volume),
            ("outside_mask", self.outside_mask),
            ("outside_mask_regions", self.outside_regions),
            ("low_fa", self.low_fa),
            ("off_interface", self.off_interface),
            ("outside_tissues", self.outside_tissues),
            ("in_csf", self.in_csf),
            ("in_cortical_grey", self.in_cortical_grey),
            ("low_amplitude", self.low_amplitude),
        ]
    }

    /// Adds the numbers of other seeds; the limits stay.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.outside_volume, other.outside_volume),
            (&mut self.outside_mask, other.outside_mask),
            (&mut self.outside_regions, other.outside_regions),
            (&mut self.low_fa, other.low_fa),
            (&mut self.off_interface, other.off_interface),
            (&mut self.outside_tissues, other.outside_tissues),
            (&mut self.in_csf, other.in_csf),
            (&mut self.in_cortical_grey, other.in_cortical_grey),
            (&mut self.low_amplitude, other.low_amplitude),
            (&mut self.valid, other.valid),
        ] {
            *sum += more;
        }
    }
}
