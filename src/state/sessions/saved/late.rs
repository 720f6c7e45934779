//! Layers of a session whose files are found after opening it.

use crate::io::Remark;
use crate::jobs::session::{FileComparison, Found, Item, Restored};
use crate::state::core::layer::LayerId;
use crate::state::sessions::saved::held::find_again;
use crate::state::sessions::saved::read::{edits, item, put_edits, restore};
use crate::state::sessions::saved::results::result_name;
use crate::state::sessions::saved::{MissingLayer, SavedOrigin, not_what_it_was};
use crate::state::{Document, alignment, filter, regions, segment};
use std::path::PathBuf;
use std::sync::Arc;

/// The content to read for a missing layer whose file has been found.
pub fn moved_to(absent: &MissingLayer, path: PathBuf) -> Result<Item, String> {
    let mut read = (*absent.read).clone();
    if let SavedOrigin::File { file, .. } = absent.layer.from
        && let Some(found) = read.files.get_mut(file)
    {
        (found.path, found.standing) = (path, FileComparison::Same);
    }
    let item = item(&absent.layer, &result_name(absent.layer.id), &read)?;
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
            entry: own_file(absent).map(|f| Box::new(f.entry.clone())),
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
fn own_file(absent: &MissingLayer) -> Option<&Found> {
    match absent.layer.from {
        SavedOrigin::File { file, .. } => absent.read.files.get(file),
        _ => None,
    }
}

/// The layer, from what was read for it, with sentences about it.
pub fn one(
    document: &mut Document,
    absent: &MissingLayer,
    restored: Restored,
) -> Result<Vec<Remark>, String> {
    let saved = &absent.layer;
    let id = LayerId(saved.id);
    let replaced = match (&restored, own_file(absent)) {
        (
            Restored::File {
                path,
                changed: Some(why),
                ..
            },
            Some(found),
        ) => Some(not_what_it_was(&found.entry, path, why)),
        _ => saved.replaced.clone(),
    };
    let there = saved.there(&restored)?;
    let (layer, mut notes) = restore(&document.origins, saved, restored)?;
    if let Some(said) = replaced {
        notes.push(said.clone().into());
        document.replaced.insert(id, said);
    }
    let steps = edits(&absent.read, &saved.edits)?;
    document.absent.retain(|a| a.layer.id != saved.id);
    document.layers.push(Arc::new(layer));
    // An edited layer no longer has the opened content, and could not be moved.
    notes.extend(
        alignment::saved::lay(document, saved, there)
            .err()
            .map(Remark::from),
    );
    put_edits(document, id, &steps);
    regions::saved::find_again(document, id);
    find_again(document, segment::saved::make);
    let unread = filter::saved::attach(document, &absent.read, saved).err();
    notes.extend(unread.map(Remark::from));
    find_again(document, filter::saved::make);
    Ok(notes)
}

/// Restores the weights of recomputed streamlines, and their maps; an error is a sentence. `same`: they are bitwise
/// equal to the original.
pub fn weigh(document: &mut Document, absent: &MissingLayer, same: bool) -> Result<(), String> {
    match same {
        true => filter::saved::attach(document, &absent.read, &absent.layer)?,
        false if absent.layer.weights.is_some() => {
            let why = "they are of other streamlines than were made";
            return Err(filter::saved::left_out(&absent.layer, why));
        }
        false => {}
    }
    find_again(document, filter::saved::make);
    Ok(())
}
