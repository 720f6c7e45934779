//! Focus by pointer, where arrow keys go to the control last clicked, and the parts of the window that F6 goes to.

use crate::ui::theme;
use egui::style::ScrollAnimation;
use egui::{Id, Key, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo};

fn by_click_id() -> Id {
    Id::unique("focused by click")
}

/// Keys that a widget handles while it has the focus from a click.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandledKeys {
    /// The left and right arrows move its value.
    Sideways,
    /// All arrows and Enter open it and move in it.
    Menu,
}

#[derive(Clone, Copy)]
struct ByClick {
    id: Id,
    handled: HandledKeys,
}

fn known(ui: &Ui) -> Option<ByClick> {
    ui.data(|d| d.get_temp(by_click_id()))
}

/// The widget that has the focus from a click: single keys stay with the window, except those that it handles.
pub fn focused_by_click(ui: &Ui) -> Option<Id> {
    known(ui).map(|by_click| by_click.id)
}

/// Whether a widget has the focus from a click.
pub fn is_by_click(response: &Response) -> bool {
    let known: Option<ByClick> = response.ctx.data(|d| d.get_temp(by_click_id()));
    response.has_focus() && known.is_some_and(|by_click| by_click.id == response.id)
}

/// Whether the control last clicked takes a key from the window.
pub fn handles(ui: &Ui, key: Key) -> bool {
    let by_click = known(ui).filter(|by_click| ui.memory(|m| m.has_focus(by_click.id)));
    let sideways = matches!(key, Key::ArrowLeft | Key::ArrowRight);
    by_click.is_some_and(|by_click| match by_click.handled {
        HandledKeys::Sideways => sideways,
        HandledKeys::Menu => sideways || matches!(key, Key::ArrowUp | Key::ArrowDown | Key::Enter),
    })
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

/// Records whether the pointer is over the views, whose keys move through slices.
pub fn views(ui: &Ui, rect: Rect) {
    if ui.rect_contains_pointer(rect) {
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
/// loses it as soon as the pointer is over the views: the arrow keys then belong to the view.
pub fn follow_click(ui: &Ui, response: &Response, id: Id) {
    if response.drag_started() {
        focus_by_click(response, HandledKeys::Sideways);
    } else if let Some(stored) = known(ui).filter(|by_click| by_click.id == id) {
        let pressed = ui.input(|i| i.pointer.any_pressed()) && !response.contains_pointer();
        let elsewhere = pressed || stored.handled == HandledKeys::Menu && is_over_views(ui);
        if elsewhere {
            response.surrender_focus();
        }
        if elsewhere || !response.has_focus() {
            ui.data_mut(|d| d.remove::<ByClick>(by_click_id()));
        }
    }
}

/// Called before the space bar would click such a widget: that key stays with the window.
pub fn leave_space(ui: &Ui, id: Id) {
    if focused_by_click(ui) == Some(id) && ui.input(|i| i.key_pressed(Key::Space)) {
        ui.memory_mut(|m| m.surrender_focus(id));
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
pub enum Part {
    TopBar,
    Lists,
    View,
    Drawer,
    Task,
    StatusBar,
}

impl Part {
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
    all: Vec<(Part, Id)>,
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
pub fn stop(ui: &Ui, part: Part, id: Id) {
    ui.data_mut(|d| {
        let stops = d.get_temp_mut_or_default::<Stops>(stops_id());
        stops.all.push((part, id));
    });
}

/// A panel that F6 goes to; Tab goes on to its content.
pub fn panel(ui: &Ui, part: Part, rect: Rect) {
    let id = Id::unique(("part", part as u8));
    let response = ui.interact(rect, id, Sense::focusable_noninteractive());
    response.widget_info(|| WidgetInfo::labeled(Role::Pane, true, part.name()));
    stop(ui, part, id);
}

/// The ring around a panel that has the focus; painted last, over its content.
pub fn ring(ui: &Ui, part: Part, rect: Rect) {
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
    let views = || stops.all.iter().position(|(part, _)| *part == Part::View);
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
