//! The section *Figures* under the list of regions: an image measured within a region, a mask, a pathway or a surface.

use super::files::{DialogPosition, PathPurpose, suggestion};
use super::forms::display::short_unit;
use super::theme::{self, size, space};
use super::widgets::button::{Button, IconButton};
use super::widgets::charts::{BINS, Histogram};
use super::widgets::{menu, paint, region, rows, section};
use super::{Memory, format, icons};
use crate::data::Volume;
use crate::solvers::region::ValueStatistics;
use crate::state::core::live::{LAG, Standing};
use crate::state::regions::brush::measured;
use crate::state::update::figures_command;
use crate::state::{Action, FigureAction, FigureSubject, FigureTable, Layer, LayerId, State};
use egui::{Rect, Sense, Ui, pos2, vec2};

const TITLE: &str = "Figures";
/// The item of menus that opens the section.
pub const ITEM: &str = "Figures of an image";
/// Width of the names before the two menus.
const NAMES: f32 = 62.0;
/// Height of the readings while the first ones are computed.
const READINGS: f32 = 6.0 * 22.0;

/// The item of a context menu that measures in something.
pub fn item(ui: &mut Ui, subject: FigureSubject, actions: &mut Vec<Action>) -> bool {
    let clicked = menu::Item::new(ITEM).icon(icons::GRID).show(ui);
    if clicked {
        actions.push(Action::Figures(FigureAction::Measure(subject)));
    }
    clicked
}

/// Shown once there is something to measure and an image.
pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let (Some((subject, name)), Some((layer, volume, frame))) =
        (state.figure_subject(), state.figure_image())
    else {
        return;
    };
    let is_open = state.runtime.figures.is_open;
    let (open, clicked) = section::fold(ui, TITLE, is_open);
    if clicked {
        actions.push(Action::Figures(FigureAction::Show(open)));
    }
    if !open {
        return;
    }
    subject_row(ui, state, (subject, name), actions);
    image_row(ui, state, (layer, volume, frame), actions);
    let live = &state.runtime.figures.live;
    let Some(figures) = state.shown_figures() else {
        let text = live.failure().unwrap_or("Measuring…");
        rows::hint(ui, text);
        if live.failure().is_none() {
            ui.allocate_space(vec2(ui.available_width(), READINGS));
        }
        return;
    };
    if state.figures_standing() == Some(Standing::Updating) {
        // They are dimmed then, unless newer ones have come.
        ui.ctx().request_repaint_after(LAG);
    }
    let stale = state.figures_are_stale();
    rows::dimmed(ui, stale, |ui| readings(ui, layer, figures));
    buttons(ui, state, name, memory, actions);
}

/// A name with a menu on its right.
fn menu_row<T>(
    ui: &mut Ui,
    (label, help): (&str, &str),
    shown: &str,
    add: impl FnOnce(&mut Ui) -> Option<T>,
) -> Option<T> {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), space::ROW), Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let p = theme::palette(ui.style());
    let name_at = row.with_max_x(row.left() + NAMES);
    paint::left(
        ui.painter(),
        name_at,
        label,
        theme::regular(size::LABEL),
        p.t2,
    );
    let place = Rect::from_center_size(row.center(), vec2(row.width(), space::FIELD));
    let place = place.with_min_x(row.left() + NAMES);
    let response = ui.interact(
        name_at,
        ui.make_persistent_id(("help", label)),
        Sense::hover(),
    );
    response.on_hover_text(help);
    menu::select(ui, place, &format!("{TITLE}: {label}"), shown, add)
}

fn subject_row(
    ui: &mut Ui,
    state: &State,
    (now, name): (FigureSubject, &str),
    actions: &mut Vec<Action>,
) {
    let help = "The region, mask, pathway or surface in which the image is measured; by default the one selected last";
    let chosen = menu_row(ui, ("Within", help), name, |ui| {
        let mut chosen = None;
        let all: Vec<FigureSubject> = state.figure_subjects().collect();
        let list = egui::ScrollArea::vertical().max_height(12.0 * space::ROW);
        list.show_rows(ui, space::ROW, all.len(), |ui, range| {
            for subject in &all[range] {
                let name = state.figure_name(*subject).unwrap_or_default();
                let is_now = *subject == now;
                let region = match subject {
                    FigureSubject::Region(id) => state.document.region(*id),
                    _ => None,
                };
                let clicked = match (region, subject) {
                    (Some(r), _) => {
                        let colour = theme::region_colour(r);
                        menu::glyph_item(ui, name, "", is_now, |painter, at| {
                            region::glyph(painter, at, r.role, colour);
                        })
                    }
                    (None, FigureSubject::Pathway(_)) => {
                        let item = menu::Item::new(name).icon(icons::CURVE);
                        item.chosen(is_now).show(ui)
                    }
                    (None, FigureSubject::Surface) => {
                        let item = menu::Item::new(name).icon(icons::POLYGON);
                        item.chosen(is_now).show(ui)
                    }
                    (None, _) => {
                        let item = menu::Item::new(name).icon(icons::REGION);
                        item.chosen(is_now).show(ui)
                    }
                };
                if clicked {
                    chosen = Some(*subject);
                }
            }
        });
        chosen
    });
    actions.extend(chosen.map(|subject| Action::Figures(FigureAction::Measure(subject))));
}

fn image_row(
    ui: &mut Ui,
    state: &State,
    (layer, volume, frame): (&Layer, &Volume, usize),
    actions: &mut Vec<Action>,
) {
    let chosen: Option<LayerId> = state.runtime.figures.image;
    let shown = match volume.frames {
        0 | 1 => layer.name.clone(),
        n => {
            let (now, all) = (format::count(frame as u64 + 1), format::count(n as u64));
            format!("{}, volume {now} of {all}", layer.name)
        }
    };
    let help = "The measured image; of several volumes, the one shown. The tables hold all of them";
    let picked = menu_row(ui, ("Image", help), &shown, |ui| {
        let mut picked = None;
        let item = menu::Item::new("The image shown").icon(icons::EYE);
        if item.chosen(chosen.is_none()).show(ui) {
            picked = Some(None);
        }
        menu::line(ui);
        let layers = state.document.layers.iter().rev();
        for layer in layers.filter(|l| measured::is(l)) {
            let item = menu::Item::new(&layer.name).icon(icons::IMAGE);
            if item.chosen(chosen == Some(layer.id)).show(ui) {
                picked = Some(Some(layer.id));
            }
        }
        picked
    });
    actions.extend(picked.map(|image| Action::Figures(FigureAction::Image(image))));
}

/// Four significant digits, without zeros at the end.
fn digits(value: f64) -> String {
    if value.abs() < 1e-4 {
        return format::significant(value);
    }
    let before = value.abs().log10().floor() as i32 + 1;
    let text = format::fixed(value, (4 - before).clamp(0, 6) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// `1 234 mm³, 1.23 ml`.
fn volume_text(ml: f64) -> String {
    let mm3 = format::with_unit(&digits(ml * 1e3), "mm³");
    let decimals = match ml {
        ml if ml < 10.0 => 2,
        ml if ml < 100.0 => 1,
        _ => 0,
    };
    match ml < 0.1 {
        true => mm3,
        false => format!("{mm3}, {}", format::ml(ml, decimals)),
    }
}

fn readings(ui: &mut Ui, layer: &Layer, figures: &ValueStatistics) {
    let scale = f64::from(layer.unit_scale);
    let unit = short_unit(layer);
    let value = |v: f64| digits(v * scale);
    let with_unit = |text: &str| format::with_unit(text, unit);
    rows::reading(ui, "Voxels", &format::count(figures.voxels as u64));
    rows::reading(ui, "Volume", &volume_text(figures.volume_ml));
    let mean = format!("{} ± {}", value(figures.mean), value(figures.sd));
    rows::reading(ui, "Mean ± SD", &with_unit(&mean));
    rows::reading(ui, "Median", &with_unit(&value(figures.median)));
    let (low, high) = figures.range;
    let range = format!("{} to {}", value(low), value(high));
    rows::reading(ui, "Smallest to largest", &with_unit(&range));
    if unit.is_empty() && !layer.unit.is_empty() {
        rows::reading(ui, "Unit", layer.unit);
    }
    let missing = figures.voxels - figures.values;
    if missing > 0 {
        let all = format::count(figures.voxels as u64);
        let text = match figures.outside {
            0 => format!(
                "{} of {all} voxels have no value",
                format::count(missing as u64)
            ),
            outside => format!(
                "{} of {all} voxels have no value: {} lie outside the image",
                format::count(missing as u64),
                format::count(outside as u64)
            ),
        };
        rows::hint(ui, &text);
    }
    ui.add_space(4.0);
    histogram(ui, figures, &value);
}

fn histogram(ui: &mut Ui, figures: &ValueStatistics, value: &impl Fn(f64) -> String) {
    let mut counts = [0u32; BINS];
    for (to, from) in counts.iter_mut().zip(&figures.histogram) {
        *to = u32::try_from(*from).unwrap_or(u32::MAX);
    }
    let (low, high) = figures.range;
    let accent = theme::palette(ui.style()).accent;
    let median = format!("median {}", value(figures.median));
    let share = ((figures.median - low) / (high - low)) as f32;
    Histogram {
        name: "Values within the region",
        counts: &counts,
        ends: (&value(low), &value(high)),
        // All values may be equal.
        mark: share.is_finite().then_some((share, &median)),
        colour: &|_| accent,
    }
    .show(ui);
}

fn buttons(ui: &mut Ui, state: &State, name: &str, memory: &mut Memory, actions: &mut Vec<Action>) {
    let height = space::BUTTON + 8.0;
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let mut row = paint::inset(rect, space::INSET, space::INSET);
    row.min.y += 4.0;
    row.max.y -= 4.0;
    let export = Button::plain("Export CSV…").icon(icons::EXPORT);
    let place = paint::at_left(row, vec2(export.width(ui), space::BUTTON));
    let export = export
        .hint("A table with a row for each volume of the image")
        .show_at(ui, place);
    let tables = menu::popup(&export, 230.0, |ui| {
        let mut chosen = None;
        for (table, text) in [
            (FigureTable::Statistics, "Figures of each volume…"),
            (FigureTable::Histograms, "Histogram of each volume…"),
        ] {
            if menu::Item::new(text).icon(icons::GRID).show(ui) {
                chosen = Some(table);
            }
        }
        chosen
    });
    if let Some(table) = tables {
        let purpose = PathPurpose::Figures(table);
        let text = suggestion(state, &format!("{name} {}", table.suffix()), &purpose);
        memory
            .files
            .type_path(purpose, DialogPosition::Middle, &text);
    }
    let at = |x: f32| Rect::from_min_size(pos2(x, place.top()), vec2(space::BUTTON, space::BUTTON));
    let copy = IconButton::new(icons::COPY, "Copy the figures");
    let copy = copy.hint("Copy a row with its headings, for a spreadsheet");
    if copy.show_at(ui, at(place.right() + 6.0)).clicked() {
        actions.push(Action::Figures(FigureAction::Copy));
    }
    let command = IconButton::new(icons::TERMINAL, "Copy the figures as command");
    let command = command.hint("Copy as command");
    let next = place.right() + 6.0 + space::BUTTON + 2.0;
    if command.show_at(ui, at(next)).clicked() {
        actions.extend(figures_command(state).map(Action::CopyCommand));
    }
}
