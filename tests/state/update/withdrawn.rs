//! Requests of tensors and distributions that end without a result: what is in use stays, with its settings, and every
//! text describes it.

use super::{Window, file};
use crate::support::{distributions, test};
use arcuate::data::odf_field::Tissue;
use arcuate::data::spherical_harmonics::Basis;
use arcuate::data::{Grid, OdfField, OdfLayout, Role, Shape, TensorFrame, Volume, VolumeKind};
use arcuate::jobs::{Delivery, Outcome};
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::methods::methods;
use arcuate::state::sessions::saved;
use arcuate::state::tensors::jobs::fit::FIT;
use arcuate::state::tensors::jobs::fod::{EstimateFods, FOD, ReadFods};
use arcuate::state::tensors::types::fods::{FodSettings, FodSource, ResponseChoice, TissueChoice};
use arcuate::state::track::types::odf::Model;
use arcuate::state::{
    Action, Event, LayerId, Phase, RegionAction, Standing, State, TensorAction, TrackAction, update,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::withdrawn::a_stopped_estimation", stopped),
        test("update::withdrawn::a_failed_estimation", failed),
        test("update::withdrawn::a_first_estimation", first),
        test("update::withdrawn::a_region_stays_where_it_is", moved),
        test("update::withdrawn::a_refused_image", refused),
        test("update::withdrawn::a_first_image", first_image),
        test("update::withdrawn::another_basis", basis),
        test("update::withdrawn::response_files", responses),
        test("update::withdrawn::a_bootstrap_of_an_image", bootstrap),
        test("update::withdrawn::a_stopped_fit", fit),
    ]
}

/// Radius of the ball with crossing bundles, mm.
const BALL_MM: f64 = 20.0;

fn settings(state: &State) -> &FodSettings {
    &state.document.distributions.settings
}

fn field(state: &State) -> Option<arcuate::data::DataId> {
    state.document.distributions.field().map(OdfField::id)
}

fn undo_label(state: &State) -> Option<String> {
    state.history.undo_label().map(str::to_owned)
}

/// Streamlines of a seed along crossing bundles that were estimated.
fn tracked() -> Window {
    let mut window = Window::fitted();
    let job = distributions::requested(&mut window.state, |_| {});
    let fods = distributions::crossing(&job.dwi.grid, &job.gradients, BALL_MM);
    window.act(distributions::estimated(job, fods));
    window.place(Role::Seed, DVec3::ZERO);
    let model = TrackAction::SetModel(Model::Distributions);
    window.act(Action::Track(model));
    window.act(Action::Settle);
    assert_eq!(window.state.standing(), Some(Standing::Final));
    window
}

/// Requests another order; the estimation does not end.
fn another_order(window: &mut Window) -> EstimateFods {
    distributions::requested(&mut window.state, |settings| {
        settings.params.order = Some(2)
    })
}

fn end(job: &EstimateFods, why: &str) -> Action {
    let delivery = Delivery {
        slot: FOD,
        ticket: 7,
        wall_ms: 1.0,
        outcome: Outcome::Failed(why.to_owned().into()),
    };
    Action::Event(Event::new(job.clone(), delivery))
}

/// The settings, the streamlines, the session and the methods text are those of the distributions in use.
fn stopped() {
    let mut window = tracked();
    let (before, steps) = (settings(&window.state).clone(), undo_label(&window.state));
    let (text, known) = (methods(&window.state), field(&window.state));
    let content = |window: &Window| saved::draft(&window.state).content.value()["document"].clone();
    let saved_before = content(&window);
    another_order(&mut window);
    assert_ne!(window.state.standing(), Some(Standing::Final));
    // The streamlines still follow the earlier ones.
    assert_eq!(methods(&window.state), text);
    window.act(Action::CancelJob(FOD));
    assert!(window.cancelled.contains(&FOD));
    assert_eq!(settings(&window.state), &before);
    assert_eq!(field(&window.state), known);
    assert!(!window.state.document.lacks_requested_fods());
    assert_eq!(window.state.standing(), Some(Standing::Final));
    assert!(!window.state.live_is_stale());
    assert_eq!(methods(&window.state), text);
    assert_eq!(content(&window), saved_before);
    // The request leaves no step.
    assert_eq!(undo_label(&window.state), steps);
    // It can be made again.
    another_order(&mut window);
}

/// A failure says why, and undo leads past the request.
fn failed() {
    const WHY: &str = "Found an empty brain mask, expected voxels of the brain";
    let mut window = tracked();
    let (before, steps) = (settings(&window.state).clone(), undo_label(&window.state));
    let job = another_order(&mut window);
    window.act(end(&job, WHY));
    assert_eq!(settings(&window.state), &before);
    assert_eq!(window.state.standing(), Some(Standing::Final));
    assert_eq!(undo_label(&window.state), steps);
    let messages = &window.state.runtime.notices.messages;
    let says = |part: &str| messages.iter().any(|m| m.text.contains(part));
    assert!(
        says(WHY) && says("The earlier distributions stay in use"),
        "{messages:?}"
    );
    // A step in between stays, and the one below it requests nothing any more.
    let job = another_order(&mut window);
    window.place(Role::Target, DVec3::new(0.0, 10.0, 0.0));
    window.act(end(&job, WHY));
    assert_eq!(undo_label(&window.state).as_deref(), Some("Place region"));
    for _ in 0..2 {
        window.act(Action::Undo);
        assert_eq!(settings(&window.state), &before);
        assert!(window.state.runtime.tensors.fods.running().is_none());
    }
    assert_eq!(undo_label(&window.state), steps);
}

/// Without earlier distributions, a stopped request is as if it had not been made.
fn first() {
    let mut window = Window::fitted();
    let steps = undo_label(&window.state);
    let mut chosen = settings(&window.state).clone();
    chosen.params.order = Some(4);
    window.act(Action::Tensors(TensorAction::SetFods(chosen.clone())));
    assert_ne!(undo_label(&window.state), steps);
    distributions::requested(&mut window.state, |_| {});
    window.act(Action::CancelJob(FOD));
    assert_eq!(settings(&window.state), &chosen, "the order stays");
    assert!(window.state.document.requested_fods().is_none());
    // Choices for each tissue that change nothing are no other request.
    let job = distributions::requested(&mut window.state, |_| {});
    let round = distributions::round(&job.dwi.grid, &job.gradients);
    window.act(distributions::estimated(job, round));
    let each = FodSettings {
        responses: ResponseChoice::Each(Default::default()),
        ..settings(&window.state).clone()
    };
    window.act(Action::Tensors(TensorAction::SetFods(each)));
    assert!(!window.state.document.lacks_requested_fods());
    assert_eq!(window.jobs_of::<EstimateFods>().count(), 0, "none runs");
}

/// A stopped estimation moves no region back: the streamlines are out of date, and the text is about them.
fn moved() {
    let mut window = tracked();
    let region = window.state.document.add_region(
        "Corpus callosum".to_owned(),
        Role::Region,
        Arc::new(sphere(DVec3::ZERO)),
    );
    let job = distributions::requested(&mut window.state, |settings| {
        let white = TissueChoice::Region(region);
        settings.responses = settings.responses.with_tissue(Tissue::WhiteMatter, white);
    });
    let fods = distributions::crossing(&job.dwi.grid, &job.gradients, BALL_MM);
    window.act(distributions::estimated(job, fods));
    window.act(Action::Settle);
    assert_eq!(window.state.standing(), Some(Standing::Final));
    let shape = Action::Region(RegionAction::SetShape {
        region,
        shape: sphere(DVec3::X),
        phase: Phase::Done,
    });
    update(&mut window.state, shape);
    assert!(window.state.runtime.tensors.fods.running().is_some());
    window.act(Action::CancelJob(FOD));
    let document = &window.state.document;
    let now = document.region(region).expect("the region");
    assert_eq!(*now.shape, sphere(DVec3::X));
    assert!(document.lacks_requested_fods());
    assert!(window.state.runtime.tensors.fods.running().is_none());
    assert_eq!(window.state.standing(), Some(Standing::OutOfDate));
    assert!(window.state.live_is_stale());
    assert!(window.state.final_live().is_none());
    let text = methods(&window.state);
    assert!(
        text.contains("Fibre orientation distributions of order 8 were estimated"),
        "{text}"
    );
}

fn sphere(centre: DVec3) -> Shape {
    Shape::Sphere {
        centre,
        radius_mm: 6.0,
    }
}

/// Opens an image in the grid of the scan, whose path ends with this name.
fn open(window: &mut Window, name: &str, image: impl FnOnce(&Arc<Grid>) -> Volume) -> LayerId {
    let grid = window.tensors().field.grid.clone();
    let loaded = Loaded::Scan {
        dwi: image(&grid),
        gradients: None,
        gradient_files: Vec::new(),
    };
    window.act(Action::Event(file(&format!("/data/{name}.nii.gz"), loaded)));
    window.state.document.layer_named(name).expect("a layer").id
}

/// Coefficients that no distribution has: those of order 2 and above are too large for the mean.
fn noise(grid: &Arc<Grid>) -> Volume {
    let n = grid.voxel_count();
    let values: Vec<f32> = (0..15 * n).map(|i| if i < n { 1.0 } else { 5.0 }).collect();
    Volume::new(grid.clone(), 15, VolumeKind::Scalar, values)
}

fn read(layer: LayerId, layout: OdfLayout) -> Action {
    let layout = Some(layout);
    Action::Tensors(TensorAction::ReadDistributions { layer, layout })
}

/// The image in use stays; the refused one is a plain image again.
fn refused() {
    let mut window = Window::fitted();
    let good = open(&mut window, "wm", distributions::image);
    window.act(read(good, OdfLayout::MRTRIX));
    let known = field(&window.state);
    assert!(known.is_some());
    let bad = open(&mut window, "notfod", noise);
    let (before, steps) = (settings(&window.state).clone(), undo_label(&window.state));
    window.act(read(bad, OdfLayout::MRTRIX));
    assert!(window.jobs_of::<ReadFods>().count() >= 2);
    assert_eq!(settings(&window.state), &before);
    assert_eq!(settings(&window.state).source, FodSource::Image(good));
    assert_eq!(field(&window.state), known);
    assert!(
        window.state.document.fod_image(bad).is_none(),
        "a plain image"
    );
    assert_eq!(undo_label(&window.state), steps);
    let messages = &window.state.runtime.notices.messages;
    let says = |part: &str| messages.iter().any(|m| m.text.contains(part));
    assert!(
        says("notfod") && says("The earlier distributions stay in use"),
        "{messages:?}"
    );
    let text = methods(&window.state);
    assert!(
        text.contains("were read in") && text.contains("from wm ("),
        "{text}"
    );
    assert!(text.contains("The image was notfod"), "{text}");
    // The image in use is closed: the text still names it.
    let file = window.state.document.layer(good).cloned();
    window.state.document.layers.retain(|l| l.id != good);
    assert!(file.is_some() && methods(&window.state).contains("from wm.nii.gz ("));
}

/// Nothing was in use: nothing is.
fn first_image() {
    let mut window = Window::fitted();
    let bad = open(&mut window, "notfod", noise);
    let steps = undo_label(&window.state);
    window.act(read(bad, OdfLayout::MRTRIX));
    assert_eq!(settings(&window.state), &FodSettings::default());
    assert!(window.state.document.fod_image(bad).is_none());
    assert_eq!(field(&window.state), None);
    assert_eq!(undo_label(&window.state), steps);
    let messages = &window.state.runtime.notices.messages;
    let names = |part: &str| messages.iter().any(|m| m.text.contains(part));
    assert!(names("notfod") && !names("stay in use"), "{messages:?}");
}

/// A basis whose reading is stopped is not that of the image.
fn basis() {
    let mut window = Window::fitted();
    let image = open(&mut window, "wm", distributions::image);
    window.act(read(image, OdfLayout::MRTRIX));
    let known = field(&window.state);
    let legacy = OdfLayout {
        basis: Basis::DipyLegacy,
        frame: TensorFrame::World,
    };
    update(&mut window.state, read(image, legacy));
    window.act(Action::CancelJob(FOD));
    let document = &window.state.document;
    let layout = document.fod_image(image).map(|(_, _, layout)| layout);
    assert_eq!(layout, Some(OdfLayout::MRTRIX));
    assert!(!document.lacks_requested_fods());
    assert_eq!(field(&window.state), known);
}

/// Files are read before they become the choice.
fn responses() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str, text: &str| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path
    };
    let (good, bad) = (
        path("wm.txt", "900 -200 30\n"),
        path("bad_wm.txt", "one two\n"),
    );
    let mut window = tracked();
    let before = settings(&window.state).clone();
    let white = |file: &PathBuf| {
        Action::Tensors(TensorAction::SetResponse {
            tissue: Tissue::WhiteMatter,
            choice: TissueChoice::File(file.clone()),
        })
    };
    let all = TensorAction::ReadResponses(vec![bad.clone()]);
    for action in [white(&bad), Action::Tensors(all)] {
        window.act(action);
        assert_eq!(settings(&window.state), &before);
        assert_eq!(window.state.standing(), Some(Standing::Final));
        let messages = &window.state.runtime.notices.messages;
        assert!(
            messages.iter().any(|m| m.text.contains("bad_wm.txt")),
            "{messages:?}"
        );
    }
    assert_eq!(window.jobs_of::<EstimateFods>().count(), 0);
    window.holding = true;
    window.act(white(&good));
    window.deliver(|_| {});
    let chosen = settings(&window.state)
        .responses
        .of_tissue(Tissue::WhiteMatter);
    assert_eq!(chosen, Some(&TissueChoice::File(good)));
    assert_eq!(window.jobs_of::<EstimateFods>().count(), 1);
}

/// An image has no scan to repeat: the bootstrap is off while it is in use.
fn bootstrap() {
    let mut window = tracked();
    let params = Some(arcuate::solvers::odf_tracking::Params {
        repetitions: Some(3),
        ..window.state.document.odf_params()
    });
    let phase = Phase::Done;
    // The streamlines are not needed.
    update(
        &mut window.state,
        Action::Track(TrackAction::SetOdfParams { params, phase }),
    );
    let repetitions = |window: &Window| window.state.document.odf_params().repetitions;
    assert_eq!(repetitions(&window), Some(3));
    let image = open(&mut window, "wm", distributions::image);
    window.act(read(image, OdfLayout::MRTRIX));
    window.act(Action::Settle);
    assert_eq!(repetitions(&window), None);
    assert_eq!(window.state.document.track_repetitions(), None);
    assert_eq!(window.state.runtime.track.live.failure(), None);
    assert_eq!(window.state.standing(), Some(Standing::Final));
    let use_scan = TensorAction::UseDistributions(FodSource::Scan);
    update(&mut window.state, Action::Tensors(use_scan));
    assert_eq!(repetitions(&window), Some(3));
}

/// A stopped fit keeps the tensors in use and their settings.
fn fit() {
    let mut window = Window::fitted();
    window.place(Role::Seed, DVec3::ZERO);
    window.act(Action::Settle);
    let (before, text) = (window.state.document.fit.clone(), methods(&window.state));
    let steps = undo_label(&window.state);
    window.holding = true;
    window.ordinary();
    assert_ne!(window.state.document.fit, before);
    window.act(Action::CancelJob(FIT));
    window.pending.clear();
    assert_eq!(window.state.document.fit, before);
    assert!(!window.state.awaits_fit());
    assert_eq!(window.state.standing(), Some(Standing::Final));
    assert_eq!(methods(&window.state), text);
    assert_eq!(undo_label(&window.state), steps);
}
