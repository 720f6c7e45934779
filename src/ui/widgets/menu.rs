//! Drop-down fields and the rows of menus.

use super::super::icons;
use super::super::theme::{self, radius, size, space};
use super::paint;
use egui::{Popup, PopupCloseBehavior, Rect, Response, Role, Sense, Ui, WidgetInfo, pos2, vec2};

/// A field that opens a menu; `rows` fills it and returns what was chosen.
pub fn select<T>(
    ui: &mut Ui,
    rect: Rect,
    name: &str,
    shown: &str,
    rows: impl FnOnce(&mut Ui) -> Option<T>,
) -> Option<T> {
    let p = theme::palette(ui.style());
    let response = ui.interact(
        rect,
        ui.make_persistent_id(("select", name)),
        Sense::click(),
    );
    let painter = ui.painter();
    paint::field(
        painter,
        p,
        rect,
        if response.hovered() { p.b3 } else { p.b2 },
    );
    let inner = paint::inset(rect, 8.0, 26.0);
    paint::left(painter, inner, shown, theme::regular(size::LABEL), p.t1);
    let caret = pos2(rect.right() - 14.0, rect.center().y);
    paint::icon(painter, caret, icons::CARET_DOWN, 14.0, p.t2);
    paint::focus_ring(painter, p, &response, rect, radius::CONTROL);
    response.widget_info(|| WidgetInfo {
        current_text_value: Some(shown.to_owned()),
        ..WidgetInfo::labeled(Role::ComboBox, true, name)
    });
    popup(&response, rect.width().max(140.0), rows)
}

/// A menu under a widget, opened by its click.
pub fn popup<T>(
    anchor: &Response,
    width: f32,
    rows: impl FnOnce(&mut Ui) -> Option<T>,
) -> Option<T> {
    let shown = Popup::menu(anchor)
        .gap(2.0)
        .width(width)
        .close_behavior(PopupCloseBehavior::CloseOnClick)
        .show(|ui| {
            ui.set_width(width - 8.0);
            ui.spacing_mut().item_spacing.y = 0.0;
            let chosen = rows(ui);
            place_anew(ui);
            // A click closes it anyway, a key does not.
            if chosen.is_some() {
                ui.close();
            }
            chosen
        });
    shown.and_then(|s| s.inner)
}

/// A menu that has grown while it is open finds its place in another frame.
fn place_anew(ui: &Ui) {
    let (id, height) = (ui.scope_id().with("height"), ui.min_rect().height());
    let known = ui.data(|d| d.get_temp::<f32>(id));
    if known != Some(height) {
        ui.data_mut(|d| d.insert_temp(id, height));
        ui.ctx().request_repaint();
    }
}

/// A row of a menu.
pub struct Item<'a> {
    text: &'a str,
    icon: Option<&'a str>,
    key: &'a str,
    chosen: bool,
    enabled: bool,
}

impl<'a> Item<'a> {
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            icon: None,
            key: "",
            chosen: false,
            enabled: true,
        }
    }

    pub fn icon(mut self, icon: &'a str) -> Self {
        self.icon = Some(icon);
        self
    }

    /// Right-aligned: the key that does the same.
    pub fn key(mut self, key: &'a str) -> Self {
        self.key = key;
        self
    }

    pub fn chosen(mut self, chosen: bool) -> Self {
        self.chosen = chosen;
        self
    }

    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Returns whether it was clicked.
    pub fn show(self, ui: &mut Ui) -> bool {
        self.show_with(ui, |_, _| {})
    }

    /// As [`Item::show`], with something painted in the icon's place.
    fn show_with(self, ui: &mut Ui, glyph: impl FnOnce(&egui::Painter, egui::Pos2)) -> bool {
        let p = theme::palette(ui.style());
        let sense = if self.enabled {
            Sense::click()
        } else {
            Sense::hover()
        };
        let size_wanted = vec2(ui.available_width(), 26.0);
        let (rect, response) = ui.allocate_exact_size(size_wanted, sense);
        let painter = ui.painter();
        let lit = self.enabled && (response.hovered() || response.has_focus());
        if lit {
            painter.rect_filled(rect, radius::CHIP, p.b3);
        } else if self.chosen {
            painter.rect_filled(rect, radius::CHIP, p.tint);
        }
        let colour = if self.enabled { p.t1 } else { p.t3 };
        let mut text = paint::inset(rect, 8.0, 8.0);
        let at = pos2(text.left() + 8.0, rect.center().y);
        if let Some(icon) = self.icon {
            paint::icon(painter, at, icon, size::ICON, p.t2);
            text.min.x += 24.0;
        }
        glyph(painter, at);
        let font = theme::regular(size::LABEL);
        if !self.key.is_empty() {
            let key = paint::right(painter, text, self.key, font.clone(), p.t3);
            text.max.x = key.left() - 8.0;
        }
        paint::left(painter, text, self.text, font, colour);
        response.widget_info(|| {
            WidgetInfo::selected(Role::MenuItem, self.enabled, self.chosen, self.text)
        });
        response.clicked()
    }
}

/// A row for each of some things, and the one that was chosen.
pub fn choice<T, N: AsRef<str>>(
    ui: &mut Ui,
    all: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> N,
) -> Option<T> {
    let mut chosen = None;
    for one in all {
        if Item::new(name(&one).as_ref()).show(ui) {
            chosen = Some(one);
        }
    }
    chosen
}

/// A row of a menu with a painted glyph before its text.
pub fn glyph_item(
    ui: &mut Ui,
    text: &str,
    key: &str,
    chosen: bool,
    glyph: impl FnOnce(&egui::Painter, egui::Pos2),
) -> bool {
    Item {
        icon: Some(" "),
        ..Item::new(text)
    }
    .key(key)
    .chosen(chosen)
    .show_with(ui, glyph)
}

/// A line between groups of rows.
pub fn line(ui: &mut Ui) {
    let p = theme::palette(ui.style());
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 9.0), Sense::hover());
    let y = rect.center().y.round() + 0.5;
    ui.painter()
        .hline(rect.x_range(), y, egui::Stroke::new(1.0, p.line));
}

/// Words above the rows of a menu, on as many lines as they need.
pub fn words(ui: &mut Ui, text: &str) {
    let p = theme::palette(ui.style());
    let width = ui.available_width();
    let font = theme::regular(size::LABEL);
    let galley = ui
        .painter()
        .layout(text.to_owned(), font, p.t2, width - 16.0);
    let size_wanted = vec2(width, galley.size().y + 8.0);
    let (rect, response) = ui.allocate_exact_size(size_wanted, Sense::hover());
    ui.painter().galley(rect.min + vec2(8.0, 4.0), galley, p.t2);
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text));
}

/// A caption in a menu.
pub fn caption(ui: &mut Ui, text: &str) {
    let p = theme::palette(ui.style());
    let size_wanted = vec2(ui.available_width(), space::TABLE_HEAD + 2.0);
    let (rect, _) = ui.allocate_exact_size(size_wanted, Sense::hover());
    let inner = paint::inset(rect, 8.0, 8.0);
    paint::left(
        ui.painter(),
        inner,
        text,
        theme::regular(size::CAPTION),
        p.t3,
    );
}
