//! Repetitions of a pathway through fibre orientation distributions.

use super::{NO_SCAN, RepetitionOptions};
use crate::cli::options::fod_scan::BootstrapOptions;
use crate::cli::pathway::{LiftedInputs, joining_mask};
use crate::cli::runner::{Failure, Runner};
use crate::state::pathways::jobs::{RepeatPathway, RepeatedScan};
use crate::state::pathways::recipe::lifted_command;
use std::sync::Arc;

#[derive(clap::Args, Debug)]
#[command(mut_arg("responses", |arg| arg.help(
    "Response functions of the deconvolution as MRtrix's text files, white matter first: one row per shell (default: \
     wm_response.txt and those of the other tissues beside the distributions)"
)))]
pub struct Options {
    #[command(flatten)]
    pub inputs: LiftedInputs,
    #[command(flatten)]
    pub deconvolution: BootstrapOptions,
    #[command(flatten)]
    pub repeated: RepetitionOptions,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let Options {
        inputs,
        deconvolution,
        repeated,
    } = options;
    let (params, epsilon) = inputs.params()?;
    let (repetitions, mask) = repeated.checked(runner)?;
    let regions = inputs.regions.regions()?;
    let field = inputs.open(runner)?;
    let seed = repetitions.random_seed;
    let scan = deconvolution.open(&inputs.fod, &field, seed, NO_SCAN, runner)?;
    let (result, _) = runner.run(inputs.job(field, regions, (params, epsilon)))?;
    joining_mask(&result.pathway, epsilon, result.excess_limit);
    let job = RepeatPathway {
        pathway: Arc::new(*result),
        epsilon,
        scan: RepeatedScan::Distributions(Box::new(scan)),
        params: repetitions,
        distance_to: mask,
    };
    let [scan, responses] = deconvolution.arguments();
    let odf = format!("{} {}{responses}", scan.trim_start(), inputs.arguments());
    let regions = inputs.regions.specs();
    let command = lifted_command(
        "uncertainty",
        &odf,
        &regions,
        &params,
        epsilon,
        &repeated.out,
    );
    repeated.repeat(job, &command, runner)
}
