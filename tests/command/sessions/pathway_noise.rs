//! Repetitions of a pathway: sessions store their settings, and kept shares with their values; the copied command gives the
//! figures of the window.

use super::replay::{outcomes, run};
use crate::streamlines::commands::run as run_in_shell;
use crate::support::session_window::Window;
use crate::support::{fields, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Role};
use arcuate::io::{self, Opened, nifti};
use arcuate::state::pathways::{
    DistanceTarget, NoiseFile, PathwayAction, PathwayNoiseAction, PathwayNoiseSettings,
    PathwaySettings,
};
use arcuate::state::track::types::odf::Model;
use arcuate::state::update::pathway_noise_command;
use arcuate::state::{Action, FilesAction, Layer, Phase, Task, TensorAction, ViewAction};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::pathway_noise_is_restored", restored),
        test("sessions::pathway_noise_by_the_copied_command", copied),
        test("sessions::pathway_noise_through_crossings", crossings),
    ]
}

/// A pathway in a scan with noise, repeated this often.
fn repeating(folder: &Path, repetitions: usize) -> Window {
    repeating_in(Window::with_noisy_scan(folder), repetitions)
}

fn repeating_in(mut window: Window, repetitions: usize) -> Window {
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.place(Role::Seed, dvec3(0.0, -12.0, 0.0), 4.0);
    window.place(Role::Target, dvec3(0.0, 10.0, 0.0), 4.0);
    set(&mut window, |noise| {
        noise.repeats = true;
        noise.params.repetitions = repetitions;
        noise.params.random_seed = 5;
    });
    assert!(window.state.current_pathway_noise().is_some());
    window
}

fn set(window: &mut Window, edit: impl FnOnce(&mut PathwayNoiseSettings)) {
    let mut noise = window.state.document.pathways.noise.clone();
    edit(&mut noise);
    let settings = PathwaySettings {
        noise,
        ..window.state.document.pathways.clone()
    };
    let phase = Phase::Done;
    window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
}

fn act(window: &mut Window, action: PathwayNoiseAction) {
    window.act(Action::Pathway(PathwayAction::Noise(action)));
}

fn restored() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let mut window = repeating(here, 12);
    act(&mut window, PathwayNoiseAction::KeepShare);
    let kept = |window: &Window| -> Arc<Layer> {
        let document = &window.state.document;
        let mut layers = document.layers.iter();
        let layer = layers.find(|l| document.share_recipe(l.id).is_some());
        layer.expect("the share").clone()
    };
    let before = kept(&window);
    let command = window.state.document.command_line(&before).text();
    let shown = window.state.current_pathway_noise().expect("all").clone();
    let path = here.join("noise.arcuate");
    window.save(&path);
    let reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    let settings = &reopened.state.document.pathways;
    assert_eq!(settings.noise, window.state.document.pathways.noise);
    // The shown repetitions are not stored: they grow again, to the same figures.
    let regrown = reopened
        .state
        .current_pathway_noise()
        .expect("they grow")
        .clone();
    assert_eq!(regrown.repetitions.visits, shown.repetitions.visits);
    assert_eq!(regrown.repetitions.paths, shown.repetitions.paths);
    let after = kept(&reopened);
    assert_eq!(after.name, before.name);
    assert_eq!(reopened.state.document.command_line(&after).text(), command);
    let values = |layer: &Layer| layer.content.volume().expect("an image").values.clone();
    assert_eq!(values(&after), values(&before));
    assert_eq!(after.display, before.display);
    assert!(!reopened.state.is_dirty());
    let (code, value, stderr) = run(&["replay", "noise.arcuate"], here);
    assert_eq!(code, Some(0), "{stderr}");
    let own = format!("layer_{}: ", before.id.0);
    let all = outcomes(&value);
    let outcome = all.iter().find_map(|line| line.strip_prefix(&own));
    assert_eq!(outcome, Some("same_bytes"), "{all:?}");
}

/// Distributions are estimated from the same scan with random signs of its residuals, by the window as by the command.
fn crossings() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let mut window = Window::with_noisy_scan(here);
    let mut fods = window.state.document.distributions.settings.clone();
    fods.requested = true;
    window.act(Action::Tensors(TensorAction::SetFods(fods)));
    let settings = PathwaySettings {
        model: Model::Distributions,
        ..window.state.document.pathways.clone()
    };
    let phase = Phase::Done;
    window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
    let mut window = repeating_in(window, 12);
    act(&mut window, PathwayNoiseAction::KeepShare);
    let shown = window.state.current_pathway_noise().expect("all").clone();
    // Its lobes exceed the reference amplitude, so that noise hardly changes the costs.
    assert_eq!(shown.repetitions.existing_paths().count(), 12);
    let command = pathway_noise_command(&window.state)
        .expect("a command")
        .text();
    assert!(command.starts_with("arcuate fod "), "{command}");
    assert!(command.contains("arcuate uncertainty "), "{command}");
    let elsewhere = tempfile::tempdir().expect("a folder");
    run_in_shell(&command, elsewhere.path());
    let share = elsewhere.path().join("noise/share.nii.gz");
    match io::open(&share, &Control::new()).expect("a file") {
        Opened::Volume(volume, _) => assert_eq!(volume.values, shown.share.values),
        Opened::Tractogram(..) => panic!("an image"),
    }
    window.save(&here.join("noise.arcuate"));
    let (code, value, stderr) = run(&["replay", "noise.arcuate"], here);
    assert_eq!(code, Some(0), "{stderr}");
    let document = &window.state.document;
    let mut layers = document.layers.iter();
    let kept = layers.find(|l| document.share_recipe(l.id).is_some());
    let own = format!("layer_{}: same_bytes", kept.expect("the share").id.0);
    assert!(outcomes(&value).contains(&own), "{value}");
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
        .zip(["share.nii.gz", "paths.tck", "own.csv"])
    {
        act(&mut window, PathwayNoiseAction::Save(kind, here.join(name)));
    }
    assert_eq!(window.messages(), "");
    let command = pathway_noise_command(&window.state)
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
    let shown = window.state.current_pathway_noise().expect("all");
    assert_eq!(share, shown.share.values);
    let points = |path: &Path| match opened(path) {
        Opened::Tractogram(lines, ..) => lines.points.to_vec(),
        Opened::Volume(..) => panic!("streamlines"),
    };
    assert_eq!(
        points(&out.join("paths.tck")),
        points(&here.join("paths.tck"))
    );
    // Positions are those along the shown path, whose costs depend on the order of updates within a tolerance.
    const TOLERANCE_MM: f64 = 0.05;
    let rows = |path: &Path| -> Vec<Vec<f64>> {
        let text = std::fs::read_to_string(path).expect("a table");
        let row = |line: &str| {
            line.split(',')
                .map(|v| v.parse().expect("a number"))
                .collect()
        };
        text.lines().skip(1).map(row).collect()
    };
    let (expected, own) = (
        rows(&out.join("distances.csv")),
        rows(&here.join("own.csv")),
    );
    assert!(own.len() > 10 && own.len() == expected.len());
    for (a, b) in own.iter().flatten().zip(expected.iter().flatten()) {
        assert!((a - b).abs() < TOLERANCE_MM, "{a} {b}");
    }
}
