//! A run in the hand, with what a script alone does not say: by which spheres and which speeds it came about.

use crate::compute::{Backend, Control};
use crate::solvers::Error;
use crate::solvers::level_set::{Ended, Evolution, Field, Inputs};
use crate::state::segment::jobs::{
    LeakNotice, PlacedSphere, Rewind, RunRequest, SpeedSources, SurfaceStatistics,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) struct Run {
    pub evolution: Evolution,
    /// Spheres of the start.
    pub start: Vec<PlacedSphere>,
    /// Those placed since, and after how many steps.
    pub placed: Vec<(PlacedSphere, u64)>,
    /// What gave speeds, by the numbers of the script.
    pub speed_sources: Vec<SpeedSources>,
    /// The last way back that was gone.
    pub back: u64,
    pub ended: Ended,
    pub leak: Option<LeakNotice>,
    pub steps_per_s: f64,
    pub figures: Option<SurfaceStatistics>,
    /// Whether `figures` hold the distances to other structures and the agreement with the reference.
    pub compared: bool,
    /// When those were made, and how long that took.
    pub figured: Option<(Instant, Duration)>,
    /// The field that was last fetched, and after how many steps.
    pub looked: Option<(Arc<Field>, u64)>,
}

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
            back: back.map_or(0, |b| b.number),
            ended: Ended::Steps,
            leak: None,
            steps_per_s: 0.0,
            figures: None,
            compared: false,
            figured: None,
            looked: None,
        }
    }

    pub fn spheres(&self) -> Vec<PlacedSphere> {
        let placed = self.placed.iter().map(|(hand, _)| hand);
        self.start.iter().chain(placed).copied().collect()
    }

    /// Drops the comparisons of the surface with other structures; the measures of the surface itself stay.
    pub fn forget_comparisons(&mut self) {
        self.compared = false;
        if let Some(figures) = &mut self.figures {
            figures.agreement = None;
            figures.near.clear();
        }
    }

    /// Where it has moved in the same before.
    pub fn inputs_of(&self, speed_sources: &SpeedSources) -> Option<Inputs> {
        let number = self
            .speed_sources
            .iter()
            .position(|own| own == speed_sources)?;
        self.evolution.all_inputs().get(number).cloned()
    }

    /// Whether nothing about its speeds is to change; `inputs`: what is wanted.
    pub fn is_moved_by(&self, requested: &RunRequest, inputs: &Inputs) -> bool {
        *self.evolution.params() == requested.params && self.evolution.inputs().is(inputs)
    }

    /// By the speeds that are wanted, from the next step on.
    pub fn steer(
        &mut self,
        requested: &RunRequest,
        inputs: &Inputs,
        backend: &Backend,
    ) -> Result<(), Error> {
        let params = &requested.params;
        self.evolution.change(inputs, params, backend)?;
        if self.evolution.all_inputs().len() > self.speed_sources.len() {
            self.speed_sources.push(requested.speed_sources.clone());
        }
        Ok(())
    }

    /// To the state after so many steps; spheres placed then or later are forgotten. Where somebody stops it
    /// all is as it was.
    pub fn rewind(&mut self, step: u64, backend: &Backend, control: &Control) -> Result<(), Error> {
        self.evolution.rewind(step, backend, control)?;
        self.speed_sources
            .truncate(self.evolution.all_inputs().len());
        self.placed.retain(|(_, at)| *at < step);
        self.leak = None;
        // The speed was that of the branch that is left.
        self.steps_per_s = 0.0;
        self.forget();
        Ok(())
    }

    /// Figures were of another surface.
    pub fn forget(&mut self) {
        self.figures = None;
        self.figured = None;
        self.looked = None;
        self.ended = Ended::Steps;
    }
}
