//! Notes at the top of a task's panel, visible however the panel is scrolled: the step of the tour, a leak, messages,
//! layers that a save left out, recovered work. The rows below move down for them, but not while the pointer is on
//! these rows: until the pointer has left, the notes cover the first rows. They move up soon after a note has gone, unless
//! the pointer is on them; not at once, since a second click would meet another control.

use super::super::theme::{self, space};
use super::super::{Memory, forms, recovery, tour};
use crate::state::{Action, State, Task};
use egui::{Area, Id, Order, Rect, ScrollArea, Sense, Shape, Stroke, Ui, UiBuilder, pos2};

/// Largest share of the panel that notes take.
const MAXIMUM_SHARE_OF_NOTES: f32 = 0.55;

/// The space reserved for them.
#[derive(Clone, Copy)]
struct ReservedSpace {
    task: Task,
    height: f32,
    pass: u64,
    /// Time in seconds since which the notes have needed less.
    too_high_since: Option<f64>,
}

/// Seconds until the space of a note that has gone is given back.
const GIVEN_BACK_AFTER_S: f64 = 0.6;

/// Whether there are notes besides the open one of a leak, which reserves no space but covers the inputs: controls stay
/// where they are when it appears and disappears. The user may fold it to a row that reserves its height. In a low panel
/// it would cover the switch between controls and results.
fn reserves_space(state: &State) -> bool {
    let task = state.view.task;
    let mut messages = state.runtime.notices.messages.iter();
    let has_messages = messages.any(|message| message.is_shown_in(task));
    state.runtime.tour.is_some()
        || has_messages
        || !state.reported_recipe_only().is_empty()
        || recovery::is_any_offered(state)
}

/// Returns the height of the leak's note unless it is folded.
fn all(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) -> f32 {
    let top = ui.cursor().top();
    let folded = forms::level_set::leak_notice::is_folded(ui, state);
    forms::level_set::leak_notice::show(ui, state, actions);
    let leak = match folded {
        true => 0.0,
        false => ui.cursor().top() - top,
    };
    super::messages(ui, state, super::is_error, actions);
    recovery::recipe_only(ui, state, actions);
    tour::show(ui, state, memory, actions);
    // The note about recovered work replaces the offer.
    super::messages(ui, state, |m| !super::is_error(m), actions);
    recovery::show(ui, state, actions);
    leak
}

/// Returns the remaining rectangle.
pub fn show(
    ui: &mut Ui,
    body: Rect,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) -> Rect {
    let id = Id::unique("notes above a task");
    let pass = ui.ctx().cumulative_pass_nr();
    let leaks = forms::level_set::leak_notice::leaked(state).is_some();
    let folded = forms::level_set::leak_notice::is_folded(ui, state);
    let (others, low) = (folded || reserves_space(state), body.height() < super::LOW);
    let mut height = 0.0;
    if others || leaks {
        let (all, without_leak) = notes_over_panel(ui, body, state, memory, actions);
        height = match (low, others) {
            (true, _) => all,
            (false, true) => without_leak,
            (false, false) => 0.0,
        };
    }
    let reserved: Option<ReservedSpace> = ui.data(|d| d.get_temp(id));
    let reserved = reserved.filter(|m| m.task == state.view.task && m.pass + 1 == pass);
    let (at, now) = ui.input(|i| (i.pointer.latest_pos(), i.time));
    let at = at.filter(|at| body.contains(*at));
    let too_high = reserved.filter(|reserved| reserved.height > height);
    let too_high_since = too_high.map(|reserved| reserved.too_high_since.unwrap_or(now));
    let room = match (reserved, at) {
        (Some(reserved), Some(at)) => {
            let on_rows = at.y >= body.top() + reserved.height;
            let is_over = too_high_since.is_some_and(|since| now - since >= GIVEN_BACK_AFTER_S);
            match !on_rows && is_over {
                true => height,
                false => reserved.height,
            }
        }
        _ => height,
    };
    if reserved.is_some_and(|reserved| reserved.height != room) {
        ui.ctx().request_repaint();
    } else if let Some(since) = too_high_since.filter(|since| now - since < GIVEN_BACK_AFTER_S) {
        // Afterwards only a movement of the pointer matters, which repaints by itself.
        let rest = std::time::Duration::from_secs_f64(since + GIVEN_BACK_AFTER_S - now);
        ui.ctx().request_repaint_after(rest);
    }
    let reserved = ReservedSpace {
        task: state.view.task,
        height: room,
        pass,
        too_high_since: too_high_since.filter(|_| room > height),
    };
    ui.data_mut(|d| d.insert_temp(id, reserved));
    Rect::from_min_max(pos2(body.left(), body.top() + room), body.max)
}

/// Draws the notes over the top of the panel; returns their height, and the height without the note of a leak.
fn notes_over_panel(
    ui: &mut Ui,
    body: Rect,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) -> (f32, f32) {
    let area = Area::new(Id::unique("notes over a task"))
        .order(Order::Middle)
        .fixed_pos(body.min)
        .constrain(false)
        .fade_in(false)
        .movable(false)
        .sense(Sense::click());
    let shown = area.show(ui.ctx(), |ui| {
        let p = theme::palette(ui.style());
        let under = ui.painter().add(Shape::Noop);
        let line = ui.painter().add(Shape::Noop);
        let mut inside = ui.new_child(UiBuilder::new().id_salt("notes").max_rect(body));
        inside.spacing_mut().item_spacing.y = 0.0;
        inside.add_space(space::INSET);
        let notes = ScrollArea::vertical()
            .id_salt("notes")
            .max_height(MAXIMUM_SHARE_OF_NOTES * body.height())
            .auto_shrink([false, true])
            .show(&mut inside, |ui| {
                ui.spacing_mut().item_spacing.y = 0.0;
                all(ui, state, memory, actions)
            });
        let bottom = inside.min_rect().bottom();
        let rect = Rect::from_min_max(body.min, pos2(body.right(), bottom));
        ui.painter().set(under, Shape::rect_filled(rect, 0.0, p.b1));
        let y = bottom - 0.5;
        let stroke = Stroke::new(1.0, p.line);
        let ends = [pos2(rect.left(), y), pos2(rect.right(), y)];
        ui.painter().set(line, Shape::line_segment(ends, stroke));
        ui.allocate_rect(rect, Sense::hover());
        // If some notes are scrolled away, their height is at most that of all notes.
        let without_leak = space::INSET + notes.content_size.y - notes.inner;
        (rect.height(), without_leak.min(rect.height()))
    });
    shown.inner
}
