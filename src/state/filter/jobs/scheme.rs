//! The timing of a scan's gradients, from a file.

use crate::compute::Control;
use crate::data::Gradients;
use crate::data::text::file_name;
use crate::io;
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::solvers::commit::cylinder::Timing;
use crate::state::files::jobs::LOAD;
use crate::state::job_end::ended;
use crate::state::{Effect, State, filter};
use std::path::PathBuf;
use std::sync::Arc;

/// Reads the timing of gradients from a Camino scheme file.
#[derive(Clone, PartialEq, Debug)]
pub struct ReadScheme {
    pub path: PathBuf,
    /// The scan's gradients, with which the file must agree.
    pub gradients: Option<Arc<Gradients>>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Scheme {
    pub path: PathBuf,
    /// One per volume.
    pub timing: Vec<Timing>,
    /// One sentence each.
    pub notes: Vec<String>,
}

impl Job for ReadScheme {
    type Output = Scheme;

    fn slot(&self) -> Slot {
        LOAD
    }

    fn label(&self) -> String {
        let name = file_name(&self.path);
        format!("Opening {name}")
    }

    fn run(self, _: &Worker, _: &Control, _: &PartialSender<Scheme>) -> Result<Scheme, JobError> {
        let read = io::scheme::timing(&self.path)?;
        let differs = self.gradients.and_then(|g| read.against(&g.b_s_per_mm2));
        let notes = read.notes.into_iter().chain(differs).collect();
        let timing = read.rows.into_iter().map(|[pulse_ms, between_ms]| Timing {
            pulse_ms,
            between_ms,
        });
        Ok(Scheme {
            timing: timing.collect(),
            notes,
            path: self.path,
        })
    }
}

impl Receive<State> for ReadScheme {
    fn receive(&self, delivery: Delivery<Scheme>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |state, scheme, _, _| {
            filter::update::scheme(state, scheme);
        });
    }
}
