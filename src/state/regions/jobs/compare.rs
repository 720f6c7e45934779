//! Comparison of several segmentations of one structure.

use crate::compute::Control;
use crate::data::Mask;
use crate::jobs::{Job, JobError, PartialSender, Slot, Worker};
use crate::solvers::compare::{Consensus, Pair, pairs, staple};
use crate::state::job_end::for_command_line;
use std::sync::Arc;

pub const COMPARE_MASKS: Slot = Slot::latest_wins("compare masks");

/// Compares masks with each other.
#[derive(Clone, Debug)]
pub struct CompareMasks {
    pub masks: Vec<Mask>,
    /// Whether to estimate their consensus.
    pub staple: bool,
    /// The mask whose voxels alone count for the consensus.
    pub within: Option<Mask>,
}

#[derive(Clone, Debug)]
pub struct ComparedMasks {
    pub pairs: Arc<[Pair]>,
    pub consensus: Option<Consensus>,
}

impl Job for CompareMasks {
    type Output = ComparedMasks;

    fn slot(&self) -> Slot {
        COMPARE_MASKS
    }

    fn label(&self) -> String {
        "Comparing masks".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<ComparedMasks>,
    ) -> Result<ComparedMasks, JobError> {
        let backend = worker.backend();
        let consensus = match self.staple {
            true => Some(staple(
                &self.masks,
                self.within.as_ref(),
                &backend,
                control,
            )?),
            false => None,
        };
        Ok(ComparedMasks {
            pairs: pairs(&self.masks, &backend, control)?.into(),
            consensus,
        })
    }
}

for_command_line!(CompareMasks);
