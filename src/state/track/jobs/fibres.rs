//! Tracking along the distributions of the document, from the regions and in the whole brain.

use crate::compute::{Backend, Control};
use crate::data::{Region, Tractogram};
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker, memory_for_curves,
};
use crate::solvers::odf_tracking::{self, Fibres, Prepared};
use crate::solvers::{self, curves};
use crate::state::files::jobs::open::{with_lengths, with_target_names};
use crate::state::job_end::ended;
use crate::state::tensors::types::fods::FodBootstrapInput;
use crate::state::track::jobs::bootstrap::fod_residuals;
use crate::state::track::jobs::streamlines::Streamlines;
use crate::state::track::jobs::{LIVE, live_unfinished};
use crate::state::track::types::fibres::{FibreInput, TissueInput, TissueKey};
use crate::state::track::types::{CurveKey, CurveParams};
use crate::state::track::update;
use crate::state::{Effect, State};
use std::sync::Arc;

/// Tracks from the regions along distributions, with anatomical rules if there are tissues.
#[derive(Clone, Debug)]
pub struct TrackFibres {
    pub fibres: FibreInput,
    /// The input of a bootstrap, if one is requested.
    pub resample: Option<Box<FodBootstrapInput>>,
    pub tissues: Option<(TissueKey, TissueInput)>,
    pub regions: Vec<Region>,
    pub params: odf_tracking::Params,
    /// Fewer seeds: a drag is in progress.
    pub coarse: bool,
}

impl TrackFibres {
    pub fn track(self, backend: &Backend, control: &Control) -> Result<curves::Output, JobError> {
        let tissues = match &self.tissues {
            Some((_, input)) => {
                let read = input.read();
                Some(
                    &read
                        .map_err(|e| JobError::Sentence(e.to_string().into()))?
                        .map,
                )
            }
            None => None,
        };
        let (regions, params) = (&self.regions, &self.params);
        let mut output = match self.resample.filter(|_| params.repetitions.is_some()) {
            Some(input) => {
                let residuals = fod_residuals(&input, backend, control)?;
                odf_tracking::track_bootstrap(
                    &self.fibres.field,
                    &residuals,
                    tissues,
                    regions,
                    params,
                    memory_for_curves(),
                    backend,
                    control,
                )?
            }
            None => {
                let prepared = prepared(&self.fibres, backend, control)?;
                odf_tracking::track_prepared(
                    &prepared,
                    tissues,
                    regions,
                    params,
                    memory_for_curves(),
                    backend,
                    control,
                )?
            }
        };
        let kept = with_target_names(with_lengths(output.kept), &self.regions);
        output.kept = kept.with_grid(self.fibres.field.grid.clone());
        Ok(output)
    }
}

impl Streamlines for TrackFibres {
    fn key(&self) -> CurveKey {
        CurveKey {
            field: self.fibres.field.id(),
            regions: self.regions.clone(),
            curves: CurveParams::Fibres(self.params.clone()),
            tissues: self.tissues.as_ref().map(|(key, _)| *key),
            coarse: self.coarse,
        }
    }
}

/// The distributions as tracking reads them, from the cache if they are there.
fn prepared(
    input: &FibreInput,
    backend: &Backend,
    control: &Control,
) -> Result<Prepared, solvers::Error> {
    if let Some(prepared) = input.prepared.get() {
        return Ok(prepared.clone());
    }
    let fibres = Fibres::Distributions(input.field.clone());
    let prepared = Prepared::new(&fibres, backend, control)?;
    Ok(input.prepared.get_or_init(|| prepared).clone())
}

impl Job for TrackFibres {
    type Output = Arc<curves::Output>;

    fn slot(&self) -> Slot {
        LIVE
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
        Ok(Arc::new(self.track(&worker.backend(), control)?))
    }

    fn curves(output: &Self::Output) -> Vec<&Tractogram> {
        vec![&output.kept, &output.missed]
    }
}

impl Receive<State> for TrackFibres {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(
            state,
            self,
            delivery,
            effects,
            |state, output, wall_ms, _| {
                update::live_done(state, output, self.key(), wall_ms);
            },
        );
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        live_unfinished(end, state)
    }
}
