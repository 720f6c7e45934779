//! Finished repetitions are kept, exported, drawn and described; actions that are unavailable say why.

use super::super::pathways::live;
use super::super::{Window, segment};
use super::{SIZE, act, looking, noise, repeat, repeating, with_ball};
use arcuate::data::appearance::ColourMap;
use arcuate::data::statistics::wilson_interval;
use arcuate::scene::{
    self,
    draw_list::{ContourSource, VolumeStyle},
};
use arcuate::solvers::pathway::RepetitionParams;
use arcuate::state::files::jobs::{SaveTractogram, SaveVolume};
use arcuate::state::methods::methods;
use arcuate::state::pathways::jobs::{
    GrowRepetitions, PATHWAY_NOISE, PATHWAY_NOISE_DISTANCES, SaveDistances,
};
use arcuate::state::pathways::{DistanceTarget, NOISE_ONLY, NoiseFile, PathwayNoiseAction};
use arcuate::state::update::pathway_noise_command;
use arcuate::state::{Action, LayerAction, Pane, ViewAction};
use arcuate::ui::format::interval_text;
use arcuate::ui::probe;
use arcuate::ui::views::legend::of_slices;
use glam::dvec3;
use std::path::PathBuf;
use std::sync::Arc;

pub fn kept() {
    let mut window = looking();
    act(&mut window, PathwayNoiseAction::KeepShare);
    let messages = segment::messages(&window);
    assert!(messages.contains("Repeat the pathway first"), "{messages}");
    repeat(&mut window, 12);
    let share = window
        .state
        .current_pathway_noise()
        .expect("all")
        .share
        .clone();
    let drawn = |window: &Window| {
        let volumes = scene::pathways::volumes(&window.state, &window.state.view.camera);
        let slice = scene::slice(&window.state, Pane::Axial, SIZE).expect("a slice");
        (
            slice
                .images
                .iter()
                .map(|i| i.volume.0.id())
                .collect::<Vec<_>>(),
            volumes.iter().map(|v| v.volume.0.id()).collect::<Vec<_>>(),
            of_slices(&window.state).and_then(|l| l.sentence()),
        )
    };
    let before = (window.state.document.pathways.clone(), drawn(&window));
    act(&mut window, PathwayNoiseAction::KeepShare);
    let document = &window.state.document;
    let layer = document.layers.last().expect("the share").clone();
    assert_eq!(layer.name, "Share of 12 repetitions of Seed – Target");
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
        pathway_noise_command(&window.state).map(|line| line.text())
    );
    // The picture stays: the live share is shown, and the layer begins hidden.
    assert_eq!((document.pathways.clone(), drawn(&window)), before);
    assert!(!layer.display.visible);
    let status = window.state.runtime.notices.status.to_string();
    assert_eq!(status, "Kept the share of 12 repetitions as a hidden layer");
    let text = methods(&window.state);
    assert!(
        text.contains("gives the share of 12 repetitions with random signs"),
        "{text}"
    );
    // It is no image to segment or to paint on.
    let segmented = window.state.document.segmented_image();
    assert_ne!(segmented.map(|(l, _)| l.id), Some(layer.id));
    let layers = window.state.document.layers.len();
    let show = LayerAction::Show {
        layer: layer.id,
        visible: true,
    };
    window.act(Action::Layer(show));
    act(&mut window, PathwayNoiseAction::KeepShare);
    let status = window.state.runtime.notices.status.to_string();
    assert_eq!(status, "Kept the share of 12 repetitions as a layer");
    assert_eq!(
        window.state.document.layers.len(),
        layers,
        "the same share is the same layer"
    );
    for _ in 0..3 {
        window.act(Action::Undo);
    }
    assert!(window.state.document.layer(layer.id).is_none());
    assert_eq!(drawn(&window), before.1);
}

pub fn exported() {
    let mut window = looking();
    let path = |name: &str| PathBuf::from("/nowhere").join(name);
    let save = |window: &mut Window, file: NoiseFile, name: &str| {
        act(window, PathwayNoiseAction::Save(file, path(name)));
    };
    save(&mut window, NoiseFile::Share, "share.nii.gz");
    assert_eq!(window.jobs_of::<SaveVolume>().count(), 0, "there are none");
    repeat(&mut window, 20);
    let shown = window.state.current_pathway_noise().expect("all").clone();
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
    let shown = window.state.pathway_noise_distances().expect("distances");
    let along = shown.along.as_ref().expect("a plot");
    assert!(Arc::ptr_eq(&job.distances, along));
}

/// On slices and in 3-D, in place of the cost; the paths as thin lines; the voxel at the crosshair.
pub fn drawn() {
    let mut window = repeating(10);
    let shown = window.state.current_pathway_noise().expect("all").clone();
    let image = scene::pathways::image(&window.state).expect("an image");
    assert_eq!(image.volume.0.id(), shown.share.id());
    // A voxel of a single repetition is drawn; those of none are transparent.
    assert!(image.transparent_below);
    assert_eq!(image.window, (0.05, 1.0));
    // The outline surrounds the voxels in at least half of the repetitions.
    let contour = scene::noise::contour(&window.state).expect("an outline");
    assert_eq!(contour.level, 0.5);
    let ContourSource::Image(outlined) = &contour.source else {
        panic!("an outline of the share")
    };
    assert_eq!(outlined.0.id(), shown.share.id());
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
    let (some, all) = window.state.pathway_noise_at_crosshair().expect("counts");
    assert!(all == 10 && some > 0, "{some} of {all}");
    let interval = interval_text(wilson_interval(some, all));
    let readings = probe::readings(&window.state);
    let own = readings.iter().find(|r| r.name == "In repetitions");
    let value = &own.expect("a reading").value;
    assert_eq!(value, &format!("{some} of 10 ({interval})"));
    noise(&mut window, |n| {
        (n.shows_share, n.shows_paths) = (false, false)
    });
    let image = scene::pathways::image(&window.state).expect("the cost");
    assert_eq!(image.volume.0.id(), live(&window).excess.id());
    assert_eq!(clouds(&window), [live(&window).excess.id()]);
    assert!(!has_paths(&window));
    assert_eq!(window.jobs_of::<GrowRepetitions>().count(), 1);
}

pub fn refused() {
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
    assert_eq!(window.state.why_no_pathway_noise(), why);
    assert!(window.state.pathway_noise_key().is_none());
    window.state.document.pathways.model = arcuate::state::track::types::odf::Model::Distributions;
    // Missing distributions are reported before a missing scan.
    assert_eq!(window.state.document.why_no_repetitions(), None);
    assert!(window.state.why_no_pathway_noise().is_some());
    assert_eq!(window.jobs_of::<GrowRepetitions>().count(), jobs);
    // A replay repeats the stored results only.
    let mut window = looking();
    window.state.runtime.sessions.strict = true;
    repeat(&mut window, 10);
    assert_eq!(window.jobs_of::<GrowRepetitions>().count(), 0);
}

pub fn described() {
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
pub fn another() {
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
    assert!(PATHWAY_NOISE.is_of_document() && PATHWAY_NOISE_DISTANCES.is_of_document());
}
