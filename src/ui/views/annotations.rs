//! Text and marks on top of images.

use crate::data::Role;
use crate::state::core::colours::role_rgb;
use crate::ui::theme::{self, IN_VIEW, radius, size};
use crate::ui::widgets::paint::{self, Span};
use egui::{Align2, Color32, Galley, Painter, Pos2, Rect, Shape, Stroke, pos2, vec2};
use std::sync::Arc;

/// Around text that may lie on bright tissue.
const HALO: Color32 = Color32::from_black_alpha(180);
/// Behind labels that belong to a thing in the picture.
const PLATE: Color32 = Color32::from_black_alpha(216);

/// Behind text on an image: grey letters have a contrast of 4.5 over white bone (WCAG 2.1, 1.4.3).
const SHADE: f32 = 0.75;

/// What text stands on.
#[derive(Clone, Copy, Debug)]
pub struct Ground {
    /// The rim around the text has this colour.
    pub colour: Color32,
    /// Behind the text, what is drawn fades into this colour: that of the ground itself, so that a picture without
    /// a ground fades into nothing. `None`: a larger shade lies there.
    pub shade: Option<Color32>,
}

impl Ground {
    /// Of slices.
    pub const BLACK: Self = Self {
        colour: Color32::BLACK,
        shade: Some(Color32::BLACK),
    };

    /// Around text: slices, volumes and streamlines may lie on the ground.
    fn halo(self) -> Color32 {
        self.colour.gamma_multiply(0.6)
    }

    /// Shades what is drawn there.
    pub fn shade(self, painter: &Painter, rect: Rect) {
        if let Some(colour) = self.shade {
            painter.rect_filled(rect, radius::CHIP, colour.gamma_multiply(SHADE));
        }
    }
}

/// Room between text and the end of its shade.
const ROOM: egui::Vec2 = vec2(4.0, 1.0);

/// One line of text with a dark rim on a shade; returns where it is.
pub fn text(painter: &Painter, at: Pos2, align: Align2, spans: &[Span]) -> Rect {
    text_over(painter, at, align, spans, &[])
}

/// The same over rings at these places: where one would run through it, the text has a plate.
pub fn text_over(
    painter: &Painter,
    at: Pos2,
    align: Align2,
    spans: &[Span],
    rings: &[Rect],
) -> Rect {
    let galley = painter.layout_job(paint::line(spans, f32::INFINITY));
    let rect = align.anchor_size(at, galley.size());
    if rings.iter().any(|ring| ring.intersects(rect)) {
        painter.rect_filled(rect.expand2(ROOM), radius::CHIP, PLATE);
    } else {
        Ground::BLACK.shade(painter, rect.expand2(ROOM));
    }
    // Grey text on white tissue needs all of its rim, corners, too.
    rim(painter, rect, &galley, HALO, &CORNERS);
    rimmed(painter, rect, galley, HALO);
    rect
}

/// One line of text on a ground, with a rim of its colour.
pub fn on(painter: &Painter, at: Pos2, align: Align2, spans: &[Span], ground: Ground) -> Rect {
    let galley = painter.layout_job(paint::line(spans, f32::INFINITY));
    let rect = align.anchor_size(at, galley.size());
    ground.shade(painter, rect.expand2(ROOM));
    rimmed(painter, rect, galley, ground.halo());
    rect
}

fn rimmed(painter: &Painter, rect: Rect, galley: Arc<Galley>, halo: Color32) {
    rim(painter, rect, &galley, halo, &SIDES);
    painter.galley(rect.min, galley, Color32::PLACEHOLDER);
}

const SIDES: [(f32, f32); 4] = [(-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0)];
const CORNERS: [(f32, f32); 4] = [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)];

/// The text once at each of these offsets, in one colour.
fn rim(painter: &Painter, rect: Rect, galley: &Arc<Galley>, halo: Color32, at: &[(f32, f32)]) {
    for (x, y) in at {
        let place = rect.min + vec2(*x, *y);
        painter.galley_with_override_text_color(place, galley.clone(), halo);
    }
}

/// The same without a rim, for a canvas that is not black.
pub fn bare(painter: &Painter, at: Pos2, align: Align2, spans: &[Span]) -> Rect {
    let galley = painter.layout_job(paint::line(spans, f32::INFINITY));
    let rect = align.anchor_size(at, galley.size());
    painter.galley(rect.min, galley, Color32::PLACEHOLDER);
    rect
}

/// A label on a dark plate, to the right of a point but inside `within`.
pub fn plate(painter: &Painter, at: Pos2, within: Rect, text: &str, colour: Color32) {
    plate_beside(painter, at, within, text, colour, &mut Vec::new());
}

/// As [`plate`], but moved up or down past what stands there already; joins it.
pub fn plate_beside(
    painter: &Painter,
    at: Pos2,
    within: Rect,
    text: &str,
    colour: Color32,
    taken: &mut Vec<Rect>,
) {
    let label = Label::new(painter, text, colour);
    let corner = pos2(
        at.x.min(within.right() - label.size.x - 2.0)
            .max(within.left() + 2.0),
        (at.y - label.size.y * 0.5).clamp(
            within.top() + 2.0,
            (within.bottom() - label.size.y - 2.0).max(within.top() + 2.0),
        ),
    );
    let rect = clear_of(Rect::from_min_size(corner, label.size), within, taken);
    taken.push(rect);
    label.paint(painter, rect);
}

/// Words on a dark plate that name a thing in the picture.
pub struct Label {
    galley: Arc<Galley>,
    pub size: egui::Vec2,
}

impl Label {
    pub fn new(painter: &Painter, text: &str, colour: Color32) -> Self {
        let (font, colour) = (theme::medium(size::LABEL), on_plate(colour));
        let galley = painter.layout_no_wrap(text.to_owned(), font, colour);
        let size = galley.size() + vec2(12.0, 4.0);
        Self { galley, size }
    }

    pub fn paint(self, painter: &Painter, rect: Rect) {
        painter.rect_filled(rect, radius::CHIP, PLATE);
        painter.galley(rect.min + vec2(6.0, 2.0), self.galley, Color32::PLACEHOLDER);
    }

    /// The free place that touches the thing at `of`: on its right or left, whichever has the lower `cost`, else
    /// below or above it. `None` without one: elsewhere, and nearer to the middle of one of `others`, it would name
    /// something else.
    pub fn place(
        &self,
        of: Rect,
        within: Rect,
        (taken, others): (&[Rect], &[Pos2]),
        cost: impl Fn(&Rect) -> usize,
    ) -> Option<Rect> {
        let (size, middle) = (self.size, of.center());
        // From the thing's middle along a side of it, as far as the label still touches that side.
        let along = |reach: f32| {
            let steps = (reach / STEP) as i32;
            (0..=steps).flat_map(|i| [STEP * i as f32, -STEP * i as f32])
        };
        let (high, wide) = (
            0.5 * (of.height() + size.y) - STEP,
            0.5 * (of.width() + size.x) - STEP,
        );
        let at = |centre: Pos2| Rect::from_center_size(centre, size);
        let level = |x: f32| along(high).map(move |y| at(pos2(x, middle.y + y)));
        let above = |y: f32| along(wide).map(move |x| at(pos2(middle.x + x, y)));
        let within = within.shrink(2.0);
        let free = |place: &Rect| {
            let own = place.distance_to_pos(middle) - STEP;
            within.contains_rect(*place)
                && others.iter().all(|at| own <= place.distance_to_pos(*at))
                && !taken.iter().any(|t| t.shrink(0.5).intersects(*place))
        };
        let sides = [of.right() + 0.5 * size.x, of.left() - 0.5 * size.x];
        let sides = sides.map(|x| level(x).find(&free));
        let ends = [of.bottom() + 0.5 * size.y, of.top() - 0.5 * size.y];
        let ends = ends.into_iter().filter_map(|y| above(y).find(&free));
        let side = sides.into_iter().flatten().min_by_key(cost);
        side.or_else(|| ends.into_iter().next())
    }
}

/// How far a label moves past what stands at its place, points.
const STEP: f32 = 4.0;

/// A colour that can be read on a plate: a dark blue comes lighter, in its own hue.
fn on_plate(colour: Color32) -> Color32 {
    /// The lightest that a plate becomes over white.
    const GROUND: f32 = 0.02;
    /// WCAG 2.1, 1.4.3.
    const CONTRAST: f32 = 4.5;
    let luminance = |c: Color32| {
        let [r, g, b, _] = egui::Rgba::from(c).to_array();
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let lighter = (0..=10).map(|i| colour.lerp_to_gamma(Color32::WHITE, 0.1 * i as f32));
    let reads = |c: &Color32| luminance(*c) + 0.05 >= CONTRAST * (GROUND + 0.05);
    lighter.into_iter().find(reads).unwrap_or(Color32::WHITE)
}

/// The nearest place above or below that nothing has taken; where there is none, the place itself.
pub fn clear_of(rect: Rect, within: Rect, taken: &[Rect]) -> Rect {
    let shifts = (0..=24).flat_map(|i| [STEP * i as f32, -STEP * i as f32]);
    let free = |moved: &Rect| {
        within.contains_rect(*moved) && !taken.iter().any(|t| t.shrink(0.5).intersects(*moved))
    };
    let moved = shifts.map(|y| rect.translate(vec2(0.0, y)));
    moved.into_iter().find(free).unwrap_or(rect)
}

/// Handles move outwards between these distances from a region's middle, points.
const SMALL: f32 = 18.0;
const SMALLER: f32 = 10.0;
/// Half of a handle, with its rim.
const HANDLE: f32 = 3.75;
/// From the outline of a small region to the middle of a handle: all of the ring stays in sight.
const OUTSIDE: f32 = HANDLE + 2.0;
/// Nearer to the middle of a region handles would lie over each other.
const NEAREST: f32 = 8.5;

/// A circle as a closed line, for dashes.
pub fn circle_points(centre: Pos2, radius: f32) -> Vec<Pos2> {
    let point = |i: usize| {
        let angle = i as f32 / 64.0 * std::f32::consts::TAU;
        centre + radius * vec2(angle.cos(), angle.sin())
    };
    (0..=64).map(point).collect()
}

/// The squares by which a region is resized, given the ends of its outline: on it, or outside a small one, which
/// they would hide.
fn handle_places(ends: [Pos2; 4]) -> [Rect; 4] {
    let middle = ends[0] + (ends[2] - ends[0]) * 0.5;
    ends.map(|end| {
        let (way, reach) = ((end - middle).normalized(), end.distance(middle));
        let small = ((SMALL - reach) / (SMALL - SMALLER)).clamp(0.0, 1.0);
        let outside = (reach + OUTSIDE).max(NEAREST) - reach;
        let centre = middle + way * (reach + outside * small);
        Rect::from_center_size(centre, egui::Vec2::splat(2.0 * HANDLE))
    })
}

/// Paints them in white.
pub fn handles(painter: &Painter, ends: [Pos2; 4]) {
    for rect in handle_places(ends) {
        painter.rect_filled(rect, 0.0, HALO);
        painter.rect_filled(rect.shrink(0.75), 0.0, Color32::WHITE);
    }
}

/// Which of them is at a position.
pub fn handle_at(ends: [Pos2; 4], at: Pos2) -> Option<usize> {
    handle_places(ends)
        .iter()
        .position(|rect| rect.contains(at))
}

/// Above and below a colour bar that has an edge to itself: other words stand there.
pub const ALONE: f32 = 40.0;
/// Between colour bars that share an edge.
pub const SHARED: f32 = 8.0;

/// A colour bar 8 × 140 with its ends and its name, at the right edge of a pane, or at its left one, so far from the
/// pane's top and bottom; returns where each of these is: nothing where there is no room.
pub fn colour_bar(
    painter: &Painter,
    (pane, at_left, away): (Rect, bool, f32),
    (ink, ground): (Color32, Ground),
    (low, name, high): (&str, &str, &str),
    colour: impl Fn(f32) -> [u8; 3],
) -> Vec<Rect> {
    const STEPS: usize = 64;
    let height = 140f32.min(pane.height() - 2.0 * away);
    if height < 40.0 {
        return Vec::new();
    }
    let font = theme::regular(size::CAPTION);
    let width = |text: &str| {
        let galley = painter.layout_no_wrap(text.to_owned(), font.clone(), ink);
        galley.size().x
    };
    let widest = [low, name, high].map(width).into_iter().fold(0.0, f32::max);
    if pane.width() < widest + 38.0 {
        return Vec::new();
    }
    let x = match at_left {
        true => pane.left() + 16.0,
        false => pane.right() - 16.0,
    };
    let bar = Rect::from_center_size(pos2(x, pane.center().y), vec2(8.0, height));
    let mut mesh = egui::Mesh::default();
    for step in 0..=STEPS {
        let t = step as f32 / STEPS as f32;
        let [r, g, b] = colour(t);
        let y = bar.bottom() - t * bar.height();
        mesh.colored_vertex(pos2(bar.left(), y), Color32::from_rgb(r, g, b));
        mesh.colored_vertex(pos2(bar.right(), y), Color32::from_rgb(r, g, b));
        if step > 0 {
            let at = (2 * step) as u32;
            mesh.add_triangle(at - 2, at - 1, at);
            mesh.add_triangle(at - 1, at, at + 1);
        }
    }
    let (x, align) = match at_left {
        true => (bar.right() + 8.0, Align2::LEFT_CENTER),
        false => (bar.left() - 8.0, Align2::RIGHT_CENTER),
    };
    let text = align.anchor_size(pos2(x, bar.center().y), vec2(widest, bar.height()));
    ground.shade(painter, bar.union(text).expand2(vec2(4.0, 4.0)));
    painter.rect_filled(bar.expand(1.0), 0.0, ground.halo());
    painter.add(Shape::mesh(mesh));
    // One shade lies behind all of it.
    let ground = Ground {
        shade: None,
        ..ground
    };
    let label = |y: f32, text: &str, colour: Color32| {
        let span = (text, font.clone(), colour);
        on(painter, pos2(x, y), align, &[span], ground)
    };
    let high = label(bar.top() + 6.0, high, ink);
    let name = label(bar.center().y, name, ink.gamma_multiply(0.75));
    let low = label(bar.bottom() - 6.0, low, ink);
    vec![bar, high, name, low]
}

/// Width and height of [`dec_legend`].
pub const DEC_LEGEND: egui::Vec2 = vec2(44.0, 46.0);

/// What the colours of a direction-encoded image mean; at the top right, or the nearest place below that no
/// words have taken, in colours for this ground. Returns where it is.
pub fn dec_legend(
    painter: &Painter,
    (right, top): (f32, f32),
    (within, taken): (Rect, &[Rect]),
    colours: [Color32; 3],
    ground: Ground,
) -> Rect {
    let corner = Rect::from_min_size(pos2(right - DEC_LEGEND.x, top), DEC_LEGEND);
    let place = clear_of(corner, within, taken);
    let (right, top) = (place.right(), place.top());
    ground.shade(painter, place.expand2(ROOM));
    let ground = Ground {
        shade: None,
        ..ground
    };
    for (i, words) in ["R–L", "A–P", "S–I"].into_iter().enumerate() {
        let (colour, y) = (colours[i], top + 8.0 + 15.0 * i as f32);
        let font = theme::semibold(size::CAPTION);
        let left = right - 24.0;
        let span = (words, font, colour);
        on(painter, pos2(left, y), Align2::LEFT_CENTER, &[span], ground);
        let dash = [pos2(left - 20.0, y), pos2(left - 6.0, y)];
        painter.line_segment(dash, Stroke::new(5.0, ground.halo()));
        painter.line_segment(dash, Stroke::new(3.0, colour));
    }
    place
}

/// The tool in hand, as a word beside the pointer.
pub fn tool_word(painter: &Painter, pointer: Pos2, within: Rect, text: &str, colour: Color32) {
    plate(painter, pointer + vec2(14.0, 16.0), within, text, colour);
}

/// The colour of a role's tool.
pub fn role_colour(role: Role) -> Color32 {
    let [r, g, b] = role_rgb(role);
    Color32::from_rgb(r, g, b)
}

pub fn crosshair_rim() -> Stroke {
    Stroke::new(3.0, Color32::from_black_alpha(70))
}

/// The quiet line of the crosshair.
pub fn crosshair_stroke() -> Stroke {
    Stroke::new(1.0, IN_VIEW.t1.gamma_multiply(0.62))
}
