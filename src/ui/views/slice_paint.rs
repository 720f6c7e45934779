//! Annotations on top of a slice: position, orientation, scale, and the regions.

use super::bars::{self, Column};
use super::cut::Cut;
use super::drag::{CLICK, DragKind};
use super::legend::{self, Legend};
use super::slice_view::Slice;
use super::{
    Views, annotations, chrome, fan, leak, letters, pointer, region_drag, rings, sampling,
    scene_paint, spheres,
};
use crate::data::VolumeKind;
use crate::scene;
use crate::state::regions::region_radius_mm;
use crate::state::view::{Plane, STRAIGHT_DEG, nearest_axis, tilt_deg};
use crate::state::{Content, Layer, State, Tool};
use crate::ui::format::{decimals_of, fixed, with_unit};
use crate::ui::theme::{self, IN_VIEW, size};
use crate::ui::widgets::paint::{Span, line};
use egui::emath::GuiRounding as _;
use egui::{Align2, Color32, Painter, Pos2, Rangef, Rect, Shape, Ui, Vec2, vec2};

/// Space between the pane's border and text.
pub(super) const MARGIN: f32 = 10.0;
/// Size of a title of two lines.
pub(super) const TITLE: egui::Vec2 = vec2(170.0, 36.0);
/// Distance between the lines of a title.
const LINE: f32 = 17.0;
/// Space between a region and its name.
const NAME_GAP: f32 = 12.0;
/// Half the space of a letter.
const LETTER: f32 = 12.0;
/// A lower view has no space for a bar above that letter and another below.
const LOW: f32 = 250.0;
/// Space for a scale bar, points.
const SCALE: f32 = 60.0;
/// Half of the crosshair's gap.
const GAP: f32 = 12.0;
/// Grids rotated by less than this count as straight, degrees.
const OBLIQUE_DEG: f64 = 0.5;

impl Views {
    pub(super) fn slice_overlay(&mut self, ui: &Ui, slice: &Slice, legend: bool, hovered: bool) {
        let state = slice.state;
        if state.document.is_empty() {
            return;
        }
        let painter = ui.painter().with_clip_rect(slice.rect);
        // Below everything that follows, and interrupted by text.
        let under = painter.add(Shape::Noop);
        fan::on_slice(&painter, slice);
        let (rings, labels) = self.regions(ui, &painter, slice, hovered);
        let mut text = title(&painter, slice, &rings);
        let below_title = text
            .iter()
            .map(Rect::bottom)
            .fold(slice.rect.top(), f32::max);
        if state.view.visible.letters {
            let place = |middle| self.clear_of_divider(slice.rect, middle);
            let letters = letters::show(&painter, slice, &text, &rings, &place);
            text.extend(letters);
        }
        text.push(scale_bar(&painter, slice));
        text.extend(self.window_text(&painter, slice, &text));
        if legend {
            let at = pointer(ui).filter(|_| hovered);
            text.extend(self.legend(&painter, slice, (below_title, at), &text));
        }
        if state.view.visible.crosshair {
            painter.set(under, crosshair(&painter, slice, &text));
        }
        // Last: they avoid everything else, and the buttons that appear with the pointer.
        if hovered {
            text.push(chrome::slice_buttons_at(slice, legend));
        }
        self.paint_tool(ui, &painter, slice, hovered, &mut text);
        for (mark, name, colour) in labels {
            let label = annotations::Label::new(&painter, &name, colour);
            match label.place(mark, slice.rect, (&text, &[]), |_| 0) {
                Some(place) => {
                    label.paint(&painter, place);
                    text.push(place);
                }
                // A dragged region always shows its size.
                None => {
                    let at = mark.right_center();
                    annotations::plate_near(&painter, at, slice.rect, &name, colour, &mut text);
                }
            }
        }
    }

    /// The legend of the colours, at the outer edge of a divided view's half; returns its rectangle.
    fn legend(
        &self,
        painter: &Painter,
        slice: &Slice,
        (below_title, at): (f32, Option<Pos2>),
        taken: &[Rect],
    ) -> Vec<Rect> {
        let (part, at_left) = (self.part(slice.rect), self.at_left());
        let below_title = below_title + 6.0;
        let of_image = legend::of_slices(slice.state);
        let dec = match &of_image {
            Some(Legend::Dec) if part.width() > annotations::DEC_LEGEND.x + 2.0 * MARGIN => {
                let corner = match at_left {
                    true => (
                        part.left() + MARGIN + annotations::DEC_LEGEND.x,
                        below_title,
                    ),
                    false => (part.right() - MARGIN, part.top() + MARGIN),
                };
                let free = (part, taken);
                Some(annotations::dec_legend(
                    painter,
                    corner,
                    free,
                    theme::DEC,
                    annotations::Ground::BLACK,
                ))
            }
            Some(Legend::Classes(texts)) if part.width() > scene_paint::CLASSES => {
                let ink = (IN_VIEW, annotations::Ground::BLACK);
                let top = match at_left {
                    true => below_title,
                    false => part.top() + MARGIN,
                };
                let edge = (part, at_left);
                Some(scene_paint::classes(painter, ink, edge, top, texts))
            }
            _ => None,
        };
        let image = of_image.filter(|legend| matches!(legend, Legend::Bar { .. }));
        // Streamlines over the image have a legend of their own.
        let mut lines = legend::of_lines_on_slices(slice.state);
        lines.retain(|legend| image.as_ref() != Some(legend));
        // Its buttons come with the pointer, and nothing moves then.
        let buttons = (!self.still).then(|| chrome::slice_buttons_at(slice, true));
        let taken: Vec<Rect> = taken.iter().chain(&dec).chain(&buttons).copied().collect();
        let bars = |area: Rect, legends: &[&Legend]| {
            let column = Column {
                area,
                at_left,
                ink: IN_VIEW.t1,
                ground: annotations::Ground::BLACK,
                taken: &taken,
            };
            bars::show(painter, &column, legends)
        };
        // One for the image and one for streamlines stand above and below the letter of the edge.
        let mut upper = part.with_max_y(part.center().y - LETTER);
        if at_left {
            upper.min.y = below_title;
        }
        let lower = part.with_min_y(part.center().y + LETTER);
        let painted = if lines.len() > 1 || slice.rect.height() < LOW {
            let all: Vec<&Legend> = image.iter().chain(&lines).collect();
            bars(part.with_min_y(upper.top()), &all)
        } else {
            let image: Vec<&Legend> = image.iter().collect();
            let mut painted = bars(upper, &image);
            let below = bars(lower, &lines.iter().collect::<Vec<_>>());
            painted.plates.extend(below.plates);
            painted.missing = painted.missing.or(below.missing);
            painted
        };
        let mut plates: Vec<Rect> = dec.into_iter().chain(painted.plates).collect();
        if let (Some(at), Some((place, text))) = (at, painted.missing)
            && place.contains(at)
        {
            let free = (part, &mut plates);
            annotations::label_at_pointer(painter, at, free, &text, IN_VIEW.t1);
        }
        plates
    }

    /// `FA 0–0.87`: the values of black and white. If the halves of a divided view differ, each shows its own. Without
    /// its name, or not at all, if it would overlap other text.
    fn window_text(&self, painter: &Painter, slice: &Slice, taken: &[Rect]) -> Option<Rect> {
        let window = window_limits_text(slice.state);
        let glyphs = scene::omitted_on_slice(slice.state, slice.plane.mm_per_point);
        let glyphs = glyphs.map(|n| format!("1 of {n} shown"));
        let limits = joined(window.as_deref(), glyphs.as_deref())?;
        let part = self.part(slice.rect);
        let font = theme::regular(size::CAPTION);
        let other = self.half.as_ref().map(|half| &half.other_window);
        let differs = other.is_some_and(|other| *other != window);
        let mut at = slice.rect.right_bottom() - vec2(MARGIN + 2.0, 8.0);
        if differs {
            // Above the letter of the lower edge, which is next to the divider.
            at = part.right_bottom() - vec2(MARGIN + 2.0, if self.at_left() { 28.0 } else { 8.0 });
            let galley = painter.layout_no_wrap(limits.clone(), font.clone(), IN_VIEW.t2);
            let free = part.width() - if self.at_left() { SCALE } else { 0.0 };
            if galley.size().x > free - 2.0 * MARGIN {
                return None;
            }
        }
        let range = window_of(slice.state).map(|(_, range)| range);
        let range = joined(range.as_deref(), glyphs.as_deref())?;
        let free = |text: &&str| {
            let galley = painter.layout_no_wrap((*text).to_owned(), font.clone(), IN_VIEW.t2);
            let place = Align2::RIGHT_BOTTOM.anchor_size(at, galley.size());
            differs || !taken.iter().any(|t| t.expand(2.0).intersects(place))
        };
        let text = [&*limits, &*range].into_iter().find(free)?;
        let span = (text, font.clone(), IN_VIEW.t2);
        Some(annotations::text(
            painter,
            at,
            Align2::RIGHT_BOTTOM,
            &[span],
        ))
    }

    /// Paints the regions; returns the rectangles of their rings, and the names of those under the pointer or being
    /// dragged, with the named rectangles.
    fn regions(
        &mut self,
        ui: &Ui,
        painter: &Painter,
        slice: &Slice,
        hovered: bool,
    ) -> (Vec<Rect>, Vec<(Rect, String, Color32)>) {
        let state = slice.state;
        let selected = state.runtime.regions.selected;
        let dragged = self.drag.as_ref().and_then(|d| match &d.kind {
            DragKind::Region { id, .. } => Some(*id),
            _ => None,
        });
        let at = pointer(ui).filter(|_| hovered && self.drag.is_none());
        let mut labels = Vec::new();
        let mut placed = Vec::new();
        for region in state.document.regions.iter().filter(|r| r.visible) {
            let cut = Cut::new(&region.shape, &slice.plane, slice.rect, &mut self.outlines);
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
                    region_drag::size_text(&region.shape)
                );
                let middle = || pointer(ui).unwrap_or(slice.rect.center());
                let bounds = cut.bounds().unwrap_or_else(|| Rect::from_pos(middle()));
                labels.push((bounds.expand(NAME_GAP), text, colour));
            }
        }
        spheres::on_slice(painter, slice);
        leak::on_slice(painter, slice);
        (placed, labels)
    }

    /// Paints the active tool with its text, clear of the text already there.
    fn paint_tool(
        &mut self,
        ui: &Ui,
        painter: &Painter,
        slice: &Slice,
        hovered: bool,
        taken: &mut Vec<Rect>,
    ) {
        let state = slice.state;
        let at = pointer(ui).filter(|_| hovered && self.drag.is_none());
        self.drawing_marks(ui, painter, slice, at);
        self.ruler_marks(painter, slice, at);
        self.commissure_marks(painter, slice, at);
        self.turn_handles(painter, slice, hovered);
        sampling::on_slice(painter, slice, taken);
        spheres::preview(painter, slice, self.drag.as_ref(), at, taken);
        spheres::fixed_on_slice(painter, slice, at, taken);
        let here = (slice.pane, slice.rect);
        self.choosing_marks(painter, state, here, at, IN_VIEW.accent);
        let Tool::NewRegion { role, .. } = state.view.tool else {
            return;
        };
        let colour = theme::role_colour(role);
        let default_radius = region_radius_mm(role) / slice.plane.mm_per_point;
        match self.drag.as_ref().map(|d| (d.pane, &d.kind, d.pressed)) {
            Some((pane, DragKind::NewRegion { centre }, pressed)) if pane == slice.pane => {
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
                    let free = (slice.rect, taken);
                    annotations::label_at_pointer(painter, at, free, role.name(), colour);
                }
            }
        }
    }
}

/// The crosshair, with gaps where text is: a line through a letter would make it look like another.
pub(super) fn crosshair(painter: &Painter, slice: &Slice, text_rects: &[Rect]) -> Shape {
    let at = slice.screen(slice.state.view.crosshair);
    let (x, y) = (
        painter.round_to_pixel_center(at.x),
        painter.round_to_pixel_center(at.y),
    );
    let rect = slice.rect;
    let text_rects = text_rects.iter().map(|text| text.expand2(vec2(5.0, 3.0)));
    let cursor_rect = Rect::from_center_size(egui::pos2(x, y), Vec2::splat(2.0 * GAP));
    let taken: Vec<Rect> = text_rects.chain([cursor_rect]).collect();
    let across = taken.iter().filter(|r| r.y_range().contains(y));
    let across = free(rect.x_range(), across.map(|r| r.x_range()).collect());
    let along = taken.iter().filter(|r| r.x_range().contains(x));
    let along = free(rect.y_range(), along.map(|r| r.y_range()).collect());
    let mut lines = Vec::new();
    // A dark rim first: the line must also be visible on bright tissue.
    for stroke in [
        annotations::crosshair_rim(),
        annotations::crosshair_stroke(),
    ] {
        lines.extend(across.iter().map(|part| Shape::hline(*part, y, stroke)));
        lines.extend(along.iter().map(|part| Shape::vline(x, *part, stroke)));
    }
    Shape::Vec(lines)
}

/// The parts of a line outside the `taken` ranges.
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

/// The layers whose voxels a slice shows.
fn shown_layers(state: &State) -> impl Iterator<Item = &Layer> {
    let layers = state.document.layers.iter().rev().map(AsRef::as_ref);
    layers.filter(|l| state.shows(l) && grid(l).is_some())
}

fn grid(layer: &Layer) -> Option<&crate::data::Grid> {
    match &layer.content {
        Content::Scan { dwi: volume, .. } => Some(&volume.grid),
        // Fixels are drawn as lines, which are not resampled.
        Content::Image(volume) => volume.fixels.is_none().then_some(&volume.grid),
        Content::Mask(mask) => Some(&mask.grid),
        Content::Tractogram(_) | Content::InPlace(_) => None,
    }
}

/// Suffix of the title if pixels are not voxels: `oblique 12°`, `resampled`.
pub(super) fn resampled(state: &State) -> Option<String> {
    let grids: Vec<_> = shown_layers(state).filter_map(grid).collect();
    let top = grids.first()?;
    // The angle of a turned slice stands in the title: that of the scan beside it would be taken for another one.
    if !state.view.turn.is_straight() {
        return Some("turned, resampled".to_owned());
    }
    let oblique = top.obliquity_deg();
    if oblique > OBLIQUE_DEG {
        return Some(format!("resampled, oblique {}°", fixed(oblique, 0)));
    }
    let differ = grids.iter().any(|g| !g.same_space(top, 0.01));
    differ.then(|| "resampled".to_owned())
}

/// Pieces of a title side by side in lines of at most this width: a piece that does not fit next to the one before
/// begins a new line.
pub(super) fn in_lines<'a>(
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

/// Returns the rectangles of its lines.
pub(super) fn title(painter: &Painter, slice: &Slice, rings: &[Rect]) -> Vec<Rect> {
    let state = slice.state;
    let crosshair = state.view.crosshair;
    let normal = slice.plane.normal();
    let axis = nearest_axis(normal);
    let value = crosshair[axis];
    let tilt_deg = tilt_deg(normal);
    let unknown = state.sides_unknown();
    let is_straight = tilt_deg < STRAIGHT_DEG;
    let position = match is_straight {
        true => format!(
            " {} {}",
            ["x", "y", "z"][axis],
            with_unit(&fixed(value, 1), "mm")
        ),
        false => format!(" {}°", fixed(tilt_deg, 1)),
    };
    let has_side = is_straight && axis == 0 && value.abs() >= 0.05 && !unknown;
    let sides = has_side.then_some(match value < 0.0 {
        true => ["left", "left side"],
        false => ["right", "right side"],
    });
    let side = sides.map(|[short_name, _]| short_name);
    let extra = resampled(state);
    let (regular, medium) = (theme::regular(size::LABEL), theme::medium(size::LABEL));
    let slice_name = state.view.slice_name(slice.pane);
    let name = vec![
        (&*slice_name, theme::semibold(size::LABEL), IN_VIEW.t1),
        (&*position, regular.clone(), IN_VIEW.t2),
    ];
    let quiet = |text| vec![(text, regular.clone(), IN_VIEW.t2)];
    let (letters, colour) = orientation(&slice.plane);
    let only = state.stopped();
    let only = only.map(|(s, _)| format!("only: {}", s.reason.label()));
    let at = slice.rect.min + vec2(MARGIN, MARGIN + 6.0);
    let width = slice.rect.right() - 6.0 - at.x;
    let mut lines = in_lines(painter, width, [name].into_iter().chain(side.map(quiet)));
    // The side is shown next to the orientation if it does not fit above.
    let below = lines.len() > 1;
    lines.truncate(1);
    let long = sides.filter(|_| below).map(|[_, long]| long);
    let second = long.map(quiet).into_iter();
    let second = second.chain([vec![(&*letters, regular.clone(), colour)]]);
    let view = state.view.turned_view(slice.pane);
    let second = second.chain(view.as_deref().map(quiet));
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

/// The side of the screen that shows a side of the patient, and where the nose or the top of the head is if it is not up.
pub(super) fn orientation(plane: &Plane) -> (String, Color32) {
    let (right, down) = (plane.right, plane.down);
    let axis = nearest_axis(right);
    let (side, is_expected) = match (axis, right[axis] < 0.0) {
        (0, true) => ("radiological", true),
        (0, false) => ("neurological", false),
        (1, true) => ("nose left", true),
        (1, false) => ("nose right", false),
        (_, true) => ("top of the head left", false),
        (_, false) => ("top of the head right", false),
    };
    let axis = nearest_axis(down);
    let upside_down = match (axis, down[axis] > 0.0) {
        (1, true) => Some("nose down"),
        (2, true) => Some("upside down"),
        _ => None,
    };
    match upside_down {
        Some(position) => (format!("{side}, {position}"), IN_VIEW.warning),
        None if is_expected => (side.to_owned(), IN_VIEW.t2),
        None => (side.to_owned(), IN_VIEW.warning),
    }
}

/// Lengths that a scale bar may have, mm; 20 if it fits.
fn bar_mm(mm_per_point: f64, width: f64) -> f64 {
    const LENGTHS: [f64; 9] = [20.0, 10.0, 5.0, 2.0, 1.0, 50.0, 100.0, 200.0, 500.0];
    let fits = |mm: &&f64| (24.0..=width * 0.4).contains(&(*mm / mm_per_point));
    LENGTHS.iter().find(fits).copied().unwrap_or(20.0)
}

/// Returns its rectangle.
pub(super) fn scale_bar(painter: &Painter, slice: &Slice) -> Rect {
    let per_point = slice.plane.mm_per_point;
    let mm = bar_mm(per_point, f64::from(slice.rect.width()));
    let length = (mm / per_point) as f32;
    let corner = slice.rect.left_bottom() + vec2(MARGIN + 2.0, -13.0);
    let bar = Rect::from_min_size(corner, vec2(length, 2.0));
    // Whole pixels, because the bar is a measure.
    let bar = bar.round_to_pixels(painter.pixels_per_point());
    annotations::Ground::BLACK.shade(painter, bar.expand(4.0));
    painter.rect_filled(bar, 0.0, IN_VIEW.t1);
    let length_text = with_unit(&fixed(mm, 0), "mm");
    let at = bar.left_top() - vec2(0.0, 3.0);
    let span = (&*length_text, theme::regular(size::CAPTION), IN_VIEW.t1);
    annotations::text(painter, at, Align2::LEFT_BOTTOM, &[span]).union(bar)
}

/// The window and the share of glyphs, as far as they are shown.
fn joined(window: Option<&str>, glyphs: Option<&str>) -> Option<String> {
    let parts: Vec<&str> = window.into_iter().chain(glyphs).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// `FA 0–0.87`: the window of the topmost visible image.
pub(super) fn window_limits_text(state: &State) -> Option<String> {
    window_of(state).map(|(name, range)| format!("{name} {range}"))
}

/// The name of the layer and the range of its window.
fn window_of(state: &State) -> Option<(&str, String)> {
    let layers = state.document.layers.iter().rev();
    let scalar = |l: &&std::sync::Arc<Layer>| {
        l.content.picture().map(|v| v.kind) == Some(VolumeKind::Scalar)
    };
    let layer = layers.filter(|l| state.shows(l)).find(scalar)?;
    // Labels are not quantities: a window has no meaning for them.
    if layer.content.volume().is_some_and(|v| v.labels.is_some()) {
        return None;
    }
    let (low, high) = layer.display.window;
    let (low, high) = (low * layer.unit_scale, high * layer.unit_scale);
    // Same format as the window's own field.
    let decimals = decimals_of(f64::from(high - low)).max(0) as usize;
    let value = |v: f32| fixed(f64::from(v), decimals);
    let range = format!("{}–{}", value(low), value(high));
    Some((&layer.name, with_unit(&range, layer.unit)))
}
