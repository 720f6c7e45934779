//! Actions that are steps and actions that are not: views, an abandoned drag, Esc.

use super::{Window, picture};
use crate::support::test;
use arcuate::data::{Role, Shape};
use arcuate::state::action::BeforeDrag;
use arcuate::state::track::jobs::LIVE;
use arcuate::state::{
    Action, Content, Convention, Layout, Pane, Phase, RegionAction, Task, Tool, TrackAction,
    ViewAction,
};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::views_are_no_steps", views_are_no_steps),
        test("update::a_cancelled_drag_is_no_step", given_up),
        test(
            "update::escape_does_the_first_that_applies",
            escape_in_order,
        ),
    ]
}

fn given_up() {
    let mut window = Window::fitted();
    let seed = window.place(Role::Seed, DVec3::ZERO);
    window.place(Role::Target, DVec3::X * 15.0);
    window.act(Action::Undo);
    let (before, view) = (picture(&window.state), window.state.view.clone());
    let requested = BeforeDrag::from_state(&window.state);
    for i in 1..=5 {
        window.act(Action::View(ViewAction::MoveCrosshair(
            DVec3::X * f64::from(i),
        )));
        window.act(Action::Region(RegionAction::SetShape {
            region: seed,
            shape: Shape::Sphere {
                centre: DVec3::X * f64::from(i),
                radius_mm: 5.0,
            },
            phase: Phase::Live,
        }));
    }
    assert_ne!(picture(&window.state), before);
    window.act(Action::AbandonDrag(Box::new(requested)));
    assert_eq!(picture(&window.state), before);
    assert_eq!(window.state.view, view);
    let live = window.state.final_live().expect("streamlines");
    assert_eq!(live.key.regions[0].shape.centre(), DVec3::ZERO);
    // No step is left, and redo works as before.
    assert_eq!(window.state.history.undo_label(), Some("Place region"));
    assert_eq!(window.state.history.redo_label(), Some("Place region"));
    window.act(Action::Redo);
    assert_eq!(window.state.document.regions.len(), 2);
    // Where nothing was dragged, no earlier step is undone.
    let requested = BeforeDrag::from_state(&window.state);
    window.act(Action::AbandonDrag(Box::new(requested)));
    assert_eq!(window.state.document.regions.len(), 2);
}

fn views_are_no_steps() {
    let mut window = Window::fitted();
    let label = window.state.history.undo_label().map(str::to_owned);
    for action in [
        Action::View(ViewAction::MoveCrosshair(dvec3(1.0, 2.0, 3.0))),
        Action::View(ViewAction::StepSlice {
            pane: Pane::Axial,
            steps: 2,
        }),
        Action::View(ViewAction::SetConvention(Convention::Neurological)),
        Action::View(ViewAction::SetLayout(Layout::SceneFirst)),
        Action::View(ViewAction::SelectTask(Task::Track)),
        Action::View(ViewAction::ToggleMaximised(Pane::Coronal)),
        Action::View(ViewAction::FrameAll),
    ] {
        window.act(action);
    }
    assert_eq!(window.state.history.undo_label().map(str::to_owned), label);
    assert_eq!(
        window.state.view.crosshair,
        dvec3(1.0, 2.0, 7.0),
        "two voxels of 2 mm up"
    );
    // Far outside, the crosshair stays in the data.
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::splat(1e6))));
    let (low, high) = window.state.document.bounds();
    assert!(
        window.state.view.crosshair.cmple(high).all()
            && window.state.view.crosshair.cmpge(low).all()
    );
    assert!(matches!(
        window.state.document.layers[0].content,
        Content::Scan { .. }
    ));
}

fn escape_in_order() {
    let mut window = Window::fitted();
    window.place(Role::Seed, DVec3::ZERO);
    window.act(Action::View(ViewAction::SetTool(Tool::NewRegion {
        role: Role::Target,
        cube: false,
    })));
    window.act(Action::Escape);
    assert_eq!(window.state.view.tool, Tool::Crosshair);
    assert!(window.state.runtime.regions.selected.is_some());
    window.act(Action::Escape);
    assert!(window.state.runtime.regions.selected.is_none());
    // The tool ends by itself when its region is placed: Esc after the click neither cancels nor deselects.
    let tool = Tool::NewRegion {
        role: Role::Target,
        cube: false,
    };
    window.act(Action::View(ViewAction::SetTool(tool)));
    window.holding = true;
    window.place(Role::Target, DVec3::new(6.0, 0.0, 0.0));
    window.cancelled.clear();
    window.act(Action::Escape);
    assert_eq!(window.cancelled, []);
    assert!(window.state.runtime.regions.selected.is_some());
    window.act(Action::Escape);
    assert_eq!(window.cancelled, [LIVE]);
    // After another edit, or the Esc of another tool, it cancels at once.
    let tool = Tool::NewRegion {
        role: Role::Target,
        cube: false,
    };
    for uses_tool in [false, true] {
        window.act(Action::View(ViewAction::SetTool(tool)));
        let placed = window.place(Role::Target, DVec3::new(9.0, 0.0, 0.0));
        if uses_tool {
            window.act(Action::View(ViewAction::SetTool(tool)));
            window.act(Action::Escape);
        } else {
            window.act(Action::Region(RegionAction::Toggle(placed)));
        }
        window.cancelled.clear();
        window.act(Action::Escape);
        assert_eq!(window.cancelled, [LIVE], "{uses_tool}");
    }
    // A job that ran before the region was placed goes on, too.
    window.holding = false;
    window.deliver(|_| {});
    window.holding = true;
    window.act(Action::Track(TrackAction::WholeBrain));
    window.act(Action::View(ViewAction::SetTool(tool)));
    window.place(Role::Target, DVec3::new(3.0, 0.0, 0.0));
    let jobs = &mut window.state.runtime.jobs.running;
    jobs.retain(|job| job.slot != LIVE);
    assert_eq!(jobs.len(), 1, "the whole brain");
    let slot = jobs[0].slot;
    window.cancelled.clear();
    window.act(Action::Escape);
    assert_eq!(window.cancelled, []);
    window.act(Action::Escape);
    assert_eq!(window.cancelled, [slot]);
}
