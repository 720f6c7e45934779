//! Pictures of the possible readings of an image, to choose from: a slice and streamlines for each.

use super::axes;
use crate::data::{DataId, Tractogram};
use crate::solvers::tensor_check::Slice;
use crate::ui::theme::{self, radius, size, space};
use crate::ui::widgets::paint;
use egui::{
    ColorImage, CornerRadius, Rect, Role, Sense, Stroke, StrokeKind, TextureHandle, TextureOptions,
    Ui, WidgetInfo, pos2, vec2,
};

const COLUMNS: usize = 2;
const GAP: f32 = 8.0;
const CAPTION: f32 = 17.0;

/// The pictures of the last comparison.
#[derive(Default)]
pub struct Pictures {
    image: Option<DataId>,
    textures: Vec<[TextureHandle; 2]>,
}

/// One reading, best first.
pub struct Candidate {
    pub name: String,
    pub axes: String,
    /// The mean length of its streamlines.
    pub length: String,
    /// Everything about it.
    pub text: String,
    pub is_now: bool,
}

impl Pictures {
    /// Loads the pictures of a comparison unless they are loaded.
    pub fn update<'a>(
        &mut self,
        ui: &Ui,
        name: &str,
        all: impl Iterator<Item = (&'a Slice, &'a Tractogram)> + Clone,
    ) {
        let image = all.clone().next().map(|(_, streamlines)| streamlines.id());
        if image == self.image {
            return;
        }
        let (low, high) = axes::extent(all.clone().map(|(_, streamlines)| streamlines));
        let load = |image| ui.ctx().load_texture(name, image, TextureOptions::LINEAR);
        let both = |(slice, streamlines): (&Slice, &Tractogram)| {
            [
                load(picture(slice)),
                load(axes::picture(streamlines, low, high)),
            ]
        };
        self.textures = all.map(both).collect();
        self.image = image;
    }
}

fn picture(slice: &Slice) -> ColorImage {
    ColorImage::from_rgb([slice.side, slice.side], &slice.rgb)
}

/// The candidates in rows; the index of the one that was clicked.
pub fn show(
    ui: &mut Ui,
    salt: &str,
    pictures: &Pictures,
    candidates: &[Candidate],
) -> Option<usize> {
    let mut clicked = None;
    for (row_number, row) in candidates.chunks(COLUMNS).enumerate() {
        let width = ui.available_width() - 2.0 * space::INSET;
        let wide = ((width - GAP * (COLUMNS - 1) as f32) / COLUMNS as f32).floor();
        let side = (wide / 2.0).floor();
        let desired_size = vec2(ui.available_width(), side + 2.0 * CAPTION + GAP);
        let (all, _) = ui.allocate_exact_size(desired_size, Sense::hover());
        for (column, candidate) in row.iter().enumerate() {
            let number = row_number * COLUMNS + column;
            let Some(textures) = pictures.textures.get(number) else {
                continue;
            };
            let corner = all.left_top() + vec2(space::INSET + column as f32 * (wide + GAP), 0.0);
            let square = Rect::from_min_size(corner, vec2(side, side));
            if show_one(ui, (salt, number), square, textures, candidate) {
                clicked = Some(number);
            }
        }
    }
    clicked
}

/// Two pictures with two lines below them; `square` is the left one. Whether they were clicked.
fn show_one(
    ui: &mut Ui,
    (salt, number): (&str, usize),
    square: Rect,
    textures: &[TextureHandle; 2],
    candidate: &Candidate,
) -> bool {
    let p = theme::palette(ui.style());
    let (corner, side) = (square.min, square.width());
    let both = Rect::from_min_size(corner, vec2(2.0 * side, side));
    let place = Rect::from_min_size(corner, vec2(2.0 * side, side + 2.0 * CAPTION));
    let id = ui.make_persistent_id((salt, number));
    let response = ui.interact(place, id, Sense::click());
    let painter = ui.painter();
    // Side by side in one frame: only its outer corners are round.
    let (left, right) = (radius::CONTROL, radius::CONTROL);
    let rounds = [[left, 0, left, 0], [0, right, 0, right]];
    for (i, (texture, [nw, ne, sw, se])) in textures.iter().zip(rounds).enumerate() {
        let at = corner + vec2(i as f32 * side, 0.0);
        let square = Rect::from_min_size(at, vec2(side, side));
        let round = CornerRadius { nw, ne, sw, se };
        paint::picture(painter, square, texture.id(), round);
    }
    let (is_now, best) = (candidate.is_now, number == 0);
    let (line, ink) = match (is_now, best) {
        (true, _) => (Stroke::new(2.0, p.accent), p.t1),
        (_, true) => (Stroke::new(2.0, p.warning), p.t1),
        _ if response.hovered() => (Stroke::new(1.0, p.t2), p.t1),
        _ => (Stroke::new(1.0, p.line), p.t2),
    };
    painter.rect_stroke(both, radius::CONTROL, line, StrokeKind::Inside);
    let caption = |n: f32| {
        let top = both.bottom() + 2.0 + n * CAPTION;
        Rect::from_min_max(pos2(both.left(), top), pos2(both.right(), top + CAPTION))
    };
    let small = || theme::regular(size::CAPTION);
    let name = paint::elided(painter, &candidate.name, small(), both.width());
    paint::left(painter, caption(0.0), &name, small(), ink);
    let axes = match is_now {
        true => format!("{}, current", candidate.axes),
        false => candidate.axes.clone(),
    };
    paint::left(painter, caption(1.0), &axes, small(), ink);
    paint::right(painter, caption(1.0), &candidate.length, small(), p.t3);
    paint::focus_ring(painter, p, &response, place, radius::CONTROL);
    let take = match is_now {
        true => "",
        false => ". Click to use it; Ctrl+Z to undo",
    };
    let text = format!("{}. {}{take}", number + 1, candidate.text);
    let role = if is_now { Role::Label } else { Role::Button };
    response.widget_info(|| WidgetInfo::labeled(role, true, &text));
    let clicked = response.clicked() && !is_now;
    response.on_hover_text(text);
    clicked
}
