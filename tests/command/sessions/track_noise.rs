//! Repetitions of streamlines: sessions store their settings, and kept shares with their values; the copied command gives
//! the figures of the window.

use super::replay::{outcomes, run};
use crate::streamlines::commands::run as run_in_shell;
use crate::support::session_window::Window;
use crate::support::{fields, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Role};
use arcuate::io::{self, Opened, nifti};
use arcuate::solvers::curves::{Params, Seeding};
use arcuate::state::pathways::{DistanceTarget, NoiseFile};
use arcuate::state::track::types::odf::Model;
use arcuate::state::track_noise::{TrackNoiseAction, TrackNoiseSettings};
use arcuate::state::update::track_noise_command;
use arcuate::state::{
    Action, FilesAction, Layer, Phase, Task, TensorAction, TrackAction, ViewAction,
};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::track_noise_is_restored", restored),
        test("sessions::track_noise_by_the_copied_command", copied),
        test("sessions::track_noise_along_distributions", distributions),
    ]
}

/// Streamlines in a scan with noise, repeated this often.
fn repeating(folder: &Path, repetitions: usize) -> Window {
    let mut window = placed(Window::with_noisy_scan(folder));
    let params = Params {
        seeding: Seeding::Random { count: 40 },
        repetitions: Some(repetitions),
        min_length_mm: 5.0,
        ..window.state.document.track.streamlines.clone()
    };
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetStreamlines { params, phase }));
    assert_eq!(window.state.why_no_track_noise(), None);
    window
}

fn placed(mut window: Window) -> Window {
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    window.place(Role::Seed, dvec3(0.0, -12.0, 0.0), 4.0);
    window.place(Role::Target, dvec3(0.0, 10.0, 0.0), 4.0);
    window
}

fn act(window: &mut Window, action: TrackNoiseAction) {
    window.act(Action::TrackNoise(action));
}

fn set(window: &mut Window, edit: impl FnOnce(&mut TrackNoiseSettings)) {
    let mut settings = window.state.document.track.noise.clone();
    edit(&mut settings);
    let phase = Phase::Done;
    act(window, TrackNoiseAction::Set { settings, phase });
}

fn kept(window: &Window) -> Arc<Layer> {
    let document = &window.state.document;
    let mut layers = document.layers.iter();
    let layer = layers.find(|l| document.streamline_share_recipe(l.id).is_some());
    layer.expect("the share").clone()
}

/// Whether the replay of a session gives the same bytes for the kept share.
fn replayed(window: &Window, here: &Path) {
    let (code, value, stderr) = run(&["replay", "noise.arcuate"], here);
    assert_eq!(code, Some(0), "{stderr}");
    let own = format!("layer_{}: same_bytes", kept(window).id.0);
    assert!(outcomes(&value).contains(&own), "{value}");
}

fn restored() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let mut window = repeating(here, 12);
    act(&mut window, TrackNoiseAction::KeepShare);
    set(&mut window, |noise| {
        noise.margin_mm = 7.0;
        noise.shows_centre_lines = true;
    });
    let before = kept(&window);
    let command = window.state.document.command_line(&before).text();
    let shown = window.state.current_track_noise().expect("all").clone();
    assert!(!shown.paths.is_empty());
    let path = here.join("noise.arcuate");
    window.save(&path);
    let reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    let settings = &reopened.state.document.track.noise;
    assert_eq!(*settings, window.state.document.track.noise);
    // The shown repetitions are not stored: they are compared again, to the same figures.
    let compared = reopened.state.current_track_noise().expect("compared");
    assert_eq!(compared.repeated.visits, shown.repeated.visits);
    assert_eq!(compared.centre_lines.points, shown.centre_lines.points);
    let after = kept(&reopened);
    assert_eq!(after.name, before.name);
    assert_eq!(reopened.state.document.command_line(&after).text(), command);
    let values = |layer: &Layer| layer.content.volume().expect("an image").values.clone();
    assert_eq!(values(&after), values(&before));
    assert_eq!(after.display, before.display);
    assert!(!reopened.state.is_dirty());
    replayed(&window, here);
    // Sessions have no such member unless something was changed.
    set(&mut window, |noise| *noise = TrackNoiseSettings::defaults());
    window.save(&here.join("defaults.arcuate"));
    let stored = |name: &str| std::fs::read_to_string(here.join(name)).expect("a session");
    assert!(stored("noise.arcuate").contains("\"track_noise\""));
    assert!(!stored("defaults.arcuate").contains("\"track_noise\""));
}

/// Distributions are estimated from the same scan with random signs of its residuals, by the window as by the command.
fn distributions() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let mut window = Window::with_noisy_scan(here);
    let mut fods = window.state.document.distributions.settings.clone();
    fods.requested = true;
    window.act(Action::Tensors(TensorAction::SetFods(fods)));
    window.act(Action::Track(TrackAction::SetModel(Model::Distributions)));
    let mut window = placed(window);
    let mut params = window.state.document.odf_params();
    params.seeding = Seeding::Random { count: 30 };
    (params.repetitions, params.select) = (Some(10), None);
    let phase = Phase::Done;
    let params = Some(params);
    window.act(Action::Track(TrackAction::SetOdfParams { params, phase }));
    assert_eq!(window.state.why_no_track_noise(), None);
    act(&mut window, TrackNoiseAction::KeepShare);
    let shown = window.state.current_track_noise().expect("all").clone();
    assert!(!shown.paths.is_empty());
    let command = track_noise_command(&window.state)
        .expect("a command")
        .text();
    assert!(command.starts_with("arcuate fod "), "{command}");
    assert!(command.contains("arcuate track "), "{command}");
    let elsewhere = tempfile::tempdir().expect("a folder");
    run_in_shell(&command, elsewhere.path());
    let share = elsewhere.path().join("noise/share.nii.gz");
    match io::open(&share, &Control::new()).expect("a file") {
        Opened::Volume(volume, _) => assert_eq!(volume.values, shown.share.values),
        Opened::Tractogram(..) => panic!("an image"),
    }
    window.save(&here.join("noise.arcuate"));
    replayed(&window, here);
}

fn copied() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let mut window = repeating(here, 20);
    let grid = Grid::axis_aligned([20; 3], DVec3::splat(1.5), dvec3(4.0, -14.0, -14.0));
    let ball = fields::ball(&Arc::new(grid.expect("a grid")), dvec3(12.0, 0.0, 0.0), 5.0);
    let file = here.join("tumour.nii.gz");
    nifti::save_mask(&file, &ball, "a ball", &Control::new()).expect("saved");
    window.act(Action::Files(FilesAction::Open(vec![file])));
    let layer = window.state.document.layer_named("tumour");
    let layer = layer.expect("a mask").id;
    set(&mut window, |noise| {
        noise.distance_to = DistanceTarget::Layer(layer);
    });
    for (kind, name) in NoiseFile::ALL
        .into_iter()
        .zip(["share.nii.gz", "lines.tck", "own.csv"])
    {
        act(&mut window, TrackNoiseAction::Save(kind, here.join(name)));
    }
    assert_eq!(window.messages(), "");
    let command = track_noise_command(&window.state)
        .expect("a command")
        .text();
    let elsewhere = tempfile::tempdir().expect("a folder");
    run_in_shell(&command, elsewhere.path());
    let out = elsewhere.path().join("noise");
    let opened = |path: &Path| io::open(path, &Control::new()).expect("a file");
    let values = |path: &Path| match opened(path) {
        Opened::Volume(volume, _) => volume.values.clone(),
        Opened::Tractogram(..) => panic!("an image"),
    };
    let share = values(&out.join("share.nii.gz"));
    assert_eq!(share, values(&here.join("share.nii.gz")));
    let shown = window.state.current_track_noise().expect("all");
    assert_eq!(share, shown.share.values);
    let points = |path: &Path| match opened(path) {
        Opened::Tractogram(lines, ..) => lines.points.to_vec(),
        Opened::Volume(..) => panic!("streamlines"),
    };
    let lines = points(&out.join("centre_lines.tck"));
    assert_eq!(lines, points(&here.join("lines.tck")));
    assert!(elsewhere.path().join("tracks.tck").exists());
    let table = |path: &Path| std::fs::read_to_string(path).expect("a table");
    let own = table(&here.join("own.csv"));
    assert_eq!(table(&out.join("distances.csv")), own);
    assert!(own.lines().count() > 10, "{own}");
}
