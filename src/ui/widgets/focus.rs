//! Focus by pointer, where arrow keys go to the control last clicked, and the parts of the window that F6 goes to.

use crate::ui::theme;
use egui::style::ScrollAnimation;
use egui::{
    Context, Event, Id, Key, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo,
};

fn by_click_id() -> Id {
    Id::unique("focused by click")
}

/// Keys that a widget handles while it has the focus from a click.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandledKeys {
    /// The left and right arrows move its value; it shows no focus ring, and all other keys stay with the window.
    LeftRight,
    /// All of them, as after Tab.
    All,
}

#[derive(Clone, Copy)]
struct ByClick {
    id: Id,
    handled: HandledKeys,
}

fn known(ctx: &Context) -> Option<ByClick> {
    ctx.data(|d| d.get_temp(by_click_id()))
}

/// Whether a widget has the focus from a click.
pub fn is_by_click(response: &Response) -> bool {
    let known = known(&response.ctx);
    response.has_focus() && known.is_some_and(|by_click| by_click.id == response.id)
}

/// Whether this widget, which has the focus, takes all keys from the window and shows this with a ring.
fn takes_all(ctx: &Context, id: Id) -> bool {
    let known = known(ctx).filter(|by_click| by_click.id == id);
    known.is_none_or(|by_click| by_click.handled == HandledKeys::All)
}

/// Whether a widget shows the focus ring.
pub fn has_ring(response: &Response) -> bool {
    response.has_focus() && takes_all(&response.ctx, response.id)
}

fn button_id() -> Id {
    Id::unique("button that has the focus")
}

/// Records that a widget is a button: apart from letters, it takes all keys while it has the focus.
pub fn button(response: &Response) {
    if response.has_focus() {
        let data = |d: &mut egui::util::IdTypeMap| d.insert_temp(button_id(), response.id);
        response.ctx.data_mut(data);
    }
}

/// Names a widget as a button to screen readers, and leaves letters to the window while it has the focus.
pub fn named_button(response: &Response, name: impl ToString) {
    button(response);
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, name.to_string()));
}

/// Whether a widget is the button that last had the focus.
pub fn is_button(ui: &Ui, id: Id) -> bool {
    ui.data(|d| d.get_temp(button_id())) == Some(id)
}

/// The widget to which all keys belong.
pub fn keyboard(ui: &Ui) -> Option<Id> {
    let focused = ui.memory(|m| m.focused());
    focused.filter(|id| takes_all(ui.ctx(), *id))
}

/// Whether a slider that was dragged takes a key from the window.
pub fn moves_slider(ui: &Ui, key: Key) -> bool {
    let known = known(ui.ctx()).filter(|by_click| by_click.handled == HandledKeys::LeftRight);
    let focused = known.is_some_and(|by_click| ui.memory(|m| m.has_focus(by_click.id)));
    focused && matches!(key, Key::ArrowLeft | Key::ArrowRight)
}

/// Gives a widget the focus as if it had been clicked.
pub fn focus_by_click(response: &Response, keys: HandledKeys) {
    response.request_focus();
    let id = response.id;
    let by_click = ByClick { id, handled: keys };
    response
        .ctx
        .data_mut(|d| d.insert_temp(by_click_id(), by_click));
}

fn over_views_id() -> Id {
    Id::unique("the frame in which the pointer was over the views")
}

/// Records whether the pointer has moved over the views, whose keys move through slices. It has not if a menu that hung
/// over them closed under it.
pub fn views(ui: &Ui, rect: Rect) {
    let moves = |e: &Event| matches!(e, Event::PointerMoved(_));
    let moved = ui.input(|i| i.events.iter().any(moves));
    if ui.rect_contains_pointer(rect) && (moved || is_over_views(ui)) {
        let frame = ui.ctx().cumulative_frame_nr();
        ui.data_mut(|d| d.insert_temp(over_views_id(), frame));
    }
}

/// Whether the pointer was over the views in this frame or the one before.
fn is_over_views(ui: &Ui) -> bool {
    let frame: Option<u64> = ui.data(|d| d.get_temp(over_views_id()));
    frame.is_some_and(|frame| frame + 1 >= ui.ctx().cumulative_frame_nr())
}

/// Gives a widget the focus when the pointer presses it, until another press. A drop-down field that was chosen from
/// loses it as soon as the pointer moves over the views: the keys then belong to the view.
pub fn follow_click(ui: &Ui, response: &Response, id: Id) {
    if response.drag_started() {
        focus_by_click(response, HandledKeys::LeftRight);
    } else if let Some(stored) = known(ui.ctx()).filter(|by_click| by_click.id == id) {
        let pressed = ui.input(|i| i.pointer.any_pressed()) && !response.contains_pointer();
        let elsewhere = pressed || stored.handled == HandledKeys::All && is_over_views(ui);
        if elsewhere {
            response.surrender_focus();
        }
        if elsewhere || !response.has_focus() {
            ui.data_mut(|d| d.remove::<ByClick>(by_click_id()));
        }
    }
}

/// Scrolls its panel to a control that a key has given the focus; one under the pointer stays where it is.
pub fn into_sight(response: &Response) {
    let down = response.ctx.input(|i| i.pointer.any_down());
    let by_pointer = down || response.contains_pointer() || is_by_click(response);
    if response.gained_focus() && !by_pointer {
        response.scroll_to_me_animation(None, ScrollAnimation::none());
    }
}

/// Parts of the window that F6 goes to, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WindowPart {
    TopBar,
    Lists,
    View,
    Drawer,
    Task,
    StatusBar,
}

impl WindowPart {
    fn name(self) -> &'static str {
        match self {
            Self::TopBar => "Top bar",
            Self::Lists => "Lists at the left",
            Self::View => "Views",
            Self::Drawer => "Below the views",
            Self::Task => "Task at the right",
            Self::StatusBar => "Status bar",
        }
    }
}

/// The stops on screen in this frame, and the last one that F6 went to.
#[derive(Clone, Default)]
struct Stops {
    all: Vec<(WindowPart, Id)>,
    last: Option<Id>,
}

fn stops_id() -> Id {
    Id::unique("stops of F6")
}

/// Begins a frame.
pub fn begin(ui: &Ui) {
    ui.data_mut(|d| d.get_temp_mut_or_default::<Stops>(stops_id()).all.clear());
}

/// Adds a stop of F6.
pub fn stop(ui: &Ui, part: WindowPart, id: Id) {
    ui.data_mut(|d| {
        let stops = d.get_temp_mut_or_default::<Stops>(stops_id());
        stops.all.push((part, id));
    });
}

/// A panel that F6 goes to; Tab goes on to its content.
pub fn panel(ui: &Ui, part: WindowPart, rect: Rect) {
    let id = Id::unique(("part", part as u8));
    let response = ui.interact(rect, id, Sense::focusable_noninteractive());
    response.widget_info(|| WidgetInfo::labeled(Role::Pane, true, part.name()));
    stop(ui, part, id);
}

/// The ring around a panel that has the focus; painted last, over its content.
pub fn ring(ui: &Ui, part: WindowPart, rect: Rect) {
    let id = Id::unique(("part", part as u8));
    if ui.memory(|m| m.has_focus(id)) {
        let stroke = Stroke::new(2.0, theme::palette(ui.style()).accent);
        let painter = ui.painter();
        painter.rect_stroke(rect, 0.0, stroke, StrokeKind::Inside);
    }
}

/// Gives the focus to the next part, or to the one before.
pub fn move_focus(ui: &Ui, back: bool) {
    let mut stops: Stops = ui.data(|d| d.get_temp(stops_id())).unwrap_or_default();
    // Views keep the order in which they are shown.
    stops.all.sort_by_key(|(part, _)| *part);
    let at = |id: Option<Id>| stops.all.iter().position(|(_, stop)| Some(*stop) == id);
    let now = at(ui.memory(|m| m.focused())).or_else(|| at(stops.last));
    let count = stops.all.len();
    let views = || {
        stops
            .all
            .iter()
            .position(|(part, _)| *part == WindowPart::View)
    };
    let next = match now {
        Some(now) if back => (now + count - 1) % count,
        Some(now) => (now + 1) % count,
        None => views().unwrap_or(0),
    };
    if let Some((_, id)) = stops.all.get(next).copied() {
        ui.memory_mut(|m| m.request_focus(id));
        ui.data_mut(|d| {
            let known = d.get_temp_mut_or_default::<Stops>(stops_id());
            known.last = Some(id);
        });
    }
}
