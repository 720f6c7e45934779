//! Findings of a user's trial of the rays: lost digits, rows that jump, a tour and a dialog that forget.

use super::rays::{measured, rays, traced};
use super::{App, Window, click, count_submitted, small_scan, tracking, type_over, window};
use crate::support::{Random, opened_event, opened_file, test, wait_for};
use arcuate::data::{BuiltInPhantom, Role, Shape, Shared, Tractogram};
use arcuate::io::Remark;
use arcuate::solvers::geodesic::Cut;
use arcuate::state::core::display::LineColouring;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::origin::{Origin, PhantomPart};
use arcuate::state::{
    Action, Content, FilesAction, LayerAction, Phase, RegionAction, State, Task, TrackAction,
    ViewAction, update,
};
use arcuate::ui::status_bar::StageRate;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::the time left is that of the stage", time_left),
        test("ui::how many a cut leaves is counted once", counted_once),
        test("ui::digits right behind a click are typed", typed_at_once),
        test("ui::the row of the colour map stays", colours),
        test("ui::the guide explains rays", guided),
        test(
            "ui::the next export goes where the last one went",
            remembered,
        ),
        test(
            "ui::the panel of an opened document starts at its top",
            begins,
        ),
        test("ui::export in Track is of the live result", live_first),
        test("ui::checks that were not run are counted", not_run),
        test(
            "ui::a contradiction in a file of streamlines did not pass",
            contradicted,
        ),
        test("ui::a target without streamlines has no median", unreached),
    ]
}

/// Gradient axes that were not compared did not pass.
fn not_run() {
    let state = small_scan();
    let open = |state: State| window(state, [1280.0, 800.0]);
    let before = open(state.clone());
    // A note about repaired tensors is not a check, and has its own row and count.
    before.get_by_label("2 of 3 passed · 1 not run · 1 note");
    assert!(before.query_by_label("checks passed · 1 note").is_none());
    before.get_by_label_contains("axes not compared");
    let mut none = state.clone();
    let tensors = none.document.tensors.as_mut().expect("tensors");
    Arc::make_mut(tensors).repaired = 0;
    open(none).get_by_label("3 of 4 checks passed · 1 not run");
    // The axes of a synthetic head are known.
    let mut known = state;
    let scan = known.document.scan().expect("a scan").id;
    let (head, part) = (BuiltInPhantom::plain(1), PhantomPart::Dwi);
    let origin = known.document.origins.add(Origin::Phantom { head, part });
    known.document.edit_layer(scan, |l| l.origin = origin);
    let after = open(known);
    after.get_by_label("checks passed · 1 note");
}

/// A warning about the header of streamlines is a check to look at, and information is a note, also where the scan passed.
fn contradicted() {
    let mut state = small_scan();
    let tensors = state.document.tensors.as_mut().expect("tensors");
    Arc::make_mut(tensors).repaired = 0;
    let scan = state.document.scan().expect("a scan").clone();
    let (head, part) = (BuiltInPhantom::plain(1), PhantomPart::Dwi);
    let origin = state.document.origins.add(Origin::Phantom { head, part });
    state.document.edit_layer(scan.id, |l| l.origin = origin);
    let centre = scan.content.volume().expect("a volume").grid.centre();
    let points = [-1.0, 0.0, 1.0].map(|x| (centre + x * DVec3::X).as_vec3().to_array());
    let lines = Tractogram::new(points.to_vec(), vec![0, 3]);
    for (is_note, expected) in [
        (None, "checks passed"),
        (Some(true), "checks passed · 1 note"),
        (Some(false), "1 check to look at"),
    ] {
        let mut file = opened_file("/data/lines.trk", Loaded::Tractogram(lines.clone()));
        file.notes = Vec::from_iter(is_note.map(|is_note| Remark {
            is_note,
            ..Remark::from("The header contradicts itself".to_owned())
        }));
        let mut state = state.clone();
        update(&mut state, Action::Event(opened_event(1, file)));
        window(state, [1280.0, 800.0]).get_by_label(expected);
    }
}

/// No streamlines have no length, not one of 0 mm.
fn unreached() {
    let reached = |n: u64| {
        let mut state = tracking();
        let live = state
            .runtime
            .track
            .live
            .value_mut()
            .expect("live streamlines");
        let output = Arc::make_mut(&mut live.output);
        output.per_target = vec![n];
        if n == 0 {
            // All streamlines end elsewhere.
            let all = output.kept.len();
            output.kept = output
                .kept
                .clone()
                .with_per_streamline("target", vec![1.0; all]);
        }
        window(state, [1280.0, 1000.0])
    };
    let some = reached(450);
    some.get_by_label_contains("Target Motor L, 450 streamlines, median ");
    assert!(some.query_by_label_contains("median –").is_none());
    let none = reached(0);
    none.get_by_label("Target Motor L, 0 streamlines, median –");
}

/// The scroll position of the panel belongs to the open document.
fn begins() {
    let mut window = window(small_scan(), [1280.0, 600.0]);
    let slider = |window: &Window| {
        let node = window.get_by_role_and_label(egui::Role::Slider, "Opacity");
        node.rect().center()
    };
    let at = slider(&window);
    window.event(egui::Event::PointerMoved(at));
    window.run();
    window.event(egui::Event::MouseWheel {
        unit: egui::MouseWheelUnit::Line,
        delta: egui::vec2(0.0, -3.0),
        modifiers: egui::Modifiers::NONE,
        phase: egui::TouchPhase::Move,
        source: egui::MouseWheelSource::Unknown,
    });
    window.run();
    assert!(slider(&window).y < at.y);
    let opened = std::mem::replace(&mut window.state_mut().state, State::new(String::new()));
    window.run();
    window.state_mut().state = opened;
    window.run();
    assert_eq!(slider(&window), at);
}

/// At an even pace the remaining time only falls, regardless of the work before; where other programs take the CPU for
/// a while it follows, without a jump.
fn time_left() {
    let start = Instant::now();
    let at = |s: f64| start + Duration::from_secs_f64(s);
    let mut random = Random::fresh("time_left");
    let mut pace = StageRate::new("Tracing rays", 700, start);
    assert_eq!(
        pace.left((720, 4_700), at(1.0)),
        None,
        "too little is known"
    );
    // 20 per second, give or take one.
    let mut last = f64::INFINITY;
    for tenth in 20..1_000 {
        let s = f64::from(tenth) * 0.1;
        let done = (700.0 + 20.0 * s + random.uniform(-1.0, 1.0)) as u64;
        let left = pace.left((done, 4_700), at(s)).unwrap();
        let truth = 200.0 - s;
        // Off by a fortieth at first, less and less later.
        assert!(
            (left - truth).abs() < 0.06 * truth + 1.0,
            "{s}: {left} of {truth}"
        );
        assert!(left < last + 0.5, "{s}: {left} after {last}");
        last = left;
    }
    // Half as fast from here on.
    for tenth in 1_000..1_400 {
        let s = f64::from(tenth) * 0.1;
        let done = (2_700.0 + 10.0 * (s - 100.0)) as u64;
        let left = pace.left((done, 4_700), at(s)).unwrap();
        assert!((left - last).abs() < 1.5, "{s}: {left} after {last}");
        last = left;
    }
    assert!(last > 80.0, "{last}");
}

/// Text typed right after the click replaces the value, however few frames there are.
fn typed_at_once() {
    let mut window = window(traced(), [1280.0, 800.0]);
    let field = window.get_by_role_and_label(egui::Role::TextInput, "Rays");
    let at = field.rect().center();
    let events = [true, false].map(|pressed| egui::Event::PointerButton {
        pos: at,
        button: egui::PointerButton::Primary,
        pressed,
        modifiers: egui::Modifiers::NONE,
    });
    window.hover_at(at);
    window.run();
    events.into_iter().for_each(|e| window.event(e));
    window.step();
    // The frame after the click receives all digits at once.
    window.event(egui::Event::Text("120".to_owned()));
    window.event(egui::Event::Text("0".to_owned()));
    window.step();
    window.key_press(egui::Key::Enter);
    window.run();
    assert_eq!(rays(&window).count(), Some(1_200));
}

/// Rows below the colours keep their places.
fn colours() {
    let mut window = window(traced(), [1920.0, 1080.0]);
    let row = |window: &Window| {
        let row = window.get_by_role_and_label(egui::Role::Slider, "Tube radius");
        row.rect().center().y
    };
    let before = row(&window);
    let state = &mut window.state_mut().state;
    let mut display = state.document.track.ray_display.clone();
    display.line_colouring = LineColouring::Direction;
    let phase = Phase::Done;
    arcuate::state::update(
        state,
        Action::Track(TrackAction::SetDisplay { display, phase }),
    );
    window.run();
    window.get_by_label("Colour map: of CM only");
    assert!((row(&window) - before).abs() < 0.5);
}

/// The tour mentions existing things, and requests nothing that exists.
fn guided() {
    use arcuate::state::runtime::TourStep;
    let mut state = traced();
    state.runtime.tour = Some(TourStep::DragSeed);
    let mut window = window(state, [1280.0, 800.0]);
    window.get_by_label_contains("The rays follow");
    let state = &mut window.state_mut().state;
    let seed = state.document.regions.iter().find(|r| r.role == Role::Seed);
    let seed = seed.unwrap().id;
    let shape = Shape::Sphere {
        centre: glam::DVec3::splat(3.0),
        radius_mm: 4.0,
    };
    let moved = Action::Region(RegionAction::SetShape {
        region: seed,
        shape,
        phase: Phase::Done,
    });
    arcuate::state::update(state, moved);
    // There is a target.
    assert_eq!(state.runtime.tour, Some(TourStep::Width));
    window.run();
    click(&mut window, "Show the pathway");
    assert_eq!(window.state().state.view.task, Task::Pathways);
    window.get_by_label_contains("Drag the pathway width ε");
    click(&mut window, "Widen the pathway");
    let state = &window.state().state;
    assert_eq!(state.runtime.tour, Some(TourStep::FitWeights));
    click(&mut window, "Fit weights");
    assert_eq!(window.state().state.view.task, Task::Filter);
    window.get_by_label_contains("No streamlines yet: track the whole brain");
    let state = &mut window.state_mut().state;
    state.runtime.tour_step_done(TourStep::FitWeights);
    arcuate::state::update(state, Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.run();
    window.get_by_label_contains("Save the pathway as a NIfTI mask");
    arcuate::state::update(
        &mut window.state_mut().state,
        Action::View(ViewAction::SelectTask(Task::Track)),
    );
    window.run();
    window.get_by_label_contains("rays and their CM");
}

/// A thread checks whether a file exists.
fn wait_for_save(window: &mut Window) {
    wait_for("a save", || {
        window.run();
        (count_submitted(window) > 0).then_some(())
    });
}

/// The next export goes where the last one went, in its format.
fn remembered() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window(measured(), [1280.0, 800.0]);
    let path = |window: &Window| {
        let field = window.get_by_role_and_label(egui::Role::TextInput, "Path");
        field.accesskit_node().value().unwrap_or_default()
    };
    click(&mut window, "Export…");
    assert!(path(&window).ends_with(".tck"), "{}", path(&window));
    let file = folder.path().join("mine.trx");
    type_over(&mut window, file.to_str().unwrap());
    wait_for_save(&mut window);
    click(&mut window, "Export…");
    let next = path(&window);
    assert_eq!(Path::new(&next).parent(), Some(folder.path()), "{next}");
    assert!(next.ends_with(".trx"), "{next}");
}

/// The export acts on the live result, like the command next to it, whichever layer is selected.
fn live_first() {
    let mut window = window(tracking(), [1280.0, 800.0]);
    let app: &mut App = window.state_mut();
    update(&mut app.state, Action::Track(TrackAction::Keep));
    let layers = &app.state.document.layers;
    let kept = layers
        .iter()
        .rev()
        .find(|l| matches!(l.content, Content::Tractogram(_)));
    let kept = kept.expect("a layer").id;
    update(
        &mut app.state,
        Action::Layer(LayerAction::Select(Some(kept))),
    );
    assert!(app.state.final_live().is_some());
    window.run();
    click(&mut window, "Export…");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.tck");
    type_over(&mut window, file.to_str().unwrap());
    wait_for_save(&mut window);
    let mut actions = window.state().actions.iter();
    let live = |a: &Action| {
        matches!(
            a,
            Action::Files(FilesAction::SaveStreamlines { layer: None, .. })
        )
    };
    assert!(actions.any(live));
}

fn counted_once() {
    let state = traced();
    let live = state.runtime.track.live.value().unwrap();
    let mut rays = live.rays.clone().unwrap();
    let mut cache = arcuate::ui::rays::Cache::default();
    for cut in [
        Cut::All,
        Cut::AtLeast(1.2),
        Cut::Top(17),
        Cut::TopShare(0.3),
    ] {
        let marked = cut
            .kept_marks(&rays.measures)
            .iter()
            .filter(|k| **k)
            .count();
        assert_eq!(cache.kept(&rays, cut), marked, "{cut:?}");
    }
    let cut = Cut::AtLeast(1.2);
    assert_eq!(cache.kept(&rays, cut), 200);
    // The id shows that the rays are unchanged: their measures are not examined again.
    rays.measures = Shared::default();
    assert_eq!(cache.kept(&rays, cut), 200);
    assert_eq!(cache.kept(&rays, Cut::All), 0);
}
