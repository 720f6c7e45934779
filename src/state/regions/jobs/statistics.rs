//! Statistics of images within a region.

use crate::compute::Control;
use crate::data::{Mask, Volume};
use crate::jobs::{Job, JobError, PartialSender, Slot, Worker};
use crate::solvers::region::{ValueStatistics, statistics};
use crate::state::job_end::for_command_line;

pub const STATISTICS: Slot = Slot::latest_wins("statistics");

/// Computes statistics of one image within a region.
#[derive(Clone, Debug)]
pub struct MeasureRegion {
    pub region: Mask,
    pub volume: Volume,
    pub frame: usize,
    /// Number of bins of the histogram.
    pub bins: usize,
}

impl Job for MeasureRegion {
    type Output = ValueStatistics;

    fn slot(&self) -> Slot {
        STATISTICS
    }

    fn label(&self) -> String {
        "Statistics of the region".to_owned()
    }

    fn run(
        self,
        _: &Worker,
        control: &Control,
        _: &PartialSender<ValueStatistics>,
    ) -> Result<ValueStatistics, JobError> {
        let image = (&self.volume, self.frame);
        Ok(statistics(image, &self.region, self.bins, control)?)
    }
}

for_command_line!(MeasureRegion);
