//! Settings, the question whom to open, and how six volumes hold tensors.

use super::{Window, click, small_scan, window};
use crate::support::test;
use arcuate::io::bids;
use arcuate::state::{Action, Convention, Effect, Mouse, State, Tool};
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::settings are set by keys and clicks", settings),
        test("ui::one of several subjects is chosen", visits),
        test("ui::help turns pages, searches and closes", help),
    ]
}

fn press(window: &mut Window, modifiers: Modifiers, key: Key) {
    window.key_press_modifiers(modifiers, key);
    window.run();
}

fn help() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    press(&mut window, Modifiers::NONE, Key::F1);
    window.get_by_label("Close Help");
    // Pages are chosen from the list, and follow their links.
    click(&mut window, "Limits");
    assert!(window.query_by_label_contains("resolve crossing").is_some());
    let page = window.get_by_role_and_label(egui::Role::ListItem, "Track");
    page.click();
    window.run();
    assert!(window.query_by_label_contains("wild bootstrap").is_some());
    // A search opens the section.
    click(&mut window, "Search in Help");
    window.event(egui::Event::Text("leak alarm".to_owned()));
    window.run();
    click(&mut window, "Segment: Leaks");
    assert!(
        window
            .query_by_label_contains("leak alarm pauses")
            .is_some()
    );
    // Letters of the search are no tools; Esc leaves the field, then closes Help.
    assert_eq!(window.state().state.view.tool, Tool::Crosshair);
    press(&mut window, Modifiers::NONE, Key::Escape);
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(window.query_by_label("Close Help").is_none());
    // The palette opens a page by its title.
    press(&mut window, Modifiers::COMMAND, Key::K);
    window.event(egui::Event::Text("help formats".to_owned()));
    window.run();
    press(&mut window, Modifiers::NONE, Key::Enter);
    window.get_by_label("Close Help");
    assert!(window.query_by_label_contains("No point moves").is_some());
}

fn settings() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    press(&mut window, Modifiers::COMMAND, Key::Comma);
    window.get_by_label("Close settings");
    click(&mut window, "Mouse as in: Slicer");
    assert_eq!(window.state().state.session.settings.mouse, Mouse::Slicer);
    click(&mut window, "Left and right: Neurological");
    let state = &window.state().state;
    assert_eq!(state.session.settings.convention, Convention::Neurological);
    assert_eq!(state.view.convention, Convention::Neurological);
    assert!(
        window
            .state()
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Store))
    );
    // Keys are the sheet's as long as it is open.
    press(&mut window, Modifiers::NONE, Key::R);
    assert_eq!(
        window.state().state.view.convention,
        Convention::Neurological
    );
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(window.query_by_label("Close settings").is_none());
    press(&mut window, Modifiers::NONE, Key::R);
    assert_eq!(
        window.state().state.view.convention,
        Convention::Radiological
    );
    // The sheet of keys says what the mouse does.
    press(&mut window, Modifiers::SHIFT, Key::Questionmark);
    window.get_by_label("Right-drag: Zoom; Ctrl: window, level");
    press(&mut window, Modifiers::NONE, Key::Escape);
    // Also when keys change it.
    window.ctx.set_zoom_factor(1.25);
    window.run();
    assert_eq!(window.state().state.session.settings.zoom, Some(1.25));
}

fn visits() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["sub-01", "sub-02"] {
        let dwi = folder.path().join(name).join("dwi");
        std::fs::create_dir_all(&dwi).expect("a folder");
        std::fs::write(dwi.join(format!("{name}_dwi.nii.gz")), b"x").expect("written");
    }
    let asked = || {
        let mut state = State::new(String::new());
        let found = bids::find(folder.path()).expect("a data set");
        state.session.folder = Some(Arc::new(found));
        window(state, [1280.0, 800.0])
    };
    let chosen = |a: &Action| matches!(a, Action::OpenVisit(Some(1)));
    let mut clicked = asked();
    click(&mut clicked, "sub-02: diffusion scan");
    assert!(clicked.state().actions.iter().any(chosen));
    assert!(clicked.state().state.session.folder.is_none());

    let mut typed = asked();
    // There is none below the second.
    for key in [Key::ArrowDown, Key::ArrowDown, Key::Enter] {
        assert!(typed.state().state.session.folder.is_some());
        typed.key_press(key);
        typed.run();
    }
    assert!(typed.state().actions.iter().any(chosen));
}
