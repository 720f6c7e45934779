//! The built-in head.

use crate::compute::{Backend, Control, memory};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::phantom::Demo;
use crate::solvers;
use crate::state::files::jobs::LOAD;
use crate::state::job_end::ended;
use crate::state::sessions::update::demo::{self, HeadImages};
use crate::state::{Effect, State};
use std::sync::Arc;

/// Generates the head of a seed.
#[derive(Clone, Debug)]
pub struct MakeHead {
    pub seed: u64,
}

impl Job for MakeHead {
    type Output = Box<Demo>;

    fn slot(&self) -> Slot {
        LOAD
    }

    fn label(&self) -> String {
        "Building the demo head".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Box<Demo>>,
    ) -> Result<Box<Demo>, JobError> {
        Ok(Box::new(make(self.seed, &worker.backend(), control)?))
    }
}

impl Receive<State> for MakeHead {
    fn receive(&self, delivery: Delivery<Box<Demo>>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |state, demo, _, effects| {
            let head = HeadImages {
                seed: self.seed,
                dwi: demo.dwi,
                gradients: Arc::new(demo.gradients),
                t1: demo.t1,
                mask: demo.mask,
            };
            demo::open(state, head, effects);
        });
    }
}

/// Generates the head of a seed.
pub fn make(seed: u64, backend: &Backend, control: &Control) -> Result<Demo, solvers::Error> {
    memory::claim("The built-in head", Demo::bytes())?;
    let demo = backend.install(|| Demo::new(seed, control))?;
    control.begin("Preparing the views", 0);
    demo.dwi.precompute_windows();
    demo.t1.precompute_windows();
    Ok(demo)
}
