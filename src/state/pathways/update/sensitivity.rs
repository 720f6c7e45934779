//! The map of the voxels on which a pathway depends: requesting it, and receiving it as a layer.

use crate::data::appearance::{ColourMap, Interpolation};
use crate::data::text::counted;
use crate::state::core::display::{self, Display};
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::notices::Severity;
use crate::state::core::text::{fixed, with_unit};
use crate::state::edit::edit;
use crate::state::origin::commands;
use crate::state::pathways::PathwayResult;
use crate::state::pathways::jobs::{MapSensitivity, MappedSensitivity, ONLY_TENSORS, SENSITIVITY};
use crate::state::pathways::recipe::SensitivityRecipe;
use crate::state::pathways::update::chosen_pathway;
use crate::state::{Document, Effect, State};
use std::sync::Arc;

/// Name of the layer.
const NAME: &str = "Sensitivity of the pathway";
/// Share of the largest value below which a voxel is transparent.
const LOWEST_SHOWN: f32 = 0.01;

/// Requests the map of the live pathway, or of a kept one.
pub(in crate::state) fn map(state: &mut State, layer: Option<LayerId>, effects: &mut Vec<Effect>) {
    if state.runtime.jobs.is_running(&[SENSITIVITY]) {
        return;
    }
    let Some((pathway, ..)) = chosen_pathway(state, layer) else {
        let sentence = "No full pathway yet: wait until it is solved";
        return state.runtime.notify(Severity::Information, sentence);
    };
    if pathway.pathway.tensors().is_none() {
        return state.runtime.notify(Severity::Information, ONLY_TENSORS);
    }
    effects.push(Effect::submit(MapSensitivity { pathway }));
}

/// The fit of a pathway's tensors, of the document or of a kept pathway.
fn fit_of(
    document: &Document,
    pathway: &PathwayResult,
) -> Option<crate::state::core::layer::OriginId> {
    let same = |k: &&Arc<crate::state::KeptPathway>| {
        let result = k.result.as_ref();
        result.is_some_and(|r| r.excess.id() == pathway.excess.id())
    };
    let kept = document.kept_pathways.iter().find(same).map(|k| k.fit);
    kept.or_else(|| commands::fit_of(document, pathway.key.field))
}

/// Adds the map as a layer, or replaces the values of the one with the same recipe.
pub fn sensitivity_mapped(state: &mut State, pathway: &PathwayResult, mapped: MappedSensitivity) {
    // The document of the pathway may have been closed.
    let fit = fit_of(&state.document, pathway);
    let Some((fit, params)) = fit.zip(pathway.key.params.tensors()) else {
        return;
    };
    let recipe = SensitivityRecipe {
        fit,
        regions: pathway.key.regions.clone(),
        params: *params,
    };
    let mut id = LayerId(0);
    edit(
        state,
        "Map of the pathway's sensitivity",
        false,
        |document| {
            let origin = document.origins.add(recipe);
            let content = Content::Image(mapped.volume.clone());
            let known = document.layers.iter().find(|l| l.origin == origin);
            if let Some(known) = known.map(|l| l.id) {
                id = known;
                return document.edit_layer(id, |l| {
                    l.content = content;
                    l.display.visible = true;
                });
            }
            id = LayerId(document.fresh_id());
            let display = Display {
                colour_map: ColourMap::Magma,
                interpolation: Interpolation::Nearest,
                opacity: 0.8,
                ..display::image_display(window(&mapped))
            };
            let layer = Layer {
                unit: "%",
                ..Layer::new(id, document.free_layer_name(NAME), content, display, origin)
            };
            document.layers.push(Arc::new(layer));
        },
    );
    state.runtime.selected_layer = Some(id);
    state.runtime.regions.selected = None;
    let text = format!(
        "Half of the cost depends on {}, 95 % of it on {}; no voxel on its own decides more than {}",
        counted(mapped.half, "voxel"),
        counted(mapped.most, "voxel"),
        with_unit(&fixed(f64::from(mapped.largest), 1), "%")
    );
    state.runtime.notices.status = text.into();
}

/// Voxels that hardly matter are transparent.
fn window(mapped: &MappedSensitivity) -> (f32, f32) {
    let high = mapped.largest.max(f32::MIN_POSITIVE);
    (LOWEST_SHOWN * high, high)
}
