//! Streamlines through fibre orientation distributions or peaks, with anatomical rules.

use super::files;
use super::noise::NoiseOptions;
use super::report::CountedCurves;
use super::tissues::TissueOptions;
use crate::cli::options::fod_scan::BootstrapOptions;
use crate::cli::options::{
    FodInputOptions, GivenParameters, RegionOptions, note_cpu_reason, open_distributions,
};
use crate::cli::output::shown;
use crate::cli::runner::{Failure, Runner};
use crate::cli::typed::must_exist;
use crate::compute::Control;
use crate::io::{orientations, quoted};
use crate::parameters::arguments;
use crate::solvers::curves::Seeding;
use crate::solvers::odf_tracking::{Fibres, Method, Params};
use crate::state::core::text::count;
use crate::state::regions::recipe::region_arguments;
use crate::state::track::jobs::orientations::TrackOrientations;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(clap::Args, Debug)]
#[command(mut_arg("responses", |arg| arg.requires("bootstrap").conflicts_with("peaks")))]
pub struct Options {
    /// Track through these fibre orientation distributions instead of tensors: an image written by arcuate fod, MRtrix,
    /// DIPY or Camino
    #[arg(long, value_name = "FILE", conflicts_with = "peaks")]
    pub fod: Option<PathBuf>,
    /// Track through these peaks instead of tensors: three volumes per peak in world axes, FSL's dyads1 with the other
    /// files beside it, a model of DSI Studio (.fib.gz), or MRtrix's fixels (a folder, or a list of values in it)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["odf_basis", "odf_frame", "odf_affine"])]
    pub peaks: Option<PathBuf>,
    #[command(flatten)]
    pub bootstrap: BootstrapOptions,
    #[command(flatten)]
    pub layout: FodInputOptions,
    #[command(flatten)]
    pub tissues: TissueOptions,
    #[command(flatten)]
    pub regions: RegionOptions,
    #[command(flatten)]
    pub params: GivenParameters<Params>,
    /// Streamline file; its extension sets the format: .tck, .trk, .trx, .vtk, .vtp
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    #[command(flatten)]
    pub noise: NoiseOptions,
}

impl Options {
    /// Whether peaks are followed.
    pub fn has_peaks(&self) -> bool {
        self.peaks.is_some()
    }

    /// The parameters for voxels of this size.
    fn params(&self, voxel_mm: f64) -> Result<Params, Failure> {
        let with_tissues = self.tissues.any();
        let method = match self.peaks {
            Some(_) => Method::Deterministic,
            None => Method::Probabilistic,
        };
        let for_method = |method: Method| {
            let defaults = Params::defaults_for(method, voxel_mm, with_tissues);
            self.params.or_defaults(defaults)
        };
        // The method is an option, too, and other defaults follow from it.
        for_method(for_method(method)?.method)
    }

    fn command(&self, params: &Params) -> String {
        let file = |path: &Path| quoted(&path.to_string_lossy());
        let [scan, responses] = self.bootstrap.arguments();
        let mut text = format!("arcuate track{scan}");
        for (option, path) in [("fod", &self.fod), ("peaks", &self.peaks)] {
            if let Some(path) = path {
                let _ = write!(text, " --{option} {}", file(path));
            }
        }
        text += &self.layout.input.arguments();
        text += &responses;
        text += &self.tissues.arguments();
        text += &region_arguments(&self.regions.specs());
        text += &arguments(params);
        text + &format!(" --out {}", file(&self.out))
    }

    /// Reads distributions or peaks.
    fn open(&self, runner: &Runner) -> Result<Fibres, Failure> {
        let control = Control::new();
        let (path, fibres, warnings, notes) = match (&self.peaks, &self.fod) {
            (Some(path), _) => {
                let opened = orientations::open_peaks(path, None, &control)?;
                let fibres = Fibres::Peaks(opened.field);
                (path, fibres, opened.warnings, opened.notes)
            }
            (None, Some(path)) => {
                let layout = &self.layout.input;
                let opened = open_distributions(path, layout, &runner.backend, &control)?;
                // Tracking refuses what the warnings are about.
                let fibres = Fibres::Distributions(opened.field);
                (path, fibres, Vec::new(), opened.notes)
            }
            (None, None) => return Err(Failure::usage(super::NO_MODEL)),
        };
        for warning in warnings {
            warning!("{warning}: {}", path.display());
        }
        for text in notes {
            note!("{text}: {}", path.display());
        }
        Ok(fibres)
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    files::must_be_streamlines(&options.out)?;
    // Options that are wrong for every image are refused before it is read.
    let early = options.params(2.0)?;
    if early.at_interface && !options.tissues.any() {
        return Err(Failure::usage(
            "Found --seed-interface without tissues, expected them; name an image with --tissues",
        ));
    }
    let inputs = [&options.fod, &options.peaks].into_iter().flatten();
    must_exist(inputs.map(PathBuf::as_path))?;
    files::check_out(&options.out, false, runner)?;
    let noise = options.noise.checked(early.repetitions, runner)?;
    let fibres = options.open(runner)?;
    if let Fibres::Distributions(field) = &fibres {
        note_cpu_reason(field.order(), runner);
    }
    let spacing = fibres.grid().spacing();
    let params = options.params((spacing.x + spacing.y + spacing.z) / 3.0)?;
    let tissues = options.tissues.open(fibres.grid())?;
    let regions = options.regions.regions()?;
    let resample = match (&fibres, &options.fod) {
        (Fibres::Distributions(field), Some(fod)) if params.repetitions.is_some() => {
            let seed = params.random_seed;
            let input = options
                .bootstrap
                .open(fod, field, seed, super::NO_SCAN, runner)?;
            Some(Box::new(input))
        }
        _ => None,
    };
    let grid = fibres.grid().clone();
    let (output, wall_ms) = runner.run(TrackOrientations {
        fibres,
        resample,
        tissues,
        regions: regions.clone(),
        params: params.clone(),
    })?;
    if let Some(doubt) = &output.tissue_doubt {
        warning!("{doubt}{}", options.tissues.named());
    }
    let kept = &output.kept;
    let command = options.command(&params);
    let files = files::save(kept, &options.out, command.clone(), runner)?;
    let counted = CountedCurves {
        output: &output,
        regions: &regions,
        wall_ms,
        in_distributions: true,
    };
    let (mut value, mut text) = counted.summary("streamline");
    value["file"] = json!(options.out);
    value["files"] = json!(files);
    value["parameters"] = crate::parameters::json(&params);
    value["repeat"] = json!(match &noise {
        Some(noise) => command.clone() + &noise.arguments(),
        None => command.clone(),
    });
    for file in files {
        text += &format!("{}\n", shown(&file));
    }
    text += &files::key(kept, &options.out);
    if let Some(noise) = noise {
        noise.compare(kept, &grid, &command, &mut value, &mut text, runner)?;
    }
    if let Some(requested) = params.select.filter(|requested| kept.len() < *requested) {
        let tried: u64 = output.seed_outcomes.iter().sum();
        // Random seeds end after many tries for each streamline, others where there are no more.
        let remedy = match params.seeding {
            Seeding::Random { .. } => "relax the rule that discards most",
            _ => "place more seeds, or draw them at random (--seeds random:N)",
        };
        warning!(
            "Kept {} of {} streamlines after {} seeds; see why the others were discarded, and {remedy}",
            count(kept.len() as u64),
            count(requested as u64),
            count(tried)
        );
    } else if kept.is_empty() {
        warning!(
            "No streamline was kept; see why they were discarded, and relax the rule that discards most"
        );
    }
    runner.report(&value, &text);
    Ok(())
}
