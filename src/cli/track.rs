//! `arcuate track`: streamlines through the tensors of a scan, through fibre orientation distributions or through
//! peaks.

mod curves;
mod fibres;
mod files;
mod noise;
mod report;
mod tensors;
mod tissues;

pub use curves::{CurveOptions, RayRows, out_of_reach};
pub use files::{check_out, key, must_be_streamlines, save};
pub use report::CountedCurves;

use super::options::models::{ModelOptions, Models, OtherModel, is_given, options_of, wrong_usage};
use super::options::{fod_scan, shared_option};
use super::runner::{Failure, Runner};
use crate::parameters::row;
use crate::solvers::{curves as curve_parameters, odf_tracking, tensor_fit};
use crate::state::command_line;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

const EXAMPLES: &str = "\
Examples:
  arcuate track dwi.nii.gz --seed sphere:-24,-18,8,5 --target sphere:-30,-22,58,9 --out cst.tck
  arcuate track dwi.nii.gz --seeds per-voxel:1 --fa 0.2 --out whole.tck
  arcuate track dwi.nii.gz --seed mask:m1.nii.gz --bootstrap 100 --seeds random:50 --out prob.trx
  arcuate track dwi.nii.gz --seed mask:m1.nii.gz --bootstrap 100 --noise noise_track --distance-to tumour.nii.gz --out all.tck
  arcuate track phantom:1 --seed mask:seed.nii.gz --exclude box:0,0,0,2,80,80 --out left.tck
  arcuate track --fod fod/wm_fod.nii.gz --tissues 5tt.nii.gz --select 10000 --out whole.tck
  arcuate track --fod wm_fod.mif --seed sphere:-24,-18,8,5 --target sphere:-30,-22,58,9 --out cst.trx
  arcuate track --fod fod/wm_fod.nii.gz --tissues aseg.mgz --seed-interface --select 50000 --out whole.trx
  arcuate track dwi.nii.gz --fod fod/wm_fod.nii.gz --bootstrap 50 --select 50000 --out repeated.trx
  arcuate track --peaks fod/peaks.nii.gz --seeds per-voxel:1 --out deterministic.tck

The tensors are estimated from SCAN. Without --seed, seeds are spread over the whole mask; with --fod or --peaks over all
voxels with fibres, and with --seed-interface over the surface of white matter. In the window, “Copy as command” copies a
command line like these.

Tissues end streamlines as in MRtrix's ACT: in cortical grey matter, inside deep grey matter, at the brain stem. A
streamline that ends in CSF or in white matter is discarded and counted; a probabilistic one first goes back and tries
again. With --fod or --peaks, streamlines are the same on any number of threads.

A bootstrap of distributions (--fod with --bootstrap) deconvolves SCAN again: with the response functions that arcuate fod
wrote beside the distributions, or those of --responses.

Files in the folder of --noise: share.nii.gz, the share of the repetitions with a streamline through the voxel, where a
repetition without streamlines passes no voxel; centre_lines.tck, the most central streamline of each repetition; with
--distance-to also distances.csv, the distance of the centre lines from the mask along the middle one. Distances in the
text are rounded down. This covers measurement noise only, not errors of the model, distortion, misalignment or brain
shift.";

/// The options with which those of distributions and peaks apply.
const FIBRES: &str = "with --fod or --peaks";

/// Reported if neither a scan nor distributions nor peaks are named.
const NO_MODEL: &str = "Found neither a scan nor --fod nor --peaks, expected one of them; name a scan to track its \
                        tensors, or a file of distributions or peaks";

/// Reported if distributions are to be resampled without their scan.
const NO_SCAN: &str = "Found --bootstrap with --fod and no scan, expected the scan of the distributions; name it, as in \
                       arcuate track dwi.nii.gz --fod fod/wm_fod.nii.gz --bootstrap 50, or leave out --bootstrap";

/// The options of one model.
#[derive(Debug)]
pub enum Options {
    Tensors(Box<tensors::Options>),
    Fibres(Box<fibres::Options>),
}

/// The models, and their texts in help and errors.
const MODELS: Models = Models {
    others: &[
        OtherModel {
            option: "fod",
            name: "distributions",
        },
        OtherModel {
            option: "peaks",
            name: "peaks",
        },
    ],
    activity: "tracking through",
    to: "to track through",
    heading: "Options for distributions and peaks (--fod, --peaks)",
    scan_help: "Diffusion scan (NIfTI), phantom:SEED or phantom:KIND:SEED, to track through its tensors; with --fod \
                only for --bootstrap, and none with --peaks",
    need_scan: false,
};

/// Whether distributions are resampled, which needs their scan.
fn resamples(chosen: Option<OtherModel>, matches: &ArgMatches) -> bool {
    chosen.is_some_and(|other| other.option == "fod") && is_given(matches, "bootstrap")
}

/// The model that the options choose; `None`: tensors.
fn chosen_model(matches: &ArgMatches) -> Result<Option<OtherModel>, clap::Error> {
    let chosen = MODELS.chosen(matches);
    let is_resampled = resamples(chosen, matches);
    match (matches.get_one::<String>("scan"), chosen) {
        (None, None) => Err(wrong_usage(NO_MODEL)),
        (None, Some(_)) if is_resampled => Err(wrong_usage(NO_SCAN)),
        (Some(scan), Some(other)) if !is_resampled => Err(MODELS.both_given(scan, other)),
        _ => Ok(chosen),
    }
}

/// The options of tensors, and those of distributions and peaks, in the order of the help.
fn all_options() -> ModelOptions {
    let [tensors, mut fibres] = options_of::<tensors::Options, fibres::Options>();
    // An image of tensors has no signal to deconvolve.
    let is_layout = |arg: &Arg| ["tensor_order", "tensor_frame"].contains(&arg.get_id().as_str());
    fibres.retain(|arg| !is_layout(arg));
    [tensors, fibres]
}

/// The option that both tables have under this key; `None` unless both have such a row.
fn shared_row(key: &str) -> Option<Arg> {
    let defaults = odf_tracking::Params::defaults();
    let of_fibres = (row::<odf_tracking::Params>(key)?, &defaults);
    if let Some(row) = row::<curve_parameters::Params>(key) {
        let defaults = curve_parameters::Params::defaults();
        return Some(shared_option((row, &defaults), of_fibres, FIBRES));
    }
    let defaults = tensor_fit::Params::defaults();
    let row = row::<tensor_fit::Params>(key)?;
    Some(shared_option((row, &defaults), of_fibres, FIBRES))
}

impl Args for Options {
    fn augment_args(command: Command) -> Command {
        let shared = |arg: Arg| shared_row(arg.get_id().as_str()).unwrap_or(arg);
        let options = MODELS.arguments(all_options(), shared);
        command.args(options).after_help(format!(
            "{EXAMPLES}\n\nDefaults for tensors:{}",
            command_line::track_defaults()
        ))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Options {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let chosen = chosen_model(matches)?;
        let [tensors, mut fibres] = all_options();
        if !resamples(chosen, matches) {
            // Only a bootstrap of distributions reads a scan.
            fibres.retain(|arg| !fod_scan::is_of_scan(arg) && arg.get_id() != "bootstrap");
        }
        MODELS.refuse_foreign(chosen, [tensors, fibres], matches)?;
        Ok(match chosen {
            Some(_) => Self::Fibres(Box::new(FromArgMatches::from_arg_matches(matches)?)),
            None => Self::Tensors(Box::new(FromArgMatches::from_arg_matches(matches)?)),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Options {
    /// The time of one core for the work that cards can do, seconds, as far as the arguments determine it.
    pub fn core_seconds(&self) -> f64 {
        match self {
            Self::Tensors(options) => options.core_seconds(),
            // Peaks are followed on the CPU.
            Self::Fibres(options) if options.has_peaks() => 0.0,
            Self::Fibres(_) => f64::INFINITY,
        }
    }

    /// The options for tensors; `None` if distributions or peaks are tracked.
    pub fn tensors(&self) -> Option<&tensors::Options> {
        match self {
            Self::Tensors(options) => Some(options),
            Self::Fibres(_) => None,
        }
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    match options {
        Options::Tensors(options) => tensors::run(options, runner),
        Options::Fibres(options) => fibres::run(options, runner),
    }
}
