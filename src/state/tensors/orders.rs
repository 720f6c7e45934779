//! Images of six volumes as tensors: possible readings, and the present one.

use crate::data::{DataId, TensorLayout};
use crate::solvers::tensor_check;
use crate::state::core::layer::{Content, LayerId};
use crate::state::edit::edit;
use crate::state::origin::Origin;
use crate::state::tensors::jobs::CompareTensors;
use crate::state::{Effect, Reading, State, tensors};
use std::sync::Arc;

/// Compares the readings of an opened image that may hold tensors, if there is no other source of tensors.
pub fn request(state: &mut State, effects: &mut Vec<Effect>) {
    let document = &state.document;
    let Some(layer) = document.unread_tensors().map(|l| l.id) else {
        return;
    };
    let known = state.runtime.tensors.orders.as_ref();
    if document.scan().is_none() && known.is_none_or(|(compared, _)| *compared != layer) {
        compare(state, layer, effects);
    }
}

pub fn compare(state: &mut State, layer: LayerId, effects: &mut Vec<Effect>) {
    let Some(Content::Scan { dwi, .. }) = state.document.layer(layer).map(|l| &l.content) else {
        return;
    };
    effects.push(Effect::submit(CompareTensors {
        volume: dwi.clone(),
        params: tensor_check::Params::defaults(),
    }));
}

/// Receives a comparison, if its image is still open.
pub fn compared(state: &mut State, image: DataId, output: Arc<tensor_check::Output>) {
    let mut layers = state.document.layers.iter();
    let same = layers.find(|l| l.content.volume().is_some_and(|v| v.id() == image));
    let Some(layer) = same.map(|l| l.id) else {
        return;
    };
    state.runtime.notices.status = output.sentence().into();
    state.runtime.tensors.orders = Some((layer, output));
}

/// Sets the reading of a layer; the fit follows.
pub fn read(
    state: &mut State,
    layer: LayerId,
    layout: Option<TensorLayout>,
    effects: &mut Vec<Effect>,
) {
    let Some(image) = state.document.layer(layer).cloned() else {
        return;
    };
    let path = state.document.path(&image);
    let (Content::Scan { dwi, gradients }, Some(path)) = (&image.content, path) else {
        return;
    };
    if dwi.frames != TensorLayout::VOLUMES || dwi.tensors == layout {
        return;
    }
    let reported = match state.document.origin(&image) {
        Origin::File { reading, .. } => reading.clone(),
        _ => Reading::default(),
    };
    let reported = Reading {
        tensors: layout,
        distributions: None,
        ..reported
    };
    let origin = Origin::opened(path.to_owned(), reported);
    let content = Content::Scan {
        dwi: dwi.with_tensors(layout),
        gradients: gradients.clone(),
    };
    edit(state, "Tensor order", false, |document| {
        let origin = document.origins.add(origin);
        document.edit_layer(layer, |l| {
            l.content = content;
            l.origin = origin;
        });
    });
    tensors::update::fit(state, effects);
    let message = match layout {
        Some(layout) => format!(
            "Read as tensors: {}; Ctrl+Z undoes this",
            layout.description()
        ),
        None => "Read as six images; Ctrl+Z undoes this".to_owned(),
    };
    state.runtime.notices.status = message.into();
}
