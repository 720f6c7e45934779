//! Notes about what is not in the document: work that an earlier window left behind, and layers of the
//! session that are not here.

use super::files::{Place, Purpose};
use super::widgets::note::{Answer, Note};
use super::{Memory, icons, theme};
use crate::state::core::words::{counted, some_of};
use crate::state::sessions::unsaved::{RecipeOnly, summed};
use crate::state::sessions::{LeftBehind, saved};
use crate::state::{Action, LayerId, Leaving, SessionAction, Severity, State};
use egui::Ui;

/// How many are offered at a time on the first page.
const OFFERED: usize = 3;

/// How many layers a note names.
const NAMED: usize = 4;

fn name(left: &LeftBehind) -> String {
    match left.origin.as_ref().and_then(|o| o.file_name()) {
        Some(file) => file.to_string_lossy().into_owned(),
        None if left.name.is_empty() => "unnamed work".to_owned(),
        None => left.name.clone(),
    }
}

fn sentence(left: &LeftBehind) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |d| d.as_secs());
    format!(
        "Arcuate ended without saving {}: {}, {}, from {}",
        name(left),
        counted(left.layers, "layer"),
        counted(left.regions, "region"),
        ago(now.saturating_sub(left.written_s)),
    )
}

/// `3 minutes ago`.
fn ago(seconds: u64) -> String {
    let ago = |n: u64, one: &str| format!("{} ago", counted(n as usize, one));
    match seconds {
        0..90 => "a minute ago".to_owned(),
        90..5400 => ago((seconds + 30) / 60, "minute"),
        5400..172_800 => ago((seconds + 1800) / 3600, "hour"),
        _ => ago(seconds / 86_400, "day"),
    }
}

/// Work that was left behind.
pub fn show(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    // Beside work that has begun, one after the other.
    let offered = match state.document.is_empty() {
        true => OFFERED,
        false => 1,
    };
    for left in state.session.saving.offered().take(offered) {
        let text = sentence(left);
        let note = Note::new(p, Severity::Warning, &text);
        let note = note.action("Recover").leave("Discard").dismissable();
        let shown = |ui: &mut Ui| match state.document.is_empty() {
            true => note.show_all(ui),
            // A task needs the space, so the note takes one row.
            false => note.show_row(ui, &format!("Unsaved: {}", name(left)), icons::TRASH),
        };
        let answer = ui.push_id(&left.session, shown).inner;
        let path = left.session.clone();
        actions.extend(answer.map(|answer| {
            Action::Session(match answer {
                Answer::Taken => SessionAction::Leave(Leaving::Recover(path)),
                Answer::Left => SessionAction::Forget(path),
                Answer::Dismissed => SessionAction::Later(path),
            })
        }));
    }
}

/// Layers that the session just saved holds as recipes alone.
pub fn recipe_only(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let layers = state.recipe_only_said();
    if layers.is_empty() {
        return;
    }
    let words: Vec<String> = layers.iter().map(RecipeOnly::words).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let streamlines = match layers.len() {
        1 => "its streamlines",
        _ => "their streamlines",
    };
    let text = format!(
        "The session holds the recipe of {}, not {streamlines}, which would have to be made again: {}",
        summed(&layers),
        some_of(&words, NAMED)
    );
    let note = Note::new(p, Severity::Warning, &text);
    let answer = note.action("Store them too").dismissable().show(ui);
    actions.extend(answer.map(|answer| {
        Action::Session(match answer {
            Answer::Taken => SessionAction::StoreToo { then: None },
            Answer::Left | Answer::Dismissed => SessionAction::RecipeOnlySeen,
        })
    }));
}

/// Whether there is anything to show.
pub fn any(state: &State) -> bool {
    state.session.saving.offered().next().is_some()
}

/// Layers, regions and pathways of the session that are not here.
pub fn absent(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    for absent in &state.document.absent {
        let text = format!("{}: {}", absent.layer.name, absent.why);
        let mut note = Note::new(p, Severity::Information, &text).leave("Take out");
        let file = absent.file();
        if absent.kept().is_some() {
            note = note.action("Make again");
        } else if file.is_some() {
            note = note.action("Choose…");
        }
        let layer = LayerId(absent.layer.id);
        let answer = ui.push_id(layer.0, |ui| note.show_all(ui)).inner;
        let Some(answer) = answer else { continue };
        actions.push(Action::Session(match (answer, file) {
            (Answer::Taken, None) => SessionAction::MakeAgain(layer),
            (Answer::Taken, Some(path)) => {
                let name = path.file_name().unwrap_or_default();
                let purpose = Purpose::Absent(layer, name.to_string_lossy().into_owned());
                let text = path.display().to_string();
                memory.files.ask(ui.ctx(), purpose, Place::Middle, &text);
                continue;
            }
            (Answer::Left | Answer::Dismissed, _) => SessionAction::Drop(layer),
        }));
    }
    let groups = saved::left_out(&state.document).into_iter();
    for (at, (group, text)) in groups.enumerate() {
        let note = Note::new(p, Severity::Information, &text).leave("Take out");
        let answer = ui.push_id(("left out", at), |ui| note.show_all(ui)).inner;
        let drop = SessionAction::DropLeftOut(group);
        actions.extend(answer.map(|_| Action::Session(drop)));
    }
}
