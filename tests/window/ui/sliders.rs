//! Sliders whose value is applied late, and fields that are only focused.

use super::{Window, click, small_scan, tracking, window};
use crate::support::test;
use arcuate::solvers::tensor_fit::Method;
use arcuate::state::{Action, Task, TensorAction, TrackAction};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "ui::slow changes wait for the end of a drag",
            waiting_sliders,
        ),
        test("ui::a field that was only visited keeps its value", visited),
        test("ui::Esc cancels the drag of a slider", given_up),
        test("ui::a range without room for its unit names it", range_unit),
    ]
}

/// The form of the fit applies values at the end of a drag, its knobs follow before.
fn waiting_sliders() {
    let mut state = small_scan();
    state.view.task = Task::View;
    state.document.fit.method = Method::Iwls { iterations: 2 };
    let mut window = window(state, [1920.0, 1080.0]);
    click(&mut window, "Tensor fit");
    let value = |window: &Window, name: &str| {
        let node = window.get_by_role_and_label(egui::Role::Slider, name);
        node.accesskit_node().numeric_value().unwrap()
    };
    let drag = |window: &mut Window, name: &str, from: f64, to: f64, range: (f64, f64)| {
        // A knob's area is its own part of the rail, and a knob's radius at both ends.
        let area = window
            .get_by_role_and_label(egui::Role::Slider, name)
            .rect();
        let other = window
            .query_by_role_and_label(egui::Role::Slider, "b range, high")
            .map_or(area, |n| n.rect());
        let rail = if name.starts_with("b range") {
            area.union(other).shrink(6.0)
        } else {
            area.shrink(6.0)
        };
        let x = |v: f64| rail.left() + rail.width() * ((v - range.0) / (range.1 - range.0)) as f32;
        let at = |v: f64| egui::pos2(x(v), rail.center().y);
        window.drag_at(at(from));
        window.run();
        for share in [0.25, 0.5, 0.75, 1.0] {
            window.hover_at(at(from + (to - from) * share));
            window.run();
        }
        // The rail shrinks for longer numbers while the knob moves.
        let stands = value(window, name);
        assert!(
            (stands - to).abs() < 0.1 * (range.1 - range.0),
            "{name}: {stands}"
        );
        assert!(window.state().actions.is_empty(), "{name} waits");
        window.drop_at(at(to));
        window.run();
        let sent = std::mem::take(&mut window.state_mut().actions);
        assert!(
            matches!(
                sent.as_slice(),
                [Action::Tensors(TensorAction::SetFit { .. })]
            ),
            "{name}: {sent:?}"
        );
    };
    drag(&mut window, "Iterations", 2.0, 7.0, (1.0, 10.0));
    let fit = window.state().state.document.fit.clone();
    assert_eq!(fit.method, Method::Iwls { iterations: 7 });
    let node = window.get_by_role_and_label(egui::Role::Slider, "b range, high");
    let high = node.accesskit_node().max_numeric_value().unwrap();
    drag(
        &mut window,
        "b range, low",
        fit.b_range_s_per_mm2.0,
        0.4 * high,
        (0.0, high),
    );
    let (low, _) = window.state().state.document.fit.b_range_s_per_mm2;
    assert!((low - 0.4 * high).abs() < 0.1 * high, "{low} of {high}");
}

/// One that is live, and one that applies its value at the end of the drag.
fn given_up() {
    let mut state = tracking();
    state.document.fit.method = Method::Iwls { iterations: 2 };
    let mut window = window(state, [1920.0, 1080.0]);
    let drag = |window: &mut Window, name: &str| {
        let slider = window.get_by_role_and_label(egui::Role::Slider, name);
        let rail = slider.rect();
        let at = |share: f32| egui::pos2(rail.left() + share * rail.width(), rail.center().y);
        window.drag_at(at(0.3));
        window.run();
        for share in [0.5, 0.7, 0.9] {
            window.hover_at(at(share));
            window.run();
        }
        window.key_press(egui::Key::Escape);
        window.run();
        window.hover_at(at(0.6));
        window.run();
        window.drop_at(at(0.6));
        window.run();
    };
    let before = window.state().state.document.track.streamlines.clone();
    drag(&mut window, "Step");
    let sent = &window.state().actions;
    assert!(
        sent.iter()
            .any(|a| matches!(a, Action::Track(TrackAction::SetStreamlines { .. }))),
        "it was live"
    );
    assert_eq!(window.state().state.document.track.streamlines, before);
    assert_eq!(window.state().state.history.undo_label(), None);
    let regions = window.state().state.document.regions.len();
    assert!(window.state().state.runtime.regions.selected.is_none() || regions > 0);
    // The next drag is an ordinary one.
    let slider = window.get_by_role_and_label(egui::Role::Slider, "Step");
    let to = slider.rect().right_center() - egui::vec2(12.0, 0.0);
    window.drag_at(slider.rect().center());
    window.run();
    window.hover_at(to);
    window.run();
    window.drop_at(to);
    window.run();
    assert_ne!(window.state().state.document.track.streamlines, before);
    click(&mut window, "View");
    click(&mut window, "Tensor fit");
    window.state_mut().actions.clear();
    drag(&mut window, "Iterations");
    let fit = |a: &Action| matches!(a, Action::Tensors(TensorAction::SetFit { .. }));
    assert!(!window.state().actions.iter().any(fit));
    let method = window.state().state.document.fit.method;
    assert_eq!(method, Method::Iwls { iterations: 2 });
}

/// A narrow panel has no space for the unit next to two numbers and a rail.
fn range_unit() {
    let window = window(tracking(), [1280.0, 1400.0]);
    let texts = super::segment::painted(&window);
    let label = texts.iter().find(|(text, _)| text.starts_with("Length"));
    let (text, label) = label.expect("the row's label");
    let in_field = |(text, rect): &(String, egui::Rect)| {
        text.ends_with("mm") && (rect.center().y - label.center().y).abs() < 4.0
    };
    assert!(
        text == "Length, mm" || texts.iter().any(in_field),
        "{texts:?}"
    );
}

fn visited() {
    let mut state = tracking();
    state.document.track.streamlines.step_mm = 0.123_456;
    state.document.track.streamlines.min_length_mm = 12.345_678;
    let before = state.document.track.streamlines.clone();
    let mut window = window(state, [1920.0, 1080.0]);
    for name in ["Step", "Length"] {
        let field = window.get_by_role_and_label(egui::Role::TextInput, name);
        field.click();
        window.run();
        window.key_press(egui::Key::Enter);
        window.run();
    }
    assert!(
        window.state().actions.is_empty(),
        "{:?}",
        window.state().actions
    );
    assert_eq!(window.state().state.document.track.streamlines, before);
}
