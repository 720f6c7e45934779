//! Requests that end without a result: a fit, an estimation or an image that was stopped, failed or was refused. The
//! request is withdrawn: the result in use stays, and the document again has the settings that it was computed with.

use crate::data::{Mask, Volume};
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::edit::changed;
use crate::state::tensors::types::FitKey;
use crate::state::tensors::types::fods::{FodKey, FodSettings, FodSource};
use crate::state::{Document, State};
use std::sync::Arc;

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WithoutResult {
    Stopped,
    Failed,
}

/// Withdraws the request of a fit in each document that makes it; returns whether the present one is among them. Without
/// earlier tensors, or if more than settings has changed since, the request stays.
pub fn fit(state: &mut State, key: &FitKey) -> bool {
    let step = newest_step(state, |d| d.requested_fit().as_ref() == Some(key));
    for document in state.history.documents_mut() {
        withdraw_fit(document, key);
    }
    let is_withdrawn = withdraw_fit(&mut state.document, key);
    let now = state.document.requested_fit();
    end(state, is_withdrawn, step, |before| {
        before.requested_fit() == now
    });
    is_withdrawn
}

fn withdraw_fit(document: &mut Document, key: &FitKey) -> bool {
    if document.requested_fit().as_ref() != Some(key) {
        return false;
    }
    let Some(in_use) = document.tensors.as_ref().map(|tensors| tensors.key.clone()) else {
        return false;
    };
    let mask = document.chosen_mask().map(|(_, mask)| mask.id());
    let mut earlier = document.clone();
    earlier.fit = in_use.params.clone();
    if mask != in_use.mask {
        let is_in_use = |mask: &Mask| Some(mask.id()) == in_use.mask;
        let mut layers = document.layers.iter();
        let layer = layers.find(|l| matches!(&l.content, Content::Mask(mask) if is_in_use(mask)));
        earlier.fit_mask = layer.map(|layer| layer.id);
    }
    replace(document, earlier, |d| {
        d.requested_fit().as_ref() == Some(&in_use)
    })
}

/// Withdraws the request of distributions in each document that makes it; returns whether the present one is among them.
/// If more than settings has changed since the distributions in use, such as a region, the request stays. So does one
/// of an opened session, which no step of the user precedes, and the first estimation if it fails: its section says why.
pub fn fods(state: &mut State, key: &FodKey, end_of_request: WithoutResult) -> bool {
    let makes_it = |d: &Document| d.requested_fods().as_ref() == Some(key);
    let step = newest_step(state, makes_it);
    let past: Vec<&mut Document> = state.history.past_mut().collect();
    let request = FodRequest {
        key,
        end: end_of_request,
        is_of_user: past.iter().any(|document| !makes_it(document)),
        earlier_layers: {
            let newest_first = past.iter().rev();
            newest_first.flat_map(|d| d.layers.clone()).collect()
        },
    };
    for document in state.history.documents_mut() {
        request.withdraw(document);
    }
    let is_withdrawn = request.withdraw(&mut state.document);
    let now = state.document.requested_fods();
    end(state, is_withdrawn, step, |before| {
        before.requested_fods() == now
    });
    is_withdrawn
}

/// A request of distributions that ended without a result.
struct FodRequest<'a> {
    key: &'a FodKey,
    end: WithoutResult,
    /// It was made by a step.
    is_of_user: bool,
    /// The layers of earlier documents, those of the newest first.
    earlier_layers: Vec<Arc<Layer>>,
}

impl FodRequest<'_> {
    fn withdraw(&self, document: &mut Document) -> bool {
        if document.requested_fods().as_ref() != Some(self.key) {
            return false;
        }
        let mut earlier = document.clone();
        if let FodSource::Image(layer) = self.key.settings.source {
            self.undo_reading(&mut earlier, layer);
        }
        let settings = &document.distributions.settings;
        let Some(result) = document.distributions.result.clone() else {
            let is_shown_as_failed = self.end == WithoutResult::Failed && !self.key.is_read();
            if is_shown_as_failed || !self.is_of_user {
                return false;
            }
            earlier.distributions.settings = FodSettings {
                requested: false,
                source: FodSource::Scan,
                ..settings.clone()
            };
            *document = earlier;
            return true;
        };
        earlier.distributions.settings = result.key.settings_in(settings);
        replace(document, earlier, |d| {
            d.requested_fods().as_ref() == Some(&result.key)
        })
    }

    /// Gives an image the reading of the distributions in use, else the one before the request.
    fn undo_reading(&self, document: &mut Document, layer: LayerId) {
        let in_use = document.distributions.result.as_ref();
        let in_use = in_use.filter(|r| r.key.settings.source == FodSource::Image(layer));
        let in_use = in_use.map(|result| result.key.image);
        let reading = |layer: &Layer| {
            let reading = document.origins.reading(layer.origin);
            reading.map(|reading| reading.distributions)
        };
        let now = document.layer(layer).and_then(|layer| reading(layer));
        let mut all = self.earlier_layers.iter().filter(|l| l.id == layer);
        let before = all.find(|earlier| match in_use {
            Some(in_use) => earlier.content.volume().map(Volume::id) == Some(in_use),
            None => reading(earlier) != now,
        });
        if let Some(before) = before {
            document.edit_layer(layer, |layer| {
                layer.content = before.content.clone();
                layer.unmoved.clone_from(&before.unmoved);
                layer.origin = before.origin;
            });
        }
    }
}

/// Takes the earlier settings if the result in use is that of these.
fn replace(
    document: &mut Document,
    earlier: Document,
    has_result: impl FnOnce(&Document) -> bool,
) -> bool {
    let is_complete = has_result(&earlier);
    if is_complete {
        *document = earlier;
    }
    is_complete
}

/// The numbers of layers and regions before the newest step, if that step made the request.
fn newest_step(
    state: &mut State,
    makes_request: impl Fn(&Document) -> bool,
) -> Option<(usize, usize)> {
    let newest = state.history.past_mut().last()?;
    let size = (newest.layers.len(), newest.regions.len());
    (!makes_request(newest)).then_some(size)
}

/// A newest step that only made the request has no effect any more, and is removed.
fn end(
    state: &mut State,
    is_withdrawn: bool,
    step: Option<(usize, usize)>,
    is_same: impl FnOnce(&Document) -> bool,
) {
    if !is_withdrawn {
        return;
    }
    let size = (state.document.layers.len(), state.document.regions.len());
    if step != Some(size) || !state.history.forget_newest(is_same) {
        changed(state);
    }
}
