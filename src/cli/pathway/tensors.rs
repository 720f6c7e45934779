//! Pathways in the metric of tensors.

use super::{Images, PathwayRegions, Summary, files, report};
use crate::cli::options::{FitOptions, FittedScan, GivenParameters, ImageEnding, ValueError};
use crate::cli::runner::{Failure, Runner};
use crate::data::text::{counted, singular_or_plural};
use crate::parameters::Parameters as _;
use crate::solvers::metric::{self, MAX_ANISOTROPY};
use crate::solvers::pathway::{MAX_PAIRS, MIN_PAIRS, NoRates, Params, Width};
use crate::state::core::text::{duration_text, significant};
use crate::state::files::jobs::SaveVolume;
use crate::state::pathways::RandomPairRank;
use crate::state::pathways::jobs::{
    ComparePathway, FindPathway, MapSensitivity, MappedSensitivity, PathwayComparison, RANDOM_PAIRS,
};
use crate::state::pathways::recipe::{command, sensitivity_argument};
use crate::state::tensors::jobs::input::Tensors;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A scan, the ends of a pathway in it, and its parameters.
#[derive(clap::Args, Debug)]
pub struct PathwayInputs {
    #[command(flatten)]
    pub fit: FitOptions,
    #[command(flatten)]
    pub regions: PathwayRegions,
    #[command(flatten)]
    pub params: GivenParameters<Params>,
    #[command(flatten)]
    pub metric: GivenParameters<metric::Params>,
    #[command(flatten)]
    pub width: GivenParameters<Width>,
}

#[derive(clap::Args, Debug)]
pub struct Options {
    #[command(flatten)]
    pub inputs: PathwayInputs,
    /// Number of random pairs of regions in the same head, at least 20, whose paths are compared with this one (0: no
    /// comparison). The percentage of pairs whose path costs more is printed: on its costliest stretch, and per mm of
    /// its whole length. Takes about as long as the pathway itself
    #[arg(long, value_name = "PAIRS", default_value_t = RANDOM_PAIRS, allow_negative_numbers = true, value_parser = pairs)]
    pub null: usize,
    /// Write an image of the percentage of the least cost that depends on each voxel
    #[arg(long, value_name = "FILE")]
    pub sensitivity: Option<PathBuf>,
    /// Folder for the results
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    #[command(flatten)]
    pub images: ImageEnding,
}

impl PathwayInputs {
    /// The parameters, with the width of the pathway.
    pub fn params(&self) -> Result<(Params, f64), Failure> {
        let defaults = Params::defaults();
        let min_fa = match self.regions.domain.within.is_empty() {
            true => defaults.min_fa,
            false => 0.0,
        };
        let metric = self.metric.or_defaults(defaults.metric)?;
        let params = self.params.or_defaults(Params {
            metric,
            min_fa,
            ..defaults
        })?;
        let factors = [params, Params::defaults()].map(|params| params.costly_factor);
        self.regions.note_unused_factor(factors[0], factors[1]);
        Ok((params, self.width.or_defaults(Width::defaults())?.epsilon))
    }

    /// The job that finds the pathway in the tensors of a fit.
    pub fn job(&self, fitted: &FittedScan, params: Params) -> Result<FindPathway, Failure> {
        Ok(FindPathway {
            tensors: Tensors::Here {
                field: fitted.fit.field.clone(),
                fa: fitted.maps.fa.clone(),
                resample: None,
            },
            regions: self.regions.regions()?,
            params,
            coarse: false,
            prepared: None,
            kept: None,
            mask_name: fitted.mask_name(),
        })
    }
}

impl Options {
    /// The command that repeats this work, from the command line's values.
    fn command(&self, fitted: &FittedScan, params: &Params, epsilon: f64) -> String {
        let regions = self.inputs.regions.specs();
        let fit = &fitted.arguments;
        let mut text = command("pathway", fit, &regions, params, epsilon, &self.out);
        text += &self.images.argument();
        if self.null != RANDOM_PAIRS {
            text += &format!(" --null {}", self.null);
        }
        if let Some(file) = &self.sensitivity {
            text += &sensitivity_argument(file);
        }
        text
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let (params, epsilon) = options.inputs.params()?;
    let files = files(&options.out, &options.images);
    runner.may_fill(&options.out, &files)?;
    if let Some(file) = &options.sensitivity {
        runner.may_write(file)?;
    }
    let fitted = options.inputs.fit.run(runner)?;
    let job = options.inputs.job(&fitted, params)?;
    let (result, _) = runner.run(job.clone())?;
    let course = (&result.path, result.weakest.as_ref());
    let summary = Summary::new(&result.pathway, course, epsilon, None);
    let command = options.command(&fitted, &params, epsilon);
    let images = Images {
        sides: &result.sides,
        curve: &result.curve,
    };
    summary.write(&options.out, &files, &images, &command, runner)?;
    let (mut value, mut text) = summary.value_and_text();
    if options.null > 0 {
        let (compared, _) = runner.run(ComparePathway {
            tensors: job.tensors,
            regions: job.regions,
            params,
            pairs: options.null,
            known_pairs: None,
        })?;
        value["random_pairs"] = random_pairs(&compared);
        text += &compared_with(&compared);
    }
    if let Some(file) = &options.sensitivity {
        let pathway = Arc::new(*result.clone());
        let (mapped, _) = runner.run(MapSensitivity { pathway })?;
        runner.run(SaveVolume {
            source: None,
            volume: mapped.volume.clone(),
            path: file.clone(),
            command: command.clone(),
        })?;
        value["sensitivity"] = sensitivity(&mapped, file);
        text += &sensitivity_text(&mapped);
    }
    value["voxels"] = json!(result.voxels);
    let repaired = fitted.fit.repaired.count() as u64;
    value["repaired"] = json!(repaired);
    value["limited"] = json!(result.limited);
    value["path"]["mean_fa"] = json!(result.mean_fa);
    value["prepare_ms"] = json!(result.prepare_ms);
    value["wall_ms"] = json!(result.solve_ms);
    text += &format!(
        "Mean FA along the path {:.3}\n{} in the domain ({}), prepared in {}, solved in {}\n",
        result.mean_fa.unwrap_or_default(),
        counted(result.voxels, "voxel"),
        domain_text(params.min_fa),
        duration_text(result.prepare_ms),
        duration_text(result.solve_ms)
    );
    if repaired > 0 {
        let repaired = repaired as usize;
        let was = singular_or_plural(repaired, "was", "were");
        text += &format!("{} {was} repaired\n", counted(repaired, "tensor"));
    }
    if result.limited > 0 {
        text += &format!(
            "The anisotropy of {} was limited: sharpening raises it above {MAX_ANISOTROPY}\n",
            counted(result.limited as usize, "cost")
        );
    }
    report((value, text), &files, &options.sensitivity, command, runner);
    Ok(())
}

fn sensitivity(mapped: &MappedSensitivity, file: &Path) -> Value {
    json!({
        "file": file,
        "voxels_of_half": mapped.half,
        "voxels_of_95_percent": mapped.voxels_of_95_percent,
        "largest_percent": mapped.largest,
        "wall_ms": mapped.wall_ms,
    })
}

fn sensitivity_text(mapped: &MappedSensitivity) -> String {
    format!(
        "Half of the least cost depends on {}, 95 % of it on {}; the largest share of one voxel is {} %\n",
        counted(mapped.half, "voxel"),
        counted(mapped.voxels_of_95_percent, "voxel"),
        significant(f64::from(mapped.largest))
    )
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

fn random_pairs(compared: &PathwayComparison) -> Value {
    let pairs = &compared.known_pairs.pairs;
    let shares = compared.shares;
    json!({
        "tried": pairs.tried,
        "joined": pairs.rates.len(),
        "weakest_above": shares.map(|s| s.weakest),
        "cost_per_mm_above": shares.map(|s| s.mean),
        "wall_ms": compared.wall_ms,
    })
}

/// `FA ≥ 0.15 and the ends`.
fn domain_text(min_fa: f64) -> String {
    match min_fa > 0.0 {
        true => format!("FA ≥ {min_fa} and the ends"),
        false => "all of the mask".to_owned(),
    }
}

fn compared_with(compared: &PathwayComparison) -> String {
    let joined = compared.known_pairs.pairs.rates.len();
    let wall = duration_text(compared.wall_ms);
    match RandomPairRank::from_compared(compared) {
        Some(among) => format!(
            "{} (compared in {wall}); a path exists between almost any two regions\n",
            among.text()
        ),
        None if compared.known_pairs.pairs.too_few() => format!(
            "Not compared: found {} of this domain that a path joins, expected at least {MIN_PAIRS}; widen the \
             domain (--min-fa, --within)\n",
            counted(joined, "random pair")
        ),
        None if compared.no_rates == Some(NoRates::NoPath) => {
            "Not compared: on voxels of twice the size no path joins the regions; widen the domain (--min-fa, \
             --within)\n"
                .to_owned()
        }
        None => "Not compared: on voxels of twice the size the path hardly leaves the regions; move them apart\n"
            .to_owned(),
    }
}
