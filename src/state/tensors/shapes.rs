//! Maps of the shape of tensors: added on request, and computed again with each fit whose document shows them.

use crate::data::Volume;
use crate::solvers::tensor_fit::FitMap;
use crate::state::core::display::{self, Display};
use crate::state::core::layer::{Content, OriginId};
use crate::state::core::notices::Severity;
use crate::state::edit::{edit, reveal, show_only};
use crate::state::origin::FitMapRecipe;
use crate::state::sessions::types::missing::AwaitedLayers;
use crate::state::tensors::jobs::ComputeShapes;
use crate::state::tensors::types::FitKey;
use crate::state::tensors::update::LayerInserter;
use crate::state::{Document, Effect, State};

/// Name of the layer of a map.
pub fn name(map: FitMap) -> &'static str {
    match map {
        FitMap::Mode => "Mode",
        FitMap::Cl => "Linearity cl",
        FitMap::Cp => "Planarity cp",
        FitMap::Cs => "Sphericity cs",
        FitMap::Norm => "Tensor norm",
        FitMap::ModeColour => "Colour by mode",
        map => map.key(),
    }
}

/// Shows a map; one that has no layer is computed first.
pub fn show(state: &mut State, map: FitMap, effects: &mut Vec<Effect>) {
    if let Some(layer) = state.document.fit_layer(map).map(|layer| layer.id) {
        show_only(state, layer);
        return;
    }
    // Its layer would be that of a fit which the awaited one replaces.
    let is_final = !state.document.lacks_requested_fit();
    match state.document.tensors.as_ref().filter(|_| is_final) {
        Some(tensors) => effects.push(Effect::submit(ComputeShapes {
            key: Some(tensors.key.clone()),
            field: tensors.field.clone(),
            maps: vec![map],
        })),
        None => state.runtime.notify(
            Severity::Information,
            "Maps of tensors are computed once the tensors are fitted",
        ),
    }
}

/// Adds the layers of maps, unless other tensors have been requested or fitted since.
pub fn computed(state: &mut State, key: &FitKey, maps: &[(FitMap, Volume)]) {
    let tensors = state.document.tensors.as_ref();
    let Some(tensors) = tensors.filter(|tensors| tensors.key == *key) else {
        return;
    };
    if state.document.lacks_requested_fit() {
        return;
    }
    let origin = tensors.origin;
    let next_id = state.document.next_id();
    let new: Vec<_> = maps
        .iter()
        .filter(|(map, _)| state.document.fit_layer(*map).is_none())
        .collect();
    if new.is_empty() {
        return;
    }
    edit(state, "Map of tensors", false, |document| {
        document.reserve_ids(next_id + new.len() as u64);
        let mut layers = LayerInserter { document, next_id };
        for (map, volume) in new {
            layers.insert_shape(*map, volume, origin);
        }
        if let Some(layer) = document.layers.last().map(|layer| layer.id) {
            reveal(document, layer);
        }
    });
    state.runtime.selected_layer = state.document.layers.last().map(|layer| layer.id);
}

impl LayerInserter<'_> {
    /// Adds the layer of a map, or gives the present one new content.
    pub fn insert_shape(&mut self, map: FitMap, volume: &Volume, fit: OriginId) {
        let content = || Content::Image(volume.clone());
        let shown = || Display {
            visible: false,
            ..display::map_display(volume, Some(map))
        };
        self.insert(true, name(map), content, shown, FitMapRecipe { fit, map });
    }
}

/// The maps of the shape that a document shows, or that its opened session had.
pub fn requested(document: &Document, awaited: Option<&AwaitedLayers>) -> Vec<FitMap> {
    let is_awaited = |map: FitMap| {
        awaited.is_some_and(|saved| {
            let mut layers = saved.layers().iter();
            layers.any(|layer| saved.map_of(layer) == Some(map))
        })
    };
    let shapes = FitMap::SHAPES.into_iter();
    shapes
        .filter(|map| document.fit_layer(*map).is_some() || is_awaited(*map))
        .collect()
}

/// The maps that the next fit computes: those of every document that may take its result.
pub fn requested_anywhere(state: &mut State) -> Vec<FitMap> {
    let in_document =
        |document: &Document| requested(document, document.session.unrestored.awaited.as_ref());
    let mut all = in_document(&state.document);
    all.extend(
        state
            .history
            .documents_mut()
            .flat_map(|document| in_document(document)),
    );
    let snapshots = state.runtime.snapshots.all.iter();
    all.extend(snapshots.flat_map(|snapshot| in_document(&snapshot.document)));
    let mut shapes = FitMap::SHAPES.to_vec();
    shapes.retain(|map| all.contains(map));
    shapes
}
