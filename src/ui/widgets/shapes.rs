//! The transfer function of two values: shapes over a joint histogram. A shape is dragged as a whole, or by its corners.

use super::super::format;
use super::super::theme::{self, size, space};
use super::paint;
use crate::data::appearance::{ShapeKind, TransferShape};
use crate::data::joint_histogram::{DerivedValue, JointAxis, JointSamples};
use crate::state::Phase;
use crate::state::core::display::STALE_OPACITY;
use crate::state::scene_look::JointKey;
use egui::{
    Color32, CursorIcon, Key, Pos2, Rect, Response, Role, Sense, Shape, Stroke, StrokeKind, Ui,
    WidgetInfo, pos2, vec2,
};

/// Cells of the histogram along either axis.
pub const BINS: usize = 64;
const HEIGHT: f32 = 132.0;
const REACH: f32 = 7.0;

pub struct ShapesEditor<'a> {
    pub shapes: &'a [TransferShape],
    /// The shape whose corners can be dragged.
    pub chosen: usize,
    /// Counts of [`BINS`] × [`BINS`] cells, from the lowest second value upwards; empty until they are known.
    pub counts: &'a [u32],
    /// Whether the counts are those of another volume, and dimmed until the present ones are known.
    pub is_stale: bool,
    /// The third range, if only voxels within it are counted.
    pub only: Option<&'a str>,
    /// Displayed values at the ends of either axis.
    pub ranges: [(f64, f64); 2],
    /// Names of the values.
    pub axes: [&'a str; 2],
}

/// A change that the user made in the plot.
pub enum ShapesChange {
    Chosen(usize),
    Moved(usize, TransferShape, Phase),
    Removed(usize),
}

impl ShapesEditor<'_> {
    pub fn show(self, ui: &mut Ui) -> Option<ShapesChange> {
        let height = HEIGHT + 22.0;
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
        let rect = paint::inset(rect, space::INSET, space::INSET);
        let plot = Rect::from_min_size(rect.min, vec2(rect.width(), HEIGHT - 4.0));
        let id = ui.make_persistent_id("shapes of two values");
        self.draw(ui, plot, rect);
        let mut change = None;
        for (i, shape) in self.shapes.iter().enumerate() {
            let place = place_of(plot, shape).intersect(plot);
            let response = ui.interact(place, id.with(("shape", i)), Sense::click_and_drag());
            let response = response.on_hover_cursor(CursorIcon::Grab);
            let name = format!("Shape {} of {}", i + 1, self.shapes.len());
            response
                .widget_info(|| WidgetInfo::selected(Role::Button, true, i == self.chosen, &name));
            change = self.dragged(ui, &response, plot, i, [true; 4]).or(change);
            if response.clicked() || response.drag_started() {
                response.request_focus();
                if i != self.chosen {
                    change = Some(ShapesChange::Chosen(i));
                }
            }
            let deletes = ui.input(|input| input.key_pressed(Key::Delete));
            if response.has_focus() && deletes {
                change = Some(ShapesChange::Removed(i));
            }
        }
        if let Some(shape) = self.shapes.get(self.chosen) {
            let place = place_of(plot, shape);
            for (c, corner) in corners(place).into_iter().enumerate() {
                let handle = Rect::from_center_size(corner, vec2(REACH, REACH) * 2.0);
                let id = id.with(("corner", c));
                let response = ui.interact(handle, id, Sense::drag());
                let name = format!("Shape {}, corner {}", self.chosen + 1, c + 1);
                response.widget_info(|| WidgetInfo::labeled(Role::Slider, true, &name));
                // Whether the left, right, bottom and top sides move.
                let sides = [c % 2 == 0, c % 2 == 1, c < 2, c >= 2];
                let moved = self.dragged(ui, &response, plot, self.chosen, sides);
                change = moved.or(change);
            }
        }
        change
    }

    fn dragged(
        &self,
        ui: &Ui,
        response: &Response,
        plot: Rect,
        i: usize,
        sides: [bool; 4],
    ) -> Option<ShapesChange> {
        let shape = self.shapes[i];
        let grip = response.id.with("grip");
        if response.drag_started() {
            ui.data_mut(|d| d.insert_temp(grip, (shape.low, shape.high, vec2(0.0, 0.0))));
        }
        if response.drag_stopped() {
            return Some(ShapesChange::Moved(i, shape, Phase::Done));
        }
        if !response.dragged() {
            return None;
        }
        let start: ([f32; 2], [f32; 2], egui::Vec2) = ui.data(|d| d.get_temp(grip))?;
        let by = start.2 + response.drag_delta();
        ui.data_mut(|d| d.insert_temp(grip, (start.0, start.1, by)));
        let step = [by.x / plot.width(), -by.y / plot.height()];
        let mut moved = shape;
        for axis in 0..2 {
            let [low, high] = [sides[2 * axis], sides[2 * axis + 1]];
            let (from, to) = (start.0[axis], start.1[axis]);
            // Neither a shape nor its corners can be dragged beyond the ends of the plot. A box that reaches an end has
            // no limit there.
            let by = match low && high {
                true => step[axis].clamp((-from).min(0.0), (1.0 - to).max(0.0)),
                false => step[axis],
            };
            let width = TransferShape::MIN_WIDTH;
            moved.low[axis] = from;
            moved.high[axis] = to;
            if low && high {
                let (low, high) = (from + by, to + by);
                moved.low[axis] = if low.abs() < 1e-5 { 0.0 } else { low };
                moved.high[axis] = if (high - 1.0).abs() < 1e-5 { 1.0 } else { high };
            } else if low {
                moved.low[axis] = (from + by).max(0.0).min(to - width);
            } else if high {
                moved.high[axis] = (to + by).min(1.0).max(from + width);
            }
        }
        (moved != shape).then_some(ShapesChange::Moved(i, moved, Phase::Live))
    }

    fn draw(&self, ui: &Ui, plot: Rect, rect: Rect) {
        let p = theme::palette(ui.style());
        let painter = ui.painter();
        painter.rect_filled(plot, 0.0, p.b1);
        let largest = self.counts.iter().copied().max().unwrap_or(0).max(1) as f32;
        let cell = plot.size() / BINS as f32;
        let mut mesh = egui::Mesh::default();
        for (i, &count) in self.counts.iter().enumerate().filter(|(_, c)| **c > 0) {
            // Logarithmic: the background is thousands of times more frequent than the structure of interest.
            let share = (count as f32).ln_1p() / largest.ln_1p();
            let (x, y) = (i % BINS, i / BINS);
            let low = pos2(
                plot.left() + x as f32 * cell.x,
                plot.bottom() - (y + 1) as f32 * cell.y,
            );
            let faded = if self.is_stale { STALE_OPACITY } else { 1.0 };
            let ink = p.t2.gamma_multiply((0.08 + 0.92 * share) * faded);
            mesh.add_colored_rect(Rect::from_min_size(low, cell), ink);
        }
        painter.add(mesh);
        let inside = painter.with_clip_rect(plot);
        for (i, shape) in self.shapes.iter().enumerate() {
            let place = place_of(plot, shape);
            let [r, g, b] = shape.colour;
            let line = Color32::from_rgb(r, g, b);
            let fill = line.gamma_multiply(0.15 + 0.35 * shape.opacity);
            let stroke = Stroke::new(if i == self.chosen { 2.0 } else { 1.0 }, line);
            match shape.kind {
                ShapeKind::Box => inside.rect(place, 0.0, fill, stroke, StrokeKind::Inside),
                ShapeKind::Ellipse => {
                    inside.add(Shape::ellipse_filled(
                        place.center(),
                        place.size() * 0.5,
                        fill,
                    ));
                    inside.add(Shape::ellipse_stroke(
                        place.center(),
                        place.size() * 0.5,
                        stroke,
                    ))
                }
                ShapeKind::Trapezoid => {
                    let shorter = 0.5 * place.width() * (1.0 - shape.foot);
                    let across = vec2(shorter, 0.0);
                    let sides = vec![
                        place.left_top(),
                        place.right_top(),
                        place.right_bottom() - across,
                        place.left_bottom() + across,
                    ];
                    inside.add(Shape::convex_polygon(sides, fill, stroke))
                }
            };
            if i == self.chosen {
                for corner in corners(place) {
                    painter.circle(corner, 3.5, p.knob, Stroke::new(1.0, p.b1));
                }
            }
        }
        let texts = Rect::from_min_max(pos2(rect.left(), plot.bottom() + 2.0), rect.max);
        let font = theme::regular(size::CAPTION);
        let (low, high) = self.ranges[0];
        paint::left(painter, texts, &format::measure(low), font.clone(), p.t3);
        paint::centre(painter, texts, self.axes[0], font.clone(), p.t3);
        paint::right(painter, texts, &format::measure(high), font.clone(), p.t3);
        let top = Rect::from_min_size(plot.min + vec2(4.0, 1.0), vec2(plot.width() - 8.0, 14.0));
        let (low, high) = self.ranges[1];
        let text = format!(
            "{}: {} to {}",
            self.axes[1],
            format::measure(low),
            format::measure(high)
        );
        // The counts would show through the letters.
        let on_plate = |at: Rect, text: &str, colour| {
            let width = paint::width(ui, text, font.clone()) + 6.0;
            let plate = Rect::from_min_size(at.min - vec2(3.0, 0.0), vec2(width, at.height()));
            painter.rect_filled(plate, 0.0, p.b1.gamma_multiply(0.9));
            paint::left(painter, at, text, font.clone(), colour);
        };
        on_plate(top, &text, p.t2);
        if let Some(only) = self.only {
            let below = top.translate(vec2(0.0, 14.0));
            let only = paint::elided(painter, only, font.clone(), below.width());
            on_plate(below, &only, p.t3);
        }
    }
}

fn place_of(plot: Rect, shape: &TransferShape) -> Rect {
    let at = |x: f32, y: f32| {
        pos2(
            plot.left() + plot.width() * x,
            plot.bottom() - plot.height() * y,
        )
    };
    Rect::from_two_pos(
        at(shape.low[0], shape.low[1]),
        at(shape.high[0], shape.high[1]),
    )
}

/// Left and right at the bottom, then at the top.
fn corners(place: Rect) -> [Pos2; 4] {
    [
        place.left_bottom(),
        place.right_bottom(),
        place.left_top(),
        place.right_top(),
    ]
}

/// The measured volume, the second axis, the bits of the windows, and the limits of a third value.
type CountsKey = (
    JointKey,
    JointAxis,
    [u32; 4],
    Option<(DerivedValue, [u32; 2])>,
);

/// Caches the last joint histogram: counting takes about a millisecond.
#[derive(Default)]
pub struct JointCache {
    counts: Option<(CountsKey, Vec<u32>)>,
}

impl JointCache {
    /// Counts of voxels, of those within the limits of a third value if there are any.
    pub fn get(
        &mut self,
        (measured, samples): (&JointKey, &JointSamples),
        second: JointAxis,
        windows: [(f32, f32); 2],
        third: Option<(DerivedValue, (f32, f32))>,
    ) -> &[u32] {
        let bits = [windows[0].0, windows[0].1, windows[1].0, windows[1].1].map(f32::to_bits);
        let limits = third.map(|(value, (low, high))| (value, [low, high].map(f32::to_bits)));
        let key = (measured.clone(), second, bits, limits);
        if self.counts.as_ref().is_none_or(|known| known.0 != key) {
            let counts = samples.counts(second, windows, third, BINS);
            self.counts = Some((key, counts));
        }
        self.counts.as_ref().map_or(&[], |known| &known.1)
    }
}
