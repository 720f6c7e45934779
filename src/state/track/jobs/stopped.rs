//! Live curves with an end that stopped for one reason, if they are many.

use crate::compute::Control;
use crate::data::Tractogram;
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::Error;
use crate::solvers::curves::StopReason;
use crate::state::job_end::ended;
use crate::state::{Effect, State};

pub const STOPPED: Slot = Slot::latest_wins("stopped");

/// Collects the live curves, kept and missed, with an end that stopped for a reason.
#[derive(Clone, Debug)]
pub struct CollectStopped {
    pub curves: [Tractogram; 2],
    pub reason: StopReason,
}

impl Job for CollectStopped {
    type Output = [Tractogram; 2];

    fn slot(&self) -> Slot {
        STOPPED
    }

    fn label(&self) -> String {
        "Finding why curves stopped".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        _: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        for curves in &self.curves {
            worker
                .backend()
                .install(|| curves.on_host().map_err(Error::from))?;
        }
        Ok(self.curves.map(|curves| self.reason.only(&curves)))
    }

    fn curves(output: &Self::Output) -> Vec<&Tractogram> {
        output.iter().collect()
    }
}

impl Receive<State> for CollectStopped {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, stopped, _, _| {
            state.runtime.streamlines.stopped.finish(stopped);
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        state.runtime.streamlines.stopped.fail();
        false
    }
}
