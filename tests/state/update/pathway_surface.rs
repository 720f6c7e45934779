//! Pathways and the surface of Segment: excluded, costly, followed while it changes, measured, and undone.

use super::Window;
use super::pathways::{A, change, live, looking};
use super::segment::{self, act, sphere};
use crate::support::test;
use arcuate::data::{Mask, Role, Shape};
use arcuate::scene::{self, draw_list::VolumeStyle};
use arcuate::solvers::level_set::{Cause, Ended, Leak};
use arcuate::state::methods::methods;
use arcuate::state::pathways::jobs::FindPathway;
use arcuate::state::pathways::{PathwayAction, Standing, SurfaceUse};
use arcuate::state::segment::SegmentAction;
use arcuate::state::segment::jobs::{ProximityTarget, WithinMargin};
use arcuate::state::update::pathway_command;
use arcuate::state::{Action, CommandLine, Phase, Proximity, SurfaceUpdate, Task, ViewAction};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::pathways::a_surface_is_excluded", excluded),
        test("update::pathways::a_surface_costs_more", costly),
        test("update::pathways::it_follows_the_surface", followed),
        test(
            "update::pathways::a_surface_undone_elsewhere",
            undone_elsewhere,
        ),
        test("update::pathways::a_surface_of_other_values", other_values),
        test("update::pathways::the_surface_is_drawn_with_them", drawn),
        test("update::pathways::in_segment_its_status_stays", quiet),
        test(
            "update::pathways::no_row_disappears_meanwhile",
            stays_listed,
        ),
        test("update::pathways::a_kept_one_is_of_any_surface", kept_rows),
        test("update::pathways::a_surface_around_an_end", swallowed),
        test("update::pathways::a_leak_pauses_them", leaking),
        test("update::pathways::methods_in_segment", described),
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
    let undo = |window: &Window| window.state.history.undo_label().map(str::to_owned);
    assert_eq!(undo(&window).as_deref(), Some("Surface in pathways"));
    assert!(near.total > 0 && near.count <= near.total, "{near:?}");
    assert_eq!(near.margin_mm, 5.0);
    // At rest, nothing is solved repeatedly.
    let before = requests(&window);
    segment::set(&mut window, Phase::Done, |s| s.margin_mm = 20.0);
    let wider = margin(&window);
    assert_eq!(undo(&window).as_deref(), Some("Margin"));
    assert_eq!((wider.total, wider.margin_mm), (near.total, 20.0));
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
        Some(ProximityTarget::Pathway(pathway)) => {
            assert_eq!(pathway.excess.id(), live(&window).excess.id());
        }
        other => panic!("{other:?}"),
    }
    // Once it is ignored, it is neither drawn nor measured there.
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Ignored
    });
    assert_eq!(target(&window), None);
}

/// Whether the live pathway depends on a surface, as a region that paths stay out of.
fn is_confined(window: &Window) -> bool {
    live(window)
        .key
        .regions
        .iter()
        .any(|r| r.role == Role::Exclude)
}

/// In Pathways no surface is computed: a pathway is never that of a surface which the document no longer has.
fn undone_elsewhere() {
    let mut window = looking();
    let free = live(&window).pathway.min_cost;
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Excluded
    });
    show(&mut window, Task::Segment);
    sphere(&mut window, true, DVec3::ZERO, 4.0);
    show(&mut window, Task::Pathways);
    let around = live(&window).pathway.min_cost;
    assert!(is_confined(&window) && around > free * 1.01);
    window.act(Action::Undo);
    assert!(window.state.document.segment.spheres.is_empty());
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    let restored = live(&window).pathway.min_cost;
    assert!((restored - free).abs() < 1e-6 * free, "{restored}, {free}");
    assert!(!is_confined(&window));
    // Redone, it is the surface of the document, at the latest once Segment is shown.
    window.act(Action::Redo);
    if window.state.final_pathway().is_some() {
        assert!(is_confined(&window), "the sphere is in the way");
    }
    show(&mut window, Task::Segment);
    show(&mut window, Task::Pathways);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    let back = live(&window).pathway.min_cost;
    assert!((back - around).abs() < 1e-6 * around, "{back}, {around}");
}

/// A surface that has moved with other values than the document has is awaited.
fn other_values() {
    let mut window = with_sphere();
    let set = |window: &mut Window, tolerance| {
        segment::set(window, Phase::Done, |s| {
            (s.params.target, s.params.tolerance) = (0.5, tolerance);
            s.target_chosen = true;
        });
    };
    set(&mut window, 10.0);
    act(&mut window, SegmentAction::Step);
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Excluded
    });
    show(&mut window, Task::Pathways);
    assert!(window.state.final_pathway().is_some() && is_confined(&window));
    set(&mut window, 0.01);
    assert!(window.state.final_pathway().is_none());
    let why = window.state.why_no_pathway();
    assert!(why.contains("the surface of Segment"), "{why}");
    set(&mut window, 10.0);
    assert!(window.state.final_pathway().is_some() && is_confined(&window));
}

/// Pathways shows the surface on which its paths depend, and no other.
fn drawn() {
    let mut window = with_sphere();
    let shown = |window: &Window| scene::segment::live(&window.state).is_some();
    assert!(shown(&window));
    show(&mut window, Task::Pathways);
    assert!(!shown(&window), "paths pass through it");
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Costly
    });
    assert!(shown(&window));
    let contours = scene::segment::contours(&window.state);
    assert_eq!(contours.len(), 1);
    // In Segment the path and its outline are drawn beside the surface; a cloud would hide it.
    show(&mut window, Task::Segment);
    let state = &window.state;
    assert!(state.document.pathways.cloud && state.document.pathways.outline);
    assert!(!scene::pathways::lines(state).is_empty());
    assert_eq!(scene::pathways::contours(state).len(), 1);
    let volumes = scene::pathways::volumes(state, &state.view.camera);
    assert!(volumes.iter().all(|v| v.style != VolumeStyle::Cloud));
    assert!(scene::pathways::image(state).is_none(), "no cost there");
    show(&mut window, Task::Pathways);
    segment::set(&mut window, Phase::Done, |s| s.shown = false);
    assert!(!shown(&window), "the user has hidden it");
    show(&mut window, Task::View);
    assert!(!shown(&window));
}

/// In Segment, results of the pathway that follows the surface do not replace the status of the surface.
fn quiet() {
    let mut window = with_sphere();
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Excluded
    });
    sphere(&mut window, true, DVec3::ZERO, 7.0);
    window.act(Action::Undo);
    let status = window.state.runtime.notices.status.to_string();
    assert!(!status.contains("Solved in"), "{status}");
}

fn rows(window: &Window) -> Vec<Proximity> {
    let figures = surface(window).figures.as_ref().expect("measured");
    figures.distances.clone()
}

fn row(window: &Window, name: &str) -> Option<Proximity> {
    rows(window).into_iter().find(|near| near.name == name)
}

/// While the pathway of a new surface is being solved, the distance from the former one stays, and is called that.
fn stays_listed() {
    let mut window = with_sphere();
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Excluded
    });
    let is_earlier = |window: &Window| {
        let near = row(window, "Live pathway").expect("a row");
        window.state.is_of_earlier_pathway(&near)
    };
    assert!(!is_earlier(&window));
    window.holding = true;
    sphere(&mut window, true, DVec3::ZERO, 7.0);
    window.deliver(|_| {});
    assert!(!window.state.is_pathway_current());
    assert!(target(&window).is_some(), "the former one is still drawn");
    assert!(is_earlier(&window));
    // Everything arrives.
    while !window.pending.is_empty() {
        window.deliver(|_| {});
    }
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    assert!(!is_earlier(&window));
}

/// A kept pathway is measured as it was kept, whatever its surface was; only the live one follows.
fn kept_rows() {
    let mut window = with_sphere();
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Excluded
    });
    window.act(Action::Pathway(PathwayAction::Keep));
    let kept = window.state.document.kept_pathways[0].clone();
    window.holding = true;
    sphere(&mut window, true, DVec3::ZERO, 7.0);
    window.deliver(|_| {});
    let earlier = |window: &Window, name: &str| {
        let near = row(window, name).expect("a row");
        window.state.is_of_earlier_pathway(&near)
    };
    assert!(
        earlier(&window, "Live pathway"),
        "it shares the kept voxels"
    );
    assert!(!earlier(&window, &kept.name));
    // Its row belongs to no earlier surface when it is deleted, until the distances are measured.
    let near = row(&window, &kept.name).expect("a row");
    window.act(Action::Pathway(PathwayAction::Delete(kept.id)));
    assert!(!window.state.is_of_earlier_pathway(&near));
}

/// A surface that reaches an end leaves no path: Segment has the reason, and the way back.
fn swallowed() {
    let mut window = with_sphere();
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Excluded
    });
    sphere(&mut window, true, A, 9.0);
    assert!(window.state.runtime.pathways.live.value().is_none());
    let why = window.state.why_no_pathway().to_owned();
    assert!(!why.contains("wait until it is solved"), "{why}");
    let status = window.state.runtime.notices.status.to_string();
    assert!(!status.contains("Solved in"), "{status}");
}

/// Pathways wait while a surface is leaking: its voxels are not a structure.
fn leaking() {
    let mut window = with_sphere();
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Excluded
    });
    assert!(window.state.final_pathway().is_some());
    let live = window.state.runtime.segment.live.as_mut().expect("found");
    std::sync::Arc::make_mut(live).ended = Ended::Leaked(Leak {
        rewind_step: 0,
        noticed: 3,
        cause: Cause::Growth,
    });
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ONE)));
    assert!(window.state.pathway_awaits_surface());
    assert!(window.state.final_pathway().is_none());
    let why = window.state.why_no_pathway();
    assert!(why.contains("leaking"), "{why}");
}

/// The pathway whose distance Segment shows is described, with the margin.
fn described() {
    let mut window = with_sphere();
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Excluded
    });
    segment::set(&mut window, Phase::Done, |s| s.margin_mm = 7.5);
    let text = methods(&window.state);
    assert!(text.contains("Costs of paths between"), "{text}");
    assert!(text.contains("7.5 mm of the surface"), "{text}");
}
