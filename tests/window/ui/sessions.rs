//! Sessions in the window: its questions, offers and names.

use super::{Window, click, small_scan, submitted, tracking, window};
use crate::support::{done_event, saved_event, test};
use arcuate::compute::Control;
use arcuate::jobs::{Delivery, JobHandle, Outcome};
use arcuate::state::files::jobs::LOAD;
use arcuate::state::sessions::jobs::{
    ForgetRecoverable, LoadLayers, OpenSession, RelocateFiles, SaveOutcome, SaveSession,
};
use arcuate::state::sessions::{
    Change, Difference, Entry, FileComparison, FileStatus, Missing, ReadSession,
    RecoverableSession, RestoreProgress, ResultStorage, SessionContents,
};
use arcuate::state::sessions::{FileDecision, Opening, saved};
use arcuate::state::view::SideList;
use arcuate::state::{
    Action, Effect, Event, SessionAction, State, Task, TrackAction, UnsavedAction, update,
};
use arcuate::ui::theme;
use arcuate::ui::views::Views;
use egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "ui::the window asks about unsaved work before closing",
            question,
        ),
        test("ui::the question names what would be lost", named),
        test("ui::large layers are stored on request", store_too),
        test("ui::unsaved work of an earlier run is offered", recovery),
        test(
            "ui::an offer of recovery next to a scan takes one row",
            recovery_in_a_task,
        ),
        test("ui::missing files of a session are named", missing),
        test(
            "ui::the user decides about changed files of a session",
            changed,
        ),
        test("ui::the file menu and its keys", file_menu),
        test("ui::empty views say what a session waits for", waiting),
        test("ui::the list of a session is open beside its task", list),
    ]
}

/// The only session job reads the session, or discards it.
fn reads_or_forgets(window: &Window, read: bool, session: &Path) {
    let paths = |paths: Vec<&PathBuf>| paths.into_iter().cloned().collect::<Vec<_>>();
    let opened = submitted::<OpenSession>(window).into_iter();
    let forgotten = submitted::<ForgetRecoverable>(window).into_iter();
    let opened = paths(opened.map(|job| &job.path).collect());
    let forgotten = paths(forgotten.map(|job| &job.session).collect());
    let expected = vec![session.to_owned()];
    match read {
        true => assert_eq!((opened, forgotten), (expected, Vec::new())),
        false => assert_eq!((opened, forgotten), (Vec::new(), expected)),
    }
}

/// Whether a note begins with these words; its cross has a text, too.
fn is_shown(window: &Window, begins: &str) -> bool {
    window.query_all_by_label_contains(begins).next().is_some()
}

fn closes(window: &Window) -> bool {
    let mut effects = window.state().effects.iter();
    effects.any(|e| matches!(e, Effect::Close))
}

fn request_quit(state: &mut State) {
    let leave = SessionAction::CloseDocument(UnsavedAction::Quit);
    update(state, Action::Session(leave));
    assert!(state.runtime.sessions.pending_action.is_some());
}

fn question() {
    let mut state = tracking();
    request_quit(&mut state);
    for (answer, ends) in [("Cancel", false), ("Don’t save", true)] {
        let mut window = window(state.clone(), [1280.0, 800.0]);
        window.get_by_label("Save the session before the window closes?");
        // Keys wait for the answer.
        window.key_press(Key::Delete);
        window.run();
        assert!(!window.state().state.document.regions.is_empty());
        click(&mut window, answer);
        assert_eq!(closes(&window), ends);
        assert!(
            window
                .state()
                .state
                .runtime
                .sessions
                .pending_action
                .is_none()
        );
    }
    // Without a name the path is requested, and the question does not hide the field.
    let mut unnamed = window(state.clone(), [1280.0, 800.0]);
    click(&mut unnamed, "Save…");
    unnamed.get_by_label("Path");
    assert!(submitted::<SaveSession>(&unnamed).is_empty() && !closes(&unnamed));
    // With a name it is saved at once.
    state.runtime.sessions.file = Some(PathBuf::from("/data/s.arcuate"));
    let mut named = window(state, [1280.0, 800.0]);
    named.key_press(Key::Enter);
    named.run();
    assert_eq!(submitted::<SaveSession>(&named).len(), 1);
    let then = &named.state().state.runtime.sessions.next;
    assert_eq!(*then, Some(UnsavedAction::Quit));
}

/// An export of something else does not change the header, the title and the question.
fn named() {
    let mut state = tracking();
    update(&mut state, Action::Track(TrackAction::Keep));
    let event = saved_event(0, "/data/t.tck", "something");
    update(&mut state, Action::Event(event));
    assert!(arcuate::ui::quit::title(&state).starts_with('•'));
    request_quit(&mut state);
    let window = window(state.clone(), [1280.0, 800.0]);
    window.get_by_label("sub-01 · not saved");
    window.get_by_label("• 3 regions");
    window.get_by_label_contains("• Streamlines: 450 streamlines");
}

fn store_too() {
    let mut state = tracking();
    update(&mut state, Action::Track(TrackAction::Keep));
    state.document.session.store = ResultStorage::Nothing;
    let path = PathBuf::from("/data/s.arcuate");
    let save = SessionAction::Save {
        path: Some(path.clone()),
        next: None,
    };
    update(&mut state, Action::Session(save));
    let job = SaveSession {
        path,
        draft: Box::new(saved::draft(&state)),
        expected_sha256: None,
    };
    let output = SaveOutcome::Saved {
        sha256: String::new(),
        numbers_omitted: 0,
    };
    let event = done_event(job, 0, output);
    update(&mut state, Action::Event(event));
    assert!(!state.is_dirty(), "{:?}", state.unsaved());
    let mut window = window(state, [1280.0, 800.0]);
    // The size is stated once, with the layer.
    let note = "The session holds the recipe of 1 layer, not its streamlines";
    assert!(is_shown(&window, note));
    window.get_by_label_contains(" · saved without 1 layer");
    click(&mut window, "Also store them");
    let saves = submitted::<SaveSession>(&window);
    let [SaveSession { draft, .. }] = saves[..] else {
        panic!("{saves:?}")
    };
    assert_eq!(draft.store, ResultStorage::All);
    // Once stored it is no longer mentioned.
    assert!(!is_shown(&window, note));
}

fn recovery() {
    let session = PathBuf::from("/home/me/.local/state/arcuate/recovery/1/session.arcuate");
    for (answer, read) in [("Recover", true), ("Discard", false)] {
        let mut state = State::new(String::new());
        state
            .runtime
            .sessions
            .recovery
            .sessions
            .push(RecoverableSession {
                session: session.clone(),
                written_s: 0,
                name: "sub-01".to_owned(),
                contents: SessionContents {
                    regions: 2,
                    layers: 1,
                    has_surface: true,
                    ..SessionContents::default()
                },
                origin: None,
            });
        let mut window = window(state, [1280.0, 800.0]);
        let banner = "Arcuate quit without saving";
        // Nothing that the copy lacks is counted.
        assert!(is_shown(
            &window,
            "sub-01: 1 layer, 2 regions, a surface, from "
        ));
        assert!(is_shown(&window, banner));
        click(&mut window, answer);
        confirms_first(&mut window, read);
        reads_or_forgets(&window, read, &session);
        // A session being recovered can no longer be discarded, unless it cannot be read.
        assert!(!is_shown(&window, banner));
        let mut state = window.state().state.clone();
        let job = OpenSession {
            path: session.clone(),
            strict: false,
            folders: Vec::new(),
        };
        let delivery = Delivery {
            slot: LOAD,
            ticket: 0,
            wall_ms: 1.0,
            outcome: Outcome::Failed("damaged".to_owned().into()),
        };
        let event = Event::new(job, delivery);
        update(&mut state, Action::Event(event));
        assert_eq!(state.runtime.sessions.offered().count(), usize::from(read));
    }
}

/// Work is discarded only after a question, which Esc and "Keep" answer with no.
fn confirms_first(window: &mut Window, read: bool) {
    const FOR_GOOD: &str = "Discard for good";
    assert_eq!(window.query_by_label(FOR_GOOD).is_none(), read);
    if read {
        return;
    }
    click(window, "Keep");
    assert!(window.query_by_label(FOR_GOOD).is_none());
    click(window, "Discard");
    window.key_press(egui::Key::Escape);
    window.run();
    assert!(window.query_by_label(FOR_GOOD).is_none());
    assert!(submitted::<ForgetRecoverable>(window).is_empty());
    assert!(submitted::<OpenSession>(window).is_empty());
    click(window, "Discard");
    click(window, FOR_GOOD);
}

/// Next to a scan the offer takes one row, which leaves space for the task.
fn recovery_in_a_task() {
    for size in [[1280.0, 770.0], [1920.0, 1080.0]] {
        for (answer, read) in [("Recover", true), ("Discard", false)] {
            let mut state = small_scan();
            let session = PathBuf::from("/home/me/recovery/1/session.arcuate");
            state
                .runtime
                .sessions
                .recovery
                .sessions
                .push(RecoverableSession {
                    session: session.clone(),
                    written_s: 0,
                    name: "sub-01_ses-02_acq-mb3dir97".to_owned(),
                    contents: SessionContents {
                        regions: 2,
                        layers: 1,
                        ..SessionContents::default()
                    },
                    origin: None,
                });
            let mut window = window(state, size);
            let note = window.get_by_role(egui::Role::Note).rect();
            assert!(note.height() < 40.0, "{note:?}");
            // Neither the sentence nor its name is cut: they take two lines within the row.
            let shapes = window.output().shapes.iter();
            let message = shapes.filter_map(|clipped| match &clipped.shape {
                egui::Shape::Text(text) => {
                    let is_it = text.galley.text() == "Unsaved: sub-01_ses-02_acq-mb3dir97";
                    is_it.then(|| (text.visual_bounding_rect(), text.galley.elided))
                }
                _ => None,
            });
            let message: Vec<_> = message.collect();
            let [(place, false)] = message[..] else {
                panic!("{message:?}");
            };
            let recover = window.get_by_label("Recover").rect();
            assert!(note.contains_rect(place), "{place:?} {note:?}");
            assert!(place.right() <= recover.left(), "{place:?} {recover:?}");
            for name in ["Recover", "Discard"] {
                let button = window.get_by_label(name).rect();
                assert!(note.contains_rect(button), "{name} {button:?}");
            }
            click(&mut window, answer);
            confirms_first(&mut window, read);
            reads_or_forgets(&window, read, &session);
        }
    }
}

/// A session of one missing scan.
fn opening(state: &State) -> Opening {
    let draft = saved::draft(state);
    let (content, unknown) = saved::parse(draft.content.value()).expect("a session");
    assert!(unknown.is_empty(), "{unknown:?}");
    let entry = Entry {
        path: "dwi.nii.gz".to_owned(),
        bytes: 5,
        modified_ns: 0,
        sha256: "0".to_owned(),
        companions: Vec::new(),
    };
    let read = ReadSession {
        origin_is_same: false,
        path: PathBuf::from("/data/s.arcuate"),
        sha256: String::new(),
        content: Ok((content.clone(), unknown)),
        program: String::new(),
        computed_on: String::new(),
        files: vec![FileStatus {
            path: PathBuf::from("/data/dwi.nii.gz"),
            standing: FileComparison::Missing(Missing::Gone),
            is_read: true,
            suggestion: Some(PathBuf::from("/data/other/dwi.nii.gz")),
            entry,
        }],
        masks: Vec::new(),
        numbers: Vec::new(),
        sorted_weights: Default::default(),
        results: Vec::new(),
    };
    Opening {
        session: Arc::new(read),
        content,
        recovered: false,
        asking: true,
        moved: false,
        decisions: Default::default(),
        unknown: false,
        unreadable: Vec::new(),
        progress: RestoreProgress::new(7),
    }
}

/// While the layers of a session are read, views without a picture show the progress; those with one do not.
fn waiting() {
    const TEXT: &str = "Opening s.arcuate: 0 of 7 layers";
    let mut state = small_scan();
    let opening = opening(&state);
    state.runtime.sessions.opening = Some(Opening {
        asking: false,
        ..opening
    });
    state.runtime.jobs.running.push(JobHandle {
        slot: LOAD,
        ticket: 7,
        label: "Opening the session's files".to_owned(),
        control: Control::new(),
        started: Instant::now(),
    });
    let texts = |state: &State| {
        let (mut views, shown) = (Views::default(), state.clone());
        let mut window = Harness::builder()
            .with_size([1000.0, 800.0])
            .with_context_setup(theme::install)
            .build_ui(move |ui| views.show(ui, &shown, &mut Vec::new()));
        window.run_steps(3);
        window.query_all_by_label(TEXT).count()
    };
    assert_eq!(texts(&state), 0, "they have pictures");
    let layers: Vec<_> = state.document.layers.iter().map(|l| l.id).collect();
    for id in layers {
        state.document.edit_layer(id, |l| l.display.visible = false);
    }
    assert_eq!(texts(&state), 4);
    state.runtime.jobs.running.clear();
    assert_eq!(texts(&state), 0, "nothing is being opened");
}

/// Another task closes the list where both leave too little to the views. A session that is opened shows another task,
/// too, but with the list that was open when it was saved.
fn list() {
    let mut state = small_scan();
    let read = opening(&state).session;
    state.view.visible.side_list = Some(SideList::Layers);
    let mut window = window(state, [640.0, 380.0]);
    let is_open = |window: &Window| {
        let head = window.query_by_role_and_label(egui::Role::Heading, "Layers");
        head.is_some()
    };
    assert!(is_open(&window));
    let state = &mut window.state_mut().state;
    state.runtime.sessions.opened = Some(read);
    state.view.task = Task::Pathways;
    window.run();
    assert!(is_open(&window));
    window.state_mut().state.view.task = Task::Track;
    window.run();
    assert!(!is_open(&window));
    assert_eq!(window.state().state.view.visible.side_list, None);
}

fn missing() {
    for answer in ["Take other/dwi.nii.gz", "Choose later", "Cancel"] {
        let mut state = small_scan();
        state.runtime.sessions.opening = Some(opening(&state));
        let mut window = window(state, [1280.0, 800.0]);
        window.get_by_label("dwi.nii.gz: There is no such file");
        click(&mut window, answer);
        let loads = submitted::<LoadLayers>(&window).len();
        let relocated = submitted::<RelocateFiles>(&window);
        match (answer, loads, &relocated[..]) {
            ("Cancel", 0, []) => assert!(window.state().state.runtime.sessions.opening.is_none()),
            ("Choose later", 1, []) => {}
            (_, 0, [RelocateFiles { new_paths, .. }]) => {
                assert_eq!(*new_paths, [(0, PathBuf::from("/data/other/dwi.nii.gz"))]);
            }
            _ => panic!("{answer}: {loads}, {relocated:?}"),
        }
    }
}

/// The user chooses to use a changed file or to leave it out; the row keeps its name for any replacement file.
fn changed() {
    let mut state = small_scan();
    let mut opening = opening(&state);
    let read = Arc::make_mut(&mut opening.session);
    let mut other = read.files[0].clone();
    read.files[0].standing = FileComparison::Changed(Change {
        companion: None,
        difference: Difference::Bytes { now: 7, before: 5 },
    });
    read.files[0].suggestion = None;
    read.files[0].path = PathBuf::from(format!("/data/{}/other.nii.gz", "long/".repeat(60)));
    other.entry.path = "mask.nii.gz".to_owned();
    read.files.extend([other.clone(), other]);
    state.runtime.sessions.opening = Some(opening);
    let mut window = window(state, [1280.0, 800.0]);
    window.get_by_label("s.arcuate: 3 files are missing or changed");
    window.get_by_label("dwi.nii.gz: It has 7 bytes and had 5 when the session was saved");
    let answer = |w: &Window| {
        let opening = w.state().state.runtime.sessions.opening.as_ref();
        opening.expect("opened").decisions.get(&0).copied()
    };
    assert_eq!(answer(&window), None);
    click(&mut window, "Leave out");
    assert_eq!(answer(&window), Some(FileDecision::LeaveOut));
    click(&mut window, "Use it as it is");
    assert_eq!(answer(&window), Some(FileDecision::UseAsItIs));
    window.get_by_label("Choose later");
    click(&mut window, "Take all 2");
    match &submitted::<RelocateFiles>(&window)[..] {
        [RelocateFiles { new_paths, .. }] => assert_eq!(new_paths.len(), 2),
        other => panic!("{other:?}"),
    }
}

fn file_menu() {
    let mut state = small_scan();
    state.runtime.sessions.file = Some(PathBuf::from("/data/s.arcuate"));
    let mut window = window(state, [1280.0, 800.0]);
    window.get_by_label_contains("s.arcuate · ");
    click(&mut window, "File");
    click(&mut window, "Save session");
    window.key_press_modifiers(Modifiers::COMMAND, Key::S);
    window.run();
    assert_eq!(submitted::<SaveSession>(&window).len(), 2);
    window.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::S);
    window.run();
    window.get_by_label("Path");
    window.key_press(Key::Escape);
    window.run();
    assert!(window.query_by_label("Path").is_none());
    click(&mut window, "File");
    click(&mut window, "New");
    let state = &window.state().state;
    assert!(state.document.is_empty() || state.runtime.sessions.pending_action.is_some());
}
