//! Geodesic rays in the window's state: coarse while dragged, cut without tracing, undone, kept.

use super::{Window, picture};
use crate::support::test;
use arcuate::data::{Role, Shape};
use arcuate::jobs::Outcome;
use arcuate::scene::{self, Size};
use arcuate::solvers::curves::{self, Interpolation, Seeding, StopReason};
use arcuate::solvers::geodesic::{Cut, Directions, Precision, Sharpening};
use arcuate::state::streamlines::Column;
use arcuate::state::track::jobs::LIVE;
use arcuate::state::track::jobs::cut::{CUT, CutRays};
use arcuate::state::track::jobs::streamlines::LiveTracking;
use arcuate::state::track::jobs::trace::TraceRays;
use arcuate::state::{
    Action, CommandLine, Content, FilesAction, Method, Pane, Phase, Rays, RegionAction, Standing,
    Task, TrackAction, ViewAction,
};
use arcuate::ui::probe;
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::rays::follow_the_switch", follow_the_switch),
        test("update::rays::a_drag_is_coarse_and_settles", coarse),
        test("update::rays::prepared_tensors_are_used_again", medium),
        test("update::rays::a_cut_computes_no_rays", cut),
        test("update::rays::a_cut_of_many_is_a_job", cut_of_many),
        test("update::rays::a_moving_cut_is_followed", moving_cut),
        test("update::rays::splines_of_any_precision", splines),
        test("update::rays::every_parameter_can_be_undone", undo),
        test("update::rays::late_results", late),
        test("update::rays::one_reason_to_stop", one_reason),
        test("update::rays::rays_through_the_crosshair", crosshair),
        test("update::rays::out_of_date", out_of_date),
        test("update::rays::undo_stops_the_requested_job", undo_stops),
        test("update::rays::coarse_before_a_long_wait", coarse_first),
        test("update::rays::kept_and_saved", kept),
    ]
}

/// A seed in the middle of the ball and rays that may be short.
pub(super) fn tracing(seeds: usize) -> Window {
    let mut window = Window::fitted();
    window.act(Action::Track(TrackAction::SetMethod(Method::Rays)));
    change(&mut window, Phase::Done, |rays| {
        rays.params.curves.min_length_mm = 5.0;
        rays.params.curves.seeding = Seeding::Random { count: seeds };
        rays.cut = Cut::All;
    });
    window.place(Role::Seed, DVec3::ZERO);
    window
}

pub(super) fn change(window: &mut Window, phase: Phase, edit: impl FnOnce(&mut Rays)) {
    let mut rays = window.state.document.track.rays.clone();
    edit(&mut rays);
    window.act(Action::Track(TrackAction::SetRays { rays, phase }));
}

pub(super) fn ray_jobs(window: &Window) -> Vec<&TraceRays> {
    window.jobs_of().collect()
}

fn cut_to(window: &mut Window, cut: Cut, phase: Phase) {
    change(window, phase, |rays| rays.cut = cut);
}

pub(super) fn line(window: &Window) -> CommandLine {
    window.state.document.live_command_line(live(window))
}

pub(super) fn live(window: &Window) -> &arcuate::state::CurveResult {
    window
        .state
        .runtime
        .track
        .live
        .value()
        .expect("a live result")
}

fn follow_the_switch() {
    let mut window = Window::fitted();
    window.place(Role::Seed, DVec3::ZERO);
    assert!(live(&window).rays.is_none());
    window.act(Action::Track(TrackAction::SetMethod(Method::Rays)));
    assert!(live(&window).rays.is_some());
    assert_eq!(live(&window).seeds, 8_000, "the default");
    // The strongest tenth of all that pass.
    let passed = live(&window).rays.as_ref().map_or(0, |r| r.measures.len());
    assert_eq!(live(&window).output.kept.len(), passed.div_ceil(10));
    let command = line(&window).text();
    for option in [" --sharpen power:6 ", " --cut top:10%"] {
        assert!(command.contains(option), "{command}");
    }
    assert!(matches!(line(&window), CommandLine::Geodesic { .. }));
    window.act(Action::Undo);
    assert!(live(&window).rays.is_none());
    assert!(matches!(line(&window), CommandLine::Track { .. }));
    window.act(Action::Redo);
    assert!(live(&window).rays.is_some());
}

fn coarse() {
    // More than any machine computes within a frame.
    let mut window = tracing(50_000);
    let all = live(&window).seeds;
    assert_eq!(all, 1_000_000);
    let before: Vec<bool> = ray_jobs(&window).iter().map(|s| s.coarse).collect();
    assert_eq!(
        before,
        [true, false],
        "some are to be seen before all are there"
    );
    let region = window.state.runtime.regions.selected.expect("the seed");
    let mut steps = 0;
    for x in 1..=5 {
        let shape = Shape::Sphere {
            centre: DVec3::X * f64::from(x),
            radius_mm: 5.0,
        };
        window.act(Action::Region(RegionAction::SetShape {
            region,
            shape,
            phase: Phase::Live,
        }));
        steps += 1;
        assert!(live(&window).coarse && live(&window).seeds < all);
        assert!(window.state.runtime.track.live.waits_for_rest());
        let CommandLine::Geodesic { regions, .. } = &line(&window) else {
            panic!("{:?}", line(&window))
        };
        assert!(regions[0].shape.to_string().contains(&format!(":{x},0,0")));
    }
    window.act(Action::Settle);
    window.act(Action::Settle);
    assert!(!live(&window).coarse && live(&window).seeds == all);
    let coarse: Vec<bool> = ray_jobs(&window).iter().map(|s| s.coarse).collect();
    let expected = [before, vec![true; steps], vec![false]].concat();
    assert_eq!(coarse, expected);
    // Few enough to be computed within a frame: computed at once.
    let mut window = tracing(2);
    window.state.runtime.track.rays_per_ms = Some(1e6);
    change(&mut window, Phase::Live, |r| r.params.curves.step_mm = 1.0);
    assert!(!live(&window).coarse && !window.state.runtime.track.live.waits_for_rest());
}

fn medium() {
    let mut window = tracing(20);
    let handed = |window: &Window| ray_jobs(window).last().map(|s| s.metric.is_some());
    assert_eq!(handed(&window), Some(false), "the first is prepared");
    change(&mut window, Phase::Done, |r| r.params.curves.step_mm = 1.0);
    assert_eq!(handed(&window), Some(true));
    change(&mut window, Phase::Done, |r| {
        r.metric.sharpening = Sharpening::Power { alpha: 2.0 };
    });
    assert_eq!(handed(&window), Some(false));
    change(&mut window, Phase::Done, |r| {
        r.params.directions = Directions::Sphere { count: 12 };
    });
    assert_eq!(handed(&window), Some(true));
    change(&mut window, Phase::Done, |r| {
        r.metric.precision = Precision::Half;
    });
    assert_eq!(handed(&window), Some(false));
    // New tensors are another field.
    window.ordinary();
    assert_eq!(handed(&window), Some(false));
}

fn cut() {
    let mut window = tracing(50);
    let rays = live(&window).rays.as_ref().expect("rays");
    let (all, before) = (rays.measures.clone(), ray_jobs(&window).len());
    assert!(all.len() > 100, "{}", all.len());
    let mut sorted = all.to_vec();
    sorted.sort_by(f32::total_cmp);
    let middle = sorted[all.len() / 2];
    for (cut, phase) in [
        (Cut::AtLeast(sorted[3]), Phase::Live),
        (Cut::AtLeast(middle), Phase::Done),
        (Cut::Top(17), Phase::Done),
        (Cut::TopShare(0.25), Phase::Done),
    ] {
        cut_to(&mut window, cut, phase);
        let expected = cut.kept_marks(&all).iter().filter(|k| **k).count();
        assert_eq!(live(&window).output.kept.len(), expected, "{cut:?}");
        let kept = &live(&window).output.kept.per_streamline["cm"];
        let least = kept.iter().copied().min_by(f32::total_cmp);
        assert_eq!(
            live(&window).rays.as_ref().and_then(|r| r.min_measure),
            least
        );
        assert!(matches!(&line(&window), CommandLine::Geodesic { cut: c, .. } if *c == cut));
    }
    // A drag was one step; so were the others. None of them computed rays, nor does undoing them.
    window.act(Action::Undo);
    assert_eq!(live(&window).output.kept.len(), 17);
    window.act(Action::Undo);
    window.act(Action::Undo);
    assert_eq!(window.state.document.track.rays.cut, Cut::All);
    assert_eq!(live(&window).output.kept.len(), all.len());
    window.act(Action::Redo);
    let above = sorted.iter().filter(|m| **m >= middle).count();
    assert_eq!(live(&window).output.kept.len(), above);
    assert_eq!(ray_jobs(&window).len(), before);
    // Rays computed later are cut, too.
    change(&mut window, Phase::Done, |r| r.params.curves.step_mm = 1.0);
    let kept = &live(&window).output.kept.per_streamline["cm"];
    assert!(kept.iter().all(|m| *m >= middle));
    assert!(
        live(&window)
            .rays
            .as_ref()
            .is_some_and(|r| r.measures.len() > kept.len())
    );
}

fn cut_of_many() {
    let mut window = tracing(1_500);
    let rays = live(&window).rays.as_ref().expect("rays");
    assert!(rays.all.points.len() > 500_000, "{}", rays.all.points.len());
    let (all, before) = (rays.measures.len(), ray_jobs(&window).len());
    window.holding = true;
    cut_to(&mut window, Cut::Top(100), Phase::Live);
    cut_to(&mut window, Cut::Top(50), Phase::Done);
    assert_eq!(live(&window).output.kept.len(), all);
    assert!(window.state.final_live().is_none(), "nothing is kept yet");
    window.deliver(|_| {});
    window.deliver(|_| {});
    assert_eq!(live(&window).output.kept.len(), 50);
    assert!(window.state.final_live().is_some());
    assert_eq!(ray_jobs(&window).len(), before);
    // A cut of other rays is not applied.
    cut_to(&mut window, Cut::Top(20), Phase::Done);
    let ranked = std::mem::take(&mut window.pending);
    change(&mut window, Phase::Done, |r| r.params.curves.step_mm = 1.0);
    window.deliver(|events| events.extend(ranked));
    assert_eq!(live(&window).output.kept.len(), 20);
    let step = live(&window).output.kept.streamline(0);
    let step = glam::Vec3::from(step[0]).distance(glam::Vec3::from(step[1]));
    assert!((step - 1.0).abs() < 1e-3, "{step}");
}

/// While the user keeps dragging, the cut follows: each job ends before the next begins.
fn moving_cut() {
    let mut window = tracing(1_500);
    let all = live(&window).rays.as_ref().expect("rays").measures.len();
    let ranks = |window: &Window| window.jobs_of::<CutRays>().count();
    window.holding = true;
    cut_to(&mut window, Cut::Top(100), Phase::Live);
    for count in (60..100).rev() {
        cut_to(&mut window, Cut::Top(count), Phase::Live);
    }
    assert_eq!(ranks(&window), 1, "none is cancelled for the next");
    assert!(!window.cancelled.contains(&CUT));
    window.deliver(|_| {});
    assert_eq!(live(&window).output.kept.len(), 100, "the first is shown");
    assert!(window.state.final_live().is_none(), "but not kept");
    assert_eq!(ranks(&window), 2, "and the newest follows");
    // At once where that is quick; later results are older.
    cut_to(&mut window, Cut::All, Phase::Done);
    assert_eq!(live(&window).output.kept.len(), all);
    window.deliver(|_| {});
    assert_eq!(live(&window).output.kept.len(), all);
    cut_to(&mut window, Cut::Top(7), Phase::Done);
    window.deliver(|_| {});
    assert_eq!(live(&window).output.kept.len(), 7);
    assert!(window.state.final_live().is_some());
}

/// Splines are always stored in single precision: they are shown and used again.
fn splines() {
    let mut window = tracing(20);
    change(&mut window, Phase::Done, |r| {
        r.metric.precision = Precision::Half;
        r.params.curves.interpolation = Interpolation::CubicBSpline;
    });
    let command = line(&window).text();
    for option in ["--interpolation cubic", "--precision f16"] {
        assert!(command.contains(option), "{command}");
    }
    let id = live(&window).rays.as_ref().map(|r| r.all.id());
    change(&mut window, Phase::Done, |r| r.params.curves.step_mm = 1.0);
    assert!(line(&window).text().contains("--step 1 "));
    assert_ne!(live(&window).rays.as_ref().map(|r| r.all.id()), id);
    let last = ray_jobs(&window).last().map(|s| s.metric.is_some());
    assert_eq!(last, Some(true), "prepared once");
}

fn undo() {
    let mut window = tracing(20);
    let mut pictures = vec![picture(&window.state)];
    type Edit = fn(&mut Rays);
    let edits: [Edit; 7] = [
        |r| r.metric.sharpening = Sharpening::Power { alpha: 2.5 },
        |r| r.metric.precision = Precision::Half,
        |r| r.params.directions = Directions::Icosphere { level: 1 },
        |r| r.params.loop_guard = false,
        |r| r.params.curves.min_fa = Some(0.1),
        |r| r.cut = Cut::Top(3),
        |r| r.params.curves.random_seed = 7,
    ];
    for edit in edits {
        change(&mut window, Phase::Done, edit);
        let command = line(&window).text();
        pictures.push(picture(&window.state) + &command);
    }
    let last = pictures.len() - 1;
    for expected in pictures[1..last].iter().rev() {
        window.act(Action::Undo);
        let command = line(&window).text();
        assert_eq!(&(picture(&window.state) + &command), expected);
    }
    window.act(Action::Undo);
    assert_eq!(picture(&window.state), pictures[0]);
}

/// All views show the rays of one reason, the 3-D view also those that missed; the list keeps all.
fn one_reason() {
    let mut window = tracing(50);
    window.place(Role::Target, dvec3(0.0, 12.0, 0.0));
    let drawn = |window: &Window, in_3d: bool| -> usize {
        let size = Size {
            points: glam::DVec2::splat(400.0),
            pixels_per_point: 1.0,
        };
        let lines = match in_3d {
            true => scene::scene(&window.state, size).lines,
            false => {
                scene::slice(&window.state, Pane::Axial, size)
                    .expect("a slice")
                    .lines
            }
        };
        lines.iter().map(|l| l.tractogram.0.len()).sum()
    };
    let output = live(&window).output.clone();
    let (kept, missed) = (output.kept.len(), output.missed.len());
    assert!(kept > 0 && missed > 0 && drawn(&window, true) == kept + missed);
    let reason = StopReason::ReachedTarget;
    window.act(Action::View(ViewAction::ShowStop(Some(reason))));
    assert_eq!(drawn(&window, true), kept, "what missed reached none");
    let reason = StopReason::LeftMask;
    window.act(Action::View(ViewAction::ShowStop(Some(reason))));
    let ended = |t: &arcuate::data::Tractogram| {
        let ends = &t.per_streamline["stop_end"];
        ends.iter()
            .filter(|e| **e == f32::from(reason as u8))
            .count()
    };
    let expected = ended(&output.kept) + ended(&output.missed);
    assert!(expected > 0 && expected < kept + missed);
    assert_eq!(drawn(&window, true), expected);
    assert_eq!(drawn(&window, false), ended(&output.kept));
    // Other rays, the same reason.
    change(&mut window, Phase::Done, |r| r.params.curves.step_mm = 1.0);
    let output = live(&window).output.clone();
    let expected = ended(&output.kept) + ended(&output.missed);
    assert_eq!(drawn(&window, true), expected);
    window.act(Action::View(ViewAction::ShowStop(None)));
    assert_eq!(
        drawn(&window, true),
        output.kept.len() + output.missed.len()
    );
}

fn crosshair() {
    let mut window = tracing(50);
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    let passing = |window: &Window| {
        window
            .state
            .runtime
            .track
            .at_crosshair
            .expect("in the grid")
    };
    for at in [DVec3::ZERO, dvec3(2.3, 5.1, -1.2), dvec3(0.0, -21.0, 0.0)] {
        window.act(Action::View(ViewAction::MoveCrosshair(at)));
        let grid = &window.tensors().field.grid;
        let voxel = grid.nearest(at).expect("inside");
        let curves = &live(&window).output.kept;
        let here = |p: &[f32; 3]| grid.nearest(glam::Vec3::from(*p).as_dvec3()) == Some(voxel);
        let through: Vec<f64> = (0..curves.len())
            .filter(|&i| curves.streamline(i).iter().any(here))
            .map(|i| f64::from(curves.per_streamline["cm"][i]))
            .collect();
        let found = passing(&window);
        assert_eq!((found.voxel, found.count), (voxel, through.len()));
        match found.measure {
            Some(m) => {
                let mean = through.iter().sum::<f64>() / through.len() as f64;
                assert!((m - mean).abs() < 1e-9, "{m} {mean}");
            }
            None => assert!(through.is_empty()),
        }
    }
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ZERO)));
    let all = passing(&window).count;
    assert!(all > 10, "{all}");
    // The rays that pass the cut.
    cut_to(&mut window, Cut::Top(3), Phase::Done);
    assert!(passing(&window).count <= 3);
    let command = probe::readings(&window.state);
    let reported = |name: &str| command.iter().any(|r| r.name == name);
    assert!(reported("Rays in voxel"));
    let brief = probe::brief_readings(&window.state, &command, 2);
    assert_eq!(brief[0].name, "FA");
    if passing(&window).count > 0 {
        assert_eq!(brief[1].name, probe::CONNECTIVITY);
    }
    window.act(Action::View(ViewAction::SelectTask(Task::View)));
    assert!(window.state.runtime.track.at_crosshair.is_none());
}

fn late() {
    let mut window = tracing(20);
    window.holding = true;
    change(&mut window, Phase::Done, |r| r.params.curves.step_mm = 1.0);
    change(&mut window, Phase::Done, |r| r.params.curves.step_mm = 2.0);
    // The older of two results arrives last.
    window.deliver(|events| {
        assert!(matches!(
            events[0].outcome::<TraceRays>(),
            Some(Outcome::Done(_))
        ));
        events.reverse();
    });
    let step = |w: &Window| match &line(w) {
        CommandLine::Geodesic { params, .. } => params.curves.step_mm,
        other => panic!("{other:?}"),
    };
    assert_eq!(step(&window), 2.0);
    // Rays that arrive after the switch are not shown as streamlines.
    change(&mut window, Phase::Done, |r| r.params.curves.step_mm = 0.5);
    window.act(Action::Track(TrackAction::SetMethod(Method::Streamlines)));
    window.deliver(|events| events.reverse());
    assert!(live(&window).rays.is_none());
    // Rays whose seed was deleted are removed.
    window.act(Action::Track(TrackAction::SetMethod(Method::Rays)));
    let seed = window.state.document.regions[0].id;
    window.act(Action::Region(RegionAction::Delete(seed)));
    window.deliver(|_| {});
    assert!(window.state.runtime.track.live.value().is_none());
}

fn kept() {
    let mut window = tracing(50);
    window.place(Role::Target, dvec3(0.0, 12.0, 0.0));
    let range = live(&window).rays.as_ref().expect("rays").range;
    let count = live(&window).output.kept.len();
    assert!(count > 0, "some reach the target along the fibres");
    window.act(Action::Track(TrackAction::Keep));
    let layer = window.state.document.layer_named("Rays").expect("a layer");
    assert_eq!(layer.display.window, range, "the colours stay");
    let table = &window.state.view.table;
    let strongest_first = (Some(Column::Value("cm".to_owned())), true);
    assert_eq!((table.column.clone(), table.descending), strongest_first);
    assert!(matches!(&layer.content, Content::Tractogram(t) if t.len() == count));
    let id = layer.id;
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (live, layer) = (path("live.tck"), path("layer.tck"));
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: None,
        path: live.clone(),
    }));
    window.act(Action::Files(FilesAction::SaveLayer {
        layer: id,
        path: layer.clone(),
    }));
    for tck in [live, layer] {
        assert!(tck.exists());
        let tsf = std::fs::read(tck.with_extension("tsf")).expect("measures");
        assert!(tsf.starts_with(b"mrtrix track scalars"));
        let weights = std::fs::read_to_string(tck.with_extension("weights.txt"));
        let weights = weights.expect("weights");
        let numbers = weights.lines().filter(|l| !l.starts_with('#'));
        let numbers = numbers.flat_map(str::split_whitespace).count();
        assert_eq!(numbers, count);
    }
    assert!(window.state.runtime.notices.messages.is_empty());
}

/// A million rays are requested; the previous result stays until they are there.
fn out_of_date() {
    let mut window = tracing(20);
    assert_eq!(window.state.standing(), Some(Standing::Final));
    let (seeds, kept) = (live(&window).seeds, live(&window).output.kept.id());
    window.holding = true;
    window.state.runtime.track.rays_per_ms = Some(1e9);
    change(&mut window, Phase::Done, |r| r.params.curves.step_mm = 0.4);
    assert_eq!(window.state.standing(), Some(Standing::Updating));
    assert!(window.state.final_live().is_none());
    let layers = window.state.document.layers.len();
    window.act(Action::Track(TrackAction::Keep));
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: None,
        path: "/nowhere/rays.tck".into(),
    }));
    assert_eq!(
        window.state.document.layers.len(),
        layers,
        "nothing is kept"
    );
    assert!(
        window
            .submitted
            .last()
            .is_some_and(|job| job.job::<TraceRays>().is_some()),
        "nothing is saved"
    );
    assert_eq!(window.state.runtime.notices.messages.len(), 2);
    // Stopped: the status states that the rays are older than the controls.
    window.cancelled.clear();
    window.act(Action::Escape);
    assert_eq!(window.cancelled, [LIVE]);
    let message = &window.state.runtime.notices.status;
    assert_eq!(
        message,
        "Stopped: the rays shown are from before the last change"
    );
    let mut late = window.pending.pop().expect("a result that came too late");
    *late.outcome_mut::<TraceRays>().expect("rays") = Outcome::Cancelled;
    window.act(Action::Event(late));
    assert_eq!(window.state.standing(), Some(Standing::OutOfDate));
    assert!(window.state.final_live().is_none());
    assert_eq!(
        (live(&window).seeds, live(&window).output.kept.id()),
        (seeds, kept)
    );
    window.holding = false;
    window.act(Action::Track(TrackAction::Repeat));
    assert_eq!(window.state.standing(), Some(Standing::Final));
    assert!(line(&window).text().contains("--step 0.4"));
    // A cut that many rays wait for is not their result either.
    window.state.document.track.rays.cut = Cut::Top(1);
    assert_ne!(window.state.standing(), Some(Standing::Final));
}

/// How often live curves were requested.
fn request_count(window: &Window) -> usize {
    window.jobs_of::<TraceRays>().count() + window.jobs_of::<LiveTracking>().count()
}

fn undo_stops() {
    for method in Method::ALL {
        let mut window = tracing(20);
        window.act(Action::Track(TrackAction::SetMethod(method)));
        window.holding = true;
        window.cancelled.clear();
        let requests = request_count(&window);
        match method {
            Method::Rays => change(&mut window, Phase::Done, |r| r.params.curves.step_mm = 0.4),
            Method::Streamlines => {
                let params = curves::Params {
                    step_mm: 0.4,
                    ..window.state.document.track.streamlines.clone()
                };
                let phase = Phase::Done;
                window.act(Action::Track(TrackAction::SetStreamlines { params, phase }));
            }
        }
        assert!(request_count(&window) > requests);
        let requests = request_count(&window);
        window.act(Action::Undo);
        assert_eq!(window.cancelled, [LIVE], "{method:?}");
        assert_eq!(
            request_count(&window),
            requests,
            "what is there is not asked for again"
        );
        assert_eq!(window.state.standing(), Some(Standing::Final));
    }
}

fn coarse_first() {
    let mut window = tracing(20);
    window.holding = true;
    // Slow enough for 400 rays to take four seconds.
    window.state.runtime.track.rays_per_ms = Some(0.1);
    change(&mut window, Phase::Done, |r| {
        r.params.curves.seeding = Seeding::Random { count: 2_000 };
    });
    let coarse = |w: &Window| ray_jobs(w).iter().map(|s| s.coarse).collect::<Vec<_>>();
    assert_eq!(coarse(&window)[1..], [true]);
    // A rest of the pointer meanwhile does not discard the coarse result.
    window.act(Action::Settle);
    assert_eq!(coarse(&window)[1..], [true]);
    window.deliver(|_| {});
    assert_eq!(window.state.standing(), Some(Standing::Coarse));
    assert_eq!(coarse(&window)[1..], [true, false]);
    window.deliver(|_| {});
    assert_eq!(window.state.standing(), Some(Standing::Final));
    assert_eq!(live(&window).seeds, 40_000);
}
