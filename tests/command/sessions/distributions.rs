//! Streamlines along distributions: replayed from a session, and repeated by the copied command.

use super::replay::{outcomes, run};
use crate::streamlines::commands::run as run_in_shell;
use crate::support::session_window::Window;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{OdfLayout, Role, Tractogram};
use arcuate::io::{self, AffineReading, Opened};
use arcuate::solvers::curves::Seeding;
use arcuate::solvers::geodesic::Cut;
use arcuate::state::track::types::odf::Model;
use arcuate::state::{Action, AlignmentAction, Content, Method, Phase, TensorAction, TrackAction};
use glam::{DAffine3, DQuat, dvec3};
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::distributions_are_replayed", replayed),
        test("sessions::distributions_by_the_copied_command", copied),
        test("sessions::voxels_of_response_functions", response_voxels),
        test("sessions::moved_distributions", moved),
    ]
}

/// Distributions of the scan, with live and kept streamlines along them.
fn window(folder: &Path) -> Window {
    let mut window = Window::with_scan(folder);
    let mut settings = window.state.document.distributions.settings.clone();
    settings.requested = true;
    window.act(Action::Tensors(TensorAction::SetFods(settings)));
    assert!(
        window.state.document.distributions.result.is_some(),
        "{}",
        window.messages()
    );
    window.place(Role::Seed, dvec3(0.0, 0.0, 0.0), 5.0);
    window.act(Action::Track(TrackAction::SetModel(Model::Distributions)));
    let mut params = window.state.document.odf_params();
    params.seeding = Seeding::Random { count: 300 };
    window.act(Action::Track(TrackAction::SetOdfParams {
        params: Some(params),
        phase: Phase::Done,
    }));
    window.act(Action::Track(TrackAction::Keep));
    window
}

/// Live and kept rays along the distributions, in addition.
fn with_rays(mut window: Window) -> Window {
    window.act(Action::Track(TrackAction::SetMethod(Method::Rays)));
    let mut rays = window.state.document.track.odf.rays.clone();
    rays.speed.exponent = 1.5;
    rays.rays.params.curves.seeding = Seeding::Random { count: 30 };
    rays.rays.params.curves.min_length_mm = 4.0;
    rays.rays.cut = Cut::All;
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetOdfRays { rays, phase }));
    window.act(Action::Track(TrackAction::Keep));
    window
}

const STREAMLINES: &str = "Streamlines";
const RAYS: &str = "Rays";

/// The kept curves with a name, the number of their layer, and the command that repeats them.
fn kept(window: &Window, name: &str) -> (Tractogram, u64, String) {
    let document = &window.state.document;
    let layer = document.layer_named(name).expect("kept").clone();
    let Content::Tractogram(lines) = &layer.content else {
        panic!("curves");
    };
    let command = document.command_line(&layer).text();
    (lines.clone(), layer.id.0, command)
}

/// Distributions are estimated again, and the streamlines and rays along them are the same bytes on any number of threads.
fn replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let mut window = with_rays(window(here));
    let both = [STREAMLINES, RAYS].map(|name| {
        let (lines, layer, _) = kept(&window, name);
        assert!(!lines.is_empty());
        format!("layer_{layer}: same_bytes")
    });
    window.save(&here.join("s.arcuate"));
    for threads in ["1", "3"] {
        let (code, value, message) = run(&["replay", "s.arcuate", "--threads", threads], here);
        assert_eq!(code, Some(0), "{message}");
        let all = outcomes(&value);
        assert!(all.len() >= 4, "{all:?}");
        for own in both.iter().map(String::as_str).chain(["live: same_bytes"]) {
            assert!(all.iter().any(|one| one == own), "{own}: {all:?}");
        }
        assert!(value.to_string().contains("The regions' rays"), "{value}");
    }
    // Also without the stored streamlines.
    std::fs::remove_dir_all(here.join("s.arcuate.files")).expect("removed");
    let (code, value, message) = run(&["replay", "s.arcuate"], here);
    assert_eq!(code, Some(0), "{message}");
    for own in &both {
        assert!(outcomes(&value).contains(own), "{value}");
    }
    // A scan that is missing is named; nothing is said to be the same.
    std::fs::rename(here.join("dwi.nii.gz"), here.join("elsewhere.nii.gz")).expect("renamed");
    let (code, value, message) = run(&["replay", "s.arcuate"], here);
    assert_ne!(code, Some(0));
    assert!(message.contains("dwi.nii.gz"), "{message}");
    assert!(!value.to_string().contains("same_bytes"), "{value}");
}

/// The commands estimate the distributions, then track along them or trace rays.
fn copied() {
    let folder = tempfile::tempdir().expect("a folder");
    let window = with_rays(window(folder.path()));
    copied_one(&window, STREAMLINES, "arcuate track --fod ");
    copied_one(&window, RAYS, "arcuate geodesic --fod ");
}

/// The copied command gives the kept curves.
fn copied_one(window: &Window, name: &str, second: &str) {
    let (lines, _, command) = kept(window, name);
    assert!(lines.len() > 20, "{}", lines.len());
    assert!(command.contains("arcuate fod "), "{command}");
    assert!(command.contains(second), "{command}");
    let elsewhere = tempfile::tempdir().expect("a folder");
    run_in_shell(&command, elsewhere.path());
    let out = command.rsplit(" --out ").next().expect("an output");
    let opened = io::open(&elsewhere.path().join(out), &Control::new());
    let Ok(Opened::Tractogram(reopened, _)) = opened else {
        panic!("{out}: {command}");
    };
    assert_eq!(reopened.len(), lines.len());
    assert_eq!(reopened.points.len(), lines.points.len());
    let mut pairs = reopened.points.iter().zip(lines.points.iter());
    let near = |(a, b): (&[f32; 3], &[f32; 3])| (0..3).all(|k| (a[k] - b[k]).abs() < 1e-3);
    assert!(pairs.all(near), "{command}");
}

/// A session brings back the voxels of the response functions if they were a layer.
fn response_voxels() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = window(folder.path());
    let voxels = |window: &Window| {
        let layer = window.state.document.layer_named("Response voxels")?;
        let volume = layer.content.volume().expect("an image");
        Some((layer.id, layer.display.visible, volume.values.to_vec()))
    };
    assert_eq!(voxels(&window), None);
    window.act(Action::Tensors(TensorAction::ShowResponseVoxels));
    let before = voxels(&window).expect("a layer");
    assert!(before.2.contains(&1.0));
    let path = folder.path().join("voxels.arcuate");
    window.save(&path);
    assert_eq!(voxels(&Window::opened(&path)), Some(before));
}

/// An image of distributions that was moved comes back in its position, with turned distributions, and nothing to save.
fn moved() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    drop(Window::with_scan(here));
    let fod = [
        "fod",
        "dwi.nii.gz",
        "--mask",
        "mask.nii.gz",
        "--order",
        "4",
        "--out",
        "fod",
    ];
    let (code, _, stderr) = run(&fod, here);
    assert_eq!(code, Some(0), "{stderr}");
    let mut window = Window::new();
    window.open(&here.join("fod/wm_fod.nii.gz"));
    let layer = window.state.document.layers[0].id;
    let layout = Some(OdfLayout::MRTRIX);
    window.act(Action::Tensors(TensorAction::ReadDistributions {
        layer,
        layout,
    }));
    let turn = DQuat::from_rotation_z(0.6);
    let transform = DAffine3::from_rotation_translation(turn, dvec3(2.0, -3.0, 1.0));
    let phase = Phase::Done;
    window.act(Action::Alignment(AlignmentAction::Shift {
        layer,
        transform,
        phase,
    }));
    let coefficients = |window: &Window| {
        let field = window.state.document.distributions.field();
        field.expect("distributions").coefficients.to_vec()
    };
    // Distributions that are read choose their model; the user's choice stays.
    assert_eq!(window.state.document.track.model, Model::Distributions);
    window.act(Action::Track(TrackAction::SetModel(Model::Tensors)));
    let path = here.join("moved.arcuate");
    window.save(&path);
    let reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    assert!(!reopened.state.is_dirty(), "{:?}", reopened.state.unsaved());
    assert_eq!(reopened.state.document.track.model, Model::Tensors);
    let layers = &reopened.state.document.layers;
    let image = layers
        .iter()
        .find(|l| reopened.state.document.path(l).is_some());
    let image = image.expect("the image").id;
    assert!(
        reopened
            .state
            .document
            .moved_by(image)
            .abs_diff_eq(transform, 1e-12)
    );
    assert!(coefficients(&reopened) == coefficients(&window));
    as_commands(here, transform, &window);
}

/// The commands turn distributions as the window does: `fod` writes the same coefficients, and `track` follows them.
fn as_commands(here: &Path, transform: DAffine3, window: &Window) {
    let layout = ["--odf-basis", "mrtrix", "--odf-frame", "world"];
    let affine = AffineReading::matrix(transform).argument("odf-affine");
    let affine: Vec<&str> = affine.split_whitespace().collect();
    let fod = ["fod", "fod/wm_fod.nii.gz", "--out", "turned"];
    let (code, _, stderr) = run(&[&fod[..], &layout, &affine].concat(), here);
    assert_eq!(code, Some(0), "{stderr}");
    let written = io::image::read(&here.join("turned/wm_fod.nii.gz"), &Control::new());
    let written = written.expect("distributions").0;
    let field = window.state.document.distributions.field();
    let field = field.expect("distributions");
    assert!(written.grid.matches(&field.grid));
    let mut pairs = written.values.iter().zip(field.coefficients.iter());
    assert!(pairs.all(|(a, b)| (a - b).abs() < 1e-6));
    let streamlines = |name: &str, rest: &[&str]| {
        let track = ["track", "--method", "deterministic", "--fod"];
        let seeds = ["--seeds", "random:50", "--out", name];
        let (code, _, stderr) = run(&[&track[..], rest, &layout, &seeds].concat(), here);
        assert_eq!(code, Some(0), "{stderr}");
        match io::open(&here.join(name), &Control::new()) {
            Ok(Opened::Tractogram(lines, _)) => lines.points.to_vec(),
            _ => panic!("streamlines"),
        }
    };
    let turned = [&["fod/wm_fod.nii.gz"][..], &affine].concat();
    let moved = streamlines("moved.tck", &turned);
    assert!(!moved.is_empty());
    // The header of the written image stores its axes in single precision.
    let written = streamlines("written.tck", &["turned/wm_fod.nii.gz"]);
    assert_eq!(moved.len(), written.len());
    let points = moved.iter().zip(&written);
    let off = points.map(|(a, b)| glam::Vec3::from(*a).distance(glam::Vec3::from(*b)));
    let near = off.filter(|mm| *mm < 0.1).count();
    assert!(near * 100 >= moved.len() * 95, "{near} of {}", moved.len());
}
