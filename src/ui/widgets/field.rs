//! Values that can be typed.

use super::super::theme::{self, size};
use super::paint;
use egui::text_edit::TextEditState;
use egui::{CursorIcon, Frame, Id, Margin, Rect, Role, Sense, TextEdit, Ui, WidgetInfo};

/// A field that shows a value and becomes a text field when clicked; returns the typed text if it differs from the
/// value shown.
///
/// `unit` is shown inside the field, after the value.
pub fn value(ui: &mut Ui, rect: Rect, name: &str, shown: &str, unit: &str) -> Option<String> {
    let p = theme::palette(ui.style());
    let id = ui.make_persistent_id(("field", name));
    let editing = id.with("text");
    let draft: Option<String> = ui.data(|d| d.get_temp(editing));
    let font = theme::regular(size::LABEL);
    if let Some(draft) = draft {
        return typing(ui, rect, name, (id, editing), draft);
    }
    let response = ui
        .interact(rect, id, Sense::click())
        .on_hover_cursor(CursorIcon::Text);
    let fill = if response.hovered() { p.b3 } else { p.b2 };
    let painter = ui.painter();
    paint::field(painter, p, rect, fill);
    let inner = paint::inset(rect, 4.0, 8.0);
    let gap = if unit.is_empty() || unit == "°" {
        ""
    } else {
        "\u{202F}"
    };
    let unit = format!("{gap}{unit}");
    let spans = [(shown, font.clone(), p.t1), (&*unit, font, p.t3)];
    paint::spans(painter, inner, egui::Align2::RIGHT_CENTER, &spans);
    paint::focus_ring(painter, p, &response, rect, theme::radius::CONTROL);
    response.widget_info(|| WidgetInfo {
        current_text_value: Some(format!("{shown}{unit}")),
        ..WidgetInfo::labeled(Role::TextInput, true, name)
    });
    if response.clicked() {
        ui.data_mut(|d| {
            d.insert_temp(editing, shown.to_owned());
            d.insert_temp(id.with("before"), shown.to_owned());
        });
        // In this frame, with everything selected: text typed right after the click replaces the value, even if it
        // arrives with the next frame.
        response.request_focus();
        let mut state = TextEditState::default();
        let all = egui::text::CCursorRange::select_all_str(shown);
        state.cursor.set_char_range(Some(all));
        state.store(ui.ctx(), id);
        ui.ctx().request_repaint();
    }
    None
}

fn typing(
    ui: &mut Ui,
    rect: Rect,
    name: &str,
    (id, editing): (Id, Id),
    draft: String,
) -> Option<String> {
    let mut text = draft;
    let p = theme::palette(ui.style());
    paint::field(ui.painter(), p, rect, p.b2);
    let stroke = egui::Stroke::new(1.0, p.accent);
    ui.painter().rect_stroke(
        rect,
        theme::radius::CONTROL,
        stroke,
        egui::StrokeKind::Inside,
    );
    let edit = TextEdit::singleline(&mut text)
        .id(id)
        .font(theme::regular(size::LABEL))
        .frame(Frame::NONE)
        .margin(Margin::ZERO)
        .align(egui::Align2::RIGHT_CENTER)
        .desired_width(rect.width() - 12.0);
    // A child of its own: inside a scope, the text field would push the rows below.
    let inner = rect.shrink2(egui::vec2(6.0, 3.0));
    let mut child = ui.new_child(egui::UiBuilder::new().max_rect(inner));
    child.spacing_mut().interact_size.y = inner.height();
    let output = edit.show(&mut child);
    let response = output.response.response;
    response.widget_info(|| WidgetInfo {
        current_text_value: Some(text.clone()),
        ..WidgetInfo::labeled(Role::TextInput, true, name)
    });
    let left = response.lost_focus() || !response.has_focus();
    let cancelled = ui.input(|i| i.key_pressed(egui::Key::Escape));
    if left {
        ui.data_mut(|d| d.remove::<String>(editing));
        // The value shown is rounded: leaving it unchanged is not an edit.
        let before = ui.data_mut(|d| d.remove_temp::<String>(id.with("before")));
        return (!cancelled && before.as_ref() != Some(&text)).then_some(text);
    }
    ui.data_mut(|d| d.insert_temp(editing, text));
    None
}

/// State of a text field in this frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Typed {
    Editing,
    Entered,
    Cancelled,
}

/// A text field over a rectangle, for names. `focus` puts the caret there.
pub fn text(
    ui: &mut Ui,
    rect: Rect,
    name: &str,
    text: &mut String,
    hint: &str,
    focus: bool,
) -> Typed {
    edited(ui, rect, (name, hint), text, focus, false)
}

/// A field for paths: the suggestion is selected, so that typing replaces it, and Tab does not leave the field but
/// completes the typed text.
pub fn path(
    ui: &mut Ui,
    rect: Rect,
    name: &str,
    text: &mut String,
    hint: &str,
    focus: bool,
) -> Typed {
    edited(ui, rect, (name, hint), text, focus, true)
}

/// Whether Tab is pressed in the field of a path.
pub fn takes_tab(ui: &Ui, name: &str) -> bool {
    let id = ui.make_persistent_id(("text", name));
    ui.memory(|m| m.has_focus(id)) && ui.input(|i| i.key_pressed(egui::Key::Tab))
}

fn edited(
    ui: &mut Ui,
    rect: Rect,
    (name, hint): (&str, &str),
    text: &mut String,
    focus: bool,
    path: bool,
) -> Typed {
    let p = theme::palette(ui.style());
    paint::field(ui.painter(), p, rect, p.b2);
    let id = ui.make_persistent_id(("text", name));
    let before: Option<String> = ui.data(|d| d.get_temp(id));
    let enters = focus && !ui.memory(|m| m.has_focus(id));
    if enters || before.as_ref().is_some_and(|before| before != text) {
        // A text set from elsewhere is scrolled to its end.
        let mut state = TextEditState::load(ui.ctx(), id).unwrap_or_default();
        let all = |text: &str| egui::text::CCursorRange::select_all_str(text);
        let was_all = before.as_ref().filter(|before| !before.is_empty());
        let was_all = was_all.is_some_and(|before| state.cursor.char_range() == Some(all(before)));
        let end = egui::text::CCursor::new(text.chars().count());
        let range = match path && (enters || was_all) {
            true => all(text),
            false => egui::text::CCursorRange::one(end),
        };
        state.cursor.set_char_range(Some(range));
        if enters {
            // Undo must not restore text typed in another use of the field.
            state.clear_undoer();
        }
        state.store(ui.ctx(), id);
    }
    if enters {
        // In this frame: a field without the focus loses its selection.
        ui.memory_mut(|m| m.request_focus(id));
    }
    let edit = TextEdit::singleline(text)
        .id(id)
        .hint_text(hint)
        .lock_focus(path)
        .font(theme::regular(size::LABEL))
        .frame(Frame::NONE)
        .margin(Margin::ZERO)
        .desired_width(rect.width() - 16.0);
    let inner = rect.shrink2(egui::vec2(8.0, ((rect.height() - 16.0) * 0.5).max(0.0)));
    let mut child = ui.new_child(egui::UiBuilder::new().max_rect(inner));
    child.spacing_mut().interact_size.y = inner.height();
    let focused = ui.memory(|m| m.has_focus(id));
    let response = child.add(edit);
    let response = response.accessible_name(name);
    // Not `lost_focus`, which is unset in the frame in which the field got the focus: a slow one may contain all the
    // typed text and the Enter after it.
    let left = focused && !response.has_focus();
    ui.data_mut(|d| d.insert_temp(id, text.clone()));
    let stroke = egui::Stroke::new(
        1.0,
        if response.has_focus() {
            p.accent
        } else {
            p.line
        },
    );
    ui.painter().rect_stroke(
        rect,
        theme::radius::CONTROL,
        stroke,
        egui::StrokeKind::Inside,
    );
    let now = ui.memory(|m| m.focused());
    let (enter, escape) = ui.input(|i| {
        // A slow frame may contain both the click or key that moves the focus and the Enter that is meant for the new
        // widget.
        let elsewhere = i.pointer.any_pressed() || now.is_some_and(|now| now != id);
        (
            i.key_pressed(egui::Key::Enter) && !elsewhere,
            i.key_pressed(egui::Key::Escape),
        )
    });
    let typed = match () {
        () if (left || response.lost_focus()) && enter => Typed::Entered,
        () if escape => Typed::Cancelled,
        () => Typed::Editing,
    };
    if typed != Typed::Editing {
        // Undo must not restore this text in the next one.
        TextEditState::default().store(ui.ctx(), id);
        ui.data_mut(|d| d.remove::<String>(id));
    } else if focus {
        response.request_focus();
    }
    typed
}
