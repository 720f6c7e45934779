//! Repetitions of the live pathway: they grow while the controls rest, equal those of the command, are measured, kept,
//! exported, stopped and undone.

mod results;

use super::pathways::{A, B, change, drag};
use super::segment::{self, sphere};
use super::{Window, file, noisy_scan};
use crate::support::test;
use arcuate::data::{Grid, Mask, Role};
use arcuate::jobs::Outcome;
use arcuate::scene;
use arcuate::solvers::level_set::{Cause, Ended, Leak};
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::pathways::jobs::{
    GrowRepetitions, MeasurePathwayNoise, PATHWAY_NOISE, PATHWAY_NOISE_DISTANCES, RepeatPathway,
    RepeatedPathway, RepeatedScan,
};
use arcuate::state::pathways::{
    DistanceTarget, NoiseDistances, PathwayAction, PathwayNoiseAction, PathwayNoiseSettings,
};
use arcuate::state::update::pathway_noise_command;
use arcuate::state::{Action, CommandLine, LayerId, Pane, Phase, Task, ViewAction};
use arcuate::ui::views::badge;
use glam::{DVec2, DVec3, Vec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::noise::grows_to_the_figures_of_the_command", grown),
        test("update::noise::off_by_default_and_undone", switched),
        test("update::noise::a_drag_resets", reset),
        test("update::noise::a_drag_of_the_width_waits", dragged_width),
        test("update::noise::stopped_and_continued", stopped),
        test("update::noise::a_new_width_or_seed_starts_again", restarted),
        test("update::noise::more_or_fewer_repetitions", other_counts),
        test("update::noise::distances_from_a_mask", masked),
        test("update::noise::distances_from_the_surface", from_surface),
        test("update::noise::too_few_for_distances", too_few),
        test("update::noise::kept_as_a_layer", results::kept),
        test("update::noise::exported", results::exported),
        test("update::noise::drawn", results::drawn),
        test("update::noise::needs_a_scan_and_tensors", results::refused),
        test("update::noise::described", results::described),
        test("update::noise::another_document", results::another),
    ]
}

const NOISE: f64 = 60.0;
/// A pane in which drawn values are compared.
pub const SIZE: scene::Size = scene::Size {
    points: DVec2::splat(400.0),
    pixels_per_point: 1.0,
};

/// Two regions and the final pathway between them, in a scan with noise.
fn looking() -> Window {
    let mut window = Window::new();
    window.has_few_pairs = true;
    let (dwi, gradients) = noisy_scan(NOISE);
    let loaded = Loaded::Scan {
        dwi,
        gradients: Some(Arc::new(gradients)),
        gradient_files: Vec::new(),
    };
    window.act(Action::Event(file("/data/scan.nii.gz", loaded)));
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.place(Role::Seed, A);
    window.place(Role::Target, B);
    assert!(window.state.final_pathway().is_some());
    window
}

fn noise(window: &mut Window, edit: impl FnOnce(&mut PathwayNoiseSettings)) {
    change(window, Phase::Done, |s| edit(&mut s.noise));
}

/// Repeats the pathway this often.
fn repeat(window: &mut Window, repetitions: usize) {
    noise(window, |n| {
        (n.repeats, n.params.repetitions) = (true, repetitions);
    });
}

fn repeating(repetitions: usize) -> Window {
    let mut window = looking();
    repeat(&mut window, repetitions);
    window
}

fn count(window: &Window) -> usize {
    let noise = window.state.current_pathway_noise();
    noise.map_or(0, |noise| noise.key.repetitions)
}

fn act(window: &mut Window, action: PathwayNoiseAction) {
    window.act(Action::Pathway(PathwayAction::Noise(action)));
}

/// The job of the command, run at once.
fn as_command(window: &mut Window, distance_to: Option<Mask>) -> Box<RepeatedPathway> {
    let document = &window.state.document;
    let scan = document.resample().expect("the scan");
    let settings = &document.pathways;
    let job = RepeatPathway {
        pathway: window.state.final_pathway().expect("final").clone(),
        epsilon: settings.epsilon,
        scan: RepeatedScan::Tensors {
            dwi: scan.dwi,
            gradients: scan.gradients,
            fit: scan.params,
        },
        params: settings.noise.params,
        distance_to,
    };
    let handle = window.jobs.submit(job);
    let event = window.jobs.wait(&handle, |_| {});
    match event.into_outcome::<RepeatPathway>() {
        Some(Outcome::Done(repeated)) => repeated,
        other => panic!("{other:?}"),
    }
}

/// A mask layer with a ball beside the path.
pub(super) fn with_ball(window: &mut Window, name: &str, centre: DVec3, radius_mm: f64) -> LayerId {
    let grid = Grid::axis_aligned([40, 40, 40], DVec3::splat(1.0), DVec3::splat(-19.5));
    let grid = Arc::new(grid.expect("a grid"));
    let mask = crate::support::fields::ball(&grid, centre, radius_mm);
    let path = format!("/data/{name}.nii.gz");
    window.act(Action::Event(file(&path, Loaded::Mask(mask))));
    window
        .state
        .document
        .layer_named(name)
        .expect("the mask")
        .id
}

fn grown() {
    let mut window = repeating(24);
    assert_eq!(count(&window), 24);
    assert_eq!(window.state.pathway_noise_growth(), None);
    let batches: Vec<usize> = window
        .jobs_of::<GrowRepetitions>()
        .map(|job| job.key.repetitions)
        .collect();
    assert_eq!(batches.first(), Some(&10), "{batches:?}");
    assert_eq!(batches.last(), Some(&24), "{batches:?}");
    assert!(batches.is_sorted() && batches.len() > 1, "{batches:?}");
    let shown = window
        .state
        .current_pathway_noise()
        .expect("repetitions")
        .clone();
    let expected = as_command(&mut window, None);
    assert_eq!(shown.repetitions.visits, expected.repetitions.visits);
    assert_eq!(shown.repetitions.paths, expected.repetitions.paths);
    assert_eq!(shown.near, expected.near);
    assert_eq!(shown.share.values, expected.repetitions.share().values);
    assert_eq!(shown.repetitions.costs(), expected.repetitions.costs());
    let volumes = |levels: &[arcuate::state::pathways::Level]| -> Vec<f64> {
        levels.iter().map(|level| level.volume_ml).collect()
    };
    assert_eq!(volumes(&shown.levels), volumes(&expected.measured.levels));
    // Noise moves the pathway: some voxels are in some of the repetitions only.
    let between = |s: &&f32| **s > 0.0 && **s < 1.0;
    assert!(shown.share.values.iter().filter(between).count() > 10);
    assert_eq!(shown.paths.len(), 24 - shown.repetitions.without_path());
    // The command with the same figures.
    let line = pathway_noise_command(&window.state)
        .expect("a command")
        .text();
    assert!(
        line.starts_with("arcuate uncertainty /data/scan.nii.gz ") && line.contains(" --from "),
        "{line}"
    );
    assert!(line.contains(" --repetitions 24"), "{line}");
    assert!(line.contains(" --out noise"), "{line}");
    assert!(!line.contains("--distance-to"), "{line}");
}

fn switched() {
    let mut window = looking();
    assert!(!PathwayNoiseSettings::defaults().repeats);
    assert_eq!(window.jobs_of::<GrowRepetitions>().count(), 0);
    assert!(window.state.pathway_noise().is_none());
    assert_eq!(
        window.state.why_no_pathway_noise(),
        Some("Repeat the pathway first")
    );
    repeat(&mut window, 12);
    assert_eq!(count(&window), 12);
    assert_eq!(
        window.state.history.undo_label(),
        Some("Repeat the pathway")
    );
    // In other tasks nothing of it is shown or computed.
    let jobs = window.jobs_of::<GrowRepetitions>().count();
    window.act(Action::View(ViewAction::SelectTask(Task::View)));
    assert!(window.state.pathway_noise().is_none());
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    assert_eq!(window.jobs_of::<GrowRepetitions>().count(), jobs);
    window.act(Action::Undo);
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.act(Action::Undo);
    assert!(!window.state.document.pathways.noise.repeats);
    assert!(window.state.runtime.pathways.noise.live.value().is_none());
    window.act(Action::Redo);
    assert_eq!(count(&window), 12);
}

/// A drag leaves no repetitions of the present pathway; the earlier share stays dimmed until ten new ones are finished.
fn reset() {
    let mut window = repeating(14);
    let before = window
        .state
        .current_pathway_noise()
        .expect("all")
        .share
        .id();
    window.state.runtime.pathways.full_ms = [Some(1e4); 2];
    let jobs = window.jobs_of::<GrowRepetitions>().count();
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Live);
    assert!(window.state.pathway_noise_is_stale());
    assert_eq!(window.state.pathway_noise_growth(), None);
    assert_eq!(window.jobs_of::<GrowRepetitions>().count(), jobs);
    let image = scene::noise::image(&window.state).expect("the earlier share");
    assert_eq!(image.volume.0.id(), before);
    assert!(image.opacity < window.state.document.pathways.opacity);
    window.holding = true;
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    // The full pathway, its comparison, and then the first batch.
    while window.jobs_of::<GrowRepetitions>().count() == jobs {
        assert!(window.state.pathway_noise_is_stale());
        let pending = window.pending.len();
        assert!(pending > 0, "work is going on");
        window.deliver(|_| {});
    }
    assert!(window.state.pathway_noise_is_stale(), "until ten are there");
    let badge = |window: &Window| badge::text(&window.state).map(|(text, _)| text);
    assert_eq!(
        badge(&window).as_deref(),
        Some("Repeating · 0 of 14 repetitions")
    );
    window.deliver(|_| {});
    assert_eq!(count(&window), 10);
    assert!(!window.state.pathway_noise_is_stale());
    let job = window
        .jobs_of::<GrowRepetitions>()
        .next_back()
        .expect("a batch");
    assert!(
        job.key.repetitions > 10 && job.rest.is_zero(),
        "the rest follows at once"
    );
    assert_eq!(
        badge(&window).as_deref(),
        Some("Repeating · 10 of 14 repetitions")
    );
    window.holding = false;
    window.deliver(|_| {});
    assert_eq!(badge(&window).as_deref(), Some("Final · 14 repetitions"));
}

/// A drag of the width solves no pathway, and starts no repetitions until it ends.
fn dragged_width() {
    let mut window = repeating(10);
    let jobs = window.jobs_of::<GrowRepetitions>().count();
    for epsilon in [0.21, 0.22, 0.23] {
        change(&mut window, Phase::Live, |s| s.epsilon = epsilon);
        assert!(window.state.pathway_noise_is_stale());
    }
    assert_eq!(window.jobs_of::<GrowRepetitions>().count(), jobs);
    change(&mut window, Phase::Done, |s| s.epsilon = 0.23);
    assert_eq!(window.jobs_of::<GrowRepetitions>().count(), jobs + 1);
    assert_eq!(count(&window), 10);
}

fn stopped() {
    let mut window = looking();
    window.holding = true;
    repeat(&mut window, 30);
    while window.jobs_of::<GrowRepetitions>().count() == 0 {
        window.deliver(|_| {});
    }
    window.deliver(|_| {});
    assert_eq!(count(&window), 10);
    window.act(Action::CancelJob(PATHWAY_NOISE));
    assert!(window.cancelled.contains(&PATHWAY_NOISE));
    assert_eq!(
        window.state.why_pathway_noise_rests(),
        Some("Stopped after 10 repetitions")
    );
    assert_eq!(window.state.pathway_noise_growth(), None);
    assert_eq!(
        badge::text(&window.state).map(|(text, _)| text).as_deref(),
        Some("Stopped · 10 of 30 repetitions")
    );
    assert_eq!(
        window.state.why_no_pathway_noise(),
        None,
        "those that are there can be kept"
    );
    let status = window.state.runtime.notices.status.to_string();
    assert_eq!(status, "Stopped after 10 repetitions");
    let jobs = window.jobs_of::<GrowRepetitions>().count();
    // Another change of the state does not start them again.
    window.pending.clear();
    window.state.runtime.jobs.running.clear();
    window.holding = false;
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ONE)));
    assert_eq!(window.jobs_of::<GrowRepetitions>().count(), jobs);
    let command = pathway_noise_command(&window.state)
        .expect("a command")
        .text();
    assert!(command.contains(" --repetitions 10"), "{command}");
    act(&mut window, PathwayNoiseAction::RepeatAgain);
    assert_eq!(count(&window), 30);
    assert_eq!(window.state.why_pathway_noise_rests(), None);
    let shown = window.state.current_pathway_noise().expect("all").clone();
    let expected = as_command(&mut window, None);
    assert_eq!(shown.repetitions.visits, expected.repetitions.visits);
}

/// The known residuals are reused, and the results equal those of the command.
fn restarted() {
    let mut window = repeating(10);
    let known = |window: &Window| {
        let job = window
            .jobs_of::<GrowRepetitions>()
            .next_back()
            .expect("a batch");
        job.known.is_some()
    };
    assert!(!known(&window));
    let first = window.state.current_pathway_noise().expect("all").clone();
    noise(&mut window, |n| n.params.random_seed = 7);
    assert!(known(&window));
    let seeded = window.state.current_pathway_noise().expect("all").clone();
    assert_ne!(seeded.repetitions.paths, first.repetitions.paths);
    let expected = as_command(&mut window, None);
    assert_eq!(seeded.repetitions.visits, expected.repetitions.visits);
    change(&mut window, Phase::Done, |s| s.epsilon = 0.35);
    assert!(known(&window));
    let wider = window.state.current_pathway_noise().expect("all").clone();
    assert_eq!(wider.repetitions.paths, seeded.repetitions.paths);
    let sum = |visits: &[u32]| visits.iter().sum::<u32>();
    assert!(sum(&wider.repetitions.visits) > sum(&seeded.repetitions.visits));
    let expected = as_command(&mut window, None);
    assert_eq!(wider.repetitions.visits, expected.repetitions.visits);
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    assert!(!known(&window), "another pathway has other residuals");
    assert_eq!(count(&window), 10);
}

fn other_counts() {
    let mut window = repeating(12);
    repeat(&mut window, 20);
    assert_eq!(count(&window), 20);
    let job = window
        .jobs_of::<GrowRepetitions>()
        .next_back()
        .expect("a batch");
    let known = job.known.as_ref().expect("those before");
    assert!(known.key.repetitions >= 12, "they are continued");
    // Fewer are other repetitions: counts do not say which of them a voxel was in.
    repeat(&mut window, 12);
    assert_eq!(count(&window), 12);
    let shown = window.state.current_pathway_noise().expect("all").clone();
    let expected = as_command(&mut window, None);
    assert_eq!(shown.repetitions.visits, expected.repetitions.visits);
}

fn masked() {
    let mut window = repeating(20);
    let why = window.state.why_no_pathway_noise_distances();
    assert_eq!(
        why.as_deref(),
        Some("Segment a tumour or choose a mask to measure distances")
    );
    let ball = with_ball(&mut window, "tumour", dvec3(12.0, 0.0, 0.0), 5.0);
    let jobs = window.jobs_of::<GrowRepetitions>().count();
    noise(&mut window, |n| n.distance_to = DistanceTarget::Layer(ball));
    assert_eq!(
        window.jobs_of::<GrowRepetitions>().count(),
        jobs,
        "shares stay"
    );
    let measured = window
        .state
        .pathway_noise_distances()
        .expect("distances")
        .clone();
    assert_eq!(window.state.why_no_pathway_noise_distances(), None);
    let mask = match &window.state.document.layer(ball).expect("found").content {
        arcuate::state::Content::Mask(mask) => mask.clone(),
        other => panic!("{other:?}"),
    };
    let expected = as_command(&mut window, Some(mask));
    let along = measured.along.as_ref().expect("a plot");
    let expected_along = expected.measured.along.as_ref().expect("distances");
    assert_eq!(along.along, expected_along.along);
    assert_eq!(along.shown, expected_along.shown);
    assert_eq!(along.nearest, expected_along.nearest);
    // The object has an outline and a surface, its margin is a dashed line; the shortest line has the stated length.
    let contours = scene::noise::object_contours(&window.state);
    let [outline, margin] = &contours[..] else {
        panic!("{contours:?}");
    };
    assert!(!outline.dashed && outline.level == 0.0);
    assert!(margin.dashed && margin.level == 5.0);
    let surface = scene::noise::object_surface(&window.state).expect("a surface");
    let (line, mm) = scene::noise::shortest(&window.state).expect("a line");
    let ends = [line.points[0], line.points[1]].map(|at| Vec3::from(at).as_dvec3());
    assert!((ends[0].distance(ends[1]) - mm).abs() < 1e-3 && mm == along.shown);
    let slice = scene::slice(&window.state, Pane::Axial, SIZE).expect("a slice");
    assert!(slice.contours.contains(outline) && slice.contours.contains(margin));
    let scene = scene::scene(&window.state, SIZE);
    assert!(scene.volumes.contains(&surface));
    let drawn = scene.lines.into_iter();
    let mut drawn = drawn.map(|lines| lines.tractogram.0.id());
    assert!(drawn.any(|id| id == line.id()));
    noise(&mut window, |n| n.margin_mm = 0.0);
    assert_eq!(scene::noise::object_contours(&window.state).len(), 1);
    window.act(Action::Undo);
    let separations = |levels: &[arcuate::state::pathways::Level]| -> Vec<_> {
        levels.iter().map(|level| level.from_mask).collect()
    };
    assert_eq!(
        separations(&measured.levels),
        separations(&expected.measured.levels)
    );
    // A lower share gives a larger volume, which lies nearer.
    let nearest: Vec<f64> = measured
        .levels
        .iter()
        .map(|level| level.from_mask.expect("a distance").nearest_mm)
        .collect();
    assert!(nearest.is_sorted() && nearest[0] > 0.0, "{nearest:?}");
    let line = pathway_noise_command(&window.state)
        .expect("a command")
        .text();
    assert!(
        line.ends_with(" --distance-to /data/tumour.nii.gz"),
        "{line}"
    );
    // More repetitions are measured, too.
    repeat(&mut window, 26);
    let more = window.state.pathway_noise_distances().expect("distances");
    assert_eq!(more.repetitions, 26);
    let around = |measured: &NoiseDistances| measured.around.as_ref().map(|a| a.volume.id());
    assert!(around(&measured).is_some());
    assert_eq!(
        around(more),
        around(&measured),
        "distances around the mask stay"
    );
    // A mask across the path overlaps; no distance is negative.
    let across = with_ball(&mut window, "across", DVec3::ZERO, 6.0);
    noise(&mut window, |n| {
        n.distance_to = DistanceTarget::Layer(across);
    });
    let measured = window.state.pathway_noise_distances().expect("distances");
    let level = measured.levels[0].from_mask.expect("a separation");
    assert!(level.shared_ml > 0.0 && level.nearest_mm == 0.0);
    assert!(scene::noise::shortest(&window.state).is_none());
    assert!(
        measured
            .along
            .as_ref()
            .is_some_and(|along| along.shown == 0.0)
    );
    window.act(Action::Undo);
    let measured = window.state.pathway_noise_distances().expect("distances");
    assert!(
        measured
            .along
            .as_ref()
            .is_some_and(|along| along.shown > 0.0)
    );
    // A layer that is gone.
    window.act(Action::Layer(arcuate::state::LayerAction::Delete(ball)));
    assert!(window.state.pathway_noise_distances().is_none());
    assert!(window.state.why_no_pathway_noise_distances().is_some());
}

/// The surface of Segment is measured where it is, and waits where it leaks.
fn from_surface() {
    let mut window = repeating(20);
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    sphere(&mut window, true, dvec3(12.0, 0.0, 0.0), 4.0);
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    assert_eq!(count(&window), 20);
    let measured = window
        .state
        .pathway_noise_distances()
        .expect("distances")
        .clone();
    let surface = match segment::live(&window).measured.shape.as_deref() {
        Some(arcuate::data::Shape::Mask(mask)) => mask.clone(),
        other => panic!("{other:?}"),
    };
    let expected = as_command(&mut window, Some(surface));
    let along = measured.along.as_ref().expect("a plot");
    assert_eq!(
        along.along,
        expected.measured.along.as_ref().expect("distances").along
    );
    // A surface is in no file that a command could name.
    match pathway_noise_command(&window.state) {
        Some(line @ CommandLine::NoCommand(_)) => {
            assert!(
                line.text().contains("Surface of Segment"),
                "{}",
                line.text()
            );
        }
        other => panic!("{other:?}"),
    }
    let live = window.state.runtime.segment.live.as_mut().expect("found");
    Arc::make_mut(live).ended = Ended::Leaked(Leak {
        rewind_step: 0,
        noticed: 3,
        cause: Cause::Growth,
    });
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ONE)));
    assert!(window.state.pathway_noise_distances().is_none());
    assert_eq!(
        window.state.why_no_pathway_noise_distances().as_deref(),
        Some("No distances while the surface is leaking")
    );
    assert_eq!(count(&window), 20, "the repetitions stay");
}

fn too_few() {
    let mut window = looking();
    let ball = with_ball(&mut window, "tumour", dvec3(12.0, 0.0, 0.0), 5.0);
    noise(&mut window, |n| n.distance_to = DistanceTarget::Layer(ball));
    window.holding = true;
    repeat(&mut window, 22);
    while count(&window) < 10 {
        window.deliver(|_| {});
    }
    assert_eq!(
        window.state.why_no_pathway_noise_distances().as_deref(),
        Some("Too few repetitions for distances yet")
    );
    assert_eq!(window.jobs_of::<MeasurePathwayNoise>().count(), 0);
    // The distances of all are measured before the next batch, or after the last.
    while !window.pending.is_empty() {
        window.deliver(|_| {});
    }
    assert_eq!(count(&window), 22);
    assert!(window.state.pathway_noise_distances().is_some());
    window.act(Action::CancelJob(PATHWAY_NOISE_DISTANCES));
    window.holding = false;
    window.state.runtime.jobs.running.clear();
    repeat(&mut window, 12);
    let why = window
        .state
        .why_no_pathway_noise_distances()
        .expect("a reason");
    assert!(why.contains("at least 20 repetitions"), "{why}");
}
