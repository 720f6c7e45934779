//! Rays of the inverse diffusion tensor.

use super::{Model, Ranked, files_and_report};
use crate::cli::options::GivenParameters;
use crate::cli::runner::{Failure, Runner};
use crate::cli::track::{self, CurveOptions, RayRows};
use crate::data::Role;
use crate::solvers::curves::Seeding;
use crate::solvers::geodesic::{Params, Rays};
use crate::state::CommandLine;
use crate::state::track::empty;
use crate::state::track::jobs::trace::TraceRays;

#[derive(clap::Args, Debug)]
#[command(
    mut_arg("both-ways", |arg| arg.conflicts_with("one-way")),
)]
pub struct Options {
    #[command(flatten)]
    pub curves: CurveOptions<RayRows>,
    #[command(flatten)]
    pub rays: GivenParameters<Rays>,
}

impl Options {
    /// The time of one core for the rays, seconds; infinite if it depends on the files.
    pub fn core_seconds(&self) -> f64 {
        let Ok(Rays { params, .. }) = self.rays() else {
            return 0.0;
        };
        match params.curves.seeding {
            Seeding::Random { count } => core_seconds(&params, count as f64),
            _ => f64::INFINITY,
        }
    }

    fn rays(&self) -> Result<Rays, Failure> {
        let mut rays = Rays::defaults();
        rays.params.curves = self.curves.track.params()?;
        self.rays.or_defaults(rays)
    }

    /// The command line that these options denote; defaults of the fit depend on the gradients.
    pub fn command_line(
        &self,
        gradients: Option<&crate::data::Gradients>,
    ) -> Result<CommandLine, Failure> {
        let rays = self.rays()?;
        Ok(CommandLine::Geodesic {
            fit: self.curves.fit.arguments(gradients)?,
            regions: self.curves.regions.specs(),
            metric: rays.metric,
            params: rays.params,
            cut: rays.cut,
        })
    }
}

/// The time in which one core traces the rays of this many seeds, seconds.
fn core_seconds(params: &Params, seeds: f64) -> f64 {
    /// Time of one core for a ray, seconds: some 500 steps by RK2.
    const OF_RAY: f64 = 8e-5;
    seeds * OF_RAY * params.rays_per_seed() as f64
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let curves = &options.curves;
    curves.check_out(true, runner)?;
    let Rays {
        metric,
        params,
        cut,
    } = options.rays()?;
    if metric.is_too_coarse() {
        warning!(
            "Half precision is too coarse for tensors sharpened by 3 or more; leave out \
             --precision f16"
        );
    }
    let fitted = curves.fit.run(runner)?;
    let regions = curves.regions.regions()?;
    let has_target = regions.iter().any(|r| r.role == Role::Target);
    if has_target && params.through.is_some() {
        note!("Targets have no effect: rays end at the point of --through");
    }
    let command_line = options.command_line(fitted.scan.gradients.as_deref())?;
    let seeds = fitted.expected_seeds(params.curves.seeding);
    runner.expect_work(core_seconds(&params, seeds) / runner.backend.threads() as f64);
    let trace = TraceRays {
        field: fitted.fit.field.clone(),
        metric: None,
        sharpening: metric.sharpening,
        precision: metric.precision,
        fa: fitted.maps.fa.clone(),
        regions: regions.clone(),
        params,
        cut,
        coarse: false,
        drawing: None,
    };
    let (ray_output, wall_ms) = runner.run(trace)?;
    let targets = regions.iter().filter(|r| r.role == Role::Target);
    let targets: Vec<&str> = targets.map(|r| r.name.as_str()).collect();
    let none_passed = || {
        let place = fitted.mask_name();
        let why = empty::none_passed(&ray_output.output, &targets, &place, None);
        why + &track::out_of_reach(&fitted.fit.field.mask(), &place, &regions)
    };
    let ranked = Ranked {
        rays: &ray_output,
        model: Model::Tensors {
            repaired: ray_output.metric.repaired,
        },
        regions: &regions,
        wall_ms,
    };
    let repeat = command_line.text_to(&curves.out);
    files_and_report(&ranked, &curves.out, repeat, &none_passed, runner)
}
