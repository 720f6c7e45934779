//! Repetitions of the live pathway: they grow while the controls rest, equal those of the command, are measured, kept,
//! exported, stopped and undone.

use super::pathways::{A, B, change, drag, live};
use super::segment::{self, sphere};
use super::{Window, file, noisy_scan};
use crate::support::test;
use arcuate::data::appearance::ColourMap;
use arcuate::data::statistics::wilson_interval;
use arcuate::data::{Grid, Mask, Role};
use arcuate::jobs::Outcome;
use arcuate::scene::{self, draw_list::VolumeStyle};
use arcuate::solvers::level_set::{Cause, Ended, Leak};
use arcuate::solvers::pathway::RepetitionParams;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::files::jobs::{SaveTractogram, SaveVolume};
use arcuate::state::methods::methods;
use arcuate::state::pathways::jobs::{
    GrowRepetitions, MeasureNoise, NOISE_DISTANCES, REPETITIONS, RepeatPathway, RepeatedPathway,
    RepeatedScan, SaveDistances,
};
use arcuate::state::pathways::{
    DistanceTarget, NOISE_ONLY, NoiseAction, NoiseFile, NoiseSettings, PathwayAction, ShownCost,
};
use arcuate::state::update::noise_command;
use arcuate::state::{Action, CommandLine, LayerId, Phase, Task, ViewAction};
use arcuate::ui::probe;
use arcuate::ui::views::{badge, legend::of_slices};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::PathBuf;
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
        test("update::noise::kept_as_a_layer", kept),
        test("update::noise::exported", exported),
        test("update::noise::drawn", drawn),
        test("update::noise::needs_a_scan_and_tensors", refused),
        test("update::noise::described", described),
        test("update::noise::another_document", another),
    ]
}

const NOISE: f64 = 60.0;

/// Two regions and the final pathway between them, in a scan with noise.
fn looking() -> Window {
    let mut window = Window::new();
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

fn noise(window: &mut Window, edit: impl FnOnce(&mut NoiseSettings)) {
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
    let noise = window.state.current_noise();
    noise.map_or(0, |noise| noise.key.repetitions)
}

fn act(window: &mut Window, action: NoiseAction) {
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
fn with_ball(window: &mut Window, name: &str, centre: DVec3, radius_mm: f64) -> LayerId {
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
    assert_eq!(window.state.noise_growth(), None);
    let batches: Vec<usize> = window
        .jobs_of::<GrowRepetitions>()
        .map(|job| job.key.repetitions)
        .collect();
    assert_eq!(batches.first(), Some(&10), "{batches:?}");
    assert_eq!(batches.last(), Some(&24), "{batches:?}");
    assert!(batches.is_sorted() && batches.len() > 1, "{batches:?}");
    let shown = window.state.current_noise().expect("repetitions").clone();
    let expected = as_command(&mut window, None);
    assert_eq!(shown.repetitions.visits, expected.repetitions.visits);
    assert_eq!(shown.repetitions.paths, expected.repetitions.paths);
    assert_eq!(shown.near, expected.near);
    assert_eq!(shown.share.values, expected.repetitions.share().values);
    assert_eq!(shown.repetitions.costs(), expected.repetitions.costs());
    let volumes = |levels: &[arcuate::state::pathways::jobs::Level]| -> Vec<f64> {
        levels.iter().map(|level| level.volume_ml).collect()
    };
    assert_eq!(volumes(&shown.levels), volumes(&expected.levels));
    // Noise moves the pathway: some voxels are in some of the repetitions only.
    let between = |s: &&f32| **s > 0.0 && **s < 1.0;
    assert!(shown.share.values.iter().filter(between).count() > 10);
    assert_eq!(shown.paths.len(), 24 - shown.repetitions.without_path());
    // The command with the same figures.
    let line = noise_command(&window.state).expect("a command").text();
    assert!(
        line.starts_with("arcuate uncertainty /data/scan.nii.gz --from "),
        "{line}"
    );
    assert!(line.contains(" --repetitions 24"), "{line}");
    assert!(line.contains(" --out noise"), "{line}");
    assert!(!line.contains("--distance-to"), "{line}");
}

fn switched() {
    let mut window = looking();
    assert!(!NoiseSettings::defaults().repeats);
    assert_eq!(window.jobs_of::<GrowRepetitions>().count(), 0);
    assert!(window.state.noise().is_none());
    assert_eq!(
        window.state.why_no_noise(),
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
    assert!(window.state.noise().is_none());
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

/// While a region is dragged there are none of the present pathway; the earlier share stays dimmed until ten new ones are
/// there.
fn reset() {
    let mut window = repeating(14);
    let before = window.state.current_noise().expect("all").share.id();
    window.state.runtime.pathways.full_ms = [Some(1e4); 2];
    let jobs = window.jobs_of::<GrowRepetitions>().count();
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Live);
    assert!(window.state.noise_is_stale());
    assert_eq!(window.state.noise_growth(), None);
    assert_eq!(window.jobs_of::<GrowRepetitions>().count(), jobs);
    let image = scene::noise::image(&window.state).expect("the earlier share");
    assert_eq!(image.volume.0.id(), before);
    assert!(image.opacity < window.state.document.pathways.opacity);
    window.holding = true;
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    // The full pathway, its comparison, and then the first batch.
    while window.jobs_of::<GrowRepetitions>().count() == jobs {
        assert!(window.state.noise_is_stale());
        let pending = window.pending.len();
        assert!(pending > 0, "work is going on");
        window.deliver(|_| {});
    }
    assert!(window.state.noise_is_stale(), "until ten are there");
    let badge = |window: &Window| badge::text(&window.state).map(|(text, _)| text);
    assert_eq!(
        badge(&window).as_deref(),
        Some("Sharpening · 0 of 14 repetitions")
    );
    window.deliver(|_| {});
    assert_eq!(count(&window), 10);
    assert!(!window.state.noise_is_stale());
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
        Some("Sharpening · 10 of 14 repetitions")
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
        assert!(window.state.noise_is_stale());
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
    window.act(Action::CancelJob(REPETITIONS));
    assert!(window.cancelled.contains(&REPETITIONS));
    assert_eq!(
        window.state.why_noise_rests(),
        Some("Stopped after 10 repetitions")
    );
    assert_eq!(window.state.noise_growth(), None);
    assert_eq!(
        window.state.why_no_noise(),
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
    let command = noise_command(&window.state).expect("a command").text();
    assert!(command.contains(" --repetitions 10"), "{command}");
    act(&mut window, NoiseAction::RepeatAgain);
    assert_eq!(count(&window), 30);
    assert_eq!(window.state.why_noise_rests(), None);
    let shown = window.state.current_noise().expect("all").clone();
    let expected = as_command(&mut window, None);
    assert_eq!(shown.repetitions.visits, expected.repetitions.visits);
}

/// With the residuals that are known, and with the figures of the command.
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
    let first = window.state.current_noise().expect("all").clone();
    noise(&mut window, |n| n.params.random_seed = 7);
    assert!(known(&window));
    let seeded = window.state.current_noise().expect("all").clone();
    assert_ne!(seeded.repetitions.paths, first.repetitions.paths);
    let expected = as_command(&mut window, None);
    assert_eq!(seeded.repetitions.visits, expected.repetitions.visits);
    change(&mut window, Phase::Done, |s| s.epsilon = 0.35);
    assert!(known(&window));
    let wider = window.state.current_noise().expect("all").clone();
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
    let shown = window.state.current_noise().expect("all").clone();
    let expected = as_command(&mut window, None);
    assert_eq!(shown.repetitions.visits, expected.repetitions.visits);
}

fn masked() {
    let mut window = repeating(20);
    let why = window.state.why_no_noise_distances();
    assert_eq!(
        why.as_deref(),
        Some("Segment a tumour or choose a mask to read distances")
    );
    let ball = with_ball(&mut window, "tumour", dvec3(12.0, 0.0, 0.0), 5.0);
    let jobs = window.jobs_of::<GrowRepetitions>().count();
    noise(&mut window, |n| n.distance_to = DistanceTarget::Layer(ball));
    assert_eq!(
        window.jobs_of::<GrowRepetitions>().count(),
        jobs,
        "shares stay"
    );
    let measured = window.state.noise_distances().expect("distances").clone();
    assert_eq!(window.state.why_no_noise_distances(), None);
    let mask = match &window.state.document.layer(ball).expect("found").content {
        arcuate::state::Content::Mask(mask) => mask.clone(),
        other => panic!("{other:?}"),
    };
    let expected = as_command(&mut window, Some(mask));
    let along = measured.along.as_ref().expect("a plot");
    let expected_along = expected.distances.as_ref().expect("distances");
    assert_eq!(along.along, expected_along.along);
    assert_eq!(along.shown, expected_along.shown);
    assert_eq!(along.nearest, expected_along.nearest);
    let separations = |levels: &[arcuate::state::pathways::jobs::Level]| -> Vec<_> {
        levels.iter().map(|level| level.from_mask).collect()
    };
    assert_eq!(separations(&measured.levels), separations(&expected.levels));
    // The wider the net, the nearer it comes.
    let nearest: Vec<f64> = measured
        .levels
        .iter()
        .map(|level| level.from_mask.expect("a distance").nearest_mm)
        .collect();
    assert!(nearest.is_sorted() && nearest[0] > 0.0, "{nearest:?}");
    let line = noise_command(&window.state).expect("a command").text();
    assert!(
        line.ends_with(" --distance-to /data/tumour.nii.gz"),
        "{line}"
    );
    // More repetitions are measured, too.
    repeat(&mut window, 26);
    let measured = window.state.noise_distances().expect("distances");
    assert_eq!(measured.repetitions, 26);
    // A mask across the path overlaps; no distance is negative.
    let across = with_ball(&mut window, "across", DVec3::ZERO, 6.0);
    noise(&mut window, |n| {
        n.distance_to = DistanceTarget::Layer(across);
    });
    let measured = window.state.noise_distances().expect("distances");
    let level = measured.levels[0].from_mask.expect("a separation");
    assert!(level.shared_ml > 0.0 && level.nearest_mm == 0.0);
    assert!(
        measured
            .along
            .as_ref()
            .is_some_and(|along| along.shown == 0.0)
    );
    window.act(Action::Undo);
    let measured = window.state.noise_distances().expect("distances");
    assert!(
        measured
            .along
            .as_ref()
            .is_some_and(|along| along.shown > 0.0)
    );
    // A layer that is gone.
    window.act(Action::Layer(arcuate::state::LayerAction::Delete(ball)));
    assert!(window.state.noise_distances().is_none());
    assert!(window.state.why_no_noise_distances().is_some());
}

/// The surface of Segment is measured where it is, and waits where it leaks.
fn from_surface() {
    let mut window = repeating(20);
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    sphere(&mut window, true, dvec3(12.0, 0.0, 0.0), 4.0);
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    assert_eq!(count(&window), 20);
    let measured = window.state.noise_distances().expect("distances").clone();
    let surface = match segment::live(&window).measured.shape.as_deref() {
        Some(arcuate::data::Shape::Mask(mask)) => mask.clone(),
        other => panic!("{other:?}"),
    };
    let expected = as_command(&mut window, Some(surface));
    let along = measured.along.as_ref().expect("a plot");
    assert_eq!(
        along.along,
        expected.distances.as_ref().expect("distances").along
    );
    // A surface is in no file that a command could name.
    match noise_command(&window.state) {
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
    assert!(window.state.noise_distances().is_none());
    assert_eq!(
        window.state.why_no_noise_distances().as_deref(),
        Some("Distances wait: the surface is leaking")
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
        window.state.why_no_noise_distances().as_deref(),
        Some("Too few repetitions for distances yet")
    );
    assert_eq!(window.jobs_of::<MeasureNoise>().count(), 0);
    // The distances of all are measured before the next batch, or after the last.
    while !window.pending.is_empty() {
        window.deliver(|_| {});
    }
    assert_eq!(count(&window), 22);
    assert!(window.state.noise_distances().is_some());
    window.act(Action::CancelJob(NOISE_DISTANCES));
    window.holding = false;
    window.state.runtime.jobs.running.clear();
    repeat(&mut window, 12);
    let why = window.state.why_no_noise_distances().expect("a reason");
    assert!(why.contains("at least 20 repetitions"), "{why}");
}

fn kept() {
    let mut window = looking();
    act(&mut window, NoiseAction::KeepShare);
    let messages = segment::messages(&window);
    assert!(messages.contains("Repeat the pathway first"), "{messages}");
    repeat(&mut window, 12);
    let share = window.state.current_noise().expect("all").share.clone();
    act(&mut window, NoiseAction::KeepShare);
    let document = &window.state.document;
    let layer = document.layers.last().expect("the share").clone();
    assert_eq!(layer.name, "Share of repetitions of Seed – Target");
    assert_eq!(layer.display.colour_map, ColourMap::Share);
    assert_eq!(layer.content.volume().expect("an image").id(), share.id());
    let recipe = document.share_recipe(layer.id).expect("a recipe");
    let expected = RepetitionParams {
        repetitions: 12,
        random_seed: 1,
    };
    assert_eq!(recipe.repetitions, expected);
    assert_eq!(recipe.epsilon, document.pathways.epsilon);
    let own = document.command_line(&layer).text();
    assert_eq!(
        Some(own),
        noise_command(&window.state).map(|line| line.text())
    );
    // The layer is seen: neither the cost nor the live share covers it.
    assert_eq!(document.pathways.shown, ShownCost::Off);
    let legend = of_slices(&window.state).and_then(|l| l.sentence());
    let legend = legend.expect("a colour bar");
    assert!(legend.starts_with(&layer.name), "{legend}");
    let text = methods(&window.state);
    assert!(
        text.contains("gives the share of 12 repetitions with random signs"),
        "{text}"
    );
    // It is no image to segment or to paint on.
    let segmented = window.state.document.segmented_image();
    assert_ne!(segmented.map(|(l, _)| l.id), Some(layer.id));
    let layers = window.state.document.layers.len();
    act(&mut window, NoiseAction::KeepShare);
    assert_eq!(
        window.state.document.layers.len(),
        layers,
        "the same share is the same layer"
    );
    window.act(Action::Undo);
    window.act(Action::Undo);
    assert!(window.state.document.layer(layer.id).is_none());
    assert_eq!(window.state.document.pathways.shown, ShownCost::Total);
    assert!(window.state.document.pathways.noise.shows_share);
}

fn exported() {
    let mut window = looking();
    let path = |name: &str| PathBuf::from("/nowhere").join(name);
    let save = |window: &mut Window, file: NoiseFile, name: &str| {
        act(window, NoiseAction::Save(file, path(name)));
    };
    save(&mut window, NoiseFile::Share, "share.nii.gz");
    assert_eq!(window.jobs_of::<SaveVolume>().count(), 0, "there are none");
    repeat(&mut window, 20);
    let shown = window.state.current_noise().expect("all").clone();
    save(&mut window, NoiseFile::Share, "share.nii.gz");
    let job = window.jobs_of::<SaveVolume>().next_back().expect("a file");
    assert_eq!(job.volume.id(), shown.share.id());
    assert!(
        job.command.starts_with("arcuate uncertainty "),
        "{}",
        job.command
    );
    save(&mut window, NoiseFile::Paths, "paths.tck");
    let job = window
        .jobs_of::<SaveTractogram>()
        .next_back()
        .expect("a file");
    assert_eq!(job.tractogram.id(), shown.paths.id());
    save(&mut window, NoiseFile::Distances, "distances.csv");
    assert_eq!(window.jobs_of::<SaveDistances>().count(), 0);
    let messages = segment::messages(&window);
    assert!(messages.contains("choose a mask"), "{messages}");
    let ball = with_ball(&mut window, "tumour", dvec3(12.0, 0.0, 0.0), 5.0);
    noise(&mut window, |n| n.distance_to = DistanceTarget::Layer(ball));
    save(&mut window, NoiseFile::Distances, "distances.csv");
    let job = window
        .jobs_of::<SaveDistances>()
        .next_back()
        .expect("a file");
    let shown = window.state.noise_distances().expect("distances");
    let along = shown.along.as_ref().expect("a plot");
    assert!(Arc::ptr_eq(&job.distances, along));
}

/// On slices and in 3-D, in place of the cost; the paths as thin lines; the voxel at the crosshair.
fn drawn() {
    let mut window = repeating(10);
    let shown = window.state.current_noise().expect("all").clone();
    let image = scene::pathways::image(&window.state).expect("an image");
    assert_eq!(image.volume.0.id(), shown.share.id());
    assert!(image.transparent_below && image.window.0 > 0.0);
    let clouds = |window: &Window| {
        let volumes = scene::pathways::volumes(&window.state, &window.state.view.camera);
        let clouds = volumes
            .into_iter()
            .filter(|v| v.style == VolumeStyle::Cloud);
        clouds.map(|v| v.volume.0.id()).collect::<Vec<_>>()
    };
    assert_eq!(clouds(&window), [shown.share.id()]);
    let has_paths = |window: &Window| {
        let lines = scene::pathways::lines(&window.state);
        lines
            .iter()
            .any(|l| l.tractogram.0.id() == shown.paths.id())
    };
    assert!(has_paths(&window));
    let legend = of_slices(&window.state).and_then(|l| l.sentence());
    assert_eq!(
        legend.as_deref(),
        Some("Share of repetitions 0\u{202f}% to 100\u{202f}%")
    );
    // A voxel of the path is in all or nearly all of them.
    let path = &live(&window).path;
    let middle = path.point_at(0.5 * path.total_mm()).expect("a point");
    window.act(Action::View(ViewAction::MoveCrosshair(middle)));
    let (some, all) = window.state.noise_at_crosshair().expect("counts");
    assert!(all == 10 && some > 0, "{some} of {all}");
    let [low, high] = wilson_interval(some, all).map(|s| (100.0 * s).round());
    let readings = probe::readings(&window.state);
    let own = readings.iter().find(|r| r.name == "In repetitions");
    let value = &own.expect("a reading").value;
    assert_eq!(value, &format!("{some} of 10 ({low}–{high}\u{202f}%)"));
    noise(&mut window, |n| {
        (n.shows_share, n.shows_paths) = (false, false)
    });
    let image = scene::pathways::image(&window.state).expect("the cost");
    assert_eq!(image.volume.0.id(), live(&window).excess.id());
    assert_eq!(clouds(&window), [live(&window).excess.id()]);
    assert!(!has_paths(&window));
    assert_eq!(window.jobs_of::<GrowRepetitions>().count(), 1);
}

fn refused() {
    let mut window = repeating(10);
    // The scan of the tensors is no longer open.
    let jobs = window.jobs_of::<GrowRepetitions>().count();
    let tensors = window.state.document.tensors.as_mut().expect("tensors");
    let tensors = Arc::make_mut(tensors);
    tensors.key.scan = arcuate::data::Volume::scalar(
        tensors.fa.grid.clone(),
        vec![0.0; tensors.fa.grid.voxel_count()],
    )
    .id();
    let why = window.state.document.why_no_repetitions();
    assert!(
        why.is_some_and(|why| why.contains("no longer open")),
        "{why:?}"
    );
    assert_eq!(window.state.why_no_noise(), why);
    assert!(window.state.noise_key().is_none());
    window.state.document.pathways.model = arcuate::state::track::types::odf::Model::Distributions;
    let why = window.state.document.why_no_repetitions();
    assert_eq!(why, Some("Only a pathway through tensors has repetitions"));
    assert_eq!(window.jobs_of::<GrowRepetitions>().count(), jobs);
    // A replay repeats the stored results only.
    let mut window = looking();
    window.state.runtime.sessions.strict = true;
    repeat(&mut window, 10);
    assert_eq!(window.jobs_of::<GrowRepetitions>().count(), 0);
}

fn described() {
    let mut window = repeating(12);
    let text = methods(&window.state);
    let expected = "12 repetitions with random signs of the residuals of the fit (wild bootstrap";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("random seed 1)"), "{text}");
    assert!(text.contains("Whitcher B"), "{text}");
    assert!(text.contains(NOISE_ONLY), "{text}");
    noise(&mut window, |n| n.repeats = false);
    assert!(!methods(&window.state).contains("wild bootstrap"));
}

/// The batch of a closed document changes nothing in the next one.
fn another() {
    let mut window = looking();
    window.holding = true;
    repeat(&mut window, 12);
    while window.jobs_of::<GrowRepetitions>().count() == 0 {
        window.deliver(|_| {});
    }
    let leave = arcuate::state::SessionAction::CloseDocument(arcuate::state::UnsavedAction::New);
    window.state.history.clear();
    window.act(Action::Session(leave));
    window.act(Action::Session(arcuate::state::SessionAction::Discard));
    assert!(window.state.document.regions.is_empty(), "left");
    window.holding = false;
    window.deliver(|_| {});
    assert!(window.state.runtime.pathways.noise.live.value().is_none());
    assert!(REPETITIONS.is_of_document() && NOISE_DISTANCES.is_of_document());
}
