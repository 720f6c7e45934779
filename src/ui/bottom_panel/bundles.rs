//! Bundles: the settings of clusters, and a row for each group of the streamlines.

use super::super::forms::bundles;
use super::super::theme::{self, size, space};
use super::super::widgets::{paint, rows};
use super::super::{Memory, format};
use super::{dimmed, empty, rect_after_settings};
use crate::data::Tractogram;
use crate::solvers::bundles::GroupStatistics;
use crate::state::core::colours::category_rgb;
use crate::state::core::display::LineColouring;
use crate::state::streamlines::{GroupTable, SelectionMode};
use crate::state::{Action, Layer, State, StreamlineAction};
use egui::{Color32, Rect, Sense, Ui, pos2, vec2};

const COLUMN: f32 = 92.0;
const SWATCH: f32 = 10.0;

pub fn show(
    ui: &mut Ui,
    state: &State,
    (layer, lines): (&Layer, &Tractogram),
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let place = rect_after_settings(ui, |ui| bundles::show(ui, state, memory, actions));
    if lines.groups.is_empty() {
        let text = "These streamlines have no groups: cluster them, recognise bundles, or open a TRX file with groups";
        return empty(ui, place, text);
    }
    let live = &state.runtime.streamlines.groups;
    let shown = live.shown().filter(|(key, _)| key.tractogram == lines.id());
    let Some((_, known)) = shown else {
        let text = match live.has_failed() {
            true => "There are no figures: see the message for the reason",
            false => "Measuring…",
        };
        return empty(ui, place, text);
    };
    super::super::part(ui, "bundles", place, |ui| {
        dimmed(ui, live, |ui| {
            table(ui, state, (layer, lines), known, actions);
        });
    });
}

/// The headings of the columns beside the name.
fn headings(table: &GroupTable) -> Vec<String> {
    let mut headings = vec![
        "Streamlines".to_owned(),
        "Length, mm".to_owned(),
        "SD, mm".to_owned(),
    ];
    if table
        .groups
        .iter()
        .any(|(_, figures)| figures.volume_mm3.is_some())
    {
        headings.push("Volume, ml".to_owned());
    }
    headings.extend(table.value.clone());
    headings
}

/// The cells of a row, from the left, after its name.
fn cells(row: Rect, count: usize) -> Vec<Rect> {
    let from = row.right() - 8.0 - COLUMN * count as f32;
    let cell = |i: usize| {
        let left = from + COLUMN * i as f32;
        let right = left + COLUMN - 8.0;
        Rect::from_min_max(pos2(left, row.top()), pos2(right, row.bottom()))
    };
    (0..count).map(cell).collect()
}

fn table(
    ui: &mut Ui,
    state: &State,
    (layer, lines): (&Layer, &Tractogram),
    known: &GroupTable,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let headings = headings(known);
    let width = ui.max_rect().width();
    let (head, _) = ui.allocate_exact_size(vec2(width, space::TABLE_HEAD), Sense::hover());
    let font = theme::regular(size::CAPTION);
    let name = paint::inset(head, 8.0, 0.0);
    paint::left(ui.painter(), name, "Bundle", font.clone(), p.t3);
    for (cell, text) in cells(head, headings.len()).into_iter().zip(&headings) {
        paint::right(ui.painter(), cell, text, font.clone(), p.t3);
    }
    let has_colours = layer.display.line_colouring == LineColouring::Group;
    let chosen = state
        .manual_selection()
        .filter(|c| c.tractogram == lines.id());
    ui.spacing_mut().item_spacing.y = 0.0;
    let area = egui::ScrollArea::vertical().auto_shrink(false);
    area.show_rows(ui, space::ROW, known.groups.len(), |ui, range| {
        for number in range {
            let (name, figures) = &known.groups[number];
            // The whole group is chosen, and nothing else.
            let members = lines.groups.get(name);
            let is_chosen = members.zip(chosen).is_some_and(|(members, chosen)| {
                let first = members.first().is_some_and(|i| chosen.marks.0[*i as usize]);
                first && chosen.count == figures.count
            });
            let colour = has_colours.then(|| {
                let [r, g, b] = category_rgb(number);
                Color32::from_rgb(r, g, b)
            });
            row(
                ui,
                (name, figures),
                headings.len(),
                (colour, is_chosen),
                actions,
            );
        }
    });
}

fn row(
    ui: &mut Ui,
    (name, figures): (&str, &GroupStatistics),
    columns: usize,
    (colour, is_chosen): (Option<Color32>, bool),
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let number = |v: f64, decimals: usize| match v.is_finite() {
        true => format::fixed(v, decimals),
        false => "–".to_owned(),
    };
    let mut texts = vec![
        format::count(figures.count as u64),
        number(figures.length_mm, 1),
        number(figures.length_sd_mm, 1),
    ];
    texts.extend(figures.volume_mm3.map(|v| number(v / 1000.0, 2)));
    texts.extend(figures.value.map(|v| match v.is_finite() {
        true => format::significant(v),
        false => "–".to_owned(),
    }));
    let spoken = format!(
        "{name}: {} streamlines, mean length {} mm",
        texts[0], texts[1]
    );
    let response = rows::list_row(ui, &spoken, ("bundle", name), is_chosen);
    let font = theme::regular(size::LABEL);
    let cells = cells(response.rect, columns);
    let left = response.rect.left() + 8.0;
    let mut from = left;
    if let Some(colour) = colour {
        let at = pos2(left, response.rect.center().y - 0.5 * SWATCH);
        let swatch = Rect::from_min_size(at, vec2(SWATCH, SWATCH));
        ui.painter().rect_filled(swatch, 2.0, colour);
        from += SWATCH + 8.0;
    }
    let right = cells.first().map_or(response.rect.right(), Rect::left);
    let place = Rect::from_min_max(
        pos2(from, response.rect.top()),
        pos2(right - 6.0, response.rect.bottom()),
    );
    paint::name(ui.painter(), place, name, font.clone(), p.t1);
    for (cell, text) in cells.into_iter().zip(&texts) {
        paint::right(ui.painter(), cell, text, font.clone(), p.t1);
    }
    if response.clicked() {
        let modifiers = ui.input(|i| i.modifiers);
        let mode = match (modifiers.command, modifiers.shift) {
            (true, _) => SelectionMode::Toggle,
            (false, true) => SelectionMode::Add,
            (false, false) => SelectionMode::Replace,
        };
        actions.push(Action::Streamline(StreamlineAction::ChooseGroup {
            group: name.to_owned(),
            mode,
        }));
    }
}
