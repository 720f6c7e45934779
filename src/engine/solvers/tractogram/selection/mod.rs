//! Selects streamlines of a tractogram: by the regions they meet, by their values, and by number.
//!
//! A streamline meets a region if one of its segments does, not only if a point lies in it: a tractogram with few
//! points loses none. Regions are closed sets, masks unions of voxel boxes, as in tracking.
//!
//! Streamlines whose points are on a graphics card are tested there, by the same operations, each rounded as on the CPU.
//!
//! # Example
//!
//! Streamlines of at least 5 mm:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::Tractogram;
//! use arcuate_engine::solvers::tractogram::selection::{SelectionRules, ValueCondition, select};
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let points = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0; 3], [9.0, 0.0, 0.0]];
//! let tractogram = Tractogram::new(points, vec![0, 2, 4]);
//! let rules = SelectionRules {
//!     values: vec![ValueCondition {
//!         name: "length".to_owned(),
//!         low: 5.0,
//!         high: f32::INFINITY,
//!     }],
//!     ..SelectionRules::default()
//! };
//! let selection = select(&tractogram, &rules, &backend, &control)?;
//! assert_eq!(selection.marks, [false, true]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod edit;
mod meeting;
mod on_cards;
mod values;

pub use edit::{
    Division, Edit, Groups, Runs, SelectionOptions, apply_edits, copy_marked, copy_transformed,
};
pub use values::{NAMED_STOPS, OnImage, PointStatistic, column, means};

use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::bounding_chunks::BoundingChunks;
use crate::data::random::Stream;
use crate::data::{Region, Tractogram};
use crate::solvers::Error;
use crate::solvers::curves::StopReason;
use crate::solvers::tractogram::error::InputError;
use meeting::RegionsByRole;
use on_cards::KnownByCards;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use values::{unknown, value};

/// Rules of a selection. A streamline that fails several rules counts for the first of them, in the order of
/// [`RejectReason`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SelectionRules {
    /// The group to which they must belong.
    pub group: Option<String>,
    /// By role: through every include region, through no exclude region, through any target, with all points in the
    /// union of the mask regions. Other roles have no effect.
    pub regions: Vec<Region>,
    /// Include regions and targets must contain an end of the streamline.
    pub by_ends: bool,
    /// Limits of the tractogram's own values.
    pub values: Vec<ValueCondition>,
    /// Limits of values that are not part of the tractogram.
    pub given: Vec<StreamlineRange>,
    /// Limits of image values along the streamline.
    pub images: Vec<OnImage>,
    /// An end stopped for this reason.
    pub stop: Option<StopReason>,
    /// Keeps only those that the rules above reject.
    pub invert: bool,
    /// Largest number kept, chosen at random, and the random seed.
    pub at_most: Option<(usize, u64)>,
}

impl SelectionRules {
    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        let limits = (self.values.len(), self.given.len(), self.images.len());
        self.group.is_none()
            && self.regions.is_empty()
            && limits == (0, 0, 0)
            && self.stop.is_none()
            && !self.invert
            && self.at_most.is_none()
    }
}

/// Limits of a value per streamline, inclusive. `length` is measured (mm), whatever the tractogram states; a value
/// per point is averaged.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ValueCondition {
    /// Name of the value; `length` is always available.
    pub name: String,
    /// Least value that passes; −∞ for no limit.
    pub low: f32,
    /// Largest value that passes; +∞ for no limit.
    pub high: f32,
}

/// Limits of one value per streamline, inclusive.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamlineRange {
    /// One value per streamline; NaN passes no limits.
    pub values: Arc<[f32]>,
    /// Least value that passes.
    pub low: f32,
    /// Largest value that passes.
    pub high: f32,
}

/// The reason why a streamline is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum RejectReason {
    /// Not in the group.
    Group,
    /// A value lies outside its limits.
    Value,
    /// An image has no value along it.
    NoValue,
    /// Neither end stopped for the reason.
    Stop,
    /// Meets an exclude region.
    TouchedExclude,
    /// Meets not every include region.
    MissedInclude,
    /// Meets no target region.
    MissedTargets,
    /// Leaves the union of the mask regions.
    LeftMask,
    /// Passed every rule of an inverted selection.
    Inverted,
    /// Rejected at random to limit the number.
    Chance,
}

impl RejectReason {
    /// All reasons in the order in which they are tested.
    pub const ALL: [Self; 10] = [
        Self::Group,
        Self::Value,
        Self::NoValue,
        Self::Stop,
        Self::TouchedExclude,
        Self::MissedInclude,
        Self::MissedTargets,
        Self::LeftMask,
        Self::Inverted,
        Self::Chance,
    ];

    /// Follows a number: `561 miss an include region`.
    pub fn clause(self, count: u64) -> &'static str {
        let [singular, plural] = match self {
            Self::Group => ["is not in the group", "are not in the group"],
            Self::Value => [
                "has values beyond the limits",
                "have values beyond the limits",
            ],
            Self::NoValue => ["has no value in an image", "have no value in an image"],
            Self::Stop => ["stopped for other reasons"; 2],
            Self::TouchedExclude => ["touches an exclude region", "touch an exclude region"],
            Self::MissedInclude => ["misses an include region", "miss an include region"],
            Self::MissedTargets => ["misses the targets", "miss the targets"],
            Self::LeftMask => ["leaves the mask regions", "leave the mask regions"],
            Self::Inverted => ["passes every rule", "pass every rule"],
            Self::Chance => ["is left out by chance", "are left out by chance"],
        };
        if count == 1 { singular } else { plural }
    }
}

/// The selected streamlines.
#[derive(Clone, PartialEq, Debug)]
pub struct Selection {
    /// One mark per streamline.
    pub marks: Vec<bool>,
    /// Number of rejected streamlines, by [`RejectReason`].
    pub dropped: [u64; RejectReason::ALL.len()],
}

impl Selection {
    /// Number of marked streamlines.
    pub fn kept_count(&self) -> usize {
        self.marks.iter().filter(|m| **m).count()
    }

    /// No streamlines yet.
    pub fn empty() -> Self {
        Self {
            marks: Vec::new(),
            dropped: [0; RejectReason::ALL.len()],
        }
    }

    /// Adds the selection among the streamlines that follow.
    pub fn append(&mut self, next: &Self) {
        self.marks.extend_from_slice(&next.marks);
        for (all, own) in self.dropped.iter_mut().zip(&next.dropped) {
            *all += own;
        }
    }

    /// Keeps `max_count` of the marked ones: each draws a random number, and the lowest are kept.
    pub fn limit(&mut self, max_count: usize, seed: u64) -> Result<(), Error> {
        let kept = self.kept_count();
        if kept <= max_count {
            return Ok(());
        }
        memory::claim_for::<(f64, usize)>("The random selection", kept, 1)?;
        let mut drawn: Vec<(f64, usize)> = Vec::with_capacity(kept);
        let marked = (0..self.marks.len()).filter(|&i| self.marks[i]);
        drawn.extend(marked.map(|i| (Stream::new(seed, i as u64).uniform(), i)));
        drawn.select_nth_unstable_by(max_count, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (_, line) in &drawn[max_count..] {
            self.marks[*line] = false;
        }
        self.dropped[RejectReason::Chance as usize] += (kept - max_count) as u64;
        Ok(())
    }
}

/// Streamlines between two checks for cancellation, and per work item: few, so that all threads share a piece of a
/// file.
const CHUNK: usize = 512;

/// Applies the rules. Fails if a named value does not exist in the tractogram.
pub fn select(
    tractogram: &Tractogram,
    rules: &SelectionRules,
    backend: &Backend,
    control: &Control,
) -> Result<Selection, Error> {
    for within in &rules.values {
        if !tractogram.is_empty() && !values::has_value(tractogram, &within.name) {
            return Err(unknown(tractogram, &within.name).into());
        }
    }
    if let Some(given) = rules
        .given
        .iter()
        .find(|g| g.values.len() != tractogram.len())
    {
        let error = InputError::GivenValues {
            values: given.values.len(),
            streamlines: tractogram.len(),
        };
        return Err(error.into());
    }
    if rules.stop.is_some() && !tractogram.is_empty() && !values::has_stops(tractogram) {
        return Err(InputError::NoStops.into());
    }
    let members = rules.group.as_ref().map(|name| members(tractogram, name));
    let members = members.transpose()?;
    memory::claim_for::<Option<RejectReason>>("The selection", tractogram.len(), 3)?;
    let met = RegionsByRole::new(&rules.regions);
    control.begin("Selecting streamlines", tractogram.len() as u64);
    let on_cards = KnownByCards::find(tractogram, rules, &met, backend, control)?;
    if on_cards.is_none() {
        backend.install(|| copy_to_host(tractogram, rules))?;
        if !rules.regions.is_empty() {
            backend.install(|| compute_bounding_chunks(tractogram));
        }
    }
    let images: Vec<_> = rules.images.iter().map(OnImage::reject_reason).collect();
    let chunks = tractogram.len().div_ceil(CHUNK);
    let verdicts: Result<Vec<Vec<Option<RejectReason>>>, Cancelled> = backend.install(|| {
        (0..chunks)
            .into_par_iter()
            .map(|chunk| {
                control.check()?;
                let lines = chunk * CHUNK..((chunk + 1) * CHUNK).min(tractogram.len());
                let count = lines.len() as u64;
                let verdict = |i: usize| match &members {
                    Some(members) if !members[i] => Some(RejectReason::Group),
                    _ => match &on_cards {
                        Some(known) => {
                            let value = |nth: usize| known.value(tractogram, rules, nth, i);
                            own_reason(tractogram, rules, value, i)
                                .or_else(|| known.reject_reason(i))
                        }
                        None => reject_reason(tractogram, rules, &images, i)
                            .or_else(|| met.reject_reason(tractogram, i, rules.by_ends)),
                    },
                };
                let verdicts = lines.map(verdict).collect();
                control.advance(count);
                Ok(verdicts)
            })
            .collect()
    });
    let mut verdicts = verdicts?.concat();
    if rules.invert {
        for verdict in &mut verdicts {
            *verdict = match verdict {
                None => Some(RejectReason::Inverted),
                Some(_) => None,
            };
        }
    }
    let mut selection = Selection {
        marks: verdicts.iter().map(Option::is_none).collect(),
        ..Selection::empty()
    };
    for reason in verdicts.iter().flatten() {
        selection.dropped[*reason as usize] += 1;
    }
    if let Some((max_count, seed)) = rules.at_most {
        selection.limit(max_count, seed)?;
    }
    Ok(selection)
}

/// Computes the bounding boxes of pieces on all threads.
fn compute_bounding_chunks(tractogram: &Tractogram) {
    tractogram.pieces_by(|| {
        BoundingChunks::by(&tractogram.offsets, CHUNK, |parts| {
            let parts = parts.into_par_iter();
            parts.for_each(|part| part.fill(&tractogram.points));
        })
    });
}

/// Marks of the members of a group.
fn members(tractogram: &Tractogram, name: &str) -> Result<Vec<bool>, InputError> {
    let Some(group) = tractogram.groups.get(name) else {
        return Err(InputError::Group {
            name: name.to_owned(),
            known: tractogram.groups.keys().cloned().collect(),
        });
    };
    let mut marks = vec![false; tractogram.len()];
    for &i in group.iter() {
        if let Some(mark) = marks.get_mut(i as usize) {
            *mark = true;
        }
    }
    Ok(marks)
}

/// Copies to the host what the rules test, unless the host has it.
fn copy_to_host(tractogram: &Tractogram, rules: &SelectionRules) -> Result<(), Error> {
    if !(rules.regions.is_empty() && rules.images.is_empty()) {
        tractogram.points.on_host()?;
    }
    let mut names = rules.values.iter().map(|within| &within.name);
    names.try_for_each(|name| values::copy_for_value(tractogram, name))
}

/// The reason of the first rule that a streamline fails, apart from images and regions; `value` gives the value of the
/// nth limit.
fn own_reason(
    tractogram: &Tractogram,
    rules: &SelectionRules,
    value: impl Fn(usize) -> Option<f32>,
    line: usize,
) -> Option<RejectReason> {
    // NaN is within no limits.
    let within =
        |(nth, w): (usize, &ValueCondition)| value(nth).is_some_and(|v| w.low <= v && v <= w.high);
    let given = |g: &StreamlineRange| g.low <= g.values[line] && g.values[line] <= g.high;
    if !(rules.values.iter().enumerate().all(within) && rules.given.iter().all(given)) {
        return Some(RejectReason::Value);
    }
    let stopped = |stop| values::stopped(tractogram, line, stop);
    match rules.stop.is_some_and(|stop| !stopped(stop)) {
        true => Some(RejectReason::Stop),
        false => None,
    }
}

/// The reason of the first rule that a streamline fails, apart from regions.
fn reject_reason(
    tractogram: &Tractogram,
    rules: &SelectionRules,
    images: &[impl Fn(&[[f32; 3]]) -> Option<RejectReason>],
    line: usize,
) -> Option<RejectReason> {
    let value = |nth: usize| value(tractogram, &rules.values[nth].name, line);
    own_reason(tractogram, rules, value, line).or_else(|| {
        // Tested last, because every point is examined.
        let mut reasons = images.iter();
        reasons.find_map(|reason| reason(tractogram.streamline(line)))
    })
}
