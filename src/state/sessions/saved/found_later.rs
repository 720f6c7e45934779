//! Layers of a session whose files are found after opening it.

use crate::io::Remark;
use crate::jobs::session::{Found, Item, Restored};
use crate::state::Document;
use crate::state::core::layer::{Layer, LayerId};
use crate::state::sessions::saved::read::{item, put_edits, restore};
use crate::state::sessions::saved::results::result_name;
use crate::state::sessions::saved::stored::find_again;
use crate::state::sessions::saved::{
    MissingLayer, SavedOrigin, Table, alignment, filter, not_what_it_was, regions, segment,
};
use std::path::PathBuf;
use std::sync::Arc;

/// The content to read for a missing layer whose file has been found.
pub fn moved_to(missing: &MissingLayer, path: PathBuf) -> Result<Item, String> {
    let read = missing.session_with_file_at(path);
    let table = Table::new(&read);
    let name = result_name(missing.layer.id);
    let item = item(table, &missing.layer, &name, &read)?;
    match item.ok_or("Nothing is read for this layer")? {
        Item::File {
            path,
            gradients,
            reading,
            edits,
            moves,
            ..
        } => Ok(Item::File {
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
fn own_file(missing: &MissingLayer) -> Option<&Found> {
    match missing.base()? {
        SavedOrigin::File { file, .. } => missing.read.files.get(*file),
        _ => None,
    }
}

/// The layer with the content that was read for it, and sentences about it.
pub fn restore_missing(
    document: &mut Document,
    missing: &MissingLayer,
    restored: Restored,
) -> Result<Vec<Remark>, String> {
    let saved = &missing.layer;
    let id = LayerId(saved.id);
    let file_change = match (&restored, own_file(missing)) {
        (
            Restored::File {
                path,
                changed: Some(why),
                ..
            },
            Some(found),
        ) => Some(not_what_it_was(&found.entry, path, why)),
        _ => saved.file_change.clone(),
    };
    // Everything else in the session that refers to the file finds it at its new path.
    let read = match &restored {
        Restored::File { path, .. } => Arc::new(missing.session_with_file_at(path.clone())),
        _ => missing.read.clone(),
    };
    let table = Table::new(&read);
    let moved = table.moved(saved.origin);
    let there = moved.map_or(Ok(None), |(by, _)| restored.moved_to(by))?;
    let (layer, mut notes) = restore(&document.origins, table, saved, restored)?;
    notes.extend(file_change.clone().map(Remark::from));
    let layer = Layer {
        file_change,
        ..layer
    };
    let steps = missing.edits()?;
    document.remove_missing_layer(id);
    document.replace_session(&missing.read, &read);
    document.layers.push(Arc::new(layer));
    // An edited layer no longer has the opened content, and could not be moved.
    notes.extend(
        alignment::set_transform(document, id, moved, there)
            .err()
            .map(Remark::from),
    );
    put_edits(document, id, &steps);
    regions::find_again(document, id);
    find_again(document, segment::make);
    let unread = filter::attach(document, &read, saved).err();
    notes.extend(unread.map(Remark::from));
    find_again(document, filter::make);
    Ok(notes)
}

/// Restores the weights of recomputed streamlines, and their maps; an error is a sentence. `same`: they are bitwise
/// equal to the original.
pub fn restore_weights(
    document: &mut Document,
    missing: &MissingLayer,
    same: bool,
) -> Result<(), String> {
    match same {
        true => filter::attach(document, &missing.read, &missing.layer)?,
        false if missing.layer.weights.is_some() => {
            let why = "they belong to different streamlines";
            return Err(filter::left_out(&missing.layer, why));
        }
        false => {}
    }
    find_again(document, filter::make);
    Ok(())
}
