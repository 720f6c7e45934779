//! The task Segment, driven as by a user.

use super::{Window, click, click_with, small_scan, submitted, type_over, window};
use crate::support::{self, lines, opened_event, opened_file, test};
use arcuate::compute::{Backend, BackendChoice};
use arcuate::data::{Grid, Volume};
use arcuate::jobs::Jobs;
use arcuate::scene;
use arcuate::solvers::level_set::distance::{EXACT_MM, Isosurface, to_streamlines};
use arcuate::solvers::level_set::{Cause, Ended, Params, Sphere};
use arcuate::state::core::display;
use arcuate::state::core::layer::OriginId;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::runtime::TourStep;
use arcuate::state::sampling::SampleAction;
use arcuate::state::segment::SurfaceStanding;
use arcuate::state::segment::jobs::{RunControl, RunRequest};
use arcuate::state::{
    Action, Content, Display, Distance, Effect, Layer, LayerId, SegmentAction, Task, Tool,
    ViewAction, update,
};
use arcuate::ui::views::badge;
use egui_kittest::kittest::Queryable as _;
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::a surface is started, run and paused", run),
        test("ui::target and range are dragged and typed", target),
        test("ui::further speeds steer the surface", speeds),
        test("ui::a distance leads to the nearest point", near),
        test("ui::a leak is at the top of the panel", leak),
        test("ui::a leak after a change names its volumes", after_change),
        test(
            "ui::the note of a leak leaves the tools in sight",
            tools_in_sight,
        ),
        test("ui::a surface at rest is not called running", rests),
        test("ui::a run without a rate is called starting", starting),
        test("ui::the live surface is hidden and shown", eye),
        test("ui::no hint of Segment moves what is below", hints),
        test("ui::a surface of other parameters is dim", stale),
        test("ui::cuts are not spheres of the start", cuts),
        test("ui::rewinding moves no control", way_back_is_still),
        test(
            "ui::after a surface is kept the head is seen again",
            unframed,
        ),
    ]
}

pub(super) fn segmenting() -> Window {
    let mut window = window(small_scan(), [1920.0, 1080.0]);
    window.get_by_label("Segment").click();
    window.run();
    assert_eq!(window.state().state.view.task, Task::Segment);
    window
}

fn last_run_request(window: &Window) -> Option<RunRequest> {
    submitted(window).last().copied().cloned()
}

fn act(window: &mut Window, action: SegmentAction) {
    let app = window.state_mut();
    let effects = update(&mut app.state, Action::Segment(action));
    app.effects.extend(effects);
    window.run();
}

pub(super) fn field(window: &mut Window, name: &str, text: &str) {
    let field = window.get_by_role_and_label(egui::Role::TextInput, name);
    field.click();
    window.run();
    type_over(window, text);
}

pub(super) fn place(window: &mut Window) {
    let sphere = Sphere {
        add: true,
        centre: DVec3::new(0.0, -10.0, 10.0),
        radius_mm: 12.0,
    };
    act(window, SegmentAction::Sphere(sphere));
}

fn run() {
    let mut window = segmenting();
    window.get_by_label_contains("Hold P and drag over the structure");
    field(&mut window, "Target T", "0.5");
    assert!(window.state().state.document.segment.settings.target_chosen);
    window.get_by_label_contains("Press A, then click inside the structure");
    window.key_press(egui::Key::A);
    window.run();
    assert_eq!(window.state().state.view.tool, Tool::Sphere { add: true });
    click(&mut window, "Tool: Keep out  D");
    assert_eq!(window.state().state.view.tool, Tool::Sphere { add: false });
    assert!(last_run_request(&window).is_none(), "nothing to begin with");
    place(&mut window);
    let requested = last_run_request(&window).expect("requested");
    assert_eq!(
        (requested.play, requested.spheres.len()),
        (RunControl::Rest, 1)
    );
    window.key_press(egui::Key::Space);
    window.run();
    assert_eq!(
        last_run_request(&window).expect("requested").play,
        RunControl::Run
    );
    click(&mut window, "Delete the spheres and the surface");
    assert!(window.state().state.document.segment.spheres.is_empty());
}

fn params(window: &Window) -> Params {
    window
        .state()
        .state
        .document
        .segment
        .settings
        .params
        .clone()
}

fn target() {
    let mut window = segmenting();
    let histogram = window
        .get_by_role_and_label(egui::Role::Slider, "Target and range")
        .rect();
    let from = histogram.center();
    window.drag_at(from);
    window.run();
    let before = params(&window);
    for by in [10.0, 20.0] {
        window.hover_at(from + egui::vec2(by, 0.0));
        window.run();
    }
    window.drop_at(from + egui::vec2(20.0, 0.0));
    window.run();
    let after = params(&window);
    assert!(
        after.target > before.target,
        "{} after {}",
        after.target,
        before.target
    );
    assert_eq!(after.tolerance, before.tolerance);
    click(&mut window, "Undo");
    assert!(params(&window).target < after.target);
    field(&mut window, "Smoothness", "0.55");
    assert_eq!(params(&window).smoothness, 0.55);
}

fn speeds() {
    let mut window = segmenting();
    field(&mut window, "Target T", "0.5");
    place(&mut window);
    click(&mut window, "More forces");
    field(&mut window, "Region means", "0.8");
    field(&mut window, "Edge stopping", "0.5");
    let requested = last_run_request(&window).expect("requested");
    assert_eq!(requested.params.region, 0.8);
    assert_eq!(requested.params.edge, 0.5);
    window.get_by_role_and_label(egui::Role::TextInput, "Edge contrast");
    // Folded, so that the rows below it are visible.
    click(&mut window, "More forces");
    click(&mut window, "Display and stepping");
    assert!(!requested.speed);
    field(&mut window, "Speed overlay", "40");
    assert!(last_run_request(&window).expect("requested").speed);
    click(&mut window, "Pause at leaks");
    assert!(!last_run_request(&window).expect("requested").watched);
    click(&mut window, "Reset to defaults");
    let settings = &window.state().state.document.segment.settings;
    assert_eq!((settings.params.region, settings.params.target), (0.0, 0.5));
}

/// Carries out the latest request for a surface.
pub(super) fn answer(window: &mut Window) {
    let requested = last_run_request(window).expect("requested");
    let backend = Backend::choose(&BackendChoice::cpu(Some(2))).expect("two threads");
    let mut jobs = Jobs::new(backend, Arc::new(|| {}));
    let job = jobs.submit(requested);
    let event = jobs.wait(&job, |_| {});
    update(&mut window.state_mut().state, Action::Event(event));
    window.run();
}

fn near() {
    let mut window = segmenting();
    field(&mut window, "Target T", "0.5");
    let state = &mut window.state_mut().state;
    let point = |x: f64, y: f64| DVec3::new(x, y, 10.0);
    let beams = [5.0, 2.0].map(|y| vec![point(-30.0, y + 2.4), point(30.0, y + 2.4)]);
    let id = LayerId(state.document.fresh_id());
    let display = Display {
        visible: true,
        ..display::line_display()
    };
    let content = Content::Tractogram(lines(&beams));
    let (name, origin) = ("Beams".to_owned(), OriginId::default());
    let layer = Layer::new(id, name, content, display, origin);
    state.document.layers.push(Arc::new(layer));
    place(&mut window);
    answer(&mut window);
    let live = window.state().state.runtime.segment.live.clone();
    let figures = live.as_ref().and_then(|l| l.figures.clone());
    let figures = figures.expect("figures");
    let Distance::Away { mm, point } = figures.distances[0].met else {
        panic!("{:?}", figures.distances);
    };
    // The number is as exact as the search itself; rounding up would be too large.
    let field = live.map(|l| l.measured.field.clone()).expect("a surface");
    let exact = to_streamlines(
        &Isosurface::of_field(&field),
        &lines(&beams),
        None,
        EXACT_MM,
    );
    assert!((mm - exact.expect("both").mm).abs() <= 1e-3, "{mm}");
    let down = (mm * 10.0).floor() / 10.0;
    assert!(down <= mm && mm - down < 0.1);
    let row = format!("To Beams {down:.1}\u{202F}mm");
    click(&mut window, &row);
    assert_eq!(window.state().state.view.crosshair, point);
    // A hidden one keeps its row.
    let state = &mut window.state_mut().state;
    state.document.edit_layer(id, |l| l.display.visible = false);
    window.run();
    window.get_by_label("To Beams hidden, not counted");
}

/// A ball of 100 in tissue of 40 in air, run with a range that includes both.
pub fn leaked() -> support::Window {
    let grid =
        Grid::axis_aligned([32; 3], DVec3::splat(1.5), DVec3::splat(-23.25)).expect("a grid");
    let value = |i: usize| match grid
        .world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)))
        .length()
    {
        r if r < 8.0 => 100.0,
        r if r < 16.0 => 40.0,
        _ => 0.0f32,
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    let mut window = support::Window::new();
    let image = Loaded::Image(Volume::scalar(Arc::new(grid), values));
    let opened = opened_event(1, opened_file("/data/t1.nii.gz", image));
    window.act(Action::Event(opened));
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    let (from, to) = (dvec3(-4.0, 0.0, 0.0), dvec3(4.0, 0.0, 0.0));
    for action in [
        SampleAction::Begin {
            at: from,
            adds: false,
        },
        SampleAction::Over(from, to),
        SampleAction::End,
    ] {
        window.act(Action::Sample(action));
    }
    let sphere = Sphere {
        add: true,
        centre: DVec3::ZERO,
        radius_mm: 4.0,
    };
    window.act(Action::Segment(SegmentAction::Sphere(sphere)));
    let mut settings = window.state.document.segment.settings.clone();
    settings.params.tolerance = 130.0;
    let phase = arcuate::state::Phase::Done;
    window.act(Action::Segment(SegmentAction::Set { settings, phase }));
    window.act(Action::Segment(SegmentAction::Play));
    window
}

fn leak() {
    let driven = leaked();
    let live = driven.state.runtime.segment.live.clone();
    let live = live.expect("a surface");
    let from = live.leak.expect("a leak").leak.rewind_step;
    for size in [[1280.0, 770.0], [1920.0, 1080.0]] {
        let mut window = window(driven.state.clone(), size);
        // Next to the task's name: above everything that scrolls, so nothing below moves.
        let note = window.get_by_label_contains("Possible leak into the background");
        let (note, run) = (note.rect(), window.get_by_label("Run").rect());
        assert!(
            note.top() < 120.0 && note.left() > size[0] * 0.6,
            "{note:?}"
        );
        assert!(run.top() > note.bottom(), "{run:?} {note:?}");
        // The controls that it names are visible.
        let results = window.get_by_role_and_label(egui::Role::Heading, "Results");
        for name in ["Tolerance ε", "Smoothness"] {
            let slider = window
                .get_by_role_and_label(egui::Role::Slider, name)
                .rect();
            assert!(slider.top() > note.bottom(), "{name} {slider:?} {note:?}");
            assert!(slider.bottom() <= results.rect().top(), "{name} {slider:?}");
        }
        // The views are not in this window; `views::the view offers to undo a leak` tests them.
        let back = window.get_by_label("Undo the leak").rect();
        assert!(note.contains_rect(back), "{note:?} {back:?}");
        click_with(&mut window, back.center(), egui::Modifiers::NONE);
        window.run();
        let task_runtime = &window.state().state.runtime.segment;
        assert_eq!(task_runtime.rewind.expect("a way back").step, from);
        let requested = last_run_request(&window).expect("requested");
        assert_eq!(requested.rewind.map(|b| b.step), Some(from));
        window.state_mut().state = driven.state.clone();
        window.run();
        click(&mut window, "Show it");
        let at = live.leak.and_then(|l| l.at).expect("a place");
        assert!(window.state().state.view.crosshair.distance(at) < 1.0);
    }
    // Without a leak there is no note, and the controls keep their places.
    let run = window(driven.state.clone(), [1280.0, 770.0])
        .get_by_label("Run")
        .rect();
    let mut state = driven.state.clone();
    let mut calm = (*live).clone();
    calm.leak = None;
    state.runtime.segment.live = Some(Arc::new(calm));
    let window = window(state, [1280.0, 770.0]);
    assert!(window.query_by_label_contains("Possible leak").is_none());
    assert!(window.query_by_label("Undo the leak").is_none());
    assert_eq!(window.get_by_label("Run").rect(), run);
}

/// The button that leads back removes the note, and no control moves, with or without other notes.
fn way_back_is_still() {
    for guide in [None, Some(TourStep::FitWeights)] {
        let mut driven = leaked();
        driven.state.runtime.tour = guide;
        let live = driven.state.runtime.segment.live.clone();
        let leaked = live.and_then(|live| live.leak).expect("a leak");
        let mut window = window(driven.state.clone(), [1280.0, 760.0]);
        let names = ["Run", "Back to step 0", "Tolerance ε"];
        let places = |window: &Window| {
            let place = |name| window.query_all_by_label(name).next().map(|n| n.rect());
            names.map(|name| place(name).expect(name))
        };
        let before = places(&window);
        window.get_by_label("Undo the leak");
        driven.act(Action::Segment(SegmentAction::Rewind(
            leaked.leak.rewind_step,
        )));
        window.state_mut().state = driven.state.clone();
        window.run();
        assert!(window.query_by_label("Undo the leak").is_none());
        assert_eq!(places(&window), before, "{guide:?}");
    }
}

/// The tools that the note names stay visible for any cause.
fn tools_in_sight() {
    for cause in [
        Cause::Background,
        Cause::Border,
        Cause::Growth,
        Cause::Change,
    ] {
        let mut state = leaked().state;
        let mut live = (**state.runtime.segment.live.as_ref().expect("a surface")).clone();
        let leak = live.leak.as_mut().expect("a leak");
        (leak.leak.cause, leak.leak.rewind_step, leak.before_ml) = (cause, 12_700, 15.7);
        state.runtime.segment.live = Some(Arc::new(live));
        let window = window(state, [1280.0, 770.0]);
        let note = window.get_by_label_contains("Possible leak").rect();
        let heading = window.get_by_role_and_label(egui::Role::Heading, "Controls");
        assert!(note.bottom() <= heading.rect().top(), "{cause:?} {note:?}");
        for tool in [
            "Tool: Sample  P",
            "Tool: Add sphere  A",
            "Tool: Keep out  D",
        ] {
            let tool = window.get_by_label(tool).rect();
            assert!(tool.top() >= note.bottom(), "{cause:?} {tool:?} {note:?}");
        }
    }
}

/// A surface that came to rest is not called running while it is measured; one with a pending request is.
fn rests() {
    let mut state = leaked().state;
    let mut live = (**state.runtime.segment.live.as_ref().expect("a surface")).clone();
    (live.leak, live.ended, live.steps_per_s) = (None, Ended::Converged, 603.0);
    let task_runtime = &mut state.runtime.segment;
    (task_runtime.live, task_runtime.running, task_runtime.play) =
        (Some(Arc::new(live)), true, RunControl::Run);
    assert_eq!(state.segment_standing(), Some(SurfaceStanding::Converged));
    let shown = window(state.clone(), [1280.0, 770.0]);
    assert!(shown.get_all_by_label_contains("At rest").next().is_some());
    state.document.segment.settings.params.tolerance *= 1.1;
    assert_eq!(state.segment_standing(), Some(SurfaceStanding::Running));
}

/// A run without a rate has just begun. Until the surface is measured, the volume is "…", not that of whole voxels.
fn starting() {
    let mut state = leaked().state;
    let mut live = (**state.runtime.segment.live.as_ref().expect("a surface")).clone();
    (live.leak, live.ended, live.step) = (None, Ended::Steps, 0);
    let task_runtime = &mut state.runtime.segment;
    (task_runtime.running, task_runtime.play) = (true, RunControl::Run);
    for (rate, caption) in [
        (0.0, "Starting"),
        (0.31, "Step 0, 0.310\u{202F}steps/s"),
        (603.2, "Step 0, 603\u{202F}steps/s"),
    ] {
        live.steps_per_s = rate;
        live.figures = live.figures.filter(|_| rate > 0.0);
        state.runtime.segment.live = Some(Arc::new(live.clone()));
        let window = window(state.clone(), [1280.0, 770.0]);
        assert!(
            painted(&window).iter().any(|(w, _)| w == caption),
            "{caption}"
        );
        let (badge, _) = badge::text(&state).expect("a badge");
        assert_eq!(badge.contains("steps/s"), rate > 0.0, "{badge}");
        let unknown = window.query_by_label_contains("Volume …").is_some();
        assert_eq!(unknown, live.figures.is_none());
    }
}

/// The volumes belong to the change.
fn after_change() {
    let mut state = leaked().state;
    let mut live = (**state.runtime.segment.live.as_ref().expect("a surface")).clone();
    let leak = live.leak.as_mut().expect("a leak");
    leak.leak.cause = Cause::Change;
    leak.before_ml = 6.67;
    state.runtime.segment.live = Some(Arc::new(live));
    let window = window(state, [1920.0, 1080.0]);
    window.get_by_label_contains("Possible leak after a change: 6.67");
    // During a rewind no note describes the abandoned branch and the plot counts its leak once.
    let mut state = leaked().state;
    let from = state.runtime.segment.live.as_ref().and_then(|l| l.leak);
    let from = from.expect("a leak").leak.rewind_step;
    update(&mut state, Action::Segment(SegmentAction::Rewind(from)));
    let mut window = self::window(state, [1920.0, 1080.0]);
    window.run();
    assert!(window.query_by_label_contains("Possible leak").is_none());
    window.get_by_label_contains(&format!("Going back to step {from}"));
    assert!(painted(&window).iter().all(|(text, _)| text != "2 leaks"));
}

/// All painted texts with their rectangles.
pub(super) fn painted(window: &Window) -> Vec<(String, egui::Rect)> {
    let texts = window.output().shapes.iter().filter_map(|clipped| {
        let egui::Shape::Text(text) = &clipped.shape else {
            return None;
        };
        let sentence = text.galley.job.text.clone();
        Some((sentence, text.visual_bounding_rect()))
    });
    texts.collect()
}

fn eye() {
    let driven = leaked();
    let mut window = window(driven.state.clone(), [1920.0, 1080.0]);
    let drawn = |window: &Window| {
        let state = &window.state().state;
        let surfaces = scene::segment::surfaces(state, &state.view.camera, None).len();
        assert_eq!(scene::segment::contours(state).len(), surfaces);
        surfaces
    };
    assert_eq!(drawn(&window), 1);
    click(&mut window, "Hide Surface, live");
    assert_eq!(drawn(&window), 0);
    // It is the same surface: nothing is requested.
    assert!(last_run_request(&window).is_none());
    click(&mut window, "Show Surface, live");
    assert_eq!(drawn(&window), 1);
    // A hidden one becomes visible as soon as the user works on it.
    click(&mut window, "Hide Surface, live");
    place(&mut window);
    assert_eq!(drawn(&window), 1);
}

fn hints() {
    let mut window = segmenting();
    let run = window.get_by_label("Run").rect();
    let same = |window: &mut Window, why: &str| {
        window.run();
        assert_eq!(window.get_by_label("Run").rect(), run, "{why}");
    };
    for key in [egui::Key::A, egui::Key::D, egui::Key::Escape] {
        window.key_press(key);
        same(&mut window, key.name());
    }
    field(&mut window, "Target T", "0.5");
    same(&mut window, "a target");
    place(&mut window);
    same(&mut window, "a sphere");
}

fn drawn_opacity(state: &arcuate::state::State) -> f32 {
    let surface = scene::segment::surfaces(state, &state.view.camera, None);
    let contour = scene::segment::contours(state);
    let opacity = surface.last().expect("drawn").opacity;
    assert_eq!(contour.last().expect("drawn").opacity, opacity);
    opacity
}

/// A surface is dim while the document has other parameters than those that moved it; undo brings back its own.
fn stale() {
    let mut driven = leaked();
    assert_eq!(drawn_opacity(&driven.state), 1.0);
    let mut settings = driven.state.document.segment.settings.clone();
    settings.params.tolerance *= 0.5;
    let phase = arcuate::state::Phase::Done;
    driven.act(Action::Segment(SegmentAction::Set { settings, phase }));
    assert!(drawn_opacity(&driven.state) < 1.0, "dim for another ε");
    let shown = window(driven.state.clone(), [1920.0, 1080.0]);
    shown.get_by_label_contains("before the change");
    driven.act(Action::Undo);
    assert_eq!(drawn_opacity(&driven.state), 1.0);
    // Settings without influence on its course do not change it.
    let mut settings = driven.state.document.segment.settings.clone();
    settings.dims = !settings.dims;
    let phase = arcuate::state::Phase::Done;
    driven.act(Action::Segment(SegmentAction::Set { settings, phase }));
    assert_eq!(drawn_opacity(&driven.state), 1.0);
    // A sphere that is undone is in the surface until the answer comes.
    let sphere = Sphere {
        add: false,
        centre: DVec3::ZERO,
        radius_mm: 3.0,
    };
    driven.act(Action::Segment(SegmentAction::Sphere(sphere)));
    assert_eq!(drawn_opacity(&driven.state), 1.0);
    let effects = update(&mut driven.state, Action::Undo);
    assert!(drawn_opacity(&driven.state) < 1.0, "dim for other spheres");
    let shown = window(driven.state.clone(), [1920.0, 1080.0]);
    assert!(
        shown
            .query_all_by_label_contains("Going back to step")
            .count()
            > 0
    );
    for effect in effects {
        if let Effect::Submit(job) = effect {
            let job = driven.jobs.submit(job);
            let answer = driven.jobs.wait(&job, |_| {});
            driven.act(Action::Event(answer));
        }
    }
    assert_eq!(drawn_opacity(&driven.state), 1.0);
}

fn cuts() {
    let mut window = segmenting();
    place(&mut window);
    let cut = Sphere {
        add: false,
        centre: DVec3::new(0.0, -12.0, 14.0),
        radius_mm: 3.0,
    };
    act(&mut window, SegmentAction::Sphere(cut));
    use egui_kittest::kittest::NodeT as _;
    let start = window.get_by_role_and_label(egui::Role::ComboBox, "Start");
    let shown = start.accesskit_node().value().unwrap_or_default();
    assert_eq!(shown, "1 sphere, 1 keep-out");
}

/// A visible surface, framed by a camera that came from afar.
fn framed() -> support::Window {
    let mut driven = leaked();
    let sphere = driven.state.document.segment.spheres[0].1;
    driven.act(Action::Segment(SegmentAction::Clear));
    driven.state.view.camera.distance_mm = 900.0;
    driven.act(Action::Segment(SegmentAction::Sphere(sphere)));
    driven
}

fn unframed() {
    let mut driven = framed();
    let seen = |window: &support::Window| {
        let camera = window.state.view.camera;
        (camera.focus, camera.distance_mm)
    };
    let (before, near) = driven.state.runtime.segment.framed.expect("framed");
    assert_eq!(seen(&driven), (near.focus, near.distance_mm));
    assert!(near.distance_mm < before.distance_mm);
    let mut moved = framed();
    moved.state.view.camera.distance_mm *= 0.9;
    let manual = seen(&moved);
    for window in [&mut driven, &mut moved] {
        window.act(Action::Segment(SegmentAction::Keep));
        assert!(window.state.runtime.segment.live.is_none());
    }
    assert_eq!(seen(&driven), (before.focus, before.distance_mm));
    assert_eq!(seen(&moved), manual, "the user moved it");
}
