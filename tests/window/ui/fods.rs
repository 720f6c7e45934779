//! The card of fibre orientation distributions in Track, its report, and the key of glyphs.

use super::{Window, click, small_scan, submitted, window};
use crate::support::{distributions, test};
use arcuate::parameters::Parameters;
use arcuate::solvers::curves::{Output, SeedOutcome, StopReason};
use arcuate::solvers::{csd, odf_tracking, peaks, response};
use arcuate::state::core::display;
use arcuate::state::core::layer::OriginId;
use arcuate::state::tensors::jobs::fod::{EstimateFods, FOD};
use arcuate::state::tensors::types::fods::FodResult;
use arcuate::state::track::types::fibres::Model;
use arcuate::state::{
    Action, Content, Effect, Layer, LayerId, State, Task, TensorAction, Tool, TrackAction, update,
};
use arcuate::ui::tracks;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::fods::are estimated on request", estimated),
        test("ui::fods::a failure says what to do", failed),
        test("ui::fods::the report opens", report),
        test("ui::fods::every parameter has a row", rows),
        test("ui::fods::Shift+G shows glyphs", key),
        test("ui::fods::the model is a switch", model),
        test("ui::fods::the model waits for distributions", no_model),
        test(
            "ui::fods::tracking has a row for each parameter",
            tracking_rows,
        ),
        test("ui::fods::tissues are chosen among the layers", tissues),
        test(
            "ui::fods::rejected ones are counted in a sentence",
            rejected,
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
    const WHY: &str = "Found an empty mask, expected voxels of the tissue; choose another mask";
    let mut state = state();
    let mut settings = state.document.distributions.settings.clone();
    settings.requested = true;
    update(&mut state, Action::Tensors(TensorAction::SetFods(settings)));
    state.runtime.tensors.fods.fail_because(WHY);
    let mut window = window(state, SIZE);
    window.get_by_label_contains("Found an empty mask");
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

const SWITCH: &str = "Model: Distributions";

fn is_disabled(window: &Window, name: &str) -> bool {
    window.get_by_label(name).accesskit_node().is_disabled()
}

fn model_of(window: &Window) -> Model {
    window.state().state.document.track.model
}

fn model() {
    let mut window = window(with_distributions(), SIZE);
    assert!(!is_disabled(&window, SWITCH));
    click(&mut window, SWITCH);
    assert_eq!(model_of(&window), Model::Distributions);
    // The volumes that it uses are those of the shell in the distributions.
    window.get_by_label_contains("Distributions use ");
    let has_cutoff = |window: &Window| {
        let mut rows = window.query_all_by_label_contains("Smallest amplitude");
        rows.next().is_some()
    };
    assert!(has_cutoff(&window));
    click(&mut window, "Model: Tensors");
    assert_eq!(model_of(&window), Model::Tensors);
    assert!(!has_cutoff(&window));
    update(&mut window.state_mut().state, Action::Undo);
    window.run();
    assert_eq!(model_of(&window), Model::Distributions);
    // Rays always follow tensors.
    click(&mut window, "Method: Geodesic rays");
    assert!(window.query_by_label(SWITCH).is_none());
}

fn no_model() {
    let mut window = window(state(), SIZE);
    assert!(is_disabled(&window, SWITCH));
    window.get_by_label(SWITCH).click();
    window.run();
    assert_eq!(model_of(&window), Model::Tensors);
}

fn with_model() -> State {
    let mut state = with_distributions();
    let model = Model::Distributions;
    update(&mut state, Action::Track(TrackAction::SetModel(model)));
    state
}

fn tracking_rows() {
    let mut window = window(with_model(), SIZE);
    click(&mut window, "Seeding, steps, going back");
    let labels = |row: &str| window.query_all_by_label_contains(row).next().is_some();
    // Both lengths have one row, and seed points their own; the rules have one where there are several regions.
    let others = ["seeds", "min-length", "max-length", "targets", "includes"];
    for row in odf_tracking::Params::TABLE {
        if !others.contains(&row.key) {
            assert!(labels(row.label), "{}", row.label);
        }
    }
    assert!(labels("Length") && labels("Tissues"));
}

fn tissues() {
    let mut state = with_model();
    let grid = state.document.scan().expect("a scan").content.volume();
    let grid = grid.expect("an image").grid.clone();
    let image = distributions::tissues(&grid, 10.0);
    let id = LayerId(state.document.fresh_id());
    let content = Content::Image(image);
    let shown = display::image_display((0.0, 1.0));
    let layer = Layer::new(id, "5tt".to_owned(), content, shown, OriginId::default());
    state.document.layers.push(Arc::new(layer));
    let mut window = window(state, SIZE);
    let chosen = |window: &Window| window.state().state.document.track.fibres.tissues;
    for (row, tissues) in [("5tt", Some(id)), ("none", None)] {
        let field = window.get_by_role_and_label(egui::Role::ComboBox, "Tissues");
        field.click();
        window.run();
        click(&mut window, row);
        assert_eq!(chosen(&window), tissues);
    }
}

fn rejected() {
    let mut output = super::sample::output(3);
    let sentence = |output: &Output| tracks::rejected(output);
    assert_eq!(sentence(&output), None);
    output.seed_outcomes[SeedOutcome::EndsInCsf as usize] = 1_151;
    output.seed_outcomes[SeedOutcome::EndsInWhite as usize] = 1_552;
    output.stops[StopReason::EnteredCsf as usize] = 1_151;
    let text = sentence(&output).expect("a sentence");
    assert!(text.contains("151 that ended in CSF"), "{text}");
    assert!(text.contains("552 in white matter"), "{text}");
}
