//! Pathways through fibre orientation distributions.

use super::evidence::EvidenceOptions;
use super::{Images, PathwayRegions, Summary, epsilon, files, report};
use crate::cli::options::{GivenParameters, ImageEnding, OdfInputOptions, open_distributions};
use crate::cli::runner::{Failure, Runner};
use crate::compute::Control;
use crate::data::text::counted;
use crate::data::{OdfField, Region};
use crate::io::quoted;
use crate::solvers::lifted::{Params, SensitivityTo};
use crate::solvers::pathway::Width;
use crate::state::core::text::duration_text;
use crate::state::pathways::KnownCosts;
use crate::state::pathways::jobs::{
    ComparePathway, ComparedCosts, ComparedDistributions, FindLifted,
};
use crate::state::pathways::recipe::lifted_command;
use crate::state::tensors::jobs::input::Distributions;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use std::path::PathBuf;

/// Distributions, the ends of a pathway through them, and its parameters.
#[derive(clap::Args, Debug)]
pub struct LiftedInputs {
    /// Find pathways through these fibre orientation distributions instead of tensors: an image written by arcuate fod,
    /// MRtrix, DIPY or Camino
    #[arg(long, value_name = "FILE", required = true)]
    pub fod: PathBuf,
    #[command(flatten)]
    pub layout: OdfInputOptions,
    #[command(flatten)]
    pub regions: PathwayRegions,
    #[command(flatten)]
    pub params: GivenParameters<Params>,
    #[command(flatten)]
    pub width: GivenParameters<Width>,
}

#[derive(clap::Args, Debug)]
pub struct Options {
    #[command(flatten)]
    pub inputs: LiftedInputs,
    #[command(flatten)]
    pub evidence: EvidenceOptions,
    /// Input of the voxels to which --sensitivity refers: their costs in all directions, or their amplitudes. By amplitude,
    /// 1 % stands for a least cost that falls by a thousandth where the amplitudes of the voxel are a tenth larger; the
    /// percentages add up to less than 100 [default: cost]
    #[arg(long, value_name = "INPUT", requires = "sensitivity", value_parser = input_names())]
    pub sensitivity_to: Option<SensitivityTo>,
    /// Compare random pairs and this path on its own voxels and in its own directions, not on voxels of twice the size in
    /// 42 directions; with 98 directions, each path then has 19 times as many costs to compute
    #[arg(long)]
    pub null_full: bool,
    /// Folder for the results
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    #[command(flatten)]
    pub images: ImageEnding,
}

/// The inputs of voxels, by their keys.
fn input_names() -> impl TypedValueParser<Value = SensitivityTo> {
    let keys = PossibleValuesParser::new(SensitivityTo::KEYS);
    keys.map(|key| SensitivityTo::from_key(&key).unwrap_or_default())
}

impl LiftedInputs {
    /// The parameters, with the width of the pathway.
    pub fn params(&self) -> Result<(Params, f64), Failure> {
        let defaults = Params::defaults();
        let min_amplitude = match self.regions.domain.within.is_empty() {
            true => defaults.min_amplitude,
            false => 0.0,
        };
        let params = self.params.or_defaults(Params {
            min_amplitude,
            ..defaults
        })?;
        self.regions.check_factor(&self.params)?;
        Ok((params, epsilon(&self.width)?))
    }

    /// Reads the distributions.
    pub fn open(&self, runner: &Runner) -> Result<OdfField, Failure> {
        let control = Control::new();
        let opened = open_distributions(&self.fod, &self.layout, &runner.backend, &control)?;
        // The solver refuses what the warnings are about.
        for text in opened.notes {
            note!("{text}: {}", self.fod.display());
        }
        Ok(opened.field)
    }

    /// The job that finds the pathway.
    pub fn job(
        &self,
        field: OdfField,
        regions: Vec<Region>,
        (params, epsilon): (Params, f64),
    ) -> FindLifted {
        FindLifted {
            distributions: Box::new(Distributions::Here {
                field,
                resample: None,
            }),
            regions,
            params,
            epsilon,
            coarse: false,
            prepared: None,
            kept: None,
        }
    }

    /// The file of distributions and its layout, as arguments.
    pub fn arguments(&self) -> String {
        let odf = format!("--fod {}", quoted(&self.fod.to_string_lossy()));
        odf + &self.layout.arguments()
    }
}

impl Options {
    fn map_to(&self) -> SensitivityTo {
        self.sensitivity_to.unwrap_or_default()
    }

    /// The command that repeats this work.
    fn command(&self, params: &Params, epsilon: f64) -> String {
        let regions = self.inputs.regions.specs();
        let odf = self.inputs.arguments();
        let text = lifted_command("pathway", &odf, &regions, params, epsilon, &self.out);
        let full = if self.null_full { " --null-full" } else { "" };
        text + &self.images.argument() + &self.evidence.arguments(self.map_to()) + full
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let inputs = &options.inputs;
    let (params, epsilon) = inputs.params()?;
    let files = files(&options.out, &options.images);
    runner.may_fill(&options.out, &files)?;
    options.evidence.check(runner)?;
    if options.null_full && options.evidence.null == 0 {
        return Err(Failure::usage(
            "Found --null-full with --null 0, expected pairs to compare; leave out one of them",
        ));
    }
    let regions = inputs.regions.regions()?;
    let field = inputs.open(runner)?;
    let job = inputs.job(field, regions.clone(), (params, epsilon));
    let distributions = Distributions::clone(&job.distributions);
    let (result, _) = runner.run(job)?;
    let pathway = &result.pathway;
    let lifted = pathway.distributions();
    let course = (&result.path, result.weakest.as_ref());
    let summary = Summary::new(pathway, course, epsilon, result.excess_limit);
    let command = options.command(&params, epsilon);
    let images = Images {
        sides: &result.sides,
        curve: &result.curve,
    };
    summary.write(&options.out, &files, &images, &command, runner)?;
    let (mut value, mut text) = summary.value_and_text();
    let comparison = || {
        let known = result.prepared.as_ref();
        let costs = ComparedDistributions {
            distributions,
            params,
            full: options.null_full,
            prepared: known.and_then(KnownCosts::distributions).cloned(),
        };
        ComparePathway {
            costs: ComparedCosts::Distributions(Box::new(costs)),
            regions,
            pairs: options.evidence.null,
            known_pairs: None,
        }
    };
    let report_parts = (&mut value, &mut text);
    options.evidence.add(
        &result,
        comparison,
        (options.map_to(), "--min-amplitude, --within"),
        &command,
        report_parts,
        runner,
    )?;
    let amplitudes = lifted.and_then(|lifted| lifted.prepared().amplitudes());
    let reference = amplitudes.map(|a| a.reference);
    let fields = lifted.iter().flat_map(|lifted| &lifted.fields);
    let states: usize = fields.map(|field| field.reached()).sum();
    value["excess_limit"] = json!(result.excess_limit);
    value["voxels"] = json!(result.voxels);
    value["states"] = json!(states);
    value["reference_amplitude"] = json!(reference);
    value["parameters"] = crate::parameters::json(&params);
    value["prepare_ms"] = json!(result.prepare_ms);
    value["wall_ms"] = json!(result.solve_ms);
    let domain = match params.min_amplitude > 0.0 {
        true => format!("amplitude ≥ {} and the ends", params.min_amplitude),
        false => "all of the mask".to_owned(),
    };
    text += &format!(
        "{} in the domain ({domain}), prepared in {}, solved in {} ({})\n",
        counted(result.voxels, "voxel"),
        duration_text(result.prepare_ms),
        duration_text(result.solve_ms),
        counted(states, "state"),
    );
    let map = &options.evidence.sensitivity;
    report((value, text), &files, map, command, runner);
    Ok(())
}
