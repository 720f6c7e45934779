//! Pathways and the surface of Segment in the window: the rows of both tasks, the map of sensitivity and its legend.

use super::pathways::{solved, state_with_kept_pathway};
use super::{Window, click, submitted, type_over, window};
use crate::support::{self, start_of_new_job, test};
use arcuate::solvers::level_set::Sphere;
use arcuate::state::pathways::jobs::{MapSensitivity, SENSITIVITY};
use arcuate::state::pathways::{PathwayAction, ShownCost, SurfaceUse};
use arcuate::state::{Action, JobHandle, Phase, SegmentAction, State, Task, ViewAction, update};
use arcuate::ui::palette::names;
use arcuate::ui::views::legend::of_slices;
use egui::Role as Widget;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::obstacles::the surface in both tasks", rows),
        test("ui::obstacles::a surface around an end", swallowed),
        test("ui::obstacles::the margin", margin),
        test("ui::obstacles::the map is requested", mapped),
        test("ui::obstacles::the map has the legend", legend),
        test("ui::obstacles::commands by name", commands),
    ]
}

const SIZE: [f32; 2] = [1920.0, 1700.0];
const ROW: &str = "Surface in pathways";

/// A solved pathway, and in Segment a sphere around the middle of its path.
fn with_sphere(radius_mm: f64) -> State {
    let mut window = support::Window::new();
    window.state = solved();
    let points = &window.state.final_pathway().expect("solved").path.points;
    let centre = points[points.len() / 2];
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    window.act(Action::Segment(SegmentAction::Sphere(Sphere {
        add: true,
        centre,
        radius_mm,
    })));
    assert!(window.state.runtime.segment.live.is_some());
    window.state
}

/// The state after another treatment of the surface, with all jobs done.
fn treated(state: State, surface_use: SurfaceUse) -> State {
    let mut window = support::Window::new();
    window.state = state;
    let mut settings = window.state.document.pathways.clone();
    settings.surface_use = surface_use;
    let phase = Phase::Done;
    window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
    window.state
}

fn show(state: State, task: Task) -> State {
    let mut window = support::Window::new();
    window.state = state;
    window.act(Action::View(ViewAction::SelectTask(task)));
    window.state
}

fn has_row(window: &Window) -> bool {
    window.query_all_by_label_contains(ROW).next().is_some()
}

/// Both tasks have the row, by the same rule.
fn rows() {
    let none = window(solved(), SIZE);
    assert!(!has_row(&none), "there is no surface");
    let state = with_sphere(3.0);
    for task in [Task::Segment, Task::Pathways] {
        assert!(
            has_row(&window(show(state.clone(), task), SIZE)),
            "{task:?}"
        );
    }
    let mut segment = window(treated(state, SurfaceUse::Excluded), SIZE);
    segment.get_by_label_contains("To live pathway");
    segment.get_by_label_contains("Voxels within 5.0");
    // A result of an earlier surface is dimmed, not hidden.
    let before = segment.state().state.proximity_targets().len();
    segment.state_mut().state.document.pathways.params.min_fa = 0.3;
    segment.run();
    assert_eq!(segment.state().state.proximity_targets().len(), before);
    segment.get_by_label_contains("To live pathway");
}

/// Without a path the row stays, with the reason.
fn swallowed() {
    let state = treated(with_sphere(80.0), SurfaceUse::Excluded);
    assert!(state.runtime.pathways.live.value().is_none());
    let why = state.why_no_pathway().to_owned();
    let window = window(state, SIZE);
    assert!(has_row(&window));
    window.get_by_label_contains(&why);
}

/// Dragged by keys, typed and undone under its own name.
fn margin() {
    let state = treated(with_sphere(3.0), SurfaceUse::Excluded);
    let mut window = window(state, SIZE);
    let mm = |window: &Window| window.state().state.document.segment.settings.margin_mm;
    assert_eq!(mm(&window), 5.0);
    window
        .get_by_role_and_label(Widget::Slider, "Margin")
        .focus();
    window.run();
    window.key_press(egui::Key::ArrowRight);
    window.run();
    let wider = mm(&window);
    assert!(wider > 5.0, "{wider}");
    let label = window.state().state.history.undo_label();
    assert_eq!(label, Some("Margin"));
    update(&mut window.state_mut().state, Action::Undo);
    assert_eq!(mm(&window), 5.0);
    window.run();
    let field = window
        .get_all_by_label("Margin")
        .find(|node| node.accesskit_node().role() == Widget::TextInput);
    if let Some(field) = field {
        field.focus();
        window.run();
        type_over(&mut window, "50");
        assert!(mm(&window) <= 20.0, "{}", mm(&window));
    }
}

fn mapped() {
    let mut window = window(solved(), SIZE);
    click(&mut window, "Map sensitivity");
    assert_eq!(submitted::<MapSensitivity>(&window).len(), 1);
    window
        .state_mut()
        .state
        .runtime
        .jobs
        .running
        .push(JobHandle {
            slot: SENSITIVITY,
            ticket: 1,
            label: "Mapping".to_owned(),
            control: arcuate::compute::Control::new(),
            started: start_of_new_job(),
        });
    window.run();
    let button = window.get_by_label("Map sensitivity");
    assert!(button.accesskit_node().is_disabled(), "it is computed");
    // Out of date: it cannot be mapped.
    let mut moved = super::window(solved(), SIZE);
    moved.state_mut().state.document.pathways.params.min_fa = 0.3;
    moved.run();
    let button = moved.get_by_label("Map sensitivity");
    assert!(button.accesskit_node().is_disabled(), "it is out of date");
    // A kept one has it in its menu.
    let mut kept = super::window(state_with_kept_pathway("Arch"), SIZE);
    click(&mut kept, "More of Arch");
    let items = kept.get_all_by_label("Map sensitivity");
    let items: Vec<egui::Pos2> = items.map(|node| node.rect().center()).collect();
    assert_eq!(items.len(), 2, "the button and the item");
}

/// The map lies over the cost's place: its bar is that of the slices, with one rounding for both ends.
fn legend() {
    let mut done = support::Window::new();
    done.state = solved();
    done.act(Action::Pathway(PathwayAction::Sensitivity(None)));
    let state = done.state;
    assert_eq!(state.document.pathways.shown, ShownCost::Off);
    let map = state.document.layers.last().expect("a layer");
    let legend = of_slices(&state).and_then(|legend| legend.sentence());
    let legend = legend.expect("a colour bar");
    assert!(legend.starts_with(&*map.name), "{legend}");
    let (low, high) = map.display.window;
    let [low, high] = arcuate::ui::format::range_texts([low, high].map(f64::from));
    let [low_text, high_text] = [&low, &high].map(|v| arcuate::ui::format::with_unit(v, map.unit));
    assert!(
        legend.contains(&format!("{low_text} to {high_text}")),
        "{legend}"
    );
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, after)| after.len());
    assert_eq!(decimals(&low), decimals(&high));
}

fn commands() {
    let state = show(
        treated(with_sphere(3.0), SurfaceUse::Excluded),
        Task::Pathways,
    );
    let all = names(&state, "");
    let has = |name: &str| all.iter().any(|n| n == name);
    for name in [
        "Map sensitivity",
        "Surface in pathways: ignored",
        "Surface in pathways: costly",
    ] {
        assert!(has(name), "{name}: {all:?}");
    }
    assert!(!has("Surface in pathways: excluded"), "it is so already");
    let kept = names(&state_with_kept_pathway("Arch"), "");
    assert!(kept.iter().any(|n| n == "Map sensitivity of Arch"));
}
