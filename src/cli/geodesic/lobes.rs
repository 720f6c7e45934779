//! Rays along the lobes of fibre orientation distributions.

use super::{Model, Ranked, files_and_report};
use crate::cli::options::{
    GivenParameters, OdfInputOptions, RegionOptions, RowSelection, note_cpu_reason,
    open_distributions,
};
use crate::cli::runner::{Failure, Runner};
use crate::cli::track::{self, RayRows, check_out};
use crate::compute::Control;
use crate::data::Role;
use crate::io::quoted;
use crate::parameters::{self, Parameters, arguments, arguments_of};
use crate::solvers::curves;
use crate::solvers::geodesic::{OdfSpeed, Rays, TENSORS_ONLY};
use crate::state::regions::recipe::region_arguments;
use crate::state::track::document::starts_of_lobes;
use crate::state::track::empty;
use crate::state::track::jobs::lobes::TraceLobes;
use crate::state::track::recipe::odf_ray_arguments;
use serde_json::{Map, Value};
use std::path::PathBuf;

/// The rows of rays in distributions, with their defaults.
#[derive(Clone, Copy, Debug)]
pub struct LobeRows;

impl RowSelection<curves::Params> for LobeRows {
    fn defaults() -> curves::Params {
        RayRows::defaults()
    }

    fn has(key: &str) -> bool {
        RayRows::has(key) && !TENSORS_ONLY.contains(&key)
    }
}

impl RowSelection<Rays> for LobeRows {
    fn defaults() -> Rays {
        Rays::lobe_defaults()
    }

    fn has(key: &str) -> bool {
        !TENSORS_ONLY.contains(&key)
    }
}

#[derive(clap::Args, Debug)]
pub struct Options {
    /// Follow the lobes of these fibre orientation distributions instead of tensors: an image written by arcuate fod,
    /// MRtrix, DIPY or Camino
    #[arg(long, value_name = "FILE")]
    pub fod: PathBuf,
    #[command(flatten)]
    pub layout: OdfInputOptions,
    #[command(flatten)]
    pub speed: GivenParameters<OdfSpeed>,
    #[command(flatten)]
    pub regions: RegionOptions,
    #[command(flatten)]
    pub curves: GivenParameters<curves::Params, LobeRows>,
    #[command(flatten)]
    pub rays: GivenParameters<Rays, LobeRows>,
    /// Streamline file; its extension sets the format: .tck, .trk, .trx, .vtk, .vtp
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// The values of the rows that are options.
fn members<P: Parameters>(params: &P) -> Map<String, Value>
where
    LobeRows: RowSelection<P>,
{
    let Value::Object(mut members) = parameters::json(params) else {
        return Map::new();
    };
    for row in P::TABLE {
        if !<LobeRows as RowSelection<P>>::has(row.key) {
            members.remove(&row.member());
        }
    }
    members
}

/// The parameters as JSON.
fn reported(rays: &Rays, speed: &OdfSpeed) -> Value {
    let mut all = members(&rays.params.curves);
    all.extend(members(rays));
    if let Value::Object(speed) = parameters::json(speed) {
        all.extend(speed);
    }
    Value::Object(all)
}

/// The options that differ from those of tensors, with their defaults.
pub fn defaults() -> String {
    let rays = <LobeRows as RowSelection<Rays>>::defaults();
    arguments_of(&rays, &["directions"]) + &arguments(&OdfSpeed::defaults())
}

impl Options {
    fn rays(&self) -> Result<Rays, Failure> {
        let mut rays = <LobeRows as RowSelection<Rays>>::defaults();
        rays.params.curves = self.curves.params()?;
        self.rays.or_defaults(rays)
    }

    fn command(&self, rays: &Rays, speed: &OdfSpeed) -> String {
        let file = |path: &PathBuf| quoted(&path.to_string_lossy());
        let mut text = format!("arcuate geodesic --fod {}", file(&self.fod));
        text += &self.layout.arguments();
        text += &region_arguments(&self.regions.specs());
        text += &odf_ray_arguments(rays, speed);
        text + &format!(" --out {}", file(&self.out))
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    check_out(&options.out, true, runner)?;
    let (rays, speed) = (options.rays()?, options.speed.params()?);
    let regions = options.regions.regions()?;
    let control = Control::new();
    let opened = open_distributions(&options.fod, &options.layout, &runner.backend, &control)?;
    for text in opened.notes {
        note!("{text}: {}", options.fod.display());
    }
    note_cpu_reason(opened.field.order(), runner);
    let repeat = options.command(&rays, &speed);
    let parameters = reported(&rays, &speed);
    let fibres = opened.field.mask();
    let (ray_output, wall_ms) = runner.run(TraceLobes {
        field: opened.field,
        metric: None,
        speed,
        regions: regions.clone(),
        params: rays.params,
        cut: rays.cut,
        coarse: false,
        drawing: None,
    })?;
    let targets = regions.iter().filter(|r| r.role == Role::Target);
    let targets: Vec<&str> = targets.map(|r| r.name.as_str()).collect();
    let place = starts_of_lobes(&speed);
    let none_passed = || {
        let cutoff = speed.min_amplitude;
        let why = empty::none_passed(&ray_output.output, &targets, &place, cutoff);
        why + &track::out_of_reach(&fibres, "the voxels with fibres", &regions)
    };
    let ranked = Ranked {
        rays: &ray_output,
        model: Model::Distributions {
            reference: ray_output.metric.reference,
            parameters,
        },
        regions: &regions,
        wall_ms,
    };
    files_and_report(&ranked, &options.out, repeat, &none_passed, runner)
}
