//! A level set in the hand: one run that goes on from request to request.
//!
//! A request says all that is wanted (speeds, spheres, whether it runs), so that the newest stands for
//! those before it. The worker brings the run there, moves the surface in pieces, and shows it whenever
//! somebody has looked at the last picture.

use crate::compute::Control;
use crate::data::{BrickImage, Mask, Volume};
use crate::jobs::{
    Delivery, Job, JobError, Outcome, PartialSender, Receive, Slot, Unfinished, Worker,
};
use crate::solvers::level_set::{
    Agreement, Ended, Evolution, Field, InputError, Leak, Measures, Params, RunHistory, Size,
    Sphere,
};
use crate::state::job_end::ended;
use crate::state::segment::jobs::run_worker::WorkerMemory;
use crate::state::segment::jobs::{Proximity, ProximityTarget, SEGMENT, SpeedSources};
use crate::state::{Effect, State, segment};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) type RunSender<'a> = PartialSender<'a, Box<RunUpdate>>;

/// A sphere that a hand placed, by its number.
pub type PlacedSphere = (u64, Sphere);

/// How far a run is to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunControl {
    Rest,
    /// Up to so many steps since its start.
    Until(u64),
    /// Until the surface stands still, is gone or leaks.
    Run,
}

/// Back to the state after so many steps, once for each number; to more than there were: nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rewind {
    pub number: u64,
    pub step: u64,
}

/// How far a run was, in another window or on another backend.
#[derive(Clone, PartialEq, Debug)]
pub struct RunCheckpoint {
    pub script: RunHistory,
    /// Spheres that were placed since the start, and after how many steps.
    pub placed: Vec<(u64, u64)>,
    /// What gave speeds, by the numbers of the script; none: what is wanted now.
    pub speed_sources: Vec<SpeedSources>,
    /// The leak at which it was paused.
    pub leak: Option<LeakNotice>,
}

/// What the surface begins with, before spheres.
#[derive(Clone, Debug)]
pub enum InitialSurface {
    Nothing,
    Mask(Mask),
    /// Voxels with values from here to there.
    Values {
        low: f32,
        high: f32,
    },
    /// Voxels connected to a world point whose values are within so much of the one there.
    Filled {
        at: DVec3,
        within: f32,
    },
}

impl PartialEq for InitialSurface {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nothing, Self::Nothing) => true,
            (Self::Mask(a), Self::Mask(b)) => a.id() == b.id(),
            (Self::Values { low, high }, Self::Values { low: l, high: h }) => (low, high) == (l, h),
            (Self::Filled { at, within }, Self::Filled { at: a, within: w }) => {
                (at, within) == (a, w)
            }
            _ => false,
        }
    }
}

/// All that is wanted of a run.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// Another number begins anew.
    pub run: u64,
    pub image: Volume,
    pub frame: usize,
    pub origin: InitialSurface,
    pub speed_sources: SpeedSources,
    pub params: Params,
    pub spheres: Vec<PlacedSphere>,
    /// Where a run begins that is not there yet.
    pub resume: Option<Arc<RunCheckpoint>>,
    pub back: Option<Rewind>,
    pub play: RunControl,
    /// A leak ends it.
    pub watched: bool,
    /// Steps from picture to picture; none: as many as fit.
    pub pace: Option<u64>,
    pub reference: Option<Mask>,
    /// The speeds are looked at, too.
    pub speed: bool,
    /// Distances to these are measured.
    pub things: Vec<ProximityTarget>,
}

impl RunRequest {
    pub(super) fn same_image(&self, other: &Self) -> bool {
        self.image.id() == other.image.id() && self.frame == other.frame
    }

    /// Whether a run of the one is one of the other.
    pub(super) fn same_run(&self, other: &Self) -> bool {
        self.same_image(other) && self.run == other.run && self.origin == other.origin
    }
}

impl PartialEq for RunRequest {
    fn eq(&self, other: &Self) -> bool {
        let reference = |of: &Self| of.reference.as_ref().map(Mask::id);
        self.same_run(other)
            && self.speed_sources == other.speed_sources
            && self.params == other.params
            && self.spheres == other.spheres
            && (self.back, self.play, self.watched) == (other.back, other.play, other.watched)
            && (self.pace, self.speed) == (other.pace, other.speed)
            && reference(self) == reference(other)
            && self.things == other.things
    }
}

/// How it stands.
#[derive(Clone, Debug)]
pub struct RunUpdate {
    pub run: u64,
    /// Voxels of the image without a value.
    pub missing: usize,
    /// Of the speeds that were asked for.
    pub speed: Option<Volume>,
    /// Spheres that were not placed, and why; the surface is as it was.
    pub refused: Vec<(u64, String)>,
    /// None while there is nothing to begin with.
    pub surface: Option<SurfaceUpdate>,
}

/// A surface and what is said about it.
#[derive(Clone, Debug)]
pub struct SurfaceUpdate {
    /// Of this run.
    pub run: u64,
    /// The last way back that it went.
    pub back: u64,
    /// As it is drawn.
    pub bricks: BrickImage,
    /// As it was when it was last measured; at rest, as it is.
    pub field: Arc<Field>,
    /// After how many steps that was.
    pub field_step: u64,
    /// φ around the surface, once it rests.
    pub phi: Option<Volume>,
    /// Of the voxels inside, once it rests.
    pub mask: Option<Mask>,
    pub step: u64,
    /// What was done so far.
    pub script: RunHistory,
    /// What gave speeds, by the numbers of the script.
    pub speed_sources: Vec<SpeedSources>,
    /// All spheres that are in it, those of the start first.
    pub spheres: Vec<PlacedSphere>,
    /// The steps after which spheres were placed since the start.
    pub placed: Vec<(u64, u64)>,
    pub ended: Ended,
    pub leak: Option<LeakNotice>,
    /// Voxels inside by steps, thinned out.
    pub growth: Vec<(u64, u64)>,
    pub inside: u64,
    pub size: Size,
    pub steps_per_s: f64,
    pub figures: Option<SurfaceStatistics>,
}

/// A leak, and where.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LeakNotice {
    pub leak: Leak,
    /// World mm: where most of what is new came through.
    pub at: Option<DVec3>,
    /// Volume before.
    pub before_ml: f64,
    /// Share of the voxels inside before.
    pub grown: f64,
}

impl LeakNotice {
    /// Where a run leaked, if it ended by that.
    pub fn of(evolution: &Evolution, now: &Field, ended: Ended) -> Option<Self> {
        let Ended::Leaked(leak) = ended else {
            return None;
        };
        let voxel_mm3 = now.grid.world_from_voxel.matrix3.determinant().abs();
        let was = evolution.growth().get(leak.from as usize).copied();
        let was = was.unwrap_or(1).max(1) as f64;
        Some(Self {
            leak,
            at: evolution.passage(leak.from, now),
            before_ml: was * voxel_mm3 * 1e-3,
            grown: evolution.inside().1 as f64 / was - 1.0,
        })
    }
}

/// What takes a while to know.
#[derive(Clone, Debug)]
pub struct SurfaceStatistics {
    /// Of the surface after so many steps.
    pub step: u64,
    pub measures: Measures,
    /// Voxels with |φ| < 3 h.
    pub active: u64,
    pub agreement: Option<Result<Agreement, InputError>>,
    pub near: Vec<Proximity>,
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
        control.begin("Steering the surface", 0);
        let memory = worker.memory::<WorkerMemory>();
        let (lend, backend) = (worker.image_exporter(), worker.backend());
        let update = memory.steer(self, lend, &backend, control, partial)?;
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
            None => segment::update::stopped(state),
        }
        !matches!(end, Unfinished::DeviceFailed(_))
    }
}
