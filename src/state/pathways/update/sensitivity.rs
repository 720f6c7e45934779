//! The map of the voxels on which a pathway depends: requesting it, and receiving it as a layer.

use crate::data::DataId;
use crate::data::appearance::{ColourMap, Interpolation};
use crate::data::text::counted;
use crate::solvers::lifted::SensitivityTo;
use crate::state::core::display::{self, Display};
use crate::state::core::layer::{Content, LayerId, OriginId};
use crate::state::core::notices::Severity;
use crate::state::core::text::{significant, with_unit};
use crate::state::edit::edit;
use crate::state::origin::commands;
use crate::state::pathways::jobs::{
    FindLifted, MapSensitivity, MappedSensitivity, NO_EFFECT, SENSITIVITY,
};
use crate::state::pathways::recipe::SensitivityRecipe;
use crate::state::pathways::update::{FindKept, chosen_pathway, ends_name, find, report_not_final};
use crate::state::pathways::{PathwayCosts, PathwayResult, PendingMap, ShownCost};
use crate::state::tensors::inputs::MissingInput;
use crate::state::{Document, Effect, State};
use std::sync::Arc;

/// Share of the largest value below which a voxel is transparent.
const LOWEST_SHOWN: f32 = 0.01;

impl State {
    /// Whether a map of a pathway, by its excess cost, is being computed.
    pub fn is_mapping(&self, excess: DataId, to: SensitivityTo) -> bool {
        let pending = &self.runtime.pathways.pending_maps;
        // A map that a graphics card failed to compute is pending until it is requested again, or computed on the CPU.
        self.runtime.jobs.is_running(&[SENSITIVITY])
            && pending.iter().any(|p| (p.excess, p.to) == (excess, to))
    }
}

/// Requests the map of the live pathway, or of a kept one.
pub(in crate::state) fn map(
    state: &mut State,
    layer: Option<LayerId>,
    to: SensitivityTo,
    effects: &mut Vec<Effect>,
) {
    let Some((pathway, ..)) = chosen_pathway(state, layer) else {
        return report_not_final(state, layer);
    };
    let excess = pathway.excess.id();
    if state.is_mapping(excess, to) {
        let sentence = "The map of this pathway is being computed";
        return state.runtime.notify(Severity::Information, sentence);
    }
    let Some((fit, name)) = fit_and_name(state, layer, &pathway) else {
        return;
    };
    let find = match find_fields(&state.document, layer, &pathway) {
        Ok(find) => find,
        Err(missing) => {
            return state.runtime.notify(Severity::Warning, missing.to_string());
        }
    };
    let pending = &mut state.runtime.pathways.pending_maps;
    pending.retain(|p| (p.excess, p.to) != (excess, to));
    pending.push(PendingMap {
        excess,
        to,
        fit,
        name,
    });
    effects.push(Effect::submit(MapSensitivity { pathway, to, find }));
}

/// Finds the pathway once more, if it was kept without its fields.
fn find_fields(
    document: &Document,
    kept: Option<LayerId>,
    pathway: &PathwayResult,
) -> Result<Option<Box<FindLifted>>, MissingInput> {
    let mut all = document.kept_pathways.iter();
    let kept = all.find(|k| Some(k.id) == kept);
    let kept = kept.filter(|_| matches!(pathway.pathway, PathwayCosts::Joint(_)));
    let job = kept.map(|kept| find(document, kept)).transpose()?;
    Ok(match job {
        // Kept results have no fields.
        Some(FindKept::Distributions(job)) => Some(Box::new(FindLifted { kept: None, ..job })),
        Some(FindKept::Tensors(_)) | None => None,
    })
}

/// The origin of a pathway's tensors or distributions, and its name: that of its ends unless it is kept.
fn fit_and_name(
    state: &State,
    kept: Option<LayerId>,
    pathway: &PathwayResult,
) -> Option<(OriginId, String)> {
    let document = &state.document;
    match kept {
        None => Some((
            commands::field_origin(document, pathway.key.field)?,
            ends_name(pathway),
        )),
        Some(id) => {
            let mut all = document.kept_pathways.iter();
            let kept = all.find(|k| k.id == id)?;
            Some((kept.fit, kept.name.clone()))
        }
    }
}

/// The map was not computed; `None` if its document was closed.
pub fn take_pending_map(
    state: &mut State,
    pathway: &PathwayResult,
    to: SensitivityTo,
) -> Option<PendingMap> {
    let pending = &mut state.runtime.pathways.pending_maps;
    let excess = pathway.excess.id();
    let at = pending
        .iter()
        .position(|p| (p.excess, p.to) == (excess, to))?;
    Some(pending.remove(at))
}

/// Adds the map as a layer on top, or replaces the values of the one with the same recipe. The cost and
/// the share of repetitions would hide it, and are switched off in the same step.
pub fn sensitivity_mapped(state: &mut State, pathway: &PathwayResult, mapped: MappedSensitivity) {
    let Some(PendingMap { fit, name, .. }) = take_pending_map(state, pathway, mapped.to) else {
        return;
    };
    let recipe = SensitivityRecipe {
        fit,
        regions: pathway.key.regions.clone(),
        params: pathway.key.params,
        to: mapped.to,
    };
    let id = edit(state, "Map sensitivity", false, |document| {
        document.pathways.shown = ShownCost::Off;
        document.pathways.noise.shows_share = false;
        let origin = document.origins.add(recipe);
        let layers = &mut document.layers;
        if let Some(at) = layers.iter().position(|l| l.origin == origin) {
            let mut known = layers.remove(at);
            let layer = Arc::make_mut(&mut known);
            layer.content = Content::Image(mapped.volume.clone());
            layer.display.visible = true;
            let id = layer.id;
            layers.push(known);
            return id;
        }
        let id = LayerId(document.fresh_id());
        let name = document.free_layer_name(&match mapped.to {
            SensitivityTo::Cost => format!("Sensitivity of {name}"),
            SensitivityTo::Amplitude => format!("Sensitivity to amplitudes of {name}"),
        });
        let display = Display {
            colour_map: ColourMap::Magma,
            interpolation: Interpolation::Nearest,
            opacity: 0.8,
            ..display::image_display(window(&mapped))
        };
        let volume = mapped.volume.clone();
        let layer = SensitivityRecipe::layer(id, name, volume, display, origin);
        document.layers.push(Arc::new(layer));
        id
    });
    state.runtime.selected_layer = Some(id);
    state.runtime.regions.selected = None;
    let percent = |value: f64| with_unit(&significant(value), "%");
    let half = counted(mapped.half, "voxel");
    let text = match (mapped.to, mapped.by_amplitude) {
        _ if mapped.has_no_effect() => NO_EFFECT.to_owned(),
        (SensitivityTo::Amplitude, Some(sum)) => format!(
            "Amplitudes 1 % larger lower the cost by {}, half of that in {half}",
            percent(sum)
        ),
        _ => format!(
            "Half of the cost depends on {half}, 95 % of it on {}; the largest share of one voxel is {}",
            counted(mapped.voxels_of_95_percent, "voxel"),
            percent(f64::from(mapped.largest))
        ),
    };
    state.runtime.notices.status = text.into();
}

/// Voxels that hardly matter are transparent.
fn window(mapped: &MappedSensitivity) -> (f32, f32) {
    let high = mapped.largest.max(f32::MIN_POSITIVE);
    (LOWEST_SHOWN * high, high)
}
