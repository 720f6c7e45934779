//! Histogram, stacked bar, progress, colour strip.

use super::super::format;
use super::super::theme::{self, Palette, radius, size, space};
use super::end_mark::end_mark;
use super::{focus, paint};
use crate::scene::draw_list::MarkShape;
use egui::{Color32, Mesh, Painter, Rect, Role, Sense, Shape, Ui, WidgetInfo, pos2, vec2};

pub const BINS: usize = 64;
pub const HISTOGRAM: f32 = 56.0;

/// Bars over a range with three texts below.
pub struct Histogram<'a> {
    pub name: &'a str,
    pub counts: &'a [u32; BINS],
    /// Shown as the first and last text.
    pub ends: (&'a str, &'a str),
    /// A line across the bars at this share of the width, and its text.
    pub mark: Option<(f32, &'a str)>,
    /// Colour of the bar at a share of the width.
    pub colour: &'a dyn Fn(f32) -> Color32,
}

impl Histogram<'_> {
    pub fn show(self, ui: &mut Ui) {
        let p = theme::palette(ui.style());
        let height = HISTOGRAM + 20.0;
        let (rect, response) =
            ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
        let rect = paint::inset(rect, space::INSET, space::INSET);
        let bars = Rect::from_min_size(rect.min, vec2(rect.width(), HISTOGRAM));
        let painter = ui.painter();
        let step = bars.width() / BINS as f32;
        self::bars(painter, p, bars, self.counts, self.colour);
        let texts = Rect::from_min_max(pos2(rect.left(), bars.bottom() + 3.0), rect.max);
        let font = theme::regular(size::CAPTION);
        let low = paint::left(painter, texts, self.ends.0, font.clone(), p.t3);
        let high = paint::right(painter, texts, self.ends.1, font, p.t3);
        if let Some((share, text)) = self.mark {
            let x = mark(painter, bars, share, p.t1);
            let font = theme::semibold(size::CAPTION);
            let half = paint::width(ui, text, font.clone()) * 0.5;
            let (first, last) = (low.right() + 6.0 + half, high.left() - 6.0 - half);
            let x = if first < last {
                x.clamp(first, last)
            } else {
                texts.center().x
            };
            let place = Rect::from_center_size(
                pos2(x, texts.center().y),
                vec2(half * 2.0 + 2.0, texts.height()),
            );
            paint::centre(painter, place, text, font, p.t1);
        }
        let mark = self
            .mark
            .map_or(String::new(), |(_, text)| format!(", {text}"));
        let summary = format!("{}: {} to {}{mark}", self.name, self.ends.0, self.ends.1);
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &summary));
        if let Some(at) = response.hover_pos() {
            let bin = ((at.x - bars.left()) / step).clamp(0.0, BINS as f32 - 1.0) as usize;
            let count = self.counts[bin];
            // At the pointer, and only if there are any, since headings follow below.
            if count > 0 {
                let text = format!("{} here", format::count(u64::from(count)));
                response.on_hover_text_at_pointer(text);
            }
        }
    }
}

/// The bars of a histogram and their base line.
pub fn bars(
    painter: &Painter,
    p: &Palette,
    rect: Rect,
    counts: &[u32; BINS],
    colour: &dyn Fn(f32) -> Color32,
) {
    let highest = counts.iter().copied().max().unwrap_or(0).max(1) as f32;
    bars_as_high(painter, p, rect, &|i| counts[i] as f32 / highest, colour);
}

/// Bars with heights from 0 to 1, given by bar index.
pub fn bars_as_high(
    painter: &Painter,
    p: &Palette,
    rect: Rect,
    height: &dyn Fn(usize) -> f32,
    colour: &dyn Fn(f32) -> Color32,
) {
    let step = rect.width() / BINS as f32;
    let heights = (0..BINS).map(|i| (i, height(i)));
    for (i, height) in heights.filter(|(_, height)| *height > 0.0) {
        // One streamline in a bin is still visible.
        let high = (height * (HISTOGRAM - 4.0)).max(1.5);
        let left = rect.left() + i as f32 * step;
        let bar = Rect::from_min_max(
            pos2(left, rect.bottom() - high),
            pos2(left + step - 1.0, rect.bottom()),
        );
        painter.rect_filled(bar, 0.0, colour((i as f32 + 0.5) / BINS as f32));
    }
    let base = Rect::from_min_max(rect.min, rect.max + vec2(0.0, 1.0));
    paint::underline(painter, base, p.line);
}

/// A line across bars, on a triangle; returns its position.
pub fn mark(painter: &Painter, bars: Rect, share: f32, ink: Color32) -> f32 {
    let x = (bars.left() + bars.width() * share).round() + 0.5;
    let stroke = egui::Stroke::new(1.0, ink);
    painter.vline(x, bars.top()..=bars.bottom(), stroke);
    triangle(painter, pos2(x, bars.bottom() - 3.5), ink);
    x
}

fn triangle(painter: &Painter, tip: egui::Pos2, colour: Color32) {
    let points = vec![tip, tip + vec2(4.0, 6.0), tip + vec2(-4.0, 6.0)];
    painter.add(Shape::convex_polygon(points, colour, egui::Stroke::NONE));
}

/// A part of a whole, with its legend; `id` identifies it.
pub struct Part<T> {
    pub id: T,
    pub name: String,
    pub count: u64,
    pub colour: Color32,
    /// Mark in the legend; `None`: a small square.
    pub shape: Option<MarkShape>,
}

/// From the left of a legend's cell to its name; between name and count.
const SWATCH: f32 = 15.0;
const GAP: &str = "  ";

/// Width of a part in the legend.
fn needed<T>(ui: &Ui, part: &Part<T>) -> f32 {
    let name = format!("{}{GAP}", part.name);
    let count = format::count(part.count);
    let name = paint::width(ui, &name, theme::regular(size::CAPTION));
    SWATCH + name + paint::width(ui, &count, theme::medium(size::CAPTION)) + 2.0
}

/// The legend's rows: two parts if both fit into a column.
fn pairs<'a, T>(ui: &Ui, parts: &'a [Part<T>], column: f32) -> Vec<&'a [Part<T>]> {
    let fits = |part: &Part<T>| needed(ui, part) <= column;
    let mut rows = Vec::new();
    let mut rest = parts;
    while !rest.is_empty() {
        let two = rest.len() > 1 && rest[..2].iter().all(fits);
        let (row, more) = rest.split_at(if two { 2 } else { 1 });
        rows.push(row);
        rest = more;
    }
    rows
}

/// Parts of a whole as one bar, with a legend of two columns below. A click on a part chooses it, on the chosen one
/// none: that part is then returned.
pub fn stacked<T: Copy + PartialEq>(
    ui: &mut Ui,
    name: &str,
    parts: &[Part<T>],
    chosen: Option<T>,
) -> Option<Option<T>> {
    let p = theme::palette(ui.style());
    let total: u64 = parts.iter().map(|part| part.count).sum();
    let width = ui.available_width();
    let mut clicked = None;
    let toggled = |part: &Part<T>| Some(part.id).filter(|_| chosen != Some(part.id));
    // Parts that are not chosen stay visible as parts of the whole.
    let dimmed = |part: &Part<T>| chosen.is_some_and(|chosen| chosen != part.id);
    let (rect, _) = ui.allocate_exact_size(vec2(width, 8.0), Sense::hover());
    let bar = paint::inset(rect, space::INSET, space::INSET);
    let id = ui.make_persistent_id(("parts", name));
    // The keyboard chooses in the legend.
    let response = ui.interact(bar.expand2(vec2(0.0, 3.0)), id, Sense::CLICK);
    let mut x = bar.left();
    for part in parts.iter().filter(|part| part.count > 0) {
        let wide = bar.width() * part.count as f32 / total.max(1) as f32;
        let piece = Rect::from_min_size(pos2(x, bar.top()), vec2((wide - 1.0).max(1.0), 8.0));
        let colour = match dimmed(part) {
            true => part.colour.lerp_to_gamma(p.b1, 0.75),
            false => part.colour,
        };
        ui.painter().rect_filled(piece, 0.0, colour);
        let here = response
            .interact_pointer_pos()
            .filter(|_| response.clicked());
        if here.is_some_and(|at| (x..x + wide).contains(&at.x)) {
            clicked = Some(toggled(part));
        }
        x += wide;
    }
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, name));
    ui.add_space(4.0);
    for pair in pairs(ui, parts, 0.5 * bar.width() - 6.0) {
        let (row, _) = ui.allocate_exact_size(vec2(width, 18.0), Sense::hover());
        let row = paint::inset(row, space::INSET, space::INSET);
        for (i, part) in pair.iter().enumerate() {
            let half = row.width() * 0.5;
            // A part too long for a column takes the whole row.
            let alone = pair.len() == 1 && needed(ui, part) > half - 6.0;
            let wide = if alone { row.width() } else { half - 6.0 };
            let cell = Rect::from_min_size(
                pos2(row.left() + half * i as f32, row.top()),
                vec2(wide, row.height()),
            );
            let id = ui.make_persistent_id(("part", &part.name));
            let response = ui.interact(cell, id, Sense::click());
            let is_chosen = chosen == Some(part.id);
            let behind = cell.expand2(vec2(3.0, 0.0));
            if response.hovered() || is_chosen {
                let fill = if is_chosen { p.tint } else { p.b3 };
                ui.painter().rect_filled(behind, radius::CHIP, fill);
            }
            let ink = if dimmed(part) {
                [p.t3; 2]
            } else {
                [p.t2, p.t1]
            };
            let swatch = paint::at_left(cell, vec2(9.0, 9.0));
            match part.shape {
                Some(shape) => end_mark(ui.painter(), swatch.center(), 4.0, shape, part.colour),
                None => {
                    ui.painter().rect_filled(swatch, 2.0, part.colour);
                }
            }
            let count = format::count(part.count);
            let text = paint::inset(cell, SWATCH, 0.0);
            let spans = [
                (&*part.name, theme::regular(size::CAPTION), ink[0]),
                (GAP, theme::regular(size::CAPTION), ink[0]),
                (&*count, theme::medium(size::CAPTION), ink[1]),
            ];
            paint::spans(ui.painter(), text, egui::Align2::LEFT_CENTER, &spans);
            paint::focus_ring(ui.painter(), p, &response, behind, radius::CHIP);
            focus::button(&response);
            response.widget_info(|| {
                let text = format!("{} {count}", part.name);
                WidgetInfo::selected(Role::Button, true, is_chosen, text)
            });
            if response.clicked() {
                clicked = Some(toggled(part));
            }
            let share = 100.0 * part.count as f64 / total.max(1) as f64;
            let share = format::with_unit(&format::fixed(share, 1), "%");
            let does = match is_chosen {
                true => "Shows all again",
                false => "Shows only these",
            };
            response.on_hover_text(format!("{share}\n{does}"));
        }
    }
    clicked
}

/// A thin bar; empty if the fraction is unknown.
pub fn progress(painter: &Painter, rect: Rect, share: Option<f32>, rail: Color32, fill: Color32) {
    painter.rect_filled(rect, 1.5, rail);
    if let Some(share) = share {
        let done = Rect::from_min_size(rect.min, vec2(rect.width() * share, rect.height()));
        painter.rect_filled(done, 1.5, fill);
    }
}

/// A bar of work whose end is unknown: a piece of it moves from left to right, again and again.
pub fn endless_progress(painter: &Painter, rect: Rect, rail: Color32, fill: Color32) {
    const PERIOD_S: f64 = 2.0;
    const PIECE: f32 = 0.25;
    painter.rect_filled(rect, 1.5, rail);
    let time_s = painter.ctx().input(|i| i.time);
    let turn = (time_s / PERIOD_S).fract() as f32;
    let left = rect.left() + rect.width() * (turn * (1.0 + PIECE) - PIECE);
    let right = left + rect.width() * PIECE;
    let piece = rect
        .with_min_x(left.max(rect.left()))
        .with_max_x(right.min(rect.right()));
    painter.rect_filled(piece, 1.5, fill);
}

/// A strip of a colour map, low on the left (or at the bottom where it is taller than wide).
pub fn colour_strip(painter: &Painter, rect: Rect, colour: impl Fn(f32) -> Color32) {
    const PIECES: usize = 48;
    let upright = rect.height() > rect.width();
    let mut mesh = Mesh::default();
    for i in 0..=PIECES {
        let t = i as f32 / PIECES as f32;
        let (a, b) = if upright {
            let y = rect.bottom() - t * rect.height();
            (pos2(rect.left(), y), pos2(rect.right(), y))
        } else {
            let x = rect.left() + t * rect.width();
            (pos2(x, rect.top()), pos2(x, rect.bottom()))
        };
        mesh.colored_vertex(a, colour(t));
        mesh.colored_vertex(b, colour(t));
        if i > 0 {
            let n = 2 * i as u32;
            mesh.add_triangle(n - 2, n - 1, n);
            mesh.add_triangle(n - 1, n, n + 1);
        }
    }
    painter.add(mesh);
}
