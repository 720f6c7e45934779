//! Work that is in no file: no export saves more than the layer that it holds in full, and large layers are not left
//! out of a session silently.

use super::recovery::recovered;
use crate::support::origins::{density_maps, segments};
use crate::support::session_window::{Window, everything, layer};
use crate::support::test;
use arcuate::data::{Role, Shape, Tractogram};
use arcuate::solvers::tractogram::selection::PointStatistic;
use arcuate::state::core::layer::OriginId;
use arcuate::state::filter::{FilterAction, FilterFile, WeightMap};
use arcuate::state::pathways::{PathwayAction, PathwayFile};
use arcuate::state::segment::{SegmentAction, SegmentFile};
use arcuate::state::sessions::ResultStorage;
use arcuate::state::sessions::jobs::Autosave;
use arcuate::state::sessions::unsaved::UnsavedPart;
use arcuate::state::streamlines::{
    BottomPanel, Column, Measurement, SelectionMode, StreamlineRules, ValueLimits,
};
use arcuate::state::{
    Action, Content, Effect, FilesAction, LayerAction, LayerId, Pane, Phase, RegionAction,
    SessionAction, SnapshotAction, StreamlineAction, Task, TrackAction, UnsavedAction, ViewAction,
    update,
};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::no export saves anything else", exports),
        test(
            "sessions::no export saves what the session file lacks",
            exports_next_to_a_session,
        ),
        test("sessions::a layer that is exported whole is saved", whole),
        test("sessions::content of a session counts as saved", named),
        test("sessions::layers stored as recipes are named", recipes),
        test(
            "sessions::an identical recomputed result is unchanged",
            recomputed,
        ),
        test(
            "sessions::streamlines that no session can hold are named",
            without_recipe,
        ),
        test(
            "sessions::results that are not final are named when saved",
            not_final,
        ),
    ]
}

/// Work that remains unsaved once a layer is saved; `has_weights`: whether the weights of the only layer with weights are.
fn without(things: &[UnsavedPart], saved: Option<LayerId>, has_weights: bool) -> Vec<UnsavedPart> {
    let is = |t: &&UnsavedPart| match t {
        UnsavedPart::Layer { layer, .. } => Some(*layer) != saved,
        UnsavedPart::Weights(names) => names.len() != 1 || !has_weights,
        _ => true,
    };
    things.iter().filter(is).cloned().collect()
}

/// A session stores no checksum of a result that is being computed, and says so.
fn not_final() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.arcuate");
    let mut window = Window::with_scan(folder.path());
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    window.place(Role::Seed, DVec3::ZERO, 5.0);
    let status = |window: &Window| window.state.runtime.notices.status.to_string();
    assert!(window.state.final_live().is_some());
    window.save(&path);
    assert!(!status(&window).contains("checksum"), "{}", status(&window));
    // Its job has not ended.
    let region = window.state.document.regions[0].id;
    let moved = RegionAction::SetShape {
        region,
        shape: Shape::Sphere {
            centre: DVec3::Y,
            radius_mm: 4.0,
        },
        phase: Phase::Done,
    };
    let _ = update(&mut window.state, Action::Region(moved));
    window.save(&path);
    let results = "without checksums of results that are not final (the streamlines of Track): ";
    assert!(status(&window).contains(results), "{}", status(&window));
}

/// Every export, and the layer that its file holds in full; a file of weights holds these.
fn table(window: &Window, folder: &Path) -> Vec<(Action, Option<LayerId>)> {
    let at = |name: &str| folder.join(name);
    let tracks = layer(window, "Streamlines");
    let document = &window.state.document;
    let density = density_maps(document)[0];
    let fa = layer(window, "FA");
    let structure = segments(document)[0];
    let error = document
        .weight_map(tracks, &WeightMap::Error)
        .expect("a map")
        .id;
    let kept = document.kept_pathways[0].id;
    let region = document.regions[0].id;
    let tracks_to = |layer, name: &str| {
        Action::Files(FilesAction::SaveStreamlines {
            layer,
            path: at(name),
        })
    };
    let layer_to = |layer, name: &str| {
        Action::Files(FilesAction::SaveLayer {
            layer,
            path: at(name),
        })
    };
    let filter_to = |file, name: &str| {
        Action::Filter(FilterAction::Save {
            file,
            path: at(name),
        })
    };
    let mut table = vec![
        (tracks_to(None, "live.tck"), None),
        (tracks_to(Some(tracks), "kept.tck"), Some(tracks)),
        (tracks_to(Some(tracks), "kept.trx"), Some(tracks)),
        (layer_to(density, "density.nii.gz"), Some(density)),
        (layer_to(fa, "fa.nii.gz"), None),
        (layer_to(error, "error.nii.gz"), Some(error)),
        (layer_to(structure, "structure.nii.gz"), Some(structure)),
        (layer_to(structure, "structure.stl"), None),
        (
            Action::Region(RegionAction::Save {
                region,
                path: at("region.nii.gz"),
            }),
            None,
        ),
        (
            Action::Region(RegionAction::SaveAll {
                path: at("labels.nii.gz"),
                as_labels: true,
            }),
            None,
        ),
        (
            Action::Region(RegionAction::SaveAll {
                path: at("masks.nii.gz"),
                as_labels: false,
            }),
            None,
        ),
        (filter_to(FilterFile::Weights, "weights.txt"), None),
        (filter_to(FilterFile::Histogram, "histogram.svg"), None),
        (filter_to(FilterFile::Kept, "stay.tck"), None),
        (filter_to(FilterFile::All, "all.tck"), Some(tracks)),
        (filter_to(FilterFile::All, "all.trx"), Some(tracks)),
        (
            filter_to(FilterFile::Map(WeightMap::Error), "map.nii.gz"),
            Some(error),
        ),
        (
            Action::Streamline(StreamlineAction::SaveTable(at("table.csv"))),
            None,
        ),
    ];
    for file in PathwayFile::ALL {
        for (layer, name) in [(None, "live"), (Some(kept), "kept")] {
            let ending = if file == PathwayFile::Path {
                "tck"
            } else {
                "nii.gz"
            };
            let path = at(&format!("{name} {file:?}.{ending}"));
            let save = PathwayAction::Save { layer, file, path };
            table.push((Action::Pathway(save), None));
        }
    }
    for (file, ending) in [
        (SegmentFile::Labels, "nii.gz"),
        (SegmentFile::Surface, "stl"),
        (SegmentFile::Script, "json"),
        (SegmentFile::Structures, "nii.gz"),
    ] {
        let path = at(&format!("{file:?}.{ending}"));
        table.push((Action::Segment(SegmentAction::Save { file, path }), None));
    }
    table
}

fn exports() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = everything(folder.path());
    let before = window.state.unsaved();
    let kinds: Vec<_> = before.iter().map(std::mem::discriminant).collect();
    for item in [
        UnsavedPart::Regions(1),
        UnsavedPart::Weights(Vec::new()),
        UnsavedPart::Pathways(1),
        UnsavedPart::Surface(1),
        UnsavedPart::Measurements(1),
        UnsavedPart::Snapshots(1),
        UnsavedPart::Parameters,
    ] {
        assert!(
            kinds.contains(&std::mem::discriminant(&item)),
            "{item:?} of {before:?}"
        );
    }
    let in_memory = |t: &&UnsavedPart| matches!(t, UnsavedPart::Layer { .. });
    // Kept streamlines, their density, maps of weights, two structures.
    assert!(before.iter().filter(in_memory).count() >= 5, "{before:?}");
    let tracks = layer(&window, "Streamlines");
    let start = window.state.clone();
    for (action, saved) in table(&window, folder.path()) {
        window.state = start.clone();
        let text = format!("{action:?}");
        let are_weights = matches!(
            &action,
            Action::Filter(FilterAction::Save {
                file: FilterFile::Weights,
                ..
            })
        );
        save(&mut window, action, tracks);
        let state = &window.state;
        let status = &state.runtime.notices.status;
        assert!(
            status.starts_with("Saved "),
            "{text}: {status} {}",
            window.messages()
        );
        let has_weights = are_weights || saved == Some(tracks);
        assert_eq!(
            state.unsaved(),
            without(&before, saved, has_weights),
            "{text}"
        );
        assert!(state.is_dirty() && state.asks_before_closing(), "{text}");
        window.session(SessionAction::CloseDocument(UnsavedAction::Quit));
        assert!(
            !window.closed && window.state.runtime.sessions.pending_action.is_some(),
            "{text}"
        );
        window.session(SessionAction::CancelQuestion);
        // Requested, not carried out: the copy goes to the user's own folder.
        let autosave = Action::Session(SessionAction::Autosave);
        let effects = update(&mut window.state, autosave);
        let copies = |e: &Effect| e.job::<Autosave>().is_some();
        assert!(effects.iter().any(copies), "{text}");
    }
    // A session with everything loses nothing, and no export saves later changes.
    window.state = start;
    window.save(&folder.path().join("all.arcuate"));
    assert_eq!(window.state.unsaved(), []);
    let mut params = window.state.document.track.streamlines.clone();
    params.min_length_mm = 6.0;
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetStreamlines { params, phase }));
    for name in ["live.tck", "kept.tck"] {
        window.act(Action::Files(FilesAction::SaveStreamlines {
            layer: (name == "kept.tck").then_some(tracks),
            path: folder.path().join(name),
        }));
        assert_eq!(window.state.unsaved(), [UnsavedPart::Parameters]);
    }
    // Weights fitted since are new; their streamlines are not.
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    window.act(Action::Filter(FilterAction::Run));
    let things = window.state.unsaved();
    assert!(
        things.contains(&UnsavedPart::Weights(vec!["Streamlines".to_owned()])),
        "{things:?}"
    );
    let is_tracks =
        |t: &UnsavedPart| matches!(t, UnsavedPart::Layer { layer, .. } if *layer == tracks);
    assert!(!things.iter().any(is_tracks), "{things:?}");
}

/// Exports next to a session file that lacks one item of each kind: a layer in another file, the colour of a region, a
/// measurement, a snapshot. After a recovery the program asks the same question.
fn exports_next_to_a_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = everything(folder.path());
    let tracks = layer(&window, "Streamlines");
    let some = folder.path().join("some.tck");
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: Some(tracks),
        path: some.clone(),
    }));
    // Without a choice Filter would show the topmost streamlines, which will be those of the file.
    let choice = FilterAction::Tractogram(tracks);
    window.act(Action::Filter(choice));
    window.save(&folder.path().join("all.arcuate"));
    window.open(&some);
    let region = window.state.document.regions[0].id;
    let colour = Some([1, 2, 3]);
    window.act(Action::Region(RegionAction::SetColour { region, colour }));
    window.act(Action::Streamline(StreamlineAction::Measure(Measurement {
        points: vec![DVec3::ZERO, DVec3::Y],
        pane: Pane::Coronal,
    })));
    window.act(Action::Snapshot(SnapshotAction::Take));
    let before = [
        UnsavedPart::Added(vec!["some".to_owned()]),
        UnsavedPart::Regions(1),
        UnsavedPart::Measurements(2),
        UnsavedPart::Snapshots(2),
    ];
    assert_eq!(window.state.unsaved(), before);
    let start = window.state.clone();
    for (action, _) in table(&window, folder.path()) {
        window.state = start.clone();
        let text = format!("{action:?}");
        save(&mut window, action, tracks);
        let state = &window.state;
        let status = &state.runtime.notices.status;
        assert!(
            status.starts_with("Saved "),
            "{text}: {status} {}",
            window.messages()
        );
        assert_eq!(state.unsaved(), before, "{text}");
        assert!(state.asks_before_closing(), "{text}");
    }
    window.state = start;
    let mut reopened = recovered(&mut window, &folder.path().join("copy.arcuate"));
    assert_eq!(reopened.state.unsaved(), before, "{}", reopened.messages());
    for layer in [None, Some(tracks)] {
        let name = format!("again{}.tck", u8::from(layer.is_some()));
        let path = folder.path().join(name);
        reopened.act(Action::Files(FilesAction::SaveStreamlines { layer, path }));
        assert!(reopened.state.runtime.notices.status.starts_with("Saved "));
        assert_eq!(reopened.state.unsaved(), before);
    }
}

/// Carries out an export in the task that has it.
fn save(window: &mut Window, action: Action, tracks: LayerId) {
    window.state.view.task = match &action {
        Action::Pathway(_) => Task::Pathways,
        Action::Filter(_) => Task::Filter,
        Action::Segment(_) => Task::Segment,
        _ => Task::Track,
    };
    if let Action::Streamline(_) = &action {
        // Its numbers are computed only when they are shown.
        let open = StreamlineAction::Open(Some(BottomPanel::Table));
        window.act(Action::Layer(LayerAction::Select(Some(tracks))));
        window.act(Action::Streamline(open));
    }
    window.act(action);
}

/// Only one layer was made: its file suffices, as long as it holds that layer.
fn whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.act(Action::Track(TrackAction::WholeBrain));
    let brain = layer(&window, "Whole brain");
    let save = |window: &mut Window, name: &str| {
        window.act(Action::Files(FilesAction::SaveStreamlines {
            layer: Some(brain),
            path: folder.path().join(name),
        }));
    };
    assert!(window.state.asks_before_closing());
    // A subset is not the layer.
    let all = match &window.state.document.layer(brain).expect("found").content {
        Content::Tractogram(t) => t.len(),
        _ => panic!("streamlines"),
    };
    let limit = ValueLimits {
        column: Column::length(),
        low: Some(20.0),
        high: None,
        counting: PointStatistic::default(),
    };
    let rules = StreamlineRules::new(brain).limited(limit);
    window.act(Action::Streamline(StreamlineAction::SetRules {
        rules,
        phase: Phase::Done,
    }));
    save(&mut window, "some.tck");
    assert!(
        window.state.asks_before_closing(),
        "{}",
        window.state.runtime.notices.status
    );
    window.act(Action::Streamline(StreamlineAction::SwitchFilter {
        layer: brain,
        enabled: false,
    }));
    save(&mut window, "all.tck");
    assert_eq!(window.state.unsaved(), [], "{all} {}", window.messages());
    window.session(SessionAction::CloseDocument(UnsavedAction::Quit));
    assert!(window.closed);
    // Another file in its place makes it unsaved again.
    window.place(Role::Seed, DVec3::ZERO, 4.0);
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: None,
        path: folder.path().join("all.tck"),
    }));
    let is_brain =
        |t: &UnsavedPart| matches!(t, UnsavedPart::Layer { layer, .. } if *layer == brain);
    assert!(window.state.unsaved().iter().any(is_brain));
    // Later edits are in no file.
    save(&mut window, "all.tck");
    assert!(!window.state.unsaved().iter().any(is_brain));
    window.act(Action::Layer(LayerAction::Select(Some(brain))));
    window.act(Action::Streamline(StreamlineAction::Choose {
        streamlines: vec![0],
        mode: SelectionMode::Replace,
        anchor: None,
    }));
    window.act(Action::Streamline(StreamlineAction::DeleteChosen));
    assert!(
        window.state.unsaved().iter().any(is_brain),
        "{}",
        window.messages()
    );
    window.act(Action::Undo);
    assert!(!window.state.unsaved().iter().any(is_brain));
}

fn named() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = everything(folder.path());
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let reopened = Window::opened(&path);
    assert_eq!(reopened.state.unsaved(), [], "{}", reopened.messages());
    let mut reopened = reopened;
    reopened.place(Role::Exclude, dvec3(9.0, 0.0, 0.0), 2.0);
    assert_eq!(reopened.state.unsaved(), [UnsavedPart::Regions(1)]);
    // Undo leads back to the state in the file.
    reopened.act(Action::Undo);
    assert_eq!(reopened.state.unsaved(), [], "undone");
    reopened.act(Action::Redo);
    assert_eq!(reopened.state.unsaved(), [UnsavedPart::Regions(1)]);
}

/// More than 64 MB in a session's count.
fn large() -> Tractogram {
    let lines = 3000;
    let each = 2000u64;
    let points: Vec<[f32; 3]> = (0..lines * each)
        .map(|i| [i as f32 * 1e-6, 0.0, 0.0])
        .collect();
    let offsets: Vec<u64> = (0..=lines).map(|i| i * each).collect();
    Tractogram::new(points, offsets)
}

/// A whole brain that a session does not store by itself.
fn with_large(folder: &Path) -> (Window, LayerId) {
    let mut window = Window::with_scan(folder);
    window.act(Action::Track(TrackAction::WholeBrain));
    let brain = layer(&window, "Whole brain");
    let document = &mut window.state.document;
    document.edit_layer(brain, |l| l.content = Content::Tractogram(large()));
    (window, brain)
}

fn recipes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut window, brain) = with_large(folder.path());
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let status = window.state.runtime.notices.status.clone();
    assert!(
        status.contains("without the streamlines of 1 layer, 72"),
        "{status}"
    );
    let message = &window.state.runtime.sessions.recipe_only;
    assert_eq!(message.len(), 1);
    assert_eq!(
        message[0].label(),
        "Whole brain: 3\u{202F}000 streamlines, 72.0\u{202F}MB"
    );
    assert!(!window.state.is_dirty());
    // Repeated when the window is closed.
    window.session(SessionAction::CloseDocument(UnsavedAction::Quit));
    assert!(!window.closed);
    window.session(SessionAction::CancelQuestion);
    window.session(SessionAction::StoreToo {
        next: Some(UnsavedAction::Quit),
    });
    assert!(window.closed, "{}", window.messages());
    assert!(window.state.runtime.sessions.recipe_only.is_empty());
    let reopened = Window::opened(&path);
    let Content::Tractogram(back) = &reopened
        .state
        .document
        .layer(brain)
        .expect("stored")
        .content
    else {
        panic!("streamlines")
    };
    assert_eq!((back.len(), back.points.len()), (3000, 6_000_000));
    // The program also asks if the document is saved and closed at once.
    let (mut window, _) = with_large(folder.path());
    window.session(SessionAction::Save {
        path: Some(folder.path().join("t.arcuate")),
        next: Some(UnsavedAction::Quit),
    });
    assert!(
        !window.closed && window.state.runtime.sessions.pending_action == Some(UnsavedAction::Quit)
    );
    window.session(SessionAction::Discard);
    assert!(window.closed);
    // A user who chose to store nothing is notified only when saving.
    window.closed = false;
    window.session(SessionAction::SetStore(ResultStorage::Nothing));
    window.save(&folder.path().join("t.arcuate"));
    assert_eq!(window.state.runtime.sessions.recipe_only.len(), 1);
    window.session(SessionAction::CloseDocument(UnsavedAction::Quit));
    assert!(window.closed);
}

fn recomputed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.work();
    let path = folder.path().join("s.arcuate");
    window.session(SessionAction::SetStore(ResultStorage::Nothing));
    window.save(&path);
    let mut reopened = Window::opened(&path);
    assert_eq!(reopened.state.unsaved(), [], "{}", reopened.messages());
    let missing: Vec<_> = reopened.state.document.missing_layers().cloned().collect();
    assert_eq!(missing.len(), 2);
    for missing in missing {
        reopened.session(SessionAction::Recompute(LayerId(missing.layer.id)));
        let status = &reopened.state.runtime.notices.status;
        assert!(status.ends_with("same bytes"), "{status}");
        assert!(status.contains(" streamlines in "), "{status}");
        assert_eq!(reopened.state.unsaved(), []);
        // Their streamlines are now in memory, and still in no file.
        assert_eq!(reopened.state.saved_without().len(), 2);
    }
    // A later edit is a change.
    reopened.act(Action::Undo);
    assert_eq!(reopened.state.unsaved(), [UnsavedPart::Other]);
}

fn without_recipe() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.act(Action::Track(TrackAction::WholeBrain));
    let brain = layer(&window, "Whole brain");
    let mut document = window.state.document.clone();
    document.edit_layer(brain, |l| l.origin = OriginId::default());
    window.state.document = document;
    let path = folder.path().join("s.arcuate");
    window.session(SessionAction::Save {
        path: Some(path.clone()),
        next: None,
    });
    let message = window.messages();
    assert!(
        message.starts_with("Whole brain cannot be stored in a session"),
        "{message}"
    );
    assert!(window.state.is_dirty() && window.state.asks_before_closing());
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: Some(brain),
        path: folder.path().join("b.tck"),
    }));
    assert!(!window.state.is_dirty(), "{:?}", window.state.unsaved());
}
