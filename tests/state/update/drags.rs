//! The views while a slider or a region is dragged: what is shown, what is dimmed, and how pathways are compared.

use super::pathways::{A, change, drag, live, looking};
use super::{Window, rays};
use crate::support::{start_of_old_job, test};
use arcuate::data::{Role, Shape};
use arcuate::jobs::Outcome;
use arcuate::scene::{self, Size};
use arcuate::solvers::curves::Seeding;
use arcuate::solvers::geodesic::{Cut, Sharpening};
use arcuate::solvers::pathway::Rates;
use arcuate::state::action::BeforeDrag;
use arcuate::state::core::live::LAG;
use arcuate::state::pathways::jobs::{COMPARE, ComparePathway, FindPathway, PATHWAY};
use arcuate::state::pathways::{PathwayAction, Standing};
use arcuate::state::track::jobs::LIVE;
use arcuate::state::{
    Action, Event, LayerAction, Pane, Phase, Rays, RegionAction, Task, TrackAction, ViewAction,
};
use glam::{DVec2, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::pathways::a_pause_waits_for_the_coarse", pauses),
        test("update::pathways::coarse_first_always", first),
        test("update::pathways::an_old_coarse_solve_gives_way", gives_way),
        test("update::pathways::what_is_stale_is_dim", dim),
        test("update::pathways::compared_while_idle", compared),
        test("update::rays::what_is_stale_is_dim", dim_rays),
        test("update::rays::a_coarse_set_is_a_time_budget", budget),
        test("update::rays::a_coarse_set_keeps_enough_rays", enough),
        test("update::pathways::comparing_stops_for_a_drag", interrupted),
        test("update::pathways::kept_with_its_percentiles", kept_among),
        test("update::live::other_controls_move_nothing", others),
        test("update::live::few_seeds_are_tracked_once", few),
        test(
            "update::live::a_stop_outlasts_another_task",
            remains_stopped,
        ),
        test(
            "update::live::a_drag_that_is_abandoned_elsewhere",
            abandoned,
        ),
        test(
            "update::pathways::only_its_task_shows_the_status",
            status_of_task,
        ),
    ]
}

fn to_alpha(window: &mut Window, alpha: f64, phase: Phase) {
    change(window, phase, |s| s.params.metric.alpha = alpha);
}

/// Slow solves, like those on a head, where a full result takes seconds.
fn slow(window: &mut Window) {
    window.state.runtime.pathways.full_ms = [Some(1e4); 2];
}

/// Whether the requested pathways are coarse, from a given job on.
fn coarse(window: &Window, from: usize) -> Vec<bool> {
    let jobs = window.submitted[from..].iter();
    let pathways = jobs.filter_map(|job| job.job::<FindPathway>());
    pathways.map(|pathway| pathway.coarse).collect()
}

fn alpha(window: &Window) -> f64 {
    let params = live(window).key.params.tensors();
    params.expect("through tensors").metric.alpha
}

/// A drag of α with pauses shows a coarse pathway at every pause.
fn pauses() {
    let mut window = looking();
    slow(&mut window);
    let from = window.submitted.len();
    window.holding = true;
    to_alpha(&mut window, 3.5, Phase::Live);
    assert!(window.state.waits_for_rest());
    window.act(Action::Settle);
    assert!(
        !window.state.waits_for_rest(),
        "one action for one rest: otherwise the window repaints until the drag ends"
    );
    assert_eq!(
        coarse(&window, from),
        [true],
        "a pause does not take the coarse answer away"
    );
    to_alpha(&mut window, 4.0, Phase::Live);
    assert!(window.state.waits_for_rest());
    assert_eq!(coarse(&window, from), [true], "nor does the next move");
    window.deliver(|_| {});
    assert!(live(&window).coarse && alpha(&window) == 3.5);
    assert_eq!(coarse(&window, from), [true; 2], "the newest follows");
    window.deliver(|_| {});
    assert!(live(&window).coarse && alpha(&window) == 4.0);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Coarse));
    // The pointer rests: the full result; it continues: the next is coarse at once.
    window.act(Action::Settle);
    assert_eq!(coarse(&window, from), [true, true, false]);
    to_alpha(&mut window, 4.5, Phase::Live);
    assert_eq!(coarse(&window, from), [true, true, false, true]);
    window.pending.remove(0);
    window.deliver(|_| {});
    assert!(live(&window).coarse && alpha(&window) == 4.5);
    to_alpha(&mut window, 4.5, Phase::Done);
    window.deliver(|_| {});
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    assert_eq!(alpha(&window), 4.5);
}

/// Likewise a typed number; where the coarse grid has no path the full one decides.
fn first() {
    let mut window = looking();
    slow(&mut window);
    let from = window.submitted.len();
    to_alpha(&mut window, 2.0, Phase::Done);
    assert_eq!(coarse(&window, from), [true, false]);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    slow(&mut window);
    let from = window.submitted.len();
    window.holding = true;
    to_alpha(&mut window, 2.5, Phase::Done);
    let failed = Outcome::Failed("No path".to_owned().into());
    window.deliver(|events| *events[0].outcome_mut::<FindPathway>().expect("a pathway") = failed);
    assert_eq!(coarse(&window, from), [true, false]);
    window.deliver(|_| {});
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
}

fn gives_way() {
    let mut window = looking();
    slow(&mut window);
    let from = window.submitted.len();
    window.holding = true;
    let age = |window: &mut Window| {
        let jobs = window.state.runtime.jobs.running.iter_mut();
        let of_pathway = jobs.filter(|j| j.slot == PATHWAY);
        of_pathway.for_each(|j| j.started = start_of_old_job(2 * LAG));
    };
    to_alpha(&mut window, 2.0, Phase::Live);
    to_alpha(&mut window, 2.2, Phase::Live);
    assert_eq!(coarse(&window, from), [true], "it is young");
    age(&mut window);
    to_alpha(&mut window, 2.4, Phase::Live);
    assert_eq!(coarse(&window, from), [true; 2], "it is old");
    // However slow they are, one of two is finished.
    age(&mut window);
    to_alpha(&mut window, 2.6, Phase::Live);
    assert_eq!(coarse(&window, from), [true; 2]);
    window.pending.remove(0);
    window.deliver(|_| {});
    assert!(live(&window).coarse && alpha(&window) == 2.4);
    age(&mut window);
    to_alpha(&mut window, 2.8, Phase::Live);
    assert_eq!(
        coarse(&window, from),
        [true; 4],
        "and the next may give way"
    );
}

/// The opacities of the drawn parts of the live pathway: on slices, its paths, its cloud.
fn strengths(window: &Window) -> [f32; 4] {
    let size = Size {
        points: DVec2::splat(200.0),
        pixels_per_point: 1.0,
    };
    let slice = scene::slice(&window.state, Pane::Axial, size).expect("a slice");
    let scene = scene::scene(&window.state, size);
    [
        slice.images.last().expect("the cost").opacity,
        slice.contours.last().expect("its outline").opacity,
        scene.lines.last().expect("its path").opacity,
        1.0 / scene.volumes[0].reference_mm,
    ]
}

fn dim() {
    let mut window = looking();
    window.act(Action::View(ViewAction::MoveCrosshair(A)));
    let bright = strengths(&window);
    slow(&mut window);
    window.holding = true;
    to_alpha(&mut window, 5.0, Phase::Live);
    assert!(window.state.pathway_is_stale());
    for (now, then) in strengths(&window).into_iter().zip(bright) {
        assert!(now < 0.5 * then, "{now} {then}");
    }
    // A coarse one of the same drag may lag behind by the time of one coarse solve, and no more.
    window.deliver(|_| {});
    assert_eq!(strengths(&window), bright);
    to_alpha(&mut window, 5.5, Phase::Live);
    assert!(!window.state.pathway_is_stale());
    let jobs = window.state.runtime.jobs.running.iter_mut();
    jobs.for_each(|j| j.started = start_of_old_job(2 * LAG));
    assert!(window.state.pathway_is_stale());
    window.deliver(|_| {});
    assert!(!window.state.pathway_is_stale());
    // A stopped computation leaves the old pathway, dimmed.
    to_alpha(&mut window, 6.0, Phase::Done);
    window.act(Action::CancelJob(PATHWAY));
    assert!(window.state.pathway_is_stale());
}

fn dim_rays() {
    let mut window = rays::tracing(50_000);
    let strength = |window: &Window| {
        let size = Size {
            points: DVec2::splat(200.0),
            pixels_per_point: 1.0,
        };
        let slice = scene::slice(&window.state, Pane::Axial, size).expect("a slice");
        let scene = scene::scene(&window.state, size);
        [slice.lines[0].opacity, scene.lines[0].opacity]
    };
    let sharpen = |window: &mut Window, alpha: f64, phase: Phase| {
        let mut rays = window.state.document.track.rays.clone();
        rays.metric.sharpening = Sharpening::Power { alpha };
        window.act(Action::Track(TrackAction::SetRays { rays, phase }));
    };
    let bright = strength(&window);
    assert!(!window.state.live_is_stale());
    window.holding = true;
    sharpen(&mut window, 2.0, Phase::Live);
    assert!(
        window.state.live_is_stale(),
        "all rays are those of another α"
    );
    for (now, then) in strength(&window).into_iter().zip(&bright) {
        assert!(now < 0.5 * then, "{now} {then}");
    }
    // Coarse ones of the same drag may lag behind by their own time, and no more.
    window.deliver(|_| {});
    assert!(rays::live(&window).coarse);
    assert_eq!(strength(&window), bright);
    sharpen(&mut window, 2.5, Phase::Live);
    assert!(!window.state.live_is_stale());
    let jobs = window.state.runtime.jobs.running.iter_mut();
    jobs.for_each(|j| j.started = start_of_old_job(2 * LAG));
    assert!(window.state.live_is_stale());
    window.deliver(|_| {});
    assert!(!window.state.live_is_stale());
    // The cut needs no new rays.
    let cut = Cut::Top(3);
    let rays = Rays {
        cut,
        ..window.state.document.track.rays.clone()
    };
    window.act(Action::Track(TrackAction::SetRays {
        rays,
        phase: Phase::Live,
    }));
    assert!(!window.state.live_is_stale());
    // A stopped computation leaves the old rays, dimmed.
    sharpen(&mut window, 3.0, Phase::Done);
    window.act(Action::CancelJob(LIVE));
    assert!(window.state.live_is_stale());
}

fn comparisons(window: &Window) -> Vec<&ComparePathway> {
    let jobs = window.submitted.iter();
    jobs.filter_map(|job| job.job::<ComparePathway>()).collect()
}

fn compared() {
    let mut window = looking();
    let known = |window: &Window| {
        let compared = window.state.pathway_compared();
        compared.map(|c| c.known_pairs.clone())
    };
    let before = known(&window).expect("compared");
    let count = comparisons(&window).len();
    // Moved ends are compared with the same pairs; another metric needs new ones.
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    assert_eq!(comparisons(&window).len(), count + 1);
    assert!(Arc::ptr_eq(&before, &known(&window).expect("compared")));
    to_alpha(&mut window, 2.0, Phase::Done);
    assert!(!Arc::ptr_eq(&before, &known(&window).expect("compared")));
    // A width solves nothing, and compares nothing.
    let count = comparisons(&window).len();
    change(&mut window, Phase::Done, |s| s.epsilon = 0.3);
    window.act(Action::View(ViewAction::SelectTask(Task::View)));
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    assert_eq!(comparisons(&window).len(), count);
    assert!(known(&window).is_some());
    // They belong to the full result: a coarse one of the same request has none.
    let live = window.state.runtime.pathways.live.value_mut();
    Arc::make_mut(live.expect("a pathway")).coarse = true;
    assert!(known(&window).is_none());
}

fn interrupted() {
    let mut window = looking();
    let cancelled = |window: &Window| {
        let mut slots = window.cancelled.iter();
        slots.any(|s| *s == COMPARE)
    };
    let ends = |window: &mut Window| {
        window.deliver(|events| {
            let of_compare = |e: &&mut Event| e.slot == COMPARE;
            let events = events.iter_mut().filter(of_compare);
            events.for_each(|e| {
                *e.outcome_mut::<ComparePathway>().expect("a comparison") = Outcome::Cancelled;
            });
        });
    };
    window.holding = true;
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    window.deliver(|_| {});
    while !window.pending.iter().any(|e| e.slot == COMPARE) {
        window.deliver(|_| {});
    }
    assert!(window.state.pathway_compared().is_none());
    // A drag takes the CPU, and no message reports it.
    assert!(!cancelled(&window));
    drag(&mut window, Role::Seed, A + DVec3::X * 2.0, Phase::Live);
    assert!(cancelled(&window));
    ends(&mut window);
    assert!(window.state.runtime.pathways.not_compared.is_none());
    drag(&mut window, Role::Seed, A + DVec3::X * 2.0, Phase::Done);
    while window.state.runtime.pathways.compared.running().is_none() {
        window.deliver(|_| {});
    }
    // After the user stops it, it appears again only on request.
    window.act(Action::CancelJob(COMPARE));
    ends(&mut window);
    let why = window.state.runtime.pathways.not_compared.as_deref();
    assert_eq!(why, Some("you stopped the comparison"));
    let count = comparisons(&window).len();
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ONE)));
    assert_eq!(comparisons(&window).len(), count);
    window.holding = false;
    window.act(Action::Pathway(PathwayAction::CompareAgain));
    assert_eq!(comparisons(&window).len(), count + 1);
    assert!(window.state.pathway_compared().is_some());
}

/// The number of rays is what the measured speed allows in a third of a tenth of a second, up to three times as many
/// where too few are kept; it stays the same while the size does.
fn budget() {
    let mut window = rays::tracing(50_000);
    let region = window.state.runtime.regions.selected.expect("the seed");
    let mut rays_of_drag = |speed: (f64, f64), x: f64| {
        let (per_ms, kept) = speed;
        let runtime = &mut window.state.runtime;
        (runtime.track.rays_per_ms, runtime.track.rays_passed) = (Some(per_ms), Some(kept));
        let shape = Shape::Sphere {
            centre: DVec3::X * x,
            radius_mm: 5.0,
        };
        let phase = Phase::Live;
        window.act(Action::Region(RegionAction::SetShape {
            region,
            shape,
            phase,
        }));
        assert!(rays::live(&window).coarse);
        (
            rays::live(&window).seeds,
            rays::live(&window).output.kept.clone(),
        )
    };
    let mut first = None;
    for (i, (speed, expected)) in [
        ((30.0, 0.5), 1_000),
        // With 1 000 one would be kept, with 2 000 twenty, with 3 000 three.
        ((30.0, 0.01), 2_000),
        ((30.0, 0.001), 3_000),
        ((30.0, 0.0), 3_000),
        // A fast card computes more rays at once.
        ((1_500.0, 0.5), 50_000),
        ((0.5, 0.5), 400),
        ((30.0, 0.5), 1_000),
    ]
    .into_iter()
    .enumerate()
    {
        let (seeds, kept) = rays_of_drag(speed, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0][i]);
        assert_eq!(seeds, expected, "{speed:?}");
        let points = kept.points.to_vec();
        match first.as_ref() {
            None => first = Some(points),
            Some(first) if i == 6 => assert!(*first == points, "of one size the same"),
            _ => {}
        }
    }
}

/// A tenth of the few coarse rays that pass would be one or two: a sufficient number is shown, and the full result is
/// cut as set.
fn enough() {
    let mut window = rays::tracing(50_000);
    let mut requested = window.state.document.track.rays.clone();
    requested.cut = Cut::TopShare(0.01);
    let set = |window: &mut Window, phase: Phase| {
        let rays = requested.clone();
        window.act(Action::Track(TrackAction::SetRays { rays, phase }));
    };
    set(&mut window, Phase::Done);
    window.state.runtime.track.rays_per_ms = Some(1.0);
    let region = window.state.runtime.regions.selected.expect("the seed");
    let shape = Shape::Sphere {
        centre: DVec3::X,
        radius_mm: 5.0,
    };
    let phase = Phase::Live;
    window.act(Action::Region(RegionAction::SetShape {
        region,
        shape,
        phase,
    }));
    let passed = |window: &Window| {
        let rays = rays::live(window).rays.as_ref().expect("rays");
        rays.measures.len()
    };
    assert!(rays::live(&window).coarse && passed(&window) > 50);
    assert_eq!(rays::live(&window).output.kept.len(), 20);
    assert_eq!(
        window.state.standing(),
        Some(arcuate::state::Standing::Coarse)
    );
    window.act(Action::Settle);
    assert!(!rays::live(&window).coarse);
    let expected = passed(&window).div_ceil(100);
    assert_eq!(rays::live(&window).output.kept.len(), expected);
}

/// A pathway kept before the comparison ends has the same percentiles as one kept after it.
fn kept_among() {
    let mut window = looking();
    let keep = |window: &mut Window| window.act(Action::Pathway(PathwayAction::Keep));
    let compared = |window: &Window, n: usize| window.state.document.kept_pathways[n].compared;
    window.holding = true;
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    while !window.pending.iter().any(|e| e.slot == COMPARE) {
        window.deliver(|_| {});
    }
    keep(&mut window);
    assert_eq!(compared(&window, 0), None);
    window.deliver(|events| {
        for event in events {
            if let Some(Outcome::Done(compared)) = event.outcome_mut::<ComparePathway>() {
                let (weakest, mean) = (0.25, 0.5);
                compared.shares = Some(Rates { mean, weakest });
            }
        }
    });
    keep(&mut window);
    let among = compared(&window, 1).expect("compared");
    assert_eq!((among.weakest, among.mean), (0.25, 0.5));
    assert_eq!(compared(&window, 0), Some(among));
    // Another pathway has no percentiles.
    drag(&mut window, Role::Seed, A + DVec3::X * 2.0, Phase::Done);
    while window.state.pathway_standing() != Some(Standing::Final) {
        window.deliver(|_| {});
    }
    keep(&mut window);
    assert_eq!(compared(&window, 2), None);
}

/// The status about a pathway disappears when another task is selected, also after an undo.
fn status_of_task() {
    let mut window = looking();
    to_alpha(&mut window, 2.0, Phase::Done);
    let message = window.state.runtime.notices.status.clone();
    assert!(message.starts_with("Solved in "), "{message}");
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    assert_eq!(window.state.runtime.notices.status, message);
    // Postponed streamlines are tracked now, and have a status of their own.
    let not_solved = |window: &mut Window| {
        window.act(Action::View(ViewAction::SelectTask(Task::View)));
        let now = &window.state.runtime.notices.status;
        assert!(!now.contains("Solved in "), "{now}");
    };
    not_solved(&mut window);
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    to_alpha(&mut window, 3.0, Phase::Done);
    window.act(Action::Undo);
    let message = window.state.runtime.notices.status.clone();
    assert!(
        message.starts_with("Undone: ") && message.contains("Solved in "),
        "{message}"
    );
    not_solved(&mut window);
}

/// A drag of other controls takes nothing from streamlines that are on their way.
fn others() {
    let mut window = Window::fitted();
    window.holding = true;
    window.place(Role::Seed, DVec3::ZERO);
    assert_eq!(window.coarse_requests(), [false]);
    let layer = window.state.document.layer_named("FA").expect("FA");
    let (layer, mut display) = (layer.id, layer.display.clone());
    for opacity in [0.75, 0.5] {
        display.opacity = opacity;
        window.act(Action::Layer(LayerAction::SetDisplay {
            layer,
            display: display.clone(),
            phase: Phase::Live,
        }));
        assert!(window.state.is_dragging() && !window.state.waits_for_rest());
    }
    assert_eq!(window.coarse_requests(), [false]);
    assert!(!window.cancelled.contains(&LIVE));
    window.deliver(|_| {});
    assert!(window.state.is_dragging() && window.state.final_live().is_some());
    assert_eq!(window.coarse_requests(), [false]);
}

/// The coarse result of few seeds would be the full one: it is not computed twice.
fn few() {
    let mut window = Window::fitted();
    window.state.document.track.streamlines.seeding = Seeding::Random { count: 300 };
    window.place(Role::Seed, DVec3::ZERO);
    let count = window.coarse_requests().len();
    for phase in [Phase::Live, Phase::Done] {
        drag(&mut window, Role::Seed, DVec3::X, phase);
    }
    assert_eq!(window.coarse_requests()[count..], [false]);
    assert!(window.state.final_live().is_some());
    // Many seeds: a drag tracks some of them, its end all.
    window.state.document.track.streamlines.seeding = Seeding::Random { count: 2_000 };
    window.act(Action::Settle);
    let count = window.coarse_requests().len();
    for phase in [Phase::Live, Phase::Done] {
        drag(&mut window, Role::Seed, DVec3::Y, phase);
    }
    assert_eq!(window.coarse_requests()[count..], [true, false]);
}

/// Streamlines that the user stopped are tracked again on request or after a change, not by looking elsewhere.
fn remains_stopped() {
    let mut window = Window::fitted();
    window.holding = true;
    window.place(Role::Seed, DVec3::ZERO);
    window.act(Action::CancelJob(LIVE));
    window.pending.clear();
    window.holding = false;
    for task in [Task::Pathways, Task::Track, Task::View] {
        window.act(Action::View(ViewAction::SelectTask(task)));
        window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ONE)));
    }
    assert_eq!(window.coarse_requests(), [false]);
    assert!(window.state.runtime.track.live.failure().is_none());
    window.act(Action::Track(TrackAction::Repeat));
    assert_eq!(window.coarse_requests(), [false; 2]);
    assert!(window.state.final_live().is_some());
}

/// Where streamlines are not seen a drag that ends where it began leaves them.
fn abandoned() {
    let mut window = looking();
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    let known = window
        .state
        .final_live()
        .expect("streamlines")
        .output
        .clone();
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    let count = window.coarse_requests().len();
    let before = BeforeDrag::from_state(&window.state);
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Live);
    window.act(Action::AbandonDrag(Box::new(before)));
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    let live = window.state.final_live().expect("streamlines");
    assert!(Arc::ptr_eq(&live.output, &known));
    assert_eq!(window.coarse_requests().len(), count);
}
