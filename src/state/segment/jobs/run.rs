//! The live level set: one run that continues from request to request.
//!
//! A request contains the whole desired state (speeds, spheres, whether it runs), so that the newest one replaces those
//! before it. The worker brings the run to this state, moves the surface in pieces, and sends an update whenever the
//! last one was taken.

use crate::compute::Control;
use crate::data::{BrickImage, Mask, Shape, Volume};
use crate::jobs::{
    Delivery, Job, JobError, Outcome, PartialSender, Receive, Slot, Unfinished, Worker,
};
use crate::solvers::level_set::{
    Agreement, Ended, Evolution, Field, InputError, Measures, Params, RunHistory, Size, Sphere,
};
use crate::state::job_end::ended;
use crate::state::segment::LeakNotice;
use crate::state::segment::jobs::run_worker::WorkerMemory;
use crate::state::segment::jobs::{Proximity, ProximityTarget, SEGMENT, SpeedSources};
use crate::state::{Effect, State, segment};
use glam::DVec3;
use std::sync::Arc;

pub(super) type RunSender<'a> = PartialSender<'a, Box<RunUpdate>>;

/// A sphere placed by the user, with its number.
pub type PlacedSphere = (u64, Sphere);

/// The target of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunControl {
    Rest,
    /// Up to this many steps since its start.
    Until(u64),
    /// Until the surface converges, vanishes or leaks.
    Run,
}

/// Rewinds to the state after this many steps, once for each number; has no effect beyond the present step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rewind {
    pub number: u64,
    pub step: u64,
}

/// Progress of a run in another window or on another backend.
#[derive(Clone, PartialEq, Debug)]
pub struct RunCheckpoint {
    pub script: RunHistory,
    /// All spheres in the surface, initial ones first. The document may have others by the time it is restored.
    pub spheres: Vec<PlacedSphere>,
    /// The numbers of those placed since the start, each with the step after which it was placed.
    pub placed: Vec<(u64, u64)>,
    /// Inputs of the speed, by the numbers of the script; empty: the present ones.
    pub speed_sources: Vec<SpeedSources>,
    /// The leak at which it was paused.
    pub leak: Option<LeakNotice>,
    /// How it ended: at rest, or just before no surface was left or nothing lay outside it. `None` if a replay is to
    /// find out.
    pub ended: Option<Ended>,
    /// Images of a speed that the fit of the opened session has not added yet; their sources have no image until then.
    pub awaited: Vec<AwaitedSpeedImage>,
}

/// A map of the fit, for the speed sources with this number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AwaitedSpeedImage {
    pub source: usize,
    pub layer: u64,
    pub frame: usize,
}

/// Initial surface before any spheres are added.
#[derive(Clone, Debug)]
pub enum InitialSurface {
    Nothing,
    Mask(Mask),
    /// Voxels with values in this range.
    Values {
        low: f32,
        high: f32,
    },
    /// Voxels connected to a world point whose values differ by at most this much from the value there.
    Filled {
        point: DVec3,
        tolerance: f32,
    },
}

impl PartialEq for InitialSurface {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nothing, Self::Nothing) => true,
            (Self::Mask(a), Self::Mask(b)) => a.id() == b.id(),
            (Self::Values { low, high }, Self::Values { low: l, high: h }) => (low, high) == (l, h),
            (
                Self::Filled { point, tolerance },
                Self::Filled {
                    point: a,
                    tolerance: w,
                },
            ) => (point, tolerance) == (a, w),
            _ => false,
        }
    }
}

/// The desired state of a run.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// A new number starts a new run.
    pub run: u64,
    pub image: Volume,
    pub frame: usize,
    pub origin: InitialSurface,
    pub speed_sources: SpeedSources,
    pub params: Params,
    pub spheres: Vec<PlacedSphere>,
    /// Progress to restore for a run that does not exist yet.
    pub resume: Option<Arc<RunCheckpoint>>,
    pub rewind: Option<Rewind>,
    pub play: RunControl,
    /// Whether a leak ends it.
    pub watched: bool,
    /// Steps per update; `None`: as many as fit.
    pub steps_per_update: Option<u64>,
    pub reference: Option<Mask>,
    /// Whether the speeds are shown, too.
    pub speed: bool,
    /// Objects whose distances are measured.
    pub proximity_targets: Vec<ProximityTarget>,
    /// Distance from the surface within which the voxels of pathways are counted, mm.
    pub margin_mm: f64,
    /// Whether the voxels inside a moving surface are requested, too.
    pub shape: bool,
}

impl RunRequest {
    pub(super) fn same_image(&self, other: &Self) -> bool {
        self.image.id() == other.image.id() && self.frame == other.frame
    }

    /// Whether both requests belong to the same run.
    pub(super) fn same_run(&self, other: &Self) -> bool {
        self.same_image(other) && self.run == other.run && self.origin == other.origin
    }
}

impl PartialEq for RunRequest {
    fn eq(&self, other: &Self) -> bool {
        let reference = |request: &Self| request.reference.as_ref().map(Mask::id);
        self.same_run(other)
            && self.speed_sources == other.speed_sources
            && self.params == other.params
            && self.spheres == other.spheres
            && (self.rewind, self.play, self.watched) == (other.rewind, other.play, other.watched)
            && (self.steps_per_update, self.speed) == (other.steps_per_update, other.speed)
            && reference(self) == reference(other)
            && self.proximity_targets == other.proximity_targets
            && (self.margin_mm, self.shape) == (other.margin_mm, other.shape)
    }
}

/// Progress of the run.
#[derive(Clone, Debug)]
pub struct RunUpdate {
    pub run: u64,
    /// Voxels of the image without a value.
    pub missing: usize,
    /// The requested speeds.
    pub speed: Option<Volume>,
    /// Spheres that could not be placed, and why; the surface is unchanged.
    pub refused: Vec<(u64, String)>,
    /// `None` while there is no initial surface.
    pub surface: Option<SurfaceUpdate>,
}

/// The field of a surface at one of its steps. It stays the same allocation as long as the surface does not move.
#[derive(Clone, Debug)]
pub struct MeasuredField {
    pub field: Arc<Field>,
    pub step: u64,
    /// The voxels inside: known at rest, and while moving if they are requested.
    pub shape: Option<Arc<Shape>>,
}

/// A surface with its statistics.
#[derive(Clone, Debug)]
pub struct SurfaceUpdate {
    /// Number of its run.
    pub run: u64,
    /// Number of the last rewind done.
    pub last_rewind: u64,
    /// The surface to draw.
    pub bricks: BrickImage,
    /// The field when it was last measured; at rest, the present one.
    pub measured: MeasuredField,
    /// φ around the surface, once it rests.
    pub phi: Option<Volume>,
    /// The voxels inside, once it rests.
    pub mask: Option<Mask>,
    pub step: u64,
    /// The history so far.
    pub script: RunHistory,
    /// Inputs of the speed, by the numbers of the script.
    pub speed_sources: Vec<SpeedSources>,
    /// All spheres in it, initial ones first.
    pub spheres: Vec<PlacedSphere>,
    /// The steps after which spheres were placed since the start.
    pub placed: Vec<(u64, u64)>,
    pub ended: Ended,
    pub leak: Option<LeakNotice>,
    /// Number of voxels inside by step, thinned out.
    pub growth: Vec<(u64, u64)>,
    /// Relative growth in the last hundred steps; `None` before.
    pub recent_growth: Option<f64>,
    pub inside: u64,
    pub size: Size,
    pub steps_per_s: f64,
    pub figures: Option<SurfaceStatistics>,
}

impl LeakNotice {
    /// The leak of a run, if it ended because of one.
    pub fn from_run(evolution: &Evolution, now: &Field, ended: Ended) -> Option<Self> {
        let Ended::Leaked(leak) = ended else {
            return None;
        };
        let voxel_mm3 = now.grid.world_from_voxel.matrix3.determinant().abs();
        let was = evolution.growth().get(leak.rewind_step as usize).copied();
        let was = was.unwrap_or(1).max(1) as f64;
        Some(Self {
            leak,
            at: evolution.passage(leak.rewind_step, now),
            before_ml: was * voxel_mm3 * 1e-3,
            grown: evolution.inside().1 as f64 / was - 1.0,
        })
    }
}

/// Statistics that take a while to compute.
#[derive(Clone, Debug)]
pub struct SurfaceStatistics {
    /// The step of the surface.
    pub step: u64,
    pub measures: Measures,
    /// Voxels with |φ| < 3 h.
    pub active: u64,
    pub agreement: Option<Result<Agreement, InputError>>,
    pub distances: Vec<Proximity>,
}

impl Job for RunRequest {
    type Output = Box<RunUpdate>;

    fn slot(&self) -> Slot {
        SEGMENT
    }

    fn label(&self) -> String {
        "Segmenting".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        partial: &RunSender,
    ) -> Result<Self::Output, JobError> {
        control.begin("Growing the surface", 0);
        let memory = worker.memory::<WorkerMemory>();
        let (exporter, backend) = (worker.image_exporter(), worker.backend());
        let update = memory.run(self, exporter, &backend, control, partial)?;
        Ok(Box::new(update))
    }
}

impl Receive<State> for RunRequest {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        // A newer request has replaced this one; its result gives the state of the surface.
        if state.runtime.jobs.is_replaced(SEGMENT, delivery.ticket) {
            return;
        }
        match delivery.outcome {
            Outcome::Partial(update) => segment::update::done(state, *update, false),
            _ => ended(state, self, delivery, effects, |state, update, _, _| {
                segment::update::done(state, *update, true);
            }),
        }
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        match end.sentence() {
            Some(sentence) => segment::update::failed(state, sentence),
            None => segment::update::cancelled(state),
        }
        !matches!(end, Unfinished::DeviceFailed(_))
    }
}
