//! Summary of streamlines in the Track panel: lengths per bin, medians, outcomes and stop reasons as text.

use super::format;
use super::widgets::charts::{BINS, Part};
use crate::data::appearance::ColourMap;
use crate::data::statistics::median;
use crate::data::text::{counted, singular_or_plural};
use crate::data::{DataId, Mask, Region, Role, Shape, Tractogram};
use crate::scene;
use crate::solvers::curves::{Output, Params, SeedOutcome, StopReason};
use crate::state::core::ends::EndKind;
use crate::state::track::empty::{self, started_count};
use crate::state::track::types::CurveKind;
use crate::state::track::types::odf::shared_params;
use crate::state::{CurveResult, Document};
use egui::Color32;
use glam::{DVec3, Vec3};
use std::sync::Arc;

/// Lengths of a tractogram.
#[derive(Clone, PartialEq, Debug)]
pub struct Lengths {
    pub bins: [u32; BINS],
    /// mm; the first and last edge of the bins.
    pub low: f32,
    pub high: f32,
    pub median: f32,
    /// Median length of the streamlines of each target.
    pub per_target: Vec<f32>,
}

/// Caches the lengths of the tractogram last requested.
#[derive(Default)]
pub struct Cache {
    lengths: Option<(DataId, Option<Lengths>)>,
    nearest: Option<(DataId, Option<(f64, DVec3)>)>,
    remarks: Option<(DataId, Vec<RemarkKey>, Vec<Remark>)>,
}

/// Key of the remarks about a region; holds no reference to its voxels, which a brush changes in place.
#[derive(PartialEq)]
struct RemarkKey {
    name: String,
    role: Role,
    /// The data of a mask.
    mask: Option<DataId>,
    bounds: (DVec3, DVec3),
}

impl RemarkKey {
    fn is(&self, region: &Region) -> bool {
        let (mask, bounds) = Self::shape(&region.shape);
        self.role == region.role
            && self.mask == mask
            && self.bounds == bounds
            && self.name == region.name
    }

    fn shape(shape: &Shape) -> (Option<DataId>, (DVec3, DVec3)) {
        match shape {
            Shape::Mask(mask) => (Some(mask.id()), (DVec3::ZERO, DVec3::ZERO)),
            shape => (None, shape.bounds()),
        }
    }
}

impl Cache {
    /// Smallest distance from a target of the drawn streamlines that missed it, mm, and where. Targets that are masks
    /// are left out: finding the nearest voxel would take too long.
    pub fn nearest(&mut self, live: &CurveResult) -> Option<(f64, DVec3)> {
        let missed = &live.output.missed;
        // The distance follows once the host has the points.
        if !missed.points.is_on_host() {
            return None;
        }
        match self.nearest {
            Some((known, nearest_point)) if known == missed.id() => nearest_point,
            _ => {
                let nearest_point = nearest(missed, &live.key.regions);
                self.nearest = Some((missed.id(), nearest_point));
                nearest_point
            }
        }
    }

    /// Like [`remarks`]; recomputed when the regions change.
    pub fn remarks(&mut self, regions: &[Arc<Region>], mask: &Mask, whose: &str) -> &[Remark] {
        let known = self.remarks.as_ref().is_some_and(|(id, known, _)| {
            *id == mask.id()
                && known.len() == regions.len()
                && known.iter().zip(regions).all(|(k, r)| k.is(r))
        });
        if !known {
            let key = |region: &Arc<Region>| {
                let (mask, bounds) = RemarkKey::shape(&region.shape);
                let (name, role) = (region.name.clone(), region.role);
                RemarkKey {
                    name,
                    role,
                    mask,
                    bounds,
                }
            };
            let remarks = remarks(regions, mask, whose);
            self.remarks = Some((mask.id(), regions.iter().map(key).collect(), remarks));
        }
        self.remarks.as_ref().map_or(&[], |(.., remarks)| remarks)
    }

    pub fn lengths(&mut self, tractogram: &Tractogram, targets: usize) -> Option<&Lengths> {
        let known = self
            .lengths
            .as_ref()
            .is_some_and(|(id, _)| *id == tractogram.id());
        if !known {
            self.lengths = Some((tractogram.id(), lengths(tractogram, targets)));
        }
        let lengths = self.lengths.as_ref();
        lengths.and_then(|(_, lengths)| lengths.as_ref())
    }
}

fn nearest(missed: &Tractogram, regions: &[Region]) -> Option<(f64, DVec3)> {
    let targets = regions.iter().filter(|r| r.role == Role::Target);
    let from_target = |target: &Region| {
        let to = |point: &[f32; 3]| {
            let point = Vec3::from(*point).as_dvec3();
            let mm = match &*target.shape {
                Shape::Sphere { centre, radius_mm } => point.distance(*centre) - radius_mm,
                Shape::Box { centre, half_mm } => ((point - *centre).abs() - *half_mm)
                    .max(DVec3::ZERO)
                    .length(),
                Shape::Mask(_) => return None,
            };
            Some((mm.max(0.0), point))
        };
        let all = missed.points.iter().filter_map(to);
        all.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let each = targets.filter_map(from_target);
    each.min_by(|a, b| a.0.total_cmp(&b.0))
}

fn lengths(tractogram: &Tractogram, targets: usize) -> Option<Lengths> {
    let given = tractogram.per_streamline.get("length");
    let all: Vec<f32> = match given {
        Some(values) => values.to_vec(),
        None => (0..tractogram.len())
            .map(|i| tractogram.length_mm(i))
            .collect(),
    };
    let finite = || all.iter().copied().filter(|l| l.is_finite());
    let (shortest, longest) =
        finite().fold((f32::INFINITY, 0f32), |(l, h), v| (l.min(v), h.max(v)));
    if shortest > longest {
        return None;
    }
    // Ends on whole centimetres, so that they do not jump while a region is dragged.
    let low = (shortest / 10.0).floor() * 10.0;
    let high = ((longest / 10.0).ceil() * 10.0).max(low + 10.0);
    let mut bins = [0u32; BINS];
    for length in finite() {
        let bin = ((length - low) / (high - low) * BINS as f32) as usize;
        bins[bin.min(BINS - 1)] += 1;
    }
    let of_target = tractogram.per_streamline.get("target");
    let per_target = (0..targets)
        .map(|target| {
            let Some(of_target) = of_target else {
                // Every streamline has met every target.
                return median(&mut all.clone());
            };
            let here = of_target.iter().zip(&all);
            let here = here.filter(|(t, _)| **t as usize == target);
            let mut here: Vec<f32> = here.map(|(_, l)| *l).collect();
            median(&mut here)
        })
        .collect();
    let median = median(&mut finite().collect::<Vec<_>>());
    Some(Lengths {
        bins,
        low,
        high,
        median,
        per_target,
    })
}

fn count_of(output: &Output, outcome: SeedOutcome) -> u64 {
    output.seed_outcomes[outcome as usize]
}

/// `450 of 1 492 started reach a target`; `rays` are named, streamlines are not.
pub fn headline(output: &Output, rays: bool, targets: bool) -> String {
    let kept = count_of(output, SeedOutcome::Kept);
    let reach = singular_or_plural(kept as usize, "reaches", "reach");
    let verb = match (targets, output.kept.per_streamline.contains_key("target")) {
        (true, true) => format!("{reach} a target"),
        (true, false) if !output.kept.is_empty() => format!("{reach} all targets"),
        (true, false) => format!("{reach} their targets"),
        // The cut decides which rays are kept.
        _ => {
            let verb = if rays { "accepted" } else { "kept" };
            format!("{} {verb}", singular_or_plural(kept as usize, "is", "are"))
        }
    };
    let kept = format::count(kept);
    let what = if rays { "rays " } else { "" };
    let started = format::count(started_count(output));
    format!("{kept} of {started} started {what}{verb}")
}

/// Outcomes of the others: `561 too short, 12 missed the targets`; empty if all were kept. [`rejected`] has those of
/// anatomical rules. `reported`: outcomes that are shown elsewhere.
pub fn dropped(output: &Output, reported: &[SeedOutcome]) -> String {
    let text = [
        (SeedOutcome::MissedTargets, "missed the targets"),
        (SeedOutcome::MissedInclude, "missed an include region"),
        (SeedOutcome::TouchedExclude, "touched an exclude region"),
        (SeedOutcome::TooShort, "too short"),
        (SeedOutcome::NoStart, "not started"),
    ];
    let message = text
        .into_iter()
        .filter(|(f, _)| count_of(output, *f) > 0 && !reported.contains(f));
    message
        .map(|(f, reason)| {
            let number = count_of(output, f);
            match f {
                SeedOutcome::NoStart => format!("{} {reason}", counted(number as usize, "seed")),
                _ => format!("{} {reason}", format::count(number)),
            }
        })
        .collect::<Vec<_>>()
        .join(", ")
}

/// The parameters of the document's curves that texts name.
pub fn params(document: &Document) -> Params {
    match document.track.kind() {
        CurveKind::Streamlines => document.track.streamlines.clone(),
        CurveKind::Rays => document.track.rays.params.curves.clone(),
        CurveKind::OdfRays => document.track.odf.rays.rays.params.curves.clone(),
        CurveKind::OdfStreamlines => shared_params(&document.odf_params()),
    }
}

/// How many streamlines the anatomical rules rejected, as a sentence; `None` if they rejected none.
pub fn rejected(output: &Output) -> Option<String> {
    let [csf, white] =
        [SeedOutcome::EndsInCsf, SeedOutcome::EndsInWhite].map(|o| count_of(output, o));
    let streamlines = |n: u64| counted(n as usize, "streamline");
    Some(match (csf, white) {
        (0, 0) => return None,
        (n, 0) => format!(
            "The anatomical rules rejected {} that ended in CSF",
            streamlines(n)
        ),
        (0, n) => format!(
            "The anatomical rules rejected {} that ended in white matter",
            streamlines(n)
        ),
        (csf, white) => format!(
            "The anatomical rules rejected {} that ended in CSF and {} that ended in white matter",
            streamlines(csf),
            format::count(white)
        ),
    })
}

/// Remedies if no streamline is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suggestion {
    LowerFa,
    ShorterLength,
    LoosenAngle,
    /// Along distributions.
    LowerCutoff,
    Nothing,
}

/// Why no streamline is kept, with one suggestion.
pub fn nothing_kept(output: &Output, params: &Params, mask: &str) -> Option<(String, Suggestion)> {
    let (sentence, worst) = empty::none_kept(output, params, mask)?;
    // No limit helps seeds that lie elsewhere.
    let by_fa = output.starts.is_none_or(|s| {
        let elsewhere = s.outside_volume + s.outside_mask + s.outside_regions;
        s.low_fa > elsewhere
    });
    let by_amplitude = output.starts.is_some_and(|s| {
        let failed: u64 = s.failed().iter().map(|(_, seeds)| seeds).sum();
        2 * s.low_amplitude > failed
    });
    let remedy = match worst {
        SeedOutcome::MissedTargets | SeedOutcome::MissedInclude => Suggestion::LoosenAngle,
        SeedOutcome::TooShort => Suggestion::ShorterLength,
        SeedOutcome::EndsInWhite => Suggestion::LowerCutoff,
        SeedOutcome::NoStart if params.min_fa.is_some() && by_fa => Suggestion::LowerFa,
        SeedOutcome::NoStart if by_amplitude => Suggestion::LowerCutoff,
        _ => Suggestion::Nothing,
    };
    Some((sentence, remedy))
}

/// A warning about regions that needs no tracking.
#[derive(Clone, PartialEq, Debug)]
pub struct Remark {
    pub text: String,
    /// The centre of a region outside the mask.
    pub outside_at: Option<DVec3>,
}

/// Regions outside the mask, and targets that overlap a seed; one sentence each. `whose` names the mask.
pub fn remarks(regions: &[Arc<Region>], mask: &Mask, whose: &str) -> Vec<Remark> {
    let with_role = |role: Role| regions.iter().filter(move |r| r.role == role);
    let out = |r: &Arc<Region>, then: &str| {
        // A region outside the image is also outside its mask; the sentence names the image.
        let place = match r.shape.intersects_grid(&mask.grid) {
            true => whose,
            false => "the scan",
        };
        Remark {
            text: format!("{} lies outside {place}: {then}", r.name),
            outside_at: Some(r.shape.centre()),
        }
    };
    let seeds = with_role(Role::Seed).filter(|r| !r.shape.touches(mask));
    let seeds = seeds.map(|r| out(r, "nothing starts there"));
    let pairs = with_role(Role::Target).flat_map(|t| with_role(Role::Seed).map(move |s| (t, s)));
    let meet = pairs.filter(|(t, s)| t.shape.overlaps(&s.shape));
    let meet = meet.map(|(t, s)| Remark {
        text: format!(
            "{} overlaps {}: streamlines that start in the overlap have no length",
            t.name, s.name
        ),
        outside_at: None,
    });
    let passed = regions
        .iter()
        .filter(|r| matches!(r.role, Role::Target | Role::Include));
    let passed = passed.filter(|r| !r.shape.touches(mask));
    let passed = passed.map(|r| out(r, "nothing can reach it"));
    seeds.chain(passed).chain(meet).collect()
}

/// Ends of streamlines by stop reason, most important first; only the reasons that occur, and the chosen one.
pub fn stops(
    output: &Output,
    params: &Params,
    chosen: Option<StopReason>,
) -> Vec<Part<StopReason>> {
    let fa = params.min_fa.map_or("FA too low".to_owned(), |v| {
        format!("FA below {}", format::fixed(v, 2))
    });
    let angle = params
        .max_angle_rad
        .map_or("Angle too large".to_owned(), |a| {
            format!("Angle above {}°", format::fixed(a.to_degrees(), 0))
        });
    let name = |reason: StopReason| match reason {
        StopReason::LowFa => fa.clone(),
        StopReason::Angle => angle.clone(),
        _ => reason.label().to_owned(),
    };
    // The reason of streamlines that end at their seed is left out.
    [
        StopReason::ReachedTarget,
        StopReason::LowFa,
        StopReason::Angle,
        StopReason::LeftMask,
        StopReason::LeftVolume,
        StopReason::Terminated,
        StopReason::MaxLength,
        StopReason::MaxSteps,
        StopReason::Loop,
        StopReason::Indefinite,
        StopReason::Leap,
        StopReason::LowAmplitude,
        StopReason::CorticalGrey,
        StopReason::DeepGrey,
        StopReason::BrainStem,
        StopReason::EnteredCsf,
    ]
    .into_iter()
    .map(|reason| {
        let [r, g, b] = ColourMap::STOP_COLOURS[reason as usize];
        Part {
            id: reason,
            name: name(reason),
            count: output.stops[reason as usize],
            colour: Color32::from_rgb(r, g, b),
            shape: EndKind::by_reason()[reason as usize].map(scene::end_shape),
        }
    })
    .filter(|part| part.count > 0 || chosen == Some(part.id))
    .collect()
}
