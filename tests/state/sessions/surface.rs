//! The live surface of Segment in a session: where it was, and whether it was at rest there.

use crate::support::session_window::Window;
use crate::support::test;
use arcuate::solvers::level_set::Sphere;
use arcuate::state::segment::{SegmentAction, SurfaceStanding};
use arcuate::state::{Action, Phase, Task, ViewAction};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![test(
        "sessions::a surface at rest is at rest when it is opened",
        at_rest,
    )]
}

fn act(window: &mut Window, action: SegmentAction) {
    window.act(Action::Segment(action));
}

fn standing(window: &Window) -> Option<SurfaceStanding> {
    window.state.segment_standing()
}

/// A ball of 1000 in air, into which the surface grows until it rests.
fn rested(folder: &Path) -> Window {
    let mut window = Window::with_scan(folder);
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    let scan = window.state.document.layer_named("dwi").expect("a scan").id;
    act(&mut window, SegmentAction::Image(scan));
    let mut settings = window.state.document.segment.settings.clone();
    (settings.params.target, settings.params.tolerance) = (1000.0, 600.0);
    (settings.target_chosen, settings.watched) = (true, false);
    let phase = Phase::Done;
    act(&mut window, SegmentAction::Set { settings, phase });
    let sphere = Sphere {
        add: true,
        centre: DVec3::ZERO,
        radius_mm: 6.0,
    };
    act(&mut window, SegmentAction::Sphere(sphere));
    act(&mut window, SegmentAction::Play);
    window
}

fn at_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = rested(folder.path());
    assert_eq!(standing(&window), Some(SurfaceStanding::Converged));
    let step = |window: &Window| window.state.runtime.segment.live.as_ref().map(|l| l.step);
    let at = step(&window);
    let path = folder.path().join("rest.arcuate");
    window.save(&path);
    let mut reopened = Window::opened(&path);
    reopened.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    assert_eq!(reopened.messages(), "");
    assert_eq!(
        (step(&reopened), standing(&reopened)),
        (at, Some(SurfaceStanding::Converged))
    );
    // A change of its motion moves it on, as where it grew; one that is made in another task waits for Run.
    let tolerance = |window: &mut Window, tolerance: f32| {
        let mut settings = window.state.document.segment.settings.clone();
        settings.params.tolerance = tolerance;
        let phase = Phase::Done;
        act(window, SegmentAction::Set { settings, phase });
    };
    tolerance(&mut reopened, 450.0);
    assert!(step(&reopened) > at, "{:?}", step(&reopened));
    let mut other = Window::opened(&path);
    other.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    other.act(Action::View(ViewAction::SelectTask(Task::View)));
    tolerance(&mut other, 450.0);
    other.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    assert_eq!(step(&other), at);
    assert!(other.state.surface_is_stale());
    // Earlier steps are not at rest.
    act(&mut window, SegmentAction::Rewind(20));
    window.save(&path);
    let mut reopened = Window::opened(&path);
    reopened.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    assert_eq!(
        (step(&reopened), standing(&reopened)),
        (Some(20), Some(SurfaceStanding::Paused))
    );
}
