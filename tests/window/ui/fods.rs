//! The section *Fibre orientations* of Track, its report, and the key of glyphs.

mod controls;

use super::{Window, click, small_scan, submitted, window};
use crate::support::{distributions, done_event, opened_event, opened_file, test};
use arcuate::data::region::RegionId;
use arcuate::data::{Gradients, Grid, OdfLayout, Region, Role, Shape, Volume, VolumeKind};
use arcuate::io::{Remark, RemarkTopic};
use arcuate::parameters::Parameters;
use arcuate::solvers::curves::{Output, SeedOutcome, StopReason};
use arcuate::solvers::{csd, odf_tracking, peaks, response};
use arcuate::state::core::display;
use arcuate::state::core::layer::OriginId;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::runtime::TourStep;
use arcuate::state::tensors::jobs::CompareDistributions;
use arcuate::state::tensors::jobs::fod::{EstimateFods, FOD, ReadFods};
use arcuate::state::tensors::types::OfferedMask;
use arcuate::state::tensors::types::fods::{FodSource, ResponseChoice, TissueChoice};
use arcuate::state::track::types::odf::Model;
use arcuate::state::{
    Action, Content, Effect, Layer, LayerId, State, Task, TensorAction, Tool, TrackAction, update,
};
use arcuate::ui::streamline_summary;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::fods::are estimated on request", estimated),
        test("ui::fods::a failure names a remedy", failed),
        test("ui::fods::the report opens", report),
        test("ui::fods::every parameter has a row", rows),
        test("ui::fods::rows of one name act apart", controls::bootstraps),
        test(
            "ui::fods::the order by hand begins with the one in use",
            controls::order,
        ),
        test(
            "ui::fods::a long list of shells covers no name",
            controls::shells,
        ),
        test("ui::fods::Shift+G shows glyphs", key),
        test("ui::fods::each tissue has its own response", each_tissue),
        test("ui::fods::an image is used in its panel", image_panel),
        test("ui::fods::the section switches to an image", image_section),
        test("ui::fods::the section of an image alone", image_alone),
        test(
            "ui::fods::an opened image of them has no axes to check",
            no_axes,
        ),
        test(
            "ui::fods::the mask of an awaited fit is not mentioned",
            awaited,
        ),
        test("ui::fods::the model is a switch", model),
        test(
            "ui::fods::the first controls are in sight beside the model",
            controls_in_sight,
        ),
        test("ui::fods::no text of the section is cut", uncut),
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
    distributions_of(state())
}

/// Round distributions in every voxel of a document's scan.
fn distributions_of(mut state: State) -> State {
    distributions::give(&mut state.document, distributions::round);
    state
}

/// Adds a second shell to the scan.
fn with_two_shells(mut state: State) -> State {
    let scan = state.document.scan().expect("a scan").id;
    state.document.edit_layer(scan, |layer| {
        if let Content::Scan {
            gradients: Some(gradients),
            ..
        } = &mut layer.content
        {
            let mut two = (**gradients).clone();
            let last = two.b_s_per_mm2.len() / 2;
            two.b_s_per_mm2[last..].fill(2500.0);
            *gradients = Arc::new(two);
        }
    });
    state
}

/// In a window of 1280 × 800, with the guide, several regions and a second shell, *Maximum angle* is above the results.
fn controls_in_sight() {
    let before = with_two_shells(super::tracking());
    let after = distributions_of(before.clone());
    for (state, regions, guide) in [
        (&before, 3, None),
        (&before, 3, Some(TourStep::DragSeed)),
        (&after, 3, None),
        (&after, 2, Some(TourStep::DragSeed)),
        (&after, 6, None),
    ] {
        for model in [Model::Tensors, Model::Distributions] {
            let mut state = state.clone();
            let document = &mut state.document;
            if model == Model::Distributions && document.distributions.result.is_none() {
                continue;
            }
            document.regions.truncate(regions);
            while document.regions.len() < regions {
                let id = RegionId(document.fresh_id());
                let region = (*document.regions[2]).clone();
                document.regions.push(Arc::new(Region { id, ..region }));
            }
            document.track.model = model;
            state.runtime.tour = guide;
            let window = window(state, [1270.0, 770.0]);
            let slider = window.get_by_role_and_label(egui::Role::Slider, "Maximum angle");
            let results = window.get_by_role_and_label(egui::Role::Heading, "Results");
            let (slider, results) = (slider.rect(), results.rect());
            assert!(
                slider.bottom() <= results.top(),
                "{model:?}, {regions} regions, {guide:?}: {slider:?} {results:?}"
            );
        }
    }
}

/// Labels and facts of the section are shown whole in the narrow panel: a fact too many is left out, not cut.
fn uncut() {
    let mut state = with_distributions();
    let result = state.document.distributions.result.as_mut();
    let result = Arc::make_mut(result.expect("distributions"));
    result.wall_ms = 117_500.0;
    result.fods = Arc::new({
        let mut fods = (*result.fods).clone();
        fods.output.order.order = 12;
        fods
    });
    let mut window = window(state, [1280.0, 1700.0]);
    click(&mut window, "Fibre orientations: 1 response");
    click(&mut window, "Responses, deconvolution, peaks");
    let panel = window.state().views.right();
    let shapes = window.output().shapes.iter();
    let cut = shapes.filter_map(|clipped| match &clipped.shape {
        egui::Shape::Text(text) if text.pos.x >= panel => {
            let shown = text.galley.text();
            // Items that ask for a file end with an ellipsis.
            let is_cut = text.galley.elided || shown.trim_end_matches('…').contains('…');
            is_cut.then(|| shown.to_owned())
        }
        _ => None,
    });
    let cut: Vec<String> = cut.collect();
    assert!(cut.is_empty(), "{cut:?}");
    window.get_by_label_contains("order 12");
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
    let mut messages = alone.runtime.notices.messages.iter();
    assert!(messages.any(|m| m.text.contains("click Compare bases there")));
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
    let mut one = window(state(), SIZE);
    click(&mut one, "Fibre orientations: not estimated");
    click(&mut one, "Responses, deconvolution, peaks");
    let labels = |row: &str| one.query_all_by_label_contains(row).next().is_some();
    for row in csd::Params::TABLE {
        assert!(labels(row.label), "{}", row.label);
    }
    for row in peaks::Params::TABLE {
        assert!(labels(row.label), "{}", row.label);
    }
    // One shell has the rows of one algorithm, several shells those of the other.
    let mut several = window(with_two_shells(state()), SIZE);
    click(&mut several, "Fibre orientations: not estimated");
    click(&mut several, "Responses, deconvolution, peaks");
    let in_several = |row: &str| several.query_all_by_label_contains(row).next().is_some();
    for row in response::Params::TABLE {
        let is_shared = row.key == "response-order";
        let shown = [labels(row.label), in_several(row.label)];
        assert!(shown[0] || shown[1], "{}", row.label);
        assert_eq!(shown[0] && shown[1], is_shared, "{}", row.label);
    }
}

fn each_tissue() {
    let mut state = state();
    let shape = Arc::new(Shape::Sphere {
        centre: DVec3::ZERO,
        radius_mm: 6.0,
    });
    let document = &mut state.document;
    let region = document.add_region("Callosum".to_owned(), Role::Region, shape);
    let mut window = window(state, SIZE);
    click(&mut window, "Fibre orientations: not estimated");
    click(&mut window, "Responses, deconvolution, peaks");
    choose(&mut window, "Responses", "Each tissue");
    choose(&mut window, "White matter", "Callosum");
    choose(&mut window, "Grey matter", "Leave out");
    choose(&mut window, "CSF", "Leave out");
    let responses = |window: &Window| {
        let settings = &window.state().state.document.distributions.settings;
        settings.responses.clone()
    };
    let all = [
        TissueChoice::Region(region),
        TissueChoice::Omitted,
        TissueChoice::Omitted,
    ];
    assert_eq!(responses(&window), ResponseChoice::Each(all));
    // Only the order of the response has an effect.
    let has = |window: &Window, row: &str| window.query_all_by_label_contains(row).next().is_some();
    assert!(has(&window, "Response order"));
    assert!(!has(&window, "Grey matter share"));
    click(&mut window, "Estimate");
    let jobs = submitted::<EstimateFods>(&window);
    let asks_for = format!("{:?}", jobs[0].responses);
    assert!(asks_for.contains("Inside(Sphere"), "{asks_for}");
    assert!(!asks_for.contains("Csf"), "{asks_for}");
    choose(&mut window, "Responses", "Estimate");
    assert_eq!(responses(&window), ResponseChoice::Estimated);
}

/// An opened image of distributions, read in a layout or not.
fn with_image(mut state: State, layout: Option<OdfLayout>) -> (State, LayerId) {
    let grid = state
        .document
        .layers
        .iter()
        .find_map(|l| l.content.volume());
    let grid = grid.map_or_else(
        || Arc::new(Grid::axis_aligned([9, 9, 9], DVec3::ONE, DVec3::ZERO).expect("a grid")),
        |volume| volume.grid.clone(),
    );
    let loaded = Loaded::Scan {
        dwi: distributions::image(&grid),
        gradients: None,
        gradient_files: Vec::new(),
    };
    let mut file = opened_file("/data/sub_fod.nii.gz", loaded);
    file.reading.distributions = layout;
    update(&mut state, Action::Event(opened_event(1, file)));
    let document = &state.document;
    let mut layers = document.layers.iter();
    let layer = layers.find(|l| document.can_hold_fods(l).is_some());
    let id = layer.expect("an image").id;
    (state, id)
}

fn choose(window: &mut Window, row: &str, item: &str) {
    let row = window.get_by_role_and_label(egui::Role::ComboBox, row);
    row.click();
    window.run();
    // The list of layers has names, too.
    let item = window.get_by_role_and_label(egui::Role::MenuItem, item);
    item.click();
    window.run();
}

fn image_panel() {
    let (mut state, layer) = with_image(state(), None);
    state.view.task = Task::View;
    state.runtime.selected_layer = Some(layer);
    let mut window = window(state, SIZE);
    click(&mut window, "Use as distributions");
    // Nothing is known about its basis.
    assert_eq!(submitted::<CompareDistributions>(&window).len(), 1);
    assert!(submitted::<ReadFods>(&window).is_empty());
    choose(&mut window, "Harmonics", "MRtrix 3, world");
    let read = submitted::<ReadFods>(&window);
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].layout, OdfLayout::MRTRIX);
    choose(&mut window, "Harmonics", "Plain images");
    let document = &window.state().state.document;
    assert!(document.fod_image(layer).is_none());
    assert!(!document.distributions.settings.requested);
}

fn image_section() {
    let (state, layer) = with_image(with_distributions(), Some(OdfLayout::MRTRIX));
    let mut window = window(state, SIZE);
    choose(&mut window, "Distributions", "sub_fod");
    let source = |window: &Window| window.state().state.document.distributions.settings.source;
    assert_eq!(source(&window), FodSource::Image(layer));
    let job = submitted::<ReadFods>(&window)[0].clone();
    let grid = job.volume.grid.clone();
    let gradients = Gradients {
        b_s_per_mm2: Vec::new(),
        directions: Vec::new(),
    };
    let done = done_event(job, 7, Box::new(distributions::round(&grid, &gradients)));
    update(&mut window.state_mut().state, Action::Event(done));
    window.run();
    click(&mut window, "Fibre orientations: read from a file");
    window.get_by_label_contains("Nothing was deconvolved");
    window.get_by_label("Export distributions…");
    // Parameters of the deconvolution have no effect.
    click(&mut window, "Responses, deconvolution, peaks");
    let has = |row: &str| window.query_all_by_label_contains(row).next().is_some();
    assert!(has(peaks::Params::TABLE[0].label));
    assert!(!has(response::Params::TABLE[0].label));
    choose(&mut window, "Distributions", "Estimate from the scan");
    assert_eq!(source(&window), FodSource::Scan);
    // The estimated ones are known.
    window.get_by_label("Fibre orientations: 1 response");
    assert!(submitted::<EstimateFods>(&window).is_empty());
}

fn image_alone() {
    let (mut state, layer) = with_image(State::new(String::new()), Some(OdfLayout::MRTRIX));
    state.view.task = Task::Track;
    let mut window = window(state, SIZE);
    choose(&mut window, "Distributions", "sub_fod");
    let jobs = submitted::<ReadFods>(&window);
    let source = jobs[0].key.as_ref().map(|key| key.settings.source);
    assert_eq!(source, Some(FodSource::Image(layer)));
    click(&mut window, "Cancel");
    // The request is withdrawn; it can be made again.
    choose(&mut window, "Distributions", "sub_fod");
    assert_eq!(submitted::<ReadFods>(&window).len(), 2);
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
        let mut rows = window.query_all_by_label_contains("Minimum amplitude");
        rows.next().is_some()
    };
    assert!(has_cutoff(&window));
    click(&mut window, "Model: Tensors");
    assert_eq!(model_of(&window), Model::Tensors);
    assert!(!has_cutoff(&window));
    update(&mut window.state_mut().state, Action::Undo);
    window.run();
    assert_eq!(model_of(&window), Model::Distributions);
    // Rays follow the same model.
    click(&mut window, "Method: Geodesic rays");
    assert!(!is_disabled(&window, SWITCH));
    window.get_by_label_contains("Distributions use ");
}

fn no_model() {
    let mut state = state();
    state.document.distributions.settings.requested = true;
    let mut window = window(state, SIZE);
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
    let chosen = |window: &Window| window.state().state.document.track.odf.tissues;
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
    let sentence = |output: &Output| streamline_summary::rejected(output);
    assert_eq!(sentence(&output), None);
    output.seed_outcomes[SeedOutcome::EndsInCsf as usize] = 1_151;
    output.seed_outcomes[SeedOutcome::EndsInWhite as usize] = 1_552;
    output.stops[StopReason::EnteredCsf as usize] = 1_151;
    let text = sentence(&output).expect("a sentence");
    assert!(text.contains("151 streamlines that ended in CSF"), "{text}");
    assert!(text.contains("552 that ended in white matter"), "{text}");
}
