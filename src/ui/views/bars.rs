//! Colour bars at the edge of a view, one below the other: as many as fit without covering the texts there.

use super::annotations::{Ground, on};
use super::legend::Legend;
use crate::data::appearance::ColourMap;
use crate::ui::theme::{self, size};
use crate::ui::widgets::paint;
use egui::{Align2, Color32, FontId, Painter, Rangef, Rect, Shape, pos2, vec2};

/// Above and below a colour bar that has an edge to itself: letters of the view stand there.
const ALONE: f32 = 40.0;
/// Above and below each of several colour bars, and between a bar and other words.
const SHARED: f32 = 8.0;
const WIDTH: f32 = 8.0;
const TALLEST: f32 = 140.0;
const SHORTEST: f32 = 40.0;
/// Distance from the view's edge to the bar's middle.
const EDGE: f32 = 16.0;
/// Distance between a bar and its texts.
const BESIDE: f32 = 8.0;
/// Width of a column but for its words.
const AROUND: f32 = 38.0;
/// Distance from the outermost mark to the end of the plate.
const RIM: f32 = 4.0;

/// Where bars may stand.
pub struct Column<'a> {
    pub within: Rect,
    /// At the left edge, else at the right one.
    pub at_left: bool,
    pub ink: Color32,
    pub ground: Ground,
    /// Words that a bar's plate must not cover.
    pub taken: &'a [Rect],
}

/// A bar that has found its place.
struct BarPlace {
    bar: Rect,
    plate: Rect,
    low: String,
    name: String,
    high: String,
    colour_map: ColourMap,
}

/// Paints the colour bars among these legends. Where only some of them fit, the last one says how many are missing.
/// Returns the plate of each.
pub fn show(painter: &Painter, column: &Column, legends: &[&Legend]) -> Vec<Rect> {
    let is_bar = |legend: &&&Legend| matches!(legend, Legend::Bar { .. });
    let bars: Vec<&Legend> = legends.iter().filter(is_bar).copied().collect();
    let mut attempts = (1..=bars.len()).rev();
    let placed = attempts.find_map(|shown| column.place_all(painter, &bars, shown));
    let placed = placed.unwrap_or_default();
    for one in &placed {
        column.paint(painter, one);
    }
    placed.into_iter().map(|one| one.plate).collect()
}

impl Column<'_> {
    fn font() -> FontId {
        theme::regular(size::CAPTION)
    }

    /// Places the first `shown` bars; `None` if one of them does not fit.
    fn place_all(
        &self,
        painter: &Painter,
        bars: &[&Legend],
        shown: usize,
    ) -> Option<Vec<BarPlace>> {
        let away = if bars.len() > 1 { SHARED } else { ALONE };
        let height = self.within.height() / shown as f32;
        let missing = bars.len() - shown;
        let place = |(i, legend): (usize, &&Legend)| {
            let top = self.within.top() + height * i as f32;
            let range = Rangef::new(top + away, top + height - away);
            let is_last = i + 1 == shown;
            self.place(painter, legend, range, if is_last { missing } else { 0 })
        };
        bars.iter().take(shown).enumerate().map(place).collect()
    }

    /// Places one bar within a range of heights, clear of the texts there; `missing`: number of bars that do not fit.
    fn place(
        &self,
        painter: &Painter,
        legend: &Legend,
        mut range: Rangef,
        missing: usize,
    ) -> Option<BarPlace> {
        let Legend::Bar {
            name,
            low,
            high,
            colour_map,
        } = legend
        else {
            return None;
        };
        let free = self.within.width() - AROUND;
        let width = |text: &str| {
            let galley = painter.layout_no_wrap(text.to_owned(), Self::font(), self.ink);
            galley.size().x
        };
        // The number of missing bars is written in full, however long the name is.
        let more = match missing {
            0 => String::new(),
            missing => format!(", {missing} more"),
        };
        let name = paint::elided(painter, name, Self::font(), free - width(&more) - 1.0) + &more;
        let widest = [low, &name, high].map(|text| width(text));
        let widest = widest.into_iter().fold(0.0, f32::max);
        if widest > free {
            return None;
        }
        let (x, direction) = match self.at_left {
            true => (self.within.left() + EDGE, 1.0),
            false => (self.within.right() - EDGE, -1.0),
        };
        // Each pass moves the bar away from a text that it would cover.
        for _ in 0..=self.taken.len() {
            let height = range.span().min(TALLEST);
            if height < SHORTEST {
                return None;
            }
            let size = vec2(WIDTH, height);
            let bar = Rect::from_center_size(pos2(x, range.center()), size);
            let end = x + direction * (0.5 * WIDTH + BESIDE + widest);
            let plate = bar.union(bar.with_min_x(end.min(x)).with_max_x(end.max(x)));
            let plate = plate.expand(RIM);
            let Some(hit) = self.taken.iter().find(|t| t.intersects(plate)) else {
                return Some(BarPlace {
                    bar,
                    plate,
                    low: low.clone(),
                    name,
                    high: high.clone(),
                    colour_map: *colour_map,
                });
            };
            match hit.center().y < range.center() {
                true => range.min = hit.bottom() + SHARED,
                false => range.max = hit.top() - SHARED,
            }
        }
        None
    }

    fn paint(&self, painter: &Painter, placed: &BarPlace) {
        const STEPS: usize = 64;
        let (bar, ground) = (placed.bar, self.ground);
        ground.shade(painter, placed.plate);
        painter.rect_filled(bar.expand(1.0), 0.0, ground.halo());
        let mut mesh = egui::Mesh::default();
        for step in 0..=STEPS {
            let t = step as f32 / STEPS as f32;
            let [r, g, b] = placed.colour_map.at(t);
            let y = bar.bottom() - t * bar.height();
            mesh.colored_vertex(pos2(bar.left(), y), Color32::from_rgb(r, g, b));
            mesh.colored_vertex(pos2(bar.right(), y), Color32::from_rgb(r, g, b));
            if step > 0 {
                let at = (2 * step) as u32;
                mesh.add_triangle(at - 2, at - 1, at);
                mesh.add_triangle(at - 1, at, at + 1);
            }
        }
        painter.add(Shape::mesh(mesh));
        // One shade lies behind all of it.
        let ground = Ground {
            shade: None,
            ..ground
        };
        let (x, align) = match self.at_left {
            true => (bar.right() + BESIDE, Align2::LEFT_CENTER),
            false => (bar.left() - BESIDE, Align2::RIGHT_CENTER),
        };
        let faint = self.ink.gamma_multiply(0.75);
        for (y, text, colour) in [
            (bar.top() + 6.0, &placed.high, self.ink),
            (bar.center().y, &placed.name, faint),
            (bar.bottom() - 6.0, &placed.low, self.ink),
        ] {
            let span = (&**text, Self::font(), colour);
            on(painter, pos2(x, y), align, &[span], ground);
        }
    }
}
