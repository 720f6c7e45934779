//! Applying a cut to existing rays, if they are many.

use crate::compute::Control;
use crate::data::Tractogram;
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::Error;
use crate::solvers::geodesic::{Cut, rank};
use crate::state::job_end::ended;
use crate::state::track::rays;
use crate::state::{Effect, State};

/// Applying the cut.
pub const CUT: Slot = Slot::latest_wins("cut");

#[derive(Clone, Debug)]
pub struct CutRays {
    pub all: Tractogram,
    pub cut: Cut,
}

#[derive(Clone, Debug)]
pub struct RaysAfterCut {
    pub kept: Tractogram,
    /// Their smallest measure.
    pub min_measure: Option<f32>,
}

/// The rays that a cut keeps.
pub fn after_cut(all: &Tractogram, cut: Cut) -> RaysAfterCut {
    let (kept, min_measure) = rank(all, cut);
    RaysAfterCut { kept, min_measure }
}

impl Job for CutRays {
    type Output = RaysAfterCut;

    fn slot(&self) -> Slot {
        CUT
    }

    fn label(&self) -> String {
        "Cutting rays".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        _: &Control,
        _: &PartialSender<RaysAfterCut>,
    ) -> Result<RaysAfterCut, JobError> {
        worker
            .backend()
            .install(|| self.all.on_host().map_err(Error::from))?;
        Ok(after_cut(&self.all, self.cut))
    }

    fn curves(output: &RaysAfterCut) -> Vec<&Tractogram> {
        vec![&output.kept]
    }
}

impl Receive<State> for CutRays {
    fn receive(
        &self,
        delivery: Delivery<RaysAfterCut>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, after, _, _| {
            state.runtime.track.cut.stop();
            rays::ranked(
                state,
                self.all.id(),
                self.cut,
                after.kept,
                after.min_measure,
            );
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        state.runtime.track.cut.fail();
        false
    }
}
