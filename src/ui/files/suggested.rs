//! The path that a dialog proposes.

use super::PathPurpose;
use crate::state::State;
use std::path::{Path, PathBuf};

/// `name.ending` in the folder of the last saved file, else in the scan's folder, or in the working folder if nothing
/// was opened from a file; with the ending of the last file of its kind.
pub fn suggestion(state: &State, name: &str, purpose: &PathPurpose) -> String {
    if let Some(path) = named_as_session(state, purpose) {
        return path.display().to_string();
    }
    let exports = &state.runtime.files.exports;
    let last = exports.folder.clone().filter(|_| purpose.kind().is_some());
    let folder = last.or_else(|| {
        let document = &state.document;
        let mut layers = document.layers.iter();
        layers.find_map(|l| document.path(l)?.parent().map(Path::to_owned))
    });
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    let stem = state.document.name.replace(char::is_whitespace, "_");
    let layer = match purpose {
        PathPurpose::Streamlines { layer, .. } => *layer,
        PathPurpose::Layer { layer, .. } => Some(*layer),
        _ => None,
    };
    let layer = layer.and_then(|id| state.document.layer(id));
    let opened = layer.and_then(|layer| state.document.path(layer));
    // A file's own name keeps its case, as BIDS requires; names of computed maps become lower case.
    let stem = if opened.is_some() || plain.starts_with(&stem) && !stem.is_empty() {
        plain
    } else if stem.is_empty() {
        plain.to_lowercase()
    } else {
        format!("{stem}_{}", plain.to_lowercase())
    };
    let before = purpose.kind().and_then(|kind| exports.last.get(kind));
    let same = |e: &&str| before.is_some_and(|name| name.ends_with(&format!(".{e}")));
    let endings = purpose.endings();
    // Otherwise the ending of the layer's own file, whose format holds all its data.
    let own = |e: &&str| opened.is_some_and(|p| p.to_string_lossy().ends_with(&format!(".{e}")));
    let mut listed = endings.iter();
    let ending = listed.clone().find(|e| same(e));
    let ending = ending.or(listed.find(|e| own(e))).or(endings.first());
    let ending = ending.copied().unwrap_or_default();
    let folder = folder.unwrap_or_default();
    let path = folder.join(format!("{stem}.{ending}"));
    // The proposed name never overwrites the opened file.
    let path = match opened == Some(&path) {
        true => folder.join(format!("{stem}_export.{ending}")),
        false => path,
    };
    path.display().to_string()
}

/// The path of the saved session, with another ending, for what describes a whole session: the command line proposes the
/// same.
fn named_as_session(state: &State, purpose: &PathPurpose) -> Option<PathBuf> {
    let is_of_session = matches!(purpose, PathPurpose::Report | PathPurpose::Protocol);
    let session = state.runtime.sessions.file.as_ref();
    let ending = purpose.endings().first().copied()?;
    Some(session.filter(|_| is_of_session)?.with_extension(ending))
}
