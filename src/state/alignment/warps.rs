//! Non-linear alignments: collecting the transforms of a layer, and opening its file with them.

use crate::data::text::file_name;
use crate::io::{Content as FileContent, Format, Reading, TransformFile, WarpReading};
use crate::state::core::layer::{Content, LayerId};
use crate::state::core::notices::Severity;
use crate::state::files::jobs::LOAD;
use crate::state::files::jobs::open::OpenFile;
use crate::state::origin::Origin;
use crate::state::{Document, Effect, State};
use std::path::{Path, PathBuf};

impl Document {
    /// Why the file of a layer cannot be opened with a non-linear alignment; `None` if it can.
    pub fn no_warp(&self, layer: LayerId) -> Option<&'static str> {
        let layer = self.layer(layer)?;
        match (self.origin(layer), &layer.content) {
            (
                Origin::File { .. },
                Content::Scan {
                    gradients: Some(_), ..
                },
            ) => {
                Some("The directions of a scan would turn differently in each voxel: warp its maps")
            }
            (Origin::File { reading, .. }, _)
                if reading.tensors.is_some() || reading.distributions.is_some() =>
            {
                Some(
                    "Tensors and distributions would turn differently in each voxel: warp their maps",
                )
            }
            (Origin::File { .. }, _) => None,
            (Origin::Moved { .. }, _) => {
                Some("Reset the layer to the position in its file, and add its affine to the list")
            }
            _ => Some("Only what is in a file is warped: export the layer, and open the file"),
        }
    }
}

impl State {
    /// The transforms collected for a layer, else those with which its file was opened.
    pub fn collected_warp(&self, layer: LayerId) -> Option<&WarpReading> {
        let collected = self.runtime.pending_transforms.warp.as_ref();
        match collected.filter(|(own, _)| *own == layer) {
            Some((_, warp)) => Some(warp),
            None => self
                .document
                .origins
                .warp(self.document.layer(layer)?.origin),
        }
    }
}

/// Begins the name of a field that antsRegistration writes for the way back.
const INVERSE_FIELD: &str = "InverseWarp";

/// Adds files in the order of antsApplyTransforms: the fields and then the affines, or, on the way back, the inverse
/// affines and then the fields. The form shows the order and lets the user change it.
pub fn add(state: &mut State, layer: LayerId, paths: Vec<PathBuf>) {
    if let Some(why) = state.document.no_warp(layer) {
        return state.runtime.notify(Severity::Information, why);
    }
    let is_field =
        |path: &Path| Format::named(path).is_some_and(|f| f.content() == FileContent::Image);
    let is_back = |path: &PathBuf| file_name(path).contains(INVERSE_FIELD);
    let goes_back = paths.iter().any(is_back);
    let (fields, affines): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| is_field(path));
    let fields = fields.into_iter().map(TransformFile::new);
    let affines = affines.into_iter().map(|path| TransformFile {
        inverse: goes_back,
        ..TransformFile::new(path)
    });
    let mut warp = state.collected_warp(layer).cloned();
    let warp = warp.get_or_insert_default();
    let all = &mut warp.transforms;
    match goes_back {
        true => all.extend(affines.chain(fields)),
        false => {
            // Before the affines that were added earlier.
            let first = all.iter().position(|t| !t.inverse && !is_field(&t.path));
            let first = first.unwrap_or(all.len());
            all.splice(first..first, fields);
            all.extend(affines);
        }
    }
    state.runtime.pending_transforms.warp = Some((layer, warp.clone()));
}

pub fn set(state: &mut State, layer: LayerId, warp: WarpReading) {
    state.runtime.pending_transforms.warp = Some((layer, warp));
}

/// Opens the file again; the result takes the place of the layer, as one step.
pub fn apply(state: &mut State, layer: LayerId, effects: &mut Vec<Effect>) {
    if let Some(why) = state.document.no_warp(layer) {
        return state.runtime.notify(Severity::Information, why);
    }
    let warp = state.collected_warp(layer).cloned();
    let Some(warp) = warp.filter(|warp| !warp.transforms.is_empty()) else {
        return;
    };
    let Some(Origin::File { file, reading, .. }) = state
        .document
        .layer(layer)
        .map(|l| state.document.origin(l))
    else {
        return;
    };
    let reading = Reading {
        warp: Some(Box::new(warp)),
        ..reading.clone()
    };
    let open = OpenFile::with_reading(file.clone(), reading);
    state.runtime.forget_failures(LOAD);
    effects.push(Effect::submit(open.staying(state.runtime.files.stay)));
}
