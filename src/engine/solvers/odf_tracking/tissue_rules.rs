//! Anatomical rules (after Smith et al. 2012), as a function of the fractions of five tissues at a point: the largest
//! one decides.
//!
//! - Cortical grey matter ends a streamline, which is kept.
//! - Deep grey matter lets it continue. When it leaves, it ends and is cut back to its last point inside; one that
//!   started inside may leave once.
//! - CSF rejects it, unless it was in deep grey matter, where it then ends.
//! - Outside all tissues it is rejected, except at the lower end of white matter: the brain stem.
//! - Where it stops for another reason it is rejected in white matter and kept in deep grey matter.
//! - Where amplitudes end one step before grey matter, it takes that step, straight: distributions of a mask of white
//!   matter end there, and MRtrix asks for an amplitude where a step begins, not where it ends.
//! - In other tissue, which is pathological, everything is allowed.

use super::lattice::Lattice;
use crate::data::tissue_map::Fractions;
use crate::data::{TissueMap, TissueType};
use crate::solvers::curves::{NoStart, StopReason};
use glam::DVec3;

/// Below this sum of all fractions a point is outside the brain.
const INSIDE: f32 = 0.5;
/// Largest height above the lowest white matter at which the brain stem ends, mm.
const BRAIN_STEM_MM: f32 = 6.0;
/// Steps that a streamline from the interface may take in cortical grey matter before it reaches white matter.
const STEPS_IN_CORTEX: u8 = 4;

pub struct TissueRules {
    fractions: std::sync::Arc<[Fractions]>,
    pub lattice: Lattice,
    /// World z below which white matter ends at the brain stem.
    pub stem_below: f32,
}

/// The tissues that a streamline has passed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Passed {
    /// Its last point is in deep grey matter.
    in_deep_grey: bool,
    /// It started in deep grey matter and has not left it.
    may_leave: bool,
    /// Steps that it may still take in cortical grey matter.
    steps_in_cortex: u8,
}

impl Passed {
    /// The bits in which kernels/odf_tracking.cu stores it.
    pub fn bits(self) -> u32 {
        u32::from(self.in_deep_grey)
            | u32::from(self.may_leave) << 1
            | u32::from(self.steps_in_cortex) << 2
    }
}

/// The effect of a tissue at a new point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TissueEffect {
    Continue,
    /// Ends; `with_point`: the new point is the last.
    End {
        reason: StopReason,
        with_point: bool,
        is_kept: bool,
    },
}

impl TissueRules {
    pub fn new(map: &TissueMap) -> Self {
        let grid = &map.grid;
        let white = map.fractions.iter().enumerate();
        let white = white.filter(|(_, f)| f[TissueType::White as usize] >= INSIDE);
        let heights = white.map(|(voxel, _)| {
            let centre = DVec3::from_array(grid.voxel(voxel).map(|v| v as f64));
            grid.world(centre).z as f32
        });
        Self {
            fractions: map.fractions.clone(),
            lattice: Lattice::new(grid),
            stem_below: heights.fold(f32::INFINITY, f32::min) + BRAIN_STEM_MM,
        }
    }

    /// Interpolated fractions; `None` outside the map.
    #[inline]
    pub fn fractions(&self, at: [f32; 3]) -> Option<Fractions> {
        let mut sum = Fractions::default();
        for (voxel, weight) in self.lattice.corners(at)? {
            for (sum, f) in sum.iter_mut().zip(&self.fractions[voxel]) {
                *sum += weight * f;
            }
        }
        Some(sum)
    }

    /// The tissue with the largest fraction; `None` outside the brain.
    pub fn tissue(&self, at: [f32; 3]) -> Option<TissueType> {
        let fractions = self.fractions(at)?;
        let all = &fractions[..TissueType::COUNT];
        if all.iter().sum::<f32>() < INSIDE {
            return None;
        }
        let larger = |best: usize, i: usize| if all[i] > all[best] { i } else { best };
        Some(TissueType::ALL[(1..TissueType::COUNT).fold(0, larger)])
    }

    /// The state of a streamline at its seed, or why none starts there. `at_interface`: cortical grey matter is expected,
    /// and followed until white matter begins.
    pub fn at_seed(&self, at: [f32; 3], at_interface: bool) -> Result<Passed, NoStart> {
        let start = Passed::default();
        match self.tissue(at).ok_or(NoStart::OutsideTissues)? {
            _ if at_interface => Ok(Passed {
                steps_in_cortex: STEPS_IN_CORTEX,
                ..start
            }),
            TissueType::White | TissueType::Other => Ok(start),
            TissueType::DeepGrey => Ok(Passed {
                in_deep_grey: true,
                may_leave: true,
                ..start
            }),
            TissueType::CorticalGrey => Err(NoStart::InCorticalGrey),
            TissueType::Csf => Err(NoStart::InCsf),
        }
    }

    /// Whether a streamline that starts here has its one end here: it leaves in one sense only.
    pub fn ends_at_seed(passed: &Passed) -> Option<StopReason> {
        match (passed.may_leave, passed.steps_in_cortex > 0) {
            (true, _) => Some(StopReason::DeepGrey),
            (_, true) => Some(StopReason::CorticalGrey),
            _ => None,
        }
    }

    /// Applies the rules at the new point of a step; `downwards`: the step goes down.
    pub fn enter(&self, at: [f32; 3], downwards: bool, passed: &mut Passed) -> TissueEffect {
        let end = |reason, with_point, is_kept| TissueEffect::End {
            reason,
            with_point,
            is_kept,
        };
        let deep = end(StopReason::DeepGrey, false, true);
        let Some(tissue) = self.tissue(at) else {
            return if passed.in_deep_grey {
                deep
            } else if downwards && at[2] <= self.stem_below {
                end(StopReason::BrainStem, false, true)
            } else {
                end(StopReason::LeftMask, false, false)
            };
        };
        match tissue {
            TissueType::CorticalGrey if passed.steps_in_cortex > 0 => {
                passed.steps_in_cortex -= 1;
                TissueEffect::Continue
            }
            TissueType::CorticalGrey => end(StopReason::CorticalGrey, true, true),
            TissueType::DeepGrey => {
                passed.in_deep_grey = true;
                passed.steps_in_cortex = 0;
                TissueEffect::Continue
            }
            TissueType::Csf if passed.in_deep_grey => deep,
            TissueType::Csf => end(StopReason::EnteredCsf, false, false),
            TissueType::White if passed.in_deep_grey && !passed.may_leave => deep,
            TissueType::White | TissueType::Other => {
                passed.steps_in_cortex = 0;
                if tissue == TissueType::White {
                    passed.in_deep_grey = false;
                    passed.may_leave = false;
                }
                TissueEffect::Continue
            }
        }
    }

    /// Whether a last step leads from outside grey matter into it.
    pub fn may_step_into(&self, at: [f32; 3], passed: &Passed) -> bool {
        let is_outside = !passed.in_deep_grey && passed.steps_in_cortex == 0;
        let grey = [TissueType::CorticalGrey, TissueType::DeepGrey];
        is_outside && self.tissue(at).is_some_and(|t| grey.contains(&t))
    }

    /// Whether a streamline that stops at a point for another reason is kept, and the reason to report.
    pub fn stopped(
        &self,
        at: [f32; 3],
        downwards: bool,
        reason: StopReason,
        passed: &Passed,
    ) -> (StopReason, bool) {
        if passed.in_deep_grey {
            return (StopReason::DeepGrey, true);
        }
        let left = matches!(reason, StopReason::LeftVolume | StopReason::LowAmplitude);
        if left && downwards && at[2] <= self.stem_below {
            return (StopReason::BrainStem, true);
        }
        (reason, self.tissue(at) == Some(TissueType::Other))
    }
}
