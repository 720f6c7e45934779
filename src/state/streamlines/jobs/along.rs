//! The FA along streamlines that hold none, for their colours.

use crate::compute::Control;
use crate::compute::memory::claim_for;
use crate::data::{Tractogram, Volume};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::tractogram;
use crate::state::job_end::ended;
use crate::state::{Effect, LayerId, State};

pub const SAMPLE_FA: Slot = Slot::latest_wins("fa-along");

/// Samples the fit's FA along the drawn streamlines of a layer.
#[derive(Clone, Debug)]
pub struct SampleFa {
    pub layer: LayerId,
    pub tractogram: Tractogram,
    pub fa: Volume,
}

impl Job for SampleFa {
    type Output = Tractogram;

    fn slot(&self) -> Slot {
        // The colours of one layer do not replace those of another.
        SAMPLE_FA.instance(self.layer.0 as u32)
    }

    fn label(&self) -> String {
        "FA along streamlines".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        claim_for::<f32>("FA along streamlines", self.tractogram.points.len(), 1)?;
        control.check()?;
        let backend = worker.backend();
        let along = backend.install(|| tractogram::sample(&self.fa, &self.tractogram));
        let sampled = self.tractogram.with_per_point("fa", along);
        Ok(sampled.with_new_id())
    }

    fn curves(output: &Self::Output) -> Vec<&Tractogram> {
        vec![output]
    }
}

impl Receive<State> for SampleFa {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, sampled, _, _| {
            if let Some(live) = state.runtime.streamlines.fa_along.get_mut(&self.layer) {
                live.finish(sampled);
            }
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        if let Some(live) = state.runtime.streamlines.fa_along.get_mut(&self.layer) {
            live.fail();
        }
        false
    }
}
