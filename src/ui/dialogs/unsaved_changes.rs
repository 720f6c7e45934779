//! The question before work would be lost: with the one about the files of a session, the only question that blocks
//! everything.

use crate::data::text::file_name;
use crate::state::sessions::ChangedSince;
use crate::state::sessions::unsaved::{RecipeOnly, summed};
use crate::state::{Action, SessionAction, State, UnsavedAction};
use crate::ui::files::{DialogPosition, PathPurpose, suggestion};
use crate::ui::theme::{self, size};
use crate::ui::widgets::button::Button;
use crate::ui::{Memory, quit};
use egui::{Frame, Id, Key, Margin, Modal, Role, Stroke, Ui, WidgetInfo};

/// Whether a question blocks everything.
pub fn is_open(state: &State) -> bool {
    let opening = state.runtime.sessions.opening.as_ref();
    let saving = &state.runtime.sessions;
    saving.pending_action.is_some()
        || saving.changed_since.is_some()
        || opening.is_some_and(|o| o.asking)
}

/// A question in the middle of the window; returns whether a click outside or Esc closes it.
pub fn modal(ui: &Ui, name: &'static str, width: f32, add: impl FnOnce(&mut Ui)) -> bool {
    let ground = theme::palette(ui.style()).b2;
    modal_on(ui, name, width, ground, add)
}

/// A question on a background of this colour, for questions with fields, which have the colour of questions.
pub fn modal_on(
    ui: &Ui,
    name: &'static str,
    width: f32,
    ground: egui::Color32,
    add: impl FnOnce(&mut Ui),
) -> bool {
    let p = theme::palette(ui.style());
    let frame = Frame::new()
        .fill(ground)
        .stroke(Stroke::new(1.0, p.line))
        .corner_radius(theme::radius::CARD)
        .inner_margin(Margin::same(20));
    let modal = Modal::new(Id::unique(name)).frame(frame);
    let shown = modal.show(ui.ctx(), |ui| {
        ui.set_width(width);
        ui.spacing_mut().item_spacing = egui::vec2(8.0, 12.0);
        add(ui);
    });
    shown.should_close()
}

pub fn heading(ui: &mut Ui, text: &str) {
    let p = theme::palette(ui.style());
    let rich_text = egui::RichText::new(text).font(theme::semibold(size::BODY));
    let shown = ui.label(rich_text.color(p.t1));
    shown.widget_info(|| WidgetInfo::labeled(Role::Heading, true, text));
}

/// Asks for the name of the session file; `next` follows once it is saved.
pub fn save_as(ui: &Ui, state: &State, memory: &mut Memory, next: Option<UnsavedAction>) {
    let purpose = PathPurpose::Session { next };
    let text = match &state.runtime.sessions.file {
        Some(file) => file.display().to_string(),
        None => suggestion(state, &state.document.name, &purpose),
    };
    memory
        .files
        .ask_for_path(ui.ctx(), purpose, DialogPosition::Middle, &text);
}

/// Saves the session under its name, or asks for one.
pub fn save(
    ui: &Ui,
    state: &State,
    memory: &mut Memory,
    next: Option<UnsavedAction>,
    actions: &mut Vec<Action>,
) {
    if state.runtime.sessions.file.is_some() {
        let path = None;
        actions.push(Action::Session(SessionAction::Save { path, next }));
    } else {
        actions.push(Action::Session(SessionAction::CancelQuestion));
        save_as(ui, state, memory, next);
    }
}

/// The question before a session is overwritten that another program has changed.
fn changed_since(
    ui: &Ui,
    state: &State,
    since: &ChangedSince,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let name = file_name(&since.path);
    let mut answer = None;
    let mut stays = false;
    let close = modal(ui, "changed since", 400.0, |ui| {
        heading(ui, &format!("{name} was changed by another program"));
        ui.label(
            "Another window or program has written to it since it was opened or saved here. Overwriting it \
             loses those changes",
        );
        ui.horizontal(|ui| {
            let enter = ui.input(|i| i.key_pressed(Key::Enter));
            if Button::primary("Save as…").show(ui).clicked() || enter {
                answer = Some(true);
            }
            if Button::plain("Overwrite").show(ui).clicked() {
                answer = Some(false);
            }
            stays = Button::quiet("Cancel").show(ui).clicked();
        });
    });
    match answer {
        Some(true) => {
            actions.push(Action::Session(SessionAction::CancelQuestion));
            save_as(ui, state, memory, since.next.clone());
        }
        Some(false) => actions.push(Action::Session(SessionAction::Overwrite)),
        None if close || stays => actions.push(Action::Session(SessionAction::CancelQuestion)),
        None => {}
    }
}

pub fn show(ui: &Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    if let Some(since) = &state.runtime.sessions.changed_since {
        return changed_since(ui, state, since, memory, actions);
    }
    let Some(pending_action) = &state.runtime.sessions.pending_action else {
        return;
    };
    let before = match pending_action {
        UnsavedAction::Quit => "before the window closes",
        UnsavedAction::New => "before a new one begins",
        UnsavedAction::Open(_) | UnsavedAction::OpenWith { .. } | UnsavedAction::Recover(_) => {
            "before another is opened"
        }
        UnsavedAction::Demo { .. } => "before the demo head is opened",
        UnsavedAction::Head(_) => "before a built-in head is opened",
    };
    let unsaved = state.unsaved();
    let question = match unsaved.is_empty() {
        true => not_stored_question(state, before),
        false => unsaved_question(state, before),
    };
    let mut answer = None;
    let mut stays = false;
    let close = modal(ui, "leaving", 400.0, |ui| {
        heading(ui, &question.heading);
        ui.label(&question.reason);
        ui.scope(|ui| {
            ui.spacing_mut().item_spacing.y = 4.0;
            for row in &question.rows {
                ui.label(format!("• {row}"));
            }
        });
        ui.horizontal(|ui| {
            let enter = ui.input(|i| i.key_pressed(Key::Enter));
            if Button::primary(question.yes_label).show(ui).clicked() || enter {
                answer = Some(true);
            }
            if Button::plain(question.no_label).show(ui).clicked() {
                answer = Some(false);
            }
            stays = Button::quiet("Cancel").show(ui).clicked();
        });
    });
    match answer {
        Some(true) if unsaved.is_empty() => {
            let next = Some(pending_action.clone());
            actions.push(Action::Session(SessionAction::StoreToo { next }));
        }
        Some(true) => save(ui, state, memory, Some(pending_action.clone()), actions),
        Some(false) => actions.push(Action::Session(SessionAction::Discard)),
        None if close || stays => actions.push(Action::Session(SessionAction::CancelQuestion)),
        None => {}
    }
}

struct Question {
    heading: String,
    reason: String,
    rows: Vec<String>,
    yes_label: &'static str,
    no_label: &'static str,
}

/// The question when work is in no file.
fn unsaved_question(state: &State, before: &str) -> Question {
    let named = state.runtime.sessions.file.is_some();
    Question {
        heading: format!("Save the session {before}?"),
        reason: match named {
            true => format!("Changed since {} was saved:", quit::name(state)),
            false => "Not saved yet, and lost unless you save the session:".to_owned(),
        },
        rows: rows(state),
        yes_label: if named { "Save" } else { "Save…" },
        no_label: "Don’t save",
    }
}

/// The question when everything is saved except streamlines of large layers.
fn not_stored_question(state: &State, before: &str) -> Question {
    let layers = state.only_in_memory();
    let labels: Vec<String> = layers.iter().map(RecipeOnly::label).collect();
    Question {
        heading: format!("Store large layers {before}?"),
        reason: match layers.len() {
            1 => format!(
                "{} holds the recipe of this layer, not its streamlines, which would have to be recomputed:",
                quit::name(state)
            ),
            _ => format!(
                "{} holds the recipes of these layers, not their streamlines ({}), which would have to be \
                 recomputed:",
                quit::name(state),
                summed(&layers)
            ),
        },
        rows: shortened(labels),
        yes_label: "Also store them",
        no_label: "Don’t store",
    }
}

/// Unsaved work, one line each.
pub fn rows(state: &State) -> Vec<String> {
    shortened(state.unsaved_lines())
}

/// The number of lines that fit in a small window.
fn shortened(mut rows: Vec<String>) -> Vec<String> {
    const MAXIMUM_ROWS: usize = 10;
    if rows.len() > MAXIMUM_ROWS {
        let more = rows.len() - (MAXIMUM_ROWS - 1);
        rows.truncate(MAXIMUM_ROWS - 1);
        rows.push(format!("{more} more"));
    }
    rows
}
