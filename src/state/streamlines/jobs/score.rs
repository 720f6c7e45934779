//! Scores of streamlines against bundles whose course is known.

use crate::compute::Control;
use crate::data::Tractogram;
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::solvers::score::{Scores, Truth, score};
use crate::state::job_end::ended;
use crate::state::{Effect, State};
use std::sync::Arc;

pub const SCORE: Slot = Slot::latest_wins("score");

/// Scores a tractogram.
#[derive(Clone, Debug)]
pub struct ScoreStreamlines {
    pub tractogram: Tractogram,
    pub truth: Arc<Truth>,
}

impl Job for ScoreStreamlines {
    type Output = Arc<Scores>;

    fn slot(&self) -> Slot {
        SCORE
    }

    fn label(&self) -> String {
        "Scores of streamlines".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let scores = score(&self.tractogram, &self.truth, &worker.backend(), control)?;
        Ok(Arc::new(scores))
    }
}

impl Receive<State> for ScoreStreamlines {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        // Only the command line requests this.
        ended(state, self, delivery, effects, |_, _, _, _| {});
    }
}
