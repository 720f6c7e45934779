//! The surface of Segment: sampled, placed, run, dragged, rewound, undone, kept; the message where this is impossible.

mod refusals;

use super::Window;
use crate::support::origins::segments;
use crate::support::{Random, test};
use arcuate::data::{Grid, Role, Volume};
use arcuate::solvers::level_set::{Cause, Ended, ScriptEvent, Sphere};
use arcuate::state::core::layer::Content;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::sampling::SampleAction;
use arcuate::state::segment::{
    RangeDoubt, SegmentAction, SegmentFile, SegmentSettings, Start, SurfaceStanding,
};
use arcuate::state::{Action, Phase, RunControl, SaveLabels, SurfaceUpdate, Task, ViewAction};
use arcuate::ui::probe;
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::segment::sampled_placed_run", run),
        test("update::segment::a_new_sample_replaces_the_last", resampled),
        test(
            "update::segment::sliders_and_spheres_are_events",
            run_values,
        ),
        test("update::segment::rewinding", back),
        test("update::segment::undo_removes_a_sphere", undone),
        test("update::segment::a_sphere_is_moved", moved),
        test(
            "update::segment::impossible_requests_are_reported",
            refusals::reported,
        ),
        test("update::segment::kept_and_started_again", kept),
        test("update::segment::starts", starts),
        test("update::segment::the_crosshair_shows_values", described),
    ]
}

pub(super) const RADIUS_MM: f64 = 11.0;

/// A ball of 100 in 20, with noise of 4.
pub(super) fn image() -> Volume {
    let grid = Grid::axis_aligned([28, 28, 28], DVec3::splat(1.5), DVec3::splat(-20.25));
    let grid = grid.expect("a grid");
    let mut random = Random::fresh("segment");
    let value = |i: usize| {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        let mean = if at.length() < RADIUS_MM { 100.0 } else { 20.0 };
        (mean + 4.0 * random.normal()) as f32
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    Volume::scalar(Arc::new(grid), values)
}

pub(super) fn opened(volume: Volume) -> Window {
    let mut window = Window::new();
    window.act(Action::Event(super::file(
        "/data/t1.nii.gz",
        Loaded::Image(volume),
    )));
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    window
}

pub(super) fn act(window: &mut Window, action: SegmentAction) {
    window.act(Action::Segment(action));
}

pub(super) fn sphere(window: &mut Window, add: bool, centre: DVec3, radius_mm: f64) {
    act(
        window,
        SegmentAction::Sphere(Sphere {
            add,
            centre,
            radius_mm,
        }),
    );
}

pub(super) fn sample(window: &mut Window) {
    let (from, to) = (dvec3(-6.0, 0.0, 0.0), dvec3(6.0, 3.0, 0.0));
    stroke(window, [from, to], false);
}

/// A drag that samples; `adds`: to the sample before.
pub(super) fn stroke(window: &mut Window, [at, to]: [DVec3; 2], adds: bool) {
    window.act(Action::Sample(SampleAction::Begin { at, adds }));
    window.act(Action::Sample(SampleAction::Over(at, to)));
    window.act(Action::Sample(SampleAction::End));
}

pub(super) fn set(window: &mut Window, phase: Phase, edit: impl FnOnce(&mut SegmentSettings)) {
    let mut settings = window.state.document.segment.settings.clone();
    edit(&mut settings);
    act(window, SegmentAction::Set { settings, phase });
}

pub(super) fn live(window: &Window) -> &SurfaceUpdate {
    window
        .state
        .runtime
        .segment
        .live
        .as_ref()
        .expect("a surface")
}

/// Moves the surface by this many steps, or fewer if it ends.
pub(super) fn advance(window: &mut Window, steps: u64) {
    let end = live(window).step + steps;
    while live(window).step < end {
        let before = live(window).step;
        act(window, SegmentAction::Step);
        if live(window).step == before || live(window).ended != Ended::Steps {
            return;
        }
    }
}

pub(super) fn messages(window: &Window) -> String {
    let all = window.state.runtime.notices.messages.iter();
    all.map(|m| m.text.clone()).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn assert_message(window: &Window, text: &str) {
    let reported = messages(window);
    assert!(reported.contains(text), "{reported}");
}

/// Sampled, with a sphere in the middle.
pub(super) fn ready() -> Window {
    let mut window = opened(image());
    sample(&mut window);
    sphere(&mut window, true, DVec3::ZERO, 5.0);
    window
}

/// A sample across the edge of the ball holds two tissues; a smaller one replaces it, and with Shift a further one adds.
fn resampled() {
    let mut window = opened(image());
    let count = |window: &Window| window.state.segment_sample().map_or(0, |s| s.count());
    let across = [DVec3::ZERO, dvec3(18.0, 0.0, 0.0)];
    stroke(&mut window, across, false);
    let first = count(&window);
    assert!(first > 10, "{first}");
    let doubt = window.state.range_doubt();
    assert_eq!(doubt, Some(RangeDoubt::Mixed));
    let smaller = [dvec3(-3.0, 0.0, 0.0), dvec3(3.0, 0.0, 0.0)];
    stroke(&mut window, smaller, false);
    let second = count(&window);
    assert!(second < first, "{second} of {first}");
    assert_eq!(window.state.range_doubt(), None);
    let status = &window.state.runtime.notices.status;
    assert!(status.contains("Shift to add"), "{status}");
    let elsewhere = [dvec3(-3.0, 4.5, 0.0), dvec3(3.0, 4.5, 0.0)];
    stroke(&mut window, elsewhere, true);
    assert_eq!(count(&window), 2 * second);
    window.act(Action::Undo);
    assert_eq!(count(&window), second);
    assert_eq!(window.state.range_doubt(), None);
    window.act(Action::Undo);
    assert_eq!(count(&window), first);
    assert_eq!(
        window.state.range_doubt(),
        doubt,
        "it returns with its sample"
    );
    window.act(Action::Undo);
    assert_eq!(window.state.range_doubt(), None, "nothing is sampled");
}

fn run() {
    let mut window = opened(image());
    assert!(window.state.cannot_segment().is_some(), "nobody said what");
    sample(&mut window);
    let settings = &window.state.document.segment.settings;
    assert!(
        (settings.params.target - 100.0).abs() < 6.0,
        "{}",
        settings.params.target
    );
    // 0.42 of the contrast to the surroundings.
    assert!(
        (32.0..37.0).contains(&settings.params.tolerance),
        "{}",
        settings.params.tolerance
    );
    let count = |window: &Window| {
        let sample = window.state.segment_sample();
        sample.expect("sampled").count()
    };
    let first = count(&window);
    let over = [dvec3(-6.0, 0.0, 0.0), dvec3(6.0, 3.0, 0.0)];
    stroke(&mut window, over, true);
    let repeated = count(&window);
    assert_eq!(first, repeated, "the same voxels count once");
    assert!(
        window.state.cannot_segment().is_some(),
        "nothing to begin with"
    );
    sphere(&mut window, true, DVec3::ZERO, 5.0);
    assert_eq!(window.state.cannot_segment(), None);
    assert_eq!(live(&window).step, 0, "shown before it runs");
    // Smoothing includes the voxels that noise excludes.
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    advance(&mut window, 150);
    let found = live(&window);
    assert!(
        matches!(found.ended, Ended::Steps | Ended::Converged),
        "{:?}",
        found.ended
    );
    assert_ne!(
        window.state.segment_standing(),
        Some(SurfaceStanding::Running)
    );
    let figures = found.figures.as_ref().expect("figures");
    let ball = 4.0 / 3.0 * std::f64::consts::PI * RADIUS_MM.powi(3) * 1e-3;
    // Half a voxel of the radius is a fifth of the volume.
    assert!(
        (figures.measures.volume_ml / ball - 1.0).abs() < 0.1,
        "{}",
        figures.measures.volume_ml
    );
    assert!((figures.measures.diameter_mm - 2.0 * RADIUS_MM).abs() < 1.5);
    let steps = found.growth.iter().map(|(step, _)| *step);
    assert!(steps.clone().zip(steps.skip(1)).all(|(a, b)| a < b));
    // At the start a change of speeds is not an event of the run.
    assert!(found.script.events.is_empty());
    assert_eq!(found.script.params.tolerance, 20.0);
    let command = arcuate::state::update::segment_command(&window.state)
        .expect("a command line")
        .text();
    assert!(
        command.starts_with("arcuate segment /data/t1.nii.gz --add sphere:0,0,0,5 --target"),
        "{command}"
    );
    assert!(
        command.contains(&format!("--steps {}", found.step)),
        "{command}"
    );
}

fn run_values() {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    act(&mut window, SegmentAction::Step);
    assert_eq!(live(&window).step, 10);
    assert_eq!(
        window.state.runtime.segment.play,
        RunControl::Rest,
        "a step is over"
    );
    // Paused: a change is not an event before the run continues.
    for smoothness in [0.4, 0.5, 0.6] {
        set(&mut window, Phase::Live, |s| {
            s.params.smoothness = smoothness
        });
    }
    set(&mut window, Phase::Done, |s| s.params.smoothness = 0.6);
    assert!(live(&window).script.events.is_empty());
    act(&mut window, SegmentAction::Step);
    assert_eq!(live(&window).step, 20);
    sphere(&mut window, false, dvec3(4.0, 0.0, 0.0), 3.0);
    sphere(&mut window, true, dvec3(-6.0, 0.0, 0.0), 4.0);
    act(&mut window, SegmentAction::Step);
    let script = &live(&window).script;
    let steps: Vec<u64> = script.events.iter().map(|e| e.step).collect();
    assert_eq!(steps, [10, 20, 20]);
    assert!(matches!(&script.events[0].event, ScriptEvent::Params(p) if p.smoothness == 0.6));
    assert!(matches!(&script.events[1].event, ScriptEvent::Sphere(s) if !s.add));
    assert_eq!(script.steps, 30);
    assert_eq!(live(&window).placed.len(), 2);
    let command = arcuate::state::update::segment_command(&window.state).expect("a command line");
    assert!(command.no_command().is_some(), "its script is in no file");
    // The file is requested with the script; from then on the command names it.
    let path = std::path::PathBuf::from("/nowhere/at/all/run.json");
    let file = SegmentFile::Script;
    act(&mut window, SegmentAction::Save { file, path });
    let command = arcuate::state::update::segment_command(&window.state)
        .expect("a command line")
        .text();
    assert_eq!(
        command,
        "arcuate segment --script /nowhere/at/all/run.json --out segmentation"
    );
}

fn back() {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    for _ in 0..3 {
        act(&mut window, SegmentAction::Step);
    }
    let then = live(&window).mask.clone().expect("at rest");
    sphere(&mut window, false, DVec3::ZERO, 4.0);
    act(&mut window, SegmentAction::Step);
    assert_eq!(live(&window).step, 40);
    assert_eq!(window.state.document.segment.spheres.len(), 2);
    assert_eq!(window.state.runtime.segment.earlier(), 30);
    act(&mut window, SegmentAction::Rewind(30));
    assert_eq!(live(&window).step, 30);
    assert_eq!(
        window.state.document.segment.spheres.len(),
        1,
        "the cut went with it"
    );
    assert_eq!(
        live(&window).mask.as_ref().expect("at rest").inside,
        then.inside
    );
    assert_eq!(
        window.state.runtime.segment.plotted.earlier_runs.len(),
        1,
        "the plot remembers"
    );
    act(&mut window, SegmentAction::Rewind(0));
    assert_eq!(live(&window).step, 0);
    assert_eq!(window.state.document.segment.spheres.len(), 1);
    act(&mut window, SegmentAction::Clear);
    assert!(window.state.runtime.segment.live.is_none());
}

fn undone() {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    act(&mut window, SegmentAction::Step);
    let then = live(&window).mask.clone().expect("at rest");
    sphere(&mut window, true, dvec3(8.0, 0.0, 0.0), 4.0);
    let more = live(&window).mask.clone().expect("at rest");
    assert!(more.count() > then.count());
    act(&mut window, SegmentAction::Step);
    let later = live(&window).mask.clone().expect("at rest");
    window.act(Action::Undo);
    assert_eq!(live(&window).step, 10, "back before it");
    assert_eq!(
        live(&window).mask.as_ref().expect("at rest").inside,
        then.inside
    );
    // Redo brings back the surface that undo has left.
    window.act(Action::Redo);
    assert_eq!(live(&window).step, 20);
    assert_eq!(
        live(&window).mask.as_ref().expect("at rest").inside,
        later.inside
    );
}

/// A sphere is moved by a drag, which is one step to undo; the surface begins at the sphere's place.
fn moved() {
    let mut window = ready();
    let (number, before) = window.state.document.segment.spheres[0];
    let first = live(&window).mask.clone().expect("at rest");
    for (x, phase) in [(2.0, Phase::Live), (6.0, Phase::Live), (6.0, Phase::Done)] {
        let sphere = Sphere {
            centre: dvec3(x, 0.0, 0.0),
            radius_mm: 4.0,
            ..before
        };
        act(
            &mut window,
            SegmentAction::Move {
                number,
                sphere,
                phase,
            },
        );
    }
    assert_eq!(window.state.document.segment.spheres.len(), 1);
    let mask = live(&window).mask.clone().expect("at rest");
    let grid = &mask.grid;
    let inside = |at: DVec3| mask.inside[grid.index(grid.nearest(at).expect("in the image"))] != 0;
    assert!(inside(dvec3(6.0, 0.0, 0.0)) && !inside(dvec3(-3.0, 0.0, 0.0)));
    assert!(mask.count() < first.count(), "it is smaller");
    window.act(Action::Undo);
    assert_eq!(window.state.document.segment.spheres[0].1, before);
    assert_eq!(
        live(&window).mask.as_ref().expect("at rest").inside,
        first.inside
    );
}

/// The status line's content in that case.
fn described() {
    let mut window = ready();
    let named = |window: &Window| {
        let all = probe::readings(&window.state);
        let brief = probe::brief_readings(&window.state, &all, 2);
        brief.iter().map(|r| r.name.clone()).collect::<Vec<_>>()
    };
    window.act(Action::View(ViewAction::MoveCrosshair(dvec3(
        4.0, 0.0, 0.0,
    ))));
    assert_eq!(named(&window), ["t1", probe::PHI]);
    set(&mut window, Phase::Done, |s| s.speed_opacity = 0.4);
    assert_eq!(named(&window), ["t1", "Speed", probe::PHI]);
    // Far from the surface only the image has a value.
    set(&mut window, Phase::Done, |s| s.speed_opacity = 0.0);
    window.act(Action::View(ViewAction::MoveCrosshair(dvec3(
        18.0, 18.0, 18.0,
    ))));
    assert_eq!(named(&window), ["t1"]);
    window.act(Action::View(ViewAction::SelectTask(Task::View)));
    assert_eq!(named(&window), ["t1"]);
}

fn kept() {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    advance(&mut window, 100);
    let mask = live(&window).mask.clone().expect("at rest");
    let mask_step = live(&window).step;
    act(&mut window, SegmentAction::Region(Role::Exclude));
    assert_eq!(window.state.document.regions.len(), 1);
    act(&mut window, SegmentAction::Keep);
    let layer = window
        .state
        .document
        .layers
        .last()
        .expect("a layer")
        .clone();
    let Content::Mask(stored) = &layer.content else {
        panic!("a mask");
    };
    assert_eq!(stored.inside, mask.inside);
    let document = &window.state.document;
    assert!(document.segmentation_recipe(layer.id).is_some());
    let command = window.state.document.command_line(&layer).text();
    assert!(command.starts_with("arcuate segment /data/t1.nii.gz"));
    assert!(
        window.state.runtime.segment.live.is_none(),
        "the next one begins"
    );
    assert!(window.state.document.segment.spheres.is_empty());
    // Everything kept goes into one label map, with the live surface.
    let structures = |window: &mut Window| {
        let path = "/nowhere/at/all/all.nii.gz".into();
        let file = SegmentFile::Structures;
        act(window, SegmentAction::Save { file, path });
        let labels = window.jobs_of::<SaveLabels>().last();
        let labels = labels.expect("a label map");
        let names = labels.regions.iter().map(|r| r.0.clone());
        (names.collect::<Vec<_>>(), labels.grid.clone())
    };
    assert_eq!(window.state.segment_files(), [SegmentFile::Structures]);
    let (names, grid) = structures(&mut window);
    assert_eq!(names, ["Segment 1"]);
    assert!(grid.same_space(&mask.grid, 1e-9));
    // The reference of the next.
    act(&mut window, SegmentAction::Reference(Some(layer.id)));
    sphere(&mut window, true, dvec3(2.0, 1.0, 0.0), 6.0);
    advance(&mut window, 150);
    let figures = live(&window).figures.as_ref().expect("figures");
    let agreement = figures
        .agreement
        .as_ref()
        .expect("compared")
        .as_ref()
        .expect("on one grid");
    assert!(agreement.dice > 0.97, "{}", agreement.dice);
    assert_eq!(window.state.segment_files().len(), 4);
    assert_eq!(structures(&mut window).0, ["Segment 1", "Surface"]);
    for _ in 0..2 {
        window.act(Action::Undo);
    }
    assert!(window.state.runtime.segment.live.is_none());
    window.act(Action::Undo);
    assert!(segments(&window.state.document).is_empty());
    // The surface is at its old place.
    let back = |window: &Window| {
        assert_eq!(live(window).script.steps, mask_step);
        let now = live(window).mask.as_ref().expect("at rest");
        assert_eq!(now.inside, mask.inside);
    };
    back(&window);
    act(&mut window, SegmentAction::Clear);
    assert!(window.state.runtime.segment.live.is_none());
    window.act(Action::Undo);
    back(&window);
    let (low, high) = (60.0, 140.0);
    act(
        &mut window,
        SegmentAction::Start(Start::Values { low, high }),
    );
    assert_eq!(live(&window).step, 0);
    window.act(Action::Undo);
    back(&window);
}

fn starts() {
    let mut window = ready();
    set(&mut window, Phase::Done, |s| s.params.tolerance = 20.0);
    act(
        &mut window,
        SegmentAction::Start(Start::Values {
            low: 80.0,
            high: 120.0,
        }),
    );
    let inside = live(&window).inside;
    let voxels = image()
        .frame(0)
        .iter()
        .filter(|v| (80.0..=120.0).contains(*v))
        .count() as u64;
    // Noise is drawn again for each image; redistancing rounds off single voxels.
    assert!(
        (inside as f64 / voxels as f64 - 1.0).abs() < 0.05,
        "{inside} of {voxels}"
    );
    window.act(Action::View(ViewAction::MoveCrosshair(dvec3(
        1.0, 0.0, 0.0,
    ))));
    act(&mut window, SegmentAction::StartFromFill);
    assert!((live(&window).inside as f64 / voxels as f64 - 1.0).abs() < 0.08);
    window.place(Role::Seed, dvec3(2.0, 2.0, 2.0));
    let region = window.state.document.regions[0].id;
    act(&mut window, SegmentAction::StartFromRegion(region));
    assert!(live(&window).inside > 0 && live(&window).inside < inside);
    assert!(matches!(&window.state.document.segment.start, Start::Mask(name, _) if name == "Seed"));
    act(&mut window, SegmentAction::Start(Start::Spheres));
    assert!(window.state.runtime.segment.live.is_none());
}
