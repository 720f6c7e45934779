//! Edits of a layer's streamlines, as text.

pub mod tables;

use crate::data::ShellCommand;
use crate::data::tractogram::LENGTH;
use crate::io::quoted;
use crate::solvers::curves::StopReason;
use crate::solvers::tractogram::selection::{PointStatistic, ValueCondition};
use crate::state::regions::recipe::RegionSpec;
use crate::state::regions::recipe::region_arguments;
use std::fmt::{Display, Formatter, Result};
use std::path::Path;

/// Streamlines as the input of a command.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamlineInput {
    /// Their file as an argument, with the user's reading.
    pub tracks: String,
    /// The commands that write this file, one after another, if they come from none.
    pub first: Vec<ShellCommand>,
    /// Why no command computes them, and what to do about it.
    pub no_command: Option<String>,
}

/// Rules as options of `arcuate select`.
#[derive(Clone, Debug)]
pub struct Choice {
    pub group: Option<String>,
    pub regions: Vec<RegionSpec>,
    pub by_ends: bool,
    pub values: Vec<ValueCondition>,
    /// Rules on images, in the form of `--image`.
    pub images: Vec<String>,
    pub stop: Option<StopReason>,
    pub invert: bool,
    /// With the seed of the random numbers.
    pub at_most: Option<(usize, u64)>,
    pub image_option: ImageOption,
}

/// The name of the option for rules on images, which differs between commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageOption {
    /// `--image`, of `arcuate select`.
    Select,
    /// `--image-limits`, of `arcuate table`, where `--image` adds a column.
    Table,
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
        for ValueCondition { name, low, high } in &self.values {
            let range = range(*low, *high);
            if name == LENGTH && !std::mem::replace(&mut measured, true) {
                write!(f, " --length {range}")?;
            } else {
                write!(f, " --value {}", quoted(&format!("{name}={range}")))?;
            }
        }
        let option = match self.image_option {
            ImageOption::Select => "--image",
            ImageOption::Table => "--image-limits",
        };
        for image in &self.images {
            write!(f, " {option} {}", quoted(image))?;
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
