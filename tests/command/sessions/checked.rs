//! Verification: files of equal size and date are read in the background, kept streamlines are compared before their
//! name is reused, and a session changed by another program is not overwritten without asking.

use crate::support::session_window::Window;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Role, Tractogram};
use arcuate::io;
use arcuate::state::sessions::FileVerification;
use arcuate::state::sessions::ResultStorage;
use arcuate::state::{SessionAction, UnsavedAction};
use glam::dvec3;
use libtest_mimic::Trial;
use std::cell::Cell;
use std::path::{Path, PathBuf};

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::files of equal size and date are read", verified),
        test(
            "sessions::the program asks about a file without a checksum",
            unread,
        ),
        test("sessions::kept streamlines are compared", kept),
        test(
            "sessions::a session changed by another window is reported",
            changed_since,
        ),
        test("sessions::a recovered session knows its file", recovered),
    ]
}

/// A saved session of a scan with a seed.
fn saved(folder: &Path) -> (Window, PathBuf) {
    let mut window = Window::with_scan(folder);
    window.place(Role::Seed, dvec3(0.0, -6.0, 0.0), 5.0);
    let path = folder.join("s.arcuate");
    window.save(&path);
    (window, path)
}

/// Other bytes in a file of the same length, size and date.
fn tamper(file: &Path) {
    let date = std::fs::metadata(file)
        .and_then(|m| m.modified())
        .expect("a date");
    let mut bytes = std::fs::read(file).expect("read");
    let last = bytes.len() - 1;
    // A space instead of the line end: the same numbers.
    bytes[last] = if bytes[last] == b' ' { b'\n' } else { b' ' };
    let written = std::fs::File::options()
        .write(true)
        .open(file)
        .expect("open");
    std::io::Write::write_all(&mut &written, &bytes).expect("written");
    written.set_modified(date).expect("dated");
}

fn verified() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, path) = saved(folder.path());
    let window = Window::opened(&path);
    let saving = &window.state.runtime.sessions;
    assert_eq!(
        saving.verified,
        Some(FileVerification::Unchanged(2)),
        "{}",
        window.messages()
    );
    assert_eq!(window.messages(), "");
    tamper(&folder.path().join("dwi.bval"));
    let window = Window::opened(&path);
    let saving = &window.state.runtime.sessions;
    let differs = FileVerification::Changed(vec!["dwi.nii.gz".to_owned()]);
    assert_eq!(saving.verified, Some(differs));
    let message = window.messages();
    assert!(
        message.contains("dwi.bval beside it has other content") && message.contains("dwi.nii.gz"),
        "{message}"
    );
    assert!(
        window.state.document.tensors.is_some(),
        "it is open nevertheless"
    );
}

/// It could not be read when the session was saved: no file there now is the known one.
fn unread() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, path) = saved(folder.path());
    let text = std::fs::read_to_string(&path).expect("read");
    let mut session: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let entry = &mut session["files"][0];
    (entry["sha256"], entry["bytes"], entry["modified_ns"]) = ("".into(), 0.into(), 0.into());
    std::fs::write(&path, session.to_string()).expect("written");
    let window = Window::opened(&path);
    let opening = window
        .state
        .runtime
        .sessions
        .opening
        .clone()
        .expect("a question");
    let sentences = super::wrong_files(&opening);
    assert_eq!(sentences.len(), 1, "{sentences:?}");
    assert!(
        sentences[0].contains("could not be read when"),
        "{sentences:?}"
    );
}

fn kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = folder.path().join("s.arcuate");
    let lines = |y: f32| Tractogram::new(vec![[0.0, y, 0.0], [1.0, y, 0.0]], vec![0, 2]);
    let sum = io::checksum::of_tractogram(&lines(1.0));
    let looked = Cell::new(0);
    let known = |_: &Path| {
        looked.set(looked.get() + 1);
        false
    };
    let store = || io::session::store(&session, &lines(1.0), &sum, &known, &Control::new());
    let path = folder.path().join(store().expect("stored"));
    let restored = || io::session::restore(&path, &sum, &Control::new());
    assert!(restored().is_ok());
    let written = || {
        std::fs::metadata(&path)
            .and_then(|m| m.modified())
            .expect("a date")
    };
    let first = written();
    store().expect("found");
    assert_eq!((written(), looked.get()), (first, 1));
    // Other streamlines, half a file, and a file that is not a TRX have the name.
    let other = folder.path().join("other.trx");
    io::trx::save(&other, &lines(2.0), &Control::new()).expect("saved");
    let whole = std::fs::read(&path).expect("read");
    let others = [
        std::fs::read(&other).expect("read"),
        whole[..whole.len() / 2].to_vec(),
        b"words".to_vec(),
    ];
    for bytes in others {
        std::fs::write(&path, bytes).expect("written");
        assert!(restored().is_err());
        store().expect("stored again");
        assert!(restored().is_ok());
    }
    // In the window: the next saved session is complete.
    let mut window = Window::with_scan(folder.path());
    window.work();
    window.session(SessionAction::SetStore(ResultStorage::All));
    window.save(&session);
    let parts = io::session::folder_of(&session);
    let part = io::names_in(&parts).expect("kept streamlines").remove(0);
    let good = std::fs::read(&part).expect("read");
    std::fs::write(&part, "words").expect("written");
    window.session(SessionAction::Save {
        path: None,
        next: None,
    });
    let reopened = io::trx::read(&part, &Control::new())
        .expect("whole again")
        .0;
    std::fs::write(&other, good).expect("written");
    let before = io::trx::read(&other, &Control::new()).expect("whole").0;
    assert_eq!(reopened.points, before.points);
}

/// Two windows with one session.
fn changed_since() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut window, path) = saved(folder.path());
    let mut other = Window::opened(&path);
    let save = |next: Option<UnsavedAction>| SessionAction::Save { path: None, next };
    other.place(Role::Target, dvec3(0.0, 6.0, 0.0), 5.0);
    other.session(save(None));
    assert!(!other.state.is_dirty(), "{}", other.messages());
    let theirs = std::fs::read(&path).expect("read");
    window.place(Role::Exclude, dvec3(8.0, 6.0, 0.0), 2.0);
    window.session(save(Some(UnsavedAction::Quit)));
    assert_eq!(std::fs::read(&path).expect("read"), theirs);
    let requested = window.state.runtime.sessions.changed_since.clone();
    let requested = requested.expect("a question");
    assert_eq!(
        (&requested.path, &requested.next),
        (&path, &Some(UnsavedAction::Quit))
    );
    assert!(window.state.is_dirty() && !window.closed);
    // Cancel changes nothing; under another name both are kept.
    window.session(SessionAction::CancelQuestion);
    assert_eq!(window.state.runtime.sessions.changed_since, None);
    assert!(!window.closed);
    let elsewhere = folder.path().join("t.arcuate");
    window.save(&elsewhere);
    assert_eq!(std::fs::read(&path).expect("read"), theirs);
    assert_eq!(Window::opened(&elsewhere).state.document.regions.len(), 2);
    // The user who overwrites it has confirmed, and the following action takes place.
    window.save(&path);
    let mut other = other;
    other.place(Role::Seed, dvec3(0.0, 2.0, 0.0), 2.0);
    other.session(save(Some(UnsavedAction::Quit)));
    assert!(other.state.runtime.sessions.changed_since.is_some());
    other.session(SessionAction::Overwrite);
    assert!(
        other.closed && !other.state.is_dirty(),
        "{}",
        other.messages()
    );
    assert_eq!(Window::opened(&path).state.document.regions.len(), 3);
    // A window that has saved it itself does not ask.
    let mut reopened = Window::opened(&path);
    for _ in 0..2 {
        reopened.place(Role::Exclude, dvec3(8.0, 6.0, 0.0), 2.0);
        reopened.session(save(None));
        assert!(!reopened.state.is_dirty(), "{}", reopened.messages());
    }
    // A missing file replaces nothing.
    std::fs::remove_file(&path).expect("removed");
    reopened.place(Role::Exclude, dvec3(8.0, 6.0, 3.0), 2.0);
    reopened.session(save(None));
    assert!(path.exists() && !reopened.state.is_dirty());
}

/// A recovery copy records the state of its session.
fn recovered() {
    let folder = tempfile::tempdir().expect("a folder");
    let (window, path) = saved(folder.path());
    let draft = arcuate::state::sessions::saved::autosave(&window.state);
    let content = draft.content.value();
    let sum = io::checksum::of_file(&path, &Control::new()).expect("read");
    assert_eq!(content["origin_sha256"], sum.as_str());
    let own = arcuate::state::sessions::saved::draft(&window.state)
        .content
        .value();
    assert_eq!(own.get("origin_sha256"), None);
}
