//! The question about files of a session that are missing or have changed.

use super::unsaved_changes;
use crate::data::text::file_name;
use crate::state::sessions::{FileComparison, FileDecision, FileStatus, Opening};
use crate::state::{Action, SessionAction, State};
use crate::ui::files::{DialogPosition, PathPurpose};
use crate::ui::theme::{self, size};
use crate::ui::widgets::button::Button;
use crate::ui::widgets::paint;
use crate::ui::{Memory, format, icons};
use egui::{FontId, Key, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};

const WIDTH: f32 = 600.0;

pub fn show(ui: &Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let opening = state.runtime.sessions.opening.as_ref();
    let Some(opening) = opening.filter(|o| o.asking) else {
        return;
    };
    let searching = !state.runtime.jobs.running.is_empty();
    let window = ui.max_rect().size();
    let width = WIDTH.min(window.x - 80.0);
    let close = unsaved_changes::modal(ui, "relocate", width, |ui| {
        contents(ui, opening, searching, window.y, memory, actions);
    });
    // A click outside would discard the files chosen so far.
    if close && ui.input(|i| i.key_pressed(Key::Escape)) {
        actions.push(Action::Session(SessionAction::CancelOpening));
    }
}

/// `3 files are missing or changed`.
fn title(missing: usize, changed: usize) -> String {
    let what = match (missing, changed) {
        (0, 0) => return "All files were found".to_owned(),
        (_, 0) => "missing",
        (0, _) => "changed",
        _ => "missing or changed",
    };
    match missing + changed {
        1 => format!("1 file is {what}"),
        n => format!("{} files are {what}", format::count(n as u64)),
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
    let changed_files: Vec<_> = opening.changed_files().collect();
    let is_missing = |f: &FileStatus| matches!(f.standing, FileComparison::Missing(_));
    let missing = changed_files.iter().filter(|(_, f)| is_missing(f)).count();
    let changed = changed_files.len() - missing;
    let name = file_name(&opening.session.path);
    let head = format!("{name}: {}", title(missing, changed));
    unsaved_changes::heading(ui, &head);
    let height = (window - 260.0).max(120.0);
    ScrollArea::vertical().max_height(height).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 10.0;
        for (index, file) in &changed_files {
            let answer = opening.decisions.get(index).copied();
            row(ui, *index, file, answer, searching, memory, actions);
        }
    });
    let open = opening.open_questions();
    let text = match open {
        0 => "",
        _ => {
            "Anything missing or undecided stays in the session; you can locate it later in Layers"
        }
    };
    if !text.is_empty() {
        let text = egui::RichText::new(text).font(theme::regular(size::LABEL));
        ui.label(text.color(p.t2));
    }
    ui.horizontal(|ui| {
        let busy = searching.then_some("Looking for files…");
        let all = opening.found_elsewhere();
        if all.len() > 1 {
            let label = format!("Take all {}", format::count(all.len() as u64));
            let take = Button::plain(&label).hint("Use every file that was found elsewhere");
            if take.disabled(busy).show(ui).clicked() {
                actions.push(Action::Session(SessionAction::TakeAll));
            }
        }
        let button = match open {
            0 => Button::primary("Open"),
            _ => Button::plain("Choose later")
                .hint("Opens the session without them; you can locate them later in Layers"),
        };
        if button.disabled(busy).show(ui).clicked() {
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
    file: &FileStatus,
    decision: Option<FileDecision>,
    searching: bool,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let (why, changed) = match &file.standing {
        FileComparison::Missing(why) => (why.to_string(), false),
        FileComparison::Changed(change) => (change.to_string(), true),
        FileComparison::Same => return,
    };
    let ink = match (changed, decision) {
        (false, _) => p.error,
        (true, None) => p.warning,
        (true, Some(_)) => p.t2,
    };
    // The file's own name, whichever file replaces it.
    let name = file.entry.name();
    let width = ui.available_width();
    let line = |ui: &mut Ui| ui.allocate_exact_size(vec2(width, 18.0), Sense::hover());
    let busy = searching.then_some("Looking for files…");
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.y = 4.0;
        let (rect, response) = line(ui);
        let at = pos2(rect.left() + 8.0, rect.center().y);
        paint::icon(ui.painter(), at, icons::WARNING, size::ICON, ink);
        let text = paint::inset(rect, 24.0, 0.0);
        paint::left(ui.painter(), text, name, theme::medium(size::LABEL), p.t1);
        let label = format!("{name}: {why}");
        response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &label));
        let font = theme::regular(size::LABEL);
        let sentence = match decision.filter(|_| changed) {
            None => format!("{why}: "),
            Some(FileDecision::UseAsItIs) => format!("Used as it is. {why}: "),
            Some(FileDecision::LeaveOut) => format!("Left out. {why}: "),
        };
        let path = file.path.display().to_string();
        let (rect, response) = line(ui);
        let text = paint::inset(rect, 24.0, 0.0);
        let room = text.width() - paint::width(ui, &sentence, font.clone());
        let shown = sentence.clone() + &in_the_middle(ui, &path, &font, room);
        paint::left(ui.painter(), text, &shown, font, p.t2);
        response.on_hover_text(sentence + &path);
        ui.push_id(index, |ui| {
            ui.horizontal(|ui| {
                ui.add_space(24.0);
                let mut send = |action| actions.push(Action::Session(action));
                if let Some(suggestion) = &file.suggestion {
                    let label = format!("Take {}", shortened(suggestion));
                    let hint = suggestion.display().to_string();
                    let take = Button::plain(&label).hint(&hint).disabled(busy);
                    if take.show(ui).clicked() {
                        let path = suggestion.clone();
                        send(SessionAction::Relocate { index, path });
                    }
                }
                let answers = [
                    (FileDecision::UseAsItIs, "Use it as it is"),
                    (FileDecision::LeaveOut, "Leave out"),
                ];
                for (which, label) in answers.into_iter().filter(|_| changed) {
                    let button = match decision == Some(which) {
                        true => Button::primary(label),
                        false => Button::plain(label),
                    };
                    if button.disabled(busy).show(ui).clicked() {
                        let decision = which;
                        send(SessionAction::Decide { index, decision });
                    }
                }
                if Button::plain("Choose…").disabled(busy).show(ui).clicked() {
                    let name = name.to_owned();
                    let purpose = PathPurpose::Locate { index, name };
                    memory
                        .files
                        .ask_for_path(ui.ctx(), purpose, DialogPosition::Middle, &path);
                }
            });
        });
    });
}

/// Shortens a path in the middle to fit a width, so that the name stays.
fn in_the_middle(ui: &Ui, path: &str, font: &FontId, width: f32) -> String {
    let fits = |text: &str| paint::width(ui, text, font.clone()) <= width;
    if fits(path) {
        return path.to_owned();
    }
    let letters: Vec<char> = path.chars().collect();
    let cut = |kept: usize| -> String {
        // The end is more informative than the beginning.
        let first = kept / 3;
        let (begin, end) = (
            &letters[..first],
            &letters[letters.len() - (kept - first)..],
        );
        begin.iter().chain(&['…']).chain(end).collect()
    };
    let (mut low, mut high) = (0, letters.len());
    while low + 1 < high {
        let middle = low.midpoint(high);
        match fits(&cut(middle)) {
            true => low = middle,
            false => high = middle,
        }
    }
    cut(low)
}

/// The last folder and the name.
fn shortened(path: &std::path::Path) -> String {
    let mut parts: Vec<_> = path.iter().rev().take(2).collect();
    parts.reverse();
    let parts: Vec<_> = parts.iter().map(|p| p.to_string_lossy()).collect();
    parts.join("/")
}
