//! Subject, size and background of a screenshot.

use crate::state::{Ffmpeg, Look, NoFfmpeg, Pane, Turntable};
use crate::ui::theme::{self, size};
use crate::ui::widgets::button::{checkbox, segmented};
use crate::ui::widgets::{field, paint};
use egui::{Rect, Sense, Stroke, StrokeKind, Ui, vec2};
use std::ops::RangeInclusive;

const ROW: f32 = 26.0;
const FIELD: f32 = 76.0;
/// Length of a side, px.
const SIDES: RangeInclusive<u32> = 64..=16_384;
const FIRST_SIZE: [u32; 2] = [1920, 1080];

pub(super) fn options(ui: &mut Ui, pane: &mut Option<Pane>, look: &mut Look) {
    let width = ui.available_width();
    let row = |ui: &mut Ui| ui.allocate_exact_size(vec2(width, ROW), Sense::hover()).0;
    let what: Vec<&str> = std::iter::once("Window")
        .chain(Pane::ALL.map(Pane::name))
        .collect();
    let chosen = pane
        .and_then(|p| Pane::ALL.iter().position(|&q| q == p))
        .map_or(0, |i| i + 1);
    let place = row(ui);
    if let Some(i) = segmented(ui, place, "Picture of", &what, chosen) {
        *pane = i.checked_sub(1).map(|i| Pane::ALL[i]);
    }
    // The window keeps the screen's size.
    if pane.is_none() {
        return;
    }
    let sizes = ["Screen size", "2 ×", "3 ×", "4 ×", "Pixels"];
    let own = look.size_px.is_some();
    let now = if own {
        4
    } else {
        look.scale.clamp(1, 4) as usize - 1
    };
    let place = row(ui);
    match segmented(ui, place, "Size", &sizes, now) {
        Some(4) => look.size_px = Some(FIRST_SIZE),
        Some(i) => (look.size_px, look.scale) = (None, i as u32 + 1),
        None => {}
    }
    if let Some([x, y]) = look.size_px {
        let place = row(ui);
        let left = Rect::from_min_size(place.min, vec2(FIELD, ROW));
        let right = left.translate(vec2(FIELD + 20.0, 0.0));
        let p = theme::palette(ui.style());
        let between = Rect::from_min_max(left.right_top(), right.left_bottom());
        paint::centre(
            ui.painter(),
            between,
            "×",
            theme::regular(size::LABEL),
            p.t3,
        );
        let x = number(ui, left, "Width", x, "px", SIDES);
        let y = number(ui, right, "Height", y, "px", SIDES);
        look.size_px = Some([x, y]);
    }
    if *pane != Some(Pane::Scene) {
        return;
    }
    let place = row(ui);
    let half = width * 0.5;
    let (left, right) = (
        Rect::from_min_size(place.min, vec2(half, ROW)),
        Rect::from_min_size(place.min + vec2(half, 0.0), vec2(half, ROW)),
    );
    if let Some(on) = checkbox(ui, left, "Transparent background", look.transparent) {
        look.transparent = on;
    }
    if let Some(on) = checkbox(ui, right, "Turntable", look.turntable.is_some()) {
        look.turntable = on.then(|| Turntable {
            frames: Turntable::DEFAULT_FRAMES,
            film: Ffmpeg::find().is_ok(),
        });
    }
    if let Some(turntable) = &mut look.turntable {
        let place = row(ui);
        let left = Rect::from_min_size(place.min, vec2(FIELD, ROW));
        turntable.frames = number(
            ui,
            left,
            "Pictures",
            turntable.frames,
            "",
            2..=Turntable::MAXIMUM_FRAMES,
        );
        let p = theme::palette(ui.style());
        let text = Rect::from_min_max(
            left.right_top() + vec2(8.0, 0.0),
            place.left_bottom() + vec2(half, 0.0),
        );
        paint::left(
            ui.painter(),
            text,
            "pictures",
            theme::regular(size::LABEL),
            p.t3,
        );
        let right = Rect::from_min_size(place.min + vec2(half, 0.0), vec2(half, ROW));
        let lacks = match Ffmpeg::find() {
            Ok(_) => None,
            Err(NoFfmpeg::Missing) => Some("Install ffmpeg for a film"),
            Err(NoFfmpeg::Denied(_)) => Some("ffmpeg may not be executed"),
        };
        if let Some(missing) = lacks {
            paint::left(
                ui.painter(),
                right,
                missing,
                theme::regular(size::LABEL),
                p.t3,
            );
        } else if let Some(on) = checkbox(ui, right, "Also make a film (MP4)", turntable.film) {
            turntable.film = on;
        }
    }
}

/// A field for a whole number; a value out of range becomes the nearest one in range.
fn number(
    ui: &mut Ui,
    rect: Rect,
    name: &str,
    value: u32,
    unit: &str,
    range: RangeInclusive<u32>,
) -> u32 {
    let typed = field::value(ui, rect, name, &value.to_string(), unit);
    // The sheet has the same colour as a field.
    let line = Stroke::new(1.0, theme::palette(ui.style()).line);
    let painter = ui.painter();
    painter.rect_stroke(rect, theme::radius::CONTROL, line, StrokeKind::Inside);
    let typed = typed.and_then(|text| text.trim().parse::<u64>().ok());
    typed.map_or(value, |n| {
        n.clamp((*range.start()).into(), (*range.end()).into()) as u32
    })
}
