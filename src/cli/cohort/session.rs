//! The results of a subject as a session, which the window opens, and pictures of it for reports.

use super::super::headless::Headless;
use super::super::pictures::Pictures;
use super::super::{Failure, Runner};
use super::files::SubjectFiles;
use super::steps::Finished;
use crate::compute::Control;
use crate::data::protocol::InputRole;
use crate::io::{self, Content, Format};
use crate::state::pictures::jobs::SavePng;
use crate::state::{FilesAction, Pane, SessionAction, State};
use glam::DVec2;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Name of the session in the folder of a subject.
const SESSION: &str = "session.arcuate";
/// Folder of the pictures.
const PICTURES: &str = "pictures";
/// The views, each with the name of its picture.
const VIEWS: [(Pane, &str); 3] = [
    (Pane::Axial, "axial"),
    (Pane::Coronal, "coronal"),
    (Pane::Scene, "bundles"),
];
/// Size of a picture, points and pixels.
const SIZE_PX: [f64; 2] = [640.0, 512.0];
/// Size of a picture within a report, pixels: 500 rows of a report stay below 60 MB.
const SMALL_PX: [f64; 2] = [150.0, 120.0];
/// Results that are opened: more would not be overlooked.
const MAX_RESULTS: usize = 40;

/// The scan, the T1, and the masks and streamlines among the results.
fn layers(files: &SubjectFiles, finished: &[Finished]) -> Result<Vec<PathBuf>, Failure> {
    let mut layers = Vec::new();
    for role in [InputRole::Scan, InputRole::T1] {
        let inputs = files.found().filter(|(found_role, _)| *found_role == role);
        layers.extend(inputs.map(|(_, path)| path.clone()));
    }
    let inputs = layers.len();
    for step in finished {
        let folder = files.subject.out.join(&step.name);
        let all = io::cohort::files_below(&folder).map_err(|e| Failure::new(e.to_string()))?;
        let is_shown = |file: &PathBuf| match Format::named(file).map(Format::content) {
            Some(Content::Streamlines) => true,
            Some(Content::Image) => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                step.name.starts_with("region_")
                    || name.contains("mask")
                    || name.contains("pathway")
            }
            _ => false,
        };
        let shown = all.into_iter().filter(is_shown);
        layers.extend(shown.map(|file| folder.join(file)));
    }
    layers.truncate(inputs + MAX_RESULTS);
    Ok(layers)
}

/// Saves a session of the results, and pictures of it; returns the member of the status.
pub fn save(
    files: &SubjectFiles,
    finished: &[Finished],
    pictures: bool,
    key: &str,
    runner: &mut Runner,
) -> Result<Value, Failure> {
    let out = &files.subject.out;
    let layers = layers(files, finished)?;
    let path = out.join(SESSION);
    let mut window = Headless::new(runner);
    for layer in &layers {
        window.act(FilesAction::Open(vec![layer.clone()]))?;
    }
    window.act(SessionAction::Save {
        path: Some(path.clone()),
        next: None,
    })?;
    let state = window.state;
    let sum = io::checksum::of_file(&path, &Control::new());
    let sum = sum.map_err(|e| Failure::new(e.to_string()))?;
    let mut session = json!({"file": SESSION, "sha256": sum, "key": key, "layers": layers.len()});
    if pictures {
        let ([large, small], why) = draw(&state, out, runner)?;
        session["pictures"] = json!(large);
        session["thumbnails"] = json!(small);
        if let Some(why) = why {
            session["no_pictures"] = json!(why);
        }
    }
    Ok(session)
}

/// Draws the views; returns the names of the pictures, those of small ones without letters, and why some are missing.
fn draw(
    state: &State,
    out: &Path,
    runner: &mut Runner,
) -> Result<([Vec<String>; 2], Option<String>), Failure> {
    let mut drawer = match Pictures::new() {
        Ok(drawer) => drawer,
        Err(failure) => return Ok((Default::default(), Some(failure.sentence))),
    };
    let folder = out.join(PICTURES);
    io::atomic::make_folder(&folder).map_err(|e| Failure::new(e.to_string()))?;
    let (mut names, mut why) = ([Vec::new(), Vec::new()], None);
    let look = (DVec2::from_array(SIZE_PX), 1, false);
    for (pane, name) in VIEWS {
        let large = drawer.draw(state, Some(pane), look);
        let both = large.and_then(|large| {
            let small = drawer.draw_plain(state, pane, DVec2::from_array(SMALL_PX))?;
            Ok([
                (large, format!("{name}.png")),
                (small, format!("{name}_small.png")),
            ])
        });
        let saved = both.and_then(|both| {
            let mut files = Vec::new();
            for (picture, file) in both {
                // The session beside it has all parameters.
                runner.run(SavePng {
                    size: picture.size_px,
                    rgba: picture.rgba,
                    metadata: Vec::new(),
                    path: folder.join(&file),
                })?;
                files.push(format!("{PICTURES}/{file}"));
            }
            Ok(files)
        });
        match saved {
            Ok(files) => {
                for (names, file) in names.iter_mut().zip(files) {
                    names.push(file);
                }
            }
            Err(failure) => why = Some(failure.sentence),
        }
    }
    Ok((names, why))
}
