//! The section Noise of the task Track: the hint without a bootstrap, switches, figures, the plot, reasons.

use super::{Window, click, window};
use crate::support::{fields, session_window, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Role};
use arcuate::io::nifti;
use arcuate::solvers::curves::{Params, Seeding};
use arcuate::state::pathways::{DistanceTarget, NOISE_ONLY};
use arcuate::state::track_noise::jobs::TRACK_NOISE;
use arcuate::state::track_noise::{TrackNoiseAction, TrackNoiseSettings};
use arcuate::state::{Action, Content, FilesAction, Phase, State, Task, TrackAction, ViewAction};
use arcuate::ui::palette::names;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::{Arc, OnceLock};

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::track_noise::a hint names Bootstrap", hint),
        test("ui::track_noise::figures, plot and sentence", figures),
        test("ui::track_noise::switches", switches),
        test(
            "ui::track_noise::a click in the plot moves the crosshair",
            plot,
        ),
        test("ui::track_noise::few repetitions have no distances", few),
        test("ui::track_noise::stopped and continued", stopped),
        test("ui::track_noise::kept, exported and copied", kept),
        test("ui::track_noise::commands by name", commands),
    ]
}

const SIZE: [f32; 2] = [1920.0, 2600.0];

/// Streamlines between two regions in a scan with noise, without a bootstrap.
fn once(folder: &Path) -> session_window::Window {
    let mut window = session_window::Window::with_noisy_scan(folder);
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    window.place(Role::Seed, dvec3(0.0, -12.0, 0.0), 4.0);
    window.place(Role::Target, dvec3(0.0, 10.0, 0.0), 4.0);
    window
}

/// Their repetitions, whose distance from a ball beside them is measured if there are enough.
fn repeated(repetitions: usize) -> State {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = once(folder.path());
    let grid = Grid::axis_aligned([20; 3], DVec3::splat(1.5), dvec3(4.0, -14.0, -14.0));
    let ball = fields::ball(&Arc::new(grid.expect("a grid")), dvec3(12.0, 0.0, 0.0), 5.0);
    let file = folder.path().join("tumour.nii.gz");
    nifti::save_mask(&file, &ball, "a ball", &Control::new()).expect("saved");
    window.act(Action::Files(FilesAction::Open(vec![file])));
    let layer = window.state.document.layer_named("tumour");
    let settings = TrackNoiseSettings {
        distance_to: DistanceTarget::Layer(layer.expect("a mask").id),
        ..TrackNoiseSettings::defaults()
    };
    let phase = Phase::Done;
    window.act(Action::TrackNoise(TrackNoiseAction::Set {
        settings,
        phase,
    }));
    let params = Params {
        seeding: Seeding::Random { count: 40 },
        repetitions: Some(repetitions),
        min_length_mm: 5.0,
        ..window.state.document.track.streamlines.clone()
    };
    window.act(Action::Track(TrackAction::SetStreamlines { params, phase }));
    assert_eq!(window.state.why_no_track_noise(), None);
    window.state
}

fn twenty() -> State {
    static TRACKED: OnceLock<State> = OnceLock::new();
    TRACKED.get_or_init(|| repeated(20)).clone()
}

/// With the section open.
fn opened(state: State) -> Window {
    let mut window = window(state, SIZE);
    click(&mut window, "Noise");
    window
}

fn settings(window: &Window) -> &TrackNoiseSettings {
    &window.state().state.document.track.noise
}

fn has(window: &Window, text: &str) -> bool {
    window.query_all_by_label_contains(text).next().is_some()
}

fn is_disabled(window: &Window, name: &str) -> bool {
    window.get_by_label(name).accesskit_node().is_disabled()
}

fn hint() {
    let folder = tempfile::tempdir().expect("a folder");
    let window = opened(once(folder.path()).state);
    assert!(has(&window, "set Bootstrap among the controls"));
    assert!(!has(&window, NOISE_ONLY) && !has(&window, "Keep share"));
}

fn figures() {
    let window = opened(twenty());
    for text in [
        "20 repetitions",
        "Shares are known to within ± ",
        "In at least 5\u{202f}% of repetitions: ",
        "In at least 50\u{202f}% of repetitions: ",
        "In at least 90\u{202f}% of repetitions: ",
        "Centre lines, offset ",
        "Distance along the line",
        "Centre line, nearest ",
        "Nearest, all repetitions ",
        NOISE_ONLY,
    ] {
        assert!(has(&window, text), "{text}");
    }
    // Words that promise too much.
    for word in ["probability", "confidence", "certain", "safe"] {
        assert!(!has(&window, word), "{word}");
    }
}

fn switches() {
    let mut window = opened(twenty());
    assert!(settings(&window).shows_share && !settings(&window).shows_centre_lines);
    click(&mut window, "Show the share");
    click(&mut window, "Show the centre lines");
    assert!(!settings(&window).shows_share && settings(&window).shows_centre_lines);
    click(&mut window, "Undo");
    click(&mut window, "Undo");
    assert!(!settings(&window).shows_centre_lines);
    assert!(settings(&window).shows_share);
}

fn plot() {
    let mut window = opened(twenty());
    let place = window
        .get_by_label_contains("Distance along the line: ")
        .rect();
    window.hover_at(place.center());
    window.run();
    for pressed in [true, false] {
        window.event(egui::Event::PointerButton {
            pos: place.center(),
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: egui::Modifiers::NONE,
        });
    }
    window.run();
    let state = &window.state().state;
    let noise = state.current_track_noise().expect("repetitions");
    let line = noise.middle_line().expect("a middle line");
    let nearest = line.nearest_point(state.view.crosshair).expect("a point");
    let off_mm = nearest.distance(state.view.crosshair);
    assert!(off_mm < 1e-6, "{off_mm}");
}

fn few() {
    let window = opened(repeated(12));
    assert!(has(&window, "Too few repetitions for distances: "));
    assert!(!has(&window, "Distance along the line"));
    assert!(has(&window, NOISE_ONLY));
}

fn stopped() {
    let mut state = twenty();
    state.runtime.track.noise = Default::default();
    let mut window = window(state, SIZE);
    arcuate::state::update(
        &mut window.state_mut().state,
        Action::View(ViewAction::MoveCrosshair(glam::DVec3::X)),
    );
    click(&mut window, "Noise");
    assert!(has(&window, "being compared…"));
    assert!(is_disabled(&window, "Keep share"));
    arcuate::state::update(
        &mut window.state_mut().state,
        Action::CancelJob(TRACK_NOISE),
    );
    window.run();
    assert!(has(&window, "Stopped before the repetitions were compared"));
    click(&mut window, "Continue");
    assert!(has(&window, "being compared…"));
}

fn kept() {
    let mut window = opened(twenty());
    click(&mut window, "Copy the repetitions as command");
    let copied = window.state().actions.iter().find_map(|a| match a {
        Action::CopyCommand(line) => Some(line.text()),
        _ => None,
    });
    let copied = copied.expect("a command");
    assert!(copied.contains(" --bootstrap 20"), "{copied}");
    assert!(copied.contains(" --noise noise --distance-to "), "{copied}");
    click(&mut window, "Keep share");
    let layers = &window.state().state.document.layers;
    let layer = layers.last().expect("a layer");
    assert_eq!(layer.name, "Share of 20 repetitions of streamlines");
    assert!(matches!(layer.content, Content::Image(_)));
    click(&mut window, "Export noise…");
    for file in ["Share of repetitions…", "Centre lines of the repetitions…"] {
        window.get_by_label(file);
    }
    click(&mut window, "Distances along the centre line…");
    assert!(has(&window, "Export the distances along the centre line"));
}

fn commands() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = names(&once(folder.path()).state, "repetitions");
    assert!(
        !all.iter().any(|n| n.contains("share of repetitions")),
        "{all:?}"
    );
    let all = names(&twenty(), "repetitions");
    for name in [
        "Hide the share of repetitions",
        "Show the centre lines of repetitions",
        "Keep share of repetitions",
        "Copy as command: repetitions of the streamlines",
    ] {
        assert!(all.iter().any(|n| n == name), "{name}: {all:?}");
    }
}
