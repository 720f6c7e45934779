//! Visits to another task: what it does not show is not offered there.

use super::segment::{leaked, painted};
use super::{Window, click, small_scan, window};
use crate::support::{self, lines, opened_event, opened_file, test};
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::streamlines::SelectionMode;
use arcuate::state::{Action, LayerAction, StreamlineAction};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "ui::the eye of the live surface is off in other tasks",
            eye_elsewhere,
        ),
        test("ui::a kept layer is not a second input", kept),
    ]
}

/// The inputs list the file once, with the streamlines that it has.
fn kept() {
    let mut driven = support::Window::new();
    driven.state = small_scan();
    let line = || {
        (0..9)
            .map(|y| glam::DVec3::new(0.0, f64::from(y), 0.0))
            .collect()
    };
    let loaded = Loaded::Tractogram(lines(&[line(), line()]));
    let file = opened_file("/data/fibres.tck", loaded);
    driven.act(Action::Event(opened_event(90, file)));
    let id = driven
        .state
        .document
        .layer_named("fibres")
        .expect("opened")
        .id;
    driven.act(Action::Layer(LayerAction::Select(Some(id))));
    driven.act(Action::Streamline(StreamlineAction::Choose {
        streamlines: vec![1],
        mode: SelectionMode::Replace,
        anchor: None,
    }));
    driven.act(Action::Streamline(StreamlineAction::KeepChosen));
    let kept = driven.state.document.layer_named("fibres, selected");
    assert!(kept.is_some());
    let window = window(driven.state, [1920.0, 1080.0]);
    let inputs = painted(&window).into_iter();
    assert_eq!(
        inputs
            .filter(|(text, _)| text.starts_with("fibres.tck"))
            .count(),
        1
    );
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
