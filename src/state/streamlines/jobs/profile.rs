//! Values along a bundle.

use crate::compute::Control;
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::tractogram::ProfileParams;
use crate::solvers::tractogram::profile::{self, Along, Profile, Start};
use crate::state::job_end::ended;
use crate::state::streamlines::NamedProfile;
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::streamlines::update::follow;
use crate::state::{Effect, State};
use std::sync::Arc;

pub const PROFILE: Slot = Slot::latest_wins("profile");

/// Computes means of values at nodes along a bundle.
#[derive(Clone, Debug)]
pub struct ComputeProfile {
    pub among: CountedStreamlines,
    pub along: Vec<Along>,
    pub start: Start,
    pub params: ProfileParams,
}

impl Job for ComputeProfile {
    type Output = Arc<Profile>;

    fn slot(&self) -> Slot {
        PROFILE
    }

    fn label(&self) -> String {
        "Profile along the bundle".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let (tractogram, marks) = (&self.among.tractogram, self.among.marks.as_deref());
        let backend = worker.backend();
        let profile = profile::profile(
            tractogram,
            marks,
            &self.along,
            &self.start,
            &self.params,
            &backend,
            control,
        )?;
        Ok(Arc::new(profile))
    }
}

impl Receive<State> for ComputeProfile {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, profile, _, _| {
            let names = follow::profile_names(state);
            let named = NamedProfile { profile, names };
            state.runtime.streamlines.profile.finish(named);
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        state.runtime.streamlines.profile.fail();
        false
    }
}
