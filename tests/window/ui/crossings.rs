//! Pathways through crossings in their panel: the switch, the rows of the solver's table, what has a reason not to be there.

use super::{Window, click, sample, submitted, window};
use crate::support::{self, distributions, test};
use arcuate::parameters::Parameters as _;
use arcuate::solvers::lifted;
use arcuate::state::pathways::jobs::{FindLifted, FindPathway, MapSensitivity};
use arcuate::state::pathways::{PathwayAction, PathwaySettings};
use arcuate::state::track::types::odf::Model;
use arcuate::state::{Action, Phase, State, Task, ViewAction, update};
use arcuate::ui::palette::names;
use egui::{Key, Role as Widget};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;
use std::sync::OnceLock;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::crossings::the directions are a switch", switch),
        test("ui::crossings::every parameter has a row", rows),
        test("ui::crossings::the switch waits for distributions", waits),
        test("ui::crossings::a price is dragged", price),
        test("ui::crossings::the button maps sensitivity", maps),
        test("ui::crossings::results are seen at 1280 × 800", folded),
    ]
}

const SIZE: [f32; 2] = [1920.0, 1700.0];
const SWITCH: &str = "Directions: Crossings";

/// Two regions joined by a pathway through bundles that cross in every voxel.
fn solved() -> State {
    static SOLVED: OnceLock<State> = OnceLock::new();
    let solve = || {
        let mut window = support::Window::new();
        window.state = sample::tracked(sample::state([32, 40, 30], 6));
        let document = &mut window.state.document;
        document.regions.truncate(2);
        let everywhere_mm = 300.0;
        distributions::give(document, |grid, gradients| {
            distributions::crossing(grid, gradients, everywhere_mm)
        });
        window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
        let settings = PathwaySettings {
            model: Model::Distributions,
            ..window.state.document.pathways.clone()
        };
        let phase = Phase::Done;
        window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
        let why = window.state.runtime.pathways.live.failure();
        assert!(window.state.final_pathway().is_some(), "{why:?}");
        window.state
    };
    SOLVED.get_or_init(solve).clone()
}

fn settings(window: &Window) -> &PathwaySettings {
    &window.state().state.document.pathways
}

fn has(window: &Window, text: &str) -> bool {
    window.query_all_by_label_contains(text).next().is_some()
}

fn is_disabled(window: &Window, name: &str) -> bool {
    window.get_by_label(name).accesskit_node().is_disabled()
}

fn switch() {
    let mut window = window(solved(), SIZE);
    assert!(has(&window, "Price of a turn") && !has(&window, "Sharpening α"));
    // A figure that only tensors have, and those that both models have.
    assert!(!has(&window, "mean FA") && has(&window, "Weakest stretch"));
    assert!(!is_disabled(&window, "Map sensitivity"));
    click(&mut window, "Directions: One tensor");
    assert_eq!(settings(&window).model, Model::Tensors);
    assert_eq!(submitted::<FindPathway>(&window).len(), 1);
    assert!(!has(&window, "Price of a turn") && has(&window, "Sharpening α"));
    update(&mut window.state_mut().state, Action::Undo);
    window.run();
    assert_eq!(settings(&window).model, Model::Distributions);
    let all = names(&window.state().state, "directions of pathways");
    let name = "Directions of pathways: one tensor";
    assert!(all.iter().any(|n| n == name), "{all:?}");
}

fn rows() {
    let mut window = window(solved(), SIZE);
    click(&mut window, "Directions, speed off fibres");
    for row in lifted::Params::TABLE {
        assert!(has(&window, row.label), "{}", row.label);
    }
}

/// Without distributions, the choice is grey.
fn waits() {
    let mut state = solved();
    state.document.distributions.result = None;
    state.document.pathways.model = Model::Tensors;
    let mut window = window(state, SIZE);
    assert!(is_disabled(&window, SWITCH));
    window.get_by_label(SWITCH).click();
    window.run();
    assert_eq!(settings(&window).model, Model::Tensors);
}

fn price() {
    let mut window = window(solved(), SIZE);
    let name = "Price of a turn";
    let before = settings(&window).lifted.curvature_price_mm;
    window.get_by_role_and_label(Widget::Slider, name).focus();
    window.run();
    window.key_press(Key::ArrowRight);
    window.run();
    assert!(settings(&window).lifted.curvature_price_mm > before);
    assert_eq!(submitted::<FindLifted>(&window).len(), 1);
    window.get_by_label("updating…");
}

fn maps() {
    let mut window = window(solved(), SIZE);
    click(&mut window, "Map sensitivity");
    assert_eq!(submitted::<MapSensitivity>(&window).len(), 1);
    let all = names(&window.state().state, "map sensitivity");
    assert!(all.iter().any(|n| n == "Map sensitivity"), "{all:?}");
}

fn folded() {
    let window = window(solved(), [1280.0, 800.0]);
    let foot = window.get_by_label("Keep pathway").rect().top();
    let names = ["Live: cost ", "Cost along the path: ", "Show it", SWITCH];
    for name in names {
        let rect = window.get_by_label_contains(name).rect();
        assert!(rect.bottom() <= foot, "{name}: {rect:?} is below {foot}");
    }
}
