//! Scores of streamlines against a truth: bundles and connections in all, and a row for each bundle.

use super::super::files::{DialogPosition, PathPurpose};
use super::super::theme::{self, size, space};
use super::super::widgets::button::{Button, IconButton};
use super::super::widgets::{paint, rows};
use super::super::{Memory, format, icons};
use super::{dimmed, empty, rect_after_settings};
use crate::solvers::score::{BundleScore, Scores};
use crate::state::State;
use egui::{Rect, Sense, Ui, pos2, vec2};

/// Columns beside the name of a bundle.
const COLUMNS: [&str; 5] = ["Valid", "Wrong path", "OL %", "OR %", "F1 %"];
const COLUMN: f32 = 74.0;

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory) {
    let place = rect_after_settings(ui, |ui| settings(ui, state, memory));
    let live = &state.runtime.streamlines.scores;
    let Some(scores) = shown(state) else {
        let text = match (&state.document.streamlines.truth, live.has_failed()) {
            (None, _) => {
                "Choose a truth: a folder with truth.json, end regions, true fibres and corridors"
            }
            (Some(_), true) => "There are no scores: see the message for the reason",
            (Some(_), false) => "Scoring…",
        };
        return empty(ui, place, text);
    };
    super::super::part(ui, "scores", place, |ui| {
        dimmed(ui, live, |ui| table(ui, scores));
    });
}

/// The scores against the chosen truth.
fn shown(state: &State) -> Option<&Scores> {
    let truth = state.document.streamlines.truth.as_ref();
    let (key, scores) = state.runtime.streamlines.scores.shown()?;
    (Some(&key.truth) == truth).then_some(&**scores)
}

const CHOOSE: &str = "Choose truth…";

/// The truth, and the scores of all streamlines.
fn settings(ui: &mut Ui, state: &State, memory: &mut Memory) {
    let folder = state.document.streamlines.truth.as_deref();
    let name = folder.and_then(|folder| folder.file_name());
    let chooses = match name {
        Some(name) => {
            let name = name.to_string_lossy();
            let shown = rows::input(ui, icons::FOLDER, "Truth", &name, "");
            let row = paint::inset(
                shown.rect.with_max_y(shown.rect.bottom() - 4.0),
                4.0,
                space::INSET,
            );
            let choose = IconButton::new(icons::FOLDER, CHOOSE).hint("Choose another truth");
            choose.show_right(ui, row).clicked()
        }
        None => {
            let button = Button::plain(CHOOSE).icon(icons::FOLDER);
            let wide = vec2(ui.available_width(), space::BUTTON + 8.0);
            let (rect, _) = ui.allocate_exact_size(wide, Sense::hover());
            let row = paint::inset(rect, space::INSET, space::INSET);
            let place = paint::at_left(row, vec2(button.width(ui), space::BUTTON));
            button.show_at(ui, place).clicked()
        }
    };
    if chooses {
        let text = folder.map_or(String::new(), |folder| folder.display().to_string());
        let (purpose, middle) = (PathPurpose::Truth, DialogPosition::Middle);
        memory.files.ask_for_path(ui.ctx(), purpose, middle, &text);
    }
    let Some(scores) = shown(state) else {
        return;
    };
    for (name, value) in summary(scores) {
        rows::reading(ui, name, &value);
    }
}

/// The Tractometer's scores of all streamlines.
pub fn summary(scores: &Scores) -> Vec<(&'static str, String)> {
    let all = scores.connections.len().max(1) as f64;
    let share = |some: usize| percent(some as f64 / all);
    let bundles = format::count(scores.bundles.len() as u64);
    let valid = format::count(scores.valid_bundles() as u64);
    vec![
        ("Valid bundles (VB)", format!("{valid} of {bundles}")),
        (
            "Invalid bundles (IB)",
            format::count(scores.invalid_bundles.len() as u64),
        ),
        ("Valid connections (VC)", share(scores.valid())),
        ("Invalid (IC)", share(scores.invalid())),
        ("None (NC)", share(scores.unconnected())),
        (
            "Mean overlap (OL)",
            percent(scores.mean(BundleScore::overlap)),
        ),
        (
            "Mean overreach (OR)",
            percent(scores.mean(BundleScore::overreach)),
        ),
        ("Mean F1", percent(scores.mean(BundleScore::f1))),
    ]
}

fn percent(share: f64) -> String {
    format::with_unit(&format::fixed(100.0 * share, 1), "%")
}

/// The cells of a row, from the left, after its name.
fn cells(row: Rect) -> [Rect; COLUMNS.len()] {
    let from = row.right() - 6.0 - COLUMN * COLUMNS.len() as f32;
    std::array::from_fn(|i| {
        let left = from + COLUMN * i as f32;
        Rect::from_min_max(
            pos2(left, row.top()),
            pos2(left + COLUMN - 4.0, row.bottom()),
        )
    })
}

fn table(ui: &mut Ui, scores: &Scores) {
    let p = theme::palette(ui.style());
    let width = ui.max_rect().width();
    let (head, _) = ui.allocate_exact_size(vec2(width, space::TABLE_HEAD), Sense::hover());
    let font = theme::regular(size::CAPTION);
    let name = paint::inset(head, 8.0, 0.0);
    paint::left(ui.painter(), name, "Bundle", font.clone(), p.t3);
    for (cell, text) in cells(head).into_iter().zip(COLUMNS) {
        paint::right(ui.painter(), cell, text, font.clone(), p.t3);
    }
    ui.spacing_mut().item_spacing.y = 0.0;
    let area = egui::ScrollArea::vertical().auto_shrink(false);
    area.show_rows(ui, space::ROW, scores.bundles.len(), |ui, range| {
        for bundle in &scores.bundles[range] {
            bundle_row(ui, bundle);
        }
    });
}

fn bundle_row(ui: &mut Ui, bundle: &BundleScore) {
    let p = theme::palette(ui.style());
    let shares = [bundle.overlap(), bundle.overreach(), bundle.f1()];
    let [overlap, overreach, f1] = shares.map(|share| format::fixed(100.0 * share, 1));
    let [valid, astray] = [bundle.valid, bundle.wrong_paths].map(|n| format::count(n as u64));
    let spoken = format!(
        "{}: {valid} valid, {astray} wrong paths, OL {overlap} %, OR {overreach} %, F1 {f1} %",
        bundle.name
    );
    let response = rows::list_row(ui, &spoken, ("scored bundle", &bundle.name), false);
    let font = theme::regular(size::LABEL);
    let cells = cells(response.rect);
    let name = Rect::from_min_max(
        response.rect.min + vec2(8.0, 0.0),
        pos2(cells[0].left() - 6.0, response.rect.bottom()),
    );
    paint::name(ui.painter(), name, &bundle.name, font.clone(), p.t1);
    let texts = [valid, astray, overlap, overreach, f1];
    for (cell, text) in cells.into_iter().zip(&texts) {
        paint::right(ui.painter(), cell, text, font.clone(), p.t1);
    }
}
