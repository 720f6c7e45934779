//! The section Noise of the task Track: the hint without a bootstrap, switches, figures, the plot, reasons.

use super::{Window, click, sample, window};
use crate::support::{self, test};
use arcuate::data::{Mask, Role};
use arcuate::solvers::curves::{Params, Seeding};
use arcuate::state::pathways::{DistanceTarget, NOISE_ONLY};
use arcuate::state::track_noise::jobs::TRACK_NOISE;
use arcuate::state::track_noise::{TrackNoiseAction, TrackNoiseSettings};
use arcuate::state::{Action, Content, Phase, State, Task, TrackAction, ViewAction};
use arcuate::ui::palette::names;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;
use std::sync::OnceLock;

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

/// Streamlines between two regions, without a bootstrap.
fn once() -> support::Window {
    let mut window = support::Window::new();
    window.state = sample::tracked(sample::state([32, 40, 30], 12));
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    window
}

/// Their repetitions, whose distance from a part of the brain mask is measured if there are enough.
fn repeated(repetitions: usize) -> State {
    let mut window = once();
    let layer = window.state.document.layer_named("Brain mask");
    let layer = layer.expect("a mask").id;
    // The part at the left, away from the streamlines.
    window.state.document.edit_layer(layer, |layer| {
        let Content::Mask(mask) = &layer.content else {
            panic!("a mask")
        };
        let grid = &mask.grid;
        let part = |v: usize| u8::from(mask.inside[v] != 0 && grid.voxel(v)[0] < 5);
        let part: Vec<u8> = (0..grid.voxel_count()).map(part).collect();
        layer.content = Content::Mask(Mask::new(grid.clone(), part));
    });
    let regions = &mut window.state.document.regions;
    regions.retain(|region| region.role == Role::Seed);
    let settings = TrackNoiseSettings {
        distance_to: DistanceTarget::Layer(layer),
        ..TrackNoiseSettings::defaults()
    };
    let phase = Phase::Done;
    window.act(Action::TrackNoise(TrackNoiseAction::Set {
        settings,
        phase,
    }));
    let params = Params {
        seeding: Seeding::Random { count: 60 },
        repetitions: Some(repetitions),
        // The scan of this window is not that of its tensors: what is kept is short and turns much.
        min_fa: None,
        min_length_mm: 5.0,
        max_angle_rad: None,
        ..window.state.document.track.streamlines.clone()
    };
    window.act(Action::Track(TrackAction::SetStreamlines { params, phase }));
    let why = window.state.why_no_track_noise();
    assert_eq!(why, None);
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
    &window.state().state.document.streamlines.noise
}

fn has(window: &Window, text: &str) -> bool {
    window.query_all_by_label_contains(text).next().is_some()
}

fn is_disabled(window: &Window, name: &str) -> bool {
    window.get_by_label(name).accesskit_node().is_disabled()
}

fn hint() {
    let window = opened(once().state);
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
        "Centre lines from the middle one ",
        "Distance along the centre line",
        "Centre line, nearest ",
        "Nearest, repeated ",
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
        .get_by_label_contains("Distance along the centre line: ")
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
    assert!(!has(&window, "Distance along the centre line"));
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
    // The scan and the mask of this window are in no file.
    assert!(copied.is_some());
    click(&mut window, "Keep share");
    let layers = &window.state().state.document.layers;
    let layer = layers.last().expect("a layer");
    assert_eq!(layer.name, "Share of repetitions of streamlines");
    assert!(matches!(layer.content, Content::Image(_)));
    click(&mut window, "Export noise…");
    for file in ["Share of repetitions…", "Centre lines of the repetitions…"] {
        window.get_by_label(file);
    }
    click(&mut window, "Distances along the centre line…");
    assert!(has(&window, "Export the distances along the centre line"));
}

fn commands() {
    let all = names(&once().state, "repetitions");
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
