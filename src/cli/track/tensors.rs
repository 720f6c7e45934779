//! Streamlines through the tensors of a scan.

use super::curves::{CurveOptions, TrackingResult, out_of_reach, summary};
use super::files::key;
use super::noise::NoiseOptions;
use crate::cli::options::signal::SignalNeed;
use crate::cli::options::{AllRows, FittedScan};
use crate::cli::output::shown;
use crate::cli::runner::{Failure, Runner};
use crate::data::Gradients;
use crate::solvers::curves::{self, Integrator, Seeding};
use crate::state::CommandLine;
use crate::state::tensors::types::{BootstrapInput, ResidualCache};
use crate::state::track::empty;
use crate::state::track::jobs::streamlines::{LiveTracking, TrackStreamlines};
use serde_json::json;

#[derive(clap::Args, Debug)]
pub struct Options {
    #[command(flatten)]
    pub curves: CurveOptions<AllRows>,
    #[command(flatten)]
    pub noise: NoiseOptions,
}

impl Options {
    /// The time of one core for the work that cards can do, seconds; infinite if it depends on the files.
    pub fn core_seconds(&self) -> f64 {
        let Ok(params) = self.params() else {
            return 0.0;
        };
        match params.seeding {
            // These are computed on the CPU.
            _ if params.deflection.is_some() || params.repetitions.is_some() => 0.0,
            Seeding::Random { count } => core_seconds(count as f64),
            _ => f64::INFINITY,
        }
    }

    pub fn params(&self) -> Result<curves::Params, Failure> {
        let given = &self.curves.track;
        let mut defaults = curves::Params::defaults();
        if given.has("deflect") && !given.has("integrator") {
            defaults.integrator = Integrator::Euler;
        }
        given.or_defaults(defaults)
    }

    /// The command line that these options denote; defaults of the fit depend on the gradients.
    pub fn command_line(&self, gradients: Option<&Gradients>) -> Result<CommandLine, Failure> {
        Ok(CommandLine::Track {
            fit: self.curves.fit.arguments(gradients)?,
            regions: self.curves.regions.specs(),
            params: self.params()?,
        })
    }
}

/// The time in which one core follows the streamlines of this many seeds, seconds.
fn core_seconds(seeds: f64) -> f64 {
    /// Time of one core for a seed, seconds: in a brain mask, 40 steps by RK4 on average.
    const OF_SEED: f64 = 2e-5;
    seeds * OF_SEED
}

/// Tracks in a fitted scan.
fn track(
    fitted: &FittedScan,
    options: &Options,
    runner: &mut Runner,
) -> Result<TrackingResult, Failure> {
    let params = options.params()?;
    let seeds = fitted.expected_seeds(params.seeding);
    runner.expect_work(core_seconds(seeds) / runner.backend.threads() as f64);
    let gradients = fitted.scan.gradients.clone();
    let gradients = gradients.filter(|_| params.repetitions.is_some());
    let resample = gradients.map(|gradients| {
        Box::new(BootstrapInput {
            dwi: fitted.scan.dwi.clone(),
            gradients,
            mask: fitted.mask.clone(),
            params: fitted.arguments.params.clone(),
            residuals: ResidualCache::default(),
        })
    });
    let command_line = options.command_line(fitted.scan.gradients.as_deref())?;
    let regions = options.curves.regions.regions()?;
    let track = TrackStreamlines {
        field: fitted.fit.field.clone(),
        fa: fitted.maps.fa.clone(),
        regions: regions.clone(),
        params,
        resample,
        coarse: false,
        drawing: None,
    };
    let (output, wall_ms) = runner.run(LiveTracking(track))?;
    Ok(TrackingResult {
        output,
        regions,
        command_line,
        wall_ms,
    })
}

/// One sentence about an empty result: the most frequent outcome, and regions that cannot be reached.
fn nothing_kept(
    fitted: &FittedScan,
    tracked: &TrackingResult,
    params: &curves::Params,
) -> Option<String> {
    let mask = fitted.mask_name();
    let (why, _) = empty::none_kept(&tracked.output, params, &mask)?;
    let inside = fitted.fit.field.mask();
    Some(why + &out_of_reach(&inside, &mask, &tracked.regions))
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let curves = &options.curves;
    let params = options.params()?;
    let reached = params.check_reach();
    reached.map_err(|e| Failure::usage(e.to_string()))?;
    curves.check_out(false, runner)?;
    let noise = options.noise.checked(params.repetitions, runner)?;
    let fitted = match params.repetitions {
        Some(_) => curves.fit.run_on_signal(SignalNeed::RESIDUALS, runner)?.0,
        None => curves.fit.run(runner)?,
    };
    let tracked = track(&fitted, options, runner)?;
    let files = curves.save(&tracked, runner)?;
    let (mut value, mut text) = summary(&tracked, "streamline");
    value["file"] = json!(curves.out);
    value["files"] = json!(files);
    let command = tracked.command_line.text_to(&curves.out);
    value["repeat"] = json!(match &noise {
        Some(noise) => command.clone() + &noise.arguments(),
        None => command.clone(),
    });
    for file in files {
        text += &format!("{}\n", shown(&file));
    }
    text += &key(&tracked.output.kept, &curves.out);
    if let Some(noise) = noise {
        let grid = &fitted.fit.field.grid;
        noise.compare(
            &tracked.output.kept,
            grid,
            &command,
            &mut value,
            &mut text,
            runner,
        )?;
    }
    if let Some(why) = nothing_kept(&fitted, &tracked, &params) {
        warning!("{why}");
    }
    runner.report(&value, &text);
    Ok(())
}
