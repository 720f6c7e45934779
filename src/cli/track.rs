//! `arcuate track`: streamlines through the tensors of a scan, through fibre orientation distributions or through
//! peaks.

mod curves;
mod fibre_bootstrap;
mod fibres;
mod files;
mod report;
mod tensors;
mod tissues;

pub use curves::{CurveOptions, RayRows, out_of_reach};
pub use files::{check_out, key, must_be_streamlines, save};
pub use report::CountedCurves;

use super::options::shared_option;
use super::runner::{Failure, Runner};
use crate::parameters::row;
use crate::solvers::{curves as curve_parameters, odf_tracking, tensor_fit};
use crate::state::command_line;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

const EXAMPLES: &str = "\
Examples:
  arcuate track dwi.nii.gz --seed sphere:-24,-18,8,5 --target sphere:-30,-22,58,9 --out cst.tck
  arcuate track dwi.nii.gz --seeds per-voxel:1 --fa 0.2 --out whole.tck
  arcuate track dwi.nii.gz --seed mask:m1.nii.gz --bootstrap 100 --seeds random:50 --out prob.trx
  arcuate track phantom:1 --seed mask:seed.nii.gz --exclude box:0,0,0,2,80,80 --out left.tck
  arcuate track --fod fod/wm_fod.nii.gz --tissues 5tt.nii.gz --select 10000 --out whole.tck
  arcuate track --fod wm_fod.mif --seed sphere:-24,-18,8,5 --target sphere:-30,-22,58,9 --out cst.trx
  arcuate track --fod fod/wm_fod.nii.gz --tissues aseg.mgz --seed-interface --select 50000 --out whole.trx
  arcuate track dwi.nii.gz --fod fod/wm_fod.nii.gz --bootstrap 50 --select 50000 --out noise.trx
  arcuate track --peaks fod/peaks.nii.gz --seeds per-voxel:1 --out deterministic.tck

The tensors are estimated from SCAN. Without --seed, seeds are spread over the whole mask; with --fod or --peaks over all
voxels with fibres, and with --seed-interface over the surface of white matter. In the window, “Copy as command” copies a
command line like these.

Tissues end streamlines as in MRtrix's ACT: in cortical grey matter, inside deep grey matter, at the brain stem. A
streamline that ends in CSF or in white matter is discarded and counted; a probabilistic one first goes back and tries
again. With --fod or --peaks, streamlines are the same on any number of threads.

A bootstrap of distributions (--fod with --bootstrap) deconvolves SCAN again: with the response functions that arcuate fod
wrote beside the distributions, or those of --responses.";

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

/// The directions that streamlines follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Model {
    Tensors,
    Distributions,
    Peaks,
}

impl Model {
    /// The model that the options choose.
    fn chosen(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let model = match ["fod", "peaks"].map(|id| is_given(matches, id)) {
            [true, _] => Self::Distributions,
            [_, true] => Self::Peaks,
            _ => Self::Tensors,
        };
        let has_bootstrap = is_given(matches, "bootstrap");
        let Some(scan) = matches.get_one::<String>("scan") else {
            return match model {
                Self::Tensors => Err(wrong_usage(NO_MODEL)),
                Self::Distributions if has_bootstrap => Err(wrong_usage(NO_SCAN)),
                model => Ok(model),
            };
        };
        if model == Self::Distributions && has_bootstrap {
            return Ok(model);
        }
        match model.option() {
            None => Ok(model),
            Some(option) => Err(wrong_usage(format!(
                "Found the scan {scan} and --{option}, expected one of them; leave out the scan to track through {}, or \
                 --{option} to track through the tensors of the scan",
                model.name()
            ))),
        }
    }

    /// The option that chooses it; `None` if the scan does.
    fn option(self) -> Option<&'static str> {
        match self {
            Self::Tensors => None,
            Self::Distributions => Some("fod"),
            Self::Peaks => Some("peaks"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Tensors => "tensors",
            Self::Distributions => "distributions",
            Self::Peaks => "peaks",
        }
    }

    /// Refuses options that only other models have.
    fn refuse_foreign(self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let [tensors, mut fibres] = all_options();
        if !is_given(matches, "bootstrap") || self == Self::Peaks {
            // Only a bootstrap of distributions reads a scan.
            fibres.retain(|arg| !fibre_bootstrap::is_of_scan(arg) && arg.get_id() != "bootstrap");
        }
        let (own, foreign, remedy) = match self {
            Self::Tensors => (
                tensors,
                fibres,
                "choose distributions with --fod or peaks with --peaks instead of the scan"
                    .to_owned(),
            ),
            model => {
                let option = model.option().unwrap_or_default();
                let remedy =
                    format!("name a scan instead of --{option} to track through its tensors");
                (fibres, tensors, remedy)
            }
        };
        let given = foreign
            .into_iter()
            .find(|arg| !has(&own, arg) && is_given(matches, arg.get_id().as_str()));
        match given.as_ref().and_then(Arg::get_long) {
            None => Ok(()),
            Some(option) => Err(wrong_usage(format!(
                "Found --{option}, expected an option of tracking through {}; leave it out, or {remedy}",
                self.name()
            ))),
        }
    }
}

fn wrong_usage(sentence: impl std::fmt::Display) -> clap::Error {
    clap::Error::raw(ErrorKind::ArgumentConflict, sentence)
}

fn is_given(matches: &ArgMatches, id: &str) -> bool {
    matches.value_source(id) == Some(ValueSource::CommandLine)
}

fn has(options: &[Arg], arg: &Arg) -> bool {
    options.iter().any(|option| option.get_id() == arg.get_id())
}

/// The options of tensors, and those of distributions and peaks, in the order of the help.
fn all_options() -> [Vec<Arg>; 2] {
    let tensors = tensors::Options::augment_args(Command::new("tensors"));
    let fibres = fibres::Options::augment_args(Command::new("fibres"));
    let [tensors, mut fibres] = [tensors, fibres].map(|command| {
        let mut options: Vec<Arg> = command.get_arguments().cloned().collect();
        options.sort_by_key(Arg::get_display_order);
        options
    });
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
        let [tensors, fibres] = all_options();
        // The choice of the model comes first, then what all models have.
        let (choices, fibres): (Vec<Arg>, Vec<Arg>) = fibres
            .into_iter()
            .partition(|arg| ["fod", "peaks"].contains(&arg.get_id().as_str()));
        let (shared, tensors): (Vec<Arg>, Vec<Arg>) =
            tensors.into_iter().partition(|arg| has(&fibres, arg));
        let fibres = fibres.into_iter().filter(|arg| !has(&shared, arg));
        let fibres: Vec<Arg> = fibres
            .map(|arg| arg.help_heading("Options for distributions and peaks (--fod, --peaks)"))
            .collect();
        let shared = shared.into_iter().map(|arg| {
            let row = shared_row(arg.get_id().as_str());
            match (arg.is_positional(), row) {
                (true, _) => arg.required(false).help(
                    "Diffusion scan (NIfTI), phantom:SEED or phantom:crossing:SEED, to track through its tensors; with \
                     --fod only for --bootstrap, and none with --peaks",
                ),
                (false, Some(row)) => row,
                (false, None) => arg,
            }
        });
        let tensors = tensors
            .into_iter()
            .map(|arg| arg.help_heading("Options for tensors (SCAN)"));
        let options = choices
            .into_iter()
            .chain(shared)
            .chain(tensors)
            .chain(fibres);
        let options = options.enumerate().map(|(i, arg)| arg.display_order(i));
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
        let model = Model::chosen(matches)?;
        model.refuse_foreign(matches)?;
        Ok(match model {
            Model::Tensors => Self::Tensors(Box::new(FromArgMatches::from_arg_matches(matches)?)),
            Model::Distributions | Model::Peaks => {
                Self::Fibres(Box::new(FromArgMatches::from_arg_matches(matches)?))
            }
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Options {
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
