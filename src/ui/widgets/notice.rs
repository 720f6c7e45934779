//! A word in the status line, for a moment: what became of something that was typed.

use egui::{Id, Ui};
use std::time::Duration;

const SHOWN_S: f64 = 6.0;

#[derive(Clone)]
struct Notice {
    text: String,
    until_s: f64,
}

fn id() -> Id {
    Id::unique("notice")
}

pub fn say(ui: &Ui, text: String) {
    let until_s = ui.input(|i| i.time) + SHOWN_S;
    ui.data_mut(|d| d.insert_temp(id(), Notice { text, until_s }));
    ui.ctx().request_repaint();
}

pub fn current(ui: &Ui) -> Option<String> {
    let notice: Notice = ui.data(|d| d.get_temp(id()))?;
    let left = notice.until_s - ui.input(|i| i.time);
    if left <= 0.0 {
        ui.data_mut(|d| d.remove::<Notice>(id()));
        return None;
    }
    ui.ctx()
        .request_repaint_after(Duration::from_secs_f64(left));
    Some(notice.text)
}
