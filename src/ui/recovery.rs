//! Notes about content outside the document: unsaved work of an earlier window, and missing layers of the session.

use super::dialogs::unsaved_changes;
use super::files::{DialogPosition, PathPurpose};
use super::widgets::button::Button;
use super::widgets::note::{Note, NoteResponse};
use super::{Memory, icons, theme};
use crate::data::text::file_name;
use crate::state::core::text::{counted, shortened_list};
use crate::state::sessions::unsaved::{RecipeOnly, summed};
use crate::state::sessions::{RecoverableSession, saved};
use crate::state::{Action, LayerId, SessionAction, Severity, State, UnsavedAction};
use egui::{Id, Key, Ui};
use std::path::PathBuf;

/// How many are offered at a time on the first page.
const OFFERED: usize = 3;

/// How many layers a note names.
const NAMED: usize = 4;

fn name(session: &RecoverableSession) -> String {
    match session.origin.as_ref().and_then(|o| o.file_name()) {
        Some(file) => file.to_string_lossy().into_owned(),
        None if session.name.is_empty() => "unnamed work".to_owned(),
        None => session.name.clone(),
    }
}

/// The name without the ending of its file, for one row.
fn short_name(session: &RecoverableSession) -> String {
    match session.origin.as_ref().and_then(|o| o.file_stem()) {
        Some(stem) => stem.to_string_lossy().into_owned(),
        None => name(session),
    }
}

fn sentence(session: &RecoverableSession) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |d| d.as_secs());
    let ago = ago(now.saturating_sub(session.written_s));
    let mut parts = session.contents.parts();
    parts.push(format!("from {ago}"));
    format!(
        "Arcuate quit without saving {}: {}",
        name(session),
        parts.join(", ")
    )
}

/// `3 minutes ago`.
fn ago(seconds: u64) -> String {
    let ago = |n: u64, unit: &str| format!("{} ago", counted(n as usize, unit));
    match seconds {
        0..90 => "a minute ago".to_owned(),
        90..5400 => ago((seconds + 30) / 60, "minute"),
        5400..172_800 => ago((seconds + 1800) / 3600, "hour"),
        _ => ago(seconds / 86_400, "day"),
    }
}

/// Unsaved work of earlier windows.
pub fn show(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    // While a document is open, one after the other.
    let offered = match state.document.is_empty() {
        true => OFFERED,
        false => 1,
    };
    for left in state.runtime.sessions.offered().take(offered) {
        let text = sentence(left);
        let note = Note::new(p, Severity::Warning, &text);
        let note = note
            .action("Recover")
            .second_action("Discard")
            .dismissable();
        let shown = |ui: &mut Ui| match state.document.is_empty() {
            true => note.show_all(ui),
            // A task needs the space, so the note takes one row.
            false => note.show_row(ui, &format!("Unsaved: {}", short_name(left)), icons::TRASH),
        };
        let answer = ui.push_id(&left.session, shown).inner;
        let path = left.session.clone();
        match answer {
            Some(NoteResponse::Accepted) => {
                let action = UnsavedAction::Recover(path);
                actions.push(Action::Session(SessionAction::CloseDocument(action)));
            }
            // It cannot be restored, so the user is asked first.
            Some(NoteResponse::SecondAction) => {
                ui.data_mut(|d| d.insert_temp(to_discard(), path));
            }
            Some(NoteResponse::Dismissed) => {
                actions.push(Action::Session(SessionAction::Later(path)))
            }
            None => {}
        }
    }
}

/// Key of the work that the question is about.
fn to_discard() -> Id {
    Id::unique("work to discard")
}

/// Whether the question about discarding unsaved work is open.
pub fn is_asking(ui: &Ui) -> bool {
    ui.data(|d| d.get_temp::<PathBuf>(to_discard()).is_some())
}

/// The question before unsaved work of an earlier window is discarded.
pub fn discard_question(ui: &Ui, state: &State, actions: &mut Vec<Action>) {
    let Some(path) = ui.data(|d| d.get_temp::<PathBuf>(to_discard())) else {
        return;
    };
    let mut offered = state.runtime.sessions.offered();
    let left = offered.find(|l| l.session == path);
    let mut answer = None;
    let close = left.is_some_and(|left| {
        unsaved_changes::modal(ui, "discard", 400.0, |ui| {
            unsaved_changes::heading(ui, &format!("Discard the unsaved work of {}?", name(left)));
            ui.label(format!(
                "{}. Anything not saved in another file cannot be recovered afterwards",
                sentence(left)
            ));
            ui.horizontal(|ui| {
                let enter = ui.input(|i| i.key_pressed(Key::Enter));
                if Button::primary("Keep").show(ui).clicked() || enter {
                    answer = Some(false);
                }
                if Button::plain("Discard for good").show(ui).clicked() {
                    answer = Some(true);
                }
            });
        })
    });
    if answer == Some(true) {
        actions.push(Action::Session(SessionAction::Forget(path)));
    }
    if answer.is_some() || close || left.is_none() {
        ui.data_mut(|d| d.remove::<PathBuf>(to_discard()));
    }
}

/// Layers of which the session just saved holds only the recipe.
pub fn recipe_only(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let layers = state.reported_recipe_only();
    if layers.is_empty() {
        return;
    }
    let labels: Vec<String> = layers.iter().map(RecipeOnly::label).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    // The size of a single layer follows its name.
    let (recipe, streamlines) = match layers.len() {
        1 => ("1 layer".to_owned(), "its streamlines"),
        _ => (summed(&layers), "their streamlines"),
    };
    let text = format!(
        "The session holds the recipe of {recipe}, not {streamlines}, which would have to be recomputed: {}",
        shortened_list(&labels, NAMED)
    );
    let note = Note::new(p, Severity::Warning, &text);
    let answer = note.action("Also store them").dismissable().show(ui);
    actions.extend(answer.map(|answer| {
        Action::Session(match answer {
            NoteResponse::Accepted => SessionAction::StoreToo { next: None },
            NoteResponse::SecondAction | NoteResponse::Dismissed => SessionAction::RecipeOnlySeen,
        })
    }));
}

/// Whether there is anything to show.
pub fn is_any_offered(state: &State) -> bool {
    state.runtime.sessions.offered().next().is_some()
}

/// Missing layers, regions and pathways of the session.
pub fn missing(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    for missing in state.document.missing_layers() {
        let text = format!("{}: {}", missing.layer.name, missing.reason);
        let mut note = Note::new(p, Severity::Information, &text).second_action("Remove");
        let file = missing.file();
        if missing.can_be_recomputed() {
            note = note.action("Recompute");
        } else if file.is_some() {
            note = note.action("Choose…");
        }
        let layer = LayerId(missing.layer.id);
        let answer = ui.push_id(layer.0, |ui| note.show_all(ui)).inner;
        let Some(answer) = answer else { continue };
        actions.push(Action::Session(match (answer, file) {
            (NoteResponse::Accepted, None) => SessionAction::Recompute(layer),
            (NoteResponse::Accepted, Some(path)) => {
                let name = file_name(path);
                let purpose = PathPurpose::Missing(layer, name);
                let text = path.display().to_string();
                memory
                    .files
                    .ask_for_path(ui.ctx(), purpose, DialogPosition::Middle, &text);
                continue;
            }
            (NoteResponse::SecondAction | NoteResponse::Dismissed, _) => SessionAction::Drop(layer),
        }));
    }
    let groups = saved::missing_parts(&state.document).into_iter();
    for (at, (group, text)) in groups.enumerate() {
        let note = Note::new(p, Severity::Information, &text).second_action("Remove");
        let answer = ui.push_id(("left out", at), |ui| note.show_all(ui)).inner;
        let drop = SessionAction::DropParts(group);
        actions.extend(answer.map(|_| Action::Session(drop)));
    }
}
