//! The window's messages when something did not go as requested.

use super::rays::traced;
use super::{
    Window, click, count_submitted, sample, small_scan, submitted, tracking, type_over, window,
};
use crate::support::{test, wait_for};
use arcuate::data::{Role, Shape};
use arcuate::solvers::curves::StopReason;
use arcuate::state::files::jobs::SAVE;
use arcuate::state::tensors::jobs::fit::{FIT, FitTensors};
use arcuate::state::tensors::types::OfferedMask;
use arcuate::state::{Severity, State};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::messages are notes until dismissed", messages),
        test("ui::many messages are folded", many_messages),
        test("ui::the room of a note is given back", given_back),
        test("ui::a bad path is kept, with the reason", bad_path),
        test("ui::a value out of range has a message", out_of_range),
        test("ui::a mask layer becomes a region", mask_as_region),
        test("ui::a target outside the mask has a message", out_of_reach),
        test(
            "ui::a fit names its mask and its excluded volumes",
            fit_inputs,
        ),
        test("ui::an offered mask is named before the fit ends", offered),
    ]
}

fn messages() {
    let mut state = small_scan();
    state.runtime.notify(Severity::Error, "The disk is full");
    let mut window = window(state, [1280.0, 800.0]);
    click(&mut window, "Dismiss: The disk is full");
    assert!(window.query_by_label("The disk is full").is_none());
    assert!(window.state().state.runtime.notices.messages.is_empty());
}

/// Once a note has gone, the rows below take its room after a moment if the pointer is where the note was, and not while
/// it is on them; then nothing is drawn until something happens.
fn given_back() {
    let with_note = || {
        let mut state = small_scan();
        state.runtime.notify(Severity::Error, "The disk is full");
        window(state, [1280.0, 800.0])
    };
    let rows = |window: &Window| window.get_by_label("Show").rect();
    let a_second = |window: &mut Window| (0..60).for_each(|_| window.step());
    for on_rows in [false, true] {
        let mut window = with_note();
        let note = window.get_by_label("The disk is full").rect();
        let before = rows(&window);
        let at = if on_rows { before } else { note };
        window.hover_at(at.center());
        window.run();
        window.state_mut().state.runtime.notices.messages.clear();
        window.step();
        assert_eq!(rows(&window), before, "not under a second click");
        a_second(&mut window);
        assert_eq!(rows(&window) == before, on_rows);
        assert!(!window.ctx.has_requested_repaint(), "it draws on and on");
        if !on_rows {
            assert!(rows(&window).top() < before.top());
        }
    }
}

/// The note about a mask file next to the scan is shown while the fit runs, and does not describe it as finished.
fn offered() {
    let mut state = small_scan();
    let scan = state.document.scan().and_then(|l| l.content.volume());
    state.runtime.tensors.offered_mask = Some(OfferedMask {
        scan: scan.expect("a scan").id(),
        path: "/data/scan_brain_mask.nii.gz".into(),
        requested: false,
    });
    let window = window(state, [1280.0, 800.0]);
    window.get_by_label_contains("the fit uses a mask computed from the scan itself");
    assert!(window.query_by_label_contains("used a mask").is_none());
}

/// At most three notes; the rest is counted and disappears together. A success removes its failure.
fn many_messages() {
    let mut state = small_scan();
    for i in 0..7 {
        state
            .runtime
            .notify(Severity::Error, format!("Trouble {i}"));
    }
    state
        .runtime
        .notify_failure(SAVE, "The disk is full".to_owned());
    state.runtime.forget_failures(FIT);
    let mut window = window(state, [1280.0, 800.0]);
    let shown = |window: &Window, text: &str| window.query_by_label(text).is_some();
    assert!(shown(&window, "The disk is full") && shown(&window, "Trouble 5"));
    assert!(!shown(&window, "Trouble 4"));
    window.get_by_label("and 5 more");
    window.state_mut().state.runtime.forget_failures(SAVE);
    window.run();
    assert!(!shown(&window, "The disk is full") && shown(&window, "Trouble 4"));
    click(&mut window, "Dismiss all");
    assert!(window.state().state.runtime.notices.messages.is_empty());
}

fn bad_path() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let mut window = window(tracking(), [1280.0, 800.0]);
    click(&mut window, "Export…");
    let reported = |window: &mut Window, text: &str| {
        wait_for(text, || {
            window.run();
            window.query_by_label(text).map(|_| ())
        });
    };
    type_over(&mut window, missing.join("t.tck").to_str().unwrap());
    let text = format!("There is no folder {}", missing.display());
    reported(&mut window, &text);
    let field = window.get_by_role_and_label(egui::Role::TextInput, "Path");
    let kept = field.accesskit_node().value().unwrap_or_default();
    assert!(kept.ends_with("t.tck"), "{kept}");
    type_over(&mut window, folder.path().join("t.nii").to_str().unwrap());
    reported(
        &mut window,
        "Expected a name that ends in .tck, .trk, .trx, .vtk, .vtp",
    );
    assert!(count_submitted(&window) == 0);
    let good = folder.path().join("t.tck");
    type_over(&mut window, good.to_str().unwrap());
    wait_for("a save", || {
        window.run();
        (count_submitted(&window) > 0).then_some(())
    });
}

fn out_of_range() {
    let mut window = window(tracking(), [1920.0, 1080.0]);
    let below = |window: &Window| {
        let field = window.get_by_role_and_label(egui::Role::TextInput, "Maximum angle");
        field.rect()
    };
    let place = below(&window);
    window
        .get_by_role_and_label(egui::Role::TextInput, "Step")
        .click();
    window.run();
    assert_eq!(below(&window), place, "rows stay while one is edited");
    type_over(&mut window, "1e9");
    assert_eq!(
        window.state().state.document.track.streamlines.step_mm,
        20.0
    );
    window.get_by_label("Step: 20\u{202F}mm is the most");
    window
        .get_by_role_and_label(egui::Role::TextInput, "Step")
        .click();
    window.run();
    type_over(&mut window, "abc");
    window.get_by_label("Step: “abc” is not a number, 20.00 stays");
    window
        .get_by_role_and_label(egui::Role::TextInput, "Streamlines")
        .click();
    window.run();
    type_over(&mut window, "9999999999");
    window.get_by_label("Streamlines: 16\u{202F}777\u{202F}216 is the most");
}

fn mask_as_region() {
    let mut window = window(tracking(), [1920.0, 1080.0]);
    let regions = window.state().state.document.regions.len();
    window.get_by_label("Layer Brain mask").click_secondary();
    window.run();
    click(&mut window, "Use as region");
    assert_eq!(window.state().state.document.regions.len(), regions + 1);
}

fn fit_inputs() {
    let mut state = small_scan();
    if let Some(tensors) = &mut state.document.tensors {
        Arc::make_mut(tensors).outside_range = vec![3, 5];
    }
    let mut window = window(state, [1920.0, 1080.0]);
    let thin = '\u{202F}';
    let excluded = format!("Left out of the fit, note: 2 with b{thin}1{thin}000");
    click(&mut window, &excluded);
    window.get_by_label("Volumes 3, 5");
    click(&mut window, "Tensor fit");
    window
        .get_by_role_and_label(egui::Role::ComboBox, "Mask")
        .click();
    window.run();
    window
        .get_by_role_and_label(egui::Role::MenuItem, "Brain mask")
        .click();
    window.run();
    let requests = submitted(&window);
    let Some(FitTensors { mask: Some(_), .. }) = requests.last() else {
        panic!("{requests:?}")
    };
}

/// No ray kept, and the target far outside.
fn unreached(centre: glam::DVec3) -> State {
    let mut state = traced();
    let target = state
        .document
        .regions
        .iter()
        .find(|r| r.role == Role::Target);
    let target = target.unwrap().id;
    let radius_mm = 5.0;
    let shape = Arc::new(Shape::Sphere { centre, radius_mm });
    state.document.edit_region(target, |r| r.shape = shape);
    let regions = state.document.regions.iter();
    let regions = regions.map(|r| (**r).clone()).collect();
    let live = state.runtime.track.live.value_mut().unwrap();
    live.key.regions = regions;
    let mut output = sample::output(0);
    output.missed = sample::output(20).kept;
    output.seed_outcomes = [0, 8_000, 0, 0, 0, 0, 0, 0];
    output.stops = [0; StopReason::COUNT];
    output.stops[StopReason::LeftMask as usize] = 8_000;
    live.output = Arc::new(output);
    live.rays.as_mut().unwrap().measures = Vec::new().into();
    state
}

fn out_of_reach() {
    let far = glam::DVec3::new(0.0, 0.0, 500.0);
    // Stated once, and no control has moved for it.
    let controls = |window: &Window| {
        let head = window.get_by_role_and_label(egui::Role::Heading, "Controls");
        head.rect().top()
    };
    let before = window(traced(), [1280.0, 800.0]);
    let mut window = window(unreached(far), [1280.0, 800.0]);
    assert_eq!(controls(&window), controls(&before));
    let message = window.query_all_by_label_contains("lies outside");
    assert_eq!(message.count(), 1);
    window.get_by_label("Motor L lies outside the scan: nothing can reach it");
    click(&mut window, "Show it");
    // The crosshair moves to the nearest border of the scan.
    let crosshair = window.state().state.view.crosshair;
    assert_eq!((crosshair.x, crosshair.y), (far.x, far.y));
    assert!(crosshair.z > 70.0, "{crosshair}");
    assert!(window.query_by_label("Widen the cone").is_none());
    // Inside: the shortest distance, and its place.
    let near = glam::DVec3::new(-21.0 - 12.0, -14.0, 20.0);
    let mut window = super::window(unreached(near), [1280.0, 800.0]);
    let text = "0 of 8\u{202F}000 rays reach “Motor L”; 100\u{202F}% left the mask. The nearest of \
                 those drawn comes within";
    window.get_by_label_contains(text);
    click(&mut window, "Show it");
    let crosshair = window.state().state.view.crosshair;
    assert!(
        (crosshair.x + 21.0).abs() < 0.5 && (crosshair.y + 14.0).abs() < 0.5,
        "{crosshair}"
    );
}
