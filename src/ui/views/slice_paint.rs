//! What stands on top of a slice: where it is, which way round, how large, and the regions.

use super::cut::Cut;
use super::drag::{CLICK, Kind};
use super::legend::{self, Legend};
use super::slice_view::Slice;
use super::{
    Views, annotations, chrome, fan, leak, pointer, region_drag, rings, sampling, spheres,
};
use crate::data::{AffineSource, VolumeKind};
use crate::state::regions::region_radius_mm;
use crate::state::{Content, Convention, Layer, Pane, State, Tool};
use crate::ui::format::{decimals_of, fixed, with_unit};
use crate::ui::theme::{self, IN_VIEW, size};
use crate::ui::widgets::paint::{Span, line};
use egui::emath::GuiRounding as _;
use egui::{Align2, Color32, Painter, Rangef, Rect, Shape, Ui, Vec2, vec2};

/// From the pane's border to text.
const MARGIN: f32 = 10.0;
/// Size of a title of two lines.
pub(super) const TITLE: egui::Vec2 = vec2(170.0, 36.0);
/// Between the lines of a title.
const LINE: f32 = 17.0;
/// Between a region and its name.
const BESIDE: f32 = 12.0;
/// Half of the room that a letter takes.
const LETTER: f32 = 12.0;
/// Room for a scale bar, points.
const SCALE: f32 = 60.0;
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
        // Under all that follows, and broken where words stand.
        let under = painter.add(Shape::Noop);
        fan::on_slice(&painter, slice);
        let (rings, labels) = self.regions(ui, &painter, slice, hovered);
        let mut text = title(&painter, slice, &rings);
        let below_title = text
            .iter()
            .map(Rect::bottom)
            .fold(slice.rect.top(), f32::max);
        if state.view.show_letters {
            let place = |middle| self.beside_divider(slice.rect, middle);
            let letters = letters(&painter, slice, &text, &rings, &place);
            text.extend(letters);
        }
        text.push(scale_bar(&painter, slice));
        text.extend(self.window_text(&painter, slice, &text));
        if legend {
            text.extend(self.legend(&painter, slice, below_title, &text));
        }
        if state.view.show_crosshair {
            painter.set(under, crosshair(&painter, slice, &text));
        }
        // Last: they give way to all this, and to the buttons that come with the pointer.
        if hovered {
            text.push(chrome::slice_buttons_at(slice, legend));
        }
        for (of, name, colour) in labels {
            let label = annotations::Label::new(&painter, &name, colour);
            match label.place(of, slice.rect, (&text, &[]), |_| 0) {
                Some(place) => {
                    label.paint(&painter, place);
                    text.push(place);
                }
                // What is in the hand always has its size beside it.
                None => {
                    let at = of.right_center();
                    annotations::plate_beside(&painter, at, slice.rect, &name, colour, &mut text);
                }
            }
        }
    }

    /// What the colours mean, at the outer edge of a divided view's half; returns where it stands.
    fn legend(
        &self,
        painter: &Painter,
        slice: &Slice,
        below_title: f32,
        taken: &[Rect],
    ) -> Vec<Rect> {
        let (part, at_left) = (self.part(slice.rect), self.at_left());
        let below_title = below_title + 6.0;
        let bar = |place: Rect, legend: &Legend| match legend {
            Legend::Bar {
                name,
                low,
                high,
                colour_map,
            } => {
                let text = (&**low, &**name, &**high);
                let inks = (IN_VIEW.t1, annotations::Ground::BLACK);
                let place = (place, at_left, annotations::ALONE);
                annotations::colour_bar(painter, place, inks, text, |t| colour_map.at(t))
            }
            Legend::Dec | Legend::Stops(_) => Vec::new(),
        };
        let of_image = legend::of_slices(slice.state);
        // Streamlines over the image have colours of their own.
        let of_lines = legend::of_lines_on_slices(slice.state);
        let lower = part.with_min_y(part.center().y + LETTER);
        let lines = of_lines.filter(|legend| of_image.as_ref() != Some(legend));
        let mut all = lines.map_or_else(Vec::new, |legend| bar(lower, &legend));
        all.extend(match &of_image {
            Some(Legend::Dec) if part.width() > annotations::DEC_LEGEND.x + 2.0 * MARGIN => {
                let corner = match at_left {
                    true => (
                        part.left() + MARGIN + annotations::DEC_LEGEND.x,
                        below_title,
                    ),
                    false => (part.right() - MARGIN, part.top() + MARGIN),
                };
                let free = (part, taken);
                vec![annotations::dec_legend(
                    painter,
                    corner,
                    free,
                    theme::DEC,
                    annotations::Ground::BLACK,
                )]
            }
            Some(legend @ Legend::Bar { .. }) => {
                // Above the letter of the edge.
                let mut upper = part.with_max_y(part.center().y - LETTER);
                if at_left {
                    upper.min.y = below_title;
                }
                bar(upper, legend)
            }
            Some(Legend::Dec | Legend::Stops(_)) | None => Vec::new(),
        });
        all
    }

    /// `FA 0–0.87`: what the greys between black and white are. Where the halves of a divided view differ,
    /// each says its own. Without its name, or not at all, where it would lie over what stands there already.
    fn window_text(&self, painter: &Painter, slice: &Slice, taken: &[Rect]) -> Option<Rect> {
        let sentence = window_words(slice.state)?;
        let part = self.part(slice.rect);
        let font = theme::regular(size::CAPTION);
        let other = self.half.as_ref().map(|half| &half.other_window);
        let differs = other.is_some_and(|other| other.as_ref() != Some(&sentence));
        let mut at = slice.rect.right_bottom() - vec2(MARGIN + 2.0, 8.0);
        if differs {
            // Above the letter of the lower edge, which stands beside the divider.
            at = part.right_bottom() - vec2(MARGIN + 2.0, if self.at_left() { 28.0 } else { 8.0 });
            let galley = painter.layout_no_wrap(sentence.clone(), font.clone(), IN_VIEW.t2);
            let free = part.width() - if self.at_left() { SCALE } else { 0.0 };
            if galley.size().x > free - 2.0 * MARGIN {
                return None;
            }
        }
        let (_, range) = window_of(slice.state)?;
        let free = |text: &&str| {
            let galley = painter.layout_no_wrap((*text).to_owned(), font.clone(), IN_VIEW.t2);
            let place = Align2::RIGHT_BOTTOM.anchor_size(at, galley.size());
            differs || !taken.iter().any(|t| t.expand(2.0).intersects(place))
        };
        let text = [&*sentence, &*range].into_iter().find(free)?;
        let span = (text, font.clone(), IN_VIEW.t2);
        Some(annotations::text(
            painter,
            at,
            Align2::RIGHT_BOTTOM,
            &[span],
        ))
    }

    /// Paints the regions; returns where their rings are, and the names of those under the pointer or in the hand,
    /// with what they name.
    fn regions(
        &mut self,
        ui: &Ui,
        painter: &Painter,
        slice: &Slice,
        hovered: bool,
    ) -> (Vec<Rect>, Vec<(Rect, String, Color32)>) {
        let state = slice.state;
        let selected = state.session.selected_region;
        let dragged = self.drag.as_ref().and_then(|d| match &d.kind {
            Kind::Region { id, .. } => Some(*id),
            _ => None,
        });
        let at = pointer(ui).filter(|_| hovered && self.drag.is_none());
        let mut labels = Vec::new();
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
                let text = format!(
                    "{} · {}",
                    region.name,
                    region_drag::size_words(&region.shape)
                );
                let middle = || pointer(ui).unwrap_or(slice.rect.center());
                let of = cut.bounds().unwrap_or_else(|| Rect::from_pos(middle()));
                labels.push((of.expand(BESIDE), text, colour));
            }
        }
        self.drawing_marks(ui, painter, slice, at);
        self.ruler_marks(painter, slice, at);
        sampling::on_slice(painter, slice);
        spheres::on_slice(painter, slice);
        leak::on_slice(painter, slice);
        spheres::preview(painter, slice, self.drag.as_ref(), at);
        spheres::fixed_on_slice(painter, slice, at);
        let here = (slice.pane, slice.rect);
        self.choosing_marks(painter, state, here, at, IN_VIEW.accent);
        let Tool::Place { role, .. } = state.view.tool else {
            return (placed, labels);
        };
        let colour = annotations::role_colour(role);
        let default_radius = region_radius_mm(role) / slice.plane.mm_per_point;
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
                    annotations::tool_word(painter, at, slice.rect, role.name(), colour);
                }
            }
        }
        (placed, labels)
    }
}

/// The crosshair, with gaps where `words` stand: a line through a letter would make another of it.
pub(super) fn crosshair(painter: &Painter, slice: &Slice, text: &[Rect]) -> Shape {
    let at = slice.screen(slice.state.view.crosshair);
    let (x, y) = (
        painter.round_to_pixel_center(at.x),
        painter.round_to_pixel_center(at.y),
    );
    let rect = slice.rect;
    let text = text.iter().map(|word| word.expand2(vec2(5.0, 3.0)));
    let hand = Rect::from_center_size(egui::pos2(x, y), Vec2::splat(2.0 * GAP));
    let taken: Vec<Rect> = text.chain([hand]).collect();
    let across = taken.iter().filter(|r| r.y_range().contains(y));
    let across = free(rect.x_range(), across.map(|r| r.x_range()).collect());
    let along = taken.iter().filter(|r| r.x_range().contains(x));
    let along = free(rect.y_range(), along.map(|r| r.y_range()).collect());
    let mut lines = Vec::new();
    // A dark rim first: the line must show on bright tissue too.
    for stroke in [
        annotations::crosshair_rim(),
        annotations::crosshair_stroke(),
    ] {
        lines.extend(across.iter().map(|part| Shape::hline(*part, y, stroke)));
        lines.extend(along.iter().map(|part| Shape::vline(x, *part, stroke)));
    }
    Shape::Vec(lines)
}

/// What of a line is left between what is taken of it.
fn free(line: Rangef, mut taken: Vec<Rangef>) -> Vec<Rangef> {
    taken.sort_by(|a, b| a.min.total_cmp(&b.min));
    let (mut left, mut at) = (Vec::new(), line.min);
    for range in taken {
        if range.min > at {
            left.push(Rangef::new(at, range.min.min(line.max)));
        }
        at = at.max(range.max);
    }
    if at < line.max {
        left.push(Rangef::new(at, line.max));
    }
    left
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

/// Pieces of a title side by side in lines of at most this width: what has no room beside the piece before begins a
/// line of its own.
fn in_lines<'a>(
    painter: &Painter,
    width: f32,
    pieces: impl IntoIterator<Item = Vec<Span<'a>>>,
) -> Vec<Vec<Span<'a>>> {
    let wide = |spans: &[Span]| painter.layout_job(line(spans, f32::INFINITY)).size().x;
    let mut lines: Vec<Vec<Span>> = Vec::new();
    for piece in pieces {
        let dot = (" · ", theme::regular(size::LABEL), IN_VIEW.t2);
        let fits = |last: &&mut Vec<Span<'a>>| {
            let both: Vec<Span> = last.iter().chain([&dot]).chain(&piece).cloned().collect();
            wide(&both) <= width
        };
        match lines.last_mut().filter(fits) {
            Some(last) => {
                last.push(dot);
                last.extend(piece);
            }
            None => lines.push(piece),
        }
    }
    lines
}

/// Returns where its lines are.
pub(super) fn title(painter: &Painter, slice: &Slice, rings: &[Rect]) -> Vec<Rect> {
    let state = slice.state;
    let crosshair = state.view.crosshair;
    let (axis, value) = match slice.pane {
        Pane::Sagittal => ("x", crosshair.x),
        Pane::Coronal => ("y", crosshair.y),
        _ => ("z", crosshair.z),
    };
    let unknown = sides_unknown(state);
    let position = format!(" {axis} {}", with_unit(&fixed(value, 1), "mm"));
    let has_side = slice.pane == Pane::Sagittal && value.abs() >= 0.05 && !unknown;
    let side = has_side.then_some(if value < 0.0 { "left" } else { "right" });
    let extra = resampled(state);
    let (regular, medium) = (theme::regular(size::LABEL), theme::medium(size::LABEL));
    let name = vec![
        (slice.pane.name(), theme::semibold(size::LABEL), IN_VIEW.t1),
        (&*position, regular.clone(), IN_VIEW.t2),
    ];
    let quiet = |text| vec![(text, regular.clone(), IN_VIEW.t2)];
    let (words, colour) = match (slice.pane, state.view.convention) {
        (Pane::Sagittal, _) => ("nose left", IN_VIEW.t2),
        (_, Convention::Radiological) => ("radiological", IN_VIEW.t2),
        (_, Convention::Neurological) => ("neurological", IN_VIEW.warning),
    };
    let only = state.stopped();
    let only = only.map(|(s, _)| format!("only: {}", s.reason.words()));
    let at = slice.rect.min + vec2(MARGIN, MARGIN + 6.0);
    let width = slice.rect.right() - 6.0 - at.x;
    let mut lines = in_lines(painter, width, [name].into_iter().chain(side.map(quiet)));
    // Which side it is stands beside which way round it is where it has no room above.
    let below = lines.len() > 1;
    lines.truncate(1);
    let side = side.filter(|_| below);
    let side = side.map(|side| {
        if side == "left" {
            "left side"
        } else {
            "right side"
        }
    });
    let second = side.map(quiet).into_iter();
    let second = second.chain([vec![(words, regular.clone(), colour)]]);
    let second = second.chain(extra.as_deref().map(quiet));
    let only = only.as_deref();
    let second = second.chain(only.map(|o| vec![(o, medium.clone(), IN_VIEW.warning)]));
    lines.extend(in_lines(painter, width, second));
    if unknown {
        lines.push(vec![("left and right unknown", medium, IN_VIEW.warning)]);
    }
    let lines = lines.iter().enumerate().map(|(i, spans)| {
        let at = at + vec2(0.0, LINE * i as f32);
        annotations::text_over(painter, at, Align2::LEFT_CENTER, spans, rings)
    });
    lines.collect()
}

/// `title`: its lines, which the letter of the upper edge gives way to. `place`: where the middle of a
/// letter goes. Returns where they are.
pub(super) fn letters(
    painter: &Painter,
    slice: &Slice,
    title: &[Rect],
    rings: &[Rect],
    place: &dyn Fn(f32) -> f32,
) -> Vec<Rect> {
    /// Half of a letter's width.
    const HALF: f32 = 5.0;
    /// Nearer to a line of the title it would read as a part of it.
    const APART: f32 = 6.0;
    let Some(letters) = slice.state.view.letters(slice.pane) else {
        return Vec::new();
    };
    let mut placed = Vec::new();
    let unknown = sides_unknown(slice.state);
    let rect = slice.rect.shrink(MARGIN);
    let places = [
        (rect.left_center(), Align2::LEFT_CENTER, HALF),
        (rect.right_center(), Align2::RIGHT_CENTER, -HALF),
        (rect.center_top() - vec2(0.0, 2.0), Align2::CENTER_TOP, 0.0),
        (
            rect.center_bottom() + vec2(0.0, 2.0),
            Align2::CENTER_BOTTOM,
            0.0,
        ),
    ];
    for ((at, align, half), letter) in places.into_iter().zip(letters) {
        // A guess is not a letter.
        let guessed = unknown && matches!(letter, 'L' | 'R');
        let (word, colour) = if guessed {
            (format!("{letter}?"), IN_VIEW.warning)
        } else {
            (letter.to_string(), IN_VIEW.t1)
        };
        let font = theme::semibold(size::LETTER);
        let mut at = egui::pos2(place(at.x + half) - half, at.y);
        if align == Align2::CENTER_TOP {
            for line in title {
                let letter = vec2(2.0 * HALF, size::LETTER);
                let line = line.expand2(vec2(APART, 0.0));
                if align.anchor_size(at, letter).intersects(line) {
                    at.y = line.bottom();
                }
            }
        }
        placed.push(annotations::text_over(
            painter,
            at,
            align,
            &[(&word, font, colour)],
            rings,
        ));
    }
    placed
}

/// Lengths that a scale bar may have, mm; 20 as long as it fits.
fn bar_mm(mm_per_point: f64, width: f64) -> f64 {
    const LENGTHS: [f64; 9] = [20.0, 10.0, 5.0, 2.0, 1.0, 50.0, 100.0, 200.0, 500.0];
    let fits = |mm: &&f64| (24.0..=width * 0.4).contains(&(*mm / mm_per_point));
    LENGTHS.iter().find(fits).copied().unwrap_or(20.0)
}

/// Returns where it is.
pub(super) fn scale_bar(painter: &Painter, slice: &Slice) -> Rect {
    let per_point = slice.plane.mm_per_point;
    let mm = bar_mm(per_point, f64::from(slice.rect.width()));
    let length = (mm / per_point) as f32;
    let corner = slice.rect.left_bottom() + vec2(MARGIN + 2.0, -13.0);
    let bar = Rect::from_min_size(corner, vec2(length, 2.0));
    // Whole pixels: a bar is a measure.
    let bar = bar.round_to_pixels(painter.pixels_per_point());
    annotations::Ground::BLACK.shade(painter, bar.expand(4.0));
    painter.rect_filled(bar, 0.0, IN_VIEW.t1);
    let sentence = with_unit(&fixed(mm, 0), "mm");
    let at = bar.left_top() - vec2(0.0, 3.0);
    let span = (&*sentence, theme::regular(size::CAPTION), IN_VIEW.t1);
    annotations::text(painter, at, Align2::LEFT_BOTTOM, &[span]).union(bar)
}

/// `FA 0–0.87`: the window of the topmost visible image.
pub(super) fn window_words(state: &State) -> Option<String> {
    window_of(state).map(|(name, range)| format!("{name} {range}"))
}

/// The two parts of it.
fn window_of(state: &State) -> Option<(&str, String)> {
    let layers = state.document.layers.iter().rev();
    let scalar =
        |l: &&std::sync::Arc<Layer>| l.content.volume().map(|v| v.kind) == Some(VolumeKind::Scalar);
    let layer = layers.filter(|l| l.display.visible).find(scalar)?;
    // Labels are no amounts: a window says nothing of them.
    if layer.content.volume().is_some_and(|v| v.labels.is_some()) {
        return None;
    }
    let (low, high) = layer.display.window;
    let (low, high) = (low * layer.unit_scale, high * layer.unit_scale);
    // As the window's own field says it.
    let decimals = decimals_of(f64::from(high - low)).max(0) as usize;
    let value = |v: f32| fixed(f64::from(v), decimals);
    let range = format!("{}–{}", value(low), value(high));
    Some((&layer.name, with_unit(&range, layer.unit)))
}
