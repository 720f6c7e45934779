//! Text and marks on top of images.

use crate::ui::theme::{self, IN_VIEW, radius, size};
use crate::ui::widgets::paint::{self, Span};
use egui::{Align2, Color32, Galley, Painter, Pos2, Rect, Stroke, pos2, vec2};
use std::sync::Arc;

/// Rim of text that may lie on bright tissue.
const HALO: Color32 = Color32::from_black_alpha(180);
/// Plate of labels that name an object in the picture.
const PLATE: Color32 = Color32::from_black_alpha(216);

/// Shade behind text on an image: grey letters have a contrast of 4.5 over white bone (WCAG 2.1, 1.4.3).
const SHADE: f32 = 0.75;

/// The background of text.
#[derive(Clone, Copy, Debug)]
pub struct Ground {
    /// Colour of the rim around the text.
    pub colour: Color32,
    /// Colour that the picture fades to behind the text: that of the background, so that a picture without one fades to
    /// transparent. `None`: a larger shade already lies there.
    pub shade: Option<Color32>,
}

impl Ground {
    /// The background of slices.
    pub const BLACK: Self = Self {
        colour: Color32::BLACK,
        shade: Some(Color32::BLACK),
    };

    /// Rim of text: slices, volumes and streamlines may lie behind it.
    pub fn halo(self) -> Color32 {
        self.colour.gamma_multiply(0.6)
    }

    /// Shades the picture in this rectangle.
    pub fn shade(self, painter: &Painter, rect: Rect) {
        if let Some(colour) = self.shade {
            painter.rect_filled(rect, radius::CHIP, colour.gamma_multiply(SHADE));
        }
    }
}

/// Space between text and the edge of its shade.
const ROOM: egui::Vec2 = vec2(4.0, 1.0);

/// One line of text with a dark rim on a shade; returns its rectangle.
pub fn text(painter: &Painter, at: Pos2, align: Align2, spans: &[Span]) -> Rect {
    text_over(painter, at, align, spans, &[])
}

/// One line of text over rings at these places: where a ring would cross the text, the text has a plate.
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
    // Grey text on white tissue needs the whole rim, including corners.
    rim(painter, rect, &galley, HALO, &CORNERS);
    rimmed(painter, rect, galley, HALO);
    rect
}

/// One line of text on a background, with a rim of its colour.
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

/// Paints the text at each of these offsets, in one colour.
fn rim(painter: &Painter, rect: Rect, galley: &Arc<Galley>, halo: Color32, at: &[(f32, f32)]) {
    for (x, y) in at {
        let place = rect.min + vec2(*x, *y);
        painter.galley_with_override_text_color(place, galley.clone(), halo);
    }
}

/// One line of text without a rim, for a canvas that is not black.
pub fn bare(painter: &Painter, at: Pos2, align: Align2, spans: &[Span]) -> Rect {
    let galley = painter.layout_job(paint::line(spans, f32::INFINITY));
    let rect = align.anchor_size(at, galley.size());
    painter.galley(rect.min, galley, Color32::PLACEHOLDER);
    rect
}

/// A label on a dark plate, to the right of a point but inside `within`.
pub fn plate(painter: &Painter, at: Pos2, within: Rect, text: &str, colour: Color32) {
    plate_near(painter, at, within, text, colour, &mut Vec::new());
}

/// Like [`plate`], but moved up or down past the rectangles already taken, to which it is added.
pub fn plate_near(
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

/// Text on a dark plate that names an object in the picture.
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

    /// The free place that touches `object`: on its right or left, whichever has the lower `cost`, else below
    /// or above it. `None` if there is none: elsewhere, closer to the centre of one of `others`, it would name another
    /// object.
    pub fn place(
        &self,
        object: Rect,
        within: Rect,
        (taken, others): (&[Rect], &[Pos2]),
        cost: impl Fn(&Rect) -> usize,
    ) -> Option<Rect> {
        let (size, middle) = (self.size, object.center());
        // Offsets along one side from the object's centre, as far as the label still touches that side.
        let along = |reach: f32| {
            let steps = (reach / STEP) as i32;
            (0..=steps).flat_map(|i| [STEP * i as f32, -STEP * i as f32])
        };
        let (high, wide) = (
            0.5 * (object.height() + size.y) - STEP,
            0.5 * (object.width() + size.x) - STEP,
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
        let sides = [object.right() + 0.5 * size.x, object.left() - 0.5 * size.x];
        let sides = sides.map(|x| level(x).find(&free));
        let ends = [object.bottom() + 0.5 * size.y, object.top() - 0.5 * size.y];
        let ends = ends.into_iter().filter_map(|y| above(y).find(&free));
        let side = sides.into_iter().flatten().min_by_key(cost);
        side.or_else(|| ends.into_iter().next())
    }
}

/// Step by which a label moves past what is in its place, points.
const STEP: f32 = 4.0;

/// The colour made legible on a plate: a dark blue is lightened without changing its hue.
fn on_plate(colour: Color32) -> Color32 {
    /// Luminance of a plate over white, its lightest.
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

/// The nearest free place above or below; if there is none, the original place.
fn clear_of(rect: Rect, within: Rect, taken: &[Rect]) -> Rect {
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
/// Half the size of a handle, with its rim.
const HANDLE: f32 = 3.75;
/// Distance from the outline of a small region to the centre of a handle: the whole ring stays visible.
const OUTSIDE: f32 = HANDLE + 2.0;
/// Closer to the centre of a region, handles would overlap.
const NEAREST: f32 = 8.5;

/// A circle as a closed line, for dashes.
pub fn circle_points(centre: Pos2, radius: f32) -> Vec<Pos2> {
    let point = |i: usize| {
        let angle = i as f32 / 64.0 * std::f32::consts::TAU;
        centre + radius * vec2(angle.cos(), angle.sin())
    };
    (0..=64).map(point).collect()
}

/// The squares by which a region is resized, given the ends of its outline: on it, or outside a small one, which they
/// would hide.
fn handle_places(ends: [Pos2; 4]) -> [Rect; 4] {
    let middle = ends[0] + (ends[2] - ends[0]) * 0.5;
    ends.map(|end| {
        let (direction, reach) = ((end - middle).normalized(), end.distance(middle));
        let small = ((SMALL - reach) / (SMALL - SMALLER)).clamp(0.0, 1.0);
        let outside = (reach + OUTSIDE).max(NEAREST) - reach;
        let centre = middle + direction * (reach + outside * small);
        Rect::from_center_size(centre, egui::Vec2::splat(2.0 * HANDLE))
    })
}

/// Paints the handles in white.
pub fn handles(painter: &Painter, ends: [Pos2; 4]) {
    for rect in handle_places(ends) {
        painter.rect_filled(rect, 0.0, HALO);
        painter.rect_filled(rect.shrink(0.75), 0.0, Color32::WHITE);
    }
}

/// The handle at a position.
pub fn handle_at(ends: [Pos2; 4], at: Pos2) -> Option<usize> {
    handle_places(ends)
        .iter()
        .position(|rect| rect.contains(at))
}

/// Width and height of [`dec_legend`].
pub const DEC_LEGEND: egui::Vec2 = vec2(44.0, 46.0);

/// The legend of a direction-encoded image, at the top right or the nearest place below that no text has taken, in
/// colours for this background. Returns its rectangle.
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
    for (i, letters) in ["R–L", "A–P", "S–I"].into_iter().enumerate() {
        let (colour, y) = (colours[i], top + 8.0 + 15.0 * i as f32);
        let font = theme::semibold(size::CAPTION);
        let left = right - 24.0;
        let span = (letters, font, colour);
        on(painter, pos2(left, y), Align2::LEFT_CENTER, &[span], ground);
        let dash = [pos2(left - 20.0, y), pos2(left - 6.0, y)];
        painter.line_segment(dash, Stroke::new(5.0, ground.halo()));
        painter.line_segment(dash, Stroke::new(3.0, colour));
    }
    place
}

/// The active tool as a text next to the pointer.
pub fn tool_text(painter: &Painter, pointer: Pos2, within: Rect, text: &str, colour: Color32) {
    plate(painter, pointer + vec2(14.0, 16.0), within, text, colour);
}

/// The active tool as a text next to the pointer, clear of the rectangles taken so far; adds its own.
pub fn label_at_pointer(
    painter: &Painter,
    pointer: Pos2,
    (within, taken): (Rect, &mut Vec<Rect>),
    text: &str,
    colour: Color32,
) {
    let at = pointer + vec2(14.0, 16.0);
    plate_near(painter, at, within, text, colour, taken);
}

pub fn crosshair_rim() -> Stroke {
    Stroke::new(3.0, Color32::from_black_alpha(70))
}

/// Stroke of the crosshair's thin line.
pub fn crosshair_stroke() -> Stroke {
    Stroke::new(1.0, IN_VIEW.t1.gamma_multiply(0.62))
}
