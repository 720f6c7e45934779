//! Pathways in the metric of tensors.

use super::evidence::EvidenceOptions;
use super::{Images, PathwayRegions, Summary, epsilon, files, report};
use crate::cli::options::{FitOptions, FittedScan, GivenParameters, ImageEnding};
use crate::cli::runner::{Failure, Runner};
use crate::data::text::{counted, singular_or_plural};
use crate::solvers::lifted::SensitivityTo;
use crate::solvers::metric::{self, MAX_ANISOTROPY};
use crate::solvers::pathway::{Params, Width};
use crate::state::core::text::duration_text;
use crate::state::pathways::jobs::{ComparePathway, ComparedCosts, FindPathway};
use crate::state::pathways::recipe::command;
use crate::state::tensors::jobs::input::Tensors;
use serde_json::json;
use std::path::PathBuf;

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
    #[command(flatten)]
    pub evidence: EvidenceOptions,
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
        self.regions.check_factor(&self.params)?;
        Ok((params, epsilon(&self.width)?))
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
        text + &self.evidence.arguments(SensitivityTo::Cost)
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let (params, epsilon) = options.inputs.params()?;
    let files = files(&options.out, &options.images);
    runner.may_fill(&options.out, &files)?;
    options.evidence.check(runner)?;
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
    let comparison = || ComparePathway {
        costs: ComparedCosts::Tensors(Box::new(job.tensors), params),
        regions: job.regions,
        pairs: options.evidence.null,
        known_pairs: None,
    };
    let report_parts = (&mut value, &mut text);
    options.evidence.add(
        &result,
        comparison,
        (SensitivityTo::Cost, "--min-fa, --within"),
        &command,
        report_parts,
        runner,
    )?;
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
    let map = &options.evidence.sensitivity;
    report((value, text), &files, map, command, runner);
    Ok(())
}

/// `FA ≥ 0.15 and the ends`.
fn domain_text(min_fa: f64) -> String {
    match min_fa > 0.0 {
        true => format!("FA ≥ {min_fa} and the ends"),
        false => "all of the mask".to_owned(),
    }
}
