//! A snapshot compared with the present: each pane shows the present left of a divider and the snapshot right of it,
//! from the same viewpoint.

use super::{Views, slice_paint};
use crate::state::runtime::SnapshotComparison;
use crate::state::{Action, Pane, SnapshotAction, State};
use crate::ui::theme::{self, IN_VIEW, size};
use crate::ui::widgets::field::{self, Typed};
use crate::ui::widgets::{focus, paint};
use egui::{Color32, CursorIcon, Id, Rect, Sense, Stroke, Ui, UiBuilder, WidgetInfo, pos2, vec2};
use std::sync::Arc;

/// The half of divided panes that these views fill.
pub(super) struct Half {
    /// Position of the divider, as a fraction of a pane's width.
    share: f32,
    /// The half right of the divider.
    right: bool,
    /// Window text of the other half: the same text is shown only once.
    pub other_window: Option<String>,
}

impl Half {
    /// The half left of the divider.
    pub fn present(comparing: &SnapshotComparison, seen: &State) -> Self {
        Self {
            share: comparing.share,
            right: false,
            other_window: slice_paint::window_limits_text(seen),
        }
    }

    fn divider(&self, rect: Rect) -> f32 {
        (rect.left() + rect.width() * self.share).round()
    }
}

/// Space for a letter next to the divider, from the letter's centre, points.
const CLEAR: f32 = 13.0;

/// Distance within which the divider can be grabbed, points.
const GRIP: f32 = 5.0;
const LABEL: f32 = 20.0;
/// Width of the field for a new name.
const FIELD: f32 = 160.0;

impl Views {
    /// The part of a pane that is filled: all of it if nothing is compared.
    pub(super) fn part(&self, rect: Rect) -> Rect {
        match &self.half {
            None => rect,
            Some(half) if half.right => rect.with_min_x(half.divider(rect)),
            Some(half) => rect.with_max_x(half.divider(rect)),
        }
    }

    /// Whether this is the left half, which shows at its left edge what is usually at the right.
    pub(super) fn at_left(&self) -> bool {
        self.half.as_ref().is_some_and(|half| !half.right)
    }

    /// Centre of a letter that the divider would cross: moved aside, by the same amount in both halves.
    pub(super) fn clear_of_divider(&self, rect: Rect, middle: f32) -> f32 {
        match self.half.as_ref().map(|half| half.divider(rect)) {
            Some(x) if (x - middle).abs() < CLEAR => {
                let left = x - CLEAR;
                if left - CLEAR < rect.left() {
                    x + CLEAR
                } else {
                    left
                }
            }
            _ => middle,
        }
    }

    /// Views of the snapshot: nothing can be dragged, and they use panes of their own in the renderer.
    fn compared(of_picture: bool) -> Self {
        Self {
            still: true,
            compared: true,
            for_picture: of_picture,
            ..Self::default()
        }
    }

    /// Draws a pane of the snapshot over that of the present, on its side of the divider.
    pub(super) fn compare(
        &mut self,
        ui: &mut Ui,
        (pane, rect, legend): (Pane, Rect, bool),
        (comparing, seen, state): (&SnapshotComparison, &State, &State),
        actions: &mut Vec<Action>,
    ) {
        let x = (rect.left() + rect.width() * comparing.share).round();
        let right = Rect::from_min_max(pos2(x, rect.top()), rect.max);
        let id = ("compared", pane);
        let mut child = ui.new_child(UiBuilder::new().max_rect(rect).id_salt(id));
        child.set_clip_rect(right.intersect(ui.clip_rect()));
        let of_picture = self.still;
        let other = self
            .other
            .get_or_insert_with(|| Box::new(Self::compared(of_picture)));
        other.half = Some(Half {
            share: comparing.share,
            right: true,
            other_window: slice_paint::window_limits_text(state),
        });
        let mut nothing = Vec::new();
        if pane == Pane::Scene {
            other.scene(&mut child, rect, seen, &mut nothing);
        } else {
            other.slice(&mut child, pane, rect, legend, seen, &mut nothing);
        }
        let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
        painter.vline(
            x,
            rect.y_range(),
            Stroke::new(3.0, Color32::from_black_alpha(160)),
        );
        painter.vline(x, rect.y_range(), Stroke::new(1.0, IN_VIEW.accent));
        let font = theme::medium(size::CAPTION);
        // Above the letters of the edge.
        let y = rect.bottom() - 64.0;
        let name = comparing
            .snapshot
            .label()
            .replacen("snapshot", "Snapshot", 1);
        let mut plate = Rect::NOTHING;
        for (text, to_left) in [("Now", true), (&*name, false)] {
            let width = paint::width(ui, text, font.clone()) + 12.0;
            let left = if to_left { x - 6.0 - width } else { x + 6.0 };
            plate = Rect::from_min_size(pos2(left, y), vec2(width, LABEL));
            if !rect.shrink(2.0).contains_rect(plate) {
                plate = Rect::NOTHING;
                continue;
            }
            painter.rect_filled(plate, theme::radius::CHIP, Color32::from_black_alpha(170));
            paint::centre(&painter, plate, text, font.clone(), IN_VIEW.t1);
        }
        if !self.still && plate.is_positive() {
            self.name_snapshot(ui, (pane, plate), (comparing, &name), state, actions);
        }
        let grip = Rect::from_min_max(pos2(x - GRIP, rect.top()), pos2(x + GRIP, rect.bottom()));
        let response = ui
            .interact(grip, Id::unique(("divider", pane)), Sense::drag())
            .on_hover_cursor(CursorIcon::ResizeHorizontal);
        response.widget_info(|| {
            let name = format!("Divider of {}", pane.name());
            WidgetInfo::labeled(egui::Role::Splitter, true, name)
        });
        if response.dragged()
            && let Some(at) = response.interact_pointer_pos()
        {
            let share = (at.x - rect.left()) / rect.width().max(1.0);
            actions.push(Action::Snapshot(SnapshotAction::MoveDivider(
                share.clamp(0.0, 1.0),
            )));
        }
    }

    /// A click on a snapshot's name opens a field for a new one.
    fn name_snapshot(
        &mut self,
        ui: &mut Ui,
        (pane, plate): (Pane, Rect),
        (comparing, shown): (&SnapshotComparison, &str),
        state: &State,
        actions: &mut Vec<Action>,
    ) {
        let mut snapshots = state.runtime.snapshots.all.iter();
        let number = snapshots.position(|s| Arc::ptr_eq(s, &comparing.snapshot));
        let Some(number) = number else { return };
        if let Some((named_pane, mut name)) =
            self.naming.take_if(|(named_pane, _)| *named_pane == pane)
        {
            let place = plate
                .with_max_x(plate.left() + FIELD)
                .expand2(vec2(0.0, 3.0));
            let free = ui.memory(|m| m.focused().is_none());
            match field::text(ui, place, "Name of the snapshot", &mut name, "Name", free) {
                Typed::Editing => self.naming = Some((named_pane, name)),
                Typed::Entered if !name.trim().is_empty() => {
                    let name = name.trim().to_owned();
                    actions.push(Action::Snapshot(SnapshotAction::Rename { number, name }));
                }
                Typed::Entered | Typed::Cancelled => {}
            }
            return;
        }
        let id = Id::unique(("name of the snapshot", pane));
        let response = ui
            .interact(plate, id, Sense::click_and_drag())
            .on_hover_text("Click to name it");
        paint::focus_ring(
            ui.painter(),
            theme::palette(ui.style()),
            &response,
            plate,
            0,
        );
        focus::named_button(&response, shown);
        if response.clicked() {
            self.naming = Some((pane, comparing.snapshot.name.clone()));
            ui.ctx().request_repaint();
        }
    }
}
