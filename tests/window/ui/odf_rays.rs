//! Rays along distributions in the Track panel: the switch, the rows of their tables, the cut, what the CPU computes.

use super::{Window, click, sample, submitted, window};
use crate::support::{self, distributions, test};
use arcuate::data::region::RegionId;
use arcuate::data::spherical_harmonics::count;
use arcuate::data::{OdfField, Region, Role};
use arcuate::parameters::Parameters as _;
use arcuate::solvers::curves::Seeding;
use arcuate::solvers::geodesic::{Cut, OdfSpeed, Rays, TENSORS_ONLY};
use arcuate::state::track::jobs::lobes::TraceLobes;
use arcuate::state::track::jobs::trace::TraceRays;
use arcuate::state::track::types::odf::Model;
use arcuate::state::{Action, Method, Phase, State, Task, TrackAction, ViewAction, update};
use arcuate::ui::palette::names;
use egui::{Key, Role as Widget};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;
use std::sync::{Arc, OnceLock};

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::odf_rays::the model is a switch", switch),
        test("ui::odf_rays::every parameter has a row", rows),
        test("ui::odf_rays::the switch waits for distributions", waits),
        test("ui::odf_rays::a slider and the cut are dragged", dragged),
        test("ui::odf_rays::high orders name the CPU", high_order),
        test("ui::odf_rays::controls are seen at 1280 × 800", folded),
    ]
}

const SIZE: [f32; 2] = [1920.0, 1700.0];
const SWITCH: &str = "Model: Distributions";
const MORE: &str = "Directions, integrator, speed off fibres";

/// Rays through bundles that cross in every voxel.
fn traced() -> State {
    static TRACED: OnceLock<State> = OnceLock::new();
    let trace = || {
        let mut window = support::Window::new();
        window.state = sample::tracked(sample::state([32, 40, 30], 6));
        let document = &mut window.state.document;
        // A target in the other bundle would not be reached.
        document.regions.truncate(1);
        let everywhere_mm = 300.0;
        distributions::give(document, |grid, gradients| {
            distributions::crossing(grid, gradients, everywhere_mm)
        });
        window.act(Action::View(ViewAction::SelectTask(Task::Track)));
        window.act(Action::Track(TrackAction::SetModel(Model::Distributions)));
        let mut rays = window.state.document.track.odf.rays.clone();
        rays.rays.params.curves.seeding = Seeding::Random { count: 20 };
        let phase = Phase::Done;
        window.act(Action::Track(TrackAction::SetOdfRays { rays, phase }));
        window.act(Action::Track(TrackAction::SetMethod(Method::Rays)));
        let why = window.state.runtime.track.live.failure();
        assert!(window.state.final_live().is_some(), "{why:?}");
        window.state
    };
    TRACED.get_or_init(trace).clone()
}

fn has(window: &Window, text: &str) -> bool {
    window.query_all_by_label_contains(text).next().is_some()
}

fn is_disabled(window: &Window, name: &str) -> bool {
    window.get_by_label(name).accesskit_node().is_disabled()
}

fn switch() {
    let mut window = window(traced(), SIZE);
    assert!(has(&window, "Speed exponent") && !has(&window, "Sharpening α"));
    window.get_by_role_and_label(Widget::Slider, "Connectivity measure");
    assert!(!is_disabled(&window, "Keep as layer"));
    click(&mut window, "Model: Tensors");
    assert_eq!(window.state().state.document.track.model, Model::Tensors);
    assert_eq!(submitted::<TraceRays>(&window).len(), 1);
    assert!(!has(&window, "Speed exponent") && has(&window, "Sharpening α"));
    update(&mut window.state_mut().state, Action::Undo);
    window.run();
    assert_eq!(
        window.state().state.document.track.model,
        Model::Distributions
    );
    let all = names(&window.state().state, "track");
    for name in ["Track: in tensors", "Track: streamlines"] {
        assert!(all.iter().any(|n| n == name), "{name}: {all:?}");
    }
}

fn rows() {
    let mut window = window(traced(), SIZE);
    click(&mut window, MORE);
    for row in OdfSpeed::TABLE {
        assert!(has(&window, row.label), "{}", row.label);
    }
    for row in Rays::TABLE {
        let placed = ["keep-every", "both-ways", "cut"].contains(&row.key);
        let expected = !TENSORS_ONLY.contains(&row.key);
        assert!(
            placed || has(&window, row.label) == expected,
            "{}",
            row.label
        );
    }
    assert!(!has(&window, "Stop below FA"));
    window.get_by_role_and_label(Widget::Slider, "Opening angle");
    assert!(has(&window, "Median of the largest peaks: "));
}

/// Without distributions, the choice is grey.
fn waits() {
    let mut state = traced();
    state.document.distributions.result = None;
    state.document.track.model = Model::Tensors;
    let mut window = window(state, SIZE);
    assert!(is_disabled(&window, SWITCH));
    window.get_by_label(SWITCH).click();
    window.run();
    assert_eq!(window.state().state.document.track.model, Model::Tensors);
}

fn dragged() {
    let mut window = window(traced(), SIZE);
    let exponent = |window: &Window| window.state().state.document.track.odf.rays.speed.exponent;
    let before = exponent(&window);
    let in_tensors = window.state().state.document.track.rays.clone();
    let all = window.state().state.runtime.track.live.value();
    let passed = all
        .and_then(|live| live.rays.as_ref())
        .map(|rays| rays.measures.len());
    // A typed share is a cut of the rays along distributions, without new rays.
    click(&mut window, "Keep: Top n");
    let kept = window.state().state.document.track.odf.rays.rays.cut;
    assert_eq!(kept, Cut::Top(passed.expect("rays").div_ceil(10)));
    assert!(submitted::<TraceLobes>(&window).is_empty());
    let name = "Speed exponent";
    window.get_by_role_and_label(Widget::Slider, name).focus();
    window.run();
    window.key_press(Key::ArrowRight);
    window.run();
    assert!(exponent(&window) > before);
    assert_eq!(submitted::<TraceLobes>(&window).len(), 1);
    assert_eq!(window.state().state.document.track.rays, in_tensors);
    click(&mut window, "Reset to defaults");
    assert_eq!(exponent(&window), before);
    let rays = &window.state().state.document.track.odf.rays;
    assert_eq!(rays.rays.cut, kept, "the cut is with the results");
}

/// Graphics cards handle orders up to 12; the panel says why the CPU computes.
fn high_order() {
    const REASON: &str = "Computed on the CPU: graphics cards handle orders up to 12";
    for (order, on_card) in [(8, true), (14, false), (14, true)] {
        let mut state = traced();
        state.runtime.device.backend.on_card = on_card;
        let result = state.document.distributions.result.as_mut();
        let result = Arc::make_mut(result.expect("distributions"));
        let mut fods = (*result.fods).clone();
        let grid = fods.output.field.grid.clone();
        let zeros = vec![0.0f32; count(order) * grid.voxel_count()];
        fods.output.field = OdfField::new(grid, order, zeros);
        result.fods = Arc::new(fods);
        let window = window(state, SIZE);
        assert_eq!(has(&window, REASON), order > 12 && on_card, "{order}");
    }
}

/// In a window of 1280 × 800, the first controls stand above the results.
fn folded() {
    let mut state = traced();
    let document = &mut state.document;
    let target = Region {
        id: RegionId(document.fresh_id()),
        role: Role::Target,
        ..(*document.regions[0]).clone()
    };
    document.regions.push(Arc::new(target));
    let window = window(state, [1280.0, 800.0]);
    let results = window.get_by_role_and_label(Widget::Heading, "Results");
    let results = results.rect().top();
    for name in ["Rays", "Opening angle", "Speed exponent"] {
        let rect = window.get_by_role_and_label(Widget::Slider, name).rect();
        assert!(
            rect.bottom() <= results,
            "{name}: {rect:?} is below {results}"
        );
    }
}
