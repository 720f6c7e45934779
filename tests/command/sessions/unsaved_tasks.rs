//! Work that is in no file, task by task: weights and parameters.

use crate::support::session_window::{Window, everything, layer};
use crate::support::test;
use arcuate::data::Role;
use arcuate::solvers::commit::cylinder::Timing;
use arcuate::state::filter::{ExcludedStreamlines, FilterAction, FilterFile, ScanTimings};
use arcuate::state::segment::{self, SegmentAction};
use arcuate::state::sessions::unsaved::UnsavedPart;
use arcuate::state::streamlines::SelectionMode;
use arcuate::state::{
    Action, FilesAction, LayerAction, Phase, SessionAction, StreamlineAction, Task, TrackAction,
    ViewAction, WholeBrain,
};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "sessions::a file with old weights saves no new ones",
            weights,
        ),
        test("sessions::layers that files hold are named as added", added),
        test(
            "sessions::changed parameters of every task count",
            parameters,
        ),
        test(
            "sessions::the cut of a deleted layer is not a changed parameter",
            deleted_cut,
        ),
    ]
}

/// The weights of a file are those of its streamlines until others are fitted, or a virtual lesion is computed.
fn weights() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = everything(folder.path());
    let tracks = layer(&window, "Streamlines");
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    let unsaved = |window: &Window| {
        let things = window.state.unsaved();
        let is_of_tracks =
            |t: &UnsavedPart| matches!(t, UnsavedPart::Layer { layer, .. } if *layer == tracks);
        (
            things.iter().any(is_of_tracks),
            things.contains(&UnsavedPart::Weights(vec!["Streamlines".to_owned()])),
        )
    };
    let save = |window: &mut Window, file: FilterFile, name: &str| {
        let path = folder.path().join(name);
        window.act(Action::Filter(FilterAction::Save { file, path }));
    };
    assert_eq!(unsaved(&window), (true, true));
    save(&mut window, FilterFile::All, "all.tck");
    assert_eq!(unsaved(&window), (false, false), "{}", window.messages());
    let with = window.state.clone();
    let mut params = window.state.document.filter_params();
    params.lasso = 0.05;
    let (params, phase) = (Some(params), Phase::Done);
    window.act(Action::Filter(FilterAction::Params { params, phase }));
    window.act(Action::Filter(FilterAction::Run));
    // The streamlines of the file have other weights.
    assert_eq!(unsaved(&window), (true, true), "{}", window.messages());
    window.state = with;
    window.act(Action::Layer(LayerAction::Select(Some(tracks))));
    window.act(Action::Streamline(StreamlineAction::Choose {
        streamlines: vec![0],
        mode: SelectionMode::Replace,
        anchor: None,
    }));
    window.act(Action::Filter(FilterAction::Lesion(
        ExcludedStreamlines::Chosen,
    )));
    assert!(
        !window.state.document.weights[&tracks].lesions.is_empty(),
        "{} {}",
        window.messages(),
        window.state.runtime.notices.status
    );
    assert_eq!(unsaved(&window), (false, true));
    // Another file in its place makes both unsaved again.
    save(&mut window, FilterFile::Kept, "all.tck");
    assert_eq!(unsaved(&window), (true, true));
}

/// Each change by the user alone, without a session file; values chosen by the program for an image do not count.
fn parameters() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    for task in [Task::Filter, Task::Segment, Task::Pathways, Task::Track] {
        window.act(Action::View(ViewAction::SelectTask(task)));
        assert_eq!(window.state.unsaved(), [], "{task:?}");
    }
    let start = window.state.clone();
    let document = &start.document;
    let phase = Phase::Done;
    let filter = |params| Action::Filter(FilterAction::Params { params, phase });
    let default_value = document.filter_params();
    let mut lasso = default_value.clone();
    lasso.lasso = 0.1;
    let times = ScanTimings::Both(Timing {
        pulse_ms: 30.0,
        between_ms: 40.0,
    });
    let segment = |change: fn(&mut segment::SegmentSettings)| {
        let mut settings = document.segment.settings.clone();
        change(&mut settings);
        Action::Segment(SegmentAction::Set { settings, phase })
    };
    let whole = WholeBrain::default();
    let whole_brain = |seeds, by_regions| {
        Action::Track(TrackAction::SetWholeBrain {
            whole_brain: WholeBrain { seeds, by_regions },
            phase,
        })
    };
    let mask = layer(&window, "mask");
    let actions = [
        (filter(Some(lasso)), true),
        (filter(Some(default_value)), false),
        (Action::Filter(FilterAction::Times { times, phase }), true),
        (Action::Filter(FilterAction::Mask(Some(mask))), true),
        (segment(|s| s.params.smoothness = 0.3), true),
        (segment(|s| s.watched = false), true),
        (
            segment(|s| (s.target_chosen, s.params.target) = (true, 7.0)),
            true,
        ),
        (segment(|s| s.dims = true), false),
        (whole_brain(whole.seeds + 1, whole.by_regions), true),
        (whole_brain(whole.seeds, !whole.by_regions), true),
        (whole_brain(whole.seeds, whole.by_regions), false),
    ];
    for (action, counts) in actions {
        window.state = start.clone();
        let text = format!("{action:?}");
        window.act(action);
        let things = if counts {
            vec![UnsavedPart::Parameters]
        } else {
            vec![]
        };
        assert_eq!(window.state.unsaved(), things, "{text}");
        assert_eq!(window.state.asks_before_closing(), counts, "{text}");
        window.act(Action::Undo);
        assert_eq!(window.state.unsaved(), [], "{text} undone");
    }
    // If there are weights.
    window.state = start.clone();
    window.state.document.filter.set_cut(mask, 0.1);
    assert_eq!(window.state.unsaved(), [UnsavedPart::Parameters]);
    // A surface can begin without a sphere.
    window.state = start.clone();
    let start = segment::Start::Values {
        low: 1.0,
        high: 2.0,
    };
    window.act(Action::Segment(SegmentAction::Start(start)));
    assert_eq!(window.state.unsaved(), [UnsavedPart::Surface(0)]);
}

/// The cut of a layer is deleted with it, which loses no work.
fn deleted_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = everything(folder.path());
    let tracks = layer(&window, "Streamlines");
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    let (min_weight, phase) = (1e-4, Phase::Done);
    window.act(Action::Filter(FilterAction::Cut { min_weight, phase }));
    assert_eq!(window.state.document.filter.cut_of(tracks), min_weight);
    window.save(&folder.path().join("s.arcuate"));
    window.act(Action::Layer(LayerAction::Delete(tracks)));
    assert_eq!(window.state.document.filter.cut_of(tracks), 0.0);
    let unsaved = window.state.unsaved();
    assert!(!unsaved.contains(&UnsavedPart::Parameters), "{unsaved:?}");
}

/// A layer that the session does not list yet can be opened by itself if a file holds it: its points are not lost.
fn added() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let mut window = everything(folder.path());
    let tracks = layer(&window, "Streamlines");
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: Some(tracks),
        path: at("some.tck"),
    }));
    // Without a session nothing counts as added.
    window.open(&at("some.tck"));
    let is_added = |t: &UnsavedPart| matches!(t, UnsavedPart::Added(_));
    assert!(!window.state.unsaved().iter().any(is_added));
    window.act(Action::Undo);
    window.save(&at("s.arcuate"));
    let start = window.state.clone();
    let named = |name: &str| UnsavedPart::Added(vec![name.to_owned()]);
    // Opened from a file.
    window.open(&at("some.tck"));
    assert_eq!(window.state.unsaved(), [named("some")]);
    let text = named("some").label();
    assert_eq!(
        text,
        "1 layer added to the session, stored in its own file: some"
    );
    // Exported in full, whichever came first.
    window.state = start.clone();
    window.act(Action::Track(TrackAction::WholeBrain));
    let brain = layer(&window, "Whole brain");
    let in_memory =
        |t: &UnsavedPart| matches!(t, UnsavedPart::Layer { layer, .. } if *layer == brain);
    let things = window.state.unsaved();
    assert!(things.len() == 1 && in_memory(&things[0]), "{things:?}");
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: Some(brain),
        path: at("brain.tck"),
    }));
    assert_eq!(window.state.unsaved(), [named("Whole brain")]);
    assert!(window.state.asks_before_closing());
    // Together with other items, each has its own line.
    window.place(Role::Exclude, DVec3::splat(9.0), 2.0);
    let both = [named("Whole brain"), UnsavedPart::Regions(1)];
    assert_eq!(window.state.unsaved(), both);
    window.act(Action::Undo);
    window.session(SessionAction::Save {
        path: None,
        next: None,
    });
    assert_eq!(window.state.unsaved(), []);
    // A layer that the session lists is not added, wherever its fit has put it.
    let reopened = Window::opened(&at("s.arcuate"));
    assert_eq!(reopened.state.unsaved(), [], "{}", reopened.messages());
    // A changed name still counts.
    let mut reopened = reopened;
    let name = "All".to_owned();
    reopened.act(Action::Layer(LayerAction::Rename { layer: brain, name }));
    assert_eq!(reopened.state.unsaved(), [UnsavedPart::Other]);
}
