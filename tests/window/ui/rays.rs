//! Geodesic rays in the Track panel: the switch, sliders, the histogram's cut, an empty result.

mod exports;

use super::{Window, click, count_submitted, sample, submitted, tracking, type_over, window};
use crate::support::test;
use arcuate::data::Role;
use arcuate::solvers::geodesic::{Cut, Directions, Rays, Sharpening};
use arcuate::state::core::display::LineColouring;
use arcuate::state::track::jobs::trace::TraceRays;
use arcuate::state::track::types::{CurveKey, CurveParams, RayResult, measure_range};
use arcuate::state::{Action, Effect, Method, Phase, State, Tool, TrackAction, ViewAction};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("ui::rays have a switch and controls of their own", switch),
        test("ui::the cut is dragged, stepped and typed", cut),
        test("ui::a ray slider is one undo step", slider),
        test("ui::no ray at the target has a way out", nothing),
        test("ui::an eye hides rays that missed", missed),
        test("ui::a kind of ray remembers its settings", kinds),
        test(
            "ui::incompatible options are disabled with a reason",
            together,
        ),
        test("ui::a dragged cut takes the arrow keys", arrows),
        test(
            "ui::a control next to the histogram keeps the best rays",
            best,
        ),
        test(
            "ui::rays without a target name the missing target",
            no_target,
        ),
        test("ui::outdated rays are not a result", stale),
        test("ui::a reason to stop is chosen and let go", reasons),
    ];
    own.into_iter().chain(exports::tests()).collect()
}

/// A state with rays whose measures are spread evenly from 0.8 to 1.6.
pub(super) fn traced() -> State {
    let mut state = tracking();
    state.document.track.method = Method::Rays;
    state.document.track.rays.cut = Cut::All;
    let regions = state.document.regions.iter();
    let requested = CurveKey {
        field: state.document.tensors.as_ref().unwrap().field.id(),
        regions: regions.map(|r| (**r).clone()).collect(),
        curves: CurveParams::Rays(
            state.document.track.rays.metric,
            state.document.track.rays.params.clone(),
        ),
        tissues: None,
        coarse: false,
    };
    let live = state.runtime.track.live.value_mut().unwrap();
    let mut output = sample::output(400);
    let measures: Vec<f32> = (0..400)
        .map(|i| 0.8 + 0.8 * (i as f32 + 0.5) / 400.0)
        .collect();
    output.kept = output
        .kept
        .with_per_streamline("cm", measures.clone())
        .with_per_streamline("measure", measures.clone());
    output.missed = sample::output(20).kept;
    live.rays = Some(RayResult {
        all: output.kept.clone(),
        range: measure_range(&measures),
        measures: measures.into(),
        cut: Cut::All,
        min_measure: Some(0.801),
        repaired: 3,
    });
    live.key = requested;
    live.output = Arc::new(output);
    state
}

pub(super) fn rays(window: &Window) -> &arcuate::state::Rays {
    &window.state().state.document.track.rays
}

fn kept_count(window: &Window) -> usize {
    let live = window.state().state.runtime.track.live.value();
    live.map_or(0, |l| l.output.kept.len())
}

/// A position on the histogram, by the fraction of its width.
fn in_histogram(window: &Window) -> impl Fn(f32) -> egui::Pos2 + use<> {
    let histogram = window.get_by_role_and_label(egui::Role::Slider, "Connectivity measure");
    let place = histogram.rect();
    move |share| place.left_top() + egui::vec2(place.width() * share, 20.0)
}

/// A state with a measure at every point of the kept rays.
pub(super) fn measured() -> State {
    let mut state = traced();
    let live = state.runtime.track.live.value_mut().unwrap();
    let output = Arc::make_mut(&mut live.output);
    let points = vec![1.0; output.kept.points.len()];
    output.kept = output.kept.clone().with_per_point("cm", points);
    state
}

fn switch() {
    let mut window = window(tracking(), [1280.0, 800.0]);
    click(&mut window, "Method: Geodesic rays");
    assert_eq!(window.state().state.document.track.method, Method::Rays);
    assert_eq!(submitted::<TraceRays>(&window).len(), 1);
    for name in ["Rays", "Opening angle", "Sharpening α", "Step"] {
        window.get_by_role_and_label(egui::Role::Slider, name);
    }
    window.get_by_label("Stop below FA");
    // Other directions have no opening angle; their number stays the same.
    click(&mut window, "Directions, integrator, precision");
    let list = |window: &Window| {
        let node = window.get_by_role_and_label(egui::Role::ComboBox, "Directions");
        node.scroll_to_me();
        node.click();
    };
    list(&window);
    window.run();
    click(&mut window, "Icosphere");
    assert_eq!(
        rays(&window).params.directions,
        Directions::Icosphere { level: 1 }
    );
    let about = rays(&window).count().unwrap();
    assert!((7_950..8_050).contains(&about), "{about}");
    assert!(
        window
            .query_by_role_and_label(egui::Role::Slider, "Opening angle")
            .is_none()
    );
    // The row keeps its place, and switching back restores its value.
    window.get_by_label("Opening angle: of a cone only");
    list(&window);
    window.run();
    click(&mut window, "Cone");
    assert_eq!(*rays(&window), Rays::defaults());
    window.get_by_label("Method: Streamlines").scroll_to_me();
    window.run();
    click(&mut window, "Method: Streamlines");
    assert_eq!(
        window.state().state.document.track.method,
        Method::Streamlines
    );
    window.get_by_role_and_label(egui::Role::Slider, "Streamlines");
}

fn cut() {
    let mut window = window(traced(), [1920.0, 1080.0]);
    let at = in_histogram(&window);
    window.get_by_label("Connectivity measure (CM) 400 kept");
    window.get_by_label("3 tensors repaired: not positive definite");
    // Anywhere in the widget; the count follows the drag, no ray is computed.
    window.drag_at(at(0.25));
    window.run();
    for share in [0.3, 0.4, 0.5] {
        window.hover_at(at(share));
        window.step();
        let above = (400.0 * (1.0 - share)).round() as usize;
        let text = format!("Connectivity measure (CM) {above} kept");
        window.get_by_label(&text);
        window.get_by_label_contains(&format!("Target Motor L, {above} rays"));
    }
    window.drop_at(at(0.5));
    window.run();
    assert!(
        (kept_count(&window) as i32 - 200).abs() <= 1,
        "{}",
        kept_count(&window)
    );
    assert!(count_submitted(&window) == 0);
    assert_eq!(window.state().state.history.undo_label(), Some("Cut"));
    let Cut::AtLeast(value) = rays(&window).cut else {
        panic!("{:?}", rays(&window).cut)
    };
    assert!((value - 1.2).abs() < 0.01, "{value}");
    // An arrow key moves by a bin: 0.8 over 64.
    window
        .get_by_role_and_label(egui::Role::Slider, "Connectivity measure")
        .focus();
    window.run();
    window.key_press(egui::Key::ArrowRight);
    window.run();
    let Cut::AtLeast(next) = rays(&window).cut else {
        panic!("{:?}", rays(&window).cut)
    };
    assert!((next - value - 0.0125).abs() < 1e-3, "{value} to {next}");
    window
        .get_by_role_and_label(egui::Role::TextInput, "Connectivity measure, cut")
        .click();
    window.run();
    type_over(&mut window, "1.4");
    assert_eq!(rays(&window).cut, Cut::AtLeast(1.4));
    assert_eq!(kept_count(&window), 100);
    window.get_by_label_contains("Target Motor L, 100 rays, median CM 1.50");
    // At the left end the slider keeps all.
    window.drag_at(at(0.3));
    window.run();
    window.hover_at(at(-0.2));
    window.run();
    window.drop_at(at(-0.2));
    window.run();
    assert_eq!((rays(&window).cut, kept_count(&window)), (Cut::All, 400));
    // The drags, the key and the typed value were one step each.
    for expected in [100, kept_at(next), kept_at(value), 400] {
        click(&mut window, "Undo");
        assert_eq!(kept_count(&window), expected);
    }
}

fn kept_at(cut: f32) -> usize {
    (0..400)
        .filter(|i| 0.8 + 0.8 * (*i as f32 + 0.5) / 400.0 >= cut)
        .count()
}

fn slider() {
    let mut window = window(traced(), [1280.0, 800.0]);
    let before = rays(&window).clone();
    let node = window.get_by_role_and_label(egui::Role::Slider, "Sharpening α");
    assert_eq!(node.accesskit_node().numeric_value(), Some(6.0));
    let rail = node.rect().shrink(6.0);
    window.drag_at(rail.left_center());
    window.run();
    for share in [0.1, 0.2, 0.3] {
        window.hover_at(rail.left_center() + egui::vec2(rail.width() * share, 0.0));
        window.run();
    }
    window.drop_at(rail.left_center() + egui::vec2(rail.width() * 0.3, 0.0));
    window.run();
    let Sharpening::Power { alpha } = rays(&window).metric.sharpening else {
        panic!("{:?}", rays(&window).metric)
    };
    assert!((alpha - 2.5).abs() < 0.15, "{alpha}");
    let phases: Vec<Phase> = window
        .state()
        .actions
        .iter()
        .filter_map(|a| match a {
            Action::Track(TrackAction::SetRays { phase, .. }) => Some(*phase),
            _ => None,
        })
        .collect();
    assert!(phases.len() > 2 && phases.last() == Some(&Phase::Done));
    click(&mut window, "Undo");
    assert_eq!(*rays(&window), before);
}

fn nothing() {
    let mut state = traced();
    let live = state.runtime.track.live.value_mut().unwrap();
    let mut output = sample::output(0);
    output.seed_outcomes = [0, 81_920, 0, 0, 0, 0, 0, 0];
    // 71 % of the ends other than seeds.
    output.stops = [
        0, 0, 3_000, 58_163, 0, 0, 20_757, 0, 81_920, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    live.output = Arc::new(output);
    let rays_live = live.rays.as_mut().unwrap();
    rays_live.measures = Vec::new().into();
    let mut window = window(state, [1280.0, 800.0]);
    window.get_by_label("0 of 81\u{202F}920 rays reach “Motor L”; 71\u{202F}% left the mask");
    click(&mut window, "Widen the cone");
    let Directions::Cone { half_angle_rad, .. } = rays(&window).params.directions else {
        panic!("{:?}", rays(&window).params.directions)
    };
    assert!((half_angle_rad.to_degrees() - 67.5).abs() < 1e-6);
    assert_eq!(submitted::<TraceRays>(&window).len(), 1);
    // A cut above everything is another reason.
    let mut state = traced();
    state.document.track.rays.cut = Cut::AtLeast(3.0);
    let live = state.runtime.track.live.value_mut().unwrap();
    Arc::make_mut(&mut live.output).kept = sample::output(0).kept;
    live.rays.as_mut().unwrap().cut = Cut::AtLeast(3.0);
    let mut window = self::window(state, [1280.0, 800.0]);
    window.get_by_label("The cut keeps none of 400 rays");
    click(&mut window, "Keep all");
    assert_eq!(kept_count(&window), 400);
}

fn missed() {
    let mut window = window(traced(), [1920.0, 1080.0]);
    window.get_by_label_contains("Missed the targets, ");
    click(&mut window, "Hide Missed the targets");
    assert!(!window.state().state.view.visible.missed);
    click(&mut window, "Show Missed the targets");
    assert!(window.state().state.view.visible.missed);
    let display = &window.state().state.document.track.ray_display;
    assert_eq!(display.line_colouring, LineColouring::Measure);
}

fn reasons() {
    let mut window = window(tracking(), [1920.0, 1080.0]);
    let live = window.state().state.runtime.track.live.value().unwrap();
    let parts = arcuate::ui::streamline_summary::stops(
        &live.output,
        &window.state().state.document.track.streamlines,
        None,
    );
    let count = arcuate::ui::format::count(parts[1].count);
    let (name, reason) = (format!("{} {count}", parts[1].name), parts[1].id);
    click(&mut window, &name);
    assert_eq!(window.state().state.view.stop, Some(reason));
    click(&mut window, &name);
    assert_eq!(window.state().state.view.stop, None);
    // A click on the bar selects a reason by its position.
    let bar = window.get_by_label("Stop reasons of all ends").rect();
    for _ in 0..2 {
        window.hover_at(bar.left_center() + egui::vec2(2.0, 0.0));
        window.run();
        window.drag_at(bar.left_center() + egui::vec2(2.0, 0.0));
        window.drop_at(bar.left_center() + egui::vec2(2.0, 0.0));
        window.run();
        let first = Some(parts[0].id);
        let last = window.state().actions.last();
        assert!(
            matches!(last, Some(Action::View(ViewAction::ShowStop(r))) if *r == first || r.is_none()),
            "{last:?}"
        );
    }
    assert_eq!(window.state().state.view.stop, None);
}

fn change(window: &mut Window, edit: impl FnOnce(&mut arcuate::state::Rays)) {
    let mut rays = rays(window).clone();
    edit(&mut rays);
    let phase = Phase::Done;
    let state = &mut window.state_mut().state;
    arcuate::state::update(state, Action::Track(TrackAction::SetRays { rays, phase }));
    window.run();
}

fn kinds() {
    let mut window = window(traced(), [1920.0, 1440.0]);
    click(&mut window, "Directions, integrator, precision");
    change(&mut window, |r| {
        r.metric.sharpening = Sharpening::Power { alpha: 3.5 };
    });
    click(&mut window, "Sharpen: Low FA only");
    assert!(matches!(
        rays(&window).metric.sharpening,
        Sharpening::Paper { power: 2, .. }
    ));
    let below = window.get_by_role_and_label(egui::Role::Slider, "Sharpen below FA");
    let place = below.rect().center().y;
    change(&mut window, |r| {
        r.metric.sharpening = Sharpening::Paper {
            power: 4,
            below_fa: 0.3,
        };
    });
    click(&mut window, "Sharpen: All");
    assert_eq!(
        rays(&window).metric.sharpening,
        Sharpening::Power { alpha: 3.5 }
    );
    let idle = window.get_by_label("Sharpen below FA: all are sharpened");
    assert!((idle.rect().center().y - place).abs() < 0.5, "rows stay");
    click(&mut window, "Sharpen: Low FA only");
    assert_eq!(
        rays(&window).metric.sharpening,
        Sharpening::Paper {
            power: 4,
            below_fa: 0.3
        }
    );
}

fn together() {
    let mut window = window(traced(), [1920.0, 1440.0]);
    click(&mut window, "Directions, integrator, precision");
    click(&mut window, "Interpolation: Cubic");
    let spline = rays(&window).clone();
    click(&mut window, "Equations: Christoffel");
    assert_eq!(*rays(&window), spline, "disabled, and nothing else changes");
    click(&mut window, "Interpolation: Trilinear");
    click(&mut window, "Equations: Christoffel");
    let christoffel = rays(&window).clone();
    assert_eq!(
        christoffel.params.form,
        arcuate::solvers::geodesic::Form::Christoffel
    );
    click(&mut window, "Interpolation: Cubic");
    click(&mut window, "Integrator: Euler");
    assert_eq!(*rays(&window), christoffel);
}

fn arrows() {
    let mut window = window(traced(), [1920.0, 1080.0]);
    let at = in_histogram(&window);
    // Nothing is cut: the field displays it.
    let field = |w: &Window| {
        let field = w.get_by_role_and_label(egui::Role::TextInput, "Connectivity measure, cut");
        field.accesskit_node().value()
    };
    assert_eq!(field(&window).as_deref(), Some("all"));
    window.drag_at(at(0.5));
    window.run();
    window.hover_at(at(0.55));
    window.run();
    window.drop_at(at(0.55));
    window.run();
    let Cut::AtLeast(value) = rays(&window).cut else {
        panic!("{:?}", rays(&window).cut)
    };
    let crosshair = window.state().state.view.crosshair;
    window.key_press(egui::Key::ArrowRight);
    window.run();
    let Cut::AtLeast(next) = rays(&window).cut else {
        panic!("{:?}", rays(&window).cut)
    };
    assert!((next - value - 0.0125).abs() < 1e-3, "{value} to {next}");
    assert_eq!(window.state().state.view.crosshair, crosshair);
    // Single keys still act on the window.
    window.key_press(egui::Key::T);
    window.run();
    let tool = window.state().state.view.tool;
    assert!(
        matches!(
            tool,
            Tool::NewRegion {
                role: Role::Target,
                ..
            }
        ),
        "{tool:?}"
    );
}

fn best() {
    let mut window = window(traced(), [1280.0, 800.0]);
    click(&mut window, "Keep: Top n");
    assert_eq!(
        (rays(&window).cut, kept_count(&window)),
        (Cut::Top(100), 100)
    );
    window
        .get_by_role_and_label(egui::Role::TextInput, "Top number")
        .click();
    window.run();
    type_over(&mut window, "30");
    assert_eq!(kept_count(&window), 30);
    click(&mut window, "Keep: Top %");
    assert_eq!(
        (rays(&window).cut, kept_count(&window)),
        (Cut::TopShare(0.075), 30)
    );
    click(&mut window, "Keep: Cut");
    assert!(matches!(rays(&window).cut, Cut::AtLeast(_)));
    assert_eq!(kept_count(&window), 30, "the cut is where the best begin");
    click(&mut window, "Keep: Top n");
    assert_eq!(rays(&window).cut, Cut::Top(30));
    // A number of rays is whole, and a message reports it.
    window
        .get_by_role_and_label(egui::Role::TextInput, "Top number")
        .click();
    window.run();
    type_over(&mut window, "5.5");
    assert_eq!(kept_count(&window), 6);
    window.get_by_label_contains("takes only whole numbers: 6 was used");
    // Resetting the controls keeps the cut, which is none of them.
    change(&mut window, |r| r.params.curves.step_mm = 0.3);
    click(&mut window, "Reset to defaults");
    let default_value = Rays::defaults();
    assert_eq!(rays(&window).params, default_value.params);
    assert_eq!(rays(&window).cut, Cut::Top(6));
    // A change from all rays to some.
    change(&mut window, |r| r.cut = Cut::All);
    click(&mut window, "Keep: Top %");
    assert_eq!(kept_count(&window), 40);
}

fn no_target() {
    let mut state = traced();
    state.document.regions.retain(|r| r.role != Role::Target);
    let mut window = window(state, [1280.0, 800.0]);
    window.get_by_label("No target yet. Press T, then click where paths should end");
    click(&mut window, "Use the target tool");
    window.get_by_label("Click where paths should end. Esc ends the target tool");
}

/// Brightness of the brightest bar of a histogram.
pub(super) fn brightest(window: &Window, name: &str) -> u8 {
    fn brightest_in(shape: &egui::Shape, place: egui::Rect, most: &mut u8) {
        match shape {
            egui::Shape::Vec(all) => all.iter().for_each(|s| brightest_in(s, place, most)),
            // Bars are narrow.
            egui::Shape::Rect(rect)
                if place.contains_rect(rect.rect) && rect.rect.width() < 0.1 * place.width() =>
            {
                *most = (*most).max(rect.fill.a());
            }
            _ => {}
        }
    }
    let histogram = window.get_by_role_and_label(egui::Role::Slider, name);
    let place = histogram.rect().expand(2.0);
    let mut most = 0;
    for clipped in &window.output().shapes {
        brightest_in(&clipped.shape, place, &mut most);
    }
    most
}

fn stale() {
    let mut state = traced();
    let bright = brightest(
        &super::window(state.clone(), [1920.0, 1080.0]),
        "Connectivity measure",
    );
    assert_eq!(bright, 255);
    state.document.track.rays.params.curves.step_mm = 0.3;
    let mut window = window(state, [1920.0, 1080.0]);
    // It is dimmed until there are others.
    assert!(brightest(&window, "Connectivity measure") < 128);
    window.get_by_label("Out of date: settings have changed since");
    for name in ["Keep as layer", "Export…", "Copy as command"] {
        assert!(
            window.get_by_label(name).accesskit_node().is_disabled(),
            "{name}"
        );
    }
    // Its command would not reproduce the controls.
    window.key_press_modifiers(
        egui::Modifiers::COMMAND | egui::Modifiers::SHIFT,
        egui::Key::C,
    );
    window.run();
    let copies = |e: &Effect| matches!(e, Effect::CopyText(_));
    assert!(!window.state().effects.iter().any(copies));
    click(&mut window, "Trace again");
    assert_eq!(submitted::<TraceRays>(&window).len(), 1);
}
