//! Pathways and the surface of Segment: excluded, costly, followed while it changes, measured, and undone.

use super::Window;
use super::pathways::{change, live, looking};
use super::segment::{self, act, sphere};
use crate::support::test;
use arcuate::data::{Mask, Shape};
use arcuate::state::pathways::jobs::FindPathway;
use arcuate::state::pathways::{Standing, SurfaceUse};
use arcuate::state::segment::SegmentAction;
use arcuate::state::segment::jobs::{ProximityTarget, WithinMargin};
use arcuate::state::update::pathway_command;
use arcuate::state::{Action, CommandLine, Phase, SurfaceUpdate, Task, ViewAction};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::pathways::a_surface_is_excluded", excluded),
        test("update::pathways::a_surface_costs_more", costly),
        test(
            "update::pathways::the_pathway_follows_the_surface",
            followed,
        ),
    ]
}

/// A pathway, and in Segment a sphere in its middle.
fn with_sphere() -> Window {
    let mut window = looking();
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    sphere(&mut window, true, DVec3::ZERO, 4.0);
    window
}

fn show(window: &mut Window, task: Task) {
    window.act(Action::View(ViewAction::SelectTask(task)));
}

fn surface(window: &Window) -> &SurfaceUpdate {
    segment::live(window)
}

fn inside(window: &Window) -> &Mask {
    match surface(window).measured.shape.as_deref() {
        Some(Shape::Mask(mask)) => mask,
        other => panic!("{other:?}"),
    }
}

/// Points of the path within the surface.
fn points_inside(window: &Window) -> usize {
    let (path, mask) = (&live(window).path, inside(window));
    path.points.iter().filter(|at| mask.contains(**at)).count()
}

fn requests(window: &Window) -> usize {
    let jobs = window.submitted.iter();
    jobs.filter(|job| job.job::<FindPathway>().is_some())
        .count()
}

fn excluded() {
    let mut window = with_sphere();
    assert_eq!(requests(&window), 2, "ignored, it changes nothing");
    show(&mut window, Task::Pathways);
    let free = live(&window).pathway.min_cost;
    assert!(points_inside(&window) > 0, "the path leads through it");
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Excluded
    });
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    assert_eq!(points_inside(&window), 0);
    let around = live(&window).pathway.min_cost;
    assert!(around > free * 1.01, "{around}, {free}");
    let set = live(&window).mask(window.state.document.pathways.epsilon);
    let mask = inside(&window);
    let at = |v: [usize; 3]| set.grid.world(DVec3::from_array(v.map(|c| c as f64)));
    assert!(set.voxels_inside().all(|v| !mask.contains(at(v))));
    // No command can name a surface that is in no file.
    match pathway_command(&window.state, None) {
        Some(CommandLine::NoCommand(_)) => {}
        other => panic!("{other:?}"),
    }
    window.act(Action::Undo);
    assert!((live(&window).pathway.min_cost - free).abs() < 1e-6 * free);
    assert!(points_inside(&window) > 0);
}

fn costly() {
    let mut window = with_sphere();
    show(&mut window, Task::Pathways);
    let free = live(&window).pathway.min_cost;
    change(&mut window, Phase::Done, |s| {
        (s.surface_use, s.params.costly_factor) = (SurfaceUse::Costly, 1.0);
    });
    let same = live(&window).pathway.min_cost;
    assert!((same - free).abs() < 1e-6 * free, "{same}, {free}");
    change(&mut window, Phase::Done, |s| s.params.costly_factor = 1.5);
    let more = live(&window).pathway.min_cost;
    change(&mut window, Phase::Done, |s| {
        s.params.costly_factor = 1000.0
    });
    let around = live(&window).pathway.min_cost;
    assert!(free < more && more < around, "{free}, {more}, {around}");
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Excluded
    });
    let excluded = live(&window).pathway.min_cost;
    assert!(
        (excluded - around).abs() < 1e-3 * around,
        "{excluded}, {around}"
    );
}

/// The live pathway among the objects whose distances are measured.
fn target(window: &Window) -> Option<ProximityTarget> {
    let mut targets = window.state.proximity_targets().into_iter();
    targets.find(|target| target.name() == "Live pathway")
}

fn margin(window: &Window) -> WithinMargin {
    let figures = surface(window).figures.as_ref().expect("measured");
    let mut distances = figures.distances.iter();
    let near = distances.find(|near| near.name == "Live pathway");
    near.expect("measured").margin.expect("voxels of a pathway")
}

/// In Segment the pathway follows each surface, and its distance is that from the same surface.
fn followed() {
    let mut window = with_sphere();
    assert_eq!(target(&window), None, "it is not drawn");
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Excluded
    });
    assert_eq!(points_inside(&window), 0);
    let near = margin(&window);
    assert!(near.of > 0 && near.count <= near.of, "{near:?}");
    assert_eq!(near.margin_mm, 5.0);
    // At rest, nothing is solved repeatedly.
    let before = requests(&window);
    segment::set(&mut window, Phase::Done, |s| s.margin_mm = 20.0);
    let wider = margin(&window);
    assert_eq!((wider.of, wider.margin_mm), (near.of, 20.0));
    assert!(wider.count > near.count, "{wider:?}, {near:?}");
    assert_eq!(requests(&window), before);
    // Each surface has its own pathway.
    let cost = live(&window).pathway.min_cost;
    sphere(&mut window, true, DVec3::ZERO, 7.0);
    assert_eq!(points_inside(&window), 0);
    let larger = live(&window).pathway.min_cost;
    assert!(larger > cost, "{larger}, {cost}");
    let shape = surface(&window).measured.shape.clone().expect("at rest");
    let regions = &live(&window).key.regions;
    let is_its = |s: &std::sync::Arc<Shape>| std::sync::Arc::ptr_eq(s, &shape);
    assert!(regions.iter().any(|r| is_its(&r.shape)));
    window.act(Action::Undo);
    let back = live(&window).pathway.min_cost;
    assert!((back - cost).abs() < 1e-6 * cost, "{back}, {cost}");
    // A surface that moves is followed, too.
    segment::set(&mut window, Phase::Done, |s| {
        (s.params.target, s.params.tolerance) = (0.5, 10.0);
        s.target_chosen = true;
    });
    let cost = live(&window).pathway.min_cost;
    act(&mut window, SegmentAction::Step);
    let moved = surface(&window);
    assert!(
        moved.step > 0 && moved.measured.step == moved.step,
        "{}",
        moved.step
    );
    assert_eq!(points_inside(&window), 0);
    let farther = live(&window).pathway.min_cost;
    assert!(farther > cost, "{farther}, {cost}: the surface has grown");
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    match target(&window) {
        Some(ProximityTarget::Voxels(_, excess, _)) => {
            assert_eq!(excess.id(), live(&window).excess.id());
        }
        other => panic!("{other:?}"),
    }
    // Ignored again, it is neither drawn nor measured there.
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Ignored
    });
    assert_eq!(target(&window), None);
}
