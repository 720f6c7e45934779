//! Evidence for a pathway: the comparison with random pairs, and the map of the voxels that it depends on.

use crate::cli::options::ValueError;
use crate::cli::runner::{Failure, Runner};
use crate::data::text::counted;
use crate::io::Format;
use crate::solvers::lifted::SensitivityTo;
use crate::solvers::pathway::{MAX_PAIRS, MIN_PAIRS, NoRates};
use crate::state::core::text::{duration_text, fixed, significant};
use crate::state::files::jobs::SaveVolume;
use crate::state::pathways::jobs::{
    ComparePathway, MapSensitivity, MappedSensitivity, NO_EFFECT, PathwayComparison, RANDOM_PAIRS,
};
use crate::state::pathways::recipe::sensitivity_arguments;
use crate::state::pathways::{PathwayResult, RandomPairRank};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(clap::Args, Debug)]
pub struct EvidenceOptions {
    /// Number of random pairs of regions in the same head, at least 20, whose paths are compared with this one (0: no
    /// comparison). The percentage of pairs whose path costs more is printed: on its costliest stretch, and per mm of
    /// its whole length
    #[arg(long, value_name = "PAIRS", default_value_t = RANDOM_PAIRS, allow_negative_numbers = true, value_parser = pairs)]
    pub null: usize,
    /// Write an image of the percentage of the least cost that depends on each voxel
    #[arg(long, value_name = "FILE")]
    pub sensitivity: Option<PathBuf>,
}

impl EvidenceOptions {
    /// Refuses a file that cannot be written, before the work.
    pub fn check(&self, runner: &Runner) -> Result<(), Failure> {
        let Some(file) = &self.sensitivity else {
            return Ok(());
        };
        if !Format::saves_image(file) {
            return Err(Failure::usage(format!(
                "Found the file name {} for --sensitivity, expected one that ends in .{}; choose another",
                file.display(),
                Format::SAVED_IMAGE_ENDINGS.join(", .")
            )));
        }
        runner.may_make(file)
    }

    /// The options as text of a command, empty for the defaults.
    pub fn arguments(&self, to: SensitivityTo) -> String {
        let mut text = String::new();
        if self.null != RANDOM_PAIRS {
            text += &format!(" --null {}", self.null);
        }
        if let Some(file) = &self.sensitivity {
            text += &sensitivity_arguments(file, to);
        }
        text
    }

    /// Compares and maps a pathway, and adds the results to its report. `domain_options` name those that widen its domain.
    pub fn add(
        &self,
        result: &PathwayResult,
        comparison: impl FnOnce() -> ComparePathway,
        (to, domain_options): (SensitivityTo, &str),
        command: &str,
        (value, text): (&mut Value, &mut String),
        runner: &mut Runner,
    ) -> Result<(), Failure> {
        if self.null > 0 {
            let (compared, _) = runner.run(comparison())?;
            value["random_pairs"] = random_pairs(&compared);
            *text += &compared_with(&compared, domain_options);
        }
        if let Some(file) = &self.sensitivity {
            let pathway = Arc::new(result.clone());
            let job = MapSensitivity {
                pathway,
                to,
                find: None,
            };
            let (mapped, _) = runner.run(job)?;
            runner.run(SaveVolume {
                source: None,
                volume: mapped.volume.clone(),
                path: file.clone(),
                command: command.to_owned(),
            })?;
            value["sensitivity"] = sensitivity(&mapped, file);
            *text += &sensitivity_text(&mapped);
        }
        Ok(())
    }
}

/// Parses a number of random pairs: zero, or enough for a percentage.
fn pairs(text: &str) -> Result<usize, ValueError> {
    let number = text.parse().ok();
    let number = number.filter(|n| *n == 0 || (MIN_PAIRS..=MAX_PAIRS).contains(n));
    number.ok_or_else(|| {
        let expected = format!("0, or a whole number from {MIN_PAIRS} to {MAX_PAIRS}");
        ValueError::new(expected, text)
    })
}

fn sensitivity(mapped: &MappedSensitivity, file: &Path) -> Value {
    let mut value = json!({
        "file": file,
        "voxels_of_half": mapped.half,
        "voxels_of_95_percent": mapped.voxels_of_95_percent,
        "largest_percent": mapped.largest,
        "wall_ms": mapped.wall_ms,
    });
    if let Some(by_amplitude) = mapped.by_amplitude {
        value["to"] = json!(mapped.to.key());
        value["percent_per_percent_amplitude"] = json!(0.0 - by_amplitude);
    }
    value
}

fn sensitivity_text(mapped: &MappedSensitivity) -> String {
    if mapped.has_no_effect() {
        return format!("{NO_EFFECT}\n");
    }
    let what = match mapped.to {
        SensitivityTo::Cost => "the least cost",
        SensitivityTo::Amplitude => "the effect of amplitudes",
    };
    let mut text = format!(
        "Half of {what} depends on {}, 95 % of it on {}; the largest share of one voxel is {} %\n",
        counted(mapped.half, "voxel"),
        counted(mapped.voxels_of_95_percent, "voxel"),
        significant(f64::from(mapped.largest))
    );
    if let Some(by_amplitude) = mapped.by_amplitude {
        text += &format!(
            "Amplitudes 1 % larger in all voxels, at the same reference amplitude, lower the least cost by {} %\n",
            fixed(by_amplitude, 2)
        );
    }
    text
}

fn random_pairs(compared: &PathwayComparison) -> Value {
    let pairs = &compared.known_pairs.pairs;
    let shares = compared.shares;
    let mut value = json!({
        "tried": pairs.tried,
        "joined": pairs.rates.len(),
        "weakest_above": shares.map(|s| s.weakest),
        "cost_per_mm_above": shares.map(|s| s.mean),
        "wall_ms": compared.wall_ms,
    });
    if let Some(directions) = pairs.directions() {
        value["directions"] = json!(directions);
        value["spacing_mm"] = json!(pairs.spacing_mm);
    }
    value
}

fn compared_with(compared: &PathwayComparison, domain_options: &str) -> String {
    let pairs = &compared.known_pairs.pairs;
    let joined = pairs.rates.len();
    let wall = duration_text(compared.wall_ms);
    let voxels = match compared.known_pairs.is_full() {
        true => "its own voxels",
        false => "voxels of twice the size",
    };
    match RandomPairRank::from_compared(compared) {
        Some(among) => {
            let directions = pairs.directions();
            let like = directions.map_or_else(String::new, |directions| {
                format!(", all on {voxels} and in {directions} directions")
            });
            format!(
                "{}{like} (compared in {wall}); a path exists between almost any two regions\n",
                among.text()
            )
        }
        None if pairs.too_few() => format!(
            "Not compared: found {} of this domain that a path joins, expected at least {MIN_PAIRS}; widen the \
             domain ({domain_options})\n",
            counted(joined, "random pair")
        ),
        None if compared.no_rates == Some(NoRates::NoPath) => format!(
            "Not compared: on {voxels} no path joins the regions; widen the domain ({domain_options})\n"
        ),
        None => format!(
            "Not compared: on {voxels} the path hardly leaves the regions; move them apart\n"
        ),
    }
}
