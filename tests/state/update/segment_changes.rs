//! Changes of other inputs while the surface moves, and a rewind that the user stops.

mod looks;
mod near;

use super::Window;
use super::segment::{RADIUS_MM, act, live, messages, opened, ready, set, sphere};
use crate::support::test;
use arcuate::data::{Grid, Role, Shape, Volume};
use arcuate::jobs::Outcome;
use arcuate::solvers::level_set::Ended;
use arcuate::solvers::level_set::{ScriptEvent, Sphere};
use arcuate::state::segment::jobs::{CountVoxels, RunRequest, SEGMENT, SaveScript};
use arcuate::state::segment::recipe::SegmentScript;
use arcuate::state::segment::{SegmentAction, SegmentFile, Start, SurfaceStanding};
use arcuate::state::{
    Action, Content, Effect, Layer, LayerId, Phase, RegionAction, RunControl, Task, ViewAction,
};
use arcuate::ui::probe;
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

/// Another image of the same name does not replace the segmented one in the status line.
fn one_name() {
    let mut window = ready();
    window.act(Action::View(ViewAction::MoveCrosshair(dvec3(
        18.0, 18.0, 18.0,
    ))));
    let value = |window: &Window| {
        let all = probe::readings(&window.state);
        let brief = probe::brief_readings(&window.state, &all, 2);
        brief.first().expect("the image").value.clone()
    };
    let before = value(&window);
    let document = &mut window.state.document;
    let (layer, image) = document.segmented_image().expect("an image");
    let (grid, values) = (image.grid.clone(), vec![12_345.0; image.values.len()]);
    let (id, mut other) = (layer.id, Layer::clone(layer));
    other.content = Content::Image(Volume::new(grid, image.frames, image.kind, values));
    other.id = LayerId(document.next_id());
    document.segment.image = Some(id);
    document.layers.push(Arc::new(other));
    assert_eq!(value(&window), before);
}

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("update::segment::speed_regions_are_events", regions),
        test("update::segment::two_images_of_one_name", one_name),
        test("update::segment::a_stopped_rewind", stopped),
        test("update::segment::a_worker_counts_its_voxels", counted),
        test("update::segment::the_camera_comes_to_a_new_surface", camera),
        test("update::segment::a_leak_pauses_and_can_be_undone", leaks),
        test(
            "update::segment::undoing_a_leak_undoes_the_whole_drag",
            drag,
        ),
        test(
            "update::segment::a_sphere_that_is_refused_leaves_no_step",
            refused,
        ),
        test(
            "update::segment::two_spheres_refused_at_once_leave_no_step",
            both_refused,
        ),
        test("update::segment::a_rewind_ends_at_its_step", rewinds),
        test("update::segment::a_reference_leaves_the_measures", measured),
    ];
    let all = own.into_iter().chain(near::tests());
    all.chain(looks::tests()).collect()
}

/// The steps after which the speeds' regions or layer changed, and their numbers.
fn changes(window: &Window) -> Vec<(u64, usize)> {
    let events = live(window).script.events.iter();
    let inputs = events.filter_map(|e| match e.event {
        ScriptEvent::Inputs(number) => Some((e.step, number)),
        _ => None,
    });
    inputs.collect()
}

fn regions() {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    act(&mut window, SegmentAction::Step);
    let region = window.place(Role::Mask, dvec3(16.0, 0.0, 0.0));
    let run = window.state.runtime.segment.run;
    act(&mut window, SegmentAction::Painted(0, Some(region)));
    assert_eq!((live(&window).step, changes(&window).len()), (10, 0));
    // Nothing restarts.
    act(&mut window, SegmentAction::Step);
    assert_eq!((live(&window).step, changes(&window)), (20, vec![(10, 1)]));
    assert_eq!(window.state.runtime.segment.run, run);
    assert_eq!(live(&window).speed_sources.len(), 2);
    // A drag is applied when it ends.
    let requested = |window: &Window| {
        window
            .state
            .runtime
            .segment
            .requested
            .clone()
            .expect("asked")
    };
    let shape = |x: f64| Shape::Sphere {
        centre: dvec3(x, 0.0, 0.0),
        radius_mm: 5.0,
    };
    let before = requested(&window).speed_sources;
    for (x, phase) in [
        (14.0, Phase::Live),
        (13.0, Phase::Live),
        (12.0, Phase::Done),
    ] {
        window.act(Action::Region(RegionAction::SetShape {
            region,
            shape: shape(x),
            phase,
        }));
        assert_eq!(
            requested(&window).speed_sources == before,
            phase == Phase::Live
        );
    }
    act(&mut window, SegmentAction::Step);
    assert_eq!(changes(&window), [(10, 1), (20, 2)]);
    let grown = live(&window).mask.clone().expect("at rest");
    // Undone: it continues with its earlier input, by that input's number.
    window.act(Action::Undo);
    assert_eq!(live(&window).step, 30, "it does not go back");
    act(&mut window, SegmentAction::Step);
    assert_eq!(changes(&window), [(10, 1), (20, 2), (30, 1)]);
    // A layer, with its weight.
    let image = window.state.document.layers[0].id;
    act(&mut window, SegmentAction::SpeedLayer(Some(image)));
    act(&mut window, SegmentAction::Step);
    act(&mut window, SegmentAction::SpeedLayer(None));
    act(&mut window, SegmentAction::Step);
    assert_eq!(messages(&window), "");
    let script = live(&window).script.clone();
    assert_eq!(changes(&window)[3..], [(40, 3), (50, 1)]);
    assert_eq!(script.events.len(), 7);
    // The script in a file: its initial inputs, and the later ones.
    let path = std::path::PathBuf::from("/nowhere/at/all/run.json");
    let file = SegmentFile::Script;
    act(&mut window, SegmentAction::Save { file, path });
    let mut jobs = window.submitted.iter().rev();
    let text = jobs.find_map(|job| Some(job.job::<SaveScript>()?.text.clone()));
    let written: SegmentScript = serde_json::from_str(&text.expect("requested")).expect("a script");
    assert_eq!((written.run.clone(), written.later.len()), (script, 3));
    assert!(written.grow_here.is_empty() && written.layer.is_none());
    assert_eq!(written.later[1].grow_here[0].to_string(), "sphere:12,0,0,5");
    assert_eq!(
        written.later[2].layer.as_deref(),
        Some("/data/t1.nii.gz".as_ref())
    );
    // Back to where the region was for ten steps.
    act(&mut window, SegmentAction::Rewind(30));
    assert_eq!(changes(&window), [(10, 1), (20, 2)]);
    assert_eq!(
        live(&window).mask.as_ref().expect("at rest").inside,
        grown.inside
    );
    // At the start it is not a change.
    act(&mut window, SegmentAction::Rewind(0));
    act(&mut window, SegmentAction::Step);
    assert!(changes(&window).is_empty() && live(&window).speed_sources.len() == 1);
    let methods = arcuate::state::methods::methods(&window.state);
    assert!(!methods.contains("give a speed were changed"), "{methods}");
}

/// Esc during a rewind: nothing is requested again, and the spheres are those of the surface.
fn stopped() {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    act(&mut window, SegmentAction::Step);
    sphere(&mut window, false, dvec3(4.0, 0.0, 0.0), 3.0);
    act(&mut window, SegmentAction::Step);
    let spheres = window.state.document.segment.spheres.clone();
    let requested = |window: &Window| {
        let mut jobs = window.submitted.iter().rev();
        let last = jobs.find_map(|job| job.job::<RunRequest>());
        last.expect("a run").clone()
    };
    for way in [
        Action::Segment(SegmentAction::Rewind(5)),
        Action::Segment(SegmentAction::TakeBack(spheres[1].0)),
    ] {
        let before = live(&window).clone();
        let left = window.state.runtime.segment.plotted.earlier_runs.len();
        // The answer has not come.
        let effects = arcuate::state::update(&mut window.state, way);
        let steers = |e: &Effect| e.job::<RunRequest>().is_some();
        assert!(effects.iter().any(steers), "{effects:?}");
        assert_eq!(window.state.document.segment.spheres.len(), 1);
        window.act(Action::CancelJob(SEGMENT));
        assert_eq!(window.state.document.segment.spheres, spheres);
        assert_eq!(
            window.state.runtime.segment.plotted.earlier_runs.len(),
            left
        );
        let requested = requested(&window);
        let rewinding = requested.rewind.filter(|b| b.number > before.last_rewind);
        assert!(
            rewinding.is_none_or(|back| back.step > before.step),
            "{rewinding:?}"
        );
        let now = live(&window);
        assert_eq!((now.step, &now.script), (before.step, &before.script));
        assert_eq!(
            now.mask.as_ref().expect("at rest").inside,
            before.mask.as_ref().expect("at rest").inside
        );
    }
    // It goes there on the next request.
    act(&mut window, SegmentAction::Rewind(5));
    assert_eq!(
        (
            live(&window).step,
            window.state.document.segment.spheres.len()
        ),
        (5, 1)
    );
}

/// A worker counts the surface's initial voxels: choices made meanwhile remain.
fn counted() {
    let mut window = ready();
    let region = window.place(Role::Seed, dvec3(2.0, 2.0, 2.0));
    let action = Action::Segment(SegmentAction::StartFromRegion(region));
    let effects = arcuate::state::update(&mut window.state, action);
    let work = effects.iter().find_map(|e| e.job::<CountVoxels>().cloned());
    let job = window.jobs.submit(work.expect("work for a worker"));
    let counted = window.jobs.wait(&job, |_| {});
    let (low, high) = (80.0, 120.0);
    act(
        &mut window,
        SegmentAction::Start(Start::Values { low, high }),
    );
    window.act(Action::Event(counted));
    assert!(matches!(
        window.state.document.segment.start,
        Start::Values { .. }
    ));
}

/// A range that contains the ball, then one that contains everything.
fn leaks() {
    let mut window = ready();
    act(&mut window, SegmentAction::Play);
    assert_eq!(
        window.state.segment_standing(),
        Some(SurfaceStanding::Converged),
        "{:?}",
        live(&window).ended
    );
    assert!(live(&window).leak.is_none());
    let (rests, inside) = (live(&window).step, live(&window).inside);
    let range = window.state.document.segment.settings.params.tolerance;
    for _ in 0..2 {
        // A surface at rest continues by itself, also one that has gone back to that step.
        set(&mut window, Phase::Done, |s| s.params.tolerance = 95.0);
        assert_eq!(
            window.state.segment_standing(),
            Some(SurfaceStanding::Leaked)
        );
        assert_eq!(
            window.state.runtime.segment.play,
            RunControl::Rest,
            "it is paused"
        );
        let leaked = live(&window).leak.expect("a leak");
        assert_eq!(leaked.leak.rewind_step, rests, "{leaked:?}");
        let voxel_ml = 1.5f64.powi(3) * 1e-3;
        assert!(
            (leaked.before_ml - inside as f64 * voxel_ml).abs() < 1e-6,
            "{leaked:?}"
        );
        let at = leaked.at.expect("a place");
        assert!(at.length() > RADIUS_MM - 3.0, "{at}");
        assert_eq!(window.state.runtime.segment.earlier(), rests);
        // Back to before it, and the leak detector is armed as it was.
        act(&mut window, SegmentAction::Rewind(leaked.leak.rewind_step));
        set(&mut window, Phase::Done, |s| s.params.tolerance = range);
        assert_eq!((live(&window).step, live(&window).inside), (rests, inside));
        assert!(live(&window).leak.is_none());
        assert_eq!(live(&window).ended, Ended::Converged);
    }
    // When the user continues, the run continues.
    set(&mut window, Phase::Done, |s| s.params.tolerance = 95.0);
    act(&mut window, SegmentAction::Play);
    let leaked = live(&window).step;
    act(&mut window, SegmentAction::Step);
    assert!(live(&window).step > leaked, "{:?}", live(&window).ended);
}

/// Values of a drag are events if the surface moves meanwhile: the rewind leads to none of them.
fn drag() {
    let mut window = ready();
    act(&mut window, SegmentAction::Play);
    assert_eq!(
        window.state.segment_standing(),
        Some(SurfaceStanding::Converged)
    );
    let (rests, inside) = (live(&window).step, live(&window).inside);
    let tolerance = |window: &Window| window.state.document.segment.settings.params.tolerance;
    let range = tolerance(&window);
    for undone in [false, true] {
        // It waits for the steps of this test.
        act(&mut window, SegmentAction::Pause);
        for more in [0.25, 0.5] {
            let phase = Phase::Live;
            set(&mut window, phase, |s| s.params.tolerance = range + more);
            act(&mut window, SegmentAction::Step);
        }
        set(&mut window, Phase::Done, |s| s.params.tolerance = 95.0);
        act(&mut window, SegmentAction::Play);
        assert_eq!(
            window.state.segment_standing(),
            Some(SurfaceStanding::Leaked)
        );
        let events = &live(&window).script.events;
        let steps: Vec<u64> = events.iter().map(|e| e.step).collect();
        assert_eq!((steps.len(), steps[0]), (3, rests));
        let leaked = live(&window).leak.expect("a leak");
        assert_eq!(leaked.leak.rewind_step, rests, "{leaked:?}");
        if undone {
            window.act(Action::Undo);
        }
        act(&mut window, SegmentAction::Rewind(leaked.leak.rewind_step));
        assert_eq!((live(&window).step, live(&window).inside), (rests, inside));
        assert_eq!(tolerance(&window), range, "{undone}");
    }
}

/// The surface begins far from the middle of a large image.
fn camera() {
    let grid = Grid::axis_aligned([100; 3], DVec3::splat(2.5), DVec3::splat(-123.75));
    let grid = grid.expect("a grid");
    let at = dvec3(70.0, -40.0, 30.0);
    let value = |i: usize| {
        let voxel = DVec3::from_array(grid.voxel(i).map(|v| v as f64));
        let near = grid.world(voxel).distance(at) < 20.0;
        if near { 100.0 } else { 20.0f32 }
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    let mut window = opened(Volume::scalar(Arc::new(grid), values));
    window.act(Action::View(ViewAction::FrameAll));
    let all = window.state.view.camera;
    set(&mut window, Phase::Done, |s| {
        (s.params.target, s.params.tolerance, s.target_chosen) = (100.0, 30.0, true);
    });
    sphere(&mut window, true, at, 10.0);
    let field = &live(&window).measured.field;
    let (low, high) = field.grid.block_bounds(field.extent().expect("a surface"));
    assert!(
        low.cmplt(at - 9.0).all() && high.cmpgt(at + 9.0).all(),
        "{low} {high}"
    );
    let near = window.state.view.camera;
    assert!(near.focus.distance(at) < 30.0, "{near:?}");
    assert!(near.distance_mm < 0.5 * all.distance_mm, "{near:?} {all:?}");
    assert_eq!((near.azimuth, near.elevation), (all.azimuth, all.elevation));
    // The other tasks show what they showed before.
    let visit = |window: &mut Window, task: Task| {
        window.act(Action::View(ViewAction::SelectTask(task)));
        window.state.view.camera
    };
    for task in [Task::Filter, Task::View] {
        assert_eq!(visit(&mut window, task), all, "{task:?}");
    }
    assert_eq!(visit(&mut window, Task::Segment), near);
    // Later it stays where the user moves it.
    window.act(Action::View(ViewAction::FrameAll));
    let moved = window.state.view.camera;
    act(&mut window, SegmentAction::Step);
    sphere(&mut window, true, at + 12.0, 6.0);
    act(&mut window, SegmentAction::Play);
    assert_eq!(window.state.view.camera, moved);
    assert_eq!(visit(&mut window, Task::View), moved);
    assert_eq!(visit(&mut window, Task::Segment), moved);
}

/// A sphere outside the image, and one that removes the whole surface, are refused with a message and leave no step.
fn refused() {
    let far = dvec3(90.0, 0.0, 0.0);
    let steps = |window: &Window| {
        let undo = window.state.history.undo_label().map(str::to_owned);
        (window.state.document.segment.spheres.len(), undo)
    };
    for started in [false, true] {
        let mut window = ready();
        if started {
            act(&mut window, SegmentAction::Step);
        }
        for (add, centre, radius_mm, why) in [
            (true, far, 5.0, "holds no voxel of the image"),
            (false, far, 5.0, "holds no voxel of the image"),
            (false, DVec3::ZERO, 40.0, "without a voxel|no voxel left"),
        ] {
            // An earlier step with the same label stays.
            sphere(&mut window, false, dvec3(9.0, 0.0, 0.0), 2.0);
            let before = steps(&window);
            assert_eq!(before.1.as_deref(), Some("Add keep-out sphere"));
            let recorded = window.state.history.recorded();
            let shown = live(&window).inside;
            sphere(&mut window, add, centre, radius_mm);
            let message = messages(&window);
            assert!(why.split('|').any(|w| message.contains(w)), "{message}");
            assert_eq!(steps(&window), before, "{started} {why}");
            assert_eq!(live(&window).inside, shown, "the surface is kept");
            let requested = window.state.history.recorded() - recorded;
            assert_eq!(requested, u64::from(centre == DVec3::ZERO));
            window.state.runtime.notices.messages.clear();
            window.act(Action::Undo);
            assert_eq!(window.state.document.segment.spheres.len() + 1, before.0);
        }
    }
    // Before the first run the sphere is checked too.
    let mut window = opened(super::segment::image());
    sphere(&mut window, false, far, 5.0);
    assert!(messages(&window).contains("holds no voxel of the image"));
    assert_eq!(steps(&window), (0, None));
}

/// Two spheres placed before an answer comes are refused in one answer.
fn both_refused() {
    let mut window = ready();
    act(&mut window, SegmentAction::Step);
    sphere(&mut window, false, dvec3(9.0, 0.0, 0.0), 2.0);
    let spheres = window.state.document.segment.spheres.clone();
    let mut requested = None;
    for radius_mm in [40.0, 41.0] {
        let whole = Sphere {
            add: false,
            centre: DVec3::ZERO,
            radius_mm,
        };
        let place = Action::Segment(SegmentAction::Sphere(whole));
        let effects = arcuate::state::update(&mut window.state, place);
        requested = effects.into_iter().find_map(|effect| match effect {
            Effect::Submit(request) => Some(request),
            _ => None,
        });
    }
    let job = window.jobs.submit(requested.expect("requested"));
    let event = window.jobs.wait(&job, |_| {});
    window.act(Action::Event(event));
    assert!(!messages(&window).is_empty());
    assert_eq!(window.state.document.segment.spheres, spheres);
    // The newest step is that of the sphere that stays.
    window.act(Action::Undo);
    let left = &window.state.document.segment.spheres;
    assert_eq!(left.len() + 1, spheres.len(), "{left:?}");
}

/// The state names the step to rewind to until the surface has reached it.
fn rewinds() {
    let mut window = ready();
    act(&mut window, SegmentAction::Step);
    act(&mut window, SegmentAction::Step);
    for (x, radius_mm) in [(8.0, 2.0), (-8.0, 3.0)] {
        sphere(&mut window, false, dvec3(x, 0.0, 0.0), radius_mm);
    }
    assert_eq!(window.state.rewinding_to(), None);
    let way = Action::Segment(SegmentAction::Rewind(10));
    let effects = arcuate::state::update(&mut window.state, way);
    assert_eq!(window.state.rewinding_to(), Some(10));
    let message = &window.state.runtime.notices.status;
    assert!(message.contains("2 keep-out spheres deleted"), "{message}");
    for effect in effects {
        if let Effect::Submit(request) = effect {
            let job = window.jobs.submit(request);
            let event = window.jobs.wait(&job, |_| {});
            window.act(Action::Event(event));
        }
    }
    assert_eq!(
        (live(&window).step, window.state.rewinding_to()),
        (10, None)
    );
}

/// A new reference keeps the measures of the surface: its volume neither changes nor disappears meanwhile.
fn measured() {
    let mut window = ready();
    act(&mut window, SegmentAction::Play);
    act(&mut window, SegmentAction::Keep);
    let mask = window.state.document.layers.last().expect("kept").id;
    sphere(&mut window, true, DVec3::ZERO, 5.0);
    act(&mut window, SegmentAction::Play);
    assert_eq!(
        window.state.segment_standing(),
        Some(SurfaceStanding::Converged)
    );
    let volume = |window: &Window| {
        let figures = live(window).figures.as_ref();
        figures.map(|f| (f.measures.volume_ml, f.agreement.is_some()))
    };
    let (ml, compared) = volume(&window).expect("measured");
    assert!(!compared);
    let reference = Action::Segment(SegmentAction::Reference(Some(mask)));
    let effects = arcuate::state::update(&mut window.state, reference);
    let requested = effects.into_iter().find_map(|effect| match effect {
        Effect::Submit(request) => Some(request),
        _ => None,
    });
    window.jobs.submit(requested.expect("requested"));
    let mut seen: Vec<(Option<f64>, bool)> = Vec::new();
    while seen.last().is_none_or(|(_, done)| !done) {
        for event in window.jobs.poll() {
            let done = !matches!(event.ending(), Outcome::Partial(_));
            arcuate::state::update(&mut window.state, Action::Event(event));
            seen.push((volume(&window).map(|v| v.0), done));
        }
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
    assert!(seen.iter().all(|(now, _)| *now == Some(ml)), "{seen:?}");
    assert_eq!(volume(&window), Some((ml, true)));
}
