//! Another image to segment: undo and redo bring back the surface of each image as it was, and so does a session.

use super::segment::{act, advance, image, live, ready, set, sphere};
use super::{Window, file};
use crate::support::test;
use arcuate::data::Role;
use arcuate::solvers::tensor_fit;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::segment::SegmentAction;
use arcuate::state::segment::jobs::{RunRequest, SEGMENT};
use arcuate::state::sessions::saved;
use arcuate::state::{
    Action, BackendKind, DeviceAction, LayerAction, LayerId, Phase, Task, TensorAction, ViewAction,
};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::segment::another_image_is_undone", chosen),
        test("update::segment::a_deleted_image_comes_back", deleted),
        test("update::segment::a_covered_image_is_shown", covered),
        test("update::segment::the_same_image_changes_nothing", same),
        test(
            "update::segment::two_undos_while_the_surface_is_restored",
            undone_twice,
        ),
        test("update::segment::an_image_is_undone_elsewhere", elsewhere),
        test("update::segment::each_step_keeps_its_surface", each_step),
        test("update::segment::another_fit_is_undone", refitted),
        test(
            "update::segment::steps_while_a_surface_is_restored",
            meanwhile,
        ),
        test("update::segment::a_restoration_is_stopped", stopped),
        test("update::segment::a_rewind_of_a_moving_surface", moving),
        test(
            "update::segment::a_sphere_is_taken_back_in_vain",
            taken_back,
        ),
        test(
            "update::segment::steps_before_the_worker_answers",
            unanswered,
        ),
        test(
            "update::segment::a_step_is_undone_after_a_change_of_backend",
            on_another_backend,
        ),
    ]
}

/// A surface after 30 steps on `t1`, next to another image.
fn grown() -> (Window, [LayerId; 2]) {
    let mut window = ready();
    let other = Loaded::Image(image());
    window.act(Action::Event(file("/data/t2.nii.gz", other)));
    let id = |name: &str| window.state.document.layer_named(name).expect(name).id;
    let ids = [id("t1"), id("t2")];
    act(&mut window, SegmentAction::Image(ids[0]));
    grow(&mut window, 30);
    (window, ids)
}

fn grow(window: &mut Window, steps: u64) {
    set(window, Phase::Done, |s| {
        (s.params.target, s.params.tolerance) = (100.0, 20.0);
        s.target_chosen = true;
    });
    advance(window, steps);
    assert_eq!(live(window).step, steps);
}

/// A choice of the image that is already segmented keeps target, sample and surface, and is not a step to undo.
fn same() {
    let (mut window, [image, _]) = grown();
    let before = window.state.document.segment.clone();
    let (step, inside) = (live(&window).step, live(&window).inside);
    let undoes = window.state.history.undo_label().map(str::to_owned);
    act(&mut window, SegmentAction::Image(image));
    assert_eq!(window.state.document.segment.settings, before.settings);
    assert_eq!(window.state.document.segment.image, before.image);
    assert_eq!((live(&window).step, live(&window).inside), (step, inside));
    let now = window.state.history.undo_label().map(str::to_owned);
    assert_eq!(now, undoes);
}

/// A second undo arrives before the surface of the first one is restored: it is restored all the same, and a copy for
/// recovery that is written meanwhile holds it.
fn undone_twice() {
    let (mut window, _) = grown();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 15.0);
    advance(&mut window, 20);
    let left = surface(&window);
    assert_eq!(left.1, 50);
    window.place(Role::Seed, DVec3::ZERO);
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    act(&mut window, SegmentAction::Rewind(30));
    window.holding = true;
    window.act(Action::Undo);
    assert_eq!(saved_steps(&window), Some(50));
    // A step that does not concern the surface.
    window.act(Action::Undo);
    assert_eq!(saved_steps(&window), Some(50));
    let last = window.jobs_of::<RunRequest>().next_back();
    let resume = last.and_then(|request| request.resume.clone());
    assert_eq!(resume.map(|run| run.script.steps), Some(50));
    window.holding = false;
    window.deliver(|_| {});
    assert_eq!(surface(&window), left);
    assert_eq!(saved_steps(&window), Some(50));
    // A surface that is cleared meanwhile is not restored.
    act(&mut window, SegmentAction::Rewind(30));
    window.holding = true;
    window.act(Action::Undo);
    act(&mut window, SegmentAction::Clear);
    assert_eq!(saved_steps(&window), None);
    window.holding = false;
    window.deliver(|_| {});
    assert!(window.state.runtime.segment.live.is_none());
}

/// Segment shows its image in place of an opaque one above it; an overlay covers nothing.
fn covered() {
    let (mut window, [lower, upper]) = grown();
    let shown = |window: &Window, id| {
        let layer = window.state.document.layer(id).expect("a layer");
        window.state.shows(layer)
    };
    assert!(shown(&window, lower) && !shown(&window, upper));
    act(&mut window, SegmentAction::Image(upper));
    assert!(shown(&window, upper));
    let document = &mut window.state.document;
    document.edit_layer(upper, |layer| layer.display.opacity = 0.5);
    act(&mut window, SegmentAction::Image(lower));
    assert!(shown(&window, lower) && shown(&window, upper));
    window.act(Action::View(ViewAction::SelectTask(Task::View)));
    assert!(shown(&window, lower) && shown(&window, upper));
    // An image that is opened above it covers it in other tasks only.
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    window.act(Action::Event(file(
        "/data/t3.nii.gz",
        Loaded::Image(image()),
    )));
    let opened = window.state.document.layer_named("t3").expect("opened").id;
    assert!(shown(&window, lower) && !shown(&window, opened));
    let status = window.state.runtime.notices.status.to_string();
    assert_eq!(
        status,
        "Opened t3; Segment still shows t1, the image to segment"
    );
    window.act(Action::View(ViewAction::SelectTask(Task::View)));
    assert!(shown(&window, opened));
}

/// Image, steps and voxels of the surface.
fn surface(window: &Window) -> (Option<LayerId>, u64, Vec<u8>) {
    let inside = &live(window).mask.as_ref().expect("at rest").inside;
    let image = window.state.document.segment.image;
    (image, live(window).step, inside.to_vec())
}

fn saved_steps(window: &Window) -> Option<u64> {
    let content = saved::draft(&window.state).content.value();
    content["document"]["segment"]["run"]["script"]["steps"].as_u64()
}

fn chosen() {
    let (mut window, [first, second]) = grown();
    let on_first = surface(&window);
    act(&mut window, SegmentAction::Image(second));
    assert_eq!(live(&window).step, 0);
    let status = window.state.runtime.notices.status.to_string();
    assert_eq!(
        status,
        "The surface starts again in t2; undo restores the one in t1 at step 30"
    );
    assert_eq!(window.state.runtime.segment.plotted.earlier_runs, []);
    window.act(Action::Undo);
    assert_eq!(surface(&window), on_first);
    assert_eq!(on_first.0, Some(first));
    assert_eq!(saved_steps(&window), Some(30));
    window.act(Action::Redo);
    assert_eq!(live(&window).step, 0);
    // Undo and redo bring back both surfaces.
    grow(&mut window, 20);
    let on_second = surface(&window);
    assert_eq!(saved_steps(&window), Some(20));
    for _ in 0..2 {
        // The values, then the image.
        window.act(Action::Undo);
        window.act(Action::Undo);
        assert_eq!(surface(&window), on_first);
        window.act(Action::Redo);
        window.act(Action::Redo);
        assert_eq!(surface(&window), on_second);
    }
    act(&mut window, SegmentAction::Image(first));
    window.act(Action::Undo);
    assert_eq!(surface(&window), on_second);
    assert_eq!(on_second.0, Some(second));
}

fn deleted() {
    let (mut window, [first, second]) = grown();
    let on_first = surface(&window);
    window.act(Action::Layer(LayerAction::Delete(first)));
    assert_eq!(live(&window).step, 0);
    let image = window.state.document.segmented_image();
    assert_eq!(image.map(|(layer, _)| layer.id), Some(second));
    window.act(Action::Undo);
    assert_eq!(surface(&window), on_first);
}

/// The image is undone while another task is shown, which shows no surface: a save in between stores the surface of the
/// image that the document names.
fn elsewhere() {
    let (mut window, [_, second]) = grown();
    let on_first = surface(&window);
    act(&mut window, SegmentAction::Image(second));
    grow(&mut window, 20);
    let select = |task| Action::View(ViewAction::SelectTask(task));
    window.act(select(Task::View));
    window.act(Action::Undo);
    window.act(Action::Undo);
    assert_eq!(saved_steps(&window), Some(30));
    window.act(select(Task::Segment));
    assert_eq!(surface(&window), on_first);
}

/// Each step that changes the motion keeps its surface, whatever the order of undo and redo; a step that does not concern
/// the surface leaves it as it is.
fn each_step() {
    let (mut window, _) = grown();
    let mut surfaces = vec![surface(&window)];
    for tolerance in [15.0, 25.0] {
        set(&mut window, Phase::Done, |s| s.params.tolerance = tolerance);
        advance(&mut window, 20);
        surfaces.push(surface(&window));
    }
    assert_eq!(surfaces[2].1, 70);
    for at in [1, 0] {
        window.act(Action::Undo);
        assert_eq!(surface(&window), surfaces[at]);
    }
    for after in &surfaces[1..] {
        window.act(Action::Redo);
        assert_eq!(surface(&window), *after);
    }
    // Cleared, undone, redone, undone.
    act(&mut window, SegmentAction::Clear);
    for _ in 0..2 {
        assert!(window.state.runtime.segment.live.is_none());
        window.act(Action::Undo);
        assert_eq!(surface(&window), surfaces[2]);
        window.act(Action::Redo);
    }
    window.act(Action::Undo);
    // A region is not part of the motion.
    window.place(Role::Seed, DVec3::ZERO);
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    advance(&mut window, 10);
    let grown = surface(&window);
    window.act(Action::Undo);
    assert_eq!(surface(&window), grown);
    // Down to a document without a surface, and back.
    let mut steps = 0;
    while window.state.runtime.segment.live.is_some() {
        window.act(Action::Undo);
        steps += 1;
    }
    for _ in 0..steps {
        window.act(Action::Redo);
    }
    assert_eq!(surface(&window), grown);
}

/// The surface is restored on the new backend although the history step that follows holds none.
fn on_another_backend() {
    let (mut window, _) = grown();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 15.0);
    advance(&mut window, 20);
    let before = surface(&window);
    let select = |task| Action::View(ViewAction::SelectTask(task));
    window.place(Role::Seed, DVec3::ZERO);
    window.act(select(Task::View));
    window.act(Action::Device(DeviceAction::Choose(BackendKind::Cpu)));
    window.act(Action::Undo);
    assert_eq!(saved_steps(&window), Some(50));
    window.act(select(Task::Segment));
    assert_eq!(surface(&window), before);
    // While it is restored in Segment, too.
    window.act(Action::Redo);
    window.act(Action::Device(DeviceAction::Choose(BackendKind::Cpu)));
    window.act(Action::Undo);
    assert_eq!(surface(&window), before);
}

/// A surface on a map of the fit: another fit replaces the map, and undo brings back map and surface.
fn refitted() {
    let mut window = Window::fitted();
    let select = |task| Action::View(ViewAction::SelectTask(task));
    window.act(select(Task::Segment));
    let fa = window.state.document.layer_named("FA").expect("FA").id;
    act(&mut window, SegmentAction::Image(fa));
    set(&mut window, Phase::Done, |s| {
        (s.params.target, s.params.tolerance) = (0.8, 0.3);
        s.target_chosen = true;
    });
    sphere(&mut window, true, DVec3::ZERO, 6.0);
    advance(&mut window, 20);
    let before = surface(&window);
    assert_eq!(before.1, 20);
    window.act(select(Task::Track));
    let params = tensor_fit::Params {
        method: tensor_fit::Method::Ols,
        ..window.state.document.fit.clone()
    };
    assert_ne!(params, window.state.document.fit);
    window.act(Action::Tensors(TensorAction::SetFit { params }));
    // A step that has nothing to do with it.
    window.place(Role::Seed, DVec3::ZERO);
    window.act(select(Task::Segment));
    assert_eq!(live(&window).step, 0, "another image");
    window.act(Action::Undo);
    window.act(Action::Undo);
    assert_eq!(surface(&window), before);
}

/// A step that is recorded while a surface is due does not take it back later.
fn meanwhile() {
    let (mut window, _) = grown();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 15.0);
    let select = |task| Action::View(ViewAction::SelectTask(task));
    window.act(select(Task::Track));
    window.act(Action::Undo);
    window.place(Role::Seed, DVec3::ZERO);
    window.act(select(Task::Segment));
    assert_eq!(live(&window).step, 30);
    advance(&mut window, 20);
    let later = surface(&window);
    assert_eq!(later.1, 50);
    window.act(Action::Undo);
    assert!(window.state.document.regions.is_empty());
    assert_eq!(surface(&window), later);
    window.act(Action::Redo);
    assert_eq!(surface(&window), later);
}

/// Spheres that are placed before the worker has answered: undo of the last one gives the same surface as if it had.
fn unanswered() {
    let surfaces = [false, true].map(|holds| {
        let (mut window, _) = grown();
        window.holding = holds;
        sphere(&mut window, true, dvec3(8.0, 0.0, 0.0), 4.0);
        sphere(&mut window, true, dvec3(-8.0, 0.0, 0.0), 4.0);
        window.act(Action::Undo);
        window.holding = false;
        window.deliver(|_| {});
        assert_eq!(live(&window).spheres.len(), 2);
        surface(&window)
    });
    assert_eq!(surfaces[0], surfaces[1]);
}

/// Esc while a surface is restored: the one that is still shown is dim and cannot be kept, and the next change restores
/// the other.
fn stopped() {
    let (mut window, _) = grown();
    let before = surface(&window);
    set(&mut window, Phase::Done, |s| s.params.tolerance = 15.0);
    advance(&mut window, 20);
    window.holding = true;
    window.act(Action::Undo);
    window.act(Action::CancelJob(SEGMENT));
    window.holding = false;
    window.pending.clear();
    let status = window.state.runtime.notices.status.to_string();
    assert!(status.starts_with("Stopped before"), "{status}");
    assert_eq!(live(&window).step, 50);
    assert!(window.state.surface_is_stale());
    assert!(window.state.resting_surface().is_none());
    assert_eq!(saved_steps(&window), Some(30));
    set(&mut window, Phase::Done, |s| s.watched = false);
    assert_eq!(surface(&window), before);
}

/// A surface that is asked to go back while it moves: undo brings back the step that it had reached.
fn moving() {
    let (mut window, _) = grown();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 15.0);
    advance(&mut window, 20);
    let before = surface(&window);
    window.holding = true;
    act(&mut window, SegmentAction::Play);
    act(&mut window, SegmentAction::Rewind(30));
    window.act(Action::Undo);
    window.holding = false;
    window.deliver(|_| {});
    assert_eq!(surface(&window), before);
}

/// A sphere is taken back, which is stopped before the surface goes back: undo leaves a surface without it.
fn taken_back() {
    let (mut window, _) = grown();
    let alone = surface(&window);
    sphere(&mut window, true, dvec3(8.0, 0.0, 0.0), 4.0);
    advance(&mut window, 10);
    let (number, _) = window.state.document.segment.spheres[1];
    window.holding = true;
    act(&mut window, SegmentAction::TakeBack(number));
    window.act(Action::CancelJob(SEGMENT));
    assert_eq!(window.state.document.segment.spheres.len(), 2);
    window.holding = false;
    window.pending.clear();
    window.act(Action::Undo);
    assert_eq!(window.state.document.segment.spheres.len(), 1);
    assert_eq!(surface(&window), alone);
}
