//! What stands on top of a slice: where it is, which way round, how large, and the regions.

use super::cut::Cut;
use super::hands::{CLICK, Kind};
use super::legend::{self, Legend};
use super::slice_view::Slice;
use super::{Views, compare, fan, grip, ink, pointer, rings, spheres};
use crate::data::{AffineSource, VolumeKind};
use crate::state::{Content, Convention, Layer, Pane, State, Tool, defaults};
use crate::ui::format::{fixed, significant, with_unit};
use crate::ui::theme::{self, IN_VIEW, size};
use crate::ui::widgets::paint::Span;
use egui::emath::GuiRounding as _;
use egui::{Align2, Color32, Painter, Rect, Ui, vec2};
use glam::DVec3;

/// From the pane's border to text.
const MARGIN: f32 = 10.0;
/// Size of a title of two lines.
const TITLE: egui::Vec2 = vec2(170.0, 36.0);
/// Half of the room that a letter takes.
const LETTER: f32 = 12.0;
/// Half of the crosshair's gap.
const GAP: f32 = 12.0;
/// Grids turned by less than this count as straight, degrees.
const OBLIQUE_DEG: f64 = 0.5;

impl Views {
    pub(super) fn slice_overlay(&mut self, ui: &Ui, slice: &Slice, legend: bool, hovered: bool) {
        let state = slice.state;
        if state.document.is_empty() {
            return;
        }
        let painter = ui.painter().with_clip_rect(slice.rect);
        if state.view.show_crosshair {
            crosshair(&painter, slice);
        }
        fan::on_slice(&painter, slice);
        let rings = self.regions(ui, &painter, slice, hovered);
        if state.view.show_letters {
            letters(&painter, slice, &rings);
        }
        title(&painter, slice, &rings);
        scale_bar(&painter, slice);
        window_text(&painter, slice);
        if legend {
            let part = compare::present(state, slice.rect);
            match legend::of_slices(state) {
                Some(Legend::Dec) => {
                    let (right, top) = (part.right(), part.top());
                    // Beside a divider stands the letter of the upper edge, as long as that is in the middle.
                    let middle = (right - slice.rect.center().x).abs() < 2.0 * LETTER;
                    let clear = if middle { 2.0 * LETTER } else { 0.0 };
                    let corner = (right - MARGIN - clear, top + MARGIN);
                    ink::dec_legend(&painter, corner, theme::DEC, Color32::BLACK);
                }
                Some(Legend::Bar {
                    name,
                    low,
                    high,
                    colour_map,
                }) => {
                    let words = (&*low, &*name, &*high);
                    let inks = (IN_VIEW.t1, Color32::BLACK);
                    // Above the letter of the right edge.
                    let upper = part.with_max_y(part.center().y - LETTER);
                    ink::colour_bar(&painter, upper, inks, words, |t| colour_map.at(t));
                }
                Some(Legend::Stops(_)) | None => {}
            }
        }
    }

    /// Paints the regions; returns where their rings are.
    fn regions(&mut self, ui: &Ui, painter: &Painter, slice: &Slice, hovered: bool) -> Vec<Rect> {
        let state = slice.state;
        let selected = state.session.selected_region;
        let dragged = self.drag.as_ref().and_then(|d| match &d.kind {
            Kind::Region { id, .. } => Some(*id),
            _ => None,
        });
        let at = pointer(ui).filter(|_| hovered && self.drag.is_none());
        // Where the title stands.
        let title = Rect::from_min_size(slice.rect.min + vec2(MARGIN, MARGIN - 3.0), TITLE);
        let mut taken = vec![title];
        let mut placed = Vec::new();
        for region in state.document.regions.iter().filter(|r| r.visible) {
            let cut = Cut::new(&region.shape, &slice.plane, slice.rect, &mut self.traces);
            let Some(cut) = cut else { continue };
            let colour = theme::region_colour(region);
            let is_selected = selected == Some(region.id);
            rings::ring(painter, &cut, region.role, colour, is_selected);
            placed.extend(cut.bounds().map(|b| b.expand(2.0)));
            let named = !state.view.tool.draws();
            let under_pointer = named && at.is_some_and(|at| cut.distance(at) < 4.0);
            if dragged == Some(region.id) || under_pointer {
                let words = format!("{} · {}", region.name, grip::size_words(&region.shape));
                let beside = cut
                    .bounds()
                    .map_or(pointer(ui).unwrap_or(slice.rect.center()), |b| {
                        b.right_center()
                    });
                let beside = beside + vec2(9.0, 0.0);
                ink::plate_beside(painter, beside, slice.rect, &words, colour, &mut taken);
            }
        }
        self.drawing_marks(ui, painter, slice, at);
        self.ruler_marks(painter, slice, at);
        sampled(painter, slice);
        spheres::on_slice(painter, slice);
        spheres::preview(painter, slice, self.drag.as_ref(), at);
        let here = (slice.pane, slice.rect);
        self.choosing_marks(painter, state, here, at, IN_VIEW.accent);
        let Tool::Place { role, .. } = state.view.tool else {
            return placed;
        };
        let colour = ink::role_colour(role);
        let default_radius = defaults::region_radius_mm(role) / slice.plane.mm_per_point;
        match self.drag.as_ref().map(|d| (d.pane, &d.kind, d.pressed)) {
            Some((pane, Kind::Place { centre }, pressed)) if pane == slice.pane => {
                let centre = slice.screen(*centre);
                let far = pointer(ui)
                    .map(|at| at.distance(pressed))
                    .filter(|&d| d >= CLICK);
                rings::preview(
                    painter,
                    centre,
                    far.unwrap_or(default_radius as f32),
                    colour,
                );
            }
            _ => {
                if let Some(at) = at {
                    rings::preview(painter, at, default_radius as f32, colour);
                    ink::tool_word(painter, at, slice.rect, role.name(), colour);
                }
            }
        }
        placed
    }
}

pub(super) fn crosshair(painter: &Painter, slice: &Slice) {
    let at = slice.screen(slice.state.view.crosshair);
    let (x, y) = (
        painter.round_to_pixel_center(at.x),
        painter.round_to_pixel_center(at.y),
    );
    let rect = slice.rect;
    // A line through an edge's letter would make an I of it: it ends before.
    let end = |off: f32| {
        let meets = slice.state.view.show_letters && off.abs() < LETTER;
        if meets { MARGIN + 2.0 * LETTER } else { 0.0 }
    };
    let (across, along) = (end(y - rect.center().y), end(x - rect.center().x));
    let rect = rect.shrink2(vec2(across, along));
    // A dark rim first: the line must show on bright tissue too.
    for stroke in [ink::crosshair_rim(), ink::crosshair_stroke()] {
        painter.hline(rect.left()..=x - GAP, y, stroke);
        painter.hline(x + GAP..=rect.right(), y, stroke);
        painter.vline(x, rect.top()..=y - GAP, stroke);
        painter.vline(x, y + GAP..=rect.bottom(), stroke);
    }
}

/// The grids of what a slice shows.
fn shown_layers(state: &State) -> impl Iterator<Item = &Layer> {
    let layers = state.document.layers.iter().rev().map(AsRef::as_ref);
    layers.filter(|l| l.display.visible && grid(l).is_some())
}

fn grid(layer: &Layer) -> Option<&crate::data::Grid> {
    match &layer.content {
        Content::Scan { dwi: volume, .. } | Content::Image(volume) => Some(&volume.grid),
        Content::Mask(mask) => Some(&mask.grid),
        Content::Tractogram(_) => None,
    }
}

/// Nobody said which side of the shown data is the patient's right.
pub fn sides_unknown(state: &State) -> bool {
    shown_layers(state)
        .filter_map(grid)
        .any(|g| g.source == AffineSource::Pixdim)
}

/// What the title adds where pixels are not voxels: `oblique 12°`, `resampled`.
fn resampled(state: &State) -> Option<String> {
    let grids: Vec<_> = shown_layers(state).filter_map(grid).collect();
    let top = grids.first()?;
    let oblique = top.obliquity_deg();
    if oblique > OBLIQUE_DEG {
        return Some(format!("resampled, oblique {}°", fixed(oblique, 0)));
    }
    let differ = grids.iter().any(|g| !g.same_space(top, 0.01));
    differ.then(|| "resampled".to_owned())
}

pub(super) fn title(painter: &Painter, slice: &Slice, rings: &[Rect]) {
    let text = |at, spans: &[Span]| {
        ink::text_over(painter, at, Align2::LEFT_CENTER, spans, rings);
    };
    let state = slice.state;
    let crosshair = state.view.crosshair;
    let (axis, value) = match slice.pane {
        Pane::Sagittal => ("x", crosshair.x),
        Pane::Coronal => ("y", crosshair.y),
        _ => ("z", crosshair.z),
    };
    let unknown = sides_unknown(state);
    let mut position = format!(" {axis} {}", with_unit(&fixed(value, 1), "mm"));
    if slice.pane == Pane::Sagittal && value.abs() >= 0.05 && !unknown {
        position += if value < 0.0 { " · left" } else { " · right" };
    }
    // Below the letter of the upper edge.
    let extra = resampled(state).map_or(String::new(), |words| format!(" · {words}"));
    let regular = theme::regular(size::LABEL);
    let at = slice.rect.min + vec2(MARGIN, MARGIN + 6.0);
    text(
        at,
        &[
            (slice.pane.name(), theme::semibold(size::LABEL), IN_VIEW.t1),
            (&position, regular.clone(), IN_VIEW.t2),
        ],
    );
    let (words, colour) = match (slice.pane, state.view.convention) {
        (Pane::Sagittal, _) => ("nose left", IN_VIEW.t2),
        (_, Convention::Radiological) => ("radiological", IN_VIEW.t2),
        (_, Convention::Neurological) => ("neurological", IN_VIEW.warning),
    };
    let second = at + vec2(0.0, 17.0);
    let only = state.session.stopped.as_ref();
    let only = only.map_or(String::new(), |s| format!(" · only: {}", s.reason.words()));
    let medium = theme::medium(size::LABEL);
    text(
        second,
        &[
            (words, regular.clone(), colour),
            (&extra, regular.clone(), IN_VIEW.t2),
            (&only, medium.clone(), IN_VIEW.warning),
        ],
    );
    if unknown {
        let words = ("left and right unknown", medium, IN_VIEW.warning);
        text(second + vec2(0.0, 17.0), &[words]);
    }
}

pub(super) fn letters(painter: &Painter, slice: &Slice, rings: &[Rect]) {
    let Some(letters) = slice.state.view.letters(slice.pane) else {
        return;
    };
    let unknown = sides_unknown(slice.state);
    let rect = slice.rect.shrink(MARGIN);
    let places = [
        (rect.left_center(), Align2::LEFT_CENTER),
        (rect.right_center(), Align2::RIGHT_CENTER),
        (rect.center_top() - vec2(0.0, 2.0), Align2::CENTER_TOP),
        (rect.center_bottom() + vec2(0.0, 2.0), Align2::CENTER_BOTTOM),
    ];
    for ((at, align), letter) in places.into_iter().zip(letters) {
        // A guess is not a letter.
        let guessed = unknown && matches!(letter, 'L' | 'R');
        let (word, colour) = if guessed {
            (format!("{letter}?"), IN_VIEW.warning)
        } else {
            (letter.to_string(), IN_VIEW.t1)
        };
        let font = theme::semibold(size::LETTER);
        ink::text_over(painter, at, align, &[(&word, font, colour)], rings);
    }
}

/// Lengths that a scale bar may have, mm; 20 as long as it fits.
fn bar_mm(mm_per_point: f64, width: f64) -> f64 {
    const LENGTHS: [f64; 9] = [20.0, 10.0, 5.0, 2.0, 1.0, 50.0, 100.0, 200.0, 500.0];
    let fits = |mm: &&f64| (24.0..=width * 0.4).contains(&(*mm / mm_per_point));
    LENGTHS.iter().find(fits).copied().unwrap_or(20.0)
}

pub(super) fn scale_bar(painter: &Painter, slice: &Slice) {
    let per_point = slice.plane.mm_per_point;
    let mm = bar_mm(per_point, f64::from(slice.rect.width()));
    let length = (mm / per_point) as f32;
    let corner = slice.rect.left_bottom() + vec2(MARGIN + 2.0, -13.0);
    let bar = Rect::from_min_size(corner, vec2(length, 2.0));
    // Whole pixels: a bar is a measure.
    let bar = bar.round_to_pixels(painter.pixels_per_point());
    painter.rect_filled(bar.expand(1.0), 0.0, Color32::from_black_alpha(120));
    painter.rect_filled(bar, 0.0, IN_VIEW.t1);
    let words = with_unit(&fixed(mm, 0), "mm");
    let at = bar.left_top() - vec2(0.0, 3.0);
    let span = (&*words, theme::regular(size::CAPTION), IN_VIEW.t1);
    ink::text(painter, at, Align2::LEFT_BOTTOM, &[span]);
}

/// `FA 0–0.87`: what the greys between black and white are.
fn window_text(painter: &Painter, slice: &Slice) {
    let layers = slice.state.document.layers.iter().rev();
    let scalar =
        |l: &&std::sync::Arc<Layer>| l.content.volume().map(|v| v.kind) == Some(VolumeKind::Scalar);
    let Some(layer) = layers.filter(|l| l.display.visible).find(scalar) else {
        return;
    };
    // Labels are no amounts: a window says nothing of them.
    if layer.content.volume().is_some_and(|v| v.labels.is_some()) {
        return;
    }
    let value = |v: f32| significant(f64::from(v * layer.unit_scale));
    let (low, high) = layer.display.window;
    let range = format!("{} {}–{}", layer.name, value(low), value(high));
    let words = with_unit(&range, layer.unit);
    let at = slice.rect.right_bottom() - vec2(MARGIN + 2.0, 8.0);
    let span = (&*words, theme::regular(size::CAPTION), IN_VIEW.t2);
    ink::text(painter, at, Align2::RIGHT_BOTTOM, &[span]);
}

/// What was passed over so far: its voxels, and their mean and deviation beside the hand.
fn sampled(painter: &Painter, slice: &Slice) {
    let Some(sample) = &slice.state.session.sample else {
        return;
    };
    let near = |at: &DVec3| slice.plane.distance(*at).abs() <= sample.reach_mm();
    for at in sample.centres().filter(near) {
        let dot = Rect::from_center_size(slice.screen(at), vec2(3.0, 3.0));
        painter.rect_filled(dot, 0.0, IN_VIEW.accent);
    }
    let hand = pointer_of(painter).filter(|at| slice.rect.contains(*at));
    if let Some(hand) = hand.filter(|_| sample.count() > 0) {
        let words = format!("{} · {}", sample.words(), sample.count());
        let beside = hand + vec2(14.0, 0.0);
        ink::plate_beside(
            painter,
            beside,
            slice.rect,
            &words,
            IN_VIEW.t1,
            &mut Vec::new(),
        );
    }
}

fn pointer_of(painter: &Painter) -> Option<egui::Pos2> {
    painter.ctx().input(|i| i.pointer.latest_pos())
}
