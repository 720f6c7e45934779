//! Plots as pictures of pixels, for programs that show no SVG: the same axes and marks, in the font of the window.

use super::{BOTTOM, LEFT, Marks, Plot, RIGHT, SIZE, Sample, TOP};
use crate::io::{Error, png};
use ab_glyph::{Font as _, FontRef, PxScale, ScaleFont as _, point};
use std::path::Path;

const FONT: &[u8] = include_bytes!("../../../../assets/fonts/Inter-Regular.otf");
/// Pixels per unit of the picture: enough for print at a width of 100 mm.
const SCALE: f64 = 2.0;
/// Size of the text, units.
const TEXT: f64 = 13.0;

type Colour = [u8; 3];
/// The colours of the SVG.
const WHITE: Colour = [0xff; 3];
const GRID: Colour = [0xdd; 3];
const AXIS: Colour = [0x66; 3];
const INK: Colour = [0x22; 3];
const MARK: Colour = [0x2f, 0x6f, 0xb5];
const BAND_OPACITY: f64 = 0.22;

/// The point of a text that lies at its position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Middle,
    End,
}

struct Canvas {
    width: usize,
    height: usize,
    rgba: Vec<u8>,
}

impl Canvas {
    fn new() -> Self {
        let [width, height] = [SIZE.0, SIZE.1].map(|side| (side * SCALE) as usize);
        let [r, g, b] = WHITE;
        Self {
            width,
            height,
            rgba: [r, g, b, 0xff].repeat(width * height),
        }
    }

    /// Covers a share of a pixel.
    fn blend(&mut self, x: i64, y: i64, colour: Colour, share: f64) {
        let inside = |at: i64, side: usize| usize::try_from(at).ok().filter(|at| *at < side);
        let (Some(x), Some(y)) = (inside(x, self.width), inside(y, self.height)) else {
            return;
        };
        let at = 4 * (x + y * self.width);
        for (old, new) in self.rgba[at..at + 3].iter_mut().zip(colour) {
            let mixed =
                f64::from(*old) + (f64::from(new) - f64::from(*old)) * share.clamp(0.0, 1.0);
            *old = mixed.round() as u8;
        }
    }

    /// A rectangle, in units of the picture; its edges cover parts of pixels.
    fn rect(&mut self, (x0, x1): (f64, f64), (y0, y1): (f64, f64), colour: Colour, opacity: f64) {
        let pixels = |from: f64, to: f64, side: usize| {
            let (from, to) = (from.max(0.0), to.min(side as f64));
            (from.floor() as i64..to.ceil() as i64).map(move |at| {
                let covered = (at as f64 + 1.0).min(to) - (at as f64).max(from);
                (at, covered.max(0.0))
            })
        };
        for (y, high) in pixels(y0 * SCALE, y1 * SCALE, self.height) {
            for (x, wide) in pixels(x0 * SCALE, x1 * SCALE, self.width) {
                self.blend(x, y, colour, opacity * high * wide);
            }
        }
    }

    /// A line along an axis of the picture, one unit wide.
    fn line(&mut self, (x0, x1): (f64, f64), (y0, y1): (f64, f64), colour: Colour) {
        let half = |from: f64, to: f64| match from == to {
            // On whole pixels, so that it is sharp.
            true => (
                (from * SCALE).round() / SCALE - 0.5,
                (to * SCALE).round() / SCALE + 0.5,
            ),
            false => (from, to),
        };
        self.rect(half(x0, x1), half(y0, y1), colour, 1.0);
    }

    /// A line of text whose baseline begins, ends or has its middle at a position; `turned`: it runs upwards.
    fn text(
        &mut self,
        font: &FontRef,
        (x, y): (f64, f64),
        anchor: Anchor,
        turned: bool,
        text: &str,
    ) {
        let units = f64::from(font.units_per_em().unwrap_or(1000.0));
        let scale = TEXT * SCALE * f64::from(font.height_unscaled()) / units;
        let font = font.as_scaled(PxScale::from(scale as f32));
        let mut end = 0.0;
        let mut before = None;
        let mut glyphs = Vec::new();
        for c in text.chars() {
            let id = font.glyph_id(c);
            end += before.map_or(0.0, |before| font.kern(before, id));
            glyphs.push((id, end));
            end += font.h_advance(id);
            before = Some(id);
        }
        let start = match anchor {
            Anchor::Middle => -0.5 * f64::from(end),
            Anchor::End => -f64::from(end),
        };
        let origin = [x, y].map(|v| (v * SCALE).round() as i64);
        for (id, at) in glyphs {
            let at = point((start + f64::from(at)) as f32, 0.0);
            let glyph = id.with_scale_and_position(font.scale(), at);
            let Some(outline) = font.outline_glyph(glyph) else {
                continue;
            };
            let corner = outline.px_bounds().min;
            outline.draw(|dx, dy, share| {
                let dx = i64::from(dx) + corner.x.floor() as i64;
                let dy = i64::from(dy) + corner.y.floor() as i64;
                let (px, py) = match turned {
                    true => (origin[0] + dy, origin[1] - dx - 1),
                    false => (origin[0] + dx, origin[1] + dy),
                };
                self.blend(px, py, INK, f64::from(share));
            });
        }
    }

    /// Marks between two positions of each column of pixels; `ends` gives them at a horizontal position in units.
    fn columns(
        &mut self,
        (from, to): (f64, f64),
        colour: Colour,
        opacity: f64,
        ends: impl Fn(f64) -> (f64, f64),
    ) {
        let (first, last) = ((from * SCALE).floor() as i64, (to * SCALE).ceil() as i64);
        for x in first..last {
            let [left, right] = [x, x + 1].map(|x| (x as f64 / SCALE).clamp(from, to));
            let (a, b) = (ends(left), ends(right));
            let (top, bottom) = (a.0.min(b.0), a.1.max(b.1));
            self.rect((left, right), (top, bottom), colour, opacity);
        }
    }
}

/// The value between the samples around a position.
fn between(samples: &[Sample], x: f64, value: impl Fn(&Sample) -> f64) -> f64 {
    let after = samples.partition_point(|s| s.x < x);
    let (before, after) = (after.saturating_sub(1), after.min(samples.len() - 1));
    let (a, b) = (&samples[before], &samples[after]);
    let share = match b.x > a.x {
        true => ((x - a.x) / (b.x - a.x)).clamp(0.0, 1.0),
        false => 0.0,
    };
    value(a) + share * (value(b) - value(a))
}

impl Plot {
    /// Size in pixels and the four bytes of each, rows from the top; `None` if the font cannot be read, which is a fault of
    /// the program.
    pub fn pixels(&self) -> Option<([u32; 2], Vec<u8>)> {
        let font = FontRef::try_from_slice(FONT).ok()?;
        let mut canvas = Canvas::new();
        let (width, height) = SIZE;
        let (across, bottom) = ((LEFT, width - RIGHT), height - BOTTOM);
        let (x, y) = self.axes();
        for (value, text) in y.ticks() {
            let at = y.at(value);
            canvas.line(across, (at, at), GRID);
            canvas.text(&font, (LEFT - 8.0, at + 4.0), Anchor::End, false, &text);
        }
        for (value, text) in x.ticks() {
            let at = x.at(value);
            canvas.line((at, at), (bottom, bottom + 4.0), AXIS);
            canvas.text(&font, (at, bottom + 18.0), Anchor::Middle, false, &text);
        }
        match &self.marks {
            Marks::Bars { range, counts } => {
                let wide = (range.1 - range.0) / counts.len().max(1) as f64;
                for (i, n) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
                    let [from, to] = [i, i + 1].map(|i| x.at(range.0 + i as f64 * wide));
                    let to = (to - 1.0).max(from + 0.5);
                    canvas.rect((from, to), (y.at(*n as f64), y.at(0.0)), MARK, 1.0);
                }
            }
            Marks::Line(samples) => {
                let parts = samples.split(|s| !(s.mean.is_finite() && s.sd.is_finite()));
                for part in parts.filter(|part| part.len() > 1) {
                    let span = (x.at(part[0].x), x.at(part[part.len() - 1].x));
                    let share = |at: f64| (at - x.ends.0) / (x.ends.1 - x.ends.0);
                    let value = |at: f64| x.low + share(at) * (x.high - x.low);
                    let at = |px: f64, level: &dyn Fn(&Sample) -> f64| {
                        y.at(between(part, value(px), level))
                    };
                    canvas.columns(span, MARK, BAND_OPACITY, |px| {
                        (at(px, &|s| s.mean + s.sd), at(px, &|s| s.mean - s.sd))
                    });
                    canvas.columns(span, MARK, 1.0, |px| {
                        let middle = at(px, &|s| s.mean);
                        (middle - 1.0, middle + 1.0)
                    });
                }
            }
        }
        canvas.line(across, (bottom, bottom), AXIS);
        let (middle, half) = (0.5 * (across.0 + across.1), 0.5 * (TOP + bottom));
        canvas.text(
            &font,
            (middle, height - 8.0),
            Anchor::Middle,
            false,
            &self.x,
        );
        canvas.text(&font, (18.0, half), Anchor::Middle, true, &self.y);
        let size = [canvas.width, canvas.height].map(|side| side as u32);
        Some((size, canvas.rgba))
    }

    /// Writes the plot as a PNG file whose metadata have its title.
    pub(super) fn save_pixels(&self, path: &Path) -> Result<(), Error> {
        let (size, rgba) = self.pixels().ok_or_else(|| {
            Error::unsupported(path, "a picture whose text cannot be drawn", "write a .svg")
        })?;
        let title = ("Title".to_owned(), self.title.clone());
        png::save(path, size, &rgba, &[title])
    }
}
