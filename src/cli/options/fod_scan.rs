//! The scan and the response functions of a bootstrap of distributions.

use super::signal::SignalNeed;
use super::{ScanOptions, whole_names};
use crate::cli::output::remark;
use crate::cli::runner::{Failure, Runner};
use crate::data::odf_field::Tissue;
use crate::data::text::counted;
use crate::data::{Mask, OdfField};
use crate::io::quoted;
use crate::solvers::csd;
use crate::state::tensors::jobs::fod::used_responses;
use crate::state::tensors::types::fods::FodBootstrapInput;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The options of the scan, none of which is required.
#[derive(Debug)]
pub struct OptionalScan(Option<ScanOptions>);

impl Args for OptionalScan {
    fn augment_args(command: Command) -> Command {
        ScanOptions::augment_args(command).mut_arg("scan", |arg| arg.required(false))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OptionalScan {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        match matches.contains_id("scan") {
            true => Ok(Self(Some(ScanOptions::from_arg_matches(matches)?))),
            false => Ok(Self(None)),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Whether an option is one of the scan.
pub fn is_of_scan(arg: &Arg) -> bool {
    let scan = ScanOptions::augment_args(Command::new("scan"));
    scan.get_arguments().any(|own| own.get_id() == arg.get_id())
}

#[derive(clap::Args, Debug)]
pub struct BootstrapOptions {
    #[command(flatten)]
    pub scan: OptionalScan,
    /// Response functions of a bootstrap as MRtrix's text files, white matter first: one row per shell (default:
    /// wm_response.txt and those of the other tissues beside the distributions)
    #[arg(long, value_name = "FILE,…", value_delimiter = ',')]
    pub responses: Vec<PathBuf>,
}

impl BootstrapOptions {
    /// The scan and the response functions as arguments.
    pub fn arguments(&self) -> [String; 2] {
        let scan = match &self.scan.0 {
            Some(scan) => format!(" {}", scan.source().arguments()),
            None => String::new(),
        };
        let files = self.responses.iter();
        let files: Vec<String> = files.map(|path| quoted(&path.to_string_lossy())).collect();
        let mut responses = String::new();
        if !files.is_empty() {
            let _ = write!(responses, " --responses {}", files.join(","));
        }
        [scan, responses]
    }

    /// The files of the response functions: those given, or those beside the distributions.
    fn files(&self, fod: &Path) -> Result<Vec<PathBuf>, Failure> {
        if !self.responses.is_empty() {
            return Ok(whole_names(&self.responses));
        }
        let adjacent =
            |tissue: Tissue| fod.with_file_name(format!("{}_response.txt", tissue.key()));
        let files = Tissue::ALL.map(adjacent);
        if !files[0].is_file() {
            return Err(Failure::usage(format!(
                "Found no response functions beside the distributions, expected wm_response.txt as arcuate fod writes \
                 it; name them with --responses: {}",
                fod.display()
            )));
        }
        Ok(files.into_iter().filter(|path| path.is_file()).collect())
    }

    /// The input of a bootstrap of these distributions; `no_scan` is the error without their scan.
    pub fn open(
        &self,
        fod: &Path,
        field: &OdfField,
        random_seed: u64,
        no_scan: &str,
        runner: &mut Runner,
    ) -> Result<FodBootstrapInput, Failure> {
        let files = self.files(fod)?;
        if files.len() > Tissue::ALL.len() {
            return Err(Failure::usage(format!(
                "Found {}, expected at most three: white matter, grey matter and CSF",
                counted(files.len(), "response function")
            )));
        }
        let Some(options) = &self.scan.0 else {
            return Err(Failure::usage(no_scan));
        };
        let need = SignalNeed {
            reason: "repetitions need the residuals of the deconvolution",
            remedy: "name the scan of the distributions",
        };
        let (scan, gradients) = options.open_signal(need, runner)?;
        for note in &scan.notes {
            remark(note, &options.scan);
        }
        if !scan.dwi.grid.matches(&field.grid) {
            return Err(Failure::new(format!(
                "The scan is on another grid than the distributions, expected that of their deconvolution; name \
                 another scan: {}",
                options.scan
            )));
        }
        let responses =
            used_responses(&files, &gradients).map_err(|error| Failure::new(error.to_string()))?;
        Ok(FodBootstrapInput {
            dwi: scan.dwi,
            gradients,
            mask: voxels(field),
            responses,
            params: csd::Params {
                order: Some(field.order()),
                random_seed,
                ..csd::Params::defaults()
            },
            residuals: Arc::default(),
        })
    }
}

/// The voxels with a distribution: those whose mean is above 0.
fn voxels(field: &OdfField) -> Mask {
    let mean = field.coefficients.iter().take(field.grid.voxel_count());
    let inside: Vec<u8> = mean.map(|c| u8::from(*c > 0.0)).collect();
    Mask::new(field.grid.clone(), inside)
}
