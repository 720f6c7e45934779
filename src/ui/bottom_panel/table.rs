//! One row per streamline. Only the visible rows are laid out, whatever their number.

use super::super::forms::in_place::limit_text;
use super::super::forms::streamlines::{ANY_REASON, extent, is_stop, reasons, unit};
use super::super::theme::{self, size};
use super::super::widgets::{field, menu, paint};
use super::super::{Memory, format};
use super::{dimmed, empty};
use crate::data::{DataId, Role as RegionRole};
use crate::solvers::curves::StopReason;
use crate::solvers::tractogram::selection::PointStatistic;
use crate::state::streamlines::{
    Column, SelectionMode, StreamlineRules, TableOf, TableView, ValueLimits,
};
use crate::state::{Action, Layer, Phase, State, StreamlineAction, ViewAction};
use egui::{Key, Rect, Role, Sense, Ui, WidgetInfo, pos2, vec2};
use std::sync::Arc;

const ROW: f32 = 22.0;
const HEAD: f32 = 24.0;
const FILTER: f32 = 26.0;
const NUMBER: f32 = 84.0;
const COLUMN: (f32, f32) = (84.0, 150.0);
const BAR: f32 = 12.0;

/// Scroll position of the table.
#[derive(Default)]
pub struct Scrolled {
    /// First visible row and the fraction scrolled past it; double precision because there may be millions of rows.
    top: f64,
    /// The row last scrolled into view because it was selected elsewhere.
    followed: Option<u32>,
}

pub fn show(
    ui: &mut Ui,
    state: &State,
    table: TableOf,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let all = ui.max_rect();
    let (layer, lines) = (table.layer, table.names);
    let live = &state.runtime.streamlines.order;
    let Some((key, order)) = live.shown() else {
        return empty(ui, all, "Sorting…");
    };
    if key.tractogram != table.id {
        return empty(ui, all, "Sorting…");
    }
    let order = order.clone();
    let columns = state.columns(lines);
    let free = all.width() - NUMBER - BAR;
    let width = (free / columns.len().max(1) as f32)
        .clamp(COLUMN.0, COLUMN.1)
        .floor();
    // Columns that do not fit are found in the export.
    let fits = ((free / width).floor().max(1.0) as usize).min(columns.len());
    let columns = &columns[..fits];
    let cell = |i: usize, top: f32, height: f32| {
        let left = all.left() + NUMBER + width * i as f32;
        Rect::from_min_size(pos2(left, top), vec2(width, height))
    };
    heads(ui, state, columns, all, &cell, actions);
    let mut ends: Option<Rect> = None;
    for (i, column) in columns.iter().enumerate() {
        let place = cell(i, all.top() + HEAD, FILTER).shrink2(vec2(4.0, 3.0));
        if is_stop(column) {
            // Either end may have the reason: one field covers both.
            ends = Some(ends.map_or(place, |before| before.union(place)));
        } else {
            filter(ui, state, (layer, table.id), column, place, memory, actions);
        }
    }
    if let Some(place) = ends {
        stopped(ui, state, layer, place, actions);
    }
    let body = Rect::from_min_max(pos2(all.left(), all.top() + HEAD + FILTER), all.max);
    let p = theme::palette(ui.style());
    ui.painter()
        .hline(body.x_range(), body.top() - 0.5, (1.0, p.line));
    dimmed(ui, live, |ui| {
        rows(
            ui,
            state,
            (table, &order),
            columns,
            body,
            &cell,
            memory,
            actions,
        );
    });
}

fn heads(
    ui: &mut Ui,
    state: &State,
    columns: &[Column],
    all: Rect,
    cell: &impl Fn(usize, f32, f32) -> Rect,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let table = &state.view.table;
    let number = Rect::from_min_size(all.min, vec2(NUMBER, HEAD));
    let first = (None, "Number".to_owned(), number);
    let others = columns.iter().enumerate().map(|(i, column)| {
        let unit = unit(column);
        let name = state.column_name(column);
        let name = if unit.is_empty() {
            name
        } else {
            format!("{name}, {unit}")
        };
        (Some(column.clone()), name, cell(i, all.top(), HEAD))
    });
    for (by, name, place) in std::iter::once(first).chain(others) {
        let id = ui.make_persistent_id(("head", &name));
        let response = ui.interact(place, id, Sense::click());
        let sorted = table.column == by;
        let ink = if sorted || response.hovered() {
            p.t1
        } else {
            p.t2
        };
        let text = paint::inset(place, 8.0, 20.0);
        paint::right(ui.painter(), text, &name, theme::medium(size::CAPTION), ink);
        if sorted {
            let at = pos2(place.right() - 10.0, place.center().y);
            arrow(ui, at, table.descending, ink);
        }
        paint::focus_ring(ui.painter(), p, &response, place, theme::radius::CHIP);
        let how = match (sorted, table.descending) {
            (false, _) => "",
            (true, false) => ", ascending",
            (true, true) => ", descending",
        };
        let spoken = format!("Sort by {name}{how}");
        response.widget_info(|| WidgetInfo::selected(Role::ColumnHeader, true, sorted, &spoken));
        if response.clicked() {
            let descending = sorted && !table.descending;
            let table = TableView {
                column: by,
                descending,
            };
            actions.push(Action::Streamline(StreamlineAction::Sort(table)));
        }
    }
}

fn arrow(ui: &Ui, at: egui::Pos2, down: bool, ink: egui::Color32) {
    let y = if down { 1.0 } else { -1.0 };
    let points = vec![
        at + vec2(-3.5, -2.0 * y),
        at + vec2(3.5, -2.0 * y),
        at + vec2(0.0, 3.0 * y),
    ];
    let shape = egui::Shape::convex_polygon(points, ink, egui::Stroke::NONE);
    ui.painter().add(shape);
}

/// Parses `0.2–0.5`, `0.2..` and `..0.5`; empty text means no limit.
fn parse(text: &str) -> Option<(Option<f32>, Option<f32>)> {
    let text = text.trim();
    if text.is_empty() {
        return Some((None, None));
    }
    let number = |text: &str| format::parse(text).map(|v| v as f32);
    if let Some((low, high)) = text.split_once("..") {
        let end = |text: &str| match text.trim() {
            "" => Some(None),
            text => number(text).map(Some),
        };
        return Some((end(low)?, end(high)?));
    }
    if let Some(low) = text.strip_prefix(['>', '≥']) {
        return Some((Some(number(low.trim_start_matches('='))?), None));
    }
    if let Some(high) = text.strip_prefix(['<', '≤']) {
        return Some((None, Some(number(high.trim_start_matches('='))?)));
    }
    let (low, high) = format::parse_range(text)?;
    Some((Some(low as f32), Some(high as f32)))
}

/// The layer's current rules, or rules that let everything pass.
fn current_rules(state: &State, layer: &Layer) -> StreamlineRules {
    let rules = state.document.streamlines.rules_of(layer.id).cloned();
    rules.unwrap_or_else(|| StreamlineRules::new(layer.id))
}

fn stopped(ui: &mut Ui, state: &State, layer: &Layer, place: Rect, actions: &mut Vec<Action>) {
    let rules = current_rules(state, layer);
    let now = rules.stop.map_or(ANY_REASON, StopReason::label);
    let chosen = menu::select(ui, place, "Stop reason of the rows", now, |ui| {
        reasons(ui, rules.stop)
    });
    if let Some(stop) = chosen {
        let rules = StreamlineRules { stop, ..rules };
        let phase = Phase::Done;
        actions.push(Action::Streamline(StreamlineAction::SetRules {
            rules,
            phase,
        }));
    }
}

/// The field below a column head that limits the rows shown.
fn filter(
    ui: &mut Ui,
    state: &State,
    (layer, lines): (&Layer, DataId),
    column: &Column,
    place: Rect,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let rules = current_rules(state, layer);
    let shown = rules.limit(column).map(limit_text).unwrap_or_default();
    let name = format!("Range of {}", state.column_name(column));
    let p = theme::palette(ui.style());
    let typed = field::value(ui, place, &name, &shown, "");
    let id = ui.make_persistent_id(("field", &*name));
    if shown.is_empty() && typed.is_none() && !ui.memory(|m| m.has_focus(id)) {
        let hint = extent(state, lines, column, memory).map_or("all".to_owned(), |(l, h)| {
            let number = |v: f32| format::significant(f64::from(v));
            format!("{}–{}", number(l), number(h))
        });
        let inner = paint::inset(place, 6.0, 8.0);
        paint::right(
            ui.painter(),
            inner,
            &hint,
            theme::regular(size::CAPTION),
            p.t3,
        );
    }
    let Some(typed) = typed else { return };
    match parse(&typed) {
        Some((low, high)) => {
            let limit = ValueLimits {
                column: column.clone(),
                low,
                high,
                counting: rules
                    .limit(column)
                    .map_or(PointStatistic::Mean, |l| l.counting),
            };
            let rules = rules.limited(limit);
            actions.push(Action::Streamline(StreamlineAction::SetRules {
                rules,
                phase: Phase::Done,
            }));
        }
        None => {
            let text =
                format!("“{typed}” is not a range; expected one such as 0.2–0.5, 0.2.. or ..0.5");
            crate::ui::widgets::notice::show_at(ui, place, text);
        }
    }
}

#[allow(
    clippy::too_many_arguments,
    reason = "one each for the rows, their place and the outcome of a click"
)]
fn rows(
    ui: &mut Ui,
    state: &State,
    (listed, order): (TableOf, &Arc<[u32]>),
    columns: &[Column],
    body: Rect,
    cell: &impl Fn(usize, f32, f32) -> Rect,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let id = ui.make_persistent_id("rows of the table");
    let table = Rect::from_min_max(body.min, pos2(body.right() - BAR, body.bottom()));
    let response = ui.interact(table, id, Sense::click());
    let in_sight = f64::from(body.height() / ROW);
    let max_top = (order.len() as f64 - in_sight + 0.5).max(0.0);
    let scrolled = &mut memory.caches.bottom_panel.table;
    follow(state, order, in_sight, scrolled);
    if response.contains_pointer() {
        let by = ui.input(|i| i.smooth_scroll_delta().y);
        scrolled.top -= f64::from(by / ROW);
    }
    if response.has_focus() {
        keys(ui, id, in_sight, scrolled, max_top);
        let pressed = |key| ui.input_mut(|i| i.consume_key(egui::Modifiers::NONE, key));
        let delete = pressed(Key::Delete) || pressed(Key::Backspace);
        if delete
            && state
                .manual_selection()
                .is_some_and(|c| c.tractogram == listed.id)
        {
            actions.push(Action::Streamline(StreamlineAction::DeleteChosen));
        }
    }
    scrolled.top = bar(
        ui,
        body,
        (in_sight, order.len()),
        scrolled.top.clamp(0.0, max_top),
        max_top,
    );
    let painter = ui.painter().with_clip_rect(table.intersect(ui.clip_rect()));
    let p = theme::palette(ui.style());
    if order.is_empty() {
        return empty(ui, body, "No streamline passes the filter");
    }
    let values: Vec<Option<&Arc<[f32]>>> =
        columns.iter().map(|c| state.values(listed.id, c)).collect();
    let targets = targets(state, listed);
    let chosen = state
        .manual_selection()
        .filter(|c| c.tractogram == listed.id);
    let first = scrolled.top.floor() as usize;
    let off = (scrolled.top - first as f64) as f32 * ROW;
    let last = (first + in_sight.ceil() as usize + 1).min(order.len());
    let hovered = response
        .hover_pos()
        .map(|at| row_at(at.y, body, scrolled.top));
    for (i, line) in order[first..last].iter().enumerate() {
        let top = body.top() - off + i as f32 * ROW;
        let row = Rect::from_min_size(pos2(table.left(), top), vec2(table.width(), ROW));
        let is_chosen = chosen.is_some_and(|c| c.marks.0[*line as usize]);
        if is_chosen {
            painter.rect_filled(row, 0.0, p.tint);
        } else if hovered == Some(first + i) {
            painter.rect_filled(row, 0.0, p.b2);
        }
        let ink = if is_chosen { p.t1 } else { p.t2 };
        let number = Rect::from_min_size(row.min, vec2(NUMBER, ROW));
        let number = paint::inset(number, 8.0, 20.0);
        let text = format::count(u64::from(*line));
        paint::right(&painter, number, &text, theme::regular(size::LABEL), p.t3);
        for (c, column) in columns.iter().enumerate() {
            let place = paint::inset(cell(c, top, ROW), 8.0, 20.0);
            let text = match values[c] {
                Some(values) => value_text(column, values[*line as usize], &targets),
                None => "…".to_owned(),
            };
            paint::right(&painter, place, &text, theme::regular(size::LABEL), ink);
        }
    }
    let count = format::count(order.len() as u64);
    response.widget_info(|| {
        let label = format!("Streamlines, {count} rows");
        WidgetInfo::labeled(Role::Table, true, label)
    });
    if !response.clicked() && !response.double_clicked() {
        return;
    }
    let Some(at) = response.interact_pointer_pos() else {
        return;
    };
    let row = row_at(at.y, body, memory.caches.bottom_panel.table.top);
    if row >= order.len() {
        return;
    }
    response.request_focus();
    let lines = (listed, &order[..]);
    select_row(ui, state, &response, lines, row, memory, actions);
}

/// A click selects the streamline of a row, with Ctrl or Shift several; a double click moves the crosshair to it.
fn select_row(
    ui: &Ui,
    state: &State,
    response: &egui::Response,
    (listed, order): (TableOf, &[u32]),
    row: usize,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let line = order[row];
    let modifiers = ui.input(|i| i.modifiers);
    if response.double_clicked() {
        // Points of streamlines that stay in their file are not known here.
        let points = listed
            .in_memory
            .map(|lines| lines.streamline(line as usize));
        if let Some(middle) = points.and_then(|points| points.get(points.len() / 2)) {
            let middle = glam::Vec3::from(*middle).as_dvec3();
            actions.push(Action::View(ViewAction::MoveCrosshair(middle)));
        }
        return;
    }
    let anchor = state.manual_selection().and_then(|c| c.anchor);
    let anchor_row = anchor.and_then(|a| order.iter().position(|l| *l == a));
    let (streamlines, mode, anchor) = match (modifiers.shift, anchor_row) {
        (true, Some(from)) => {
            let (low, high) = (from.min(row), from.max(row));
            let mode = if modifiers.command {
                SelectionMode::Add
            } else {
                SelectionMode::Replace
            };
            (order[low..=high].to_vec(), mode, anchor)
        }
        _ if modifiers.command => (vec![line], SelectionMode::Toggle, Some(line)),
        _ => (vec![line], SelectionMode::Replace, Some(line)),
    };
    // A row clicked in the table is already in view.
    memory.caches.bottom_panel.table.followed = anchor;
    actions.push(Action::Streamline(StreamlineAction::Choose {
        streamlines,
        mode,
        anchor,
    }));
}

/// Scrolls a streamline selected in a view into sight.
fn follow(state: &State, order: &[u32], in_sight: f64, scrolled: &mut Scrolled) {
    let anchor = state.manual_selection().and_then(|c| c.anchor);
    if anchor == scrolled.followed {
        return;
    }
    scrolled.followed = anchor;
    let row = anchor.and_then(|a| order.iter().position(|line| *line == a));
    if let Some(row) = row.map(|r| r as f64)
        && !(scrolled.top..scrolled.top + in_sight - 1.0).contains(&row)
    {
        scrolled.top = row - in_sight * 0.4;
    }
}

fn row_at(y: f32, body: Rect, top: f64) -> usize {
    (f64::from((y - body.top()) / ROW) + top).max(0.0) as usize
}

fn keys(ui: &Ui, id: egui::Id, in_sight: f64, scrolled: &mut Scrolled, max_top: f64) {
    let filter = egui::EventFilter {
        vertical_arrows: true,
        ..egui::EventFilter::default()
    };
    ui.memory_mut(|m| m.set_focus_lock_filter(id, filter));
    let pressed =
        |key| ui.input_mut(|i| i.count_and_consume_key(egui::Modifiers::NONE, key)) as f64;
    let page = (in_sight - 1.0).max(1.0);
    scrolled.top += pressed(Key::ArrowDown) - pressed(Key::ArrowUp);
    scrolled.top += page * (pressed(Key::PageDown) - pressed(Key::PageUp));
    if pressed(Key::Home) > 0.0 {
        scrolled.top = 0.0;
    }
    if pressed(Key::End) > 0.0 {
        scrolled.top = max_top;
    }
}

/// The scroll bar at the right; returns the first visible row.
fn bar(ui: &mut Ui, body: Rect, (in_sight, rows): (f64, usize), top: f64, max_top: f64) -> f64 {
    if max_top <= 0.0 {
        return top;
    }
    let p = theme::palette(ui.style());
    let rail = Rect::from_min_max(pos2(body.right() - BAR, body.top()), body.max).shrink(2.0);
    let share = (in_sight / rows as f64) as f32;
    let height = (rail.height() * share).clamp(24.0, rail.height());
    let way = rail.height() - height;
    let id = ui.make_persistent_id("bar of the table");
    let response = ui.interact(rail.expand(2.0), id, Sense::click_and_drag());
    let mut top = top;
    if let Some(at) = response.interact_pointer_pos().filter(|_| way > 0.0) {
        let middle = at.y - rail.top() - height * 0.5;
        top = (f64::from(middle / way) * max_top).clamp(0.0, max_top);
    }
    let y = rail.top() + way * (top / max_top) as f32;
    let knob = Rect::from_min_size(pos2(rail.left(), y), vec2(rail.width(), height));
    let ink = if response.hovered() || response.dragged() {
        p.t3
    } else {
        p.b3
    };
    ui.painter().rect_filled(knob, 4.0, ink);
    response.widget_info(|| WidgetInfo::labeled(Role::ScrollBar, true, "Rows"));
    top
}

/// Names of the numbered targets: those of the file, or of the regions used for tracking.
fn targets(state: &State, listed: TableOf) -> Vec<String> {
    if let Some(names) = listed.names.codes.get(TARGET) {
        return names.to_vec();
    }
    let recipe = state.document.curve_recipe(listed.layer.id);
    let regions = recipe.map_or(&[][..], |recipe| &recipe.regions);
    let targets = regions.iter().filter(|r| r.role == RegionRole::Target);
    targets.map(|r| r.name.clone()).collect()
}

const TARGET: &str = "target";

fn value_text(column: &Column, value: f32, targets: &[String]) -> String {
    if matches!(column, Column::Value(name) if name == TARGET)
        && value >= 0.0
        && let Some(name) = targets.get(value as usize)
    {
        return name.clone();
    }
    if is_stop(column) {
        let reason = StopReason::ALL
            .into_iter()
            .find(|r| f32::from(*r as u8) == value);
        return reason.map_or(String::new(), |r| r.label().to_owned());
    }
    match value.is_finite() {
        true if *column == Column::length() => format::fixed(f64::from(value), 1),
        true => format::significant(f64::from(value)),
        false => "–".to_owned(),
    }
}
