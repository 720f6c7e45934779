//! Rewinding and replaying runs.

use super::{Evolution, Field, History, LeakDetector};
use crate::compute::{Backend, Control};
use crate::solvers::Error;
use crate::solvers::level_set::error::InputError;
use crate::solvers::level_set::run_history::{Ended, Event, RunHistory, ScriptEvent};
use crate::solvers::level_set::speed::{Inputs, Speeds};
use crate::solvers::level_set::start::Start;
use std::sync::Arc;

/// A run as it was before rewinding, to restore it if rewinding is stopped.
struct RunBeforeRewind {
    field: Field,
    inputs: Vec<Inputs>,
    number: usize,
    speeds: Arc<Speeds>,
    events: Vec<Event>,
    time: f64,
    inside: Vec<u64>,
    sum: i64,
    history: History,
    leak_detector: LeakDetector,
    looks: Vec<(u64, Field)>,
    watched: bool,
}

impl RunBeforeRewind {
    fn new(run: &mut Evolution) -> Result<Self, Error> {
        Ok(Self {
            field: run.field()?,
            inputs: run.inputs.clone(),
            number: run.inputs_index,
            speeds: run.speeds.clone(),
            events: run.script.events.clone(),
            time: run.time,
            inside: run.inside.clone(),
            sum: run.sum,
            history: run.history.clone(),
            leak_detector: run.leak_detector.clone(),
            // Rewinding does not use them.
            looks: std::mem::take(&mut run.rest_checks),
            watched: run.watched,
        })
    }

    /// Restores everything; it would be wrong to keep a field and not restore it.
    fn restore(self, run: &mut Evolution, backend: &Backend) -> Result<(), Error> {
        let Self {
            field,
            inputs,
            number,
            speeds,
            events,
            time,
            inside,
            sum,
            history,
            leak_detector,
            looks,
            watched,
        } = self;
        let last = inside.last().copied().unwrap_or(0);
        run.script.events = events;
        (run.inputs, run.inputs_index, run.speeds) = (inputs, number, speeds);
        (run.time, run.inside) = (time, inside);
        (run.history, run.watched) = (history, watched);
        backend.install(|| run.continue_from(&field, last, sum, backend))?;
        (run.leak_detector, run.rest_checks) = (leak_detector, looks);
        Ok(())
    }
}

impl Evolution {
    /// Returns to the state after `step` steps, equal to the run up to there to the last bit. Changes that the user
    /// made at that step or later are discarded. If stopped or unsuccessful, everything stays as it was.
    pub fn rewind(&mut self, step: u64, backend: &Backend, control: &Control) -> Result<(), Error> {
        self.rewind_to(step.min(self.step()), false, backend, control)
    }

    /// `with_changes`: keeps the changes made at that step.
    pub(super) fn rewind_to(
        &mut self,
        step: u64,
        with_changes: bool,
        backend: &Backend,
        control: &Control,
    ) -> Result<(), Error> {
        let before = RunBeforeRewind::new(self)?;
        self.watched = false;
        let gone = self.rewound(step, with_changes, backend, control);
        match &gone {
            Ok(()) => self.watched = before.watched,
            Err(_) => before.restore(self, backend)?,
        }
        gone
    }

    fn rewound(
        &mut self,
        step: u64,
        with_changes: bool,
        backend: &Backend,
        control: &Control,
    ) -> Result<(), Error> {
        let state = self.history.truncate_to(step);
        let events = std::mem::take(&mut self.script.events);
        let kept = events.into_iter().filter(|e| e.step < step || with_changes);
        // A state is stored before the user's changes at its step.
        let (done, ahead): (Vec<Event>, Vec<Event>) = kept.partition(|e| e.step < state.step);
        self.script.events = done;
        let (params, number) = self.script.params_at(state.step);
        let params = params.clone();
        self.inside.truncate(state.step as usize + 1);
        self.time = state.time;
        let field = state.field(&self.like);
        backend.install(|| {
            self.inputs_index = number;
            let (inputs, spheres) = (&self.inputs[number], self.spheres());
            self.speeds = Arc::new(Speeds::new(inputs, &params, &self.stencil, &spheres));
            self.continue_from(&field, state.inside, state.sum, backend)?;
            let contact = self.contact(&field);
            self.leak_detector = self.leak_detector.rewound(
                &self.inside,
                &self.script.events,
                contact,
                &self.like.grid,
            );
            Ok::<_, Error>(())
        })?;
        self.follow_script(&ahead, step, backend, control)?;
        // Inputs are numbered in the order in which they appear.
        let used = self.script.events.iter().map(|e| match e.event {
            ScriptEvent::Inputs(number) => number + 1,
            ScriptEvent::Params(_) | ScriptEvent::Sphere(_) => 1,
        });
        self.inputs.truncate(used.max().unwrap_or(1));
        Ok(())
    }

    /// Steps up to `step`, applying the user's changes on the way.
    fn follow_script(
        &mut self,
        events: &[Event],
        step: u64,
        backend: &Backend,
        control: &Control,
    ) -> Result<Ended, Error> {
        let mut events = events.iter().peekable();
        while let Some(event) = events.next() {
            let ended = self.run_to(event.step, backend, control)?;
            // A change may set a surface at rest in motion again.
            if !matches!(ended, Ended::Steps | Ended::Converged) {
                return Ok(ended);
            }
            match &event.event {
                ScriptEvent::Params(params) => self.set(params, backend)?,
                ScriptEvent::Sphere(sphere) => self.apply_sphere(sphere, backend)?,
                ScriptEvent::Inputs(number) => {
                    // Both at once if both were changed: either alone might stop all motion.
                    let with = |next: &&Event| {
                        next.step == event.step && matches!(next.event, ScriptEvent::Params(_))
                    };
                    let params = match events.next_if(with).map(|next| &next.event) {
                        Some(ScriptEvent::Params(params)) => params.clone(),
                        _ => self.params().clone(),
                    };
                    self.switch_inputs(*number, &params, backend)?;
                }
            }
        }
        self.run_to(step, backend, control)
    }

    /// Continues even where the surface is at rest; converged only if it comes to rest at that very step.
    fn run_to(&mut self, step: u64, backend: &Backend, control: &Control) -> Result<Ended, Error> {
        let mut ended = Ended::Steps;
        while self.step() < step {
            ended = self.run(step - self.step(), backend, control)?;
            if !matches!(ended, Ended::Steps | Ended::Converged) {
                return Ok(ended);
            }
        }
        self.leak_detector.drop_suspicion();
        Ok(ended)
    }

    /// Brings the run to the end of another script with the same start, equal to a replay to the last bit: back to where
    /// the two part, then along the other one. Returns how it ended; if stopped, the run is somewhere on this way.
    /// `inputs`: by the numbers that the other script gives them; those in use before the two part are the same.
    pub fn switch_to(
        &mut self,
        inputs: &[Inputs],
        script: &RunHistory,
        backend: &Backend,
        control: &Control,
    ) -> Result<Ended, Error> {
        script.check(inputs.len())?;
        let (own, other) = (&self.script.events, &script.events);
        let same = own.iter().zip(other).take_while(|(a, b)| a == b).count();
        let parting = own.get(same).into_iter().chain(other.get(same));
        let parting = parting.map(|event| event.step).min();
        let step = parting.map_or(script.steps, |step| step.min(script.steps));
        let step = step.min(self.step());
        self.rewind(step, backend, control)?;
        let known = self.inputs.len().min(inputs.len());
        self.inputs.extend_from_slice(&inputs[known..]);
        let ahead = script.events.iter().filter(|event| event.step >= step);
        let ahead: Vec<Event> = ahead.cloned().collect();
        let watched = std::mem::replace(&mut self.watched, false);
        let ended = self.follow_script(&ahead, script.steps, backend, control);
        self.watched = watched;
        ended
    }

    /// Repeats a run from its script and returns how it ended; `inputs`: by the numbers that the script gives them.
    pub fn replay(
        inputs: &[Inputs],
        start: &Start,
        script: &RunHistory,
        backend: &Backend,
        control: &Control,
    ) -> Result<(Self, Ended), Error> {
        script.check(inputs.len())?;
        let first = inputs.first().ok_or(InputError::NoImage)?;
        let (params, layout) = (&script.params, script.layout);
        let mut evolution = Self::new(first, start, params, layout, backend, control)?;
        evolution.inputs = inputs.to_vec();
        evolution.watched = false;
        let ended = evolution.follow_script(&script.events, script.steps, backend, control)?;
        evolution.watched = true;
        Ok((evolution, ended))
    }
}
