//! `arcuate uncertainty`: how far measurement noise alone moves a pathway, and its distance from a mask, through tensors or
//! fibre orientation distributions.

mod lifted;
pub mod report;
mod tensors;

use super::options::models::{ModelOptions, Models, OtherModel, is_given, options_of, wrong_usage};
use super::options::{GivenParameters, ImageEnding, make_folder, noted};
use super::output::shown;
use super::runner::{Failure, Runner};
use crate::data::Mask;
use crate::io;
use crate::jobs::ValueNames;
use crate::parameters::arguments;
use crate::solvers::pathway::{Range90, RepetitionParams};
use crate::state::files::jobs::{SaveTractogram, SaveVolume};
use crate::state::pathways::jobs::{RepeatPathway, SaveDistances, paths_of};
use crate::state::pathways::recipe::distance_argument;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  arcuate uncertainty dwi.nii.gz --from sphere:-24,-18,8,5 --to sphere:-30,-22,58,9 --out noise
  arcuate uncertainty dwi.nii.gz --from mask:m1.nii.gz --to mask:capsule.nii.gz --distance-to tumour.nii.gz --out noise_tumour
  arcuate uncertainty dwi.nii.gz --fod fod/wm_fod.nii.gz --from sphere:-24,-18,8,5 --to sphere:-30,-22,58,9 --out noise_fod

Each repetition refits the tensors, or with --fod the distributions, with random signs of the residuals (wild bootstrap)
and recomputes the pathway. Repetition r depends only on the random seed and on r. Files in the folder: share.nii.gz, the
share of the repetitions whose pathway contains the voxel; paths.tck, the cheapest path of each repetition; with
--distance-to also distances.csv, the distance of the paths from the mask along the pathway. Only voxels that join both
regions count, or all of them where the pathway is too narrow to join the regions. The text gives the number of
repetitions whose path outside the regions stays within 4 mm of the original one, and rounds distances down. With 20 or
more repetitions, it also gives a 90 % band of the least cost without noise; with fewer, no percentiles.

With --fod, SCAN is deconvolved again: with the response functions that arcuate fod wrote beside the distributions, or
those of --responses. Paths run only in the voxels that the pathway itself reaches from both regions.

This covers measurement noise only, not errors of the model, distortion, misalignment or brain shift.";

/// Reported if neither a scan nor distributions are named.
const NO_MODEL: &str = "Found no scan, expected one: repetitions need the residuals of a fit; name a scan for pathways in \
                        its tensors, and also --fod for pathways through distributions";

/// Reported if distributions are named without their scan.
const NO_SCAN: &str = "Found --fod and no scan, expected the scan of the distributions, which hold no residuals; name it, \
                       as in arcuate uncertainty dwi.nii.gz --fod fod/wm_fod.nii.gz";

/// The models, and their texts in help and errors.
const MODELS: Models = Models {
    others: &[OtherModel {
        option: "fod",
        name: "distributions",
    }],
    activity: "pathways through",
    to: "for pathways through",
    heading: "Options for distributions (--fod)",
    scan_help: "Diffusion scan (NIfTI), phantom:SEED or phantom:KIND:SEED: pathways run through its tensors, or with \
                --fod through the distributions that were estimated from it",
    need_scan: true,
};

/// The options of one model.
#[derive(Debug)]
pub enum Options {
    Tensors(Box<tensors::Options>),
    Lifted(Box<lifted::Options>),
}

/// The options of tensors, and those of distributions, in the order of the help.
fn all_options() -> ModelOptions {
    let [tensors, mut lifted] = options_of::<tensors::Options, lifted::Options>();
    // An image of tensors has no signal to deconvolve.
    let is_layout = |arg: &Arg| ["tensor_order", "tensor_frame"].contains(&arg.get_id().as_str());
    lifted.retain(|arg| !is_layout(arg));
    [tensors, lifted]
}

impl Args for Options {
    fn augment_args(command: Command) -> Command {
        let options = MODELS.arguments(all_options(), |arg| arg);
        command.args(options).after_help(AFTER_HELP)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Options {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let chosen = MODELS.chosen(matches);
        if !is_given(matches, "scan") {
            let missing = chosen.map_or(NO_MODEL, |_| NO_SCAN);
            return Err(wrong_usage(missing));
        }
        MODELS.refuse_foreign(chosen, all_options(), matches)?;
        Ok(match chosen {
            Some(_) => Self::Lifted(Box::new(FromArgMatches::from_arg_matches(matches)?)),
            None => Self::Tensors(Box::new(FromArgMatches::from_arg_matches(matches)?)),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    match options {
        Options::Tensors(options) => tensors::run(options, runner),
        Options::Lifted(options) => lifted::run(options, runner),
    }
}

/// Options of the repetitions of either model.
#[derive(clap::Args, Debug)]
pub struct RepetitionOptions {
    #[command(flatten)]
    pub repetitions: GivenParameters<RepetitionParams>,
    /// Report the distance of the paths from this mask, for example a tumour
    #[arg(long, value_name = "FILE")]
    pub distance_to: Option<PathBuf>,
    /// Folder for the results
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    #[command(flatten)]
    pub images: ImageEnding,
}

impl RepetitionOptions {
    fn all_files(&self) -> [PathBuf; 3] {
        let share = self.images.path(&self.out, "share");
        let [paths, distances] = ["paths.tck", "distances.csv"].map(|name| self.out.join(name));
        [share, paths, distances]
    }

    /// The files that are written.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = self.all_files().to_vec();
        files.truncate(match self.distance_to {
            Some(_) => 3,
            None => 2,
        });
        files
    }

    /// The parameters and the mask, once nothing prevents the files.
    fn checked(&self, runner: &Runner) -> Result<(RepetitionParams, Option<Mask>), Failure> {
        let params = self.repetitions.or_defaults(RepetitionParams::defaults())?;
        runner.may_fill(&self.out, &self.files())?;
        let mask = self.distance_to.as_ref();
        let mask = mask
            .map(|path| noted(io::mask_on_own_grid(path), path))
            .transpose()?;
        report::warn_of_few(params.repetitions, "--repetitions");
        Ok((params, mask))
    }

    /// Solves the repetitions, writes and reports the results; `inputs` is the command without [`RepetitionOptions`].
    fn repeat(&self, job: RepeatPathway, inputs: &str, runner: &mut Runner) -> Result<(), Failure> {
        let params = job.params;
        let (repeated, _) = runner.run(job)?;
        let mut command = inputs.to_owned() + &arguments(&params);
        if let Some(file) = &self.distance_to {
            command += &distance_argument(file);
        }
        command += &self.images.argument();
        let _folder = make_folder(&self.out)?;
        let [share, paths, distances] = self.all_files();
        runner.run(SaveVolume {
            source: None,
            volume: repeated.repetitions.share(),
            path: share,
            command: command.clone(),
        })?;
        runner.run(SaveTractogram {
            tractogram: paths_of(&repeated.repetitions),
            path: paths,
            command: command.clone(),
            values: ValueNames::default(),
        })?;
        match &repeated.measured.along {
            Some(along) => {
                runner.run(SaveDistances {
                    path: distances,
                    distances: along.clone(),
                    has_percentiles: Range90::has_percentiles(repeated.repetitions.paths.len()),
                })?;
            }
            None => report::warn_of_earlier(&distances),
        }
        let mut value = report::report(&repeated);
        value["random_seed"] = json!(params.random_seed);
        value["files"] = json!(self.files());
        value["repeat"] = json!(command);
        let mut text = report::text(&repeated);
        for file in self.files() {
            let _ = writeln!(text, "{}", shown(&file));
        }
        runner.report(&value, &text);
        Ok(())
    }
}
