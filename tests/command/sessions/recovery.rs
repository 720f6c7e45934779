//! The unsaved work of a window, and who may recover it.

use crate::support::session_window::{Window, everything, layer};
use crate::support::test;
use arcuate::data::Role;
use arcuate::io::recovery::{RecoveryFolder, is_any_locked, recoverable_folders};
use arcuate::state::sessions::ResultStorage;
use arcuate::state::sessions::jobs::{Autosave, RemoveRecoveryCopy, SaveSession};
use arcuate::state::sessions::saved;
use arcuate::state::sessions::unsaved::UnsavedPart;
use arcuate::state::{
    Action, Effect, FilesAction, LayerAction, Phase, SessionAction, SnapshotAction, TrackAction,
    UnsavedAction, update,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "sessions::the work of an open window is not offered",
            windows,
        ),
        test("sessions::the newest work is offered first", newest),
        test("sessions::recovered work knows its session", origin),
        test(
            "sessions::after a recovery the program asks only about unsaved work",
            offered_after,
        ),
        test("sessions::only unsaved work is copied", copies_of_work),
        test(
            "sessions::a copy of recipes alone goes once it is saved",
            recipes,
        ),
    ]
}

fn windows() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    assert!(recoverable_folders(root).is_empty());
    let recovery_folder = RecoveryFolder::new(root).expect("a folder");
    let other = RecoveryFolder::new(root).expect("another");
    std::fs::write(recovery_folder.session(), "work").expect("written");
    assert_ne!(recovery_folder.session(), other.session());
    assert!(
        recoverable_folders(root).is_empty(),
        "both windows are open"
    );
    assert!(is_any_locked(root, &[]) && is_any_locked(root, &[&other]));
    assert!(
        !is_any_locked(root, &[&recovery_folder]),
        "its own lock does not count"
    );
    // The process ends: the lock is released, the folder stays.
    let path = recovery_folder.session();
    drop(recovery_folder);
    drop(other);
    assert!(!is_any_locked(root, &[]));
    let found = recoverable_folders(root);
    assert_eq!(found.len(), 1, "the one without a session is removed");
    assert_eq!(found[0].session(), path);
    assert!(recoverable_folders(root).is_empty(), "its lock is held");
    drop(found);
    let found = recoverable_folders(root);
    assert_eq!(found.len(), 1, "offered again");
    found.into_iter().for_each(RecoveryFolder::remove);
    assert!(!path.exists() && recoverable_folders(root).is_empty());
}

fn newest() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    // The order is neither that of creation nor its reverse.
    let ages_s = [300, 60, 900, 5];
    let folders = ages_s.map(|_| RecoveryFolder::new(root).expect("a folder"));
    for (recovery_folder, age) in folders.iter().zip(ages_s) {
        std::fs::write(recovery_folder.session(), "work").expect("written");
        let file = std::fs::File::options()
            .write(true)
            .open(recovery_folder.session());
        let then = SystemTime::now() - Duration::from_secs(age);
        file.expect("found").set_modified(then).expect("aged");
    }
    let places = folders.each_ref().map(RecoveryFolder::session);
    drop(folders);
    let found: Vec<_> = recoverable_folders(root)
        .iter()
        .map(RecoveryFolder::session)
        .collect();
    assert_eq!(found, [3, 1, 0, 2].map(|i: usize| places[i].clone()));
}

/// Saving after a recovery writes to the session that was open, not to the copy.
fn origin() {
    let folder = tempfile::tempdir().expect("a folder");
    let [own, copy] = ["own.arcuate", "copy.arcuate"].map(|n| folder.path().join(n));
    let mut window = Window::with_scan(folder.path());
    window.place(Role::Seed, DVec3::ZERO, 4.0);
    window.save(&own);
    window.place(Role::Target, DVec3::ONE, 4.0);
    let mut reopened = recovered(&mut window, &copy);
    assert_eq!(
        reopened.state.runtime.sessions.file,
        Some(own.clone()),
        "{}",
        reopened.messages()
    );
    assert!(reopened.state.is_dirty());
    assert_eq!(reopened.state.document.regions.len(), 2);
    // A note lists what was recovered until it is saved; the offer is removed.
    let message = reopened.messages();
    assert!(
        message.starts_with("Recovered own.arcuate: ")
            && message.ends_with(" layers, 2 regions. Save the session to keep it"),
        "{message}"
    );
    reopened.session(SessionAction::Save {
        path: None,
        next: None,
    });
    assert_eq!(reopened.messages(), "");
    assert_eq!(Window::opened(&own).state.document.regions.len(), 2);
}

/// The work of a window in another one, through a recovery copy.
pub fn recovered(window: &mut Window, copy: &Path) -> Window {
    let draft = Box::new(saved::autosave(&window.state));
    let path = copy.to_owned();
    let job = SaveSession {
        path,
        draft,
        expected_sha256: None,
    };
    let job = window.jobs.submit(job);
    window.jobs.wait(&job, |_| {});
    let mut reopened = Window::new();
    let unsaved_action = UnsavedAction::Recover(copy.to_owned());
    reopened.session(SessionAction::CloseDocument(unsaved_action));
    reopened
}

/// One item of each kind is in the session, or none is; then one more is made.
fn offered_after() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.arcuate");
    let file = folder.path().join("own.arcuate");
    let mut window = everything(folder.path());
    // Without a session no file holds any of it.
    let before = window.state.unsaved();
    let reopened = recovered(&mut window, &copy);
    assert_eq!(reopened.state.unsaved(), before, "{}", reopened.messages());
    window.save(&file);
    let start = window.state.clone();
    let phase = Phase::Done;
    let mut track = start.document.track.streamlines.clone();
    track.min_length_mm = 6.0;
    let place = |window: &mut Window| window.place(Role::Exclude, DVec3::splat(9.0), 2.0);
    let tracks = layer(&window, "Streamlines");
    type Change<'a> = (&'a dyn Fn(&mut Window), UnsavedPart);
    let name = "Others".to_owned();
    let changes: [Change<'_>; 4] = [
        (&place, UnsavedPart::Regions(1)),
        (
            &|w: &mut Window| {
                let params = track.clone();
                w.act(Action::Track(TrackAction::SetStreamlines { params, phase }));
            },
            UnsavedPart::Parameters,
        ),
        (
            &|w: &mut Window| w.act(Action::Snapshot(SnapshotAction::Take)),
            UnsavedPart::Snapshots(2),
        ),
        (
            &|w: &mut Window| {
                let name = name.clone();
                w.act(Action::Layer(LayerAction::Rename {
                    layer: tracks,
                    name,
                }));
            },
            UnsavedPart::Other,
        ),
    ];
    for (change, item) in changes {
        window.state = start.clone();
        change(&mut window);
        let requested = [item];
        assert_eq!(window.state.unsaved(), requested);
        let mut reopened = recovered(&mut window, &copy);
        assert_eq!(
            reopened.state.unsaved(),
            requested,
            "{}",
            reopened.messages()
        );
        assert!(reopened.state.asks_before_closing());
        // A second crash changes nothing about this.
        let reopened = recovered(&mut reopened, &folder.path().join("second.arcuate"));
        assert_eq!(
            reopened.state.unsaved(),
            requested,
            "{}",
            reopened.messages()
        );
    }
    // If the session has changed since, it does not show what is saved of the work.
    window.state = start;
    place(&mut window);
    let text = std::fs::read_to_string(&file).expect("saved");
    std::fs::write(&file, text + "\n").expect("written");
    let reopened = recovered(&mut window, &copy);
    let regions = window.state.document.regions.len();
    let things = reopened.state.unsaved();
    assert!(
        things.contains(&UnsavedPart::Regions(regions)),
        "{things:?}"
    );
    let is_layer = |t: &UnsavedPart| matches!(t, UnsavedPart::Layer { .. });
    assert!(things.iter().any(is_layer), "{things:?}");
}

/// The copy has no more of streamlines that a session never stored than the saved session.
fn recipes() {
    let folder = tempfile::tempdir().expect("a folder");
    let [own, copy] = ["own.arcuate", "copy.arcuate"].map(|n| folder.path().join(n));
    let mut window = Window::with_scan(folder.path());
    window.work();
    window.session(SessionAction::SetStore(ResultStorage::Nothing));
    window.save(&own);
    assert_eq!(window.state.saved_without().len(), 2);
    let mut crashed = Window::opened(&own);
    assert_eq!(crashed.state.document.missing_layers().count(), 2);
    crashed.place(Role::Target, DVec3::ONE, 4.0);
    let mut reopened = recovered(&mut crashed, &copy);
    assert!(
        !reopened.messages().contains("copy is kept"),
        "{}",
        reopened.messages()
    );
    assert_eq!(
        reopened.state.runtime.sessions.recovery.source,
        Some(copy.clone())
    );
    let save = SessionAction::Save {
        path: None,
        next: None,
    };
    reopened.session(save.clone());
    assert_eq!(
        reopened.state.runtime.sessions.recovery.source, None,
        "it is dropped"
    );
    assert!(!reopened.state.is_dirty(), "{:?}", reopened.state.unsaved());
    // The header states it although none of them is in memory.
    assert_eq!(reopened.state.saved_without().len(), 2);
    // Streamlines of the copy that cannot be read now exist nowhere else.
    window.session(SessionAction::SetStore(ResultStorage::All));
    window.save(&copy);
    let stored = folder.path().join("copy.arcuate.files");
    std::fs::remove_dir_all(stored).expect("removed");
    let mut reopened = Window::new();
    reopened.session(SessionAction::CloseDocument(UnsavedAction::Recover(
        copy.clone(),
    )));
    assert!(
        reopened.messages().contains("copy is kept"),
        "{}",
        reopened.messages()
    );
    let path = Some(folder.path().join("other.arcuate"));
    reopened.session(SessionAction::Save { path, next: None });
    assert_eq!(reopened.state.runtime.sessions.recovery.source, Some(copy));
}

/// A user who has only opened files, or has everything in files, is offered nothing at the next start.
fn copies_of_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let copies = |window: &mut Window| {
        let effects = update(&mut window.state, Action::Session(SessionAction::Autosave));
        let is = |e: &Effect| e.job::<Autosave>().is_some();
        window.state.runtime.sessions.autosave.is_running = false;
        effects.iter().any(is)
    };
    let mut window = Window::with_scan(folder.path());
    assert!(!copies(&mut window), "{:?}", window.state.unsaved());
    window.act(Action::Track(TrackAction::WholeBrain));
    let brain = layer(&window, "Whole brain");
    assert!(copies(&mut window));
    let path: PathBuf = folder.path().join("brain.tck");
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: Some(brain),
        path: path.clone(),
    }));
    assert!(!copies(&mut window), "{:?}", window.state.unsaved());
    // A file that was opened is in a file.
    window.open(&path);
    assert!(!copies(&mut window), "{:?}", window.state.unsaved());
    window.place(Role::Seed, DVec3::ZERO, 4.0);
    assert!(copies(&mut window));
    window.act(Action::Undo);
    // The earlier copy is removed.
    let effects = update(&mut window.state, Action::Session(SessionAction::Autosave));
    let leaves = |e: &Effect| e.job::<RemoveRecoveryCopy>().is_some();
    assert!(effects.iter().any(leaves), "{effects:?}");
}
