//! The built-in heads.

use crate::compute::{Backend, Control, memory};
use crate::data::BuiltInPhantom;
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::phantom::Demo;
use crate::solvers;
use crate::state::files::jobs::LOAD;
use crate::state::job_end::ended;
use crate::state::sessions::update::demo::{self, HeadImages};
use crate::state::{Effect, State};
use std::sync::Arc;

/// Generates a head.
#[derive(Clone, Debug)]
pub struct MakeHead {
    pub head: BuiltInPhantom,
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
        Ok(Box::new(make(self.head, &worker.backend(), control)?))
    }
}

impl Receive<State> for MakeHead {
    fn receive(&self, delivery: Delivery<Box<Demo>>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |state, demo, _, effects| {
            let images = HeadImages {
                head: self.head,
                dwi: demo.dwi,
                gradients: Arc::new(demo.gradients),
                t1: demo.t1,
                mask: demo.mask,
            };
            demo::open(state, images, effects);
        });
    }
}

/// Generates a head.
pub fn make(
    head: BuiltInPhantom,
    backend: &Backend,
    control: &Control,
) -> Result<Demo, solvers::Error> {
    memory::claim("The built-in head", Demo::bytes(head))?;
    let demo = backend.install(|| Demo::new(head, control))?;
    control.begin("Preparing the views", 0);
    demo.dwi.precompute_windows();
    demo.t1.precompute_windows();
    Ok(demo)
}
