//! Fibre orientation distributions: requesting those that the document wants, and receiving them.

use crate::data::Volume;
use crate::data::text::counted;
use crate::jobs::Unfinished;
use crate::solvers::csd;
use crate::state::core::display::{self, Display};
use crate::state::core::layer::Content;
use crate::state::core::live::{Detail, Order, Pace};
use crate::state::core::notices::{Severity, StatusSubject};
use crate::state::core::text::duration_text;
use crate::state::edit::edit;
use crate::state::files::opening::exported;
use crate::state::files::types::RecentExports;
use crate::state::origin::commands::fit_mask;
use crate::state::origin::{FodMapRecipe, FodRecipe, FodResponses};
use crate::state::tensors::jobs::fod::{EstimateFods, FOD, Responses, SaveFods, map_image};
use crate::state::tensors::mask_text;
use crate::state::tensors::recipe::fod::{FodMap, SAVED_MAPS};
use crate::state::tensors::types::fods::{FodKey, FodResult, FodSettings, Fods, ResponseChoice};
use crate::state::tensors::update::LayerInserter;
use crate::state::{Document, Effect, State};
use std::path::PathBuf;
use std::sync::Arc;

/// Largest number of new layers with distributions.
const LAYERS: u64 = 4;

/// Sets how they are computed, and requests them again if they failed or were stopped before.
pub fn set(state: &mut State, settings: FodSettings) {
    state.runtime.tensors.fods.retry();
    if state.document.distributions.settings != settings {
        edit(state, "Fibre orientations", false, |d| {
            if !settings.requested {
                d.distributions.result = None;
            }
            d.distributions.settings = settings;
        });
    }
}

/// Requests the distributions of the present document unless they exist, are running or have failed; cancels those that
/// are no longer needed.
pub fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let document = &state.document;
    let live = &mut state.runtime.tensors.fods;
    // Undo and sessions bring back earlier ones.
    let shown = document.distributions.result.as_ref();
    live.set_shown(shown.map(|result| (result.key.clone(), Detail::Full, ())));
    match live.follow(document.requested_fods().as_ref(), false, Pace::Newest) {
        Order::Nothing => {}
        Order::Cancel => effects.push(Effect::Cancel(FOD)),
        Order::Start(key, _) => effects.extend(request(document, key).map(Effect::submit)),
    }
}

fn request(document: &Document, key: FodKey) -> Option<EstimateFods> {
    let Content::Scan {
        dwi,
        gradients: Some(gradients),
    } = &document.scan()?.content
    else {
        return None;
    };
    let settings = key.settings.clone();
    Some(EstimateFods {
        key: Some(key),
        dwi: dwi.clone(),
        gradients: gradients.clone(),
        mask: document.chosen_mask().map(|(_, mask)| mask.clone()),
        responses: match settings.responses {
            ResponseChoice::Estimated => Responses::Estimated(None),
            ResponseChoice::Files(files) => Responses::Files(files),
        },
        response_params: settings.response_params,
        params: settings.params,
        peak_params: settings.peak_params,
        wants_peaks: true,
        wants_lobes: true,
    })
}

/// Writes the distributions, their response functions and maps.
pub fn save(state: &mut State, path: PathBuf, effects: &mut Vec<Effect>) {
    let document = &state.document;
    let gradients = match document.scan().map(|l| &l.content) {
        Some(Content::Scan { gradients, .. }) => gradients.clone(),
        _ => None,
    };
    let result = document.distributions.result.as_ref();
    let (Some(result), Some(gradients)) = (result, gradients) else {
        let sentence = "There are no distributions to write yet: estimate them first";
        return state.runtime.notify(Severity::Information, sentence);
    };
    let Some(recipe) = document.origins.fods(result.origin) else {
        return;
    };
    effects.push(Effect::submit(SaveFods {
        fods: result.fods.clone(),
        gradients,
        recipe: recipe.arguments(document, SAVED_MAPS.to_vec()),
        params: result.key.settings.params.clone(),
        path: path.clone(),
    }));
    exported(state, RecentExports::LAYER, &path, effects);
}

/// The user stopped the estimation: it starts again on request, or when a setting changes.
pub fn stopped(state: &mut State) {
    let requested = state.document.requested_fods();
    state.runtime.tensors.fods.give_up(requested.as_ref(), None);
    state.runtime.notices.status = match state.document.distributions.result {
        None => "Stopped: there are no distributions yet",
        Some(_) => "Stopped: the distributions are from before the last change",
    }
    .into();
}

/// An estimation ended without a result.
pub fn not_estimated(state: &mut State, key: &FodKey, end: &Unfinished) {
    let live = &mut state.runtime.tensors.fods;
    // A newer one may have replaced it.
    if live.running() != Some(key) {
        return;
    }
    match end.sentence() {
        None => live.give_up(None, None),
        Some(why) => {
            live.fail_because(why);
            let status = &mut state.runtime.notices.status;
            status.add_result(StatusSubject::Action, why.to_owned());
        }
    }
}

/// Puts distributions into each document that wants them: the present one and those that undo, redo or a snapshot bring
/// back.
pub fn estimated(state: &mut State, key: &FodKey, fods: Fods, wall_ms: f64) {
    let live = &mut state.runtime.tensors.fods;
    if live.running() == Some(key) {
        live.stop();
    }
    let estimated = Estimated {
        key,
        fods: Arc::new(fods),
        wall_ms,
    };
    let wants = |document: &Document| {
        let known = document.distributions.result.as_ref().map(|r| &r.key);
        document.requested_fods().as_ref() == Some(key) && known != Some(key)
    };
    // A layer has the same id in all of them.
    let ids = state.history.documents_mut().map(|d| d.next_id()).max();
    let ids = ids.unwrap_or(0).max(state.document.next_id());
    for document in state.history.documents_mut().filter(|d| wants(d)) {
        estimated.put(document, ids);
    }
    for number in 0..state.runtime.snapshots.all.len() {
        if wants(&state.runtime.snapshots.all[number].document) {
            state.runtime.snapshots.change(number, |snapshot| {
                let ids = snapshot.document.next_id();
                estimated.put(&mut snapshot.document, ids);
            });
        }
    }
    if !wants(&state.document) {
        return;
    }
    estimated.put(&mut state.document, ids);
    let fods = &estimated.fods;
    let message = format!(
        "Estimated the fibre orientations of {} in {}",
        counted(fods.mask.count(), "voxel"),
        duration_text(wall_ms)
    );
    let status = &mut state.runtime.notices.status;
    status.add_result(StatusSubject::Action, message);
    if let Some(doubt) = fods.mask_found.as_ref().and_then(mask_text::doubt) {
        let text = format!("{doubt}. Look at it, or estimate within a mask file");
        state.runtime.notify(Severity::Warning, text);
    }
}

/// Finished distributions, to be put into documents.
struct Estimated<'a> {
    key: &'a FodKey,
    fods: Arc<Fods>,
    wall_ms: f64,
}

impl Estimated<'_> {
    /// Replaces earlier distributions and their maps, which keep their display; new layers get the ids from `ids` on.
    fn put(&self, document: &mut Document, ids: u64) {
        let Some(scan) = document.scan().map(|l| l.origin) else {
            return;
        };
        let (settings, fods) = (&self.key.settings, &self.fods);
        let origin = document.origins.add(FodRecipe {
            scan,
            mask: fit_mask(document, self.key.mask),
            responses: match (&settings.responses, fods.algorithm) {
                (ResponseChoice::Files(files), _) => FodResponses::Files(files.clone()),
                (ResponseChoice::Estimated, Some(algorithm)) => FodResponses::Algorithm(algorithm),
                // An estimation always has an algorithm.
                (ResponseChoice::Estimated, None) => FodResponses::Files(Vec::new()),
            },
            response_params: settings.response_params.clone(),
            // The order is stated, whatever it was chosen from.
            params: csd::Params {
                order: Some(fods.output.order.order),
                ..settings.params.clone()
            },
            peak_params: settings.peak_params.clone(),
        });
        document.distributions.result = Some(Arc::new(FodResult {
            key: self.key.clone(),
            origin,
            fods: fods.clone(),
            wall_ms: self.wall_ms,
        }));
        document.reserve_ids(ids + LAYERS);
        let mut layers = LayerInserter {
            document,
            next_id: ids,
        };
        for map in FodMap::SHOWN {
            let Some(volume) = map_image(map, fods) else {
                continue;
            };
            let content = || Content::Image(volume.clone());
            let shown = || map_display(map, &volume);
            let recipe = FodMapRecipe { fods: origin, map };
            layers.insert(true, map.layer_name(), content, shown, recipe);
        }
        if fods.output.tissues.is_empty() {
            remove_fractions(document);
        }
        if let Some(saved) = document.unrestored.awaited_fods.take() {
            document.arrange_fod_maps(&saved);
        }
    }
}

/// A single tissue has no fractions: those of earlier distributions are removed.
fn remove_fractions(document: &mut Document) {
    let layers = document.layers.iter();
    let fractions = layers.filter(|l| document.origin(l).fod_map() == Some(FodMap::Fractions));
    let fractions: Vec<_> = fractions.map(|l| l.id).collect();
    document.layers.retain(|l| !fractions.contains(&l.id));
}

/// Hidden until the user shows it, like the maps of a tensor fit.
fn map_display(map: FodMap, volume: &Volume) -> Display {
    let window = match map {
        FodMap::AfdTotal => (0.0, volume.percentiles(0, 0.01, 0.998).1),
        _ => (0.0, 1.0),
    };
    Display {
        visible: false,
        ..display::image_display(window)
    }
}
