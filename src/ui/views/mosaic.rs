//! Slices of one orientation in rows, starting with the lowest, all with the zoom of their view. The last cell has no
//! slice: it has the title, the letters of the sides and the scale bar, which would cover a small picture.

use super::cut::{Cut, to_world};
use super::slice_view::Slice;
use super::{Views, annotations, fill_between, letters, rings, slice_paint};
use crate::render::PaneId;
use crate::state::view::{STRAIGHT_DEG, tilt_deg};
use crate::state::{Action, Pane, State, ViewAction};
use crate::ui::format::{fixed, with_unit};
use crate::ui::paint_callback::{PaneContent, pixels};
use crate::ui::theme::space::VIEW_GAP;
use crate::ui::theme::{self, IN_VIEW, size};
use egui::{Align2, Color32, Id, Rect, Sense, Shape, Ui, WidgetInfo, pos2, vec2};

/// First pane numbers in the renderer, for the window and for pictures.
const FIRST: u32 = 300;
pub(super) const FIRST_STILL: u32 = 500;

/// Height of a line of the key, and of a letter above it, points.
const LINE: f32 = 14.0;
const LETTER_SPACE: f32 = 18.0;

/// The plane's name and the sides of the patient in a cell without a slice, with the letters at its edges
/// and the scale bar.
fn key(ui: &Ui, pane: Pane, rect: Rect, state: &State) {
    let Some((slice, _)) = Slice::new(ui, pane, rect, state) else {
        return;
    };
    let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
    painter.rect_filled(rect, 0.0, Color32::BLACK);
    let name = state.view.slice_name(pane);
    let tilt_deg = tilt_deg(slice.plane.normal());
    let turned = !state.view.turn.is_straight();
    let tilt = (tilt_deg >= STRAIGHT_DEG).then(|| format!("{}°", fixed(tilt_deg, 1)));
    let (sides, colour) = match state.sides_unknown() {
        true => ("left and right unknown".to_owned(), IN_VIEW.warning),
        false => slice_paint::orientation(&slice.plane),
    };
    let (regular, bold) = (
        theme::regular(size::CAPTION),
        theme::semibold(size::CAPTION),
    );
    let quiet = |text| (text, regular.clone(), IN_VIEW.t2);
    let view = state.view.turned_view(pane);
    let resampled = slice_paint::resampled(state);
    let pieces = [
        Some((&*name, bold, IN_VIEW.t1)),
        tilt.as_deref().map(quiet),
        Some((&*sides, regular.clone(), colour)),
        view.as_deref().map(quiet),
        resampled.as_deref().map(quiet),
        turned.then_some(quiet("mm from the crosshair")),
    ];
    let pieces = pieces.into_iter().flatten().map(|piece| vec![piece]);
    let lines = slice_paint::in_lines(&painter, rect.width() - 12.0, pieces);
    // Between the letters at the upper and the lower edge; those at the sides have a line of their own.
    let mut y = rect.top() + LETTER_SPACE;
    for spans in &lines {
        y += LINE;
        if (y - rect.center().y).abs() < LINE {
            y = rect.center().y + LINE;
        }
        let at = pos2(rect.center().x, y);
        annotations::bare(&painter, at, Align2::CENTER_CENTER, spans);
    }
    let bar = slice_paint::scale_bar(&painter, &slice);
    if state.view.visible.letters {
        letters::show(&painter, &slice, &[bar], &[], &|middle| middle);
    }
}

/// The position of a slice; of a turned one, its distance from the crosshair.
fn name(state: &State, axis: usize, off_mm: f64) -> String {
    if state.view.turn.is_straight() {
        let at = with_unit(&fixed(state.view.crosshair[axis], 1), "mm");
        return format!("{} {at}", ["x", "y", "z"][axis]);
    }
    let sign = if off_mm >= 0.05 { "+" } else { "" };
    with_unit(&format!("{sign}{}", fixed(off_mm, 1)), "mm")
}

/// The number of columns that makes slices of this aspect ratio largest.
fn cells(area: Rect, count: usize, wide: f32, high: f32) -> Vec<Rect> {
    let scale = |columns: usize| {
        let rows = count.div_ceil(columns);
        let (w, h) = (area.width() / columns as f32, area.height() / rows as f32);
        (w / wide).min(h / high)
    };
    let columns = (1..=count.max(1))
        .max_by(|a, b| scale(*a).total_cmp(&scale(*b)))
        .unwrap_or(1);
    let rows = count.div_ceil(columns).max(1);
    let (w, h) = (area.width() / columns as f32, area.height() / rows as f32);
    let cell = |i: usize| {
        let corner = area.min + vec2((i % columns) as f32 * w, (i / columns) as f32 * h);
        let end = corner + vec2(w - VIEW_GAP, h - VIEW_GAP);
        Rect::from_min_max(
            pos2(corner.x.round(), corner.y.round()),
            pos2(end.x.round(), end.y.round()),
        )
    };
    (0..count).map(cell).collect()
}

impl Views {
    pub(super) fn mosaic(
        &mut self,
        ui: &mut Ui,
        area: Rect,
        state: &State,
        actions: &mut Vec<Action>,
    ) {
        let pane = state.view.mosaic_pane();
        let Some(axis) = pane.normal_axis() else {
            return;
        };
        let framed = state.framed_by_slice(pane);
        let places = state.mosaic_slices();
        let extent = framed.1 - framed.0;
        let (wide, high) = match pane {
            Pane::Sagittal => (extent.y, extent.z),
            Pane::Coronal => (extent.x, extent.z),
            Pane::Axial | Pane::Scene => (extent.x, extent.y),
        };
        let cells = cells(area, places.len() + 1, wide as f32, high as f32);
        fill_between(ui, area, cells.iter().copied(), Color32::BLACK);
        self.panes = vec![(pane, area)];
        // One copy, whose crosshair moves from slice to slice.
        let mut seen = state.clone();
        for (i, (place, rect)) in places.into_iter().zip(cells.iter().copied()).enumerate() {
            seen.view.look_at_place(axis, place);
            let first = if self.still { FIRST_STILL } else { FIRST };
            let id = PaneId(first + i as u32);
            let off_mm = place - state.view.place(axis);
            let here = off_mm.abs() < 1e-9;
            let name = name(&seen, axis, off_mm);
            self.mosaic_slice(ui, (pane, rect, id), &seen, (here, name), actions);
        }
        if let Some(rect) = cells.last() {
            key(ui, pane, *rect, state);
        }
    }

    fn mosaic_slice(
        &mut self,
        ui: &mut Ui,
        (pane, rect, id): (Pane, Rect, PaneId),
        state: &State,
        (here, name): (bool, String),
        actions: &mut Vec<Action>,
    ) {
        let Some((slice, list)) = Slice::new(ui, pane, rect, state) else {
            return;
        };
        let ctx = ui.ctx().clone();
        let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
        painter.add(pixels(&ctx, rect, id, PaneContent::Slice(list)));
        for region in state.document.regions.iter().filter(|r| r.visible) {
            if let Some(cut) = Cut::new(&region.shape, &slice.plane, rect, &mut self.outlines) {
                let colour = theme::region_colour(region);
                rings::ring(&painter, &cut, region.role, colour, false);
            }
        }
        let under = painter.add(Shape::Noop);
        let corner = rect.left_top() + vec2(6.0, 10.0);
        let ink = if here { IN_VIEW.t1 } else { IN_VIEW.t2 };
        let name_spans = (&*name, theme::medium(size::CAPTION), ink);
        let text = [annotations::bare(
            &painter,
            corner,
            Align2::LEFT_CENTER,
            &[name_spans],
        )];
        if here && state.view.visible.crosshair && !self.still {
            painter.set(under, slice_paint::crosshair(&painter, &slice, &text));
        }
        if self.still {
            return;
        }
        let response = ui.interact(rect, Id::unique(("mosaic", id.0)), Sense::click());
        let label = format!("{} slice, {name}", pane.name());
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Canvas, true, &label));
        if let Some(pointer) = response
            .interact_pointer_pos()
            .filter(|_| response.clicked())
        {
            let world = to_world(&slice.plane, rect, pointer);
            let world = state.view.on_slice(pane, world, slice.bounds);
            actions.push(Action::View(ViewAction::MoveCrosshair(world)));
        }
    }
}
