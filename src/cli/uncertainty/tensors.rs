//! Repetitions of a pathway in the metric of tensors.

use super::RepetitionOptions;
use crate::cli::options::signal::SignalNeed;
use crate::cli::pathway::{PathwayInputs, joining_mask};
use crate::cli::runner::{Failure, Runner};
use crate::state::pathways::jobs::{RepeatPathway, RepeatedScan};
use crate::state::pathways::recipe::command;
use std::sync::Arc;

#[derive(clap::Args, Debug)]
#[command(
    // Tensors have no residuals.
    mut_arg("tensor_order", |arg| arg.hide(true)),
    mut_arg("tensor_frame", |arg| arg.hide(true)),
)]
pub struct Options {
    #[command(flatten)]
    pub inputs: PathwayInputs,
    #[command(flatten)]
    pub repeated: RepetitionOptions,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let Options { inputs, repeated } = options;
    let (params, epsilon) = inputs.params()?;
    let (repetitions, mask) = repeated.checked(runner)?;
    let need = SignalNeed::RESIDUALS;
    let (fitted, gradients) = inputs.fit.run_on_signal(need, runner)?;
    let (result, _) = runner.run(inputs.job(&fitted, params)?)?;
    joining_mask(&result.pathway, epsilon, None);
    let job = RepeatPathway {
        pathway: Arc::new(*result),
        epsilon,
        scan: RepeatedScan::Tensors {
            dwi: fitted.scan.dwi.clone(),
            gradients,
            fit: fitted.arguments.params.clone(),
        },
        params: repetitions,
        distance_to: mask,
    };
    let regions = inputs.regions.specs();
    let fit = &fitted.arguments;
    let command = command(
        "uncertainty",
        fit,
        &regions,
        &params,
        epsilon,
        &repeated.out,
    );
    repeated.repeat(job, &command, runner)
}
