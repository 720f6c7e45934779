//! The blocks of volumes and of tensor glyphs in the task View.

use super::{App, Window, click, double_click, sample, small_scan, submitted, type_over, window};
use crate::support::{done_event, test};
use arcuate::data::appearance::{ShapeKind, TransferShape};
use arcuate::data::joint_histogram::{DerivedValue, JointSamples};
use arcuate::scene::draw_list::{GlyphShape, Glyphs};
use arcuate::scene::{self, Size};
use arcuate::state::core::glyph_look::GlyphPlace;
use arcuate::state::core::volume_look::SecondValue;
use arcuate::state::core::volume_look::VolumeCut;
use arcuate::state::core::volume_look::VolumeLook;
use arcuate::state::core::volume_look::VolumeStyle;
use arcuate::state::scene_look::jobs::MeasureJoint;
use arcuate::state::{Action, LayerAction, State, Tool, update};
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::a curve of opacity is edited", curve),
        test("ui::a cloud has shapes of two values", shapes),
        test(
            "ui::why derived values cannot be chosen is said",
            unmeasured,
        ),
        test("ui::a saved view asks for its name", saved_view),
        test("ui::a volume becomes a surface and is cut", surface),
        test("ui::a volume is projected", projected),
        test("ui::the styles of a volume have whole names", whole_names),
        test("ui::tensor glyphs are switched on", glyphs),
        test("ui::more glyphs than can be drawn are thinned", thinned),
    ]
}

fn of_fa() -> Window {
    of_fa_in([1920.0, 1080.0])
}

fn of_fa_in(size: [f32; 2]) -> Window {
    let mut window = window(small_scan(), size);
    click(&mut window, "Layer FA");
    click(&mut window, "Show FA");
    window
}

/// In a narrow panel, the names of four styles do not fit into equal segments.
fn whole_names() {
    let mut state = small_scan();
    let fa = state.document.layer_named("FA").expect("a layer").id;
    update(&mut state, Action::Layer(LayerAction::ShowOnly(fa)));
    let mut window = window(state, [1280.0, 1600.0]);
    if window.query_by_label("Shown as: Surface").is_none() {
        click(&mut window, "In 3-D");
    }
    let texts = crate::shapes::texts(&window.output().shapes);
    for name in ["Off", "Cloud", "Surface", "MIP"] {
        assert!(texts.iter().any(|(text, _)| text == name), "{name}");
    }
    let rect = |name: &str| window.get_by_label(name).rect();
    let [cloud, surface] = ["Shown as: Cloud", "Shown as: Surface"].map(rect);
    assert!(cloud.right() <= surface.left() && cloud.width() < surface.width());
}

fn volume_look(window: &Window) -> VolumeLook {
    let fa = window.state().state.document.layer_named("FA");
    let fa = fa.expect("a layer").display.volume.clone();
    fa.expect("a volume")
}

fn point(i: usize, total: usize) -> String {
    format!("Opacity by value, point {i} of {total}")
}

/// Points are dragged, added, moved and removed by keys, and typed; each is one step of undo.
fn curve() {
    let mut window = of_fa();
    click(&mut window, "Shown as: Cloud");
    assert_eq!(volume_look(&window).style, VolumeStyle::Cloud);
    let before = volume_look(&window).transfer;
    assert_eq!(before.points().len(), 4);

    let from = window.get_by_label(&point(3, 4)).rect().center();
    let to = from + egui::vec2(-12.0, -20.0);
    window.drag_at(from);
    window.run();
    for share in [0.5, 1.0] {
        window.hover_at(from + (to - from) * share);
        window.run();
    }
    window.drop_at(to);
    window.run();
    let dragged = volume_look(&window).transfer;
    assert!(dragged.points()[2].0 < before.points()[2].0, "{dragged:?}");
    assert!(dragged.points()[2].1 > before.points()[2].1, "{dragged:?}");
    assert_eq!(dragged.points()[1], before.points()[1]);

    window.key_press(egui::Key::ArrowUp);
    window.run();
    let raised = volume_look(&window).transfer.points()[2].1;
    assert!(
        (raised - dragged.points()[2].1 - 0.02).abs() < 1e-5,
        "{raised}"
    );
    window.key_press(egui::Key::Delete);
    window.run();
    assert_eq!(volume_look(&window).transfer.points().len(), 3);
    click(&mut window, "Undo");
    assert_eq!(volume_look(&window).transfer.points().len(), 4);

    let area = window.get_by_label_contains("Opacity by value: ").rect();
    double_click(&mut window, area.center() - egui::vec2(20.0, 25.0));
    assert_eq!(volume_look(&window).transfer.points().len(), 5);
    click(&mut window, "Opacity of the point");
    type_over(&mut window, "35");
    let typed = volume_look(&window).transfer;
    assert!(
        typed.points().iter().any(|p| (p.1 - 0.35).abs() < 1e-6),
        "{typed:?}"
    );
}

/// Carries out the last request for the values in the plot.
fn measure(window: &mut Window) {
    let job = submitted::<MeasureJoint>(window).last().copied();
    let job = job.expect("a request").clone();
    let other = job.other.as_ref();
    let samples = JointSamples::measure(&job.volume, job.key.frame, other, || false);
    let samples = samples.expect("values");
    let event = Action::Event(done_event(job, 1, Arc::new(samples)));
    let App { state, effects, .. } = window.state_mut();
    effects.extend(update(state, event));
    window.run();
}

/// While the values are being measured, or if that failed, derived values are disabled with the reason.
fn unmeasured() {
    const WHY: &str = "No memory";
    let mut window = of_fa_in([1920.0, 2000.0]);
    click(&mut window, "Shown as: Cloud");
    click(&mut window, "Two values");
    let is_shown = |window: &Window, reason: &str| {
        let texts = crate::shapes::texts(&window.output().shapes);
        texts.iter().any(|(text, _)| text == reason)
    };
    click(&mut window, "Second value");
    assert!(is_shown(&window, "Being measured"));
    window.key_press(egui::Key::Escape);
    window.run();
    let App { state, .. } = window.state_mut();
    state.runtime.figures.joint.live.fail_because(WHY);
    click(&mut window, "Second value");
    assert!(is_shown(&window, WHY) && !is_shown(&window, "Being measured"));
}

/// The second value, the form of a shape and its place are chosen, and each is one step of undo.
fn shapes() {
    // High enough for the last fold of the panel, which otherwise scrolls.
    let mut window = of_fa_in([1920.0, 2000.0]);
    click(&mut window, "Shown as: Cloud");
    assert_eq!(volume_look(&window).two_values, None);
    assert_eq!(submitted::<MeasureJoint>(&window).len(), 0);
    click(&mut window, "Two values");
    // Gradients can be chosen once they are measured.
    assert_eq!(submitted::<MeasureJoint>(&window).len(), 1);
    measure(&mut window);
    click(&mut window, "Second value");
    click(&mut window, "Gradient");
    let two = |window: &Window| volume_look(window).two_values.expect("two values");
    assert_eq!(two(&window).second, SecondValue::Gradient);
    assert_eq!(two(&window).shapes.len(), 1);
    // The curve that the shapes replace is gone, and the limits of the shape are typed as values.
    assert!(window.query_by_label("Curve").is_none());
    assert!(window.query_by_label_contains("Opacity by value").is_none());
    let fa = window.state().state.document.layer_named("FA");
    let (first, last) = fa.expect("a layer").display.window;
    click(&mut window, "Shape, value");
    type_over(&mut window, "0.2–0.3");
    let typed = two(&window).shapes[0];
    for (share, value) in [(typed.low[0], 0.2), (typed.high[0], 0.3)] {
        let found = first + share * (last - first);
        assert!((found - value).abs() < 1e-5, "{found} {value}");
    }
    click(&mut window, "Undo");
    limit_by_third(&mut window);
    click(&mut window, "Shape: Ellipse");
    let before = two(&window).shapes[0];
    assert_eq!(before.kind, ShapeKind::Ellipse);

    let from = window.get_by_label("Shape 1 of 1").rect().center();
    let to = from + egui::vec2(-20.0, 10.0);
    window.drag_at(from);
    window.run();
    for share in [0.5, 1.0] {
        window.hover_at(from + (to - from) * share);
        window.run();
    }
    window.drop_at(to);
    window.run();
    let moved = two(&window).shapes[0];
    assert!(moved.low[0] < before.low[0], "{moved:?}");
    assert!(moved.high[1] < before.high[1], "{moved:?}");
    let width = |s: &TransferShape| s.high[0] - s.low[0];
    assert!((width(&moved) - width(&before)).abs() < 1e-5, "{moved:?}");
    click(&mut window, "Undo");
    assert_eq!(two(&window).shapes[0], before);

    click(&mut window, "Add shape");
    assert_eq!(two(&window).shapes.len(), 2);
    click(&mut window, "Remove shape");
    assert_eq!(two(&window).shapes.len(), 1);
    click(&mut window, "Second value");
    click(&mut window, "Off");
    assert_eq!(volume_look(&window).two_values, None);
    assert!(window.query_by_label("Curve").is_some());
}

/// A third value is chosen, and the range of the shape typed; each is one step of undo.
fn limit_by_third(window: &mut Window) {
    let two = |window: &Window| volume_look(window).two_values.expect("two values");
    let jobs = submitted::<MeasureJoint>(window).len();
    click(window, "Third value");
    click(window, "Curvature");
    let third = two(window).third.expect("a third value");
    assert_eq!(third.value, DerivedValue::Curvature);
    assert_eq!(two(window).third_limits(0), None);
    click(window, "Shape, curvature");
    type_over(window, "0.05–0.15");
    let (_, (low, high)) = two(window).third_limits(0).expect("limits");
    assert!(
        (low - 0.05).abs() < 1e-4 && (high - 0.15).abs() < 1e-4,
        "{low} {high}"
    );
    click(window, "Undo");
    assert_eq!(two(window).third_limits(0), None);
    click(window, "Undo");
    assert_eq!(two(window).third, None);
    // All choices use the values of one job.
    assert_eq!(submitted::<MeasureJoint>(window).len(), jobs);
}

/// Text typed after saving a view names it and triggers no shortcuts.
fn saved_view() {
    let mut window = window(small_scan(), [1920.0, 1800.0]);
    click(&mut window, "Named views");
    for (typed, name) in [("set T", "set T"), ("", "View 1")] {
        click(&mut window, "Save this view");
        if !typed.is_empty() {
            window.event(egui::Event::Text(typed.to_owned()));
        }
        window.run();
        window.key_press(egui::Key::Enter);
        window.run();
        let state = &window.state().state;
        assert_eq!(state.view.named.last().expect("a view").name, name);
        assert_eq!(state.view.tool, Tool::Crosshair);
    }
}

fn surface() {
    let mut window = of_fa();
    click(&mut window, "Shown as: Surface");
    assert_eq!(volume_look(&window).style, VolumeStyle::Surface);
    click(&mut window, "Inside is: Below");
    assert!(volume_look(&window).below);
    click(&mut window, "Cut away");
    click(&mut window, "The corner facing you");
    assert_eq!(volume_look(&window).cut, VolumeCut::Corner);
    click(&mut window, "Cut face: Hollow");
    assert!(!volume_look(&window).face);
    // The distance from the cut up to which anything is visible.
    assert_eq!(volume_look(&window).fade_mm, None);
    click(&mut window, "Fade beyond the cut");
    assert_eq!(volume_look(&window).fade_mm, Some(30.0));
    click(&mut window, "Shown as: Off");
    // The setting is kept for when it is shown again.
    assert_eq!(
        (volume_look(&window).style, volume_look(&window).cut),
        (VolumeStyle::Hidden, VolumeCut::Corner)
    );
}

/// The largest or smallest values; each choice is one step of undo.
fn projected() {
    let mut window = of_fa();
    click(&mut window, "Shown as: MIP");
    assert_eq!(volume_look(&window).style, VolumeStyle::Maximum);
    click(&mut window, "Projection: Minimum");
    assert_eq!(volume_look(&window).style, VolumeStyle::Minimum);
    assert!(window.query_by_label("Lighting: On").is_none());
    window.get_by_label("Cut away");
    click(&mut window, "Undo");
    assert_eq!(volume_look(&window).style, VolumeStyle::Maximum);
}

fn glyphs() {
    let mut window = of_fa();
    click(&mut window, "Tensor glyphs");
    click(&mut window, "Glyphs");
    click(&mut window, "Superquadrics");
    let glyphs = window.state().state.view.glyphs;
    assert!(glyphs.shown && glyphs.shape == GlyphShape::Superquadric);
    click(&mut window, "Glyphs of");
    click(&mut window, "Within pathways");
    assert_eq!(window.state().state.view.glyphs.place, GlyphPlace::Pathways);
    window.get_by_label("There is no pathway yet: place a seed and a target in the task Pathways");
    click(&mut window, "Glyphs");
    click(&mut window, "Off");
    assert!(!window.state().state.view.glyphs.shown);
}

/// A slice of 1.1 million voxels: every other one is shown, and the form reports it.
fn thinned() {
    let mut state = sample::state([1100, 1000, 1], 1);
    state.view.glyphs.shown = true;
    let every = |state: &State| {
        let size = Size {
            points: glam::DVec2::splat(200.0),
            pixels_per_point: 1.0,
        };
        match scene::scene(state, size).glyphs {
            Some(Glyphs::Tensors(glyphs)) => glyphs.every,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(every(&state), 2);
    let mut window = window(state, [1920.0, 1080.0]);
    click(&mut window, "Tensor glyphs");
    let hint = "one voxel in 2 along each axis is shown";
    window.get_by_label_contains(hint);
    window.state_mut().state.view.glyphs.every = 3;
    window.run();
    assert!(window.query_by_label_contains(hint).is_none());
    assert_eq!(every(&window.state().state), 3);
}
