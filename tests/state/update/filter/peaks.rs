//! The peaks of fibre orientation distributions as directions of the water around fibres.

use super::{Window, act, fitted_weights, opened};
use crate::support::{distributions, test};
use arcuate::data::PeakField;
use arcuate::jobs::{Delivery, Outcome};
use arcuate::state::filter::jobs::FitWeights;
use arcuate::state::filter::{ChosenPeaks, FilterAction, GivenPeaks};
use arcuate::state::methods::methods;
use arcuate::state::tensors::jobs::fod::{EstimateFods, FOD};
use arcuate::state::tensors::types::fods::Fods;
use arcuate::state::{Action, Event, LayerId, TensorAction, update};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::filter::peaks_of_distributions", chosen),
        test("update::filter::other_peaks_are_stale", switched),
        test("update::filter::the_choice_of_peaks_is_stored", stored),
    ]
}

const OF_FODS: Option<ChosenPeaks> = Some(GivenPeaks::Distributions(()));

/// Requests distributions with so many peaks in a voxel; their estimation, which does not run.
fn request(window: &mut Window, count: usize) -> EstimateFods {
    let mut settings = window.state.document.distributions.settings.clone();
    settings.requested = true;
    settings.peak_params.count = count;
    let action = Action::Tensors(TensorAction::SetFods(settings));
    let effects = update(&mut window.state, action);
    let mut jobs = effects.iter().filter_map(|e| e.job::<EstimateFods>());
    jobs.next().expect("an estimation").clone()
}

/// The estimation ends with a large peak along y and a smaller one along x in every voxel.
fn end(window: &mut Window, job: EstimateFods) {
    let grid = job.dwi.grid.clone();
    let plane = |value: f32| vec![value; grid.voxel_count()];
    let values = [0.0, 1.0, 0.0, 0.4, 0.0, 0.0].map(plane).concat();
    let fods = Fods {
        peaks: Some(PeakField::new(grid.clone(), 2, values)),
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
    assert!(blocked(&window).contains("are being estimated"));
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

/// Other peaks make the weights stale, and undo makes them current again; so do other distributions.
fn switched() {
    let mut window = opened();
    let job = request(&mut window, 3);
    end(&mut window, job);
    choose(&mut window, OF_FODS);
    act(&mut window, FilterAction::Run);
    choose(&mut window, None);
    assert_eq!(window.state.history.undo_label(), Some("Peaks"));
    assert!(window.state.weights_are_stale());
    window.act(Action::Undo);
    assert_eq!(window.state.document.filter.peaks, OF_FODS);
    assert!(!window.state.weights_are_stale());
    // The estimation that runs has not changed them yet.
    let job = request(&mut window, 2);
    assert!(!window.state.weights_are_stale());
    assert!(blocked(&window).contains("are being estimated"));
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
