//! A short-lived text next to a field about a value just typed there.

use super::super::theme::{self, radius, size};
use super::paint;
use egui::{
    Color32, Id, LayerId, Order, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, vec2,
};
use std::time::Duration;

const SHOWN_S: f64 = 6.0;

#[derive(Clone)]
struct Notice {
    text: String,
    /// The field's rectangle.
    place: Rect,
    until_s: f64,
}

fn id() -> Id {
    Id::unique("notice")
}

/// Shows a sentence under a field.
pub fn show_at(ui: &Ui, place: Rect, text: String) {
    let until_s = ui.input(|i| i.time) + SHOWN_S;
    let notice = Notice {
        text,
        place,
        until_s,
    };
    ui.data_mut(|d| d.insert_temp(id(), notice));
    ui.ctx().request_repaint();
}

/// Paints the notice over everything until its time is up or a button is pressed.
pub fn show(ui: &mut Ui, window: Rect) {
    let Some(notice) = ui.data(|d| d.get_temp::<Notice>(id())) else {
        return;
    };
    let left = notice.until_s - ui.input(|i| i.time);
    if left <= 0.0 || (left < SHOWN_S - 0.3 && ui.input(|i| i.pointer.any_pressed())) {
        ui.data_mut(|d| d.remove::<Notice>(id()));
        return;
    }
    ui.ctx()
        .request_repaint_after(Duration::from_secs_f64(left));
    let p = theme::palette(ui.style());
    let font = theme::regular(size::LABEL);
    let width = paint::width(ui, &notice.text, font.clone()) + 20.0;
    let below = notice.place.right_bottom() + vec2(-width, 3.0);
    let mut rect = Rect::from_min_size(below, vec2(width, 26.0));
    let inside = (window.left() + 4.0 - rect.left()).max(0.0);
    rect = rect.translate(vec2(inside, 0.0));
    let painter = ui.ctx().layer_painter(LayerId::new(Order::Tooltip, id()));
    let stroke = Stroke::new(1.0, p.warning);
    painter.rect(rect, radius::CONTROL, p.b2, stroke, StrokeKind::Inside);
    let ink: Color32 = p.t1;
    paint::centre(&painter, rect, &notice.text, font, ink);
    let response = ui.interact(rect, id().with("place"), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Status, true, &notice.text));
}
