//! The live run, with data that its script alone lacks: which spheres and which speeds produced it.

use crate::compute::{Backend, Control};
use crate::data::Shape;
use crate::solvers::Error;
use crate::solvers::level_set::{Ended, Evolution, Inputs};
use crate::state::segment::LeakNotice;
use crate::state::segment::jobs::{
    MeasuredField, PlacedSphere, Rewind, RunCheckpoint, RunRequest, SpeedSources, SurfaceStatistics,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) struct Run {
    pub evolution: Evolution,
    /// Initial spheres.
    pub start: Vec<PlacedSphere>,
    /// Spheres placed since, each with its step.
    pub placed: Vec<(PlacedSphere, u64)>,
    /// Inputs of the speed, by the numbers of the script.
    pub speed_sources: Vec<SpeedSources>,
    /// Number of the last rewind done.
    pub last_rewind: u64,
    pub ended: Ended,
    /// The steps at which it has come to rest.
    pub rests: Vec<u64>,
    pub leak: Option<LeakNotice>,
    pub steps_per_s: f64,
    pub figures: Option<SurfaceStatistics>,
    /// The precision of the distances from other structures in `figures`, mm; `None` while these have neither distances nor
    /// the agreement with the reference.
    pub compared_to_mm: Option<f64>,
    /// When those were computed, and how long that took.
    pub figured: Option<(Instant, Duration)>,
    /// Whether its speeds have changed since.
    pub is_changed: bool,
    /// The last fetched field.
    pub looked: Option<MeasuredField>,
}

/// Shortest interval between statistics of a moving surface, which take at most a fifth of the time.
const FIGURES: Duration = Duration::from_millis(250);
const FIGURES_SHARE: u32 = 5;
/// After a change of its speeds the next statistics are computed at once; in a drag, they take at most half of the time.
const CHANGED_SHARE: u32 = 2;

impl Run {
    pub fn new(
        evolution: Evolution,
        start: Vec<PlacedSphere>,
        speed_sources: Vec<SpeedSources>,
        back: Option<Rewind>,
    ) -> Self {
        Self {
            evolution,
            start,
            placed: Vec::new(),
            speed_sources,
            last_rewind: back.map_or(0, |b| b.number),
            ended: Ended::Steps,
            rests: Vec::new(),
            leak: None,
            steps_per_s: 0.0,
            figures: None,
            compared_to_mm: None,
            figured: None,
            is_changed: false,
            looked: None,
        }
    }

    /// Whether statistics of the moving surface are due.
    pub fn is_due(&self) -> bool {
        self.figured.is_none_or(|(last, took)| {
            let since = last.elapsed();
            let is_regular = since > FIGURES && since > took * FIGURES_SHARE;
            is_regular || self.is_changed && since > took * CHANGED_SHARE
        })
    }

    /// Whether another run begins like this one: from these spheres and, as far as both have used any, with the same
    /// speeds.
    pub fn begins_as(
        &self,
        resume: &RunCheckpoint,
        start: &[PlacedSphere],
        speed_sources: &[SpeedSources],
    ) -> bool {
        let script = self.evolution.script();
        let mut sources = self.speed_sources.iter().zip(speed_sources);
        self.start == start
            && (&script.params, script.layout) == (&resume.script.params, resume.script.layout)
            && sources.all(|(own, other)| own == other)
    }

    pub fn spheres(&self) -> Vec<PlacedSphere> {
        let placed = self.placed.iter().map(|(sphere, _)| sphere);
        self.start.iter().chain(placed).copied().collect()
    }

    /// Drops the comparisons of the surface with other structures; the measures of the surface itself stay.
    pub fn forget_comparisons(&mut self) {
        self.compared_to_mm = None;
        if let Some(figures) = &mut self.figures {
            figures.agreement = None;
            figures.distances.clear();
        }
    }

    /// Inputs with these sources, if it has used them before.
    pub fn inputs_of(&self, speed_sources: &SpeedSources) -> Option<Inputs> {
        let number = self
            .speed_sources
            .iter()
            .position(|own| own == speed_sources)?;
        self.evolution.all_inputs().get(number).cloned()
    }

    /// Returns the field of the present step if `fresh`, otherwise the one fetched last; a surface that has not moved
    /// reuses its field. Includes the voxels inside if `wants_shape`.
    pub fn measured(
        &mut self,
        fresh: bool,
        wants_shape: bool,
        backend: &Backend,
    ) -> Result<MeasuredField, Error> {
        let step = self.evolution.step();
        // Between measurements only the bricks are fetched.
        let usable = |looked: &MeasuredField| looked.step == step || !fresh;
        let mut measured = match self.looked.take().filter(usable) {
            Some(looked) => looked,
            None => MeasuredField {
                field: Arc::new(self.evolution.field()?),
                step,
                shape: None,
            },
        };
        if measured.shape.is_none() && wants_shape {
            let mask = backend.install(|| measured.field.mask());
            measured.shape = Some(Arc::new(Shape::Mask(mask)));
        }
        self.looked = Some(measured.clone());
        Ok(measured)
    }

    /// Whether its speeds need no change; `inputs`: the requested ones.
    pub fn is_moved_by(&self, requested: &RunRequest, inputs: &Inputs) -> bool {
        *self.evolution.params() == requested.params && self.evolution.inputs().is(inputs)
    }

    /// Sets the requested speeds, from the next step on.
    pub fn change_speeds(
        &mut self,
        requested: &RunRequest,
        inputs: &Inputs,
        backend: &Backend,
    ) -> Result<(), Error> {
        self.is_changed |= !self.is_moved_by(requested, inputs);
        let params = &requested.params;
        self.evolution.set_inputs(inputs, params, backend)?;
        if self.evolution.all_inputs().len() > self.speed_sources.len() {
            self.speed_sources.push(requested.speed_sources.clone());
        }
        Ok(())
    }

    /// Rewinds to the state after this many steps; spheres placed then or later are dropped. If it is cancelled,
    /// nothing changes.
    pub fn rewind(&mut self, step: u64, backend: &Backend, control: &Control) -> Result<(), Error> {
        self.evolution.rewind(step, backend, control)?;
        self.speed_sources
            .truncate(self.evolution.all_inputs().len());
        self.placed.retain(|(_, at)| *at < step);
        self.leak = None;
        // The rate belonged to the abandoned branch.
        self.steps_per_s = 0.0;
        self.forget();
        self.rests.retain(|rest| *rest <= step);
        if self.rests.contains(&step) {
            self.ended = Ended::Converged;
        }
        Ok(())
    }

    /// The statistics belonged to another surface.
    pub fn forget(&mut self) {
        self.figures = None;
        self.figured = None;
        self.looked = None;
        self.ended = Ended::Steps;
    }
}
