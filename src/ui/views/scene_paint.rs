//! Annotations on top of the 3-D view: names, state, scales and orientation.

use super::bars::{self, Column};
use super::cut::Cut;
use super::drag::{CLICK, DragKind};
use super::legend::{self, Legend};
use super::scene_view::Scene;
use super::{
    Views, annotations, badge, chrome, clip_outline, fan, leak, pointer, rings, ruler, sampling,
    shortest_line, spheres,
};
use crate::data::region::RegionId;
use crate::data::{DataId, Shape};
use crate::scene::draw_list::MarkShape;
use crate::state::regions::region_radius_mm;
use crate::state::view::letter;
use crate::state::{CurveResult, Layout, Pane, State, Tool};
use crate::ui::theme::{self, IN_VIEW, Palette, size};
use crate::ui::widgets::end_mark::end_mark;
use crate::ui::widgets::paint::Span;
use egui::{Align2, Color32, Painter, Pos2, Rect, Stroke, Ui, pos2, vec2};
use glam::DVec3;
use std::borrow::Cow;

const MARGIN: f32 = 10.0;
/// Space between a region and its name.
const NAME_GAP: f32 = 12.0;
/// Distance between the lines of a title.
const LINE: f32 = 17.0;
/// Smallest width of a view for a whole title with the note that it is being refined.
const LATE: f32 = 190.0;
/// Largest number of regions that are all named.
const NAMED: usize = 24;
/// Width of names beside their colours, points.
pub(super) const CLASSES: f32 = 118.0;
/// Length of the axis marker's arms, points.
const ARM: f64 = 20.0;
/// Size of the shade behind a letter of the axes.
const LETTER_SHADE: egui::Vec2 = vec2(16.0, 16.0);

/// Some points of the live curves, which names avoid; those of earlier ones while only a graphics card has the points.
#[derive(Default)]
pub(super) struct CurvePoints {
    curves: Option<DataId>,
    points: Vec<[f32; 3]>,
}

impl CurvePoints {
    fn update(&mut self, live: Option<&CurveResult>) {
        const POINTS: usize = 1_500;
        let Some(live) = live else {
            *self = Self::default();
            return;
        };
        let curves = &live.output.kept;
        if self.curves == Some(curves.id()) || !curves.points.is_on_host() {
            return;
        }
        let step = curves.points.len() / POINTS + 1;
        self.points = curves.points.iter().step_by(step).copied().collect();
        self.curves = Some(curves.id());
    }
}

impl Views {
    /// `drawn`: the picture shows all streamlines.
    pub(super) fn scene_overlay(&mut self, ui: &Ui, scene: &Scene, hovered: bool, drawn: bool) {
        let state = scene.state;
        if state.document.is_empty() {
            return;
        }
        let painter = ui.painter().with_clip_rect(scene.rect);
        let p = theme::palette(ui.style());
        let opaque = |[r, g, b]: [u8; 3]| Color32::from_rgb(r, g, b);
        let ground = annotations::Ground {
            colour: p.canvas,
            shade: Some(state.view.visible.ground.map_or(p.canvas, opaque)),
        };
        // If there is a badge, it shows this.
        let late = self.badge.drawing_is_late(ui, drawn) && badge::text(state).is_none();
        let mut taken = title(&painter, scene, (p, ground), late);
        fan::in_scene(&painter, scene);
        if !self.still {
            clip_outline::in_scene(&painter, scene, p.accent);
        }
        let measured = ruler::in_scene(&painter, scene);
        let pointer_at = pointer(ui).filter(|_| hovered && self.drag.is_none());
        let here = (Pane::Scene, scene.rect);
        self.choosing_marks(&painter, state, here, pointer_at, p.accent);
        // A picture of this view alone shows its content, not how long that took.
        let (part, at_left) = (self.part(scene.rect), self.at_left());
        let alone = self.still && state.view.layout == Layout::Single;
        let badge = if alone {
            None
        } else {
            let badge = &mut self.badge;
            // Right of the title, none of which is in the right half.
            let from = taken.iter().map(|t| t.right()).fold(part.left(), f32::max) + MARGIN;
            badge.show(ui, &painter, (part, from), state, drawn, self.still)
        };
        let below_badge = match at_left {
            true => taken.iter().map(|t| t.bottom()).fold(part.top(), f32::max) + MARGIN,
            false => {
                let badge = badge.map_or(scene.rect.top(), |b| b.bottom());
                let button = if self.still {
                    0.0
                } else {
                    leak::button_height(state)
                };
                badge + button + MARGIN
            }
        };
        let right = match at_left {
            true => part.left() + MARGIN + annotations::DEC_LEGEND.x,
            false => part.right() - MARGIN,
        };
        let fits = part.width() > annotations::DEC_LEGEND.x + 2.0 * MARGIN;
        let legends = legend::of_scene(state);
        let mut scale: Vec<Rect> = Vec::new();
        // Legends without a bar go in the corner, bars below them.
        let mut corner = below_badge;
        for legend in &legends {
            match legend {
                Legend::Dec if fits => {
                    let at = (right, corner);
                    let (free, colours) = ((part, &*taken), dec_on_ground(state));
                    let place = annotations::dec_legend(&painter, at, free, colours, ground);
                    corner = place.bottom() + MARGIN;
                    scale.push(place);
                }
                Legend::Classes(texts) if part.width() > CLASSES => {
                    let place = classes(&painter, (p, ground), (part, at_left), corner, texts);
                    corner = place.bottom() + MARGIN;
                    scale.push(place);
                }
                Legend::Dec | Legend::Classes(_) | Legend::Bar { .. } => {}
            }
        }
        taken.extend(badge.into_iter().chain(scale).chain(measured));
        let bars: Vec<&Legend> = legends
            .iter()
            .filter(|legend| matches!(legend, Legend::Bar { .. }))
            .collect();
        let top = match corner > below_badge || bars.len() > 1 {
            true => corner,
            false => part.top(),
        };
        let buttons = (!self.still).then(|| chrome::scene_buttons_at(scene));
        let buttons: Vec<Rect> = buttons.into_iter().collect();
        let column = Column {
            area: part.with_min_y(top),
            at_left,
            ink: p.t1,
            ground,
            taken: &[&*taken, &buttons].concat(),
        };
        let painted = bars::show(&painter, &column, &bars);
        taken.extend(painted.plates);
        let at = pointer(ui).filter(|_| hovered);
        if let (Some(at), Some((place, text))) = (at, painted.missing)
            && place.contains(at)
        {
            annotations::label_at_pointer(&painter, at, (part, &mut taken), &text, p.t1);
        }
        taken.push(axis_marker(&painter, scene, ground));
        shortest_line::in_scene(&painter, scene, part, &mut taken);
        // Names come last: they avoid everything else.
        self.scene_regions(ui, &painter, scene, hovered, &mut taken);
    }

    fn scene_regions(
        &mut self,
        ui: &Ui,
        painter: &Painter,
        scene: &Scene,
        hovered: bool,
        taken: &mut Vec<Rect>,
    ) {
        let (state, part) = (scene.state, self.part(scene.rect));
        let solids = state.document.regions.iter().filter(|r| r.visible);
        let solids: Vec<(RegionId, Rect)> = solids
            .filter_map(|r| {
                let (low, high) = match &*r.shape {
                    Shape::Mask(_) => return None,
                    shape => shape.bounds(),
                };
                let reach_mm = (high - low).max_element() * 0.5;
                let (middle, radius) = scene.silhouette(r.shape.centre(), reach_mm)?;
                // Extends a little into the corners of the square; handles surround the selected region.
                let selected = state.runtime.regions.selected == Some(r.id);
                let side = if selected {
                    2.0 * (radius + NAME_GAP)
                } else {
                    1.8 * radius
                };
                Some((
                    r.id,
                    Rect::from_center_size(middle, egui::Vec2::splat(side)),
                ))
            })
            .collect();
        // Among many, names would hide the regions: only the dragged one, or the one under the pointer, is named.
        let many = solids.len() > NAMED;
        let under = pointer(ui).filter(|_| many && hovered);
        let under = under
            .and_then(|at| scene.region_under(at))
            .map(|(id, _)| id);
        let named =
            |id: RegionId| !many || state.runtime.regions.selected == Some(id) || under == Some(id);
        self.curve_points.update(state.runtime.track.live.value());
        let curves: Vec<Pos2> = self
            .curve_points
            .points
            .iter()
            .filter_map(|p| scene.screen(glam::Vec3::from(*p).as_dvec3()))
            .collect();
        for region in state.document.regions.iter().filter(|r| r.visible) {
            let colour = theme::region_colour(region);
            let selected = state.runtime.regions.selected == Some(region.id);
            let (centre, reach_mm) = match &*region.shape {
                Shape::Sphere { centre, radius_mm } => (*centre, *radius_mm),
                Shape::Box { centre, half_mm } => (*centre, half_mm.max_element()),
                // A mask has no fixed extent to place a label next to.
                Shape::Mask(_) => continue,
            };
            let Some((middle, radius)) = scene.silhouette(centre, reach_mm) else {
                continue;
            };
            if !scene.rect.contains(middle) {
                continue;
            }
            // Streamlines may hide the solid: its rim is always drawn.
            let rim = Cut::Circle {
                centre: middle,
                radius,
            };
            if matches!(&*region.shape, Shape::Sphere { .. }) {
                rings::rim(painter, &rim, region.role, colour, selected);
            }
            // Names stay in their half, each with its region.
            if !named(region.id) || !part.contains(middle) {
                continue;
            }
            // Next to its own region, where fewer curves are, and over no other; without such a place it is left out.
            let label = annotations::Label::new(painter, &region.name, colour);
            let circle =
                Rect::from_center_size(middle, egui::Vec2::splat(2.0 * (radius + NAME_GAP)));
            let others = solids.iter().filter(|(id, _)| *id != region.id);
            let (mut around, middles): (Vec<Rect>, Vec<Pos2>) =
                others.map(|(_, rect)| (*rect, rect.center())).unzip();
            around.extend_from_slice(taken);
            let hidden = |place: &Rect| curves.iter().filter(|at| place.contains(**at)).count();
            if let Some(place) = label.place(circle, part, (&around, &middles), hidden) {
                label.paint(painter, place);
                taken.push(place);
            }
        }
        self.scene_tools(ui, painter, scene, hovered, taken);
    }

    /// Paints samples, spheres, a leak, and the active tool with its text, clear of the text already there.
    fn scene_tools(
        &mut self,
        ui: &Ui,
        painter: &Painter,
        scene: &Scene,
        hovered: bool,
        taken: &mut Vec<Rect>,
    ) {
        let state = scene.state;
        let pointer_at = pointer(ui).filter(|_| hovered);
        // The text of a tool at the pointer covers no button.
        if hovered {
            taken.push(chrome::scene_buttons_at(scene));
            taken.extend(leak::button_in_scene(ui, scene));
        }
        sampling::in_scene(painter, scene, taken);
        spheres::in_scene(painter, scene);
        leak::in_scene(painter, scene);
        self.brush_in_scene(ui, painter, scene, hovered);
        spheres::preview_in_scene(painter, scene, self.drag.as_ref(), pointer_at, taken);
        let rests = pointer_at.filter(|_| self.drag.is_none());
        spheres::fixed_in_scene(painter, scene, rests, taken);
        let Tool::NewRegion { role, .. } = state.view.tool else {
            return;
        };
        let colour = theme::role_colour(role);
        let placing = self.drag.as_ref().and_then(|d| match &d.kind {
            DragKind::NewRegion { centre } if d.pane == crate::state::Pane::Scene => {
                Some((*centre, d.pressed))
            }
            _ => None,
        });
        let at = pointer(ui).filter(|_| hovered || placing.is_some());
        let Some(at) = at else { return };
        let centre = placing
            .map(|p| p.0)
            .or_else(|| scene.flat_under(at).map(|flat| flat.point));
        let default_mm = region_radius_mm(role);
        if let Some((middle, radius)) = centre.and_then(|c| scene.silhouette(c, default_mm)) {
            let far = placing.map(|p| p.1.distance(at)).filter(|&d| d >= CLICK);
            rings::preview(painter, middle, far.unwrap_or(radius), colour);
        }
        if placing.is_none() {
            let free = (scene.rect, taken);
            annotations::label_at_pointer(painter, at, free, role.name(), colour);
        }
    }

    /// Top of the buttons at the right: below the badge and the button that goes back from a leak.
    pub(super) fn scene_top(scene: &Scene) -> f32 {
        let badge = badge::text(scene.state).map_or(0.0, |_| badge::HEIGHT + 6.0);
        scene.rect.top() + 8.0 + badge + leak::button_height(scene.state)
    }
}

/// The name of the view, at the top left, in lines that fit; returns their rectangles.
fn title(
    painter: &Painter,
    scene: &Scene,
    (p, ground): (&Palette, annotations::Ground),
    late: bool,
) -> Vec<Rect> {
    let corner = scene.rect.min + vec2(MARGIN, MARGIN + 6.0);
    let text =
        |at: Pos2, spans: &[Span]| annotations::on(painter, at, Align2::LEFT_CENTER, spans, ground);
    let more = if late { " · drawing…" } else { "" };
    // A small view has no space for both.
    let is_narrow = late && scene.rect.width() < LATE;
    let projection = if is_narrow { "" } else { " perspective" };
    let spans = [
        ("3-D", theme::semibold(size::LABEL), p.t1),
        (projection, theme::regular(size::LABEL), p.t2),
        (more, theme::regular(size::LABEL), p.warning),
    ];
    let first = text(corner, &spans);
    let mut lines = vec![first];
    let font = theme::medium(size::LABEL);
    let mut below = corner + vec2(0.0, LINE);
    if let Some((stopped, _)) = scene.state.stopped() {
        let only = format!("only: {}", stopped.reason.label());
        let galley = painter.layout_no_wrap(only.clone(), font.clone(), p.warning);
        let right = pos2(first.right() + 10.0, corner.y);
        let fits = right.x + galley.size().x + MARGIN <= scene.rect.right();
        let at = if fits { right } else { below };
        lines.push(text(at, &[(&only, font.clone(), p.warning)]));
        if !fits {
            below.y += LINE;
        }
    }
    if scene.state.sides_unknown() {
        let span = ("left and right unknown", font, p.warning);
        lines.push(text(below, &[span]));
    }
    lines
}

/// Names beside their colours; returns their rectangle.
pub(super) fn classes(
    painter: &Painter,
    (p, ground): (&Palette, annotations::Ground),
    (pane, at_left): (Rect, bool),
    top: f32,
    labels: &[(Cow<str>, [u8; 3], Option<MarkShape>)],
) -> Rect {
    let (edge, way, align) = match at_left {
        true => (pane.left() + MARGIN, 1.0, Align2::LEFT_CENTER),
        false => (pane.right() - MARGIN, -1.0, Align2::RIGHT_CENTER),
    };
    let mut all = Rect::NOTHING;
    for (i, (label, [r, g, b], shape)) in labels.iter().enumerate() {
        let y = top + 8.0 + 16.0 * i as f32;
        let at = pos2(edge + way * 14.0, y);
        let span = (&**label, theme::regular(size::CAPTION), p.t2);
        let place = annotations::on(painter, at, align, &[span], ground);
        all = all.union(place);
        let dot = Rect::from_center_size(pos2(edge + way * 4.0, y), vec2(8.0, 8.0));
        let colour = egui::Color32::from_rgb(*r, *g, *b);
        match shape {
            Some(shape) => end_mark(painter, dot.center(), 4.0, *shape, colour),
            // Only lines have this colour.
            None => {
                painter.hline(dot.x_range(), y, Stroke::new(2.0, colour));
            }
        }
        all = all.union(dot);
    }
    all
}

/// Three arms towards the sides of the body that face the viewer; returns their rectangle.
fn axis_marker(painter: &Painter, scene: &Scene, ground: annotations::Ground) -> Rect {
    let axes = scene.camera.axes();
    let origin = scene.rect.left_bottom() + vec2(44.0, -38.0);
    let reach = vec2(2.0, 2.0) * (ARM as f32 + 16.0);
    let place = Rect::from_center_size(origin, reach);
    let mut arms: Vec<(usize, DVec3)> = (0..3)
        .map(|a| {
            let axis = DVec3::AXES[a];
            let faces = axis.dot(axes.z_axis) >= 0.0;
            (a, if faces { axis } else { -axis })
        })
        .collect();
    // The nearest arm is drawn last.
    arms.sort_by(|a, b| a.1.dot(axes.z_axis).total_cmp(&b.1.dot(axes.z_axis)));
    let unknown = scene.state.sides_unknown();
    let dec = dec_on_ground(scene.state);
    let on_screen = |direction: DVec3| {
        vec2(
            direction.dot(axes.x_axis) as f32,
            -direction.dot(axes.y_axis) as f32,
        )
    };
    let together: egui::Vec2 = arms
        .iter()
        .map(|(_, d)| on_screen(*d))
        .fold(egui::Vec2::ZERO, |sum, v| sum + v);
    // An arm towards the viewer is drawn as a point, so its letter avoids the other two.
    let is_short = |arm: egui::Vec2| arm.length() < 0.35;
    let letter_at = |arm: egui::Vec2| {
        let away = if is_short(arm) {
            -(together - arm)
        } else {
            arm
        };
        let away = away.normalized();
        let away = if away == egui::Vec2::ZERO {
            vec2(0.0, -1.0)
        } else {
            away
        };
        origin + arm * ARM as f32 + away * 9.0
    };
    // Shades of the letters alone, below all arms: one behind the whole marker would hide much of a small view.
    for (_, direction) in &arms {
        let at = letter_at(on_screen(*direction));
        ground.shade(painter, Rect::from_center_size(at, LETTER_SHADE));
    }
    let ground = annotations::Ground {
        shade: None,
        ..ground
    };
    for (a, direction) in &arms {
        let tip = origin + on_screen(*direction) * ARM as f32;
        painter.line_segment([origin, tip], Stroke::new(4.5, ground.halo()));
        painter.line_segment([origin, tip], Stroke::new(1.5, dec[*a]));
    }
    painter.circle_filled(origin, 1.5, IN_VIEW.t2);
    for (a, direction) in &arms {
        let arm = on_screen(*direction);
        let colour = dec[*a].gamma_multiply(if is_short(arm) { 0.7 } else { 1.0 });
        let mark = if unknown && *a == 0 { "?" } else { "" };
        let text = format!("{}{mark}", letter(*direction));
        let span = (&*text, theme::semibold(size::CAPTION), colour);
        let at = letter_at(arm);
        annotations::on(painter, at, Align2::CENTER_CENTER, &[span], ground);
    }
    place
}

/// Colours of the axes that are legible on the theme's background; a transparent picture keeps them.
fn dec_on_ground(state: &State) -> [Color32; 3] {
    match state.view.light_theme {
        true => theme::DEC_ON_WHITE,
        false => theme::DEC,
    }
}
