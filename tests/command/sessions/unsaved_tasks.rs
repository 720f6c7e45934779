//! What is in no file, task by task: weights and parameters.

use crate::support::session_window::Window;
use crate::support::session_window::{everything, layer};
use crate::support::test;
use arcuate::solvers::commit::cylinder::Timing;
use arcuate::state::bundle::How;
use arcuate::state::filter::{FilterAction, FilterFile, Lesioned, Times};
use arcuate::state::segment::{self, SegmentAction};
use arcuate::state::unsaved::Thing;
use arcuate::state::{Action, BundleAction, Phase, Task, WholeBrain};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "sessions::a file with old weights saves no new ones",
            weights,
        ),
        test(
            "sessions::changed parameters of every task count",
            parameters,
        ),
    ]
}

/// The weights of a file are those of its streamlines until others are fitted, or a bundle was left out.
fn weights() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = everything(folder.path());
    let tracks = layer(&window, "Tracks");
    window.act(Action::SelectTask(Task::Filter));
    let unsaved = |window: &Window| {
        let things = window.state.unsaved();
        let of = |t: &Thing| matches!(t, Thing::Layer { layer, .. } if *layer == tracks);
        (things.iter().any(of), things.contains(&Thing::Weights(1)))
    };
    let save = |window: &mut Window, what: FilterFile, name: &str| {
        let path = folder.path().join(name);
        window.act(Action::Filter(FilterAction::Save { what, path }));
    };
    assert_eq!(unsaved(&window), (true, true));
    save(&mut window, FilterFile::All, "all.tck");
    assert_eq!(unsaved(&window), (false, false), "{}", window.said());
    let with = window.state.clone();
    let mut params = window.state.document.filter_params();
    params.lasso = 0.05;
    let (params, phase) = (Some(params), Phase::Done);
    window.act(Action::Filter(FilterAction::Params { params, phase }));
    window.act(Action::Filter(FilterAction::RunAnew));
    // The streamlines of the file have other weights.
    assert_eq!(unsaved(&window), (true, true), "{}", window.said());
    window.state = with;
    window.act(Action::SelectLayer(Some(tracks)));
    window.act(Action::Bundle(BundleAction::Choose {
        lines: vec![0],
        how: How::Replace,
        anchor: None,
    }));
    window.act(Action::Filter(FilterAction::Lesion(Lesioned::Chosen)));
    assert!(
        !window.state.document.weighed[&tracks].lesions.is_empty(),
        "{} {}",
        window.said(),
        window.state.session.status
    );
    assert_eq!(unsaved(&window), (false, true));
    // Another file in its place takes both away again.
    save(&mut window, FilterFile::Kept, "all.tck");
    assert_eq!(unsaved(&window), (true, true));
}

/// Each change by the user alone, without a session file; what the program chose for an image is none.
fn parameters() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    for task in [Task::Filter, Task::Segment, Task::Pathways, Task::Track] {
        window.act(Action::SelectTask(task));
        assert_eq!(window.state.unsaved(), [], "{task:?}");
    }
    let start = window.state.clone();
    let document = &start.document;
    let phase = Phase::Done;
    let filter = |params| Action::Filter(FilterAction::Params { params, phase });
    let usual = document.filter_params();
    let mut lasso = usual.clone();
    lasso.lasso = 0.1;
    let times = Times::Both(Timing {
        pulse_ms: 30.0,
        between_ms: 40.0,
    });
    let segment = |change: fn(&mut segment::Settings)| {
        let mut settings = document.segment.settings.clone();
        change(&mut settings);
        Action::Segment(SegmentAction::Set { settings, phase })
    };
    let whole = WholeBrain::default();
    let whole_brain = |seeds, by_regions| Action::SetWholeBrain {
        whole_brain: WholeBrain { seeds, by_regions },
        phase,
    };
    let mask = layer(&window, "mask");
    let actions = [
        (filter(Some(lasso)), true),
        (filter(Some(usual)), false),
        (Action::Filter(FilterAction::Times { times, phase }), true),
        (Action::Filter(FilterAction::Mask(Some(mask))), true),
        (segment(|s| s.params.smoothness = 0.3), true),
        (segment(|s| s.watched = false), true),
        (segment(|s| (s.told, s.params.target) = (true, 7.0)), true),
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
            vec![Thing::Parameters]
        } else {
            vec![]
        };
        assert_eq!(window.state.unsaved(), things, "{text}");
        assert_eq!(window.state.asks_before_leaving(), counts, "{text}");
        window.act(Action::Undo);
        assert_eq!(window.state.unsaved(), [], "{text} undone");
    }
    // Where there are weights.
    window.state = start.clone();
    window.state.document.filter.cut = 0.1;
    assert_eq!(window.state.unsaved(), [Thing::Parameters]);
    // A surface can begin without a sphere.
    window.state = start.clone();
    let start = segment::Start::Values {
        low: 1.0,
        high: 2.0,
    };
    window.act(Action::Segment(SegmentAction::Start(start)));
    assert_eq!(window.state.unsaved(), [Thing::Surface(0)]);
}
