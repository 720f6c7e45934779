//! Snapshots are restored with their session: regions, layers, tensors and live results.

use crate::support::session_window::Window;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Mask, Role};
use arcuate::io::nifti;
use arcuate::scene;
use arcuate::solvers::curves::Seeding;
use arcuate::state::filter::FilterAction;
use arcuate::state::runtime::Snapshot;
use arcuate::state::sessions::FileDecision;
use arcuate::state::streamlines::streamlines_of;
use arcuate::state::{
    Action, Document, FilesAction, LayerAction, Phase, RegionAction, SessionAction, SnapshotAction,
    Task, TensorAction, TrackAction, ViewAction, snapshots,
};
use glam::dvec3;
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::snapshots are restored", come_back),
        test("sessions::snapshots are counted on", counted),
        test(
            "sessions::a snapshot has the tensors of its own fit",
            tensors,
        ),
        test(
            "sessions::a snapshot is of its document alone",
            of_one_document,
        ),
        test("sessions::the oldest snapshot goes first", oldest),
        test(
            "sessions::what a snapshot lacks is reported",
            missing_content,
        ),
    ]
}

fn tracked(folder: &Path) -> Window {
    let mut window = Window::with_scan(folder);
    window.place(Role::Seed, dvec3(0.1, -6.7, 1.3), 5.3);
    let mut params = window.state.document.track.streamlines.clone();
    params.min_length_mm = 5.0;
    params.seeding = Seeding::Random { count: 60 };
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetStreamlines { params, phase }));
    assert!(window.state.final_live().is_some(), "{}", window.messages());
    window
}

fn names(document: &Document) -> Vec<&str> {
    document.layers.iter().map(|l| &*l.name).collect()
}

fn points<'a>(document: &'a Document, name: &str) -> &'a [[f32; 3]] {
    let layer = document.layer_named(name);
    let layer = layer.unwrap_or_else(|| panic!("no {name} in {:?}", names(document)));
    &streamlines_of(layer).expect("streamlines").points
}

fn snapshot(window: &Window, number: usize) -> Arc<Snapshot> {
    window.state.runtime.snapshots.all[number].clone()
}

fn come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = tracked(folder.path());
    window.act(Action::Track(TrackAction::Keep));
    window.act(Action::Snapshot(SnapshotAction::Take));
    let kept = window
        .state
        .document
        .layer_named("Streamlines")
        .expect("kept")
        .id;
    window.act(Action::Layer(LayerAction::Delete(kept)));
    window.place(Role::Exclude, dvec3(9.0, 9.0, 1.3), 3.0);
    window.act(Action::Snapshot(SnapshotAction::Take));
    window.act(Action::Snapshot(SnapshotAction::Rename {
        number: 1,
        name: "With exclude".to_owned(),
    }));
    let seed = window.state.document.regions[0].id;
    window.act(Action::Region(RegionAction::Delete(seed)));
    assert!(window.state.is_dirty());
    let path = folder.path().join("s.arcuate");
    window.save(&path);

    let reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    assert_eq!(
        names(&reopened.state.document),
        names(&window.state.document)
    );
    for (number, name) in [(0, "1"), (1, "With exclude")] {
        let (was, is) = (snapshot(&window, number), snapshot(&reopened, number));
        assert_eq!(is.name, name);
        let regions = |s: &Snapshot| -> Vec<_> {
            let one = |r: &Arc<arcuate::data::Region>| (r.role, r.shape.centre());
            s.document.regions.iter().map(one).collect()
        };
        assert_eq!(regions(&was), regions(&is));
        let mut layers = names(&was.document);
        layers.push("Live");
        assert_eq!(names(&is.document), layers, "DEC and FA, too");
        let live = was.live.as_ref().expect("live").output.kept.clone();
        assert_eq!(points(&is.document, "Live"), &*live.points);
        // It is visible where live results are visible.
        let mut state = reopened.state.clone();
        snapshots::update::compare(&mut state, Some(number));
        let with = state
            .runtime
            .snapshots
            .comparing
            .clone()
            .expect("a snapshot");
        for task in Task::ALL {
            state.view.task = task;
            let seen = with.with_view_of(&state);
            let drawn = scene::tractograms(&seen).into_iter();
            let drawn = drawn.filter(|(t, _)| *t.points == *live.points).count();
            let kept = usize::from(number == 0);
            assert_eq!(drawn, kept + usize::from(task.shows_live()), "{task:?}");
        }
        let layer = is.document.layer_named("FA").expect("a map");
        let fa = window.state.document.layer_named("FA").expect("a map");
        let values =
            |l: &arcuate::state::Layer| l.content.volume().expect("an image").values.clone();
        assert!(values(layer) == values(fa));
    }
    // It was deleted since, and is only in the first.
    let first = snapshot(&reopened, 0);
    let was = snapshot(&window, 0);
    assert_eq!(
        points(&first.document, "Streamlines"),
        points(&was.document, "Streamlines")
    );
    // A second round trip gives the same.
    let mut reopened = reopened;
    let second = folder.path().join("t.arcuate");
    reopened.save(&second);
    let third = Window::opened(&second);
    assert_eq!(third.messages(), "");
    let layers = |w: &Window| -> Vec<String> {
        let documents = w.state.runtime.snapshots.all.iter().map(|s| &s.document);
        documents.flat_map(names).map(str::to_owned).collect()
    };
    assert_eq!(layers(&third), layers(&reopened));
    third.state.runtime.snapshots.all.iter().for_each(|s| {
        assert!(!points(&s.document, "Live").is_empty());
    });
}

/// Missing parts of a snapshot are reported too: unreadable weights, a replaced file.
fn missing_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = tracked(folder.path());
    let [mask, extra] = ["mask.nii.gz", "extra.nii.gz"].map(|n| folder.path().join(n));
    std::fs::copy(&mask, &extra).expect("copied");
    window.act(Action::Files(FilesAction::Open(vec![extra.clone()])));
    window.act(Action::Track(TrackAction::Keep));
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    window.act(Action::Filter(FilterAction::Run));
    assert_eq!(window.messages(), "");
    window.act(Action::Snapshot(SnapshotAction::Take));
    for name in ["extra", "Streamlines"] {
        let id = window.state.document.layer_named(name).expect("found").id;
        window.act(Action::Layer(LayerAction::Delete(id)));
    }
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let text = std::fs::read_to_string(&path).expect("read");
    let mut session: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for packed in session["numbers"].as_array_mut().expect("numbers") {
        packed["bytes"] = format!("-{}", packed["bytes"].as_str().expect("bytes")).into();
    }
    std::fs::write(&path, session.to_string()).expect("written");
    let (other, _) = arcuate::io::mask_on_own_grid(&extra).expect("a mask");
    let all = vec![1; other.grid.voxel_count()];
    let other = Mask::new(other.grid.clone(), all);
    nifti::save_mask(&extra, &other, "test", &Control::new()).expect("saved");
    let mut reopened = Window::opened(&path);
    let opening = reopened.state.runtime.sessions.opening.as_ref();
    let index = opening.expect("it is being opened").changed_files().next();
    let (index, decision) = (index.expect("the mask").0, FileDecision::UseAsItIs);
    reopened.session(SessionAction::Decide { index, decision });
    reopened.session(SessionAction::OpenAnyway);
    let message = reopened.messages();
    assert!(message.contains("Missing from snapshot 1"), "{message}");
    assert!(message.contains("weights of Streamlines"), "{message}");
    let sentence = "Snapshot 1: extra.nii.gz is not the file this session was saved with";
    assert!(message.contains(sentence), "{message}");
}

fn tensors() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = tracked(folder.path());
    window.act(Action::Snapshot(SnapshotAction::Take));
    let mut params = window.state.document.fit.clone();
    params.min_eigenvalue_mm2_per_s = 6e-4;
    window.act(Action::Tensors(TensorAction::SetFit { params }));
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let mut reopened = Window::opened(&path);
    assert!(snapshot(&reopened, 0).document.tensors.is_none(), "not yet");
    reopened.act(Action::Snapshot(SnapshotAction::ToggleComparing));
    let with = reopened
        .state
        .runtime
        .snapshots
        .comparing
        .as_ref()
        .expect("compares")
        .snapshot
        .clone();
    assert!(Arc::ptr_eq(&with, &reopened.state.runtime.snapshots.all[0]));
    let was = snapshot(&window, 0);
    let fa = |document: &Document| {
        let tensors = document.tensors.as_ref().expect("tensors");
        tensors.fa.values.clone()
    };
    assert!(fa(&with.document) == fa(&was.document));
    assert!(fa(&with.document) != fa(&reopened.state.document));
    assert!(with.document.layer_named("DEC").is_some());
    assert_eq!(reopened.state.document.fit.min_eigenvalue_mm2_per_s, 6e-4);
}

/// A day as a name is a number, too.
fn counted() {
    let mut window = Window::new();
    window.act(Action::Snapshot(SnapshotAction::Take));
    let names = |window: &Window| {
        let all = window.state.runtime.snapshots.all.iter();
        all.map(|s| s.name.clone()).collect::<Vec<_>>()
    };
    let mut name = |name: &str| {
        window.act(Action::Snapshot(SnapshotAction::Rename {
            number: 0,
            name: name.to_owned(),
        }));
        window.act(Action::Snapshot(SnapshotAction::Take));
        names(&window).pop().expect("taken")
    };
    assert_eq!(name("2"), "3");
    assert_eq!(name("202611221930"), "202611221931");
    // There is no number after it.
    let last = usize::MAX.to_string();
    assert_eq!(name(&last), last);
}

fn of_one_document() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = tracked(folder.path());
    window.act(Action::Snapshot(SnapshotAction::Take));
    window.act(Action::Snapshot(SnapshotAction::ToggleComparing));
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    window.session(arcuate::state::SessionAction::CloseDocument(
        arcuate::state::UnsavedAction::New,
    ));
    let runtime = &window.state.runtime;
    assert!(runtime.snapshots.all.is_empty() && runtime.snapshots.comparing.is_none());
}

/// With too many, the newest stay, and the divider stays in place when others are compared.
fn oldest() {
    let mut window = Window::new();
    let shape = |i: usize| arcuate::data::Shape::Sphere {
        centre: dvec3(i as f64, 0.0, 0.0),
        radius_mm: 3.0,
    };
    let role = Role::Seed;
    for i in 0..12 {
        window.act(Action::Region(RegionAction::Add {
            role,
            shape: shape(i),
        }));
        window.act(Action::Snapshot(SnapshotAction::Take));
    }
    let kept = &window.state.runtime.snapshots.all;
    let counts: Vec<usize> = kept.iter().map(|s| s.document.regions.len()).collect();
    assert_eq!(counts, (5..=12).collect::<Vec<_>>());
    let names: Vec<String> = kept.iter().map(|s| s.name.clone()).collect();
    assert_eq!(names, (5..=12).map(|n| n.to_string()).collect::<Vec<_>>());
    window.act(Action::Snapshot(SnapshotAction::Compare(Some(3))));
    window.act(Action::Snapshot(SnapshotAction::MoveDivider(0.3)));
    window.act(Action::Snapshot(SnapshotAction::Compare(Some(6))));
    let comparing = window
        .state
        .runtime
        .snapshots
        .comparing
        .as_ref()
        .expect("compared");
    assert_eq!((comparing.share, &*comparing.snapshot.name), (0.3, "11"));
}
