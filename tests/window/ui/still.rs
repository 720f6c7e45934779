//! Controls keep their places while results arrive, become final and are compared; notes and the tour's steps do not
//! move the widget under the pointer; all steps of the tour have the same height.

use super::filter::{carry_out, state_with_weights, weighing};
use super::rays::brightest;
use super::{Window, click, pathways, small_scan, tracking, window};
use crate::support::{start_of_new_job, test};
use arcuate::compute::Control;
use arcuate::solvers::commit::solver::Ended;
use arcuate::solvers::curves::{SeedOutcome, StopReason};
use arcuate::solvers::tensor_fit::MaskReport;
use arcuate::state::filter::jobs::EstimateFit;
use arcuate::state::filter::{FilterAction, FittedWeights};
use arcuate::state::pathways::RandomPairRank;
use arcuate::state::runtime::TourStep;
use arcuate::state::tensors::jobs::fit::FIT;
use arcuate::state::track::jobs::LIVE;
use arcuate::state::{
    Action, FilesAction, JobHandle, Method, Severity, State, Task, ViewAction, update,
};
use arcuate::ui::theme;
use arcuate::ui::widgets::rows;
use egui::{Event, Key, Modifiers, PointerButton, Pos2, Rect, Shape};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;
use std::sync::Arc;

const SIZES: [[f32; 2]; 2] = [[1270.0, 770.0], [1920.0, 1080.0]];

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::still::a pathway arrives and is compared", pathway),
        test("ui::still::streamlines are cut and miss", streamlines),
        test("ui::still::a fit ends", fit),
        test("ui::still::maps of weights are not inputs", maps),
        test(
            "ui::still::controls under the pointer do not move in any task",
            under,
        ),
        test(
            "ui::still::a drop-down of Filter covers no control",
            covered,
        ),
        test("ui::still::steps of the guide are equally high", guide),
        test("ui::still::the guide ends at its last step", last_step),
        test("ui::still::the figures of a comparison are whole", figures),
        test("ui::still::a stopped fit is reported", stopped),
        test("ui::still::the wheel over a scroll bar", over_bar),
        test(
            "ui::still::a model that the scan does not determine",
            forced,
        ),
    ]
}

/// The place of a control or a heading; the topmost of that name.
fn control_rect(window: &Window, name: &str) -> Rect {
    let all = window.query_all_by_label(name).map(|n| n.rect());
    let first = all.min_by(|a, b| a.top().total_cmp(&b.top()));
    first.unwrap_or_else(|| panic!("{name} is there"))
}

/// The warning about a model takes the place of a hint, and the time and memory of the fit keep their rows.
fn forced() {
    for size in SIZES {
        let mut window = window(weighing(Task::View), size);
        window.key_press_modifiers(Modifiers::COMMAND, Key::Num5);
        window.run();
        carry_out::<EstimateFit>(&mut window);
        window.run();
        let rects = |window: &Window| {
            let names = ["Diffusivities", "Signal, stopping, operator", "Results"];
            let controls = names.map(|name| control_rect(window, name));
            let readings = ["Memory needed", "Time"].map(|name| {
                let mut all = window.query_all_by_label_contains(name).map(|n| n.rect());
                all.next().unwrap_or_else(|| panic!("{name} is there"))
            });
            (controls, readings)
        };
        let before = rects(&window);
        click(&mut window, "Free water: Ball");
        assert_eq!(rects(&window), before, "{size:?}: while it is estimated");
        carry_out::<EstimateFit>(&mut window);
        window.run();
        window.get_by_label_contains("Ball needs at least two shells");
        assert_eq!(rects(&window), before, "{size:?}: warned");
        click(&mut window, "Force the model");
        carry_out::<EstimateFit>(&mut window);
        window.run();
        assert_eq!(rects(&window), before, "{size:?}: forced");
    }
}

/// The wheel scrolls as far over the scroll bar as next to it: the bar is not a control that stays under the pointer.
fn over_bar() {
    let scrolled = |x: Option<f32>| {
        let mut state = tracking();
        state.view.task = Task::Track;
        let mut window = window(state, SIZES[0]);
        let heading = control_rect(&window, "Controls").center();
        window.hover_at(Pos2::new(x.unwrap_or(heading.x), heading.y));
        window.run();
        let before = control_rect(&window, "Step").top();
        for _ in 0..2 {
            window.event(Event::MouseWheel {
                unit: egui::MouseWheelUnit::Point,
                delta: egui::vec2(0.0, -12.0),
                modifiers: Modifiers::NONE,
                phase: egui::TouchPhase::Move,
                source: egui::MouseWheelSource::Unknown,
            });
            window.run();
        }
        before - control_rect(&window, "Step").top()
    };
    let next_to_bar = scrolled(None);
    assert!(
        next_to_bar > 10.0,
        "{next_to_bar}: there is nothing to scroll"
    );
    let over = scrolled(Some(SIZES[0][0] - 4.0));
    assert!(
        (over - next_to_bar).abs() < 1.0,
        "{over} instead of {next_to_bar}"
    );
}

fn pathway() {
    let mut last = pathways::solved();
    last.document.regions.truncate(2);
    let mut coarse = last.clone();
    let live = coarse.runtime.pathways.live.value_mut().expect("solved");
    Arc::make_mut(live).coarse = true;
    let mut none = last.clone();
    none.runtime.pathways.live.clear_shown();
    let mut compared = last.clone();
    compared.runtime.pathways.not_compared = None;
    let steps = [None, Some(TourStep::Width), Some(TourStep::FitWeights)];
    for (size, guide) in SIZES.into_iter().flat_map(|s| steps.map(|g| (s, g))) {
        let mut window = window(none.clone(), size);
        let mut before = None;
        for (what, state) in [
            ("none", &none),
            ("coarse", &coarse),
            ("final", &last),
            ("compared", &compared),
            ("none again", &none),
        ] {
            window.state_mut().state = state.clone();
            let runtime = &mut window.state_mut().state.runtime;
            runtime.tour = guide;
            runtime.notify(Severity::Warning, "Something to report");
            window.run();
            let names = ["Pathway width ε", "Sharpening α", "Domain FA ≥"];
            let now = names.map(|name| control_rect(&window, name));
            let results = control_rect(&window, "Results");
            assert!(
                now[1].bottom() <= results.top(),
                "{what} {guide:?} {size:?}: α {:?} is below the fold at {results:?}",
                now[1]
            );
            let before = *before.get_or_insert(now);
            assert_eq!(now, before, "{what} {guide:?} {size:?}");
            // The width that joins the regions has its row below ε; nothing else lies between these controls.
            assert!(now[1].top() - now[0].bottom() < 44.0, "{now:?}");
            assert!(now[2].top() - now[1].bottom() < 16.0, "{now:?}");
        }
    }
}

/// In the narrowest panel, next to the names used there.
fn figures() {
    fn painted(shape: &Shape, texts: &mut Vec<String>) {
        match shape {
            Shape::Vec(all) => all.iter().for_each(|s| painted(s, texts)),
            Shape::Text(text) => texts.push(text.galley.job.text.clone()),
            _ => {}
        }
    }
    let nearly_all = RandomPairRank::cheaper_than(0.005, 200);
    assert_eq!(nearly_all, "cheaper than 99\u{202F}% of 200 random pairs");
    let all = RandomPairRank::cheaper_in_row(0.0, 200);
    assert_eq!(all, "cheaper than all 200 pairs");
    let most = RandomPairRank::cheaper_in_row(0.002, 500);
    assert_eq!(
        most,
        format!(
            "cheaper than {} of pairs",
            arcuate::ui::format::with_unit("99", "%")
        )
    );
    for share in [0.0, 0.02, 0.5] {
        let sentence = RandomPairRank::cheaper_in_row(share, 200);
        let row = sentence.clone();
        let harness = Harness::builder().with_size([400.0, 60.0]);
        let harness = harness.with_context_setup(theme::install);
        let window = harness.build_ui(move |ui| {
            ui.set_max_width(311.0);
            rows::reading(ui, "Weakest stretch", &row);
        });
        let mut texts = Vec::new();
        for clipped in &window.output().shapes {
            painted(&clipped.shape, &mut texts);
        }
        assert!(texts.contains(&sentence), "{texts:?}");
    }
}

fn streamlines() {
    let full = tracking();
    let with = |outcomes: [u64; SeedOutcome::COUNT], stops: &[(StopReason, u64)], coarse: bool| {
        let mut state = full.clone();
        let live = state.runtime.track.live.value_mut().expect("live");
        let output = Arc::make_mut(&mut live.output);
        output.seed_outcomes = outcomes;
        output.stops = Default::default();
        for (reason, n) in stops {
            output.stops[*reason as usize] = *n;
        }
        live.coarse = coarse;
        if coarse {
            // The full result is in progress.
            state.runtime.jobs.running.push(JobHandle {
                slot: LIVE,
                ticket: 1,
                label: "Tracking".to_owned(),
                control: Control::new(),
                started: start_of_new_job(),
            });
        }
        state
    };
    let mut short = [450, 0, 0, 0, 0, 0, 0, 0];
    short[SeedOutcome::TooShort as usize] = 4;
    let few = [(StopReason::ReachedTarget, 900)];
    let many = [
        (StopReason::ReachedTarget, 450),
        (StopReason::LowFa, 300),
        (StopReason::Angle, 20),
        (StopReason::LeftMask, 7),
        (StopReason::MaxLength, 1),
    ];
    let states = [
        with([450, 0, 0, 0, 0, 0, 0, 0], &few, true),
        with(short, &few, true),
        with([450, 812, 0, 37, 193, 8, 0, 0], &many, false),
        with([450, 0, 0, 0, 0, 0, 0, 0], &few, false),
    ];
    for size in SIZES {
        let mut window = window(states[0].clone(), size);
        let mut before = None;
        for state in &states {
            window.state_mut().state = state.clone();
            window.run();
            let names = ["Step", "Results", "Why tracking stopped", "Appearance"];
            let rects = names.map(|name| control_rect(&window, name));
            let before = *before.get_or_insert(rects);
            assert_eq!(rects, before, "{size:?}");
        }
    }
}

fn fit() {
    let mut ended = small_scan();
    let tensors = ended.document.tensors.as_mut().expect("tensors");
    Arc::make_mut(tensors).mask_report = Some(MaskReport {
        volume_ml: 1300.0,
        holes: 0,
        holes_ml: 0.0,
        largest_hole_ml: 0.0,
        agreement: 0.97,
    });
    let mut runs = ended.clone();
    runs.document.tensors = None;
    runs.runtime.jobs.running.push(JobHandle {
        slot: FIT,
        ticket: 1,
        label: "Fitting tensors".to_owned(),
        control: Control::new(),
        started: start_of_new_job(),
    });
    for size in SIZES {
        let mut window = window(runs.clone(), size);
        let heading = |window: &Window| {
            let head = window.get_by_role_and_label(egui::Role::Heading, "Results");
            head.rect()
        };
        let measure = |window: &Window| control_rect(window, "Measure");
        window.get_by_label("fit running");
        window.get_by_label("Tensor fit, running: running");
        // The controls of tensors appear with the tensors; below the heading nothing moves.
        let rows = |window: &Window| measure(window).top() - heading(window).top();
        let before = rows(&window);
        window.state_mut().state = ended.clone();
        window.run();
        assert_eq!(rows(&window), before, "{size:?}");
    }
}

/// In the very frame in which something arrives, and when everything has come to rest.
fn under() {
    let mut solved = pathways::solved();
    solved.document.regions.truncate(2);
    let mut unsolved = solved.clone();
    unsolved.runtime.pathways.live.clear_shown();
    let mut untracked = tracking();
    untracked.runtime.track.live.clear_shown();
    let mut unfitted = small_scan();
    unfitted.document.tensors = None;
    let cases: [(Task, &str, Vec<State>); 5] = [
        (
            Task::View,
            "Brightness",
            vec![small_scan(), unfitted, small_scan()],
        ),
        (
            Task::Track,
            "Step",
            vec![untracked.clone(), tracking(), untracked],
        ),
        (
            Task::Pathways,
            "Sharpening α",
            vec![unsolved.clone(), solved.clone(), unsolved, solved],
        ),
        (
            Task::Segment,
            "More forces",
            vec![small_scan(), small_scan()],
        ),
        (
            Task::Filter,
            "Intra-axonal",
            vec![weighing(Task::Filter), state_with_weights()],
        ),
    ];
    for (size, (task, name, states)) in SIZES
        .into_iter()
        .flat_map(|s| cases.clone().map(|c| (s, c)))
    {
        let mut first = states[0].clone();
        first.view.task = task;
        let mut window = window(first, size);
        let Some(control) = window.query_all_by_label(name).next().map(|n| n.rect()) else {
            panic!("{name} in {task:?}");
        };
        window.hover_at(control.center());
        window.run();
        let before = control_rect(&window, name);
        let still = |window: &mut Window, what: &str| {
            window.step();
            assert_eq!(
                control_rect(window, name),
                before,
                "{task:?} {size:?}: {what} at once"
            );
            window.run();
            assert_eq!(
                control_rect(window, name),
                before,
                "{task:?} {size:?}: {what}"
            );
        };
        for (i, state) in states.iter().enumerate() {
            window.state_mut().state = state.clone();
            window.state_mut().state.view.task = task;
            still(&mut window, &format!("state {i}"));
            for guide in [Some(TourStep::Width), Some(TourStep::FitWeights), None] {
                window.state_mut().state.runtime.tour = guide;
                still(&mut window, &format!("state {i}, {guide:?}"));
            }
            let runtime = &mut window.state_mut().state.runtime;
            runtime.notify(Severity::Warning, "Something to report");
            still(&mut window, &format!("state {i}, a warning"));
            let runtime = &mut window.state_mut().state.runtime;
            runtime.notify(Severity::Error, "Something that went wrong");
            still(&mut window, &format!("state {i}, an error"));
            window.state_mut().state.runtime.notices.messages.clear();
            still(&mut window, &format!("state {i}, nothing to tell"));
        }
    }
}

/// The clickable widgets below a place in the window, with their rectangles.
fn controls(window: &Window, at: Pos2) -> Vec<(String, Rect)> {
    let roles = [
        egui::Role::Button,
        egui::Role::ComboBox,
        egui::Role::Slider,
        egui::Role::TextInput,
        egui::Role::CheckBox,
        egui::Role::RadioButton,
    ];
    let all = roles.into_iter().flat_map(|role| {
        let named = window.query_all_by_role(role);
        named.filter_map(|n| Some((n.accesskit_node().label()?, n.rect())))
    });
    all.filter(|(_, rect)| rect.contains(at)).collect()
}

/// A place in a row of a menu with the most clickable widgets below it.
fn over_controls(window: &Window, row: Rect) -> (Pos2, Vec<(String, Rect)>) {
    let shares = [0.5, 0.1, 0.3, 0.7, 0.9];
    let places = shares.iter().flat_map(|x| shares.map(|y| (*x, y)));
    let places = places.map(|(x, y)| row.lerp_inside(egui::vec2(x, y)));
    let found = places.map(|at| (at, controls(window, at)));
    let best = found.min_by_key(|(_, below)| std::cmp::Reverse(below.len()));
    best.expect("places")
}

/// The choice that closes a drop-down adds rows and removes some: the control below its row keeps its place.
fn covered() {
    let choices = [
        ("Intra-axonal", "Cylinders"),
        ("Timing", "δ and Δ, for all volumes"),
        ("Intra-axonal", "Gamma cylinders"),
        ("Intra-axonal", "Sticks"),
        ("Intra-axonal", "Gamma cylinders"),
        ("Timing", "Not known"),
        ("Intra-axonal", "Streamline density"),
        ("Intra-axonal", "Cylinders"),
        ("Mask", "voxels they cross"),
    ];
    let mut stored = 0;
    for size in SIZES {
        for start in [weighing(Task::Filter), state_with_weights()] {
            let mut window = window(start, size);
            for (name, row) in choices {
                let fields = window.query_all_by_role_and_label(egui::Role::ComboBox, name);
                let Some(field) = fields.last().map(|n| n.rect().center()) else {
                    panic!("{name}");
                };
                // Closed once, to see which widgets the row will cover.
                super::click_with(&mut window, field, Modifiers::NONE);
                let at = window.get_by_role_and_label(egui::accesskit::Role::MenuItem, row);
                let row_at = at.rect();
                window.key_press(Key::Escape);
                window.run();
                let (at, below) = over_controls(&window, row_at);
                super::click_with(&mut window, field, Modifiers::NONE);
                window.hover_at(at);
                window.run();
                for pressed in [true, false] {
                    window.event(Event::PointerButton {
                        pos: at,
                        button: PointerButton::Primary,
                        pressed,
                        modifiers: Modifiers::NONE,
                    });
                }
                for _ in 0..8 {
                    window.step();
                    for (label, before) in &below {
                        let all = window.query_all_by_label(label).map(|n| n.rect());
                        let near = all.min_by(|a, b| {
                            let far = |r: &Rect| r.center().distance(before.center());
                            far(a).total_cmp(&far(b))
                        });
                        // A widget that the choice removed cannot stay.
                        let Some(now) = near else { continue };
                        stored += 1;
                        assert_eq!(now, *before, "{label} below {row} of {name}, {size:?}");
                    }
                }
                // The pointer leaves, and the panel returns.
                window.hover_at(egui::pos2(600.0, 300.0));
                window.run();
            }
        }
    }
    assert!(stored > 50, "{stored}");
}

/// The lower end of the tour's card, in every task.
fn guide() {
    let mut states = vec![small_scan(), tracking(), state_with_weights()];
    states[0].document.track.method = Method::Rays;
    let mut bottoms = Vec::new();
    for mut state in states {
        for task in Task::ALL {
            state.view.task = task;
            for step in TourStep::ALL {
                state.runtime.tour = Some(step);
                let window = window(state.clone(), SIZES[0]);
                let card = window.get_by_label_contains("Guide ·").rect();
                bottoms.push((card.bottom(), task, step));
            }
        }
    }
    let (first, ..) = bottoms[0];
    let other = bottoms.iter().find(|(bottom, ..)| *bottom != first);
    assert_eq!(other, None, "the first ends at {first}");
}

/// An earlier export does not end the tour; starting the tour again removes its last note.
fn last_step() {
    let folder = tempfile::tempdir().unwrap();
    let export = |state: &mut State| {
        let path = folder.path().join("tracks.tck");
        update(
            state,
            Action::Files(FilesAction::SaveStreamlines { layer: None, path }),
        );
    };
    let mut state = tracking();
    // The existing regions complete the earlier steps.
    for step in [TourStep::Width, TourStep::FitWeights, TourStep::Save] {
        state.runtime.tour = Some(step);
        export(&mut state);
        let left = Some(step).filter(|s| *s != TourStep::Save);
        assert_eq!(state.runtime.tour, left);
    }
    let ends = |state: &State| {
        let mut all = state.runtime.notices.messages.iter();
        all.any(|m| m.text.starts_with("Guide finished"))
    };
    assert!(ends(&state), "{:?}", state.runtime.notices.messages);
    update(&mut state, Action::StartTour);
    assert_eq!(state.runtime.tour, Some(TourStep::ClickSlice));
    assert!(!ends(&state));
}

/// The maps of a fit of weights have rows in Layers; in View the controls stay where they were before the fit.
fn maps() {
    for size in SIZES {
        let tops = [weighing(Task::View), state_with_weights()].map(|mut state| {
            // Filter takes its settings along; a selected layer of streamlines has a section above the inputs.
            update(&mut state, Action::View(ViewAction::SelectTask(Task::View)));
            state.runtime.selected_layer = None;
            let window = window(state, size);
            let heading = window.get_by_role_and_label(egui::Role::Heading, "Controls");
            heading.rect().top()
        });
        assert_eq!(tops[0], tops[1], "{size:?}");
    }
}

fn stopped() {
    let note = "not converged";
    let mut state = state_with_weights();
    let id = *state.document.weights.keys().next().expect("weights");
    let converged = super::window(state.clone(), SIZES[1]);
    assert!(converged.query_by_label_contains(note).is_none());
    let set = |state: &mut State, ended: Ended, more: usize| {
        let fitted: &mut Arc<FittedWeights> = state.document.weights.get_mut(&id).expect("weights");
        let fitted = Arc::make_mut(fitted);
        (fitted.figures.ended, fitted.figures.iterations) = (ended, 1);
        fitted.curve = vec![1.0; 2 + more].into();
    };
    set(&mut state, Ended::Cancelled, 0);
    let mut window = super::window(state.clone(), [1920.0, 1700.0]);
    window.get_by_label("Stopped after 1 iteration: not converged");
    click(&mut window, "Fit statistics");
    let figure = window.get_by_label_contains("Ended by").accesskit_node();
    let text = figure.label().or(figure.value());
    assert_eq!(text.as_deref(), Some("Ended by user, not converged"));
    // A run that continued from existing weights.
    set(&mut state, Ended::Cancelled, 8);
    let window = super::window(state.clone(), SIZES[1]);
    window.get_by_label("Stopped after 9 iterations: not converged");
    window.get_by_label_contains("stopped, 9 iterations");
    // It is a result: as bright as that of a completed fit.
    assert_eq!(brightest(&window, "Weight"), 255);
    set(&mut state, Ended::Iterations, 0);
    let window = super::window(state.clone(), SIZES[1]);
    window.get_by_label("Not converged after 1 iteration, the limit");
    set(&mut state, Ended::Iterations, 8);
    let window = super::window(state.clone(), SIZES[1]);
    window.get_by_label("Not converged after 9 iterations; a run has at most 1");
    // A result about to be replaced by a run is dimmed.
    update(&mut state, Action::Filter(FilterAction::Run));
    let window = super::window(state, SIZES[1]);
    assert!(brightest(&window, "Weight") < 128);
}
