//! Questions to the state about the live surface: whether it can run, whether it is current, where it goes.

use crate::data::Mask;
use crate::solvers::level_set::{Ended, Probe};
use crate::state::sampling::Sample;
use crate::state::segment::jobs::{RunControl, SurfaceUpdate};
use crate::state::segment::{RangeDoubt, SegmentFile, SurfaceStanding};
use crate::state::{Layout, State, Task};
use std::sync::Arc;

const NO_IMAGE: &str = "There is no image of numbers: open one";
const AWAITS_FIT: &str = "The saved surface awaits a map of the fit";
const NO_TARGET: &str = "Hold P and drag over the structure, or set T";
const NO_SPHERE: &str = "Press A, then click inside the structure";
/// All reasons why a surface cannot run yet.
pub const CANNOT_SEGMENT: [&str; 4] = [NO_IMAGE, AWAITS_FIT, NO_TARGET, NO_SPHERE];

/// A surface is much larger at this many times its volume at the last change, …
const MUCH_LARGER: f64 = 10.0;
/// … and the user should look at it this many steps after that change, even if it hardly grows any more.
const LONG_STEPS: u64 = 500;

/// A surface is far larger at this many times that volume, if it contains this much, ml. Measured on two heads: leaks
/// reached 32 to 765 ml, from spheres of 0.3 to 0.5 ml; both lateral ventricles and a putamen have less than 30 ml.
const FAR_LARGER: f64 = 100.0;
const FAR_LARGER_ML: f64 = 30.0;

/// How much a surface has grown since parameters and spheres last changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SizeDoubt {
    /// Many times, and it rests or the change lies many steps back.
    Larger,
    /// So much that few structures are as large.
    FarLarger,
}

/// Whether a surface has grown so much that few structures are as large; from its voxels before and now, and the volume.
pub fn is_far_larger(before: f64, inside: f64, inside_ml: f64) -> bool {
    inside >= FAR_LARGER * before && inside_ml >= FAR_LARGER_ML
}

impl State {
    /// All samples of the target structure.
    pub fn segment_sample(&self) -> Option<&Arc<Sample>> {
        let looked_at = self.runtime.segment.sample.as_ref();
        looked_at.or(self.document.segment.sample.as_ref())
    }

    /// The sample from which the present target and tolerance are; `None` once the user has set others.
    pub fn sample_of_target(&self) -> Option<&Arc<Sample>> {
        let params = &self.document.segment.settings.params;
        let is_present =
            |probe: &Probe| (probe.target, probe.tolerance) == (params.target, params.tolerance);
        self.segment_sample()
            .filter(|sample| sample.probe().is_some_and(is_present))
    }

    /// Why the surface cannot run, as a clause.
    pub fn cannot_segment(&self) -> Option<&'static str> {
        let segment = &self.document.segment;
        if self.document.awaits_surface_maps() {
            return Some(AWAITS_FIT);
        }
        if self.document.segmented_image().is_none() {
            return Some(NO_IMAGE);
        }
        if !segment.settings.target_chosen {
            return Some(NO_TARGET);
        }
        if !segment.begins() {
            return Some(NO_SPHERE);
        }
        None
    }

    /// Why the surface will not stop at the boundary of the sampled structure; if the target was changed, only whether
    /// the range reaches the background. The sample of the document decides, so undoing restores the warning, too.
    pub fn range_doubt(&self) -> Option<RangeDoubt> {
        let params = &self.document.segment.settings.params;
        let (target, tolerance) = (params.target, params.tolerance);
        let is_examined = self.runtime.segment.sample.is_none();
        let sample = self.document.segment.sample.as_ref();
        let probe = sample.filter(|_| is_examined)?.probe()?;
        let range = [target - tolerance, target + tolerance].map(f64::from);
        if probe.background_within(range) {
            return Some(RangeDoubt::Background);
        }
        if probe.target != target {
            return None;
        }
        let doubt = probe.range_doubt(range)?;
        // A user who sets another range has chosen among the tissues.
        let chosen = doubt == RangeDoubt::Mixed && probe.tolerance != tolerance;
        (!chosen).then_some(doubt)
    }

    pub fn segment_standing(&self) -> Option<SurfaceStanding> {
        let runtime = &self.runtime.segment;
        let live = runtime.live.as_ref()?;
        let requested = runtime.running && runtime.play != RunControl::Rest;
        // It may still be measured, or only its display may change.
        let rests = live.ended == Ended::Converged && self.is_moved_as_requested(live);
        Some(match live.ended {
            _ if requested && !rests => SurfaceStanding::Running,
            Ended::Leaked(_) => SurfaceStanding::Leaked,
            Ended::Vanished | Ended::Filled => SurfaceStanding::Ended,
            Ended::Converged => SurfaceStanding::Converged,
            Ended::Steps => SurfaceStanding::Paused,
        })
    }

    /// Why the user should compare the surface with the structure: it has become many times as large as it was when
    /// parameters and spheres last changed. In connected tissue of the same values that may be a leak that cannot be
    /// detected.
    pub fn surface_size_doubt(&self) -> Option<SizeDoubt> {
        let live = self.runtime.segment.live.as_ref()?;
        if matches!(
            live.ended,
            Ended::Leaked(_) | Ended::Vanished | Ended::Filled
        ) {
            return None;
        }
        let last = live.script.events.iter().map(|event| event.step).max();
        let changed = last.unwrap_or(0);
        // The plot leaves steps out: the last one before the change is smaller than the first one after it.
        let earlier = live.growth.iter().rfind(|(step, _)| *step <= changed);
        let (_, before) = *earlier.or(live.growth.first())?;
        let (before, inside) = (before as f64, live.inside as f64);
        if is_far_larger(before, inside, self.segmented_ml(live.inside)) {
            return Some(SizeDoubt::FarLarger);
        }
        // One that hardly grows any more is as large as one at rest.
        let is_doubtful = live.ended == Ended::Converged || live.step >= changed + LONG_STEPS;
        (inside >= MUCH_LARGER * before && is_doubtful).then_some(SizeDoubt::Larger)
    }

    /// Volume of this many voxels of the segmented image, ml.
    pub fn segmented_ml(&self, voxels: u64) -> f64 {
        let image = self.document.segmented_image();
        let voxel_mm3 = image.map_or(1.0, |(_, v)| {
            v.grid.world_from_voxel.matrix3.determinant().abs()
        });
        voxels as f64 * voxel_mm3 * 1e-3
    }

    /// The earlier step to which the surface is still rewinding.
    pub fn rewinding_to(&self) -> Option<u64> {
        let runtime = &self.runtime.segment;
        let live = runtime.live.as_ref().filter(|_| runtime.running)?;
        let back = runtime
            .rewind
            .filter(|back| back.number > live.last_rewind)?;
        (back.step < live.step).then_some(back.step)
    }

    /// The step to which the surface is rewound because one of its spheres was undone, moved or removed, or because the
    /// start of another one was undone.
    fn undoing_to(&self) -> Option<u64> {
        let runtime = &self.runtime.segment;
        let live = runtime.live.as_ref().filter(|_| runtime.running)?;
        let segment = &self.document.segment;
        let resume = segment.resume.as_ref().map(|resume| &resume.script);
        if let Some(script) = resume.filter(|script| **script != live.script) {
            return Some(script.steps);
        }
        let now = segment
            .spheres
            .iter()
            .map(Some)
            .chain(std::iter::repeat(None));
        let mut differs = live.spheres.iter().zip(now);
        let ((number, _), _) = differs.find(|(own, now)| Some(*own) != *now)?;
        let placed = live.placed.iter().find(|(n, _)| n == number);
        let step = placed.map_or(0, |(_, step)| *step);
        // A sphere that was placed at this very step follows the pointer.
        let is_dragged = self.history.is_open() && step == live.step;
        (live.step > 0 && !is_dragged).then_some(step)
    }

    /// The earlier step to which the surface is still going back, whatever sends it there.
    pub fn rewind_target(&self) -> Option<u64> {
        self.rewinding_to().or_else(|| self.undoing_to())
    }

    /// Whether the surface results from the current spheres and, unless it has not begun to move, parameters.
    pub(in crate::state) fn is_moved_as_requested(&self, live: &SurfaceUpdate) -> bool {
        let segment = &self.document.segment;
        let has_params = live.script.params_at(u64::MAX).0 == &self.document.surface_params();
        (live.step == 0 || has_params) && live.spheres == segment.spheres
    }

    /// Whether the surface belongs to other parameters than the document's, and is not being updated.
    pub fn surface_is_stale(&self) -> bool {
        let Some(live) = self.runtime.segment.live.as_ref() else {
            return false;
        };
        if live.step == 0 || self.segment_standing() == Some(SurfaceStanding::Running) {
            return false;
        }
        // The surface of a step that is still to be restored is another one.
        live.run != self.runtime.segment.run
            || live.script.params_at(u64::MAX).0 != &self.document.surface_params()
    }

    /// Whether speeds are shown.
    pub fn shows_speed(&self) -> bool {
        self.view.task == Task::Segment
            && (self.document.segment.settings.speed_opacity > 0.0
                || self.view.layout == Layout::SpeedComparison)
    }

    /// Files that can be written now.
    pub fn segment_files(&self) -> Vec<SegmentFile> {
        let rests = self.resting_surface().is_some();
        let own = [
            SegmentFile::Labels,
            SegmentFile::Surface,
            SegmentFile::Script,
        ]
        .into_iter()
        .filter(|_| rests);
        let kept = !self.document.surfaces.is_empty();
        own.chain(kept.then_some(SegmentFile::Structures)).collect()
    }

    /// The surface at rest, with its voxels.
    pub fn resting_surface(&self) -> Option<(&Arc<SurfaceUpdate>, &Mask)> {
        let runtime = &self.runtime.segment;
        let live = runtime.live.as_ref().filter(|_| !runtime.running)?;
        (live.run == runtime.run).then_some((live, live.mask.as_ref()?))
    }
}
