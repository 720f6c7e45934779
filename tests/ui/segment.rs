//! The task Segment as a user drives it.

use super::{Window, click, small_scan, submitted, type_over, window};
use crate::support::{lines, test};
use arcuate::compute::{Backend, BackendChoice};
use arcuate::jobs::{Jobs, Play, Request, Steer};
use arcuate::solvers::level_set::{Params, Sphere};
use arcuate::state::{
    Action, Content, Display, Layer, LayerId, Met, Recipe, SegmentAction, Task, Tool, defaults,
    update,
};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::a surface is asked for, run and paused", run),
        test("ui::target and range are dragged and typed", target),
        test("ui::further speeds steer the surface", speeds),
        test("ui::a distance leads to the nearest point", near),
    ]
}

fn segmenting() -> Window {
    let mut window = window(small_scan(), [1920.0, 1080.0]);
    window.get_by_label("Segment").click();
    window.run();
    assert_eq!(window.state().state.view.task, Task::Segment);
    window
}

fn steered(window: &Window) -> Option<Steer> {
    let last = submitted(window).into_iter().rev().find_map(|r| match r {
        Request::Steer(wanted) => Some(wanted),
        _ => None,
    });
    last.map(|wanted| (**wanted).clone())
}

fn act(window: &mut Window, action: SegmentAction) {
    let app = window.state_mut();
    let effects = update(&mut app.state, Action::Segment(action));
    app.effects.extend(effects);
    window.run();
}

fn field(window: &mut Window, name: &str, text: &str) {
    let field = window.get_by_role_and_label(egui::Role::TextInput, name);
    field.click();
    window.run();
    type_over(window, text);
}

fn place(window: &mut Window) {
    let sphere = Sphere {
        add: true,
        centre: DVec3::new(0.0, -10.0, 10.0),
        radius_mm: 12.0,
    };
    act(window, SegmentAction::Sphere(sphere));
}

fn run() {
    let mut window = segmenting();
    window.get_by_label_contains("Hold P and drag over what you look for");
    field(&mut window, "Target T", "0.5");
    assert!(window.state().state.document.segment.settings.told);
    window.get_by_label_contains("Press A, then click in what you look for");
    window.key_press(egui::Key::A);
    window.run();
    assert_eq!(window.state().state.view.tool, Tool::Sphere { add: true });
    click(&mut window, "Tool: Remove  D");
    assert_eq!(window.state().state.view.tool, Tool::Sphere { add: false });
    assert!(steered(&window).is_none(), "nothing to begin with");
    place(&mut window);
    let asked = steered(&window).expect("asked for");
    assert_eq!((asked.play, asked.spheres.len()), (Play::Rest, 1));
    window.key_press(egui::Key::Space);
    window.run();
    assert_eq!(steered(&window).expect("asked for").play, Play::Run);
    click(&mut window, "Clear: no spheres, no surface");
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
    click(&mut window, "Further speeds");
    field(&mut window, "Region means", "0.8");
    field(&mut window, "Edge stopping", "0.5");
    let asked = steered(&window).expect("asked for");
    assert_eq!(asked.params.region, 0.8);
    assert_eq!(asked.params.edge.map(|e| e.weight), Some(0.5));
    window.get_by_role_and_label(egui::Role::TextInput, "Edge contrast");
    click(&mut window, "Display, steps");
    assert!(!asked.speed);
    field(&mut window, "Speed overlay", "40");
    assert!(steered(&window).expect("asked for").speed);
    click(&mut window, "Pause at leaks");
    assert!(!steered(&window).expect("asked for").watched);
    click(&mut window, "Reset to defaults");
    let settings = &window.state().state.document.segment.settings;
    assert_eq!((settings.params.region, settings.params.target), (0.0, 0.5));
}

/// The newest request for a surface, worked off.
fn answer(window: &mut Window) {
    let wanted = steered(window).expect("asked for");
    let backend = Backend::choose(&BackendChoice::cpu(Some(2))).expect("two threads");
    let mut jobs = Jobs::new(backend, Arc::new(|| {}));
    let job = jobs.submit(Request::Steer(Box::new(wanted)));
    let event = jobs.wait(&job, |_| {});
    update(&mut window.state_mut().state, Action::Event(event));
    window.run();
}

fn near() {
    let mut window = segmenting();
    field(&mut window, "Target T", "0.5");
    let state = &mut window.state_mut().state;
    let at = |x: f64, y: f64| DVec3::new(x, y, 10.0);
    let beams = [5.0, 2.0].map(|y| vec![at(-30.0, y + 2.4), at(30.0, y + 2.4)]);
    let id = LayerId(state.document.fresh_id());
    let display = Display {
        visible: true,
        ..defaults::line_display()
    };
    let content = Content::Tractogram(lines(&beams));
    let recipe = Recipe::NoCommand {
        region: String::new(),
    };
    let layer = Layer::new(id, "Beams".to_owned(), content, display, recipe);
    state.document.layers.push(Arc::new(layer));
    place(&mut window);
    answer(&mut window);
    let live = window.state().state.session.segment.live.clone();
    let figures = live.and_then(|l| l.figures.clone()).expect("figures");
    let Met::Away { mm, at } = figures.near[0].met else {
        panic!("{:?}", figures.near);
    };
    // 2.4 mm above the sphere, where rounding up would be too far.
    assert!((mm - 2.4).abs() < 0.3, "{mm}");
    let down = (mm * 10.0).floor() / 10.0;
    assert!(down <= mm && mm - down < 0.1);
    let row = format!("To Beams {down:.1}\u{202F}mm");
    click(&mut window, &row);
    assert_eq!(window.state().state.view.crosshair, at);
    // Hidden, it is named.
    let state = &mut window.state_mut().state;
    state.document.edit_layer(id, |l| l.display.visible = false);
    window.run();
    window.get_by_label("Not counted: Beams (hidden)");
}
