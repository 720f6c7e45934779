//! Repetitions of the live streamlines: compared once the full result is there, measured, kept as a layer, written.

use crate::data::text::counted;
use crate::state::core::fields::label;
use crate::state::core::live::{Detail, Order, Pace};
use crate::state::core::notices::Severity;
use crate::state::edit::edit;
use crate::state::origin::commands;
use crate::state::pathways::update::noise::{
    RepetitionFiles, distance_file, share_kept, share_layer,
};
use crate::state::pathways::{
    DISTANCE_TO, KEEP_SHARE, NoiseDistanceKey, NoiseDistances, NoiseFile, NoiseMargin,
    SHARE_OF_REPETITIONS,
};
use crate::state::track_noise::jobs::{
    CompareRepetitions, MeasureTrackNoise, TRACK_NOISE, TRACK_NOISE_DISTANCES, TrackNoise,
};
use crate::state::track_noise::recipe::StreamlineShareRecipe;
use crate::state::track_noise::{
    CENTRE_LINES, TrackNoiseKey, TrackNoiseRuntime, TrackNoiseSettings,
};
use crate::state::{CommandLine, Effect, Phase, State};
use std::path::PathBuf;
use std::sync::Arc;

/// Requests what is missing, and cancels what is no longer needed.
pub(in crate::state) fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let is_requested = state.document.track_repetitions().is_some();
    let is_tracked = state.runtime.track.live.value().is_some();
    if !(is_requested && is_tracked) {
        cancel(state, effects);
        state.runtime.track.noise = TrackNoiseRuntime::default();
        return;
    }
    compare(state, effects);
    measure(state, effects);
}

fn cancel(state: &mut State, effects: &mut Vec<Effect>) {
    let noise = &mut state.runtime.track.noise;
    if noise.live.running().is_some() {
        effects.push(Effect::Cancel(TRACK_NOISE));
        noise.live.stop();
    }
    if noise.distances.running().is_some() {
        effects.push(Effect::Cancel(TRACK_NOISE_DISTANCES));
        noise.distances.stop();
    }
}

fn compare(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(key) = state.track_noise_key() else {
        // Earlier repetitions stay, dimmed, until the streamlines are final again.
        return cancel(state, effects);
    };
    let live = &mut state.runtime.track.noise.live;
    match live.follow(Some(&key), false, Pace::Newest) {
        Order::Start(key, _) => {
            let kept = state.final_live().map(|live| &live.output.kept);
            let inputs = kept.and_then(|kept| Some((kept.clone(), kept.grid.clone()?)));
            effects.extend(inputs.map(|(kept, grid)| {
                Effect::submit(CompareRepetitions {
                    kept,
                    repetitions: key.repetitions,
                    grid,
                })
            }));
        }
        Order::Cancel => effects.push(Effect::Cancel(TRACK_NOISE)),
        Order::Nothing => {}
    }
}

/// The key of the requested distances.
fn distance_key(state: &State) -> Option<NoiseDistanceKey> {
    let (noise, mask) = state.measured_track_noise()?;
    Some(NoiseDistanceKey::new(&noise.share, mask))
}

fn measure(state: &mut State, effects: &mut Vec<Effect>) {
    let requested = state.measured_track_noise();
    let requested = requested.map(|(noise, mask)| (noise.clone(), mask.clone()));
    let key = distance_key(state);
    let distances = &mut state.runtime.track.noise.distances;
    // A measurement for a surface that moves is not cancelled, or none would end.
    match (
        distances.follow(key.as_ref(), false, Pace::InTurn),
        requested,
    ) {
        (Order::Start(..), Some((noise, mask))) => {
            let around = distances.value().and_then(|known| known.around.clone());
            effects.push(Effect::submit(MeasureTrackNoise {
                noise,
                mask,
                images: Some(around),
            }));
        }
        (Order::Cancel, _) => effects.push(Effect::Cancel(TRACK_NOISE_DISTANCES)),
        _ => {}
    }
}

/// Receives the share and the centre lines.
pub fn compared(state: &mut State, noise: TrackNoise) {
    let requested = state.track_noise_key();
    let live = &mut state.runtime.track.noise.live;
    live.done(noise.key, Detail::Full, Arc::new(noise), requested.as_ref());
}

/// A comparison failed with a sentence, or was cancelled.
pub fn not_compared(state: &mut State, key: TrackNoiseKey, why: Option<&str>) {
    let live = &mut state.runtime.track.noise.live;
    live.end_without_result(&key, why);
}

/// Receives distances.
pub fn measured(state: &mut State, key: NoiseDistanceKey, distances: NoiseDistances) {
    let requested = distance_key(state);
    let live = &mut state.runtime.track.noise.distances;
    live.done(key, Detail::Full, Arc::new(distances), requested.as_ref());
}

/// A measurement failed with a sentence, or was cancelled.
pub fn not_measured(state: &mut State, key: NoiseDistanceKey, why: Option<&str>) {
    let live = &mut state.runtime.track.noise.distances;
    live.end_without_result(&key, why);
}

/// The user stopped the comparison.
pub fn stopped(state: &mut State) {
    const STOPPED: &str = "Stopped before the repetitions were compared";
    let requested = state.track_noise_key();
    let live = &mut state.runtime.track.noise.live;
    live.give_up(requested.as_ref(), Some(STOPPED));
    state.runtime.notices.status = STOPPED.into();
}

/// The user stopped the measurement of distances.
pub fn measurement_stopped(state: &mut State) {
    let requested = distance_key(state);
    let distances = &mut state.runtime.track.noise.distances;
    let why = "Stopped before the distances were measured";
    distances.give_up(requested.as_ref(), Some(why));
}

/// Permits another attempt.
pub fn repeat_again(state: &mut State) {
    let noise = &mut state.runtime.track.noise;
    noise.live.retry();
    noise.distances.retry();
}

/// Changes the settings.
pub fn set(state: &mut State, settings: TrackNoiseSettings, phase: Phase) {
    let name = match (&state.document.track.noise, &settings) {
        (was, is) if was.shows_share != is.shows_share => SHARE_OF_REPETITIONS,
        (was, is) if was.shows_centre_lines != is.shows_centre_lines => CENTRE_LINES,
        (was, is) if was.distance_to != is.distance_to => DISTANCE_TO,
        _ => label::<NoiseMargin>("margin"),
    };
    edit(state, name, phase == Phase::Live, |document| {
        document.track.noise = settings.sanitized();
    });
}

/// The repetitions, unless they are not to be used yet, which is reported.
fn usable(state: &mut State) -> Option<Arc<TrackNoise>> {
    if let Some(why) = state.why_no_track_noise().map(str::to_owned) {
        state.runtime.notify(Severity::Information, why);
        return None;
    }
    state.current_track_noise().cloned()
}

/// The recipe of the share of the live streamlines.
fn recipe(state: &State) -> Option<StreamlineShareRecipe> {
    let live = state.final_live()?;
    let curves = commands::live_curve_recipe(live);
    let curves = state.document.origins.add(curves);
    Some(StreamlineShareRecipe { curves })
}

/// Adds the share of the repetitions as a layer; the live share stays shown.
pub fn keep_share(state: &mut State) {
    let Some(noise) = usable(state) else {
        return;
    };
    let Some(recipe) = recipe(state) else {
        return;
    };
    let all = noise.key.repetitions;
    let share = noise.share.clone();
    let id = edit(state, KEEP_SHARE, false, |document| {
        share_layer(
            document,
            recipe,
            &format!("Share of {} of streamlines", counted(all, "repetition")),
            share,
            all,
        )
    });
    share_kept(state, id, all);
}

/// The command that tracks the live streamlines and compares their repetitions, with the distances from the chosen mask, if
/// there is one.
pub fn command_line(state: &State) -> Option<CommandLine> {
    state.current_track_noise()?;
    match state.target_file(state.document.track.noise.distance_to) {
        Ok(distance_to) => command_with_distances(state, distance_to),
        Err(why) => Some(why.into()),
    }
}

fn command_with_distances(state: &State, distance_to: Option<PathBuf>) -> Option<CommandLine> {
    let streamlines = state.document.live_command_line(state.final_live()?);
    Some(CommandLine::StreamlineNoise {
        streamlines: Box::new(streamlines),
        distance_to,
    })
}

/// Writes a file of the repetitions.
pub fn save(state: &mut State, file: NoiseFile, path: PathBuf, effects: &mut Vec<Effect>) {
    let Some(noise) = usable(state) else {
        return;
    };
    let command = command_with_distances(state, None).map(|line| line.text());
    let command = command.unwrap_or_default();
    let distances = state.track_noise_distances();
    let files = RepetitionFiles {
        share: noise.share.clone(),
        curves: noise.centre_lines.clone(),
        distances: distance_file(distances, state.why_no_track_noise_distances()),
        command,
    };
    files.write(state, file, path, effects);
}
