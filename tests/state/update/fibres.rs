//! The model that streamlines follow: tensors or fibre orientation distributions, with tissues for anatomical rules.

use super::{Window, file};
use crate::support::{distributions, test};
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::data::{Role, Shape};
use arcuate::solvers::curves::{Output, SeedOutcome, Seeding, Starts, StopReason};
use arcuate::solvers::odf_tracking::{Method, Params};
use arcuate::state::core::live::Standing;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::methods::methods;
use arcuate::state::sessions::jobs::RecomputeCurves;
use arcuate::state::track::empty;
use arcuate::state::track::jobs::odf_streamlines::TrackOdfStreamlines;
use arcuate::state::track::jobs::streamlines::{LiveTracking, Streamlines as _, TrackWholeBrain};
use arcuate::state::track::types::odf::Model;
use arcuate::state::track::types::{CurveKind, CurveResult};
use arcuate::state::{
    Action, CommandLine, Content, LayerAction, LayerId, Phase, RegionAction, State, TrackAction,
    WholeBrain,
};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::fibres::the_model_is_a_step", switched),
        test("update::fibres::both_bundles_are_tracked", bundles),
        test("update::fibres::dragging_is_coarse", dragged),
        test("update::fibres::threads_change_nothing", threads),
        test("update::fibres::tissues_reject_by_rules", rules),
        test("update::fibres::missing_tissues_are_no_rules", missing),
        test(
            "update::fibres::each_seed_that_does_not_start_has_a_reason",
            not_started,
        ),
        test("update::fibres::defaults_follow_the_choices", defaults),
        test("update::fibres::a_command_and_methods_tell", described),
        test("update::fibres::kept_ones_are_recomputed", recomputed),
        test("update::fibres::the_whole_brain", whole_brain),
        test("update::fibres::a_bootstrap_needs_the_scan", bootstrap),
    ]
}

/// Radius of the ball with crossing bundles, mm.
const BALL_MM: f64 = 20.0;
/// Half the width of its white matter, mm.
const WHITE_MM: f64 = 12.0;

fn set_model(window: &mut Window, model: Model) {
    window.act(Action::Track(TrackAction::SetModel(model)));
}

/// A fitted scan with a seed, and distributions of two bundles that cross in every voxel.
fn estimated() -> Window {
    let mut window = Window::fitted();
    let job = distributions::requested(&mut window.state, |_| {});
    let fods = distributions::crossing(&job.dwi.grid, &job.gradients, BALL_MM);
    window.act(distributions::estimated(job, fods));
    window.place(Role::Seed, DVec3::ZERO);
    window
}

fn tracked() -> Window {
    let mut window = estimated();
    set_model(&mut window, Model::Distributions);
    window
}

/// Adds the tissues of the ball, and chooses them.
fn with_tissues(window: &mut Window) -> LayerId {
    let grid = window.tensors().field.grid.clone();
    let loaded = Loaded::Scan {
        dwi: distributions::tissues(&grid, WHITE_MM),
        gradients: None,
        gradient_files: Vec::new(),
    };
    window.act(Action::Event(file("/data/5tt.nii.gz", loaded)));
    let layers: Vec<LayerId> = window
        .state
        .document
        .tissue_layers()
        .map(|l| l.id)
        .collect();
    let [layer] = layers[..] else {
        panic!("{layers:?}");
    };
    window.act(Action::Track(TrackAction::SetTissues(Some(layer))));
    let text = methods(&window.state);
    assert!(text.contains("The tissue image was 5tt"), "{text}");
    layer
}

fn live(state: &State) -> &CurveResult {
    let why = state.runtime.track.live.failure();
    let live = state.runtime.track.live.value();
    live.unwrap_or_else(|| panic!("no live result: {why:?}"))
}

/// The live jobs along distributions.
fn live_jobs(window: &Window) -> Vec<&TrackOdfStreamlines> {
    let jobs = window.jobs_of::<LiveTracking<TrackOdfStreamlines>>();
    jobs.map(|LiveTracking(track)| track).collect()
}

fn kind(window: &Window) -> CurveKind {
    live(&window.state).key.curves.kind()
}

fn switched() {
    let mut window = estimated();
    assert_eq!(kind(&window), CurveKind::Streamlines);
    let tensors = live(&window.state).output.kept.points.clone();
    set_model(&mut window, Model::Distributions);
    assert_eq!(kind(&window), CurveKind::OdfStreamlines);
    assert_eq!(window.state.standing(), Some(Standing::Final));
    assert!(!live(&window.state).output.kept.is_empty());
    window.act(Action::Undo);
    assert_eq!(window.state.document.track.model, Model::Tensors);
    assert_eq!(kind(&window), CurveKind::Streamlines);
    assert_eq!(live(&window.state).output.kept.points, tensors);
    window.act(Action::Redo);
    assert_eq!(kind(&window), CurveKind::OdfStreamlines);
    // Without distributions there is nothing to follow.
    let mut bare = Window::fitted();
    bare.place(Role::Seed, DVec3::ZERO);
    set_model(&mut bare, Model::Distributions);
    assert!(bare.state.runtime.track.live.value().is_none());
    assert!(bare.state.runtime.track.live.failure().is_none());
}

/// Whether a streamline runs along x, by its ends.
fn runs_along_x(line: &[[f32; 3]]) -> bool {
    let (first, last) = (line[0], line[line.len() - 1]);
    (first[0] - last[0]).abs() > (first[1] - last[1]).abs()
}

fn bundles() {
    let window = tracked();
    let kept = &live(&window.state).output.kept;
    let along_x = (0..kept.len())
        .filter(|i| runs_along_x(kept.streamline(*i)))
        .count();
    let share = along_x as f64 / kept.len() as f64;
    // Of about a thousand, either with the same chance.
    assert!((0.3..0.7).contains(&share), "{along_x} of {}", kept.len());
    assert!(kept.per_streamline.contains_key("length"));
    assert!(!kept.per_point.contains_key("fa"));
}

fn dragged() {
    let mut window = tracked();
    let coarse =
        |window: &Window| -> Vec<bool> { live_jobs(window).iter().map(|job| job.coarse).collect() };
    let full = live(&window.state).seeds;
    assert_eq!(full, 2_000);
    let before = coarse(&window).len();
    let seed = window.state.document.regions[0].id;
    let shape = Shape::Sphere {
        centre: DVec3::X,
        radius_mm: 5.0,
    };
    window.act(Action::Region(RegionAction::SetShape {
        region: seed,
        shape,
        phase: Phase::Live,
    }));
    let shown = live(&window.state);
    assert!(shown.coarse && shown.seeds < full, "{}", shown.seeds);
    window.act(Action::Settle);
    window.act(Action::Settle);
    let requests = &coarse(&window)[before..];
    assert!(requests[0] && requests.ends_with(&[false]), "{requests:?}");
    assert_eq!(window.state.standing(), Some(Standing::Final));
    // The distributions are prepared once.
    let jobs = live_jobs(&window);
    let [.., first, second] = jobs[..] else {
        panic!("{}", jobs.len());
    };
    assert!(Arc::ptr_eq(
        &first.distributions.prepared,
        &second.distributions.prepared
    ));
    assert!(first.distributions.prepared.get().is_some());
}

fn threads() {
    let mut window = tracked();
    with_tissues(&mut window);
    let job = *live_jobs(&window).last().expect("a job");
    let control = Control::new();
    let points = |threads: usize| {
        let backend = Backend::choose(&BackendChoice::cpu(Some(threads))).expect("a backend");
        let output = job.clone().track(&backend, &control);
        let output = output.unwrap_or_else(|_| panic!("no streamlines"));
        (output.kept.points.to_vec(), output.stops)
    };
    assert_eq!(points(1), points(3));
}

fn rules() {
    let mut window = tracked();
    let free = live(&window.state).output.clone();
    assert_eq!(free.seed_outcomes[SeedOutcome::EndsInCsf as usize], 0);
    with_tissues(&mut window);
    // Going back would turn some of them into the other bundle.
    let params = Some(Params {
        back_track: false,
        ..window.state.document.odf_params()
    });
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetOdfParams { params, phase }));
    let ruled = live(&window.state).output.clone();
    let rejected = ruled.seed_outcomes[SeedOutcome::EndsInCsf as usize];
    assert!(rejected > 100, "{:?}", ruled.seed_outcomes);
    assert!(ruled.stops[StopReason::CorticalGrey as usize] > 100);
    assert!(!ruled.kept.is_empty());
    for i in 0..ruled.kept.len() {
        let line = ruled.kept.streamline(i);
        for end in [line[0], line[line.len() - 1]] {
            assert!(f64::from(end[1].abs()) > WHITE_MM, "{end:?} of {i}");
        }
    }
    let all: u64 = ruled.seed_outcomes.iter().sum();
    assert_eq!(all, 2_000, "every seed has its outcome");
    window.act(Action::Undo);
    window.act(Action::Undo);
    assert_eq!(live(&window.state).output.kept.points, free.kept.points);
}

/// Seeds in CSF, in cortical grey matter and where there is no distribution are counted apart, and add up.
fn not_started() {
    let mut window = tracked();
    let place = |window: &mut Window, radius_mm: f64| {
        let region = window.state.document.regions[0].id;
        let centre = DVec3::ZERO;
        let shape = Shape::Sphere { centre, radius_mm };
        let phase = Phase::Done;
        window.act(Action::Region(RegionAction::SetShape {
            region,
            shape,
            phase,
        }));
        live(&window.state).output.clone()
    };
    let failed = |output: &Output| output.seed_outcomes[SeedOutcome::NoStart as usize];
    let sum = |starts: &Starts| starts.failed().iter().map(|(_, n)| n).sum::<u64>();
    let beyond = place(&mut window, 1.2 * BALL_MM);
    let starts = beyond.starts.expect("reasons");
    assert!(failed(&beyond) > 0);
    // The sphere is wider than the grid.
    let both = starts.outside_volume + starts.low_amplitude;
    assert_eq!(both, failed(&beyond), "{starts:?}");
    assert!(starts.low_amplitude > 0, "{starts:?}");
    with_tissues(&mut window);
    let ruled = place(&mut window, 1.3 * WHITE_MM);
    let starts = ruled.starts.expect("reasons");
    assert_eq!(sum(&starts), failed(&ruled), "{starts:?}");
    assert!(
        starts.in_csf > 0 && starts.in_cortical_grey > 0,
        "{starts:?}"
    );
    assert_eq!(starts.min_amplitude, Some(0.05));
    let text = empty::not_started(&ruled, "the mask").expect("reasons");
    for reason in [" in CSF", " in cortical grey matter"] {
        assert!(text.contains(reason), "{text}");
    }
    // All start in the middle.
    let inside = place(&mut window, 3.0);
    assert_eq!((failed(&inside), inside.starts), (0, None));
    assert_eq!(empty::not_started(&inside, "the mask"), None);
}

/// Tissues that are gone must not turn into no rules unnoticed.
fn missing() {
    let mut window = tracked();
    let layer = with_tissues(&mut window);
    window.act(Action::Layer(LayerAction::Delete(layer)));
    assert_eq!(window.state.document.track.odf.tissues, Some(layer));
    assert!(window.state.document.curve_key().is_none());
    assert!(window.state.final_live().is_none());
    window.act(Action::Track(TrackAction::WholeBrain));
    assert_eq!(
        window
            .jobs_of::<TrackWholeBrain<TrackOdfStreamlines>>()
            .count(),
        0
    );
    window.act(Action::Undo);
    assert!(window.state.final_live().is_some());
}

/// Values that the user has not chosen follow the method and the tissues; others stay.
fn defaults() {
    let mut window = tracked();
    let params = |window: &Window| window.state.document.odf_params();
    let first = params(&window);
    assert_eq!((first.step_mm, first.min_amplitude), (1.0, 0.1));
    assert_eq!(first.method, Method::Probabilistic);
    let set = |window: &mut Window, params: Params| {
        let (params, phase) = (Some(params), Phase::Done);
        window.act(Action::Track(TrackAction::SetOdfParams { params, phase }));
    };
    let mut changed = first.clone();
    changed.method = Method::Deterministic;
    set(&mut window, changed);
    let angle = |window: &Window| params(window).max_angle_rad.to_degrees().round();
    assert_eq!(angle(&window), 60.0);
    let mut changed = params(&window);
    changed.max_angle_rad = 50f64.to_radians();
    set(&mut window, changed);
    with_tissues(&mut window);
    assert_eq!(angle(&window), 50.0, "the user's");
    assert_eq!(params(&window).min_amplitude, 0.05);
    let undone = window.state.history.undo_label().map(str::to_owned);
    assert_eq!(undone.as_deref(), Some("Tissues"));
    window.act(Action::Track(TrackAction::SetOdfParams {
        params: None,
        phase: Phase::Done,
    }));
    window.act(Action::Track(TrackAction::SetTissues(None)));
    assert_eq!(params(&window), first);
}

fn described() {
    let mut window = tracked();
    let layer = with_tissues(&mut window);
    window.act(Action::Track(TrackAction::Keep));
    let state = &window.state;
    let kept = state
        .document
        .layer_named("Streamlines")
        .expect("kept")
        .clone();
    let line = state.document.command_line(&kept);
    assert!(matches!(line, CommandLine::OdfStreamlines(_)), "{line:?}");
    let text = line.text_to("tracks.trx".as_ref());
    for part in [
        "arcuate fod /data/scan.nii.gz ",
        " --out fod && arcuate track --fod fod/wm_fod.nii.gz --tissues /data/5tt.nii.gz --seed ",
        " --method probabilistic",
        " --cutoff 0.05",
        " --out tracks.trx",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let text = methods(state);
    for part in [
        "along the fibre orientation distributions by arcs of second order",
        "According to the tissues in",
        "Anatomically-constrained tractography",
        "2nd order integration",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let recipe = state.document.curve_recipe(kept.id).expect("a recipe");
    assert_eq!(recipe.tissues.map(|input| input.layer), Some(layer));
}

/// The recipe of a kept layer gives the same streamlines, in the distributions of the document.
fn recomputed() {
    let mut window = tracked();
    with_tissues(&mut window);
    window.act(Action::Track(TrackAction::Keep));
    let document = &window.state.document;
    let kept = document.layer_named("Streamlines").expect("kept").clone();
    let recipe = document.curve_recipe(kept.id).expect("a recipe").clone();
    let job = RecomputeCurves::new(document, kept.id.0, "Streamlines", &recipe).expect("inputs");
    let mut jobs = window.jobs;
    let job = jobs.submit(job);
    let event = jobs.wait(&job, |_| {});
    let Some(arcuate::jobs::Outcome::Done(output)) = event.outcome::<RecomputeCurves>() else {
        panic!("{event:?}");
    };
    let Content::Tractogram(before) = &kept.content else {
        panic!("streamlines");
    };
    assert_eq!(output.tractogram.points, before.points);
    assert_eq!(output.tractogram.per_streamline, before.per_streamline);
}

fn whole_brain() {
    let mut window = tracked();
    let few = WholeBrain {
        seeds: 300,
        ..WholeBrain::default()
    };
    window.act(Action::Track(TrackAction::SetWholeBrain {
        whole_brain: few,
        phase: Phase::Done,
    }));
    window.place(Role::Target, dvec3(60.0, 0.0, 0.0));
    window.act(Action::Track(TrackAction::WholeBrain));
    let jobs = window.jobs_of::<TrackWholeBrain<TrackOdfStreamlines>>();
    let TrackWholeBrain(job) = jobs.last().expect("the whole brain");
    assert_eq!(job.params.seeding, Seeding::Random { count: 300 });
    assert!(job.regions.is_empty());
    let layer = window.state.document.layers.last().expect("a layer");
    assert!(layer.name.starts_with("Whole brain"), "{}", layer.name);
    let recipe = window.state.document.curve_recipe(layer.id);
    let curves = &recipe.expect("a recipe").curves;
    assert_eq!(curves.kind(), CurveKind::OdfStreamlines);
}

/// A bootstrap gets the scan, and its residuals are computed once; a coarse result needs none. These distributions are not
/// those of the scan, which the sentence says.
fn bootstrap() {
    let mut window = tracked();
    let set = |window: &mut Window, repetitions: Option<usize>| {
        let params = Some(Params {
            repetitions,
            ..window.state.document.odf_params()
        });
        let phase = Phase::Done;
        window.act(Action::Track(TrackAction::SetOdfParams { params, phase }));
        window.act(Action::Settle);
    };
    let last = window
        .jobs_of::<LiveTracking<TrackOdfStreamlines>>()
        .last()
        .expect("a job");
    assert!(last.0.resample.is_none());
    set(&mut window, Some(2));
    set(&mut window, Some(3));
    let jobs = window.jobs_of::<LiveTracking<TrackOdfStreamlines>>();
    let inputs: Vec<_> = jobs.filter_map(|job| job.0.resample.clone()).collect();
    assert!(inputs.len() >= 2, "{}", inputs.len());
    let (first, second) = (&inputs[0], &inputs[inputs.len() - 1]);
    assert!(Arc::ptr_eq(&first.residuals, &second.residuals));
    assert_eq!(first.params.order, Some(8));
    let coarse = window
        .jobs_of::<LiveTracking<TrackOdfStreamlines>>()
        .filter(|job| job.0.coarse);
    let with_bootstrap = coarse.filter(|job| job.0.params.repetitions.is_some());
    assert_eq!(with_bootstrap.count(), 0);
    assert!(window.state.runtime.track.live.failure().is_some());
    set(&mut window, None);
    assert!(window.state.runtime.track.live.failure().is_none());
    assert!(!live(&window.state).output.kept.is_empty());
}
