//! The block "Named views" of the task View: viewpoints that the session keeps.

use crate::state::{Action, State, ViewAction, ViewpointAction};
use crate::ui::dialogs::rename::{self, RenameTarget, Renamed};
use crate::ui::widgets::button::{Button, IconButton};
use crate::ui::widgets::{paint, rows, section};
use crate::ui::{Memory, icons, panels, theme};
use egui::{Rect, Sense, Ui, vec2};
use theme::{size, space};

const BLOCK: &str = "Named views";

fn viewpoint(action: ViewpointAction) -> Action {
    Action::View(ViewAction::Viewpoint(action))
}

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let (open, clicked) = section::fold(ui, BLOCK, memory.is_open(BLOCK, false));
    if clicked {
        memory.toggle(BLOCK);
    }
    if !open {
        return;
    }
    let desired_size = vec2(ui.available_width(), space::BUTTON + 8.0);
    let (rect, _) = ui.allocate_exact_size(desired_size, Sense::hover());
    let place = paint::inset(rect, space::INSET, space::INSET);
    let place = Rect::from_min_size(place.min, vec2(place.width(), space::BUTTON));
    let save = Button::plain("Save this view")
        .hint("Keeps the crosshair, the slices and the camera of the 3-D view");
    let (responses, _) = panels::button_row(ui, place, vec![save]);
    if responses[0].clicked() {
        actions.push(viewpoint(ViewpointAction::Save));
        // Its row, the next one, asks for a name at once; without one it keeps its number.
        rename::begin(RenameTarget::Viewpoint(state.view.named.len()), "", memory);
    }
    for index in 0..state.view.named.len() {
        row(ui, index, state, memory, actions);
    }
    let hint = match state.view.named.is_empty() {
        true => "The session keeps them. Alt+← goes back to where you looked before, Alt+→ forward",
        false => "Click one to look from there. Alt+← goes back",
    };
    rows::hint(ui, hint);
}

fn row(ui: &mut Ui, index: usize, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let named = &state.view.named[index];
    let is_here = named.viewpoint == state.view.viewpoint();
    let target = RenameTarget::Viewpoint(index);
    let response = rows::list_row(ui, &named.name, ("named view", index), is_here);
    match rename::rename(ui, response.rect, target, memory) {
        Renamed::Editing => return,
        Renamed::Done(name) => {
            return actions.push(viewpoint(ViewpointAction::Rename { index, name }));
        }
        Renamed::Inactive => {}
    }
    let inner = paint::inset(response.rect, space::INSET, space::INSET + 28.0);
    paint::left(
        ui.painter(),
        inner,
        &named.name,
        theme::regular(size::LABEL),
        p.t1,
    );
    let place = paint::inset(response.rect, 0.0, space::INSET - 3.0);
    let delete = format!("Delete {}", named.name);
    let button = IconButton::new(icons::TRASH, &delete).side(22.0);
    if button.show_right(ui, place).clicked() {
        return actions.push(viewpoint(ViewpointAction::Delete(index)));
    }
    if response.double_clicked() {
        rename::begin(target, &named.name, memory);
    } else if response.clicked() {
        actions.push(viewpoint(ViewpointAction::Show(index)));
    }
    response.context_menu(|ui| {
        rename::rename_item(ui, target, &named.name, memory);
        if rename::delete_item(ui) {
            actions.push(viewpoint(ViewpointAction::Delete(index)));
        }
    });
}
