//! Focus that the hand gives: arrow keys go to what was touched last.

use egui::{Id, Response, Ui};

fn by_hand_id() -> Id {
    Id::unique("focused by hand")
}

/// What has the focus because it was touched: single keys stay those of the window.
pub fn focused_by_hand(ui: &Ui) -> Option<Id> {
    ui.data(|d| d.get_temp(by_hand_id()))
}

/// Gives a widget the focus when the pointer takes hold of it, until it is pressed elsewhere.
pub fn by_hand(ui: &Ui, response: &Response, id: Id) {
    if response.drag_started() {
        response.request_focus();
        ui.data_mut(|d| d.insert_temp(by_hand_id(), id));
    } else if focused_by_hand(ui) == Some(id) {
        let elsewhere = ui.input(|i| i.pointer.any_pressed()) && !response.contains_pointer();
        if elsewhere {
            response.surrender_focus();
        }
        if elsewhere || !response.has_focus() {
            ui.data_mut(|d| d.remove::<Id>(by_hand_id()));
        }
    }
}
