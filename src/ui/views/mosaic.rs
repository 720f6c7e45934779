//! Slices of one orientation in rows, starting with the lowest, all with the zoom of their view.

use super::cut::{Cut, to_world};
use super::slice_view::Slice;
use super::{Views, annotations, fill_between, letters, rings, slice_paint};
use crate::render::PaneId;
use crate::state::{Action, Pane, State, ViewAction};
use crate::ui::format::{fixed, with_unit};
use crate::ui::paint_callback::{PaneContent, pixels};
use crate::ui::theme::space::VIEW_GAP;
use crate::ui::theme::{self, IN_VIEW, size};
use egui::{Align2, Color32, Id, Rect, Sense, Shape, Ui, WidgetInfo, pos2, vec2};

/// First pane numbers in the renderer, for the window and for pictures.
const FIRST: u32 = 300;
pub(super) const FIRST_STILL: u32 = 500;

/// Smallest width for a whole title, points.
const WIDE: f32 = 280.0;

/// Position and orientation of the slice.
fn short_title(painter: &egui::Painter, slice: &Slice, name: &str) {
    let sides = match slice.pane {
        _ if slice_paint::sides_unknown(slice.state) => "sides unknown".to_owned(),
        Pane::Sagittal => "nose left".to_owned(),
        _ => slice.state.view.convention.name().to_lowercase(),
    };
    let (sides, colour) = match slice.state.view.turn.is_straight() {
        true => (sides, IN_VIEW.t2),
        false => {
            let (side, colour) = slice_paint::orientation(&slice.plane);
            (format!("{side} · turned, resampled"), colour)
        }
    };
    let corner = slice.rect.left_top() + vec2(6.0, 10.0);
    let lines = [(name, IN_VIEW.t1), (&*sides, colour)];
    for (i, (text, colour)) in lines.into_iter().enumerate() {
        let at = corner + vec2(0.0, 14.0 * i as f32);
        let span = (text, theme::medium(size::CAPTION), colour);
        annotations::bare(painter, at, Align2::LEFT_CENTER, &[span]);
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
        let places = state.view.mosaic_slices(state.document.head());
        let extent = framed.1 - framed.0;
        let (wide, high) = match pane {
            Pane::Sagittal => (extent.y, extent.z),
            Pane::Coronal => (extent.x, extent.z),
            Pane::Axial | Pane::Scene => (extent.x, extent.y),
        };
        let cells = cells(area, places.len(), wide as f32, high as f32);
        fill_between(ui, area, cells.iter().copied(), Color32::BLACK);
        self.panes = vec![(pane, area)];
        // One copy, whose crosshair moves from slice to slice.
        let mut seen = state.clone();
        for (i, (place, rect)) in places.into_iter().zip(cells).enumerate() {
            seen.view.look_at_place(axis, place);
            let first = if self.still { FIRST_STILL } else { FIRST };
            let id = PaneId(first + i as u32);
            let off_mm = place - state.view.place(axis);
            let here = off_mm.abs() < 1e-9;
            let name = name(&seen, axis, off_mm);
            self.mosaic_slice(ui, (pane, rect, id), &seen, (i == 0, here, name), actions);
        }
    }

    fn mosaic_slice(
        &mut self,
        ui: &mut Ui,
        (pane, rect, id): (Pane, Rect, PaneId),
        state: &State,
        (first, here, name): (bool, bool, String),
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
        let mut text = Vec::new();
        if first {
            // A small slice has no space for the whole title.
            match rect.width() < WIDE {
                true => short_title(&painter, &slice, &name),
                false => text = slice_paint::title(&painter, &slice, &[]),
            }
            text.push(slice_paint::scale_bar(&painter, &slice));
            if state.view.visible.letters {
                let letters = letters::show(&painter, &slice, &text, &[], &|middle| middle);
                text.extend(letters);
            }
        } else {
            let corner = rect.left_top() + vec2(6.0, 10.0);
            let ink = if here { IN_VIEW.t1 } else { IN_VIEW.t2 };
            let name_spans = (&*name, theme::medium(size::CAPTION), ink);
            let place = annotations::bare(&painter, corner, Align2::LEFT_CENTER, &[name_spans]);
            text.push(place);
        }
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
