//! Panels and bars depend on the available space: at 200 %, and in a window of 1280 × 800 less a title bar.

use super::{App, Window, click, filter, pathways, segment, small_scan, tracking};
use crate::shapes::texts;
use crate::support::session_window::Window as Full;
use crate::support::{lines, opened_event, opened_file, start_of_old_job, test};
use arcuate::compute::Control;
use arcuate::data::{Role, Shape, Tractogram};
use arcuate::solvers::curves::SeedOutcome;
use arcuate::state::core::display;
use arcuate::state::core::layer::OriginId;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::pathways::PathwayAction;
use arcuate::state::runtime::TourStep;
use arcuate::state::tensors::jobs::fit::FIT;
use arcuate::state::{
    Action, Content, Display, JobHandle, Layer, LayerId, RegionAction, State, Task, Tool,
    ViewAction, update,
};
use arcuate::ui::{self, Memory};
use egui::Rect;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;
use std::time::Duration;

/// 1280 × 800 pixels, and 2560 × 1440, less borders.
const SCALED: [[f32; 2]; 2] = [[640.0, 380.0], [1280.0, 700.0]];
/// Height of the area with the buttons under the results.
const FOOT: f32 = 28.0 + 50.0;
/// A window of 1280 × 800 with a title bar.
const LOW: [f32; 2] = [1278.0, 760.0];

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::space::texts of the status bar do not overlap", status),
        test("ui::space::controls are visible at 200 %", controls),
        test("ui::space::a list leaves the views their width", lists),
        test("ui::space::a name keeps clear of its number", bundles),
        test("ui::space::a kept pathway has one line", pathway),
        test("ui::space::distances of a surface are visible", distances),
        test("ui::space::a dot marks results with warnings", dotted),
        test("ui::space::the icon of a closed list is not marked", rail),
        test(
            "ui::space::controls have a row beside those of streamlines",
            with_streamlines,
        ),
        test(
            "ui::space::Run stays visible while regions are drawn",
            run_in_sight,
        ),
    ]
}

fn window(state: State, size: [f32; 2], pixels_per_point: f32) -> Window {
    let app = App {
        state,
        memory: Memory::without_dialogs(),
        effects: Vec::new(),
        actions: Vec::new(),
        views: Rect::NOTHING,
        disk_answers: true,
    };
    let mut window = Harness::builder()
        .with_size(size)
        .with_pixels_per_point(pixels_per_point)
        .with_step_dt(1.0 / 60.0)
        .with_max_steps(30)
        .with_context_setup(ui::theme::install)
        .build_eframe(|_| app);
    window.run_steps(4);
    window
}

/// A job with a long name: bar, text, button and readings share one line, and the progress is readable.
fn status() {
    for (size, light) in SCALED.into_iter().flat_map(|s| [(s, false), (s, true)]) {
        let mut state = tracking();
        state.view.light_theme = light;
        let control = Control::new();
        control.begin("Reweighting 197 046 voxels of the scan", 200);
        control.advance(50);
        state.runtime.jobs.running = vec![JobHandle {
            slot: FIT,
            ticket: 7,
            label: "Fitting tensors to sub-01_dwi".to_owned(),
            control,
            started: start_of_old_job(Duration::from_secs(1)),
        }];
        let window = window(state, size, 2.0);
        let bar = size[1] - 28.0;
        let all = texts(&window.output().shapes);
        let mut places: Vec<(String, Rect)> =
            all.into_iter().filter(|(_, r)| r.top() > bar).collect();
        let message = places.iter().find(|(text, _)| text.contains("25"));
        let message = message
            .unwrap_or_else(|| panic!("{size:?}: {places:?}"))
            .0
            .clone();
        assert!(message.ends_with('%'), "{message}");
        assert!(places.iter().any(|(text, _)| text.starts_with("x −21.0")));
        let progress = window.query_by_role(egui::accesskit::Role::ProgressIndicator);
        if let Some(progress) = progress {
            places.push(("bar".to_owned(), progress.rect()));
        }
        for (i, (text, rect)) in places.iter().enumerate() {
            for (other, other_rect) in &places[..i] {
                assert!(
                    !rect.shrink(0.5).intersects(*other_rect),
                    "{size:?}: {text:?} {rect:?} lies over {other:?} {other_rect:?}"
                );
            }
        }
    }
}

/// With notes at the top and without them; results are one click away where both do not fit.
fn controls() {
    for (task, mut state) in [
        (Task::View, small_scan()),
        (Task::Track, tracking()),
        (
            Task::Pathways,
            pathways::state_with_kept_pathway("A pathway"),
        ),
        (Task::Segment, small_scan()),
        (Task::Filter, filter::state_with_weights()),
    ] {
        state.view.task = task;
        for (size, guide) in SCALED
            .into_iter()
            .flat_map(|s| [None, Some(TourStep::DragSeed)].map(|g| (s, g)))
        {
            state.runtime.tour = guide;
            let mut window = window(state.clone(), size, 2.0);
            let head = |window: &Window, name: &str| {
                let heads = window.query_by_role_and_label(egui::Role::Heading, name);
                heads.map(|n| n.rect())
            };
            let inputs = head(&window, "Inputs").or(head(&window, "Controls"));
            let inputs = inputs.unwrap_or_else(|| panic!("{task:?}: inputs"));
            let foot = size[1] - FOOT;
            let until = head(&window, "Results").map_or(foot, |r| r.top());
            // Down to a first row below the head.
            let space = until - inputs.bottom();
            assert!(
                space >= 24.0,
                "{task:?} {size:?} {guide:?}: {space} for controls"
            );
            if head(&window, "Results").is_none() {
                click(&mut window, "Part of the panel: Results");
                let results = head(&window, "Results").expect("results");
                assert!(results.bottom() + 24.0 <= foot, "{task:?}: {results:?}");
                assert_eq!(head(&window, "Inputs"), None, "{task:?}");
                click(&mut window, "Part of the panel: Controls");
                assert_eq!(head(&window, "Results"), None, "{task:?}");
            }
        }
    }
}

/// A list opened from the rail takes the place of the task where both leave too little to the views. Another task, and
/// Esc, bring the panel back.
fn lists() {
    const MINIMUM_WIDTH: f32 = 280.0;
    let is_shown = |window: &Window| window.query_by_label("Task at the right").is_some();
    let task_of = |window: &Window| window.state().state.view.task;
    for (size, both) in [
        ([640.0, 380.0], false),
        ([853.0, 500.0], false),
        (LOW, true),
    ] {
        let mut window = window(tracking(), size, 2.0);
        let alone = window.state().views;
        assert!(
            is_shown(&window) && alone.width() >= MINIMUM_WIDTH,
            "{alone:?}"
        );
        for list in ["Layers", "Regions", "At the crosshair"] {
            click(&mut window, list);
            let views = window.state().views;
            let head = window
                .get_by_role_and_label(egui::Role::Heading, list)
                .rect();
            assert!(views.width() >= MINIMUM_WIDTH, "{size:?} {list}: {views:?}");
            assert!(
                views.left() >= head.right(),
                "{size:?} {list}: {views:?} {head:?}"
            );
            assert_eq!(is_shown(&window), both, "{size:?} {list}");
        }
        window.key_press(egui::Key::Escape);
        window.run();
        assert_eq!(window.state().views, alone);
        assert!(is_shown(&window));
        click(&mut window, "Layers");
        let task = task_of(&window);
        for key in [egui::Key::Num1, egui::Key::Num4] {
            window.key_press_modifiers(egui::Modifiers::COMMAND, key);
            window.run();
        }
        assert!(task_of(&window) != task && is_shown(&window), "{size:?}");
        let layers = window.query_by_role_and_label(egui::Role::Heading, "Layers");
        assert_eq!(layers.is_some(), both, "{size:?}");
        click(&mut window, "Regions");
        click(&mut window, "Start the guide");
        let regions = window.query_by_role_and_label(egui::Role::Heading, "Regions");
        assert!(regions.is_none() && is_shown(&window), "{size:?}");
    }
}

/// The rail marks a list only while it is open, also with the pointer still on its icon.
fn rail() {
    let mut window = window(tracking(), SCALED[0], 2.0);
    let icon = window.get_by_label("Layers").rect();
    let is_marked = |window: &Window| {
        window
            .output()
            .shapes
            .iter()
            .any(|shape| match &shape.shape {
                egui::Shape::Rect(bar) => {
                    bar.fill == ui::theme::DARK.accent
                        && bar.rect.right() <= icon.left()
                        && icon.y_range().contains(bar.rect.center().y)
                }
                _ => false,
            })
    };
    for open in [true, false, true] {
        super::click_with(&mut window, icon.center(), egui::Modifiers::NONE);
        let layers = window.query_by_role_and_label(egui::Role::Heading, "Layers");
        assert_eq!(layers.is_some(), open);
        assert_eq!(is_marked(&window), open);
    }
}

/// Where the results are behind the switch, a dot indicates their warnings.
fn dotted() {
    let dot = |window: &Window| {
        let dot = window.query_by_role_and_label(egui::Role::Status, "The results hold a warning");
        dot.map(|n| n.rect())
    };
    let shown = |state: &State| {
        let mut window = window(state.clone(), SCALED[0], 2.0);
        let part = "Part of the panel: Results";
        let place = window.get_by_label(part).rect();
        let now = dot(&window);
        click(&mut window, part);
        // Next to the warning itself there is none.
        assert_eq!(dot(&window), None);
        let notes = window.query_all_by_role(egui::Role::Note).count();
        assert!(now.is_none() || notes > 0, "{now:?}");
        (place, now)
    };
    let mut state = tracking();
    state.view.task = Task::Track;
    shown(&state);
    let live = state.runtime.track.live.value_mut().expect("streamlines");
    let output = Arc::make_mut(&mut live.output);
    output.kept = Tractogram::new(Vec::new(), vec![0]);
    output.seed_outcomes.fill(0);
    output.seed_outcomes[SeedOutcome::MissedTargets as usize] = 450;
    let (place, some) = shown(&state);
    let some = some.expect("a dot");
    assert!(place.contains_rect(some), "{some:?} in {place:?}");
}

/// A state with weights, and a region that some of the streamlines pass.
pub fn through() -> State {
    let mut full = Full::new();
    full.state = filter::state_with_weights();
    full.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    for y in [-12.0, -14.0] {
        let shape = Shape::Sphere {
            centre: DVec3::new(-21.0, y, 20.0),
            radius_mm: 12.0,
        };
        let role = Role::Target;
        full.act(Action::Region(RegionAction::Add { role, shape }));
    }
    full.act(Action::Settle);
    full.state
}

/// `Through Target 2` and the number of streamlines that pass it.
fn bundles() {
    // High enough for all rows: the width matters.
    let window = window(through(), [LOW[0], 1300.0], 1.0);
    let all = texts(&window.output().shapes);
    let name = all
        .iter()
        .find(|(text, _)| text.starts_with("Through") && text.ends_with('2'));
    let (text, name) = name.unwrap_or_else(|| panic!("{all:?}"));
    let row = all.iter().filter(|(other, r)| {
        other != text && (r.center().y - name.center().y).abs() < 4.0 && r.left() > name.left()
    });
    let number = row.map(|(_, r)| r.left()).fold(f32::INFINITY, f32::min);
    assert!(number - name.right() >= 10.0, "{text} {name:?} {number}");
}

/// With its default name; the content below stays visible, with the tour's note and without it.
fn pathway() {
    let mut state = pathways::state_with_kept_pathway("Seed – Target");
    state.document.regions.truncate(2);
    update(&mut state, Action::Pathway(PathwayAction::Select(None)));
    for guide in [None, Some(TourStep::DragSeed)] {
        state.runtime.tour = guide;
        let window = window(state.clone(), LOW, 1.0);
        let row = window.get_by_label_contains("Seed – Target: cost").rect();
        assert!(row.height() <= 28.0, "{row:?}");
        let all = texts(&window.output().shapes);
        assert!(
            all.iter().any(|(text, _)| text == "Seed – Target"),
            "{all:?}"
        );
        let last = window.get_by_label_contains("A path exists between almost any two regions");
        let last = last.rect();
        assert!(last.bottom() <= LOW[1] - FOOT, "{guide:?}: {last:?}");
    }
}

/// A surface next to two layers of streamlines.
pub fn near_beams() -> State {
    let mut window = segment::segmenting();
    segment::field(&mut window, "Target T", "0.5");
    let state = &mut window.state_mut().state;
    for (name, y) in [("Beams", 7.4), ("Others", 4.4)] {
        let at = |x: f64| DVec3::new(x, y, 10.0);
        let content = Content::Tractogram(lines(&[vec![at(-30.0), at(30.0)]]));
        let display = Display {
            visible: true,
            ..display::line_display()
        };
        let id = LayerId(state.document.fresh_id());
        let layer = Layer::new(id, name.to_owned(), content, display, OriginId::default());
        state.document.layers.push(Arc::new(layer));
    }
    segment::place(&mut window);
    segment::answer(&mut window);
    window.state().state.clone()
}

/// Distances to two layers, with the whole plot of the volume below them.
fn distances() {
    let window = window(near_beams(), LOW, 1.0);
    let foot = LOW[1] - FOOT;
    for name in ["Beams", "Others"] {
        let row = window.get_by_label_contains(&format!("To {name}")).rect();
        assert!(row.bottom() <= foot, "{name}: {row:?}");
    }
    let plot = window.get_by_label_contains("plot of").rect();
    assert!(plot.bottom() <= foot, "{plot:?}");
}

/// The rows of a drawing tool push the controls of Segment down, except the row of *Run*.
fn run_in_sight() {
    let tools = [
        Tool::Brush,
        Tool::Rectangle,
        Tool::Polygon,
        Tool::Fill,
        Tool::Threshold,
    ];
    for tool in tools {
        let mut state = small_scan();
        state.view.task = Task::Segment;
        state.view.tool = tool;
        let mut window = window(state, LOW, 1.0);
        // The place of the tool's rows is known after a frame.
        window.run();
        let run = window.get_by_label("Run").rect();
        let views = window.state().views;
        assert!(
            run.top() >= views.top() && run.left() > views.right(),
            "{tool:?} {run:?}"
        );
        let controls = window.get_by_role_and_label(egui::Role::Heading, "Controls");
        assert!(run.bottom() < controls.rect().top(), "{tool:?} {run:?}");
        assert!(run.bottom() < views.top() + 60.0, "{tool:?} {run:?}");
    }
}

/// With streamlines selected, View still shows several rows of controls.
fn with_streamlines() {
    let mut state = small_scan();
    state.view.task = Task::View;
    let line = [-20.0, 0.0, 20.0].map(|x| x * DVec3::X).to_vec();
    let file = opened_file("/data/lines.tck", Loaded::Tractogram(lines(&[line])));
    update(&mut state, Action::Event(opened_event(1, file)));
    let layer = state.document.layer_named("lines").expect("opened").id;
    state.runtime.selected_layer = Some(layer);
    let mut window = window(state, LOW, 1.0);
    window.run();
    let heading = |window: &Harness<'static, App>, name: &str| {
        let found = window.get_by_role_and_label(egui::Role::Heading, name);
        found.rect()
    };
    let rows = heading(&window, "Results").top() - heading(&window, "Controls").bottom();
    assert!(rows > 3.0 * 28.0, "{rows}");
    // Nothing is lost: the inputs open on a click.
    assert!(window.query_by_label_contains("lines.tck").is_none());
    click(&mut window, "Inputs");
    window.get_by_label_contains("lines.tck");
}
