//! The task Pathways, driven as by a user: widths, the table, its menus and names, notes, the chart.

use super::{Window, click, double_click, sample, submitted, type_over, window};
use crate::support::{self, start_of_new_job, test};
use arcuate::data::appearance::ColourMap;
use arcuate::data::{Role, Shape};
use arcuate::scene::draw_list::{Colours, Transfer};
use arcuate::state::core::volume_look::VolumeCut;
use arcuate::state::files::jobs::LOAD;
use arcuate::state::pathways::jobs::FindPathway;
use arcuate::state::pathways::{PathwayAction, PathwayCosts, PathwaySettings, ShownCost};
use arcuate::state::{Action, KeptPathway, State, Task, ViewAction};
use arcuate::ui::format;
use arcuate::ui::palette::names;
use arcuate::ui::views::legend::{Legend, of_scene, of_slices};
use egui::{Key, Role as Widget};
use egui_kittest::kittest::{By, NodeT as _, Queryable as _};
use libtest_mimic::Trial;
use std::sync::{Arc, OnceLock};

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::pathways::keys move the width and α", keys),
        test("ui::pathways::the width at which the ends meet", tick),
        test("ui::pathways::a width that joins nothing", not_joined),
        test("ui::pathways::a seed outside the mask", outside),
        test("ui::pathways::kept, selected, renamed", table),
        test("ui::pathways::menus of the rows", menus),
        test("ui::pathways::the weakest stretch is shown", chart),
        test("ui::pathways::the ends are swapped", swap),
        test("ui::pathways::the cloud is cut, its curve chosen", cloud),
        test("ui::pathways::colour bars of what is drawn", legends),
        test("ui::pathways::Tab goes through all controls", tabs),
        test("ui::pathways::keys of the rows", row_keys),
        test("ui::pathways::names have room", long_names),
        test("ui::pathways::results are seen at 1280 × 800", folded),
        test("ui::pathways::commands by name", commands),
        test("ui::pathways::a task chosen while a file is read", early),
    ]
}

/// The whole panel is visible.
const SIZE: [f32; 2] = [1920.0, 1700.0];

/// Two regions joined by a solved pathway.
pub(super) fn solved() -> State {
    static SOLVED: OnceLock<State> = OnceLock::new();
    let solve = || {
        let mut window = support::Window::new();
        window.state = sample::tracked(sample::state([32, 40, 30], 6));
        window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
        let runtime = &window.state.runtime;
        assert!(
            window.state.final_pathway().is_some(),
            "{:?} {:?}",
            runtime.pathways.live.failure(),
            runtime.notices.messages
        );
        window.state
    };
    SOLVED.get_or_init(solve).clone()
}

/// A state with a kept, selected pathway of this name.
pub(super) fn state_with_kept_pathway(name: &str) -> State {
    let mut state = solved();
    arcuate::state::update(&mut state, Action::Pathway(PathwayAction::Keep));
    let id = state.document.kept_pathways[0].id;
    for action in [
        PathwayAction::Rename(id, name.to_owned()),
        PathwayAction::Select(Some(id)),
    ] {
        arcuate::state::update(&mut state, Action::Pathway(action));
    }
    state
}

fn settings(window: &Window) -> &PathwaySettings {
    &window.state().state.document.pathways
}

fn kept_of(window: &Window) -> &[Arc<KeptPathway>] {
    &window.state().state.document.kept_pathways
}

fn solves(window: &Window) -> usize {
    submitted::<FindPathway>(window).len()
}

/// ε_h in percent, rounded up to a tenth.
fn percent_joined(state: &State) -> f64 {
    let live = state.final_pathway().expect("a pathway");
    (live.pathway.joining_epsilon * 1000.0).ceil() / 10.0
}

fn percent(value: f64) -> String {
    format::with_unit(&format::fixed(value, 1), "%")
}

fn keys() {
    let mut window = window(solved(), SIZE);
    let press = |window: &mut Window, name: &str, key: Key| {
        window.get_by_role_and_label(Widget::Slider, name).focus();
        window.run();
        window.key_press(key);
        window.run();
    };
    let before = settings(&window).epsilon;
    press(&mut window, "Pathway width ε", Key::ArrowRight);
    let wider = settings(&window).epsilon;
    assert!(wider > before, "{before} {wider}");
    press(&mut window, "Pathway width ε", Key::ArrowLeft);
    assert!(settings(&window).epsilon < wider);
    assert_eq!(solves(&window), 0, "a width solves nothing");
    let label = window.state().state.history.undo_label();
    assert_eq!(label, Some("Pathway width"));
    press(&mut window, "Sharpening α", Key::ArrowRight);
    let alpha = settings(&window).params.metric.alpha;
    assert!((alpha - 3.1).abs() < 1e-9, "{alpha}");
    assert_eq!(solves(&window), 1);
    // A pathway that cannot be kept gives the reason.
    window.get_by_label("updating…");
}

/// A tick on the rail marks where the ends meet, and its hint explains it; the kept one's slider has its own.
fn tick() {
    let state = state_with_kept_pathway("Arch");
    let from = percent_joined(&state);
    assert!((0.5..=50.0).contains(&from), "{from} is beyond the rail");
    let window = window(state, SIZE);
    let text = format!("joined from {}", percent(from));
    let ticks: Vec<egui::Rect> = window
        .get_all_by_label(&text)
        .map(|node| node.rect())
        .collect();
    assert_eq!(ticks.len(), 2);
    let share = ((from / 0.5).ln() / (50.0f64 / 0.5).ln()) as f32;
    for (name, tick) in ["Pathway width ε", "Its width ε"].into_iter().zip(ticks) {
        // The knob's radius is left free at both ends.
        let slider = window.get_by_role_and_label(Widget::Slider, name);
        let rail = slider.rect().shrink2(egui::vec2(6.0, 0.0));
        let x = rail.left() + share * rail.width();
        assert!((tick.center().x - x).abs() < 1.0, "{name}: {tick:?} {x}");
        assert!(slider.rect().y_range().contains(tick.center().y), "{name}");
    }
}

fn not_joined() {
    let mut state = solved();
    let from = percent_joined(&state);
    state.document.pathways.epsilon = 0.004 * from;
    let mut window = window(state, SIZE);
    let note = "Not joined at this width";
    let below = |window: &Window| {
        let row = window.get_by_role_and_label(Widget::Slider, "Sharpening α");
        row.rect().top()
    };
    let top = below(&window);
    window.get_by_label(note);
    click(&mut window, &format!("Widen to {}", percent(from)));
    assert!((settings(&window).epsilon - from / 100.0).abs() < 1e-9);
    assert!(window.query_by_label(note).is_none());
    window.get_by_label(&format!(
        "Joins seed and target (from ε = {} upwards)",
        percent(from)
    ));
    // It concerns the width ε, so it is between that and α.
    let joins = window.get_by_label_contains("Joins seed and target").rect();
    assert!(joins.bottom() <= below(&window));
    assert_eq!(below(&window), top, "nothing moves under the pointer");
    assert_eq!(solves(&window), 0);
    click(&mut window, "Undo");
    window.get_by_label(note);
    // The status line shows the same number.
    let live = window.state().state.final_pathway().expect("a pathway");
    assert!(from >= live.pathway.joining_epsilon * 100.0);
    // If no width joins them another remedy is offered, and none that does not help.
    let live = window.state_mut().state.runtime.pathways.live.value_mut();
    let live = Arc::make_mut(live.expect("a pathway"));
    let PathwayCosts::Tensors(costs) = &mut live.pathway else {
        panic!("through tensors");
    };
    costs.joint.joining_epsilon = 1.3;
    window.run();
    let most = format::with_unit("100", "%");
    let note = format!("Not joined at any width up to {most}");
    let place = window.get_by_label(&note).rect();
    assert_eq!(below(&window), top, "nothing moves under the pointer");
    window.hover_at(place.center());
    window.run_steps(60);
    window.get_by_label_contains(&format!("The ends meet from ε = {}", percent(130.0)));
    assert!(window.query_by_label_contains("Widen to").is_none());
    for value in [from, 130.0] {
        let tick = format!("joined from {}", percent(value));
        assert!(window.query_by_label(&tick).is_none(), "{tick}");
    }
}

fn table() {
    let mut window = window(solved(), SIZE);
    window.get_by_label_contains("Live: cost ");
    click(&mut window, "Keep pathway");
    let name = kept_of(&window)[0].name.clone();
    assert_eq!(name, "Capsule L – Motor L");
    let row = format!("{name}: cost ");
    window.get_by_label_contains(&row).click();
    window.run();
    let kept = kept_of(&window)[0].clone();
    let selected = window.state().state.runtime.pathways.selected;
    assert_eq!(selected, Some(kept.id));
    // Its properties.
    let found = kept.result.as_ref().expect("solved");
    let (length_mm, cost) = (found.path.total_mm(), found.path.total_cost());
    for reported in [
        format!(
            "Length {}",
            format::with_unit(&format::fixed(length_mm, 1), "mm")
        ),
        format!("Cost per mm {}", format::significant(cost / length_mm)),
        format!(
            "Mean FA along it {}",
            format::fixed(found.mean_fa.expect("of tensors"), 2)
        ),
    ] {
        window.get_by_label(&reported);
    }
    let volume = match kept.epsilon < found.pathway.joining_epsilon {
        true => "Volume, ends not joined ",
        false => "Volume that joins the ends ",
    };
    window.get_by_label_contains(volume);
    window.get_by_role_and_label(Widget::Slider, "Its width ε");
    // A double click edits its name.
    let at = window.get_by_label_contains(&row).rect().left_center();
    double_click(&mut window, at + egui::vec2(50.0, 0.0));
    type_over(&mut window, "  Arch ");
    assert_eq!(kept_of(&window)[0].name, "Arch");
    window.get_by_label_contains("Arch: cost ");
    let label = window.state().state.history.undo_label();
    assert_eq!(label, Some("Rename pathway"));
    click(&mut window, "Undo");
    assert_eq!(kept_of(&window)[0].name, name);
    click(&mut window, &format!("Hide {name}"));
    assert!(!kept_of(&window)[0].visible);
}

fn menus() {
    let mut state = state_with_kept_pathway("Arch");
    arcuate::state::update(&mut state, Action::Pathway(PathwayAction::Keep));
    let mut window = window(state, SIZE);
    let open = |window: &mut Window, row: &str| {
        window.get_by_label_contains(row).click_secondary();
        window.run();
    };
    // No two have the same name.
    open(&mut window, "Capsule L – Motor L: cost ");
    click(&mut window, "Rename");
    type_over(&mut window, "Arch");
    assert_eq!(kept_of(&window)[1].name, "Arch 2");
    click(&mut window, "More of Arch 2");
    window.get_by_label("Region of its voxels");
    assert!(
        window.query_by_label("Solve again").is_none(),
        "it is solved"
    );
    click(&mut window, "Delete");
    assert_eq!(kept_of(&window).len(), 1);
    // A kept pathway that could not be solved.
    let id = kept_of(&window)[0].id;
    let all = window.state_mut();
    Arc::make_mut(&mut all.state.document.kept_pathways[0]).result = None;
    all.state.runtime.pathways.unsolved.push(id);
    window.run();
    open(&mut window, "Arch: not solved");
    click(&mut window, "Solve again");
    let repeated =
        |a: &Action| matches!(a, Action::Pathway(PathwayAction::SolveKept(kept)) if *kept == id);
    assert!(window.state().actions.iter().any(repeated));
}

fn chart() {
    let mut window = window(solved(), SIZE);
    window.get_by_label_contains("Cost along the path: ");
    window.get_by_label_contains("Weakest stretch around ");
    click(&mut window, "Show it");
    let state = &window.state().state;
    let live = state.final_pathway().expect("a pathway");
    let weak = live.weakest.as_ref().expect("a stretch");
    assert!(state.view.crosshair.distance(weak.centre) < 1e-9);
}

fn swap() {
    let mut window = window(solved(), SIZE);
    let roles = |window: &Window| {
        let regions = window.state().state.document.regions.iter();
        regions.map(|r| r.role).collect::<Vec<_>>()
    };
    click(&mut window, "Swap seed and target");
    assert_eq!(roles(&window)[..2], [Role::Target, Role::Seed]);
    assert_eq!(solves(&window), 1);
    click(&mut window, "Undo");
    assert_eq!(roles(&window)[..2], [Role::Seed, Role::Target]);
}

fn cloud() {
    // The rest of the head is beyond the window.
    for (name, curve) in Transfer::cost_presets() {
        assert_eq!(curve.opacity(1.0), 0.0, "{name}");
        assert_eq!(curve.colours, Colours::Map(ColourMap::Cost), "{name}");
    }
    let mut window = window(solved(), SIZE);
    click(&mut window, "Cut away");
    click(&mut window, "The half facing you");
    assert_eq!(settings(&window).cut, VolumeCut::Facing);
    click(&mut window, "Curve");
    click(&mut window, "Cheapest only");
    let (name, curve) = &Transfer::cost_presets()[1];
    assert_eq!(
        (*name, &settings(&window).transfer),
        ("Cheapest only", curve)
    );
    click(&mut window, "Undo");
    assert_eq!(settings(&window).transfer, Transfer::cost());
}

/// Colour bars of the cloud, and of the cost on the slices; none for objects of a single colour.
fn legends() {
    let mut state = solved();
    let bar = |legend: &Legend| match legend {
        Legend::Bar {
            name,
            high,
            colour_map: ColourMap::Cost,
            ..
        } => (name.clone(), high.clone()),
        other => panic!("{other:?}"),
    };
    let bars = |state: &State| of_scene(state).iter().map(bar).collect::<Vec<_>>();
    let excess = (
        "Cost".to_owned(),
        format!("+{}", format::with_unit("50", "%")),
    );
    let live = state.final_pathway().expect("a pathway").clone();
    let side = |i: usize| {
        let (_, high) = arcuate::scene::pathways::side_window(&live.sides[i]);
        format::significant(f64::from(high))
    };
    let (first, second) = (
        ("Cost u₁".to_owned(), side(0)),
        ("Cost u₂".to_owned(), side(1)),
    );
    for slices in [false, true] {
        state.view.visible.slices_with_tracks = slices;
        for shown in ShownCost::ALL {
            state.document.pathways.shown = shown;
            let on_slices = match shown {
                ShownCost::Total => Some(&excess),
                ShownCost::First => Some(&first),
                ShownCost::Second => Some(&second),
                ShownCost::Off => None,
            };
            let flat = of_slices(&state).expect("a legend");
            match on_slices {
                Some(expected) => assert_eq!(bar(&flat), *expected),
                None => assert_eq!(flat, Legend::Dec),
            }
            let on_slices = on_slices.filter(|_| slices);
            for cloud in [true, false] {
                state.document.pathways.cloud = cloud;
                state.document.pathways.surface = true;
                let mut expected: Vec<_> = cloud.then_some(&excess).into_iter().collect();
                expected.extend(on_slices.filter(|bar| !expected.contains(bar)));
                match expected.is_empty() && slices {
                    true => assert_eq!(of_scene(&state), [Legend::Dec]),
                    false => assert!(bars(&state).iter().eq(expected), "{slices} {shown:?}"),
                }
            }
        }
    }
}

fn focused(window: &Window) -> String {
    let node = window.query_all(By::new().predicate(|n| n.is_focused()));
    let names: Vec<String> = node.filter_map(|n| n.accesskit_node().label()).collect();
    names.join(", ")
}

fn press(window: &mut Window, key: Key) {
    window.key_press(key);
    window.run();
}

fn tabs() {
    let mut window = window(state_with_kept_pathway("Arch"), SIZE);
    let first = window.get_by_role_and_label(Widget::Slider, "Pathway width ε");
    first.focus();
    window.run();
    let mut way = Vec::new();
    for _ in 0..120 {
        press(&mut window, Key::Tab);
        way.push(focused(&window));
    }
    for requested in [
        "Sharpening α",
        "Show cost: u₁",
        "Colours up to",
        "Cut away",
        "Tensor glyphs",
        "Live: cost ",
        "More of Live",
        "Arch: cost ",
        "Hide Arch",
        "More of Arch",
        "Its width ε",
        "Show it",
        "Keep pathway",
        "Export…",
        // Tab returns to the first control.
        "Swap seed and target",
    ] {
        assert!(
            way.iter().any(|n| n.starts_with(requested)),
            "{requested}: {way:?}"
        );
    }
    let at = |name: &str| way.iter().position(|n| n.starts_with(name));
    assert!(at("More of Live") < at("Arch: cost "));
    assert!(at("More of Arch") < at("Its width ε"));
}

fn row_keys() {
    let mut state = state_with_kept_pathway("Arch");
    let mut window = window(state.clone(), SIZE);
    window.get_by_label("More of Arch").focus();
    window.run();
    press(&mut window, Key::Enter);
    window.get_by_label("Rename");
    press(&mut window, Key::Escape);
    assert!(window.query_by_label("Rename").is_none());
    // The focused row, otherwise the selected one.
    window.get_by_label_contains("Arch: cost ").focus();
    window.run();
    press(&mut window, Key::Delete);
    assert!(kept_of(&window).is_empty());
    click(&mut window, "Undo");
    assert_eq!(kept_of(&window).len(), 1);
    state.runtime.regions.selected = None;
    let mut window = super::window(state, SIZE);
    press(&mut window, Key::Delete);
    assert!(kept_of(&window).is_empty());
    assert_eq!(window.state().state.runtime.pathways.selected, None);
    assert!(!window.state().state.document.regions.is_empty());
    click(&mut window, "Undo");
    assert_eq!(kept_of(&window).len(), 1);
}

/// A name that does not fit next to the numbers is above them, uncut.
fn long_names() {
    let long = "Capsule L – Motor L, a second time";
    for size in [[1280.0, 1700.0], SIZE] {
        let height = |name: &str| {
            let window = window(state_with_kept_pathway(name), size);
            let row = format!("{name}: cost ");
            window.get_by_label_contains(&row).rect().height()
        };
        assert!(height(long) > height("Arch") + 10.0, "{size:?}");
    }
}

/// With all blocks folded the results are visible: the table, the chart, the weakest part.
fn folded() {
    let mut state = solved();
    // Most pathways have two ends.
    state.document.regions.truncate(2);
    let window = window(state, [1280.0, 800.0]);
    let foot = window.get_by_label("Keep pathway").rect().top();
    let names = [
        "Live: cost ",
        "Cost per mm ",
        "Cost along the path: ",
        "Show it",
    ];
    for name in names {
        let rect = window.get_by_label_contains(name).rect();
        assert!(rect.bottom() <= foot, "{name}: {rect:?} is below {foot}");
    }
}

fn commands() {
    let mut state = state_with_kept_pathway("Arch");
    state.document.pathways.epsilon = 0.001;
    let first = |typed: &str| names(&state, typed).first().cloned().unwrap_or_default();
    let wider = format!(
        "Widen the pathway until it joins the regions: {}",
        percent(percent_joined(&state))
    );
    for (typed, name) in [
        ("keep path", "Keep pathway"),
        ("widen", &*wider),
        ("swap", "Swap seed and target"),
        ("show cost u₂", "Show cost u₂"),
        ("hide arch", "Hide pathway Arch"),
        ("superq", "Tensor glyphs: superquadrics"),
        ("3-D: surface", "Pathway in 3-D: surface"),
    ] {
        assert_eq!(first(typed), name, "{typed}: {:?}", names(&state, typed));
    }
    for (typed, name) in [
        ("epsilon", &*wider),
        ("u2", "Show cost u₂"),
        ("path", "Swap seed and target"),
        ("glyph", "Tensor glyphs: ellipsoids"),
    ] {
        let found = names(&state, typed);
        assert!(found.iter().any(|n| n == name), "{typed}: {found:?}");
    }
    let all = names(&state, "");
    let once: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(once.len(), all.len(), "each name is unique");
}

/// Before anything is open a task can be selected once something is loading.
fn early() {
    let command = |window: &mut Window| {
        window.key_press_modifiers(egui::Modifiers::COMMAND, Key::Num3);
        window.run();
        window.state().state.view.task
    };
    let mut state = State::new(sample::BACKEND.to_owned());
    let mut idle = window(state.clone(), [1280.0, 800.0]);
    assert_eq!(command(&mut idle), Task::View);
    state.runtime.jobs.running.push(arcuate::state::JobHandle {
        slot: LOAD,
        ticket: 1,
        label: "Opening".to_owned(),
        control: arcuate::compute::Control::new(),
        started: start_of_new_job(),
    });
    let mut busy = window(state, [1280.0, 800.0]);
    assert_eq!(command(&mut busy), Task::Pathways);
}

/// Both ends are placed, but one lies far from the mask: the buttons give the reason that the results show.
fn outside() {
    let mut window = support::Window::new();
    let mut state = sample::tracked(sample::state([32, 40, 30], 6));
    let mut regions = state.document.regions.iter();
    let seed = regions.find(|r| r.role == Role::Seed).expect("a seed").id;
    let shape = Arc::new(Shape::Sphere {
        centre: glam::DVec3::new(0.0, 0.0, 500.0),
        radius_mm: 5.0,
    });
    state.document.edit_region(seed, |r| r.shape = shape);
    window.state = state;
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    let state = &window.state;
    let failure = state.runtime.pathways.live.failure();
    let failure = failure.expect("the pathway failed");
    assert!(failure.contains("lies outside"), "{failure}");
    assert_eq!(state.why_no_pathway(), failure);
}
