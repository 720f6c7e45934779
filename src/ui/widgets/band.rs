//! A histogram with a target value and a tolerance: the tent over it is the speed.

use super::super::format;
use super::super::theme::{self, size, space};
use super::charts::{self, BINS};
use super::histogram::Histogram;
use super::{paint, rail};
use crate::state::Phase;
use egui::{Color32, CursorIcon, Rect, Sense, Shape, Stroke, Ui, pos2, vec2};

pub struct BandHistogram<'a> {
    pub name: &'a str,
    pub values: &'a Histogram,
    pub target: f32,
    pub tolerance: f32,
    /// Factor from values to the displayed unit.
    pub scale: f32,
    pub colour: Color32,
}

/// The part being dragged.
#[derive(Clone, Copy, PartialEq)]
enum DraggedPart {
    Target,
    Edge,
}

impl BandHistogram<'_> {
    /// New target and tolerance, if the user moved one.
    pub fn show(self, ui: &mut Ui) -> Option<((f32, f32), Phase)> {
        let p = theme::palette(ui.style());
        let height = charts::HISTOGRAM + 20.0;
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
        let rect = paint::inset(rect, space::INSET, space::INSET);
        let bars = Rect::from_min_size(rect.min, vec2(rect.width(), charts::HISTOGRAM));
        let (low, high) = self.values.range;
        let span = (high - low).max(f32::MIN_POSITIVE);
        let x_of = |value: f32| bars.left() + (value - low) / span * bars.width();
        let id = ui.make_persistent_id(("band", self.name));
        let response = ui.interact(bars, id, Sense::drag());
        let response = response.on_hover_cursor(CursorIcon::ResizeHorizontal);
        let mut change = None;
        if let Some(at) = response.interact_pointer_pos() {
            let value = low + (at.x - bars.left()) / bars.width() * span;
            let off = (value - self.target).abs();
            let grabbed = ui.data_mut(|d| {
                if response.drag_started()
                    || response.is_pointer_button_down_on() && d.get_temp::<bool>(id).is_none()
                {
                    // A press in the outer half of the tent grabs its edge.
                    let edge = off > 0.5 * self.tolerance && off < 1.5 * self.tolerance;
                    d.insert_temp(id, edge);
                }
                match d.get_temp::<bool>(id) {
                    Some(true) => DraggedPart::Edge,
                    _ => DraggedPart::Target,
                }
            });
            let phase = if response.drag_stopped() {
                Phase::Done
            } else {
                Phase::Live
            };
            let now = match grabbed {
                DraggedPart::Target => (value.clamp(low, high), self.tolerance),
                DraggedPart::Edge => (self.target, off.max(span * 1e-3)),
            };
            if phase == Phase::Done || now != (self.target, self.tolerance) {
                change = Some((now, phase));
            }
        } else if response.drag_stopped() {
            change = Some(((self.target, self.tolerance), Phase::Done));
        }
        if !response.is_pointer_button_down_on() {
            ui.data_mut(|d| d.remove::<bool>(id));
        }
        let bin = f64::from(span) / BINS as f64;
        let target = f64::from(self.target);
        let stepped = |steps: f64| target + steps * bin;
        if let Some(value) = rail::requested(ui, &response, id, stepped) {
            let value = (value as f32).clamp(low, high);
            change = Some(((value, self.tolerance), Phase::Done));
        }
        let ends = (f64::from(low)..=f64::from(high), target);
        rail::describe(ui, &response, id, ends, self.name);

        let (target, tolerance) = change.map_or((self.target, self.tolerance), |(now, _)| now);
        let within = |t: f32| (low + t * span - target).abs() <= tolerance;
        let colour = |t: f32| if within(t) { self.colour } else { p.b3 };
        let painter = ui.painter().with_clip_rect(bars.expand2(vec2(1.0, 8.0)));
        let edges = [x_of(target - tolerance), x_of(target + tolerance)];
        let fill = Rect::from_x_y_ranges(edges[0]..=edges[1], bars.y_range()).intersect(bars);
        painter.rect_filled(fill, 0.0, self.colour.gamma_multiply(0.14));
        charts::bars_as_high(&painter, p, bars, &|i| self.values.height(i), &colour);
        let active = response.hovered() || response.dragged() || response.has_focus();
        let ink = if active { p.accent } else { p.t1 };
        let stroke = Stroke::new(1.25, ink);
        let tip = pos2(x_of(target), bars.top() + 3.0);
        let feet = edges.map(|x| pos2(x, bars.bottom()));
        painter.add(Shape::line(vec![feet[0], tip, feet[1]], stroke));
        painter.circle_filled(tip, 4.0, ink);
        for foot in feet {
            let grip = Rect::from_center_size(foot - vec2(0.0, 14.0), vec2(3.0, 12.0));
            painter.rect_filled(grip, 1.5, ink);
        }
        paint::focus_ring(ui.painter(), p, &response, bars, theme::radius::CHIP);
        response.on_hover_text(
            "Values of the image, with counts on a logarithmic scale. Drag the tip to move T, a foot to change ε",
        );
        let texts = Rect::from_min_max(pos2(rect.left(), bars.bottom() + 3.0), rect.max);
        let font = theme::regular(size::CAPTION);
        let text = |v: f32| match self.values.are_integers && self.scale == 1.0 {
            true => format::fixed(f64::from(v), usize::from(v.fract() != 0.0)),
            false => format::significant(f64::from(v * self.scale)),
        };
        let (first, last) = self.values.ends();
        paint::left(ui.painter(), texts, &text(first), font.clone(), p.t3);
        paint::right(ui.painter(), texts, &text(last), font, p.t3);
        let now = format!("{} ± {}", text(target), text(tolerance));
        let half = paint::width(ui, &now, theme::semibold(size::CAPTION)) * 0.5 + 2.0;
        let x = x_of(target).clamp(texts.left() + 40.0 + half, texts.right() - 40.0 - half);
        let place = Rect::from_center_size(pos2(x, texts.center().y), vec2(2.0 * half, 14.0));
        paint::centre(
            ui.painter(),
            place,
            &now,
            theme::semibold(size::CAPTION),
            p.t1,
        );
        change
    }
}
