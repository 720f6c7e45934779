//! A session that is opened together with other files: it opens first, and the files are added to it.

use crate::support::session_window::Window;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Grid, Mask, Role, Volume, VolumeKind};
use arcuate::io::nifti;
use arcuate::state::{
    Action, Effect, FilesAction, Layer, SessionAction, Severity, State, UnsavedAction, update,
};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::files beside a session are added to it", added),
        test("sessions::a file of the session is not added twice", known),
        test("sessions::two sessions at once are refused", two),
        test(
            "sessions::a broken session keeps no file from opening",
            broken,
        ),
        test(
            "sessions::a session with files asks about unsaved work",
            question,
        ),
        test(
            "sessions::files that come meanwhile are not lost",
            meanwhile,
        ),
        test(
            "sessions::a mask that is added does not become that of the fit",
            mask,
        ),
        test(
            "sessions::a missing file is found beside the added ones",
            found,
        ),
    ]
}

/// A session of a scan with its own mask, and an image that it does not know.
fn saved(folder: &Path) -> (PathBuf, PathBuf) {
    let mut window = Window::with_scan(folder);
    let path = folder.join("s.arcuate");
    window.save(&path);
    (path, image(folder, "t1.nii.gz"))
}

fn image(folder: &Path, name: &str) -> PathBuf {
    let grid = Grid::axis_aligned([6, 7, 8], DVec3::splat(4.0), dvec3(-12.0, -14.0, -16.0));
    let grid = Arc::new(grid.expect("a grid"));
    let values = (0..grid.voxel_count()).map(|i| 3.0 + (i % 91) as f32);
    let values: Vec<f32> = values.collect();
    let image = Volume::new(grid, 1, VolumeKind::Scalar, values);
    let path = folder.join(name);
    nifti::save_volume(&path, &image, "made", &Control::new()).expect("saved");
    path
}

fn open(window: &mut Window, paths: &[&PathBuf]) {
    let paths = paths.iter().map(|path| (*path).clone()).collect();
    window.act(Action::Files(FilesAction::Open(paths)));
}

/// Names of the layers in alphabetical order.
fn names(state: &State) -> Vec<&str> {
    let layers = state.document.layers.iter();
    let mut names: Vec<&str> = layers
        .map(|layer: &Arc<Layer>| layer.name.as_str())
        .collect();
    names.sort_unstable();
    names
}

/// All messages.
fn texts(window: &Window) -> String {
    let messages = window.state.runtime.notices.messages.iter();
    let texts: Vec<&str> = messages.map(|m| m.text.as_str()).collect();
    texts.join("\n")
}

fn errors(window: &Window) -> Vec<&str> {
    let messages = window.state.runtime.notices.messages.iter();
    let errors = messages.filter(|m| m.severity == Severity::Error);
    errors.map(|m| m.text.as_str()).collect()
}

fn added() {
    let folder = tempfile::tempdir().expect("a folder");
    let (session, image) = saved(folder.path());
    let alone = Window::opened(&session);
    // In either order.
    for paths in [[&session, &image], [&image, &session]] {
        let mut window = Window::new();
        open(&mut window, &paths);
        assert_eq!(window.state.runtime.sessions.file.as_ref(), Some(&session));
        let mut expected = names(&alone.state);
        expected.push("t1");
        expected.sort_unstable();
        assert_eq!(names(&window.state), expected, "{}", texts(&window));
        assert!(
            window.state.is_dirty(),
            "the session does not list the image"
        );
        assert!(window.state.runtime.sessions.arriving.is_none());
        window.open(&image);
        assert_eq!(names(&window.state).len(), expected.len() + 1);
    }
}

fn known() {
    let folder = tempfile::tempdir().expect("a folder");
    let (session, image) = saved(folder.path());
    let files = ["dwi.nii.gz", "dwi.bval", "dwi.bvec"].map(|name| folder.path().join(name));
    let alone = Window::opened(&session);
    let [scan, bval, bvec] = &files;
    let mut window = Window::new();
    open(&mut window, &[&session, scan, bval, bvec, &image]);
    let mut expected = names(&alone.state);
    expected.push("t1");
    expected.sort_unstable();
    assert_eq!(names(&window.state), expected);
    assert!(
        texts(&window).contains("are already in the session"),
        "{}",
        texts(&window)
    );
    // Under another name of the same file, too.
    #[cfg(unix)]
    {
        let link = folder.path().join("linked.nii.gz");
        std::os::unix::fs::symlink(scan, &link).expect("a link");
        let mut window = Window::new();
        open(&mut window, &[&session, &link]);
        assert_eq!(names(&window.state), names(&alone.state));
        assert!(!window.state.is_dirty(), "{}", texts(&window));
    }
}

fn two() {
    let folder = tempfile::tempdir().expect("a folder");
    let (session, image) = saved(folder.path());
    let other = folder.path().join("other.arcuate");
    std::fs::copy(&session, &other).expect("copied");
    let mut window = Window::new();
    open(&mut window, &[&session, &image, &other]);
    assert!(window.state.document.is_empty());
    let [error] = errors(&window)[..] else {
        panic!("{}", texts(&window))
    };
    assert!(
        error.contains("2 sessions") && error.contains("open one of them"),
        "{error}"
    );
    let output = crate::cli::arcuate(&["s.arcuate", "other.arcuate"], folder.path());
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("2 sessions"), "{error}");
    // One that is named twice is one.
    open(&mut window, &[&session, &session]);
    assert_eq!(window.state.runtime.sessions.file.as_ref(), Some(&session));
}

fn broken() {
    let folder = tempfile::tempdir().expect("a folder");
    let (session, image) = saved(folder.path());
    let whole = std::fs::read_to_string(&session).expect("read");
    let half = &whole[..whole.find("\"content\"").expect("a session")];
    let other_content = r#"{"arcuate_session":2,"program":"p","saved_s":1,"computed_on":"c","files":[],"content":{"a":1}}"#;
    for text in ["not a session", half, other_content] {
        std::fs::write(&session, text).expect("written");
        let mut window = Window::new();
        let scan = folder.path().join("dwi.nii.gz");
        window.open(&scan);
        let before = names(&window.state).len();
        window.place(Role::Seed, DVec3::ZERO, 3.0);
        open(&mut window, &[&session, &image]);
        // Open data are still open, and there was no question.
        assert!(window.state.runtime.sessions.pending_action.is_none());
        assert_eq!(names(&window.state).len(), before + 1, "{text}");
        assert_eq!(window.state.document.regions.len(), 1);
        let [error] = errors(&window)[..] else {
            panic!("{}", texts(&window))
        };
        assert!(error.contains("s.arcuate"), "{error}");
    }
    // A session that vanishes after it was examined.
    std::fs::write(&session, &whole).expect("written");
    let mut window = Window::new();
    window.open(&folder.path().join("dwi.nii.gz"));
    window.place(Role::Seed, DVec3::ZERO, 3.0);
    open(&mut window, &[&session, &image]);
    assert!(window.state.runtime.sessions.pending_action.is_some());
    std::fs::remove_file(&session).expect("removed");
    window.session(SessionAction::Discard);
    assert!(names(&window.state).contains(&"t1"), "{}", texts(&window));
    assert_eq!(errors(&window).len(), 1, "{}", texts(&window));
}

fn question() {
    let folder = tempfile::tempdir().expect("a folder");
    let (session, image) = saved(folder.path());
    let mut window = Window::new();
    window.open(&image);
    window.place(Role::Seed, DVec3::ZERO, 3.0);
    open(&mut window, &[&session, &image]);
    let files = vec![image.clone()];
    let with = UnsavedAction::OpenWith {
        session: session.clone(),
        files,
    };
    assert_eq!(window.state.runtime.sessions.pending_action, Some(with));
    assert_eq!(names(&window.state), ["t1"]);
    let mut stays = Window::new();
    stays.state = window.state.clone();
    stays.session(SessionAction::CancelQuestion);
    assert_eq!(names(&stays.state), ["t1"]);
    assert_eq!(stays.state.document.regions.len(), 1);
    window.session(SessionAction::Discard);
    assert_eq!(window.state.runtime.sessions.file.as_ref(), Some(&session));
    assert!(names(&window.state).contains(&"t1"), "{}", texts(&window));
    assert!(window.state.document.regions.is_empty());
}

/// A session replaces the document when it has been read: a file that is opened before belongs to it.
fn meanwhile() {
    let folder = tempfile::tempdir().expect("a folder");
    let (session, image) = saved(folder.path());
    let mut window = Window::new();
    let open = Action::Files(FilesAction::Open(vec![session.clone()]));
    let effects = update(&mut window.state, open);
    // The session is being read.
    window.open(&image);
    assert!(window.state.document.is_empty());
    for effect in effects {
        let Effect::Submit(job) = effect else {
            continue;
        };
        let job = window.jobs.submit(job);
        let event = window.jobs.wait(&job, |_| {});
        window.act(Action::Event(event));
    }
    assert_eq!(window.state.runtime.sessions.file.as_ref(), Some(&session));
    assert!(names(&window.state).contains(&"t1"), "{}", texts(&window));
}

/// The session names the mask by which its scan is fitted.
fn mask() {
    let folder = tempfile::tempdir().expect("a folder");
    let (session, _) = saved(folder.path());
    let alone = Window::opened(&session);
    let scan = alone.state.document.scan().expect("a scan");
    let grid = scan.content.volume().expect("a volume").grid.clone();
    // Larger than the session's own, so that it would be preferred.
    let inside: Vec<u8> = (0..grid.voxel_count()).map(|i| u8::from(i > 0)).collect();
    let all = Mask::new(grid, inside);
    let path = folder.path().join("all.nii.gz");
    nifti::save_mask(&path, &all, "made", &Control::new()).expect("saved");
    let mut window = Window::new();
    open(&mut window, &[&session, &path]);
    assert!(names(&window.state).contains(&"all"), "{}", texts(&window));
    assert_eq!(
        window.state.document.fit_mask,
        alone.state.document.fit_mask
    );
}

/// Files that the session misses are searched for next to those that are opened with it.
fn found() {
    let folder = tempfile::tempdir().expect("a folder");
    let (session, _) = saved(folder.path());
    let moved = folder.path().join("moved");
    std::fs::create_dir(&moved).expect("a folder");
    for name in ["dwi.nii.gz", "dwi.bval", "dwi.bvec", "mask.nii.gz"] {
        std::fs::rename(folder.path().join(name), moved.join(name)).expect("moved");
    }
    let image = image(&moved, "t1.nii.gz");
    let scan = moved.join("dwi.nii.gz");
    let mut window = Window::new();
    open(&mut window, &[&session, &scan, &image]);
    let opening = window
        .state
        .runtime
        .sessions
        .opening
        .clone()
        .expect("it asks");
    let places: Vec<PathBuf> = opening
        .found_elsewhere()
        .into_iter()
        .map(|(_, p)| p)
        .collect();
    assert_eq!(places, [scan.clone(), moved.join("mask.nii.gz")]);
    let mut cancelled = Window::new();
    cancelled.state = window.state.clone();
    cancelled.session(SessionAction::CancelOpening);
    assert!(cancelled.state.runtime.sessions.arriving.is_none());
    assert!(cancelled.state.document.is_empty());
    window.session(SessionAction::TakeAll);
    let names = names(&window.state);
    assert_eq!(names.iter().filter(|name| **name == "dwi").count(), 1);
    assert!(names.contains(&"t1"), "{names:?}");
}
