//! The note that a surface vanished: its advice, and its end.

use super::segment::{act, advance, live, messages, ready, set};
use super::{Window, file};
use crate::support::test;
use arcuate::solvers::level_set::Ended;
use arcuate::state::segment::{SegmentAction, SizeDoubt};
use arcuate::state::{Action, Phase, Task};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::segment::the_note_about_the_end_disappears", ends),
        test("update::segment::the_note_about_the_end_stays", stays),
        test("update::segment::much_growth_is_noted", too_large),
        test("update::segment::an_image_that_comes_later_is_shown", later),
    ]
}

fn vanished() -> Window {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| {
        (s.params.target, s.params.tolerance) = (1000.0, 1.0)
    });
    advance(&mut window, 400);
    assert_eq!(live(&window).ended, Ended::Vanished);
    assert!(messages(&window).contains("widen the tolerance"));
    window
}

/// A surface that has become many times as large without a change is noted at rest and after many steps; not if it is
/// hardly larger.
fn too_large() {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    act(&mut window, SegmentAction::Step);
    let is_noted = |window: &mut Window, step: u64, [before, inside]: [u64; 2], growth: f64| {
        let live = window.state.runtime.segment.live.as_mut();
        let live = Arc::make_mut(live.expect("a surface"));
        live.ended = Ended::Steps;
        live.growth = vec![(0, before), (step / 2, before), (step, inside)];
        (live.step, live.inside, live.recent_growth) = (step, inside, Some(growth));
        window.state.surface_size_doubt() == Some(SizeDoubt::Larger)
    };
    assert!(is_noted(&mut window, 1000, [501, 50_000], 0.1));
    assert!(!is_noted(&mut window, 400, [501, 50_000], 0.1), "too early");
    let slow = is_noted(&mut window, 1000, [501, 50_000], 0.005);
    assert!(slow, "one that has nearly stopped is as large");
    let little = is_noted(&mut window, 1000, [500, 3_000], 0.1);
    assert!(!little, "it is hardly larger");
    assert!(is_noted(&mut window, 1000, [501, 50_000], 0.1));
    let live = window.state.runtime.segment.live.as_mut();
    let live = Arc::make_mut(live.expect("a surface"));
    (live.ended, live.recent_growth) = (Ended::Converged, Some(0.0));
    let doubt = window.state.surface_size_doubt();
    assert_eq!(doubt, Some(SizeDoubt::Larger), "at rest");
    let live = window.state.runtime.segment.live.as_mut();
    Arc::make_mut(live.expect("a surface")).inside = 3_000;
    let doubt = window.state.surface_size_doubt();
    assert_eq!(doubt, None, "at rest, hardly larger");
    // A hundred times its start and 50 ml: at once, whatever the growth.
    assert!(!is_noted(&mut window, 100, [500, 50_000], 0.0));
    let doubt = window.state.surface_size_doubt();
    assert_eq!(doubt, Some(SizeDoubt::FarLarger));
    assert!(window.state.segmented_ml(50_000) >= 30.0);
    // A hundred times its start, but small.
    assert!(!is_noted(&mut window, 100, [5, 500], 0.0));
    assert_eq!(window.state.surface_size_doubt(), None);
}

fn ends() {
    // Another range: the advice was about the one before.
    let mut window = vanished();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 2.0);
    assert!(
        !messages(&window).contains("vanished"),
        "{}",
        messages(&window)
    );
    // The surface is back at an earlier step.
    let mut window = vanished();
    act(&mut window, SegmentAction::Rewind(0));
    assert!(
        !messages(&window).contains("vanished"),
        "{}",
        messages(&window)
    );
}

/// The advice is shown exactly while no surface can move, also after undo and redo.
fn stays() {
    let mut window = vanished();
    let vanished = |window: &Window| messages(window).matches("The surface vanished").count();
    // Another request of the same run: the speeds are drawn.
    set(&mut window, Phase::Done, |s| s.speed_opacity = 0.4);
    assert_eq!(vanished(&window), 1);
    window.act(Action::Undo);
    assert_eq!(vanished(&window), 1);
    window.act(Action::Undo);
    assert_eq!(vanished(&window), 0, "another range");
    window.act(Action::Redo);
    assert_eq!(vanished(&window), 1, "the range again");
    // A dismissed one stays away until the surface has vanished again.
    let messages = &window.state.runtime.notices.messages;
    let at = messages.iter().position(|m| m.text.contains("vanished"));
    window.act(Action::DismissMessage(at.expect("a message")));
    set(&mut window, Phase::Done, |s| s.speed_opacity = 0.2);
    assert_eq!(vanished(&window), 0);
    act(&mut window, SegmentAction::Rewind(0));
    advance(&mut window, 400);
    assert_eq!(live(&window).ended, Ended::Vanished);
    assert_eq!(vanished(&window), 1);
}

/// A file that is opened while the task is shown: its image is chosen, as if it had been there before.
fn later() {
    use arcuate::state::ViewAction;
    use arcuate::state::files::jobs::open::Loaded;
    let mut window = Window::new();
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    let image = Loaded::Image(super::segment::image());
    window.act(Action::Event(file("/data/t1.nii.gz", image)));
    let layer = window.state.document.layer_named("t1").expect("opened").id;
    assert_eq!(window.state.document.segment.image, Some(layer));
}
