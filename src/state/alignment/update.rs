//! Moving layers manually, by a file or by alignment; each is a step that can be undone.

use crate::data::{Tractogram, Volume};
use crate::solvers::alignment::Params;
use crate::state::alignment::jobs::{
    ALIGN, AffineRead, AlignImages, Aligned, AlignmentTarget, MOVE_STREAMLINES, MoveStreamlines,
    ReadAffine,
};
use crate::state::alignment::{AlignedBy, PendingTransform, TransformKey};
use crate::state::core::layer::{Content, LayerId};
use crate::state::core::notices::Severity;
use crate::state::core::phase::Phase;
use crate::state::core::text::THIN;
use crate::state::edit::edit;
use crate::state::{Document, Effect, Layer, State, tensors};
use glam::DAffine3;
use std::path::PathBuf;
use std::sync::Arc;

const MOVE: &str = "Move image";

pub fn shift(
    state: &mut State,
    layer: LayerId,
    (transform, aligned_by): (DAffine3, AlignedBy),
    phase: Phase,
    effects: &mut Vec<Effect>,
) {
    if !state.document.can_move(layer) {
        return refuse(state);
    }
    let pending = state.pending_transform(layer).copied();
    if transform != DAffine3::IDENTITY && many(&state.document, layer).is_some() {
        if pending.is_none() && transform == state.document.moved_by(layer) {
            // They are already there: the drag has ended.
            return state.history.close();
        }
        let requested = PendingTransform {
            layer,
            transform,
            aligned_by,
            phase,
        };
        let all = &mut state.runtime.pending_transforms.requested;
        match all.iter_mut().find(|s| s.layer == layer) {
            Some(before) => *before = requested,
            None => all.push(requested),
        }
        return;
    }
    if pending.is_some() {
        cancel_pending(state, Some(layer), effects);
    }
    let mut failed = None;
    edit(state, MOVE, phase == Phase::Live, |document| {
        failed = document.shift(layer, transform, aligned_by).err();
    });
    match failed {
        Some(why) => state.runtime.notify(Severity::Error, why.to_string()),
        None => state.runtime.notices.status = position_text(&state.document, layer).into(),
    }
    // A mask that has been moved no longer serves the fit.
    tensors::update::fit(state, effects);
}

/// The untransformed streamlines of a layer, if transforming them takes long.
fn many(document: &Document, layer: LayerId) -> Option<&Tractogram> {
    // Takes about one frame.
    const AT_ONCE: usize = 500_000;
    match document.unmoved(layer)? {
        Content::Tractogram(lines) if lines.points.len() > AT_ONCE => Some(lines),
        _ => None,
    }
}

/// Starts the pending transforms of streamlines, one layer after the other.
pub fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let (document, pending) = (&state.document, &mut state.runtime.pending_transforms);
    pending
        .requested
        .retain(|s| many(document, s.layer).is_some());
    let first = pending.requested.first();
    let first = first.and_then(|s| Some((many(document, s.layer)?, s)));
    let key = first.map(|(lines, s)| TransformKey {
        layer: s.layer,
        tractogram: lines.id(),
        transform: s.transform,
    });
    // The running transform is finished: cancelling it for the next would show nothing during a drag.
    let Some((key, (lines, _))) = pending.live.ask(key).zip(first) else {
        return;
    };
    effects.push(Effect::submit(MoveStreamlines {
        key,
        tractogram: lines.clone(),
    }));
}

/// Drops the pending transform of a layer's streamlines; without a layer, all.
pub fn cancel_pending(state: &mut State, layer: Option<LayerId>, effects: &mut Vec<Effect>) {
    let dropped = |moved: LayerId| layer.is_none_or(|id| moved == id);
    let pending = &mut state.runtime.pending_transforms;
    if pending.live.running().is_some_and(|key| dropped(key.layer)) {
        pending.live.stop();
        effects.push(Effect::Cancel(MOVE_STREAMLINES));
    }
    pending.requested.retain(|s| !dropped(s.layer));
}

/// Receives transformed streamlines. During a drag they are shown as they arrive.
pub fn shifted(state: &mut State, key: TransformKey, moved: Tractogram) {
    let pending = &mut state.runtime.pending_transforms;
    if pending.live.running() != Some(&key) {
        // The transform was undone or dropped before it arrived.
        return;
    }
    pending.live.stop();
    let TransformKey {
        layer, transform, ..
    } = key;
    let all = &mut pending.requested;
    let Some(at) = all.iter().position(|s| s.layer == layer) else {
        return;
    };
    let requested = all[at];
    let arrived = requested.transform == transform;
    if arrived {
        // A request that has changed since keeps its place, so that no other layer's transform joins its step.
        all.remove(at);
    }
    // Edited since, or replaced by others.
    let document = &state.document;
    if !document.can_move(layer)
        || many(document, layer).is_none_or(|lines| lines.id() != key.tractogram)
    {
        return;
    }
    let live = !arrived || requested.phase == Phase::Live;
    edit(state, MOVE, live, |document| {
        document.set_transform(
            layer,
            Content::Tractogram(moved),
            transform,
            requested.aligned_by,
        );
    });
    state.runtime.notices.status = position_text(&state.document, layer).into();
}

/// `T1 moved by hand: 1.0 mm right`, and whether it is visible.
fn position_text(document: &Document, layer: LayerId) -> String {
    let Some(moved_layer) = document.layer(layer) else {
        return String::new();
    };
    let text = document.transform_text(layer);
    let text = text.unwrap_or("is at the position of its file".to_owned());
    let hidden = match moved_layer.display.visible {
        true => "",
        false => "; it is hidden: press H to show it",
    };
    format!("{} {text}{hidden}", moved_layer.name)
}

fn refuse(state: &mut State) {
    state.runtime.notify(
        Severity::Information,
        "Only images, masks and streamlines that were opened can be moved, not the scan or its results",
    );
}

/// The reference for aligning a layer: the scan, else the lowest other image.
fn fixed(document: &Document, layer: LayerId) -> Option<&Arc<Layer>> {
    let images = document.layers.iter();
    let mut images = images.filter(|l| l.id != layer && l.content.volume().is_some());
    document.scan().or_else(|| images.next())
}

/// The name of that layer.
pub fn fixed_name(document: &Document, layer: LayerId) -> Option<String> {
    fixed(document, layer).map(|l| l.name.clone())
}

pub fn align(state: &mut State, layer: LayerId, effects: &mut Vec<Effect>) {
    state.runtime.forget_failures(ALIGN);
    let document = &state.document;
    if !document.can_move(layer) {
        return refuse(state);
    }
    let (Some(Content::Image(moving)), Some(fixed)) =
        (document.unmoved(layer), fixed(document, layer))
    else {
        let sentence = "An image can be aligned to a scan or another image: open that first";
        return state.runtime.notify(Severity::Information, sentence);
    };
    let fixed = match &fixed.content {
        Content::Scan {
            dwi,
            gradients: Some(gradients),
        } => AlignmentTarget::Scan {
            dwi: dwi.clone(),
            gradients: gradients.clone(),
        },
        content => match content.volume() {
            Some(volume) => AlignmentTarget::Image(volume.clone()),
            None => return,
        },
    };
    effects.push(Effect::submit(AlignImages {
        moving: moving.clone(),
        fixed,
        params: Params::defaults_from(document.moved_by(layer)),
        layer: layer.0,
    }));
}

pub fn aligned(state: &mut State, aligned: &Aligned, effects: &mut Vec<Effect>) {
    let output = &aligned.output;
    let layer = LayerId(aligned.layer);
    if state.document.layer(layer).is_none() {
        return;
    }
    if output.after <= output.before {
        state.runtime.notices.status = "Aligned: the position was already optimal".into();
        return;
    }
    let moved = (output.moved, AlignedBy::Alignment);
    shift(state, layer, moved, Phase::Done, effects);
    let mut message = format!(
        "Aligned: moved by {:.1}{THIN}mm, turned by {:.1}°; mutual information {:.3}, was {:.3}",
        output.shifted_mm,
        output.turned_rad.to_degrees(),
        output.after,
        output.before
    );
    if output.is_doubtful() {
        message +=
            ". Doubtful: hardly better than at random positions; check that both show one head";
    }
    state.runtime.notices.status = message.into();
}

pub fn apply(state: &mut State, layer: LayerId, path: PathBuf, effects: &mut Vec<Effect>) {
    state.runtime.forget_failures(ALIGN);
    let document = &state.document;
    if !document.can_move(layer) {
        return refuse(state);
    }
    let grid = |volume: &Volume| volume.grid.clone();
    let moving = document.unmoved(layer).and_then(|content| match content {
        Content::Mask(mask) => Some(mask.grid.clone()),
        Content::Tractogram(tractogram) => tractogram.grid.clone(),
        content => content.volume().map(grid),
    });
    let fixed = fixed(document, layer).and_then(|l| l.content.volume().map(grid));
    effects.push(Effect::submit(ReadAffine {
        path,
        moving,
        fixed,
        layer: layer.0,
    }));
}

pub fn read(state: &mut State, read: AffineRead, effects: &mut Vec<Effect>) {
    let layer = LayerId(read.layer);
    if state.document.layer(layer).is_none() {
        return;
    }
    shift(
        state,
        layer,
        (read.transform, AlignedBy::File),
        Phase::Done,
        effects,
    );
    if state.document.moved(layer).is_some() {
        state.runtime.notices.status = "Moved by the transform of the file".into();
    }
}
