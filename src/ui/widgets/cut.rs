//! A histogram with a cut: a line that is dragged, moved by keys or typed.

use super::super::format;
use super::super::theme::{self, size, space};
use super::charts::{self, BINS};
use super::{field, focus, notice, paint, rail};
use crate::state::Phase;
use egui::{Color32, CursorIcon, Rect, Sense, Ui, pos2, vec2};

/// Smallest size of the value's field, under the line.
const FIELD: egui::Vec2 = vec2(64.0, 18.0);

pub struct CutHistogram<'a> {
    pub name: &'a str,
    pub counts: &'a [u32; BINS],
    /// Values at the two ends.
    pub range: (f32, f32),
    /// Bars represent equal ratios, not equal differences.
    pub logarithmic: bool,
    /// `None`: all are kept.
    pub cut: Option<f32>,
    /// Colour of a kept bar at a share of the width.
    pub colour: &'a dyn Fn(f32) -> Color32,
}

impl CutHistogram<'_> {
    /// The new cut, if it was moved.
    pub fn show(self, ui: &mut Ui) -> Option<(f32, Phase)> {
        let p = theme::palette(ui.style());
        let height = charts::HISTOGRAM + FIELD.y + 6.0;
        let width = ui.available_width();
        let (rect, _) = ui.allocate_exact_size(vec2(width, height), Sense::hover());
        let rect = paint::inset(rect, space::INSET, space::INSET);
        let bars = Rect::from_min_size(rect.min, vec2(rect.width(), charts::HISTOGRAM));
        let (low, high) = self.range;
        let span = high - low;
        let ratio = high / low;
        let share_of = |value: f32| {
            let share = match self.logarithmic {
                true => (value.max(low) / low).ln() / ratio.ln(),
                false => (value - low) / span,
            };
            share.clamp(0.0, 1.0)
        };
        let value_at = |share: f32| match self.logarithmic {
            true => low * ratio.powf(share),
            false => low + share * span,
        };
        // Few digits, so that a copied command has exactly the value that was set.
        let rounded = |value: f32| match self.logarithmic {
            true if value > 0.0 => {
                let unit = 10f32.powf(2.0 - value.log10().floor());
                ((value * unit).round() / unit).max(low)
            }
            _ => (value * 1e3).round() / 1e3,
        };

        let id = ui.make_persistent_id(("cut", self.name));
        let response = ui.interact(bars, id, Sense::drag());
        let response = response.on_hover_cursor(CursorIcon::ResizeHorizontal);
        let at_cut = self.cut.unwrap_or(low);
        let mut change = None;
        if let Some(at) = response.interact_pointer_pos() {
            let share = ((at.x - bars.left()) / bars.width()).clamp(0.0, 1.0);
            let phase = if response.drag_stopped() {
                Phase::Done
            } else {
                Phase::Live
            };
            change = Some((rounded(value_at(share)), phase));
        } else if response.drag_stopped() {
            change = Some((at_cut, Phase::Done));
        }
        let value = f64::from(at_cut);
        let (from, to) = (f64::from(low), f64::from(high));
        let stepped = |steps: f64| {
            let share = share_of(at_cut) + steps as f32 / BINS as f32;
            f64::from(value_at(share)).clamp(from, to)
        };
        if let Some(value) = rail::requested(ui, &response, id, stepped) {
            change = Some((rounded(value as f32), Phase::Done));
        }
        // A press on the line without movement changes nothing.
        let change = change.filter(|(v, phase)| *phase == Phase::Done || *v != at_cut);
        rail::describe(ui, &response, id, (from..=to, value), self.name);

        // The cut now requested, so that line and bars move with the pointer.
        let cut = change.map_or(at_cut, |(v, _)| v);
        let uncut = change.is_none() && self.cut.is_none() || change.is_some() && cut <= low;
        let colour = |t: f32| {
            // The bar that the cut crosses counts by its centre.
            if value_at(t) >= cut {
                (self.colour)(t)
            } else {
                p.b3
            }
        };
        charts::bars(ui.painter(), p, bars, self.counts, &colour);
        let active = response.hovered() || response.dragged() || response.has_focus();
        let ink = if active { p.accent } else { p.t1 };
        let x = charts::mark(ui.painter(), bars, share_of(cut), ink);
        if focus::has_ring(&response) {
            let top = egui::Stroke::new(3.0, p.accent);
            ui.painter().vline(x, bars.y_range(), top);
        }
        response.on_hover_text(
            "Drag the line to cut: what lies to its right is kept. The field below takes a value, or “all”",
        );
        let typed = self.texts(ui, rect, bars, x, (!uncut).then_some(cut));
        typed.map(|v| (v, Phase::Done)).or(change)
    }

    /// The ends and, under the line, the value as a field.
    fn texts(&self, ui: &mut Ui, rect: Rect, bars: Rect, x: f32, cut: Option<f32>) -> Option<f32> {
        let p = theme::palette(ui.style());
        let text = |v: f32| match self.logarithmic {
            true => format::significant(f64::from(v)),
            false => format::measure(f64::from(v)),
        };
        let line = Rect::from_min_max(pos2(rect.left(), bars.bottom() + 4.0), rect.max);
        let line = Rect::from_min_size(line.min, vec2(line.width(), FIELD.y));
        let shown = cut.map_or("all".to_owned(), |cut| format!("≥\u{202F}{}", text(cut)));
        let wide = paint::width(ui, &shown, theme::regular(size::LABEL)) + 16.0;
        let field = vec2(FIELD.x.max(wide), FIELD.y);
        let place = Rect::from_center_size(pos2(x, line.center().y), field);
        let font = theme::regular(size::CAPTION);
        let (low, high) = self.range;
        let [low, high] = match self.logarithmic {
            // The lower end is much smaller than the upper one.
            true => [low, high].map(|v| format::significant(f64::from(v))),
            false => format::range_texts([low, high].map(f64::from)),
        };
        // The field stays clear of both ends.
        let low = paint::left(ui.painter(), line, &low, font.clone(), p.t3);
        let high = paint::right(ui.painter(), line, &high, font, p.t3);
        let (first, last) = (low.right() + 6.0, high.left() - 6.0);
        let inside = (first - place.left()).max(0.0) - (place.right() - last).max(0.0);
        let place = place.translate(vec2(inside, 0.0));
        let name = format!("{}, cut", self.name);
        let typed = field::value(ui, place, &name, &shown, "")?;
        if typed.trim().eq_ignore_ascii_case("all") {
            return Some(self.range.0);
        }
        let number = format::parse(typed.trim_start_matches(['≥', '>', '=', ' ', '\u{202F}']));
        if number.is_none() {
            let sentence = format!("{}: “{}” is not a number", self.name, typed.trim());
            notice::show_at(ui, place, sentence);
        }
        number.map(|v| v as f32).filter(|v| v.is_finite())
    }
}
