//! Repetitions of the live pathway: growing batch by batch while nothing else runs, measured, kept as a layer, written.

use crate::data::appearance::{ColourMap, Interpolation};
use crate::data::text::counted;
use crate::data::{Tractogram, Volume};
use crate::jobs::ValueNames;
use crate::solvers::pathway::{Distances, RepetitionParams};
use crate::state::core::display::{self, Display};
use crate::state::core::layer::{Content, LayerId, OriginId};
use crate::state::core::live::{Detail, Order, Pace};
use crate::state::core::notices::Severity;
use crate::state::edit::edit;
use crate::state::files::jobs::{SAVE, SaveTractogram, SaveVolume};
use crate::state::files::opening::exported;
use crate::state::origin::commands;
use crate::state::origin::{Describe as _, Origin};
use crate::state::pathways::jobs::{
    GrowRepetitions, MeasurePathwayNoise, PATHWAY_NOISE, PATHWAY_NOISE_DISTANCES, PathwayNoise,
    RepeatPathway, RepeatedScan, SaveDistances, TRACE,
};
use crate::state::pathways::recipe::{ShareRecipe, UncertaintyCommand};
use crate::state::pathways::update::ends_name;
use crate::state::pathways::{
    KEEP_SHARE, NO_REPETITIONS, NoiseDistanceKey, NoiseDistances, NoiseFile, PathwayNoiseKey,
    PathwayNoiseRuntime, PathwayParams, PathwayResult, share_window,
};
use crate::state::tensors::inputs::{self, MissingInput};
use crate::state::tensors::jobs::input::{Distributions, Tensors};
use crate::state::track::types::odf::Model;
use crate::state::{CommandLine, Document, Effect, State};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Delay before the first repetitions, which another change would make useless.
const REST: Duration = Duration::from_millis(500);

/// Requests what is missing, and cancels what is no longer needed.
pub(in crate::state) fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    if !state.document.pathways.noise.repeats {
        forget(state, effects);
        return;
    }
    let is_awaited = state.pathway_awaits_surface() || state.is_pathway_field_computed();
    if state.pathway_key().is_none() && !is_awaited {
        // One of its ends was removed.
        state.runtime.pathways.noise.live.clear_shown();
    }
    // The next batch waits for the distances of the last one.
    measure(state, effects);
    grow(state, effects);
}

/// Repetitions are switched off: nothing of them is computed or stored.
fn forget(state: &mut State, effects: &mut Vec<Effect>) {
    let noise = &mut state.runtime.pathways.noise;
    if noise.live.running().is_some() {
        effects.push(Effect::Cancel(PATHWAY_NOISE));
    }
    if noise.distances.running().is_some() {
        effects.push(Effect::Cancel(PATHWAY_NOISE_DISTANCES));
    }
    let surface = std::mem::take(&mut noise.surface);
    *noise = PathwayNoiseRuntime {
        surface,
        ..PathwayNoiseRuntime::default()
    };
}

fn grow(state: &mut State, effects: &mut Vec<Effect>) {
    let key = state.next_pathway_noise_key();
    let live = &state.runtime.pathways.noise.live;
    if let Some(running) = live.running() {
        if key.as_ref() != Some(running) {
            effects.push(Effect::Cancel(PATHWAY_NOISE));
        }
        return;
    }
    let Some(key) = key.filter(|_| !state.is_dragging() && is_idle(state)) else {
        return;
    };
    let scan = state.document.repeated_scan();
    let Some((pathway, scan)) = state.final_pathway().cloned().zip(scan) else {
        return;
    };
    let rest = match state.current_pathway_noise() {
        None => REST,
        Some(_) => Duration::ZERO,
    };
    let live = &mut state.runtime.pathways.noise.live;
    let known = live
        .value()
        .filter(|known| known.key.pathway == key.pathway);
    let known = known.cloned();
    let Some(key) = live.ask(Some(key)) else {
        return;
    };
    state.runtime.pathways.noise.was_stopped = false;
    effects.push(Effect::submit(GrowRepetitions {
        pathway,
        key,
        scan,
        known,
        rest,
    }));
}

/// Whether no other job uses the processors for longer than a moment.
fn is_idle(state: &State) -> bool {
    let pathways = &state.runtime.pathways;
    let is_comparing = pathways.compared.running().is_some();
    let is_measuring = pathways.noise.distances.running().is_some();
    !is_comparing && !is_measuring && state.runtime.jobs.is_idle(&[TRACE, SAVE])
}

/// The key of the requested distances.
fn distance_key(state: &State) -> Option<NoiseDistanceKey> {
    let (noise, mask) = state.measured_pathway_noise()?;
    Some(NoiseDistanceKey::new(&noise.share, mask))
}

fn measure(state: &mut State, effects: &mut Vec<Effect>) {
    let requested = state.measured_pathway_noise();
    let requested = requested.map(|(noise, mask)| (noise.clone(), mask.clone()));
    let key = distance_key(state);
    // A running measurement is not cancelled; otherwise each batch could cancel the last one.
    let distances = &mut state.runtime.pathways.noise.distances;
    match (
        distances.follow(key.as_ref(), false, Pace::InTurn),
        requested,
    ) {
        (Order::Start(..), Some((noise, mask))) => {
            let around = distances.value().and_then(|known| known.around.clone());
            let job = MeasurePathwayNoise {
                noise,
                mask,
                around,
            };
            effects.push(Effect::submit(job));
        }
        (Order::Cancel, _) => effects.push(Effect::Cancel(PATHWAY_NOISE_DISTANCES)),
        _ => {}
    }
}

/// Receives more repetitions.
pub fn grown(state: &mut State, noise: PathwayNoise) {
    let requested = state.next_pathway_noise_key();
    let live = &mut state.runtime.pathways.noise.live;
    // A batch may end in the moment in which the user stops it.
    if live.running() != Some(&noise.key) {
        return;
    }
    let key = noise.key.clone();
    live.done(key, Detail::Full, Arc::new(noise), requested.as_ref());
}

/// A batch failed with a sentence, or was stopped.
pub fn not_grown(state: &mut State, key: &PathwayNoiseKey, why: Option<&str>) {
    let live = &mut state.runtime.pathways.noise.live;
    live.end_without_result(key, why);
}

/// The user stopped the repetitions: the finished ones stay.
pub fn stopped(state: &mut State) {
    let requested = state.next_pathway_noise_key();
    let done = state
        .current_pathway_noise()
        .map_or(0, |noise| noise.key.repetitions);
    let text = match done {
        0 => "Stopped before the first repetitions".to_owned(),
        _ => format!("Stopped after {}", counted(done, "repetition")),
    };
    let live = &mut state.runtime.pathways.noise.live;
    live.give_up(requested.as_ref(), Some(&text));
    state.runtime.pathways.noise.was_stopped = true;
    state.runtime.notices.status = text.into();
}

/// The user stopped the measurement of distances.
pub fn measurement_stopped(state: &mut State) {
    let distances = &mut state.runtime.pathways.noise.distances;
    distances.give_up(None, Some("Stopped before the distances were measured"));
}

/// Permits another attempt.
pub fn repeat_again(state: &mut State) {
    let noise = &mut state.runtime.pathways.noise;
    noise.live.retry();
    noise.distances.retry();
}

/// Receives distances.
pub fn measured(state: &mut State, key: NoiseDistanceKey, distances: NoiseDistances) {
    let requested = distance_key(state);
    let live = &mut state.runtime.pathways.noise.distances;
    live.done(key, Detail::Full, Arc::new(distances), requested.as_ref());
}

/// A measurement failed with a sentence, or was cancelled.
pub fn not_measured(state: &mut State, key: NoiseDistanceKey, why: Option<&str>) {
    let live = &mut state.runtime.pathways.noise.distances;
    live.end_without_result(&key, why);
}

/// Reports why the repetitions cannot be used yet.
fn report(state: &mut State, why: &str) {
    let why = why.to_owned();
    state.runtime.notify(Severity::Information, why);
}

/// The recipe of the shares of repetitions; `None` if the origin of the tensors is unknown.
fn recipe(document: &Document, noise: &PathwayNoise) -> Option<ShareRecipe> {
    Some(ShareRecipe {
        fit: commands::field_origin(document, noise.key.pathway.field)?,
        regions: noise.key.pathway.regions.clone(),
        params: noise.key.pathway.params,
        epsilon: noise.key.epsilon,
        repetitions: RepetitionParams {
            repetitions: noise.key.repetitions,
            random_seed: noise.key.random_seed,
        },
    })
}

/// Adds the share of the repetitions as a layer, or replaces the values of the one with the same recipe; the live share
/// stays shown.
pub(in crate::state) fn keep_share(state: &mut State) {
    if let Some(why) = state.why_no_pathway_noise().map(str::to_owned) {
        return report(state, &why);
    }
    let noise = state.current_pathway_noise().cloned();
    let Some(noise) = noise else {
        return;
    };
    let Some(recipe) = recipe(&state.document, &noise) else {
        return;
    };
    let all = noise.key.repetitions;
    let through = match noise.key.pathway.params.model() {
        Model::Tensors => "",
        Model::Distributions => " through crossings",
    };
    let name = format!(
        "Share of {} of {}{through}",
        counted(all, "repetition"),
        ends_name(&noise.pathway)
    );
    let share = noise.share.clone();
    let id = edit(state, KEEP_SHARE, false, |document| {
        share_layer(document, recipe, &name, share, all)
    });
    share_kept(state, id, all);
}

/// Adds shares of repetitions as a hidden layer on top, or replaces the values of the one with the same recipe. It begins
/// hidden because the live share has the same colours: both together would be denser than either.
pub(in crate::state) fn share_layer(
    document: &mut Document,
    recipe: impl Into<Origin>,
    name: &str,
    share: Volume,
    repetitions: usize,
) -> LayerId {
    let origin = document.origins.add(recipe);
    let layers = &mut document.layers;
    if let Some(known) = layers.iter_mut().find(|layer| layer.origin == origin) {
        let layer = Arc::make_mut(known);
        layer.content = Content::Image(share);
        return layer.id;
    }
    let id = LayerId(document.fresh_id());
    let name = document.free_layer_name(name);
    let layer = ShareRecipe::layer(id, name, share, share_display(repetitions), origin);
    document.layers.push(Arc::new(layer));
    id
}

/// Selects a layer of shares that was kept, and reports it.
pub(in crate::state) fn share_kept(state: &mut State, id: LayerId, repetitions: usize) {
    state.runtime.selected_layer = Some(id);
    state.runtime.regions.selected = None;
    let layer = state.document.layer(id);
    let kind = match layer.is_some_and(|layer| layer.display.visible) {
        true => "layer",
        false => "hidden layer",
    };
    let share = counted(repetitions, "repetition");
    state.runtime.notices.status = format!("Kept the share of {share} as a {kind}").into();
}

/// Voxels in none of the repetitions are transparent.
fn share_display(repetitions: usize) -> Display {
    Display {
        visible: false,
        colour_map: ColourMap::Share,
        interpolation: Interpolation::Nearest,
        opacity: 0.8,
        ..display::image_display(share_window(repetitions))
    }
}

/// The command that computes the shown repetitions and the distances from the chosen mask, if there is one.
pub fn command_line(state: &State) -> Option<CommandLine> {
    let document = &state.document;
    let noise = state.current_pathway_noise()?;
    let recipe = recipe(document, noise)?;
    let distance_to = match state.target_file(document.pathways.noise.distance_to) {
        Ok(distance_to) => distance_to,
        Err(why) => return Some(why.into()),
    };
    Some(match recipe.command_line(document) {
        CommandLine::Uncertainty(command) => {
            CommandLine::Uncertainty(Box::new(UncertaintyCommand {
                distance_to,
                ..*command
            }))
        }
        line => line,
    })
}

/// The scan of the tensors of a layer of this name.
fn fitted_scan(
    document: &Document,
    name: &str,
    origin: OriginId,
) -> Result<RepeatedScan, MissingInput> {
    let (dwi, gradients, fit) = match inputs::tensors(document, name, origin)? {
        Tensors::Here {
            resample: Some(scan),
            ..
        } => (scan.dwi, Some(scan.gradients), scan.params),
        Tensors::Fit {
            dwi,
            gradients,
            params,
            ..
        } => (dwi, gradients, params),
        Tensors::Here { resample: None, .. } => return Err(MissingInput::scan(name)),
    };
    let gradients = gradients.ok_or_else(|| MissingInput::scan(name))?;
    Ok(RepeatedScan::Tensors {
        dwi,
        gradients,
        fit,
    })
}

/// The repetitions that give the shares of a layer of this name, for its pathway.
pub fn repeat_share(
    document: &Document,
    name: &str,
    recipe: &ShareRecipe,
    pathway: Arc<PathwayResult>,
) -> Result<RepeatPathway, MissingInput> {
    let scan = match recipe.params {
        PathwayParams::Tensors(_) => fitted_scan(document, name, recipe.fit)?,
        PathwayParams::Distributions(_) => {
            match inputs::distributions(document, name, recipe.fit)? {
                Distributions::Here {
                    resample: Some(scan),
                    ..
                } => RepeatedScan::Distributions(scan),
                Distributions::Here { resample: None, .. } | Distributions::Read(_) => {
                    return Err(MissingInput::scan(name));
                }
                estimate @ Distributions::Estimate(_) => {
                    RepeatedScan::Estimated(Box::new(estimate))
                }
            }
        }
    };
    Ok(RepeatPathway {
        pathway,
        epsilon: recipe.epsilon,
        scan,
        params: recipe.repetitions,
        distance_to: None,
    })
}

/// Writes a file of the shown repetitions.
pub(in crate::state) fn save(
    state: &mut State,
    file: NoiseFile,
    path: PathBuf,
    effects: &mut Vec<Effect>,
) {
    let why = state.why_no_pathway_noise().map(str::to_owned);
    let noise = state
        .current_pathway_noise()
        .filter(|_| why.is_none())
        .cloned();
    let Some(noise) = noise else {
        return report(state, why.as_deref().unwrap_or(NO_REPETITIONS));
    };
    let document = &state.document;
    let recipe = recipe(document, &noise);
    let command = recipe.map(|recipe| recipe.command_line(document).text());
    let command = command.unwrap_or_default();
    let distances = state.pathway_noise_distances();
    let distances = distances.filter(|distances| distances.repetitions == noise.key.repetitions);
    let files = RepetitionFiles {
        share: noise.share.clone(),
        curves: noise.paths.clone(),
        distances: distance_file(distances, state.why_no_pathway_noise_distances()),
        command,
    };
    files.write(state, file, path, effects);
}

/// The distances along the shown curve that a file contains, or why there are none.
pub(in crate::state) fn distance_file(
    distances: Option<&Arc<NoiseDistances>>,
    why: Option<String>,
) -> Result<Arc<Distances>, String> {
    let along = distances.and_then(|distances| distances.along.clone());
    along.ok_or_else(|| why.unwrap_or_else(|| "Waiting for the distances".to_owned()))
}

/// The contents of the files of repetitions.
pub(in crate::state) struct RepetitionFiles {
    pub share: Volume,
    /// The paths or centre lines of the repetitions.
    pub curves: Tractogram,
    pub distances: Result<Arc<Distances>, String>,
    /// The command that writes these files.
    pub command: String,
}

impl RepetitionFiles {
    /// Writes one of the files, or reports why there is none.
    pub(in crate::state) fn write(
        self,
        state: &mut State,
        file: NoiseFile,
        path: PathBuf,
        effects: &mut Vec<Effect>,
    ) {
        let command = self.command;
        let job = match file {
            NoiseFile::Share => Effect::submit(SaveVolume {
                source: None,
                volume: self.share,
                path: path.clone(),
                command,
            }),
            NoiseFile::Paths => Effect::submit(SaveTractogram {
                tractogram: self.curves,
                path: path.clone(),
                command,
                values: ValueNames::default(),
            }),
            NoiseFile::Distances => match self.distances {
                Ok(distances) => Effect::submit(SaveDistances {
                    path: path.clone(),
                    distances,
                    has_percentiles: true,
                }),
                Err(why) => return report(state, &why),
            },
        };
        match file.kind() {
            Some(kind) => exported(state, kind, &path, effects),
            None => state.runtime.forget_failures(SAVE),
        }
        effects.push(job);
    }
}
