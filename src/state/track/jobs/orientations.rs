//! Tracking through fibre orientation distributions and peaks.

use crate::compute::Control;
use crate::data::{Region, TissueMap, Tractogram};
use crate::jobs::{Job, JobError, PartialSender, Slot, Worker, memory_for_curves};
use crate::solvers::curves::Output;
use crate::solvers::odf_tracking::{self, Fibres};
use crate::state::files::jobs::open::{with_lengths, with_target_names};
use crate::state::job_end::for_command_line;
use crate::state::tensors::types::fods::FodBootstrapInput;
use crate::state::track::jobs::bootstrap::fod_residuals;
use std::sync::Arc;

pub const ORIENTATIONS: Slot = Slot::latest_wins("orientations");

/// Tracks streamlines through the fibres of each voxel, with anatomical rules if there are tissues.
#[derive(Clone, Debug)]
pub struct TrackOrientations {
    pub fibres: Fibres,
    /// The input of a bootstrap, if one is requested.
    pub resample: Option<Box<FodBootstrapInput>>,
    pub tissues: Option<TissueMap>,
    pub regions: Vec<Region>,
    pub params: odf_tracking::Params,
}

impl Job for TrackOrientations {
    type Output = Arc<Output>;

    fn slot(&self) -> Slot {
        ORIENTATIONS
    }

    fn label(&self) -> String {
        "Tracking".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let (backend, memory) = (worker.backend(), memory_for_curves());
        let (tissues, regions) = (self.tissues.as_ref(), &self.regions);
        let mut output = match (&self.fibres, &self.resample) {
            (Fibres::Distributions(field), Some(input)) => {
                let residuals = fod_residuals(input, self.params.repetitions, &backend, control)?;
                odf_tracking::track_bootstrap(
                    field,
                    &residuals,
                    tissues,
                    regions,
                    &self.params,
                    memory,
                    &backend,
                    control,
                )?
            }
            (fibres, _) => odf_tracking::track(
                fibres,
                tissues,
                regions,
                &self.params,
                memory,
                &backend,
                control,
            )?,
        };
        let kept = with_target_names(with_lengths(output.kept), &self.regions);
        output.kept = kept.with_grid(self.fibres.grid().clone());
        output.tissue_doubt = tissues.and_then(|map| odf_tracking::tissue_doubt(&self.fibres, map));
        Ok(Arc::new(output))
    }

    fn curves(output: &Self::Output) -> Vec<&Tractogram> {
        vec![&output.kept, &output.missed]
    }
}

for_command_line!(TrackOrientations);
