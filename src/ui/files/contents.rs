//! The content of the sheet with a path field.

use super::typed::{listed, values_of};
use super::{PathPurpose, Sheet, picture};
use crate::state::filter::FilterFile;
use crate::state::update::unsupported_contents;
use crate::state::{Severity, State};
use crate::ui::panels;
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::{Button, segmented};
use crate::ui::widgets::field::{self, Typed};
use crate::ui::widgets::note::Note;
use crate::ui::widgets::paint;
use egui::{Rect, Sense, Ui, vec2};
use std::path::Path;

/// Returns the outcome, whether a dialog is requested instead, and whether the command is.
pub fn show(ui: &mut Ui, state: &State, sheet: &mut Sheet, native: bool) -> (Typed, bool, bool) {
    let width = ui.available_width();
    title(ui, width, &sheet.purpose, state);
    options(ui, sheet);

    let place = row(ui, width, space::ROW);
    let hint = match sheet.purpose {
        PathPurpose::Open => "/folder/dwi.nii.gz; separate several with ;",
        PathPurpose::Responses(None) => "/folder/wm.txt; /folder/gm.txt; /folder/csf.txt",
        PathPurpose::Warp(_) => "/folder/1Warp.nii.gz; /folder/0GenericAffine.mat",
        _ => "/folder/name",
    };
    let typed = field::path(ui, place, "Path", &mut sheet.text, hint, sheet.focus);
    if !sheet.names.is_empty() {
        completions(ui, width, &sheet.names);
    }
    let lines = values_of(&sheet.purpose, Path::new(sheet.text.trim()));
    if !lines.is_empty() {
        values(ui, width, &lines);
    }
    notes(ui, width, state, sheet);
    let place = row(ui, width, space::BUTTON);
    let (pressed, browse, copies) = buttons(ui, place, sheet, native);
    (pressed.unwrap_or(typed), browse, copies)
}

fn row(ui: &mut Ui, width: f32, height: f32) -> Rect {
    ui.allocate_exact_size(vec2(width, height), Sense::hover())
        .0
}

/// The title, and the keys.
fn title(ui: &mut Ui, width: f32, purpose: &PathPurpose, state: &State) {
    let p = theme::palette(ui.style());
    let head = row(ui, width, 18.0);
    let title = purpose.title_of(state);
    let verb = match purpose {
        PathPurpose::Open => "Enter opens",
        purpose if purpose.saves() => "Enter saves",
        _ => "Enter uses it",
    };
    let font = theme::semibold(size::LABEL);
    let small = theme::regular(size::CAPTION);
    let room = width - paint::width(ui, &title, font.clone()) - 12.0;
    // The longest list of keys that fits next to the whole title.
    let keys = [
        format!("{verb} · Tab completes · Esc closes"),
        format!("{verb} · Esc closes"),
        verb.to_owned(),
    ];
    let fits = |keys: &&String| paint::width(ui, keys, small.clone()) <= room;
    let keys = keys.iter().find(fits).map_or("", |keys| keys);
    let keys = paint::right(ui.painter(), head, keys, small.clone(), p.t3);
    let place = head.with_max_x(keys.left() - 12.0);
    paint::name(ui.painter(), place, &title, font, p.t1);
}

/// The completions that Tab found.
fn completions(ui: &mut Ui, width: f32, names: &[String]) {
    let p = theme::palette(ui.style());
    let place = row(ui, width, 18.0);
    let text = listed(names);
    let response = ui.interact(place, ui.make_persistent_id("names"), Sense::hover());
    let font = theme::regular(size::CAPTION);
    paint::left(ui.painter(), place, &text, font, p.t2);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &text));
}

/// The values that the file can hold, one line each.
fn values(ui: &mut Ui, width: f32, lines: &[String]) {
    let p = theme::palette(ui.style());
    let place = row(ui, width, 18.0 * lines.len() as f32);
    let response = ui.interact(place, ui.make_persistent_id("beside"), Sense::hover());
    for (i, line) in lines.iter().enumerate() {
        let top = place.min + vec2(0.0, 18.0 * i as f32);
        let place = Rect::from_min_size(top, vec2(width, 18.0));
        let font = theme::regular(size::CAPTION);
        paint::left(ui.painter(), place, line, font, p.t2);
    }
    let text = lines.join(", ");
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &text));
}

/// Errors, warnings and losses as notes.
fn notes(ui: &mut Ui, width: f32, state: &State, sheet: &Sheet) {
    let p = theme::palette(ui.style());
    if let Some(why) = &sheet.error {
        ui.scope(|ui| {
            ui.set_width(width);
            Note::new(p, Severity::Error, why).show(ui)
        });
    }
    if let Some(existing) = &sheet.replaces {
        let text = existing.sentence();
        ui.scope(|ui| {
            // A note keeps its own inset; the sheet has one already.
            ui.set_width(width);
            Note::new(p, Severity::Warning, &text).show(ui)
        });
    }
    if let Some(note) = sheet.purpose.stale_note(state) {
        ui.scope(|ui| {
            ui.set_width(width);
            Note::new(p, Severity::Warning, note).show(ui)
        });
    }
    let path = Path::new(sheet.text.trim());
    let message = sheet.purpose.selection_note(state);
    if let Some(note) = message.or_else(|| sheet.purpose.numbered_files_note(path)) {
        ui.scope(|ui| {
            ui.set_width(width);
            Note::new(p, Severity::Information, &note).show(ui)
        });
    }
    let layer = match &sheet.purpose {
        PathPurpose::Streamlines { layer, .. } => Some(*layer),
        PathPurpose::Filter(FilterFile::Kept | FilterFile::All, _) => {
            state.document.filtered().map(|(layer, _)| Some(layer.id))
        }
        _ => None,
    };
    if let Some(layer) = layer {
        let path = Path::new(sheet.text.trim());
        let unsupported = unsupported_contents(state, layer, path);
        if !unsupported.is_empty() {
            let text = unsupported.join("\n");
            ui.scope(|ui| {
                ui.set_width(width);
                Note::new(p, Severity::Information, &text).show(ui)
            });
        }
    }
}

/// The buttons; returns the outcome if one was pressed, whether a dialog is requested, and whether the command is.
fn buttons(ui: &mut Ui, buttons: Rect, sheet: &Sheet, native: bool) -> (Option<Typed>, bool, bool) {
    let mut outcome = None;
    let label = match (&sheet.purpose, &sheet.replaces) {
        (_, Some(_)) => "Replace",
        (PathPurpose::Open, None) => "Open",
        (purpose, None) if purpose.saves() => "Save",
        (_, None) => "Use it",
    };
    let empty = sheet.text.trim().is_empty();
    let go = Button::primary(label).disabled(empty.then_some("Type a path first"));
    let place = Rect::from_min_size(buttons.min, vec2(go.width(ui), space::BUTTON));
    if go.show_at(ui, place).clicked() {
        outcome = Some(Typed::Entered);
    }
    let mut x = place.right() + 6.0;
    let mut browse = false;
    if native {
        let choose = Button::plain("Choose…");
        let place = Rect::from_min_size(
            egui::pos2(x, buttons.top()),
            vec2(choose.width(ui), space::BUTTON),
        );
        x = place.right() + 6.0;
        browse = choose.show_at(ui, place).clicked();
    }
    let cancel = Button::quiet("Cancel");
    let place = Rect::from_min_size(
        egui::pos2(x, buttons.top()),
        vec2(cancel.width(ui), space::BUTTON),
    );
    if cancel.show_at(ui, place).clicked() {
        outcome = Some(Typed::Cancelled);
    }
    let picture = matches!(sheet.purpose, PathPurpose::Screenshot { .. });
    let copies = picture && panels::copy_command(ui, buttons, place.right() + 4.0, true);
    (outcome, browse, copies)
}

/// Format of a file; pane and size of a screenshot.
fn options(ui: &mut Ui, sheet: &mut Sheet) {
    let width = ui.available_width();
    let row = |ui: &mut Ui| ui.allocate_exact_size(vec2(width, 26.0), Sense::hover()).0;
    if let PathPurpose::Screenshot { pane, look } = &mut sheet.purpose {
        picture::options(ui, pane, look);
        return;
    }
    let endings = sheet.purpose.endings();
    if endings.len() > 1 {
        let names = sheet.purpose.format_names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let chosen = endings.iter().position(|e| sheet.text.ends_with(e));
        let place = row(ui);
        if let Some(i) = segmented(ui, place, "Format", &names, chosen.unwrap_or(usize::MAX)) {
            let accepted = sheet.purpose.accepted();
            let bare = accepted
                .iter()
                .find_map(|e| sheet.text.strip_suffix(&format!(".{e}")))
                .unwrap_or(&sheet.text);
            sheet.text = format!("{bare}.{}", endings[i]);
        }
    }
}
