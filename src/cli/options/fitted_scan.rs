//! Options of a fit of tensors, and the fitted scan.

use super::signal::SignalNeed;
use super::{GivenParameters, Scan, ScanOptions, about_mask, noted};
use crate::cli::output::remark;
use crate::cli::runner::{Failure, Runner};
use crate::data::{Gradients, Mask};
use crate::io::{self, RemarkTopic};
use crate::solvers::curves::Seeding;
use crate::solvers::tensor_fit::{self, MaskReport};
use crate::state::tensors::jobs::fit::{FitTensors, TensorFit};
use crate::state::tensors::mask_text;
use crate::state::tensors::recipe::FitArguments;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(clap::Args, Clone, Debug)]
pub struct FitOptions {
    #[command(flatten)]
    pub scan: ScanOptions,
    /// Brain mask on the scan's grid (default: computed from the scan)
    #[arg(long, value_name = "FILE")]
    pub mask: Option<PathBuf>,
    #[command(flatten)]
    pub params: GivenParameters<tensor_fit::Params>,
}

/// A fitted scan.
pub struct FittedScan {
    pub scan: Scan,
    pub fit: tensor_fit::Output,
    pub maps: tensor_fit::Maps,
    pub mask: Mask,
    pub is_mask_automatic: bool,
    /// Reliability of the mask, if it was found from a scan.
    pub mask_report: Option<MaskReport>,
    pub arguments: FitArguments,
    pub wall_ms: f64,
}

impl FittedScan {
    /// The largest number of seeds expected in the mask.
    pub fn expected_seeds(&self, seeding: Seeding) -> f64 {
        let voxel_mm3 = self.mask.grid.world_from_voxel.matrix3.determinant().abs();
        seeding.expected_in(self.mask.count(), voxel_mm3)
    }

    /// The name of the tensors' mask, for sentences.
    pub fn mask_name(&self) -> String {
        let file = self.arguments.mask.as_ref().and_then(|p| p.file_name());
        match (file, self.mask_report) {
            (Some(name), _) => format!("the mask {}", name.to_string_lossy()),
            (None, Some(_)) => mask_text::AUTOMATIC.to_owned(),
            (None, None) if self.scan.true_mask.is_some() => "the head's true mask".to_owned(),
            (None, None) => mask_text::GIVEN.to_owned(),
        }
    }
}

impl FitOptions {
    pub fn arguments(&self, gradients: Option<&Gradients>) -> Result<FitArguments, Failure> {
        let defaults = tensor_fit::Params::defaults_for(gradients);
        Ok(FitArguments {
            source: self.scan.source(),
            mask: self.mask.clone(),
            params: self.params.or_defaults(defaults)?,
        })
    }

    /// Refuses parameters that fit no scan before a scan is read.
    fn check_params(&self) -> Result<(), Failure> {
        let params = self.params.or_defaults(tensor_fit::Params::defaults());
        params.map(drop)
    }

    pub fn run(&self, runner: &mut Runner) -> Result<FittedScan, Failure> {
        self.check_params()?;
        let scan = self.scan.open(runner)?;
        self.fit(scan, runner)
    }

    fn fit(&self, scan: Scan, runner: &mut Runner) -> Result<FittedScan, Failure> {
        // The fit reports this itself, with advice.
        let notes = scan.notes.iter();
        for note in notes.filter(|n| n.topic != Some(RemarkTopic::NoneWeighted)) {
            remark(note, &self.scan.scan);
        }
        let given = match &self.mask {
            Some(path) => Some(noted(io::mask(path, &scan.dwi.grid), path)?),
            // The window fits the built-in head within its true mask.
            None => scan.true_mask.clone(),
        };
        let arguments = self.arguments(scan.gradients.as_deref())?;
        let is_mask_automatic = given.is_none();
        let job = FitTensors {
            dwi: scan.dwi.clone(),
            gradients: scan.gradients.clone(),
            mask: given,
            params: arguments.params.clone(),
            shapes: Vec::new(),
        };
        let (fitted, wall_ms) = runner.run(job)?;
        let TensorFit {
            fit,
            maps,
            mask,
            mask_report,
            ..
        } = *fitted;
        if let Some(unit) = fit.other_unit {
            note!(
                "The tensors are read as {unit}, since no tissue has such values in mm²/s: {}",
                self.scan.scan
            );
        }
        if let Some(mask_report) = &mask_report {
            about_mask(mask_report, scan.companion_mask.as_deref());
        }
        let floor = arguments.params.min_eigenvalue_mm2_per_s;
        for doubt in fit.doubts(mask.count(), floor) {
            warning!("{doubt}: {}", self.scan.scan);
        }
        Ok(FittedScan {
            scan,
            fit,
            maps,
            mask,
            is_mask_automatic,
            mask_report,
            arguments,
            wall_ms,
        })
    }

    /// [`Self::run`] for a command that also needs the signal.
    pub fn run_on_signal(
        &self,
        need: SignalNeed,
        runner: &mut Runner,
    ) -> Result<(FittedScan, Arc<Gradients>), Failure> {
        self.check_params()?;
        let (scan, gradients) = self.scan.open_signal(need, runner)?;
        Ok((self.fit(scan, runner)?, gradients))
    }
}
