//! `arcuate demo`: the built-in head, in the window or, without a display, as files.

use super::headless::Headless;
use super::options::make_folder;
use super::output::{report_message, shown};
use super::pictures::Pictures;
use super::runner::{Failure, Runner};
use crate::data::text::{count, counted};
use crate::data::{Role, Shape};
use crate::io;
use crate::phantom::{Head, suggestions};
use crate::state::report::DISCLAIMER;
use crate::state::{Action, FilesAction, Pane, RegionAction, Severity, Task, ViewAction};
use glam::DVec2;
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arcuate demo                         the window, or ./arcuate-demo where there is no display
  arcuate demo --out demo              files even where there is a display

Files: window.png, axial.png, coronal.png, sagittal.png, 3d.png; tracks.tck, the streamlines of the left
corticospinal tract; report.json and report.md.";

/// Default folder for the files.
const FOLDER: &str = "arcuate-demo";
const TRACKS: &str = "tracks.tck";
const REPORT: &str = "report.json";
const SUMMARY: &str = "report.md";
const VIEWS: [(&str, Option<Pane>); 5] = [
    ("window.png", None),
    ("axial.png", Some(Pane::Axial)),
    ("coronal.png", Some(Pane::Coronal)),
    ("sagittal.png", Some(Pane::Sagittal)),
    ("3d.png", Some(Pane::Scene)),
];

#[derive(clap::Args, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Write files into this folder instead of opening the window
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

impl Options {
    /// Whether the window is requested and can be shown.
    pub fn wants_window(&self) -> bool {
        self.out.is_none() && has_display()
    }
}

/// Whether a window can be shown at all: always, except on Linux without X11 and Wayland.
pub fn has_display() -> bool {
    let named = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    !cfg!(target_os = "linux") || named("DISPLAY") || named("WAYLAND_DISPLAY")
}

/// The default folder; if it exists and is to be kept, the first free one with a number.
fn free_folder(replaces: bool) -> PathBuf {
    let numbered = (2..).map(|n| PathBuf::from(format!("{FOLDER}-{n}")));
    let mut names = std::iter::once(PathBuf::from(FOLDER)).chain(numbered);
    let free = names.find(|folder| replaces || !folder.exists());
    free.unwrap_or_else(|| PathBuf::from(FOLDER))
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    const SEED: u64 = 1;
    if options.out.is_none() && !has_display() && !runner.json {
        note!("No display, so the demo writes files instead of opening the window");
    }
    let folder = match &options.out {
        Some(folder) => folder.clone(),
        None => free_folder(runner.force()),
    };
    let at = |name: &str| folder.join(name);
    let pictures = VIEWS.map(|(name, _)| name);
    for name in [TRACKS, REPORT, SUMMARY].iter().chain(&pictures) {
        runner.may_write(&at(name))?;
    }
    let _folder = make_folder(&folder)?;

    let mut window = Headless::new(runner);
    window.act(Action::OpenDemo { tour: false })?;
    let suggestion = suggestions(&Head::new(SEED)).into_iter().next();
    let placements = suggestion.map(|s| s.placements).unwrap_or_default();
    for place in &placements {
        let shape = Shape::Sphere {
            centre: place.centre,
            radius_mm: place.radius_mm,
        };
        window.act(Action::Region(RegionAction::Add {
            role: place.role,
            shape,
        }))?;
        if let Some(region) = window.state.runtime.regions.selected {
            window.act(Action::Region(RegionAction::Rename {
                region,
                name: place.name.to_owned(),
            }))?;
        }
        if place.role == Role::Seed {
            window.act(Action::View(ViewAction::MoveCrosshair(place.centre)))?;
        }
    }
    window.act(Action::View(ViewAction::SelectTask(Task::Track)))?;
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: None,
        path: at(TRACKS),
    }))?;
    let state = window.state;

    let mut pictures = Pictures::new()?;
    let mut files = vec![at(TRACKS)];
    let size = DVec2::new(960.0, 720.0);
    for (name, pane) in VIEWS {
        if let Some(sentence) = pictures.no_scenes().filter(|_| pane == Some(Pane::Scene)) {
            report_message(
                Severity::Warning,
                &format!("{name} is left out: {sentence}"),
            );
            continue;
        }
        let size = if pane.is_none() {
            DVec2::new(1440.0, 900.0)
        } else {
            size
        };
        let path = at(name);
        pictures.save(&state, pane, (size, 1, false), &path, runner)?;
        files.push(path);
    }

    let live = state.runtime.track.live.value();
    let kept = live.map_or(0, |l| l.output.kept.len());
    let seeds = live.map_or(0, |l| l.seeds);
    let command_line = live.map(|l| state.document.live_command_line(l));
    let command = command_line.map_or_else(String::new, |line| line.text());
    let tensors = state.document.tensors.as_ref();
    let (fitted, repaired) = tensors.map_or((0, 0), |t| (t.fitted, t.repaired));
    let regions: Vec<_> = placements
        .iter()
        .map(|p| {
            json!({"name": p.name, "role": p.role.json_key(), "centre_mm": p.centre.to_array(), "radius_mm": p.radius_mm})
        })
        .collect();
    files.extend([at(REPORT), at(SUMMARY)]);
    let report = json!({
        "command": "demo", "head": SEED, "fitted_voxels": fitted, "repaired_voxels": repaired,
        "regions": regions, "seeds": seeds, "streamlines": kept, "repeat": command,
        // Neither the fit nor tracking has a kernel.
        "drawn_by": pictures.device(), "backend": runner.backend.cpu().name(), "files": files,
        "notice": DISCLAIMER,
    });
    let mut text = String::from("# Arcuate on its built-in head\n\n");
    let _ = writeln!(
        text,
        "Tensors were fitted in {}, {} of them repaired. From {} in “{}”, {} of the streamlines reach “{}”.\n\n\
         The same without a window:\n\n```sh\n{command}\n```\n\n{DISCLAIMER}.",
        counted(fitted, "voxel"),
        count(repaired as u64),
        counted(seeds, "seed"),
        placements.first().map_or("", |p| p.name),
        count(kept as u64),
        placements.last().map_or("", |p| p.name),
    );
    let pretty = serde_json::to_string_pretty(&report).unwrap_or_default();
    for (name, content) in [(REPORT, &pretty), (SUMMARY, &text)] {
        io::atomic::write_text(&at(name), content).map_err(|e| Failure::new(e.to_string()))?;
    }
    let mut message = format!(
        "{} of {} join the seed and the target. Files:\n",
        count(kept as u64),
        counted(seeds, "streamline")
    );
    for file in &files {
        let _ = writeln!(message, "  {}", shown(file));
    }
    runner.report(&report, &message);
    Ok(())
}
