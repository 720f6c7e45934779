//! Summary of rays in the Track panel: measures per bin, medians per target, and why there are none.

use super::format;
use super::widgets::charts::BINS;
use crate::data::statistics::median;
use crate::data::{DataId, Tractogram};
use crate::solvers::curves::SeedOutcome;
use crate::solvers::geodesic::{Cut, Directions};
use crate::state::core::text::counted;
use crate::state::track::empty::none_passed;
use crate::state::track::types::{CurveParams, RayResult};
use crate::state::{CurveResult, Rays};

/// Rays to a target that the cut keeps.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct TargetRays {
    pub count: u64,
    /// Medians; 0 for an empty set.
    pub measure: f32,
    pub length_mm: f32,
}

/// Caches the last counts.
#[derive(Default)]
pub struct Cache {
    bins: Option<(DataId, [u32; BINS])>,
    kept: Option<((DataId, Cut), usize)>,
    reached: Option<((DataId, Cut), Vec<TargetRays>)>,
}

impl Cache {
    /// Measures of all rays, before the cut, over the range.
    pub fn bins(&mut self, rays: &RayResult) -> &[u32; BINS] {
        let id = rays.all.id();
        if self.bins.as_ref().is_none_or(|(known, _)| *known != id) {
            self.bins = Some((id, bins(&rays.measures, rays.range)));
        }
        self.bins.as_ref().map_or(&[0; BINS], |(_, bins)| bins)
    }

    /// How many of all rays a cut keeps, even before the kept rays have arrived.
    pub fn kept(&mut self, rays: &RayResult, cut: Cut) -> usize {
        let key = (rays.all.id(), cut);
        match self.kept {
            Some((known, count)) if known == key => count,
            _ => {
                let count = cut.count(&rays.measures);
                self.kept = Some((key, count));
                count
            }
        }
    }

    /// One per target: of all rays those that a cut keeps, even before these have arrived; with very many rays, only
    /// those that have arrived.
    pub fn reached(
        &mut self,
        kept: &Tractogram,
        rays: &RayResult,
        cut: Cut,
        targets: usize,
    ) -> &[TargetRays] {
        const AT_ONCE: usize = 500_000;
        let use_kept = rays.cut == cut || rays.measures.len() > AT_ONCE;
        let (curves, cut) = if use_kept {
            (kept, Cut::All)
        } else {
            (&rays.all, cut)
        };
        let key = (curves.id(), cut);
        let known = self
            .reached
            .as_ref()
            .is_some_and(|(known, all)| *known == key && all.len() == targets);
        if !known {
            let marks = match use_kept {
                true => vec![true; kept.len()],
                false => cut.kept_marks(&rays.measures),
            };
            self.reached = Some((key, reached(curves, &marks, targets)));
        }
        self.reached.as_ref().map_or(&[], |(_, all)| all)
    }
}

fn bins(measures: &[f32], (low, high): (f32, f32)) -> [u32; BINS] {
    let mut bins = [0; BINS];
    for measure in measures.iter().filter(|m| m.is_finite()) {
        let bin = ((measure - low) / (high - low) * BINS as f32) as usize;
        bins[bin.min(BINS - 1)] += 1;
    }
    bins
}

fn reached(all: &Tractogram, marks: &[bool], targets: usize) -> Vec<TargetRays> {
    let values = |name: &str| all.per_streamline.get(name);
    let (Some(cm), Some(length)) = (values("cm"), values("length")) else {
        return vec![TargetRays::default(); targets];
    };
    let target_of = values("target");
    let target_rays = |target: usize| {
        // Rays that name no target have met all targets.
        let is =
            |i: &usize| marks[*i] && target_of.is_none_or(|of_ray| of_ray[*i] as usize == target);
        let here = || (0..marks.len()).filter(is);
        TargetRays {
            count: here().count() as u64,
            measure: median(&mut here().map(|i| cm[i]).collect::<Vec<_>>()),
            length_mm: median(&mut here().map(|i| length[i]).collect::<Vec<_>>()),
        }
    };
    (0..targets).map(target_rays).collect()
}

/// Remedies if no ray is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suggestion {
    WidenCone,
    MoreRays,
    ShorterLength,
    KeepAll,
    Nothing,
}

/// Why no ray is kept, with one suggestion.
pub fn nothing_kept(
    live: &CurveResult,
    rays: &Rays,
    targets: &[&str],
    mask: &str,
) -> Option<(String, Suggestion)> {
    let output = &*live.output;
    let all: u64 = output.seed_outcomes.iter().sum();
    if !output.kept.is_empty() || all == 0 {
        return None;
    }
    let count_of = |outcome: SeedOutcome| output.seed_outcomes[outcome as usize];
    if let Some(passed) = live
        .rays
        .as_ref()
        .map(|r| r.measures.len())
        .filter(|n| *n > 0)
    {
        let passed = counted(passed, "ray");
        return Some((
            format!("The cut keeps none of {passed}"),
            Suggestion::KeepAll,
        ));
    }
    let traced = counted(all as usize, "ray");
    if count_of(SeedOutcome::TooShort) > 0
        && count_of(SeedOutcome::TooShort) >= count_of(SeedOutcome::MissedTargets)
    {
        let min_length =
            format::with_unit(&format::fixed(rays.params.curves.min_length_mm, 0), "mm");
        let text = format!("0 of {traced}: those that reach it are shorter than {min_length}");
        return Some((text, Suggestion::ShorterLength));
    }
    let cutoff = match &live.key.curves {
        CurveParams::OdfRays(speed, _) => speed.min_amplitude,
        _ => None,
    };
    let text = none_passed(output, targets, mask, cutoff);
    if count_of(SeedOutcome::NoStart) == all {
        return Some((text, Suggestion::Nothing));
    }
    let remedy = match rays.params.directions {
        Directions::Cone { half_angle_rad, .. } if half_angle_rad < 1.5 => Suggestion::WidenCone,
        _ => Suggestion::MoreRays,
    };
    Some((text, remedy))
}
