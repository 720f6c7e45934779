//! The transfer function of a volume: a polyline of opacity over a histogram, its colours below.
//!
//! Points are dragged or moved by arrow keys, a double click adds one, Delete removes one; a right click
//! or the fields below give exact values.

use super::super::format;
use super::super::theme::{self, Palette, size, space};
use super::charts::{self, BINS};
use super::slider::Columns;
use super::{field, notice, paint};
use crate::data::{DataId, Volume};
use crate::scene::draw_list::Transfer;
use crate::state::Phase;
use egui::{
    Color32, CursorIcon, EventFilter, Key, Mesh, Pos2, Rect, Response, Role, Sense, Shape, Stroke,
    Ui, WidgetInfo, pos2, vec2,
};

const HEIGHT: f32 = 84.0;
const STRIP: f32 = 8.0;
const POINT: f32 = 4.5;
/// Distance within which a point can be grabbed.
const REACH: f32 = 8.0;
/// Step of an arrow key: fraction of the window, and opacity.
const STEP: (f32, f32) = (1.0 / BINS as f32, 0.02);

pub struct TransferEditor<'a> {
    pub name: &'a str,
    pub transfer: &'a Transfer,
    /// Histogram of the values within the window.
    pub counts: &'a [u32; BINS],
    /// Displayed values at the window's ends.
    pub range: (f64, f64),
    pub unit: &'a str,
    /// The quantity, as a short text.
    pub axis: &'a str,
}

impl TransferEditor<'_> {
    /// Returns the changed function.
    pub fn show(self, ui: &mut Ui) -> Option<(Transfer, Phase)> {
        let p = theme::palette(ui.style());
        let width = ui.available_width();
        let height = HEIGHT + STRIP + 24.0;
        let (rect, _) = ui.allocate_exact_size(vec2(width, height), Sense::hover());
        let rect = paint::inset(rect, space::INSET, space::INSET);
        let plot = Rect::from_min_size(rect.min + vec2(0.0, 6.0), vec2(rect.width(), HEIGHT - 6.0));
        let id = ui.make_persistent_id(("transfer", self.name));
        let behind = ui.interact(plot, id, Sense::click());
        self.describe(&behind);

        let points = self.transfer.points();
        let chosen_id = id.with("chosen");
        let mut chosen = ui.data(|d| d.get_temp::<usize>(chosen_id)).unwrap_or(0);
        chosen = chosen.min(points.len() - 1);
        let mut change = None;
        if behind.double_clicked()
            && let Some(at) = behind.interact_pointer_pos()
        {
            let (share, opacity) = place_of(plot, at);
            match self.transfer.with_point(share, opacity) {
                Some((with_point, i)) => {
                    chosen = i;
                    change = Some((with_point, Phase::Done));
                }
                None => notice::show_at(
                    ui,
                    plot,
                    format!("A curve has at most {} points", Transfer::MAX_POINTS),
                ),
            }
        }
        let mut stored = Vec::new();
        for (i, point) in points.iter().enumerate() {
            let place = Rect::from_center_size(pos_of(plot, *point), vec2(REACH, REACH) * 2.0);
            let id = id.with(("point", i));
            let response = ui.interact(place, id, Sense::click_and_drag());
            let response = response.on_hover_cursor(CursorIcon::Grab);
            if response.clicked() || response.drag_started() || response.secondary_clicked() {
                chosen = i;
                response.request_focus();
            } else if response.has_focus() && ui.input(|i| i.pointer.any_pressed()) {
                response.surrender_focus();
            }
            if response.has_focus() {
                chosen = i;
            }
            if let Some(changed) = self.touched(ui, &response, plot, i) {
                change = Some(changed);
            }
            self.describe_point(ui, &response, i);
            stored.push(response);
        }
        let shown = change
            .as_ref()
            .map_or(self.transfer, |(changed, _)| changed);
        self.draw(ui, p, (plot, rect), shown, (chosen, &stored));
        chosen = chosen.min(shown.points().len() - 1);
        ui.data_mut(|d| d.insert_temp(chosen_id, chosen));
        let typed = self.fields(ui, shown, chosen);
        typed.map(|changed| (changed, Phase::Done)).or(change)
    }

    /// A point that is dragged, or moved or removed by keys.
    fn touched(
        &self,
        ui: &Ui,
        response: &Response,
        plot: Rect,
        i: usize,
    ) -> Option<(Transfer, Phase)> {
        let point = self.transfer.points()[i];
        if response.drag_stopped() {
            return Some((self.transfer.clone(), Phase::Done));
        }
        if response.dragged() {
            // The pointer's position minus its offset from the point at the start.
            let grip = response.id.with("grip");
            let at = response.interact_pointer_pos()?;
            if response.drag_started() {
                ui.data_mut(|d| d.insert_temp(grip, pos_of(plot, point)));
            }
            let fine = match ui.input(|i| i.modifiers.shift) {
                true => 0.1,
                false => 1.0,
            };
            let from: Pos2 = ui.data(|d| d.get_temp(grip)).unwrap_or(at);
            let to = from + response.drag_delta() * fine;
            ui.data_mut(|d| d.insert_temp(grip, to));
            let (share, opacity) = place_of(plot, to);
            let changed = self.transfer.with_moved(i, share, opacity);
            return (changed != *self.transfer).then_some((changed, Phase::Live));
        }
        if !response.has_focus() {
            return None;
        }
        ui.memory_mut(|m| {
            let arrows = EventFilter {
                horizontal_arrows: true,
                vertical_arrows: true,
                ..EventFilter::default()
            };
            m.set_focus_lock_filter(response.id, arrows);
        });
        let presses = |key: Key| ui.input(|i| i.num_presses(key)) as f32;
        if presses(Key::Delete) + presses(Key::Backspace) > 0.0 {
            return Some((self.transfer.without(i)?, Phase::Done));
        }
        let right = presses(Key::ArrowRight) - presses(Key::ArrowLeft);
        let up = presses(Key::ArrowUp) - presses(Key::ArrowDown);
        let moved = right != 0.0 || up != 0.0;
        moved.then(|| {
            let (share, opacity) = (point.0 + right * STEP.0, point.1 + up * STEP.1);
            (self.transfer.with_moved(i, share, opacity), Phase::Done)
        })
    }

    fn value(&self, share: f32) -> f64 {
        self.range.0 + (self.range.1 - self.range.0) * f64::from(share)
    }

    fn describe(&self, response: &Response) {
        let ends = [0.0, 1.0].map(|share| format::measure(self.value(share)));
        let text = format!("{}: {} to {}", self.name, ends[0], ends[1]);
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &text));
        if response.hovered() {
            let hint = "Drag a point · double-click adds one · Delete removes it";
            response.clone().on_hover_text(hint);
        }
    }

    fn describe_point(&self, ui: &Ui, response: &Response, i: usize) {
        let points = self.transfer.points();
        let (share, opacity) = points[i];
        let name = format!("{}, point {} of {}", self.name, i + 1, points.len());
        let value = format!(
            "{} {}, {}",
            format::measure(self.value(share)),
            self.unit,
            format::with_unit(&format::fixed(f64::from(opacity) * 100.0, 0), "%")
        );
        response.widget_info(|| WidgetInfo {
            current_text_value: Some(value.clone()),
            value: Some(f64::from(opacity) * 100.0),
            ..WidgetInfo::labeled(Role::Slider, true, &name)
        });
        let hint = format!("{value}\nDrag to move it, Delete removes it");
        response.clone().on_hover_text(hint);
        ui.ctx().accesskit_node_builder(response.id, |node| {
            node.set_min_numeric_value(0.0);
            node.set_max_numeric_value(100.0);
        });
    }

    fn draw(
        &self,
        ui: &Ui,
        p: &Palette,
        (plot, rect): (Rect, Rect),
        transfer: &Transfer,
        (chosen, handles): (usize, &[Response]),
    ) {
        let painter = ui.painter();
        let largest = self.counts.iter().copied().max().unwrap_or(0).max(1) as f32;
        let step = plot.width() / BINS as f32;
        for (i, &count) in self.counts.iter().enumerate().filter(|(_, c)| **c > 0) {
            // Logarithmic: the background is thousands of times more frequent than the structure of interest.
            let high = (count as f32).ln_1p() / largest.ln_1p() * (plot.height() - 2.0);
            let left = plot.left() + i as f32 * step;
            let bar = Rect::from_min_max(
                pos2(left, plot.bottom() - high.max(1.0)),
                pos2(left + step - 1.0, plot.bottom()),
            );
            painter.rect_filled(bar, 0.0, p.b3);
        }
        let points: Vec<Pos2> = {
            let inner = transfer.points().iter().map(|q| pos_of(plot, *q));
            let ends = [0.0, 1.0].map(|t| pos_of(plot, (t, transfer.opacity(t))));
            std::iter::once(ends[0])
                .chain(inner)
                .chain([ends[1]])
                .collect()
        };
        under(ui, plot, transfer);
        painter.hline(
            plot.x_range(),
            plot.bottom() + 0.5,
            Stroke::new(1.0, p.line),
        );
        painter.add(Shape::line(points, Stroke::new(1.5, p.t1)));
        for (i, point) in transfer.points().iter().enumerate() {
            let at = pos_of(plot, *point);
            let response = handles.get(i);
            let lit = response.is_some_and(|r| r.hovered() || r.dragged());
            let radius = if lit { POINT + 0.5 } else { POINT };
            let fill = if i == chosen { p.accent } else { p.knob };
            painter.circle(at, radius, fill, Stroke::new(1.0, p.b1));
            if response.is_some_and(Response::has_focus) {
                painter.circle_stroke(at, POINT + 2.5, Stroke::new(1.0, p.accent));
            }
        }
        let strip = Rect::from_min_size(
            pos2(plot.left(), plot.bottom() + 4.0),
            vec2(plot.width(), STRIP),
        );
        charts::colour_strip(painter, strip, |t| opaque(transfer.colour(t)));
        let texts = Rect::from_min_max(pos2(rect.left(), strip.bottom() + 2.0), rect.max);
        let font = theme::regular(size::CAPTION);
        let [low, high] = [0.0, 1.0].map(|share| {
            let value = format::measure(self.value(share));
            match self.unit {
                "" => value,
                unit => format::with_unit(&value, unit),
            }
        });
        paint::left(painter, texts, &low, font.clone(), p.t3);
        paint::centre(painter, texts, self.axis, font.clone(), p.t3);
        paint::right(painter, texts, &high, font.clone(), p.t3);
        // At the end where the curve is lower.
        let corner =
            Rect::from_min_size(plot.min + vec2(4.0, -4.0), vec2(plot.width() - 8.0, 14.0));
        let falls = transfer.opacity(0.0) > transfer.opacity(1.0);
        let place = if falls { paint::right } else { paint::left };
        place(painter, corner, "opacity", font, p.t3);
    }

    /// Value and opacity of the chosen point.
    fn fields(&self, ui: &mut Ui, transfer: &Transfer, chosen: usize) -> Option<Transfer> {
        let p = theme::palette(ui.style());
        let points = transfer.points();
        let (share, opacity) = points[chosen];
        let point = format!("Point {} of {}", chosen + 1, points.len());
        let [left, right] = [(&*point, self.axis), ("", "opacity")].map(|(name, what)| {
            let columns = Columns::allocate(ui);
            let half = (columns.wide.width() - 8.0) * 0.5;
            let font = theme::regular(size::LABEL);
            paint::left(ui.painter(), columns.label, name, font.clone(), p.t2);
            let adjacent = columns.wide.with_max_x(columns.wide.right() - half - 8.0);
            paint::right(ui.painter(), adjacent, what, font, p.t2);
            columns.wide.with_min_x(columns.wide.right() - half)
        });
        let number = |ui: &Ui, place: Rect, what: &str, typed: String| {
            let number = format::parse(&typed).filter(|v| v.is_finite());
            if number.is_none() {
                notice::show_at(
                    ui,
                    place,
                    format!("{what}: “{}” is not a number", typed.trim()),
                );
            }
            number
        };
        let shown = format::measure(self.value(share));
        let name = "Value of the point";
        let value = field::value(ui, left, name, &shown, self.unit);
        let value = value.and_then(|typed| number(ui, left, name, typed));
        let shown = format::fixed(f64::from(opacity) * 100.0, 1);
        let name = "Opacity of the point";
        let typed = field::value(ui, right, name, &shown, "%");
        let typed = typed.and_then(|typed| number(ui, right, name, typed));
        let (low, high) = self.range;
        let share = value.map_or(share, |v| ((v - low) / (high - low)) as f32);
        let opacity = typed.map_or(opacity, |v| v as f32 / 100.0);
        let changed = transfer.with_moved(chosen, share, opacity);
        (changed != *transfer).then_some(changed)
    }
}

fn opaque([r, g, b]: [u8; 3]) -> Color32 {
    Color32::from_rgb(r, g, b)
}

fn pos_of(plot: Rect, (share, opacity): (f32, f32)) -> Pos2 {
    pos2(
        plot.left() + plot.width() * share,
        plot.bottom() - plot.height() * opacity,
    )
}

fn place_of(plot: Rect, at: Pos2) -> (f32, f32) {
    (
        (at.x - plot.left()) / plot.width(),
        (plot.bottom() - at.y) / plot.height(),
    )
}

/// Fills the area under the polyline, in its colours.
fn under(ui: &Ui, plot: Rect, transfer: &Transfer) {
    const PIECES: usize = 96;
    let mut mesh = Mesh::default();
    for i in 0..=PIECES {
        let t = i as f32 / PIECES as f32;
        let colour = opaque(transfer.colour(t)).gamma_multiply(0.45);
        let top = pos_of(plot, (t, transfer.opacity(t)));
        mesh.colored_vertex(pos2(top.x, plot.bottom()), colour);
        mesh.colored_vertex(top, colour);
        if i > 0 {
            let n = 2 * i as u32;
            mesh.add_triangle(n - 2, n - 1, n);
            mesh.add_triangle(n - 1, n, n + 1);
        }
    }
    ui.painter().add(mesh);
}

/// Histogram of the values within a window, from at most this many values evenly spread.
pub fn histogram(values: &[f32], (low, high): (f32, f32)) -> [u32; BINS] {
    const MAXIMUM_SAMPLES: usize = 500_000;
    let mut counts = [0; BINS];
    let stride = values.len().div_ceil(MAXIMUM_SAMPLES).max(1);
    let scale = BINS as f32 / (high - low);
    for value in values.iter().step_by(stride) {
        let bin = (value - low) * scale;
        // False for NaN, too.
        if bin >= 0.0 && bin <= BINS as f32 {
            counts[(bin as usize).min(BINS - 1)] += 1;
        }
    }
    counts
}

/// Caches the last histogram.
#[derive(Default)]
pub struct HistogramCache {
    key: Option<(DataId, usize, [u32; 2])>,
    counts: Option<Box<[u32; BINS]>>,
}

impl HistogramCache {
    pub fn get(&mut self, volume: &Volume, frame: usize, window: (f32, f32)) -> &[u32; BINS] {
        let key = (volume.id(), frame, [window.0, window.1].map(f32::to_bits));
        if self.key != Some(key) {
            self.key = Some(key);
            self.counts = None;
        }
        self.counts
            .get_or_insert_with(|| Box::new(histogram(volume.frame(frame), window)))
    }
}
