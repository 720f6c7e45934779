//! Every row of every parameter table is in the window, under its label.

use super::{Window, click, filter, pathways, segment, small_scan, tracking, window};
use crate::support::test;
use arcuate::parameters::Parameters;
use arcuate::solvers::level_set::TargetParts;
use arcuate::solvers::{commit, curves, density, geodesic, level_set, metric, pathway, tensor_fit};
use arcuate::state::Task;
use arcuate::state::pathways::SurfaceUse;
use arcuate::state::track::types::RayCount;
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::parameters::pathways", of_pathways),
        test("ui::parameters::costly regions", of_costly_regions),
        test("ui::parameters::segmentation", of_segmentation),
        test(
            "ui::parameters::target and tolerance in the unit of the image",
            in_the_unit_of_the_image,
        ),
        test("ui::parameters::tensor fit", of_tensor_fit),
        test("ui::parameters::COMMIT", of_commit),
        test("ui::parameters::streamlines", of_streamlines),
        test("ui::parameters::rays", ray_rows),
        test("ui::parameters::density", of_density),
        test("ui::parameters::a choice disables rows", disabled),
    ]
}

/// The whole panel is visible.
const SIZE: [f32; 2] = [1920.0, 1700.0];

/// Finds the label of every row.
fn reachable<P: Parameters>(window: &Window) {
    reachable_but::<P>(window, &[]);
}

/// Finds the label of every row except those that represent others or have no effect now.
fn reachable_but<P: Parameters>(window: &Window, but: &[&str]) {
    for row in P::TABLE.iter().filter(|row| !but.contains(&row.key)) {
        let found = window.query_all_by_label_contains(row.label).next();
        assert!(found.is_some(), "no row for {} ({})", row.label, row.key);
    }
}

fn of_pathways() {
    let mut window = window(pathways::solved(), SIZE);
    click(&mut window, "Metric, local solver");
    reachable::<metric::Params>(&window);
    reachable::<pathway::Params>(&window);
    reachable::<pathway::Width>(&window);
}

/// The factor of costly regions has a row among the controls once there is one, and only one row.
fn of_costly_regions() {
    const LABEL: &str = "Costly regions ×";
    let rows = |window: &Window| window.query_all_by_label_contains(LABEL).count();
    let state = pathways::solved();
    let mut plain = window(state.clone(), SIZE);
    assert_eq!(rows(&plain), 0);
    click(&mut plain, "Metric, local solver");
    let in_fold = rows(&plain);
    assert!(in_fold > 0);
    let mut state = state;
    state.document.pathways.surface_use = SurfaceUse::Costly;
    let mut costly = window(state, SIZE);
    assert_eq!(rows(&costly), in_fold);
    click(&mut costly, "Metric, local solver");
    assert_eq!(rows(&costly), in_fold);
}

fn of_tensor_fit() {
    let mut state = small_scan();
    state.view.task = Task::View;
    let mut window = window(state, SIZE);
    click(&mut window, "Tensor fit");
    reachable::<tensor_fit::Params>(&window);
}

fn of_commit() {
    let mut window = filter::filtering();
    click(&mut window, "Diffusivities");
    click(&mut window, "Signal, stopping, operator");
    reachable::<commit::Params>(&window);
}

fn of_streamlines() {
    let mut window = window(tracking(), SIZE);
    click(&mut window, "Deflection, integrator, seeding");
    // Both lengths share one row, composite values are split, and there are no two targets or includes.
    let but = [
        "min-length",
        "max-length",
        "max-steps",
        "deflect",
        "targets",
        "includes",
    ];
    reachable_but::<curves::Params>(&window, &but);
    reachable_but::<curves::SeedingParts>(&window, &["spacing", "per-voxel"]);
    reachable_but::<curves::DeflectionParts>(&window, &["f", "g"]);
    click(&mut window, "Direction: Deflected");
    reachable::<curves::DeflectionParts>(&window);
}

fn ray_rows() {
    let mut window = window(tracking(), SIZE);
    click(&mut window, "Method: Geodesic rays");
    click(&mut window, "Directions, integrator, precision");
    reachable_but::<geodesic::Rays>(&window, &["keep-every", "cut"]);
    reachable_but::<geodesic::DirectionParts>(&window, &["level"]);
    reachable_but::<geodesic::SharpeningParts>(&window, &["power"]);
    reachable::<RayCount>(&window);
}

fn of_density() {
    let mut window = window(tracking(), SIZE);
    click(&mut window, "Density map");
    // The row Value represents both.
    reachable_but::<density::Params>(&window, &["measure", "sent"]);
    reachable::<density::Voxels>(&window);
    window.get_by_label("Value: Count");
}

fn of_segmentation() {
    let mut window = segment::segmenting();
    click(&mut window, "More forces");
    reachable::<level_set::Params>(&window);
    reachable::<TargetParts>(&window);
}

/// T and ε are in the unit of the image, and stored without it.
fn in_the_unit_of_the_image() {
    let mut window = segment::segmenting();
    let document = &mut window.state_mut().state.document;
    let id = document.segmented_image().map(|(layer, _)| layer.id);
    let layer = document.layers.iter_mut().find(|l| Some(l.id) == id);
    let layer = Arc::make_mut(layer.expect("an image"));
    (layer.unit, layer.unit_scale) = ("µm²/ms", 1e3);
    window.run();
    segment::field(&mut window, "Target T", "500");
    segment::field(&mut window, "Tolerance ε", "200");
    let params = &window.state().state.document.segment.settings.params;
    assert_eq!((params.target, params.tolerance), (0.5, 0.2));
}

/// A row without an effect gives the reason, and its value returns with the choice.
fn disabled() {
    let mut state = pathways::solved();
    state.document.pathways.params.metric.alpha = 4.5;
    state.document.pathways.params.metric.cost = metric::Cost::Inverse;
    let mut window = window(state, SIZE);
    window.get_by_label("Sharpening α: only the sharpened metric has it");
    click(&mut window, "Metric, local solver");
    click(&mut window, "Metric");
    click(&mut window, "Sharpened");
    let params = window.state().state.document.pathways.params;
    assert_eq!(params.metric, metric::Params::sharpened(4.5));
}
