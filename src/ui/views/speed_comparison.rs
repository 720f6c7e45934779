//! Each slice of the image next to that of the speeds (Lefohn 2004, figure 5.2): blue expands, black contracts.

use super::drag::CLICK;
use super::slice_view::Slice;
use super::{Views, annotations, letters, slice_paint, spheres};
use crate::render::PaneId;
use crate::scene::{self, Size};
use crate::state::{Action, Pane, SegmentAction, State, Tool, ViewAction};
use crate::ui::paint_callback::{PaneContent, pixels};
use crate::ui::theme::{self, IN_VIEW, size};
use egui::{Align2, Id, Rect, Sense, Ui, WidgetInfo, vec2};
use glam::DVec2;

const FIRST: u32 = 700;

impl Views {
    pub(super) fn speeds(
        &mut self,
        ui: &mut Ui,
        (pane, rect): (Pane, Rect),
        state: &State,
        actions: &mut Vec<Action>,
    ) {
        let Some((slice, _)) = Slice::new(ui, pane, rect, state) else {
            return;
        };
        let points = DVec2::new(f64::from(rect.width()), f64::from(rect.height()));
        let size_of = Size {
            points,
            pixels_per_point: f64::from(ui.pixels_per_point()),
        };
        let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
        if let Some(list) = scene::segment::speed_slice(state, pane, size_of) {
            let ctx = ui.ctx().clone();
            let id = PaneId(FIRST + u32::from(self.still));
            painter.add(pixels(&ctx, rect, id, PaneContent::Slice(list)));
        }
        spheres::on_slice(&painter, &slice);
        let under = painter.add(egui::Shape::Noop);
        let mut letters = Vec::new();
        if state.view.visible.letters {
            letters.extend(letters::show(&painter, &slice, &[], &[], &|middle| middle));
        }
        if state.view.visible.crosshair {
            painter.set(under, slice_paint::crosshair(&painter, &slice, &letters));
        }
        slice_paint::scale_bar(&painter, &slice);
        let name = match state.runtime.segment.speed {
            Some(_) => "Speed",
            None => "Speed: sample the structure first",
        };
        let at = rect.left_top() + vec2(10.0, 16.0);
        let title = [(name, theme::medium(size::LABEL), IN_VIEW.t1)];
        annotations::text_over(&painter, at, Align2::LEFT_CENTER, &title, &[]);
        let corner = rect.right_bottom() - vec2(12.0, 8.0);
        let legend = [(
            "blue grows, black shrinks",
            theme::regular(size::CAPTION),
            IN_VIEW.t2,
        )];
        annotations::text(&painter, corner, Align2::RIGHT_BOTTOM, &legend);
        if self.still {
            return;
        }
        let response = ui.interact(rect, Id::unique("speeds"), Sense::click_and_drag());
        let label = format!("Speed, {} slice", pane.name().to_lowercase());
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Canvas, true, &label));
        let Some(at) = response.interact_pointer_pos() else {
            return;
        };
        let world = state.view.on_slice(pane, slice.world(at), slice.bounds);
        match state.view.tool {
            Tool::Sphere { add } => {
                let pressed = ui.input(|i| i.pointer.press_origin());
                let ends = response.drag_stopped() || response.clicked();
                if let Some(pressed) = pressed.or(Some(at)).filter(|_| ends) {
                    let far = pressed.distance(at) >= CLICK;
                    let centre = slice.world(pressed);
                    let dragged = far.then(|| slice.world(at).distance(centre));
                    let sphere = spheres::new(add, centre, dragged);
                    actions.push(Action::Segment(SegmentAction::Sphere(sphere)));
                }
            }
            _ if response.is_pointer_button_down_on() || response.clicked() => {
                actions.push(Action::View(ViewAction::MoveCrosshair(world)));
            }
            _ => {}
        }
    }
}
