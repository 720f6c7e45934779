//! Typed or stored text: settings, scripts of segmentations, command lines.

use super::answered;
use arcuate::cli::{self, Command};
use arcuate::compute::{BackendKind, Control};
use arcuate::data::{Grid, Mask, Tractogram, Volume};
use arcuate::io::{self, nifti, streamlines};
use arcuate::state::Preferences;
use arcuate::state::regions::recipe::ShapeSpec;
use arcuate::state::segment::recipe::{SegmentCommand, SegmentScript};
use clap::Parser as _;
use glam::DVec3;
use std::path::Path;
use std::sync::Arc;

pub fn settings(path: &Path) -> bool {
    let Some(text) = answered(io::text(path)) else {
        return false;
    };
    let Ok(settings) = serde_json::from_str::<Preferences>(&text) else {
        return false;
    };
    // Stored settings are stored again unchanged.
    let stored = serde_json::to_string(&settings).expect("JSON");
    assert!(
        serde_json::from_str::<Preferences>(&stored).is_ok(),
        "{stored}"
    );
    true
}

/// Largest number of steps of a run here: each takes microseconds, and more of them find nothing new.
const MAXIMUM_STEPS: u64 = 60;

/// A script of a segmentation, as a command and run on a small image.
pub fn script(path: &Path) -> bool {
    let Some(text) = answered(io::text(path)) else {
        return false;
    };
    let Ok(script) = serde_json::from_str::<SegmentScript>(&text) else {
        return false;
    };
    let command = SegmentCommand {
        script: script.clone(),
        unfiled: None,
        file: None,
    };
    assert!(!command.text(Path::new("out")).is_empty());
    if script.image == Path::new("t1.nii") && script.run.steps <= MAXIMUM_STEPS {
        let arguments = [
            "arcuate", "segment", "--script", "run.json", "--out", "out", "--force",
        ];
        run(path, &arguments);
    }
    true
}

/// Arguments of a command line, one per line: parsed, and executed if the command computes little and writes nowhere
/// else.
pub fn command(path: &Path) -> bool {
    let bytes = std::fs::read(path).expect("it was written");
    let Ok(text) = String::from_utf8(bytes) else {
        return false;
    };
    let arguments: Vec<&str> = std::iter::once("arcuate").chain(text.lines()).collect();
    run(path, &arguments)
}

fn run(path: &Path, line: &[&str]) -> bool {
    for word in line {
        let _ = word.parse::<ShapeSpec>().map(|shape| shape.to_string());
        let _ = word.parse::<arcuate::data::axis_change::AxisChange>();
        let _ = arcuate::ui::format::parse(word);
        let _ = arcuate::ui::format::parse_range(word);
    }
    let mut arguments = match cli::Arguments::try_parse_from(line) {
        Ok(arguments) => arguments,
        Err(error) => {
            assert!(!error.render().to_string().is_empty());
            return false;
        }
    };
    // One worker, and the memory of a fuzzer.
    arguments.global.threads = Some(1);
    arguments.global.backend = Some(BackendKind::Cpu);
    arguments.global.memory = Some(arguments.global.memory.unwrap_or(1.0).min(1.0));
    let here =
        |word: &&str| !word.contains("phantom") && !word.contains("..") && !word.contains('/');
    // Many steps are not a failure if they were requested.
    let soon = |word: &&str| word.parse::<u64>().is_ok_and(|n| n <= MAXIMUM_STEPS);
    let begins = |name: &str| line.get(1) == Some(&name);
    let soon = !begins("segment") || line.contains(&"--script") || line.iter().any(soon);
    let Some(command) = arguments.command.filter(|command| {
        let small = matches!(
            command,
            Command::Info(_)
                | Command::Segment(_)
                | Command::Region(_)
                | Command::Convert(_)
                | Command::Methods(_)
                | Command::Select(_)
                | Command::Density(_)
                | Command::Table(_)
                | Command::Profile(_)
                | Command::Connectome(_)
        );
        small && soon && line.iter().all(here)
    }) else {
        return true;
    };
    let folder = path.parent().expect("a folder");
    std::env::set_current_dir(folder).expect("found");
    let _ = cli::run(command, &arguments.global);
    io::limit_memory(None);
    let written = std::fs::read_dir(folder).expect("a folder").flatten();
    for file in written.filter(|f| !PRESENT.iter().any(|name| f.file_name() == *name)) {
        let _ = std::fs::remove_file(file.path()).or_else(|_| std::fs::remove_dir_all(file.path()));
    }
    true
}

/// Files to which a command line may refer.
const PRESENT: [&str; 5] = [
    "t1.nii",
    "labels.nii.gz",
    "mask.nii.gz",
    "tracks.trx",
    "run.json",
];

/// Writes these files.
pub fn prepare(folder: &Path) {
    let grid = Grid::axis_aligned([8; 3], DVec3::splat(2.0), DVec3::splat(-8.0));
    let grid = Arc::new(grid.expect("a grid"));
    let at = |name: &str| folder.join(name);
    let control = Control::new();
    let inside = |i: usize| {
        let voxel = DVec3::from_array(grid.voxel(i).map(|v| v as f64));
        u8::from(voxel.distance(DVec3::splat(3.5)) < 3.0)
    };
    let inside: Vec<u8> = (0..grid.voxel_count()).map(inside).collect();
    let values = inside
        .iter()
        .enumerate()
        .map(|(i, &v)| f32::from(v) * 100.0 + (i % 7) as f32);
    let t1 = Volume::scalar(grid.clone(), values.collect::<Vec<f32>>());
    nifti::save_volume(&at("t1.nii"), &t1, "", &control).expect("saved");
    let labels: Vec<u16> = (0..grid.voxel_count() as u16).map(|i| i / 128).collect();
    nifti::save_labels(&at("labels.nii.gz"), &grid, &labels, "", &control).expect("saved");
    let mask = Mask::new(grid.clone(), inside);
    nifti::save_mask(&at("mask.nii.gz"), &mask, "", &control).expect("saved");
    let points: Vec<[f32; 3]> = (0..30)
        .map(|i| [i as f32 % 10.0 - 5.0, (i / 10) as f32, 0.5])
        .collect();
    let tracks = Tractogram::new(points, vec![0, 10, 20, 30]).with_grid(Grid::clone(&grid));
    let tracks =
        tracks.with_per_point("fa", (0..30).map(|i| i as f32 / 30.0).collect::<Vec<f32>>());
    let tracks = tracks.with_per_streamline("w", vec![1.0, 2.0, 3.0]);
    streamlines::save(&at("tracks.trx"), &tracks, "", &control).expect("saved");
}
