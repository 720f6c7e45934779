//! Repetitions of the bootstrap of streamlines: compared once the full result is there, measured, kept, exported, drawn,
//! stopped and undone.

use super::pathway_noise::{SIZE, with_ball};
use super::pathways::{A, B, drag};
use super::segment::messages;
use super::{Window, file, noisy_scan};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::Role;
use arcuate::data::appearance::ColourMap;
use arcuate::data::statistics::wilson_interval;
use arcuate::data::tractogram::REPETITION;
use arcuate::scene;
use arcuate::scene::draw_list::VolumeStyle;
use arcuate::solvers::curves::{Params, Seeding};
use arcuate::solvers::tractogram::repetitions::RepeatedStreamlines;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::files::jobs::{SaveTractogram, SaveVolume};
use arcuate::state::methods::methods;
use arcuate::state::pathways::jobs::SaveDistances;
use arcuate::state::pathways::{DistanceTarget, NOISE_ONLY, NoiseFile};
use arcuate::state::track_noise::jobs::{
    CompareRepetitions, MeasureTrackNoise, TRACK_NOISE, TrackNoise,
};
use arcuate::state::track_noise::{TrackNoiseAction, TrackNoiseSettings};
use arcuate::state::update::track_noise_command;
use arcuate::state::{Action, Pane, Phase, Task, TrackAction, ViewAction};
use arcuate::ui::format::interval_text;
use arcuate::ui::probe;
use arcuate::ui::views::legend;
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "update::track_noise::compared_after_the_full_result",
            compared,
        ),
        test("update::track_noise::dimmed_during_a_drag", dragged),
        test("update::track_noise::other_tasks", other_tasks),
        test("update::track_noise::stopped_and_continued", stopped),
        test("update::track_noise::distances_from_a_mask", masked),
        test("update::track_noise::too_few_for_distances", too_few),
        test("update::track_noise::kept_as_a_layer", kept),
        test("update::track_noise::exported", exported),
        test("update::track_noise::drawn", drawn),
        test("update::track_noise::settings_are_undone", settings),
        test("update::track_noise::described", described),
    ]
}

/// A seed and a target in a scan with noise, without a bootstrap.
fn tracked() -> Window {
    let mut window = Window::new();
    let (dwi, gradients) = noisy_scan(60.0);
    let loaded = Loaded::Scan {
        dwi,
        gradients: Some(Arc::new(gradients)),
        gradient_files: Vec::new(),
    };
    window.act(Action::Event(file("/data/scan.nii.gz", loaded)));
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    window.place(Role::Seed, A);
    window.place(Role::Target, B);
    assert!(window.state.final_live().is_some());
    window
}

fn bootstrap(window: &mut Window, repetitions: Option<usize>) {
    let params = Params {
        seeding: Seeding::Random { count: 40 },
        repetitions,
        ..window.state.document.track.streamlines.clone()
    };
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetStreamlines { params, phase }));
}

fn repeating(repetitions: usize) -> Window {
    let mut window = tracked();
    bootstrap(&mut window, Some(repetitions));
    window
}

fn set(window: &mut Window, edit: impl FnOnce(&mut TrackNoiseSettings)) {
    let mut settings = window.state.document.track.noise.clone();
    edit(&mut settings);
    let phase = Phase::Done;
    act(window, TrackNoiseAction::Set { settings, phase });
}

fn act(window: &mut Window, action: TrackNoiseAction) {
    window.act(Action::TrackNoise(action));
}

fn shown(window: &Window) -> Arc<TrackNoise> {
    let noise = window.state.current_track_noise();
    noise.expect("repetitions").clone()
}

fn jobs(window: &Window) -> usize {
    window.jobs_of::<CompareRepetitions>().count()
}

fn compared() {
    let mut window = tracked();
    assert_eq!(jobs(&window), 0);
    assert!(window.state.track_noise().is_none());
    assert_eq!(
        window.state.why_no_track_noise(),
        Some("Set Bootstrap first")
    );
    bootstrap(&mut window, Some(24));
    assert_eq!(jobs(&window), 1, "once for the full result");
    let noise = shown(&window);
    let live = window.state.final_live().expect("final");
    let kept = &live.output.kept;
    let grid = kept.grid.clone().expect("that of the tensors");
    assert_eq!(grid.shape, [24; 3]);
    let backend = crate::support::fields::backend(1);
    let expected = RepeatedStreamlines::new(kept, 24, &grid, &backend, &Control::new());
    let expected = expected.expect("repetitions");
    assert_eq!(noise.repeated.visits, expected.visits);
    assert_eq!(noise.repeated.centres, expected.centres);
    assert_eq!(noise.share.values, expected.share().values);
    // Noise moves the streamlines: some voxels are in some of the repetitions only.
    let between = |s: &&f32| **s > 0.0 && **s < 1.0;
    assert!(noise.share.values.iter().filter(between).count() > 10);
    // Each centre line is a streamline of its repetition.
    let numbers = &noise.centre_lines.per_streamline[REPETITION];
    let lines = noise.centre_lines.streamlines().zip(numbers.iter());
    for ((line, number), centre) in lines.zip(expected.centres.iter().flatten()) {
        assert_eq!(line, kept.streamline(*centre));
        assert_eq!(*number, kept.per_streamline[REPETITION][*centre]);
    }
    assert_eq!(noise.paths.len(), noise.centre_lines.len());
    let middle = noise.middle_line().expect("a middle line");
    assert!(middle.total_mm() > 20.0, "{}", middle.total_mm());
    let line = track_noise_command(&window.state)
        .expect("a command")
        .text();
    assert!(
        line.starts_with("arcuate track /data/scan.nii.gz ") && line.contains(" --bootstrap 24"),
        "{line}"
    );
    assert!(line.ends_with(" --out tracks.tck --noise noise"), "{line}");
    // Without a bootstrap nothing of it stays.
    bootstrap(&mut window, None);
    assert!(window.state.track_noise().is_none());
    assert!(window.state.runtime.track.noise.live.value().is_none());
    assert_eq!(jobs(&window), 1);
}

/// While a region is dragged the streamlines are coarse: the share of the earlier ones stays, dimmed.
fn dragged() {
    let mut window = repeating(12);
    let before = shown(&window);
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Live);
    assert!(window.state.track_noise_is_stale());
    assert_eq!(
        window.state.why_no_track_noise(),
        Some("Waiting for the full result")
    );
    assert_eq!(jobs(&window), 1);
    let image = scene::noise::image(&window.state).expect("the earlier share");
    assert_eq!(image.volume.0.id(), before.share.id());
    assert!(image.opacity < 0.8);
    let legend = legend::of_slices(&window.state);
    assert!(
        matches!(legend, Some(legend::Legend::Bar { is_stale: true, .. })),
        "{legend:?}"
    );
    assert!(window.state.track_noise_at_crosshair().is_none());
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    window.act(Action::Settle);
    assert!(!window.state.track_noise_is_stale());
    assert_eq!(jobs(&window), 2);
    assert_ne!(shown(&window).share.id(), before.share.id());
    // The streamlines of an earlier step are tracked and compared again, to the same figures.
    window.act(Action::Undo);
    assert_eq!(shown(&window).share.values, before.share.values);
}

/// In other tasks nothing of it is shown or computed; it is still there when the user returns.
fn other_tasks() {
    let mut window = repeating(12);
    let before = shown(&window);
    for task in [Task::View, Task::Pathways, Task::Segment] {
        window.act(Action::View(ViewAction::SelectTask(task)));
        assert!(window.state.track_noise().is_none());
        assert!(scene::noise::streamline_share(&window.state).is_none());
        assert!(scene::noise::centre_lines(&window.state).is_none());
    }
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    assert_eq!(shown(&window).share.id(), before.share.id());
    assert_eq!(jobs(&window), 1);
    // A replay repeats the stored results only.
    let mut window = tracked();
    window.state.runtime.sessions.strict = true;
    bootstrap(&mut window, Some(12));
    assert_eq!(jobs(&window), 0);
}

fn stopped() {
    let mut window = tracked();
    window.holding = true;
    bootstrap(&mut window, Some(12));
    // The streamlines; then their repetitions are being compared.
    while jobs(&window) == 0 {
        assert!(!window.pending.is_empty(), "work is going on");
        window.deliver(|_| {});
    }
    assert_eq!(
        window.state.why_no_track_noise(),
        Some("The repetitions are being compared")
    );
    window.act(Action::Escape);
    assert_eq!(window.cancelled.last(), Some(&TRACK_NOISE));
    let why = "Stopped before the repetitions were compared";
    assert_eq!(window.state.why_no_track_noise(), Some(why));
    assert_eq!(window.state.track_noise_failure(), Some(why));
    // Other actions do not start it again.
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::X)));
    assert_eq!(jobs(&window), 1);
    window.pending.clear();
    window.state.runtime.jobs.running.clear();
    window.holding = false;
    act(&mut window, TrackNoiseAction::RepeatAgain);
    assert_eq!(jobs(&window), 2);
    assert_eq!(shown(&window).key.repetitions, 12);
    // A comparison that ends after the streamlines have changed replaces nothing.
    window.holding = true;
    bootstrap(&mut window, Some(13));
    while jobs(&window) == 2 {
        window.deliver(|_| {});
    }
    bootstrap(&mut window, Some(14));
    assert_eq!(window.cancelled.last(), Some(&TRACK_NOISE));
    window.deliver(|_| {});
    window.holding = false;
    window.deliver(|_| {});
    window.act(Action::Settle);
    assert_eq!(shown(&window).key.repetitions, 14);
}

fn masked() {
    let mut window = repeating(20);
    let why = window.state.why_no_track_noise_distances();
    assert_eq!(
        why.as_deref(),
        Some("Segment a tumour or choose a mask to measure distances")
    );
    let ball = with_ball(&mut window, "tumour", dvec3(12.0, 0.0, 0.0), 4.0);
    set(&mut window, |n| n.distance_to = DistanceTarget::Layer(ball));
    assert_eq!(jobs(&window), 1, "shares stay");
    assert_eq!(window.state.why_no_track_noise_distances(), None);
    let measured = window.state.track_noise_distances();
    let measured = measured.expect("distances").clone();
    assert_eq!(measured.repetitions, 20);
    // The wider the net, the nearer it comes.
    let nearest = measured.levels.iter();
    let nearest = nearest.map(|level| level.from_mask.expect("a distance").nearest_mm);
    let nearest: Vec<f64> = nearest.collect();
    assert!(nearest.is_sorted() && nearest[0] > 0.0, "{nearest:?}");
    let along = measured.along.as_ref().expect("a plot");
    let range = along.nearest.expect("a range");
    assert!(range.low <= range.median && range.median <= range.high);
    // The ball's surface is 8 mm from the axis, where the bundle is; its voxels reach up to 1 mm further.
    assert!((2.0..14.0).contains(&range.median), "{range:?}");
    // The margin on slices, and the shortest line from the middle line.
    let contours = scene::noise::object_contours(&window.state);
    let [outline, margin] = &contours[..] else {
        panic!("{contours:?}");
    };
    assert!(!outline.dashed && outline.level == 0.0);
    let slice = scene::slice(&window.state, Pane::Axial, SIZE).expect("a slice");
    assert!(margin.dashed && slice.contours.contains(margin));
    let (shortest, mm) = scene::noise::shortest(&window.state).expect("a line");
    assert!(mm == along.shown && shortest.points.len() == 2);
    let line = track_noise_command(&window.state)
        .expect("a command")
        .text();
    assert!(
        line.ends_with(" --noise noise --distance-to /data/tumour.nii.gz"),
        "{line}"
    );
    // Other streamlines are measured, too.
    bootstrap(&mut window, Some(22));
    let measured = window.state.track_noise_distances().expect("distances");
    assert_eq!(measured.repetitions, 22);
    // Without the mask there are none, and a sentence says so.
    set(&mut window, |n| n.distance_to = DistanceTarget::Surface);
    assert!(window.state.track_noise_distances().is_none());
    assert!(window.state.why_no_track_noise_distances().is_some());
}

fn too_few() {
    let mut window = repeating(19);
    let ball = with_ball(&mut window, "tumour", dvec3(12.0, 0.0, 0.0), 4.0);
    set(&mut window, |n| n.distance_to = DistanceTarget::Layer(ball));
    assert!(window.state.track_noise_distances().is_none());
    assert_eq!(window.jobs_of::<MeasureTrackNoise>().count(), 0);
    assert_eq!(
        window.state.why_no_track_noise_distances().as_deref(),
        Some("Too few repetitions for distances: at least 20 repetitions are needed")
    );
    bootstrap(&mut window, Some(20));
    assert_eq!(window.jobs_of::<MeasureTrackNoise>().count(), 1);
    assert!(window.state.track_noise_distances().is_some());
}

fn kept() {
    let mut window = tracked();
    act(&mut window, TrackNoiseAction::KeepShare);
    let text = messages(&window);
    assert!(text.contains("Set Bootstrap first"), "{text}");
    bootstrap(&mut window, Some(12));
    let share = shown(&window).share.clone();
    let drawn = |window: &Window| {
        let slice = scene::slice(&window.state, Pane::Axial, SIZE).expect("a slice");
        let images = slice.images.iter().map(|i| i.volume.0.id());
        let legend = legend::of_slices(&window.state).and_then(|l| l.sentence());
        (images.collect::<Vec<_>>(), legend)
    };
    let before = drawn(&window);
    act(&mut window, TrackNoiseAction::KeepShare);
    let document = &window.state.document;
    let layer = document.layers.last().expect("the share").clone();
    assert_eq!(layer.name, "Share of 12 repetitions of streamlines");
    assert_eq!(layer.display.colour_map, ColourMap::Share);
    assert_eq!(layer.content.volume().expect("an image").id(), share.id());
    let recipe = document.streamline_share_recipe(layer.id);
    let curves = document.origins.curves(recipe.expect("a recipe").curves);
    let curves = curves.expect("streamlines");
    assert_eq!(curves.curves.repetitions(), Some(12));
    let own = document.command_line(&layer).text();
    let live = track_noise_command(&window.state).map(|line| line.text());
    assert_eq!(Some(own), live);
    // The picture stays: the live share is shown, and the layer begins hidden.
    assert!(document.track.noise.shows_share && !layer.display.visible);
    assert_eq!(drawn(&window), before);
    let status = window.state.runtime.notices.status.to_string();
    assert_eq!(status, "Kept the share of 12 repetitions as a hidden layer");
    let text = methods(&window.state);
    let sentence = "“Share of 12 repetitions of streamlines” gives the share of the 12 repetitions with a streamline";
    assert!(text.contains(sentence), "{text}");
    assert_eq!(text.matches("of a wild bootstrap").count(), 1, "{text}");
    // It is no image to segment or to paint on.
    let segmented = window.state.document.segmented_image();
    assert_ne!(segmented.map(|(l, _)| l.id), Some(layer.id));
    let layers = window.state.document.layers.len();
    act(&mut window, TrackNoiseAction::KeepShare);
    let now = window.state.document.layers.len();
    assert_eq!(now, layers, "the same share is the same layer");
    // Other streamlines: theirs are still described.
    bootstrap(&mut window, None);
    let text = methods(&window.state);
    assert!(
        text.contains("of a wild bootstrap") && text.contains(sentence),
        "{text}"
    );
    for _ in 0..3 {
        window.act(Action::Undo);
    }
    assert!(window.state.document.layer(layer.id).is_none());
    assert!(window.state.document.track.noise.shows_share);
}

fn exported() {
    let mut window = tracked();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let save = |window: &mut Window, file: NoiseFile, name: &str| {
        act(window, TrackNoiseAction::Save(file, path(name)));
    };
    save(&mut window, NoiseFile::Share, "share.nii.gz");
    assert_eq!(window.jobs_of::<SaveVolume>().count(), 0, "there is none");
    bootstrap(&mut window, Some(20));
    let noise = shown(&window);
    save(&mut window, NoiseFile::Share, "share.nii.gz");
    let job = window.jobs_of::<SaveVolume>().next_back().expect("a file");
    assert_eq!(job.volume.id(), noise.share.id());
    assert!(job.command.starts_with("arcuate track ") && job.command.ends_with(" --noise noise"));
    save(&mut window, NoiseFile::Paths, "lines.tck");
    let job = window.jobs_of::<SaveTractogram>().next_back();
    assert_eq!(
        job.expect("a file").tractogram.id(),
        noise.centre_lines.id()
    );
    // The next export goes to the same folder.
    let exports = &window.state.runtime.files.exports;
    assert_eq!(exports.folder.as_deref(), Some(folder.path()));
    save(&mut window, NoiseFile::Distances, "distances.csv");
    assert_eq!(window.jobs_of::<SaveDistances>().count(), 0);
    let text = messages(&window);
    assert!(text.contains("choose a mask"), "{text}");
    let ball = with_ball(&mut window, "tumour", dvec3(12.0, 0.0, 0.0), 4.0);
    set(&mut window, |n| n.distance_to = DistanceTarget::Layer(ball));
    save(&mut window, NoiseFile::Distances, "distances.csv");
    let job = window.jobs_of::<SaveDistances>().next_back();
    let measured = window.state.track_noise_distances().expect("distances");
    let along = measured.along.as_ref().expect("a plot");
    assert!(Arc::ptr_eq(&job.expect("a file").distances, along));
}

/// On slices and in 3-D; the centre lines before faint streamlines; the voxel at the crosshair.
fn drawn() {
    let mut window = repeating(12);
    let noise = shown(&window);
    let share = noise.share.id();
    let image = scene::pathways::image(&window.state).expect("an image");
    assert_eq!(image.volume.0.id(), share);
    assert_eq!(image.colour_map, ColourMap::Share);
    let clouds = |window: &Window| {
        let volumes = scene::pathways::volumes(&window.state, &window.state.view.camera);
        let clouds = volumes
            .into_iter()
            .filter(|v| v.style == VolumeStyle::Cloud);
        clouds.map(|v| v.volume.0.id()).collect::<Vec<_>>()
    };
    assert_eq!(clouds(&window), [share]);
    let contours = scene::pathways::contours(&window.state);
    assert_eq!(contours.len(), 1);
    assert_eq!(contours[0].level, 0.5);
    let legend = legend::of_slices(&window.state).and_then(|l| l.sentence());
    assert_eq!(
        legend.as_deref(),
        Some("Share of repetitions 0\u{202f}% to 100\u{202f}%")
    );
    let lines = |window: &Window| {
        let lines = scene::pathways::lines(&window.state);
        let mut ids = lines.iter().map(|l| l.tractogram.0.id());
        ids.any(|id| id == noise.centre_lines.id())
    };
    let kept = window.state.final_live().expect("final").output.kept.id();
    let live = |window: &Window| {
        let pane = scene::scene(&window.state, SIZE);
        let mut own = pane.lines.into_iter();
        let own = own.find(|l| l.tractogram.0.id() == kept).expect("drawn");
        (own.opacity, own.context)
    };
    // On slices, the share stands in place of the streamlines.
    let on_slice = |window: &Window| {
        let pane = scene::slice(&window.state, Pane::Axial, SIZE).expect("a slice");
        let mut own = pane.lines.iter().map(|l| l.tractogram.0.id());
        own.any(|id| id == kept)
    };
    assert!(!on_slice(&window));
    assert!(!lines(&window));
    let (opacity, behind) = live(&window);
    assert!(!behind);
    set(&mut window, |n| n.shows_centre_lines = true);
    assert!(lines(&window));
    assert!(live(&window).0 < opacity && live(&window).1);
    // A voxel of the middle line.
    let line = noise.middle_line().expect("a middle line");
    let middle = line.point_at(0.5 * line.total_mm()).expect("a point");
    window.act(Action::View(ViewAction::MoveCrosshair(middle)));
    let (some, all) = window.state.track_noise_at_crosshair().expect("counts");
    assert!(all == 12 && some > 0, "{some} of {all}");
    let interval = interval_text(wilson_interval(some, all));
    let readings = probe::readings(&window.state);
    let own = readings.iter().find(|r| r.name == "In repetitions");
    let value = &own.expect("a reading").value;
    assert_eq!(value, &format!("{some} of 12 ({interval})"));
    set(&mut window, |n| {
        (n.shows_share, n.shows_centre_lines) = (false, false)
    });
    assert!(scene::pathways::image(&window.state).is_none());
    assert!(clouds(&window).is_empty() && !lines(&window));
    assert!(on_slice(&window));
    assert!(scene::pathways::contours(&window.state).is_empty());
    assert_eq!(live(&window), (opacity, false));
    assert_eq!(jobs(&window), 1);
}

fn settings() {
    let mut window = repeating(12);
    set(&mut window, |n| n.shows_centre_lines = true);
    assert_eq!(window.state.history.undo_label(), Some("Centre lines"));
    set(&mut window, |n| n.margin_mm = 8.0);
    assert_eq!(window.state.history.undo_label(), Some("Margin"));
    // A file may hold any number.
    let kept = window.state.document.track.noise.clone();
    let odd = TrackNoiseSettings {
        margin_mm: f64::NAN,
        ..kept.clone()
    };
    assert_eq!(
        odd.sanitized().margin_mm,
        TrackNoiseSettings::defaults().margin_mm
    );
    window.act(Action::Undo);
    let status = window.state.runtime.notices.status.to_string();
    assert!(status.contains("Margin"), "{status}");
    window.act(Action::Undo);
    assert_eq!(
        window.state.document.track.noise,
        TrackNoiseSettings::defaults()
    );
    window.act(Action::Redo);
    window.act(Action::Redo);
    assert_eq!(window.state.document.track.noise, kept);
}

fn described() {
    let mut window = repeating(12);
    let text = methods(&window.state);
    let few = "Streamlines passed ";
    assert!(
        text.contains(few) && text.contains(" of the 12 repetitions"),
        "{text}"
    );
    assert!(
        text.contains(NOISE_ONLY) && !text.contains("5 to 95 %:"),
        "{text}"
    );
    assert!(text.contains("Garyfallidis E"), "{text}");
    bootstrap(&mut window, Some(20));
    let text = methods(&window.state);
    assert!(text.contains("(5 to 95 %: "), "{text}");
    window.act(Action::View(ViewAction::SelectTask(Task::View)));
    assert!(!methods(&window.state).contains(few));
}
