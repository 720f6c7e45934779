//! Commands that need the signal of a scan: tensors do not replace it.

use super::{Scan, ScanOptions};
use crate::cli::runner::{Failure, Runner};
use crate::data::{Gradients, TensorLayout, Volume};
use std::sync::Arc;

/// Why tensors do not do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignalNeed {
    pub reason: &'static str,
    pub remedy: &'static str,
}

impl SignalNeed {
    /// Needed by repetitions of a fit.
    pub const RESIDUALS: Self = Self {
        reason: "repetitions need the residuals of a fit",
        remedy: "name the scan that the tensors were fitted to, as in dwi.nii.gz",
    };

    fn sentence(self, found: &str, options: &ScanOptions) -> String {
        let Self { reason, remedy } = self;
        format!(
            "Found {found}, expected a scan with its gradients: {reason}; {remedy}: {}",
            options.scan
        )
    }

    /// Refuses an image of six volumes without gradients, which no option makes a scan.
    pub(super) fn refuse_six_volumes(
        self,
        dwi: &Volume,
        options: &ScanOptions,
    ) -> Result<(), Failure> {
        match dwi.frames {
            TensorLayout::VOLUMES => {
                let found = "six volumes without gradients, as of tensors";
                Err(Failure::new(self.sentence(found, options)))
            }
            _ => Ok(()),
        }
    }
}

impl ScanOptions {
    /// Opens a scan with its gradients; tensors are refused, whether options or the file say what they are.
    pub fn open_signal(
        &self,
        need: SignalNeed,
        runner: &mut Runner,
    ) -> Result<(Scan, Arc<Gradients>), Failure> {
        const FOUND: &str = "tensors";
        if self.tensors.layout().is_some() {
            return Err(Failure::usage(need.sentence(FOUND, self)));
        }
        let scan = self.open_for(Some(need), runner)?;
        match scan.gradients.clone() {
            Some(gradients) => Ok((scan, gradients)),
            None => Err(Failure::new(need.sentence(FOUND, self))),
        }
    }
}
