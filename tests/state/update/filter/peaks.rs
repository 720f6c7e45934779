//! The peaks of fibre orientation distributions as directions of the water around fibres.

use super::{Loaded, Window, act, file, fitted_weights, opened};
use crate::support::{distributions, test};
use arcuate::data::odf_field::Tissue;
use arcuate::data::{Grid, Mask, PeakField, Role, Shape, Volume, VolumeKind};
use arcuate::jobs::{Delivery, Outcome};
use arcuate::state::filter::jobs::FitWeights;
use arcuate::state::filter::{ChosenPeaks, FilterAction, GivenPeaks};
use arcuate::state::methods::methods;
use arcuate::state::tensors::jobs::fod::{EstimateFods, FOD};
use arcuate::state::tensors::types::fods::{Fods, TissueChoice};
use arcuate::state::track::types::odf::Model;
use arcuate::state::{Action, Event, LayerId, Task, TensorAction, TrackAction, ViewAction, update};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::filter::peaks_of_distributions", chosen),
        test("update::filter::other_peaks_are_stale", switched),
        test("update::filter::the_choice_of_peaks_is_stored", stored),
        test("update::filter::distributions_are_estimated_once", chained),
        test(
            "update::filter::a_drawn_response_has_no_command",
            without_file,
        ),
        test("update::filter::own_maps_are_no_peaks", own_maps),
        test("update::filter::dyads_are_no_peaks", dyads),
    ]
}

const OF_FODS: Option<ChosenPeaks> = Some(GivenPeaks::Distributions(()));

/// Requests distributions with so many peaks in a voxel; their estimation, which does not run.
fn request(window: &mut Window, count: usize) -> EstimateFods {
    distributions::requested(&mut window.state, |settings| {
        settings.peak_params.count = count;
    })
}

/// A large peak along y and a smaller one along x in every voxel.
fn two_peaks(grid: &Arc<Grid>) -> PeakField {
    let plane = |value: f32| vec![value; grid.voxel_count()];
    let values = [0.0, 1.0, 0.0, 0.4, 0.0, 0.0].map(plane).concat();
    PeakField::new(grid.clone(), 2, values)
}

/// The estimation ends with these peaks.
fn end(window: &mut Window, job: EstimateFods) {
    let grid = job.dwi.grid.clone();
    let fods = Fods {
        peaks: Some(two_peaks(&grid)),
        ..distributions::round(&grid, &job.gradients)
    };
    let delivery = Delivery {
        slot: FOD,
        ticket: 7,
        wall_ms: 1.0,
        outcome: Outcome::Done(Box::new(fods)),
    };
    window.act(Action::Event(Event::new(job, delivery)));
}

fn choose(window: &mut Window, peaks: Option<ChosenPeaks>) {
    act(window, FilterAction::Peaks(peaks));
}

fn blocked(window: &Window) -> String {
    window.state.cannot_filter().unwrap_or_default()
}

/// The number of volumes of the peaks that the last fit was given.
fn given_volumes(window: &Window) -> Option<usize> {
    let fit = window.jobs_of::<FitWeights>().next_back().expect("a fit");
    fit.peaks.as_ref().map(|peaks| peaks.frames)
}

fn chosen() {
    let mut window = opened();
    choose(&mut window, OF_FODS);
    let missing = "There are no fibre orientation distributions with peaks";
    assert!(
        blocked(&window).starts_with(missing),
        "{}",
        blocked(&window)
    );
    act(&mut window, FilterAction::Run);
    assert!(window.jobs_of::<FitWeights>().next().is_none());
    let job = request(&mut window, 3);
    assert!(blocked(&window).contains("are still being estimated"));
    end(&mut window, job);
    assert_eq!(window.state.cannot_filter(), None);
    act(&mut window, FilterAction::Run);
    assert_eq!(given_volumes(&window), Some(6));
    let origin = window.state.document.fod_peaks().expect("peaks").0;
    let inputs = window.state.document.fit_inputs(fitted_weights(&window));
    let peaks = inputs.expect("inputs").peaks;
    assert_eq!(peaks, Some(GivenPeaks::Distributions(origin)));
    assert!(!window.state.weights_are_stale());
    let text = methods(&window.state);
    for part in [
        "along the peaks of the fibre orientation distributions",
        "at most 3 in a voxel",
        "Investigating the prevalence",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let line = arcuate::state::update::filter_command(&window.state);
    let command = line.expect("a command line").text();
    for part in [
        "arcuate fod /data/scan.nii.gz ",
        " --maps peaks --out fod && arcuate commit /data/lines.trx ",
        " --peaks fod/peaks.nii.gz ",
    ] {
        assert!(command.contains(part), "{part}: {command}");
    }
}

fn weights(window: &Window) -> Vec<f32> {
    let document = &window.state.document;
    let (layer, _) = document.filtered().expect("streamlines");
    let (_, weights) = document.weights_of_layer(layer).expect("weights");
    weights.to_vec()
}

/// Other peaks make the weights stale, and undo makes them current again; so do other distributions.
fn switched() {
    let mut window = opened();
    let job = request(&mut window, 3);
    end(&mut window, job);
    choose(&mut window, OF_FODS);
    act(&mut window, FilterAction::Run);
    let fitted = weights(&window);
    choose(&mut window, None);
    assert_eq!(window.state.history.undo_label(), Some("Peaks"));
    assert!(window.state.weights_are_stale());
    // They stay, and are dimmed.
    assert_eq!(weights(&window), fitted);
    let layer = window.state.document.filtered().map(|(layer, _)| layer.id);
    assert_eq!(window.state.layer_of_stale_weights(), layer);
    window.act(Action::Undo);
    assert_eq!(window.state.document.filter.peaks, OF_FODS);
    assert!(!window.state.weights_are_stale());
    assert_eq!(weights(&window), fitted);
    assert_eq!(window.state.layer_of_stale_weights(), None);
    // The estimation that runs has not changed them yet.
    let job = request(&mut window, 2);
    assert!(!window.state.weights_are_stale());
    assert!(blocked(&window).contains("are still being estimated"));
    end(&mut window, job);
    assert!(window.state.weights_are_stale());
    choose(&mut window, None);
    act(&mut window, FilterAction::Run);
    assert_eq!(given_volumes(&window), None);
    assert!(!window.state.weights_are_stale());
    // A layer that is gone leaves the tensors.
    choose(&mut window, Some(GivenPeaks::Image(LayerId(9999))));
    assert!(window.state.document.filter_peaks().is_none());
    // Sticks alone have no water around them: no peaks are awaited.
    choose(&mut window, OF_FODS);
    // Those with 3 peaks are still known: they would not be estimated again.
    let _ = request(&mut window, 4);
    super::set(&mut window, |p| p.model.extra.clear());
    assert_eq!(window.state.cannot_filter(), None);
}

/// A session holds the choice in one word, and reads those without it.
fn stored() {
    let mut window = opened();
    let read = |text: &str| {
        let read: arcuate::state::filter::Filtering = serde_json::from_str(text).expect("settings");
        read.peaks
    };
    assert_eq!(read("{}"), None);
    assert_eq!(read(r#"{"peaks": null}"#), None);
    for peaks in [OF_FODS, Some(GivenPeaks::Image(LayerId(3)))] {
        choose(&mut window, peaks);
        let text = serde_json::to_string(&window.state.document.filter).expect("JSON");
        assert_eq!(read(&text), peaks, "{text}");
    }
}

/// The estimation ends with crossing bundles; streamlines along them are kept, and are to be filtered by their peaks.
fn keep_along(window: &mut Window, job: EstimateFods) {
    let grid = job.dwi.grid.clone();
    let fods = Fods {
        peaks: Some(two_peaks(&grid)),
        ..distributions::crossing(&grid, &job.gradients, 20.0)
    };
    window.act(distributions::estimated(job, fods));
    window.place(Role::Seed, DVec3::ZERO);
    window.act(Action::Track(TrackAction::SetModel(Model::Distributions)));
    window.act(Action::Track(TrackAction::Keep));
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    choose(window, OF_FODS);
    let kept = window
        .state
        .document
        .layer_named("Streamlines")
        .expect("kept");
    let filtered = window.state.document.filtered().expect("streamlines").0;
    assert_eq!(filtered.id, kept.id);
}

/// The command line of weights estimates distributions once, for the streamlines and for the peaks.
fn chained() {
    let mut window = Window::fitted();
    let job = request(&mut window, 3);
    keep_along(&mut window, job);
    let line = arcuate::state::update::filter_command(&window.state);
    let text = line.expect("a command line").text();
    assert_eq!(text.matches("arcuate fod ").count(), 1, "{text}");
    for part in [
        " --maps peaks --out fod && arcuate track --fod fod/wm_fod.nii.gz ",
        " --out tracks.trx && arcuate commit tracks.trx /data/scan.nii.gz ",
        " --peaks fod/peaks.nii.gz ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Response functions that were measured in a region without a file: no command names that region as a file.
fn without_file() {
    let mut window = Window::fitted();
    let job = request(&mut window, 3);
    let mask = Mask::new(job.dwi.grid.clone(), vec![1; job.dwi.grid.voxel_count()]);
    let shape = Arc::new(Shape::Mask(mask));
    let document = &mut window.state.document;
    let drawn = document.add_region("Drawn".to_owned(), Role::Region, shape);
    let action = Action::Tensors(TensorAction::SetResponse {
        tissue: Tissue::WhiteMatter,
        choice: TissueChoice::Region(drawn),
    });
    let effects = update(&mut window.state, action);
    let mut jobs = effects.iter().filter_map(|e| e.job::<EstimateFods>());
    let job = jobs.next().expect("an estimation").clone();
    keep_along(&mut window, job);
    let document = &window.state.document;
    let of_layer = |name: &str| document.command_line(document.layer_named(name).expect(name));
    let of_weights = arcuate::state::update::filter_command(&window.state);
    for line in [
        of_layer("AFD"),
        of_layer("Streamlines"),
        of_weights.expect("a command line"),
    ] {
        let why = line.no_command().unwrap_or_default();
        assert!(why.contains("“Drawn” is a mask without a file"), "{line:?}");
        assert!(!line.text().contains("arcuate fod"), "{}", line.text());
    }
}

/// Maps with three volumes that the program computes are not offered as images of peaks.
fn own_maps() {
    let mut window = opened();
    let job = request(&mut window, 3);
    let grid = job.dwi.grid.clone();
    let mut fods = distributions::round(&grid, &job.gradients);
    let values = vec![0.3; 3 * grid.voxel_count()];
    fods.maps.as_mut().expect("maps").dec = Volume::new(grid, 3, VolumeKind::Scalar, values);
    window.act(distributions::estimated(job, fods));
    let document = &window.state.document;
    for name in ["DEC", "DEC of fibres"] {
        let map = document.layer_named(name).expect(name);
        assert!(!document.can_be_peaks(map), "{name}");
    }
}

/// FSL's unit vectors along the axes of its bvec are not offered as peaks along the axes of the world.
fn dyads() {
    let mut window = opened();
    let grid = window.tensors().field.grid.clone();
    for (name, can_be) in [("peaks", true), ("dyads1", false), ("sub-1_dyads2", false)] {
        let values = vec![0.5; 3 * grid.voxel_count()];
        let dwi = Volume::new(grid.clone(), 3, VolumeKind::Scalar, values);
        let loaded = Loaded::Scan {
            dwi,
            gradients: None,
            gradient_files: Vec::new(),
        };
        let event = file(&format!("/data/{name}.nii.gz"), loaded);
        window.act(Action::Event(event));
        let document = &window.state.document;
        let layer = document.layer_named(name).expect(name);
        assert_eq!(document.can_be_peaks(layer), can_be, "{name}");
    }
}
