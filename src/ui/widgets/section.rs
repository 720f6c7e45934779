//! Heads and folds of a panel's blocks.

use super::super::icons;
use super::super::theme::{self, size, space};
use super::button::IconButton;
use super::{anchor, paint};
use egui::{Rect, Response, Role, Sense, Ui, WidgetInfo, pos2, vec2};

/// Height of the head of a block.
pub const HEAD: f32 = 36.0;

/// The head of a block; returns the place of the icon or fact on its right.
pub fn head(ui: &mut Ui, title: &str) -> Rect {
    let p = theme::palette(ui.style());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), HEAD), Sense::hover());
    let inner = paint::inset(rect, space::INSET, space::INSET);
    let title_at = paint::left(
        ui.painter(),
        inner,
        title,
        theme::semibold(size::LABEL),
        p.t1,
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Heading, true, title));
    paint::inset(inner, title_at.width() + space::INSET, 0.0)
}

/// A head with a fact on its right.
pub fn head_with(ui: &mut Ui, title: &str, fact: &str) {
    let place = head(ui, title);
    let p = theme::palette(ui.style());
    label(ui, place, fact, true, p.t3);
}

/// A head with an add button on its right.
pub fn head_with_add(ui: &mut Ui, title: &str, what: &str) -> Response {
    let place = head(ui, title);
    let button = IconButton::new(icons::PLUS, what);
    button.side(24.0).show_right(ui, place)
}

/// Text that a screen reader (and a test) finds.
pub fn label(ui: &mut Ui, rect: Rect, text: &str, right: bool, colour: egui::Color32) {
    let font = theme::regular(size::LABEL);
    let response = ui.interact(rect, ui.make_persistent_id(("fact", text)), Sense::hover());
    if right {
        paint::right(ui.painter(), rect, text, font, colour);
    } else {
        paint::left(ui.painter(), rect, text, font, colour);
    }
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text));
}

/// The space under a block and the line that ends it.
pub fn end(ui: &mut Ui) {
    let p = theme::palette(ui.style());
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 12.0), Sense::hover());
    paint::underline(ui.painter(), rect, p.line);
}

/// A row that opens and closes the block below; returns whether it is open, and whether it was clicked.
pub fn fold(ui: &mut Ui, title: &str, open: bool) -> (bool, bool) {
    let p = theme::palette(ui.style());
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), space::ROW), Sense::hover());
    // The id does not depend on the place of the row.
    let id = ui.make_persistent_id(("fold", title));
    let response = ui.interact(rect, id, Sense::click());
    let inner = paint::inset(rect, space::INSET, space::INSET);
    let colour = if response.hovered() { p.t1 } else { p.t2 };
    let icon = if open {
        icons::CARET_DOWN
    } else {
        icons::CARET_RIGHT
    };
    let at = pos2(inner.left() + 7.0, inner.center().y);
    paint::icon(ui.painter(), at, icon, 14.0, colour);
    let text = paint::inset(inner, 24.0, 0.0);
    paint::left(
        ui.painter(),
        text,
        title,
        theme::regular(size::LABEL),
        colour,
    );
    paint::focus_ring(ui.painter(), p, &response, inner, theme::radius::CONTROL);
    response.widget_info(|| WidgetInfo::selected(Role::DisclosureTriangle, true, open, title));
    let clicked = response.clicked();
    if clicked && !open {
        anchor::unfolded(ui, rect.y_range());
    }
    (open != clicked, clicked)
}
