//! The window's texts about a surface: every figure of one step, nothing that moves under the pointer, the surface in
//! the list of layers, slices that do not hide it.

use super::segment::leaked;
use super::{Window, click, click_with, small_scan, submitted, window};
use crate::support::test;
use arcuate::compute::{Backend, BackendChoice};
use arcuate::data::{Grid, Volume};
use arcuate::jobs::{Delivery, Event, Jobs, Outcome};
use arcuate::scene::{Flat, flats};
use arcuate::solvers::level_set::Sphere;
use arcuate::state::core::display;
use arcuate::state::core::layer::OriginId;
use arcuate::state::filter::{WeightMap, WeightMapRecipe};
use arcuate::state::segment::jobs::{RunRequest, RunUpdate, SEGMENT, SurfaceUpdate};
use arcuate::state::sessions::{RecoverableSession, SessionContents};
use arcuate::state::{
    Action, Layer, LayerId, Phase, SegmentAction, State, Task, Tool, ViewAction, update,
};
use arcuate::ui::probe;
use arcuate::ui::widgets::histogram::Histogram;
use arcuate::ui::widgets::slider::SliderRow;
use arcuate::ui::widgets::{anchor, rows};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::surface::figures are of one step", figures),
        test("ui::surface::the plot has the branch that is alive", plot),
        test("ui::surface::the plot is whole below distances", whole_plot),
        test("ui::surface::tools explain that they stay active", tools),
        test("ui::surface::nothing moves under the pointer", anchored),
        test(
            "ui::surface::a note that goes moves nothing below",
            note_gone,
        ),
        test(
            "ui::surface::the note of a leak folds, and leaves the inputs in sight",
            folded_leak,
        ),
        test("ui::surface::bars of whole values", bars),
        test("ui::surface::a unit leaves the slider its room", units),
        test("ui::surface::it is in the list of layers", listed),
        test("ui::surface::slices in 3-D end and open", opened),
        test("ui::surface::how a fit is off is not segmented", errors),
    ]
}

/// The text that a screen reader reads for a node.
fn accessible_text(node: egui_kittest::kittest::AccessKitNode) -> String {
    node.label().or(node.value()).expect("a text")
}

fn act(window: &mut Window, action: Action) {
    let app = window.state_mut();
    let effects = update(&mut app.state, action);
    app.effects.extend(effects);
    window.run();
}

/// The latest request about the surface.
fn last_run_request(window: &Window) -> RunRequest {
    let jobs = submitted::<RunRequest>(window);
    (*jobs.last().expect("requested")).clone()
}

/// Carries it out.
fn carry_out(window: &mut Window) {
    let request = last_run_request(window);
    let backend = Backend::choose(&BackendChoice::cpu(Some(2))).expect("two threads");
    let mut jobs = Jobs::new(backend, Arc::new(|| {}));
    let job = jobs.submit(request);
    let event = jobs.wait(&job, |_| {});
    act(window, Action::Event(event));
}

/// A window with a surface at its start.
fn started() -> Window {
    opened_with(small_scan(), [1920.0, 1080.0])
}

fn opened_with(state: State, size: [f32; 2]) -> Window {
    let mut window = window(state, size);
    click(&mut window, "Segment");
    let mut settings = window.state().state.document.segment.settings.clone();
    settings.target_chosen = true;
    let phase = Phase::Done;
    act(
        &mut window,
        Action::Segment(SegmentAction::Set { settings, phase }),
    );
    let sphere = Sphere {
        add: true,
        centre: dvec3(0.0, -10.0, 10.0),
        radius_mm: 30.0,
    };
    act(&mut window, Action::Segment(SegmentAction::Sphere(sphere)));
    carry_out(&mut window);
    window
}

fn live(window: &Window) -> SurfaceUpdate {
    let live = window.state().state.runtime.segment.live.as_ref();
    (**live.expect("a surface")).clone()
}

/// The surface's state during a run.
fn partly(window: &mut Window, surface: SurfaceUpdate) {
    let update = RunUpdate {
        run: surface.run,
        missing: 0,
        speed: None,
        refused: Vec::new(),
        surface: Some(surface),
    };
    let delivery = Delivery {
        slot: SEGMENT,
        ticket: 0,
        wall_ms: 1.0,
        outcome: Outcome::Partial(Box::new(update)),
    };
    let event = Event::new(last_run_request(window), delivery);
    act(window, Action::Event(event));
}

/// A surface that has moved since it was measured: volume, area and diameter belong to the measured step, which the
/// panel states; the drawn surface has its own step.
fn figures() {
    let mut window = started();
    let first = live(&window);
    assert_eq!(
        (first.step, first.figures.as_ref().expect("measured").step),
        (0, 0)
    );
    window.get_by_label("step 0");
    assert!(
        window
            .query_by_label_contains("the surface is at")
            .is_none()
    );
    let measured = |window: &Window| {
        let three = window.get_by_label_contains("Longest diameter");
        accessible_text(three.accesskit_node())
    };
    let before = measured(&window);
    let phi = |window: &Window| {
        let readings = probe::readings(&window.state().state);
        readings.iter().any(|r| r.name == probe::PHI)
    };
    let on_surface = dvec3(0.0, -10.0, 40.0);
    act(
        &mut window,
        Action::View(ViewAction::MoveCrosshair(on_surface)),
    );
    assert!(phi(&window), "the distance of this step");
    // The surface is twice as large, and not yet measured.
    let moving = SurfaceUpdate {
        step: 130,
        inside: 2 * first.inside,
        phi: None,
        mask: None,
        ..first.clone()
    };
    partly(&mut window, moving.clone());
    let now = measured(&window);
    assert_eq!(now, format!("{before}, of step 0, the surface is at 130"));
    window.get_by_label("of step 0");
    let voxels = window.get_by_label_contains("Volume of whole voxels");
    let voxels = accessible_text(voxels.accesskit_node());
    assert!(voxels.ends_with("at step 130"), "{voxels}");
    assert!(!phi(&window), "no distance of another step");
    // Measured on the way; then at the drawn step.
    for (step, measured_step) in [(140, 100), (150, 150)] {
        let mut next = moving.clone();
        next.step = step;
        next.measured.step = measured_step;
        next.figures.as_mut().expect("measured").step = measured_step;
        partly(&mut window, next);
        let caption = measured(&window);
        let older = caption.contains(&format!(
            "of step {measured_step}, the surface is at {step}"
        ));
        assert_eq!(older, measured_step != step, "{caption}");
        assert_eq!(phi(&window), measured_step == step);
    }
    window.get_by_label("step 150");
}

/// A long abandoned branch does not squeeze the one that continues.
fn plot() {
    let mut window = started();
    let first = live(&window);
    let grown = |until: u64| -> Vec<(u64, u64)> {
        (0..=until)
            .step_by(10)
            .map(|step| (step, first.inside + 100 * step))
            .collect()
    };
    partly(
        &mut window,
        SurfaceUpdate {
            step: 900,
            growth: grown(900),
            ..first.clone()
        },
    );
    act(&mut window, Action::Segment(SegmentAction::Rewind(40)));
    assert_eq!(
        window
            .state()
            .state
            .runtime
            .segment
            .plotted
            .earlier_runs
            .len(),
        1
    );
    partly(
        &mut window,
        SurfaceUpdate {
            step: 60,
            growth: grown(60),
            ..first
        },
    );
    window.get_by_label_contains("Volume after 60 steps");
    window.get_by_label_contains("of 60 steps");
}

/// The plot is whole in a window of 1280 × 800 with three distances above it.
fn whole_plot() {
    let mut state = small_scan();
    for name in ["CST L", "CST R", "Cingulum"] {
        let id = LayerId(state.document.fresh_id());
        let beam = [vec![DVec3::X * -30.0, DVec3::X * 30.0]];
        let display = arcuate::state::Display {
            visible: true,
            ..display::line_display()
        };
        let content = arcuate::state::Content::Tractogram(crate::support::lines(&beam));
        let origin = OriginId::default();
        let layer = Layer::new(id, name.to_owned(), content, display, origin);
        state.document.layers.push(Arc::new(layer));
    }
    let mut window = opened_with(state, [1280.0, 800.0]);
    window.run();
    let plot = window.get_by_label_contains("Volume after ").rect();
    let rows = ["CST L", "CST R", "Cingulum"].map(|name| {
        let name = format!("To {name}");
        window.get_by_label_contains(&name).rect().bottom()
    });
    let keep = window.get_by_label("Keep as mask").rect();
    assert!(
        rows.iter().all(|bottom| *bottom <= plot.top()),
        "{rows:?} {plot:?}"
    );
    // The plot is lower, so that *Reference* below it is visible, and still readable.
    assert!(
        plot.bottom() <= keep.top() && plot.height() > 40.0,
        "{plot:?} {keep:?}"
    );
}

fn tools() {
    let mut window = started();
    click(&mut window, "Tool: Add sphere  A");
    window.get_by_label("Each click adds a sphere, until A or Esc");
    // A second click deselects it, as the key does.
    click(&mut window, "Tool: Add sphere  A");
    assert_eq!(window.state().state.view.tool, Tool::Crosshair);
    window.key_press(egui::Key::D);
    window.run();
    window.get_by_label("Each click adds a keep-out sphere, until D or Esc");
    let speeds = |window: &Window| window.get_by_label("More forces").rect();
    let before = speeds(&window);
    window.key_press(egui::Key::Escape);
    window.run();
    assert_eq!(speeds(&window), before, "rows below keep their place");
}

/// Rows that come and go above it do not move the control under the pointer.
fn anchored() {
    let mut window = Harness::builder().with_size([300.0, 200.0]).build_ui_state(
        |ui, notes: &mut u32| {
            anchor::scroll(ui, "panel", |ui| {
                for i in 0..*notes {
                    rows::hint(ui, &format!("note {i}"));
                }
                for i in 0..6 {
                    rows::list_row(ui, &format!("button {i}"), i, false);
                }
            });
        },
        0,
    );
    window.run();
    let place = |window: &Harness<u32>| window.get_by_label("button 2").rect();
    let before = place(&window);
    window.hover_at(before.center());
    window.run();
    for notes in [3, 1, 9, 0, 2] {
        *window.state_mut() = notes;
        // Nothing has moved in the very frame in which they appear.
        window.step();
        assert_eq!(place(&window), before, "{notes} notes");
        window.run();
        assert_eq!(place(&window), before, "{notes} notes");
    }
    // New rows are shown once the pointer has left.
    window.hover_at(egui::pos2(600.0, 600.0));
    window.run();
    let note = window.get_by_label("note 0").rect();
    assert!(
        note.top() >= 0.0 && note.bottom() < before.top(),
        "{note:?}"
    );
}

/// The controls do not move when the note of a leak disappears under the pointer and another note stays.
fn note_gone() {
    for size in [[1280.0, 770.0], [1920.0, 1080.0]] {
        let mut state = leaked().state;
        state
            .runtime
            .sessions
            .recovery
            .sessions
            .push(RecoverableSession {
                session: "/home/me/recovery/1/session.arcuate".into(),
                written_s: 0,
                name: "sub-01".to_owned(),
                contents: SessionContents {
                    regions: 2,
                    layers: 1,
                    ..SessionContents::default()
                },
                origin: None,
            });
        let mut window = window(state, size);
        let back = window.get_by_label("Undo the leak").rect().center();
        window.hover_at(back);
        window.run();
        let run = |window: &Window| window.get_by_label("Run").rect();
        let before = run(&window);
        click_with(&mut window, back, egui::Modifiers::NONE);
        for _ in 0..4 {
            window.run();
            assert_eq!(run(&window), before);
        }
        assert!(window.query_by_label_contains("Possible leak").is_none());
        carry_out(&mut window);
        assert_eq!(run(&window), before);
    }
}

/// The note covers the inputs until the user folds it to a row above them; another leak unfolds it.
fn folded_leak() {
    let mut window = window(leaked().state, [1280.0, 770.0]);
    let away = |window: &mut Window| {
        window.hover_at(egui::pos2(400.0, 300.0));
        window.run();
        window.run();
    };
    let inputs = |window: &Window| window.get_by_label("Inputs").rect();
    let note = |window: &Window| window.get_by_label_contains("Possible leak").rect();
    away(&mut window);
    assert!(note(&window).bottom() > inputs(&window).top(), "covered");
    click(&mut window, "Fold the note");
    away(&mut window);
    let row = note(&window);
    assert!(row.height() < 40.0, "{row:?}");
    assert!(row.bottom() <= inputs(&window).top(), "{row:?}");
    // It still leads back.
    let back = window.get_by_label("Undo the leak").rect();
    assert!(row.contains_rect(back), "{row:?} {back:?}");
    window.get_by_label("Run");
    click(&mut window, "Unfold the note");
    away(&mut window);
    assert!(note(&window).height() > row.height());
    click(&mut window, "Fold the note");
    let task = &mut window.state_mut().state.runtime.segment;
    let mut live = (**task.live.as_ref().expect("a surface")).clone();
    let other = live.leak.as_mut().expect("a leak");
    other.leak.noticed += 1;
    task.live = Some(Arc::new(live));
    away(&mut window);
    window.get_by_label("Fold the note");
}

fn bars() {
    // Every whole value once: no bar is higher than the others.
    let all: Vec<f32> = (0..=255).map(|v| v as f32).collect();
    let found = Histogram::new(&all, (0.0, 255.0));
    assert!(found.counts.iter().all(|n| *n == 4), "{:?}", found.counts);
    assert_eq!(found.range, (-0.5, 255.5));
    // A few values have bars of their own, all of the same width.
    let few: Vec<f32> = (0..10).flat_map(|v| vec![v as f32; 3]).collect();
    let found = Histogram::new(&few, (0.0, 9.0));
    let own = found.counts.iter().filter(|n| **n == 3).count();
    let empty = found.counts.iter().filter(|n| **n == 0).count();
    assert_eq!((own, empty), (60, 4), "{:?}", found.counts);
    // Air has far more voxels than tissue, whose bar is as high as possible; rare values are still visible.
    let mut head = vec![3.0; 90_000];
    head.extend(vec![110.0; 4000]);
    head.extend(vec![200.0; 20]);
    head.push(255.0);
    let found = Histogram::new(&head, (0.0, 255.0));
    let bin = |value: f32| ((value + 0.5) / 4.0) as usize;
    assert_eq!(found.height(bin(110.0)), 1.0);
    assert_eq!(found.height(bin(3.0)), 1.0);
    let rare = found.height(bin(200.0));
    assert!((0.001..0.01).contains(&rare), "{rare}");
    head.extend(vec![60.0; 400]);
    let found = Histogram::new(&head, (0.0, 255.0));
    assert!(
        (found.height(bin(60.0)) - 0.5).abs() < 1e-3,
        "a tenth is half as high"
    );
    assert_eq!(found.height(bin(150.0)), 0.0);
    // Real numbers stay between the given ends.
    let found = Histogram::new(&[0.25, 0.5, 0.75], (0.0, 1.0));
    assert_eq!(found.range, (0.0, 1.0));
}

fn units() {
    let mut window = Harness::builder().with_size([330.0, 60.0]).build_ui(|ui| {
        let row = SliderRow::new("Range", 1234.0, 0.0..=4000.0);
        row.decimals(3).unit("micrometres of tissue").show(ui);
    });
    window.run();
    let rail = window
        .get_by_role_and_label(egui::Role::Slider, "Range")
        .rect();
    assert!(rail.width() > 60.0, "{rail:?}");
}

fn listed() {
    let mut window = started();
    window.get_by_label_contains("Surface, live, ");
    act(&mut window, Action::Segment(SegmentAction::Keep));
    assert!(window.query_by_label_contains("Surface, live").is_none());
    let state = &window.state().state;
    let kept = state.document.layers.last().expect("kept");
    let arcuate::state::Content::Mask(mask) = &kept.content else {
        panic!("a mask");
    };
    // The volume of the voxels, as in the exported file; the volume inside the surface differs.
    let ml = mask.volume_ml();
    assert!(ml > 10.0, "{ml}");
    window.get_by_label(&format!("Layer Segment 1, {ml:.2}\u{202f}ml"));
}

/// An image of 60 mm with structure only in the middle 20.
fn middle() -> State {
    let grid = Grid::axis_aligned([60; 3], DVec3::ONE, DVec3::splat(-29.5)).expect("a grid");
    let grid = Arc::new(grid);
    let value = |i: usize| {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        let inside = at.abs().max_element() < 10.0;
        if inside {
            100.0 + (i % 7) as f32
        } else {
            (i % 3) as f32
        }
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    let mut state = small_scan();
    let mut layer = (*state.document.layers[0]).clone();
    layer.id = LayerId(900);
    layer.name = "t1".into();
    layer.content = arcuate::state::Content::Image(Volume::scalar(grid, values));
    layer.display.frame = 0;
    state.document.layers = vec![Arc::new(layer)];
    state.document.tensors = None;
    state.view.crosshair = DVec3::ZERO;
    state
}

fn opened() {
    let mut state = middle();
    let camera = state.view.camera;
    let size = |flats: &[Flat]| {
        let sizes = flats.iter().map(|f| (f.high - f.low).max_element());
        sizes.fold(0.0, f64::max)
    };
    assert_eq!(flats(&state, &camera).len(), 3);
    assert!(size(&flats(&state, &camera)) > 59.0, "all of it elsewhere");
    state.view.task = Task::Segment;
    let cropped = flats(&state, &camera);
    assert_eq!(cropped.len(), 3);
    assert!((18.0..30.0).contains(&size(&cropped)), "{cropped:?}");
    // With a surface nothing lies between it and the viewer.
    let window = started();
    let state = &window.state().state;
    let camera = state.view.camera;
    let cut = flats(state, &camera);
    assert_eq!(cut.len(), 6);
    let near = (camera.eye() - state.view.crosshair).signum();
    for flat in &cut {
        let middle = (flat.low + flat.high) * 0.5 - state.view.crosshair;
        let [u, v] = [1, 2].map(|k| (flat.normal + k) % 3);
        assert!(
            middle[u] * near[u] < 0.0 || middle[v] * near[v] < 0.0,
            "{flat:?}"
        );
    }
    // Together they are three quarters of the slices.
    let area = |flats: &[Flat]| -> f64 {
        let one = |f: &Flat| {
            let size = f.high - f.low;
            size[(f.normal + 1) % 3] * size[(f.normal + 2) % 3]
        };
        flats.iter().map(one).sum()
    };
    assert!(area(&cut) > 0.0);
}

fn errors() {
    let mut state = middle();
    state.view.task = Task::Segment;
    let image = |state: &State| state.document.segmented_image().map(|(l, _)| l.id);
    let first = image(&state);
    assert!(first.is_some());
    let error = Layer {
        id: LayerId(901),
        name: "fit_RMSE".into(),
        ..(*state.document.layers[0]).clone()
    };
    state.document.layers.push(Arc::new(error));
    assert_eq!(
        image(&state),
        first,
        "the topmost one is not an image of a head"
    );
    // Nor is any other map of a weight fit, visible or not, however many lie above.
    let maps = [WeightMap::Intra, WeightMap::Extra, WeightMap::Free];
    for (id, map) in (902..).zip(maps) {
        let (layer_id, fit) = (LayerId(1), OriginId::default());
        let name = format!("{} · Streamlines", map.name());
        let layer = Layer {
            id: LayerId(id),
            name,
            origin: state.document.origins.add(WeightMapRecipe {
                layer: layer_id,
                map,
                fit,
            }),
            ..(*state.document.layers[0]).clone()
        };
        state.document.layers.push(Arc::new(layer));
        for visible in [true, false] {
            let head = first.expect("an image");
            state
                .document
                .edit_layer(LayerId(id), |l| l.display.visible = visible);
            state
                .document
                .edit_layer(head, |l| l.display.visible = !visible);
            assert_eq!(image(&state), first, "visible: {visible}");
        }
    }
    state.document.segment.image = Some(LayerId(901));
    assert_eq!(image(&state), Some(LayerId(901)), "unless it was chosen");
}
