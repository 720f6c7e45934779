//! Results are visible without scrolling in a window of 1280 × 800 less a title bar.

use super::filter::{state_with_weights, weighing};
use super::segment::leaked;
use super::{Window, click, pathways, sample, small_scan, tracking, window};
use crate::support::{start_of_old_job, test};
use arcuate::compute::Control;
use arcuate::solvers::commit::solver::Ended;
use arcuate::state::files::jobs::LOAD;
use arcuate::state::filter::FilterAction;
use arcuate::state::runtime::TourStep;
use arcuate::state::{
    Action, JobHandle, Phase, Severity, State, Task, TrackAction, ViewAction, update,
};
use egui::Rect;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;
use std::sync::Arc;
use std::time::Duration;

const SIZE: [f32; 2] = [1270.0, 770.0];
/// Top of the buttons under the results.
const FOOT: f32 = 770.0 - 28.0 - 50.0;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::fold::results are in sight in every task", results),
        test("ui::fold::a pathway's results need no scrolling", pathway),
        test("ui::fold::results stay while something is dragged", unmoved),
        test("ui::fold::a list gives the views their room", lists),
        test("ui::fold::the first page shows how far it is", first_page),
        test("ui::fold::the guide waits for the cut", guide),
        test(
            "ui::fold::controls and checks open by themselves",
            independent,
        ),
        test("ui::fold::nothing moves under a pointer", pointed),
        test("ui::fold::a block that a click opens is in sight", unfolded),
        test("ui::fold::the guide shows the whole histogram", histogram),
        test("ui::fold::notes make room when nobody points", excluded),
        test("ui::fold::the named controls are visible", demanded),
        test(
            "ui::fold::a surface is compared without scrolling",
            reference,
        ),
    ]
}

fn heading(window: &Window) -> Rect {
    window
        .get_by_role_and_label(egui::Role::Heading, "Results")
        .rect()
}

/// The parameters of the fit open without the check of the same name.
fn independent() {
    let mut state = small_scan();
    state.view.task = Task::View;
    let mut window = window(state, SIZE);
    let check = |window: &Window| {
        let row = window.get_by_label_contains("Tensor fit, ");
        row.accesskit_node().toggled()
    };
    let closed = Some(egui::accesskit::Toggled::False);
    assert_eq!(check(&window), closed);
    click(&mut window, "Tensor fit");
    assert_eq!(check(&window), closed);
}

/// Results are visible with the tour's note, and without it.
fn results() {
    let states: [(Task, State); 5] = [
        (Task::View, small_scan()),
        (Task::Track, tracking()),
        (
            Task::Pathways,
            pathways::state_with_kept_pathway("A pathway"),
        ),
        (Task::Segment, small_scan()),
        (Task::Filter, state_with_weights()),
    ];
    for (task, mut state) in states {
        state.view.task = task;
        for guide in [None, Some(TourStep::DragSeed)] {
            state.runtime.tour = guide;
            let window = window(state.clone(), SIZE);
            let head = heading(&window);
            // Enough space for the head and a histogram, or for one sentence where there is no surface yet.
            let space = FOOT - head.bottom();
            let needed = if task == Task::Segment { 24.0 } else { 100.0 };
            assert!(space >= needed, "{task:?} {guide:?}: {space}");
            let controls = window.query_all_by_role(egui::accesskit::Role::Heading);
            assert!(
                controls.count() >= 2,
                "{task:?}: inputs and controls are there, too"
            );
        }
    }
    // The histogram of weights itself.
    let mut state = state_with_weights();
    state.runtime.tour = Some(TourStep::FitWeights);
    let window = window(state, SIZE);
    let cut = window.get_by_role_and_label(egui::Role::Slider, "Weight");
    assert!(cut.rect().bottom() < FOOT, "{:?}", cut.rect());
}

/// All of a pathway's results, from the cost to the last sentence, are visible, with the tour's note and without it.
fn pathway() {
    let mut state = pathways::solved();
    state.document.regions.truncate(2);
    for guide in [None, Some(TourStep::DragSeed)] {
        state.runtime.tour = guide;
        let window = window(state.clone(), SIZE);
        let last = window.get_by_label_contains("A path exists between almost any two regions");
        let last = last.rect();
        assert!(last.bottom() < FOOT, "{guide:?}: {last:?}");
        assert!(heading(&window).top() > 0.4 * FOOT, "{guide:?}");
    }
}

/// The mask to compare with is visible below the plot of the first surface.
fn reference() {
    let size = [1280.0, 760.0];
    let window = window(leaked().state, size);
    let reference = window.get_by_role_and_label(egui::Role::ComboBox, "Reference");
    let (row, foot) = (reference.rect(), size[1] - 28.0 - 50.0);
    assert!(row.bottom() <= foot, "{row:?} {foot}");
    let smoothness = window.get_by_role_and_label(egui::Role::Slider, "Smoothness");
    assert!(smoothness.rect().bottom() <= heading(&window).top());
}

/// Large windows show all of it, one part below the other.
fn unmoved() {
    let mut window = window(tracking(), [2560.0, 1440.0]);
    let button = window.get_by_label("Track whole brain").rect();
    let before = heading(&window);
    let gap = before.top() - button.bottom();
    assert!((0.0..60.0).contains(&gap), "{gap}");
    // Kept streamlines have a block of their own, below.
    click(&mut window, "Keep as layer");
    let kept = window.get_by_role_and_label(egui::Role::Heading, "Streamlines");
    assert!(kept.rect().top() > before.bottom());
    assert_eq!(heading(&window), before);
    // In a small window nothing moves under a pressed pointer.
    let mut window = super::window(state_with_weights(), SIZE);
    let cut = |window: &Window| {
        let slider = window.get_by_role_and_label(egui::Role::Slider, "Weight");
        slider.rect()
    };
    let before = cut(&window);
    window.drag_at(before.center());
    window.run();
    let state = &mut window.state_mut().state;
    state.runtime.tour = Some(TourStep::FitWeights);
    window.run();
    assert_eq!(cut(&window), before);
}

fn lists() {
    let mut window = window(tracking(), SIZE);
    let alone = window.state().views;
    click(&mut window, "Layers");
    let head = window.get_by_role_and_label(egui::Role::Heading, "Layers");
    let list = head.rect();
    let adjacent = window.state().views;
    assert!(adjacent.left() >= list.right(), "{adjacent:?} {list:?}");
    assert_eq!(adjacent.right(), alone.right());
    window.key_press(egui::Key::Escape);
    window.run();
    assert_eq!(window.state().views, alone);
}

fn first_page() {
    let mut state = State::new(sample::BACKEND.to_owned());
    let control = Control::new();
    control.begin("Making the head", 10);
    control.advance(4);
    state.runtime.jobs.running.push(JobHandle {
        slot: LOAD,
        ticket: 1,
        label: "Building the demo head".to_owned(),
        control,
        started: start_of_old_job(Duration::from_secs(1)),
    });
    let mut page = window(state, SIZE);
    let shown = page.get_by_role_and_label(egui::Role::ProgressIndicator, "Building the demo head");
    let shown = shown.rect();
    let cards = page.get_by_label("Start the guide").rect();
    assert!(shown.bottom() < cards.top(), "{shown:?}");
    click(&mut page, "Cancel building the demo head");
    let cancels = |a: &Action| matches!(a, Action::CancelJob(LOAD));
    assert!(page.state().actions.iter().any(cancels));
}

fn guide() {
    let mut state = weighing(Task::Filter);
    state.runtime.tour = Some(TourStep::FitWeights);
    let window = window(state, SIZE);
    window.get_by_label("Run the fit");
    // Without streamlines there is no fit to run.
    let mut state = small_scan();
    state.view.task = Task::Filter;
    state.runtime.tour = Some(TourStep::FitWeights);
    let mut window = super::window(state, SIZE);
    assert!(window.query_by_label("Run the fit").is_none());
    window.get_by_label_contains("No streamlines yet");
    click(&mut window, "Track whole brain");
    let tracks = |a: &Action| matches!(a, Action::Track(TrackAction::WholeBrain));
    assert!(window.state().actions.iter().any(tracks));
    // A fit alone does not complete the step.
    let mut state = state_with_weights();
    state.runtime.tour = Some(TourStep::FitWeights);
    let mut window = super::window(state, SIZE);
    window.get_by_label_contains("Drag the line in the histogram");
    let (min_weight, phase) = (1e-4, Phase::Live);
    let cut = Action::Filter(FilterAction::Cut { min_weight, phase });
    update(&mut window.state_mut().state, cut);
    assert_eq!(
        window.state().state.runtime.tour,
        Some(TourStep::FitWeights)
    );
    let history = &mut window.state_mut().state.history;
    history.close();
    click(&mut window, "Cut the lower half");
    let state = &window.state().state;
    let (layer, _) = state.document.filtered().expect("streamlines");
    assert!(state.document.filter.cut_of(layer.id) > 0.0);
    assert_eq!(state.runtime.tour, Some(TourStep::Save));
    // The streamlines that stay are saved.
    window.get_by_label_contains("Save the kept streamlines");
    let action = Action::View(ViewAction::SelectTask(Task::Track));
    update(&mut window.state_mut().state, action);
    window.run();
    window.get_by_label_contains("Save the kept streamlines");
    let exports = window.query_all_by_label("Export…");
    let first = exports.min_by(|a, b| a.rect().top().total_cmp(&b.rect().top()));
    first.expect("the guide's own").click();
    window.run();
    assert_eq!(window.state().state.view.task, Task::Filter);
    let path = window.get_by_role_and_label(egui::Role::TextInput, "Path");
    let typed = path.accesskit_node().value().unwrap_or_default();
    assert!(typed.contains("filtered"), "{typed}");
    // The destination is visible.
    assert!(std::path::Path::new(&typed).is_absolute(), "{typed}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.tck");
    let file = arcuate::state::filter::FilterFile::Kept;
    let save = Action::Filter(FilterAction::Save { file, path });
    update(&mut window.state_mut().state, save);
    assert_eq!(window.state().state.runtime.tour, None);
    window.run();
    let text = window.query_all_by_label_contains("Guide finished");
    assert!(text.count() > 0, "its last words");
}

/// The border between controls and results stays below the pointer's widget, and moves once the pointer has left.
fn pointed() {
    let full = tracking();
    let mut empty = full.clone();
    empty.runtime.track.live.clear_shown();
    let mut moved = false;
    for height in (700..1100).step_by(40) {
        let mut window = window(empty.clone(), [1270.0, height as f32]);
        let before = heading(&window);
        let names = [
            "Whole brain",
            "Deflection, integrator, seeding",
            "Bootstrap",
        ];
        // The lowest visible one.
        let place = |name: &str| window.query_by_label(name).map(|n| n.rect());
        let in_sight = |name: &&str| place(name).is_some_and(|r| r.bottom() <= before.top());
        let Some(name) = names.into_iter().find(in_sight) else {
            continue;
        };
        let under = window.get_by_label(name).rect();
        window.hover_at(under.center());
        window.run();
        window.state_mut().state = full.clone();
        window.run();
        assert_eq!(window.get_by_label(name).rect(), under);
        let border = heading(&window).top();
        assert!(border >= under.bottom(), "{height}: {border} {under:?}");
        // Nothing moves from the results either.
        let results = heading(&window);
        window.hover_at(results.center());
        window.run();
        assert_eq!(heading(&window), results, "{height}");
        window.hover_at(egui::pos2(400.0, 300.0));
        window.run();
        moved |= heading(&window).top() < border;
    }
    assert!(moved, "none of these windows lacks room");
}

/// A click on the lowest fold in sight opens it and scrolls to its rows; nothing scrolls before.
fn unfolded() {
    let mut tried = false;
    for height in (700..1100).step_by(20) {
        let mut window = window(tracking(), [1270.0, height as f32]);
        let before = window.get_by_label("Inputs").rect();
        let row = window.get_by_label("Whole brain").rect();
        let is_open = window.query_by_label("Track whole brain").is_some();
        // Controls begin under the name of the task.
        assert!(before.top() < row.top());
        if is_open || row.bottom() > heading(&window).top() {
            continue;
        }
        click(&mut window, "Whole brain");
        window.run();
        let button = window.get_by_label("Track whole brain").rect();
        let border = heading(&window).top();
        assert!(button.bottom() <= border, "{height}: {button:?} {border}");
        tried = true;
    }
    assert!(tried, "the fold is in sight in none of these windows");
}

/// In the guide's last step but one, the bars to cut, their line and its field are in sight under all notes.
fn histogram() {
    let mut state = state_with_weights();
    let weights = state.document.weights.values_mut().next();
    Arc::make_mut(weights.expect("weights")).figures.ended = Ended::Iterations;
    state.runtime.tour = Some(TourStep::FitWeights);
    for height in [700.0, 770.0, 800.0] {
        let window = window(state.clone(), [1280.0, height]);
        let cut = window.get_by_role_and_label(egui::Role::Slider, "Weight");
        let field = window.get_by_label("Weight, cut");
        let foot = height - 28.0 - 50.0;
        let (bars, field) = (cut.rect(), field.rect());
        assert!(field.bottom() <= foot, "{height}: {field:?} {foot}");
        let card = window.get_by_label_contains("Guide ·").rect();
        assert!(bars.top() >= card.bottom(), "{height}: {bars:?} {card:?}");
    }
}

/// The note about layers left out of a save is above the controls, which move down once the pointer is elsewhere.
fn excluded() {
    let mut window = window(tracking(), [1920.0, 1080.0]);
    let step = |window: &Window| {
        window
            .get_by_role_and_label(egui::Role::Slider, "Step")
            .rect()
    };
    let before = (step(&window), heading(&window));
    for (pointed_at, severity) in [
        (before.0, Severity::Error),
        (before.1, Severity::Error),
        (before.0, Severity::Warning),
    ] {
        window.hover_at(pointed_at.center());
        window.run();
        let state = &mut window.state_mut().state;
        let text = "The session holds the recipe of 1 layer".to_owned();
        state.runtime.notify(severity, &text);
        window.run();
        window.get_by_label(&text);
        assert_eq!((step(&window), heading(&window)), before);
        window.hover_at(egui::pos2(400.0, 300.0));
        window.run();
        let note = window.get_by_label(&text).rect();
        assert!(step(&window).top() > before.0.top());
        assert!(note.bottom() < window.get_by_label("Inputs").rect().top());
        click(&mut window, &format!("Dismiss: {text}"));
        window.hover_at(egui::pos2(400.0, 300.0));
        window.run();
        assert_eq!((step(&window), heading(&window)), before);
    }
}

/// The controls that a sentence names are visible, and others too, however many results there are.
fn demanded() {
    let visible = |window: &Window, name: &str| {
        let slider = window
            .get_by_role_and_label(egui::Role::Slider, name)
            .rect();
        let results = heading(window).top();
        let card = window
            .query_by_label_contains("Guide ·")
            .map(|n| n.rect().bottom());
        assert!(slider.bottom() <= results, "{name}: {slider:?} {results}");
        assert!(
            slider.top() >= card.unwrap_or(0.0),
            "{name}: {slider:?} {card:?}"
        );
    };
    for guide in [None, Some(TourStep::Width), Some(TourStep::DragSeed)] {
        let mut state = pathways::solved();
        state.document.regions.truncate(2);
        state.runtime.tour = guide;
        let shown = window(state, SIZE);
        visible(&shown, "Pathway width ε");
        if guide != Some(TourStep::DragSeed) {
            visible(&shown, "Sharpening α");
        }
        let mut state = tracking();
        state.runtime.tour = guide;
        let shown = window(state, SIZE);
        for name in ["Streamlines", "Step", "Maximum angle"] {
            visible(&shown, name);
        }
    }
    let mut state = state_with_weights();
    state.runtime.tour = Some(TourStep::FitWeights);
    let mut window = window(state, SIZE);
    let card = |window: &Window| window.get_by_label_contains("Guide ·").rect();
    let before = card(&window);
    assert!(
        before.top() > 44.0 && before.bottom() < 0.4 * FOOT,
        "{before:?}"
    );
    // The same at any scroll position of the controls.
    window.hover_at(egui::pos2(1150.0, heading(&window).top() - 20.0));
    let (unit, delta) = (egui::MouseWheelUnit::Point, egui::vec2(0.0, -300.0));
    window.event(egui::Event::MouseWheel {
        unit,
        delta,
        phase: egui::TouchPhase::Move,
        modifiers: egui::Modifiers::NONE,
        source: egui::MouseWheelSource::Unknown,
    });
    window.run();
    assert_eq!(card(&window), before);
}
