//! Edits of a layer's streamlines, as text.

pub mod tables;

use crate::data::tractogram::LENGTH;
use crate::io::quoted;
use crate::solvers::curves::StopReason;
use crate::solvers::tractogram::selection::{PointStatistic, SelectionOptions, Within};
use crate::state::recipe::Recipe;
use crate::state::regions::recipe::RegionSpec;
use crate::state::regions::recipe::region_arguments;
use std::fmt::{Display, Formatter, Result};
use std::path::{Path, PathBuf};

/// Rules as options of `arcuate select`.
#[derive(Clone, Debug)]
pub struct Choice {
    pub group: Option<String>,
    pub regions: Vec<RegionSpec>,
    pub by_ends: bool,
    pub values: Vec<Within>,
    /// Rules on images, in the form of `--image`.
    pub images: Vec<String>,
    pub stop: Option<StopReason>,
    pub invert: bool,
    /// With the seed of the random numbers.
    pub at_most: Option<(usize, u64)>,
}

/// A rule on an image, in the form of `--image`: `fa.nii.gz:0.3..:any`.
pub fn on_image(file: &Path, low: f32, high: f32, counting: PointStatistic) -> String {
    let range = range(low, high);
    match counting {
        PointStatistic::Mean => format!("{}:{range}", file.display()),
        counting => format!("{}:{range}:{}", file.display(), counting.key()),
    }
}

/// `20..200`, `20..` or `..200`.
fn range(low: f32, high: f32) -> String {
    let end = |v: f32| match v.is_finite() {
        true => v.to_string(),
        false => String::new(),
    };
    format!("{}..{}", end(low), end(high))
}

impl Display for Choice {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&region_arguments(&self.regions))?;
        if let Some(group) = &self.group {
            write!(f, " --group {}", quoted(group))?;
        }
        if self.by_ends {
            f.write_str(" --ends")?;
        }
        let mut measured = false;
        for Within { name, low, high } in &self.values {
            let range = range(*low, *high);
            if name == LENGTH && !std::mem::replace(&mut measured, true) {
                write!(f, " --length {range}")?;
            } else {
                write!(f, " --value {}", quoted(&format!("{name}={range}")))?;
            }
        }
        for image in &self.images {
            write!(f, " --image {}", quoted(image))?;
        }
        if let Some(stop) = self.stop {
            write!(f, " --stop {}", stop.key())?;
        }
        if self.invert {
            f.write_str(" --invert")?;
        }
        if let Some((number, seed)) = self.at_most {
            write!(f, " --number {number} --random-seed {seed}")?;
        }
        Ok(())
    }
}

/// A sequence of commands: one that computes the streamlines, and one for each step that keeps some of them.
pub(in crate::state) fn selected(
    of: &Recipe,
    steps: &[Option<SelectionOptions>],
    out: &Path,
) -> String {
    let (mut input, mut reported, mut commands) =
        (PathBuf::from("all.trx"), String::new(), Vec::new());
    match of {
        Recipe::File(file) => input.clone_from(file),
        Recipe::FileAs { file, reading } => {
            input.clone_from(file);
            reported = reading.to_string();
        }
        made => commands.push(made.command_to(&input)),
    }
    for (i, step) in steps.iter().flatten().enumerate() {
        let output = match i + 1 == steps.len() {
            true => out.to_owned(),
            false => PathBuf::from(format!("step{}.trx", i + 1)),
        };
        for need in &step.needs {
            if !commands.contains(need) {
                commands.push(need.clone());
            }
        }
        commands.push(format!(
            "arcuate select {} {}{}{reported}",
            quoted(&input.to_string_lossy()),
            quoted(&output.to_string_lossy()),
            step.options
        ));
        reported.clear();
        input = output;
    }
    commands.join(" && ")
}
