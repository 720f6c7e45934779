//! Drop-down fields by keys: after a click, and after Tab.

use super::{Window, click, small_scan, window};
use crate::support::test;
use arcuate::scene::draw_list::Interpolation;
use arcuate::state::Tool;
use egui::Key;
use egui_kittest::kittest::{By, NodeT as _, Queryable as _};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::menus::arrows and Enter choose", arrows),
        test("ui::menus::from the keyboard alone", by_keyboard),
        test("ui::menus::a menu at a row", at_a_row),
    ]
}

fn press(window: &mut Window, key: Key) {
    window.key_press(key);
    window.run();
}

fn focused(window: &Window) -> String {
    let node = window.query_all(By::new().predicate(|n| n.is_focused()));
    let names: Vec<String> = node.filter_map(|n| n.accesskit_node().label()).collect();
    names.join(", ")
}

fn smoothing(window: &Window) -> Interpolation {
    let document = &window.state().state.document;
    let layer = document.layers.iter().rev().find(|l| l.display.visible);
    layer.expect("an image").display.interpolation
}

fn open(window: &Window) -> bool {
    let rows = window.query_all_by_role(egui::accesskit::Role::MenuItem);
    rows.count() > 0
}

fn arrows() {
    let mut window = window(small_scan(), [1920.0, 1080.0]);
    let crosshair = window.state().state.view.crosshair;
    let before = smoothing(&window);
    let row = |window: &Window| {
        let field = window.get_by_role_and_label(egui::Role::ComboBox, "Smoothing");
        field.rect().center()
    };
    let at = row(&window);
    super::click_with(&mut window, at, egui::Modifiers::NONE);
    assert!(open(&window));
    // Beginning with what is chosen now, around the ends.
    let now = focused(&window);
    let mut names = vec![now.clone()];
    for _ in 0..3 {
        press(&mut window, Key::ArrowDown);
        names.push(focused(&window));
    }
    names.dedup();
    assert!(names.len() >= 3, "{names:?}");
    press(&mut window, Key::Home);
    let first = focused(&window);
    press(&mut window, Key::ArrowUp);
    let last = focused(&window);
    assert_ne!(first, last);
    press(&mut window, Key::End);
    assert_eq!(focused(&window), last);
    let wanted = if now == last { &first } else { &last };
    if now == last {
        press(&mut window, Key::Home);
    }
    assert_eq!(focused(&window), *wanted);
    press(&mut window, Key::Enter);
    assert!(!open(&window));
    assert_ne!(smoothing(&window), before);
    // Neither did the crosshair go anywhere nor was a tool taken.
    let view = &window.state().state.view;
    assert_eq!((view.crosshair, view.tool), (crosshair, Tool::Crosshair));
    // What was used last keeps the arrows; Esc gives them back to the crosshair.
    press(&mut window, Key::ArrowLeft);
    assert_eq!(window.state().state.view.crosshair, crosshair);
    press(&mut window, Key::Escape);
    press(&mut window, Key::ArrowLeft);
    assert_ne!(window.state().state.view.crosshair, crosshair);
    // Esc chooses nothing.
    let chosen = smoothing(&window);
    super::click_with(&mut window, at, egui::Modifiers::NONE);
    press(&mut window, Key::ArrowDown);
    press(&mut window, Key::Escape);
    assert!(!open(&window));
    assert_eq!(smoothing(&window), chosen);
}

fn by_keyboard() {
    let mut window = window(small_scan(), [1920.0, 1080.0]);
    let before = smoothing(&window);
    window
        .get_by_role_and_label(egui::Role::ComboBox, "Smoothing")
        .focus();
    window.run();
    press(&mut window, Key::ArrowDown);
    assert!(open(&window));
    press(&mut window, Key::ArrowDown);
    press(&mut window, Key::Space);
    assert!(!open(&window));
    assert_ne!(smoothing(&window), before);
    assert_eq!(focused(&window), "Smoothing", "the focus is where it was");
    press(&mut window, Key::Enter);
    assert!(open(&window));
    press(&mut window, Key::Escape);
    assert!(!open(&window));
    assert_eq!(focused(&window), "Smoothing");
}

fn at_a_row() {
    let mut window = window(small_scan(), [1920.0, 1080.0]);
    let crosshair = window.state().state.view.crosshair;
    click(&mut window, "Add a layer");
    assert!(open(&window));
    // Nothing is chosen there yet: a mouse lights no row.
    assert_eq!(focused(&window), "");
    press(&mut window, Key::ArrowDown);
    let first = focused(&window);
    press(&mut window, Key::ArrowDown);
    assert!(!first.is_empty() && focused(&window) != first);
    assert_eq!(window.state().state.view.crosshair, crosshair);
}
