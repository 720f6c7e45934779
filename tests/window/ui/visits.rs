//! Visits to another task: what it does not show is not offered there.

use super::segment::leaked;
use super::{Window, click, window};
use crate::support::test;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test(
        "ui::the eye of the live surface is off in other tasks",
        eye_elsewhere,
    )]
}

/// No other task draws the surface: its eye does nothing there.
fn eye_elsewhere() {
    let mut window = window(leaked().state, [1920.0, 1080.0]);
    let is_off = |window: &Window| {
        let eye = window.get_by_label("Hide Surface, live");
        eye.accesskit_node().is_disabled()
    };
    assert!(!is_off(&window));
    click(&mut window, "View");
    assert!(is_off(&window));
    window.get_by_label("Hide Surface, live").click();
    window.run();
    assert!(window.state().state.document.segment.settings.shown);
}
