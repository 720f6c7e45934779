//! Sessions: saved content is restored, missing files are named, nothing is half written.

mod checked;
mod company;
mod distributions;
mod figures;
mod files;
mod filter;
pub mod kill;
mod maps;
mod masks;
mod mutations;
mod pathway_noise;
mod pathways;
mod recovery;
mod replay;
mod report;
mod segment;
mod snapshots;
pub mod track_noise;
mod unsaved;
mod unsaved_tasks;
mod worker;

use crate::support::origins::kept_curve_layers;
use crate::support::session_window::{Window, document_text};
use crate::support::test;
use arcuate::data::{Grid, Mask, Role};
use arcuate::solvers::curves::Seeding;
use arcuate::state::sessions::{FileStatus, Opening};
use arcuate::state::{
    Action, Content, Phase, SessionAction, State, Task, TensorAction, TrackAction, UnsavedAction,
    ViewAction,
};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("sessions::everything_is_restored", everything),
        test("sessions::the_demo_is_restored", demo),
        test("sessions::turned_gradients_are_restored", turned),
        test("sessions::the_same_session_is_the_same_text", same_text),
        test("sessions::masks_are_packed", masks),
        test("sessions::the_program_asks_about_unsaved_work", questions),
        test("sessions::kept_streamlines_are_recomputed", recomputed),
        test(
            "sessions::seeds that did not start are not called tracked",
            not_started,
        ),
    ];
    let own = own.into_iter().chain(files::tests());
    let own = own.chain(checked::tests()).chain(company::tests());
    let own = own.chain(figures::tests()).chain(masks::tests());
    let own = own.chain(mutations::tests()).chain(replay::tests());
    let own = own.chain(report::tests());
    let own = own.chain(distributions::tests());
    let own = own.chain(recovery::tests()).chain(kill::tests());
    let own = own.chain(snapshots::tests()).chain(worker::tests());
    let own = own.chain(segment::tests()).chain(filter::tests());
    let own = own.chain(unsaved::tests()).chain(unsaved_tasks::tests());
    let own = own
        .chain(pathway_noise::tests())
        .chain(track_noise::tests());
    own.chain(maps::tests()).chain(pathways::tests()).collect()
}

/// One sentence about each file that differs from the saved session, with its path.
fn wrong_files(opening: &Opening) -> Vec<String> {
    let sentence = |found: &FileStatus| {
        let why = found.standing.difference_text().expect("it is another");
        format!("{why}: {}", found.path.display())
    };
    opening
        .changed_files()
        .map(|(_, found)| sentence(found))
        .collect()
}

/// The first line in which two texts differ, or nothing.
fn difference(a: &str, b: &str) -> Option<String> {
    let short = |line: &str| line.chars().take(400).collect::<String>();
    let mut lines = a.lines().zip(b.lines());
    let differs = lines.find(|(a, b)| a != b);
    match differs {
        Some((a, b)) => Some(format!("{}\n{}", short(a), short(b))),
        None => (a.lines().count() != b.lines().count()).then(|| "more lines".to_owned()),
    }
}

fn everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.work();
    let path = folder.path().join("all.arcuate");
    window.save(&path);
    let text = std::fs::read_to_string(&path).expect("written");
    assert!(!text.contains(&*folder.path().to_string_lossy()), "{text}");
    let reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    assert!(reopened.state.document.missing_layers().next().is_none());
    assert_eq!(
        difference(
            &document_text(&window.state),
            &document_text(&reopened.state)
        ),
        None
    );
    assert!(!reopened.state.is_dirty());
    assert!(reopened.state.history.undo_label().is_none());
    // The list of recent files describes it as when it was saved.
    let [saved, opened] = [&window, &reopened].map(|w| &w.state.runtime.files.recent[0].summary);
    assert_eq!(saved, opened);
    // Moved together with its data, it is the same.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let moved = elsewhere.path().join("moved");
    std::fs::rename(folder.path(), &moved).expect("moved");
    let reopened = Window::opened(&moved.join("all.arcuate"));
    assert_eq!(reopened.messages(), "");
    assert_eq!(
        reopened.state.document.layers.len(),
        window.state.document.layers.len()
    );
}

/// No streamline was tracked if none started.
fn not_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.place(Role::Seed, dvec3(-19.0, -23.0, -19.0), 1.0);
    let mut params = window.state.document.track.streamlines.clone();
    params.seeding = Seeding::Random { count: 1500 };
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetStreamlines { params, phase }));
    let status = &window.state.runtime.notices.status;
    let why = (window.state.runtime.track.live.failure(), window.messages());
    assert_eq!(
        status,
        "No streamline started from 1\u{202F}500 seeds: the seeds lie outside the mask “mask”",
        "{why:?}"
    );
}

fn demo() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::new();
    // A task chosen while the head is being generated.
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.act(Action::OpenDemo { tour: false });
    assert_eq!(window.state.view.task, Task::Pathways);
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    window.place(Role::Seed, dvec3(-24.0, -16.0, 10.0), 5.0);
    window.act(Action::Track(TrackAction::Keep));
    assert!(
        kept_curve_layers(&window.state.document).len() == 1,
        "{}",
        window.messages()
    );
    let path = folder.path().join("demo.arcuate");
    window.save(&path);
    let reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    assert_eq!(
        difference(
            &document_text(&window.state),
            &document_text(&reopened.state)
        ),
        None
    );
}

/// Gradients with changed axes stay so, and so do results from them.
fn turned() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let turn = "y,x,-z".parse().expect("a turn");
    window.act(Action::Tensors(TensorAction::TurnGradients(turn)));
    window.work();
    let path = folder.path().join("turned.arcuate");
    window.save(&path);
    let reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    assert!(document_text(&reopened.state).contains("--turn=y,x,-z"));
    assert_eq!(
        difference(
            &document_text(&window.state),
            &document_text(&reopened.state)
        ),
        None
    );
}

/// Opening and saving changes only the time.
fn same_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.work();
    let [a, b] = ["a", "b"].map(|n| folder.path().join(format!("{n}.arcuate")));
    window.save(&a);
    let mut reopened = Window::opened(&a);
    reopened.save(&b);
    let text = |path: &Path| {
        let text = std::fs::read_to_string(path).expect("written");
        let text = text.replace("a.arcuate.files", "FILES");
        let text = text.replace("b.arcuate.files", "FILES");
        let lines = text.lines().filter(|l| !l.contains("saved_s"));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(difference(&text(&a), &text(&b)), None);
}

fn masks() {
    use arcuate::io::session::{PackedMask, PackedMaskError};
    let mut random = crate::support::Random::fresh("masks");
    for density in [0.0, 0.01, 0.5, 0.99, 1.0] {
        let grid = Grid::axis_aligned([13, 7, 200], DVec3::splat(1.5), dvec3(0.1, -3.0, 7.7));
        let grid = Arc::new(grid.expect("a grid").with_space_code(4));
        let inside: Vec<u8> = (0..grid.voxel_count())
            .map(|_| u8::from(random.uniform(0.0, 1.0) < density))
            .collect();
        let mask = Mask::new(grid, inside);
        let packed = PackedMask::pack(&mask);
        let text = serde_json::to_string(&packed).expect("text");
        let read: PackedMask = serde_json::from_str(&text).expect("read");
        let back = read.unpack().expect("a mask");
        assert_eq!(back.inside, mask.inside);
        assert_eq!(*back.grid, *mask.grid);
        if density == 0.0 {
            assert!(text.len() < 400, "{text}");
        }
        // Cropped to a block, it keeps the image's grid.
        let cut = Mask::cut_to(&mask.grid, ([2, 1, 30], [9, 5, 90]), |i| {
            mask.inside[i] != 0
        });
        let back = PackedMask::pack(&cut).unpack().expect("a mask");
        assert_eq!(back.inside, cut.inside);
        assert_eq!((&*back.grid, &**back.frame()), (&*cut.grid, &*mask.grid));
        assert_eq!(back.on_whole_grid().inside, cut.on_whole_grid().inside);
        let mut other = packed.clone();
        other.shape[2] += 1;
        assert!(other.unpack().is_err());
        other.shape[2] -= 2;
        assert!(other.unpack().is_err());
        other.shape = [1 << 30, 1 << 30, 1 << 30];
        assert!(other.unpack().is_err());
        // Slightly more than available, which the system may grant nevertheless, from a few bytes of text.
        if let Some(free) = arcuate::io::available_bytes() {
            other.shape = [1 << 10, 1 << 10, 1 + free as usize / 1_000_000];
            let error = other.unpack().expect_err("too large");
            assert!(
                matches!(error, PackedMaskError::Expansion { .. }),
                "{error}"
            );
        }
    }
}

fn questions() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let path = folder.path().join("q.arcuate");
    let leave = |unsaved_action| SessionAction::CloseDocument(unsaved_action);
    // A scan that was only viewed loses nothing.
    assert!(!window.state.asks_before_closing());
    window.place(Role::Seed, DVec3::ZERO, 4.0);
    window.session(leave(UnsavedAction::Quit));
    assert_eq!(
        window.state.runtime.sessions.pending_action,
        Some(UnsavedAction::Quit)
    );
    window.session(SessionAction::CancelQuestion);
    assert!(!window.closed && window.state.runtime.sessions.pending_action.is_none());
    // Saved, then closed.
    window.session(leave(UnsavedAction::Quit));
    window.session(SessionAction::Save {
        path: Some(path.clone()),
        next: Some(UnsavedAction::Quit),
    });
    assert!(window.closed && path.exists());
    // The program asks about any change of a document with a session, including undo of what was saved.
    window.closed = false;
    window.act(Action::Undo);
    assert!(window.state.is_dirty());
    window.session(leave(UnsavedAction::New));
    assert!(!window.state.document.is_empty());
    window.session(SessionAction::Discard);
    assert!(window.state.document.is_empty() && !window.state.is_dirty());
    assert!(window.state.runtime.sessions.file.is_none());
    // If it cannot be saved, nothing follows.
    window.open(&path);
    window.place(Role::Seed, dvec3(1.0, 0.0, 0.0), 4.0);
    window.session(leave(UnsavedAction::Quit));
    window.session(SessionAction::Save {
        path: Some(folder.path().join("no/such/folder.arcuate")),
        next: Some(UnsavedAction::Quit),
    });
    assert!(!window.closed && window.state.is_dirty());
    assert!(
        window.messages().contains("folder"),
        "{}",
        window.messages()
    );
    assert!(window.state.runtime.sessions.next.is_none());
}

fn recomputed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.work();
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    // The files next to the session are deleted.
    let stored = folder.path().join("s.arcuate.files");
    assert_eq!(std::fs::read_dir(&stored).expect("a folder").count(), 2);
    std::fs::remove_dir_all(&stored).expect("removed");
    let mut reopened = Window::opened(&path);
    let missing: Vec<_> = reopened.state.document.missing_layers().cloned().collect();
    assert_eq!(missing.len(), 2, "{}", reopened.messages());
    // Saved elsewhere in between, the session still has them.
    let other = folder.path().join("other.arcuate");
    reopened.save(&other);
    assert_eq!(
        Window::opened(&other)
            .state
            .document
            .missing_layers()
            .count(),
        2
    );
    for (at, missing) in missing.into_iter().enumerate() {
        let message = reopened.messages();
        let text = [
            "2 kept results are not stored",
            "1 kept result is not stored",
        ][at];
        assert!(
            message.starts_with(text) && message.lines().count() == 1,
            "{message}"
        );
        let layer = arcuate::state::LayerId(missing.layer.id);
        reopened.session(SessionAction::Recompute(layer));
        let status = &reopened.state.runtime.notices.status;
        assert!(
            status.ends_with("same bytes"),
            "{status} {}",
            reopened.messages()
        );
    }
    assert!(reopened.state.document.missing_layers().next().is_none());
    // The message about them no longer applies.
    assert_eq!(reopened.messages(), "");
    let lines = |state: &State| {
        let layers = state.document.layers.iter();
        let mut all: Vec<String> = layers
            .filter_map(|l| match &l.content {
                Content::Tractogram(t) => Some(format!("{} {:?}", l.name, t.points)),
                _ => None,
            })
            .collect();
        all.sort();
        all
    };
    assert_eq!(lines(&window.state), lines(&reopened.state));
    // Undo removes them again.
    reopened.act(Action::Undo);
    assert_eq!(reopened.state.document.missing_layers().count(), 1);
}
