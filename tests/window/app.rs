//! Data that outlive a window, and the times when it saves for recovery.

use crate::support::{Random, Window, done_event, test};
use arcuate::app::autosave::LastSave;
use arcuate::app::autosave::look::Look;
use arcuate::app::{store, window_size};
use arcuate::compute::BackendKind;
use arcuate::data::{Role, Shape};
use arcuate::state::sessions::jobs::{FindRecoverable, Recoverable};
use arcuate::state::sessions::{RecoverableSession, SessionContents};
use arcuate::state::{
    Action, Convention, Effect, FilesAction, LayerAction, Mouse, Preferences, RegionAction,
    SessionAction, State, ViewAction, update,
};
use eframe::Storage;
use egui::{Context, RawInput, Vec2, ViewportBuilder, ViewportId, vec2};
use glam::DVec3;
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub fn tests() -> Vec<Trial> {
    vec![
        test("app::what is kept between windows", kept),
        test(
            "app::saves for recovery by the minute and after jobs",
            clock,
        ),
        test("app::the views rest", rests),
        test("app::a job that ends asks to be saved", demanded),
        test("app::the first window fits its monitor", first_size),
        test(
            "app::a lock that outlives its process is checked again",
            repeated,
        ),
    ]
}

#[derive(Default)]
struct Memory(BTreeMap<String, String>);

impl Storage for Memory {
    fn get_string(&self, key: &str) -> Option<String> {
        self.0.get(key).cloned()
    }

    fn set_string(&mut self, key: &str, value: String) {
        self.0.insert(key.to_owned(), value);
    }

    fn remove_string(&mut self, key: &str) {
        self.0.remove(key);
    }

    fn flush(&mut self) {}
}

/// Settings, files with their windows, export folders, the theme and the backend.
fn kept() {
    let mut random = Random::fresh("kept");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii.gz");
    image(&path);
    let mut storage = Memory::default();
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![path])));
    let layer = window.state.document.layers[0].clone();
    let mut display = layer.display.clone();
    display.window = (
        random.uniform(0.0, 5.0) as f32,
        random.uniform(6.0, 9.0) as f32,
    );
    window.act(Action::Layer(LayerAction::SetDisplay {
        layer: layer.id,
        display: display.clone(),
        phase: arcuate::state::Phase::Done,
    }));
    let mut requested = Preferences {
        mouse: Mouse::ItkSnap,
        convention: Convention::Neurological,
        memory_gb: Some((random.uniform(1.0, 64.0) * 10.0).round() / 10.0),
        ..Preferences::default()
    };
    requested.paths.step_mm = random.uniform(0.1, 2.0);
    requested.paths.streamlines = 1 + (random.bits() % 9999) as usize;
    requested.paths.min_fa = Some(random.uniform(0.0, 1.0));
    window.act(Action::Set(requested.clone()));
    // Written at once, not only when the window is closed.
    let effects = update(&mut window.state, Action::View(ViewAction::ToggleTheme));
    assert!(effects.iter().any(|e| matches!(e, Effect::Store)));
    window.state.runtime.device.setting = BackendKind::Cpu;
    store::save(&mut storage, &window.state);

    let mut next = State::new(String::new());
    store::load(&storage, &mut next);
    assert_eq!(store::settings(&storage), requested);
    assert!(next.view.light_theme);
    assert_eq!(next.runtime.device.setting, BackendKind::Cpu);
    assert_eq!(
        next.runtime.files.exports.last,
        window.state.runtime.files.exports.last
    );
    // Results of one person are not saved next to those of another.
    assert_eq!(next.runtime.files.exports.folder, None);
    assert_eq!(next.runtime.files.recent.len(), 1);
    assert_eq!(next.runtime.files.recent[0].window, Some(display.window));

    // Switched back, and the settings of another version.
    window.state.view.light_theme = false;
    window.state.runtime.device.setting = BackendKind::Auto;
    store::save(&mut storage, &window.state);
    let mut next = State::new(String::new());
    store::load(&storage, &mut next);
    assert!(!next.view.light_theme);
    assert_eq!(next.runtime.device.setting, BackendKind::Auto);
    for text in storage.0.values_mut() {
        *text = "{".to_owned();
    }
    let mut next = State::new(String::new());
    store::load(&storage, &mut next);
    assert_eq!(store::settings(&storage), Preferences::default());
    assert!(next.runtime.files.recent.is_empty());
}

fn image(path: &Path) {
    use arcuate::data::{Grid, Volume};
    let grid = Grid::axis_aligned([4; 3], DVec3::ONE, DVec3::ZERO).unwrap();
    let values: Vec<f32> = (0..64).map(|i| i as f32 * 0.25).collect();
    let volume = Volume::scalar(grid.into(), values);
    let control = arcuate::compute::Control::new();
    arcuate::io::nifti::save_volume(path, &volume, "", &control).unwrap();
}

fn edited() -> State {
    let mut state = State::new(String::new());
    let shape = Shape::Sphere {
        centre: DVec3::ZERO,
        radius_mm: 3.0,
    };
    let role = Role::Seed;
    update(
        &mut state,
        Action::Region(RegionAction::Add { role, shape }),
    );
    assert!(state.is_dirty());
    state
}

/// A recovery copy is saved within a minute of the last one, and within seconds of the end of a job; saved documents
/// need none.
fn clock() {
    let ctx = Context::default();
    // Whether to save now, and when to check the clock again.
    let start = Instant::now();
    let due = |clock: &mut LastSave, state: &State, s: f64| {
        let mut due = None;
        let now = start + Duration::from_secs_f64(s);
        let output = ctx.run_ui(RawInput::default(), |ui| {
            due = clock.due(state, ui.ctx(), now);
        });
        let delay = output.viewport_output[&ViewportId::ROOT].repaint_delay;
        output.drop_without_applying_deltas();
        if let Some(action) = &due {
            let autosave = Action::Session(SessionAction::Autosave);
            assert_eq!(format!("{action:?}"), format!("{autosave:?}"));
        }
        (due.is_some(), delay)
    };
    let seconds = Duration::from_secs_f64;
    let mut state = edited();
    // The first frames of a window follow one another for other reasons.
    for _ in 0..4 {
        due(&mut LastSave::default(), &State::new(String::new()), 0.0);
    }
    let mut clock = LastSave::default();
    let (now, repeated) = due(&mut clock, &state, 0.0);
    assert!(
        !now && repeated > seconds(59.0) && repeated <= seconds(60.0),
        "{repeated:?}"
    );
    state.runtime.sessions.autosave.is_due = true;
    let (now, repeated) = due(&mut clock, &state, 1.0);
    assert!(!now && repeated <= seconds(2.0), "{repeated:?}");
    state.runtime.sessions.autosave.is_due = false;
    assert!(!due(&mut clock, &state, 3.1).0, "no job has ended");
    state.runtime.sessions.autosave.is_due = true;
    assert!(due(&mut clock, &state, 3.1).0);
    // Jobs that end in a row share one save.
    assert!(!due(&mut clock, &state, 3.2).0);
    assert!(due(&mut clock, &state, 6.2).0);
    // Without jobs a change waits for a minute.
    state.runtime.sessions.autosave.is_due = false;
    assert!(!due(&mut clock, &state, 66.1).0);
    assert!(due(&mut clock, &state, 66.3).0);
    let clean = State::new(String::new());
    assert!(!due(&mut LastSave::default(), &clean, 100.0).0);
}

/// A viewpoint is recorded once it has not changed for 0.4 s, and once only; while a button is down, it is not.
fn rests() {
    use arcuate::app::rest::Rest;
    use arcuate::state::{ViewAction, ViewpointAction};
    let ctx = Context::default();
    let start = Instant::now();
    let due = |rest: &mut Rest, state: &State, s: f64, events: Vec<egui::Event>| {
        let mut due = None;
        let input = RawInput {
            events,
            ..RawInput::default()
        };
        let now = start + Duration::from_secs_f64(s);
        let output = ctx.run_ui(input, |ui| due = rest.due(state, ui.ctx(), now));
        output.drop_without_applying_deltas();
        due
    };
    let folder = tempfile::tempdir().unwrap();
    let mut window = crate::support::session_window::Window::with_scan(folder.path());
    let mut rest = Rest::default();
    assert!(due(&mut rest, &window.state, 0.0, Vec::new()).is_none());
    assert!(due(&mut rest, &window.state, 0.3, Vec::new()).is_none());
    window.state.view.crosshair.x += 1.0;
    assert!(
        due(&mut rest, &window.state, 0.5, Vec::new()).is_none(),
        "it moved"
    );
    let button = |pressed| egui::Event::PointerButton {
        pos: egui::pos2(5.0, 5.0),
        button: egui::PointerButton::Primary,
        pressed,
        modifiers: egui::Modifiers::NONE,
    };
    assert!(due(&mut rest, &window.state, 1.0, vec![button(true)]).is_none());
    assert!(
        due(&mut rest, &window.state, 2.0, Vec::new()).is_none(),
        "dragged"
    );
    assert!(due(&mut rest, &window.state, 2.1, vec![button(false)]).is_none());
    let action = due(&mut rest, &window.state, 2.6, Vec::new()).expect("it rests");
    let expected = Action::View(ViewAction::Viewpoint(ViewpointAction::Remember));
    assert_eq!(format!("{action:?}"), format!("{expected:?}"));
    window.act(action);
    assert_eq!(
        window.state.viewpoints.last(),
        Some(&window.state.view.viewpoint())
    );
    assert!(
        due(&mut rest, &window.state, 9.0, Vec::new()).is_none(),
        "once"
    );
    let empty = State::new(String::new());
    assert!(due(&mut rest, &empty, 9.0, Vec::new()).is_none());
    assert!(due(&mut rest, &empty, 19.0, Vec::new()).is_none());
}

/// Any job that ends well; a recovery job itself requests nothing.
fn demanded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii.gz");
    image(&path);
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![
        folder.path().join("none.nii.gz"),
    ])));
    assert!(
        !window.state.runtime.sessions.autosave.is_due,
        "nothing was done"
    );
    window.act(Action::Files(FilesAction::Open(vec![path])));
    assert!(window.state.runtime.sessions.autosave.is_due);
    window.state.runtime.sessions.autosave.is_due = false;
    window.act(Action::Session(SessionAction::FindRecoverable));
    assert!(!window.state.runtime.sessions.autosave.is_due);
}

/// When a check finds a lock held, others follow for a minute; their finds are added to the first.
fn repeated() {
    let left = |name: &str| RecoverableSession {
        session: PathBuf::from(name),
        written_s: 1,
        name: name.to_owned(),
        contents: SessionContents {
            regions: 1,
            layers: 1,
            ..SessionContents::default()
        },
        origin: None,
    };
    let looked = |state: &mut State, sessions: Vec<RecoverableSession>, stored: bool| {
        let output = Recoverable {
            sessions,
            is_locked: stored,
        };
        let event = done_event(FindRecoverable, 0, output);
        update(state, Action::Event(event));
    };
    let ctx = Context::default();
    let mut state = State::new(String::new());
    let start = Instant::now();
    let mut look = Look::started(start);
    let mut due = |state: &State, s: f64| {
        let action = look.due(state, &ctx, start + Duration::from_secs_f64(s));
        let find = format!("{:?}", Action::Session(SessionAction::FindRecoverable));
        assert!(action.iter().all(|a| format!("{a:?}") == find));
        action.is_some()
    };
    assert!(!due(&state, 10.0), "nothing is held");
    looked(&mut state, vec![left("a")], true);
    assert!(due(&state, 11.0) && !due(&state, 12.0));
    assert!(due(&state, 14.1) && due(&state, 59.0));
    looked(&mut state, vec![left("b")], true);
    let names = |state: &State| {
        let left = state.runtime.sessions.recovery.sessions.iter();
        left.map(|l| l.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&state), ["a", "b"]);
    assert!(!due(&state, 63.0), "a window that is open");
    looked(&mut state, Vec::new(), false);
    let mut late = Look::started(start);
    assert!(
        late.due(&state, &ctx, start + Duration::from_secs(9))
            .is_none()
    );
    assert_eq!(names(&state), ["a", "b"]);
}

/// The initial size includes the title bar and follows the size of the interface; a later window keeps the size that it
/// had.
fn first_size() {
    const TITLE_BAR: f32 = 32.0;
    let requested = window_size::requested(ViewportBuilder::default());
    for monitor in [vec2(1280.0, 800.0), vec2(2560.0, 1440.0)] {
        for zoom in [0.8, 1.0, 1.25, 1.5, 2.0_f32] {
            // eframe clamps the size in this way.
            let expected: Vec2 = requested.inner_size.expect("a size");
            let reduced = requested
                .clone()
                .with_inner_size(expected.min(monitor / zoom));
            let built = window_size::within_monitor(reduced);
            let size = built.inner_size.expect("a size") * zoom;
            let least = built.min_inner_size.expect("a least size") * zoom;
            let at = format!("{monitor} at {zoom}: {size}, at least {least}");
            assert!(
                size.y + TITLE_BAR <= monitor.y && size.x <= monitor.x,
                "{at}"
            );
            assert!(least.x <= size.x && least.y <= size.y, "{at}");
            assert!(zoom != 1.0 || size == vec2(1280.0, 760.0), "{at}");
        }
    }
    let earlier = vec2(700.0, 420.0);
    let earlier = requested.with_inner_size(earlier).with_maximized(false);
    let built = window_size::within_monitor(earlier.clone());
    assert_eq!(built.inner_size, earlier.inner_size);
    assert_eq!(built.min_inner_size, earlier.inner_size);
}
