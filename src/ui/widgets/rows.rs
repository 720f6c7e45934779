//! Rows of lists: a name with a fact, across the whole width of a panel.

use super::super::theme::{self, radius, size, space};
use super::paint;
use crate::state::core::display::STALE_OPACITY;
use egui::{Color32, Pos2, Rect, Response, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

/// A row that can be selected and dragged; the caller paints into it.
pub fn list_row(
    ui: &mut Ui,
    name: &str,
    salt: impl std::hash::Hash + std::fmt::Debug,
    selected: bool,
) -> Response {
    let desired_size = vec2(ui.available_width(), space::ROW);
    let (rect, _) = ui.allocate_exact_size(desired_size, Sense::hover());
    list_row_at(ui, rect, name, salt, selected)
}

/// Names the row of something in a list.
pub fn row_id(ui: &Ui, salt: impl std::fmt::Debug) -> egui::Id {
    ui.make_persistent_id(("row", format!("{salt:?}")))
}

/// A row that is being dragged to another index in its list.
#[derive(Clone, Copy)]
pub struct DraggedRow {
    /// Its index, counted from the top.
    pub from: usize,
    /// The number of rows above the line that shows where it goes.
    above: usize,
    pub pointer: Pos2,
    pub is_released: bool,
}

impl DraggedRow {
    /// The index that the row gets; `None` if it is its own.
    pub fn index(&self) -> Option<usize> {
        let index = match self.above > self.from {
            true => self.above - 1,
            false => self.above,
        };
        (index != self.from).then_some(index)
    }
}

/// The dragged one of the rows with these salts, from the top, all as high as the first; a line shows where it goes.
pub fn dragged_row(
    ui: &Ui,
    mut salts: impl ExactSizeIterator<Item = impl std::fmt::Debug>,
    first: Rect,
) -> Option<DraggedRow> {
    let stopped = ui.ctx().drag_stopped_id();
    let dragged = ui.ctx().dragged_id().or(stopped)?;
    let count = salts.len();
    let from = salts.position(|salt| row_id(ui, salt) == dragged)?;
    let pointer = ui.ctx().pointer_latest_pos()?;
    let row = ((pointer.y - first.top()) / first.height()).round();
    let above = row.clamp(0.0, count as f32) as usize;
    let y = first.top() + above as f32 * first.height();
    let stroke = Stroke::new(2.0, theme::palette(ui.style()).accent);
    ui.painter().hline(first.x_range(), y, stroke);
    Some(DraggedRow {
        from,
        above,
        pointer,
        is_released: stopped.is_some(),
    })
}

/// Like [`list_row`] with a given rectangle.
pub fn list_row_at(
    ui: &mut Ui,
    rect: Rect,
    name: &str,
    salt: impl std::fmt::Debug,
    selected: bool,
) -> Response {
    let p = theme::palette(ui.style());
    let id = row_id(ui, salt);
    let response = ui.interact(rect, id, Sense::click_and_drag());
    if selected {
        ui.painter().rect_filled(rect, 0.0, p.tint);
    } else if response.hovered() {
        ui.painter().rect_filled(rect, 0.0, p.b2);
    }
    paint::focus_ring(ui.painter(), p, &response, rect, 0);
    response.widget_info(|| WidgetInfo::selected(Role::ListItem, true, selected, name));
    response
}

/// An input of a task: a file or a field, with its kind.
pub fn input(ui: &mut Ui, icon: &str, kind: &str, name: &str, fact: &str) -> Response {
    let p = theme::palette(ui.style());
    let desired_size = vec2(ui.available_width(), space::ROW + 4.0);
    let (rect, response) = ui.allocate_exact_size(desired_size, Sense::hover());
    let rect = input_rect(rect);
    paint::field(ui.painter(), p, rect, p.b2);
    let shown = input_text(ui, rect, icon, (kind, name, fact));
    let spoken = format!("{}{name}, {fact}", kind_text(kind));
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &spoken));
    match shown == fact {
        true => response,
        false => response.on_hover_text(fact),
    }
}

/// The row of an input that is a layer: a click anywhere on it selects the layer.
pub fn layer_input(
    ui: &mut Ui,
    icon: &str,
    (name, fact): (&str, &str),
    salt: impl std::fmt::Debug,
    selected: bool,
) -> Response {
    let p = theme::palette(ui.style());
    let desired_size = vec2(ui.available_width(), space::ROW + 4.0);
    let (row, _) = ui.allocate_exact_size(desired_size, Sense::hover());
    let id = ui.make_persistent_id(("input", format!("{salt:?}")));
    let response = ui.interact(row, id, Sense::click());
    let rect = input_rect(row);
    let fill = match (selected, response.hovered()) {
        (true, _) => p.tint,
        (false, true) => p.b3,
        (false, false) => p.b2,
    };
    paint::field(ui.painter(), p, rect, fill);
    let shown = input_text(ui, rect, icon, ("", name, fact));
    paint::focus_ring(ui.painter(), p, &response, rect, radius::CONTROL);
    let spoken = format!("{name}, {fact}");
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, selected, &spoken));
    match shown == fact {
        true => response,
        false => response.on_hover_text(fact),
    }
}

/// The field within the row of an input.
fn input_rect(row: Rect) -> Rect {
    let rect = paint::inset(row, space::INSET, space::INSET);
    rect.with_max_y(rect.bottom() - 4.0)
}

fn kind_text(kind: &str) -> String {
    match kind.is_empty() {
        true => String::new(),
        false => format!("{kind}  "),
    }
}

/// Paints an input, and returns its fact as far as there is space for it.
fn input_text(ui: &Ui, rect: Rect, icon: &str, (kind, name, fact): (&str, &str, &str)) -> String {
    let p = theme::palette(ui.style());
    let painter = ui.painter();
    paint::icon(
        painter,
        pos2(rect.left() + 17.0, rect.center().y),
        icon,
        size::ICON,
        p.t2,
    );
    let text = paint::inset(rect, 30.0, 8.0);
    let kind_text = kind_text(kind);
    let regular = theme::regular(size::LABEL);
    let medium = theme::medium(size::LABEL);
    // A long fact has the room that a short name leaves.
    let needed =
        paint::width(ui, &kind_text, regular.clone()) + paint::width(ui, name, medium.clone());
    let max_width = (text.width() * 0.62).max(text.width() - needed - 8.0);
    let shown = paint::elided(painter, fact, regular.clone(), max_width);
    let fact_at = paint::right(painter, text, &shown, regular.clone(), p.t3);
    let name_at = Rect::from_min_max(text.min, pos2(fact_at.left() - 8.0, text.bottom()));
    let room = name_at.width() - paint::width(ui, &kind_text, regular.clone());
    let cut = paint::elided(painter, name, medium.clone(), room);
    let spans = [(&*kind_text, regular, p.t3), (&*cut, medium, p.t1)];
    paint::spans(painter, name_at, egui::Align2::LEFT_CENTER, &spans);
    shown
}

/// The state of a check, shown by colour, icon and text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Passed,
    Note,
    /// Whether it does is not known yet.
    NotRun,
    /// The check is running.
    Running,
    Warning,
    Failed,
}

/// One check: verdict, name, fact; opens its details. Returns whether it is open.
pub fn check(ui: &mut Ui, verdict: Verdict, name: &str, fact: &str, open: bool) -> Response {
    use super::super::icons;
    let p = theme::palette(ui.style());
    let desired_size = vec2(ui.available_width(), 30.0);
    let (rect, response) = ui.allocate_exact_size(desired_size, Sense::click());
    let (icon, colour, verdict_text) = match verdict {
        Verdict::Passed => (icons::CHECK_CIRCLE, p.ok, "passed"),
        Verdict::Note => (icons::INFORMATION, p.accent, "note"),
        Verdict::NotRun => (icons::INFORMATION, p.accent, "not run"),
        Verdict::Running => (icons::INFORMATION, p.t3, "running"),
        Verdict::Warning => (icons::WARNING, p.warning, "warning"),
        Verdict::Failed => (icons::WARNING, p.error, "failed"),
    };
    let painter = ui.painter();
    if response.hovered() {
        painter.rect_filled(rect, 0.0, p.b2);
    }
    let inner = paint::inset(rect, space::INSET, space::INSET);
    paint::icon(
        painter,
        pos2(inner.left() + 8.0, inner.center().y),
        icon,
        size::ICON,
        colour,
    );
    let caret = if open {
        icons::CARET_DOWN
    } else {
        icons::CARET_RIGHT
    };
    paint::icon(
        painter,
        pos2(inner.right() - 7.0, inner.center().y),
        caret,
        14.0,
        p.t2,
    );
    let spans = [
        (name, theme::medium(size::LABEL), p.t1),
        ("  ", theme::regular(size::LABEL), p.t3),
        (fact, theme::regular(size::LABEL), p.t3),
    ];
    let text = paint::inset(inner, 24.0, 20.0);
    paint::spans(painter, text, egui::Align2::LEFT_CENTER, &spans);
    paint::focus_ring(painter, p, &response, rect, radius::CONTROL);
    response.widget_info(|| {
        let label = format!("{name}, {verdict_text}: {fact}");
        WidgetInfo::selected(Role::DisclosureTriangle, true, open, label)
    });
    response
}

/// A name on the left, a value on the right.
pub fn reading(ui: &mut Ui, name: &str, value: &str) {
    let p = theme::palette(ui.style());
    let desired_size = vec2(ui.available_width(), 22.0);
    let (rect, response) = ui.allocate_exact_size(desired_size, Sense::hover());
    let inner = paint::inset(rect, space::INSET, space::INSET);
    let painter = ui.painter();
    // The name stays whole, however long the value.
    let name_at = paint::left(painter, inner, name, theme::regular(size::LABEL), p.t2);
    let room = inner.right() - name_at.right() - 8.0;
    let font = theme::medium(size::LABEL);
    let shown = paint::elided(painter, value, font.clone(), room);
    paint::right(painter, inner, &shown, font, p.t1);
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, format!("{name} {value}")));
    if shown != value {
        response.on_hover_text(value);
    }
}

/// Dims values older than the rest; they can still be clicked.
pub fn dimmed(ui: &mut Ui, older: bool, add: impl FnOnce(&mut Ui)) {
    ui.scope(|ui| {
        if older {
            ui.multiply_opacity(STALE_OPACITY);
        }
        add(ui);
    });
}

/// A line of grey text, of the same height without text; text that does not fit is shown on hover.
pub fn line(ui: &mut Ui, text: &str) {
    line_in(ui, text, 24.0);
}

/// Like [`line()`], in a row of this height.
pub fn line_in(ui: &mut Ui, text: &str, height: f32) {
    let p = theme::palette(ui.style());
    let desired_size = vec2(ui.available_width(), height);
    let (rect, response) = ui.allocate_exact_size(desired_size, Sense::hover());
    if text.is_empty() {
        return;
    }
    let inner = paint::inset(rect, space::INSET, space::INSET);
    let font = theme::regular(size::LABEL);
    let shown = paint::elided(ui.painter(), text, font.clone(), inner.width());
    paint::left(ui.painter(), inner, &shown, font, p.t3);
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text));
    if shown != text {
        response.on_hover_text(text);
    }
}

/// Wrapped grey text under a head or a row.
pub fn hint(ui: &mut Ui, text: &str) {
    hint_with_room(ui, text, []);
}

/// A hint with the height of the longest text that may appear there, so that the rows below do not move.
pub fn hint_with_room<'a>(ui: &mut Ui, text: &str, all: impl IntoIterator<Item = &'a str>) {
    let colour = theme::palette(ui.style()).t3;
    text_with_room(ui, (text, colour), all);
}

/// A hint that warns, with the height of the longest text that may appear there.
pub fn warning_with_room<'a>(ui: &mut Ui, text: &str, all: impl IntoIterator<Item = &'a str>) {
    let colour = theme::palette(ui.style()).warning;
    text_with_room(ui, (text, colour), all);
}

fn text_with_room<'a>(
    ui: &mut Ui,
    (text, colour): (&str, Color32),
    all: impl IntoIterator<Item = &'a str>,
) {
    let width = ui.available_width() - 2.0 * space::INSET;
    let layout = |text: &str| {
        let (text, font) = (paint::unbroken(text), theme::regular(size::LABEL));
        paint::wrapped(ui.painter(), width, &text, font, colour)
    };
    let galley = layout(text);
    let heights = all.into_iter().map(|text| layout(text).size().y);
    let height = heights.fold(galley.size().y, f32::max);
    let desired_size = vec2(ui.available_width(), height + 4.0);
    let (rect, response) = ui.allocate_exact_size(desired_size, Sense::hover());
    ui.painter()
        .galley(rect.min + vec2(space::INSET, 0.0), galley, colour);
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text));
}
