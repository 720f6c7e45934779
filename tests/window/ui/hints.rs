//! Hovering: every slider, drop-down and icon explains itself, and disabled ones give the reason.

use super::{Window, small_scan, tracking, window};
use crate::support::test;
use arcuate::state::{State, Task};
use egui::accesskit::Role;
use egui::{Order, Pos2, Rect};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "ui::hints::controls of the panels explain themselves",
            panels,
        ),
        test("ui::hints::a greyed icon gives its reason", reasons),
        test(
            "ui::hints::rows and buttons of View explain themselves",
            view,
        ),
    ]
}

/// Tall enough for whole panels.
const SIZE: [f32; 2] = [1920.0, 2400.0];

/// A window in which hints appear at once.
fn eager(state: State) -> Window {
    let window = window(state, SIZE);
    window.ctx.all_styles_mut(|style| {
        style.interaction.tooltip_delay = 0.0;
        style.interaction.show_tooltips_only_when_still = false;
    });
    window
}

/// Whether anything explains the control under the pointer.
fn explained(window: &mut Window, at: Pos2) -> bool {
    window.hover_at(at);
    window.run_steps(3);
    window.ctx.memory(|memory| {
        let shown = memory.areas().visible_layer_ids();
        shown.iter().any(|layer| layer.order == Order::Tooltip)
    })
}

/// The controls that need a hint: those that show no text, or cannot be used.
fn controls(window: &Window) -> Vec<(String, Rect)> {
    let panel = window.state().views.right();
    let nodes = window.root().children_recursive();
    let found = nodes.filter_map(|node| {
        let own = node.accesskit_node();
        own.bounding_box()?;
        let is_icon = node.rect().width() <= 34.0 && node.rect().height() <= 34.0;
        let needs = match own.role() {
            Role::Slider | Role::ComboBox => true,
            Role::Button => is_icon || own.is_disabled(),
            _ => false,
        };
        let inside = node.rect().left() >= panel && node.rect().bottom() < SIZE[1] - 60.0;
        (needs && inside).then(|| (own.label().unwrap_or_default(), node.rect()))
    });
    found.collect()
}

fn panels() {
    let (mut silent, mut seen) = (Vec::new(), 0);
    for task in [
        Task::View,
        Task::Track,
        Task::Pathways,
        Task::Segment,
        Task::Filter,
    ] {
        let mut state = tracking();
        state.view.task = task;
        let mut window = eager(state);
        for (name, rect) in controls(&window) {
            // Away first: a hint lasts while the pointer stays near its control.
            window.hover_at(egui::pos2(2.0, SIZE[1] - 2.0));
            window.run_steps(2);
            if !explained(&mut window, rect.center()) {
                silent.push(format!("{task:?}: {name}"));
            }
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen}");
    assert!(silent.is_empty(), "{silent:#?}");
}

fn reasons() {
    let mut state = small_scan();
    state.view.task = Task::Segment;
    let mut window = eager(state);
    let step = window.get_by_label("Back to step 0").rect().center();
    assert!(explained(&mut window, step));
    window.get_by_label_contains("The surface is at step 0");
    let undo = window.get_by_label("Undo").rect().center();
    assert!(explained(&mut window, undo));
    window.get_by_label_contains("Nothing to undo");
}

fn view() {
    let mut state = small_scan();
    state.view.task = Task::View;
    let mut window = eager(state);
    let panel = window.state().views.right();
    for name in ["Screenshot…", "Gradients", "Gradient directions, "] {
        let found = window.query_all_by_label_contains(name);
        let mut places = found.map(|node| node.rect());
        let place = places.find(|rect| rect.left() >= panel);
        drop(places);
        let place = place.unwrap_or_else(|| panic!("no {name}"));
        window.hover_at(egui::pos2(2.0, SIZE[1] - 2.0));
        window.run_steps(2);
        assert!(explained(&mut window, place.center()), "{name}");
    }
}
