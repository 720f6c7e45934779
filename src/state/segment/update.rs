//! Segmentation: requests after each change, and their results.

pub(in crate::state) mod back;
pub(in crate::state) mod camera;
mod ended;
pub(in crate::state) mod keep;
pub(in crate::state) mod replaced;

use crate::data::region::RegionId;
use crate::data::text::counted;
use crate::data::{DataId, Mask};
use crate::solvers::level_set::{Ended, LayerSpeed, Probe, Sphere};
use crate::state::core::layer::LayerId;
use crate::state::core::notices::{Status, StatusSubject};
use crate::state::pathways::SurfaceUse;
use crate::state::sampling::Sample;
use crate::state::segment::jobs::{
    CountVoxels, InitialSurface, MaskSource, ProbeSample, RunCheckpoint, RunControl, RunRequest,
    RunUpdate, SEGMENT, SpeedSources,
};
pub use crate::state::segment::update::keep::{command_line, current_origin};
use crate::state::segment::{
    MARGIN, RunStart, SegmentRuntime, SegmentSettings, Start, frame_of, scalar,
};
use crate::state::{Document, Effect, Phase, State, SurfaceUpdate, Task};
use std::sync::Arc;

pub(in crate::state) use crate::state::edit::edit;

const NONE_YET: &str = "There is no surface yet: press A, then click inside the structure";
/// Steps of the single-step button.
pub(in crate::state) const STEPS: u64 = 10;

pub fn set(state: &mut State, settings: SegmentSettings, phase: Phase) {
    let live = phase == Phase::Live;
    let was = &state.document.segment.settings;
    let with_margin = SegmentSettings {
        margin_mm: settings.margin_mm,
        ..was.clone()
    };
    let label = match settings == with_margin && settings != *was {
        true => MARGIN,
        false => "Surface parameters",
    };
    edit(state, label, live, |d| d.segment.settings = settings);
}

/// Segments another image, and shows it in this task.
pub(in crate::state) fn choose(state: &mut State, id: LayerId) {
    if state.document.layer(id).is_none() {
        return;
    }
    if state.document.segment.image == Some(id) && !state.document.awaits_surface_maps() {
        // Another image may have been opened above it.
        if state.document.hides_segmented_image() != state.document.segment.image_alone {
            edit(
                state,
                "Image to segment",
                false,
                Document::show_segmented_image,
            );
        }
        return;
    }
    let grown = replaced::grown(state);
    edit(state, "Image to segment", false, |d| {
        if d.awaits_surface_maps() {
            // The surface of the session grew on another image.
            d.segment.resume = None;
        }
        d.segment.image = Some(id);
        d.show_segmented_image();
        d.segment.settings.target_chosen = false;
        d.segment.sample = None;
    });
    state.runtime.segment.sample = None;
    guess(state);
    replaced::report_other_image(state, grown);
}

/// Estimates a target: the centre of the displayed window.
fn guess(state: &mut State) {
    let Some((layer, _)) = state.document.segmented_image() else {
        return;
    };
    let (low, high) = layer.display.window;
    let id = layer.id;
    let segment = &mut state.document.segment;
    segment.image = Some(id);
    if !segment.settings.target_chosen {
        segment.settings.params.target = 0.5 * (low + high);
        segment.settings.params.tolerance = (0.1 * (high - low)).max(f32::MIN_POSITIVE);
    }
}

/// The task is shown: its image must be visible. The user has only looked at a task: that is not a step to undo, and
/// nothing to save.
pub fn entered(state: &mut State) {
    let chosen = state.document.segment.image;
    let stays = |id| state.document.layer(id).is_some() || state.document.awaits(id);
    if chosen.is_some_and(stays) {
        return;
    }
    // The progress of an opened session belongs to the image that is gone.
    state.document.segment.resume.take_if(|_| chosen.is_some());
    state.document.show_segmented_image();
    guess(state);
}

/// Begins with voxels that must first be rasterized: in a large image that takes a second.
pub(in crate::state) fn rasterize_initial_surface(
    state: &mut State,
    name: String,
    source: MaskSource,
    effects: &mut Vec<Effect>,
) {
    state.runtime.segment.begins = true;
    effects.push(Effect::submit(CountVoxels { name, source }));
}

/// Receives the rasterized start; another start may have been chosen meanwhile.
pub fn initial_surface_ready(state: &mut State, name: String, mask: Mask) {
    if state.runtime.segment.begins {
        set_initial_surface(state, Start::Mask(name, mask));
    }
}

pub(in crate::state) fn set_initial_surface(state: &mut State, start: Start) {
    restart(state, "Start of the surface", |d| d.segment.start = start);
}

/// Starts another run without spheres; undoing this restores the present surface.
fn restart(state: &mut State, label: &str, change: impl FnOnce(&mut Document)) {
    if let Some(resume) = state.surface_progress() {
        state.document.segment.resume = Some(resume);
    }
    edit(state, label, false, |document| {
        document.segment.resume = None;
        document.segment.spheres.clear();
        change(document);
    });
    replaced::replace(state);
    state.runtime.segment.begins = false;
}

pub(in crate::state) fn clear(state: &mut State) {
    restart(state, "Clear the surface", |d| {
        d.segment.start = Start::Spheres
    });
}

pub(in crate::state) fn place(state: &mut State, sphere: Sphere) {
    let image = state.document.segmented_image();
    if let Some(Err(why)) = image.map(|(_, image)| sphere.check(&image.grid)) {
        return state.runtime.notify_warning(SEGMENT, why.to_string());
    }
    guess(state);
    let label = match sphere.add {
        true => "Add sphere",
        false => "Add keep-out sphere",
    };
    edit(state, label, false, |d| {
        let number = d.fresh_id();
        d.segment.spheres.push((number, sphere));
        // A user who works on it wants to see it.
        d.segment.settings.shown = true;
    });
}

pub(in crate::state) fn play(state: &mut State) {
    match state.cannot_segment() {
        Some(why) => report_waiting(state, why),
        None => {
            state.runtime.segment.play = RunControl::Run;
            state.runtime.segment.is_paused = false;
            // A converged surface is requested again.
            state.runtime.segment.requested = None;
        }
    }
}

/// The surface stays as it is, also at rest, until the user runs it again.
pub(in crate::state) fn pause(state: &mut State) {
    let runtime = &mut state.runtime.segment;
    (runtime.play, runtime.is_paused) = (RunControl::Rest, true);
}

/// The panel shows the reason permanently; a message reports it once per user action.
pub(in crate::state) fn report_waiting(state: &mut State, why: &str) {
    state.runtime.notices.status = why.into();
}

/// A layer whose values are a speed: from the low end of its window, inwards, to the high end, outwards.
pub(in crate::state) fn speed_layer(state: &mut State, layer: Option<LayerId>) {
    let window = layer
        .and_then(|id| state.document.layer(id))
        .map(|l| l.display.window);
    edit(state, "Speed of a layer", false, |d| {
        d.segment.layer = layer.filter(|_| window.is_some());
        d.segment.settings.params.layer = window.map(|(low, high)| LayerSpeed {
            low,
            high: if high > low { high } else { low + 1.0 },
        });
    });
}

/// The sample becomes the target; a worker examines its surroundings.
pub fn sampled(state: &mut State, sample: &Sample, effects: &mut Vec<Effect>) {
    state.runtime.segment.sample = Some(Arc::new(sample.clone()));
    let (image, frame, voxels) = sample.voxels();
    effects.push(Effect::submit(ProbeSample {
        image: image.clone(),
        frame,
        voxels,
    }));
}

/// Target and tolerance from a sample; another image may have been chosen meanwhile.
pub fn probed(state: &mut State, probed_image: DataId, probe: &Probe) {
    let image = state.document.segmented_image();
    if image.is_none_or(|(_, image)| image.id() != probed_image) {
        return;
    }
    guess(state);
    let mut status = std::mem::take(&mut state.runtime.notices.status);
    let sample = state.runtime.segment.sample.take();
    edit(state, "Sample", false, |d| {
        // Undone together with the values derived from it.
        if let Some(sample) = sample {
            d.segment.sample = Some(Arc::new((*sample).clone().with_probe(*probe)));
        }
        let settings = &mut d.segment.settings;
        (settings.params.target, settings.params.tolerance) = (probe.target, probe.tolerance);
        settings.target_chosen = true;
    });
    // The status still shows the sample.
    if probe.moved {
        status.add_remark(" · T and ε exclude the background");
    }
    state.runtime.notices.status = status;
}

/// The desired state of the surface; `None` without an image.
fn run_request(state: &State) -> Option<RunRequest> {
    let (document, runtime) = (&state.document, &state.runtime.segment);
    let segment = &document.segment;
    let (layer, image) = document.segmented_image()?;
    let speed_layer = segment.layer.and_then(|id| {
        let layer = document.layer(id)?;
        let volume = scalar(layer)?;
        Some((id.0, volume.clone(), frame_of(layer, volume)))
    });
    let shapes = |region: &Option<RegionId>| {
        let region = region.and_then(|id| document.region(id));
        region.map(|r| r.shape.clone()).into_iter().collect()
    };
    let speed_sources = SpeedSources {
        layer: speed_layer,
        painted: segment.painted.each_ref().map(shapes),
    };
    Some(RunRequest {
        run: runtime.run,
        frame: frame_of(layer, image),
        image: image.clone(),
        origin: replaced::initial_surface(&segment.start),
        speed_sources: speed_sources_before_drag(state).unwrap_or(speed_sources),
        params: document.surface_params(),
        spheres: segment.spheres.clone(),
        resume: segment.resume.clone(),
        rewind: runtime.rewind,
        play: runtime.play,
        watched: segment.settings.watched,
        steps_per_update: segment.settings.steps_per_update,
        reference: document.reference_mask().cloned(),
        speed: state.shows_speed(),
        proximity_targets: state.proximity_targets(),
        margin_mm: segment.settings.margin_mm,
        shape: state.document.pathways.surface_use != SurfaceUse::Ignored,
    })
}

/// Each change of additional inputs is an event of the run's script, and no job may hold a mask that is being painted:
/// dragged or painted inputs are used only when the drag ends.
fn speed_sources_before_drag(state: &State) -> Option<SpeedSources> {
    let runtime = &state.runtime.segment;
    let started = runtime.live.as_ref().is_some_and(|live| live.step > 0);
    let requested = runtime.requested.as_ref().filter(|a| a.run == runtime.run);
    let undoable = requested.filter(|_| started && state.history.is_open());
    undoable.map(|requested| requested.speed_sources.clone())
}

/// Requests what is missing; called after every change of the state.
pub fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let was_away = state.runtime.segment.is_away;
    state.runtime.segment.is_away = state.view.task != Task::Segment;
    if state.view.task != Task::Segment {
        if state.runtime.segment.play != RunControl::Rest {
            state.runtime.segment.play = RunControl::Rest;
            if state.runtime.segment.running {
                effects.push(Effect::Cancel(SEGMENT));
            }
        }
        replaced::follow_elsewhere(state);
        return;
    }
    replaced::follow(state, effects);
    ended::report(state);
    if state.document.awaits_surface_maps() {
        state.runtime.segment.live = None;
        return;
    }
    if !state.document.take_awaited_maps() {
        let sentence = "The surface of the session starts again at step 0 because the fit no longer produces an image \
                        that one of its speeds uses";
        state.runtime.notify_warning(SEGMENT, sentence.to_owned());
    }
    if state.document.segment.image.is_none() && !state.document.lacks_requested_fit() {
        // The images came after the task was shown.
        entered(state);
    }
    let Some(mut request) = run_request(state) else {
        state.runtime.segment.live = None;
        return;
    };
    let begins = !matches!(request.origin, InitialSurface::Nothing)
        || request.spheres.iter().any(|s| s.1.add);
    let drags = state.history.is_open();
    let runtime = &mut state.runtime.segment;
    // The last value of a drag arrives when the drag has ended.
    let dragged = runtime.dragged;
    runtime.dragged &= drags;
    if !(begins || request.speed || runtime.live.is_some()) {
        return;
    }
    // A surface at rest, also one of a session, moves on unless the user has paused it or has changed it in another
    // task.
    let waits = was_away || runtime.is_paused;
    if !waits && runtime.rests() && runtime.is_changed_by(&request) {
        runtime.play = RunControl::Run;
        request.play = RunControl::Run;
    }
    if runtime.requested.as_deref() == Some(&request) {
        return;
    }
    runtime.failed = None;
    runtime.running = true;
    runtime.dragged |= runtime.begins_change(&request, dragged) && drags;
    runtime
        .start
        .get_or_insert_with(|| RunStart::from(&request));
    runtime.requested = Some(Box::new(request.clone()));
    effects.push(Effect::submit(request));
}

/// Receives an update; `rests`: the job has ended.
pub fn done(state: &mut State, update: RunUpdate, rests: bool) {
    let runtime = &mut state.runtime.segment;
    if update.run != runtime.run {
        return;
    }
    runtime.missing = update.missing;
    runtime.speed = update.speed;
    let before = runtime.live.take();
    let known = before.as_ref().map(|live| live.run);
    runtime.live = update.surface.map(Arc::new);
    if let Some(live) = runtime.live.clone() {
        // If only the image changes, the spheres, and so the surface, stay in place: the camera need not move.
        let is_elsewhere = before
            .as_ref()
            .is_none_or(|before| before.spheres.is_empty() || before.spheres != live.spheres);
        if let Some(before) = before {
            forget_earlier_steps(state, &before, &live);
        }
        // A session has its own camera.
        let resumes = state.document.segment.resume.is_some();
        replaced::arrived(state);
        if known != Some(live.run) && !resumes && is_elsewhere {
            camera::frame(state, &live);
        }
    }
    let is_refused = |n: u64| update.refused.iter().any(|(number, _)| *number == n);
    let spheres = &mut state.document.segment.spheres;
    // Placing the last sphere is the newest step, unless the user has done something else since; if neither, the same
    // holds for the sphere before.
    while let Some((number, _)) = spheres.pop_if(|(n, _)| is_refused(*n)) {
        let lacks = |before: &Document| !before.segment.spheres.iter().any(|(n, _)| *n == number);
        if !state.history.forget_newest(lacks) {
            break;
        }
    }
    spheres.retain(|(n, _)| !is_refused(*n));
    for (number, why) in update.refused {
        if let Some(requested) = &mut state.runtime.segment.requested {
            requested.spheres.retain(|(n, _)| *n != number);
        }
        state.runtime.notify_warning(SEGMENT, why);
    }
    if !rests {
        return;
    }
    let runtime = &mut state.runtime.segment;
    runtime.running = false;
    let Some(live) = runtime.live.clone() else {
        runtime.play = RunControl::Rest;
        return;
    };
    let stops = match live.ended {
        Ended::Steps => !matches!(runtime.play, RunControl::Run),
        Ended::Converged => true,
        Ended::Vanished | Ended::Filled | Ended::Leaked(_) => true,
    };
    let played = runtime.play != RunControl::Rest;
    // The copy for recovery holds the surface as it is now.
    state.runtime.sessions.autosave.is_due |= played;
    let runtime = &mut state.runtime.segment;
    // A converged surface continues by itself once the request changes.
    if stops && live.ended != Ended::Converged {
        runtime.play = RunControl::Rest;
        if let Some(requested) = &mut runtime.requested {
            requested.play = RunControl::Rest;
        }
    }
    match live.ended {
        Ended::Converged if played => {
            let steps = counted(live.step as usize, "step");
            let sentence = format!("The surface is at rest after {steps}");
            let status = &mut state.runtime.notices.status;
            status.add_result(StatusSubject::ResultOf(Task::Segment), sentence);
        }
        _ => {}
    }
    if std::mem::take(&mut state.runtime.segment.keep_at_rest) {
        keep::keep(state);
    }
}

/// Removes a status about a step that the surface has left since.
fn forget_earlier_steps(state: &mut State, before: &SurfaceUpdate, live: &SurfaceUpdate) {
    let runtime = &state.runtime.segment;
    // Until a rewind is done, the surface still shows the steps that it leaves, or those before its goal.
    let rewinds = runtime.rewind.is_some_and(|rewind| {
        before.last_rewind < rewind.number || rewind.step != u64::MAX && live.step <= rewind.step
    });
    if rewinds || live.step <= before.step {
        return;
    }
    let status = &mut state.runtime.notices.status;
    if status.subject() == StatusSubject::ResultOf(Task::Segment) {
        status.forget_result();
    }
}

/// The run failed, and why.
pub fn failed(state: &mut State, why: &str) {
    let runtime = &mut state.runtime.segment;
    runtime.running = false;
    runtime.keep_at_rest = false;
    runtime.play = RunControl::Rest;
    if let Some(requested) = &mut runtime.requested {
        requested.play = RunControl::Rest;
    }
    runtime.failed = Some(why.to_owned());
}

/// The user stops it: the surface stays where it is, and the spheres are its own.
pub fn stopped(state: &mut State) {
    let is_resuming = state.document.segment.resume.is_some();
    cancelled(state);
    if is_resuming {
        let sentence =
            "Stopped before the surface of this step was restored; the next change restores it";
        let subject = StatusSubject::ResultOf(Task::Segment);
        state.runtime.notices.status = Status::about(subject, sentence.to_owned());
    }
    let runtime = &state.runtime.segment;
    let live = runtime.live.clone().filter(|_| !is_resuming);
    if let Some(live) = live.filter(|live| live.run == runtime.run && live.step > 0) {
        back::rewind_cancelled(state, &live);
    }
}

/// The job ended without a result: the next request asks for the current state. The document stays as it is: what the
/// user has done since the job was stopped counts.
pub fn cancelled(state: &mut State) {
    let runtime = &mut state.runtime.segment;
    runtime.play = RunControl::Rest;
    runtime.running = false;
    if state.document.segment.resume.is_none() {
        runtime.requested = None;
    } else if let Some(requested) = &mut runtime.requested {
        // It is being restored, and continues at the next request.
        requested.play = RunControl::Rest;
    }
}

/// Another backend: the next request moves it there.
pub fn backend_changed(state: &mut State) {
    // The other backend reaches this step by the script. Until then the surface is due, as after an undo.
    let progress = state.surface_progress();
    let runtime = &mut state.runtime.segment;
    if let Some(progress) = progress {
        if let Some(start) = &mut runtime.start {
            start.due = Some(progress.clone());
        }
        runtime.run += 1;
        state.document.segment.resume = Some(progress);
    }
    (runtime.requested, runtime.play) = (None, RunControl::Rest);
}

impl SegmentRuntime {
    /// How the surface of the current run reaches its current state.
    pub fn resume(&self) -> Option<Arc<RunCheckpoint>> {
        let live = self.live.as_ref().filter(|live| live.run == self.run)?;
        Some(Arc::new(RunCheckpoint {
            script: live.script.clone(),
            spheres: live.spheres.clone(),
            placed: live.placed.clone(),
            speed_sources: live.speed_sources.clone(),
            leak: live.leak,
            ended: Some(live.ended),
            awaited: Vec::new(),
        }))
    }
}
