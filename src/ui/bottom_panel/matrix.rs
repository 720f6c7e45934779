//! Connections of streamlines: a picture of the matrix, and the pairs with the most streamlines.

use super::super::forms::connectivity;
use super::super::theme::{self, size, space};
use super::super::widgets::{paint, rows};
use super::super::{Memory, format};
use super::{dimmed, empty, rect_after_settings};
use crate::data::Tractogram;
use crate::data::appearance::ColourMap;
use crate::solvers::connectivity::Connectome;
use crate::state::core::text::counted;
use crate::state::streamlines::{LabelledConnectome, MatrixValue, SelectionMode};
use crate::state::{Action, State, StreamlineAction};
use egui::{
    Color32, ColorImage, Rect, Role, Sense, Stroke, StrokeKind, TextureHandle, TextureOptions, Ui,
    WidgetInfo, pos2, vec2,
};
use std::sync::Arc;

/// Largest edge of the picture in pixels; with more labels, a pixel shows the largest of several cells.
const MAXIMUM_EDGE_PX: usize = 1024;
/// Space for numbers at the left of the picture and above it.
const NUMBERS: [f32; 2] = [40.0, 20.0];
/// Number of pairs in the list.
const PAIRS: usize = 200;

/// The matrix as a texture, rebuilt when it changes.
#[derive(Default)]
pub struct Picture {
    source: Option<(Arc<Connectome>, MatrixValue, bool)>,
    texture: Option<TextureHandle>,
    /// Both ends of the colour scale.
    ends: (f32, f32),
}

pub fn show(
    ui: &mut Ui,
    state: &State,
    lines: &Tractogram,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let place = rect_after_settings(ui, |ui| connectivity::show(ui, state, lines, actions));
    let runtime = &state.runtime.streamlines.connect;
    let Some((_, labelled)) = runtime.shown() else {
        let text = match (state.label_map().is_some(), runtime.has_failed()) {
            (false, _) if connectivity::maps(state).next().is_none() => "No label map is open",
            (false, _) => "Choose a label map",
            (true, true) => "There is no matrix: see the message for the reason",
            (true, false) => "Assigning the ends of the streamlines…",
        };
        return empty(ui, place, text);
    };
    let shown = match state.document.streamlines.connect.shown {
        MatrixValue::Value if labelled.connectome.value.is_empty() => MatrixValue::Count,
        shown => shown,
    };
    let picture = &mut memory.caches.bottom_panel.matrix;
    picture.prepare(ui, labelled, shown);
    dimmed(ui, runtime, |ui| {
        result(ui, state, (labelled, shown), place, picture, actions);
    });
}

/// The matrix, its scale and its pairs.
fn result(
    ui: &mut Ui,
    state: &State,
    (labelled, shown): (&LabelledConnectome, MatrixValue),
    place: Rect,
    picture: &Picture,
    actions: &mut Vec<Action>,
) {
    let [left, top] = NUMBERS;
    let edge = (place.height() - top - 28.0)
        .min(place.width() * 0.6)
        .max(60.0);
    let square = Rect::from_min_size(place.min + vec2(left, top), vec2(edge, edge));
    numbers(ui, labelled, square);
    self::square(ui, state, labelled, shown, square, picture, actions);
    let scale = scale(ui, shown, square, picture);
    let list = Rect::from_min_max(
        pos2(scale.right() + 16.0, place.top()),
        // Stops above the text about the cell under the pointer.
        pos2(place.right(), square.bottom()),
    );
    if list.width() > 150.0 {
        super::super::part(ui, "pairs", list, |ui| pairs(ui, state, labelled, actions));
    }
}

/// The labels' numbers at the left of their rows and above their columns, as many as fit.
fn numbers(ui: &Ui, labelled: &LabelledConnectome, square: Rect) {
    let p = theme::palette(ui.style());
    let font = theme::regular(size::CAPTION);
    let nodes = &labelled.connectome.nodes;
    let step = square.width() / nodes.len() as f32;
    let widest = nodes.iter().max().map_or(0.0, |largest| {
        paint::width(ui, &largest.to_string(), font.clone())
    });
    let every = |room: f32| ((room / step).ceil() as usize).max(1);
    let painter = ui.painter();
    for (i, node) in nodes.iter().enumerate().step_by(every(14.0)) {
        let y = square.top() + step * (i as f32 + 0.5);
        let at = Rect::from_min_max(
            pos2(square.left() - NUMBERS[0], y - 7.0),
            pos2(square.left() - 5.0, y + 7.0),
        );
        paint::right(painter, at, &node.to_string(), font.clone(), p.t3);
    }
    for (i, node) in nodes.iter().enumerate().step_by(every(widest + 8.0)) {
        let x = square.left() + step * (i as f32 + 0.5);
        let at = Rect::from_center_size(pos2(x, square.top() - 9.0), vec2(widest + 4.0, 14.0));
        paint::centre(painter, at, &node.to_string(), font.clone(), p.t3);
    }
}

/// The colour scale at the right of the square; returns its rectangle.
fn scale(ui: &Ui, shown: MatrixValue, square: Rect, picture: &Picture) -> Rect {
    const STEPS: usize = 32;
    let p = theme::palette(ui.style());
    let font = theme::regular(size::CAPTION);
    let bar = Rect::from_min_size(
        square.right_top() + vec2(12.0, 0.0),
        vec2(8.0, square.height().min(140.0)),
    );
    let high = bar.height() / STEPS as f32;
    for step in 0..STEPS {
        let [r, g, b] = ColourMap::Viridis.at(shade(step as f32 / (STEPS - 1) as f32));
        let low = bar.bottom() - high * step as f32;
        let part = Rect::from_min_max(pos2(bar.left(), low - high), pos2(bar.right(), low));
        ui.painter()
            .rect_filled(part, 0.0, Color32::from_rgb(r, g, b));
    }
    let label = |v: f32| match shown {
        MatrixValue::Count => format::count(v as u64),
        MatrixValue::Length | MatrixValue::Value => format::significant(f64::from(v)),
    };
    // A connection has at least one streamline.
    let low = match shown {
        MatrixValue::Count => 1.0,
        MatrixValue::Length | MatrixValue::Value => picture.ends.0,
    };
    let mut right = bar.right();
    for (value, y) in [(picture.ends.1, bar.top() + 6.0), (low, bar.bottom() - 6.0)] {
        let text = label(value);
        let width = paint::width(ui, &text, font.clone());
        let at = Rect::from_min_size(pos2(bar.right() + 6.0, y - 7.0), vec2(width, 14.0));
        paint::left(ui.painter(), at, &text, font.clone(), p.t3);
        right = right.max(at.right());
    }
    Rect::from_min_max(bar.min, pos2(right, bar.bottom()))
}

/// Position on the colour map of a share of the scale; the map's ends resemble the backgrounds too closely.
fn shade(share: f32) -> f32 {
    0.12 + 0.86 * share.clamp(0.0, 1.0)
}

fn value(connectome: &Connectome, shown: MatrixValue, at: usize) -> f32 {
    match shown {
        MatrixValue::Count => connectome.count[at] as f32,
        MatrixValue::Length => connectome.length_mm[at],
        MatrixValue::Value => connectome.value.get(at).copied().unwrap_or(0.0),
    }
}

impl Picture {
    fn prepare(&mut self, ui: &Ui, labelled: &LabelledConnectome, shown: MatrixValue) {
        let dark = ui.visuals().dark_mode;
        let same = |(c, s, d): &(Arc<Connectome>, MatrixValue, bool)| {
            Arc::ptr_eq(c, &labelled.connectome) && *s == shown && *d == dark
        };
        if self.source.as_ref().is_some_and(same) {
            return;
        }
        let c = &labelled.connectome;
        let n = c.nodes.len();
        let pairs = c.connected.iter().map(|pair| pair.map(|row| row as usize));
        let values = pairs.clone().map(|[a, b]| value(c, shown, c.at(a, b)));
        let (low, high) = values.fold((f32::INFINITY, 0f32), |(l, h), v| (l.min(v), h.max(v)));
        // Counts span decades.
        let log = shown == MatrixValue::Count;
        let low = if log || low > high { 0.0 } else { low };
        self.ends = (low, high.max(low));
        let share = |v: f32| match log {
            true => (1.0 + v).ln() / (1.0 + high).ln().max(1e-6),
            false => (v - low) / (high - low).max(1e-6),
        };
        let every = n.div_ceil(MAXIMUM_EDGE_PX).max(1);
        let side = n.div_ceil(every);
        let ground = if dark {
            Color32::from_rgb(12, 14, 17)
        } else {
            Color32::WHITE
        };
        let mut best = vec![f32::NEG_INFINITY; side * side];
        for [a, b] in pairs {
            let v = value(c, shown, c.at(a, b));
            for [row, column] in [[a, b], [b, a]] {
                let pixel = &mut best[(row / every) * side + column / every];
                *pixel = pixel.max(v);
            }
        }
        let colour = |v: f32| match v.is_finite() {
            true => {
                let [r, g, b] = ColourMap::Viridis.at(shade(share(v)));
                Color32::from_rgb(r, g, b)
            }
            false => ground,
        };
        let pixels = best.into_iter().map(colour).collect();
        let image = ColorImage::new([side, side], pixels);
        let options = TextureOptions::NEAREST;
        self.texture = Some(ui.ctx().load_texture("matrix", image, options));
        self.source = Some((c.clone(), shown, dark));
    }
}

/// How a modified click combines with the selected streamlines.
fn selection_mode(ui: &Ui) -> SelectionMode {
    let modifiers = ui.input(|i| i.modifiers);
    match (modifiers.shift, modifiers.command) {
        (_, true) => SelectionMode::Toggle,
        (true, false) => SelectionMode::Add,
        _ => SelectionMode::Replace,
    }
}

fn sentence(state: &State, labelled: &LabelledConnectome, row: usize, column: usize) -> String {
    let c = &labelled.connectome;
    let at = c.at(row, column);
    let (a, b) = (&labelled.names[row], &labelled.names[column]);
    let pair = if row == column {
        format!("{a} with itself")
    } else {
        format!("{a} – {b}")
    };
    if c.count[at] == 0 {
        return format!("{pair}: nothing");
    }
    let mm = format::with_unit(&format::fixed(f64::from(c.length_mm[at]), 0), "mm");
    let mut text = format!(
        "{pair}: {}, {mm}",
        counted(c.count[at] as usize, "streamline")
    );
    if let (Some(value), Some(column)) =
        (c.value.get(at), &state.document.streamlines.connect.value)
    {
        let value = format::significant(f64::from(*value));
        text += &format!(", {} {value}", state.column_name(column));
    }
    text
}

fn square(
    ui: &mut Ui,
    state: &State,
    labelled: &LabelledConnectome,
    shown: MatrixValue,
    square: Rect,
    picture: &Picture,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let n = labelled.connectome.nodes.len();
    let id = ui.make_persistent_id("matrix");
    let response = ui.interact(square, id, Sense::click());
    if let Some(texture) = &picture.texture {
        let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
        ui.painter().image(texture.id(), square, uv, Color32::WHITE);
    }
    let line = Stroke::new(1.0, p.line);
    ui.painter()
        .rect_stroke(square, 0.0, line, StrokeKind::Outside);
    let step = square.width() / n as f32;
    let cell = |at: egui::Pos2| {
        let index = |v: f32| ((v / step).max(0.0) as usize).min(n - 1);
        (index(at.y - square.top()), index(at.x - square.left()))
    };
    let caption = scale_text(state, shown, picture.ends);
    response.widget_info(|| {
        let label = format!("Matrix of {n} labels, {caption}");
        WidgetInfo::labeled(Role::Image, true, label)
    });
    let below = Rect::from_min_max(
        pos2(square.left(), square.bottom() + 4.0),
        pos2(
            ui.max_rect().right().max(square.right()),
            square.bottom() + 24.0,
        ),
    );
    let hovered = response
        .hover_pos()
        .filter(|at| square.contains(*at))
        .map(cell);
    let (text, ink) = match hovered {
        Some((row, column)) => (sentence(state, labelled, row, column), p.t1),
        None => (caption, p.t3),
    };
    paint::left(
        ui.painter(),
        below,
        &text,
        theme::regular(size::CAPTION),
        ink,
    );
    let Some((row, column)) = hovered else { return };
    let soft = Stroke::new(1.0, p.t2.gamma_multiply(0.7));
    let y = square.top() + step * row as f32;
    let x = square.left() + step * column as f32;
    let painter = ui.painter().with_clip_rect(square);
    let wide = Rect::from_min_size(pos2(square.left(), y), vec2(square.width(), step));
    let high = Rect::from_min_size(pos2(x, square.top()), vec2(step, square.height()));
    painter.rect_stroke(wide, 0.0, soft, StrokeKind::Outside);
    painter.rect_stroke(high, 0.0, soft, StrokeKind::Outside);
    let here = Rect::from_min_size(pos2(x, y), vec2(step, step));
    painter.rect_stroke(here, 0.0, Stroke::new(2.0, p.t1), StrokeKind::Outside);
    if response.clicked() {
        let mode = selection_mode(ui);
        actions.push(Action::Streamline(StreamlineAction::ChoosePair {
            row,
            column,
            mode,
        }));
    }
    response.on_hover_cursor(egui::CursorIcon::PointingHand);
}

/// `1–1 204 streamlines, logarithmic; click a cell to choose them`.
fn scale_text(state: &State, shown: MatrixValue, (low, high): (f32, f32)) -> String {
    let number = |v: f32| format::significant(f64::from(v));
    let range = match shown {
        MatrixValue::Count => format!("up to {}", counted(high as usize, "streamline")),
        MatrixValue::Length => format!("{}–{} mm", number(low), number(high)),
        MatrixValue::Value => {
            let column = &state.document.streamlines.connect.value;
            let name = column
                .as_ref()
                .map_or(String::new(), |c| state.column_name(c));
            format!("{name} {}–{}", number(low), number(high))
        }
    };
    format!("{range}. Click a cell to choose the streamlines of the pair")
}

/// One row per pair, for the pairs with the most streamlines.
fn pairs(ui: &mut Ui, state: &State, labelled: &LabelledConnectome, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let c = &labelled.connectome;
    let all = ui.max_rect();
    let valued = !c.value.is_empty() && all.width() > 300.0;
    let cells = |row: Rect| {
        let width = |right: f32, w: f32| {
            Rect::from_min_max(pos2(right - w, row.top()), pos2(right - 4.0, row.bottom()))
        };
        let right = row.right() - 6.0;
        let value = width(right, 64.0);
        let length = width(right - if valued { 64.0 } else { 0.0 }, 64.0);
        let count = width(length.left(), 60.0);
        (count, length, value)
    };
    let (head, _) = ui.allocate_exact_size(vec2(all.width(), space::TABLE_HEAD), Sense::hover());
    let font = theme::regular(size::CAPTION);
    let (count, length, value) = cells(head);
    paint::left(
        ui.painter(),
        paint::inset(head, 8.0, 0.0),
        "Pair",
        font.clone(),
        p.t3,
    );
    paint::right(ui.painter(), count, "Count", font.clone(), p.t3);
    paint::right(ui.painter(), length, "Length", font.clone(), p.t3);
    if valued {
        paint::right(ui.painter(), value, "Mean", font, p.t3);
    }
    if c.connected.is_empty() {
        return rows::hint(
            ui,
            "No streamline has a label at both ends. A larger radius may help",
        );
    }
    let rows_shown = c.connected.len().min(PAIRS);
    let area = egui::ScrollArea::vertical().auto_shrink(false);
    ui.spacing_mut().item_spacing.y = 0.0;
    area.show_rows(ui, space::ROW, rows_shown, |ui, range| {
        for pair in &c.connected[range] {
            let [row, column] = pair.map(|row| row as usize);
            let spoken = sentence(state, labelled, row, column);
            let response = rows::list_row(ui, &spoken, ("pair", row, column), false);
            let at = c.at(row, column);
            let (count, length, value) = cells(response.rect);
            let font = theme::regular(size::LABEL);
            let painter = ui.painter();
            let name_at = Rect::from_min_max(
                response.rect.min + vec2(8.0, 0.0),
                pos2(count.left() - 6.0, response.rect.bottom()),
            );
            let names = match row == column {
                true => format!("{}, itself", labelled.names[row]),
                false => format!("{} – {}", labelled.names[row], labelled.names[column]),
            };
            paint::left(painter, name_at, &names, font.clone(), p.t1);
            let n = format::count(c.count[at].into());
            paint::right(painter, count, &n, font.clone(), p.t1);
            let mm = format::with_unit(&format::fixed(f64::from(c.length_mm[at]), 0), "mm");
            paint::right(painter, length, &mm, font.clone(), p.t2);
            if let Some(mean) = c.value.get(at).filter(|_| valued) {
                let mean = format::significant(f64::from(*mean));
                paint::right(painter, value, &mean, font, p.t2);
            }
            if response.clicked() {
                let mode = selection_mode(ui);
                actions.push(Action::Streamline(StreamlineAction::ChoosePair {
                    row,
                    column,
                    mode,
                }));
            }
        }
    });
}
