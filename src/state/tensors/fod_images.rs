//! Images of fibre orientation distributions: possible readings, the present one, and their use as the document's
//! distributions.

use crate::data::{DataId, OdfLayout, Volume};
use crate::solvers::odf_check;
use crate::state::core::layer::{Content, LayerId};
use crate::state::core::notices::Topic;
use crate::state::edit::edit;
use crate::state::origin::Origin;
use crate::state::tensors::jobs::CompareDistributions;
use crate::state::tensors::jobs::fod::FOD;
use crate::state::tensors::types::fods::{FodSettings, FodSource};
use crate::state::{Effect, Reading, State, tensors};
use std::sync::Arc;

/// Uses the distributions of an image, or those of the scan. The basis and the axes of an image are compared if they
/// are unknown: its user chooses among them.
pub fn choose(state: &mut State, source: FodSource, effects: &mut Vec<Effect>) {
    if let FodSource::Image(layer) = source
        && state.document.fod_image(layer).is_none()
    {
        return compare(state, layer, effects);
    }
    let settings = FodSettings {
        requested: true,
        source,
        ..state.document.distributions.settings.clone()
    };
    tensors::fods::set(state, settings);
}

pub fn compare(state: &mut State, layer: LayerId, effects: &mut Vec<Effect>) {
    let layer = state.document.layer(layer);
    let Some(volume) = layer.and_then(|l| state.document.can_hold_fods(l)) else {
        return;
    };
    effects.push(Effect::submit(CompareDistributions {
        volume: volume.clone(),
        params: odf_check::Params::defaults(),
    }));
}

/// Receives a comparison, if its image is still open.
pub fn compared(state: &mut State, image: DataId, output: Arc<odf_check::Output>) {
    let mut layers = state.document.layers.iter();
    let same = layers.find(|l| l.content.volume().is_some_and(|v| v.id() == image));
    let Some(layer) = same.map(|l| l.id) else {
        return;
    };
    state.runtime.notices.status = output.sentence().into();
    state.runtime.tensors.bases = Some((layer, output));
}

/// Sets the basis and the axes of an image, and uses its distributions. `None`: it holds none, and they are no longer
/// used.
pub fn read(
    state: &mut State,
    layer: LayerId,
    layout: Option<OdfLayout>,
    effects: &mut Vec<Effect>,
) {
    let Some(image) = state.document.layer(layer).cloned() else {
        return;
    };
    let Some(volume) = state.document.can_hold_fods(&image).cloned() else {
        return;
    };
    if layout.is_some_and(|layout| layout.order(volume.frames).is_none()) {
        return;
    }
    let path = state.document.path(&image).map(ToOwned::to_owned);
    let reading = state.document.origins.reading(image.origin);
    let (Some(reading), Some(path)) = (reading, path) else {
        return;
    };
    let is_same = reading.distributions == layout;
    let reading = Reading {
        tensors: None,
        distributions: layout,
        ..reading.clone()
    };
    edit(state, "Distributions of an image", false, |document| {
        if !is_same {
            let mut origin = document.origins.add(Origin::opened(path, reading));
            // Only distributions turn with their image: others return to the position of their file.
            let moved = document.moved(layer).filter(|_| layout.is_some());
            if let Some(moved) = moved {
                origin = document.origins.add(Origin::Moved {
                    input: origin,
                    transform: moved.transform,
                    aligned_by: moved.aligned_by,
                });
            }
            // An image that is read in another way counts as another image.
            let reread = |volume: &Volume| Content::Scan {
                dwi: volume.clone().with_tensors(None),
                gradients: None,
            };
            document.edit_layer(layer, |l| {
                l.origin = origin;
                let unmoved = l.unmoved.as_ref().and_then(Content::volume).map(reread);
                (l.content, l.unmoved) = match (layout, unmoved) {
                    (None, Some(unmoved)) => (unmoved, None),
                    (_, unmoved) => (reread(&volume), unmoved),
                };
            });
        }
        let used = FodSource::Image(layer);
        let settings = &mut document.distributions.settings;
        if layout.is_some() {
            (settings.requested, settings.source) = (true, used);
        } else if settings.source == used {
            (settings.requested, settings.source) = (false, FodSource::Scan);
            document.distributions.result = None;
            tensors::fods::remove_maps(document);
        }
    });
    state.runtime.tensors.fods.retry();
    state.runtime.forget_failures(FOD);
    if layout.is_some() {
        state.runtime.forget(Topic::DistributionsOpened);
    }
    tensors::update::fit(state, effects);
    state.runtime.notices.status = match layout {
        Some(layout) => format!(
            "Read as distributions: {}; Ctrl+Z undoes this",
            layout.description()
        ),
        None => "Read as plain images; Ctrl+Z undoes this".to_owned(),
    }
    .into();
}
