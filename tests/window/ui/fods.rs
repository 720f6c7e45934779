//! The card of fibre orientation distributions in Track, its report, and the key of glyphs.

use super::{Window, click, small_scan, submitted, window};
use crate::support::{distributions, opened_event, opened_file, test};
use arcuate::data::{Grid, Volume, VolumeKind};
use arcuate::io::{Remark, RemarkTopic};
use arcuate::parameters::Parameters;
use arcuate::solvers::{csd, peaks, response};
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::tensors::jobs::fod::{EstimateFods, FOD};
use arcuate::state::tensors::types::OfferedMask;
use arcuate::state::tensors::types::fods::FodResult;
use arcuate::state::{Action, Content, Effect, State, Task, TensorAction, Tool, update};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::fods::are estimated on request", estimated),
        test("ui::fods::a failure names a remedy", failed),
        test("ui::fods::the report opens", report),
        test("ui::fods::every parameter has a row", rows),
        test("ui::fods::Shift+G shows glyphs", key),
        test(
            "ui::fods::an opened image of them has no axes to check",
            no_axes,
        ),
        test(
            "ui::fods::the mask of an awaited fit is not mentioned",
            awaited,
        ),
    ]
}

const SIZE: [f32; 2] = [1920.0, 1700.0];

fn state() -> State {
    let mut state = small_scan();
    state.view.task = Task::Track;
    state
}

/// Round distributions in every voxel.
fn with_distributions() -> State {
    let mut state = state();
    let scan = state.document.scan().expect("a scan").clone();
    let Content::Scan {
        dwi,
        gradients: Some(gradients),
    } = &scan.content
    else {
        panic!("a scan with gradients");
    };
    state.document.distributions.settings.requested = true;
    let key = state.document.requested_fods().expect("requested");
    state.document.distributions.result = Some(Arc::new(FodResult {
        key,
        origin: scan.origin,
        fods: Arc::new(distributions::round(&dwi.grid, gradients)),
        wall_ms: 1900.0,
    }));
    state
}

/// An image of coefficients, opened as a file.
fn open_coefficients(state: &mut State) {
    let grid = Grid::axis_aligned([6; 3], DVec3::splat(2.0), DVec3::ZERO).expect("a grid");
    let grid = Arc::new(grid);
    let values = vec![1.0; 15 * grid.voxel_count()];
    let loaded = Loaded::Scan {
        dwi: Volume::new(grid, 15, VolumeKind::Scalar, values),
        gradients: None,
        gradient_files: Vec::new(),
    };
    let mut file = opened_file("/data/wm_fod.nii.gz", loaded);
    file.notes = vec![Remark {
        topic: Some(RemarkTopic::Distributions),
        ..Remark::note("The 15 volumes are coefficients".to_owned())
    }];
    update(state, Action::Event(opened_event(1, file)));
}

fn no_axes() {
    let mut alone = State::new(String::new());
    open_coefficients(&mut alone);
    alone.view.task = Task::View;
    let window_alone = window(alone, SIZE);
    for text in ["Gradient directions", "none found", "axes not compared"] {
        assert!(
            window_alone.query_by_label_contains(text).is_none(),
            "{text}"
        );
    }
    // With a scan, the check is about the scan.
    let mut both = small_scan();
    both.view.task = Task::View;
    open_coefficients(&mut both);
    let window_both = window(both, SIZE);
    window_both.get_by_label_contains("axes not compared");
    assert!(window_both.query_by_label_contains("none found").is_none());
}

fn awaited() {
    let mut state = small_scan();
    state.view.task = Task::View;
    let scan = state.document.scan().and_then(|l| l.content.volume());
    let scan = scan.expect("a scan").id();
    state.runtime.tensors.offered_mask = Some(OfferedMask {
        scan,
        path: "/data/brain_mask.nii.gz".into(),
        requested: false,
    });
    let uses = "the fit uses a mask";
    let key = state.document.requested_fit().expect("a fit");
    let tensors = state.document.tensors.as_mut().expect("tensors");
    Arc::make_mut(tensors).key = key;
    let shows = |window: &Window, text: &str| {
        let mut found = window.query_all_by_label_contains(text);
        found.next().is_some()
    };
    assert!(shows(&window(state.clone(), SIZE), uses));
    state.document.fit.min_eigenvalue_mm2_per_s *= 2.0;
    let window = window(state, SIZE);
    assert!(!shows(&window, uses));
    assert!(shows(&window, "Waiting for the fit"));
}

fn requested(window: &Window) -> bool {
    let document = &window.state().state.document;
    document.distributions.settings.requested
}

fn estimated() {
    let mut window = window(state(), SIZE);
    assert!(!requested(&window));
    click(&mut window, "Estimate");
    assert!(requested(&window));
    assert_eq!(submitted::<EstimateFods>(&window).len(), 1);
    click(&mut window, "Cancel");
    let effects = window.state().effects.iter();
    let cancelled = effects.filter(|e| matches!(e, Effect::Cancel(FOD)));
    assert_eq!(cancelled.count(), 1);
    // It waits for the next request.
    assert_eq!(submitted::<EstimateFods>(&window).len(), 1);
    click(&mut window, "Estimate");
    assert_eq!(submitted::<EstimateFods>(&window).len(), 2);
}

fn failed() {
    const WHY: &str =
        "Found an empty brain mask, expected voxels of the brain; choose another mask";
    let mut state = state();
    let mut settings = state.document.distributions.settings.clone();
    settings.requested = true;
    update(&mut state, Action::Tensors(TensorAction::SetFods(settings)));
    state.runtime.tensors.fods.fail_because(WHY);
    let mut window = window(state, SIZE);
    window.get_by_label_contains("Found an empty brain mask");
    assert!(submitted::<EstimateFods>(&window).is_empty());
    click(&mut window, "Try again");
    assert_eq!(submitted::<EstimateFods>(&window).len(), 1);
}

fn report() {
    let mut window = window(with_distributions(), SIZE);
    assert!(window.query_by_label_contains("Order 4:").is_none());
    click(&mut window, "Fibre orientations: 1 response");
    window.get_by_label_contains("Order 4:");
    window.get_by_label_contains("White matter: from a file");
    window.get_by_label("Export distributions…");
}

fn rows() {
    let mut window = window(state(), SIZE);
    click(&mut window, "Fibre orientations: not estimated");
    click(&mut window, "Responses, deconvolution, peaks");
    let labels = |row: &str| window.query_all_by_label_contains(row).next().is_some();
    for row in csd::Params::TABLE {
        assert!(labels(row.label), "{}", row.label);
    }
    for row in peaks::Params::TABLE {
        assert!(labels(row.label), "{}", row.label);
    }
    for row in response::Params::TABLE {
        assert!(labels(row.label), "{}", row.label);
    }
}

fn key() {
    let mut window = window(with_distributions(), SIZE);
    let tool = window.state().state.view.tool;
    assert!(matches!(tool, Tool::Crosshair));
    for shown in [true, false] {
        window.key_press_modifiers(egui::Modifiers::SHIFT, egui::Key::G);
        window.run();
        assert_eq!(window.state().state.view.glyphs.shown, shown);
        assert!(matches!(window.state().state.view.tool, Tool::Crosshair));
    }
}
