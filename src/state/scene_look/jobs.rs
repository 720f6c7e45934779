//! Measuring the values of voxels that the plot of a transfer function shows.

use crate::compute::{Cancelled, Control};
use crate::data::Volume;
use crate::data::joint_histogram::JointSamples;
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::state::job_end::ended;
use crate::state::scene_look::{JointKey, update};
use crate::state::{Effect, State};
use std::sync::Arc;

/// The values follow the volume shown: their job is not listed.
pub const JOINT: Slot = Slot::latest_wins("joint values").in_background();

/// Measures value, gradient magnitude and curvature of voxels of an image, and another image at the same places.
#[derive(Clone, Debug)]
pub struct MeasureJoint {
    pub key: JointKey,
    pub volume: Volume,
    pub other: Option<Volume>,
}

impl Job for MeasureJoint {
    type Output = Arc<JointSamples>;

    fn slot(&self) -> Slot {
        JOINT
    }

    fn label(&self) -> String {
        "Measuring gradients and curvatures".to_owned()
    }

    fn run(
        self,
        _: &Worker,
        control: &Control,
        _: &PartialSender<Arc<JointSamples>>,
    ) -> Result<Arc<JointSamples>, JobError> {
        let (frame, other) = (self.key.frame, self.other.as_ref());
        let is_cancelled = || control.is_cancelled();
        let samples = JointSamples::measure(&self.volume, frame, other, is_cancelled);
        Ok(Arc::new(samples.ok_or(Cancelled)?))
    }
}

impl Receive<State> for MeasureJoint {
    fn receive(
        &self,
        delivery: Delivery<Arc<JointSamples>>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, samples, _, _| {
            update::receive(state, &self.key, samples);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        let live = &mut state.runtime.figures.joint.live;
        live.end_without_result(&self.key, end.sentence());
        false
    }
}
