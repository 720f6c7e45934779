//! The side panels: data on the left, the task on the right.

mod split;
mod top;

use super::theme::{self, size, space};
use super::widgets::button::{IconButton, segmented};
use super::widgets::note::{Note, NoteResponse};
use super::widgets::{anchor, paint, section};
use super::{Memory, crosshair, figures, forms, icons, layers, regions};
use crate::state::view::SideList;
use crate::state::{Action, DeviceAction, Message, Severity, State, Task, ViewAction};
use egui::{Rect, Role, ScrollArea, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};
use split::Split;
pub use split::in_sight;
use std::fmt::Debug;
use std::hash::Hash;

const ACTIONS: f32 = 50.0;

pub fn left(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let panel = ui.max_rect();
    ui.painter().rect_filled(panel, 0.0, p.b1);
    let edge = panel.right() - 0.5;
    ui.painter()
        .vline(edge, panel.y_range(), Stroke::new(1.0, p.line));
    if memory.narrow {
        return rail(ui, panel, state, actions);
    }
    let below = crosshair::height(state).min(panel.height() * 0.5);
    let lists = Rect::from_min_max(panel.min, pos2(panel.right() - 1.0, panel.bottom() - below));
    super::part(ui, "lists", lists, |ui| {
        scroll(ui, "lists", |ui| {
            layers::show(ui, state, memory, actions);
            section::end(ui);
            regions::show(ui, state, memory, actions);
            figures::show(ui, state, memory, actions);
            section::end(ui);
        });
    });
    let place = Rect::from_min_max(
        pos2(panel.left(), lists.bottom()),
        pos2(lists.right(), panel.bottom()),
    );
    super::part(ui, "crosshair", place, |ui| {
        ui.painter()
            .hline(place.x_range(), place.top() + 0.5, Stroke::new(1.0, p.line));
        scroll(ui, "readings", |ui| {
            crosshair::show(ui, state, memory);
        });
    });
}

/// Returns the height of the whole content.
fn scroll(ui: &mut Ui, name: impl Hash + Debug, add: impl FnOnce(&mut Ui)) -> f32 {
    let shown = ScrollArea::vertical()
        .id_salt(name)
        .auto_shrink(false)
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            add(ui);
        });
    shown.content_size.y
}

/// Icons that open the lists, in windows too narrow for them.
fn rail(ui: &mut Ui, panel: Rect, state: &State, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let lists = [
        (SideList::Layers, icons::LAYERS, "Layers"),
        (SideList::Regions, icons::REGION, "Regions"),
        (SideList::Crosshair, icons::CROSSHAIR, "At the crosshair"),
    ];
    for (i, (list, icon, name)) in lists.into_iter().enumerate() {
        let centre = pos2(panel.center().x, panel.top() + 26.0 + 40.0 * i as f32);
        let place = Rect::from_center_size(centre, vec2(30.0, 30.0));
        let open = state.view.visible.side_list == Some(list);
        let mut button = IconButton::new(icon, name).active(open);
        if open {
            // A closed list's icon is as light while the pointer is on it: the bar and the colour distinguish them.
            button = button.colour(p.accent);
            let bar = Rect::from_min_size(pos2(panel.left(), place.top()), vec2(2.0, 30.0));
            ui.painter().rect_filled(bar, 0.0, p.accent);
        }
        if button.show_at(ui, place).clicked() {
            let list = (!open).then_some(list);
            actions.push(Action::View(ViewAction::OpenList(list)));
        }
    }
    let place = Rect::from_center_size(
        pos2(panel.center().x, panel.bottom() - 26.0),
        vec2(30.0, 30.0),
    );
    let running = state.runtime.tour.is_some();
    let name = if running {
        "Leave guide"
    } else {
        "Start the guide"
    };
    if IconButton::new(icons::COMPASS, name)
        .active(running)
        .show_at(ui, place)
        .clicked()
    {
        // The guide stands in the panel of the task, which a list may replace.
        actions.push(Action::View(ViewAction::OpenList(None)));
        actions.push(if running {
            Action::LeaveTour
        } else {
            Action::StartTour
        });
    }
}

/// The list opened from the rail, next to the views, which shrink to make space.
pub fn list_of_rail(
    ui: &mut Ui,
    list: SideList,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let panel = ui.max_rect();
    ui.painter().rect_filled(panel, 0.0, p.b1);
    let edge = panel.right() - 0.5;
    ui.painter()
        .vline(edge, panel.y_range(), Stroke::new(1.0, p.line));
    let inside = Rect::from_min_max(panel.min, pos2(panel.right() - 1.0, panel.bottom()));
    super::part(ui, "list", inside, |ui| {
        scroll(ui, "list", |ui| match list {
            SideList::Layers => layers::show(ui, state, memory, actions),
            SideList::Regions => {
                regions::show(ui, state, memory, actions);
                figures::show(ui, state, memory, actions);
            }
            SideList::Crosshair => crosshair::show(ui, state, memory),
        });
    });
}

/// A lower panel would hide inputs and controls behind results, or results behind them: it shows one of the two.
const LOW: f32 = 400.0;
const SWITCH: f32 = 34.0;
/// Whether only the results are shown.
const RESULTS_ALONE: &str = "Results alone";

/// Either inputs and controls or results, with a switch.
fn one_of_two(
    ui: &mut Ui,
    body: Rect,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let switch = Rect::from_min_max(
        body.min + vec2(space::INSET - 1.0, 6.0),
        pos2(body.right() - space::INSET, body.top() + SWITCH - 4.0),
    );
    let now = memory.is_open(RESULTS_ALONE, false);
    let chosen = segmented(
        ui,
        switch,
        "Part of the panel",
        &["Controls", "Results"],
        usize::from(now),
    );
    if chosen.is_some_and(|chosen| chosen != usize::from(now)) {
        memory.toggle(RESULTS_ALONE);
    }
    let warned = if now {
        None
    } else {
        highest_severity(state, memory)
    };
    if let Some(severity) = warned {
        dot(ui, switch.with_min_x(switch.center().x), severity);
    }
    let body = body.with_min_y((body.top() + SWITCH).min(body.bottom()));
    let name = state.view.task.name();
    if memory.is_open(RESULTS_ALONE, false) {
        super::part(ui, "results", body, |ui| {
            anchor::scroll(ui, ("results", name), |ui| {
                results(ui, state, memory, actions)
            });
        });
    } else {
        super::part(ui, "task", body, |ui| {
            anchor::scroll(ui, name, |ui| controls(ui, state, memory, actions));
        });
    }
}

/// The most severe warning among the results, which are hidden while only the controls are shown.
fn highest_severity(state: &State, memory: &mut Memory) -> Option<Severity> {
    match state.view.task {
        Task::Track => forms::tracking::highest_severity(state, memory),
        Task::Pathways => forms::eikonal::highest_severity(state, memory),
        Task::Filter => forms::commit::highest_severity(state),
        // Checks, and a leak, report at the foot of the controls themselves.
        Task::View | Task::Segment => None,
    }
}

/// A dot next to the word "Results" in its part of the switch.
fn dot(ui: &mut Ui, cell: Rect, severity: Severity) {
    const RADIUS: f32 = 3.0;
    let p = theme::palette(ui.style());
    let (colour, hint) = match severity {
        Severity::Error => (p.error, "The results hold an error"),
        Severity::Warning | Severity::Information => (p.warning, "The results hold a warning"),
    };
    let text_width = paint::width(ui, "Results", theme::regular(size::LABEL));
    let at = pos2(cell.center().x + text_width * 0.5 + 8.0, cell.center().y);
    ui.painter().circle_filled(at, RADIUS, colour);
    let place = Rect::from_center_size(at, vec2(4.0 * RADIUS, 4.0 * RADIUS));
    let id = ui.make_persistent_id("results hold a warning");
    let response = ui.interact(place, id, Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Status, true, hint));
    response.on_hover_text(hint);
}

/// Inputs and controls above results.
fn both(
    ui: &mut Ui,
    (whole, body): (Rect, Rect),
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let task = state.view.task;
    let fits = state.document.scan().is_some();
    let split = Split::new(ui, task, fits, whole, body);
    let (above, below) = split.places(body);
    let (mut natural, mut rows_from) = ((0.0, 0.0), 0.0);
    super::part(ui, "task", above, |ui| {
        natural.0 = anchor::scroll(ui, task.name(), |ui| {
            rows_from = ui.cursor().top();
            controls(ui, state, memory, actions);
        });
    });
    super::part(ui, "results", below, |ui| {
        if split.divided {
            let line = Stroke::new(1.0, p.line);
            ui.painter().hline(below.x_range(), below.top() + 0.5, line);
        }
        natural.1 = anchor::scroll(ui, ("results", task.name()), |ui| {
            results(ui, state, memory, actions);
        });
    });
    split.remember(ui, task, natural, rows_from);
}

fn controls(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    forms::mosaic::show(ui, state, actions);
    forms::region::show(ui, state, memory, actions);
    match state.view.task {
        Task::View => {
            forms::streamlines::show(ui, state, memory, actions);
            forms::tensor_fit::show(ui, state, memory, actions);
        }
        Task::Pathways => forms::eikonal::show(ui, state, memory, actions),
        Task::Segment => forms::level_set::show(ui, state, memory, actions),
        Task::Filter => forms::commit::show(ui, state, memory, actions),
        Task::Track => forms::tracking::show(ui, state, memory, actions),
    }
}

fn results(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let task = state.view.task;
    match task {
        Task::View => forms::tensor_fit::results(ui, state, memory, actions),
        Task::Pathways => forms::eikonal::results(ui, state, memory, actions),
        Task::Segment => forms::level_set::results(ui, state, memory, actions),
        Task::Filter => forms::commit::results(ui, state, memory, actions),
        Task::Track => {
            let narrow = memory.narrow;
            forms::tracking::results(ui, state, memory, narrow, actions);
        }
    }
    section::end(ui);
    // Keeping streamlines selects their layer: the rows above do not move.
    if task == Task::Track {
        forms::streamlines::show(ui, state, memory, actions);
    }
}

pub fn right(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    if std::mem::take(&mut memory.begins) {
        // Scroll positions are restored between runs, too.
        ui.data_mut(|d| d.remove_by_type::<egui::scroll_area::State>());
    }
    let p = theme::palette(ui.style());
    let panel = ui.max_rect();
    ui.painter().rect_filled(panel, 0.0, p.b1);
    ui.painter().vline(
        panel.left() + 0.5,
        panel.y_range(),
        Stroke::new(1.0, p.line),
    );
    let foot = Rect::from_min_max(
        pos2(panel.left() + 1.0, panel.bottom() - ACTIONS),
        panel.max,
    );
    let body = Rect::from_min_max(
        pos2(panel.left() + 1.0, panel.top()),
        pos2(panel.right(), foot.top()),
    );
    let whole = body;
    let body = top::show(ui, whole, state, memory, actions);
    let body = forms::level_set::pinned(ui, body, state, actions);
    memory.panel_height = body.height();
    if whole.height() < LOW {
        one_of_two(ui, body, state, memory, actions);
    } else {
        both(ui, (whole, body), state, memory, actions);
    }
    super::part(ui, "actions", foot, |ui| {
        ui.painter()
            .hline(foot.x_range(), foot.top() + 0.5, Stroke::new(1.0, p.line));
        let buttons = Rect::from_min_size(
            pos2(foot.left() + space::INSET - 1.0, foot.top() + 11.0),
            vec2(foot.width() - 2.0 * space::INSET, space::BUTTON),
        );
        match state.view.task {
            Task::View => forms::tensor_fit::foot(ui, buttons, state, memory, actions),
            Task::Track => forms::tracking::foot(ui, buttons, state, memory, actions),
            Task::Pathways => forms::eikonal::foot(ui, buttons, state, memory, actions),
            Task::Segment => forms::level_set::foot(ui, buttons, state, memory, actions),
            Task::Filter => forms::commit::foot(ui, buttons, state, memory, actions),
        }
    });
}

/// The suggestion after a graphics card failed.
pub const ON_CPU: &str = "Run on the CPU";

/// Number of messages shown in full; older ones are only counted.
const NOTES: usize = 3;

fn is_error(message: &Message) -> bool {
    message.severity == Severity::Error
}

/// The latest messages of a kind as notes that can be dismissed.
pub fn messages(
    ui: &mut Ui,
    state: &State,
    is_shown: impl Fn(&Message) -> bool,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let messages = state.runtime.notices.messages.iter().enumerate();
    let task = state.view.task;
    let messages = messages.filter(|(_, m)| m.is_shown_in(task) && is_shown(m));
    let messages: Vec<_> = messages.collect();
    let older = messages.len().saturating_sub(NOTES);
    for &(i, message) in &messages[older..] {
        let mut note = Note::new(p, message.severity, &message.text).dismissable();
        if message.on_card {
            note = note.action(ON_CPU);
        }
        match note.show(ui) {
            Some(NoteResponse::Accepted) => actions.push(Action::Device(DeviceAction::RunOnCpu)),
            Some(NoteResponse::SecondAction | NoteResponse::Dismissed) => {
                actions.push(Action::DismissMessage(i))
            }
            None => {}
        }
    }
    if older > 0 {
        let text = format!("and {older} more");
        let note = Note::new(p, Severity::Information, &text).action("Dismiss all");
        if note.show(ui) == Some(NoteResponse::Accepted) {
            // From the last, so that the indices of the others stay valid.
            actions.extend(messages.iter().rev().map(|m| Action::DismissMessage(m.0)));
        }
    }
}

/// Space between buttons.
const GAP: f32 = 6.0;

/// Buttons from left to right, those at the right without icons if they and "Copy as command" would not fit; returns
/// the response of each.
pub fn button_row(
    ui: &mut Ui,
    place: Rect,
    mut buttons: Vec<super::widgets::button::Button>,
) -> (Vec<egui::Response>, f32) {
    let mut x = place.left();
    let mut responses = Vec::new();
    let room = place.width() - space::BUTTON - 2.0;
    for last in (0..buttons.len()).rev() {
        let wide: f32 = buttons.iter().map(|b| b.width(ui) + GAP).sum();
        if wide <= room {
            break;
        }
        let button = buttons.remove(last).without_icon();
        buttons.insert(last, button);
    }
    for button in buttons {
        let rect = Rect::from_min_size(pos2(x, place.top()), vec2(button.width(ui), space::BUTTON));
        x = rect.right() + GAP;
        responses.push(button.show_at(ui, rect));
    }
    (responses, x)
}

/// "Copy as command" at the end of a panel's buttons.
pub fn copy_command(ui: &mut Ui, place: Rect, x: f32, enabled: bool) -> bool {
    let rect = Rect::from_min_size(
        pos2(x + 2.0, place.top()),
        vec2(space::BUTTON, space::BUTTON),
    );
    IconButton::new(icons::TERMINAL, "Copy as command")
        .hint("Copy as command (Ctrl+Shift+C)")
        .disabled((!enabled).then_some("There is no result to copy as a command yet"))
        .show_at(ui, rect)
        .clicked()
}

pub const CAPTION: f32 = 22.0;

/// A small caption above a widget.
pub fn caption(ui: &mut Ui, text: &str, fact: &str) -> egui::Response {
    let p = theme::palette(ui.style());
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), CAPTION), Sense::hover());
    let inner = paint::inset(rect, space::INSET, space::INSET);
    let fact_at = paint::right(ui.painter(), inner, fact, theme::medium(size::LABEL), p.t1);
    let room = inner.with_max_x(fact_at.left() - 8.0);
    paint::name(ui.painter(), room, text, theme::regular(size::LABEL), p.t2);
    response.widget_info(|| {
        let text = format!("{text} {fact}");
        egui::WidgetInfo::labeled(egui::Role::Label, true, text.trim())
    });
    response
}
