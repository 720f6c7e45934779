//! Drop-down fields and the rows of menus, by mouse and by keys.

use super::super::icons;
use super::super::theme::{self, radius, size, space};
use super::focus::{self, HandledKeys};
use super::paint;
use egui::{
    EventFilter, FocusDirection, Id, Key, Popup, PopupCloseBehavior, Rect, Response, Role, Sense,
    Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2,
};

/// A field that opens a menu; `rows` fills it and returns the choice.
pub fn select<T>(
    ui: &mut Ui,
    rect: Rect,
    name: &str,
    shown: &str,
    rows: impl FnOnce(&mut Ui) -> Option<T>,
) -> Option<T> {
    let p = theme::palette(ui.style());
    let response = field(ui, rect, select_id(ui, name));
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
    drop_down(&response, rect.width().max(140.0), rows)
}

fn select_id(ui: &Ui, name: &str) -> Id {
    ui.make_persistent_id(("select", name))
}

/// Opens the menu of the field that [`select`] draws next in this frame. A click on an open menu's row closes it.
pub fn open_select(ui: &Ui, name: &str) {
    let field = ui.ctx().read_response(select_id(ui, name));
    let menu = field.map(|field| Popup::default_response_id(&field));
    if let Some(menu) = menu.filter(|menu| !Popup::is_id_open(ui.ctx(), *menu)) {
        Popup::open_id(ui.ctx(), menu);
    }
}

/// The place of a drop-down field. Arrow keys open it while it has the focus, even if that came from a click.
pub fn field(ui: &Ui, rect: Rect, id: Id) -> Response {
    let response = ui.interact(rect, id, Sense::click());
    focus::follow_click(ui, &response, id);
    if response.has_focus() {
        lock_arrows(ui, id);
        let arrows = presses(ui, Key::ArrowDown) + presses(ui, Key::ArrowUp);
        if arrows > 0 {
            Popup::open_id(ui.ctx(), Popup::default_response_id(&response));
        }
    }
    response
}

/// The menu of a drop-down field, which keeps the keyboard after a choice by mouse until the pointer moves over the
/// views.
pub fn drop_down<T>(
    field: &Response,
    width: f32,
    rows: impl FnOnce(&mut Ui) -> Option<T>,
) -> Option<T> {
    popup_that_closes(field, width, (PopupCloseBehavior::CloseOnClick, true), rows)
}

/// The arrow keys stay with this widget instead of moving the focus.
fn lock_arrows(ui: &Ui, id: Id) {
    let filter = EventFilter {
        horizontal_arrows: true,
        vertical_arrows: true,
        ..EventFilter::default()
    };
    ui.memory_mut(|m| m.set_focus_lock_filter(id, filter));
}

/// How often a key was pressed in this frame, without modifiers.
fn presses(ui: &Ui, requested: Key) -> usize {
    let is = |e: &egui::Event| {
        matches!(e, egui::Event::Key { key, pressed: true, modifiers, .. }
            if *key == requested && modifiers.is_none())
    };
    ui.input(|i| i.events.iter().filter(|e| is(e)).count())
}

/// The rows of the open menu that can be chosen.
#[derive(Clone, Default)]
struct Rows {
    /// Each with whether it is the current choice.
    all: Vec<(Id, bool)>,
    /// One of them was clicked in this frame, by mouse or key, perhaps the current choice.
    clicked: bool,
    /// Width of the longest row.
    wide: f32,
}

fn rows_id() -> Id {
    Id::unique("rows of the open menu")
}

/// A menu that was open in the last frame.
#[derive(Clone, Copy)]
struct Open {
    frame: u64,
    /// Opened by a widget that has the focus.
    by_key: bool,
    focus_return: FocusReturn,
}

/// Where the focus goes when a menu closes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FocusReturn {
    /// Returns to its origin.
    ToOrigin,
    /// Goes to the field that was clicked.
    ToField,
    Nowhere,
}

/// Moves the focus through the rows of an open menu; `opens`: this is its first frame.
fn arrows(ui: &Ui, opens: Option<Open>) {
    let rows: Rows = ui.data(|d| d.get_temp(rows_id())).unwrap_or_default();
    let count = rows.all.len();
    if count == 0 {
        return;
    }
    let focused = ui.memory(|m| m.focused());
    let at = rows.all.iter().position(|(id, _)| Some(*id) == focused);
    let chosen = rows.all.iter().position(|(_, chosen)| *chosen);
    let down = presses(ui, Key::ArrowDown) as isize - presses(ui, Key::ArrowUp) as isize;
    let next = match (opens, at) {
        // A menu without a current choice highlights no row for a mouse.
        (Some(open), _) => chosen.or(open.by_key.then_some(0)),
        _ if presses(ui, Key::Home) > 0 => Some(0),
        _ if presses(ui, Key::End) > 0 => Some(count - 1),
        (None, Some(at)) if down != 0 => {
            Some((at as isize + down).rem_euclid(count as isize) as usize)
        }
        (None, None) if down > 0 => Some(0),
        (None, None) if down < 0 => Some(count - 1),
        _ => None,
    };
    if let Some((id, _)) = next.and_then(|next| rows.all.get(next)) {
        ui.memory_mut(|m| {
            m.request_focus(*id);
            // The step is done: egui must not move the focus as well.
            m.move_focus(FocusDirection::None);
        });
    }
}

/// The menu at the pointer after a right click.
pub fn context(response: &Response, rows: impl FnOnce(&mut Ui)) {
    response.context_menu(|ui| {
        ui.data_mut(|d| d.insert_temp(rows_id(), Rows::default()));
        rows(ui);
        arrows(ui, None);
    });
}

/// A menu under a widget, opened by its click.
pub fn popup<T>(
    anchor: &Response,
    width: f32,
    rows: impl FnOnce(&mut Ui) -> Option<T>,
) -> Option<T> {
    popup_that_closes(
        anchor,
        width,
        (PopupCloseBehavior::CloseOnClick, false),
        rows,
    )
}

/// Like [`popup`], for a menu that contains other controls, too: a click on them leaves it open.
pub fn popup_with_controls<T>(
    anchor: &Response,
    width: f32,
    rows: impl FnOnce(&mut Ui) -> Option<T>,
) -> Option<T> {
    let closes = PopupCloseBehavior::CloseOnClickOutside;
    popup_that_closes(anchor, width, (closes, false), rows)
}

/// `is_field`: the keys then stay with the field that was clicked.
fn popup_that_closes<T>(
    anchor: &Response,
    width: f32,
    (closes, is_field): (PopupCloseBehavior, bool),
    rows: impl FnOnce(&mut Ui) -> Option<T>,
) -> Option<T> {
    let (known, frame) = (anchor.id.with("menu"), anchor.ctx.cumulative_frame_nr());
    let before: Option<Open> = anchor.ctx.data(|d| d.get_temp(known));
    let before = before.filter(|open| open.frame + 1 >= frame);
    let open = before.unwrap_or(Open {
        frame,
        by_key: anchor.has_focus(),
        focus_return: match anchor.has_focus() && !focus::is_by_click(anchor) {
            true => FocusReturn::ToOrigin,
            false if is_field => FocusReturn::ToField,
            false => FocusReturn::Nowhere,
        },
    });
    let open = Open { frame, ..open };
    let width = wide_enough(&anchor.ctx, known, width);
    let shown = Popup::menu(anchor)
        .gap(2.0)
        .width(width)
        .close_behavior(closes)
        .show(|ui| {
            ui.set_width(width - FRAME);
            ui.spacing_mut().item_spacing.y = 0.0;
            ui.data_mut(|d| d.insert_temp(rows_id(), Rows::default()));
            let chosen = rows(ui);
            arrows(ui, before.is_none().then_some(open));
            ui.data_mut(|d| d.insert_temp(known, open));
            reposition(ui);
            note_width(ui, known, width);
            // The current choice changes nothing, but it is a choice.
            let hit = closes == PopupCloseBehavior::CloseOnClick
                && ui.data(|d| {
                    d.get_temp::<Rows>(rows_id())
                        .is_some_and(|rows| rows.clicked)
                });
            let hit = hit || chosen.is_some();
            // A key does not close it by itself.
            if hit {
                ui.close();
                // The Enter that chose must not answer the sheet that opens in the same frame.
                ui.input_mut(|i| i.consume_key(egui::Modifiers::NONE, egui::Key::Enter));
            }
            (chosen, hit)
        });
    let closes = !Popup::is_id_open(&anchor.ctx, Popup::default_response_id(anchor));
    let (chosen, hit) = shown.map_or((None, false), |s| s.inner);
    // A click elsewhere gives the keyboard to the clicked control.
    let clicked = anchor.ctx.input(|i| i.pointer.any_click()) && !anchor.clicked();
    match before.filter(|_| closes).map(|open| open.focus_return) {
        Some(FocusReturn::ToOrigin) => anchor.request_focus(),
        Some(FocusReturn::ToField) if hit || !clicked => {
            focus::focus_by_click(anchor, HandledKeys::All);
        }
        Some(FocusReturn::ToField | FocusReturn::Nowhere) | None => {}
    }
    if closes {
        anchor.ctx.data_mut(|d| d.remove::<Open>(known));
    }
    chosen
}

/// Inset at the left and right of rows, within a menu.
const FRAME: f32 = 8.0;
/// Space between a wide menu and the window's edges.
const EDGE: f32 = 8.0;

fn width_id(menu: Id) -> Id {
    menu.with("width that rows need")
}

/// The width of a menu: at least `min_width`, and as wide as the longest row that it had when it was drawn last, within
/// the window.
fn wide_enough(ctx: &egui::Context, menu: Id, min_width: f32) -> f32 {
    let needed: Option<f32> = ctx.data(|d| d.get_temp(width_id(menu)));
    let max_width = ctx.content_rect().width() - 2.0 * EDGE;
    needed.unwrap_or(0.0).min(max_width).max(min_width)
}

/// Records the width that rows need; a pass in which they have less is not shown.
fn note_width(ui: &Ui, menu: Id, width: f32) {
    let rows: Rows = ui.data(|d| d.get_temp(rows_id())).unwrap_or_default();
    let needed = (rows.wide + FRAME + 1.0).ceil();
    let known: Option<f32> = ui.data(|d| d.get_temp(width_id(menu)));
    if known != Some(needed) {
        ui.data_mut(|d| d.insert_temp(width_id(menu), needed));
        match needed > width {
            true => ui
                .ctx()
                .request_discard("a menu is as wide as its longest row"),
            false => ui.ctx().request_repaint(),
        }
    }
}

/// A menu that has grown while open is placed again in another frame.
fn reposition(ui: &Ui) {
    let (id, height) = (ui.scope_id().with("height"), ui.min_rect().height());
    let known = ui.data(|d| d.get_temp::<f32>(id));
    if known != Some(height) {
        ui.data_mut(|d| d.insert_temp(id, height));
        ui.ctx().request_repaint();
    }
}

/// Insets at the left and right of a row's text, of its icon, and before its key.
const ROW_INSET: f32 = 8.0;
const ICON: f32 = 24.0;
const KEY: f32 = 8.0;

/// A row of a menu.
pub struct Item<'a> {
    text: &'a str,
    icon: Option<&'a str>,
    key: &'a str,
    chosen: bool,
    enabled: bool,
    reason: Option<&'a str>,
}

impl<'a> Item<'a> {
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            icon: None,
            key: "",
            chosen: false,
            enabled: true,
            reason: None,
        }
    }

    pub fn icon(mut self, icon: &'a str) -> Self {
        self.icon = Some(icon);
        self
    }

    /// Adds, right-aligned, the key with the same effect.
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

    /// Why the row cannot be chosen, shown on hover.
    pub fn reason(mut self, reason: Option<&'a str>) -> Self {
        self.reason = reason;
        self
    }

    /// Cannot be chosen for this reason, which stands where a key would.
    pub fn disabled(self, reason: Option<&'a str>) -> Self {
        match reason {
            Some(reason) => self.key(reason).enabled(false),
            None => self,
        }
    }

    /// Returns whether it was clicked.
    pub fn show(self, ui: &mut Ui) -> bool {
        self.show_with(ui, |_, _| {})
    }

    /// The width of its whole text.
    fn width(&self, ui: &Ui) -> f32 {
        let text_width = |text: &str| paint::width(ui, text, theme::regular(size::LABEL));
        let icon = if self.icon.is_some() { ICON } else { 0.0 };
        let key = match self.key {
            "" => 0.0,
            key => KEY + text_width(key),
        };
        2.0 * ROW_INSET + icon + text_width(self.text) + key
    }

    /// Like [`Item::show`], with a glyph painted in place of the icon.
    fn show_with(self, ui: &mut Ui, glyph: impl FnOnce(&egui::Painter, egui::Pos2)) -> bool {
        let p = theme::palette(ui.style());
        let sense = if self.enabled {
            Sense::click()
        } else {
            Sense::hover()
        };
        let desired_size = vec2(ui.available_width(), 26.0);
        let (rect, response) = ui.allocate_exact_size(desired_size, sense);
        // Read before `data_mut`: both lock the context, and nested locks deadlock.
        let (hit, wide) = (response.clicked(), self.width(ui));
        ui.data_mut(|d| {
            let rows = d.get_temp_mut_or_default::<Rows>(rows_id());
            rows.wide = rows.wide.max(wide);
            if self.enabled {
                rows.all.push((response.id, self.chosen));
                rows.clicked |= hit;
            }
        });
        if response.has_focus() {
            lock_arrows(ui, response.id);
        }
        let painter = ui.painter();
        let lit = self.enabled && (response.hovered() || response.has_focus());
        if lit {
            painter.rect_filled(rect, radius::CHIP, p.b3);
        } else if self.chosen {
            painter.rect_filled(rect, radius::CHIP, p.tint);
        }
        if self.enabled && response.has_focus() {
            // More plainly than the current choice and the row under the pointer: Enter chooses this one.
            let stroke = Stroke::new(1.5, p.accent);
            painter.rect_stroke(rect, radius::CHIP, stroke, StrokeKind::Inside);
        }
        let colour = if self.enabled { p.t1 } else { p.t3 };
        let mut text = paint::inset(rect, ROW_INSET, ROW_INSET);
        let at = pos2(text.left() + 8.0, rect.center().y);
        if let Some(icon) = self.icon {
            paint::icon(painter, at, icon, size::ICON, p.t2);
            text.min.x += ICON;
        }
        glyph(painter, at);
        let font = theme::regular(size::LABEL);
        if !self.key.is_empty() {
            let key = paint::right(painter, text, self.key, font.clone(), p.t3);
            text.max.x = key.left() - KEY;
        }
        paint::left(painter, text, self.text, font, colour);
        response.widget_info(|| {
            WidgetInfo::selected(Role::MenuItem, self.enabled, self.chosen, self.text)
        });
        let clicked = response.clicked();
        if let Some(reason) = self.reason.filter(|_| !self.enabled) {
            response.on_hover_text(reason);
        }
        clicked
    }
}

/// One row per item; returns the chosen item.
pub fn choice<T, N: AsRef<str>>(
    ui: &mut Ui,
    all: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> N,
) -> Option<T> {
    let mut chosen = None;
    for item in all {
        if Item::new(name(&item).as_ref()).show(ui) {
            chosen = Some(item);
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
        .hline(rect.x_range(), y, Stroke::new(1.0, p.line));
}

/// Text above the rows of a menu, on as many lines as needed.
pub fn text(ui: &mut Ui, text: &str) {
    let p = theme::palette(ui.style());
    let width = ui.available_width();
    let font = theme::regular(size::LABEL);
    let galley = ui
        .painter()
        .layout(text.to_owned(), font, p.t2, width - 16.0);
    let desired_size = vec2(width, galley.size().y + 8.0);
    let (rect, response) = ui.allocate_exact_size(desired_size, Sense::hover());
    ui.painter().galley(rect.min + vec2(8.0, 4.0), galley, p.t2);
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text));
}

/// A caption in a menu.
pub fn caption(ui: &mut Ui, text: &str) {
    let p = theme::palette(ui.style());
    let desired_size = vec2(ui.available_width(), space::TABLE_HEAD + 2.0);
    let (rect, _) = ui.allocate_exact_size(desired_size, Sense::hover());
    let inner = paint::inset(rect, 8.0, 8.0);
    paint::left(
        ui.painter(),
        inner,
        text,
        theme::regular(size::CAPTION),
        p.t3,
    );
}
