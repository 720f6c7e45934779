//! Colour bars at the edge of a view, one below the other, each under its name. As many are drawn as fit without
//! covering text or much of the picture.

use super::annotations::{Ground, on};
use super::legend::Legend;
use crate::data::appearance::ColourMap;
use crate::state::core::display::STALE_OPACITY;
use crate::ui::theme::{self, size};
use crate::ui::widgets::paint;
use egui::{Align2, Color32, FontId, Painter, Pos2, Rangef, Rect, Shape, pos2, vec2};

/// Space above and below a colour bar that has an edge to itself, for the orientation letters.
const ALONE: f32 = 31.0;
/// Above and below each of several colour bars, and between a bar and other text.
const SHARED: f32 = 8.0;
const WIDTH: f32 = 8.0;
const TALLEST: f32 = 140.0;
/// Largest height of each bar where a view has several.
const TALLEST_OF_SEVERAL: f32 = 100.0;
const SHORTEST: f32 = 40.0;
/// Distance from the view's edge to the bar's middle.
const EDGE: f32 = 16.0;
/// Between a bar and its figures.
const TEXT_GAP: f32 = 8.0;
/// Width of a column but for its figures.
const AROUND: f32 = 38.0;
/// Height of the name, and the space between it and the bar.
const NAME: f32 = 14.0;
const BELOW_NAME: f32 = 4.0;
/// From a bar's end to the middle of its figure.
const FIGURE: f32 = 6.0;
/// Width of the shade around a bar, and the least distance to other text.
const RIM: f32 = 4.0;
/// Several bars cover at most this share of the picture; fewer are shown otherwise.
const MAXIMUM_COVERED_SHARE: f32 = 0.12;

/// Where bars may stand.
pub struct Column<'a> {
    pub area: Rect,
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
    /// The name, the higher and the lower figure, each with its place.
    texts: [(Rect, String); 3],
    colour_map: ColourMap,
    /// Fraction of its opacity: a bar of stale values is as dim as these.
    strength: f32,
}

impl BarPlace {
    /// The parts of the picture that it hides.
    fn hidden(&self) -> impl Iterator<Item = Rect> {
        let [name, high, low] = &self.texts;
        [self.bar.expand(RIM), name.0, high.0, low.0].into_iter()
    }

    fn area(&self) -> f32 {
        self.hidden().map(|rect| rect.area()).sum()
    }
}

/// The bars that were painted.
#[derive(Default)]
pub struct PaintedBars {
    /// The places of the bars and of their text.
    pub plates: Vec<Rect>,
    /// Where the last one says that others are missing, and which.
    pub missing: Option<(Rect, String)>,
}

/// Paints the colour bars among these legends. Where there is room for some of them alone, the last one says how many
/// are missing.
pub fn show(painter: &Painter, column: &Column, legends: &[&Legend]) -> PaintedBars {
    let is_bar = |legend: &&&Legend| matches!(legend, Legend::Bar { .. });
    let bars: Vec<&Legend> = legends.iter().filter(is_bar).copied().collect();
    let mut attempts = (1..=bars.len()).rev();
    let placed = attempts.find_map(|shown| column.place_all(painter, &bars, shown));
    let placed = placed.unwrap_or_default();
    for bar in &placed {
        column.paint(painter, bar);
    }
    let missing: Vec<String> = bars[placed.len()..]
        .iter()
        .filter_map(|l| l.sentence())
        .collect();
    let last = placed.last().filter(|_| !missing.is_empty());
    PaintedBars {
        plates: placed.iter().flat_map(BarPlace::hidden).collect(),
        missing: last.map(|last| (last.texts[0].0, missing.join("; "))),
    }
}

impl Column<'_> {
    fn font() -> FontId {
        theme::regular(size::CAPTION)
    }

    fn align(&self) -> Align2 {
        match self.at_left {
            true => Align2::LEFT_CENTER,
            false => Align2::RIGHT_CENTER,
        }
    }

    /// Places the first `shown` bars; `None` if one of them has no room, or if several hide too much.
    fn place_all(
        &self,
        painter: &Painter,
        bars: &[&Legend],
        shown: usize,
    ) -> Option<Vec<BarPlace>> {
        let (away, tallest) = match bars.len() > 1 {
            true => (SHARED, TALLEST_OF_SEVERAL),
            false => (ALONE, TALLEST),
        };
        // Several stand together, not spread over the edge.
        let whole = NAME + BELOW_NAME + tallest + 2.0 * (FIGURE + away);
        let share = self.area.height() / shown as f32;
        let height = match bars.len() > 1 {
            true => share.min(whole),
            false => share,
        };
        let missing = bars.len() - shown;
        let place = |(i, legend): (usize, &&Legend)| {
            let top = self.area.top() + height * i as f32;
            let range = Rangef::new(top + away, top + height - away);
            let is_last = i + 1 == shown;
            let missing = if is_last { missing } else { 0 };
            self.place(painter, legend, (range, tallest), missing)
        };
        let placed = bars.iter().take(shown).enumerate().map(place);
        let placed: Vec<BarPlace> = placed.collect::<Option<_>>()?;
        let hidden: f32 = placed.iter().map(BarPlace::area).sum();
        (shown == 1 || hidden <= MAXIMUM_COVERED_SHARE * self.area.area()).then_some(placed)
    }

    /// Places one bar within a range of heights, clear of the texts there; `missing`: number of bars that do not fit.
    fn place(
        &self,
        painter: &Painter,
        legend: &Legend,
        (mut range, tallest): (Rangef, f32),
        missing: usize,
    ) -> Option<BarPlace> {
        let Legend::Bar {
            name,
            low,
            high,
            colour_map,
            is_stale,
        } = legend
        else {
            return None;
        };
        let size = |text: &str| {
            let galley = painter.layout_no_wrap(text.to_owned(), Self::font(), self.ink);
            galley.size()
        };
        // The text keeps the same distance from the other edge as the bar from its own.
        let free = self.area.width() - 2.0 * EDGE + WIDTH;
        // The number of missing bars is written in full, however long the name is.
        let more = match missing {
            0 => String::new(),
            missing => format!(", {missing} more"),
        };
        let name = paint::elided(painter, name, Self::font(), free - size(&more).x - 1.0) + &more;
        let sizes = [size(&name), size(high), size(low)];
        if sizes[1].x.max(sizes[2].x) > self.area.width() - AROUND {
            return None;
        }
        let (x, direction) = match self.at_left {
            true => (self.area.left() + EDGE, 1.0),
            false => (self.area.right() - EDGE, -1.0),
        };
        // Each pass moves the bar away from a text that it would cover.
        for _ in 0..=self.taken.len() {
            let height = (range.span() - NAME - BELOW_NAME).min(tallest);
            if height < SHORTEST {
                return None;
            }
            let middle = range.center() + 0.5 * (NAME + BELOW_NAME);
            let bar = Rect::from_center_size(pos2(x, middle), vec2(WIDTH, height));
            let align = self.align();
            let place = |at: Pos2, i: usize| align.anchor_size(at, sizes[i]);
            let text_x = x + direction * (0.5 * WIDTH + TEXT_GAP);
            let places = [
                place(
                    pos2(
                        x - direction * 0.5 * WIDTH,
                        bar.top() - BELOW_NAME - 0.5 * NAME,
                    ),
                    0,
                ),
                place(pos2(text_x, bar.top() + FIGURE), 1),
                place(pos2(text_x, bar.bottom() - FIGURE), 2),
            ];
            let whole = places.iter().fold(bar, |all, place| all.union(*place));
            let whole = whole.expand(RIM);
            let Some(hit) = self.taken.iter().find(|t| t.intersects(whole)) else {
                let [a, b, c] = places;
                return Some(BarPlace {
                    bar,
                    texts: [(a, name), (b, high.clone()), (c, low.clone())],
                    colour_map: *colour_map,
                    strength: match is_stale {
                        true => STALE_OPACITY,
                        false => 1.0,
                    },
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
        ground.shade(painter, bar.expand(RIM));
        painter.rect_filled(bar.expand(1.0), 0.0, ground.halo());
        let mut mesh = egui::Mesh::default();
        for step in 0..=STEPS {
            let t = step as f32 / STEPS as f32;
            let [r, g, b] = placed.colour_map.at(t);
            let y = bar.bottom() - t * bar.height();
            let colour = Color32::from_rgb(r, g, b).gamma_multiply(placed.strength);
            mesh.colored_vertex(pos2(bar.left(), y), colour);
            mesh.colored_vertex(pos2(bar.right(), y), colour);
            if step > 0 {
                let at = (2 * step) as u32;
                mesh.add_triangle(at - 2, at - 1, at);
                mesh.add_triangle(at - 1, at, at + 1);
            }
        }
        painter.add(Shape::mesh(mesh));
        let faint = self.ink.gamma_multiply(0.75);
        for ((place, text), colour) in placed.texts.iter().zip([faint, self.ink, self.ink]) {
            let span = (&**text, Self::font(), colour);
            on(painter, place.min, Align2::LEFT_TOP, &[span], ground);
        }
    }
}
