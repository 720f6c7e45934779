//! `arcuate bench live`: the time from a moved control to the figures that follow it.
//!
//! The state of the window runs without drawing on the built-in head: its pathway between a sphere in the posterior limb
//! of the internal capsule and one below the motor cortex, and a surface that grows beside it and that paths avoid.
//!
//! - `region of …`: a seed or target moves by 0.5 mm. `wall_s`: until a result of the new regions is shown, with less
//!   detail where the backend cannot compute all of it within a frame; `final_s`: until the full one, once the pointer
//!   rests.
//! - `surface beside a pathway`: a slider of the speed moves while the surface grows. `wall_s`: until the panel has the
//!   distance from a surface that the new speed moved to the live pathway, and the share of the pathway within the margin;
//!   `final_s`: until the pathway avoids such a surface.

use super::bench::Choice;
use crate::compute::Backend;
use crate::data::statistics::quantile;
use crate::data::{Role, Shape};
use crate::jobs::{JobHandle, Jobs};
use crate::solvers::level_set::Sphere;
use crate::state::pathways::{PathwayAction, PathwayKey, PathwayResult, SurfaceUse};
use crate::state::segment::SegmentAction;
use crate::state::track::types::odf::Model;
use crate::state::{
    Action, Effect, Phase, RegionAction, State, SurfaceUpdate, Task, TensorAction, TrackAction,
    ViewAction, update,
};
use glam::{DVec3, dvec3};
use serde_json::{Value, json};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SEED: (DVec3, f64) = (dvec3(-24.0, -18.0, 8.0), 6.0);
const TARGET: (DVec3, f64) = (dvec3(-30.0, -22.0, 58.0), 9.0);
/// The start of the surface, in the body of the left lateral ventricle.
const START: (DVec3, f64) = (dvec3(-7.5, 8.0, 16.0), 3.0);
/// The slider rests for this long before it moves: the figures of the last change have cost time, which limits the next
/// ones in a drag.
const REST: Duration = Duration::from_millis(500);
/// A result that takes longer counts as an error.
const PATIENCE: Duration = Duration::from_secs(120);

/// Measures this many repeats; returns `wall_s` and `final_s`.
type Measure = fn(&mut Window, usize) -> Result<[f64; 2], String>;

const CASES: [(&str, Measure); 5] = [
    ("region of streamlines", streamlines),
    ("region of streamlines along distributions", odf_streamlines),
    ("region of a pathway", pathway),
    ("region of a pathway through crossings", lifted_pathway),
    ("surface beside a pathway", surface),
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
                Effect::CopyText(_)
                | Effect::TakePicture(..)
                | Effect::DrawReport(_)
                | Effect::Store
                | Effect::Close => {}
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
        // Within 2 mm of its start; successive positions differ.
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

/// The step from which the last change of the speed acted.
fn changed_at(surface: &SurfaceUpdate, changes: usize) -> Option<u64> {
    let events = &surface.script.events;
    (events.len() >= changes).then(|| events.last().map_or(0, |event| event.step))
}

fn surface(window: &mut Window, repeats: usize) -> Result<[f64; 2], String> {
    let mut settings = window.state.document.pathways.clone();
    settings.model = Model::Tensors;
    settings.surface_use = SurfaceUse::Excluded;
    let phase = Phase::Done;
    window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    let (centre, radius_mm) = START;
    window.act(Action::Segment(SegmentAction::Sphere(Sphere {
        add: true,
        centre,
        radius_mm,
    })));
    window.wait("surface at rest", |state| state.resting_surface().is_some())?;
    let mut settings = window.state.document.segment.settings.clone();
    let image = window.state.document.segmented_image();
    let fluid = image.and_then(|(_, image)| image.nearest(0, centre));
    settings.params.target = fluid.ok_or("no image to segment")?;
    settings.params.tolerance = 0.3 * settings.params.target;
    settings.target_chosen = true;
    let set = |settings, phase| Action::Segment(SegmentAction::Set { settings, phase });
    window.act(set(settings.clone(), Phase::Done));
    window.act(Action::Segment(SegmentAction::Play));
    let mut times = Vec::new();
    for repeat in 0..repeats {
        window.wait("surface at rest", |state| !state.runtime.segment.running)?;
        window.wait("full pathway", |state| state.final_pathway().is_some())?;
        let rested = Instant::now();
        window.wait("rest", |_| rested.elapsed() > REST)?;
        let before = window.state.runtime.segment.live.clone();
        let changes = before.map_or(0, |surface| surface.script.events.len());
        settings.params.smoothness = if repeat % 2 == 0 { 0.3 } else { 0.2 };
        let start = Instant::now();
        window.act(set(settings.clone(), Phase::Live));
        let mut figures_s = None;
        // Surfaces that the new speed moved.
        let mut moved: Vec<Arc<Shape>> = Vec::new();
        window.wait("figures of the changed surface", |state| {
            let Some(surface) = &state.runtime.segment.live else {
                return false;
            };
            let Some(step) = changed_at(surface, changes + 1) else {
                return false;
            };
            let figures = surface.figures.as_ref().filter(|f| f.step > step);
            let mut rows = figures.iter().flat_map(|f| &f.distances);
            if figures_s.is_none() && rows.any(|row| row.live.is_some() && row.margin.is_some()) {
                figures_s = Some(start.elapsed().as_secs_f64());
            }
            let measured = &surface.measured;
            let is_new = |shape: &&Arc<Shape>| !moved.iter().any(|known| Arc::ptr_eq(known, shape));
            let shape = measured.shape.as_ref().filter(|_| measured.step > step);
            moved.extend(shape.filter(is_new).cloned());
            let avoided = shown(state).map(|pathway| &pathway.key.regions);
            let mut regions = avoided.iter().flat_map(|regions| regions.iter());
            let is_avoided =
                regions.any(|region| moved.iter().any(|shape| Arc::ptr_eq(shape, &region.shape)));
            figures_s.is_some() && is_avoided
        })?;
        let figures_s = figures_s.ok_or("the distance was not measured")?;
        times.push([figures_s, start.elapsed().as_secs_f64()]);
        window.act(set(settings.clone(), Phase::Done));
    }
    window.act(Action::Segment(SegmentAction::Pause));
    medians(times)
}
