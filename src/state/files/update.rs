//! Records written files: their contents would not be lost with the window.

use super::jobs::ConvertedFiles;
use crate::jobs::{CompleteData, Saved};
use crate::state::State;
use crate::state::core::notices::StatusSubject;
use crate::state::core::text::file_name;
use crate::state::files::jobs::SAVE;
use std::path::Path;

/// A file was written, read back and found equal.
pub fn saved(state: &mut State, saved: Saved) {
    let Saved {
        path,
        content,
        complete,
        masks,
        losses,
    } = saved;
    state.runtime.files.paths.exports_before = None;
    file_written(state, &path, complete);
    for (path, mask) in masks {
        file_written(state, &path, mask.map(CompleteData::from));
        // Commands that lacked a file of this mask can now name one.
        if let Some(mask) = mask {
            state.document.add_mask_file(mask, &path);
        }
    }
    // The last picture of a turntable that has ended.
    let is_picture = path.extension().is_some_and(|e| e == "png");
    let subject = state.runtime.notices.status.subject();
    let of_turn = is_picture && subject == StatusSubject::StoppedTurntable;
    if !of_turn {
        state.runtime.notices.status =
            format!("Saved and verified {content}: {}", path.display()).into();
    }
    if !losses.is_empty() {
        let sentence = format!("{}: {}", file_name(&path), losses.join("; "));
        state.runtime.notify_warning(SAVE, sentence);
    }
}

/// A file was written, with the data that it holds in full; it has replaced whatever it contained before.
fn file_written(state: &mut State, path: &Path, complete: Option<CompleteData>) {
    state.document.remove_mask_file(path);
    state.runtime.sessions.in_files.written(path, complete);
}

/// Streamlines were written with their values.
pub fn converted(state: &mut State, files: &ConvertedFiles) {
    let ConvertedFiles {
        converted: done,
        whole,
    } = files;
    state.runtime.files.paths.exports_before = None;
    // The first is the streamlines' own file; the others hold their values.
    for (i, path) in done.written.iter().enumerate() {
        let whole = whole.clone().filter(|_| i == 0);
        state.runtime.sessions.in_files.written(path, whole);
    }
    let path = done.written.first().map(|p| p.display().to_string());
    let path = path.unwrap_or_default();
    let names: Vec<String> = done.written.iter().skip(1).map(|p| file_name(p)).collect();
    let adjacent = match names.is_empty() {
        true => String::new(),
        false => format!(" with {}", names.join(", ")),
    };
    state.runtime.notices.status =
        format!("Saved and verified {}{adjacent}: {path}", done.content).into();
}
