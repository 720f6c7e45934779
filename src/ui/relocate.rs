//! The question for files that a session refers to and that are gone, or not what they were.

use super::files::{Place, Purpose};
use super::theme::{self, size};
use super::widgets::button::Button;
use super::widgets::paint;
use super::{Memory, icons, leaving};
use crate::state::saving::Opening;
use crate::state::saving::{Found, Standing};
use crate::state::{Action, SessionAction, State};
use egui::{Key, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};

const WIDTH: f32 = 600.0;

pub fn show(ui: &Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let opening = state.session.saving.opening.as_ref();
    let Some(opening) = opening.filter(|o| o.asking) else {
        return;
    };
    let searching = !state.session.jobs.is_empty();
    let window = ui.max_rect().size();
    let width = WIDTH.min(window.x - 80.0);
    let close = leaving::modal(ui, "relocate", width, |ui| {
        contents(ui, opening, searching, window.y, memory, actions);
    });
    // A click beside it would forget what was pointed to.
    if close && ui.input(|i| i.key_pressed(Key::Escape)) {
        actions.push(Action::Session(SessionAction::CancelOpening));
    }
}

fn contents(
    ui: &mut Ui,
    opening: &Opening,
    searching: bool,
    window: f32,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let wrong: Vec<_> = opening.wrong().collect();
    let missing = wrong.iter();
    let missing = missing.filter(|(_, f)| matches!(f.standing, Standing::Missing(_)));
    let missing = missing.count();
    let name = opening.read.path.file_name().unwrap_or_default();
    let title = match (missing, wrong.len()) {
        (0, 0) => "All files are found",
        (0, 1) => "A file has changed",
        (0, _) => "Files have changed",
        (1, _) => "A file is missing",
        _ => "Files are missing",
    };
    leaving::heading(ui, &format!("{title}: {}", name.to_string_lossy()));
    let height = (window - 260.0).max(120.0);
    ScrollArea::vertical().max_height(height).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 10.0;
        for (index, found) in &wrong {
            row(ui, *index, found, searching, memory, actions);
        }
    });
    let words = match (missing, wrong.len()) {
        (_, 0) => "",
        (0, _) => "Changed files are opened as they are now",
        _ => "What is missing stays in the session: Layers can point to it at any time",
    };
    if !words.is_empty() {
        let words = egui::RichText::new(words).font(theme::regular(size::LABEL));
        ui.label(words.color(p.t2));
    }
    ui.horizontal(|ui| {
        let open = match missing {
            0 => Button::primary("Open"),
            _ => Button::plain("Choose later")
                .hint("Opens the session; Layers asks for what is missing"),
        };
        let busy = searching.then_some("Files are being looked for");
        if open.disabled(busy).show(ui).clicked() {
            actions.push(Action::Session(SessionAction::OpenAnyway));
        }
        if Button::quiet("Cancel").show(ui).clicked() {
            actions.push(Action::Session(SessionAction::CancelOpening));
        }
    });
}

fn row(
    ui: &mut Ui,
    index: usize,
    found: &Found,
    searching: bool,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let (why, ink) = match &found.standing {
        Standing::Missing(why) => (why, p.error),
        Standing::Changed(why) => (why, p.warning),
        Standing::Same => return,
    };
    let name = found.path.file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let width = ui.available_width();
    let line = |ui: &mut Ui| ui.allocate_exact_size(vec2(width, 18.0), Sense::hover());
    let busy = searching.then_some("Files are being looked for");
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.y = 4.0;
        let (rect, response) = line(ui);
        let at = pos2(rect.left() + 8.0, rect.center().y);
        paint::icon(ui.painter(), at, icons::WARNING, size::ICON, ink);
        let text = paint::inset(rect, 24.0, 0.0);
        paint::left(ui.painter(), text, &name, theme::medium(size::LABEL), p.t1);
        let label = format!("{name}: {why}");
        response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &label));
        let words = format!("{why}: {}", found.path.display());
        let (rect, response) = line(ui);
        let text = paint::inset(rect, 24.0, 0.0);
        let font = theme::regular(size::LABEL);
        paint::left(ui.painter(), text, &words, font, p.t2);
        response.on_hover_text(&words);
        ui.push_id(index, |ui| {
            ui.horizontal(|ui| {
                ui.add_space(24.0);
                if let Some(suggestion) = &found.suggestion {
                    let word = format!("Take {}", short(suggestion));
                    let hint = suggestion.display().to_string();
                    let take = Button::plain(&word).hint(&hint).disabled(busy);
                    if take.show(ui).clicked() {
                        let path = suggestion.clone();
                        actions.push(Action::Session(SessionAction::Relocate { index, path }));
                    }
                }
                if Button::plain("Choose…").disabled(busy).show(ui).clicked() {
                    let purpose = Purpose::Locate { index };
                    let text = found.path.display().to_string();
                    memory.files.ask(ui.ctx(), purpose, Place::Middle, &text);
                }
            });
        });
    });
}

/// The last folder and the name.
fn short(path: &std::path::Path) -> String {
    let mut parts: Vec<_> = path.iter().rev().take(2).collect();
    parts.reverse();
    let parts: Vec<_> = parts.iter().map(|p| p.to_string_lossy()).collect();
    parts.join("/")
}
