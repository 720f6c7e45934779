//! The view in a session, and the copy of a surface that grows.

use crate::support::session_window::Window;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Grid, Volume};
use arcuate::io::nifti;
use arcuate::solvers::level_set::Sphere;
use arcuate::state::segment::SegmentAction;
use arcuate::state::sessions::jobs::Autosave;
use arcuate::state::sessions::unsaved::UnsavedPart;
use arcuate::state::view::SideList;
use arcuate::state::{Action, FilesAction, Phase, SessionAction, Task, ViewAction, update};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::Segment keeps its camera", cameras),
        test("sessions::an open list comes back", side_list),
        test(
            "sessions::a surface that has grown is copied again",
            grown_surface,
        ),
    ]
}

/// The 3-D camera of Segment is near the surface, that of the other tasks where it was: also after a save in either of
/// them. Each case saves in one task and looks at the other after reopening.
fn cameras() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::new();
    let image = large_image(folder.path());
    window.act(Action::Files(FilesAction::Open(vec![image])));
    let select = |task| Action::View(ViewAction::SelectTask(task));
    let whole = window.state.view.camera;
    window.act(select(Task::Segment));
    let sphere = Sphere {
        add: true,
        centre: dvec3(30.0, 20.0, -10.0),
        radius_mm: 20.0,
    };
    window.act(Action::Segment(SegmentAction::Sphere(sphere)));
    let near = window.state.view.camera;
    assert!(near.distance_mm < whole.distance_mm, "{near:?}");
    for (saved_in, other, [own, others]) in [
        (Task::Segment, Task::View, [near, whole]),
        (Task::View, Task::Segment, [whole, near]),
    ] {
        window.act(select(saved_in));
        let path = folder.path().join("cameras.arcuate");
        window.save(&path);
        let mut reopened = Window::opened(&path);
        assert_eq!(reopened.state.view.camera, own);
        reopened.act(select(other));
        assert_eq!(reopened.state.view.camera, others);
        reopened.act(select(saved_in));
        assert_eq!(reopened.state.view.camera, own);
    }
}

/// A surface grows without an edit: the copy for recovery must follow it.
fn grown_surface() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::new();
    let image = large_image(folder.path());
    window.act(Action::Files(FilesAction::Open(vec![image])));
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    let sphere = Sphere {
        add: true,
        centre: dvec3(30.0, 20.0, -10.0),
        radius_mm: 20.0,
    };
    window.act(Action::Segment(SegmentAction::Sphere(sphere)));
    let copies = |window: &mut Window| {
        let effects = update(&mut window.state, Action::Session(SessionAction::Autosave));
        window.state.runtime.sessions.autosave.is_running = false;
        effects.iter().any(|e| e.job::<Autosave>().is_some())
    };
    let step = |window: &Window| {
        let live = window.state.runtime.segment.live.as_ref();
        live.expect("a surface").step
    };
    assert!(copies(&mut window), "{:?}", window.state.unsaved());
    assert!(!copies(&mut window), "nothing has changed");
    assert_eq!(step(&window), 0);
    let mut settings = window.state.document.segment.settings.clone();
    (settings.params.target, settings.params.tolerance) = (3.0, 10.0);
    (settings.target_chosen, settings.watched) = (true, false);
    let phase = Phase::Done;
    window.act(Action::Segment(SegmentAction::Set { settings, phase }));
    assert!(copies(&mut window));
    window.act(Action::Segment(SegmentAction::Step));
    let live = window.state.runtime.segment.live.as_ref();
    let ended = live.map(|live| live.ended);
    assert!(step(&window) > 0, "{ended:?} {}", window.messages());
    assert!(window.state.runtime.sessions.autosave.is_due);
    assert!(copies(&mut window));
    // Steps alone are unsaved work.
    window.save(&folder.path().join("s.arcuate"));
    assert_eq!(window.state.unsaved(), []);
    let steps = step(&window);
    window.act(Action::Segment(SegmentAction::Step));
    assert_ne!(step(&window), steps);
    assert_eq!(window.state.unsaved(), [UnsavedPart::Surface(1)]);
    assert!(window.state.asks_before_closing());
    // A surface that went back and reached the same step by another value, set at the same step, is another one.
    let set_tolerance = |window: &mut Window, tolerance: f32| {
        let mut settings = window.state.document.segment.settings.clone();
        settings.params.tolerance = tolerance;
        let phase = Phase::Done;
        window.act(Action::Segment(SegmentAction::Set { settings, phase }));
    };
    let before = step(&window);
    set_tolerance(&mut window, 11.0);
    window.act(Action::Segment(SegmentAction::Step));
    let after = step(&window);
    assert!(after > before);
    window.save(&folder.path().join("s.arcuate"));
    assert_eq!(window.state.unsaved(), []);
    window.act(Action::Segment(SegmentAction::Rewind(before)));
    assert_eq!(step(&window), before);
    set_tolerance(&mut window, 12.0);
    window.act(Action::Segment(SegmentAction::Step));
    assert_eq!(step(&window), after);
    let surface = UnsavedPart::Surface(1);
    assert!(window.state.unsaved().contains(&surface));
}

/// The open list next to the views belongs to the session; another document leaves it as it is.
fn side_list() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("list.arcuate");
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![large_image(
        folder.path(),
    )])));
    let list = |window: &Window| window.state.view.visible.side_list;
    for open in [Some(SideList::Layers), None] {
        window.act(Action::View(ViewAction::OpenList(open)));
        window.save(&path);
        assert_eq!(list(&Window::opened(&path)), open);
        let other = Some(SideList::Regions);
        window.act(Action::View(ViewAction::OpenList(other)));
        window.open(&path);
        assert_eq!(list(&window), open);
    }
}

/// An image with the extent of a head, as a file.
fn large_image(folder: &Path) -> PathBuf {
    let grid = Grid::axis_aligned([24, 28, 24], DVec3::splat(8.0), dvec3(-92.0, -108.0, -92.0));
    let grid = Arc::new(grid.expect("a grid"));
    let values = (0..grid.voxel_count()).map(|i| (i % 7) as f32);
    let values: Vec<f32> = values.collect();
    let path = folder.join("head.nii.gz");
    let volume = Volume::scalar(grid, values);
    nifti::save_volume(&path, &volume, "made", &Control::new()).expect("saved");
    path
}
