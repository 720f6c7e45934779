//! `arcuate bench live`: the time from a moved control to the figures that follow it.
//!
//! The state of the window runs without drawing on the built-in head: its pathway between a sphere in the posterior limb
//! of the internal capsule and one below the motor cortex.
//!
//! - `region of …`: a seed or target moves by 0.5 mm. `wall_s`: until a result of the new regions is shown, with less
//!   detail where the backend cannot compute all of it within a frame; `final_s`: until the full one, once the pointer
//!   rests.

use super::bench::Choice;
use crate::compute::Backend;
use crate::data::statistics::quantile;
use crate::data::{Role, Shape};
use crate::jobs::{JobHandle, Jobs};
use crate::state::pathways::{PathwayAction, PathwayKey, PathwayResult};
use crate::state::track::types::odf::Model;
use crate::state::{
    Action, Effect, Phase, RegionAction, State, Task, TensorAction, TrackAction, ViewAction, update,
};
use glam::{DVec3, dvec3};
use serde_json::{Value, json};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SEED: (DVec3, f64) = (dvec3(-24.0, -18.0, 8.0), 6.0);
const TARGET: (DVec3, f64) = (dvec3(-30.0, -22.0, 58.0), 9.0);
/// A result that takes longer counts as an error.
const PATIENCE: Duration = Duration::from_secs(120);

/// Measures this many repeats; returns `wall_s` and `final_s`.
type Measure = fn(&mut Window, usize) -> Result<[f64; 2], String>;

const CASES: [(&str, Measure); 4] = [
    ("region of streamlines", streamlines),
    ("region of streamlines along distributions", odf_streamlines),
    ("region of a pathway", pathway),
    ("region of a pathway through crossings", lifted_pathway),
];

/// One JSON object per case.
pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let mut cases = CASES.iter().filter(|case| choice.takes(case.0)).peekable();
    if cases.peek().is_none() {
        return Vec::new();
    }
    let window = Window::with_pathway(backend);
    let mut window = match window {
        Ok(window) => window,
        Err(error) => return vec![json!({"workload": "live", "error": error})],
    };
    let repeats = if choice.quick { 6 } else { 21 };
    let mut line = |&(name, case): &(&str, Measure)| {
        let workload = format!("live {name}");
        match case(&mut window, repeats) {
            Ok([wall_s, final_s]) => json!({
                "workload": workload,
                "size": { "repeats": repeats - 1 },
                "rate": 1.0 / wall_s,
                "unit": "results_per_s",
                "wall_s": wall_s,
                "final_s": final_s,
                "backend": backend.name(),
                "detail": backend.detail(),
                "threads": backend.threads(),
            }),
            Err(error) => json!({"workload": workload, "error": error}),
        }
    };
    cases.map(&mut line).collect()
}

/// The state of the window; jobs run beside it, as they do beside the window.
struct Window {
    state: State,
    jobs: Jobs<State>,
    wakes: Receiver<()>,
}

impl Window {
    /// The built-in head with the pathway of the capsule, final.
    fn with_pathway(backend: &Backend) -> Result<Self, String> {
        let (wake, wakes) = channel();
        let wake = Mutex::new(wake);
        let wake = move || {
            if let Ok(wake) = wake.lock() {
                // Nobody waits for the jobs that end after the last measurement.
                let _ = wake.send(());
            }
        };
        let mut state = State::new(backend.label());
        state.runtime.device.backend.on_card = backend.accelerator().is_some();
        let mut window = Self {
            state,
            jobs: Jobs::new(backend.clone(), Arc::new(wake)),
            wakes,
        };
        window.act(Action::OpenDemo { tour: false });
        window.wait("tensors", |state| state.document.tensors.is_some())?;
        window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
        for (role, (centre, radius_mm)) in [(Role::Seed, SEED), (Role::Target, TARGET)] {
            let shape = Shape::Sphere { centre, radius_mm };
            window.act(Action::Region(RegionAction::Add { role, shape }));
        }
        window.act(Action::Settle);
        window.wait("pathway", |state| state.final_pathway().is_some())?;
        Ok(window)
    }

    /// Estimates the distributions of the head, unless that was done.
    fn deconvolve(&mut self) -> Result<(), String> {
        let mut settings = self.state.document.distributions.settings.clone();
        settings.requested = true;
        self.act(Action::Tensors(TensorAction::SetFods(settings)));
        self.wait("distributions", |state| {
            state.document.distributions.field().is_some()
        })
    }

    fn act(&mut self, action: Action) {
        let mut effects = update(&mut self.state, action);
        while !effects.is_empty() {
            match effects.remove(0) {
                Effect::Submit(job) => {
                    let job: JobHandle = self.jobs.submit(job);
                    effects.extend(update(&mut self.state, Action::JobStarted(job)));
                }
                Effect::Cancel(slot) => self.jobs.cancel(slot),
                Effect::CancelOfDocument => self.jobs.cancel_of_document(),
                Effect::LimitMemory(bytes) => self.jobs.limit_memory(bytes),
                Effect::CopyText(_) | Effect::TakePicture(..) | Effect::Store | Effect::Close => {}
            }
        }
    }

    /// Receives the results of jobs until something is shown; `what` names it in an error.
    fn wait(&mut self, what: &str, mut is_shown: impl FnMut(&State) -> bool) -> Result<(), String> {
        let start = Instant::now();
        while !is_shown(&self.state) {
            if start.elapsed() > PATIENCE {
                let messages = self.state.runtime.notices.messages.iter();
                let messages: Vec<&str> = messages.map(|m| m.text.as_str()).collect();
                return Err(format!(
                    "No {what} within {} s. {}",
                    PATIENCE.as_secs(),
                    messages.join(". ")
                ));
            }
            // Progress wakes nobody, so that the state is read now and then.
            let _ = self.wakes.recv_timeout(Duration::from_millis(20));
            for event in self.jobs.poll() {
                self.act(Action::Event(event));
            }
        }
        Ok(())
    }
}

fn shown(state: &State) -> Option<&PathwayResult> {
    state.runtime.pathways.live.value().map(|live| &**live)
}

/// Medians of two times, without the first pair: it loads kernels.
fn medians(times: Vec<[f64; 2]>) -> Result<[f64; 2], String> {
    let median = |i: usize| {
        let mut column: Vec<f64> = times[1..].iter().map(|pair| pair[i]).collect();
        quantile(&mut column, 0.5).ok_or("nothing was measured")
    };
    Ok([median(0)?, median(1)?])
}

/// Moves a region step by step; `is_first`: whether a result of its new place is shown.
fn region(
    window: &mut Window,
    role: Role,
    repeats: usize,
    is_first: fn(&State) -> bool,
    is_final: fn(&State) -> bool,
) -> Result<[f64; 2], String> {
    let mut regions = window.state.document.regions.iter();
    let region = regions.find(|region| region.role == role);
    let region = region.ok_or("the region is missing")?.id;
    let (place, radius_mm) = if role == Role::Seed { SEED } else { TARGET };
    let mut times = Vec::new();
    for repeat in 0..repeats {
        // At most 2 mm from its place, and never twice the same.
        let centre = place + 0.5 * ((7 * repeat + 3) % 9) as f64 * DVec3::Y - 2.0 * DVec3::Y;
        let moved = |phase| {
            let shape = Shape::Sphere { centre, radius_mm };
            Action::Region(RegionAction::SetShape {
                region,
                shape,
                phase,
            })
        };
        let start = Instant::now();
        window.act(moved(Phase::Live));
        window.wait("first result", is_first)?;
        let first_s = start.elapsed().as_secs_f64();
        let start = Instant::now();
        window.act(moved(Phase::Done));
        window.act(Action::Settle);
        window.wait("final result", is_final)?;
        times.push([first_s, start.elapsed().as_secs_f64()]);
    }
    medians(times)
}

fn tracked(window: &mut Window, model: Model, repeats: usize) -> Result<[f64; 2], String> {
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    window.act(Action::Track(TrackAction::SetModel(model)));
    let is_final = |state: &State| state.final_live().is_some();
    window.wait("final result", is_final)?;
    let is_first = |state: &State| {
        let live = state.runtime.track.live.value();
        live.is_some_and(|live| live.key.is_current(&state.document))
    };
    region(window, Role::Seed, repeats, is_first, is_final)
}

fn streamlines(window: &mut Window, repeats: usize) -> Result<[f64; 2], String> {
    tracked(window, Model::Tensors, repeats)
}

fn odf_streamlines(window: &mut Window, repeats: usize) -> Result<[f64; 2], String> {
    window.deconvolve()?;
    tracked(window, Model::Distributions, repeats)
}

fn solved(window: &mut Window, model: Model, repeats: usize) -> Result<[f64; 2], String> {
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    let mut settings = window.state.document.pathways.clone();
    settings.model = model;
    let phase = Phase::Done;
    window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
    window.act(Action::Settle);
    let is_final = |state: &State| state.final_pathway().is_some();
    window.wait("final result", is_final)?;
    let is_first = |state: &State| shown(state).map(PathwayKey::from_result) == state.pathway_key();
    region(window, Role::Target, repeats, is_first, is_final)
}

fn pathway(window: &mut Window, repeats: usize) -> Result<[f64; 2], String> {
    solved(window, Model::Tensors, repeats)
}

fn lifted_pathway(window: &mut Window, repeats: usize) -> Result<[f64; 2], String> {
    window.deconvolve()?;
    solved(window, Model::Distributions, repeats)
}
