//! The live surface: cut-away parts stay away, rewinding restores the parameters of that step.

use super::Window;
use super::segment::{act, advance, image, live, opened, ready, sample, set, sphere};
use crate::support::test;
use arcuate::data::Shape;
use arcuate::jobs::Outcome;
use arcuate::scene;
use arcuate::solvers::level_set::Ended;
use arcuate::state::core::layer::Content;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::segment::jobs::RunRequest;
use arcuate::state::segment::{RangeDoubt, SegmentAction, SegmentFile};
use arcuate::state::sessions::unsaved::UnsavedPart;
use arcuate::state::{Action, Display, LayerAction, Phase, Task, ViewAction};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::segment::a_rewind_restores_parameters", parameters),
        test("update::segment::a_drag_is_one_change_of_a_rewind", drag),
        test(
            "update::segment::a_drag_from_the_present_value",
            from_the_same,
        ),
        test("update::segment::the_speed_of_a_branch_ends_with_it", speed),
        test("update::segment::cut_away_parts_stay_empty", cut_away),
        test(
            "update::segment::undoing_a_leak_keeps_a_cut",
            cut_before_leak,
        ),
        test(
            "update::segment::it_is_computed_in_its_task_alone",
            looked_at,
        ),
        test("update::segment::undo_keeps_its_status_at_rest", undone),
        test(
            "update::segment::a_sample_is_undone_with_its_values",
            unsampled,
        ),
        test(
            "update::segment::a_range_beyond_the_border_is_doubted",
            doubted,
        ),
        test(
            "update::segment::a_status_about_an_earlier_step_disappears",
            stale_status,
        ),
        test(
            "update::segment::a_sample_counts_until_values_are_set",
            overridden,
        ),
        test("update::segment::a_visit_is_no_edit", visited),
        test(
            "update::segment::a chosen image is shown there alone",
            chosen,
        ),
        test(
            "update::segment::methods name the step of a volume",
            methods,
        ),
        test(
            "update::segment::exported_structures_are_not_lost",
            exported,
        ),
        test("update::segment::a_late_answer_undoes_no_undo", late),
        test("update::segment::a_cancelled_run_undoes_no_undo", cancelled),
    ]
}

/// Values of a drag act while the surface moves: the button leads to before all of them, and from there to before the
/// change that preceded the drag.
fn drag() {
    let mut window = ready();
    act(&mut window, SegmentAction::Step);
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    act(&mut window, SegmentAction::Step);
    for smoothness in [0.2, 0.25, 0.3] {
        let phase = Phase::Live;
        set(&mut window, phase, |s| s.params.smoothness = smoothness);
        act(&mut window, SegmentAction::Step);
    }
    // The release may repeat the last value, or bring a new one.
    set(&mut window, Phase::Done, |s| s.params.smoothness = 0.35);
    act(&mut window, SegmentAction::Step);
    let earlier = |window: &Window| window.state.runtime.segment.earlier();
    assert_eq!((live(&window).step, earlier(&window)), (60, 20));
    // A later change is a separate step.
    set(&mut window, Phase::Done, |s| s.params.smoothness = 0.4);
    act(&mut window, SegmentAction::Step);
    let smoothness = |window: &Window| window.state.document.segment.settings.params.smoothness;
    for (step, before) in [(60, 0.35), (20, 0.15), (10, 0.15), (0, 0.15)] {
        assert_eq!(earlier(&window), step);
        act(&mut window, SegmentAction::Rewind(step));
        assert_eq!((live(&window).step, smoothness(&window)), (step, before));
    }
}

/// The first value of a drag may equal the one before it: the drag is still a change, from where it first acts.
fn from_the_same() {
    let mut window = ready();
    act(&mut window, SegmentAction::Step);
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    act(&mut window, SegmentAction::Step);
    set(&mut window, Phase::Live, |_| {});
    act(&mut window, SegmentAction::Step);
    for smoothness in [0.2, 0.25] {
        let phase = Phase::Live;
        set(&mut window, phase, |s| s.params.smoothness = smoothness);
        act(&mut window, SegmentAction::Step);
    }
    set(&mut window, Phase::Done, |_| {});
    act(&mut window, SegmentAction::Step);
    let earlier = window.state.runtime.segment.earlier();
    assert_eq!((live(&window).step, earlier), (60, 30));
}

/// The speed of a run does not apply to the branch that continues elsewhere.
fn speed() {
    let mut window = ready();
    act(&mut window, SegmentAction::Step);
    act(&mut window, SegmentAction::Step);
    assert!(live(&window).steps_per_s > 0.0);
    act(&mut window, SegmentAction::Rewind(10));
    assert_eq!((live(&window).step, live(&window).steps_per_s), (10, 0.0));
    act(&mut window, SegmentAction::Step);
    assert!(live(&window).steps_per_s > 0.0);
}

/// Rewinding restores the parameters of that step, and reports what has changed; undo reports it with values.
fn parameters() {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    act(&mut window, SegmentAction::Step);
    set(&mut window, Phase::Done, |s| {
        (s.params.tolerance, s.params.smoothness) = (30.0, 0.4);
    });
    act(&mut window, SegmentAction::Step);
    set(&mut window, Phase::Done, |s| s.params.tolerance = 37.0);
    sphere(&mut window, false, dvec3(3.0, 0.0, 0.0), 2.0);
    act(&mut window, SegmentAction::Step);
    assert_eq!(live(&window).step, 30);
    let now = |window: &Window| {
        let params = &window.state.document.segment.settings.params;
        (params.tolerance, params.smoothness)
    };
    let status = |window: &Window| window.state.runtime.notices.status.clone();
    // Between two changes: those of the step, not the later ones.
    act(&mut window, SegmentAction::Rewind(20));
    assert_eq!(now(&window), (30.0, 0.4));
    let message = status(&window);
    assert!(message.contains("Tolerance ε 37.00 → 30.00"), "{message}");
    assert!(
        message.contains("keep-out sphere of 2.0\u{202f}mm deleted"),
        "{message}"
    );
    assert_eq!(live(&window).step, 20);
    assert!(live(&window).script.events.len() == 1, "it goes on by them");
    act(&mut window, SegmentAction::Rewind(4));
    assert_eq!(now(&window), (20.0, 0.15));
    let message = status(&window);
    assert!(
        message.starts_with("Back at step 4, Tolerance ε 30.00 → 20.00, Smoothness 0.40 → 0.15"),
        "{message}"
    );
    window.act(Action::Undo);
    assert_eq!(now(&window), (30.0, 0.4));
    let message = status(&window);
    assert!(
        message.contains("(Tolerance ε 20.00 → 30.00, Smoothness 0.15 → 0.40)"),
        "{message}"
    );
    assert_eq!(live(&window).step, 20, "the surface comes back, too");
    window.act(Action::Redo);
    assert_eq!(live(&window).step, 4);
    assert!(
        status(&window).contains("Tolerance ε 30.00 → 20.00"),
        "{}",
        status(&window)
    );
    // Where nothing changes there is nothing to undo.
    let before = window.state.history.undo_label().map(str::to_owned);
    act(&mut window, SegmentAction::Rewind(2));
    assert_eq!(window.state.history.undo_label().map(str::to_owned), before);
    assert_eq!(status(&window), "Back at step 2");
    sphere(&mut window, true, dvec3(-4.0, 0.0, 0.0), 3.0);
    window.act(Action::Undo);
    assert!(
        status(&window).contains("(sphere of 3.0\u{202f}mm deleted)"),
        "{}",
        status(&window)
    );
}

/// Undo brings back the surface at rest, and the result in the status line goes with the surface that it described.
fn undone() {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    act(&mut window, SegmentAction::Play);
    let message = window.state.runtime.notices.status.clone();
    assert!(
        message.starts_with("The surface is at rest after "),
        "{message}"
    );
    let at_rest = live(&window).step;
    set(&mut window, Phase::Done, |s| s.params.tolerance = 30.0);
    window.act(Action::Undo);
    assert_eq!(live(&window).step, at_rest);
    let message = window.state.runtime.notices.status.clone();
    assert!(message.starts_with("Undone: "), "{message}");
    assert!(!message.contains("at rest"), "{message}");
    // Another task does not mention it, nor the rewind.
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    let status = |window: &Window| window.state.runtime.notices.status.clone();
    assert_eq!(status(&window), "");
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    act(&mut window, SegmentAction::Rewind(10));
    assert!(status(&window).starts_with("Back at step 10"));
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    assert_eq!(status(&window), "");
}

/// The status does not name a step that the surface has left.
fn stale_status() {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    act(&mut window, SegmentAction::Step);
    act(&mut window, SegmentAction::Step);
    act(&mut window, SegmentAction::Rewind(10));
    let status = |window: &Window| window.state.runtime.notices.status.clone();
    let back = "Back at step 10";
    assert!(status(&window).starts_with(back), "{}", status(&window));
    act(&mut window, SegmentAction::Step);
    assert!(live(&window).step > 10);
    assert!(!status(&window).contains(back), "{}", status(&window));
}

/// The number of sampled voxels is shown as long as target and tolerance come from them.
fn overridden() {
    let mut window = opened(image());
    let shown = |window: &Window| window.state.sample_of_target().map_or(0, |s| s.count());
    sample(&mut window);
    let sampled = shown(&window);
    assert!(sampled > 0);
    set(&mut window, Phase::Done, |s| s.params.tolerance *= 0.5);
    assert_eq!(shown(&window), 0);
    window.act(Action::Undo);
    assert_eq!(shown(&window), sampled);
}

/// The task shows its image, which is neither a step to undo nor a change to save.
fn visited() {
    let mut window = Window::new();
    let file = super::file("/data/t1.nii.gz", Loaded::Image(image()));
    window.act(Action::Event(file));
    let shown = window.state.document.layers.last().expect("a layer");
    let (layer, display) = (shown.id, shown.display.clone());
    let display = Display {
        visible: false,
        ..display
    };
    window.act(Action::Layer(LayerAction::SetDisplay {
        layer,
        display,
        phase: Phase::Done,
    }));
    let name = "head".to_owned();
    window.act(Action::Layer(LayerAction::Rename { layer, name }));
    let work = |window: &Window| {
        let undo = window.state.history.undo_label().map(str::to_owned);
        (window.state.history.revision(), undo)
    };
    let before = work(&window);
    let eye = |window: &Window| {
        window
            .state
            .document
            .layer(layer)
            .expect("found")
            .display
            .visible
    };
    let look = |window: &mut Window, task: Task| {
        window.act(Action::View(ViewAction::SelectTask(task)));
        let layer = window.state.document.layer(layer).expect("found");
        (
            window.state.shows(layer),
            scene::images(&window.state).len(),
        )
    };
    // Segment shows its image; the other tasks show what they showed before.
    assert_eq!(look(&mut window, Task::Segment), (true, 1));
    assert_eq!(look(&mut window, Task::View), (false, 0));
    assert_eq!(look(&mut window, Task::Segment), (true, 1));
    assert_eq!(work(&window), before);
    assert!(!eye(&window));
    // The user decides from then on, as a step that can be undone.
    let show = |window: &mut Window, visible: bool| {
        window.act(Action::Layer(LayerAction::Show { layer, visible }));
        let layer = window.state.document.layer(layer).expect("found");
        window.state.shows(layer)
    };
    assert!(!show(&mut window, false));
    assert_eq!(look(&mut window, Task::View).1, 0);
    assert_eq!(look(&mut window, Task::Segment).1, 0);
    window.act(Action::Undo);
    assert_eq!(look(&mut window, Task::Segment), (true, 1));
    // So is a step from before the visit, which leaves the image in sight.
    assert!(window.state.document.layer_named("head").is_some());
    window.act(Action::Undo);
    assert!(window.state.document.layer_named("t1").is_some());
    assert_eq!(look(&mut window, Task::Segment), (true, 1));
    assert!(!eye(&window));
}

/// An image chosen in Segment is shown there; the eyes of the layers stay as they are until the user sets one.
fn chosen() {
    let mut window = opened(image());
    let second = super::file("/data/t2.nii.gz", Loaded::Image(image()));
    window.act(Action::Event(second));
    let names = ["t1", "t2"];
    let [first, second] = names.map(|name| window.state.document.layer_named(name).expect(name).id);
    window.act(Action::Layer(LayerAction::ShowOnly(second)));
    let shown = |window: &Window| {
        let layers = window.state.document.layers.iter();
        let shown = layers.filter(|l| window.state.shows(l)).map(|l| l.id);
        shown.collect::<Vec<_>>()
    };
    assert_eq!(shown(&window), [second]);
    act(&mut window, SegmentAction::Image(first));
    assert_eq!(shown(&window), [first]);
    window.act(Action::Undo);
    assert_eq!(shown(&window), [second]);
    window.act(Action::Redo);
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    assert_eq!(shown(&window), [second]);
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    let (layer, visible) = (second, true);
    window.act(Action::Layer(LayerAction::Show { layer, visible }));
    assert_eq!(shown(&window), [first, second]);
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    assert_eq!(shown(&window), [first, second]);
}

/// The methods paragraph gives the volume inside the surface with the step that it belongs to.
fn methods() {
    let mut window = ready();
    act(&mut window, SegmentAction::Step);
    let text = |window: &Window| arcuate::state::methods::methods(&window.state);
    for _ in 0..2 {
        let text = text(&window);
        assert!(text.contains("After 10 steps, its surface of "), "{text}");
        assert!(text.contains(" ml."), "{text}");
        act(&mut window, SegmentAction::Keep);
    }
}

/// A label map of all structures holds each of them, and the volume is that of its voxels.
fn exported() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    advance(&mut window, 100);
    act(&mut window, SegmentAction::Keep);
    let layer = window.state.document.layers.last().expect("kept").clone();
    let Content::Mask(mask) = &layer.content else {
        panic!("a mask");
    };
    let ml = format!("{:.2}\u{202f}ml", mask.volume_ml());
    let status = window.state.runtime.notices.status.clone();
    let cleared = "cleared its 1 sphere: undo restores them";
    assert_eq!(status, format!("Kept {ml} as a mask and {cleared}"));
    let lost = |window: &Window| {
        let parts = window.state.unsaved();
        let is = |part: &UnsavedPart| matches!(part, UnsavedPart::Layer { layer: l, .. } if *l == layer.id);
        parts.iter().find(|part| is(part)).map(UnsavedPart::label)
    };
    let before = lost(&window).expect("in no file");
    assert!(before.ends_with(&ml), "{before}");
    let path = folder.path().join("all.nii.gz");
    let file = SegmentFile::Structures;
    act(&mut window, SegmentAction::Save { file, path });
    assert_eq!(lost(&window), None);
}

/// The sample disappears and returns with target and tolerance.
fn unsampled() {
    let mut window = opened(image());
    let count = |window: &Window| window.state.segment_sample().map_or(0, |s| s.count());
    let values = |window: &Window| {
        let params = &window.state.document.segment.settings.params;
        (params.target, params.tolerance)
    };
    let before = values(&window);
    sample(&mut window);
    let (sampled, found) = (count(&window), values(&window));
    assert!(sampled > 0 && found != before);
    window.act(Action::Undo);
    assert_eq!((count(&window), values(&window)), (0, before));
    let message = window.state.runtime.notices.status.clone();
    let begin = "Undone: sample (Target T ";
    assert!(message.starts_with(begin), "{message}");
    window.act(Action::Redo);
    assert_eq!((count(&window), values(&window)), (sampled, found));
    // Sampled again after the undo, it contains only these voxels.
    window.act(Action::Undo);
    sample(&mut window);
    assert_eq!(count(&window), sampled);
    set(&mut window, Phase::Done, |s| s.params.tolerance *= 0.5);
    window.act(Action::Undo);
    let message = window.state.runtime.notices.status.clone();
    let begin = "Undone: surface parameters (Tolerance ε ";
    assert!(message.starts_with(begin), "{message}");
    assert_eq!(count(&window), sampled);
}

/// A tolerance that includes the sample's surroundings is doubted while the target is that of the sample.
fn doubted() {
    let mut window = ready();
    assert_eq!(window.state.range_doubt(), None);
    set(&mut window, Phase::Done, |s| s.params.tolerance = 90.0);
    let takes_in = |window: &Window| {
        matches!(
            window.state.range_doubt(),
            Some(RangeDoubt::TakesIn(value)) if value.is_finite()
        )
    };
    // The surroundings have a uniform value, up to the border of the image.
    let air = Some(RangeDoubt::Background);
    assert!(takes_in(&window) || window.state.range_doubt() == air);
    set(&mut window, Phase::Done, |s| s.params.target -= 1.0);
    assert!(!takes_in(&window));
    window.act(Action::Undo);
    assert!(takes_in(&window) || window.state.range_doubt() == air);
    set(&mut window, Phase::Done, |s| s.params.tolerance = 30.0);
    assert_eq!(window.state.range_doubt(), None);
}

/// At rest, a black sphere, then continued: the cut-away part stays away until the sphere is undone.
fn cut_away() {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    advance(&mut window, 100);
    let place = dvec3(8.0, 0.0, 0.0);
    let inside = |window: &Window| {
        let mask = live(window).mask.clone().expect("at rest");
        let ball = Shape::Sphere {
            centre: place,
            radius_mm: 4.0,
        };
        let ball = ball.mask_on(&mask.grid);
        let both = ball
            .voxels_inside()
            .filter(|v| mask.inside[mask.grid.index(*v)] != 0);
        both.count()
    };
    let before = inside(&window);
    assert!(before > 20, "{before}");
    sphere(&mut window, false, place, 4.0);
    assert_eq!(inside(&window), 0);
    advance(&mut window, 100);
    assert_eq!(inside(&window), 0, "it grew back");
    let text = arcuate::state::methods::methods(&window.state);
    assert!(text.contains("keeps out of"), "{text}");
    let number = window.state.document.segment.spheres[1].0;
    act(&mut window, SegmentAction::TakeBack(number));
    assert_eq!(live(&window).step, 100, "back to before the cut");
    assert_eq!(inside(&window), before);
    window.act(Action::Undo);
    assert_eq!(inside(&window), 0, "cut away once more");
    advance(&mut window, 60);
    assert_eq!(inside(&window), 0);
}

/// A window whose run has come to step 20, with a second sphere from step 10 on.
fn two_spheres() -> Window {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    act(&mut window, SegmentAction::Step);
    sphere(&mut window, true, dvec3(8.0, 0.0, 0.0), 4.0);
    act(&mut window, SegmentAction::Step);
    assert_eq!((live(&window).step, spheres(&window)), (20, 2));
    window
}

fn spheres(window: &Window) -> usize {
    window.state.document.segment.spheres.len()
}

/// The answer to a request from before an undo comes after it: it changes nothing, and the surface is out of date until
/// that of the undo comes.
fn late() {
    let mut window = two_spheres();
    window.holding = true;
    act(&mut window, SegmentAction::Step);
    assert_eq!(window.state.rewind_target(), None);
    window.act(Action::Undo);
    let waits = |window: &Window| {
        let target = window.state.rewind_target();
        (live(window).step, spheres(window), target)
    };
    assert_eq!(waits(&window), (20, 1, Some(10)));
    let mut answers = std::mem::take(&mut window.pending);
    assert_eq!(answers.len(), 2);
    window.act(Action::Event(answers.remove(0)));
    assert_eq!(waits(&window), (20, 1, Some(10)));
    assert!(window.state.runtime.segment.running);
    window.act(Action::Event(answers.remove(0)));
    assert_eq!(waits(&window), (10, 1, None));
    assert_eq!(live(&window).spheres.len(), 1);
    assert!(!window.state.runtime.segment.running);
}

/// A run that ends because its task is left does not restore spheres that were undone in between.
fn cancelled() {
    let mut window = two_spheres();
    window.holding = true;
    act(&mut window, SegmentAction::Step);
    window.act(Action::View(ViewAction::SelectTask(Task::View)));
    window.act(Action::Undo);
    assert_eq!(spheres(&window), 1);
    let mut answer = window.pending.pop().expect("an answer");
    *answer.outcome_mut::<RunRequest>().expect("of a run") = Outcome::Cancelled;
    window.act(Action::Event(answer));
    assert_eq!(spheres(&window), 1);
    // The undone part is gone from the surface as soon as the task is shown.
    window.holding = false;
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    assert_eq!((live(&window).step, live(&window).spheres.len()), (10, 1));
}

/// A cut at the step from which a wide range then lets the surface leak.
fn cut_before_leak() {
    let mut window = ready();
    act(&mut window, SegmentAction::Play);
    let rests = live(&window).step;
    let range = window.state.document.segment.settings.params.tolerance;
    act(&mut window, SegmentAction::Pause);
    sphere(&mut window, false, dvec3(6.0, 0.0, 0.0), 2.0);
    set(&mut window, Phase::Done, |s| s.params.tolerance = 95.0);
    act(&mut window, SegmentAction::Play);
    let leaked = live(&window).leak.expect("a leak");
    assert_eq!(leaked.leak.rewind_step, rests, "{leaked:?}");
    act(&mut window, SegmentAction::Rewind(rests));
    let segmentation = &window.state.document.segment;
    assert_eq!(segmentation.settings.params.tolerance, range);
    assert!(segmentation.spheres.iter().any(|(_, sphere)| !sphere.add));
    assert_eq!(live(&window).step, rests);
    let field = live(&window).spheres.iter();
    assert!(
        field.clone().any(|(_, sphere)| !sphere.add),
        "and in the run"
    );
}

fn looked_at() {
    let steers = |window: &Window| {
        let jobs = window.submitted.iter();
        jobs.filter(|job| job.job::<RunRequest>().is_some()).count()
    };
    let mut window = ready();
    let count = steers(&window);
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ONE)));
    assert_eq!(steers(&window), count, "the crosshair requests nothing");
    window.act(Action::View(ViewAction::SelectTask(Task::View)));
    set(&mut window, Phase::Done, |s| s.params.smoothness = 0.7);
    assert_eq!(steers(&window), count, "its task is not shown");
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    assert_eq!(steers(&window), count + 1);
    assert!(window.state.runtime.segment.speed.is_none());
    set(&mut window, Phase::Done, |s| s.speed_opacity = 0.4);
    let speed = window.state.runtime.segment.speed.clone().expect("speeds");
    let params = &window.state.document.segment.settings.params;
    let at = speed.nearest(0, DVec3::ZERO).expect("inside");
    assert!(at.abs() <= params.advection() + 1e-6);
    let outside = speed
        .nearest(0, DVec3::splat(18.0))
        .expect("inside the image");
    assert_eq!(
        outside,
        -params.advection(),
        "far from the target it shrinks"
    );
    // A surface at rest continues for new speeds and on request, not for another display setting.
    set(&mut window, Phase::Done, |s| {
        (s.params.tolerance, s.params.smoothness) = (20.0, 0.15)
    });
    act(&mut window, SegmentAction::Play);
    let (rested, ended) = (live(&window).step, live(&window).ended);
    assert_eq!(ended, Ended::Converged);
    set(&mut window, Phase::Done, |s| s.speed_opacity = 0.0);
    set(&mut window, Phase::Done, |s| s.watched = false);
    assert_eq!((live(&window).step, live(&window).ended), (rested, ended));
    act(&mut window, SegmentAction::Play);
    let looked_again = live(&window).step;
    assert!(looked_again > rested, "{looked_again} after {rested}");
    set(&mut window, Phase::Done, |s| s.params.smoothness = 0.5);
    assert!(live(&window).step > looked_again);
}
