//! The program's own window without a screen, and how soon its pictures follow the pointer.

use crate::support::{Random, test};
use arcuate::app::offscreen::stroke::{StrokeTimes, Subject, follow, rest, wait_for};
use arcuate::app::offscreen::{Input, OffscreenWindow};
use arcuate::compute::{Backend, BackendChoice, BackendKind, Control};
use arcuate::data::{Grid, Volume};
use arcuate::io::nifti;
use arcuate::state::core::live::Detail;
use arcuate::state::{FilesAction, Pane, State, Task, ViewAction};
use glam::{DVec2, DVec3};
use libtest_mimic::Trial;
use std::cell::Cell;
use std::time::Duration;

pub fn tests() -> Vec<Trial> {
    vec![
        test("offscreen::a_frame_shows_its_own_events", same_frame),
        test("offscreen::a_slow_frame_is_noticed", slow_frame),
        test("offscreen::sliders_are_found_by_name", sliders),
        test("offscreen::a_stroke_without_a_result_ends", no_result),
    ]
}

const PATIENCE: Duration = Duration::from_secs(60);

/// A window with a small image, at rest.
fn window() -> OffscreenWindow {
    let mut random = Random::fresh("offscreen");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii.gz");
    let grid = Grid::axis_aligned([20; 3], DVec3::ONE, DVec3::splat(-9.5)).unwrap();
    let values: Vec<f32> = (0..8000).map(|_| random.uniform(0.0, 1.0) as f32).collect();
    let volume = Volume::scalar(grid.into(), values);
    nifti::save_volume(&path, &volume, "", &Control::new()).unwrap();
    let choice = BackendChoice {
        kind: BackendKind::Cpu,
        threads: Some(1),
    };
    let backend = Backend::choose(&choice).unwrap();
    let mut window = OffscreenWindow::open(backend, [900, 600]).unwrap();
    window.act(FilesAction::Open(vec![path]).into());
    let opened = wait_for(&mut window, PATIENCE, |s| !s.document.layers.is_empty());
    assert!(opened);
    rest(&mut window);
    window
}

fn centre(window: &OffscreenWindow) -> DVec2 {
    let [low, high] = window.pane(Pane::Axial).unwrap();
    low.lerp(high, 0.5)
}

/// The positions of a drag of the crosshair.
fn script(window: &OffscreenWindow, moves: usize) -> Vec<Vec<Input>> {
    let from = centre(window);
    let at = |k: usize| from + DVec2::new(5.0, 4.0) * k as f64;
    let mut script = vec![vec![Input::Move(from), Input::Press(from)]];
    script.extend((1..moves).map(|k| vec![Input::Move(at(k))]));
    script.push(vec![Input::Move(at(moves)), Input::Release(at(moves))]);
    script
}

fn requested(state: &State) -> Option<DVec3> {
    Some(state.view.crosshair)
}

fn shown(state: &State, at: &DVec3) -> Option<Detail> {
    (state.view.crosshair == *at).then_some(Detail::Full)
}

/// Plays a drag of the crosshair; the first frame that shows a new position takes this much longer.
fn dragged(window: &mut OffscreenWindow, delay: Duration) -> StrokeTimes {
    let script = script(window, 6);
    let start = window.state().view.crosshair;
    let delays = Cell::new(true);
    let slowly = |state: &State, at: &DVec3| {
        if state.view.crosshair != start && delays.take() {
            std::thread::sleep(delay);
        }
        shown(state, at)
    };
    let subject = Subject {
        requested: &requested,
        shown: &slowly,
    };
    follow(window, &script, &subject, Some(start), PATIENCE)
}

/// The picture of a frame shows the effect of the events of that frame.
fn same_frame() {
    let mut window = window();
    let from = centre(&window);
    for input in [Input::Move(from), Input::Press(from)] {
        window.input(input);
    }
    window.frame(&mut |_| {});
    for step in 1..4 {
        let before = window.state().view.crosshair;
        window.input(Input::Move(from + DVec2::splat(6.0 * f64::from(step))));
        let mut drawn = before;
        window.frame(&mut |state| drawn = state.view.crosshair);
        let now = window.state().view.crosshair;
        assert!(now != before, "the pointer moves the crosshair");
        if !cfg!(debug_assertions) {
            assert_eq!(drawn, now);
        }
    }
}

fn slow_frame() {
    let mut window = window();
    let longest = |times: &StrokeTimes| {
        let frames = times.frames.iter().map(|frame| frame.interface_s);
        frames.fold(0.0, f64::max)
    };
    let first = |times: &StrokeTimes| times.first_s.iter().copied().fold(0.0, f64::max);
    let plain = dragged(&mut window, Duration::ZERO);
    assert!(!plain.first_s.is_empty() && plain.final_s.is_some_and(|s| s > 0.0));
    for frame in &plain.frames {
        assert!(frame.interface_s > 0.0 && frame.interface_s < frame.whole_s);
    }
    // Longer than any frame so far, however busy the machine is.
    let delay = 0.2 + longest(&plain).max(first(&plain));
    let slow = dragged(&mut window, Duration::from_secs_f64(delay));
    assert!(longest(&slow) >= delay, "{slow:?}");
    assert!(first(&slow) >= delay, "{slow:?}");
}

fn sliders() {
    let mut window = window();
    window.act(ViewAction::SelectTask(Task::Segment).into());
    rest(&mut window);
    let [low, high] = window.slider("Smoothness").unwrap();
    assert!(high.x - low.x > 50.0 && low.y == high.y, "{low} {high}");
    assert!(low.x > 450.0 && high.x < 900.0, "{low} {high}");
    assert_eq!(window.slider("no such name"), None);
    // A press in the middle of the track moves the handle there.
    let before = window.state().document.segment.settings.params.smoothness;
    let at = low.lerp(high, 0.6);
    for inputs in [
        vec![Input::Move(at), Input::Press(at)],
        vec![Input::Move(at + DVec2::X), Input::Release(at + DVec2::X)],
    ] {
        inputs.into_iter().for_each(|input| window.input(input));
        window.frame(&mut |_| {});
    }
    rest(&mut window);
    let after = window.state().document.segment.settings.params.smoothness;
    assert!(after != before, "{before} → {after}");
}

/// Nothing that is shown belongs to the request.
fn no_result() {
    let mut window = window();
    let script = script(&window, 2);
    let subject = Subject {
        requested: &requested,
        shown: &|_, _| None,
    };
    let start = Some(window.state().view.crosshair);
    let patience = Duration::from_millis(700);
    let times = follow(&mut window, &script, &subject, start, patience);
    assert!(
        times.first_s.is_empty() && times.final_s.is_none(),
        "{times:?}"
    );
    assert!(!times.frames.is_empty());
}
