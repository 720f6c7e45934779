//! Streamlines along distributions in a session: their settings, tissues and recipe.

use super::origins;
use crate::support::session_window::Window;
use crate::support::{distributions, test};
use arcuate::compute::Control;
use arcuate::data::Role;
use arcuate::io::nifti;
use arcuate::jobs::Outcome;
use arcuate::solvers::curves::Seeding;
use arcuate::solvers::geodesic::Cut;
use arcuate::state::sessions::jobs::RecomputeCurves;
use arcuate::state::track::types::odf::Model;
use arcuate::state::{
    Action, Content, FilesAction, LayerId, Method, Phase, State, TensorAction, TrackAction,
};
use glam::dvec3;
use libtest_mimic::Trial;
use serde_json::Value;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "sessions::streamlines along distributions are restored",
            fibres,
        ),
        test("sessions::rays along distributions are restored", rays),
        test(
            "sessions::distributions and streamlines along them are computed again",
            reopened,
        ),
    ]
}

/// The model, its settings, the tissues, and kept streamlines with their recipe.
fn fibres() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let job = distributions::requested(&mut window.state, |_| {});
    let fods = distributions::crossing(&job.dwi.grid, &job.gradients, 16.0);
    let tissues = distributions::tissues(&job.dwi.grid, 10.0);
    window.act(distributions::estimated(job, fods));
    let path = folder.path().join("5tt.nii.gz");
    nifti::save_volume(&path, &tissues, "made", &Control::new()).expect("saved");
    window.act(Action::Files(FilesAction::Open(vec![path])));
    let layers = window.state.document.tissue_layers().map(|l| l.id);
    let layers: Vec<LayerId> = layers.collect();
    assert_eq!(layers.len(), 1);
    window.place(Role::Seed, dvec3(0.0, 0.0, 0.0), 5.0);
    let track = |action: TrackAction| Action::Track(action);
    window.act(track(TrackAction::SetModel(Model::Distributions)));
    window.act(track(TrackAction::SetTissues(Some(layers[0]))));
    let mut params = window.state.document.odf_params();
    params.seeding = Seeding::Random { count: 300 };
    params.samples = 4;
    window.act(track(TrackAction::SetOdfParams {
        params: Some(params),
        phase: Phase::Done,
    }));
    assert!(window.state.final_live().is_some());
    window.act(track(TrackAction::Keep));
    let kept = |state: &State| {
        let document = &state.document;
        let layer = document.layer_named("Streamlines").expect("kept").clone();
        let Content::Tractogram(lines) = &layer.content else {
            panic!("streamlines");
        };
        let recipe = document.curve_recipe(layer.id).expect("a recipe");
        let command = document.command_line(&layer).text();
        let tissues = recipe.tissues.map(|input| input.layer);
        (lines.points.to_vec(), tissues, command)
    };
    let before = kept(&window.state);
    assert!(!before.0.is_empty() && before.1.is_some());
    assert!(before.2.contains("--tissues"), "{}", before.2);
    let table = origins(&window.state);
    let curves: Vec<&Value> = table.iter().filter(|o| o["curves"].is_object()).collect();
    let [curves] = curves[..] else {
        panic!("{curves:?}");
    };
    let tissues = curves["curves"]["tissues"]["origin"].as_u64();
    assert!(tissues.is_some_and(|number| number > 0), "{curves}");
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let reopened = Window::opened(&path);
    let track = &reopened.state.document.track;
    assert_eq!(track.model, Model::Distributions);
    assert_eq!(track.odf, window.state.document.track.odf);
    assert_eq!(kept(&reopened.state), before);
    assert!(reopened.state.document.tissue_key().flatten().is_some());
}

/// The settings of rays along distributions, the live ones after another estimation, and kept ones with their recipe.
fn rays() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let mut settings = window.state.document.distributions.settings.clone();
    settings.requested = true;
    window.act(Action::Tensors(TensorAction::SetFods(settings)));
    window.place(Role::Seed, dvec3(0.0, 0.0, 0.0), 5.0);
    let track = |action: TrackAction| Action::Track(action);
    window.act(track(TrackAction::SetModel(Model::Distributions)));
    window.act(track(TrackAction::SetMethod(Method::Rays)));
    let mut rays = window.state.document.track.odf.rays.clone();
    rays.speed.floor = 0.06;
    rays.speed.reference = Some(0.7);
    rays.rays.params.curves.seeding = Seeding::Random { count: 20 };
    rays.rays.params.curves.min_length_mm = 4.0;
    rays.rays.cut = Cut::Top(25);
    let phase = Phase::Done;
    window.act(track(TrackAction::SetOdfRays { rays, phase }));
    window.act(track(TrackAction::Keep));
    let state_of = |window: &Window| {
        let document = &window.state.document;
        let layer = document.layer_named("Rays").expect("kept").clone();
        let Content::Tractogram(lines) = &layer.content else {
            panic!("rays");
        };
        let recipe = document.curve_recipe(layer.id).expect("a recipe").clone();
        let live = window.state.final_live().expect("final rays");
        (
            document.track.odf.clone(),
            (document.track.model, document.track.method),
            lines.points.to_vec(),
            recipe.curves.clone(),
            document.command_line(&layer).text(),
            live.output.kept.points.to_vec(),
        )
    };
    let before = state_of(&window);
    assert!(before.2.len() > 100 && before.2 == before.5);
    assert!(before.4.contains("arcuate geodesic --fod "), "{}", before.4);
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let reopened = Window::opened(&path);
    assert_eq!(state_of(&reopened), before);
    assert!(!reopened.state.is_dirty(), "{:?}", reopened.state.unsaved());
}

/// An opened session estimates its distributions again, and its live and kept streamlines are the same; kept ones also
/// where the document's distributions have other parameters by now.
fn reopened() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let mut settings = window.state.document.distributions.settings.clone();
    settings.requested = true;
    window.act(Action::Tensors(TensorAction::SetFods(settings.clone())));
    let result = &window.state.document.distributions.result;
    assert!(result.is_some());
    window.place(Role::Seed, dvec3(0.0, 0.0, 0.0), 5.0);
    let model = Model::Distributions;
    window.act(Action::Track(TrackAction::SetModel(model)));
    let mut params = window.state.document.odf_params();
    params.seeding = Seeding::Random { count: 300 };
    window.act(Action::Track(TrackAction::SetOdfParams {
        params: Some(params),
        phase: Phase::Done,
    }));
    window.act(Action::Track(TrackAction::Keep));
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let live = |window: &Window| {
        let live = window.state.final_live();
        let live = live.expect("final streamlines");
        live.output.kept.points.to_vec()
    };
    let before = live(&window);
    assert!(!before.is_empty());
    let mut opened = Window::opened(&path);
    assert_eq!(live(&opened), before);
    let recomputed = |window: &mut Window| {
        let document = &window.state.document;
        let layer = document.layer_named("Streamlines").expect("kept").id;
        let recipe = document.curve_recipe(layer).expect("a recipe").clone();
        let job = RecomputeCurves::new(document, layer.0, "Streamlines", &recipe).expect("inputs");
        let job = window.jobs.submit(job);
        let event = window.jobs.wait(&job, |_| {});
        match event.outcome::<RecomputeCurves>() {
            Some(Outcome::Done(output)) => output.tractogram.points.to_vec(),
            _ => panic!("{event:?}"),
        }
    };
    assert_eq!(recomputed(&mut opened), before);
    settings.peak_params.count += 1;
    settings.params.order = Some(2);
    opened.act(Action::Tensors(TensorAction::SetFods(settings)));
    assert_eq!(recomputed(&mut opened), before);
}
