//! Layers of a session whose files are found after it was opened.

use super::read::{edits, item, restore};
use super::regions_of::find_again;
use super::write::result_name;
use super::{Absent, Origin};
use crate::io::ToldAffine;
use crate::jobs::session::{Item, Restored, Standing};
use crate::state::Document;
use crate::state::document::LayerId;
use crate::state::update::edited;
use std::path::PathBuf;
use std::sync::Arc;

/// What has to be read for a layer that was not here, whose file is there now.
pub fn moved_to(absent: &Absent, path: PathBuf) -> Result<Item, String> {
    let mut read = (*absent.read).clone();
    if let Origin::File { file, .. } = absent.layer.from
        && let Some(found) = read.files.get_mut(file)
    {
        (found.path, found.standing) = (path, Standing::Same);
    }
    let item = item(&absent.layer, &result_name(absent.layer.id), &read)?;
    item.ok_or_else(|| "Nothing is read for this layer".to_owned())
}

/// That layer, from what was read for it, with sentences about it.
pub fn one(
    document: &mut Document,
    absent: &Absent,
    restored: Restored,
) -> Result<Vec<String>, String> {
    let saved = &absent.layer;
    let id = LayerId(saved.id);
    let (mut layer, mut notes) = restore(saved, restored)?;
    let steps = edits(&absent.read, &saved.edits)?;
    if !steps.is_empty() {
        layer.recipe = edited(document, layer.recipe, &steps);
        document.edits.insert(id, Arc::new(steps));
    }
    document.absent.retain(|a| a.layer.id != saved.id);
    document.layers.push(Arc::new(layer));
    if let Some(rows) = &saved.moved {
        let by = ToldAffine::of_rows(rows);
        notes.extend(document.shift(id, by, saved.moved_how).err());
    }
    find_again(document, id);
    Ok(notes)
}
