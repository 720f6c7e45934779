//! A segmentation as a file, and the command that repeats it.

use crate::io::quoted;
use crate::parameters::arguments;
use crate::solvers::level_set::{Mode, Params, RunHistory, Sphere, TargetParts};
use crate::state::core::text::quoted_path;
use crate::state::regions::recipe::ShapeSpec;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A run in the format that `arcuate segment` writes and reads.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentScript {
    /// A file, or `phantom:SEED` for the built-in head's T1, `phantom:SEED:dwi` for its scan.
    pub image: PathBuf,
    pub volume: usize,
    pub mask: Option<PathBuf>,
    pub threshold: Option<(f32, f32)>,
    /// World mm, and the largest difference from the value there.
    pub fill: Option<(DVec3, f32)>,
    pub spheres: Vec<Sphere>,
    pub layer: Option<PathBuf>,
    /// Index of its volume.
    #[serde(default, skip_serializing_if = "is_first")]
    pub layer_volume: usize,
    pub grow_here: Vec<ShapeSpec>,
    pub not_here: Vec<ShapeSpec>,
    /// Later replacements of those four: the run changes to the first of them at number 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<ScriptInputs>,
    pub run: RunHistory,
}

/// Inputs of the speed besides the image.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptInputs {
    pub layer: Option<PathBuf>,
    #[serde(skip_serializing_if = "is_first")]
    pub layer_volume: usize,
    pub grow_here: Vec<ShapeSpec>,
    pub not_here: Vec<ShapeSpec>,
}

fn is_first(volume: &usize) -> bool {
    *volume == 0
}

/// The command of a segmentation.
#[derive(Clone, PartialEq, Debug)]
pub struct SegmentCommand {
    pub script: SegmentScript,
    /// An input that no file holds: an image, a mask.
    pub unfiled: Option<String>,
    /// The file of the script, if it was written.
    pub file: Option<PathBuf>,
}

impl SegmentCommand {
    /// Why there is no command.
    pub fn no_command(&self) -> Option<String> {
        if self.file.is_some() {
            return None;
        }
        if let Some(what) = &self.unfiled {
            return Some(format!(
                "There is no command for this segmentation, since “{what}” is not in a file: export it first, \
                 or save the session, whose command recomputes all of it"
            ));
        }
        let run = &self.script.run;
        // The option uses the tolerance of the run.
        let fills = self
            .script
            .fill
            .is_none_or(|(_, within)| within == run.params.tolerance);
        let is_plain = run.events.is_empty() && self.script.layer_volume == 0 && fills;
        (!is_plain).then(|| {
            "There is no short command for a run that was changed on the way: export its script first, which \
             arcuate segment repeats"
                .to_owned()
        })
    }

    pub fn text(&self, out: &Path) -> String {
        if let Some(file) = &self.file {
            return format!(
                "arcuate segment --script {} --out {}",
                quoted_path(file),
                quoted_path(out)
            );
        }
        match self.no_command() {
            Some(sentence) => format!("# {sentence}"),
            None => format!(
                "arcuate segment {} --out {}",
                self.script.arguments(),
                quoted_path(out)
            ),
        }
    }
}

impl SegmentScript {
    /// Inputs by the numbers of the run.
    pub fn inputs(&self) -> Vec<ScriptInputs> {
        let first = ScriptInputs {
            layer: self.layer.clone(),
            layer_volume: self.layer_volume,
            grow_here: self.grow_here.clone(),
            not_here: self.not_here.clone(),
        };
        std::iter::once(first).chain(self.later.clone()).collect()
    }

    fn arguments(&self) -> String {
        let mut text = quoted_path(&self.image);
        if self.volume > 0 {
            text += &format!(" --volume {}", self.volume);
        }
        if let Some(mask) = &self.mask {
            text += &format!(" --mask {}", quoted_path(mask));
        }
        if let Some((low, high)) = self.threshold {
            text += &format!(" --threshold {low}..{high}");
        }
        if let Some((DVec3 { x, y, z }, _)) = self.fill {
            text += &format!(" --fill {x},{y},{z}");
        }
        for sphere in &self.spheres {
            let spec = ShapeSpec::Sphere {
                centre: sphere.centre,
                radius_mm: sphere.radius_mm,
            };
            let option = if sphere.add { "add" } else { "remove" };
            text += &format!(" --{option} {spec}");
        }
        // Lefohn's form has neither.
        let is_scaled = self.run.params.mode == Mode::Scaled;
        if let Some(layer) = self.layer.as_ref().filter(|_| is_scaled) {
            text += &format!(" --layer {}", quoted_path(layer));
        }
        let painted = [("grow-here", &self.grow_here), ("not-here", &self.not_here)];
        for (option, specs) in painted.into_iter().filter(|_| is_scaled) {
            for spec in specs {
                text += &format!(" --{option} {}", quoted(&spec.to_string()));
            }
        }
        text += &of_params(&self.run.params);
        text + &format!(" --steps {} --ignore-leaks", self.run.steps)
    }
}

/// Target and range, then all rows of the table that have an effect.
fn of_params(p: &Params) -> String {
    let mut text = arguments(&TargetParts::from(p));
    if let Some(layer) = p.layer.filter(|_| p.mode == Mode::Scaled) {
        text += &format!(" --layer-range {}..{}", layer.low, layer.high);
    }
    text + &arguments(p)
}
