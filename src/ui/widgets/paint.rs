//! Text and shapes at exact places.

use super::super::theme::{self, Palette};
use super::focus;
use egui::epaint::RectShape;
use egui::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{
    Align2, Color32, CornerRadius, FontId, Galley, Painter, Pos2, Rect, Response, Stroke,
    StrokeKind, TextureId, Ui, Vec2, pos2, vec2,
};
use std::sync::Arc;

/// A piece of a line of text.
pub type Span<'a> = (&'a str, FontId, Color32);

/// One line of differently styled pieces, cut with an ellipsis at `max_width`.
pub fn line(spans: &[Span], max_width: f32) -> LayoutJob {
    let mut job = LayoutJob {
        wrap: TextWrapping {
            max_width,
            max_rows: 1,
            break_anywhere: true,
            overflow_character: Some('…'),
        },
        ..LayoutJob::default()
    };
    for (text, font, colour) in spans {
        let format = TextFormat {
            valign: egui::Align::Center,
            ..TextFormat::simple(font.clone(), *colour)
        };
        job.append(text, 0.0, format);
    }
    job
}

/// Paints one line inside a rectangle, centred vertically; returns its rectangle.
pub fn spans(painter: &Painter, rect: Rect, align: Align2, spans: &[Span]) -> Rect {
    let galley = painter.layout_job(line(spans, rect.width()));
    let placed = align.align_size_within_rect(galley.size(), rect);
    painter.galley(placed.min, galley, Color32::PLACEHOLDER);
    placed
}

pub fn left(painter: &Painter, rect: Rect, text: &str, font: FontId, colour: Color32) -> Rect {
    spans(painter, rect, Align2::LEFT_CENTER, &[(text, font, colour)])
}

/// A name on the left, shortened in the middle if it is too long, because names often differ only at their ends.
pub fn name(painter: &Painter, rect: Rect, text: &str, font: FontId, colour: Color32) -> Rect {
    let text = elided(painter, text, font.clone(), rect.width());
    left(painter, rect, &text, font, colour)
}

/// A name in as many lines as the rectangle is high, broken anywhere; shortened in the middle only if these are too few.
pub fn name_in_lines(
    painter: &Painter,
    rect: Rect,
    text: &str,
    font: FontId,
    colour: Color32,
) -> Rect {
    /// Share of a line that a break leaves in use at least: a letter less, at the widths of the panels.
    const FILLED: f32 = 0.92;
    let height = line_height(font.size);
    let lines = (rect.height() / height).floor().max(1.0);
    let room = match lines {
        1.0 => rect.width(),
        _ => lines * FILLED * rect.width(),
    };
    let text = elided(painter, text, font.clone(), room);
    let mut job = LayoutJob::simple(text, font, colour, rect.width());
    job.wrap.max_rows = lines as usize;
    job.wrap.break_anywhere = true;
    for section in &mut job.sections {
        section.format.line_height = Some(height);
    }
    let galley = painter.layout_job(job);
    let placed = Align2::LEFT_CENTER.align_size_within_rect(galley.size(), rect);
    painter.galley(placed.min, galley, colour);
    placed
}

/// `sub-Control…ollow_dwi`: as much of both ends as fits a width, slightly more of the first: anatomical names differ
/// after the side, as in Left-Cerebral and Left-Cerebellum.
pub fn elided(painter: &Painter, text: &str, font: FontId, width: f32) -> String {
    let measured = |text: &str| {
        let galley = painter.layout_no_wrap(text.to_owned(), font.clone(), Color32::PLACEHOLDER);
        galley.size().x
    };
    if measured(text) <= width {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let cut = |kept: usize| -> String {
        let first = (kept * 3).div_ceil(5);
        let head = letters.iter().take(first);
        let tail = letters.iter().skip(letters.len() - (kept - first));
        head.chain(['…'].iter()).chain(tail).collect()
    };
    let (mut fits, mut too_many) = (1, letters.len());
    while fits + 1 < too_many {
        let kept = (fits + too_many) / 2;
        match measured(&cut(kept)) <= width {
            true => fits = kept,
            false => too_many = kept,
        }
    }
    cut(fits)
}

pub fn right(painter: &Painter, rect: Rect, text: &str, font: FontId, colour: Color32) -> Rect {
    spans(painter, rect, Align2::RIGHT_CENTER, &[(text, font, colour)])
}

pub fn centre(painter: &Painter, rect: Rect, text: &str, font: FontId, colour: Color32) -> Rect {
    spans(
        painter,
        rect,
        Align2::CENTER_CENTER,
        &[(text, font, colour)],
    )
}

/// Width of a line of text.
pub fn width(ui: &Ui, text: &str, font: FontId) -> f32 {
    ui.painter()
        .layout_no_wrap(text.to_owned(), font, Color32::PLACEHOLDER)
        .size()
        .x
}

/// A texture in a frame with round corners.
pub fn picture(painter: &Painter, place: Rect, texture: TextureId, round: impl Into<CornerRadius>) {
    let uv = Rect::from_min_max(Pos2::ZERO, pos2(1.0, 1.0));
    let shape = RectShape::filled(place, round, Color32::WHITE);
    painter.add(shape.with_texture(texture, uv));
}

/// An icon centred on a point.
pub fn icon(painter: &Painter, centre: Pos2, icon: &str, size: f32, colour: Color32) {
    painter.text(
        centre,
        Align2::CENTER_CENTER,
        icon,
        theme::icons(size),
        colour,
    );
}

/// Text in lines of at most `width`, laid out and not yet drawn.
pub fn wrapped(
    painter: &Painter,
    width: f32,
    text: &str,
    font: FontId,
    colour: Color32,
) -> Arc<Galley> {
    let mut job = LayoutJob::simple(text.to_owned(), font.clone(), colour, width);
    for section in &mut job.sections {
        section.format.line_height = Some(line_height(font.size));
    }
    painter.layout_job(job)
}

/// Wrapped text from a top-left corner; returns its rectangle.
pub fn paragraph(
    painter: &Painter,
    at: Pos2,
    width: f32,
    text: &str,
    font: FontId,
    colour: Color32,
) -> Rect {
    let galley = wrapped(painter, width, text, font, colour);
    let rect = Rect::from_min_size(at, galley.size());
    painter.galley(at, galley, colour);
    rect
}

/// Text to be wrapped: a number and its unit, and both sides of an equation, stay on one line. egui breaks lines at
/// every space but U+00A0.
pub fn unbroken(text: &str) -> String {
    text.replace('\u{202F}', "\u{A0}")
        .replace(" = ", "\u{A0}=\u{A0}")
}

/// Distance between baselines for a type size.
pub fn line_height(size: f32) -> f32 {
    if size >= theme::size::TITLE {
        32.0
    } else if size >= theme::size::BODY {
        18.0
    } else if size >= theme::size::LABEL {
        16.0
    } else {
        14.0
    }
}

/// A horizontal line of one pixel along the bottom of a rectangle.
pub fn underline(painter: &Painter, rect: Rect, colour: Color32) {
    let y = rect.bottom() - 0.5;
    painter.hline(rect.x_range(), y, Stroke::new(1.0, colour));
}

/// The ring around the widget that has the keyboard focus.
pub fn focus_ring(painter: &Painter, p: &Palette, response: &Response, rect: Rect, radius: u8) {
    if focus::has_ring(response) {
        let stroke = Stroke::new(1.0, p.accent);
        painter.rect_stroke(rect, radius, stroke, StrokeKind::Inside);
        focus::into_sight(response);
    }
}

/// A filled field with its border.
pub fn field(painter: &Painter, p: &Palette, rect: Rect, fill: Color32) {
    let stroke = Stroke::new(1.0, p.field_line);
    painter.rect(
        rect,
        theme::radius::CONTROL,
        fill,
        stroke,
        StrokeKind::Inside,
    );
}

/// A rectangle of this size at the right end of another, centred vertically.
pub fn at_right(rect: Rect, size: Vec2) -> Rect {
    Rect::from_center_size(pos2(rect.right() - size.x * 0.5, rect.center().y), size)
}

/// A rectangle of this size at the left end of another, centred vertically.
pub fn at_left(rect: Rect, size: Vec2) -> Rect {
    Rect::from_center_size(pos2(rect.left() + size.x * 0.5, rect.center().y), size)
}

/// The rectangle reduced by these insets on the left and the right.
pub fn inset(rect: Rect, left: f32, right: f32) -> Rect {
    Rect::from_min_max(rect.min + vec2(left, 0.0), rect.max - vec2(right, 0.0))
}

/// The logo: three quarter arcs around the lower right corner.
pub fn logo(painter: &Painter, rect: Rect, colour: Color32) {
    let side = rect.width().min(rect.height());
    let centre = rect.right_bottom();
    for share in [0.36, 0.66, 0.96] {
        let radius = side * share;
        let arc = (0..=24).map(|i| {
            let angle = std::f32::consts::PI + i as f32 / 24.0 * std::f32::consts::FRAC_PI_2;
            centre + radius * vec2(angle.cos(), angle.sin())
        });
        let stroke = Stroke::new(side * 0.115, colour);
        painter.add(egui::Shape::line(arc.collect(), stroke));
    }
}

/// A dashed rectangle with round corners.
pub fn dashed_round(
    painter: &Painter,
    rect: Rect,
    radius: f32,
    stroke: Stroke,
    dash: f32,
    gap: f32,
) {
    use std::f32::consts::FRAC_PI_2;
    let corners = [
        (rect.right_top() + vec2(-radius, radius), 3.0),
        (rect.right_bottom() + vec2(-radius, -radius), 0.0),
        (rect.left_bottom() + vec2(radius, -radius), 1.0),
        (rect.left_top() + vec2(radius, radius), 2.0),
    ];
    let mut points = Vec::new();
    for (centre, quarter) in corners {
        for i in 0..=6 {
            let angle = (quarter + i as f32 / 6.0) * FRAC_PI_2;
            points.push(centre + radius * vec2(angle.cos(), angle.sin()));
        }
    }
    points.extend(points.first().copied());
    painter.extend(egui::Shape::dashed_line(&points, stroke, dash, gap));
}
