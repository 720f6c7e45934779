//! Fibre orientation distributions: requesting those that the document wants, and receiving them.

use crate::data::odf_field::Tissue;
use crate::data::text::counted;
use crate::data::{Mask, Shape, Volume, VolumeKind};
use crate::jobs::Unfinished;
use crate::solvers::csd;
use crate::solvers::tensor_fit::FitMap;
use crate::state::core::display::{self, Display};
use crate::state::core::layer::{Content, Layer, LayerId, OriginId};
use crate::state::core::live::{Detail, Order, Pace};
use crate::state::core::notices::{Severity, StatusSubject, Topic};
use crate::state::core::text::duration_text;
use crate::state::edit::edit;
use crate::state::files::opening::exported;
use crate::state::files::types::RecentExports;
use crate::state::origin::commands::fit_mask;
use crate::state::origin::{FodMapRecipe, FodRecipe};
use crate::state::regions::recipe::ShapeSpec;
use crate::state::tensors::inputs::{as_opened, moved_image};
use crate::state::tensors::jobs::fod::{
    EstimateFods, FOD, ReadFods, ResponseInput, Responses, SaveFods, map_image,
};
use crate::state::tensors::mask_text;
use crate::state::tensors::recipe::fod::{FodMap, ResponseSource, SAVED_MAPS, TissueSource};
use crate::state::tensors::types::fods::{
    FodKey, FodResult, FodSettings, FodSource, Fods, ResponseChoice, TissueChoice,
};
use crate::state::tensors::update::LayerInserter;
use crate::state::tensors::withdraw::{self, WithoutResult};
use crate::state::{Document, Effect, State};
use std::path::PathBuf;
use std::sync::Arc;

/// Largest number of new layers with distributions.
const LAYERS: u64 = 7;

/// Upper ends of the display windows of maps of uncertainty: beyond, a peak is not known.
const SHOWN_CONE_DEG: f32 = 45.0;
const SHOWN_DISPERSION: f32 = 0.1;

/// Sets how they are computed, and requests them again if they failed or were stopped before.
pub fn set(state: &mut State, settings: FodSettings) {
    state.runtime.tensors.fods.retry();
    state.runtime.forget_failures(FOD);
    let is_read = matches!(settings.source, FodSource::Image(_));
    if is_read {
        state.runtime.forget(Topic::DistributionsOpened);
    }
    if state.document.distributions.settings != settings {
        edit(state, "Fibre orientations", false, |d| {
            if !settings.requested {
                d.distributions.result = None;
            }
            d.distributions.settings = settings;
        });
    }
}

/// Sets where the response function of one tissue comes from; each tissue then has its own choice.
pub fn set_response(state: &mut State, tissue: Tissue, choice: TissueChoice) {
    let now = state.document.distributions.settings.clone();
    let responses = now.responses.with_tissue(tissue, choice);
    set(state, FodSettings { responses, ..now });
}

/// Uses files of response functions that were read: that of a tissue, or those of all.
pub fn use_responses(state: &mut State, tissue: Option<Tissue>, files: &[PathBuf]) {
    match (tissue, files) {
        (Some(tissue), [file]) => set_response(state, tissue, TissueChoice::File(file.clone())),
        _ => {
            let responses = ResponseChoice::Files(files.to_vec());
            let now = state.document.distributions.settings.clone();
            set(state, FodSettings { responses, ..now });
        }
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
    let was_running = live.running().is_some();
    let requested = document.requested_fods();
    let uses_regions = requested.as_ref().is_some_and(FodKey::uses_regions);
    if uses_regions && state.is_dragging() {
        // A deconvolution takes longer than a step of a moving region.
        return;
    }
    let live = &mut state.runtime.tensors.fods;
    match live.follow(requested.as_ref(), false, Pace::Newest) {
        Order::Nothing => {}
        Order::Cancel => effects.push(Effect::Cancel(FOD)),
        Order::Start(key, _) => match known(state, &key) {
            Some(known) => {
                if was_running {
                    effects.push(Effect::Cancel(FOD));
                }
                put(state, &key, &known.fods, known.wall_ms);
            }
            None => effects.extend(request(&state.document, key)),
        },
    }
}

/// Distributions that an earlier document has: switching between those of the scan and of a file computes nothing.
fn known(state: &mut State, key: &FodKey) -> Option<Arc<FodResult>> {
    let documents = state.history.documents_mut();
    let mut results = documents.filter_map(|d| d.distributions.result.as_ref());
    results.find(|result| result.key == *key).cloned()
}

fn request(document: &Document, key: FodKey) -> Option<Effect> {
    let settings = key.settings.clone();
    if let FodSource::Image(layer) = settings.source {
        let (layer, volume, layout) = document.fod_image(layer)?;
        return Some(Effect::submit(ReadFods {
            key: Some(key),
            path: document.path(layer)?.to_owned(),
            volume: as_opened(document, layer, volume).clone(),
            layout,
            moved: moved_image(document, layer, volume),
            peak_params: settings.peak_params,
            wants_peaks: true,
            wants_lobes: true,
        }));
    }
    let Content::Scan {
        dwi,
        gradients: Some(gradients),
    } = &document.scan()?.content
    else {
        return None;
    };
    let responses = match &settings.responses {
        ResponseChoice::Estimated => Responses::Estimated(None),
        ResponseChoice::Files(files) => Responses::Files(files.clone()),
        ResponseChoice::Each(choices) => Responses::Each {
            algorithm: None,
            tissues: inputs(choices, &key),
        },
    };
    Some(Effect::submit(EstimateFods {
        key: Some(key),
        dwi: dwi.clone(),
        gradients: gradients.clone(),
        mask: document.chosen_mask().map(|(_, mask)| mask.clone()),
        responses,
        response_params: settings.response_params,
        params: settings.params,
        peak_params: settings.peak_params,
        wants_peaks: true,
        wants_lobes: true,
    }))
}

/// The inputs of the response functions, without the tissues that are left out.
fn inputs(choices: &[TissueChoice; 3], key: &FodKey) -> Vec<(Tissue, ResponseInput)> {
    let all = Tissue::ALL.into_iter().zip(choices).zip(&key.regions);
    let input = |((tissue, choice), region): ((Tissue, &TissueChoice), &Option<Arc<Shape>>)| {
        let input = match (choice, region) {
            (TissueChoice::Omitted, _) => return None,
            (TissueChoice::Estimated, _) => ResponseInput::Algorithm,
            (TissueChoice::File(path), _) => ResponseInput::File(path.clone()),
            (TissueChoice::Region(_) | TissueChoice::Layer(_), Some(shape)) => {
                ResponseInput::Inside(shape.clone())
            }
            (TissueChoice::Region(_) | TissueChoice::Layer(_), None) => ResponseInput::Missing,
        };
        Some((tissue, input))
    };
    all.filter_map(input).collect()
}

/// The source of the response functions, for the recipe of distributions in a document.
fn source(document: &Document, key: &FodKey, fods: &Fods) -> ResponseSource {
    if key.is_read() {
        return ResponseSource::NotUsed;
    }
    let choices = match (&key.settings.responses, fods.algorithm) {
        (ResponseChoice::Files(files), _) => return ResponseSource::Files(files.clone()),
        (ResponseChoice::Estimated, Some(algorithm)) => {
            return ResponseSource::Algorithm(algorithm);
        }
        // An estimation always has an algorithm.
        (ResponseChoice::Estimated, None) => return ResponseSource::Files(Vec::new()),
        (ResponseChoice::Each(choices), _) => choices,
    };
    let name = |choice: &TissueChoice| match choice {
        TissueChoice::Region(id) => document.region(*id).map(|region| region.name.clone()),
        TissueChoice::Layer(id) => document.layer(*id).map(|layer| layer.name.clone()),
        _ => None,
    };
    let all = Tissue::ALL.into_iter().zip(choices).zip(&key.regions);
    let source = |((tissue, choice), region): ((Tissue, &TissueChoice), &Option<Arc<Shape>>)| {
        let source = match (choice, region) {
            (TissueChoice::Omitted, _) => return None,
            (TissueChoice::Estimated, _) => TissueSource::Algorithm,
            (TissueChoice::File(path), _) => TissueSource::File(path.clone()),
            (choice, region) => {
                let path = match region.as_deref() {
                    Some(Shape::Mask(mask)) => document.mask_file(mask),
                    _ => None,
                };
                let shape = region.as_ref();
                match shape.and_then(|shape| ShapeSpec::from_shape(shape, path)) {
                    Some(shape) => TissueSource::Region(shape),
                    None => TissueSource::NoFile(name(choice).unwrap_or_default()),
                }
            }
        };
        Some((tissue, source))
    };
    ResponseSource::Each {
        algorithm: fods.algorithm,
        tissues: all.filter_map(source).collect(),
    }
}

impl Document {
    /// Masks without a file in which the response functions of distributions were measured.
    pub fn masks_of_responses(&self, result: &FodResult) -> Vec<(Tissue, Mask)> {
        let Some(recipe) = self.origins.fods(result.origin) else {
            return Vec::new();
        };
        let regions = Tissue::ALL.into_iter().zip(&result.key.regions);
        let regions = regions.filter(|(tissue, _)| recipe.responses.is_without_file(*tissue));
        let masks = regions.filter_map(|(tissue, region)| match region.as_deref()? {
            Shape::Mask(mask) => Some((tissue, mask.clone())),
            Shape::Sphere { .. } | Shape::Box { .. } => None,
        });
        masks.collect()
    }
}

/// Writes the distributions, their response functions and maps.
pub fn save(state: &mut State, path: PathBuf, effects: &mut Vec<Effect>) {
    let document = &state.document;
    let gradients = match document.scan().map(|l| &l.content) {
        Some(Content::Scan { gradients, .. }) => gradients.clone(),
        _ => None,
    };
    let result = document.distributions.result.as_ref();
    let result = result.filter(|result| result.key.is_read() || gradients.is_some());
    let Some(result) = result else {
        let sentence = "There are no distributions to write yet: estimate them first";
        return state.runtime.notify(Severity::Information, sentence);
    };
    let Some(recipe) = document.origins.fods(result.origin) else {
        return;
    };
    let recipe = recipe.description(document, SAVED_MAPS.to_vec());
    effects.push(Effect::submit(SaveFods {
        fods: result.fods.clone(),
        gradients: gradients.filter(|_| !result.key.is_read()),
        masks: document.masks_of_responses(result),
        recipe,
        params: result.key.settings.params.clone(),
        path: path.clone(),
    }));
    exported(state, RecentExports::LAYER, &path, effects);
}

/// The user stopped the estimation: the request is withdrawn. If it stays, it starts again on request, or when a setting
/// changes.
pub fn stopped(state: &mut State) {
    let requested = state.document.requested_fods();
    state.runtime.tensors.fods.give_up(requested.as_ref(), None);
    let is_withdrawn =
        requested.is_some_and(|key| withdraw::fods(state, &key, WithoutResult::Stopped));
    let has_distributions = state.document.distributions.result.is_some();
    state.runtime.notices.status = match (has_distributions, is_withdrawn) {
        (false, _) => "Stopped: there are no distributions yet",
        (true, true) => "Stopped: the earlier distributions stay in use, with their settings",
        (true, false) => "Stopped: the distributions are from before the last change",
    }
    .into();
}

/// An estimation ended without a result. If its request is withdrawn, a message gives the reason; otherwise the section
/// of the distributions does.
pub fn not_estimated(state: &mut State, key: &FodKey, end: &Unfinished) {
    let live = &mut state.runtime.tensors.fods;
    // A newer one may have replaced it.
    if live.running() != Some(key) {
        return;
    }
    let Some(why) = end.sentence() else {
        return live.give_up(None, None);
    };
    live.fail_because(why);
    let status = &mut state.runtime.notices.status;
    status.add_result(StatusSubject::Action, why.to_owned());
    // After a failure of the device, the same request may be computed elsewhere.
    let is_final = matches!(end, Unfinished::Failed(_));
    if is_final && withdraw::fods(state, key, WithoutResult::Failed) {
        let text = match state.document.distributions.result {
            Some(_) => format!("The earlier distributions stay in use. {why}"),
            None => why.to_owned(),
        };
        state.runtime.notify_failure(FOD, text);
    }
}

/// Receives distributions.
pub fn estimated(state: &mut State, key: &FodKey, fods: Fods, wall_ms: f64) {
    let fods = Arc::new(fods);
    if !put(state, key, &fods, wall_ms) {
        return;
    }
    let voxels = counted(fods.mask.count(), "voxel");
    let time = duration_text(wall_ms);
    let verb = match key.is_read() {
        true => "Read",
        false => "Estimated",
    };
    let message = format!("{verb} the fibre orientations of {voxels} in {time}");
    let status = &mut state.runtime.notices.status;
    status.add_result(StatusSubject::Action, message);
    if let Some(doubt) = fods.mask_report.as_ref().and_then(mask_text::doubt) {
        let text = format!("{doubt}. Look at it, or estimate within a mask file");
        state.runtime.notify(Severity::Warning, text);
    }
}

/// Puts distributions into each document that wants them: the present one and those that undo, redo or a snapshot bring
/// back. Whether the present one is among them.
fn put(state: &mut State, key: &FodKey, fods: &Arc<Fods>, wall_ms: f64) -> bool {
    let live = &mut state.runtime.tensors.fods;
    if live.running() == Some(key) {
        live.stop();
    }
    let estimated = Estimated {
        key,
        fods: fods.clone(),
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
    let is_requested = wants(&state.document);
    if is_requested {
        estimated.put(&mut state.document, ids);
    }
    is_requested
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
        let Some(scan) = document.fod_source().map(|l| l.origin) else {
            return;
        };
        let (settings, fods) = (&self.key.settings, &self.fods);
        let origin = document.origins.add(FodRecipe {
            scan,
            mask: fit_mask(document, self.key.mask),
            responses: source(document, self.key, fods),
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
        let voxels = layers.document.has_response_voxels();
        for map in voxels
            .then_some(FodMap::ResponseVoxels)
            .into_iter()
            .chain(FodMap::SHOWN)
        {
            layers.insert_map(map, fods, origin);
        }
        if fods.measured.is_empty() {
            remove(layers.document, |map| map == FodMap::ResponseVoxels);
        }
        if fods.output.tissues.is_empty() {
            remove_fractions(document);
        }
        if fods.uncertainty.is_none() {
            remove(document, FodMap::is_of_bootstrap);
        }
        if let Some(saved) = document.session.unrestored.awaited_fods.take() {
            document.arrange_fod_maps(&saved);
        }
    }
}

impl LayerInserter<'_> {
    /// Inserts a map of distributions, if they have it.
    fn insert_map(&mut self, map: FodMap, fods: &Fods, origin: OriginId) {
        if let Some(volume) = map_image(map, fods) {
            let content = || Content::Image(volume.clone());
            let shown = || map_display(map, &volume);
            let recipe = FodMapRecipe { fods: origin, map };
            self.insert(true, map.layer_name(), content, shown, recipe);
        }
    }
}

impl Document {
    /// Whether the voxels of the response functions are a layer, or were one in the opened session.
    fn has_response_voxels(&self) -> bool {
        let is_of_it = |map: Option<FodMap>| map == Some(FodMap::ResponseVoxels);
        let awaited = self.session.unrestored.awaited_fods.as_ref();
        let is_awaited = awaited.is_some_and(|saved| {
            let mut layers = saved.layers().iter();
            layers.any(|layer| is_of_it(saved.fod_map_of(layer)))
        });
        let mut layers = self.layers.iter();
        is_awaited || layers.any(|layer| is_of_it(self.origin(layer).fod_map()))
    }
}

/// Shows the voxels in which the response functions were measured: as a new layer above all others, if there is none.
pub fn show_response_voxels(state: &mut State) {
    let Some(result) = state.document.distributions.result.clone() else {
        return;
    };
    let mut layers = state.document.layers.iter();
    let map = Some(FodMap::ResponseVoxels);
    let known = layers.find(|layer| state.document.origin(layer).fod_map() == map);
    if let Some(layer) = known.map(|layer| layer.id) {
        edit(state, "Display", false, |document| {
            document.edit_layer(layer, |layer| layer.display.visible = true);
            grey_background(document);
        });
        state.runtime.selected_layer = Some(layer);
        return;
    }
    if result.fods.measured.is_empty() {
        return;
    }
    let next_id = state.document.next_id();
    edit(state, "Response voxels", false, |document| {
        document.reserve_ids(next_id + 1);
        let mut layers = LayerInserter { document, next_id };
        layers.insert_map(FodMap::ResponseVoxels, &result.fods, result.origin);
        if let Some(layer) = document.layers.last().map(|layer| layer.id) {
            document.edit_layer(layer, |layer| layer.display.visible = true);
        }
        grey_background(document);
    });
    state.runtime.selected_layer = state.document.layers.last().map(|layer| layer.id);
    let sentence = "Added a label map of the voxels of the responses above the other layers";
    state.runtime.notices.status = sentence.into();
}

/// Shows FA instead of images of direction colours, on which the colours of tissues cannot be read.
fn grey_background(document: &mut Document) {
    let is_coloured = |layer: &Layer| {
        let volume = layer.content.volume();
        layer.display.visible && volume.is_some_and(|volume| volume.kind == VolumeKind::Rgb)
    };
    let coloured = document.layers.iter().filter(|layer| is_coloured(layer));
    let coloured: Vec<LayerId> = coloured.map(|layer| layer.id).collect();
    if coloured.is_empty() {
        return;
    }
    let is_fa = |layer: &&Arc<Layer>| document.origin(layer).fit_map() == Some(FitMap::Fa);
    let fa = document.layers.iter().find(is_fa).map(|layer| layer.id);
    for layer in coloured {
        document.edit_layer(layer, |layer| layer.display.visible = false);
    }
    if let Some(fa) = fa {
        document.edit_layer(fa, |layer| layer.display.visible = true);
    }
}

/// A single tissue has no fractions: those of earlier distributions are removed.
fn remove_fractions(document: &mut Document) {
    remove(document, |map| map == FodMap::Fractions);
}

/// Removes the maps of distributions that are no longer used.
pub fn remove_maps(document: &mut Document) {
    remove(document, |_| true);
}

fn remove(document: &mut Document, is_removed: impl Fn(FodMap) -> bool) {
    let layers = document.layers.iter();
    let maps = layers.filter(|l| document.origin(l).fod_map().is_some_and(&is_removed));
    let maps: Vec<_> = maps.map(|l| l.id).collect();
    document.layers.retain(|l| !maps.contains(&l.id));
}

/// Hidden until the user shows it, like the maps of a tensor fit.
fn map_display(map: FodMap, volume: &Volume) -> Display {
    let window = match map {
        FodMap::AfdTotal => (0.0, volume.percentiles(0, 0.01, 0.998).1),
        FodMap::Cone => (0.0, SHOWN_CONE_DEG),
        FodMap::PeakDispersion => (0.0, SHOWN_DISPERSION),
        _ => (0.0, 1.0),
    };
    Display {
        visible: false,
        ..display::image_display(window)
    }
}
