//! The run of the level-set worker.

use crate::compute::{Backend, Control, Hardware};
use crate::data::{ImageExporter, Mask, Shape, Volume};
use crate::jobs::JobError;
use crate::solvers::level_set::{
    Ended, Evolution, Inputs, Layout, Params, Sphere, Start, agreement, measures_of, recent_growth,
    speed_picture, surface,
};
use crate::solvers::{Error, region};
use crate::state::segment::LeakNotice;
use crate::state::segment::jobs::proximity::{ProximityCache, precision_mm};
use crate::state::segment::jobs::run::RunSender;
use crate::state::segment::jobs::run_state::Run;
use crate::state::segment::jobs::{
    InitialSurface, PlacedSphere, RunCheckpoint, RunControl, RunRequest, RunUpdate, SpeedSources,
    SurfaceStatistics, SurfaceUpdate, WithinMargin,
};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Approximate duration of a piece of a run; between two pieces a newer request is received. Updates are no more
/// frequent: 120 per second leave time to draw.
const PIECE: Duration = Duration::from_millis(4);
/// Number of points in the plot of volume.
const PLOTTED: usize = 400;
/// Number of bricks from which on a surface is shown before its statistics are known.
const LARGE: usize = 1000;

/// The additional content of an update.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UpdateDetail {
    /// No statistics: they follow.
    Nothing,
    /// Statistics at intervals: it moves on.
    SurfaceStatistics,
    /// Statistics and voxels: it rests.
    All,
}

/// State of the single level-set worker; never contended.
#[derive(Default)]
pub(super) struct WorkerMemory(Mutex<Option<RunMemory>>);

struct RunMemory {
    request: RunRequest,
    hardware: Hardware,
    /// Inputs of the image alone, and with the requested additional sources.
    image: Inputs,
    inputs: Inputs,
    /// The initial surface, if it is not made of spheres.
    mask: Option<Mask>,
    run: Option<Run>,
    /// The run before, from which another one with the same start is reached in fewer steps.
    former: Option<Run>,
    speed: Option<(Params, (i64, u64), Volume)>,
    proximity: ProximityCache,
    /// Whether the latest request equals the one before.
    is_repeated: bool,
    /// The user has just started it.
    started_by_user: bool,
    /// The exporter of the window, which draws.
    exporter: Option<ImageExporter>,
}

impl WorkerMemory {
    pub fn run(
        &self,
        requested: RunRequest,
        exporter: Option<&ImageExporter>,
        backend: &Backend,
        control: &Control,
        partial: &RunSender,
    ) -> Result<RunUpdate, JobError> {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let hardware = backend.hardware();
        let stored = match memory.take() {
            Some(stored) if stored.request.same_run(&requested) && stored.hardware == hardware => {
                stored
            }
            // On another backend a run starts anew, or is restored to its former step.
            old => RunMemory::new(&requested, hardware, old, backend, control)?,
        };
        let stored = memory.insert(stored);
        let refused = stored.follow(requested, backend, control)?;
        stored.exporter = exporter.cloned();
        stored.advance(refused, backend, control, partial)
    }
}

impl RunMemory {
    fn new(
        requested: &RunRequest,
        hardware: Hardware,
        old: Option<Self>,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, JobError> {
        let mut known = old.filter(|old| old.request.same_image(requested));
        let former = known.as_mut().and_then(|old| {
            let has_same_start = old.hardware == hardware && old.request.origin == requested.origin;
            old.run
                .take()
                .or(old.former.take())
                .filter(|_| has_same_start)
        });
        let (image, frame) = (&requested.image, requested.frame);
        let (of_image, inputs) = match known {
            Some(old) if old.request.speed_sources == requested.speed_sources => {
                (old.image, old.inputs)
            }
            known => backend.install(|| -> Result<_, Error> {
                let of_image = match known {
                    Some(old) => old.image,
                    None => Inputs::new(image, frame)?,
                };
                let inputs = requested.speed_sources.inputs(&of_image, None);
                Ok((of_image, inputs))
            })?,
        };
        let mask = match &requested.origin {
            InitialSurface::Nothing => None,
            InitialSurface::Mask(mask) => Some(mask.clone()),
            InitialSurface::Values { low, high } => {
                Some(backend.install(|| region::threshold(image, frame, (*low, *high), control))?)
            }
            InitialSurface::Filled { point, tolerance } => {
                Some(region::fill(image, frame, *point, *tolerance, f64::INFINITY, control)?.mask)
            }
        };
        Ok(Self {
            request: requested.clone(),
            hardware,
            image: of_image,
            inputs,
            mask,
            run: None,
            former,
            speed: None,
            proximity: ProximityCache::default(),
            is_repeated: true,
            started_by_user: true,
            exporter: None,
        })
    }

    /// Brings the run to the requested state, except for steps; returns the spheres that could not be placed.
    fn follow(
        &mut self,
        requested: RunRequest,
        backend: &Backend,
        control: &Control,
    ) -> Result<Vec<(u64, String)>, JobError> {
        let before = std::mem::replace(&mut self.request, requested);
        self.is_repeated = before == self.request;
        self.started_by_user = self.is_repeated || before.play != self.request.play;
        if before.speed_sources != self.request.speed_sources {
            self.inputs = self.speed_inputs(&before.speed_sources, backend);
            self.speed = None;
        }
        if before.spheres != self.request.spheres {
            self.speed = None;
        }
        let reference = |requested: &RunRequest| requested.reference.as_ref().map(Mask::id);
        if let Some(run) = &mut self.run
            && (reference(&before), &before.proximity_targets)
                != (reference(&self.request), &self.request.proximity_targets)
        {
            run.forget_comparisons();
        }
        let spheres = self.request.spheres.clone();
        let adds = self.mask.is_some() || spheres.iter().any(|(_, s)| s.add);
        if !adds {
            self.run = None;
            return Ok(Vec::new());
        }
        if self.run.is_none() {
            self.restore(backend, control)?;
        }
        let started = |run: &Run| run.evolution.step() > 0;
        let stays = self.run.as_ref().is_some_and(|run| match started(run) {
            true => spheres.starts_with(&run.start),
            false => spheres == run.start,
        });
        let mut refused = Vec::new();
        if !stays {
            match self.begin(spheres.clone(), backend, control) {
                Ok(run) => (self.run, self.former) = (Some(run), None),
                Err(Error::Input(why)) => {
                    // The newest one is at fault if those before it were accepted.
                    let last = spheres.last().filter(|(number, _)| {
                        let before = self.run.as_ref().map_or(&[][..], |run| &run.start);
                        before.iter().all(|(n, _)| n != number)
                    });
                    let (number, _) = last.ok_or(Error::Input(why.clone()))?;
                    refused.push((*number, why.for_window().to_owned()));
                }
                Err(error) => return Err(error.into()),
            }
            return Ok(refused);
        }
        let Some(run) = &mut self.run else {
            return Ok(refused);
        };
        if let Some(back) = self.request.rewind.filter(|b| b.number > run.last_rewind) {
            if back.step <= run.evolution.step() {
                run.rewind(back.step, backend, control)?;
            }
            run.last_rewind = back.number;
        }
        let since = &spheres[run.start.len().min(spheres.len())..];
        let same = run.placed.iter().zip(since);
        let same = same
            .take_while(|((placed, _), requested)| placed == *requested)
            .count();
        if let Some((_, step)) = run.placed.get(same) {
            let step = *step;
            run.rewind(step, backend, control)?;
        }
        for sphere in since.iter().skip(run.placed.len()) {
            match run.evolution.apply_sphere(&sphere.1, backend) {
                Ok(()) => {
                    run.placed.push((*sphere, run.evolution.step()));
                    run.forget();
                }
                Err(Error::Input(why)) => {
                    refused.push((sphere.0, why.for_window().to_owned()));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(refused)
    }

    /// Restores the progress that the request holds, with its own spheres.
    fn restore(&mut self, backend: &Backend, control: &Control) -> Result<(), Error> {
        let Some(resume) = self.request.resume.clone() else {
            return Ok(());
        };
        let run = self.resumed(&resume, backend, control)?;
        // Shared if it has used them before.
        if let Some(inputs) = run.inputs_of(&self.request.speed_sources) {
            self.inputs = inputs;
        }
        (self.run, self.former) = (Some(run), None);
        Ok(())
    }

    /// The requested additional inputs; those of the last request are reused.
    fn speed_inputs(&self, before: &SpeedSources, backend: &Backend) -> Inputs {
        let requested = &self.request.speed_sources;
        let run = self.run.as_ref();
        let known = run.and_then(|run| run.inputs_of(requested));
        known.unwrap_or_else(|| {
            let before = Some((before, &self.inputs));
            backend.install(|| requested.inputs(&self.image, before))
        })
    }

    fn start(&self, spheres: &[PlacedSphere]) -> Start {
        Start {
            mask: self.mask.clone(),
            spheres: spheres.iter().map(|(_, sphere)| *sphere).collect(),
        }
    }

    fn begin(
        &self,
        spheres: Vec<PlacedSphere>,
        backend: &Backend,
        control: &Control,
    ) -> Result<Run, Error> {
        let (start, params) = (self.start(&spheres), &self.request.params);
        let layout = Layout::BEST;
        let evolution = Evolution::new(&self.inputs, &start, params, layout, backend, control)?;
        let speed_sources = vec![self.request.speed_sources.clone()];
        Ok(Run::new(
            evolution,
            spheres,
            speed_sources,
            self.request.rewind,
        ))
    }

    /// Restores the progress of a run.
    fn resumed(
        &mut self,
        resume: &RunCheckpoint,
        backend: &Backend,
        control: &Control,
    ) -> Result<Run, Error> {
        let later = |number: u64| resume.placed.iter().find(|(n, _)| *n == number);
        let spheres = resume.spheres.iter().copied();
        let (placed, start): (Vec<PlacedSphere>, Vec<PlacedSphere>) =
            spheres.partition(|(n, _)| later(*n).is_some());
        let requested = &self.request.speed_sources;
        let (speed_sources, inputs) = match &*resume.speed_sources {
            [] => (vec![requested.clone()], vec![self.inputs.clone()]),
            all => (
                all.to_vec(),
                backend.install(|| SpeedSources::all(all, &self.image)),
            ),
        };
        let script = &resume.script;
        let former = self.former.take();
        let former = former.filter(|run| run.begins_as(resume, &start, &speed_sources));
        let (evolution, ended) = match former {
            Some(mut run) => {
                let ended = run.evolution.switch_to(&inputs, script, backend, control)?;
                (run.evolution, ended)
            }
            None => Evolution::replay(&inputs, &self.start(&start), script, backend, control)?,
        };
        let placed = placed.into_iter();
        let placed = placed.filter_map(|sphere| Some((sphere, later(sphere.0)?.1)));
        // Leaks before that point are ignored.
        let ended = match resume.leak {
            Some(notice) => Ended::Leaked(notice.leak),
            None => resume.ended.unwrap_or(ended),
        };
        let rests = (ended == Ended::Converged).then_some(resume.script.steps);
        Ok(Run {
            placed: placed.collect(),
            ended,
            rests: rests.into_iter().collect(),
            leak: resume.leak,
            ..Run::new(evolution, start, speed_sources, self.request.rewind)
        })
    }

    /// Moves the surface as far as requested, and sends updates.
    fn advance(
        &mut self,
        refused: Vec<(u64, String)>,
        backend: &Backend,
        control: &Control,
        partial: &RunSender,
    ) -> Result<RunUpdate, JobError> {
        self.update_speed_picture(backend)?;
        if let Some(run) = &self.run
            && self.request.play != RunControl::Rest
            && run.evolution.step() == 0
            && !run.is_moved_by(&self.request, &self.inputs)
        {
            // At the start a change of speeds is not an event.
            let start = run.start.clone();
            self.run = Some(self.begin(start, backend, control)?);
        }
        // A converged surface continues if its speeds change, or if the user requests it; not if only its display
        // changes.
        let rests = !self.is_repeated
            && self.request.play == RunControl::Run
            && self.run.as_ref().is_some_and(|run| {
                run.ended == Ended::Converged && run.is_moved_by(&self.request, &self.inputs)
            });
        // A user who continues a run after a leak has seen it; a request that arrived meanwhile has not.
        if let Some(run) = &mut self.run
            && self.started_by_user
            && self.request.play != RunControl::Rest
            && matches!(run.ended, Ended::Leaked(_))
        {
            run.evolution.continue_past_leak(backend)?;
        }
        let mut piece = 1;
        let mut shown = self.run.as_ref().map_or(0, |run| run.evolution.step());
        while let Some(run) = &mut self.run {
            let step = run.evolution.step();
            let left = match self.request.play {
                _ if rests => 0,
                RunControl::Rest => 0,
                RunControl::Until(end) => end.saturating_sub(step),
                RunControl::Run => u64::MAX,
            };
            if left == 0 {
                break;
            }
            run.change_speeds(&self.request, &self.inputs, backend)?;
            run.evolution.watched = self.request.watched;
            let pace = self.request.steps_per_update.unwrap_or(u64::MAX);
            let steps = left
                .min(piece)
                .min(shown.saturating_add(pace).saturating_sub(step).max(1));
            let started = Instant::now();
            // A piece is finished whatever is requested meanwhile, so that the surface moves during a drag.
            run.ended = run.evolution.run(steps, backend, &Control::new())?;
            if run.ended == Ended::Converged {
                run.rests.push(run.evolution.step());
            }
            let took = started.elapsed().as_secs_f64().max(1e-9);
            let done = run.evolution.step().saturating_sub(step);
            if done > 0 {
                let now = done as f64 / took;
                let share = if run.steps_per_s > 0.0 { 0.8 } else { 0.0 };
                run.steps_per_s = run.steps_per_s * share + now * (1.0 - share);
                piece = ((now * PIECE.as_secs_f64()) as u64).clamp(1, 1 << 16);
            }
            if run.ended != Ended::Steps {
                break;
            }
            if control.is_cancelled() {
                return Err(Error::Cancelled.into());
            }
            let due = run.evolution.step() >= shown.saturating_add(pace);
            if due {
                partial.wait_until_taken(control);
            }
            if partial.is_taken() && (due || self.request.steps_per_update.is_none()) {
                shown = run.evolution.step();
                let run_update = self.update(&refused, UpdateDetail::SurfaceStatistics, backend)?;
                partial.send(Box::new(run_update));
            }
        }
        // The surface is reported to be at rest before it is measured; a large surface is also drawn first.
        let first = |run: &Run| match run.ended {
            Ended::Converged => {
                let figures = run.figures.as_ref();
                run.compared_to_mm.is_none()
                    || figures.is_none_or(|f| f.step != run.evolution.step())
            }
            _ => run.figures.is_none() && run.evolution.size().bricks >= LARGE,
        };
        if self.run.as_ref().is_some_and(first) && partial.is_taken() {
            let run_update = self.update(&refused, UpdateDetail::Nothing, backend)?;
            partial.send(Box::new(run_update));
        }
        self.update(&refused, UpdateDetail::All, backend)
    }

    /// The speeds requested now.
    fn update_speed_picture(&mut self, backend: &Backend) -> Result<(), JobError> {
        if !self.request.speed {
            self.speed = None;
            return Ok(());
        }
        let params = &self.request.params;
        let run = self.run.as_ref().filter(|_| params.region > 0.0);
        let inside = run.map(|run| run.evolution.inside());
        let key = inside.unwrap_or_default();
        let spheres: Vec<Sphere> = self
            .request
            .spheres
            .iter()
            .map(|(_, sphere)| *sphere)
            .collect();
        let known = |(p, i, _): &(Params, (i64, u64), Volume)| p == params && *i == key;
        if !self.speed.as_ref().is_some_and(known) {
            params.check().map_err(Error::from)?;
            let picture = backend.install(|| speed_picture(&self.inputs, params, &spheres, inside));
            self.speed = Some((params.clone(), key, picture.map_err(Error::from)?));
        }
        Ok(())
    }

    fn update(
        &mut self,
        refused: &[(u64, String)],
        detail: UpdateDetail,
        backend: &Backend,
    ) -> Result<RunUpdate, JobError> {
        let surface = match self.run.take() {
            None => None,
            Some(mut run) => {
                let surface = self.surface_update(&mut run, detail, backend);
                self.run = Some(run);
                Some(surface?)
            }
        };
        if detail == UpdateDetail::All {
            self.update_speed_picture(backend)?;
        }
        Ok(RunUpdate {
            run: self.request.run,
            missing: self.inputs.missing,
            speed: self.speed.as_ref().map(|(.., speed)| speed.clone()),
            refused: refused.to_vec(),
            surface,
        })
    }

    fn surface_update(
        &mut self,
        run: &mut Run,
        detail: UpdateDetail,
        backend: &Backend,
    ) -> Result<SurfaceUpdate, JobError> {
        let rests = detail == UpdateDetail::All;
        let bricks = run.evolution.image(self.exporter.as_ref())?;
        let step = run.evolution.step();
        let due = run.is_due() && detail != UpdateDetail::Nothing;
        let fresh = rests || due;
        let measured = run.measured(fresh, rests || self.request.shape, backend)?;
        let (evolution, field) = (&run.evolution, measured.field.clone());
        let gone = || {
            Error::Input(
                "The surface has vanished: go back, or start again"
                    .to_owned()
                    .into(),
            )
        };
        let (mut phi, mut mask) = (None, None);
        if rests {
            phi = Some(backend.install(|| field.cropped()).ok_or_else(gone)?);
            mask = match measured.shape.as_deref() {
                Some(Shape::Mask(mask)) => Some(mask.clone()),
                _ => None,
            };
        }
        let known = run.figures.as_ref().filter(|f| f.step == step);
        let precision_mm = precision_mm(rests);
        let is_compared = run.compared_to_mm.is_some_and(|mm| mm <= precision_mm);
        if (known.is_none() || !is_compared) && (rests || due) {
            let started = Instant::now();
            let agreement = self.request.reference.as_ref().map(|reference| {
                let mask = mask
                    .clone()
                    .unwrap_or_else(|| backend.install(|| field.mask()));
                backend.install(|| agreement(&mask, reference))
            });
            let measures = || match known {
                Some(figures) => figures.measures,
                None => measures_of(&field, &surface(&field)),
            };
            let (request, cache) = (&self.request, &mut self.proximity);
            let targets = &request.proximity_targets;
            let distances = || cache.distances(targets, &field, request.margin_mm, rests);
            let (measures, distances) = backend.install_both(measures, distances);
            run.figures = Some(SurfaceStatistics {
                step,
                measures,
                active: measures.active,
                agreement,
                distances,
            });
            run.compared_to_mm = Some(precision_mm);
            (run.figured, run.is_changed) = (Some((started, started.elapsed())), false);
        } else if rests && let Some(figures) = &mut run.figures {
            let request = &self.request;
            let (targets, margin_mm) = (&request.proximity_targets, request.margin_mm);
            let differs = |margin: WithinMargin| margin.margin_mm != margin_mm;
            if figures
                .distances
                .iter()
                .any(|near| near.margin.is_some_and(differs))
            {
                let distances = &mut figures.distances;
                backend.install(|| {
                    let cache = &mut self.proximity;
                    cache.change_margin(distances, targets, &field, margin_mm);
                });
            }
        }
        if let Ended::Leaked(leak) = run.ended
            && run.leak.is_none_or(|l| l.leak != leak)
        {
            run.leak = LeakNotice::from_run(evolution, &field, run.ended);
        }
        let counts = evolution.growth();
        let by_step = (counts.iter().enumerate()).map(|(step, n)| (step as u64, *n));
        let every = counts.len().div_ceil(PLOTTED).max(1);
        let mut growth: Vec<(u64, u64)> = counts
            .iter()
            .enumerate()
            .step_by(every)
            .map(|(i, n)| (i as u64, *n))
            .collect();
        let last = (step, evolution.inside().1);
        if growth.last() != Some(&last) {
            growth.push(last);
        }
        let placed = run.placed.iter();
        Ok(SurfaceUpdate {
            run: self.request.run,
            last_rewind: run.last_rewind,
            bricks,
            phi,
            mask,
            step,
            script: evolution.script(),
            speed_sources: run.speed_sources.clone(),
            spheres: run.spheres(),
            placed: placed.map(|((number, _), step)| (*number, *step)).collect(),
            ended: run.ended,
            leak: run.leak.filter(|_| matches!(run.ended, Ended::Leaked(_))),
            recent_growth: recent_growth(by_step),
            growth,
            inside: evolution.inside().1,
            size: evolution.size(),
            steps_per_s: run.steps_per_s,
            figures: run.figures.clone(),
            measured,
        })
    }
}
