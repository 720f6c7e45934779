//! Layers of a session whose files are found after opening it.

use crate::io::Remark;
use crate::state::Document;
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::sessions::jobs::{LayerToRestore, RestoredLayer};
use crate::state::sessions::saved::found_file::point_to;
use crate::state::sessions::saved::read::{item, map_origin, record_edits, restore};
use crate::state::sessions::saved::stored::find_again;
use crate::state::sessions::saved::{
    MissingLayer, SavedOrigin, Table, alignment, changed_file, filter, regions, result_name,
    segment,
};
use crate::state::sessions::{FileStatus, NotRestored, PartError, ReadSession};
use crate::state::streamlines::streamlines_of;
use glam::DAffine3;
use std::path::PathBuf;
use std::sync::Arc;

/// The content to read for a missing layer whose file has been found.
pub fn relocated(missing: &MissingLayer, path: PathBuf) -> Result<LayerToRestore, NotRestored> {
    let read = missing.session_with_file_at(path);
    let table = Table::new(&read);
    let name = result_name(missing.layer.id);
    let item = item(table, &missing.layer, &name, &read)?;
    match item.ok_or(NotRestored::NotRead)? {
        LayerToRestore::File {
            path,
            gradients,
            reading,
            edits,
            moves,
            ..
        } => Ok(LayerToRestore::File {
            // Another file may now have this path.
            entry: own_file(missing).map(|f| Box::new(f.entry.clone())),
            path,
            gradients,
            reading,
            edits,
            moves,
        }),
        item => Ok(item),
    }
}

/// The file of a layer, as in its session.
fn own_file(missing: &MissingLayer) -> Option<&FileStatus> {
    match missing.base()? {
        SavedOrigin::File { file, .. } => missing.session.files.get(*file),
        _ => None,
    }
}

/// The layer, from what was read for it: returns sentences about it, and its session, where the file has its new path.
pub fn restore_missing(
    document: &mut Document,
    missing: &MissingLayer,
    restored: RestoredLayer,
) -> Result<(Vec<Remark>, Arc<ReadSession>), NotRestored> {
    let saved = &missing.layer;
    let id = LayerId(saved.id);
    let file_change = match (&restored, own_file(missing)) {
        (
            RestoredLayer::File {
                path,
                changed: Some(why),
                ..
            },
            Some(file),
        ) => Some(changed_file(&file.entry, path, why)),
        _ => saved.file_change.clone(),
    };
    // Everything else in the session that refers to the file finds it at its new path.
    let read = match &restored {
        RestoredLayer::File { path, .. } => Arc::new(missing.session_with_file_at(path.clone())),
        _ => missing.session.clone(),
    };
    let table = Table::new(&read);
    let moved = table.moved(saved.origin);
    let moved_curves = moved.map_or(Ok(None), |(by, _)| restored.transformed(by))?;
    let (layer, mut notes) = restore(&document.origins, table, saved, restored)?;
    notes.extend(file_change.clone().map(Remark::from));
    let layer = Layer {
        file_change,
        ..layer
    };
    let steps = missing.edits()?;
    document.remove_missing_layer(id);
    document.replace_session(&missing.session, &read);
    if let (Some(before), Some(now)) = (missing.file(), document.origins.path(layer.origin)) {
        let now = now.to_owned();
        point_to(document, before, &now);
    }
    document.layers.push(Arc::new(layer));
    // An edited layer no longer has the opened content, and could not be moved.
    notes.extend(
        alignment::set_transform(document, id, moved, moved_curves)
            .err()
            .map(|e| Remark::from(e.to_string())),
    );
    record_edits(document, id, &steps);
    let origins = table.resolve(document, &read, [saved.origin]);
    map_origin(document, table, &origins, saved);
    regions::find_again(document, id);
    find_again(document, segment::make);
    let unread = filter::attach(document, &read, saved);
    notes.extend(unread.map(Remark::from));
    find_again(document, filter::make);
    segment::find_surface_again(document);
    Ok((notes, read))
}

/// The missing density maps of these streamlines, which were restored, as layers to be computed.
pub fn maps_of(document: &Document, streamlines: &[LayerId]) -> Vec<(u64, LayerToRestore)> {
    let missing = document.missing_layers();
    let maps = missing.filter_map(|missing| {
        let table = Table::new(&missing.session);
        let map = match table.base(missing.layer.origin)? {
            SavedOrigin::Density(map) if streamlines.contains(&LayerId(map.input.layer)) => map,
            _ => return None,
        };
        let streamlines = document.layer(LayerId(map.input.layer))?;
        let name = result_name(missing.layer.id);
        let item = item(table, &missing.layer, &name, &missing.session).ok()??;
        let LayerToRestore::Density {
            layer,
            transform,
            grid,
            params,
            ..
        } = item
        else {
            return None;
        };
        // They may have been mapped elsewhere than where they are now.
        let (lines, transform) = match document.moved_by(streamlines.id) == transform {
            true => (streamlines_of(streamlines)?, DAffine3::IDENTITY),
            false => match document.unmoved(streamlines.id)? {
                Content::Tractogram(lines) => (lines, transform),
                _ => return None,
            },
        };
        let item = LayerToRestore::Density {
            layer,
            streamlines: Some(Box::new(lines.clone())),
            transform,
            grid,
            params,
        };
        Some((missing.layer.id, item))
    });
    maps.collect()
}

/// Restores the weights of recomputed streamlines, and their maps; returns the sentence about weights that are left
/// out. `same`: the streamlines are bitwise equal to the original.
pub fn restore_weights(
    document: &mut Document,
    missing: &MissingLayer,
    same: bool,
) -> Option<String> {
    let omitted = match same {
        true => filter::attach(document, &missing.session, &missing.layer),
        false => {
            let weights = missing.layer.weights.as_ref();
            let why = PartError::OtherStreamlines;
            weights.map(|_| filter::omitted_weights(&missing.layer, &why))
        }
    };
    if omitted.is_none() {
        find_again(document, filter::make);
    }
    omitted
}
