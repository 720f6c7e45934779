//! Requests as jobs, until each has become a job of its own.

use super::{Output, Request};
use crate::compute::Control;
use crate::data::Tractogram;
use crate::jobs::session::{self, Restored, SessionOutput};
use crate::jobs::{Job, JobError, PartialSender, Slot, Worker};

impl Job for Request {
    type Output = Output;

    fn slot(&self) -> Slot {
        Self::slot(self)
    }

    fn label(&self) -> String {
        Self::label(self)
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Output>,
    ) -> Result<Output, JobError> {
        let backend = worker.backend();
        match self {
            Self::Session(request) => {
                let memory = worker.memory::<session::Memory>();
                Ok(Output::Session(request.run(&memory, &backend, control)?))
            }
            request => request.solve(&backend, control),
        }
    }

    fn curves(output: &Output) -> Vec<&Tractogram> {
        match output {
            Output::Session(SessionOutput::Remade { tractogram, .. }) => vec![tractogram],
            Output::Session(SessionOutput::Loaded(restored)) => {
                let read = restored.iter().filter_map(|(_, one)| one.as_ref().ok());
                read.flat_map(Restored::all_curves).collect()
            }
            _ => Vec::new(),
        }
    }
}
